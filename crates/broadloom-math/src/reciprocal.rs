//! Integer quotients by a divisor that many dividends share, computed by shifts and a product with the divisor's
//! reciprocal.
//!
//! The part that depends only on the divisor is computed by ordinary primitives, once per loop, since the value of a literal is
//! known only at run time. One body therefore works for every divisor, including 0, 1, −1 and MIN. Divisors whose reciprocal is
//! [short](is_short) use a shorter body; a kernel records for each literal whether it is such a divisor. The results are exact
//! for every pair of operands, and the loop uses no floats. Sources: T. Granlund and P. Montgomery, Division by Invariant
//! Integers using Multiplication (1994); N. Möller and T. Granlund, Improved Division by Invariant Integers (2011), for the
//! reciprocal of a normalised divisor; H. Warren, Hacker's Delight, chapter 10.

use crate::dtype::Int;
use crate::ops::{Cmp, Ops};
use crate::through;

/// Whether a divisor has a short reciprocal: one that, rounded up, has no more bits than T, so that a product and a
/// shift divide every dividend exactly.
///
/// Let w be the number of bits of T, D = |d| ≥ 2, s = ⌊log2 D⌋ and m = ⌊2^(w+s)/D⌋ + 1. Then m·D = 2^(w+s) + e with 0 <
/// e ≤ D < 2^(s+1), and n·m/2^(w+s) exceeds n/D by n·e/(D·2^(w+s)). For signed integers n is at most 2^(w−1), so that
/// this excess is less than 1/D, and the floors are equal. For unsigned integers it is less than 2/D, which matters
/// only for n = D − 1 modulo D: the largest such n decides. For a power of two, m would be 2^w + 1; 2^(w−1) and a shift
/// by s − 1 divide exactly instead. Bytes are divided in lanes of 16 bits, with n and e below 256.
pub fn is_short<T: Int>(d: T) -> bool {
    let size = d.wide().unsigned_abs();
    if size < 2 || T::SIGNED || T::WIDTH == 8 || size.is_power_of_two() {
        return size >= 2;
    }
    let unit = 1u128 << (T::WIDTH + size.ilog2());
    let excess = (unit / size + 1) * size - unit;
    let last = (1u128 << T::WIDTH) / size * size - 1;
    last * excess < unit
}

/// [`Ops::quotient`] by a divisor `b` that many dividends share. `short` may be set only if the [reciprocal
/// of `b` is short](is_short).
#[inline(always)]
pub fn quotient<O: Ops, T: Int>(o: &mut O, a: O::V<T>, b: O::V<T>, short: bool) -> O::V<T> {
    by_width::<O, T>(o, a, b, false, short)
}

/// [`Ops::floor_quotient`] by a divisor `b` that many dividends share. `short` may be set only if the [reciprocal of `b` is
/// short](is_short).
#[inline(always)]
pub fn floor_quotient<O: Ops, T: Int>(o: &mut O, a: O::V<T>, b: O::V<T>, short: bool) -> O::V<T> {
    by_width::<O, T>(o, a, b, true, short)
}

#[inline(always)]
fn by_width<O: Ops, T: Int>(o: &mut O, a: O::V<T>, b: O::V<T>, floor: bool, short: bool) -> O::V<T> {
    match T::WIDTH {
        8 => of_bytes::<O, T>(o, a, b, floor, short),
        16 => of_words::<O, T, i16, u16>(o, a, b, floor, short),
        32 => of_words::<O, T, i32, u32>(o, a, b, floor, short),
        _ => of_words::<O, T, i64, u64>(o, a, b, floor, short),
    }
}

/// Quotients of bytes, in lanes of 16 bits.
///
/// Let D = |d| ≠ 0 and m = ⌊(2^16 − 1)/D⌋, so that m·D = 2^16 − r with 1 ≤ r ≤ D. For 0 ≤ n < 384 and D ≤ 128, and for
/// n < 256 and D < 256, ⌊(n + 1)·m / 2^16⌋ is ⌊n/D⌋. The product is (n + 1)/D·(1 − r/2^16), which is below (n + 1)/D,
/// which is at most ⌊n/D⌋ + 1. It is at least ⌊n/D⌋, since (n + 1)/D is at least ⌊n/D⌋ + 1/D, and the subtracted part
/// (n + 1)·r/(D·2^16) is at most 1/D, as (n + 1)·r ≤ 384·128 or 256·255. For D = 0, m and every quotient are 0.
///
/// A signed dividend multiplied by the divisor's sign, x in −128…128, is increased by k·D ≤ 127 + D with k = ⌈128/D⌉,
/// and its quotient decreased by k. The quotient toward zero of a negative x is the floor of (x + D − 1)/D.
#[inline(always)]
fn of_bytes<O: Ops, T: Int>(o: &mut O, a: O::V<T>, b: O::V<T>, floor: bool, short: bool) -> O::V<T> {
    let one = o.splat(1u16);
    let (x, d) = (o.int_resize::<T, u16>(a), o.int_resize::<T, u16>(b));
    if !T::SIGNED {
        let m = multiplier_of_bytes(o, d);
        if short {
            // ⌈2^16/D⌉, which exceeds 16 bits only for D = 1. It is accurate enough, since n·e ≤ 255·255 < 2^16.
            let m = o.add::<u16>(m, one);
            let q = o.mul_high::<u16>(x, m);
            return o.int_resize::<u16, T>(q);
        }
        let above = o.add::<u16>(x, one);
        let q = o.mul_high::<u16>(above, m);
        return o.int_resize::<u16, T>(q);
    }
    let d = o.int_resize::<u16, i16>(d);
    let sign = o.shr_const::<i16>(d, 15);
    let size = o.xor::<i16>(d, sign);
    let size = o.sub::<i16>(size, sign);
    let (size, sign) = (o.int_resize::<i16, u16>(size), o.int_resize::<i16, u16>(sign));
    let m = multiplier_of_bytes(o, size);
    // Uses ⌈128/D⌉ = ⌊(127 + D)/D⌋.
    let up = o.splat(128u16);
    let up = o.add::<u16>(size, up);
    let k = o.mul_high::<u16>(up, m);
    let up = o.mul::<u16>(k, size);
    // k·D plus two ones: one belongs to the negation of x, the other to the n + 1 of the product.
    let up = o.add::<u16>(up, one);
    let up = o.sub::<u16>(up, sign);
    let turned = o.xor::<u16>(x, sign);
    let mut n = o.add::<u16>(turned, up);
    if !floor {
        // n is x + k·D + 1 here, so that x is negative where n is below k·D + 1.
        let limit = o.mul::<u16>(k, size);
        let limit = o.add::<u16>(limit, one);
        let negative = o.cmp::<u16>(Cmp::Lt, n, limit);
        let (zero, rest) = (o.splat(0u16), o.sub::<u16>(size, one));
        let rest = o.select::<u16>(negative, rest, zero);
        n = o.add::<u16>(n, rest);
    }
    let q = o.mul_high::<u16>(n, m);
    let q = o.sub::<u16>(q, k);
    o.int_resize::<u16, T>(q)
}

/// ⌊(2^16 − 1)/d⌋, and 0 for d = 0.
#[inline(always)]
fn multiplier_of_bytes<O: Ops>(o: &mut O, d: O::V<u16>) -> O::V<u16> {
    let ones = o.splat(u16::MAX);
    through::short::<O, u16>(o, ones, d, false)
}

/// Quotients of integers of 16 bits and more, in lanes of their own width. `S` and `U` are the signed and the unsigned
/// type as wide as `T`.
#[inline(always)]
fn of_words<O: Ops, T: Int, S: Int, U: Int>(
    o: &mut O,
    a: O::V<T>,
    b: O::V<T>,
    floor: bool,
    short: bool,
) -> O::V<T> {
    if !T::SIGNED {
        let (n, d) = (o.int_resize::<T, U>(a), o.int_resize::<T, U>(b));
        let reciprocal = Reciprocal::<O, U>::of(o, d);
        let q = if short { reciprocal.short_quotient(o, n) } else { reciprocal.quotient(o, n) };
        return o.int_resize::<U, T>(q);
    }
    let (x, d) = (o.int_resize::<T, S>(a), o.int_resize::<T, S>(b));
    let d_sign = o.shr_const::<S>(d, S::WIDTH - 1);
    let size = o.xor::<S>(d, d_sign);
    let size = o.sub::<S>(size, d_sign);
    let size = o.int_resize::<S, U>(size);
    let reciprocal = Reciprocal::<O, U>::of(o, size);
    // The magnitude of the dividend, or |x| − 1 where a negative quotient is rounded down.
    let (y, sign) = if floor {
        // The floor of a negative quotient is ¬⌊(|x| − 1)/D⌋. For d > 0 the quotient is negative where x < 0, and |x| −
        // 1 is ¬x. For d < 0 it is negative where x > 0, and |x| − 1 is x − 1; for the other x, |x| is ¬(x − 1). For d
        // = 0 nothing is inverted.
        let (zero, one, least) = (o.splat(S::ZERO), o.splat(S::ONE), o.splat(S::MIN));
        let negative_divisor = o.cmp::<S>(Cmp::Lt, d, zero);
        let limit = o.select::<S>(negative_divisor, one, zero);
        let by_zero = o.cmp::<S>(Cmp::Eq, d, zero);
        let limit = o.select::<S>(by_zero, least, limit);
        let below = o.cmp::<S>(Cmp::Lt, x, limit);
        let ones = o.splat(S::MINUS_ONE);
        let turn = o.select::<S>(below, ones, zero);
        let y = o.add::<S>(x, d_sign);
        (o.xor::<S>(y, turn), turn)
    } else {
        let x_sign = o.shr_const::<S>(x, S::WIDTH - 1);
        let y = o.xor::<S>(x, x_sign);
        (o.sub::<S>(y, x_sign), x_sign)
    };
    let y = o.int_resize::<S, U>(y);
    let q = if short { reciprocal.short_quotient(o, y) } else { reciprocal.quotient_of_half(o, y) };
    let q = o.int_resize::<U, S>(q);
    let sign = o.xor::<S>(sign, d_sign);
    let q = o.xor::<S>(q, sign);
    let q = if floor { q } else { o.sub::<S>(q, sign) };
    o.int_resize::<S, T>(q)
}

/// The reciprocal of a divisor d of w bits.
///
/// For d ≠ 0 let s = ⌊log2 d⌋ and h = d·2^(w−1−s), the normalised divisor, whose highest bit is set, and let v = ⌊(2^2w
/// − 1)/h⌋ − 2^w be the reciprocal of h. Then M = 2^w + v is ⌊(2^(w+1+s) − 1)/d⌋.
struct Reciprocal<O: Ops, U: Int> {
    /// The reciprocal v of the divisor shifted up.
    multiplier: O::V<U>,
    /// s; for d = 0, a number that acts like a shift count of the width or more.
    shift: O::V<u64>,
}

impl<O: Ops, U: Int> Reciprocal<O, U> {
    #[inline(always)]
    fn of(o: &mut O, d: O::V<U>) -> Reciprocal<O, U> {
        // With the bit below its highest one cleared, d is below 3/2·2^s, which no rounding to float64 takes to
        // 2^(s+1).
        let (half, ones) = (o.shr_const::<U>(d, 1), o.splat(U::wrap(-1)));
        let mask = o.xor::<U>(half, ones);
        let leading = o.and::<U>(d, mask);
        let leading = o.int_to_float::<U, f64>(leading);
        let leading = o.bits::<f64>(leading);
        let exponent = o.shr_const::<u64>(leading, 52);
        // The exponent of 0 becomes −1023, which as an unsigned number is more than any width.
        let bias = o.splat(1023u64);
        let shift = o.sub::<u64>(exponent, bias);
        let s = o.int_resize::<u64, U>(shift);
        let highest = o.splat(U::wrap(i128::from(U::WIDTH) - 1));
        let up = o.sub::<U>(highest, s);
        let h = o.shl::<U>(d, up);
        Reciprocal { multiplier: reciprocal_of_normal::<O, U>(o, h), shift }
    }

    /// ⌊n/d⌋, and 0 for d = 0.
    ///
    /// With t = ⌊n·v/2^w⌋, n + t is ⌊n·M/2^w⌋, and the result is computed as ⌊(n + t + 1)/2^(s+1)⌋. The sum may have one bit
    /// more than w, so it is halved first, as a mean rounded up. M is 2^(w+1+s)/d − ρ with 0 < ρ ≤ 1, so n·M/2^w is above
    /// 2^(s+1)·n/d − 1. Let q = ⌊n/d⌋. The result is not too small, because n·M/2^w is above 2^(s+1)·q − 1, so that the integer
    /// n + t + 1 is at least 2^(s+1)·q. It is not too large: n + t + 1 ≤ 2^(s+1)·n/d − n·ρ/2^w + 1 and n/d ≤ q + 1 − 1/d, so
    /// that n + t + 1 is at most 2^(s+1)·(q + 1) − 2^(s+1)/d + 1 − n·ρ/2^w. This is below 2^(s+1)·(q + 1), since 2^(s+1) is
    /// above d, also for n = 0.
    #[inline(always)]
    fn quotient(&self, o: &mut O, n: O::V<U>) -> O::V<U> {
        let t = o.mul_high::<U>(n, self.multiplier);
        let mean = if U::WIDTH <= 16 {
            o.average::<U>(n, t)
        } else {
            // t ≤ n, so the difference does not wrap.
            let rest = o.sub::<U>(n, t);
            let rest = o.shr_const::<U>(rest, 1);
            o.sub::<U>(n, rest)
        };
        o.shr_uniform::<U>(mean, self.shift)
    }

    /// ⌊n/d⌋ by a reciprocal that [is short](is_short).
    ///
    /// M is ⌊2^(w+1+s)/d⌋, so that ⌊2^(w+s)/d⌋ is half of it, rounded down, and m is 2^(w−1) + ⌊v/2⌋ + 1. For a power
    /// of two this is 2^w, which the lanes hold as 0.
    #[inline(always)]
    fn short_quotient(&self, o: &mut O, n: O::V<U>) -> O::V<U> {
        let highest = o.splat(U::wrap(1i128 << (U::WIDTH - 1)));
        let (one, none) = (o.splat(U::ONE), o.splat(U::ZERO));
        let half = o.shr_const::<U>(self.multiplier, 1);
        let above = o.add::<U>(highest, one);
        let m = o.add::<U>(half, above);
        let is_power = o.cmp::<U>(Cmp::Eq, m, none);
        let m = o.select::<U>(is_power, highest, m);
        let one = o.splat(1u64);
        let before = o.sub::<u64>(self.shift, one);
        let is_power = o.mask_resize::<U, u64>(is_power);
        let shift = o.select::<u64>(is_power, before, self.shift);
        let t = o.mul_high::<U>(n, m);
        o.shr_uniform::<U>(t, shift)
    }

    /// ⌊y/d⌋ for y and d of at most 2^(w−1), and 0 for d = 0.
    ///
    /// If d is a power of two, v + 1 is 0 modulo 2^w, and y shifted by s is the quotient. Otherwise let m = M + 1 =
    /// 2^(w+1+s)/d + ε with 0 < ε < 1. The result is computed as ⌊y·m/2^(w+1+s)⌋. Its argument exceeds y/d by
    /// y·ε/2^(w+1+s) < 2^−(s+2) < 1/d, which is less than the distance of y/d to the next integer. The sum y + ⌊y·(v +
    /// 1)/2^w⌋ is below 2y, so that it has at most w bits.
    #[inline(always)]
    fn quotient_of_half(&self, o: &mut O, y: O::V<U>) -> O::V<U> {
        let (one, none) = (o.splat(U::ONE), o.splat(U::ZERO));
        let multiplier = o.add::<U>(self.multiplier, one);
        let is_power = o.cmp::<U>(Cmp::Eq, multiplier, none);
        let one = o.splat(1u64);
        let next = o.add::<u64>(self.shift, one);
        let is_power = o.mask_resize::<U, u64>(is_power);
        let shift = o.select::<u64>(is_power, self.shift, next);
        let t = o.mul_high::<U>(y, multiplier);
        let sum = o.add::<U>(y, t);
        o.shr_uniform::<U>(sum, shift)
    }
}

/// ⌊(2^2w − 1)/h⌋ − 2^w for an h whose highest bit is set.
#[inline(always)]
fn reciprocal_of_normal<O: Ops, U: Int>(o: &mut O, h: O::V<U>) -> O::V<U> {
    match U::WIDTH {
        16 => {
            let (ones, h) = (o.splat(u32::MAX), o.int_resize::<U, u32>(h));
            let q = through::short::<O, u32>(o, ones, h, false);
            o.int_resize::<u32, U>(q)
        }
        32 => {
            let (ones, h) = (o.splat(u64::MAX), o.int_resize::<U, u64>(h));
            let q = through::of_magnitudes::<O>(o, ones, h);
            o.int_resize::<u64, U>(q)
        }
        _ => {
            let h = o.int_resize::<U, u64>(h);
            let q = through::reciprocal::<O>(o, h);
            o.int_resize::<u64, U>(q)
        }
    }
}
