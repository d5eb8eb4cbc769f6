//! Correctly rounded float32 instances (to nearest, ties to even) of functions whose values are approximated. The
//! option `accuracy = nearest` selects them instead of the faster functions of float32.
//!
//! A value is first computed in float64 with a relative error of at most 2^−40 ([`Near`]). The rounding to float32 is
//! then certain, unless the midpoint of two float32 is that close. For the few lanes where it is, the slow path
//! computes the function in full float64 precision. The arguments for which full precision still rounds the wrong way
//! are in a list ([`hard`]), which is complete: all 2^32 arguments were tried (docs/nearest.md). The method is A.
//! Ziv's, "Fast evaluation of elementary mathematical functions with correctly rounded last bit" (1991).

mod exponential;
mod hard;
mod hypot;
mod tie;

use std::marker::PhantomData;

use crate::functions::error_function::{Erf, Erfc, erf_of_magnitude, erfc};
use crate::functions::exponential::{Exp, Exp2, ExpM1, expm1};
use crate::functions::float64::Near;
use crate::functions::hyperbolic::{
    Acosh, Asinh, Atanh, Cosh, Sinh, Tanh, acosh, asinh, atanh, cosh, sinh, tanh,
};
use crate::functions::inverse_trigonometric::{Acos, Asin, Atan, acos, asin, atan};
use crate::functions::logarithm::{Log, Log1p, Log2, Log10, log, log1p, log2, log10};
use crate::functions::root::{Cbrt, cbrt};
use crate::functions::trigonometric::{Cos, Sin, Tan, near_cos, near_sin, near_tan};
use crate::host::Scalar;
use crate::ops::{Ops, Rare2, Unary};

use hard::HardCases;

/// The function `F` of float32, correctly rounded
#[derive(Clone, Copy, Debug)]
pub struct Nearest<F>(PhantomData<F>);

/// The slow path of `F`: the function in full float64 precision, or the listed result of a hard case.
struct Slow<F>(PhantomData<F>);

impl<F: Unary<f64, Out = f64> + HardCases> Slow<F> {
    #[inline(always)]
    fn nearest(x: f32) -> f32 {
        match F::CASES.iter().find(|case| case.0 == x.to_bits()) {
            Some(&(_, nearest)) => f32::from_bits(nearest),
            None => F::call(&mut Scalar, f64::from(x)) as f32,
        }
    }
}

impl<F: Unary<f64, Out = f64> + HardCases> Rare2<f32> for Slow<F> {
    #[inline(always)]
    fn call(x: f32, _: f32) -> f32 {
        Self::nearest(x)
    }
}

/// The slow path of functions whose fast path returns a float64, which is rounded to float32 afterwards.
impl<F: Unary<f64, Out = f64> + HardCases> Rare2<f64> for Slow<F> {
    #[inline(always)]
    fn call(x: f64, _: f64) -> f64 {
        f64::from(Self::nearest(x as f32))
    }
}

/// erf of a float32 that is not negative, in near precision.
#[inline(always)]
fn erf_of_single<O: Ops>(o: &mut O, a: O::V<f32>) -> O::V<f64> {
    let a = o.float_resize::<f32, f64>(a);
    erf_of_magnitude::<O, Near>(o, a)
}

/// erfc of a float32, in near precision.
#[inline(always)]
fn erfc_of_single<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f64> {
    let x = o.float_resize::<f32, f64>(x);
    erfc::<O, Near>(o, x)
}

/// Defines functions of one argument from their definitions in [`Near`] precision. Each row names the number of bits
/// to which the value is correct.
macro_rules! nearest {
    ($($of:ident: $way:ident $core:expr, $bits:literal;)*) => {$(
        impl Unary<f32> for Nearest<$of> {
            type Out = f32;
            #[inline(always)]
            fn call<O: Ops>(o: &mut O, x: O::V<f32>) -> O::V<f32> {
                nearest!(@$way o x $of $core, $bits)
            }
        }
    )*};
    // This rule is for functions whose results below float32's normal range are exact, or so close to the
    // argument that they round to it.
    (@normal $o:ident $x:ident $of:ident $core:expr, $bits:literal) => {{
        let x = $o.float_resize::<f32, f64>($x);
        let y = $core($o, x);
        let flagged = tie::is_near($o, y, $bits);
        let y = $o.rare2::<Slow<$of>, f64>(flagged, x, x, y);
        $o.float_resize::<f64, f32>(y)
    }};
    // This rule is for definitions that also return a mask of the lanes for which they have no value.
    (@reaching $o:ident $x:ident $of:ident $core:expr, $bits:literal) => {{
        let x = $o.float_resize::<f32, f64>($x);
        let (y, beyond) = $core($o, x);
        let flagged = tie::is_near($o, y, $bits);
        let flagged = $o.mask_or::<f64>(flagged, beyond);
        let y = $o.rare2::<Slow<$of>, f64>(flagged, x, x, y);
        $o.float_resize::<f64, f32>(y)
    }};
    // This rule is for functions whose result may be a subnormal float32, and is not negative.
    (@subnormal $o:ident $x:ident $of:ident $core:expr, $bits:literal) => {{
        let y = $core($o, $x);
        let (y, flagged) = tie::rounded($o, y, $bits);
        $o.rare2::<Slow<$of>, f32>(flagged, $x, $x, y)
    }};
    // This rule is for odd functions, which are computed from the magnitude of the argument.
    (@odd $o:ident $x:ident $of:ident $core:expr, $bits:literal) => {{
        let sign = $o.bits::<f32>($x);
        let mask = $o.splat(1_u32 << 31);
        let sign = $o.and::<u32>(sign, mask);
        let a = $o.bits::<f32>($x);
        let a = $o.xor::<u32>(a, sign);
        let a = $o.of_bits::<f32>(a);
        let y = nearest!(@subnormal $o a $of $core, $bits);
        let y = $o.bits::<f32>(y);
        let y = $o.or::<u32>(y, sign);
        $o.of_bits::<f32>(y)
    }};
}

nearest! {
    Acos: normal acos::<O, Near>, 42;
    // Just above 1, x + √(x² − 1) exceeds 1 by as little as 2^−11, and its logarithm loses bits.
    Acosh: normal acosh::<O, Near>, 40;
    Asin: normal asin::<O, Near>, 42;
    Asinh: normal asinh::<O, Near>, 42;
    Atan: normal atan::<O, Near>, 42;
    Atanh: normal atanh::<O, Near>, 42;
    Cbrt: normal cbrt::<O, Near>, 42;
    Cos: reaching near_cos::<O>, 42;
    Cosh: normal cosh::<O, Near>, 42;
    Erf: odd erf_of_single::<O>, 42;
    Erfc: subnormal erfc_of_single::<O>, 42;
    Exp: subnormal exponential::exp::<O>, 42;
    Exp2: subnormal exponential::exp2::<O>, 42;
    ExpM1: normal expm1::<O, Near>, 42;
    Log: normal log::<O, Near>, 42;
    Log1p: normal log1p::<O, Near>, 42;
    Log2: normal log2::<O, Near>, 42;
    Log10: normal log10::<O, Near>, 42;
    Sin: reaching near_sin::<O>, 42;
    Sinh: normal sinh::<O, Near>, 42;
    Tan: reaching near_tan::<O>, 42;
    Tanh: normal tanh::<O, Near>, 42;
}
