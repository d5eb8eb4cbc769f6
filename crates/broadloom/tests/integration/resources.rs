//! A system that refuses memory, address space or threads. Evaluations return a typed error or succeed in another way, no
//! memory is lost, and the same engine continues to work. (Executable memory is tested in `no_executable_memory.rs`.)
//!
//! Each test runs itself again as a child process, which limits its own resources permanently.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "limits are set by a system call")]

use std::process::Command;

use broadloom::prelude::*;
use broadloom::{Engine, ErrorKind, Executor, Kernel, Options, eval_many};

/// The environment variable that names the test that a child runs.
const CHILD: &str = "BROADLOOM_TEST_SHORT_OF";
/// Printed by a child if all checks succeed.
const DONE: &str = "everything was right";

/// Runs a test's body in a child process, whose resources the body may limit.
fn in_a_child(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|name| name == test) {
        body();
        println!("{DONE}");
        return;
    }
    let binary = std::env::current_exe().expect("the test's own file");
    let mut child = Command::new(binary);
    child
        .args(["--exact", &format!("resources::{test}"), "--nocapture", "--test-threads=1"])
        .env(CHILD, test);
    let child = child.envs(variables.iter().copied()).output().expect("the test runs again");
    let said = String::from_utf8_lossy(&child.stdout);
    let complaint = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains(DONE), "{}\n{said}\n{complaint}", child.status);
}

const MIB: usize = 1 << 20;

/// Limits the address space to the current size of the process and `more` bytes.
fn limit_address_space(more: usize) {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = statm.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number");
    let bytes = (pages * 4096 + more) as libc::rlim_t;
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the call reads a struct that lives until it returns.
    let done = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    let refused = Vec::<u8>::new().try_reserve_exact(more + MIB);
    assert!(refused.is_err(), "the limit of address space limits nothing");
}

fn options(executor: Executor) -> Options {
    Options { executor, threads: Some(1), ..Options::default() }
}

const EXECUTORS: [Executor; 3] = [Executor::Interp, Executor::Jit, Executor::Auto];

/// Checks that the engine works, with contiguous and packed operands and with a temporary.
fn small_things_are_right(after: &str) {
    let x = Array::from_shape_vec(&[3, 40], (0..120i64).collect()).expect("120");
    let turned = (&x * 3).t().reshape(&[120]).expect("120") + 1;
    let want: Vec<i64> = (0..120).map(|i| (i % 3 * 40 + i / 3) * 3 + 1).collect();
    for executor in EXECUTORS {
        let got = turned.eval_with(&options(executor)).and_then(|x| x.to_vec::<i64>());
        assert_eq!(got.as_ref(), Ok(&want), "after {after}, {executor:?}");
    }
}

fn huge(extent: usize) -> Array<'static> {
    Array::full(&[extent], 0.5f64).expect("lazy") + 1
}

/// An array whose columns are rows in memory. No strides can express the reshape, so it is stored in row-major order first.
fn huge_and_turned() -> Array<'static> {
    let table = Array::full(&[1 << 13, 1 << 14], 0.5f64).expect("lazy");
    let rule = Array::from_fn(&[1 << 13, 1], |i| i[0] as f64).expect("small");
    (table + rule).t().reshape(&[1 << 27]).expect("as many") + 1
}

#[test]
fn address_space() {
    in_a_child("address_space", &[], || {
        // Allocates once what every evaluation in the process needs.
        small_things_are_right("nothing");
        huge(400_000).eval().expect("small");
        Engine::global().clear();
        limit_address_space(96 * MIB);
        type Try = fn() -> Result<()>;
        let rows: [(&str, Try); 14] = [
            ("2^45 elements", || huge(1 << 45).eval().map(drop)),
            ("2^27 elements", || huge(1 << 27).eval().map(drop)),
            ("one broadcast", || {
                Array::from_vec(vec![1u8]).broadcast_to(&[1 << 45]).and_then(|x| x.eval()).map(drop)
            }),
            ("a temporary", || huge_and_turned().slice(..3)?.eval().map(drop)),
            ("one of several", || eval_many(&[&huge(3), &huge(1 << 27)]).map(drop)),
            ("the second of several", || eval_many(&[&huge(8 << 20), &huge(10 << 20)]).map(drop)),
            ("to_vec", || huge(1 << 27).to_vec::<f64>().map(drop)),
            ("the copy of to_vec", || huge(8 << 20).to_vec::<f64>().map(drop)),
            ("bools", || huge(1 << 30).greater(0).eval().map(drop)),
            ("arange", || Array::arange(0i64, 1 << 40, 1)?.eval().map(drop)),
            ("arange of floats", || Array::arange(0.0f32, 1e12, 0.5)?.eval().map(drop)),
            ("linspace", || Array::linspace(0.0f64, 1.0, 1 << 40)?.eval().map(drop)),
            ("from_fn", || Array::from_fn(&[1 << 20, 1 << 20], |_| 0u16).map(drop)),
            ("a conversion", || {
                Array::full(&[1 << 28], 1u8)?.astype(DType::Float64).to_vec::<f64>().map(drop)
            }),
        ];
        for (name, fails) in rows {
            let error = fails().expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Limit, "{name}: {error}");
            small_things_are_right(name);
        }
        for executor in EXECUTORS {
            let error = huge(1 << 27).eval_with(&options(executor)).map(drop).expect_err("too much");
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        }
        // A part of a lazy array can still be evaluated, and printed.
        let x = huge(1 << 45);
        assert_eq!(x.to_string(), "[1.5 1.5 1.5 ... 1.5 1.5 1.5]");
        assert_eq!(x.index_axis(0, -1).and_then(|x| x.item::<f64>()), Ok(1.5));
        let zeros = Array::zeros(&[1 << 30, 1 << 20], DType::UInt8).expect("lazy");
        assert!(zeros.to_string().contains("..."), "{zeros}");
        let shown = format!("{0} {0:?}", huge_and_turned());
        assert!(
            shown.starts_with(
                "[1.5000e+00 2.5000e+00 3.5000e+00 ... 8.1905e+03 8.1915e+03 8.1925e+03] array("
            ),
            "{shown}"
        );
        assert!(huge_and_turned().explain().is_ok_and(|text| text.contains("kernel 1")));
        small_things_are_right("printing");
    });
}

/// Memory that the pool keeps is available to other allocations.
#[test]
fn what_the_pool_keeps() {
    in_a_child("what_the_pool_keeps", &[], || {
        // One thread, because the stacks and heaps of further threads would count towards the limit.
        let interp = options(Executor::Interp);
        huge(400_000).eval_with(&interp).expect("small");
        Engine::global().clear();
        limit_address_space(96 * MIB);
        for round in 0..3 {
            // Frees 56 MiB to the pool and then allocates 80 MiB of another size class, several times.
            for mib in [56, 80, 20, 30, 80] {
                let sum = huge(mib * MIB / 8).eval_with(&interp);
                let sum = sum.unwrap_or_else(|e| panic!("round {round}, {mib} MiB: {e}"));
                assert_eq!(sum.as_slice::<f64>().and_then(|x| x.last()), Some(&1.5));
            }
        }
    });
}

/// No block of 32 KiB of memory is available, and so none for the tiles of a packed operand.
#[test]
fn tiles() {
    // All allocations are from one heap, which is grown to its limit and does not shrink.
    let one_heap = [("MALLOC_ARENA_MAX", "1"), ("MALLOC_TRIM_THRESHOLD_", "1000000000")];
    in_a_child("tiles", &one_heap, || {
        const PIECE: usize = 16 << 10;
        let n = 600;
        let x = Array::from_shape_vec(&[n, n], (0..(n * n) as i64).collect()).expect("as many");
        let (packed, mut out) = (&x.t() + &x, vec![0i64; n * n]);
        let mut room: Vec<Vec<u8>> = Vec::with_capacity(1 << 12);
        room.extend((0..512).map(|_| Vec::with_capacity(PIECE)));
        limit_address_space(0);
        while room.len() < room.capacity() {
            let mut piece = Vec::new();
            if piece.try_reserve_exact(PIECE).is_err() {
                break;
            }
            room.push(piece);
        }
        // Frees holes for small allocations, each between two pieces that are kept. Next to free memory, a hole would grow
        // until a tile fits.
        room.sort_unstable_by_key(|piece| piece.as_ptr().addr());
        let are_adjacent = |a: &Vec<u8>, b: &Vec<u8>| b.as_ptr().addr() - a.as_ptr().addr() < PIECE + 64;
        let mut holes = 0;
        for i in (1..room.len() - 1).step_by(2) {
            if holes < 256 && are_adjacent(&room[i - 1], &room[i]) && are_adjacent(&room[i], &room[i + 1]) {
                room[i] = Vec::new();
                holes += 1;
            }
        }
        assert!(holes > 100, "{holes} holes");
        assert!(Vec::<u8>::new().try_reserve_exact(2 * PIECE).is_err(), "there is memory");
        let interp = options(Executor::Interp);
        let error = Evaluation::with(&interp).eval_into(&packed, &mut out).expect_err("no memory for tiles");
        assert_eq!(
            (error.kind(), &error.to_string()[..15]),
            (ErrorKind::Limit, "cannot allocate"),
            "{error}"
        );
        // There is also no memory for machine code, which is not an error.
        for executor in EXECUTORS {
            let small = (Array::from_vec(vec![1i32, 2]) + 1).eval_with(&options(executor));
            let small = small.and_then(|x| x.to_vec::<i32>());
            assert_eq!(small.as_deref(), Ok(&[2, 3][..]), "{executor:?}");
        }
        assert_eq!(Engine::global().compiled_kernels(), 0);
        drop(room);
        Evaluation::with(&options(Executor::Jit))
            .eval_into(&packed, &mut out)
            .expect("there is memory again");
        assert!(out.iter().enumerate().all(|(at, &z)| {
            let (i, j) = (at / n, at % n);
            z == (i * n + j + j * n + i) as i64
        }));
    });
}

/// Work for several threads: the input, the expression, and the expected result.
fn shared_work() -> (Array<'static>, Array<'static>, Vec<i32>) {
    let n = 400_000;
    let x = Array::from_vec((0..n).collect::<Vec<i32>>());
    let y = (0..30).fold(x.clone(), |y, i| y * 3 + &x + i);
    let step = |x: i32| (0..30).fold(x, |y, i| y.wrapping_mul(3).wrapping_add(x).wrapping_add(i));
    (x, y, (0..n).map(step).collect())
}

/// A new thread would use up the address space. If there is room for its stack, but not for std's next allocation (a stack
/// for signals), the process would be ended. The thread must not be started.
#[test]
fn threads_at_the_limit() {
    let name = "threads_at_the_limit";
    // Amounts in KiB near the size of a stack, in steps of a page, and some others. All memory is from one heap, which grows
    // within these amounts.
    for left in (2040..2100).step_by(4).chain([1536, 3072, 4096, 8192]) {
        let left = format!("{}", left << 10);
        let variables = [("BROADLOOM_TEST_LEFT", &*left), ("MALLOC_ARENA_MAX", "1"), ("RUST_BACKTRACE", "0")];
        in_a_child(name, &variables, || {
            let (_, y, want) = shared_work();
            for executor in EXECUTORS {
                y.eval_with(&options(executor)).expect("on one thread");
            }
            let left = std::env::var("BROADLOOM_TEST_LEFT").ok().and_then(|left| left.parse().ok());
            limit_address_space(left.expect("a number"));
            for executor in EXECUTORS {
                let options = Options { executor, threads: Some(4), ..Options::default() };
                let got = y.eval_with(&options);
                assert!(got.is_ok_and(|y| y.as_slice::<i32>() == Some(&want[..])), "{executor:?}");
            }
        });
        if std::env::var(CHILD).is_ok() {
            return;
        }
    }
}

/// Runs a closure in a process that is forked from this one, and must end well within a minute.
fn in_a_fork(body: impl FnOnce()) {
    // SAFETY: the child runs only code that the library claims to be able to run in a forked process, which this test checks,
    // and ends with `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        // SAFETY: the call takes a number. It ends this process after a minute if it hangs.
        unsafe { libc::alarm(60) };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        // SAFETY: `_exit` runs no exit handlers.
        unsafe { libc::_exit(if done.is_ok() { 0 } else { 1 }) };
    }
    await_child(child);
}

fn await_child(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the call writes to an integer that lives until it returns.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "the forked process hung or failed");
}

/// A forked child does not have the parent's threads. It works alone, and so do its own children.
#[test]
fn threads_and_fork() {
    in_a_child("threads_and_fork", &[], || {
        let (_, y, want) = shared_work();
        let is_right = |threads: Option<usize>| {
            for executor in EXECUTORS {
                let options = Options { executor, threads, ..Options::default() };
                let got = y.eval_with(&options);
                assert!(got.is_ok_and(|y| y.as_slice::<i32>() == Some(&want[..])), "{executor:?}");
            }
        };
        is_right(Some(4));
        in_a_fork(|| {
            is_right(Some(4));
            is_right(None);
            let engine = Engine::new(broadloom::Limits::default());
            assert!(Evaluation::default().engine(&engine).eval_many(&[&y]).is_ok());
            in_a_fork(|| is_right(Some(4)));
        });
        is_right(Some(4));
    });
}

/// A host function forks the process. In the child, chunks that other threads had begun are never completed, which is an
/// error. If no other thread had begun one, the child computes all elements.
#[test]
fn forked_within_an_evaluation() {
    in_a_child("forked_within_an_evaluation", &[], || {
        use std::sync::atomic::{AtomicI32, Ordering};
        thread_local! { static FORKS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) }; }
        static FORKED: AtomicI32 = AtomicI32::new(-1);
        let fork = |x: i32| {
            // Forks once, on the thread that started the evaluation.
            if FORKS.replace(false) {
                // SAFETY: as in `in_a_fork`.
                FORKED.store(unsafe { libc::fork() }, Ordering::Relaxed);
                if FORKED.load(Ordering::Relaxed) == 0 {
                    // SAFETY: as in `in_a_fork`.
                    unsafe { libc::alarm(60) };
                }
            }
            x + 1
        };
        let fork = broadloom::HostFunction::new("fork", fork).expect("a name").with_cost(1000);
        let y = Array::call(&fork, [&Array::from_vec((0..400_000).collect::<Vec<i32>>())]).expect("typed");
        let mut forks = 0;
        for round in 0..20 {
            let options = Options { executor: EXECUTORS[round % 2], threads: Some(4), ..Options::default() };
            FORKS.set(true);
            let got = y.eval_with(&options);
            let is_right =
                got.as_ref().is_ok_and(|y| y.as_slice::<i32>().and_then(|y| y.last()) == Some(&400_000));
            let child = FORKED.swap(-1, Ordering::Relaxed);
            if child == 0 {
                let is_told =
                    got.is_err_and(|e| e.kind() == ErrorKind::Limit && e.message().contains("forked"));
                // SAFETY: `_exit` runs no exit handlers.
                unsafe { libc::_exit(if is_right || is_told { 0 } else { 1 }) };
            }
            assert!(child != 0 && is_right);
            // There is no child if other threads took all parts before this thread got one.
            if child > 0 {
                await_child(child);
                forks += 1;
            }
        }
        assert!(forks > 0, "the process was never forked");
    });
}

/// If no thread can be started, the caller's thread works alone.
#[test]
fn threads() {
    // Stacks of 1 GiB do not fit the remaining address space.
    in_a_child("threads", &[("RUST_MIN_STACK", "1073741824")], || {
        limit_address_space(256 * MIB);
        assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "threads are available");
        let (x, y, want) = shared_work();
        for executor in EXECUTORS {
            for threads in [None, Some(4)] {
                let options = Options { executor, threads, ..Options::default() };
                let got = y.eval_with(&options).and_then(|y| y.to_vec::<i32>());
                assert_eq!(got.as_ref(), Ok(&want), "{executor:?}, {threads:?}");
                let text = y.explain_with(&options, false).expect("explains");
                assert!(text.contains("(1 thread,"), "{text}");
            }
        }
        let kernel = Kernel::new(&[&y], &[&x], &Options::default()).expect("an expression");
        let mut out = vec![0i32; want.len()];
        let input: Vec<i32> = (0..400_000).collect();
        kernel.run(&[(&input[..]).into()], [(&mut out[..]).into()]).expect("runs");
        assert!(out == want);
    });
}
