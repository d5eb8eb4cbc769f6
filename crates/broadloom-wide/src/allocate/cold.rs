//! Cold code, and calls.
//!
//! In: steps beside the line. Out: the same, around which everything that lives is saved and brought back. Must hold: the
//! line itself does nothing for it but the test.

use smallvec::SmallVec;

use crate::Unsupported;
use crate::allocate::Allocator;
use crate::allocate::file::SCRATCH;
use crate::allocate::moves::Move;
use crate::allocate::uses;
use crate::code::{Operand, Out, Place};
use crate::forms;
use crate::machine::{Class, Condition, Reg, Size, Source, Step};

impl Allocator<'_> {
    pub fn cold(
        &mut self,
        condition: Condition,
        steps: &[Step],
        parameters: &[(Reg, Reg, Reg)],
    ) -> Result<(), Unsupported> {
        // On the line a parameter is its value there, or a copy of that.
        let mut targets: SmallVec<[(Reg, Class, u8); 8]> = SmallVec::new();
        let mut taken: SmallVec<[Reg; 8]> = SmallVec::new();
        for &(param, on_line, _) in parameters {
            let class = self.class(param);
            let held = targets.iter().filter(|t| t.1 == class).fold(0u32, |held, t| held | 1 << t.2);
            let at = match self.files.place_of(on_line) {
                Some(at) => at,
                None => {
                    let to = self.room_for(class, held)?;
                    self.fetch(class, to, on_line);
                    self.files.put(class, to, on_line);
                    to
                }
            };
            if self.is_dead(on_line) && !taken.contains(&on_line) && held >> at & 1 == 0 {
                taken.push(on_line);
                targets.push((param, class, at));
            } else {
                let to = self.room_for(class, held | 1 << at)?;
                self.copy_register(class, to, at);
                self.files.put(class, to, param);
                targets.push((param, class, to));
            }
        }
        let before = self.files.files;
        let line = std::mem::take(&mut self.out);
        self.stored_in_cold = Some(Vec::new());
        for (i, step) in steps.iter().enumerate() {
            match step {
                Step::Inst(inst) => self.inst(inst)?,
                Step::Call { target, arguments } => {
                    let mut later: SmallVec<[Reg; 16]> = parameters.iter().map(|p| p.2).collect();
                    steps[i + 1..].iter().for_each(|step| uses::reads(step, &mut |reg| later.push(reg)));
                    let own = |reg: Reg| targets.iter().any(|t| t.0 == reg);
                    self.call_with(*target, arguments, |a, reg| {
                        (a.next_use(reg) != u32::MAX || a.files.is_pinned(reg)) && !own(reg)
                            || later.contains(&reg)
                    })?;
                }
                _ => return Err(Unsupported("a branch in cold code".into())),
            }
        }
        // Everything back to where the line has it.
        let mut back: SmallVec<[Move; 32]> = SmallVec::new();
        for class in [Class::General, Class::Vector, Class::Mask] {
            for (place, has) in before[class as usize].has.iter().enumerate() {
                let Some(reg) = *has else { continue };
                let pinned = before[class as usize].pinned >> place & 1 == 1;
                let needed = self.next_use(reg) != u32::MAX || pinned;
                if needed
                    && !targets.iter().any(|t| t.0 == reg)
                    && self.files.place_of(reg) != Some(place as u8)
                {
                    back.push(Move { class, to: place as u8, reg });
                }
            }
        }
        for (&(_, class, to), &(.., from_cold)) in targets.iter().zip(parameters) {
            back.push(Move { class, to, reg: from_cold });
        }
        self.moves(&back);
        let cold = std::mem::replace(&mut self.out, line);
        for reg in self.stored_in_cold.take().unwrap_or_default() {
            self.stored[reg.index()] = false;
        }
        self.files.turn_back(before);
        self.out.push(Out::Cold(condition, cold));
        for &reg in &taken {
            self.release(reg);
        }
        for &(param, class, at) in &targets {
            if self.files.place_of(param).is_none() {
                self.files.put(class, at, param);
            }
        }
        // What only the cold code and the test have read.
        self.release_dead();
        Ok(())
    }

    /// A call on the line.
    pub fn call(&mut self, target: Source, arguments: &[Reg]) -> Result<(), Unsupported> {
        self.call_with(target, arguments, |a, reg| a.next_use(reg) != u32::MAX)?;
        self.release_dead();
        Ok(())
    }

    fn call_with(
        &mut self,
        target: Source,
        arguments: &[Reg],
        lives: impl Fn(&Self, Reg) -> bool,
    ) -> Result<(), Unsupported> {
        self.calls = true;
        let saved = self.convention.saved();
        let clobbered = |class: Class, place: usize| class != Class::General || saved >> place & 1 == 0;
        for class in [Class::General, Class::Vector, Class::Mask] {
            for place in 0..32 {
                if let Some(reg) = self.files.files[class as usize].has[place]
                    && clobbered(class, place)
                    && lives(self, reg)
                {
                    self.store(reg);
                }
            }
        }
        // The target goes into the scratch register, which no argument is in.
        match target {
            Source::Reg(reg) => self.fetch(Class::General, SCRATCH, reg),
            Source::Mem(_) => return Err(Unsupported("a call through memory".into())),
        }
        let registers = self.convention.arguments();
        if arguments.len() > registers.len() {
            return Err(Unsupported("a call with more arguments than registers".into()));
        }
        let moves: SmallVec<[Move; 6]> = arguments
            .iter()
            .zip(registers)
            .map(|(&reg, &to)| Move { class: Class::General, to, reg })
            .collect();
        self.moves(&moves);
        self.emit(forms::VZEROUPPER, Size::X, &[], None);
        self.emit(forms::CALL, Size::X, &[Operand::In(Place::General(SCRATCH))], None);
        for class in [Class::General, Class::Vector, Class::Mask] {
            for place in 0..32 {
                if clobbered(class, place) {
                    self.files.take(class, place as u8);
                }
            }
        }
        Ok(())
    }

    pub fn release_dead(&mut self) {
        for class in 0..3 {
            for place in 0..32 {
                if let Some(reg) = self.files.files[class].has[place]
                    && self.is_dead(reg)
                {
                    self.release(reg);
                }
            }
        }
    }

    /// The function's parameters are where the caller has put them.
    pub fn enter(&mut self, parameters: &[Reg]) {
        use crate::code::{Memory, MemoryBase};
        let registers = self.convention.arguments();
        let mut on_stack: SmallVec<[(usize, Reg); 2]> = SmallVec::new();
        for (i, &reg) in parameters.iter().enumerate() {
            match registers.get(i) {
                Some(&place) => self.files.put(Class::General, place, reg),
                None => on_stack.push((i, reg)),
            }
        }
        for (i, reg) in on_stack {
            if let Some(to) = self.files.free(Class::General, 0) {
                let memory = Memory::at(MemoryBase::Caller, 8 * i as i32);
                self.files.put(Class::General, to, reg);
                self.emit(forms::MOV, Size::X, &[Operand::In(Place::General(to)), Operand::At(memory)], None);
            }
        }
    }
}
