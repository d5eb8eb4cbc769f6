//! Arguments at which the exact value of a function is a number of the format, so that the function must return it.
//!
//! Most functions have a few such arguments, which are listed at their declaration. For functions with families of them, this
//! module generates the arguments by integer arithmetic.

use broadloom_testkit::reference::{FloatFormat, Function};

use crate::format::step;
use crate::points::edge_cases;

/// The arguments, and the exact value.
pub type ExactCase = ([f64; 2], f64);

/// m · 2^e, if the format can represent it.
fn number(format: FloatFormat, m: i128, e: i32) -> Option<f64> {
    if m == 0 {
        return Some(0.0);
    }
    let zeros = m.trailing_zeros() as i32;
    let (odd, e) = (m >> zeros, e + zeros);
    let bits = 128 - odd.unsigned_abs().leading_zeros() as i32;
    let fits =
        bits <= format.precision && e > format.least - format.precision && e + bits - 1 <= format.greatest;
    fits.then(|| odd as f64 * 2_f64.powi(e / 2) * 2_f64.powi(e - e / 2))
}

/// The exponents of all powers of two in the format.
fn powers(format: FloatFormat) -> impl Iterator<Item = i32> {
    format.least - format.precision + 1..=format.greatest
}

/// The exact cases of a function.
pub fn cases(function: Function, format: FloatFormat) -> Vec<ExactCase> {
    let n = |m: i128, e: i32| number(format, m, e);
    match function {
        Function::Log2 => powers(format).filter_map(|k| Some(([n(1, k)?, 0.0], f64::from(k)))).collect(),
        Function::Log10 => {
            (0..38).filter_map(|k| Some(([n(10_i128.pow(k), 0)?, 0.0], f64::from(k)))).collect()
        }
        Function::Exp2 => {
            powers(format).filter_map(|k| Some(([n(i128::from(k), 0)?, 0.0], n(1, k)?))).collect()
        }
        Function::Cbrt => cubes(format),
        Function::Sqrt => squares(format),
        Function::Atan2 => {
            powers(format).filter_map(|k| Some(([0.0, n(1, k)?], 0.0))).chain([([0.0, 0.0], 0.0)]).collect()
        }
        Function::Hypot => triangles(format),
        Function::Pow => results_of_pow(format),
        Function::LogAddExp => {
            let infinity = f64::NEG_INFINITY;
            let values = edge_cases(format).iter().filter(|x| !x.is_nan());
            values.flat_map(|&x| [([x, infinity], x), ([infinity, x], x)]).collect()
        }
        _ => function.model().exact.iter().map(|&(x, value)| ([x, 0.0], value)).collect(),
    }
}

/// Squares of integers multiplied by even powers of two, in particular powers of four.
fn squares(format: FloatFormat) -> Vec<ExactCase> {
    let root = |m: i128, e: i32| Some(([number(format, m * m, 2 * e)?, 0.0], number(format, m, e)?));
    let of_two = powers(format).filter_map(|k| root(1, k));
    let most = 1_i128 << (format.precision / 2);
    let of_others = (1..=2048).map(move |i| (most - i).max(1)).chain(1..=2048);
    let scales = [-format.precision, -3, 0, 1, format.precision];
    of_two.chain(of_others.flat_map(|m| scales.into_iter().filter_map(move |e| root(m, e)))).collect()
}

/// Cubes of integers multiplied by powers of eight.
fn cubes(format: FloatFormat) -> Vec<ExactCase> {
    let most = 1_i128 << (format.precision / 3);
    let odd = (1..=1024).map(|i| (most - i).max(1)).chain(1..=1024);
    let cube = |m: i128, e: i32| Some(([number(format, m * m * m, 3 * e)?, 0.0], number(format, m, e)?));
    let all = odd.flat_map(|m| powers(format).step_by(7).filter_map(move |e| cube(m, e)));
    all.flat_map(|([x, y], root)| [([x, y], root), ([-x, y], -root)]).collect()
}

/// Right triangles with integer sides, scaled, and those with a side of 0.
fn triangles(format: FloatFormat) -> Vec<ExactCase> {
    let mut cases = Vec::new();
    for p in 2..40_i128 {
        for q in 1..p {
            let sides = [p * p - q * q, 2 * p * q, p * p + q * q];
            for scale in powers(format).step_by((format.greatest as usize / 24).max(1)) {
                if let [Some(a), Some(b), Some(c)] = sides.map(|side| number(format, side, scale)) {
                    cases.extend([([a, b], c), ([-b, a], c)]);
                }
            }
        }
    }
    let alone = powers(format).filter_map(|k| number(format, 1, k));
    cases
        .extend(alone.flat_map(|x| {
            [([x, 0.0], x), ([0.0, -x], x), ([step(format, -x, -1), 0.0], step(format, x, 1))]
        }));
    cases
}

/// Powers of integers, roots of such powers, and powers of two with every exponent whose result is a number of the format.
fn results_of_pow(format: FloatFormat) -> Vec<ExactCase> {
    let n = |m: i128, e: i32| number(format, m, e);
    let mut cases = Vec::new();
    for base in (-99..=99_i128).filter(|base| base.abs() > 1) {
        let mut value = Some(1_i128);
        for exponent in 0..=64_u32 {
            let Some(power) = value else { break };
            for scale in [-7, -1, 0, 2] {
                // (base · 2^scale)^exponent
                let all = (n(base, scale), n(i128::from(exponent), 0), n(power, scale * exponent as i32));
                if let (Some(x), Some(y), Some(z)) = all {
                    cases.push(([x, y], z));
                    // The root of even degree of a positive power; 1/degree must be a number of the format.
                    if base > 0 && exponent.is_power_of_two() && exponent > 1 {
                        cases.push(([z, 1.0 / y], x));
                    }
                }
            }
            value = power.checked_mul(base);
        }
    }
    for k in powers(format) {
        for exponent in [-3, -2, -1, 1, 2, 3, 5, 10, 100, -24, 52] {
            if let (Some(x), Some(y), Some(z)) =
                (n(1, k), n(exponent, 0), n(1, k.saturating_mul(exponent as i32)))
            {
                cases.push(([x, y], z));
            }
        }
        if let (Some(y), Some(z)) = (n(i128::from(k), 0), n(1, k)) {
            cases.push(([2.0, y], z));
        }
        if let (Some(x), Some(z)) = (n(1, 2 * k), n(1, k)) {
            cases.extend([
                ([x, 0.5], z),
                ([step(format, x, 1), 0.0], 1.0),
                ([step(format, x, 3), 1.0], step(format, x, 3)),
            ]);
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::round;
    use broadloom_testkit::reference::{Judgement, judge_precisely};

    #[test]
    fn every_value_is_the_exact_one() {
        for function in Function::ALL {
            for format in FloatFormat::ALL {
                let cases = cases(function, format);
                assert!(!cases.is_empty());
                // All cases if there are few, else about a thousand of them.
                for &([x, y], value) in cases.iter().step_by(cases.len().div_ceil(1000)) {
                    assert!(
                        [x, y, value].iter().all(|&v| round(format, v) == v),
                        "{function:?}({x:e}, {y:e})"
                    );
                    let judged = judge_precisely(function, format, x, y, value);
                    let right = matches!(judged, Judgement::Off { ulps: 0.0, .. });
                    assert!(right, "{function:?}({x:e}, {y:e}) is not {value:e}: {judged:?}");
                }
            }
        }
    }
}
