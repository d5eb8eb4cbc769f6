//! Allocates registers for out-of-line code: rarely executed code that is placed after the function's main code.
//!
//! When out-of-line code ends, every live value is back in the register that holds it on the inline path, so the inline
//! path pays only for the branch.

use smallvec::SmallVec;

use crate::allocate::liveness::NEVER;
use crate::allocate::registers::Snapshot;
use crate::allocate::state::{Allocator, Wanted};
use crate::allocated::{AInst, PReg};
use crate::error::{Unsupported, refuse};
use crate::inst::{Condition, JoinParameter, MInst, VReg};

/// The registers of a join's parameters. A join is the point where out-of-line code returns to the inline path.
struct Join {
    targets: SmallVec<[(VReg, PReg); 8]>,
    /// The inline values whose registers the join's parameters take over.
    taken: SmallVec<[VReg; 8]>,
}

impl Join {
    fn has(&self, reg: VReg) -> bool {
        self.targets.iter().any(|&(parameter, _)| parameter == reg)
    }
}

impl Allocator<'_> {
    pub(super) fn cold(
        &mut self,
        condition: Condition,
        body: &[MInst],
        parameters: &[JoinParameter],
    ) -> Result<(), Unsupported> {
        let join = self.join(parameters)?;
        let before = self.registers.snapshot();
        let inline = self.begin_body();
        self.slots.enter_cold();
        for (i, inst) in body.iter().enumerate() {
            self.begin_cold(i);
            match inst {
                MInst::Op(inst) => self.operation(inst)?,
                MInst::Call { target, arguments } => {
                    self.cold_call((*target, arguments), &body[i + 1..], parameters, &join)?;
                }
                _ => return refuse("a branch in out-of-line code"),
            }
        }
        self.end_cold();
        self.restore(&before, parameters, &join)?;
        let body = self.end_body(inline);
        self.slots.leave_cold();
        self.registers.restore(before);
        self.emit(AInst::Cold { id: self.id(), condition, body });
        for &reg in &join.taken {
            self.release(reg);
        }
        for &(parameter, register) in &join.targets {
            if self.register_of(parameter).is_none() {
                self.registers.put(register, parameter);
            }
        }
        // Free the registers of the values that nothing after the out-of-line code reads.
        self.release_dead();
        Ok(())
    }

    /// Chooses the registers of the join's parameters on the inline path. A parameter takes over the register of its
    /// inline value if that value is dead after the join, and otherwise gets a copy in another register.
    fn join(&mut self, parameters: &[JoinParameter]) -> Result<Join, Unsupported> {
        let mut join = Join { targets: SmallVec::new(), taken: SmallVec::new() };
        for &JoinParameter { parameter, inline, .. } in parameters {
            let class = self.func.class(parameter);
            let same_class = join.targets.iter().filter(|(_, to)| to.class == class);
            let held = same_class.fold(0u32, |held, (_, to)| held | 1 << to.number);
            let at = match self.register_of(inline) {
                Some(at) => at,
                None => {
                    let to = self.room_for(class, held)?;
                    self.fetch(to, inline)?;
                    self.registers.put(to, inline);
                    to
                }
            };
            if self.is_dead(inline) && !join.taken.contains(&inline) && held >> at.number & 1 == 0 {
                join.taken.push(inline);
                join.targets.push((parameter, at));
            } else {
                let to = self.room_for(class, held | 1 << at.number)?;
                self.copy(to, at);
                self.registers.put(to, parameter);
                join.targets.push((parameter, to));
            }
        }
        Ok(join)
    }

    /// Allocates registers for a call in out-of-line code. A value is live across the call if the inline path or the
    /// rest of the out-of-line code reads it.
    fn cold_call(
        &mut self,
        (target, arguments): (VReg, &[VReg]),
        rest: &[MInst],
        parameters: &[JoinParameter],
        join: &Join,
    ) -> Result<(), Unsupported> {
        let mut later: SmallVec<[VReg; 16]> = parameters.iter().map(|p| p.cold).collect();
        rest.iter().for_each(|inst| inst.each_read(&mut |reg| later.push(reg)));
        self.call_with(target, arguments, |allocator, reg| {
            let is_inline = allocator.next_use(reg) != NEVER || allocator.registers.is_pinned(reg);
            is_inline && !join.has(reg) || later.contains(&reg)
        })
    }

    /// Emits the moves that end out-of-line code: every live value goes back to the register that holds it on the
    /// inline path, and the join's parameters go to their registers.
    fn restore(
        &mut self,
        before: &Snapshot,
        parameters: &[JoinParameter],
        join: &Join,
    ) -> Result<(), Unsupported> {
        let mut wanted: SmallVec<[Wanted; 32]> = SmallVec::new();
        for (to, reg, is_pinned) in before.held() {
            let is_live = self.next_use(reg) != NEVER || is_pinned;
            if is_live && !join.has(reg) && self.register_of(reg) != Some(to) {
                wanted.push(Wanted { to, reg });
            }
        }
        let targets = join.targets.iter().zip(parameters);
        wanted.extend(targets.map(|(&(_, to), p)| Wanted { to, reg: p.cold }));
        for m in self.parallel_moves(&wanted)? {
            self.emit(AInst::Move(m));
        }
        Ok(())
    }
}
