//! The loops of a stage that is the step of a recurrence: it runs along an axis, and carries states from step to step.
//!
//! The index space is divided into units, which threads share. A unit has all steps at a range of indices of other axes, its
//! columns. A row of a block is one step over these columns, whose states are in a buffer that stays in cache. Machine code
//! overwrites them; the interpreter writes the next states to the row after them. An executor computes the rows of a block in order,
//! so that both run a recurrence without knowing of it. All columns are independent, so the bits depend neither on the units nor on the executor.

use std::fmt;
use std::ops::Range;

use broadloom_core::DType;
use broadloom_core::fuse::{self, Stage};
use broadloom_core::node::StepOrder;
use broadloom_ir::canonical::LANES;
use broadloom_ir::figures::counted;
use broadloom_ir::loop_plan::{Generated, LoopPlan, LoopPlanError, OperandLayout};
use broadloom_ir::tuning::recurrences::{
    COMBINED_COLUMNS, LEAST_COLUMNS, MOST_COLUMNS, OVERWRITTEN_BYTES, STATES_BYTES,
};
use broadloom_mem::{Access, AliasPolicy};
use smallvec::SmallVec;

use crate::engine::runtime::Accesses;

/// The position of an input's elements, in bytes.
struct Position {
    item: usize,
    offset: isize,
    /// The distance from one step to the next, from one column to the next, and along each outer axis.
    step: isize,
    col: isize,
    outer: SmallVec<[isize; 4]>,
    generated: Option<Generated>,
}

/// The loops of a stage that is the step of a recurrence.
pub(crate) struct Recurrence {
    /// The number of states, which are the first inputs and outputs of the kernel.
    pub states: usize,
    /// The dtype of each output of the kernel.
    pub outputs: SmallVec<[DType; 4]>,
    pub axis: usize,
    pub order: StepOrder,
    pub extents: SmallVec<[usize; 6]>,
    /// The number of steps.
    pub steps: usize,
    /// The adjacent axes whose indices are columns, and their number.
    pub across: Range<usize>,
    pub columns: usize,
    /// The extents of all other axes.
    outer: SmallVec<[usize; 4]>,
    inputs: Vec<Position>,
    /// Whether what follows from a position outside of a table may never end: a step takes elements, and has a loop without a limit. Then
    /// each call of the kernel is one step, and the last one is that which meets such a position.
    pub stops_outside: bool,
    /// Whether machine code may keep states in registers: there is a single column, and no loop or host function in a step.
    pub may_keep_states: bool,
    /// The access of each input of the kernel.
    access: Accesses,
    /// The maximum number of elements of a block.
    pause: usize,
}

/// The division among threads of a recurrence whose states go from step to step.
pub(crate) struct StepDivision {
    /// The maximum number of columns of a unit.
    pub width: usize,
    /// The number of steps of a block.
    pub rows: usize,
}

/// The division among threads of a recurrence in the canonical order.
pub(crate) struct PairDivision {
    /// The maximum number of columns of a unit.
    pub width: usize,
    /// The number of rows of 16 elements in a tile, a power of two.
    pub rows: usize,
    /// The number of elements along the axis that a thread combines: a whole number of tiles, and a power of two unless it is that
    /// of all elements.
    pub part: usize,
}

/// A unit: an index of the outer axes, and a range of columns.
pub(crate) struct Unit {
    number: usize,
    pub columns: Range<usize>,
}

impl Recurrence {
    /// The loops of a stage; `None` if it is not the step of a recurrence.
    pub(crate) fn of(stage: &Stage, pause: usize) -> Option<Result<Recurrence, LoopPlanError>> {
        stage.recurrence.map(|of| Recurrence::new(stage, of, pause))
    }

    fn new(stage: &Stage, of: fuse::Recurrence, pause: usize) -> Result<Recurrence, LoopPlanError> {
        let fuse::Recurrence { states, axis, order } = of;
        let extents: SmallVec<[usize; 6]> = stage.shape.iter().copied().collect();
        let (across, columns) = columns(stage, axis);
        let outer: SmallVec<[usize; 4]> =
            (0..extents.len()).filter(|i| *i != axis && !across.contains(i)).collect();
        let mut inputs = Vec::with_capacity(stage.inputs.len());
        for (operand, (input, dtype)) in stage.inputs.iter().zip(&stage.kernel.inputs).enumerate() {
            let item = dtype.size();
            let bytes = |n: isize| n.checked_mul(item as isize).ok_or(LoopPlanError::OutOfReach { operand });
            let strides = &input.layout.strides;
            let of_columns = across.clone().rev().find(|&i| extents[i] > 1).map_or(0, |i| strides[i]);
            inputs.push(Position {
                item,
                offset: bytes(input.layout.offset)?,
                step: bytes(strides[axis])?,
                col: bytes(of_columns)?,
                outer: outer.iter().map(|&i| bytes(strides[i])).collect::<Result<_, _>>()?,
                generated: input.source.generated(),
            });
        }
        let mut recurrence = Recurrence {
            states,
            outputs: stage.kernel.output_dtypes().collect(),
            axis,
            order,
            steps: extents[axis],
            outer: outer.iter().map(|&i| extents[i]).collect(),
            extents,
            across,
            columns,
            inputs,
            stops_outside: !stage.kernel.tables.is_empty()
                && stage.kernel.loops.iter().any(|of| of.is_numbered),
            may_keep_states: columns == 1
                && order != StepOrder::Canonical
                && stage.kernel.functions.is_empty()
                && stage.kernel.loops.is_empty(),
            access: Accesses::new(),
            pause,
        };
        if order == StepOrder::Canonical {
            // Elements and results of steps are in tiles, as are captured values, unless one is the same in all columns.
            let captured = recurrence.captured().map(|input| recurrence.captured_access(input));
            let access = std::iter::repeat_n(Access::Contiguous, 2 * states).chain(captured).collect();
            recurrence.access = access;
            return Ok(recurrence);
        }
        // The access of an input does not depend on the numbers of rows and columns.
        let (rows, wide) = (recurrence.steps.min(2), columns.min(MOST_COLUMNS));
        recurrence.access = std::iter::repeat_n(Access::Contiguous, states)
            .chain(recurrence.plan(states..recurrence.inputs.len(), rows, wide)?.accesses())
            .collect();
        Ok(recurrence)
    }

    /// The access of each input of the kernel.
    pub(crate) fn access(&self) -> Accesses {
        self.access.clone()
    }

    /// Whether there are no results.
    pub(crate) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The number of columns of all units together.
    fn count(&self) -> usize {
        self.columns * self.outer.iter().product::<usize>()
    }

    /// The captured values, by the number of the input, if steps are in the canonical order.
    pub(crate) fn captured(&self) -> Range<usize> {
        2 * self.states..self.inputs.len()
    }

    /// The access of a captured value in the canonical order.
    pub(crate) fn captured_access(&self, input: usize) -> Access {
        let is_uniform = self.columns == 1 || self.inputs[input].col == 0;
        if is_uniform { Access::Splat } else { Access::Contiguous }
    }

    /// The size of an input's elements in bytes.
    pub(crate) fn item(&self, input: usize) -> usize {
        self.inputs[input].item
    }

    /// The number of rows that the kernel computes, each by itself.
    pub(crate) fn rows(&self) -> usize {
        if self.order == StepOrder::Canonical {
            return 0;
        }
        self.steps * self.count().div_ceil(self.columns.clamp(1, MOST_COLUMNS))
    }

    /// Divides a recurrence in the canonical order among this many threads.
    pub(crate) fn divide_pairs(&self, threads: usize) -> PairDivision {
        let elements = &self.inputs[self.states..2 * self.states];
        // Elements that are contiguous along the axis are read in that order.
        let is_along = elements.iter().any(|x| x.step.unsigned_abs() < x.col.unsigned_abs());
        let most = if is_along { COMBINED_COLUMNS * LANES / self.steps.max(1) } else { COMBINED_COLUMNS };
        let width = self.columns.min(most).max(1);
        let row = LANES * width;
        // Each array has two tiles.
        let rows = (2 * STATES_BYTES / (row * self.widest())).min(self.pause / row).max(1);
        let rows = 1 << rows.ilog2();
        let units = self.count_units(width).max(1);
        let share = self.steps.div_ceil((4 * threads).div_ceil(units)).max(1);
        let is_shared = threads > 1 && units < 2 * threads && share >= rows * LANES;
        let part = if is_shared { 1 << share.ilog2() } else { self.steps.max(1) };
        PairDivision { width, rows, part }
    }

    /// The size in bytes of the widest elements of an output.
    fn widest(&self) -> usize {
        self.outputs.iter().map(|dtype| dtype.size()).max().unwrap_or(1)
    }

    /// Divides the recurrence among this many threads, for an executor of this policy.
    pub(crate) fn divide(&self, threads: usize, policy: AliasPolicy) -> StepDivision {
        let outer = self.outer.iter().product::<usize>().max(1);
        let mut width = self.columns.min(MOST_COLUMNS).min(self.pause);
        if threads > 1 && outer < 2 * threads {
            let parts = (2 * threads).div_ceil(outer);
            width = width.min(self.columns.div_ceil(parts).next_multiple_of(LEAST_COLUMNS));
        }
        // Each step of several columns is a row. In a unit of one column, the steps would be collapsed into one row.
        while self.columns > 1 && self.columns % width == 1 {
            width += 1;
        }
        let bytes = if policy == AliasPolicy::Copy { STATES_BYTES } else { OVERWRITTEN_BYTES };
        let most = if self.stops_outside { 1 } else { self.steps.max(1) };
        let rows = (bytes / (width * self.widest())).min(self.pause / width).clamp(1, most);
        StepDivision { width, rows }
    }

    /// The number of units of at most `width` columns.
    pub(crate) fn count_units(&self, width: usize) -> usize {
        self.outer.iter().product::<usize>() * self.columns.div_ceil(width)
    }

    /// The units of at most `width` columns, in the order of the slabs of the outputs.
    pub(crate) fn units(&self, width: usize) -> impl Iterator<Item = Unit> {
        let columns = self.columns;
        (0..self.outer.iter().product::<usize>()).flat_map(move |number| {
            let of = move |from: usize| Unit { number, columns: from..columns.min(from + width) };
            (0..columns).step_by(width).map(of)
        })
    }

    /// The plan of the loops over some rows and columns of some inputs.
    pub(crate) fn plan(
        &self,
        inputs: Range<usize>,
        rows: usize,
        cols: usize,
    ) -> Result<LoopPlan, LoopPlanError> {
        let inputs = &self.inputs[inputs];
        let strides: SmallVec<[[isize; 2]; 6]> = inputs.iter().map(|input| [input.step, input.col]).collect();
        let layouts = inputs.iter().zip(&strides);
        let layouts = layouts.map(|(input, strides)| input.layout(strides));
        LoopPlan::in_rows(&[rows, cols], layouts, 1)
    }

    /// The plan of the loop over some columns of inputs that lack the axis.
    pub(crate) fn plan_across(&self, inputs: Range<usize>, cols: usize) -> Result<LoopPlan, LoopPlanError> {
        let inputs = &self.inputs[inputs];
        let strides: SmallVec<[[isize; 1]; 6]> = inputs.iter().map(|input| [input.col]).collect();
        let layouts = inputs.iter().zip(&strides);
        LoopPlan::in_order(&[cols], layouts.map(|(input, strides)| input.layout(strides)), 1)
    }

    /// The distance in bytes from the first element of an input to the first element of a unit at a step.
    pub(crate) fn start(&self, input: usize, unit: &Unit, step: usize) -> isize {
        let position = &self.inputs[input];
        let (mut rest, mut start) = (unit.number, step as isize * position.step);
        for (extent, stride) in self.outer.iter().zip(&position.outer).rev() {
            start += (rest % extent) as isize * stride;
            rest /= extent;
        }
        start + unit.columns.start as isize * position.col
    }
}

impl fmt::Display for Recurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.count();
        match self.order {
            StepOrder::Canonical => {
                let elements = counted(self.steps as u64, "element");
                write!(f, "{elements} in rows of 16, combined pair by pair as a binary tree")?;
            }
            StepOrder::Forward | StepOrder::Backward => {
                let steps = counted(self.steps as u64, "step");
                write!(
                    f,
                    "{steps}, one after another, each from the states that the step before it has left"
                )?;
            }
        }
        match columns {
            1 => Ok(()),
            _ => write!(f, "; {} are independent", counted(columns as u64, "column")),
        }
    }
}

impl Position {
    fn layout<'l>(&self, strides: &'l [isize]) -> OperandLayout<'l> {
        OperandLayout { item: self.item, offset: self.offset, strides, generated: self.generated }
    }
}

/// The axes whose indices are the columns of a stage, and the number of columns. These are adjacent axes, all of them before
/// the axis of the recurrence or all of them after it, that are one axis in the memory of each input. The last such axes
/// are chosen if they have enough elements, since those of the outputs are contiguous; otherwise those with the most elements.
fn columns(stage: &Stage, axis: usize) -> (Range<usize>, usize) {
    let extents = &stage.shape;
    let mut groups: Vec<(Range<usize>, usize)> = vec![(axis + 1..axis + 1, 1)];
    // The stride of each input along the columns of the last group.
    let mut strides: Vec<isize> = Vec::new();
    for i in (0..extents.len()).rev() {
        if i == axis {
            groups.push((i..i, 1));
            continue;
        }
        let along = || stage.inputs.iter().map(|input| input.layout.strides[i]);
        if i + 1 == extents.len() {
            groups.push((i + 1..i + 1, 1));
        }
        let Some((range, count)) = groups.last_mut() else { break };
        let joins = || along().zip(&strides).all(|(outer, inner)| outer == inner * *count as isize);
        if extents[i] == 1 || *count == 1 || joins() {
            if extents[i] > 1 && *count == 1 {
                strides = along().collect();
            }
            *range = i..range.end;
            *count *= extents[i];
        } else {
            strides = along().collect();
            groups.push((i..i + 1, extents[i]));
        }
    }
    let enough = groups.iter().find(|(_, count)| *count >= LEAST_COLUMNS);
    let best = enough.or_else(|| groups.iter().max_by_key(|(_, count)| *count));
    best.cloned().unwrap_or((axis + 1..axis + 1, 1))
}
