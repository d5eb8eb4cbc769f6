//! Prints the times of sorts, searches and selections: `cargo run --release -p broadloom-sort --example sorting [elements] [filter]`.

use std::hint::black_box;
use std::time::Instant;

use broadloom_sort::{
    Alone, Direction, Memory, Selection, Side, Stopped, Workers, argsort, searchsorted, sort, topk, unique,
};

/// Threads that are started for each part of the work.
struct Threads(usize);

impl Workers for Threads {
    fn threads(&self) -> usize {
        self.0
    }

    fn share(&self, threads: usize, work: &(dyn Fn() + Sync)) -> Result<(), Stopped> {
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
        Ok(())
    }

    fn go_on(&self) -> Result<(), Stopped> {
        Ok(())
    }
}

/// A generator of pseudorandom numbers.
struct Numbers(u64);

impl Numbers {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Prints the minimum time of some runs on one thread and on two, in milliseconds.
fn time(name: &str, mut run: impl FnMut(&dyn Workers) -> Result<f64, Stopped>) -> Result<(), Stopped> {
    if std::env::args().nth(2).is_some_and(|filter| !name.contains(&filter)) {
        return Ok(());
    }
    let mut times = [f64::MAX; 2];
    for _ in 0..5 {
        let workers: [&dyn Workers; 2] = [&Alone, &Threads(2)];
        for (time, workers) in times.iter_mut().zip(workers) {
            *time = time.min(run(workers)?);
        }
    }
    println!("{name:32} {:8.1} ms {:8.1} ms", times[0] * 1e3, times[1] * 1e3);
    Ok(())
}

fn main() -> Result<(), Stopped> {
    let n = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10_000_000);
    let (mut numbers, mut memory) = (Numbers(1), Memory::default());
    let uniform: Vec<f64> = (0..n).map(|_| numbers.unit()).collect();
    let normal: Vec<f64> = (0..n)
        .map(|_| (-2.0 * (1.0 - numbers.unit()).ln()).sqrt() * (numbers.unit() * std::f64::consts::TAU).cos())
        .collect();
    let any: Vec<f64> = (0..n).map(|_| f64::from_bits(numbers.bits())).collect();
    let few: Vec<f64> = (0..n).map(|_| (numbers.bits() % 10) as f64).collect();
    let half: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 0.5 } else { numbers.unit() }).collect();
    let mut sorted = vec![0.0; n];
    for (name, values) in [
        ("uniform", &uniform),
        ("normal", &normal),
        ("any bits", &any),
        ("ten values", &few),
        ("half equal", &half),
    ] {
        time(&format!("sort float64 {name}"), |workers| {
            let start = Instant::now();
            sort::<f64>(values, n, Direction::Ascending, &mut sorted, &mut memory, workers)?;
            Ok(start.elapsed().as_secs_f64())
        })?;
    }
    let integers: Vec<i32> = (0..n).map(|_| numbers.bits() as i32).collect();
    let mut sorted_integers = integers.clone();
    time("sort int32", |workers| {
        let start = Instant::now();
        sort::<i32>(&integers, n, Direction::Ascending, &mut sorted_integers, &mut memory, workers)?;
        Ok(start.elapsed().as_secs_f64())
    })?;
    let mut indices = vec![0; n];
    for (name, values) in [("uniform", &uniform), ("normal", &normal), ("ten values", &few)] {
        time(&format!("argsort float64 {name}"), |workers| {
            let start = Instant::now();
            argsort::<f64>(values, n, Direction::Ascending, &mut indices, &mut memory, workers)?;
            Ok(start.elapsed().as_secs_f64())
        })?;
    }
    let tenth = n / 10;
    let sorted = &mut sorted[..tenth];
    sort::<f64>(&uniform[..tenth], tenth, Direction::Ascending, sorted, &mut memory, &Alone)?;
    time("searchsorted float64, a tenth", |workers| {
        let start = Instant::now();
        searchsorted::<f64>(sorted, &uniform[n - tenth..], Side::Left, &mut indices[n - tenth..], workers)?;
        Ok(start.elapsed().as_secs_f64())
    })?;
    time("topk float64, 100", |workers| {
        let (mut out, mut indices) = ([0.0; 100], [0; 100]);
        let start = Instant::now();
        topk::<f64>(&uniform, n, 100, Direction::Descending, (&mut out, &mut indices), workers)?;
        Ok(start.elapsed().as_secs_f64())
    })?;
    let mask: Vec<u8> = normal.iter().map(|&x| u8::from(x > 0.0)).collect();
    time("compress float64, half", |workers| {
        let start = Instant::now();
        let selection = Selection::new(&mask, 1, workers)?;
        let mut out = vec![0.0; selection.count()];
        selection.compress(&normal, &mut out, workers)?;
        let time = start.elapsed().as_secs_f64();
        black_box(out);
        Ok(time)
    })?;
    time("indices, half", |workers| {
        let start = Instant::now();
        let selection = Selection::new(&mask, 1, workers)?;
        selection.indices(&mut indices[..selection.count()], workers)?;
        Ok(start.elapsed().as_secs_f64())
    })?;
    for (name, values) in [("uniform", &uniform), ("ten values", &few)] {
        time(&format!("unique float64 {name}"), |workers| {
            let start = Instant::now();
            black_box(unique::<f64>(values, &mut memory, workers)?);
            Ok(start.elapsed().as_secs_f64())
        })?;
    }
    Ok(())
}
