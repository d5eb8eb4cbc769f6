//! Expressions in which arrays take the place of others.

use std::sync::Arc;

use broadloom_core::{Error, ErrorKind, Result};
use rustc_hash::FxHashMap;

use super::dependents::{LoopKey, address, loop_key};
use super::regions::with_rule;
use crate::array::{Array, CustomRule, Kind, Leaf};

/// Expressions in which arrays of the same dtypes and shapes take the place of placeholders. Nodes that do not depend on a
/// placeholder are not visited.
pub(super) fn substituted<'a>(
    roots: &[Array<'a>],
    pairs: impl Iterator<Item = (Array<'a>, Array<'a>)>,
) -> Result<Vec<Array<'a>>> {
    let mut substitution = Substitution::default();
    for (x, by) in pairs {
        substitution.made.insert(address(&x), Some(by));
        substitution.kept.push(x);
    }
    substitution.run(roots)
}

/// Expressions in which the values of loops are those of other loops, which carry further values. The new loops may depend on the
/// old ones, except each on its own. Only nodes that depend on placeholders are changed.
pub(super) fn relinked<'a>(
    roots: &[Array<'a>],
    links: FxHashMap<LoopKey, Vec<Array<'a>>>,
) -> Result<Vec<Array<'a>>> {
    if links.is_empty() {
        return Ok(roots.to_vec());
    }
    Substitution { links, ..Substitution::default() }.run(roots)
}

/// The state of a walk over expressions.
#[derive(Default)]
struct Substitution<'a> {
    /// The new array for each visited node; `None` for a node that stays.
    made: FxHashMap<*const (), Option<Array<'a>>>,
    /// The values that take the place of those of loops; they are visited themselves.
    links: FxHashMap<LoopKey, Vec<Array<'a>>>,
    /// The outputs of functions with rules, by rule.
    rules: FxHashMap<*const (), Vec<Array<'a>>>,
    /// The nodes that were visited, which must live as long as their addresses are keys.
    kept: Vec<Array<'a>>,
}

impl<'a> Substitution<'a> {
    fn run(mut self, roots: &[Array<'a>]) -> Result<Vec<Array<'a>>> {
        let mut pending: Vec<(Array<'a>, bool)> = roots.iter().rev().map(|x| (x.clone(), false)).collect();
        while let Some((array, operands_done)) = pending.pop() {
            if !array.0.is_open || self.made.contains_key(&address(&array)) {
                continue;
            }
            if !operands_done {
                let operands = self.operands(&array);
                pending.push((array, true));
                pending.extend(operands.into_iter().rev().map(|x| (x, false)));
                continue;
            }
            let new = array.0.marks.put_on(|| self.node(&array))?;
            self.made.insert(address(&array), new);
            self.kept.push(array);
        }
        Ok(roots.iter().map(|x| self.of(x)).collect())
    }

    /// The arrays that must be visited before a node.
    fn operands(&self, array: &Array<'a>) -> Vec<Array<'a>> {
        if let Some(by) = self.link(array) {
            return vec![by];
        }
        match array.custom_rule() {
            Some((rule, _)) => rule.args.iter().chain(&rule.outputs).chain(&rule.captured).cloned().collect(),
            None => array.0.kind.operands().cloned().collect(),
        }
    }

    /// The value of another loop that takes the place of a value of a loop.
    fn link(&self, array: &Array<'a>) -> Option<Array<'a>> {
        let Kind::Loop(of) = &array.0.kind else { return None };
        self.links.get(&loop_key(array)?)?.get(of.item as usize).cloned()
    }

    /// The new array for a visited one.
    fn changed(&self, x: &Array<'a>) -> Option<Array<'a>> {
        self.made.get(&address(x)).cloned().flatten()
    }

    fn of(&self, x: &Array<'a>) -> Array<'a> {
        self.changed(x).unwrap_or_else(|| x.clone())
    }

    /// The new array for a node whose operands were visited; `None` if it stays.
    fn node(&mut self, array: &Array<'a>) -> Result<Option<Array<'a>>> {
        if let Some(by) = self.link(array) {
            return Ok(Some(self.of(&by)));
        }
        if self.operands(array).iter().all(|x| self.changed(x).is_none()) {
            return Ok(None);
        }
        if let Some((rule, item)) = array.custom_rule() {
            let key = Arc::as_ptr(rule).cast();
            if !self.rules.contains_key(&key) {
                let [args, outputs, captured] = [&rule.args, &rule.outputs, &rule.captured]
                    .map(|list| list.iter().map(|x| self.of(x)).collect::<Vec<_>>());
                let derivative = rule.derivative.clone();
                let made = with_rule(Arc::new(CustomRule { args, outputs, captured, derivative }))?;
                self.rules.insert(key, made);
            }
            return Ok(self.rules.get(&key).and_then(|made| made.get(item)).cloned());
        }
        let leaf = |_: &Leaf<'a>| Err(Error::new(ErrorKind::Internal, "a leaf with operands"));
        let kind = array.0.kind.try_map(|x| Ok(self.of(x)), leaf, Clone::clone)?;
        Ok(Some(Array::with_dims(kind, array.dtype(), array.0.shape.clone(), array.0.dims.clone())))
    }
}
