//! The memory of arrays, borrowed from the caller or owned and shared between handles. A [`Storage`] has bytes and a dtype; the
//! bytes are complete elements, and aligned for the dtype. Memory that another handle refers to is never written. A buffer of a
//! pool returns to the pool when its last handle is dropped.

use std::any::Any;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use broadloom_core::{DType, Scalar};
use broadloom_math::{CastTo, DTypeVisitor, Elem};
#[cfg(feature = "ndarray")]
use broadloom_mem::View;
use broadloom_mem::{
    AllocError, Buffer, HostResult, Pool, Region, bytes_of, bytes_of_mut, bytes_of_stores, typed, zeroed_vec,
};

/// Elements of a dtype known at run time.
#[derive(Clone)]
pub(crate) struct Storage<'a> {
    dtype: DType,
    block: Block<'a>,
}

#[derive(Clone)]
enum Block<'a> {
    /// Memory borrowed from the caller.
    Borrowed(&'a [u8]),
    /// Memory borrowed from the caller, with gaps that other code may use.
    #[cfg(feature = "ndarray")]
    Spread(Arc<View<'a>>),
    /// Memory of another owner, which may write to it between two evaluations, and a handle that keeps the owner alive.
    Lent(Region<'a>, Owner),
    /// Owned memory, shared between handles.
    Shared(Arc<Owned>),
}

/// An owner that keeps shared memory alive.
#[derive(Clone)]
struct Owner(Arc<dyn Any + Send + Sync>);

// The engine never accesses an owner. Only the application that shares the memory does so, and knows the owner's type.
impl UnwindSafe for Owner {}
impl RefUnwindSafe for Owner {}

struct Owned {
    buffer: Buffer,
    pool: Option<Arc<Pool>>,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.give(std::mem::replace(&mut self.buffer, Buffer::from_vec(Vec::<u8>::new())));
        }
    }
}

impl<'a> Storage<'a> {
    /// The elements of a vector, which is moved and not copied.
    pub(crate) fn from_vec<T: Elem>(data: Vec<T>) -> Storage<'static> {
        Storage::from_owned(T::DTYPE, Owned { buffer: Buffer::from_vec(data), pool: None })
    }

    /// Takes ownership of a buffer's elements.
    pub(crate) fn from_buffer(dtype: DType, buffer: Buffer) -> Storage<'static> {
        Storage::from_owned(dtype, Owned { buffer, pool: None })
    }

    /// Takes ownership of a buffer's elements. The buffer returns to its pool when the last handle is dropped.
    pub(crate) fn from_pool(dtype: DType, buffer: Buffer, pool: &Arc<Pool>) -> Storage<'static> {
        Storage::from_owned(dtype, Owned { buffer, pool: Some(pool.clone()) })
    }

    fn from_owned(dtype: DType, owned: Owned) -> Storage<'static> {
        Storage { dtype, block: Block::Shared(Arc::new(owned)) }
    }

    /// The caller's elements, borrowed, with gaps between the first and the last.
    ///
    /// The view must be nested: only for nested views can `mem::contain` recognise every layout whose elements all belong to the
    /// view.
    #[cfg(feature = "ndarray")]
    pub(crate) fn spread(dtype: DType, elements: View<'a>) -> Storage<'a> {
        Storage { dtype, block: Block::Spread(Arc::new(elements)) }
    }

    /// Shares memory that `owner` keeps alive. It is read through pointers, because the contents of a slice must not change.
    pub(crate) fn lent(dtype: DType, region: Region<'a>, owner: Arc<dyn Any + Send + Sync>) -> Storage<'a> {
        Storage { dtype, block: Block::Lent(region, Owner(owner)) }
    }

    /// Whether this is shared memory, to which its owner may write.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.block, Block::Lent(..))
    }

    /// The owner of shared memory.
    pub(crate) fn owner(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        match &self.block {
            Block::Lent(_, Owner(owner)) => Some(owner),
            _ => None,
        }
    }

    /// The address of the first element, which together with dtype and length identifies the memory.
    pub(crate) fn address(&self) -> usize {
        match &self.block {
            // Elements with gaps are identified by the address of their view: another view that begins at the same address may
            // have elements in the gaps of this view.
            #[cfg(feature = "ndarray")]
            Block::Spread(elements) => Arc::as_ptr(elements).addr(),
            Block::Lent(region, _) => region.addresses().start,
            _ => self.bytes().as_ptr().addr(),
        }
    }

    /// The caller's elements, borrowed.
    pub(crate) fn borrow<T: Elem>(data: &'a [T]) -> Storage<'a> {
        Storage { dtype: T::DTYPE, block: Block::Borrowed(bytes_of(data)) }
    }

    /// The caller's elements, borrowed as bytes; `None` if the bytes are not complete elements, or not aligned for the dtype.
    pub(crate) fn borrow_bytes(dtype: DType, bytes: &'a [u8]) -> Option<Storage<'a>> {
        let size = dtype.size();
        let fits = bytes.len().is_multiple_of(size) && bytes.as_ptr().addr().is_multiple_of(size);
        fits.then_some(Storage { dtype, block: Block::Borrowed(bytes) })
    }

    /// The dtype of the elements.
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of elements; gaps count as elements.
    pub(crate) fn len(&self) -> usize {
        self.region().len() / self.dtype.size()
    }

    /// The elements' memory.
    pub(crate) fn region(&self) -> Region<'_> {
        match &self.block {
            #[cfg(feature = "ndarray")]
            Block::Spread(elements) => Region::of_elements(elements),
            Block::Lent(region, _) => *region,
            _ => self.bytes().into(),
        }
    }

    /// The elements' bytes; empty if there are gaps, or if the memory is shared with another owner.
    fn bytes(&self) -> &[u8] {
        match &self.block {
            Block::Borrowed(bytes) => bytes,
            #[cfg(feature = "ndarray")]
            Block::Spread(_) => &[],
            Block::Lent(..) => &[],
            Block::Shared(owned) => owned.buffer.as_bytes(),
        }
    }

    /// The bytes for writing, if they are owned memory that no other handle refers to.
    pub(crate) fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        match &mut self.block {
            Block::Borrowed(_) | Block::Lent(..) => None,
            #[cfg(feature = "ndarray")]
            Block::Spread(_) => None,
            Block::Shared(owned) => Arc::get_mut(owned)?.buffer.as_bytes_mut(),
        }
    }

    /// Takes out the vector from which the elements came, if `T` is their type and no other handle refers to them. The storage is
    /// empty afterwards.
    pub(crate) fn take_vec<T: Element>(&mut self) -> Option<Vec<T>> {
        let Block::Shared(owned) = &mut self.block else { return None };
        let buffer = &mut Arc::get_mut(owned).filter(|_| T::DTYPE == self.dtype)?.buffer;
        match T::into_vec(std::mem::replace(buffer, Buffer::from_vec(Vec::<u8>::new()))) {
            Ok(data) => Some(data),
            Err(unfit) => {
                *buffer = unfit;
                None
            }
        }
    }

    /// Contiguous elements in their representation in memory, if `T` is their type.
    pub(crate) fn stores<T: Elem>(&self, from: usize, len: usize) -> Option<&[T::Store]> {
        if T::DTYPE != self.dtype {
            return None;
        }
        match &self.block {
            #[cfg(feature = "ndarray")]
            Block::Spread(_) => {
                let size = self.dtype.size();
                let row = self.region().view(size, from * size, &[len], &[size as isize]);
                row.ok()?.as_slice::<T>()
            }
            _ => typed::<T>(self.bytes())?.get(from..)?.get(..len),
        }
    }

    /// The bytes of contiguous elements.
    pub(crate) fn bytes_of(&self, from: usize, len: usize) -> Option<&[u8]> {
        self.dtype.visit(Bytes(self, from, len))
    }

    /// The element at index `i`.
    pub(crate) fn scalar(&self, i: usize) -> Option<Scalar> {
        self.dtype.visit(At(self, i))
    }

    /// Consecutive elements of borrowed memory; `None` for other memory, which is only available as a whole.
    pub(crate) fn part(&self, from: usize, len: usize) -> Option<Storage<'a>> {
        let Block::Borrowed(bytes) = &self.block else { return None };
        let size = self.dtype.size();
        let part = bytes.get(from * size..(from + len) * size)?;
        Some(Storage { dtype: self.dtype, block: Block::Borrowed(part) })
    }

    /// This storage with an unlimited lifetime, if its memory is owned.
    pub(crate) fn owned(&self) -> Option<Storage<'static>> {
        match &self.block {
            Block::Borrowed(_) | Block::Lent(..) => None,
            #[cfg(feature = "ndarray")]
            Block::Spread(_) => None,
            Block::Shared(owned) => Some(Storage { dtype: self.dtype, block: Block::Shared(owned.clone()) }),
        }
    }
}

struct Bytes<'s, 'a>(&'s Storage<'a>, usize, usize);

impl<'s> DTypeVisitor for Bytes<'s, '_> {
    type Out = Option<&'s [u8]>;
    fn visit<T: Elem>(self) -> Option<&'s [u8]> {
        self.0.stores::<T>(self.1, self.2).map(bytes_of_stores::<T>)
    }
}

struct At<'s, 'a>(&'s Storage<'a>, usize);

impl DTypeVisitor for At<'_, '_> {
    type Out = Option<Scalar>;
    fn visit<T: Elem>(self) -> Option<Scalar> {
        if let Block::Lent(region, _) = &self.0.block {
            let size = self.0.dtype.size();
            let element = region.view(size, self.1.checked_mul(size)?, &[], &[]).ok()?;
            return element.get::<T>(&[]).map(Scalar::of);
        }
        self.0.stores::<T>(self.1, 1)?.first().map(|&x| Scalar::of(T::load(x)))
    }
}

/// An element type of arrays: bool, the integers of 8 to 64 bits, [`f16`](crate::f16), f32 and f64.
pub trait Element: Elem + HostResult<Element = Self> {
    /// Elements in their representation in memory, as Rust values; `None` for bool, since not every byte is a valid bool.
    #[doc(hidden)]
    fn values(stores: &[Self::Store]) -> Option<&[Self]>;
    /// The bytes of the elements for writing. For bool the elements are returned as an error, since not every byte is a valid
    /// bool.
    #[doc(hidden)]
    fn bytes_mut(values: &mut [Self]) -> Result<&mut [u8], &mut [bool]>;
    /// A vector of zeros.
    #[doc(hidden)]
    fn zeros(len: usize) -> Result<Vec<Self>, AllocError>;
    /// The vector from which a buffer's memory came. The buffer itself is returned as an error if its memory did not come from a
    /// vector, and for bool.
    #[doc(hidden)]
    fn into_vec(buffer: Buffer) -> Result<Vec<Self>, Buffer>;
    /// Converts the value as `astype` does.
    #[doc(hidden)]
    fn of_f64(x: f64) -> Self;
    /// Converts the value as `astype` does.
    #[doc(hidden)]
    fn of_i64(x: i64) -> Self;
}

macro_rules! element {
    ($(($variant:ident, $rust:ty, $name:literal))*) => {$(
        impl Element for $rust {
            element!(views $variant);
            fn of_f64(x: f64) -> $rust {
                <f64 as CastTo<$rust>>::cast(&mut broadloom_math::Scalar, x)
            }
            fn of_i64(x: i64) -> $rust {
                <i64 as CastTo<$rust>>::cast(&mut broadloom_math::Scalar, x)
            }
        }
    )*};
    (views Bool) => {
        fn values(_: &[u8]) -> Option<&[bool]> {
            None
        }
        fn bytes_mut(values: &mut [bool]) -> Result<&mut [u8], &mut [bool]> {
            Err(values)
        }
        fn zeros(len: usize) -> Result<Vec<bool>, AllocError> {
            let mut zeros = Vec::new();
            zeros.try_reserve_exact(len).map_err(|_| AllocError { bytes: len })?;
            zeros.resize(len, false);
            Ok(zeros)
        }
        fn into_vec(buffer: Buffer) -> Result<Vec<bool>, Buffer> {
            Err(buffer)
        }
    };
    (views $number:ident) => {
        fn values(stores: &[Self]) -> Option<&[Self]> {
            Some(stores)
        }
        fn bytes_mut(values: &mut [Self]) -> Result<&mut [u8], &mut [bool]> {
            Ok(bytes_of_mut(values))
        }
        fn zeros(len: usize) -> Result<Vec<Self>, AllocError> {
            zeroed_vec(len)
        }
        fn into_vec(buffer: Buffer) -> Result<Vec<Self>, Buffer> {
            buffer.into_vec()
        }
    };
}
broadloom_math::for_each_dtype!(element);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_moved_and_a_slice_borrowed() {
        let data = vec![1.0f32, 2.0];
        let address = data.as_ptr();
        assert_eq!(Storage::borrow(&data).bytes().as_ptr(), address.cast());
        assert_eq!(Storage::from_vec(data).bytes().as_ptr(), address.cast());
    }

    #[test]
    fn held_memory_is_not_written() {
        let mut storage = Storage::from_vec(vec![1i16, 2, 3]);
        let held = storage.clone();
        assert!(storage.bytes_mut().is_none());
        drop(held);
        assert_eq!(storage.bytes_mut().map(|b| b.len()), Some(6));
        let data = [1u8];
        assert!(Storage::borrow(&data).bytes_mut().is_none());
    }

    #[test]
    fn elements_by_type_and_index() {
        let storage = Storage::from_vec(vec![true, false]);
        assert_eq!(storage.stores::<bool>(0, 2), Some(&[1, 0][..]));
        assert_eq!(storage.stores::<bool>(1, 1), Some(&[0][..]));
        assert_eq!(storage.stores::<bool>(1, 2), None);
        assert_eq!(storage.stores::<u8>(0, 2), None);
        assert_eq!(storage.scalar(0), Some(Scalar::of(true)));
        assert_eq!(storage.scalar(2), None);
    }

    #[test]
    fn a_pooled_buffer_goes_back_with_the_last_handle() {
        let pool = Arc::new(Pool::new(1 << 20));
        let buffer = pool.take(100_000).expect("small");
        let storage = Storage::from_pool(DType::Float32, buffer, &pool);
        let held = storage.clone();
        drop(storage);
        assert_eq!(pool.bytes(), 0);
        drop(held);
        assert!(pool.bytes() >= 100_000);
    }
}
