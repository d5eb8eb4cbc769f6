//! Functions of float32 in float32 arithmetic, for which a vector has twice the lanes of float64.
//! The leading terms are carried exactly, so that less than half an ulp is added to the last rounding, as measured
//! over all 2^32 arguments (docs/accuracy.md). The modules of the functions in float64 name the sources.

mod exponential;
mod half;
mod logarithm;
mod trigonometric;

pub(crate) use exponential::exp;
pub(crate) use half::exp_half;
pub(crate) use logarithm::{log, log2};
pub(crate) use trigonometric::{cos, sin};

use crate::ops::Ops;

/// A value of float32.
type F<O> = <O as Ops>::V<f32>;
