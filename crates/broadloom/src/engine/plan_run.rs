//! A run of a plan: all but the memory that is written.

use broadloom_core::Scalar;
use broadloom_core::fuse::{ParamSource, Source};
use broadloom_mem::{Buffer, Pool, Region};

use crate::engine::runtime::Request;
use crate::engine::watch::Watch;

/// See the module's head.
pub struct PlanRun<'r> {
    pub request: Request<'r>,
    pub pool: &'r Pool,
    pub slots: &'r [Region<'r>],
    pub literals: &'r [Scalar],
    pub watch: Option<&'r Watch<'r>>,
}

impl PlanRun<'_> {
    /// The memory of an input; of one that is generated, none.
    pub fn region<'m>(&'m self, source: Source, temps: &'m [Option<Buffer>]) -> Region<'m> {
        match source {
            Source::Slot(slot) => self.slots[slot as usize],
            Source::Temp(temp) => {
                let buffer = temps.get(temp as usize).and_then(Option::as_ref);
                buffer.map_or(&[][..], Buffer::as_bytes).into()
            }
            Source::Index => [][..].into(),
        }
    }
}

/// The bits of a run-time scalar.
pub(crate) fn param(source: ParamSource, literals: &[Scalar]) -> u64 {
    match source {
        ParamSource::Slot(slot) => literals[slot as usize].bits,
        ParamSource::Fixed(value) => value.bits,
    }
}
