//! Reverse mode: adjoints of arguments from adjoints of outputs.
//!
//! Nodes are visited from the last to the first, so that the contributions of several uses of a node are added in this order: the
//! last use in the graph comes first. All values of a loop are visited together, at the first of them, when the adjoints of all are
//! known; so are the outputs of a function with a rule.

use broadloom_core::{Error, ErrorKind, Result};
use rustc_hash::FxHashMap;

use super::dependents::{Dependents, LoopKey, loop_key};
use super::linear::{Partial, add, no_derivative, of_host_function, spread, summed_to};
use super::loops::LoopInReverse;
use super::reductions::Reduced;
use super::regions::LoopAdjoints;
use super::routines::Called;
use super::scans::Scanned;
use super::tables::{TakenElements, of_table};
use super::{custom, loops, recurrences, rules, views};
use crate::array::{Array, Kind};
use crate::expr;
use crate::stamp::Stamp;

/// The adjoints of arguments, from outputs with their adjoints; `None` for an argument on which no output depends.
pub(super) fn adjoints<'a>(
    outputs: &[(Array<'a>, Array<'a>)],
    arguments: &[Array<'a>],
) -> Result<Vec<Option<Array<'a>>>> {
    swept(outputs, arguments, &[], None).map(|found| found.arrays)
}

/// The adjoints of arguments that were made since the innermost loop was begun whose functions are being called, and of elements that
/// are taken of tables.
fn adjoints_in_body<'a>(
    outputs: &[(Array<'a>, Array<'a>)],
    arguments: &[Array<'a>],
    tables: &[Array<'a>],
) -> Result<LoopAdjoints<'a>> {
    swept(outputs, arguments, tables, Some(Stamp::current()))
}

/// The adjoints of arguments, and of elements that are taken of tables. What is older than the loop `since` is constant.
fn swept<'a>(
    outputs: &[(Array<'a>, Array<'a>)],
    arguments: &[Array<'a>],
    tables: &[Array<'a>],
    since: Option<Stamp>,
) -> Result<LoopAdjoints<'a>> {
    let of_outputs: Vec<&Array<'a>> = outputs.iter().map(|(y, _)| y).collect();
    let of_arguments: Vec<&Array<'a>> = arguments.iter().chain(tables).collect();
    let dependents = Dependents::of(&of_outputs, &of_arguments, since);
    let sums = vec![None; dependents.nodes.len()];
    let taken = tables.iter().filter_map(|table| Some((dependents.position(table)?, Vec::new()))).collect();
    let mut sweep = ReverseSweep { dependents, sums, taken, groups: FxHashMap::default() };
    for (output, v) in outputs.iter().rev() {
        sweep.contribute(output, v)?;
    }
    sweep.find_groups();
    // The operands of an argument do not vary with it.
    for position in (sweep.dependents.arguments..sweep.dependents.nodes.len()).rev() {
        sweep.step(position)?;
    }
    let adjoint = |x: &Array<'a>| match sweep.dependents.position(x).and_then(|i| sweep.sums[i].clone()) {
        Some(v) => spread(&v, x).map(Some),
        None => Ok(None),
    };
    let arrays = arguments.iter().map(adjoint).collect::<Result<_>>()?;
    // Of a table that is listed twice, the first one has the elements.
    let elements = |table: &Array<'a>| sweep.dependents.position(table).and_then(|i| sweep.taken.remove(&i));
    let taken = tables.iter().map(elements).map(Option::unwrap_or_default).collect();
    Ok(LoopAdjoints { arrays, taken })
}

/// The state of a reverse sweep.
struct ReverseSweep<'a> {
    dependents: Dependents<'a>,
    /// The sum of the contributions to each node so far.
    sums: Vec<Option<Array<'a>>>,
    /// The elements that were taken so far of the tables of a body, by their positions among the nodes.
    taken: FxHashMap<usize, Vec<TakenElements<'a>>>,
    /// The positions of the nodes of each loop. The loop is visited at the first of them, when the adjoints of all are known.
    groups: FxHashMap<LoopKey, Vec<usize>>,
}

impl<'a> ReverseSweep<'a> {
    /// Adds a contribution to the adjoint of a node, if the node depends on the arguments.
    fn contribute(&mut self, to: &Array<'a>, v: &Array<'a>) -> Result<()> {
        let Some(position) = self.dependents.position(to) else { return Ok(()) };
        let sum = &mut self.sums[position];
        *sum = Some(match sum {
            Some(sum) => add(sum, v)?,
            None => v.clone(),
        });
        Ok(())
    }

    /// Adds the contribution of elements that are taken of an array: to the elements of a table, or else to the array's adjoint.
    fn contribute_elements(&mut self, table: &Array<'a>, elements: Vec<TakenElements<'a>>) -> Result<()> {
        let position = self.dependents.position(table);
        match position.and_then(|position| self.taken.get_mut(&position)) {
            Some(taken) => taken.extend(elements),
            None if elements.is_empty() => {}
            None => self.contribute(table, &of_table(table, &elements)?)?,
        }
        Ok(())
    }

    /// Finds the nodes of each loop.
    fn find_groups(&mut self) {
        for (position, node) in self.dependents.nodes.iter().enumerate().skip(self.dependents.arguments) {
            if let Some(key) = loop_key(node) {
                self.groups.entry(key).or_default().push(position);
            }
        }
    }

    /// Adds the contributions of a node to its operands, the last of them first.
    fn step(&mut self, position: usize) -> Result<()> {
        let node = self.dependents.nodes[position].clone();
        if let Some(positions) = loop_key(&node).and_then(|key| self.groups.get(&key)) {
            let is_first = positions.first() == Some(&position);
            return if is_first { self.of_loop(&node, positions.clone()) } else { Ok(()) };
        }
        let Some(v) = self.sums[position].clone() else { return Ok(()) };
        let v = &v;
        match &node.0.kind {
            Kind::Apply { op, args, .. } => {
                for i in (0..op.operands()).rev() {
                    let Some(arg) = args.get(i).filter(|arg| self.dependents.contains(arg)) else { continue };
                    let partial = rules::partial(*op, i, &node, args, &|x| self.dependents.is_argument(x));
                    if let Partial::Refused(why) = partial {
                        return Err(no_derivative(op.name(), i, why));
                    }
                    if let Some(v) = partial.along(v)? {
                        self.contribute(arg, &summed_to(&v, &node, &arg.all_dims())?)?;
                    }
                }
                Ok(())
            }
            Kind::Host { function, .. } => Err(of_host_function(function.name())),
            Kind::Cast { arg, .. } => self.contribute(arg, &expr::cast(v.clone(), arg.dtype())),
            Kind::View { arg, view } => self.contribute(arg, &views::adjoint(view, v, &node, arg)?),
            Kind::DynamicView { arg, view } => {
                self.contribute(arg, &views::dynamic_adjoint(view, v, &node, arg)?)
            }
            Kind::Reduce { arg, reduction, axes, keep_dims } => {
                let (axes, keep_dims, reduction) = (*axes, *keep_dims, *reduction);
                match (Reduced { node: &node, arg, reduction, axes, keep_dims }).adjoint(v)? {
                    Some(v) => self.contribute(arg, &v),
                    None => Ok(()),
                }
            }
            Kind::Scan { arg, scan, axis, initial, before: None } => {
                let axis = usize::from(*axis);
                let of = Scanned { node: &node, arg, scan: *scan, axis, initial: *initial };
                self.contribute(arg, &of.adjoint(v)?)
            }
            Kind::Scan { .. } => Err(Error::new(ErrorKind::Internal, "a derivative of a part of a scan")),
            Kind::Concat { args, axis } => {
                let parts = views::parts(v, &node, args, usize::from(*axis))?;
                args.iter().zip(&parts).rev().try_for_each(|(arg, v)| self.contribute(arg, v))
            }
            Kind::PadLike { arg, padding, .. } => {
                self.contribute(arg, &views::unpadded(v, &node, **padding)?)
            }
            Kind::Gather { table, positions } => {
                let (positions, adjoints) = (positions.clone(), v.clone());
                self.contribute_elements(
                    table,
                    vec![TakenElements { positions, adjoints, may_be_absent: false }],
                )
            }
            Kind::Routine(of) => {
                let found = Called { node: &node, of }.adjoints(v)?;
                let varying = of.args.iter().zip(found).rev().filter_map(|(arg, v)| Some((arg, v?)));
                { varying }.try_for_each(|(arg, v)| self.contribute(arg, &v))
            }
            // Arguments have no operands that vary, and numbers of elements and words are constants.
            Kind::Leaf(_)
            | Kind::Count { .. }
            | Kind::Index { .. }
            | Kind::Words { .. }
            | Kind::Loop(_)
            | Kind::Recurrence(_) => Ok(()),
        }
    }

    /// Adds the contributions of a loop, of which the nodes at these positions are values.
    fn of_loop(&mut self, node: &Array<'a>, positions: Vec<usize>) -> Result<()> {
        let (args, items) = match (node.custom_rule(), &node.0.kind) {
            (Some((rule, _)), _) => (&rule.args, rule.outputs.len()),
            (None, Kind::Loop(of)) => (&of.args, of.region.carried()),
            (None, Kind::Recurrence(of)) => (&of.args, of.items()),
            _ => return Ok(()),
        };
        let mut of_items = vec![None; items];
        for position in positions {
            let node = &self.dependents.nodes[position];
            let item = match (node.custom_rule(), &node.0.kind) {
                (Some((_, item)), _) => item,
                (None, Kind::Loop(of)) => of.item as usize,
                (None, Kind::Recurrence(of)) => of.item as usize,
                _ => continue,
            };
            of_items[item] = self.sums[position].clone();
        }
        if of_items.iter().all(Option::is_none) {
            return Ok(());
        }
        let wanted: Vec<bool> = args.iter().map(|arg| self.dependents.contains(arg)).collect();
        let derive = || match (node.custom_rule(), &node.0.kind) {
            (Some((rule, _)), _) => {
                custom::check_captured(rule, &self.dependents)?;
                let arrays = custom::adjoints(rule, &of_items, &adjoints_in_body)?;
                Ok(LoopAdjoints { arrays, taken: Vec::new() })
            }
            (None, Kind::Loop(of)) => loops::adjoints(LoopInReverse {
                of,
                like: node,
                adjoints: &of_items,
                wanted: &wanted,
                vjp: &adjoints_in_body,
            }),
            (None, Kind::Recurrence(of)) => recurrences::adjoints(of, &of_items, &wanted, &adjoints_in_body),
            _ => Ok(LoopAdjoints::default()),
        };
        // What is computed for a node has its marks.
        let LoopAdjoints { arrays, mut taken } = node.0.marks.put_on(derive)?;
        taken.resize_with(args.len(), Vec::new);
        for ((arg, v), taken) in args.iter().zip(arrays).zip(taken).rev() {
            if let Some(v) = v {
                self.contribute(arg, &v)?;
            }
            self.contribute_elements(arg, taken)?;
        }
        Ok(())
    }
}
