//! Measures the speed-up by a second thread: alternates kernels on one and on two threads, from 10 000 elements on.
//!
//! For each row and number of elements, prints the median time of successive calls on one thread and on two, in microseconds, and
//! the ratio of these times. It also prints this ratio for plain loops that read the same memory. An argument that is a name
//! selects the rows whose names contain it, a number selects a number of elements, and `pause=100` inserts a pause of 100 µs
//! before each call.
//!
//! `cargo run --release -p broadloom-bench --bin threads`
#![forbid(unsafe_code)]

use std::error::Error;
use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

use broadloom::{Array, DType, Kernel, Options, Over};

const ELEMENTS: [usize; 7] = [10_000, 20_000, 50_000, 100_000, 300_000, 1_000_000, 10_000_000];
/// The duration of a turn, in which kernels run on one thread or on two, and the number of turns.
const TURN: Duration = Duration::from_millis(10);
const TURNS: usize = 15;

type BuildTimed = fn(&Array<'static>, &Array<'static>) -> broadloom::Result<Array<'static>>;

const ROWS: [(&str, BuildTimed); 7] = [
    ("add", |a, b| Ok(a + b)),
    ("sigmoid", |a, _| Ok(1.0 / ((-a).exp() + 1.0))),
    ("eight", |a, b| Ok(((a * 2.0 + b * 3.0) / (a * a + 1.0) - b).abs().sqrt())),
    ("sum", |a, _| a.sum(())),
    ("dot", |a, b| (a * b).sum(())),
    ("variance", |a, _| a.var((), 0.0)),
    ("row_sums", |a, _| a.reshape(&[-1, 1000])?.sum(Over::axis(-1))),
];

fn main() -> Result<(), Box<dyn Error>> {
    let (mut names, mut counts, mut pause) = (Vec::new(), Vec::new(), Duration::ZERO);
    for argument in std::env::args().skip(1) {
        if let Some(time) = argument.strip_prefix("pause=") {
            pause = Duration::from_micros(time.parse()?);
        } else if let Ok(n) = argument.parse::<usize>() {
            counts.push(n);
        } else {
            names.push(argument);
        }
    }
    println!("{:>10} {:>10} {:>12} {:>12} {:>8}", "row", "elements", "1 thread, us", "2 threads", "quotient");
    for n in ELEMENTS.into_iter().filter(|n| counts.is_empty() || counts.contains(n)) {
        let data =
            [0.25f32, 0.5].map(|x| (0..n).map(|i| x + (i % 1000) as f32 / 500.0).collect::<Vec<f32>>());
        for (name, build) in ROWS {
            if names.is_empty() || names.iter().any(|part| name.contains(&**part)) {
                row(name, build, &data, pause)?;
            }
        }
        if names.is_empty() || names.iter().any(|part| "reading".contains(&**part)) {
            let one = median(|| read(&data[0]), pause);
            let (left, right) = data[0].split_at(n / 2);
            tell("reading", n, one, two_read(left, right));
        }
    }
    Ok(())
}

fn tell(name: &str, n: usize, one: f64, two: f64) {
    println!("{name:>10} {n:>10} {:>12.2} {:>12.2} {:>8.3}", one / 1000.0, two / 1000.0, two / one);
}

fn row(name: &str, build: BuildTimed, data: &[Vec<f32>; 2], pause: Duration) -> Result<(), Box<dyn Error>> {
    let n = data[0].len();
    let [a, b] = ["a", "b"].map(|name| Array::input(name, DType::Float32, &[n.into()]));
    let (a, b) = (a?, b?);
    let result = build(&a, &b)?;
    let mut out = vec![0f32; result.len()];
    let takes_two = matches!(name, "add" | "eight" | "dot");
    let kernel = |threads| {
        let options = Options { threads: Some(threads), ..Options::default() };
        let inputs: &[&Array<'_>] = if takes_two { &[&a, &b] } else { &[&a] };
        Kernel::new(&[&result], inputs, &options)
    };
    let kernels = [kernel(1)?, kernel(2)?];
    let mut call = |kernel: &Kernel| {
        let all = [(&data[0][..]).into(), (&data[1][..]).into()];
        let inputs = if takes_two { &all[..] } else { &all[..1] };
        kernel.run(inputs, [(&mut out[..]).into()]).expect("runs");
    };
    let mut samples = [Vec::new(), Vec::new()];
    for turn in 0..TURNS {
        for (kernel, samples) in kernels.iter().zip(&mut samples) {
            let median = median(|| call(kernel), pause);
            if turn > 0 {
                samples.push(median);
            }
        }
    }
    let [one, two] = samples.map(middle);
    tell(name, n, one, two);
    Ok(())
}

fn middle(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// The median time of the calls in one turn, in nanoseconds.
fn median<T>(mut call: impl FnMut() -> T, pause: Duration) -> f64 {
    let (mut samples, began) = (Vec::new(), Instant::now());
    while began.elapsed() < TURN || samples.len() < 5 {
        let before = Instant::now();
        while before.elapsed() < pause {
            spin_loop();
        }
        let start = Instant::now();
        black_box(call());
        samples.push(start.elapsed().as_nanos() as f64);
    }
    middle(samples)
}

/// Reads floats with a plain loop.
fn read(data: &[f32]) -> u32 {
    let mut lanes = [0u32; 64];
    let (chunks, _) = data.as_chunks::<64>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane ^= x.to_bits();
        }
    }
    lanes.iter().fold(0, |all, lane| all ^ lane)
}

/// The median time, in nanoseconds, from the simultaneous start of two threads until each has read its part of the data.
fn two_read(left: &[f32], right: &[f32]) -> f64 {
    use std::sync::atomic::{AtomicUsize, Ordering};
    const ROUNDS: usize = 200;
    let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                while begun.load(Ordering::Acquire) < round {
                    spin_loop();
                }
                black_box(read(right));
                done.store(round, Ordering::Release);
            }
        });
        for round in 1..=ROUNDS {
            let start = Instant::now();
            begun.store(round, Ordering::Release);
            black_box(read(left));
            while done.load(Ordering::Acquire) < round {
                spin_loop();
            }
            samples.push(start.elapsed().as_nanos() as f64);
        }
    });
    middle(samples)
}
