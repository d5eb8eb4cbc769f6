//! Random arguments of functions of two, as pairs that the format holds.
//!
//! Besides pairs of any bits, every function gets pairs whose result is in range, at its limits, next to numbers that are
//! exact, and where its parts cancel.

use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::{Format, Function};

use super::draw::{any, least, near, scaled, uniform};
use super::hard::edge_cases;
use crate::format::{round, step};

/// A pair of arguments.
pub fn draw(function: Function, format: Format, rng: &mut Rng) -> [f64; 2] {
    let pair = match rng.below(100) {
        0..8 => [any(rng, format), any(rng, format)],
        8..10 => {
            let values = edge_cases(format);
            [values[rng.below(values.len())], any(rng, format)]
        }
        10..13 => [least(rng, format), scaled(rng, format.least, format.greatest)],
        13..15 => [scaled(rng, format.least, format.greatest), least(rng, format)],
        15..17 => [least(rng, format), least(rng, format)],
        _ => match function {
            Function::Pow => pow(format, rng),
            Function::LogAddExp => logaddexp(format, rng),
            _ => plane(function, format, rng),
        },
    };
    let pair = pair.map(|x| round(format, x));
    if function != Function::Pow && rng.chance(1, 2) { [pair[1], pair[0]] } else { pair }
}

/// Points of the plane, for atan2 and hypot.
fn plane(function: Function, format: Format, rng: &mut Rng) -> [f64; 2] {
    let x = scaled(rng, format.least, format.greatest);
    match rng.below(100) {
        0..20 => [uniform(rng, -8.0, 8.0), uniform(rng, -8.0, 8.0)],
        20..45 => [x, x * scaled(rng, -8, 8)],
        45..60 => [x, x * scaled(rng, -format.precision - 4, format.precision + 4)],
        60..68 => [x, near(rng, format, x)],
        // Where the lesser one is about to matter: its square is half an ulp.
        68..76 => [x, x * scaled(rng, -format.precision / 2 - 2, -format.precision / 2 + 1)],
        76..84 => {
            let (j, bits) = (rng.below(65) as f64, rng.below(7) as i32);
            [x, near(rng, format, x * j / 2_f64.powi(bits))]
        }
        _ if function == Function::Hypot => {
            // About to overflow, or sums of squares of small integers.
            let angle = uniform(rng, 0.0, std::f64::consts::FRAC_PI_2);
            let radius = uniform(rng, 0.999, 1.001) * 2_f64.powi(format.greatest);
            if rng.chance(1, 2) {
                [radius * 2.0 * angle.cos(), radius * 2.0 * angle.sin()]
            } else {
                [rng.below(4096) as f64, rng.below(4096) as f64]
            }
        }
        _ => {
            // A quotient about to underflow.
            let far = format.least - format.precision - 1;
            let y = scaled(rng, far / 2, format.greatest);
            let quotient = scaled(rng, far, far + format.precision + 4);
            [y * quotient, y]
        }
    }
}

/// Bases and exponents.
fn pow(format: Format, rng: &mut Rng) -> [f64; 2] {
    let (least, most) = (f64::from(format.least - format.precision - 2), f64::from(format.greatest + 2));
    // log2 of the result.
    let size = match rng.below(10) {
        0 => f64::from(format.greatest + 1) + scaled(rng, -30, -3),
        1 => f64::from(format.least) + scaled(rng, -30, -3),
        2 => f64::from(format.least - format.precision) + scaled(rng, -30, 1),
        3 => scaled(rng, -format.precision - 4, 0),
        _ => uniform(rng, least, most),
    };
    let sign = if rng.chance(1, 8) { -1.0 } else { 1.0 };
    match rng.below(100) {
        0..35 => {
            let x = round(format, scaled(rng, -40, 40).abs());
            let y = size / x.log2();
            if sign < 0.0 { [-x, y.round()] } else { [x, y] }
        }
        35..55 => {
            let reach = 1_i64 << rng.below(format.precision as usize - 1);
            let x = step(format, 1.0, rng.below(2 * reach as usize + 1) as i64 - reach);
            [x, near(rng, format, size / x.log2())]
        }
        55..70 => {
            let y = rng.below(129) as f64 - 64.0;
            [sign * (size / y).exp2(), y]
        }
        70..80 => {
            let y = (rng.below(257) as f64 - 128.0) / 8.0;
            [near(rng, format, (size / y).exp2()), y]
        }
        80..90 => [scaled(rng, format.least, format.greatest).abs(), uniform(rng, -4.0, 4.0)],
        // Exact results, and neighbours of them.
        _ => {
            let root = rng.below(200) as f64;
            let y = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, -1.0, -0.5][rng.below(9)];
            let x = root.powi(1 << rng.below(3)) * 2_f64.powi(2 * rng.below(20) as i32 - 20);
            [if rng.chance(1, 2) { near(rng, format, x) } else { x }, y]
        }
    }
}

/// Logarithms of what is added.
fn logaddexp(format: Format, rng: &mut Rng) -> [f64; 2] {
    let x = uniform(rng, -50.0, 50.0);
    // Where float64 arguments cancel, only the precise reference can tell, which takes a hundred times as long.
    let kinds = if format == Format::FLOAT64 { 62 } else { 100 };
    match rng.below(kinds) {
        0..15 => [x, uniform(rng, -50.0, 50.0)],
        15..30 => {
            let x = 16.0 * x;
            [x, x + uniform(rng, -45.0, 45.0)]
        }
        30..38 => [scaled(rng, -format.precision - 6, 3), scaled(rng, -format.precision - 6, 3)],
        38..46 => [x, near(rng, format, x)],
        46..54 => [scaled(rng, -10, 60), uniform(rng, -50.0, 50.0)],
        54..60 => [scaled(rng, 0, format.greatest), scaled(rng, 0, format.greatest)],
        _ => cancelling(format, rng),
    }
}

/// exp(x1) + exp(x2) is nearly 1: solved for x2, and stepped to neighbours.
fn cancelling(format: Format, rng: &mut Rng) -> [f64; 2] {
    let x = round(format, -scaled(rng, -format.precision, 5).abs());
    let power = -x.exp_m1();
    let y = if x > -0.7 { power.ln() } else { (-x.exp()).ln_1p() };
    let reach = 1_i64 << if rng.chance(1, 2) { 1 } else { rng.below(format.precision as usize - 8) };
    [x, step(format, round(format, y), rng.below(2 * reach as usize + 1) as i64 - reach)]
}
