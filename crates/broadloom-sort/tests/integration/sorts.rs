//! Sorted rows, their indices, and the first `k` elements.

use broadloom_math::{f16, for_each_dtype};
use broadloom_sort::{Alone, Direction, Memory, Workers, argsort, sort, topk};

use crate::each_dtype;
use crate::spec::{Numbers, PATTERNS, Spec, Threads, bits, reference, row};

const DIRECTIONS: [Direction; 2] = [Direction::Ascending, Direction::Descending];

/// Sorts rows in all ways, and compares them with the reference.
fn check<T: Spec>(what: &str, rows: &[T::Store], len: usize, memory: &mut Memory<'_>, workers: &dyn Workers) {
    for direction in DIRECTIONS {
        let (mut values, mut indices) = (rows.to_vec(), vec![-1; rows.len()]);
        sort::<T>(rows, len, direction, &mut values, memory, workers).unwrap();
        argsort::<T>(rows, len, direction, &mut indices, memory, workers).unwrap();
        for (i, row) in rows.chunks(len.max(1)).enumerate() {
            let expected = reference::<T>(row, direction);
            let place = i * len..i * len + row.len();
            let found: Vec<usize> = indices[place.clone()].iter().map(|&index| index as usize).collect();
            assert!(found == expected, "argsort, {direction:?}: {what}");
            let expected: Vec<T::Store> = expected.iter().map(|&index| row[index]).collect();
            assert!(bits::<T>(&values[place]) == bits::<T>(&expected), "sort, {direction:?}: {what}");
        }
    }
}

fn short_rows<T: Spec>(name: &str) {
    let (mut numbers, mut memory) = (Numbers(1), Memory::default());
    for &pattern in PATTERNS {
        for len in (0..80).chain((80..330).step_by(11)) {
            let row = row::<T>(pattern, len, &mut numbers);
            check::<T>(&format!("{name}, {len} {pattern}"), &row, len, &mut memory, &Alone);
        }
    }
}

#[test]
fn short_rows_of_every_dtype_and_pattern() {
    for_each_dtype!(each_dtype, short_rows,);
}

fn several_rows<T: Spec>(name: &str) {
    let (mut numbers, mut memory) = (Numbers(2), Memory::default());
    for len in [1, 3, 64, 65, 1000] {
        let rows = row::<T>("edges", 37 * len, &mut numbers);
        for threads in [1, 3] {
            check::<T>(&format!("{name}, rows of {len}"), &rows, len, &mut memory, &Threads(threads));
        }
    }
}

#[test]
fn several_rows_are_sorted_each_for_itself() {
    for_each_dtype!(each_dtype, several_rows,);
}

fn long_rows<T: Spec>(name: &str) {
    let (mut numbers, mut memory) = (Numbers(3), Memory::default());
    for (i, &pattern) in PATTERNS.iter().enumerate() {
        for (len, threads) in [(20_000, 1), (65_535 + i % 3, 2), (66_000 + 977 * i, 1 + i % 3)] {
            let row = row::<T>(pattern, len, &mut numbers);
            let what = format!("{name}, {len} {pattern} on {threads}");
            check::<T>(&what, &row, len, &mut memory, &Threads(threads));
        }
    }
}

#[test]
fn long_rows_of_every_dtype_and_pattern() {
    for_each_dtype!(each_dtype, long_rows,);
}

/// Buckets with more elements than expected are divided again, at last by comparisons.
#[test]
fn dense_buckets_are_divided_again() {
    let (mut numbers, mut memory) = (Numbers(4), Memory::default());
    for pattern in ["cluster", "nested", "two"] {
        let row64 = row::<u64>(pattern, 700_000, &mut numbers);
        check::<u64>(pattern, &row64, row64.len(), &mut memory, &Threads(2));
        let row64 = row::<f64>(pattern, 500_000, &mut numbers);
        check::<f64>(pattern, &row64, row64.len(), &mut memory, &Alone);
    }
    // Half of the keys end in 32 zeros, and the others are dense beside them.
    let mut row: Vec<u64> = (0..600_000).map(|_| 1 << 40 | numbers.below(1 << 30) as u64).collect();
    row.iter_mut().step_by(1000).for_each(|key| *key = numbers.bits());
    row.iter_mut().step_by(2).for_each(|key| *key &= !0xffff_ffff);
    check::<u64>("dense", &row, row.len(), &mut memory, &Threads(3));
}

#[test]
fn all_float16() {
    let mut numbers = Numbers(5);
    let mut row: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    for i in (1..row.len()).rev() {
        row.swap(i, numbers.below(i + 1));
    }
    check::<f16>("all", &row, row.len(), &mut Memory::default(), &Alone);
    row.truncate(9_000);
    check::<f16>("some", &row, row.len(), &mut Memory::default(), &Alone);
}

/// The order of the documentation, as a row.
#[test]
fn the_order_of_float64() {
    let nan = |bits: u64| f64::from_bits(bits);
    let order = [
        f64::NEG_INFINITY,
        -1.0,
        -f64::MIN_POSITIVE,
        -0.0,
        0.0,
        5e-324,
        1.0,
        f64::INFINITY,
        nan(0x7ff0_0000_0000_0001),
        nan(0x7ff8_0000_0000_0000),
        nan(0x7fff_ffff_ffff_ffff),
        nan(0xfff0_0000_0000_0001),
        nan(0xfff8_0000_0000_0000),
        nan(0xfff8_0000_0000_0007),
        nan(0xffff_ffff_ffff_ffff),
    ];
    let row: Vec<f64> = order.iter().cycle().skip(5).take(order.len()).copied().collect();
    let (mut memory, len, mut sorted) = (Memory::default(), row.len(), row.clone());
    sort::<f64>(&row, len, Direction::Ascending, &mut sorted, &mut memory, &Alone).unwrap();
    assert_eq!(sorted.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), order.map(f64::to_bits));
    sort::<f64>(&row, len, Direction::Descending, &mut sorted, &mut memory, &Alone).unwrap();
    sorted.reverse();
    assert_eq!(sorted.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), order.map(f64::to_bits));
}

#[test]
fn bytes_other_than_0_are_true() {
    let (row, mut sorted) = ([2, 0, 255, 1, 0], [7; 5]);
    sort::<bool>(&row, 5, Direction::Ascending, &mut sorted, &mut Memory::default(), &Alone).unwrap();
    assert_eq!(sorted, [0, 0, 1, 1, 1]);
}

fn first_of_rows<T: Spec>(name: &str) {
    let mut numbers = Numbers(6);
    for (pattern, len, rows, threads) in [
        ("edges", 50, 4, 1),
        ("few", 300, 3, 2),
        ("bits", 5000, 2, 1),
        ("sorted", 9000, 1, 1),
        ("pipe", 9000, 1, 1),
    ]
    .into_iter()
    .chain([("edges", 200_000, 1, 3), ("bits", 140_001, 2, 3)])
    {
        let values = row::<T>(pattern, len * rows, &mut numbers);
        for direction in DIRECTIONS {
            for k in [0, 1, 2, 7, 50, len / 2, len].into_iter().filter(|&k| k <= len) {
                let (mut out, mut indices) = (vec![T::default().store(); k * rows], vec![-1; k * rows]);
                topk::<T>(&values, len, k, direction, (&mut out, &mut indices), &Threads(threads)).unwrap();
                for (i, row) in values.chunks(len).enumerate() {
                    let expected = &reference::<T>(row, direction)[..k];
                    let place = i * k..i * k + k;
                    let found: Vec<usize> =
                        indices[place.clone()].iter().map(|&index| index as usize).collect();
                    assert!(found == expected, "topk: {name}, {k} of {len} {pattern}");
                    let expected: Vec<T::Store> = expected.iter().map(|&index| row[index]).collect();
                    assert!(
                        bits::<T>(&out[place]) == bits::<T>(&expected),
                        "topk: {name}, {k} of {len} {pattern}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_first_elements_of_rows() {
    for_each_dtype!(each_dtype, first_of_rows,);
}
