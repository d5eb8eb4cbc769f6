//! The width of the vectors of machine code, and the widest that this CPU has.
//!
//! Widths are ordered by their bits, and a CPU has every width up to its own.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// The bits of a vector.
///
/// ```
/// use broadloom_clif::Width;
///
/// assert!(Width::W128 < Width::W512 && Width::W128 <= Width::host());
/// assert_eq!((Width::W256.bits(), Width::W256.bytes()), (256, 32));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// SSE and AVX of x86-64, NEON of aarch64.
    W128,
    /// AVX2, FMA, F16C and BMI2.
    W256,
    /// AVX-512 F, BW, DQ and VL, with all of AVX2's.
    W512,
}

impl Width {
    /// All widths, the narrowest first.
    pub const ALL: [Width; 3] = [Width::W128, Width::W256, Width::W512];

    /// Bytes of a vector.
    pub const fn bytes(self) -> u32 {
        match self {
            Width::W128 => 16,
            Width::W256 => 32,
            Width::W512 => 64,
        }
    }

    /// Bits of a vector.
    pub const fn bits(self) -> u32 {
        8 * self.bytes()
    }

    /// The widest vectors that this host has instructions for.
    ///
    /// PERF: found out once, without a lock; then it is one load.
    pub fn host() -> Width {
        static HOST: AtomicU8 = AtomicU8::new(u8::MAX);
        Width::ALL.get(usize::from(HOST.load(Ordering::Relaxed))).copied().unwrap_or_else(|| {
            let found = Width::detect();
            HOST.store(found as u8, Ordering::Relaxed);
            found
        })
    }

    #[cold]
    fn detect() -> Width {
        #[cfg(target_arch = "x86_64")]
        {
            macro_rules! has {
                ($($feature:tt),*) => { $(is_x86_feature_detected!($feature))&&* };
            }
            if has!("avx2", "fma", "f16c", "bmi2") {
                let wide = has!("avx512f", "avx512bw", "avx512dq", "avx512vl");
                return if wide { Width::W512 } else { Width::W256 };
            }
        }
        Width::W128
    }

    /// The widest vectors of this host up to a width; and why they are narrower, if they are.
    pub fn had(self) -> (Width, Option<String>) {
        let host = Width::host();
        match self > host {
            true => (host, Some(format!("this host has vectors of {host} bits"))),
            false => (self, None),
        }
    }

    /// The widths that this host has, the narrowest first.
    pub fn of_host() -> impl Iterator<Item = Width> {
        Width::ALL.into_iter().filter(|&width| width <= Width::host())
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_ordered_by_their_bits() {
        assert_eq!(Width::ALL.map(Width::bits), [128, 256, 512]);
        assert!(Width::ALL.is_sorted());
        assert_eq!(Width::ALL.map(|width| width.to_string()), ["128", "256", "512"]);
    }

    #[test]
    fn the_host_has_what_is_up_to_its_own() {
        let widths: Vec<Width> = Width::of_host().collect();
        assert_eq!(widths, Width::ALL[..widths.len()]);
        assert_eq!(widths.last(), Some(&Width::host()));
    }
}
