//! Many threads compile, evaluate and drop expressions at once, with caches so small that entries are evicted all the
//! time. Results must be right, and the limits must hold.
//!
//! To run for longer: `BROADLOOM_STRESS_SECONDS=30 cargo test --release -p broadloom --test integration threads`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use broadloom::prelude::*;
use broadloom::text::Expression;
use broadloom::{Engine, Kernel, Limits, Options};
use broadloom_testkit::Runner;
use broadloom_testkit::random::Rng;

mod waiting;

const THREADS: usize = 8;

/// The duration of each of the following tests.
fn time() -> Duration {
    let seconds = std::env::var("BROADLOOM_STRESS_SECONDS").ok();
    let seconds =
        seconds.map_or(1.5, |s| s.parse().expect("BROADLOOM_STRESS_SECONDS is a number of seconds"));
    Duration::from_secs_f64(seconds)
}

/// The types that users may send to and share between threads. If one is not `Send + Sync`, this file does not
/// compile.
const _: () = {
    const fn crosses_threads<T: Send + Sync>() {}
    crosses_threads::<Kernel>();
    crosses_threads::<Engine>();
    crosses_threads::<Array<'static>>();
    crosses_threads::<Array<'_>>();
    crosses_threads::<Options>();
    crosses_threads::<Limits>();
    crosses_threads::<Error>();
    crosses_threads::<Expression>();
};

const TINY: Limits =
    Limits { plans: 3, plan_words: 300, kernels: 2, code_bytes: 1 << 20, pool_bytes: 100_000 };

/// One of several hundred expressions; `modelled` computes its value for one element.
fn expression(choice: usize, x: &Array<'static>, y: &Array<'static>) -> Array<'static> {
    let steps = 1 + choice % 7;
    (0..steps).fold(x.clone(), |z, i| match (choice / 7 + i) % 5 {
        0 => z * 3 + y,
        1 => (z ^ y) - 7,
        2 => z.maximum(y) * choice as i32,
        3 => z.negative() + y.square(),
        _ => where_(z.less(y), &z + 1, y - &z),
    })
}

fn modelled(choice: usize, x: i32, y: i32) -> i32 {
    let steps = 1 + choice % 7;
    (0..steps).fold(x, |z, i| match (choice / 7 + i) % 5 {
        0 => z.wrapping_mul(3).wrapping_add(y),
        1 => (z ^ y).wrapping_sub(7),
        2 => z.max(y).wrapping_mul(choice as i32),
        3 => z.wrapping_neg().wrapping_add(y.wrapping_mul(y)),
        _ if z < y => z.wrapping_add(1),
        _ => y.wrapping_sub(z),
    })
}

/// Evaluates random expressions until the time is over. Returns the number of evaluations.
fn work(engine: &Engine, seed: u64, held: &Array<'static>) -> usize {
    let mut rng = Rng::new(seed);
    let end = Instant::now() + time();
    let mut done = 0;
    while Instant::now() < end {
        let n = [0, 1, 16, 37, 1000, 30_000][rng.below(6)];
        let choice = rng.below(300);
        let values = |rng: &mut Rng| -> Vec<i32> { (0..n).map(|_| rng.next() as i32).collect() };
        let (xs, ys) = (values(&mut rng), values(&mut rng));
        let (x, y) = (Array::from_vec(xs.clone()), Array::from_vec(ys.clone()));
        let runner = runners()[rng.below(runners().len())];
        let threads = [None, Some(1), Some(2)][rng.below(3)];
        let options = Options { threads, ..runner.options() };
        let roots = [expression(choice, &x, &y), &x + held.slice(..1).expect("an axis")];
        // The second expression shares nodes with expressions that other threads evaluate and drop.
        let results =
            Evaluation::with(&options).engine(engine).eval_many(&[&roots[0], &roots[1]]).expect("evaluates");
        let want: Vec<i32> = xs.iter().zip(&ys).map(|(&x, &y)| modelled(choice, x, y)).collect();
        assert_eq!(results[0].to_vec::<i32>().as_ref(), Ok(&want), "{choice} {n} {runner:?} {threads:?}");
        let want: Vec<i32> = xs.iter().map(|x| x.wrapping_add(5)).collect();
        assert_eq!(results[1].to_vec::<i32>().as_ref(), Ok(&want), "{choice} {n} {runner:?} {threads:?}");
        done += 1;
        if rng.chance(1, 300) {
            engine.clear();
        }
        // A thread inserts into the cache before it evicts, so the limit may be exceeded by one kernel per thread
        // during calls.
        assert!(engine.compiled_kernels() <= TINY.kernels + THREADS, "{}", engine.compiled_kernels());
    }
    done
}

#[test]
fn eight_threads_share_a_tiny_engine() {
    let engine = Engine::new(TINY);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
    let held = Array::from_vec(vec![2i32, 3]) + 3;
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for seed in 0..THREADS as u64 {
            let (engine, pool, held, done) = (&engine, &pool, &held, &done);
            scope.spawn(move || {
                // Half of the evaluations start on threads of a pool, the others on threads of their own.
                let own = || work(engine, seed, held);
                let count = if seed % 2 == 0 { own() } else { pool.install(own) };
                done.fetch_add(count, Ordering::Relaxed);
            });
        }
    });
    let done = done.into_inner();
    assert!(done > 10 * THREADS, "only {done} evaluations");
    assert!(engine.compiled_kernels() <= TINY.kernels);
    engine.clear();
    assert_eq!(engine.compiled_kernels(), 0);
}

/// One array that all threads evaluate at once, while handles of it are created and dropped.
#[test]
fn threads_share_an_expression() {
    let data: Vec<u64> = (0..5000).collect();
    let x = Array::from_vec(data.clone());
    let y = (0..30).fold(x.clone(), |y, i| y * 3 + &x + i);
    let want: Vec<u64> = data
        .iter()
        .map(|&x| (0..30u64).fold(x, |y, i| y.wrapping_mul(3).wrapping_add(x).wrapping_add(i)))
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (y, want) = (y.clone(), &want);
            scope.spawn(move || {
                for round in 0..40 {
                    let runner = runners()[(thread + round) % runners().len()];
                    let options = runner.options();
                    let got = y.clone().eval_with(&options).and_then(|y| y.to_vec::<u64>());
                    assert_eq!(got.as_ref(), Ok(want), "{runner:?}");
                    // A node that only this thread has, above the shared expression.
                    let top = &y + round as i32;
                    let first = top.slice(..1).and_then(|top| top.item::<u64>());
                    assert_eq!(first, Ok(want[0].wrapping_add(round as u64)));
                }
            });
        }
    });
}

/// Kernels are passed between threads: one thread builds a kernel, others run it at the same time, and the last one
/// drops it.
#[test]
fn kernels_are_built_run_and_dropped_on_any_thread() {
    const N: usize = 1000;
    const PLACES: usize = 5;
    type Kept = Option<(usize, Arc<Kernel>)>;
    let shelf: [Mutex<Kept>; PLACES] = Default::default();
    let counts: [AtomicUsize; 2] = Default::default();
    let end = Instant::now() + time();
    std::thread::scope(|scope| {
        for seed in 0..THREADS as u64 {
            let (shelf, counts) = (&shelf, &counts);
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                while Instant::now() < end {
                    let place = &shelf[rng.below(PLACES)];
                    if rng.chance(1, 4) {
                        let choice = rng.below(300);
                        let runner = runners()[rng.below(runners().len())];
                        let fresh = Arc::new(kernel(choice, N, runner));
                        // The lock is held only for the exchange; the old kernel is dropped afterwards.
                        let old = place.lock().expect("nobody panicked").replace((choice, fresh));
                        drop(old);
                        counts[0].fetch_add(1, Ordering::Relaxed);
                    }
                    let taken = place.lock().expect("nobody panicked").clone();
                    let Some((choice, kernel)) = taken else { continue };
                    let [xs, ys] = [0, 1].map(|_| (0..N).map(|_| rng.next() as i32).collect::<Vec<_>>());
                    let mut out = vec![0i32; N];
                    let inputs = [(&xs[..]).into(), (&ys[..]).into()];
                    kernel.run(&inputs, [(&mut out[..]).into()]).expect("runs");
                    let want: Vec<i32> = xs.iter().zip(&ys).map(|(&x, &y)| modelled(choice, x, y)).collect();
                    assert_eq!(out, want, "{choice}");
                    counts[1].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let [built, run] = counts.map(AtomicUsize::into_inner);
    assert!(built > 2 * THREADS && run > built, "{built} built, {run} run");
}

fn runners() -> Vec<Runner> {
    Runner::all().chain([Runner::AUTO]).collect()
}

fn kernel(choice: usize, n: usize, runner: Runner) -> Kernel {
    let [x, y] = [0, 1].map(|_| Array::from_vec(vec![0i32; n]));
    let options = runner.options();
    Kernel::new(&[&expression(choice, &x, &y)], &[&x, &y], &options).expect("an expression")
}
