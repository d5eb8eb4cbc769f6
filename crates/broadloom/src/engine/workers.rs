//! The threads that share the work of a stage with the caller's.
//!
//! They are the process's own, started when work is first worth sharing, and asleep between evaluations. The caller works
//! too, and waits for those alone that have begun a chunk of its evaluation; meanwhile it runs nothing else: no job of a rayon
//! pool, nor a chunk of another evaluation, since its stack may hold a lock that such a job asks for. Where threads are
//! refused, or stayed behind in the process that this one was forked from, the caller works alone.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_mem::{SharedJob, lend};

use crate::engine::cost;
use crate::engine::options::Options;

/// The most threads of an evaluation, the caller's included.
const MOST: usize = 256;
/// Bytes of address space that must be available when a thread is started. It takes 2 MiB for its stack and, with glibc, 64 MiB
/// for a heap of its own; if these were the last, an allocation that can't fail would end the process, as the one of the stack for
/// signals, with which std begins each thread.
const HEADROOM: usize = 96 << 20;
/// For how long no other thread is started after one was refused.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);
/// How often a thread that has nothing to do looks again before it sleeps: some 20 µs, in which the next evaluation of a series
/// begins. Measured beside rayon's scope on two processors, 60 µs to 1 ms of work: no slower with any pause between two
/// evaluations, while 32 lost to it after a pause of 20 µs.
const YIELDS: usize = 64;
/// How long the caller waits for the others before it looks for something else.
const PATIENCE: Duration = Duration::from_millis(5);
/// How many sleeping threads each that has found work wakes in turn: all of them soon, none by a long queue.
const WAKES: usize = 2;

/// The process's threads for evaluations.
static WORKERS: Workers = Workers::new();

/// How many threads are to share work of so many nanoseconds; those that are missing are started.
pub fn threads(options: &Options, time: f64) -> usize {
    let useful = cost::threads(time, MOST);
    if useful == 1 || options.threads.is_some_and(|limit| limit <= 1) {
        return 1;
    }
    1 + WORKERS.ensure(limit(options).min(useful) - 1)
}

/// Runs `work` on this thread and on up to `threads` - 1 others at the same time, which come as they find time, or not at all. While
/// this thread has nothing to do but to wait for the others, it calls `meanwhile` now and then.
///
/// Errors: the process was forked by `work`, while others had begun.
pub fn share(threads: usize, work: &(dyn Fn() + Sync), meanwhile: Option<&dyn Fn()>) -> Result<()> {
    let done = lend(work, |job| {
        let posted = WORKERS.post(job, threads - 1);
        work();
        drop(posted);
        // That the process was forked is said in the end.
        let _ = meanwhile.map(|meanwhile| job.wait(PATIENCE, meanwhile));
    });
    done.map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))
}

/// The most threads that the caller allows: by option, by the rayon pool that it is called in, or as many as there are
/// processors.
fn limit(options: &Options) -> usize {
    let given = options
        .threads
        .or_else(|| rayon_core::current_thread_index().map(|_| rayon_core::current_num_threads()));
    given.unwrap_or_else(default_threads).clamp(1, MOST)
}

/// What rayon would have: `RAYON_NUM_THREADS`, or as many threads as there are processors.
fn default_threads() -> usize {
    // PERF: asking the system takes longer than a short evaluation.
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    let known = KNOWN.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()).filter(|&n| n > 0);
    let threads = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    KNOWN.store(threads, Ordering::Relaxed);
    threads
}

/// See the module's head.
struct Workers {
    /// The process whose threads they are; 0 before the first is started.
    process: AtomicU32,
    /// How many there are.
    started: AtomicUsize,
    /// When a thread was refused last. The lock is held while threads are started.
    refused: Mutex<Option<Instant>>,
    queue: Mutex<Queue>,
    /// How many more threads the queue's jobs take: read without the lock.
    wanted: AtomicUsize,
    wake: Condvar,
}

struct Queue {
    jobs: VecDeque<Posted>,
    /// How many threads sleep.
    asleep: usize,
}

/// A job that takes some more threads.
struct Posted {
    job: Arc<SharedJob>,
    seats: usize,
}

/// A job in the queue, which leaves it when the caller is done.
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
        }
    }

    /// Whether the threads are this process's: in a forked child there are none, and a lock may be held for good.
    fn are_ours(&self) -> bool {
        let process = std::process::id();
        let first = self.process.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
        first.map_or_else(|owner| owner == process, |_| true)
    }

    /// Sees to it that there are so many threads, if the system lets them be; how many of them there are.
    fn ensure(&'static self, wanted: usize) -> usize {
        if !self.are_ours() {
            return 0;
        }
        if self.started.load(Ordering::Relaxed) < wanted {
            self.start(wanted);
        }
        self.started.load(Ordering::Relaxed).min(wanted)
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

    /// What each of the threads does.
    fn serve(&self) {
        loop {
            let job = self.next();
            // What an evaluation's own closure lets out: neither the thread nor the process ends by it.
            let _ = catch_unwind(AssertUnwindSafe(|| job.run()));
        }
    }

    /// The next job that takes another thread.
    fn next(&self) -> Arc<SharedJob> {
        for _ in 0..YIELDS {
            if self.wanted.load(Ordering::Relaxed) > 0 {
                break;
            }
            thread::yield_now();
        }
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.take() {
                self.changed(queue);
                return job;
            }
            queue.asleep += 1;
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.asleep -= 1;
        }
    }

    /// Offers a job to so many threads, as long as the guard lives.
    fn post<'w>(&'w self, job: &'w Arc<SharedJob>, seats: usize) -> InQueue<'w> {
        let mut queue = self.lock();
        queue.jobs.push_back(Posted { job: job.clone(), seats });
        self.changed(queue);
        InQueue { workers: self, job }
    }

    /// Wakes some of the threads that sleep, if there is something for them to do.
    fn changed(&self, queue: MutexGuard<'_, Queue>) {
        let wanted = queue.seats();
        self.wanted.store(wanted, Ordering::Relaxed);
        let woken = wanted.min(queue.asleep).min(WAKES);
        drop(queue);
        (0..woken).for_each(|_| self.wake.notify_one());
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn seats(&self) -> usize {
        self.jobs.iter().map(|posted| posted.seats).sum()
    }

    /// Takes a seat of the job that waits longest.
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
        // In a child that was forked meanwhile the lock may be held for good, and the queue serves nobody.
        if self.workers.are_ours() {
            let mut queue = self.workers.lock();
            queue.jobs.retain(|posted| !Arc::ptr_eq(&posted.job, self.job));
            self.workers.wanted.store(queue.seats(), Ordering::Relaxed);
        }
    }
}
