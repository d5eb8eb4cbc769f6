//! The time of sums by label, beside a plain loop: `cargo run --release -p broadloom-reduce --example segments`. Each line shows the
//! number of segments and the times in milliseconds of random labels and of sorted ones, ours and the loop's.

use std::hint::black_box;
use std::time::{Duration, Instant};

use broadloom_ir::{DType, Reduction};
use broadloom_mem::{bytes_of, bytes_of_mut};
use broadloom_reduce::{Labels, reduce_segments};
use broadloom_sort::Alone;

const N: usize = 10_000_000;

/// The least time of several calls.
fn time(mut call: impl FnMut()) -> f64 {
    let run = |_| {
        let begun = Instant::now();
        call();
        begun.elapsed()
    };
    (0..5).map(run).min().unwrap_or(Duration::MAX).as_secs_f64() * 1e3
}

fn main() -> Result<(), broadloom_ir::Error> {
    let elements: Vec<f64> = (0..N).map(|i| (i % 1013) as f64).collect();
    for segments in [10, 1000, 1_000_000] {
        let mut state = 1_u64;
        let mut labels: Vec<i64> = (0..N)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((state >> 33) % segments as u64) as i64
            })
            .collect();
        for order in ["random", "sorted"] {
            let mut out = vec![0.0_f64; segments];
            let as_labels = Labels::new(DType::Int64, bytes_of(&labels), segments)?;
            let ours = time(|| {
                let (from, to) = (bytes_of(&elements), bytes_of_mut(&mut out));
                reduce_segments(Reduction::Sum, DType::Float64, from, 1, &as_labels, to, &Alone)
                    .expect("labels in range");
            });
            let plain = time(|| {
                out.fill(0.0);
                for (&label, &x) in labels.iter().zip(&elements) {
                    out[label as usize] += x;
                }
                black_box(&out);
            });
            println!("{segments:>8} {order}: {ours:6.1} {plain:6.1}");
            labels.sort_unstable();
        }
    }
    Ok(())
}
