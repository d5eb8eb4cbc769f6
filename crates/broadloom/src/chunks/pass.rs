//! One pass over inputs. A pass computes either reductions that have the same shape and axes, chunk by chunk, or the totals of
//! the blocks of a scan, from which any part of the scan can be computed later, or the states of a recurrence: before each block
//! of steps, and after the last one. A pass for a routine has one chunk.
//!
//! The results are divided into boxes, and for each box the reduced axes are divided, in order. A chunk therefore has elements of
//! adjacent results, and each result's elements in the chunk are consecutive in the canonical order. Of the divisions that fit
//! memory, the pass uses the one that reads the inputs in the fewest and longest pieces. A matrix stored row by row is read row
//! by row, whether its rows or its columns are summed.

use std::sync::Arc;

use broadloom_core::node::Before;
use broadloom_core::node::StepOrder;
use broadloom_core::routine::Routine;
use broadloom_core::{DType, Result, Shape, View};
use broadloom_ir::tuning::chunks::CHUNK;
use broadloom_ir::{Axes, Reduction, Scan};
use smallvec::SmallVec;

use super::Chunks;
use super::cuts::Cuts;
use super::recurrence;
use super::window::{Window, indices};
use crate::array::{Array, Kind, StateBlocks};

/// Partial results of at most this many bytes are not counted against the limit, as an evaluation's other working memory is not.
const UNCOUNTED: usize = 64 << 10;

/// The results that a pass computes from its elements.
#[derive(Clone, PartialEq)]
pub(super) enum Purpose {
    /// Reductions along the axes of the pass, one for each operand.
    Reductions(Vec<Reduction>),
    /// The totals of the blocks of 2^level elements along the axis of a scan.
    Totals { scan: Scan, level: u8 },
    /// The states of a recurrence.
    States {
        /// The number of states.
        count: usize,
        /// The number of steps in a chunk if the states before each chunk are stored, because outputs are needed.
        block: Option<usize>,
        is_reversed: bool,
    },
    /// Results of a routine, which has all of its operands in one chunk.
    Routine {
        /// The routine.
        routine: Routine,
        /// The index of each result that is computed.
        items: Vec<u32>,
    },
}

/// One pass, which computes reductions of the same shape and axes, a scan's totals, or a recurrence's states, with the division of
/// the elements into chunks.
pub(super) struct Pass<'a> {
    /// The operands of the reductions or of the scan; for a recurrence, an output and then the initial states.
    pub operands: Chunks<'a>,
    pub purpose: Purpose,
    pub axes: Axes,
    /// The division of the results.
    pub kept: Cuts,
    /// The division of the reduced axes, which is the same for each part of the results.
    pub reduced: Cuts,
    /// For each reduction, an array of its shape that replaces it until it is computed; for a scan, an array that replaces its
    /// totals; for a recurrence, arrays that replace the last states and then, if these are stored, those before each block.
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
    /// The number of reduced indices in a chunk is a multiple of this, or exactly this.
    multiple: usize,
    is_exact: bool,
    /// Whether the reduced indices are taken from the last to the first.
    is_reversed: bool,
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
            is_exact: false,
            is_reversed: false,
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

    /// The pass for results of a routine, and whether its operands and these results take at most `limit` bytes.
    pub(crate) fn of_routine(
        values: &[&Array<'a>],
        inputs: &[&Array<'a>],
        limit: usize,
        stand_in: StandIn<'_, 'a>,
    ) -> Result<FoundPass<'a>> {
        let Some(Kind::Routine(of)) = values.first().map(|value| &value.0.kind) else { return Ok(None) };
        let item = |value: &&Array<'a>| match &value.0.kind {
            Kind::Routine(of) => of.item,
            _ => 0,
        };
        let purpose = Purpose::Routine { routine: of.routine, items: values.iter().map(item).collect() };
        let operands = Chunks::whole(&of.args.iter().collect::<Vec<_>>(), inputs)?;
        let whole: Vec<Window> = operands.nodes.results().map(|x| Window::whole(x.shape())).collect();
        let windows = operands.nodes.windows(&whole)?;
        // Operands that are inputs are read where they are, and the others are stored.
        let computed = operands.nodes.results().filter(|operand| operand.leaf().is_none());
        let computed = computed.map(|operand| operand.len().saturating_mul(operand.dtype().size()));
        let bytes = computed.fold(operands.nodes.bytes(&windows), usize::saturating_add);
        let reading = operands.nodes.reading(&windows) + CHUNK;
        let stand_ins = { values.iter() }.map(|value| stand_in(value.dtype(), value.0.shape.clone()));
        let stand_ins = stand_ins.collect::<Result<_>>()?;
        let (kept, reduced) = (Cuts::none(&[]), Cuts::none(&[]));
        let pass = Pass { operands, purpose, axes: Axes::NONE, kept, reduced, stand_ins, reading };
        let held = pass.held().fold(0, usize::saturating_add);
        // The results are computed in memory of their own, and kept in that of the pass.
        Ok(Some((pass, bytes.saturating_add(held).saturating_add(held) <= limit)))
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
            is_exact: false,
            is_reversed: false,
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

    /// The pass for the states of a recurrence, of which `values` are needed, and whether it can be divided into chunks of at most
    /// `limit` bytes.
    ///
    /// A chunk of the outputs begins with the first step of a block. A block therefore takes a small part of the limit, unless the
    /// states before all blocks would then take a large one.
    pub(crate) fn of_recurrence(
        values: &[&Array<'a>],
        inputs: &[&Array<'a>],
        limit: usize,
        stand_in: StandIn<'_, 'a>,
    ) -> Result<FoundPass<'a>> {
        let Some(Kind::Recurrence(of)) = values.first().map(|value| &value.0.kind) else { return Ok(None) };
        // A step in the canonical order has no state before it.
        if of.order == StepOrder::Canonical {
            return Ok(None);
        }
        let (axis, states, steps) = (usize::from(of.axis), of.states(), recurrence::steps(of));
        let mut others: SmallVec<[usize; 4]> = values[0].shape().into();
        if !of.is_state() {
            others.remove(axis);
        }
        let mut space = others.clone();
        space.insert(axis, steps);
        let (space, others) = (Shape::new(&space)?, Shape::new(&others)?);
        let dtypes = &of.step.params[..states];

        // The states of an output that any step may begin with; the pass puts those of the step before in their place.
        let one = StateBlocks { steps: 1, distance: 0 };
        let begun = |dtype: &DType| Ok(recurrence::with_blocks(&stand_in(*dtype, others.clone())?, one));
        let begun = dtypes.iter().map(begun).collect::<Result<Vec<_>>>()?;
        let output = of.inputs().first().map_or(DType::Bool, Array::dtype);
        let output = Array::of(recurrence::begun_with(of, &begun, of.items()), output, space);
        // A node of its own even over an array in memory, which may stand for the result of a pass before this one.
        let broadcast = |state: &Array<'a>| {
            let view = Arc::new(View::BroadcastTo(others.clone()));
            Array::of(Kind::View { arg: state.clone(), view }, state.dtype(), others.clone())
        };
        let initial: Vec<Array<'a>> = of.args[..states].iter().map(broadcast).collect();
        let roots: Vec<&Array<'a>> = std::iter::once(&output).chain(&initial).collect();
        let operands = Chunks::whole(&roots, inputs)?;

        // The bytes of the outputs of a step that are needed.
        let outputs = values.iter().filter(|value| value.rank() > others.rank());
        let outputs: usize = outputs.map(|value| value.dtype().size() * others.elements()).sum();
        let row = dtypes.iter().map(|dtype| others.elements().saturating_mul(dtype.size())).sum::<usize>();
        let mut ways = Ways {
            operands: &operands,
            axes: [axis].into_iter().collect(),
            kept: others.to_vec(),
            reduced: vec![steps],
            partial: 0,
            limit,
            multiple: 1,
            is_exact: false,
            is_reversed: recurrence::is_reversed(of),
        };
        let mut held = row;
        let mut block = None;
        if outputs > 0 {
            let windows = ways.windows((&Cuts::none(&ways.kept), 0), (&Cuts::at(&ways.reduced, 0, 1), 0))?;
            let step = operands.nodes.bytes(&windows).saturating_add(outputs);
            // The states before all blocks take at most a quarter of the limit, if those before one do.
            let fewest = match limit / 4 / row.max(1) {
                0 => steps,
                blocks => steps.div_ceil(blocks),
            };
            let rows = (limit / 16 / step).max(fewest).clamp(1, steps);
            held = row.saturating_add(steps.div_ceil(rows).saturating_mul(row));
            (ways.multiple, ways.is_exact, block) = (rows, true, Some(rows));
        }
        ways.limit = limit.saturating_sub(held);
        let ((kept, reduced, reading), fits) = match ways.best()? {
            Some(best) => (best, held <= limit),
            None => {
                ((Cuts::smallest(&ways.kept), Cuts::at(&[steps], 0, ways.multiple), f64::INFINITY), false)
            }
        };
        let Ways { axes, is_reversed, .. } = ways;
        let mut stand_ins = Vec::new();
        for dtype in dtypes {
            stand_ins.push(stand_in(*dtype, others.clone())?);
        }
        if let Some(steps) = block {
            for dtype in dtypes {
                let first = stand_in(*dtype, others.clone())?;
                stand_ins.push(recurrence::with_blocks(&first, StateBlocks { steps, distance: 0 }));
            }
        }
        let purpose = Purpose::States { count: states, block, is_reversed };
        Ok(Some((Pass { operands, purpose, axes, kept, reduced, stand_ins, reading }, fits)))
    }

    /// The arrays that replace the nodes that the pass computes: a stand-in for a reduction and for a last state, a scan with known
    /// totals for a scan, and an output that begins with known states for an output.
    pub(crate) fn replacements(&self, of: &[Array<'a>]) -> Vec<Array<'a>> {
        let level = match self.purpose {
            Purpose::Reductions(_) | Purpose::Routine { .. } => return self.stand_ins.clone(),
            Purpose::States { count, .. } => {
                let (last, before) = self.stand_ins.split_at(count);
                let known = |array: &Array<'a>| {
                    let Kind::Recurrence(of) = &array.0.kind else { return array.clone() };
                    let item = of.item as usize;
                    if of.is_state() {
                        return last[item].clone();
                    }
                    let kind = recurrence::begun_with(of, before, item);
                    Array::of(kind, array.dtype(), array.0.shape.clone())
                };
                return of.iter().map(known).collect();
            }
            Purpose::Totals { level, .. } => level,
        };
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

    /// The size in bytes of `elements` elements of every operand together. Initial states do not count.
    pub(crate) fn bytes(&self, elements: usize) -> usize {
        let rank = self.operands.nodes.results().next().map_or(0, Array::rank);
        let operands = self.operands.nodes.results().filter(|operand| operand.rank() == rank);
        elements.saturating_mul(operands.map(|operand| operand.dtype().size()).sum())
    }

    /// The bytes that are kept for each stand-in until the results are computed.
    pub(crate) fn held(&self) -> impl Iterator<Item = usize> {
        self.stand_ins.iter().map(|stand_in| {
            let blocks = stand_in.in_memory().and_then(|data| data.blocks);
            let steps: usize = self.reduced.shape().iter().product();
            let times = blocks.map_or(1, |blocks| steps.div_ceil(blocks.steps));
            stand_in.len().saturating_mul(stand_in.dtype().size()).saturating_mul(times)
        })
    }

    /// The window of the elements that a chunk contains, given the index of its box of the results and the index of its box of
    /// the reduced axes.
    pub(crate) fn window(&self, kept: usize, reduced: usize) -> Window {
        if let Purpose::Routine { .. } = self.purpose {
            let first = self.operands.nodes.results().next();
            return Window::whole(first.map_or(&[], |first| first.shape()));
        }
        window(&self.operands, self.axes, self.is_reversed(), (&self.kept, kept), (&self.reduced, reduced))
    }

    /// For each operand, the window that a chunk contains.
    pub(crate) fn wanted(&self, kept: usize, reduced: usize) -> Vec<Window> {
        if let Purpose::Routine { .. } = self.purpose {
            return self.operands.nodes.results().map(|operand| Window::whole(operand.shape())).collect();
        }
        wanted(&self.operands, self.axes, &self.window(kept, reduced))
    }

    fn is_reversed(&self) -> bool {
        matches!(self.purpose, Purpose::States { is_reversed: true, .. })
    }
}

/// The window of the elements with box `i` of the kept axes and box `j` of the reduced axes.
fn window(
    of: &Chunks<'_>,
    axes: Axes,
    is_reversed: bool,
    (kept, i): (&Cuts, usize),
    (reduced, j): (&Cuts, usize),
) -> Window {
    let along = reduced.get(j).into_iter().zip(reduced.shape());
    let mut along = along.map(|(range, extent)| match is_reversed {
        true => extent - range.end..extent - range.start,
        false => range,
    });
    let mut kept = kept.get(i).into_iter();
    let rank = of.nodes.results().next().map_or(0, Array::rank);
    let next = |axis| if axes.contains(axis) { along.next() } else { kept.next() };
    Window(
        (0..rank)
            .map(next)
            .map(|range| range.map_or(indices(0, 1, 0), |range| indices(range.start, 1, range.len())))
            .collect(),
    )
}

/// For each operand, its part of a window of the elements: initial states lack the axis.
fn wanted(of: &Chunks<'_>, axes: Axes, window: &Window) -> Vec<Window> {
    let kept = window.0.iter().enumerate().filter(|(axis, _)| !axes.contains(*axis));
    let kept = Window(kept.map(|(_, slice)| *slice).collect());
    let whole = window.0.len();
    of.nodes.results().map(|root| if root.rank() == whole { window.clone() } else { kept.clone() }).collect()
}

impl Ways<'_, '_> {
    /// The divisions of the results and of the reduced axes with the lowest cost of reading, and this cost; `None` if no chunk
    /// fits.
    fn best(&self) -> Result<Option<(Cuts, Cuts, f64)>> {
        let whole = Cuts::none(&self.reduced);
        let smallest = match self.multiple {
            1 if !self.is_exact => Cuts::smallest(&self.reduced),
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
            let reduced = match self.is_exact {
                true => fits(&smallest)?.then(|| smallest.clone()),
                false => Cuts::largest(&self.reduced, fits)?,
            };
            let Some(reduced) = reduced else { continue };
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
        let window = window(self.operands, self.axes, self.is_reversed, kept, reduced);
        self.operands.nodes.windows(&wanted(self.operands, self.axes, &window))
    }
}
