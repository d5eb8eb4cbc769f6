//! Rust's conversions: arrays from vectors, slices and nested arrays, and vectors from arrays.

use broadloom_core::{DType, Error, Layout, Literal, Result, Shape};

use crate::array::{Array, Kind, Leaf};
use crate::storage::{Element, Storage};
use crate::weak::Number;

impl<T: Element> From<Vec<T>> for Array<'_> {
    fn from(data: Vec<T>) -> Self {
        Array::from_vec(data)
    }
}

impl<'a, T: Element> From<&'a [T]> for Array<'a> {
    fn from(data: &'a [T]) -> Array<'a> {
        Array::from_slice(data)
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Array<'a> {
    fn from(data: &'a Vec<T>) -> Array<'a> {
        Array::from_slice(data)
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Array<'a> {
    fn from(data: &'a [T; N]) -> Array<'a> {
        Array::from_slice(data)
    }
}

/// A 1-D array of these elements.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from([1.0_f32, 2.0, 3.0]);
/// assert_eq!((x.shape(), x.dtype()), (&[3][..], DType::Float32));
/// ```
impl<T: Element, const N: usize> From<[T; N]> for Array<'_> {
    fn from(data: [T; N]) -> Self {
        Array::from_vec(data.into())
    }
}

/// A 2-D array of these rows.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
/// assert_eq!(x.shape(), [2, 3]);
/// ```
impl<T: Element, const N: usize, const M: usize> From<[[T; M]; N]> for Array<'_> {
    fn from(rows: [[T; M]; N]) -> Self {
        let data: Vec<[T; M]> = rows.into();
        Array::data(Storage::from_vec(data.into_flattened()), rows_of(N, M))
    }
}

/// A 2-D array that borrows these rows.
impl<'a, T: Element, const N: usize, const M: usize> From<&'a [[T; M]; N]> for Array<'a> {
    fn from(rows: &'a [[T; M]; N]) -> Array<'a> {
        Array::data(Storage::borrow(rows.as_flattened()), rows_of(N, M))
    }
}

fn rows_of(rows: usize, columns: usize) -> Layout {
    // `Shape::new` can fail only for an array without elements, since the elements of a slice have a size and fit memory. For
    // such an array, any empty shape with two axes has the same meaning.
    let shape = Shape::new(&[rows, columns]).or_else(|_| Shape::new(&[0, 0]));
    Layout::contiguous(shape.unwrap_or_default())
}

impl From<Literal> for Array<'_> {
    fn from(x: Literal) -> Self {
        Array::scalar(x)
    }
}

impl From<Number> for Array<'_> {
    fn from(x: Number) -> Self {
        Array::scalar(x)
    }
}

/// Converts by [`Array::into_vec`].
impl<T: Element> TryFrom<Array<'_>> for Vec<T> {
    type Error = Error;

    fn try_from(x: Array<'_>) -> Result<Vec<T>> {
        x.into_vec()
    }
}

/// Converts by [`Array::to_vec`].
impl<T: Element> TryFrom<&Array<'_>> for Vec<T> {
    type Error = Error;

    fn try_from(x: &Array<'_>) -> Result<Vec<T>> {
        x.to_vec()
    }
}

impl Array<'_> {
    /// Like [`Array::to_vec`], but consumes the array. Evaluated values are moved without a copy if no other handle shares their
    /// memory, they are in row-major order, and the memory came from a vector.
    ///
    /// # Errors
    /// The errors of [`Array::to_vec`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let data = vec![1.5_f64, 2.5];
    /// let address = data.as_ptr();
    /// let back: Vec<f64> = Array::from(data).try_into()?;
    /// assert_eq!((&back[..], back.as_ptr()), (&[1.5, 2.5][..], address));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn into_vec<T: Element>(mut self) -> Result<Vec<T>> {
        if let Some(node) = std::sync::Arc::get_mut(&mut self.0)
            && let Kind::Leaf(Leaf::Data(data)) = &mut node.kind
            && data.layout.is_contiguous()
            && data.layout.shape.elements() == data.storage.len()
            && let Some(values) = data.storage.take_vec::<T>()
        {
            return Ok(values);
        }
        self.to_vec()
    }
}

/// A computation that is generic in the Rust type of a dtype known only at run time; [`visit_dtype`] calls it.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{ElementVisitor, visit_dtype};
///
/// /// The first element, as Rust writes it.
/// struct First<'x>(&'x Array<'x>);
///
/// impl ElementVisitor for First<'_> {
///     type Output = Result<Option<String>>;
///
///     fn visit<T: Element>(self) -> Result<Option<String>> {
///         Ok(self.0.to_vec::<T>()?.first().map(|x| format!("{x:?}")))
///     }
/// }
///
/// let x = Array::from([0.5_f32, 2.0]) * 3;
/// assert_eq!(visit_dtype(x.dtype(), First(&x))?.as_deref(), Some("1.5"));
/// # Ok::<(), Error>(())
/// ```
pub trait ElementVisitor {
    /// The result of the visit.
    type Output;

    /// Runs the computation for the Rust type `T`, whose dtype is `T::DTYPE`.
    fn visit<T: Element>(self) -> Self::Output;
}

/// Calls the visitor with the Rust type of a dtype.
pub fn visit_dtype<V: ElementVisitor>(dtype: DType, visitor: V) -> V::Output {
    macro_rules! visit {
        ($(($variant:ident, $rust:ty, $name:literal))*) => {
            match dtype { $(DType::$variant => visitor.visit::<$rust>(),)* }
        };
    }
    broadloom_math::for_each_dtype!(visit)
}
