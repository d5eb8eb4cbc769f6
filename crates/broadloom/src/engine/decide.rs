//! Which executor runs a stage, and on how many threads: the engine's cost model, in one place.
//!
//! In: a kernel, its size, what is compiled already, what interpreting it has cost so far. Out: a [`Choice`] with the
//! reason. Must hold: it decides speed, never bits. The constants come from measurements on one machine with
//! AVX-512 (`docs/performance.md` says how to repeat them).

use std::fmt;

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
pub struct Choice<'a> {
    pub jit: bool,
    pub why: Why<'a>,
    /// Estimated nanoseconds on one thread.
    pub time: f64,
    /// What interpreting costs more than machine code, this time.
    pub regret: f64,
}

/// A reason, put into words only when someone asks.
#[derive(Clone, Copy)]
pub enum Why<'a> {
    /// The caller named the executor.
    Asked,
    /// There is no compiler.
    NoCompiler(&'a str),
    /// The code is there.
    Compiled,
    /// Interpreting costs more than compiling; both in nanoseconds.
    Pays { compile: f64, owed: f64 },
    /// It doesn't.
    DoesNotPay { compile: f64, owed: f64 },
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Why::Asked => f.write_str("as asked"),
            Why::NoCompiler(why) => f.write_str(why),
            Why::Compiled => f.write_str("its code is compiled already"),
            Why::Pays { compile, owed } => {
                let (compile, owed) = (compile / 1e3, owed / 1e3);
                write!(f, "compiling (~{compile:.0} µs) pays, interpreting costs ~{owed:.0} µs more")
            }
            Why::DoesNotPay { compile, owed } => {
                let (compile, owed) = (compile / 1e3, owed / 1e3);
                write!(f, "compiling (~{compile:.0} µs) would not pay yet, it would save ~{owed:.1} µs")
            }
        }
    }
}

/// Chooses the executor.
pub fn executor<'a>(s: &Situation<'a>) -> Choice<'a> {
    let cost = s.kernel.cost().max(1) as f64;
    let elements = s.elements as f64;
    let tiles = (elements / 256.0).ceil();
    let fused = elements * cost * FUSED;
    let interpreted = elements * cost * INTERPRETED + tiles * s.kernel.body.len() as f64 * DISPATCH;
    let regret = (interpreted - fused).max(0.0);
    let compile = COMPILE + COMPILE_PER_INSTRUCTION * cost;
    let owed = regret + s.regret;
    let (jit, why) = match (s.wanted, s.no_compiler) {
        (Executor::Interp, _) => (false, Why::Asked),
        (_, Some(why)) => (false, Why::NoCompiler(why)),
        (Executor::Jit, None) => (true, Why::Asked),
        (Executor::Auto, None) if s.compiled => (true, Why::Compiled),
        (Executor::Auto, None) if owed > compile => (true, Why::Pays { compile, owed }),
        (Executor::Auto, None) => (false, Why::DoesNotPay { compile, owed }),
    };
    Choice { jit, why, time: if jit { fused } else { interpreted }, regret }
}

/// How many threads share work of so many nanoseconds.
pub fn threads(time: f64, allowed: usize) -> usize {
    let useful = (time / PARALLEL * 2.0) as usize;
    allowed.min(useful).max(1)
}
