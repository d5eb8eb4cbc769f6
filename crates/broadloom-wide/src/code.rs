//! Instructions with their registers.
//!
//! In: nothing. Out: what [`crate::allocate`] makes and [`crate::encode`] writes down. Must hold: registers are numbers of
//! the file that the operand names.

use smallvec::SmallVec;

use crate::forms::Op;
use crate::machine::{Condition, Part, Size};

/// A register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    General(u8),
    Vector(u8),
    Mask(u8),
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    In(Place),
    At(Memory),
}

/// A place in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    pub base: MemoryBase,
    pub index: Option<(u8, u8)>,
    pub offset: i32,
    /// Whether a scalar stands there for all lanes of a whole operand.
    pub broadcast: bool,
    pub part: Option<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryBase {
    General(u8),
    /// The function's own stack slots.
    Frame,
    /// The allocator's slots, of 64 bytes each.
    Spill,
    /// What the caller has put on the stack, above the return address.
    Caller,
    /// The pool: 64 bits that repeat, of which so many bytes are needed.
    Pool {
        bits: u64,
        bytes: u8,
    },
}

impl Memory {
    pub fn at(base: MemoryBase, offset: i32) -> Memory {
        Memory { base, index: None, offset, broadcast: false, part: None }
    }

    pub fn spill(slot: u32) -> Memory {
        Memory::at(MemoryBase::Spill, 64 * slot as i32)
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Encoded {
    pub op: Op,
    pub size: Size,
    /// The result first, if there is one; of a tied source, the result alone.
    pub operands: SmallVec<[Operand; 4]>,
    pub immediate: Option<i64>,
    pub mask: Option<u8>,
    pub zeroing: bool,
}

/// A step of the finished code.
#[derive(Clone, Debug)]
pub enum Out {
    Inst(Encoded),
    /// The steps stand elsewhere and come back.
    Cold(Condition, Vec<Out>),
    Loop(Vec<Out>),
    /// To the head of the innermost loop, with these moves, if the condition holds.
    Back(Condition, Vec<Out>),
    /// A loop over blocks of which the last may be a part: the body, then the last block once more with masks.
    Partial {
        body: Vec<Out>,
        index: u8,
        columns: Operand,
        lanes: u32,
    },
    Return,
}

/// The whole.
#[derive(Debug)]
pub struct Placed {
    pub steps: Vec<Out>,
    /// Slots of 64 bytes.
    pub slots: u32,
    /// Bytes of the function's own slots.
    pub frame: u32,
    /// The registers that are written, by file.
    pub written: [u32; 3],
    pub calls: bool,
}
