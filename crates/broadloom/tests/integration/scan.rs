//! Recurrences: every expected value is computed by a loop over numbers, one column after another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use broadloom::prelude::*;
use broadloom::{
    Along, Chunks, Control, ErrorKind, Executor, HostFunction, IntDivision, VectorWidth, scan, try_scan,
    typed_graph, while_loop,
};
use broadloom_core::rewrite::{self, Rules};

/// A scan of rust numbers: for each column along an axis, the states and outputs of a scalar loop.
pub(crate) struct Reference {
    pub shape: Vec<usize>,
    pub axis: usize,
    pub reverse: bool,
}

impl Reference {
    /// The last states, by column, and the outputs, by element, of a loop that begins with `first` in each column. The step
    /// takes the state, the linear index of the element and the number of the column.
    pub(crate) fn run<S: Clone, Y: Clone + Default>(
        &self,
        first: S,
        mut step: impl FnMut(&S, usize, usize) -> (S, Y),
    ) -> (Vec<S>, Vec<Y>) {
        let (steps, after) = (self.shape[self.axis], self.shape[self.axis + 1..].iter().product::<usize>());
        let columns = self.shape[..self.axis].iter().product::<usize>() * after;
        let mut outputs = vec![Y::default(); columns * steps];
        let mut last = Vec::new();
        for column in 0..columns {
            let mut state = first.clone();
            for i in 0..steps {
                let i = if self.reverse { steps - 1 - i } else { i };
                let element = (column / after * steps + i) * after + column % after;
                let (next, output) = step(&state, element, column);
                (state, outputs[element]) = (next, output);
            }
            last.push(state);
        }
        (last, outputs)
    }
}

/// Numbers between -1 and 1 that have no pattern.
pub(crate) fn noise(count: usize) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Options for every executor, vector width and some numbers of threads.
pub(crate) fn ways() -> impl Iterator<Item = Options> {
    let widths = [VectorWidth::W128, VectorWidth::W256, VectorWidth::W512];
    let jit = widths.into_iter().map(|width| (Executor::Jit, Some(width)));
    let executors = jit.chain([(Executor::Interp, None), (Executor::Auto, None)]);
    executors.flat_map(|(executor, vector_width)| {
        (1..=3).map(move |threads| Options {
            executor,
            vector_width,
            threads: Some(threads),
            ..Options::default()
        })
    })
}

pub(crate) fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// `s = s / 2 + x`, and the difference to the state before.
pub(crate) fn halved<'a>([s]: &[Array<'a>; 1], [x]: &[Array<'a>; 1]) -> ([Array<'a>; 1], [Array<'a>; 1]) {
    let next = s * 0.5 + x;
    ([next.clone()], [next - s])
}

pub(crate) fn halved_numbers(s: &f64, x: f64) -> (f64, f64) {
    let next = s * 0.5 + x;
    (next, next - s)
}

/// Compares a scan of `x`, whose elements are `values`, with scalar loops, in every way.
fn check(x: &Array<'_>, values: &[f64], axis: usize, reverse: bool, what: &str) -> Result<()> {
    let along = if reverse { Along::axis(axis as isize).reverse() } else { Along::axis(axis as isize) };
    let ([last], [outputs]) = scan(halved, [Array::scalar(0.25)], [x.clone()], along)?;
    let reference = Reference { shape: x.shape().to_vec(), axis, reverse };
    let (wanted, wanted_outputs) = reference.run(0.25, |s, element, _| halved_numbers(s, values[element]));
    for options in ways() {
        let got = Evaluation::with(&options).eval_many(&[&last, &outputs])?;
        let what = format!("{what} {:?} axis {axis} {reverse} {options:?}", x.shape());
        assert_eq!(outputs.shape(), x.shape());
        assert_eq!(bits(&got[0].to_vec::<f64>()?), bits(&wanted), "{what}: last");
        assert_eq!(bits(&got[1].to_vec::<f64>()?), bits(&wanted_outputs), "{what}: outputs");
        let alone = last.eval_with(&options)?;
        assert_eq!(bits(&alone.to_vec::<f64>()?), bits(&wanted), "{what}: last alone");
    }
    Ok(())
}

#[test]
fn each_column_is_a_scalar_loop() -> Result<()> {
    let shapes: &[&[usize]] = &[
        &[1],
        &[2],
        &[7],
        &[5000],
        &[1, 1],
        &[5, 3],
        &[40, 33],
        &[300, 65],
        &[2, 5000],
        &[5000, 2],
        &[129, 70],
        &[4, 5, 6],
        &[3, 1, 70, 2],
        // Columns are those of the last axis, and two other axes lie before that of the steps.
        &[2, 3, 4, 70],
    ];
    for shape in shapes {
        let values = noise(shape.iter().product());
        let x = Array::from_shape_vec(shape, values.clone())?;
        for axis in 0..shape.len() {
            for reverse in [false, true] {
                check(&x, &values, axis, reverse, "contiguous")?;
            }
        }
    }
    Ok(())
}

/// Inputs that are transposed, reversed, every third element, or one element for several indices.
#[test]
fn inputs_have_any_layout() -> Result<()> {
    let x = Array::from_shape_vec(&[30, 40], noise(1200))?;
    let every_third = x.slice((.., broadloom::Range::new(None, None, 3)))?;
    let row = x.slice((..1, ..))?.broadcast_to(&[30, 40])?;
    let column = x.slice((.., ..1))?.broadcast_to(&[30, 40])?;
    let one = x.slice((..1, ..1))?.broadcast_to(&[70, 40])?;
    let cube = x.reshape(&[5, 6, 40])?.permute_dims(&[2, 0, 1])?;
    let line = x.t().slice((7, ..))?;
    let inputs = [
        x.t(),
        x.flip(0)?,
        x.flip(1)?,
        every_third,
        row,
        column,
        one,
        cube,
        line,
        x.t().flip(1)?.slice((.., 3..))?,
    ];
    for (i, x) in inputs.iter().enumerate() {
        let values = x.to_vec::<f64>()?;
        for axis in 0..x.rank() {
            for reverse in [false, true] {
                check(x, &values, axis, reverse, &format!("layout {i}"))?;
            }
        }
    }
    Ok(())
}

/// States, inputs and outputs of different dtypes, and values that are used in the step: numbers, arrays that lack the axis, and
/// computed ones.
#[test]
fn a_step_has_several_states_inputs_and_outputs() -> Result<()> {
    let (steps, rows, cols) = (37, 3, 50);
    let x: Vec<f32> = noise(steps * rows * cols).into_iter().map(|x| x as f32).collect();
    let n: Vec<u8> = (0..steps * cols).map(|i| (i * 7 % 251) as u8).collect();
    let scale: Vec<f32> = (0..rows).map(|i| i as f32 + 0.5).collect();
    let column = |element: usize| element % (rows * cols);
    let at = |element: usize| (element / (rows * cols)) * cols + element % cols;
    let reference = Reference { shape: vec![steps, rows, cols], axis: 0, reverse: false };
    type State = (f32, i64, bool, u8);
    let step = |(sum, count, flag, most): &State, element: usize, _: usize| {
        let (x, n) = (x[element], n[at(element)]);
        let factor = (scale[column(element) / cols] * 2.0 + 1.0) * 0.25;
        let sum = sum * factor + x;
        let next = (sum, count + i64::from(x > 0.0), *flag ^ (n > 100), n.max(*most));
        let outputs = (f64::from(sum) * 2.0, *most, sum < 0.0, *count);
        (next, outputs)
    };
    let (last, outputs) = reference.run((0.0, -5, true, 3), step);
    let xs = Array::from_shape_vec(&[steps, rows, cols], x.clone())?;
    let ns = Array::from_shape_vec(&[steps, 1, cols], n.clone())?;
    let scales = Array::from_shape_vec(&[rows, 1], scale.clone())? * 2 + 1;
    let (states, results) = scan(
        |[sum, count, flag, most], [x, n]| {
            let next_sum = sum * (&scales * 0.25) + x;
            let next = [
                next_sum.clone(),
                count + x.greater(0).astype(DType::Int64),
                flag ^ n.greater(100),
                n.maximum(most),
            ];
            (next, [next_sum.astype(DType::Float64) * 2, most.clone(), next_sum.less(0), count.clone()])
        },
        [Array::scalar(0.0), Array::scalar(-5_i64), Array::scalar(true), Array::from_vec(vec![3_u8])],
        [xs, ns],
        0,
    )?;
    let all: Vec<&Array<'_>> = states.iter().chain(&results).collect();
    for options in ways() {
        let got = Evaluation::with(&options).eval_many(&all)?;
        assert_eq!(got[0].shape(), [rows, cols]);
        assert_eq!(got[4].shape(), [steps, rows, cols]);
        let each = |i: usize| got[i].clone();
        let same =
            each(0).to_vec::<f32>()?.iter().map(|x| x.to_bits()).eq(last.iter().map(|s| s.0.to_bits()));
        assert!(same, "{options:?}");
        assert_eq!(each(1).to_vec::<i64>()?, last.iter().map(|s| s.1).collect::<Vec<_>>(), "{options:?}");
        assert_eq!(each(2).to_vec::<bool>()?, last.iter().map(|s| s.2).collect::<Vec<_>>(), "{options:?}");
        assert_eq!(each(3).to_vec::<u8>()?, last.iter().map(|s| s.3).collect::<Vec<_>>(), "{options:?}");
        let doubled: Vec<f64> = outputs.iter().map(|y| y.0).collect();
        assert_eq!(bits(&each(4).to_vec::<f64>()?), bits(&doubled), "{options:?}");
        assert_eq!(each(5).to_vec::<u8>()?, outputs.iter().map(|y| y.1).collect::<Vec<_>>(), "{options:?}");
        assert_eq!(each(6).to_vec::<bool>()?, outputs.iter().map(|y| y.2).collect::<Vec<_>>(), "{options:?}");
        assert_eq!(each(7).to_vec::<i64>()?, outputs.iter().map(|y| y.3).collect::<Vec<_>>(), "{options:?}");
        // Some of the values alone.
        let some = Evaluation::with(&options).eval_many(&[all[6], all[1]])?;
        assert_eq!(some[1].to_vec::<i64>()?, last.iter().map(|s| s.1).collect::<Vec<_>>());
        assert_eq!(some[0].to_vec::<bool>()?, outputs.iter().map(|y| y.2).collect::<Vec<_>>());
    }
    Ok(())
}

#[test]
fn every_dtype_is_a_state() -> Result<()> {
    macro_rules! sums {
        ($($t:ty),*) => {$({
            let x: Vec<$t> = (0..300).map(|i| (i % 5) as u8 as $t).collect();
            for shape in [&[300][..], &[30, 10], &[2, 150]] {
                let xs = Array::from_shape_vec(shape, x.clone())?;
                let ([last], [sums]) =
                    scan(|[s], [x]| ([s + x], [s * x]), [Array::scalar(1)], [xs], 0)?;
                let reference = Reference { shape: shape.to_vec(), axis: 0, reverse: false };
                let (wanted, products) = reference.run(1 as $t, |s, element, _| {
                    let next = x[element].plus(*s);
                    (next, x[element].times(*s))
                });
                for options in ways() {
                    let got = Evaluation::with(&options).eval_many(&[&last, &sums])?;
                    assert_eq!(got[0].to_vec::<$t>()?, wanted, "{} {options:?}", stringify!($t));
                    assert_eq!(got[1].to_vec::<$t>()?, products, "{} {options:?}", stringify!($t));
                }
            }
        })*};
    }
    trait Wraps: Copy {
        fn plus(self, other: Self) -> Self;
        fn times(self, other: Self) -> Self;
    }
    macro_rules! wraps {
        ($($t:ty, $add:expr, $mul:expr;)*) => {$(
            impl Wraps for $t {
                fn plus(self, other: $t) -> $t { $add(self, other) }
                fn times(self, other: $t) -> $t { $mul(self, other) }
            }
        )*};
    }
    wraps! {
        i8, i8::wrapping_add, i8::wrapping_mul;
        i16, i16::wrapping_add, i16::wrapping_mul;
        i32, i32::wrapping_add, i32::wrapping_mul;
        i64, i64::wrapping_add, i64::wrapping_mul;
        u8, u8::wrapping_add, u8::wrapping_mul;
        u16, u16::wrapping_add, u16::wrapping_mul;
        u32, u32::wrapping_add, u32::wrapping_mul;
        u64, u64::wrapping_add, u64::wrapping_mul;
        f32, |a: f32, b: f32| a + b, |a: f32, b: f32| a * b;
        f64, |a: f64, b: f64| a + b, |a: f64, b: f64| a * b;
    }
    sums!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
    // Each step rounds to float16.
    let halves: Vec<f16> = (1..60).map(|i| f16::from_f32(i as f32 / 7.0)).collect();
    let ([last], []) =
        scan(|[s], [x]| ([s + x], []), [Array::scalar(0)], [Array::from_vec(halves.clone())], 0)?;
    let wanted = halves.iter().fold(0.0, |s: f32, x| f16::from_f32(s + x.to_f32()).to_f32());
    for options in ways() {
        assert_eq!(last.eval_with(&options)?.astype(DType::Float32).item::<f32>()?, wanted, "{options:?}");
    }
    Ok(())
}

/// The states may have more elements than the inputs, and so may a value that is used in the step; inputs may have different
/// ranks. Without inputs there is a length.
#[test]
fn values_broadcast_along_the_other_axes() -> Result<()> {
    let x = Array::from_vec(vec![1.0_f64, 2.0, 4.0]);
    let start = Array::from_vec(vec![0.0_f64, 10.0]);
    let sum = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| ([s + x], [s + x]);
    let ([last], [sums]) = scan(sum, [start.clone()], [x.clone()], 0)?;
    assert_eq!((sums.shape(), last.to_vec::<f64>()?), (&[3, 2][..], vec![7.0, 17.0]));
    assert_eq!(sums.to_vec::<f64>()?, [1.0, 11.0, 3.0, 13.0, 7.0, 17.0]);
    let (_, [sums]) = scan(sum, [start.clone()], [x.clone()], -1)?;
    assert_eq!((sums.shape(), sums.to_vec::<f64>()?), (&[2, 3][..], vec![1.0, 3.0, 7.0, 11.0, 13.0, 17.0]));
    let (_, [sums]) = scan(sum, [Array::from_shape_vec(&[2, 1], vec![0.0, 10.0])?], [x.clone()], 0)?;
    assert_eq!((sums.shape(), sums.to_vec::<f64>()?.len()), (&[3, 2, 1][..], 6));

    let weights = Array::from_vec(vec![1.0_f64, -1.0]);
    let ([last], [sums]) =
        scan(|[s], [x]| ([s + x * &weights], [s.clone()]), [Array::scalar(0.5)], [x.clone()], 0)?;
    assert_eq!(last.to_vec::<f64>()?, [7.5, -6.5]);
    assert_eq!(sums.to_vec::<f64>()?, [0.5, 0.5, 1.5, -0.5, 3.5, -2.5]);

    // An array with as many elements as there are steps is the same at each of them.
    let wide = Array::from_shape_vec(&[3, 3], vec![1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])?;
    for axis in [0, 1] {
        let ([last], []) = scan(|[s], [w]| ([s * &x + w], []), [Array::scalar(0.0)], [wide.clone()], axis)?;
        let w = |i: usize, j: usize| if axis == 0 { (3 * i + j + 1) as f64 } else { (3 * j + i + 1) as f64 };
        let wanted = [1.0, 2.0, 4.0].iter().enumerate();
        let wanted = wanted.map(|(j, x)| (0..3).fold(0.0, |s, i| s * x + w(i, j)));
        assert_eq!(last.to_vec::<f64>()?, wanted.collect::<Vec<_>>(), "axis {axis}");
    }

    // Inputs of different ranks: that of one axis has the same elements for all others.
    for (axis, wanted) in [(0, vec![1.0, 11.0, 21.0]), (1, vec![0.0, 11.0, 22.0])] {
        let along = Array::from_vec(if axis == 0 { vec![1.0_f64, 1.0] } else { vec![0.0_f64, 1.0, 2.0] });
        let grid = Array::from_shape_vec(&[2, 3], vec![0.0_f64, 10.0, 20.0, 0.0, 10.0, 20.0])?;
        let (_, [sums]) = scan(
            |[s], [a, b]| ([s.clone()], [a + b]),
            [Array::scalar(0_i32)],
            [grid, if axis == 0 { along } else { along.expand_dims(0)? }],
            axis,
        )?;
        assert_eq!(sums.to_vec::<f64>()?[..3], wanted[..], "axis {axis}");
    }

    let powers = |[s]: &[Array<'static>; 1], []: &[Array<'static>; 0]| ([s * 2], [s.clone()]);
    let ([last], [all]) = scan(powers, [Array::from_vec(vec![1_i64, 3])], [], Along::axis(0).length(5))?;
    assert_eq!(last.to_vec::<i64>()?, [32, 96]);
    assert_eq!(all.to_vec::<i64>()?, [1, 3, 2, 6, 4, 12, 8, 24, 16, 48]);
    let ([last], [all]) = scan(powers, [Array::scalar(1_i64)], [], Along::axis(-1).length(4).reverse())?;
    assert_eq!((last.item::<i64>()?, all.to_vec::<i64>()?), (16, vec![8, 4, 2, 1]));
    Ok(())
}

#[test]
fn of_no_elements_the_state_is_the_initial_one() -> Result<()> {
    let sum = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| ([s + x], [s + x]);
    for options in ways() {
        for reverse in [false, true] {
            let none = Array::from_shape_vec(&[0, 3], Vec::<f64>::new())?;
            let along = if reverse { Along::axis(0).reverse() } else { Along::axis(0) };
            let ([last], [sums]) = scan(sum, [Array::from_vec(vec![1.0, 2.0, 3.0])], [none.clone()], along)?;
            let got = Evaluation::with(&options).eval_many(&[&last, &sums])?;
            assert_eq!((got[0].to_vec::<f64>()?, got[1].shape()), (vec![1.0, 2.0, 3.0], &[0, 3][..]));
            let along = if reverse { Along::axis(1).reverse() } else { Along::axis(1) };
            let ([last], [sums]) = scan(sum, [Array::scalar(4.0)], [none], along)?;
            let got = Evaluation::with(&options).eval_many(&[&last, &sums])?;
            assert_eq!((got[0].shape(), got[1].shape()), (&[0][..], &[0, 3][..]));
        }
        let empty = Array::from_vec(Vec::<f64>::new());
        let ([last], [sums]) = scan(sum, [Array::scalar(4.0)], [empty], 0)?;
        let got = Evaluation::with(&options).eval_many(&[&last, &sums])?;
        assert_eq!((got[0].item::<f64>()?, got[1].shape()), (4.0, &[0][..]));
    }
    Ok(())
}

/// What computes the inputs, and what reads the results: functions, views, reductions, other scans.
#[test]
fn the_results_of_scans_are_arrays_like_others() -> Result<()> {
    let (steps, cols) = (40, 64);
    let values = noise(steps * cols);
    let x = Array::from_shape_vec(&[steps, cols], values.clone())?;
    let reference = Reference { shape: vec![steps, cols], axis: 0, reverse: false };
    let column = |element: usize| element % cols;
    let scaled = |element: usize| values[element] * values[element] + values[column(element)];
    let (last, sums) = reference.run(0.0, |s: &f64, element, _| (s + scaled(element), s + scaled(element)));
    let input = &x * &x + x.slice(0)?;
    let ([end], [all]) = scan(|[s], [x]| ([s + x], [s + x]), [Array::scalar(0.0)], [input], 0)?;
    let (turned, second) = (all.t(), all.slice((1, ..))?);
    // The scan of a scan, in the other direction and along the other axis.
    let ([twice], []) = scan(
        |[s], [x, e]| ([s * 0.5 + x - e], []),
        [Array::scalar(0.0)],
        [all.clone(), end.expand_dims(0)?],
        Along::axis(1).reverse(),
    )?;
    let backwards = Reference { shape: vec![steps, cols], axis: 1, reverse: true };
    let (wanted_twice, _) =
        backwards.run(0.0, |s: &f64, element, _| (s * 0.5 + sums[element] - last[column(element)], ()));
    for options in ways() {
        let read = &all - &end;
        let got =
            Evaluation::with(&options).eval_many(&[&turned, &second, &read, &twice, &all.max(0)?, &end])?;
        let wanted: Vec<f64> = (0..cols)
            .flat_map(|c| (0..steps).map(move |r| (r, c)))
            .map(|(r, c)| sums[r * cols + c])
            .collect();
        assert_eq!(bits(&got[0].to_vec::<f64>()?), bits(&wanted), "{options:?}");
        assert_eq!(bits(&got[1].to_vec::<f64>()?), bits(&sums[cols..2 * cols]), "{options:?}");
        let wanted: Vec<f64> = sums.iter().enumerate().map(|(i, s)| s - last[column(i)]).collect();
        assert_eq!(bits(&got[2].to_vec::<f64>()?), bits(&wanted), "{options:?}");
        assert_eq!(bits(&got[3].to_vec::<f64>()?), bits(&wanted_twice), "{options:?}");
        let most = (0..cols).map(|c| (0..steps).map(|r| sums[r * cols + c]).fold(f64::MIN, f64::max));
        assert_eq!(bits(&got[4].to_vec::<f64>()?), bits(&most.collect::<Vec<_>>()), "{options:?}");
        assert_eq!(bits(&got[5].to_vec::<f64>()?), bits(&last), "{options:?}");
    }
    // Into memory with other strides, and over the input itself.
    let mut own = Array::from_shape_vec(&[steps, cols], values.clone())?;
    let (_, [all]) = scan(|[s], [x]| ([s + x], [s + x]), [Array::scalar(0.0)], [own.clone()], 1)?;
    let wanted = all.to_vec::<f64>()?;
    Evaluation::default().eval_into_array(&all, &mut own)?;
    assert_eq!(bits(&own.to_vec::<f64>()?), bits(&wanted));
    Ok(())
}

#[test]
fn loops_and_host_functions_are_called_in_steps() -> Result<()> {
    // The number of halvings until the sum is below 1 follows from the sum.
    let values: Vec<f64> = noise(60 * 7).into_iter().map(|x| x.abs() * 10.0).collect();
    for shape in [&[60, 7][..], &[420]] {
        let x = Array::from_shape_vec(shape, values.clone())?;
        for limit in [None, Some(3_u64)] {
            let step = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
                let halve = |[s, n]: &[Array<'static>; 2]| [s * 0.5, n + 1];
                let start = [s + x, Array::scalar(0_i64)];
                let [s, n] = while_loop(|[s, _]| s.greater_equal(1), halve, start, limit).expect("a loop");
                ([s], [n])
            };
            let ([last], [counts]) = scan(step, [Array::scalar(0.0)], [x.clone()], 0)?;
            let reference = Reference { shape: shape.to_vec(), axis: 0, reverse: false };
            let (wanted, wanted_counts) = reference.run(0.0, |s: &f64, element, _| {
                let (mut s, mut n) = (s + values[element], 0_i64);
                while s >= 1.0 && limit.is_none_or(|limit| n < limit as i64) {
                    (s, n) = (s * 0.5, n + 1);
                }
                (s, n)
            });
            for options in ways() {
                let got = Evaluation::with(&options).eval_many(&[&last, &counts])?;
                assert_eq!(bits(&got[0].to_vec::<f64>()?), bits(&wanted), "{options:?}");
                assert_eq!(got[1].to_vec::<i64>()?, wanted_counts, "{options:?}");
            }
        }
        // An element that does not end is an error.
        let at = Array::from_shape_vec(shape, (0..420).map(|i| i != 37 && i != 300).collect::<Vec<bool>>())?;
        let step = |[s]: &[Array<'static>; 1], [ends]: &[Array<'static>; 1]| {
            let [s] = while_loop(|_| ends.logical_not(), |[s]| [s + 1], [s.clone()], None).expect("a loop");
            ([s], [])
        };
        let ([stuck], []) = scan(step, [Array::scalar(0_i64)], [at], 0)?;
        let options = Options { max_iterations: 100, ..Options::default() };
        let error = stuck.eval_with(&options).expect_err("stuck");
        assert!(
            error.kind() == ErrorKind::Limit && error.to_string().contains("an element has not ended"),
            "{error}"
        );
    }
    for (shape, executor) in [(&[12, 5][..], Executor::Interp), (&[60], Executor::Interp)] {
        let calls = std::sync::Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let f = HostFunction::new("half", move |x: f64| {
            counted.fetch_add(1, Ordering::Relaxed);
            x / 2.0
        })?;
        let x = Array::from_shape_vec(shape, values[..60].to_vec())?;
        let half = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
            let half = Array::call(&f, &[s + x]).expect("float64");
            ([half.clone()], [half])
        };
        let (_, [halves]) = scan(half, [Array::scalar(1.0)], [x], 0)?;
        let reference = Reference { shape: shape.to_vec(), axis: 0, reverse: false };
        let (_, wanted) = reference.run(1.0, |s: &f64, element, _| {
            let half = (s + values[element]) / 2.0;
            (half, half)
        });
        let got = halves.eval_with(&Options { executor, ..Options::default() })?;
        assert_eq!(bits(&got.to_vec::<f64>()?), bits(&wanted));
        assert_eq!(calls.load(Ordering::Relaxed), 60, "once for each element: {shape:?}");
    }
    Ok(())
}

#[test]
fn divisions_by_zero_are_errors_by_option() -> Result<()> {
    for shape in [&[50][..], &[10, 5], &[2, 25]] {
        for zero in [None, Some(0), Some(49)] {
            let mut divisors = vec![3_i32; 50];
            zero.into_iter().for_each(|at| divisors[at] = 0);
            let x = Array::from_shape_vec(shape, divisors)?;
            let ([last], []) = scan(|[s], [x]| ([(s + 7).floor_divide(x)], []), [Array::scalar(5)], [x], 0)?;
            for options in ways() {
                let options = Options { int_division: IntDivision::Error, ..options };
                let done = last.eval_with(&options);
                assert_eq!(done.is_err(), zero.is_some(), "{shape:?} {zero:?} {options:?}");
                if let Err(error) = done {
                    assert_eq!(error.kind(), ErrorKind::ZeroDivision);
                }
            }
        }
    }
    Ok(())
}

/// A division whose quotient no requested result depends on does not fail: of a step, nothing is computed but what is asked for. A
/// value from outside that the step reads is computed for all of its results.
#[test]
fn divisions_of_outputs_that_nobody_requests_do_not_fail() -> Result<()> {
    let x = Array::from_vec(vec![3_i32, 0, 5]);
    let step = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
        let divide = |[n, q]: &[Array<'static>; 2]| [n + 1, q.floor_divide(x)];
        let [_, quotient] =
            while_loop(|[n, _]| n.less(3), divide, [Array::scalar(0), s.clone()], None).expect("a loop");
        ([s + x], [s.floor_divide(x), quotient])
    };
    let ([last], [plain, looped]) = scan(step, [Array::scalar(7)], [x.clone()], 0)?;
    let ([outside], [unused]) = scan(
        |[s], [x, y]| ([s + x], [s + y]),
        [Array::scalar(7)],
        [x.clone(), Array::scalar(9).floor_divide(&x)],
        0,
    )?;
    drop(unused);
    for options in ways() {
        let options = Options { int_division: IntDivision::Error, ..options };
        assert_eq!(last.eval_with(&options)?.item::<i32>()?, 15, "{options:?}");
        for failing in [&plain, &looped, &outside] {
            let error = failing.eval_with(&options).map(drop).expect_err("a division by zero");
            assert_eq!(error.kind(), ErrorKind::ZeroDivision, "{options:?}");
        }
    }
    Ok(())
}

/// A NaN that is only moved keeps its bits; a computed one has the one bit pattern, also where a later step reads its sign.
#[test]
fn nans_have_the_bits_of_the_scalar_meaning() -> Result<()> {
    let own = f64::from_bits(0xfff8_0000_0000_1234);
    let x = Array::from_vec(vec![own, 1.0, f64::INFINITY, 2.0]);
    for options in ways() {
        let (states, [before]) = scan(
            |[a, b], [x]| ([x.clone(), a.clone()], [b.clone()]),
            [Array::scalar(0.0), Array::scalar(own)],
            [x.clone()],
            0,
        )?;
        let got = Evaluation::with(&options).eval_many(&[&before, &states[1]])?;
        assert_eq!(bits(&got[0].to_vec::<f64>()?), bits(&[own, 0.0, own, 1.0]), "{options:?}");
        let ([nan, signs], []) = scan(
            |[nan, signs], [x]| {
                let difference = (nan + x) - (nan + x);
                ([difference, signs + nan.signbit().astype(DType::Int64)], [])
            },
            [Array::scalar(own), Array::scalar(0_i64)],
            [x.clone()],
            0,
        )?;
        let got = Evaluation::with(&options).eval_many(&[&nan, &signs])?;
        assert_eq!(bits(&got[0].to_vec::<f64>()?), [0x7ff8_0000_0000_0000], "{options:?}");
        assert_eq!(got[1].item::<i64>()?, 1, "only the initial NaN is negative: {options:?}");
    }
    Ok(())
}

#[test]
fn numbers_take_the_dtypes_of_the_step() -> Result<()> {
    let x = Array::from_vec(vec![1.0_f32, 2.0]);
    let ([s, n, flag], []) = scan(
        |[s, n, flag], [x]| ([s + x, n + 1, flag.logical_not()], []),
        [Array::scalar(0.5), Array::scalar(0), Array::scalar(true)],
        [x.clone()],
        0,
    )?;
    assert_eq!([s.dtype(), n.dtype(), flag.dtype()], [DType::Float32, DType::Int32, DType::Bool]);
    // The dtype of one follows from that of another.
    let ([a, b], []) =
        scan(|[a, b], [x]| ([b * 2, a + x], []), [Array::scalar(1), Array::scalar(2)], [x], 0)?;
    assert_eq!([a.dtype(), b.dtype()], [DType::Float32; 2]);
    let bytes = Array::from_vec(vec![1_u8]);
    let refused = scan(|[s], [x]| ([s + x], []), [Array::scalar(300)], [bytes], 0);
    let refused = refused.map(|([s], [])| s).expect_err("no uint8");
    assert!(
        refused.to_string().contains("scan: state 0") && refused.kind() == ErrorKind::Literal,
        "{refused}"
    );
    Ok(())
}

#[test]
fn a_long_scan_can_be_stopped() -> Result<()> {
    let step = |s: &Array<'static>| (s * 0.5 + 1).sin().exp().log1p();
    let x = Array::from_vec(noise(1 << 22));
    let mut scans = Vec::new();
    for (input, axis) in
        [(x.clone(), 0), (x.reshape(&[1 << 14, 1 << 8])?, 0), (x.reshape(&[1 << 8, 1 << 14])?, 1)]
    {
        let ([last], []) = scan(|[s], [x]| ([step(s) + x], []), [Array::scalar(0.0)], [input], axis)?;
        scans.push(last);
    }
    // These would take many seconds: a scan that looked only before or after all steps would be late on any machine.
    for (columns, length) in [(1, 1 << 26), (1 << 8, 1 << 22)] {
        let first = Array::from_vec(vec![0.0_f64; columns]);
        let ([last], []) = scan(|[s], []| ([step(s)], []), [first], [], Along::axis(0).length(length))?;
        scans.push(last);
    }
    for last in scans {
        for executor in [Executor::Interp, Executor::Jit] {
            let options =
                Options { executor, max_time: Some(Duration::from_millis(2)), ..Options::default() };
            let begun = Instant::now();
            let error = last.eval_with(&options).map(drop).expect_err("it takes longer");
            assert_eq!(error.kind(), ErrorKind::TimeLimit);
            assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        }
        let cancel = AtomicBool::new(true);
        let control = Control { cancel: Some(&cancel), ..Control::default() };
        let error = Evaluation::default().control(&control).eval(&last).map(drop).expect_err("cancelled");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
    Ok(())
}

/// A scan needs all elements along its axis, which chunks divide only after a pass.
#[test]
fn chunks_alone_do_not_divide_the_axis_of_a_scan() -> Result<()> {
    let x = Array::input("x", DType::Float64, &[1000.into(), 8.into()])?;
    let (_, [all]) = scan(halved, [Array::scalar(0.25)], [x.clone()], 0)?;
    let options = Options { max_bytes: 10_000, ..Options::default() };
    let error = Chunks::new(&[&all], &[&x], &options).map(drop).expect_err("too large");
    assert!(error.is_limit() && error.to_string().contains("scan along axis 0"), "{error}");
    let (_, [rows]) = scan(halved, [Array::scalar(0.25)], [x.clone()], 1)?;
    assert!(Chunks::new(&[&rows], &[&x], &options)?.len() > 5);
    Ok(())
}

/// Scans of the same values in both directions are printed as two, and a value that vanishes leaves its shape.
#[test]
fn directions_and_shapes_survive_rewriting() -> Result<()> {
    let x = Array::from_vec(vec![1.0_f64, 2.0, 4.0]);
    let step = |s: &[Array<'static>], x: &[Array<'static>]| Ok((vec![s[0].try_add(&x[0])?], vec![]));
    let along = |along: Along| try_scan(&step, &[Array::scalar(0.5)], std::slice::from_ref(&x), along);
    let (forward, back) = (along(Along::axis(0))?.0.remove(0), along(Along::axis(0).reverse())?.0.remove(0));
    let typed = typed_graph(&[&forward, &back], &Options::default())?;
    let rewritten = rewrite::run(&typed.graph, &typed.roots, Rules::On)?.0.to_string();
    let counts = ["scan (", "reverse=true"].map(|words| rewritten.matches(words).count());
    assert_eq!(counts, [2, 1], "{rewritten}");
    let three = Array::from_vec(vec![1_i64, 2, 3]);
    let (counts, none) = (Array::from_vec(vec![1_i64, 2]), Array::scalar(0));
    let ([last], [states]) =
        scan(|[s], [_]| ([s * &none * &three], [s + &none]), [Array::scalar(7_i64)], [counts], 0)?;
    assert_eq!((last.shape(), last.to_vec::<i64>()?), (&[3][..], vec![0; 3]));
    assert_eq!(states.to_vec::<i64>()?, [7, 7, 7, 0, 0, 0]);
    Ok(())
}
