//! The float32 arguments at which exact values of functions are closest to the midpoint of two float32 numbers.
//!
//! They were found by a search of all 2^32 arguments of each function. At these arguments, float64 arithmetic does not suffice,
//! or barely suffices, to determine the nearest float32. The values in `near_ties.txt` were computed with mpmath
//! (`scripts/near_ties.py`), and each is compared with the precise reference.

use super::functions::{Function, Symmetry};

/// The function, the argument and the nearest float32 of each case. For even and odd functions, both signs of the argument are
/// included.
pub fn near_ties() -> Vec<(Function, f32, f32)> {
    let rows = include_str!("near_ties.txt").lines().filter(|line| !line.starts_with('#'));
    rows.flat_map(|row| {
        let mut words = row.split(' ');
        let name = words.next().expect("a name");
        let function = Function::from_name(name).unwrap_or_else(|| panic!("there is no {name}"));
        let mut float =
            || f32::from_bits(u32::from_str_radix(words.next().expect("bits"), 16).expect("bits"));
        let (x, y) = (float(), float());
        let mirrored = match function.model().symmetry {
            Symmetry::None => None,
            Symmetry::Even => Some((function, -x, y)),
            Symmetry::Odd => Some((function, -x, -y)),
        };
        [Some((function, x, y)), mirrored].into_iter().flatten()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{FloatFormat, Judgement, hardness, judge_precisely};

    #[test]
    fn values_are_the_nearest_and_arguments_are_hard() {
        let rows = near_ties();
        assert!(rows.len() > 150);
        for (function, x, y) in rows {
            let judgement = judge_precisely(function, FloatFormat::FLOAT32, f64::from(x), 0.0, f64::from(y));
            assert!(
                matches!(judgement, Judgement::Off { nearest: true, .. }),
                "{function:?}({x:e}): {judgement:?}"
            );
            assert!(
                hardness(function, FloatFormat::FLOAT32, f64::from(x), 0.0) > 24.0,
                "{function:?}({x:e})"
            );
        }
    }
}
