//! Trying both executors on a stage, where estimates are too close to choose by.
//!
//! In: how long the runs of a stage took. Out: who is to run next, and in the end who was faster. Must hold: it is
//! short (a few runs of each) and decides speed, never bits.

use std::time::Instant;

/// Runs of each executor; the first warms up and does not count.
const RUNS: u8 = 4;

/// What has been measured of one stage.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// With how many threads at most.
    threads: Option<usize>,
    /// Of the interpreter and of machine code: runs, and the shortest in nanoseconds.
    runs: [u8; 2],
    best: [f64; 2],
}

impl Trial {
    /// A trial of runs with a limit of threads: others are not comparable.
    pub fn new(threads: Option<usize>) -> Trial {
        Trial { threads, runs: [0; 2], best: [f64::INFINITY; 2] }
    }

    /// Whether machine code is to run next; none once both have.
    pub fn turn(&self) -> Option<bool> {
        self.runs.iter().any(|&runs| runs < RUNS).then_some(self.runs[1] <= self.runs[0])
    }

    /// The shortest runs of the interpreter and of machine code, in nanoseconds.
    pub fn result(&self) -> Option<(f64, f64)> {
        self.turn().is_none().then_some((self.best[0], self.best[1]))
    }

    /// Notes a run.
    pub fn note(&mut self, jit: bool, threads: Option<usize>, since: Instant) {
        let who = usize::from(jit);
        if threads != self.threads || self.runs[who] >= RUNS {
            return;
        }
        if self.runs[who] > 0 {
            self.best[who] = self.best[who].min(since.elapsed().as_nanos() as f64);
        }
        self.runs[who] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn both_take_turns_and_the_first_run_of_each_does_not_count() {
        let mut trial = Trial::new(Some(1));
        let ago =
            |ns| Instant::now().checked_sub(Duration::from_nanos(ns)).expect("the clock has run for a while");
        let mut turns = Vec::new();
        while let Some(jit) = trial.turn() {
            turns.push(jit);
            assert_eq!(trial.result(), None);
            // Runs with other threads say nothing about these.
            trial.note(jit, None, ago(1));
            // The second run of each is the shortest but for the first.
            let seconds = [1, 20, 30, 40][turns.iter().filter(|t| **t == jit).count() - 1];
            trial.note(jit, Some(1), ago(seconds * 1_000_000_000 * if jit { 1 } else { 2 }));
        }
        assert_eq!(turns, [true, false, true, false, true, false, true, false]);
        let (interp, jit) = trial.result().expect("done");
        assert!((40e9..41e9).contains(&interp) && (20e9..21e9).contains(&jit), "{interp} {jit}");
    }
}
