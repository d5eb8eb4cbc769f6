//! The speed of the transcendental functions against the standard library's, in one run.
//!
//! `cargo bench -p broadloom --bench functions` measures each function and dtype as a scalar loop over the standard
//! library's function, by the interpreter and by compiled code, one thread, 100,000 elements in cache, and prints the
//! ratios. Words after `--` pick groups, such as `exp/float32`. Arguments don't repeat.

use std::hint::black_box;
use std::time::Duration;

use broadloom::{Array, Executor, Options, f16};
use criterion::{BenchmarkId, Criterion, Throughput};

#[path = "medians.rs"]
mod medians;
use medians::median;

const N: usize = 100_000;

/// Numbers of an interval.
fn numbers(seed: u64, lo: f64, hi: f64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..N).map(|_| lo + (hi - lo) * next()).collect()
}

/// What a row asks for: how many times as fast as the loop, by the interpreter and compiled.
struct Aim(f64, f64);

/// A function's row of the summary.
struct Row {
    name: &'static str,
    formula: &'static str,
    aims: [Aim; 2],
}

/// Measures an expression by either executor, into given memory.
macro_rules! by_executor {
    ($group:ident, $expr:ident, $out:ident) => {
        for executor in [Executor::Interp, Executor::Jit] {
            let options = Options { executor, threads: Some(1), ..Options::default() };
            for _ in 0..3 {
                $expr.eval_into_with(&mut $out, &options).expect("evaluates");
            }
            $group.bench_function(BenchmarkId::from_parameter(executor.name()), |bench| {
                bench.iter(|| $expr.eval_into_with(black_box(&mut $out), &options))
            });
        }
    };
}

macro_rules! bench_type {
    ($c:ident, $t:ident, $dtype:literal, $name:literal, [$x:ident: $xlo:expr, $xhi:expr], $std:expr, $ours:expr) => {
        bench_type!($c, $t, $dtype, $name, [$x: $xlo, $xhi; _y: 0.0, 1.0], $std, $ours)
    };
    ($c:ident, $t:ident, $dtype:literal, $name:literal, [$x:ident: $xlo:expr, $xhi:expr; $y:ident: $ylo:expr, $yhi:expr], $std:expr, $ours:expr) => {{
        let a: Vec<$t> = numbers(1, $xlo, $xhi).into_iter().map(|x| x as $t).collect();
        let b: Vec<$t> = numbers(2, $ylo, $yhi).into_iter().map(|x| x as $t).collect();
        let mut out = vec![0 as $t; N];
        let mut group = $c.benchmark_group(concat!($name, "/", $dtype));
        group.throughput(Throughput::Elements(N as u64));
        group.bench_function("std", |bench| {
            bench.iter(|| {
                let (a, b) = (black_box(&a), black_box(&b));
                for ((out, &$x), &$y) in out.iter_mut().zip(a).zip(b) {
                    *out = $std;
                }
                black_box(&mut out);
            })
        });
        let ($x, $y) = (Array::from_slice(&a), Array::from_slice(&b));
        let _ = &$y;
        let expr = $ours;
        by_executor!(group, expr, out);
    }};
}

macro_rules! functions {
    ($($name:literal $aims:expr, $formula:literal, [$($arg:tt)*], $std:expr, $ours:expr;)*) => {
        const ROWS: &[Row] = &[$(Row { name: $name, formula: $formula, aims: $aims }),*];

        fn all(c: &mut Criterion) {
            $(
                bench_type!(c, f32, "float32", $name, [$($arg)*], $std, $ours);
                bench_type!(c, f64, "float64", $name, [$($arg)*], $std, $ours);
            )*
        }
    };
}

/// float32, float64.
const FIRST: [Aim; 2] = [Aim(5.0, 2.0), Aim(3.0, 1.5)];
const SECOND: [Aim; 2] = [Aim(4.0, 2.0), Aim(3.0, 1.5)];
const OTHER: [Aim; 2] = [Aim(3.0, 1.5), Aim(3.0, 1.5)];

functions! {
    "exp" FIRST, "x.exp()", [x: -10.0, 10.0], x.exp(), x.exp();
    "log" FIRST, "x.ln()", [x: 0.01, 100.0], x.ln(), x.log();
    "sin" FIRST, "x.sin()", [x: -100.0, 100.0], x.sin(), x.sin();
    "cos" FIRST, "x.cos()", [x: -100.0, 100.0], x.cos(), x.cos();
    "tanh" SECOND, "x.tanh()", [x: -5.0, 5.0], x.tanh(), x.tanh();
    "pow" SECOND, "x.powf(y)", [x: 0.1, 10.0; y: -10.0, 10.0], x.powf(y), x.pow(&y);
    "atan2" SECOND, "x.atan2(y)", [x: -10.0, 10.0; y: -10.0, 10.0], x.atan2(y), x.atan2(&y);
    "expm1" SECOND, "x.exp_m1()", [x: -2.0, 2.0], x.exp_m1(), x.expm1();
    "log1p" SECOND, "x.ln_1p()", [x: -0.5, 2.0], x.ln_1p(), x.log1p();
    "acos" OTHER, "x.acos()", [x: -1.0, 1.0], x.acos(), x.acos();
    "acosh" OTHER, "x.acosh()", [x: 1.0, 10.0], x.acosh(), x.acosh();
    "asin" OTHER, "x.asin()", [x: -1.0, 1.0], x.asin(), x.asin();
    "asinh" OTHER, "x.asinh()", [x: -10.0, 10.0], x.asinh(), x.asinh();
    "atan" OTHER, "x.atan()", [x: -10.0, 10.0], x.atan(), x.atan();
    "atanh" OTHER, "x.atanh()", [x: -1.0, 1.0], x.atanh(), x.atanh();
    "cosh" OTHER, "x.cosh()", [x: -5.0, 5.0], x.cosh(), x.cosh();
    "hypot" OTHER, "x.hypot(y)", [x: -10.0, 10.0; y: -10.0, 10.0], x.hypot(y), x.hypot(&y);
    "log2" OTHER, "x.log2()", [x: 0.01, 100.0], x.log2(), x.log2();
    "log10" OTHER, "x.log10()", [x: 0.01, 100.0], x.log10(), x.log10();
    "logaddexp" OTHER, "m + (-(x - y).abs()).exp().ln_1p(), m = x.max(y)", [x: -10.0, 10.0; y: -10.0, 10.0],
        x.max(y) + (-(x - y).abs()).exp().ln_1p(), x.logaddexp(&y);
    "sinh" OTHER, "x.sinh()", [x: -5.0, 5.0], x.sinh(), x.sinh();
    "tan" OTHER, "x.tan()", [x: -100.0, 100.0], x.tan(), x.tan();
}

/// exp in float16, whose aim is a multiple of float32's time.
fn halves(c: &mut Criterion) {
    let a: Vec<f16> = numbers(1, -10.0, 10.0).into_iter().map(f16::from_f64).collect();
    let mut out = vec![f16::ZERO; N];
    let mut group = c.benchmark_group("exp/float16");
    group.throughput(Throughput::Elements(N as u64));
    let expr = Array::from_slice(&a).exp();
    by_executor!(group, expr, out);
}

/// Pairs of functions of one argument, compiled together: what they share is computed once.
fn pairs(c: &mut Criterion) {
    let a = numbers(1, 0.1, 10.0);
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
            expr.eval_into_with(&mut out, &options).expect("evaluates");
        }
        group.bench_function(name, |bench| bench.iter(|| expr.eval_into_with(black_box(&mut out), &options)));
    }
}

/// The table of docs/performance.md.
fn summary() {
    println!(
        "\n| function | against | dtype | loop, ns | interpreter, ns | times as fast | compiled, ns | times as fast |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for row in ROWS {
        for (dtype, Aim(interp_aim, jit_aim)) in ["float32", "float64"].iter().zip(&row.aims) {
            // Criterion's names of folders have no slashes.
            let folder = format!("{}_{dtype}", row.name);
            let get = |what: &str| median(&format!("{folder}/{what}"));
            if let (Some(std), Some(interp), Some(jit)) = (get("std"), get("interp"), get("jit")) {
                let verdict = |ours: f64, aim: f64| {
                    format!("{:.1} (≥ {aim}){}", std / ours, if std / ours < aim { " ✗" } else { "" })
                };
                println!(
                    "| {} | `{}` | {dtype} | {:.2} | {:.2} | {} | {:.2} | {} |",
                    row.name,
                    row.formula,
                    std / N as f64,
                    interp / N as f64,
                    verdict(interp, *interp_aim),
                    jit / N as f64,
                    verdict(jit, *jit_aim),
                );
            }
        }
    }
    for (first, second, pair) in
        [("sin", "cos", "sin*cos"), ("log", "log10", "log+log10"), ("exp", "expm1", "exp+expm1")]
    {
        // Criterion's names of folders have no stars.
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
