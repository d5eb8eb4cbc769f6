//! The instructions of a kernel: their operations, dtypes and costs, and the values that they read.

use std::fmt;

use broadloom_math::DType;

use crate::accuracy::Accuracy;
use crate::host::HostSignature;
use crate::op::Op;
use crate::recording::{self, Recording};

/// The id of a value in a kernel. Values are numbered from 0: first the inputs, then the parameters, then the results of the
/// instructions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl ValueId {
    /// The id as an index into a list of the kernel's values.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A function, applied to operands of a dtype.
    Apply {
        /// The function.
        op: Op,
        /// The accuracy of the function; fast if it is not approximate.
        accuracy: Accuracy,
        /// The dtype of the operands.
        dtype: DType,
    },
    /// A conversion from the first dtype to the second.
    Cast(DType, DType),
    /// A call of one of the host functions in [`Kernel::functions`](crate::Kernel::functions).
    Host(Callee),
    /// One of the loops in [`Kernel::loops`](crate::Kernel::loops), by its index. Its value is the list of its carried values
    /// after the loop, which only [`Code::Item`] reads; it has no dtype.
    Loop(u32),
    /// A carried value of the loop that is the operand.
    Item {
        /// The index among the loop's carried values.
        item: u32,
        /// The dtype of the value.
        dtype: DType,
    },
    /// The element of a table at the position that is the operand, an int64. A position outside of the table makes the run fail.
    Gather {
        /// The index of the table in [`Kernel::tables`](crate::Kernel::tables).
        table: u32,
        /// The dtype of the table's elements.
        dtype: DType,
    },
}

/// The callee of a host function call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Callee {
    /// The index of the function in [`Kernel::functions`](crate::Kernel::functions).
    pub function: u32,
    /// The function's signature.
    pub signature: HostSignature,
}

impl Code {
    /// An application of the op with the default accuracy.
    pub const fn apply(op: Op, dtype: DType) -> Code {
        Code::Apply { op, accuracy: Accuracy::Fast, dtype }
    }

    /// All applications of ops, for each dtype and accuracy for which an op has a definition, and all conversions.
    pub fn all() -> impl Iterator<Item = Code> {
        let dtypes = |op| DType::ALL.iter().map(move |&dtype| (op, dtype));
        let pairs = Op::ALL.iter().flat_map(move |&op| dtypes(op));
        let applied =
            pairs.flat_map(|(op, dtype)| Accuracy::ALL.map(|accuracy| Code::Apply { op, accuracy, dtype }));
        let casts = DType::ALL.iter().flat_map(|&a| DType::ALL.iter().map(move |&b| Code::Cast(a, b)));
        applied.filter(|code| code.result().is_some()).chain(casts)
    }

    /// The number of operands in [`Inst::args`]; none for a loop, whose operands are in
    /// [`KernelLoop::args`](crate::kernel::KernelLoop::args).
    pub fn operands(self) -> usize {
        match self {
            Code::Apply { op, .. } => op.operands(),
            Code::Cast(..) | Code::Item { .. } | Code::Gather { .. } => 1,
            Code::Host(callee) => callee.signature.operands().len(),
            Code::Loop(_) => 0,
        }
    }

    /// The result's dtype; `None` for an op without a definition of this accuracy for the dtype, and for a loop.
    pub fn result(self) -> Option<DType> {
        match self {
            Code::Apply { op, accuracy, dtype } => op.result_at(accuracy, dtype),
            Code::Cast(_, to) => Some(to),
            Code::Host(callee) => Some(callee.signature.result()),
            Code::Loop(_) => None,
            Code::Item { dtype, .. } | Code::Gather { dtype, .. } => Some(dtype),
        }
    }

    /// The dtype of operand `i`.
    ///
    /// # Panics
    /// If a host function has no such operand, and for a loop and its carried values, whose operands depend on the kernel.
    pub fn operand(self, i: usize) -> DType {
        match self {
            Code::Apply { op: Op::Where, .. } if i == 0 => DType::Bool,
            Code::Apply { dtype, .. } | Code::Cast(dtype, _) => dtype,
            Code::Host(callee) => callee.signature.operands()[i],
            Code::Gather { .. } => DType::Int64,
            Code::Loop(_) | Code::Item { .. } => panic!("{self:?} has no operand of a dtype of its own"),
        }
    }

    /// Whether the operation can fail by a division by zero: an integer division or remainder.
    pub fn faults(self) -> bool {
        matches!(self, Code::Apply { op, dtype, .. } if op.faults(dtype))
    }

    /// Whether the operation can compute a NaN whose bits are unspecified, so that [`Op::CanonicalNan`] has to replace it before
    /// the bits are read.
    pub fn leaves_nan_open(self) -> bool {
        match self {
            Code::Apply { op, dtype, .. } => {
                op.leaves_nan_open() && op.result(dtype).is_some_and(DType::is_float)
            }
            Code::Cast(from, to) => from.is_float() && to.is_float() && from != to,
            Code::Host(callee) => callee.signature.result().is_float(),
            // The values that a body returns are canonical already, if their bits are read, and so are elements in memory.
            Code::Loop(_) | Code::Item { .. } | Code::Gather { .. } => false,
        }
    }

    /// The primitives of the operation; `None` for a host function, a loop and its values, a gather, and for an op that doesn't take
    /// the dtype.
    pub fn recording(self) -> Option<&'static Recording> {
        match self {
            Code::Apply { op, accuracy, dtype } => recording::of(op, accuracy, dtype),
            Code::Cast(from, to) => Some(recording::of_cast(from, to)),
            Code::Host(_) | Code::Loop(_) | Code::Item { .. } | Code::Gather { .. } => None,
        }
    }

    /// The approximate cost per element, counted from the [recording] of the op's primitives. The unit is the time of one vector
    /// instruction. That of a loop depends on its body ([`Kernel::instructions`](crate::Kernel::instructions)).
    pub fn cost(self) -> u32 {
        match self {
            Code::Host(callee) => callee.signature.cost(),
            Code::Gather { .. } => GATHER,
            code => code.recording().map_or(0, Recording::cost),
        }
    }

    /// The approximate latency in machine code, in cycles, counted from the [recording] of the op's primitives; 0 for host
    /// functions, whose latency is unknown.
    pub fn latency(self) -> u32 {
        match self {
            Code::Gather { .. } => LOAD,
            code => code.recording().map_or(0, Recording::latency),
        }
    }

    /// The approximate number of vector instructions per element in machine code.
    pub fn instructions(self) -> u32 {
        match self {
            // The code stores the operands of a block of elements and calls the function for all of them.
            Code::Host(_) => CALL,
            code => code.cost(),
        }
    }
}

/// The approximate number of vector instructions per element with which machine code calls a host function.
const CALL: u32 = 8;

/// The approximate number of vector instructions per element of a gather, whose elements are loaded one by one.
const GATHER: u32 = 8;

/// The approximate latency in cycles of a gather from the second-level cache.
const LOAD: u32 = 24;

/// One instruction. The ids of results follow the ids of the inputs and parameters, in the order of the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// The operation.
    pub code: Code,
    /// The ids of the operands. Entries beyond the number of [`Code::operands`] are 0 and are not read.
    pub args: [ValueId; 3],
}

impl Inst {
    /// The operands that the instruction reads, except those of a loop ([`Kernel::args`](crate::Kernel::args)).
    pub fn args(&self) -> &[ValueId] {
        &self.args[..self.code.operands()]
    }
}
