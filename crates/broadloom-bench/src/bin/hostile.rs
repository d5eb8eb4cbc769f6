//! Measures the time and memory taken by the texts of [`broadloom_bench::hostile`].
//!
//! For each text, prints the time until the text is evaluated or rejected and all its memory is freed, and the peak memory
//! of the process in addition to the text. Each run has its own process, and the time is the minimum of several runs.
//!
//! `cargo run --release -p broadloom-bench --bin hostile`
#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use broadloom::Array;
use broadloom::text::{Program, TextError, expression};
use broadloom_bench::hostile::{Hostile, texts};

/// The number of processes that are run for each text.
const PROCESSES: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).is_some() {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return answer(&text);
    }
    println!("{:45} {:>9} {:>9}  answer", "kind", "ms", "MiB");
    let (mut slowest, mut largest) = (0.0_f64, 0.0_f64);
    for Hostile { name, text, .. } in texts() {
        let (mut ms, mut mib, mut words) = (f64::INFINITY, 0.0_f64, String::new());
        for _ in 0..PROCESSES {
            let mut child = Command::new(std::env::current_exe()?)
                .arg("one")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            child.stdin.take().ok_or("no pipe")?.write_all(text.as_bytes())?;
            let told = String::from_utf8(child.wait_with_output()?.stdout)?;
            let parts: Vec<&str> = told.trim().splitn(3, '\t').collect();
            let [time, memory, answer] = parts[..] else { return Err(format!("{name}: no answer").into()) };
            (ms, mib, words) = (ms.min(time.parse()?), mib.max(memory.parse()?), answer.to_owned());
        }
        println!("{name:45} {ms:9.1} {mib:9.1}  {words}");
        (slowest, largest) = (slowest.max(ms), largest.max(mib));
    }
    println!("{:45} {slowest:9.1} {largest:9.1}", "the most of each");
    println!("a formula of ten operators, parsed and typed: {:.1} µs", formula()?);
    Ok(())
}

/// The median time to make a typed array from the text of an expression of ten operators, in microseconds.
fn formula() -> Result<f64, Box<dyn Error>> {
    let array = || Array::from_vec(vec![1.0_f32, 2.0, 3.0]);
    let names = [("a", array()), ("b", array()), ("c", array()), ("d", array())];
    let mut times = Vec::new();
    for _ in 0..2001 {
        let start = Instant::now();
        expression("(a - b) / (a + b) * 2.5 + c * c - 0.5 * d / (1 + a)", &names)?;
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2] as f64 / 1e3)
}

/// Evaluates one text. Prints the milliseconds taken, the additional memory in MiB, and the outcome.
fn answer(text: &str) -> Result<(), Box<dyn Error>> {
    let (x, i) = (Array::from_vec(vec![1.5_f32, 2.0]), Array::from_vec(vec![1_i32, 2]));
    let before = peak()?;
    let start = Instant::now();
    let answer = Program::parse(text).and_then(|program| {
        let unknown = program.inputs().filter(|input| input.dtype().is_none());
        let bound: Vec<(&str, Array<'_>)> = unknown
            .map(|input| (input.name(), if input.name() == "i" { i.clone() } else { x.clone() }))
            .collect();
        program.build(&bound).map(|results| results.len())
    });
    let time = start.elapsed();
    let words = match answer {
        Ok(results) => format!("{results} results"),
        Err(TextError { kind, message, .. }) => {
            format!("{kind:?}: {}", message.chars().take(50).collect::<String>())
        }
    };
    let memory = peak()?.saturating_sub(before) as f64 / 1024.0;
    println!("{}\t{memory}\t{words}", time.as_secs_f64() * 1e3);
    Ok(())
}

/// The peak memory of this process, in KiB.
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
