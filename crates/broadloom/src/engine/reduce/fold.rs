//! One run of a stage that reduces: what its pieces and tiles have in common.

use std::ops::Range;

use broadloom_core::{DType, Result};
use broadloom_ir::Reduction;
use broadloom_mem::{Access, Region};
use broadloom_reduce::Partial;
use smallvec::SmallVec;

use crate::engine::geometry::Geometry;
use crate::engine::outcome::Outcome;
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::Executable;

/// Elements of a part of a long reduction are a multiple of this, so that few parts begin within a subtree.
pub const PART: usize = 1 << 14;

/// What was combined of one piece, for each output.
pub type Partials = SmallVec<[Partial; 2]>;
/// The memory of a range of results, for each output.
pub type Results<'m> = SmallVec<[&'m mut [u8]; 2]>;

/// One run of a stage.
pub struct Fold<'f> {
    pub prepared: &'f PreparedStage,
    pub geometry: &'f Geometry,
    /// The number of the first element.
    pub start: u64,
    pub reductions: SmallVec<[Reduction; 2]>,
    pub dtypes: SmallVec<[DType; 2]>,
    pub inputs: &'f [Region<'f>],
    pub params: &'f [u64],
    /// What runs tiles whose inputs are accessed as in the first, and how they are.
    pub first: Option<(&'f Executable, &'f [Access])>,
    pub outcome: &'f Outcome<'f>,
}

impl Geometry {
    /// Whether so many parts have ranges of the elements of a result; else each has results of its own.
    pub fn has_ranges(&self, parts: usize) -> bool {
        self.pieces() < parts && self.count >= 2 * PART
    }
}

impl<'f> Fold<'f> {
    /// Whether elements are folded where they are.
    pub fn is_direct(&self) -> bool {
        self.geometry.direct && !self.inputs.iter().any(Region::has_gaps)
    }

    /// Neighbouring elements of an input in memory, from element `start` on; none where they are not all inside. They are
    /// combined at once: nothing is written meanwhile but what they are combined to.
    pub fn elements(&self, input: usize, start: isize, count: usize) -> Option<&'f [u8]> {
        let item = self.prepared.stage.kernel.inputs[input].size();
        let start = usize::try_from(start).ok()?.checked_mul(item)?;
        self.inputs[input].elements(start..start.checked_add(count.checked_mul(item)?)?)
    }

    /// The memory of a range of the results.
    pub fn results_of<'m>(&self, results: &'m mut Results<'_>, range: Range<usize>) -> Results<'m> {
        let of = |(out, dtype): (&'m mut &mut [u8], &DType)| {
            &mut out[range.start * dtype.size()..range.end * dtype.size()]
        };
        results.iter_mut().zip(&self.dtypes).map(of).collect()
    }

    /// The machine code that combines the rows of a result's elements to nodes of this level, where these follow each other in memory or
    /// are one element for all.
    pub fn leaves(&self) -> Option<(&'f Executable, u8)> {
        let ((kernel, access), inner) = self.first.zip(self.geometry.reduced.last())?;
        let follows = |(access, stride): (&Access, &isize)| match access {
            Access::Contiguous => *stride == 1,
            Access::Splat => *stride == 0,
            Access::Reversed | Access::EverySecond => false,
        };
        let is_run = access.iter().zip(&inner.strides).all(follows);
        let level = kernel.plan()?.leaf_level().filter(|_| is_run);
        Some(kernel).zip(level.filter(|_| !self.inputs.iter().any(Region::has_gaps)))
    }

    /// Nothing combined yet; the first element will be number `start`.
    pub fn partials(&self, width: usize, start: usize) -> Result<Partials> {
        let each = self.reductions.iter().zip(&self.dtypes);
        each.map(|(&reduction, &dtype)| Partial::new(reduction, dtype, width, self.start + start as u64))
            .collect()
    }

    /// Runs a part, which counts its elements itself, unless the run was cancelled.
    pub fn part(&self, run: impl FnOnce() -> Result<()>) {
        self.outcome.part(0, run);
    }
}

/// Joins what follows, of each output.
pub fn append(partials: &mut Partials, later: Partials) -> Result<()> {
    partials.iter_mut().zip(later).try_for_each(|(partial, later)| partial.append(later))
}
