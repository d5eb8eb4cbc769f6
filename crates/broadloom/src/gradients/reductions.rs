//! Derivatives of reductions.

use broadloom_core::{DType, Op, Result, Shape, View};
use broadloom_ir::{Axes, Reduction, Scan};
use smallvec::SmallVec;

use super::linear::{
    apply, is_extreme, mean, number, ranked, refused, select, spread, sum, times, widened, zero,
};
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

    /// For each element, the product of the other elements of its result. It is exact if an element is 0, since the products of
    /// the elements before and after it are multiplied.
    fn others(&self) -> Result<Array<'a>> {
        let x = self.arg;
        let axes: SmallVec<[isize; 6]> = self.axes.iter().map(|axis| axis as isize).collect();
        if let [axis] = axes[..] {
            return products_of_others(x, axis as usize);
        }
        if axes.is_empty() {
            return Ok(number(1.0, x.dtype()));
        }
        x.has_known_extents("prod")
            .map_err(|_| refused("prod", "there is no derivative along several axes of open extents"))?;
        let kept = (0..x.rank() as isize).filter(|axis| !self.axes.contains(*axis as usize));
        let order: SmallVec<[isize; 6]> = kept.chain(axes.iter().copied()).collect();
        let moved = x.permute_dims(&order)?;
        let first = order.len() - axes.len();
        let joined: SmallVec<[usize; 6]> =
            moved.shape()[..first].iter().copied().chain([self.axes.count(x.shape())]).collect();
        let rows = expr::view(&moved, View::Reshape(Shape::new(&joined)?))?;
        let others = products_of_others(&rows, first)?;
        let others = expr::view(&others, View::Reshape(moved.0.shape.clone()))?;
        let mut back: SmallVec<[isize; 6]> = SmallVec::from_elem(0, order.len());
        order.iter().enumerate().for_each(|(to, &from)| back[from as usize] = to as isize);
        others.permute_dims(&back)
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
