//! Machine instructions over physical registers: the output of register allocation, which the checker and the encoder read.
//!
//! Each instruction has the [`InstId`] of the instruction over virtual registers that it comes from. The instructions
//! that the allocator inserts are [`RegMove`]s, which have none, so that the checker can compare the two sequences.

use smallvec::SmallVec;

use crate::encodings::Encoding;
use crate::inst::{Condition, InstId, RegClass, TailAccess, VectorLength};

/// A physical register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PReg {
    pub(crate) class: RegClass,
    pub(crate) number: u8,
}

impl PReg {
    pub(crate) const fn general(number: u8) -> PReg {
        PReg { class: RegClass::General, number }
    }

    pub(crate) const fn vector(number: u8) -> PReg {
        PReg { class: RegClass::Vector, number }
    }

    pub(crate) const fn mask(number: u8) -> PReg {
        PReg { class: RegClass::Mask, number }
    }
}

/// The general register (`rax`) that no value is allocated to: moves, call targets and loop bounds go through it.
pub(crate) const SCRATCH: PReg = PReg::general(0);
/// A vector register that no value is allocated to. Masked code can't fold a load into an instruction, so it
/// loads the operand into this register first.
pub(crate) const TAIL_VECTOR: PReg = PReg::vector(31);
/// The mask register that holds the tail mask (the elements that remain after a row's last whole block). No value is
/// allocated to it.
pub(crate) const TAIL_MASK: PReg = PReg::mask(7);

/// A spill slot of 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SpillSlot(pub(crate) u32);

/// An operand of an instruction: a register or a memory address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum POperand {
    Reg(PReg),
    Mem(PAddress),
}

/// A memory address over physical registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PAddress {
    pub(crate) base: PBase,
    /// The index register, and log2 of its scale. For a gather it is a vector of 64-bit indices.
    pub(crate) index: Option<(PReg, u8)>,
    pub(crate) offset: i32,
    /// Whether a scalar is read and broadcast to all lanes (an embedded broadcast).
    pub(crate) broadcast: bool,
    pub(crate) tail: Option<TailAccess>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PBase {
    /// A general register, by its number.
    Reg(u8),
    /// The area of the function's explicit stack slots.
    StackSlots,
    Spill(SpillSlot),
    /// The arguments that the caller has passed on the stack, above the return address.
    StackArguments,
    /// A constant in the pool behind the code: the 64-bit pattern `bits`, repeated or truncated to `bytes` bytes.
    Pool {
        bits: u64,
        bytes: u8,
    },
}

impl PAddress {
    pub(crate) fn at(base: PBase, offset: i32) -> PAddress {
        PAddress { base, index: None, offset, broadcast: false, tail: None }
    }
}

/// One machine instruction whose operands are physical registers and memory addresses.
#[derive(Clone, Debug)]
pub(crate) struct PInst {
    pub(crate) encoding: Encoding,
    pub(crate) length: VectorLength,
    /// The operands, the result first if there is one. For a tied instruction the result is also the first source.
    pub(crate) operands: SmallVec<[POperand; 4]>,
    pub(crate) immediate: Option<i64>,
    /// The number of the mask register, if the operation is masked.
    pub(crate) mask: Option<u8>,
    pub(crate) zeroing: bool,
}

impl PInst {
    pub(crate) fn new(encoding: Encoding, length: VectorLength, operands: &[POperand]) -> PInst {
        let operands = SmallVec::from_slice(operands);
        PInst { encoding, length, operands, immediate: None, mask: None, zeroing: false }
    }

    /// A machine instruction that has no vector length, such as one on general registers.
    pub(crate) fn scalar(encoding: Encoding, operands: &[POperand], immediate: Option<i64>) -> PInst {
        PInst { immediate, ..PInst::new(encoding, VectorLength::L128, operands) }
    }
}

/// A move that the allocator has inserted. Moves don't change the CPU's flags, and move vector registers at full width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RegMove {
    Copy {
        to: PReg,
        from: PReg,
    },
    Spill {
        slot: SpillSlot,
        from: PReg,
    },
    Reload {
        to: PReg,
        slot: SpillSlot,
    },
    /// Rematerialises a vector constant: fills the vector register with copies of the 64-bit pattern `bits`.
    Constant {
        to: u8,
        bits: u64,
    },
    /// Rematerialises an integer constant.
    Integer {
        to: u8,
        value: i64,
    },
    /// Loads the function's argument number `index` (from 0) from the stack, where the caller has passed it.
    Argument {
        to: u8,
        index: u32,
    },
}

/// An allocated instruction, or a point where control flow splits or joins.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(debug_assertions),
    expect(
        dead_code,
        reason = "the checker reads what was allocated for which instruction, in debug builds"
    )
)]
pub(crate) enum AInst {
    Op {
        id: InstId,
        inst: PInst,
    },
    Move(RegMove),
    /// Calls the address in [`SCRATCH`], with arguments in the convention's registers.
    Call {
        id: InstId,
    },
    /// Branches to an out-of-line body if the condition holds. The body branches back at its end.
    Cold {
        id: InstId,
        condition: Condition,
        body: Vec<AInst>,
    },
    Loop {
        id: InstId,
        body: Vec<AInst>,
    },
    /// If the condition holds, makes these moves and branches to the head of the innermost loop.
    Back {
        id: InstId,
        condition: Condition,
        moves: Vec<RegMove>,
    },
    /// A loop over the whole blocks of a row, followed by the same body with masks for the remaining
    /// elements. The body ends with the moves of the branch `back`.
    TailLoop {
        id: InstId,
        body: Vec<AInst>,
        back: InstId,
        /// The number of the general register that holds the index, within the row, of the block's first element.
        index: u8,
        columns: POperand,
        lanes: u32,
    },
    Return,
}

/// A function over physical registers.
#[derive(Clone, Debug)]
pub(crate) struct AllocatedFunction {
    pub(crate) insts: Vec<AInst>,
    /// The number of spill slots.
    pub(crate) slots: u32,
    /// The size of the explicit stack slots in bytes.
    pub(crate) stack_slot_bytes: u32,
    /// The registers that the function writes, as a bit set for each class.
    pub(crate) written: [u32; 3],
    /// Whether the function calls other functions.
    pub(crate) calls: bool,
}
