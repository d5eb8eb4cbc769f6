//! Lowers each primitive to CLIF on vectors of any width.
//!
//! This module has the instructions of every primitive that [`crate::legalise`] does not replace; a new primitive is a
//! compile error until its instructions are added. Slow paths have control flow and are [lowered
//! elsewhere](crate::slow_path).

use broadloom_ir::DType;
use broadloom_math::record::Primitive;
use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, types};

use crate::body::{Code, Node};
use crate::value::{Lanes, is_signed, scalar_of};
use crate::vectors::Vectors;

/// Lowers a node without control flow, and returns its value. `args` contains the node's operands, followed by unused
/// entries.
pub fn node(v: &mut Vectors<'_>, node: &Node, args: &[Lanes; 4]) -> Lanes {
    let [a, b, ..] = args;
    let signed = is_signed(node.dtype);
    match node.code {
        Code::Primitive(primitive) => lower(v, primitive, node.dtype, args),
        Code::Minimum if node.dtype.is_float() => extremum(v, Intrinsic::Minimum, a, b),
        Code::Maximum if node.dtype.is_float() => extremum(v, Intrinsic::Maximum, a, b),
        Code::Unordered => a.zip(b, |a, b| v.ins().fcmp(FloatCC::Unordered, a, b)),
        Code::Minimum if signed => a.zip(b, |a, b| v.ins().smin(a, b)),
        Code::Minimum => a.zip(b, |a, b| v.ins().umin(a, b)),
        Code::Maximum if signed => a.zip(b, |a, b| v.ins().smax(a, b)),
        Code::Maximum => a.zip(b, |a, b| v.ins().umax(a, b)),
        Code::Input(_) | Code::Param(_) | Code::Host(_) | Code::CheckDivisor(_) => *a,
        // Loops have control flow, and are emitted elsewhere.
        Code::Loop(_) | Code::Item(_) => *a,
        // Gathers read memory, and are emitted elsewhere.
        Code::Elements(_) | Code::CheckPosition(_) | Code::Gather(_) => *a,
    }
}

/// The minimum or maximum of floats, by an intrinsic.
fn extremum(v: &mut Vectors<'_>, intrinsic: Intrinsic, a: &Lanes, b: &Lanes) -> Lanes {
    a.zip(b, |a, b| {
        let ty = v.type_of(a);
        v.call(intrinsic, &[a, b], ty)
    })
}

fn lower(v: &mut Vectors<'_>, primitive: Primitive, dtype: DType, args: &[Lanes; 4]) -> Lanes {
    use Primitive::*;
    let [a, b, c, _] = args;
    let (float, signed) = (dtype.is_float(), is_signed(dtype));
    match primitive {
        Splat(bits) => v.constant_lanes(scalar_of(dtype), bits),
        Add if float => a.zip(b, |x, y| v.ins().fadd(x, y)),
        Add => a.zip(b, |x, y| v.ins().iadd(x, y)),
        Sub if float => a.zip(b, |x, y| v.ins().fsub(x, y)),
        Sub => a.zip(b, |x, y| v.ins().isub(x, y)),
        Mul if float => a.zip(b, |x, y| v.ins().fmul(x, y)),
        Mul => v.multiply(*a, *b),
        Div => a.zip(b, |x, y| v.ins().fdiv(x, y)),
        Fma => a.zip3(b, c, |x, y, z| v.ins().fma(x, y, z)),
        Neg => a.map(|x| v.ins().fneg(x)),
        Sqrt => a.map(|x| v.ins().sqrt(x)),
        Ceil => a.map(|x| v.ins().ceil(x)),
        Floor => a.map(|x| v.ins().floor(x)),
        Trunc => a.map(|x| v.ins().trunc(x)),
        Nearest => a.map(|x| v.ins().nearest(x)),
        And | MaskAnd => a.zip(b, |x, y| v.ins().band(x, y)),
        Or | MaskOr => a.zip(b, |x, y| v.ins().bor(x, y)),
        Xor | MaskXor => a.zip(b, |x, y| v.ins().bxor(x, y)),
        MaskNot => a.map(|x| v.ins().bnot(x)),
        ShlConst(count) => v.shift_const(*a, count, true, signed),
        ShrConst(count) => v.shift_const(*a, count, false, signed),
        Shl => v.shift_left(dtype, *a, *b),
        Shr => v.shift_right(dtype, *a, *b),
        MulHigh => v.multiply_high(*a, *b),
        Average => a.zip(b, |x, y| v.ins().avg_round(x, y)),
        ShrUniform => v.shift_right_uniform(*a, *b),
        // The dtype is unsigned here, since divisions of signed dtypes are legalised. For unsigned dtypes the two
        // quotients are equal.
        Quotient | FloorQuotient => v.quotient(*a, *b),
        Cmp(how) => v.compare(how, dtype, *a, *b),
        // A bool is a mask of any lane width.
        Select if dtype == DType::Bool => v.bit_select(*a, *b, *c),
        Select => v.select(dtype, *a, *b, *c),
        MaskResize(_) => v.resize_mask(*a, dtype.size() as u32),
        Truth | Boolean(_) => *a,
        Bits | OfBits => v.cast_lanes(v.layout.vector_of(dtype), *a),
        IntResize(from) => v.resize_integers(*a, dtype.size() as u32, is_signed(from)),
        IntToFloat(from) => v.int_to_float(from, dtype, *a),
        FloatToInt(from) => v.float_to_int(from, dtype, *a),
        FloatResize(_) => v.float_resize(dtype, *a),
        HalfToFloat => v.converted_by(*a, types::F32, Intrinsic::HalfToFloat),
        FloatToHalf => v.converted_by(*a, types::I16, Intrinsic::FloatToHalf),
        SlowPath(_) => *c,
    }
}
