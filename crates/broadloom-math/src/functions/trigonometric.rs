//! sin, cos and tan of angles in radians, in float64 (`single` has the versions for float32). The reduction x = n·π/2 +
//! r leaves |r| at most slightly above π/4, with a relative error of r of at most 2^−70. Angles above [`LARGE`] take
//! the slow path through `rare`, with the reduction of M. Payne and R. Hanek (1983).

use crate::functions::coefficients::{
    COS_FULL, COS_SHORT, HALF_PI, SIN_FULL, SIN_SHORT, TWO_OVER_PI, TWO_OVER_PI_BITS,
};
use crate::functions::float64::{Float64, Full, MAGIC, Near, Precision, Short, Sum, through_float64};
use crate::functions::near_coefficients::{COS_NEAR, SIN_NEAR};
use crate::functions::{function, single};
use crate::host::Scalar;
use crate::ops::{Cmp, Ops, Rare2};

function! {
    /// The sine
    Sin
    /// The cosine
    Cos
    /// The tangent
    Tan
}

through_float64!(unary_with_single
    Sin sin single::sin::<WideSin, O>;
    Cos cos single::cos::<WideCos, O>;
    Tan tan single::tan::<WideTan, O>;
);

/// Angles up to this bound are reduced with π/2 as three doubles: n has 28 bits, so that n times the fourth double,
/// which is left out, is below 2^−136.
const LARGE: f64 = (1u64 << 28) as f64;

/// A reduced angle: x = (quadrant + 4k)·π/2 + r.
struct Angle<O: Ops> {
    quadrant: O::V<u64>,
    r: Sum<O>,
}

/// Reduces an angle from 0 to [`LARGE`].
#[inline(always)]
fn reduce<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> Angle<O> {
    let magic = o.constant(MAGIC);
    let t = o.fma_c(x, TWO_OVER_PI, magic);
    let quadrant = o.bits::<f64>(t);
    let n = o.add_c(t, -MAGIC);
    // `first` is exact, since it is below 1 and a multiple of 2^−52 or of x's last place.
    let first = o.fma_c(n, -HALF_PI[0], x);
    if !P::FULL {
        let hi = o.fma_c(n, -HALF_PI[1], first);
        return Angle { quadrant, r: o.just(hi) };
    }
    let tail = o.constant(-HALF_PI[1]);
    let second = o.two_product(n, tail);
    let r = o.two_sum(first, second.hi);
    let lo = o.add::<f64>(r.lo, second.lo);
    let lo = o.fma_c(n, -HALF_PI[2], lo);
    Angle { quadrant, r: Sum { hi: r.hi, lo } }
}

/// sin r of a reduced angle; in full precision as a sum of two doubles.
#[inline(always)]
fn sin_of_reduced<O: Ops, P: Precision>(o: &mut O, r: Sum<O>) -> Sum<O> {
    let u = o.mul::<f64>(r.hi, r.hi);
    let p = o.polynomial(u, P::pick(&SIN_FULL, &SIN_NEAR, &SIN_SHORT));
    let cube = o.mul::<f64>(u, r.hi);
    if !P::FULL {
        let hi = o.fma::<f64>(cube, p, r.hi);
        return o.just(hi);
    }
    // The derivative of sin r is cos r, approximately 1 − r²/2.
    let slope = o.constant(1.0);
    let slope = o.fma_c(u, -0.5, slope);
    let lo = o.mul::<f64>(r.lo, slope);
    let lo = o.fma::<f64>(cube, p, lo);
    Sum { hi: r.hi, lo }
}

/// cos r of a reduced angle; in full precision as a sum of two doubles.
#[inline(always)]
fn cos_of_reduced<O: Ops, P: Precision>(o: &mut O, r: Sum<O>) -> Sum<O> {
    let u = o.mul::<f64>(r.hi, r.hi);
    let p = o.polynomial(u, P::pick(&COS_FULL, &COS_NEAR, &COS_SHORT));
    if !P::FULL {
        let p = o.fma_to_c(u, p, -0.5);
        let hi = o.fma_to_c(u, p, 1.0);
        return o.just(hi);
    }
    // 1 − r²/2, rounded, and its rounding error.
    let half = o.mul_c(r.hi, -0.5);
    let hi = o.fma_to_c(half, r.hi, 1.0);
    let lost = o.c_sub(1.0, hi);
    let lo = o.fma::<f64>(half, r.hi, lost);
    let fourth = o.mul::<f64>(u, u);
    let lo = o.fma::<f64>(fourth, p, lo);
    // The derivative of cos r is −sin r, approximately −r.
    let lo = o.nfma(r.hi, r.lo, lo);
    Sum { hi, lo }
}

/// The sign bit of a double, set where bit `bit` of the quadrant is set.
#[inline(always)]
fn as_sign<O: Ops>(o: &mut O, quadrant: O::V<u64>, bit: u32) -> O::V<u64> {
    let moved = o.shl_const::<u64>(quadrant, 63 - bit);
    let mask = o.splat(1u64 << 63);
    o.and::<u64>(moved, mask)
}

/// Whether the quadrant is odd.
#[inline(always)]
fn is_odd<O: Ops>(o: &mut O, quadrant: O::V<u64>) -> O::M<f64> {
    let one = o.splat(1u64);
    let low = o.and::<u64>(quadrant, one);
    let odd = o.cmp::<u64>(Cmp::Eq, low, one);
    o.mask_resize::<u64, f64>(odd)
}

/// A function of a reduced angle, independent of which reduction computed the angle.
trait OfAngle {
    fn call<O: Ops, P: Precision>(o: &mut O, angle: Angle<O>) -> O::V<f64>;
}

/// The sine of (quadrant + `SHIFT`)·π/2 + r.
struct Sine<const SHIFT: u64>;

impl<const SHIFT: u64> OfAngle for Sine<SHIFT> {
    #[inline(always)]
    fn call<O: Ops, P: Precision>(o: &mut O, angle: Angle<O>) -> O::V<f64> {
        let shift = o.splat(SHIFT);
        let quadrant = o.add::<u64>(angle.quadrant, shift);
        let sine = sin_of_reduced::<O, P>(o, angle.r);
        let cosine = cos_of_reduced::<O, P>(o, angle.r);
        let odd = is_odd(o, quadrant);
        let hi = o.select::<f64>(odd, cosine.hi, sine.hi);
        let y = if P::FULL {
            let lo = o.select::<f64>(odd, cosine.lo, sine.lo);
            o.add::<f64>(hi, lo)
        } else {
            hi
        };
        let sign = as_sign(o, quadrant, 1);
        o.flip(y, sign)
    }
}

/// The tangent of quadrant·π/2 + r.
struct Tangent;

impl OfAngle for Tangent {
    #[inline(always)]
    fn call<O: Ops, P: Precision>(o: &mut O, angle: Angle<O>) -> O::V<f64> {
        let sine = sin_of_reduced::<O, P>(o, angle.r);
        let cosine = cos_of_reduced::<O, P>(o, angle.r);
        let odd = is_odd(o, angle.quadrant);
        // sin/cos in even quadrants, −cos/sin in odd ones.
        let above = o.select::<f64>(odd, cosine.hi, sine.hi);
        let below = o.select::<f64>(odd, sine.hi, cosine.hi);
        let y = if P::FULL {
            let above_lo = o.select::<f64>(odd, cosine.lo, sine.lo);
            let below_lo = o.select::<f64>(odd, sine.lo, cosine.lo);
            let above = o.fast_two_sum(above, above_lo);
            let below = o.fast_two_sum(below, below_lo);
            let y = o.sum_div(above, below);
            o.rounded(y)
        } else {
            o.div::<f64>(above, below)
        };
        let sign = as_sign(o, angle.quadrant, 0);
        o.flip(y, sign)
    }
}

/// The function of a magnitude, and a mask of the lanes above [`LARGE`], whose value is invalid.
#[inline(always)]
fn of_reducible<F: OfAngle, O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> (O::V<f64>, O::M<f64>) {
    let angle = reduce::<O, P>(o, x);
    let y = F::call::<O, P>(o, angle);
    let large = o.is(x, Cmp::Gt, LARGE);
    (y, large)
}

/// The function of a magnitude, which is computed by [`Huge`] above [`LARGE`].
#[inline(always)]
fn of_magnitude<F: OfAngle, O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let (y, large) = of_reducible::<F, O, P>(o, x);
    // For an infinite x the value is NaN already, so the slow path is not taken.
    let finite = o.is(x, Cmp::Lt, f64::INFINITY);
    let large = o.mask_and::<f64>(large, finite);
    o.rare2::<Huge<F>, f64>(large, x, x, y)
}

#[inline(always)]
fn sin<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    let y = of_magnitude::<Sine<0>, O, P>(o, a);
    let sign = o.sign_of(x);
    o.flip(y, sign)
}

#[inline(always)]
fn cos<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    of_magnitude::<Sine<1>, O, P>(o, a)
}

#[inline(always)]
fn tan<O: Ops, P: Precision>(o: &mut O, x: O::V<f64>) -> O::V<f64> {
    let a = o.abs(x);
    let y = of_magnitude::<Tangent, O, P>(o, a);
    let sign = o.sign_of(x);
    o.flip(y, sign)
}

/// Computes sin x in float64, so accurately that rounding the result gives the nearest float32. Also returns a mask of the
/// lanes that must take the slow path because their angle is large or infinite.
#[inline(always)]
pub(crate) fn near_sin<O: Ops>(o: &mut O, x: O::V<f64>) -> (O::V<f64>, O::M<f64>) {
    let a = o.abs(x);
    let (y, large) = of_reducible::<Sine<0>, O, Near>(o, a);
    let sign = o.sign_of(x);
    (o.flip(y, sign), large)
}

/// cos x, and a mask of the lanes that must take the slow path, like [`near_sin`].
#[inline(always)]
pub(crate) fn near_cos<O: Ops>(o: &mut O, x: O::V<f64>) -> (O::V<f64>, O::M<f64>) {
    let a = o.abs(x);
    of_reducible::<Sine<1>, O, Near>(o, a)
}

/// tan x, and a mask of the lanes that must take the slow path, like [`near_sin`].
#[inline(always)]
pub(crate) fn near_tan<O: Ops>(o: &mut O, x: O::V<f64>) -> (O::V<f64>, O::M<f64>) {
    let a = o.abs(x);
    let (y, large) = of_reducible::<Tangent, O, Near>(o, a);
    let sign = o.sign_of(x);
    (o.flip(y, sign), large)
}

/// The slow path of float32's sin, for angles that are too large for the reduction in float32.
struct WideSin;

impl Rare2<f32> for WideSin {
    #[inline(always)]
    fn call(x: f32, _: f32) -> f32 {
        sin::<Scalar, Short>(&mut Scalar, f64::from(x)) as f32
    }
}

/// The slow path of float32's cos, for angles that are too large for the reduction in float32.
struct WideCos;

impl Rare2<f32> for WideCos {
    #[inline(always)]
    fn call(x: f32, _: f32) -> f32 {
        cos::<Scalar, Short>(&mut Scalar, f64::from(x)) as f32
    }
}

/// The slow path of float32's tan, for angles that are too large for the reduction in float32.
struct WideTan;

impl Rare2<f32> for WideTan {
    #[inline(always)]
    fn call(x: f32, _: f32) -> f32 {
        tan::<Scalar, Short>(&mut Scalar, f64::from(x)) as f32
    }
}

/// The slow path of `F`, for angles above [`LARGE`].
struct Huge<F>(std::marker::PhantomData<F>);

impl<F: OfAngle> Rare2<f64> for Huge<F> {
    #[inline(always)]
    fn call(x: f64, _: f64) -> f64 {
        F::call::<Scalar, Full>(&mut Scalar, reduce_huge(x))
    }
}

/// Reduces a finite angle of at least 2^28 with 256 bits of 2/π.
///
/// x is m·2^e with an integer m of 53 bits. Two groups of bits of 2/π don't matter: those whose product with x is a multiple of
/// 4, and those far behind the binary point. Of the 256 bits that are taken, 2 hold the quadrant, and 254 − 53 remain exact
/// behind the point; at most 62 of them are lost for the double that is closest to a multiple of π/2.
fn reduce_huge(x: f64) -> Angle<Scalar> {
    let bits = x.to_bits();
    let m = (bits & ((1 << 52) - 1)) | (1 << 52);
    let e = ((bits >> 52) & 0x7ff) as i32 - 1075;
    // The index of the first bit that is taken. The numbering begins 64 bits before the binary point, in a
    // word of zeros: bit 0 has weight 2^63.
    let skip = (e - 2 + 64) as u32 as usize;
    let word = |k: usize| if k == 0 { 0 } else { TWO_OVER_PI_BITS.get(k - 1).copied().unwrap_or(0) };
    let (at, shift) = (skip / 64, skip % 64);
    let window = [0, 1, 2, 3].map(|k| {
        let pair = (u128::from(word(at + k)) << 64) | u128::from(word(at + k + 1));
        (pair >> (64 - shift)) as u64
    });
    // m · window modulo 2^256, the most significant word first.
    let mut product = [0u64; 4];
    let mut carry = 0u128;
    for k in (0..4).rev() {
        let part = u128::from(window[k]) * u128::from(m) + carry;
        product[k] = part as u64;
        carry = part >> 64;
    }
    let high = (u128::from(product[0]) << 64) | u128::from(product[1]);
    let low = (u128::from(product[2]) << 64) | u128::from(product[3]);
    let mut quadrant = (high >> 126) as u64;
    // The fraction, in the upper bits of a 256-bit integer. If it is 1/2 or more, it is replaced by the distance to the next
    // quadrant.
    let mut fraction = (high << 2 | low >> 126, low << 2);
    let negative = fraction.0 >> 127 == 1;
    if negative {
        quadrant += 1;
        let (rest, borrow) = 0u128.overflowing_sub(fraction.1);
        fraction = (0u128.wrapping_sub(fraction.0).wrapping_sub(u128::from(borrow)), rest);
    }
    // The leading 106 bits of the fraction as a sum of two doubles, times π/2.
    let zeros = fraction.0.leading_zeros().min(127);
    let top = if zeros == 0 { fraction.0 } else { (fraction.0 << zeros) | (fraction.1 >> (128 - zeros)) };
    let unit = f64::from_bits(u64::from(1023 - 53 - zeros) << 52);
    let hi = (top >> 75) as f64 * unit;
    let lo = ((top >> 22) as u64 & ((1 << 53) - 1)) as f64 * (unit * f64::from_bits((1023 - 53) << 52));
    let mut r = Scalar.sum_mul_c(Sum { hi, lo }, [HALF_PI[0], HALF_PI[1]]);
    if negative {
        r = Sum { hi: -r.hi, lo: -r.lo };
    }
    Angle { quadrant, r }
}
