//! Integer quotients and conversions through floats, for instances of [`Ops`] that compute vectors: vector units divide only
//! floats, and few of them convert 64-bit integers. The results are exact for every operand, division by zero included. A divisor
//! that many dividends share has a [reciprocal](crate::reciprocal) instead.

use crate::dtype::{Float, Int};
use crate::ops::{Cmp, Ops};

/// Quotients of integers of up to 32 bits, computed in a float type that represents these integers exactly.
///
/// The results are exact. If a quotient a/b of w-bit integers is less than an integer k, it is less by at
/// least 1/|b|. This is at least |k|·2^−w, which is more than half an ulp of k in p > w digits. So the
/// quotient never rounds up to k, and a quotient above k never rounds below k. Division by zero gives an
/// infinity or NaN, which the selection discards; MIN / −1 gives 2^(w−1), whose low bits are MIN.
#[inline(always)]
pub(crate) fn short<O: Ops, T: Int>(o: &mut O, a: O::V<T>, b: O::V<T>, floor: bool) -> O::V<T> {
    let x = o.int_to_float::<T, T::Through>(a);
    let y = o.int_to_float::<T, T::Through>(b);
    let q = o.div::<T::Through>(x, y);
    let q = if floor { o.floor::<T::Through>(q) } else { o.trunc::<T::Through>(q) };
    let q = low_bits::<O, T::Through, T>(o, q);
    nonzero_divisor::<O, T>(o, b, q)
}

/// Selects 0 where the divisor b is 0, else q.
#[inline(always)]
fn nonzero_divisor<O: Ops, T: Int>(o: &mut O, b: O::V<T>, q: O::V<T>) -> O::V<T> {
    let zero = o.splat(T::ZERO);
    let by_zero = o.cmp::<T>(Cmp::Eq, b, zero);
    o.select::<T>(by_zero, zero, q)
}

/// The low bits of an integral float of magnitude far below 2^DIGITS. They are extracted by adding a magic number,
/// which every vector unit can do; a saturating conversion is not vectorised.
#[inline(always)]
pub fn low_bits<O: Ops, F: Float, T: Int>(o: &mut O, integral: O::V<F>) -> O::V<T> {
    let magic = o.splat(F::from_f64(1.5 * (1u64 << (F::DIGITS - 1)) as f64));
    let sum = o.add::<F>(integral, magic);
    let bits = o.bits::<F>(sum);
    o.int_resize::<F::Bits, T>(bits)
}

/// Quotients of 64-bit integers, rounded down or toward zero, from the quotients of their magnitudes, which `divide`
/// computes. The result of `divide` for division by zero is discarded.
#[inline(always)]
pub fn by_magnitudes<O: Ops, T: Int>(
    o: &mut O,
    a: O::V<T>,
    b: O::V<T>,
    floor: bool,
    divide: impl FnOnce(&mut O, O::V<u64>, O::V<u64>) -> O::V<u64>,
) -> O::V<T> {
    if !T::SIGNED {
        let (x, y) = (o.int_resize::<T, u64>(a), o.int_resize::<T, u64>(b));
        let q = divide(o, x, y);
        let q = o.int_resize::<u64, T>(q);
        return nonzero_divisor::<O, T>(o, b, q);
    }
    let zero = o.splat(T::ZERO);
    let (a_sign, b_sign) = (negative::<O, T>(o, a), negative::<O, T>(o, b));
    let y = negated_if::<O, T>(o, b, b_sign);
    let signs = o.xor::<T>(a_sign, b_sign);
    let (x, sign) = if floor {
        // The floor of a negative quotient is ¬((|a| − 1) / |b|), and |a| − 1 is ¬(−|a|). A dividend of 0 counts as
        // positive.
        let zero_a = o.cmp::<T>(Cmp::Eq, a, zero);
        let sign = o.select::<T>(zero_a, zero, signs);
        let x = negated_if::<O, T>(o, a, b_sign);
        (o.xor::<T>(x, sign), sign)
    } else {
        (negated_if::<O, T>(o, a, a_sign), signs)
    };
    let (x, y) = (o.int_resize::<T, u64>(x), o.int_resize::<T, u64>(y));
    let q = divide(o, x, y);
    let q = o.int_resize::<u64, T>(q);
    let q = if floor { o.xor::<T>(q, sign) } else { negated_if::<O, T>(o, q, sign) };
    nonzero_divisor::<O, T>(o, b, q)
}

/// All ones where x is negative, and 0 elsewhere.
#[inline(always)]
fn negative<O: Ops, T: Int>(o: &mut O, x: O::V<T>) -> O::V<T> {
    let (zero, ones) = (o.splat(T::ZERO), o.splat(T::MINUS_ONE));
    let m = o.cmp::<T>(Cmp::Lt, x, zero);
    o.select::<T>(m, ones, zero)
}

/// −x where `ones` is all ones, and x where it is 0.
#[inline(always)]
fn negated_if<O: Ops, T: Int>(o: &mut O, x: O::V<T>, ones: O::V<T>) -> O::V<T> {
    let x = o.xor::<T>(x, ones);
    o.sub::<T>(x, ones)
}

/// ⌊a/b⌋ for b ≠ 0.
///
/// Let v = (1 − 2^−50)/b in float64, b rounded first. An x rounded to float64 and multiplied by v is below the exact
/// x/b, since the four roundings (of x, b, v and the product) are of 2^−53 each, and above (x/b)·(1 − 2^−49).
///
/// 1. q0 = ⌊a·v⌋ is at most q = ⌊a/b⌋ and at least q − 2^15 − 1; so r0 = a − q0·b, taken modulo 2^64, is exact, and
///    r0/b < 2^15 + 2.
/// 2. q1 = ⌊r0·v⌋ is ⌊r0/b⌋ or one less; so r1 = r0 − q1·b is in 0…2b − 1, and at most r0, which is at most a.
/// 3. The quotient is q0 + q1, and one more where r1 ≥ b.
#[inline(always)]
pub(crate) fn of_magnitudes<O: Ops>(o: &mut O, a: O::V<u64>, b: O::V<u64>) -> O::V<u64> {
    let divisor = o.int_to_float::<u64, f64>(b);
    let below_one = o.splat(1.0 - 1.0 / (1u64 << 50) as f64);
    let inverse = o.div::<f64>(below_one, divisor);
    let x = o.int_to_float::<u64, f64>(a);
    let x = o.mul::<f64>(x, inverse);
    let x = o.trunc::<f64>(x);
    let q0 = natural(o, x);
    let product = o.mul::<u64>(q0, b);
    let r0 = o.sub::<u64>(a, product);
    let x = o.int_to_float::<u64, f64>(r0);
    let x = o.mul::<f64>(x, inverse);
    let x = o.trunc::<f64>(x);
    let q1 = word(o, x);
    let product = o.mul::<u64>(q1, b);
    let r1 = o.sub::<u64>(r0, product);
    let q = o.add::<u64>(q0, q1);
    let (none, ones) = (o.splat(0u64), o.splat(u64::MAX));
    let more = o.cmp::<u64>(Cmp::Ge, r1, b);
    let more = o.select::<u64>(more, ones, none);
    o.sub::<u64>(q, more)
}

/// ⌊(2^128 − 1)/h⌋ − 2^64 for h ≥ 2^63. This is the quotient q = ⌊A/h⌋ of A = (2^64 − 1 − h)·2^64 + 2^64 − 1.
///
/// Let v be as in [`of_magnitudes`], with h instead of b: an x rounded to float64 and multiplied by v is below x/h and
/// above (x/h)·(1 − 2^−49).
///
/// 1. q0 = ⌊(A rounded)·v⌋ ≤ q, and q − q0 ≤ 2^15 + 1, so r0 = A − q0·h < 2^80. r0 has two words, of which the upper one is
///    exact in float64. All bits of the lower word of A are set, so the subtraction borrows nothing from the upper one.
/// 2. q1 = ⌊(r0 rounded)·v⌋ is ⌊r0/h⌋ or one less, so r1 = r0 − q1·h is below 2h, and may have a bit above the lower word.
/// 3. The quotient is q0 + q1, plus 1 where r1 ≥ h.
#[inline(always)]
pub(crate) fn reciprocal<O: Ops>(o: &mut O, h: O::V<u64>) -> O::V<u64> {
    let (none, ones, word) = (o.splat(0u64), o.splat(u64::MAX), o.splat(WORD * WORD));
    let divisor = o.int_to_float::<u64, f64>(h);
    let below_one = o.splat(1.0 - 1.0 / (1u64 << 50) as f64);
    let inverse = o.div::<f64>(below_one, divisor);
    let upper = o.xor::<u64>(h, ones);
    let x = o.int_to_float::<u64, f64>(upper);
    let x = o.mul::<f64>(x, word);
    let x = o.mul::<f64>(x, inverse);
    let x = o.trunc::<f64>(x);
    let q0 = natural(o, x);
    let product = o.mul::<u64>(q0, h);
    let lower = o.xor::<u64>(product, ones);
    let product = o.mul_high::<u64>(q0, h);
    let upper = o.sub::<u64>(upper, product);
    let x = o.int_to_float::<u64, f64>(upper);
    let x = o.mul::<f64>(x, word);
    let rest = o.int_to_float::<u64, f64>(lower);
    let x = o.add::<f64>(x, rest);
    let x = o.mul::<f64>(x, inverse);
    let x = o.trunc::<f64>(x);
    let q1 = self::word(o, x);
    let product = o.mul::<u64>(q1, h);
    let rest = o.sub::<u64>(lower, product);
    let borrow = o.cmp::<u64>(Cmp::Lt, lower, product);
    let borrow = o.select::<u64>(borrow, ones, none);
    let product = o.mul_high::<u64>(q1, h);
    let upper = o.sub::<u64>(upper, product);
    let upper = o.add::<u64>(upper, borrow);
    let beyond = o.cmp::<u64>(Cmp::Ne, upper, none);
    let enough = o.cmp::<u64>(Cmp::Ge, rest, h);
    let more = o.mask_or::<u64>(beyond, enough);
    let more = o.select::<u64>(more, ones, none);
    let q = o.sub::<u64>(q0, more);
    o.add::<u64>(q, q1)
}

/// 2^52, whose ulp is 1. Adding it to an integral float below 2^32 leaves the integer in the low bits.
const UNIT_ULP: f64 = (1u64 << 52) as f64;
const WORD: f64 = (1u64 << 32) as f64;

/// Converts an integral float in 0…2^32 − 1 to an integer.
#[inline(always)]
fn word<O: Ops>(o: &mut O, integral: O::V<f64>) -> O::V<u64> {
    let magic = o.splat(UNIT_ULP);
    let sum = o.add::<f64>(integral, magic);
    let (bits, magic) = (o.bits::<f64>(sum), o.bits::<f64>(magic));
    o.xor::<u64>(bits, magic)
}

/// Converts an integral float x in 0…2^64 − 1 to an integer. For x in −2^63…2^63, the result is modulo 2^64.
#[inline(always)]
fn natural<O: Ops>(o: &mut O, x: O::V<f64>) -> O::V<u64> {
    let (down, up) = (o.splat(1.0 / WORD), o.splat(WORD));
    let high = o.mul::<f64>(x, down);
    let high = o.floor::<f64>(high);
    let product = o.mul::<f64>(high, up);
    let low = o.sub::<f64>(x, product);
    let low = word(o, low);
    // The shift drops the exponent and the sign of the sum.
    let high = low_bits::<O, f64, u64>(o, high);
    let high = o.shl_const::<u64>(high, 32);
    o.or::<u64>(high, low)
}

/// Computes [`Ops::float_to_int`] to 64 bits, through float64.
#[inline(always)]
pub fn float_to_int64<O: Ops, F: Float, U: Int>(o: &mut O, x: O::V<F>) -> O::V<U> {
    let x = o.float_resize::<F, f64>(x);
    let whole = o.trunc::<f64>(x);
    let least = o.splat(if U::SIGNED { -((1u64 << 63) as f64) } else { 0.0 });
    let beyond = o.splat(if U::SIGNED { (1u64 << 63) as f64 } else { WORD * WORD });
    // NaN is clamped to the minimum.
    let above = o.cmp::<f64>(Cmp::Gt, whole, least);
    let held = o.select::<f64>(above, whole, least);
    let below = o.cmp::<f64>(Cmp::Lt, held, beyond);
    let held = o.select::<f64>(below, held, beyond);
    let y = natural(o, held);
    // For signed integers, 2^63 was converted to MIN; for unsigned ones, 2^64 was converted to 0. In both cases the complement
    // is MAX.
    let (none, ones) = (o.splat(0u64), o.splat(u64::MAX));
    let over = o.cmp::<f64>(Cmp::Eq, held, beyond);
    let over = o.mask_resize::<f64, u64>(over);
    let over = o.select::<u64>(over, ones, none);
    let y = o.xor::<u64>(y, over);
    let y = if U::SIGNED {
        let number = o.cmp::<f64>(Cmp::Eq, x, x);
        let number = o.mask_resize::<f64, u64>(number);
        o.select::<u64>(number, y, none)
    } else {
        y
    };
    o.int_resize::<u64, U>(y)
}
