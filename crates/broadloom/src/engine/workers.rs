//! The threads that share the work of a stage with the calling thread.
//!
//! Workers belong to the process, and are started when work is first worth sharing. After a job, a worker looks for another one
//! for some microseconds and then sleeps. Waking a thread takes longer than a short run. Short runs are therefore shared only
//! with workers that are awake, and a series of short runs wakes one worker for the runs that follow. The calling thread computes
//! as well, and waits only for workers that have begun a part of its evaluation. While it waits it runs no other work, neither a
//! job of a rayon pool nor a part of another evaluation, since its stack may hold a lock that such work would take. If the system
//! refuses threads, the caller works alone. It also works alone in a forked child, which has none of its parent's threads.

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

/// Maximum number of threads of an evaluation, including the calling one.
const MOST: usize = 256;
/// Bytes of address space that must be available when a thread is started. A thread takes 2 MiB for its stack and, with glibc, 64
/// MiB for a heap of its own. If nothing remained after that, an allocation that must not fail would abort the process, such as
/// the allocation of the signal stack at the beginning of each thread of std.
const HEADROOM: usize = 96 << 20;
/// The time after a refusal during which no other thread is started.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);
/// The time that the caller waits for other threads between two calls of `meanwhile`.
const PATIENCE: Duration = Duration::from_millis(5);

thread_local! {
    /// A variable whose address identifies its thread.
    static HERE: u8 = const { 0 };
}

/// The process's threads for evaluations.
static WORKERS: Workers = Workers::new();

/// The number of threads, including the caller, that share work of this many nanoseconds. Starts workers if there are too few.
pub(crate) fn threads(options: &Options, time: f64) -> usize {
    threads_for(options, time as u64)
}

/// Does the same as [`threads`] in integer arithmetic only: a short call runs it in the application's floating-point environment,
/// which may trap.
fn threads_for(options: &Options, time: u64) -> usize {
    let useful = cost::threads(time);
    if useful == 1 || options.threads.is_some_and(|limit| limit <= 1) {
        return 1;
    }
    1 + WORKERS.ensure(limit(options).min(useful) - 1)
}

/// The number of threads, including the caller, that share the parts of one loop. A short loop is shared only with workers that
/// are awake.
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

/// Runs `work` on this thread and concurrently on up to `threads` - 1 workers, as far as these are free. While this thread only
/// waits for the workers, it calls `meanwhile` at intervals.
///
/// Errors: `work` forked the process while a worker was running it, and this is the child.
pub(crate) fn share(threads: usize, work: &(dyn Fn() + Sync), meanwhile: Option<&dyn Fn()>) -> Result<()> {
    // A forked child has no workers, whatever the copied counters contain.
    if !WORKERS.are_ours() {
        work();
        return Ok(());
    }
    let done = lend(work, |job| {
        let posted = WORKERS.post(job, threads - 1);
        work();
        drop(posted);
        // An error of `wait` is ignored, since `lend` also reports a fork.
        let _ = meanwhile.map(|meanwhile| job.wait(PATIENCE, meanwhile));
    });
    done.map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))
}

/// The maximum number of threads of an evaluation: the number in the options, else the size of the rayon pool if the caller is a
/// thread of one, else the default of the process.
fn limit(options: &Options) -> usize {
    let given = options
        .threads
        .or_else(|| rayon_core::current_thread_index().map(|_| rayon_core::current_num_threads()));
    given.unwrap_or_else(default_threads).clamp(1, MOST)
}

/// The environment variables that set the number of threads. The first one that is set to a positive number counts.
const VARIABLES: [&str; 3] = ["BROADLOOM_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"];

/// The number of threads of an evaluation without another limit: the value of an environment variable, or the number of
/// processors.
pub(crate) fn default_threads() -> usize {
    // PERF: the number is cached, since a system call takes longer than a short evaluation.
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

/// Parses the value of an environment variable. OpenMP permits a list with a number for each level of nested parallelism; the
/// first one counts.
fn threads_of(value: &str) -> Option<usize> {
    let first = value.split(',').next()?;
    first.trim().parse().ok().filter(|&threads| threads > 0)
}

/// The workers of the process, and their queue of jobs.
struct Workers {
    /// The id of the process that the workers belong to; 0 before the first use.
    process: AtomicU32,
    /// The number of workers that were started.
    started: AtomicUsize,
    /// The time at which the system last refused a thread. The mutex is held while threads are started.
    refused: Mutex<Option<Instant>>,
    queue: Mutex<Queue>,
    /// The number of further threads that the queued jobs can use; read without the queue's mutex.
    wanted: AtomicUsize,
    wake: Condvar,
    /// The number of workers that are awake and looking for a job.
    looking: AtomicUsize,
    series: Series,
}

/// A series of short runs of one calling thread, for which no worker was awake. Each run begins so soon after the previous one
/// that a worker that had shared the previous run would still be awake.
struct Series {
    /// The calling thread, as the address of its [`HERE`].
    of: AtomicUsize,
    /// The time at which the last run began, and the estimated time of all runs together, in nanoseconds.
    last: AtomicU64,
    taken: AtomicU64,
}

struct Queue {
    jobs: VecDeque<Posted>,
    /// The number of sleeping threads.
    asleep: usize,
}

/// A job in the queue, and the number of further threads that it can use.
struct Posted {
    job: Arc<SharedJob>,
    seats: usize,
}

/// A guard that removes a job from the queue when it is dropped.
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

    /// Whether the workers belong to this process. A forked child has none, and a mutex that was held at the fork stays locked in
    /// the child.
    fn are_ours(&self) -> bool {
        let process = std::process::id();
        let first = self.process.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
        first.map_or_else(|owner| owner == process, |_| true)
    }

    /// Starts workers until there are as many as wanted, if the system permits. Returns the number available, at most `wanted`.
    fn ensure(&'static self, wanted: usize) -> usize {
        if !self.are_ours() {
            return 0;
        }
        if self.started.load(Ordering::Relaxed) < wanted {
            self.start(wanted);
        }
        self.started.load(Ordering::Relaxed).min(wanted)
    }

    /// The number of workers that are awake, at most `wanted`, for a run of this many nanoseconds. If no worker is awake, and
    /// short runs come in close succession, wakes a worker for the following runs.
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

    /// The main loop of a worker.
    fn serve(&self) {
        loop {
            let job = self.next();
            // A panic in a job must not end the worker or the process.
            let _ = catch_unwind(AssertUnwindSafe(|| job.run()));
        }
    }

    /// Waits for a job that can use another thread.
    fn next(&self) -> Arc<SharedJob> {
        let mut since = Instant::now();
        loop {
            self.look(since);
            let mut queue = self.lock();
            if let Some(job) = queue.take() {
                self.changed(queue);
                return job;
            }
            // Another worker may have taken the job.
            if since.elapsed() >= AWAKE {
                queue.asleep += 1;
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.asleep -= 1;
                since = Instant::now();
            }
        }
    }

    /// Polls for a job until there is one, or [`AWAKE`] has passed since this time.
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
        // The counter is decremented before the worker checks the queue once more. A thread that posts a job may still count this
        // worker, and therefore not wake another one; the check then finds its job.
        self.looking.fetch_sub(1, Ordering::AcqRel);
    }

    /// Offers a job to this many workers, until the guard is dropped.
    fn post<'w>(&'w self, job: &'w Arc<SharedJob>, seats: usize) -> InQueue<'w> {
        let mut queue = self.lock();
        queue.jobs.push_back(Posted { job: job.clone(), seats });
        self.changed(queue);
        InQueue { workers: self, job }
    }

    /// Updates the number of wanted threads, and wakes sleeping workers if those that are awake are too few.
    fn changed(&self, queue: MutexGuard<'_, Queue>) {
        let wanted = queue.seats();
        self.wanted.store(wanted, Ordering::Relaxed);
        // Workers that are awake see the new number themselves.
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
    /// Adds a run of this many nanoseconds that begins now. Returns whether a worker is worth waking for the following runs.
    fn is_worth_waking(&self, time: u64) -> bool {
        static BEGINNING: OnceLock<Instant> = OnceLock::new();
        let now = BEGINNING.get_or_init(Instant::now).elapsed().as_nanos() as u64;
        let pause = now.saturating_sub(self.last.swap(now, Ordering::Relaxed));
        // The pause is measured from the beginning of the previous run. That run may take up to three times its estimate, since
        // estimates tend to be too short.
        let is_close = pause < 3 * time + AWAKE.as_nanos() as u64;
        // If several threads evaluate short runs at once, there is no free processor for a woken worker.
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

    /// Takes the oldest job for one more thread, and removes the job if no further thread can take it.
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
        // In a child that was forked in the meantime, the mutex may stay locked forever, and no worker takes jobs from the queue.
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

    /// For each of `count` runs of 10 µs in immediate succession, whether a worker is worth waking.
    fn runs(series: &Series, count: usize, before_each: impl Fn()) -> Vec<bool> {
        let run = |_| {
            before_each();
            series.is_worth_waking(10_000)
        };
        (0..count).map(run).collect()
    }

    /// Time passes between two runs, so a busy machine may interrupt a series. The test passes if at least one of many attempts
    /// is not interrupted.
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
