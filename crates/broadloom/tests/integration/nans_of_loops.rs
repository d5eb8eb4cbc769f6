//! NaNs that loops and recurrences carry: one that is computed has one bit pattern, one that is only moved keeps its bits. Machine
//! code replaces the NaNs of some carried values late, or not in each step.

use broadloom::prelude::*;
use broadloom::{Along, fori_loop, scan, while_loop};

use crate::scan::{bits, ways};

/// A negative NaN with a payload.
const ODD: f64 = f64::from_bits(0xfff8_0000_0000_0123);
/// The NaN that every function computes.
const CANONICAL: u64 = 0x7ff8_0000_0000_0000;

/// Numbers with NaNs and infinities among them, whose sum along the array is a NaN in between.
fn numbers(n: usize) -> Vec<f64> {
    let special = [1.5, ODD, f64::INFINITY, -2.0, f64::NEG_INFINITY, 0.25, f64::NAN];
    (0..n).map(|i| special[i * 5 % special.len()] + (i / 50) as f64).collect()
}

/// `x + y`, computed.
fn sum(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if sum.is_nan() { f64::from_bits(CANONICAL) } else { sum }
}

#[test]
fn a_sum_after_some_iterations() -> Result<()> {
    for n in [1, 3, 8, 33, 100] {
        let (first, terms) = (numbers(n), vec![0.5; n]);
        let (x, y) = (Array::from_vec(first.clone()), Array::from_vec(terms.clone()));
        for trips in [0, 1, 3] {
            let [total] = fori_loop(0, trips, |_, [total]| [total + &y], [x.clone()])?;
            let [kept] =
                fori_loop(0, trips, |_, [total]| [where_(y.greater(1), &(total + &y), total)], [x.clone()])?;
            let of = |x: &f64| (0..trips).fold(*x, |total, _| sum(total, 0.5));
            let wanted: Vec<f64> = first.iter().map(of).collect();
            for options in ways() {
                let got = Evaluation::with(&options).eval_many(&[&total, &kept])?;
                assert_eq!(
                    bits(&got[0].to_vec::<f64>()?),
                    bits(&wanted),
                    "{n} elements, {trips} trips, {options:?}"
                );
                assert_eq!(bits(&got[1].to_vec::<f64>()?), bits(&first), "{n}, {trips}, {options:?}: moved");
            }
        }
    }
    Ok(())
}

/// The first state is only summed; the sign of the second one is read, and the third one is moved.
fn three_states<'a>(
    [s, signed, moved]: &[Array<'a>; 3],
    [x]: &[Array<'a>; 1],
) -> ([Array<'a>; 3], [Array<'a>; 3]) {
    let (next, sign) = (s + x, Array::scalar(1.0).copysign(signed));
    let kept = where_(x.less(0), &(moved + x), moved);
    ([next.clone(), signed + x, kept.clone()], [next, sign, kept])
}

/// The condition tests, by another function, for the same NaN that is replaced in the carried value.
#[test]
fn a_condition_on_the_value_that_follows() -> Result<()> {
    let c = Array::scalar(f64::INFINITY);
    let [x, y] = while_loop(
        |[x, _]| (&c - x * x).isnan().logical_not(),
        |[x, y]| [&c - x.square(), y + x],
        [Array::scalar(5.0), Array::from_vec(vec![0.0; 33])],
        9,
    )?;
    // ∞ - 5² is ∞, and ∞ - ∞² a NaN.
    for options in ways() {
        let got = Evaluation::with(&options).eval_many(&[&x, &y])?;
        assert_eq!(got[0].to_vec::<f64>()?, [f64::INFINITY; 33], "{options:?}");
        assert_eq!(got[1].to_vec::<f64>()?, [5.0; 33], "{options:?}");
    }
    Ok(())
}

#[test]
fn states_of_one_column() -> Result<()> {
    let x = numbers(300);
    let input = Array::from_vec(x.clone());
    for first in [ODD, 0.0] {
        let states = [0; 3].map(|_| Array::scalar(first));
        let (last, outputs) = scan(three_states, states, [input.clone()], Along::axis(0))?;
        let (mut s, mut moved) = (first, first);
        let mut wanted = [Vec::new(), Vec::new(), Vec::new()];
        for &x in &x {
            wanted[1].push(1.0_f64.copysign(s));
            s = sum(s, x);
            moved = if x < 0.0 { sum(moved, x) } else { moved };
            wanted[0].push(s);
            wanted[2].push(moved);
        }
        let results: Vec<&Array<'_>> = last.iter().chain(&outputs).collect();
        for options in ways() {
            let got = Evaluation::with(&options).eval_many(&results)?;
            for (state, wanted) in got.iter().zip([s, s, moved]) {
                assert_eq!(bits(&state.to_vec::<f64>()?), [wanted.to_bits()], "{first}, {options:?}");
            }
            for (output, wanted) in got[3..].iter().zip(&wanted) {
                assert_eq!(bits(&output.to_vec::<f64>()?), bits(wanted), "{first}, {options:?}");
            }
        }
    }
    Ok(())
}
