//! The arguments at which full float64 precision rounds the wrong way, from the run over all 2^32 arguments of each
//! function (docs/nearest.md). The values are those of the exact reference of that run, not of any function here.

use crate::functions::error_function::{Erf, Erfc};
use crate::functions::exponential::{Exp, Exp2, ExpM1};
use crate::functions::hyperbolic::{Acosh, Asinh, Atanh, Cosh, Sinh, Tanh};
use crate::functions::inverse_trigonometric::{Acos, Asin, Atan};
use crate::functions::logarithm::{Log, Log1p, Log2, Log10};
use crate::functions::root::Cbrt;
use crate::functions::trigonometric::{Cos, Sin, Tan};

/// A function with the float32 arguments at which its value in full float64 precision rounds to another float32 than the exact
/// value.
pub(super) trait HardCases {
    /// For each such argument, its bits and the bits of the nearest float32 to the exact value.
    const CASES: &'static [(u32, u32)];
}

macro_rules! hard {
    ($($of:ident [$($case:expr),* $(,)?];)*) => {$(
        impl HardCases for $of {
            const CASES: &'static [(u32, u32)] = &[$($case),*];
        }
    )*};
}

hard! {
    Acos [(0x3288_85a3, 0x3fc9_0fdb), (0x3982_6222, 0x3fc9_07b5)];
    Acosh [(0x6558_90d3, 0x4254_d1f9), (0x6eb1_a8ec, 0x4284_5a89)];
    Asin [];
    Asinh [(0x4bdd_65a5, 0x418f_034b), (0x6558_90d3, 0x4254_d1f9), (0x6eb1_a8ec, 0x4284_5a89), (0xcbdd_65a5, 0xc18f_034b), (0xe558_90d3, 0xc254_d1f9), (0xeeb1_a8ec, 0xc284_5a89)];
    Atan [(0x3d8d_6b23, 0x3d8d_31c3), (0xbd8d_6b23, 0xbd8d_31c3)];
    Atanh [];
    Cbrt [];
    Cos [(0x5f18_b878, 0x3f7f_14bb), (0x6115_cb11, 0x3f78_142f), (0xdf18_b878, 0x3f7f_14bb), (0xe115_cb11, 0x3f78_142f)];
    Cosh [];
    Erf [];
    Erfc [(0xb76c_9f62, 0x3f80_0085)];
    Exp [];
    Exp2 [(0x3b42_9d37, 0x3f80_4385), (0xbcf3_a937, 0x3f7a_c6b1)];
    ExpM1 [];
    Log [(0x3c41_3d3a, 0xc08e_158f), (0x4117_8feb, 0x400f_e5e7), (0x4c5d_65a5, 0x418f_034b), (0x65d8_90d3, 0x4254_d1f9), (0x6f31_a8ec, 0x4284_5a89)];
    Log1p [(0x3540_0003, 0x353f_ffff), (0x3710_001b, 0x370f_fff3), (0x3efd_81ad, 0x3ecd_eee1), (0x4107_8feb, 0x400f_e5e7), (0x65d8_90d3, 0x4254_d1f9), (0x6f31_a8ec, 0x4284_5a89), (0xb53f_fffd, 0xb540_0001), (0xb70f_ffe5, 0xb710_000d), (0xbb0e_c8c4, 0xbb0e_f0a5)];
    Log2 [];
    Log10 [(0x0efe_ee7a, 0xc1e9_9d23)];
    Sin [(0x4619_9998, 0xbeb1_fa5d), (0xc619_9998, 0x3eb1_fa5d)];
    Sinh [(0x3a12_85ff, 0x3a12_85ff), (0xba12_85ff, 0xba12_85ff)];
    Tan [];
    Tanh [];
}
