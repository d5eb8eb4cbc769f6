//! Searches, in sorted rows and in others.

use broadloom_math::for_each_dtype;
use broadloom_sort::{Alone, Side, searchsorted};

use crate::each_dtype;
use crate::spec::{Numbers, PATTERNS, Spec, Threads, row};

/// The bisection as the documentation has it.
fn bisection<T: Spec>(sorted: &[T::Store], query: T::Store, side: Side) -> usize {
    let before = |element: T::Store| match side {
        Side::Left => T::load(element).is_less(T::load(query)),
        Side::Right => !T::load(query).is_less(T::load(element)),
    };
    let (mut low, mut high) = (0, sorted.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if before(sorted[middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn rows<T: Spec>(name: &str) {
    let mut numbers = Numbers(1);
    for &pattern in PATTERNS {
        for len in (0..70).chain([127, 128, 129, 1000, 4097]) {
            let sorted = row::<T>(pattern, len, &mut numbers);
            let mut queries = row::<T>("edges", 40, &mut numbers);
            queries.extend((0..37.min(len)).map(|_| sorted[numbers.below(len)]));
            for side in [Side::Left, Side::Right] {
                let mut places = vec![-1; queries.len()];
                searchsorted::<T>(&sorted, &queries, side, &mut places, &Alone).unwrap();
                for (&query, &place) in queries.iter().zip(&places) {
                    let expected = bisection::<T>(&sorted, query, side);
                    assert_eq!(place, expected as i64, "{name}, {len} {pattern}, {side:?}");
                    if pattern == "sorted" {
                        let is_before = |&&element: &&T::Store| match side {
                            Side::Left => T::load(element).is_less(T::load(query)),
                            Side::Right => !T::load(query).is_less(T::load(element)),
                        };
                        assert_eq!(expected, sorted.iter().filter(is_before).count(), "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn places_are_those_of_the_bisection() {
    for_each_dtype!(each_dtype, rows,);
}

#[test]
fn values_are_compared() {
    let nan = f64::from_bits(u64::MAX);
    let sorted = [-1.0, -0.0, 0.0, 1.0, f64::NAN, nan];
    let places = |side| {
        let mut places = [0; 4];
        searchsorted::<f64>(&sorted, &[-0.0, 0.0, f64::NAN, nan], side, &mut places, &Alone).unwrap();
        places
    };
    assert_eq!(places(Side::Left), [1, 1, 4, 4]);
    assert_eq!(places(Side::Right), [3, 3, 6, 6]);
}

#[test]
fn threads_share_queries() {
    let mut numbers = Numbers(2);
    let sorted = row::<f32>("edges", 1000, &mut numbers);
    let queries = row::<f32>("bits", 100_003, &mut numbers);
    let mut places = vec![[0; 2]; 0];
    for threads in [1, 2, 5] {
        let mut found = vec![-1; queries.len()];
        searchsorted::<f32>(&sorted, &queries, Side::Right, &mut found, &Threads(threads)).unwrap();
        let found: Vec<[i64; 2]> = found.into_iter().zip(0..).map(|(place, i)| [i, place]).collect();
        assert!(places.is_empty() || places == found);
        places = found;
    }
}
