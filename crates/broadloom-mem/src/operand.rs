//! An operand of a nest: its address and its part of the loop plan.
//!
//! The pointer is to the first element of the walk, from which the plan's strides lead to the other elements of its view or slice
//! and to nothing else, as `bind` checks. The pointer of a generated operand is eight times its first element and is never
//! dereferenced: the same strides lead to eight times the other elements.

use broadloom_ir::loop_plan::{Access, AccessClass, LoopOperand};

/// An operand of a loop plan with the address that it is bound to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundOperand {
    pub(crate) ptr: *mut u8,
    item: u8,
    pub(crate) class: AccessClass,
    /// Whether the operand is an input with exactly the elements of an output.
    pub(crate) aliased: bool,
    is_generated: bool,
}

impl BoundOperand {
    /// Makes an operand at this address that does not overlap others.
    #[inline]
    pub(crate) fn new(ptr: *mut u8, planned: &LoopOperand) -> BoundOperand {
        let (item, class, is_generated) = (planned.item() as u8, planned.class(), planned.is_generated());
        BoundOperand { ptr, item, class, aliased: false, is_generated }
    }

    /// Makes an operand at this address that does not overlap others, with elements of `item` bytes.
    #[inline]
    pub(crate) fn in_memory(ptr: *mut u8, item: usize, class: AccessClass) -> BoundOperand {
        BoundOperand { ptr, item: item as u8, class, aliased: false, is_generated: false }
    }

    /// Whether the operand's elements are computed from their addresses (as an eighth), at which there is no memory.
    #[inline]
    pub(crate) fn is_generated(&self) -> bool {
        self.is_generated
    }

    /// Marks the operand as having exactly the elements of an output. Such an operand is never uniform: a row of a single column,
    /// the only case in which it could be, is contiguous as well. It is never read in steps either: like the output, it is
    /// packed.
    pub(crate) fn alias(&mut self) {
        self.aliased = true;
        if self.class == AccessClass::Uniform {
            self.class = AccessClass::Contiguous;
        }
        self.read_no_steps();
    }

    /// Makes the operand packed if it would be read in steps.
    pub(crate) fn read_no_steps(&mut self) {
        if let AccessClass::Stepped(_) = self.class {
            self.class = AccessClass::Packed;
        }
    }

    /// The size of an element in bytes.
    #[inline]
    pub(crate) fn item(&self) -> usize {
        self.item.into()
    }

    /// The access by which an executor reads the operand; `reads_steps` says whether it reads stepped inputs in place.
    #[inline]
    pub(crate) fn access(&self, reads_steps: bool) -> Access {
        if reads_steps { self.class.stepped_access() } else { self.class.access() }
    }

    /// Whether the operand is used in place although it is also an output.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.aliased && self.class == AccessClass::Contiguous
    }
}
