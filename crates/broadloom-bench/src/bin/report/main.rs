//! Runs the table of workloads and writes the results into the documentation.
//!
//! The argument is a directory with a `performance.md` that contains two markers. After all measurements, the text between the
//! markers is replaced, and two plots are written to the same directory.
//!
//! `cargo run --release -p broadloom-bench --bin report -- docs/generated` takes some five minutes.
#![forbid(unsafe_code)]

mod measured;
mod page;
mod plots;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use broadloom::{DType, Executor};
use broadloom_bench::peak::peaks;
use broadloom_bench::{Settings, WORKLOADS, Workload, run, workload};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use measured::AllMeasured;

/// Run the table of workloads, and write tables and plots.
#[derive(Parser)]
struct Cli {
    /// The directory of performance.md.
    directory: PathBuf,

    /// Measure as briefly as possible, with small sizes.
    #[arg(long)]
    quick: bool,
}

const ALL: [Executor; 3] = [Executor::Auto, Executor::Interp, Executor::Jit];
/// The workloads that are timed at many sizes.
const CALLS: [&str; 2] = ["triad", "sigmoid"];
/// The workloads that are timed on one and on two threads.
const THREADS: [&str; 5] = ["add", "triad", "iter10", "sigmoid", "transposed"];

/// The sizes, and the approximate time to spend at a given size.
struct SizePlan {
    sizes: Vec<usize>,
    calls: Vec<usize>,
    threads: usize,
    budget: Box<dyn Fn(usize) -> Duration>,
}

impl SizePlan {
    fn new(quick: bool) -> SizePlan {
        if quick {
            return SizePlan {
                sizes: vec![10, 1000],
                calls: vec![1, 100, 1000],
                threads: 1 << 15,
                budget: Box::new(|_| Duration::ZERO),
            };
        }
        let powers = (0..7).flat_map(|e| [1, 3].map(|x| x * 10usize.pow(e)));
        SizePlan {
            sizes: vec![10, 1_000, 100_000, 10_000_000, 30_000_000],
            calls: powers.chain([10_000_000]).collect(),
            threads: 10_000_000,
            budget: Box::new(|n| Duration::from_millis(if n <= 1000 { 150 } else { 400 })),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let cli = Cli::parse();
    let page = cli.directory.join("performance.md");
    let text = std::fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    // Checks the page's markers before the measurements start.
    page::between(&text, "")?;
    let measured = measure(&SizePlan::new(cli.quick))?;
    plots::roofline(&cli.directory.join("roofline.svg"), &measured)?;
    plots::latency(&cli.directory.join("latency.svg"), &measured)?;
    std::fs::write(&page, page::between(&text, &page::section(&measured))?)?;
    Ok(())
}

fn measure(plan: &SizePlan) -> Result<AllMeasured, Box<dyn Error>> {
    let pairs = || WORKLOADS.iter().flat_map(|w| w.dtypes.iter().map(move |&dtype| (w, dtype)));
    let steps =
        pairs().count() * plan.sizes.len() + 2 * CALLS.len() * plan.calls.len() + 2 * THREADS.len() + 1;
    let bar = ProgressBar::new(steps as u64);
    bar.set_style(ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}")?);
    let timed = |w: &Workload, dtype: DType, n: usize, settings: Settings| {
        bar.set_message(format!("{} {dtype} {n}", w.name));
        let rows = run(w, dtype, n, &Settings { budget: (plan.budget)(n), ..settings });
        bar.inc(1);
        rows
    };

    bar.set_message("peak");
    let peaks = peaks((plan.budget)(0));
    bar.inc(1);
    let mut rows = Vec::new();
    for (w, dtype) in pairs() {
        for &n in &plan.sizes {
            rows.extend(timed(w, dtype, n, Settings { executors: ALL.into(), ..Settings::default() })?);
        }
    }
    let mut calls = Vec::new();
    for name in CALLS {
        let w = workload(name).ok_or("a workload is missing")?;
        for lazy in [false, true] {
            let mut line = Vec::new();
            for &n in &plan.calls {
                line.extend(timed(w, DType::Float32, n, Settings { lazy, ..Settings::default() })?);
            }
            calls.push((name, lazy, line));
        }
    }
    let mut threads = Vec::new();
    for name in THREADS {
        let w = workload(name).ok_or("a workload is missing")?;
        let on = |threads| Settings { threads, ..Settings::default() };
        let one = timed(w, DType::Float32, plan.threads, on(1))?;
        let two = timed(w, DType::Float32, plan.threads, on(2))?;
        threads.extend(one.into_iter().zip(two));
    }
    bar.finish_and_clear();
    Ok(AllMeasured { rows, calls, threads, peaks, sizes: plan.sizes.clone() })
}
