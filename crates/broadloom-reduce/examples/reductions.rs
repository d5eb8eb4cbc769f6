//! Compares the speed of reductions with that of plain loops over the same memory, in alternating runs:
//! `cargo run --release -p broadloom-reduce --example reductions [filter]`. Each line shows the time of a call, and its
//! ratio to the time of the plain loop.

use std::hint::black_box;
use std::time::Duration;

use broadloom_ir::{DType, Reduction, Scan};
use broadloom_mem::{bytes_of, bytes_of_mut};
use broadloom_reduce::{Partial, ScanState, reduce_each, reduce_rows};
use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

#[allow(dead_code)]
#[path = "../../broadloom-bench/src/clock.rs"]
mod clock;

use clock::Contender;

/// A sum that uses eight vectors as accumulators, so that it takes as long as reading the memory.
struct Unrolled<'a, T>(&'a [T]);

macro_rules! unrolled {
    ($($t:ident $split:ident $add:ident $splat:ident $sum:ident;)*) => {$(
        impl WithSimd for Unrolled<'_, $t> {
            type Output = $t;

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) -> $t {
                let (vectors, rest) = S::$split(self.0);
                let mut sums = [simd.$splat(0.0); 8];
                let (eights, more) = vectors.as_chunks::<8>();
                for eight in eights {
                    for i in 0..8 {
                        sums[i] = simd.$add(sums[i], eight[i]);
                    }
                }
                for (i, v) in more.iter().enumerate() {
                    sums[i] = simd.$add(sums[i], *v);
                }
                for step in [4, 2, 1] {
                    for i in 0..step {
                        sums[i] = simd.$add(sums[i], sums[i + step]);
                    }
                }
                simd.$sum(sums[0]) + rest.iter().sum::<$t>()
            }
        }
    )*};
}
unrolled! {
    f32 as_simd_f32s add_f32s splat_f32s reduce_sum_f32s;
    f64 as_simd_f64s add_f64s splat_f64s reduce_sum_f64s;
}

/// Adds the rows of a matrix, four at a time.
struct AddRows<'a>(&'a [f32], &'a mut [f32]);

impl NullaryFnOnce for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (from, out) = (self.0, self.1);
        let n = out.len();
        out.fill(0.0);
        for rows in from.chunks(4 * n) {
            if rows.len() == 4 * n {
                for j in 0..n {
                    out[j] += (rows[j] + rows[n + j]) + (rows[2 * n + j] + rows[3 * n + j]);
                }
            } else {
                for row in rows.chunks(n) {
                    for j in 0..n {
                        out[j] += row[j];
                    }
                }
            }
        }
    }
}

/// The sums of three contiguous elements each.
struct Threes<'a>(&'a [f32], &'a mut [f32]);

impl NullaryFnOnce for Threes<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (out, [a, b, c]) in self.1.iter_mut().zip(self.0.as_chunks::<3>().0) {
            *out = a + b + c;
        }
    }
}

/// A running sum.
fn running(from: &[f32], out: &mut [f32]) {
    let mut sum = 0.0;
    for (out, x) in out.iter_mut().zip(from) {
        sum += x;
        *out = sum;
    }
}

/// Times a plain loop and the reduction compared with it.
fn compare(name: &str, mut plain: impl FnMut(), mut ours: impl FnMut()) {
    if std::env::args().nth(1).is_some_and(|filter| !name.contains(&filter)) {
        return;
    }
    let contenders: &mut [Contender<'_>] =
        &mut [Box::new(|n| (0..n).for_each(|_| plain())), Box::new(|n| (0..n).for_each(|_| ours()))];
    let times = clock::in_turns(contenders, Duration::from_millis(400));
    println!("{name:44} {:12.1} ns, plain {:12.1} ns, {:.3}", times[1], times[0], times[1] / times[0]);
}

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1000) as f32 - 300.0).collect()
}

fn main() {
    let arch = Arch::new();
    let partial = |reduction, dtype, width| Partial::new(reduction, dtype, width, 0).expect("it is taken");
    for n in [10, 100, 1000, 10_000, 100_000, 10_000_000] {
        let (x, y) = (numbers(n), numbers(n).into_iter().map(f64::from).collect::<Vec<_>>());
        let (mut out, mut wide) = ([0.0_f32], [0.0_f64]);
        let mut sum = partial(Reduction::Sum, DType::Float32, 1);
        compare(
            &format!("sum float32 [{n}]"),
            || _ = black_box(arch.dispatch(Unrolled(black_box(&x)))),
            || {
                sum.push(bytes_of(black_box(&x)));
                sum.finish(bytes_of_mut(black_box(&mut out)));
            },
        );
        let mut sum = partial(Reduction::Sum, DType::Float64, 1);
        compare(
            &format!("sum float64 [{n}]"),
            || _ = black_box(arch.dispatch(Unrolled(black_box(&y)))),
            || {
                sum.push(bytes_of(black_box(&y)));
                sum.finish(bytes_of_mut(black_box(&mut wide)));
            },
        );
        compare(
            &format!("sum float32 [{n}] at once"),
            || _ = black_box(arch.dispatch(Unrolled(black_box(&x)))),
            || {
                let out = bytes_of_mut(black_box(&mut out));
                reduce_each(Reduction::Sum, DType::Float32, n, bytes_of(black_box(&x)), out).expect("taken");
            },
        );
        for reduction in [Reduction::Max, Reduction::Min] {
            let mut most = partial(reduction, DType::Float32, 1);
            compare(
                &format!("{reduction} float32 [{n}]"),
                || _ = black_box(arch.dispatch(Unrolled(black_box(&x)))),
                || {
                    most.push(bytes_of(black_box(&x)));
                    most.finish(bytes_of_mut(black_box(&mut out)));
                },
            );
        }
        let mut most = partial(Reduction::Max, DType::Float64, 1);
        compare(
            &format!("max float64 [{n}]"),
            || _ = black_box(arch.dispatch(Unrolled(black_box(&y)))),
            || {
                most.push(bytes_of(black_box(&y)));
                most.finish(bytes_of_mut(black_box(&mut wide)));
            },
        );
        for (reduction, dtype, size) in [
            (Reduction::Sum, DType::Int64, 8),
            (Reduction::Max, DType::Int8, 1),
            (Reduction::Max, DType::Int64, 8),
            (Reduction::Max, DType::Float16, 2),
            (Reduction::Any, DType::Bool, 1),
            (Reduction::All, DType::Bool, 1),
        ] {
            let mut most = partial(reduction, dtype, 1);
            let bytes = &bytes_of(&y)[..n * size];
            let mut out = [0_u64];
            compare(
                &format!("{reduction} {dtype} [{n}], as many bytes"),
                || _ = black_box(arch.dispatch(Unrolled(black_box(&y[..n * size / 8])))),
                || {
                    most.push(black_box(bytes));
                    most.finish(&mut bytes_of_mut(black_box(&mut out))[..size]);
                },
            );
        }
        let (mut out, mut other) = (vec![0.0_f32; n], vec![0.0_f32; n]);
        let mut scan = ScanState::new(Scan::Sum, DType::Float32, 1).expect("it is taken");
        compare(
            &format!("cumulative_sum float32 [{n}]"),
            || running(black_box(&x), black_box(&mut other)),
            || {
                scan.push(bytes_of(black_box(&x)), bytes_of_mut(black_box(&mut out)));
                scan.reset();
            },
        );
    }
    for (n, width) in
        [(3, 10_000_000 / 3), (3, 4096), (10_000, 1000), (3162, 3162), (1000, 64), (100_000, 64), (100, 1000)]
    {
        let x = numbers(n * width);
        let (mut out, mut other) = (vec![0.0_f32; width], vec![0.0_f32; width]);
        compare(
            &format!("sum float32 [{n}][{width}], rows apart"),
            || arch.dispatch(AddRows(black_box(&x), black_box(&mut other))),
            || {
                let row = |i: usize| bytes_of(&x[i * width..][..width]);
                let out = bytes_of_mut(black_box(&mut out));
                reduce_rows(Reduction::Sum, DType::Float32, n, width, row, out).expect("taken");
            },
        );
    }
    for (n, width) in [(3_333_333, 3), (1_000_000, 10), (100_000, 64), (10_000, 3), (1000, 10)] {
        let x = numbers(n * width);
        let mut out = vec![0.0_f32; width];
        for reduction in [Reduction::Sum, Reduction::Max] {
            let mut sum = partial(reduction, DType::Float32, width);
            compare(
                &format!("{reduction} float32 [{n}][{width}]"),
                || _ = black_box(arch.dispatch(Unrolled(black_box(&x)))),
                || {
                    sum.push(bytes_of(black_box(&x)));
                    sum.finish(bytes_of_mut(black_box(&mut out)));
                },
            );
        }
    }
    for (rows, n) in [(3_333_333, 3), (1_000_000, 10), (100_000, 100), (10_000, 1000), (1000, 3)] {
        let x = numbers(n * rows);
        let (mut out, mut other) = (vec![0.0_f32; rows], vec![0.0_f32; rows]);
        for reduction in [Reduction::Sum, Reduction::Max] {
            compare(
                &format!("{reduction} float32 each of {rows} rows of {n}"),
                || match n {
                    3 => arch.dispatch(Threes(black_box(&x), black_box(&mut other))),
                    _ => _ = black_box(arch.dispatch(Unrolled(black_box(&x)))),
                },
                || {
                    let out = bytes_of_mut(black_box(&mut out));
                    reduce_each(reduction, DType::Float32, n, bytes_of(black_box(&x)), out).expect("taken");
                },
            );
        }
    }
}
