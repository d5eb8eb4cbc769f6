//! The work of a thread that waits for others: it runs chunks of its own evaluation, and nothing else. Therefore a thread cannot
//! request a lock twice if the lock is held around an evaluation or taken by a host function. No thread waits for a thread that has
//! not begun a chunk.
//!
//! A test that would hang ends the process with a message that names the test.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Condvar, Mutex, OnceLock, mpsc};
use std::time::Duration;

use broadloom::prelude::*;
use broadloom::{Control, Engine, Executor, HostFunction, Limits, Options, Progress};
use rayon::prelude::*;

/// Ends the process where a test takes so long that it must hang.
struct Watchdog {
    _bites_when: mpsc::Sender<()>,
}

impl Watchdog {
    fn new(test: &'static str) -> Watchdog {
        let (alive, gone) = mpsc::channel();
        std::thread::spawn(move || {
            if gone.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("the test {test} hangs: a thread waits for what can't come");
                std::process::abort();
            }
        });
        Watchdog { _bites_when: alive }
    }
}

/// An expression with enough work for several threads, and its expected elements.
fn shared_work(n: i32) -> (Array<'static>, Vec<i32>) {
    let x = Array::from_vec((0..n).collect::<Vec<i32>>());
    let y = (0..20).fold(x.clone(), |y, i| y * 3 + &x + i);
    let step = |x: i32| (0..20).fold(x, |y, i| y.wrapping_mul(3).wrapping_add(x).wrapping_add(i));
    (y, (0..n).map(step).collect())
}

fn options(executor: Executor, threads: Option<usize>) -> Options {
    Options { executor, threads, ..Options::default() }
}

fn app_pool(threads: usize) -> rayon::ThreadPool {
    let named = rayon::ThreadPoolBuilder::new().thread_name(|i| format!("app-{i}"));
    named.num_threads(threads).build().expect("a pool")
}

thread_local! {
    /// Whether this thread holds the lock of the following test.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// The other threads are slow, so that the thread that holds the lock has to wait for their chunks. At that time, threads that wait
/// for the lock have parts of the jobs in their queues.
#[test]
fn a_lock_around_an_evaluation_in_a_job_of_a_pool() {
    let _watchdog = Watchdog::new("a_lock_around_an_evaluation_in_a_job_of_a_pool");
    let slow = |x: i32| {
        if x % 4096 == 0 && !HOLDS.get() {
            (0..20).for_each(|_| std::thread::yield_now());
        }
        x
    };
    let slow = HostFunction::new("slow", slow).expect("a name").with_cost(1000);
    let y = Array::call(&slow, [&Array::from_vec((0..200_000).collect::<Vec<i32>>())]).expect("typed") * 2;
    for threads in [4, 8] {
        let (pool, lock) = (app_pool(threads), Mutex::new(0));
        for round in 0..10 {
            let options = options([Executor::Interp, Executor::Jit][round % 2], None);
            pool.install(|| {
                (0..8).into_par_iter().with_max_len(1).for_each(|_| {
                    let mut evaluations = lock.lock().expect("nobody panicked");
                    HOLDS.set(true);
                    let last = y.eval_with(&options).and_then(|y| y.index_axis(0, -1)?.item::<i32>());
                    HOLDS.set(false);
                    assert_eq!(last, Ok(399_998));
                    *evaluations += 1;
                });
            });
        }
        assert_eq!(lock.into_inner().ok(), Some(8 * 10));
    }
}

/// Chunks are run by the caller and by the library's own threads, but not by other threads of the application's pool. The first
/// thread to begin a chunk waits until another thread begins one.
#[test]
fn no_thread_of_the_application_runs_chunks_but_the_caller() {
    let _watchdog = Watchdog::new("no_thread_of_the_application_runs_chunks_but_the_caller");
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    static CAME: Condvar = Condvar::new();
    let note = |x: i32| {
        if x % 1000 == 0 {
            let mut seen = SEEN.lock().expect("nobody panicked");
            if seen.insert(std::thread::current().name().unwrap_or("?").to_owned()) {
                CAME.notify_all();
                drop(CAME.wait_while(seen, |seen| seen.len() < 2).expect("nobody panicked"));
            }
        }
        x + 1
    };
    let note = HostFunction::new("note", note).expect("a name").with_cost(1000);
    let y = Array::call(&note, [&Array::from_vec((0..400_000).collect::<Vec<i32>>())]).expect("typed");
    let pool = app_pool(3);
    for executor in [Executor::Interp, Executor::Jit] {
        for _ in 0..10 {
            SEEN.lock().expect("nobody panicked").clear();
            let caller = pool.install(|| {
                y.eval_with(&options(executor, None)).expect("evaluates");
                std::thread::current().name().unwrap_or("?").to_owned()
            });
            let seen = SEEN.lock().expect("nobody panicked");
            let others: Vec<&String> = seen.iter().filter(|name| **name != caller).collect();
            assert!((1..=2).contains(&others.len()), "the pool has three: {seen:?}");
            assert!(others.iter().all(|name| name.starts_with("broadloom-")), "{caller}, {seen:?}");
        }
    }
}

/// A host function evaluates an expression. It is called on the caller's thread and on threads that are already running a chunk.
#[test]
fn evaluations_within_evaluations() {
    let _watchdog = Watchdog::new("evaluations_within_evaluations");
    static INNER: OnceLock<(Array<'static>, Vec<i32>)> = OnceLock::new();
    let (inner, want) = INNER.get_or_init(|| shared_work(60_000));
    let evaluate = move |x: i32| {
        if x % 20_000 == 0 {
            let got = inner.eval_with(&options(Executor::Auto, Some(4))).and_then(|y| y.to_vec::<i32>());
            assert!(got.as_ref() == Ok(want));
        }
        x.wrapping_mul(7)
    };
    let evaluate = HostFunction::new("evaluate", evaluate).expect("a name").with_cost(1000);
    let x = Array::from_vec((0..200_000).collect::<Vec<i32>>());
    let y = Array::call(&evaluate, [&x]).expect("typed") + 1;
    let pool = app_pool(4);
    for executor in [Executor::Interp, Executor::Jit] {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (y, pool) = (&y, &pool);
                scope.spawn(move || {
                    let run = || y.eval_with(&options(executor, Some(4))).and_then(|y| y.to_vec::<i32>());
                    let got = if thread % 2 == 0 { run() } else { pool.install(run) };
                    let is_right = |(i, y): (usize, &i32)| *y == (i as i32).wrapping_mul(7).wrapping_add(1);
                    assert!(got.is_ok_and(|got| got.iter().enumerate().all(is_right)));
                });
            }
        });
    }
}

/// An evaluation does not wait for threads that are blocked in another evaluation.
#[test]
fn every_thread_is_busy() {
    let _watchdog = Watchdog::new("every_thread_is_busy");
    struct Gate {
        state: Mutex<(bool, bool)>,
        changed: Condvar,
    }
    static GATE: Gate = Gate { state: Mutex::new((false, false)), changed: Condvar::new() };
    let pass = |x: i32| {
        let mut state = GATE.state.lock().expect("nobody panicked");
        state.0 = true;
        GATE.changed.notify_all();
        drop(GATE.changed.wait_while(state, |(_, is_open)| !*is_open).expect("nobody panicked"));
        x
    };
    let pass = HostFunction::new("pass", pass).expect("a name").with_cost(1000);
    let held = Array::call(&pass, [&Array::from_vec(vec![1i32; 100_000])]).expect("typed");
    let (y, want) = shared_work(200_000);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| held.eval_with(&options(Executor::Interp, Some(16))));
        let state = GATE.state.lock().expect("nobody panicked");
        drop(GATE.changed.wait_while(state, |(has_begun, _)| !*has_begun).expect("nobody panicked"));
        for _ in 0..20 {
            let got = y.eval_with(&options(Executor::Interp, Some(16))).and_then(|y| y.to_vec::<i32>());
            assert!(got.as_ref() == Ok(&want));
        }
        GATE.state.lock().expect("nobody panicked").1 = true;
        GATE.changed.notify_all();
        assert!(first.join().is_ok_and(|held| held.is_ok()));
    });
}

/// Host functions take a lock while many threads evaluate at once. Some of these are jobs of a pool that hold another lock.
#[test]
fn locks_within_and_around() {
    let _watchdog = Watchdog::new("locks_within_and_around");
    static WITHIN: Mutex<i32> = Mutex::new(0);
    let count = |x: i32| {
        if x % 500 == 0 {
            *WITHIN.lock().expect("nobody panicked") += 1;
        }
        x
    };
    let count = HostFunction::new("count", count).expect("a name").with_cost(100);
    let x = Array::from_vec((0..100_000).collect::<Vec<i32>>());
    let y = Array::call(&count, [&x]).expect("typed") * 2;
    let (pool, around) = (app_pool(4), Mutex::new(()));
    std::thread::scope(|scope| {
        for thread in 0..32 {
            let (y, pool, around) = (&y, &pool, &around);
            scope.spawn(move || {
                let run = || {
                    let _held = (thread % 4 == 1).then(|| around.lock().expect("nobody panicked"));
                    y.eval_with(&options([Executor::Interp, Executor::Jit][thread / 2 % 2], None))
                };
                for _ in 0..3 {
                    let last = if thread % 2 == 1 { pool.install(run) } else { run() };
                    let last = last.and_then(|y| y.index_axis(0, -1)?.item::<i32>());
                    assert_eq!(last, Ok(199_998));
                }
            });
        }
    });
    assert_eq!(WITHIN.lock().ok().map(|n| *n), Some(32 * 3 * 200));
}

/// The application's progress callback panics. The caller gets the panic, no chunk begins afterwards, and the next evaluation is
/// not affected.
#[test]
fn a_panic_of_the_applications_is_heard_of_once() {
    let _watchdog = Watchdog::new("a_panic_of_the_applications_is_heard_of_once");
    let n = 4_000_000;
    let x = Array::from_vec((0..n).collect::<Vec<i32>>());
    let y = (0..10).fold(x.clone(), |y, i| y * 3 + &x + i);
    for threads in [1, 2, 4] {
        let options = options(Executor::Interp, Some(threads));
        let (calls, armed) = (AtomicUsize::new(0), AtomicBool::new(true));
        let progress = |_: Progress| {
            calls.fetch_add(1, Ordering::Relaxed);
            if armed.load(Ordering::Relaxed) {
                std::panic::resume_unwind(Box::new("told of the progress"));
            }
        };
        let control = Control { progress: Some(&progress), ..Control::default() };
        let evaluate = || Evaluation::with(&options).control(&control).eval(&y);
        let panic = catch_unwind(AssertUnwindSafe(evaluate)).expect_err("it panics");
        assert_eq!(panic.downcast_ref(), Some(&"told of the progress"));
        // The callback may be called once on each thread, if several threads finish a chunk at the same moment.
        let heard = calls.swap(0, Ordering::Relaxed);
        assert!(heard <= threads, "{heard} calls on {threads} threads");
        armed.store(false, Ordering::Relaxed);
        let last = evaluate().and_then(|y| y.index_axis(0, -1)?.item::<i32>());
        let want = (0..10).fold(n - 1, |y, i| y.wrapping_mul(3).wrapping_add(n - 1).wrapping_add(i));
        assert_eq!((last, calls.into_inner() > 16), (Ok(want), true));
    }
}

/// Many threads evaluate a new expression at the same moment. It is planned and compiled once.
#[test]
fn work_is_done_once() {
    let _watchdog = Watchdog::new("work_is_done_once");
    const THREADS: usize = 32;
    for executor in [Executor::Jit, Executor::Auto] {
        for round in 0..3 {
            // The array is large enough for the first run to justify a compilation under `Auto`.
            let x = Array::from_vec((0..200_000).map(|i| i as f32).collect::<Vec<_>>());
            let y = (0..40).fold(&x * 3, |y, i| (y * 0.3 + &x).sqrt() + (i + 3)) + round;
            let (engine, start) = (Engine::new(Limits::default()), Barrier::new(THREADS));
            let options = options(executor, Some(1));
            std::thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        start.wait();
                        Evaluation::with(&options).engine(&engine).eval_many(&[&y]).expect("evaluates");
                    });
                }
            });
            let made = engine.statistics();
            let compiled = u64::from(cfg!(feature = "jit"));
            assert_eq!((made.plans, made.compilations), (1, compiled), "{executor:?}");
        }
    }
}
