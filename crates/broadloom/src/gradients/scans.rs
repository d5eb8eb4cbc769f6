//! Derivatives of cumulative sums and products.

use broadloom_core::Result;
use broadloom_core::padding::Padding;
use broadloom_ir::Scan;

use super::linear::{add, spread, times, zero};
use super::views::between;
use crate::along::Along;
use crate::array::Array;
use crate::expr;
use crate::scan::try_scan;

/// A node that scans `arg` along an axis.
pub(super) struct Scanned<'n, 'a> {
    /// The node.
    pub node: &'n Array<'a>,
    pub arg: &'n Array<'a>,
    pub scan: Scan,
    pub axis: usize,
    /// Whether the result begins with the sum or product of no elements.
    pub initial: bool,
}

impl<'a> Scanned<'_, 'a> {
    /// The adjoint of the operand.
    pub(super) fn adjoint(&self, v: &Array<'a>) -> Result<Array<'a>> {
        let mut v = spread(v, self.node)?;
        if self.initial {
            v = between(&v, self.axis, Some(1), None)?;
        }
        match self.scan {
            Scan::Sum => {
                let sums = expr::scan(Scan::Sum, &self.flipped(&v)?, self.axis, false)?;
                self.flipped(&sums)
            }
            Scan::Prod => {
                // The later products, divided by the product up to an element, are a recurrence from the last element on, which
                // needs no division.
                let step = |state: &[Array<'a>], elements: &[Array<'a>]| {
                    let later = add(&elements[0], &state[0])?;
                    Ok((vec![times(&later, &elements[1])?], vec![later]))
                };
                let inputs = [v, self.arg.clone()];
                let along = Along::axis(self.axis as isize).reverse();
                let (_, later) = try_scan(&step, &[zero(self.arg.dtype())], &inputs, along)?;
                times(&later[0], &self.earlier_products()?)
            }
        }
    }

    /// The tangent of the result.
    pub(super) fn tangent(&self, v: &Array<'a>) -> Result<Array<'a>> {
        let v = spread(v, self.arg)?;
        match self.scan {
            Scan::Sum => expr::scan(Scan::Sum, &v, self.axis, self.initial),
            Scan::Prod => {
                let step = |state: &[Array<'a>], elements: &[Array<'a>]| {
                    let [x, v, earlier] = elements else { return Ok((state.to_vec(), state.to_vec())) };
                    let next = add(&times(&state[0], x)?, &times(v, earlier)?)?;
                    Ok((vec![next.clone()], vec![next]))
                };
                let inputs = [self.arg.clone(), v, self.earlier_products()?];
                let along = Along::axis(self.axis as isize);
                let (_, tangents) = try_scan(&step, &[zero(self.arg.dtype())], &inputs, along)?;
                if self.initial {
                    let behind = (self.node.rank() - 1 - self.axis) as u8;
                    let padding = Padding { behind, start: Some(1), stop: None, step: 1 };
                    expr::pad_like(&tangents[0], self.node, padding)
                } else {
                    Ok(tangents[0].clone())
                }
            }
        }
    }

    fn flipped(&self, x: &Array<'a>) -> Result<Array<'a>> {
        x.flip(self.axis as isize - x.rank() as isize)
    }

    /// For each element, the product of the elements before it.
    fn earlier_products(&self) -> Result<Array<'a>> {
        between(&expr::scan(Scan::Prod, self.arg, self.axis, true)?, self.axis, None, Some(-1))
    }
}
