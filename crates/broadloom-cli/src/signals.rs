//! SIGINT, SIGTERM, SIGHUP and the time limit: the work of the command ends, nothing is left behind, and the exit status gives
//! the reason.
//!
//! A thread waits for the signals, and another one for the end of the time. The first that comes asks the work to stop, which it does between two pieces; work that has
//! not stopped after [`GRACE`] is abandoned, and the process ends. Temporary files that have a name are listed in a
//! [`Names`], whose lock is held wherever such a file comes to be or is renamed, so that none is missed. A signal that
//! the command inherited as ignored (`nohup`) stays ignored, and a file beyond the limit of `ulimit -f` is an error of
//! the write, not the end of the process.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

/// The time that work may take to stop by itself.
const GRACE: Duration = Duration::from_millis(60);

/// The signal that the process received, 0 for none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// The number in [`RECEIVED`] for the end of the time, and its exit status, as of coreutils' `timeout`.
const TIME: i32 = -1;
const TIME_STATUS: u8 = 124;

/// The time limit, once it has passed.
static LIMIT: OnceLock<Duration> = OnceLock::new();

/// Whether the end of the process was announced on standard error.
static ANNOUNCED: AtomicBool = AtomicBool::new(false);

static NAMES: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// Temporary files with names, which must be removed when the process ends.
pub struct Names(MutexGuard<'static, Option<HashSet<PathBuf>>>);

impl Names {
    /// Waits for the list. While it is held, no signal ends the process.
    pub fn lock() -> Names {
        Names(NAMES.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes a file that is about to be created.
    pub fn add(&mut self, path: PathBuf) {
        self.0.get_or_insert_default().insert(path);
    }

    fn remove_all(&mut self) {
        for path in self.0.take().unwrap_or_default() {
            // A file that cannot be removed, or does not exist yet, is left alone.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The exit status after a signal, 128 and its number, or after the end of the time; none if there was neither.
pub fn status() -> Option<u8> {
    match RECEIVED.load(Ordering::Relaxed) {
        0 => None,
        TIME => Some(TIME_STATUS),
        signal => u8::try_from(128 + signal).ok().or(Some(130)),
    }
}

/// Whether the process received a signal that ends it, or its time is over.
pub fn interrupted() -> bool {
    RECEIVED.load(Ordering::Relaxed) != 0
}

/// Reports once that the command was interrupted or took too long; a second caller waits for the end of the process.
pub fn announce() {
    if ANNOUNCED.swap(true, Ordering::AcqRel) {
        loop {
            std::thread::park();
        }
    }
    let mut err = io::stderr();
    // The rest of a bar is erased first. If standard error is closed, nothing can be reported.
    let erase = if err.is_terminal() { "\r\x1b[K" } else { "" };
    let why = match LIMIT.get() {
        Some(limit) if status() == Some(TIME_STATUS) => {
            format!("the evaluation exceeds the time limit of {limit:?}; --max-time sets the limit")
        }
        _ => "interrupted".to_owned(),
    };
    let _ = err.write_all(format!("{erase}error: {why}\n").as_bytes());
}

/// Ends the process by the signal, after the work had its time to stop. A second call has no effect.
fn end(signal: i32) {
    if RECEIVED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return;
    }
    std::thread::sleep(GRACE);
    let mut names = Names::lock();
    names.remove_all();
    announce();
    // The lock is never released: no file comes to be any more.
    std::process::exit(status().unwrap_or(130).into());
}

/// Ends the process as a signal does once this time has passed.
///
/// # Errors
/// If the system refuses a thread.
pub fn limit(time: Duration) -> io::Result<()> {
    let wait = move || {
        std::thread::sleep(time);
        // Before the others hear of it.
        let _ = LIMIT.set(time);
        end(TIME);
    };
    std::thread::Builder::new().name("time limit".into()).stack_size(128 << 10).spawn(wait).map(drop)
}

/// Installs the handling of signals of this module. If the system refuses, they end the process at once.
pub fn watch() {
    let (ready, waiting) = mpsc::channel();
    let thread = std::thread::Builder::new().name("signals".into()).stack_size(128 << 10);
    if thread.spawn(move || system::wait(&ready)).is_ok() {
        // Fails if the thread ended without a handler.
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

    /// Installs the handlers, reports that they are there, and waits for the first signal.
    pub fn wait(ready: &Sender<()>) {
        // Handled, the signal no longer ends the process, and the write fails.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
        let ignored = ignored();
        let kept = |signal: &i32| ignored & (1 << (signal - 1)) == 0;
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP].into_iter().filter(kept)) else {
            return;
        };
        // Fails if there is no receiver.
        let _ = ready.send(());
        if let Some(signal) = signals.forever().next() {
            super::end(signal);
        }
    }

    /// The signals that are ignored, a bit each; none where the system does not say.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}

#[cfg(not(unix))]
mod system {
    use std::sync::mpsc::Sender;

    /// Installs the handler of Ctrl-C, and reports that it is there.
    pub fn wait(ready: &Sender<()>) {
        const SIGINT: i32 = 2;
        if ctrlc::set_handler(|| super::end(SIGINT)).is_ok() {
            let _ = ready.send(());
        }
    }
}
