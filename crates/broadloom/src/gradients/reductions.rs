//! Derivatives of reductions.

use broadloom_core::{DType, Op, Result};
use broadloom_ir::{Axes, Reduction, Scan};

use super::linear::{apply, is_extreme, mean, number, ranked, select, spread, sum, times, widened, zero};
use super::views::between;
use crate::array::Array;
use crate::expr;

/// A node that reduces `arg` along axes.
pub(super) struct Reduced<'n, 'a> {
    /// The node.
    pub node: &'n Array<'a>,
    pub arg: &'n Array<'a>,
    pub reduction: Reduction,
    pub axes: Axes,
    pub keep_dims: bool,
}

impl<'a> Reduced<'_, 'a> {
    /// The adjoint of the operand: each element's derivative times the adjoint of its result.
    pub(super) fn adjoint(&self, v: &Array<'a>) -> Result<Option<Array<'a>>> {
        match self.reduction {
            Reduction::Sum => self.with_axes(v).map(Some),
            Reduction::Prod => times(&self.with_axes(v)?, &self.others()?).map(Some),
            Reduction::Max | Reduction::Min => {
                let (selected, count) = self.selected()?;
                let share = mean(&self.with_axes(v)?, &count, v)?;
                select(&selected, &share, &zero(v.dtype())).map(Some)
            }
            Reduction::Any | Reduction::All | Reduction::ArgMax | Reduction::ArgMin => Ok(None),
        }
    }

    /// The tangent of the result: the sum of the elements' tangents, times their derivatives.
    pub(super) fn tangent(&self, v: &Array<'a>) -> Result<Option<Array<'a>>> {
        let v = spread(v, self.arg)?;
        let total = |terms: &Array<'a>| sum(terms, self.axes, self.keep_dims);
        match self.reduction {
            Reduction::Sum => total(&v).map(Some),
            Reduction::Prod => total(&times(&v, &self.others()?)?).map(Some),
            Reduction::Max | Reduction::Min => {
                let (selected, count) = self.selected()?;
                let sum = sum(&widened(&select(&selected, &v, &zero(v.dtype()))?), self.axes, true)?;
                self.without_axes(&mean(&sum, &count, &v)?).map(Some)
            }
            Reduction::Any | Reduction::All | Reduction::ArgMax | Reduction::ArgMin => Ok(None),
        }
    }

    /// An array with the shape of the result, or one that broadcasts to it, with the reduced axes as axes of extent 1.
    fn with_axes(&self, v: &Array<'a>) -> Result<Array<'a>> {
        let v = ranked(v, self.node.rank())?;
        if self.keep_dims {
            return Ok(v);
        }
        self.axes.iter().try_fold(v, |v, axis| v.expand_dims(axis as isize))
    }

    /// An array whose reduced axes have the extent 1, with the shape of the result.
    fn without_axes(&self, v: &Array<'a>) -> Result<Array<'a>> {
        if self.keep_dims {
            return Ok(v.clone());
        }
        self.axes.iter().rev().try_fold(v.clone(), |v, axis| v.squeeze(axis as isize))
    }

    /// Which elements are the maximum or minimum, or a NaN if that is one, and their number, with the reduced axes kept.
    fn selected(&self) -> Result<(Array<'a>, Array<'a>)> {
        let selected = is_extreme(self.arg, &self.with_axes(self.node)?)?;
        let ones = expr::cast(selected.clone(), DType::Int64);
        let count = expr::reduce(Reduction::Sum, &ones, self.axes, true)?;
        Ok((selected, count))
    }

    /// For each element, the product of the other elements of its result: of those along the last axis, then of the products of the
    /// other rows along the axis before it, and so on, so that extents may be open. It is exact if an element is 0, since the
    /// products of the elements before and after it are multiplied.
    fn others(&self) -> Result<Array<'a>> {
        let mut rows = self.arg.clone();
        let mut others: Option<Array<'a>> = None;
        for axis in self.axes.iter().rev() {
            let of_axis = products_of_others(&rows, axis)?;
            others = Some(match others {
                Some(others) => apply(Op::Multiply, &[&others, &of_axis])?,
                None => of_axis,
            });
            rows = expr::reduce(Reduction::Prod, &rows, [axis].into_iter().collect(), true)?;
        }
        Ok(others.unwrap_or_else(|| number(1.0, self.arg.dtype())))
    }
}

/// For each element, the product of the other elements along an axis.
fn products_of_others<'a>(x: &Array<'a>, axis: usize) -> Result<Array<'a>> {
    let of_earlier = |x: &Array<'a>| -> Result<Array<'a>> {
        let products = expr::scan(Scan::Prod, x, axis, true)?;
        between(&products, axis, None, Some(-1))
    };
    let from_end = axis as isize - x.rank() as isize;
    let earlier = of_earlier(x)?;
    let later = of_earlier(&x.flip(from_end)?)?.flip(from_end)?;
    apply(Op::Multiply, &[&earlier, &later])
}
