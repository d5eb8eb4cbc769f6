//! Which executor runs a stage, and on how many threads: the engine's cost model, in one place.
//!
//! In: a kernel, its size, what is compiled already, what interpreting it has cost so far. Out: a [`Choice`] with the
//! reason. Must hold: it decides speed, never bits. The constants come from measurements on one machine with
//! AVX-512 (`docs/performance.md` says how to repeat them).

use broadloom_core::Kernel;

use crate::engine::options::Executor;

/// Nanoseconds of one vector instruction per element, in a fused loop.
const FUSED: f64 = 0.10;
/// The same in the interpreter's loops for cheap ops, which pay for loads and stores of tiles.
const INTERPRETED: f64 = 0.18;
/// Nanoseconds per step and tile of the interpreter.
const DISPATCH: f64 = 20.0;
/// Nanoseconds to compile a kernel, and per vector instruction of it.
const COMPILE: f64 = 60_000.0;
const COMPILE_PER_INSTRUCTION: f64 = 2_200.0;
/// Nanoseconds of work below which a second thread costs more than it gives.
const PARALLEL: f64 = 100_000.0;

/// What is known of a stage when it is to run.
pub struct Situation<'a> {
    pub kernel: &'a Kernel,
    pub elements: usize,
    pub wanted: Executor,
    /// Machine code is there already.
    pub compiled: bool,
    /// Why there is no compiler, if there is none.
    pub no_compiler: Option<&'a str>,
    /// Nanoseconds that interpreting this stage has cost more than machine code would have, so far.
    pub regret: f64,
}

/// Who runs, and why.
pub struct Choice {
    pub jit: bool,
    pub reason: String,
    /// Estimated nanoseconds on one thread.
    pub time: f64,
    /// What interpreting costs more than machine code, this time.
    pub regret: f64,
}

/// Chooses the executor.
pub fn executor(s: &Situation<'_>) -> Choice {
    let cost = s.kernel.cost().max(1) as f64;
    let elements = s.elements as f64;
    let tiles = (elements / 256.0).ceil();
    let fused = elements * cost * FUSED;
    let interpreted = elements * cost * INTERPRETED + tiles * s.kernel.body.len() as f64 * DISPATCH;
    let regret = (interpreted - fused).max(0.0);
    let choose = |jit: bool, reason: String| Choice { jit, reason, time: if jit { fused } else { interpreted }, regret };
    match (s.wanted, s.no_compiler) {
        (Executor::Interp, _) => choose(false, "as asked".into()),
        (_, Some(why)) => choose(false, why.to_string()),
        (Executor::Jit, None) => choose(true, "as asked".into()),
        (Executor::Auto, None) if s.compiled => choose(true, "its code is compiled already".into()),
        (Executor::Auto, None) => {
            let compile = COMPILE + COMPILE_PER_INSTRUCTION * cost;
            let owed = regret + s.regret;
            let (owed_us, compile_us) = (owed / 1e3, compile / 1e3);
            if owed > compile {
                choose(true, format!("compiling (~{compile_us:.0} µs) pays: interpreting costs ~{owed_us:.0} µs more"))
            } else {
                choose(
                    false,
                    format!("compiling (~{compile_us:.0} µs) would not pay yet: it would save ~{owed_us:.1} µs"),
                )
            }
        }
    }
}

/// How many threads share work of so many nanoseconds.
pub fn threads(time: f64, allowed: usize) -> usize {
    let useful = (time / PARALLEL * 2.0) as usize;
    allowed.min(useful).max(1)
}
