//! Machine code for loops: at every vector width and for every number of elements it gives the interpreter's bits, whose values
//! are tested by [`crate::while_loop`] and by random programs.

use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom::prelude::*;
use broadloom::{
    ErrorKind, Executor, HostFunction, IntDivision, VectorWidth, cond, fori_loop, random, try_while_loop,
    while_loop, while_loop_counts,
};

/// The options that compile for a vector width, on one thread.
fn jit(width: VectorWidth) -> Options {
    let vector_width = Some(width);
    Options { executor: Executor::Jit, vector_width, threads: Some(1), ..Options::default() }
}

fn bytes(arrays: &[Array<'_>]) -> Vec<Vec<u8>> {
    arrays.iter().map(|x| x.as_bytes().expect("evaluated").to_vec()).collect()
}

/// Evaluates what `make` returns for each number of elements by the interpreter and by machine code of every width.
#[track_caller]
fn agrees(name: &str, make: impl Fn(usize) -> Result<Vec<Array<'static>>>) -> Result<()> {
    if !cfg!(feature = "jit") {
        return Ok(());
    }
    for n in (1..=40).chain([63, 64, 65, 200, 1001]) {
        let roots = make(n)?;
        let roots: Vec<&Array<'_>> = roots.iter().collect();
        let interpreted = Options { executor: Executor::Interp, threads: Some(1), ..Options::default() };
        let want = bytes(&Evaluation::with(&interpreted).eval_many(&roots)?);
        for width in VectorWidth::of_target() {
            let options = jit(width);
            let got = bytes(&Evaluation::with(&options).eval_many(&roots)?);
            assert_eq!(got, want, "{name}: {n} elements, {width:?}");
            let ran: Vec<_> = roots[0].explanation(&options, false)?.executors().collect();
            assert!(ran.contains(&Some(Executor::Jit)), "{name}: {ran:?}");
        }
    }
    Ok(())
}

/// Numbers in an order without pattern, from `from` on, `step` apart.
fn scattered(n: usize, from: f64, step: f64) -> Vec<f64> {
    (0..n).map(|i| from + step * (i * 37 % 101) as f64).collect()
}

fn floats(n: usize, from: f64, step: f64) -> Array<'static> {
    Array::from_vec(scattered(n, from, step))
}

fn cast(n: usize, from: f64, step: f64, dtype: DType) -> Array<'static> {
    floats(n, from, step).astype(dtype)
}

/// A step of Newton's method for a cube root, with so many operations that the iteration counts as a long one.
fn long_step<'a>(x: &Array<'a>, a: &Array<'a>) -> Array<'a> {
    let mut next = x - (x * x * x - a) / (3.0 * x * x);
    for i in 0..16 {
        next = (next + f64::from(i)) - f64::from(i);
    }
    next
}

/// Iterations that are long test their condition at the end: elements without iterations, counts, limits, values that the condition and
/// the iteration share, divisions that fail, and loops in branches.
#[test]
fn long_iterations() -> Result<()> {
    agrees("roots", |n| {
        let a = floats(n, 0.0, 1.75);
        let start = [floats(n, -1.0, 0.5), Array::scalar(1.0), Array::scalar(0)];
        let far = |[_, change, _]: &[Array<'static>; 3]| change.abs().greater(1e-9);
        let step = |[x, _, k]: &[Array<'static>; 3]| {
            let next = long_step(x, &a);
            [next.clone(), next - x, where_((x * x).greater(&a), k + 3, k - 1)]
        };
        let ([x, _, k], steps) = while_loop_counts(far, step, start, 9)?;
        Ok(vec![x, k, steps])
    })?;
    agrees("roots whose condition computes what the iteration reads", |n| {
        let a = floats(n, 0.0, 1.75);
        let far = |[x]: &[Array<'static>; 1]| (x * x * x - &a).abs().greater(1e-9);
        let [x] = while_loop(far, |[x]| [long_step(x, &a)], [floats(n, -1.0, 0.5)], 9)?;
        Ok(vec![x])
    })?;
    agrees("no iterations at first", |n| {
        let x = floats(n, 0.0, 1.0);
        let [y] = while_loop(|[x]| x.greater(80), |[x]| [long_step(x, x) * 0.5], [x], 20)?;
        Ok(vec![y])
    })?;
    agrees("branches", |n| {
        let x = floats(n, -20.0, 1.0);
        let [y] = cond(&x.greater(0), || [long_step(&x, &x).log()], || [long_step(&x, &x).exp()])?;
        Ok(vec![y])
    })?;
    // The condition divides by what is left, which some elements bring to 0 and beyond.
    let failing = |n, least| -> Result<Array<'static>> {
        let start = cast(n, 1.0, 1.0, DType::Int64);
        let [left, sum] = while_loop(
            |[left, _]| Array::scalar(7).floor_divide(left).greater(-100).logical_and(left.greater(least)),
            |[left, sum]| [left - 1, long_integers(sum) + left],
            [start, Array::scalar(0)],
            500,
        )?;
        Ok(left + sum)
    };
    for (n, least) in [1, 7, 101].into_iter().flat_map(|n| [(n, 1), (n, -2)]) {
        for int_division in [IntDivision::Zero, IntDivision::Error] {
            let on = |options: Options| {
                let made = failing(n, least)?.eval_with(&Options { int_division, ..options });
                Ok::<_, Error>(made.map(|x| bytes(&[x])).map_err(|error| error.to_string()))
            };
            let expected = on(Options { executor: Executor::Interp, ..Options::default() })?;
            assert_eq!(expected.is_err(), least < 0 && int_division == IntDivision::Error);
            for width in VectorWidth::of_target().filter(|_| cfg!(feature = "jit")) {
                assert_eq!(on(jit(width))?, expected, "{n} {least} {int_division:?} {width:?}");
            }
        }
    }
    Ok(())
}

/// Sixteen operations of integers.
fn long_integers<'a>(x: &Array<'a>) -> Array<'a> {
    (0..16).fold(x.clone(), |sum, i| (sum * 3).bitwise_xor(i))
}

/// The code of loops has vectors of 256 bits where the target has them. A kernel that the wider back end refuses would run on 128 bits
/// with the same bits, and only its time would show that.
#[test]
fn no_loop_is_refused_by_the_wider_back_end() -> Result<()> {
    let widths: Vec<VectorWidth> = VectorWidth::of_target()
        .filter(|&width| width > VectorWidth::W128 && cfg!(feature = "jit"))
        .collect();
    let n = 1001;
    let (x, a) = (floats(n, -1.0, 0.5), floats(n, 0.0, 1.75));
    let far = |[x]: &[Array<'static>; 1]| (x - &a).abs().greater(1e-9);
    let [short] = while_loop(far, |[x]| [x * 0.75 + &a * 0.25], [x.clone()], 50)?;
    let [long] = while_loop(far, |[x]| [long_step(x, &a)], [x], 50)?;
    let drawn = random::gamma(&random::key(1), &a + 0.5, &[n], DType::Float64)?;
    for (name, x) in [("short", short), ("long", long), ("gamma", drawn)] {
        for options in widths.iter().map(|&width| jit(width)) {
            x.eval_with(&options)?;
            let words = x.explain_with(&options, false)?;
            assert!(
                words.contains("has vectors of ") && !words.contains("vectors of 128 bits"),
                "{name}: {words}"
            );
        }
    }
    Ok(())
}

#[test]
fn one_carried_value() -> Result<()> {
    for dtype in [DType::Float32, DType::Float64, DType::Float16] {
        agrees("halves", |n| {
            let x = cast(n, 0.5, 7.0, dtype);
            let c = cast(n, 0.0, 0.0078125, dtype);
            let [x] = while_loop(|[x]| x.greater(1), |[x]| [x * 0.5 + &c], [x], 60)?;
            Ok(vec![x])
        })?;
    }
    let integers = [DType::Int8, DType::UInt8, DType::Int16, DType::Int32, DType::UInt32, DType::Int64];
    for dtype in integers {
        agrees("Collatz", |n| {
            let x = cast(n, 1.0, 1.0, dtype);
            let next =
                |x: &Array<'static>| where_((x % 2).equal(0), x.floor_divide(2), x * 3 + 1).astype(dtype);
            let ([x], steps) = while_loop_counts(|[x]| x.greater(1), |[x]| [next(x)], [x], 150)?;
            Ok(vec![x, steps])
        })?;
    }
    Ok(())
}

#[test]
fn several_carried_values_of_different_widths() -> Result<()> {
    for (dtype, limit) in [(DType::Float32, None), (DType::Float64, None), (DType::Float32, Some(30))] {
        agrees("Mandelbrot", |n| {
            let (cx, cy) = (cast(n, -2.0, 0.026, dtype), cast(n, -1.0, 0.0175, dtype));
            let outside = (&cx * &cx + &cy * &cy).greater(4);
            let limit = if limit.is_none() { Some(300) } else { limit };
            let ([x, y], count) = while_loop_counts(
                |[x, y]| (x * x + y * y).less_equal(4),
                |[x, y]| [x * x - y * y + &cx, 2 * x * y + &cy],
                [Array::scalar(0.0), Array::scalar(0.0)],
                limit,
            )?;
            Ok(vec![x, y, count, outside])
        })?;
    }
    agrees("all widths", |n| {
        let start = [
            cast(n, 0.0, 3.0, DType::UInt8),
            cast(n, -50.0, 1.0, DType::Int64),
            cast(n, 0.25, 0.5, DType::Float32),
            floats(n, 0.0, 1.0).less(30),
            cast(n, 5.0, 9.0, DType::Int16),
            floats(n, 1.0, 2.0),
        ];
        let condition = |state: &[Array<'static>]| -> Result<Array<'static>> {
            let small = state[1].try_less(40)?;
            Ok(small.logical_and(state[0].less(250)).logical_or(&state[3]))
        };
        let body = |state: &[Array<'static>]| -> Result<Vec<Array<'static>>> {
            let [byte, long, float, flag, short, double] = state else { panic!("six") };
            Ok(vec![
                byte + 1,
                long + short.astype(DType::Int64) % 5,
                where_(flag, float * 1.5, float - 1),
                long.less(10).logical_xor(flag).logical_and(float.greater(-20)),
                short.bitwise_xor(byte.astype(DType::Int16)),
                double / (float.astype(DType::Float64).abs() + 1),
            ])
        };
        try_while_loop(&condition, &body, &start, Some(90))
    })
}

/// Values that move from one carried value to another, and one that never changes.
#[test]
fn values_that_change_places() -> Result<()> {
    agrees("rotation", |n| {
        let start =
            [cast(n, 0.0, 1.0, DType::Int32), floats(n, 3.0, 0.5).astype(DType::Int32), Array::scalar(0_i32)];
        let kept = cast(n, 1.0, 1.0, DType::Int32);
        let start = [&start[..], &[kept]].concat();
        let most = cast(n, 0.0, 0.3, DType::Int32);
        let condition = |state: &[Array<'static>]| state[2].try_less(&most);
        let body = |state: &[Array<'static>]| -> Result<Vec<Array<'static>>> {
            Ok(vec![state[1].clone(), state[0].clone(), &state[2] + 1, state[3].clone()])
        };
        try_while_loop(&condition, &body, &start, None)
    })
}

/// Functions whose slow paths are entered for some of the elements that iterate, and would be for some that are done.
#[test]
fn functions_with_slow_paths() -> Result<()> {
    for dtype in [DType::Float32, DType::Float64] {
        agrees("sines", |n| {
            let x = cast(n, -1e6, 3e5, dtype);
            let ([x], steps) = while_loop_counts(
                |[x]| x.abs().greater(0.2),
                |[x]| [(x * 1e5).sin() * x.abs().exp().minimum(3).log1p()],
                [x],
                12,
            )?;
            Ok(vec![x, steps])
        })?;
    }
    Ok(())
}

#[test]
fn loops_in_loops() -> Result<()> {
    let odd = |n: &Array<'static>| (n % 2).equal(1);
    for limit in [None, Some(4), Some(1000)] {
        agrees("Collatz by halves", |n| {
            let body = |state: &[Array<'static>]| -> Result<Vec<Array<'static>>> {
                let halve = |[n, steps]: &[Array<'static>; 2]| [n.floor_divide(2), steps + 1];
                let even = |[n, _]: &[Array<'static>; 2]| odd(n).logical_not();
                let [n, steps] = while_loop(even, halve, [state[0].clone(), state[1].clone()], limit)?;
                let is_one = n.equal(1);
                Ok(vec![where_(&is_one, &n, &n * 3 + 1), &steps + where_(&is_one, 0_i64, 1_i64)])
            };
            let condition = |state: &[Array<'static>]| state[0].try_not_equal(1);
            let start = [cast(n, 1.0, 1.0, DType::Int64), Array::scalar(0_i64).astype(DType::Int64)];
            try_while_loop(&condition, &body, &start, Some(700))
        })?;
    }
    // A loop in a condition, and one whose elements would not end if the outer loop's were not done.
    agrees("conditions", |n| {
        let most = cast(n, 0.0, 0.2, DType::Int32);
        let condition = |state: &[Array<'static>]| -> Result<Array<'static>> {
            let [square] = fori_loop(0, &state[0], |_, [s]| [s + 2], [Array::scalar(0_i32)])?;
            square.try_less(&most)
        };
        let body = |state: &[Array<'static>]| -> Result<Vec<Array<'static>>> {
            let [x] = while_loop(|[x]| x.less(&most), |[x]| [x + 3], [state[1].clone()], None)?;
            let [y] = while_loop(|_| state[0].greater_equal(&most), |[y]| [y + 1], [x], None)?;
            Ok(vec![&state[0] + 1, y])
        };
        try_while_loop(&condition, &body, &[Array::scalar(0_i32), cast(n, 0.0, 1.0, DType::Int32)], None)
    })
}

#[test]
fn conditions_and_limits_of_all_kinds() -> Result<()> {
    for limit in [0, 1, 2, 7] {
        agrees("limits", |n| {
            let x = cast(n, 0.0, 0.1, DType::Float32);
            let always = cast(n, 0.0, 1.0, DType::Int32).greater_equal(50);
            let [a] = while_loop(|[a]| a.less(3), |[a]| [a + 0.7], [x.clone()], limit)?;
            let [b] = while_loop(|_| always.clone(), |[b]| [b * 1.1], [x.clone()], limit)?;
            let ([c], count) = while_loop_counts(
                |_| Array::scalar(true).broadcast_to(&[n]).expect("a row"),
                |[c]| [c - 1],
                [x.clone()],
                limit,
            )?;
            Ok(vec![a + b, c, count])
        })?;
    }
    agrees("ranges", |n| {
        let bound = cast(n, -3.0, 0.4, DType::Int32);
        let [sum] = fori_loop(0, &bound, |i, [s]| [s + i * i], [Array::scalar(0_i32)])?;
        let scalar = fori_loop(2, 9, |i, [s]| [s * 2 + i.astype(DType::Float64)], [floats(n, 0.0, 1.0)])?;
        Ok(vec![sum, scalar[0].clone()])
    })
}

/// Loops whose elements all perform the same number of iterations, which depends on numbers alone.
#[test]
fn elements_that_end_together() -> Result<()> {
    for (from, to) in [(0, 0), (0, 1), (0, 30), (5, 3), (-4, 9)] {
        agrees("ranges of numbers", |n| {
            let x = cast(n, 0.0, 0.25, DType::Float32);
            let k = cast(n, 1.0, 1.0, DType::Int32);
            fori_loop(
                from,
                to,
                |i, [s, t, flag]| {
                    [
                        s * 0.75 + &x,
                        t + i.astype(DType::Int32) * &k,
                        flag.logical_xor(t.less(i.astype(DType::Int32))),
                    ]
                },
                [x.clone(), k.clone(), x.less(3)],
            )
            .map(Vec::from)
        })?;
    }
    // A condition that would hold again after an iteration that no element performs; and one that the body reads too.
    for start in [3, 5, 6] {
        agrees("not equal", |n| {
            let x = floats(n, 0.0, 1.0);
            let ([i, y], steps) = while_loop_counts(
                |[i, _]| i.not_equal(5),
                |[i, y]| [i + 1, y + where_(i.not_equal(5), &x, 1.0) * i.astype(DType::Float64)],
                [Array::scalar(start as i64).astype(DType::Int64), x.clone()],
                9,
            )?;
            Ok(vec![y, i + steps])
        })?;
    }
    // Within a loop whose elements end apart.
    agrees("inner ranges", |n| {
        let x = cast(n, 1.0, 1.0, DType::Int64);
        let body = |state: &[Array<'static>]| -> Result<Vec<Array<'static>>> {
            let [sum] = fori_loop(0, 4, |i, [s]| [s + i * &state[0]], [state[1].clone()])?;
            Ok(vec![state[0].floor_divide(3), sum])
        };
        try_while_loop(&|state| state[0].try_greater(2), &body, &[x, Array::scalar(0_i64)], None)
    })
}

/// A loop among other operations: of inputs that are uniform, and of outputs that are reduced.
#[test]
fn loops_among_other_operations() -> Result<()> {
    agrees("uniform", |n| {
        let scale = Array::from_vec(vec![0.75_f32]);
        let x = cast(n, 0.0, 1.0, DType::Float32) * 3;
        let [y] = while_loop(|[y]| y.greater(2), |[y]| [y * &scale], [&x + 1], 100)?;
        let k = Array::from_vec(vec![7_i32]);
        let [z] = while_loop(
            |[z]| z.greater(3),
            |[z]| [z.floor_divide(&k) + (z % &k).floor_divide(3)],
            [cast(n, 0.0, 91.0, DType::Int32)],
            None,
        )?;
        Ok(vec![y.sqrt() - &x, z * 2, x])
    })?;
    agrees("reduced", |n| {
        let x = floats(n, 0.0, 1.0);
        let [y] = while_loop(|[y]| y.greater(2), |[y]| [y.sqrt()], [x.clone()], None)?;
        Ok(vec![y.sum(())?, y.max(())?])
    })
}

/// Rows of a matrix that are shorter than a block, with one input for each row, and outputs in other places.
#[test]
fn rows_and_columns() -> Result<()> {
    if !cfg!(feature = "jit") {
        return Ok(());
    }
    for (rows, cols) in [(9, 1), (5, 3), (4, 7), (3, 17), (8, 33)] {
        let x = Array::from_shape_vec(&[rows, cols], scattered(rows * cols, 0.0, 0.7))?;
        let most = Array::from_shape_vec(&[rows, 1], scattered(rows, 1.0, 0.2))?;
        for x in [x.clone(), x.t().eval()?.t(), x.flip(1)?] {
            let ([y], steps) = while_loop_counts(|[y]| y.greater(&most), |[y]| [y * 0.8], [x.clone()], None)?;
            let want = bytes(
                &Evaluation::with(&Options { executor: Executor::Interp, ..Options::default() })
                    .eval_many(&[&y, &steps])?,
            );
            for width in VectorWidth::of_target() {
                assert_eq!(
                    bytes(&Evaluation::with(&jit(width)).eval_many(&[&y, &steps])?),
                    want,
                    "{rows} {cols} {width:?}"
                );
            }
        }
    }
    Ok(())
}

/// Faults count in the iterations that elements perform, and an element that does not end is named.
#[test]
fn faults_and_elements_without_end() -> Result<()> {
    for width in VectorWidth::of_target() {
        let options = Options { int_division: IntDivision::Error, max_iterations: 500, ..jit(width) };
        for n in [1, 5, 8, 31, 64, 100] {
            let start: Vec<i32> = (0..n).map(|i| i * 7 % 13).collect();
            let divided = |last: i32| -> Result<Array<'static>> {
                let [_, sum] = while_loop(
                    |[d, _]| d.greater(last),
                    |[d, sum]| [d - 1, sum + Array::scalar(60).floor_divide(d)],
                    [Array::from_vec(start.clone()), Array::scalar(0)],
                    None,
                )?;
                Ok(sum)
            };
            let sum = |from: i32| (1..=from).map(|d| 60 / d).sum::<i32>();
            let want: Vec<i32> = start.iter().map(|&d| sum(d)).collect();
            assert_eq!(divided(0)?.eval_with(&options)?.to_vec::<i32>()?, want, "{n} {width:?}");
            let error = divided(-1)?.eval_with(&options).map(drop).expect_err("divides by zero");
            assert_eq!(error.kind(), ErrorKind::ZeroDivision, "{n} {width:?}");
            let longest = Array::from_vec((0..n).map(|i| 500 + i64::from(i >= n / 2)).collect::<Vec<_>>());
            let [x] = while_loop(|[x]| x.less(&longest), |[x]| [x + 1], [Array::scalar(0_i64)], None)?;
            let error = x.eval_with(&options).map(drop).expect_err("501 iterations");
            let element = format!("element {} ", n / 2);
            assert!(error.to_string().contains(&element), "{n} {width:?}: {error}");
            let enough = Options { max_iterations: 501, ..options.clone() };
            assert_eq!(x.eval_with(&enough)?.to_vec::<i64>()?, longest.to_vec::<i64>()?, "{width:?}");
        }
    }
    Ok(())
}

/// A loop over so few elements that the interpreter runs it first, and is compiled once it has taken long.
#[test]
fn iterations_are_learnt_from_runs() -> Result<()> {
    let x = Array::from_vec(vec![30_000.0_f64, 1.0, 20.0]);
    let [x] = while_loop(|[x]| x.greater(0), |[x]| [x - 1], [x], None)?;
    let options = Options { executor: Executor::Auto, threads: Some(1), ..Options::default() };
    let executor = |x: &Array<'_>| Ok::<_, Error>(x.explanation(&options, false)?.executors().next());
    assert_eq!(executor(&x)?, Some(Some(Executor::Interp)));
    assert_eq!(x.eval_with(&options)?.to_vec::<f64>()?, [0.0; 3]);
    let then = if cfg!(feature = "jit") { Executor::Jit } else { Executor::Interp };
    assert_eq!(executor(&x)?, Some(Some(then)));
    assert_eq!(x.eval_with(&options)?.to_vec::<f64>()?, [0.0; 3]);
    Ok(())
}

/// Loops that call host functions are not compiled, and the explanation contains the reason.
#[test]
fn host_functions_in_loops_are_left_to_the_interpreter() -> Result<()> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let f = HostFunction::new("less_two", |x: f64| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        x - 2.0
    })?;
    let x = Array::from_vec(vec![3.0_f64, 0.0, 1.0, 10.0]);
    let [x] = while_loop(|[x]| x.greater(0), |[x]| [Array::call(&f, [x]).expect("float64")], [x], None)?;
    let options = Options { executor: Executor::Jit, ..Options::default() };
    assert_eq!(x.eval_with(&options)?.to_vec::<f64>()?, [-1.0, 0.0, -1.0, 0.0]);
    assert_eq!(CALLS.load(Ordering::Relaxed), 2 + 1 + 5);
    if cfg!(feature = "jit") {
        let text = x.explain_with(&options, true)?;
        assert!(text.contains("loops that call host functions are not compiled"), "{text}");
    }
    Ok(())
}
