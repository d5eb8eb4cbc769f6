//! Distinct elements.

use broadloom_math::for_each_dtype;
use broadloom_sort::{Alone, Memory, unique, unique_indices};

use crate::each_dtype;
use crate::spec::{Numbers, PATTERNS, Spec, Threads, bits, row};

/// A distinct value: the indices of its occurrences.
type Occurrences = Vec<usize>;

/// The distinct values of a row: each element is compared with the first occurrences so far by `==`.
fn distinct<T: Spec>(row: &[T::Store]) -> Vec<Occurrences> {
    let mut found: Vec<Occurrences> = Vec::new();
    for (i, &element) in row.iter().enumerate() {
        match found.iter_mut().find(|indices| T::load(row[indices[0]]) == T::load(element)) {
            Some(indices) => indices.push(i),
            None => found.push(vec![i]),
        }
    }
    found.sort_by(|a, b| T::load(row[a[0]]).compare(T::load(row[b[0]])));
    found
}

fn rows<T: Spec>(name: &str) {
    let (mut numbers, mut memory) = (Numbers(1), Memory::default());
    for &pattern in PATTERNS {
        for len in (0..30).chain([64, 65, 100, 300, 1000]) {
            let row = row::<T>(pattern, len, &mut numbers);
            let expected = distinct::<T>(&row);
            let what = format!("{name}, {len} {pattern}");
            let values: Vec<T::Store> = expected.iter().map(|indices| row[indices[0]]).collect();
            let counts: Vec<i64> = expected.iter().map(|indices| indices.len() as i64).collect();
            let mut inverse = vec![-1; len];
            for (i, indices) in expected.iter().enumerate() {
                indices.iter().for_each(|&index| inverse[index] = i as i64);
            }

            let found = unique::<T>(&row, &mut memory, &Alone).unwrap();
            assert_eq!(bits::<T>(&found.values), bits::<T>(&values), "{what}");
            assert_eq!(found.counts, counts, "{what}");

            let found = unique_indices::<T>(&row, &mut memory, &Threads(2)).unwrap();
            assert_eq!(bits::<T>(&found.values), bits::<T>(&values), "{what}");
            assert_eq!(found.counts, counts, "{what}");
            assert_eq!(found.inverse, inverse, "{what}");
            let first: Vec<i64> = expected.iter().map(|indices| indices[0] as i64).collect();
            assert_eq!(found.first, first, "{what}");
        }
    }
}

#[test]
fn distinct_elements_of_every_dtype_and_pattern() {
    for_each_dtype!(each_dtype, rows,);
}

#[test]
fn the_first_zero_has_its_bits() {
    let mut memory = Memory::default();
    for row in [[0.0, -0.0, 1.0], [-0.0, 0.0, 1.0]] {
        let expected = [row[0], 1.0].map(f64::to_bits);
        let found = unique::<f64>(&row, &mut memory, &Alone).unwrap();
        assert_eq!(found.values.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), expected);
        let found = unique_indices::<f64>(&row, &mut memory, &Alone).unwrap();
        assert_eq!(found.values.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), expected);
        assert_eq!((found.first, found.inverse, found.counts), (vec![0, 2], vec![0, 0, 1], vec![2, 1]));
    }
}
