//! The verifier of graphs, which checks these properties. It runs in debug builds and in tests.
//!
//! - each operand is an earlier node
//! - the operands of an op have the dtype that it takes at its accuracy, and the node has the dtype of its result
//! - the shapes of an op's operands broadcast to the node's shape
//! - the operands of a host function have the dtypes of its signature, and the node has the dtype of its result
//! - the operands of a loop have the dtypes of its region's parameters, and the node has the dtype of a carried value; the
//!   region is well-typed
//! - the operands of a recurrence have the dtypes of its step's parameters, and broadcast to its index space; the node has
//!   the dtype and the shape of a state or an output; the step is well-typed, and its tables are captured
//! - a conversion has the shape of its operand, and another dtype
//! - a view applies to its operand's shape and results in the node's shape
//! - a reduction or scan accepts the dtype of its operand; the node has the dtype of its result, and a shape that
//!   follows from the axes
//! - the key of a random stream is four uint32; its words are uint32 or uint64, as many as their node says
//! - a routine takes its operands, and the node has the type of one of its results
//! - there are no `Count` or `Index` nodes: a graph has constants and generated numbers instead

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, Leaf, NodeId, NodeKind};
use crate::infer::{self, Operand};
use crate::node::StepOrder;
use crate::op::Arity;
use crate::region;
use crate::shape::Shape;
use broadloom_math::DType;

/// Verifies a graph.
///
/// # Errors
/// [`ErrorKind::Internal`] for the first property that does not hold, with the graph's text.
pub fn graph(graph: &Graph) -> Result<()> {
    for id in graph.ids() {
        if let Err(why) = node(graph, id) {
            return Err(internal(format!("{id:?}: {why}\n{graph}")));
        }
    }
    Ok(())
}

fn node(graph: &Graph, id: NodeId) -> std::result::Result<(), String> {
    let node = graph.node(id);
    if let Some(late) = node.kind.operands().find(|a| **a >= id) {
        return Err(format!("operand {late:?} is not an earlier node"));
    }
    match &node.kind {
        NodeKind::Leaf(Leaf::Input { dtype, layout, .. }) => {
            expect(*dtype == node.dtype && layout.shape == node.shape, "input of another type")
        }
        NodeKind::Leaf(Leaf::Index { layout }) => {
            expect(node.dtype == DType::Int64 && layout.shape == node.shape, "numbers of another type")
        }
        NodeKind::Leaf(Leaf::Const { value, .. }) => {
            expect(value.dtype == node.dtype && node.shape.rank() == 0, "constant of another type")
        }
        NodeKind::Apply { op, accuracy, args } => {
            expect(args.iter().count() == op.operands(), "wrong number of operands")?;
            let operand = args.last().map_or(node.dtype, |&arg| graph.node(arg).dtype);
            for (i, &arg) in args.iter().enumerate() {
                let wanted = if op.arity() == Arity::Choice && i == 0 { DType::Bool } else { operand };
                expect(graph.node(arg).dtype == wanted, "operands of different dtypes")?;
            }
            expect(op.result_at(*accuracy, operand) == Some(node.dtype), "wrong result dtype")?;
            expect(broadcasts(graph, args.iter(), &node.shape), "wrong result shape")
        }
        NodeKind::Host { function, args } => {
            let signature = function.signature();
            let dtypes = args.iter().map(|&a| graph.node(a).dtype);
            expect(dtypes.eq(signature.operands().iter().copied()), "operands of other dtypes")?;
            expect(node.dtype == signature.result(), "wrong result dtype")?;
            expect(broadcasts(graph, args.iter(), &node.shape), "wrong result shape")
        }
        NodeKind::Loop(of) => {
            region::check(&of.region)?;
            let dtypes = of.args.iter().map(|&a| graph.node(a).dtype);
            expect(dtypes.eq(of.region.params.iter().copied()), "operands of other dtypes")?;
            expect((of.item as usize) < of.region.carried(), "a value that the loop does not carry")?;
            expect(node.dtype == of.dtype(), "wrong result dtype")?;
            expect(broadcasts(graph, node.kind.aligned(), &node.shape), "wrong result shape")
        }
        NodeKind::Recurrence(of) => {
            region::check(&of.step)?;
            let dtypes = of.args.iter().map(|&a| graph.node(a).dtype);
            expect(dtypes.eq(of.step.params.iter().copied()), "operands of other dtypes")?;
            expect(of.step.condition.is_none(), "a step with a condition")?;
            expect(of.inputs > 0 && of.inputs().len() == of.inputs as usize, "a scan without inputs")?;
            let captured = of.states() + of.inputs as usize;
            expect((0..captured).all(|i| !of.step.is_table(i)), "a state or an input that is a table")?;
            if of.order == StepOrder::Canonical {
                let (states, elements) = of.step.params.split_at(of.states());
                let is_alike = of.step.outputs.is_empty() && of.inputs as usize == states.len();
                expect(is_alike && elements.starts_with(states), "elements unlike the results of steps")?;
            }
            expect(of.dtype() == Some(node.dtype), "wrong result dtype")?;
            let shapes = graph.recurrence(of).map_err(|e| e.to_string())?;
            let (shape, _) = if of.is_state() { shapes.others } else { shapes.space };
            expect(shape == node.shape, "wrong result shape")
        }
        NodeKind::Cast { arg, to } => {
            let arg = graph.node(*arg);
            expect(*to == node.dtype, "wrong result dtype")?;
            expect(arg.shape == node.shape && arg.dtype != node.dtype, "not a conversion")
        }
        NodeKind::View { arg, view } => {
            let arg = graph.node(*arg);
            view.check(&arg.shape).map_err(|e| e.to_string())?;
            expect(view.shape(&arg.shape) == node.shape && arg.dtype == node.dtype, "view of another type")
        }
        NodeKind::Reduce { arg, reduction, axes, keep_dims } => {
            let arg = graph.node(*arg);
            let typed = infer::reduce(*reduction, &Operand::Array(arg.dtype, &arg.shape), *axes, *keep_dims);
            let (shape, _) = typed.map_err(|e| e.to_string())?;
            let dtype = reduction.result(arg.dtype);
            expect(shape == node.shape && dtype == node.dtype, "reduction of another type")
        }
        NodeKind::Scan { arg, scan, axis, initial, before } => {
            let (arg, axis) = (graph.node(*arg), usize::from(*axis));
            let operand = Operand::Array(arg.dtype, &arg.shape);
            let typed = infer::scan(*scan, &operand, axis, *initial);
            let (shape, _) = typed.map_err(|e| e.to_string())?;
            if let Some(before) = before {
                let totals = graph.node(before.totals);
                let totals = Operand::Array(totals.dtype, &totals.shape);
                infer::before(&operand, axis, &totals, before.blocks).map_err(|e| e.to_string())?;
            }
            expect(shape == node.shape && arg.dtype == node.dtype, "scan of another type")
        }
        NodeKind::Gather { table, positions } => {
            let positions = graph.node(*positions);
            expect(positions.dtype == DType::Int64, "positions of another dtype than int64")?;
            let same = graph.node(*table).dtype == node.dtype && positions.shape == node.shape;
            expect(same, "a gather of another type")
        }
        NodeKind::Concat { args, axis } => {
            let operands: Vec<Operand<'_>> = args
                .iter()
                .map(|&arg| Operand::Array(graph.node(arg).dtype, &graph.node(arg).shape))
                .collect();
            let typed = infer::concat("concat", &operands, (*axis).into()).map_err(|e| e.to_string())?;
            expect(typed == (node.dtype, node.shape.clone()), "joined nodes of another type")
        }
        NodeKind::Words { key, to, len } => {
            let of = graph.node(*key);
            expect(of.dtype == DType::UInt32 && of.shape[..] == [4], "a key of another type")?;
            let is_word = matches!(to, DType::UInt32 | DType::UInt64);
            expect(is_word && node.dtype == *to && node.shape[..] == [*len], "words of another type")
        }
        NodeKind::Routine(of) => {
            let (dtype, shape, _) = graph.routine(of).map_err(|e| e.to_string())?;
            expect((dtype, &shape) == (node.dtype, &node.shape), "a result of a routine of another type")
        }
        NodeKind::Count { .. } => Err("a count that is no constant yet".to_owned()),
        NodeKind::DynamicView { .. } | NodeKind::PadLike { .. } => {
            Err("a view or a padding of extents that are not known".to_owned())
        }
        NodeKind::Index { .. } => Err("an index that is no leaf yet".to_owned()),
    }
}

fn broadcasts<'a>(graph: &Graph, args: impl Iterator<Item = &'a NodeId>, to: &Shape) -> bool {
    let shapes: Vec<&Shape> = args.map(|&a| &graph.node(a).shape).collect();
    Shape::broadcast(&shapes).as_ref() == Ok(to)
}

fn expect(holds: bool, otherwise: &str) -> std::result::Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_string()) }
}

fn internal(message: String) -> Error {
    Error::new(ErrorKind::Internal, format!("broken invariant, please report it: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Layout, View};
    use crate::node::NodeKind::{Apply, Cast};
    use crate::node::{self, Args, RecurrenceNode, Region};
    use crate::{Accuracy, HostDeclaration, Op, Scalar};
    use std::sync::Arc;

    type Build<'t> = dyn Fn(&mut Graph, [NodeId; 3]) -> Result<NodeId> + 't;

    /// The verifier finds nodes that are inserted with types that do not follow from their operands.
    #[test]
    fn ill_typed_nodes_are_refused() -> Result<()> {
        let shape = |extents: &[usize]| Shape::new(extents).expect("small");
        let (f32s, row) = (shape(&[2, 3]), shape(&[3]));
        let f = HostDeclaration::new("f", &[DType::Float32], DType::Int8, 1).expect("a name");
        let one = |id: NodeId| -> Args<NodeId> { [id].into_iter().collect() };
        let two = |a: NodeId, b: NodeId| -> Args<NodeId> { [a, b].into_iter().collect() };
        let apply = |op, args: &[NodeId]| NodeKind::apply(op, args.iter().copied());
        // A scan over an input, whose step counts, and takes an element of one of these operands.
        let taken = |g: &mut Graph, args: &[NodeId], table: u32| {
            let first = g.constant(Scalar::of(0i64), None)?;
            let gather = node::NodeKind::Gather { table: NodeId::new(1), positions: NodeId::new(0) };
            let step = Arc::new(Region {
                params: vec![DType::Int64, DType::Float32, DType::Float32],
                tables: vec![table],
                limit: None,
                is_numbered: false,
                nodes: vec![node::NodeKind::Leaf(0), node::NodeKind::Leaf(table), gather],
                condition: None,
                next: vec![NodeId::new(0)],
                outputs: vec![NodeId::new(2)],
            });
            let (args, order) = ([&[first], args].concat(), StepOrder::Forward);
            let of = RecurrenceNode { step, functions: Vec::new(), args, inputs: 1, axis: 0, order, item: 0 };
            g.insert(NodeKind::Recurrence(Box::new(of)), DType::Int64, row.clone())
        };
        let cases: Vec<(&str, Box<Build<'_>>)> = vec![
            ("", Box::new(|g, [x, y, _]| g.insert(apply(Op::Add, &[x, y]), DType::Float32, f32s.clone()))),
            (
                "different dtypes",
                Box::new(|g, [x, _, n]| g.insert(apply(Op::Add, &[x, n]), DType::Float32, f32s.clone())),
            ),
            (
                "result dtype",
                Box::new(|g, [x, y, _]| g.insert(apply(Op::Less, &[x, y]), DType::Float32, f32s.clone())),
            ),
            (
                "result dtype",
                Box::new(|g, [x, y, _]| {
                    let sum = Apply { op: Op::Add, accuracy: Accuracy::Nearest, args: two(x, y) };
                    g.insert(sum, DType::Float32, f32s.clone())
                }),
            ),
            (
                "result shape",
                Box::new(|g, [x, y, _]| g.insert(apply(Op::Add, &[x, y]), DType::Float32, row.clone())),
            ),
            (
                "number of operands",
                Box::new(|g, [x, ..]| g.insert(apply(Op::Add, &[x]), DType::Float32, f32s.clone())),
            ),
            (
                "other dtypes",
                Box::new(|g, [.., n]| {
                    g.insert(NodeKind::Host { function: f.clone(), args: one(n) }, DType::Int8, f32s.clone())
                }),
            ),
            (
                "result dtype",
                Box::new(|g, [x, ..]| {
                    g.insert(NodeKind::Host { function: f.clone(), args: one(x) }, DType::Int16, f32s.clone())
                }),
            ),
            (
                "result dtype",
                Box::new(|g, [x, ..]| g.insert(Cast { arg: x, to: DType::Int8 }, DType::Int16, f32s.clone())),
            ),
            (
                "not a conversion",
                Box::new(|g, [x, ..]| g.insert(Cast { arg: x, to: DType::Int8 }, DType::Int8, row.clone())),
            ),
            (
                "another type",
                Box::new(|g, [x, y, _]| {
                    let sum = g.apply(Op::Add, &[x.into(), y.into()])?;
                    let view = Arc::new(View::Reshape(shape(&[6])));
                    g.insert(NodeKind::View { arg: sum, view }, DType::Float32, shape(&[3, 2]))
                }),
            ),
            ("", Box::new(|g, [x, y, _]| taken(g, &[x, y], 2))),
            (
                "input that is a table",
                Box::new(|g, [x, ..]| {
                    let one = g.constant(Scalar::of(1.0_f32), None)?;
                    taken(g, &[x, one], 1)
                }),
            ),
            (
                "constant of another",
                Box::new(|g, _| {
                    let value = Scalar::of(1i8);
                    g.insert(NodeKind::Leaf(Leaf::Const { value, slot: None }), DType::Int16, Shape::scalar())
                }),
            ),
            (
                "numbers of another",
                Box::new(|g, _| {
                    let layout = Layout::contiguous(row.clone()).into();
                    g.insert(NodeKind::Leaf(Leaf::Index { layout }), DType::Int32, row.clone())
                }),
            ),
            (
                "input of another",
                Box::new(|g, _| {
                    let layout = Layout::contiguous(row.clone()).into();
                    g.insert(
                        NodeKind::Leaf(Leaf::Input { slot: 9, dtype: DType::Int8, layout }),
                        DType::Int8,
                        f32s.clone(),
                    )
                }),
            ),
        ];
        for (i, (why, build)) in cases.iter().enumerate() {
            let mut g = Graph::default();
            let layout = || Layout::contiguous(f32s.clone());
            let x = g.input(0, DType::Float32, layout())?;
            let y = g.input(1, DType::Float32, layout())?;
            let n = g.input(2, DType::Int8, layout())?;
            build(&mut g, [x, y, n])?;
            match graph(&g) {
                Ok(()) => assert!(why.is_empty(), "case {i}: {g}"),
                Err(e) => assert!(!why.is_empty() && e.to_string().contains(why), "case {i}: {e}"),
            }
        }
        Ok(())
    }
}
