//! `broadloom-bench` times the workloads and, in the same run, plain loops for comparison.
//!
//! Each row is printed as soon as it is measured, as a table or as JSON. A workload whose result differs from the loop's is not
//! timed. The exit status is 1 if a result differs or can't be computed, and 2 for a wrong command line.
#![forbid(unsafe_code)]

mod arguments;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use broadloom::{DType, VectorWidth};
use broadloom_bench::{BenchError, Measurement, Settings, WORKLOADS, Workload, run};

use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use arguments::CommandLine;

/// The default sizes: one for the overhead of calls, one each for the L1 and L2 caches, and two for memory.
const SIZES: [usize; 5] = [10, 1_000, 100_000, 10_000_000, 30_000_000];

/// The approximate duration of a measurement. The first is for sizes up to [`SMALL`], whose times vary less,
/// the second for larger sizes.
const BUDGETS: (Duration, Duration) = (Duration::from_millis(150), Duration::from_millis(400));
/// The largest size for which the shorter duration is used.
const SMALL: usize = 1_000;

/// The reason for a failure: an exit status and a message.
struct BenchFailure {
    status: u8,
    message: String,
}

impl From<BenchError> for BenchFailure {
    fn from(error: BenchError) -> BenchFailure {
        BenchFailure { status: 1, message: error.to_string() }
    }
}

impl From<io::Error> for BenchFailure {
    fn from(error: io::Error) -> BenchFailure {
        BenchFailure { status: 1, message: format!("standard output: {error}") }
    }
}

fn main() -> ExitCode {
    match bench(&CommandLine::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(BenchFailure { status, message }) => {
            eprintln!("error: {message}");
            ExitCode::from(status)
        }
    }
}

/// Measures the selected workloads, and prints a row for each measurement.
fn bench(args: &CommandLine) -> Result<(), BenchFailure> {
    let plan = plan(args)?;
    if args.threads.get() > 1 {
        // Creating the global thread pool fails if a pool already exists, which is then used.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(args.threads.get()).build_global();
    }
    let bar = bar(plan.len() as u64);
    if !args.json {
        line(&bar, &heading())?;
    }
    for (workload, dtype, n) in plan {
        for row in run(workload, dtype, n, &settings(args, n))? {
            line(&bar, &if args.json { json(&row, args.lazy) } else { columns(&row) })?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// A progress bar for this many measurements, which is shown on a terminal only.
fn bar(measurements: u64) -> ProgressBar {
    let target =
        if io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("measuring {wide_bar} {pos}/{len} {eta}");
    ProgressBar::with_draw_target(Some(measurements), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Prints a line above the progress bar.
fn line(bar: &ProgressBar, text: &str) -> io::Result<()> {
    bar.suspend(|| {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush())
    })
}

/// The selected measurements, in the order in which they are made.
fn plan(args: &CommandLine) -> Result<Vec<(&'static Workload, DType, usize)>, BenchFailure> {
    let all: Vec<&Workload> = WORKLOADS.iter().collect();
    let workloads = if args.workloads.is_empty() { &all } else { &args.workloads };
    let sizes = if args.sizes.is_empty() { &SIZES[..] } else { &args.sizes };
    let mut plan = Vec::new();
    for workload in workloads {
        for &dtype in workload.dtypes {
            if args.dtypes.is_empty() || args.dtypes.contains(&dtype) {
                plan.extend(sizes.iter().map(|&n| (*workload, dtype, n)));
            }
        }
    }
    if plan.is_empty() {
        return Err(BenchFailure {
            status: 2,
            message: "none of the workloads has one of these dtypes".into(),
        });
    }
    Ok(plan)
}

fn settings(args: &CommandLine, n: usize) -> Settings {
    let budget = if n <= SMALL { BUDGETS.0 } else { BUDGETS.1 };
    Settings {
        threads: args.threads.get(),
        executors: args.executors.clone(),
        vector_widths: args.vector_widths.clone(),
        lazy: args.lazy,
        budget: if args.quick { Duration::ZERO } else { budget },
    }
}

fn heading() -> String {
    format!(
        "{:<15} {:<8} {:>9}  {:<8} {:>9}  {:>8}  {:>6}  {:>6}",
        "workload", "dtype", "n", "executor", "ns/elem", "GB/s", "/ loop", "/ copy"
    )
}

fn columns(row: &Measurement) -> String {
    let executor = match row.vector_width {
        None => row.executor.clone(),
        Some(width) => format!("{} {width}", row.executor),
    };
    format!(
        "{:<15} {:<8} {:>9}  {:<8} {:>9.4}  {:>8.2}  {:>6.2}  {:>6.2}",
        row.workload,
        row.dtype.name(),
        row.n,
        executor,
        row.ns_per_elem,
        row.gb_s,
        row.loop_ratio,
        row.copy_ratio,
    )
}

/// The row as a JSON object. Names contain no characters that JSON would escape.
fn json(row: &Measurement, lazy: bool) -> String {
    let Measurement { workload, dtype, n, elements, threads, executor, ns_per_elem, gb_s, .. } = row;
    let Measurement { loop_ratio, copy_ratio, loop_ns_per_elem, copy_gb_s, asked, vector_width, .. } = row;
    let (asked, width) = (asked.name(), vector_width.map_or("auto", VectorWidth::name));
    let [ns_per_elem, gb_s, loop_ratio, copy_ratio, loop_ns_per_elem, copy_gb_s] =
        [ns_per_elem, gb_s, loop_ratio, copy_ratio, loop_ns_per_elem, copy_gb_s].map(|x| format!("{x:.6}"));
    format!(
        r#"{{"workload":"{workload}","dtype":"{dtype}","n":{n},"threads":{threads},"executor":"{executor}","ns_per_elem":{ns_per_elem},"gb_s":{gb_s},"loop_ratio":{loop_ratio},"copy_ratio":{copy_ratio},"loop_ns_per_elem":{loop_ns_per_elem},"copy_gb_s":{copy_gb_s},"elements":{elements},"asked":"{asked}","lazy":{lazy},"vector_width":"{width}"}}"#
    )
}
