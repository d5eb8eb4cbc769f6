//! The assembler: it appends instructions, jumps whose targets are bound later, and the constant pool.

use iced_x86::{Encoder, Instruction};

use crate::allocated::{PInst, POperand};
use crate::code::Code;
use crate::encode::frame::Frame;
use crate::encode::operand;
use crate::encode::pool::ConstantPool;
use crate::encodings::Encoding;
use crate::error::Unsupported;
use crate::inst::Condition;
use crate::target::Level;

/// A jump whose target is not bound yet, as the offset in the code at which its displacement of four bytes ends.
#[derive(Clone, Copy)]
pub(super) struct Jump(usize);

/// A position in the code that jumps can be bound to, as an offset in bytes.
#[derive(Clone, Copy)]
pub(super) struct Label(usize);

pub(super) struct Assembler {
    pub(super) frame: Frame,
    encoder: Encoder,
    at: usize,
    avx512: bool,
    pool: ConstantPool,
    jumps: Vec<(Jump, Label)>,
}

impl Assembler {
    pub(super) fn new(frame: Frame, level: Level) -> Assembler {
        Assembler {
            frame,
            encoder: Encoder::new(64),
            at: 0,
            avx512: level == Level::Avx512,
            pool: ConstantPool::default(),
            jumps: Vec::new(),
        }
    }

    pub(super) fn here(&self) -> Label {
        Label(self.at)
    }

    pub(super) fn inst(&mut self, inst: &PInst) -> Result<(), Unsupported> {
        let lowered = operand::lower(inst, &self.frame, self.avx512, self.at)?;
        let start = self.at;
        self.encode(&lowered.instruction)?;
        if let Some(key) = lowered.pool {
            let displacement = start + self.encoder.get_constant_offsets().displacement_offset() + 4;
            self.pool.note(key, displacement, self.at);
        }
        Ok(())
    }

    /// Appends a machine instruction that has no vector length.
    pub(super) fn scalar(
        &mut self,
        encoding: Encoding,
        operands: &[POperand],
        immediate: Option<i64>,
    ) -> Result<(), Unsupported> {
        self.inst(&PInst::scalar(encoding, operands, immediate))
    }

    pub(super) fn jump(&mut self, condition: Option<Condition>) -> Result<Jump, Unsupported> {
        let code = match condition {
            None => iced_x86::Code::Jmp_rel32_64,
            Some(Condition::Equal) => iced_x86::Code::Je_rel32_64,
            Some(Condition::NotEqual) => iced_x86::Code::Jne_rel32_64,
            Some(Condition::Less) => iced_x86::Code::Jl_rel32_64,
            Some(Condition::LessEqual) => iced_x86::Code::Jle_rel32_64,
            Some(Condition::Greater) => iced_x86::Code::Jg_rel32_64,
            Some(Condition::GreaterEqual) => iced_x86::Code::Jge_rel32_64,
            Some(Condition::Below) => iced_x86::Code::Jb_rel32_64,
            Some(Condition::BelowEqual) => iced_x86::Code::Jbe_rel32_64,
            Some(Condition::Above) => iced_x86::Code::Ja_rel32_64,
            Some(Condition::AboveEqual) => iced_x86::Code::Jae_rel32_64,
        };
        let jump = Instruction::with_branch(code, self.at as u64).map_err(refused)?;
        self.encode(&jump)?;
        Ok(Jump(self.at))
    }

    pub(super) fn jump_to(&mut self, condition: Option<Condition>, to: Label) -> Result<(), Unsupported> {
        let jump = self.jump(condition)?;
        self.bind(jump, to);
        Ok(())
    }

    pub(super) fn bind(&mut self, jump: Jump, to: Label) {
        self.jumps.push((jump, to));
    }

    pub(super) fn bind_here(&mut self, jump: Jump) {
        self.bind(jump, self.here());
    }

    fn encode(&mut self, instruction: &Instruction) -> Result<(), Unsupported> {
        self.at += self.encoder.encode(instruction, self.at as u64).map_err(refused)?;
        Ok(())
    }

    /// Pads with no-operation instructions up to the next multiple of 32 bytes, where a fetch window of the CPU's front
    /// end begins.
    pub(super) fn align(&mut self) {
        // The no-operation of nine bytes that the processors' manuals recommend.
        const LONG: [u8; 9] = [0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
        let missing = self.at.next_multiple_of(32) - self.at;
        let fill = LONG.iter().copied().cycle().take(missing / LONG.len() * LONG.len());
        fill.chain(std::iter::repeat_n(0x90, missing % LONG.len())).for_each(|b| self.encoder.write_u8(b));
        self.at += missing;
    }

    /// The finished code, with its jump targets and constants patched in.
    pub(super) fn finish(mut self) -> Result<Code, Unsupported> {
        let mut bytes = self.encoder.take_buffer();
        let code_bytes = bytes.len();
        let constants = self.pool.append(&mut bytes);
        let jumps = self.jumps.iter().map(|&(Jump(end), Label(to))| (end, to as i64 - end as i64));
        for (end, distance) in jumps.chain(constants) {
            let distance = i32::try_from(distance).map_err(|_| Unsupported("code of 2 GiB".into()))?;
            bytes[end - 4..end].copy_from_slice(&distance.to_le_bytes());
        }
        Ok(Code { bytes, code_bytes, frame: self.frame.bytes() })
    }
}

fn refused(e: iced_x86::IcedError) -> Unsupported {
    Unsupported(format!("an instruction that can't be encoded: {e}"))
}
