//! Derivatives of loops and conditionals.
//!
//! Forwards, the tangents are carried beside the values. Backwards, a loop whose number of iterations is known when it is built
//! is a recurrence, and a conditional is differentiated branch by branch; other loops are refused.

use broadloom_core::node::{LoopNode, NodeId, NodeKind, Region};
use broadloom_core::{DType, Op, Result, fold};
use broadloom_mem::{FloatEnv, HostFunction};

use super::linear::{apply, constant, refused, spread, summed_to, zero};
use super::regions::{Jvp, RegionBody, Vjp};
use crate::array::{Array, Leaf};
use crate::cond::try_cond;
use crate::scan::{Along, try_scan};
use crate::while_loop::{LoopBuilder, carried_value};

/// A loop over handles.
pub(super) type HandleLoop<'a> = LoopNode<Array<'a>, HostFunction>;

fn body<'r>(of: &'r HandleLoop<'_>) -> RegionBody<'r> {
    RegionBody { region: &of.region, functions: &of.functions }
}

/// The name of a loop in errors.
fn function(region: &Region) -> &'static str {
    match region.limit {
        Some(0 | 1) => "cond",
        Some(u64::MAX) => "fori_loop",
        _ => "while_loop",
    }
}

/// The tangent of each value that the loop carries, from those of its operands.
pub(super) fn tangents<'a>(
    of: &HandleLoop<'a>,
    tangents: &[Option<Array<'a>>],
    jvp: &Jvp<'_, 'a>,
) -> Result<Vec<Option<Array<'a>>>> {
    let (body, carried) = (body(of), of.region.carried());
    let (initial, captured) = of.args.split_at(carried);
    let varying = body.varying(|param| tangents[param].is_some());
    let moving: Vec<usize> = (0..carried).filter(|&i| varying[i]).collect();
    let of_initial = |&i: &usize| tangents[i].clone().unwrap_or_else(|| zero(initial[i].dtype()));
    let state: Vec<Array<'a>> = initial.iter().cloned().chain(moving.iter().map(of_initial)).collect();
    let condition = |state: &[Array<'a>]| {
        let roots: Vec<_> = of.region.condition.into_iter().collect();
        let values = body.values(&roots, &[&state[..carried], captured].concat())?;
        values.into_iter().next().ok_or_else(|| refused("gradient", "a loop lacks a condition"))
    };
    let next = |state: &[Array<'a>]| {
        let (values, moved) = state.split_at(carried);
        let mut next = body.values(&of.region.next, &[values, captured].concat())?;
        let of_captured = captured.iter().zip(&tangents[carried..]);
        let with_tangents = of_captured.filter_map(|(x, v)| Some((x.clone(), v.clone()?)));
        let arguments: Vec<_> = moving
            .iter()
            .zip(moved)
            .map(|(&i, v)| (values[i].clone(), v.clone()))
            .chain(with_tangents)
            .collect();
        let outputs: Vec<Array<'a>> = moving.iter().map(|&i| next[i].clone()).collect();
        let found = jvp(&outputs, &arguments)?;
        next.extend(found.into_iter().zip(&outputs).map(|(v, y)| v.unwrap_or_else(|| zero(y.dtype()))));
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
    let last = builder.build(&state)?;
    let mut results = vec![None; carried];
    for (&i, tangent) in moving.iter().zip(&last[carried..]) {
        results[i] = Some(tangent.clone());
    }
    Ok(results)
}

/// The adjoint of each operand of the loop, from those of the carried values. `like` has the loop's shape, and `wanted` tells
/// which operands vary.
pub(super) fn adjoints<'a>(
    of: &HandleLoop<'a>,
    like: &Array<'a>,
    adjoints: &[Option<Array<'a>>],
    wanted: &[bool],
    vjp: &Vjp<'_, 'a>,
) -> Result<Vec<Option<Array<'a>>>> {
    if matches!(of.region.limit, Some(0 | 1)) {
        return of_branch(of, like, adjoints, wanted, vjp);
    }
    let Some(trips) = trips(of) else {
        let why =
            "its number of iterations depends on values, so that there is no derivative in reverse mode";
        return Err(refused(function(&of.region), why)
            .with_help("differentiate forwards (jvp), or use scan, or fori_loop with constant bounds"));
    };
    // The loop as a recurrence without inputs: the same values, of which each state is stored.
    let (initial, captured) = of.args.split_at(of.region.carried());
    let variables: Vec<Array<'a>> = of
        .args
        .iter()
        .zip(wanted)
        .map(|(x, &wanted)| if wanted { apply(Op::Positive, &[x]) } else { Ok(x.clone()) })
        .collect::<Result<_>>()?;
    let (states, captured) = (&variables[..initial.len()], &variables[initial.len()..][..captured.len()]);
    let step = |state: &[Array<'a>], _: &[Array<'a>]| {
        Ok((body(of).values(&of.region.next, &[state, captured].concat())?, Vec::new()))
    };
    let states = states.iter().map(|x| spread(x, like)).collect::<Result<Vec<_>>>()?;
    let (last, _) = try_scan(&step, &states, &[], Along::axis(0).length(trips))?;
    let outputs: Vec<_> = last.into_iter().zip(adjoints).filter_map(|(y, v)| Some((y, v.clone()?))).collect();
    let arguments: Vec<Array<'a>> =
        variables.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(x, _)| x.clone()).collect();
    let mut found = vjp(&outputs, &arguments)?.into_iter();
    Ok(wanted.iter().map(|&wanted| if wanted { found.next().flatten() } else { None }).collect())
}

/// The adjoints of a conditional: of the branch's values where it is taken, and of the initial ones elsewhere.
fn of_branch<'a>(
    of: &HandleLoop<'a>,
    like: &Array<'a>,
    adjoints: &[Option<Array<'a>>],
    wanted: &[bool],
    vjp: &Vjp<'_, 'a>,
) -> Result<Vec<Option<Array<'a>>>> {
    let body = body(of);
    let condition: Vec<_> = of.region.condition.into_iter().collect();
    let predicate = body.values(&condition, &of.args)?;
    let Some(predicate) = predicate.first().filter(|_| of.region.limit == Some(1)) else {
        let passed = adjoints.iter().cloned().chain(std::iter::repeat(None));
        return passed
            .zip(&of.args)
            .map(|(v, x)| v.map(|v| summed_to(&v, like, &x.all_dims())).transpose())
            .collect();
    };
    // Branches are computed element by element, so that their adjoints have the shape of the loop until they are known.
    let whole = |x: &Array<'a>| apply(Op::Positive, &[&spread(x, like)?]);
    let indices: Vec<usize> = (0..wanted.len()).filter(|&i| wanted[i]).collect();
    let none = |i: usize| zero(of.args[i].dtype());
    let then = || {
        let mut params = of.args.clone();
        for &i in &indices {
            params[i] = whole(&of.args[i])?;
        }
        let values = body.values(&of.region.next, &params)?;
        let outputs: Vec<_> =
            values.into_iter().zip(adjoints).filter_map(|(y, v)| Some((y, v.clone()?))).collect();
        let arguments: Vec<Array<'a>> = indices.iter().map(|&i| params[i].clone()).collect();
        let found = vjp(&outputs, &arguments)?;
        Ok(indices.iter().zip(found).map(|(&i, v)| v.unwrap_or_else(|| none(i))).collect())
    };
    let otherwise = || {
        let passed = |&i: &usize| adjoints.get(i).cloned().flatten().unwrap_or_else(|| none(i));
        Ok(indices.iter().map(passed).collect())
    };
    let mut results = vec![None; wanted.len()];
    if indices.is_empty() {
        return Ok(results);
    }
    let found = try_cond(predicate, then, otherwise)?;
    for (&i, v) in indices.iter().zip(&found) {
        results[i] = Some(summed_to(v, like, &of.args[i].all_dims())?);
    }
    Ok(results)
}

/// The number of iterations of a loop over a range whose bounds are constants.
fn trips(of: &HandleLoop<'_>) -> Option<usize> {
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
    let trips = integer(upper)?.checked_sub(integer(counter)?)?.max(0) as u64;
    usize::try_from(trips.min(region.limit?)).ok()
}
