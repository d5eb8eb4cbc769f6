//! Chooses the executor of a stage: the state machine behind [`Executor::Auto`].
//!
//! ```text
//!   Interpreting ──── regret > compile, or estimates close and ────▶ Compiling
//!    │        │       compile < 5 % of the time spent                 │
//!    │        │                                                       │ (the next run)
//!    │        └──── another stage had the kernel compiled ────┐       │
//!    │                                                        ▼       ▼
//!    │                                               machine code is there
//!    │ interpreter estimated                          │        │        │
//!    │ faster by far           interpreter faster     │ close  │        │ machine code faster
//!    │                         by far                 ▼        │        │ by far
//!    │                    ┌──────────────────────── Trial ◀────┘        │
//!    │                    │ interpreter measured     │ machine code      │
//!    ▼                    ▼ faster                   ▼ measured faster   ▼
//!   InterpreterOnly ◀─────┘                          └──────────────▶ Compiled
//! ```
//!
//! Each stage has a [`State`] for each vector width and thread mode, since only times of one width and mode are comparable; the
//! [`Ledger`] is common to all of them. A run begins with [`State::next`], the only place where states change, which depends only
//! on the costs of the [model](super::cost). The executor that the caller requests, and reasons why nothing can be compiled, are
//! handled before that step ([`choose`]) and change no state. The choice affects speed, never bits.

use std::fmt;

use crate::engine::cost::RunCost;
use crate::engine::options::Executor;
use crate::engine::trial::{Measured, Trial};
use broadloom_ir::figures::time;
use broadloom_ir::tuning::executors::CLOSE;

/// The compile budget: if only a trial can tell whether machine code pays, compiling may take this fraction of the time spent
/// interpreting.
const COMPILE_BUDGET: f64 = 0.05;

/// The state of the executor choice of a stage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum State {
    /// There is no machine code, and runs add their cost to the ledger.
    #[default]
    Interpreting,
    /// There is no machine code, and this run compiles it.
    Compiling(Reason),
    /// There is machine code, and runs of both executors are timed alternately.
    Trial(Trial),
    /// Machine code runs as long as it is kept: it was measured to be faster, or is estimated to be faster.
    Compiled(Option<Measured>),
    /// The interpreter runs: it was measured to be faster, or is estimated to be faster.
    InterpreterOnly(Option<Measured>),
}

/// The reason why a kernel is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reason {
    /// The regret exceeds the cost of compiling.
    Pays,
    /// The estimates are too close to decide, and compiling is within the budget for a trial.
    Trial,
}

/// The accumulated cost of interpreting a stage, in nanoseconds: the time of all runs, and the part of it that machine code would
/// have saved (the regret).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ledger {
    pub spent: f64,
    pub regret: f64,
}

impl Ledger {
    /// Adds a run on the interpreter.
    pub(crate) fn add(&mut self, cost: &RunCost) {
        self.spent += cost.interpreted;
        self.regret += cost.regret();
    }

    /// Adds the time by which a run on the interpreter took longer than estimated, because its loops repeated more often.
    pub(crate) fn learn(&mut self, cost: &RunCost, took: f64) {
        let more = (took - cost.interpreted).max(0.0);
        self.spent += more;
        self.regret += more * (cost.regret() / cost.interpreted.max(1.0));
    }
}

/// The facts that the next state depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub cost: RunCost,
    pub ledger: Ledger,
    /// Whether machine code exists.
    pub has_code: bool,
}

impl State {
    /// The state of the run that begins now.
    pub(crate) fn next(self, facts: &Facts) -> State {
        let Facts { cost, ledger, has_code } = facts;
        let (close, interpreter_wins) = (cost.is_close(), cost.interpreted < cost.compiled);
        match (self, has_code) {
            (State::InterpreterOnly(_), _) | (State::Compiled(_), true) => self,
            (State::Trial(trial), true) => match trial.result() {
                None => self,
                Some(times) if times.compiled <= times.interpreted => State::Compiled(Some(times)),
                Some(times) => State::InterpreterOnly(Some(times)),
            },
            (_, true) if close => State::Trial(Trial::default()),
            (_, true) if interpreter_wins => State::InterpreterOnly(None),
            (_, true) => State::Compiled(None),
            (_, false) if close && ledger.spent * COMPILE_BUDGET > cost.compile => {
                State::Compiling(Reason::Trial)
            }
            (_, false) if interpreter_wins && close => State::Interpreting,
            (_, false) if interpreter_wins => State::InterpreterOnly(None),
            (_, false) if ledger.regret + cost.regret() > cost.compile => State::Compiling(Reason::Pays),
            (_, false) => State::Interpreting,
        }
    }

    /// Whether machine code runs in this state.
    fn is_compiled(&self) -> bool {
        match self {
            State::Trial(trial) => trial.turn().unwrap_or(true),
            State::Compiling(_) | State::Compiled(_) => true,
            State::Interpreting | State::InterpreterOnly(_) => false,
        }
    }

    /// The state as one byte, which other threads read without a lock. [`State::of_tag`] converts it back.
    pub(crate) fn tag(&self) -> u8 {
        match self {
            State::Interpreting | State::Compiling(_) => 0,
            State::Trial(_) => State::TRIAL,
            State::Compiled(_) => State::COMPILED,
            State::InterpreterOnly(_) => 3,
        }
    }

    /// The tags of the states that a short call has to distinguish.
    pub(crate) const TRIAL: u8 = 1;
    pub(crate) const COMPILED: u8 = 2;

    /// The state with this tag, without measurements.
    pub(crate) fn of_tag(tag: u8) -> State {
        match tag {
            State::TRIAL => State::Trial(Trial::default()),
            State::COMPILED => State::Compiled(None),
            3 => State::InterpreterOnly(None),
            _ => State::Interpreting,
        }
    }
}

/// The chosen executor, with the reason.
#[derive(Clone, Copy)]
pub(crate) struct Choice<'a> {
    /// True for machine code, false for the interpreter.
    pub jit: bool,
    pub why: Why<'a>,
    pub cost: RunCost,
    /// The stage's state in this run.
    pub state: State,
}

impl Choice<'_> {
    /// The estimated nanoseconds of the run on one thread.
    pub(crate) fn time(&self) -> f64 {
        if self.jit { self.cost.compiled } else { self.cost.interpreted }
    }
}

/// Chooses the executor. The interpreter runs if the caller requests it, or if an obstacle excludes machine code. Without an
/// obstacle, machine code runs if the caller requests it; under [`Executor::Auto`] the next state decides.
pub(crate) fn choose<'a>(
    asked: Executor,
    obstacle: Option<Why<'a>>,
    state: State,
    facts: &Facts,
) -> Choice<'a> {
    let cost = facts.cost;
    let (jit, why, state) = match (asked, obstacle) {
        (Executor::Interp, _) => (false, Why::Asked, state),
        (_, Some(obstacle)) => (false, obstacle, state),
        (Executor::Jit, None) => (true, Why::Asked, state),
        (Executor::Auto, None) => {
            let state = state.next(facts);
            (state.is_compiled(), Why::of(&state, facts), state)
        }
    };
    Choice { jit, why, cost, state }
}

/// The reason for a choice, formatted only on request.
#[derive(Clone, Copy)]
pub(crate) enum Why<'a> {
    /// The caller requested the executor.
    Asked,
    /// There is no compiler.
    NoCompiler(&'a str),
    /// The kernel has more vector instructions (`cost`) than the options allow to be compiled (`limit`).
    TooLong { cost: usize, limit: usize },
    /// No target has machine code for the kernel.
    Never(&'static str),
    /// Machine code exists.
    Compiled,
    /// The interpreter's loops are faster than machine code for these ops.
    Faster,
    /// The regret exceeds the cost of compiling. Both are in nanoseconds.
    Pays { compile: f64, regret: f64 },
    /// The regret does not exceed the cost of compiling. Both are in nanoseconds.
    DoesNotPay { compile: f64, regret: f64 },
    /// Both executors were measured, and the faster one runs.
    Measured(Measured),
    /// Both executors are being measured; `timed` runs have been timed so far.
    Trying { timed: u8 },
}

impl Why<'_> {
    /// The reason for the executor of a run in this state.
    fn of(state: &State, facts: &Facts) -> Why<'static> {
        let RunCost { interpreted, compiled, compile } = facts.cost;
        let regret = facts.ledger.regret + facts.cost.regret();
        match *state {
            State::Compiled(Some(times)) | State::InterpreterOnly(Some(times)) => Why::Measured(times),
            State::Trial(trial) => Why::Trying { timed: trial.timed() },
            State::Compiling(Reason::Trial) => Why::Trying { timed: 0 },
            State::Compiling(Reason::Pays) => Why::Pays { compile, regret },
            State::Compiled(None) => Why::Compiled,
            State::InterpreterOnly(None) => Why::Faster,
            State::Interpreting if interpreted < compiled => Why::Faster,
            State::Interpreting => Why::DoesNotPay { compile, regret },
        }
    }
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Why::Asked => f.write_str("as asked"),
            Why::NoCompiler(why) => f.write_str(why),
            Why::TooLong { cost, limit } => {
                write!(
                    f,
                    "its some {cost} vector instructions are more than are compiled ({limit}, the option max_compiled_cost)"
                )
            }
            Why::Never(why) => f.write_str(why),
            Why::Compiled => f.write_str("its code is compiled already"),
            Why::Faster => f.write_str("its precompiled loops are faster here than machine code"),
            Why::Pays { compile, regret } => write!(
                f,
                "compiling takes about {}, and machine code saves about {} in the runs up to this one",
                time(compile),
                time(regret)
            ),
            Why::DoesNotPay { compile, regret } => write!(
                f,
                "compiling takes about {}, and machine code would save only about {} in the runs up to this one",
                time(compile),
                time(regret)
            ),
            // The times are left out, since they differ in each process.
            Why::Measured(times) if times.compiled <= times.interpreted => {
                f.write_str("runs of both were timed, and machine code was faster")
            }
            Why::Measured(_) => f.write_str("runs of both were timed, and the interpreter was faster"),
            Why::Trying { timed } => write!(
                f,
                "estimates within a factor of {CLOSE} of each other cannot tell which is faster, so runs of both are timed in \
                 turns, {timed} of {} so far, and then the faster one is kept",
                Trial::RUNS
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The facts of a run of 1000 elements, for executors that take these numbers of nanoseconds per element.
    fn facts(compiled: f64, interpreted: f64) -> Facts {
        let cost = RunCost { interpreted: 1e3 * interpreted, compiled: 1e3 * compiled, compile: 100_000.0 };
        Facts { cost, ledger: Ledger::default(), has_code: false }
    }

    fn auto(state: State, facts: &Facts) -> (bool, String) {
        let choice = choose(Executor::Auto, None, state, facts);
        (choice.jit, choice.why.to_string())
    }

    #[test]
    fn estimates_that_are_far_apart_decide() {
        let slow = facts(1.0, 50.0);
        let start = State::default();
        assert!(!auto(start, &slow).0, "compiling does not pay yet");
        let ledger = Ledger { regret: 80_000.0, ..Ledger::default() };
        assert!(auto(start, &Facts { ledger, ..slow }).0, "it does by now");
        assert!(auto(start, &Facts { has_code: true, ..slow }).0, "it costs nothing");
        let ledger = Ledger { spent: 1e12, regret: 1e12 };
        let slow_code = Facts { has_code: true, ledger, ..facts(50.0, 1.0) };
        assert_eq!(auto(start, &slow_code), (false, Why::Faster.to_string()));
    }

    #[test]
    fn estimates_that_are_close_are_tried_when_compiling_is_little_of_what_was_spent() {
        let close = |spent: f64| Facts { ledger: Ledger { spent, regret: 0.0 }, ..facts(2.0, 1.5) };
        assert_eq!(auto(State::default(), &close(1_900_000.0)), (false, Why::Faster.to_string()));
        assert_eq!(auto(State::default(), &close(2_100_000.0)), (true, Why::Trying { timed: 0 }.to_string()));
    }

    /// The accumulated regret alone leads to machine code, as soon as it exceeds the time to compile.
    #[test]
    fn regret_adds_up_to_compiling() {
        let (mut state, mut facts, mut runs) = (State::default(), facts(1.0, 21.0), 0);
        while runs < 100 {
            let choice = choose(Executor::Auto, None, state, &facts);
            state = choice.state;
            if choice.jit {
                break;
            }
            facts.ledger.add(&facts.cost.clone());
            runs += 1;
        }
        assert_eq!((runs, matches!(state, State::Compiling(Reason::Pays))), (5, true));
        facts.has_code = true;
        state = state.next(&facts);
        assert!(matches!(state, State::Compiled(None)));
        // Evicted code is compiled again at once, since the regret still exceeds the time to compile.
        facts.has_code = false;
        assert!(matches!(state.next(&facts), State::Compiling(Reason::Pays)));
    }

    /// The executor that was measured to be faster runs from then on, whatever the estimates are.
    #[test]
    fn a_trial_lets_both_run_and_decides() {
        for (interpreted, compiled) in [(900, 1100), (1100, 900)] {
            let facts = Facts { has_code: true, ..facts(2.0, 1.5) };
            let (mut state, mut ran) = (State::default(), [0; 2]);
            for timed in 0..8 {
                let choice = choose(Executor::Auto, None, state, &facts);
                assert_eq!(
                    choice.why.to_string(),
                    format!(
                        "estimates within a factor of 4 of each other cannot tell which is faster, so runs of both are timed \
                         in turns, {timed} of 8 so far, and then the faster one is kept"
                    )
                );
                ran[usize::from(choice.jit)] += 1;
                state = choice.state;
                let State::Trial(trial) = &mut state else { panic!("{state:?}") };
                trial.note(choice.jit, Duration::from_nanos(if choice.jit { compiled } else { interpreted }));
            }
            assert_eq!(ran, [4, 4]);
            let (jit, why) = auto(state, &facts);
            assert_eq!(jit, compiled < interpreted, "{why}");
            let winner = if jit { "machine code" } else { "the interpreter" };
            assert_eq!(why, format!("runs of both were timed, and {winner} was faster"));
            let settled = state.next(&facts);
            assert_eq!((settled.tag(), settled.next(&facts).tag()), (if jit { 2 } else { 3 }, settled.tag()));
        }
    }

    /// A state that another thread restores from the tag leads to the same executor.
    #[test]
    fn tags_tell_the_executor() {
        let times = Measured { interpreted: 1.0, compiled: 2.0 };
        for state in [
            State::Interpreting,
            State::Trial(Trial::default()),
            State::Compiled(Some(times)),
            State::InterpreterOnly(Some(times)),
        ] {
            assert_eq!(State::of_tag(state.tag()).is_compiled(), state.is_compiled(), "{state:?}");
        }
    }

    #[test]
    fn what_the_caller_asks_for_is_not_weighed() {
        let slow_code = Facts { has_code: true, ..facts(50.0, 1.0) };
        let runs = |asked, obstacle| choose(asked, obstacle, State::default(), &slow_code).jit;
        assert!(runs(Executor::Jit, None));
        assert!(!choose(Executor::Interp, None, State::default(), &facts(1.0, 50.0)).jit);
        assert!(!runs(Executor::Jit, Some(Why::TooLong { cost: 101, limit: 100 })));
        assert!(!runs(Executor::Jit, Some(Why::NoCompiler("none here"))));
    }
}
