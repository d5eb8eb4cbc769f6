//! Where values are read.
//!
//! In: a line. Out: for each value the steps that read it, in order. Must hold: what cold code reads is read at its step.

use crate::machine::{Inst, Line, Reg, Source, Step};

#[derive(Debug)]
pub struct Uses {
    /// Where the steps of each value begin.
    first: Vec<u32>,
    steps: Vec<u32>,
}

/// Calls `f` with every value that a step reads.
pub fn reads(step: &Step, f: &mut impl FnMut(Reg)) {
    match step {
        Step::Inst(inst) => inst.reads().for_each(f),
        Step::Call { target, arguments } => {
            if let Source::Reg(reg) = target {
                f(*reg);
            }
            arguments.iter().copied().for_each(f);
        }
        Step::Cold { steps, parameters, .. } => {
            for &(_, on_line, from_cold) in parameters {
                f(on_line);
                f(from_cold);
            }
            for step in steps {
                match step {
                    Step::Inst(inst) => inst.reads().for_each(&mut *f),
                    Step::Call { target, arguments } => {
                        if let Source::Reg(reg) = target {
                            f(*reg);
                        }
                        arguments.iter().copied().for_each(&mut *f);
                    }
                    _ => {}
                }
            }
        }
        Step::Loop { parameters, partial, .. } => {
            parameters.iter().for_each(|&(_, value)| f(value));
            if let Some(partial) = partial {
                f(partial.columns);
            }
        }
        Step::Back { values, .. } => values.iter().copied().for_each(f),
        Step::Return => {}
    }
}

/// Calls `f` with every value that a step sets.
pub fn sets(step: &Step, f: &mut impl FnMut(Reg)) {
    let mut of = |inst: &Inst| inst.def.into_iter().for_each(&mut *f);
    match step {
        Step::Inst(inst) => of(inst),
        Step::Cold { steps, parameters, .. } => {
            for step in steps {
                if let Step::Inst(inst) = step {
                    of(inst);
                }
            }
            parameters.iter().for_each(|&(param, _, _)| f(param));
        }
        Step::Loop { parameters, .. } => parameters.iter().for_each(|&(param, _)| f(param)),
        _ => {}
    }
}

impl Uses {
    pub fn of(line: &Line) -> Uses {
        let mut first = vec![0u32; line.kinds.len() + 1];
        // Counted in the place after, which becomes where the next begins.
        let each = |f: &mut dyn FnMut(Reg, u32)| {
            for (at, step) in line.steps.iter().enumerate() {
                reads(step, &mut |reg| f(reg, at as u32));
                // What a loop over parts compares with is read at its end, too.
                if let Step::Loop { partial: Some(partial), end, .. } = step {
                    f(partial.columns, *end);
                }
            }
        };
        each(&mut |reg, _| first[reg.index() + 1] += 1);
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut steps = vec![0; first.last().copied().unwrap_or(0) as usize];
        let mut fill = first.clone();
        each(&mut |reg, at| {
            let place = &mut fill[reg.index()];
            steps[*place as usize] = at;
            *place += 1;
        });
        let mut uses = Uses { first, steps };
        for i in 0..line.kinds.len() {
            let range = uses.first[i] as usize..uses.first[i + 1] as usize;
            uses.steps[range].sort_unstable();
        }
        uses
    }

    pub fn all(&self, reg: Reg) -> &[u32] {
        &self.steps[self.first[reg.index()] as usize..self.first[reg.index() + 1] as usize]
    }

    /// The first use after a step; the greatest number if there is none.
    pub fn after(&self, reg: Reg, at: u32) -> u32 {
        let all = self.all(reg);
        // Most have a few.
        let place = match all.len() {
            0..8 => all.iter().position(|&step| step > at).unwrap_or(all.len()),
            _ => all.partition_point(|&step| step <= at),
        };
        all.get(place).copied().unwrap_or(u32::MAX)
    }
}
