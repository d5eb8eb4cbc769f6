//! Compares the speed of the transcendental functions with that of the standard library's functions, in one
//! run.
//!
//! `cargo bench -p broadloom --bench functions` measures each function and dtype in three ways: by a scalar
//! loop over the standard library's function (or `libm`'s, if the standard library has none), by the
//! interpreter, and by machine code. It uses one thread and 100,000 elements in cache, and prints the
//! ratios. The functions, their arguments and their loops are declared in `broadloom_testkit::reference`.
//! Words after `--` select groups, such as `exp/float32`. Arguments don't repeat.

use std::hint::black_box;
use std::time::Duration;

use broadloom::{Array, Evaluation, Executor, Op, Options, f16};
use broadloom_testkit::reference::{Function, Speed};
use criterion::{BenchmarkId, Criterion, Throughput};

#[path = "medians.rs"]
mod medians;
use medians::median;

const N: usize = 100_000;

/// Pseudo-random numbers in an interval.
fn numbers(seed: u64, (lo, hi): (f64, f64)) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..N).map(|_| lo + (hi - lo) * next()).collect()
}

/// The speeds aimed at for a function and dtype, as multiples of the loop's speed: first the interpreter's,
/// then that of machine code.
struct Aim(f64, f64);

/// The aims for a function, for float32 and for float64.
fn aims(function: Function) -> [Aim; 2] {
    match function.name() {
        "exp" | "log" | "sin" | "cos" => [Aim(5.0, 2.0), Aim(3.0, 1.5)],
        "tanh" | "pow" | "atan2" | "expm1" | "log1p" => [Aim(4.0, 2.0), Aim(3.0, 1.5)],
        _ => [Aim(3.0, 1.5), Aim(3.0, 1.5)],
    }
}

/// The functions whose speed is measured.
fn functions() -> impl Iterator<Item = (Function, &'static Speed)> {
    Function::ALL.into_iter().filter_map(|function| Some((function, function.model().speed.as_ref()?)))
}

/// Measures an expression under each executor, with its result in existing memory.
macro_rules! by_executor {
    ($group:ident, $expr:ident, $out:ident) => {
        for executor in [Executor::Interp, Executor::Jit] {
            let options = Options { executor, threads: Some(1), ..Options::default() };
            for _ in 0..3 {
                Evaluation::with(&options).eval_into(&$expr, &mut $out).expect("evaluates");
            }
            $group.bench_function(BenchmarkId::from_parameter(executor.name()), |bench| {
                bench.iter(|| Evaluation::with(&options).eval_into(&$expr, black_box(&mut $out)))
            });
        }
    };
}

/// Measures a function of one dtype.
macro_rules! bench_dtype {
    ($c:ident, $t:ident, $dtype:literal, $function:ident, $intervals:expr, $std:expr) => {{
        let columns = [1, 2]
            .map(|i| numbers(i as u64, $intervals[i - 1]).into_iter().map(|x| x as $t).collect::<Vec<$t>>());
        let mut out = vec![0 as $t; N];
        let mut group = $c.benchmark_group(format!("{}/{}", $function.name(), $dtype));
        group.throughput(Throughput::Elements(N as u64));
        group.bench_function("std", |bench| {
            bench.iter(|| {
                let [a, b] = black_box(&columns);
                $std(a, b, &mut out);
                black_box(&mut out);
            })
        });
        let op = Op::from_name($function.name()).expect("a function of the table");
        let operands = columns.iter().take($function.arity()).map(|column| Array::from_slice(column));
        let expr = Array::apply(op, &operands.collect::<Vec<_>>()).expect("floats");
        by_executor!(group, expr, out);
    }};
}

fn all(c: &mut Criterion) {
    for (function, speed) in functions() {
        bench_dtype!(c, f32, "float32", function, speed.intervals, speed.single);
        bench_dtype!(c, f64, "float64", function, speed.intervals, speed.double);
    }
}

/// Measures exp of float16, whose aim is a multiple of the time of float32.
fn halves(c: &mut Criterion) {
    let a: Vec<f16> = numbers(1, (-10.0, 10.0)).into_iter().map(f16::from_f64).collect();
    let mut out = vec![f16::ZERO; N];
    let mut group = c.benchmark_group("exp/float16");
    group.throughput(Throughput::Elements(N as u64));
    let expr = Array::from_slice(&a).exp();
    by_executor!(group, expr, out);
}

/// Measures pairs of functions of the same argument in one kernel, which computes their common parts once.
fn pairs(c: &mut Criterion) {
    let a = numbers(1, (0.1, 10.0));
    let x = Array::from_slice(&a);
    let mut out = vec![0f64; N];
    let mut group = c.benchmark_group("pairs/float64");
    group.throughput(Throughput::Elements(N as u64));
    let options = Options { executor: Executor::Jit, threads: Some(1), ..Options::default() };
    for (name, expr) in [
        ("sin", x.sin()),
        ("cos", x.cos()),
        ("sin*cos", x.sin() * x.cos()),
        ("log", x.log()),
        ("log10", x.log10()),
        ("log+log10", x.log() + x.log10()),
        ("exp", x.exp()),
        ("expm1", x.expm1()),
        ("exp+expm1", x.exp() + x.expm1()),
    ] {
        for _ in 0..3 {
            Evaluation::with(&options).eval_into(&expr, &mut out).expect("evaluates");
        }
        group.bench_function(name, |bench| {
            bench.iter(|| Evaluation::with(&options).eval_into(&expr, black_box(&mut out)))
        });
    }
}

/// Prints a table of docs/generated/performance.md.
fn summary() {
    println!(
        "\n| function | against | dtype | loop, ns | interpreter, ns | times as fast | compiled, ns | times as fast |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (function, speed) in functions() {
        for (dtype, Aim(interp_aim, jit_aim)) in ["float32", "float64"].iter().zip(&aims(function)) {
            // Criterion replaces slashes in the names of folders.
            let folder = format!("{}_{dtype}", function.name());
            let get = |what: &str| median(&format!("{folder}/{what}"));
            if let (Some(std), Some(interp), Some(jit)) = (get("std"), get("interp"), get("jit")) {
                let ratio = |ours: f64, aim: f64| {
                    format!("{:.1} (≥ {aim}){}", std / ours, if std / ours < aim { " ✗" } else { "" })
                };
                println!(
                    "| {} | `{}` | {dtype} | {:.2} | {:.2} | {} | {:.2} | {} |",
                    function.name(),
                    speed.formula,
                    std / N as f64,
                    interp / N as f64,
                    ratio(interp, *interp_aim),
                    jit / N as f64,
                    ratio(jit, *jit_aim),
                );
            }
        }
    }
    for (first, second, pair) in
        [("sin", "cos", "sin*cos"), ("log", "log10", "log+log10"), ("exp", "expm1", "exp+expm1")]
    {
        // Criterion replaces stars in the names of folders.
        let time = |name: &str| median(&format!("pairs_float64/{}", name.replace('*', "_")));
        if let (Some(a), Some(b), Some(both)) = (time(first), time(second), time(pair)) {
            let [a, b, both] = [a, b, both].map(|t| t / N as f64);
            println!("compiled, float64: {first} {a:.2} ns, {second} {b:.2} ns, {pair} {both:.2} ns");
        }
    }
    if let (Some(half), Some(single)) = (median("exp_float16/interp"), median("exp_float32/interp")) {
        println!(
            "\nfloat16 exp: {:.2} ns, {:.2} times float32's, interpreter",
            half / N as f64,
            half / single
        );
    }
}

fn main() {
    let mut c = Criterion::default()
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .sample_size(15)
        .without_plots()
        .configure_from_args();
    all(&mut c);
    halves(&mut c);
    pairs(&mut c);
    c.final_summary();
    summary();
}
