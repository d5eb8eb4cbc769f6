//! Defects found by reviews and random programs. Each test has a line on the cause of the defect.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use broadloom::prelude::*;
use broadloom::{ErrorKind, Executor, Kernel, Options};

fn floats<'a>(n: usize) -> Array<'a> {
    Array::from_vec((0..n).map(|i| i as f32).collect::<Vec<_>>())
}

fn jit() -> Options {
    Options { executor: Executor::Jit, ..Options::default() }
}

/// Inputs were identified by their memory, so that the second of two inputs with the same memory
/// replaced the first.
#[test]
fn a_kernel_refuses_two_inputs_over_the_same_memory() {
    let a = floats(3);
    let b = a.clone();
    let error = Kernel::new(&[&(&a * 10 + &b)], &[&a, &b], &jit()).expect_err("ambiguous");
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.to_string().contains("same memory"), "{error}");
}

/// Each `rare` primitive had its own stack slot, so that stack frames grew with the body.
#[test]
fn long_bodies_fit_on_a_small_stack() {
    for dtype in [DType::Float32, DType::Float16] {
        let run = move || {
            let x = (floats(40) + 1).astype(dtype);
            let y = (0..1500).fold(x.clone(), |y, _| y.remainder(&x) + &x);
            let (jit, interp) =
                (y.eval_with(&jit()), y.eval_with(&Options { executor: Executor::Interp, ..jit() }));
            assert_eq!(jit.expect("runs").to_string(), interp.expect("runs").to_string());
        };
        let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(run).expect("a thread");
        thread.join().expect("no overflow");
    }
}

/// Dtypes were promoted pairwise from left to right, and int16 with uint16 is int32.
#[test]
fn the_order_of_three_operands_does_not_change_their_dtype() {
    with_promotion(Promotion::NumPy, || {
        let of = |dtype| floats(2).astype(dtype);
        let (a, b, c) = (of(DType::Int16), of(DType::UInt16), of(DType::Float16));
        for (x, lo, hi) in
            [(&a, &b, &c), (&a, &c, &b), (&b, &a, &c), (&b, &c, &a), (&c, &a, &b), (&c, &b, &a)]
        {
            assert_eq!(x.clip(lo, hi).dtype(), DType::Float32);
        }
    });
}

/// For every leaf, all views above it were visited, and finding the windows of a stencil took one
/// pass per level.
#[test]
fn views_in_long_chains_take_linear_time() {
    let start = Instant::now();
    let flipped = (0..20_000).fold(floats(8), |x, _| (x + 1).flip(0).expect("an axis"));
    assert_eq!(flipped.eval().expect("runs").len(), 8);
    let half = |x: &Array<'static>, from: isize| {
        let n = x.len() as isize - 1;
        x.slice([Range::from(from..from + n)]).expect("inside")
    };
    let sums = (0..2000).fold(floats(2100), |x, _| half(&x, 0).maximum(half(&x, 1)));
    assert_eq!(sums.eval().expect("runs").len(), 100);
    // With quadratic time, each expression took minutes.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// A thread's working memory has been freed by the time its thread-locals are destroyed.
#[test]
fn evaluating_in_the_destructor_of_a_thread_local() {
    struct Last(mpsc::Sender<String>);
    impl Drop for Last {
        fn drop(&mut self) {
            let sum = (floats(3) + 1).eval().map(|x| x.to_string());
            // Sending succeeds, because the receiver is waiting.
            let _ = self.0.send(sum.unwrap_or_else(|e| e.to_string()));
        }
    }
    thread_local!(static LAST: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) });
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        LAST.with(|last| *last.borrow_mut() = Some(Last(sender)));
        (floats(3) * 2).eval().expect("runs");
    });
    thread.join().expect("no abort");
    assert_eq!(receiver.recv().expect("sent"), "[1. 2. 3.]");
}

/// Only one of the functions that evaluate checked the limit.
#[test]
fn a_kernel_keeps_to_the_limit_of_bytes() {
    let a = floats(100);
    let options = Options { max_bytes: 10, ..jit() };
    let kernel = Kernel::new(&[&(&a + 1)], &[&a], &options).expect("planned");
    let (input, mut out) = (vec![0.0_f32; 100], vec![0.0_f32; 100]);
    let done = kernel.run(&[(&input[..]).into()], [(&mut out[..]).into()]);
    assert_eq!(done.expect_err("too much").kind(), ErrorKind::Limit);
}

/// Explaining an expression allocated memory of its full size.
#[test]
fn an_expression_larger_than_memory_is_explained() {
    let huge = Array::zeros(&[1 << 38], DType::Float64).expect("lazy") + 1;
    assert!(huge.explain().expect("explained").contains("kernel 0"));
}

/// The starts of slices without elements were added up, until the sum exceeded the range of an
/// offset.
#[test]
fn slices_without_elements_start_nowhere() {
    for first in [floats(0), floats(0) + 1] {
        let mut x = first;
        for _ in 0..20 {
            let wide = x.reshape(&[0, isize::MAX / 8]).expect("no elements");
            x = wide.slice((.., -1..)).expect("a range");
        }
        let done = x.eval().expect("runs");
        assert_eq!((done.shape(), done.len()), (&[0, 1][..], 0));
    }
}
