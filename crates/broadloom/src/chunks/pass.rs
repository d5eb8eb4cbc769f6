//! One pass over inputs. A pass computes either reductions that have the same shape and axes, chunk by chunk, or the totals of
//! the blocks of a scan, from which any part of the scan can be computed later.
//!
//! The results are divided into boxes, and for each box the reduced axes are divided, in order. A chunk therefore has elements of
//! adjacent results, and each result's elements in the chunk are consecutive in the canonical order. Of the divisions that fit
//! memory, the pass uses the one that reads the inputs in the fewest and longest pieces. A matrix stored row by row is read row
//! by row, whether its rows or its columns are summed.

use broadloom_core::node::Before;
use broadloom_core::{DType, Result, Shape};
use broadloom_ir::tuning::chunks::CHUNK;
use broadloom_ir::{Axes, Reduction, Scan};
use smallvec::SmallVec;

use super::Chunks;
use super::cuts::Cuts;
use super::window::{Window, indices};
use crate::array::{Array, Kind};

/// Partial results of at most this many bytes are not counted against the limit, as an evaluation's other working memory is not.
const UNCOUNTED: usize = 64 << 10;

/// The results that a pass computes from its elements.
#[derive(Clone, PartialEq)]
pub(super) enum Purpose {
    /// Reductions along the axes of the pass, one for each operand.
    Reductions(Vec<Reduction>),
    /// The totals of the blocks of 2^level elements along the axis of a scan.
    Totals { scan: Scan, level: u8 },
}

/// One pass, which computes reductions of the same shape and axes, or a scan's totals, with the division of the elements into
/// chunks.
pub(super) struct Pass<'a> {
    /// The operands of the reductions or of the scan.
    pub operands: Chunks<'a>,
    pub purpose: Purpose,
    pub axes: Axes,
    /// The division of the results.
    pub kept: Cuts,
    /// The division of the reduced axes, which is the same for each part of the results.
    pub reduced: Cuts,
    /// For each reduction, an array of its shape that replaces it until it is computed; for a scan, an array that replaces its
    /// totals.
    pub stand_ins: Vec<Array<'a>>,
    /// The approximate cost of reading all inputs, in bytes.
    pub reading: f64,
}

/// The constraints on how a pass may be divided into chunks.
struct Ways<'w, 'a> {
    operands: &'w Chunks<'a>,
    axes: Axes,
    kept: Vec<usize>,
    reduced: Vec<usize>,
    /// Bytes of the partial reductions of one result.
    partial: usize,
    /// The maximum size of a chunk in bytes.
    limit: usize,
    /// The number of reduced indices in a chunk is a multiple of this.
    multiple: usize,
}

/// The pass that computes a node, and whether its chunks fit memory; `None` for a node that no pass can compute.
type FoundPass<'a> = Option<(Pass<'a>, bool)>;

/// A function that makes an array of a dtype and shape, which replaces a result of a pass until the pass has computed it.
pub(super) type StandIn<'f, 'a> = &'f dyn Fn(DType, Shape) -> Result<Array<'a>>;

impl<'a> Pass<'a> {
    /// The pass for these reductions, which have the same shape and axes, and whether it can be divided into chunks of at most
    /// `limit` bytes. `stand_in` makes the array that replaces a reduction until it is computed.
    pub(crate) fn new(
        reductions: &[&Array<'a>],
        inputs: &[&Array<'a>],
        limit: usize,
        stand_in: StandIn<'_, 'a>,
    ) -> Result<FoundPass<'a>> {
        let mut operands = Vec::new();
        let mut kinds = Vec::new();
        let mut along = Axes::NONE;
        for array in reductions {
            if let Kind::Reduce { arg, reduction, axes, .. } = &array.0.kind {
                operands.push(arg);
                kinds.push(*reduction);
                along = *axes;
            }
        }
        let Some(first) = operands.first() else { return Ok(None) };
        let extents = |reduced: bool| {
            let axes =
                first.shape().iter().enumerate().filter(move |(axis, _)| along.contains(*axis) == reduced);
            axes.map(|(_, extent)| *extent).collect::<Vec<_>>()
        };
        let (kept, reduced) = (extents(false), extents(true));
        let results: usize = kept.iter().product();
        let item: usize = operands.iter().map(|operand| operand.dtype().size()).sum();
        // A partial reduction stores 16 lanes for each doubling of the number of elements.
        let nodes = (reduced.iter().product::<usize>() / 16).max(1).ilog2() as usize + 2;
        let partial = 16 * item * nodes + 512 * operands.len();
        let of_results = reductions.iter().map(|array| array.dtype().size()).sum::<usize>();
        let held = results.saturating_mul(of_results);
        let operands = Chunks::whole(&operands, inputs)?;
        let ways = Ways {
            operands: &operands,
            axes: along,
            kept,
            reduced,
            partial,
            limit: limit.saturating_sub(held),
            multiple: 1,
        };
        let ((kept, reduced, reading), fits) = match ways.best()? {
            Some(best) => (best, held <= limit),
            None => ((Cuts::smallest(&ways.kept), Cuts::smallest(&ways.reduced), f64::INFINITY), false),
        };
        let of = |array: &&Array<'a>| stand_in(array.dtype(), array.0.shape.clone());
        let stand_ins = reductions.iter().map(of).collect::<Result<_>>()?;
        let purpose = Purpose::Reductions(kinds);
        let pass = Pass { operands, purpose, axes: along, kept, reduced, stand_ins, reading };
        Ok(Some((pass, fits)))
    }

    /// The pass for the totals of a scan, and whether it can be divided into chunks of at most `limit` bytes.
    ///
    /// A chunk of the results begins at the beginning of a block. Blocks are therefore short, but not so short that their totals
    /// take a large part of the limit.
    pub(crate) fn of_scan(
        array: &Array<'a>,
        inputs: &[&Array<'a>],
        limit: usize,
        stand_in: StandIn<'_, 'a>,
    ) -> Result<FoundPass<'a>> {
        let Kind::Scan { arg, scan, axis, before: None, .. } = &array.0.kind else { return Ok(None) };
        let axis = usize::from(*axis);
        let extents = arg.shape();
        let (extent, item) = (extents[axis], arg.dtype().size());
        let row = arg.len() / extent.max(1) * item;
        // The number of blocks for which a total is stored: the complete blocks before the last element.
        let blocks = |level: u32| extent.saturating_sub(1) >> level;
        let longest = extent.max(1).ilog2();
        let within = |bytes: usize| (0..longest).find(|&level| blocks(level).saturating_mul(row) <= bytes);
        // The totals take at most an eighth of the limit if a block then takes at most a quarter of the limit. If it would take
        // more, the totals take at most a third.
        let is_short = |level: &u32| row.saturating_mul(1 << level) <= limit / 4;
        let level = within(limit / 8).filter(is_short).or_else(|| within(limit / 3));
        let (level, is_small) = (level.unwrap_or(longest), level.is_some());
        let held = blocks(level).saturating_mul(row);
        let axes: Axes = [axis].into_iter().collect();
        let kept =
            extents.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, extent)| *extent).collect();
        let operands = Chunks::whole(&[arg], inputs)?;
        let ways = Ways {
            operands: &operands,
            axes,
            kept,
            reduced: vec![extent],
            partial: 0,
            // Half of the remaining memory is for the buffer in which the elements are scanned.
            limit: limit.saturating_sub(held) / 2,
            multiple: 1 << level,
        };
        let ((kept, reduced, reading), fits) = match ways.best()? {
            Some(best) => (best, is_small),
            None => ((Cuts::smallest(&ways.kept), Cuts::at(&[extent], 0, 1 << level), f64::INFINITY), false),
        };
        let mut shape: SmallVec<[usize; 4]> = extents.into();
        shape[axis] = blocks(level);
        let stand_ins = vec![stand_in(arg.dtype(), Shape::new(&shape)?)?];
        let purpose = Purpose::Totals { scan: *scan, level: level as u8 };
        Ok(Some((Pass { operands, purpose, axes, kept, reduced, stand_ins, reading }, fits)))
    }

    /// The arrays that replace the nodes that the pass computes: a stand-in for a reduction, a scan with known totals for a scan.
    pub(crate) fn replacements(&self, of: &[Array<'a>]) -> Vec<Array<'a>> {
        let Purpose::Totals { level, .. } = self.purpose else { return self.stand_ins.clone() };
        let known = |(array, totals): (&Array<'a>, &Array<'a>)| {
            let Kind::Scan { arg, scan, axis, initial, .. } = &array.0.kind else { return array.clone() };
            let before = Some(Before { totals: totals.clone(), level, blocks: 0 });
            let kind = Kind::Scan { arg: arg.clone(), scan: *scan, axis: *axis, initial: *initial, before };
            Array::of(kind, array.dtype(), array.0.shape.clone())
        };
        of.iter().zip(&self.stand_ins).map(known).collect()
    }

    /// Whether reading the inputs chunk by chunk costs at most twice as much as reading them at once.
    pub(crate) fn reads_in_order(&self) -> Result<bool> {
        let nodes = &self.operands.nodes;
        let whole: Vec<Window> = nodes.results().map(|operand| Window::whole(operand.shape())).collect();
        let at_once = nodes.reading(&nodes.windows(&whole)?);
        Ok(self.reading - self.chunks() as f64 * CHUNK <= 2.0 * at_once)
    }

    /// The number of chunks.
    pub(crate) fn chunks(&self) -> usize {
        self.kept.count().saturating_mul(self.reduced.count())
    }

    /// The size in bytes of `elements` elements of every operand together.
    pub(crate) fn bytes(&self, elements: usize) -> usize {
        let item: usize = self.operands.nodes.results().map(|operand| operand.dtype().size()).sum();
        elements.saturating_mul(item)
    }

    /// The window of the operands that a chunk contains, given the index of its box of the results and the index of its box of
    /// the reduced axes.
    pub(crate) fn window(&self, kept: usize, reduced: usize) -> Window {
        window(&self.operands, self.axes, (&self.kept, kept), (&self.reduced, reduced))
    }
}

/// The window of the operands with box `i` of the kept axes and box `j` of the reduced axes.
fn window(of: &Chunks<'_>, axes: Axes, (kept, i): (&Cuts, usize), (reduced, j): (&Cuts, usize)) -> Window {
    let (mut kept, mut reduced) = (kept.get(i).into_iter(), reduced.get(j).into_iter());
    let rank = of.nodes.results().next().map_or(0, Array::rank);
    let next = |axis| if axes.contains(axis) { reduced.next() } else { kept.next() };
    Window(
        (0..rank)
            .map(next)
            .map(|range| range.map_or(indices(0, 1, 0), |range| indices(range.start, 1, range.len())))
            .collect(),
    )
}

impl Ways<'_, '_> {
    /// The divisions of the results and of the reduced axes with the lowest cost of reading, and this cost; `None` if no chunk
    /// fits.
    fn best(&self) -> Result<Option<(Cuts, Cuts, f64)>> {
        let whole = Cuts::none(&self.reduced);
        let smallest = match self.multiple {
            1 => Cuts::smallest(&self.reduced),
            rows => Cuts::at(&self.reduced, 0, rows),
        };
        let mut of_results = vec![Cuts::none(&self.kept)];
        for axis in (0..self.kept.len()).filter(|&axis| self.kept[axis] > 1) {
            // Three candidates: as many results as fit if all of their elements are in a chunk, as many results as fit if a chunk
            // has the fewest elements of each, and one result.
            of_results.extend(Cuts::along(&self.kept, axis, |kept| self.fit(kept, &whole))?);
            of_results.extend(Cuts::along(&self.kept, axis, |kept| self.fit(kept, &smallest))?);
            of_results.push(Cuts::at(&self.kept, axis, 1));
        }
        let mut best: Option<(Cuts, Cuts, f64)> = None;
        for kept in of_results {
            let fits = |reduced: &Cuts| self.fit(&kept, &reduced.multiple_of(self.multiple));
            let Some(reduced) = Cuts::largest(&self.reduced, fits)? else { continue };
            let reduced = reduced.multiple_of(self.multiple);
            let reading = self.reading(&kept, &reduced)?;
            if best.as_ref().is_none_or(|best| reading < best.2) {
                best = Some((kept, reduced, reading));
            }
        }
        Ok(best)
    }

    /// Whether chunks are within the limit. The first, the last and one in the middle are tested.
    fn fit(&self, kept: &Cuts, reduced: &Cuts) -> Result<bool> {
        let results: usize = kept.get(0).iter().map(ExactSizeIterator::len).product();
        // The partial reductions of all previous chunks, and those of the current chunk.
        let partials = results.saturating_mul(2 * self.partial);
        let partials = if partials > UNCOUNTED { partials } else { 0 };
        let (i, j) = (kept.count() - 1, reduced.count() - 1);
        for (i, j) in [(0, 0), (i / 2, j / 2), (i, j)] {
            let windows = self.windows((kept, i), (reduced, j))?;
            if self.operands.nodes.bytes(&windows).saturating_add(partials) > self.limit {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The cost of reading all chunks, assuming that each costs as much as the middle one.
    fn reading(&self, kept: &Cuts, reduced: &Cuts) -> Result<f64> {
        let (n, m) = (kept.count(), reduced.count());
        let windows = self.windows((kept, n / 2), (reduced, m / 2))?;
        Ok(n as f64 * m as f64 * (self.operands.nodes.reading(&windows) + CHUNK))
    }

    fn windows(&self, kept: (&Cuts, usize), reduced: (&Cuts, usize)) -> Result<super::Windows> {
        let wanted = window(self.operands, self.axes, kept, reduced);
        let roots = self.operands.nodes.results().count();
        self.operands.nodes.windows(&vec![wanted; roots])
    }
}
