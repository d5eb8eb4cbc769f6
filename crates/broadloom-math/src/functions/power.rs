//! pow of floats and of integers, and hypot. By definition a float power is x, x·x and 1/x for the exponents 1, 2
//! and −1, so that rewriting `pow` to these is exact; an integer power wraps, and is truncated for a negative
//! exponent.

use crate::dtype::{Float, Int, Num};
use crate::functions::coefficients::{ATANH_REST_FULL, LN2, LN2_DD, LOG2_E, TWO_THIRDS};
use crate::functions::exponential::exp_of_reduced;
use crate::functions::float64::{Float64, MAGIC, Precision, Sum, from_work, scale, through_float64, to_work};
use crate::functions::logarithm::{Split, log_of_split, split};
use crate::functions::logarithm_ends;
use crate::functions::{compare, function, single};
use crate::ops::{Binary, Cmp, Ops, Rare2};

function! {
    /// √(x1² + x2²) without undue over- or underflow
    Hypot
    /// x1 to the power x2
    Pow
}

through_float64!(binary_with_single Hypot hypot single::hypot;);
through_float64!(binary_typed Pow pow;);

#[inline(always)]
fn hypot<O: Ops, P: Precision>(o: &mut O, x1: O::V<f64>, x2: O::V<f64>) -> O::V<f64> {
    let (a1, a2) = (o.abs(x1), o.abs(x2));
    let y = if P::FULL {
        let swapped = o.cmp::<f64>(Cmp::Gt, a1, a2);
        let small = o.select::<f64>(swapped, a2, a1);
        let large = o.select::<f64>(swapped, a1, a2);
        let one = o.constant(1.0);
        let huge = o.is(large, Cmp::Gt, 1e150);
        let tiny = o.is(large, Cmp::Lt, 1e-130);
        let up = f64::from_bits((1023 + 600) << 52);
        let down = f64::from_bits((1023 - 600) << 52);
        let factor = o.put(tiny, up, one);
        let factor = o.put(huge, down, factor);
        let back = o.put(tiny, down, one);
        let back = o.put(huge, up, back);
        let small = o.mul::<f64>(small, factor);
        let large = o.mul::<f64>(large, factor);
        let (s, l) = (o.two_product(small, small), o.two_product(large, large));
        let sum = o.fast_two_sum(l.hi, s.hi);
        let lo = o.add::<f64>(l.lo, s.lo);
        let lo = o.add::<f64>(lo, sum.lo);
        let root = o.sqrt::<f64>(sum.hi);
        let rest = o.nfma(root, root, sum.hi);
        let rest = o.add::<f64>(rest, lo);
        let double = o.add::<f64>(root, root);
        let double = o.add_c(double, 1e-300);
        let rest = o.div::<f64>(rest, double);
        let y = o.add::<f64>(root, rest);
        o.mul::<f64>(y, back)
    } else {
        // float32's squares neither over- nor underflow.
        let square = o.mul::<f64>(a1, a1);
        let sum = o.fma::<f64>(a2, a2, square);
        o.sqrt::<f64>(sum)
    };
    let infinity = o.constant(f64::INFINITY);
    let first = o.is(a1, Cmp::Eq, f64::INFINITY);
    let second = o.is(a2, Cmp::Eq, f64::INFINITY);
    let infinite = o.mask_or::<f64>(first, second);
    o.select::<f64>(infinite, infinity, y)
}

/// log x for a positive finite x, to about 2^−66 of itself in full precision.
#[inline(always)]
fn precise_log<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> Sum<O> {
    let parts = split::<O, P>(o, x);
    if !P::FULL {
        return log_of_split::<O, P>(o, parts);
    }
    let Split { e, f, .. } = parts;
    // s = f/(2 + f); log(1 + f) = 2s + s·z·(2/3 + z·P(z)), z = s²
    let two = o.constant(2.0);
    let d = o.fast_two_sum(two, f);
    let one = o.constant(1.0);
    let inverse = o.div::<f64>(one, d.hi);
    let hi = o.mul::<f64>(f, inverse);
    let rest = o.nfma(hi, d.hi, f);
    let rest = o.nfma(hi, d.lo, rest);
    let s = Sum { hi, lo: o.mul::<f64>(rest, inverse) };
    let z = o.sum_mul(s, s);
    // An exponent of 2^11 brings out what is lost here: the first two coefficients are sums.
    let p = o.polynomial(z.hi, &ATANH_REST_FULL[1..]);
    let p = o.mul::<f64>(z.hi, p);
    let fifth = o.constant(ATANH_REST_FULL[0]);
    let p = o.fast_two_sum(fifth, p);
    let p = o.sum_mul(z, p);
    let third = o.constant(TWO_THIRDS[0]);
    let q = o.fast_two_sum(third, p.hi);
    let lo = o.add_c(p.lo, TWO_THIRDS[1]);
    let p = Sum { hi: q.hi, lo: o.add::<f64>(q.lo, lo) };
    let cube = o.sum_mul(s, z);
    let rest = o.sum_mul(cube, p);
    let twice = o.add::<f64>(s.hi, s.hi);
    let y = o.fast_two_sum(twice, rest.hi);
    let lo = o.fma_c(s.lo, 2.0, y.lo);
    let lo = o.add::<f64>(lo, rest.lo);
    // e·ln 2: two exact products and a small one.
    let head = o.mul_c(e, LN2[0]);
    let sum = o.fast_two_sum(head, y.hi);
    let lo = o.fma_c(e, LN2[2], lo);
    let lo = o.fma_c(e, LN2[1], lo);
    let lo = o.add::<f64>(sum.lo, lo);
    o.fast_two_sum(sum.hi, lo)
}

/// a^y for a ≥ 0 and a finite y; NaN for NaN.
#[inline(always)]
fn power_of_magnitude<O: Ops, P: Precision>(o: &mut O, a: O::V<f64>, y: O::V<f64>) -> O::V<f64> {
    let l = precise_log::<O, P>(o, a);
    let l = Sum::<O> { hi: logarithm_ends::ends::<O, f64>(o, a, l.hi), lo: l.lo };
    // y·log a, held where its exponential is 0 or infinite already.
    let (least, most) = if P::FULL { (-800.0, 800.0) } else { (-200.0, 200.0) };
    let product = o.mul::<f64>(y, l.hi);
    let hi = o.at_most(product, most);
    let hi = o.at_least(hi, least);
    let zero = o.constant(0.0);
    let lo = if P::FULL {
        let minus = o.neg::<f64>(product);
        let lo = o.fma::<f64>(y, l.hi, minus);
        let lo = o.fma::<f64>(y, l.lo, lo);
        let held = o.cmp::<f64>(Cmp::Eq, hi, product);
        o.select::<f64>(held, lo, zero)
    } else {
        zero
    };
    exponential::<O, P>(o, hi, lo)
}

/// x^y from r = |x|^y, with what the sign of x and exceptional operands change.
#[inline(always)]
fn power<O: Ops, T: Float>(o: &mut O, x: O::V<T>, y: O::V<T>, r: O::V<T>) -> O::V<T> {
    let (zero, one) = (o.splat(T::ZERO), o.splat(T::ONE));
    // A negative base: the sign of an odd power, and NaN for what is no power of it.
    let whole = o.trunc::<T>(y);
    let integral = o.cmp::<T>(Cmp::Eq, whole, y);
    let half = o.splat(T::from_f64(0.5));
    let half = o.mul::<T>(whole, half);
    let even = o.trunc::<T>(half);
    let even = o.cmp::<T>(Cmp::Eq, even, half);
    let odd = o.mask_not::<T>(even);
    let odd = o.mask_and::<T>(integral, odd);
    let minus_zero = o.splat(T::of_bits(T::SIGN));
    let sign = o.select::<T>(odd, minus_zero, zero);
    let sign = o.bits::<T>(sign);
    let x_bits = o.bits::<T>(x);
    let sign = o.and::<T::Bits>(sign, x_bits);
    let r = o.bits::<T>(r);
    let r = o.xor::<T::Bits>(r, sign);
    let minus_infinity = o.splat(T::from_f64(f64::NEG_INFINITY));
    let below = o.cmp::<T>(Cmp::Lt, x, zero);
    let finite = o.cmp::<T>(Cmp::Gt, x, minus_infinity);
    let broken = o.mask_not::<T>(integral);
    let no_power = o.mask_and::<T>(below, finite);
    let no_power = o.mask_and::<T>(no_power, broken);
    // All ones are a NaN.
    let nan = o.splat(T::of_bits(<T::Bits as Num>::MINUS_ONE));
    let nan = o.select::<T>(no_power, nan, zero);
    let nan = o.bits::<T>(nan);
    let r = o.or::<T::Bits>(r, nan);
    let r = o.of_bits::<T>(r);
    // By definition.
    let first = o.cmp::<T>(Cmp::Eq, y, one);
    let r = o.select::<T>(first, x, r);
    let reciprocal = o.div::<T>(one, x);
    let minus_one = o.splat(T::MINUS_ONE);
    let inverse = o.cmp::<T>(Cmp::Eq, y, minus_one);
    let r = o.select::<T>(inverse, reciprocal, r);
    let square = o.mul::<T>(x, x);
    let two = o.splat(T::from_f64(2.0));
    let two = o.cmp::<T>(Cmp::Eq, y, two);
    let r = o.select::<T>(two, square, r);
    let unit = o.cmp::<T>(Cmp::Eq, x, one);
    let y_zero = o.cmp::<T>(Cmp::Eq, y, zero);
    let unit = o.mask_or::<T>(unit, y_zero);
    o.select::<T>(unit, one, r)
}

/// x^y, its special cases in the type of the operands.
#[inline(always)]
fn pow<O: Ops, P: Precision, T: Float>(o: &mut O, x: O::V<T>, y: O::V<T>) -> O::V<T> {
    let a = compare::magnitude::<O, T>(o, x);
    let a = o.of_bits::<T>(a);
    // 1 to an infinite power is 1: as if to the largest finite one, which is as good for any other base.
    let most = o.splat(T::of_bits(T::INFINITY.minus(<T::Bits as Num>::ONE)));
    let least = o.neg::<T>(most);
    let above = o.cmp::<T>(Cmp::Lt, most, y);
    let exponent = o.select::<T>(above, most, y);
    let below = o.cmp::<T>(Cmp::Lt, exponent, least);
    let exponent = o.select::<T>(below, least, exponent);
    let (a, exponent) = (to_work::<O, T>(o, a), to_work::<O, T>(o, exponent));
    let r = power_of_magnitude::<O, P>(o, a, exponent);
    let r = from_work::<O, T>(o, r);
    power::<O, T>(o, x, y, r)
}

/// e^(hi + lo)
#[inline(always)]
fn exponential<O: Ops, P: Precision>(o: &mut O, hi: O::V<f64>, lo: O::V<f64>) -> O::V<f64> {
    let magic = o.constant(MAGIC);
    let n = o.fma_c(hi, LOG2_E[0], magic);
    let n = o.add_c(n, -MAGIC);
    let r = o.fma_c(n, -LN2_DD[0], hi);
    let lo = if P::FULL { o.fma_c(n, -LN2_DD[1], lo) } else { lo };
    let r = Sum { hi: r, lo };
    let y = exp_of_reduced::<O, P>(o, r);
    let y = o.rounded(y);
    scale::<O, P>(o, y, n)
}

/// How many low bits of the exponent are worked off in line; more take the loop.
const INLINE_BITS: u32 = 6;

/// Powers with an exponent of more bits.
struct LongPower;

impl<T: Int> Rare2<T> for LongPower {
    fn call(x: T, y: T) -> T {
        let (mut result, mut square) = (T::ONE, x);
        let mut left = y.wide() as u64;
        while left != 0 {
            if left & 1 != 0 {
                result = result.times(square);
            }
            square = square.times(square);
            left >>= 1;
        }
        result
    }
}

macro_rules! integer_power {
    ($($t:ty)*) => {$(
        impl Binary<$t> for Pow {
            type Out = $t;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x1: O::V<$t>, x2: O::V<$t>) -> O::V<$t> {
                let (zero, one) = (o.splat(<$t as Num>::ZERO), o.splat(<$t as Num>::ONE));
                let mut result = one;
                let mut square = x1;
                let bits = INLINE_BITS.min(<$t>::BITS - 1);
                for bit in 0..bits {
                    let mask = o.splat((1 as $t) << bit);
                    let set = o.and::<$t>(x2, mask);
                    let set = o.cmp::<$t>(Cmp::Ne, set, zero);
                    let more = o.mul::<$t>(result, square);
                    result = o.select::<$t>(set, more, result);
                    if bit + 1 < bits {
                        square = o.mul::<$t>(square, square);
                    }
                }
                let limit = o.splat((1 as $t) << bits);
                let minus_one = o.splat(<$t as Num>::MINUS_ONE);
                let far = o.cmp::<$t>(Cmp::Ge, x2, limit);
                let result = o.rare2::<LongPower, $t>(far, x1, x2, result);
                if !<$t as Int>::SIGNED {
                    return result;
                }
                // A negative exponent: 1/x^|y| without its fraction, which is 0 but for 1 and −1.
                let negative = o.cmp::<$t>(Cmp::Lt, x2, zero);
                let low = o.and::<$t>(x2, one);
                let odd = o.cmp::<$t>(Cmp::Ne, low, zero);
                let is_one = o.cmp::<$t>(Cmp::Eq, x1, one);
                let is_minus_one = o.cmp::<$t>(Cmp::Eq, x1, minus_one);
                let unit = o.select::<$t>(odd, minus_one, one);
                let truncated = o.select::<$t>(is_minus_one, unit, zero);
                let truncated = o.select::<$t>(is_one, one, truncated);
                o.select::<$t>(negative, truncated, result)
            }
        }
    )*};
}
integer_power!(i8 i16 i32 i64 u8 u16 u32 u64);
