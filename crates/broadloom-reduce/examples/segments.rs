//! The time of sums by label, beside a plain loop: `cargo run --release -p broadloom-reduce --example segments`. Each line shows the
//! number of segments and the times in milliseconds of random labels and of sorted ones, ours and the loop's.

use std::hint::black_box;
use std::time::Instant;

use broadloom_ir::{DType, Reduction};
use broadloom_mem::{bytes_of, bytes_of_mut};
use broadloom_reduce::{LabelledRows, Labels, reduce_segments, segment_words};
use broadloom_sort::Alone;

const N: usize = 10_000_000;

/// The least times of two calls, in several rounds in which they take turns.
fn times(mut ours: impl FnMut(), mut plain: impl FnMut()) -> [f64; 2] {
    let time = |call: &mut dyn FnMut()| {
        let begun = Instant::now();
        call();
        begun.elapsed().as_secs_f64() * 1e3
    };
    let rounds = (0..15).map(|_| [time(&mut ours), time(&mut plain)]);
    rounds.fold([f64::INFINITY; 2], |least, now| [least[0].min(now[0]), least[1].min(now[1])])
}

fn main() -> Result<(), broadloom_ir::Error> {
    let elements: Vec<f64> = (0..N).map(|i| (i % 1013) as f64).collect();
    let words = segment_words(Reduction::Sum, DType::Float64, N, 1, 1_000_000);
    let mut memory = vec![0; words];
    for segments in [10, 1000, 1_000_000] {
        let mut state = 1_u64;
        let mut labels: Vec<i64> = (0..N)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((state >> 33) % segments as u64) as i64
            })
            .collect();
        for order in ["random", "sorted"] {
            let (mut out, mut sums) = (vec![0.0_f64; segments], vec![0.0_f64; segments]);
            let as_labels = Labels::new(DType::Int64, bytes_of(&labels), segments)?;
            let [ours, plain] = times(
                || {
                    let (from, to) = (bytes_of(&elements), bytes_of_mut(&mut out));
                    let (reduction, dtype) = (Reduction::Sum, DType::Float64);
                    reduce_segments(
                        reduction,
                        LabelledRows { dtype, elements: from, width: 1 },
                        &as_labels,
                        to,
                        &mut memory,
                        &Alone,
                    )
                    .expect("labels in range");
                },
                || {
                    sums.fill(0.0);
                    for (&label, &x) in labels.iter().zip(&elements) {
                        sums[label as usize] += x;
                    }
                    black_box(&sums);
                },
            );
            println!("{segments:>8} {order}: {ours:6.1} {plain:6.1}");
            labels.sort_unstable();
        }
    }
    Ok(())
}
