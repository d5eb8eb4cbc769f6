//! Measures long straight-line programs on two coordinates: the time to parse, plan and compile a program from its text, and the
//! time of its runs.
//!
//! A random program has the given number of operations: additions, multiplications, square roots, minima, maxima and negations.
//! Operands are among the last `WINDOW` values, with one exception: when more than half of `WINDOW` values have not been read
//! yet, the first operand of the next operation is the oldest of them. So every value contributes to the result, and between
//! half of `WINDOW` and `WINDOW` values are live at a time.
//!
//! Bounds of each value are tracked to avoid NaNs and infinities. A value that may be negative is squared instead of taking its
//! square root. A sum or product that might be too large is replaced by the minimum or maximum of an operand and a coordinate.
//! The coordinates are a row and a column of `SIDE` float32 numbers from −1 to 1.
//!
//! `cargo run --release -p broadloom-bench --bin long_program [-- OPERATIONS [WINDOW [SEED [SIDE]]]]`
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::error::Error;
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use broadloom::text::Program;
use broadloom::{Array, Engine, Executor, Options, VectorWidth};

type BenchResult<T = ()> = Result<T, Box<dyn Error>>;

/// Values stay between −`BOUND` and `BOUND`.
const BOUND: f64 = 1024.0;
/// The number of runs of a row after the first.
const RUNS: usize = 4;

fn main() -> BenchResult {
    let asked: Vec<usize> = std::env::args().skip(1).map(|arg| arg.parse()).collect::<Result<_, _>>()?;
    let given = |i: usize, otherwise: usize| asked.get(i).copied().unwrap_or(otherwise);
    let (operations, window, seed, side) = (given(0, 8000), given(1, 64), given(2, 1), given(3, 1024));
    let text = ProgramDraft::new(seed as u64, window.max(2)).text(operations);
    println!("{operations} operations, window {window}, seed {seed}, {side} × {side}; milliseconds:");
    let (few, coordinates) = (coordinates(2)?, coordinates(side)?);
    let start = Instant::now();
    let program = Program::parse(&text)?;
    let parsed = ms(start);
    black_box(program.build(&coordinates)?);
    println!("reading the text {parsed:.1}, building the expression {:.1}", ms(start) - parsed);
    println!("executor width threads     2 × 2     first    second     least");
    let mut expected = None;
    for threads in [1, 2] {
        for width in VectorWidth::of_target().filter(|&width| width > VectorWidth::W128) {
            for executor in [Executor::Interp, Executor::Jit, Executor::Auto] {
                let vector_width = Some(width);
                let options =
                    Options { executor, vector_width, threads: Some(threads), ..Options::default() };
                print!("{:<8} {:>5} {threads:>7}", executor.name(), width.name());
                let bits = row(&text, &few, &coordinates, &options)?;
                if *expected.get_or_insert_with(|| bits.clone()) != bits {
                    return Err("executors give other bits".into());
                }
            }
        }
    }
    Ok(())
}

/// Prints the times of a row: the first evaluation on 2 × 2 elements, which consists mostly of planning and compiling, and
/// evaluations on all elements. Each evaluation starts from the text. Returns the bits of the result.
fn row(text: &str, few: &Coordinates, coordinates: &Coordinates, options: &Options) -> BenchResult<Vec<u32>> {
    let timed = |coordinates: &Coordinates| -> BenchResult<(f64, Array<'static>)> {
        let start = Instant::now();
        let result = run(text, coordinates, options)?;
        Ok((ms(start), result))
    };
    Engine::global().clear();
    let (planned, _) = timed(few)?;
    Engine::global().clear();
    let (first, result) = timed(coordinates)?;
    let times = (0..RUNS).map(|_| Ok(timed(coordinates)?.0)).collect::<BenchResult<Vec<f64>>>()?;
    let least = times.iter().copied().fold(first, f64::min);
    println!(" {planned:>9.1} {first:>9.1} {:>9.1} {least:>9.1}", times[0]);
    Ok(result.to_vec::<f32>()?.into_iter().map(f32::to_bits).collect())
}

fn ms(since: Instant) -> f64 {
    1e3 * since.elapsed().as_secs_f64()
}

type Coordinates = [(&'static str, Array<'static>); 2];

fn coordinates(side: usize) -> BenchResult<Coordinates> {
    let along = || (0..side).map(|i| -1.0 + 2.0 * i as f32 / (side.max(2) - 1) as f32).collect::<Vec<f32>>();
    Ok([("x", Array::from_vec(along())), ("y", Array::from_vec(along()).reshape(&[-1, 1])?)])
}

/// Parses and evaluates a program.
fn run(text: &str, coordinates: &Coordinates, options: &Options) -> BenchResult<Array<'static>> {
    let program = Program::parse(text)?;
    let mut results = program.build(coordinates)?;
    let (_, root) = results.pop().ok_or("no result")?;
    Ok(root.eval_with(options)?)
}

/// A value of the program: its name, and its lower and upper bound.
#[derive(Clone)]
struct BoundedValue {
    name: String,
    low: f64,
    high: f64,
}

/// A program that is being generated.
struct ProgramDraft {
    state: u64,
    window: usize,
    text: String,
    written: usize,
    /// The last `window` values, and the values that no operation has read yet.
    recent: VecDeque<BoundedValue>,
    unread: VecDeque<BoundedValue>,
}

impl ProgramDraft {
    fn new(seed: u64, window: usize) -> ProgramDraft {
        let coordinates = ["x", "y"].map(|name| BoundedValue { name: name.to_owned(), low: -1.0, high: 1.0 });
        ProgramDraft {
            state: seed,
            window,
            text: "x: float32[n]; y: float32[m, 1]\n".to_owned(),
            written: 0,
            recent: coordinates.clone().into(),
            unread: coordinates.into(),
        }
    }

    /// A pseudo-random number below `n` (splitmix64).
    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % n as u64) as usize
    }

    /// Generates a program of this many operations.
    fn text(mut self, operations: usize) -> String {
        while self.written + self.unread.len() <= operations {
            let at = self.below(self.recent.len());
            let mut first = self.recent[at].clone();
            let waiting = self.unread.len();
            if waiting > self.window / 2 || self.written == 0 || self.written + waiting == operations {
                first = self.unread.pop_front().unwrap_or(first);
            }
            let at = self.below(self.recent.len());
            let second = self.recent[at].clone();
            self.step(&first, &second);
        }
        while self.unread.len() > 1 {
            let (Some(first), Some(second)) = (self.unread.pop_front(), self.unread.pop_front()) else {
                break;
            };
            self.extremum(&first, &second, self.written.is_multiple_of(2));
        }
        let result = self.unread.pop_front().map(|value| value.name).unwrap_or_default();
        writeln!(self.text, "return {result}").unwrap_or_default();
        self.text
    }

    /// Appends a random operation on `a` and `b`. If its result might be too large, appends the minimum or maximum of `a` and a
    /// coordinate instead.
    fn step(&mut self, a: &BoundedValue, b: &BoundedValue) {
        let products = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high];
        let of_all = |f: fn(f64, f64) -> f64| products.into_iter().reduce(f).unwrap_or(0.0);
        let (call, low, high) = match self.below(6) {
            0 => (format!("{} + {}", a.name, b.name), a.low + b.low, a.high + b.high),
            1 => (format!("{} * {}", a.name, b.name), of_all(f64::min), of_all(f64::max)),
            2 if a.low >= 0.0 => (format!("sqrt({})", a.name), a.low.sqrt(), a.high.sqrt()),
            2 => {
                let high = a.low.abs().max(a.high.abs()).powi(2);
                (format!("{0} * {0}", a.name), 0.0, high)
            }
            3 => (format!("-{}", a.name), -a.high, -a.low),
            4 => return self.extremum(a, b, true),
            _ => return self.extremum(a, b, false),
        };
        if low >= -BOUND && high <= BOUND {
            return self.push(call, low, high);
        }
        let name = if self.below(2) == 0 { "x" } else { "y" };
        let coordinate = BoundedValue { name: name.to_owned(), low: -1.0, high: 1.0 };
        self.extremum(a, &coordinate, a.high > 1.0);
    }

    /// Appends the minimum or maximum of two values.
    fn extremum(&mut self, a: &BoundedValue, b: &BoundedValue, least: bool) {
        let (call, of): (_, fn(f64, f64) -> f64) =
            if least { ("minimum", f64::min) } else { ("maximum", f64::max) };
        self.push(format!("{call}({}, {})", a.name, b.name), of(a.low, b.low), of(a.high, b.high));
    }

    fn push(&mut self, call: String, low: f64, high: f64) {
        let name = format!("v{}", self.written);
        writeln!(self.text, "{name} = {call}").unwrap_or_default();
        let value = BoundedValue { name, low, high };
        if self.recent.len() >= self.window {
            self.recent.pop_front();
        }
        self.recent.push_back(value.clone());
        self.unread.push_back(value);
        self.written += 1;
    }
}
