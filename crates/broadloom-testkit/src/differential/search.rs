//! Many random programs, until one goes wrong.
//!
//! In: seeds, and when to stop. Out: a [`Summary`] of what was tried, or a [`Finding`], made small. Must hold: one seed
//! is one program, so that a finding can be had again from its seed; of several findings the one of the least seed is
//! told; an interrupted search tells what it has done.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use broadloom::{DType, Op};

use super::{ALONE, Difference, SHARED, Way, difference};
use crate::random::{Program, Size, Step, program, shrink, with_other_values};

/// The program of a seed, and its size: of a hundred seeds one is for arrays that threads share, of two thousand one for
/// a program that no single kernel takes.
pub fn program_of_seed(seed: u64) -> (Program, Size) {
    let size = match seed {
        _ if seed % 2000 == 1999 => Size::Long,
        _ if seed % 100 == 99 => Size::Large,
        _ => Size::Small,
    };
    (program(seed, size), size)
}

/// What to try.
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
    program: &'s (dyn Fn(u64) -> (Program, Size) + Sync),
    progress: &'s (dyn Fn(u64) -> bool + Sync),
}

impl<'s> Search<'s> {
    /// The programs of these seeds, by [`program_of_seed`], on all processors.
    pub fn new(seeds: Range<u64>) -> Search<'s> {
        Search { seeds, time: None, program: &program_of_seed, progress: &|_| true }
    }

    /// No more programs after this time.
    pub fn within(self, time: Duration) -> Search<'s> {
        Search { time: Some(time), ..self }
    }

    /// The programs of another function of the seed.
    pub fn of(self, program: &'s (dyn Fn(u64) -> (Program, Size) + Sync)) -> Search<'s> {
        Search { program, ..self }
    }

    /// Calls this with the number of programs done, on any thread; no more programs once it says `false`.
    pub fn telling(self, progress: &'s (dyn Fn(u64) -> bool + Sync)) -> Search<'s> {
        Search { progress, ..self }
    }

    /// Tries.
    ///
    /// # Errors
    /// The first program that goes wrong, made small.
    pub fn run(&self) -> Result<Summary, Box<Finding>> {
        let start = Instant::now();
        let next = AtomicU64::new(self.seeds.start);
        let done = AtomicU64::new(0);
        let stop = AtomicBool::new(false);
        let found: Mutex<Option<(u64, Program, Size, Difference)>> = Mutex::new(None);
        let worker = || {
            let mut summary = Summary::default();
            while !stop.load(Ordering::Relaxed) && self.time.is_none_or(|time| start.elapsed() < time) {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= self.seeds.end {
                    break;
                }
                let (program, size) = (self.program)(seed);
                // The second time plans are there, made for other values.
                for program in [with_other_values(&program, seed), program.clone()] {
                    if let Some(difference) = tried(&program, size) {
                        stop.store(true, Ordering::Relaxed);
                        let mut found = found.lock().unwrap_or_else(|e| e.into_inner());
                        if found.as_ref().is_none_or(|(earlier, ..)| seed < *earlier) {
                            *found = Some((seed, program, size, difference));
                        }
                        return summary;
                    }
                }
                summary.count(&program, 2 * ways(size).len() as u64);
                if !(self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            summary
        };
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let mut summary = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            let done = workers.into_iter().map(|w| w.join().expect("panics of programs are caught"));
            done.fold(Summary::default(), Summary::and)
        });
        summary.time = start.elapsed();
        match found.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some((seed, program, size, difference)) => {
                Err(Box::new(Finding::of(seed, &program, size, difference)))
            }
            None => Ok(summary),
        }
    }
}

fn ways(size: Size) -> &'static [Way] {
    if size == Size::Large { SHARED } else { ALONE }
}

/// [`difference`], on more threads than the machine may have where the size is for that.
fn tried(program: &Program, size: Size) -> Option<Difference> {
    static POOL: std::sync::OnceLock<Option<rayon::ThreadPool>> = std::sync::OnceLock::new();
    let pool = || POOL.get_or_init(|| rayon::ThreadPoolBuilder::new().num_threads(3).build().ok()).as_ref();
    match (size, pool) {
        (Size::Large, pool) if pool().is_some() => pool()?.install(|| difference(program, ways(size))),
        _ => difference(program, ways(size)),
    }
}

/// What a search has tried.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Programs, each with two sets of values.
    pub programs: u64,
    /// Times that a program was evaluated.
    pub evaluations: u64,
    /// Functions and conversions in the programs.
    pub steps: u64,
    /// How many times each function was applied to operands of each dtype.
    pub applied: BTreeMap<(Op, DType), u64>,
    /// How long it took.
    pub time: Duration,
}

impl Summary {
    fn count(&mut self, program: &Program, evaluations: u64) {
        self.programs += 1;
        self.evaluations += evaluations;
        for step in &program.steps {
            self.steps += u64::from(matches!(step, Step::Apply(..) | Step::Cast(..)));
        }
        for call in program.calls() {
            *self.applied.entry(call).or_default() += 1;
        }
    }

    fn and(mut self, other: Summary) -> Summary {
        self.programs += other.programs;
        self.evaluations += other.evaluations;
        self.steps += other.steps;
        for (call, times) in other.applied {
            *self.applied.entry(call).or_default() += times;
        }
        self
    }

    /// Programs per second.
    pub fn rate(&self) -> f64 {
        self.programs as f64 / self.time.as_secs_f64().max(1e-9)
    }
}

/// Some lines.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { programs, evaluations, steps, applied, time } = self;
        writeln!(f, "{programs} programs, evaluated {evaluations} times, all as the reference says")?;
        writeln!(f, "{:.1} s, {:.0} programs a second", time.as_secs_f64(), self.rate())?;
        write!(f, "{steps} operations, {} pairs of a function and a dtype", applied.len())?;
        match applied.iter().min_by_key(|(_, times)| **times) {
            Some(((op, dtype), times)) => write!(f, "; the rarest is {op} of {dtype}, {times} times"),
            None => Ok(()),
        }
    }
}

/// A program that went wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The seed.
    pub seed: u64,
    /// What is wrong with the seed's program.
    pub difference: Difference,
    /// A smaller program that goes wrong, the seed's own if there is none.
    pub small: Program,
    /// What is wrong with that.
    pub difference_of_small: Difference,
}

impl Finding {
    fn of(seed: u64, program: &Program, size: Size, difference: Difference) -> Finding {
        // Programs that panic would print so each time.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let small = shrink(program, |p| tried(p, size).is_some());
        let difference_of_small = tried(&small, size);
        std::panic::set_hook(hook);
        Finding {
            seed,
            small,
            difference_of_small: difference_of_small
                .unwrap_or_else(|| "not again: it depends on timing".into()),
            difference,
        }
    }
}

/// What went wrong, and the small program as a case file.
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
