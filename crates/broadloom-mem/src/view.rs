//! Strided views of borrowed memory: [`View`] to read, [`ViewMut`] to write.
//!
//! A layout is checked once, when a view is made: each of its elements is in memory that is borrowed for `'a`, initialised, and
//! aligned to its size; a `ViewMut` borrows the memory exclusively, and no two of its indices lead to the same byte. A generated
//! view has no memory: its addresses are numbers, which are never dereferenced.

use std::marker::PhantomData;

use broadloom_ir::loop_plan::{injective, reach};
use broadloom_math::Elem;

use crate::bytes::{bytes_of, bytes_of_mut};
use crate::overlap::{PerDim, Place, dims, disjoint};

/// The reason why a view can't be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// The element size is not 1, 2, 4 or 8 bytes.
    #[error("an element can't have {item} bytes; 1, 2, 4 and 8 are possible")]
    Item {
        /// The requested element size in bytes.
        item: usize,
    },
    /// The number of strides differs from the number of dimensions.
    #[error("{strides} strides for {rank} dimensions")]
    Rank {
        /// The number of dimensions in the shape.
        rank: usize,
        /// The number of strides.
        strides: usize,
    },
    /// An element is outside of the memory.
    #[error("the layout reaches outside of its memory")]
    OutOfBounds,
    /// The address of an element is not a multiple of its size.
    #[error("an element's address is not a multiple of its size, {item}")]
    Misaligned {
        /// The element size in bytes.
        item: usize,
    },
    /// Two indices of a layout that is to be written lead to the same byte, or it can't be proven that they don't.
    #[error("the layout to be written to may map two indices to one element")]
    SelfOverlap,
}

/// The layout of a view, readable or writable: an address, a shape and strides.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The address of the element whose indices are all 0; unspecified if there are no elements.
    pub(crate) ptr: *mut u8,
    pub(crate) item: usize,
    pub(crate) shape: PerDim<usize>,
    pub(crate) strides: PerDim<isize>,
    /// The address of the lowest byte of any element, and the address after the highest. They are equal if there are no elements,
    /// and for generated elements.
    pub(crate) reach: (usize, usize),
    /// Whether elements are computed from their addresses (divided by 8) instead of being read from memory.
    pub(crate) is_generated: bool,
}

impl Layout {
    /// Makes a layout from its parts and from the lowest and the end offset of its bytes relative to `ptr`, which [`check`] has
    /// computed.
    #[inline(always)]
    fn new(
        ptr: *mut u8,
        item: usize,
        shape: &[usize],
        strides: &[isize],
        (low, high): (isize, isize),
    ) -> Layout {
        let reach = (ptr.addr().wrapping_add_signed(low), ptr.addr().wrapping_add_signed(high));
        Layout { ptr, item, shape: dims(shape), strides: dims(strides), reach, is_generated: false }
    }

    /// A one-dimensional layout of `len` contiguous elements, which the caller knows to be in memory.
    #[inline]
    fn row(ptr: *mut u8, item: usize, len: usize) -> Layout {
        let reach = (ptr.addr(), ptr.addr() + item * len);
        Layout {
            ptr,
            item,
            shape: PerDim::from_slice(&[len]),
            strides: PerDim::from_slice(&[item as isize]),
            reach,
            is_generated: false,
        }
    }

    pub(crate) fn place(&self) -> Place<'_> {
        Place { address: self.ptr.addr(), item: self.item, shape: &self.shape, strides: &self.strides }
    }

    /// Whether the shape is equal to `extents`.
    #[inline]
    pub(crate) fn has_shape(&self, extents: &[usize]) -> bool {
        // PERF: comparing the slices with `==` would be a function call.
        self.shape.len() == extents.len() && self.shape.iter().zip(extents).all(|(a, b)| a == b)
    }

    /// Whether the elements are contiguous in row-major order; true if there are no elements.
    #[inline]
    pub(crate) fn is_row_major(&self) -> bool {
        let mut step = self.item as isize;
        let follows = |(&extent, &stride): (&usize, &isize)| {
            let is_next = extent <= 1 || stride == step;
            step = step.wrapping_mul(extent as isize);
            is_next
        };
        self.shape.contains(&0) || self.shape.iter().zip(&self.strides).rev().all(follows)
    }

    /// The address of the element with this index, or `None` if the shape has no such index.
    fn element(&self, index: &[usize]) -> Option<*mut u8> {
        let inside =
            index.len() == self.shape.len() && index.iter().zip(&self.shape).all(|(i, extent)| i < extent);
        let steps = index.iter().zip(&self.strides).map(|(&i, &stride)| i as isize * stride);
        // The index is in range, so the sum and each partial sum are distances between elements and do not overflow.
        inside.then(|| self.ptr.wrapping_offset(steps.sum()))
    }
}

/// Returns an error if two indices of a layout that [`check`] accepted may lead to the same byte, so that it may not be written.
fn check_injective(shape: &[usize], strides: &[isize], item: usize) -> Result<(), ViewError> {
    if injective(shape, strides, item) { Ok(()) } else { Err(ViewError::SelfOverlap) }
}

/// Checks a layout. Returns the offset of its lowest byte and the offset after its highest byte, relative to the element whose
/// indices are all 0. Fails if the layout is not valid or extends beyond `bounds`.
fn check(
    address: usize,
    item: usize,
    shape: &[usize],
    strides: &[isize],
    bounds: Option<(usize, usize)>,
) -> Result<(isize, isize), ViewError> {
    if !matches!(item, 1 | 2 | 4 | 8) {
        return Err(ViewError::Item { item });
    }
    if shape.len() != strides.len() {
        return Err(ViewError::Rank { rank: shape.len(), strides: strides.len() });
    }
    let (low, high) = reach(shape, strides, item).ok_or(ViewError::OutOfBounds)?;
    if low == high {
        // If there are no elements, there are no bytes to check, and any address is valid.
        return Ok((0, 0));
    }
    // PERF: the element size is a power of two, so a mask tests divisibility; a division would take longer than the rest of the
    // function.
    let loose = |bits: usize| bits & (item - 1) != 0;
    let mut steps = shape.iter().zip(strides);
    if loose(address) || steps.any(|(&extent, &stride)| extent > 1 && loose(stride as usize)) {
        return Err(ViewError::Misaligned { item });
    }
    let inside = bounds.is_none_or(|(at, len)| {
        let at = isize::try_from(at).ok();
        let ends = at.and_then(|at| Some((at.checked_add(low)?, at.checked_add(high)?)));
        ends.is_some_and(|(first, end)| first >= 0 && end as usize <= len)
    });
    if inside { Ok((low, high)) } else { Err(ViewError::OutOfBounds) }
}

/// A read-only strided view of memory that is borrowed for `'a`. It may have any number of dimensions, and strides of any sign or
/// 0.
///
/// ```
/// use broadloom_mem::{View, bytes_of};
///
/// // Every second element, backwards, in three equal rows.
/// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0];
/// let view = View::new(bytes_of(&x), 4, 16, &[3, 3], &[0, -8])?;
/// assert_eq!(view.get::<f32>(&[2, 1]), Some(3.0));
/// assert_eq!(view.get::<f32>(&[2, 3]), None);
/// # Ok::<(), broadloom_mem::ViewError>(())
/// ```
#[derive(Clone, Debug)]
pub struct View<'a> {
    pub(crate) layout: Layout,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: a view is a `&[u8]` with a layout, or is generated and has no memory.
unsafe impl Send for View<'_> {}
// SAFETY: through a `&View` memory is only read, and nothing writes to it for `'a`.
unsafe impl Sync for View<'_> {}

impl<'a> View<'a> {
    /// Makes a view of elements of `item` bytes within `bytes`. The element whose indices are all 0 begins at byte `offset`;
    /// strides are in bytes.
    ///
    /// # Errors
    /// If an element is outside of the bytes or not aligned to its size, if `item` is not 1, 2, 4 or 8, or if the numbers of
    /// strides and dimensions differ.
    pub fn new(
        bytes: &'a [u8],
        item: usize,
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<View<'a>, ViewError> {
        // SAFETY: these are the bytes of a slice that is borrowed for `'a`, so they are in one allocation, initialised, and not
        // written.
        unsafe { View::within(bytes.as_ptr(), bytes.len(), item, offset, shape, strides) }
    }

    /// Makes a view of elements within the `len` bytes at `start`; the other arguments are those of [`View::new`].
    ///
    /// # Safety
    /// All of these bytes must satisfy the contract of [`View::from_raw`].
    #[inline]
    pub(crate) unsafe fn within(
        start: *const u8,
        len: usize,
        item: usize,
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<View<'a>, ViewError> {
        let ptr = start.cast_mut().wrapping_add(offset);
        let reach = check(ptr.addr(), item, shape, strides, Some((offset, len)))?;
        Ok(View { layout: Layout::new(ptr, item, shape, strides, reach), memory: PhantomData })
    }

    /// Makes a one-dimensional view of a slice.
    pub fn of_slice<T: Elem>(elements: &'a [T]) -> View<'a> {
        let bytes = bytes_of(elements);
        View {
            layout: Layout::row(bytes.as_ptr().cast_mut(), size_of::<T>(), elements.len()),
            memory: PhantomData,
        }
    }

    /// Makes a view of memory at a pointer to the element whose indices are all 0.
    ///
    /// # Errors
    /// The errors of [`View::new`] that can be detected without knowing the bounds of the memory.
    ///
    /// # Safety
    /// For `'a`, every element of the layout that `ptr`, shape and strides describe must be in one allocation, initialised and
    /// valid for reads. Nothing may write to it in that time, except a [`Nest`](crate::Nest) that has this view among its inputs
    /// and an output of exactly the same elements.
    pub unsafe fn from_raw(
        ptr: *const u8,
        item: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<View<'a>, ViewError> {
        let reach = check(ptr.addr(), item, shape, strides, None)?;
        Ok(View { layout: Layout::new(ptr.cast_mut(), item, shape, strides, reach), memory: PhantomData })
    }

    /// Makes a view of generated int64 elements, which has no memory. The element whose indices are all 0 is `first`; each step
    /// along a dimension adds the dimension's stride, which is in elements here.
    ///
    /// ```
    /// use broadloom_mem::View;
    ///
    /// // The numbers from 10 on, row by row, with the columns backwards.
    /// let view = View::generated(12, &[2, 3], &[3, -1])?;
    /// assert_eq!(view.get::<i64>(&[0, 0]), Some(12));
    /// assert_eq!(view.get::<i64>(&[1, 2]), Some(13));
    /// assert_eq!(view.as_slice::<i64>(), None);
    /// # Ok::<(), broadloom_mem::ViewError>(())
    /// ```
    ///
    /// # Errors
    /// [`ViewError::Rank`] if the numbers of strides and dimensions differ; [`ViewError::OutOfBounds`] if eight times some
    /// element, or eight times the difference of two elements, exceeds `isize::MAX`.
    pub fn generated(first: isize, shape: &[usize], strides: &[isize]) -> Result<View<'a>, ViewError> {
        let in_bytes = |n: isize| n.checked_mul(8).ok_or(ViewError::OutOfBounds);
        let strides = strides.iter().map(|&stride| in_bytes(stride)).collect::<Result<PerDim<isize>, _>>()?;
        let ptr = std::ptr::null_mut::<u8>().wrapping_offset(in_bytes(first)?);
        let (low, high) = check(ptr.addr(), 8, shape, &strides, None)?;
        let first = ptr.addr() as isize;
        if first.checked_add(low).is_none() || first.checked_add(high).is_none() {
            return Err(ViewError::OutOfBounds);
        }
        // The address range is empty, so that an output at these addresses does not overlap the view.
        let layout =
            Layout { is_generated: true, reach: (0, 0), ..Layout::new(ptr, 8, shape, &strides, (0, 0)) };
        Ok(View { layout, memory: PhantomData })
    }

    /// Whether the elements are [generated](View::generated).
    pub fn is_generated(&self) -> bool {
        self.layout.is_generated
    }

    /// The elements as a slice, if they are contiguous in row-major order; `None` if they are not, if they are generated, or if
    /// their size is not that of `T`.
    pub fn as_slice<T: Elem>(&self) -> Option<&'a [T::Store]> {
        let Layout { ptr, item, shape, .. } = &self.layout;
        if *item != size_of::<T>() || shape.contains(&0) {
            return (*item == size_of::<T>()).then_some(&[]);
        }
        if self.layout.is_generated || !self.layout.is_row_major() {
            return None;
        }
        let elements = shape.iter().product();
        // SAFETY: the slice has the elements and nothing else: they are in memory that is borrowed for `'a`, initialised and
        // aligned (the view's invariant); any bytes are a valid `Store` of that size.
        Some(unsafe { std::slice::from_raw_parts(ptr.cast::<T::Store>(), elements) })
    }

    /// Whether the stride of each dimension is larger than the span of all dimensions with smaller strides, so that no two
    /// indices lead to the same element. Dimensions with the stride 0 or the extent 1 are ignored.
    pub fn is_nested(&self) -> bool {
        let Layout { item, shape, strides, .. } = &self.layout;
        let leads = || shape.iter().zip(strides).filter(|(_, stride)| **stride != 0);
        let extents: PerDim<usize> = leads().map(|d| *d.0).collect();
        injective(&extents, &leads().map(|d| *d.1).collect::<PerDim<isize>>(), *item)
    }

    /// The size of an element in bytes.
    pub fn item(&self) -> usize {
        self.layout.item
    }

    /// The extent of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// The strides in bytes.
    pub fn strides(&self) -> &[isize] {
        &self.layout.strides
    }

    /// The element with this index, or `None` if the shape has no such index.
    ///
    /// # Panics
    /// If the size of `T` is not that of the view's elements.
    pub fn get<T: Elem>(&self, index: &[usize]) -> Option<T> {
        assert_eq!(
            size_of::<T>(),
            self.layout.item,
            "{} does not have the size of the view's elements",
            T::DTYPE
        );
        let element = self.layout.element(index)?;
        let number = element.addr() as isize as i64 / 8;
        let at = if self.layout.is_generated { (&raw const number).cast() } else { element.cast_const() };
        // SAFETY: an element of the view is in borrowed memory, initialised and aligned (the view's invariant). A generated
        // element is read from `number` instead: its size is 8 bytes, the size of `T`, and `number` has the largest alignment
        // of any `Store`. Any bytes are a valid `Store` of that size.
        Some(T::load(unsafe { at.cast::<T::Store>().read() }))
    }
}

/// A writable strided view of memory that is borrowed exclusively for `'a`. No two of its indices lead to the same byte.
#[derive(Debug)]
pub struct ViewMut<'a> {
    pub(crate) layout: Layout,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: a `ViewMut` is a `&mut [u8]` with a layout.
unsafe impl Send for ViewMut<'_> {}
// SAFETY: through a `&ViewMut` memory is only read; writing takes the view itself, or borrows it exclusively.
unsafe impl Sync for ViewMut<'_> {}

impl<'a> ViewMut<'a> {
    /// Makes a writable view of elements of `item` bytes within `bytes`. The element whose indices are all 0 begins at byte
    /// `offset`; strides are in bytes.
    ///
    /// # Errors
    /// The errors of [`View::new`]; and `SelfOverlap` unless each dimension's stride is larger than the span of all dimensions
    /// with smaller strides.
    pub fn new(
        bytes: &'a mut [u8],
        item: usize,
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<ViewMut<'a>, ViewError> {
        let ptr = bytes.as_mut_ptr().wrapping_add(offset);
        let reach = check(ptr.addr(), item, shape, strides, Some((offset, bytes.len())))?;
        check_injective(shape, strides, item)?;
        Ok(ViewMut { layout: Layout::new(ptr, item, shape, strides, reach), memory: PhantomData })
    }

    /// Makes a one-dimensional writable view of a slice. A slice of `bool` can't be viewed; use a slice of `u8` for the bytes of
    /// bools.
    pub fn of_slice<T: Elem<Store = T>>(elements: &'a mut [T]) -> ViewMut<'a> {
        let len = elements.len();
        let bytes = bytes_of_mut(elements);
        ViewMut { layout: Layout::row(bytes.as_mut_ptr(), size_of::<T>(), len), memory: PhantomData }
    }

    /// Makes a writable view of memory at a pointer to the element whose indices are all 0.
    ///
    /// # Errors
    /// The errors of [`ViewMut::new`] that can be detected without knowing the bounds of the memory.
    ///
    /// # Safety
    /// For `'a`, every element of the layout that `ptr`, shape and strides describe must be in one allocation, initialised and
    /// valid for reads and writes. Nothing else may read or write it in that time, except a [`Nest`](crate::Nest) that has this
    /// view among its outputs. An input of such a nest may have the same elements; if another output has them, the nest is
    /// rejected.
    pub unsafe fn from_raw(
        ptr: *mut u8,
        item: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<ViewMut<'a>, ViewError> {
        let reach = check(ptr.addr(), item, shape, strides, None)?;
        check_injective(shape, strides, item)?;
        Ok(ViewMut { layout: Layout::new(ptr, item, shape, strides, reach), memory: PhantomData })
    }

    /// Whether addresses and strides prove that the two views do not overlap.
    pub fn is_apart_from(&self, other: &ViewMut<'_>) -> bool {
        let (a, b) = (&self.layout, &other.layout);
        let is_empty = |layout: &Layout| layout.reach.0 == layout.reach.1;
        let near = a.reach.0 < b.reach.1 && b.reach.0 < a.reach.1;
        is_empty(a) || is_empty(b) || !near || disjoint(a.place(), b.place())
    }

    /// The number of bytes from the lowest element to the element whose indices are all 0.
    pub fn offset(&self) -> usize {
        let (low, high) = self.layout.reach;
        if low == high { 0 } else { self.layout.ptr.addr() - low }
    }

    /// Whether the elements are contiguous in row-major order.
    pub fn is_row_major(&self) -> bool {
        self.layout.is_row_major()
    }

    /// The size of an element in bytes.
    pub fn item(&self) -> usize {
        self.layout.item
    }

    /// The extent of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// The strides in bytes.
    pub fn strides(&self) -> &[isize] {
        &self.layout.strides
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        len: usize,
        item: usize,
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Option<ViewError> {
        let words = vec![0u64; len.div_ceil(8)];
        View::new(&bytes_of(&words)[..len], item, offset, shape, strides).err()
    }

    #[test]
    fn bounds() {
        use ViewError::*;
        const MAX: isize = isize::MAX;
        let (oob, off) = (Some(OutOfBounds), |item| Some(Misaligned { item }));
        #[rustfmt::skip]
        type Row<'a> = (usize, usize, usize, &'a [usize], &'a [isize], Option<ViewError>);
        let rows: &[Row<'_>] = &[
            // Each row: length of the memory, item size, offset, shape, strides, expected error.
            (16, 4, 0, &[4], &[4], None),
            (15, 4, 0, &[4], &[4], oob),
            (16, 4, 4, &[4], &[4], oob),
            (16, 4, 12, &[4], &[-4], None),
            (16, 4, 8, &[4], &[-4], oob),
            (16, 4, 12, &[1_000_000], &[0], None),
            (16, 4, 0, &[], &[], None),
            (16, 4, 16, &[], &[], oob),
            (0, 4, 0, &[], &[], oob),
            (0, 4, 99, &[0], &[4], None),
            (0, 4, 99, &[usize::MAX, 0], &[4, MAX], None),
            (16, 4, usize::MAX - 3, &[4], &[4], oob),
            (16, 4, 0, &[usize::MAX], &[4], oob),
            (16, 4, 0, &[3, 2], &[MAX - 3, 4], oob),
            (16, 4, 8, &[2, 2], &[isize::MIN, 4], oob),
            (16, 8, 0, &[2, 2], &[(MAX - 7), -(MAX - 7)], oob),
            (16, 4, 0, &[2, 3], &[4, 4], None),
            (16, 4, 0, &[2, 4], &[4, 4], oob),
            (16, 4, 2, &[3], &[4], off(4)),
            (16, 4, 0, &[3], &[6], off(4)),
            (16, 4, 0, &[1], &[3], None),
            (16, 8, 4, &[1], &[8], off(8)),
            (16, 1, 3, &[13], &[1], None),
            (16, 3, 0, &[1], &[3], Some(Item { item: 3 })),
            (16, 0, 0, &[1], &[3], Some(Item { item: 0 })),
            (16, 4, 0, &[1], &[], Some(Rank { rank: 1, strides: 0 })),
        ];
        for &(len, item, offset, shape, strides, ref error) in rows {
            assert_eq!(
                &check(len, item, offset, shape, strides),
                error,
                "{len} {item} {offset} {shape:?} {strides:?}"
            );
        }
    }

    #[test]
    fn writable_layouts_are_injective() {
        let rows: &[(&[usize], &[isize], bool)] = &[
            (&[4, 4], &[16, 4], true),
            (&[4, 4], &[4, 16], true),
            (&[4, 4], &[-4, 16], true),
            (&[4, 4], &[12, 4], false),
            (&[2, 2], &[4, 4], false),
            (&[3], &[0], false),
            (&[1, 3], &[0, 4], true),
            (&[0, 3], &[0, 0], true),
        ];
        for &(shape, strides, ok) in rows {
            let mut words = [0u64; 16];
            let got = ViewMut::new(bytes_of_mut(&mut words), 4, 64, shape, strides).err();
            assert_eq!(got, (!ok).then_some(ViewError::SelfOverlap), "{shape:?} {strides:?}");
        }
    }

    #[test]
    #[should_panic(expected = "int16 does not have the size")]
    fn get_checks_the_size() {
        let _ = View::of_slice(&[1.0f32]).get::<i16>(&[0]);
    }
}
