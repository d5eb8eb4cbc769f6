//! The threads that share the work of a stage with the calling thread.
//!
//! They belong to the process, are started when work is first worth sharing, and sleep between evaluations. The calling thread
//! works as well, and waits only for threads that have begun a chunk of its evaluation. While it waits it runs no other work: no
//! job of a rayon pool, nor a chunk of another evaluation, since its stack may hold a lock that such a job needs. If threads are
//! refused, or were left behind in the process that this one was forked from, the caller works alone.

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

/// Maximum number of threads of an evaluation, including the caller's.
const MOST: usize = 256;
/// Bytes of address space that must be available when a thread is started. It takes 2 MiB for its stack and, with glibc, 64 MiB for
/// a heap of its own. If nothing remained, an allocation that can't fail would end the process, such as that of the signal stack
/// with which std begins each thread.
const HEADROOM: usize = 96 << 20;
/// The time after a refusal during which no other thread is started.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);
/// The number of times that an idle thread yields before it sleeps: some 20 µs, in which the next evaluation of a series begins.
/// Compared with rayon's scope on two processors, 60 µs to 1 ms of work: no slower with any pause between two evaluations, while 32
/// was slower after a pause of 20 µs.
const YIELDS: usize = 64;
/// The time that the caller waits for the others before it calls `meanwhile`.
const PATIENCE: Duration = Duration::from_millis(5);
/// The number of sleeping threads that each thread with work wakes: all are woken soon, without a long sequence on one thread.
const WAKES: usize = 2;

/// The process's threads for evaluations.
static WORKERS: Workers = Workers::new();

/// The number of threads that are to share work of this many nanoseconds; missing threads are started.
pub fn threads(options: &Options, time: f64) -> usize {
    let useful = cost::threads(time, MOST);
    if useful == 1 || options.threads.is_some_and(|limit| limit <= 1) {
        return 1;
    }
    1 + WORKERS.ensure(limit(options).min(useful) - 1)
}

/// Runs `work` on this thread and concurrently on up to `threads` - 1 others, as far as they are free. While this thread only waits
/// for the others, it calls `meanwhile` from time to time.
///
/// Errors: the process was forked by `work`, after other threads had begun.
pub fn share(threads: usize, work: &(dyn Fn() + Sync), meanwhile: Option<&dyn Fn()>) -> Result<()> {
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

/// The number that rayon would use: `RAYON_NUM_THREADS`, or the number of processors.
fn default_threads() -> usize {
    // PERF: a system call takes longer than a short evaluation.
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

    /// Offers a job to `seats` threads, as long as the guard lives.
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
