//! Whether what a rule makes is linear in its tangents: the derivative of a linear map does not depend on them.
//!
//! A value of a loop depends only on those of its operands from which its iterations compute it, which the bodies tell. They are
//! visited with the expressions around them, each node once, without recursion.

use std::sync::Arc;

use broadloom_core::DType;
use broadloom_core::node::{NodeId, NodeKind, Region};
use rustc_hash::FxHashMap;

use super::dependents::{address, is_stopped, operands};
use crate::array::{Array, Kind};

/// Whether expressions depend on placeholders through floats.
pub(super) fn depend<'a>(roots: impl Iterator<Item = Array<'a>>, on: &[Array<'a>]) -> bool {
    let mut search = Search::default();
    search.pending.extend(roots.map(Place::Expression));
    while let Some(place) = search.pending.pop() {
        match place {
            Place::Expression(array) if on.iter().any(|x| x.is_same(&array)) => return true,
            Place::Expression(array) => search.expression(array),
            Place::Body(body, node) => search.node(body, node),
        }
    }
    false
}

/// A value that is yet to be visited.
#[derive(Clone)]
enum Place<'a> {
    Expression(Array<'a>),
    /// A node of a body that was found.
    Body(usize, NodeId),
}

/// The body of a loop, or the step of a recurrence, with the operands of one place where it is repeated.
struct RepeatedBody<'a> {
    region: Arc<Region>,
    operands: Vec<Place<'a>>,
    dtypes: Vec<Option<DType>>,
    nodes_visited: Vec<bool>,
    params_visited: Vec<bool>,
}

/// What identifies a body: the region, the body around it, and the operands by address or number.
type BodyKey = (*const Region, Option<usize>, Vec<usize>);

/// The state of a search.
#[derive(Default)]
struct Search<'a> {
    pending: Vec<Place<'a>>,
    /// The arrays that were visited, which must live as long as their addresses are keys.
    visited: FxHashMap<*const (), Array<'a>>,
    bodies: Vec<RepeatedBody<'a>>,
    numbers: FxHashMap<BodyKey, usize>,
}

impl<'a> Search<'a> {
    fn expression(&mut self, array: Array<'a>) {
        let ends = !array.0.is_open || !array.dtype().is_float() || is_stopped(&array);
        if ends || self.visited.insert(address(&array), array.clone()).is_some() {
            return;
        }
        let (region, args, item) = match &array.0.kind {
            Kind::Loop(of) => (&of.region, &of.args, of.item),
            Kind::Recurrence(of) => (&of.step, &of.args, of.item),
            _ => return self.pending.extend(operands(&array).into_iter().map(Place::Expression)),
        };
        let key = args.iter().map(|x| address(x) as usize).collect();
        let body = self.body(region, None, key, || args.iter().cloned().map(Place::Expression).collect());
        self.item(body, item as usize);
    }

    /// The number of a body.
    fn body(
        &mut self,
        region: &Arc<Region>,
        around: Option<usize>,
        key: Vec<usize>,
        operands: impl FnOnce() -> Vec<Place<'a>>,
    ) -> usize {
        *self.numbers.entry((Arc::as_ptr(region), around, key)).or_insert_with(|| {
            self.bodies.push(RepeatedBody {
                region: region.clone(),
                operands: operands(),
                dtypes: region.dtypes(),
                nodes_visited: vec![false; region.nodes.len()],
                params_visited: vec![false; region.params.len()],
            });
            self.bodies.len() - 1
        })
    }

    /// Visits a value that a loop carries, or a state or an output of a recurrence.
    fn item(&mut self, body: usize, item: usize) {
        let region = &self.bodies[body].region;
        match item.checked_sub(region.carried()) {
            None => self.param(body, item),
            Some(output) => self.pending.push(Place::Body(body, region.outputs[output])),
        }
    }

    /// Visits a parameter: the operand and, of a carried value, what the body makes of it.
    fn param(&mut self, number: usize, param: usize) {
        let body = &mut self.bodies[number];
        if std::mem::replace(&mut body.params_visited[param], true) {
            return;
        }
        self.pending.extend(body.operands.get(param).cloned());
        self.pending.extend(body.region.next.get(param).map(|&next| Place::Body(number, next)));
    }

    /// Visits a node of a body.
    fn node(&mut self, number: usize, node: NodeId) {
        let body = &mut self.bodies[number];
        let is_visited = std::mem::replace(&mut body.nodes_visited[node.index()], true);
        let dtype = body.dtypes[node.index()];
        if is_visited || !dtype.is_some_and(|dtype| dtype.is_float()) {
            return;
        }
        let region = body.region.clone();
        match &region.nodes[node.index()] {
            NodeKind::Leaf(param) => self.param(number, *param as usize),
            // The gradient was stopped.
            NodeKind::Cast { arg, .. } if body.dtypes[arg.index()] == dtype => {}
            NodeKind::Loop(inner) => {
                let key = inner.args.iter().map(|arg| arg.index()).collect();
                let operands = || inner.args.iter().map(|&arg| Place::Body(number, arg)).collect();
                let body = self.body(&inner.region, Some(number), key, operands);
                self.item(body, inner.item as usize);
            }
            node => self.pending.extend(node.operands().map(|&arg| Place::Body(number, arg))),
        }
    }
}
