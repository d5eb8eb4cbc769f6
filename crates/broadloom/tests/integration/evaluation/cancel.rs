//! Cancelling and watching of evaluations, which work as for runs of kernels: in every stage, with any views, and between chunks
//! of bounded size.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use broadloom::prelude::*;
use broadloom::{
    Control, Engine, ErrorKind, Evaluation, Executor, HostFunction, Kernel, Limits, Options, Over, Progress,
};
use broadloom_testkit::one_of;

const N: usize = 1_000_000;

fn numbers() -> Array<'static> {
    Array::from_shape_vec(&[1000, 1000], (0..N).map(|i| (i % 1999) as f32).collect()).expect("as many")
}

fn options(threads: Option<usize>) -> Options {
    Options { threads, ..Options::default() }
}

const THREADS: [Option<usize>; 3] = [Some(1), Some(4), None];

/// Returns an evaluation's result, and its progress reports.
fn watched<T>(evaluate: impl FnOnce(&Control<'_>) -> Result<T>) -> Result<(T, Vec<Progress>)> {
    let seen: Mutex<Vec<Progress>> = Mutex::default();
    let note = |progress| seen.lock().expect("nobody panicked").push(progress);
    let value = evaluate(&Control { progress: Some(&note), ..Control::default() })?;
    Ok((value, seen.into_inner().expect("nobody panicked")))
}

/// Expressions of one loop, of views, and of two stages, each with the total number of elements of its loops.
fn expressions() -> [(&'static str, Array<'static>, usize); 4] {
    let x = numbers();
    let part = |from: isize| x.slice([Range::from(from..from + 900), (..).into()]).expect("inside");
    // No strides can express this reshape, so its operand is materialised first.
    let staged = (&x * x.t() + 1).t().reshape(&[-1]).expect("as many") + 1;
    [
        ("one loop", &x * 2 + 1, N),
        ("transposed", (&x + x.t()) * 2, N),
        ("slices", part(100) - part(0), 900_000),
        ("stages", staged, 2 * N),
    ]
}

#[test]
fn progress_adds_up_and_values_are_the_same() -> Result<()> {
    for (name, y, elements) in expressions() {
        for threads in THREADS {
            let options = options(threads);
            let (got, seen) = watched(|control| Evaluation::with(&options).control(control).eval(&y))?;
            assert_eq!(got.to_vec::<f32>()?, y.eval_with(&options)?.to_vec::<f32>()?, "{name}");
            let total = seen[0].total;
            assert_eq!(total, elements, "{name}");
            assert!(seen.iter().all(|p| p.total == total) && seen.iter().any(|p| p.done == total), "{name}");
            assert!(seen.len() >= elements.div_ceil(1 << 17), "{name}: {} chunks", seen.len());
        }
    }
    Ok(())
}

/// The progress callback cancels the evaluation. No further chunk begins, in whatever stage the evaluation is.
#[test]
fn cancelling_stops_in_any_stage() -> Result<()> {
    for (name, y, _) in expressions() {
        for threads in THREADS {
            let options = options(threads);
            let (_, seen) = watched(|control| Evaluation::with(&options).control(control).eval(&y))?;
            let mut done: Vec<usize> = seen.iter().map(|p| p.done).collect();
            done.sort_unstable();
            // Cancels at the first chunk, and at a chunk in the middle, when further chunks remain even if each thread has begun
            // one.
            for from in [done[0], done[done.len() / 2]] {
                let (stop, after) = (AtomicBool::new(false), AtomicUsize::new(0));
                let cancel = |progress: Progress| {
                    if stop.load(Ordering::Relaxed) {
                        after.fetch_add(1, Ordering::Relaxed);
                    }
                    stop.fetch_or(progress.done >= from, Ordering::Relaxed);
                };
                let control = Control { cancel: Some(&stop), progress: Some(&cancel), ..Control::default() };
                let e = Evaluation::with(&options).control(&control).eval(&y).expect_err("cancelled");
                assert_eq!(e.kind(), ErrorKind::Cancelled, "{name}, {threads:?}: {e}");
                assert!(e.message().contains(" elements"), "{e}");
                // Only chunks that other threads had already begun are completed.
                assert!(after.into_inner() < threads.unwrap_or(N), "{name}, {threads:?}");
            }
        }
    }
    Ok(())
}

/// A flag that is already set is detected before anything is planned, even if there is nothing to compute.
#[test]
fn cancelled_before_it_begins() -> Result<()> {
    let (stop, x) = (AtomicBool::new(true), numbers());
    let (y, options) = (&x + 1, Options::default());
    let control = Control { cancel: Some(&stop), ..Control::default() };
    let engine = Engine::new(Limits::default());
    let mut out = vec![0.0f32; N];
    let mut given = numbers();
    let mut truth = vec![false; N];
    let kinds = [
        Evaluation::with(&options).control(&control).engine(&engine).eval_many(&[&y]).map(drop),
        Evaluation::with(&options).control(&control).eval_many(&[&y, &x]).map(drop),
        Evaluation::with(&options).control(&control).eval(&y).map(drop),
        Evaluation::with(&options).control(&control).eval(&x).map(drop),
        Evaluation::with(&options).control(&control).eval_into(&y, &mut out),
        Evaluation::with(&options).control(&control).eval_into(&x.greater(1), &mut truth),
        Evaluation::with(&options).control(&control).eval_into_array(&y, &mut given),
    ]
    .map(|result| result.map_err(|e| e.kind()));
    assert_eq!(kinds, [Err(ErrorKind::Cancelled); 7]);
    assert_eq!(engine.statistics().plans, 0);
    Ok(())
}

/// Every function that evaluates into memory reports its progress.
#[test]
fn every_way_is_watched() -> Result<()> {
    let x = numbers();
    let (y, options) = (&x + 1, Options::default());
    let want = y.to_vec::<f32>()?;
    let mut out = vec![0.0f32; N];
    let ((), seen) = watched(|control| Evaluation::with(&options).control(control).eval_into(&y, &mut out))?;
    assert_eq!((out == want, seen.iter().map(|p| p.done).max()), (true, Some(N)));
    let mut given = numbers();
    let ((), seen) =
        watched(|control| Evaluation::with(&options).control(control).eval_into_array(&y, &mut given))?;
    assert_eq!((given.to_vec::<f32>()? == want, seen.iter().map(|p| p.done).max()), (true, Some(N)));
    let mut truth = vec![false; N];
    let mask = x.greater(1);
    let ((), seen) =
        watched(|control| Evaluation::with(&options).control(control).eval_into(&mask, &mut truth))?;
    assert_eq!((truth == mask.to_vec::<bool>()?, seen.iter().map(|p| p.done).max()), (true, Some(N)));
    let (several, seen) =
        watched(|control| Evaluation::with(&options).control(control).eval_many(&[&y, &mask]))?;
    assert_eq!(several[0].to_vec::<f32>()?, Evaluation::with(&options).eval_many(&[&y])?[0].to_vec::<f32>()?);
    assert_eq!(seen.iter().map(|p| p.done).max(), Some(N), "one loop");
    Ok(())
}

/// A chunk of a costly expression has fewer elements than a unit of the loops, so that the time until cancellation is bounded.
#[test]
fn chunks_are_bounded_in_time() -> Result<()> {
    let x = Array::from_vec(vec![1.5f64; 1 << 17]);
    let cheap = &x + 1;
    let costly = (0..60).fold(x.clone(), |y, _| y.pow(&x).sin() + 2);
    for executor in [Executor::Interp, Executor::Jit] {
        let options = Options { executor, threads: Some(1), ..Options::default() };
        let chunks = |y: &Array<'_>| {
            watched(|c| Evaluation::with(&options).control(c).eval(y)).map(|(_, seen)| seen.len())
        };
        assert_eq!(chunks(&cheap)?, 1, "{executor:?}");
        assert!(chunks(&costly)? >= 64, "{executor:?}");
    }
    Ok(())
}

/// Smaller chunks do not change the bits of results, in loops of any kind.
#[test]
fn small_chunks_change_no_bit() -> Result<()> {
    let x = Array::from_shape_vec(&[300, 401], (0..120_300).map(|i| (i % 997) as f32).collect())?;
    let costly = |x: &Array<'static>| (0..40).fold(x + 1, |y, _| y.sin() + 2);
    let row = x.slice(0)?;
    let expressions = [
        ("one loop", costly(&x)),
        ("transposed", costly(&x) + x.t().slice([Range::from(..300), (..300).into()])?.sum(())?),
        ("tiles", costly(&x.t())),
        ("rows", costly(&(&x.slice([(..).into(), Range::from(1..400)])? + row.slice(..399)?))),
        ("short rows", costly(&(x.reshape(&[-1, 3])? + row.slice(..3)?))),
        ("generated", costly(&x.indices(1)?.astype(DType::Float32))),
    ];
    for (name, y) in expressions {
        for executor in [Executor::Interp, Executor::Jit] {
            for threads in [Some(1), Some(3)] {
                let options = Options { executor, threads, ..Options::default() };
                let (got, seen) = watched(|control| Evaluation::with(&options).control(control).eval(&y))?;
                assert!(seen.len() > 8, "{name}: {} chunks", seen.len());
                assert_eq!(got.to_bytes()?, y.eval_with(&options)?.to_bytes()?, "{name}, {executor:?}");
            }
        }
    }
    Ok(())
}

/// Expressions that would take minutes or hours, one for each kind of stage. They allocate little memory.
fn endless() -> Result<Vec<(&'static str, Array<'static>)>> {
    let row = Array::from_vec((0..512).map(|i| f64::from(i % 7)).collect());
    let column = row.reshape(&[-1, 1])?;
    let matrix = Array::from_shape_vec(&[512, 512], (0..1 << 18).map(|i| f64::from(i % 1999)).collect())?;
    let long = Array::from_vec(vec![1.5_f64; 1 << 22]);
    let costly = |x: &Array<'static>, n: usize| (0..n).fold(x.clone(), |y, _| (y * 1e300).sin());
    let many = 2_000_000_000;
    let numbers = Array::arange(0, 20_000_000_000_i64, 1)?;
    let wide = row.broadcast_to(&[many, 512])?;
    let tall = column.broadcast_to(&[512, many])?;
    let logits = costly(&matrix.broadcast_to(&[64, 512, 512])?, 400);
    let softmax = {
        let e = (&logits - logits.max(Over::axis(-1).keep_dims())?).exp();
        &e / e.sum(Over::axis(-1).keep_dims())?
    };
    Ok(vec![
        ("stored", costly(&long, 1500)),
        ("generated numbers", numbers.sum(())?),
        ("computed of generated numbers", (numbers.astype(DType::Float64) * 0.5).sin().max(())?),
        ("rows in memory", long.broadcast_to(&[1_000_000, 1 << 22])?.max(Over::axis(-1))?),
        ("rows computed", (wide.t() * 2).sin().sum(Over::axis(-1))?),
        ("short rows", costly(&wide, 3).prod(Over::axis(-1))?.max(())?),
        ("one value for all", tall.sum(Over::axis(-1))?),
        ("across in memory", wide.sum(Over::axis(0))?),
        ("across, computed", (&wide + 1).sqrt().min(Over::axis(0))?),
        ("panels", costly(&matrix.t().broadcast_to(&[many, 512, 512])?, 1).sum(())?),
        ("several stages", wide.std(Over::axis(0), 0.0)?),
        ("the place of a maximum", wide.argmax(Over::axis(0))?),
        ("scanned", costly(&long, 1500).cumulative_sum(Some(0), None, false)?),
        ("row blocks", softmax.sum(())?),
    ])
}

/// An evaluation stops in every kind of stage, when the poll returns false, when the flag is set, and at the time limit. If it did
/// not stop, the test would run longer than any test may.
#[test]
fn whatever_takes_long_is_stopped() -> Result<()> {
    for (i, (name, y)) in endless()?.into_iter().enumerate() {
        for threads in [Some(1), Some(3)].into_iter().skip(i % one_of(2)).step_by(one_of(2)) {
            let options = options(threads);
            let control = Control { poll: Some(&|| false), ..Control::default() };
            let e = Evaluation::with(&options).control(&control).eval(&y).expect_err("it was polled");
            assert_eq!(e.kind(), ErrorKind::Cancelled, "{name}, {threads:?}: {e}");
            let stop = AtomicBool::new(false);
            let set = || {
                stop.store(true, Ordering::Relaxed);
                true
            };
            let control = Control { cancel: Some(&stop), poll: Some(&set), ..Control::default() };
            let e = Evaluation::with(&options).control(&control).eval(&y).expect_err("cancelled");
            assert_eq!(e.kind(), ErrorKind::Cancelled, "{name}, {threads:?}: {e}");
            let limited = Options { max_time: Some(Duration::from_millis(60)), ..options };
            let e = y.eval_with(&limited).expect_err("it takes too long");
            assert_eq!(e.kind(), ErrorKind::TimeLimit, "{name}, {threads:?}: {e}");
            assert!(
                e.to_string().contains("time limit of 60ms") && e.to_string().contains("max_time"),
                "{e}"
            );
        }
    }
    Ok(())
}

/// A scan reports elements when they are stored, and can still be cancelled afterwards. The shapes have many runs, one run, and
/// one with long rows.
#[test]
fn scans_are_cancelled() -> Result<()> {
    // Cancels between two tiles, and, for rows that are too long for tiles, after all elements have been stored.
    for (shape, axis, done) in
        [(&[1 << 18, 8][..], 1, 1 << 20), (&[1 << 21], 0, 1 << 20), (&[4, 1 << 19], 0, 1 << 21)]
    {
        let x = Array::from_shape_vec(shape, (0..1 << 21).map(|i| (i % 1999) as f32).collect())?;
        let y = x.cumulative_sum(Some(axis), None, true)?;
        let stop = AtomicBool::new(false);
        let stored = |p: Progress| {
            stop.fetch_or(p.done >= done, Ordering::Relaxed);
        };
        let control = Control { cancel: Some(&stop), progress: Some(&stored), ..Control::default() };
        let e = Evaluation::with(&options(None)).control(&control).eval(&y).expect_err("cancelled");
        assert_eq!(e.kind(), ErrorKind::Cancelled, "{shape:?}: {e}");
    }
    Ok(())
}

/// A row longer than the maximum that is scanned at a time is scanned in strips. Each column has the same bits as when it is
/// scanned alone.
#[test]
fn long_rows_are_scanned_in_strips() -> Result<()> {
    let (rows, columns) = (5, (1 << 18) + 77);
    let x = Array::from_shape_vec(
        &[rows, columns],
        (0..rows * columns).map(|i| 1.0 / (i as f64 + 3.0)).collect(),
    )?;
    for initial in [false, true] {
        let all = x.cumulative_sum(Some(0), None, initial)?.eval()?;
        for column in [0, 1, (1 << 17) - 1, 1 << 17, 1 << 18, columns - 1] {
            let of = |x: &Array<'_>| x.slice([(..).into(), Range::at(column as isize)]).map(|c| c.eval());
            let alone = of(&x)??.cumulative_sum(Some(0), None, initial)?;
            assert_eq!(of(&all)??.to_bytes()?, alone.to_bytes()?, "{column}");
        }
    }
    Ok(())
}

/// A time limit that is not exceeded has no effect. Planning counts towards the limit.
#[test]
fn a_time_limit_that_is_kept() -> Result<()> {
    let x = numbers();
    let y = &x * 2 + 1;
    let limited = |time| Options { max_time: Some(time), ..Options::default() };
    let want = y.to_vec::<f32>()?;
    for time in [Duration::from_secs(1000), Duration::MAX] {
        assert_eq!(y.eval_with(&limited(time))?.to_vec::<f32>()?, want);
    }
    let e = y.eval_with(&limited(Duration::ZERO)).expect_err("no time at all");
    assert_eq!(e.kind(), ErrorKind::TimeLimit, "{e}");
    let a = Array::input("a", DType::Float32, &[1000.into(), 1000.into()])?;
    let kernel = |time| Kernel::new(&[&(&a * 2 + 1)], &[&a], &limited(time));
    let (data, mut out) = (x.to_vec::<f32>()?, vec![0.0_f32; N]);
    kernel(Duration::from_secs(1000))?.run(&[(&data).into()], [(&mut out).into()])?;
    assert_eq!(out, want);
    let run = kernel(Duration::ZERO)?.run(&[(&data).into()], [(&mut out).into()]);
    assert_eq!(run.map_err(|e| e.kind()), Err(ErrorKind::TimeLimit));
    Ok(())
}

/// Kernels can be stopped like evaluations, through every function that runs them.
#[test]
fn kernels_are_stopped() -> Result<()> {
    let a = Array::input("a", DType::Float64, &[5.into()])?;
    let sum = a.broadcast_to(&[1 << 40, 5])?.sum(())?;
    let (data, mut out) = ([1.0, 2.0, 3.0, 4.0, 5.0], [0.0]);
    let kernel = Kernel::new(&[&sum], &[&a], &Options::default())?;
    let control = Control { poll: Some(&|| false), ..Control::default() };
    let call = kernel.bind(&[])?;
    assert!(call.estimated_time() > Duration::from_secs(60));
    let runs = [
        kernel.run_with(&[(&data).into()], [(&mut out).into()], &control),
        call.run_with(&[(&data).into()], [(&mut out).into()], &control),
    ];
    assert_eq!(runs.map(|run| run.map_err(|e| e.kind())), [Err(ErrorKind::Cancelled); 2]);
    let options = Options { max_time: Some(Duration::from_millis(60)), ..Options::default() };
    let kernel = Kernel::new(&[&sum], &[&a], &options)?;
    let run = kernel.run(&[(&data).into()], [(&mut out).into()]);
    assert_eq!(run.map_err(|e| e.kind()), Err(ErrorKind::TimeLimit));
    Ok(())
}

/// The poll is also called on the caller's thread when this thread has no work left and waits for another thread, which here
/// continues until the poll has been called for about a second.
#[test]
fn the_caller_is_polled_while_it_waits() -> Result<()> {
    static CALLER: OnceLock<ThreadId> = OnceLock::new();
    static BEGUN: AtomicBool = AtomicBool::new(false);
    static POLLS: AtomicUsize = AtomicUsize::new(0);
    let wait_for = |done: &dyn Fn() -> bool| {
        let since = Instant::now();
        while !done() && since.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let slow = move |x: i32| {
        if CALLER.get() == Some(&std::thread::current().id()) {
            wait_for(&|| BEGUN.load(Ordering::Relaxed));
        } else {
            BEGUN.store(true, Ordering::Relaxed);
            wait_for(&|| POLLS.load(Ordering::Relaxed) >= 20);
        }
        x
    };
    let slow = HostFunction::new("slow", slow).expect("a name").with_cost(1000);
    let y = Array::call(&slow, [&Array::from_vec((0..200_000).collect::<Vec<i32>>())])?;
    let _ = CALLER.set(std::thread::current().id());
    let poll = || {
        POLLS.fetch_add(1, Ordering::Relaxed);
        true
    };
    let control = Control { poll: Some(&poll), ..Control::default() };
    let got = Evaluation::with(&Options { executor: Executor::Interp, ..options(Some(2)) })
        .control(&control)
        .eval(&y)?;
    assert_eq!(got.slice(-1)?.item::<i32>()?, 199_999);
    if BEGUN.load(Ordering::Relaxed) {
        assert!(POLLS.load(Ordering::Relaxed) >= 20, "{POLLS:?}");
    }
    // If the poll returns false, the other thread stops too, between two chunks.
    let control = Control { poll: Some(&|| false), ..Control::default() };
    let long = (0..60).fold(Array::from_vec(vec![1.5_f64; 1 << 22]), |y, _| (y * 1e300).sin());
    let e = Evaluation::with(&options(Some(2))).control(&control).eval(&long).expect_err("it takes longer");
    assert_eq!(e.kind(), ErrorKind::Cancelled, "{e}");
    Ok(())
}

/// Only the thread that started the evaluation calls the poll.
#[test]
fn the_caller_polls() -> Result<()> {
    let x = Array::from_vec(vec![0.5_f64; (1 << 21) / one_of(4)]);
    let y = (0..200).fold(x.clone(), |y, _| (y + &x).sin());
    let (caller, others) = (std::thread::current().id(), AtomicUsize::new(0));
    let poll = || {
        let is_caller = std::thread::current().id() == caller;
        others.fetch_add(usize::from(!is_caller), Ordering::Relaxed);
        true
    };
    let control = Control { poll: Some(&poll), ..Control::default() };
    let got = Evaluation::with(&options(Some(4))).control(&control).eval(&y)?;
    assert_eq!(got.to_bytes()?, y.eval()?.to_bytes()?);
    assert_eq!(others.into_inner(), 0);
    Ok(())
}
