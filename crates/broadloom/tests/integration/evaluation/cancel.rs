//! Evaluations of arrays are cancelled and watched as runs of kernels are: in every stage, whatever the views, between chunks of a
//! bounded size.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use broadloom::prelude::*;
use broadloom::{
    Control, Engine, ErrorKind, Executor, Limits, Options, Progress, eval_many_watched, eval_many_with,
};

const N: usize = 1_000_000;

fn numbers() -> Array<'static> {
    Array::from_shape_vec(&[1000, 1000], (0..N).map(|i| (i % 1999) as f32).collect()).expect("as many")
}

fn options(threads: Option<usize>) -> Options {
    Options { threads, ..Options::default() }
}

const THREADS: [Option<usize>; 3] = [Some(1), Some(4), None];

/// What is heard of an evaluation.
fn watched<T>(evaluate: impl FnOnce(&Control<'_>) -> Result<T>) -> Result<(T, Vec<Progress>)> {
    let seen: Mutex<Vec<Progress>> = Mutex::default();
    let note = |progress| seen.lock().expect("nobody panicked").push(progress);
    let value = evaluate(&Control { progress: Some(&note), ..Control::default() })?;
    Ok((value, seen.into_inner().expect("nobody panicked")))
}

/// Expressions of one loop, over views, and with a stage in between; with the elements of all their loops.
fn expressions() -> [(&'static str, Array<'static>, usize); 4] {
    let x = numbers();
    let part = |from: isize| x.slice([Range::from(from..from + 900), (..).into()]).expect("inside");
    // No strides express it, so that it is materialised first.
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
            let (got, seen) = watched(|control| y.eval_watched(&options, control))?;
            assert_eq!(got.to_vec::<f32>()?, y.eval_with(&options)?.to_vec::<f32>()?, "{name}");
            let total = seen[0].total;
            assert_eq!(total, elements, "{name}");
            assert!(seen.iter().all(|p| p.total == total) && seen.iter().any(|p| p.done == total), "{name}");
            assert!(seen.len() >= elements.div_ceil(1 << 17), "{name}: {} chunks", seen.len());
        }
    }
    Ok(())
}

/// Whoever hears of a chunk cancels: no further one begins, wherever the evaluation is.
#[test]
fn cancelling_stops_in_any_stage() -> Result<()> {
    for (name, y, _) in expressions() {
        for threads in THREADS {
            let options = options(threads);
            let (_, seen) = watched(|control| y.eval_watched(&options, control))?;
            let mut done: Vec<usize> = seen.iter().map(|p| p.done).collect();
            done.sort_unstable();
            // At the first chunk, and at the one in the middle, when others are left even if each thread has begun one.
            for from in [done[0], done[done.len() / 2]] {
                let (stop, after) = (AtomicBool::new(false), AtomicUsize::new(0));
                let cancel = |progress: Progress| {
                    if stop.load(Ordering::Relaxed) {
                        after.fetch_add(1, Ordering::Relaxed);
                    }
                    stop.fetch_or(progress.done >= from, Ordering::Relaxed);
                };
                let control = Control { cancel: Some(&stop), progress: Some(&cancel) };
                let e = y.eval_watched(&options, &control).expect_err("cancelled");
                assert_eq!(e.kind(), ErrorKind::Cancelled, "{name}, {threads:?}: {e}");
                assert!(e.message().contains(" elements"), "{e}");
                // Those that other threads had begun.
                assert!(after.into_inner() < threads.unwrap_or(N), "{name}, {threads:?}");
            }
        }
    }
    Ok(())
}

/// A flag that is set before is seen before anything is planned; also where there is nothing to compute.
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
        engine.eval_many_watched(&[&y], &options, &control).map(drop),
        eval_many_watched(&[&y, &x], &options, &control).map(drop),
        y.eval_watched(&options, &control).map(drop),
        x.eval_watched(&options, &control).map(drop),
        y.eval_into_watched(&mut out, &options, &control),
        x.greater(1).eval_into_watched(&mut truth, &options, &control),
        y.eval_into_array_watched(&mut given, &options, &control),
    ]
    .map(|result| result.map_err(|e| e.kind()));
    assert_eq!(kinds, [Err(ErrorKind::Cancelled); 7]);
    assert_eq!(engine.statistics().plans, 0);
    Ok(())
}

/// Each way into memory, watched.
#[test]
fn every_way_is_watched() -> Result<()> {
    let x = numbers();
    let (y, options) = (&x + 1, Options::default());
    let want = y.to_vec::<f32>()?;
    let mut out = vec![0.0f32; N];
    let ((), seen) = watched(|control| y.eval_into_watched(&mut out, &options, control))?;
    assert_eq!((out == want, seen.iter().map(|p| p.done).max()), (true, Some(N)));
    let mut given = numbers();
    let ((), seen) = watched(|control| y.eval_into_array_watched(&mut given, &options, control))?;
    assert_eq!((given.to_vec::<f32>()? == want, seen.iter().map(|p| p.done).max()), (true, Some(N)));
    let mut truth = vec![false; N];
    let mask = x.greater(1);
    let ((), seen) = watched(|control| mask.eval_into_watched(&mut truth, &options, control))?;
    assert_eq!((truth == mask.to_vec::<bool>()?, seen.iter().map(|p| p.done).max()), (true, Some(N)));
    let (several, seen) = watched(|control| eval_many_watched(&[&y, &mask], &options, control))?;
    assert_eq!(several[0].to_vec::<f32>()?, eval_many_with(&[&y], &options)?[0].to_vec::<f32>()?);
    assert_eq!(seen.iter().map(|p| p.done).max(), Some(N), "one loop");
    Ok(())
}

/// Chunks of a costly expression have fewer elements, down to a unit of the loops (2^14): cancelling never waits for long.
#[test]
fn chunks_are_bounded_in_time() -> Result<()> {
    let x = Array::from_vec(vec![1.5f64; 1 << 17]);
    let cheap = &x + 1;
    let costly = (0..60).fold(x.clone(), |y, _| y.pow(&x).sin() + 2);
    for executor in [Executor::Interp, Executor::Jit] {
        let options = Options { executor, threads: Some(1), ..Options::default() };
        let chunks = |y: &Array<'_>| watched(|c| y.eval_watched(&options, c)).map(|(_, seen)| seen.len());
        assert_eq!((chunks(&cheap)?, chunks(&costly)?), (1, 8), "{executor:?}");
    }
    Ok(())
}
