//! `broadloom bench`: times the workloads against plain loops measured in the same run.
//!
//! Each row is printed as soon as it is measured, as a table or as JSON. Nothing is timed whose result differs from the
//! loop's.

use std::time::Duration;

use broadloom::{DType, VectorWidth};
use broadloom_bench::{BenchError, Row, Settings, WORKLOADS, Workload, run};

use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::progress::Progress;

/// The default sizes: call overhead, L1, L2, and memory.
const SIZES: [usize; 5] = [10, 1_000, 100_000, 10_000_000, 30_000_000];

/// The approximate duration of a measurement, for small sizes, which vary less, and for others.
const BUDGETS: (Duration, Duration) = (Duration::from_millis(150), Duration::from_millis(400));
/// The largest small size.
const SMALL: usize = 1_000;

/// Measures, and prints the results.
pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let plan = plan(args)?;
    if args.threads.get() > 1 {
        // Fails if a pool exists already, which is then used.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(args.threads.get()).build_global();
    }
    let mut progress = Progress::through("measuring", plan.len() as u64);
    if !args.json {
        progress.line(&heading())?;
    }
    for (i, (workload, dtype, n)) in plan.iter().enumerate() {
        progress.reached(i as u64)?;
        for row in run(workload, *dtype, *n, &settings(args, *n)).map_err(failure)? {
            progress.line(&if args.json { json(&row, args.lazy) } else { columns(&row) })?;
        }
    }
    progress.reached(plan.len() as u64)
}

/// The measurements, in this order.
fn plan(args: &BenchArgs) -> Result<Vec<(&'static Workload, DType, usize)>, Failure> {
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
        return Err(Failure::Usage("none of the workloads has one of these dtypes".into()));
    }
    Ok(plan)
}

fn settings(args: &BenchArgs, n: usize) -> Settings {
    let budget = if n <= SMALL { BUDGETS.0 } else { BUDGETS.1 };
    Settings {
        threads: args.threads.get(),
        executors: args.executors.iter().map(|&executor| executor.into()).collect(),
        vector_widths: args.vector_widths.clone(),
        lazy: args.lazy,
        budget: if args.quick { Duration::ZERO } else { budget },
    }
}

fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Eval(error) => Failure::Eval(error),
        error => Failure::Difference(error.to_string()),
    }
}

fn heading() -> String {
    format!(
        "{:<15} {:<8} {:>9}  {:<8} {:>9}  {:>8}  {:>6}  {:>6}",
        "workload", "dtype", "n", "executor", "ns/elem", "GB/s", "/ loop", "/ copy"
    )
}

fn columns(row: &Row) -> String {
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

/// One JSON object; names have no characters that JSON escapes.
fn json(row: &Row, lazy: bool) -> String {
    let Row { workload, dtype, n, elements, threads, executor, ns_per_elem, gb_s, .. } = row;
    let Row { loop_ratio, copy_ratio, loop_ns_per_elem, copy_gb_s, asked, vector_width, .. } = row;
    let (asked, width) = (asked.name(), vector_width.map_or("auto", VectorWidth::name));
    let [ns_per_elem, gb_s, loop_ratio, copy_ratio, loop_ns_per_elem, copy_gb_s] =
        [ns_per_elem, gb_s, loop_ratio, copy_ratio, loop_ns_per_elem, copy_gb_s].map(|x| format!("{x:.6}"));
    format!(
        r#"{{"workload":"{workload}","dtype":"{dtype}","n":{n},"threads":{threads},"executor":"{executor}","ns_per_elem":{ns_per_elem},"gb_s":{gb_s},"loop_ratio":{loop_ratio},"copy_ratio":{copy_ratio},"loop_ns_per_elem":{loop_ns_per_elem},"copy_gb_s":{copy_gb_s},"elements":{elements},"asked":"{asked}","lazy":{lazy},"vector_width":"{width}"}}"#
    )
}
