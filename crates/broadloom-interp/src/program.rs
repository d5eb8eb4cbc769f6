//! A kernel in the form that the interpreter runs: a list of loops for each loop level, with the locations of their operands and
//! results.
//!
//! A value that is the same for a whole row or block is computed once per row or block, as a single element. Every other value
//! has an element per column, in a tile of working memory or in the memory of an input. The module [`compile`](crate::compile)
//! creates programs, and [`run`](crate::run) executes them.

use broadloom_ir::{DType, VectorWidth};
use broadloom_mem::{Access, HostFunction};
use pulp::Arch;

use crate::loops::{OPERANDS, TileLoop};

/// The location of a value's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// In the memory of the input with this index.
    Input(usize),
    /// In the working memory, as one element per column, beginning at this byte offset.
    Tile(usize),
    /// In the working memory, as a single element at this byte offset, which is used for all columns.
    Uniform(usize),
}

/// The destination of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The working memory, beginning at this byte offset.
    Scratch(usize),
    /// The memory of the output with this index.
    Output(usize),
}

/// The code that a step runs: a precompiled loop, a host function, or a loop of the kernel.
#[derive(Clone)]
pub(crate) enum Work {
    Loop(TileLoop),
    /// A host function, which is called for as many elements as the result has.
    Host(HostFunction),
    /// The loop of the kernel with this index in [`Program::loops`], which has its own operands and results.
    While(usize),
    /// Reads elements of the table with this index at the positions that are the operand.
    Gather(usize),
}

/// A step of a program: one loop over a tile or, at the outer loop levels, over a single element.
pub(crate) struct TileStep {
    pub work: Work,
    /// The locations of the operands, each with the size of an element in bytes. Only the first `operands`
    /// entries are used.
    pub args: [(Location, usize); OPERANDS],
    pub operands: usize,
    pub out: Destination,
    /// The size in bytes of an element of the result.
    pub size: usize,
    /// If the step is a division that is checked for division by zero: the index of its fault byte, which is
    /// set if a divisor is zero, and the size in bytes of the divisor's elements. If it is a gather: the index of its fault byte,
    /// which is set if a position is outside of the table, and 0.
    pub check: Option<(usize, usize)>,
}

/// The filling of a tile with a uniform value, for loops that read an element per column.
pub(crate) struct Fill {
    /// The byte offset of the value in the working memory.
    pub from: usize,
    /// The byte offset of the tile in the working memory.
    pub to: usize,
    /// The size of an element in bytes.
    pub size: usize,
}

/// The steps and fills of one loop level, which run once per block, per row, or per tile.
#[derive(Default)]
pub(crate) struct LoopLevel {
    pub steps: Vec<TileStep>,
    pub fills: Vec<Fill>,
}

/// A loop as a step of a program.
pub(crate) struct LoopStep {
    /// The locations of the initial state and the captured values, each with the size of an element in bytes.
    pub args: Vec<(Location, usize)>,
    /// For each carried value, the byte offset of its tile or slot in the working memory; `None` for one that nothing reads.
    pub results: Vec<Option<usize>>,
    pub limit: Option<u64>,
    pub is_numbered: bool,
    pub condition: LoopPart,
    pub body: LoopPart,
    /// For each captured value, its use.
    pub captured: Vec<CapturedUse>,
    /// Whether the loop calls host functions, which may fail and whose cost is unknown.
    pub calls: bool,
    /// For each table of the loop's body, its number among those of the program.
    pub tables: Vec<u32>,
    /// The approximate number of vector instructions of an iteration.
    pub cost: u64,
    /// The maximum number of elements of a tile.
    pub tile: usize,
}

/// The use of a captured value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CapturedUse {
    /// Neither the condition nor the body reads it.
    Unread,
    /// It is one element, which is the same for the whole tile.
    Uniform,
    /// It has an element per column, which is packed as the states are.
    Packed,
}

/// The condition or the body of a loop.
pub(crate) struct LoopPart {
    pub program: Program,
    /// For each fault site of the program, its number among those of the program that contains the loop.
    pub sites: Vec<usize>,
}

/// A kernel as a list of precompiled loops, ready to be run by the interpreter.
pub struct Program {
    pub(crate) width: VectorWidth,
    /// The CPU features that the loops use: the features for the requested width that the CPU has.
    pub(crate) arch: Arch,
    pub(crate) inputs: Vec<(DType, Access)>,
    pub(crate) outputs: Vec<DType>,
    /// The dtypes of the tables.
    pub(crate) tables: Vec<DType>,
    /// The steps of each loop level, indexed by [`Depth`](broadloom_ir::kernel::Depth).
    pub(crate) levels: [LoopLevel; 3],
    /// For each parameter, its byte offset in the working memory.
    pub(crate) param_slots: Vec<usize>,
    /// For each input that has one element per row, its index and the byte offset in the working memory to which the element is
    /// copied.
    pub(crate) uniform_slots: Vec<(usize, usize)>,
    /// The outputs that no step writes directly, each as its index and the location that it is copied from.
    pub(crate) copies: Vec<(usize, Location)>,
    /// The byte offset of the tile into which results are computed before a non-temporal store.
    pub(crate) stage: usize,
    /// The loops of the kernel.
    pub(crate) loops: Vec<LoopStep>,
    /// The byte offset of the working memory of loops, one of which runs at a time.
    pub(crate) area: usize,
    /// The maximum number of elements of a tile.
    pub(crate) tile: usize,
    /// The size of the working memory in bytes.
    pub(crate) bytes: usize,
    pub(crate) fault_sites: usize,
}
