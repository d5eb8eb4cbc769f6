//! `broadloom-fuzz` evaluates random programs with every executor, and compares the results bit for bit.
//!
//! A seed gives the same program on every machine. If results differ, the program is printed in the form that `--program` reads.
//! A run that tries no program counts as a failure. The exit status is 0 if all results are equal, 1 for a difference or a file
//! that can't be read or written, 2 for a wrong command line, and 130 after an interrupt.
#![forbid(unsafe_code)]

mod arguments;
mod progress;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use broadloom_core::printable;
use broadloom_testkit::differential::{Finding, MOST_ELEMENTS, Search, program_of_seed};
use broadloom_testkit::gradients::{difference_of_all, program_with_gradients};
use broadloom_testkit::random::{
    Program, ProgramError, instance, program_with_draws, program_with_joins, program_with_loops,
    program_with_routines,
};
use clap::Parser;

use arguments::FuzzArguments;
use progress::SearchProgress;

/// The default duration of a search, if neither a duration nor a number of programs is given.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

/// The maximum total number of elements in the steps of a given program, since the reference keeps all of them in memory.
const TOO_MANY_ELEMENTS: usize = 1 << 24;

/// The reason for a failure: an exit status and a message.
struct FuzzFailure {
    status: u8,
    message: String,
}

impl FuzzFailure {
    fn of_file(path: &Path, why: impl std::fmt::Display) -> FuzzFailure {
        FuzzFailure { status: 1, message: format!("{}: {why}", path.display()) }
    }

    fn of_stdout(error: &io::Error) -> FuzzFailure {
        FuzzFailure { status: 1, message: format!("standard output: {error}") }
    }
}

fn main() -> ExitCode {
    let interrupted = Arc::new(AtomicBool::new(false));
    watch(&interrupted);
    match fuzz(&FuzzArguments::parse(), &interrupted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(FuzzFailure { status, message }) => {
            eprintln!("error: {}", printable(&message));
            ExitCode::from(status)
        }
    }
}

/// Installs handlers so that SIGINT and SIGTERM end the search with a report. A second signal ends the process.
fn watch(interrupted: &Arc<AtomicBool>) {
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // If no handler can be installed, a signal ends the process at once, as by default.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(interrupted));
        let _ = signal_hook::flag::register(signal, Arc::clone(interrupted));
    }
    #[cfg(not(unix))]
    let _ = interrupted;
}

/// Searches, reports how much was tried, and fails if results differ.
fn fuzz(args: &FuzzArguments, interrupted: &AtomicBool) -> Result<(), FuzzFailure> {
    let template = args.program.as_deref().map(read).transpose()?;
    let target = args.output.as_deref().map(|path| create(path, args.force)).transpose()?;
    let time = match (args.seconds, args.programs) {
        (None, None) => Some(DEFAULT_TIME),
        (seconds, _) => seconds,
    };
    let progress = SearchProgress::new(time);
    let telling = |done: u64| {
        progress.counted(done);
        !interrupted.load(Ordering::Relaxed)
    };
    let noticing = |_: u64, difference: &str| {
        progress.say(&format!("warning: {difference}; making the program smaller"))
    };
    let given = |seed: u64| match &template {
        None if args.loops => program_with_loops(seed),
        None if args.joins => program_with_joins(seed),
        None if args.draws => program_with_draws(seed),
        None if args.gradients => program_with_gradients(seed),
        None if args.routines => program_with_routines(seed),
        None => program_of_seed(seed),
        Some(template) => instance(template, seed, MOST_ELEMENTS),
    };
    let search = |seeds| {
        let search = Search::new(seeds);
        let search = if args.gradients { search.by(&difference_of_all) } else { search };
        search.up_to(args.vector_width).within(time).telling(&telling).noticing(&noticing)
    };
    // The program of a file is first tried with its own values, and then with other values.
    let first = match &template {
        Some(template) => search(0..1).of(&|_| template.clone()).run().map(drop),
        None => Ok(()),
    };
    let seeds = args.seed..args.seed.saturating_add(args.programs.unwrap_or(u64::MAX));
    let found = match first {
        Ok(()) => {
            search(seeds).of(&given).run().map_err(|finding| (format!("seed {}", finding.seed), finding))
        }
        Err(finding) => Err(("the program as it is".to_owned(), finding)),
    };
    progress.erase();
    let is_interrupted = interrupted.load(Ordering::Relaxed);
    let stopped = || Err(FuzzFailure { status: 130, message: "interrupted".into() });
    match found {
        Ok(summary) if summary.programs > 0 => {
            let last = args.seed + (summary.programs - 1);
            print(&format!("seeds {} to {last}: {summary}\n", args.seed))?;
            if is_interrupted { stopped() } else { Ok(()) }
        }
        Ok(_) if is_interrupted => stopped(),
        Ok(_) => {
            let message = "no program was tried: give it more time, or more programs".into();
            Err(FuzzFailure { status: 2, message })
        }
        Err((which, finding)) => Err(report(&which, &finding, args.output.as_deref(), target)),
    }
}

fn read(path: &Path) -> Result<Program, FuzzFailure> {
    let text = std::fs::read_to_string(path).map_err(|error| FuzzFailure::of_file(path, error))?;
    let program: Program = text.parse().map_err(|error: ProgramError| FuzzFailure::of_file(path, error))?;
    let elements = program.types().iter().fold(0usize, |sum, t| sum.saturating_add(t.elements()));
    if elements > TOO_MANY_ELEMENTS {
        let why = format!("its steps have more than {TOO_MANY_ELEMENTS} elements together");
        return Err(FuzzFailure::of_file(path, why));
    }
    Ok(program)
}

/// A temporary file for a failing program. It appears at its path only if such a program is found.
fn create(path: &Path, force: bool) -> Result<tempfile::NamedTempFile, FuzzFailure> {
    if !force && path.exists() {
        return Err(FuzzFailure::of_file(path, "the file exists already; write --force to replace it"));
    }
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    tempfile::NamedTempFile::new_in(folder).map_err(|error| FuzzFailure::of_file(path, error))
}

fn print(text: &str) -> Result<(), FuzzFailure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| FuzzFailure::of_stdout(&error))
}

/// Writes the failing program to the requested file, or to standard output. Returns the failure to exit with.
fn report(
    which: &str,
    finding: &Finding,
    path: Option<&Path>,
    target: Option<tempfile::NamedTempFile>,
) -> FuzzFailure {
    let text = finding.to_string();
    let mut place = "above".to_owned();
    let written = match (path, target) {
        (Some(path), Some(target)) => match write(&text, target, path) {
            Ok(()) => {
                place = format!("in {}", path.display());
                Ok(())
            }
            // If the file can't be written, the program is printed instead.
            Err(error) => {
                eprintln!("warning: {}: {error}", printable(&path.display().to_string()));
                print(&text)
            }
        },
        _ => print(&text),
    };
    let message = format!("{which}: {}; a small program that shows it is {place}", finding.difference);
    written.err().unwrap_or(FuzzFailure { status: 1, message })
}

fn write(text: &str, mut target: tempfile::NamedTempFile, path: &Path) -> io::Result<()> {
    target.write_all(text.as_bytes())?;
    let _: File = target.persist(path).map_err(|error| error.error)?;
    Ok(())
}
