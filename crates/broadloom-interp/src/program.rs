//! A kernel as the interpreter runs it: a list of loops for each loop level, with the locations of their operands.
//!
//! A value that is uniform over a row or over the whole block is computed once per row or block, as a single element. Every other
//! value has an element per column, in a tile of working memory or in an input's own memory. [`compile`](crate::compile) makes
//! programs, [`run`](crate::run) executes them.

use broadloom_ir::{DType, VectorWidth};
use broadloom_mem::{Access, HostFunction};
use pulp::Arch;

use crate::loops::{OPERANDS, TileLoop};

/// The location of a value's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// In the memory of the input with this number.
    Input(usize),
    /// In the working memory, one element for each column, beginning at this byte.
    Tile(usize),
    /// In the working memory, a single element at this byte, used for all columns.
    Uniform(usize),
}

/// The destination of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The working memory, beginning at this byte.
    Scratch(usize),
    /// The memory of the output with this number.
    Output(usize),
}

/// The function that a step runs.
#[derive(Clone)]
pub(crate) enum Work {
    Loop(TileLoop),
    /// A host function, called over as many elements as the result has.
    Host(HostFunction),
}

/// A step of a program: one loop over a tile, or over a single element at the outer loop levels.
pub(crate) struct TileStep {
    pub work: Work,
    /// The operands, each with the size of an element in bytes. Entries after the first `operands` are not read.
    pub args: [(Location, usize); OPERANDS],
    pub operands: usize,
    pub out: Destination,
    /// The size in bytes of an element of the result.
    pub size: usize,
    /// The fault site that the step checks, and the size in bytes of an element of the divisor.
    pub check: Option<(usize, usize)>,
}

/// Fills a tile with a uniform value, for loops that read an element per column.
pub(crate) struct Fill {
    /// The byte of the working memory where the value is.
    pub from: usize,
    /// The byte of the working memory where the tile begins.
    pub to: usize,
    /// The size of an element in bytes.
    pub size: usize,
}

/// The work of a loop level: once per block, per row or per tile.
#[derive(Default)]
pub(crate) struct Level {
    pub steps: Vec<TileStep>,
    pub fills: Vec<Fill>,
}

/// A kernel compiled to a list of precompiled loops.
pub struct Program {
    pub(crate) width: VectorWidth,
    /// The CPU features that the loops are run with: those of the requested width, as far as the target has them.
    pub(crate) arch: Arch,
    pub(crate) inputs: Vec<(DType, Access)>,
    pub(crate) outputs: Vec<DType>,
    /// The steps of each loop level, indexed by [`Depth`](broadloom_ir::kernel::Depth).
    pub(crate) levels: [Level; 3],
    /// The bytes of the working memory at which the parameters are stored.
    pub(crate) param_slots: Vec<usize>,
    /// The inputs that are uniform over a row, and the bytes at which their elements are stored.
    pub(crate) uniform_slots: Vec<(usize, usize)>,
    /// The outputs that no step writes directly, and the locations that they are copied from.
    pub(crate) copies: Vec<(usize, Location)>,
    /// The tile that results pass through before a non-temporal store.
    pub(crate) stage: usize,
    /// The number of elements of a tile.
    pub(crate) tile: usize,
    /// The size of the working memory in bytes.
    pub(crate) bytes: usize,
    pub(crate) fault_sites: usize,
}
