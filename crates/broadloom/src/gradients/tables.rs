//! Adjoints of tables of which elements are taken: for each element of the table, the canonical sum of those of its copies.
//!
//! The body of a loop works element by element, so that it cannot add to a table. It hands on the adjoints of the elements with their
//! positions instead; they become outputs of the steps, and are added to the table at once when all steps are done.

use broadloom_core::node::StepOrder;
use broadloom_core::routine::{Routine, SegmentFunction};
use broadloom_core::{Op, Result, Scalar, View};

use super::linear::{apply, select, spread, widened};
use crate::array::Array;
use crate::expr;
use crate::sorts::first_of;

/// Elements that are taken of a table.
#[derive(Clone)]
pub(super) struct TakenElements<'a> {
    /// The positions in the table.
    pub positions: Array<'a>,
    /// The adjoints of the elements, which broadcast to the positions.
    pub adjoints: Array<'a>,
    /// Whether the position −1 stands for no element: where a branch takes none. Otherwise it is out of range.
    pub may_be_absent: bool,
}

impl<'a> TakenElements<'a> {
    /// The positions if −1 stands for no element: one that is out of range remains so.
    pub(super) fn labels(&self) -> Result<Array<'a>> {
        if self.may_be_absent {
            return Ok(self.positions.clone());
        }
        let integer = |x: i64| expr::constant(Scalar::of(x));
        let is_negative = apply(Op::Less, &[&self.positions, &integer(0)])?;
        select(&is_negative, &integer(i64::MIN), &self.positions)
    }

    /// The position that stands for no element.
    pub(super) fn absent() -> Array<'a> {
        expr::constant(Scalar::of(-1_i64))
    }
}

/// The adjoint of a table, from those of elements that are taken of it. They are numbered list by list.
pub(super) fn of_table<'a>(table: &Array<'a>, taken: &[TakenElements<'a>]) -> Result<Array<'a>> {
    table.has_known_extents("take")?;
    let at_positions = !taken.iter().any(|elements| elements.may_be_absent);
    let (mut adjoints, mut positions) = (Vec::new(), Vec::new());
    for elements in taken {
        adjoints.push(spread(&elements.adjoints, &elements.positions)?.reshape(&[-1])?);
        let labels = if at_positions { elements.positions.clone() } else { elements.labels()? };
        positions.push(labels.reshape(&[-1])?);
    }
    let [v, positions] = [joined(&adjoints, 0)?, joined(&positions, 0)?];
    let routine = Routine::Segments { function: SegmentFunction::Sum, segments: table.len(), at_positions };
    let sums = expr::routine(routine, &[widened(&v), positions]).and_then(first_of)?;
    expr::view(&expr::cast(sums, table.dtype()), View::Reshape(table.0.shape.clone()))
}

/// The elements that all steps of a recurrence take, from those of each take, which are outputs of the steps along an axis. The
/// elements of the last step come first, those of one step in the order of the takes, and those of one take in their own order.
pub(super) fn of_steps<'a>(
    takes: &[TakenElements<'a>],
    axis: usize,
    order: StepOrder,
) -> Result<TakenElements<'a>> {
    let numbered = |x: &Array<'a>| {
        let others = (0..x.rank() as isize).filter(|&other| other != axis as isize);
        let axes: Vec<isize> = [axis as isize].into_iter().chain(others).collect();
        let steps = x.permute_dims(&axes)?;
        let steps = if order == StepOrder::Backward { steps } else { steps.flip(-(axes.len() as isize))? };
        steps.expand_dims(1)
    };
    let may_be_absent = takes.iter().any(|take| take.may_be_absent);
    let (mut adjoints, mut positions) = (Vec::new(), Vec::new());
    for take in takes {
        adjoints.push(numbered(&take.adjoints)?);
        positions.push(numbered(&if may_be_absent { take.labels()? } else { take.positions.clone() })?);
    }
    let (adjoints, positions) = (joined(&adjoints, 1)?, joined(&positions, 1)?);
    Ok(TakenElements { positions, adjoints, may_be_absent })
}

fn joined<'a>(arrays: &[Array<'a>], axis: usize) -> Result<Array<'a>> {
    match arrays {
        [array] => Ok(array.clone()),
        arrays => expr::concat("gradient", arrays, axis),
    }
}
