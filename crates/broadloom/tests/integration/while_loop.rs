//! Loops: every expected value is computed by a loop over numbers, element by element.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use broadloom::prelude::*;
use broadloom::{
    Control, Dim, ErrorKind, Executor, HostFunction, In, IntDivision, Kernel, Out, fori_loop, try_fori_loop,
    try_while_loop, while_loop, while_loop_counts,
};

use crate::scan::ways;

const LIMIT: u64 = 50;

/// The number of iterations until x² + y² exceeds 4, and the last x.
fn escape(cx: f64, cy: f64) -> (f64, i64) {
    let (mut x, mut y, mut n) = (0.0, 0.0, 0);
    while n < LIMIT as i64 && x * x + y * y <= 4.0 {
        (x, y) = ((x * x - y * y) + cx, 2.0 * x * y + cy);
        n += 1;
    }
    (x, n)
}

fn mandelbrot<'a>(cx: &Array<'a>, cy: &Array<'a>) -> Result<[Array<'a>; 2]> {
    let ([x, _], n) = while_loop_counts(
        |[x, y]| (x * x + y * y).less_equal(4),
        |[x, y]| [(x * x - y * y) + cx, 2.0 * x * y + cy],
        [Array::scalar(0.0), Array::scalar(0.0)],
        LIMIT,
    )?;
    Ok([x, n])
}

/// The points of a grid that covers the set: rows of `cy`, columns of `cx`.
fn grid(rows: usize, cols: usize) -> (Vec<f64>, Vec<f64>) {
    let along = |n: usize, from: f64, len: f64| (0..n).map(|i| from + len * i as f64 / n as f64).collect();
    (along(cols, -2.0, 2.5), along(rows, -1.25, 2.5))
}

#[test]
fn each_element_iterates_as_a_scalar_program_does() -> Result<()> {
    for (rows, cols) in [(1, 1), (3, 5), (7, 300), (2, 5000), (300, 201)] {
        let (xs, ys) = grid(rows, cols);
        let (cx, cy) = (Array::from_vec(xs.clone()), Array::from_shape_vec(&[rows, 1], ys.clone())?);
        let expected: Vec<(f64, i64)> =
            ys.iter().flat_map(|&y| xs.iter().map(move |&x| escape(x, y))).collect();
        for executor in [Executor::Interp, Executor::Jit, Executor::Auto] {
            for threads in [1, 3] {
                let options = Options { executor, threads: Some(threads), ..Options::default() };
                let results = mandelbrot(&cx, &cy)?;
                let [x, n] = &Evaluation::with(&options).eval_many(&[&results[0], &results[1]])?[..] else {
                    panic!("two")
                };
                assert_eq!((n.shape(), n.dtype()), (&[rows, cols][..], DType::Int64));
                let bits = |x: f64| x.to_bits();
                let got = x.to_vec::<f64>()?.into_iter().map(bits).zip(n.to_vec::<i64>()?);
                assert!(got.eq(expected.iter().map(|&(x, n)| (bits(x), n))), "{rows} {cols} {executor:?}");
            }
        }
    }
    Ok(())
}

/// Reductions, slices, views and functions of what a loop returns.
#[test]
fn the_results_of_loops_are_arrays_like_others() -> Result<()> {
    let (xs, ys) = grid(40, 60);
    let (cx, cy) = (Array::from_vec(xs.clone()), Array::from_shape_vec(&[40, 1], ys.clone())?);
    let [x, n] = mandelbrot(&cx, &cy)?;
    let counts: Vec<i64> = ys.iter().flat_map(|&y| xs.iter().map(move |&x| escape(x, y).1)).collect();
    assert_eq!(n.sum(())?.item::<i64>()?, counts.iter().sum::<i64>());
    let rows = counts.chunks(60).map(|row| row.iter().sum::<i64>());
    assert_eq!(n.sum(1)?.to_vec::<i64>()?, rows.collect::<Vec<_>>());
    let part = n.slice((3..7, 5..9))?;
    let wanted = (3..7).flat_map(|row| counts[row * 60 + 5..row * 60 + 9].to_vec());
    assert_eq!(part.to_vec::<i64>()?, wanted.collect::<Vec<_>>());
    let turned = (n.t() * 2).to_vec::<i64>()?;
    let wanted = (0..60).flat_map(|col| (0..40).map(|row| 2 * counts[row * 60 + col]).collect::<Vec<_>>());
    assert_eq!(turned, wanted.collect::<Vec<_>>());
    let sums = n.cumulative_sum(Some(1), None, false)?.to_vec::<i64>()?;
    assert_eq!(sums[59], counts[..60].iter().sum::<i64>());
    assert_eq!(x.isfinite().count_nonzero(())?.dtype(), DType::Int64);
    Ok(())
}

#[test]
fn every_dtype_is_carried() -> Result<()> {
    macro_rules! counted {
        ($($t:ty),*) => {$({
            let first: Vec<$t> = (0..100).map(|i| (i % 50) as u8 as $t).collect();
            let most = Array::from_vec(vec![99 as $t; 100]);
            let [doubled] = while_loop(
                |[x]| x.less(&most),
                |[x]| [x + x + 1],
                [Array::from_vec(first.clone())],
                5,
            )?;
            let one = |mut x: $t| {
                let mut n = 0;
                while n < 5 && x < 99 as $t {
                    (x, n) = (x + x + 1 as $t, n + 1);
                }
                x
            };
            assert_eq!(doubled.to_vec::<$t>()?, first.into_iter().map(one).collect::<Vec<_>>(), stringify!($t));
        })*};
    }
    counted!(i16, i32, i64, u8, u16, u32, u64, f32, f64);
    let flags = Array::from_vec(vec![true, false, true]);
    let [off, n] = while_loop(
        |[on, _]| on.clone(),
        |[on, n]| [on.logical_not(), n + 1_u8],
        [flags, Array::scalar(0_u8)],
        None,
    )?;
    assert_eq!((off.to_vec::<bool>()?, n.to_vec::<u8>()?), (vec![false; 3], vec![1, 0, 1]));
    let halves = Array::from_vec(vec![f16::from_f32(1.0), f16::from_f32(3.0), f16::from_f32(f32::NAN)]);
    let [x] = while_loop(|[x]| x.less(100), |[x]| [x * 2], [halves], None)?;
    let x: Vec<f32> = x.astype(DType::Float32).to_vec()?;
    assert!(x[..2] == [128.0, 192.0] && x[2].is_nan(), "a comparison with NaN ends the loop: {x:?}");
    let bytes = Array::from_vec(vec![100_i8, 1]);
    let [x] = while_loop(|[x]| x.greater(0), |[x]| [x * 3], [bytes], 4)?;
    assert_eq!(x.to_vec::<i8>()?, [44_i8.wrapping_mul(3), 81], "wrapping, and limited");
    Ok(())
}

#[test]
fn a_limit_ends_the_iteration_quietly() -> Result<()> {
    let x = Array::from_vec(vec![1_i32, -1]);
    for (limit, expected) in [(0, [1, -1]), (1, [2, -1]), (7, [8, -1])] {
        let ([x], n) = while_loop_counts(|[x]| x.greater(0), |[x]| [x + 1], [x.clone()], limit)?;
        assert_eq!(x.to_vec::<i32>()?, expected);
        assert_eq!(n.to_vec::<i64>()?, [limit as i64, 0]);
    }
    Ok(())
}

/// The error names the first element in row-major order, whatever the order in which elements are computed.
#[test]
fn an_element_that_does_not_end_is_an_error() -> Result<()> {
    let (rows, cols) = (70, 1000);
    let mut ends = vec![true; rows * cols];
    for at in [69_999, 31_415, 55_000] {
        ends[at] = false;
    }
    let straight = Array::from_shape_vec(&[rows, cols], ends.clone())?;
    let turned: Vec<bool> =
        (0..cols).flat_map(|c| (0..rows).map(|r| ends[r * cols + c]).collect::<Vec<_>>()).collect();
    let turned = Array::from_shape_vec(&[cols, rows], turned)?;
    for ends in [straight, turned.t()] {
        for threads in [1, 3] {
            let options = Options { threads: Some(threads), max_iterations: 1000, ..Options::default() };
            let [n] = while_loop(|_| ends.logical_not(), |[n]| [n + 1], [Array::scalar(0_i64)], None)?;
            let error = n.eval_with(&options).expect_err("endless");
            assert_eq!(error.kind(), ErrorKind::Limit);
            let wanted = "while_loop: element 31415 (in row-major order) has not ended after 1000 iterations";
            assert!(error.to_string().starts_with(wanted), "{error}");
            // Also where other elements are read, and where elements are reduced.
            for part in [n.slice((0..2, ..))?, n.sum(())?, n.cumulative_sum(Some(0), None, false)?] {
                let error = part.eval_with(&options).expect_err("endless");
                assert!(error.to_string().starts_with(wanted), "{error}");
            }
        }
    }
    let exactly = Array::from_vec(vec![1000_i64]);
    let [n] = while_loop(|[n]| n.less(&exactly), |[n]| [n + 1], [Array::scalar(0_i64)], None)?;
    let options = |max_iterations| Options { max_iterations, ..Options::default() };
    assert_eq!(n.eval_with(&options(1000))?.to_vec::<i64>()?, [1000]);
    assert!(n.eval_with(&options(999)).is_err());
    Ok(())
}

/// Divisions by zero in iterations that no element performs, and conditions that are not tested, are no errors.
#[test]
fn iterations_that_are_not_performed_raise_nothing() -> Result<()> {
    let options = Options { int_division: IntDivision::Error, ..Options::default() };
    let x = Array::from_vec(vec![5_i32, 3, 0, 1]);
    // The next divisor is one less; an element whose divisor is zero is done.
    let ([_, sum], n) = while_loop_counts(
        |[d, _]| d.not_equal(0),
        |[d, sum]| [d - 1, sum + Array::scalar(60).floor_divide(d)],
        [x.clone(), Array::scalar(0)],
        None,
    )?;
    let sums = Evaluation::with(&options).eval_many(&[&sum, &n])?;
    assert_eq!(sums[0].to_vec::<i32>()?, [60 + 30 + 20 + 15 + 12, 110, 0, 60]);
    assert_eq!(sums[1].to_vec::<i64>()?, [5, 3, 0, 1]);
    // Now one more iteration is performed.
    let ([d], _) = while_loop_counts(
        |[d]| d.greater_equal(0),
        |[d]| [d - 1 + Array::scalar(0).floor_divide(d)],
        [x.clone()],
        None,
    )?;
    let error = d.eval_with(&options).expect_err("divides by zero");
    assert_eq!(error.kind(), ErrorKind::ZeroDivision);
    assert!(error.to_string().contains("floor_divide"), "{error}");
    // With a limit, the condition is not tested after the last iteration.
    let tested = |limit| -> Result<()> {
        let [d] = while_loop(
            |[d]| Array::scalar(8).remainder(d).greater_equal(0),
            |[d]| [d - 1],
            [x.slice(..1)?],
            limit,
        )?;
        d.eval_with(&options).map(drop)
    };
    assert!(tested(5).is_ok());
    assert_eq!(tested(6).expect_err("tests 8 % 0").kind(), ErrorKind::ZeroDivision);
    // A division of values from outside is performed in the iterations too, though none changes it.
    let (sixes, divisor) = (Array::from_vec(vec![6_i32; 4]), Array::from_vec(vec![3, 2, 0, 1]));
    let reduced = |first: Vec<i32>| -> Result<Array<'static>> {
        let body = |[x]: &[Array<'static>; 1]| [x - sixes.floor_divide(&divisor)];
        let [x] = while_loop(|[x]| x.greater(0), body, [Array::from_vec(first)], 10)?;
        Ok(x)
    };
    assert_eq!(reduced(vec![5, 3, 0, 1])?.eval_with(&options)?.to_vec::<i32>()?, [-1, 0, 0, -5]);
    let error = reduced(vec![5, 3, 1, 1])?.eval_with(&options).expect_err("divides by zero");
    assert_eq!(error.kind(), ErrorKind::ZeroDivision);
    Ok(())
}

#[test]
fn loops_contain_loops() -> Result<()> {
    // The number of Collatz steps, by a loop that halves and one around it that goes on.
    let first: Vec<i64> = (1..200).collect();
    let odd = |n: &Array<'static>| (n % 2).equal(1);
    let body = |state: &[Array<'static>]| -> Result<Vec<Array<'static>>> {
        let halve = |[n, steps]: &[Array<'static>; 2]| [n / 2, steps + 1].map(|x| x.astype(DType::Int64));
        let even = |[n, _]: &[Array<'static>; 2]| odd(n).logical_not();
        let [n, steps] = while_loop(even, halve, [state[0].clone(), state[1].clone()], None)?;
        let is_one = n.equal(1);
        Ok(vec![where_(&is_one, &n, &n * 3 + 1), &steps + where_(&is_one, 0_i64, 1_i64)])
    };
    let condition = |state: &[Array<'static>]| state[0].try_not_equal(1);
    let start = [Array::from_vec(first.clone()), Array::from_vec(vec![0_i64; 199])];
    let steps = &try_while_loop(&condition, &body, &start, None)?[1];
    let collatz = |mut n: i64| {
        let mut steps = 0;
        while n != 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps
    };
    assert_eq!(steps.to_vec::<i64>()?, first.into_iter().map(collatz).collect::<Vec<_>>());
    // The inner loop's error names the element of the outer one.
    let stuck = |state: &[Array<'static>]| -> Result<Vec<Array<'static>>> {
        let [x] = while_loop(|[x]| x.greater_equal(3), |[x]| [x * 1], [state[0].clone()], None)?;
        Ok(vec![x + 1])
    };
    let below = |state: &[Array<'static>]| state[0].try_less(3);
    let start = Array::from_shape_vec(&[2, 3], vec![9_i32, 9, 2, 9, 0, 9])?;
    let x = &try_while_loop(&below, &stuck, &[start], None)?[0];
    assert_eq!(x.to_vec::<i32>()?, [9, 9, 3, 9, 3, 9]);
    let below = |state: &[Array<'static>]| state[0].try_less(4);
    let start = Array::from_shape_vec(&[2, 3], vec![9_i32, 9, 9, 9, 2, 0])?;
    let x = &try_while_loop(&below, &stuck, &[start], None)?[0];
    let error = x.eval_with(&Options { max_iterations: 100, ..Options::default() }).expect_err("stuck");
    assert!(error.to_string().contains("element 4 "), "{error}");
    Ok(())
}

/// A NaN that is only moved keeps its bits through iterations; a computed one has the one bit pattern, also where a later
/// iteration reads its sign.
#[test]
fn nans_have_the_bits_of_the_scalar_meaning() -> Result<()> {
    let own = f64::from_bits(0xfff8_0000_0000_1234);
    let x = Array::from_vec(vec![own, 1.0]);
    let inf = Array::from_vec(vec![f64::INFINITY]);
    for executor in [Executor::Interp, Executor::Auto] {
        let options = Options { executor, ..Options::default() };
        let [_, y, _] = while_loop(
            |[_, _, n]| n.less(3),
            |[x, y, n]| [y.clone(), x.clone(), n + 1],
            [x.clone(), Array::from_vec(vec![2.0, own]), Array::scalar(0_i64)],
            None,
        )?;
        let bits: Vec<u64> = y.eval_with(&options)?.to_vec::<f64>()?.into_iter().map(f64::to_bits).collect();
        assert_eq!(bits, [own.to_bits(), 1f64.to_bits()], "moved three times");
        let [nan, signs, _] = while_loop(
            |[_, _, n]| n.less(2),
            |[nan, signs, n]| {
                [
                    &inf - &inf * nan.signbit().astype(DType::Float64) - &inf,
                    signs + nan.signbit().astype(DType::Int64),
                    n + 1,
                ]
            },
            [x.clone(), Array::scalar(0_i64), Array::scalar(0_i64)],
            None,
        )?;
        let results = Evaluation::with(&options).eval_many(&[&nan, &signs])?;
        let bits: Vec<u64> = results[0].to_vec::<f64>()?.into_iter().map(f64::to_bits).collect();
        assert_eq!(bits, [0x7ff8_0000_0000_0000; 2]);
        assert_eq!(results[1].to_vec::<i64>()?, [1, 0], "only the first, loaded NaN is negative");
    }
    Ok(())
}

#[test]
fn a_host_function_is_called_for_the_elements_that_iterate() -> Result<()> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let f = HostFunction::new("less_one", |x: f64| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        x - 1.0
    })?;
    let x = Array::from_vec(vec![3.0_f64, 0.0, 1.0, 10.0]);
    let [x] = while_loop(|[x]| x.greater(0), |[x]| [Array::call(&f, [x]).expect("float64")], [x], None)?;
    assert_eq!(x.to_vec::<f64>()?, [0.0; 4]);
    assert_eq!(CALLS.load(Ordering::Relaxed), 14);
    Ok(())
}

#[test]
fn numbers_take_the_dtypes_of_the_body() -> Result<()> {
    let c = Array::from_vec(vec![1.0_f32, 2.0]);
    let [x, n, flag] = while_loop(
        |[x, _, _]| x.less(100),
        |[x, n, flag]| [x * 3 + &c, n + 1, flag.logical_not()],
        [Array::scalar(0.5), Array::scalar(0), Array::scalar(true)],
        None,
    )?;
    assert_eq!([x.dtype(), n.dtype(), flag.dtype()], [DType::Float32, DType::Int32, DType::Bool]);
    assert_eq!(n.shape(), [2]);
    // The dtype of one follows from that of another.
    let [y, x] =
        while_loop(|[y, _]| y.less(9), |[_, x]| [x * 2, x + &c], [Array::scalar(1), Array::scalar(2)], 3)?;
    assert_eq!([x.dtype(), y.dtype()], [DType::Float32; 2]);
    let bytes = Array::from_vec(vec![1_u8]);
    let refused =
        while_loop(|[x]| x.less(9), |[x]| [x + &bytes], [Array::scalar(300)], None).expect_err("no uint8");
    assert!(
        refused.to_string().contains("carried value 0") && refused.kind() == ErrorKind::Literal,
        "{refused}"
    );
    Ok(())
}

#[test]
fn what_can_not_be_a_loop_is_refused_when_it_is_built() -> Result<()> {
    type Values = Vec<Array<'static>>;
    let x = || Array::from_vec(vec![1.0_f32, 2.0, 3.0]);
    let pair = || Array::from_vec(vec![1.0_f32, 2.0]);
    let always = |state: &[Array<'static>]| state[0].try_less(5.0);
    type Condition<'f> = &'f dyn Fn(&[Array<'static>]) -> Result<Array<'static>>;
    type Body<'f> = &'f dyn Fn(&[Array<'static>]) -> Result<Values>;
    let cases: &[(Condition<'_>, Body<'_>, ErrorKind, &str)] = &[
        (
            &always,
            &|s| Ok(vec![s[0].astype(DType::Float64), s[1].clone()]),
            ErrorKind::DType,
            "carried value 0 is float32, but becomes float64",
        ),
        (
            &always,
            &|s| Ok(vec![s[0].clone(), s[1].try_less(1.0)?]),
            ErrorKind::DType,
            "carried value 1 is float32, but becomes bool",
        ),
        (
            &always,
            &|s| Ok(vec![s[0].clone(), pair()]),
            ErrorKind::Shape,
            "carried value 1 is float32[3], but becomes float32[2]",
        ),
        (
            &|s| Ok(s[0].clone()),
            &|s| Ok(s.to_vec()),
            ErrorKind::DType,
            "the condition must be bool, not float32[3]",
        ),
        (
            &always,
            &|s| Ok(vec![s[0].clone(), s[1].sum(())?]),
            ErrorKind::Shape,
            "carried value 1 is made by sum",
        ),
        (&|s| s[0].any(()), &|s| Ok(s.to_vec()), ErrorKind::Shape, "the condition is made by any"),
        (
            &|s| s[0].max(())?.try_less(5.0),
            &|s| Ok(s.to_vec()),
            ErrorKind::Shape,
            "the condition is made by max",
        ),
        (&always, &|s| Ok(vec![s[0].flip(0)?, s[1].clone()]), ErrorKind::Shape, "carried value 0 is made by"),
        (
            &always,
            &|s| Ok(vec![s[0].clone()]),
            ErrorKind::Arity,
            "the body takes 2 carried values, but returns 1",
        ),
        (&always, &|s| Ok(vec![s[0].try_add(pair())?, s[1].clone()]), ErrorKind::Shape, "cannot broadcast"),
    ];
    for (condition, body, kind, why) in cases {
        let error = try_while_loop(condition, body, &[x(), x()], None).expect_err(why);
        assert!(error.kind() == *kind && error.to_string().contains(why), "{why}: {error}");
    }
    assert_eq!(
        try_while_loop(&always, &|s| Ok(s.to_vec()), &[], None).expect_err("none").kind(),
        ErrorKind::Arity
    );
    // A carried value has no elements outside of the loop.
    let escaped = std::cell::RefCell::new(None);
    let keep = |state: &[Array<'static>]| {
        *escaped.borrow_mut() = Some(state[0].clone());
        Ok(state.to_vec())
    };
    try_while_loop(&always, &keep, &[x()], Some(3))?;
    let escaped = escaped.take().expect("called") + 1;
    let error = escaped.eval().expect_err("no elements");
    assert!(error.to_string().contains("a carried value is used outside of the loop"), "{error}");
    // Loops in each other, up to a limit.
    fn nested(x: &Array<'static>, depth: usize) -> Result<Array<'static>> {
        if depth == 0 {
            return x.try_add(1.0);
        }
        let body = |state: &[Array<'static>]| Ok(vec![nested(&state[0], depth - 1)?]);
        Ok(try_while_loop(&|s| s[0].try_less(5.0), &body, std::slice::from_ref(x), Some(2))?.swap_remove(0))
    }
    assert_eq!(nested(&x(), 8)?.to_vec::<f32>()?, [5.0, 5.0, 5.0]);
    assert_eq!(nested(&x(), 9).map(drop).expect_err("too many").kind(), ErrorKind::Limit);
    Ok(())
}

/// The integer of a range and the count of iterations are not among the values whose number is limited.
#[test]
fn the_number_of_carried_values_is_limited() -> Result<()> {
    type Values = Vec<Array<'static>>;
    let state = |n: usize| (0..n).map(|i| Array::from_vec(vec![i as i16])).collect::<Values>();
    let turn = |s: &[Array<'static>]| -> Values { s[1..].iter().chain(&s[..1]).cloned().collect() };
    let condition = |s: &[Array<'static>]| s[0].try_less(4);
    let last = try_while_loop(&condition, &|s| Ok(turn(s)), &state(64), None)?;
    for (i, x) in last.iter().enumerate() {
        assert_eq!(x.to_vec::<i16>()?, [(i as i16 + 4) % 64]);
    }
    let range = try_fori_loop(0, 3, &|_, s| Ok(turn(s)), &state(64))?;
    assert_eq!(range[0].to_vec::<i16>()?, [3]);
    let state64: [Array<'static>; 64] = state(64).try_into().map_err(|_| ()).expect("64 values");
    let (_, counts) = while_loop_counts(|s| s[0].less(4), |s| s.clone(), state64, 2)?;
    assert_eq!(counts.to_vec::<i64>()?, [2]);

    let error =
        try_while_loop(&condition, &|s| Ok(turn(s)), &state(65), None).map(drop).expect_err("one more");
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Limit, "while_loop: 65 carried values, the limit is 64")
    );
    let error = try_fori_loop(0, 3, &|_, s| Ok(turn(s)), &state(65)).map(drop).expect_err("one more");
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Limit, "fori_loop: 65 carried values, the limit is 64")
    );
    Ok(())
}

/// The nodes of a body count towards the limit of nodes.
#[test]
fn the_size_of_a_body_is_limited() -> Result<()> {
    let x = Array::from_vec(vec![0.5_f64]);
    let long = |x: &Array<'static>| (0..1000).fold(x.clone(), |sum, _| sum * x + 1);
    let [x] = while_loop(|[x]| x.less(2), |[x]| [long(x)], [x], 3)?;
    let options = |max_nodes| Options { max_nodes, ..Options::default() };
    assert!(x.eval_with(&options(5000)).is_ok());
    assert_eq!(x.eval_with(&options(1000)).map(drop).expect_err("longer").kind(), ErrorKind::Limit);
    Ok(())
}

#[test]
fn a_kernel_of_any_extents_has_loops() -> Result<()> {
    let cx = Array::input("cx", DType::Float64, &["w".into()])?;
    let cy = Array::input("cy", DType::Float64, &["h".into(), 1.into()])?;
    let [x, n] = mandelbrot(&cx, &cy)?;
    let kernel = Kernel::new(&[&x, &n], &[&cx, &cy], &Options::default())?;
    for (rows, cols) in [(3, 4), (20, 50)] {
        let (xs, ys) = grid(rows, cols);
        let (mut x, mut n) = (vec![0.0; rows * cols], vec![0_i64; rows * cols]);
        let (shape, column) = (&[rows, cols], [rows, 1]);
        let ins = [(&xs).into(), In::shaped(&ys, &column)];
        kernel.run(&ins, [Out::shaped(&mut x, shape), Out::shaped(&mut n, shape)])?;
        let expected: Vec<(f64, i64)> =
            ys.iter().flat_map(|&y| xs.iter().map(move |&x| escape(x, y))).collect();
        assert!(x.into_iter().zip(n).eq(expected));
    }
    // Without a limit, elements have numbers, whose shape is known when the kernel is bound.
    let x = Array::input("x", DType::Int32, &["h".into(), "w".into()])?;
    let [down] = while_loop(|[x]| x.not_equal(0), |[x]| [x - 1], [x.clone()], None)?;
    let kernel = Kernel::new(&[&down], &[&x], &Options { max_iterations: 10, ..Options::default() })?;
    let run = |data: [i32; 6]| -> Result<Vec<i32>> {
        let mut out = vec![9; 6];
        kernel.run(&[In::shaped(&data, &[2, 3])], [Out::shaped(&mut out, &[2, 3])])?;
        Ok(out)
    };
    assert_eq!(run([1, 2, 3, 4, 5, 10])?, [0; 6]);
    let error = run([1, 2, 3, 4, 11, 12]).expect_err("eleven");
    assert!(error.to_string().contains("element 4 "), "{error}");
    Ok(())
}

/// A loop in the body is numbered by the elements of the outer one, whose extents are not known yet. Elements of an open rank
/// have no numbers.
#[test]
fn elements_of_symbolic_extents_are_named_by_errors() -> Result<()> {
    let slow = |x: &Array<'static>| -> Result<Array<'static>> {
        let below = |state: &[Array<'static>]| state[0].try_less(3);
        let body = |state: &[Array<'static>]| -> Result<Vec<Array<'static>>> {
            let [x] = while_loop(|[x]| x.less(-500), |[x]| [x * 1], [state[0].clone()], None)?;
            Ok(vec![x + 1])
        };
        Ok(try_while_loop(&below, &body, std::slice::from_ref(x), Some(9))?.swap_remove(0))
    };
    let shift = |x: &Array<'static>| -> Result<Array<'static>> {
        let [x] = while_loop(|[x]| x.less(3), |[x]| [x + 1], [x.clone()], None)?;
        Ok(x)
    };
    let options = Options { max_iterations: 100, ..Options::default() };
    type Build<'b> = &'b dyn Fn(&Array<'static>) -> Result<Array<'static>>;
    let cases: [(&[Dim], Build<'_>, &str); 4] = [
        (&["h".into(), "w".into()], &slow, "while_loop: element 4 (in row-major order) has not ended"),
        (&["h".into(), "w".into()], &shift, "while_loop: element 4 (in row-major order) has not ended"),
        (&[Dim::Rest], &slow, "while_loop: an element has not ended after 100 iterations"),
        (&[Dim::Rest], &shift, "while_loop: an element has not ended after 100 iterations"),
    ];
    for (dims, build, wanted) in cases {
        // Both add 1 to a value below 3; -1000 never gets there.
        let x = Array::input("x", DType::Int32, dims)?;
        let kernel = Kernel::new(&[&build(&x)?], &[&x], &options)?;
        let run = |data: [i32; 6]| -> Result<Vec<i32>> {
            let mut out = vec![9; 6];
            kernel.run(&[In::shaped(&data, &[2, 3])], [Out::shaped(&mut out, &[2, 3])])?;
            Ok(out)
        };
        assert_eq!(run([9, 3, 2, 9, 2, 3])?, [9, 3, 3, 9, 3, 3]);
        let error = run([9, 3, 2, 9, -1000, 3]).expect_err(wanted);
        assert!(error.kind() == ErrorKind::Limit && error.to_string().starts_with(wanted), "{error}");
    }
    Ok(())
}

/// Nothing that looks into loops takes time that is exponential in their nesting.
#[test]
fn nested_loops_of_several_values_take_linear_time() -> Result<()> {
    type Values = Vec<Array<'static>>;
    fn nested(state: &[Array<'static>], depth: usize) -> Result<Values> {
        let below = |s: &[Array<'static>]| s[0].try_less(1e9);
        let body = |s: &[Array<'static>]| -> Result<Values> {
            match depth {
                0 => Ok(s.iter().map(|x| x + &s[0]).collect()),
                _ => nested(s, depth - 1),
            }
        };
        try_while_loop(&below, &body, state, Some(1))
    }
    let since = Instant::now();
    let state = || (1..=9).map(|i| Array::from_vec(vec![f64::from(i); 2])).collect::<Values>();
    let [first, second] = [nested(&state(), 7)?, nested(&state(), 7)?];
    for results in [first, second] {
        let results = Evaluation::default().eval_many(&results.iter().collect::<Vec<_>>())?;
        for (i, x) in results.iter().enumerate() {
            assert_eq!(x.to_vec::<f64>()?, [i as f64 + 2.0; 2]);
        }
        assert!(results[0].explain()?.len() < 100_000);
    }
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    Ok(())
}

#[test]
fn a_range_is_a_loop_over_its_integers() -> Result<()> {
    let n = Array::from_vec(vec![0_i32, 1, 5, -3, i32::MIN]);
    let sum = |lower: i32, upper: i32| (lower..upper).sum::<i32>();
    let [sums] = fori_loop(-2, &n, |i, [sum]| [sum + i], [Array::scalar(0)])?;
    assert_eq!(sums.to_vec::<i32>()?, [0, 1, 5, -3, i32::MIN].map(|n| sum(-2, n)));
    // Both bounds are arrays: they broadcast and promote. The last integer is the largest one.
    let from = Array::from_shape_vec(&[2, 1], vec![120_i8, -128])?;
    let to = Array::from_vec(vec![127_i8, 125]);
    let [count] = fori_loop(&from, &to, |_, [count]| [count + 1_u8], [Array::scalar(0_u8)])?;
    assert_eq!((count.shape(), count.dtype()), (&[2, 2][..], DType::UInt8));
    assert_eq!(count.to_vec::<u8>()?, [7, 5, 255, 253]);
    let wider = Array::from_vec(vec![126_i16, -200]);
    let [last, _] = fori_loop(&from, &wider, |i, [_, n]| [i.clone(), n + 1], [wider.clone(), wider.clone()])?;
    assert_eq!(last.to_vec::<i16>()?, [125, -200, 125, -200]);
    // Two numbers.
    let x = Array::from_vec(vec![1.0_f64, -1.0]);
    let [x] = fori_loop(1, 4, |i, [x]| [x * i.astype(DType::Float64)], [x])?;
    assert_eq!(x.to_vec::<f64>()?, [6.0, -6.0]);
    // More iterations than a loop with a condition may take.
    let options = Options { max_iterations: 10, ..Options::default() };
    let [n] = fori_loop(0, 1000, |_, [n]| [n + 1], [Array::from_vec(vec![0_i64])])?;
    assert_eq!(n.eval_with(&options)?.to_vec::<i64>()?, [1000]);

    let x = || Array::from_vec(vec![1.0_f32]);
    type Body = fn(&Array<'static>, &[Array<'static>]) -> Result<Vec<Array<'static>>>;
    let same: Body = |_, state| Ok(state.to_vec());
    let cases: [(Array<'static>, Body, usize, ErrorKind, &str); 6] = [
        (x(), same, 1, ErrorKind::DType, "fori_loop: the upper bound is float32, but must be an integer"),
        (
            Array::scalar(2.5),
            same,
            1,
            ErrorKind::DType,
            "fori_loop: the upper bound is float64, but must be an integer",
        ),
        (
            Array::from_vec(vec![1_u64]),
            same,
            1,
            ErrorKind::DType,
            "fori_loop: bounds of int8 and uint64 have no common integer dtype",
        ),
        (Array::scalar(300), same, 1, ErrorKind::Literal, "fori_loop: a bound: 300"),
        (Array::scalar(3), same, 0, ErrorKind::Arity, "fori_loop: there is no carried value"),
        (
            Array::scalar(3),
            |_, state| Ok([state, state].concat()),
            2,
            ErrorKind::Arity,
            "fori_loop: the body takes 2 carried values, but returns 4",
        ),
    ];
    for (upper, body, carried, kind, why) in cases {
        let lower = Array::from_vec(vec![0_i8]);
        let error = try_fori_loop(lower, upper, &body, &vec![x(); carried]).map(drop).expect_err(why);
        assert!(error.kind() == kind && error.to_string().starts_with(why), "{why}: {error}");
    }
    let error = try_fori_loop(0, 3, &|i, _| Ok(vec![i.clone()]), &[x()]).map(drop).expect_err("int64");
    assert!(error.to_string().contains("carried value 0 is float32, but becomes int64"), "{error}");
    Ok(())
}

/// The time in which an endless loop stops on a busy machine. One that does not look never stops.
const STOPS_WITHIN: Duration = Duration::from_secs(2);

/// Nothing in a loop outlasts a request to stop by much.
#[test]
fn a_loop_can_be_stopped() -> Result<()> {
    for threads in [1, 2] {
        let x = Array::from_vec(vec![1.0_f64; 3000]);
        let options = Options { max_iterations: u64::MAX, threads: Some(threads), ..Options::default() };
        let [endless] = while_loop(|[x]| x.greater(0), |[x]| [(x.sin() + 2).sqrt()], [x], None)?;
        let limited = Options { max_time: Some(Duration::from_millis(50)), ..options.clone() };
        for lazy in [endless.clone(), endless.sum(())?, endless.cumulative_sum(Some(0), None, false)?] {
            let since = Instant::now();
            assert_eq!(lazy.eval_with(&limited).map(drop).expect_err("endless").kind(), ErrorKind::TimeLimit);
            assert!(since.elapsed() < STOPS_WITHIN, "{:?}", since.elapsed());
            let (cancel, since) = (AtomicBool::new(false), Instant::now());
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(50));
                    cancel.store(true, Ordering::Relaxed);
                });
                let control = Control { cancel: Some(&cancel), ..Control::default() };
                let stopped =
                    Evaluation::with(&options).control(&control).eval(&lazy).map(drop).expect_err("endless");
                assert_eq!(stopped.kind(), ErrorKind::Cancelled);
            });
            assert!(since.elapsed() < STOPS_WITHIN, "{:?}", since.elapsed());
        }
    }
    Ok(())
}

/// An error names the division that met a zero, among others in the loop and around it.
#[test]
fn an_error_names_the_division_of_a_loop() -> Result<()> {
    // `remainder`, for the initial value, is not in the loop; the loop divides down to `last`.
    let divided = |divisor: i32, last: i32| -> Result<Array<'static>> {
        let divisors = Array::from_vec(vec![4, 3, divisor, 4, 5]);
        let first = Array::from_vec(vec![9_i32; 5]).remainder(divisors);
        let body = |[d, sum]: &[Array<'static>; 2]| {
            let near = Array::scalar(60).floor_divide(d + 2);
            [d - 1, sum + near + Array::scalar(60).trunc_divide(d)]
        };
        let [_, sum] = while_loop(|[d, _]| d.greater_equal(last), body, [first, Array::scalar(0)], None)?;
        Ok(sum)
    };
    for options in ways() {
        let options = Options { int_division: IntDivision::Error, ..options };
        // The remainders are 1, 0, 1, 1 and 4.
        let sums = divided(2, 1)?.eval_with(&options)?.to_vec::<i32>()?;
        let of = |d: i32| (1..=d).map(|d| 60 / (d + 2) + 60 / d).sum::<i32>();
        assert_eq!(sums, [1, 0, 1, 1, 4].map(of), "{options:?}");
        for (divisor, last, op) in [(2, 0, "trunc_divide"), (0, 1, "remainder")] {
            let error = divided(divisor, last)?.eval_with(&options).expect_err(op);
            assert_eq!(error.kind(), ErrorKind::ZeroDivision, "{options:?}");
            assert!(error.message().starts_with(op), "{error}, {options:?}");
        }
    }
    Ok(())
}

/// The explanation shows the loop, its machine code too.
#[test]
fn an_explanation_shows_the_loop() -> Result<()> {
    let x = Array::from_vec(vec![1.0_f32; 8]);
    let [x] = while_loop(|[x]| x.less(9), |[x]| [x * 2], [x], 40)?;
    let options = Options { executor: Executor::Jit, ..Options::default() };
    x.eval_with(&options)?;
    let explanation = x.explanation(&options, false)?;
    let jit = if cfg!(feature = "jit") { Executor::Jit } else { Executor::Interp };
    assert_eq!(explanation.executors().collect::<Vec<_>>(), [Some(jit)]);
    let text = x.explain_with(&options, false)?;
    assert!(text.contains("while (s0 = n0; ") && text.contains("limit 40"), "{text}");
    assert!(text.contains("loop v0"), "{text}");
    let details = explanation.details();
    assert!(details.nodes.iter().any(|node| node.what == "while_loop, value 0"), "{details:?}");
    if jit == Executor::Jit {
        let text = x.explain_with(&options, true)?;
        assert!(text.contains("loop v") && text.contains("brif"), "{text}");
    }
    Ok(())
}

/// A captured value that gives a loop its shape does so after rewriting too, even if nothing reads it any more.
#[test]
fn a_value_that_vanishes_from_a_loop_leaves_its_shape() -> Result<()> {
    let (one, three, none) =
        (Array::from_vec(vec![1_i32]), Array::from_vec(vec![1_i32, 2, 3]), Array::scalar(0));
    let [x] = while_loop(|[x]| x.less(3), |[x]| [x * &three * &none], [one], 2)?;
    assert_eq!((x.shape(), x.to_vec::<i32>()?), (&[3][..], vec![0; 3]));
    let chosen = |x: &Array<'static>| where_(true, x + 1, &three);
    let [x] = fori_loop(0, 2, |_, [x]| [chosen(x)], [Array::scalar(0_i32)])?;
    assert_eq!((x.shape(), x.to_vec::<i32>()?), (&[3][..], vec![2; 3]));
    Ok(())
}

/// A loop without iterations in another one does not keep that from looking for the end of its time.
#[test]
fn a_loop_around_one_without_iterations_can_be_stopped() -> Result<()> {
    let x = Array::from_vec(vec![0.0_f64; 8]);
    let outer = |_: &Array<'static>, [x]: &[Array<'static>; 1]| {
        let [y] = while_loop(|[y]| y.less(0), |[y]| [y * 2], [x.clone()], 0).expect("a loop");
        [y + 1]
    };
    let [x] = fori_loop(0, i64::MAX, outer, [x])?;
    let compiled = if cfg!(feature = "jit") { Executor::Jit } else { Executor::Auto };
    for executor in [Executor::Interp, compiled] {
        let options = Options { executor, max_time: Some(Duration::from_millis(50)), ..Options::default() };
        let since = Instant::now();
        let error = x.eval_with(&options).expect_err("no end");
        assert_eq!(error.kind(), ErrorKind::TimeLimit, "{error}");
        assert!(since.elapsed() < STOPS_WITHIN, "{executor:?}: {:?}", since.elapsed());
    }
    Ok(())
}
