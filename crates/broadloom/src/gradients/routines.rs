//! Derivatives of routines: reductions by label, sorts, the first elements in order, and elements that are set at positions.

use broadloom_core::routine::{Routine, RoutineNode, SegmentFunction};
use broadloom_core::{DType, Error, ErrorKind, Kind, Op, Result, Scalar, Shape, View};

use super::linear::{
    apply, is_extreme, mean, number, refused, select, spread, times, widened, zero, zeros_like,
};
use crate::array::Array;
use crate::expr;
use crate::sorts::first_of;

/// A node that is a result of a routine.
pub(super) struct Called<'n, 'a> {
    /// The node.
    pub node: &'n Array<'a>,
    pub of: &'n RoutineNode<Array<'a>>,
}

impl<'a> Called<'_, 'a> {
    /// The adjoint of each operand, from that of the result; `None` for an operand that does not vary.
    pub(super) fn adjoints(&self, v: &Array<'a>) -> Result<Vec<Option<Array<'a>>>> {
        let v = spread(v, self.node)?;
        match (self.of.routine, &self.of.args[..]) {
            (Routine::Segments { function, .. }, [rows, labels]) => {
                Ok(vec![Some(self.labelled(rows, labels).adjoint(function, self.node, &v)?), None])
            }
            (Routine::Sort { descending }, [x]) => {
                let places = x.argsort(-1, descending)?.argsort(-1, false)?;
                Ok(vec![Some(v.take_along_axis(&places, -1)?)])
            }
            (Routine::TopK { .. }, [x]) => {
                let positions = apply(Op::Add, &[&self.first_indices()?, &begins_of_rows(x)?])?;
                Ok(vec![Some(set(&zeros_like(x)?, &positions, &v)?)])
            }
            (Routine::Scatter, [_, positions, values]) => {
                let of_array = set(&v, positions, &zeros_like(values)?)?;
                let taken = expr::gather(&v, positions)?;
                let of_values = select(&self.counts(positions)?, &taken, &zero(v.dtype()))?;
                Ok(vec![Some(of_array), None, Some(of_values)])
            }
            _ => Err(self.refused()),
        }
    }

    /// The tangent of the result, from those of the operands.
    pub(super) fn tangent(&self, tangents: &[Option<Array<'a>>]) -> Result<Array<'a>> {
        let of = |i: usize| {
            let v = tangents.get(i).cloned().flatten();
            v.map_or_else(|| zeros_like(&self.of.args[i]), |v| spread(&v, &self.of.args[i]))
        };
        Ok(match (self.of.routine, &self.of.args[..]) {
            (Routine::Segments { function, .. }, [rows, labels]) => {
                self.labelled(rows, labels).tangent(function, self.node, &of(0)?)?
            }
            (Routine::Sort { descending }, [x]) => of(0)?.take_along_axis(&x.argsort(-1, descending)?, -1)?,
            (Routine::TopK { .. }, [_]) => of(0)?.take_along_axis(&self.first_indices()?, -1)?,
            (Routine::Scatter, [_, positions, _]) => set(&of(0)?, positions, &of(2)?)?,
            _ => return Err(self.refused()),
        })
    }

    fn refused(&self) -> Error {
        refused(self.of.routine.name(), "there is no derivative, since the result has no floats")
    }

    fn labelled<'n>(&'n self, rows: &'n Array<'a>, labels: &'n Array<'a>) -> Labelled<'n, 'a> {
        Labelled { rows, labels, routine: self.of.routine }
    }

    /// The indices of the first elements along the last axis.
    fn first_indices(&self) -> Result<Array<'a>> {
        let internal = || Error::new(ErrorKind::Internal, "a routine without indices");
        expr::routine(self.of.routine, &self.of.args)?.into_iter().nth(1).ok_or_else(internal)
    }

    /// For each value that is set at a position, whether it is the last one there.
    fn counts(&self, positions: &Array<'a>) -> Result<Array<'a>> {
        let array = &self.of.args[0];
        positions.has_known_extents("scatter").and_then(|()| array.has_known_extents("scatter"))?;
        let shape = |of: &Array<'a>| View::Reshape(of.0.shape.clone());
        let numbers = expr::view(&expr::numbers(positions.len())?, shape(positions))?;
        let nowhere = expr::constant(Scalar::of(-1_i64));
        let nowhere = expr::view(&nowhere, View::BroadcastTo(array.0.shape.clone()))?;
        let last = expr::gather(&set(&nowhere, positions, &numbers)?, positions)?;
        apply(Op::Equal, &[&last, &numbers])
    }
}

/// Rows that are reduced by label.
struct Labelled<'n, 'a> {
    rows: &'n Array<'a>,
    labels: &'n Array<'a>,
    routine: Routine,
}

impl<'a> Labelled<'_, 'a> {
    /// The adjoint of the rows, from that of the result. A mean is made of a sum and a count, and so are its derivatives.
    fn adjoint(&self, function: SegmentFunction, result: &Array<'a>, v: &Array<'a>) -> Result<Array<'a>> {
        match function {
            SegmentFunction::Sum | SegmentFunction::Mean | SegmentFunction::Count => self.of_rows(v),
            SegmentFunction::Prod => times(&self.of_rows(v)?, &self.others()?),
            SegmentFunction::Max | SegmentFunction::Min => {
                let (selected, count) = self.selected(result)?;
                select(&selected, &self.of_rows(&mean(v, &count, v)?)?, &zero(v.dtype()))
            }
        }
    }

    /// The tangent of the result, from that of the rows.
    fn tangent(&self, function: SegmentFunction, result: &Array<'a>, v: &Array<'a>) -> Result<Array<'a>> {
        match function {
            SegmentFunction::Sum | SegmentFunction::Mean | SegmentFunction::Count => self.sum(v),
            SegmentFunction::Prod => self.sum(&times(v, &self.others()?)?),
            SegmentFunction::Max | SegmentFunction::Min => {
                let (selected, count) = self.selected(result)?;
                // A segment without rows is constant.
                mean(&self.sum(&widened(&select(&selected, v, &zero(v.dtype()))?))?, &count, v)
            }
        }
    }

    /// Reduces other rows by the labels.
    fn reduced(&self, by: SegmentFunction, rows: &Array<'a>) -> Result<Array<'a>> {
        let routine = match self.routine {
            Routine::Segments { segments, at_positions, .. } => {
                Routine::Segments { function: by, segments, at_positions }
            }
            other => other,
        };
        expr::routine(routine, &[rows.clone(), self.labels.clone()]).and_then(first_of)
    }

    /// The sums of other rows, in their dtype.
    fn sum(&self, rows: &Array<'a>) -> Result<Array<'a>> {
        Ok(expr::cast(self.reduced(SegmentFunction::Sum, &widened(rows))?, rows.dtype()))
    }

    /// For each row, the row of its segment in such rows, and 0 for a row that belongs to none.
    fn of_rows(&self, of_segments: &Array<'a>) -> Result<Array<'a>> {
        let Routine::Segments { segments, at_positions, .. } = self.routine else {
            return Err(Error::new(ErrorKind::Internal, "rows without labels"));
        };
        if segments == 0 {
            return expr::view(&zero(of_segments.dtype()), View::BroadcastTo(self.rows.0.shape.clone()));
        }
        let integer = |x: i64| expr::constant(Scalar::of(x));
        let labels = expr::cast(self.labels.clone(), DType::Int64);
        let belongs = apply(Op::GreaterEqual, &[&labels, &integer(0)])?;
        // A label of -1 stands for no segment. Another one that is not a segment must not count from the last.
        let is_left_out = match at_positions || self.labels.dtype().kind() != Kind::Signed {
            true => expr::constant(Scalar::of(false)),
            false => apply(Op::Equal, &[&labels, &integer(-1)])?,
        };
        let invalid = select(&is_left_out, &integer(0), &integer(segments as i64))?;
        let taken = of_segments.take(&select(&belongs, &labels, &invalid)?, 0)?;
        let belongs = (1..taken.rank()).try_fold(belongs, |x, axis| x.expand_dims(axis as isize))?;
        select(&belongs, &taken, &zero(taken.dtype()))
    }

    /// Which elements are the maximum or minimum of their segment, or a NaN if that is one, and their number in each segment.
    fn selected(&self, result: &Array<'a>) -> Result<(Array<'a>, Array<'a>)> {
        let selected = is_extreme(self.rows, &self.of_rows(result)?)?;
        let count = self.sum(&expr::cast(selected.clone(), DType::Int64))?;
        Ok((selected, count))
    }

    /// For each element, the product of the others of its segment. It is exactly 0 if two elements are.
    fn others(&self) -> Result<Array<'a>> {
        let (x, dtype) = (self.rows, self.rows.dtype());
        let (zero, one) = (zero(dtype), number(1.0, dtype));
        let is_zero = apply(Op::Equal, &[x, &zero])?;
        let zeros = self.sum(&expr::cast(is_zero.clone(), DType::Int64))?;
        let zeros = self.of_rows(&zeros)?;
        let product = self.of_rows(&self.reduced(SegmentFunction::Prod, &select(&is_zero, &one, x)?)?)?;
        let has = |count: i64| apply(Op::Equal, &[&zeros, &expr::constant(Scalar::of(count))]);
        let of_zero = select(&has(1)?, &product, &zero)?;
        let of_others = select(&has(0)?, &apply(Op::Divide, &[&product, x])?, &zero)?;
        select(&is_zero, &of_zero, &of_others)
    }
}

/// The array with other elements at positions.
fn set<'a>(x: &Array<'a>, positions: &Array<'a>, values: &Array<'a>) -> Result<Array<'a>> {
    expr::routine(Routine::Scatter, &[x.clone(), positions.clone(), values.clone()]).and_then(first_of)
}

/// For each row along the last axis, the position of its first element, with a last axis of extent 1.
fn begins_of_rows<'a>(x: &Array<'a>) -> Result<Array<'a>> {
    x.has_known_extents("topk")?;
    let (shape, mut extents) = (x.shape(), x.shape().to_vec());
    let row = shape.last().copied().unwrap_or(1);
    if let Some(last) = extents.last_mut() {
        *last = 1;
    }
    let rows = expr::numbers(extents.iter().product())?;
    let begins = apply(Op::Multiply, &[&rows, &expr::constant(Scalar::of(row as i64))])?;
    expr::view(&begins, View::Reshape(Shape::new(&extents)?))
}
