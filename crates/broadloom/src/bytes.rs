//! Reads and writes the elements of arrays as contiguous bytes in native byte order, for dtypes known only at run time. A bool is
//! one byte: 0 is false, and any other value is true. Computations write only 0 and 1.

use broadloom_core::{DType, Error, ErrorKind, Layout, Result};
use broadloom_mem::Buffer;

use crate::array::Array;
use crate::create::holding;
use crate::evaluation::Evaluation;
use crate::storage::Storage;

impl<'a> Array<'a> {
    /// An array of this dtype over bytes in row-major order. The bytes are borrowed if they are aligned for the dtype, as an
    /// allocation or a mapped file is, and copied otherwise.
    ///
    /// # Errors
    /// If the number of bytes is not the size of the shape's elements, or if memory for a copy of misaligned bytes is refused.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let bytes = [1.5_f32.to_ne_bytes(), (-2.0_f32).to_ne_bytes()].concat();
    /// let dtype = DType::from_name("float32").expect("is a dtype"); // read from a header, for example
    /// let x = Array::from_bytes(dtype, &[2], &bytes)?;
    /// assert_eq!(x.abs().to_bytes()?, [1.5_f32.to_ne_bytes(), 2.0_f32.to_ne_bytes()].concat());
    /// assert_eq!(
    ///     Array::from_bytes(dtype, &[3], &bytes).unwrap_err().to_string(),
    ///     "from_bytes: float32[3] has 12 bytes, there are 8"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_bytes(dtype: DType, shape: &[usize], bytes: &'a [u8]) -> Result<Array<'a>> {
        let elements = bytes.len() / dtype.size();
        let shape = match holding("from_bytes", shape, elements) {
            Ok(shape) if bytes.len().is_multiple_of(dtype.size()) => shape,
            Err(error) if error.kind() == ErrorKind::Limit => return Err(error),
            _ => {
                let shape = broadloom_core::Shape::new(shape)?;
                let (needed, n) = (shape.elements() as u128 * dtype.size() as u128, bytes.len());
                let why = format!("from_bytes: {dtype}{shape} has {needed} bytes, there are {n}");
                return Err(Error::new(ErrorKind::Shape, why));
            }
        };
        if let Some(storage) = Storage::borrow_bytes(dtype, bytes) {
            return Ok(Array::data(storage, Layout::contiguous(shape)));
        }
        let refused = |why: String| Error::new(ErrorKind::Limit, format!("from_bytes: {why}"));
        let mut copy = Buffer::for_overwrite(bytes.len()).map_err(|e| refused(e.to_string()))?;
        let to = copy.as_bytes_mut().ok_or_else(|| refused("a new buffer is not writable".to_owned()))?;
        to.copy_from_slice(bytes);
        Ok(Array::data(Storage::from_buffer(dtype, copy), Layout::contiguous(shape)))
    }

    /// The bytes of the elements without a copy. `None` unless the elements are evaluated and contiguous in row-major order. In a
    /// byte of a bool, 0 is false and any other value is true.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1_u16, 2]);
    /// assert_eq!(x.as_bytes(), Some(&[1_u16.to_ne_bytes(), 2_u16.to_ne_bytes()].concat()[..]));
    /// assert_eq!((x + 1).as_bytes(), None);
    /// ```
    pub fn as_bytes(&self) -> Option<&[u8]> {
        self.in_memory()?.bytes()
    }

    /// [`Array::as_bytes`], also of memory shared with another owner, who must not write to it while the bytes are in use.
    pub(crate) fn borrowed_bytes(&self) -> Option<&[u8]> {
        let data = self.in_memory()?;
        if !data.storage.is_lent() {
            return data.bytes();
        }
        let (size, len) = (self.dtype().size(), self.len());
        let from = if len == 0 { 0 } else { usize::try_from(data.layout.offset).ok()?.checked_mul(size)? };
        data.layout.is_contiguous().then(|| data.storage.region().contiguous(size, from, len))?
    }

    /// The bytes of the elements in row-major order. Evaluates the array if necessary.
    ///
    /// # Errors
    /// The errors of [`Array::eval`], and an error if memory for the bytes is refused.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let len = self.len() * self.dtype().size();
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(len).is_err() {
            return Err(Error::new(ErrorKind::Limit, format!("to_bytes: no memory for {len} bytes")));
        }
        bytes.resize(len, 0);
        Evaluation::default().eval_into_bytes(self, &mut bytes)?;
        Ok(bytes)
    }
}
