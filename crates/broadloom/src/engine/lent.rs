//! The threads of an evaluation, lent to the crates that sort and reduce by label.

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_sort::{Stopped, Workers};

use crate::engine::outcome::Outcome;
use crate::engine::watch::Watch;

/// Why work ended before it was complete.
pub(crate) enum Ended {
    /// The threads stopped, or memory was refused.
    Stopped(Stopped),
    /// The work failed.
    Failed(Error),
}

impl From<Stopped> for Ended {
    fn from(why: Stopped) -> Ended {
        Ended::Stopped(why)
    }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Ended {
        Ended::Failed(error)
    }
}

/// Runs `work` over `count` elements with some threads of the evaluation, which stop when the watch says so.
pub(crate) fn lend<R, E: Into<Ended>>(
    threads: usize,
    count: usize,
    watch: Option<&Watch<'_>>,
    work: impl FnOnce(&dyn Workers) -> std::result::Result<R, E>,
) -> Result<R> {
    let lent = Lent { threads, outcome: Outcome::new(0, false, watch) };
    let made = work(&lent).map_err(|why| match (why.into(), lent.outcome.share(1, &|| ())) {
        (Ended::Failed(error), _) => error,
        (Ended::Stopped(Stopped::ByWorkers), Err(error)) => error,
        (Ended::Stopped(Stopped::ByWorkers), Ok(())) => Error::new(ErrorKind::Internal, "a thread was lost"),
        (Ended::Stopped(why @ Stopped::ByMemory), _) => Error::new(ErrorKind::Limit, why.to_string()),
    })?;
    lent.outcome.count(count);
    Ok(made)
}

/// Threads that are lent. The outcome has the error for which the work was stopped.
struct Lent<'l> {
    threads: usize,
    outcome: Outcome<'l>,
}

impl Workers for Lent<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn share(&self, threads: usize, work: &(dyn Fn() + Sync)) -> std::result::Result<(), Stopped> {
        self.stopped(self.outcome.share(threads, work))
    }

    fn go_on(&self) -> std::result::Result<(), Stopped> {
        self.stopped(self.outcome.go_on())
    }
}

impl Lent<'_> {
    fn stopped(&self, done: Result<()>) -> std::result::Result<(), Stopped> {
        done.map_err(|error| {
            self.outcome.fail(error);
            Stopped::ByWorkers
        })
    }
}
