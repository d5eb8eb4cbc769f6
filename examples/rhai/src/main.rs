//! Runs a script: `broadloom-rhai SCRIPT [FOLDER of .npy files]`.
//!
//! If the script fails, the program exits with status 1.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use broadloom_rhai::{Limits, engine};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(script) = args.next() else {
        eprintln!("usage: broadloom-rhai SCRIPT [FOLDER]");
        return ExitCode::FAILURE;
    };
    let folder = args.next().unwrap_or(".".into());
    match engine(Path::new(&folder), &Limits::default()).run_file(script.into()) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(e) => eprintln!("error: {e}"),
    }
    ExitCode::FAILURE
}
