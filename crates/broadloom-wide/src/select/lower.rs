//! The state of instruction selection: the virtual registers of CLIF values, and the machine instructions selected so
//! far.

use cranelift_codegen::ir::{self, Value};

use crate::encodings::Encoding;
use crate::error::Unsupported;
use crate::inst::{MInst, RegClass, VInst, VOperand, VReg, VectorLength};
use crate::select::clif::Clif;
use crate::select::vregs::VRegs;

pub(super) struct Lower<'f> {
    pub(super) clif: Clif<'f>,
    pub(super) vregs: VRegs,
    /// The current CLIF instruction.
    pub(super) at: Option<ir::Inst>,
    /// The instructions selected for the current CLIF instruction, in order.
    current: Vec<MInst>,
    /// The code after the current instruction, in reverse order.
    selected: Vec<MInst>,
    /// An unsupported construct that was found where no error could be returned.
    pub(super) refused: Option<Unsupported>,
}

impl<'f> Lower<'f> {
    pub(super) fn new(clif: Clif<'f>) -> Lower<'f> {
        let vregs = VRegs::new(clif.dfg().num_values());
        let selected = Vec::with_capacity(clif.dfg().num_insts());
        Lower { clif, vregs, at: None, current: Vec::new(), selected, refused: None }
    }

    // Values.

    /// The vector or general register of a value.
    pub(super) fn reg(&mut self, v: Value) -> VReg {
        self.reg_of(v, true)
    }

    /// The vector or general register of a value. `once` is whether the bitcasts through which the value was reached
    /// have no other use; only then a load of the value is moved here.
    fn reg_of(&mut self, v: Value, once: bool) -> VReg {
        let v = self.clif.resolve(v);
        if let Some(reg) = self.vregs.of(v) {
            return reg;
        }
        let ty = self.clif.ty(v);
        let reg = match (self.clif.constant_bits(v), self.clif.integer_constant(v)) {
            (Some(bits), _) if ty.is_vector() => self.vregs.constant(bits),
            (_, Some(value)) => self.vregs.integer(value),
            _ => {
                if let Some(inst) = self.sunk(v).filter(|_| once) {
                    return self.load_now(inst, v);
                }
                if let Some(inner) = self.clif.bitcast_of(v).or_else(|| self.clif.lowest_subvector_of(v)) {
                    let once = once && self.clif.is_used_once(v);
                    self.reg_of(inner, once)
                } else {
                    let is_vector = ty.is_vector() || ty.is_float();
                    self.vregs.fresh(if is_vector { RegClass::Vector } else { RegClass::General })
                }
            }
        };
        self.vregs.set(v, reg);
        reg
    }

    /// The operand that reads a value: the memory that it is loaded from if its load can be folded, otherwise its
    /// register.
    pub(super) fn source(&mut self, v: Value) -> VOperand {
        let v = self.clif.resolve(v);
        match self.sunk_through_casts(v) {
            Some(inst) if self.is_whole_operand(inst) => VOperand::Mem(self.load_address(inst)),
            _ => VOperand::Reg(self.reg(v)),
        }
    }

    // Instructions.

    pub(super) fn push(&mut self, inst: VInst) {
        self.current.push(MInst::Op(inst));
    }

    pub(super) fn push_inst(&mut self, inst: MInst) {
        self.current.push(inst);
    }

    /// Emits `def = encoding(sources)`.
    pub(super) fn put(&mut self, encoding: Encoding, length: VectorLength, def: VReg, sources: &[VOperand]) {
        self.push(VInst::new(encoding, length, Some(def), sources));
    }

    /// Emits an instruction with a new vector register for its result, which is returned.
    pub(super) fn make(&mut self, encoding: Encoding, length: VectorLength, sources: &[VOperand]) -> VReg {
        let def = self.vregs.fresh(RegClass::Vector);
        self.put(encoding, length, def, sources);
        def
    }

    /// Like `make`, for an instruction with an immediate.
    pub(super) fn make_i(
        &mut self,
        encoding: Encoding,
        length: VectorLength,
        sources: &[VOperand],
        immediate: i32,
    ) -> VReg {
        let def = self.vregs.fresh(RegClass::Vector);
        self.push(VInst::new(encoding, length, Some(def), sources).immediate(immediate));
        def
    }

    /// Takes the instructions selected so far for the current CLIF instruction, so that others can be put before them.
    pub(super) fn take_current(&mut self) -> Vec<MInst> {
        std::mem::take(&mut self.current)
    }

    /// Puts back the instructions that were taken, after those pushed in the meantime.
    pub(super) fn append_current(&mut self, insts: Vec<MInst>) {
        self.current.extend(insts);
    }

    /// Puts the instructions of the current CLIF instruction in front of the code selected so far.
    pub(super) fn flush(&mut self) {
        self.selected.extend(self.current.drain(..).rev());
    }

    /// Puts one machine instruction in front of the code selected so far.
    pub(super) fn place(&mut self, inst: MInst) {
        self.selected.push(inst);
    }

    /// The number of machine instructions selected so far, not counting those of the current CLIF instruction.
    pub(super) fn selected(&self) -> usize {
        self.selected.len()
    }

    /// Begins a separate instruction sequence. Returns the code selected so far, to be passed to `end_body`.
    pub(super) fn begin_body(&mut self) -> Vec<MInst> {
        std::mem::take(&mut self.selected)
    }

    /// Ends a separate instruction sequence and returns it in execution order. Selection continues in front of
    /// `before`.
    pub(super) fn end_body(&mut self, before: Vec<MInst>) -> Vec<MInst> {
        let mut body = std::mem::replace(&mut self.selected, before);
        body.reverse();
        body
    }
}
