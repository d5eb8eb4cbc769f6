//! A trial run of both executors, used when the estimates are too close to decide which is faster.
//!
//! It times a few runs of each executor, alternately, and compares the shortest. Where runs are long and the interpreter is far
//! slower, as it may be for loops of elements, a run of each is enough. That machine code is far slower takes a second run of it: a
//! run that something else has slowed must not rule it out. A trial affects speed, never bits.

use std::time::Duration;

use broadloom_ir::tuning::trials::{FAR, LONG};

/// The number of runs of each executor. The first is for warming up and does not count.
const RUNS: u8 = 4;

/// The shortest run of each executor in a trial, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub interpreted: f64,
    pub compiled: f64,
}

/// The measurements of one stage, for the interpreter and for machine code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    runs: [u8; 2],
    /// The first run of each executor, in nanoseconds.
    first: [f64; 2],
    /// The shortest of the other runs of each executor, in nanoseconds.
    best: [f64; 2],
}

impl Default for Trial {
    fn default() -> Trial {
        Trial { runs: [0; 2], first: [f64::INFINITY; 2], best: [f64::INFINITY; 2] }
    }
}

impl Trial {
    /// The number of runs of both executors.
    pub(crate) const RUNS: u8 = 2 * RUNS;

    /// The number of runs so far.
    pub(crate) fn timed(&self) -> u8 {
        self.runs.iter().sum()
    }

    /// Whether machine code is to run next; `None` once the trial is over.
    pub(crate) fn turn(&self) -> Option<bool> {
        let is_open = self.early().is_none() && self.runs.iter().any(|&runs| runs < RUNS);
        is_open.then_some(self.runs[1] <= self.runs[0])
    }

    /// The shortest run of each executor; `None` until the trial is over.
    pub(crate) fn result(&self) -> Option<Measured> {
        let [interpreted, compiled] = self.best;
        self.early().or_else(|| self.turn().is_none().then_some(Measured { interpreted, compiled }))
    }

    /// The shortest run of each executor, if they are long and so far apart that the trial is over.
    fn early(&self) -> Option<Measured> {
        let [interpreted, compiled] = [0, 1].map(|who| self.first[who].min(self.best[who]));
        let (shorter, longer) = (interpreted.min(compiled), interpreted.max(compiled));
        let is_far = shorter >= LONG && longer.is_finite() && longer > FAR * shorter;
        let is_confirmed = interpreted > compiled || self.runs[1] > 1;
        (is_far && is_confirmed).then_some(Measured { interpreted, compiled })
    }

    /// Records the time of a run.
    pub(crate) fn note(&mut self, jit: bool, time: Duration) {
        let who = usize::from(jit);
        if self.runs[who] >= RUNS {
            return;
        }
        let time = time.as_nanos() as f64;
        match self.runs[who] {
            0 => self.first[who] = time,
            _ => self.best[who] = self.best[who].min(time),
        }
        self.runs[who] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_that_are_far_apart_end_a_trial() {
        let runs = |times: &[u64]| {
            let mut trial = Trial::default();
            times.iter().for_each(|&time| {
                let turn = trial.turn().expect("the trial goes on");
                trial.note(turn, Duration::from_micros(time));
            });
            (trial.turn(), trial.result())
        };
        assert_eq!(runs(&[2000, 7000]), (None, Some(Measured { interpreted: 7e6, compiled: 2e6 })));
        assert_eq!(runs(&[7000, 2000]), (Some(true), None), "machine code was slowed, maybe");
        assert_eq!(runs(&[7000, 2000, 2500]), (Some(false), None), "it was");
        assert_eq!(runs(&[7000, 2000, 8000]), (None, Some(Measured { interpreted: 2e6, compiled: 7e6 })));
        assert_eq!(runs(&[2000]), (Some(false), None), "one executor has not run");
        assert_eq!(runs(&[2000, 5000]), (Some(true), None), "not far apart");
        assert_eq!(runs(&[900, 7000]), (Some(true), None), "a short run");
        // A later run decides too.
        assert_eq!(runs(&[3000, 7000, 2000]), (None, Some(Measured { interpreted: 7e6, compiled: 2e6 })));
    }

    #[test]
    fn both_take_turns_and_the_first_run_of_each_does_not_count() {
        let mut trial = Trial::default();
        let mut turns = Vec::new();
        while let Some(jit) = trial.turn() {
            turns.push(jit);
            assert_eq!(trial.result(), None);
            // The first run of each executor is the shortest, but does not count. The shortest run that counts is the second one.
            let time = [1, 20, 30, 40][turns.iter().filter(|t| **t == jit).count() - 1];
            trial.note(jit, Duration::from_nanos(if jit { time } else { 2 * time }));
        }
        assert_eq!(turns, [true, false, true, false, true, false, true, false]);
        assert_eq!(trial.result(), Some(Measured { interpreted: 40.0, compiled: 20.0 }));
        // The trial is over, so the run is ignored.
        trial.note(true, Duration::from_nanos(5));
        assert_eq!(trial.result(), Some(Measured { interpreted: 40.0, compiled: 20.0 }));
    }
}
