//! The loops over the elements of a stage, or of its part in a row block. The elements are stored, reduced, scanned,
//! or computed step by step. A stage that calls a routine has none.

use broadloom_core::Layout;
use broadloom_core::fuse::Stage;
use broadloom_ir::loop_plan::{LoopPlan, LoopPlanError};

use crate::engine::cost;
use crate::engine::recurrence::Recurrence;
use crate::engine::scanned::Scanned;
use crate::engine::space::Space;
use crate::engine::stored::stored;

/// The loops over the elements of a stage, or of its part in a row block.
pub(crate) enum Loops {
    /// All elements are stored.
    Store(LoopPlan),
    /// The elements are reduced.
    Reduce(Space),
    /// The elements are stored, and then scanned in place.
    Scan(Scanned),
    /// The elements are computed step by step along an axis.
    Steps(Box<Recurrence>),
    /// There are no loops: a routine computes the results.
    Routine,
}

impl Loops {
    /// The loops of a stage whose stored outputs have these layouts.
    pub(crate) fn new(stage: &Stage, outputs: &[Layout]) -> std::result::Result<Loops, LoopPlanError> {
        Ok(if stage.routine.is_some() {
            Loops::Routine
        } else if stage.reduces() {
            Loops::Reduce(Space::new(stage))
        } else if let Some(steps) = Recurrence::of(stage, cost::pause(&stage.kernel)) {
            Loops::Steps(Box::new(steps?))
        } else if let Some(scanned) = Scanned::of(stage) {
            Loops::Scan(scanned?)
        } else {
            Loops::Store(stored(stage, outputs)?)
        })
    }

    /// The plan of the loops over all elements; for a reduction, the plan of the loops over one complete unit.
    pub(crate) fn plan(&self) -> Option<&LoopPlan> {
        match self {
            Loops::Store(plan) => Some(plan),
            Loops::Reduce(space) => space.whole().ok(),
            Loops::Scan(scanned) => Some(&scanned.plan),
            Loops::Steps(_) | Loops::Routine => None,
        }
    }

    /// The index space, if the elements are reduced.
    pub(crate) fn space(&self) -> Option<&Space> {
        match self {
            Loops::Reduce(space) => Some(space),
            Loops::Store(_) | Loops::Scan(_) | Loops::Steps(_) | Loops::Routine => None,
        }
    }

    /// Whether there is nothing to do, because the output has no elements.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Loops::Store(plan) => plan.elements() == 0,
            Loops::Reduce(space) => space.results == 0,
            Loops::Scan(scanned) => scanned.is_empty(),
            Loops::Steps(steps) => steps.is_empty(),
            // `PlanRun::routine` knows the results.
            Loops::Routine => false,
        }
    }

    /// The approximate nanoseconds that reducing or scanning the elements takes in addition to computing them.
    pub(crate) fn time_to_combine(&self) -> f64 {
        match self {
            Loops::Store(_) | Loops::Reduce(_) | Loops::Steps(_) | Loops::Routine => 0.0,
            Loops::Scan(scanned) => scanned.time(),
        }
    }
}
