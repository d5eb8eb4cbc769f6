//! Primitives that become other nodes than their own when they are added: values that are known without an instruction, and
//! operations of bools, which are masks.

use broadloom_ir::{DType, VectorWidth};
use broadloom_math::Cmp;
use broadloom_math::record::{Inst, Primitive, Sink, Var};

use crate::body::{Body, Code, Node, ones, unsigned};

impl Body {
    /// Adds a primitive whose operands or result are masks; `None` for other primitives. Bools are masks too; their
    /// lanes are as wide as those of the values that were compared.
    pub(super) fn mask(&mut self, inst: &Inst) -> Option<Var> {
        use Primitive::*;
        let (code, [m, a, b, c], size) =
            (Code::Primitive(inst.primitive), inst.args, inst.dtype.size() as u8);
        let none = Var(0);
        Some(match inst.primitive {
            Splat(bits) if inst.dtype == DType::Bool => self.splat(DType::UInt8, 0xff * bits),
            Boolean(_) => m,
            // A bool made from a mask keeps the width of the mask's lanes.
            Truth if inst.dtype == DType::Bool => m,
            Truth | MaskResize(_) => self.resized(m, size),
            MaskNot => {
                let lane = self.node(m).lane;
                self.define(code, unsigned(lane), [m, none, none, none], lane)
            }
            MaskAnd | MaskOr | MaskXor => {
                let lane = self.node(m).lane;
                let other = self.resized(a, lane);
                if let Some(either) = self.either_nan(inst.primitive, m, other) {
                    return Some(either);
                }
                self.define(code, unsigned(lane), [m, other, none, none], lane)
            }
            Select if inst.dtype == DType::Bool => {
                let lane = self.node(m).lane;
                let (a, b) = (self.resized(a, lane), self.resized(b, lane));
                self.define(code, unsigned(lane), [m, a, b, none], lane)
            }
            Select => {
                let m = self.resized(m, size);
                if let Some(code) = self.extremum(m, a, b) {
                    return Some(self.define(code.0, code.1, [a, b, none, none], size));
                }
                let b = self.float_extremum(m, b).unwrap_or(b);
                self.define(code, inst.dtype, [m, a, b, none], size)
            }
            SlowPath(_) => {
                let m = self.resized(m, size);
                self.define(code, inst.dtype, [m, a, b, c], size)
            }
            _ => return None,
        })
    }

    /// If a select of two integers by a mask that compares them computes their minimum or maximum, the code of that
    /// minimum or maximum; otherwise `None`. Vectors of more than 128 bits have one instruction for it, except for
    /// 64-bit lanes at 256 bits.
    fn extremum(&self, m: Var, a: Var, b: Var) -> Option<(Code, DType)> {
        let Node { code: Code::Primitive(Primitive::Cmp(how)), dtype, args: [x, y, ..], .. } = *self.node(m)
        else {
            return None;
        };
        let has = self.width > VectorWidth::W128 && (dtype.size() < 8 || self.width > VectorWidth::W256);
        if !has || !dtype.is_integer() {
            return None;
        }
        let least = match how {
            Cmp::Lt | Cmp::Le => true,
            Cmp::Gt | Cmp::Ge => false,
            Cmp::Eq | Cmp::Ne => return None,
        };
        let least = match (a == x && b == y, a == y && b == x) {
            (true, _) => least,
            (_, true) => !least,
            _ => return None,
        };
        Some((if least { Code::Minimum } else { Code::Maximum }, dtype))
    }

    /// A value that replaces a primitive: an operand that it always equals, a constant, or a cheaper primitive; `None`
    /// if there is none.
    pub(super) fn folded(&mut self, inst: &Inst) -> Option<Var> {
        use Primitive::*;
        let [x, y, z, _] = inst.args;
        let size = inst.dtype.size();
        match inst.primitive {
            Add | Sub | Or | Xor if !inst.dtype.is_float() && self.constant(y) == Some(0) => Some(x),
            And if self.constant(y) == Some(ones(size)) => Some(x),
            ShlConst(0) | ShrConst(0) => Some(x),
            Select if y == z => Some(y),
            Cmp(how) => self.test_for_nan(how, x, y),
            IntResize(from) => match self.constant(x) {
                _ if from.size() == size => Some(x),
                Some(bits) => {
                    let above = 64 - 8 * from.size() as u32;
                    let wide = match from.kind() {
                        broadloom_math::Kind::Signed => ((bits << above) as i64 >> above) as u64,
                        _ => bits,
                    };
                    Some(self.splat(inst.dtype, wide & ones(size)))
                }
                None => None,
            },
            FloatResize(from) if from == inst.dtype => Some(x),
            Bits | OfBits => match self.node(x).code {
                Code::Primitive(Splat(bits)) => Some(self.splat(inst.dtype, bits)),
                Code::Primitive(Bits | OfBits) => {
                    let before = self.node(x).args[0];
                    (self.node(before).dtype == inst.dtype).then_some(before)
                }
                _ => None,
            },
            Shl | Shr => {
                let count = (self.constant(y)? & (8 * size as u64 - 1)) as u32;
                let primitive = if inst.primitive == Shl { ShlConst(count) } else { ShrConst(count) };
                Some(self.push(Inst { primitive, ..*inst }))
            }
            _ => None,
        }
    }
}
