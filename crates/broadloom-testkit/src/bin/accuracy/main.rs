//! Measures the largest error of broadloom's transcendental functions, in ulps, against independent references.
//!
//! The command prints a line for each function and dtype and, on request, writes `docs/generated/accuracy.json` and
//! `docs/generated/accuracy.md`. With `--check`, the command fails if an error exceeds its bound or the maximum stated in the
//! documentation.
#![forbid(unsafe_code)]

mod climb;
mod exact;
mod executor;
mod filter;
mod format;
mod leaders;
mod measure;
mod nearest;
mod points;
mod report;
mod results;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use broadloom_testkit::reference::{FloatFormat, Function};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use broadloom_core::Accuracy;
use executor::Which;
use measure::{FunctionRun, MeasuredRun};
use points::Points;
use results::AccuracyRow;

/// Measures the largest error of each transcendental function in ulps.
///
/// float16 and float32 functions of one argument are measured at all numbers of the format (2^32 for float32), other functions
/// of one argument at random and at hard points. Functions of two operands are measured at all pairs of every fifth float16, or
/// at pairs of many kinds and around the worst pairs of each kind. Errors are decided by arithmetic of 127 and of 400 bits.
#[derive(Parser)]
#[command(name = "accuracy", max_term_width = 110)]
struct AccuracyArguments {
    /// The functions to measure; by default all.
    functions: Vec<String>,
    /// The dtypes to measure: float16, float32, float64; by default all.
    #[arg(long, value_delimiter = ',')]
    dtype: Vec<String>,
    /// The accuracies to measure: fast, which functions have by default, and nearest, which gives the nearest float32; by
    /// default both.
    #[arg(long, value_delimiter = ',')]
    accuracy: Vec<String>,
    /// Measure one in this many points.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    thin: u64,
    /// The number of random points for a format that is too large to be measured as a whole.
    #[arg(long, default_value_t = 100_000_000)]
    points: u64,
    /// The number of threads; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// The seed of random points.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The executor of the functions.
    #[arg(long, value_enum, default_value_t = Which::Interpreter)]
    executor: Which,
    /// Put the figures into docs/generated/accuracy.json and rewrite docs/generated/accuracy.md, after each function.
    #[arg(long)]
    write: bool,
    /// Measure nothing; rewrite docs/generated/accuracy.md from docs/generated/accuracy.json.
    #[arg(long, conflicts_with = "write")]
    report: bool,
    /// Fail if a bound is not met, or if an error is greater than the maximum that docs/generated/accuracy.json states.
    #[arg(long)]
    check: bool,
    /// The folder of the page and its data.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/generated"), hide_default_value = true)]
    docs: PathBuf,
}

fn main() -> ExitCode {
    match run(&AccuracyArguments::parse()) {
        Ok(broken) if broken.is_empty() => ExitCode::SUCCESS,
        Ok(broken) => {
            broken.iter().for_each(|what| eprintln!("bound not met: {what}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures the selected functions, and returns the violations that `--check` finds.
fn run(arguments: &AccuracyArguments) -> Result<Vec<String>, String> {
    if arguments.report {
        write(&arguments.docs, Vec::new())?;
        return Ok(Vec::new());
    }
    let functions = chosen(&arguments.functions, &Function::ALL, |f| f.name().to_string())?;
    let formats = chosen(&arguments.dtype, &FloatFormat::ALL, |f| f.dtype.to_string())?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(arguments.threads)
        .build_global()
        .map_err(|error| error.to_string())?;
    let accuracies = chosen(&arguments.accuracy, &Accuracy::ALL, |a| a.name().to_string())?;
    let all = formats.iter().flat_map(|&format| accuracies.iter().map(move |&accuracy| (format, accuracy)));
    let stated =
        if arguments.write { Vec::new() } else { results::read(&arguments.docs.join("accuracy.json"))? };
    let mut broken = Vec::new();
    for (format, accuracy) in all {
        for &function in
            functions.iter().filter(|&&function| executor::code(function, accuracy, format.dtype).is_some())
        {
            let points = Points::new(function, format, arguments.points, arguments.thin, arguments.seed);
            let run = FunctionRun { function, format, points, which: arguments.executor, accuracy };
            let started = Instant::now();
            let progress = progress(&run);
            let outcome = run.measure(&progress)?;
            progress.finish_and_clear();
            let rows = AccuracyRow::of(&run, &outcome);
            print(&run, &outcome, started.elapsed());
            broken.extend(rows.iter().flat_map(AccuracyRow::broken));
            broken.extend(rows.iter().filter_map(|row| row.exceeds(&stated)));
            if arguments.write {
                write(&arguments.docs, rows)?;
            }
        }
    }
    Ok(if arguments.check { broken } else { Vec::new() })
}

/// The items with these names; all items if there are no names.
fn chosen<T: Copy>(names: &[String], all: &[T], name_of: impl Fn(&T) -> String) -> Result<Vec<T>, String> {
    if names.is_empty() {
        return Ok(all.to_vec());
    }
    let find = |name: &String| {
        let known = || all.iter().map(&name_of).collect::<Vec<_>>().join(", ");
        all.iter()
            .find(|item| name_of(item) == *name)
            .copied()
            .ok_or_else(|| format!("{name} is none of {}", known()))
    };
    names.iter().map(find).collect()
}

fn progress(run: &FunctionRun) -> ProgressBar {
    let template = "{msg:24} {wide_bar} {human_pos}/{human_len} {eta}";
    let style = ProgressStyle::with_template(template).expect("a template");
    let bar = ProgressBar::new(run.points.count()).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(500));
    bar.with_message(title(run))
}

/// The name of the function and of its dtype.
fn title(run: &FunctionRun) -> String {
    let title = format!("{} {}", run.function.name(), run.format.dtype);
    if run.accuracy == Accuracy::Nearest { format!("{title} nearest") } else { title }
}

/// Prints a line with the findings, and examples of wrong results.
fn print(run: &FunctionRun, outcome: &MeasuredRun, took: Duration) {
    let name = title(run);
    for (part, tally) in [("", &outcome.main), (" cancelling", &outcome.cancelling)] {
        let Some(worst) = tally.worst else { continue };
        println!(
            "{name:18}{part} {:12} points ({}): {:.6} ulps, {:.4} % not nearest; {}",
            tally.points,
            run.points.coverage(),
            worst.ulps,
            100.0 * tally.not_nearest as f64 / tally.points as f64,
            worst.describe(run.function, run.format),
        );
        for (what, count, case) in [
            ("of the wrong kind", tally.wrong, tally.first_wrong),
            ("out of order", tally.breaks, tally.first_break),
        ] {
            if let Some(case) = case {
                println!("{:18}   {count} {what}: {}", "", case.describe(run.function, run.format));
            }
        }
    }
    for case in &outcome.missed {
        let (missed, all) = (outcome.missed_count, outcome.exact);
        println!(
            "{:18}   {missed} of {all} exact cases missed: {}",
            "",
            case.describe(run.function, run.format)
        );
    }
    println!("{:18}   {:.1} s", "", took.as_secs_f64());
}

/// Updates the rows of the data file, and rewrites the page.
fn write(docs: &Path, measured: Vec<AccuracyRow>) -> Result<(), String> {
    let path = docs.join("accuracy.json");
    let rows = results::merge(results::read(&path)?, measured);
    let put =
        |path: PathBuf, text: String| fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()));
    put(path, results::print(&rows))?;
    put(docs.join("accuracy.md"), report::page(&rows))
}
