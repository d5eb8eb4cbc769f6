//! Fills tiles with the words of a random stream: the counter-based generator Philox4x32-10 (Salmon, Moraes, Dror and Shaw,
//! "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//!
//! A stream is a sequence of bytes, 16 for each block of four words, and the address of an element is its position in them. In a row
//! of adjacent elements each block is therefore computed once, whether the elements have 32 or 64 bits. The functions `philox_low`
//! and `philox_high` of the op table compute the same blocks one element at a time; a test compares the two.

use pulp::{Arch, Simd, WithSimd};

use crate::tile::{Strided, Tile};

/// The number of bytes of a block.
const BLOCK: usize = 16;

/// The number of blocks that are computed at a time where a row begins or ends: a few vectors of any width. Rows of fewer elements
/// are computed together.
const LANES: usize = 16;

/// The number of elements that are computed at a time if each of them has a block of its own.
const APART: usize = 64;

/// Fills a tile with `rows` × `cols` words of `item` bytes, 4 or 8, of the stream of a key.
///
/// # Safety
/// The tile must be valid for writes of `rows` rows of `cols` elements and aligned to them, and the key for reads of four words.
pub(crate) unsafe fn words(key: *const u8, item: usize, from: Strided, to: Tile, rows: usize, cols: usize) {
    // SAFETY: the contract of this function.
    let stream = unsafe { KeyStream::of(key) };
    Arch::new().dispatch(Fill { stream, item, from, to, rows, cols });
}

/// Writes words of `item` bytes, 4 or 8, of the stream of a key one after another: those at these offsets in bytes from `first`.
///
/// # Safety
/// `to` must be valid for writes of one element for each offset and aligned to them, and the key for reads of four words.
pub(crate) unsafe fn words_at(key: *const u8, item: usize, first: *mut u8, offsets: &[isize], to: *mut u8) {
    // SAFETY: the contract of this function.
    let stream = unsafe { KeyStream::of(key) };
    Arch::new().dispatch(FillAt { stream, item, first: first.addr(), offsets, to });
}

/// The arguments of [`words`].
// Not a closure, which the compiler does not inline into the functions that have the CPU's features.
struct Fill {
    stream: KeyStream,
    item: usize,
    from: Strided,
    to: Tile,
    rows: usize,
    cols: usize,
}

impl WithSimd for Fill {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Fill { stream, item, from, to, rows, cols } = self;
        let row_at = |row: usize| {
            let at = from.ptr.addr().wrapping_add_signed(from.row_stride.wrapping_mul(row as isize));
            (at, to.ptr.wrapping_add(row * to.pitch))
        };
        if from.col_stride == item as isize && cols >= LANES {
            for (at, to) in (0..rows).map(row_at) {
                // SAFETY: this is a row of the tile, which is valid for writes of `cols` elements (the contract of `words`).
                unsafe { stream.row(item, at, to, cols * item) }
            }
            return;
        }
        if from.col_stride != 0 && cols >= LANES {
            for (at, to) in (0..rows).map(row_at) {
                let position =
                    |col: usize| at.wrapping_add_signed(from.col_stride.wrapping_mul(col as isize));
                // SAFETY: as above.
                unsafe { stream.apart(item, cols, position, to) }
            }
            return;
        }
        // Elements of a row without a stride are equal.
        let distinct = if from.col_stride == 0 { cols.min(1) } else { cols };
        let elements = (0..rows).map(row_at).flat_map(|(at, to)| {
            (0..distinct).map(move |col| {
                let at = at.wrapping_add_signed(from.col_stride.wrapping_mul(col as isize));
                (at, to.wrapping_add(col * item))
            })
        });
        // SAFETY: these are elements of the tile, which is valid for writes of them and aligned to them (the contract of `words`).
        unsafe {
            stream.scattered(item, elements);
            for (_, to) in (0..rows).map(row_at).filter(|_| distinct < cols) {
                match item {
                    4 => repeat::<u32>(to, cols),
                    _ => repeat::<u64>(to, cols),
                }
            }
        }
    }
}

/// Copies the first element of a row to all others.
///
/// # Safety
/// The row must be valid for reads and writes of `cols` elements, at least one, and aligned to them.
#[inline(always)]
unsafe fn repeat<T: Copy>(row: *mut u8, cols: usize) {
    // SAFETY: the contract of this function.
    unsafe {
        let row = row.cast::<T>();
        let first = row.read();
        (1..cols).for_each(|col| row.add(col).write(first));
    }
}

/// The arguments of [`words_at`].
struct FillAt<'o> {
    stream: KeyStream,
    item: usize,
    first: usize,
    offsets: &'o [isize],
    to: *mut u8,
}

impl WithSimd for FillAt<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let FillAt { stream, item, first, offsets, to } = self;
        // Positions beyond the last offset are computed as well, and dropped.
        let position = |i: usize| offsets.get(i).map_or(0, |&offset| first.wrapping_add_signed(offset));
        // SAFETY: there is one element for each offset (the contract of `words_at`).
        unsafe { stream.apart(item, offsets.len(), position, to) }
    }
}

/// The number of rounds.
const ROUNDS: usize = 10;

/// The multipliers of the first and third word.
const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];

/// What each round adds to the words of the key.
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

const LOW_HALF: u64 = 0xFFFF_FFFF;

/// The stream of a key.
#[derive(Clone, Copy)]
struct KeyStream {
    /// The two words of the key in each round.
    keys: [[u64; 2]; ROUNDS],
    /// The upper two words of the counter.
    upper: [u64; 2],
}

impl KeyStream {
    /// The stream of the key at an address.
    ///
    /// # Safety
    /// The key must be valid for reads of four words.
    unsafe fn of(key: *const u8) -> KeyStream {
        // SAFETY: the contract of this function. Memory of applications need not be aligned.
        let key = unsafe { key.cast::<[u32; 4]>().read_unaligned() };
        let keys = std::array::from_fn(|round| {
            let of = |i: usize| key[i].wrapping_add(KEY_STEPS[i].wrapping_mul(round as u32));
            [of(0).into(), of(1).into()]
        });
        KeyStream { keys, upper: [key[2].into(), key[3].into()] }
    }

    /// The words of a block in pairs, the first of each pair in the low half.
    ///
    /// Words are computed in lanes of 64 bits, since the product of two words has 64. Only products need an upper half of zeros, and
    /// masking an operand of a product costs no instruction on x86-64, which multiplies the low halves of lanes.
    #[inline(always)]
    fn block(&self, number: u64) -> [u64; 2] {
        let mut words = [number, number >> 32, self.upper[0], self.upper[1]];
        for key in self.keys {
            let first = (words[0] & LOW_HALF) * MULTIPLIERS[0];
            let third = (words[2] & LOW_HALF) * MULTIPLIERS[1];
            words = [(third >> 32) ^ (words[1] ^ key[0]), third, (first >> 32) ^ (words[3] ^ key[1]), first];
        }
        [(words[0] & LOW_HALF) | words[1] << 32, (words[2] & LOW_HALF) | words[3] << 32]
    }

    /// Writes `bytes` bytes of the stream from position `at` on, which are whole elements of `item` bytes.
    ///
    /// # Safety
    /// `to` must be valid for writes of `bytes` bytes.
    #[inline(always)]
    unsafe fn row(&self, item: usize, mut at: usize, mut to: *mut u8, mut bytes: usize) {
        let mut ends = [0_u64; 2 * LANES];
        while bytes > 0 {
            let skipped = at % BLOCK;
            let whole = bytes / (LANES * BLOCK) * LANES;
            // Blocks at the beginning and at the end of the row are computed aside, and copied as far as they belong to it.
            let is_aside = skipped > 0 || whole == 0;
            let (blocks, place) = match is_aside {
                true => (LANES, ends.as_mut_ptr()),
                false => (whole, to.cast::<u64>()),
            };
            let first = (at / BLOCK) as u64;
            for i in 0..blocks {
                let [low, high] = self.block(first.wrapping_add(i as u64));
                // SAFETY: `ends` has `LANES` blocks, and `whole` blocks are at most the bytes that remain (the contract).
                unsafe {
                    place.add(2 * i).write_unaligned(in_memory(low, item));
                    place.add(2 * i + 1).write_unaligned(in_memory(high, item));
                }
            }
            let mut done = blocks * BLOCK;
            if is_aside {
                done = bytes.min(done - skipped);
                // SAFETY: `skipped + done` is at most the size of `ends`, and `done` at most the bytes that remain.
                unsafe { ends.as_ptr().cast::<u8>().add(skipped).copy_to_nonoverlapping(to, done) }
            }
            to = to.wrapping_add(done);
            (at, bytes) = (at.wrapping_add(done), bytes - done);
        }
    }

    /// Replaces positions in the stream by the two words of the pair there, of which that at the position is in the low half.
    #[inline(always)]
    fn replace(&self, positions: &mut [u64; APART]) {
        for at in positions {
            let [first, second] = self.block(*at / BLOCK as u64);
            let pair = if *at & 8 == 0 { first } else { second };
            *at = pair >> ((*at & 4) * 8);
        }
    }

    /// Writes elements of `item` bytes one after another, element `i` from `position(i)` in the stream. Each computes a block of its
    /// own.
    ///
    /// # Safety
    /// `to` must be valid for writes of `count` elements and aligned to them.
    #[inline(always)]
    unsafe fn apart(&self, item: usize, count: usize, position: impl Fn(usize) -> usize, to: *mut u8) {
        for start in (0..count).step_by(APART) {
            let mut words = std::array::from_fn(|i| position(start + i) as u64);
            self.replace(&mut words);
            let here = APART.min(count - start);
            for (i, &word) in words.iter().take(here).enumerate() {
                // SAFETY: `start + i < count`, so that the contract covers this element.
                unsafe {
                    match item {
                        4 => to.cast::<u32>().add(start + i).write(word as u32),
                        _ => to.cast::<u64>().add(start + i).write(word),
                    }
                }
            }
        }
    }

    /// Writes elements of `item` bytes, each from its position in the stream to its address. Each computes a block of its own.
    ///
    /// # Safety
    /// The addresses must be valid for writes of elements and aligned to them.
    #[inline(always)]
    unsafe fn scattered(&self, item: usize, mut elements: impl Iterator<Item = (usize, *mut u8)>) {
        let mut words = [0_u64; APART];
        let mut places = [std::ptr::null_mut::<u8>(); APART];
        loop {
            let mut count = 0;
            for ((word, place), (at, to)) in words.iter_mut().zip(&mut places).zip(elements.by_ref()) {
                (*word, *place) = (at as u64, to);
                count += 1;
            }
            self.replace(&mut words);
            for (&to, &word) in places.iter().zip(&words).take(count) {
                // SAFETY: the contract of this function.
                unsafe {
                    match item {
                        4 => to.cast::<u32>().write(word as u32),
                        _ => to.cast::<u64>().write(word),
                    }
                }
            }
            if count < APART {
                return;
            }
        }
    }
}

/// A pair of words as it is in memory: as one element of 8 bytes, or as two of 4, of which the first is in the low half.
#[inline(always)]
fn in_memory(pair: u64, item: usize) -> u64 {
    if cfg!(target_endian = "big") && item == 4 { pair.rotate_left(32) } else { pair }
}
