//! The threads that sort, which belong to the caller.
//!
//! Work is divided into units, which the threads take one by one from a queue; it is complete also if the calling thread takes
//! all of them. No result depends on the number of threads or on who takes a unit.

use std::sync::{Mutex, OnceLock, PoisonError};

/// Why work was stopped before it was complete. The contents of its outputs are unspecified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The workers stopped it.
    ByWorkers,
    /// The system refused memory.
    ByMemory,
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stopped::ByWorkers => "stopped before the work was complete",
            Stopped::ByMemory => "the system refused memory",
        })
    }
}

impl std::error::Error for Stopped {}

/// Threads that a caller lends, and its wish to stop.
pub trait Workers: Sync {
    /// The number of threads that may share work, including the calling one.
    fn threads(&self) -> usize;

    /// Calls `work` on the calling thread, and concurrently on at most `threads` - 1 others. Returns after all calls have
    /// returned.
    ///
    /// # Errors
    ///
    /// A thread was lost, so that the work may be incomplete.
    fn share(&self, threads: usize, work: &(dyn Fn() + Sync)) -> Result<(), Stopped>;

    /// Whether the work goes on. It is called before each unit, which takes some milliseconds at most, by the thread that runs it.
    ///
    /// # Errors
    ///
    /// The work is to be stopped.
    fn go_on(&self) -> Result<(), Stopped>;
}

/// The calling thread alone, which never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Workers for Alone {
    fn threads(&self) -> usize {
        1
    }

    fn share(&self, _: usize, work: &(dyn Fn() + Sync)) -> Result<(), Stopped> {
        work();
        Ok(())
    }

    fn go_on(&self) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Runs `run` for each unit, on up to `threads` threads. Each thread makes a state of its own.
///
/// # Errors
///
/// The first error of a unit, after which no unit is begun; or the workers stopped.
pub fn for_each<U: Send, S, E: From<Stopped> + Send + Sync>(
    workers: &dyn Workers,
    threads: usize,
    units: impl Iterator<Item = U> + Send,
    state: impl Fn() -> S + Sync,
    run: impl Fn(&mut S, U) -> Result<(), E> + Sync,
) -> Result<(), E> {
    if threads <= 1 {
        let mut state = state();
        for unit in units {
            workers.go_on()?;
            run(&mut state, unit)?;
        }
        return Ok(());
    }
    let (units, stopped) = (Mutex::new(units), OnceLock::new());
    workers.share(threads, &|| {
        let mut own = None;
        while stopped.get().is_none() {
            let Some(unit) = units.lock().unwrap_or_else(PoisonError::into_inner).next() else { break };
            let done =
                workers.go_on().map_err(E::from).and_then(|()| run(own.get_or_insert_with(&state), unit));
            if let Err(why) = done {
                let _ = stopped.set(why);
            }
        }
    })?;
    stopped.into_inner().map_or(Ok(()), Err)
}
