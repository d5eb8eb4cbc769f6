//! Operands in the encoder's terms.
//!
//! In: an instruction with registers. Out: its bytes. Must hold: a register is named in the length that the form asks for.

use iced_x86::{Instruction, OpKind, Register};

use crate::Unsupported;
use crate::code::{Encoded, Memory, MemoryBase, Operand, Place};
use crate::encode::{PoolUse, Writer};
use crate::machine::Size;

impl Writer<'_> {
    pub fn inst(&mut self, inst: &Encoded) -> Result<(), Unsupported> {
        let Some(form) = inst.op.code(inst.size, self.evex) else {
            return Err(Unsupported(format!("{:?} at {:?}", inst.op, inst.size)));
        };
        let mut instruction = Instruction::default();
        instruction.set_code(form);
        let (op, size, last) =
            (inst.op, inst.size, inst.operands.len() - usize::from(!inst.operands.is_empty()));
        let mut pool = None;
        let mut place = 0;
        for operand in &inst.operands {
            match *operand {
                Operand::In(register) => {
                    let at = place as usize;
                    let length = op.length(size, at, at == last);
                    let register = named(register, length, op.general_bytes(at));
                    instruction.set_op_kind(place, OpKind::Register);
                    instruction.set_op_register(place, register);
                }
                Operand::At(memory) => {
                    if let MemoryBase::Pool { bits, bytes } = memory.base {
                        pool = Some((bits, bytes));
                    }
                    instruction.set_op_kind(place, OpKind::Memory);
                    self.address(&mut instruction, memory);
                }
            }
            place += 1;
        }
        if let Some(immediate) = inst.immediate {
            set_immediate(&mut instruction, place, op.immediate, immediate);
        }
        if let Some(mask) = inst.mask {
            instruction.set_op_mask(Register::K0 + u32::from(mask));
            instruction.set_zeroing_masking(inst.zeroing);
        }
        self.encode(&instruction)?;
        if let Some(key) = pool {
            let offsets = self.encoder.get_constant_offsets();
            let start = self.at - self.last;
            let displacement = start + offsets.displacement_offset() + 4;
            self.pool.push(PoolUse { key, displacement, next: self.at });
        }
        Ok(())
    }

    fn address(&self, instruction: &mut Instruction, memory: Memory) {
        let (base, offset) = match memory.base {
            MemoryBase::General(register) => (Register::RAX + u32::from(register), memory.offset),
            MemoryBase::Frame => (Register::RSP, self.frame.own() + memory.offset),
            MemoryBase::Spill => (Register::RSP, self.frame.spills() + memory.offset),
            MemoryBase::Caller => (Register::RBP, 16 + memory.offset),
            // Set when the pool's place is known.
            MemoryBase::Pool { .. } => (Register::RIP, 0),
        };
        instruction.set_memory_base(base);
        if let Some((index, shift)) = memory.index {
            instruction.set_memory_index(Register::RAX + u32::from(index));
            instruction.set_memory_index_scale(1 << shift);
        }
        if base == Register::RIP {
            instruction.set_memory_displacement64(self.at as u64);
            instruction.set_memory_displ_size(8);
        } else {
            instruction.set_memory_displacement64(i64::from(offset) as u64);
            instruction.set_memory_displ_size(u32::from(offset != 0));
        }
        instruction.set_is_broadcast(memory.broadcast);
    }
}

fn set_immediate(instruction: &mut Instruction, place: u32, bytes: u8, immediate: i64) {
    match bytes {
        8 => {
            instruction.set_op_kind(place, OpKind::Immediate64);
            instruction.set_immediate64(immediate as u64);
        }
        4 => {
            instruction.set_op_kind(place, OpKind::Immediate32to64);
            instruction.set_immediate32to64(immediate);
        }
        _ => {
            instruction.set_op_kind(place, OpKind::Immediate8);
            instruction.set_immediate8(immediate as u8);
        }
    }
}

/// The name of a register of a length: of a vector's, or of so many bytes.
fn named(place: Place, length: Size, bytes: u8) -> Register {
    match place {
        Place::Mask(n) => Register::K0 + u32::from(n),
        Place::Vector(n) => {
            let first = match length {
                Size::X => Register::XMM0,
                Size::Y => Register::YMM0,
                Size::Z => Register::ZMM0,
            };
            first + u32::from(n)
        }
        Place::General(n) => {
            let n = u32::from(n);
            match bytes {
                8 => Register::RAX + n,
                4 => Register::EAX + n,
                2 => Register::AX + n,
                _ if n < 4 => Register::AL + n,
                _ => Register::SPL + (n - 4),
            }
        }
    }
}
