//! One pass over inputs: reductions of one shape along the same axes, whose elements are computed chunk by chunk.
//!
//! Results are cut into boxes, and for each of these the reduced axes, in their order: so a chunk has neighbouring elements of
//! each of its results, and these have neighbouring numbers in the canonical order. Of the ways to cut that fit memory, the one
//! is taken that reads the inputs in the fewest and longest pieces: rows of a matrix, if it lies in memory row by row, whether
//! rows or columns are added up.

use broadloom_core::Result;
use broadloom_ir::{Axes, Reduction};

use super::Chunks;
use super::cuts::Cuts;
use super::window::{Window, indices};
use crate::array::{Array, Kind};

/// Partial results of this size are not counted, as little as other memory that an evaluation works with.
const UNCOUNTED: usize = 64 << 10;
/// How long a chunk takes that has no elements, in bytes that are read.
const CHUNK: f64 = 65536.0;

/// See the module's head.
pub(super) struct Pass<'a> {
    /// The elements that are combined, for each reduction.
    pub operands: Chunks<'a>,
    pub reductions: Vec<Reduction>,
    pub axes: Axes,
    /// How the results are cut.
    pub kept: Cuts,
    /// How the reduced axes are cut, for each part of the results.
    pub reduced: Cuts,
    /// For each reduction what stands in its place until it is computed: an array of its shape.
    pub stand_ins: Vec<Array<'a>>,
    /// About how long it takes to read, in bytes.
    pub reading: f64,
}

/// Ways to cut a pass, and what they take.
struct Ways<'w, 'a> {
    operands: &'w Chunks<'a>,
    axes: Axes,
    kept: Vec<usize>,
    reduced: Vec<usize>,
    /// Bytes of the partial results of one result.
    partial: usize,
    /// Bytes that chunks may take.
    limit: usize,
}

impl<'a> Pass<'a> {
    /// A pass that computes these reductions, which have one shape and axes, in chunks of at most so many bytes as far as
    /// that is possible; and whether it is. `stand_in` makes what stands for a reduction until it is computed.
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
        // Sixteen lanes for each doubling of the elements.
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

    /// Whether all chunks together take hardly longer to read than all at once.
    pub fn reads_in_order(&self) -> Result<bool> {
        let nodes = &self.operands.nodes;
        let whole: Vec<Window> = nodes.results().map(|operand| Window::whole(operand.shape())).collect();
        let at_once = nodes.reading(&nodes.windows(&whole)?);
        Ok(self.reading - self.chunks() as f64 * CHUNK <= 2.0 * at_once)
    }

    /// How many chunks there are.
    pub fn chunks(&self) -> usize {
        self.kept.count().saturating_mul(self.reduced.count())
    }

    /// The bytes of so many elements of each operand.
    pub fn bytes(&self, elements: usize) -> usize {
        let item: usize = self.operands.nodes.results().map(|operand| operand.dtype().size()).sum();
        elements.saturating_mul(item)
    }

    /// The elements of a chunk: a part of the results, and which of the reduced indices.
    pub fn window(&self, kept: usize, reduced: usize) -> Window {
        window(&self.operands, self.axes, (&self.kept, kept), (&self.reduced, reduced))
    }
}

/// A box of kept indices and one of reduced indices, as a window of what is reduced.
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
    /// The cuts of the results and of the reduced axes that take the least time to read, and how long; none where no chunk fits.
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

    /// Whether chunks are within the limit: the first, the last, and one in the middle.
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

    /// How long all chunks take to read, if they are as the one in the middle.
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
