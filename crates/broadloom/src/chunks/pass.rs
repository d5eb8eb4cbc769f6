//! One pass over inputs. It computes the elements of reductions, which have one shape and the same axes, chunk by chunk; or it
//! computes the totals of a scan's blocks, with which any part of the scan can be computed.
//!
//! Results are divided into boxes, and for each box the reduced axes are divided, in order. A chunk therefore has elements of
//! adjacent results, and for each result elements with consecutive numbers in the canonical order. Of the divisions that fit
//! memory, the one is chosen that reads the inputs in the fewest and longest pieces: rows of a matrix stored row by row, whether
//! rows or columns are summed.

use broadloom_core::node::Before;
use broadloom_core::{DType, Result, Shape};
use broadloom_ir::tuning::chunks::CHUNK;
use broadloom_ir::{Axes, Reduction, Scan};
use smallvec::SmallVec;

use super::Chunks;
use super::cuts::Cuts;
use super::window::{Window, indices};
use crate::array::{Array, Kind};

/// Partial results of at most this many bytes don't count as memory, like other working memory of an evaluation.
const UNCOUNTED: usize = 64 << 10;

/// The results that a pass computes from its elements.
#[derive(Clone, PartialEq)]
pub(super) enum Purpose {
    /// The reductions along the axes, one for each operand.
    Reductions(Vec<Reduction>),
    /// The totals of the blocks of 2^level elements along the axis of a scan.
    Totals { scan: Scan, level: u8 },
}

/// One pass: reductions of one shape along the same axes, or a scan, with the division of their elements into chunks.
pub(super) struct Pass<'a> {
    /// The elements to be reduced, for each reduction, or the elements to be scanned.
    pub operands: Chunks<'a>,
    pub purpose: Purpose,
    pub axes: Axes,
    /// The division of the results.
    pub kept: Cuts,
    /// The division of the reduced axes, which is the same for each part of the results.
    pub reduced: Cuts,
    /// For each reduction, an array of its shape that replaces it until it is computed. For a scan, an array that replaces its
    /// totals.
    pub stand_ins: Vec<Array<'a>>,
    /// The approximate time of reading all chunks, expressed in bytes.
    pub reading: f64,
}

/// The possible divisions of a pass, and their memory.
struct Ways<'w, 'a> {
    operands: &'w Chunks<'a>,
    axes: Axes,
    kept: Vec<usize>,
    reduced: Vec<usize>,
    /// The size of the partial results of one result, in bytes.
    partial: usize,
    /// The limit of a chunk in bytes.
    limit: usize,
    /// The reduced axes are divided at multiples of this many indices.
    multiple: usize,
}

/// The pass for a node, with whether it is possible within the limit.
type Found<'a> = Option<(Pass<'a>, bool)>;

/// A function that makes an array of a dtype and a shape, to replace what a pass computes.
pub(super) type StandIn<'f, 'a> = &'f dyn Fn(DType, Shape) -> Result<Array<'a>>;

impl<'a> Pass<'a> {
    /// A pass for these reductions, which have the same shape and axes, in chunks of at most this many bytes if possible; also
    /// whether that is possible. `stand_in` makes the array that replaces a reduction until it is computed.
    pub fn new(
        reductions: &[&Array<'a>],
        inputs: &[&Array<'a>],
        limit: usize,
        stand_in: StandIn<'_, 'a>,
    ) -> Result<Found<'a>> {
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
        // A partial result has sixteen lanes for each doubling of the number of elements.
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

    /// A pass for the totals of a scan, in chunks of at most this many bytes if possible; also whether that is possible.
    ///
    /// The chunks of results begin at blocks, so blocks are short, but not so short that their totals take much of the limit.
    pub fn of_scan(
        array: &Array<'a>,
        inputs: &[&Array<'a>],
        limit: usize,
        stand_in: StandIn<'_, 'a>,
    ) -> Result<Found<'a>> {
        let Kind::Scan { arg, scan, axis, before: None, .. } = &array.0.kind else { return Ok(None) };
        let axis = usize::from(*axis);
        let extents = arg.shape();
        let (extent, item) = (extents[axis], arg.dtype().size());
        let row = arg.len() / extent.max(1) * item;
        // The number of blocks before the last element, all of which need totals.
        let blocks = |level: u32| extent.saturating_sub(1) >> level;
        let longest = extent.max(1).ilog2();
        let within = |bytes: usize| (0..longest).find(|&level| blocks(level).saturating_mul(row) <= bytes);
        // If rows are long, only few of them fit, so blocks are short.
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
            // The scanned elements are in memory as well.
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

    /// The nodes that the pass is for, with their replacements: stand-ins for reductions, or a scan whose totals are known.
    pub fn replacements(&self, of: &[Array<'a>]) -> Vec<Array<'a>> {
        let Purpose::Totals { level, .. } = self.purpose else { return self.stand_ins.clone() };
        let known = |(array, totals): (&Array<'a>, &Array<'a>)| {
            let Kind::Scan { arg, scan, axis, initial, .. } = &array.0.kind else { return array.clone() };
            let before = Some(Before { totals: totals.clone(), level, blocks: 0 });
            let kind = Kind::Scan { arg: arg.clone(), scan: *scan, axis: *axis, initial: *initial, before };
            Array::of(kind, array.dtype(), array.0.shape.clone())
        };
        of.iter().zip(&self.stand_ins).map(known).collect()
    }

    /// Whether reading all chunks takes hardly more time than reading everything at once.
    pub fn reads_in_order(&self) -> Result<bool> {
        let nodes = &self.operands.nodes;
        let whole: Vec<Window> = nodes.results().map(|operand| Window::whole(operand.shape())).collect();
        let at_once = nodes.reading(&nodes.windows(&whole)?);
        Ok(self.reading - self.chunks() as f64 * CHUNK <= 2.0 * at_once)
    }

    /// The number of chunks.
    pub fn chunks(&self) -> usize {
        self.kept.count().saturating_mul(self.reduced.count())
    }

    /// The size in bytes of this many elements of each operand.
    pub fn bytes(&self, elements: usize) -> usize {
        let item: usize = self.operands.nodes.results().map(|operand| operand.dtype().size()).sum();
        elements.saturating_mul(item)
    }

    /// The elements of a chunk, given the numbers of a part of the results and of a range of the reduced indices.
    pub fn window(&self, kept: usize, reduced: usize) -> Window {
        window(&self.operands, self.axes, (&self.kept, kept), (&self.reduced, reduced))
    }
}

/// The window of the reductions' operand for a box of kept indices and a box of reduced indices.
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
    /// The divisions of the results and of the reduced axes that take the least time to read, with this time; `None` if no chunk
    /// fits.
    fn best(&self) -> Result<Option<(Cuts, Cuts, f64)>> {
        let whole = Cuts::none(&self.reduced);
        let smallest = match self.multiple {
            1 => Cuts::smallest(&self.reduced),
            rows => Cuts::at(&self.reduced, 0, rows),
        };
        let mut of_results = vec![Cuts::none(&self.kept)];
        for axis in (0..self.kept.len()).filter(|&axis| self.kept[axis] > 1) {
            // Three kinds of divisions are tried: all elements of as many results as possible, parts of the elements of as many
            // results as possible, and parts of the elements of one result.
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

    /// Whether chunks are within the limit, judging by the first chunk, the last chunk, and one in the middle.
    fn fit(&self, kept: &Cuts, reduced: &Cuts) -> Result<bool> {
        let results: usize = kept.get(0).iter().map(ExactSizeIterator::len).product();
        // The partial results so far are in memory together with those of the chunk.
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

    /// The time of reading all chunks, if each took as long as the one in the middle.
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
