//! Integers and addresses in general registers.
//!
//! In: scalar instructions. Out: instructions of the machine. Must hold: as CLIF says, at 64 bits; narrower integers only
//! come from memory and go into vectors.

use cranelift_codegen::ir::{Inst as ClifInst, Opcode, Value, types};

use crate::Unsupported;
use crate::forms::{self, Op};
use crate::machine::{Condition, Inst, Size, Source};
use crate::select::{Select, refuse};

impl Select<'_> {
    pub fn scalar(&mut self, inst: ClifInst, opcode: Opcode, result: Value) -> Result<(), Unsupported> {
        let ty = self.ty(result);
        let args = self.arguments(inst);
        match opcode {
            Opcode::Load => return self.load(inst, result),
            Opcode::Iconst | Opcode::F32const | Opcode::F64const => return Ok(()),
            Opcode::StackAddr => {
                let address = self.address(result, 0);
                let def = self.reg(result);
                self.put(forms::LEA, Size::X, def, &[Source::Mem(address)]);
                return Ok(());
            }
            // Only the low bits are looked at.
            Opcode::Ireduce => {
                let (def, x) = (self.reg(result), self.reg(args[0]));
                self.put(forms::MOV, Size::X, def, &[Source::Reg(x)]);
                return Ok(());
            }
            Opcode::Uextend => {
                let op = match self.ty(args[0]) {
                    types::I8 => forms::MOVZX8,
                    types::I16 => forms::MOVZX16,
                    types::I32 => forms::MOV32,
                    other => return refuse(format!("uextend of {other}")),
                };
                let (def, x) = (self.reg(result), self.reg(args[0]));
                self.put(op, Size::X, def, &[Source::Reg(x)]);
                return Ok(());
            }
            Opcode::Band if !ty.is_float() => {}
            _ if ty != types::I64 => return refuse(format!("{opcode} of {ty}")),
            _ => {}
        }
        let two = |s: &mut Self, op: Op, immediate: Option<Op>, negate: bool| {
            let constant = s.integer_constant(args[1]).map(|c| if negate { c.wrapping_neg() } else { c });
            let constant = constant.and_then(|c| i32::try_from(c).ok());
            let def = s.reg(result);
            let x = s.reg(args[0]);
            match (immediate, constant) {
                (Some(op), Some(c)) => {
                    s.push(Inst::new(op, Size::X, Some(def), &[Source::Reg(x)]).tied().immediate(c));
                }
                _ => {
                    let y = s.reg(args[1]);
                    s.push(Inst::new(op, Size::X, Some(def), &[Source::Reg(x), Source::Reg(y)]).tied());
                }
            }
            Ok(())
        };
        match opcode {
            Opcode::Select => {
                let def = self.reg(result);
                let condition = self.condition(args[0])?;
                let test = std::mem::take(&mut self.now);
                let [x, y] = [args[1], args[2]].map(|v| Source::Reg(self.reg(v)));
                self.now.extend(test);
                self.push(Inst::new(conditional(condition), Size::X, Some(def), &[y, x]).tied());
                Ok(())
            }
            Opcode::Iadd => two(self, forms::ADD, Some(forms::ADD_I), false),
            Opcode::Isub if self.integer_constant(args[1]).is_some() => {
                two(self, forms::SUB, Some(forms::ADD_I), true)
            }
            Opcode::Isub => two(self, forms::SUB, None, false),
            Opcode::Imul => two(self, forms::IMUL, None, false),
            Opcode::Band => two(self, forms::AND, Some(forms::AND_I), false),
            Opcode::Ishl | Opcode::Ushr if self.integer_constant(args[1]).is_some() => {
                let op = if opcode == Opcode::Ishl { forms::SHL_I } else { forms::SHR_I };
                two(self, op, Some(op), false)
            }
            _ => refuse(format!("{opcode} of {ty}")),
        }
    }
}

/// The move that happens on a condition.
fn conditional(condition: Condition) -> Op {
    match condition {
        Condition::Equal => forms::CMOVE,
        Condition::NotEqual => forms::CMOVNE,
        Condition::Less => forms::CMOVL,
        Condition::LessEqual => forms::CMOVLE,
        Condition::Greater => forms::CMOVG,
        Condition::GreaterEqual => forms::CMOVGE,
        Condition::Below => forms::CMOVB,
        Condition::BelowEqual => forms::CMOVBE,
        Condition::Above => forms::CMOVA,
        Condition::AboveEqual => forms::CMOVAE,
    }
}
