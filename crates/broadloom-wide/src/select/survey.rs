//! The facts about a function that selection needs before it begins: uses, masks, stores, stack slots and the loop over a row.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, Block, Function, InstructionData, Opcode, Value};

use crate::error::{Unsupported, refuse};
use crate::intrinsic::Intrinsic;
use crate::select::clif::{Clif, RowLoop};
use crate::target::Level;

impl<'f> Clif<'f> {
    /// Collects the facts about a function. Types and calls that are not supported are refused.
    pub(super) fn survey(func: &'f Function, level: Level) -> Result<Clif<'f>, Unsupported> {
        let (values, insts) = (func.dfg.num_values(), func.dfg.num_insts());
        let mut clif = Clif {
            func,
            level,
            uses: vec![0; values],
            in_pieces: vec![false; values],
            masks: vec![false; values],
            stores: Vec::new(),
            stores_before: vec![0; insts],
            blocks: vec![None; insts],
            row_loop: None,
            slot_offsets: Vec::new(),
            slot_bytes: 0,
        };
        let mut masked = None;
        for block in func.layout.blocks() {
            func.dfg.block_params(block).iter().try_for_each(|&param| clif.check_type(param))?;
            for inst in func.layout.block_insts(block) {
                if clif.visit(inst, block)? {
                    masked = Some(block);
                }
            }
        }
        clif.find_pieces();
        if let Some(block) = masked {
            clif.row_loop = Some(clif.row_loop_around(block)?);
        }
        for (_, slot) in func.sized_stack_slots.iter() {
            clif.slot_bytes = clif.slot_bytes.next_multiple_of(64);
            clif.slot_offsets.push(clif.slot_bytes as i32);
            clif.slot_bytes += slot.size;
        }
        Ok(clif)
    }

    /// Finds the loaded values that are used only by extracting subvectors, each of which is used once.
    fn find_pieces(&mut self) {
        let func = self.func;
        let mut reads = vec![0; self.uses.len()];
        let calls = || func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
        for inst in calls().filter(|&inst| func.dfg.insts[inst].opcode() == Opcode::Call) {
            let Some(Intrinsic::Piece(_)) = self.intrinsic(inst) else { continue };
            let whole = self.resolve(self.arguments(inst)[0]);
            let place = whole.as_u32() as usize;
            reads[place] += u32::from(self.is_used_once(func.dfg.first_result(inst)));
            let is_load = self.def(whole).is_some_and(|load| self.is_load(load));
            self.in_pieces[place] = is_load && reads[place] == self.uses[place];
        }
    }

    /// Records the facts about an instruction. Returns whether it is a masked load or store.
    fn visit(&mut self, inst: ir::Inst, block: Block) -> Result<bool, Unsupported> {
        let func = self.func;
        func.dfg.inst_results(inst).iter().try_for_each(|&result| self.check_type(result))?;
        self.blocks[inst.as_u32() as usize] = Some(block);
        self.stores_before[inst.as_u32() as usize] = self.stores.len() as u32;
        for arg in func.dfg.inst_values(inst) {
            let arg = self.resolve(arg);
            self.uses[arg.as_u32() as usize] += 1;
        }
        let is_call = func.dfg.insts[inst].opcode() == Opcode::Call;
        let intrinsic = self.intrinsic(inst);
        if is_call && intrinsic.is_none() {
            return refuse("a call of an unknown function");
        }
        let is_store =
            func.dfg.insts[inst].opcode() == Opcode::Store || intrinsic.is_some_and(Intrinsic::is_store);
        if is_store {
            self.stores.push(inst);
        }
        if let [result] = *func.dfg.inst_results(inst) {
            self.masks[result.as_u32() as usize] =
                self.ty(result).is_vector() && self.makes_mask(inst, result);
        }
        Ok(matches!(intrinsic, Some(Intrinsic::StorePart | Intrinsic::LoadPart)))
    }

    /// Whether the result of an instruction is known to be a mask from its opcode and operands.
    fn makes_mask(&self, inst: ir::Inst, result: Value) -> bool {
        let args = self.arguments(inst);
        let is_uniform = |v: Value| matches!(self.constant_bits(v), Some(0 | u64::MAX));
        let all_masks = || {
            args.iter().all(|&a| self.is_mask(a) || is_uniform(a)) && args.iter().any(|&a| self.is_mask(a))
        };
        match self.dfg().insts[inst].opcode() {
            Opcode::Icmp | Opcode::Fcmp => true,
            Opcode::Band | Opcode::Bor | Opcode::Bxor => all_masks(),
            Opcode::Bnot => self.is_mask(args[0]),
            Opcode::Bitselect => all_masks() && self.is_mask(args[0]),
            Opcode::Bitcast => {
                self.is_mask(args[0]) && self.ty(args[0]).lane_count() == self.ty(result).lane_count()
            }
            Opcode::Call => match self.intrinsic(inst) {
                Some(Intrinsic::ResizeMask) => true,
                Some(Intrinsic::Piece(_) | Intrinsic::Concat) => all_masks(),
                _ => false,
            },
            _ => false,
        }
    }

    /// Refuses vector types that no register holds or that can't be loaded and stored as a whole.
    fn check_type(&self, v: Value) -> Result<(), Unsupported> {
        let ty = self.ty(v);
        let most = if self.level == Level::Avx512 { 64 } else { 32 };
        match ty.is_vector() && !(4..=most).contains(&ty.bytes()) {
            true => refuse(format!("vectors of the type {ty}")),
            false => Ok(()),
        }
    }

    /// The loop around a block with masked accesses. It has to end by branching back if `next < columns`, where `next =
    /// index + lanes`.
    fn row_loop_around(&self, inside: Block) -> Result<RowLoop, Unsupported> {
        let layout = &self.func.layout;
        let mut block = Some(inside);
        while let Some(b) = block {
            let last = layout.last_inst(b).map(|i| self.data(i));
            if let Some(InstructionData::Brif { arg, blocks, .. }) = last
                && let Some(row) = self.row_loop_of(b, arg, blocks[0].block(&self.dfg().value_lists))
            {
                let next = blocks[0].args(&self.dfg().value_lists).next().and_then(|a| a.as_value());
                if next.and_then(|next| self.linear(next)) != Some((row.index, i64::from(row.lanes))) {
                    return refuse("a loop over blocks that goes on with another index");
                }
                // The tail mask has a bit for each remaining element, so a block has 64 elements at most.
                return match row.lanes {
                    1..=64 => Ok(row),
                    lanes => refuse(format!("blocks of {lanes} elements")),
                };
            }
            block = layout.next_block(b);
        }
        refuse("masked accesses outside of a loop over blocks")
    }

    /// The loop with the head `head`, if a block ends it by a branch back that compares the index of the next
    /// block's first element with the row's length.
    fn row_loop_of(&self, block: Block, condition: Value, head: Block) -> Option<RowLoop> {
        let layout = &self.func.layout;
        let is_back = layout.is_block_inserted(head) && self.comes_before(head, block);
        let compare = self.data(self.def_of(condition, Opcode::Icmp).filter(|_| is_back)?);
        let InstructionData::IntCompare { cond: IntCC::SignedLessThan, args: [next, columns], .. } = compare
        else {
            return None;
        };
        let index = self.resolve(*self.dfg().block_params(head).first()?);
        let (base, lanes) = self.linear(next)?;
        let columns = self.resolve(columns);
        (base == index).then(|| RowLoop { head, index, columns, lanes: u32::try_from(lanes).unwrap_or(0) })
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
}
