//! Progress bars on standard error, and the check for interrupts.
//!
//! A bar appears only on a terminal, and only for work that takes longer than half a second; it is erased when the work ends.
//! After a signal, each update returns [`Failure::Interrupted`], so that the work ends by returning an error.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;
use crate::signals;

/// The time before a bar is drawn.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs work that may have to wait for another process. If it takes long, prints on a terminal what it is waiting for.
pub fn patiently<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (done, waiting) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        // If no thread can be started, nothing is shown.
        let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
            if waiting.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                // If standard error is closed, nothing can be reported.
                let _ = writeln!(io::stderr(), "{what} …");
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}

/// The template of the bar.
const BYTES: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

/// A progress bar that appears when the work takes long.
pub struct Progress {
    what: &'static str,
    total: u64,
    began: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts a progress bar for `total` bytes of results.
    pub fn new(what: &'static str, total: u64) -> Progress {
        Progress { what, total, began: Instant::now(), bar: None }
    }

    /// Reports that `done` bytes have been computed.
    ///
    /// # Errors
    /// [`Failure::Interrupted`] after a signal.
    pub fn reached(&mut self, done: u64) -> Result<(), Failure> {
        if signals::interrupted() {
            return Err(Failure::Interrupted);
        }
        if self.bar.is_none() && self.began.elapsed() > PATIENCE && io::stderr().is_terminal() {
            self.bar = Some(self.draw(done));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
        Ok(())
    }

    fn draw(&self, done: u64) -> ProgressBar {
        let style = ProgressStyle::with_template(BYTES);
        let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(self.what);
        bar.with_elapsed(self.began.elapsed()).with_position(done)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
