//! The primitives from which the functions are built.
//!
//! Each method of [`Ops`] has exactly one result for given operands, on every CPU and in every instance. All instances
//! therefore give the same bits. The only exceptions are the bits of a NaN that results from floating-point arithmetic
//! or a rounding conversion; they differ between CPUs. Some functions select the canonical NaN by its bits
//! ([`Real::NAN`]); after every other function the executors insert [`CanonicalNan`](crate::functions::CanonicalNan)
//! wherever the bits can be read. Loads, selections and operations on bits keep every bit of a NaN.

use crate::dtype::{Elem, Float, Int, Num, Real, f16};

/// A comparison. All except `Ne` are false if an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
}

/// IEEE-exact primitives over an abstract value, which is a single element, or IR that computes several.
///
/// Methods take `&mut self` because an instance may be a builder. A mask has one bool per lane, and the same width as
/// the values from which it was computed.
pub trait Ops: Sized {
    /// A value of element type `T`.
    type V<T: Elem>: Copy;
    /// A mask: a bool for each lane of a `T` value.
    type M<T: Elem>: Copy;

    /// The constant `x`.
    fn splat<T: Elem>(&mut self, x: T) -> Self::V<T>;

    /// Sum: wrapping, or rounded to nearest even.
    fn add<T: Num>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// Difference: wrapping, or rounded to nearest even.
    fn sub<T: Num>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// Product: wrapping, or rounded to nearest even.
    fn mul<T: Num>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// Quotient, rounded to nearest even.
    fn div<T: Float>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// Flips the sign, including that of a NaN.
    fn neg<T: Float>(&mut self, x: Self::V<T>) -> Self::V<T>;
    /// Square root, rounded to nearest even.
    fn sqrt<T: Float>(&mut self, x: Self::V<T>) -> Self::V<T>;
    /// `a * b + c` rounded once.
    fn fma<T: Float>(&mut self, a: Self::V<T>, b: Self::V<T>, c: Self::V<T>) -> Self::V<T>;
    /// The smallest integral value that is not below `x`.
    fn ceil<T: Float>(&mut self, x: Self::V<T>) -> Self::V<T>;
    /// The largest integral value that is not above `x`.
    fn floor<T: Float>(&mut self, x: Self::V<T>) -> Self::V<T>;
    /// `x` rounded toward zero to an integral value.
    fn trunc<T: Float>(&mut self, x: Self::V<T>) -> Self::V<T>;
    /// The nearest integral value, ties to even.
    fn nearest<T: Float>(&mut self, x: Self::V<T>) -> Self::V<T>;

    /// Bitwise and.
    fn and<T: Int>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// Bitwise or.
    fn or<T: Int>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// Bitwise exclusive or.
    fn xor<T: Int>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// Shift left by a constant count below the width.
    fn shl_const<T: Int>(&mut self, x: Self::V<T>, count: u32) -> Self::V<T>;
    /// Right shift by a constant count below the width; arithmetic for a signed type.
    fn shr_const<T: Int>(&mut self, x: Self::V<T>, count: u32) -> Self::V<T>;
    /// Shift left lane by lane; the counts are taken modulo the width.
    fn shl<T: Int>(&mut self, x: Self::V<T>, count: Self::V<T>) -> Self::V<T>;
    /// Right shift lane by lane, arithmetic for a signed type; the counts are taken modulo the width.
    fn shr<T: Int>(&mut self, x: Self::V<T>, count: Self::V<T>) -> Self::V<T>;
    /// Quotient rounded toward zero; 0 for division by zero, and MIN for MIN/−1.
    ///
    /// It is a primitive because targets differ most here: a single element uses the machine's division, vectors divide
    /// through floats ([`crate::through`]), or by the [reciprocal](crate::reciprocal) of a uniform divisor.
    fn quotient<T: Int>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// Quotient rounded toward −∞; 0 for division by zero, and MIN for MIN/−1.
    fn floor_quotient<T: Int>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// The high half of the double-width product of unsigned integers; `b` is the same in all lanes.
    fn mul_high<T: Int>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// The mean of unsigned integers, rounded up.
    fn average<T: Int>(&mut self, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// Right shift of unsigned integers by a count that is the same in all lanes; a count of the width or more gives 0.
    fn shr_uniform<T: Int>(&mut self, x: Self::V<T>, count: Self::V<u64>) -> Self::V<T>;
    /// Whether `x` is known to be the same for all elements of a loop, so that computing a value from it alone costs
    /// almost nothing. It may affect how a result is computed, never the result.
    #[inline(always)]
    fn is_invariant<T: Elem>(&self, _x: &Self::V<T>) -> bool {
        false
    }

    /// Whether `x` is known to be a divisor with a [short reciprocal](crate::reciprocal::is_short).
    #[inline(always)]
    fn has_short_reciprocal<T: Int>(&self, _x: &Self::V<T>) -> bool {
        false
    }

    /// Lane-wise comparison; integers are compared as signed or unsigned according to their type.
    fn cmp<T: Num>(&mut self, how: Cmp, a: Self::V<T>, b: Self::V<T>) -> Self::M<T>;
    /// Selects `a` where the mask is true, else `b`.
    fn select<T: Elem>(&mut self, m: Self::M<T>, a: Self::V<T>, b: Self::V<T>) -> Self::V<T>;
    /// Lane-wise and.
    fn mask_and<T: Elem>(&mut self, a: Self::M<T>, b: Self::M<T>) -> Self::M<T>;
    /// Lane-wise or.
    fn mask_or<T: Elem>(&mut self, a: Self::M<T>, b: Self::M<T>) -> Self::M<T>;
    /// Lane-wise exclusive or.
    fn mask_xor<T: Elem>(&mut self, a: Self::M<T>, b: Self::M<T>) -> Self::M<T>;
    /// Lane-wise negation.
    fn mask_not<T: Elem>(&mut self, a: Self::M<T>) -> Self::M<T>;
    /// Converts a mask for `T` values to one for `U` values, which may have another width.
    fn mask_resize<T: Elem, U: Elem>(&mut self, m: Self::M<T>) -> Self::M<U>;
    /// Converts a bool value to a mask.
    fn truth<T: Elem>(&mut self, x: Self::V<bool>) -> Self::M<T>;
    /// Converts a mask to a bool value.
    fn boolean<T: Elem>(&mut self, m: Self::M<T>) -> Self::V<bool>;

    /// The bits of a float as an integer.
    fn bits<T: Real>(&mut self, x: Self::V<T>) -> Self::V<T::Bits>;
    /// The float with these bits.
    fn of_bits<T: Real>(&mut self, x: Self::V<T::Bits>) -> Self::V<T>;
    /// Converts between integer types: sign- or zero-extends, or keeps the low bits. Between types of one width the
    /// bits are unchanged.
    fn int_resize<T: Int, U: Int>(&mut self, x: Self::V<T>) -> Self::V<U>;
    /// Converts an integer to a float, rounded once to nearest even.
    fn int_to_float<T: Int, U: Float>(&mut self, x: Self::V<T>) -> Self::V<U>;
    /// Converts a float to an integer: truncates and saturates; NaN gives 0.
    fn float_to_int<T: Float, U: Int>(&mut self, x: Self::V<T>) -> Self::V<U>;
    /// Converts between float32 and float64, rounded once to nearest even.
    fn float_resize<T: Float, U: Float>(&mut self, x: Self::V<T>) -> Self::V<U>;
    /// Converts float16 to float32, exactly; a NaN keeps its sign.
    #[inline(always)]
    fn half_to_float(&mut self, x: Self::V<f16>) -> Self::V<f32> {
        half_to_float_by_bits(self, x)
    }
    /// Converts float32 to float16, rounded once to nearest even; a NaN keeps its sign.
    #[inline(always)]
    fn float_to_half(&mut self, x: Self::V<f32>) -> Self::V<f16> {
        float_to_half_by_bits(self, x)
    }

    /// Selects `F::call(a, b)` where the mask is true, else `fast`.
    ///
    /// This is the slow path, for lanes that need a loop. An instance first tests whether the mask is true in any lane,
    /// and makes a call only then.
    fn rare2<F: Rare2<T>, T: Num>(
        &mut self,
        flagged: Self::M<T>,
        a: Self::V<T>,
        b: Self::V<T>,
        fast: Self::V<T>,
    ) -> Self::V<T>;
}

/// A function of one argument, defined for every instance of [`Ops`].
pub trait Unary<T: Elem> {
    /// The element type of the result.
    type Out: Elem;
    /// Computes the function.
    fn call<O: Ops>(o: &mut O, x: O::V<T>) -> O::V<Self::Out>;
}

/// A function of two arguments of one element type, defined for every instance of [`Ops`].
pub trait Binary<T: Elem> {
    /// The element type of the result.
    type Out: Elem;
    /// Computes the function.
    fn call<O: Ops>(o: &mut O, x1: O::V<T>, x2: O::V<T>) -> O::V<Self::Out>;
}

/// A function of three arguments, the last two of one element type, defined for every instance of [`Ops`].
pub trait Ternary<T: Elem> {
    /// The element type of the first argument: `T`, or `bool` for a condition.
    type First: Elem;
    /// Computes the function.
    fn call<O: Ops>(o: &mut O, x1: O::V<Self::First>, x2: O::V<T>, x3: O::V<T>) -> O::V<T>;
}

/// A conversion to `U`, defined for every instance of [`Ops`].
pub trait CastTo<U: Elem>: Elem {
    /// Converts `x`.
    fn cast<O: Ops>(o: &mut O, x: O::V<Self>) -> O::V<U>;
}

/// A scalar function for slow-path lanes; see [`Ops::rare2`]. It must not panic, since compiled code calls it. It is
/// inlined into its callers, since it is compiled for several targets.
pub trait Rare2<T: Num> {
    /// Computes the function for one lane.
    fn call(a: T, b: T) -> T;
}

/// [`Ops::half_to_float`] by operations on the bits, for instances without an instruction for the conversion.
#[inline(always)]
pub fn half_to_float_by_bits<O: Ops>(o: &mut O, x: O::V<f16>) -> O::V<f32> {
    let bits = o.bits::<f16>(x);
    let bits = o.int_resize::<u16, u32>(bits);
    let low = o.splat(0x7fffu32);
    let magnitude = o.and(bits, low);
    // Exponent and significand, moved to their positions in a float32, give the value times 2^−112, also for
    // subnormals.
    let shifted = o.shl_const(magnitude, 13);
    let scaled = o.of_bits::<f32>(shifted);
    let two_to_112 = o.splat(f32::from_bits((127 + 112) << 23));
    let finite = o.mul(scaled, two_to_112);
    // For infinities and NaNs the exponent is set to all ones.
    let finite = o.bits::<f32>(finite);
    let ones = o.splat(0x7f80_0000u32);
    let special = o.or(shifted, ones);
    let threshold = o.splat(0x7c00u32);
    let is_special = o.cmp(Cmp::Ge, magnitude, threshold);
    let value = o.select(is_special, special, finite);
    let sign = o.xor(bits, magnitude);
    let sign = o.shl_const(sign, 16);
    let value = o.or(value, sign);
    o.of_bits::<f32>(value)
}

/// [`Ops::float_to_half`] by operations on the bits, for instances without an instruction for the conversion.
#[inline(always)]
pub fn float_to_half_by_bits<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f16> {
    let bits = o.bits::<f32>(x);
    let low = o.splat(f32::MAGNITUDE);
    let magnitude = o.and(bits, low);
    // Normal results: rebias the exponent, add slightly less than half an ulp plus the lowest bit that is kept, so that
    // ties go to even, and drop 13 bits. A carry out of the significand increments the exponent; out of the last
    // exponent it gives infinity.
    let dropped = o.shr_const(magnitude, 13);
    let one = o.splat(1u32);
    let odd = o.and(dropped, one);
    let rebias = o.splat(0xfffu32.wrapping_sub(112 << 23));
    let normal = o.add(magnitude, rebias);
    let normal = o.add(normal, odd);
    let normal = o.shr_const(normal, 13);
    // Subnormal results: adding 1/2 rounds to a multiple of 2^−24, the unit of float16's subnormals, and leaves it in
    // the low bits.
    let half = o.splat(0.5f32);
    let value = o.of_bits::<f32>(magnitude);
    let sum = o.add(value, half);
    let sum = o.bits::<f32>(sum);
    let half = o.bits::<f32>(half);
    let subnormal = o.sub(sum, half);
    let least_normal = o.splat(0x3880_0000u32);
    let small = o.cmp(Cmp::Lt, magnitude, least_normal);
    let rounded = o.select(small, subnormal, normal);
    let overflow = o.splat(0x477f_f000u32);
    let large = o.cmp(Cmp::Ge, magnitude, overflow);
    let infinity = o.splat(0x7c00u32);
    let rounded = o.select(large, infinity, rounded);
    let float_infinity = o.splat(<f32 as Real>::INFINITY);
    let nan = o.cmp(Cmp::Gt, magnitude, float_infinity);
    let quiet = o.splat(0x7e00u32);
    let rounded = o.select(nan, quiet, rounded);
    let sign = o.xor(bits, magnitude);
    let sign = o.shr_const(sign, 16);
    let rounded = o.or(rounded, sign);
    let rounded = o.int_resize::<u32, u16>(rounded);
    o.of_bits::<f16>(rounded)
}
