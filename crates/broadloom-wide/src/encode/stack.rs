//! The prologue and the epilogue. They save and restore callee-saved registers. The prologue also touches every page of
//! a large frame in descending order, so that a stack overflow hits the guard page.

use crate::allocated::{PAddress, PBase, PInst, POperand, PReg};
use crate::encode::assembler::Assembler;
use crate::encodings;
use crate::error::Unsupported;
use crate::inst::VectorLength;

const RSP: u8 = 4;
const RBP: u8 = 5;
const PAGE: u32 = 4096;

const fn general(number: u8) -> POperand {
    POperand::Reg(PReg::general(number))
}

pub(super) fn prologue(asm: &mut Assembler) -> Result<(), Unsupported> {
    asm.scalar(encodings::PUSH, &[general(RBP)], None)?;
    asm.scalar(encodings::MOV, &[general(RBP), general(RSP)], None)?;
    for number in asm.frame.saved.clone() {
        asm.scalar(encodings::PUSH, &[general(number)], None)?;
    }
    let bytes = asm.frame.bytes();
    if bytes > 0 {
        for page in 1..=bytes / PAGE {
            let below = PAddress::at(PBase::Reg(RSP), -((page * PAGE) as i32));
            asm.scalar(encodings::MOV8_I, &[POperand::Mem(below)], Some(0))?;
        }
        asm.scalar(encodings::ADD_I, &[general(RSP)], Some(-i64::from(bytes)))?;
        asm.scalar(encodings::AND_I, &[general(RSP)], Some(-64))?;
    }
    for (i, number) in asm.frame.saved_vectors.clone().into_iter().enumerate() {
        let operands = [POperand::Mem(asm.frame.saved_vector(i)), POperand::Reg(PReg::vector(number))];
        asm.inst(&PInst::new(encodings::MOVUPS_STORE, VectorLength::L128, &operands))?;
    }
    Ok(())
}

pub(super) fn epilogue(asm: &mut Assembler) -> Result<(), Unsupported> {
    asm.scalar(encodings::VZEROUPPER, &[], None)?;
    for (i, number) in asm.frame.saved_vectors.clone().into_iter().enumerate() {
        let operands = [POperand::Reg(PReg::vector(number)), POperand::Mem(asm.frame.saved_vector(i))];
        asm.inst(&PInst::new(encodings::MOVUPS, VectorLength::L128, &operands))?;
    }
    let saved = asm.frame.saved.clone();
    if asm.frame.bytes() > 0 {
        let top = PAddress::at(PBase::Reg(RBP), -8 * saved.len() as i32);
        asm.scalar(encodings::LEA, &[general(RSP), POperand::Mem(top)], None)?;
    }
    for &number in saved.iter().rev() {
        asm.scalar(encodings::POP, &[general(number)], None)?;
    }
    asm.scalar(encodings::POP, &[general(RBP)], None)?;
    asm.scalar(encodings::RET, &[], None)
}
