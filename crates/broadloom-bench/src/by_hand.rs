//! Hand-fused loops over two inputs, compiled for the target's maximum vector width, and the numbers that they run on.
//!
//! Everything that a [`Loop`] calls is inlined into it, so that rustc can vectorise it.

use broadloom_math::{Float, Lanes};
use pulp::NullaryFnOnce;

/// A loop over two inputs, one output and a function of an element. It is a struct because a closure would not be inlined into
/// the function that is compiled for the target. A call returns whether an element needed the slow path.
pub struct Loop<'a, T, F>(pub &'a [T], pub &'a [T], pub &'a mut [T], pub F);

impl<T: Copy, F: Fn(&mut Lanes, T, T) -> T> NullaryFnOnce for Loop<'_, T, F> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Loop(a, b, out, f) = self;
        let n = out.len();
        let (a, b) = (&a[..n], &b[..n]);
        let mut lanes = Lanes::default();
        for i in 0..n {
            out[i] = f(&mut lanes, a[i], b[i]);
        }
        lanes.flagged != 0
    }
}

/// Two arrays of distinct pseudo-random numbers in a range, from Knuth's linear congruential generator.
pub fn numbers<T: Float>(n: usize, from: f64, to: f64) -> (Vec<T>, Vec<T>) {
    let mut state = 7u64;
    let mut next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        T::from_f64(from + (to - from) * ((state >> 11) as f64 / (1u64 << 53) as f64))
    };
    let first = (0..n).map(&mut next).collect();
    (first, (0..n).map(next).collect())
}
