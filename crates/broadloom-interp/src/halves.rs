//! Loops over float16 by the host's conversions: a part of a tile is widened, computed in float32, rounded back.
//!
//! In: an instruction of float16, or two, as `loops` and `fused` take them. Out: a loop, where the host converts several
//! elements at once and the loop is the faster for it. Must hold: the same bits as the loops over the definitions, since
//! the functions are the same between the conversions ([`HalfUnary`]), and each result is rounded to float16.

use std::marker::PhantomData;

use broadloom_core::kernel::Code;
use broadloom_core::{DType, Op};
use broadloom_math::functions::*;
use broadloom_math::{Binary, CastTo, Elem, Lanes, Ops, Scalar, Unary, f16};
use broadloom_mem::{converts_halves, narrow_halves, widen_halves};
use pulp::Arch;

use crate::fused::Swapped;
use crate::loops::{
    Body, Conversion, Each, Function, OPERANDS, One, Read, Same, Source, TileLoop, Two, Uniform, elements,
    elements_mut, flags, tile1, tile2,
};

/// Elements that are converted at a time: as float32 they and the operands beside them stay in the L1 cache. 128 to 512
/// were equally good.
const PART: usize = 256;

/// The loop of the function that an op is, of those named.
macro_rules! table {
    ($op:expr, $loop:ident: $($name:ident)*) => {
        match $op {
            $(Op::$name => Some($loop::<$name> as TileLoop),)*
            _ => None,
        }
    };
    ($op:expr, $loop:ident[$a:ty, $b:ty]: $($name:ident)*) => {
        match $op {
            $(Op::$name => Some($loop::<$name, $a, $b> as TileLoop),)*
            _ => None,
        }
    };
}

/// The loop of an instruction, all operands of which are tiles.
pub fn tile_loop(code: Code) -> Option<TileLoop> {
    if !converts_halves() {
        return None;
    }
    match code {
        Code::Apply(op, DType::Float16) => unary(op)
            .or_else(|| binary::<Each, Each>(op))
            .or_else(|| binary_each(op))
            .or_else(|| compare::<Each, Each>(op)),
        Code::Cast(DType::Float16, to) => from_half(to),
        Code::Cast(from, DType::Float16) => into_half(from),
        _ => None,
    }
}

/// The loop of a function of two operands, of which the second is the same for all elements; they are in order or the
/// other way round, for functions where that matters.
pub fn with_same(op: Op, in_order: bool) -> Option<TileLoop> {
    match op {
        _ if !converts_halves() => None,
        Op::Subtract if !in_order => Some(half2::<Swapped<Subtract>, Each, Same>),
        Op::Divide if !in_order => Some(half2::<Swapped<Divide>, Each, Same>),
        Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Maximum | Op::Minimum => {
            binary::<Each, Same>(op)
        }
        _ => compare::<Each, Same>(op),
    }
}

fn unary(op: Op) -> Option<TileLoop> {
    table!(op, half1:
        Square Reciprocal Sqrt Ceil Floor Round Trunc
        Log Log1p Log2 Log10 Sin Cos Tan Sinh Cosh Tanh Asinh Acosh Atanh ExpM1 Acos Asin Atan)
}

fn binary<A: Operand, B: Operand>(op: Op) -> Option<TileLoop> {
    table!(op, half2[A, B]: Add Subtract Multiply Divide Maximum Minimum)
}

/// Functions in which an operand that is the same for all elements is not worth a loop of its own.
fn binary_each(op: Op) -> Option<TileLoop> {
    table!(op, half2[Each, Each]: Remainder Hypot Pow LogAddExp Atan2)
}

fn compare<A: Operand, B: Operand>(op: Op) -> Option<TileLoop> {
    table!(op, compare2[A, B]: Equal NotEqual Less LessEqual Greater GreaterEqual)
}

/// The widening conversions: of the result in float32, which is exact, to what is wanted.
fn from_half(to: DType) -> Option<TileLoop> {
    Some(match to {
        DType::Int8 => out_of_half::<i8>,
        DType::Int16 => out_of_half::<i16>,
        DType::Int32 => out_of_half::<i32>,
        DType::Int64 => out_of_half::<i64>,
        DType::UInt8 => out_of_half::<u8>,
        DType::UInt16 => out_of_half::<u16>,
        DType::UInt32 => out_of_half::<u32>,
        DType::UInt64 => out_of_half::<u64>,
        DType::Float32 => |_, args, out| widen_halves(elements::<f16>(args[0]), elements_mut::<f32>(out)),
        DType::Float64 => out_of_half::<f64>,
        DType::Bool | DType::Float16 => return None,
    })
}

fn into_half(from: DType) -> Option<TileLoop> {
    Some(match from {
        DType::Int8 => to_half::<i8>,
        DType::Int16 => to_half::<i16>,
        DType::Int32 => to_half::<i32>,
        DType::Int64 => to_half::<i64>,
        DType::UInt8 => to_half::<u8>,
        DType::UInt16 => to_half::<u16>,
        DType::UInt32 => to_half::<u32>,
        DType::UInt64 => to_half::<u64>,
        DType::Float32 => |_, args, out| narrow_halves(elements::<f32>(args[0]), elements_mut::<f16>(out)),
        DType::Float64 => to_half::<f64>,
        DType::Bool | DType::Float16 => return None,
    })
}

/// An operand of float16, a part at a time.
trait Operand: Read {
    /// Room for a part.
    type Wide: Default;
    type Source<'a>: Source<f32>;
    /// The `n` elements from `start` on, widened.
    fn widen<'a>(operand: &[u8], wide: &'a mut Self::Wide, start: usize, n: usize) -> <Self as Operand>::Source<'a>;
}

struct Wide([f32; PART]);

impl Default for Wide {
    fn default() -> Wide {
        Wide([0.0; PART])
    }
}

impl Operand for Each {
    type Wide = Wide;
    type Source<'a> = &'a [f32];

    #[inline(always)]
    fn widen<'a>(operand: &[u8], wide: &'a mut Wide, start: usize, n: usize) -> &'a [f32] {
        let wide = &mut wide.0[..n];
        widen_halves(&elements::<f16>(operand)[start..start + n], wide);
        wide
    }
}

impl Operand for Same {
    type Wide = ();
    type Source<'a> = Uniform<f32>;

    #[inline(always)]
    fn widen(operand: &[u8], _: &mut (), _: usize, _: usize) -> Uniform<f32> {
        let mut wide = [0.0];
        widen_halves(&elements::<f16>(operand)[..1], &mut wide);
        Uniform(wide[0])
    }
}

/// Parts of so many elements: where each begins, and its length.
fn parts(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).step_by(PART).map(move |start| (start, PART.min(n - start)))
}

/// What a function computes between the conversions. What needs the long way round takes it from float16.
struct Between<F>(PhantomData<F>);

impl<F: HalfUnary> Body<f32> for Between<F> {
    type Out = f32;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, x: f32) -> f32 {
        F::wide(lanes, x)
    }
    #[inline(always)]
    fn long(x: f32) -> f32 {
        F::wide(&mut Scalar, x)
    }
}

impl<F: HalfBinary> Body<(f32, f32)> for Between<F> {
    type Out = F::Wide;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, (x, y): (f32, f32)) -> F::Wide {
        F::wide(lanes, x, y)
    }
    #[inline(always)]
    fn long((x, y): (f32, f32)) -> F::Wide {
        F::wide(&mut Scalar, x, y)
    }
}

impl<T: IntoHalf> Body<T> for Between<Conversion> {
    type Out = f32;

    #[inline(always)]
    fn lane(lanes: &mut Lanes, x: T) -> f32 {
        T::wide(lanes, x)
    }
    #[inline(always)]
    fn long(x: T) -> f32 {
        T::wide(&mut Scalar, x)
    }
}

fn half1<F: HalfUnary + Unary<f16, Out = f16>>(arch: Arch, args: &[&[u8]; OPERANDS], out: &mut [u8]) {
    let (mut x, mut y) = (Wide::default(), Wide::default());
    let mut mend = false;
    let halves = elements_mut::<f16>(out);
    for (start, n) in parts(halves.len()) {
        let x = <Each as Operand>::widen(args[0], &mut x, start, n);
        mend |= flags::<Between<F>, f32>(arch, x, &mut y.0[..n]);
        narrow_halves(&y.0[..n], &mut halves[start..start + n]);
    }
    if mend {
        tile1::<Function<F>, f16, f16>(arch, args, out);
    }
}

fn half2<F: HalfBinary<Wide = f32> + Binary<f16, Out = f16>, A: Operand, B: Operand>(
    arch: Arch,
    args: &[&[u8]; OPERANDS],
    out: &mut [u8],
) {
    let (mut x1, mut x2, mut y) = (A::Wide::default(), B::Wide::default(), Wide::default());
    let mut mend = false;
    let halves = elements_mut::<f16>(out);
    for (start, n) in parts(halves.len()) {
        let sources = (A::widen(args[0], &mut x1, start, n), B::widen(args[1], &mut x2, start, n));
        mend |= flags::<Between<F>, (f32, f32)>(arch, sources, &mut y.0[..n]);
        narrow_halves(&y.0[..n], &mut halves[start..start + n]);
    }
    if mend {
        tile2::<Two<F>, A, B, f16, f16>(arch, args, out);
    }
}

fn compare2<F: HalfBinary<Wide = bool> + Binary<f16, Out = bool>, A: Operand, B: Operand>(
    arch: Arch,
    args: &[&[u8]; OPERANDS],
    out: &mut [u8],
) {
    let (mut x1, mut x2) = (A::Wide::default(), B::Wide::default());
    let truths = elements_mut::<bool>(out);
    for (start, n) in parts(truths.len()) {
        let sources = (A::widen(args[0], &mut x1, start, n), B::widen(args[1], &mut x2, start, n));
        // Comparisons flag nothing.
        flags::<Between<F>, (f32, f32)>(arch, sources, &mut truths[start..start + n]);
    }
}

/// A float16 is converted as the float32 that it is.
fn out_of_half<T: Elem>(arch: Arch, args: &[&[u8]; OPERANDS], out: &mut [u8])
where
    f32: CastTo<T>,
{
    let mut x = Wide::default();
    let out = elements_mut::<T>(out);
    for (start, n) in parts(out.len()) {
        let x = <Each as Operand>::widen(args[0], &mut x, start, n);
        flags::<One<Conversion, T>, f32>(arch, x, &mut out[start..start + n]);
    }
}

fn to_half<T: IntoHalf>(arch: Arch, args: &[&[u8]; OPERANDS], out: &mut [u8]) {
    let mut y = Wide::default();
    let (from, halves) = (elements::<T>(args[0]), elements_mut::<f16>(out));
    for (start, n) in parts(halves.len()) {
        flags::<Between<Conversion>, T>(arch, &from[start..start + n], &mut y.0[..n]);
        narrow_halves(&y.0[..n], &mut halves[start..start + n]);
    }
}

impl<F: HalfBinary> HalfBinary for Swapped<F> {
    type Wide = F::Wide;

    #[inline(always)]
    fn wide<O: Ops>(o: &mut O, x1: O::V<f32>, x2: O::V<f32>) -> O::V<F::Wide> {
        F::wide(o, x2, x1)
    }
}
