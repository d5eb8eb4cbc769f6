//! Searches random programs for one with a wrong result, and shrinks it.
//!
//! A seed determines the program, so that a [`Finding`] can be reproduced from its seed. Of several findings, the one with the
//! smallest seed is returned. An interrupted search returns the [`Summary`] up to that point.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use broadloom::{DType, Engine, Op, VectorWidth};

use super::{Difference, difference_up_to, ways};
use crate::random::{Program, Size, Step, program, shrink_while};

/// The program for a seed. One seed in a hundred gives a program with arrays that are shared between threads, and one in two
/// thousand a program too large for a single kernel.
pub fn program_of_seed(seed: u64) -> Program {
    let size = match seed {
        _ if seed % 2000 == 1999 => Size::Long,
        _ if seed % 100 == 99 => Size::Large,
        _ => Size::Small,
    };
    program(seed, size)
}

/// The options of a search.
///
/// ```
/// use broadloom_testkit::differential::Search;
///
/// let summary = Search::new(0..50).run().map_err(|finding| finding.to_string())?;
/// assert_eq!(summary.programs, 50);
/// # Ok::<(), String>(())
/// ```
pub struct Search<'s> {
    seeds: Range<u64>,
    time: Option<Duration>,
    most: Option<VectorWidth>,
    program: &'s (dyn Fn(u64) -> Program + Sync),
    check: Option<&'s Check>,
    progress: &'s (dyn Fn(u64) -> bool + Sync),
    noticed: &'s (dyn Fn(u64, &str) + Sync),
}

/// Finds a difference between a program's results and a reference, at vector widths up to a maximum. The number is the program's
/// seed, which also makes what the check needs besides the program.
pub type Check = dyn Fn(Option<VectorWidth>, &Program, u64) -> Option<Difference> + Sync;

/// The maximum time for shrinking a program.
const SHRINKING: Duration = Duration::from_secs(60);

impl<'s> Search<'s> {
    /// A search over the programs of these seeds, by [`program_of_seed`], on all processors.
    pub fn new(seeds: Range<u64>) -> Search<'s> {
        let most = None;
        Search {
            seeds,
            time: None,
            most,
            program: &program_of_seed,
            check: None,
            progress: &|_| true,
            noticed: &|_, _| {},
        }
    }

    /// Limits the duration of the search; no more programs are started after this time.
    pub fn within(self, time: Option<Duration>) -> Search<'s> {
        Search { time, ..self }
    }

    /// Limits the vector width of machine code.
    pub fn up_to(self, most: Option<VectorWidth>) -> Search<'s> {
        Search { most, ..self }
    }

    /// Replaces the function that maps a seed to a program.
    pub fn of(self, program: &'s (dyn Fn(u64) -> Program + Sync)) -> Search<'s> {
        Search { program, ..self }
    }

    /// Replaces the comparison of the results with the reference.
    pub fn by(self, check: &'s Check) -> Search<'s> {
        Search { check: Some(check), ..self }
    }

    fn difference(&self, program: &Program, seed: u64) -> Option<Difference> {
        self.check.unwrap_or(&difference_up_to)(self.most, program, seed)
    }

    /// Sets a callback that receives the number of programs done, on any thread. The search ends when it returns `false`.
    pub fn telling(self, progress: &'s (dyn Fn(u64) -> bool + Sync)) -> Search<'s> {
        Search { progress, ..self }
    }

    /// Sets a callback that receives the failing seed and a description of the difference, before the program is shrunk, which
    /// may take a minute.
    pub fn noticing(self, noticed: &'s (dyn Fn(u64, &str) + Sync)) -> Search<'s> {
        Search { noticed, ..self }
    }

    /// Runs the search.
    ///
    /// # Errors
    /// The failing program with the smallest seed, shrunk.
    pub fn run(&self) -> Result<Summary, Box<Finding>> {
        let start = Instant::now();
        let next = AtomicU64::new(0);
        let done = AtomicU64::new(0);
        let stop = AtomicBool::new(false);
        let found: Mutex<Option<(u64, Program, Difference)>> = Mutex::new(None);
        let worker = || {
            let mut summary = Summary::default();
            while !stop.load(Ordering::Relaxed) && self.time.is_none_or(|time| start.elapsed() < time) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= self.seeds.end.saturating_sub(self.seeds.start) {
                    break;
                }
                let seed = self.seeds.start + number;
                let made = catch_unwind(AssertUnwindSafe(|| (self.program)(seed)));
                let program = made.unwrap_or_else(|panic| {
                    stop.store(true, Ordering::Relaxed);
                    resume_unwind(panic)
                });
                if let Some(difference) = self.difference(&program, seed) {
                    stop.store(true, Ordering::Relaxed);
                    let mut found = found.lock().unwrap_or_else(|e| e.into_inner());
                    if found.as_ref().is_none_or(|(earlier, ..)| seed < *earlier) {
                        *found = Some((seed, program, difference));
                    }
                    break;
                }
                summary.count(&program);
                if self.check.is_none() {
                    summary.evaluations += 2 * ways(&program, self.most).len() as u64;
                }
                if !(self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            summary
        };
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let mut summary = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            let done = workers.into_iter().map(|w| w.join().unwrap_or_else(|panic| resume_unwind(panic)));
            done.fold(Summary::default(), Summary::and)
        });
        summary.time = start.elapsed();
        summary.is_compiled = Engine::global().compiled_kernels() > 0;
        let Some((seed, program, difference)) = found.into_inner().unwrap_or_else(|e| e.into_inner()) else {
            return Ok(summary);
        };
        (self.noticed)(seed, &difference);
        let (start, done) = (Instant::now(), done.into_inner());
        let go_on = || start.elapsed() < SHRINKING && (self.progress)(done);
        let wrong = |program: &Program| self.difference(program, seed);
        Err(Box::new(Finding::of(seed, &program, difference, &wrong, &go_on)))
    }
}

/// The statistics of a search.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The number of programs. Each was evaluated with two sets of values.
    pub programs: u64,
    /// The number of evaluations of programs by the engine, not counting runs of programs as kernels, and those of a check of the
    /// caller's.
    pub evaluations: u64,
    /// The number of functions and conversions in the programs.
    pub steps: u64,
    /// The number of reductions, scans and inner products in the programs.
    pub reductions: u64,
    /// The number of values of loops and recurrences in the programs.
    pub loops: u64,
    /// The number of applications of each function to operands of each dtype.
    pub applied: BTreeMap<(Op, DType), u64>,
    /// Whether a kernel was compiled. Otherwise, the interpreter ran in place of machine code.
    pub is_compiled: bool,
    /// The duration of the search.
    pub time: Duration,
}

impl Summary {
    fn count(&mut self, program: &Program) {
        self.programs += 1;
        for step in &program.steps {
            self.steps += u64::from(matches!(step, Step::Apply(..) | Step::Cast(..)));
            self.reductions += u64::from(step.is_reduction());
            self.loops += u64::from(step.is_loop());
        }
        for call in program.calls() {
            *self.applied.entry(call).or_default() += 1;
        }
    }

    fn and(mut self, other: Summary) -> Summary {
        self.programs += other.programs;
        self.evaluations += other.evaluations;
        self.steps += other.steps;
        self.reductions += other.reductions;
        self.loops += other.loops;
        for (call, times) in other.applied {
            *self.applied.entry(call).or_default() += times;
        }
        self
    }

    /// The number of programs per second.
    pub fn rate(&self) -> f64 {
        self.programs as f64 / self.time.as_secs_f64().max(1e-9)
    }
}

/// A summary of several lines.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { programs, evaluations, steps, reductions, loops, applied, is_compiled, time } = self;
        if *programs == 0 {
            return write!(f, "no program was tried");
        }
        if !is_compiled {
            writeln!(f, "nothing was compiled: the interpreter stood for both executors")?;
        }
        let times = if *evaluations > 0 { format!(" evaluated {evaluations} times,") } else { String::new() };
        writeln!(f, "{programs} programs,{times} all as the reference says")?;
        writeln!(f, "{:.1} s, {:.0} programs a second", time.as_secs_f64(), self.rate())?;
        write!(
            f,
            "{steps} operations, {reductions} reductions, {loops} values of loops, {} pairs of a function and a dtype",
            applied.len()
        )?;
        match applied.iter().min_by_key(|(_, times)| **times) {
            Some(((op, dtype), times)) => write!(f, "; the rarest is {op} of {dtype}, {times} times"),
            None => Ok(()),
        }
    }
}

/// A program with a wrong result.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The seed.
    pub seed: u64,
    /// The difference found for the seed's program.
    pub difference: Difference,
    /// The shrunk program, or the seed's own if none smaller fails.
    pub small: Program,
    /// The difference found for the shrunk program.
    pub difference_of_small: Difference,
}

impl Finding {
    fn of(
        seed: u64,
        program: &Program,
        difference: Difference,
        wrong: &dyn Fn(&Program) -> Option<Difference>,
        go_on: &dyn Fn() -> bool,
    ) -> Finding {
        let (small, difference_of_small) = silently(|| {
            let small = shrink_while(program, go_on, |p| wrong(p).is_some());
            let difference = wrong(&small);
            (small, difference)
        });
        let again = difference_of_small.unwrap_or_else(|| "not again by itself".into());
        Finding { seed, small, difference_of_small: again, difference }
    }
}

/// Runs a function whose panics are expected, without printing them.
fn silently<T>(run: impl FnOnce() -> T) -> T {
    static HOOKED: Once = Once::new();
    static SILENT: AtomicUsize = AtomicUsize::new(0);
    HOOKED.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if SILENT.load(Ordering::Relaxed) == 0 {
                hook(panic);
            }
        }));
    });
    SILENT.fetch_add(1, Ordering::Relaxed);
    let done = run();
    SILENT.fetch_sub(1, Ordering::Relaxed);
    done
}

/// The difference, and the shrunk program as a case file.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in format!("seed {}: {}", self.seed, self.difference).lines() {
            writeln!(f, "# {line}")?;
        }
        for line in format!("made small: {}", self.difference_of_small).lines() {
            writeln!(f, "# {line}")?;
        }
        write!(f, "{}", self.small)
    }
}

impl std::error::Error for Finding {}
