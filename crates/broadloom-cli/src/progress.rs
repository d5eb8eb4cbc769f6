//! Progress bars on standard error, and the check for interrupts.
//!
//! A bar appears only on a terminal, and only for work that takes longer than half a second; it is erased when the work
//! ends. Each update returns [`Failure::Interrupted`] after Ctrl-C or SIGTERM, so that destructors remove partially
//! written files.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::eval::print;
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

/// Work on so many bytes.
const BYTES: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

/// Work for so many seconds.
const SECONDS: &str = "{msg} {wide_bar} {pos}/{len} s";

/// Work on so many things.
const THINGS: &str = "{msg} {wide_bar} {pos}/{len} {eta}";

/// Work that counts.
const ENDLESS: &str = "{spinner} {msg}, {pos} s";

/// Work under way.
pub struct Progress {
    what: &'static str,
    template: &'static str,
    total: u64,
    began: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Begins work on this many bytes of results.
    pub fn new(what: &'static str, total: u64) -> Progress {
        Progress { what, template: BYTES, total, began: Instant::now(), bar: None }
    }

    /// Begins work that ends after a time, or at another end.
    pub fn until(what: &'static str, time: Option<Duration>) -> Progress {
        let template = if time.is_some() { SECONDS } else { ENDLESS };
        let total = time.unwrap_or_default().as_secs();
        Progress { what, template, total, began: Instant::now(), bar: None }
    }

    /// Begins work on so many things.
    pub fn through(what: &'static str, total: u64) -> Progress {
        Progress { what, template: THINGS, total, began: Instant::now(), bar: None }
    }

    /// Prints a line to standard output, and the bar below it.
    ///
    /// # Errors
    /// As [`print`].
    pub fn line(&self, line: &str) -> Result<(), Failure> {
        let text = format!("{line}\n");
        self.bar.as_ref().map_or_else(|| print(&text), |bar| bar.suspend(|| print(&text)))
    }

    /// Notes how many programs are done in work that ends after a time.
    ///
    /// # Errors
    /// [`Failure::Interrupted`] after Ctrl-C and the like.
    pub fn counted(&mut self, programs: u64) -> Result<(), Failure> {
        let seconds = self.began.elapsed();
        if let Some(bar) = &self.bar {
            let rate = programs as f64 / seconds.as_secs_f64();
            bar.set_message(format!("{}: {programs} programs, {rate:.0} a second", self.what));
        }
        self.reached(seconds.as_secs())
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
            self.bar = Some(self.draw(done));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
        Ok(())
    }

    fn draw(&self, done: u64) -> ProgressBar {
        let style = ProgressStyle::with_template(self.template);
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
