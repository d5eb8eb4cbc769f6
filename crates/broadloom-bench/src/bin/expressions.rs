//! Measures the time to the first result of expressions that the engine has not seen, and of expressions with a million nodes.
//!
//! `texts EXECUTOR COUNT` evaluates COUNT distinct expressions of seven operations on 1000 elements, each from its text, and
//! prints the time per expression in microseconds. Executors are `auto`, `interp` and `jit`, which may be followed by a vector
//! width (`jit 256 1000`). `chain NODES` builds an expression that applies NODES operations in sequence, and `leaves COUNT`
//! builds an expression over COUNT arrays; both print the seconds for building, evaluating and dropping the expression.
//! Without arguments, all three run.
//!
//! `cargo run --release -p broadloom-bench --bin expressions`
#![forbid(unsafe_code)]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use broadloom::{Array, Executor, Options, VectorWidth, text};

const ELEMENTS: usize = 1000;
const EXECUTORS: [Executor; 3] = [Executor::Auto, Executor::Interp, Executor::Jit];

type BenchResult = Result<(), Box<dyn Error>>;

fn main() -> BenchResult {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    match asked[..] {
        ["texts", executor, count] => texts(executor, None, count.parse()?),
        ["texts", executor, width, count] => texts(executor, Some(width), count.parse()?),
        ["chain", nodes] => chain(nodes.parse()?),
        ["leaves", count] => leaves(count.parse()?),
        [] => {
            texts("auto", None, 5000)?;
            texts("interp", None, 5000)?;
            for width in VectorWidth::of_target() {
                texts("jit", Some(width.name()), 2000)?;
            }
            chain(1_000_000)?;
            leaves(1_000_000)
        }
        _ => Err("texts EXECUTOR [WIDTH] COUNT, chain NODES or leaves COUNT".into()),
    }
}

fn numbers(step: f32) -> Array<'static> {
    Array::from_vec((0..ELEMENTS).map(|i| i as f32 * step + 0.5).collect::<Vec<f32>>())
}

/// The expression of seven operations with this number. Different numbers below 2^17 give different expressions.
fn written(number: usize) -> String {
    let binary = ["+", "-", "*", "/"];
    let names = ["a", "b", "c", "d"];
    let digit = |i: usize| (number >> (2 * i)) & 3;
    let (ops, leaves) = ([0, 1, 2, 3].map(|i| binary[digit(i)]), [4, 5, 6, 7].map(|i| names[digit(i)]));
    let last = if number >> 16 & 1 == 0 { "sqrt" } else { "exp" };
    let [p, q, r, s] = ops;
    let [w, x, y, z] = leaves;
    format!("{last}(abs((({w} {p} 2.5) {q} {x}) {r} ({y} {s} {z}))) + a")
}

fn texts(executor: &str, width: Option<&str>, count: usize) -> BenchResult {
    let name = executor;
    let executor = EXECUTORS.into_iter().find(|e| e.name() == name).ok_or("no such executor")?;
    let of_name = |name: &str| VectorWidth::ALL.into_iter().find(|w| w.name() == name).ok_or("no such width");
    let vector_width = width.map(of_name).transpose()?;
    let options = Options { executor, vector_width, threads: Some(1), ..Options::default() };
    let arrays = [("a", numbers(0.01)), ("b", numbers(0.02)), ("c", numbers(0.03)), ("d", numbers(0.05))];
    let evaluate = |number: usize| -> BenchResult {
        let result = text::expression(&written(number), &arrays)?.eval_with(&options)?;
        black_box(&result);
        Ok(())
    };
    // Evaluates some expressions first, to warm up the caches, the allocator and the compiler.
    (0..20).try_for_each(|i| evaluate((1 << 17) - 1 - i))?;
    let mut times = Vec::with_capacity(count);
    let began = Instant::now();
    for number in 0..count {
        let start = Instant::now();
        // The order is such that successive expressions differ in several operations.
        evaluate(number.wrapping_mul(40_503) % (1 << 17))?;
        times.push(start.elapsed().as_nanos() as f64 / 1e3);
    }
    let mean = began.elapsed().as_secs_f64() * 1e6 / count as f64;
    times.sort_by(f64::total_cmp);
    let (least, median) = (times[0], times[count / 2]);
    let width = width.unwrap_or("auto");
    println!("texts {name:<7} {width:<5} mean {mean:7.1} µs   median {median:7.1}   least {least:7.1}");
    Ok(())
}

/// Builds, evaluates and drops an expression, and prints the time of each step.
fn in_steps(name: &str, build: impl FnOnce() -> Array<'static>) -> BenchResult {
    let start = Instant::now();
    let root = build();
    let built = start.elapsed();
    let result = root.eval_with(&Options { threads: Some(1), ..Options::default() })?;
    let evaluated = start.elapsed();
    drop((black_box(result), root));
    let dropped = start.elapsed();
    println!(
        "{name}   build {:.2} s   evaluate {:.2} s   drop {:.2} s",
        built.as_secs_f64(),
        (evaluated - built).as_secs_f64(),
        (dropped - evaluated).as_secs_f64()
    );
    Ok(())
}

fn chain(nodes: usize) -> BenchResult {
    let x = Array::from_vec(vec![0.5f32; 10]);
    in_steps(&format!("chain of {nodes}"), || {
        (0..nodes).fold(x.clone(), |y, i| if i % 2 == 0 { &y * &x } else { &y + &x })
    })
}

fn leaves(count: usize) -> BenchResult {
    let of = |i: usize| Array::from_vec(vec![i as f32; 10]);
    in_steps(&format!("{count} leaves"), || (1..count).fold(of(0), |sum, i| sum + of(i)))
}
