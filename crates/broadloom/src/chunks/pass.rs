//! One pass over inputs: reductions of one shape along the same axes, whose elements are computed chunk by chunk.
//!
//! Results are divided into boxes, and for each of these the reduced axes, in order. A chunk therefore has elements of adjacent
//! results, and for each result elements with consecutive numbers in the canonical order. Of the divisions that fit memory, the one
//! is chosen that reads the inputs in the fewest and longest pieces: rows of a matrix stored row by row, whether rows or columns
//! are summed.

use broadloom_core::Result;
use broadloom_ir::{Axes, Reduction};

use super::Chunks;
use super::cuts::Cuts;
use super::window::{Window, indices};
use crate::array::{Array, Kind};

/// Partial results up to this size are not counted, like the other working memory of an evaluation.
const UNCOUNTED: usize = 64 << 10;
/// The fixed cost of a chunk, in bytes that could be read instead.
const CHUNK: f64 = 65536.0;

/// One pass: reductions of one shape along the same axes, with the division of their elements into chunks.
pub(super) struct Pass<'a> {
    /// The elements to be reduced, for each reduction.
    pub operands: Chunks<'a>,
    pub reductions: Vec<Reduction>,
    pub axes: Axes,
    /// The division of the results.
    pub kept: Cuts,
    /// The division of the reduced axes, for each part of the results.
    pub reduced: Cuts,
    /// For each reduction, an array of its shape that replaces it until it is computed.
    pub stand_ins: Vec<Array<'a>>,
    /// The approximate time of reading, in bytes.
    pub reading: f64,
}

/// The possible divisions of a pass, and their memory.
struct Ways<'w, 'a> {
    operands: &'w Chunks<'a>,
    axes: Axes,
    kept: Vec<usize>,
    reduced: Vec<usize>,
    /// Bytes of the partial results of one result.
    partial: usize,
    /// The limit of a chunk in bytes.
    limit: usize,
}

impl<'a> Pass<'a> {
    /// A pass for these reductions, which have one shape and axes, in chunks of at most this many bytes if possible; and whether it
    /// is possible. `stand_in` makes the array that replaces a reduction until it is computed.
    pub fn new(
        reductions: &[&Array<'a>],
        inputs: &[&Array<'a>],
        limit: usize,
        stand_in: impl FnMut(&&Array<'a>) -> Result<Array<'a>>,
    ) -> Result<Option<(Pass<'a>, bool)>> {
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
        // Sixteen lanes for each doubling of the number of elements.
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
        };
        let ((kept, reduced, reading), fits) = match ways.best()? {
            Some(best) => (best, held <= limit),
            None => ((Cuts::smallest(&ways.kept), Cuts::smallest(&ways.reduced), f64::INFINITY), false),
        };
        let stand_ins = reductions.iter().map(stand_in).collect::<Result<_>>()?;
        let pass = Pass { operands, reductions: kinds, axes: along, kept, reduced, stand_ins, reading };
        Ok(Some((pass, fits)))
    }

    /// Whether reading all chunks takes hardly longer than reading everything at once.
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

    /// The number of bytes of this many elements of each operand.
    pub fn bytes(&self, elements: usize) -> usize {
        let item: usize = self.operands.nodes.results().map(|operand| operand.dtype().size()).sum();
        elements.saturating_mul(item)
    }

    /// The elements of a chunk: a part of the results, and a range of the reduced indices.
    pub fn window(&self, kept: usize, reduced: usize) -> Window {
        window(&self.operands, self.axes, (&self.kept, kept), (&self.reduced, reduced))
    }
}

/// A box of kept indices and one of reduced indices, as a window of the reductions' operand.
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
    /// The divisions of the results and of the reduced axes that take the least time to read, and that time; `None` if no chunk
    /// fits.
    fn best(&self) -> Result<Option<(Cuts, Cuts, f64)>> {
        let whole = Cuts::none(&self.reduced);
        let smallest = Cuts::smallest(&self.reduced);
        let mut of_results = vec![Cuts::none(&self.kept)];
        for axis in (0..self.kept.len()).filter(|&axis| self.kept[axis] > 1) {
            // All elements of as many results as possible; as many results as possible; one result.
            of_results.extend(Cuts::along(&self.kept, axis, |kept| self.fit(kept, &whole))?);
            of_results.extend(Cuts::along(&self.kept, axis, |kept| self.fit(kept, &smallest))?);
            of_results.push(Cuts::at(&self.kept, axis, 1));
        }
        let mut best: Option<(Cuts, Cuts, f64)> = None;
        for kept in of_results {
            let Some(reduced) = Cuts::largest(&self.reduced, |reduced| self.fit(&kept, reduced))? else {
                continue;
            };
            let reading = self.reading(&kept, &reduced)?;
            if best.as_ref().is_none_or(|best| reading < best.2) {
                best = Some((kept, reduced, reading));
            }
        }
        Ok(best)
    }

    /// Whether chunks are within the limit, judged by the first, the last, and one in the middle.
    fn fit(&self, kept: &Cuts, reduced: &Cuts) -> Result<bool> {
        let results: usize = kept.get(0).iter().map(ExactSizeIterator::len).product();
        // Those so far, and those of the chunk.
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

    /// The time of reading all chunks, if each takes as long as the one in the middle.
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
