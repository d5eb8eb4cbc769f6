//! Which executor runs a stage, and on how many threads: the engine's cost model, in one place.
//!
//! In: a kernel, its size, what is compiled already, what interpreting it has cost so far. Out: a [`Choice`] with the
//! reason. Must hold: it decides speed, never bits. The constants come from measurements on one machine with
//! AVX-512 (`docs/performance.md` says how to repeat them).

use std::fmt;

use broadloom_core::fuse::Stage;
use broadloom_core::kernel::{Code, Kernel};
use broadloom_core::{DType, Layout};
use broadloom_mem::Stores;

use crate::engine::jit::Width;
use crate::engine::options::Executor;
use crate::engine::trial::Trial;

/// What machine code costs.
struct Rates {
    /// Nanoseconds of one vector instruction per float32 element, in a fused loop; half as long for half the bytes.
    instruction: f64,
    /// Nanoseconds per element that float16's conversions add to an operation: there are instructions for them from 256
    /// bits on, else it is integer arithmetic.
    half: f64,
    /// Nanoseconds to compile a kernel, and per vector instruction of it.
    compile: f64,
    compile_instruction: f64,
}

/// On vectors of 128, 256 and 512 bits. Compiling for the wider ones takes half the time, up to some hundreds of
/// instructions (`cargo run --release -p broadloom-bench --features wide --bin wide compile`).
const RATES: [Rates; 3] = [
    Rates { instruction: 0.035, half: 2.2, compile: 60_000.0, compile_instruction: 2_200.0 },
    Rates { instruction: 0.018, half: 0.18, compile: 30_000.0, compile_instruction: 900.0 },
    Rates { instruction: 0.012, half: 0.075, compile: 30_000.0, compile_instruction: 900.0 },
];

/// Nanoseconds to load or store a float32 element, whoever runs the loop, and of an instruction of a host function.
const MOVE: f64 = 0.035;
/// Nanoseconds of one vector instruction per float32 element in the interpreter's loops at four lanes; they have as many as the host has.
const INTERPRETED: f64 = 0.06;
/// Nanoseconds per float32 element to load and store the tiles of one step of the interpreter.
const PASS: f64 = 0.03;
/// Nanoseconds per step and 256 elements of the interpreter.
const DISPATCH: f64 = 4.0;
/// Nanoseconds that machine code takes to call a host function, for so many elements at least: 3 to 6 were measured.
const CALL: f64 = 4.0;
const HOST_LANES: u32 = 4;
/// float16 arithmetic in nanoseconds per element: the loops convert by integer arithmetic at whatever width the host
/// has, or by its own conversions.
const INTERPRETED_HALF: f64 = 0.4;
const CONVERTED_HALF: f64 = 0.03;
/// What [`Code::cost`] has for the conversions of an operation: the loops do without, where the host converts.
const CONVERSIONS: f64 = 20.0;
/// Nanoseconds to bind memory and set up a run in the interpreter, and in machine code.
const CALL_INTERPRETED: f64 = 250.0;
const CALL_COMPILED: f64 = 60.0;
/// Nanoseconds of work below which a second thread costs more than it gives.
const PARALLEL: f64 = 100_000.0;
/// Estimates are within this factor of the truth, nearly always: closer ones are no reason to choose.
const UNSURE: f64 = 4.0;
/// What compiling may cost of the time that was spent interpreting, where only trying can tell whether it pays.
const VENTURE: f64 = 0.05;

/// Bytes of a stage's operands from which on the interpreter, and machine code on vectors of more than 128 bits, store
/// past the caches. Measured with float32 and float64 sums and triads on a host with 2 MiB of L2 and a shared L3: no difference at 24 MB, 0.7 to 0.9 of the time at 120 MB
/// and beyond, a loss within L2.
const BEYOND_CACHES: usize = 64 << 20;

/// Nanoseconds per byte that one thread moves from or to memory, there.
const PER_BYTE: f64 = 0.048;

/// The bytes of a stage's operands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    pub read: usize,
    pub written: usize,
}

impl Traffic {
    /// Reads the traffic off a stage: an element that serves several is moved once.
    pub fn of(stage: &Stage) -> Traffic {
        let distinct = |layout: &Layout| -> usize {
            let moved = layout.shape.iter().zip(&layout.strides).filter(|(_, stride)| **stride != 0);
            moved.map(|(extent, _)| *extent).product()
        };
        let inputs = stage.inputs.iter().zip(&stage.kernel.inputs);
        let read = inputs.fold(0usize, |sum, (input, dtype)| {
            sum.saturating_add(distinct(&input.layout).saturating_mul(dtype.size()))
        });
        let written: usize = stage.kernel.output_dtypes().map(DType::size).sum();
        Traffic { read, written: written.saturating_mul(stage.shape.elements()) }
    }

    /// How machine code writes the outputs: on vectors of 128 bits, as usual.
    pub fn stores_of(self, width: Width) -> Stores {
        if width > Width::W128 { self.stores() } else { Stores::Cached }
    }

    /// How the interpreter, and machine code on wide vectors, writes the outputs.
    pub fn stores(self) -> Stores {
        match self.read.saturating_add(self.written) < BEYOND_CACHES {
            true => Stores::Cached,
            false => Stores::Streaming,
        }
    }

    /// The nanoseconds that memory takes at least, of machine code and of the interpreter. Who stores past the caches does
    /// not read the lines that it writes.
    fn floor(self, width: Width) -> (f64, f64) {
        if self.stores() == Stores::Cached {
            return (0.0, 0.0);
        }
        let (read, written) = (self.read as f64 * PER_BYTE, self.written as f64 * PER_BYTE);
        let of = |stores| if stores == Stores::Cached { read + 2.0 * written } else { read + written };
        (of(self.stores_of(width)), of(Stores::Streaming))
    }
}

/// What a kernel is expected to cost, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Per element, in the interpreter's loops.
    interpreted: f64,
    /// Per tile of the interpreter.
    dispatch: f64,
    /// Of each [`Width`].
    machine: [Machine; 3],
}

/// What a kernel is expected to cost as machine code, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Machine {
    /// Per element, in a fused loop.
    fused: f64,
    /// To compile.
    compile: f64,
}

impl Estimate {
    /// Reads the estimate off a kernel's instructions.
    pub fn of(kernel: &Kernel) -> Estimate {
        // Loads and stores: an instruction each.
        let memory = kernel.inputs.iter().copied().chain(kernel.output_dtypes());
        let moved = memory.map(DType::size).sum::<usize>() as f64 / 4.0;
        let mut interpreted = moved * MOVE;
        // Of machine code: instructions, operations of float16, and what has one rate at every width.
        let (mut instructions, mut halves, mut others) = (0.0, 0.0, moved * MOVE);
        let (lanes, converts) = (broadloom_interp::lanes() as f64, broadloom_mem::converts_halves());
        for inst in &kernel.body {
            if let Code::Host(callee) = inst.code {
                // What the function takes, it takes in either; machine code calls it for every few elements.
                let time = f64::from(callee.signature.cost()) * MOVE;
                others += time + CALL / f64::from(HOST_LANES);
                interpreted += time + PASS;
                continue;
            }
            let (cost, width) =
                (f64::from(inst.code.cost()), inst.code.operand(inst.code.operands() - 1).size());
            let half = match inst.code {
                Code::Apply(_, dtype) => dtype == DType::Float16,
                Code::Cast(from, to) => from == DType::Float16 || to == DType::Float16,
                Code::Host(_) => false,
            };
            let scale = (width as f64 / 4.0).max(if half { 1.0 } else { 0.0 });
            let lean = (cost - CONVERSIONS).max(1.0);
            // float16 is converted, and computed as a wider type.
            let (pass, shown) = match half {
                false => (PASS * scale, cost),
                true if converts => (CONVERTED_HALF, lean),
                true => (INTERPRETED_HALF, cost),
            };
            instructions += if half { lean } else { cost } * scale;
            halves += if half { 1.0 } else { 0.0 };
            // What an op computes is wider in the loops, but each op is also a pass over tiles.
            interpreted += pass + shown * scale * INTERPRETED * 4.0 / lanes;
        }
        let machine = RATES.map(|rates| Machine {
            fused: instructions * rates.instruction + halves * rates.half + others,
            compile: rates.compile + rates.compile_instruction * kernel.cost() as f64,
        });
        Estimate { interpreted, dispatch: kernel.body.len() as f64 * DISPATCH, machine }
    }
}

/// What is known of a stage when it is to run.
pub struct Situation<'a> {
    pub estimate: Estimate,
    /// How wide the vectors of machine code are.
    pub width: Width,
    pub elements: usize,
    pub traffic: Traffic,
    pub wanted: Executor,
    /// Machine code is there already.
    pub compiled: bool,
    /// Why there is no compiler, if there is none.
    pub no_compiler: Option<&'a str>,
    /// Vector instructions of the kernel, and the most of one that is compiled.
    pub cost: (usize, usize),
    /// Nanoseconds that interpreting this stage has cost more than machine code would have, so far.
    pub regret: f64,
    /// Nanoseconds that interpreting this stage has cost so far.
    pub spent: f64,
    /// What runs of this stage have taken.
    pub trial: Trial,
}

/// Who runs, and why.
pub struct Choice<'a> {
    pub jit: bool,
    pub why: Why<'a>,
    /// Estimated nanoseconds on one thread.
    pub time: f64,
    /// What interpreting costs, this time, and how much of that more than machine code.
    pub cost: f64,
    pub regret: f64,
    /// Estimated nanoseconds on one thread, of either, and to compile.
    pub interpreted: f64,
    pub fused: f64,
    pub compile: f64,
}

/// A reason, put into words only when someone asks.
#[derive(Clone, Copy)]
pub enum Why<'a> {
    /// The caller named the executor.
    Asked,
    /// There is no compiler.
    NoCompiler(&'a str),
    /// The kernel has more instructions than are compiled.
    TooLong { cost: usize, limit: usize },
    /// The code is there.
    Compiled,
    /// The interpreter's loops are faster than machine code for these ops.
    Faster,
    /// Interpreting costs more than compiling; both in nanoseconds.
    Pays { compile: f64, owed: f64 },
    /// It doesn't.
    DoesNotPay { compile: f64, owed: f64 },
    /// Both executors were tried: nanoseconds of a run.
    Measured { interpreted: f64, compiled: f64 },
    /// Both executors are being tried.
    Trying,
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Why::Asked => f.write_str("as asked"),
            Why::NoCompiler(why) => f.write_str(why),
            Why::TooLong { cost, limit } => {
                write!(
                    f,
                    "its some {cost} vector instructions are more than are compiled ({limit}, the option max_compiled_cost)"
                )
            }
            Why::Compiled => f.write_str("its code is compiled already"),
            Why::Faster => f.write_str("its precompiled loops are faster here than machine code"),
            Why::Pays { compile, owed } => {
                let (compile, owed) = (compile / 1e3, owed / 1e3);
                write!(f, "compiling (~{compile:.0} µs) pays, interpreting costs ~{owed:.0} µs more")
            }
            Why::DoesNotPay { compile, owed } => {
                let (compile, owed) = (compile / 1e3, owed / 1e3);
                write!(f, "compiling (~{compile:.0} µs) would not pay yet, it would save ~{owed:.1} µs")
            }
            // Times would be others in each process.
            Why::Measured { interpreted, compiled } if compiled <= interpreted => {
                f.write_str("tried, machine code was faster")
            }
            Why::Measured { .. } => f.write_str("tried, the interpreter was faster"),
            Why::Trying => f.write_str("both are being tried, the estimates are too close"),
        }
    }
}

/// Chooses the executor.
pub fn executor<'a>(s: &Situation<'a>) -> Choice<'a> {
    let Estimate { interpreted, dispatch, machine } = s.estimate;
    let Machine { fused, compile } = machine[s.width as usize];
    let elements = s.elements as f64;
    let tiles = (elements / 256.0).ceil();
    let (fused_floor, interpreted_floor) = s.traffic.floor(s.width);
    let fused = (elements * fused).max(fused_floor) + CALL_COMPILED;
    let interpreted = (elements * interpreted + tiles * dispatch).max(interpreted_floor) + CALL_INTERPRETED;
    let regret = (interpreted - fused).max(0.0);
    let owed = regret + s.regret;
    let unsure = fused < interpreted * UNSURE && interpreted < fused * UNSURE;
    let (jit, why) = match (s.wanted, s.no_compiler) {
        (Executor::Interp, _) => (false, Why::Asked),
        (_, Some(why)) => (false, Why::NoCompiler(why)),
        _ if s.cost.0 > s.cost.1 => (false, Why::TooLong { cost: s.cost.0, limit: s.cost.1 }),
        (Executor::Jit, None) => (true, Why::Asked),
        (Executor::Auto, None) if unsure && s.compiled => match (s.trial.result(), s.trial.turn()) {
            (Some((interpreted, compiled)), _) => {
                (compiled <= interpreted, Why::Measured { interpreted, compiled })
            }
            (None, turn) => (turn.unwrap_or(true), Why::Trying),
        },
        (Executor::Auto, None) if unsure && s.spent * VENTURE > compile => (true, Why::Trying),
        (Executor::Auto, None) if interpreted < fused => (false, Why::Faster),
        (Executor::Auto, None) if s.compiled => (true, Why::Compiled),
        (Executor::Auto, None) if owed > compile => (true, Why::Pays { compile, owed }),
        (Executor::Auto, None) => (false, Why::DoesNotPay { compile, owed }),
    };
    let cost = if jit { 0.0 } else { interpreted };
    Choice {
        jit,
        why,
        time: if jit { fused } else { interpreted },
        regret: if jit { 0.0 } else { regret },
        cost,
        interpreted,
        fused,
        compile,
    }
}

/// Whether machine code is done with so many elements before a second thread would help.
pub fn is_short(estimate: &Estimate, width: Width, elements: usize) -> bool {
    threads(elements as f64 * estimate.machine[width as usize].fused, usize::MAX) == 1
}

/// How many threads share work of so many nanoseconds.
pub fn threads(time: f64, allowed: usize) -> usize {
    let useful = (time / PARALLEL * 2.0) as usize;
    allowed.min(useful).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A stage of 1000 elements whose executors take so many nanoseconds an element.
    fn stage(fused: f64, interpreted: f64) -> Situation<'static> {
        Situation {
            estimate: Estimate {
                interpreted,
                dispatch: 0.0,
                machine: [Machine { fused, compile: 100_000.0 }; 3],
            },
            width: Width::W128,
            elements: 1000,
            traffic: Traffic::default(),
            wanted: Executor::Auto,
            compiled: false,
            no_compiler: None,
            cost: (10, 100),
            regret: 0.0,
            spent: 0.0,
            trial: Trial::default(),
        }
    }

    fn runs(s: &Situation<'_>) -> (bool, String) {
        let choice = executor(s);
        (choice.jit, choice.why.to_string())
    }

    #[test]
    fn estimates_that_are_far_apart_decide() {
        let slow_interpreter = stage(1.0, 50.0);
        assert!(!runs(&slow_interpreter).0, "compiling does not pay yet");
        assert!(runs(&Situation { regret: 80_000.0, ..stage(1.0, 50.0) }).0, "it does by now");
        assert!(runs(&Situation { compiled: true, ..stage(1.0, 50.0) }).0, "it costs nothing");
        let slow_code = Situation { compiled: true, spent: 1e12, regret: 1e12, ..stage(50.0, 1.0) };
        assert_eq!(runs(&slow_code), (false, Why::Faster.to_string()));
    }

    #[test]
    fn estimates_that_are_close_are_tried_when_compiling_is_little_of_what_was_spent() {
        let close = |spent: f64| Situation { spent, ..stage(2.0, 1.5) };
        assert_eq!(runs(&close(1_900_000.0)), (false, Why::Faster.to_string()));
        assert_eq!(runs(&close(2_100_000.0)), (true, Why::Trying.to_string()));
    }

    /// Whoever was faster runs from then on, whatever the estimates say.
    #[test]
    fn a_trial_lets_both_run_and_decides() {
        for (interpreted, compiled) in [(900, 1100), (1100, 900)] {
            let mut s = Situation { compiled: true, ..stage(2.0, 1.5) };
            let mut ran = [0; 2];
            while s.trial.result().is_none() {
                let (jit, why) = runs(&s);
                assert_eq!(why, Why::Trying.to_string());
                ran[usize::from(jit)] += 1;
                s.trial.note(jit, Duration::from_nanos(if jit { compiled } else { interpreted }));
            }
            assert_eq!(ran, [4, 4]);
            let (jit, why) = runs(&s);
            assert_eq!(jit, compiled < interpreted, "{why}");
            let winner = if jit { "machine code" } else { "the interpreter" };
            assert_eq!(why, format!("tried, {winner} was faster"));
        }
    }

    #[test]
    fn what_the_caller_asks_for_is_not_weighed() {
        let asked = |wanted: Executor| Situation { wanted, compiled: true, ..stage(50.0, 1.0) };
        assert!(runs(&asked(Executor::Jit)).0);
        assert!(!runs(&Situation { wanted: Executor::Interp, compiled: true, ..stage(1.0, 50.0) }).0);
        assert!(!runs(&Situation { cost: (101, 100), ..asked(Executor::Jit) }).0, "too long to be compiled");
        assert!(!runs(&Situation { no_compiler: Some("none here"), ..asked(Executor::Jit) }).0);
    }
}
