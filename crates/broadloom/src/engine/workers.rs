//! The threads that share the work of a stage with the calling thread.
//!
//! They are the process's own, started when work is first worth sharing. After a job they look for another one for some
//! microseconds, and then sleep. Waking a thread takes longer than a short run, so that short runs are shared with threads that are
//! awake only, and a series of them wakes one for the runs that follow. The caller works too, and waits for those alone that have
//! begun a chunk of its evaluation; meanwhile it runs nothing else: no job of a rayon pool, nor a chunk of another evaluation,
//! since its stack may hold a lock that such a job asks for. Where threads are refused, or stayed behind in the process that this
//! one was forked from, the caller works alone.

use broadloom_ir::tuning::threads::{AWAKE, LOOKS, WAKES, WORTH_WAKING};
use std::collections::VecDeque;
use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_mem::{SharedJob, lend};

use crate::engine::cost::{self, Traffic};
use crate::engine::options::Options;

/// Maximum number of threads of an evaluation, including the caller's.
const MOST: usize = 256;
/// Bytes of address space that must be available when a thread is started. It takes 2 MiB for its stack and, with glibc, 64 MiB for
/// a heap of its own. If nothing remained, an allocation that can't fail would end the process, such as that of the signal stack
/// with which std begins each thread.
const HEADROOM: usize = 96 << 20;
/// The time after a refusal during which no other thread is started.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);
/// How long the caller waits for the others before it looks for something else.
const PATIENCE: Duration = Duration::from_millis(5);

thread_local! {
    /// Its address tells threads apart.
    static HERE: u8 = const { 0 };
}

/// The process's threads for evaluations.
static WORKERS: Workers = Workers::new();

/// The number of threads that are to share work of this many nanoseconds; missing threads are started.
pub(crate) fn threads(options: &Options, time: f64) -> usize {
    threads_for(options, time as u64)
}

/// [`threads`] in integers alone: a short call asks for it in the application's floating-point environment, which may trap.
fn threads_for(options: &Options, time: u64) -> usize {
    let useful = cost::threads(time);
    if useful == 1 || options.threads.is_some_and(|limit| limit <= 1) {
        return 1;
    }
    1 + WORKERS.ensure(limit(options).min(useful) - 1)
}

/// The number of threads that are to share parts of one loop. Short loops are shared with threads that are awake.
#[inline]
pub(crate) fn threads_of_loop(options: &Options, time: u64, traffic: Traffic) -> usize {
    if cost::is_short(time) || options.threads.is_some_and(|limit| limit <= 1) {
        return 1;
    }
    match (cost::threads_awake(time, traffic), limit(options)) {
        (_, 1) => 1,
        (Some(awake), limit) => 1 + WORKERS.awake(limit.min(awake) - 1, time),
        (None, _) => threads_for(options, time),
    }
}

/// Runs `work` on this thread and concurrently on up to `threads` - 1 others, as far as they are free. While this thread only waits
/// for the others, it calls `meanwhile` from time to time.
///
/// Errors: the process was forked by `work`, after other threads had begun.
pub(crate) fn share(threads: usize, work: &(dyn Fn() + Sync), meanwhile: Option<&dyn Fn()>) -> Result<()> {
    // In a forked child no thread is looking, whatever the parent's had noted.
    if !WORKERS.are_ours() {
        work();
        return Ok(());
    }
    let done = lend(work, |job| {
        let posted = WORKERS.post(job, threads - 1);
        work();
        drop(posted);
        // A fork is reported at the end.
        let _ = meanwhile.map(|meanwhile| job.wait(PATIENCE, meanwhile));
    });
    done.map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))
}

/// The maximum number of threads that the caller allows: by option, by the rayon pool that it is called in, or the number of
/// processors.
fn limit(options: &Options) -> usize {
    let given = options
        .threads
        .or_else(|| rayon_core::current_thread_index().map(|_| rayon_core::current_num_threads()));
    given.unwrap_or_else(default_threads).clamp(1, MOST)
}

/// The environment variables that set the number of threads, the first one that is set to a number.
const VARIABLES: [&str; 3] = ["BROADLOOM_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"];

/// The number of threads of an evaluation without another limit: that of an environment variable, or the number of processors.
pub(crate) fn default_threads() -> usize {
    // PERF: a system call takes longer than a short evaluation.
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    let known = KNOWN.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    let asked = VARIABLES.iter().find_map(|name| threads_of(&std::env::var(name).ok()?));
    let threads = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    KNOWN.store(threads, Ordering::Relaxed);
    threads
}

/// The number of threads that a variable's value says. OpenMP has a list with a number for each level of nesting.
fn threads_of(value: &str) -> Option<usize> {
    let first = value.split(',').next()?;
    first.trim().parse().ok().filter(|&threads| threads > 0)
}

/// The threads of the process with the queue of jobs that they share.
struct Workers {
    /// The process that the threads belong to; 0 before the first is started.
    process: AtomicU32,
    /// The number of threads.
    started: AtomicUsize,
    /// The time of the last refusal. The lock is held while threads are started.
    refused: Mutex<Option<Instant>>,
    queue: Mutex<Queue>,
    /// The number of threads that the queue's jobs can still take; read without the lock.
    wanted: AtomicUsize,
    wake: Condvar,
    /// How many threads are looking for a job.
    looking: AtomicUsize,
    series: Series,
}

/// Short runs of one thread that no one was awake for, each of which began while a thread that had shared the one before would
/// have been looking.
struct Series {
    /// Whose they are, as the address of something that each thread has.
    of: AtomicUsize,
    /// When the last one began, in nanoseconds, and how long all took by estimate.
    last: AtomicU64,
    taken: AtomicU64,
}

struct Queue {
    jobs: VecDeque<Posted>,
    /// The number of sleeping threads.
    asleep: usize,
}

/// A job that can take some more threads.
struct Posted {
    job: Arc<SharedJob>,
    seats: usize,
}

/// A guard for a job in the queue, which is removed when the caller is done.
struct InQueue<'w> {
    workers: &'w Workers,
    job: &'w Arc<SharedJob>,
}

impl Workers {
    const fn new() -> Workers {
        Workers {
            process: AtomicU32::new(0),
            started: AtomicUsize::new(0),
            refused: Mutex::new(None),
            queue: Mutex::new(Queue { jobs: VecDeque::new(), asleep: 0 }),
            wanted: AtomicUsize::new(0),
            wake: Condvar::new(),
            looking: AtomicUsize::new(0),
            series: Series { of: AtomicUsize::new(0), last: AtomicU64::new(0), taken: AtomicU64::new(0) },
        }
    }

    /// Whether the threads belong to this process: in a forked child there are none, and a lock may be held forever.
    fn are_ours(&self) -> bool {
        let process = std::process::id();
        let first = self.process.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
        first.map_or_else(|owner| owner == process, |_| true)
    }

    /// Starts threads until there are this many, if the system permits; returns how many of the wanted ones there are.
    fn ensure(&'static self, wanted: usize) -> usize {
        if !self.are_ours() {
            return 0;
        }
        if self.started.load(Ordering::Relaxed) < wanted {
            self.start(wanted);
        }
        self.started.load(Ordering::Relaxed).min(wanted)
    }

    /// How many threads, `wanted` at most, are awake for a run of so many nanoseconds. Where there is none, and short runs follow
    /// each other closely, one is woken for those to come.
    fn awake(&'static self, wanted: usize, time: u64) -> usize {
        let looking = self.looking.load(Ordering::Relaxed);
        if looking == 0 && self.series.is_worth_waking(time) && self.ensure(1) == 1 {
            self.wake.notify_one();
        }
        looking.min(wanted)
    }

    #[cold]
    fn start(&'static self, wanted: usize) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.is_some_and(|at| at.elapsed() < AFTER_REFUSAL) {
            return;
        }
        for number in self.started.load(Ordering::Relaxed) + 1..=wanted {
            let name = format!("broadloom-{number}");
            let is_room = Vec::<u8>::new().try_reserve_exact(HEADROOM).is_ok();
            if !is_room || thread::Builder::new().name(name).spawn(|| self.serve()).is_err() {
                *refused = Some(Instant::now());
                return;
            }
            self.started.store(number, Ordering::Relaxed);
        }
    }

    /// The main loop of each thread.
    fn serve(&self) {
        loop {
            let job = self.next();
            // A panic that an evaluation's closure lets through ends neither the thread nor the process.
            let _ = catch_unwind(AssertUnwindSafe(|| job.run()));
        }
    }

    /// Waits for the next job that can take another thread.
    fn next(&self) -> Arc<SharedJob> {
        let mut since = Instant::now();
        loop {
            self.look(since);
            let mut queue = self.lock();
            if let Some(job) = queue.take() {
                self.changed(queue);
                return job;
            }
            // Another thread may have taken it.
            if since.elapsed() >= AWAKE {
                queue.asleep += 1;
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.asleep -= 1;
                since = Instant::now();
            }
        }
    }

    /// Looks for a job until there is one, or the time is over.
    fn look(&self, since: Instant) {
        self.looking.fetch_add(1, Ordering::Relaxed);
        'looking: while since.elapsed() < AWAKE {
            for _ in 0..LOOKS {
                if self.wanted.load(Ordering::Relaxed) > 0 {
                    break 'looking;
                }
                hint::spin_loop();
            }
            thread::yield_now();
        }
        // Before it looks into the queue once more: a job posted by a thread that counts this one is seen then.
        self.looking.fetch_sub(1, Ordering::AcqRel);
    }

    /// Offers a job to so many threads, as long as the guard lives.
    fn post<'w>(&'w self, job: &'w Arc<SharedJob>, seats: usize) -> InQueue<'w> {
        let mut queue = self.lock();
        queue.jobs.push_back(Posted { job: job.clone(), seats });
        self.changed(queue);
        InQueue { workers: self, job }
    }

    /// Wakes some of the sleeping threads, if there is work for them.
    fn changed(&self, queue: MutexGuard<'_, Queue>) {
        let wanted = queue.seats();
        self.wanted.store(wanted, Ordering::Relaxed);
        // Those who are looking see it.
        let looking = self.looking.load(Ordering::Acquire);
        let woken = wanted.saturating_sub(looking).min(queue.asleep).min(WAKES);
        drop(queue);
        (0..woken).for_each(|_| self.wake.notify_one());
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Series {
    /// Adds a run of so many nanoseconds that begins now; whether the next ones are worth waking a thread for.
    fn is_worth_waking(&self, time: u64) -> bool {
        static BEGINNING: OnceLock<Instant> = OnceLock::new();
        let now = BEGINNING.get_or_init(Instant::now).elapsed().as_nanos() as u64;
        let pause = now.saturating_sub(self.last.swap(now, Ordering::Relaxed));
        // Between the beginnings of two runs; estimates are too short rather than too long.
        let is_close = pause < 3 * time + AWAKE.as_nanos() as u64;
        // Runs of several threads at once leave no processor for another thread.
        let here = HERE.with(|here| &raw const *here as usize);
        let is_own = self.of.swap(here, Ordering::Relaxed) == here;
        let before = if is_close && is_own { self.taken.load(Ordering::Relaxed) } else { 0 };
        let taken = before + time;
        let is_worth = taken >= WORTH_WAKING;
        self.taken.store(if is_worth { 0 } else { taken }, Ordering::Relaxed);
        is_worth
    }
}

impl Queue {
    fn seats(&self) -> usize {
        self.jobs.iter().map(|posted| posted.seats).sum()
    }

    /// Takes a seat of the job that has waited longest.
    fn take(&mut self) -> Option<Arc<SharedJob>> {
        let first = self.jobs.front_mut()?;
        first.seats -= 1;
        match first.seats {
            0 => self.jobs.pop_front().map(|posted| posted.job),
            _ => Some(first.job.clone()),
        }
    }
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        // In a child that was forked in the meantime the lock may be held forever, and no thread serves the queue.
        if self.workers.are_ours() {
            let mut queue = self.workers.lock();
            queue.jobs.retain(|posted| !Arc::ptr_eq(&posted.job, self.job));
            self.workers.wanted.store(queue.seats(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_says_a_number_of_threads() {
        let said = ["4", " 2 ", "3,2", "0", "", "many", "-1"].map(threads_of);
        assert_eq!(said, [Some(4), Some(2), Some(3), None, None, None, None]);
    }

    fn series() -> Series {
        Series { of: AtomicUsize::new(0), last: AtomicU64::new(0), taken: AtomicU64::new(0) }
    }

    /// Whether each of so many runs of 10 µs, one right after the other, is worth waking a thread for.
    fn runs(series: &Series, count: usize, before_each: impl Fn()) -> Vec<bool> {
        let run = |_| {
            before_each();
            series.is_worth_waking(10_000)
        };
        (0..count).map(run).collect()
    }

    /// The clock is not stopped between two runs, so that a busy machine may begin a series again: one of many attempts is undisturbed.
    #[test]
    fn a_series_of_short_runs_wakes_a_thread_once_it_pays() {
        let count = (WORTH_WAKING / 10_000) as usize;
        let expected: Vec<bool> = (1..=count).map(|i| i == count).collect();
        assert!((0..1000).any(|_| runs(&series(), count, || ()) == expected));
    }

    #[test]
    fn runs_with_pauses_and_runs_of_several_threads_wake_nobody() {
        let pause = || thread::sleep(3 * AWAKE);
        assert!(runs(&series(), 20, pause).iter().all(|worth| !worth));
        let series = series();
        let by_another = || {
            thread::scope(|scope| {
                let other = scope.spawn(|| series.is_worth_waking(10_000));
                assert_eq!(other.join().ok(), Some(false));
            });
        };
        assert!(runs(&series, 20, by_another).iter().all(|worth| !worth));
    }
}
