//! Tests a user's expression in the same way as random programs.
//!
//! The expression stays the same. For each seed, the values and layouts of its inputs are random, and so are the extents if its
//! views allow that.

use std::ops::Range;

use broadloom::{Array, Error, ErrorKind, Options, Result, typed_graph};
use broadloom_core::graph::{Leaf, Semantics};
use broadloom_core::layout::Slice;
use broadloom_core::node::{NodeId, NodeKind, RecurrenceNode, Region};
use broadloom_core::routine::Routine;
use broadloom_core::{DType, Layout, layout};
use broadloom_ir::HostDeclaration;

use super::{Finding, Search, Summary};
use crate::elements;
use crate::random::{
    Arg, Program, PySlice, RandomRecurrence, Step, TakeKind, Tensor, View, While, WholeArrayCall, instance,
};
use crate::reduction::{Cumulative, Function, Reduction};

/// Converts arrays to a program with the same values.
///
/// # Errors
/// The errors of [`typed_graph`] and of reading the inputs. Host functions are errors, since they have no reference.
pub fn program_of(arrays: &[&Array<'_>]) -> Result<Program> {
    let typed = typed_graph(arrays, &Options::default())?;
    let mut inputs = typed.inputs.iter();
    let mut steps = Vec::new();
    for node in typed.graph.nodes() {
        steps.push(match &node.kind {
            NodeKind::Leaf(Leaf::Input { .. }) => {
                let missing = || Error::new(ErrorKind::Internal, "an input node without an array");
                let (_, array) = inputs.next().ok_or_else(missing)?;
                let bits = elements::bits(array)?;
                Step::Input(Tensor { dtype: array.dtype(), shape: array.shape().to_vec(), bits })
            }
            NodeKind::Leaf(Leaf::Index { layout }) => Step::Input(numbers(layout)),
            NodeKind::Leaf(Leaf::Const { value, .. }) => Step::Constant(value.dtype, value.bits),
            NodeKind::Apply { op, args, .. } => {
                Step::Apply(*op, args.iter().map(|arg| Arg::Step(arg.index())).collect())
            }
            NodeKind::Host { function, .. } => {
                let why = format!("{function} is a host function: the reference does not know what it gives");
                return Err(Error::new(ErrorKind::Name, why));
            }
            NodeKind::Cast { arg, to } => Step::Cast(arg.index(), *to),
            NodeKind::View { arg, view } => Step::View(arg.index(), self::view(view)),
            NodeKind::Reduce { arg, reduction, axes, keep_dims } => {
                let axes: Vec<isize> = axes.iter().map(|axis| axis as isize).collect();
                let function =
                    Function::from_name(reduction.name()).ok_or_else(|| unknown(reduction.name()))?;
                let reduction = Reduction { keepdims: *keep_dims, ..Reduction::along(function, &axes) };
                Step::Reduce(arg.index(), reduction)
            }
            NodeKind::Scan { arg, scan, axis, initial, .. } => Step::Scan(
                arg.index(),
                Cumulative {
                    is_product: scan.name() == "cumulative_prod",
                    axis: Some((*axis).into()),
                    dtype: None,
                    include_initial: *initial,
                },
            ),
            // If all extents are known, there is no `Count` node.
            NodeKind::Count { .. } => return Err(unknown("count")),
            NodeKind::Index { .. } => return Err(unknown("index")),
            NodeKind::Gather { table, positions } if typed.graph.node(*table).shape.rank() == 1 => {
                Step::Take(TakeKind::Take, table.index(), positions.index(), 0)
            }
            NodeKind::Gather { .. } => return Err(unknown("gather")),
            NodeKind::Routine(of) => match of.routine {
                Routine::Segments { function, segments, .. } if of.item == 0 => Step::WholeArray(
                    WholeArrayCall::Segments { function, segments },
                    of.args.iter().map(|arg| arg.index()).collect(),
                ),
                routine => return Err(unknown(routine.name())),
            },
            NodeKind::Concat { args, axis } => {
                Step::Concat(args.iter().map(|arg| arg.index()).collect(), (*axis).into())
            }
            NodeKind::Words { .. } => return Err(unknown("words of a random stream")),
            NodeKind::DynamicView { .. } => return Err(unknown("a view of open extents")),
            NodeKind::PadLike { .. } => return Err(unknown("a padding of open extents")),
            NodeKind::Recurrence(of) => {
                // Inputs have the rank of the index space.
                let rank = of.inputs().first().map_or(0, |input| typed.graph.node(*input).shape.rank());
                let of_table = |&table: &u32| typed.graph.node(of.args[table as usize]).shape.rank();
                if of.step.tables.iter().any(|table| of_table(table) != 1) {
                    return Err(unknown("a table of several axes"));
                }
                Step::Recurrence(Box::new(recurrence(of, rank)?), of.item as usize)
            }
            NodeKind::Loop(of) => {
                let args: Vec<usize> = of.args.iter().map(|arg| arg.index()).collect();
                Step::While(Box::new(repeated(&of.region, &args)?), of.item as usize)
            }
        });
    }
    Ok(Program {
        steps,
        roots: typed.roots.iter().map(|root| root.index()).collect(),
        // Conversions are separate steps, so operands of one step never have different kinds.
        promotion: broadloom::Promotion::Strict,
        semantics: Semantics::default(),
    })
}

/// The loop of a region over the steps `args`.
fn repeated(region: &Region, args: &[usize]) -> Result<While> {
    if !region.tables.is_empty() {
        return Err(unknown("a table of a loop"));
    }
    let (state, captured) = args.split_at(region.carried());
    let (body, numbers) = body_of(region, args.len())?;
    Ok(While {
        state: state.to_vec(),
        captured: captured.to_vec(),
        body,
        condition: region
            .condition
            .map(|id| numbers[id.index()])
            .ok_or_else(|| unknown("a loop without a condition"))?,
        next: region.next.iter().map(|next| numbers[next.index()]).collect(),
        limit: region.limit,
    })
}

/// A recurrence over an index space of this rank.
fn recurrence(of: &RecurrenceNode<NodeId, HostDeclaration>, rank: usize) -> Result<RandomRecurrence> {
    if of.step.is_numbered {
        return Err(unknown("a scan with a loop that has no limit"));
    }
    let args: Vec<usize> = of.args.iter().map(|arg| arg.index()).collect();
    let (state, others) = args.split_at(of.states());
    let (inputs, captured) = others.split_at(of.inputs as usize);
    let (body, numbers) = body_of(&of.step, args.len())?;
    let numbers = |nodes: &[NodeId]| nodes.iter().map(|node| numbers[node.index()]).collect();
    Ok(RandomRecurrence {
        state: state.to_vec(),
        inputs: inputs.to_vec(),
        captured: captured.to_vec(),
        body,
        next: numbers(&of.step.next),
        outputs: numbers(&of.step.outputs),
        axis: of.axis as isize - rank as isize,
        order: of.order,
    })
}

/// The steps of a region with this many parameters, and the number of each node among the values of the body.
fn body_of(region: &Region, params: usize) -> Result<(Vec<Step>, Vec<usize>)> {
    let mut body = Vec::new();
    let mut numbers: Vec<usize> = Vec::new();
    for node in &region.nodes {
        let of = |id: &NodeId| numbers[id.index()];
        let step = match node {
            NodeKind::Leaf(param) => {
                numbers.push(*param as usize);
                continue;
            }
            NodeKind::Apply { op, args, .. } => {
                Step::Apply(*op, args.iter().map(|arg| Arg::Step(of(arg))).collect())
            }
            NodeKind::Cast { arg, to } => Step::Cast(of(arg), *to),
            NodeKind::Gather { table, positions } => Step::Take(TakeKind::Take, of(table), of(positions), 0),
            NodeKind::Loop(inner) => {
                let args: Vec<usize> = inner.args.iter().map(of).collect();
                Step::While(Box::new(repeated(&inner.region, &args)?), inner.item as usize)
            }
            _ => return Err(unknown("a host function in a loop")),
        };
        numbers.push(params + body.len());
        body.push(step);
    }
    Ok((body, numbers))
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("{name}: the reference does not know it"))
}

/// The elements of an input that is an index, given by its layout.
fn numbers(layout: &Layout) -> Tensor {
    let mut bits = vec![layout.offset as u64];
    for (&extent, &stride) in layout.shape.iter().zip(&layout.strides) {
        let along =
            |&first: &u64| (0..extent).map(move |i| first.wrapping_add_signed((i as isize * stride) as i64));
        bits = bits.iter().flat_map(along).collect();
    }
    Tensor { dtype: DType::Int64, shape: layout.shape.to_vec(), bits }
}

fn view(view: &layout::View) -> View {
    match view {
        layout::View::BroadcastTo(shape) => View::BroadcastTo(shape.to_vec()),
        layout::View::Reshape(shape) => View::Reshape(shape.iter().map(|&extent| extent as isize).collect()),
        layout::View::Permute(axes) => View::PermuteDims(axes.iter().map(|&axis| axis.into()).collect()),
        layout::View::Windows { axis, length, .. } => View::SlidingWindow(*length, (*axis).into()),
        layout::View::Slice(slices) => View::Slice(slices.iter().map(range).collect()),
    }
}

/// The Python slice that selects the same indices.
fn range(slice: &Slice) -> PySlice {
    let Slice { start, step, len } = *slice;
    let step = if step == 0 { 1 } else { step };
    if len == 0 {
        return PySlice { start: Some(0), stop: Some(0), step: 1 };
    }
    let last = start as isize + (len as isize - 1) * step;
    // A stop before index 0 is left out, since −1 would count from the end.
    let stop = Some(last + step.signum()).filter(|&stop| stop >= 0);
    PySlice { start: Some(start as isize), stop, step }
}

/// The maximum number of elements in a step of a check, if the extents can be reduced.
pub const MOST_ELEMENTS: usize = 2000;

/// Evaluates an expression with random values for each seed in every way, and compares the results with the reference.
///
/// Values are edge-case values, random bits and ordinary numbers. Inputs are contiguous, strided, reversed or transposed. If
/// the expression is well-typed with random extents, they replace its own; equal extents stay equal. The random extents are
/// small, so threads share the work only if an expression's extents can't be changed. Integer division by zero gives 0 for half
/// of the seeds, and is an error for the others.
///
/// # Errors
/// A difference, with a smaller program that shows it, or an expression that can't be converted.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from_vec(vec![0.5_f32; 100]);
/// let y = Array::from_vec(vec![3_i32; 100]).astype(DType::Float32);
/// let sigmoid = ((-&x).exp() + 1).reciprocal();
/// let summary = broadloom_testkit::check(&[&sigmoid, &(&sigmoid * y)], 0..20)?;
/// assert_eq!(summary.programs, 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(
    arrays: &[&Array<'_>],
    seeds: Range<u64>,
) -> std::result::Result<Summary, Box<dyn std::error::Error>> {
    let template = program_of(arrays)?;
    let given = |seed| instance(&template, seed, MOST_ELEMENTS);
    Search::new(seeds).of(&given).run().map_err(|finding: Box<Finding>| finding.into())
}
