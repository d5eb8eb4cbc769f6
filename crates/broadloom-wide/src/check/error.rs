//! The errors that the checker reports.

use std::fmt;

use crate::allocated::{PReg, SpillSlot};
use crate::inst::{InstId, VReg};

/// Where a value can be between instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Allocation {
    Reg(PReg),
    Slot(SpillSlot),
}

/// How an allocation is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// An operand is read where another value, or none, is.
    WrongValue { wanted: VReg, at: Allocation, holds: Vec<VReg> },
    /// The operation, or the shape of its operands, is not that of the instruction it comes from.
    Mismatch(&'static str),
    /// Not the next instruction of the function; `None` where there should be no further one.
    OutOfOrder { expected: Option<InstId> },
    /// A register that no value may be in, or of another class.
    NotAllocatable(PReg),
    /// A register that the prologue does not know to be written, so it would not be saved.
    NotSaved(PReg),
    /// A slot beyond the frame's.
    NoSuchSlot(SpillSlot),
    /// A masked access while the tail mask counts from another lane, or may not be set.
    TailMask { wanted: u16, found: Option<u16> },
}

/// Wrong code, found by the checker: the first failure and the instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CheckError {
    pub(crate) failure: Failure,
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::WrongValue { wanted, at, holds } => {
                write!(f, "v{} is read from {at}, which holds ", wanted.0)?;
                let holds: Vec<String> = holds.iter().map(|reg| format!("v{}", reg.0)).collect();
                f.write_str(&if holds.is_empty() { "no known value".into() } else { holds.join(" = ") })
            }
            Failure::Mismatch(what) => write!(f, "the {what} is not that of its origin"),
            Failure::OutOfOrder { expected: Some(id) } => write!(f, "{id:?} should follow"),
            Failure::OutOfOrder { expected: None } => f.write_str("no instruction should follow"),
            Failure::NotAllocatable(register) => {
                write!(f, "{} can't be allocated", Allocation::Reg(*register))
            }
            Failure::NotSaved(register) => {
                write!(f, "{} is written, but not noted as such", Allocation::Reg(*register))
            }
            Failure::NoSuchSlot(slot) => write!(f, "{} is beyond the frame", Allocation::Slot(*slot)),
            Failure::TailMask { wanted, found } => {
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
