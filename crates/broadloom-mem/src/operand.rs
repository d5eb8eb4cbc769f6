//! An operand of a nest: its place in memory, and what its loop plan makes of it.
//!
//! The pointer is to the first element of the walk. It reaches the other elements of its view, or of its slice, by the
//! strides of the plan, and nothing else; `bind` is where that is checked. That of a generated operand is no place in memory
//! but eight times the first element, and is never read: the same strides lead to the addresses of the others.

use broadloom_ir::loop_plan::{Access, AccessClass, LoopOperand};

/// See the module's head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundOperand {
    pub(crate) ptr: *mut u8,
    item: u8,
    pub(crate) class: AccessClass,
    /// An input that has exactly the elements of an output.
    pub(crate) aliased: bool,
    is_generated: bool,
}

impl BoundOperand {
    /// An operand at this address, which shares no byte with another.
    #[inline]
    pub(crate) fn new(ptr: *mut u8, planned: &LoopOperand) -> BoundOperand {
        let (item, class, is_generated) = (planned.item() as u8, planned.class(), planned.is_generated());
        BoundOperand { ptr, item, class, aliased: false, is_generated }
    }

    /// An operand at this address, which shares no byte with another, of elements of so many bytes.
    #[inline]
    pub(crate) fn in_memory(ptr: *mut u8, item: usize, class: AccessClass) -> BoundOperand {
        BoundOperand { ptr, item: item as u8, class, aliased: false, is_generated: false }
    }

    /// Whether its elements are an eighth of their addresses, at which there is no memory.
    #[inline]
    pub(crate) fn is_generated(&self) -> bool {
        self.is_generated
    }

    /// Notes that the operand has exactly the elements of an output. It is then never one element for a whole row: a row
    /// of a single column, the only one where it could be, is contiguous too. Nor is it read in steps: as the output is, it is
    /// packed.
    pub(crate) fn alias(&mut self) {
        self.aliased = true;
        if self.class == AccessClass::Uniform {
            self.class = AccessClass::Contiguous;
        }
        self.read_no_steps();
    }

    /// Has the operand packed where it would be read in steps.
    pub(crate) fn read_no_steps(&mut self) {
        if let AccessClass::Stepped(_) = self.class {
            self.class = AccessClass::Packed;
        }
    }

    /// Bytes of an element.
    #[inline]
    pub(crate) fn item(&self) -> usize {
        self.item.into()
    }

    /// How an executor reads the operand that is given steps in place, or one that is not.
    #[inline]
    pub(crate) fn access(&self, reads_steps: bool) -> Access {
        if reads_steps { self.class.stepped_access() } else { self.class.access() }
    }

    /// Whether the operand is used in place although an output has the same elements.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.aliased && self.class == AccessClass::Contiguous
    }
}
