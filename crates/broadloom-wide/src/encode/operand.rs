//! Converts instructions to the encoder's instructions (`iced_x86`): registers are named by their size, and addresses
//! in the frame become offsets from the stack pointer.

use iced_x86::{Instruction, OpKind, Register};

use crate::allocated::{PAddress, PBase, PInst, POperand, PReg};
use crate::encode::frame::Frame;
use crate::error::Unsupported;
use crate::inst::{RegClass, VectorLength};

/// An instruction of the encoder, and the pool constant that it reads, as (64-bit pattern, size in bytes).
pub(super) struct Lowered {
    pub(super) instruction: Instruction,
    pub(super) pool: Option<(u64, u8)>,
}

/// The encoder's instruction for an operation, which is at the offset `at` in the code.
pub(super) fn lower(inst: &PInst, frame: &Frame, avx512: bool, at: usize) -> Result<Lowered, Unsupported> {
    let Some(code) = inst.encoding.code(inst.length, avx512) else {
        return Err(Unsupported(format!("{:?} at {:?}", inst.encoding, inst.length)));
    };
    let mut instruction = Instruction::default();
    instruction.set_code(code);
    let mut pool = None;
    for (i, operand) in inst.operands.iter().enumerate() {
        let position = i as u32;
        match *operand {
            POperand::Reg(register) => {
                let is_last = i + 1 == inst.operands.len();
                let length = inst.encoding.operand_length(inst.length, i, is_last);
                let register = named(register, length, inst.encoding.general_bytes(i));
                instruction.set_op_kind(position, OpKind::Register);
                instruction.set_op_register(position, register);
            }
            POperand::Mem(memory) => {
                if let PBase::Pool { bits, bytes } = memory.base {
                    pool = Some((bits, bytes));
                }
                instruction.set_op_kind(position, OpKind::Memory);
                address(&mut instruction, memory, frame, at, inst.length);
            }
        }
    }
    if let Some(immediate) = inst.immediate {
        set_immediate(&mut instruction, inst.operands.len() as u32, inst.encoding.immediate, immediate);
    }
    if let Some(mask) = inst.mask {
        instruction.set_op_mask(Register::K0 + u32::from(mask));
        instruction.set_zeroing_masking(inst.zeroing);
    }
    Ok(Lowered { instruction, pool })
}

/// Sets the address of a memory operand. An index that is a vector has the length of the operation.
fn address(instruction: &mut Instruction, memory: PAddress, frame: &Frame, at: usize, length: VectorLength) {
    let (base, offset) = match memory.base {
        PBase::Reg(register) => (Register::RAX + u32::from(register), memory.offset),
        PBase::StackSlots => (Register::RSP, frame.stack_slots() + memory.offset),
        PBase::Spill(slot) => (Register::RSP, frame.slot(slot) + memory.offset),
        PBase::StackArguments => (Register::RBP, 16 + memory.offset),
        // The displacement is patched once the constant's position is known.
        PBase::Pool { .. } => (Register::RIP, 0),
    };
    instruction.set_memory_base(base);
    if let Some((index, shift)) = memory.index {
        instruction.set_memory_index(named(index, length, 8));
        instruction.set_memory_index_scale(1 << shift);
    }
    if base == Register::RIP {
        instruction.set_memory_displacement64(at as u64);
        instruction.set_memory_displ_size(8);
    } else {
        instruction.set_memory_displacement64(i64::from(offset) as u64);
        instruction.set_memory_displ_size(u32::from(offset != 0));
    }
    instruction.set_is_broadcast(memory.broadcast);
}

fn set_immediate(instruction: &mut Instruction, position: u32, bytes: u8, immediate: i64) {
    match bytes {
        8 => {
            instruction.set_op_kind(position, OpKind::Immediate64);
            instruction.set_immediate64(immediate as u64);
        }
        4 => {
            instruction.set_op_kind(position, OpKind::Immediate32to64);
            instruction.set_immediate32to64(immediate);
        }
        _ => {
            instruction.set_op_kind(position, OpKind::Immediate8);
            instruction.set_immediate8(immediate as u8);
        }
    }
}

/// The encoder's name of a register. A vector register is named by its vector length, a general register by its size in
/// bytes.
fn named(register: PReg, length: VectorLength, bytes: u8) -> Register {
    let n = u32::from(register.number);
    match register.class {
        RegClass::Mask => Register::K0 + n,
        RegClass::Vector => {
            let first = match length {
                VectorLength::L128 => Register::XMM0,
                VectorLength::L256 => Register::YMM0,
                VectorLength::L512 => Register::ZMM0,
            };
            first + n
        }
        RegClass::General => match bytes {
            8 => Register::RAX + n,
            4 => Register::EAX + n,
            2 => Register::AX + n,
            _ if n < 4 => Register::AL + n,
            _ => Register::SPL + (n - 4),
        },
    }
}
