//! Stores that go past the caches, and loads that are asked for ahead of time.
//!
//! In: bytes in a tile. Out: the same bytes in memory that nobody reads soon. A regular store fetches the line that
//! it writes to first; these do not, which saves a quarter of the traffic of `a + b` where the operands are larger
//! than the caches. Must hold: they are ordered before everything that follows [`streaming`] on this thread.

use std::marker::PhantomData;

/// Copies past the caches, within [`streaming`].
#[derive(Debug)]
pub struct Stream {
    copy_lines: CopyLines,
    /// The order of such stores is a matter of the thread that makes them.
    _thread: PhantomData<*const ()>,
}

/// Runs `work` with a writer past the caches. What it wrote is in order with the rest of the program when this
/// returns, for other threads too.
///
/// ```
/// let mut out = [0u8; 100];
/// broadloom_mem::streaming(|stream| stream.copy(&[7; 100], &mut out));
/// assert_eq!(out, [7; 100]);
/// ```
pub fn streaming<R>(work: impl FnOnce(&Stream) -> R) -> R {
    /// On every way out.
    struct Ordered;
    impl Drop for Ordered {
        fn drop(&mut self) {
            fence();
        }
    }
    let _ordered = Ordered;
    work(&Stream { copy_lines: copy_lines(), _thread: PhantomData })
}

/// Bytes of a line: what is written at once, and how far from each other lines begin.
pub(crate) const LINE: usize = 64;

impl Stream {
    /// Copies `from` to `to`: whole lines of `to` past the caches, what is left of lines at its ends as usual.
    ///
    /// It is fastest where `to` begins and ends with a line, and `from` is aligned as `to` is.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn copy(&self, from: &[u8], to: &mut [u8]) {
        assert_eq!(from.len(), to.len(), "streamed bytes");
        let head = to.as_ptr().align_offset(LINE).min(to.len());
        let (to_head, to) = to.split_at_mut(head);
        let (from_head, from) = from.split_at(head);
        to_head.copy_from_slice(from_head);
        let lines = to.len() / LINE * LINE;
        let (to, to_tail) = to.split_at_mut(lines);
        let (from, from_tail) = from.split_at(lines);
        if lines > 0 {
            (self.copy_lines)(from, to);
        }
        to_tail.copy_from_slice(from_tail);
    }

    /// Asks for the lines of bytes that are going to be read, so that they are in the first cache by then; a hint,
    /// which leaves out what is less than a line.
    #[inline]
    pub fn fetch(&self, bytes: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        for line in bytes.chunks_exact(LINE) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint, which reads nothing; every x86-64 has SSE.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = bytes;
    }
}

/// Copies whole lines, to where a line begins.
type CopyLines = fn(&[u8], &mut [u8]);

/// The copy with the widest vectors of this host: with 16 bytes at a time it would take a fifth of the time that the
/// memory takes for them.
#[cfg(target_arch = "x86_64")]
fn copy_lines() -> CopyLines {
    use std::arch::x86_64::{__m128i, __m256i, __m512i};
    use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_stream_si256};
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};

    macro_rules! copy {
        ($name:ident, $feature:literal, $vector:ty, $load:ident, $stream:ident) => {
            fn $name(from: &[u8], to: &mut [u8]) {
                #[target_feature(enable = $feature)]
                fn lines(from: &[u8], to: &mut [u8]) {
                    for (from, to) in from.chunks_exact(LINE).zip(to.chunks_exact_mut(LINE)) {
                        let (from, to) = (from.as_ptr().cast::<$vector>(), to.as_mut_ptr().cast::<$vector>());
                        for i in 0..LINE / size_of::<$vector>() {
                            // SAFETY: within 64 bytes of each; `to` begins a line (checked below). The store is in
                            // order for this thread, and for others after the fence of `streaming`, without which
                            // there is no `Stream`; it stays on its thread.
                            unsafe { $stream(to.add(i), $load(from.add(i))) }
                        }
                    }
                }
                assert!(to.as_ptr().addr().is_multiple_of(LINE), "streamed lines");
                // SAFETY: chosen below where the host has the feature.
                unsafe { lines(from, to) }
            }
        };
    }
    copy!(narrow, "sse2", __m128i, _mm_loadu_si128, _mm_stream_si128);
    copy!(wide, "avx", __m256i, _mm256_loadu_si256, _mm256_stream_si256);
    copy!(widest, "avx512f", __m512i, _mm512_loadu_si512, _mm512_stream_si512);
    if is_x86_feature_detected!("avx512f") {
        widest
    } else if is_x86_feature_detected!("avx") {
        wide
    } else {
        narrow
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn copy_lines() -> CopyLines {
    |from, to| to.copy_from_slice(from)
}

#[cfg(target_arch = "x86_64")]
fn fence() {
    // SAFETY: every x86-64 has it; it orders stores and does nothing else.
    unsafe { std::arch::x86_64::_mm_sfence() }
}

#[cfg(not(target_arch = "x86_64"))]
fn fence() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offset_and_length() {
        let from: Vec<u8> = (0..400u32).map(|i| (i * 7 % 251) as u8).collect();
        for offset in 0..70 {
            for length in (0..80).chain([127, 128, 129, 191, 192, 200, 256, 300]) {
                for skew in [0, 1, 16, 63] {
                    let mut out = vec![255u8; 500];
                    let source = &from[skew..skew + length];
                    streaming(|stream| stream.copy(source, &mut out[offset..offset + length]));
                    assert_eq!(&out[offset..offset + length], source, "{offset} {length} {skew}");
                    let around = out[..offset].iter().chain(&out[offset + length..]);
                    assert!(around.into_iter().all(|&b| b == 255), "{offset} {length} {skew}");
                }
            }
        }
    }

    #[test]
    fn another_thread_reads_what_was_streamed() {
        let from = vec![3u8; 1 << 16];
        let mut out = vec![0u8; 1 << 16];
        std::thread::scope(|scope| {
            let half = out.len() / 2;
            for part in out.chunks_mut(half) {
                let from = &from[..half];
                scope.spawn(move || streaming(|stream| stream.copy(from, part)));
            }
        });
        assert_eq!(out, from);
    }
}
