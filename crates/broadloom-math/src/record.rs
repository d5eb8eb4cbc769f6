//! The implementation of [`Ops`] that records a function as SSA over the primitives.
//!
//! A [`Recorder`] passes every primitive that a function calls to a [`Sink`]. The sink of a
//! `broadloom_ir::recording::Recording` keeps the primitives as a list; a compiler's sink appends them to the body that it is
//! building. Each method of the trait records one primitive, so a primitive that is added to the trait but not here is a
//! compile error. Code generators work from the record, so they are not instantiated once for each function and dtype.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::dtype::{DType, Elem, Float, Int, Num, Real, f16};
use crate::ops::{Cmp, Ops, Rare2};

/// A value in a sequence of primitives, identified by its position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

impl Var {
    /// The position in the sequence.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

/// The scalar function of a slow path, applied to all lanes of a block.
#[derive(Clone, Copy)]
pub struct SlowFunction {
    /// Calls the function for the lanes that need it.
    ///
    /// The argument holds four contiguous arrays of equally many elements, in little-endian order: masks as wide as the
    /// elements, both operands, and the results, which are written where the mask is not zero.
    pub call: fn(&mut [u8]),
    #[cfg(target_arch = "x86_64")]
    call_with_fma: unsafe fn(&mut [u8]),
    name: fn() -> &'static str,
}

/// Calls `F` for the lanes whose mask is not zero; see [`SlowFunction::call`].
#[inline(always)]
fn slow_lanes<F: Rare2<T>, T: Num>(arrays: &mut [u8]) {
    let (size, bytes) = (size_of::<T>(), arrays.len() / 4);
    let (operands, results) = arrays.split_at_mut(3 * bytes);
    let read = |at: usize| {
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(&operands[at..at + size]);
        u64::from_le_bytes(bits)
    };
    for at in (0..bytes).step_by(size) {
        if read(at) != 0 {
            let y = F::call(T::from_bits64(read(bytes + at)), T::from_bits64(read(2 * bytes + at)));
            results[at..at + size].copy_from_slice(&y.to_bits64().to_le_bytes()[..size]);
        }
    }
}

/// [`slow_lanes`], compiled for targets with fused multiply-add instructions. Without these, each fused
/// operation would call a library function.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn slow_lanes_with_fma<F: Rare2<T>, T: Num>(arrays: &mut [u8]) {
    slow_lanes::<F, T>(arrays);
}

impl SlowFunction {
    fn of<F: Rare2<T>, T: Num>() -> &'static SlowFunction {
        const {
            &SlowFunction {
                call: slow_lanes::<F, T>,
                #[cfg(target_arch = "x86_64")]
                call_with_fma: slow_lanes_with_fma::<F, T>,
                name: std::any::type_name::<F>,
            }
        }
    }

    /// The fastest equivalent of [`SlowFunction::call`] that is safe to call on this machine.
    pub fn fastest(&self) -> unsafe fn(&mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return self.call_with_fma;
        }
        self.call
    }

    /// The path of the function's type, which identifies it.
    fn path(&self) -> &'static str {
        (self.name)()
    }
}

impl PartialEq for SlowFunction {
    fn eq(&self, other: &SlowFunction) -> bool {
        self.path() == other.path()
    }
}

impl Eq for SlowFunction {}

impl Hash for SlowFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path().hash(state);
    }
}

impl fmt::Debug for SlowFunction {
    /// Formats the path without its modules.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |segment: &'static str| segment.rsplit("::").next().unwrap_or(segment);
        let mut segments = self.path().split(['<', '>']).filter(|s| !s.is_empty());
        f.write_str(segments.next().map_or("", plain))?;
        segments.try_for_each(|segment| write!(f, ".{}", plain(segment)))
    }
}

/// A primitive: the operation of a method of [`Ops`]. The dtype is not part of it; see [`Inst::dtype`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// [`Ops::splat`] of these bits.
    Splat(u64),
    /// [`Ops::add`]
    Add,
    /// [`Ops::sub`]
    Sub,
    /// [`Ops::mul`]
    Mul,
    /// [`Ops::div`]
    Div,
    /// [`Ops::neg`]
    Neg,
    /// [`Ops::sqrt`]
    Sqrt,
    /// [`Ops::fma`]
    Fma,
    /// [`Ops::ceil`]
    Ceil,
    /// [`Ops::floor`]
    Floor,
    /// [`Ops::trunc`]
    Trunc,
    /// [`Ops::nearest`]
    Nearest,
    /// [`Ops::and`]
    And,
    /// [`Ops::or`]
    Or,
    /// [`Ops::xor`]
    Xor,
    /// [`Ops::shl_const`] by this count.
    ShlConst(u32),
    /// [`Ops::shr_const`] by this count.
    ShrConst(u32),
    /// [`Ops::shl`]
    Shl,
    /// [`Ops::shr`]
    Shr,
    /// [`Ops::mul_high`]
    MulHigh,
    /// [`Ops::average`]
    Average,
    /// [`Ops::shr_uniform`]
    ShrUniform,
    /// [`Ops::quotient`]
    Quotient,
    /// [`Ops::floor_quotient`]
    FloorQuotient,
    /// [`Ops::cmp`], whose result is a mask for values of the compared dtype.
    Cmp(Cmp),
    /// [`Ops::select`]
    Select,
    /// [`Ops::mask_and`]
    MaskAnd,
    /// [`Ops::mask_or`]
    MaskOr,
    /// [`Ops::mask_xor`]
    MaskXor,
    /// [`Ops::mask_not`]
    MaskNot,
    /// [`Ops::mask_resize`] of a mask for values of this dtype.
    MaskResize(DType),
    /// [`Ops::truth`]
    Truth,
    /// [`Ops::boolean`] of a mask for values of this dtype.
    Boolean(DType),
    /// [`Ops::bits`]
    Bits,
    /// [`Ops::of_bits`]
    OfBits,
    /// [`Ops::int_resize`] from this dtype.
    IntResize(DType),
    /// [`Ops::int_to_float`] from this dtype.
    IntToFloat(DType),
    /// [`Ops::float_to_int`] from this dtype.
    FloatToInt(DType),
    /// [`Ops::float_resize`] from this dtype.
    FloatResize(DType),
    /// [`Ops::half_to_float`]
    HalfToFloat,
    /// [`Ops::float_to_half`]
    FloatToHalf,
    /// [`Ops::rare2`]: the operands are the mask, both arguments, and the result for the other lanes.
    SlowPath(&'static SlowFunction),
}

impl Primitive {
    /// The number of operands.
    pub fn operands(self) -> usize {
        use Primitive::*;
        match self {
            Splat(_) => 0,
            Neg | Sqrt | Ceil | Floor | Trunc | Nearest | ShlConst(_) | ShrConst(_) => 1,
            MaskNot | MaskResize(_) | Truth | Boolean(_) | Bits | OfBits => 1,
            IntResize(_) | IntToFloat(_) | FloatToInt(_) | FloatResize(_) | HalfToFloat | FloatToHalf => 1,
            Add | Sub | Mul | Div | And | Or | Xor | Shl | Shr | Quotient | FloorQuotient | Cmp(_) => 2,
            MulHigh | Average | ShrUniform => 2,
            MaskAnd | MaskOr | MaskXor => 2,
            Fma | Select => 3,
            SlowPath(_) => 4,
        }
    }

    /// Whether the first two operands can be exchanged.
    pub fn commutes(self) -> bool {
        use Primitive::*;
        matches!(self, Add | Mul | Average | And | Or | Xor | MaskAnd | MaskOr | MaskXor)
    }

    /// Whether the result is a mask, for values of [`Inst::dtype`].
    pub fn gives_mask(self) -> bool {
        use Primitive::*;
        matches!(self, Cmp(_) | MaskAnd | MaskOr | MaskXor | MaskNot | MaskResize(_) | Truth)
    }

    /// The cost per element, in units of half the time of a vector instruction.
    ///
    /// An addition, a product or a shift costs 2; bitwise operations, comparisons and selections, for which vector units have
    /// more ports, cost 1. The cost of a division or square root is based on its throughput. A conversion of float16 costs as
    /// much as its implementation by integer arithmetic, and a slow path as much as the test for its lanes.
    pub fn half_cost(self, dtype: DType) -> u32 {
        use Primitive::*;
        match self {
            Splat(_) | Truth | Boolean(_) | Bits | OfBits => 0,
            MaskResize(from) | IntResize(from) if from.size() == dtype.size() => 0,
            And | Or | Xor | Cmp(_) | Select | MaskAnd | MaskOr | MaskXor | MaskNot => 1,
            Div => 8,
            Sqrt => 10,
            Shl | Shr => 4,
            // 64-bit integers are divided lane by lane, or in two steps through floats.
            Quotient if dtype.size() == 8 => 62,
            FloorQuotient if dtype.size() == 8 => 66,
            Quotient => 12,
            FloorQuotient => 16,
            MulHigh => 8,
            Average | ShrUniform => 2,
            IntToFloat(DType::Int64 | DType::UInt64) => 8,
            FloatToInt(_) | HalfToFloat => 4,
            FloatToHalf => 28,
            Add | Sub | Mul | Neg | Fma | Ceil | Floor | Trunc | Nearest | ShlConst(_) | ShrConst(_) => 2,
            MaskResize(_) | IntResize(_) | IntToFloat(_) | FloatResize(_) | SlowPath(_) => 2,
        }
    }

    /// The approximate latency in cycles, from instruction tables for CPUs of the last ten years.
    pub fn latency(self, dtype: DType) -> u32 {
        use Primitive::*;
        match self {
            Splat(_) | Truth | Boolean(_) | Bits | OfBits | SlowPath(_) => 0,
            MaskResize(from) | IntResize(from) if from.size() == dtype.size() => 0,
            Add | Sub | Neg | Average if !dtype.is_float() => 1,
            And | Or | Xor | Neg | Select | MaskAnd | MaskOr | MaskXor | MaskNot => 1,
            ShlConst(_) | ShrConst(_) | Shl | Shr | ShrUniform => 1,
            Cmp(_) => 3,
            Add | Sub | Mul | Fma | Average | MulHigh => 4,
            MaskResize(_) | IntResize(_) | IntToFloat(_) | FloatResize(_) | FloatToInt(_) | HalfToFloat => 5,
            Ceil | Floor | Trunc | Nearest | FloatToHalf => 8,
            Div => 13,
            Sqrt => 18,
            Quotient | FloorQuotient => 40,
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Primitive::*;
        let name = match self {
            Splat(bits) => return write!(f, "splat {bits:#x}"),
            ShlConst(count) => return write!(f, "shl_const.{count}"),
            ShrConst(count) => return write!(f, "shr_const.{count}"),
            Cmp(how) => return write!(f, "cmp_{}", format!("{how:?}").to_lowercase()),
            MaskResize(from) => return write!(f, "mask_resize.{from}"),
            Boolean(from) => return write!(f, "boolean.{from}"),
            IntResize(from) => return write!(f, "int_resize.{from}"),
            IntToFloat(from) => return write!(f, "int_to_float.{from}"),
            FloatToInt(from) => return write!(f, "float_to_int.{from}"),
            FloatResize(from) => return write!(f, "float_resize.{from}"),
            SlowPath(function) => return write!(f, "slow_path.{function:?}"),
            Add => "add",
            Sub => "sub",
            Mul => "mul",
            Div => "div",
            Neg => "neg",
            Sqrt => "sqrt",
            Fma => "fma",
            Ceil => "ceil",
            Floor => "floor",
            Trunc => "trunc",
            Nearest => "nearest",
            And => "and",
            Or => "or",
            Xor => "xor",
            Shl => "shl",
            Shr => "shr",
            MulHigh => "mul_high",
            Average => "average",
            ShrUniform => "shr_uniform",
            Quotient => "quotient",
            FloorQuotient => "floor_quotient",
            Select => "select",
            MaskAnd => "mask_and",
            MaskOr => "mask_or",
            MaskXor => "mask_xor",
            MaskNot => "mask_not",
            Truth => "truth",
            Bits => "bits",
            OfBits => "of_bits",
            HalfToFloat => "half_to_float",
            FloatToHalf => "float_to_half",
        };
        f.write_str(name)
    }
}

/// One primitive of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// The primitive.
    pub primitive: Primitive,
    /// The dtype of the result. For a mask, it is the dtype of the values whose lanes the mask selects.
    pub dtype: DType,
    /// The operands. Entries beyond [`Primitive::operands`] are value 0 and are not read.
    pub args: [Var; 4],
}

impl Inst {
    /// The operands that the primitive reads.
    pub fn args(&self) -> &[Var] {
        &self.args[..self.primitive.operands()]
    }
}

impl fmt::Display for Inst {
    /// Formats the instruction, for example `fma p0, p1, p2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.primitive)?;
        let mut separator = " ";
        self.args().iter().try_for_each(|arg| write!(f, "{}{arg:?}", std::mem::replace(&mut separator, ", ")))
    }
}

/// A receiver of the primitives of a function.
pub trait Sink {
    /// Returns the value of a primitive, either from a new instruction or from an equal one that exists already.
    fn push(&mut self, inst: Inst) -> Var;

    /// Whether a value is invariant: the result of [`Ops::is_invariant`].
    fn is_invariant(&self, _x: Var) -> bool {
        false
    }

    /// Whether a value, as a number of this dtype, has a short reciprocal: the result of [`Ops::has_short_reciprocal`].
    fn has_short_reciprocal(&self, _x: Var, _dtype: DType) -> bool {
        false
    }
}

/// The recording instance of [`Ops`].
pub struct Recorder<'s>(&'s mut dyn Sink);

impl<'s> Recorder<'s> {
    /// A recorder that passes the primitives to `sink`.
    pub fn new(sink: &'s mut dyn Sink) -> Recorder<'s> {
        Recorder(sink)
    }

    /// Passes a primitive to the sink. It is not inlined, so that a recorded function compiles to a list of calls.
    #[inline(never)]
    fn push(&mut self, primitive: Primitive, dtype: DType, args: [Var; 4]) -> Var {
        self.0.push(Inst { primitive, dtype, args })
    }

    fn unary<T: Elem>(&mut self, primitive: Primitive, x: Var) -> Var {
        self.push(primitive, T::DTYPE, [x, Var(0), Var(0), Var(0)])
    }

    fn binary<T: Elem>(&mut self, primitive: Primitive, a: Var, b: Var) -> Var {
        self.push(primitive, T::DTYPE, [a, b, Var(0), Var(0)])
    }
}

/// Defines the methods that have one dtype and no parameters except their operands.
macro_rules! plain {
    ($($method:ident $bound:ident $primitive:ident ($($arg:ident),+);)*) => {$(
        fn $method<T: $bound>(&mut self, $($arg: Var),+) -> Var {
            plain!(@push self T $primitive $($arg),+)
        }
    )*};
    (@push $self:ident $t:ident $primitive:ident $x:ident) => { $self.unary::<$t>(Primitive::$primitive, $x) };
    (@push $self:ident $t:ident $primitive:ident $a:ident, $b:ident) => {
        $self.binary::<$t>(Primitive::$primitive, $a, $b)
    };
    (@push $self:ident $t:ident $primitive:ident $a:ident, $b:ident, $c:ident) => {
        $self.push(Primitive::$primitive, $t::DTYPE, [$a, $b, $c, Var(0)])
    };
}

impl Ops for Recorder<'_> {
    type V<T: Elem> = Var;
    type M<T: Elem> = Var;

    fn splat<T: Elem>(&mut self, x: T) -> Var {
        self.push(Primitive::Splat(x.to_bits64()), T::DTYPE, [Var(0); 4])
    }

    plain! {
        add Num Add (a, b);
        sub Num Sub (a, b);
        mul Num Mul (a, b);
        div Float Div (a, b);
        neg Float Neg (x);
        sqrt Float Sqrt (x);
        fma Float Fma (a, b, c);
        ceil Float Ceil (x);
        floor Float Floor (x);
        trunc Float Trunc (x);
        nearest Float Nearest (x);
        and Int And (a, b);
        or Int Or (a, b);
        xor Int Xor (a, b);
        shl Int Shl (x, count);
        shr Int Shr (x, count);
        mul_high Int MulHigh (a, b);
        average Int Average (a, b);
        quotient Int Quotient (a, b);
        floor_quotient Int FloorQuotient (a, b);
        select Elem Select (m, a, b);
        mask_and Elem MaskAnd (a, b);
        mask_or Elem MaskOr (a, b);
        mask_xor Elem MaskXor (a, b);
        mask_not Elem MaskNot (a);
        truth Elem Truth (x);
        of_bits Real OfBits (x);
    }

    fn shl_const<T: Int>(&mut self, x: Var, count: u32) -> Var {
        self.unary::<T>(Primitive::ShlConst(count), x)
    }

    fn shr_const<T: Int>(&mut self, x: Var, count: u32) -> Var {
        self.unary::<T>(Primitive::ShrConst(count), x)
    }

    fn shr_uniform<T: Int>(&mut self, x: Var, count: Var) -> Var {
        self.binary::<T>(Primitive::ShrUniform, x, count)
    }

    fn is_invariant<T: Elem>(&self, x: &Var) -> bool {
        self.0.is_invariant(*x)
    }

    fn has_short_reciprocal<T: Int>(&self, x: &Var) -> bool {
        self.0.has_short_reciprocal(*x, T::DTYPE)
    }

    fn cmp<T: Num>(&mut self, how: Cmp, a: Var, b: Var) -> Var {
        self.binary::<T>(Primitive::Cmp(how), a, b)
    }

    fn mask_resize<T: Elem, U: Elem>(&mut self, m: Var) -> Var {
        self.unary::<U>(Primitive::MaskResize(T::DTYPE), m)
    }

    fn boolean<T: Elem>(&mut self, m: Var) -> Var {
        self.unary::<bool>(Primitive::Boolean(T::DTYPE), m)
    }

    fn bits<T: Real>(&mut self, x: Var) -> Var {
        self.unary::<T::Bits>(Primitive::Bits, x)
    }

    fn int_resize<T: Int, U: Int>(&mut self, x: Var) -> Var {
        self.unary::<U>(Primitive::IntResize(T::DTYPE), x)
    }

    fn int_to_float<T: Int, U: Float>(&mut self, x: Var) -> Var {
        self.unary::<U>(Primitive::IntToFloat(T::DTYPE), x)
    }

    fn float_to_int<T: Float, U: Int>(&mut self, x: Var) -> Var {
        self.unary::<U>(Primitive::FloatToInt(T::DTYPE), x)
    }

    fn float_resize<T: Float, U: Float>(&mut self, x: Var) -> Var {
        self.unary::<U>(Primitive::FloatResize(T::DTYPE), x)
    }

    fn half_to_float(&mut self, x: Var) -> Var {
        self.unary::<f32>(Primitive::HalfToFloat, x)
    }

    fn float_to_half(&mut self, x: Var) -> Var {
        self.unary::<f16>(Primitive::FloatToHalf, x)
    }

    fn rare2<F: Rare2<T>, T: Num>(&mut self, flagged: Var, a: Var, b: Var, fast: Var) -> Var {
        self.push(Primitive::SlowPath(SlowFunction::of::<F, T>()), T::DTYPE, [flagged, a, b, fast])
    }
}
