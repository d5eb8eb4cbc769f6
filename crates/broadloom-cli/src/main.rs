//! The `broadloom` command: array expressions over files.
//!
//! `eval` opens its files ([`source`], [`input`]), types the whole expression, and evaluates it chunk by chunk
//! ([`job`], [`run`]) into files ([`output`]: [`npy`], [`npz`], [`table`]) and pictures
//! ([`plot`]). A request is checked completely before any work begins, and output files ([`target`]) appear whole or not
//! at all, whatever [`signals`] come; [`failure`] defines the exit status.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

mod advice;
mod args;
mod eval;
mod failure;
mod format;
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
mod signals;
mod source;
mod stdout;
mod table;
mod target;
mod text;

use text::Text;

fn main() -> ExitCode {
    signals::watch();
    let outcome = match args::Cli::parse().command {
        args::Command::Completions(args) => completions(args.shell),
        // Its failures point into its expression.
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

/// Prints the completions for a shell.
fn completions(shell: clap_complete::Shell) -> Result<(), failure::Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::Cli::command(), "broadloom", &mut script);
    stdout::print(&String::from_utf8_lossy(&script))
}
