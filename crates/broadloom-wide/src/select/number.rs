//! Equal computations become one.
//!
//! In: an instruction, in the order of the line. Out: an earlier value that is the same, if there is one. Must hold: only
//! what computes and nothing else is numbered; what cold code computes is not known on the line.
//!
//! Cranelift's own optimiser would do this and more, but some of its rules know of no vectors beyond 128 bits: on
//! `isub.i32x16 x, x` it panics. Rewriting has been done on the graph; what is left are constants, conversions and
//! reductions that functions of one argument share.

use cranelift_codegen::ir::{Inst as ClifInst, InstructionData as Data, Opcode, Type, Value};
use smallvec::SmallVec;

use crate::select::Select;

/// What an instruction computes: equal keys, equal values.
#[derive(PartialEq, Eq, Hash)]
pub struct Key {
    opcode: Opcode,
    ty: Type,
    /// An immediate, a condition, a constant or an intrinsic.
    extra: i64,
    args: SmallVec<[Value; 3]>,
}

impl Select<'_> {
    /// The operand that an instruction gives back as it is: functions add what another one of their kind needs.
    pub fn unchanged(&self, inst: ClifInst) -> Option<Value> {
        let Data::Binary { opcode, args: [x, y] } = self.dfg().insts[inst] else { return None };
        let nothing = match opcode {
            Opcode::Iadd | Opcode::Isub | Opcode::Bor | Opcode::Bxor => 0,
            Opcode::Band => u64::MAX,
            _ => return None,
        };
        (self.constant_bits(y) == Some(nothing)).then(|| self.resolve(x))
    }

    /// What an instruction computes, if that is all it does.
    pub fn key(&self, inst: ClifInst) -> Option<Key> {
        let data = &self.dfg().insts[inst];
        let opcode = data.opcode();
        let extra = match *data {
            Data::Unary { .. } | Data::Binary { .. } | Data::Ternary { .. } => 0,
            Data::LoadNoOffset { opcode: Opcode::Bitcast, .. } => 0,
            Data::UnaryImm { imm, .. } => imm.bits(),
            Data::UnaryIeee32 { imm, .. } => i64::from(imm.bits()),
            Data::UnaryIeee64 { imm, .. } => imm.bits() as i64,
            Data::UnaryConst { constant_handle, .. } => i64::from(constant_handle.as_u32()),
            Data::IntCompare { cond, .. } => cond as i64,
            Data::FloatCompare { cond, .. } => cond as i64,
            Data::StackAddr { stack_slot, offset, .. } => {
                i64::from(stack_slot.as_u32()) << 32 | i64::from(i32::from(offset) as u32)
            }
            Data::Call { .. } => {
                let intrinsic = self.intrinsic(inst).filter(|i| i.is_pure())?;
                i64::from(intrinsic.name().index)
            }
            _ => return None,
        };
        let &[result] = self.dfg().inst_results(inst) else { return None };
        let ty = self.ty(result);
        let mut args: SmallVec<[Value; 3]> = self.arguments(inst).iter().map(|&a| self.resolve(a)).collect();
        // Of what commutes the order is no matter.
        if matches!(
            opcode,
            Opcode::Iadd
                | Opcode::Imul
                | Opcode::Band
                | Opcode::Bor
                | Opcode::Bxor
                | Opcode::Fadd
                | Opcode::Fmul
        ) {
            args.sort_unstable();
        }
        Some(Key { opcode, ty, extra, args })
    }
}
