//! The engine's place: a reference that computes node by node and element by element, to be replaced.
//!
//! In: arrays. Out: their values. Must hold: what the functions mean is `broadloom_core::fold`'s meaning; no
//! recursion along the expression.

use broadloom_core::graph::{IntDivision, NodeKind};
use broadloom_core::{Error, ErrorKind, Graph, Layout, Result, Scalar, Shape, View, fold};
use broadloom_math::DType;
use smallvec::SmallVec;

use crate::array::Array;
use crate::expr::Leaf;
use crate::lower::{self, Walk};
use crate::storage::{Element, Storage, offsets};

/// The values of the roots, each contiguous and owned.
pub(crate) fn evaluate(roots: &[&Array<'_>]) -> Result<Vec<Array<'static>>> {
    let walk = Walk::new(roots)?;
    let (graph, roots) = lower::graph(walk.key(), walk.literals(), IntDivision::Zero)?;
    let mut values: Vec<Vec<u64>> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let bits = match &node.kind {
            NodeKind::Input { slot, layout } => {
                let storage = &walk.slots()[*slot as usize].storage;
                offsets(layout).map(|i| storage.scalar(i).bits).collect()
            }
            NodeKind::Const { value, .. } => vec![value.bits],
            NodeKind::Cast { arg } => {
                let from = graph.node(*arg).dtype;
                values[arg.index()].iter().map(|&x| fold::cast(scalar(from, x), node.dtype).bits).collect()
            }
            NodeKind::View { arg, view } => {
                let whole = Layout::contiguous(graph.node(*arg).shape.clone());
                let layout = whole.view(view).ok_or_else(|| internal("a view of contiguous data"))?;
                offsets(&layout).map(|i| values[arg.index()][i]).collect()
            }
            NodeKind::Apply { op, args } => {
                let mut operands: SmallVec<[_; 3]> = SmallVec::new();
                for arg in args {
                    let arg_node = graph.node(*arg);
                    let layout = spread(&arg_node.shape, &node.shape);
                    operands.push((arg_node.dtype, &values[arg.index()], offsets(&layout).collect::<Vec<_>>()));
                }
                let mut bits = Vec::with_capacity(node.shape.elements());
                for i in 0..node.shape.elements() {
                    let scalars: SmallVec<[Scalar; 3]> =
                        operands.iter().map(|(dtype, bits, at)| scalar(*dtype, bits[at[i]])).collect();
                    bits.push(fold::apply(*op, &scalars).ok_or_else(|| internal("an ill-typed node"))?.bits);
                }
                bits
            }
        };
        values.push(bits);
    }
    let array = |id: &broadloom_core::NodeId| {
        let node = graph.node(*id);
        let storage = Storage::from_bits(node.dtype, &values[id.index()]);
        Array::data(storage, Layout::contiguous(node.shape.clone()))
    };
    Ok(roots.iter().map(array).collect())
}

/// The values of the root, written into memory of its dtype and number of elements.
pub(crate) fn evaluate_into<T: Element>(root: &Array<'_>, out: &mut [T]) -> Result<()> {
    let values = evaluate(&[root])?.pop().and_then(Array::into_values::<T>);
    match values {
        Some(values) if values.len() == out.len() => {
            out.copy_from_slice(&values);
            Ok(())
        }
        _ => Err(internal("an output of another type or length")),
    }
}

/// The values of the root, written into memory of its dtype and shape that nobody else holds.
pub(crate) fn evaluate_into_leaf(root: &Array<'_>, out: &mut Leaf<'static>) -> Result<()> {
    let values = evaluate(&[root])?.pop();
    match values.as_ref().and_then(Array::leaf) {
        Some(from) if out.storage.scatter(&out.layout, &from.storage) => Ok(()),
        _ => Err(internal("an output of another type, or one that is held")),
    }
}

/// How the roots would be evaluated.
pub(crate) fn explain(roots: &[&Array<'_>]) -> Result<String> {
    let walk = Walk::new(roots)?;
    let (graph, _): (Graph, _) = lower::graph(walk.key(), walk.literals(), IntDivision::Zero)?;
    Ok(graph.to_string())
}

fn scalar(dtype: DType, bits: u64) -> Scalar {
    Scalar { dtype, bits }
}

fn spread(of: &Shape, to: &Shape) -> Layout {
    let whole = Layout::contiguous(of.clone());
    whole.view(&View::BroadcastTo(to.clone())).unwrap_or(whole)
}

fn internal(why: &str) -> Error {
    Error::new(ErrorKind::Internal, why)
}
