//! The progress bar of a search. It is shown on a terminal only, and only after the search has run for a while.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time before a bar is drawn.
const PATIENCE: Duration = Duration::from_millis(500);

/// The progress of a search.
pub struct SearchProgress {
    began: Instant,
    time: Option<Duration>,
    is_shown: bool,
    bar: OnceLock<ProgressBar>,
}

impl SearchProgress {
    /// Starts the progress of a search that is limited by time, or by a number of programs.
    pub fn new(time: Option<Duration>) -> SearchProgress {
        let is_shown = std::io::stderr().is_terminal();
        SearchProgress { began: Instant::now(), time, is_shown, bar: OnceLock::new() }
    }

    /// Updates the number of programs done.
    pub fn counted(&self, programs: u64) {
        let elapsed = self.began.elapsed();
        if !self.is_shown || elapsed < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| self.draw());
        let rate = programs as f64 / elapsed.as_secs_f64();
        bar.set_message(format!("comparing: {programs} programs, {rate:.0} a second"));
        bar.set_position(elapsed.as_secs());
    }

    /// Prints a line to standard error, above the bar.
    pub fn say(&self, line: &str) {
        match self.bar.get() {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    /// Erases the bar.
    pub fn erase(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }

    fn draw(&self) -> ProgressBar {
        let template = match self.time {
            Some(_) => "{msg} {wide_bar} {pos}/{len} s",
            None => "{spinner} {msg}, {pos} s",
        };
        let length = self.time.map(|time| time.as_secs());
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.with_elapsed(self.began.elapsed())
    }
}
