//! The `broadloom` command: array expressions over `.npy` files.
//!
//! In: the command line. Out: files, pictures, text. The flow of `eval`: [`args`] → [`input`] (headers) → types of the
//! whole expression → [`job`], [`chunk`] by chunk: [`input`] (data) → [`run`] → [`npy`], [`plot`]. Must hold: what is
//! wrong with the request is found before any work; files appear whole or not at all; exit status as [`failure`] says.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;

mod args;
mod bench;
mod chunk;
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
