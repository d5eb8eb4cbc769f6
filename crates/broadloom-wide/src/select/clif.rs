//! The CLIF function for which instructions are selected, and the facts about its values that are found before selection begins.

use cranelift_codegen::ir::{
    self, Block, DataFlowGraph, Function, InstructionData, Opcode, Type, Value, ValueDef,
};

use crate::error::{Unsupported, refuse};
use crate::intrinsic::Intrinsic;
use crate::select::by_lane::repeated;
use crate::target::Level;

/// A loop over the blocks of a row of elements. The first parameter of the loop's head is the index of the block's
/// first element.
#[derive(Clone, Copy)]
pub(super) struct RowLoop {
    pub(super) head: Block,
    pub(super) index: Value,
    pub(super) columns: Value,
    /// The number of elements of a block.
    pub(super) lanes: u32,
}

pub(super) struct Clif<'f> {
    pub(super) func: &'f Function,
    pub(super) level: Level,
    /// For each value, the number of its uses.
    pub(super) uses: Vec<u32>,
    /// For each value, whether it is loaded from memory, is only used to extract subvectors, and each
    /// subvector is used once. Such subvectors can be loaded separately.
    pub(super) in_pieces: Vec<bool>,
    /// For each value, whether it is a mask: each of its lanes is known to be all ones or all zeros.
    pub(super) masks: Vec<bool>,
    /// The stores of the function in order, and for each instruction the number of stores before it.
    pub(super) stores: Vec<ir::Inst>,
    pub(super) stores_before: Vec<u32>,
    /// The block of each instruction.
    pub(super) blocks: Vec<Option<Block>>,
    /// The loop over the blocks of a row whose loads and stores are masked in the row's tail, if there is one.
    pub(super) row_loop: Option<RowLoop>,
    /// The offset in bytes of each explicit stack slot from the first one.
    pub(super) slot_offsets: Vec<i32>,
    pub(super) slot_bytes: u32,
}

fn place(inst: ir::Inst) -> usize {
    inst.as_u32() as usize
}

impl<'f> Clif<'f> {
    pub(super) fn dfg(&self) -> &'f DataFlowGraph {
        &self.func.dfg
    }

    pub(super) fn data(&self, inst: ir::Inst) -> InstructionData {
        self.dfg().insts[inst]
    }

    pub(super) fn resolve(&self, v: Value) -> Value {
        self.dfg().resolve_aliases(v)
    }

    pub(super) fn ty(&self, v: Value) -> Type {
        self.dfg().value_type(v)
    }

    /// The instruction that defines a value.
    pub(super) fn def(&self, v: Value) -> Option<ir::Inst> {
        match self.dfg().value_def(self.resolve(v)) {
            ValueDef::Result(inst, _) => Some(inst),
            _ => None,
        }
    }

    /// The instruction that defines a value, if it has this opcode.
    pub(super) fn def_of(&self, v: Value, opcode: Opcode) -> Option<ir::Inst> {
        self.def(v).filter(|&inst| self.dfg().insts[inst].opcode() == opcode)
    }

    pub(super) fn arguments(&self, inst: ir::Inst) -> &'f [Value] {
        self.dfg().inst_args(inst)
    }

    /// The intrinsic that a call instruction calls.
    pub(super) fn intrinsic(&self, inst: ir::Inst) -> Option<Intrinsic> {
        match self.data(inst) {
            InstructionData::Call { func_ref, .. } => {
                Intrinsic::of_external(self.func, &self.dfg().ext_funcs[func_ref].name)
            }
            _ => None,
        }
    }

    pub(super) fn is_used_once(&self, v: Value) -> bool {
        self.uses[v.as_u32() as usize] == 1
    }

    /// Whether every lane of a value is known to be all ones or all zeros from the instruction that defines it.
    pub(super) fn is_mask(&self, v: Value) -> bool {
        self.masks[self.resolve(v).as_u32() as usize]
    }

    /// Refuses the function unless it is compiled for this instruction set level; `what` names what needs it.
    pub(super) fn needs(&self, level: Level, what: &str) -> Result<(), Unsupported> {
        match self.level == level {
            true => Ok(()),
            false => refuse(what),
        }
    }

    // Constants.

    /// The 64-bit pattern that fills a vector constant; `None` if the value is no constant or does not repeat every 64
    /// bits.
    pub(super) fn constant_bits(&self, v: Value) -> Option<u64> {
        let inst = self.def(v)?;
        match self.data(inst) {
            InstructionData::UnaryConst { opcode: Opcode::Vconst, constant_handle } => {
                let bytes = self.dfg().constants.get(constant_handle).as_slice();
                let mut word = [0; 8];
                word.iter_mut().zip(bytes.iter().cycle()).for_each(|(to, from)| *to = *from);
                let repeats = bytes.chunks(8).all(|chunk| chunk == &word[..chunk.len()]);
                repeats.then(|| u64::from_le_bytes(word))
            }
            InstructionData::Unary { opcode: Opcode::Splat, arg } => self.splat_constant(v, arg),
            InstructionData::Call { .. } if self.intrinsic(inst) == Some(Intrinsic::Broadcast) => {
                self.splat_constant(v, self.arguments(inst)[0])
            }
            InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. } => self.constant_bits(arg),
            _ => None,
        }
    }

    fn splat_constant(&self, v: Value, scalar: Value) -> Option<u64> {
        let bits = match self.data(self.def(scalar)?) {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => imm.bits() as u64,
            InstructionData::UnaryIeee32 { imm, .. } => u64::from(imm.bits()),
            InstructionData::UnaryIeee64 { imm, .. } => imm.bits(),
            _ => return None,
        };
        Some(repeated(self.ty(v).lane_bits() / 8, bits))
    }

    pub(super) fn integer_constant(&self, v: Value) -> Option<i64> {
        match self.data(self.def(v)?) {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits()),
            _ => None,
        }
    }

    /// If the upper half of every 64-bit lane of a vector is known to be zero, a vector whose lanes have the same lower halves.
    pub(super) fn low_halves_of(&self, v: Value) -> Option<Value> {
        const LOW_HALF: u64 = u32::MAX as u64;
        if self.constant_bits(v).is_some_and(|bits| bits <= LOW_HALF) {
            return Some(v);
        }
        if let Some(inst) = self.def_of(v, Opcode::Ushr) {
            return self
                .integer_constant(self.arguments(inst)[1])
                .filter(|count| (32..64).contains(count))
                .map(|_| v);
        }
        let args = self.arguments(self.def_of(v, Opcode::Band)?);
        let is_low_half = |mask: Value| self.constant_bits(mask) == Some(LOW_HALF);
        match (is_low_half(args[0]), is_low_half(args[1])) {
            (_, true) => Some(args[0]),
            (true, false) => Some(args[1]),
            (false, false) => None,
        }
    }

    // Values behind bitcasts, which keep the bits.

    /// If a value is a bitcast of a vector, that vector.
    pub(super) fn bitcast_of(&self, v: Value) -> Option<Value> {
        let inst = self.def_of(v, Opcode::Bitcast)?;
        let inner = self.resolve(self.arguments(inst)[0]);
        let same = self.ty(inner).is_vector() && self.ty(v).is_vector();
        same.then_some(inner)
    }

    /// The operand that remains when all bitcasts around a value are removed.
    pub(super) fn bare(&self, v: Value) -> Value {
        let mut v = self.resolve(v);
        while let Some(inner) = self.bitcast_of(v) {
            v = inner;
        }
        v
    }

    /// If a value is the lowest subvector of a vector, that vector. Both can share a register, since the upper lanes of a
    /// register may have any contents if its value is shorter. `None` for a mask in a mask register, whose bits above the
    /// mask's lanes must be zero.
    pub(super) fn lowest_subvector_of(&self, v: Value) -> Option<Value> {
        let inst = self.def_of(v, Opcode::Call)?;
        let in_vector = self.level == Level::Avx2 || !self.is_mask(v);
        let lowest = in_vector && self.intrinsic(inst) == Some(Intrinsic::Piece(0));
        lowest.then(|| self.resolve(self.arguments(inst)[0]))
    }

    /// The mask from which a value was resized to lanes of another width, if the value is such a mask. Both
    /// share a mask register.
    pub(super) fn resized_mask_of(&self, v: Value) -> Option<Value> {
        let inst =
            self.def_of(v, Opcode::Call).filter(|&i| self.intrinsic(i) == Some(Intrinsic::ResizeMask))?;
        let inner = self.resolve(self.arguments(inst)[0]);
        (self.level == Level::Avx512 && self.is_mask(inner)).then_some(inner)
    }

    /// The operand of a bitwise complement, if the value is one.
    pub(super) fn complement_of(&self, v: Value) -> Option<Value> {
        self.def_of(v, Opcode::Bnot).map(|inst| self.arguments(inst)[0])
    }

    /// If a value is the sum of another value and a constant, or their difference, returns the other value and the constant to
    /// add.
    pub(super) fn linear(&self, v: Value) -> Option<(Value, i64)> {
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

    // Loads and stores.

    /// The instruction that loads a value, or that extracts it from a loaded vector, if it can be moved to
    /// `to`, the value's only use. Both instructions must be in one block, and no store between them may
    /// write the memory that is read.
    pub(super) fn movable_load(&self, v: Value, to: ir::Inst) -> Option<ir::Inst> {
        if !self.is_used_once(v) {
            return None;
        }
        let inst = self.def(v)?;
        let load = self.piece_of_load(inst).map_or(inst, |(load, _)| load);
        if !self.is_load(load) || self.blocks[place(load)] != self.blocks[place(to)] {
            return None;
        }
        let between = self.stores_before[place(load)] as usize..self.stores_before[place(to)] as usize;
        self.stores[between].iter().all(|&store| self.are_apart(load, store)).then_some(inst)
    }

    pub(super) fn is_load(&self, inst: ir::Inst) -> bool {
        match self.dfg().insts[inst].opcode() {
            Opcode::Load => true,
            Opcode::Call => self.intrinsic(inst) == Some(Intrinsic::LoadPart),
            _ => false,
        }
    }

    /// The load of the whole vector and the index of the subvector, if an instruction extracts a subvector
    /// that can be loaded separately.
    pub(super) fn piece_of_load(&self, inst: ir::Inst) -> Option<(ir::Inst, u8)> {
        let Some(Intrinsic::Piece(index)) = self.intrinsic(inst) else { return None };
        let whole = self.resolve(self.arguments(inst)[0]);
        let load = self.def(whole).filter(|_| self.in_pieces[whole.as_u32() as usize])?;
        Some((load, index))
    }

    /// Whether a masked store can't write the memory that a masked load reads, because they access different elements
    /// of the row. An output has the same addresses as an input or does not overlap it.
    fn are_apart(&self, load: ir::Inst, store: ir::Inst) -> bool {
        let first_lane = |inst: ir::Inst, intrinsic, left: usize| {
            let is_masked = self.intrinsic(inst) == Some(intrinsic);
            let left = self.arguments(inst).get(left).copied().filter(|_| is_masked)?;
            self.first_lane(left).ok()
        };
        match (first_lane(load, Intrinsic::LoadPart, 1), first_lane(store, Intrinsic::StorePart, 2)) {
            (Some(read), Some(written)) => read != written,
            _ => false,
        }
    }

    /// The index within the block of the first lane of a masked vector. `left` is the number of the row's elements from
    /// that lane on.
    pub(super) fn first_lane(&self, mut left: Value) -> Result<u16, Unsupported> {
        let mut offset = 0;
        while let Some((base, by)) = self.linear(left) {
            (left, offset) = (base, offset + by);
        }
        let from_block = self.row_loop.is_some_and(|row| {
            self.def_of(left, Opcode::Isub).is_some_and(|i| {
                let args = self.arguments(i);
                (self.resolve(args[0]), self.resolve(args[1])) == (row.columns, row.index)
            })
        });
        match u16::try_from(-offset) {
            Ok(lane) if from_block => Ok(lane),
            _ => refuse("a masked access that is not counted from the block's first element"),
        }
    }
}
