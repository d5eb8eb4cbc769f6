//! Builds arrays from the steps of a random program.

use broadloom::random::draw;
use broadloom::{Along, Array, Range, Result, concat, try_reduce, try_scan, try_while_loop, with_promotion};
use broadloom_core::node::StepOrder;
use broadloom_core::routine::SegmentFunction;

use super::reductions;
use crate::elements;
use crate::random::{Arg, Program, RandomRecurrence, Step, TakeKind, View, WholeArrayCall};

/// Builds the arrays of a program's steps, without evaluating them.
///
/// # Errors
/// The array functions' error if the program is ill-typed.
pub fn arrays(program: &Program) -> Result<Vec<Array<'static>>> {
    arrays_over(program, |_| None)
}

/// Builds the arrays of a program's steps, some of which are replaced by given arrays.
///
/// # Errors
/// The array functions' error if the program is ill-typed.
pub fn arrays_over(
    program: &Program,
    instead: impl Fn(usize) -> Option<Array<'static>>,
) -> Result<Vec<Array<'static>>> {
    with_promotion(program.promotion, || {
        let mut arrays: Vec<Array<'static>> = Vec::new();
        // The values of a recurrence are built together, as users do.
        let mut recent: Option<(&RandomRecurrence, Vec<Array<'static>>)> = None;
        for (number, step) in program.steps.iter().enumerate() {
            let made = match (instead(number), step) {
                (Some(array), _) => array,
                (None, Step::Recurrence(of, item)) => {
                    let values = match recent.take().filter(|(recent, _)| *recent == &**of) {
                        Some((_, values)) => values,
                        None => values_of(of, &arrays)?,
                    };
                    recent.insert((of, values)).1[*item].clone()
                }
                (None, step) => array(step, &arrays)?,
            };
            arrays.push(made);
        }
        Ok(arrays)
    })
}

/// Builds the array of a step from those of the preceding steps, in this thread's promotion mode.
///
/// # Errors
/// The array functions' error if the step is ill-typed.
pub fn array(step: &Step, before: &[Array<'static>]) -> Result<Array<'static>> {
    let operand = |arg: &Arg| match arg {
        Arg::Step(i) => before[*i].clone(),
        Arg::Literal(x) => Array::scalar(*x),
    };
    match step {
        Step::Input(x) => Ok(elements::array(x.dtype, &x.shape, &x.bits)),
        Step::Constant(dtype, bits) => Ok(Array::scalar(elements::literal(*dtype, *bits)).astype(*dtype)),
        Step::Cast(arg, dtype) => Ok(before[*arg].astype(*dtype)),
        Step::View(arg, view) => view_of(&before[*arg], view),
        Step::Apply(op, args) => Array::apply(*op, &args.iter().map(operand).collect::<Vec<_>>()),
        Step::Concat(args, axis) => {
            concat(&args.iter().map(|&arg| before[arg].clone()).collect::<Vec<_>>(), *axis)
        }
        Step::Take(TakeKind::Take, x, indices, axis) => before[*x].take(&before[*indices], *axis),
        Step::Take(TakeKind::AlongAxis, x, indices, axis) => {
            before[*x].take_along_axis(&before[*indices], *axis)
        }
        Step::WholeArray(call, args) => {
            whole(*call, &args.iter().map(|&arg| before[arg].clone()).collect::<Vec<_>>())
        }
        Step::Draw(call, args) => {
            let args: Vec<Array<'static>> = args.iter().map(operand).collect();
            draw(call, &args[0], &args[1..])
        }
        Step::Reduce(arg, reduction) => reductions::reduce(&before[*arg], reduction),
        Step::Scan(arg, scan) => reductions::scan(&before[*arg], scan),
        Step::VecDot(x, y, dot) => before[*x].vecdot(&before[*y], dot.axis),
        Step::While(of, item) => {
            let of_steps = |steps: &[usize]| steps.iter().map(|&i| before[i].clone()).collect::<Vec<_>>();
            let (state, captured) = (of_steps(&of.state), of_steps(&of.captured));
            let values = |state: &[Array<'static>]| -> Result<Vec<Array<'static>>> {
                let mut values = [state, &captured].concat();
                for step in &of.body {
                    let value = array(step, &values)?;
                    values.push(value);
                }
                Ok(values)
            };
            let condition = |state: &[Array<'static>]| Ok(values(state)?.swap_remove(of.condition));
            let body = |state: &[Array<'static>]| {
                let values = values(state)?;
                Ok(of.next.iter().map(|&next| values[next].clone()).collect())
            };
            Ok(try_while_loop(&condition, &body, &state, of.limit)?.swap_remove(*item))
        }
        Step::Recurrence(of, item) => Ok(values_of(of, before)?.swap_remove(*item)),
    }
}

/// The array of a function of whole arrays.
fn whole(call: WholeArrayCall, args: &[Array<'static>]) -> Result<Array<'static>> {
    let x = &args[0];
    match call {
        WholeArrayCall::Sort { axis, descending } => x.sort(axis, descending),
        WholeArrayCall::ArgSort { axis, descending } => x.argsort(axis, descending),
        WholeArrayCall::TopK { k, axis, largest, is_indices } => {
            let (values, indices) = x.topk(k, axis, largest)?;
            Ok(if is_indices { indices } else { values })
        }
        WholeArrayCall::SearchSorted { right } => x.searchsorted(&args[1], right),
        WholeArrayCall::Segments { function, segments } => match function {
            SegmentFunction::Sum => x.segment_sum(&args[1], segments),
            SegmentFunction::Prod => x.segment_prod(&args[1], segments),
            SegmentFunction::Max => x.segment_max(&args[1], segments),
            SegmentFunction::Min => x.segment_min(&args[1], segments),
            SegmentFunction::Mean => x.segment_mean(&args[1], segments),
            SegmentFunction::Count => x.segment_count(segments),
        },
        WholeArrayCall::Scatter(mode) => x.scatter(mode, &args[1], &args[2]),
    }
}

/// The last states and the outputs of a recurrence.
fn values_of(of: &RandomRecurrence, before: &[Array<'static>]) -> Result<Vec<Array<'static>>> {
    type Values = Vec<Array<'static>>;
    let of_steps = |steps: &[usize]| steps.iter().map(|&i| before[i].clone()).collect::<Values>();
    let [state, inputs, captured] = [&of.state, &of.inputs, &of.captured].map(|steps| of_steps(steps));
    let step = |state: &[Array<'static>], elements: &[Array<'static>]| -> Result<(Values, Values)> {
        let mut values = [state, elements, &captured].concat();
        for step in &of.body {
            let value = array(step, &values)?;
            values.push(value);
        }
        let chosen = |which: &[usize]| which.iter().map(|&i| values[i].clone()).collect();
        Ok((chosen(&of.next), chosen(&of.outputs)))
    };
    let along = match of.order {
        StepOrder::Forward => Along::axis(of.axis),
        StepOrder::Backward => Along::axis(of.axis).reverse(),
        StepOrder::Canonical => {
            let combine = |left: &[Array<'static>], right: &[Array<'static>]| Ok(step(left, right)?.0);
            return try_reduce(&combine, &state, &inputs, of.axis);
        }
    };
    let (last, outputs) = try_scan(&step, &state, &inputs, along)?;
    Ok([last, outputs].concat())
}

fn view_of(x: &Array<'static>, view: &View) -> Result<Array<'static>> {
    match view {
        View::Slice(ranges) => {
            let ranges: Vec<Range> = ranges.iter().map(|r| Range::new(r.start, r.stop, r.step)).collect();
            x.slice(&ranges)
        }
        View::PermuteDims(axes) => x.permute_dims(axes),
        View::BroadcastTo(shape) => x.broadcast_to(shape),
        View::Reshape(shape) => x.reshape(shape),
        View::ExpandDims(axis) => x.expand_dims(*axis),
        View::Squeeze(axis) => x.squeeze(*axis),
        View::Flip(axis) => x.flip(*axis),
        View::IndexAxis(axis, index) => x.index_axis(*axis, *index),
        View::SlidingWindow(length, axis) => x.sliding_window(*length, *axis),
    }
}
