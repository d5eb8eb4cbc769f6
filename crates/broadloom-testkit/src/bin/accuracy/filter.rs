//! A quick judge for float32: two float64 libraries of unrelated origin, the target's and `pxfm`.
//!
//! A value is believed only if both libraries agree on it to 2^-40, relatively, some 4000 times what either claims; it
//! decides only what is no record and clear of a rounding edge by that much.

use broadloom_testkit::reference::{Function, is_canonical_nan};

/// What a believed value may be off by, relatively: 2^-40.
const TOLERANCE: f64 = 1.0 / (1_u64 << 40) as f64;
/// No more than this many ulps of float32, whose significands are of 24 bits; twice that for the binade below.
pub const MARGIN: f64 = TOLERANCE * (1_u64 << 25) as f64;

/// The exponents of float32.
const LEAST: i32 = -126;
const BEYOND: f64 = 340282366920938463463374607431768211456.0;

/// A function of one argument by two libraries.
#[derive(Clone, Copy)]
pub struct Filter([fn(f64) -> f64; 2]);

impl Filter {
    /// The filter of a function of one argument, if there are two libraries of it.
    pub fn new(function: Function) -> Option<Filter> {
        function.model().libraries.map(Filter)
    }

    /// The error of a float32 result in ulps, to within [`MARGIN`], if the libraries agree on a finite value.
    pub fn error(self, x: f64, got: f64) -> Option<f64> {
        let value = (self.0[0])(x);
        if value.is_nan() || got.is_nan() {
            // No error is claimed where one of the two is a number.
            return (value.is_nan() && is_canonical_nan(got) && (self.0[1])(x).is_nan()).then_some(0.0);
        }
        let other = (self.0[1])(x);
        if value == other && value == got {
            return Some(0.0);
        }
        if value.abs() >= BEYOND {
            return (other.abs() >= BEYOND && got.is_infinite() && (got < 0.0) == (value < 0.0))
                .then_some(0.0);
        }
        let agreed = (value - other).abs() <= value.abs() * TOLERANCE;
        if !agreed { None } else { distance(value, got) }
    }

    /// Whether a float32 result is the nearest one clear of [`MARGIN`], as the target's library has the value. That and the
    /// result are two that agree: where it is out, no result is believed that isn't out in the same way.
    pub fn confirms(self, x: f64, got: f64) -> bool {
        let value = (self.0[1])(x);
        if value.is_nan() || got.is_nan() {
            return value.is_nan() && is_canonical_nan(got);
        }
        if value.abs() >= BEYOND {
            return got.is_infinite() && (got < 0.0) == (value < 0.0);
        }
        distance(value, got).is_some_and(|ulps| ulps < 0.5 - MARGIN)
    }
}

/// How far a float32 result is from a finite value that is believed to [`TOLERANCE`], in ulps; nothing at the end of
/// float32's range.
fn distance(value: f64, got: f64) -> Option<f64> {
    let slack = value.abs() * TOLERANCE;
    if got.is_infinite() || value.abs() + slack >= BEYOND {
        return None;
    }
    // The lesser ulp, if the value may be on either side of a power of two.
    let exponent = ((value.abs() - slack).to_bits() >> 52) as i32 - 1023;
    let ulp = exponent.max(LEAST) - 23;
    let inverse = f64::from_bits(((1023 - ulp) as u64) << 52);
    Some((got - value).abs() * inverse)
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
                let near = (filter.0[0])(x) as f32;
                let got = f64::from(near) * (1.0 + shift / f64::from(1 << 23));
                // The target's functions give any NaN.
                let got = if got.is_nan() { f64::NAN } else { f64::from(got as f32) };
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
