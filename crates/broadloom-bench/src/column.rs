//! The memory of a workload: columns of numbers, whose dtype is known only at run time.
//!
//! Each column of a problem begins at a cache line, at a different offset within a page than the other columns. With equal
//! offsets, loads would wait for pending stores to addresses that differ by a multiple of 4 KiB (4K aliasing).

use std::ops::Range;

use broadloom::{Array, DType, Element, Evaluation, In, Out, Result, f16};

/// The size of a page of x86-64 in bytes. A load conflicts with a pending store if their offsets within a page are equal.
const PAGE: usize = 4096;
/// The distance between the page offsets of successive columns, in bytes: an odd number of cache lines.
const STAGGER: usize = 9 * 64;

/// Numbers whose memory begins at a chosen offset within a page.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    memory: Vec<T>,
    first: usize,
    len: usize,
}

impl<T: Copy + Default> Placed<T> {
    /// Allocates zeros at the page offset for column number `place` of a problem.
    pub fn new(len: usize, place: usize) -> Placed<T> {
        let size = size_of::<T>();
        // A zeroed vector is allocated without being written, so its pages are new pages of the system.
        let memory = vec![T::default(); len + PAGE / size];
        let wanted = (64 + place * STAGGER) % PAGE;
        let at = memory.as_ptr().addr() % PAGE;
        let first = (wanted + PAGE - at) % PAGE / size;
        Placed { memory, first, len }
    }

    /// The numbers as a slice.
    pub fn get(&self) -> &[T] {
        &self.memory[self.first..][..self.len]
    }

    /// The numbers as a mutable slice.
    pub fn get_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.first..][..self.len]
    }
}

/// An element type of the workloads.
pub trait Cell: Element + Copy + Default + PartialEq + Send + Sync {
    /// Makes a column of these elements.
    fn column(cells: Placed<Self>) -> NumberColumn;
    /// Returns the elements of the slice, which must be of this type.
    ///
    /// # Panics
    /// If the slice has another element type, which is a fault in the workload's loop.
    fn of<'a>(slice: &Slice<'a>) -> &'a [Self];
    /// Returns the elements of the slice for writing, which must be of this type.
    ///
    /// # Panics
    /// If the slice has another element type, which is a fault in the workload's loop.
    fn of_mut<'s>(slice: &'s mut SliceMut<'_>) -> &'s mut [Self];
    /// Whether two values have the same bits, or are floats that differ by at most `ulps` ulp.
    fn agrees(self, other: Self, ulps: u64) -> bool;
}

macro_rules! cells {
    ($($variant:ident $t:ty, $bits:expr;)*) => {
        /// Numbers of one dtype.
        #[derive(Clone, Debug)]
        pub enum NumberColumn {
            $(#[doc = concat!("`", stringify!($t), "`")] $variant(Placed<$t>),)*
        }

        /// A slice of a [`NumberColumn`].
        #[derive(Clone, Copy, Debug)]
        pub enum Slice<'a> {
            $(#[doc = concat!("`", stringify!($t), "`")] $variant(&'a [$t]),)*
        }

        /// A mutable slice of a [`NumberColumn`].
        #[derive(Debug)]
        pub enum SliceMut<'a> {
            $(#[doc = concat!("`", stringify!($t), "`")] $variant(&'a mut [$t]),)*
        }

        $(impl Cell for $t {
            fn column(cells: Placed<$t>) -> NumberColumn {
                NumberColumn::$variant(cells)
            }
            fn of<'a>(slice: &Slice<'a>) -> &'a [$t] {
                match slice {
                    Slice::$variant(cells) => cells,
                    other => panic!("a column of {other:?}, not of {}", stringify!($t)),
                }
            }
            fn of_mut<'s>(slice: &'s mut SliceMut<'_>) -> &'s mut [$t] {
                match slice {
                    SliceMut::$variant(cells) => cells,
                    other => panic!("a column of {other:?}, not of {}", stringify!($t)),
                }
            }
            fn agrees(self, other: $t, ulps: u64) -> bool {
                let bits: fn($t) -> i64 = $bits;
                bits(self).abs_diff(bits(other)) <= ulps
            }
        })*

        impl NumberColumn {
            /// The numbers as a slice.
            pub fn slice(&self) -> Slice<'_> {
                match self { $(NumberColumn::$variant(cells) => Slice::$variant(cells.get()),)* }
            }

            /// The numbers as a mutable slice.
            pub fn slice_mut(&mut self) -> SliceMut<'_> {
                match self { $(NumberColumn::$variant(cells) => SliceMut::$variant(cells.get_mut()),)* }
            }

            /// The size of an element, in bytes.
            pub fn size(&self) -> usize {
                match self { $(NumberColumn::$variant(_) => size_of::<$t>(),)* }
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                match self { $(NumberColumn::$variant(cells) => cells.len,)* }
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The first index at which two columns differ, according to [`Cell::agrees`].
            pub fn difference(&self, other: &NumberColumn, ulps: u64) -> Option<usize> {
                match (self, other) {
                    $((NumberColumn::$variant(a), NumberColumn::$variant(b)) => {
                        a.get().iter().zip(b.get()).position(|(a, b)| !a.agrees(*b, ulps))
                    })*
                    _ => Some(0),
                }
            }

            /// Returns a copy of the numbers, and fills this column with zeros.
            pub fn take(&mut self) -> NumberColumn {
                let taken = self.clone();
                match self { $(NumberColumn::$variant(cells) => cells.get_mut().fill(Default::default()),)* }
                taken
            }
        }

        impl<'a> Slice<'a> {
            /// An array of this shape that borrows the elements.
            ///
            /// # Errors
            /// If the shape has another number of elements.
            pub fn array(&self, shape: &[usize]) -> Result<Array<'a>> {
                match self { $(Slice::$variant(cells) => Array::from_shape_slice(shape, cells),)* }
            }

            /// An input of a kernel.
            pub fn input(&self) -> In<'a> {
                match self { $(Slice::$variant(cells) => In::from(*cells),)* }
            }
        }

        impl<'a> SliceMut<'a> {
            /// An output of a kernel. Bools are written as bytes.
            pub fn output(&mut self, dtype: DType) -> Out<'_> {
                match (self, dtype) {
                    (SliceMut::UInt8(cells), DType::Bool) => Out::bool_bytes(cells),
                    $((SliceMut::$variant(cells), _) => Out::from(&mut **cells),)*
                }
            }

            /// Evaluates an array into the elements.
            ///
            /// # Errors
            /// The errors of [`broadloom::Evaluation::eval_into`].
            pub fn evaluate(&mut self, root: &Array<'_>, options: &broadloom::Options) -> Result<()> {
                match self { $(SliceMut::$variant(cells) => Evaluation::with(options).eval_into(root, cells),)* }
            }

            /// Reborrows the slice for a shorter time.
            pub fn reborrow(&mut self) -> SliceMut<'_> {
                match self { $(SliceMut::$variant(cells) => SliceMut::$variant(cells),)* }
            }

            /// Splits the slice into the first `at` elements and the rest.
            pub fn split_at(self, at: usize) -> (SliceMut<'a>, SliceMut<'a>) {
                match self {
                    $(SliceMut::$variant(cells) => {
                        let (a, b) = cells.split_at_mut(at);
                        (SliceMut::$variant(a), SliceMut::$variant(b))
                    })*
                }
            }
        }
    };
}
cells! {
    Bool bool, |x| x.into();
    UInt8 u8, |x| x.into();
    Int16 i16, |x| x.into();
    Int32 i32, |x| x.into();
    Float16 f16, |x| ordered(x.to_bits().into(), 16);
    Float32 f32, |x| ordered(x.to_bits().into(), 32);
    Float64 f64, |x| ordered(x.to_bits(), 64);
}

/// Maps the bits of a float of this width to an integer, such that the integers have the order of the floats, with −0 below 0.
fn ordered(bits: u64, width: u32) -> i64 {
    let sign = 1 << (width - 1);
    let magnitude = (bits & (sign - 1)) as i64;
    if bits & sign == 0 { magnitude } else { !magnitude }
}

/// Returns a function that maps random bits to a number from `lo` to `hi`, using the upper bits.
pub fn between<T: Cell>(lo: f64, hi: f64) -> impl FnMut(u64) -> T {
    move |bits| T::of_f64(lo + (hi - lo) * ((bits >> 11) as f64 / (1u64 << 53) as f64))
}

/// The elements of the first output.
pub fn first<'s, T: Cell>(out: &'s mut [SliceMut<'_>]) -> &'s mut [T] {
    T::of_mut(&mut out[0])
}

/// All elements of an input.
pub fn whole<'a, T: Cell>(slice: &Slice<'a>) -> &'a [T] {
    T::of(slice)
}

/// The elements of a slice in a range.
pub fn part<'a, T: Cell>(slice: &Slice<'a>, at: &Range<usize>) -> &'a [T] {
    &T::of(slice)[at.clone()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_the_last_place() {
        let apart = |a: f32, b: f32, ulps| a.agrees(b, ulps);
        assert!(apart(1.0, 1.0, 0) && apart(f32::NAN, f32::NAN, 0) && !apart(f32::NAN, -f32::NAN, 0));
        assert!(!apart(0.0, -0.0, 0) && !apart(1.0, f32::NAN, 1000));
        let next = f32::from_bits(1.0f32.to_bits() + 2);
        assert!(apart(1.0, next, 2) && !apart(next, 1.0, 1) && !apart(-1.0, -next, 1));
        let tiny = f32::from_bits(1);
        // From the largest negative number to the smallest positive one there are three steps: to −0, to 0, and to the positive
        // number.
        assert!(apart(-tiny, tiny, 3) && !apart(-tiny, tiny, 2));
        assert!(f16::from_bits(0x8001).agrees(f16::from_bits(0x8002), 1));
        assert!((-1i16).agrees(-1, 0) && !(-1i16).agrees(0, 0));
    }

    #[test]
    fn columns_begin_at_offsets_of_their_own() {
        let mut offsets: Vec<usize> =
            (0..5).map(|place| Placed::<f64>::new(3, place).get().as_ptr().addr() % PAGE).collect();
        assert!(offsets.iter().all(|offset| offset % 64 == 0), "{offsets:?}");
        offsets.sort_unstable();
        offsets.dedup();
        assert_eq!(offsets.len(), 5);
    }
}
