//! `broadloom fuzz`: random programs, evaluated by every executor and compared bit for bit.
//!
//! A seed gives the same program on every machine, and the program of a finding is printed in the form that `--program`
//! reads. A run in which no program was tried counts as a failure, not as a success.

use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use broadloom_testkit::differential::{Finding, MOST_ELEMENTS, Search, program_of_seed};
use broadloom_testkit::random::{Program, ProgramError, instance};

use crate::args::FuzzArgs;
use crate::failure::{Failure, warn};
use crate::progress::Progress;
use crate::stdout::print;
use crate::target::{Target, TargetError};
use crate::text::shown;

/// How long to search if neither a time nor a number of programs is given.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

/// The maximum total of elements in the steps of a given program: the reference keeps all of them in memory.
const TOO_MANY_ELEMENTS: usize = 1 << 24;

/// Searches, reports how much was tried, and fails if results differ.
pub fn fuzz(args: &FuzzArgs) -> Result<(), Failure> {
    let template = args.program.as_deref().map(read).transpose()?;
    let target = args.output.as_deref().map(|path| create(path, args.force)).transpose()?;
    let time = match (args.seconds, args.programs) {
        (None, None) => Some(DEFAULT_TIME),
        (seconds, _) => seconds,
    };
    let progress = Mutex::new(Progress::until("comparing", time));
    let interrupted = AtomicBool::new(false);
    let telling = |done: u64| {
        // If another thread is reporting at this moment, its report suffices.
        if let Ok(mut progress) = progress.try_lock() {
            interrupted.fetch_or(progress.counted(done).is_err(), Ordering::Relaxed);
        }
        !interrupted.load(Ordering::Relaxed)
    };
    let noticing = |_: u64, difference: &str| warn(format_args!("{difference}; making the program smaller"));
    let given = |seed: u64| match &template {
        None => program_of_seed(seed),
        Some(template) => instance(template, seed, MOST_ELEMENTS),
    };
    let search = |seeds| {
        Search::new(seeds).up_to(args.vector_width).within(time).telling(&telling).noticing(&noticing)
    };
    // The program of a file first as it is, and then under other values.
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
    // The bar is erased before anything is printed.
    drop(progress);
    match found {
        Ok(summary) if summary.programs > 0 => {
            let last = args.seed + (summary.programs - 1);
            print(&format!("seeds {} to {last}: {summary}\n", args.seed))?;
            if interrupted.into_inner() { Err(Failure::Interrupted) } else { Ok(()) }
        }
        Ok(_) if interrupted.into_inner() => Err(Failure::Interrupted),
        Ok(_) => Err(Failure::Usage("no program was tried: give it more time, or more programs".into())),
        Err((which, finding)) => Err(report(&which, &finding, args.output.as_deref(), target)),
    }
}

fn read(path: &Path) -> Result<Program, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
    let program: Program = text.parse().map_err(|error: ProgramError| Failure::file(path, error))?;
    let elements = program.types().iter().fold(0usize, |sum, t| sum.saturating_add(t.elements()));
    if elements > TOO_MANY_ELEMENTS {
        let why = format!("its steps have more than {TOO_MANY_ELEMENTS} elements together");
        return Err(Failure::file(path, why));
    }
    Ok(program)
}

fn create(path: &Path, force: bool) -> Result<Target, Failure> {
    Target::create(path, force).map_err(|error| Failure::target(path, &error))
}

/// Writes the finding to the requested file, or to standard output; returns the failure to exit with.
fn report(which: &str, finding: &Finding, path: Option<&Path>, target: Option<Target>) -> Failure {
    let text = finding.to_string();
    let mut place = "above".to_owned();
    let written = match (path, target) {
        (Some(path), Some(mut target)) => {
            let written = target.write_all(text.as_bytes()).map_err(TargetError::from);
            match written.and_then(|()| target.finish()) {
                Ok(()) => {
                    place = format!("in {}", shown(path));
                    Ok(())
                }
                // If the file can't be written, the finding is printed.
                Err(error) => {
                    warn(format_args!("{}: {error}", shown(path)));
                    print(&text)
                }
            }
        }
        _ => print(&text),
    };
    let message = format!("{which}: {}; a small program that shows it is {place}", finding.difference);
    written.err().unwrap_or(Failure::Difference(message))
}
