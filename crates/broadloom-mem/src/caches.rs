//! The sizes of this processor's data caches, from which the engine derives how much data it expects to stay in cache.
//!
//! The sizes are read once per process, with the `cpuid` instruction. If they are unknown (on architectures other than x86-64, or
//! in a virtual machine that hides them), typical sizes are used instead.

use std::sync::OnceLock;

/// The sizes in bytes of the data caches that a core uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// The size of the second-level cache, which nearly always belongs to one core.
    pub second: usize,
    /// The size of the last-level cache, which several cores usually share.
    pub last: usize,
}

impl Caches {
    /// Typical sizes, used if the real ones are unknown.
    const USUAL: Caches = Caches { second: 1 << 20, last: 32 << 20 };

    /// The caches of this machine.
    pub fn of_target() -> Caches {
        static CACHES: OnceLock<Caches> = OnceLock::new();
        *CACHES.get_or_init(|| Caches::of(reported()))
    }

    /// Chooses the sizes from pairs of a cache level and its size in bytes. The cache with the highest level
    /// counts as the last-level cache; that is the second-level cache if there is no third one. If there is
    /// no second level, or the highest level is smaller than the second, typical sizes are used.
    fn of(levels: impl IntoIterator<Item = (u8, usize)>) -> Caches {
        let (mut second, mut last) = (0, (0, 0));
        for (level, bytes) in levels {
            if level == 2 {
                second = bytes;
            }
            last = last.max((level, bytes));
        }
        match last {
            (2.., last) if second > 0 && last >= second => Caches { second, last },
            _ => Caches::USUAL,
        }
    }
}

/// The levels of the data caches with their sizes in bytes, as the CPU reports them.
#[cfg(target_arch = "x86_64")]
fn reported() -> Vec<(u8, usize)> {
    use raw_cpuid::{CacheType, CpuId};
    let caches = CpuId::new().get_cache_parameters().into_iter().flatten();
    caches
        .filter(|cache| matches!(cache.cache_type(), CacheType::Data | CacheType::Unified))
        .map(|cache| {
            let line = cache.coherency_line_size() * cache.physical_line_partitions();
            (cache.level(), line.saturating_mul(cache.associativity()).saturating_mul(cache.sets()))
        })
        .collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn reported() -> Vec<(u8, usize)> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_level_is_the_highest_that_is_reported() {
        let of = |levels: &[(u8, usize)]| Caches::of(levels.iter().copied());
        let three = [(1, 48 << 10), (3, 96 << 20), (2, 2 << 20)];
        assert_eq!(of(&three), Caches { second: 2 << 20, last: 96 << 20 });
        assert_eq!(of(&three[..1]), Caches::USUAL, "a first level alone says nothing of the others");
        assert_eq!(of(&[(1, 32 << 10), (2, 512 << 10)]), Caches { second: 512 << 10, last: 512 << 10 });
        assert_eq!(of(&[(2, 1 << 20), (3, 0)]), Caches::USUAL);
        assert_eq!(of(&[]), Caches::USUAL);
    }

    /// Compares the sizes with those that the operating system reports, if it reports them.
    #[test]
    #[cfg(target_os = "linux")]
    fn as_the_system_has_them() {
        let read = |file: &str| {
            let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/{file}")).ok()?;
            let text = text.trim();
            text.strip_suffix('K').unwrap_or(text).parse::<usize>().ok()
        };
        let size = |level: usize| {
            (0..8)
                .find(|i| read(&format!("index{i}/level")) == Some(level))
                .and_then(|i| read(&format!("index{i}/size")))
        };
        if let (Some(second), Some(last), None) = (size(2), size(3), size(4)) {
            assert_eq!(Caches::of_target(), Caches { second: second << 10, last: last << 10 });
        }
    }
}
