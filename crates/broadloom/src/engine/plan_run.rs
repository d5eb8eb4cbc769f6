//! A run of a plan: the state that all of its stages share.

use broadloom_core::Scalar;
use broadloom_core::fuse::{ParamSource, Source, Stage};
use broadloom_mem::{Pool, Region};
use smallvec::SmallVec;

use crate::engine::memory::Temporaries;
use crate::engine::runtime::Request;
use crate::engine::watch::Watch;

/// The values of a stage's run-time scalars, as bits.
pub(crate) type Params = SmallVec<[u64; 8]>;

/// The state that all stages of a run share, except for its memory.
pub(crate) struct PlanRun<'r> {
    pub request: Request<'r>,
    pub pool: &'r Pool,
    pub literals: &'r [Scalar],
    pub watch: Option<&'r Watch<'r>>,
}

impl PlanRun<'_> {
    /// The values of a stage's run-time scalars.
    pub(crate) fn params(&self, stage: &Stage) -> Params {
        params(stage, self.literals)
    }
}

/// The memory of a stage's input: a slot or a temporary, with elements or a key, or an empty region for generated numbers.
pub(crate) fn region<'m>(source: Source, slots: &[Region<'m>], temps: &'m Temporaries<'_>) -> Region<'m> {
    match source {
        Source::Slot(slot) | Source::SlotWords(slot) => slots[slot as usize],
        Source::Temp(temp) | Source::TempWords(temp) => temps.region(temp),
        Source::Index => [][..].into(),
    }
}

/// The run-time scalars of a stage, from its constants and these literals.
pub(crate) fn params(stage: &Stage, literals: &[Scalar]) -> Params {
    let bits = |source: &ParamSource| match *source {
        ParamSource::Slot(slot) => literals[slot as usize].bits,
        ParamSource::Fixed(value) => value.bits,
    };
    stage.params.iter().map(bits).collect()
}
