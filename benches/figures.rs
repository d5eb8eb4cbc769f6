//! Compares the times of expressions with those of plain Rust loops in the same run, and prints the ratios
//! next to their aims.
//!
//! `cargo bench -p broadloom --bench figures` measures everything with criterion and then prints each figure
//! as a ratio of medians. A word after `--` selects the groups whose names contain it. The loops are compiled
//! for AVX2 and FMA, and never contract `a * b + c`.

use std::hint::black_box;
use std::ops::{Add, Mul};
use std::time::Duration;

use broadloom::{Array, DType, Evaluation, Executor, Kernel, Options, f16};
use broadloom_bench::loops::{iterated as steps, map2, map3, rows as by_rows};
use criterion::{BenchmarkId, Criterion, Throughput};

#[path = "medians.rs"]
mod medians;
use medians::median;

/// Numbers of both signs, of absolute value below 1, that don't repeat within a few thousand elements.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..n).map(|_| next()).collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

fn options(executor: Executor) -> Options {
    Options { executor, threads: Some(1), ..Options::default() }
}

/// Computes a·b + c with a plain loop.
fn triad_loop<T: Copy + Mul<Output = T> + Add<Output = T>>(a: &[T], b: &[T], c: &[T], out: &mut [T]) {
    map3(a, b, c, out, |a, b, c| a * b + c);
}

/// Computes ten steps of z = z·z + c with a plain loop.
fn iter10_loop<T: Copy + Mul<Output = T> + Add<Output = T>>(z: &[T], c: &[T], out: &mut [T]) {
    map2(z, c, out, steps);
}

/// The expression of ten steps of z = z·z + c.
fn iterated<'a>(z: &Array<'a>, c: &Array<'a>) -> Array<'a> {
    (0..10).fold(z.clone(), |z, _| &z * &z + c)
}

/// Runs an expression repeatedly under each executor, with its results in existing memory.
macro_rules! run {
    ($group:ident, $name:expr, $expr:expr, $out:ident, [$($executor:ident),*]) => {$(
        let (expr, choice) = ($expr, options(Executor::$executor));
        for _ in 0..3 {
            Evaluation::with(&choice).eval_into(&expr, &mut $out).expect("evaluates");
        }
        $group.bench_function(BenchmarkId::new(Executor::$executor.name(), $name), |b| {
            b.iter(|| Evaluation::with(&choice).eval_into(&expr, black_box(&mut $out)))
        });
    )*};
}

macro_rules! triad {
    ($c:ident, $t:ty, $convert:expr, $loop:path) => {{
        let n = 10_000_000;
        let [a, b, c] = [1, 2, 3].map(|seed| $convert(numbers(n, seed)));
        let mut out = vec![0 as $t; n];
        let mut group = $c.benchmark_group("triad");
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(BenchmarkId::new("loop", stringify!($t)), |x| {
            x.iter(|| $loop(&a, &b, &c, black_box(&mut out)))
        });
        let (a, b, c) = (Array::from_slice(&a), Array::from_slice(&b), Array::from_slice(&c));
        run!(group, stringify!($t), &a * &b + &c, out, [Jit, Interp]);
    }};
}

fn triad(c: &mut Criterion) {
    triad!(c, f32, |x| x, triad_loop);
    triad!(c, f64, |x: Vec<f32>| wide(&x), triad_loop);
}

fn broadcast(c: &mut Criterion) {
    let (height, cols) = (10_000, 1000);
    let a = numbers(height * cols, 1);
    let (row, column) = (numbers(cols, 2), numbers(height, 3));
    let mut out = vec![0f32; height * cols];
    let mut group = c.benchmark_group("broadcast");
    group.throughput(Throughput::Elements((height * cols) as u64));
    group.bench_function(BenchmarkId::new("loop", "f32"), |x| {
        x.iter(|| by_rows(&a, &row, &row, &column, black_box(&mut out), |a, b, _, c| a * b + c))
    });
    let a = Array::from_shape_slice(&[height, cols], &a).expect("fits");
    let (row, column) =
        (Array::from_slice(&row), Array::from_shape_slice(&[height, 1], &column).expect("fits"));
    run!(group, "f32", &a * &row + &column, out, [Jit, Interp]);
}

macro_rules! iterate {
    ($c:ident, $t:ty, $convert:expr, $loop:path) => {{
        let n = 100_000;
        let [z, c] = [1, 2].map(|seed| $convert(numbers(n, seed)));
        let mut out = vec![0 as $t; n];
        let mut group = $c.benchmark_group("iter10");
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(BenchmarkId::new("loop", stringify!($t)), |x| {
            x.iter(|| $loop(&z, &c, black_box(&mut out)))
        });
        let (z, c) = (Array::from_slice(&z), Array::from_slice(&c));
        run!(group, stringify!($t), iterated(&z, &c), out, [Jit, Interp]);
    }};
}

fn iter10(c: &mut Criterion) {
    iterate!(c, f32, |x| x, iter10_loop);
    iterate!(c, f64, |x: Vec<f32>| wide(&x), iter10_loop);
}

fn shapes(c: &mut Criterion) {
    let n = 3_000_000;
    let (a, b) = (numbers(n, 1), numbers(n, 2));
    let (three, column) = (numbers(3, 3), numbers(n / 3, 4));
    let mut out = vec![0f32; n];
    let mut group = c.benchmark_group("short_rows");
    group.throughput(Throughput::Elements(n as u64));
    let (x, y) = (Array::from_slice(&a), Array::from_slice(&b));
    run!(group, "contiguous", &x + &y, out, [Jit, Interp]);
    let x = Array::from_shape_slice(&[n / 3, 3], &a).expect("fits");
    let row = Array::from_slice(&three);
    run!(group, "row_of_3", &x + &row, out, [Jit, Interp]);
    let column = Array::from_shape_slice(&[n / 3, 1], &column).expect("fits");
    run!(group, "column", &x + &column, out, [Jit, Interp]);
    drop(group);

    let n = 2000;
    let (a, b) = (numbers(n * n, 1), numbers(n * n, 2));
    let mut out = vec![0f32; n * n];
    let mut group = c.benchmark_group("transposed");
    group.throughput(Throughput::Elements((n * n) as u64));
    let x = Array::from_shape_slice(&[n, n], &a).expect("fits");
    let y = Array::from_shape_slice(&[n, n], &b).expect("fits");
    run!(group, "contiguous", &x + &y, out, [Jit, Interp]);
    let turned = y.t();
    run!(group, "transposed", &x + &turned, out, [Jit, Interp]);
}

fn integers(c: &mut Criterion) {
    let n = 1_000_000;
    let a: Vec<i32> = numbers(n, 1).iter().map(|x| (x * 4e9) as i32).collect();
    let b: Vec<i32> = numbers(n, 2).iter().map(|x| (x * 2e4) as i32).collect();
    let (mut quotients, mut rests) = (vec![0i32; n], vec![0i32; n]);
    let mut group = c.benchmark_group("int_division");
    group.throughput(Throughput::Elements(n as u64));
    let (x, y) = (Array::from_slice(&a).eval().expect("owned"), Array::from_slice(&b).eval().expect("owned"));
    for executor in [Executor::Jit, Executor::Interp] {
        let roots = [&x.floor_divide(&y), &x.remainder(&y)];
        let kernel = Kernel::new(&roots, &[&x, &y], &options(executor)).expect("a kernel");
        group.bench_function(BenchmarkId::new(executor.name(), "i32"), |bench| {
            bench.iter(|| {
                let outputs = [(&mut quotients[..]).into(), (&mut rests[..]).into()];
                kernel.run(&[(&a[..]).into(), (&b[..]).into()], outputs).expect("runs")
            })
        });
    }
}

fn halves(c: &mut Criterion) {
    let n = 100_000;
    let [a, b, x] = [1, 2, 3].map(|s| numbers(n, s).into_iter().map(f16::from_f32).collect::<Vec<_>>());
    let mut out = vec![f16::ZERO; n];
    let mut group = c.benchmark_group("float16");
    group.throughput(Throughput::Elements(n as u64));
    let (a, b, x) = (Array::from_slice(&a), Array::from_slice(&b), Array::from_slice(&x));
    run!(group, "axpy", &a * &x + &b, out, [Jit, Interp]);
}

fn calls(c: &mut Criterion) {
    let mut group = c.benchmark_group("small_calls");
    for n in [1usize, 10, 100, 1000] {
        let [a, b, d] = [1, 2, 3].map(|s| Array::from_vec(numbers(n, s)));
        let (x, y, z) = (numbers(n, 1), numbers(n, 2), numbers(n, 3));
        let mut out = vec![0f32; n];
        let warm = || (&a * &b + &d).eval_with(&options(Executor::Auto));
        (0..100).for_each(|_| drop(warm()));
        group.bench_function(BenchmarkId::new("array", n), |bench| bench.iter(warm));
        let kernel =
            Kernel::new(&[&(&a * &b + &d)], &[&a, &b, &d], &options(Executor::Jit)).expect("a kernel");
        group.bench_function(BenchmarkId::new("kernel", n), |bench| {
            bench.iter(|| {
                let inputs = [(&x[..]).into(), (&y[..]).into(), (&z[..]).into()];
                kernel.run(&inputs, [(&mut out[..]).into()]).expect("runs")
            })
        });
    }
}

fn threads(c: &mut Criterion) {
    let n = 10_000_000;
    let (z, k) = (numbers(n, 1), numbers(n, 2));
    let mut out = vec![0f32; n];
    let mut group = c.benchmark_group("threads");
    group.throughput(Throughput::Elements(n as u64));
    group
        .bench_function(BenchmarkId::new("loop", 1), |x| x.iter(|| iter10_loop(&z, &k, black_box(&mut out))));
    group.bench_function(BenchmarkId::new("loop", 2), |x| {
        x.iter(|| {
            let (zs, ks) = (z.split_at(n / 2), k.split_at(n / 2));
            let outs = out.split_at_mut(n / 2);
            rayon::join(|| iter10_loop(zs.0, ks.0, outs.0), || iter10_loop(zs.1, ks.1, outs.1))
        })
    });
    let (z, k) = (Array::from_slice(&z), Array::from_slice(&k));
    let expr = iterated(&z, &k);
    for threads in [1, 2] {
        let options = Options { executor: Executor::Jit, threads: Some(threads), ..Options::default() };
        group.bench_function(BenchmarkId::new("jit", threads), |x| {
            x.iter(|| Evaluation::with(&options).eval_into(&expr, black_box(&mut out)))
        });
    }
}

/// The time from a graph to a callable kernel, with warm caches. An op is one arithmetic instruction.
fn compiling(c: &mut Criterion) {
    use broadloom_core::node::NodeKind;
    use broadloom_core::{Graph, Layout, Op, Shape, fuse, rewrite};
    let compiler = broadloom_clif::Compiler::host().expect("a supported target");
    let mut group = c.benchmark_group("compile");
    for ops in [10usize, 20, 100, 500, 2000] {
        let build = || {
            let mut graph = Graph::default();
            let layout = Layout::contiguous(Shape::new(&[1000]).expect("small"));
            let k = graph.input(0, DType::Float32, layout.clone()).expect("a node");
            let mut z = graph.input(1, DType::Float32, layout).expect("a node");
            for i in 0..ops {
                let (op, other) = if i % 2 == 0 { (Op::Multiply, z) } else { (Op::Add, k) };
                z = graph.push(NodeKind::apply(op, [z, other])).expect("a node");
            }
            let (graph, roots) = rewrite::run(&graph, &[z], rewrite::Rules::On).expect("rewrites");
            let plan = fuse::run(&graph, &roots).expect("fuses");
            let kernel = &plan.stages[0].kernel;
            let access = vec![broadloom_mem::Access::Contiguous; kernel.inputs.len()];
            compiler.compile(kernel, &[], &access, broadloom_clif::VectorWidth::target()).expect("compiles")
        };
        group.bench_function(BenchmarkId::from_parameter(ops), |b| b.iter_with_large_drop(build));
    }
}

/// The ratios that are printed at the end: a description, the benchmarks whose medians are the numerator and
/// the denominator, and the aim.
const FIGURES: &[(&str, &str, &str, &str)] = &[
    ("a*b+c float32, 1e7: jit / loop", "triad/jit/f32", "triad/loop/f32", "1.10"),
    ("a*b+c float64, 1e7: jit / loop", "triad/jit/f64", "triad/loop/f64", "1.10"),
    ("(1e4,1000) with a row and a column: jit / loop", "broadcast/jit/f32", "broadcast/loop/f32", "1.15"),
    ("z=z*z+c ten times float32, 1e5: jit / loop", "iter10/jit/f32", "iter10/loop/f32", "2.1"),
    ("z=z*z+c ten times float64, 1e5: jit / loop", "iter10/jit/f64", "iter10/loop/f64", "2.1"),
    ("z=z*z+c ten times float32, 1e5: jit / interp", "iter10/jit/f32", "iter10/interp/f32", "0.75"),
    ("z=z*z+c ten times float64, 1e5: jit / interp", "iter10/jit/f64", "iter10/interp/f64", "0.90"),
    (
        "(1e6,3) with a row of 3: jit / contiguous",
        "short_rows/jit/row_of_3",
        "short_rows/jit/contiguous",
        "2",
    ),
    ("(1e6,3) with a column: jit / contiguous", "short_rows/jit/column", "short_rows/jit/contiguous", "2"),
    (
        "2000 x 2000 transposed: jit / contiguous",
        "transposed/jit/transposed",
        "transposed/jit/contiguous",
        "2",
    ),
    ("two threads, plain loop: speed-up", "threads/loop/1", "threads/loop/2", ""),
    ("two threads, jit: speed-up", "threads/jit/1", "threads/jit/2", "0.93 of the loop's"),
];

/// The times that are printed in nanoseconds: a description, the benchmark, its number of elements, and the
/// aim.
const TIMES: &[(&str, &str, f64, &str)] = &[
    ("calibration: z=z*z+c ten times float32, loop, per element", "iter10/loop/f32", 1e5, ""),
    ("int32 floor_divide and remainder: jit, per element", "int_division/jit/i32", 1e6, "2.5"),
    ("int32 floor_divide and remainder: interp, per element", "int_division/interp/i32", 1e6, ""),
    ("float16 a*x+b: jit, per element", "float16/jit/axpy", 1e5, ""),
    ("float16 a*x+b: interp, per element", "float16/interp/axpy", 1e5, ""),
    ("a*b+c, n = 10, through Array", "small_calls/array/10", 1.0, "2000"),
    ("a*b+c, n = 10, through a Kernel", "small_calls/kernel/10", 1.0, "200"),
    ("a*b+c, n = 1000, through a Kernel", "small_calls/kernel/1000", 1.0, ""),
    ("compile 10 ops", "compile/10", 1.0, "200000"),
    ("compile 100 ops", "compile/100", 1.0, "1000000"),
    ("compile 500 ops", "compile/500", 1.0, ""),
    ("compile 2000 ops", "compile/2000", 1.0, "12000000"),
];

fn summary() {
    println!("\n{:<58} {:>10}   aim", "ratio of medians", "measured");
    for (name, a, b, aim) in FIGURES {
        if let (Some(a), Some(b)) = (median(a), median(b)) {
            println!("{name:<58} {:>10.3}   {aim}", a / b);
        }
    }
    println!("\n{:<58} {:>10}   aim", "nanoseconds", "measured");
    for (name, id, n, aim) in TIMES {
        if let Some(t) = median(id) {
            println!("{name:<58} {:>10.2}   {aim}", t / n);
        }
    }
}

fn main() {
    let mut c = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1500))
        .sample_size(20)
        .without_plots()
        .configure_from_args();
    for group in [triad, broadcast, iter10, shapes, integers, halves, calls, threads, compiling] {
        group(&mut c);
    }
    c.final_summary();
    summary();
}
