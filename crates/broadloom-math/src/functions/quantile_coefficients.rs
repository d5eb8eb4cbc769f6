//! Constants of the normal quantile function. Made by `scripts/quantile_coefficients.py` (mpmath); not edited by hand.
//!
//! The format is that of `functions::coefficients`. N and D are the numerators and denominators of rational functions.
#![expect(clippy::approx_constant, reason = "they are what they look like, to the digits that count")]

/// The probability q below which the formula of the tail applies.
pub const SEAM: f64 = 0.015625;
/// About the middle of the interval of log(4q(1 − q)) for q from [`SEAM`] to 1/2.
pub const CENTRE: f64 = -1.3944910764694214;
/// The quantile divided by 1 − 2q at [`CENTRE`].
pub const CENTRE_VALUE: f64 = 1.7333459018892454;
/// The derivative of the quantile divided by 1 − 2q at [`CENTRE`].
pub const CENTRE_SLOPE: f64 = -0.35370344317911945;
/// About the quantile less r at [`SEAM`].
pub const TAIL_OFFSET: f64 = -0.6875;
/// The probability q below which the formula of the tail applies.
pub const SEAM_SINGLE: f32 = 0.03125;
/// About the middle of the interval of log(4q(1 − q)) for q from [`SEAM_SINGLE`] to 1/2.
pub const CENTRE_SINGLE: f32 = -1.0534763;
/// The quantile divided by 1 − 2q at [`CENTRE_SINGLE`].
pub const CENTRE_VALUE_SINGLE: f32 = 1.6131077;
/// The derivative of the quantile divided by 1 − 2q at [`CENTRE_SINGLE`].
pub const CENTRE_SLOPE_SINGLE: f32 = -0.3511028;
/// About the quantile less r at [`SEAM_SINGLE`].
pub const TAIL_OFFSET_SINGLE: f32 = -0.6875;
/// √½ as a double-double.
pub const ROOT_HALF: [f64; 2] = [0.7071067811865476, -4.833646656726457e-17];
/// √½ as the sum of two float32.
pub const ROOT_HALF_SINGLE: [f32; 2] = [0.70710677, 1.21016175e-08];

/// quantile/(1 − 2q) ≈ CENTRE_VALUE + d·CENTRE_SLOPE + d²·N(d)/D(d), d = log(4q(1 − q)) − CENTRE, 1/64 ≤ q ≤ 1/2; error below 2^-59.32 of the result. N:
pub const CENTRE_NUMERATOR_FULL: [f64; 7] = [
    0.0021971590344295753,
    0.0026280996950138013,
    -0.00024848304001064126,
    7.432078594843171e-05,
    -3.0052507194033502e-06,
    3.447576640734276e-07,
    -6.498663032129624e-10,
];

/// D of the same.
pub const CENTRE_DENOMINATOR_FULL: [f64; 7] = [
    1.0,
    -0.19711647817036107,
    0.05566492119693043,
    -0.00569572158581942,
    0.0006941999853151997,
    -3.0162677060747962e-05,
    1.6086683960866103e-06,
];

/// quantile/(1 − 2q) ≈ CENTRE_VALUE + d·CENTRE_SLOPE + d²·N(d)/D(d), d = log(4q(1 − q)) − CENTRE, 1/64 ≤ q ≤ 1/2; error below 2^-33.69 of the result. N:
pub const CENTRE_NUMERATOR_SHORT: [f64; 4] =
    [0.0021971595956272647, 0.002851928634180304, -9.784930661493943e-06, 7.670707298740689e-06];

/// D of the same.
pub const CENTRE_DENOMINATOR_SHORT: [f64; 4] =
    [1.0, -0.09524363393792529, 0.022370830650441903, -0.00043151427339733193];

/// quantile/(1 − 2q) ≈ CENTRE_VALUE + d·CENTRE_SLOPE + d²·N(d)/D(d), d = log(4q(1 − q)) − CENTRE, 1/32 ≤ q ≤ 1/2; error below 2^-27.94 of the result. N:
pub const CENTRE_NUMERATOR_SINGLE: [f32; 3] = [0.0054747853, 0.0029727288, 4.1028317e-05];

/// D of the same.
pub const CENTRE_DENOMINATOR_SINGLE: [f32; 3] = [1.0, -0.06503443, 0.018594583];

/// quantile ≈ r + TAIL_OFFSET + N(r)/(r·D(r)), r = √(−2·log q), 2^-1074 ≤ q ≤ 1/64; error below 2^-58.38 of the result. N:
pub const TAIL_NUMERATOR_FULL: [f64; 12] = [
    -0.04380148736272809,
    -2.186853084604745,
    -5.024024394511562,
    -2.686191849194435,
    -0.5130181976223466,
    0.14610328380790052,
    0.09024393529557564,
    0.013622813186534345,
    0.0007787379607840694,
    1.7483524140303976e-05,
    1.3857619899870527e-07,
    2.7145050112904124e-10,
];

/// D of the same.
pub const TAIL_DENOMINATOR_FULL: [f64; 11] = [
    1.0,
    4.748221808255489,
    6.245532308128738,
    3.825164440377991,
    1.3795893069943965,
    0.27917879577044835,
    0.02836143123402112,
    0.0013425229799937895,
    2.734838775610502e-05,
    2.0625158739107892e-07,
    3.952676399269892e-10,
];

/// quantile ≈ r + TAIL_OFFSET + N(r)/(r·D(r)), r = √(−2·log q), 2^-149 ≤ q ≤ 1/64; error below 2^-35.07 of the result. N:
pub const TAIL_NUMERATOR_SHORT: [f64; 6] = [
    -0.12027713618276101,
    -1.6057657286313374,
    -0.6617931474197967,
    0.21127871214383243,
    0.04588105242891687,
    0.0010736634498632084,
];

/// D of the same.
pub const TAIL_DENOMINATOR_SHORT: [f64; 5] =
    [1.0, 1.803733348019005, 0.766751632023622, 0.08037466369964961, 0.0015756567715357868];

/// quantile ≈ r + TAIL_OFFSET + N(r)/(r·D(r)), r = √(−2·log q), 2^-149 ≤ q ≤ 1/32; error below 2^-27.87 of the result. N:
pub const TAIL_NUMERATOR_SINGLE: [f32; 5] = [-0.1583028, -1.397406, 0.028887333, 0.11694547, 0.0050252764];

/// D of the same.
pub const TAIL_DENOMINATOR_SINGLE: [f32; 4] = [1.0, 1.170184, 0.22931294, 0.0074095754];
