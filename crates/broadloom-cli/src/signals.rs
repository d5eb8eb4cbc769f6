//! Handles SIGINT, SIGTERM, SIGHUP and the time limit: the command's work ends, no temporary file is left behind, and the exit
//! status gives the reason.
//!
//! One thread waits for signals, and another one for the time limit. The first event asks the work to stop, which it does between
//! two parts. If it has not stopped after [`GRACE`], the process ends. Temporary files with names are listed in a [`Names`],
//! whose lock is held while such a file is created or renamed, so that none is missed. A signal that the command inherited as
//! ignored (`nohup`) stays ignored, and a file beyond the limit of `ulimit -f` is an error of the write, not the end of the
//! process.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

/// The time that work may take to stop by itself.
const GRACE: Duration = Duration::from_millis(60);

/// The signal that the process has received; 0 for none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// The number in [`RECEIVED`] that stands for the time limit, and the exit status for it, which is that of coreutils' `timeout`.
const TIME: i32 = -1;
const TIME_STATUS: u8 = 124;

/// The time limit, once it has passed.
static LIMIT: OnceLock<Duration> = OnceLock::new();

/// Whether the end of the process has been announced on standard error.
static ANNOUNCED: AtomicBool = AtomicBool::new(false);

static NAMES: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// The temporary files with names, which must be removed when the process ends.
pub struct Names(MutexGuard<'static, Option<HashSet<PathBuf>>>);

impl Names {
    /// Locks the list. While the lock is held, no signal ends the process.
    pub fn lock() -> Names {
        Names(NAMES.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a file that is about to be created.
    pub fn add(&mut self, path: PathBuf) {
        self.0.get_or_insert_default().insert(path);
    }

    fn remove_all(&mut self) {
        for path in self.0.take().unwrap_or_default() {
            // A file that can't be removed, or does not exist yet, is left alone.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The exit status after a signal (128 plus its number) or after the time limit; `None` if neither has happened.
pub fn status() -> Option<u8> {
    match RECEIVED.load(Ordering::Relaxed) {
        0 => None,
        TIME => Some(TIME_STATUS),
        signal => u8::try_from(128 + signal).ok().or(Some(130)),
    }
}

/// Whether the process has received a signal that ends it, or its time limit has passed.
pub fn interrupted() -> bool {
    RECEIVED.load(Ordering::Relaxed) != 0
}

/// Reports once that the command was interrupted or took too long. A second caller waits for the end of the process.
pub fn announce() {
    if ANNOUNCED.swap(true, Ordering::AcqRel) {
        loop {
            std::thread::park();
        }
    }
    let mut err = io::stderr();
    // A progress bar is erased first. If standard error is closed, nothing can be reported.
    let erase = if err.is_terminal() { "\r\x1b[K" } else { "" };
    let why = match LIMIT.get() {
        Some(limit) if status() == Some(TIME_STATUS) => {
            format!("the evaluation exceeds the time limit of {limit:?}; --max-time sets the limit")
        }
        _ => "interrupted".to_owned(),
    };
    let _ = err.write_all(format!("{erase}error: {why}\n").as_bytes());
}

/// Ends the process because of a signal, after giving the work time to stop. A second call has no effect.
fn end(signal: i32) {
    if RECEIVED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return;
    }
    std::thread::sleep(GRACE);
    let mut names = Names::lock();
    names.remove_all();
    announce();
    // The lock is never released, so that no further file is created.
    std::process::exit(status().unwrap_or(130).into());
}

/// Ends the process as a signal would, once this time has passed.
///
/// # Errors If the system refuses a thread.
pub fn limit(time: Duration) -> io::Result<()> {
    let wait = move || {
        std::thread::sleep(time);
        // The limit is set before other threads can see that it has passed.
        let _ = LIMIT.set(time);
        end(TIME);
    };
    std::thread::Builder::new().name("time limit".into()).stack_size(128 << 10).spawn(wait).map(drop)
}

/// Installs this module's handling of signals. If the system refuses it, signals end the process at once.
pub fn watch() {
    let (ready, waiting) = mpsc::channel();
    let thread = std::thread::Builder::new().name("signals".into()).stack_size(128 << 10);
    if thread.spawn(move || system::wait(&ready)).is_ok() {
        // This fails if the thread ended without installing a handler.
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

    /// Installs the handlers, reports that they are installed, and waits for the first signal.
    pub fn wait(ready: &Sender<()>) {
        // Once the signal is handled, it does not end the process any more, and the write fails instead.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
        let ignored = ignored();
        let kept = |signal: &i32| ignored & (1 << (signal - 1)) == 0;
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP].into_iter().filter(kept)) else {
            return;
        };
        // This fails if nobody waits for the report.
        let _ = ready.send(());
        if let Some(signal) = signals.forever().next() {
            super::end(signal);
        }
    }

    /// The signals that are ignored, as a bit set; empty if the system does not tell.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}

#[cfg(not(unix))]
mod system {
    use std::sync::mpsc::Sender;

    /// Installs the handler of Ctrl-C, and reports that it is installed.
    pub fn wait(ready: &Sender<()>) {
        const SIGINT: i32 = 2;
        if ctrlc::set_handler(|| super::end(SIGINT)).is_ok() {
            let _ = ready.send(());
        }
    }
}
