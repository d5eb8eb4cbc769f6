//! Writes to standard output.
//!
//! If its reader has closed a pipe, that is not reported as an error, since the reader needs no more output. A standard
//! output that was already closed when the process started is an error. To detect it, this module checks the descriptor while
//! the process is being loaded, because Rust replaces a closed descriptor with the null device before `main`, after which
//! every write succeeds.

use std::io::{self, Write};

use crate::failure::Failure;

/// Prints a text and flushes it.
pub fn print(text: &str) -> Result<(), Failure> {
    check()?;
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Stdout(error)),
        _ => Ok(()),
    }
}

/// Checks that standard output is open, before work is done whose result would be lost.
///
/// # Errors
/// [`Failure::Stdout`] if standard output was closed when the process started.
pub fn check() -> Result<(), Failure> {
    system::was_open().map_err(Failure::Stdout)
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::io::{Errno, fcntl_getfd};
    use rustix::stdio;

    static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

    /// The function pointer that the loader calls with the program's other initialisers, before `main` and Rust's runtime.
    #[expect(unsafe_code, reason = "the section decides that the loader calls the function")]
    #[used]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    // SAFETY: the section must contain pointers to functions that the loader calls once. `look` only makes a system call on a
    // descriptor, which need not be open, and stores to an atomic. Neither action needs Rust's runtime.
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        WAS_CLOSED.store(fcntl_getfd(stdio::stdout()) == Err(Errno::BADF), Ordering::Relaxed);
    }

    pub fn was_open() -> io::Result<()> {
        if WAS_CLOSED.load(Ordering::Relaxed) { Err(Errno::BADF.into()) } else { Ok(()) }
    }
}

#[cfg(not(unix))]
mod system {
    /// Always succeeds on other systems, where a write to a closed standard output fails by itself.
    pub fn was_open() -> std::io::Result<()> {
        Ok(())
    }
}
