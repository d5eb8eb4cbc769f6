//! From CLIF to instructions of the machine over virtual registers.
//!
//! In: an optimised function. Out: its [`Line`]. Must hold: what is not understood is refused by name; a value that
//! nobody needs costs nothing; each instruction gives the bits that CLIF gives.
//!
//! It goes backwards, from uses to definitions: an instruction sees whether anyone needs its result, and in what form,
//! and takes in definitions that it can do in one with itself (loads, addresses, negations).

mod avx2;
mod blocks;
mod convert;
mod lanes;
mod masks;
mod memory;
mod scalar;
mod vector;

use cranelift_codegen::ir::{
    Block, DataFlowGraph, Function, Inst as ClifInst, Opcode, Type, Value, ValueDef,
};
use rustc_hash::FxHashMap;

use crate::forms::Op;
use crate::machine::{Class, Inst, Kind, Line, Reg, Size, Source, Step};
use crate::{Level, Unsupported};

/// A function that is being selected for.
pub struct Select<'f> {
    pub func: &'f Function,
    pub level: Level,
    kinds: Vec<Kind>,
    /// Where a value is, if anybody has asked: as a vector or an integer.
    regs: Vec<Option<Reg>>,
    /// The same for masks with a register of their own.
    masks: Vec<Option<Reg>>,
    constants: FxHashMap<u64, Reg>,
    integers: FxHashMap<i64, Reg>,
    /// How often each value is used.
    uses: Vec<u32>,
    /// Values whose lanes are all ones or all zeros.
    is_mask: Vec<bool>,
    /// Of an instruction, the stores that stand before it in the function.
    stores: Vec<u32>,
    /// The stores, in order.
    stored: Vec<ClifInst>,
    blocks: Vec<Option<Block>>,
    /// What the instruction at hand becomes, in order.
    now: Vec<Step>,
    /// The instruction at hand.
    at: Option<ClifInst>,
    /// The row's elements and the block's first, in a loop whose last block may be a part.
    partial: Option<blocks::PartialLoop>,
    slots: Vec<i32>,
    /// What was found that is not known, where there was no way to say so.
    refused: Option<Unsupported>,
}

pub fn line(func: &Function, level: Level) -> Result<Line, Unsupported> {
    let values = func.dfg.num_values();
    let mut select = Select {
        func,
        level,
        kinds: Vec::new(),
        regs: vec![None; values],
        masks: vec![None; values],
        constants: FxHashMap::default(),
        integers: FxHashMap::default(),
        uses: vec![0; values],
        is_mask: vec![false; values],
        stores: vec![0; func.dfg.num_insts()],
        stored: Vec::new(),
        blocks: vec![None; func.dfg.num_insts()],
        now: Vec::new(),
        at: None,
        partial: None,
        slots: Vec::new(),
        refused: None,
    };
    select.line()
}

pub fn refuse<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}

impl<'f> Select<'f> {
    pub fn dfg(&self) -> &'f DataFlowGraph {
        &self.func.dfg
    }

    pub fn resolve(&self, v: Value) -> Value {
        self.dfg().resolve_aliases(v)
    }

    pub fn ty(&self, v: Value) -> Type {
        self.dfg().value_type(v)
    }

    /// The instruction that defines a value.
    pub fn def(&self, v: Value) -> Option<ClifInst> {
        match self.dfg().value_def(self.resolve(v)) {
            ValueDef::Result(inst, _) => Some(inst),
            _ => None,
        }
    }

    /// The instruction that defines a value, if it is of this opcode.
    pub fn def_of(&self, v: Value, opcode: Opcode) -> Option<ClifInst> {
        self.def(v).filter(|&inst| self.dfg().insts[inst].opcode() == opcode)
    }

    pub fn arguments(&self, inst: ClifInst) -> &'f [Value] {
        self.dfg().inst_args(inst)
    }

    pub fn fresh(&mut self, class: Class) -> Reg {
        self.kinds.push(Kind::Set(class));
        Reg(self.kinds.len() as u32 - 1)
    }

    /// A vector constant of 64 bits that repeat.
    pub fn constant(&mut self, bits: u64) -> Reg {
        let kinds = &mut self.kinds;
        *self.constants.entry(bits).or_insert_with(|| {
            kinds.push(Kind::Constant(bits));
            Reg(kinds.len() as u32 - 1)
        })
    }

    /// A vector constant with the bits in each lane of so many bytes.
    pub fn constant_of(&mut self, lane: u32, bits: u64) -> Reg {
        self.constant(repeated(lane, bits))
    }

    pub fn integer(&mut self, value: i64) -> Reg {
        let kinds = &mut self.kinds;
        *self.integers.entry(value).or_insert_with(|| {
            kinds.push(Kind::Integer(value));
            Reg(kinds.len() as u32 - 1)
        })
    }

    /// The 64 bits that repeat in a vector constant.
    pub fn constant_bits(&self, v: Value) -> Option<u64> {
        use cranelift_codegen::ir::InstructionData as Data;
        let inst = self.def(v)?;
        let dfg = self.dfg();
        match dfg.insts[inst] {
            Data::UnaryConst { opcode: Opcode::Vconst, constant_handle } => {
                let bytes = dfg.constants.get(constant_handle).as_slice();
                let mut word = [0; 8];
                word.iter_mut().zip(bytes.iter().cycle()).for_each(|(to, from)| *to = *from);
                let repeats = bytes.chunks(8).all(|chunk| chunk == &word[..chunk.len()]);
                repeats.then(|| u64::from_le_bytes(word))
            }
            Data::Unary { opcode: Opcode::Splat, arg } => {
                let lane = self.ty(v).lane_bits() / 8;
                self.scalar_constant(arg).map(|bits| repeated(lane, bits))
            }
            Data::Call { .. } if self.intrinsic(inst) == Some(crate::Intrinsic::Broadcast) => {
                let lane = self.ty(v).lane_bits() / 8;
                self.scalar_constant(self.arguments(inst)[0]).map(|bits| repeated(lane, bits))
            }
            Data::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. } => self.constant_bits(arg),
            _ => None,
        }
    }

    fn scalar_constant(&self, v: Value) -> Option<u64> {
        use cranelift_codegen::ir::InstructionData as Data;
        match self.dfg().insts[self.def(v)?] {
            Data::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits() as u64),
            Data::UnaryIeee32 { imm, .. } => Some(u64::from(imm.bits())),
            Data::UnaryIeee64 { imm, .. } => Some(imm.bits()),
            _ => None,
        }
    }

    pub fn integer_constant(&self, v: Value) -> Option<i64> {
        use cranelift_codegen::ir::InstructionData as Data;
        match self.dfg().insts[self.def(v)?] {
            Data::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits()),
            _ => None,
        }
    }

    /// The register of a value, as a vector or an integer.
    pub fn reg(&mut self, v: Value) -> Reg {
        self.reg_of(v, true)
    }

    /// The same; where `once`, this is the only use that is made of the value through others.
    fn reg_of(&mut self, v: Value, once: bool) -> Reg {
        let v = self.resolve(v);
        if let Some(reg) = self.regs[v.as_u32() as usize] {
            return reg;
        }
        let ty = self.ty(v);
        let reg = match (self.constant_bits(v), self.integer_constant(v)) {
            (Some(bits), _) if ty.is_vector() => self.constant(bits),
            (_, Some(value)) => self.integer(value),
            _ => {
                if let Some(inst) = self.sunk(v).filter(|_| once) {
                    return self.load_now(inst, v);
                }
                // The same bits under another type.
                if let Some(inner) = self.bitcast_of(v).or_else(|| self.first_piece_of(v)) {
                    let once = once && self.uses[v.as_u32() as usize] == 1;
                    self.reg_of(inner, once)
                } else {
                    self.fresh(if ty.is_vector() || ty.is_float() { Class::Vector } else { Class::General })
                }
            }
        };
        self.regs[v.as_u32() as usize] = Some(reg);
        reg
    }

    /// What a vector bitcast is of.
    pub fn bitcast_of(&self, v: Value) -> Option<Value> {
        let inst = self.def_of(v, Opcode::Bitcast)?;
        let inner = self.resolve(self.arguments(inst)[0]);
        let same = self.ty(inner).is_vector() && self.ty(v).is_vector();
        same.then_some(inner)
    }

    /// A value without the bitcasts around it.
    pub fn bare(&self, v: Value) -> Value {
        let mut v = self.resolve(v);
        while let Some(inner) = self.bitcast_of(v) {
            v = inner;
        }
        v
    }

    /// The place of an operand that may be memory.
    pub fn source(&mut self, v: Value) -> Source {
        let v = self.resolve(v);
        match self.sunk_through_casts(v) {
            Some(inst) if self.is_whole_operand(inst) => Source::Mem(self.load_address(inst)),
            _ => Source::Reg(self.reg(v)),
        }
    }

    pub fn push(&mut self, inst: Inst) {
        self.now.push(Step::Inst(inst));
    }

    /// `def = op(sources)`.
    pub fn put(&mut self, op: Op, size: Size, def: Reg, sources: &[Source]) {
        self.push(Inst::new(op, size, Some(def), sources));
    }

    /// A new vector that an instruction sets.
    pub fn make(&mut self, op: Op, size: Size, sources: &[Source]) -> Reg {
        let def = self.fresh(Class::Vector);
        self.put(op, size, def, sources);
        def
    }

    pub fn make_i(&mut self, op: Op, size: Size, sources: &[Source], immediate: i32) -> Reg {
        let def = self.fresh(Class::Vector);
        self.push(Inst::new(op, size, Some(def), sources).immediate(immediate));
        def
    }

    /// Whether anybody has asked for a value.
    fn is_wanted(&self, v: Value) -> bool {
        let i = v.as_u32() as usize;
        self.regs[i].is_some() || self.masks[i].is_some()
    }
}

/// Bits of a lane of so many bytes, as often as 64 bits hold them.
pub fn repeated(lane: u32, bits: u64) -> u64 {
    match lane {
        1 => (bits & 0xff) * 0x0101_0101_0101_0101,
        2 => (bits & 0xffff) * 0x0001_0001_0001_0001,
        4 => (bits & 0xffff_ffff) * 0x0000_0001_0000_0001,
        _ => bits,
    }
}

/// The size of a vector type.
pub fn size(ty: Type) -> Size {
    Size::of_bytes(ty.bytes())
}

/// One of four operations, by the bytes of a lane.
pub fn by_lane(lane: u32, ops: [Op; 4]) -> Op {
    ops[lane.trailing_zeros() as usize]
}
