//! Chooses registers.
//!
//! In: a [`Line`]. Out: [`Placed`] code. Must hold: where control flow meets (heads of loops, ends of cold code), every
//! value is where both ways expect it.
//!
//! The line is walked once. A value stays in its register until another needs it more: the one whose next use is farthest
//! gives way (L. Belady, 1966), into a slot if it isn't a constant. At the head of a loop the values that the loop reads
//! most are pinned to registers for all of it, as many as leave room for what the body computes; all others are in
//! memory there, and are operands from there. So the way back has nothing to restore but the loop's parameters.

mod cold;
mod file;
mod inst;
mod loops;
mod moves;
#[cfg(test)]
mod tests;
mod uses;

use crate::code::{Out, Placed};
use crate::machine::{Class, Kind, Line, Reg, Step};
use crate::target::Convention;
use crate::{Level, Unsupported};
use file::Files;
pub use file::{PART_MASK, PART_VECTOR};
use uses::Uses;

pub struct Allocator<'l> {
    pub kinds: &'l [Kind],
    pub steps: &'l [Step],
    pub level: Level,
    pub convention: Convention,
    pub uses: Uses,
    pub files: Files,
    /// Of each value, its slot, and whether it has been written there.
    pub slots: Vec<Option<u32>>,
    pub stored: Vec<bool>,
    /// Values stored in the cold code at hand.
    pub stored_in_cold: Option<Vec<Reg>>,
    pub slot_count: u32,
    pub free_slots: Vec<u32>,
    /// Slots that the step at hand lets go: it may still read them after it has stored something else.
    pub let_go: Vec<u32>,
    /// Where each value is set: constants nowhere, the function's parameters before all.
    pub set_at: Vec<Option<u32>>,
    /// The loops that the step at hand is in: the step of the head, the registers of its parameters.
    pub loops: Vec<loops::Open>,
    pub out: Vec<Out>,
    /// The step at hand.
    pub at: u32,
    pub calls: bool,
    /// A value that was to be read and is nowhere.
    pub lost: Option<Reg>,
}

pub fn place(line: &Line, level: Level, convention: Convention) -> Result<Placed, Unsupported> {
    let count = line.kinds.len();
    let mut allocator = Allocator {
        kinds: &line.kinds,
        steps: &line.steps,
        level,
        convention,
        uses: Uses::of(line),
        files: Files::new(level, convention, count),
        slots: vec![None; count],
        stored: vec![false; count],
        stored_in_cold: None,
        slot_count: 0,
        free_slots: Vec::new(),
        let_go: Vec::new(),
        set_at: vec![None; count],
        loops: Vec::new(),
        out: Vec::new(),
        at: 0,
        calls: false,
        lost: None,
    };
    for (at, step) in line.steps.iter().enumerate() {
        uses::sets(step, &mut |reg| allocator.set_at[reg.index()] = Some(at as u32));
    }
    allocator.enter(&line.parameters);
    for (at, step) in line.steps.iter().enumerate() {
        allocator.at = at as u32;
        allocator.step(step)?;
        let let_go = std::mem::take(&mut allocator.let_go);
        allocator.free_slots.extend(let_go);
    }
    if let Some(reg) = allocator.lost {
        return Err(Unsupported(format!("the value {}, which nothing sets", reg.0)));
    }
    let Allocator { out, slot_count, files, calls, .. } = allocator;
    Ok(Placed { steps: out, slots: slot_count, frame: line.frame, written: files.written, calls })
}

impl Allocator<'_> {
    fn step(&mut self, step: &Step) -> Result<(), Unsupported> {
        match step {
            Step::Inst(inst) => self.inst(inst),
            Step::Call { target, arguments } => self.call(*target, arguments),
            Step::Cold { condition, steps, parameters } => self.cold(*condition, steps, parameters),
            Step::Loop { parameters, end, partial } => self.open(parameters, *end, *partial),
            Step::Back { head, condition, values } => self.back(*head, *condition, values),
            Step::Return => {
                self.out.push(Out::Return);
                Ok(())
            }
        }
    }

    pub fn class(&self, reg: Reg) -> Class {
        self.kinds[reg.index()].class()
    }

    pub fn is_constant(&self, reg: Reg) -> bool {
        !matches!(self.kinds[reg.index()], Kind::Set(_))
    }

    /// Where a value is used next after the step at hand.
    pub fn next_use(&self, reg: Reg) -> u32 {
        self.uses.after(reg, self.at)
    }

    /// Whether a value may be needed after the step at hand: in it, or once more round.
    pub fn is_dead(&self, reg: Reg) -> bool {
        self.next_use(reg) == u32::MAX && !self.files.is_pinned(reg)
    }

    /// Whether a value was set outside of the innermost loop.
    pub fn is_from_outside(&self, reg: Reg) -> bool {
        self.loops.last().is_some_and(|open| self.set_at[reg.index()].is_none_or(|at| at < open.head))
    }
}
