//! Points at which a function is known to be hard to round correctly.
//!
//! Published cases are listed at the functions' declarations. A test checks that each is hard: the distance
//! of its exact value from a number of the format, or from the midpoint of two, is below 2^-40 of half an
//! ulp.

use std::sync::LazyLock;

use broadloom_core::DType;
use broadloom_testkit::reference::{FloatFormat, Function, near_multiples_of_half_pi, nearest_to_one};

use crate::format::{from_bits, step};

/// Pairs at which the exact value of pow is unusually close to a number or to the midpoint of two. Source: CORE-MATH.
const PAIRS: &[[f64; 2]] = &[
    [0.9999999999999996, 0.49999999999999994],
    [0.9999999999999996, -0.49999999999999983],
    [0.9999999999999982, -0.24999999999999972],
    [0.9999999999999991, -0.24999999999999986],
];

/// Pairs of arguments, as bits, with larger errors than nearly all random pairs. They are measured in every
/// run, so that no run reports a smaller maximum.
const WORST: &[(Function, FloatFormat, [u64; 2])] = &[
    (Function::Atan2, FloatFormat::FLOAT32, [0x0001_d865, 0x0003_d9d6]),
    (Function::Atan2, FloatFormat::FLOAT32, [0x0059_8231, 0x00b3_0e39]),
    (Function::Hypot, FloatFormat::FLOAT32, [0x0050_2d1a, 0x805b_727f]),
    (Function::LogAddExp, FloatFormat::FLOAT32, [0xbf9b_1936, 0xbe3d_0aca]),
    (Function::LogAddExp, FloatFormat::FLOAT32, [0xc136_fd93, 0xb768_05f6]),
    (Function::Atan2, FloatFormat::FLOAT64, [0x0327_daa5_fa49_c5ff, 0x033c_53a5_512c_0461]),
    (Function::LogAddExp, FloatFormat::FLOAT64, [0xc086_25ca_af25_8ba6, 0x0014_e857_4019_293f]),
    (Function::LogAddExp, FloatFormat::FLOAT64, [0xc085_ff16_08a9_e8b5, 0x8078_bed6_4e48_ea2e]),
    (Function::LogAddExp, FloatFormat::FLOAT64, [0xbff3_885a_5281_e12a, 0xbfd4_0def_6652_54db]),
    (Function::Pow, FloatFormat::FLOAT64, [0x3fe6_f77f_9100_9adc, 0x40a0_af7b_d29d_c6fe]),
    (Function::Pow, FloatFormat::FLOAT64, [0x3ff6_8973_cf1f_d6e3, 0x40a0_2fe9_fad4_d41b]),
];

static MULTIPLES: LazyLock<Vec<f64>> = LazyLock::new(near_multiples_of_half_pi);

/// The edge-case values of a format, as float64.
pub fn edge_cases(format: FloatFormat) -> &'static [f64] {
    static VALUES: LazyLock<[Vec<f64>; 3]> = LazyLock::new(|| {
        FloatFormat::ALL.map(|format| {
            let values = broadloom_testkit::edge_cases::values(format.dtype);
            values.into_iter().map(|value| from_bits(format, value.bits)).collect()
        })
    });
    &VALUES[match format.dtype {
        DType::Float16 => 0,
        DType::Float32 => 1,
        _ => 2,
    }]
}

/// The hard points of a function; none if the whole format is measured anyway.
pub fn list(function: Function, format: FloatFormat) -> Vec<[f64; 2]> {
    let edge_cases = edge_cases(format);
    if function.arity() == 2 {
        let mut pairs: Vec<[f64; 2]> =
            edge_cases.iter().flat_map(|&x| edge_cases.iter().map(move |&y| [x, y])).collect();
        if function == Function::Pow && format == FloatFormat::FLOAT64 {
            pairs.extend(PAIRS);
        }
        if function == Function::LogAddExp && format == FloatFormat::FLOAT64 {
            pairs.extend(
                nearest_to_one()
                    .into_iter()
                    .flat_map(|[x, y, _]| (-2..=2).map(move |by| [x, step(format, y, by)])),
            );
        }
        let worst = WORST.iter().filter(|(of, dtype, _)| (*of, *dtype) == (function, format));
        pairs.extend(worst.map(|&(_, _, pair)| pair.map(|bits| from_bits(format, bits))));
        return pairs;
    }
    if format != FloatFormat::FLOAT64 {
        return Vec::new();
    }
    let model = function.model();
    let mut points: Vec<f64> = edge_cases.iter().chain(model.hard).copied().collect();
    points.extend(model.edges.iter().flat_map(|&x| (-8..=8).map(move |by| step(format, x, by))));
    if model.is_of_angles() {
        let neighbours = |&x: &f64| (-2..=2).map(move |by| step(format, x, by));
        points.extend(MULTIPLES.iter().flat_map(neighbours));
    }
    points.into_iter().flat_map(|x| [[x, 0.0], [-x, 0.0]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom_testkit::reference::hardness;

    /// Checks that points listed as hard are hard; a typing error would make one ordinary.
    #[test]
    fn published_cases_are_hard() {
        for function in Function::ALL {
            for &x in function.model().hard {
                let bits = hardness(function, FloatFormat::FLOAT64, x, 0.0);
                assert!(bits > 40.0, "{function:?}({x:e}): {bits}");
            }
        }
        for &[x, y] in PAIRS {
            let bits = hardness(Function::Pow, FloatFormat::FLOAT64, x, y);
            assert!(bits > 40.0, "pow({x:e}, {y:e}): {bits}");
        }
    }

    /// Random angles are at least about 2^-30 away from a multiple of π/2; the listed ones are closer.
    #[test]
    fn multiples_are_near() {
        let near = MULTIPLES.iter().filter(|x| x.sin().abs() < 1e-14 || x.cos().abs() < 1e-14).count();
        assert!(near * 3 > MULTIPLES.len(), "{near} of {}", MULTIPLES.len());
    }
}
