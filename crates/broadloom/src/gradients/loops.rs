//! Derivatives of loops and conditionals.
//!
//! Forwards, the tangents are carried beside the values. Backwards, a loop whose number of iterations is known when it is built
//! is a recurrence or, in the body of another loop, computes the values before each iteration again; a conditional is differentiated
//! branch by branch. Other loops are refused.

use std::cell::RefCell;

use broadloom_core::node::{LoopNode, NodeId, NodeKind, Region};
use broadloom_core::{DType, Op, Result, Scalar, fold};
use broadloom_mem::{FloatEnv, HostFunction};

use super::linear::{add, apply, constant, refused, select, spread, summed_to, zero};
use super::regions::{Jvp, LoopAdjoints, LoopTangents, RegionBody, Take, Vjp, taken_like, with_tangents};
use super::tables::TakenElements;
use crate::along::Along;
use crate::array::{Array, Leaf};
use crate::cond::try_cond;
use crate::expr;
use crate::fori_loop::{NAME as FORI, range_loop};
use crate::scan::try_scan;
use crate::stamp::{Stamp, stamped};
use crate::while_loop::{LoopBuilder, carried_value};

/// A loop over handles.
pub(super) type HandleLoop<'a> = LoopNode<Array<'a>, HostFunction>;

fn body<'r, 'a>(of: &'r HandleLoop<'a>) -> RegionBody<'r, 'a> {
    RegionBody { region: &of.region, functions: &of.functions, args: &of.args, take: None }
}

/// The name of a loop in errors.
fn function(region: &Region) -> &'static str {
    match region.limit {
        Some(0 | 1) => "cond",
        Some(u64::MAX) => FORI,
        _ => "while_loop",
    }
}

/// The condition of a loop, of whose region these arrays are the parameters.
fn condition<'a>(body: RegionBody<'_, 'a>, params: &[Array<'a>]) -> Result<Array<'a>> {
    let roots: Vec<_> = body.region.condition.into_iter().collect();
    let values = body.values(&roots, params)?;
    values.into_iter().next().ok_or_else(|| refused("gradient", "a loop lacks a condition"))
}

/// The values of a loop whose iterations take elements by a function.
pub(super) fn with_takes<'a>(of: &HandleLoop<'a>, take: &Take<'_, 'a>) -> Result<Vec<Array<'a>>> {
    let body = RegionBody { take: Some(take), ..body(of) };
    let (initial, captured) = of.args.split_at(of.region.carried());
    let builder = LoopBuilder {
        function: function(&of.region),
        hidden: 0,
        condition: &|state: &[Array<'a>]| condition(body, &[state, captured].concat()),
        body: &|state: &[Array<'a>]| body.values(&of.region.next, &[state, captured].concat()),
        name: &carried_value,
        limit: of.region.limit,
        made: None,
    };
    builder.build(initial)
}

/// The tangent of each value that the loop carries, from those of its operands.
pub(super) fn tangents<'a>(
    of: &HandleLoop<'a>,
    tangents: &[Option<Array<'a>>],
    jvp: &Jvp<'_, 'a>,
) -> Result<LoopTangents<'a>> {
    let (body, carried) = (body(of), of.region.carried());
    let (initial, captured) = of.args.split_at(carried);
    let varying = body.varying(|param| tangents[param].is_some());
    let moving: Vec<usize> = (0..carried).filter(|&i| varying[i]).collect();
    let of_initial = |&i: &usize| tangents[i].clone().unwrap_or_else(|| zero(initial[i].dtype()));
    let state: Vec<Array<'a>> = initial.iter().cloned().chain(moving.iter().map(of_initial)).collect();
    let condition = |state: &[Array<'a>]| condition(body, &[&state[..carried], captured].concat());
    let next = |state: &[Array<'a>]| {
        let (values, moved) = state.split_at(carried);
        let next = body.values(&of.region.next, &[values, captured].concat())?;
        let arguments: Vec<_> = moving
            .iter()
            .zip(moved)
            .map(|(&i, v)| (values[i].clone(), v.clone()))
            .chain(with_tangents(captured, &tangents[carried..]))
            .collect();
        let (mut next, found) = jvp(&next, &arguments)?;
        let of_moving = moving.iter().map(|&i| found[i].clone().unwrap_or_else(|| zero(values[i].dtype())));
        next.extend(of_moving);
        Ok(next)
    };
    let name = |i: usize| match i.checked_sub(carried) {
        None => carried_value(i),
        Some(i) => format!("the tangent of {}", carried_value(moving[i])),
    };
    let builder = LoopBuilder {
        function: function(&of.region),
        hidden: moving.len(),
        condition: &condition,
        body: &next,
        name: &name,
        limit: of.region.limit,
        made: None,
    };
    let mut values = builder.build(&state)?;
    let of_moving = values.split_off(carried);
    let mut tangents = vec![None; carried];
    for (&i, tangent) in moving.iter().zip(of_moving) {
        tangents[i] = Some(tangent);
    }
    Ok(LoopTangents { values, tangents })
}

/// A loop of which the adjoints of the operands are wanted.
#[derive(Clone, Copy)]
pub(super) struct LoopInReverse<'l, 'a> {
    pub of: &'l HandleLoop<'a>,
    /// An array of the loop's shape.
    pub like: &'l Array<'a>,
    /// The adjoints of the carried values after the loop; `None` for zero.
    pub adjoints: &'l [Option<Array<'a>>],
    /// Which operands vary.
    pub wanted: &'l [bool],
    /// Differentiates what the body computes.
    pub vjp: &'l Vjp<'l, 'a>,
}

/// The adjoint of each operand of the loop.
pub(super) fn adjoints<'a>(reverse: LoopInReverse<'_, 'a>) -> Result<LoopAdjoints<'a>> {
    let LoopInReverse { of, adjoints, wanted, .. } = reverse;
    if matches!(of.region.limit, Some(0 | 1)) {
        return of_branch(reverse);
    }
    let Some(trips) = trips(of) else {
        let why =
            "its number of iterations depends on values, so that there is no derivative in reverse mode";
        return Err(refused(function(&of.region), why)
            .with_help("differentiate forwards (jvp), or use scan, or fori_loop with constant bounds"));
    };
    let Some(trips) = usize::try_from(trips).ok().filter(|&trips| trips <= MAX_TRIPS) else {
        let why =
            format!("the values before each of its {trips} iterations cannot be stored for reverse mode");
        return Err(refused(function(&of.region), why).with_help("differentiate forwards (jvp)"));
    };
    let depends = |x: &Array<'a>| x.0.is_open;
    let takes = of.region.tables.iter().any(|&table| wanted[table as usize]);
    let is_inner = Stamp::current().is_of_a_loop()
        && (takes || of.args.iter().any(depends) || adjoints.iter().flatten().any(depends));
    let is_short = trips.saturating_mul(of.region.nodes.len()) <= UNROLLED;
    let (found, _) = stamped(|| match (is_inner, is_short) {
        (false, _) => of_recurrence(reverse, trips),
        (true, true) => of_unrolled(reverse, trips),
        // Nothing can be stored, and there are too many takes for a list of them.
        (true, false) if takes => {
            let why = "in the body of another loop, it takes elements of an array that varies, so that there is no derivative in \
                       reverse mode";
            Err(refused(FORI, why).with_help("differentiate forwards (jvp), or take fewer iterations"))
        }
        (true, false) => of_inner(reverse, trips),
    });
    found
}

/// The largest number of iterations in reverse mode: the values of more would not fit any memory.
const MAX_TRIPS: usize = 1 << 40;

/// In the body of another loop, a loop is unrolled in reverse mode up to this number of nodes. Not measured.
const UNROLLED: usize = 256;

/// The adjoints by a recurrence without inputs, which has the values of the loop, of which each state is stored.
fn of_recurrence<'a>(reverse: LoopInReverse<'_, 'a>, trips: usize) -> Result<LoopAdjoints<'a>> {
    let LoopInReverse { of, like, wanted, .. } = reverse;
    let variable =
        |(x, &wanted): (&Array<'a>, &bool)| if wanted { apply(Op::Positive, &[x]) } else { Ok(x.clone()) };
    let variables: Vec<Array<'a>> = of.args.iter().zip(wanted).map(variable).collect::<Result<_>>()?;
    let (states, captured) = variables.split_at(of.region.carried());
    let step = |state: &[Array<'a>], _: &[Array<'a>]| {
        Ok((body(of).values(&of.region.next, &[state, captured].concat())?, Vec::new()))
    };
    let states = states.iter().map(|x| spread(x, like)).collect::<Result<Vec<_>>>()?;
    let (last, _) = try_scan(&step, &states, &[], Along::axis(0).length(trips).unlimited())?;
    pulled_back(reverse, &last, &variables)
}

/// The adjoints of those of a loop's operands that are wanted, from values that were computed from such operands.
fn pulled_back<'a>(
    LoopInReverse { of, adjoints, wanted, vjp, .. }: LoopInReverse<'_, 'a>,
    values: &[Array<'a>],
    operands: &[Array<'a>],
) -> Result<LoopAdjoints<'a>> {
    let outputs = values.iter().zip(adjoints).filter_map(|(y, v)| Some((y.clone(), v.clone()?)));
    let varying = (0..wanted.len()).filter(|&i| wanted[i]);
    let (tables, others): (Vec<usize>, Vec<usize>) = varying.partition(|&i| of.region.is_table(i));
    let [arguments, of_tables] =
        [&others, &tables].map(|of| of.iter().map(|&i| operands[i].clone()).collect::<Vec<_>>());
    let found = vjp(&outputs.collect::<Vec<_>>(), &arguments, &of_tables)?;
    let (mut arrays, mut taken) = (vec![None; wanted.len()], vec![Vec::new(); wanted.len()]);
    others.into_iter().zip(found.arrays).for_each(|(i, v)| arrays[i] = v);
    tables.into_iter().zip(found.taken).for_each(|(i, elements)| taken[i] = elements);
    Ok(LoopAdjoints { arrays, taken })
}

/// An operand of a loop as a variable with the shape of the loop, which each element of the loop has on its own.
fn whole<'a>(x: &Array<'a>, like: &Array<'a>) -> Result<Array<'a>> {
    apply(Op::Positive, &[&spread(x, like)?])
}

/// The operands of a loop; those that are wanted as variables with its shape, apart from tables.
fn whole_args<'a>(of: &HandleLoop<'a>, like: &Array<'a>, wanted: &[bool]) -> Result<Vec<Array<'a>>> {
    let one = |(i, x): (usize, &Array<'a>)| match wanted[i] && !of.region.is_table(i) {
        true => whole(x, like),
        false => Ok(x.clone()),
    };
    of.args.iter().enumerate().map(one).collect()
}

/// Adjoints with the shapes of the operands of a loop, from those with the shape of the loop.
fn summed<'a>(
    of: &HandleLoop<'a>,
    like: &Array<'a>,
    found: Vec<Option<Array<'a>>>,
) -> Result<Vec<Option<Array<'a>>>> {
    let one =
        |(v, x): (Option<Array<'a>>, &Array<'a>)| v.map(|v| summed_to(&v, like, &x.all_dims())).transpose();
    found.into_iter().zip(&of.args).map(one).collect()
}

/// The adjoints of a loop that is part of the body of another one, by all its iterations as one expression.
fn of_unrolled<'a>(reverse: LoopInReverse<'_, 'a>, trips: usize) -> Result<LoopAdjoints<'a>> {
    let LoopInReverse { of, like, wanted, .. } = reverse;
    let take = taken_like(like);
    let body = RegionBody { take: Some(&take), ..body(of) };
    let variables = whole_args(of, like, wanted)?;
    let (mut state, captured) =
        (variables[..of.region.carried()].to_vec(), &variables[of.region.carried()..]);
    for _ in 0..trips {
        state = body.values(&of.region.next, &[&state, captured].concat())?;
    }
    let found = pulled_back(reverse, &state, &variables)?;
    Ok(LoopAdjoints { arrays: summed(of, like, found.arrays)?, ..found })
}

/// The adjoints of a loop that is part of the body of another one, which cannot store anything: a loop from the last iteration to the
/// first, each of which computes the values before it again, from the initial ones. It takes quadratic time.
fn of_inner<'a>(reverse: LoopInReverse<'_, 'a>, trips: usize) -> Result<LoopAdjoints<'a>> {
    let LoopInReverse { of, like, adjoints, wanted, vjp } = reverse;
    let (body, carried) = (body(of), of.region.carried());
    let (initial, captured) = of.args.split_at(carried);
    let varying = body.varying(|param| wanted[param]);
    // The parameters that vary in an iteration: carried values, of which the adjoints are carried too, and captured ones, whose
    // contributions are added from the last iteration on.
    let params: Vec<usize> =
        (0..of.args.len()).filter(|&i| if i < carried { varying[i] } else { wanted[i] }).collect();
    let of_param = |&i: &usize| match adjoints.get(i).cloned().flatten() {
        Some(v) => spread(&v, like),
        None => spread(&zero(of.args[i].dtype()), like),
    };
    let sums: Vec<Array<'a>> = params.iter().map(of_param).collect::<Result<_>>()?;
    let initial = initial.iter().map(|x| spread(x, like)).collect::<Result<Vec<_>>>()?;
    let bounds = |trips: usize| [0, trips].map(|bound| expr::constant(Scalar::of(bound as i64)));
    let next = |index: &Array<'a>, sums: &[Array<'a>]| {
        // With a constant number of iterations, this loop has a derivative too.
        let left = apply(Op::Subtract, &[&expr::constant(Scalar::of(trips as i64 - 1)), index])?;
        let advance = |index: &Array<'a>, state: &[Array<'a>]| {
            let next = body.values(&of.region.next, &[state, captured].concat())?;
            let is_before = apply(Op::Less, &[index, &left])?;
            next.iter().zip(state).map(|(next, x)| select(&is_before, next, x)).collect()
        };
        let before = range_loop(FORI, &carried_value, bounds(trips - 1), &advance, &initial)?;
        let mut values = [&before, captured].concat();
        for &i in &params {
            values[i] = whole(&values[i], like)?;
        }
        let next = body.values(&of.region.next, &values)?;
        let seeds = params.iter().zip(sums).filter(|(i, _)| **i < carried);
        let seeds: Vec<_> = seeds.map(|(&i, v)| (next[i].clone(), v.clone())).collect();
        let arguments: Vec<Array<'a>> = params.iter().map(|&i| values[i].clone()).collect();
        let found = vjp(&seeds, &arguments, &[])?.arrays.into_iter().zip(&params).zip(sums);
        let sum = |((v, &i), sum): ((Option<Array<'a>>, &usize), &Array<'a>)| match (v, i < carried) {
            (Some(v), true) => Ok(v),
            (None, true) => Ok(zero(of.args[i].dtype())),
            (Some(v), false) => add(sum, &v),
            (None, false) => Ok(sum.clone()),
        };
        found.map(sum).collect()
    };
    let last = range_loop(FORI, &carried_value, bounds(trips), &next, &sums)?;
    let mut results = vec![None; of.args.len()];
    for (&i, v) in params.iter().zip(last) {
        results[i] = Some(v).filter(|_| wanted[i]);
    }
    Ok(LoopAdjoints { arrays: summed(of, like, results)?, taken: Vec::new() })
}

/// The adjoints of a conditional: of the branch's values where it is taken, and of the initial ones elsewhere.
fn of_branch<'a>(reverse: LoopInReverse<'_, 'a>) -> Result<LoopAdjoints<'a>> {
    let LoopInReverse { of, like, adjoints, wanted, .. } = reverse;
    let take = taken_like(like);
    let body = RegionBody { take: Some(&take), ..body(of) };
    let condition: Vec<_> = of.region.condition.into_iter().collect();
    let predicate = body.values(&condition, &of.args)?;
    let Some(predicate) = predicate.first().filter(|_| of.region.limit == Some(1)) else {
        let mut passed = adjoints.to_vec();
        passed.resize(of.args.len(), None);
        return Ok(LoopAdjoints { arrays: summed(of, like, passed)?, taken: Vec::new() });
    };
    let indices: Vec<usize> = (0..wanted.len()).filter(|&i| wanted[i] && !of.region.is_table(i)).collect();
    let none = |i: usize| zero(of.args[i].dtype());
    // The operands of which the branch takes elements, in the order of the takes.
    let takes = RefCell::new(Vec::new());
    // A branch has a value, even if the adjoints depend on nothing that varies.
    let idle = indices.is_empty().then(|| zero(DType::Float32));
    let then = || {
        // Branches are computed element by element, so that their adjoints have the shape of the loop until they are known.
        let params = whole_args(of, like, wanted)?;
        let values = body.values(&of.region.next, &params)?;
        let found = pulled_back(reverse, &values, &params)?;
        let mut made: Vec<_> =
            indices.iter().map(|&i| found.arrays[i].clone().unwrap_or_else(|| none(i))).collect();
        made.extend(idle.clone());
        for (operand, elements) in found.taken.iter().enumerate() {
            for elements in elements {
                made.extend([elements.adjoints.clone(), elements.labels()?]);
                takes.borrow_mut().push(operand);
            }
        }
        Ok(made)
    };
    let otherwise = || {
        let passed = |&i: &usize| adjoints.get(i).cloned().flatten().unwrap_or_else(|| none(i));
        let absent = takes.borrow();
        let absent = absent.iter().flat_map(|&operand| [none(operand), TakenElements::absent()]);
        Ok(indices.iter().map(passed).chain(idle.clone()).chain(absent).collect())
    };
    let (mut arrays, mut taken) = (vec![None; wanted.len()], vec![Vec::new(); wanted.len()]);
    if wanted.iter().any(|&wanted| wanted) {
        let found = try_cond(predicate, then, otherwise)?;
        let (of_arrays, of_takes) = found.split_at(indices.len().max(1));
        for (&i, v) in indices.iter().zip(of_arrays) {
            arrays[i] = Some(summed_to(v, like, &of.args[i].all_dims())?);
        }
        for (operand, elements) in takes.take().into_iter().zip(of_takes.chunks_exact(2)) {
            let (adjoints, positions) = (elements[0].clone(), spread(&elements[1], like)?);
            taken[operand].push(TakenElements { positions, adjoints, may_be_absent: true });
        }
    }
    Ok(LoopAdjoints { arrays, taken })
}

/// The number of iterations of a loop over a range whose bounds are constants.
fn trips(of: &HandleLoop<'_>) -> Option<u64> {
    let region = &of.region;
    let condition = region.nodes.get(region.condition?.index())?;
    let bounds = condition.args_of(Op::Less)?;
    let param = |id: &NodeId| match region.nodes.get(id.index())? {
        NodeKind::Leaf(param) => Some(*param as usize),
        _ => None,
    };
    let (counter, upper) = (param(bounds.get(0)?)?, param(bounds.get(1)?)?);
    if counter >= region.carried() || upper < region.carried() {
        return None;
    }
    let added = region.nodes.get(region.next[counter].index())?.args_of(Op::Add)?;
    let (from, step) = (param(added.get(0)?)?, param(added.get(1)?)?);
    let integer = |i: usize| {
        let x = of.args.get(i).filter(|x| x.dtype().is_integer() && x.dtype() != DType::UInt64)?;
        constant(x)?;
        match x.leaf()? {
            Leaf::Const(value) => {
                let _ieee = FloatEnv::ieee();
                fold::cast(*value, DType::Int64).get::<i64>()
            }
            _ => None,
        }
    };
    if from != counter || step < region.carried() || integer(step)? != 1 {
        return None;
    }
    let (first, end) = (integer(counter)?, integer(upper)?);
    Some(if first < end { end.abs_diff(first).min(region.limit?) } else { 0 })
}
