//! Encodes a function: straight-line code, loops, the masked code for the tails of rows, and the out-of-line code at
//! the end.

use crate::allocated::{
    AInst, AllocatedFunction, PAddress, PBase, POperand, PReg, RegMove, SCRATCH, TAIL_MASK,
};
use crate::code::Code;
use crate::encode::assembler::{Assembler, Jump, Label};
use crate::encode::frame::Frame;
use crate::encode::{moves, stack};
use crate::encodings;
use crate::error::Unsupported;
use crate::inst::Condition;
use crate::tail::{TailExpansion, TailMasker};
use crate::target::{Convention, Level};

/// Out-of-line code that is still to be encoded.
struct Pending<'f> {
    body: &'f [AInst],
    jump: Jump,
    back: Label,
    masker: Option<TailMasker>,
}

pub(super) struct FunctionWriter<'f> {
    asm: Assembler,
    level: Level,
    pending: Vec<Pending<'f>>,
    heads: Vec<Label>,
    /// The state of the tail mask while the tail of a row is encoded; `None` elsewhere.
    masker: Option<TailMasker>,
}

impl<'f> FunctionWriter<'f> {
    pub(super) fn new(func: &AllocatedFunction, level: Level, convention: Convention) -> FunctionWriter<'f> {
        let asm = Assembler::new(Frame::of(func, convention), level);
        FunctionWriter { asm, level, pending: Vec::new(), heads: Vec::new(), masker: None }
    }

    pub(super) fn write(mut self, func: &'f AllocatedFunction) -> Result<Code, Unsupported> {
        stack::prologue(&mut self.asm)?;
        self.sequence(&func.insts)?;
        // Out-of-line code is encoded in the order of its branches, breadth first.
        let mut next = 0;
        while next < self.pending.len() {
            let Pending { body, jump, back, ref mut masker } = self.pending[next];
            self.masker = masker.take();
            self.asm.bind_here(jump);
            self.sequence(body)?;
            self.asm.jump_to(None, back)?;
            next += 1;
        }
        self.asm.finish()
    }

    fn sequence(&mut self, insts: &'f [AInst]) -> Result<(), Unsupported> {
        for inst in insts {
            match inst {
                AInst::Op { inst, .. } => match self.masker.as_mut().and_then(|masker| masker.expand(inst)) {
                    Some(expansion) => self.tail_access(&expansion)?,
                    None => self.asm.inst(inst)?,
                },
                AInst::Move(m) => self.asm.inst(&moves::lower(*m, self.level))?,
                AInst::Call { .. } => {
                    self.asm.scalar(encodings::VZEROUPPER, &[], None)?;
                    self.asm.scalar(encodings::CALL, &[POperand::Reg(SCRATCH)], None)?;
                    if let Some(masker) = &mut self.masker {
                        masker.after_call();
                    }
                }
                AInst::Cold { condition, body, .. } => {
                    let jump = self.asm.jump(Some(*condition))?;
                    let masker = self.masker.as_mut().map(TailMasker::enter_cold);
                    self.pending.push(Pending { body, jump, back: self.asm.here(), masker });
                }
                AInst::Loop { body, .. } => {
                    self.asm.align();
                    self.heads.push(self.asm.here());
                    self.sequence(body)?;
                    self.heads.pop();
                }
                AInst::Back { condition, moves, .. } => self.back(*condition, moves)?,
                AInst::TailLoop { body, index, columns, lanes, .. } => {
                    self.tail_loop(body, *index, *columns, *lanes as i32)?;
                }
                AInst::Return => stack::epilogue(&mut self.asm)?,
            }
        }
        Ok(())
    }

    fn back(&mut self, condition: Condition, wanted: &[RegMove]) -> Result<(), Unsupported> {
        let Some(&head) = self.heads.last() else {
            return Err(Unsupported("a branch back outside of loops".into()));
        };
        if wanted.is_empty() {
            return self.asm.jump_to(Some(condition), head);
        }
        let over = self.asm.jump(Some(condition.inverse()))?;
        for &m in wanted {
            self.asm.inst(&moves::lower(m, self.level))?;
        }
        self.asm.jump_to(None, head)?;
        self.asm.bind_here(over);
        Ok(())
    }

    /// Encodes the loop over whole blocks, then the same body with masks for the remaining elements, if any.
    fn tail_loop(
        &mut self,
        body: &'f [AInst],
        index: u8,
        columns: POperand,
        lanes: i32,
    ) -> Result<(), Unsupported> {
        const RAX: POperand = POperand::Reg(SCRATCH);
        let index = POperand::Reg(PReg::general(index));
        // The index of the last whole block's first element.
        let limit = POperand::Mem(self.asm.frame.tail_limit());
        self.asm.scalar(encodings::MOV, &[RAX, columns], None)?;
        self.asm.scalar(encodings::ADD_I, &[RAX], Some(-i64::from(lanes)))?;
        self.asm.scalar(encodings::MOV_STORE, &[limit, RAX], None)?;
        let no_whole_block = self.asm.jump(Some(Condition::Less))?;
        self.asm.align();
        let head = self.asm.here();
        self.sequence(body)?;
        self.asm.scalar(encodings::CMP, &[index, limit], None)?;
        self.asm.jump_to(Some(Condition::LessEqual), head)?;
        self.asm.scalar(encodings::CMP, &[index, columns], None)?;
        let done = self.asm.jump(Some(Condition::GreaterEqual))?;
        self.asm.bind_here(no_whole_block);
        self.asm.scalar(encodings::MOV, &[RAX, columns], None)?;
        self.asm.scalar(encodings::SUB, &[RAX, index], None)?;
        let ones = PAddress::at(PBase::Pool { bits: u64::MAX, bytes: 8 }, 0);
        self.asm.scalar(encodings::BZHI, &[RAX, POperand::Mem(ones), RAX], None)?;
        let mask = POperand::Mem(self.asm.frame.tail_mask());
        self.asm.scalar(encodings::MOV_STORE, &[mask, RAX], None)?;
        self.masker = Some(TailMasker::new());
        self.sequence(body)?;
        self.masker = None;
        self.asm.bind_here(done);
        Ok(())
    }

    fn tail_access(&mut self, expansion: &TailExpansion) -> Result<(), Unsupported> {
        if let Some(lane) = expansion.set_mask {
            let mask = POperand::Reg(TAIL_MASK);
            let left = POperand::Mem(self.asm.frame.tail_mask());
            self.asm.scalar(encodings::KMOVQ, &[mask, left], None)?;
            if lane > 0 {
                self.asm.scalar(encodings::KSHIFTRQ, &[mask, mask], Some(lane.into()))?;
            }
        }
        expansion.load.iter().chain(&expansion.inst).try_for_each(|inst| self.asm.inst(inst))
    }
}
