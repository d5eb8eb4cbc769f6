//! How far long work has come, and whether somebody wants it to end.
//!
//! In: elements done. Out: a bar on standard error, if that is a terminal and the work takes longer than half a
//! second; [`Failure::Interrupted`] after Ctrl-C or `kill`, so that files half written are taken away. Must hold: nothing is
//! left of the bar when the work ends.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;

/// How long work may take before it gets a bar.
const PATIENCE: Duration = Duration::from_millis(500);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Notices Ctrl-C, `kill` and a closed terminal from now on instead of ending at once; the second one ends at once.
pub fn notice_interrupts() {
    // Without a handler they end the process as ever, and leave a temporary file.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Work under way.
pub struct Progress {
    what: &'static str,
    total: u64,
    began: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Begins work on this many bytes of results.
    pub fn new(what: &'static str, total: u64) -> Progress {
        Progress { what, total, began: Instant::now(), bar: None }
    }

    /// Notes how many bytes are done.
    ///
    /// # Errors
    /// [`Failure::Interrupted`] after Ctrl-C and the like.
    pub fn reached(&mut self, done: u64) -> Result<(), Failure> {
        if INTERRUPTED.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        if self.bar.is_none() && self.began.elapsed() > PATIENCE && io::stderr().is_terminal() {
            self.bar = Some(bar(self.what, done, self.total, self.began));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
        Ok(())
    }
}

fn bar(what: &'static str, done: u64, total: u64, began: Instant) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(what);
    bar.with_elapsed(began.elapsed()).with_position(done)
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
