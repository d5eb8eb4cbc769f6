//! The stack frame.
//!
//! In: what a function keeps on the stack. Out: where, and the code that makes and takes away the room. Must hold: what the
//! convention gives to the caller is as it was; every page is touched in order before it is used.

use crate::Unsupported;
use crate::code::{Memory, MemoryBase, Operand, Out, Place, Placed};
use crate::encode::Writer;
use crate::forms;
use crate::machine::Size;
use crate::target::Convention;

const RSP: u8 = 4;
const RBP: u8 = 5;
const PAGE: u32 = 4096;

/// From the stack pointer upwards: room for called functions, spills, the function's own slots, the caller's vectors, the
/// mask of the elements that are left.
pub struct Frame {
    shadow: u32,
    spills: u32,
    own: u32,
    saved: Vec<u8>,
    saved_vectors: Vec<u8>,
    has_part: bool,
}

impl Frame {
    pub fn of(placed: &Placed, convention: Convention) -> Frame {
        let listed = |set: u32| (0..32u8).filter(|r| set >> r & 1 == 1).collect();
        fn has_part(steps: &[Out]) -> bool {
            steps.iter().any(|step| match step {
                Out::Partial { .. } => true,
                Out::Loop(body) => has_part(body),
                _ => false,
            })
        }
        Frame {
            shadow: if placed.calls { convention.shadow().next_multiple_of(64) } else { 0 },
            spills: placed.slots,
            own: placed.frame.next_multiple_of(64),
            saved: listed(placed.written[0] & convention.saved()),
            saved_vectors: listed(placed.written[1] & convention.saved_vectors()),
            has_part: has_part(&placed.steps),
        }
    }

    pub fn spills(&self) -> i32 {
        self.shadow as i32
    }

    pub fn own(&self) -> i32 {
        self.spills() + 64 * self.spills as i32
    }

    fn vectors(&self) -> i32 {
        self.own() + self.own as i32
    }

    fn left_at(&self) -> i32 {
        self.vectors() + 16 * self.saved_vectors.len() as i32
    }

    /// Where the mask of the elements that are left is kept.
    pub fn left(&self) -> Memory {
        Memory::at(MemoryBase::General(RSP), self.left_at())
    }

    /// Where the first element of a row's last whole block is kept.
    pub fn limit(&self) -> Memory {
        Memory::at(MemoryBase::General(RSP), self.left_at() + 8)
    }

    pub fn bytes(&self) -> u32 {
        (self.left_at() as u32 + if self.has_part { 16 } else { 0 }).next_multiple_of(64)
    }
}

const fn general(register: u8) -> Operand {
    Operand::In(Place::General(register))
}

impl Writer<'_> {
    pub fn prologue(&mut self) -> Result<(), Unsupported> {
        self.simple(forms::PUSH, &[general(RBP)], None)?;
        self.simple(forms::MOV, &[general(RBP), general(RSP)], None)?;
        for register in self.frame.saved.clone() {
            self.simple(forms::PUSH, &[general(register)], None)?;
        }
        let bytes = self.frame.bytes();
        if bytes > 0 {
            for page in 1..=bytes / PAGE {
                let below = Memory::at(MemoryBase::General(RSP), -((page * PAGE) as i32));
                self.simple(forms::MOV8_I, &[Operand::At(below)], Some(0))?;
            }
            self.simple(forms::ADD_I, &[general(RSP)], Some(-i64::from(bytes)))?;
            self.simple(forms::AND_I, &[general(RSP)], Some(-64))?;
        }
        self.vectors_of_the_caller(|at, register| [at, register], forms::MOVUPS_STORE)
    }

    pub fn epilogue(&mut self) -> Result<(), Unsupported> {
        self.simple(forms::VZEROUPPER, &[], None)?;
        self.vectors_of_the_caller(|at, register| [register, at], forms::MOVUPS)?;
        let saved = self.frame.saved.clone();
        if self.frame.bytes() > 0 {
            let top = Memory::at(MemoryBase::General(RBP), -8 * saved.len() as i32);
            self.simple(forms::LEA, &[general(RSP), Operand::At(top)], None)?;
        }
        for &register in saved.iter().rev() {
            self.simple(forms::POP, &[general(register)], None)?;
        }
        self.simple(forms::POP, &[general(RBP)], None)?;
        self.simple(forms::RET, &[], None)
    }

    fn vectors_of_the_caller(
        &mut self,
        order: impl Fn(Operand, Operand) -> [Operand; 2],
        op: forms::Op,
    ) -> Result<(), Unsupported> {
        for (i, register) in self.frame.saved_vectors.clone().into_iter().enumerate() {
            let at = Memory::at(MemoryBase::General(RSP), self.frame.vectors() + 16 * i as i32);
            let operands = order(Operand::At(at), Operand::In(Place::Vector(register)));
            let operands = smallvec::SmallVec::from_slice(&operands);
            let (size, immediate, mask, zeroing) = (Size::X, None, None, false);
            self.inst(&crate::code::Encoded { op, size, operands, immediate, mask, zeroing })?;
        }
        Ok(())
    }
}
