//! Compares expressions over layouts that are not contiguous, and results in new memory, with plain Rust
//! loops for the same layouts.
//!
//! `cargo bench -p broadloom --bench layouts` prints a line for each expression: nanoseconds per element
//! under each executor, the ratio to the best plain loop (AVX2 and FMA, chosen at run time), and the loops'
//! times. These times are minima of interleaved runs on one thread, with outputs in memory that was written
//! before. Then it prints medians for `a+b` in four cases: results in memory that was written before,
//! results that are dropped before the next one is computed, results that are all kept, and a plain loop
//! that writes to a new `Vec` each time. A word after `--` selects the lines whose names contain it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use broadloom::{Array, Engine, Evaluation, Executor, Options, Range};
use pulp::{NullaryFnOnce, x86::V3};

/// The duration of the measurement of a line.
const BUDGET: Duration = Duration::from_millis(600);

/// Runs a closure compiled for AVX2 and FMA, where the target has them.
fn wide(f: impl FnOnce()) {
    struct ManyOutputs<F>(F);
    impl<F: FnOnce()> NullaryFnOnce for ManyOutputs<F> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            (self.0)()
        }
    }
    match V3::try_new() {
        Some(v3) => v3.vectorize(ManyOutputs(f)),
        None => f(),
    }
}

/// An element type for which lines are measured.
trait LineElement: broadloom::Element<Store = Self> + std::ops::Add<Output = Self> + Copy + Default {
    const NAME: &'static str;
    fn new(x: f32) -> Self;
}

impl LineElement for f32 {
    const NAME: &'static str = "float32";
    fn new(x: f32) -> f32 {
        x
    }
}

impl LineElement for f64 {
    const NAME: &'static str = "float64";
    fn new(x: f32) -> f64 {
        x.into()
    }
}

/// Numbers that don't repeat within a few thousand elements.
fn numbers<T: LineElement>(n: usize, seed: u64) -> Vec<T> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        T::new((state >> 40) as f32 / (1 << 24) as f32 - 0.5)
    };
    (0..n).map(|_| next()).collect()
}

/// The time of a call, in seconds.
fn time(f: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64()
}

/// A plain loop that writes to an output.
type OutputLoop<'l, T> = &'l dyn Fn(&mut [T]);

/// Measures an expression and plain loops, and prints the line.
fn line<T: LineElement>(name: &str, expr: &Array<'_>, loops: &[OutputLoop<'_, T>]) {
    let name = format!("{name} {}", T::NAME);
    if !wanted(&name) {
        return;
    }
    let n = expr.len();
    let (mut out, mut expected) = (vec![T::default(); n], vec![T::default(); n]);
    let options = [Executor::Interp, Executor::Jit].map(|executor| Options {
        executor,
        threads: Some(1),
        ..Options::default()
    });
    let mut best = vec![f64::INFINITY; options.len() + loops.len()];
    for plain in loops {
        plain(&mut expected);
        for choice in &options {
            Evaluation::with(choice).eval_into(expr, &mut out).expect("evaluates");
            assert!(out.iter().zip(&expected).all(|(a, b)| a == b), "{name}: another result");
        }
    }
    let start = Instant::now();
    while start.elapsed() < BUDGET {
        for (choice, best) in options.iter().zip(&mut best) {
            *best = best.min(time(&mut || {
                black_box(Evaluation::with(choice).eval_into(expr, black_box(&mut out))).expect("evaluates")
            }));
        }
        for (plain, best) in loops.iter().zip(&mut best[options.len()..]) {
            *best = best.min(time(&mut || plain(black_box(&mut out))));
        }
    }
    let (ours, plain) = best.split_at(options.len());
    let nanos = |seconds: f64| seconds * 1e9 / n as f64;
    let least = plain.iter().copied().fold(f64::INFINITY, f64::min);
    let all: Vec<String> = plain.iter().map(|&s| format!("{:.3}", nanos(s))).collect();
    println!(
        "{name:34} {n:>8} interp {:.3} ({:.2}) jit {:.3} ({:.2}) loops {}",
        nanos(ours[0]),
        ours[0] / least,
        nanos(ours[1]),
        ours[1] / least,
        all.join(" ")
    );
}

/// Whether the command line selects the line with this name.
fn wanted(name: &str) -> bool {
    std::env::args().skip(1).all(|word| word.starts_with('-') || name.contains(&word))
}

/// Measures `a+b` with the result in different kinds of memory.
fn results<T: LineElement>(n: usize) {
    let name = format!("results {n} {}", T::NAME);
    if !wanted(&name) {
        return;
    }
    let [a, b] = [1, 2].map(|seed| numbers::<T>(n, seed));
    let expr = Array::from_slice(&a) + Array::from_slice(&b);
    let options = Options { threads: Some(1), ..Options::default() };
    let (mut out, mut kept) = (vec![T::default(); n], Vec::new());
    let mut times = [const { Vec::new() }; 4];
    let start = Instant::now();
    // The kept results take a quarter of a gigabyte in total, which is more than the engine keeps for reuse.
    let most = (1 << 28) / (n * size_of::<T>()) + 1;
    while start.elapsed() < BUDGET || times[0].len() < 5 {
        times[0].push(time(&mut || {
            Evaluation::with(&options).eval_into(&expr, black_box(&mut out)).expect("evaluates")
        }));
        times[1].push(time(&mut || drop(black_box(expr.eval_with(&options).expect("evaluates")))));
        times[3].push(time(&mut || {
            let mut new = Vec::with_capacity(n);
            wide(
                #[inline(always)]
                || new.extend(a.iter().zip(&b).map(|(&a, &b)| a + b)),
            );
            drop(black_box(new));
        }));
    }
    Engine::global().clear();
    while times[2].len() < 2 * most.min(100) {
        if kept.len() == most {
            kept.clear();
            Engine::global().clear();
        }
        times[2].push(time(&mut || kept.push(expr.eval_with(&options).expect("evaluates"))));
    }
    let medians = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2] * 1e9 / n as f64
    });
    let [written, dropped, kept, plain] = medians;
    println!(
        "{name:34} {n:>8} written before {written:.3} dropped {dropped:.3} kept {kept:.3} plain {plain:.3}"
    );
}

/// out[i] = a[i] + b[i], for a part of a row.
#[inline(always)]
fn add<T: LineElement>(out: &mut [T], a: &[T], b: &[T]) {
    out.iter_mut().zip(a).zip(b).for_each(|((out, &a), &b)| *out = a + b);
}

/// Adds a matrix and a transposed matrix, in blocks of `R` rows and `C` columns, with a tile for the
/// transposed block.
#[inline(always)]
fn blocked<T: LineElement, const R: usize, const C: usize>(out: &mut [T], a: &[T], b: &[T], n: usize) {
    let mut tile = [[T::default(); C]; R];
    for row in (0..n).step_by(R) {
        for col in (0..n).step_by(C) {
            let (rows, cols) = (R.min(n - row), C.min(n - col));
            for c in 0..cols {
                let column = &b[(col + c) * n + row..][..rows];
                column.iter().zip(&mut tile).for_each(|(&x, tile)| tile[c] = x);
            }
            for (r, tile) in tile.iter().enumerate().take(rows) {
                let at = (row + r) * n + col;
                add(&mut out[at..at + cols], &a[at..at + cols], &tile[..cols]);
            }
        }
    }
}

/// Adds a matrix and a transposed matrix, in blocks of `S` rows and columns, without a tile.
#[inline(always)]
fn squares<T: LineElement, const S: usize>(out: &mut [T], a: &[T], b: &[T], n: usize) {
    for row in (0..n).step_by(S) {
        for col in (0..n).step_by(S) {
            for r in row..n.min(row + S) {
                let cols = n.min(col + S) - col;
                let at = r * n + col;
                let (out, a) = (&mut out[at..at + cols], &a[at..at + cols]);
                for (c, (out, &a)) in out.iter_mut().zip(a).enumerate() {
                    *out = a + b[(col + c) * n + r];
                }
            }
        }
    }
}

/// A loop compiled for AVX2.
macro_rules! plain {
    (|$out:ident| $body:block) => {
        &|$out: &mut [T]| {
            wide(
                #[inline(always)]
                || $body,
            )
        }
    };
}

fn short_rows<T: LineElement>(n: usize) {
    let (a, b, row, column) =
        (numbers::<T>(3 * n, 1), numbers::<T>(3 * n, 4), numbers::<T>(3, 2), numbers::<T>(n, 3));
    let [high, flat] = [[n, 3], [3, n]].map(|shape| Array::from_shape_slice(&shape, &a).expect("a shape"));
    let [b_high, b_flat] =
        [[n, 3], [3, n]].map(|shape| Array::from_shape_slice(&shape, &b).expect("a shape"));
    let (r, c) = (Array::from_slice(&row), Array::from_slice(&column));
    line(
        &format!("(n,3)+row {n}"),
        &(&high + &r),
        &[plain!(|out| {
            let mut pattern = [T::default(); 24];
            pattern.chunks_exact_mut(3).for_each(|p| p.copy_from_slice(&row));
            let (whole, rest) = out.as_chunks_mut::<24>();
            let (a, a_rest) = a.as_chunks::<24>();
            whole.iter_mut().zip(a).for_each(|(out, a)| add(out, a, &pattern));
            add(rest, a_rest, &pattern[..rest.len()]);
        })],
    );
    line(
        &format!("(n,3)+column {n}"),
        &(&high + c.expand_dims(1).expect("an axis")),
        &[plain!(|out| {
            let rows = out.as_chunks_mut::<3>().0.iter_mut().zip(a.as_chunks::<3>().0);
            rows.zip(&column).for_each(|((out, a), &c)| *out = a.map(|a| a + c));
        })],
    );
    line(
        &format!("(3,n)+column {n}"),
        &(&flat + r.expand_dims(1).expect("an axis")),
        &[plain!(|out| {
            let rows = out.chunks_exact_mut(n).zip(a.chunks_exact(n)).zip(&row);
            rows.for_each(|((out, a), &x)| out.iter_mut().zip(a).for_each(|(out, &a)| *out = a + x));
        })],
    );
    line(
        &format!("(3,n)+row {n}"),
        &(&flat + &c),
        &[plain!(|out| {
            out.chunks_exact_mut(n).zip(a.chunks_exact(n)).for_each(|(out, a)| add(out, a, &column));
        })],
    );
    line(
        &format!("(n,3)+(3,n).T {n}"),
        &(&high + b_flat.t()),
        &[plain!(|out| {
            let ((x, rest), rows) = (b.split_at(n), out.as_chunks_mut::<3>().0.iter_mut());
            let (y, z) = rest.split_at(n);
            rows.zip(a.as_chunks::<3>().0).zip(x).zip(y).zip(z).for_each(|((((out, a), &x), &y), &z)| {
                *out = [a[0] + x, a[1] + y, a[2] + z];
            })
        })],
    );
    line(
        &format!("(3,n)+(n,3).T {n}"),
        &(&flat + b_high.t()),
        &[
            plain!(|out| {
                for (k, (out, a)) in out.chunks_exact_mut(n).zip(a.chunks_exact(n)).enumerate() {
                    let b = b.as_chunks::<3>().0;
                    out.iter_mut().zip(a).zip(b).for_each(|((out, &a), b)| *out = a + b[k]);
                }
            }),
            plain!(|out| {
                let ((x, rest), (ax, a_rest)) = (out.split_at_mut(n), a.split_at(n));
                let ((y, z), (ay, az)) = (rest.split_at_mut(n), a_rest.split_at(n));
                for (i, b) in b.as_chunks::<3>().0.iter().enumerate() {
                    (x[i], y[i], z[i]) = (ax[i] + b[0], ay[i] + b[1], az[i] + b[2]);
                }
            }),
        ],
    );
}

fn transposed<T: LineElement>(n: usize) {
    let [a, b] = [1, 2].map(|seed| numbers::<T>(n * n, seed));
    let [x, y] = [&a, &b].map(|v| Array::from_shape_slice(&[n, n], v).expect("a shape"));
    line(
        &format!("a+b.T {n}"),
        &(&x + y.t()),
        &[
            plain!(|out| { blocked::<T, 8, 64>(out, &a, &b, n) }),
            plain!(|out| { blocked::<T, 16, 64>(out, &a, &b, n) }),
            plain!(|out| { blocked::<T, 16, 256>(out, &a, &b, n) }),
            plain!(|out| { blocked::<T, 32, 128>(out, &a, &b, n) }),
            plain!(|out| { blocked::<T, 64, 64>(out, &a, &b, n) }),
            plain!(|out| { squares::<T, 8>(out, &a, &b, n) }),
            plain!(|out| { squares::<T, 16>(out, &a, &b, n) }),
            plain!(|out| { squares::<T, 32>(out, &a, &b, n) }),
        ],
    );
}

/// A view of `n` elements of `v`, `step` elements apart.
fn part<T: LineElement>(v: &[T], n: usize, step: usize) -> Array<'_> {
    let whole = Array::from_slice(&v[..step * n]);
    whole.slice([Range::new(None, None, step as isize)]).expect("a step")
}

fn steps<T: LineElement>(n: usize) {
    let [a, b] = [1, 2].map(|seed| numbers::<T>(3 * n, seed));
    let (x, y) = (Array::from_slice(&a[..n]), Array::from_slice(&b[..n]));
    line(&format!("a+b {n}"), &(&x + &y), &[plain!(|out| { add(out, &a, &b) })]);
    line(
        &format!("a+reversed {n}"),
        &(&x + y.flip(0).expect("an axis")),
        &[plain!(|out| {
            out.iter_mut().zip(&a).zip(b[..n].iter().rev()).for_each(|((out, &a), &b)| *out = a + b);
        })],
    );
    line(
        &format!("a+second {n}"),
        &(&x + part(&b, n, 2)),
        &[plain!(|out| {
            out.iter_mut().zip(&a).zip(b.as_chunks::<2>().0).for_each(|((out, &a), b)| *out = a + b[0]);
        })],
    );
    line(
        &format!("second+second {n}"),
        &(part(&a, n, 2) + part(&b, n, 2)),
        &[plain!(|out| {
            let (a, b) = (a.as_chunks::<2>().0, b.as_chunks::<2>().0);
            out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = a[0] + b[0]);
        })],
    );
    line(
        &format!("a+third {n}"),
        &(&x + part(&b, n, 3)),
        &[plain!(|out| {
            out.iter_mut().zip(&a).zip(b.as_chunks::<3>().0).for_each(|((out, &a), b)| *out = a + b[0]);
        })],
    );
}

fn all<T: LineElement>() {
    for n in [1000, 1_000_000] {
        short_rows::<T>(n);
    }
    for n in [100, 1000, 2000, 2048] {
        transposed::<T>(n);
    }
    for n in [1000, 100_000, 10_000_000] {
        steps::<T>(n);
    }
    for n in [1000, 10_000, 100_000, 1_000_000, 10_000_000] {
        results::<T>(n);
    }
}

fn main() {
    all::<f32>();
    all::<f64>();
}
