//! Reductions of the elements along axes.
//!
//! A reduction is lazy and fused: the elements of `(&a - &b).square().sum(())` are added as they are computed, and never stored.
//! Sums and products are computed pairwise, in an order that depends only on the number of elements: the bits are the same for
//! every layout, executor and number of threads, and the error grows with the logarithm of the number of elements
//! (`docs/conformance.md`). A few reductions are node kinds; means, variances and norms are composed of these and of element-wise
//! functions.
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let x = Array::from([[1.0_f32, 2.0], [3.0, 4.0], [5.0, 9.0]]);
//! assert_eq!(x.sum(())?.item::<f32>()?, 24.0);
//! assert_eq!(x.mean(0)?.to_vec::<f32>()?, [3.0, 5.0]);
//! let softmax = {
//!     let e = (&x - x.max(Over::axis(-1).keep_dims())?).exp();
//!     &e / e.sum(Over::axis(-1).keep_dims())?
//! };
//! assert!(softmax.sum(-1)?.equal(1).all(())?.item::<bool>()?);
//! # Ok::<(), Error>(())
//! ```

mod extremes;
mod moments;
mod nan;
mod norms;
mod over;
mod scans;

use broadloom_core::infer::BY_NUMPY;
use broadloom_core::{DType, Error, ErrorKind, Kind, Promotion, Result};
use broadloom_ir::{Axes, Reduction};

use crate::array::Array;
use crate::expr;
use crate::promote::promotion;

pub use over::Over;

impl<'a> Array<'a> {
    /// The sum of the elements along axes.
    ///
    /// Floats keep their dtype; float16 is added in float32 and rounded once. Integers become int64 or uint64, and wrap. With
    /// [`Over::dtype`] elements are converted first. The sum of no elements is 0.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for axes that the array does not have or that are named twice; [`ErrorKind::DType`] for bools, unless
    /// promotion is [`Promotion::NumPy`], which converts them to int64.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[1_i8, 2, 3], [100, 100, 100]]);
    /// assert_eq!(x.sum(())?.item::<i64>()?, 306);
    /// assert_eq!(x.sum(-1)?.to_vec::<i64>()?, [6, 300]);
    /// assert_eq!(x.sum(Over::axes(&[0, 1]).keep_dims())?.shape(), [1, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sum(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        self.accumulated("sum", Reduction::Sum, &over.into())
    }

    /// The product of the elements along axes. The dtypes are those of [`Array::sum`]. The product of no elements is 1.
    ///
    /// # Errors
    /// The errors of [`Array::sum`].
    pub fn prod(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        self.accumulated("prod", Reduction::Prod, &over.into())
    }

    /// Whether any element along axes is true, that is, not 0; false for no elements.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for axes that the array does not have or that are named twice.
    pub fn any(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        self.of_bools("any", Reduction::Any, &over.into())
    }

    /// Whether all elements along axes are true, that is, not 0; true for no elements.
    ///
    /// # Errors
    /// The errors of [`Array::any`].
    pub fn all(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        self.of_bools("all", Reduction::All, &over.into())
    }

    /// The number of elements along axes that are not 0, as an int64. NaNs are counted.
    ///
    /// # Errors
    /// The errors of [`Array::any`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![0.0_f32, -0.0, f32::NAN, 2.0]);
    /// assert_eq!(x.count_nonzero(())?.item::<i64>()?, 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn count_nonzero(&self, over: impl Into<Over>) -> Result<Array<'a>> {
        let over = over.into();
        let axes = over.resolve("count_nonzero", self)?;
        over.without_dtype("count_nonzero")?;
        let ones = expr::cast(expr::cast(expr::typed(self)?, DType::Bool), DType::Int64);
        expr::reduce(Reduction::Sum, &ones, axes, over.keeps_dims())
    }

    /// The number of elements along axes, as int64 or in the requested dtype.
    pub(crate) fn count(&self, over: &Over) -> Result<Array<'a>> {
        let axes = over.resolve("count", self)?;
        Ok(expr::count(&expr::typed(self)?, axes, over.result_dtype().unwrap_or(DType::Int64)))
    }

    fn of_bools(&self, name: &str, reduction: Reduction, over: &Over) -> Result<Array<'a>> {
        let axes = over.resolve(name, self)?;
        over.without_dtype(name)?;
        let bools = expr::cast(expr::typed(self)?, DType::Bool);
        expr::reduce(reduction, &bools, axes, over.keeps_dims())
    }

    /// A sum or product, computed in the accumulator's dtype and rounded once to the result's dtype.
    fn accumulated(&self, name: &str, reduction: Reduction, over: &Over) -> Result<Array<'a>> {
        let axes = over.resolve(name, self)?;
        let (x, result) = accumulated_from(name, self, over.result_dtype())?;
        let reduced = expr::reduce(reduction, &x, axes, over.keeps_dims())?;
        Ok(expr::cast(reduced, result))
    }
}

/// The elements converted to the dtype in which their sum is computed, and the dtype of the result.
fn accumulated_from<'a>(name: &str, x: &Array<'a>, wanted: Option<DType>) -> Result<(Array<'a>, DType)> {
    let x = expr::typed(x)?;
    let refused = |dtype, or: &str| {
        let error = Error::new(ErrorKind::DType, format!("{name}: does not take {dtype}"));
        Err(error.with_help(format!("write astype(x, int64), or {or}; count_nonzero counts")))
    };
    let result = match (wanted, x.dtype()) {
        (Some(DType::Bool), _) => return refused(DType::Bool, "the dtype that you mean"),
        (Some(dtype), _) => dtype,
        (None, dtype) => match dtype.kind() {
            Kind::Float => dtype,
            Kind::Signed => DType::Int64,
            Kind::Unsigned => DType::UInt64,
            Kind::Bool if promotion() == Promotion::NumPy => DType::Int64,
            Kind::Bool => return refused(dtype, BY_NUMPY),
        },
    };
    // Elements are converted to the requested dtype first, and then to the accumulator's, which is wider for float16, so that
    // sums of float16 are rounded once.
    let elements = if wanted.is_some() { expr::cast(x, result) } else { x };
    Ok((expr::cast(elements, accumulator(result)), result))
}

/// The dtype in which sums with results of this dtype are computed.
fn accumulator(dtype: DType) -> DType {
    match dtype.kind() {
        Kind::Float if dtype == DType::Float64 => DType::Float64,
        Kind::Float => DType::Float32,
        Kind::Unsigned => DType::UInt64,
        Kind::Signed | Kind::Bool => DType::Int64,
    }
}

/// The elements of an array of floats, converted to the dtype in which its mean is computed, and the dtype of the mean. Integers
/// are an error or, if promotion is NumPy's, become float64.
fn floats<'a>(name: &str, x: &Array<'a>) -> Result<(Array<'a>, DType)> {
    let x = expr::typed(x)?;
    let dtype = x.dtype();
    if dtype.is_float() {
        return Ok((expr::cast(x, accumulator(dtype)), dtype));
    }
    if promotion() == Promotion::NumPy {
        return Ok((expr::cast(x, DType::Float64), DType::Float64));
    }
    Err(Error::new(ErrorKind::DType, format!("{name}: does not take {dtype}"))
        .with_help(format!("write astype(x, float64), or {BY_NUMPY}")))
}

/// The sum of floats, computed in their own dtype.
fn sum<'a>(x: &Array<'a>, axes: Axes, keep_dims: bool) -> Result<Array<'a>> {
    expr::reduce(Reduction::Sum, x, axes, keep_dims)
}
