//! The values of an array as Rust values.
//!
//! The requested Rust type must be the type of the array's dtype, since no value is converted. For any other type, `to_vec` and
//! `item` return an error that names both types.

use broadloom_core::{Error, ErrorKind, Result};

use crate::array::{Array, Data, Leaf};
use crate::storage::Element;

impl Array<'_> {
    /// The values in row-major order. Evaluates the array if necessary.
    ///
    /// # Errors
    /// If `T` is not the type of the array's dtype; and the errors of [`Array::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1_i32, -2]);
    /// assert_eq!(x.abs().to_vec::<i32>()?, [1, 2]);
    /// assert_eq!(
    ///     x.to_vec::<f32>().unwrap_err().to_string(),
    ///     "to_vec: the array is int32, not float32; write astype(x, float32)"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.is_of::<T>("to_vec")?;
        if self.is_evaluated() {
            return self.copied();
        }
        self.eval()?.copied()
    }

    /// A copy of the values of an evaluated array of this type.
    fn copied<T: Element>(&self) -> Result<Vec<T>> {
        let internal = || Error::new(ErrorKind::Internal, "the engine gave no contiguous array");
        let stores = self.in_memory().and_then(Data::stores::<T>).ok_or_else(internal)?;
        let mut values = Vec::new();
        if values.try_reserve_exact(stores.len()).is_err() {
            let bytes = size_of_val(stores);
            return Err(Error::new(ErrorKind::Limit, format!("to_vec: no memory for {bytes} bytes")));
        }
        values.extend(stores.iter().map(|&x| T::load(x)));
        Ok(values)
    }

    /// The value of an array of one element. Evaluates the array if necessary.
    ///
    /// # Errors
    /// If `T` is not the type of the array's dtype, or there is not exactly one element; and the errors of [`Array::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1.0_f32, 2.0]);
    /// assert_eq!((x.index_axis(0, 1)? * 4).item::<f32>()?, 8.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn item<T: Element>(&self) -> Result<T> {
        self.is_of::<T>("item")?;
        if self.len() != 1 {
            let (n, shape) = (self.len(), &self.0.shape);
            return Err(Error::new(ErrorKind::Shape, format!("item: {shape} has {n} elements, not 1")));
        }
        let value = match self.leaf() {
            Some(Leaf::Number(x)) => x.scalar()?.get(),
            Some(Leaf::Const(value) | Leaf::Rounded(value, _)) => value.get(),
            Some(Leaf::Data(data)) => data.storage.scalar(data.layout.offset as usize).and_then(|x| x.get()),
            _ => self.to_vec()?.pop(),
        };
        value.ok_or_else(|| Error::new(ErrorKind::Internal, "the engine gave no element"))
    }

    /// The values as a slice, if they are evaluated, of this type, and contiguous in row-major order.
    ///
    /// Also `None` for bool: in memory a bool is a byte that may have any value, which [`Array::to_vec`] converts.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        T::values(self.in_memory()?.stores::<T>()?)
    }

    fn is_of<T: Element>(&self, what: &str) -> Result<()> {
        if T::DTYPE == self.dtype() {
            return Ok(());
        }
        let (is, asked) = (self.dtype(), T::DTYPE);
        Err(Error::new(ErrorKind::DType, format!("{what}: the array is {is}, not {asked}"))
            .with_help(format!("write astype(x, {asked})")))
    }
}

impl Data<'_> {
    /// The elements in row-major order, as they are stored in memory. `None` unless they have this type and are contiguous.
    pub(crate) fn stores<T: Element>(&self) -> Option<&[T::Store]> {
        let len = self.layout.shape.elements();
        // The offset of a view without elements is unspecified.
        let from = if len == 0 { 0 } else { self.layout.offset as usize };
        if self.layout.is_contiguous() { self.storage.stores::<T>(from, len) } else { None }
    }

    /// The bytes of the elements in row-major order, if they are contiguous.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        let len = self.layout.shape.elements();
        let from = if len == 0 { 0 } else { self.layout.offset as usize };
        if self.layout.is_contiguous() { self.storage.bytes_of(from, len) } else { None }
    }
}
