//! A random number generator with the same output on every target.
//!
//! The generator is SplitMix64. Its published outputs are tested.

/// A SplitMix64 generator.
///
/// ```
/// use broadloom_testkit::random::Rng;
///
/// // The published reference outputs.
/// let mut rng = Rng::new(1234567);
/// assert_eq!(rng.next(), 6457827717110365317);
/// assert_eq!(rng.next(), 3203168211198807973);
/// ```
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "it never ends, so it is no use as an iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        // The remainder returns small numbers more often. For a small `n`, the difference is less than
        // 2^-40, which is negligible here.
        (self.next() % (n.max(1) as u64)) as usize
    }

    /// True with a probability of `times` / `of`.
    pub fn chance(&mut self, times: usize, of: usize) -> bool {
        self.below(of) < times
    }

    /// A random item; `None` if there are no items.
    pub fn pick<'t, T>(&mut self, items: &'t [T]) -> Option<&'t T> {
        items.get(self.below(items.len()))
    }

    /// The numbers below `n` in a random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}
