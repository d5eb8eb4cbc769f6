//! Writes to standard output.
//!
//! A closed pipe is no error: its reader has seen enough.

use std::io::{self, Write};

use crate::failure::Failure;

/// Prints a text and flushes it.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Stdout(error)),
        _ => Ok(()),
    }
}
