//! Random float64 arguments for functions of one argument.
//!
//! Each region gets a fixed share of the arguments: the range that matters, all its exponents, arbitrary bits, subnormals, and
//! numbers close to zeros, poles, thresholds and the boundaries that an implementation may have.

use std::f64::consts::{FRAC_PI_4, LN_2, LOG10_2};

use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::{FloatFormat, Function};

use super::draw::{any, least, near, scaled, uniform};

const FORMAT: FloatFormat = FloatFormat::FLOAT64;

/// Zeros, poles, limits of domains, and arguments at which results overflow, underflow or become constant.
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

/// Constants at whose multiples an implementation may begin another case, such as another step of an argument
/// reduction or another entry of a table. The multiples are by an integer over a power of two.
const SEAMS: [f64; 4] = [1.0, LN_2, FRAC_PI_4, LOG10_2];

/// Draws an argument for a function.
pub fn draw(function: Function, rng: &mut Rng) -> f64 {
    let model = function.model();
    let (intervals, (low, high)) = (model.intervals, model.exponents);
    let positive = function.is_of_positive_numbers();
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
            let own = model.edges;
            let place = rng.below(ANCHORS.len() + own.len());
            let anchor = if place < ANCHORS.len() { ANCHORS[place] } else { own[place - ANCHORS.len()] };
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
