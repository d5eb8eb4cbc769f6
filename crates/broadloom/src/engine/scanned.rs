//! The loops of a stage that scans: each element along an axis is accumulated with the previous ones.
//!
//! A *run* consists of all elements at one index of the axes before the scanned axis; a *row* consists of the elements of a run
//! at one index of the scanned axis. Elements are stored in the results' memory, tile by tile, and each tile is scanned in place
//! while it is in cache. A tile is several complete runs, or the next rows of a long run. A run is scanned by one thread. If
//! there are fewer runs than threads, or tiles are not possible, all threads first store all elements. The bits depend on the
//! elements alone.

use broadloom_ir::tuning::executors::SCAN;
use broadloom_ir::tuning::reductions::SCANNED_BYTES;
use std::ops::Range;
use std::sync::Mutex;

use broadloom_core::fuse::{Beginning, Stage};
use broadloom_core::{DType, Layout, Result};
use broadloom_ir::Scan;
use broadloom_ir::loop_plan::{AccessClass, LoopOperand, LoopPlan, LoopPlanError};
use broadloom_reduce::ScanState;

use crate::engine::blocks::Cut;
use crate::engine::outcome::Pace;
use crate::engine::stored::stored;

/// Bytes that are scanned between two checks for cancellation. Rows of more bytes are scanned in strips of columns.
pub(crate) const STRETCH: usize = 1 << 20;

/// The loops of a stage that scans.
pub(crate) struct Scanned {
    /// The loops that store all elements. In the memory of each run, elements begin after the run's initial ones.
    pub plan: LoopPlan,
    /// The tiles in which elements are stored; `None` if a row is too long for a tile, if an input is packed, or if there are no
    /// elements.
    pub tiles: Option<Tiles>,
    scan: Scan,
    dtype: DType,
    /// The number of elements in a row. The columns are scanned independently of each other.
    width: usize,
    /// The number of runs.
    pub count: usize,
    /// Bytes of the initial elements of a run, and of the whole run including them.
    front: usize,
    bytes: usize,
    /// The blocks of elements before each run, if the scan continues an earlier one.
    before: Option<Blocks>,
}

/// The blocks of 2^level elements that precede a run, whose totals are inputs of the scan.
#[derive(Clone, Copy)]
struct Blocks {
    level: u8,
    count: usize,
    /// The number of blocks per run whose totals are in memory. The first `count` of them precede the run.
    known: usize,
}

/// A function that computes the elements of the block with this number, and stores them in this memory.
pub(crate) type Store<'s> = &'s (dyn Fn(&Tiles, usize, &mut [u8]) -> Result<()> + Sync);

/// The unit that a thread takes: some runs, with the memory of their results. If a unit is a block of the tiles, `number` is the
/// number of the block.
pub(crate) struct Share<'m> {
    pub number: usize,
    pub runs: Range<usize>,
    pub memory: &'m mut [u8],
    /// The totals of the blocks before each run of the stage; empty if the scan continues no earlier one.
    pub totals: &'m [u8],
}

/// The tiles of a scan.
pub(crate) struct Tiles {
    /// The division into blocks, each of which is a tile: blocks of complete runs or, if `is_along`, blocks of the rows of each
    /// run.
    pub cut: Cut,
    is_along: bool,
    /// The loops of a block, and of the last block along the last divided axis.
    pub plans: [LoopPlan; 2],
}

impl Tiles {
    /// The tiles of a stage whose output has the layout `outputs`. `plan` is the plan of the loops over all elements.
    fn new(stage: &Stage, axis: usize, outputs: &Layout, plan: &LoopPlan) -> Option<Tiles> {
        let shape = &stage.shape;
        let item = stage.kernel.output_dtypes().next()?.size();
        let row = shape[axis + 1..].iter().product::<usize>() * item;
        let run = row * shape[axis];
        // Packing reads squares of many rows, for which tiles of few rows are unsuitable.
        let is_packed =
            |operand: &LoopOperand| operand.class() == AccessClass::Packed && !operand.is_generated();
        if shape.elements() == 0 || row > STRETCH || plan.operands().iter().any(is_packed) {
            return None;
        }
        // If no axes come before the scanned one, there is only one run.
        let is_along = run > SCANNED_BYTES || axis == 0;
        let (extents, bytes) = if is_along { (&shape[..=axis], row) } else { (&shape[..axis], run) };
        let cut = Cut::new(extents, (SCANNED_BYTES / bytes).max(1), bytes);
        let plan = |rows: usize| {
            let part = cut.part(stage, rows).ok()?;
            // The memory of a tile of rows begins after the initial elements of the run.
            let offset = if is_along { 0 } else { outputs.offset };
            let output = Layout { shape: part.shape.clone(), offset, ..outputs.clone() };
            stored(&part, &[output]).ok()
        };
        let plans = [plan(cut.rows)?, plan(cut.rows_of_last())?];
        Some(Tiles { cut, is_along, plans })
    }
}

impl Scanned {
    /// The loops of a stage; `None` if the stage does not scan.
    pub(crate) fn of(stage: &Stage) -> Option<std::result::Result<Scanned, LoopPlanError>> {
        let (scan, axis) = stage.scan()?;
        let (dtype, shape) = (stage.kernel.output_dtypes().next()?, &stage.shape);
        let width: usize = shape[axis + 1..].iter().product();
        let initial = usize::from(stage.beginning == Beginning::Initial);
        let front = initial * width;
        // The layout of the elements within the results; it begins after the initial elements of the first run.
        let (_, shape_of_results) = stage.results().next()?;
        let results = Layout::contiguous(shape_of_results);
        let output = Layout { shape: shape.clone(), offset: front as isize, ..results };
        let of = |plan: LoopPlan| Scanned {
            tiles: Tiles::new(stage, axis, &output, &plan),
            plan,
            scan,
            dtype,
            width,
            count: shape[..axis].iter().product(),
            front: front * dtype.size(),
            bytes: width * (shape[axis] + initial) * dtype.size(),
            before: match (stage.beginning, stage.inputs.last()) {
                (Beginning::After { blocks: count, level }, Some(totals)) => {
                    Some(Blocks { level, count, known: totals.layout.shape[axis] })
                }
                _ => None,
            },
        };
        Some(stored(stage, std::slice::from_ref(&output)).map(of))
    }

    /// The number of bytes of the totals before all runs.
    pub(crate) fn bytes_of_totals(&self) -> usize {
        self.before.map_or(0, |before| self.count * before.known * self.width * self.dtype.size())
    }

    /// Begins a run with the totals of the blocks before it. Of each row, only the columns in this range of bytes are scanned.
    fn begin(&self, state: &mut ScanState, totals: &[u8], run: usize, columns: Range<usize>) {
        state.reset();
        let Some(Blocks { level, count, known }) = self.before else { return };
        let row = self.width * self.dtype.size();
        for total in totals[run * known * row..][..count * row].chunks_exact(row) {
            state.push_total(level, &total[columns.clone()]);
        }
    }

    /// Whether there are no results.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 || self.bytes == 0
    }

    /// The approximate nanoseconds that scanning takes in addition to storing.
    pub(crate) fn time(&self) -> f64 {
        SCAN * self.plan.elements() as f64
    }

    /// Fills memory with the initial value of the scan.
    pub(crate) fn fill(&self, out: &mut [u8]) {
        let (item, first) = (self.dtype.size(), self.scan.initial(self.dtype).bits.to_le_bytes());
        out.chunks_exact_mut(item).for_each(|element| element.copy_from_slice(&first[..item]));
    }

    /// Divides the results into units for threads. A unit is a block of complete runs, or one long run. If the elements are
    /// stored already, a unit is several runs.
    pub(crate) fn shares<'m>(
        &self,
        mut out: &'m mut [u8],
        in_tiles: bool,
        threads: usize,
    ) -> Vec<(Range<usize>, Mutex<&'m mut [u8]>)> {
        let blocks = self.tiles.as_ref().filter(|tiles| in_tiles && !tiles.is_along).map(|tiles| &tiles.cut);
        let together = (SCANNED_BYTES / self.bytes).clamp(1, self.count.div_ceil(threads));
        let runs_of = |number: usize, from: usize| match blocks {
            Some(cut) => cut.block(number).rows,
            None if in_tiles => 1,
            None => together.min(self.count - from),
        };
        let mut shares = Vec::new();
        let mut next = 0;
        while next < self.count {
            let runs = next..next + runs_of(shares.len(), next);
            let (memory, others) = std::mem::take(&mut out).split_at_mut(runs.len() * self.bytes);
            (next, out) = (runs.end, others);
            shares.push((runs, Mutex::new(memory)));
        }
        shares
    }

    /// Scans the runs of a unit. `store` first stores their elements; it is `None` if they are stored already.
    ///
    /// Errors: those of `store`, and cancellation of the run.
    pub(crate) fn run(&self, share: Share<'_>, pace: &mut Pace<'_>, store: Option<Store<'_>>) -> Result<()> {
        let Share { number: block, runs, memory: out, totals } = share;
        let (item, row) = (self.dtype.size(), self.width * self.dtype.size());
        let mut state = ScanState::new(self.scan, self.dtype, self.width.min(STRETCH / item))?;
        let tiles = store.and_then(|store| Some((store, self.tiles.as_ref()?)));
        if let Some((store, tiles)) = tiles.filter(|(_, tiles)| !tiles.is_along) {
            store(tiles, block, out)?;
        }
        let is_stored = tiles.is_none_or(|(_, tiles)| !tiles.is_along);
        if is_stored && self.width == 1 && self.front == 0 && self.before.is_none() && self.bytes <= STRETCH {
            for some in out.chunks_mut(self.bytes * (STRETCH / self.bytes)) {
                pace.again(some.len())?;
                state.scan_each(self.bytes / item, some);
            }
            return Ok(());
        }
        for (number, run) in runs.zip(out.chunks_exact_mut(self.bytes)) {
            let (head, elements) = run.split_at_mut(self.front);
            self.fill(head);
            if row > STRETCH {
                self.scan_strips(elements, &mut state, (totals, number), pace)?;
                continue;
            }
            self.begin(&mut state, totals, number, 0..row);
            let tile = match tiles {
                Some((_, tiles)) if tiles.is_along => tiles.cut.rows * row,
                _ => row * (STRETCH / row),
            };
            for (i, stretch) in elements.chunks_mut(tile).enumerate() {
                if let Some((store, tiles)) = tiles.filter(|(_, tiles)| tiles.is_along) {
                    store(tiles, number * tiles.cut.per_index() + i, stretch)?;
                }
                // The elements were already counted as progress when they were stored.
                pace.again(stretch.len())?;
                state.push_in_place(stretch);
            }
        }
        Ok(())
    }

    /// Scans a run of long rows in place, one strip of columns after another.
    fn scan_strips(
        &self,
        elements: &mut [u8],
        state: &mut ScanState,
        (totals, run): (&[u8], usize),
        pace: &mut Pace<'_>,
    ) -> Result<()> {
        let row = self.width * self.dtype.size();
        for from in (0..row).step_by(STRETCH) {
            let columns = from..row.min(from + STRETCH);
            let mut narrower;
            let state = if columns.len() == STRETCH {
                &mut *state
            } else {
                narrower = ScanState::new(self.scan, self.dtype, columns.len() / self.dtype.size())?;
                &mut narrower
            };
            self.begin(state, totals, run, columns.clone());
            for row in elements.chunks_exact_mut(row) {
                pace.again(columns.len())?;
                state.push_in_place(&mut row[columns.clone()]);
            }
        }
        Ok(())
    }
}
