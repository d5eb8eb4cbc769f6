//! `broadloom fuzz`: random programs, evaluated in every way and compared bit for bit.
//!
//! In: [`FuzzArgs`]. Out: what was tried, or the first program that went wrong, made small. Must hold: a seed gives the
//! same program on every machine; a finding's text is a file that this command reads.

use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use broadloom_testkit::differential::{Finding, Search, program_of_seed};
use broadloom_testkit::random::{Program, ProgramError, Size, instance};

use crate::args::FuzzArgs;
use crate::eval::print;
use crate::failure::Failure;
use crate::progress::{Progress, notice_interrupts};
use crate::target::{Target, TargetError};

/// The most elements that a step of an instance of a given program has, if its extents can be made smaller.
const MOST_ELEMENTS: usize = 2000;

/// Searches, tells what was tried, and fails if something went wrong.
pub fn fuzz(args: &FuzzArgs) -> Result<(), Failure> {
    let template = args.program.as_deref().map(read).transpose()?;
    let target = args.output.as_deref().map(|path| create(path, args.force)).transpose()?;
    notice_interrupts();
    let program = |seed: u64| match &template {
        None => program_of_seed(seed),
        // The first is the program itself.
        Some(template) if seed == args.seed => (template.clone(), Size::Small),
        Some(template) => (instance(template, seed, MOST_ELEMENTS), Size::Small),
    };
    let progress = Mutex::new(Progress::until("comparing", args.seconds));
    let interrupted = AtomicBool::new(false);
    let telling = |done: u64| {
        // If another thread tells at this moment, that will do.
        if let Ok(mut progress) = progress.try_lock() {
            interrupted.fetch_or(progress.counted(done).is_err(), Ordering::Relaxed);
        }
        !interrupted.load(Ordering::Relaxed)
    };
    let seeds = args.seed..args.seed.saturating_add(args.programs.unwrap_or(u64::MAX));
    let found = Search::new(seeds).of(&program).within(args.seconds).telling(&telling).run();
    // The bar goes before anything is printed.
    drop(progress);
    match found {
        Ok(summary) => {
            let last = args.seed + summary.programs.saturating_sub(1);
            print(&format!("seeds {} to {last}: {summary}\n", args.seed))?;
            if interrupted.into_inner() { Err(Failure::Interrupted) } else { Ok(()) }
        }
        Err(finding) => Err(told(&finding, args.output.as_deref(), target)),
    }
}

fn read(path: &Path) -> Result<Program, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
    text.parse().map_err(|error: ProgramError| Failure::file(path, error))
}

fn create(path: &Path, force: bool) -> Result<Target, Failure> {
    Target::create(path, force).map_err(|error| Failure::target(path, &error))
}

/// Writes the finding where it was asked for, else to standard output; the failure to end with.
fn told(finding: &Finding, path: Option<&Path>, target: Option<Target>) -> Failure {
    let text = finding.to_string();
    let written = match (path, target) {
        (Some(path), Some(mut target)) => {
            let written = target.write_all(text.as_bytes()).map_err(TargetError::from);
            written.and_then(|()| target.finish()).map_err(|error| Failure::target(path, &error))
        }
        _ => print(&text),
    };
    let place = path.map_or_else(|| "above".to_owned(), |path| format!("in {}", path.display()));
    let difference = &finding.difference;
    let message = format!("seed {}: {difference}; a small program that shows it is {place}", finding.seed);
    written.err().unwrap_or(Failure::Difference(message))
}
