//! Transposed copies of two-dimensional blocks. They are made square by square; a square fits in vector registers.
//!
//! The columns of the source and the rows of the target are contiguous. Each element of the block is read and written once, and
//! no other memory is accessed.

use vectors::{Narrow, SquareVectors};

/// An element type of a size for which squares can be transposed in registers. A row of a square has 16 bytes, and a square has
/// as many rows as columns.
pub(crate) trait Transpose: Copy {
    /// The number of rows, and of columns, of a square.
    const SIDE: usize;

    /// Copies each element (r, c) from `from + c * col_stride + r * size` to `to + r * row_stride + c * size`. The squares are
    /// visited along the rows of the target if `BY_ROWS`, else along the columns of the source.
    ///
    /// # Safety
    /// For `c < cols` and `r < rows` the first address must be valid for reads and the second for writes, both aligned, without
    /// overlap.
    unsafe fn transpose<const BY_ROWS: bool>(
        from: *const u8,
        col_stride: isize,
        to: *mut u8,
        row_stride: isize,
        cols: usize,
        rows: usize,
    );
}

macro_rules! transpose {
    ($($t:ident $side:literal;)*) => {$(
        impl Transpose for $t {
            const SIDE: usize = $side;

            unsafe fn transpose<const BY_ROWS: bool>(
                from: *const u8,
                col_stride: isize,
                to: *mut u8,
                row_stride: isize,
                cols: usize,
                rows: usize,
            ) {
                let block = SquareBlock { from, col_stride, to, row_stride, cols, rows };
                // SAFETY: the block consists of this function's arguments, for which the contract holds.
                unsafe { block.transpose::<$t, $side, BY_ROWS>() }
            }
        }

        const _: () = assert!($side * size_of::<$t>() == vectors::SQUARE);
    )*};
}
transpose! {
    u8 16;
    u16 8;
    u32 4;
    u64 2;
}

/// The arguments of [`Transpose::transpose`].
#[derive(Clone, Copy)]
struct SquareBlock {
    from: *const u8,
    col_stride: isize,
    to: *mut u8,
    row_stride: isize,
    cols: usize,
    rows: usize,
}

impl SquareBlock {
    #[inline(always)]
    fn source<T>(&self, c: usize, r: usize) -> *const T {
        self.from.wrapping_offset(c as isize * self.col_stride).cast::<T>().wrapping_add(r)
    }

    #[inline(always)]
    fn target<T>(&self, c: usize, r: usize) -> *mut T {
        self.to.wrapping_offset(r as isize * self.row_stride).cast::<T>().wrapping_add(c)
    }

    /// Makes the transposed copy with squares of side `N`.
    ///
    /// # Safety
    /// The contract of [`Transpose::transpose`]; `N` must be the side of the square.
    unsafe fn transpose<T: Copy, const N: usize, const BY_ROWS: bool>(self) {
        let (whole_cols, whole_rows) = (self.cols / N * N, self.rows / N * N);
        // SAFETY: all (c, r) below are in the block: first whole squares, then the rows below the last squares, then the columns
        // to the right of both.
        unsafe {
            let done = vectors::wide(
                #[inline(always)]
                |vectors| self.squares::<T, N, BY_ROWS, _>(vectors, 0, whole_cols, whole_rows),
            );
            self.squares::<T, N, BY_ROWS, _>(Narrow, done.unwrap_or(0), whole_cols, whole_rows);
            for r in whole_rows..self.rows {
                (0..whole_cols).for_each(|c| self.target::<T>(c, r).write(self.source::<T>(c, r).read()));
            }
            for c in whole_cols..self.cols {
                (0..self.rows).for_each(|r| self.target::<T>(c, r).write(self.source::<T>(c, r).read()));
            }
        }
    }

    /// Transposes the columns from `start` on with vectors that cover `V::SQUARES` squares side by side, and returns the first
    /// column that was not transposed.
    ///
    /// # Safety
    /// The contract of [`SquareBlock::transpose`]; `start`, `cols` and `rows` must be multiples of `N`, and in the block.
    #[inline(always)]
    unsafe fn squares<T: Copy, const N: usize, const BY_ROWS: bool, V: SquareVectors>(
        self,
        vectors: V,
        start: usize,
        cols: usize,
        rows: usize,
    ) -> usize {
        let beside = N * V::SQUARES;
        let across = cols.saturating_sub(start) / beside;
        let (outer, inner) = if BY_ROWS { (rows / N, across) } else { (across, rows / N) };
        // PERF: the operand in strided memory is traversed in the order of its memory; the other one is a tile in cache. Only
        // plain loops are used, since a function that is not inlined here would not be compiled for the vectors.
        let mut i = 0;
        while i < outer {
            let mut j = 0;
            while j < inner {
                let (c, r) = if BY_ROWS { (j, i) } else { (i, j) };
                // SAFETY: a vector that is loaded has N elements of each of V::SQUARES columns of the source.
                // A vector that is stored has N * V::SQUARES elements of one row of the target. All of these
                // are in the block.
                unsafe { self.square::<T, N, V>(vectors, start + c * beside, r * N) }
                j += 1;
            }
            i += 1;
        }
        start + across * beside
    }

    /// Transposes the squares that lie side by side, the first of which begins in column `c` and row `r`.
    ///
    /// # Safety
    /// `N * V::SQUARES` columns from `c` on and `N` rows from `r` on must be in the block.
    #[inline(always)]
    unsafe fn square<T: Copy, const N: usize, V: SquareVectors>(self, vectors: V, c: usize, r: usize) {
        // SAFETY: the square is in the block (the contract), and so is each of the elements that `load` and `store` access.
        unsafe {
            let load =
                |i: usize| vectors.load(self.source::<T>(c + i, r).cast(), N as isize * self.col_stride);
            let mut square = [load(0); N];
            for (i, vector) in square.iter_mut().enumerate().skip(1) {
                *vector = load(i);
            }
            // Interleaving the first N / 2 vectors with the last N / 2, log2(N) times, turns columns into rows: vector j then has
            // element j of every column.
            let mut left = N;
            while left > 1 {
                let before = square;
                for i in 0..N / 2 {
                    let pair = vectors.zip(size_of::<T>(), before[i], before[i + N / 2]);
                    (square[2 * i], square[2 * i + 1]) = (pair[0], pair[1]);
                }
                left /= 2;
            }
            for (j, row) in square.into_iter().enumerate() {
                vectors.store(row, self.target::<T>(c, r + j).cast());
            }
        }
    }
}

/// Vector types that hold a row or column of one or two squares, and the operation that interleaves two vectors.
mod vectors {
    /// The size in bytes of a row of a square.
    pub(super) const SQUARE: usize = 16;

    pub(super) trait SquareVectors: Copy {
        /// A vector with one row or column of each square.
        type Vector: Copy;
        /// The number of squares that a vector covers side by side.
        const SQUARES: usize;

        /// Loads a column of each square: the first at `from`, the next `apart` bytes further.
        ///
        /// # Safety
        /// [`SQUARE`] bytes at each address must be valid for reads.
        unsafe fn load(self, from: *const u8, apart: isize) -> Self::Vector;

        /// Stores a vector at the address `to`.
        ///
        /// # Safety
        /// `size_of::<Self::Vector>()` bytes at `to` must be valid for writes.
        unsafe fn store(self, vector: Self::Vector, to: *mut u8);

        /// Interleaves the elements of two vectors to `[a0, b0, a1, b1, …]`, and returns the result as two
        /// vectors. If a vector covers several squares, the part of each square is interleaved by itself.
        /// Elements have `size` bytes.
        fn zip(self, size: usize, a: Self::Vector, b: Self::Vector) -> [Self::Vector; 2];
    }

    /// Vectors of 16 bytes, which cover one square. Every CPU of the architecture has them.
    #[derive(Clone, Copy)]
    pub(super) struct Narrow;

    #[cfg(target_arch = "x86_64")]
    mod x86 {
        use std::arch::x86_64::*;

        use pulp::x86::V3;

        use super::{Narrow, SquareVectors};

        impl SquareVectors for Narrow {
            type Vector = __m128i;
            const SQUARES: usize = 1;

            #[inline(always)]
            unsafe fn load(self, from: *const u8, _: isize) -> __m128i {
                // SAFETY: 16 bytes at `from` are valid for reads (the contract of `load`); SSE2 is part of x86-64.
                unsafe { _mm_loadu_si128(from.cast()) }
            }

            #[inline(always)]
            unsafe fn store(self, vector: __m128i, to: *mut u8) {
                // SAFETY: 16 bytes at `to` are valid for writes (the contract of `store`); SSE2 is part of x86-64.
                unsafe { _mm_storeu_si128(to.cast(), vector) }
            }

            #[inline(always)]
            fn zip(self, size: usize, a: __m128i, b: __m128i) -> [__m128i; 2] {
                // SAFETY: SSE2 is part of x86-64.
                #[allow(unused_unsafe)]
                unsafe {
                    match size {
                        1 => [_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)],
                        2 => [_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)],
                        4 => [_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)],
                        _ => [_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)],
                    }
                }
            }
        }

        /// Vectors of 32 bytes, which cover two squares side by side: the instructions interleave each half
        /// of a vector independently.
        #[derive(Clone, Copy)]
        pub(crate) struct Wide(V3);

        impl SquareVectors for Wide {
            type Vector = __m256i;
            const SQUARES: usize = 2;

            #[inline(always)]
            unsafe fn load(self, from: *const u8, apart: isize) -> __m256i {
                // SAFETY: 16 bytes at each of the two columns are valid for reads (the contract of `load`).
                let (low, high): (__m128i, __m128i) = unsafe {
                    (
                        from.cast::<__m128i>().read_unaligned(),
                        from.wrapping_offset(apart).cast::<__m128i>().read_unaligned(),
                    )
                };
                let Wide(v3) = self;
                v3.avx._mm256_insertf128_si256::<1>(v3.avx._mm256_castsi128_si256(low), high)
            }

            #[inline(always)]
            unsafe fn store(self, vector: __m256i, to: *mut u8) {
                // SAFETY: 32 bytes at `to` are valid for writes (the contract of `store`).
                unsafe { to.cast::<__m256i>().write_unaligned(vector) }
            }

            #[inline(always)]
            fn zip(self, size: usize, a: __m256i, b: __m256i) -> [__m256i; 2] {
                let avx2 = self.0.avx2;
                match size {
                    1 => [avx2._mm256_unpacklo_epi8(a, b), avx2._mm256_unpackhi_epi8(a, b)],
                    2 => [avx2._mm256_unpacklo_epi16(a, b), avx2._mm256_unpackhi_epi16(a, b)],
                    4 => [avx2._mm256_unpacklo_epi32(a, b), avx2._mm256_unpackhi_epi32(a, b)],
                    _ => [avx2._mm256_unpacklo_epi64(a, b), avx2._mm256_unpackhi_epi64(a, b)],
                }
            }
        }

        /// Calls `f` with vectors of 32 bytes, in code compiled for AVX2, if the CPU has it.
        #[inline]
        pub(crate) fn wide<R>(f: impl FnOnce(Wide) -> R) -> Option<R> {
            let v3 = V3::try_new()?;
            Some(v3.vectorize(
                #[inline(always)]
                || f(Wide(v3)),
            ))
        }
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) use x86::wide;

    /// Arrays of 16 bytes for other architectures, which the compiler turns into vectors.
    #[cfg(not(target_arch = "x86_64"))]
    impl SquareVectors for Narrow {
        type Vector = [u8; SQUARE];
        const SQUARES: usize = 1;

        #[inline(always)]
        unsafe fn load(self, from: *const u8, _: isize) -> [u8; SQUARE] {
            // SAFETY: 16 bytes at `from` are valid for reads (the contract of `load`), and bytes are always aligned.
            unsafe { from.cast::<[u8; SQUARE]>().read() }
        }

        #[inline(always)]
        unsafe fn store(self, vector: [u8; SQUARE], to: *mut u8) {
            // SAFETY: 16 bytes at `to` are valid for writes (the contract of `store`), and bytes are always aligned.
            unsafe { to.cast::<[u8; SQUARE]>().write(vector) }
        }

        #[inline(always)]
        fn zip(self, size: usize, a: [u8; SQUARE], b: [u8; SQUARE]) -> [[u8; SQUARE]; 2] {
            // Byte k of the result belongs to its element k / size. Elements with an even index are from `a`, elements with an
            // odd index from `b`.
            let byte = |k: usize| {
                let (element, byte) = (k / size, k % size);
                [a, b][element % 2][element / 2 * size + byte]
            };
            [std::array::from_fn(byte), std::array::from_fn(|k| byte(k + SQUARE))]
        }
    }

    /// Returns `None`: vectors of 32 bytes are implemented for x86-64 only.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn wide<R>(_: impl FnOnce(Narrow) -> R) -> Option<R> {
        None
    }
}
