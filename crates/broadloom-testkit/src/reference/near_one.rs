//! The float64 pairs whose exponentials add up to nearly 1, where the terms of logaddexp cancel most.
//!
//! Each a below 0 has one b = ln(1 − e^a), whose distance from a float64 is practically random, so that only a search
//! finds the pairs that cancel most. `near_one.txt` holds the pairs of a long search, with the correctly rounded
//! values of logaddexp; `search` is the method, and its tests repeat a short search.

/// The pairs that the long search has found, as x1, x2 and the float64 nearest to logaddexp(x1, x2).
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
