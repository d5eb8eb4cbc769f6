//! Runs a stage that scans: tiles are stored in the memory of the results and [scanned](crate::engine::scanned) there.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom_core::{Error, ErrorKind, Result};
use broadloom_mem::{Operands, Region};

use super::overlaps;
use crate::engine::execute::StageRun;
use crate::engine::outcome::Pace;
use crate::engine::scanned::{STRETCH, Scanned, Share, Store, Tiles};

impl StageRun<'_> {
    /// Stores and scans all elements. The output is written completely, in row-major order.
    pub(in crate::engine) fn scan(
        &self,
        scanned: &Scanned,
        operands: &mut Operands<'_>,
        threads: usize,
    ) -> Result<()> {
        let threads_of_runs = threads.min(scanned.count);
        let in_tiles = scanned.tiles.is_some() && threads_of_runs == threads;
        let of_kernel = self.prepared.stage.kernel.inputs.len();
        if !in_tiles && scanned.plan.elements() > 0 {
            self.store(&scanned.plan, &mut operands.with_inputs(of_kernel), threads)?;
        }
        let (inputs, mut outputs) = operands.slices().ok_or_else(overlaps)?;
        let Some(out) = outputs.first_mut() else { return Ok(()) };
        if scanned.plan.elements() == 0 {
            scanned.fill(out);
            return Ok(());
        }
        let totals = match inputs.get(of_kernel) {
            Some((region, _)) => region.elements(0..scanned.bytes_of_totals()).ok_or_else(no_totals)?,
            None => &[],
        };
        let shares = scanned.shares(out, in_tiles, threads_of_runs);
        let (next, outcome) = (AtomicUsize::new(0), &self.outcome);
        let store = |tiles: &Tiles, block: usize, out: &mut [u8]| self.tile(tiles, block, &inputs, out);
        let store = in_tiles.then_some(&store as Store<'_>);
        outcome.share(threads_of_runs, &|| {
            while let number = next.fetch_add(1, Ordering::Relaxed)
                && let Some((runs, memory)) = shares.get(number)
                && !outcome.has_stopped()
            {
                let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                let share = Share { number, runs: runs.clone(), memory: &mut memory, totals };
                outcome.part(0, || scanned.run(share, &mut Pace::new(outcome, STRETCH), store));
            }
        })
    }

    /// Computes the elements of a block, and stores them in `out`.
    fn tile(
        &self,
        tiles: &Tiles,
        block: usize,
        inputs: &[(Region<'_>, isize)],
        out: &mut [u8],
    ) -> Result<()> {
        let block = tiles.cut.block(block);
        let stage = &self.prepared.stage;
        let mut operands = Operands::default();
        for ((&(region, from), input), dtype) in inputs.iter().zip(&stage.inputs).zip(&stage.kernel.inputs) {
            operands.read_from(region, from + block.offset(input, *dtype));
        }
        operands.write(out.into());
        self.store(&tiles.plans[usize::from(block.rows != tiles.cut.rows)], &mut operands, 1)
    }
}

/// The error for totals whose memory is not contiguous.
fn no_totals() -> Error {
    Error::new(ErrorKind::Internal, "the totals before a scan are not contiguous")
}
