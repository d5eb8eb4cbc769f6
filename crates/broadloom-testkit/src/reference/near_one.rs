//! The float64 pairs whose exponentials sum to nearly 1, for which the terms of logaddexp cancel most.
//!
//! For each a below 0, the sum e^a + e^b is 1 if b = ln(1 − e^a). The distance of this b from a float64 is practically random,
//! so the pairs that cancel most can only be found by a search. `near_one.txt` contains the pairs found by a long search, with
//! the correctly rounded values of logaddexp. The module `search` implements the method, and its tests repeat a short search.

/// The pairs found by the long search: x1, x2 and the float64 nearest to logaddexp(x1, x2).
pub fn nearest_to_one() -> Vec<[f64; 3]> {
    let rows = include_str!("near_one.txt").lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let mut words = row.split(' ').map(|word| u64::from_str_radix(word, 16).expect("bits"));
        std::array::from_fn(|_| f64::from_bits(words.next().expect("a word")))
    })
    .collect()
}

#[cfg(test)]
mod search;
