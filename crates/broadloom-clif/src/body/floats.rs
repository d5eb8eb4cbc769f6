//! Finds where the NaNs of floats are replaced, and recognises sequences of float primitives that take fewer instructions on wide
//! vectors: tests for NaN, and minima and maxima, which are defined by comparisons and, for two zeros, by a bitwise operation on
//! their bits.
//!
//! A sequence is recognised when its last primitive is added. The values of the other primitives are dropped if nothing
//! else reads them.

use broadloom_ir::DType;
use broadloom_math::Cmp;
use broadloom_math::record::{Primitive, Var};

use crate::body::{Body, Code, Node};
use broadloom_ir::VectorWidth;

impl Body {
    /// Whether a node is a select that replaces every NaN in its last operand by the canonical NaN.
    pub fn replaces_nan(&self, node: &Node) -> bool {
        let canonical = match node.dtype {
            DType::Float32 => u64::from(f32::NAN.to_bits()),
            DType::Float64 => f64::NAN.to_bits(),
            _ => return false,
        };
        let (Code::Primitive(Primitive::Select), [mask, nan, x, _]) = (node.code, node.args) else {
            return false;
        };
        let compare = self.node(mask);
        self.constant(nan) == Some(canonical)
            && compare.code == Code::Primitive(Primitive::Cmp(Cmp::Ne))
            && compare.args[..2] == [x; 2]
    }

    /// The operand of a node that replaces NaNs. Arithmetic reads it in the node's place, so as not to wait for the replacement: it
    /// does not depend on the bits of a NaN, and its own NaNs are replaced before their bits are read. (No function whose NaNs
    /// are not replaced, because it moves them or selects the canonical one, computes its result by float arithmetic.)
    pub(super) fn before_nans_are_replaced(&self, x: Var) -> Option<Var> {
        let node = self.node(x);
        self.replaces_nan(node).then_some(node.args[2])
    }

    /// The node of a value that replaces NaNs, if nothing but the outputs reads it.
    pub fn replaced_for_outputs(&self, x: Var) -> Option<&Node> {
        let is_read = || self.nodes.iter().any(|node| node.live && node.args().contains(&x));
        Some(self.node(x)).filter(|node| self.replaces_nan(node) && !is_read())
    }

    /// The value of a state that a step passes to the next one: the output, or what it is before its NaNs are replaced.
    pub fn passed(&self, state: usize) -> Var {
        let output = self.outputs[state];
        self.carried(Var(state as u32), output).unwrap_or(output)
    }

    /// The operand of a node that replaces NaNs, if it may take the node's place as the next value of `own`. It may if the body
    /// only calculates with `own`.
    pub(super) fn carried(&self, own: Var, next: Var) -> Option<Var> {
        let calculates = |node: &Node| match node.code {
            Code::Primitive(
                Primitive::Add
                | Primitive::Sub
                | Primitive::Mul
                | Primitive::Div
                | Primitive::Sqrt
                | Primitive::Fma
                | Primitive::Cmp(_),
            ) => node.dtype.is_float(),
            _ => false,
        };
        let mut reads = self.nodes.iter().filter(|node| node.live && node.args().contains(&own));
        let is_free = self.loops.is_empty() && !self.outputs.contains(&own) && reads.all(calculates);
        self.before_nans_are_replaced(next).filter(|_| is_free)
    }

    /// Replaces a sequence that computes the minimum or maximum of two floats, if a select by the mask `unordered`
    /// discards the lanes in which one of the floats is NaN. The sequence consists of two comparisons, two selects and
    /// a bitwise operation on the bits of two zeros; the replacement is one instruction, or three.
    pub(super) fn float_extremum(&mut self, unordered: Var, value: Var) -> Option<Var> {
        let Node { code: Code::Unordered, dtype, args: [x, y, ..], .. } = *self.node(unordered) else {
            return None;
        };
        let is_pair = |a: Var, b: Var| [a, b] == [x, y] || [b, a] == [x, y];
        let (equal, joined, otherwise) = self.select(value)?;
        let (strictly, first, second) = self.select(otherwise)?;
        let (equal, strictly) = (self.node(equal), self.node(strictly));
        let (code, join) = match strictly.code {
            Code::Primitive(Primitive::Cmp(Cmp::Lt)) => (Code::Minimum, Primitive::Or),
            Code::Primitive(Primitive::Cmp(Cmp::Gt)) => (Code::Maximum, Primitive::And),
            _ => return None,
        };
        let are_floats = equal.dtype == dtype && strictly.dtype == dtype;
        let is_selected = strictly.args[..2] == [first, second] && is_pair(first, second);
        let is_equal = equal.code == Code::Primitive(Primitive::Cmp(Cmp::Eq));
        let is_joined = self.node(joined).code == Code::Primitive(Primitive::OfBits) && {
            let Node { code, args: [p, q, ..], .. } = *self.node(self.node(joined).args[0]);
            let are_bits = |p, q| self.are_bits_of(p, x) && self.are_bits_of(q, y);
            code == Code::Primitive(join) && (are_bits(p, q) || are_bits(q, p))
        };
        let is_extremum =
            are_floats && is_selected && is_equal && is_pair(equal.args[0], equal.args[1]) && is_joined;
        let args = [first, second, Var(0), Var(0)];
        is_extremum.then(|| self.define(code, dtype, args, dtype.size() as u8))
    }

    /// The mask and the two operands of a select, if the value is a select.
    fn select(&self, value: Var) -> Option<(Var, Var, Var)> {
        let node = self.node(value);
        let [m, a, b, _] = node.args;
        (node.code == Code::Primitive(Primitive::Select)).then_some((m, a, b))
    }

    /// Whether the value `bits` is the bit pattern of the value `float`.
    fn are_bits_of(&self, bits: Var, float: Var) -> bool {
        let (of, from) = (self.node(bits), self.node(float));
        match of.code {
            Code::Primitive(Primitive::Bits) => of.args[0] == float,
            Code::Primitive(Primitive::Splat(value)) => self.constant(float) == Some(value),
            _ => from.code == Code::Primitive(Primitive::OfBits) && from.args[0] == bits,
        }
    }

    /// If a primitive combines two masks by OR, each of which tests a float for NaN, returns the mask of the lanes in
    /// which at least one of the floats is NaN.
    pub(super) fn either_nan(&mut self, join: Primitive, m: Var, other: Var) -> Option<Var> {
        let tested = |m: Var| {
            let Node { code, dtype, args: [x, same, ..], lane, .. } = *self.node(m);
            let is_test = code == Code::Primitive(Primitive::Cmp(Cmp::Ne)) && dtype.is_float() && x == same;
            is_test.then_some((x, dtype, lane))
        };
        let ((x, dtype, lane), (y, of, _)) = (tested(m)?, tested(other)?);
        let is_either = join == Primitive::MaskOr && self.width > VectorWidth::W128 && dtype == of;
        is_either.then(|| self.define(Code::Unordered, dtype, [x, y, Var(0), Var(0)], lane))
    }

    /// If a comparison of integers tests a float for NaN, by comparing its bits without the sign with the bits of
    /// infinity, returns the same test as a comparison of floats.
    pub(super) fn test_for_nan(&mut self, how: Cmp, magnitude: Var, infinity: Var) -> Option<Var> {
        let Node { code: Code::Primitive(Primitive::And), args: [bits, mask, ..], .. } =
            *self.node(magnitude)
        else {
            return None;
        };
        let Node { code: Code::Primitive(Primitive::Bits), args: [x, ..], .. } = *self.node(bits) else {
            return None;
        };
        let dtype = self.node(x).dtype;
        let (most, least) = match dtype {
            DType::Float32 => (u64::from(u32::MAX >> 1), u64::from(f32::INFINITY.to_bits())),
            DType::Float64 => (u64::MAX >> 1, f64::INFINITY.to_bits()),
            _ => return None,
        };
        let is_test = how == Cmp::Gt && self.constant(mask) == Some(most);
        let is_test = is_test && self.constant(infinity) == Some(least) && self.width > VectorWidth::W128;
        let code = Code::Primitive(Primitive::Cmp(Cmp::Ne));
        is_test.then(|| self.define(code, dtype, [x, x, Var(0), Var(0)], dtype.size() as u8))
    }
}
