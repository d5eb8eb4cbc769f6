//! The bodies of loops and the steps of recurrences as expressions, which are differentiated like any other.

use std::sync::Arc;

use broadloom_core::node::{NodeId, NodeKind, Region};
use broadloom_core::{Error, ErrorKind, Result};
use broadloom_mem::HostFunction;
use rustc_hash::FxHashMap;

use crate::array::{Array, Kind};
use crate::expr;
use crate::while_loop::items;

/// The derivatives of outputs: for each argument, the adjoint that results from adjoints of outputs; `None` if it is zero.
pub(super) type Vjp<'f, 'a> =
    dyn Fn(&[(Array<'a>, Array<'a>)], &[Array<'a>]) -> Result<Vec<Option<Array<'a>>>> + 'f;

/// The derivatives of outputs: for each of them, the tangent that results from tangents of arguments; `None` if it is zero.
pub(super) type Jvp<'f, 'a> =
    dyn Fn(&[Array<'a>], &[(Array<'a>, Array<'a>)]) -> Result<Vec<Option<Array<'a>>>> + 'f;

/// A region with the host functions that it calls.
#[derive(Clone, Copy)]
pub(super) struct RegionBody<'r> {
    pub region: &'r Region,
    pub functions: &'r [HostFunction],
}

impl RegionBody<'_> {
    /// The values of nodes of the region, of which these arrays are the parameters.
    pub(super) fn values<'a>(self, roots: &[NodeId], params: &[Array<'a>]) -> Result<Vec<Array<'a>>> {
        let mut needed = vec![false; self.region.nodes.len()];
        roots.iter().for_each(|root| needed[root.index()] = true);
        for (i, node) in self.region.nodes.iter().enumerate().rev() {
            if needed[i] {
                node.operands().for_each(|arg| needed[arg.index()] = true);
            }
        }
        let mut values: Vec<Option<Array<'a>>> = vec![None; needed.len()];
        let mut loops: FxHashMap<(*const Region, Vec<NodeId>), Vec<Array<'a>>> = FxHashMap::default();
        for (i, node) in self.region.nodes.iter().enumerate().filter(|(i, _)| needed[*i]) {
            let of = |id: &NodeId| values[id.index()].clone().ok_or_else(wrong);
            let operands = || node.operands().map(of).collect::<Result<Vec<_>>>();
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
                | NodeKind::Gather { .. }
                | NodeKind::Concat { .. }
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
                        node => node.operands().any(|arg| nodes[arg.index()]),
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

/// An array with the values of another one, on which no derivative depends: a conversion to the dtype that it has, which graphs
/// drop.
pub(super) fn stopped<'a>(x: &Array<'a>) -> Array<'a> {
    let (dtype, shape, dims) = (x.dtype(), x.0.shape.clone(), x.0.dims.clone());
    Array::with_dims(Kind::Cast { arg: x.clone(), to: dtype }, dtype, shape, dims)
}

fn wrong() -> Error {
    Error::new(ErrorKind::Internal, "a derivative of a region that is ill-typed")
}
