//! Records functions of arrays as [regions](broadloom_core::node::Region): the condition and body of a loop, or a step.
//!
//! What the functions return is visited from the results on. A node that depends on a placeholder becomes a node of the region. What
//! does not is computed before the loop, and captured, unless it can fail. The table of a take is captured as a whole.

use std::sync::Arc;

use broadloom_core::draws::Draw;
use broadloom_core::node::{NodeId, NodeKind};
use broadloom_core::padding::PAD_LIKE;
use broadloom_core::{Error, ErrorKind, Result, Scalar, Shape};
use broadloom_mem::HostFunction;
use rustc_hash::FxHashMap;

use crate::array::{Array, CustomRule, Kind, Leaf};
use crate::expr;
use crate::stamp::Stamp;

/// Records the nodes of a loop's condition and body.
pub(crate) struct Recorder<'r, 'a> {
    function: &'static str,
    placeholders: &'r [Array<'a>],
    stamp: Stamp,
    /// Whether everything that the functions made is computed in the loop: in one that does not repeat, nothing is gained by
    /// computing it before.
    keeps_all: bool,
    /// Where each node is computed, by address.
    hoisting: FxHashMap<*const (), Hoisting>,
    /// The recorded nodes, by address.
    ids: FxHashMap<*const (), NodeId>,
    /// The nodes of tables, by address.
    table_ids: FxHashMap<*const (), NodeId>,
    /// The nodes of captured numbers: equal numbers are captured once, so that a graph that was printed is read back as it was.
    constants: FxHashMap<Scalar, NodeId>,
    /// The rules of functions in the body, by the address of the rule of arrays.
    rules: FxHashMap<*const (), Arc<CustomRule<NodeId>>>,
    /// The nodes that were visited, which must live as long as their addresses are keys.
    visited: Vec<Array<'a>>,
    pub nodes: Vec<NodeKind<NodeId, u32>>,
    pub captured: Vec<Array<'a>>,
    /// The parameters of captured tables.
    pub tables: Vec<u32>,
    pub functions: Vec<HostFunction>,
    /// The node of the elements' numbers, if a loop in the body needs them.
    pub numbered: Option<NodeId>,
}

/// Where a node is computed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hoisting {
    /// Before the loop.
    Before,
    /// In the loop, though it does not depend on a carried value.
    Kept,
    /// In the loop, since it depends on a carried value.
    Dependent,
}

pub(crate) fn address(array: &Array<'_>) -> *const () {
    Arc::as_ptr(&array.0).cast()
}

impl<'r, 'a> Recorder<'r, 'a> {
    pub(crate) fn new(
        function: &'static str,
        placeholders: &'r [Array<'a>],
        stamp: Stamp,
        keeps_all: bool,
    ) -> Recorder<'r, 'a> {
        Recorder {
            function,
            placeholders,
            stamp,
            keeps_all,
            hoisting: placeholders.iter().map(|x| (address(x), Hoisting::Dependent)).collect(),
            ids: FxHashMap::default(),
            table_ids: FxHashMap::default(),
            constants: FxHashMap::default(),
            rules: FxHashMap::default(),
            visited: Vec::new(),
            nodes: Vec::new(),
            captured: Vec::new(),
            tables: Vec::new(),
            functions: Vec::new(),
            numbered: None,
        }
    }

    /// Records a value and everything in the region that it is computed from. `what` names it in errors.
    pub(crate) fn record(&mut self, root: &Array<'a>, what: &dyn Fn() -> String) -> Result<NodeId> {
        self.mark(root, what)?;
        let mut pending = vec![(root.clone(), false)];
        while let Some((array, operands_done)) = pending.pop() {
            let at = address(&array);
            if self.ids.contains_key(&at) {
                continue;
            }
            let is_inside = self.hoisting[&at] > Hoisting::Before && !matches!(array.0.kind, Kind::Leaf(_));
            if is_inside && !operands_done {
                tables_of(&array).try_for_each(|table| self.table(table))?;
                pending.push((array.clone(), true));
                pending.extend(recorded_before(&array).into_iter().rev().map(|x| (x, false)));
                continue;
            }
            let value = match &array.0.kind {
                Kind::Leaf(Leaf::Const(value)) => Some(*value),
                _ => None,
            };
            let id = match value.and_then(|value| self.constants.get(&value).copied()) {
                Some(known) => known,
                None => {
                    let node =
                        if is_inside { self.computed(&array)? } else { NodeKind::Leaf(self.param(&array)?) };
                    self.nodes.push(node);
                    let id = NodeId::new(self.nodes.len() - 1);
                    if let Some(value) = value {
                        self.constants.insert(value, id);
                    }
                    id
                }
            };
            self.ids.insert(at, id);
            self.visited.push(array);
        }
        self.ids.get(&address(root)).copied().ok_or_else(lost)
    }

    /// Finds out which nodes are hoisted.
    ///
    /// Errors: a node that depends on a carried value and is not element-wise, or whose table does.
    fn mark(&mut self, root: &Array<'a>, what: &dyn Fn() -> String) -> Result<()> {
        let mut pending = vec![(root.clone(), false)];
        while let Some((array, operands_done)) = pending.pop() {
            if self.hoisting.contains_key(&address(&array)) {
                continue;
            }
            // An array that has values and that the functions have not made is captured, however it is computed.
            let is_older = !array.0.is_open && !array.0.stamp.is_in(self.stamp);
            if !operands_done && !is_older && array.0.kind.arity() > 0 {
                let operands = recorded_before(&array);
                let tables: Vec<Array<'a>> = tables_of(&array).cloned().collect();
                pending.push((array, true));
                pending.extend(operands.into_iter().chain(tables).map(|x| (x, false)));
                continue;
            }
            let mut hoisting = Hoisting::Before;
            let mut of_tables = Hoisting::Before;
            if !is_older {
                let of = |x: &Array<'a>| self.hoisting[&address(x)];
                hoisting = recorded_before(&array).iter().map(of).max().unwrap_or(hoisting);
                of_tables = tables_of(&array).map(of).max().unwrap_or(of_tables);
            }
            if may_be_inside(&array.0.kind) && of_tables < Hoisting::Dependent {
                if array.0.stamp.is_in(self.stamp) && (self.keeps_all || can_fail(&array.0.kind)) {
                    hoisting = hoisting.max(Hoisting::Kept);
                }
            } else if hoisting.max(of_tables) == Hoisting::Dependent {
                return Err(self.refused(&array, what, of_tables == Hoisting::Dependent));
            } else {
                hoisting = Hoisting::Before;
            }
            self.hoisting.insert(address(&array), hoisting);
            self.visited.push(array);
        }
        Ok(())
    }

    /// The error for a value that depends on a carried one and can't be computed in the region, or whose table depends on one.
    fn refused(&self, array: &Array<'a>, what: &dyn Fn() -> String, of_table: bool) -> Error {
        let (of, what, function) = (self.function, what(), function(&array.0.kind));
        let (why, advice) = match of_table {
            true => (
                format!("{of}: {what} is made by {function} from an array that depends on a carried value"),
                "an array of which elements are taken is the same in all iterations and steps",
            ),
            false => (
                format!("{of}: {what} is made by {function}, which does not work element by element"),
                "views, reductions and scans of carried values belong before or after the loop",
            ),
        };
        Error::new(ErrorKind::Shape, why).with_help(advice)
    }

    /// Captures a table, unless it is captured already.
    fn table(&mut self, array: &Array<'a>) -> Result<()> {
        if !self.table_ids.contains_key(&address(array)) {
            self.captured.push(expr::typed(array)?);
            let param = (self.placeholders.len() + self.captured.len() - 1) as u32;
            self.tables.push(param);
            self.table_ids.insert(address(array), NodeId::new(self.nodes.len()));
            self.nodes.push(NodeKind::Leaf(param));
            self.visited.push(array.clone());
        }
        Ok(())
    }

    /// The parameter of a carried value, or of one that is captured now.
    fn param(&mut self, array: &Array<'a>) -> Result<u32> {
        if let Some(carried) = self.placeholders.iter().position(|x| x.is_same(array)) {
            return Ok(carried as u32);
        }
        self.captured.push(expr::typed(array)?);
        Ok((self.placeholders.len() + self.captured.len() - 1) as u32)
    }

    /// The recorded form of a node whose operands are recorded.
    fn computed(&mut self, array: &Array<'a>) -> Result<NodeKind<NodeId, u32>> {
        if let Kind::Loop(of) = &array.0.kind
            && of.region.is_numbered
            && self.numbered.is_none()
        {
            // The parameter is known when all values are captured.
            self.numbered = Some(NodeId::new(self.nodes.len()));
            self.nodes.push(NodeKind::Leaf(0));
        }
        let numbers = match &array.0.kind {
            Kind::Loop(of) if of.region.is_numbered => self.numbered,
            _ => None,
        };
        if let Some((rule, item)) = array.custom_rule() {
            self.capture_rule(array, rule, item)?;
        }
        let mut operand = 0;
        let arity = array.0.kind.arity();
        let (ids, table_ids, functions) = (&self.ids, &self.table_ids, &mut self.functions);
        array.0.kind.try_map(
            |x| {
                operand += 1;
                match numbers {
                    Some(numbers) if operand == arity => Ok(numbers),
                    _ if array.0.kind.is_table(operand - 1) => {
                        table_ids.get(&address(x)).copied().ok_or_else(lost)
                    }
                    _ => ids.get(&address(x)).copied().ok_or_else(lost),
                }
            },
            |_| Err(lost()),
            |function: &HostFunction| {
                if !functions.iter().any(|known| known.id() == function.id()) {
                    functions.push(function.clone());
                }
                function.declaration().clone()
            },
        )
    }

    /// Captures the rule of a function, an output of which is recorded now, for nodes of the region in the place of arrays.
    fn capture_rule(
        &mut self,
        output: &Array<'a>,
        of: &Arc<CustomRule<Array<'a>>>,
        item: usize,
    ) -> Result<()> {
        let Some(leaf) = output.0.kind.operand(2) else { return Err(lost()) };
        let key = Arc::as_ptr(of).cast();
        if !self.rules.contains_key(&key) {
            let nodes = |arrays: &[Array<'a>]| {
                let nodes = arrays.iter().map(|x| self.ids.get(&address(x)).copied().ok_or_else(lost));
                nodes.collect::<Result<Vec<_>>>()
            };
            let [args, outputs, captured] = [nodes(&of.args)?, nodes(&of.outputs)?, nodes(&of.captured)?];
            let rule = CustomRule { args, outputs, captured, derivative: of.derivative.clone() };
            self.rules.insert(key, Arc::new(rule));
        }
        let recorded = Kind::Leaf(Leaf::RecordedRule(self.rules[&key].clone(), item as u32));
        let recorded = Array::of(recorded, output.dtype(), Shape::scalar());
        let param = self.param(&recorded)?;
        self.nodes.push(NodeKind::Leaf(param));
        self.ids.insert(address(leaf), NodeId::new(self.nodes.len() - 1));
        self.visited.push(leaf.clone());
        Ok(())
    }
}

/// Whether a node can fail or calls a function of the host.
pub(crate) fn can_fail(kind: &Kind<'_>) -> bool {
    match kind {
        Kind::Apply { op, args, .. } => args.last().is_some_and(|arg| op.faults(arg.0.dtype)),
        Kind::Host { .. } => true,
        Kind::Gather { .. } => true,
        Kind::Loop(of) => {
            let region = &of.region;
            region.is_numbered
                || region.divides()
                || !region.tables.is_empty()
                || !region.functions().is_empty()
        }
        _ => false,
    }
}

/// The name of a function that is not element-wise.
fn function(kind: &Kind<'_>) -> String {
    match kind {
        Kind::Reduce { reduction, .. } => reduction.name().to_owned(),
        Kind::Scan { scan, .. } => scan.name().to_owned(),
        Kind::Recurrence(of) => of.function().to_owned(),
        Kind::View { view, .. } => view.to_string(),
        Kind::Count { .. } => "count".to_owned(),
        Kind::Index { .. } => "indices".to_owned(),
        Kind::Gather { .. } => "take".to_owned(),
        Kind::Concat { .. } => "concat".to_owned(),
        Kind::PadLike { .. } => PAD_LIKE.to_owned(),
        Kind::Routine(of) => of.routine.name().to_owned(),
        Kind::Words { .. } => Draw::Bits.name().to_owned(),
        Kind::DynamicView { .. } => "a view".to_owned(),
        Kind::Loop(of) if !of.region.tables.is_empty() => "a loop that takes elements of an array".to_owned(),
        // The others are element-wise.
        Kind::Leaf(_) | Kind::Apply { .. } | Kind::Host { .. } | Kind::Cast { .. } | Kind::Loop(_) => {
            String::new()
        }
    }
}

/// The operands of a node in a region, without the numbers of elements, for which those of the outer loop stand.
pub(crate) fn inner_operands<'x, 'a>(array: &'x Array<'a>) -> impl Iterator<Item = &'x Array<'a>> {
    let numbers = match &array.0.kind {
        Kind::Loop(of) => usize::from(of.region.is_numbered),
        Kind::Recurrence(of) => usize::from(of.step.is_numbered),
        _ => 0,
    };
    let kind = &array.0.kind;
    kind.operands().take(kind.arity() - numbers)
}

/// Whether a node may be computed in a region: from the elements of its operands, and from tables.
pub(crate) fn may_be_inside(kind: &Kind<'_>) -> bool {
    kind.is_element_wise() || matches!(kind, Kind::Gather { .. } | Kind::Loop(_))
}

/// The tables of a node that can be part of a region.
fn tables_of<'x, 'a>(array: &'x Array<'a>) -> impl Iterator<Item = &'x Array<'a>> {
    let may_be_inside = may_be_inside(&array.0.kind);
    array.0.kind.tables().filter(move |_| may_be_inside)
}

/// What must be recorded before a node, apart from its tables. An output of a function with a rule needs the arrays that the rule
/// is about; the rule itself is captured when they are recorded.
fn recorded_before<'a>(array: &Array<'a>) -> Vec<Array<'a>> {
    match array.custom_rule() {
        Some((rule, _)) => {
            let of_rule = rule.args.iter().chain(&rule.outputs).chain(&rule.captured);
            array.0.kind.operands().take(2).chain(of_rule).cloned().collect()
        }
        None => {
            let is_table = |i: usize| may_be_inside(&array.0.kind) && array.0.kind.is_table(i);
            let operands = inner_operands(array).enumerate().filter(|(i, _)| !is_table(*i));
            operands.map(|(_, x)| x.clone()).collect()
        }
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a loop that has lost a node")
}
