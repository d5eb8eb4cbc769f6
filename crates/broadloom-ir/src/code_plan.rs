//! The shape of a kernel's machine code: the number of elements per loop iteration, the code for the end of a row, and the second
//! function, if any.
//!
//! A [`CodePlan`] is determined by the kernel, the accesses, the vector width and the purpose, which together identify machine
//! code. The emitter, the callers of the code and the cost estimates all read it, so that each threshold is defined once.

use crate::canonical::LANES;
use crate::kernel::{Code, Definition, Kernel, KernelLoop, KernelOutput, Sink, ValueId};
use crate::loop_plan::Access;
use crate::tuning::code::{
    CHEAP, LONG_CHAIN, MOST_OF_A_CHAIN, MOST_UNROLLED, SHORT_BODY, SINGLE_PASS_ABOVE_COST,
    SINGLE_PASS_ABOVE_PRIMITIVES, TABLE_ABOVE, TESTED_FOR_NAN,
};
use crate::tuning::loops::{
    CARRIED_BY_FOUR, CARRIED_BY_TWO, FUNCTION, MOST_OF_LOOPS, PAUSE, SHORT_ITERATION, SLOW_PATH,
};
use crate::{DType, VectorWidth};

/// The use of the outputs of machine code (stored, streamed, reduced, or read by the next row), which determines whether the code
/// has a second function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Outputs are stored by regular stores.
    #[default]
    Store,
    /// Outputs are stored and are larger than the caches: rows that begin at a cache line are written by non-temporal stores.
    Stream,
    /// Outputs are reduced, and the elements of each result are contiguous.
    Reduce,
    /// Each row is a step with a single element, whose first inputs are the first outputs of the row before it.
    Step {
        /// The number of these inputs.
        states: u32,
    },
}

/// The shape of a kernel's machine code: elements per loop iteration (a *block* of the code), end of a row, second function,
/// constants and register allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodePlan {
    /// The vector width.
    pub width: VectorWidth,
    /// The number of elements that an iteration of the main loop computes.
    pub lanes: u32,
    /// The code for the end of a row.
    pub tail: Tail,
    /// The work of the second function, if there is one.
    pub bulk: Bulk,
    /// Whether a long row is computed in two parts, the second of which begins at a cache line of the first output.
    pub aligns_rows: bool,
    /// Whether the code may test once per iteration if any result is a NaN, instead of replacing NaNs in every vector.
    pub may_test_for_nan: bool,
    /// Whether constants are read from a table in memory (only for vectors of 128 bits).
    pub has_table: bool,
    /// Cranelift's register allocator (only for vectors of 128 bits).
    pub allocator: Allocator,
    /// The number of iterations of a loop of elements after which the code looks whether the run is to go on; at least 1.
    pub pace: u64,
    /// The number of states that each row, which has a single element, takes from the row before it; 0 if rows are independent.
    pub states: u32,
}

/// The code for the end of a row whose length is not a multiple of a block, the elements of one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tail {
    /// The last block ends where the row ends and recomputes elements of the block before it. Rows must have at least one block.
    Overlap,
    /// The loads and stores of the last block are masked. Rows may have any length.
    Masked,
    /// There is none, since rows have a single element, of which each lane computes a copy.
    Single,
}

/// The work that a second function of the code does on whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bulk {
    /// There is no second function.
    None,
    /// The function writes its outputs by non-temporal stores.
    Stream {
        /// The number of elements that an iteration of its loop computes.
        lanes: u32,
    },
    /// The function reduces 2^`level` rows of 16 elements to a node of the [canonical](crate::canonical) order in registers, and
    /// stores only the node. It computes `group` lanes of each row at a time.
    Leaf {
        /// The level of the nodes in the reduction tree.
        level: u8,
        /// The number of lanes that are computed at a time: a whole row or half of one.
        group: u32,
    },
}

/// The choice of register allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocator {
    /// The backtracking allocator, whose code is up to a fifth faster.
    Backtracking,
    /// The single-pass allocator, whose time grows only linearly with the length of the body.
    SinglePass,
}

/// The size in bytes of a cache line. The code of a leaf computes a group of lanes of this size at a time (two vectors of 256
/// bits or one of 512). Code for a leaf of level k keeps k + 1 such groups in registers.
const LINE: u32 = 64;

impl CodePlan {
    /// The plan of a kernel for the given input accesses, vector width and purpose.
    pub fn new(kernel: &Kernel, access: &[Access], width: VectorWidth, purpose: Purpose) -> CodePlan {
        let sizes = Sizes::of(kernel);
        let states = if let Purpose::Step { states } = purpose { states } else { 0 };
        // A row of steps has one element, of which the lanes of a single vector are copies.
        let vectors = if states > 0 { 1 } else { vectors(kernel, width) };
        let (cost, lanes) = (kernel.length(), sizes.lanes(width, vectors));
        // The code that reads stepped inputs permutes lanes and can't use masks, so rows must have at least one block.
        let reads_steps = width > VectorWidth::W128 && access.iter().any(|access| access.is_stepped());
        let tail = match width {
            _ if states > 0 => Tail::Single,
            VectorWidth::W512 if !reads_steps => Tail::Masked,
            _ => Tail::Overlap,
        };
        let bulk = match purpose {
            // The time of loops is that of their iterations.
            _ if !kernel.loops.is_empty() => Bulk::None,
            Purpose::Stream if width > VectorWidth::W128 => {
                Bulk::Stream { lanes: sizes.streaming_lanes(kernel, width, lanes) }
            }
            Purpose::Reduce if !reads_steps => leaf(kernel, &sizes, width),
            Purpose::Store | Purpose::Stream | Purpose::Reduce | Purpose::Step { .. } => Bulk::None,
        };
        CodePlan {
            width,
            lanes,
            tail,
            bulk,
            aligns_rows: tail == Tail::Masked && cost <= CHEAP,
            may_test_for_nan: states == 0 && width == VectorWidth::W256 && TESTED_FOR_NAN.contains(&cost),
            has_table: width == VectorWidth::W128 && cost > TABLE_ABOVE,
            allocator: allocator(kernel, &sizes),
            pace: pace(kernel, lanes),
            states,
        }
    }

    /// The level of the nodes that the second function writes, or `None` if it does not reduce rows.
    pub fn leaf_level(&self) -> Option<u8> {
        match self.bulk {
            Bulk::Leaf { level, .. } => Some(level),
            Bulk::None | Bulk::Stream { .. } => None,
        }
    }

    /// The compile time of code for wide vectors, relative to that of the same code with one vector per iteration. It was
    /// measured on functions and chains of functions that compute two or four vectors per iteration.
    pub fn copies(kernel: &Kernel, width: VectorWidth) -> f64 {
        match (kernel.length(), vectors(kernel, width)) {
            (..=SHORT_BODY, _) | (_, 1) => 1.0,
            (_, 2) => 1.6,
            (_, _) => 3.5,
        }
    }
}

/// The sizes in bytes of the widest and the narrowest value of a kernel.
struct Sizes {
    /// The size of the widest value. Computed bools don't count, since they are masks.
    widest: u32,
    /// The size of the narrowest value, including elements of inputs and outputs in memory.
    narrowest: u32,
}

impl Sizes {
    fn of(kernel: &Kernel) -> Sizes {
        let is_loop = |v: &ValueId| match kernel.definition(*v) {
            Definition::Inst(i) => matches!(kernel.body[i].code, Code::Loop(_)),
            Definition::Input(_) | Definition::Param(_) => false,
        };
        let values = (0..kernel.values() as u32).map(ValueId).filter(|v| !is_loop(v));
        let computed = values.map(|v| kernel.dtype(v));
        let computed = computed.filter(|dtype| *dtype != DType::Bool).map(|dtype| dtype.size() as u32);
        let in_memory = kernel.inputs.iter().copied().chain(kernel.output_dtypes());
        let all = in_memory.map(|dtype| dtype.size() as u32).chain(computed.clone());
        let own = Sizes { widest: computed.max().unwrap_or(1), narrowest: all.min().unwrap_or(1) };
        let loops = kernel.loops.iter().map(Sizes::of_loop).reduce(Sizes::both);
        match loops {
            None => own,
            Some(loops) => Sizes { narrowest: own.narrowest.min(loops.narrowest), ..loops },
        }
    }

    /// The sizes of what the iterations of a loop compute; of loops within it, if there are any, since these take the time.
    fn of_loop(of: &KernelLoop) -> Sizes {
        let KernelLoop { body, .. } = of;
        if let Some(inner) = body.loops.iter().map(Sizes::of_loop).reduce(Sizes::both) {
            return inner;
        }
        let mut own = Sizes { widest: 1, narrowest: 1 };
        let mut note = |dtype: DType| {
            if dtype != DType::Bool {
                own.widest = own.widest.max(dtype.size() as u32);
            }
        };
        let tallied: Vec<ValueId> = (0..of.carried())
            .filter(|&item| of.tally(item).is_some())
            .flat_map(|item| [body.input(item), body.outputs[1 + item].value])
            .collect();
        for (i, inst) in body.body.iter().enumerate().filter(|(i, _)| !tallied.contains(&body.value(*i))) {
            note(body.dtype(body.value(i)));
            inst.args().iter().for_each(|&arg| note(body.dtype(arg)));
        }
        (0..of.carried())
            .map(|i| body.input(i))
            .filter(|input| !tallied.contains(input))
            .for_each(|input| note(body.dtype(input)));
        own
    }

    fn both(a: Sizes, b: Sizes) -> Sizes {
        Sizes { widest: a.widest.max(b.widest), narrowest: a.narrowest.min(b.narrowest) }
    }

    /// The number of elements that an iteration computes: whole vectors of the widest dtype, at least four bytes of the narrowest
    /// dtype in memory, and several vectors where that is faster.
    fn lanes(&self, width: VectorWidth, vectors: u32) -> u32 {
        let base = (width.bytes() / self.widest).max(4 / self.narrowest).max(2);
        (base * vectors).min(width.bytes())
    }

    /// The number of elements that an iteration of code with non-temporal stores computes; `usual` is the number for the main
    /// loop. For a short body, an iteration writes a cache line of the narrowest output, or `usual` elements if these are fewer,
    /// so that a row of whole cache lines takes a whole number of iterations. Unrolling such a loop further gains nothing, since
    /// it waits for memory.
    fn streaming_lanes(&self, kernel: &Kernel, width: VectorWidth, usual: u32) -> u32 {
        if kernel.cost() > SHORT_BODY {
            return usual;
        }
        let narrowest = kernel.output_dtypes().map(DType::size).min().unwrap_or(1) as u32;
        (LINE / narrowest).max(width.bytes() / self.widest).min(usual)
    }
}

/// The number of vectors of the widest dtype that an iteration computes.
///
/// A short body is unrolled to save loop overhead. In a long body most instructions wait for the result of an earlier
/// instruction, and a CPU that looks some two hundred instructions ahead finds only a few independent instructions. If the
/// computations for several vectors are interleaved, instruction by instruction, more instructions are independent. The
/// thresholds were measured on the functions with AVX2 and AVX-512: four vectors are faster than two if the chain of dependent
/// instructions is longer than [`LONG_CHAIN`]; for shorter chains, four vectors need too many registers. For a body whose cost is above
/// [`MOST_UNROLLED`] there is one vector, unless its latency is above half of its cost. For 128 bits there is one vector, since
/// Cranelift's own back end would take too long to compile more.
fn vectors(kernel: &Kernel, width: VectorWidth) -> u32 {
    if !kernel.loops.is_empty() {
        return looped_vectors(kernel, width);
    }
    match kernel.cost() {
        0..=4 => 4,
        5..=SHORT_BODY => 2,
        25..=MOST_UNROLLED if width > VectorWidth::W128 => {
            if kernel.latency() > LONG_CHAIN {
                4
            } else {
                2
            }
        }
        ..=MOST_OF_A_CHAIN if width > VectorWidth::W128 && 2 * kernel.latency() > kernel.cost() => 4,
        _ => 1,
    }
}

/// The work of a second function that reduces rows in registers; [`Bulk::None`] unless every output is a reduction that permits
/// this. The cheaper the body, the more rows a leaf reduces: each row that it reduces saves writing the row to memory and reading
/// it again.
fn leaf(kernel: &Kernel, sizes: &Sizes, width: VectorWidth) -> Bulk {
    let combines = |(output, dtype): (&KernelOutput, DType)| match output.sink {
        Sink::Reduce(reduction) => {
            let size = if dtype == DType::Bool { sizes.widest } else { dtype.size() as u32 };
            reduction.op().is_some() && size >= 4
        }
        Sink::Store | Sink::Scan(_) => false,
    };
    let takes =
        kernel.outputs.iter().zip(kernel.output_dtypes()).all(combines) && kernel.functions.is_empty();
    let level = match kernel.cost() {
        0..=8 => 3,
        9..=24 => 2,
        25..=64 => 1,
        _ => 0,
    };
    // With vectors of 128 bits the nodes of a leaf would occupy all registers.
    match takes && level > 0 && width > VectorWidth::W128 {
        true => Bulk::Leaf { level, group: (LINE / sizes.widest).min(LANES as u32) },
        false => Bulk::None,
    }
}

/// The number of vectors of the widest dtype that an iteration of a kernel with loops computes.
///
/// Several vectors hide the latency of an iteration. The values that a loop carries should fit in registers; captured ones are
/// read from the stack as fast.
fn looped_vectors(kernel: &Kernel, width: VectorWidth) -> u32 {
    /// The largest number of values that an innermost loop carries, and the vector instructions of the longest one.
    fn innermost(kernel: &Kernel) -> (usize, u64) {
        let of_loop = |of: &KernelLoop| match of.body.loops.is_empty() {
            true => {
                let tallied = (0..of.carried()).filter(|&item| of.tally(item).is_some()).count();
                (of.carried() - tallied + usize::from(tallied > 0), of.body.length())
            }
            false => innermost(&of.body),
        };
        let both = |a: (usize, u64), b: (usize, u64)| (a.0.max(b.0), a.1.max(b.1));
        kernel.loops.iter().map(of_loop).fold((0, 0), both)
    }
    let (carried, length) = innermost(kernel);
    match carried {
        _ if kernel.length() > MOST_OF_LOOPS => 1,
        0..=CARRIED_BY_FOUR if length <= SHORT_ITERATION && width > VectorWidth::W128 => 4,
        0..=CARRIED_BY_TWO => 2,
        _ => 1,
    }
}

/// The iterations between two pauses of code that computes this many lanes.
fn pace(kernel: &Kernel, lanes: u32) -> u64 {
    /// The vector instructions per element of an iteration, and those that its slow paths may add.
    fn longest(kernel: &Kernel) -> u64 {
        let of_loop = |of: &KernelLoop| {
            let slow = of.body.body.iter().filter(|inst| inst.code.cost() >= FUNCTION).count() as u64;
            (of.body.length() + SLOW_PATH * slow).max(longest(&of.body))
        };
        kernel.loops.iter().map(of_loop).max().unwrap_or(0)
    }
    (PAUSE / (longest(kernel).saturating_add(1)).saturating_mul(lanes.into())).max(1)
}

fn allocator(kernel: &Kernel, sizes: &Sizes) -> Allocator {
    let width = VectorWidth::W128;
    let vectors = kernel.body.len() as u64 * u64::from(sizes.lanes(width, vectors(kernel, width))) / 4;
    let is_long = kernel.length().max(vectors) > SINGLE_PASS_ABOVE_COST
        || primitives(kernel) > SINGLE_PASS_ABOVE_PRIMITIVES;
    if is_long { Allocator::SinglePass } else { Allocator::Backtracking }
}

/// The number of primitives in a kernel's body before equal primitives are merged (GVN).
fn primitives(kernel: &Kernel) -> usize {
    let of = |code: Code| match code.recording() {
        Some(body) => body.insts().len(),
        None => match code {
            Code::Loop(number) => primitives(&kernel.loops[number as usize].body),
            code => code.instructions() as usize,
        },
    };
    kernel.body.iter().map(|inst| of(inst.code)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Inst;
    use crate::{Op, Reduction};

    /// A kernel that applies an op `length` times in a row, each time to the previous result.
    fn chain(op: Op, dtype: DType, length: u32) -> Kernel {
        let inst = |i| Inst { code: Code::apply(op, dtype), args: [ValueId(i), ValueId(0), ValueId(0)] };
        Kernel {
            inputs: vec![dtype],
            body: (0..length).map(inst).collect(),
            outputs: vec![ValueId(length).into()],
            ..Kernel::default()
        }
    }

    /// A function with a long dependency chain is computed with more vectors per iteration than a function of the same cost with
    /// a short chain. A body that fills the first-level instruction cache is computed with one vector.
    #[test]
    fn a_block_has_as_many_vectors_as_its_chain_asks_for() {
        let plan = |op, length, width| {
            CodePlan::new(&chain(op, DType::Float64, length), &[Access::Contiguous], width, Purpose::Store)
        };
        for (width, of_one) in [(VectorWidth::W256, 4), (VectorWidth::W512, 8)] {
            let lanes = |op, length| plan(op, length, width).lanes;
            assert_eq!(lanes(Op::Sin, 1), 2 * of_one);
            assert_eq!(lanes(Op::Pow, 1), 4 * of_one);
            assert_eq!(lanes(Op::Multiply, 30), 4 * of_one);
            assert_eq!(lanes(Op::Pow, 10), of_one);
        }
        assert_eq!(plan(Op::Pow, 1, VectorWidth::W128).lanes, 2);
    }

    /// Machine code reduces rows in registers only if every output is a reduction and no input is stepped.
    #[test]
    fn leaves_are_of_reductions_alone() {
        let plan = |sink, dtype, access| {
            let mut kernel = chain(Op::Multiply, dtype, 1);
            kernel.outputs[0].sink = sink;
            CodePlan::new(&kernel, &[access], VectorWidth::W256, Purpose::Reduce).bulk
        };
        let sum = Sink::Reduce(Reduction::Sum);
        assert_eq!(plan(sum, DType::Float32, Access::Contiguous), Bulk::Leaf { level: 3, group: 16 });
        assert_eq!(plan(sum, DType::Float64, Access::Splat), Bulk::Leaf { level: 3, group: 8 });
        assert_eq!(plan(sum, DType::Float64, Access::Reversed), Bulk::None);
        assert_eq!(plan(Sink::Store, DType::Float64, Access::Contiguous), Bulk::None);
        // A sum does not take int8 elements; these are converted to int64 first.
        assert_eq!(plan(sum, DType::Int8, Access::Contiguous), Bulk::None);
    }

    /// Comparisons of wide elements are reduced in registers. For narrow elements, a whole vector of bools is stored at a time.
    #[test]
    fn leaves_are_of_bools_that_wide_elements_make() {
        let plan = |dtype| {
            let inst =
                Inst { code: Code::apply(Op::Less, dtype), args: [ValueId(0), ValueId(1), ValueId(0)] };
            let output = KernelOutput { value: ValueId(2), sink: Sink::Reduce(Reduction::Any) };
            let kernel = Kernel {
                inputs: vec![dtype; 2],
                body: vec![inst],
                outputs: vec![output],
                ..Kernel::default()
            };
            CodePlan::new(&kernel, &[Access::Contiguous; 2], VectorWidth::W512, Purpose::Reduce).bulk
        };
        assert_eq!(plan(DType::Float32), Bulk::Leaf { level: 3, group: 16 });
        assert_eq!(plan(DType::Int64), Bulk::Leaf { level: 3, group: 8 });
        assert_eq!([DType::Int16, DType::UInt8].map(plan), [Bulk::None; 2]);
    }

    /// A kernel with a loop that applies an op to a float32 `length` times, and adds an int64 to another one.
    fn looped(op: Op, length: u32, reads_count: bool) -> Kernel {
        let inst = |op, dtype, args: [u32; 2]| Inst {
            code: Code::apply(op, dtype),
            args: [ValueId(args[0]), ValueId(args[1]), ValueId(0)],
        };
        let (float, int) = (DType::Float32, DType::Int64);
        let test = if reads_count { inst(Op::Less, int, [1, 3]) } else { inst(Op::Less, float, [0, 2]) };
        let mut body = vec![test, inst(Op::Add, int, [1, 3])];
        body.extend((0..length).map(|i| inst(op, float, [if i == 0 { 0 } else { 5 + i }, 2])));
        let body = Kernel {
            inputs: vec![float, int, float, int],
            body,
            outputs: [4, 5 + length, 5].map(|value| ValueId(value).into()).into(),
            ..Kernel::default()
        };
        let args = [0, 1, 0, 2].map(ValueId).into();
        let item = Code::Item { item: 0, dtype: float };
        Kernel {
            inputs: vec![float, int],
            params: vec![int],
            loops: vec![KernelLoop { body, limit: Some(1000), is_numbered: false, args, tables: Vec::new() }],
            body: vec![
                Inst { code: Code::Loop(0), args: [ValueId(0); 3] },
                Inst { code: item, args: [ValueId(3), ValueId(0), ValueId(0)] },
            ],
            outputs: vec![ValueId(4).into()],
            ..Kernel::default()
        }
    }

    /// The width of an integer that only counts iterations does not matter, and neither does the number of iterations.
    #[test]
    fn blocks_of_loops_are_those_of_their_bodies() {
        let plan = |kernel: &Kernel, purpose| {
            let access = vec![Access::Contiguous; kernel.inputs.len()];
            CodePlan::new(kernel, &access, VectorWidth::W256, purpose)
        };
        let (short, counted) = (looped(Op::Multiply, 3, false), looped(Op::Multiply, 3, true));
        assert_eq!(crate::verify::kernel(&short), Ok(()));
        assert_eq!(plan(&short, Purpose::Store).lanes, 4 * 8);
        assert_eq!(plan(&counted, Purpose::Store).lanes, 4 * 4);
        let long = looped(Op::Pow, 5, false);
        assert_eq!(plan(&long, Purpose::Store).lanes, 2 * 8);
        assert_eq!(plan(&looped(Op::Pow, 50, false), Purpose::Store).lanes, 8);
        assert_eq!(plan(&short, Purpose::Store).allocator, Allocator::Backtracking);
        for purpose in [Purpose::Store, Purpose::Stream, Purpose::Reduce] {
            assert_eq!(plan(&short, purpose).bulk, Bulk::None);
        }
        let paces = [&short, &counted, &long].map(|kernel| plan(kernel, Purpose::Store).pace);
        assert!(paces[0] > 1000 && paces[1] > paces[0] && paces[2] >= 1 && paces[2] < 100, "{paces:?}");
    }
}
