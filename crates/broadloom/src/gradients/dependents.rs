//! The nodes of expressions that depend on given arrays through floats, in the order of the graph.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::array::{Array, Kind};
use crate::stamp::Stamp;

/// The address of an array's node. It is unique while the array lives.
pub(super) fn address(array: &Array<'_>) -> *const () {
    Arc::as_ptr(&array.0).cast()
}

/// Whether the array is the result of `stop_gradient`: a conversion to the dtype that its operand has. Graphs drop such a node.
pub(super) fn is_stopped(array: &Array<'_>) -> bool {
    matches!(&array.0.kind, Kind::Cast { arg, to } if arg.dtype() == *to)
}

/// The nodes that depend on the arguments of a derivative, operands first, with the arguments themselves.
pub(super) struct Dependents<'a> {
    /// The nodes in the order of the graph. They live as long as their addresses are keys.
    pub nodes: Vec<Array<'a>>,
    positions: FxHashMap<*const (), usize>,
    /// The number of arguments, which are the first nodes.
    pub arguments: usize,
}

/// The arrays on which a derivative of a node can depend: its operands, or the arguments of the function with a rule and what else
/// the function uses.
pub(super) fn operands<'a>(node: &Array<'a>) -> Vec<Array<'a>> {
    match node.custom_rule() {
        Some((rule, _)) => rule.args.iter().chain(&rule.captured).cloned().collect(),
        None => node.0.kind.operands().cloned().collect(),
    }
}

/// What distinguishes the loops and recurrences of an expression: the region, and the operands.
pub(super) type LoopKey = (*const (), Vec<*const ()>);

/// The key of the loop or recurrence, or of the function with a rule, of which a node is a value.
pub(super) fn loop_key(node: &Array<'_>) -> Option<LoopKey> {
    if let Some((rule, _)) = node.custom_rule() {
        return Some((Arc::as_ptr(rule).cast(), Vec::new()));
    }
    let (region, args) = match &node.0.kind {
        Kind::Loop(of) => (Arc::as_ptr(&of.region), &of.args),
        Kind::Recurrence(of) => (Arc::as_ptr(&of.step), &of.args),
        _ => return None,
    };
    Some((region.cast(), args.iter().map(address).collect()))
}

impl<'a> Dependents<'a> {
    /// Finds the nodes between the outputs and the arguments. The operands of an argument are not visited: each argument varies
    /// while the others are held fixed. Only floats vary, so that integers and bools end the search. So does an array that is neither
    /// an argument nor made since the loop `since` was begun, if there is one, and that has values: all operations on the arguments
    /// are newer.
    pub(super) fn of(
        outputs: &[&Array<'a>],
        arguments: &[&Array<'a>],
        since: Option<Stamp>,
    ) -> Dependents<'a> {
        let mut found = Dependents { nodes: Vec::new(), positions: FxHashMap::default(), arguments: 0 };
        for &argument in arguments {
            found.add(argument);
        }
        found.arguments = found.nodes.len();
        // What has values does not depend on placeholders.
        let are_open = arguments.iter().all(|x| x.0.is_open);
        let is_older =
            |x: &Array<'a>| !x.0.is_open && (are_open || since.is_some_and(|since| !x.0.stamp.is_in(since)));
        let mut visited: FxHashMap<*const (), Array<'a>> = FxHashMap::default();
        let mut pending: Vec<(Array<'a>, bool)> = outputs.iter().rev().map(|&x| (x.clone(), false)).collect();
        while let Some((array, operands_done)) = pending.pop() {
            let at = address(&array);
            if operands_done {
                if operands(&array).iter().any(|operand| found.contains(operand)) {
                    found.add(&array);
                }
                continue;
            }
            let is_constant = !array.dtype().is_float() || is_stopped(&array);
            if is_constant || is_older(&array) || found.contains(&array) || visited.contains_key(&at) {
                continue;
            }
            visited.insert(at, array.clone());
            let operands = operands(&array);
            pending.push((array, true));
            pending.extend(operands.into_iter().rev().map(|x| (x, false)));
        }
        found
    }

    fn add(&mut self, array: &Array<'a>) {
        let next = self.nodes.len();
        if *self.positions.entry(address(array)).or_insert(next) == next {
            self.nodes.push(array.clone());
        }
    }

    /// The position of a node in the order; `None` if it does not depend on the arguments.
    pub(super) fn position(&self, array: &Array<'_>) -> Option<usize> {
        self.positions.get(&address(array)).copied()
    }

    /// Whether the array is an argument.
    pub(super) fn is_argument(&self, array: &Array<'_>) -> bool {
        self.position(array).is_some_and(|position| position < self.arguments)
    }

    /// Whether the array depends on the arguments.
    pub(super) fn contains(&self, array: &Array<'_>) -> bool {
        self.positions.contains_key(&address(array))
    }
}
