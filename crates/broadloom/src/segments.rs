//! Reductions by label, counts of labels and histograms; and counts of numbers, which compute the values of their operands.

use broadloom_core::reductions::ReductionFunction;
use broadloom_core::routine::{Routine, SegmentFunction};
use broadloom_core::{DType, Error, ErrorKind, Kind, Op, Result};
use smallvec::smallvec;

use crate::array::Array;
use crate::evaluation::Evaluation;
use crate::expr;
use crate::reductions::by_label;
use crate::sorts::first_of;
use crate::value_run::ValueRun;

/// The approximate time per element, in nanoseconds.
const ELEMENT: f64 = 3.0;

impl<'a> Array<'a> {
    /// The sum of the elements of each label. Labels are integers of any dtype, one for each index of the first axis; the other
    /// axes are kept. A label is the number of a segment, or −1 for elements that belong to none.
    ///
    /// Each sum has the bits of [`Array::sum`] of the elements with that label, and its dtype. Of no elements it is 0. Evaluating
    /// the result fails with [`ErrorKind::Index`] for another label; the error names the first one.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an array without axes, or labels of another number; [`ErrorKind::DType`] for labels that are no
    /// integers, and as for [`Array::sum`]; [`ErrorKind::Limit`] for 2^32 − 1 segments or more.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from([1.0, 2.0, 4.0, 8.0]);
    /// let sums = x.segment_sum(&Array::from([0, 2, 0, -1]), 3)?;
    /// assert_eq!(sums.to_vec::<f64>()?, [5.0, 0.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn segment_sum(&self, labels: &Array<'a>, segments: usize) -> Result<Array<'a>> {
        self.segment_reduce(ReductionFunction::Sum, labels, segments)
    }

    /// The product of the elements of each label, as [`Array::segment_sum`] has their sum. Of no elements it is 1.
    ///
    /// # Errors
    /// The errors of [`Array::segment_sum`].
    pub fn segment_prod(&self, labels: &Array<'a>, segments: usize) -> Result<Array<'a>> {
        self.segment_reduce(ReductionFunction::Prod, labels, segments)
    }

    /// The maximum of the elements of each label, as [`Array::segment_sum`] has their sum. Of no elements it is −∞, or the lowest
    /// integer of the dtype.
    ///
    /// # Errors
    /// The errors of [`Array::segment_sum`].
    pub fn segment_max(&self, labels: &Array<'a>, segments: usize) -> Result<Array<'a>> {
        self.segment_reduce(ReductionFunction::Max, labels, segments)
    }

    /// The minimum of the elements of each label, as [`Array::segment_sum`] has their sum. Of no elements it is ∞, or the highest
    /// integer of the dtype.
    ///
    /// # Errors
    /// The errors of [`Array::segment_sum`].
    pub fn segment_min(&self, labels: &Array<'a>, segments: usize) -> Result<Array<'a>> {
        self.segment_reduce(ReductionFunction::Min, labels, segments)
    }

    /// The mean of the elements of each label, as [`Array::segment_sum`] has their sum. Of no elements it is NaN.
    ///
    /// # Errors
    /// The errors of [`Array::segment_sum`], and of [`Array::mean`].
    pub fn segment_mean(&self, labels: &Array<'a>, segments: usize) -> Result<Array<'a>> {
        self.segment_reduce(ReductionFunction::Mean, labels, segments)
    }

    /// A sum, product, maximum, minimum or mean of the elements of each label, as [`Array::segment_sum`] describes it.
    ///
    /// # Errors
    /// The errors of [`Array::segment_sum`]; [`ErrorKind::Name`] for another function.
    pub fn segment_reduce(
        &self,
        function: ReductionFunction,
        labels: &Array<'a>,
        segments: usize,
    ) -> Result<Array<'a>> {
        let name = format!("segment_{}", function.name());
        let (by, x, dtype) = by_label(&name, function, self)?;
        let results = expr::routine(
            Routine::Segments { function: by, segments, at_positions: false },
            &[x, labels.clone()],
        )?;
        match &results[..] {
            [sums, counts] => {
                let others = sums.rank() - 1;
                let shape: Vec<isize> =
                    std::iter::once(segments as isize).chain(std::iter::repeat_n(1, others)).collect();
                let counts = expr::cast(counts.clone(), sums.dtype()).reshape(&shape)?;
                let means = expr::apply(Op::Divide, smallvec![sums.into(), counts.into()])?;
                Ok(expr::cast(means, dtype))
            }
            _ => Ok(expr::cast(first_of(results)?, dtype)),
        }
    }

    /// The number of occurrences of each label, int64, of the labels 0 to `segments` − 1. The label −1 is not counted. Evaluating
    /// the result fails as [`Array::segment_sum`] does for other labels.
    ///
    /// # Errors
    /// Those of [`Array::segment_sum`] about labels.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// assert_eq!(Array::from([0, 2, -1, 0]).segment_count(3)?.to_vec::<i64>()?, [2, 0, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn segment_count(&self, segments: usize) -> Result<Array<'a>> {
        let counts = Routine::Segments { function: SegmentFunction::Count, segments, at_positions: false };
        expr::routine(counts, std::slice::from_ref(self)).and_then(first_of)
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
    /// right edge. Other elements and NaNs are not counted. The edges have the dtype of the elements. Evaluating the result fails with
    /// [`ErrorKind::Literal`] for edges that do not ascend.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for edges that have no single axis, or no element; [`ErrorKind::DType`] for different dtypes and for
    /// bools.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let counts = Array::from([0.5, 1.0, 2.0, 7.0]).histogram(&Array::from([0.0, 1.0, 2.0]))?;
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn histogram(&self, edges: &Array<'a>) -> Result<Array<'a>> {
        let (x, edges) = (expr::typed(self)?, expr::typed(edges)?);
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
        expr::routine(Routine::Histogram, &[expr::cast(x, dtype), expr::cast(edges, dtype)])
            .and_then(first_of)
    }
}

impl Evaluation<'_> {
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
            None => run.part(|part| part.eval(&numbers.segment_count(bins)?)),
            Some(weights) => {
                let weights = expr::cast(expr::typed(weights)?, DType::Float64);
                run.part(|part| part.eval(&weights.segment_sum(&numbers, bins)?))
            }
        }
    }
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
