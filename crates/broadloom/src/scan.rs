//! Recurrences: a step computes the next states and outputs from the states before and the elements of inputs, along an axis.
//!
//! The step is a function of arrays, called with placeholders for the states and for the elements at one index of the axis. What
//! it returns is recorded as a [`Region`], like the body of a [loop](crate::while_loop()).

use std::sync::Arc;

use broadloom_core::node::{NodeKind, RecurrenceNode, Region, StepOrder};
use broadloom_core::region::MAX_CARRIED;
use broadloom_core::{DType, Dim, Dims, Error, ErrorKind, Result, Scalar, Shape, infer, region};
use broadloom_ir::figures::counted;
use broadloom_mem::{HostFunction, LoopRun};
use smallvec::SmallVec;

use crate::along::Along;
use crate::array::{Array, Kind};
use crate::expr;
use crate::recorder::Recorder;
use crate::stamp::{Stamp, stamped};
use crate::while_loop::{LoopBuilder, exact, exactly, literal, placeholder};

/// A step that takes the states and the elements of the inputs, and returns the next states and the outputs.
pub type ScanStep<'f, 'a> =
    dyn Fn(&[Array<'a>], &[Array<'a>]) -> Result<(Vec<Array<'a>>, Vec<Array<'a>>)> + 'f;

/// Runs `step` at each index of an axis of the inputs, one after another, and returns the last states and all outputs.
///
/// The step takes the states and the elements of the inputs at one index, and returns the next states and the outputs; it works
/// element by element along all other axes. The index space is that to which the inputs, and along the other axes the initial
/// states and the arrays used in the step, broadcast: an array used in the step is the same at each index, and lacks the axis, except
/// one of which the step [takes](Array::take) elements.
/// The last states have the shape of the other axes, the outputs that of the index space. If the axis has no elements, the last
/// states are the initial ones. A number as an initial state takes the dtype that the step gives it; to find it, the step is called
/// several times, and must return the same each time.
///
/// The steps are performed in order, so a running sum rounds otherwise than [`Array::cumulative_sum`](crate::Array::cumulative_sum),
/// which adds pairwise.
///
/// # Errors
/// [`ErrorKind::DType`] for a state whose dtype changes; [`ErrorKind::Shape`] for one whose shape changes, for operations that are
/// not element-wise, for an axis that an input does not have, and for inputs of different extents along it; [`ErrorKind::Arity`]
/// without states, and without inputs and a length; [`ErrorKind::Limit`] for more than 64 states or outputs.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::scan;
///
/// // An exponential average.
/// let x = Array::from_vec(vec![8.0_f64, 0.0, 4.0]);
/// let ([last], [means]) = scan(
///     |[mean], [x]| {
///         let next = mean + (x - mean) / 2;
///         ([next.clone()], [next])
///     },
///     [Array::scalar(0.0)],
///     [x],
///     0,
/// )?;
/// assert_eq!((last.item::<f64>()?, means.to_vec::<f64>()?), (3.0, vec![4.0, 2.0, 3.0]));
/// # Ok::<(), Error>(())
/// ```
pub fn scan<'a, const S: usize, const X: usize, const Y: usize>(
    step: impl Fn(&[Array<'a>; S], &[Array<'a>; X]) -> ([Array<'a>; S], [Array<'a>; Y]),
    state: [Array<'a>; S],
    inputs: [Array<'a>; X],
    along: impl Into<Along>,
) -> Result<([Array<'a>; S], [Array<'a>; Y])> {
    let step = |state: &[Array<'a>], elements: &[Array<'a>]| {
        let (next, outputs) = step(exactly(state)?, exactly(elements)?);
        Ok((next.to_vec(), outputs.to_vec()))
    };
    let (last, outputs) = try_scan(&step, &state, &inputs, along)?;
    Ok((exact(last)?, exact(outputs)?))
}

/// Runs `step` like [`scan`], for any number of states, inputs and outputs, and for a step that may fail.
///
/// # Errors
/// The errors of [`scan`] and of the step; [`ErrorKind::Arity`] also if the step returns another number of states.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{Along, try_scan};
///
/// let x = Array::from_vec(vec![1_i64, 2, 3]);
/// let step = |state: &[Array<'static>], elements: &[Array<'static>]| {
///     let sum = state[0].try_add(&elements[0])?;
///     Ok((vec![sum.clone()], vec![sum]))
/// };
/// let (_, sums) = try_scan(&step, &[Array::scalar(0)], &[x], Along::axis(0).reverse())?;
/// assert_eq!(sums[0].to_vec::<i64>()?, [6, 5, 3]);
/// # Ok::<(), Error>(())
/// ```
pub fn try_scan<'a>(
    step: &ScanStep<'_, 'a>,
    state: &[Array<'a>],
    inputs: &[Array<'a>],
    along: impl Into<Along>,
) -> Result<(Vec<Array<'a>>, Vec<Array<'a>>)> {
    named_scan(&state_name, step, state, inputs, along.into())
}

/// The name of a state in errors.
pub(crate) fn state_name(i: usize) -> String {
    format!("state {i}")
}

/// Runs a step like [`try_scan`]; in errors, its states have the names that `name` returns.
pub(crate) fn named_scan<'a>(
    name: &dyn Fn(usize) -> String,
    step: &ScanStep<'_, 'a>,
    state: &[Array<'a>],
    inputs: &[Array<'a>],
    along: Along,
) -> Result<(Vec<Array<'a>>, Vec<Array<'a>>)> {
    let mut typed = state.to_vec();
    if along.order == StepOrder::Canonical {
        for (i, (identity, value)) in typed.iter_mut().zip(inputs).enumerate() {
            if let Some(number) = identity.number() {
                let dtype = expr::typed(value)?.dtype();
                *identity = literal(number, dtype, || format!("{}: {}", along.function(), name(i)))?;
            }
        }
    }
    let state = &typed[..];
    let space = ScanSpace::of(state, inputs, along)?;
    let elements = space.elements();
    let step = |state: &[Array<'a>]| {
        let (next, outputs) = step(state, &elements[..inputs.len()])?;
        check_next(along.function(), next.len(), state.len())?;
        Ok((next, outputs))
    };
    let body = |state: &[Array<'a>]| step(state).map(|(next, _)| next);
    let builder = builder(along.function(), name, &body, None);
    let (states, initial) = builder.begin(state, &space.shape, space.dims.as_ref())?;
    let (made, stamp) = stamped(|| step(&states));
    space.close(name, Begun { initial, states, elements, stamp }, made?)
}

/// Checks the number of states or outputs.
fn check_count(along: Along, count: usize, what: &str) -> Result<()> {
    if count <= MAX_CARRIED || along.is_unlimited {
        return Ok(());
    }
    let function = along.function();
    Err(Error::new(ErrorKind::Limit, format!("{function}: {count} {what}, the limit is {MAX_CARRIED}")))
}

/// Checks that the inputs of steps that combine pairs are like the states, which are the identities.
fn check_pairs(function: &str, identity: &[Array<'_>], values: &[Array<'_>]) -> Result<()> {
    if identity.len() != values.len() {
        let [values, identities] = [(values, "array"), (identity, "identity value")]
            .map(|(of, what)| counted(of.len() as u64, what));
        let why = format!("{function}: there are {values}, but {identities}");
        return Err(
            Error::new(ErrorKind::Arity, why).with_help("each array has the identity of its elements")
        );
    }
    for (i, (identity, value)) in identity.iter().zip(values).enumerate() {
        let (dtype, of_identity) = (value.dtype(), identity.dtype());
        if of_identity != dtype {
            let why = format!("{function}: array {i} is {dtype}, but its identity {of_identity}");
            return Err(Error::new(ErrorKind::DType, why));
        }
    }
    Ok(())
}

pub(crate) fn check_next(function: &str, next: usize, states: usize) -> Result<()> {
    if next == states {
        return Ok(());
    }
    let states = counted(states as u64, "state");
    Err(Error::new(ErrorKind::Arity, format!("{function}: the step takes {states}, but returns {next}")))
}

/// The axis of an input along which the steps run.
fn axis_of(i: usize, input: &Array<'_>, along: Along) -> Result<usize> {
    let (rank, axis) = (input.rank() as isize, along.axis);
    let of_input = if axis < 0 { axis + rank } else { axis };
    if input.all_dims().has_rest() || !(0..rank).contains(&of_input) {
        let why = format!(
            "{}: of the inputs, number {i} is {}{}, which has no axis {axis}",
            along.function(),
            input.dtype(),
            input.all_dims()
        );
        return Err(Error::new(ErrorKind::Shape, why)
            .with_help("a value without the axis is used in the step, where it is the same at each index"));
    }
    Ok(of_input as usize)
}

/// Checks that the inputs have the same extent along the axis, which is the length if one is given.
fn check_extents(inputs: &[Array<'_>], along: Along) -> Result<()> {
    let mut first: Option<(String, Dim)> =
        along.length.map(|length| ("the length".to_owned(), Dim::Fixed(length)));
    for (i, input) in inputs.iter().enumerate() {
        let axis = axis_of(i, input, along)?;
        let extent = input.all_dims()[axis].clone();
        match &first {
            Some((what, other)) if *other != extent => {
                let why = format!(
                    "{}: input {i} has {extent} elements along axis {}, {what} {other}",
                    along.function(),
                    along.axis
                );
                return Err(Error::new(ErrorKind::Shape, why));
            }
            Some(_) => {}
            None => first = Some((format!("input {i}"), extent)),
        }
    }
    Ok(())
}

/// An input without memory that has the given number of steps.
fn steps<'a>(state: &[Array<'a>], along: Along) -> Result<Array<'a>> {
    let Some(length) = along.length else {
        let why = format!("{}: there are neither inputs nor a length", along.function());
        return Err(Error::new(ErrorKind::Arity, why));
    };
    let others = state.iter().map(Array::rank).max().unwrap_or(0);
    let none = expr::constant(Scalar::of(false));
    // The axis is checked against an input of this rank.
    let one = none.broadcast_to(&vec![1; others + 1])?;
    let axis = axis_of(0, &one, along)?;
    let mut extents = vec![1; others + 1];
    extents[axis] = length;
    none.broadcast_to(&extents)
}

/// The inputs of a scan, and the shape of its states.
#[derive(Clone)]
pub(crate) struct ScanSpace<'a> {
    inputs: Vec<Array<'a>>,
    along: Along,
    /// The number of axes of the index space, without that of the steps.
    others: usize,
    /// The shape to which the inputs broadcast without the axis, and the initial states.
    pub shape: Shape,
    pub dims: Option<Arc<Dims>>,
}

/// A scan before its first step.
#[derive(Clone)]
pub(crate) struct Begun<'a> {
    pub initial: Vec<Array<'a>>,
    /// The states and the elements of the inputs in the step.
    pub states: Vec<Array<'a>>,
    pub elements: Vec<Array<'a>>,
    pub stamp: Stamp,
}

/// What checks and records the states of a scan, as of a loop that never ends.
fn builder<'s, 'a>(
    function: &'static str,
    name: &'s dyn Fn(usize) -> String,
    body: &'s dyn Fn(&[Array<'a>]) -> Result<Vec<Array<'a>>>,
    made: Option<Stamp>,
) -> LoopBuilder<'s, 'a> {
    let condition = &|_: &[Array<'a>]| Ok(expr::constant(Scalar::of(false)));
    LoopBuilder { function, hidden: 0, condition, body, name, limit: None, made }
}

impl<'a> ScanSpace<'a> {
    pub(crate) fn of(state: &[Array<'a>], inputs: &[Array<'a>], along: Along) -> Result<ScanSpace<'a>> {
        let function = along.function();
        if along.order == StepOrder::Canonical {
            check_pairs(function, state, inputs)?;
        }
        if state.is_empty() {
            return Err(Error::new(ErrorKind::Arity, format!("{function}: there is no state")));
        }
        check_count(along, state.len(), "states")?;
        let mut inputs = inputs.iter().map(expr::typed).collect::<Result<Vec<_>>>()?;
        check_extents(&inputs, along)?;
        if inputs.is_empty() {
            inputs.push(steps(state, along)?);
        }
        let of_inputs = inputs.iter().map(|input| input.rank() - 1);
        let others = of_inputs.chain(state.iter().map(Array::rank)).max().unwrap_or(0);
        let space = ScanSpace { inputs, along, others, shape: Shape::scalar(), dims: None };
        let (shape, dims) =
            infer::recurrence(function, &known(&space.aligned_inputs()?), &known(state), space.axis())?
                .others;
        Ok(ScanSpace { shape, dims: dims.map(Arc::new), ..space })
    }

    /// The elements of the inputs in the step.
    pub(crate) fn elements(&self) -> Vec<Array<'a>> {
        self.inputs.iter().map(|input| placeholder(input.dtype(), &self.shape, self.dims.as_ref())).collect()
    }

    /// The name of the function in errors.
    pub(crate) fn function(&self) -> &'static str {
        self.along.function()
    }

    /// The axis of the index space along which the steps run.
    fn axis(&self) -> usize {
        let axis = self.along.axis;
        if axis < 0 { axis.saturating_add_unsigned(self.others + 1) as usize } else { axis as usize }
    }

    /// The last states and the outputs of a scan whose step computes the next states and outputs `ends`. In errors, states have the
    /// names that `name` returns.
    pub(crate) fn close(
        mut self,
        name: &dyn Fn(usize) -> String,
        begun: Begun<'a>,
        (next, outputs): (Vec<Array<'a>>, Vec<Array<'a>>),
    ) -> Result<(Vec<Array<'a>>, Vec<Array<'a>>)> {
        let Begun { initial: mut args, states: mut placeholders, elements, stamp } = begun;
        let (states, function) = (args.len(), self.along.function());
        check_count(self.along, outputs.len(), "outputs")?;
        if self.along.order == StepOrder::Canonical && !outputs.is_empty() {
            let outputs = counted(outputs.len() as u64, "output");
            return Err(Error::new(
                ErrorKind::Arity,
                format!("{function}: it has no outputs, but got {outputs}"),
            ));
        }
        let body = |_: &[Array<'a>]| Ok(next.clone());
        let builder = builder(function, name, &body, Some(stamp));
        let next = builder.checked(&placeholders, next.clone())?;
        placeholders.extend(elements);

        let mut recorder = Recorder::new(function, &placeholders, stamp, false);
        let mut ends = Vec::with_capacity(next.len() + outputs.len());
        for (i, value) in next.iter().chain(&outputs).enumerate() {
            let what = || match i.checked_sub(states) {
                None => name(i),
                Some(output) => format!("output {output}"),
            };
            ends.push(recorder.record(&expr::typed(value)?, &what)?);
        }
        let Recorder { mut nodes, mut captured, tables, functions, numbered, .. } = recorder;
        let is_table = |i: usize| tables.binary_search(&((placeholders.len() + i) as u32)).is_ok();
        let elements = captured.iter().enumerate().filter(|(i, _)| !is_table(*i)).map(|(_, value)| value);
        // A captured value may have more axes than the states and inputs. Those that it has in addition come first, so that they
        // change nothing in the step.
        self.others = elements.clone().map(Array::rank).fold(self.others, usize::max);
        let (axis, inputs) = (self.axis(), self.aligned_inputs()?);
        let mut params: Vec<DType> = args.iter().chain(&inputs).chain(&captured).map(Array::dtype).collect();
        let count = inputs.len() as u32;
        let others: Vec<Array<'a>> = args.iter().chain(elements).cloned().collect();
        let shapes = infer::recurrence(function, &known(&inputs), &known(&others), axis)?;
        let [space, others] = [shapes.space, shapes.others].map(|(shape, dims)| (shape, dims.map(Arc::new)));
        if let Some(leaf) = numbered {
            nodes[leaf.index()] = NodeKind::Leaf(params.len() as u32);
            params.push(DType::Int64);
            // Which element is found first depends on the order of the steps, so that errors do not name one.
            captured.push(expr::constant(Scalar::of(LoopRun::UNNUMBERED as i64)));
        }
        let outputs = ends.split_off(states);
        let region = Region {
            params,
            tables,
            limit: None,
            is_numbered: numbered.is_some(),
            nodes,
            condition: None,
            next: ends,
            outputs,
        };
        region::check_depth(function, &region)?;
        args.extend(inputs);
        args.extend(captured);
        let (step, order) = (Arc::new(region), self.along.order);
        let node = RecurrenceNode { step, functions, args, inputs: count, axis: axis as u8, order, item: 0 };
        let item = |item: usize| {
            let node = RecurrenceNode { item: item as u32, ..node.clone() };
            let dtype = node.dtype().ok_or_else(lost)?;
            let (shape, dims) = if node.is_state() { others.clone() } else { space.clone() };
            Ok(Array::with_dims(Kind::Recurrence(Box::new(node)), dtype, shape, dims))
        };
        let mut items = (0..node.items()).map(item).collect::<Result<Vec<_>>>()?;
        let outputs = items.split_off(states);
        Ok((items, outputs))
    }

    /// The inputs with the rank of the index space, aligned by the axis.
    fn aligned_inputs(&self) -> Result<Vec<Array<'a>>> {
        self.inputs.iter().enumerate().map(|(i, input)| self.aligned(i, input)).collect()
    }

    /// An input with the rank of the index space, whose axis has as many axes after it as that of the space.
    fn aligned(&self, i: usize, input: &Array<'a>) -> Result<Array<'a>> {
        let mut input = self.with_axes_behind(i, input)?;
        while input.rank() <= self.others {
            input = input.expand_dims(0)?;
        }
        Ok(input)
    }

    /// An input whose axis has as many axes after it as that of the index space.
    fn with_axes_behind(&self, i: usize, input: &Array<'a>) -> Result<Array<'a>> {
        let (rank, axis) = (input.rank(), axis_of(i, input, self.along)?);
        let after = self.others - self.axis();
        if rank - 1 - axis == after {
            return Ok(input.clone());
        }
        if input.dims().is_some() {
            let why = format!(
                "{}: input {i} is {}{}, and others have another number of axes",
                self.along.function(),
                input.dtype(),
                input.all_dims()
            );
            return Err(
                Error::new(ErrorKind::Shape, why).with_help("reshape it, or give all of them one rank")
            );
        }
        // Other axes are moved after the axis, as many as there are and as the space has. Axes of one element stand for the others.
        let behind = after.min(rank - 1);
        let mut axes: SmallVec<[isize; 6]> =
            (0..rank as isize).filter(|&other| other != axis as isize).collect();
        axes.insert(rank - 1 - behind, axis as isize);
        let moved = input.permute_dims(&axes)?;
        let mut extents: SmallVec<[usize; 6]> = moved.shape().into();
        for _ in behind..after {
            extents.insert(rank - behind, 1);
        }
        moved.reshape(&extents.iter().map(|&extent| extent as isize).collect::<Vec<_>>())
    }
}

/// The value number `item` of a recurrence.
pub(crate) fn item<'a>(of: &RecurrenceNode<Array<'a>, HostFunction>, item: usize) -> Result<Array<'a>> {
    let others: Vec<Array<'a>> = of.others().cloned().collect();
    let axis = usize::from(of.axis);
    let shapes = infer::recurrence(of.function(), &known(of.inputs()), &known(&others), axis)?;
    let node = RecurrenceNode { item: item as u32, ..of.clone() };
    let dtype = node.dtype().ok_or_else(lost)?;
    let (shape, dims) = if node.is_state() { shapes.others } else { shapes.space };
    Ok(Array::with_dims(Kind::Recurrence(Box::new(node)), dtype, shape, dims.map(Arc::new)))
}

/// The properties of arrays that type inference uses.
fn known<'x>(arrays: &'x [Array<'_>]) -> Vec<infer::Operand<'x>> {
    arrays.iter().map(Array::known).collect()
}

fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a value of a scan without a dtype")
}
