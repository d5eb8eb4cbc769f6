//! Measures the overhead of a kernel: the time to parse it from a text, to bind it, and to call it.
//!
//! `cargo bench --bench kernels`.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use broadloom::prelude::*;
use broadloom::{Control, Executor, In, Kernel, Options};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

/// A text with ten operators. The digits of `number` select the operators, so that different numbers give
/// different kernels.
fn text(number: usize) -> String {
    let mut y = String::from("x");
    for digit in 0..10 {
        let operator = ["+", "*", "-", "/"][number >> (2 * digit) & 3];
        y = format!("({y} {operator} {})", ["a", "b"][digit & 1]);
    }
    format!("x: float32[n]; a: float32[n]; b: float32; return {y}")
}

fn kernels(c: &mut Criterion) {
    let jit = Options { executor: Executor::Jit, ..Options::default() };
    let next = AtomicUsize::new(1);
    let other_text = || text(next.fetch_add(1, Ordering::Relaxed).wrapping_mul(2_654_435_761) & 0xf_ffff);

    // The compiler has been used before, so its caches are warm.
    let mut from_text = c.benchmark_group("10 operators, never seen");
    let (x, mut out) = (vec![1.0_f32; 100], vec![0.0_f32; 100]);
    from_text.bench_function("text to kernel", |b| {
        b.iter_batched(other_text, |text| Kernel::parse(&text, &jit), BatchSize::SmallInput);
    });
    from_text.bench_function("text to a first run of machine code", |b| {
        b.iter_batched(
            other_text,
            |text| {
                let kernel = Kernel::parse(&text, &jit).map_err(Error::from)?;
                kernel.run(&[(&x).into(), (&x).into(), In::scalar(&2.0_f32)], [(&mut out).into()])
            },
            BatchSize::SmallInput,
        );
    });
    from_text.finish();

    let mut runs = c.benchmark_group("a * b + c, float32, 10 elements");
    let kernel =
        Kernel::parse("a: float32[n]; b: float32[n]; c: float32[n]; a * b + c", &jit).expect("a kernel");
    let call = kernel.bind(&[("n", 10)]).expect("bound");
    let (x, mut out) = (vec![1.5_f32; 4096], vec![0.0_f32; 4096]);
    runs.bench_function("Call::run", |b| {
        let x = &x[..10];
        b.iter(|| call.run(black_box(&[x.into(), x.into(), x.into()]), [(&mut out[..10]).into()]));
    });
    runs.bench_function("Kernel::run, extents as before", |b| {
        let x = &x[..10];
        b.iter(|| kernel.run(black_box(&[x.into(), x.into(), x.into()]), [(&mut out[..10]).into()]));
    });
    runs.bench_function("Kernel::run, other extents each time", |b| {
        let mut n = 0;
        b.iter(|| {
            n = n % 4096 + 1;
            let x = &x[..n];
            kernel.run(black_box(&[x.into(), x.into(), x.into()]), [(&mut out[..n]).into()])
        });
    });
    runs.bench_function("Call::run_range of 10 rows", |b| {
        let call = kernel.bind(&[("n", 4096)]).expect("bound");
        b.iter(|| {
            let inputs = [(&x).into(), (&x).into(), (&x).into()];
            call.run_range(70..80, black_box(&inputs), [(&mut out[..10]).into()])
        });
    });
    let stop = AtomicBool::new(false);
    let control = Control { cancel: Some(&stop), ..Control::default() };
    runs.bench_function("Call::run_with a flag", |b| {
        let x = &x[..10];
        b.iter(|| {
            call.run_with(black_box(&[x.into(), x.into(), x.into()]), [(&mut out[..10]).into()], &control)
        });
    });
    runs.finish();
}

criterion_group!(benches, kernels);
criterion_main!(benches);
