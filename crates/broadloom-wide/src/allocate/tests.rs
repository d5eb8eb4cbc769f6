//! Tests register allocation of straight-line code by running it on a machine whose values are symbolic names: every
//! instruction must read the values that the function over virtual registers names, in whichever registers and slots
//! they were in the meantime. Also tests which value is evicted. (Loops and out-of-line code are tested in
//! [`crate::check`].)

use std::collections::HashMap;

use smallvec::SmallVec;

use super::liveness::Liveness;
use super::{allocate, pins};
use crate::allocated::{AInst, AllocatedFunction, PBase, POperand, PReg, RegMove, SpillSlot};
use crate::check::check;
use crate::encodings::{self, Encoding, FmaOrder};
use crate::inst::{
    Condition, MInst, RegClass, VAddress, VBase, VFunction, VInst, VOperand, VReg, VRegKind, VectorLength,
};
use crate::target::{Convention, Level};

/// The symbolic contents of a register or a slot: a hash of the operations that computed them.
type Name = u64;

fn made(how: u64, of: &[Name]) -> Name {
    of.iter().fold(how.wrapping_mul(0x9e37_79b9_7f4a_7c15), |name, &x| {
        (name ^ x).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29)
    })
}

/// The symbolic result of an instruction. The order of two addends or factors does not matter.
fn result(encoding: Encoding, mut of: Vec<Name>) -> Name {
    if encoding == encodings::PADDD {
        of.sort_unstable();
        return made(1, &of);
    }
    if encoding == encodings::PSUBD {
        return made(2, &of);
    }
    of[..2].sort_unstable();
    made(3, &of)
}

/// The positions of the two factors and the addend among the operands of a multiply-add; `None` for other instructions.
fn fma_positions(encoding: Encoding) -> Option<[usize; 3]> {
    let order = FmaOrder::ALL.into_iter().find(|&o| encodings::FMADD213PS.with_fma_order(o) == encoding)?;
    let ([x, y], sum) = order.positions();
    Some([x, y, sum])
}

/// A machine whose registers, slots and memory hold symbolic names.
#[derive(Default)]
struct NameMachine {
    registers: HashMap<u8, Name>,
    slots: HashMap<u32, Name>,
    memory: HashMap<i32, Name>,
}

impl NameMachine {
    fn read(&self, operand: &POperand) -> Name {
        match *operand {
            POperand::Reg(PReg { class: RegClass::Vector, number }) => self.registers[&number],
            POperand::Mem(at) => match at.base {
                PBase::Spill(SpillSlot(slot)) => self.slots[&slot],
                PBase::Reg(_) => made(4, &[at.offset as u64]),
                PBase::Pool { bits, .. } => made(5, &[bits]),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    fn run_move(&mut self, m: RegMove) {
        match m {
            RegMove::Copy { to, from } => {
                self.registers.insert(to.number, self.registers[&from.number]);
            }
            RegMove::Spill { slot, from } => {
                self.slots.insert(slot.0, self.registers[&from.number]);
            }
            RegMove::Reload { to, slot } => {
                self.registers.insert(to.number, self.slots[&slot.0]);
            }
            RegMove::Constant { to, bits } => {
                self.registers.insert(to, made(5, &[bits]));
            }
            other => panic!("{other:?}"),
        }
    }

    fn run(mut self, allocated: &AllocatedFunction) -> HashMap<i32, Name> {
        for inst in &allocated.insts {
            let inst = match inst {
                AInst::Op { inst, .. } => inst,
                AInst::Move(m) => {
                    self.run_move(*m);
                    continue;
                }
                _ => continue,
            };
            match inst.operands[0] {
                POperand::Mem(at) => {
                    let name = self.read(&inst.operands[1]);
                    self.memory.insert(at.offset, name);
                }
                POperand::Reg(to) => {
                    let name = match fma_positions(inst.encoding) {
                        Some(at) => {
                            result(encodings::FMADD213PS, at.map(|i| self.read(&inst.operands[i])).to_vec())
                        }
                        None if inst.encoding == encodings::MOVUPS => self.read(&inst.operands[1]),
                        None => {
                            result(inst.encoding, inst.operands[1..].iter().map(|o| self.read(o)).collect())
                        }
                    };
                    self.registers.insert(to.number, name);
                }
            }
        }
        self.memory
    }
}

fn at(offset: i32) -> VOperand {
    let base = VBase::Reg(VReg(0));
    VOperand::Mem(VAddress { base, index: None, offset, tail: None })
}

/// A function under construction, and the symbolic names that its stores must write.
struct FunctionDraft {
    func: VFunction,
    names: Vec<Name>,
    memory: HashMap<i32, Name>,
}

impl FunctionDraft {
    fn new() -> FunctionDraft {
        let kinds = vec![VRegKind::Defined(RegClass::General)];
        let func = VFunction { insts: Vec::new(), kinds, parameters: vec![VReg(0)], stack_slot_bytes: 0 };
        FunctionDraft { func, names: vec![0], memory: HashMap::new() }
    }

    fn value(&mut self, kind: VRegKind, name: Name) -> VReg {
        self.func.kinds.push(kind);
        self.names.push(name);
        VReg(self.names.len() as u32 - 1)
    }

    fn push(&mut self, inst: VInst) {
        self.func.insts.push(MInst::Op(inst));
    }

    fn load(&mut self, offset: i32) -> VReg {
        let def = self.value(VRegKind::Defined(RegClass::Vector), made(4, &[offset as u64]));
        self.push(VInst::new(encodings::MOVUPS, VectorLength::L512, Some(def), &[at(offset)]));
        def
    }

    fn constant(&mut self, bits: u64) -> VReg {
        self.value(VRegKind::Constant(bits), made(5, &[bits]))
    }

    fn apply(&mut self, encoding: Encoding, of: &[VReg]) -> VReg {
        let name = result(encoding, of.iter().map(|r| self.names[r.index()]).collect());
        let def = self.value(VRegKind::Defined(RegClass::Vector), name);
        let sources: Vec<VOperand> = of.iter().map(|&r| VOperand::Reg(r)).collect();
        let inst = VInst::new(encoding, VectorLength::L512, Some(def), &sources);
        self.push(if encoding.is_fma() { inst.tied() } else { inst });
        def
    }

    fn store(&mut self, value: VReg, offset: i32) {
        self.memory.insert(offset, self.names[value.index()]);
        let sources = [at(offset), VOperand::Reg(value)];
        self.push(VInst::new(encodings::MOVUPS_STORE, VectorLength::L512, None, &sources));
    }

    fn allocated(mut self) -> AllocatedFunction {
        self.func.insts.push(MInst::Return);
        let (level, convention) = (Level::Avx512, Convention::SystemV);
        let allocated = allocate(&self.func, level, convention).expect("allocates");
        check(&self.func, &allocated, level, convention).expect("is right");
        assert_eq!(NameMachine::default().run(&allocated), self.memory);
        allocated
    }
}

/// The registers whose contents the code stores in spill slots, in the order of the code.
fn spilled(allocated: &AllocatedFunction) -> Vec<PReg> {
    let spill = |inst: &AInst| match *inst {
        AInst::Move(RegMove::Spill { from, .. }) => Some(from),
        _ => None,
    };
    allocated.insts.iter().filter_map(spill).collect()
}

/// With one value more than there are registers, only the value whose use is farthest away is spilled.
#[test]
fn the_value_with_the_farthest_use_is_spilled() {
    for last in [0, 7, 30] {
        let mut draft = FunctionDraft::new();
        let values: Vec<VReg> = (0..32).map(|i| draft.load(64 * i)).collect();
        let order = (0..32).filter(|&i| i != last).chain([last]);
        order.for_each(|i| draft.store(values[i], 4096 + 64 * i as i32));
        let allocated = draft.allocated();
        assert_eq!(spilled(&allocated), [PReg::vector(last as u8)]);
        assert_eq!(allocated.slots, 1);
    }
}

/// The slot of a dead value is reused.
#[test]
fn slots_are_reused() {
    let mut draft = FunctionDraft::new();
    for round in 0..5 {
        let values: Vec<VReg> = (0..33).map(|i| draft.load(64 * i)).collect();
        values
            .iter()
            .rev()
            .enumerate()
            .for_each(|(i, &v)| draft.store(v, 4096 * (round + 1) + 64 * i as i32));
    }
    assert_eq!(draft.allocated().slots, 2);
}

/// An instruction reads its operand from a spill slot for the last time, and its result evicts another value. That
/// value must not be stored in the slot that the instruction still reads.
#[test]
fn a_slot_is_not_reused_by_the_instruction_that_reads_it() {
    for encoding in [encodings::PSUBD, encodings::PADDD] {
        let mut draft = FunctionDraft::new();
        let values: Vec<VReg> = (0..32).map(|i| draft.load(64 * i)).collect();
        let store_rest = |draft: &mut FunctionDraft, to: i32| {
            (1..32).for_each(|i| draft.store(values[i as usize], to + 64 * i));
        };
        store_rest(&mut draft, 4096);
        let result = draft.apply(encoding, &[values[1], values[0]]);
        store_rest(&mut draft, 8192);
        draft.store(result, 16_384);
        assert!(spilled(&draft.allocated()).len() >= 2);
    }
}

/// Generates random straight-line functions: few and many values, short and long live ranges, multiply-adds
/// of arbitrary values.
#[test]
fn every_instruction_reads_what_the_function_gives_it() {
    for seed in 0..400u64 {
        let mut state = seed;
        let mut dice = |n: usize| {
            state = made(state.wrapping_add(seed + 1), &[6]);
            (state >> 33) as usize % n
        };
        let mut draft = FunctionDraft::new();
        let mut values: Vec<VReg> = (0..1 + dice(60)).map(|i| draft.load(64 * i as i32)).collect();
        values.extend((0..dice(20)).map(|i| draft.constant(0x0000_0003_0000_0003 * (i as u64 + 1))));
        for i in 0..dice(200) {
            let recent = if dice(2) == 0 { values.len() } else { values.len().min(8) };
            let mut any = || values[values.len() - 1 - dice(recent)];
            let of = [any(), any(), any()];
            let value = match dice(4) {
                0 => draft.apply(encodings::PSUBD, &of[..2]),
                1 => draft.apply(encodings::FMADD213PS, &of),
                2 => draft.apply(encodings::PADDD, &of[..2]),
                _ => {
                    draft.store(of[0], 65_536 + 64 * i as i32);
                    continue;
                }
            };
            values.push(value);
        }
        // Some values are stored at the end; the last use of the others can be anywhere.
        let kept = 1 + dice(6);
        for (i, &value) in values.iter().rev().enumerate().filter(|&(i, _)| i < 2 || dice(kept) == 0) {
            draft.store(value, 1_000_000 + 64 * i as i32);
        }
        draft.allocated();
    }
}

/// A constant that only out-of-line code reads is not pinned to a register for the loop.
#[test]
fn what_only_out_of_line_code_reads_is_not_pinned() {
    let mut draft = FunctionDraft::new();
    let [inline, cold] = [1, 2].map(|bits| draft.constant(bits));
    draft.func.insts.push(MInst::Loop { parameters: SmallVec::new(), end: 4, tail: None });
    let x = draft.load(0);
    draft.apply(encodings::PADDD, &[x, inline]);
    draft.apply(encodings::PADDD, &[x, cold]);
    let Some(MInst::Op(inst)) = draft.func.insts.pop() else { panic!("the last one pushed") };
    let (condition, parameters) = (Condition::NotEqual, SmallVec::new());
    draft.func.insts.push(MInst::Cold { condition, body: vec![MInst::Op(inst)], parameters });
    draft.func.insts.push(MInst::Back { head: 0, condition, values: SmallVec::new() });
    let liveness = Liveness::of(&draft.func);
    let pinned = pins::choose(&draft.func, &liveness, (0, 4), None, [16; 3]);
    assert_eq!(pinned, [VReg(0), inline]);
}
