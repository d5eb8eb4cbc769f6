//! Measures overheads outside of the loops: compiling, planning, parsing text, and short calls.
//!
//! Each figure is a line of JSON with the minimum and the median of its samples, in nanoseconds. `scripts/compare_speed.py`
//! alternates runs of this command from two commits, so figures must keep their names and meanings. Only one function here calls
//! internals of the engine. With the arguments `first EXECUTOR`, the command prints only the nanoseconds of the first evaluation
//! in the process.
//!
//! `cargo run --release -p broadloom-bench --features overheads --bin overheads`
#![forbid(unsafe_code)]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use broadloom::{Array, Engine, Executor, Kernel, Options, VectorWidth, text};
use broadloom_core::kernel::{Code, Inst, ValueId};
use broadloom_core::{DType, Op};

/// The approximate total time of the samples of a figure.
const BUDGET: Duration = Duration::from_millis(120);
/// The minimum duration of a batch of short calls, which is long enough for the clock's resolution.
const BATCH: Duration = Duration::from_micros(100);
/// The numbers of operations in the kernels and expressions that are compiled.
const LENGTHS: [usize; 3] = [10, 100, 500];

fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let [first, name] = &asked[..]
        && first == "first"
    {
        println!("{}", first_of_process(name)?);
        return Ok(());
    }
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|part| name.contains(&**part));
    compiling(&wanted)?;
    new_expressions(&wanted);
    short_calls(&wanted)
}

fn options(executor: Executor, vector_width: Option<VectorWidth>) -> Options {
    Options { executor, vector_width, threads: Some(1), ..Options::default() }
}

/// Prints a figure as a line of JSON.
fn tell(name: &str, mut nanoseconds: Vec<f64>) {
    nanoseconds.sort_by(f64::total_cmp);
    let (least, median) = (nanoseconds[0], nanoseconds[nanoseconds.len() / 2]);
    println!(
        r#"{{"name":"{name}","min_ns":{least:.1},"median_ns":{median:.1},"samples":{}}}"#,
        nanoseconds.len()
    );
}

/// Times single calls. `prepare` runs before each call and is not timed.
fn once_each<T>(name: &str, mut prepare: impl FnMut(), mut run: impl FnMut() -> T) {
    let mut samples = Vec::new();
    let began = Instant::now();
    while samples.len() < 12 || began.elapsed() < BUDGET {
        prepare();
        let start = Instant::now();
        let result = black_box(run());
        samples.push(start.elapsed().as_nanos() as f64);
        drop(result);
    }
    // The first samples include cache misses and are dropped.
    samples.drain(..2);
    tell(name, samples);
}

/// Times calls that are too short for the clock, in batches.
fn in_batches<T>(name: &str, mut run: impl FnMut() -> T) {
    let mut batch = |calls: usize| {
        let start = Instant::now();
        (0..calls).for_each(|_| drop(black_box(run())));
        start.elapsed()
    };
    // A batch has at least this many calls, so that the engine has chosen an executor before the first sample.
    let mut calls = 32;
    while batch(calls) < BATCH {
        calls *= 2;
    }
    let mut samples = Vec::new();
    let began = Instant::now();
    while samples.len() < 10 || began.elapsed() < BUDGET {
        samples.push(batch(calls).as_nanos() as f64 / calls as f64);
    }
    tell(name, samples);
}

/// Times the compilation of a kernel to machine code at each vector width of the target. This is the only function that calls the
/// compiler directly.
fn compiling(wanted: &dyn Fn(&str) -> bool) -> Result<(), Box<dyn Error>> {
    let compiler = broadloom_clif::Compiler::host()?;
    let kernels = LENGTHS.map(|ops| (format!("{ops}_ops"), chain(ops)));
    for (name, kernel) in kernels.into_iter().chain([("8_functions".to_owned(), functions())]) {
        for width in broadloom_clif::VectorWidth::of_target() {
            let name = format!("compile/{name}/{}", width.bits());
            if wanted(&name) {
                let access = [broadloom_mem::Access::Contiguous; 2];
                once_each(&name, || (), || compiler.compile(&kernel, &[], &access, width).expect("compiles"));
            }
        }
    }
    Ok(())
}

/// A kernel with this many operations, in which some values stay live over several operations.
fn chain(ops: usize) -> broadloom_core::Kernel {
    let (mut x, mut earlier) = (0, 1);
    let body = (0..ops).map(|i| {
        let op = [Op::Multiply, Op::Add, Op::Subtract, Op::Maximum][i % 4];
        let inst = inst(op, [x, earlier, 0]);
        (earlier, x) = (if i % 3 == 0 { x } else { 1 }, 2 + i as u32);
        inst
    });
    let body: Vec<Inst> = body.collect();
    kernel(body)
}

/// A kernel of functions with long bodies.
fn functions() -> broadloom_core::Kernel {
    let ops = [Op::Exp, Op::Sin, Op::Log, Op::Tanh, Op::Pow, Op::Atan2, Op::Cosh, Op::ExpM1];
    kernel((0u32..).zip(ops).map(|(i, op)| inst(op, [if i == 0 { 0 } else { 1 + i }, 1, 0])).collect())
}

fn inst(op: Op, args: [u32; 3]) -> Inst {
    Inst { code: Code::apply(op, DType::Float32), args: args.map(ValueId) }
}

/// A kernel with two float32 inputs, whose result is the value of the last instruction of `body`.
fn kernel(body: Vec<Inst>) -> broadloom_core::Kernel {
    let outputs = vec![ValueId(1 + body.len() as u32).into()];
    broadloom_core::Kernel {
        inputs: vec![DType::Float32; 2],
        body,
        outputs,
        ..broadloom_core::Kernel::default()
    }
}

fn numbers(n: usize, step: f32) -> Vec<f32> {
    (0..n).map(|i| i as f32 * step + 0.5).collect()
}

/// An expression of eight operations.
fn eight(a: &Array<'static>, b: &Array<'static>) -> Array<'static> {
    ((a * 2.0 + b * 3.0) / (a * a + 1.0) - b).sqrt().abs()
}

/// An expression of this many operations.
fn long(ops: usize, a: &Array<'static>, b: &Array<'static>) -> Array<'static> {
    (0..ops).fold(a.clone(), |x, i| if i % 2 == 0 { &x * b } else { &x + a })
}

/// Times expressions that the engine has not seen, including planning and, for `jit`, compiling.
fn new_expressions(wanted: &dyn Fn(&str) -> bool) {
    let (a, b) = (Array::from_vec(numbers(10, 0.01)), Array::from_vec(numbers(10, 0.02)));
    let forget = || Engine::global().clear();
    let runners = std::iter::once((Executor::Interp, None))
        .chain(VectorWidth::of_target().map(|width| (Executor::Jit, Some(width))));
    for (executor, width) in runners {
        let options = options(executor, width);
        let by = format!("{}/{}", executor.name(), width.map_or("auto", VectorWidth::name));
        let name = format!("first/8_ops/{by}");
        if wanted(&name) {
            once_each(&name, forget, || eight(&a, &b).eval_with(&options).expect("evaluates"));
        }
        for ops in LENGTHS {
            let name = format!("first/{ops}_ops/{by}");
            if wanted(&name) {
                once_each(&name, forget, || long(ops, &a, &b).eval_with(&options).expect("evaluates"));
            }
        }
    }
    if wanted("first/text") {
        let names = [("a", a), ("b", b)];
        let written = "abs(sqrt((a * 2.0 + b * 3.0) / (a * a + 1.0) - b))";
        let options = options(Executor::Interp, None);
        let run =
            || text::expression(written, &names).expect("reads").eval_with(&options).expect("evaluates");
        once_each("first/text", forget, run);
    }
}

/// Times expressions and kernels that the engine has seen, on ten elements.
fn short_calls(wanted: &dyn Fn(&str) -> bool) -> Result<(), Box<dyn Error>> {
    let n = 10;
    let (x, y, mut out) = (numbers(n, 0.01), numbers(n, 0.02), vec![0f32; n]);
    let (a, b) = (Array::from_vec(x.clone()), Array::from_vec(y.clone()));
    let auto = options(Executor::Auto, None);
    if wanted("cached/2_ops") {
        in_batches("cached/2_ops", || (&a * &b + &a).eval_with(&auto).expect("evaluates"));
    }
    if wanted("cached/8_ops") {
        in_batches("cached/8_ops", || eight(&a, &b).eval_with(&auto).expect("evaluates"));
    }
    if wanted("cached/100_ops") {
        in_batches("cached/100_ops", || long(100, &a, &b).eval_with(&auto).expect("evaluates"));
    }
    if wanted("cached/8_ops_kept") {
        let kept = eight(&a, &b);
        in_batches("cached/8_ops_kept", || kept.eval_with(&auto).expect("evaluates"));
    }
    if wanted("cached/build_8_ops") {
        in_batches("cached/build_8_ops", || eight(&a, &b));
    }
    for executor in [Executor::Auto, Executor::Interp, Executor::Jit] {
        let name = format!("kernel/{}", executor.name());
        if wanted(&name) {
            let options = options(executor, None);
            let kernel = Kernel::new(&[&(&a * &b + &a)], &[&a, &b], &options)?;
            in_batches(&name, || {
                kernel.run(&[(&x[..]).into(), (&y[..]).into()], [(&mut out[..]).into()]).expect("runs")
            });
        }
    }
    Ok(())
}

/// The time of the first evaluation in this process, on 1000 elements, in nanoseconds.
fn first_of_process(executor: &str) -> Result<u128, Box<dyn Error>> {
    let executors = [Executor::Auto, Executor::Interp, Executor::Jit];
    let executor = executors.into_iter().find(|e| e.name() == executor).ok_or("no such executor")?;
    let (a, b) = (Array::from_vec(numbers(1000, 0.01)), Array::from_vec(numbers(1000, 0.02)));
    let start = Instant::now();
    let result = eight(&a, &b).eval_with(&options(executor, None))?;
    let time = start.elapsed().as_nanos();
    drop(black_box(result));
    Ok(time)
}
