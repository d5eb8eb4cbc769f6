//! Constants of the transcendental functions. Made by `scripts/coefficients.py` (mpmath); not edited by hand.
//!
//! A polynomial's coefficients stand lowest power first. `FULL` is for float64 results, `SHORT` for float64
//! arithmetic behind a float32 or float16 result, `SINGLE` for float32 arithmetic. Bounds are of the rounded
//! coefficients, before any rounding in the evaluation.
#![expect(clippy::approx_constant, reason = "they are what they look like, to the digits that count")]

/// exp(r) ≈ 1 + r + r²·P(r), |r| ≤ 0.34658; error below 2^-61.60 of the result.
pub const EXP_FULL: [f64; 11] = [
    0.5,
    0.16666666666666688,
    0.041666666666666824,
    0.008333333333313894,
    0.0013888888888777826,
    0.00019841269903366816,
    2.4801587559663865e-05,
    2.7557228700120557e-06,
    2.7557067525181685e-07,
    2.5113901647291693e-08,
    2.0977159412331565e-09,
];

/// exp(r) ≈ 1 + r + r²·P(r), |r| ≤ 0.34658; error below 2^-33.51 of the result.
pub const EXP_SHORT: [f64; 6] = [
    0.5000000067652103,
    0.1666666383169366,
    0.0416662866584838,
    0.0083340103394736,
    0.0013945501305179084,
    0.00019492912669682907,
];

/// cosh(r) ≈ 1 + u·P(u), u = r², |r| ≤ 0.34658; error below 2^-69.98 of 1.
pub const COSH_FULL: [f64; 6] = [
    0.5,
    0.041666666666666685,
    0.0013888888888873283,
    2.4801587349203157e-05,
    2.7557251816971004e-07,
    2.0921771526313947e-09,
];

/// cosh(r) ≈ 1 + u·P(u), u = r², |r| ≤ 0.34658; error below 2^-34.30 of 1.
pub const COSH_SHORT: [f64; 3] = [0.500000007909919, 0.04166626720290364, 0.0013946220864445764];

/// sinh(r) ≈ r + r·u·P(u), u = r², |r| ≤ 0.34658; error below 2^-61.68 of r.
pub const SINH_FULL: [f64; 5] = [
    0.16666666666666677,
    0.008333333333321386,
    0.0001984126988681435,
    2.7557243456073856e-06,
    2.510931811832812e-08,
];

/// sinh(r) ≈ r + r·u·P(u), u = r², |r| ≤ 0.34658; error below 2^-37.47 of r.
pub const SINH_SHORT: [f64; 3] = [0.16666666754507986, 0.008333288968915472, 0.00019904950384997294];

/// log((1+s)/(1−s)) ≈ 2s + s·z·P(z), z = s², |s| ≤ 0.1717; error below 2^-59.47 of 2s.
pub const ATANH_FULL: [f64; 7] = [
    0.6666666666666735,
    0.3999999999940934,
    0.2857142874368995,
    0.2222219842859022,
    0.18183572374834184,
    0.15313831696978064,
    0.147982627638477,
];

/// log((1+s)/(1−s)) ≈ 2s + s·z·(2/3 + z·P(z)), z = s², |s| ≤ 0.1717; error below 2^-71.72 of 2s.
pub const ATANH_REST_FULL: [f64; 8] = [
    0.3999999999999998,
    0.28571428571443475,
    0.22222222217908946,
    0.18181818828444363,
    0.15384559548690493,
    0.1333621676151288,
    0.11676896055204276,
    0.11970916083985772,
];

/// log(1+f) ≈ f − f²/2 + f³·P(f), √½ − 1 ≤ f ≤ √2 − 1; error below 2^-35.56 of the result.
pub const LOG_SHORT: [f64; 11] = [
    0.33333333892395267,
    -0.24999997076477481,
    0.19999911252385852,
    -0.16666855062371186,
    0.14290174514419723,
    -0.12498287426959516,
    0.11014790569975896,
    -0.09924536301769746,
    0.0998847784620145,
    -0.098630788576314,
    0.05386783410533928,
];

/// sin(r) ≈ r + r·u·P(u), u = r², |r| ≤ 0.7858; error below 2^-63.24 of r.
pub const SIN_FULL: [f64; 7] = [
    -0.16666666666666666,
    0.008333333333333038,
    -0.00019841269840955878,
    2.7557319069609293e-06,
    -2.5052069605820778e-08,
    1.6054127186275412e-10,
    -7.379709308895046e-13,
];

/// sin(r) ≈ r + r·u·P(u), u = r², |r| ≤ 0.7858; error below 2^-37.56 of r.
pub const SIN_SHORT: [f64; 4] =
    [-0.16666666641527125, 0.008333329374150121, -0.00019839331005305804, 2.7182745444961913e-06];

/// cos(r) ≈ 1 − u/2 + u²·P(u), u = r², |r| ≤ 0.7858; error below 2^-62.81 of 1.
pub const COS_FULL: [f64; 6] = [
    0.0416666666666666,
    -0.0013888888888874457,
    2.4801587289652868e-05,
    -2.7557314409877473e-07,
    2.08757340512446e-09,
    -1.1360409391810121e-11,
];

/// cos(r) ≈ 1 − u/2 + u²·P(u), u = r², |r| ≤ 0.7858; error below 2^-33.27 of 1.
pub const COS_SHORT: [f64; 3] = [0.041666646807192065, -0.0013887364484405623, 2.443809076750339e-05];

/// atan(t) ≈ t + t·z·P(z), z = t², |t| ≤ 0.4144; error below 2^-60.99 of t.
pub const ATAN_FULL: [f64; 12] = [
    -0.33333333333333326,
    0.19999999999997095,
    -0.14285714285316398,
    0.11111111083745501,
    -0.09090907985851557,
    0.07692279200746834,
    -0.06666174678787716,
    0.058765164629728625,
    -0.05215181820115358,
    0.044905709510339745,
    -0.03317525547638011,
    0.014894316431058973,
];

/// atan(t) ≈ t + t·z·P(z), z = t², |t| ≤ 0.4144; error below 2^-40.23 of t.
pub const ATAN_SHORT: [f64; 7] = [
    -0.33333333296222006,
    0.19999994379099617,
    -0.14285425484095166,
    0.1110403394914586,
    -0.08997084399263215,
    0.06992186969518706,
    -0.03793924681171336,
];

/// asin(x) ≈ x + x·z·P(z), z = x², |x| ≤ 0.5001; error below 2^-59.09 of x.
pub const ASIN_FULL: [f64; 13] = [
    0.16666666666666763,
    0.07499999999970129,
    0.04464285717525462,
    0.030381942676877417,
    0.022372215858763936,
    0.01735159637967274,
    0.013981007649900583,
    0.011397384549673324,
    0.010788796352557256,
    0.0036742071666327107,
    0.02178564070266023,
    -0.021109523191510993,
    0.03269759756204778,
];

/// asin(x) ≈ x + x·z·P(z), z = x², |x| ≤ 0.5001; error below 2^-39.86 of x.
pub const ASIN_SHORT: [f64; 8] = [
    0.16666666626572083,
    0.07500005059128709,
    0.04464068130663144,
    0.030426955874200988,
    0.021861937038332942,
    0.02066454707780757,
    0.001933835915476634,
    0.032957410339499074,
];

/// exp(r) ≈ 1 + r + r²·P(r), |r| ≤ 0.34658; error below 2^-28.22 of the result.
pub const EXP_SINGLE: [f32; 5] = [0.49999994, 0.16666517, 0.041668102, 0.008369191, 0.001383884];

/// log(1+f) ≈ f − f²/2 + f³·P(f), √½ − 1 ≤ f ≤ √2 − 1; error below 2^-27.66 of the result.
pub const LOG_SINGLE: [f32; 9] = [
    0.33333313,
    -0.25000167,
    0.20002224,
    -0.16659367,
    0.14209527,
    -0.12549786,
    0.121102184,
    -0.10915131,
    0.05328627,
];

/// sin(r) ≈ r + r·u·P(u), u = r², |r| ≤ 0.7908; error below 2^-27.86 of r.
pub const SIN_SINGLE: [f32; 3] = [-0.16666654, 0.008332102, -0.00019506847];

/// cos(r) ≈ 1 − u/2 + u²·P(u), u = r², |r| ≤ 0.7908; error below 2^-33.13 of 1.
pub const COS_SINGLE: [f32; 3] = [0.041666646, -0.0013887301, 2.443067e-05];

/// ln 2: 32 bits, 32 bits, and the rest; a multiple by an integer of up to 21 bits is exact for the first two.
pub const LN2: [f64; 3] = [0.6931471803691238, 1.9082149288430703e-10, 4.275175589747649e-20];

/// ln 2 as a double-double.
pub const LN2_DD: [f64; 2] = [0.6931471805599453, 2.3190468138462996e-17];

/// 1/ln 2 as a double-double.
pub const LOG2_E: [f64; 2] = [1.4426950408889634, 2.0355273740931033e-17];

/// 1/ln 10 as a double-double.
pub const LOG10_E: [f64; 2] = [0.4342944819032518, 1.098319650216765e-17];

/// log10 2: 32 bits, 32 bits, and the rest.
pub const LOG10_2: [f64; 3] = [0.3010299955494702, 1.1451100896502087e-10, 1.519752067714119e-20];

/// ln 2 as the sum of two float32; and of one with 16 bits, whose multiples by an exponent are exact, and the rest.
pub const LN2_SINGLE: [f32; 4] = [0.6931472, -1.9046542e-09, 0.69314575, 1.4286068e-06];

/// 1/ln 2 as the sum of two float32.
pub const LOG2_E_SINGLE: [f32; 2] = [1.442695, 1.925963e-08];

/// 2/π.
pub const TWO_OVER_PI: f64 = 0.6366197723675814;

/// 2/π as float32.
pub const TWO_OVER_PI_SINGLE: f32 = 0.63661975;

/// π/2 as an unevaluated sum of three float32.
pub const HALF_PI_SINGLE: [f32; 3] = [1.5707964, -4.371139e-08, -1.7151245e-15];

/// π/2 as an unevaluated sum of three doubles.
pub const HALF_PI: [f64; 3] = [1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33];

/// 2/3 as a double-double.
pub const TWO_THIRDS: [f64; 2] = [0.6666666666666666, 3.700743415417188e-17];

/// The first 1280 bits of 2/π behind the binary point, most significant word first.
pub const TWO_OVER_PI_BITS: [u64; 20] = [
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
];
