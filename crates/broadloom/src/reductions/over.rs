//! The axes of a reduction, and its options.

use broadloom_core::reductions::{ReductionCall, ReductionFunction};
use broadloom_core::{DType, Dim, Error, ErrorKind, Result};
use broadloom_ir::Axes;
use smallvec::SmallVec;

use crate::array::Array;

/// The axes that are reduced, whether they are kept with extent 1, and the dtype of the result.
///
/// A negative axis counts from the end. `()` converts to all axes, a number to one axis, and an array of numbers to several axes.
///
/// ```
/// use broadloom::prelude::*;
///
/// let x = Array::from([[1_u8, 2], [3, 4]]);
/// assert_eq!(x.sum(())?.shape(), []);
/// assert_eq!(x.sum(0)?.to_vec::<u64>()?, [4, 6]);
/// assert_eq!(x.sum([0, -1])?.item::<u64>()?, 10);
/// assert_eq!(x.sum(Over::axis(1).keep_dims().dtype(DType::Float32))?.shape(), [2, 1]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Over {
    /// The axes to reduce; `None` for all.
    axes: Option<SmallVec<[isize; 4]>>,
    keep_dims: bool,
    dtype: Option<DType>,
}

impl Over {
    /// Reduces along all axes.
    pub fn all() -> Over {
        Over::default()
    }

    /// Reduces along one axis.
    pub fn axis(axis: isize) -> Over {
        Over::axes(&[axis])
    }

    /// Reduces along these axes. With an empty list, each element is reduced by itself.
    pub fn axes(axes: &[isize]) -> Over {
        Over { axes: Some(axes.into()), ..Over::default() }
    }

    /// Keeps the reduced axes with extent 1, so that the result broadcasts with the operand.
    #[must_use]
    pub fn keep_dims(self) -> Over {
        Over { keep_dims: true, ..self }
    }

    /// Sets the dtype of the result of a sum or a product. Elements are converted to it before they are added or multiplied.
    #[must_use]
    pub fn dtype(self, dtype: DType) -> Over {
        Over { dtype: Some(dtype), ..self }
    }

    /// The axes and options of a call.
    pub(super) fn of(call: &ReductionCall) -> Over {
        Over { axes: call.axis.clone(), keep_dims: call.keepdims, dtype: call.dtype }
    }

    /// The call of a function with these axes and options.
    pub(super) fn call(self, function: ReductionFunction) -> ReductionCall {
        let Over { axes, keep_dims, dtype } = self;
        ReductionCall { axis: axes, keepdims: keep_dims, dtype, ..ReductionCall::new(function) }
    }

    /// Whether the reduced axes are kept.
    pub(super) fn keeps_dims(&self) -> bool {
        self.keep_dims
    }

    /// The requested dtype of the result.
    pub(super) fn result_dtype(&self) -> Option<DType> {
        self.dtype
    }

    /// Checks that no dtype was requested.
    ///
    /// Errors: a dtype was requested for a function that offers no choice of dtype.
    pub(super) fn without_dtype(&self, name: &str) -> Result<()> {
        match self.dtype {
            None => Ok(()),
            Some(dtype) => {
                let why = format!("{name}: the dtype of the result can't be chosen ({dtype} was)");
                Err(Error::new(ErrorKind::DType, why).with_help(format!("write astype(x, {dtype})")))
            }
        }
    }

    /// The axes that are reduced, resolved for an array.
    ///
    /// Errors: an axis that the array does not have, or that is named twice; an array of dynamic rank.
    pub(super) fn resolve(&self, name: &str, of: &Array<'_>) -> Result<Axes> {
        if of.dims().is_some_and(|dims| dims.contains(&Dim::Rest)) {
            let why = format!("{name}: the rank of {}{} is open", of.dtype(), of.all_dims());
            return Err(Error::new(ErrorKind::Shape, why).with_help("name its dimensions instead of `...`"));
        }
        let Some(axes) = &self.axes else { return Ok(Axes::all(of.rank())) };
        let mut seen = Axes::NONE;
        for &axis in axes {
            let axis = of.axis(name, axis)?;
            if seen.contains(axis) {
                let why = format!("{name}: axis {axis} is named twice");
                return Err(Error::new(ErrorKind::Shape, why));
            }
            seen = seen.iter().chain([axis]).collect();
        }
        Ok(seen)
    }
}

impl From<()> for Over {
    fn from((): ()) -> Over {
        Over::all()
    }
}

impl From<isize> for Over {
    fn from(axis: isize) -> Over {
        Over::axis(axis)
    }
}

impl<const N: usize> From<[isize; N]> for Over {
    fn from(axes: [isize; N]) -> Over {
        Over::axes(&axes)
    }
}

impl<const N: usize> From<&[isize; N]> for Over {
    fn from(axes: &[isize; N]) -> Over {
        Over::axes(axes)
    }
}

impl From<&[isize]> for Over {
    fn from(axes: &[isize]) -> Over {
        Over::axes(axes)
    }
}
