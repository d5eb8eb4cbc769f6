//! pow of float32: 2^(y·log2 x), rounded once from a float64 with an error of about 2^−29.
//!
//! The logarithm of bases near 1 needs more digits than sums of two float32 have at the same cost, so both series are
//! computed in float64. Exponent and significand are separated in lanes of float32 before the series, and signs and
//! exceptional operands are handled in lanes of float32 after them.

use crate::functions::coefficients::{POWER_EXP2_SHORT, POWER_LOG2_SHORT};
use crate::functions::compare;
use crate::functions::float64::{Float64, MAGIC};
use crate::functions::power::special::{self, Exceptional, Power};
use crate::host::Scalar;
use crate::ops::{Cmp, Ops};

/// The bits of √½.
const SQRT_HALF: u32 = 0x3f35_04f3;

/// Decomposes a normal positive a = 2^e·(1 + f), given by its bits, into e and f with √½ ≤ 1 + f < √2.
#[inline(always)]
fn split<O: Ops>(o: &mut O, a: O::V<u32>) -> (O::V<f32>, O::V<f32>) {
    let least = o.splat(SQRT_HALF);
    let moved = o.sub::<u32>(a, least);
    let signed = o.int_resize::<u32, i32>(moved);
    let e = o.shr_const::<i32>(signed, 23);
    let e = o.int_to_float::<i32, f32>(e);
    let low = o.splat((1u32 << 23) - 1);
    let m = o.and::<u32>(moved, low);
    let m = o.add::<u32>(m, least);
    let m = o.of_bits::<f32>(m);
    let one = o.splat(1.0f32);
    let f = o.sub::<f32>(m, one);
    (e, f)
}

/// The power (2^e · (1 + f))^y.
#[inline(always)]
fn power<O: Ops>(o: &mut O, e: O::V<f32>, f: O::V<f32>, y: O::V<f32>) -> O::V<f32> {
    let (e, f) = (o.float_resize::<f32, f64>(e), o.float_resize::<f32, f64>(f));
    let y = o.float_resize::<f32, f64>(y);
    let d = o.add_c(f, 2.0);
    let s = o.div::<f64>(f, d);
    let z = o.mul::<f64>(s, s);
    let p = o.polynomial(z, &POWER_LOG2_SHORT);
    let l = o.fma::<f64>(s, p, e);
    let p = o.mul::<f64>(y, l);
    // Beyond these bounds the power is 0 or infinite.
    let p = o.at_most(p, 200.0);
    let p = o.at_least(p, -200.0);
    let t = o.add_c(p, MAGIC);
    let n = o.add_c(t, -MAGIC);
    let r = o.sub::<f64>(p, n);
    let q = o.polynomial(r, &POWER_EXP2_SHORT);
    let y = o.fma_to_c(r, q, 1.0);
    let n = o.bits::<f64>(t);
    let n = o.shl_const::<u64>(n, 52);
    let y = o.bits::<f64>(y);
    let y = o.add::<u64>(y, n);
    let y = o.of_bits::<f64>(y);
    o.float_resize::<f64, f32>(y)
}

/// The power x^y.
#[inline(always)]
pub(crate) fn pow<O: Ops>(o: &mut O, x: O::V<f32>, y: O::V<f32>) -> O::V<f32> {
    let a = compare::magnitude::<O, f32>(o, x);
    let (e, f) = split(o, a);
    let (zero, minus_infinity) = (o.splat(0.0f32), o.splat(f32::NEG_INFINITY));
    let is_zero = o.cmp::<f32>(Cmp::Eq, x, zero);
    let e = o.select::<f32>(is_zero, minus_infinity, e);
    let r = power(o, e, f, y);
    let r = special::finish::<O, f32>(o, x, y, r);
    let exceptional = special::exceptional::<O, f32>(o, x, y);
    o.rare2::<Exceptional, f32>(exceptional, x, y, r)
}

impl Power for f32 {
    type Signed = i32;
    const LEAST_NORMAL: u32 = f32::MIN_POSITIVE.to_bits();
    const MAGIC: f32 = 12_582_912.0;
    const LARGE: f32 = Self::MAGIC / 3.0;
    fn power(a: f32, y: f32) -> f32 {
        let o = &mut Scalar;
        let subnormal = a < f32::MIN_POSITIVE;
        let (e, f) = split(o, if subnormal { (a * 8_388_608.0).to_bits() } else { a.to_bits() });
        power(o, if subnormal { e - 23.0 } else { e }, f, y)
    }
}
