//! The `broadloom` command: array expressions over files.
//!
//! `eval` opens its files ([`source`], [`input`]), type-checks the whole expression, and evaluates it chunk by chunk ([`job`],
//! [`run`]) into files ([`output`]: [`npy`], [`npz`], [`table`]) and pictures ([`plot`]). The whole command line is checked
//! before any work begins. Output files ([`target`]) appear complete or not at all, even if a signal ends the process
//! ([`signals`]); [`failure`] defines the exit status.
// The crate's only unsafe code is an attribute in `stdout`.
#![deny(unsafe_code)]

use std::process::ExitCode;

use broadloom_core::printable;
use clap::{CommandFactory, Parser};

mod advice;
mod args;
mod eval;
mod excerpt;
mod failure;
mod format;
mod identity;
mod input;
mod job;
mod npy;
mod npz;
mod ops;
mod output;
mod plot;
mod progress;
mod request;
mod run;
mod scratch;
mod signals;
mod source;
mod stdout;
mod table;
mod target;
mod text;
mod unpack;

use text::Text;

fn main() -> ExitCode {
    signals::watch();
    let command = match args::Cli::try_parse() {
        Ok(parsed) => parsed.command,
        Err(error) => return ExitCode::from(misread(&error)),
    };
    let outcome = match command {
        args::Command::Completions(args) => completions(args.shell),
        // `eval` reports the errors of an evaluation itself, with an excerpt of the expression.
        args::Command::Eval(args) => {
            return eval::eval(&args).map_or_else(ExitCode::from, |()| ExitCode::SUCCESS);
        }
        args::Command::Ops(args) => ops::print(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.report(&Text::default())),
    }
}

/// Prints an error in the command-line arguments, or the requested help. Returns the exit status.
fn misread(error: &clap::Error) -> u8 {
    // If an argument contains characters that a terminal would interpret, the message is printed without colours and with these
    // characters escaped.
    let is_safe =
        std::env::args_os().all(|word| printable(&word.to_string_lossy()) == word.to_string_lossy());
    if error.use_stderr() {
        if is_safe {
            // If standard error is closed, nothing can be reported.
            let _ = error.print();
        } else {
            failure::complain(error.render());
        }
        return 2;
    }
    let printed = stdout::check().and_then(|()| error.print().map_err(failure::Failure::stdout));
    printed.map_or_else(|failure| failure.report(&Text::default()), |()| 0)
}

/// Prints the completion script for a shell.
fn completions(shell: clap_complete::Shell) -> Result<(), failure::Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::Cli::command(), "broadloom", &mut script);
    stdout::print(&String::from_utf8_lossy(&script))
}
