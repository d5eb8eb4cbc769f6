//! Evaluates expressions to arrays that own contiguous data, or into the caller's memory; [`crate::engine`] does the computation.
//! Evaluation changes no handle: results are not cached in handles, and memory that another handle refers to is not written.

use std::sync::Arc;

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_mem::with_bools_as_bytes;
use smallvec::SmallVec;

use crate::array::{Array, Kind, Leaf};
use crate::engine::{self, Control, Engine, Options, Watch};
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
    eval_many_with(arrays, &Options::default())
}

/// Does the same as [`eval_many`], with options.
///
/// # Errors
/// The errors of [`Array::eval_with`]. After an error there are no results.
pub fn eval_many_with(arrays: &[&Array<'_>], options: &Options) -> Result<Vec<Array<'static>>> {
    many(arrays, options, None)
}

/// [`eval_many_with`] with a [`Control`], through which the call can be cancelled and reports its progress.
///
/// # Errors
/// The errors of [`Array::eval_watched`]. After an error there are no results.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use broadloom::prelude::*;
/// use broadloom::{Control, Options, Progress, eval_many_watched};
///
/// let x = Array::from_vec(vec![0.5_f64; 1_000_000]);
/// let most = AtomicUsize::new(0);
/// let note = |progress: Progress| drop(most.fetch_max(progress.done, Ordering::Relaxed));
/// let control = Control { progress: Some(&note), ..Control::default() };
/// let results = eval_many_watched(&[&x.exp(), &(&x + 1)], &Options::default(), &control)?;
/// assert_eq!((results.len(), most.into_inner()), (2, 1_000_000)); // one loop for both
/// # Ok::<(), Error>(())
/// ```
pub fn eval_many_watched(
    arrays: &[&Array<'_>],
    options: &Options,
    control: &Control<'_>,
) -> Result<Vec<Array<'static>>> {
    many(arrays, options, Some(control))
}

fn many(
    arrays: &[&Array<'_>],
    options: &Options,
    control: Option<&Control<'_>>,
) -> Result<Vec<Array<'static>>> {
    // A cancelled call fails even if there is nothing to compute.
    Watch::begin(control, options)?;
    let settled: SmallVec<[Option<Array<'static>>; 2]> = arrays.iter().map(|x| x.settled()).collect();
    let open: SmallVec<[&Array<'_>; 2]> =
        arrays.iter().zip(&settled).filter(|(_, s)| s.is_none()).map(|(x, _)| *x).collect();
    let computed = match open.is_empty() {
        true => Vec::new(),
        false => Engine::global().eval_many_controlled(&open, options, control)?,
    };
    let mut computed = computed.into_iter();
    let missing = || Error::new(ErrorKind::Internal, "the engine gave fewer arrays than asked for");
    settled.into_iter().map(|s| s.or_else(|| computed.next()).ok_or_else(missing)).collect()
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
        self.eval_with(&Options::default())
    }

    /// Does the same as [`Array::eval`], with options.
    ///
    /// # Errors
    /// The errors of [`Array::eval`], and an integer division by zero, if the options make it an error.
    pub fn eval_with(&self, options: &Options) -> Result<Array<'static>> {
        self.eval_controlled(options, None)
    }

    /// [`Array::eval_with`] with a [`Control`], through which the call can be cancelled and reports its progress.
    ///
    /// # Errors
    /// The errors of [`Array::eval_with`]; [`ErrorKind::Cancelled`] once the control's flag is set.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use broadloom::prelude::*;
    /// use broadloom::{Control, ErrorKind, Options, Progress};
    ///
    /// let x = Array::from_vec(vec![0.5_f64; 1_000_000]);
    /// let stop = AtomicBool::new(false); // any thread or a signal handler may set it
    /// let half = |progress: Progress| stop.store(2 * progress.done >= progress.total, Ordering::Relaxed);
    /// let control = Control { cancel: Some(&stop), progress: Some(&half), ..Control::default() };
    /// let e = x.exp().eval_watched(&Options::default(), &control).unwrap_err();
    /// assert_eq!(e.kind(), ErrorKind::Cancelled);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eval_watched(&self, options: &Options, control: &Control<'_>) -> Result<Array<'static>> {
        self.eval_controlled(options, Some(control))
    }

    fn eval_controlled(&self, options: &Options, control: Option<&Control<'_>>) -> Result<Array<'static>> {
        let missing = || Error::new(ErrorKind::Internal, "the engine gave no array");
        many(&[self], options, control)?.pop().ok_or_else(missing)
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
        self.eval_into_with(out, &Options::default())
    }

    /// Does the same as [`Array::eval_into`], with options.
    ///
    /// # Errors
    /// The errors of [`Array::eval_into`] and [`Array::eval_with`].
    pub fn eval_into_with<T: Element>(&self, out: &mut [T], options: &Options) -> Result<()> {
        self.eval_into_controlled(out, options, None)
    }

    /// [`Array::eval_into_with`] with a [`Control`], through which the call can be cancelled and reports its progress.
    ///
    /// # Errors
    /// The errors of [`Array::eval_into_with`]; [`ErrorKind::Cancelled`] once the control's flag is set, after which the contents of
    /// `out` are unspecified.
    pub fn eval_into_watched<T: Element>(
        &self,
        out: &mut [T],
        options: &Options,
        control: &Control<'_>,
    ) -> Result<()> {
        self.eval_into_controlled(out, options, Some(control))
    }

    fn eval_into_controlled<T: Element>(
        &self,
        out: &mut [T],
        options: &Options,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        if T::DTYPE != self.dtype() {
            let (is, given) = (self.dtype(), T::DTYPE);
            return Err(Error::new(
                ErrorKind::DType,
                format!("eval_into: the array is {is}, the output {given}"),
            ));
        }
        if out.len() != self.len() {
            let (shape, n) = (&self.0.shape, out.len());
            let why = format!("eval_into: {shape} has {} elements, the output {n}", self.len());
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let write = |bytes: &mut [u8]| Engine::global().eval_into(self, bytes.into(), None, options, control);
        match T::bytes_mut(out) {
            Ok(bytes) => write(bytes),
            Err(bools) => with_bools_as_bytes([bools], |bytes| bytes.into_iter().try_for_each(write)),
        }
    }

    /// Computes the values into an array of the same shape and dtype, reusing its memory if no other handle refers to it.
    ///
    /// If another handle refers to the memory of `out` (such as an expression built with `out`), or `out` has no memory of its
    /// own, it gets new memory, so that no other handle sees a change.
    ///
    /// # Errors
    /// If dtypes or shapes differ, or several indices of `out` address the same element; and the errors of [`Array::eval`], after
    /// which the values of `out` are unspecified.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let mut state = Array::from_vec(vec![1.0_f32, 2.0]);
    /// let before = &state * 1;
    /// for _ in 0..3 {
    ///     (&state * 2).eval_into_array(&mut state)?;
    /// }
    /// assert_eq!(state.to_vec::<f32>()?, [8.0, 16.0]);
    /// assert_eq!(before.to_vec::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eval_into_array(&self, out: &mut Array<'static>) -> Result<()> {
        self.eval_into_array_with(out, &Options::default())
    }

    /// Does the same as [`Array::eval_into_array`], with options.
    ///
    /// # Errors
    /// The errors of [`Array::eval_into_array`] and [`Array::eval_with`].
    pub fn eval_into_array_with(&self, out: &mut Array<'static>, options: &Options) -> Result<()> {
        self.eval_into_array_controlled(out, options, None)
    }

    /// [`Array::eval_into_array_with`] with a [`Control`], through which the call can be cancelled and reports its progress.
    ///
    /// # Errors
    /// The errors of [`Array::eval_into_array_with`]; [`ErrorKind::Cancelled`] once the control's flag is set, after which the values of
    /// `out` are unspecified.
    pub fn eval_into_array_watched(
        &self,
        out: &mut Array<'static>,
        options: &Options,
        control: &Control<'_>,
    ) -> Result<()> {
        self.eval_into_array_controlled(out, options, Some(control))
    }

    fn eval_into_array_controlled(
        &self,
        out: &mut Array<'static>,
        options: &Options,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        let fail = |kind: ErrorKind, why: String| Err(Error::new(kind, format!("eval_into_array: {why}")));
        if out.dtype() != self.dtype() {
            let (is, given) = (self.dtype(), out.dtype());
            return fail(ErrorKind::DType, format!("the array is {is}, the output {given}"));
        }
        if out.shape() != self.shape() {
            let (is, given) = (&self.0.shape, &out.0.shape);
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
            return engine::evaluate_into_leaf(self, leaf, options, control);
        }
        *out = self.eval_controlled(options, control)?;
        Ok(())
    }

    /// The array itself, if it already owns contiguous data.
    pub(crate) fn settled(&self) -> Option<Array<'static>> {
        let leaf = self.in_memory().filter(|leaf| leaf.layout.is_contiguous())?;
        Some(Array::data(leaf.storage.owned()?, leaf.layout.clone()))
    }
}
