//! The shape of a kernel's machine code: how many elements its loops compute at a time, how rows end, and what a second function does.
//!
//! A [`CodePlan`] follows from the kernel, the accesses, the width and the purpose, which are the identity of machine code. The emitter, the
//! calls of the code and estimates read it, so that no threshold stands in two places.

use crate::canonical::LANES;
use crate::kernel::{Code, Kernel, KernelOutput, Sink, ValueId};
use crate::loop_plan::Access;
use crate::{DType, VectorWidth, recording};

/// What the code's outputs are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// They are stored as usual.
    #[default]
    Store,
    /// They are larger than the caches: rows that begin a cache line are written by non-temporal stores.
    Stream,
    /// Their elements are combined, and those of a result follow each other.
    Reduce,
}

/// See the module's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodePlan {
    /// The width of vectors.
    pub width: VectorWidth,
    /// Elements per block.
    pub lanes: u32,
    /// How a row ends.
    pub tail: Tail,
    /// What the second function does.
    pub bulk: Bulk,
    /// Whether a long row is computed in two pieces, the first of which ends where a line of the first output begins.
    pub aligns_rows: bool,
    /// Whether a NaN of a sum or product may be looked for a block at a time.
    pub may_test_for_nan: bool,
    /// Whether constants are read from a table, at 128 bits.
    pub has_table: bool,
    /// How registers are allocated, at 128 bits.
    pub allocator: Allocator,
}

/// How a row ends that is no multiple of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tail {
    /// Its last block ends where the row does and overlaps the one before, so that rows have at least one block.
    Overlap,
    /// The accesses of its last block are masked: rows may have any length.
    Masked,
}

/// What a second function of the code does with whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bulk {
    /// There is none.
    None,
    /// It writes by non-temporal stores, in blocks of so many elements.
    Stream {
        /// Elements per block.
        lanes: u32,
    },
    /// It combines 2^`level` rows to a node of the [canonical](crate::canonical) order before it is written, and computes so many lanes
    /// of each row at a time.
    Leaf {
        /// The level of the nodes.
        level: u8,
        /// Lanes that are computed at a time: all of a row, or a half.
        group: u32,
    },
}

/// How registers are allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocator {
    /// Code is up to a fifth faster.
    Backtracking,
    /// In time that is linear in the length of the body.
    SinglePass,
}

/// Bodies up to this cost are unrolled for what a loop costs.
const SHORT_BODY: u64 = 24;

/// In cycles of [`Kernel::latency`].
const LONG_CHAIN: u64 = 94;

/// A body of a higher cost is not unrolled: copies of it are no longer in the nearest cache of instructions.
const MOST_UNROLLED: u64 = 256;

/// Sums and products of these costs are tested for NaN a block at a time: their time is that of the instructions in flight. Cheaper
/// ones wait for memory, or take a fifth longer where there are NaNs; functions and divisions gain nothing.
const TESTED_FOR_NAN: std::ops::RangeInclusive<u64> = 16..=SHORT_BODY;

/// Kernels of a higher cost read their constants from a table.
const TABLE_ABOVE: u64 = 24;

/// Rows of kernels of at most this cost are computed in two pieces at 512 bits. Measured on sums of rows of 600 and 1000
/// float32 with a column: 0.85 and 0.95 of the time; where a division is computed it is 1.05, as the first piece costs a block.
const CHEAP: u64 = 4;

/// Bytes of a cache line, and of the lanes of a row that leaves compute at a time: two vectors of 256 bits or one of 512, of which as
/// many as a leaf has levels, and one, are live.
const LINE: u32 = 64;

/// Above this cost, or so many primitives, the linear-time register allocator is used. The other one's time grows faster than the
/// body does: eight functions of float32 with 569 primitives, whose cost is 296, take it 1.9 ms, and the linear one 0.7 ms.
const SINGLE_PASS_ABOVE_COST: u64 = 300;
const SINGLE_PASS_ABOVE_PRIMITIVES: usize = 500;

impl CodePlan {
    /// The plan of a kernel whose inputs are accessed so, on vectors of this width.
    pub fn new(kernel: &Kernel, access: &[Access], width: VectorWidth, purpose: Purpose) -> CodePlan {
        let sizes = Sizes::of(kernel);
        let (cost, lanes) = (kernel.cost(), sizes.lanes(width, vectors(kernel, width)));
        // No permutation of lanes is masked, so that what reads steps is given at least a block.
        let reads_steps = width > VectorWidth::W128 && access.iter().any(|access| access.is_stepped());
        let tail = if width == VectorWidth::W512 && !reads_steps { Tail::Masked } else { Tail::Overlap };
        let bulk = match purpose {
            Purpose::Stream if width > VectorWidth::W128 => {
                Bulk::Stream { lanes: sizes.streaming_lanes(kernel, width, lanes) }
            }
            Purpose::Reduce if !reads_steps => leaf(kernel, &sizes, width),
            Purpose::Store | Purpose::Stream | Purpose::Reduce => Bulk::None,
        };
        CodePlan {
            width,
            lanes,
            tail,
            bulk,
            aligns_rows: tail == Tail::Masked && cost <= CHEAP,
            may_test_for_nan: width == VectorWidth::W256 && TESTED_FOR_NAN.contains(&cost),
            has_table: width == VectorWidth::W128 && cost > TABLE_ABOVE,
            allocator: allocator(kernel, &sizes),
        }
    }

    /// The level of the nodes that the second function writes; none where it combines no rows.
    pub fn leaf_level(&self) -> Option<u8> {
        match self.bulk {
            Bulk::Leaf { level, .. } => Some(level),
            Bulk::None | Bulk::Stream { .. } => None,
        }
    }

    /// How many times as long wide code takes to compile as that of one vector at a time would: measured for functions and chains
    /// of them, of which blocks have two or four vectors.
    pub fn copies(kernel: &Kernel, width: VectorWidth) -> f64 {
        match (kernel.cost(), vectors(kernel, width)) {
            (..=SHORT_BODY, _) | (_, 1) => 1.0,
            (_, 2) => 1.6,
            (_, _) => 3.5,
        }
    }
}

/// Bytes of a kernel's values.
struct Sizes {
    /// Of the widest value but bools, which are masks.
    widest: u32,
    /// Of the narrowest, in memory or not.
    narrowest: u32,
}

impl Sizes {
    fn of(kernel: &Kernel) -> Sizes {
        let computed = (0..kernel.values() as u32).map(|v| kernel.dtype(ValueId(v)));
        let computed = computed.filter(|dtype| *dtype != DType::Bool).map(|dtype| dtype.size() as u32);
        let in_memory = kernel.inputs.iter().copied().chain(kernel.output_dtypes());
        let all = in_memory.map(|dtype| dtype.size() as u32).chain(computed.clone());
        Sizes { widest: computed.max().unwrap_or(1), narrowest: all.min().unwrap_or(1) }
    }

    /// Elements per block: whole vectors of the widest dtype, at least four bytes of the narrowest in memory, and several vectors
    /// where that pays.
    fn lanes(&self, width: VectorWidth, vectors: u32) -> u32 {
        let base = (width.bytes() / self.widest).max(4 / self.narrowest).max(2);
        (base * vectors).min(width.bytes())
    }

    /// Elements per block of code with non-temporal stores: of a short body a line of the narrowest output, if that is no more than
    /// usual, so that rows of whole lines are whole blocks. Memory is slower than such a loop, unrolled or not.
    fn streaming_lanes(&self, kernel: &Kernel, width: VectorWidth, usual: u32) -> u32 {
        if kernel.cost() > SHORT_BODY {
            return usual;
        }
        let narrowest = kernel.output_dtypes().map(DType::size).min().unwrap_or(1) as u32;
        (LINE / narrowest).max(width.bytes() / self.widest).min(usual)
    }
}

/// Vectors of the widest dtype in a block.
///
/// A short body is unrolled for what a loop costs. In a long one, each instruction waits for others: a CPU that looks some
/// two hundred instructions ahead sees few elements at once, and the chains of several vectors, of which each instruction is
/// followed by the same one for the next vector, let it compute more of them at a time. The thresholds come from
/// measurements of both: of the functions with AVX2 and AVX-512, four vectors are faster than two where the chain is longer
/// than [`LONG_CHAIN`], and those of shorter ones lose registers. Cranelift's own back end takes too long over it.
fn vectors(kernel: &Kernel, width: VectorWidth) -> u32 {
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
        _ => 1,
    }
}

/// How rows are combined in registers, if all outputs are: the more, the cheaper they are to compute, since what is combined there need
/// not be combined in memory.
fn leaf(kernel: &Kernel, sizes: &Sizes, width: VectorWidth) -> Bulk {
    let combines = |(output, dtype): (&KernelOutput, DType)| match output.sink {
        Sink::Reduce(reduction) => reduction.op().is_some() && dtype != DType::Bool && dtype.size() >= 4,
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
    // At 128 bits the nodes of a group would take all registers.
    match takes && level > 0 && width > VectorWidth::W128 {
        true => Bulk::Leaf { level, group: (LINE / sizes.widest).min(LANES as u32) },
        false => Bulk::None,
    }
}

fn allocator(kernel: &Kernel, sizes: &Sizes) -> Allocator {
    let width = VectorWidth::W128;
    let vectors = kernel.body.len() as u64 * u64::from(sizes.lanes(width, vectors(kernel, width))) / 4;
    let is_long = kernel.cost().max(vectors) > SINGLE_PASS_ABOVE_COST
        || primitives(kernel) > SINGLE_PASS_ABOVE_PRIMITIVES;
    if is_long { Allocator::SinglePass } else { Allocator::Backtracking }
}

/// How many primitives a kernel's body has before GVN.
fn primitives(kernel: &Kernel) -> usize {
    let of = |code: Code| match code {
        Code::Apply(op, dtype) => recording::of(op, dtype).map_or(0, |body| body.insts().len()),
        Code::Cast(from, to) => recording::of_cast(from, to).insts().len(),
        Code::Host(_) => code.instructions() as usize,
    };
    kernel.body.iter().map(|inst| of(inst.code)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Inst;
    use crate::{Op, Reduction};

    /// So many applications of an op, each to the result of the one before it.
    fn chain(op: Op, dtype: DType, length: u32) -> Kernel {
        let inst = |i| Inst { code: Code::Apply(op, dtype), args: [ValueId(i), ValueId(0), ValueId(0)] };
        Kernel {
            inputs: vec![dtype],
            body: (0..length).map(inst).collect(),
            outputs: vec![ValueId(length).into()],
            ..Kernel::default()
        }
    }

    /// A function whose instructions wait for each other has more vectors than one of as many that don't, and a body that
    /// fills the nearest cache has one.
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

    /// Machine code has leaves where every output is a reduction, and nothing is read in steps.
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
        // Sums of int8 are computed as int64.
        assert_eq!(plan(sum, DType::Int8, Access::Contiguous), Bulk::None);
    }
}
