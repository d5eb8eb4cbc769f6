//! Rewriting: from a graph to a smaller one with the same bits.
//!
//! The new graph contains only what the roots need. A rule is exact bit for bit (NaN, signed zeros, infinities,
//! wrapping) and never drops a node that may fail. A computed NaN whose bits can be read is made canonical even if no
//! rules apply, so a rule need not preserve the bits of a NaN. Rebuilding keeps the types of nodes; only nodes that a
//! rule creates are typed. Options that change the meaning are applied here as well, whether rules apply or not.
//! The region of a loop is rewritten as a graph of its own. [`contract`] runs before the rules. The accuracy is applied
//! after the rules: their patterns match functions of the default accuracy, and applying the accuracy replaces such a
//! function by a more accurate one of the same name.

mod accuracy;
mod apart;
pub mod contract;
mod looped;
mod nan;

use broadloom_math::{DType, Kind};
use smallvec::SmallVec;

use crate::error::Result;
use crate::graph::{Graph, Leaf, NodeId, NodeKind};
use crate::layout::View;
use crate::op::Op;
use crate::rewrite::contract::Contraction;
use crate::scalar::{Class, Literal};

/// Whether rewriting rules apply. The results have the same bits either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// All rules apply.
    #[default]
    On,
    /// No rules apply. Differential tests compare the results with those of [`Rules::On`].
    Off,
}

/// Rewrites the nodes that the roots need into a new graph.
///
/// # Errors
/// The errors of building a graph; [`ErrorKind::DType`](crate::ErrorKind::DType) for a function that is less accurate
/// than the graph's semantics require.
pub fn run(graph: &Graph, roots: &[NodeId], rules: Rules) -> Result<(Graph, Vec<NodeId>)> {
    rewrite(graph, roots, rules, |_| ())
}

/// Rewrites like [`run`], and returns every rule that fired, in the order of the nodes of the old graph.
///
/// # Errors
/// The errors of [`run`].
///
/// ```
/// use broadloom_core::node::NodeKind;
/// use broadloom_core::rewrite::{self, Rules};
/// use broadloom_core::{DType, Graph, Layout, Op, Scalar, Shape};
///
/// let mut graph = Graph::default();
/// let x = graph.input(0, DType::Float32, Layout::contiguous(Shape::new(&[4])?))?;
/// let two = graph.constant(Scalar::of(2.0_f32), None)?;
/// let y = graph.push(NodeKind::apply(Op::Pow, [x, two]))?;
/// let (_, _, firings) = rewrite::explain(&graph, &[y], Rules::On)?;
/// assert_eq!((firings[0].rule, firings[0].at), ("x ** 2 -> square(x)", y));
/// # Ok::<(), broadloom_core::Error>(())
/// ```
pub fn explain(graph: &Graph, roots: &[NodeId], rules: Rules) -> Result<(Graph, Vec<NodeId>, Vec<Firing>)> {
    let mut firings = Vec::new();
    let (graph, roots) = rewrite(graph, roots, rules, |firing| firings.push(firing))?;
    Ok((graph, roots, firings))
}

/// A rule that fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The rule, read left to right.
    pub rule: &'static str,
    /// The node of the old graph at which the rule fired.
    pub at: NodeId,
    /// The node that replaces it in the new graph; a further rule at the same node may replace that one.
    pub gives: NodeId,
}

/// The name that is reported instead of a rule's when the graph itself folds a node.
const FOLDED: &str = "a function of constants -> its value";
const CANONICAL: &str = "NaNs whose bits can be read -> one bit pattern for every NaN";

fn rewrite(
    graph: &Graph,
    roots: &[NodeId],
    rules: Rules,
    mut note: impl FnMut(Firing),
) -> Result<(Graph, Vec<NodeId>)> {
    let read: Vec<(NodeId, bool)> = roots.iter().map(|&root| (root, true)).collect();
    let (graph, roots) = marked(graph, roots, &nan::Marks::of(graph, &read), rules, &mut note)?;
    match rules {
        Rules::On => apart::take_apart(graph, roots),
        Rules::Off => Ok((graph, roots)),
    }
}

/// Rewrites the nodes that the roots need, with what is known about them.
fn marked(
    graph: &Graph,
    roots: &[NodeId],
    marks: &nan::Marks,
    rules: Rules,
    note: &mut dyn FnMut(Firing),
) -> Result<(Graph, Vec<NodeId>)> {
    let mut loops = looped::RewrittenLoops::default();
    let region =
        |graph: &Graph, roots: &[NodeId], marks: &nan::Marks| marked(graph, roots, marks, rules, &mut |_| ());
    let region: looped::Rewrite<'_> = (graph.semantics(), &region);
    let mut out = graph.successor();
    let mut new: Vec<Option<NodeId>> = vec![None; graph.nodes().len()];
    for id in graph.ids().filter(|id| marks.needed[id.index()]) {
        out.add_derivative(graph.node(id).is_derivative);
        let contraction = contraction(graph, id);
        let mut rebuilt = match (&contraction, &graph.node(id).kind) {
            (Some(found), _) => contracted(found, &new, &mut out)?,
            (None, NodeKind::Loop(of)) => {
                let (kind, node) = (loops.rewritten(of, marks, &new, &mut out, &region)?, graph.node(id));
                out.insert(kind, node.dtype, node.shape.clone())?
            }
            (None, NodeKind::Recurrence(of)) => {
                let (kind, node) = (loops.stepped(of, marks, &new, &mut out, &region)?, graph.node(id));
                out.insert(kind, node.dtype, node.shape.clone())?
            }
            (None, _) => rebuild(graph, id, &new, &mut out)?,
        };
        let mut note = |rule, gives| note(Firing { rule, at: id, gives });
        contraction.iter().for_each(|found| note(found.rule, rebuilt));
        if is_const(&out, rebuilt) && !is_const(graph, id) {
            note(FOLDED, rebuilt);
        }
        if rules == Rules::On {
            rebuilt = simplify(&mut out, rebuilt, &mut note)?;
        }
        let accurate = accuracy::nearest(&mut out, rebuilt)?;
        if accurate != rebuilt {
            note(accuracy::NEAREST, accurate);
            rebuilt = accurate;
        }
        if marks.is_computed_and_read(graph, id) {
            let canonical = nan::canonical(&mut out, rebuilt)?;
            if canonical != rebuilt {
                note(CANONICAL, canonical);
            }
            rebuilt = canonical;
        }
        new[id.index()] = Some(rebuilt);
    }
    let roots = roots.iter().filter_map(|r| new[r.index()]).collect();
    Ok((out, roots))
}

fn is_const(graph: &Graph, id: NodeId) -> bool {
    graph.node(id).constant().is_some()
}

/// Rebuilds a node with the operands of the new graph.
fn rebuild(graph: &Graph, id: NodeId, new: &[Option<NodeId>], out: &mut Graph) -> Result<NodeId> {
    let node = graph.node(id);
    let kind = node.kind.try_map(
        // Operands come before their users, so each has a node in the new graph.
        |&arg| crate::error::Result::Ok(new[arg.index()].unwrap_or(arg)),
        |leaf: &Leaf| Ok(leaf.clone()),
        Clone::clone,
    )?;
    out.insert(kind, node.dtype, node.shape.clone())
}

/// The contraction of a node, if products are to be contracted in the graph and the node has one.
fn contraction(graph: &Graph, id: NodeId) -> Option<Contraction<&NodeId>> {
    if !graph.semantics().contract || !graph.node(id).dtype.is_float() {
        return None;
    }
    let is_two = |id: &NodeId| graph.node(*id).constant().is_some_and(|value| value.class() == Class::Two);
    contract::contraction(&graph.node(id).kind, |id| &graph.node(*id).kind, is_two)
}

/// Builds the fused multiply-add over the operands of the new graph. Negating an operand is exact, and folds if the
/// operand is a constant.
fn contracted(found: &Contraction<&NodeId>, new: &[Option<NodeId>], out: &mut Graph) -> Result<NodeId> {
    let [mut a, mut b] = found.factors.map(|&factor| new[factor.index()].unwrap_or(factor));
    let mut c = new[found.addend.index()].unwrap_or(*found.addend);
    if found.negates_product {
        let factor = if is_const(out, b) { &mut b } else { &mut a };
        *factor = out.push(NodeKind::apply(Op::Negative, [*factor]))?;
    }
    if found.negates_addend {
        c = out.push(NodeKind::apply(Op::Negative, [c]))?;
    }
    out.push(NodeKind::apply(Op::Fma, [a, b, c]))
}

/// Applies rules to a node until none matches. Each rule's result is simpler than its pattern, so this terminates.
fn simplify(graph: &mut Graph, id: NodeId, note: &mut impl FnMut(&'static str, NodeId)) -> Result<NodeId> {
    let mut current = id;
    loop {
        let shape = graph.node(current).shape.clone();
        let mut fired = RULES.iter().filter_map(|rule| {
            let next = (rule.apply)(&mut At { graph, id: current }).transpose()?;
            Some((rule.name, next))
        });
        let Some((rule, next)) = fired.next() else {
            return Ok(current);
        };
        let next = next?;
        current = if graph.node(next).shape == shape {
            next
        } else {
            graph.view(next, View::BroadcastTo(shape))?
        };
        note(rule, current);
    }
}

/// A named rule: a pattern and its replacement.
pub struct Rule {
    /// The rule as text, pattern to replacement.
    pub name: &'static str,
    apply: fn(&mut At<'_>) -> Result<Option<NodeId>>,
}

/// A node to which a rule is applied.
struct At<'a> {
    graph: &'a mut Graph,
    id: NodeId,
}

impl At<'_> {
    /// The operands of the node, if it applies the op `wanted`.
    fn op(&self, wanted: Op) -> Option<SmallVec<[NodeId; 3]>> {
        args_of(self.graph, self.id, wanted)
    }

    /// The operand of node `id`, if that node applies the unary op `wanted`.
    fn inner(&self, id: NodeId, wanted: Op) -> Option<NodeId> {
        args_of(self.graph, id, wanted).map(|args| args[0])
    }

    fn dtype(&self, id: NodeId) -> DType {
        self.graph.node(id).dtype
    }

    fn is(&self, id: NodeId, class: Class) -> bool {
        self.graph.node(id).constant().is_some_and(|value| value.class() == class)
    }

    fn float(&self, id: NodeId) -> bool {
        self.dtype(id).is_float()
    }

    fn may_drop(&self, id: NodeId) -> bool {
        !self.graph.node(id).faults
    }

    /// If one of the two operands of a commutative op is a constant of the class, the other operand.
    fn beside(&self, args: &[NodeId], class: Class) -> Option<NodeId> {
        match *args {
            [a, b] if self.is(b, class) => Some(a),
            [a, b] if self.is(a, class) => Some(b),
            _ => None,
        }
    }

    fn apply(&mut self, op: Op, args: &[NodeId]) -> Result<Option<NodeId>> {
        self.graph.push(NodeKind::apply(op, args.iter().copied())).map(Some)
    }

    fn literal(&mut self, literal: Literal, dtype: DType) -> Result<Option<NodeId>> {
        let value = literal.to_dtype(dtype)?;
        self.graph.constant(value, None).map(Some)
    }
}

fn args_of(graph: &Graph, id: NodeId, wanted: Op) -> Option<SmallVec<[NodeId; 3]>> {
    graph.node(id).kind.args_of(wanted).map(|args| args.iter().copied().collect())
}

/// Unwraps an option, or returns `None` from the rule.
macro_rules! want {
    ($e:expr) => {
        match $e {
            Some(x) => x,
            None => return Ok(None),
        }
    };
}

macro_rules! rules {
    ($($name:literal => |$at:ident| $body:expr;)*) => {
        /// All rules, in the order in which they are tried.
        pub const RULES: &[Rule] = &[$(Rule { name: $name, apply: |$at| $body }),*];
    };
}

rules! {
    "positive(x) -> x"                    => |at| Ok(at.op(Op::Positive).map(|a| a[0]));
    "negative(negative(x)) -> x"          => |at| cancel(at, Op::Negative);
    "bitwise_invert(bitwise_invert(x)) -> x" => |at| cancel(at, Op::BitwiseInvert);
    "logical_not(logical_not(x)) -> x"    => |at| cancel(at, Op::LogicalNot);
    "logical_not(x == y) -> x != y"       => |at| negate(at, Op::Equal, Op::NotEqual);
    "logical_not(x != y) -> x == y"       => |at| negate(at, Op::NotEqual, Op::Equal);
    "abs(abs(x)) -> abs(x)"               => |at| {
        let x = want!(at.op(Op::Abs))[0];
        Ok(at.inner(x, Op::Abs).map(|_| x))
    };
    "abs(negative(x)) -> abs(x)"          => |at| {
        let x = want!(at.op(Op::Abs))[0];
        let x = want!(at.inner(x, Op::Negative));
        // Negating an unsigned x wraps, so the absolute values of x and −x differ.
        if at.dtype(x).kind() == Kind::Unsigned { return Ok(None) }
        at.apply(Op::Abs, &[x])
    };
    "round to integral(integer) -> it"    => |at| {
        let x = want!(ROUNDINGS.iter().find_map(|&op| at.op(op)))[0];
        Ok(at.dtype(x).is_integer().then_some(x))
    };
    "round to integral(integral) -> it"   => |at| {
        let x = want!(ROUNDINGS.iter().find_map(|&op| at.op(op)))[0];
        Ok(ROUNDINGS.iter().find_map(|&op| at.inner(x, op)).map(|_| x))
    };
    "x * 1 -> x"                          => |at| Ok(at.op(Op::Multiply).and_then(|a| at.beside(&a, Class::One)));
    "x * -1 -> negative(x)"               => |at| {
        let args = want!(at.op(Op::Multiply));
        let x = want!(at.beside(&args, Class::MinusOne));
        at.apply(Op::Negative, &[x])
    };
    "integer x * 0 -> 0"                  => |at| {
        let args = want!(at.op(Op::Multiply));
        let x = want!(at.beside(&args, Class::Zero));
        if at.float(x) || !at.may_drop(x) { return Ok(None) }
        let dtype = at.dtype(x);
        at.literal(Literal::Int(0), dtype)
    };
    "x / 1 -> x"                          => |at| {
        let a = want!(at.op(Op::Divide));
        Ok(at.is(a[1], Class::One).then_some(a[0]))
    };
    "x / 2 -> x * 0.5"                    => |at| {
        let a = want!(at.op(Op::Divide));
        if !at.is(a[1], Class::Two) { return Ok(None) }
        let dtype = at.dtype(a[0]);
        let half = want!(at.literal(Literal::Float(0.5), dtype)?);
        at.apply(Op::Multiply, &[a[0], half])
    };
    "1 / x -> reciprocal(x)"              => |at| {
        let a = want!(at.op(Op::Divide));
        if !at.is(a[0], Class::One) { return Ok(None) }
        at.apply(Op::Reciprocal, &[a[1]])
    };
    "x ** 0 -> 1"                         => |at| {
        let a = want!(at.op(Op::Pow));
        let is_zero = at.is(a[1], Class::Zero) || at.is(a[1], Class::NegativeZero);
        // The power is 1 even if the base is NaN.
        if !is_zero || !at.may_drop(a[0]) { return Ok(None) }
        let dtype = at.dtype(a[0]);
        at.literal(Literal::Int(1), dtype)
    };
    "x ** 1 -> x"                         => |at| {
        let a = want!(at.op(Op::Pow));
        Ok(at.is(a[1], Class::One).then_some(a[0]))
    };
    "x ** 2 -> square(x)"                 => |at| {
        let a = want!(at.op(Op::Pow));
        if !at.is(a[1], Class::Two) { return Ok(None) }
        at.apply(Op::Square, &[a[0]])
    };
    "float x ** -1 -> reciprocal(x)"      => |at| {
        let a = want!(at.op(Op::Pow));
        if !at.float(a[0]) || !at.is(a[1], Class::MinusOne) { return Ok(None) }
        at.apply(Op::Reciprocal, &[a[0]])
    };
    "even(negative(x)) -> even(x)"        => |at| even(at, Op::Negative);
    "even(abs(x)) -> even(x)"             => |at| even(at, Op::Abs);
    "float x + -0 -> x"                   => |at| Ok(at.op(Op::Add).and_then(|a| at.beside(&a, Class::NegativeZero)));
    "float x - +0 -> x"                   => |at| {
        let a = want!(at.op(Op::Subtract));
        Ok((at.float(a[1]) && at.is(a[1], Class::Zero)).then_some(a[0]))
    };
    "x + negative(y) -> x - y"            => |at| {
        let a = want!(at.op(Op::Add));
        if let Some(y) = at.inner(a[1], Op::Negative) { return at.apply(Op::Subtract, &[a[0], y]) }
        let y = want!(at.inner(a[0], Op::Negative));
        at.apply(Op::Subtract, &[a[1], y])
    };
    "x - negative(y) -> x + y"            => |at| {
        let a = want!(at.op(Op::Subtract));
        let y = want!(at.inner(a[1], Op::Negative));
        at.apply(Op::Add, &[a[0], y])
    };
    "integer x + 0 -> x"                  => |at| {
        let a = want!(at.op(Op::Add));
        Ok(at.beside(&a, Class::Zero).filter(|&x| !at.float(x)))
    };
    "integer x - 0 -> x"                  => |at| {
        let a = want!(at.op(Op::Subtract));
        Ok((!at.float(a[1]) && at.is(a[1], Class::Zero)).then_some(a[0]))
    };
    "integer x - x -> 0"                  => |at| same_to_zero(at, Op::Subtract);
    "x ^ x -> 0"                          => |at| same_to_zero(at, Op::BitwiseXor);
    "x & x -> x"                          => |at| same_to_itself(at, Op::BitwiseAnd);
    "x | x -> x"                          => |at| same_to_itself(at, Op::BitwiseOr);
    "logical_and(x, x) -> x"              => |at| same_to_itself(at, Op::LogicalAnd);
    "logical_or(x, x) -> x"               => |at| same_to_itself(at, Op::LogicalOr);
    "maximum(x, x) -> x"                  => |at| same_to_itself(at, Op::Maximum);
    "minimum(x, x) -> x"                  => |at| same_to_itself(at, Op::Minimum);
    "x | 0 -> x"                          => |at| Ok(at.op(Op::BitwiseOr).and_then(|a| at.beside(&a, Class::Zero)));
    "x ^ 0 -> x"                          => |at| Ok(at.op(Op::BitwiseXor).and_then(|a| at.beside(&a, Class::Zero)));
    "integer x & -1 -> x"                 => |at| Ok(at.op(Op::BitwiseAnd).and_then(|a| at.beside(&a, Class::MinusOne)));
    "x & 0 -> 0"                          => |at| {
        let args = want!(at.op(Op::BitwiseAnd));
        let x = want!(at.beside(&args, Class::Zero));
        let zero = if args[0] == x { args[1] } else { args[0] };
        Ok(at.may_drop(x).then_some(zero))
    };
    "x << 0 -> x"                         => |at| unshifted(at, Op::BitwiseLeftShift);
    "x >> 0 -> x"                         => |at| unshifted(at, Op::BitwiseRightShift);
    "where(true, x, y) -> x"              => |at| {
        let a = want!(at.op(Op::Where));
        Ok((at.is(a[0], Class::One) && at.may_drop(a[2])).then_some(a[1]))
    };
    "where(false, x, y) -> y"             => |at| {
        let a = want!(at.op(Op::Where));
        Ok((at.is(a[0], Class::Zero) && at.may_drop(a[1])).then_some(a[2]))
    };
    "where(c, x, x) -> x"                 => |at| {
        let a = want!(at.op(Op::Where));
        Ok((a[1] == a[2] && at.may_drop(a[0])).then_some(a[1]))
    };
    "where(logical_not(c), x, y) -> where(c, y, x)" => |at| {
        let a = want!(at.op(Op::Where));
        let c = want!(at.inner(a[0], Op::LogicalNot));
        at.apply(Op::Where, &[c, a[2], a[1]])
    };
    "astype(astype(x, wider), back) -> x" => |at| {
        let NodeKind::Cast { arg, .. } = at.graph.node(at.id).kind else { return Ok(None) };
        let NodeKind::Cast { arg: x, .. } = at.graph.node(arg).kind else { return Ok(None) };
        let (from, through, to) = (at.dtype(x), at.dtype(arg), at.dtype(at.id));
        Ok((from == to && holds(through, from)).then_some(x))
    };
}

const ROUNDINGS: &[Op] = &[Op::Ceil, Op::Floor, Op::Round, Op::Trunc];

/// Functions that have the same result bits for x and −x.
const EVEN: &[Op] = &[Op::Cos, Op::Cosh, Op::Square];

fn even(at: &mut At<'_>, sign: Op) -> Result<Option<NodeId>> {
    let (op, x) = want!(EVEN.iter().find_map(|&op| at.op(op).map(|args| (op, args[0]))));
    let x = want!(at.inner(x, sign));
    at.apply(op, &[x])
}

fn cancel(at: &mut At<'_>, op: Op) -> Result<Option<NodeId>> {
    let x = want!(at.op(op))[0];
    Ok(at.inner(x, op))
}

fn negate(at: &mut At<'_>, from: Op, to: Op) -> Result<Option<NodeId>> {
    let x = want!(at.op(Op::LogicalNot))[0];
    let args = want!(args_of(at.graph, x, from));
    at.apply(to, &args)
}

fn same_to_zero(at: &mut At<'_>, op: Op) -> Result<Option<NodeId>> {
    let a = want!(at.op(op));
    let dtype = at.dtype(a[0]);
    if a[0] != a[1] || !at.may_drop(a[0]) || dtype.is_float() {
        return Ok(None);
    }
    at.literal(if dtype == DType::Bool { Literal::Bool(false) } else { Literal::Int(0) }, dtype)
}

fn same_to_itself(at: &mut At<'_>, op: Op) -> Result<Option<NodeId>> {
    Ok(at.op(op).filter(|a| a[0] == a[1]).map(|a| a[0]))
}

fn unshifted(at: &mut At<'_>, op: Op) -> Result<Option<NodeId>> {
    let a = want!(at.op(op));
    Ok(at.is(a[1], Class::Zero).then_some(a[0]))
}

/// Whether the dtype `wide` can represent every value of `narrow`, so that converting to it and back changes nothing.
fn holds(wide: DType, narrow: DType) -> bool {
    let digits = |d: DType| match d {
        DType::Float16 => 11,
        DType::Float32 => 24,
        DType::Float64 => 53,
        DType::Bool => 1,
        d => 8 * d.size() as u32 - u32::from(d.kind() == Kind::Signed),
    };
    match (narrow.kind(), wide.kind()) {
        (_, Kind::Bool) => false,
        (Kind::Float, Kind::Float) => wide.size() > narrow.size(),
        (Kind::Float, _) => false,
        (Kind::Signed, Kind::Unsigned) => false,
        // A float dtype with enough digits has the exponent range as well.
        _ => digits(wide) >= digits(narrow),
    }
}

#[cfg(test)]
mod tests;
