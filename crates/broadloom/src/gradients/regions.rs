//! The bodies of loops and the steps of recurrences as expressions, which are differentiated like any other.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use broadloom_core::node::{NodeId, NodeKind, RecurrenceNode, Region};
use broadloom_core::{Error, ErrorKind, Op, Result, Scalar, Shape};
use broadloom_mem::HostFunction;
use rustc_hash::FxHashMap;

use super::linear::{select, spread};
use super::tables::TakenElements;
use crate::array::{Array, CustomRule, Kind, Leaf};
use crate::expr;
use crate::while_loop::items;

/// The derivatives of outputs: for each argument, the adjoint that results from adjoints of outputs, and for each table, the adjoints
/// of its elements. The arguments come first, then the tables.
pub(super) type Vjp<'f, 'a> =
    dyn Fn(&[(Array<'a>, Array<'a>)], &[Array<'a>], &[Array<'a>]) -> Result<LoopAdjoints<'a>> + 'f;

/// Adjoints of the arrays that a body uses: an entry of each list for each operand of a loop.
#[derive(Default)]
pub(super) struct LoopAdjoints<'a> {
    /// The adjoints of arrays; `None` for zero.
    pub arrays: Vec<Option<Array<'a>>>,
    /// The adjoints of elements that are taken of a table, the last use first.
    pub taken: Vec<Vec<TakenElements<'a>>>,
}

/// The derivatives of outputs: for each of them, the array itself, in which loops that carry values and tangents take the place of
/// those that carry the values, and the tangent that results from tangents of arguments, or `None` if it is zero.
pub(super) type Jvp<'f, 'a> =
    dyn Fn(&[Array<'a>], &[(Array<'a>, Array<'a>)]) -> Result<(Vec<Array<'a>>, Vec<Option<Array<'a>>>)> + 'f;

/// The values of a loop that carries tangents too.
pub(super) struct LoopTangents<'a> {
    /// The values themselves; none for a recurrence, which no body of a loop contains, and for a function with a rule.
    pub values: Vec<Array<'a>>,
    /// Their tangents; `None` for zero.
    pub tangents: Vec<Option<Array<'a>>>,
}

/// A recurrence over handles.
pub(super) type HandleRecurrence<'a> = RecurrenceNode<Array<'a>, HostFunction>;

/// A region with the host functions that it calls, and the operands of its loop.
#[derive(Clone, Copy)]
pub(super) struct RegionBody<'r, 'a> {
    pub region: &'r Region,
    pub functions: &'r [HostFunction],
    pub args: &'r [Array<'a>],
    /// How elements are taken of tables, if not as the region says.
    pub take: Option<&'r Take<'r, 'a>>,
}

/// A function that takes elements of a table at positions.
pub(super) type Take<'f, 'a> = dyn Fn(&Array<'a>, &Array<'a>) -> Result<Array<'a>> + 'f;

impl<'r, 'a> RegionBody<'r, 'a> {
    /// The rule whose output a node of the region is, and the number of the output.
    fn rule(self, node: &NodeKind<NodeId, u32>) -> Option<(&'r Arc<CustomRule<NodeId>>, usize)> {
        let leaf = node.args_of(Op::Where)?.get(2)?;
        let NodeKind::Leaf(param) = self.region.nodes.get(leaf.index())? else { return None };
        match self.args.get(*param as usize)?.leaf()? {
            Leaf::RecordedRule(rule, item) => Some((rule, *item as usize)),
            _ => None,
        }
    }

    /// The nodes that must be computed before a node.
    fn operands(self, node: &NodeKind<NodeId, u32>) -> Vec<NodeId> {
        match self.rule(node) {
            Some((rule, _)) => rule.args.iter().chain(&rule.outputs).chain(&rule.captured).copied().collect(),
            None => node.operands().copied().collect(),
        }
    }

    /// The values of nodes of the region, of which these arrays are the parameters.
    pub(super) fn values(self, roots: &[NodeId], params: &[Array<'a>]) -> Result<Vec<Array<'a>>> {
        let mut needed = vec![false; self.region.nodes.len()];
        roots.iter().for_each(|root| needed[root.index()] = true);
        for (i, node) in self.region.nodes.iter().enumerate().rev() {
            if needed[i] {
                self.operands(node).iter().for_each(|arg| needed[arg.index()] = true);
            }
        }
        let mut rules: FxHashMap<*const CustomRule<NodeId>, Vec<Array<'a>>> = FxHashMap::default();
        let mut values: Vec<Option<Array<'a>>> = vec![None; needed.len()];
        let mut loops: FxHashMap<(*const Region, Vec<NodeId>), Vec<Array<'a>>> = FxHashMap::default();
        for (i, node) in self.region.nodes.iter().enumerate().filter(|(i, _)| needed[*i]) {
            let of = |id: &NodeId| values[id.index()].clone().ok_or_else(wrong);
            let operands = || node.operands().map(of).collect::<Result<Vec<_>>>();
            if let Some((rule, item)) = self.rule(node) {
                let key = Arc::as_ptr(rule);
                if let Entry::Vacant(place) = rules.entry(key) {
                    let list = |ids: &[NodeId]| ids.iter().map(of).collect::<Result<Vec<_>>>();
                    let [args, outputs, captured] =
                        [list(&rule.args)?, list(&rule.outputs)?, list(&rule.captured)?];
                    let derivative = rule.derivative.clone();
                    place.insert(with_rule(Arc::new(CustomRule { args, outputs, captured, derivative }))?);
                }
                let output = rules.get(&key).and_then(|outputs| outputs.get(item)).cloned();
                values[i] = Some(output.ok_or_else(wrong)?);
                continue;
            }
            let value = match node {
                NodeKind::Leaf(param) => params.get(*param as usize).cloned().ok_or_else(wrong)?,
                NodeKind::Apply { op, .. } => {
                    expr::apply(*op, operands()?.into_iter().map(Into::into).collect())?
                }
                NodeKind::Host { function, .. } => {
                    let called = self.functions.iter().find(|known| known.declaration() == function);
                    expr::call(called.ok_or_else(wrong)?, operands()?.into_iter().map(Into::into).collect())?
                }
                NodeKind::Cast { arg, to } => {
                    let arg = of(arg)?;
                    if arg.dtype() == *to { stopped(&arg) } else { expr::cast(arg, *to) }
                }
                NodeKind::Gather { table, positions } => {
                    self.take.unwrap_or(&expr::gather)(&of(table)?, &of(positions)?)?
                }
                NodeKind::Loop(inner) => {
                    let key = (Arc::as_ptr(&inner.region), inner.args.clone());
                    if !loops.contains_key(&key) {
                        let called = inner.region.functions();
                        let is_called = |f: &&HostFunction| called.contains(&f.declaration());
                        let functions: Vec<_> = self.functions.iter().filter(is_called).cloned().collect();
                        loops.insert(key.clone(), items(&inner.region, &functions, &operands()?)?);
                    }
                    let items = loops.get(&key).and_then(|items| items.get(inner.item as usize));
                    items.cloned().ok_or_else(wrong)?
                }
                NodeKind::View { .. }
                | NodeKind::DynamicView { .. }
                | NodeKind::Reduce { .. }
                | NodeKind::Scan { .. }
                | NodeKind::Count { .. }
                | NodeKind::Recurrence(_)
                | NodeKind::Index { .. }
                | NodeKind::Concat { .. }
                | NodeKind::PadLike { .. }
                | NodeKind::Routine(_)
                | NodeKind::Words { .. } => return Err(wrong()),
            };
            values[i] = Some(value);
        }
        roots.iter().map(|root| values[root.index()].clone().ok_or_else(wrong)).collect()
    }

    /// For each parameter, whether it varies if those do for which `varies` is true: a carried value also does if its next value
    /// depends on a parameter that varies.
    pub(super) fn varying(self, varies: impl Fn(usize) -> bool) -> Vec<bool> {
        let region = self.region;
        let dtypes = region.dtypes();
        let is_float = |i: usize| dtypes[i].is_some_and(|dtype| dtype.is_float());
        let mut params: Vec<bool> = (0..region.params.len()).map(varies).collect();
        loop {
            let mut nodes = vec![false; region.nodes.len()];
            for (i, node) in region.nodes.iter().enumerate() {
                nodes[i] = is_float(i)
                    && match node {
                        NodeKind::Leaf(param) => params[*param as usize],
                        NodeKind::Cast { arg, to } if dtypes[arg.index()] == Some(*to) => false,
                        node => match self.rule(node) {
                            Some((rule, _)) => {
                                rule.args.iter().chain(&rule.captured).any(|arg| nodes[arg.index()])
                            }
                            None => node.operands().any(|arg| nodes[arg.index()]),
                        },
                    };
            }
            let mut is_done = true;
            for (param, next) in region.next.iter().enumerate() {
                if nodes[next.index()] && !params[param] {
                    (params[param], is_done) = (true, false);
                }
            }
            if is_done {
                return params;
            }
        }
    }
}

/// Takes elements of a table, each of which has an adjoint of its own: as many as another array has.
pub(super) fn taken_like<'f, 'a>(
    like: &'f Array<'a>,
) -> impl Fn(&Array<'a>, &Array<'a>) -> Result<Array<'a>> + 'f {
    |table, positions| expr::gather(table, &spread(positions, like)?)
}

/// Captured values with their tangents. One that is also a table is captured twice, but has its tangent once.
pub(super) fn with_tangents<'a>(
    captured: &[Array<'a>],
    tangents: &[Option<Array<'a>>],
) -> Vec<(Array<'a>, Array<'a>)> {
    let mut found: Vec<(Array<'a>, Array<'a>)> = Vec::new();
    for (x, v) in captured.iter().zip(tangents) {
        if let Some(v) = v
            && !found.iter().any(|(known, _)| known.is_same(x))
        {
            found.push((x.clone(), v.clone()));
        }
    }
    found
}

/// The outputs of a function as arrays with its rule.
pub(super) fn with_rule<'a>(rule: Arc<CustomRule<Array<'a>>>) -> Result<Vec<Array<'a>>> {
    let marked = |(i, y): (usize, &Array<'a>)| {
        let leaf = Array::of(Kind::Leaf(Leaf::Rule(rule.clone(), i as u32)), y.dtype(), Shape::scalar());
        select(&expr::constant(Scalar::of(true)), y, &leaf)
    };
    rule.outputs.iter().enumerate().map(marked).collect()
}

/// An array with the values of another one, on which no derivative depends: a conversion to the dtype that it has, which graphs
/// drop.
pub(super) fn stopped<'a>(x: &Array<'a>) -> Array<'a> {
    let (dtype, shape, dims) = (x.dtype(), x.0.shape.clone(), x.0.dims.clone());
    Array::with_dims(Kind::Cast { arg: x.clone(), to: dtype }, dtype, shape, dims)
}

fn wrong() -> Error {
    Error::new(ErrorKind::Internal, "a derivative of a region that is ill-typed")
}
