//! The arguments at which full float64 precision rounds the wrong way, from the run over all 2^32 arguments of each
//! function (docs/nearest.md). The values are those of the exact reference of that run, not of any function here.

use crate::functions::nearest::HardCases;
use crate::functions::*;

macro_rules! hard {
    ($($of:ident [$($case:expr),* $(,)?];)*) => {$(
        impl HardCases for $of {
            const CASES: &'static [(u32, u32)] = &[$($case),*];
        }
    )*};
}

hard! {
    Acos [];
    Acosh [];
    Asin [];
    Asinh [];
    Atan [];
    Atanh [];
    Cbrt [];
    Cos [];
    Cosh [];
    Erf [];
    Erfc [];
    Exp [];
    Exp2 [];
    ExpM1 [];
    Log [];
    Log1p [];
    Log2 [];
    Log10 [];
    Sin [];
    Sinh [];
    Tan [];
    Tanh [];
}
