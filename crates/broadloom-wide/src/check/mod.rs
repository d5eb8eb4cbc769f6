//! A symbolic checker of register allocation, in the manner of regalloc2's.
//!
//! It walks the allocated code in parallel with the code over virtual registers, with an abstract state that maps each physical
//! register and spill slot to the virtual registers whose value it holds. Where control flow meets, the states are intersected;
//! loops are walked until their head's state no longer changes, and the body of a tail loop is walked a second time with masks.
//! Every use must find the virtual register that instruction selection named, so a missing or misplaced move, a clobbered
//! register and a slot reused too early are all found, whatever the values at run time. Of the allocator's results it uses only
//! the code.

mod error;
mod operation;
mod state;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::allocated::{
    AInst, AllocatedFunction, PAddress, PBase, PInst, POperand, PReg, RegMove, SCRATCH, SpillSlot,
};
use crate::inst::{InstId, LoopParameter, MInst, RegClass, TailLoop, VFunction, VInst, VReg, VRegKind};
use crate::tail::TailMasker;
use crate::target::{Convention, Level};
pub(crate) use error::{Allocation, AllocationMistake, CheckError};
use operation::{OperationCheck, is_allocatable};
use state::{AllocatorState, Values};

/// Checks that the allocated code computes what the function over virtual registers computes.
pub(crate) fn check(
    func: &VFunction,
    allocated: &AllocatedFunction,
    level: Level,
    convention: Convention,
) -> Result<(), CheckError> {
    let mut checker = Checker {
        func,
        allocated,
        level,
        convention,
        constants: FxHashMap::default(),
        integers: FxHashMap::default(),
        loops: Vec::new(),
    };
    for (i, kind) in func.kinds.iter().enumerate() {
        let reg = VReg(i as u32);
        match *kind {
            VRegKind::Constant(bits) => checker.constants.entry(bits).or_default().push(reg),
            VRegKind::Integer(value) => checker.integers.entry(value).or_default().push(reg),
            VRegKind::Defined(_) => {}
        }
    }
    let mut state = AllocatorState::new(allocated.slots);
    for (&reg, &number) in func.parameters.iter().zip(convention.arguments()) {
        state.write(Allocation::Reg(PReg::general(number)), Values::from_slice(&[reg]));
    }
    let start = Cursor { index: 0, cold: None };
    let end = checker.sequence(&allocated.insts, start, &mut state, &mut None)?;
    let failure = AllocationMistake::OutOfOrder { expected: Some(end) };
    let is_whole = end.index as usize == func.insts.len();
    if is_whole { Ok(()) } else { Err(CheckError { failure, instruction: "the end".into() }) }
}

/// The position of the instruction over virtual registers that has to be checked next.
type Cursor = InstId;

/// A loop whose body is being checked: the index of its head, and the states at the branches back to it.
struct EnteredLoop {
    head: u32,
    backs: Vec<AllocatorState>,
}

struct Checker<'f> {
    func: &'f VFunction,
    allocated: &'f AllocatedFunction,
    level: Level,
    convention: Convention,
    constants: FxHashMap<u64, Values>,
    integers: FxHashMap<i64, Values>,
    loops: Vec<EnteredLoop>,
}

impl<'f> Checker<'f> {
    /// Checks a sequence of allocated code against the function's instructions from the cursor on. Returns the position
    /// after the last one.
    fn sequence(
        &mut self,
        insts: &[AInst],
        mut cursor: Cursor,
        state: &mut AllocatorState,
        masker: &mut Option<TailMasker>,
    ) -> Result<Cursor, CheckError> {
        for inst in insts {
            let origin = self.origin(cursor);
            let result = match inst {
                AInst::Move(m) => self.apply(m, state),
                AInst::Op { id, inst } => self.advance(&mut cursor, *id).and_then(|origin| match origin {
                    MInst::Op(want) => self.operation(want, inst, state, masker),
                    _ => Err(AllocationMistake::Mismatch("kind")),
                }),
                AInst::Call { id } => {
                    self.advance(&mut cursor, *id).and_then(|origin| self.call(origin, state, masker))
                }
                AInst::Back { id, condition, moves } => {
                    let taken = self.back(*id, Some(*condition), moves, state);
                    self.advance(&mut cursor, *id).and(taken)
                }
                AInst::Return => match origin {
                    Some(MInst::Return) => {
                        let id = cursor;
                        self.advance(&mut cursor, id).map(|_| ())
                    }
                    _ => Err(AllocationMistake::OutOfOrder { expected: Some(cursor) }),
                },
                // These instructions have bodies; an error within a body names the instruction in it.
                AInst::Cold { .. } => {
                    cursor = self.cold(inst, cursor, state, masker)?;
                    Ok(())
                }
                AInst::Loop { .. } | AInst::TailLoop { .. } => {
                    cursor = self.any_loop(inst, cursor, state)?;
                    Ok(())
                }
            };
            result.map_err(|failure| self.error(failure, inst, origin))?;
        }
        Ok(cursor)
    }

    fn error(&self, failure: AllocationMistake, inst: &AInst, origin: Option<&MInst>) -> CheckError {
        CheckError { failure, instruction: format!("{inst:?}, for {origin:?}") }
    }

    fn origin(&self, id: InstId) -> Option<&'f MInst> {
        let inst = self.func.insts.get(id.index as usize)?;
        match (inst, id.cold) {
            (MInst::Cold { body, .. }, Some(i)) => body.get(i as usize),
            (_, Some(_)) => None,
            (inst, None) => Some(inst),
        }
    }

    /// Returns the instruction at the cursor, whose id has to be `id`, and moves the cursor to the next instruction.
    fn advance(&self, cursor: &mut Cursor, id: InstId) -> Result<&'f MInst, AllocationMistake> {
        let expected = *cursor;
        let Some(origin) = self.origin(expected).filter(|_| id == expected) else {
            return Err(AllocationMistake::OutOfOrder { expected: Some(expected) });
        };
        match &mut cursor.cold {
            Some(i) => *i += 1,
            None => cursor.index += 1,
        }
        Ok(origin)
    }

    // Straight-line code.

    fn operation(
        &self,
        want: &VInst,
        got: &PInst,
        state: &mut AllocatorState,
        masker: &mut Option<TailMasker>,
    ) -> Result<(), AllocationMistake> {
        let expansion = masker.as_mut().and_then(|masker| masker.expand(got));
        if let Some(lane) = expansion.as_ref().and_then(|e| e.set_mask) {
            state.tail_mask = Some(lane);
        }
        let mut check = OperationCheck { func: self.func, state, loaded: None };
        let written = match &expansion {
            Some(expansion) => check.check_tail(want, got, expansion)?,
            None => check.check(want, got)?,
        };
        if let (Some(def), Some(register)) = (want.def, written) {
            self.writable(register, false)?;
            state.define(def, register);
        }
        Ok(())
    }

    /// Fails unless code may write the register: it has to be allocatable, and saved by the prologue if it is
    /// callee-saved.
    fn writable(&self, register: PReg, or_scratch: bool) -> Result<(), AllocationMistake> {
        let is_allocatable = is_allocatable(register, self.level == Level::Avx512);
        if !(is_allocatable || or_scratch && register == SCRATCH) {
            return Err(AllocationMistake::NotAllocatable(register));
        }
        match self.allocated.written[register.class as usize] >> register.number & 1 {
            1 => Ok(()),
            _ => Err(AllocationMistake::NotSaved(register)),
        }
    }

    fn slot(&self, slot: SpillSlot) -> Result<Allocation, AllocationMistake> {
        match slot.0 < self.allocated.slots {
            true => Ok(Allocation::Slot(slot)),
            false => Err(AllocationMistake::NoSuchSlot(slot)),
        }
    }

    fn apply(&self, m: &RegMove, state: &mut AllocatorState) -> Result<(), AllocationMistake> {
        let known = |values: Option<&Values>| values.cloned().unwrap_or_default();
        let (to, values) = match *m {
            RegMove::Copy { to, from } if to.class != from.class => {
                return Err(AllocationMistake::NotAllocatable(to));
            }
            RegMove::Copy { to, from } => (to, state.values(Allocation::Reg(from)).clone()),
            RegMove::Spill { slot, from } => {
                let values = state.values(Allocation::Reg(from)).clone();
                state.write(self.slot(slot)?, values);
                return Ok(());
            }
            RegMove::Reload { to, slot } => (to, state.values(self.slot(slot)?).clone()),
            RegMove::Constant { to, bits } => (PReg::vector(to), known(self.constants.get(&bits))),
            RegMove::Integer { to, value } => (PReg::general(to), known(self.integers.get(&value))),
            RegMove::Argument { to, index } => {
                let on_stack = index as usize >= self.convention.arguments().len();
                let reg = self.func.parameters.get(index as usize).filter(|_| on_stack);
                (PReg::general(to), reg.copied().into_iter().collect())
            }
        };
        self.writable(to, true)?;
        state.write(Allocation::Reg(to), values);
        Ok(())
    }

    /// Checks a call. It reads its target and arguments; afterwards the contents of the registers that the callee may change
    /// are unknown. On Windows only the low halves of some vector registers are callee-saved, so no vector survives a call
    /// there either.
    fn call(
        &self,
        origin: &MInst,
        state: &mut AllocatorState,
        masker: &mut Option<TailMasker>,
    ) -> Result<(), AllocationMistake> {
        let MInst::Call { target, arguments } = origin else {
            return Err(AllocationMistake::Mismatch("kind"));
        };
        let check = OperationCheck { func: self.func, state, loaded: None };
        check.register(*target, SCRATCH)?;
        let registers = self.convention.arguments();
        if arguments.len() > registers.len() || !self.allocated.calls {
            return Err(AllocationMistake::Mismatch("call"));
        }
        for (&argument, &number) in arguments.iter().zip(registers) {
            check.register(argument, PReg::general(number))?;
        }
        for class in RegClass::ALL {
            for number in 0..32u8 {
                if class != RegClass::General || self.convention.saved() >> number & 1 == 0 {
                    state.write(Allocation::Reg(PReg { class, number }), Values::new());
                }
            }
        }
        state.tail_mask = None;
        if let Some(masker) = masker {
            masker.after_call();
        }
        Ok(())
    }

    // Control flow.

    /// Checks the path around out-of-line code, the path through it, and the join of both.
    fn cold(
        &mut self,
        inst: &AInst,
        mut cursor: Cursor,
        state: &mut AllocatorState,
        masker: &mut Option<TailMasker>,
    ) -> Result<Cursor, CheckError> {
        let AInst::Cold { id, condition, body } = inst else { return Ok(cursor) };
        let origin = self.advance(&mut cursor, *id).map_err(|f| self.error(f, inst, None))?;
        let MInst::Cold { condition: want, body: wanted, parameters } = origin else {
            return Err(self.error(AllocationMistake::Mismatch("kind"), inst, Some(origin)));
        };
        if condition != want {
            return Err(self.error(AllocationMistake::Mismatch("condition"), inst, Some(origin)));
        }
        let mut cold = state.clone();
        let mut cold_masker = masker.as_mut().map(|masker| masker.enter_cold());
        let start = Cursor { index: id.index, cold: Some(0) };
        let end = self.sequence(body, start, &mut cold, &mut cold_masker)?;
        if end.cold != Some(wanted.len() as u32) {
            let failure = AllocationMistake::OutOfOrder { expected: Some(end) };
            return Err(self.error(failure, inst, Some(origin)));
        }
        let edges = |value: fn(&crate::inst::JoinParameter) -> VReg| -> SmallVec<[(VReg, VReg); 8]> {
            parameters.iter().map(|p| (p.parameter, value(p))).collect()
        };
        state.pass(&edges(|p| p.inline));
        cold.pass(&edges(|p| p.cold));
        state.meet(&cold);
        Ok(cursor)
    }

    fn any_loop(
        &mut self,
        inst: &AInst,
        mut cursor: Cursor,
        state: &mut AllocatorState,
    ) -> Result<Cursor, CheckError> {
        let (AInst::Loop { id, body } | AInst::TailLoop { id, body, .. }) = inst else { return Ok(cursor) };
        let origin = self.advance(&mut cursor, *id).map_err(|f| self.error(f, inst, None))?;
        let MInst::Loop { parameters, end, tail } = origin else {
            return Err(self.error(AllocationMistake::Mismatch("kind"), inst, Some(origin)));
        };
        let entry: SmallVec<[(VReg, VReg); 2]> =
            parameters.iter().map(|p| (p.parameter, p.initial)).collect();
        state.pass(&entry);
        let after = match (inst, tail) {
            (AInst::Loop { .. }, None) => self.plain_loop(body, cursor, state)?,
            (AInst::TailLoop { back, .. }, Some(tail)) => {
                let after = self.tail_loop(inst, (parameters, tail), cursor, state)?;
                if after != *back {
                    let failure = AllocationMistake::OutOfOrder { expected: Some(after) };
                    return Err(self.error(failure, inst, Some(origin)));
                }
                InstId { index: after.index + 1, cold: None }
            }
            _ => return Err(self.error(AllocationMistake::Mismatch("kind of loop"), inst, Some(origin))),
        };
        match after.index == end + 1 {
            true => Ok(after),
            false => {
                Err(self.error(AllocationMistake::OutOfOrder { expected: Some(after) }, inst, Some(origin)))
            }
        }
    }

    /// Walks a loop until the state at its head no longer changes. `state` becomes the state after the loop.
    fn plain_loop(
        &mut self,
        body: &[AInst],
        first: Cursor,
        state: &mut AllocatorState,
    ) -> Result<Cursor, CheckError> {
        let mut head = state.clone();
        loop {
            self.loops.push(EnteredLoop { head: first.index - 1, backs: Vec::new() });
            let mut at = head.clone();
            let end = self.sequence(body, first, &mut at, &mut None)?;
            let backs = self.loops.pop().map_or(Vec::new(), |open| open.backs);
            let mut met = head.clone();
            backs.iter().for_each(|back| met.meet(back));
            if met == head {
                *state = at;
                return Ok(end);
            }
            head = met;
        }
    }

    /// Checks a branch back: its moves must put the next values of the loop's parameters into their registers. `state` is not
    /// changed: it remains the state on the path that leaves the loop.
    fn back(
        &mut self,
        id: InstId,
        condition: Option<crate::inst::Condition>,
        moves: &[RegMove],
        state: &AllocatorState,
    ) -> Result<(), AllocationMistake> {
        let Some(MInst::Back { head, condition: want, values }) = self.origin(id) else {
            return Err(AllocationMistake::Mismatch("kind"));
        };
        if condition.is_some_and(|condition| condition != *want) {
            return Err(AllocationMistake::Mismatch("condition"));
        }
        let Some(MInst::Loop { parameters, .. }) = self.func.insts.get(*head as usize) else {
            return Err(AllocationMistake::Mismatch("loop head"));
        };
        let mut taken = state.clone();
        moves.iter().try_for_each(|m| self.apply(m, &mut taken))?;
        let edges: SmallVec<[(VReg, VReg); 2]> =
            parameters.iter().map(|p| p.parameter).zip(values.iter().copied()).collect();
        taken.pass(&edges);
        match self.loops.last_mut() {
            Some(open) if open.head == *head => open.backs.push(taken),
            _ => return Err(AllocationMistake::Mismatch("loop head")),
        }
        Ok(())
    }

    /// Checks a tail loop: the body for whole blocks, then the same body with masks for the remaining elements.
    fn tail_loop(
        &mut self,
        inst: &AInst,
        (parameters, tail): (&[LoopParameter], &TailLoop),
        first: Cursor,
        state: &mut AllocatorState,
    ) -> Result<Cursor, CheckError> {
        let AInst::TailLoop { body, back, index, columns, lanes, .. } = inst else { return Ok(first) };
        let origin = self.origin(*back);
        let fail = |checker: &Self, failure| checker.error(failure, inst, origin);
        let (Some(MInst::Back { values, .. }), Some(parameter)) = (origin, parameters.first()) else {
            return Err(fail(self, AllocationMistake::Mismatch("branch back")));
        };
        if *lanes != tail.lanes {
            return Err(fail(self, AllocationMistake::Mismatch("number of lanes")));
        }
        // Before and after its body, a tail loop compares the element index with the number of columns, and
        // overwrites the scratch register.
        let around = |checker: &Self, state: &mut AllocatorState, at: VReg| -> Result<(), CheckError> {
            let check = OperationCheck { func: checker.func, state, loaded: None };
            let index = check.register(at, PReg::general(*index));
            let columns = match *columns {
                POperand::Reg(register) => check.register(tail.columns, register),
                POperand::Mem(PAddress { base: PBase::Spill(slot), index: None, offset: 0, .. }) => {
                    state.read(Allocation::Slot(slot), tail.columns)
                }
                POperand::Mem(_) => Err(AllocationMistake::Mismatch("number of columns")),
            };
            index.and(columns).map_err(|failure| fail(checker, failure))?;
            state.write(Allocation::Reg(SCRATCH), Values::new());
            Ok(())
        };
        let mut head = state.clone();
        around(self, &mut head, parameter.parameter)?;
        let whole = loop {
            self.loops.push(EnteredLoop { head: first.index - 1, backs: Vec::new() });
            let mut at = head.clone();
            self.sequence(body, first, &mut at, &mut None)?;
            around(self, &mut at, values[0])?;
            self.back(*back, None, &[], &at).map_err(|failure| fail(self, failure))?;
            let backs = self.loops.pop().map_or(Vec::new(), |open| open.backs);
            let mut met = head.clone();
            backs.iter().for_each(|back| met.meet(back));
            if met == head {
                break at;
            }
            head = met;
        };
        let end = self.sequence(body, first, &mut head, &mut Some(TailMasker::new()))?;
        *state = head;
        state.meet(&whole);
        Ok(end)
    }
}
