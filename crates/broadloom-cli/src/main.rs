//! The `broadloom` command: array expressions over `.npy` files.
//!
//! `eval` reads the headers of its files ([`input`]), types the whole expression, and evaluates it chunk by chunk
//! ([`job`], [`chunk`], [`run`]) into files ([`npy`]) and pictures ([`plot`]). A request is checked completely before
//! any work begins, and output files appear whole or not at all; [`failure`] defines the exit status.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;

mod args;
mod bench;
mod eval;
mod failure;
mod fuzz;
mod input;
mod job;
mod npy;
mod ops;
mod plot;
mod progress;
mod run;
mod stdout;
mod target;

fn main() -> ExitCode {
    let outcome = match args::Cli::parse().command {
        args::Command::Bench(args) => bench::bench(&args).map_err(|failure| failure.report("")),
        args::Command::Eval(eval) => eval::eval(&eval).map_err(|failure| failure.report(&eval.expression)),
        args::Command::Fuzz(args) => fuzz::fuzz(&args).map_err(|failure| failure.report("")),
        args::Command::Ops(ops) => ops::print(&ops).map_err(|failure| failure.report("")),
    };
    outcome.map_or_else(ExitCode::from, |()| ExitCode::SUCCESS)
}
