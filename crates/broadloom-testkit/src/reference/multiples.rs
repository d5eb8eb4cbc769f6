//! The float64 numbers closest to multiples of π/2, for which argument reduction is hardest.
//!
//! They are numbers m · 2^e with m below 2^53, for every exponent e of a number above 1. Each m is the denominator of a
//! convergent of 2^e · 2/π, so that no smaller m is closer to a multiple for that e (Lagrange).

use num_bigint::BigUint;

use super::elementary::CONSTANTS;

/// The numbers from the last three convergents for each exponent.
pub fn near_multiples_of_half_pi() -> Vec<f64> {
    let words = &CONSTANTS.two_over_pi;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let numerator = BigUint::from_bytes_be(&bytes);
    let denominator = BigUint::from(1_u8) << (64 * words.len());
    (-52..=970)
        .flat_map(|e: i32| {
            let (up, down) = (e.max(0), (-e).max(0));
            let last = denominators(&numerator << up, &denominator << down);
            last.into_iter().map(move |m| (m as f64) * 2_f64.powi(e / 2) * 2_f64.powi(e - e / 2))
        })
        .collect()
}

/// The three largest denominators below 2^53 of convergents of the ratio above / below.
fn denominators(mut above: BigUint, mut below: BigUint) -> Vec<u64> {
    let (mut last, mut q) = (0_u128, 1_u128);
    let mut all = Vec::new();
    // Skips the integer part, whose denominator is 1; the partial quotients follow.
    above %= &below;
    while above != BigUint::ZERO {
        std::mem::swap(&mut above, &mut below);
        let Ok(partial) = u64::try_from(&above / &below) else { break };
        above %= &below;
        (last, q) = (q, u128::from(partial) * q + last);
        if q >= 1 << 53 {
            break;
        }
        all.push(q as u64);
    }
    all.split_off(all.len().saturating_sub(3))
}
