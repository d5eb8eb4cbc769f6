//! Chooses the stages that run block by block.
//!
//! These stages, the members of a group, share leading axes along which nothing is reduced. From the results of other members,
//! each member reads only elements of the same row. A stage that reduces all of these axes, a *total*, takes part if it reads rows
//! of members: it appends the elements of each block to a partial result. Any other stage runs before the group if it reads no
//! results of the group, and otherwise after it.

use broadloom_ir::canonical::LANES;
use broadloom_ir::figures;
use broadloom_ir::tuning::blocks::{BLOCK_BYTES, LEAST_OF_TOTAL, LONGEST, MOST, RUN};
use std::fmt;

use broadloom_core::fuse::{Beginning, Plan, Source, Stage, Target};
use broadloom_core::{DType, Layout, Shape};
use smallvec::SmallVec;

use crate::engine::blocks::Cut;

/// The maximum number of stages among which a group is searched, since the search takes quadratic time. Longer plans run one
/// stage after another.
const MOST_STAGES: usize = 64;

/// The reason why stages run one after another although one stage reads a result that another one has reduced. Later variants are
/// more specific.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Apart {
    /// The stages have no outer axes in common, or read rows other than their own.
    Axes,
    /// A stage calls a host function that may fail.
    CanFail,
    /// A block contains too few contiguous elements of an operand.
    Across,
    /// A row has too many bytes.
    Long { bytes: usize },
    /// All rows together have too few bytes.
    Short { bytes: usize },
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("kernels run one after the other, not row block by row block: ")?;
        match self {
            Apart::Axes => f.write_str("they share no outer axes along which nothing is combined"),
            Apart::CanFail => f.write_str("one of them calls a host function that may fail"),
            Apart::Across => f.write_str("the rows of an operand lie across its memory"),
            Apart::Long { bytes } => {
                write!(f, "a row takes {}, too much to stay in cache", figures::bytes(*bytes as u64))
            }
            Apart::Short { bytes } => {
                write!(f, "all of their operands take {}, which stay in cache", figures::bytes(*bytes as u64))
            }
        }
    }
}

/// Stages that run block by block, with the stages that run before and after them, and the division of the rows into blocks.
pub(crate) struct Group {
    pub before: Vec<usize>,
    pub members: Vec<usize>,
    /// The members that are totals.
    pub totals: Vec<usize>,
    pub after: Vec<usize>,
    pub cut: Cut,
    /// The temporaries that only the group's stages write and read.
    pub blocks: Vec<Target>,
}

/// Finds the first group among these stages of a plan. If there is no group although a stage reads a result that another one has
/// reduced, returns the reason.
pub(crate) fn find(
    plan: &Plan,
    among: &[usize],
    can_fail: &impl Fn(&Stage) -> bool,
) -> Result<Group, Option<Apart>> {
    if among.len() < 2 || among.len() > MOST_STAGES {
        return Err(None);
    }
    let mut apart = reads_combined(plan, among).then_some(Apart::Axes);
    let mut tried: Vec<&[usize]> = Vec::new();
    for &seed in among {
        let shape = &plan.stages[seed].shape;
        let outer = outer_axes(&plan.stages[seed]);
        for shared in 1..=outer {
            let extents = &shape[..shared];
            if tried.contains(&extents) {
                continue;
            }
            tried.push(extents);
            let Some(mut draft) = Draft::of(plan, among, extents, true) else { break };
            let mut cut = draft.cut(shared == outer, can_fail);
            if !cut.as_ref().is_ok_and(|cut| draft.totals_pay(cut)) {
                let Some(without) = Draft::of(plan, among, extents, false) else { continue };
                draft = without;
                cut = draft.cut(shared == outer, can_fail);
            }
            match cut {
                Ok(cut) => return Ok(draft.finish(cut)),
                Err(why) => apart = apart.max(Some(why)),
            }
        }
    }
    Err(apart)
}

/// Whether a stage reads a result that another one has reduced.
fn reads_combined(plan: &Plan, among: &[usize]) -> bool {
    let stages = || among.iter().map(|&number| &plan.stages[number]);
    let combined = |temp: u32| {
        stages().any(|s| !s.stores() && s.routine.is_none() && s.outputs.contains(&Target::Temp(temp)))
    };
    stages().flat_map(|stage| &stage.inputs).any(|input| input.source.temp().is_some_and(combined))
}

/// The number of leading axes of a stage before the first one that it reduces; 0 if it reduces nothing.
fn outer_axes(stage: &Stage) -> usize {
    stage.axes.iter().next().unwrap_or(0)
}

/// Whether the stage has these leading axes and reduces none of them.
fn runs_along(stage: &Stage, extents: &[usize]) -> bool {
    let free = stage.stores() || outer_axes(stage) >= extents.len();
    // A scan that begins with totals has the totals of all rows in one input, so it does not run block by block.
    let begins = !matches!(stage.beginning, Beginning::After { .. });
    let is_step = stage.recurrence.is_some() || stage.routine.is_some();
    // Parts of one array would be written in different groups.
    let is_whole = stage.part_at.is_none();
    free && begins && !is_step && is_whole && stage.shape.starts_with(extents) && stage.shape.elements() > 0
}

/// Whether the stage can be a total: it has these leading axes, reduces all of them, and stores no elements.
fn is_total(stage: &Stage, extents: &[usize]) -> bool {
    stage.reduces()
        && stage.reductions().all(|reduction| reduction.is_some())
        && (0..extents.len()).all(|axis| stage.axes.contains(axis))
        && stage.shape.starts_with(extents)
        && stage.shape.elements() > 0
        && stage.part_at.is_none()
}

/// Whether a stage that reads a temporary with this layout reads, for each row, only elements of the same row.
fn stays_in_row(layout: &Layout, temp: &Shape, extents: &[usize]) -> bool {
    let (shared, count) = (extents.len(), extents.iter().product::<usize>());
    let row = temp.elements() / count;
    let mut step = row as isize;
    for (&extent, &stride) in extents.iter().zip(&layout.strides).rev() {
        if extent != 1 && stride != step {
            return false;
        }
        step *= extent as isize;
    }
    let mut rest = Layout { offset: layout.offset, ..Layout::contiguous(Shape::scalar()) };
    rest.strides = layout.strides[shared..].into();
    match Shape::new(&layout.shape[shared..]) {
        Ok(shape) => rest.shape = shape,
        Err(_) => return false,
    }
    rest.reach().is_some_and(|(low, high)| low >= 0 && (high as usize) < row)
}

/// Whether a stage is a member of the group, or runs before or after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Before,
    Member,
    /// As a member that is a total, whose results exist after the group.
    Total,
    After,
}

/// A candidate for a group: stages that share axes, before their rows are divided into blocks.
struct Draft<'p> {
    plan: &'p Plan,
    extents: &'p [usize],
    /// The index of each stage, and when the stage runs.
    stages: Vec<(usize, When)>,
    /// When each temporary is written; `None` if no stage so far writes it.
    written: Vec<Option<When>>,
}

/// The bytes of a block's operands: the bytes for each row, and the bytes that do not depend on the number of rows.
#[derive(Clone, Copy, Default)]
struct Bytes {
    row: usize,
    any: usize,
}

impl<'p> Draft<'p> {
    /// Finds the stages that can be members of a group with these leading axes, with or without totals. `None` unless a member that is
    /// no total reduces elements, and a member reads a result of another one.
    fn of(plan: &'p Plan, among: &[usize], extents: &'p [usize], totals: bool) -> Option<Draft<'p>> {
        let mut draft = Draft { plan, extents, stages: Vec::new(), written: vec![None; plan.temps.len()] };
        let (mut combines, mut linked) = (false, false);
        for &number in among {
            let stage = &plan.stages[number];
            let mut when = if runs_along(stage, extents) { When::Member } else { When::Before };
            let mut reads = false;
            for input in &stage.inputs {
                let Some(temp) = input.source.temp() else { continue };
                match draft.written[temp as usize] {
                    Some(When::After | When::Total) => when = When::After,
                    Some(When::Member) => {
                        reads = true;
                        // A key is read as a whole.
                        let is_row = input.source == Source::Temp(temp);
                        let stays =
                            || is_row && stays_in_row(&input.layout, &plan.temps[temp as usize].1, extents);
                        when = match when {
                            When::Before if totals && is_total(stage, extents) && stays() => When::Total,
                            When::Member | When::Total if stays() => when,
                            _ => When::After,
                        };
                    }
                    Some(When::Before) | None => {}
                }
            }
            for table in &stage.tables {
                // Elements of all rows are read of a table.
                let Source::Temp(temp) = table.source else { continue };
                if matches!(draft.written[temp as usize], Some(When::Member | When::Total | When::After)) {
                    when = When::After;
                }
            }
            for target in &stage.outputs {
                if let Target::Temp(temp) = target {
                    let written = &mut draft.written[*temp as usize];
                    // Once all parts of it are written, it can be read.
                    *written = Some(if *written == Some(When::After) { When::After } else { when });
                }
            }
            match when {
                When::Member => (combines, linked) = (combines || !stage.stores(), linked || reads),
                When::Total => linked = true,
                When::Before | When::After => {}
            }
            draft.stages.push((number, when));
        }
        (combines && linked).then_some(draft)
    }

    fn all(&self, wanted: When) -> impl Iterator<Item = usize> {
        self.stages.iter().filter(move |(_, when)| *when == wanted).map(|(number, _)| *number)
    }

    /// The members, in run order, each with whether it is a total.
    fn numbers(&self) -> impl Iterator<Item = (usize, bool)> {
        self.stages.iter().filter_map(|&(number, when)| match when {
            When::Member => Some((number, false)),
            When::Total => Some((number, true)),
            When::Before | When::After => None,
        })
    }

    fn members(&self) -> impl Iterator<Item = &'p Stage> {
        self.numbers().map(|(number, _)| &self.plan.stages[number])
    }

    fn totals(&self) -> impl Iterator<Item = &'p Stage> {
        self.all(When::Total).map(|number| &self.plan.stages[number])
    }

    /// Whether a block has enough elements of each result of a total, of which it makes a partial result.
    fn totals_pay(&self, cut: &Cut) -> bool {
        let count = self.extents.iter().product::<usize>();
        let enough = |stage: &Stage| {
            let results = stage.results().map(|(_, shape)| shape.elements()).max().unwrap_or(1);
            stage.shape.elements() / count * cut.rows >= LEAST_OF_TOTAL * results
        };
        self.totals().all(enough)
    }

    /// The inputs of members that no member writes, each with its source, dtype and layout.
    fn operands(&self) -> impl Iterator<Item = (Source, DType, &'p Layout)> {
        let inputs = self.members().flat_map(|stage| stage.inputs.iter().zip(&stage.kernel.inputs));
        let given = |source: Source| match source {
            Source::Slot(_) => true,
            Source::Temp(temp) => self.written[temp as usize] != Some(When::Member),
            Source::Index | Source::SlotWords(_) | Source::TempWords(_) => false,
        };
        inputs
            .filter(move |(input, _)| given(input.source))
            .map(|(input, dtype)| (input.source, *dtype, &*input.layout))
    }

    fn bytes(&self) -> Bytes {
        let (shared, count) = (self.extents.len(), self.extents.iter().product::<usize>());
        let mut bytes = Bytes::default();
        let mut known: Vec<(Source, &Layout)> = Vec::new();
        for (source, dtype, layout) in self.operands() {
            if known.contains(&(source, layout)) {
                continue;
            }
            known.push((source, layout));
            let moves = |axis: usize| layout.shape[axis] > 1 && layout.strides[axis] != 0;
            let inner =
                (shared..layout.shape.rank()).filter(|&axis| moves(axis)).map(|axis| layout.shape[axis]);
            let size = inner.product::<usize>() * dtype.size();
            match (0..shared).any(moves) {
                true => bytes.row += size,
                false => bytes.any += size,
            }
        }
        for (number, is_total) in self.numbers() {
            let of = |(dtype, shape): (DType, Shape)| shape.elements() * dtype.size();
            let all = self.plan.stages[number].results().map(of).sum::<usize>();
            match is_total {
                true => bytes.any += LANES * all,
                false => bytes.row += all / count,
            }
        }
        bytes
    }

    /// Divides rows into blocks that stay in cache. `is_last` is true if no further axis can be shared, so that rows can't be
    /// made smaller.
    fn cut(&self, is_last: bool, can_fail: impl Fn(&Stage) -> bool) -> Result<Cut, Apart> {
        if self.members().any(can_fail) {
            return Err(Apart::CanFail);
        }
        let (bytes, count) = (self.bytes(), self.extents.iter().product::<usize>());
        let whole = bytes.any.saturating_add(bytes.row.saturating_mul(count));
        if whole <= BLOCK_BYTES {
            return Err(Apart::Short { bytes: whole });
        }
        let one = bytes.any + bytes.row;
        if one > if is_last { LONGEST } else { BLOCK_BYTES } {
            return Err(Apart::Long { bytes: one });
        }
        let elements = self.members().map(|stage| stage.shape.elements() / count).max().unwrap_or(1);
        let most = (BLOCK_BYTES.saturating_sub(bytes.any) / bytes.row.max(1)).min(MOST / elements.max(1));
        let mut cut = Cut::new(self.extents, most.max(1), bytes.row);
        if self.totals().next().is_some() {
            // Blocks begin at nodes of the canonical order, of which their partial results then have few.
            let node = (cut.rows.next_power_of_two() / 8).max(LANES);
            cut.rows = if cut.rows > node { cut.rows / node * node } else { cut.rows };
        }
        match self.operands().any(|(_, dtype, layout)| lies_across(layout, dtype, &cut)) {
            true => Err(Apart::Across),
            false => Ok(cut),
        }
    }

    fn finish(&self, cut: Cut) -> Group {
        let members: Vec<usize> = self.numbers().map(|(number, _)| number).collect();
        let others = || self.plan.stages.iter().enumerate().filter(|(number, _)| !members.contains(number));
        let read_later = |temp: u32| {
            let read = others().flat_map(|(_, stage)| stage.inputs.iter().chain(&stage.tables));
            { read }.any(|input| input.source.temp() == Some(temp))
        };
        let rows = self.all(When::Member).map(|number| &self.plan.stages[number]);
        let targets = rows.flat_map(|stage| stage.outputs.iter().copied());
        let blocks =
            targets.filter(|target| matches!(target, Target::Temp(temp) if !read_later(*temp))).collect();
        let (before, after) = (self.all(When::Before).collect(), self.all(When::After).collect());
        Group { before, members, totals: self.all(When::Total).collect(), after, cut, blocks }
    }
}

/// Whether adjacent elements in memory belong to different rows, while a block has so few rows that it reads only short ranges of
/// them.
fn lies_across(layout: &Layout, dtype: DType, cut: &Cut) -> bool {
    let last = cut.extents.len() - 1;
    let step = layout.strides[last].unsigned_abs();
    let steps = layout.shape.iter().zip(&layout.strides).enumerate();
    let others: SmallVec<[usize; 4]> = steps
        .filter(|(axis, (extent, stride))| *axis > last && **extent > 1 && **stride != 0)
        .map(|(_, (_, stride))| stride.unsigned_abs())
        .collect();
    let across = step != 0 && cut.extents[last] > 1 && others.iter().min().is_some_and(|least| step < *least);
    across && cut.rows * step * dtype.size() < RUN
}
