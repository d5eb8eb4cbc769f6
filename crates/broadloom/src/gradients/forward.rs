//! Forward mode: tangents of outputs from tangents of arguments, node by node from the first to the last.

use broadloom_core::{Error, ErrorKind, Result};
use rustc_hash::FxHashMap;

use super::dependents::{Dependents, LoopKey, loop_key};
use super::linear::{Partial, add, no_derivative, of_host_function, spread, zeros_like};
use super::reductions::Reduced;
use super::regions::LoopTangents;
use super::routines::Called;
use super::scans::Scanned;
use super::substitution::relinked;
use super::{custom, loops, recurrences, rules, views};
use crate::array::{Array, Kind};
use crate::expr;
use crate::stamp::Stamp;

/// The tangents of outputs, from arguments with their tangents; `None` for an output that does not depend on an argument.
pub(super) fn tangents<'a>(
    outputs: &[Array<'a>],
    arguments: &[(Array<'a>, Array<'a>)],
) -> Result<Vec<Option<Array<'a>>>> {
    swept(outputs, arguments, None).map(|(tangents, _)| tangents)
}

/// The tangents of the values of each loop.
type TangentsOfLoops<'a> = FxHashMap<LoopKey, LoopTangents<'a>>;

/// The derivatives of values of a loop's body, which is being built.
fn tangents_in_body<'a>(
    outputs: &[Array<'a>],
    arguments: &[(Array<'a>, Array<'a>)],
) -> Result<(Vec<Array<'a>>, Vec<Option<Array<'a>>>)> {
    let (tangents, loops) = swept(outputs, arguments, Some(Stamp::current()))?;
    let loops = loops.into_iter().map(|(key, found)| (key, found.values)).collect();
    let roots: Vec<Array<'a>> = outputs.iter().chain(tangents.iter().flatten()).cloned().collect();
    let mut made = relinked(&roots, loops)?.into_iter();
    let outputs = made.by_ref().take(outputs.len()).collect();
    Ok((outputs, tangents.into_iter().map(|v| v.and_then(|_| made.next())).collect()))
}

/// The tangents of outputs, and those of the loops between them and the arguments. What is older than the loop `since` is constant.
fn swept<'a>(
    outputs: &[Array<'a>],
    arguments: &[(Array<'a>, Array<'a>)],
    since: Option<Stamp>,
) -> Result<(Vec<Option<Array<'a>>>, TangentsOfLoops<'a>)> {
    let of_outputs: Vec<&Array<'a>> = outputs.iter().collect();
    let of_arguments: Vec<&Array<'a>> = arguments.iter().map(|(x, _)| x).collect();
    let dependents = Dependents::of(&of_outputs, &of_arguments, since);
    let tangents = vec![None; dependents.nodes.len()];
    let mut sweep = ForwardSweep { dependents, tangents, loops: FxHashMap::default() };
    for (argument, v) in arguments {
        if let Some(position) = sweep.dependents.position(argument) {
            let sum = match &sweep.tangents[position] {
                Some(sum) => add(sum, v)?,
                None => v.clone(),
            };
            sweep.tangents[position] = Some(sum);
        }
    }
    for position in sweep.dependents.arguments..sweep.dependents.nodes.len() {
        let node = sweep.dependents.nodes[position].clone();
        sweep.tangents[position] = sweep.tangent(&node)?;
    }
    let tangents = outputs.iter().map(|y| sweep.of(y).map(|v| spread(&v, y)).transpose());
    Ok((tangents.collect::<Result<_>>()?, sweep.loops))
}

/// The state of a forward sweep.
struct ForwardSweep<'a> {
    dependents: Dependents<'a>,
    /// The tangent of each node; `None` if it is zero.
    tangents: Vec<Option<Array<'a>>>,
    /// The tangents of the values of each loop.
    loops: TangentsOfLoops<'a>,
}

impl<'a> ForwardSweep<'a> {
    /// The tangent of an array that was visited.
    fn of(&self, array: &Array<'a>) -> Option<Array<'a>> {
        self.tangents[self.dependents.position(array)?].clone()
    }

    /// The tangent of a node whose operands were visited.
    fn tangent(&mut self, node: &Array<'a>) -> Result<Option<Array<'a>>> {
        if let Some((rule, item)) = node.custom_rule() {
            return self.of_loop(node, item as u32, |sweep| {
                custom::check_captured(rule, &sweep.dependents)?;
                let given: Vec<_> = rule.args.iter().map(|arg| sweep.of(arg)).collect();
                Ok(LoopTangents { values: Vec::new(), tangents: custom::tangents(rule, &given)? })
            });
        }
        match &node.0.kind {
            Kind::Apply { op, args, .. } => {
                let mut sum: Option<Array<'a>> = None;
                for (i, arg) in args.iter().enumerate() {
                    let Some(v) = self.of(arg) else { continue };
                    let partial = rules::partial(*op, i, node, args, &|x| self.dependents.is_argument(x));
                    if let Partial::Refused(why) = partial {
                        return Err(no_derivative(op.name(), i, why));
                    }
                    if let Some(v) = partial.along(&v)? {
                        sum = Some(match &sum {
                            Some(sum) => add(sum, &v)?,
                            None => v,
                        });
                    }
                }
                Ok(sum)
            }
            Kind::Host { function, .. } => Err(of_host_function(function.name())),
            Kind::Cast { arg, to } => Ok(self.of(arg).map(|v| expr::cast(v, *to))),
            Kind::View { arg, view } => self.of(arg).map(|v| views::tangent(view, &v, arg)).transpose(),
            Kind::DynamicView { arg, view } => {
                self.of(arg).map(|v| views::dynamic_tangent(view, &v, arg)).transpose()
            }
            Kind::Reduce { arg, reduction, axes, keep_dims } => {
                let Some(v) = self.of(arg) else { return Ok(None) };
                let (axes, keep_dims, reduction) = (*axes, *keep_dims, *reduction);
                Reduced { node, arg, reduction, axes, keep_dims }.tangent(&v)
            }
            Kind::Scan { arg, scan, axis, initial, before: None } => {
                let Some(v) = self.of(arg) else { return Ok(None) };
                let axis = usize::from(*axis);
                Scanned { node, arg, scan: *scan, axis, initial: *initial }.tangent(&v).map(Some)
            }
            Kind::Scan { .. } => Err(Error::new(ErrorKind::Internal, "a derivative of a part of a scan")),
            Kind::Concat { args, axis } => {
                let part =
                    |arg: &Array<'a>| self.of(arg).map_or_else(|| zeros_like(arg), |v| spread(&v, arg));
                let parts = args.iter().map(part).collect::<Result<Vec<_>>>()?;
                expr::concat("gradient", &parts, usize::from(*axis)).map(Some)
            }
            Kind::PadLike { arg, like, padding } => {
                let Some(v) = self.of(arg) else { return Ok(None) };
                expr::pad_like(&spread(&v, arg)?, like, **padding).map(Some)
            }
            Kind::Gather { table, positions } => {
                let Some(v) = self.of(table) else { return Ok(None) };
                expr::gather(&spread(&v, table)?, positions).map(Some)
            }
            Kind::Routine(of) => {
                let given: Vec<_> = of.args.iter().map(|arg| self.of(arg)).collect();
                Called { node, of }.tangent(&given).map(Some)
            }
            Kind::Loop(of) => self.of_loop(node, of.item, |sweep| {
                let given: Vec<_> = of.args.iter().map(|arg| sweep.of(arg)).collect();
                loops::tangents(of, &given, &tangents_in_body)
            }),
            Kind::Recurrence(of) => self.of_loop(node, of.item, |sweep| {
                let given: Vec<_> = of.args.iter().map(|arg| sweep.of(arg)).collect();
                recurrences::tangents(of, &given, &tangents_in_body)
            }),
            // Numbers of elements and random words are constants.
            Kind::Leaf(_) | Kind::Count { .. } | Kind::Index { .. } | Kind::Words { .. } => Ok(None),
        }
    }

    /// The tangent of a value of a loop, whose tangents are computed at the first of its nodes.
    fn of_loop(
        &mut self,
        node: &Array<'a>,
        item: u32,
        compute: impl FnOnce(&ForwardSweep<'a>) -> Result<LoopTangents<'a>>,
    ) -> Result<Option<Array<'a>>> {
        let Some(key) = loop_key(node) else { return Ok(None) };
        if !self.loops.contains_key(&key) {
            let found = node.0.marks.put_on(|| compute(self))?;
            self.loops.insert(key.clone(), found);
        }
        Ok(self.loops.get(&key).and_then(|found| found.tangents.get(item as usize).cloned().flatten()))
    }
}
