//! Integers and addresses in general registers. Arithmetic is on 64-bit integers; narrower ones are only loaded from
//! memory and put into vectors.

use cranelift_codegen::ir::{self, Opcode, Value, types};

use crate::encodings::{self, Encoding};
use crate::error::{Unsupported, refuse};
use crate::inst::{Condition, VInst, VOperand, VectorLength};
use crate::select::lower::Lower;

impl Lower<'_> {
    pub(super) fn scalar(
        &mut self,
        inst: ir::Inst,
        opcode: Opcode,
        result: Value,
    ) -> Result<(), Unsupported> {
        let ty = self.clif.ty(result);
        let args = self.clif.arguments(inst);
        match opcode {
            Opcode::Load => return self.load(inst, result),
            Opcode::Iconst | Opcode::F32const | Opcode::F64const => return Ok(()),
            Opcode::StackAddr => {
                let address = self.address(result, 0);
                let def = self.reg(result);
                self.put(encodings::LEA, VectorLength::L128, def, &[VOperand::Mem(address)]);
                return Ok(());
            }
            // Uses of a narrow integer read only its low bits.
            Opcode::Ireduce => {
                let (def, x) = (self.reg(result), self.reg(args[0]));
                self.put(encodings::MOV, VectorLength::L128, def, &[VOperand::Reg(x)]);
                return Ok(());
            }
            Opcode::Uextend => {
                let op = match self.clif.ty(args[0]) {
                    types::I8 => encodings::MOVZX8,
                    types::I16 => encodings::MOVZX16,
                    types::I32 => encodings::MOV32,
                    other => return refuse(format!("uextend of {other}")),
                };
                let def = self.reg(result);
                let x = match self.sunk(args[0]) {
                    Some(load) => VOperand::Mem(self.load_address(load)),
                    None => VOperand::Reg(self.reg(args[0])),
                };
                self.put(op, VectorLength::L128, def, &[x]);
                return Ok(());
            }
            Opcode::VhighBits => return self.high_bits(result, args[0]),
            Opcode::Band if !ty.is_float() => {}
            _ if ty != types::I64 => return refuse(format!("{opcode} of {ty}")),
            _ => {}
        }
        match opcode {
            Opcode::Select => {
                let def = self.reg(result);
                let condition = self.condition(args[0])?;
                let test = self.take_current();
                let [x, y] = [args[1], args[2]].map(|v| VOperand::Reg(self.reg(v)));
                self.append_current(test);
                self.push(
                    VInst::new(conditional_move(condition), VectorLength::L128, Some(def), &[y, x]).tied(),
                );
            }
            Opcode::Iadd => {
                self.binary_integer(result, args, (encodings::ADD, Some(encodings::ADD_I)), false)
            }
            Opcode::Isub if self.clif.integer_constant(args[1]).is_some() => {
                self.binary_integer(result, args, (encodings::SUB, Some(encodings::ADD_I)), true)
            }
            Opcode::Isub => self.binary_integer(result, args, (encodings::SUB, None), false),
            Opcode::Imul => self.binary_integer(result, args, (encodings::IMUL, None), false),
            Opcode::Band => {
                self.binary_integer(result, args, (encodings::AND, Some(encodings::AND_I)), false)
            }
            Opcode::Ishl | Opcode::Ushr if self.clif.integer_constant(args[1]).is_some() => {
                let op = if opcode == Opcode::Ishl { encodings::SHL_I } else { encodings::SHR_I };
                self.binary_integer(result, args, (op, Some(op)), false)
            }
            _ => return refuse(format!("{opcode} of {ty}")),
        }
        Ok(())
    }

    /// Selects a tied operation on two integers. If the second is a constant of at most 32 bits, the encoding with an
    /// immediate is used, if there is one; `negate` negates the constant first.
    fn binary_integer(
        &mut self,
        result: Value,
        args: &[Value],
        (encoding, immediate): (Encoding, Option<Encoding>),
        negate: bool,
    ) {
        let constant = self.clif.integer_constant(args[1]);
        let constant = constant.map(|c| if negate { c.wrapping_neg() } else { c });
        let constant = constant.and_then(|c| i32::try_from(c).ok());
        let def = self.reg(result);
        let x = VOperand::Reg(self.reg(args[0]));
        let inst = match (immediate, constant) {
            (Some(encoding), Some(c)) => {
                VInst::new(encoding, VectorLength::L128, Some(def), &[x]).immediate(c)
            }
            _ => {
                let y = VOperand::Reg(self.reg(args[1]));
                VInst::new(encoding, VectorLength::L128, Some(def), &[x, y])
            }
        };
        self.push(inst.tied());
    }
}

/// The conditional move instruction for a condition.
fn conditional_move(condition: Condition) -> Encoding {
    match condition {
        Condition::Equal => encodings::CMOVE,
        Condition::NotEqual => encodings::CMOVNE,
        Condition::Less => encodings::CMOVL,
        Condition::LessEqual => encodings::CMOVLE,
        Condition::Greater => encodings::CMOVG,
        Condition::GreaterEqual => encodings::CMOVGE,
        Condition::Below => encodings::CMOVB,
        Condition::BelowEqual => encodings::CMOVBE,
        Condition::Above => encodings::CMOVA,
        Condition::AboveEqual => encodings::CMOVAE,
    }
}
