//! The cost model: estimates the time of a run of a stage by the interpreter and by machine code.
//!
//! It consists of pure functions of the kernel, the vector width, the number of elements and the bytes of memory traffic. It
//! affects speed, never bits. Its constants are in `broadloom_ir::tuning`. The *regret* of a run on the interpreter is the time
//! by which the run is slower than machine code would have been, or 0 if it is faster. Once the total regret of all runs exceeds
//! the time of compiling, compiling would have paid.

use broadloom_core::kernel::{Code, Kernel};
use broadloom_core::{DType, Op};
use broadloom_ir::loop_plan::LoopPlan;
use broadloom_ir::tuning::executors::{
    CALL, CALL_COMPILED, CALL_INTERPRETED, CLOSE, CONVERSIONS, CONVERTED_HALF, DISPATCH, HOST_LANES,
    INTERPRETED, INTERPRETED_HALF, MOVE, PASS, PER_BYTE, RATES, WORD,
};
use broadloom_ir::tuning::loops::MASKED;
use broadloom_ir::tuning::recurrences::ROW;
use broadloom_ir::tuning::stores::{LARGE, NARROW};
use broadloom_ir::tuning::threads::{BYTES_AWAKE, LOOP_AWAKE, MOST_AWAKE, PARALLEL};
use broadloom_ir::{CodePlan, VectorWidth};
use broadloom_mem::{Caches, Stores};

/// The memory traffic of a stage, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub read: usize,
    pub written: usize,
    /// Whether the outputs stay in cache, where they are reduced or the next stage of a row block reads them.
    pub stays: bool,
}

impl Traffic {
    /// The traffic of a loop plan. An element that is used at several indices counts once.
    pub(crate) fn of(loops: &LoopPlan) -> Traffic {
        let sum = |operands: std::ops::Range<usize>| {
            operands.fold(0usize, |sum, operand| sum.saturating_add(loops.distinct_bytes(operand)))
        };
        let (inputs, all) = (loops.inputs(), loops.operands().len());
        Traffic { read: sum(0..inputs), written: sum(inputs..all), stays: false }
    }

    /// The kind of stores in machine code of this vector width. At 128 bits, machine code always uses cached stores.
    pub(crate) fn stores_of(self, width: VectorWidth) -> Stores {
        if width > VectorWidth::W128 { self.stores() } else { Stores::Cached }
    }

    /// The kind of stores in the interpreter, and in machine code on wide vectors.
    pub(crate) fn stores(self) -> Stores {
        self.stores_beside(Caches::of_target().last, VectorWidth::target())
    }

    /// The kind of stores on a CPU with a last-level cache of `cache` bytes, whose widest vectors are `target`.
    fn stores_beside(self, cache: usize, target: VectorWidth) -> Stores {
        let fits = self.read.saturating_add(self.written) < cache.saturating_mul(LARGE);
        let is_narrow = target < VectorWidth::W512 && self.written < self.read / NARROW;
        match self.stays || fits || is_narrow {
            true => Stores::Cached,
            false => Stores::Streaming,
        }
    }

    /// The minimum nanoseconds that memory traffic takes, for machine code and for the interpreter. Cached stores count twice,
    /// since they read each cache line before they write it; non-temporal stores do not.
    fn floor(self, width: VectorWidth) -> (f64, f64) {
        if self.stores() == Stores::Cached {
            return (0.0, 0.0);
        }
        let (read, written) = (self.read as f64 * PER_BYTE, self.written as f64 * PER_BYTE);
        let of = |stores| if stores == Stores::Cached { read + 2.0 * written } else { read + written };
        (of(self.stores_of(width)), of(Stores::Streaming))
    }
}

/// The estimated cost of a kernel, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// The interpreter's dispatch overhead per tile.
    dispatch: f64,
    /// The costs by [`VectorWidth`].
    at: [AtWidth; 3],
}

/// The estimated cost of a kernel on vectors of one width, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct AtWidth {
    /// Nanoseconds per element in the interpreter's loops.
    interpreted: f64,
    /// Nanoseconds per element in a fused loop of machine code.
    fused: f64,
    /// The time to compile the kernel.
    compile: f64,
}

impl Estimate {
    /// Estimates the cost from a kernel's instructions, and from the number of random words of 32 bits that are generated for
    /// an element.
    pub(crate) fn of(kernel: &Kernel, words: usize) -> Estimate {
        // Each load and each store counts as an instruction.
        let memory = kernel.inputs.iter().copied().chain(kernel.output_dtypes());
        let moved = memory.map(DType::size).sum::<usize>() as f64 / 4.0;
        // For the interpreter: nanoseconds per element for passes over tiles, and instructions in its loops.
        let generated = words as f64 * WORD;
        let (mut passes, mut looped) = (moved * MOVE + generated, 0.0);
        // For machine code: instructions, float16 operations, and nanoseconds per element that are the same at every vector
        // width.
        let (mut instructions, mut halves, mut others) = (0.0, 0.0, moved * MOVE + generated);
        let converts = broadloom_mem::converts_halves();
        let mut steps = 0.0;
        each_code(kernel, Times::ONCE, &mut |code, Times { times, masked }| {
            let operand = match code {
                Code::Host(callee) => {
                    // A host function itself takes the same time in either executor. Machine code calls it once for every
                    // `HOST_LANES` elements.
                    let time = f64::from(callee.signature.cost()) * MOVE;
                    others += (time + CALL / f64::from(HOST_LANES)) * times;
                    passes += (time + PASS) * times;
                    steps += times;
                    return;
                }
                Code::Apply { .. } | Code::Cast(..) => code.operand(code.operands() - 1),
                Code::Loop(_) | Code::Item { .. } => return,
                Code::Gather { dtype, .. } => dtype,
            };
            let (cost, width) = (f64::from(code.cost()), operand.size());
            let half = match code {
                Code::Cast(from, to) => from == DType::Float16 || to == DType::Float16,
                _ => operand == DType::Float16,
            };
            let scale = (width as f64 / 4.0).max(if half { 1.0 } else { 0.0 });
            let lean = (cost - CONVERSIONS).max(1.0);
            // A float16 operation converts its operands and computes in a wider type.
            let (pass, shown) = match half {
                false => (PASS * scale, cost),
                true if converts => (CONVERTED_HALF, lean),
                true => (INTERPRETED_HALF, cost),
            };
            instructions += if half { lean } else { cost } * scale * times;
            halves += if half { times } else { 0.0 };
            // The interpreter's loops are vectorised, but each op is a separate pass over a tile. Only `CanonicalNan` needs no
            // pass: the loop of the previous op applies it to the op's results.
            let is_step = if is_in_a_loop(code) { 0.0 } else { times };
            passes += pass * is_step * masked;
            steps += is_step;
            looped += shown * scale * times * masked;
        });
        let at = VectorWidth::ALL.map(|width| {
            let copies = CodePlan::copies(kernel, width);
            let (rates, lanes) = (&RATES[width as usize], broadloom_interp::lanes(width) as f64);
            AtWidth {
                interpreted: passes + looped * INTERPRETED * 4.0 / lanes,
                fused: instructions * rates.instruction + halves * rates.half + others,
                compile: rates.compile + rates.compile_instruction * kernel.length() as f64 * copies,
            }
        });
        Estimate { dispatch: steps * DISPATCH, at }
    }
}

/// How often an element performs an instruction.
#[derive(Clone, Copy)]
struct Times {
    /// The expected number of times.
    times: f64,
    /// The factor by which the interpreter takes longer for it, since the elements that iterate are a part of a tile.
    masked: f64,
}

impl Times {
    const ONCE: Times = Times { times: 1.0, masked: 1.0 };
}

/// Visits the instructions of a kernel and of its loops.
fn each_code(kernel: &Kernel, times: Times, visit: &mut dyn FnMut(Code, Times)) {
    for inst in &kernel.body {
        visit(inst.code, times);
        if let Code::Loop(number) = inst.code {
            let of = &kernel.loops[number as usize];
            each_code(&of.body, Times { times: times.times * of.trips() as f64, masked: MASKED }, visit);
        }
    }
}

/// Whether the interpreter computes this instruction in the loop of the previous one.
fn is_in_a_loop(code: Code) -> bool {
    matches!(code, Code::Apply { op: Op::CanonicalNan, .. })
}

/// The size of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub elements: usize,
    /// The number of rows that are computed one after another, each from the one before it; 0 if all elements are independent.
    pub rows: usize,
}

/// The estimated cost of one run of a stage on one thread, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunCost {
    pub interpreted: f64,
    /// The time of a run of machine code.
    pub compiled: f64,
    /// The time to compile the machine code first.
    pub compile: f64,
}

impl RunCost {
    /// Computes the cost of a run from a kernel's estimate.
    pub(crate) fn of(estimate: &Estimate, width: VectorWidth, size: Size, traffic: Traffic) -> RunCost {
        let Estimate { dispatch, at } = *estimate;
        let AtWidth { interpreted, fused, compile } = at[width as usize];
        let (elements, rows) = (size.elements as f64, size.rows as f64);
        let tiles = (elements / 256.0).ceil().max(rows);
        let (fused_floor, interpreted_floor) = traffic.floor(width);
        RunCost {
            interpreted: (elements * interpreted + tiles * dispatch).max(interpreted_floor)
                + CALL_INTERPRETED,
            compiled: (elements * fused).max(fused_floor).max(rows * ROW) + CALL_COMPILED,
            compile,
        }
    }

    /// The time by which the interpreter is slower than machine code.
    pub(crate) fn regret(&self) -> f64 {
        (self.interpreted - self.compiled).max(0.0)
    }

    /// Whether the two times are too close for the estimates to tell which executor is faster.
    pub(crate) fn is_close(&self) -> bool {
        self.compiled < self.interpreted * CLOSE && self.interpreted < self.compiled * CLOSE
    }
}

/// Nanoseconds per element of an operand if each element is loaded from memory separately.
const MISS: f64 = 10.0;
/// Maximum nanoseconds per element of an instruction with a slow path (`SLOW_PATH`) and without one (`FAST`). Functions of at
/// least `FUNCTION` vector instructions may have a slow path.
const SLOW_PATH: f64 = 300.0;
const FAST: f64 = 1.0;
const FUNCTION: u32 = 8;
/// Nanoseconds per element assumed for a host function, since its declared cost is only the application's guess.
const HOST: f64 = 10_000.0;
/// Maximum nanoseconds between two checks for cancellation in the slowest case. The usual time is a hundredth of it.
const PAUSE: f64 = 50e6;
/// Minimum and maximum number of elements between two checks for cancellation. The maximum takes some 20 µs with a cheap body.
const PAUSES: (f64, f64) = (256.0, (1 << 17) as f64);

/// The number of elements that a thread computes between two checks for cancellation.
pub(crate) fn pause(kernel: &Kernel) -> usize {
    let of_inst = |code: Code| match code {
        Code::Host(_) => HOST,
        code if code.cost() >= FUNCTION => SLOW_PATH,
        _ => FAST,
    };
    let mut element = (kernel.inputs.len() + kernel.outputs.len()) as f64 * MISS;
    each_code(kernel, Times::ONCE, &mut |code, of| element += of_inst(code) * of.times);
    (PAUSE / element).clamp(PAUSES.0, PAUSES.1) as usize
}

/// The minimum nanoseconds per element of an operand, in the estimate that decides whether a run is watched.
const READ: f64 = 1.0;

/// A high estimate of the nanoseconds of a run of this size on one thread; infinite with host functions, whose cost is
/// unknown, and with loops, whose numbers of iterations are.
pub(crate) fn work(kernel: &Kernel, estimate: &Estimate, size: Size, traffic: Traffic) -> f64 {
    if !kernel.functions.is_empty() || !kernel.loops.is_empty() {
        return f64::INFINITY;
    }
    let cost = RunCost::of(estimate, VectorWidth::target(), size, traffic);
    let operands = (kernel.inputs.len() + kernel.outputs.len()) as f64;
    cost.interpreted.max(cost.compiled).max(size.elements as f64 * operands * READ)
}

/// The estimated nanoseconds of machine code for this many elements on one thread.
pub(crate) fn fused(estimate: &Estimate, width: VectorWidth, elements: usize) -> u64 {
    (elements as f64 * estimate.at[width as usize].fused) as u64
}

/// The number of threads that share work of this many nanoseconds, if all threads except the caller may have to be woken.
pub(crate) fn threads(time: u64) -> usize {
    (time / (PARALLEL / 2)).max(1) as usize
}

/// Whether a loop of this many nanoseconds is too short for a second thread to help.
#[inline]
pub(crate) fn is_short(time: u64) -> bool {
    time < 2 * LOOP_AWAKE
}

/// The number of threads, all of them awake, that share a short loop of this many nanoseconds. `None` if the loop is long enough
/// for sleeping threads to be woken, or if its operands have more than `BYTES_AWAKE` bytes.
pub(crate) fn threads_awake(time: u64, traffic: Traffic) -> Option<usize> {
    let is_short = time <= MOST_AWAKE && traffic.read.saturating_add(traffic.written) <= BYTES_AWAKE;
    is_short.then_some((time / LOOP_AWAKE).max(1) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_follow_the_last_level_cache_and_what_is_saved() {
        const CACHE: usize = 8 << 20;
        let stores =
            |read, written, stays| Traffic { read, written, stays }.stores_beside(CACHE, VectorWidth::W256);
        // Sums and copies whose operands take more than twice the size of the cache.
        assert_eq!(stores(12 << 20, 6 << 20, false), Stores::Streaming);
        assert_eq!(stores(8 << 20, 8 << 20, false), Stores::Streaming);
        assert_eq!(stores(0, 16 << 20, false), Stores::Streaming);
        assert_eq!(stores(8 << 20, 4 << 20, false), Stores::Cached);
        assert_eq!(stores(12 << 20, 6 << 20, true), Stores::Cached, "the next stage reads it");
        // A comparison reads floats and writes bools, so that it writes few bytes.
        assert_eq!(stores(80 << 20, 10 << 20, false), Stores::Cached);
        assert_eq!(stores(160 << 20, 10 << 20, false), Stores::Cached);
        let wide = Traffic { read: 160 << 20, written: 10 << 20, stays: false };
        assert_eq!(wide.stores_beside(CACHE, VectorWidth::W512), Stores::Streaming);
        assert_eq!(stores(120 << 20, 40 << 20, false), Stores::Streaming, "three inputs");
        assert_eq!(stores(usize::MAX, usize::MAX, false), Stores::Streaming);
    }

    /// Generated words take longer than a loop that only stores them, and as long in both executors.
    #[test]
    fn words_that_are_generated_count() {
        use broadloom_ir::kernel::ValueId;
        let kernel =
            Kernel { inputs: vec![DType::UInt32], outputs: vec![ValueId(0).into()], ..Kernel::default() };
        let [none, two] = [0, 2].map(|words| Estimate::of(&kernel, words));
        for (none, two) in none.at.iter().zip(&two.at) {
            assert!((two.fused - none.fused - 2.0 * WORD).abs() < 1e-9);
            assert!((two.interpreted - none.interpreted - 2.0 * WORD).abs() < 1e-9);
        }
    }
}
