//! Elements at indices that loops compute: every expected value is computed by a loop over numbers, element by element.

use std::fmt::Debug;

use broadloom::gradients::{grad, jvp, vmap};
use broadloom::prelude::*;
use broadloom::text::{Program, print};
use broadloom::{Chunks, IndexMode, IntDivision, Kernel, Range, cond, fori_loop, try_while_loop, while_loop};

use crate::on_executors::{each, executors};

/// The numbers of elements: none, and rows that end within a vector and within a tile.
const LENGTHS: [usize; 8] = [0, 1, 3, 8, 17, 64, 1001, 20_011];

pub fn numbers(n: usize, seed: u64) -> Vec<i64> {
    (0..n as u64).map(|i| ((i * 7919 + seed * 104_729) % 100_003) as i64).collect()
}

pub fn floats(n: usize, seed: u64) -> Vec<f64> {
    numbers(n, seed).iter().map(|&x| x as f64 / 64.0 - 700.0).collect()
}

/// Compares the bits of a result on each executor, on 1 to 7 threads.
pub fn each_bit(x: &Array<'_>, wanted: &[f64], what: &str) -> Result<()> {
    let wanted: Vec<u64> = wanted.iter().map(|x| x.to_bits()).collect();
    for options in executors() {
        for threads in [options.threads.unwrap_or(1), 2, 7] {
            let options = Options { threads: Some(threads), ..options.clone() };
            let found = x.eval_with(&options)?.to_vec::<f64>()?;
            let found: Vec<u64> = found.into_iter().map(f64::to_bits).collect();
            assert!(found == wanted, "{what}: {options:?}");
        }
    }
    Ok(())
}

pub fn refused<T: Debug>(result: Result<T>, kind: ErrorKind, words: &str) {
    let error = result.expect_err(words);
    assert!(error.kind() == kind && error.to_string().contains(words), "{:?}: {error}", error.kind());
}

/// The evaluation fails with an error of the index on every executor.
pub fn out_of_range(x: &Array<'_>, what: &str) {
    for options in executors() {
        match x.eval_with(&options) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Index, "{what}: {options:?}"),
            Ok(_) => panic!("{what}: {options:?} does not fail"),
        }
    }
}

/// A sum of elements of a table of floats, at the places of a linear congruential sequence.
#[test]
fn sums_along_a_walk_through_a_table() -> Result<()> {
    for extent in [1, 2, 97, 5000] {
        let table = floats(extent, 1);
        let x = Array::from_vec(table.clone());
        for n in LENGTHS {
            let first: Vec<i64> = numbers(n, 2).iter().map(|i| i % extent as i64).collect();
            let most: Vec<i64> = numbers(n, 3).iter().map(|i| i % 23).collect();
            let bounds = Array::from_vec(most.clone());
            let [_, _, sum] = while_loop(
                |[_, k, _]| k.less(&bounds),
                |[i, k, sum]| {
                    let next = (i * 5 + 1).remainder(extent as i64);
                    [next, k + 1, sum * 0.5 + x.take(i, 0).expect("one axis")]
                },
                [Array::from_vec(first.clone()), Array::scalar(0), Array::scalar(0.0)],
                None,
            )?;
            let one = |(&first, &most): (&i64, &i64)| {
                let (mut i, mut sum) = (first, 0.0);
                for _ in 0..most {
                    sum = sum * 0.5 + table[i as usize];
                    i = (i * 5 + 1) % extent as i64;
                }
                sum
            };
            let wanted: Vec<f64> = first.iter().zip(&most).map(one).collect();
            each_bit(&sum, &wanted, &format!("{n} of {extent}"))?;
        }
    }
    Ok(())
}

/// Lists of places, each of which names the next one, until the end: the number of its elements and the sum of what they carry.
#[test]
fn pointers_are_followed_to_the_end_of_a_list() -> Result<()> {
    let extent = 3000_i64;
    let next: Vec<i64> =
        (0..extent).map(|i| if i % 37 == 0 { -1 } else { i - 1 - i % 2 * (i % 5 % 2) }).collect();
    let weights: Vec<f32> = (0..extent).map(|i| (i % 91) as f32 - 45.0).collect();
    let (links, heights) = (Array::from_vec(next.clone()), Array::from_vec(weights.clone()));
    for n in LENGTHS {
        let first: Vec<i64> = numbers(n, 4).iter().map(|i| i % extent).collect();
        let [_, count, sum] = while_loop(
            |[i, ..]| i.greater_equal(0),
            |[i, count, sum]| {
                let here = heights.take(i, 0).expect("one axis");
                [links.take(i, 0).expect("one axis"), count + 1, sum + here]
            },
            [Array::from_vec(first.clone()), Array::scalar(0_i64), Array::scalar(0.0_f32)],
            None,
        )?;
        let (mut counts, mut sums) = (Vec::new(), Vec::new());
        for &first in &first {
            let (mut i, mut count, mut sum) = (first, 0_i64, 0.0_f32);
            while i >= 0 {
                sum += weights[i as usize];
                (i, count) = (next[i as usize], count + 1);
            }
            counts.push(count);
            sums.push(sum);
        }
        each(&count, &counts, "lengths")?;
        each(&sum, &sums, "sums")?;
    }
    Ok(())
}

/// A bisection of a sorted table, whose place is that before which a number belongs.
#[test]
fn bisection_finds_the_places_of_a_search() -> Result<()> {
    for extent in [0_usize, 1, 2, 100, 4097] {
        let table: Vec<f64> = (0..extent).map(|i| (i / 3) as f64 * 1.5).collect();
        let sorted = Array::from_vec(table.clone());
        for n in LENGTHS {
            let keys: Vec<f64> = numbers(n, 5).iter().map(|&x| (x % 2100) as f64 - 9.0).collect();
            let x = Array::from_vec(keys.clone());
            let [low, _] = while_loop(
                |[low, high]| low.less(high),
                |[low, high]| {
                    let middle = (low + high).floor_divide(2);
                    let is_right = sorted.take(&middle, 0).expect("one axis").less(&x);
                    [where_(&is_right, &middle + 1, low), where_(&is_right, high, &middle)]
                },
                [Array::scalar(0), Array::scalar(extent as i64)],
                None,
            )?;
            let wanted: Vec<i64> = keys.iter().map(|key| table.partition_point(|x| x < key) as i64).collect();
            each(&low, &wanted, &format!("{n} in {extent}"))?;
        }
    }
    Ok(())
}

/// The condition reads the table, also where the first place ends the loop.
#[test]
fn conditions_read_tables() -> Result<()> {
    let table: Vec<u8> = (0..900_u32).map(|i| (i * i % 251) as u8).chain([255]).collect();
    let bytes = Array::from_vec(table.clone());
    for n in LENGTHS {
        let first: Vec<i64> = numbers(n, 6).iter().map(|i| i % 901).collect();
        let [i] = while_loop(
            |[i]| bytes.take(i, 0).expect("one axis").less(240_u8),
            |[i]| [i + 1],
            [Array::from_vec(first.clone())],
            None,
        )?;
        let wanted: Vec<i64> =
            first.iter().map(|&i| (i..901).find(|&i| table[i as usize] >= 240).unwrap_or(901)).collect();
        each(&i, &wanted, &format!("{n}"))?;
    }
    Ok(())
}

/// An element that is done may hold an index outside of the table; one that goes on may not.
#[test]
fn only_active_elements_fail() -> Result<()> {
    let (extent, n) = (50_i64, 1003);
    let next: Vec<i64> = (0..extent).map(|i| i * 2 + 1).collect();
    let table = Array::from_vec(next.clone());
    let follow = |first: &[i64], bound: i64| {
        while_loop(
            |[i]| i.less(bound) & i.greater_equal(0),
            |[i]| [table.take(i, 0).expect("one axis")],
            [Array::from_vec(first.to_vec())],
            100,
        )
    };
    let mut first: Vec<i64> = numbers(n, 7).iter().map(|i| i % 120).collect();
    first[3] = i64::MAX;
    first[4] = i64::MIN;
    first[n - 1] = 1 << 40;
    let wanted: Vec<i64> = first
        .iter()
        .map(|&first| {
            let mut i = first;
            while (0..extent).contains(&i) {
                i = next[i as usize];
            }
            i
        })
        .collect();
    each(&follow(&first, extent)?[0], &wanted, "inactive")?;
    // The bound lets one index beyond the last one into the body.
    for place in [0, 1, 500, n - 2, n - 1] {
        let mut failing = vec![1_i64 << 50; n];
        failing[place] = extent;
        out_of_range(&follow(&failing, extent + 1)?[0], &format!("{place}"));
        failing[place] = extent - 1;
        each(
            &follow(&failing, extent)?[0].slice(place as isize..place as isize + 1)?,
            &[2 * extent - 1],
            "ends",
        )?;
    }
    // A number of iterations is no reason to look at an index once more.
    let [i] = while_loop(
        |[i]| table.take(i, 0).expect("one axis").less(1000),
        |[i]| [i + 1],
        [Array::from_vec(vec![45_i64; n])],
        5,
    )?;
    each(&i, &vec![50_i64; n], "at the limit")?;
    Ok(())
}

/// Modes other than that which fails, and tables and indices of every dtype.
#[test]
fn modes_and_dtypes() -> Result<()> {
    let first: Vec<i64> = (-40..60).collect();
    let table = Array::from_vec((0..7_i64).map(|i| 10 * i - 3).collect::<Vec<_>>());
    for (mode, at) in
        [(IndexMode::Clip, (|i| i.clamp(0, 6)) as fn(i64) -> i64), (IndexMode::Wrap, |i| i.rem_euclid(7))]
    {
        let [i, _] = fori_loop(
            0,
            3,
            |_, [i, sum]| [table.take_by(i, 0, mode).expect("one axis"), sum + i],
            [Array::from_vec(first.clone()), Array::scalar(0)],
        )?;
        let wanted: Vec<i64> = first.iter().map(|&first| (0..3).fold(first, |i, _| 10 * at(i) - 3)).collect();
        each(&i, &wanted, &format!("{mode}"))?;
    }
    let inside: Vec<i64> = (0..100).map(|i| i % 14 - 7).collect();
    for of_index in [DType::Int8, DType::Int16, DType::Int32, DType::Int64] {
        for dtype in DType::ALL.iter().copied() {
            let values = Array::from_vec(vec![1_i64, 0, 1, 1, 0, 3, 0]).astype(dtype);
            let (zero, start) = (Array::scalar(0.0), Array::from_vec(inside.clone()).astype(of_index));
            let [_, sum] = while_loop(
                |[i, _]| i.less(7),
                |[i, sum]| [i + 1, sum * 0.5 + values.take(i, 0).expect("one axis").astype(DType::Float64)],
                [start, zero],
                20,
            )?;
            let number = |i: i64| match [1.0, 0.0, 1.0, 1.0, 0.0, 3.0, 0.0][i.rem_euclid(7) as usize] {
                3.0 if dtype == DType::Bool => 1.0,
                x => x,
            };
            let wanted: Vec<f64> =
                inside.iter().map(|&first| (first..7).fold(0.0, |sum, i| sum * 0.5 + number(i))).collect();
            each(&sum, &wanted, &format!("{dtype} by {of_index}"))?;
        }
    }
    Ok(())
}

/// A product of a sparse matrix in rows and a vector: a range of each row's own, and a table at the elements of another one.
#[test]
fn rows_of_a_sparse_matrix() -> Result<()> {
    let (rows, cols) = (700, 90);
    let lengths: Vec<i64> = numbers(rows, 8).iter().map(|x| x % 12).collect();
    let ends: Vec<i64> = lengths
        .iter()
        .scan(0, |end, length| {
            *end += length;
            Some(*end)
        })
        .collect();
    let starts: Vec<i64> = ends.iter().zip(&lengths).map(|(end, length)| end - length).collect();
    let stored = *ends.last().expect("rows") as usize;
    let columns: Vec<u16> = numbers(stored, 9).iter().map(|x| (x % cols) as u16).collect();
    let (values, vector) = (floats(stored, 10), floats(cols as usize, 11));
    let [data, x] = [&values, &vector].map(|of| Array::from_slice(of));
    let column = Array::from_slice(&columns);
    let [y] = fori_loop(
        Array::from_slice(&starts),
        Array::from_slice(&ends),
        |k, [y]| {
            let at = column.take(k, 0).expect("one axis");
            [y + data.take(k, 0).expect("one axis") * x.take(&at, 0).expect("one axis")]
        },
        [Array::scalar(0.0)],
    )?;
    let wanted: Vec<f64> = starts
        .iter()
        .zip(&ends)
        .map(|(&start, &end)| {
            (start as usize..end as usize).fold(0.0, |y, k| y + values[k] * vector[usize::from(columns[k])])
        })
        .collect();
    each_bit(&y, &wanted, "rows")
}

/// A loop in a loop: both read a table, and the outer one reads another one in between.
#[test]
fn loops_in_loops() -> Result<()> {
    let (extent, n) = (101_i64, 777);
    let steps: Vec<i64> = (0..extent).map(|i| i % 4).collect();
    let table = floats(extent as usize, 12);
    let (counts, x) = (Array::from_slice(&steps), Array::from_slice(&table));
    let first: Vec<i64> = numbers(n, 13).iter().map(|i| i % extent).collect();
    let [_, sum] = while_loop(
        |[i, _]| i.less(extent),
        |[i, sum]| {
            let most = counts.take(i, 0).expect("one axis");
            let inner = while_loop(
                |[k, _]| k.less(&most),
                |[k, sum]| {
                    let at = (i + k).remainder(extent);
                    [k + 1, sum * 0.75 + x.take(&at, 0).expect("one axis")]
                },
                [Array::scalar(0_i64), sum.clone()],
                None,
            );
            let [k, sum] = inner.expect("a loop");
            [i + 1 + k, sum + x.take(&i.remainder(1), 0).expect("one axis")]
        },
        [Array::from_slice(&first), Array::scalar(0.0)],
        None,
    )?;
    let one = |&first: &i64| {
        let (mut i, mut sum) = (first, 0.0);
        while i < extent {
            let most = steps[i as usize];
            for k in 0..most {
                sum = sum * 0.75 + table[((i + k) % extent) as usize];
            }
            sum += table[0];
            i += 1 + most;
        }
        sum
    };
    each_bit(&sum, &first.iter().map(one).collect::<Vec<_>>(), "nested")
}

/// A branch takes elements for those that take it.
#[test]
fn branches_take_elements_where_they_are_taken() -> Result<()> {
    for n in LENGTHS {
        let table = Array::from_vec((0..40_i64).map(|i| i * i).collect::<Vec<_>>());
        let index: Vec<i64> = numbers(n, 14).iter().map(|i| i % 90 - 30).collect();
        let i = Array::from_vec(index.clone());
        let is_inside = i.greater_equal(0) & i.less(40);
        let [y] = cond(&is_inside, || [table.take(&i, 0).expect("one axis")], || [Array::scalar(-1)])?;
        let wanted: Vec<i64> = index.iter().map(|&i| if (0..40).contains(&i) { i * i } else { -1 }).collect();
        each(&y, &wanted, "inside")?;
        let [y] = cond(&is_inside, || [&i - 1], || [table.take(&i, 0).expect("one axis")])?;
        if index.iter().any(|i| !(-40..40).contains(i)) {
            out_of_range(&y, "the other branch");
        }
    }
    Ok(())
}

/// An element whose index is out of range ends its loops: it must not go on with another element until the limit of iterations,
/// nor fail by that element's value. An element that does not end by itself is still the error.
#[test]
fn an_index_out_of_range_ends_the_loop() -> Result<()> {
    for n in LENGTHS.into_iter().filter(|&n| n > 0) {
        // 1, 2, 3 are followed up to 3, which is outside. The first element leads back to 1.
        let next = Array::from_vec(vec![1_i64, 2, 3]);
        let first = Array::from_vec((0..n as i64).map(|i| i % 3).collect::<Vec<_>>());
        let followed = |bound: &Array<'static>| {
            while_loop(|[i]| i.less(bound), |[i]| [next.take(i, 0).expect("one axis")], [first.clone()], None)
        };
        each(&followed(&Array::scalar(3_i64))?[0], &vec![3_i64; n], "inside")?;
        out_of_range(&followed(&Array::scalar(4_i64))?[0], "in the body");
        let mut bounds = vec![3_i64; n];
        bounds[n / 2] = 4;
        out_of_range(&followed(&Array::from_vec(bounds))?[0], "one element, in the body");

        // A search for a value that the table does not contain.
        let values = Array::from_vec(vec![5_i16, 7, 9]);
        let found = |of: i16| {
            let is_other = |i: &Array<'static>| values.take(i, 0).expect("one axis").not_equal(of);
            while_loop(|[i]| is_other(i), |[i]| [i + 1], [first.less(0).astype(DType::Int64)], None)
        };
        each(&found(9)?[0], &vec![2_i64; n], "found")?;
        out_of_range(&found(8)?[0], "in the condition");

        // The step of a loop is taken before it, for each element or for all, or by a loop around it; the first element is 0.
        let steps = Array::from_vec(vec![0_i64, 1, 2]);
        let counted =
            |step: &Array<'static>| while_loop(|[i]| i.less(10), |[i]| [i + step], [first.clone()], None);
        let taken = |index: &Array<'static>| counted(&steps.take(index, 0).expect("one axis"));
        out_of_range(&taken(&(&first + 3))?[0], "before the loop");
        out_of_range(&taken(&Array::scalar(3_i64))?[0], "for all elements");
        let nested = while_loop(
            |[i]| i.less(20),
            |[i]| {
                let [j] = counted(&steps.take(&(i + 1), 0).expect("one axis")).expect("a loop");
                [j + i]
            },
            [first.clone()],
            None,
        )?;
        out_of_range(&nested[0], "by the loop around");

        // What follows from the element that is read instead is no error of its own.
        let divisors = Array::from_vec(vec![0_i64, 1, 1]);
        let divided = while_loop(
            |[i]| i.less(9),
            |[i]| {
                [i + 1
                    + divisors
                        .take(&(i + 1), 0)
                        .expect("one axis")
                        .remainder(divisors.take(&(i + 1), 0).expect("one axis"))]
            },
            [first.clone()],
            None,
        )?;
        for options in executors() {
            let options = Options { int_division: IntDivision::Error, ..options };
            let error = divided[0].eval_with(&options).expect_err("out of range");
            assert_eq!(error.kind(), ErrorKind::Index, "{options:?}");
        }

        // The last element goes from 0 to 1 and back, whatever the first one meets.
        let circle = Array::from_vec(vec![1_i64, 0, 3]);
        let mut bounds = vec![3_i64; n + 1];
        bounds[0] = 4;
        let bounds = Array::from_vec(bounds);
        let start = Array::from_vec([vec![2; n], vec![0_i64]].concat());
        let endless =
            while_loop(|[i]| i.less(&bounds), |[i]| [circle.take(i, 0).expect("one axis")], [start], None)?;
        for options in executors() {
            let error = endless[0].eval_with(&options).expect_err("does not end");
            assert_eq!(error.kind(), ErrorKind::Limit, "{options:?}: {error}");
        }
    }
    Ok(())
}

/// A division by zero and an index out of range in one loop, each for elements that are active and for those that are not.
#[test]
fn divisions_and_indices_have_faults_of_their_own() -> Result<()> {
    let n = 333;
    let table = Array::from_vec((1..=64_i64).collect::<Vec<_>>());
    let looped = |first: Vec<i64>, divisor: Vec<i64>| {
        let by = Array::from_vec(divisor);
        while_loop(
            |[i, _]| {
                i.less(100).logical_and(table.take_by(i, 0, IndexMode::Clip).expect("one axis").less(60))
            },
            |[i, sum]| [i + 7, sum + table.take(i, 0).expect("one axis").floor_divide(&by)],
            [Array::from_vec(first), Array::scalar(0)],
            None,
        )
    };
    let first: Vec<i64> = (0..n).map(|i| i % 70).collect();
    let divisor: Vec<i64> = first.iter().map(|&i| i64::from(i < 59)).collect();
    let sums: Vec<i64> = first.iter().map(|&i| (i..59).step_by(7).map(|i| i + 1).sum()).collect();
    let [_, sum] = looped(first.clone(), divisor.clone())?;
    let both = |first: Vec<i64>, divisor: Vec<i64>| -> Result<Vec<ErrorKind>> {
        let [_, sum] = looped(first, divisor)?;
        let kinds = executors().into_iter().map(|options| {
            let options = Options { int_division: IntDivision::Error, ..options };
            sum.eval_with(&options).expect_err("fails").kind()
        });
        Ok(kinds.collect())
    };
    for options in executors() {
        let options = Options { int_division: IntDivision::Error, ..options };
        assert_eq!(sum.eval_with(&options)?.to_vec::<i64>()?, sums, "{options:?}");
    }
    let mut zero = divisor.clone();
    zero[7] = 0;
    assert!(both(first.clone(), zero)?.iter().all(|&kind| kind == ErrorKind::ZeroDivision));
    let mut outside = first;
    outside[9] = -70;
    assert!(both(outside, divisor)?.iter().all(|&kind| kind == ErrorKind::Index));
    Ok(())
}

/// Tables that are computed, views, or also read element by element.
#[test]
fn tables_are_any_arrays() -> Result<()> {
    let n = 300_i64;
    let data = floats(2 * n as usize, 15);
    let x = Array::from_shape_vec(&[n as usize, 2], data.clone())?;
    let column = x.slice((Range::from(..).step(-1), 1))?;
    let computed = &column * 2.0;
    let taken = |table: &Array<'static>, also: &Array<'static>| {
        while_loop(
            |[i, _]| i.greater(0),
            |[i, sum]| [i - 3, sum + table.take(i, 0).expect("one axis") * also],
            [Array::arange(0_i64, n, 1).expect("numbers"), Array::scalar(0.0)],
            None,
        )
    };
    let at = |i: i64| data[2 * (n - 1 - i) as usize + 1];
    let wanted = |factor: f64, also: &dyn Fn(i64) -> f64| -> Vec<f64> {
        let one = |first: i64| {
            let (mut i, mut sum) = (first, 0.0);
            while i > 0 {
                sum += at(i) * factor * also(first);
                i -= 3;
            }
            sum
        };
        (0..n).map(one).collect()
    };
    each_bit(&taken(&column, &Array::scalar(1.0))?[1], &wanted(1.0, &|_| 1.0), "a view")?;
    each_bit(&taken(&computed, &Array::scalar(1.0))?[1], &wanted(2.0, &|_| 1.0), "computed")?;
    each_bit(&taken(&column, &column)?[1], &wanted(1.0, &at), "also read element by element")?;

    // Of two axes, both of which are indexed; the first index of one is wrong.
    let both = |bound: i64| {
        while_loop(
            |[i, _]| i.less(bound),
            |[i, sum]| [i + 1, sum + x.gather(&[i.clone(), i.remainder(2)], 0).expect("two axes")],
            [Array::arange(0_i64, n, 1).expect("numbers"), Array::scalar(0.0)],
            None,
        )
    };
    let sums: Vec<f64> =
        (0..n).map(|first| (first..n).fold(0.0, |sum, i| sum + data[(2 * i + i % 2) as usize])).collect();
    each_bit(&both(n)?[1], &sums, "two axes")?;
    out_of_range(&both(n + 1)?[1], "two axes");
    Ok(())
}

/// What a body takes that does not depend on a carried value is taken for active elements, too.
#[test]
fn elements_that_no_iteration_changes() -> Result<()> {
    let table = Array::from_vec(vec![1.5_f64, 2.5, 4.0]);
    let index: Vec<i64> = (0..200).map(|i| i % 5 - 1).collect();
    let i = Array::from_vec(index.clone());
    let counted = |bound: i64| {
        while_loop(
            |[k, _]| k.less(bound) & i.less(3),
            |[k, sum]| [k + 1, sum + table.take(&i, 0).expect("one axis")],
            [Array::scalar(0), Array::scalar(0.0)],
            None,
        )
    };
    let wanted: Vec<f64> = index
        .iter()
        .map(|&i| match [1.5, 2.5, 4.0].get(i.rem_euclid(3) as usize) {
            Some(x) if i < 3 => (0..3).fold(0.0, |sum, _| sum + x),
            _ => 0.0,
        })
        .collect();
    each_bit(&counted(3)?[1], &wanted, "taken")?;
    each_bit(&counted(0)?[1], &vec![0.0; 200], "no iteration")
}

/// Extents that are not known when the loop is built, and texts.
#[test]
fn kernels_and_texts() -> Result<()> {
    let options = Options::default();
    let table = Array::input("table", DType::Int64, &["n".into()])?;
    let first = Array::input("first", DType::Int64, &["m".into()])?;
    let [end] =
        while_loop(|[i]| i.greater(2), |[i]| [table.take(i, 0).expect("one axis")], [first.clone()], None)?;
    let kernel = Kernel::named(&[("y", &end)], &[&table, &first], &options)?;
    for (extent, n) in [(3_i64, 5_i64), (40, 1000)] {
        let halves: Vec<i64> = (0..extent).map(|i| i / 2).collect();
        let from: Vec<i64> = (0..n).map(|i| i % extent).collect();
        let mut out = vec![0_i64; from.len()];
        kernel.run(&[(&halves[..]).into(), (&from[..]).into()], [(&mut out[..]).into()])?;
        let one = |&first: &i64| {
            let mut i = first;
            while i > 2 {
                i = halves[i as usize];
            }
            i
        };
        assert_eq!(out, from.iter().map(one).collect::<Vec<_>>());
        let beyond = vec![extent; from.len()];
        let failed = kernel.run(&[(&halves[..]).into(), (&beyond[..]).into()], [(&mut out[..]).into()]);
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Index);
    }
    let printed = print(&[("y", &end)])?;
    let named = Kernel::named(&[("y", &end)], &[&first, &table], &options)?;
    assert_eq!(Program::parse(&printed)?.kernel(&options)?.id(), named.id(), "{printed}");

    let text = "_, n = while (at = i, n = 0; at > 0) { n = n + 1; at = take(next, at) }; return n";
    let arrays =
        [("next", Array::from_vec(vec![0_i64, 0, 1, 1, 2])), ("i", Array::from_vec(vec![4_i64, 3, 1, 0]))];
    each(&Program::parse(text)?.build(&arrays)?.remove(0).1, &[3_i64, 2, 1, 0], text)
}

/// A range of rows would be given a part of the table, so there is none.
#[test]
fn ranges_of_rows_are_refused() -> Result<()> {
    let x = Array::input("x", DType::Float64, &["n".into()])?;
    let i = Array::input("i", DType::UInt32, &["n".into()])?;
    let [y] = cond(&i.less(4_u32), || [x.take(&i, 0).expect("one axis")], || [Array::scalar(0.0)])?;
    let call = Kernel::new(&[&y], &[&x, &i], &Options::default())?.bind(&[("n", 4)])?;
    let (table, index, mut out) = ([10.0, 20.0, 30.0, 40.0], [0_u32, 0, 0, 1], [0.0; 2]);
    let inputs = [(&table[..]).into(), (&index[..]).into()];
    let error = call.run_range(2..4, &inputs, [(&mut out[..]).into()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);
    let mut all = [0.0; 4];
    call.run(&inputs, [(&mut all[..]).into()])?;
    assert_eq!(all, [10.0, 10.0, 10.0, 20.0]);
    Ok(())
}

/// Parts of the result need the whole table.
#[test]
fn chunks() -> Result<()> {
    let n = 30_000_i64;
    let table: Vec<i64> = (0..n).map(|i| i / 3).collect();
    let (x, first) = (Array::from_slice(&table), Array::arange(0_i64, n, 1)?);
    let [_, count] = while_loop(
        |[i, _]| i.greater(0),
        |[i, count]| [x.take(i, 0).expect("one axis"), count + 1],
        [first, Array::scalar(0_i64)],
        None,
    )?;
    let one = |first: i64| {
        let (mut i, mut count) = (first, 0_i64);
        while i > 0 {
            (i, count) = (table[i as usize], count + 1);
        }
        count
    };
    let wanted: Vec<i64> = (0..n).map(one).collect();
    each(&count, &wanted, "whole")?;
    let options = Options { max_bytes: 100_000, ..Options::default() };
    let (mut made, mut parts) = (Vec::new(), 0);
    for chunk in Chunks::new(&[&count], &[], &options)?.iter() {
        made.extend(chunk?.results(&[])?[0].to_vec::<i64>()?);
        parts += 1;
    }
    assert!(parts > 1 && made == wanted, "{parts}");
    Ok(())
}

/// Tables that depend on what a loop carries are refused when it is built.
#[test]
fn what_is_refused() -> Result<()> {
    let x = Array::from_vec(vec![0_i64, 1, 2]);
    let own = try_while_loop(
        &|state| state[0].try_less(9),
        &|state| Ok(vec![state[0].take(&x, 0)?]),
        std::slice::from_ref(&x),
        None,
    );
    refused(own, ErrorKind::Shape, "from an array that depends on a carried value");
    Ok(())
}

/// Tangents pass through elements, and gradients with respect to other arrays than the table.
#[test]
fn derivatives() -> Result<()> {
    let table = Array::from_vec(vec![2.0_f64, 3.0, 5.0, 7.0]);
    let x = Array::from_vec(vec![1.0_f64, -2.0]);
    let product = |table: &Array<'static>, x: &Array<'static>| -> Result<Array<'static>> {
        let [y] = fori_loop(0, 4, |i, [y]| [y * table.take(i, 0).expect("one axis") + x], [x.clone()])?;
        Ok(y)
    };
    // y = 210 x + 105 x + 35 x + 7 x + x.
    let y = product(&table, &x)?;
    each(&y, &[358.0, -716.0], "values")?;
    each(&grad(&y.sum(())?, &[&x])?[0], &[358.0, 358.0], "reverse")?;
    each(&jvp(&[&y], &[&x], &[&Array::from_vec(vec![1.0, 10.0])])?[0], &[358.0, 3580.0], "forwards")?;
    // With respect to the first element of the table: 105 x.
    let along = Array::from_vec(vec![1.0, 0.0, 0.0, 0.0]);
    each(&jvp(&[&y], &[&table], &[&along])?[0], &[105.0, -210.0], "the table")?;
    // The values before the iterations are x, 3 x, 10 x and 51 x, and the later factors multiply 105, 35, 7 and 1.
    each(&grad(&y.sum(())?, &[&table])?[0], &[-105.0, -105.0, -70.0, -51.0], "the table in reverse")?;
    // In 4000 iterations, the factor of x is the product of the exact powers of two of the table.
    let factors = Array::from_vec(vec![2.0_f64, 0.5, 4.0, 0.25, 1.0]);
    let [far] =
        fori_loop(0, 4001, |i, [y]| [y * factors.take(&i.remainder(5), 0).expect("one axis")], [x.clone()])?;
    each(&grad(&far.sum(())?, &[&x])?[0], &[2.0, 2.0], "many iterations in reverse")?;
    // Each factor is used 800 times, the first one 801 times, and the sum of x is −1.
    let of_each = [2.0, 0.5, 4.0, 0.25, 1.0].map(|factor| -2.0 * 800.0 / factor);
    let wanted = [-2.0 * 801.0 / 2.0, of_each[1], of_each[2], of_each[3], of_each[4]];
    each(&grad(&far.sum(())?, &[&factors])?[0], &wanted, "a table of many iterations in reverse")?;
    let [branch] = cond(
        &x.greater(0),
        || [table.take(&x.astype(DType::Int64), 0).expect("one axis") * &x],
        || [x.clone()],
    )?;
    each(&branch, &[3.0, -2.0], "a branch")?;
    each(&grad(&branch.sum(())?, &[&x])?[0], &[3.0, 1.0], "a branch in reverse")?;
    each(&grad(&branch.sum(())?, &[&table])?[0], &[0.0, 1.0, 0.0, 0.0], "a table of a branch in reverse")?;

    let batch = Array::from_shape_vec(&[3, 2], vec![1.0, -2.0, 0.5, 0.25, 0.0, 4.0])?;
    let mapped = vmap(|args| Ok(vec![product(&table, &args[0])?]), &[batch], &[Some(0)], 0)?;
    each(&mapped[0], &[358.0, -716.0, 179.0, 89.5, 0.0, 1432.0], "a batch")?;
    let tables = Array::from_shape_vec(&[2, 4], vec![1.0_f64, 1.0, 1.0, 1.0, 2.0, 3.0, 5.0, 7.0])?;
    let mapped = vmap(|args| Ok(vec![product(&args[0], &x)?]), &[tables], &[Some(0)], 0)?;
    each(&mapped[0], &[5.0, -10.0, 358.0, -716.0], "a batch of tables")?;
    Ok(())
}
