//! Blocks and how they follow each other.
//!
//! In: the layout of a function. Out: one line of steps. Must hold: the line has the emitter's shape: blocks that run one
//! after the other, loops that begin at a block and end with a branch back, cold blocks that come back; all else is refused.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, BlockCall, Inst as ClifInst, InstructionData as Data, Opcode, Value, types,
};
use smallvec::SmallVec;

use crate::forms;
use crate::intrinsic::Intrinsic;
use crate::machine::{Condition, Inst, Line, Partial, Reg, Size, Source, Step};
use crate::select::{Select, refuse};
use crate::{Level, Unsupported};

/// A loop whose last block may have fewer elements than the others.
#[derive(Clone, Copy)]
pub struct PartialLoop {
    head: Block,
    index: Value,
    columns: Value,
    lanes: u32,
}

impl Select<'_> {
    pub fn line(&mut self) -> Result<Line, Unsupported> {
        self.survey()?;
        let layout = &self.func.layout;
        let line: Vec<Block> = layout.blocks().filter(|&b| !layout.is_cold(b)).collect();
        let mut slot_bytes = 0u32;
        for (_, slot) in self.func.sized_stack_slots.iter() {
            slot_bytes = slot_bytes.next_multiple_of(64);
            self.slots.push(slot_bytes as i32);
            slot_bytes += slot.size;
        }
        // Backwards; the steps are turned round in the end.
        let mut steps: Vec<Step> = Vec::with_capacity(self.func.dfg.num_insts());
        // For each head, its first values, and where its loop ends (counted from the back).
        let mut ends: Vec<(Block, usize)> = Vec::new();
        for (place, &block) in line.iter().enumerate().rev() {
            self.terminator(&line, place, &mut steps, &mut ends)?;
            for inst in layout.block_insts(block).rev().skip(1) {
                self.select(inst, &mut steps)?;
            }
            if let Some(&(_, end)) = ends.iter().find(|(head, _)| *head == block) {
                let from = line[..place].last().copied();
                let first =
                    from.map(|from| self.jump_arguments(from, block)).transpose()?.unwrap_or_default();
                let params = self.dfg().block_params(block);
                let partial = self.partial.filter(|p| p.head == block);
                let partial = partial.map(|p| Partial { columns: self.reg(p.columns), lanes: p.lanes });
                let mut parameters = SmallVec::new();
                for (&param, &value) in params.iter().zip(&first) {
                    if self.is_wanted(param) {
                        parameters.push((self.reg(param), self.reg(value)));
                    }
                }
                self.flush(&mut steps);
                steps.push(Step::Loop { parameters, end: end as u32, partial });
            } else if place > 0 && !self.dfg().block_params(block).is_empty() && !self.is_join(&line, place) {
                return refuse("a block with parameters that is no loop and no end of a cold block");
            }
        }
        let count = steps.len();
        steps.reverse();
        for step in &mut steps {
            match step {
                Step::Loop { end, .. } => *end = (count - 1 - *end as usize) as u32,
                Step::Back { head, .. } => {
                    // Set below: heads come before.
                    *head = u32::MAX;
                }
                _ => {}
            }
        }
        // Each branch back belongs to the innermost loop that contains it.
        let heads: Vec<(u32, u32)> = steps
            .iter()
            .enumerate()
            .filter_map(|(i, s)| match s {
                Step::Loop { end, .. } => Some((i as u32, *end)),
                _ => None,
            })
            .collect();
        for (i, step) in steps.iter_mut().enumerate() {
            if let Step::Back { head, .. } = step {
                let inner = heads.iter().rev().find(|(h, end)| (*h..=*end).contains(&(i as u32)));
                *head = match inner {
                    Some((h, _)) => *h,
                    None => return refuse("a branch to a block that does not contain it"),
                };
            }
        }
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        let entry = line.first().copied();
        let parameters: Vec<Value> = entry.map(|e| self.dfg().block_params(e).to_vec()).unwrap_or_default();
        let parameters = parameters.into_iter().map(|p| self.reg(p)).collect();
        let kinds = std::mem::take(&mut self.kinds);
        Ok(Line { steps, kinds, parameters, frame: slot_bytes })
    }

    /// What selecting needs to know before: uses, masks, stores, the blocks of instructions.
    fn survey(&mut self) -> Result<(), Unsupported> {
        let func = self.func;
        let mut partial = None;
        for block in func.layout.blocks() {
            func.dfg.block_params(block).iter().try_for_each(|&param| self.check_type(param))?;
            for inst in func.layout.block_insts(block) {
                func.dfg.inst_results(inst).iter().try_for_each(|&result| self.check_type(result))?;
                self.blocks[inst.as_u32() as usize] = Some(block);
                self.stores[inst.as_u32() as usize] = self.stored.len() as u32;
                for arg in func.dfg.inst_values(inst) {
                    let arg = self.resolve(arg);
                    self.uses[arg.as_u32() as usize] += 1;
                }
                match func.dfg.insts[inst].opcode() {
                    Opcode::Store => self.stored.push(inst),
                    Opcode::Call => match self.intrinsic(inst) {
                        Some(Intrinsic::StorePart) => {
                            self.stored.push(inst);
                            partial = Some(block);
                        }
                        Some(Intrinsic::LoadPart) => partial = Some(block),
                        Some(Intrinsic::StoreStream) => self.stored.push(inst),
                        Some(_) => {}
                        None => return refuse("a call of an unknown function"),
                    },
                    _ => {}
                }
                self.note_mask(inst);
            }
        }
        if let Some(block) = partial {
            self.partial = Some(self.partial_loop(block)?);
        }
        Ok(())
    }

    /// Whether a vector fits a register, and is one of those that are loaded and stored as a whole.
    fn check_type(&self, v: Value) -> Result<(), Unsupported> {
        let ty = self.ty(v);
        let most = if self.level == Level::Avx512 { 64 } else { 32 };
        match ty.is_vector() && !(4..=most).contains(&ty.bytes()) {
            true => refuse(format!("vectors of the type {ty}")),
            false => Ok(()),
        }
    }

    /// The loop that a block with parts of vectors is in: it ends with `next = index + lanes; next < columns`.
    fn partial_loop(&self, inside: Block) -> Result<PartialLoop, Unsupported> {
        let layout = &self.func.layout;
        let mut block = Some(inside);
        while let Some(b) = block {
            let last = layout.last_inst(b);
            if let Some(Data::Brif { arg, blocks, .. }) = last.map(|i| self.dfg().insts[i]) {
                let head = blocks[0].block(&self.dfg().value_lists);
                let is_back = layout.is_block_inserted(head) && self.comes_before(head, b);
                let limit = self.def_of(arg, Opcode::Icmp).map(|i| self.dfg().insts[i]);
                if let (
                    true,
                    Some(Data::IntCompare { cond: IntCC::SignedLessThan, args: [next, columns], .. }),
                ) = (is_back, limit)
                {
                    let index = self.dfg().block_params(head).first().copied();
                    let step = self.linear(next);
                    if let (Some(index), Some((base, lanes))) = (index, step)
                        && base == self.resolve(index)
                    {
                        let columns = self.resolve(columns);
                        // The elements that are left are counted in a mask.
                        if !(1..=64).contains(&lanes) {
                            return refuse(format!("blocks of {lanes} elements"));
                        }
                        return Ok(PartialLoop { head, index, columns, lanes: lanes as u32 });
                    }
                }
            }
            block = layout.next_block(b);
        }
        refuse("parts of vectors outside of a loop over them")
    }

    fn comes_before(&self, a: Block, b: Block) -> bool {
        let mut at = Some(b);
        while let Some(block) = at {
            if block == a {
                return true;
            }
            at = self.func.layout.prev_block(block);
        }
        false
    }

    /// A value as another one plus a constant.
    pub fn linear(&self, v: Value) -> Option<(Value, i64)> {
        let v = self.resolve(v);
        let inst = self.def(v)?;
        let sign = match self.dfg().insts[inst].opcode() {
            Opcode::Iadd => 1,
            Opcode::Isub => -1,
            _ => return None,
        };
        let args = self.arguments(inst);
        let c = self.integer_constant(args[1])?;
        Some((self.resolve(args[0]), sign * c))
    }

    /// The first lane of a vector whose remaining elements are `left`.
    pub fn first_lane(&self, mut left: Value) -> Result<u16, Unsupported> {
        let mut offset = 0;
        while let Some((base, by)) = self.linear(left) {
            (left, offset) = (base, offset + by);
        }
        let whole = self.partial.is_some_and(|p| {
            self.def_of(left, Opcode::Isub).is_some_and(|i| {
                let args = self.arguments(i);
                (self.resolve(args[0]), self.resolve(args[1])) == (p.columns, p.index)
            })
        });
        match u16::try_from(-offset) {
            Ok(lane) if whole => Ok(lane),
            _ => refuse("a part of a vector that is not counted from the block's first element"),
        }
    }

    fn is_join(&self, line: &[Block], place: usize) -> bool {
        let last = place.checked_sub(1).and_then(|p| self.func.layout.last_inst(line[p]));
        matches!(last.map(|i| self.dfg().insts[i].opcode()), Some(Opcode::Brif))
    }

    fn call_arguments(&self, call: &BlockCall) -> SmallVec<[Value; 8]> {
        call.args(&self.dfg().value_lists).filter_map(|a| a.as_value()).map(|v| self.resolve(v)).collect()
    }

    /// What a block that ends with a jump hands to the next.
    fn jump_arguments(&self, from: Block, to: Block) -> Result<SmallVec<[Value; 8]>, Unsupported> {
        let last = self.func.layout.last_inst(from).map(|i| self.dfg().insts[i]);
        match last {
            Some(Data::Jump { destination, .. }) if destination.block(&self.dfg().value_lists) == to => {
                Ok(self.call_arguments(&destination))
            }
            _ => refuse("a loop that is entered by something else than a jump"),
        }
    }

    fn terminator(
        &mut self,
        line: &[Block],
        place: usize,
        steps: &mut Vec<Step>,
        ends: &mut Vec<(Block, usize)>,
    ) -> Result<(), Unsupported> {
        let layout = &self.func.layout;
        let Some(inst) = layout.last_inst(line[place]) else { return refuse("an empty block") };
        let next = line.get(place + 1).copied();
        self.at = Some(inst);
        match self.dfg().insts[inst] {
            Data::MultiAry { opcode: Opcode::Return, .. } => {
                steps.push(Step::Return);
                Ok(())
            }
            Data::Jump { destination, .. } if Some(destination.block(&self.dfg().value_lists)) == next => {
                Ok(())
            }
            Data::Brif { arg, blocks, .. } => {
                let [then, other] = blocks.map(|b| b.block(&self.dfg().value_lists));
                if layout.is_cold(then) && Some(other) == next {
                    let condition = self.condition(arg)?;
                    return self.cold(condition, then, other, &blocks[1], steps);
                }
                let (head, inverse) = match (Some(then) == next, Some(other) == next) {
                    (false, true) => (then, false),
                    (true, false) => (other, true),
                    _ => return refuse("a branch with two ways"),
                };
                if !line[..=place].contains(&head) {
                    return refuse("a branch forward");
                }
                let values = self.call_arguments(&blocks[usize::from(inverse)]);
                let is_partial = self.partial.is_some_and(|p| p.head == head);
                let condition = match is_partial {
                    true => Condition::Less,
                    false => self.condition(arg)?,
                };
                let condition = if inverse { condition.inverse() } else { condition };
                let test = std::mem::take(&mut self.now);
                let params = self.dfg().block_params(head);
                let mut regs = SmallVec::new();
                for (&param, &value) in params.iter().zip(&values) {
                    // Its uses come later, going backwards: the parameter of a loop that is never read is rare.
                    self.reg(param);
                    regs.push(self.reg(value));
                }
                let loads = std::mem::replace(&mut self.now, test);
                if !loads.is_empty() {
                    return refuse("a load that only a branch needs");
                }
                if !ends.iter().any(|(h, _)| *h == head) {
                    ends.push((head, steps.len()));
                }
                steps.push(Step::Back { head: 0, condition, values: regs });
                self.flush(steps);
                Ok(())
            }
            other => refuse(format!("a block that ends with {}", other.opcode())),
        }
    }

    /// A block that is seldom entered, and comes back to the line.
    fn cold(
        &mut self,
        condition: Condition,
        cold: Block,
        join: Block,
        to_join: &BlockCall,
        steps: &mut Vec<Step>,
    ) -> Result<(), Unsupported> {
        let test = std::mem::take(&mut self.now);
        let Some(last) = self.func.layout.last_inst(cold) else { return refuse("an empty block") };
        let Data::Jump { destination, .. } = self.dfg().insts[last] else {
            return refuse("a cold block that does not come back");
        };
        if destination.block(&self.dfg().value_lists) != join {
            return refuse("a cold block that comes back elsewhere");
        }
        let params = self.dfg().block_params(join);
        let (on_line, from_cold) = (self.call_arguments(to_join), self.call_arguments(&destination));
        let mut parameters: SmallVec<[(Reg, Reg, Value); 8]> = SmallVec::new();
        for ((&param, &value), &other) in params.iter().zip(&on_line).zip(&from_cold) {
            if self.is_wanted(param) {
                parameters.push((self.reg(param), self.reg(value), other));
            }
        }
        // A load that only the line's value needs stands before the test.
        let loads = std::mem::take(&mut self.now);
        let parameters =
            parameters.into_iter().map(|(param, value, other)| (param, value, self.reg(other))).collect();
        let mut inside = Vec::new();
        self.flush(&mut inside);
        let func = self.func;
        for inst in func.layout.block_insts(cold).rev().skip(1) {
            self.select(inst, &mut inside)?;
        }
        inside.reverse();
        steps.push(Step::Cold { condition, steps: inside, parameters });
        self.now = test;
        self.flush(steps);
        self.now = loads;
        self.flush(steps);
        Ok(())
    }

    /// The instruction that sets the flags, and the condition that stands for the truth of a value.
    pub fn condition(&mut self, v: Value) -> Result<Condition, Unsupported> {
        if let Some(inst) = self.def_of(v, Opcode::VanyTrue) {
            return self.any_true(self.arguments(inst)[0]);
        }
        if let Some(inst) = self.def_of(v, Opcode::Icmp) {
            let Data::IntCompare { cond, args, .. } = self.dfg().insts[inst] else {
                return refuse("a comparison of another format");
            };
            let zero = self.integer_constant(args[1]) == Some(0);
            if let (true, Some(any)) = (zero, self.def_of(args[0], Opcode::VanyTrue)) {
                let condition = self.any_true(self.arguments(any)[0])?;
                return match cond {
                    IntCC::NotEqual => Ok(condition),
                    IntCC::Equal => Ok(condition.inverse()),
                    _ => refuse("a comparison of a truth"),
                };
            }
            if self.ty(args[0]) != types::I64 {
                return refuse("a comparison of narrow integers");
            }
            let x = self.reg(args[0]);
            let constant = self.integer_constant(args[1]).and_then(|c| i32::try_from(c).ok());
            let inst = match constant {
                Some(c) => Inst::new(forms::CMP_I, Size::X, None, &[Source::Reg(x)]).immediate(c),
                None => {
                    let y = self.reg(args[1]);
                    Inst::new(forms::CMP, Size::X, None, &[Source::Reg(x), Source::Reg(y)])
                }
            };
            self.push(inst);
            return Ok(match cond {
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
            });
        }
        refuse("a branch on something else than a comparison")
    }

    /// Puts what the instruction at hand became before what was there.
    pub fn flush(&mut self, steps: &mut Vec<Step>) {
        steps.extend(self.now.drain(..).rev());
    }

    /// Selects for one instruction, if anybody needs it.
    fn select(&mut self, inst: ClifInst, steps: &mut Vec<Step>) -> Result<(), Unsupported> {
        self.at = Some(inst);
        let results = self.dfg().inst_results(inst);
        let opcode = self.dfg().insts[inst].opcode();
        let acts = match opcode {
            Opcode::Store | Opcode::CallIndirect => true,
            Opcode::Call => {
                matches!(self.intrinsic(inst), Some(Intrinsic::StorePart | Intrinsic::StoreStream))
            }
            _ => false,
        };
        if !acts && !results.iter().any(|&r| self.is_wanted(r)) {
            return Ok(());
        }
        let args = self.arguments(inst);
        match (opcode, results) {
            (Opcode::Store, _) => self.store(inst)?,
            (Opcode::CallIndirect, []) => {
                let target = Source::Reg(self.reg(args[0]));
                let arguments = args[1..].iter().map(|&a| self.reg(a)).collect();
                self.now.push(Step::Call { target, arguments });
            }
            (Opcode::Call, results) => self.call(inst, results.first().copied())?,
            (_, &[result]) => {
                let ty = self.ty(result);
                match ty.is_vector() {
                    true => self.vector(inst, opcode, result)?,
                    false => self.scalar(inst, opcode, result)?,
                }
            }
            _ => return refuse(opcode.to_string()),
        }
        self.flush(steps);
        Ok(())
    }

    /// The intrinsic that a call is of.
    pub fn intrinsic(&self, inst: ClifInst) -> Option<Intrinsic> {
        match self.dfg().insts[inst] {
            Data::Call { func_ref, .. } => {
                Intrinsic::of_external(self.func, &self.dfg().ext_funcs[func_ref].name)
            }
            _ => None,
        }
    }

    pub fn needs(&self, level: Level, what: &str) -> Result<(), Unsupported> {
        match self.level == level {
            true => Ok(()),
            false => refuse(what),
        }
    }
}
