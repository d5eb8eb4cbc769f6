//! Tests that functions of float32 are computed in float32 arithmetic, and how far their results are from the
//! exact values. The float64 functions of the standard library serve as exact values, for a part of the
//! arguments; `docs/accuracy.md` covers all arguments.

use broadloom_math::functions::{
    Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cbrt, Cosh, Erf, ErfInv, Erfc, Exp, Exp2, ExpM1, Hypot,
    Log, Log1p, Log2, Log10, LogAddExp, Ndtri, Sinh, Tan, Tanh,
};
use broadloom_math::record::{Inst, Recorder, Sink, Var};
use broadloom_math::{Binary, DType, Scalar, Unary};

/// Records the dtypes of a function's primitives.
#[derive(Default)]
struct Dtypes(Vec<DType>);

impl Sink for Dtypes {
    fn push(&mut self, inst: Inst) -> Var {
        self.0.push(inst.dtype);
        Var(self.0.len() as u32 - 1)
    }
}

fn dtypes_of_unary<F: Unary<f32>>() -> Vec<DType> {
    let mut dtypes = Dtypes::default();
    F::call(&mut Recorder::new(&mut dtypes), Var(0));
    dtypes.0
}

fn dtypes_of_binary<F: Binary<f32>>() -> Vec<DType> {
    let mut dtypes = Dtypes::default();
    F::call(&mut Recorder::new(&mut dtypes), Var(0), Var(1));
    dtypes.0
}

#[test]
fn no_lane_is_wider_than_float32() {
    let all = [
        ("acos", dtypes_of_unary::<Acos>()),
        ("asin", dtypes_of_unary::<Asin>()),
        ("atan", dtypes_of_unary::<Atan>()),
        ("cbrt", dtypes_of_unary::<Cbrt>()),
        ("erf", dtypes_of_unary::<Erf>()),
        ("erfc", dtypes_of_unary::<Erfc>()),
        ("erfinv", dtypes_of_unary::<ErfInv>()),
        ("ndtri", dtypes_of_unary::<Ndtri>()),
        ("tan", dtypes_of_unary::<Tan>()),
        ("acosh", dtypes_of_unary::<Acosh>()),
        ("asinh", dtypes_of_unary::<Asinh>()),
        ("atanh", dtypes_of_unary::<Atanh>()),
        ("cosh", dtypes_of_unary::<Cosh>()),
        ("exp", dtypes_of_unary::<Exp>()),
        ("exp2", dtypes_of_unary::<Exp2>()),
        ("expm1", dtypes_of_unary::<ExpM1>()),
        ("log", dtypes_of_unary::<Log>()),
        ("log1p", dtypes_of_unary::<Log1p>()),
        ("log2", dtypes_of_unary::<Log2>()),
        ("log10", dtypes_of_unary::<Log10>()),
        ("sinh", dtypes_of_unary::<Sinh>()),
        ("tanh", dtypes_of_unary::<Tanh>()),
        ("atan2", dtypes_of_binary::<Atan2>()),
        ("logaddexp", dtypes_of_binary::<LogAddExp>()),
        ("hypot", dtypes_of_binary::<Hypot>()),
    ];
    for (name, dtypes) in all {
        assert!(dtypes.iter().all(|dtype| dtype.size() == 4), "{name} computes in {dtypes:?}");
    }
}

/// |got − exact| in ulps of float32 at the exact value. The ulp is at least that of subnormals. Infinity, and
/// numbers beyond the largest float32, count as 2^128.
fn ulps(got: f32, exact: f64) -> f64 {
    let beyond = 2.0f64.powi(128);
    let (got, exact) = (f64::from(got).clamp(-beyond, beyond), exact.clamp(-beyond, beyond));
    let exponent = (exact.abs().to_bits() >> 52) as i64 - 1023;
    let unit = 2.0f64.powi(exponent.max(-126) as i32 - 23);
    (got - exact).abs() / unit
}

/// Arguments of all magnitudes and both signs, an odd number of float32 apart.
fn arguments() -> impl Iterator<Item = f32> {
    (0..f32::INFINITY.to_bits()).step_by(10_007).flat_map(|bits| {
        let x = f32::from_bits(bits);
        [x, -x]
    })
}

fn within<F: Unary<f32, Out = f32>>(name: &str, bound: f64, exact: impl Fn(f64) -> f64) {
    for x in arguments() {
        let (got, exact) = (F::call(&mut Scalar, x), exact(f64::from(x)));
        assert_eq!(got.is_nan(), exact.is_nan(), "{name}({x:e}) is {got:e}");
        let error = ulps(got, exact);
        assert!(got.is_nan() || error <= bound, "{name}({x:e}) is {got:e}, off by {error} ulps");
    }
}

#[test]
fn results_are_within_four_fifths_of_an_ulp() {
    within::<Acos>("acos", 0.8, f64::acos);
    within::<Asin>("asin", 0.8, f64::asin);
    within::<Atan>("atan", 0.8, f64::atan);
    within::<Cbrt>("cbrt", 0.8, f64::cbrt);
    within::<Tan>("tan", 0.8, f64::tan);
    // The standard library has no erf and no inverses, so broadloom's functions of float64 are used.
    within::<Erf>("erf", 0.8, |x| <Erf as Unary<f64>>::call(&mut Scalar, x));
    within::<Erfc>("erfc", 0.9, |x| <Erfc as Unary<f64>>::call(&mut Scalar, x));
    within::<ErfInv>("erfinv", 0.85, |x| <ErfInv as Unary<f64>>::call(&mut Scalar, x));
    within::<Ndtri>("ndtri", 0.9, |x| <Ndtri as Unary<f64>>::call(&mut Scalar, x));
}

#[test]
fn results_of_exponentials_and_logarithms_are_within_an_ulp() {
    within::<Exp>("exp", 0.85, f64::exp);
    within::<Exp2>("exp2", 0.8, f64::exp2);
    within::<ExpM1>("expm1", 0.95, f64::exp_m1);
    within::<Log>("log", 0.75, f64::ln);
    within::<Log1p>("log1p", 0.85, f64::ln_1p);
    within::<Log2>("log2", 0.95, f64::log2);
    within::<Log10>("log10", 0.85, f64::log10);
    within::<Sinh>("sinh", 0.97, f64::sinh);
    within::<Cosh>("cosh", 0.85, f64::cosh);
    within::<Tanh>("tanh", 0.6, f64::tanh);
    within::<Asinh>("asinh", 0.9, f64::asinh);
    within::<Acosh>("acosh", 0.8, f64::acosh);
    within::<Atanh>("atanh", 0.85, f64::atanh);
}

/// Checks that a function does not decrease from one float32 to the next: for the float32 around the points
/// where the argument reduction changes its multiple, and for some of every magnitude.
fn grows<F: Unary<f32, Out = f32>>(name: &str) {
    let thirds = [1.0, 2.0 / 3.0, 3.0 / 4.0];
    let steps = [1.0, std::f64::consts::LN_2, std::f64::consts::LN_2 / 2.0];
    let halves = (1..40).flat_map(|k| steps.map(|step| (f64::from(k) / 2.0 * step) as f32));
    let powers = (-20..20).flat_map(|k| thirds.map(|third| (2.0f64.powi(k) * third) as f32));
    let beside_one = (-20..20).flat_map(|k| thirds.map(|third| (2.0f64.powi(k) * third - 1.0) as f32));
    let all = halves.chain(powers).chain(beside_one).chain(arguments().step_by(97));
    for start in all.flat_map(|x| [x, -x]) {
        let mut x = start;
        let mut y = F::call(&mut Scalar, x);
        for _ in 0..200 {
            let (next, below) = (x.next_up(), y);
            (x, y) = (next, F::call(&mut Scalar, next));
            assert!(
                y.is_nan() || below.is_nan() || below <= y,
                "{name} falls from {below:e} to {y:e} at {x:e}"
            );
        }
    }
}

#[test]
fn exponentials_and_logarithms_grow() {
    grows::<Exp>("exp");
    grows::<Exp2>("exp2");
    grows::<ExpM1>("expm1");
    grows::<Log>("log");
    grows::<Log1p>("log1p");
    grows::<Log2>("log2");
    grows::<Log10>("log10");
    grows::<Sinh>("sinh");
    grows::<Tanh>("tanh");
    grows::<Asinh>("asinh");
    grows::<Acosh>("acosh");
    grows::<Atanh>("atanh");
}

#[test]
fn results_of_pairs_are_within_four_fifths_of_an_ulp() {
    let pairs = || arguments().step_by(301).flat_map(|y| arguments().step_by(331).map(move |x| (y, x)));
    let close = || arguments().flat_map(|y| [1.0f32, 0.4999, 0.51, 3.1].map(|k| (y, y * k)));
    for (y, x) in pairs().chain(close()).filter(|(y, x)| y.is_finite() && x.is_finite()) {
        let (a, b) = (f64::from(y), f64::from(x));
        let got = <Atan2 as Binary<f32>>::call(&mut Scalar, y, x);
        let error = ulps(got, a.atan2(b));
        assert!(error <= 0.8, "atan2({y:e}, {x:e}) is {got:e}, off by {error} ulps");
        let got = <Hypot as Binary<f32>>::call(&mut Scalar, y, x);
        let error = ulps(got, a.hypot(b));
        let overflow = got == f32::INFINITY && a.hypot(b) >= 3.402_823_567_797_336_6e38;
        assert!(overflow || error <= 0.8, "hypot({y:e}, {x:e}) is {got:e}, off by {error} ulps");
    }
}
