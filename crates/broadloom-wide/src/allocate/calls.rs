//! Allocates the registers of calls, and of the function's own parameters.

use smallvec::SmallVec;

use crate::allocate::liveness::NEVER;
use crate::allocate::state::{Allocator, Wanted};
use crate::allocated::{AInst, PReg, RegMove, SCRATCH};
use crate::error::{Unsupported, refuse};
use crate::inst::{RegClass, VReg};

impl Allocator<'_> {
    /// Records where the caller has put the function's parameters, and loads those that were passed on the stack.
    pub(super) fn enter(&mut self, parameters: &[VReg]) {
        let registers = self.convention.arguments();
        for (&reg, &number) in parameters.iter().zip(registers) {
            self.registers.put(PReg::general(number), reg);
        }
        for (index, &reg) in parameters.iter().enumerate().skip(registers.len()) {
            if let Some(to) = self.registers.free(RegClass::General, 0) {
                self.registers.put(PReg::general(to), reg);
                self.emit_move(RegMove::Argument { to, index: index as u32 });
            }
        }
    }

    /// Allocates registers for a call on the inline path, that is, outside of out-of-line code.
    pub(super) fn call(&mut self, target: VReg, arguments: &[VReg]) -> Result<(), Unsupported> {
        self.call_with(target, arguments, |allocator, reg| allocator.next_use(reg) != NEVER)?;
        self.release_dead();
        Ok(())
    }

    /// Allocates registers for a call. A register that the callee may change is spilled if its value is live after the
    /// call.
    pub(super) fn call_with(
        &mut self,
        target: VReg,
        arguments: &[VReg],
        is_live: impl Fn(&Self, VReg) -> bool,
    ) -> Result<(), Unsupported> {
        self.calls = true;
        let saved = self.convention.saved();
        let is_clobbered = |r: PReg| r.class != RegClass::General || saved >> r.number & 1 == 0;
        for class in RegClass::ALL {
            for (register, reg) in self.registers.held(class) {
                if is_clobbered(register) && is_live(self, reg) {
                    self.spill(reg);
                }
            }
        }
        // The scratch register holds no argument, so the target's address can go there.
        self.fetch(SCRATCH, target)?;
        let registers = self.convention.arguments();
        if arguments.len() > registers.len() {
            return refuse("a call with more arguments than registers");
        }
        let wanted: SmallVec<[Wanted; 6]> = arguments
            .iter()
            .zip(registers)
            .map(|(&reg, &number)| Wanted { to: PReg::general(number), reg })
            .collect();
        for m in self.parallel_moves(&wanted)? {
            self.emit(AInst::Move(m));
        }
        self.emit(AInst::Call { id: self.id() });
        for class in RegClass::ALL {
            for (register, _) in self.registers.held(class) {
                if is_clobbered(register) {
                    self.registers.take(register);
                }
            }
        }
        Ok(())
    }
}
