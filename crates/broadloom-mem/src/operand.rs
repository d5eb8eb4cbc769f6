//! An operand of a nest: its address, and its layout in the loop plan.
//!
//! The pointer points to the element at which the walk begins. Adding the plan's strides to it yields only
//! addresses of elements of the operand's view or slice, as `bind` checks. The elements of a generated operand are
//! not in memory: its pointer is never dereferenced, but is the number of its first element times the size of an
//! element. Adding the strides then yields the numbers of the other elements in the same way.

use broadloom_ir::loop_plan::{Access, AccessClass, Generated, LoopOperand};

/// An operand of a loop plan with the address that it is bound to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundOperand {
    pub(crate) ptr: *mut u8,
    item: u8,
    pub(crate) class: AccessClass,
    /// Whether the operand is an input that is the same memory as an output, element for element.
    pub(crate) aliased: bool,
    generated: Option<Generated>,
    /// The key of generated [words](Generated::Words); unused by other operands.
    pub(crate) key: *const u8,
}

impl BoundOperand {
    /// Makes an operand at this address that is not marked as [aliased](BoundOperand::aliased).
    #[inline]
    pub(crate) fn new(ptr: *mut u8, planned: &LoopOperand) -> BoundOperand {
        let (item, class, generated) = (planned.item() as u8, planned.class(), planned.generated());
        BoundOperand { ptr, item, class, aliased: false, generated, key: std::ptr::null() }
    }

    /// Makes an operand at this address in memory, with elements of `item` bytes, that is not marked as
    /// [aliased](BoundOperand::aliased).
    #[inline]
    pub(crate) fn in_memory(ptr: *mut u8, item: usize, class: AccessClass) -> BoundOperand {
        let key = std::ptr::null();
        BoundOperand { ptr, item: item as u8, class, aliased: false, generated: None, key }
    }

    /// The same operand with its words generated from the key at this address.
    #[inline]
    pub(crate) fn with_key(self, key: *const u8) -> BoundOperand {
        BoundOperand { key, ..self }
    }

    /// How the operand's elements are computed from their addresses; `None` if they are read from memory.
    #[inline]
    pub(crate) fn generated(&self) -> Option<Generated> {
        self.generated
    }

    /// Marks the input as being the same memory as an output, element for element. Such an input is not
    /// uniform: if its rows have a single column, it counts as contiguous. A stepped input of this kind is
    /// not read in place: outputs are never stepped in place, so both are packed.
    pub(crate) fn alias(&mut self) {
        self.aliased = true;
        if self.class == AccessClass::Uniform {
            self.class = AccessClass::Contiguous;
        }
        self.read_no_steps();
    }

    /// Makes the operand packed if it is stepped, so that it is not read in place.
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

    /// The distance in bytes between the elements of a row that is not read in steps.
    #[inline]
    pub(crate) fn step(&self) -> usize {
        if self.class == AccessClass::Uniform { 0 } else { self.item() }
    }

    /// The access by which an executor reads the operand. `reads_steps` tells whether the executor reads stepped inputs in place.
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
