//! Writes to standard output.
//!
//! A closed pipe is not an error, since its reader needs no more data. It is an error if standard output was closed when the
//! process began. Rust opens the null device in its place before `main`, so that every write would succeed; this module therefore
//! checks earlier, while the process is loaded.

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

/// Checks that standard output can be written to, before work whose result would be lost.
///
/// # Errors [`Failure::Stdout`] if standard output was closed when the process began.
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

    /// Runs with the other initialisers of the program, before `main` and Rust's runtime.
    #[expect(unsafe_code, reason = "the section decides that the loader calls the function")]
    #[used]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    // SAFETY: the section holds pointers to functions that are called once, and this is one: a system call on a descriptor,
    // which need not be open, and a store to an atomic. Nothing of it needs Rust's runtime.
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
    /// On this platform, writes to a closed standard output fail by themselves.
    pub fn was_open() -> std::io::Result<()> {
        Ok(())
    }
}
