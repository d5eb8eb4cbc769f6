//! Prefetches for memory that is read once, from beginning to end.
//!
//! A CPU's hardware prefetchers stop at the end of a page, and the address of the next page is translated when it is first read,
//! which is slow in a virtual machine. Prefetching one line of each page early moves the translation off the critical path.

/// The size of a page in bytes.
pub const PAGE: usize = 4096;

/// The size of a cache line in bytes.
const LINE: usize = 64;

/// The prefetch distance in bytes.
///
/// With distances of 64 KiB to 2 MiB, a sum of 80 MB takes 0.77 of the time that it takes without prefetches, and with 4 KiB
/// 0.94. Prefetching every cache line, instead of one per page, is slower than not prefetching. If the pages have 2 MiB,
/// prefetching makes no difference.
pub const AHEAD: usize = 256 << 10;

/// Prefetches one cache line of each page of the memory that begins [`AHEAD`] bytes after element `at` of the
/// slice `run`. The prefetched range is as long as `count` elements. This is a hint; pages beyond the end of
/// the slice are skipped.
#[inline(always)]
pub fn ask_ahead<T>(run: &[T], at: usize, count: usize) {
    ask_so_far_ahead(run, at, count, AHEAD);
}

/// Does what [`ask_ahead`] does, with a prefetch distance of `ahead` bytes.
#[inline(always)]
pub fn ask_so_far_ahead<T>(run: &[T], at: usize, count: usize, ahead: usize) {
    let in_elements = |bytes: usize| (bytes / size_of::<T>().max(1)).max(1);
    if let Some(run) = run.get(in_elements(ahead)..).and_then(|run| run.get(at..)) {
        run.iter().take(count).step_by(in_elements(PAGE)).for_each(prefetch);
    }
}

/// Prefetches the cache lines of `count` elements of a slice from element `at` on, as far as there are some. It pays where a loop
/// touches so many other places that hardware prefetchers lose the order in which it reads or writes this slice: they track some
/// 32 pages.
#[inline(always)]
pub fn ask_for<T>(run: &[T], at: usize, count: usize) {
    if let Some(run) = run.get(at..at.saturating_add(count).min(run.len())) {
        run.iter().step_by((LINE / size_of::<T>().max(1)).max(1)).for_each(prefetch);
    }
}

/// Prefetches the cache line in which a value begins, so that it is in the first-level cache when it is read. This is a hint, and
/// does nothing on targets other than x86-64.
#[inline(always)]
pub(crate) fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint and reads nothing; every x86-64 has SSE.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_asked_for_behind_a_run() {
        let run = vec![0_u8; AHEAD + 2 * PAGE];
        for len in [0, 1, AHEAD, AHEAD + 1, run.len()] {
            for at in [0, 1, PAGE, run.len(), usize::MAX - run.len()] {
                ask_ahead(&run[..len], at, run.len());
                ask_for(&run[..len], at, PAGE);
            }
        }
    }
}
