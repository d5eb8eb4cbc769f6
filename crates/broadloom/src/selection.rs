//! Selection by masks, and the indices of elements that are not 0. The extents of the results depend on values, so that the operands
//! are computed.

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_math::{DTypeVisitor, Elem};
use broadloom_mem::{typed, typed_mut};
use broadloom_sort::{Selection, Stopped, Workers};

use crate::array::Array;
use crate::evaluation::Evaluation;
use crate::expr;
use crate::value_run::{borrowed, written};

impl Array<'_> {
    /// The elements at which a mask is true, in row-major order. The axes of the mask are those of the array from `axis` on, with
    /// the same extents; they become one axis of the result. Computes the values.
    ///
    /// [`Evaluation::compress`] takes options.
    ///
    /// # Errors
    /// [`ErrorKind::DType`] for a mask that is not bool; [`ErrorKind::Shape`] for an axis that does not exist, and for a mask without
    /// axes or of other extents; the errors of [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.compress(&x.greater(4), 0)?.to_vec::<i32>()?, [5, 6]);
    /// let columns = x.compress(&Array::from([true, false, true]), 1)?;
    /// assert_eq!((columns.shape(), columns.to_vec::<i32>()?), (&[2, 2][..], vec![1, 3, 4, 6]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn compress(&self, mask: &Array<'_>, axis: isize) -> Result<Array<'static>> {
        Evaluation::default().compress(self, mask, axis)
    }

    /// The indices of the elements that are not 0, in row-major order: an array of int64 for each axis. NaN is not 0. Computes the
    /// values.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an array without axes, and the errors of [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let indices = Array::from([[0, 5], [7, 0]]).nonzero()?;
    /// assert_eq!(indices[0].to_vec::<i64>()?, [0, 1]);
    /// assert_eq!(indices[1].to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn nonzero(&self) -> Result<Vec<Array<'static>>> {
        Evaluation::default().nonzero(self)
    }
}

impl Evaluation<'_> {
    /// [`Array::compress`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::compress`].
    pub fn compress(&self, array: &Array<'_>, mask: &Array<'_>, axis: isize) -> Result<Array<'static>> {
        let (array, mask) = (expr::typed(array)?, expr::typed(mask)?);
        array.has_known_extents("compress")?;
        mask.has_known_extents("compress")?;
        if mask.dtype() != DType::Bool {
            let why = format!("compress: the mask is {}, not bool", mask.dtype());
            return Err(Error::new(ErrorKind::DType, why).with_help("compare the array, as by not_equal(0)"));
        }
        let axis = array.axis("compress", axis)?;
        let end = axis + mask.rank();
        if mask.rank() == 0 || array.shape().get(axis..end) != Some(mask.shape()) {
            let (mask, array) = (mask.all_dims(), array.all_dims());
            let why = format!("compress: a mask of {mask} does not fit axis {axis} of {array}");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let (before, after) = (&array.shape()[..axis], &array.shape()[end..]);
        let width = after.iter().product::<usize>();
        let run = self.run(array.len().saturating_add(mask.len()), 0);
        run.check_bytes(&[&array, &mask], 0)?;
        let (values, mask) = (run.values(&array)?, run.values(&mask)?);
        let selection = &run.with_workers(|workers| Selection::new(borrowed(&mask), width, workers))?;
        let shape = [before, &[selection.count()], after].concat();
        let size = shape.iter().fold(array.dtype().size(), |size, &n| size.saturating_mul(n));
        run.check_bytes(&[&array], size)?;
        let mut out = run.memory(array.dtype(), &shape)?;
        let (values, to) = (borrowed(&values), written(&mut out));
        run.with_workers(|workers| array.dtype().visit(Compress { selection, values, out: to, workers }))?;
        Ok(out)
    }

    /// [`Array::nonzero`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::nonzero`].
    pub fn nonzero(&self, array: &Array<'_>) -> Result<Vec<Array<'static>>> {
        let array = expr::typed(array)?;
        array.has_known_extents("nonzero")?;
        if array.rank() == 0 {
            return Err(Error::new(ErrorKind::Shape, "nonzero: an array without axes has no indices"));
        }
        let mask = if array.dtype() == DType::Bool { array } else { array.try_not_equal(0)? };
        let run = self.run(mask.len(), 0);
        run.check_bytes(&[&mask], 0)?;
        let mask = run.values(&mask)?;
        let found = run.with_workers(|workers| Selection::new(borrowed(&mask), 1, workers))?;
        // The indices in row-major order, and those of each axis.
        let arrays = if mask.rank() == 1 { 1 } else { mask.rank() + 1 };
        run.check_bytes(&[], found.count().saturating_mul(8 * arrays))?;
        let mut places = run.memory(DType::Int64, &[found.count()])?;
        let to = typed_mut::<i64>(written(&mut places)).unwrap_or_default();
        run.with_workers(|workers| found.indices(to, workers))?;
        if mask.rank() == 1 {
            return Ok(vec![places]);
        }
        let mut stride = mask.len();
        let indices = mask.shape().iter().map(|&extent| {
            stride /= extent.max(1);
            let rows = places.try_floor_divide(stride.max(1) as i64)?;
            rows.try_remainder(extent.max(1) as i64)
        });
        let indices = indices.collect::<Result<Vec<_>>>()?;
        run.part(|evaluation| evaluation.eval_many(&indices.iter().collect::<Vec<_>>()))
    }
}

/// The selected elements of rows.
struct Compress<'s> {
    selection: &'s Selection<'s>,
    values: &'s [u8],
    out: &'s mut [u8],
    workers: &'s dyn Workers,
}

impl DTypeVisitor for Compress<'_> {
    type Out = std::result::Result<(), Stopped>;

    fn visit<T: Elem>(self) -> Self::Out {
        let values = typed::<T>(self.values).unwrap_or_default();
        let out = typed_mut::<T>(self.out).unwrap_or_default();
        self.selection.compress(values, out, self.workers)?;
        if T::DTYPE == DType::Bool {
            out.iter_mut().for_each(|element| *element = T::load(*element).store());
        }
        Ok(())
    }
}
