//! Kernels with dynamic dimensions. For all extents, strides, ranges of rows and overlaps, their results equal those of
//! evaluating the same arrays. Operands that don't match are rejected before anything is written.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use broadloom::prelude::*;
use broadloom::{
    Accuracy, Control, Dim, ErrorKind, In, Kernel, Options, Out, Progress, Range, Region, ViewMut,
};
use broadloom_testkit::Runner;
use broadloom_testkit::one_of;

/// An input of dims such as `n 3`.
fn input(name: &str, dtype: DType, dims: &str) -> Array<'static> {
    let dims: Vec<Dim> = dims.split_whitespace().map(Dim::from).collect();
    Array::input(name, dtype, &dims).expect("an input")
}

fn options(runner: Runner) -> Options {
    runner.options()
}

/// Numbers that don't repeat within a few thousand elements.
fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7919) % 4001) as f64 * 0.37 - 500.0).collect()
}

/// The expressions of these tests: two results of a matrix, a row and a scalar. They take two loops of different
/// shapes.
fn expressions<'a>(x: &Array<'a>, row: &Array<'a>, rate: &Array<'a>) -> [Array<'a>; 2] {
    let scaled = x * row.exp() + rate;
    [scaled.clone(), scaled.abs().sqrt() - x]
}

fn kernel(runner: Runner) -> Kernel {
    let x = input("x", DType::Float64, "n m");
    let (row, rate) = (input("row", DType::Float64, "m"), input("rate", DType::Float64, ""));
    let [a, b] = expressions(&x, &row, &rate);
    Kernel::named(&[("a", &a), ("b", &b)], &[&x, &row, &rate], &options(runner)).expect("a kernel")
}

/// The values of the expressions, evaluated without a kernel.
fn evaluated(x: &Array<'_>, row: &[f64], rate: f64) -> [Vec<f64>; 2] {
    let row = Array::from_slice(row).eval().expect("a row");
    let rate = Array::full(&[], rate).expect("a number");
    expressions(x, &row, &rate).map(|y| y.to_vec().expect("values"))
}

#[test]
fn one_kernel_serves_all_extents() -> Result<()> {
    for runner in Runner::all().chain([Runner::AUTO]) {
        let kernel = kernel(runner);
        for (n, m) in [(1, 1), (3, 5), (0, 4), (4, 0), (1, 67), (67, 1), (40, 33), (5, 3), (300, 200), (3, 5)]
        {
            let (data, row) = (numbers(n * m), numbers(m));
            let x = Array::from_shape_vec(&[n, m], data.clone())?;
            let (mut a, mut b) = (vec![9.0; n * m], vec![9.0; n * m]);
            kernel.run(
                &[In::shaped(&data, &[n, m]), (&row).into(), In::scalar(&0.25)],
                [(&mut a).into(), Out::shaped(&mut b, &[n, m])],
            )?;
            assert_eq!([a, b], evaluated(&x, &row, 0.25), "{n} × {m} {runner:?}");
        }
    }
    Ok(())
}

#[test]
fn strides_of_any_sort_in_and_out() -> Result<()> {
    let (n, m) = (23, 41);
    let data = numbers(2 * n * m);
    let row = numbers(m);
    for runner in Runner::all() {
        let kernel = kernel(runner);
        // Every second row; reversed columns; transposed; a single row that is repeated; reversed rows and columns.
        for (offset, strides) in [
            (0, [2 * m as isize, 1]),
            (m - 1, [m as isize, -1]),
            (0, [1, n as isize]),
            (7, [0, 1]),
            (n * m - 1, [-(m as isize), -1]),
        ] {
            let shape = [n, m];
            let x = In::view(&data, offset, &shape, &strides);
            let element = |i: usize, j: usize| {
                data[(offset as isize + i as isize * strides[0] + j as isize * strides[1]) as usize]
            };
            let gathered: Vec<f64> = (0..n * m).map(|i| element(i / m, i % m)).collect();
            let expected = evaluated(&Array::from_shape_vec(&[n, m], gathered)?, &row, -3.5);
            // One output is transposed and has gaps, and the other one is reversed.
            let (mut a, mut b) = (vec![7.0; 3 * n * m], vec![7.0; n * m]);
            let (to_a, to_b) = ([3, 3 * n as isize], [-(m as isize), -1]);
            kernel.run(
                &[x, (&row).into(), (&[-3.5]).into()],
                [Out::view(&mut a, 0, &[n, m], &to_a), Out::view(&mut b, n * m - 1, &[n, m], &to_b)],
            )?;
            for i in 0..n * m {
                assert_eq!(a[3 * (i % m * n + i / m)], expected[0][i], "{strides:?}");
                assert_eq!(b[n * m - 1 - i], expected[1][i], "{strides:?}");
            }
            assert!((0..3 * n * m).all(|i| i % 3 == 0 || a[i] == 7.0), "gaps stay as they are");
        }
    }
    Ok(())
}

#[test]
fn ranges_make_up_the_whole() -> Result<()> {
    let (n, m) = (50, 7);
    let (data, row) = (numbers(n * m), numbers(m));
    let backwards = [-(m as isize), -1];
    for runner in Runner::all() {
        let kernel = kernel(runner);
        for x in [In::shaped(&data, &[n, m]), In::view(&data, n * m - 1, &[n, m], &backwards)] {
            let inputs = [x, (&row).into(), In::scalar(&1.5)];
            let call = kernel.bind_like(&inputs)?;
            let (mut a, mut b) = (vec![0.0; n * m], vec![0.0; n * m]);
            call.run(&inputs, [(&mut a).into(), (&mut b).into()])?;
            for chunk in [1, 7, 13, 50] {
                let (mut c, mut d) = (vec![0.0; n * m], vec![0.0; n * m]);
                std::thread::scope(|threads| {
                    for (i, (c, d)) in c.chunks_mut(chunk * m).zip(d.chunks_mut(chunk * m)).enumerate() {
                        let (call, inputs) = (&call, &inputs);
                        threads.spawn(move || {
                            let rows = i * chunk..(i * chunk + c.len() / m);
                            call.run_range(rows, inputs, [c.into(), d.into()]).expect("a range");
                        });
                    }
                });
                assert_eq!((&c, &d), (&a, &b), "{chunk} rows {runner:?}");
            }
            call.run_range(20..20, &inputs, [(&mut [0.0; 0]).into(), (&mut [0.0; 0]).into()])?;
            let e = call.run_range(40..51, &inputs, [(&mut a).into(), (&mut b).into()]).unwrap_err();
            assert_eq!(e.to_string(), "kernel: there are no rows 40..51 in outputs of the shape [50,7]");
        }
    }
    let (x, y) = (input("x", DType::Float32, "n m"), input("y", DType::Float32, "m"));
    let turned = Kernel::new(&[&(x.t() + 1)], &[&x], &Options::default())?;
    let of_two = Kernel::new(&[&(&x + 1), &(&y + 1)], &[&x, &y], &Options::default())?;
    for (kernel, inputs) in [(turned, 1), (of_two, 2)] {
        let call = kernel.bind(&[("n", 2), ("m", 3)])?;
        let data = [1.0_f32; 6];
        let inputs: Vec<In<'_>> = [&data[..], &data[..3]][..inputs].iter().map(|x| (*x).into()).collect();
        assert!(call.run_range(0..1, &inputs, []).is_err_and(|e| e.kind() == ErrorKind::Shape));
    }
    Ok(())
}

/// `...` may represent no axes. The rows are then indices along the next axis.
#[test]
fn ranges_where_the_rest_is_nothing() -> Result<()> {
    let data: Vec<f64> = numbers(12);
    for (dims, shape) in [("... 1", &[1][..]), ("n", &[4]), ("1", &[1]), ("", &[])] {
        let (x, s) = (input("x", DType::Float64, "... n"), input("s", DType::Float64, dims));
        let kernel = Kernel::new(&[&(&x * &s)], &[&x, &s], &Options::default())?;
        let factors = &data[8..8 + shape.iter().product::<usize>()];
        let inputs = [In::shaped(&data[..4], &[4]), In::shaped(factors, shape)];
        let call = kernel.bind_like(&inputs)?;
        let (mut whole, mut parts) = ([0.0; 4], [0.0; 4]);
        call.run(&inputs, [(&mut whole).into()])?;
        let expected: Vec<f64> = (0..4).map(|i| data[i] * factors[i % factors.len()]).collect();
        assert_eq!(whole[..], expected[..], "{dims}");
        for (i, part) in parts.chunks_mut(2).enumerate() {
            call.run_range(2 * i..2 * i + 2, &inputs, [part.into()])?;
        }
        assert_eq!(parts, whole, "{dims}");
    }
    // If `...` represents several axes, the rows are indices along the first of them.
    let (x, s) = (input("x", DType::Float64, "... n"), input("s", DType::Float64, "... 1"));
    let kernel = Kernel::new(&[&(&x * &s)], &[&x, &s], &Options::default())?;
    let inputs = [In::shaped(&data, &[3, 2, 2]), In::shaped(&data[..6], &[3, 2, 1])];
    let call = kernel.bind_like(&inputs)?;
    let (mut whole, mut parts) = ([0.0; 12], [0.0; 12]);
    call.run(&inputs, [(&mut whole).into()])?;
    for (i, part) in parts.chunks_mut(4).enumerate() {
        call.run_range(i..i + 1, &inputs, [part.into()])?;
    }
    assert_eq!(parts, whole);
    Ok(())
}

/// Layouts that exceed every memory are rejected in every build, and so is a view whose elements have another size.
#[test]
fn wild_layouts_are_refused() -> Result<()> {
    let x = input("x", DType::Float64, "n");
    let kernel = Kernel::new(&[&(&x + 1)], &[&x], &Options::default())?;
    let data = [1.0_f64, 2.0, 3.0, 4.0];
    let mut out = [7.0_f64; 4];
    let far = isize::MAX;
    for (offset, shape, strides) in [
        (far as usize, &[2_usize][..], &[1_isize][..]),
        (usize::MAX, &[2], &[1]),
        (0, &[2], &[far]),
        (0, &[2], &[isize::MIN]),
        (1 << 61, &[2], &[1]),
        (0, &[2], &[(1 << 61) + 1]),
    ] {
        let e = kernel.run(&[In::view(&data, offset, shape, strides)], [(&mut out[..2]).into()]);
        assert_eq!(e.expect_err("outside").kind(), ErrorKind::Memory);
        let to = Out::view(&mut out, offset, shape, strides);
        let e = kernel.run(&[(&data[..2]).into()], [to]).expect_err("outside");
        assert_eq!(e.kind(), ErrorKind::Memory, "{offset} {strides:?}");
    }
    // The stride along an axis of extent 1 may have any value.
    kernel.run(&[In::view(&data, 3, &[1], &[far])], [(&mut out[..1]).into()])?;
    assert_eq!(out, [5.0, 7.0, 7.0, 7.0]);
    let mut narrow = [7.0_f32; 4];
    let e = kernel
        .run(&[(&data).into()], [Out::raw(DType::Float64, ViewMut::of_slice(&mut narrow))])
        .expect_err("4 bytes are no float64");
    assert_eq!((e.kind(), narrow), (ErrorKind::DType, [7.0; 4]));
    Ok(())
}

#[test]
fn an_input_with_any_leading_axes() -> Result<()> {
    let (x, v) = (input("x", DType::Int32, "... k"), input("v", DType::Int32, "k"));
    let kernel = Kernel::new(&[&(&x * &v)], &[&x, &v], &Options::default())?;
    let (data, v) = ([1, 2, 3, 4, 5, 6, 7, 8], [10, 100]);
    for shape in [&[2][..], &[4, 2], &[2, 2, 2], &[1, 2, 2, 2], &[0, 2]] {
        let elements = shape.iter().product();
        let mut out = vec![0; elements];
        kernel.run(&[In::shaped(&data[..elements], shape), (&v).into()], [Out::shaped(&mut out, shape)])?;
        let expected: Vec<i32> = (0..elements).map(|i| data[i] * v[i % 2]).collect();
        assert_eq!(out, expected, "{shape:?}");
    }
    let e = kernel.run(&[(&data).into(), (&v).into()], [(&mut [0; 8]).into()]).unwrap_err();
    assert_eq!(e.message(), "kernel: input 0 (`x`) the extent of `...` is not known");
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() {
    let kernel = kernel(Runner::AUTO);
    let (data, row, rate) = (vec![1.0; 6], vec![1.0; 3], [0.5]);
    let ok = || [In::shaped(&data, &[2, 3]), In::from(&row), In::from(&rate)];
    let fails = |inputs: &[In<'_>], n: usize, kind: ErrorKind, words: &str| {
        let (mut a, mut b) = (vec![7.0; n], vec![7.0; n]);
        let e = kernel.run(inputs, [(&mut a).into(), (&mut b).into()]).expect_err(words);
        assert_eq!((e.kind(), e.message()), (kind, words));
        assert!(a.iter().chain(&b).all(|x| *x == 7.0), "nothing is written");
    };
    fails(&ok()[..2], 6, ErrorKind::Arity, "kernel: it has 3 inputs, not 2");
    fails(&ok(), 5, ErrorKind::Shape, "kernel: output 0 has 5 elements, it was built for 6");
    let swap = |i: usize, x| {
        let mut inputs = ok();
        inputs[i] = x;
        inputs
    };
    let narrow = [1.0_f32; 3];
    fails(
        &swap(1, (&narrow).into()),
        6,
        ErrorKind::DType,
        "kernel: input 1 (`row`) is float32, it was built for float64",
    );
    fails(
        &swap(1, (&data).into()),
        6,
        ErrorKind::Shape,
        "kernel: input 1 (`row`) has 6 elements, which do not fill [m]",
    );
    fails(
        &swap(2, (&row).into()),
        6,
        ErrorKind::Shape,
        "kernel: input 2 (`rate`) has 3 elements, which do not fill []",
    );
    fails(
        &swap(1, In::shaped(&row, &[1])),
        6,
        ErrorKind::Shape,
        "kernel: input 1 (`row`) has the shape [1], but m (axis 0) is 3 already",
    );
    fails(
        &swap(0, In::shaped(&data, &[3, 3])),
        9,
        ErrorKind::Memory,
        "kernel: input 0 (`x`) reaches outside of its memory",
    );
    fails(
        &swap(0, In::view(&data, 4, &[2, 3], &[-3, 1])),
        6,
        ErrorKind::Memory,
        "kernel: input 0 (`x`) reaches outside of its memory",
    );
    fails(
        &swap(0, In::view(&data, 0, &[2, 3], &[1])),
        6,
        ErrorKind::Shape,
        "kernel: input 0 (`x`) has 1 strides for the shape [2,3]",
    );
    let mut b = vec![7.0; 6];
    let twice = Out::view(&mut b, 0, &[2, 3], &[0, 1]);
    let e = kernel.run(&ok(), [(&mut [0.0; 6]).into(), twice]).expect_err("one element twice");
    assert_eq!(e.kind(), ErrorKind::Memory);
    assert_eq!(b, [7.0; 6]);

    for (extents, words) in [
        (&[("n", 2)][..], "kernel: the extent of m is not known"),
        (&[("n", 2), ("m", 3), ("n", 3)], "kernel: n is given as 2 and as 3"),
        (&[("rows", 2)], "kernel: it has no extent `rows`"),
    ] {
        assert_eq!(kernel.bind(extents).expect_err(words).message(), words);
    }
    let x = input("x", DType::Float32, "n");
    for (e, kind) in [
        (x.eval().map(drop), ErrorKind::Memory),
        (x.reshape(&[1, -1]).map(drop), ErrorKind::Shape),
        (x.slice([Range::from(-5..3)]).map(drop), ErrorKind::Shape),
        (x.slice((1.., 1..)).map(drop), ErrorKind::Shape),
        (x.try_add(Array::from_vec(vec![1.0_f32, 2.0])).map(drop), ErrorKind::Shape),
        (Kernel::new(&[&(&x + 1)], &[], &Options::default()).map(drop), ErrorKind::Name),
        (Kernel::new(&[&x], &[&x, &x], &Options::default()).map(drop), ErrorKind::Name),
        (Kernel::named(&[("y", &x), ("y", &x)], &[&x], &Options::default()).map(drop), ErrorKind::Name),
        (
            Kernel::new(&[&x], &[&input("x", DType::Float32, "m")], &Options::default()).map(drop),
            ErrorKind::DType,
        ),
        (Array::input("2x", DType::Float32, &[]).map(drop), ErrorKind::Name),
    ] {
        assert_eq!(e.expect_err("not possible").kind(), kind);
    }
}

#[test]
fn a_misaligned_slice_of_bytes_is_refused() -> Result<()> {
    let x = input("x", DType::Float64, "n");
    let kernel = Kernel::new(&[&(&x + 1)], &[&x], &options(Runner::JIT))?;
    let data = [0.0_f64; 3];
    let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_ne_bytes()).chain([0; 8]).collect();
    let at = 8 - bytes.as_ptr().addr() % 8;
    for shift in 0..8 {
        let start = (at + shift) % 8;
        let result =
            kernel.run(&[In::bytes(DType::Float64, &bytes[start..start + 24])], [(&mut [0.0; 3]).into()]);
        match (bytes.as_ptr().addr() + start).is_multiple_of(8) {
            true => result?,
            false => {
                let why = result.expect_err("the slice is misaligned").to_string();
                assert!(why.contains("input 0 is not aligned to its elements of 8 bytes"), "{why}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_kernel_outlives_the_arrays_that_it_was_built_of() -> Result<()> {
    let kernel = {
        let local = vec![1.0_f32, 2.0];
        let x = Array::from_slice(&local);
        Kernel::new(&[&(&x * 3)], &[&x], &Options::default())?
    };
    let mut out = [0.0_f32; 2];
    kernel.run(&[(&[5.0_f32, 7.0]).into()], [(&mut out).into()])?;
    assert_eq!(out, [15.0, 21.0]);
    Ok(())
}

#[test]
fn progress_adds_up_and_cancelling_stops() -> Result<()> {
    let n = 1_000_003;
    let data = numbers(n);
    for threads in [Some(1), Some(2), None] {
        let x = input("x", DType::Float64, "n");
        let options = Options { threads, ..Options::default() };
        let kernel = Kernel::new(&[&(&x * 2 + 1)], &[&x], &options)?;
        let (mut out, mut plain) = (vec![0.0; n], vec![0.0; n]);
        let seen: Mutex<Vec<Progress>> = Mutex::default();
        let note = |progress| seen.lock().expect("not poisoned").push(progress);
        let control = Control { progress: Some(&note), ..Control::default() };
        kernel.run_with(&[(&data).into()], [(&mut out).into()], &control)?;
        kernel.run(&[(&data).into()], [(&mut plain).into()])?;
        assert_eq!(out, plain);
        let seen = seen.into_inner().expect("not poisoned");
        assert!(seen.len() >= 8, "{} chunks", seen.len());
        assert!(seen.iter().all(|p| p.total == n) && seen.iter().any(|p| p.done == n));

        // The run is cancelled when the first chunk is reported.
        let (stop, chunks) = (AtomicBool::new(false), AtomicUsize::new(0));
        let cancel = |_| {
            chunks.fetch_add(1, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        };
        let control = Control { cancel: Some(&stop), progress: Some(&cancel), ..Control::default() };
        let e = kernel.run_with(&[(&data).into()], [(&mut out).into()], &control).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Cancelled);
        assert!(chunks.into_inner() < seen.len(), "some chunk was left out");
    }
    Ok(())
}

/// With memory at pointers, outputs may overlap with inputs.
#[test]
fn overlaps_of_raw_memory() -> Result<()> {
    let n = 1000_usize;
    let shape = [n];
    let x = input("x", DType::Float64, "n");
    // The second kernel has two outputs, one of which reads both inputs.
    let one = Kernel::new(&[&(&x * 2 + 1)], &[&x], &Options::default())?;
    let y = input("y", DType::Float64, "n");
    let two = Kernel::new(&[&(&x + 1), &(&x * &y)], &[&x, &y], &Options::default())?;
    let start = numbers(3 * n);
    for shift in [0_usize, 1, 17, n] {
        let mut memory = start.clone();
        let base = memory.as_mut_ptr();
        let expected: Vec<f64> = start[..n].iter().map(|x| x * 2.0 + 1.0).collect();
        // SAFETY: the region and the view are within `memory`, which is not used otherwise during the run.
        unsafe {
            let read = Region::from_raw(base.cast(), 8 * n);
            let write = ViewMut::from_raw(base.add(shift).cast(), 8, &[n], &[8]).expect("a view");
            one.run(&[In::raw(DType::Float64, read, 0, &[n], &[1])], [Out::raw(DType::Float64, write)])?;
        }
        assert_eq!(memory[shift..shift + n], expected[..], "shifted by {shift}");
    }
    // The first output is the second input, or is shifted from it by one element.
    for shift in [0_usize, 1] {
        let mut memory = start.clone();
        let base = memory.as_mut_ptr();
        let product: Vec<f64> = (0..n).map(|i| start[i] * start[n + i]).collect();
        // SAFETY: the regions and the views are within `memory`, which is not used otherwise during the run.
        unsafe {
            let read = |from: usize| Region::from_raw(base.add(from).cast(), 8 * n);
            let view = |from: usize| ViewMut::from_raw(base.add(from).cast(), 8, &[n], &[8]).expect("a view");
            let inputs = [0, n].map(|from| In::raw(DType::Float64, read(from), 0, &shape, &[1]));
            two.run(&inputs, [Out::raw(DType::Float64, view(n + shift)), Out::raw(DType::Float64, view(0))])?;
        }
        assert_eq!(memory[..n], product[..]);
        let sums: Vec<f64> = start[..n].iter().map(|x| x + 1.0).collect();
        assert_eq!(memory[n + shift..2 * n + shift], sums[..]);
        let mut memory = start.clone();
        let base = memory.as_mut_ptr();
        // SAFETY: the regions and the views are within `memory`, which is not used otherwise during the run.
        let e = unsafe {
            let read = |from: usize| Region::from_raw(base.add(from).cast(), 8 * n);
            let view = |from: usize| ViewMut::from_raw(base.add(from).cast(), 8, &[n], &[8]).expect("a view");
            let inputs = [0, n].map(|from| In::raw(DType::Float64, read(from), 0, &shape, &[1]));
            two.run(
                &inputs,
                [Out::raw(DType::Float64, view(2 * n)), Out::raw(DType::Float64, view(n + 1 + shift))],
            )
        };
        assert_eq!(e.unwrap_err().message(), "kernel: outputs 0 and 1 overlap");
        assert_eq!(memory, start);
    }
    Ok(())
}

/// Each output is in the memory of an input of the other output. Whichever is computed first must not be stored before
/// the other has been computed.
#[test]
fn a_loop_that_writes_what_a_later_one_reads() -> Result<()> {
    let (x, v) = (input("x", DType::Float64, "n m"), input("v", DType::Float64, "m"));
    let kernel = Kernel::new(&[&(&v * 3), &(&x * &v)], &[&x, &v], &Options::default())?;
    let (n, m) = (40_usize, 50_usize);
    let start = numbers(n * m + m);
    let expected: (Vec<f64>, Vec<f64>) = (
        start[n * m..].iter().map(|v| v * 3.0).collect(),
        (0..n * m).map(|i| start[i] * start[n * m + i % m]).collect(),
    );
    let (table, row, steps) = ([n, m], [m], [m as isize, 1]);
    for swapped in [false, true] {
        let mut memory = start.clone();
        let base = memory.as_mut_ptr();
        // SAFETY: the regions and the views are within `memory`, which is not used otherwise during the run.
        unsafe {
            let whole = Region::from_raw(base.cast(), 8 * n * m);
            let last = Region::from_raw(base.add(n * m).cast(), 8 * m);
            let inputs = [
                In::raw(DType::Float64, whole, 0, &table, &steps),
                In::raw(DType::Float64, last, 0, &row, &[1]),
            ];
            let (at_row, at_table) = if swapped { (0, m) } else { (n * m, 0) };
            let to_row = ViewMut::from_raw(base.add(at_row).cast(), 8, &row, &[8]).expect("a view");
            let strides = [8 * m as isize, 8];
            let to_table = ViewMut::from_raw(base.add(at_table).cast(), 8, &table, &strides).expect("a view");
            kernel.run(&inputs, [Out::raw(DType::Float64, to_row), Out::raw(DType::Float64, to_table)])?;
            let (at_row, at_table) = (at_row..at_row + m, at_table..at_table + n * m);
            assert_eq!((&memory[at_row], &memory[at_table]), (&expected.0[..], &expected.1[..]), "{swapped}");
        }
    }
    Ok(())
}

#[test]
fn ids_are_of_the_content() -> Result<()> {
    let build = |dims: &str, factor: f32, options: &Options| {
        let x = input("x", DType::Float32, dims);
        Kernel::new(&[&(&x * factor + 1)], &[&x], options).map(|kernel| kernel.id())
    };
    let plain = Options::default();
    let id = build("n", 2.0, &plain)?;
    assert_eq!(id, build("n", 2.0, &plain)?);
    assert_eq!(id.to_string().len(), 64);
    let one_thread = Options { threads: Some(1), ..Options::default() };
    for other in [build("m", 2.0, &plain)?, build("n", 3.0, &plain)?, build("n", 2.0, &one_thread)?] {
        assert_ne!(id, other);
    }
    // Options that change the results are part of the identity.
    let nearest = Options { accuracy: Accuracy::Nearest, ..Options::default() };
    let contracted = Options { contract: true, ..Options::default() };
    let meanings = [id, build("n", 2.0, &nearest)?, build("n", 2.0, &contracted)?];
    assert!(meanings[0] != meanings[1] && meanings[0] != meanings[2] && meanings[1] != meanings[2]);
    // A whole input and its first element are different operands.
    let [a, b] = [1.0_f32, 2.0].map(|x| Array::from_vec(vec![x; 3]));
    let sum = |x: &Array<'static>| Kernel::new(&[&(x + &b)], &[&a, &b], &plain).map(|kernel| kernel.id());
    assert_ne!(sum(&a)?, sum(&a.index_axis(0, 0)?)?);
    // Kernels built earlier in this process have no effect on the id, but the names of inputs and outputs have.
    let (unrelated, x) = (input("z", DType::Float32, "n"), input("x", DType::Float32, "n"));
    let _ = Kernel::new(&[&(&unrelated + 1)], &[&unrelated], &plain)?;
    let y = &x * 2.0_f32 + 1;
    assert_eq!(Kernel::new(&[&y], &[&x], &plain)?.id(), id);
    assert_ne!(Kernel::named(&[("y", &y)], &[&x], &plain)?.id(), id);
    Ok(())
}

/// Ten thousand different kernels that exist at once, each with its own machine code.
#[test]
fn many_kernels_live_at_once() -> Result<()> {
    let kernels = 10_000 / one_of(5);
    let x = input("x", DType::Float32, "n");
    let mut calls = Vec::new();
    for i in 0..kernels {
        let mut y = x.clone();
        for bit in 0..14 {
            y = if i >> bit & 1 == 1 { y + 1 } else { y * -1 };
        }
        let call = Kernel::new(&[&y], &[&x], &options(Runner::JIT))?.bind(&[("n", 5)])?;
        call.compile()?;
        calls.push(call);
    }
    for (i, call) in calls.iter().enumerate() {
        let mut out = [0.0_f32; 5];
        call.run(&[(&[1.0_f32, 2.0, 3.0, 4.0, 5.0]).into()], [(&mut out).into()])?;
        let of = |x: f32| (0..14).fold(x, |y, bit| if i >> bit & 1 == 1 { y + 1.0 } else { -y });
        assert_eq!(out, [1.0, 2.0, 3.0, 4.0, 5.0].map(of));
    }
    Ok(())
}
