//! Functions of float32 at arguments where leaving out an error term would change the result.

use crate::functions::*;
use crate::host::Scalar;
use crate::ops::{Binary, Unary};

/// The error of `got` in ulps of the exact value.
fn ulps(got: f32, exact: f64) -> f64 {
    let exponent = (exact.abs().log2().floor() as i32).max(-126);
    (f64::from(got) - exact).abs() / 2f64.powi(exponent - 23)
}

fn call<F: Unary<f32, Out = f32>>(x: f32) -> f32 {
    F::call(&mut Scalar, x)
}

/// Expected values: mpmath. Odd functions are checked at −x as well.
#[test]
fn no_rounding_error_is_forgotten() {
    macro_rules! check {
        ($(($name:ident, $bits:literal, $exact:expr);)*) => {$(
            let (x, exact): (f32, f64) = (f32::from_bits($bits), $exact);
            let got = call::<$name>(x);
            let off = ulps(got, exact);
            assert!(off < 0.96, "{}({x}) is {got}, {off} ulps from {exact}", stringify!($name));
        )*};
    }
    check! {
        (Tanh, 0x410aa142, 0.9999999403989125);
        (Tanh, 0x41102cb3, 0.9999999701976511);
        (Tanh, 0x41102cb4, 0.9999999701977079);
        (Tanh, 0x3e428f32, 0.18774559977961391);
        (Tanh, 0x3e35cd90, 0.1756997528035513);
        (ExpM1, 0x418871be, 25534425.986381326);
        (ExpM1, 0x3eb42840, 0.42172309495110366);
        (ExpM1, 0x42b16666, 3.3259768301593062e+38);
        (ExpM1, 0xc18a6666, -0.9999999693305637);
        (Sinh, 0x40ff15a1, 1448.440801613587);
        (Sinh, 0x42b2cccd, 3.348862753200706e+38);
        (Sinh, 0x3e7c870f, 0.24911619701832477);
        (Cosh, 0x42a1841a, 5.911919232311806e+34);
        (Cosh, 0x42b2cccd, 3.348862753200706e+38);
        (Cosh, 0x3e99999a, 1.0453385177590253);
        (Log1p, 0x3effffff, 0.40546508823994926);
        (Log1p, 0x3ed6d7eb, 0.35038646419016595);
        (Log1p, 0xbe931195, -0.33861545302389323);
        (Log1p, 0x7149f2ca, 69.07755280486883);
        (Log1p, 0x7f70bdc2, 88.66138433696099);
        (Log10, 0x3faa52cd, 0.12406445166609548);
        (Log10, 0x3f3ffbe7, -0.12497494395859658);
        (Asinh, 0x3ece8d11, 0.39320883572723936);
        (Asinh, 0x38d1b717, 9.999999730712087e-05);
        (Asinh, 0x7f61b1e6, 89.28999300483437);
        (Asinh, 0x4e832156, 21.51172319731068);
        (Acosh, 0x3f87587d, 0.3371862989267251);
        (Acosh, 0x7f61b1e6, 89.28999300483437);
        (Acosh, 0x4e832156, 21.51172319731068);
        (Atanh, 0x3e424e06, 0.19207860819911268);
        (Atanh, 0x3f7fffff, 8.664339742098155);
        (Exp2, 0xc2fcc899, 8.959407969150572e-39);
        (Exp2, 0x42ffffff, 3.402805674127326e+38);
    }
}

/// The largest float32 whose tanh is not 1, the smallest whose tanh is 1, and one where 2^25 + 1 rounds to 2^25.
#[test]
fn tanh_is_one_from_where_it_rounds_to_it() {
    let below = 1.0 - f32::EPSILON / 2.0;
    for (x, y) in
        [(8.66437, below), (9.0, below), (9.010913, below), (9.010914, 1.0), (50.0, 1.0), (3e38, 1.0)]
    {
        assert_eq!((call::<Tanh>(x), call::<Tanh>(-x)), (y, -y), "tanh {x}");
    }
}

/// Half of each of these numbers is not a float32.
#[test]
fn subnormal_numbers_are_kept_where_the_slope_is_one() {
    for bits in [1, 2, 3, 5, 0x7f_ffff, 0x80_0001] {
        for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
            let all =
                [call::<ExpM1>(x), call::<Log1p>(x), call::<Sinh>(x), call::<Tanh>(x), call::<Asinh>(x)];
            assert_eq!(all.map(f32::to_bits), [x.to_bits(); 5], "{x:e}");
            assert_eq!(call::<Atanh>(x).to_bits(), x.to_bits(), "atanh {x:e}");
        }
    }
}

/// Operands whose terms nearly cancel, so that the fast path loses its digits; operands for which e^x2 is
/// subnormal; and sums with 0, which must stay 0. Expected values: mpmath.
#[test]
fn logaddexp_keeps_what_cancels_and_what_is_small() {
    let rows: [(f32, f32, f64); 10] = [
        (-0.0, f32::NEG_INFINITY, 0.0),
        (-std::f32::consts::LN_2, -std::f32::consts::LN_2, -1.904654299957768e-09),
        (-0.36781117, -1.2297564, -0.015507942746703963),
        (-0.012888697, -4.4881873, -0.0015662175251419065),
        (-0.34898013, -1.3767928, -0.04312270014884973),
        (0.0, -100.0, 3.720075976020836e-44),
        (0.0, -90.5, 4.9699198825226136e-40),
        (1e-30, -88.0, 1.0000000092256787e-30),
        (-12.817_415, -2.338_607_8e-6, 3.745_041_365_909_543e-7),
        (-10.719_017, -1.494_722_3e-5, 7.173_114_548_067_438e-6),
    ];
    for (x1, x2, exact) in rows {
        let got = <LogAddExp as Binary<f32>>::call(&mut Scalar, x1, x2);
        let off = if exact == 0.0 { f64::from(got) } else { ulps(got, exact) };
        assert!(off < 0.96, "logaddexp({x1}, {x2}) is {got}, {off} ulps from {exact}");
        assert_eq!(got.is_sign_negative(), exact < 0.0, "logaddexp({x1}, {x2}) is {got}");
        assert_eq!(<LogAddExp as Binary<f32>>::call(&mut Scalar, x2, x1).to_bits(), got.to_bits());
    }
}
