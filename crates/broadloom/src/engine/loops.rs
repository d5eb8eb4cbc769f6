//! How the elements of a stage, or of its part in a block of rows, are walked: stored, reduced or scanned.

use broadloom_core::Layout;
use broadloom_core::fuse::Stage;
use broadloom_ir::loop_plan::{LoopPlan, LoopPlanError};

use crate::engine::scanned::Scanned;
use crate::engine::space::Space;
use crate::engine::stored::stored;

/// How the elements of a stage, or of its part in a block of rows, are walked.
pub enum Loops {
    /// All of them are stored.
    Store(LoopPlan),
    /// They are reduced.
    Reduce(Space),
    /// They are stored, and then scanned where they are.
    Scan(Scanned),
}

impl Loops {
    /// The loops of a stage, whose stored outputs are laid out so.
    pub fn new(stage: &Stage, outputs: &[Layout]) -> std::result::Result<Loops, LoopPlanError> {
        Ok(if stage.reduces() {
            Loops::Reduce(Space::new(stage))
        } else if let Some(scanned) = Scanned::of(stage) {
            Loops::Scan(scanned?)
        } else {
            Loops::Store(stored(stage, outputs)?)
        })
    }

    /// The plan of the elements that are computed.
    pub fn plan(&self) -> Option<&LoopPlan> {
        match self {
            Loops::Store(plan) => Some(plan),
            Loops::Reduce(space) => space.whole().ok(),
            Loops::Scan(scanned) => Some(&scanned.plan),
        }
    }

    /// The space of a reduction.
    pub fn space(&self) -> Option<&Space> {
        match self {
            Loops::Reduce(space) => Some(space),
            Loops::Store(_) | Loops::Scan(_) => None,
        }
    }

    /// Whether nothing is to be written.
    pub fn is_done(&self) -> bool {
        match self {
            Loops::Store(plan) => plan.elements() == 0,
            Loops::Reduce(space) => space.results == 0,
            Loops::Scan(scanned) => scanned.is_empty(),
        }
    }

    /// The nanoseconds, about, that combining elements takes in addition to computing them.
    pub fn time_to_combine(&self) -> f64 {
        match self {
            Loops::Store(_) | Loops::Reduce(_) => 0.0,
            Loops::Scan(scanned) => scanned.time(),
        }
    }
}
