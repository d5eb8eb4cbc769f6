//! Compares reductions with plain loops that read the same amount of memory.
//!
//! Prints the milliseconds of the reduction and of the loop, and their ratio. A plain loop uses eight vector accumulators of the
//! target's maximum width, so its results differ from the engine's by rounding. Some reductions are compared with an element-wise
//! pass instead, which the engine runs. The first argument selects the rows whose names contain it. The second is the number of
//! threads (default 1), the third the maximum vector width in bits.
//!
//! `cargo run --release -p broadloom-bench --bin reductions`
#![forbid(unsafe_code)]

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use broadloom::functions::where_;
use broadloom::{Array, Evaluation, Executor, Kernel, Options, Over, VectorWidth};
use broadloom_bench::by_hand::numbers;
use broadloom_bench::clock::{Contender, in_turns};
use pulp::{Arch, NullaryFnOnce};

/// The number of accumulators in a plain loop: eight vectors of 512 bits of float32.
const ACCUMULATORS: usize = 128;

macro_rules! plain {
    ($name:ident, $t:ty, |$x:ident, $y:ident| $f:expr, |$a:ident, $b:ident| $combine:expr) => {
        /// A plain loop, compiled for the target.
        fn $name(xs: &[$t], ys: &[$t]) -> $t {
            struct PlainReduction<'l>(&'l [$t], &'l [$t]);
            impl NullaryFnOnce for PlainReduction<'_> {
                type Output = $t;
                #[inline(always)]
                fn call(self) -> $t {
                    const N: usize = ACCUMULATORS * 4 / size_of::<$t>();
                    let mut sums = [0 as $t; N];
                    let (xs, ys) = (self.0.chunks_exact(N), self.1.chunks_exact(N));
                    let rest = xs.remainder().iter().zip(ys.remainder());
                    for (xs, ys) in xs.zip(ys) {
                        for ((sum, &$x), &$y) in sums.iter_mut().zip(xs).zip(ys) {
                            let ($a, $b) = (*sum, $f);
                            *sum = $combine;
                        }
                    }
                    let mut total = 0 as $t;
                    for sum in sums {
                        let ($a, $b) = (total, sum);
                        total = $combine;
                    }
                    for (&$x, &$y) in rest {
                        let ($a, $b) = (total, $f);
                        total = $combine;
                    }
                    total
                }
            }
            Arch::new().dispatch(PlainReduction(xs, ys))
        }
    };
}
plain!(sum_f32, f32, |x, _y| x, |a, b| a + b);
plain!(sum_f64, f64, |x, _y| x, |a, b| a + b);
plain!(dot_f32, f32, |x, y| x * y, |a, b| a + b);
plain!(dot_f64, f64, |x, y| x * y, |a, b| a + b);
plain!(distance_f32, f32, |x, y| (x - y) * (x - y), |a, b| a + b);
plain!(masked_f32, f32, |x, y| if y > 0.0 { x } else { 0.0 }, |a, b| a + b);
plain!(largest_f32, f32, |x, _y| x.abs(), |a, b| if b > a { b } else { a });

/// The settings that all rows share.
struct Bench {
    filter: String,
    options: Options,
    budget: Duration,
}

impl Bench {
    /// Times the evaluation of arrays, and a function for comparison.
    fn row(
        &self,
        name: &str,
        ours: &[&Array<'_>],
        beside: &str,
        mut other: impl FnMut(),
    ) -> Result<(), Box<dyn Error>> {
        if !name.contains(&self.filter) {
            return Ok(());
        }
        Evaluation::with(&self.options).eval_many(ours)?;
        let mut contenders: [Contender<'_>; 2] = [
            Box::new(|calls| {
                for _ in 0..calls {
                    let done = Evaluation::with(&self.options).eval_many(ours);
                    assert!(black_box(done).is_ok(), "it worked before");
                }
            }),
            Box::new(|calls| (0..calls).for_each(|_| other())),
        ];
        let times = in_turns(&mut contenders, self.budget);
        let (ours, other) = (times[0] / 1e6, times[1] / 1e6);
        println!("{name:<44} {ours:>10.4} {other:>10.4} {:>6.2}  {beside}", ours / other);
        Ok(())
    }

    /// Times the evaluation of arrays, and the evaluation of another array for comparison.
    fn both(
        &self,
        name: &str,
        ours: &[&Array<'_>],
        beside: &str,
        other: &Array<'_>,
    ) -> Result<(), Box<dyn Error>> {
        self.row(name, ours, beside, || {
            let done = Evaluation::with(&self.options).eval_many(&[other]);
            assert!(black_box(done).is_ok(), "it worked before");
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let filter = args.next().unwrap_or_default();
    let threads = args.next().map_or(Ok(1), |threads| threads.parse())?;
    let bits = args.next().map(|bits| bits.parse::<u32>()).transpose()?;
    let width = |width: &VectorWidth| Some(width.bits()) == bits;
    let vector_width = VectorWidth::ALL.into_iter().find(width);
    let options = Options { threads: Some(threads), vector_width, ..Options::default() };
    let bench = Bench { filter, options, budget: Duration::from_secs(1) };
    println!("{:<44} {:>10} {:>10} {:>6}  beside", "reduction", "ours ms", "other ms", "ratio");
    vectors(&bench)?;
    matrices(&bench)?;
    rows(&bench)?;
    short(&bench)
}

/// Times reductions of contiguous elements to one result.
fn vectors(bench: &Bench) -> Result<(), Box<dyn Error>> {
    for n in [100_000, 10_000_000] {
        let (a, b) = numbers::<f32>(n, -1.0, 1.0);
        let (c, d) = numbers::<f64>(n, -1.0, 1.0);
        let [x, y] = [&a, &b].map(|data| Array::from_slice(data));
        let [z, w] = [&c, &d].map(|data| Array::from_slice(data));
        let at = |name: &str| format!("{name} {n:e}");
        bench.row(&at("sum float32"), &[&x.sum(())?], "plain loop", || {
            black_box(sum_f32(black_box(&a), black_box(&a)));
        })?;
        bench.row(&at("sum float64"), &[&z.sum(())?], "plain loop", || {
            black_box(sum_f64(black_box(&c), black_box(&c)));
        })?;
        bench.row(&at("sum(a*b) float32"), &[&(&x * &y).sum(())?], "plain loop", || {
            black_box(dot_f32(black_box(&a), black_box(&b)));
        })?;
        bench.row(&at("sum(a*b) float64"), &[&(&z * &w).sum(())?], "plain loop", || {
            black_box(dot_f64(black_box(&c), black_box(&d)));
        })?;
        let difference = &x - &y;
        bench.row(&at("sum((a-b)**2) float32"), &[&difference.square().sum(())?], "plain loop", || {
            black_box(distance_f32(black_box(&a), black_box(&b)));
        })?;
        bench.row(
            &at("sum(where(b>0,a,0)) float32"),
            &[&where_(y.greater(0), &x, 0).sum(())?],
            "plain loop",
            || {
                black_box(masked_f32(black_box(&a), black_box(&b)));
            },
        )?;
        bench.row(&at("max(abs(a)) float32"), &[&x.abs().max(())?], "plain loop", || {
            black_box(largest_f32(black_box(&a), black_box(&a)));
        })?;
        bench.both(&at("mean(exp(a)) float32"), &[&x.exp().mean(())?], "exp(a), stored", &x.exp())?;
        bench.both(
            &at("sum, sum of squares, max float32"),
            &[&x.sum(())?, &x.square().sum(())?, &x.max(())?],
            "sum",
            &x.sum(())?,
        )?;
        bench.row(&at("mean, var float32"), &[&x.mean(())?, &x.var((), 0.0)?], "plain sum", || {
            black_box(sum_f32(black_box(&a), black_box(&a)));
        })?;
    }
    Ok(())
}

/// Times reductions along each axis of matrices.
fn matrices(bench: &Bench) -> Result<(), Box<dyn Error>> {
    let (n, thin) = (5000, 3_333_333);
    let (a, _) = numbers::<f32>(n * n, -1.0, 1.0);
    let plain = || {
        black_box(sum_f32(black_box(&a), black_box(&a)));
    };
    let x = Array::from_shape_slice(&[n, n], &a)?;
    bench.row("axis 0 of (5000, 5000)", &[&x.sum(0)?], "plain sum", plain)?;
    bench.row("axis 1 of (5000, 5000)", &[&x.sum(1)?], "plain sum", plain)?;
    bench.row("all of transposed (5000, 5000)", &[&x.t().sum(())?], "plain sum", plain)?;
    let (b, _) = numbers::<f32>(thin * 3, -1.0, 1.0);
    let plain = || {
        black_box(sum_f32(black_box(&b), black_box(&b)));
    };
    let y = Array::from_shape_slice(&[thin, 3], &b)?;
    bench.row("axis 0 of (3333333, 3)", &[&y.sum(0)?], "plain sum", plain)?;
    let mut out = vec![0.0_f32; thin];
    bench.row("axis 1 of (3333333, 3)", &[&y.sum(1)?], "plain loop, stored", || {
        out.iter_mut().zip(b.chunks_exact(3)).for_each(|(out, x)| *out = x[0] + x[1] + x[2]);
        black_box(&mut out);
    })?;
    let z = Array::from_shape_slice(&[3, thin], &b)?;
    bench.row("axis 0 of (3, 3333333)", &[&z.sum(0)?], "plain loop, stored", || {
        let (x, rest) = b.split_at(thin);
        let (y, z) = rest.split_at(thin);
        out.iter_mut().zip(x).zip(y).zip(z).for_each(|(((out, x), y), z)| *out = x + y + z);
        black_box(&mut out);
    })?;
    bench.row("axis 1 of (3, 3333333)", &[&z.sum(1)?], "plain sum", plain)
}

/// Times expressions that combine rows with their own reductions.
fn rows(bench: &Bench) -> Result<(), Box<dyn Error>> {
    for width in [1000, 32_000] {
        let n = 10_000_000 / width * width;
        let (a, _) = numbers::<f32>(n, -5.0, 5.0);
        let x = Array::from_shape_slice(&[n / width, width], &a)?;
        let last = || Over::axis(-1).keep_dims();
        let e = (&x - x.max(last())?).exp();
        let softmax = &e / e.sum(last())?;
        bench.both(&format!("softmax of rows of {width}"), &[&softmax], "exp, stored", &x.exp())?;
        let scaled = (&x - x.mean(last())?) / x.std(last(), 0.0)?;
        bench.both(&format!("standardised rows of {width}"), &[&scaled], "x + 1, stored", &(&x + 1))?;
    }
    Ok(())
}

/// Times short calls of kernels.
fn short(bench: &Bench) -> Result<(), Box<dyn Error>> {
    if !"sum of 10, prepared".contains(&bench.filter) {
        return Ok(());
    }
    let (a, b) = numbers::<f32>(10, -1.0, 1.0);
    let [x, y, z] = ["x", "y", "z"].map(|name| Array::input(name, broadloom::DType::Float32, &["n".into()]));
    let (x, y, z) = (x?, y?, z?);
    let options = Options { executor: Executor::Jit, ..bench.options.clone() };
    let sum = Kernel::new(&[&x.sum(())?], &[&x], &options)?.bind(&[("n", 10)])?;
    let triad = Kernel::new(&[&(&x * &y + &z)], &[&x, &y, &z], &options)?.bind(&[("n", 10)])?;
    let (mut total, mut out) = ([0.0_f32], [0.0_f32; 10]);
    let mut contenders: [Contender<'_>; 2] = [
        Box::new(|calls| {
            for _ in 0..calls {
                let done = sum.run(&[black_box(&a[..]).into()], [(&mut total).into()]);
                assert!(done.is_ok(), "it worked before");
            }
        }),
        Box::new(|calls| {
            for _ in 0..calls {
                let inputs = [black_box(&a[..]).into(), (&b[..]).into(), (&b[..]).into()];
                assert!(triad.run(&inputs, [(&mut out).into()]).is_ok(), "it worked before");
            }
        }),
    ];
    let times = in_turns(&mut contenders, bench.budget);
    let (ours, other) = (times[0] / 1e6, times[1] / 1e6);
    println!("{:<44} {ours:>10.6} {other:>10.6} {:>6.2}  a*b+c", "sum of 10, prepared", ours / other);
    Ok(())
}
