//! Arrays with other elements at computed positions.
//!
//! Elements that are set come from a routine. Elements that are combined with others are reduced by position first, as segments
//! are, so that sums have the canonical order, and the rest is an expression.

use broadloom_core::reductions::ReductionFunction;
use broadloom_core::routine::{Routine, ScatterMode, SegmentFunction};
use broadloom_core::{DType, Error, ErrorKind, Op, Result};
use smallvec::smallvec;

use crate::array::Array;
use crate::expr;
use crate::reductions::by_label;
use crate::sorts::first_of;

/// The reduction of the elements at one position, by label, and the function that combines it with the element before; `None` for
/// [`ScatterMode::Set`].
fn combines(mode: ScatterMode) -> Option<(ReductionFunction, Op)> {
    Some(match mode {
        ScatterMode::Set => return None,
        ScatterMode::Add => (ReductionFunction::Sum, Op::Add),
        ScatterMode::Multiply => (ReductionFunction::Prod, Op::Multiply),
        ScatterMode::Min => (ReductionFunction::Min, Op::Minimum),
        ScatterMode::Max => (ReductionFunction::Max, Op::Maximum),
    })
}

impl<'a> Array<'a> {
    /// The array with other elements at positions, int64, in its row-major order. The values have the dtype of the array and the shape of
    /// the positions, and their numbers follow from the row-major order. An element at no position keeps its bits.
    ///
    /// Evaluating the result fails with [`ErrorKind::Index`] for a position that is negative or beyond the elements; the error names
    /// the first one.
    ///
    /// # Errors
    /// [`ErrorKind::DType`] and [`ErrorKind::Shape`] for positions and values that are not as described, and for bool if elements are
    /// combined; [`ErrorKind::Limit`] for 2^32 − 1 elements or more if elements are combined.
    ///
    /// ```
    /// use broadloom::ScatterMode;
    /// use broadloom::prelude::*;
    ///
    /// let (x, at) = (Array::from([1.0, 2.0, 3.0]), Array::from([2_i64, 0, 2]));
    /// let values = Array::from([10.0, 20.0, 30.0]);
    /// assert_eq!(x.scatter(ScatterMode::Set, &at, &values)?.to_vec::<f64>()?, [20.0, 2.0, 30.0]);
    /// assert_eq!(x.scatter(ScatterMode::Add, &at, &values)?.to_vec::<f64>()?, [21.0, 2.0, 43.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn scatter(&self, mode: ScatterMode, positions: &Array<'a>, values: &Array<'a>) -> Result<Array<'a>> {
        let (x, positions, values) = (expr::typed(self)?, expr::typed(positions)?, expr::typed(values)?);
        let set = expr::routine(Routine::Scatter, &[x.clone(), positions.clone(), values.clone()])?;
        let Some((reduction, op)) = combines(mode) else { return first_of(set) };
        if x.dtype() == DType::Bool {
            let why = format!("{mode}: bools are not combined");
            return Err(Error::new(ErrorKind::DType, why).with_help("convert the array by astype"));
        }
        x.has_known_extents(mode.function())?;
        let (function, values, _) = by_label(mode.function(), reduction, &values)?;
        let (values, positions) = (values.reshape(&[-1])?, positions.reshape(&[-1])?);
        let at = |function, args: &[Array<'a>]| {
            let routine = Routine::Segments { function, segments: x.len(), at_positions: true };
            let shape: Vec<isize> = x.shape().iter().map(|&extent| extent as isize).collect();
            expr::routine(routine, args).and_then(first_of)?.reshape(&shape)
        };
        let reduced = expr::cast(at(function, &[values, positions.clone()])?, x.dtype());
        let is_written = at(SegmentFunction::Count, &[positions])?.greater(0);
        let combined = expr::apply(op, smallvec![expr::uncontracted(&x)?.into(), reduced.into()])?;
        expr::apply(Op::Where, smallvec![is_written.into(), combined.into(), x.into()])
    }
}
