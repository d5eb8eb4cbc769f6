//! Memory shared with arrays of another language: arrays over such memory, results written into it, and results whose memory is
//! handed over.
//!
//! Shared memory has an owner. The owner is kept alive as long as an array needs the memory, and may change elements between two
//! evaluations. The memory is therefore borrowed as a slice only while contiguous elements are reduced, sorted or selected, and each
//! evaluation of a handle reads the values that the memory contains at that time.

use std::any::Any;
use std::sync::Arc;

use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Shape};
use broadloom_mem::Region;

use crate::array::{Array, Kind, Leaf};
use crate::engine::Engine;
use crate::kernel::layout_of;
use crate::storage::Storage;

impl<'a> Array<'a> {
    /// An array over memory that `owner` keeps alive and may write to. The element at index (0, …, 0) is at `offset`, and
    /// `strides` contains, for each axis, the distance in elements between consecutive indices.
    ///
    /// Nothing is copied. The elements are read at each evaluation, so that this handle, unlike other handles, does not keep the
    /// values that it had when it was built.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if the numbers of strides and axes differ; [`ErrorKind::Memory`] if an index addresses an element
    /// outside of the region, or the region is not aligned for the dtype.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use broadloom::prelude::*;
    /// use broadloom::Region;
    ///
    /// // Static memory needs no owner.
    /// static BYTES: [u8; 4] = [1, 2, 3, 4];
    /// let x = Array::lent(DType::UInt8, Region::from(&BYTES[..]), 3, &[2], &[-2], Arc::new(()))?;
    /// assert_eq!((x + 1).to_vec::<u8>()?, [5, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn lent(
        dtype: DType,
        region: Region<'a>,
        offset: usize,
        shape: &[usize],
        strides: &[isize],
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Array<'a>> {
        let fail = |kind, why: &str| Err(Error::new(kind, format!("lent: {why}")));
        let layout = layout_of(shape, strides, offset)
            .map_err(|e| Error::new(e.kind(), format!("lent: the memory {}", e.message())))?;
        let elements = region.len() / dtype.size();
        let inside = layout.reach().is_some_and(|(low, high)| low >= 0 && (high as usize) < elements);
        if !inside && layout.shape.elements() > 0 {
            return fail(ErrorKind::Memory, "an index leads out of the memory");
        }
        if !region.addresses().start.is_multiple_of(dtype.size()) {
            return fail(ErrorKind::Memory, "the memory is not aligned for the dtype");
        }
        Ok(Array::data(Storage::lent(dtype, region, owner), layout))
    }

    /// An array of unspecified values in memory of the engine's pool, to write results into.
    ///
    /// The memory returns to the pool when the last handle is dropped.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if memory is refused.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let mut out = Array::for_overwrite(&[2], DType::UInt8)?;
    /// out.as_bytes_mut().expect("no one else holds it").copy_from_slice(&[7, 9]);
    /// assert_eq!(out.to_vec::<u8>()?, [7, 9]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn for_overwrite(shape: &[usize], dtype: DType) -> Result<Array<'static>> {
        let shape = Shape::new(shape)?;
        let storage = Engine::global().buffer(dtype, shape.elements())?;
        Ok(Array::data(storage, Layout::contiguous(shape)))
    }

    /// The bytes of the elements for writing, if they are in memory, contiguous in row-major order, and no other handle refers to
    /// this memory.
    pub fn as_bytes_mut(&mut self) -> Option<&mut [u8]> {
        match &mut Arc::get_mut(&mut self.0)?.kind {
            Kind::Leaf(Leaf::Data(data)) if data.layout.is_contiguous() => {
                let len = data.layout.shape.elements() * data.storage.dtype().size();
                let from =
                    if len == 0 { 0 } else { data.layout.offset as usize * data.storage.dtype().size() };
                data.storage.bytes_mut()?.get_mut(from..from + len)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_memory_is_never_given_out_as_a_slice() -> Result<()> {
        let bytes = [1_u8, 2, 3];
        let owner = Arc::new(());
        let x = Array::lent(DType::UInt8, Region::from(&bytes[..]), 0, &[3], &[1], owner.clone())?;
        assert!(!x.is_evaluated());
        assert_eq!((x.as_slice::<u8>(), x.as_bytes()), (None, None));
        assert_eq!(x.to_vec::<u8>()?, [1, 2, 3]);
        assert_eq!(x.eval()?.as_slice::<u8>(), Some(&[1, 2, 3][..]));
        assert_eq!(x.slice(1)?.item::<u8>()?, 2);
        assert_eq!(x.to_string(), "[1 2 3]");
        // The owner is kept alive as long as an array uses its memory.
        let y = x.slice(1..)? + 1;
        drop(x);
        assert_eq!(Arc::strong_count(&owner), 2);
        assert_eq!(y.to_vec::<u8>()?, [3, 4]);
        drop(y);
        assert_eq!(Arc::strong_count(&owner), 1);
        Ok(())
    }

    #[test]
    fn a_layout_that_leaves_the_memory_is_refused() {
        let bytes = [0_u8; 8];
        let lent = |offset, shape: &[usize], strides: &[isize]| {
            Array::lent(DType::UInt16, Region::from(&bytes[..]), offset, shape, strides, Arc::new(()))
                .map(drop)
                .map_err(|e| e.kind())
        };
        assert_eq!(lent(0, &[4], &[1]), Ok(()));
        assert_eq!(lent(3, &[4], &[-1]), Ok(()));
        assert_eq!(lent(0, &[5], &[1]), Err(ErrorKind::Memory));
        assert_eq!(lent(2, &[4], &[-1]), Err(ErrorKind::Memory));
        assert_eq!(lent(usize::MAX, &[0], &[1]), Err(ErrorKind::Memory));
        assert_eq!(lent(0, &[2, 2], &[1]), Err(ErrorKind::Shape));
        let odd = Array::lent(DType::UInt16, Region::from(&bytes[1..]), 0, &[2], &[1], Arc::new(()));
        let even = Array::lent(DType::UInt16, Region::from(&bytes[..]), 0, &[2], &[1], Arc::new(()));
        assert!(odd.is_err() != even.is_err(), "one of the two is misaligned");
    }
}
