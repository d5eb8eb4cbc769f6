//! Measures one function for one dtype at all its points, and collects the findings in a [`Tally`].
//!
//! The precise reference confirms every reported error. The filter decides only results outside of its margin, and the reference
//! rechecks a sample of those points, so that an error in the filter would be noticed.

use std::sync::atomic::{AtomicU64, Ordering};

use broadloom_testkit::reference::{
    FloatFormat, Function, Judgement, cancels, disagreement, judge, judge_precisely,
};
use indicatif::ProgressBar;
use rayon::prelude::*;

use crate::exact;
use crate::executor::{Executor, Which};
use crate::filter::{Filter, MARGIN};
use crate::leaders::{self, Case, Leaders, OF_BLOCK};
use crate::points::{PointBlock, Points};
use broadloom_core::Accuracy;

/// One in this many points that the filter could decide is judged by the reference as well.
pub const AUDIT: usize = 1009;
/// The number of points of a run at which the quick reference is compared with the precise one.
const SAMPLE: usize = 200;

/// The findings at a set of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// The number of points.
    pub points: u64,
    /// The case with the maximum error.
    pub worst: Option<Case>,
    /// The number of results that are not the exact value rounded to nearest.
    pub not_nearest: u64,
    /// The number of results of the wrong class, among NaN, infinite and finite.
    pub wrong: u64,
    /// The first such result.
    pub first_wrong: Option<Case>,
    /// The number of adjacent results in the wrong order.
    pub breaks: u64,
    /// The first such case: the later one of the two results.
    pub first_break: Option<Case>,
    /// The number of points at which the filter's error exceeded its margin.
    pub unsound: u64,
}

impl Tally {
    /// Counts a judged result.
    pub fn note(&mut self, at: [f64; 2], got: f64, judgement: Judgement) {
        match judgement {
            Judgement::Wrong => {
                self.wrong += 1;
                self.first_wrong.get_or_insert(Case { at, got, ulps: f64::INFINITY });
            }
            Judgement::Off { ulps, nearest } => {
                self.not_nearest += u64::from(!nearest);
                let case = Case { at, got, ulps };
                self.worst = Some(self.worst.map_or(case, |worst| greater(worst, case)));
            }
        }
    }

    /// Merges two tallies.
    pub fn merge(mut self, other: Tally) -> Tally {
        self.points += other.points;
        self.not_nearest += other.not_nearest;
        self.wrong += other.wrong;
        self.breaks += other.breaks;
        self.unsound += other.unsound;
        self.first_wrong = earlier(self.first_wrong, other.first_wrong);
        self.first_break = earlier(self.first_break, other.first_break);
        self.worst = match (self.worst, other.worst) {
            (Some(a), Some(b)) => Some(greater(a, b)),
            (a, b) => a.or(b),
        };
        self
    }
}

/// The case with the larger error; for equal errors the one with the smaller argument.
fn greater(a: Case, b: Case) -> Case {
    let b_is = b.ulps.total_cmp(&a.ulps).then(a.order(&b)).is_gt();
    if b_is { b } else { a }
}

fn earlier(a: Option<Case>, b: Option<Case>) -> Option<Case> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.order(&a).is_lt() { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// A measurement of one function.
pub struct FunctionRun {
    /// The function.
    pub function: Function,
    /// The format.
    pub format: FloatFormat,
    /// The points.
    pub points: Points,
    /// The executor.
    pub which: Which,
    /// The variant of the function.
    pub accuracy: Accuracy,
}

/// The findings of a run for each kind of points.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// A tally for each kind. There is a single one if the points have no kinds.
    kinds: Vec<Tally>,
    /// For logaddexp: the points of any kind at which the terms cancel.
    cancelling: Tally,
    /// The worst pairs of each kind, followed by the worst of those at which terms cancel.
    pub leaders: Vec<Leaders>,
}

impl Findings {
    /// Empty findings for this number of kinds.
    pub fn of(kinds: usize) -> Findings {
        let kinds = kinds.max(1);
        Findings {
            kinds: vec![Tally::default(); kinds],
            cancelling: Tally::default(),
            leaders: vec![Leaders::default(); kinds + 1],
        }
    }

    /// Merges the findings of two runs.
    pub fn merge(self, other: Findings) -> Findings {
        Findings {
            kinds: self.kinds.into_iter().zip(other.kinds).map(|(a, b)| a.merge(b)).collect(),
            cancelling: self.cancelling.merge(other.cancelling),
            leaders: leaders::merge(self.leaders, other.leaders),
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct MeasuredRun {
    /// All points except those in `cancelling`.
    pub main: Tally,
    /// The points of `main` by kind; empty if the points have no kinds.
    pub kinds: Vec<(&'static str, Tally)>,
    /// For logaddexp: the points at which the terms cancel.
    pub cancelling: Tally,
    /// The number of cases with exact values.
    pub exact: u64,
    /// The first few exact cases that were missed.
    pub missed: Vec<Case>,
    /// The number of exact cases that were missed.
    pub missed_count: u64,
}

impl FunctionRun {
    /// Measures the function at all points of the run.
    ///
    /// # Errors
    /// If the executor is not available, or if the references contradict each other, so that no figure is reliable.
    pub fn measure(&self, progress: &ProgressBar) -> Result<MeasuredRun, String> {
        let executor = || Executor::new(self.which, self.accuracy, self.function, self.format.dtype);
        let (exact, missed) = self.exact_cases(&mut executor()?);
        let filter = Filter::new(self.function, self.format);
        let kinds = self.points.kinds();
        let mut found = self.measure_blocks(filter, progress, executor);
        self.climb(&mut found, filter, || executor().expect("prepared before"));
        let main = found.kinds.iter().cloned().fold(Tally::default(), Tally::merge);
        if main.unsound + found.cancelling.unsound > 0 {
            return Err(format!("{}: the filter was out at {} points", self.function.name(), main.unsound));
        }
        let named = kinds.into_iter().zip(found.kinds);
        let outcome = MeasuredRun {
            main: self.confirmed(main)?,
            kinds: named
                .map(|(name, tally)| Ok((name, self.confirmed(tally)?)))
                .collect::<Result<_, String>>()?,
            cancelling: self.confirmed(found.cancelling)?,
            exact,
            missed_count: missed.len() as u64,
            missed: missed.into_iter().take(5).collect(),
        };
        self.audit_reference()?;
        Ok(outcome)
    }

    /// Measures all blocks, in any order.
    fn measure_blocks(
        &self,
        filter: Option<Filter>,
        progress: &ProgressBar,
        executor: impl Fn() -> Result<Executor, String> + Sync,
    ) -> Findings {
        let kinds = self.points.kinds().len();
        // With a local search, no common record is used: the pairs that it selects must not depend on the
        // order in which blocks are measured.
        let record = (kinds == 0).then(|| AtomicU64::new(0));
        let is_verified = self.function.arity() == 1 && self.accuracy == Accuracy::Nearest;
        let columns = || vec![Vec::new(); self.function.arity()];
        let blocks = (0..self.points.blocks()).into_par_iter().map_init(
            || (executor().expect("prepared before"), columns(), Vec::new()),
            |(executor, columns, results), block| {
                let block = self.points.fill(block, columns);
                executor.run(columns, results);
                let found = match filter.filter(|_| is_verified) {
                    None => self.judge(&block, columns, results, filter, record.as_ref(), OF_BLOCK),
                    Some(filter) => {
                        let tally = self.verify(&block, columns, results, filter, executor);
                        Findings { kinds: vec![tally], ..Findings::of(1) }
                    }
                };
                progress.inc(results.len() as u64);
                found
            },
        );
        blocks.reduce(|| Findings::of(kinds), Findings::merge)
    }

    /// Judges the results of a block. The filter estimates the error of each result. The slow reference is
    /// skipped if this error is below the errors of the worst `leaders` results of the same kind, or below
    /// the `record` over all blocks.
    pub fn judge(
        &self,
        block: &PointBlock,
        columns: &[Vec<f64>],
        results: &[f64],
        filter: Option<Filter>,
        record: Option<&AtomicU64>,
        leaders: usize,
    ) -> Findings {
        let mut found = Findings::of(self.points.kinds().len());
        let direction = self.function.model().order.filter(|_| block.ordered);
        for i in block.overlap..results.len() {
            let at = [columns[0][i], columns.get(1).map_or(0.0, |column| column[i])];
            let got = results[i];
            let (tally, worst) = match self.points.kind(block, i) {
                _ if self.cancels(at) => (&mut found.cancelling, found.leaders.last_mut()),
                kind => (&mut found.kinds[kind], found.leaders.get_mut(kind)),
            };
            let worst = worst.expect("leaders of each kind");
            tally.points += 1;
            if let Some(direction) = direction
                && i > 0
                && results[i].partial_cmp(&results[i - 1]) == Some(direction.reverse())
            {
                tally.breaks += 1;
                tally.first_break.get_or_insert(Case { at, got, ulps: 0.0 });
            }
            let claimed = filter.and_then(|filter| filter.error(at, got));
            if let Some(claimed) = claimed {
                let bar = record.map_or_else(
                    || worst.bar(leaders),
                    |record| f64::from_bits(record.load(Ordering::Relaxed)),
                );
                let beaten = claimed + MARGIN < bar || claimed == 0.0 && bar >= 0.0;
                let clear = (claimed - 0.5).abs() > MARGIN;
                if beaten && clear && i % AUDIT != 0 {
                    tally.not_nearest += u64::from(claimed > 0.5);
                    continue;
                }
            }
            let judgement = judge(self.function, self.format, at[0], at[1], got);
            tally.note(at, got, judgement);
            let ulps = match judgement {
                Judgement::Off { ulps, .. } => ulps,
                Judgement::Wrong => f64::INFINITY,
            };
            if ulps.is_finite() {
                match record {
                    // Errors are not negative, so their bits compare like the numbers.
                    Some(record) => _ = record.fetch_max(ulps.to_bits(), Ordering::Relaxed),
                    None => worst.add(Case { at, got, ulps }, leaders),
                }
            }
            // Next to a power of two, the filter may have used the smaller ulp, which doubles the error.
            if claimed.is_some_and(|claimed| {
                (claimed - ulps).abs() > MARGIN && (claimed - 2.0 * ulps).abs() > MARGIN
            }) {
                tally.unsound += 1;
            }
        }
        found
    }

    fn cancels(&self, at: [f64; 2]) -> bool {
        self.function == Function::LogAddExp && cancels(at[0], at[1])
    }

    /// Confirms the worst case of a tally with the precise reference.
    fn confirmed(&self, mut tally: Tally) -> Result<Tally, String> {
        if let Some(worst) = &mut tally.worst {
            let precise = judge_precisely(self.function, self.format, worst.at[0], worst.at[1], worst.got);
            match precise {
                Judgement::Off { ulps, .. } if (ulps - worst.ulps).abs() <= 1e-9 * ulps.max(1.0) => {
                    worst.ulps = ulps;
                }
                _ => {
                    let case = worst.describe(self.function, self.format);
                    return Err(format!(
                        "{case}: {} ulps by one reference, {precise:?} by the other",
                        worst.ulps
                    ));
                }
            }
        }
        Ok(tally)
    }

    /// Compares the quick and the precise reference at some of the points.
    fn audit_reference(&self) -> Result<(), String> {
        let mut columns = vec![Vec::new(); self.function.arity()];
        self.points.fill(self.points.blocks() / 2, &mut columns);
        let step = (columns[0].len() / SAMPLE).max(1);
        for i in (0..columns[0].len()).step_by(step) {
            let at = [columns[0][i], columns.get(1).map_or(0.0, |column| column[i])];
            if disagreement(self.function, at[0], at[1]).is_some_and(|spent| spent > 1.0) {
                let case = Case { at, got: 0.0, ulps: 0.0 };
                return Err(format!(
                    "the references disagree: {}",
                    case.describe(self.function, self.format)
                ));
            }
        }
        Ok(())
    }

    /// Runs the exact cases. Returns their number, and those that were missed.
    fn exact_cases(&self, executor: &mut Executor) -> (u64, Vec<Case>) {
        let cases = exact::cases(self.function, self.format);
        let columns: Vec<Vec<f64>> =
            (0..self.function.arity()).map(|i| cases.iter().map(|(at, _)| at[i]).collect()).collect();
        let mut results = Vec::new();
        executor.run(&columns, &mut results);
        // Zeros of different sign count as equal.
        let missed = cases.iter().zip(&results).filter(|((_, value), got)| value != *got);
        let missed = missed.map(|(&(at, value), &got)| {
            let ulps = match judge(self.function, self.format, at[0], at[1], got) {
                Judgement::Off { ulps, .. } => ulps,
                Judgement::Wrong => f64::INFINITY,
            };
            debug_assert_ne!(got, value);
            Case { at, got, ulps }
        });
        (cases.len() as u64, missed.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(function: Function, thin: u64) -> FunctionRun {
        let format = FloatFormat::FLOAT32;
        let points = Points::new(function, format, 1, thin, 1);
        FunctionRun { function, format, points, which: Which::Interpreter, accuracy: Accuracy::Fast }
    }

    /// The tally over all blocks, for results computed by `compute`.
    fn tally(run: &FunctionRun, filter: Option<Filter>, compute: fn(f32) -> f32) -> Tally {
        let record = AtomicU64::new(0);
        let mut columns = vec![Vec::new()];
        let blocks = (0..run.points.blocks()).map(|block| {
            let block = run.points.fill(block, &mut columns);
            // The target's functions may return any NaN.
            let canonical = |y: f32| if y.is_nan() { f64::NAN } else { f64::from(y) };
            let results: Vec<f64> = columns[0].iter().map(|&x| canonical(compute(x as f32))).collect();
            let found = run.judge(&block, &columns, &results, filter, Some(&record), 1);
            found.kinds.into_iter().fold(Tally::default(), Tally::merge)
        });
        blocks.fold(Tally::default(), Tally::merge)
    }

    /// Uses the target's float32 functions, whose errors often exceed half an ulp.
    #[test]
    fn the_filter_changes_no_figure() {
        type OfTarget = fn(f32) -> f32;
        let functions: [(Function, OfTarget); 5] = [
            (Function::Exp, f32::exp),
            (Function::Tan, f32::tan),
            (Function::Acosh, f32::acosh),
            (Function::Log1p, f32::ln_1p),
            (Function::Exp, |x| x.exp() * 1.000_000_1),
        ];
        for (function, compute) in functions {
            let run = run(function, 65_537);
            let filtered = tally(&run, Filter::new(function, FloatFormat::FLOAT32), compute);
            assert_eq!(filtered, tally(&run, None, compute), "{function:?}");
            assert!(filtered.points == 65_536 && filtered.worst.is_some_and(|worst| worst.ulps > 0.4));
        }
    }

    #[test]
    fn what_is_wrong_is_counted() {
        let run = run(Function::Exp, 1 << 20);
        let wrong = tally(&run, Filter::new(Function::Exp, FloatFormat::FLOAT32), |x| {
            if x > 10.0 { f32::NAN } else { x.exp() }
        });
        assert!(wrong.wrong > 400 && wrong.first_wrong.is_some_and(|case| case.at[0] > 10.0), "{wrong:?}");
        let falling = tally(&run, Filter::new(Function::Exp, FloatFormat::FLOAT32), |x| {
            if x < -0.5 { 1.0 } else { x.exp() }
        });
        assert_eq!(falling.breaks, 1, "{falling:?}");
        assert!(falling.worst.is_some_and(|worst| worst.ulps > 1e30), "{falling:?}");
    }
}
