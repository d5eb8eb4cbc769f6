//! Generated arrays: ranges, diagonals and indices. Their elements are computed where they are read, with the bits of
//! their formulas, on every executor and through every view, and take no memory.

use broadloom::prelude::*;
use broadloom::{Chunks, Dim, ErrorKind, Executor, Kernel, Options, text};
use broadloom_testkit::Runner;

fn on(runner: Runner, x: &Array<'_>) -> Array<'static> {
    x.eval_with(&runner.options()).expect("values")
}

/// Lengths that end within vectors, within tiles and within units of work.
const LENGTHS: [usize; 10] = [0, 1, 2, 7, 64, 1000, 1025, 4099, 16_385, 100_003];

#[test]
fn ranges_are_their_formulas_on_every_executor() -> Result<()> {
    for runner in Runner::all().chain([Runner::AUTO]) {
        for n in LENGTHS {
            let of = |i: usize| i as f64;
            let stop = |start: f64, step: f64| start + step * (n as f64 - 0.5);
            for (start, step) in [(0.0, 1.0), (0.1, 0.1), (-3.0, 0.75), (1e15, -0.3), (0.0, -1.0)] {
                let x = Array::arange(start, stop(start, step), step)?;
                let wanted: Vec<u64> = (0..n).map(|i| (start + of(i) * step).to_bits()).collect();
                let got: Vec<u64> = on(runner, &x).to_vec::<f64>()?.iter().map(|x| x.to_bits()).collect();
                assert_eq!(got, wanted, "{runner:?} {n} {start} {step}");
            }
            // The elements are computed in float64 and rounded once.
            let x = Array::arange(0.1_f32, stop(0.1_f32.into(), 0.3_f32.into()) as f32, 0.3)?;
            let wanted = |i| (f64::from(0.1_f32) + of(i) * f64::from(0.3_f32)) as f32;
            assert_eq!(on(runner, &x).to_vec::<f32>()?, (0..x.len()).map(wanted).collect::<Vec<f32>>());

            let wanted: Vec<i64> = (0..n as i64).map(|i| 5 - 3 * i).collect();
            let x = Array::arange(5, 5 - 3 * n as i64, -3)?;
            assert_eq!(on(runner, &x).to_vec::<i64>()?, wanted, "{runner:?} {n}");

            let x = Array::linspace(0.1, 0.7, n)?;
            let step = (0.7 - 0.1) / (n as f64 - 1.0);
            let wanted =
                |i| if i + 1 == n && n > 1 { 0.7 } else { 0.1 + if n > 1 { of(i) * step } else { 0.0 } };
            assert_eq!(
                on(runner, &x).to_vec::<f64>()?,
                (0..n).map(wanted).collect::<Vec<f64>>(),
                "{runner:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn the_first_of_a_falling_range_is_positive_zero() -> Result<()> {
    assert_eq!(Array::arange(0.0, -3.0, -1.0)?.signbit().to_vec::<bool>()?, [false, true, true]);
    assert_eq!(Array::arange(-0.0, 2.0, 1.0)?.signbit().to_vec::<bool>()?, [false, false]);
    assert_eq!(Array::linspace(0.0, -1.0, 2)?.signbit().to_vec::<bool>()?, [false, true]);
    Ok(())
}

#[test]
fn diagonals_and_indices() -> Result<()> {
    for runner in Runner::all() {
        for (rows, cols) in [(1, 1), (3, 3), (2, 5), (5, 2), (0, 3), (3, 0), (40, 70), (300, 3)] {
            for k in [0, 1, -1, 2, -4, 100, isize::MAX, isize::MIN] {
                let x = Array::eye(rows, cols, k, DType::Int16)?;
                assert_eq!((x.dtype(), x.shape()), (DType::Int16, &[rows, cols][..]));
                let at = |i: usize| (i % cols) as i128 == (i / cols) as i128 + k as i128;
                let wanted: Vec<i16> = (0..rows * cols).map(|i| at(i).into()).collect();
                assert_eq!(on(runner, &x).to_vec::<i16>()?, wanted, "{runner:?} {rows} {cols} {k}");
            }
            let shape = [rows, 4, cols];
            let whole = Array::zeros(&shape, DType::Int64)?;
            for axis in 0..3 {
                let x = whole.indices(axis as isize - 3)?;
                assert_eq!(x.shape(), shape);
                let inner: usize = shape[axis + 1..].iter().product();
                let wanted = (0..rows * 4 * cols).map(|i| (i / inner % shape[axis]) as i64);
                let got = on(runner, &x).to_vec::<i64>()?;
                assert_eq!(got, wanted.collect::<Vec<i64>>(), "{shape:?} {axis}");
            }
        }
    }
    assert_eq!(Array::eye(2, 2, 0, DType::Bool)?.to_vec::<bool>()?, [true, false, false, true]);
    let wrong = Array::eye(2, 2, 0, DType::Bool)?.indices(2).map(drop).unwrap_err();
    assert_eq!(wrong.to_string(), "indices: axis 2 is out of range for [2,2], which has rank 2");
    assert_eq!(Array::scalar(1).indices(0).map(drop).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(Array::eye(1 << 40, 1 << 40, 0, DType::Int8).map(drop).unwrap_err().kind(), ErrorKind::Limit);
    Ok(())
}

/// Expressions of two ranges. They have the same values whether the arrays are lazy or in memory.
fn seen_in_every_way<'a>(x: &Array<'a>, y: &Array<'a>) -> Result<Vec<(&'static str, Array<'a>)>> {
    let table = x.reshape(&[40, -1])?;
    Ok(vec![
        ("itself", x.clone()),
        ("reversed", x.flip(0)?),
        ("every third", x.slice(Range::from(1..).step(3))?),
        ("every third from the end", x.slice(Range::new(Some(-2), None, -3))?),
        ("a part", x.slice(Range::new(Some(7), Some(-5), 1))? * 2),
        ("one element", x.index_axis(0, 17)? + y),
        ("none", x.slice(5..5)? + 1),
        ("with its reverse", x + x.flip(0)?),
        ("with another", x * 2 - y),
        ("with memory", x.astype(DType::Float64) * Array::from_vec(vec![0.25; x.len()])),
        ("neighbours", x.slice(1..)? - x.slice(..-1)?),
        ("a table", table.clone()),
        ("a transposed table", table.t() + 1),
        ("a table and its reverse", &table + table.flip(1)?.flip(0)?),
        ("rows", &table + y.slice(..table.shape()[1] as isize)?),
        ("columns", &table * y.slice(..40)?.expand_dims(1)?),
        ("a grid", x.slice(..90)?.expand_dims(1)? * y.slice(..110)?),
        ("short rows", x.slice(..600)?.expand_dims(1)? * y.slice(..3)?),
        ("short columns", x.slice(..3)?.expand_dims(1)? * y.slice(..600)?),
        ("three axes", x.slice(..5)?.reshape(&[5, 1, 1])? + y.slice(..4)?.reshape(&[4, 1])? + y.slice(..3)?),
        ("a cube turned", x.slice(..24 * 11)?.reshape(&[4, 6, 11])?.permute_dims(&[2, 0, 1])? + 1),
        ("reshaped after turning", table.t().reshape(&[-1])? + y),
        ("broadcast", x.slice(..7)?.broadcast_to(&[3, 2, 7])? + 1),
        ("chosen", where_(x.greater(500), x, y)),
    ])
}

#[test]
fn views_of_ranges_are_those_of_the_same_numbers_in_memory() -> Result<()> {
    let n = 40 * 53;
    let (x, y) = (Array::arange(0_i64, n, 1)?, Array::arange(2 * n, n, -1)?);
    let floats = |x: &Array<'static>| x.astype(DType::Float64) * 0.5;
    let spaced = Array::linspace(9.0, -4.0, n as usize)?;
    let lazy = [(x.clone(), y.clone()), (floats(&x), floats(&y)), (floats(&x), spaced)];
    for (x, y) in &lazy {
        assert!(!x.is_evaluated());
        let (stored_x, stored_y) = (x.eval()?, y.eval()?);
        let pairs = seen_in_every_way(x, y)?.into_iter().zip(seen_in_every_way(&stored_x, &stored_y)?);
        for ((what, lazy), (_, stored)) in pairs {
            let wanted = stored.astype(DType::Float64).to_vec::<f64>()?;
            for runner in Runner::all().chain([Runner::AUTO]) {
                let got = on(runner, &lazy);
                assert_eq!((got.dtype(), got.shape()), (stored.dtype(), stored.shape()), "{what}");
                assert_eq!(got.astype(DType::Float64).to_vec::<f64>()?, wanted, "{what}, {runner:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn ranges_take_no_memory() -> Result<()> {
    // Each result takes 24 bytes. The arrays that it depends on would take terabytes and more.
    for executor in [Executor::Interp, Executor::Jit] {
        let options = Options { executor, max_bytes: 24, ..Options::default() };
        let far = |x: Array<'_>| -> Result<Vec<f64>> { x.slice(-3..)?.eval_with(&options)?.to_vec::<f64>() };
        let x = Array::arange(1.0, 1e12, 1.0)?;
        let last = 999_999_999_999_f64;
        assert_eq!(far(1 / (&x * &x))?, [2.0, 1.0, 0.0].map(|i| 1.0 / ((last - i) * (last - i))));
        assert_eq!(far(Array::linspace(0.0, 1.0, 1 << 50)?)?[2], 1.0);
        let eye = Array::eye(1 << 30, 1 << 29, -(1 << 29), DType::Float64)?;
        assert_eq!(far(eye.index_axis(0, -1)?)?, [0.0, 0.0, 1.0]);
        let row = eye.indices(0)?.astype(DType::Float64);
        assert_eq!(far(row.t().index_axis(0, 5)?)?, [3.0, 2.0, 1.0].map(|i| (1 << 30) as f64 - i));
    }
    // The longest possible range: its last element would end at the last address if elements of eight bytes were
    // stored.
    let most = isize::MAX / 8;
    let all = Array::arange(0_i64, most as i64, 1)?;
    assert_eq!(all.slice(-2..)?.to_vec::<i64>()?, [most as i64 - 2, most as i64 - 1]);
    assert_eq!(all.flip(0)?.slice(..2)?.to_vec::<i64>()?, [most as i64 - 1, most as i64 - 2]);
    assert_eq!(Array::arange(0_i64, most as i64 + 1, 1).map(drop).unwrap_err().kind(), ErrorKind::Limit);
    Ok(())
}

#[test]
fn kernels_generate_what_their_inputs_do_not_have() -> Result<()> {
    for runner in Runner::all() {
        // A range of fixed extent is combined with dynamic dimensions, and is also the only operand of a result.
        let x = Array::input("x", DType::Float64, &["n".into(), 5.into()])?;
        let ramp = Array::arange(0.0, 2.5, 0.5)?;
        let kernel = Kernel::new(&[&(&x * &ramp), &ramp.flip(0)?], &[&x], &runner.options())?;
        for n in [1, 2, 67, 1000] {
            let data: Vec<f64> = (0..n * 5).map(|i| i as f64 - 3.0).collect();
            let (mut scaled, mut falling) = (vec![0.0; n * 5], [0.0; 5]);
            kernel.run(&[(&data[..]).into()], [(&mut scaled).into(), (&mut falling).into()])?;
            let wanted: Vec<f64> = data.iter().enumerate().map(|(i, x)| x * ((i % 5) as f64 * 0.5)).collect();
            assert_eq!((scaled, falling), (wanted, [2.0, 1.5, 1.0, 0.5, 0.0]), "{runner:?} {n}");
        }
        // A kernel whose operands are all generated has no inputs.
        let squares = Array::arange(0_i32, 9, 1)?;
        let kernel = Kernel::new(&[&(&squares * &squares)], &[], &runner.options())?;
        let mut out = [0; 9];
        kernel.run(&[], [(&mut out).into()])?;
        assert_eq!(out, [0, 1, 4, 9, 16, 25, 36, 49, 64]);
    }
    Ok(())
}

/// With dynamic dimensions, `indices` counts along the axes of the array on which the kernel runs.
#[test]
fn indices_along_dynamic_dimensions() -> Result<()> {
    for runner in Runner::all() {
        let x = Array::input("x", DType::Float32, &["n".into(), "m".into()])?;
        let (row, col) = (x.indices(0)?, x.indices(-1)?);
        let triangle = where_(col.less_equal(&row), &x, 0);
        let places = [x.argmax(1)?, x.argmin(0)?, x.argmax(())?];
        let roots = [&triangle, &places[0], &places[1], &places[2]];
        let kernel = Kernel::new(&roots, &[&x], &runner.options())?;
        for (n, m) in [(1, 1), (3, 5), (40, 2), (2, 40), (33, 100), (70, 65)] {
            let data: Vec<f32> = (0..n * m).map(|i| ((i * 7919) % 10007) as f32).collect();
            let mut lower = vec![0.0_f32; n * m];
            let (mut most, mut least, mut of_all) = (vec![0_i64; n], vec![0_i64; m], [0_i64]);
            let bound = kernel.bind(&[("n", n), ("m", m)])?;
            bound.run(
                &[(&data).into()],
                [(&mut lower).into(), (&mut most).into(), (&mut least).into(), (&mut of_all).into()],
            )?;
            let wanted = |i: usize| if i % m <= i / m { data[i] } else { 0.0 };
            assert_eq!(lower, (0..n * m).map(wanted).collect::<Vec<f32>>(), "{runner:?} {n} {m}");
            let extreme = |of: &mut dyn Iterator<Item = usize>, sign: f32| {
                of.map(|i| (sign * data[i]) as i64)
                    .enumerate()
                    .max_by_key(|&(i, x)| (x, -(i as i64)))
                    .map_or(0, |x| x.0 as i64)
            };
            let rows: Vec<i64> = (0..n).map(|i| extreme(&mut (i * m..i * m + m), 1.0)).collect();
            let cols: Vec<i64> = (0..m).map(|j| extreme(&mut (j..n * m).step_by(m), -1.0)).collect();
            assert_eq!((most, least), (rows, cols), "{runner:?} {n} {m}");
            assert_eq!(of_all, [extreme(&mut (0..n * m), 1.0)], "{runner:?} {n} {m}");
        }
    }
    let open = Array::input("x", DType::Float32, &[Dim::Rest])?;
    let wrong = open.indices(0).map(drop).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "indices: the rank of float32[...] is open; name its dimensions instead of `...`"
    );
    Ok(())
}

#[test]
fn reductions_of_ranges_store_nothing() -> Result<()> {
    // The limit is smaller than any temporary of this many elements.
    let n = 3_000_001_i64;
    for runner in Runner::all() {
        let options = Options { max_bytes: 64, ..runner.options() };
        let numbers = Array::arange(1, n, 1)?;
        let sums = [
            numbers.sum(())?,
            (&numbers * &numbers).sum(())?,
            numbers.flip(0)?.max(())?,
            numbers.argmin(())?,
        ];
        let last = n - 1;
        let squares = i128::from(last) * i128::from(n) * i128::from(2 * n - 1) / 6;
        let wanted = [last * n / 2, squares as i64, last, 0];
        for (sum, wanted) in sums.iter().zip(wanted) {
            assert_eq!(sum.eval_with(&options)?.item::<i64>()?, wanted, "{runner:?}");
        }
        let x = Array::arange(1.0, n as f64, 1.0)?;
        let series = (1 / (&x * &x)).sum(())?.eval_with(&options)?.item::<f64>()?;
        let stored = Array::from_vec((1..n).map(|i| 1.0 / (i * i) as f64).collect::<Vec<f64>>());
        assert_eq!(series.to_bits(), stored.sum(())?.item::<f64>()?.to_bits(), "{runner:?}");
    }
    Ok(())
}

/// A range that is combined with another operand is counted in row-major order, whatever the order of that operand in
/// memory.
#[test]
fn ranges_do_not_follow_the_memory_of_other_operands() -> Result<()> {
    let x = Array::input("x", DType::Int64, &[3.into(), 4.into()])?;
    let numbers = Array::arange(0_i64, 12, 1)?.reshape(&[3, 4])?;
    let kernel = Kernel::new(&[&(&x + &numbers)], &[&x], &Options::default())?;
    let turned: Vec<i64> = (0..12).map(|i| 100 * (i % 3 * 4 + i / 3)).collect();
    let memory = Array::from_shape_slice(&[4, 3], &turned)?.t();
    assert_eq!((memory + numbers).to_vec::<i64>()?, (0..12).map(|i| 101 * i).collect::<Vec<i64>>());
    let mut out = [0_i64; 12];
    let contiguous: Vec<i64> = (0..12).map(|i| 100 * i).collect();
    kernel.run(&[(&contiguous[..]).into()], [(&mut out).into()])?;
    assert_eq!(out.to_vec(), (0..12).map(|i| 101 * i).collect::<Vec<i64>>());
    Ok(())
}

#[test]
fn chunks_of_ranges_are_parts_of_the_whole() -> Result<()> {
    let (x, y) = (Array::arange(0_i64, 2120, 1)?, Array::arange(2120, 0, -1)?);
    for (what, whole) in seen_in_every_way(&x, &y)? {
        let whole = whole.astype(DType::Float64);
        let wanted = whole.to_vec::<f64>()?;
        for max_bytes in [20_000, 3000] {
            let options = Options { max_bytes, ..Options::default() };
            // A reshape of a transpose needs all elements at once.
            let Ok(chunks) = Chunks::new(&[&whole], &[], &options) else {
                assert!(what.starts_with("reshaped"), "{what}");
                continue;
            };
            let mut got = vec![f64::NAN; wanted.len()];
            for chunk in chunks.iter() {
                let chunk = chunk?;
                let ranges: Vec<Range> = chunk.ranges().iter().cloned().map(Range::from).collect();
                let places = Array::arange(0_i64, whole.len() as i64, 1)?;
                let shape: Vec<isize> = whole.shape().iter().map(|&extent| extent as isize).collect();
                let places = places.reshape(&shape)?.slice(ranges)?.to_vec::<i64>()?;
                let values = chunk.results(&[])?[0].eval_with(&options)?.to_vec::<f64>()?;
                places.iter().zip(values).for_each(|(&place, value)| got[place as usize] = value);
            }
            assert_eq!(got, wanted, "{what}");
        }
    }
    Ok(())
}

#[test]
fn explanations_and_texts_name_them() -> Result<()> {
    let x = Array::arange(1_i64, 100, 1)?.astype(DType::Float64).sqrt();
    let explained = x.explain()?;
    assert!(explained.contains("reads generated numbers, contiguous"), "{explained}");
    assert!(explained.contains("n0: int64[99] = arange(99)"), "{explained}");
    let steps = Array::arange(0_i64, 100, 1)?.slice(Range::from(3..).step(7))? + 1;
    let explained = steps.explain()?;
    assert!(explained.contains("= arange(3, 101, 7)"), "{explained}");
    let printed = text::print(&[("y", &x)])?;
    assert!(printed.starts_with("t0: int64[99] = arange(99)\n"), "{printed}");
    Ok(())
}
