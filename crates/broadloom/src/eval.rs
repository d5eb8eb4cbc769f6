//! Evaluates expressions to arrays that own contiguous data, or into the caller's memory; [`crate::engine`] does the computation.
//! Evaluation changes no handle: results are not cached in handles, and memory that another handle refers to is not written.
//! These are short forms of an [`Evaluation`].

use broadloom_core::Result;

use crate::array::Array;
use crate::engine::Options;
use crate::evaluation::Evaluation;
use crate::storage::Element;

/// Evaluates several arrays together: their common parts are computed once, and in one loop if possible.
///
/// # Errors
/// The errors of [`Array::eval`]. After an error there are no results.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from_vec(vec![3.0_f64, 4.0]);
/// let squared = x.square();
/// let results = eval_many(&[&squared.sqrt(), &(&squared + 1)])?;
/// assert_eq!(results[0].to_vec::<f64>()?, [3.0, 4.0]);
/// assert_eq!(results[1].to_vec::<f64>()?, [10.0, 17.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn eval_many(arrays: &[&Array<'_>]) -> Result<Vec<Array<'static>>> {
    Evaluation::default().eval_many(arrays)
}

impl Array<'_> {
    /// Computes the values, and returns them as a new array that owns contiguous data. This handle is unchanged.
    ///
    /// An array that already owns contiguous data is not copied: the result shares its memory.
    ///
    /// # Errors
    /// If memory or another limit is exceeded.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1.0_f32, 2.0, 3.0]);
    /// let y = (&x * 2 + 1).eval()?;
    /// assert!(y.is_evaluated());
    /// assert_eq!(y.as_slice::<f32>(), Some(&[3.0, 5.0, 7.0][..]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eval(&self) -> Result<Array<'static>> {
        Evaluation::default().eval(self)
    }

    /// Does the same as [`Array::eval`], with options.
    ///
    /// # Errors
    /// The errors of [`Array::eval`], and an integer division by zero, if the options make it an error.
    pub fn eval_with(&self, options: &Options) -> Result<Array<'static>> {
        Evaluation::with(options).eval(self)
    }

    /// Computes the values into the caller's memory, in row-major order.
    ///
    /// # Errors
    /// If `T` is not the type of the array's dtype, or `out` has another number of elements; and the errors of [`Array::eval`],
    /// after which the contents of `out` are unspecified.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1.0_f32, 2.0, 3.0]);
    /// let mut out = [0.0_f32; 3];
    /// (x * 2).eval_into(&mut out)?;
    /// assert_eq!(out, [2.0, 4.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eval_into<T: Element>(&self, out: &mut [T]) -> Result<()> {
        Evaluation::default().eval_into(self, out)
    }

    /// The array itself, if it already owns contiguous data.
    pub(crate) fn settled(&self) -> Option<Array<'static>> {
        let leaf = self.in_memory().filter(|leaf| leaf.layout.is_contiguous())?;
        Some(Array::data(leaf.storage.owned()?, leaf.layout.clone()))
    }
}
