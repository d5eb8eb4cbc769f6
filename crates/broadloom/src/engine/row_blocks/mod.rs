//! Stages that run block by block of their rows.
//!
//! A softmax is a maximum, exponentials, a sum and a quotient of each row. The stages of such an expression share their
//! outer axes, and a row of one depends on no other row: so all of them run for some rows before the next rows are
//! looked at, while operands and temporaries are in cache, and memory is read and written once. Each stage is the one
//! that would run alone, over fewer rows; an element is computed from the same elements in the same order.

mod cut;
mod group;
mod run;

use std::fmt;
use std::sync::Arc;

use broadloom_core::fuse::{Plan, Source, Stage, Target};
use broadloom_core::{Result, Shape};
use smallvec::SmallVec;

use crate::engine::prepared::access_of;
use crate::engine::space::Space;

pub use cut::{Block, Cut};
pub use group::Apart;
use group::Group;

/// Accesses of a stage's inputs.
type Accesses = SmallVec<[broadloom_mem::Access; 8]>;

/// What a plan runs in turn.
pub enum Step {
    /// All of a stage.
    Stage(usize),
    /// Stages, block by block.
    Blocks(Box<RowBlocks>),
}

impl Step {
    /// Its stages, in run order.
    pub fn stages(&self) -> impl Iterator<Item = usize> {
        let (stage, members) = match self {
            Step::Stage(stage) => (Some(*stage), &[][..]),
            Step::Blocks(blocks) => (None, &blocks.members[..]),
        };
        stage.into_iter().chain(members.iter().map(|member| member.stage))
    }

    /// The stages that run block by block.
    pub fn blocks(&self) -> Option<&RowBlocks> {
        match self {
            Step::Stage(_) => None,
            Step::Blocks(blocks) => Some(blocks),
        }
    }
}

/// Stages that run block by block, and how they are cut.
pub struct RowBlocks {
    /// In run order.
    pub members: Vec<Member>,
    pub cut: Cut,
    /// What members write: for each its bytes in a row, an index of the shared axes.
    places: Vec<(Place, usize)>,
}

impl fmt::Display for RowBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages: Vec<String> = self.members.iter().map(|member| member.stage.to_string()).collect();
        let temporaries = self.places.iter().filter(|(place, _)| *place == Place::Block).count();
        let (rows, count) = (self.cut.rows, self.cut.count());
        write!(
            f,
            "stages {} run row block by row block, {rows} of {count} {} at a time: {temporaries} {} in cache",
            stages.join(", "),
            if count == 1 { "row" } else { "rows" },
            if temporaries == 1 { "temporary stays" } else { "temporaries stay" },
        )
    }
}

/// Whose memory a member writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A temporary that members alone read: there is one for a block.
    Block,
    /// The rows of a root, or of a temporary that is read later.
    Whole(Target),
}

/// A stage of [`RowBlocks`].
pub struct Member {
    /// Its number in the plan.
    pub stage: usize,
    /// Over the rows of a block, and over the rows that are left in the last.
    parts: [Part; 2],
    inputs: SmallVec<[Origin; 4]>,
    /// For each output, the number of its place.
    outputs: SmallVec<[usize; 2]>,
}

/// Where a member's input comes from.
#[derive(Clone, Copy)]
enum Origin {
    /// Memory of all rows, or no memory.
    Rows(Source),
    /// What another member wrote of the block.
    Place(usize),
}

/// A stage over some rows. The layouts begin with the first row.
struct Part {
    stage: Stage,
    space: Option<Space>,
    /// How its inputs are accessed, where it does not reduce.
    access: Accesses,
}

impl RowBlocks {
    /// The steps of a plan; and why stages that combine elements, and those that read what they write, run one after the
    /// other, if they do.
    pub fn steps(plan: &Plan, can_fail: impl Fn(&Stage) -> bool) -> Result<(Vec<Step>, Option<Apart>)> {
        let mut left: Vec<usize> = (0..plan.stages.len()).collect();
        let mut steps = Vec::with_capacity(left.len());
        let mut apart = None;
        loop {
            match group::find(plan, &left, &can_fail) {
                Ok(group) => {
                    steps.extend(group.before.iter().copied().map(Step::Stage));
                    steps.push(Step::Blocks(Box::new(RowBlocks::of(plan, &group)?)));
                    left = group.after;
                }
                Err(why) => {
                    apart = apart.or(why);
                    steps.extend(left.into_iter().map(Step::Stage));
                    return Ok((steps, apart));
                }
            }
        }
    }

    fn of(plan: &Plan, group: &Group) -> Result<RowBlocks> {
        let rows = group.cut.count();
        let mut places: Vec<(Place, usize)> = Vec::new();
        let mut place_of = std::collections::HashMap::new();
        let mut members = Vec::with_capacity(group.members.len());
        for &number in &group.members {
            let stage = &plan.stages[number];
            let origin = |source: Source| match source {
                Source::Temp(t) => {
                    place_of.get(&Target::Temp(t)).copied().map_or(Origin::Rows(source), Origin::Place)
                }
                Source::Slot(_) | Source::Index => Origin::Rows(source),
            };
            let inputs = stage.inputs.iter().map(|input| origin(input.source)).collect();
            let row = stage.output_shape().elements() / rows;
            let mut outputs = SmallVec::new();
            for (&target, dtype) in stage.outputs.iter().zip(stage.kernel.result_dtypes()) {
                let place = match group.blocks.contains(&target) {
                    true => Place::Block,
                    false => Place::Whole(target),
                };
                outputs.push(places.len());
                place_of.insert(target, places.len());
                places.push((place, row * dtype.size()));
            }
            let part = |rows: usize| Part::of(stage, &group.cut, rows);
            let parts = [part(group.cut.rows)?, part(group.cut.rows_of_last())?];
            members.push(Member { stage: number, parts, inputs, outputs });
        }
        Ok(RowBlocks { members, cut: group.cut.clone(), places })
    }

    /// Whether a temporary that the stage writes stays within a block.
    pub fn stays(&self, member: &Member) -> bool {
        member.outputs.iter().any(|&place| self.places[place].0 == Place::Block)
    }
}

impl Part {
    /// The stage over one index of all shared axes but the last, and so many of that.
    fn of(stage: &Stage, cut: &Cut, rows: usize) -> Result<Part> {
        let extents: SmallVec<[usize; 6]> =
            cut.extents_of(rows).chain(stage.shape[cut.extents.len()..].iter().copied()).collect();
        let mut part = Stage { shape: Shape::new(&extents)?, ..stage.clone() };
        for input in &mut part.inputs {
            Arc::make_mut(&mut input.layout).shape = part.shape.clone();
        }
        Ok(Part { space: Space::of(&part), access: access_of(&part), stage: part })
    }
}
