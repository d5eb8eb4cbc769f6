//! Placed lines, run on a machine whose values are only names.
//!
//! In: lines made by hand or by chance. Out: tests. Must hold: every instruction reads what the line gives it, wherever that
//! was kept meanwhile.

use std::collections::HashMap;

use super::place;
use crate::Level;
use crate::code::{Encoded, MemoryBase, Operand, Out, Place, Placed};
use crate::forms::{self, Op};
use crate::machine::{Address, Base, Class, Inst, Kind, Line, Reg, Size, Source, Step};
use crate::target::Convention;

/// What is in a register or a slot: a value that stands for how it was made.
type Name = u64;

fn made(how: u64, of: &[Name]) -> Name {
    of.iter().fold(how.wrapping_mul(0x9e37_79b9_7f4a_7c15), |name, &x| {
        (name ^ x).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29)
    })
}

/// What an instruction makes of its sources; which of two terms or factors comes first is no matter.
fn result(op: Op, mut of: Vec<Name>) -> Name {
    if op == forms::PADDD {
        of.sort_unstable();
        return made(1, &of);
    }
    if op == forms::PSUBD {
        return made(2, &of);
    }
    of[..2].sort_unstable();
    made(3, &of)
}

/// The places of the factors and the term of a product among its operands.
fn product_places(op: Op) -> Option<[usize; 3]> {
    let places = [[0, 2, 1], [1, 0, 2], [1, 2, 0]];
    (0..3).find(|&form| forms::FMADDPS.product_form(form) == op).map(|form| places[form])
}

/// Elements of memory by their offset, as the line or the placed code leaves them.
fn written(placed: &Placed) -> HashMap<i32, Name> {
    let (mut registers, mut slots, mut memory) = ([None; 32], HashMap::new(), HashMap::new());
    for step in &placed.steps {
        let Out::Inst(Encoded { op, operands, .. }) = step else { continue };
        let read = |operand: &Operand| -> Name {
            match *operand {
                Operand::In(Place::Vector(v)) => registers[usize::from(v)].expect("a register that was set"),
                Operand::At(at) => match at.base {
                    MemoryBase::Spill => *slots.get(&at.offset).expect("a slot that was written"),
                    MemoryBase::General(_) => made(4, &[at.offset as u64]),
                    MemoryBase::Pool { bits, .. } => made(5, &[bits]),
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            }
        };
        let is_move = [forms::MOVUPS, forms::MOVAPS, forms::PBROADCASTD].contains(op);
        match operands[0] {
            Operand::At(at) => {
                let name = read(&operands[1]);
                let to = if at.base == MemoryBase::Spill { &mut slots } else { &mut memory };
                to.insert(at.offset, name);
            }
            Operand::In(Place::Vector(to)) => {
                let name = match product_places(*op) {
                    Some(places) => result(forms::FMADDPS, places.map(|i| read(&operands[i])).to_vec()),
                    None if is_move => read(&operands[1]),
                    None => result(*op, operands[1..].iter().map(read).collect()),
                };
                registers[usize::from(to)] = Some(name);
            }
            _ => {}
        }
    }
    memory
}

fn at(offset: i32) -> Source {
    let base = Base::Reg(Reg(0));
    Source::Mem(Address { base, index: None, offset, part: None, broadcast: 0 })
}

/// A line that is being written, and what it means.
struct Draft {
    line: Line,
    names: Vec<Name>,
    memory: HashMap<i32, Name>,
}

impl Draft {
    fn new() -> Draft {
        let kinds = vec![Kind::Set(Class::General)];
        let line = Line { steps: Vec::new(), kinds, parameters: vec![Reg(0)], frame: 0 };
        Draft { line, names: vec![0], memory: HashMap::new() }
    }

    fn value(&mut self, kind: Kind, name: Name) -> Reg {
        self.line.kinds.push(kind);
        self.names.push(name);
        Reg(self.names.len() as u32 - 1)
    }

    fn load(&mut self, offset: i32) -> Reg {
        let def = self.value(Kind::Set(Class::Vector), made(4, &[offset as u64]));
        self.line.steps.push(Step::Inst(Inst::new(forms::MOVUPS, Size::Z, Some(def), &[at(offset)])));
        def
    }

    fn constant(&mut self, bits: u64) -> Reg {
        self.value(Kind::Constant(bits), made(5, &[bits]))
    }

    fn apply(&mut self, op: Op, of: &[Reg]) -> Reg {
        let name = result(op, of.iter().map(|r| self.names[r.index()]).collect());
        let def = self.value(Kind::Set(Class::Vector), name);
        let sources: Vec<Source> = of.iter().map(|&r| Source::Reg(r)).collect();
        let inst = Inst::new(op, Size::Z, Some(def), &sources);
        self.line.steps.push(Step::Inst(if op.product { inst.tied() } else { inst }));
        def
    }

    fn store(&mut self, value: Reg, offset: i32) {
        self.memory.insert(offset, self.names[value.index()]);
        let sources = [at(offset), Source::Reg(value)];
        self.line.steps.push(Step::Inst(Inst::new(forms::MOVUPS_STORE, Size::Z, None, &sources)));
    }

    fn placed(mut self) -> Placed {
        self.line.steps.push(Step::Return);
        let placed = place(&self.line, Level::Avx512, Convention::SystemV).expect("places");
        assert_eq!(written(&placed), self.memory);
        placed
    }
}

/// The stores into slots, by the register that is stored.
fn spilled(placed: &Placed) -> Vec<Operand> {
    let spill = |step: &Out| match step {
        Out::Inst(inst) => match inst.operands[..] {
            [Operand::At(at), from] if at.base == MemoryBase::Spill => Some(from),
            _ => None,
        },
        _ => None,
    };
    placed.steps.iter().filter_map(spill).collect()
}

/// One value too many: the one that is used last gives way, and no other.
#[test]
fn what_is_used_last_gives_way() {
    for last in [0, 7, 30] {
        let mut draft = Draft::new();
        let values: Vec<Reg> = (0..32).map(|i| draft.load(64 * i)).collect();
        let order = (0..32).filter(|&i| i != last).chain([last]);
        order.for_each(|i| draft.store(values[i], 4096 + 64 * i as i32));
        let placed = draft.placed();
        assert_eq!(spilled(&placed), [Operand::In(Place::Vector(last as u8))]);
        assert_eq!(placed.slots, 1);
    }
}

/// A slot whose value nobody needs any more serves the next one.
#[test]
fn slots_are_used_again() {
    let mut draft = Draft::new();
    for round in 0..5 {
        let values: Vec<Reg> = (0..33).map(|i| draft.load(64 * i)).collect();
        values
            .iter()
            .rev()
            .enumerate()
            .for_each(|(i, &v)| draft.store(v, 4096 * (round + 1) + 64 * i as i32));
    }
    assert_eq!(draft.placed().slots, 2);
}

/// An operand that is read from its slot for the last time, while the result needs a register that has to be stored first.
#[test]
fn a_slot_is_read_before_it_serves_again() {
    for op in [forms::PSUBD, forms::PADDD] {
        let mut draft = Draft::new();
        let values: Vec<Reg> = (0..32).map(|i| draft.load(64 * i)).collect();
        let store_rest = |draft: &mut Draft, to: i32| {
            (1..32).for_each(|i| draft.store(values[i as usize], to + 64 * i));
        };
        store_rest(&mut draft, 4096);
        let result = draft.apply(op, &[values[1], values[0]]);
        store_rest(&mut draft, 8192);
        draft.store(result, 16_384);
        assert!(spilled(&draft.placed()).len() >= 2);
    }
}

/// Bodies made by chance: few and many values, short and long lives, products with their operands anywhere.
#[test]
fn every_instruction_reads_what_the_line_gives_it() {
    for seed in 0..400u64 {
        let mut state = seed;
        let mut dice = |n: usize| {
            state = made(state.wrapping_add(seed + 1), &[6]);
            (state >> 33) as usize % n
        };
        let mut draft = Draft::new();
        let mut values: Vec<Reg> = (0..1 + dice(60)).map(|i| draft.load(64 * i as i32)).collect();
        values.extend((0..dice(20)).map(|i| draft.constant(0x0000_0003_0000_0003 * (i as u64 + 1))));
        for i in 0..dice(200) {
            let recent = if dice(2) == 0 { values.len() } else { values.len().min(8) };
            let mut any = || values[values.len() - 1 - dice(recent)];
            let of = [any(), any(), any()];
            let value = match dice(4) {
                0 => draft.apply(forms::PSUBD, &of[..2]),
                1 => draft.apply(forms::FMADDPS, &of),
                2 => draft.apply(forms::PADDD, &of[..2]),
                _ => {
                    draft.store(of[0], 65_536 + 64 * i as i32);
                    continue;
                }
            };
            values.push(value);
        }
        // The others have their last use anywhere.
        let kept = 1 + dice(6);
        for (i, &value) in values.iter().rev().enumerate().filter(|&(i, _)| i < 2 || dice(kept) == 0) {
            draft.store(value, 1_000_000 + 64 * i as i32);
        }
        draft.placed();
    }
}
