//! The way in which arrays are evaluated: with which options, watched by whom, by which engine, and to which memory.

use std::sync::Arc;

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_mem::{ViewMut, with_bools_as_bytes};
use smallvec::SmallVec;

use crate::array::{Array, Kind, Leaf};
use crate::engine::{self, Control, Engine, Options, Watch};
use crate::storage::Element;

/// Evaluates arrays with options, with a [`Control`], by an engine of one's own, or into given memory.
///
/// [`Array::eval`], [`Array::eval_with`], [`Array::eval_into`] and [`eval_many`](crate::eval_many) are short forms for what most programs need.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use broadloom::prelude::*;
/// use broadloom::{Control, Progress};
///
/// let x = Array::from_vec(vec![0.5_f64; 1_000_000]);
/// let most = AtomicUsize::new(0);
/// let note = |progress: Progress| drop(most.fetch_max(progress.done, Ordering::Relaxed));
/// let control = Control { progress: Some(&note), ..Control::default() };
/// let options = Options::default();
/// let results = Evaluation::with(&options).control(&control).eval_many(&[&x.exp(), &(&x + 1)])?;
/// assert_eq!((results.len(), most.into_inner()), (2, 1_000_000)); // one loop for both
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Default)]
#[must_use]
pub struct Evaluation<'e> {
    options: Option<&'e Options>,
    control: Option<&'e Control<'e>>,
    engine: Option<&'e Engine>,
}

impl<'e> Evaluation<'e> {
    /// An evaluation with these options, by the process-wide engine. That of `Evaluation::default()` has the default options.
    pub fn with(options: &'e Options) -> Evaluation<'e> {
        Evaluation { options: Some(options), ..Evaluation::default() }
    }

    /// Adds a control, through which the evaluation can be cancelled and reports its progress.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use broadloom::prelude::*;
    /// use broadloom::{Control, ErrorKind, Progress};
    ///
    /// let x = Array::from_vec(vec![0.5_f64; 1_000_000]);
    /// let stop = AtomicBool::new(false); // any thread or a signal handler may set it
    /// let half = |progress: Progress| stop.store(2 * progress.done >= progress.total, Ordering::Relaxed);
    /// let control = Control { cancel: Some(&stop), progress: Some(&half), ..Control::default() };
    /// let e = Evaluation::default().control(&control).eval(&x.exp()).unwrap_err();
    /// assert_eq!(e.kind(), ErrorKind::Cancelled);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn control(self, control: &'e Control<'e>) -> Evaluation<'e> {
        Evaluation { control: Some(control), ..self }
    }

    /// Has an engine of the caller's compute the values.
    pub fn engine(self, engine: &'e Engine) -> Evaluation<'e> {
        Evaluation { engine: Some(engine), ..self }
    }

    /// Computes the values of an array, and returns them as a new array that owns contiguous data.
    ///
    /// An array that already owns contiguous data is not copied: the result shares its memory.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if more memory is needed than the options allow or the machine has; [`ErrorKind::TimeLimit`] if the
    /// options' time limit is exceeded; [`ErrorKind::ZeroDivision`] for an integer division by zero, if the options make it an
    /// error; [`ErrorKind::Cancelled`] once the control's flag is set, or its poll returns false.
    pub fn eval(&self, array: &Array<'_>) -> Result<Array<'static>> {
        let missing = || Error::new(ErrorKind::Internal, "the engine gave no array");
        self.eval_many(&[array])?.pop().ok_or_else(missing)
    }

    /// Computes the values of several arrays together: their common parts are computed once, and in one loop if possible.
    ///
    /// # Errors
    /// The errors of [`Evaluation::eval`], after which there are no results.
    pub fn eval_many(&self, arrays: &[&Array<'_>]) -> Result<Vec<Array<'static>>> {
        self.prepared(|engine, options, control| {
            // A cancelled evaluation fails even if there is nothing to compute.
            Watch::begin(control, options)?;
            let settled: SmallVec<[Option<Array<'static>>; 2]> = arrays.iter().map(|x| x.settled()).collect();
            let open: SmallVec<[&Array<'_>; 2]> =
                arrays.iter().zip(&settled).filter(|(_, s)| s.is_none()).map(|(x, _)| *x).collect();
            let computed = match open.is_empty() {
                true => Vec::new(),
                false => engine.eval_many(&open, options, control)?,
            };
            let mut computed = computed.into_iter();
            let missing = || Error::new(ErrorKind::Internal, "the engine gave fewer arrays than asked for");
            settled.into_iter().map(|s| s.or_else(|| computed.next()).ok_or_else(missing)).collect()
        })
    }

    /// Computes the values into the caller's memory, in row-major order.
    ///
    /// # Errors
    /// If `T` is not the type of the array's dtype, or `out` has another number of elements; and the errors of
    /// [`Evaluation::eval`], after which the contents of `out` are unspecified.
    pub fn eval_into<T: Element>(&self, array: &Array<'_>, out: &mut [T]) -> Result<()> {
        if T::DTYPE != array.dtype() {
            let (is, given) = (array.dtype(), T::DTYPE);
            return Err(Error::new(
                ErrorKind::DType,
                format!("eval_into: the array is {is}, the output {given}"),
            ));
        }
        if out.len() != array.len() {
            let (shape, n) = (&array.0.shape, out.len());
            let why = format!("eval_into: {shape} has {} elements, the output {n}", array.len());
            return Err(Error::new(ErrorKind::Shape, why));
        }
        self.prepared(|engine, options, control| {
            let write = |bytes: &mut [u8]| engine.eval_into(array, bytes.into(), None, options, control);
            match T::bytes_mut(out) {
                Ok(bytes) => write(bytes),
                Err(bools) => with_bools_as_bytes([bools], |bytes| bytes.into_iter().try_for_each(write)),
            }
        })
    }

    /// Computes the values into the caller's bytes, in row-major order. The values are copied only if the bytes are not aligned
    /// for the dtype.
    ///
    /// # Errors
    /// If the number of bytes is not the size of the elements; and the errors of [`Evaluation::eval`], after which the contents of
    /// `out` are unspecified.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([0.5_f32, 1.5]);
    /// let mut out = [9_u8; 2];
    /// Evaluation::default().eval_into_bytes(&x.greater(1), &mut out)?;
    /// assert_eq!(out, [0, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eval_into_bytes(&self, array: &Array<'_>, out: &mut [u8]) -> Result<()> {
        let (size, dtype) = (array.dtype().size(), array.dtype());
        if !out.len().is_multiple_of(size) || out.len() / size != array.len() {
            let (needed, n) = (array.len() as u128 * size as u128, out.len());
            let why = format!("eval_into_bytes: {dtype}{} has {needed} bytes, the output {n}", array.0.shape);
            return Err(Error::new(ErrorKind::Shape, why));
        }
        if out.as_ptr().addr().is_multiple_of(size) {
            self.prepared(|engine, options, control| {
                engine.eval_into(array, (&mut *out).into(), None, options, control)
            })?;
        } else {
            let missing = || Error::new(ErrorKind::Internal, "the engine gave no contiguous array");
            let computed = self.eval(array)?;
            out.copy_from_slice(computed.as_bytes().ok_or_else(missing)?);
        }
        if dtype == DType::Bool {
            out.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        Ok(())
    }

    /// Computes the values into an array of the same shape and dtype, reusing its memory if no other handle refers to it.
    ///
    /// If another handle refers to the memory of `out` (such as an expression built with `out`), or `out` has no memory of its
    /// own, it gets new memory, so that no other handle sees a change.
    ///
    /// # Errors
    /// If dtypes or shapes differ, or several indices of `out` address the same element; and the errors of [`Evaluation::eval`],
    /// after which the values of `out` are unspecified.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let mut state = Array::from_vec(vec![1.0_f32, 2.0]);
    /// let before = &state * 1;
    /// for _ in 0..3 {
    ///     Evaluation::default().eval_into_array(&(&state * 2), &mut state)?;
    /// }
    /// assert_eq!(state.to_vec::<f32>()?, [8.0, 16.0]);
    /// assert_eq!(before.to_vec::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eval_into_array(&self, array: &Array<'_>, out: &mut Array<'static>) -> Result<()> {
        let fail = |kind: ErrorKind, why: String| Err(Error::new(kind, format!("eval_into_array: {why}")));
        if out.dtype() != array.dtype() {
            let (is, given) = (array.dtype(), out.dtype());
            return fail(ErrorKind::DType, format!("the array is {is}, the output {given}"));
        }
        if out.shape() != array.shape() {
            let (is, given) = (&array.0.shape, &out.0.shape);
            return fail(ErrorKind::Shape, format!("the array has shape {is}, the output {given}"));
        }
        if let Some(strides) = out.strides()
            && let Some(axis) = (0..out.rank()).find(|&i| strides[i] == 0 && out.shape()[i] > 1)
        {
            return fail(ErrorKind::Memory, format!("the output repeats one element along axis {axis}"));
        }
        if let Some(node) = Arc::get_mut(&mut out.0)
            && let Kind::Leaf(Leaf::Data(leaf)) = &mut node.kind
            && leaf.storage.bytes_mut().is_some()
        {
            return self.prepared(|engine, options, control| {
                engine::evaluate_into_leaf(engine, array, leaf, options, control)
            });
        }
        *out = self.eval(array)?;
        Ok(())
    }

    /// Computes the values into a view of memory, which must have the array's shape and may overlap the array's inputs.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for another shape, [`ErrorKind::DType`] for elements of another size; and the errors of
    /// [`Evaluation::eval`], after which the elements are unspecified.
    pub fn eval_into_view(&self, array: &Array<'_>, mut out: ViewMut<'_>) -> Result<()> {
        if out.shape() != array.shape() {
            let (is, given) = (array.shape(), out.shape());
            let why = format!("eval_into_view: the array has shape {is:?}, the output {given:?}");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        if out.item() != array.dtype().size() {
            let (is, item) = (array.dtype(), out.item());
            let why = format!("eval_into_view: the array is {is}, the output's elements have {item} bytes");
            return Err(Error::new(ErrorKind::DType, why));
        }
        let (out, layout) = engine::output(&mut out)?;
        self.prepared(|engine, options, control| engine.eval_into(array, out, layout, options, control))
    }

    /// This evaluation with other options.
    pub(crate) fn with_options<'o>(&'o self, options: &'o Options) -> Evaluation<'o> {
        Evaluation { options: Some(options), ..*self }
    }

    /// Calls `run` with the engine, the options and the control.
    pub(crate) fn prepared<R>(&self, run: impl FnOnce(&Engine, &Options, Option<&Control<'_>>) -> R) -> R {
        let engine = self.engine.unwrap_or_else(|| Engine::global());
        match self.options {
            Some(options) => run(engine, options, self.control),
            None => run(engine, &Options::default(), self.control),
        }
    }
}
