//! How many threads share the work of a stage.
//!
//! Nothing is started for short work. Where threads are refused, or stayed behind in the process that this one was forked
//! from, the caller's thread works alone.

use std::error::Error;
use std::sync::OnceLock;

use crate::engine::cost;
use crate::engine::options::Options;

/// How many threads may share work of so many nanoseconds in an engine that this process made.
pub fn threads(options: &Options, time: f64, process: u32) -> usize {
    let alone = cost::threads(time, usize::MAX) == 1 || options.threads.is_some_and(|limit| limit <= 1);
    if alone || std::process::id() != process || !has_pool() {
        return 1;
    }
    let pool = rayon::current_num_threads();
    options.threads.map_or(pool, |limit| limit.clamp(1, pool))
}

/// Whether there is a pool: the one that this thread belongs to, or the global one, which is started on first use.
///
/// Left to itself, rayon panics where the system refuses its threads.
fn has_pool() -> bool {
    static GLOBAL: OnceLock<bool> = OnceLock::new();
    let start = || match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        Err(e) if e.source().is_some() => false,
        // Someone else was first: with success, or rayon panics here.
        Err(_) => std::panic::catch_unwind(rayon::current_num_threads).is_ok(),
    };
    rayon::current_thread_index().is_some() || *GLOBAL.get_or_init(start)
}
