//! Functions of float32 that are computed in float32 arithmetic: that they are, and how far from the exact value, here against the
//! float64 functions of the host's C library at a part of the arguments. `docs/accuracy.md` has all of them.

use broadloom_math::functions::{Acos, Asin, Atan, Atan2, Cbrt, Erf, Erfc, Hypot, Tan};
use broadloom_math::record::{Inst, Recorder, Sink, Var};
use broadloom_math::{Binary, DType, Scalar, Unary};

/// Keeps the dtypes that are computed with.
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
        ("tan", dtypes_of_unary::<Tan>()),
        ("atan2", dtypes_of_binary::<Atan2>()),
        ("hypot", dtypes_of_binary::<Hypot>()),
    ];
    for (name, dtypes) in all {
        assert!(dtypes.iter().all(|dtype| dtype.size() == 4), "{name} computes in {dtypes:?}");
    }
}

/// |got − exact| in units of float32's last place at the exact value; one of the subnormals' at least.
fn ulps(got: f32, exact: f64) -> f64 {
    let exponent = (exact.abs().to_bits() >> 52) as i64 - 1023;
    let unit = 2.0f64.powi(exponent.max(-126) as i32 - 23);
    (f64::from(got) - exact).abs() / unit
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
    // The standard library has no others.
    within::<Erf>("erf", 0.8, |x| <Erf as Unary<f64>>::call(&mut Scalar, x));
    within::<Erfc>("erfc", 0.9, |x| <Erfc as Unary<f64>>::call(&mut Scalar, x));
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
