//! Computes rows that have fewer columns than a block has lanes. Their operands are copied to buffers. The rest of each buffer is
//! filled with copies of an element, so that no lane beyond the row can cause a fault, and nothing beyond the row is written.
//!
//! A buffer is filled by stores that are at least as wide as the loads of the code: a load that spans several stores
//! waits until all of them have left the store queue, which takes longer than the work of a short call. Therefore 32 bytes of a
//! buffer at a time are assembled in a register and then stored.

use std::mem::MaybeUninit;

use broadloom_mem::{Access, RawOperand};

use crate::call::Call;

/// The size in bytes of a buffer, and of the largest block of an operand that needs a buffer: 64 lanes of 4 bytes or 32 lanes of
/// 8 bytes, in 512-bit code with inputs that are reversed or every second element in memory.
const PAD: usize = 256;

/// At most this many buffers are on the stack; if more are needed, they are allocated.
const FEW: usize = 8;

/// A buffer for one block of an operand.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Pad(MaybeUninit<[u8; PAD]>);

impl Call<'_> {
    /// Computes `count` columns of a row in buffers.
    ///
    /// # Safety
    /// As [`Call::enter`], for the columns from `start` to `start + count` of `row`; `count` is at least 1 and at most
    /// the lane count.
    pub unsafe fn padded(&self, operands: &[RawOperand], row: usize, start: usize, count: usize) {
        let (pad, none) =
            (Pad(MaybeUninit::uninit()), RawOperand { ptr: std::ptr::null_mut(), row_stride: 0 });
        let n = operands.len();
        let buffers = n * self.each();
        if buffers <= FEW {
            let (mut pads, mut padded) = ([pad; FEW], [none; FEW]);
            // SAFETY: the operands are valid by this function's contract, and there are an entry and one or two buffers for each
            // operand.
            unsafe { self.through(operands, row, start, count, &mut pads[..buffers], &mut padded[..n]) }
        } else {
            let (mut pads, mut padded) = (vec![pad; buffers], vec![none; n]);
            // SAFETY: as above.
            unsafe { self.through(operands, row, start, count, &mut pads, &mut padded) }
        }
    }

    /// The number of buffers for each operand: two if an input is every second element in memory, which takes twice the space.
    fn each(&self) -> usize {
        if self.inner.reads_steps { 2 } else { 1 }
    }

    /// Does the work of [`Call::padded`] with these buffers; `padded` has space for the operands that are passed to the
    /// code.
    ///
    /// # Safety
    /// As [`Call::padded`]; `padded` is as long as `operands`, and there are [`Call::each`] buffers for each operand.
    #[inline]
    unsafe fn through(
        &self,
        operands: &[RawOperand],
        row: usize,
        start: usize,
        count: usize,
        pads: &mut [Pad],
        padded: &mut [RawOperand],
    ) {
        let lanes = self.inner.plan.lanes as usize;
        let inputs = self.inner.inputs.len();
        let at = |o: &RawOperand, column: usize, step: isize| {
            // SAFETY: the address of a column of the row, inside the block.
            unsafe { o.ptr.offset(o.row_stride * row as isize + column as isize * step) }
        };
        let each = self.each();
        for (i, (operand, padded)) in operands.iter().zip(&mut *padded).enumerate() {
            let pads = &mut pads[each * i..][..each];
            padded.ptr = pads.as_mut_ptr().cast();
            if let (Some(dtype), Some(access)) = (self.inner.inputs.get(i), self.inner.access.get(i)) {
                let size = dtype.size();
                let from = at(operand, start, access.step() * size as isize);
                match access {
                    // A uniform operand needs no buffer.
                    Access::Splat => padded.ptr = from,
                    // SAFETY: `from` points to `count` elements of the row, at most `lanes`, and a buffer has space for `lanes`
                    // elements of any input.
                    Access::Contiguous => unsafe { fill(from, size, count, lanes, &mut pads[0]) },
                    Access::Reversed | Access::EverySecond => {
                        // SAFETY: `from` points to `count` elements of the row, at most `lanes`, which are a step apart; two
                        // buffers have space for twice as many elements.
                        padded.ptr = unsafe { spread(from, size, access.step(), count, lanes, pads) };
                    }
                }
            }
        }
        // SAFETY: the operands are one row of `lanes` elements, in buffers with space for as many elements.
        unsafe { self.enter(padded, 1, lanes) };
        let outputs = operands[inputs..].iter().zip(&padded[inputs..]);
        for ((operand, from), dtype) in outputs.zip(&self.inner.outputs) {
            let size = dtype.size();
            // SAFETY: `count` elements of the output's row are written from the buffer.
            unsafe { copy(from.ptr, at(operand, start, size as isize), count * size) };
        }
    }
}

/// Copies `len` bytes, at most [`PAD`], from a buffer. Each piece begins at a multiple of its size, so that no load
/// spans two of the stores by which the compiled code wrote to the buffer.
///
/// PERF: a call of the general copy function takes longer than this copy.
///
/// # Safety
/// `from` is valid for reads of `len` bytes, `to` for writes; they don't overlap.
#[inline]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    let mut at = 0;
    macro_rules! piece {
        ($t:ty) => {{
            // SAFETY: the piece lies within the `len` bytes: `at + size ≤ len` is checked below.
            unsafe { to.add(at).cast::<$t>().write_unaligned(from.add(at).cast::<$t>().read_unaligned()) };
            at += size_of::<$t>();
        }};
    }
    while at + 16 <= len {
        piece!([u64; 2]);
    }
    if at + 8 <= len {
        piece!(u64);
    }
    if at + 4 <= len {
        piece!(u32);
    }
    if at + 2 <= len {
        piece!(u16);
    }
    if at < len {
        piece!(u8);
    }
    debug_assert_eq!(at, len);
}

/// Copies `count` elements of `size` bytes, which are `step` elements apart, to buffers in which they are also `step` elements
/// apart. All other elements of the buffers, up to `lanes` steps, are set to the first element. Returns the address of the first
/// element in the buffers.
///
/// # Safety
/// `from` is valid for reads of `count` elements of 4 or 8 bytes, which are `step` elements apart; `count` is at least 1 and at
/// most `lanes`; `lanes` elements fit into a buffer; `step` is −1, or 2 if there are two buffers.
unsafe fn spread(
    from: *const u8,
    size: usize,
    step: isize,
    count: usize,
    lanes: usize,
    pads: &mut [Pad],
) -> *mut u8 {
    let distance = step.unsigned_abs();
    assert!(lanes * size * distance <= size_of_val(pads) && (1..=lanes).contains(&count));
    // SAFETY: there is at least one element.
    let first = unsafe { repeated(from, size) };
    let start = pads.as_mut_ptr().cast::<u8>();
    for at in (0..lanes * distance * size).step_by(8) {
        // SAFETY: the address is inside the buffers, whose size is a multiple of 8 bytes, as was checked.
        unsafe { start.add(at).cast::<u64>().write(first) };
    }
    let place = if step < 0 { start.wrapping_add((lanes - 1) * size) } else { start };
    for i in 0..count as isize {
        // SAFETY: the element is valid for reads by this function's contract, and its place is one of `lanes` in the buffers.
        unsafe {
            let (from, to) = (from.offset(i * step * size as isize), place.offset(i * step * size as isize));
            from.copy_to_nonoverlapping(to, size);
        }
    }
    place
}

/// Returns eight bytes that are filled with copies of the element at `from`.
///
/// # Safety
/// `from` is valid for reads of an element of `size` bytes: 1, 2, 4 or 8.
#[inline]
unsafe fn repeated(from: *const u8, size: usize) -> u64 {
    // SAFETY: each arm reads one element of its size; unaligned reads do not require the alignment of the type.
    unsafe {
        match size {
            1 => u64::from(from.read()) * 0x0101_0101_0101_0101,
            2 => u64::from(from.cast::<u16>().read_unaligned()) * 0x0001_0001_0001_0001,
            4 => u64::from(from.cast::<u32>().read_unaligned()) * 0x0000_0001_0000_0001,
            _ => from.cast::<u64>().read_unaligned(),
        }
    }
}

/// Copies `count` elements of `size` bytes to a buffer, and fills the rest, up to `lanes` elements, with the first element.
///
/// # Safety
/// `from` is valid for reads of `count` elements, at least one and at most `lanes`; `lanes` elements fit into the buffer.
#[inline]
unsafe fn fill(from: *const u8, size: usize, count: usize, lanes: usize, to: &mut Pad) {
    debug_assert!(lanes * size <= PAD && (1..=lanes).contains(&count));
    #[cfg(target_arch = "x86_64")]
    // SAFETY: this function has the same contract, and on x86-64 without AVX there is no compiler, and so no call.
    unsafe {
        avx::fill(from, size, count, lanes, to);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: by this function's contract, `count` elements can be read, and they fit into the buffer.
    unsafe {
        to.0.as_mut_ptr().cast::<[u64; PAD / 8]>().write([repeated(from, size); PAD / 8]);
        std::ptr::copy_nonoverlapping(from, to.0.as_mut_ptr().cast(), count * size);
    }
}

#[cfg(target_arch = "x86_64")]
mod avx {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm_set_epi64x, _mm_setzero_si128, _mm256_andnot_ps,
        _mm256_castps_si256, _mm256_castsi128_si256, _mm256_castsi256_ps, _mm256_insertf128_si256,
        _mm256_loadu_si256, _mm256_maskload_ps, _mm256_or_ps, _mm256_set1_epi64x, _mm256_store_si256,
    };

    use super::{Pad, repeated};

    /// Bytes from which masks are loaded: the 32 bytes at the offset `32 − n` are a mask of the first `n` bytes of a
    /// vector.
    static MASKS: [u8; 64] = {
        let mut masks = [0; 64];
        let mut i = 0;
        while i < 32 {
            masks[i] = 0xff;
            i += 1;
        }
        masks
    };

    /// Does the work of [`super::fill`] with AVX.
    ///
    /// # Safety
    /// That of [`super::fill`].
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn fill(from: *const u8, size: usize, count: usize, lanes: usize, to: &mut Pad) {
        let to = (&raw mut to.0).cast::<__m256i>();
        let (bytes, vectors) = (count * size, (lanes * size).div_ceil(32));
        let (whole, left) = (bytes / 32, bytes % 32);
        // SAFETY: there is at least one element.
        let rest = _mm256_set1_epi64x(unsafe { repeated(from, size) }.cast_signed());
        for i in 0..whole {
            // SAFETY: the vector lies within the `count` elements, and in the buffer, which is aligned to 32 bytes.
            unsafe { _mm256_store_si256(to.add(i), _mm256_loadu_si256(from.add(32 * i).cast())) };
        }
        let mut next = whole;
        if left > 0 {
            // SAFETY: the last `left` bytes of the elements begin at this address.
            let last = unsafe { part(from.add(32 * whole), size, left) };
            // SAFETY: 32 of the 64 bytes of `MASKS` are read.
            let mask = unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(32 - left).cast()) };
            let others = _mm256_andnot_ps(_mm256_castsi256_ps(mask), _mm256_castsi256_ps(rest));
            let both = _mm256_or_ps(_mm256_castsi256_ps(last), others);
            // SAFETY: `left` is above 0, so the vector is among those that hold `lanes` elements.
            unsafe { _mm256_store_si256(to.add(whole), _mm256_castps_si256(both)) };
            next += 1;
        }
        for i in next..vectors {
            // SAFETY: the buffer has space for `lanes` elements, and this vector is among those that hold them.
            unsafe { _mm256_store_si256(to.add(i), rest) };
        }
    }

    /// Loads `n` bytes, from 1 to 31, as the first bytes of a vector whose other bytes are 0. They are whole elements of `size`
    /// bytes.
    ///
    /// # Safety
    /// `from` is valid for reads of `n` bytes.
    #[inline]
    #[target_feature(enable = "avx")]
    unsafe fn part(from: *const u8, size: usize, n: usize) -> __m256i {
        if size >= 4 {
            // SAFETY: 32 of the 64 bytes of `MASKS` are read.
            let mask = unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(32 - n).cast()) };
            // SAFETY: a masked load reads nothing outside of the mask, and the elements within it are valid.
            return _mm256_castps_si256(unsafe { _mm256_maskload_ps(from.cast(), mask) });
        }
        if n < 16 {
            // SAFETY: `n` bytes are valid for reads, by this function's contract.
            return _mm256_castsi128_si256(unsafe { short(from, n) });
        }
        // SAFETY: the first 16 bytes are read, and then the others, if there are any.
        unsafe {
            let low = _mm_loadu_si128(from.cast());
            let high = if n == 16 { _mm_setzero_si128() } else { short(from.add(16), n - 16) };
            _mm256_insertf128_si256::<1>(_mm256_castsi128_si256(low), high)
        }
    }

    /// Loads `n` bytes, from 1 to 15, as the first bytes of a vector whose other bytes are 0. Two words are read and combined;
    /// they may overlap, in bytes that are equal in both words.
    ///
    /// # Safety
    /// `from` is valid for reads of `n` bytes.
    #[inline]
    #[target_feature(enable = "avx")]
    unsafe fn short(from: *const u8, n: usize) -> __m128i {
        macro_rules! word {
            ($t:ty, $at:expr) => {{
                // SAFETY: the word lies within the `n` bytes, as each arm below checks.
                u64::from(unsafe { from.add($at).cast::<$t>().read_unaligned() })
            }};
        }
        let (low, high) = match n {
            8 => (word!(u64, 0), 0),
            9.. => (word!(u64, 0), word!(u64, n - 8) >> (8 * (16 - n))),
            4.. => (word!(u32, 0) | word!(u32, n - 4) << (8 * (n - 4)), 0),
            2.. => (word!(u16, 0) | word!(u16, n - 2) << (8 * (n - 2)), 0),
            _ => (word!(u8, 0), 0),
        };
        _mm_set_epi64x(high.cast_signed(), low.cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every number of elements of every size, at addresses of every alignment, the buffer contains the elements and then
    /// copies of the first element.
    #[test]
    fn a_buffer_has_the_elements_and_then_the_first() {
        #[cfg(target_arch = "x86_64")]
        if !std::arch::is_x86_feature_detected!("avx") {
            return;
        }
        for size in [1, 2, 4, 8] {
            for lanes in [2, 4, 8, 16, 32] {
                for count in 1..=lanes {
                    for skipped in 0..3 {
                        // The allocation has exactly as many bytes as may be read.
                        let bytes: Vec<u8> = (0..skipped + count * size).map(|i| (i * 7 + 1) as u8).collect();
                        let elements = &bytes[skipped..];
                        let mut pad = Pad(MaybeUninit::new([0xee; PAD]));
                        // SAFETY: `from` points to `count` elements of `size` bytes, and the buffer has space for 32 elements of
                        // 8 bytes.
                        let filled = unsafe {
                            fill(elements.as_ptr(), size, count, lanes, &mut pad);
                            pad.0.assume_init()
                        };
                        let mut expected = elements.to_vec();
                        (count..lanes).for_each(|_| expected.extend(&elements[..size]));
                        assert_eq!(filled[..lanes * size], expected[..], "{count} of {lanes} of {size}");
                        let mut out = vec![0u8; count * size + 1];
                        // SAFETY: both buffers have as many bytes.
                        unsafe { copy(filled.as_ptr(), out.as_mut_ptr(), count * size) };
                        assert_eq!((&out[..count * size], out[count * size]), (elements, 0));
                    }
                }
            }
        }
    }
}
