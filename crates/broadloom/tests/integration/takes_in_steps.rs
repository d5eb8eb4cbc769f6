//! Elements at indices that the steps of scans and the combinations of reductions compute: every expected value is computed by a loop
//! over numbers, column by column.

use broadloom::prelude::*;
use broadloom::{Along, IndexMode, IntDivision, Range, cond, fori_loop, reduce, scan, try_scan, while_loop};

use crate::combine::{columns, combined};
use crate::on_executors::{each, executors};
use crate::takes_in_loops::{each_bit, floats, numbers, out_of_range, refused};

mod kernels;

const SHAPES: &[&[usize]] = &[
    &[0],
    &[1],
    &[2],
    &[17],
    &[1000],
    &[20_011],
    &[0, 3],
    &[3, 0],
    &[3, 5],
    &[40, 33],
    &[300, 65],
    &[2, 2000],
    &[2000, 2],
    &[9, 1030],
    &[4, 5, 6],
    &[3, 1, 70, 2],
];

pub fn at(table: &Array<'static>, index: &Array<'static>) -> Array<'static> {
    table.take(index, 0).expect("one axis")
}

/// The last states and the outputs of steps along an axis, column by column.
fn stepped<V: Copy, S: Copy, O: Copy + Default>(
    (values, shape): (&[V], &[usize]),
    (axis, is_reversed): (usize, bool),
    first: S,
    step: impl Fn(S, V) -> (S, O),
) -> (Vec<S>, Vec<O>) {
    let after: usize = shape[axis + 1..].iter().product();
    let before: usize = shape[..axis].iter().product();
    let (mut last, mut outputs) = (Vec::new(), vec![O::default(); values.len()]);
    for column in 0..before * after {
        let mut state = first;
        for i in 0..shape[axis] {
            let i = if is_reversed { shape[axis] - 1 - i } else { i };
            let place = (column / after * shape[axis] + i) * after + column % after;
            (state, outputs[place]) = step(state, values[place]);
        }
        last.push(state);
    }
    (last, outputs)
}

fn along(axis: usize, is_reversed: bool) -> Along {
    let along = Along::axis(axis as isize);
    if is_reversed { along.reverse() } else { along }
}

/// The states of an automaton, whose next one is in a table at the state and the symbol.
#[test]
fn automata_along_each_axis() -> Result<()> {
    let table: Vec<i64> = (0..35).map(|i| (i * i * 3 + i / 7) % 5).collect();
    let transitions = Array::from_vec(table.clone());
    for shape in SHAPES {
        let symbols: Vec<i64> = numbers(shape.iter().product(), 1).iter().map(|x| x % 7).collect();
        let x = Array::from_shape_vec(shape, symbols.clone())?;
        for (axis, is_reversed) in (0..shape.len()).flat_map(|axis| [(axis, false), (axis, true)]) {
            let step = |[s]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
                let next = at(&transitions, &(s * 7 + v));
                ([next.clone()], [next * 10 + v])
            };
            let ([last], [all]) = scan(step, [Array::scalar(4)], [x.clone()], along(axis, is_reversed))?;
            let (states, outputs) = stepped((&symbols, shape), (axis, is_reversed), 4, |s, v| {
                let next = table[(s * 7 + v) as usize];
                (next, next * 10 + v)
            });
            let what = format!("{shape:?} along {axis}, {is_reversed}");
            each(&last, &states, &what)?;
            each(&all, &outputs, &what)?;
        }
    }
    Ok(())
}

/// Two elements of a table, between which the state of a recurrence of floats lies.
#[test]
fn an_interpolation_in_a_recurrence() -> Result<()> {
    let table = floats(60, 2).iter().map(|x| x / 1500.0).collect::<Vec<_>>();
    let curve = Array::from_vec(table.clone());
    for shape in SHAPES {
        let values = floats(shape.iter().product(), 3);
        let x = Array::from_shape_vec(shape, values.clone())?;
        for axis in 0..shape.len() {
            let step = |[y]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
                let place = (y.abs() * 8.0).minimum(58.0);
                let left = place.astype(DType::Int64);
                let part = &place - left.astype(DType::Float64);
                let next = at(&curve, &left) * (1.0 - &part) + at(&curve, &(&left + 1)) * part + v * 0.01;
                ([next.clone()], [next])
            };
            let ([last], [all]) = scan(step, [Array::scalar(0.5)], [x.clone()], axis as isize)?;
            let (states, outputs) = stepped((&values, shape), (axis, false), 0.5, |y: f64, v| {
                let place = (y.abs() * 8.0).min(58.0);
                let (left, part) = (place as usize, place.fract());
                let next = table[left] * (1.0 - part) + table[left + 1] * part + v * 0.01;
                (next, next)
            });
            each_bit(&last, &states, &format!("{shape:?} along {axis}"))?;
            each_bit(&all, &outputs, &format!("{shape:?} along {axis}"))?;
        }
    }
    Ok(())
}

/// A group of symbols by the table of its products, which is neither associative nor commutative.
#[test]
fn reductions_combine_by_a_table() -> Result<()> {
    let extent = 6_i64;
    let table: Vec<i64> = (0..36).map(|i| (i / 6 * 5 + i % 6 * i % 7 + 1) % extent).collect();
    let products = Array::from_vec(table.clone());
    for shape in SHAPES {
        let values: Vec<i64> = numbers(shape.iter().product(), 4).iter().map(|x| x % extent).collect();
        let x = Array::from_shape_vec(shape, values.clone())?;
        for axis in 0..shape.len() {
            let [y] = reduce(
                |[a], [b]| [at(&products, &(a * extent + b))],
                [Array::scalar(-1)],
                [x.clone()],
                axis as isize,
            )?;
            let one =
                |column: &Vec<i64>| combined(column, |a, b| table[(a * extent + b) as usize]).unwrap_or(-1);
            let wanted: Vec<i64> = columns(&values, shape, axis).iter().map(one).collect();
            each(&y, &wanted, &format!("{shape:?} along {axis}"))?;
        }
    }
    Ok(())
}

/// Tables and indices of every dtype, and modes other than that which fails.
#[test]
fn modes_and_dtypes() -> Result<()> {
    for shape in [&[101][..], &[9, 40]] {
        let index: Vec<i64> = numbers(shape.iter().product(), 5).iter().map(|x| x % 14 - 7).collect();
        for of_index in [DType::Int8, DType::Int16, DType::Int32, DType::Int64] {
            let x = Array::from_shape_vec(shape, index.clone())?.astype(of_index);
            for dtype in DType::ALL.iter().copied() {
                let values = Array::from_vec(vec![1_i64, 0, 1, 1, 0, 3, 0]).astype(dtype);
                // The state has the dtype of the table, and the output is a float.
                let step = |[s]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
                    let from = s.astype(DType::Int64);
                    let next = at(&values, &(from + v.astype(DType::Int64)).remainder(7));
                    ([next.clone()], [at(&values, v).astype(DType::Float64) + next.astype(DType::Float64)])
                };
                let first = Array::from_vec(vec![0_i64]).reshape(&[])?.astype(dtype);
                let (_, [all]) = scan(step, [first], [x.clone()], 0)?;
                let number = |i: i64| match [1, 0, 1, 1, 0, 3, 0][i.rem_euclid(7) as usize] {
                    3 if dtype == DType::Bool => 1,
                    x => x,
                };
                let (_, wanted) = stepped((&index, shape), (0, false), 0, |s, v| {
                    (number(s + v), (number(v) + number(s + v)) as f64)
                });
                each(&all, &wanted, &format!("{dtype} by {of_index}"))?;
            }
        }
        let x = Array::from_shape_vec(shape, index.iter().map(|i| 3 * i).collect::<Vec<_>>())?;
        let values = Array::from_vec((0..7_i64).map(|i| 10 * i - 3).collect::<Vec<_>>());
        for (mode, place) in
            [(IndexMode::Clip, (|i| i.clamp(0, 6)) as fn(i64) -> i64), (IndexMode::Wrap, |i| i.rem_euclid(7))]
        {
            let step = |[s]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
                ([values.take_by(&(s + v), 0, mode).expect("one axis")], [s.clone()])
            };
            let ([last], [all]) = scan(step, [Array::scalar(0)], [x.clone()], 0)?;
            let (states, outputs) =
                stepped((&index, shape), (0, false), 0, |s, v| (10 * place(s + 3 * v) - 3, s));
            each(&last, &states, &format!("{mode}"))?;
            each(&all, &outputs, &format!("{mode}"))?;
        }
    }
    Ok(())
}

/// Only steps that are performed fail; one that is fails wherever it is.
#[test]
fn indices_out_of_range() -> Result<()> {
    let table = Array::from_vec((0..10_i64).map(|i| i % 3).collect::<Vec<_>>());
    let run = |shape: &[usize], symbols: Vec<i64>, axis: isize| -> Result<[Array<'static>; 2]> {
        let x = Array::from_shape_vec(shape, symbols)?;
        let step =
            |[s]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| ([at(&table, &(s + v))], [s.clone()]);
        let ([last], [all]) = scan(step, [Array::scalar(0_i64)], [x], axis)?;
        Ok([last, all])
    };
    for shape in [&[1][..], &[3], &[1001], &[5, 3], &[5, 100], &[100, 17]] {
        let n: usize = shape.iter().product();
        for place in [0, n / 2, n - 1] {
            for bad in [100, -100] {
                let mut symbols = vec![7; n];
                symbols[place] = bad;
                for axis in 0..shape.len() {
                    for (i, x) in run(shape, symbols.clone(), axis as isize)?.iter().enumerate() {
                        out_of_range(x, &format!("{bad} at {place} of {shape:?} along {axis}, value {i}"));
                    }
                }
            }
        }
        // The states are 0, 1, 2 in turn.
        let last = vec![shape[0] as i64 % 3; n / shape[0]];
        each(&run(shape, vec![7; n], 0)?[0], &last, "inside")?;
    }
    // Of no steps, and of one element, nothing is combined.
    let elsewhere = |steps: usize, cols: usize| -> Result<[Array<'static>; 2]> {
        let x = Array::from_shape_vec(&[steps, cols], vec![50_i64; steps * cols])?;
        let step = |[s]: &[Array<'static>; 1], [_]: &[Array<'static>; 1]| {
            ([s + at(&table, &Array::scalar(50))], [s.clone()])
        };
        let ([last], _) = scan(step, [Array::scalar(70_i64)], [x.clone()], 0)?;
        let [sum] = reduce(|[a], [b]| [a + b + at(&table, &Array::scalar(50))], [Array::scalar(70)], [x], 0)?;
        Ok([last, sum])
    };
    for cols in [1, 3, 100] {
        each(&elsewhere(0, cols)?[0], &vec![70_i64; cols], "no step")?;
        each(&elsewhere(0, cols)?[1], &vec![70_i64; cols], "no element")?;
        each(&elsewhere(1, cols)?[1], &vec![50_i64; cols], "one element")?;
        out_of_range(&elsewhere(1, cols)?[0], "one step");
        out_of_range(&elsewhere(2, cols)?[1], "two elements");
    }
    each(&elsewhere(4, 0)?[0], &[0_i64; 0], "no column")?;
    let reduced = |values: Vec<i64>| {
        reduce(|[a], [b]| [at(&table, &(a + b))], [Array::scalar(0)], [Array::from_vec(values)], 0)
    };
    for n in [2, 16, 17, 40, 5000] {
        for place in [0, n / 2, n - 1] {
            let mut values = vec![1_i64; n];
            values[place] = 50;
            out_of_range(&reduced(values)?[0], &format!("{place} of {n}"));
        }
    }
    Ok(())
}

/// The last step takes the last element: the state after it, which no step reads, is outside, in whichever columns a vector has.
#[test]
fn the_last_step_takes_the_last_element() -> Result<()> {
    for steps in [1_usize, 2, 40] {
        let table = floats(steps, 18);
        let weights = Array::from_vec(table.clone());
        for cols in [1, 2, 3, 5, 8, 13, 33, 100, 1030] {
            let values = floats(steps * cols, 19);
            let x = Array::from_shape_vec(&[steps, cols], values.clone())?;
            let step = |[i, sum]: &[Array<'static>; 2], [v]: &[Array<'static>; 1]| {
                let next = sum + at(&weights, i) * v;
                ([i + 1, next.clone()], [next])
            };
            let ([last, _], [all]) = scan(step, [Array::scalar(0_i64), Array::scalar(0.0)], [x], 0)?;
            each(&last, &vec![steps as i64; cols], "the count")?;
            let sum = |(i, sum): (usize, f64), v: f64| ((i + 1, sum + table[i] * v), sum + table[i] * v);
            let (_, wanted) = stepped((&values, &[steps, cols]), (0, false), (0, 0.0), sum);
            each_bit(&all, &wanted, &format!("{steps} × {cols}"))?;
        }
    }
    Ok(())
}

/// An index out of range is the error, and not a division by zero or a loop without an end, which follow from the element that is
/// read instead.
#[test]
fn what_follows_from_an_index_out_of_range_is_no_error() -> Result<()> {
    let table = Array::from_vec(vec![0_i64, 1, 1]);
    let upwards = |from: &Array<'static>, by: &Array<'static>| -> Array<'static> {
        let [i] = while_loop(|[i]| i.less(5), |[i]| [i + by], [from.clone()], None).expect("a loop");
        i
    };
    let counts = |d: &Array<'static>| upwards(&(d * Array::scalar(0_i64)), d);
    let divides = |d: &Array<'static>| Array::scalar(6).floor_divide(d);
    let follows: [&dyn Fn(&Array<'static>) -> Array<'static>; 2] = [&counts, &divides];
    for (function, follow) in follows.iter().enumerate() {
        for (steps, cols) in [(1, 1), (7, 1), (300, 1), (7, 3), (40, 100), (3, 2000)] {
            let n = steps * cols;
            let values = |bad: Option<usize>| {
                let mut values = vec![1_i64; n];
                bad.into_iter().for_each(|place| values[place] = 3);
                Array::from_shape_vec(&[steps, cols], values)
            };
            // The next step, and another call of the function, read the element.
            let scanned = |bad| -> Result<Array<'static>> {
                let step = |[d]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
                    let next = at(&table, v);
                    ([next.clone()], [follow(d) + follow(&next)])
                };
                let (_, [all]) = scan(step, [Array::scalar(1_i64)], [values(bad)?], 0)?;
                Ok(all)
            };
            let reduced = |bad| -> Result<Array<'static>> {
                let combine = |[a]: &[Array<'static>; 1], [b]: &[Array<'static>; 1]| {
                    [at(&table, b) * follow(a).greater(0).astype(DType::Int64)]
                };
                let [y] = reduce(combine, [Array::scalar(1)], [values(bad)?], 0)?;
                Ok(y)
            };
            let what = format!("{function}: {steps} × {cols}");
            each(&scanned(None)?, &vec![if function == 0 { 10_i64 } else { 12 }; n], &what)?;
            each(&reduced(None)?, &vec![1_i64; cols], &what)?;
            for options in executors() {
                let options = Options { int_division: IntDivision::Error, ..options };
                let kind = |x: Array<'static>| x.eval_with(&options).expect_err("fails").kind();
                for place in [0, n / 2, n - 1] {
                    assert_eq!(kind(scanned(Some(place))?), ErrorKind::Index, "{what}: {options:?}");
                }
                // The last element is a right operand.
                if steps > 1 {
                    assert_eq!(kind(reduced(Some(n - 1))?), ErrorKind::Index, "{what}: {options:?}");
                }
            }
        }
    }
    // One that does not end by itself is the error.
    let step = |[d]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
        let next = at(&table, v);
        ([next.clone()], [counts(d) + counts(&next)])
    };
    let x = Array::from_shape_vec(&[3, 2], vec![1_i64, 1, 0, 1, 1, 1])?;
    let (_, [all]) = scan(step, [Array::scalar(1_i64)], [x], 0)?;
    for options in executors() {
        let options = Options { max_iterations: 1000, ..options };
        assert_eq!(all.eval_with(&options).expect_err("does not end").kind(), ErrorKind::Limit);
    }
    Ok(())
}

/// Loops and branches in a step read tables, one of which the step itself reads too.
#[test]
fn loops_and_branches_in_steps() -> Result<()> {
    let extent = 101_i64;
    let counts: Vec<i64> = (0..extent).map(|i| i % 4).collect();
    let table = floats(extent as usize, 12);
    let (most, x) = (Array::from_vec(counts.clone()), Array::from_vec(table.clone()));
    for shape in [&[60][..], &[30, 3], &[12, 70]] {
        let values: Vec<i64> = numbers(shape.iter().product(), 13).iter().map(|i| i % extent - 5).collect();
        let step = |[i, sum]: &[Array<'static>; 2], [v]: &[Array<'static>; 1]| {
            let inner = fori_loop(
                0,
                at(&most, i),
                |k, [sum]| [sum * 0.75 + at(&x, &(i + k).remainder(extent))],
                [sum.clone()],
            );
            let [sum] = inner.expect("a loop");
            let [more] = cond(&v.greater_equal(0), || [at(&x, v) + at(&x, i)], || [Array::scalar(0.5)])
                .expect("a branch");
            let next = (i * 3 + v).remainder(extent);
            ([next, sum.clone()], [sum * 0.5 + more])
        };
        let state = [Array::scalar(1_i64), Array::scalar(0.0)];
        let (_, [all]) = scan(step, state, [Array::from_shape_vec(shape, values.clone())?], 0)?;
        let (_, wanted) = stepped((&values, shape), (0, false), (1, 0.0), |(i, mut sum): (i64, f64), v| {
            for k in 0..counts[i as usize] {
                sum = sum * 0.75 + table[((i + k) % extent) as usize];
            }
            let more = if v >= 0 { table[v as usize] + table[i as usize] } else { 0.5 };
            (((i * 3 + v).rem_euclid(extent), sum), sum * 0.5 + more)
        });
        each_bit(&all, &wanted, &format!("{shape:?}"))?;
    }
    Ok(())
}

/// Tables that are computed, views, results of other scans, or also the states and inputs of this one.
#[test]
fn tables_are_any_arrays() -> Result<()> {
    let n = 90_usize;
    let data: Vec<i64> = numbers(2 * n, 15).iter().map(|x| x % n as i64).collect();
    let pairs = Array::from_shape_vec(&[n, 2], data.clone())?;
    let column = pairs.slice((Range::from(..).step(-1), 1))?;
    let plain: Vec<i64> = (0..n).map(|i| data[2 * (n - 1 - i) + 1]).collect();
    let ([_], [summed]) = scan(
        |[s], [v]| {
            let next = (s + v).remainder(n as i64);
            ([next.clone()], [next])
        },
        [Array::scalar(0)],
        [column.clone()],
        0,
    )?;
    let sums: Vec<i64> = plain
        .iter()
        .scan(0, |sum, v| {
            *sum = (*sum + v) % n as i64;
            Some(*sum)
        })
        .collect();
    let computed = (&column * 5).remainder(n as i64);
    let fives: Vec<i64> = plain.iter().map(|v| v * 5 % n as i64).collect();
    for (table, numbers, what) in
        [(&column, &plain, "a view"), (&summed, &sums, "a scan"), (&computed, &fives, "computed")]
    {
        // The inputs are elements of the same table, of one column and of 40; so is what they are the indices of.
        for cols in [1, 40] {
            let index: Vec<i64> = (0..n * cols).map(|i| (i * 7 % n) as i64).collect();
            let taken = at(table, &Array::from_shape_vec(&[n, cols], index.clone())?);
            let step = |[s]: &[Array<'static>; 1], [v, w]: &[Array<'static>; 2]| {
                let next = at(table, &(s + v).remainder(n as i64));
                ([next.clone()], [next + w])
            };
            let first = table.slice(0)?;
            let (_, [all]) = scan(step, [first], [taken, table.expand_dims(1)?], 0)?;
            let values: Vec<(i64, i64)> =
                index.iter().enumerate().map(|(i, &at)| (numbers[at as usize], numbers[i / cols])).collect();
            let (_, wanted) = stepped((&values, &[n, cols]), (0, false), numbers[0], |s, (v, w)| {
                let next = numbers[(s + v) as usize % n];
                (next, next + w)
            });
            each(&all, &wanted, &format!("{what}, {cols}"))?;
        }
    }
    // Of two axes, both of which are indexed, by a number that the step counts.
    let step = |[i]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
        ([i + 1], [pairs.gather(&[i.clone(), v.remainder(2)], 0).expect("two axes")])
    };
    let (_, [all]) = scan(step, [Array::scalar(0_i64)], [column], 0)?;
    let wanted: Vec<i64> = plain.iter().enumerate().map(|(i, v)| data[2 * i + (v % 2) as usize]).collect();
    each(&all, &wanted, "two axes")?;
    let (_, [beyond]) = scan(step, [Array::scalar(1_i64)], [Array::from_vec(plain.clone())], 0)?;
    out_of_range(&beyond, "two axes");
    Ok(())
}

/// A table is the same in all steps.
#[test]
fn tables_that_change_are_refused() {
    let x = Array::from_vec(vec![0_i64, 1, 2]);
    let step = |state: &[Array<'static>], elements: &[Array<'static>]| {
        Ok((vec![state[0].take(&elements[0], 0)?], Vec::new()))
    };
    let stepped = try_scan(&step, &[Array::from_vec(vec![1_i64, 2])], &[x.reshape(&[3, 1]).expect("3")], 0);
    refused(stepped, ErrorKind::Shape, "from an array that depends on a carried value");
}
