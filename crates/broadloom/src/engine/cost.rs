//! The cost model: what a run of a stage is expected to take, by the interpreter and by machine code.
//!
//! It consists of pure functions of the kernel, the width of vectors, the number of elements and the bytes that are moved. It
//! decides speed, never bits. The constants come from measurements on one machine with AVX-512 (`docs/performance.md` says how
//! to repeat them); on aarch64, where nothing was measured, those of 128 bits are used. The *regret* of a run on the interpreter is what it takes longer than machine code would have taken, and
//! never negative: once the regret of all runs together exceeds what compiling takes, compiling would have paid.

use broadloom_core::kernel::{Code, Kernel};
use broadloom_core::{DType, Op};
use broadloom_ir::loop_plan::LoopPlan;
use broadloom_ir::{CodePlan, VectorWidth};
use broadloom_mem::{Caches, Stores};

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
/// Nanoseconds of one vector instruction per float32 element in the interpreter's loops at four lanes; they have as many as the target has.
const INTERPRETED: f64 = 0.06;
/// Nanoseconds per float32 element to load and store the tiles of one step of the interpreter.
const PASS: f64 = 0.03;
/// Nanoseconds per step and 256 elements of the interpreter.
const DISPATCH: f64 = 4.0;
/// Nanoseconds that machine code takes to call a host function, for so many elements at least: 3 to 6 were measured.
const CALL: f64 = 4.0;
const HOST_LANES: u32 = 4;
/// float16 arithmetic in nanoseconds per element: the loops convert by integer arithmetic at whatever width the target
/// has, or by its own conversions.
const INTERPRETED_HALF: f64 = 0.4;
const CONVERTED_HALF: f64 = 0.03;
/// What [`Code::cost`] has for the conversions of an operation: the loops do without, where the target converts.
const CONVERSIONS: f64 = 20.0;
/// Nanoseconds to bind memory and set up a run in the interpreter, and in machine code.
const CALL_INTERPRETED: f64 = 250.0;
const CALL_COMPILED: f64 = 60.0;
/// Nanoseconds of work below which a second thread costs more than it gives.
const PARALLEL: f64 = 100_000.0;
/// Estimates are within this factor of the measured time, nearly always: closer ones are no reason to choose.
const CLOSE: f64 = 4.0;

/// From operands of so many last-level caches on, the interpreter, and machine code on vectors of more than 128 bits, write
/// by non-temporal stores. Measured with float32 and float64 sums and triads on a CPU with a shared L3 of 32 MiB: no difference at 24 MB, 0.7 to 0.9 of the time at 120 MB
/// and beyond, a loss within L2.
const LARGE: usize = 2;
/// Results of less than one in so many bytes that are read are written as usual on targets without vectors of 512 bits: there is
/// little to save, and blocks of fewer bytes than a line fill it slowly. With AVX-512 comparisons took 0.77 of the time of usual stores.
const NARROW: usize = 5;

/// Nanoseconds per byte that one thread moves from or to memory, there.
const PER_BYTE: f64 = 0.048;

/// The bytes of a stage's operands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    pub read: usize,
    pub written: usize,
    /// Whether what is written stays in cache: to be combined, or read by the next stage of a block of rows.
    pub stays: bool,
}

impl Traffic {
    /// Reads the traffic off a plan: an element that serves several indices is moved once.
    pub fn of(loops: &LoopPlan) -> Traffic {
        let sum = |operands: std::ops::Range<usize>| {
            operands.fold(0usize, |sum, operand| sum.saturating_add(loops.distinct_bytes(operand)))
        };
        let (inputs, all) = (loops.inputs(), loops.operands().len());
        Traffic { read: sum(0..inputs), written: sum(inputs..all), stays: false }
    }

    /// How machine code writes the outputs: on vectors of 128 bits, as usual.
    pub fn stores_of(self, width: VectorWidth) -> Stores {
        if width > VectorWidth::W128 { self.stores() } else { Stores::Cached }
    }

    /// How the interpreter, and machine code on wide vectors, writes the outputs.
    pub fn stores(self) -> Stores {
        self.stores_beside(Caches::of_target().last, VectorWidth::target())
    }

    /// The same where the last-level cache has so many bytes, and the target these vectors.
    fn stores_beside(self, cache: usize, target: VectorWidth) -> Stores {
        let fits = self.read.saturating_add(self.written) < cache.saturating_mul(LARGE);
        let is_narrow = target < VectorWidth::W512 && self.written < self.read / NARROW;
        match self.stays || fits || is_narrow {
            true => Stores::Cached,
            false => Stores::Streaming,
        }
    }

    /// The nanoseconds that memory takes at least, of machine code and of the interpreter. Non-temporal stores do
    /// not read the lines that they write.
    fn floor(self, width: VectorWidth) -> (f64, f64) {
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
    /// Per tile of the interpreter.
    dispatch: f64,
    /// On vectors of each [`VectorWidth`].
    at: [AtWidth; 3],
}

/// What a kernel is expected to cost on vectors of one width, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct AtWidth {
    /// Per element, in the interpreter's loops.
    interpreted: f64,
    /// Per element, in a fused loop of machine code.
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
        // Of the interpreter: passes over tiles, and instructions of its loops.
        let (mut passes, mut looped) = (moved * MOVE, 0.0);
        // Of machine code: instructions, operations of float16, and what has one rate at every width.
        let (mut instructions, mut halves, mut others) = (0.0, 0.0, moved * MOVE);
        let converts = broadloom_mem::converts_halves();
        for inst in &kernel.body {
            if let Code::Host(callee) = inst.code {
                // What the function takes, it takes in either; machine code calls it for every few elements.
                let time = f64::from(callee.signature.cost()) * MOVE;
                others += time + CALL / f64::from(HOST_LANES);
                passes += time + PASS;
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
            // What an op computes is wider in the loops, but each op is also a pass over tiles; the canonical NaN is not,
            // which loops give with what they compute.
            let pass = if is_in_a_loop(inst.code) { 0.0 } else { pass };
            passes += pass;
            looped += shown * scale;
        }
        let steps = kernel.body.iter().filter(|inst| !is_in_a_loop(inst.code)).count();
        let at = VectorWidth::ALL.map(|width| {
            let copies = CodePlan::copies(kernel, width);
            let (rates, lanes) = (&RATES[width as usize], broadloom_interp::lanes(width) as f64);
            AtWidth {
                interpreted: passes + looped * INTERPRETED * 4.0 / lanes,
                fused: instructions * rates.instruction + halves * rates.half + others,
                compile: rates.compile + rates.compile_instruction * kernel.cost() as f64 * copies,
            }
        });
        Estimate { dispatch: steps as f64 * DISPATCH, at }
    }
}

/// Whether the interpreter's loop of the instruction before computes it.
fn is_in_a_loop(code: Code) -> bool {
    matches!(code, Code::Apply(Op::CanonicalNan, _))
}

/// What one run of a stage is expected to take on one thread, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct RunCost {
    pub interpreted: f64,
    /// As machine code.
    pub compiled: f64,
    /// To compile, first.
    pub compile: f64,
}

impl RunCost {
    /// Reads the cost of a run off a kernel's estimate.
    pub fn of(estimate: &Estimate, width: VectorWidth, elements: usize, traffic: Traffic) -> RunCost {
        let Estimate { dispatch, at } = *estimate;
        let AtWidth { interpreted, fused, compile } = at[width as usize];
        let elements = elements as f64;
        let tiles = (elements / 256.0).ceil();
        let (fused_floor, interpreted_floor) = traffic.floor(width);
        RunCost {
            interpreted: (elements * interpreted + tiles * dispatch).max(interpreted_floor)
                + CALL_INTERPRETED,
            compiled: (elements * fused).max(fused_floor) + CALL_COMPILED,
            compile,
        }
    }

    /// What interpreting takes longer than machine code.
    pub fn regret(&self) -> f64 {
        (self.interpreted - self.compiled).max(0.0)
    }

    /// Whether the two are too close for the estimates to tell which is faster.
    pub fn is_close(&self) -> bool {
        self.compiled < self.interpreted * CLOSE && self.interpreted < self.compiled * CLOSE
    }
}

/// Nanoseconds that an element of an operand takes where each comes from memory alone.
const MISS: f64 = 10.0;
/// Nanoseconds that an instruction takes at most for an element, where it has a slow path and where it has none; functions of so
/// many vector instructions may have one.
const SLOW_PATH: f64 = 300.0;
const FAST: f64 = 1.0;
const FUNCTION: u32 = 8;
/// The cost that is assumed of a host function, whose cost is the application's guess.
const HOST: f64 = 10_000.0;
/// Nanoseconds between two checks for cancellation at most, in the slowest case: the usual one is a hundred times as fast.
const PAUSE: f64 = 50e6;
/// Elements between two such checks. The most are some 20 µs of a cheap body.
const PAUSES: (f64, f64) = (256.0, (1 << 17) as f64);

/// How many elements a thread computes between two checks for cancellation.
pub fn pause(kernel: &Kernel) -> usize {
    let of_inst = |code: Code| match code {
        Code::Host(_) => HOST,
        code if code.cost() >= FUNCTION => SLOW_PATH,
        _ => FAST,
    };
    let operands = (kernel.inputs.len() + kernel.outputs.len()) as f64;
    let element = operands * MISS + kernel.body.iter().map(|inst| of_inst(inst.code)).sum::<f64>();
    (PAUSE / element).clamp(PAUSES.0, PAUSES.1) as usize
}

/// Nanoseconds that an element of an operand counts for at least, in an estimate that decides whether a run is watched.
const READ: f64 = 1.0;

/// The nanoseconds that a run over so many elements takes on one thread, rather too many than too few; infinitely many with host
/// functions, of which nothing is known.
pub fn work(kernel: &Kernel, estimate: &Estimate, elements: usize, traffic: Traffic) -> f64 {
    if !kernel.functions.is_empty() {
        return f64::INFINITY;
    }
    let cost = RunCost::of(estimate, VectorWidth::target(), elements, traffic);
    let operands = (kernel.inputs.len() + kernel.outputs.len()) as f64;
    cost.interpreted.max(cost.compiled).max(elements as f64 * operands * READ)
}

/// Whether machine code is done with so many elements before a second thread would help.
pub fn is_short(estimate: &Estimate, width: VectorWidth, elements: usize) -> bool {
    threads(elements as f64 * estimate.at[width as usize].fused, usize::MAX) == 1
}

/// How many threads share work of so many nanoseconds.
pub fn threads(time: f64, allowed: usize) -> usize {
    let useful = (time / PARALLEL * 2.0) as usize;
    allowed.min(useful).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_follow_the_last_level_cache_and_what_is_saved() {
        const CACHE: usize = 8 << 20;
        let stores =
            |read, written, stays| Traffic { read, written, stays }.stores_beside(CACHE, VectorWidth::W256);
        // Sums and copies of more than twice the cache, whatever the cache's size.
        assert_eq!(stores(12 << 20, 6 << 20, false), Stores::Streaming);
        assert_eq!(stores(8 << 20, 8 << 20, false), Stores::Streaming);
        assert_eq!(stores(0, 16 << 20, false), Stores::Streaming);
        assert_eq!(stores(8 << 20, 4 << 20, false), Stores::Cached);
        assert_eq!(stores(12 << 20, 6 << 20, true), Stores::Cached, "the next stage reads it");
        // Bytes beside floats: bools of a comparison.
        assert_eq!(stores(80 << 20, 10 << 20, false), Stores::Cached);
        assert_eq!(stores(160 << 20, 10 << 20, false), Stores::Cached);
        let wide = Traffic { read: 160 << 20, written: 10 << 20, stays: false };
        assert_eq!(wide.stores_beside(CACHE, VectorWidth::W512), Stores::Streaming);
        assert_eq!(stores(120 << 20, 40 << 20, false), Stores::Streaming, "three inputs");
        assert_eq!(stores(usize::MAX, usize::MAX, false), Stores::Streaming);
    }
}
