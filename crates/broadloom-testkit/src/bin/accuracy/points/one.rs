//! Random float64 arguments of functions of one.
//!
//! In: a function and a generator. Out: an argument. Must hold: every kind of place is drawn in a fixed share: the range
//! that matters, all its exponents, all bits, subnormals, and neighbours of zeros, poles, thresholds and of the
//! seams that an implementation may have.

use std::f64::consts::{FRAC_PI_4, LN_2, LOG10_2};

use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::{Format, Function};

use super::{any, least, near, scaled, uniform};

const FORMAT: Format = Format::FLOAT64;

/// The intervals that matter, and the exponents of arguments whose results are not all the same.
fn ranges(function: Function) -> (&'static [(f64, f64)], (i32, i32)) {
    match function {
        Function::Acos | Function::Asin => (&[(-1.0, 1.0), (0.4, 0.6), (0.95, 1.0)], (-60, -1)),
        Function::Acosh => (&[(1.0, 2.0), (1.0, 1.1), (1.0, 100.0)], (0, 1023)),
        Function::Asinh => (&[(-2.0, 2.0), (-0.1, 0.1), (-1e3, 1e3)], (-60, 1023)),
        Function::Atan => (&[(-1.5, 1.5), (-0.2, 0.2), (-20.0, 20.0)], (-60, 60)),
        Function::Atanh => (&[(-1.0, 1.0), (-0.2, 0.2), (0.99, 1.0)], (-60, -1)),
        Function::Cos | Function::Sin | Function::Tan => {
            (&[(-0.8, 0.8), (-3.2, 3.2), (-100.0, 100.0), (-1e6, 1e6)], (-40, 1023))
        }
        Function::Cosh | Function::Sinh => (&[(-1.0, 1.0), (-3.0, 3.0), (-711.0, 711.0)], (-60, 9)),
        Function::Exp => (&[(-1.0, 1.0), (-40.0, 40.0), (-746.0, 710.0)], (-60, 9)),
        Function::Expm1 => (&[(-1.0, 1.0), (-0.2, 0.2), (-40.0, 710.0)], (-60, 9)),
        Function::Log | Function::Log2 | Function::Log10 => {
            (&[(0.5, 2.0), (0.9, 1.1), (0.99, 1.01), (0.0, 100.0)], (-1022, 1023))
        }
        Function::Log1p => (&[(-1.0, 1.0), (-0.2, 0.2), (-0.01, 0.01), (0.0, 100.0)], (-60, 1023)),
        Function::Tanh => (&[(-1.0, 1.0), (-0.2, 0.2), (-22.0, 22.0)], (-60, 5)),
        _ => (&[(0.0, 4.0), (0.0, 1e6)], (-1022, 1023)),
    }
}

/// Zeros and poles, limits of the domains, and where results over- and underflow or stop changing.
const ANCHORS: [f64; 16] = [
    0.0,
    0.5,
    1.0,
    2.0,
    f64::MIN_POSITIVE,
    f64::MAX,
    709.782712893384,
    708.3964185322641,
    745.1332191019412,
    744.4400719213812,
    710.4758600739439,
    19.061547465398498,
    37.42994775023705,
    36.7368005696771,
    1.4901161193847656e-8,
    1.0536712127723509e-8,
];

/// Divided by powers of two and multiplied by integers, these are where arguments are reduced or tables looked up.
const SEAMS: [f64; 4] = [1.0, LN_2, FRAC_PI_4, LOG10_2];

/// An argument of a function.
pub fn draw(function: Function, rng: &mut Rng) -> f64 {
    let (intervals, (low, high)) = ranges(function);
    let positive = matches!(
        function,
        Function::Acosh | Function::Log | Function::Log2 | Function::Log10 | Function::Sqrt
    );
    match rng.below(100) {
        0..40 => {
            let (low, high) = intervals[rng.below(intervals.len())];
            uniform(rng, low, high)
        }
        40..60 => {
            let x = scaled(rng, low, high);
            if positive { x.abs() } else { x }
        }
        60..72 => any(rng, FORMAT),
        72..78 => {
            let x = least(rng, FORMAT);
            if positive { x.abs() } else { x }
        }
        78..86 => {
            let anchor = ANCHORS[rng.below(ANCHORS.len())];
            let sign = if positive || rng.chance(1, 2) { 1.0 } else { -1.0 };
            near(rng, FORMAT, sign * anchor)
        }
        _ => {
            let unit = SEAMS[rng.below(SEAMS.len())] / (1 << rng.below(12)) as f64;
            let multiple = (rng.next() >> (63 - rng.below(24))) as f64;
            let sign = if positive || rng.chance(1, 2) { 1.0 } else { -1.0 };
            near(rng, FORMAT, sign * multiple * unit)
        }
    }
}
