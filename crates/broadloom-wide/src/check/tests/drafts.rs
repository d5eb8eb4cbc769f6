//! Functions whose allocation is corrupted, and how they are drafted.

use smallvec::smallvec;

use crate::encodings::{self, Encoding};
use crate::inst::{
    Condition, JoinParameter, LoopParameter, MInst, RegClass, TailAccess, TailLoop, VAddress, VBase,
    VFunction, VInst, VOperand, VReg, VRegKind, VectorLength,
};

/// A function under construction.
pub(super) struct FunctionDraft {
    pub insts: Vec<MInst>,
    kinds: Vec<VRegKind>,
    parameters: Vec<VReg>,
}

impl FunctionDraft {
    /// A draft of a function with six integer parameters, the last two of which are on the stack on Windows.
    pub(super) fn new() -> FunctionDraft {
        let kinds = vec![VRegKind::Defined(RegClass::General); 6];
        FunctionDraft { insts: Vec::new(), kinds, parameters: (0..6).map(VReg).collect() }
    }

    pub(super) fn reg(&mut self, kind: VRegKind) -> VReg {
        self.kinds.push(kind);
        VReg(self.kinds.len() as u32 - 1)
    }

    pub(super) fn defined(&mut self, class: RegClass) -> VReg {
        self.reg(VRegKind::Defined(class))
    }

    pub(super) fn op(&mut self, encoding: Encoding, class: RegClass, sources: &[VOperand]) -> (VReg, VInst) {
        let def = self.defined(class);
        (def, VInst::new(encoding, VectorLength::L512, Some(def), sources))
    }

    pub(super) fn push(&mut self, inst: VInst) {
        self.insts.push(MInst::Op(inst));
    }

    pub(super) fn load(&mut self, base: VReg, offset: i32, tail: Option<TailAccess>) -> VReg {
        let (def, inst) = self.op(encodings::MOVUPS, RegClass::Vector, &[memory(base, offset, tail)]);
        self.push(inst);
        def
    }

    pub(super) fn add(&mut self, x: VReg, y: VReg) -> VReg {
        let (def, inst) = self.op(encodings::PADDD, RegClass::Vector, &[x, y].map(VOperand::Reg));
        self.push(inst);
        def
    }

    pub(super) fn sub(&mut self, x: VReg, y: VReg) -> VReg {
        let (def, inst) = self.op(encodings::PSUBD, RegClass::Vector, &[x, y].map(VOperand::Reg));
        self.push(inst);
        def
    }

    pub(super) fn compare(&mut self, x: VReg, y: VReg) -> VReg {
        let (def, inst) = self.op(encodings::PCMPKD, RegClass::Mask, &[x, y].map(VOperand::Reg));
        self.push(inst.immediate(1));
        def
    }

    pub(super) fn select(&mut self, mask: VReg, x: VReg, y: VReg) -> VReg {
        let (def, inst) = self.op(encodings::PBLENDMD, RegClass::Vector, &[y, x].map(VOperand::Reg));
        self.push(inst.merging(mask));
        def
    }

    pub(super) fn add_integer(&mut self, x: VReg, by: i32) -> VReg {
        let def = self.defined(RegClass::General);
        let sources = [VOperand::Reg(x)];
        let inst = VInst::new(encodings::ADD_I, VectorLength::L128, Some(def), &sources);
        self.push(inst.tied().immediate(by));
        def
    }

    pub(super) fn store(&mut self, value: VReg, base: VReg, offset: i32, tail: Option<TailAccess>) {
        self.push(store(value, base, offset, tail));
    }

    pub(super) fn test_mask(&mut self, mask: VReg) {
        let sources = [VOperand::Reg(mask); 2];
        self.push(VInst::new(encodings::KORTESTW, VectorLength::L128, None, &sources));
    }

    /// Adds out-of-line code that stores a value, calls a function and loads a second value. Returns the join's
    /// parameter, which is the second value if that code was executed, and the first otherwise.
    pub(super) fn cold_call(&mut self, value: VReg, base: VReg) -> VReg {
        let target = self.reg(VRegKind::Integer(0x1234_5678_9abc));
        let (result, load) = self.op(encodings::MOVUPS, RegClass::Vector, &[memory(base, 640, None)]);
        let parameter = self.defined(RegClass::Vector);
        let body = vec![
            MInst::Op(store(value, base, 512, None)),
            MInst::Call { target, arguments: smallvec![base] },
            MInst::Op(load),
        ];
        let parameters = smallvec![JoinParameter { parameter, inline: value, cold: result }];
        self.insts.push(MInst::Cold { condition: Condition::NotEqual, body, parameters });
        parameter
    }

    /// Adds the branch back that ends the loop whose head is at this index, taken if `x` is less than `y`.
    pub(super) fn back(&mut self, head: usize, x: VReg, y: VReg, values: smallvec::SmallVec<[VReg; 2]>) {
        self.push(VInst::new(encodings::CMP, VectorLength::L128, None, &[x, y].map(VOperand::Reg)));
        self.insts.push(MInst::Back { head: head as u32, condition: Condition::Less, values });
        let last = self.insts.len() as u32 - 1;
        if let MInst::Loop { end, .. } = &mut self.insts[head] {
            *end = last;
        }
    }

    pub(super) fn function(mut self) -> VFunction {
        self.insts.push(MInst::Return);
        VFunction { insts: self.insts, kinds: self.kinds, parameters: self.parameters, stack_slot_bytes: 0 }
    }
}

pub(super) fn memory(base: VReg, offset: i32, tail: Option<TailAccess>) -> VOperand {
    VOperand::Mem(VAddress { base: VBase::Reg(base), index: None, offset, tail })
}

pub(super) fn store(value: VReg, base: VReg, offset: i32, tail: Option<TailAccess>) -> VInst {
    let sources = [memory(base, offset, tail), VOperand::Reg(value)];
    VInst::new(encodings::MOVUPS_STORE, VectorLength::L512, None, &sources)
}

/// A function with more live vectors than registers, a constant, a mask, and out-of-line code that calls a function.
pub(super) fn pressure() -> VFunction {
    let mut draft = FunctionDraft::new();
    let base = VReg(0);
    let values: Vec<VReg> = (0..40).map(|i| draft.load(base, 64 * i, None)).collect();
    let constant = draft.reg(VRegKind::Constant(0x0000_0007_0000_0007));
    let mask = draft.compare(values[3], values[4]);
    draft.test_mask(mask);
    let joined = draft.cold_call(values[5], VReg(1));
    let mut sum = draft.add(joined, constant);
    for &value in &values {
        sum = draft.sub(sum, value);
    }
    let chosen = draft.select(mask, sum, values[7]);
    draft.store(chosen, VReg(5), 0, None);
    draft.store(values[0], VReg(5), 64, None);
    draft.function()
}

/// A gather whose indices are also the vector that its result overwrites.
pub(super) fn gather() -> VFunction {
    let mut draft = FunctionDraft::new();
    let indices = draft.load(VReg(0), 0, None);
    let mask = draft.compare(indices, indices);
    let index = Some((indices, 3));
    let from = VAddress { base: VBase::Reg(VReg(1)), index, offset: 0, tail: None };
    let sources = [VOperand::Reg(indices), VOperand::Mem(from)];
    let (gathered, inst) = draft.op(encodings::GATHERQPD, RegClass::Vector, &sources);
    draft.push(inst.tied().merging(mask));
    draft.store(gathered, VReg(5), 0, None);
    draft.function()
}

/// A loop whose parameters are an integer and two vectors that are swapped in each iteration. It reads a vector from
/// outside, which is pinned and is read again after the loop.
pub(super) fn carried() -> VFunction {
    let mut draft = FunctionDraft::new();
    let (base, count) = (VReg(0), VReg(3));
    let (a, b) = (draft.load(base, 0, None), draft.load(base, 64, None));
    let outside = draft.load(base, 128, None);
    let zero = draft.reg(VRegKind::Integer(0));
    let [x, y] = [0; 2].map(|_| draft.defined(RegClass::Vector));
    let index = draft.defined(RegClass::General);
    let head = draft.insts.len();
    let parameter = |parameter, initial| LoopParameter { parameter, initial };
    let parameters = smallvec![parameter(index, zero), parameter(x, a), parameter(y, b)];
    draft.insts.push(MInst::Loop { parameters, end: 0, tail: None });
    let sum = draft.add(x, outside);
    draft.store(sum, VReg(1), 0, None);
    let next = draft.add_integer(index, 1);
    draft.back(head, next, count, smallvec![next, y, x]);
    let after = draft.add(x, outside);
    draft.store(after, VReg(1), 64, None);
    draft.function()
}

/// A loop over the blocks of a row, two vectors to a block. Out-of-line code in the middle of its body calls a
/// function.
pub(super) fn row() -> VFunction {
    let mut draft = FunctionDraft::new();
    let (from, to, columns) = (VReg(0), VReg(1), VReg(4));
    let zero = draft.reg(VRegKind::Integer(0));
    let index = draft.defined(RegClass::General);
    let head = draft.insts.len();
    let parameters = smallvec![LoopParameter { parameter: index, initial: zero }];
    let tail = Some(TailLoop { columns, lanes: 32 });
    draft.insts.push(MInst::Loop { parameters, end: 0, tail });
    let access = |lane| Some(TailAccess { element: 4, lane });
    let x = draft.load(from, 0, access(0));
    let (y, folded) =
        draft.op(encodings::PADDD, RegClass::Vector, &[VOperand::Reg(x), memory(from, 64, access(16))]);
    draft.push(folded);
    let mask = draft.compare(x, y);
    draft.test_mask(mask);
    let joined = draft.cold_call(x, VReg(2));
    draft.store(y, to, 64, access(16));
    let chosen = draft.select(mask, joined, y);
    draft.store(chosen, to, 0, access(0));
    let next = draft.add_integer(index, 32);
    let values = smallvec![next];
    draft.insts.push(MInst::Back { head: head as u32, condition: Condition::Less, values });
    let last = draft.insts.len() as u32 - 1;
    if let MInst::Loop { end, .. } = &mut draft.insts[head] {
        *end = last;
    }
    draft.function()
}

/// A loop in a loop. The inner one swaps two vectors, has out-of-line code that calls a function, and reads values from
/// before both loops, from the outer loop, and, after it, is followed by code that reads them again.
pub(super) fn nested() -> VFunction {
    let mut draft = FunctionDraft::new();
    let (base, count) = (VReg(0), VReg(3));
    let (first, outside) = (draft.load(base, 0, None), draft.load(base, 64, None));
    let zero = draft.reg(VRegKind::Integer(0));
    let [x, y, z] = [0; 3].map(|_| draft.defined(RegClass::Vector));
    let [index, left] = [0; 2].map(|_| draft.defined(RegClass::General));
    let parameter = |parameter, initial| LoopParameter { parameter, initial };
    let outer = draft.insts.len();
    let parameters = smallvec![parameter(index, zero), parameter(x, first)];
    draft.insts.push(MInst::Loop { parameters, end: 0, tail: None });
    let own = draft.add(x, outside);
    let inner = draft.insts.len();
    let parameters = smallvec![parameter(left, count), parameter(y, x), parameter(z, own)];
    draft.insts.push(MInst::Loop { parameters, end: 0, tail: None });
    let less = draft.sub(y, outside);
    let mask = draft.compare(less, own);
    let chosen = draft.select(mask, less, y);
    draft.test_mask(mask);
    let joined = draft.cold_call(chosen, VReg(1));
    let fewer = draft.add_integer(left, -1);
    draft.back(inner, fewer, VReg(2), smallvec![fewer, z, joined]);
    let after = draft.sub(joined, own);
    draft.store(after, VReg(1), 0, None);
    let next = draft.add_integer(index, 1);
    draft.back(outer, next, count, smallvec![next, after]);
    draft.store(outside, VReg(1), 64, None);
    draft.function()
}

/// Three loops that contain each other, each of which swaps two vectors of its own in each iteration. Those of an inner one begin
/// with what the loop around it computes. `outside` vectors are live across all of them; of more than 24, some are spilled.
pub(super) fn three_loops(outside: usize) -> VFunction {
    let mut draft = FunctionDraft::new();
    let (base, count) = (VReg(0), VReg(3));
    let outside: Vec<VReg> = (0..outside as i32).map(|i| draft.load(base, 64 * i, None)).collect();
    let zero = draft.reg(VRegKind::Integer(0));
    let parameter = |parameter, initial| LoopParameter { parameter, initial };
    let mut pair = [outside[0], outside[1]];
    let mut loops = Vec::new();
    for _ in 0..3 {
        let index = draft.defined(RegClass::General);
        let [x, y] = [0; 2].map(|_| draft.defined(RegClass::Vector));
        let head = draft.insts.len();
        let parameters = smallvec![parameter(index, zero), parameter(x, pair[0]), parameter(y, pair[1])];
        draft.insts.push(MInst::Loop { parameters, end: 0, tail: None });
        loops.push((head, index, x, y));
        pair = [draft.sub(x, y), draft.add(x, y)];
    }
    for &(head, index, x, y) in loops.iter().rev() {
        let next = draft.add_integer(index, 1);
        draft.store(x, VReg(1), 0, None);
        draft.back(head, next, count, smallvec![next, y, x]);
    }
    for (i, &value) in outside.iter().enumerate() {
        draft.store(value, VReg(2), 64 * i as i32, None);
    }
    draft.function()
}

/// All of these functions.
pub(super) fn functions() -> [VFunction; 6] {
    [pressure(), carried(), row(), nested(), three_loops(20), three_loops(28)]
}
