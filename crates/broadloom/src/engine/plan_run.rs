//! A run of a plan: the state that all of its stages share.

use broadloom_core::fuse::{InputView, ParamSource, Source, Stage};
use broadloom_core::{DType, Error, ErrorKind, Result, Scalar};
use broadloom_mem::{InputRegions, Pool, Region, Table};
use smallvec::SmallVec;

use crate::engine::memory::Temporaries;
use crate::engine::runtime::Request;
use crate::engine::watch::Watch;

/// The arguments of a stage that are the same for all of its elements.
#[derive(Clone, Copy, Default)]
pub(crate) struct Arguments<'r> {
    /// The values of the run-time scalars, as bits.
    pub params: &'r [u64],
    pub tables: &'r [Table<'r>],
}

/// Makes the arguments of a stage without tables.
impl<'r> From<&'r Params> for Arguments<'r> {
    #[inline]
    fn from(params: &'r Params) -> Arguments<'r> {
        Arguments { params, tables: &[] }
    }
}

/// The tables of a stage.
pub(crate) type Tables<'m> = SmallVec<[Table<'m>; 2]>;

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
pub(crate) fn region<'m>(source: Source, slots: InputRegions<'m>, temps: &'m Temporaries<'_>) -> Region<'m> {
    match source {
        Source::Slot(slot) | Source::SlotWords(slot) => slots.get(slot as usize),
        Source::Temp(temp) | Source::TempWords(temp) => temps.region(temp),
        Source::Index => [][..].into(),
    }
}

/// The memory of a stage's tables, none of which overlaps an output.
pub(crate) fn tables<'m>(
    stage: &Stage,
    slots: InputRegions<'m>,
    temps: &'m Temporaries<'_>,
) -> Result<Tables<'m>> {
    let outside = || Error::new(ErrorKind::Memory, "a table is outside of its memory");
    let table = |(of, dtype): (&InputView, &DType)| {
        let (item, layout) = (dtype.size(), &of.layout);
        let start = usize::try_from(layout.offset).ok().and_then(|offset| offset.checked_mul(item));
        let elements = layout.shape.elements();
        let start = if elements == 0 { Some(0) } else { start };
        let bytes = region(of.source, slots, temps).contiguous(item, start.ok_or_else(outside)?, elements);
        bytes.and_then(|bytes| Table::new(bytes, item)).ok_or_else(outside)
    };
    stage.tables.iter().zip(&stage.kernel.tables).map(table).collect()
}

/// The run-time scalars of a stage, from its constants and these literals.
pub(crate) fn params(stage: &Stage, literals: &[Scalar]) -> Params {
    let bits = |source: &ParamSource| match *source {
        ParamSource::Slot(slot) => literals[slot as usize].bits,
        ParamSource::Fixed(value) => value.bits,
    };
    stage.params.iter().map(bits).collect()
}
