//! Measures the cost of the first evaluation in a process.
//!
//! For each executor, prints the time from the first operator to the result, for an expression with eight operations on 1000
//! elements. It is the median over many new processes.
//!
//! `cargo run --release -p broadloom-bench --bin cold`
#![forbid(unsafe_code)]

use std::error::Error;
use std::process::Command;
use std::time::Instant;

use broadloom::{Array, Executor, Options};

const ELEMENTS: usize = 1000;
const PROCESSES: usize = 41;
const EXECUTORS: [Executor; 3] = [Executor::Auto, Executor::Interp, Executor::Jit];

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(name) = std::env::args().nth(1) {
        let executor = EXECUTORS.into_iter().find(|e| e.name() == name).ok_or("no such executor")?;
        println!("{}", first(executor)?);
        return Ok(());
    }
    println!("first evaluation of a process, 8 operations, {ELEMENTS} float32 elements, microseconds:");
    for executor in EXECUTORS {
        let mut times = Vec::new();
        for _ in 0..PROCESSES {
            let child = Command::new(std::env::current_exe()?).arg(executor.name()).output()?;
            times.push(String::from_utf8(child.stdout)?.trim().parse::<u64>()?);
        }
        times.sort_unstable();
        let at = |i: usize| times[i] as f64 / 1e3;
        let (median, least, most) = (at(PROCESSES / 2), at(0), at(PROCESSES - 1));
        println!("{:<7} median {median:7.1}   least {least:7.1}   most {most:7.1}", executor.name());
    }
    Ok(())
}

/// The time of this process's first evaluation, in nanoseconds.
fn first(executor: Executor) -> Result<u128, Box<dyn Error>> {
    let data = |step: f32| (0..ELEMENTS).map(|i| i as f32 * step + 0.5).collect::<Vec<f32>>();
    let (a, b) = (Array::from_vec(data(0.01)), Array::from_vec(data(0.02)));
    let options = Options { executor, ..Options::default() };
    let start = Instant::now();
    let y = ((&a * 2.0 + &b * 3.0) / (&a * &a + 1.0) - &b).sqrt().abs();
    let y = y.eval_with(&options)?;
    let time = start.elapsed().as_nanos();
    if y.len() != ELEMENTS {
        return Err("a result of another length".into());
    }
    Ok(time)
}
