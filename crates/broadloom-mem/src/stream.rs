//! Writes the outputs of a block by non-temporal stores, and prefetches its inputs.
//!
//! A regular store first loads the cache line that it writes to; a non-temporal store does not. This saves a
//! quarter of the memory traffic of `a + b` if the operands are larger than the last-level cache. Other code
//! has no access to the memory until the fence in [`Block::stream`] has ordered the stores with everything
//! that follows.

use std::cell::RefCell;
use std::fmt;
use std::ptr;

use smallvec::SmallVec;

use crate::ahead::prefetch;
use crate::block::{Block, Inputs};

/// The kind of stores for outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stores {
    /// Regular stores through the caches.
    #[default]
    Cached,
    /// Non-temporal stores, which avoid loading the cache lines that are written, for operands larger than the caches. They are
    /// used only for outputs whose rows are in the caller's memory and overlap no input.
    Streaming,
}

/// A writer of a block's outputs by non-temporal stores, within [`Block::stream`].
///
/// The outputs can't be read through it: until the fence, other threads may see the stores in any order. If rows are copied to an
/// output in the order of its memory, a cache line that contains the end of one row and the beginning of the next is written
/// once, as a whole.
pub struct Stream<'s, 'b> {
    block: &'s Block<'b>,
    copy_lines: CopyLines,
    /// For each output, the bytes of the cache line that is not full yet.
    open: RefCell<SmallVec<[OpenLine; 2]>>,
}

impl<'b> Block<'b> {
    /// Runs `work` with a writer that writes the outputs by non-temporal stores. Returns `None`, without running it, if an output
    /// is not [apart](Block::is_apart). On return the stores are ordered before everything that follows, for other threads as
    /// well.
    pub fn stream<R>(&mut self, work: impl FnOnce(&Stream<'_, 'b>) -> R) -> Option<R> {
        /// A guard that orders the stores by a fence, whether `work` returns or panics.
        struct Ordered;
        impl Drop for Ordered {
            fn drop(&mut self) {
                order_streamed();
            }
        }
        let _ordered = Ordered;
        let apart = (0..self.outputs()).all(|output| self.is_apart(output));
        let open = std::iter::repeat_n(OpenLine::NONE, self.outputs()).collect();
        apart.then(|| work(&Stream { block: self, copy_lines: copy_lines(), open: RefCell::new(open) }))
    }
}

impl fmt::Debug for Stream<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stream").field(&self.block).finish()
    }
}

/// The size in bytes of a cache line. A non-temporal store is efficient only if whole lines are written.
pub(crate) const LINE: usize = 64;

impl<'s> Stream<'s, '_> {
    /// The given row of all inputs.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn inputs(&self, row: usize) -> Inputs<'s> {
        self.block.inputs(row)
    }

    /// The number of bytes in a row of an output that come before the row's first cache-line boundary.
    ///
    /// # Panics
    /// If there is no such output or row.
    #[inline]
    pub fn to_line(&self, output: usize, row: usize) -> usize {
        self.block.place(output, row).0.align_offset(LINE)
    }

    /// Copies `from` to a row of an output, starting at byte `at` of the row. Whole cache lines are written by non-temporal
    /// stores. An incomplete last line is kept until the next copy continues it, and is written by regular stores if no copy
    /// does.
    ///
    /// The copy is fastest if the range in the output begins and ends at a cache line, and `from` has the same alignment.
    ///
    /// # Panics
    /// If there is no such output or row, or the bytes extend beyond the row.
    #[inline]
    pub fn copy(&self, output: usize, row: usize, at: usize, from: &[u8]) {
        let (start, len) = self.block.place(output, row);
        assert!(at <= len && from.len() <= len - at, "{} streamed bytes at {at} of {len}", from.len());
        let open = &mut self.open.borrow_mut()[output];
        // SAFETY: the bytes are within the row of an output that overlaps no input and is borrowed exclusively by
        // `Block::stream`, for longer than this writer lives; the writer stays on its thread, and no other reference to the row
        // exists.
        unsafe { open.write(self.copy_lines, from, start.add(at)) }
    }

    /// Prefetches the cache lines of bytes that are going to be read, so that they are in the first-level cache by then. This
    /// is a hint; bytes after the last whole line are ignored.
    #[inline]
    pub fn fetch(&self, bytes: &[u8]) {
        bytes.chunks_exact(LINE).for_each(|line| prefetch(&line[0]));
    }
}

impl Drop for Stream<'_, '_> {
    fn drop(&mut self) {
        for open in self.open.get_mut() {
            // SAFETY: the bytes belong to rows of outputs, which `Block::stream` borrows exclusively until after this drop.
            unsafe { open.close() }
        }
    }
}

/// The bytes of an output that were copied to a cache line which is not full yet.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct OpenLine {
    bytes: [u8; LINE],
    /// The number of valid bytes in `bytes`. The first of them belongs at a cache-line boundary.
    filled: usize,
    /// The address at which a copy has to begin to continue the line.
    next: *mut u8,
}

impl OpenLine {
    const NONE: OpenLine = OpenLine { bytes: [0; LINE], filled: 0, next: ptr::null_mut() };

    /// Copies `from` to the address `to`. Whole cache lines are written by `copy_lines`. Bytes before the
    /// first whole line are written by regular stores, unless they continue the partially filled line. Bytes
    /// after the last whole line become the partially filled line.
    ///
    /// # Safety
    /// `from.len()` bytes at `to` must be valid for writes until the line is closed, and nothing else may use
    /// them.
    unsafe fn write(&mut self, copy_lines: CopyLines, mut from: &[u8], mut to: *mut u8) {
        if self.filled > 0 {
            if to == self.next {
                let (more, rest) = from.split_at(from.len().min(LINE - self.filled));
                self.bytes[self.filled..][..more.len()].copy_from_slice(more);
                self.filled += more.len();
                // SAFETY: the result is within the bytes at `to`, or at their end.
                to = unsafe { to.add(more.len()) };
                (self.next, from) = (to, rest);
                if self.filled == LINE {
                    // SAFETY: the bytes of the line were given with consecutive addresses, the first of which is at a cache-line
                    // boundary; all are valid for writes until the line is closed, which happens here.
                    let line = unsafe { std::slice::from_raw_parts_mut(to.sub(LINE), LINE) };
                    copy_lines(&self.bytes, line);
                    self.filled = 0;
                }
            } else {
                // SAFETY: the bytes of the open line were given to an earlier call, whose contract still holds.
                unsafe { self.close() };
            }
        }
        if from.is_empty() {
            return;
        }
        // No partially filled line is left here: if a line was continued and is still not full, it has taken
        // all of the bytes. SAFETY: this function's contract covers these bytes; the slice is not used after
        // the call.
        let all = unsafe { std::slice::from_raw_parts_mut(to, from.len()) };
        let head = to.align_offset(LINE).min(all.len());
        let (to_head, all) = all.split_at_mut(head);
        let (from_head, from) = from.split_at(head);
        to_head.copy_from_slice(from_head);
        let lines = all.len() / LINE * LINE;
        let (from_lines, rest) = from.split_at(lines);
        if lines > 0 {
            copy_lines(from_lines, &mut all[..lines]);
        }
        self.bytes[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
        // SAFETY: the sum is the length of the bytes at `to`, so this is their end.
        self.next = unsafe { to.add(head + lines + rest.len()) };
    }

    /// Writes the partially filled line by regular stores.
    ///
    /// # Safety
    /// The addresses at which the bytes of the line belong must still be valid for writes, and nothing else may use them.
    unsafe fn close(&mut self) {
        if self.filled > 0 {
            // SAFETY: the `filled` bytes before `next` are those at which the bytes of the line belong (this function's
            // contract).
            let to = unsafe { std::slice::from_raw_parts_mut(self.next.sub(self.filled), self.filled) };
            to.copy_from_slice(&self.bytes[..self.filled]);
            self.filled = 0;
        }
    }
}

/// A function that copies whole cache lines by non-temporal stores to an address at a cache-line boundary.
type CopyLines = fn(&[u8], &mut [u8]);

/// Returns the copy function with the widest vectors that this CPU supports. Even with vectors of 16 bytes, the instructions for
/// a copy take a fifth of the time that memory needs for the data.
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
                            // SAFETY: both addresses are within the 64 bytes of their line; `to` is at a cache-line boundary
                            // (checked below). The store is ordered for this thread, and for others after the fence of
                            // `Block::stream`, before which no other thread has access to the memory.
                            unsafe { $stream(to.add(i), $load(from.add(i))) }
                        }
                    }
                }
                assert!(to.as_ptr().addr().is_multiple_of(LINE), "streamed lines");
                // SAFETY: this function is chosen below only if the CPU has the feature.
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

/// Executes a fence that orders earlier non-temporal stores before everything that follows, for other threads as well.
pub fn order_streamed() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has this instruction; it orders stores and does nothing else.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AliasPolicy, Nest, Scratch, View, ViewMut, bytes_of, bytes_of_mut};
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn every_offset_and_length() {
        let from: Vec<u8> = (0..400u32).map(|i| (i * 7 % 251) as u8).collect();
        for offset in 0..70 {
            for length in (0..80).chain([127, 128, 129, 191, 192, 200, 256, 300]) {
                for skew in [0, 1, 16, 63] {
                    let mut out = vec![255u8; 500];
                    let source = &from[skew..skew + length];
                    let mut open = OpenLine::NONE;
                    let to = out[offset..offset + length].as_mut_ptr();
                    // SAFETY: `to` has room for `length` bytes of `out`, which is not used before the line is closed.
                    unsafe {
                        open.write(copy_lines(), source, to);
                        open.close();
                    }
                    order_streamed();
                    assert_eq!(&out[offset..offset + length], source, "{offset} {length} {skew}");
                    let around = out[..offset].iter().chain(&out[offset + length..]);
                    assert!(around.into_iter().all(|&b| b == 255), "{offset} {length} {skew}");
                }
            }
        }
    }

    /// Copies an input to an output, each part of the nest on a thread of its own. Returns whether all parts
    /// used non-temporal stores. No test can detect a missing fence, because the end of a thread orders its
    /// stores as well.
    fn copies(nest: &mut Nest<'_>, policy: AliasPolicy) -> bool {
        let streamed = AtomicBool::new(true);
        std::thread::scope(|scope| {
            for part in nest.split(4, policy) {
                let streamed = &streamed;
                scope.spawn(move || {
                    let _ = part.run(&mut Scratch::new(), &mut |block| {
                        let rows = block.rows();
                        let copy = |stream: &Stream<'_, '_>| {
                            for row in 0..rows {
                                let from = stream.inputs(row).bytes(0);
                                let line = stream.to_line(0, row).min(from.len());
                                let (head, rest) = from.split_at(line);
                                stream.copy(0, row, line, rest);
                                stream.copy(0, row, 0, head);
                            }
                        };
                        if block.stream(copy).is_none() {
                            streamed.store(false, Ordering::Relaxed);
                        }
                        ControlFlow::Continue(())
                    });
                });
            }
        });
        streamed.into_inner()
    }

    #[test]
    fn parts_on_threads_stream_their_rows() {
        let from: Vec<u32> = (0..100_000).collect();
        let mut out = vec![7u32; 100_003];
        let view = View::new(bytes_of(&from), 4, 0, &[100, 1000], &[4000, 4]).expect("inside");
        let to = ViewMut::new(bytes_of_mut(&mut out[1..100_001]), 4, 0, &[100, 1000], &[4000, 4]);
        let mut nest = Nest::new(&[100, 1000], &[view], [to.expect("inside")]).expect("a nest");
        assert!(copies(&mut nest, AliasPolicy::Copy));
        assert_eq!(out[1..100_001], from);
        assert_eq!([out[0], out[100_001], out[100_002]], [7; 3]);
    }

    /// Non-temporal stores are refused for an output that is also an input, or that is computed into a tile,
    /// because such an output is read before the fence.
    #[test]
    fn outputs_that_are_not_apart_are_not_streamed() {
        let mut x: Vec<u32> = (0..1000).collect();
        let base = x.as_mut_ptr().cast::<u8>();
        // SAFETY: both layouts are in the bounds of `x`, which nothing else uses while the nest lives.
        let (a, out) =
            unsafe { (View::from_raw(base, 4, &[1000], &[4]), ViewMut::from_raw(base, 4, &[1000], &[4])) };
        let mut nest = Nest::new(&[1000], &[a.expect("a view")], [out.expect("a view")]).expect("in place");
        assert!(!copies(&mut nest, AliasPolicy::InPlace));
        let (from, mut gaps) = ([1u32; 500], [0u32; 1000]);
        let view = View::new(bytes_of(&from), 4, 0, &[500], &[4]).expect("inside");
        let to = ViewMut::new(bytes_of_mut(&mut gaps), 4, 0, &[500], &[8]).expect("inside");
        let mut nest = Nest::new(&[500], &[view], [to]).expect("a nest");
        assert!(!copies(&mut nest, AliasPolicy::Copy));
        assert_eq!(gaps, [0; 1000], "nobody wrote instead");
    }

    /// Rows that begin and end within cache lines form one stream: every cache line whose bytes all belong to these rows is
    /// written as a whole.
    #[test]
    fn rows_that_begin_inside_of_lines_are_one_stream() {
        thread_local!(static LINES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
        fn counted(from: &[u8], to: &mut [u8]) {
            assert!(to.as_ptr().addr().is_multiple_of(LINE) && to.len().is_multiple_of(LINE));
            LINES.set(LINES.get() + to.len() / LINE);
            to.copy_from_slice(from);
        }
        const COLS: usize = 37;
        #[repr(align(64))]
        struct AlignedWords([u32; 100 * COLS + 16]);
        let from: Vec<u32> = (0..100 * COLS as u32).collect();
        // `way` 1 copies each row at once, `way` 2 each row in two parts.
        for (way, begin) in (1..3).flat_map(|way| (0..16).map(move |begin| (way, begin))) {
            let mut out = Box::new(AlignedWords([7; _]));
            let shape = [100, COLS];
            let strides = [4 * COLS as isize, 4];
            // A second operand that is uniform along the second dimension prevents the dimensions from being collapsed.
            let uniform = [5u32; COLS];
            let rows = View::new(bytes_of(&uniform), 4, 0, &shape, &[0, 4]).expect("inside");
            let to = ViewMut::new(bytes_of_mut(&mut out.0[begin..][..100 * COLS]), 4, 0, &shape, &strides);
            let mut nest = Nest::new(&shape, &[rows], [to.expect("inside")]).expect("a nest");
            LINES.set(0);
            let _ = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
                assert_eq!((block.rows(), block.cols()), (100, COLS));
                let open = RefCell::new(SmallVec::from_elem(OpenLine::NONE, 1));
                let stream = Stream { block, copy_lines: counted, open };
                let bytes = bytes_of(&from);
                for (row, from) in bytes.chunks_exact(4 * COLS).enumerate() {
                    let (first, rest) = from.split_at(if way == 1 { 4 * COLS } else { 52 });
                    stream.copy(0, row, 0, first);
                    stream.copy(0, row, first.len(), rest);
                }
                ControlFlow::Continue(())
            });
            assert_eq!(out.0[begin..][..100 * COLS], from, "{way} {begin}");
            assert!(
                out.0[..begin].iter().chain(&out.0[begin + 100 * COLS..]).all(|&x| x == 7),
                "{way} {begin}"
            );
            let end = (begin + 100 * COLS) * 4 / LINE;
            assert_eq!(LINES.get(), end - (begin * 4).div_ceil(LINE), "{way} {begin}");
        }
    }

    #[test]
    #[should_panic(expected = "8 streamed bytes at 4 of 8")]
    fn bytes_beyond_a_row() {
        let (from, mut out) = ([1u32; 2], [0u32; 2]);
        let view = View::new(bytes_of(&from), 4, 0, &[2], &[4]).expect("inside");
        let to = ViewMut::new(bytes_of_mut(&mut out), 4, 0, &[2], &[4]).expect("inside");
        let mut nest = Nest::new(&[2], &[view], [to]).expect("a nest");
        let _ = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
            block.stream(|stream| stream.copy(0, 0, 4, &[0; 8]));
            ControlFlow::Continue(())
        });
    }
}
