//! Measures the machine's peak rate of arithmetic in registers: multiplications and additions per second.
//!
//! The timed loop has no loads or stores, and has enough independent dependency chains to hide the latency of each operation.

use std::hint::black_box;
use std::time::{Duration, Instant};

use pulp::NullaryFnOnce;

/// The number of independent dependency chains. Operations with a latency of four cycles need eight or more chains to fill two
/// execution units; 16 registers suffice for 12 chains.
const CHAINS: usize = 12;
/// The number of steps of a chain in a batch.
const STEPS: usize = 20_000;

/// For each vector width of the target, the width in bits and the peak rate of float32 operations per nanosecond.
pub fn peaks(budget: Duration) -> Vec<(usize, f64)> {
    let mut peaks = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(v3) = pulp::x86::V3::try_new() {
            peaks.push((256, best(budget, || v3.vectorize(Chains::<{ CHAINS * 8 }>))));
        }
        if let Some(v4) = pulp::x86::V4::try_new() {
            peaks.push((512, best(budget, || v4.vectorize(Chains::<{ CHAINS * 16 }>))));
        }
    }
    if peaks.is_empty() {
        peaks.push((128, best(budget, || Chains::<{ CHAINS * 4 }>.call())));
    }
    peaks
}

/// The maximum rate of several batches, in operations per nanosecond. `batch` returns the number of operations that it has
/// run.
fn best(budget: Duration, batch: impl Fn() -> usize) -> f64 {
    let began = Instant::now();
    let mut best = 0.0f64;
    while best == 0.0 || began.elapsed() < budget {
        let start = Instant::now();
        let operations = black_box(batch());
        best = best.max(operations as f64 / start.elapsed().as_nanos().max(1) as f64);
    }
    best
}

/// `N` dependency chains of z = z·z + c.
struct Chains<const N: usize>;

impl<const N: usize> NullaryFnOnce for Chains<N> {
    type Output = usize;

    #[inline(always)]
    fn call(self) -> usize {
        let c: f32 = black_box(0.1);
        let mut z: [f32; N] = black_box([0.2; N]);
        for _ in 0..STEPS {
            for z in &mut z {
                *z = *z * *z + c;
            }
        }
        black_box(z);
        2 * N * STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_peak() {
        assert!(peaks(Duration::ZERO).iter().all(|(_, peak)| *peak > 0.0 && peak.is_finite()));
    }
}
