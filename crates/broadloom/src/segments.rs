//! Reductions by label, counts and histograms, which compute the values of their operands.

use broadloom_core::reductions::ReductionFunction;
use broadloom_core::{DType, Error, ErrorKind, Kind, Op, Result};
use broadloom_mem::typed_mut;
use broadloom_reduce::{Labels, SegmentError, count_in_bins, count_segments, reduce_segments};
use smallvec::smallvec;

use crate::array::Array;
use crate::evaluation::Evaluation;
use crate::expr;
use crate::reductions::by_label;
use crate::value_run::{Ended, ValueRun, borrowed, written};

/// The approximate time per element, in nanoseconds.
const ELEMENT: f64 = 3.0;

impl Array<'_> {
    /// The sum of the elements of each label. Labels are integers of any dtype, one for each index of the first axis; the other
    /// axes are kept. A label is the number of a segment, or −1 for elements that belong to none. Computes the values.
    ///
    /// Each sum has the bits of [`Array::sum`] of the elements with that label, and its dtype. Of no elements it is 0.
    /// [`Evaluation::segments`] takes options.
    ///
    /// # Errors
    /// [`ErrorKind::Index`] for another label; the error names the first one. [`ErrorKind::Shape`] for an array without axes, or
    /// labels of another number; [`ErrorKind::DType`] for labels that are no integers, and as for [`Array::sum`]; the errors of
    /// [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([1.0, 2.0, 4.0, 8.0]);
    /// let sums = x.segment_sum(&Array::from([0, 2, 0, -1]), 3)?;
    /// assert_eq!(sums.to_vec::<f64>()?, [5.0, 0.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn segment_sum(&self, labels: &Array<'_>, segments: usize) -> Result<Array<'static>> {
        Evaluation::default().segments(ReductionFunction::Sum, self, labels, segments)
    }

    /// The product of the elements of each label, as [`Array::segment_sum`] has their sum. Of no elements it is 1.
    ///
    /// # Errors
    /// The errors of [`Array::segment_sum`].
    pub fn segment_prod(&self, labels: &Array<'_>, segments: usize) -> Result<Array<'static>> {
        Evaluation::default().segments(ReductionFunction::Prod, self, labels, segments)
    }

    /// The maximum of the elements of each label, as [`Array::segment_sum`] has their sum. Of no elements it is −∞, or the lowest
    /// integer of the dtype.
    ///
    /// # Errors
    /// The errors of [`Array::segment_sum`].
    pub fn segment_max(&self, labels: &Array<'_>, segments: usize) -> Result<Array<'static>> {
        Evaluation::default().segments(ReductionFunction::Max, self, labels, segments)
    }

    /// The minimum of the elements of each label, as [`Array::segment_sum`] has their sum. Of no elements it is ∞, or the highest
    /// integer of the dtype.
    ///
    /// # Errors
    /// The errors of [`Array::segment_sum`].
    pub fn segment_min(&self, labels: &Array<'_>, segments: usize) -> Result<Array<'static>> {
        Evaluation::default().segments(ReductionFunction::Min, self, labels, segments)
    }

    /// The mean of the elements of each label, as [`Array::segment_sum`] has their sum. Of no elements it is NaN.
    ///
    /// # Errors
    /// The errors of [`Array::segment_sum`], and of [`Array::mean`].
    pub fn segment_mean(&self, labels: &Array<'_>, segments: usize) -> Result<Array<'static>> {
        Evaluation::default().segments(ReductionFunction::Mean, self, labels, segments)
    }

    /// The number of occurrences of each label, int64, of the labels 0 to `segments` − 1. The label −1 is not counted. Computes the
    /// values.
    ///
    /// # Errors
    /// Those of [`Array::segment_sum`] about labels, and the errors of [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// assert_eq!(Array::from([0, 2, -1, 0]).segment_count(3)?.to_vec::<i64>()?, [2, 0, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn segment_count(&self, segments: usize) -> Result<Array<'static>> {
        Evaluation::default().segment_count(self, segments)
    }

    /// The number of occurrences of each number from 0 to the maximum, int64, or as many as `at_least`, as NumPy's `bincount` has
    /// it. Computes the values.
    ///
    /// # Errors
    /// [`ErrorKind::Index`] for a negative number; the errors of [`Array::segment_count`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// assert_eq!(Array::from([1, 3, 1]).bincount(0)?.to_vec::<i64>()?, [0, 2, 0, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bincount(&self, at_least: usize) -> Result<Array<'static>> {
        Evaluation::default().bincount(self, None, at_least)
    }

    /// The number of elements in each bin between ascending edges, int64. A bin contains its left edge, and the last one also its
    /// right edge. Other elements and NaNs are not counted. The edges have the dtype of the elements. Computes the values.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for edges that have no single axis, or no element; [`ErrorKind::DType`] for different dtypes and for
    /// bools; [`ErrorKind::Literal`] for edges that do not ascend; the errors of [`Evaluation::eval`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let counts = Array::from([0.5, 1.0, 2.0, 7.0]).histogram(&Array::from([0.0, 1.0, 2.0]))?;
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn histogram(&self, edges: &Array<'_>) -> Result<Array<'static>> {
        Evaluation::default().histogram(self, edges)
    }
}

impl Evaluation<'_> {
    /// A sum, product, maximum, minimum or mean of the elements of each label, as [`Array::segment_sum`] describes it, in the way of
    /// this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::segment_sum`]; [`ErrorKind::Name`] for another function.
    pub fn segments(
        &self,
        function: ReductionFunction,
        array: &Array<'_>,
        labels: &Array<'_>,
        segments: usize,
    ) -> Result<Array<'static>> {
        let name = format!("segment_{}", function.name());
        let (reduction, x, dtype) = by_label(&name, function, array)?;
        let labels = of_integers(&name, labels)?;
        x.has_known_extents(&name)?;
        let Some((&count, others)) = x.shape().split_first().filter(|(count, _)| **count == labels.len())
        else {
            let (of, n) = (x.all_dims(), labels.len());
            let why = format!("{name}: {n} labels for the first axis of {of}");
            return Err(Error::new(ErrorKind::Shape, why));
        };
        let shape: Vec<usize> = [segments].iter().chain(others).copied().collect();
        let width = others.iter().product();
        let work = x.len().max(count).max(segments.saturating_mul(width));
        let run = ValueRun::begin(self, work, ELEMENT * work as f64);
        let beside = broadloom_reduce::segment_bytes(x.dtype(), count, width, segments, run.threads());
        let results = segments.saturating_mul(width).saturating_mul(x.dtype().size());
        run.check_bytes(&[&x, &labels], beside.saturating_add(results))?;
        let (values, labels) = (run.values(&x)?, run.values(&labels)?);
        let known = known(&name, &labels, segments)?;
        let mut out = run.memory(x.dtype(), &shape)?;
        let (from, to) = (borrowed(&values), written(&mut out));
        run.with_workers(|workers| {
            reduce_segments(reduction, x.dtype(), from, width, &known, to, workers)
                .map_err(|error| ended(error, &name, &known))
        })?;
        if function == ReductionFunction::Mean {
            let counts = expr::cast(counted(&run, &name, &known)?, x.dtype());
            let ones = others.iter().map(|_| 1);
            let counts = counts.reshape(&[segments as isize].into_iter().chain(ones).collect::<Vec<_>>())?;
            let means = expr::apply(Op::Divide, smallvec![out.into(), counts.into()])?;
            return run.part(|part| part.eval(&expr::cast(means, dtype)));
        }
        if dtype == x.dtype() { Ok(out) } else { run.part(|part| part.eval(&expr::cast(out, dtype))) }
    }

    /// [`Array::segment_count`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::segment_count`].
    pub fn segment_count(&self, labels: &Array<'_>, segments: usize) -> Result<Array<'static>> {
        self.counted("segment_count", labels, segments)
    }

    /// The number of elements of each label. `name` is that of the function in errors.
    fn counted(&self, name: &str, labels: &Array<'_>, segments: usize) -> Result<Array<'static>> {
        let labels = of_integers(name, labels)?;
        let work = labels.len().max(segments);
        let run = ValueRun::begin(self, work, ELEMENT * work as f64);
        let counts = segments.saturating_mul(8).saturating_mul(1 + run.threads());
        run.check_bytes(&[&labels], counts)?;
        let labels = run.values(&labels)?;
        counted(&run, name, &known(name, &labels, segments)?)
    }

    /// [`Array::bincount`] in the way of this evaluation. With weights, one for each number, the sum of the weights of each number,
    /// float64.
    ///
    /// # Errors
    /// The errors of [`Array::bincount`], and of [`Array::segment_sum`] about weights.
    pub fn bincount(
        &self,
        numbers: &Array<'_>,
        weights: Option<&Array<'_>>,
        at_least: usize,
    ) -> Result<Array<'static>> {
        let numbers = of_integers("bincount", numbers)?;
        if let Some(weights) = weights.filter(|weights| weights.shape() != numbers.shape()) {
            let (of, n) = (weights.all_dims(), numbers.len());
            return Err(Error::new(ErrorKind::Shape, format!("bincount: weights of {of} for {n} numbers")));
        }
        let run = ValueRun::begin(self, numbers.len(), ELEMENT * numbers.len() as f64);
        let numbers = run.part(|part| part.eval(&numbers))?;
        let mut bins = at_least;
        if !numbers.is_empty() {
            let wide = if numbers.dtype().kind() == Kind::Signed { DType::Int64 } else { DType::UInt64 };
            let (least, most) = (numbers.min(())?.astype(wide), numbers.max(())?.astype(wide));
            let found = run.part(|part| part.eval_many(&[&least, &most]))?;
            let item = |x: &Array<'_>| match wide {
                DType::Int64 => x.item::<i64>().map(i128::from),
                _ => x.item::<u64>().map(i128::from),
            };
            let (least, most) = (item(&found[0])?, item(&found[1])?);
            if least < 0 {
                let why = format!("bincount: {least} is negative");
                return Err(Error::new(ErrorKind::Index, why));
            }
            bins = bins.max(usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1));
        }
        match weights {
            None => run.part(|part| part.counted("bincount", &numbers, bins)),
            Some(weights) => {
                let weights = expr::cast(expr::typed(weights)?, DType::Float64);
                run.part(|part| part.segments(ReductionFunction::Sum, &weights, &numbers, bins))
            }
        }
    }

    /// [`Array::histogram`] in the way of this evaluation.
    ///
    /// # Errors
    /// The errors of [`Array::histogram`].
    pub fn histogram(&self, array: &Array<'_>, edges: &Array<'_>) -> Result<Array<'static>> {
        let (x, edges) = (expr::typed(array)?, expr::typed(edges)?);
        x.has_known_extents("histogram")?;
        edges.has_known_extents("histogram")?;
        if edges.rank() != 1 || edges.is_empty() {
            let why =
                format!("histogram: edges have one axis and an element at least, not {}", edges.all_dims());
            return Err(Error::new(ErrorKind::Shape, why));
        }
        if x.dtype() != edges.dtype() || x.dtype() == DType::Bool {
            let why = format!("histogram: {} between edges of {}", x.dtype(), edges.dtype());
            return Err(Error::new(ErrorKind::DType, why).with_help("convert one of them by astype"));
        }
        // A conversion to a wider dtype of the same kind changes no comparison.
        let dtype = match x.dtype().kind() {
            Kind::Float if x.dtype() == DType::Float64 => DType::Float64,
            Kind::Float => DType::Float32,
            Kind::Signed => DType::Int64,
            Kind::Unsigned | Kind::Bool => DType::UInt64,
        };
        let (x, edges) = (expr::cast(x, dtype), expr::cast(edges, dtype));
        let (bins, n) = (edges.len() - 1, edges.len() as isize);
        let ascend = edges.slice(1..)?.greater_equal(&edges.slice(..n - 1)?).all(())?;
        let run = ValueRun::begin(self, x.len().max(bins), ELEMENT * x.len().max(bins) as f64);
        if !run.part(|part| part.eval(&ascend))?.item::<bool>()? {
            return Err(Error::new(ErrorKind::Literal, "histogram: the edges do not ascend"));
        }
        let beside = broadloom_reduce::histogram_bytes(bins, run.threads());
        run.check_bytes(&[&x, &edges], beside)?;
        let (values, edges) = (run.values(&x)?, run.values(&edges)?);
        let mut counts = run.memory(DType::Int64, &[bins])?;
        let to = typed_mut::<i64>(written(&mut counts)).unwrap_or_default();
        let (from, edges) = (borrowed(&values), borrowed(&edges));
        run.with_workers(|workers| {
            count_in_bins(dtype, from, edges, to, workers).map_err(|error| unlabelled("histogram", error))
        })?;
        Ok(counts)
    }
}

/// The number of elements of each label.
fn counted(run: &ValueRun<'_>, name: &str, labels: &Labels<'_>) -> Result<Array<'static>> {
    let mut counts = run.memory(DType::Int64, &[labels.segments()])?;
    let to = typed_mut::<i64>(written(&mut counts)).unwrap_or_default();
    run.with_workers(|workers| {
        count_segments(labels, to, workers).map_err(|error| ended(error, name, labels))
    })?;
    Ok(counts)
}

/// Labels, checked to be integers along one axis.
fn of_integers<'a>(name: &str, labels: &Array<'a>) -> Result<Array<'a>> {
    let labels = expr::typed(labels)?;
    labels.has_known_extents(name)?;
    if labels.rank() != 1 {
        let why = format!("{name}: labels have one axis, not those of {}", labels.all_dims());
        return Err(Error::new(ErrorKind::Shape, why));
    }
    if !matches!(labels.dtype().kind(), Kind::Signed | Kind::Unsigned) {
        let why = format!("{name}: labels are integers, not {}", labels.dtype());
        return Err(Error::new(ErrorKind::DType, why));
    }
    Ok(labels)
}

/// The labels of an array whose values are known.
fn known<'l>(name: &str, labels: &'l Array<'_>, segments: usize) -> Result<Labels<'l>> {
    let bytes = borrowed(labels);
    let named = |error: Error| Error::new(error.kind(), format!("{name}: {}", error.message()));
    Labels::new(labels.dtype(), bytes, segments).map_err(named)
}

/// The error that names a label and its place, or the reason for which the work was stopped.
fn ended(error: SegmentError, name: &str, labels: &Labels<'_>) -> Ended {
    match error {
        SegmentError::Label(at) => {
            let (label, segments) = (labels.get(at), labels.segments());
            let why = format!("{name}: label {label} is out of range for {segments} segments, at [{at}]");
            Ended::Failed(Error::new(ErrorKind::Index, why))
        }
        other => unlabelled(name, other),
    }
}

/// The error of work without labels.
fn unlabelled(name: &str, error: SegmentError) -> Ended {
    match error {
        SegmentError::Stopped(why) => Ended::Stopped(why),
        SegmentError::Refused(error) => Ended::Failed(error),
        SegmentError::Label(at) => {
            Ended::Failed(Error::new(ErrorKind::Internal, format!("{name}: a label at [{at}]")))
        }
    }
}
