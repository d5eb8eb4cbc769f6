//! The errors that the checker reports.

use std::fmt;

use crate::allocated::{PReg, SpillSlot};
use crate::inst::{InstId, VReg};

/// A location that can hold a value between two instructions: a register or a spill slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Allocation {
    Reg(PReg),
    Slot(SpillSlot),
}

/// A mistake of the register allocator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AllocationMistake {
    /// An instruction reads a register or slot that does not hold the value that it should read.
    WrongValue { wanted: VReg, at: Allocation, holds: Vec<VReg> },
    /// The operation or the kinds of its operands differ from those of the instruction over virtual registers that it
    /// comes from.
    Mismatch(&'static str),
    /// The code has an instruction other than the function's next one (`expected`), or an instruction after the last
    /// one (`None`).
    OutOfOrder { expected: Option<InstId> },
    /// A value is moved to a register of another class, or written to a register that is reserved.
    NotAllocatable(PReg),
    /// The code writes a callee-saved register that the prologue does not save.
    NotSaved(PReg),
    /// The code uses a spill slot outside of the stack frame.
    NoSuchSlot(SpillSlot),
    /// At a masked load or store the tail mask is not set, or is set for a vector that begins at another lane
    /// of the block.
    TailMask { wanted: u16, found: Option<u16> },
}

/// Wrong code that the checker has found: the first failure and its instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CheckError {
    pub(crate) failure: AllocationMistake,
    pub(crate) instruction: String,
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allocation::Reg(register) => write!(f, "{:?} register {}", register.class, register.number),
            Allocation::Slot(slot) => write!(f, "spill slot {}", slot.0),
        }
    }
}

impl fmt::Display for AllocationMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocationMistake::WrongValue { wanted, at, holds } => {
                write!(f, "v{} is read from {at}, which holds ", wanted.0)?;
                let holds: Vec<String> = holds.iter().map(|reg| format!("v{}", reg.0)).collect();
                f.write_str(&if holds.is_empty() { "no known value".into() } else { holds.join(" = ") })
            }
            AllocationMistake::Mismatch(what) => write!(f, "the {what} is not that of its origin"),
            AllocationMistake::OutOfOrder { expected: Some(id) } => write!(f, "{id:?} should follow"),
            AllocationMistake::OutOfOrder { expected: None } => f.write_str("no instruction should follow"),
            AllocationMistake::NotAllocatable(register) => {
                write!(f, "{} can't be allocated", Allocation::Reg(*register))
            }
            AllocationMistake::NotSaved(register) => {
                write!(f, "{} is written, but not noted as such", Allocation::Reg(*register))
            }
            AllocationMistake::NoSuchSlot(slot) => {
                write!(f, "{} is beyond the frame", Allocation::Slot(*slot))
            }
            AllocationMistake::TailMask { wanted, found } => {
                write!(f, "the tail mask should count from lane {wanted}, not {found:?}")
            }
        }
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, in {}", self.failure, self.instruction)
    }
}

impl std::error::Error for CheckError {}
