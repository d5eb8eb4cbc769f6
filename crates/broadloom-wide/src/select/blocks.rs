//! Turns the blocks of a CLIF function into one linear sequence of machine instructions, from the last block to the
//! first.
//!
//! The function must have the shape that the emitter writes: inline blocks in sequence, loops that begin at a block and
//! end with a branch back, and cold blocks that return to the next inline block. Anything else is refused.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, Block, BlockCall, InstructionData, Opcode, Value, types};
use smallvec::SmallVec;

use crate::encodings;
use crate::error::{Unsupported, refuse};
use crate::inst::{
    Condition, JoinParameter, LoopParameter, MInst, TailLoop, VFunction, VInst, VOperand, VectorLength,
};
use crate::intrinsic::Intrinsic;
use crate::select::lower::Lower;

/// A loop whose branch back has been selected and whose head has not: the head, and the number of instructions after
/// the branch.
struct PendingLoop {
    head: Block,
    behind: usize,
}

impl Lower<'_> {
    pub(super) fn function(mut self) -> Result<VFunction, Unsupported> {
        let layout = &self.clif.func.layout;
        let inline: Vec<Block> = layout.blocks().filter(|&b| !layout.is_cold(b)).collect();
        let before = self.begin_body();
        let mut loops: Vec<PendingLoop> = Vec::new();
        for (place, &block) in inline.iter().enumerate().rev() {
            self.terminator(&inline, place, &mut loops)?;
            for inst in layout.block_insts(block).rev().skip(1) {
                self.select(inst)?;
            }
            if let Some(pending) = loops.iter().find(|pending| pending.head == block) {
                self.loop_head(&inline[..place], block, pending.behind)?;
            } else if place > 0
                && !self.clif.dfg().block_params(block).is_empty()
                && !self.is_join(&inline, place)
            {
                return refuse("a block with parameters that is neither a loop's head nor a join");
            }
        }
        let mut insts = self.end_body(before);
        number_loops(&mut insts)?;
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        let entry = inline.first().map_or(&[][..], |&entry| self.clif.dfg().block_params(entry));
        let parameters = entry.iter().map(|&p| self.reg(p)).collect();
        let stack_slot_bytes = self.clif.slot_bytes;
        Ok(VFunction { insts, kinds: self.vregs.into_kinds(), parameters, stack_slot_bytes })
    }

    fn loop_head(&mut self, before: &[Block], block: Block, behind: usize) -> Result<(), Unsupported> {
        let from = before.last().copied();
        let initial = from.map(|from| self.jump_arguments(from, block)).transpose()?.unwrap_or_default();
        let row = self.clif.row_loop.filter(|row| row.head == block);
        let tail = row.map(|row| TailLoop { columns: self.reg(row.columns), lanes: row.lanes });
        let mut parameters = SmallVec::new();
        for (&param, &value) in self.clif.dfg().block_params(block).iter().zip(&initial) {
            if self.vregs.is_wanted(param) {
                parameters.push(LoopParameter { parameter: self.reg(param), initial: self.reg(value) });
            }
        }
        self.flush();
        // Until the sequence is complete, `end` is the number of instructions after the loop's last one.
        self.place(MInst::Loop { parameters, end: behind as u32, tail });
        Ok(())
    }

    fn is_join(&self, inline: &[Block], place: usize) -> bool {
        let last = place.checked_sub(1).and_then(|p| self.clif.func.layout.last_inst(inline[p]));
        matches!(last.map(|i| self.clif.data(i).opcode()), Some(Opcode::Brif))
    }

    fn call_arguments(&self, call: &BlockCall) -> SmallVec<[Value; 8]> {
        let args = call.args(&self.clif.dfg().value_lists).filter_map(|a| a.as_value());
        args.map(|v| self.clif.resolve(v)).collect()
    }

    fn target(&self, call: &BlockCall) -> Block {
        call.block(&self.clif.dfg().value_lists)
    }

    /// The arguments that the jump at the end of the block `from` passes to the block `to`, its target.
    fn jump_arguments(&self, from: Block, to: Block) -> Result<SmallVec<[Value; 8]>, Unsupported> {
        let last = self.clif.func.layout.last_inst(from).map(|i| self.clif.data(i));
        match last {
            Some(InstructionData::Jump { destination, .. }) if self.target(&destination) == to => {
                Ok(self.call_arguments(&destination))
            }
            _ => refuse("a loop that is entered by anything but a jump"),
        }
    }

    fn terminator(
        &mut self,
        inline: &[Block],
        place: usize,
        loops: &mut Vec<PendingLoop>,
    ) -> Result<(), Unsupported> {
        let layout = &self.clif.func.layout;
        let Some(inst) = layout.last_inst(inline[place]) else { return refuse("an empty block") };
        let next = inline.get(place + 1).copied();
        self.at = Some(inst);
        match self.clif.data(inst) {
            InstructionData::MultiAry { opcode: Opcode::Return, .. } => self.place(MInst::Return),
            InstructionData::Jump { destination, .. } if Some(self.target(&destination)) == next => {}
            InstructionData::Brif { arg, blocks, .. } => {
                let [then, other] = [0, 1].map(|i| self.target(&blocks[i]));
                if layout.is_cold(then) && Some(other) == next {
                    let condition = self.condition(arg)?;
                    return self.cold(condition, then, other, &blocks[1]);
                }
                let (head, inverse) = match (Some(then) == next, Some(other) == next) {
                    (false, true) => (then, false),
                    (true, false) => (other, true),
                    _ => return refuse("a branch with two targets"),
                };
                if !inline[..=place].contains(&head) {
                    return refuse("a branch forward");
                }
                return self.back(head, arg, &blocks[usize::from(inverse)], inverse, loops);
            }
            other => return refuse(format!("a block that ends with {}", other.opcode())),
        }
        Ok(())
    }

    /// Selects a branch back to the head of a loop.
    fn back(
        &mut self,
        head: Block,
        arg: Value,
        call: &BlockCall,
        inverse: bool,
        loops: &mut Vec<PendingLoop>,
    ) -> Result<(), Unsupported> {
        let values = self.call_arguments(call);
        // In a loop over a row, the encoder emits the comparison of the element index with the row's length.
        let is_row = self.clif.row_loop.is_some_and(|row| row.head == head);
        let condition = if is_row { Condition::Less } else { self.condition(arg)? };
        let condition = if inverse { condition.inverse() } else { condition };
        let test = self.take_current();
        let mut regs = SmallVec::new();
        for (&param, &value) in self.clif.dfg().block_params(head).iter().zip(&values) {
            // Selection goes backwards, so the uses of the parameter, which precede this branch, have not been seen
            // yet. Every parameter gets a register; few are never read.
            self.reg(param);
            regs.push(self.reg(value));
        }
        if !self.take_current().is_empty() {
            return refuse("a load that only a branch reads");
        }
        if !loops.iter().any(|pending| pending.head == head) {
            loops.push(PendingLoop { head, behind: self.selected() });
        }
        self.place(MInst::Back { head: 0, condition, values: regs });
        self.append_current(test);
        self.flush();
        Ok(())
    }

    /// Selects the instructions of a cold block, which becomes out-of-line code and returns to the join.
    fn cold(
        &mut self,
        condition: Condition,
        cold: Block,
        join: Block,
        to_join: &BlockCall,
    ) -> Result<(), Unsupported> {
        let test = self.take_current();
        let func = self.clif.func;
        let Some(last) = func.layout.last_inst(cold) else { return refuse("an empty block") };
        let InstructionData::Jump { destination, .. } = self.clif.data(last) else {
            return refuse("a cold block that does not come back");
        };
        if self.target(&destination) != join {
            return refuse("a cold block that comes back elsewhere");
        }
        let (inline, from_cold) = (self.call_arguments(to_join), self.call_arguments(&destination));
        let mut wanted: SmallVec<[(JoinParameter, Value); 8]> = SmallVec::new();
        for ((&param, &value), &other) in
            self.clif.dfg().block_params(join).iter().zip(&inline).zip(&from_cold)
        {
            if self.vregs.is_wanted(param) {
                let (parameter, inline) = (self.reg(param), self.reg(value));
                wanted.push((JoinParameter { parameter, inline, cold: parameter }, other));
            }
        }
        // Loads that only the inline value needs go before the test.
        let loads = self.take_current();
        let parameters =
            wanted.into_iter().map(|(p, other)| JoinParameter { cold: self.reg(other), ..p }).collect();
        let behind = self.begin_body();
        self.flush();
        for inst in func.layout.block_insts(cold).rev().skip(1) {
            self.select(inst)?;
        }
        let body = self.end_body(behind);
        self.place(MInst::Cold { condition, body, parameters });
        self.append_current(test);
        self.flush();
        self.append_current(loads);
        self.flush();
        Ok(())
    }

    /// Emits a test of a boolean value, which sets the CPU's flags. Returns the condition code that holds if
    /// the value is true.
    pub(super) fn condition(&mut self, v: Value) -> Result<Condition, Unsupported> {
        if let Some(inst) = self.clif.def_of(v, Opcode::VanyTrue) {
            return self.any_true(self.clif.arguments(inst)[0]);
        }
        let Some(inst) = self.clif.def_of(v, Opcode::Icmp) else {
            return refuse("a branch on anything but a comparison");
        };
        let InstructionData::IntCompare { cond, args, .. } = self.clif.data(inst) else {
            return refuse("a comparison of an unknown format");
        };
        let zero = self.clif.integer_constant(args[1]) == Some(0);
        if let (true, Some(any)) = (zero, self.clif.def_of(args[0], Opcode::VanyTrue)) {
            let condition = self.any_true(self.clif.arguments(any)[0])?;
            return match cond {
                IntCC::NotEqual => Ok(condition),
                IntCC::Equal => Ok(condition.inverse()),
                _ => refuse("an order of truth values"),
            };
        }
        if self.clif.ty(args[0]) != types::I64 {
            return refuse("a comparison of narrow integers");
        }
        let x = VOperand::Reg(self.reg(args[0]));
        let constant = self.clif.integer_constant(args[1]).and_then(|c| i32::try_from(c).ok());
        let inst = match constant {
            Some(c) => VInst::new(encodings::CMP_I, VectorLength::L128, None, &[x]).immediate(c),
            None => {
                let y = VOperand::Reg(self.reg(args[1]));
                VInst::new(encodings::CMP, VectorLength::L128, None, &[x, y])
            }
        };
        self.push(inst);
        Ok(integer_condition(cond))
    }

    /// Selects machine instructions for one CLIF instruction, if its result is needed.
    fn select(&mut self, inst: ir::Inst) -> Result<(), Unsupported> {
        self.at = Some(inst);
        let results = self.clif.dfg().inst_results(inst);
        let opcode = self.clif.data(inst).opcode();
        let has_effect = match opcode {
            Opcode::Store | Opcode::CallIndirect => true,
            Opcode::Call => self.clif.intrinsic(inst).is_some_and(Intrinsic::is_store),
            _ => false,
        };
        if !has_effect && !results.iter().any(|&r| self.vregs.is_wanted(r)) {
            return Ok(());
        }
        let args = self.clif.arguments(inst);
        match (opcode, results) {
            (Opcode::Store, _) => self.store(inst)?,
            (Opcode::CallIndirect, []) => {
                let target = self.reg(args[0]);
                let arguments = args[1..].iter().map(|&a| self.reg(a)).collect();
                self.push_inst(MInst::Call { target, arguments });
            }
            (Opcode::Call, results) => self.call(inst, results.first().copied())?,
            (_, &[result]) if self.clif.ty(result).is_vector() => self.vector(inst, opcode, result)?,
            (_, &[result]) => self.scalar(inst, opcode, result)?,
            _ => return refuse(opcode.to_string()),
        }
        self.flush();
        Ok(())
    }
}

/// The machine condition of an integer comparison.
fn integer_condition(cond: IntCC) -> Condition {
    match cond {
        IntCC::Equal => Condition::Equal,
        IntCC::NotEqual => Condition::NotEqual,
        IntCC::SignedLessThan => Condition::Less,
        IntCC::SignedLessThanOrEqual => Condition::LessEqual,
        IntCC::SignedGreaterThan => Condition::Greater,
        IntCC::SignedGreaterThanOrEqual => Condition::GreaterEqual,
        IntCC::UnsignedLessThan => Condition::Below,
        IntCC::UnsignedLessThanOrEqual => Condition::BelowEqual,
        IntCC::UnsignedGreaterThan => Condition::Above,
        IntCC::UnsignedGreaterThanOrEqual => Condition::AboveEqual,
    }
}

/// Puts the indices of loop heads and loop ends into the instructions that refer to them, once the sequence is in
/// order.
fn number_loops(insts: &mut [MInst]) -> Result<(), Unsupported> {
    let count = insts.len();
    let mut heads: Vec<(u32, u32)> = Vec::new();
    for (i, inst) in insts.iter_mut().enumerate() {
        if let MInst::Loop { end, .. } = inst {
            *end = (count - 1 - *end as usize) as u32;
            heads.push((i as u32, *end));
        }
    }
    for (i, inst) in insts.iter_mut().enumerate() {
        if let MInst::Back { head, .. } = inst {
            // The innermost loop around the branch back.
            match heads.iter().rev().find(|(head, end)| (*head..=*end).contains(&(i as u32))) {
                Some((innermost, _)) => *head = *innermost,
                None => return refuse("a branch to a block that does not contain it"),
            }
        }
    }
    Ok(())
}
