//! The totals of the blocks of a scan, for data larger than memory: any part of the data can be scanned by itself, beginning with
//! the totals of the blocks before it.

use broadloom_core::Result;
use broadloom_ir::Scan;
use broadloom_ir::tuning::executors::SCAN;
use broadloom_mem::FloatEnv;
use broadloom_reduce::ScanState;

use crate::array::Array;
use crate::engine::memory::{buffer, written};
use crate::engine::outcome::{Outcome, Pace};
use crate::engine::scanned::STRETCH;
use crate::engine::watch::{Watch, Work};
use crate::engine::{Control, Engine, Options};

/// The blocks of 2^level elements into which a scan along an axis is divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanBlocks {
    pub scan: Scan,
    pub axis: usize,
    pub level: u8,
}

impl Engine {
    /// Evaluates elements, and computes the total of each complete block of 2^level elements along the axis. Calls `each` with
    /// the index of the run (the elements at one index of the axes before the scanned one), the index of the block in the run,
    /// and the block's total, which has the size of one row.
    ///
    /// Errors: the errors of the evaluation, and cancellation.
    pub(crate) fn block_totals(
        &self,
        elements: &Array<'_>,
        ScanBlocks { scan, axis, level }: ScanBlocks,
        options: &Options,
        control: Option<&Control<'_>>,
        mut each: impl FnMut(usize, usize, &[u8]),
    ) -> Result<()> {
        let (dtype, shape) = (elements.dtype(), elements.shape());
        let columns: usize = shape[axis + 1..].iter().product();
        let row = columns * dtype.size();
        let run = row * shape[axis];
        if run == 0 {
            return Ok(());
        }
        let mut memory = buffer(&self.pool, elements.len() * dtype.size())?;
        self.eval_into(elements, written(&mut memory)?, None, options, control)?;
        let work = Work { elements: elements.len(), time: SCAN * elements.len() as f64 };
        let watch = Watch::over(Watch::begin(control, options)?, work)?;
        let outcome = Outcome::new(0, false, watch.as_ref()).uncounted();
        let _ieee = FloatEnv::ieee();
        let (mut pace, mut state) = (Pace::new(&outcome, STRETCH), ScanState::new(scan, dtype, columns)?);
        for (number, run) in memory.as_bytes_mut().unwrap_or_default().chunks_exact_mut(run).enumerate() {
            for (block, rows) in run.chunks_exact_mut(row << level).enumerate() {
                state.reset();
                for stretch in rows.chunks_mut(row * (STRETCH / row).max(1)) {
                    state.push_in_place(stretch);
                    pace.again(stretch.len())?;
                }
                state.total().into_iter().for_each(|total| each(number, block, total));
            }
        }
        self.pool.give(memory);
        Ok(())
    }
}
