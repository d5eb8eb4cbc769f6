//! A fast filter for float16 and float32 results: compares two independent float64 libraries, the target's and `pxfm`.
//!
//! A value is trusted only if both libraries agree on it to a relative 2^-40, about 4000 times the error that either library
//! claims. The filter decides only results whose error is not a maximum and whose exact value is more than that relative
//! distance away from a rounding boundary.

use broadloom_testkit::reference::{FloatFormat, Function, Libraries, is_canonical_nan};

/// The maximum relative error of a trusted value: 2^-40.
const TOLERANCE: f64 = 1.0 / (1_u64 << 40) as f64;
/// The tolerance in ulps of float32, which has 24 significant bits. It is doubled, since the value may be in
/// the next lower binade, where an ulp is half as large.
pub const MARGIN: f64 = TOLERANCE * (1_u64 << 25) as f64;

/// A function in two libraries, for results in a format.
#[derive(Clone, Copy)]
pub struct Filter {
    libraries: Libraries,
    format: FloatFormat,
    /// The magnitude that an infinite result counts as.
    beyond: f64,
}

impl Filter {
    /// The filter of a function. It exists only if two libraries compute the function with many more digits
    /// than the format has.
    pub fn new(function: Function, format: FloatFormat) -> Option<Filter> {
        let libraries = function.model().libraries.filter(|_| format.precision <= 24)?;
        Some(Filter { libraries, format, beyond: 2_f64.powi(format.beyond()) })
    }

    /// The value that one of the libraries computes.
    fn value(self, library: usize, at: [f64; 2]) -> f64 {
        match self.libraries {
            Libraries::One(functions) => functions[library](at[0]),
            Libraries::Two(functions) => functions[library](at[0], at[1]),
        }
    }

    /// The error of a result in ulps, accurate to [`MARGIN`], if the libraries agree on a finite value.
    pub fn error(self, at: [f64; 2], got: f64) -> Option<f64> {
        let value = self.value(0, at);
        if value.is_nan() || got.is_nan() {
            // If only one library returns NaN, the error is unknown. For functions of two arguments, a library's NaN may only
            // mean that it can't decide.
            let is_of_one = matches!(self.libraries, Libraries::One(_));
            let agreed = is_of_one && value.is_nan() && self.value(1, at).is_nan();
            return (agreed && is_canonical_nan(got)).then_some(0.0);
        }
        let other = self.value(1, at);
        if value == other && value == got {
            return Some(0.0);
        }
        if value.abs() >= self.beyond {
            return (other.abs() >= self.beyond && got.is_infinite() && (got < 0.0) == (value < 0.0))
                .then_some(0.0);
        }
        let agreed = (value - other).abs() <= value.abs() * TOLERANCE;
        if !agreed { None } else { self.distance(value, got) }
    }

    /// Whether the result of a function of one argument is the nearest number, judged by the target's library
    /// alone. The exact value must be more than [`MARGIN`] away from a tie. A wrong result passes only if the
    /// library has the same error.
    pub fn confirms(self, x: f64, got: f64) -> bool {
        let value = self.value(1, [x, 0.0]);
        if value.is_nan() || got.is_nan() {
            return value.is_nan() && is_canonical_nan(got);
        }
        if value.abs() >= self.beyond {
            return got.is_infinite() && (got < 0.0) == (value < 0.0);
        }
        self.distance(value, got).is_some_and(|ulps| ulps < 0.5 - MARGIN)
    }

    /// The distance in ulps of a result from a finite value, which is trusted to [`TOLERANCE`]. `None` if the
    /// result or the value is, or may be, beyond the format's largest number.
    fn distance(self, value: f64, got: f64) -> Option<f64> {
        let slack = value.abs() * TOLERANCE;
        if got.is_infinite() || value.abs() + slack >= self.beyond {
            return None;
        }
        // Uses the smaller ulp if the value may be on either side of a power of two.
        let exponent = ((value.abs() - slack).to_bits() >> 52) as i32 - 1023;
        let ulp = exponent.max(self.format.least) - self.format.precision + 1;
        let inverse = f64::from_bits(((1023 - ulp) as u64) << 52);
        Some((got - value).abs() * inverse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom_testkit::random::Rng;
    use broadloom_testkit::reference::{Judgement, judge};

    use crate::format::{from_bits, round};
    use crate::points::Points;

    /// Draws arguments for tests: for a function of one argument any bit patterns, for a function of two
    /// pairs of all kinds.
    fn arguments(function: Function, format: FloatFormat) -> Vec<[f64; 2]> {
        if function.arity() == 2 {
            // float32 is used, because pairs of float16 have no kinds: all of them are measured.
            let points = Points::new(function, FloatFormat::FLOAT32, 20_000, 5, 1);
            let mut columns = vec![Vec::new(); 2];
            points.fill(points.blocks() - 1, &mut columns);
            let pairs = columns[0].iter().zip(&columns[1]);
            return pairs.map(|(&x, &y)| [round(format, x), round(format, y)]).collect();
        }
        let mut rng = Rng::new(1);
        (0..4000).map(|_| [from_bits(format, rng.next()), 0.0]).collect()
    }

    /// The filter must agree with the reference even for results that are wrong by some ulps.
    #[test]
    fn the_filter_agrees_with_the_reference() {
        let mut rng = Rng::new(2);
        for function in Function::ALL {
            for format in [FloatFormat::FLOAT16, FloatFormat::FLOAT32] {
                let Some(filter) = Filter::new(function, format) else { continue };
                let mut decided = 0;
                for at in arguments(function, format) {
                    let shift = rng.below(5) as f64 - 2.0;
                    let near = round(format, filter.value(0, at));
                    let got = near * (1.0 + shift / 2_f64.powi(format.precision - 1));
                    // A NaN that the target's functions return may have any bits.
                    let got = if got.is_nan() { f64::NAN } else { round(format, got) };
                    let Some(claimed) = filter.error(at, got) else { continue };
                    decided += 1;
                    match judge(function, format, at[0], at[1], got) {
                        // If the value may be a power of two, the filter uses the smaller ulp.
                        Judgement::Off { ulps, .. } => {
                            let fits =
                                (claimed - ulps).abs() < MARGIN || (claimed - 2.0 * ulps).abs() < MARGIN;
                            assert!(fits, "{function:?}({at:?}) = {got:e}: claimed {claimed}, is {ulps}");
                        }
                        Judgement::Wrong => panic!("{function:?}({at:?}) = {got:e} is wrong"),
                    }
                }
                assert!(decided > 2000, "{function:?} {format:?}: {decided}");
            }
        }
    }
}
