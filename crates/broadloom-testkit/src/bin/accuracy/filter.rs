//! A quick judge for float32: two float64 libraries of unrelated origin, the host's and `pxfm`.
//!
//! In: an argument and a result. Out: the error in ulps where it is decided, or nothing. Must hold: a value is
//! believed only if both libraries agree on it to 2^-40, relatively, some 4000 times what either claims; it
//! decides only what is no record and clear of a rounding edge by that much.

use broadloom_testkit::reference::Function;

/// What a believed value may be off by, relatively: 2^-40.
const TOLERANCE: f64 = 1.0 / (1_u64 << 40) as f64;
/// No more than this many ulps of float32, whose significands are of 24 bits; twice that for the binade below.
pub const MARGIN: f64 = TOLERANCE * (1_u64 << 25) as f64;

/// The exponents of float32.
const LEAST: i32 = -126;
const BEYOND: f64 = 340282366920938463463374607431768211456.0;

/// A library's function.
type Host = fn(f64) -> f64;

/// A function of one argument by two libraries.
#[derive(Clone, Copy)]
pub struct Filter {
    first: Host,
    second: Host,
}

/// The square root again, by a Newton step from the host's.
fn sqrt_again(x: f64) -> f64 {
    let root = x.sqrt();
    if root > 0.0 && root.is_finite() { 0.5 * (root + x / root) } else { root }
}

impl Filter {
    /// The filter of a function of one argument.
    pub fn new(function: Function) -> Option<Filter> {
        let (first, second): (Host, Host) = match function {
            Function::Acos => (pxfm::f_acos, f64::acos),
            Function::Acosh => (pxfm::f_acosh, f64::acosh),
            Function::Asin => (pxfm::f_asin, f64::asin),
            Function::Asinh => (pxfm::f_asinh, f64::asinh),
            Function::Atan => (pxfm::f_atan, f64::atan),
            Function::Atanh => (pxfm::f_atanh, f64::atanh),
            Function::Cos => (pxfm::f_cos, f64::cos),
            Function::Cosh => (pxfm::f_cosh, f64::cosh),
            Function::Exp => (pxfm::f_exp, f64::exp),
            Function::Expm1 => (pxfm::f_expm1, f64::exp_m1),
            Function::Log => (pxfm::f_log, f64::ln),
            Function::Log1p => (pxfm::f_log1p, f64::ln_1p),
            Function::Log2 => (pxfm::f_log2, f64::log2),
            Function::Log10 => (pxfm::f_log10, f64::log10),
            Function::Sin => (pxfm::f_sin, f64::sin),
            Function::Sinh => (pxfm::f_sinh, f64::sinh),
            Function::Sqrt => (sqrt_again, f64::sqrt),
            Function::Tan => (pxfm::f_tan, f64::tan),
            Function::Tanh => (pxfm::f_tanh, f64::tanh),
            Function::Atan2 | Function::Hypot | Function::LogAddExp | Function::Pow => return None,
        };
        Some(Filter { first, second })
    }

    /// The error of a float32 result in ulps, to within [`MARGIN`], if the libraries agree on a finite value.
    pub fn error(self, x: f64, got: f64) -> Option<f64> {
        let value = (self.first)(x);
        if value.is_nan() || got.is_nan() {
            // No error is claimed where one of the two is a number.
            return (value.is_nan() && got.is_nan() && (self.second)(x).is_nan()).then_some(0.0);
        }
        let other = (self.second)(x);
        if value == other && value == got {
            return Some(0.0);
        }
        if value.abs() >= BEYOND {
            return (other.abs() >= BEYOND && got.is_infinite() && (got < 0.0) == (value < 0.0))
                .then_some(0.0);
        }
        let slack = value.abs() * TOLERANCE;
        let agreed = (value - other).abs() <= slack;
        if !agreed || got.is_infinite() || value.abs() + slack >= BEYOND {
            return None;
        }
        // The lesser ulp, if the value may be on either side of a power of two.
        let exponent = ((value.abs() - slack).to_bits() >> 52) as i32 - 1023;
        let ulp = exponent.max(LEAST) - 23;
        let inverse = f64::from_bits(((1023 - ulp) as u64) << 52);
        Some((got - value).abs() * inverse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom_testkit::random::Rng;
    use broadloom_testkit::reference::{Format, Judgement, judge};

    /// Also where the results are wrong by some ulps.
    #[test]
    fn the_filter_agrees_with_the_reference() {
        let mut rng = Rng::new(1);
        for function in Function::ALL {
            let Some(filter) = Filter::new(function) else { continue };
            let mut decided = 0;
            for _ in 0..4000 {
                let x = f64::from(f32::from_bits(rng.next() as u32));
                let shift = rng.below(5) as f64 - 2.0;
                let near = (filter.first)(x) as f32;
                let got = f64::from(near) * (1.0 + shift / f64::from(1 << 23));
                let got = f64::from(got as f32);
                let Some(claimed) = filter.error(x, got) else { continue };
                decided += 1;
                match judge(function, Format::FLOAT32, x, 0.0, got) {
                    // A power of two is judged by the lesser ulp.
                    Judgement::Off { ulps, .. } => {
                        let fits = (claimed - ulps).abs() < MARGIN || (claimed - 2.0 * ulps).abs() < MARGIN;
                        assert!(fits, "{function:?}({x:e}) = {got:e}: claimed {claimed}, is {ulps}");
                    }
                    Judgement::Wrong => panic!("{function:?}({x:e}) = {got:e} is wrong"),
                }
            }
            assert!(decided > 3000, "{function:?}: {decided}");
        }
    }
}
