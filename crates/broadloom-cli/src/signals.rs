//! Handles SIGINT, SIGTERM, SIGHUP and the time limit: the command stops, removes its temporary files, and exits with a status
//! that states the reason.
//!
//! One thread waits for signals, and another for the time limit. The first event asks the evaluation to stop, which it does at
//! its next check. If it has not stopped after [`GRACE`], the process exits without waiting for it. Temporary files that have
//! names are listed in [`Names`], whose lock is held while such a file is created or renamed, so that none is missed. A signal
//! that the command inherited as ignored (`nohup`) stays ignored. If a file exceeds the size limit of `ulimit -f`, the write
//! fails, and no signal ends the process.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

/// The time after which an evaluation that has not stopped is abandoned.
const GRACE: Duration = Duration::from_millis(60);

/// The number of the signal that the process received; 0 if it received none, [`TIME`] if the time limit has passed.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// The value of [`RECEIVED`] when the time limit has passed. The exit status is then the same as with coreutils' `timeout`.
const TIME: i32 = -1;
const TIME_STATUS: u8 = 124;

/// The time limit, for the message. Not set before the limit has passed.
static LIMIT: OnceLock<Duration> = OnceLock::new();

/// Whether the reason for exiting was already printed on standard error.
static ANNOUNCED: AtomicBool = AtomicBool::new(false);

static NAMES: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// The list of named temporary files, which must be removed when the process exits. A value of this type holds the list's lock.
pub struct Names(MutexGuard<'static, Option<HashSet<PathBuf>>>);

impl Names {
    /// Locks the list. While it is locked, no signal ends the process.
    pub fn lock() -> Names {
        Names(NAMES.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a file that is about to be created.
    pub fn add(&mut self, path: PathBuf) {
        self.0.get_or_insert_default().insert(path);
    }

    fn remove_all(&mut self) {
        for path in self.0.take().unwrap_or_default() {
            // If the file can't be removed, or was not created yet, the error is ignored.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The exit status after a signal (128 plus its number) or after the time limit; `None` if neither event occurred.
pub fn status() -> Option<u8> {
    match RECEIVED.load(Ordering::Relaxed) {
        0 => None,
        TIME => Some(TIME_STATUS),
        signal => u8::try_from(128 + signal).ok().or(Some(130)),
    }
}

/// Whether the process received a signal that ends it, or exceeded its time limit.
pub fn interrupted() -> bool {
    RECEIVED.load(Ordering::Relaxed) != 0
}

/// Prints once that the command was interrupted or took too long. A second caller sleeps until the process exits.
pub fn announce() {
    if ANNOUNCED.swap(true, Ordering::AcqRel) {
        loop {
            std::thread::park();
        }
    }
    let mut err = io::stderr();
    // First erases a progress bar. If standard error is closed, nothing can be reported.
    let erase = if err.is_terminal() { "\r\x1b[K" } else { "" };
    let why = match LIMIT.get() {
        Some(limit) if status() == Some(TIME_STATUS) => {
            format!("the evaluation exceeds the time limit of {limit:?}; --max-time sets the limit")
        }
        _ => "interrupted".to_owned(),
    };
    let _ = err.write_all(format!("{erase}error: {why}\n").as_bytes());
}

/// Ends the process because of a signal or the time limit, after the evaluation had time to stop. A second call has no effect.
fn end(signal: i32) {
    if RECEIVED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return;
    }
    std::thread::sleep(GRACE);
    let mut names = Names::lock();
    names.remove_all();
    announce();
    // The lock is held until the process exits, so that no further file is created.
    std::process::exit(status().unwrap_or(130).into());
}

/// Starts a thread that ends the process when the time limit has passed, in the same way as after a signal.
///
/// # Errors
/// If no thread can be started.
pub fn limit(time: Duration) -> io::Result<()> {
    let wait = move || {
        std::thread::sleep(time);
        // The limit is set before `end` prints the message that contains it.
        let _ = LIMIT.set(time);
        end(TIME);
    };
    std::thread::Builder::new().name("time limit".into()).stack_size(128 << 10).spawn(wait).map(drop)
}

/// Installs the signal handlers. If that fails, signals end the process at once, which is the system's default.
pub fn watch() {
    let (ready, waiting) = mpsc::channel();
    let thread = std::thread::Builder::new().name("signals".into()).stack_size(128 << 10);
    if thread.spawn(move || system::wait(&ready)).is_ok() {
        // An error means that the thread ended without installing a handler.
        let _ = waiting.recv();
    }
}

#[cfg(unix)]
mod system {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::Sender;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;

    /// Installs the handlers, notifies `ready`, and waits for the first signal.
    pub fn wait(ready: &Sender<()>) {
        // With a handler installed, the signal doesn't end the process, and the write fails instead.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
        let ignored = ignored();
        let kept = |signal: &i32| ignored & (1 << (signal - 1)) == 0;
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP].into_iter().filter(kept)) else {
            return;
        };
        // Sending fails if no thread is waiting for the message any more, which is harmless.
        let _ = ready.send(());
        if let Some(signal) = signals.forever().next() {
            super::end(signal);
        }
    }

    /// A bit mask of the ignored signals; 0 if the system does not report them.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}

#[cfg(not(unix))]
mod system {
    use std::sync::mpsc::Sender;

    /// Installs the handler of Ctrl-C, and notifies `ready`.
    pub fn wait(ready: &Sender<()>) {
        const SIGINT: i32 = 2;
        if ctrlc::set_handler(|| super::end(SIGINT)).is_ok() {
            let _ = ready.send(());
        }
    }
}
