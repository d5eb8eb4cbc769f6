//! Functions of float32 in float32 arithmetic, where a vector has twice as many lanes as in float64. The leading terms
//! are carried exactly, so that less than half an ulp is added to the error of the last rounding, as measured over all
//! 2^32 arguments (docs/accuracy.md). The modules with the float64 functions name the sources.

mod error_function;
mod exponential;
mod float32;
mod half;
mod hyperbolic;
mod hypotenuse;
mod inverse_hyperbolic;
mod inverse_trigonometric;
mod logarithm;
mod normal_quantile;
mod root;
mod sum_of_exponentials;
mod tangent;
mod trigonometric;

#[cfg(test)]
mod tests;

pub(crate) use error_function::{erf, erfc};
pub(crate) use exponential::{exp, exp2, expm1};
pub(crate) use half::exp_half;
pub(crate) use hyperbolic::{cosh, sinh, tanh};
pub(crate) use hypotenuse::hypot;
pub(crate) use inverse_hyperbolic::{acosh, asinh, atanh};
pub(crate) use inverse_trigonometric::{acos, asin, atan, atan2};
pub(crate) use logarithm::{log, log1p, log2, log10};
pub(crate) use normal_quantile::{erfinv, ndtri};
pub(crate) use root::cbrt;
pub(crate) use sum_of_exponentials::logaddexp;
pub(crate) use tangent::tan;
pub(crate) use trigonometric::{cos, sin};

use crate::ops::Ops;

/// A value of float32.
type F<O> = <O as Ops>::V<f32>;
