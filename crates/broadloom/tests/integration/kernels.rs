//! Kernels over the caller's slices: direct calls of machine code have the same results as the interpreter.

use broadloom::prelude::*;
use broadloom::{Element, ErrorKind, In, IntDivision, Kernel, Options, Out, ViewMut};
use broadloom_math::Elem;
use broadloom_mem::bytes_of;
use broadloom_testkit::Runner;

type BuildPair = fn(&Array<'static>, &Array<'static>) -> Array<'static>;

/// The number of elements before and after an output, which must not change.
const MARGIN: usize = 9;

/// A kernel for inputs of these lengths, on one thread.
fn kernel<T: Element + Elem<Store = T>>(f: BuildPair, runner: Runner, (x, y): (&[T], &[T])) -> Kernel {
    let [a, b] = [x, y].map(|data| Array::from_vec(data.to_vec()));
    let options = Options { threads: Some(1), ..runner.options() };
    Kernel::new(&[&f(&a, &b)], &[&a, &b], &options).expect("a kernel")
}

/// Runs a kernel of two inputs three times, so that later runs use what the first run has cached.
fn run<T: Element + Elem<Store = T> + PartialEq + std::fmt::Debug>(
    f: BuildPair,
    runner: Runner,
    (x, y): (&[T], &[T]),
    sentinel: T,
) -> Vec<T> {
    let kernel = kernel(f, runner, (x, y));
    let elements: usize = kernel.bind(&[]).expect("no extent is open").output_shapes().flatten().product();
    let mut out = vec![sentinel; MARGIN + elements + MARGIN];
    for _ in 0..3 {
        out.fill(sentinel);
        let (inputs, inner) = ([x.into(), y.into()], &mut out[MARGIN..MARGIN + elements]);
        kernel.run(&inputs, [inner.into()]).expect("runs");
    }
    let (before, rest) = out.split_at(MARGIN);
    let (inner, after) = rest.split_at(elements);
    assert!(before.iter().chain(after).all(|x| *x == sentinel), "{runner:?} wrote outside: {out:?}");
    inner.to_vec()
}

/// Runs a kernel with raw inputs and a raw output, which could overlap as far as the kernel knows. The inputs
/// begin at an offset in their regions.
fn run_raw<T: Element + Elem<Store = T> + PartialEq + std::fmt::Debug>(
    f: BuildPair,
    runner: Runner,
    (x, y): (&[T], &[T]),
    sentinel: T,
) -> Vec<T> {
    let kernel = kernel(f, runner, (x, y));
    let placed = [x, y].map(|data| [&[sentinel; MARGIN][..], data].concat());
    let extents = [[x.len()], [y.len()]];
    let input = |i: usize| In::raw(T::DTYPE, bytes_of(&placed[i]).into(), MARGIN, &extents[i], &[1]);
    let mut out = vec![sentinel; MARGIN + x.len() + MARGIN];
    for _ in 0..3 {
        out.fill(sentinel);
        let view = ViewMut::of_slice(&mut out[MARGIN..MARGIN + x.len()]);
        kernel.run(&[input(0), input(1)], [Out::raw(T::DTYPE, view)]).expect("runs");
    }
    let around = out[..MARGIN].iter().chain(&out[MARGIN + x.len()..]);
    assert!(around.copied().all(|x| x == sentinel), "{runner:?} wrote outside: {out:?}");
    out[MARGIN..MARGIN + x.len()].to_vec()
}

/// Tests every length up to more than a block of any dtype. The second input has as many elements as the first,
/// or one.
fn agrees<T: Element + Elem<Store = T> + PartialEq + std::fmt::Debug>(
    f: BuildPair,
    value: fn(usize) -> T,
    sentinel: T,
) {
    for n in (0..70).chain([127, 128, 129, 191, 200]) {
        let x: Vec<T> = (0..n).map(value).collect();
        for m in [n, 1] {
            let y: Vec<T> = (0..m).map(|i| value(i * 7 + 3)).collect();
            let interpreted = run(f, Runner::INTERP, (&x, &y), sentinel);
            for runner in Runner::all().skip(1).chain([Runner::AUTO]) {
                let got = run(f, runner, (&x, &y), sentinel);
                assert_eq!(got, interpreted, "{n} elements and {m}, {runner:?}");
                let raw = run_raw(f, runner, (&x, &y), sentinel);
                assert_eq!(raw, interpreted, "{n} elements and {m} at pointers, {runner:?}");
            }
        }
    }
}

#[test]
fn every_short_length() {
    agrees::<f32>(|a, b| a * b + a, |i| i as f32 * 0.37 - 5.0, 1e30);
    agrees::<f64>(|a, b| (a - b) / 3, |i| i as f64 * 0.37 - 5.0, 1e30);
    agrees::<i8>(|a, b| a * 3 - b, |i| (i * 11) as u8 as i8, 0x55);
    agrees::<u16>(|a, b| a.bitwise_xor(b) + 1, |i| (i * 999) as u16, 0x5555);
    agrees::<i64>(|a, b| a.floor_divide(b + 1), |i| i as i64 * 123_456_789 - 999, 0x5555);
    // A kernel with several dtypes: blocks of elements of 8 bytes and of 1 byte.
    agrees::<u8>(
        |a, b| where_((a.astype(DType::Float64) * 0.3).greater(b.astype(DType::Float64)), a, b + 1),
        |i| (i * 37) as u8,
        0x55,
    );
}

/// A function with a slow path, which must not run for padded lanes.
#[test]
fn lanes_beyond_the_end_do_nothing() {
    agrees::<f32>(|a, b| a.remainder(b), |i| if i % 5 == 0 { 1e30 } else { i as f32 + 0.5 }, 1e31);
}

/// A zero divisor is detected in every lane and tail, but padded lanes are not reported.
#[test]
fn zero_divisors_are_met_at_any_length() {
    for runner in Runner::all().chain([Runner::AUTO]) {
        for n in 1..40usize {
            let divisors: Vec<i32> = (1..=n as i32).collect();
            let sevens = vec![7i32; n];
            let (a, b) = (Array::from_vec(divisors.clone()), Array::from_vec(sevens.clone()));
            let options = Options { int_division: IntDivision::Error, ..runner.options() };
            let kernel = Kernel::new(&[&b.remainder(&a)], &[&a, &b], &options).expect("a kernel");
            let mut out = vec![0i32; n];
            for round in 0..2 {
                kernel
                    .run(&[(&divisors[..]).into(), (&sevens[..]).into()], [(&mut out[..]).into()])
                    .expect("no zero");
                for zero in 0..n {
                    let mut divisors = divisors.clone();
                    divisors[zero] = 0;
                    let met =
                        kernel.run(&[(&divisors[..]).into(), (&sevens[..]).into()], [(&mut out[..]).into()]);
                    let kind = met.map_err(|e| e.kind());
                    assert_eq!(kind, Err(ErrorKind::ZeroDivision), "{runner:?} {n} {zero}, round {round}");
                }
            }
        }
    }
}

/// An expression that reads parts of its inputs.
#[test]
fn parts_of_inputs() {
    let f: BuildPair = |a, b| {
        let part = |x: &Array<'static>, from: isize| x.slice([Range::from(from..from + 20)]).expect("inside");
        part(a, 3) * 2 + part(b, 11)
    };
    let (x, y): (Vec<f64>, Vec<f64>) = (0..40).map(|i| (f64::from(i), f64::from(i * i))).unzip();
    let wanted: Vec<f64> = (0..20).map(|i| x[i + 3] * 2.0 + y[i + 11]).collect();
    for runner in Runner::all() {
        assert_eq!(run(f, runner, (&x, &y), -1.0), wanted, "{runner:?}");
    }
}

/// Operands that don't match are rejected before anything is written, by the first call and by later calls.
#[test]
fn slices_that_do_not_fit_are_refused() {
    let [a, b] = [1.0f32, 2.0].map(|x| Array::from_vec(vec![x; 4]));
    let options = Runner::JIT.options();
    let kernel = Kernel::new(&[&(&a + &b)], &[&a, &b], &options).expect("a kernel");
    let (x, short, wide) = ([1.0f32; 4], [1.0f32; 3], [1.0f64; 4]);
    for _ in 0..3 {
        let mut out = [9.0f32; 4];
        let mut refused = |inputs: &[In<'_>], kind: ErrorKind, says: &str| {
            let error = kernel.run(inputs, [(&mut out).into()]).expect_err("does not fit");
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(says), "{error}");
        };
        refused(&[(&x).into()], ErrorKind::Arity, "it has 2 inputs, not 1");
        refused(&[(&x).into(), (&short).into()], ErrorKind::Shape, "input 1 has 3 elements");
        refused(&[(&wide).into(), (&x).into()], ErrorKind::DType, "input 0 is float64");
        assert_eq!(out, [9.0; 4]);
        let inputs = [(&x).into(), (&x).into()];
        let (mut less, mut other) = ([9.0f32; 3], [9i32; 4]);
        let kind = |done: broadloom::Result<()>| done.map_err(|e| e.kind());
        assert_eq!(kind(kernel.run(&inputs, [(&mut less).into()])), Err(ErrorKind::Shape));
        assert_eq!(kind(kernel.run(&inputs, [(&mut other).into()])), Err(ErrorKind::DType));
        assert_eq!(kind(kernel.run(&inputs, Vec::<Out<'_>>::new())), Err(ErrorKind::Arity));
        let two = [Out::from(&mut out), Out::from(&mut less)];
        assert_eq!(kind(kernel.run(&inputs, two)), Err(ErrorKind::Arity));
        kernel.run(&inputs, [(&mut out).into()]).expect("fits");
        assert_eq!(out, [2.0; 4]);
    }
}
