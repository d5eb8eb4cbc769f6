//! Doubles and halves the width of lanes without moving them across vectors.
//!
//! If numbers of N bytes fill one vector, they fill two vectors as numbers of 2N bytes. If a loop has only lanes of
//! these two widths, and only numbers of N bytes in memory, the first of the two vectors contains the even-indexed
//! elements and the second the odd-indexed elements. Widening is then a mask or a shift of the vector, and narrowing a
//! shift and a blend by a constant. If the lanes were in the order of the elements, each lane would have to be moved by
//! several shuffles, for which CPUs have only one or two execution units.

use broadloom_ir::kernel::{Depth, Kernel};
use broadloom_math::record::Primitive;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value};
use smallvec::SmallVec;

use crate::body::{Body, Code, Node};
use crate::value::{LaneLayout, Lanes, MAX_VECTORS, integer};
use crate::vectors::Vectors;
use broadloom_ir::VectorWidth;

/// Whether the lanes of a body can be interleaved: nothing in the body depends on the order of the wider lanes, and
/// no array in memory has elements of their width.
pub fn applies(body: &Body, kernel: &Kernel, layout: LaneLayout) -> bool {
    if !layout.is_wide() || !kernel.functions.is_empty() {
        return false;
    }
    let nodes = || body.at(Depth::Element).iter().map(|&var| body.node(var));
    let (narrow, widest) =
        nodes().fold((u8::MAX, 0), |(low, high), node| (low.min(node.lane), high.max(node.lane)));
    let size = usize::from(narrow);
    matches!(narrow, 1 | 2)
        && widest == 2 * narrow
        && layout.lanes * u32::from(narrow) >= layout.width.bytes()
        && kernel.output_dtypes().all(|dtype| dtype.size() == size)
        && nodes().all(|node| keeps_order(node, narrow, layout.width))
}

/// Whether a node computes each lane independently of its position, or is a conversion that this module implements.
fn keeps_order(node: &Node, narrow: u8, width: VectorWidth) -> bool {
    match node.code {
        Code::Input(_) => node.lane == narrow,
        Code::Param(_) | Code::Minimum | Code::Maximum | Code::Unordered => true,
        Code::Host(_) | Code::CheckDivisor(_) | Code::Loop(_) | Code::Item(_) => false,
        Code::Elements(_) | Code::CheckPosition(_) | Code::Gather(_) => false,
        Code::Primitive(primitive) => match primitive {
            Primitive::SlowPath(_)
            | Primitive::FloatResize(_)
            | Primitive::HalfToFloat
            | Primitive::FloatToHalf => false,
            Primitive::IntToFloat(from) | Primitive::FloatToInt(from) => from.size() == node.dtype.size(),
            // At 512 bits, masks are in mask registers, with one bit for each lane in the order of the elements.
            Primitive::MaskResize(_) => width < VectorWidth::W512,
            _ => true,
        },
    }
}

impl Vectors<'_> {
    /// Whether conversions between these two lane widths, in bytes, use vectors of the even-indexed and of the
    /// odd-indexed elements.
    pub fn interleaves(&self, from: u32, to: u32) -> bool {
        self.layout.interleaved && !self.uniform && (to == 2 * from || from == 2 * to)
    }

    /// Integers of twice the width: for each vector, one vector of its even-indexed lanes and one of its odd-indexed
    /// lanes.
    pub fn widen_interleaved(&mut self, x: Lanes, signed: bool) -> Lanes {
        let bits = 8 * i64::from(x.width);
        self.widened(x, |v, ty, x| {
            if signed {
                let even = v.ins().ishl_imm_u(x, bits);
                return [v.ins().sshr_imm_u(even, bits), v.ins().sshr_imm_u(x, bits)];
            }
            let low = v.constant(ty, (1 << bits) - 1);
            [v.ins().band(x, low), v.ins().ushr_imm_u(x, bits)]
        })
    }

    /// A mask with lanes of twice the width, interleaved. Each wide lane is computed from an integer whose sign bit is
    /// the highest bit of the narrow lane, by comparing it with 0.
    pub fn widen_mask_interleaved(&mut self, m: Lanes) -> Lanes {
        let bits = 8 * i64::from(m.width);
        self.widened(m, |v, ty, m| {
            let zero = v.zero(ty);
            let even = v.ins().ishl_imm_u(m, bits);
            [even, m].map(|x| v.ins().icmp(IntCC::SignedLessThan, x, zero))
        })
    }

    fn widened(&mut self, x: Lanes, mut halves: impl FnMut(&mut Self, Type, Value) -> [Value; 2]) -> Lanes {
        let width = 2 * u32::from(x.width);
        let ty = self.layout.integer_vector(width);
        let mut out = SmallVec::<[Value; MAX_VECTORS]>::new();
        for &v in x.vectors() {
            let v = self.cast_bits(ty, v);
            out.extend(halves(self, ty, v));
        }
        Lanes::new(width, out)
    }

    /// The low halves of interleaved lanes, as lanes of half the width in the order of the elements.
    pub fn narrow_interleaved(&mut self, x: Lanes) -> Lanes {
        let bits = 4 * i64::from(x.width);
        self.narrowed(x, |v, odd| v.ins().ishl_imm_u(odd, bits))
    }

    /// A mask with lanes of half the width, from an interleaved mask. In such a mask, the two halves of each lane are
    /// equal.
    pub fn narrow_mask_interleaved(&mut self, m: Lanes) -> Lanes {
        self.narrowed(m, |_, odd| odd)
    }

    fn narrowed(&mut self, x: Lanes, mut upper: impl FnMut(&mut Self, Value) -> Value) -> Lanes {
        let narrow = u32::from(x.width) / 2;
        let ty = self.layout.integer_vector(x.width.into());
        let low = self.constant(ty, u64::MAX >> (64 - 8 * narrow));
        let mut out = SmallVec::<[Value; MAX_VECTORS]>::new();
        for pair in x.vectors().chunks(2) {
            let [even, odd] = [pair[0], pair[pair.len() - 1]].map(|v| self.cast_bits(ty, v));
            let odd = upper(self, odd);
            let both = self.ins().bitselect(low, even, odd);
            let to = self.layout.vector(integer(narrow));
            out.push(self.cast_bits(to, both));
        }
        Lanes::new(narrow, out)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use broadloom_ir::kernel::{Code, Inst, ValueId};
    use broadloom_ir::{DType, Op, Purpose};
    use broadloom_mem::Access;
    use broadloom_wide::Intrinsic;

    use super::*;
    use crate::emit::Helpers;
    use crate::repertoire;

    /// A kernel that converts numbers to another dtype, doubles them and converts them back. It can also output a bool,
    /// or the doubled numbers before they are converted back.
    fn kernel(from: DType, through: DType, outputs: &[u32]) -> Kernel {
        let inst = |code, args: [u32; 3]| Inst { code, args: args.map(ValueId) };
        let body = vec![
            inst(Code::Cast(from, through), [0, 0, 0]),
            inst(Code::apply(Op::Add, through), [1, 1, 0]),
            inst(Code::Cast(through, from), [2, 0, 0]),
            inst(Code::apply(Op::Less, through), [1, 2, 0]),
        ];
        let outputs = outputs.iter().map(|&o| ValueId(o).into()).collect();
        Kernel { inputs: vec![from], body, outputs, ..Kernel::default() }
    }

    /// Whether the CLIF of a kernel calls no intrinsics except masked loads and stores, so that it moves no lanes.
    fn interleaves(kernel: &Kernel, width: VectorWidth) -> bool {
        let helpers = Helpers::Shown(Vec::new());
        let access = [Access::Contiguous];
        let (function, _) = repertoire::optimised(kernel, &access, width, Purpose::Store, helpers);
        let mut called = function.dfg.ext_funcs.values().map(|f| Intrinsic::of_external(&function, &f.name));
        called.all(|call| matches!(call, Some(Intrinsic::LoadPart | Intrinsic::StorePart)))
    }

    #[test]
    fn lanes_are_interleaved_where_memory_has_the_narrow_ones_only() {
        use DType::{Float32, Int8, Int16, Int32, UInt8, UInt16, UInt32};
        for width in [VectorWidth::W256, VectorWidth::W512] {
            for (from, through) in [(UInt8, UInt16), (Int8, Int16), (UInt16, UInt32), (Int16, Int32)] {
                assert!(interleaves(&kernel(from, through, &[3]), width), "{from} {through} {width}");
                assert!(!interleaves(&kernel(from, through, &[2, 3]), width), "{from} {through} {width}");
            }
            assert!(!interleaves(&kernel(UInt8, Float32, &[3]), width));
            let with_bool = interleaves(&kernel(UInt8, UInt16, &[3, 4]), width);
            assert_eq!(with_bool, width == VectorWidth::W256, "masks in registers of their own");
        }
    }
}
