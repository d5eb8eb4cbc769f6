//! The machine instructions for the moves that the register allocator has inserted. None of them changes the CPU's
//! flags.

use crate::allocated::{PAddress, PBase, PInst, POperand, PReg, RegMove};
use crate::encodings::{self, Encoding};
use crate::inst::{RegClass, VectorLength};
use crate::target::Level;

pub(super) fn lower(m: RegMove, level: Level) -> PInst {
    let widest = match level {
        Level::Avx2 => VectorLength::L256,
        Level::Avx512 => VectorLength::L512,
    };
    let moved = |class: RegClass, encodings: [Encoding; 3], operands: [POperand; 2]| {
        let length = if class == RegClass::Vector { widest } else { VectorLength::L128 };
        PInst::new(encodings[class as usize], length, &operands)
    };
    let slot_at = |slot| POperand::Mem(PAddress::at(PBase::Spill(slot), 0));
    match m {
        RegMove::Copy { to, from } => {
            let copies = [encodings::MOV, encodings::MOVAPS, encodings::KMOVQ];
            moved(to.class, copies, [POperand::Reg(to), POperand::Reg(from)])
        }
        RegMove::Spill { slot, from } => {
            let stores = [encodings::MOV_STORE, encodings::MOVUPS_STORE, encodings::KMOVQ_STORE];
            moved(from.class, stores, [slot_at(slot), POperand::Reg(from)])
        }
        RegMove::Reload { to, slot } => {
            let loads = [encodings::MOV, encodings::MOVUPS, encodings::KMOVQ];
            moved(to.class, loads, [POperand::Reg(to), slot_at(slot)])
        }
        RegMove::Constant { to, bits } => constant(POperand::Reg(PReg::vector(to)), bits, level, widest),
        RegMove::Integer { to, value } => {
            let is_short = i32::try_from(value).is_ok();
            let encoding = if is_short { encodings::MOV_I32 } else { encodings::MOV_I64 };
            PInst::scalar(encoding, &[POperand::Reg(PReg::general(to))], Some(value))
        }
        RegMove::Argument { to, index } => {
            let at = PAddress::at(PBase::StackArguments, 8 * index as i32);
            PInst::scalar(encodings::MOV, &[POperand::Reg(PReg::general(to)), POperand::Mem(at)], None)
        }
    }
}

/// The instruction that fills a vector register with copies of a 64-bit pattern. All zeros and all ones need no memory;
/// other constants are broadcast from the pool.
fn constant(to: POperand, bits: u64, level: Level, widest: VectorLength) -> PInst {
    let avx512 = level == Level::Avx512;
    match bits {
        0 => {
            let xor = if avx512 { encodings::PXORD } else { encodings::PXOR };
            PInst::new(xor, VectorLength::L128, &[to; 3])
        }
        u64::MAX if avx512 => {
            let all_ones = PInst::new(encodings::PTERNLOGD, widest, &[to; 3]);
            PInst { immediate: Some(0xff), ..all_ones }
        }
        u64::MAX => PInst::new(encodings::PCMPEQD, widest, &[to; 3]),
        _ => {
            let halves = bits as u32 == (bits >> 32) as u32;
            let (encoding, bytes) =
                if halves { (encodings::PBROADCASTD, 4) } else { (encodings::PBROADCASTQ, 8) };
            let pool = PAddress::at(PBase::Pool { bits, bytes }, 0);
            PInst::new(encoding, widest, &[to, POperand::Mem(pool)])
        }
    }
}
