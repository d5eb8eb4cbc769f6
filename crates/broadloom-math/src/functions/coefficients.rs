//! Constants of the transcendental functions. Made by `scripts/coefficients.py` (mpmath); not edited by hand.
//!
//! The coefficients of a polynomial are listed lowest power first. `FULL` tables are for float64 results, `SHORT`
//! tables for float64 arithmetic whose result is rounded to float32 or float16, `SINGLE` tables for float32 arithmetic.
//! The error bounds hold for the rounded coefficients and leave out the rounding errors of the evaluation.
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

/// tanh(r) ≈ r + r·z·P(z), z = r², |r| ≤ 0.17929; error below 2^-57.08 of r.
pub const TANH_FULL: [f64; 6] = [
    -0.33333333333332066,
    0.13333333332565322,
    -0.05396825241822375,
    0.021869344596110136,
    -0.008856465891162136,
    0.003434799991031457,
];

/// tanh(r) ≈ r + r·z·P(z), z = r², |r| ≤ 0.17929; error below 2^-32.17 of r.
pub const TANH_SHORT: [f64; 3] = [-0.33333320373675585, 0.13330877731729754, -0.05264200238002171];

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

/// 1/∛(1+f) ≈ P(f), √½ − 1 ≤ f ≤ √2 − 1; error below 2^-14.69 of the result.
pub const CBRT_START: [f64; 5] =
    [0.9999765839311043, -0.3329015845239672, 0.2243626966236789, -0.18890907279770222, 0.12836948937843592];

/// erf(x) ≈ x + x·(ERF_SLOPE + u·P(u)), u = x², |x| ≤ 1; error below 2^-62.52 of the result.
pub const ERF_FULL: [f64; 13] = [
    -0.37612638903183754,
    0.11283791670955214,
    -0.026866170645151382,
    0.005223977625673726,
    -0.0008548327039046026,
    0.00012055333648882676,
    -1.4925669291365846e-05,
    1.6462477646648714e-06,
    -1.6370539055797619e-07,
    1.484668198560437e-08,
    -1.2486762755986243e-09,
    9.822590607881225e-11,
    -5.933227260094733e-12,
];

/// erf(x) ≈ x + x·(ERF_SLOPE + u·P(u)), u = x², |x| ≤ 1; error below 2^-34.69 of the result.
pub const ERF_SHORT: [f64; 7] = [
    -0.3761263858123656,
    0.11283783572579152,
    -0.026865476182271385,
    0.005221131046573233,
    -0.0008485249726504314,
    0.00011273024211560937,
    -9.684223388237611e-06,
];

/// erf(x) ≈ 1 − exp(−x²)·(ERF_CENTRE + t·P(t)), t = (x−2)/(x+2), 1 ≤ x ≤ 6; error below 2^-58.11 of 1.
pub const ERF_FAR_FULL: [f64; 13] = [
    -0.4271858474139626,
    0.24165819424239993,
    -0.07897858101568662,
    0.00373289241021504,
    0.0069974618018849594,
    -0.0008471428300587804,
    -0.000981977105963331,
    4.3534790190351154e-05,
    0.00017426346449457304,
    2.755116873959574e-05,
    -2.6413739379966482e-05,
    -1.1578982118612895e-05,
    1.1678267249109537e-06,
];

/// erf(x) ≈ 1 − exp(−x²)·(ERF_CENTRE + t·P(t)), t = (x−2)/(x+2), 1 ≤ x ≤ 6; error below 2^-43.52 of 1.
pub const ERF_FAR_SHORT: [f64; 8] = [
    -0.42718584757820144,
    0.24165819165729494,
    -0.07897856710405138,
    0.0037332963589241947,
    0.006999170468017838,
    -0.0008522890768007662,
    -0.0010404663305005602,
    -0.00012149410536244065,
];

/// erfc(x) ≈ exp(−x²)·(ERFC_CENTRE + t·P(t))/(1 + 9x/8), t = (x−4)/(x+4), 0 ≤ x ≤ 28; error below 2^-58.66 of the result.
pub const ERFC_FULL: [f64; 26] = [
    -0.1918791495553915,
    0.10434091383446467,
    -0.03355820178680803,
    -0.00916308453341351,
    0.025115050344192976,
    -0.023617493542050217,
    0.015287501100906584,
    -0.007334860078151597,
    0.002480865134088251,
    -0.00043576817265561567,
    -7.752676106371452e-05,
    7.485611157378143e-05,
    -1.455720306089805e-05,
    -5.0229714053644515e-06,
    3.033102929230053e-06,
    3.8048557518352823e-08,
    -4.233089942841317e-07,
    5.779195223546228e-08,
    5.8019545311764303e-08,
    -1.5726040041131593e-08,
    -1.1041810542908771e-08,
    3.3775029423751224e-09,
    3.6195755664300766e-09,
    -7.154786212353584e-11,
    -9.317492152896275e-10,
    -2.742648619255599e-10,
];

/// erfc(x) ≈ exp(−x²)·(ERFC_CENTRE + t·P(t))/(1 + 9x/8), t = (x−4)/(x+4), 0 ≤ x ≤ 10.5; error below 2^-35.46 of the result.
pub const ERFC_SHORT: [f64; 13] = [
    -0.19187914987914254,
    0.10434091382921198,
    -0.03355817968309014,
    -0.009163072231935143,
    0.02511462548765749,
    -0.023617955052572845,
    0.015290762655994404,
    -0.007329478832877766,
    0.002471410117338177,
    -0.0004602723415154345,
    -7.784919904456418e-05,
    0.00011186159188286777,
    1.739437917484595e-05,
];

/// exp(r) ≈ 1 + r + r²·P(r), |r| ≤ 0.34658; error below 2^-28.22 of the result.
pub const EXP_SINGLE: [f32; 5] = [0.49999994, 0.16666517, 0.041668102, 0.008369191, 0.001383884];

/// expm1(r) ≈ r + r²·P(r), |r| ≤ 0.34658; error below 2^-31.02 of the result.
pub const EXPM1_SINGLE: [f32; 6] = [0.5, 0.16666666, 0.04166647, 0.008333634, 0.0013934614, 0.00019674635];

/// cosh(r) ≈ 1 + u·P(u), u = r², |r| ≤ 0.34658; error below 2^-33.18 of 1.
pub const COSH_SINGLE: [f32; 3] = [0.5, 0.041666463, 0.0013935085];

/// sinh(r) ≈ r + r·u·P(u), u = r², |r| ≤ 0.34658; error below 2^-34.30 of r.
pub const SINH_SINGLE: [f32; 3] = [0.16666667, 0.008333177, 0.00019971881];

/// tanh(r) ≈ r + r·z·P(z), z = r², |r| ≤ 0.17929; error below 2^-32.03 of r.
pub const TANH_SINGLE: [f32; 3] = [-0.3333332, 0.13330759, -0.05261045];

/// log(1+f) ≈ f − f²/2 + f³·P(f), −1/4 ≤ f ≤ 1/2; error below 2^-27.55 of the result.
pub const LOG_SINGLE: [f32; 8] =
    [0.3333345, -0.25000098, 0.19990842, -0.16647272, 0.14478369, -0.13161066, 0.10462863, -0.045075063];

/// log(1+f) ≈ f − f²/2 + f³·P(f), |f| ≤ 1/3; error below 2^-27.66 of the result.
pub const LOG_CENTRED_SINGLE: [f32; 8] =
    [0.33333215, -0.24999797, 0.20010419, -0.1668049, 0.14005882, -0.12184269, 0.13983881, -0.12891705];

/// log((1+s)/(1−s)) ≈ 2s + s·z·P(z), z = s², |s| ≤ 0.1939; error below 2^-34.88 of 2s.
pub const ATANH_SINGLE: [f32; 4] = [0.6666666, 0.40000805, 0.28513524, 0.23970433];

/// sin(r) ≈ r + r·u·P(u), u = r², |r| ≤ 0.7908; error below 2^-27.86 of r.
pub const SIN_SINGLE: [f32; 3] = [-0.16666654, 0.008332102, -0.00019506847];

/// cos(r) ≈ 1 − u/2 + u²·P(u), u = r², |r| ≤ 0.7908; error below 2^-33.13 of 1.
pub const COS_SINGLE: [f32; 3] = [0.041666646, -0.0013887301, 2.443067e-05];

/// log2((1+s)/(1−s)) ≈ s·P(z), z = s², |s| ≤ 0.1717; error below 2^-37.78 of the result.
pub const POWER_LOG2_SHORT: [f64; 5] =
    [2.885390081790142, 0.9617966732662515, 0.5770836003445322, 0.4116717444771492, 0.3407490131040757];

/// 2^r ≈ 1 + r·P(r), |r| ≤ 0.5; error below 2^-28.53 of the result.
pub const POWER_EXP2_SHORT: [f64; 6] = [
    0.6931472149690759,
    0.24022652783224394,
    0.05550310548719962,
    0.009617692918670888,
    0.00134066446812422,
    0.00015594694939242545,
];

/// 2·tan(r/2) ≈ r + r·u·P(u), u = r², |r| ≤ 0.7908; error below 2^-28.40 of the result.
pub const TAN_SINGLE: [f32; 4] = [0.083333224, 0.008335012, 0.00083528616, 0.00010008375];

/// atan(t) ≈ t + t·z·P(z), z = t², |t| ≤ 1/2; error below 2^-27.52 of t.
pub const ATAN_SINGLE: [f32; 5] = [-0.33333236, 0.19994287, -0.14175692, 0.101630464, -0.051372427];

/// asin(x) ≈ x + x·z·P(z), z = x², |x| ≤ 1/2; error below 2^-27.58 of x.
pub const ASIN_SINGLE: [f32; 5] = [0.16666754, 0.07495252, 0.04547604, 0.024152089, 0.042211816];

/// (1 − h)^(−2/3) ≈ P(h), |h| ≤ 0.1035; error below 2^-17.21 of the result.
pub const CBRT_SINGLE: [f32; 4] = [0.99999344, 0.6666553, 0.5604467, 0.49904594];

/// erf(x) ≈ x + x·(ERF_SLOPE + u·P(u)), u = x², |x| ≤ 0.814; error below 2^-27.71 of the result.
pub const ERF_SINGLE: [f32; 5] = [-0.37612608, 0.11283133, -0.026820088, 0.0050817286, -0.0006503168];

/// erf(x) ≈ 1 − 2^(ERFC_LOG_THERE + v·P(v)), v = x − ERFC_LOG_POINT, 0.81 ≤ x ≤ 4; error below 2^-28.64 of 1.
pub const ERFC_LOG_SINGLE: [f32; 6] =
    [-3.59836, -1.2001332, -0.06515596, 0.015648987, -0.002908092, 0.0002990266];

/// erfc(x) ≈ exp(−x²)·w·(ERFC_SINGLE_THERE + t·P(t)), w = 1/(1 + x), t = w − ERFC_SINGLE_POINT, 0.59 ≤ x ≤ 10.2; error below 2^-28.90 of the result.
pub const ERFC_SINGLE: [f32; 10] = [
    0.59956455,
    -0.20083167,
    -0.5074341,
    0.46977708,
    0.4176944,
    -1.1992149,
    0.5450575,
    1.6844186,
    -3.1779778,
    1.8039962,
];

/// 2^f ≈ 1 + f·P(f), |f| ≤ 1/2; error below 2^-28.31 of the result.
pub const EXP2_SINGLE: [f32; 6] =
    [0.6931472, 0.24022648, 0.055503596, 0.009618499, 0.0013390977, 0.00015329361];

/// ln 2 as a sum of 32 bits, 32 bits and the rest; products of the first two with integers of up to 21 bits are exact.
pub const LN2: [f64; 3] = [0.6931471803691238, 1.9082149288430703e-10, 4.275175589747649e-20];

/// ln 2 as a double-double.
pub const LN2_DD: [f64; 2] = [0.6931471805599453, 2.3190468138462996e-17];

/// 1/ln 2 as a double-double.
pub const LOG2_E: [f64; 2] = [1.4426950408889634, 2.0355273740931033e-17];

/// 1/ln 10 as a double-double.
pub const LOG10_E: [f64; 2] = [0.4342944819032518, 1.098319650216765e-17];

/// log10 2 as a sum of 32 bits, 32 bits and the rest.
pub const LOG10_2: [f64; 3] = [0.3010299955494702, 1.1451100896502087e-10, 1.519752067714119e-20];

/// ln 2 as the sum of two float32, and as the sum of a 16-bit number, whose products with exponents are exact, and the rest.
pub const LN2_SINGLE: [f32; 4] = [0.6931472, -1.9046542e-09, 0.69314575, 1.4286068e-06];

/// 1/ln 2 as the sum of two float32.
pub const LOG2_E_SINGLE: [f32; 2] = [1.442695, 1.925963e-08];

/// log10 2 as a sum of two float32; the first has 16 bits, so that its products with exponents are exact.
pub const LOG10_2_SINGLE: [f32; 2] = [0.3010254, 4.605039e-06];

/// 1/ln 10 as the sum of two float32.
pub const LOG10_E_SINGLE: [f32; 2] = [0.4342945, -1.010305e-08];

/// 2/π.
pub const TWO_OVER_PI: f64 = 0.6366197723675814;

/// 2/π as float32.
pub const TWO_OVER_PI_SINGLE: f32 = 0.63661975;

/// π/2 as an unevaluated sum of three float32.
pub const HALF_PI_SINGLE: [f32; 3] = [1.5707964, -4.371139e-08, -1.7151245e-15];

/// π/2 as an unevaluated sum of three doubles.
pub const HALF_PI: [f64; 3] = [1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33];

/// ∛½, ∛2.
pub const CBRT_HALF: [f64; 2] = [0.7937005259840998, 1.2599210498948732];

/// 2/√π − 1.
pub const ERF_SLOPE: f64 = 0.1283791670955126;

/// 2/√π − 1 as float32.
pub const ERF_SLOPE_SINGLE: f32 = 0.12837917;

/// The argument around which log2(erfc(x)) is approximated; its value there is close to a float32.
pub const ERFC_LOG_POINT: f32 = 0.9135742;

/// log2(erfc(x)) at [`ERFC_LOG_POINT`] as a float32, which differs from the exact value by 2^-29.
pub const ERFC_LOG_THERE: f32 = -2.3484201;

/// The point 1/(1 + x) around which erfc(x)·exp(x²)·(1 + x) is approximated; its value there is close to a float32.
pub const ERFC_SINGLE_POINT: f32 = 0.30078125;

/// erfc(x)·exp(x²)·(1 + x) at [`ERFC_SINGLE_POINT`] as a float32, which differs from the exact value by 2^-31.
pub const ERFC_SINGLE_THERE: f32 = 0.7468997;

/// exp(4)·erfc(2).
pub const ERF_CENTRE: f64 = 0.25539567631050575;

/// 11/2·exp(16)·erfc(4) as a double-double.
pub const ERFC_CENTRE: [f64; 2] = [0.7534970169378377, -1.5930026465884867e-17];

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
