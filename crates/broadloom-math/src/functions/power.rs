//! pow of floats and of integers, and hypot. By definition a float power is x, x·x and 1/x for the exponents 1, 2
//! and −1, so that rewriting `pow` to these is exact; an integer power wraps, and is truncated for a negative
//! exponent.

mod float16;
mod float32;
mod float64;
mod special;

use float16::pow;
pub(crate) use float64::precise_log;

use crate::dtype::{Int, Num};
use crate::functions::float64::{Float64, Precision, through_float64};
use crate::functions::{function, single};
use crate::ops::{Binary, Cmp, Ops, Rare2};

function! {
    /// √(x1² + x2²) without undue over- or underflow
    Hypot
    /// x1 to the power x2
    Pow
}

through_float64!(binary_with_single Hypot hypot single::hypot;);

through_float64!(binary_each Pow pow float32::pow, float64::pow;);

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
        // Squares of float32 neither over- nor underflow in float64.
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

/// The number of low bits of an exponent that are handled inline; exponents with more bits take the slow path, a loop.
const INLINE_BITS: u32 = 6;

/// Powers whose exponent has more bits, on the slow path.
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
                // For a negative exponent the result is 1/x^|y| truncated, which is 0 unless x^|y| is 1 or −1.
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
