//! Reductions and scans have the reference's bits on every executor, vector width and number of threads, for every layout.

use broadloom::prelude::*;
use broadloom::{Chunks, Dim, In, Kernel, Out, Over, ViewMut, functions};
use broadloom_testkit::random::{Rng, Tensor};
use broadloom_testkit::reduction::exact::{bound, error_of_sum};
use broadloom_testkit::reduction::{Cumulative, Function, Reduction};
use broadloom_testkit::{Runner, elements};

const THREADS: [usize; 4] = [1, 2, 3, 7];

/// Evaluates an array in every way, checks that the bits are the same, and returns them.
fn bits_in_every_way(x: &Array<'_>, what: &str) -> Vec<u64> {
    let mut all: Option<Vec<u64>> = None;
    for runner in Runner::all() {
        for threads in THREADS {
            let options = Options { threads: Some(threads), ..runner.options() };
            let got = x.eval_with(&options).and_then(|x| elements::bits(&x));
            let got = got.unwrap_or_else(|error| panic!("{what}, {runner:?}, {threads} threads: {error}"));
            let first = all.get_or_insert_with(|| got.clone());
            let difference = elements::difference(x.dtype(), &got, first);
            assert_eq!(difference, None, "{what}: {runner:?}, {threads} threads");
        }
    }
    all.unwrap_or_default()
}

/// The elements of an array, as an input of the reference.
fn tensor(x: &Array<'_>) -> Tensor {
    let bits = elements::bits(x).expect("the elements of an input");
    Tensor { dtype: x.dtype(), shape: x.shape().to_vec(), bits }
}

/// A float32 or a float64 of random sign. The magnitudes differ by at most `powers` powers of two.
fn float(rng: &mut Rng, powers: usize) -> f64 {
    let sign = if rng.chance(1, 2) { -1.0 } else { 1.0 };
    sign * ((rng.next() >> 11) as f64) * 2f64.powi(rng.below(powers) as i32 - 53)
}

/// Checks sums, products and other reductions along these axes of an array that may be a view.
fn check(x: &Array<'_>, axes: Option<&[isize]>, what: &str) {
    let of = tensor(x);
    let over = || axes.map_or_else(Over::all, Over::axes);
    for (function, got) in [
        (Function::Sum, x.sum(over())),
        (Function::Prod, x.prod(over())),
        (Function::Max, x.max(over())),
        (Function::Mean, x.mean(over())),
        (Function::Var, x.var(over(), 0.0)),
        (Function::VectorNorm, x.vector_norm(over(), 2.0)),
        (Function::CountNonzero, x.count_nonzero(over())),
    ] {
        let reduction = Reduction { axes: axes.map(<[isize]>::to_vec), ..Reduction::all(function) };
        let want = reduction.run(&of, Promotion::Strict).unwrap_or_else(|why| panic!("{what}: {why}"));
        let got = got.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((got.dtype(), got.shape()), (want.dtype, &want.shape[..]), "{what}");
        let what = format!("{} of {what}", function.name());
        let difference = elements::difference(want.dtype, &bits_in_every_way(&got, &what), &want.bits);
        assert_eq!(difference, None, "{what}");
    }
}

/// The published bits of the sum of 10^6 doubles.
#[test]
fn the_golden_value() {
    const GOLDEN: u64 = 0x4061_8f71_f637_9380;
    let mut s = 0x243F_6A88_85A3_08D3_u64;
    let mut next = || {
        s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((s >> 11) as f64 - 2f64.powi(52)) / 2f64.powi(52)
    };
    let x: Vec<f64> = (0..1_000_000).map(|_| next()).collect();
    let row = Array::from_vec(x.clone());
    let sum = |x: &Array<'static>| x.sum(()).expect("floats");
    assert_eq!(bits_in_every_way(&sum(&row), "in a row"), [GOLDEN]);
    // The order of summation is that of the indices, whatever the order in memory is.
    let backwards = Array::from_vec(x.iter().rev().copied().collect());
    assert_eq!(bits_in_every_way(&sum(&backwards.flip(0).expect("an axis")), "backwards"), [GOLDEN]);
    let (rows, columns) = (1000, 1000);
    let turned: Vec<f64> = (0..x.len()).map(|i| x[i % rows * columns + i / rows]).collect();
    let turned = Array::from_shape_vec(&[columns, rows], turned).expect("it fits");
    let transposed = turned.permute_dims(&[1, 0]).expect("two axes");
    assert_eq!(bits_in_every_way(&sum(&transposed), "transposed"), [GOLDEN]);
    // A sum along an outer axis, with other columns beside it.
    let columns: Vec<f64> = x.iter().flat_map(|&x| [x, -x, 0.0]).collect();
    let columns = Array::from_shape_vec(&[x.len(), 3], columns).expect("it fits");
    let sums = columns.sum(0).expect("floats");
    assert_eq!(bits_in_every_way(&sums, "beside others"), [GOLDEN, GOLDEN | 1 << 63, 0]);
    // The elements are computed during the reduction; each is exact.
    let doubled = (&row * 2.0).sum(()).expect("floats");
    assert_eq!(bits_in_every_way(&doubled, "of products"), [GOLDEN + (1 << 52)]);
}

/// Added one by one in float32, 2^26 times 0.1 would stop growing at 2^21.
#[test]
fn equal_numbers_do_not_drown() {
    for power in [20, 26] {
        let n = 1_usize << power;
        let x = Array::scalar(0.1_f32).astype(DType::Float32).broadcast_to(&[n]).expect("a longer shape");
        // Each partial sum adds two equal floats, and is exact.
        let want = 0.1_f32 * n as f32;
        let sum = x.sum(()).expect("floats");
        assert_eq!(bits_in_every_way(&sum, "equal numbers"), [u64::from(want.to_bits())]);
    }
    let x = vec![0.1_f32; (1 << 22) + 17];
    let want = Reduction::all(Function::Sum).run(&tensor(&Array::from_slice(&x)), Promotion::Strict);
    let sum = Array::from_vec(x).sum(()).expect("floats");
    assert_eq!(bits_in_every_way(&sum, "equal numbers in memory"), want.expect("types").bits);
}

#[test]
fn the_error_of_ill_conditioned_sums_is_within_the_bound() {
    let mut rng = Rng::new(29);
    for n in [1_usize, 16, 17, 1000, 4096, 100_003] {
        let mut x: Vec<f64> = Vec::new();
        while x.len() < n {
            let large = float(&mut rng, 60);
            x.extend([large, -large, float(&mut rng, 1) * 2f64.powi(-30)]);
        }
        let order = rng.permutation(n);
        let doubles: Vec<f64> = order.into_iter().map(|i| x[i]).collect();
        let singles: Vec<f32> = doubles.iter().map(|&x| x as f32).collect();
        let sum = Array::from_slice(&doubles).sum(()).expect("floats");
        let sum = f64::from_bits(bits_in_every_way(&sum, "float64")[0]);
        let error = error_of_sum(&doubles, sum, 53);
        assert!(error <= bound(n), "{n}: {error}");
        let sum = Array::from_slice(&singles).sum(()).expect("floats");
        let sum = f32::from_bits(bits_in_every_way(&sum, "float32")[0] as u32);
        let exact: Vec<f64> = singles.iter().map(|&x| x.into()).collect();
        let error = error_of_sum(&exact, sum.into(), 24);
        assert!(error <= bound(n), "{n}: {error}");
    }
}

/// Lengths at and next to the ends of rows of lanes, leaves, tiles and blocks.
#[test]
fn every_length() {
    let mut rng = Rng::new(31);
    let lengths = (0..70).chain([127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 20_011]);
    for n in lengths {
        let x: Vec<f32> = (0..n).map(|_| float(&mut rng, 30) as f32).collect();
        let x = Array::from_vec(x);
        for (name, sum) in [("sum", x.sum(())), ("product", x.prod(()))] {
            let function = if name == "sum" { Function::Sum } else { Function::Prod };
            let want = Reduction::all(function).run(&tensor(&x), Promotion::Strict).expect("types");
            let got = bits_in_every_way(&sum.expect("floats"), &format!("{name} of {n}"));
            assert_eq!(got, want.bits, "{name} of {n}");
        }
    }
}

#[test]
fn views() {
    let mut rng = Rng::new(37);
    let mut array = |shape: &[usize]| {
        let elements = (0..shape.iter().product()).map(|_| float(&mut rng, 8)).collect();
        Array::<'static>::from_shape_vec(shape, elements).expect("it fits")
    };
    let view = "a view that fits";
    let x = array(&[37, 41, 3]);
    for axes in [None, Some(&[0][..]), Some(&[1]), Some(&[2]), Some(&[0, 2]), Some(&[-2, 0]), Some(&[])] {
        check(&x, axes, &format!("contiguous {axes:?}"));
        check(&x.permute_dims(&[2, 1, 0]).expect(view), axes, &format!("transposed {axes:?}"));
        check(&x.permute_dims(&[1, 0, 2]).expect(view), axes, &format!("half transposed {axes:?}"));
        check(&x.flip(1).and_then(|x| x.flip(0)).expect(view), axes, &format!("reversed {axes:?}"));
        let every = x.slice([Range::new(Some(1), None, 3), Range::new(None, None, -2)]).expect(view);
        check(&every, axes, &format!("strided {axes:?}"));
        let repeated = array(&[1, 41, 1]).broadcast_to(&[37, 41, 3]).expect(view);
        check(&repeated, axes, &format!("of zero strides {axes:?}"));
    }
    check(&array(&[]), None, "rank 0");
    check(&array(&[1]).broadcast_to(&[5000]).expect(view), None, "one element, again and again");
    check(&array(&[5, 4000]), Some(&[1]), "few long rows");
    check(&array(&[4000, 5]), Some(&[0]), "few long columns");
    check(&array(&[4000, 5]), Some(&[1]), "many short rows");
    let mut shape = vec![1; 64];
    (shape[0], shape[20], shape[63]) = (5, 7, 11);
    let deep = array(&shape);
    let turned = deep.permute_dims(&(0..64).rev().collect::<Vec<isize>>()).expect(view);
    for axes in [None, Some(&[0][..]), Some(&[63]), Some(&[-1, 20, 1, 2]), Some(&[43, 0])] {
        check(&deep, axes, &format!("rank 64 {axes:?}"));
        check(&turned, axes, &format!("rank 64, transposed {axes:?}"));
    }
}

/// Reductions of no elements, and reductions without results.
#[test]
fn nothing() {
    let x = Array::from_shape_vec(&[3, 0, 2], Vec::<f32>::new()).expect("it fits");
    for (axes, shape) in [(vec![1], vec![3, 2]), (vec![0, 1], vec![2]), (vec![0], vec![0, 2])] {
        let n: usize = shape.iter().product();
        let sums = x.sum(&axes[..]).expect("floats");
        assert_eq!((sums.shape(), bits_in_every_way(&sums, "sum of nothing")), (&shape[..], vec![0; n]));
        let products = x.prod(&axes[..]).expect("floats");
        assert_eq!(bits_in_every_way(&products, "product of nothing"), vec![0x3f80_0000; n]);
        let means = x.mean(&axes[..]).expect("floats");
        assert_eq!(bits_in_every_way(&means, "mean of nothing"), vec![0x7fc0_0000; n]);
        assert_eq!(x.max(&axes[..]).is_ok(), n == 0, "{axes:?}");
    }
}

#[test]
fn scans() {
    let mut rng = Rng::new(41);
    for shape in [&[1_usize][..], &[0], &[300], &[5000], &[3, 700], &[700, 3], &[2, 65, 4]] {
        let elements = (0..shape.iter().product()).map(|_| float(&mut rng, 12)).collect::<Vec<f64>>();
        let x = Array::from_shape_vec(shape, elements).expect("it fits");
        for axis in 0..shape.len() as isize {
            for (view, x) in [("as it is", x.clone()), ("reversed", x.flip(axis).expect("an axis"))] {
                for include_initial in [false, true] {
                    let of = |is_product| Cumulative {
                        is_product,
                        axis: Some(axis),
                        dtype: None,
                        include_initial,
                    };
                    let what = format!("{shape:?}, axis {axis}, {view}, {include_initial}");
                    let want = of(false).run(&tensor(&x), Promotion::Strict).expect("types");
                    let got = x.cumulative_sum(Some(axis), None, include_initial).expect("floats");
                    assert_eq!(
                        elements::difference(want.dtype, &bits_in_every_way(&got, &what), &want.bits),
                        None,
                        "{what}"
                    );
                    let want = of(true).run(&tensor(&x), Promotion::Strict).expect("types");
                    let got = x.cumulative_prod(Some(axis), None, include_initial).expect("floats");
                    assert_eq!(
                        elements::difference(want.dtype, &bits_in_every_way(&got, &what), &want.bits),
                        None,
                        "{what}"
                    );
                }
            }
        }
    }
}

/// One kernel for all extents, including those of reduced axes.
#[test]
fn kernels_of_open_extents() -> Result<()> {
    let mut rng = Rng::new(47);
    let x = Array::input("x", DType::Float64, &[Dim::from("n"), Dim::from("m")])?;
    let roots = [x.sum(1)?, x.mean(Over::axis(0).keep_dims())?, x.var((), 1.0)?];
    let references = [
        Reduction::along(Function::Sum, &[1]),
        Reduction { keepdims: true, ..Reduction::along(Function::Mean, &[0]) },
        Reduction { correction: 1.0, ..Reduction::all(Function::Var) },
    ];
    for runner in Runner::all() {
        let kernel = Kernel::new(&roots.each_ref(), &[&x], &runner.options())?;
        for (n, m) in [(1, 1), (3, 5), (0, 4), (4, 0), (1, 67), (300, 20), (20, 300), (3, 5)] {
            let data: Vec<f64> = (0..n * m).map(|_| float(&mut rng, 9)).collect();
            let (mut sums, mut means, mut variance) = (vec![9.0_f64; n], vec![9.0; m], [9.0]);
            let (rows, columns) = ([n], [1, m]);
            let outputs = [
                Out::shaped(&mut sums, &rows),
                Out::shaped(&mut means, &columns),
                Out::shaped(&mut variance, &[]),
            ];
            kernel.run(&[In::shaped(&data, &[n, m])], outputs)?;
            let of = tensor(&Array::from_shape_vec(&[n, m], data.clone())?);
            for (got, reference) in [&sums[..], &means, &variance].into_iter().zip(&references) {
                let got: Vec<u64> = got.iter().map(|x: &f64| x.to_bits()).collect();
                let want = reference.run(&of, Promotion::Strict).expect("types");
                let what = format!("{n} × {m}, {runner:?}, {}", reference.function.name());
                assert_eq!(elements::difference(want.dtype, &got, &want.bits), None, "{what}");
            }
        }
    }
    Ok(())
}

/// The variance is NaN if the correction is the number of elements. The elements differ, so a division by zero would give infinity.
#[test]
fn a_variance_without_degrees_of_freedom_is_nan() -> Result<()> {
    let x = Array::from_shape_vec(&[3], vec![1.0, f64::NAN, 2.0])?;
    for (correction, variance) in [(0.0, 0.25), (1.0, 0.5), (2.0, f64::NAN), (3.0, f64::NAN)] {
        assert_eq!(tensor(&x.nanvar((), correction)?).bits, [variance.to_bits()], "correction {correction}");
    }
    Ok(())
}

/// Each result can be computed in a chunk of its own.
/// Sums are stored in every layout of their memory, and bytes between the results stay as they are.
#[test]
fn results_are_stored_in_any_layout() -> Result<()> {
    let x = Array::from_vec((0..4 * 300).map(f64::from).collect()).reshape(&[4, 300])?;
    let want: Vec<f64> = (0..4).map(|row| f64::from(300 * (300 * row) + 299 * 150)).collect();
    for runner in Runner::all() {
        for sum in [x.sum(1)?, x.sum(1)? * 1 + 0] {
            let mut memory = [-1.0; 9];
            let out = ViewMut::new(broadloom_mem::bytes_of_mut(&mut memory), 8, 7 * 8, &[4], &[-16]);
            let out = out.expect("the view is inside of the memory");
            Evaluation::with(&runner.options()).eval_into_view(&sum, out)?;
            let [a, b, c, d] = want[..] else { unreachable!() };
            assert_eq!(memory, [-1.0, d, -1.0, c, -1.0, b, -1.0, a, -1.0], "{runner:?}");
        }
    }
    Ok(())
}

/// A tile of a transposed input has parts of several results, which are reduced separately. Elements are stored as well.
#[test]
fn rows_of_a_tile_belong_to_several_results() -> Result<()> {
    let (results, count) = (20, 3000);
    let data: Vec<f64> = (0..results * count).map(|i| f64::from((i * 37) % 1009)).collect();
    let x =
        Array::from_vec(data.clone()).reshape(&[count as isize, results as isize])?.permute_dims(&[1, 0])?;
    let elements = &x * 2 + 1;
    let sums = elements.sum(1)?;
    let of = |result: i32, number: i32| data[(number * results + result) as usize] * 2.0 + 1.0;
    for runner in Runner::all() {
        for threads in THREADS {
            let options = Options { threads: Some(threads), ..runner.options() };
            let both = Evaluation::with(&options).eval_many(&[&elements, &sums])?;
            // The numbers are small integers, so that every order of additions gives the exact sum.
            for result in 0..results {
                let want: f64 = (0..count).map(|number| of(result, number)).sum();
                assert_eq!(
                    both[1].index_axis(0, result as isize)?.item::<f64>()?,
                    want,
                    "{runner:?} {threads}"
                );
            }
            let stored = both[0].to_vec::<f64>()?;
            let want = (0..results).flat_map(|result| (0..count).map(move |number| (result, number)));
            assert!(stored.iter().zip(want).all(|(x, (result, number))| *x == of(result, number)));
        }
    }
    Ok(())
}

#[test]
fn chunks_have_the_bits_of_the_whole() {
    let mut rng = Rng::new(43);
    let elements = (0..60 * 333).map(|_| float(&mut rng, 12)).collect::<Vec<f64>>();
    let x = Array::from_shape_vec(&[60, 333], elements).expect("it fits");
    for (name, y) in [
        ("rows", x.sum(1)),
        ("columns", x.sum(0)),
        ("all", x.mean(())),
        ("scan", x.cumulative_sum(Some(0), None, false)),
        ("rows, then all", x.var(1, 1.0).and_then(|x| x.sum(()))),
    ] {
        let y = y.expect("floats");
        let whole = bits_in_every_way(&y, name);
        for max_bytes in [64, 1000, 100_000, 10_000_000] {
            let options = Options { max_bytes, ..Options::default() };
            let chunks = match Chunks::new(&[&y], &[], &options) {
                Err(error) if error.is_limit() => continue,
                chunks => chunks.unwrap_or_else(|error| panic!("{name}: {error}")),
            };
            let options = Options { max_bytes: usize::MAX, ..options };
            let mut bits = Vec::new();
            for chunk in chunks.iter() {
                for part in chunk.and_then(|chunk| chunk.results(&[])).expect("a chunk") {
                    bits.extend(
                        part.eval_with(&options).and_then(|x| elements::bits(&x)).expect("evaluates"),
                    );
                }
            }
            assert_eq!(bits, whole, "{name}, {max_bytes} bytes");
        }
    }
}

/// Typical expressions: stages that share rows, and several reductions of one array.
#[test]
fn expressions_have_the_references_bits() {
    let x = Array::from_shape_vec(&[6, 40], vec![0.5_f32; 240]).expect("it fits");
    let y = Array::from_vec(vec![2.0_f32; 40]);
    let rows = || Over::axis(-1).keep_dims();
    let softmax = {
        let e = (&x - x.max(rows()).expect("floats")).exp();
        &e / e.sum(rows()).expect("floats")
    };
    let standard = {
        let (mean, deviation) = (x.mean(rows()).expect("floats"), x.std(rows(), 0.0).expect("floats"));
        (&x - mean) / deviation
    };
    let unit = &x / x.vector_norm(rows(), 2.0).expect("floats");
    let several = [x.sum(()), (&x * &x).sum(()), x.max(()), (&x - &y).square().sum(())];
    let several: Vec<Array<'static>> = several.into_iter().map(|x| x.expect("floats")).collect();
    let dot = x.vecdot(&y, -1).expect("floats");
    let masked = functions::try_where(x.greater(&y), &x, 0.0).and_then(|x| x.sum(0)).expect("floats");
    let scan = x.cumulative_sum(Some(1), None, false).expect("floats").max(0).expect("floats");
    let search = x.argmax(1).expect("floats");
    let mut arrays = vec![&softmax, &standard, &unit, &dot, &masked, &scan, &search];
    arrays.extend(&several);
    let summary = broadloom_testkit::check(&arrays, 0..60).unwrap_or_else(|finding| panic!("{finding}"));
    assert_eq!(summary.programs, 60);
}

/// The final progress report counts all elements, however few chunks there are.
#[test]
fn progress_counts_every_element() -> Result<()> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    for shape in [[4, 10], [300, 70], [3, 90_000]] {
        let x = Array::full(&shape, 1.5_f32)?.eval()? + 1;
        let (done, total) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let progress = |progress: broadloom::Progress| {
            done.fetch_max(progress.done, Ordering::Relaxed);
            total.store(progress.total, Ordering::Relaxed);
        };
        let control = broadloom::Control { progress: Some(&progress), ..broadloom::Control::default() };
        Evaluation::default().control(&control).eval(&x.sum(-1)?)?;
        let elements: usize = shape.iter().product();
        assert_eq!((done.into_inner(), total.into_inner()), (elements, elements), "{shape:?}");
    }
    Ok(())
}
