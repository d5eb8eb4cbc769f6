//! Finds the first index that is out of range, for the error of a stage that has met one.
//!
//! Executors note only that a position is outside of its table. The positions are then computed once more, in C order and by the
//! interpreter, until the first that is outside. This costs nothing while no index is out of range, and every executor and number
//! of threads names the same one.
//!
//! Stages that can't run once more have an error without a name: row blocks, recurrences, loops, host functions, chunks, and
//! outputs that overlap what they are computed from.

use broadloom_core::fuse::Stage;
use broadloom_core::{Error, ErrorKind, Result};
use broadloom_interp::Interpreter;
use broadloom_ir::kernel::Code;
use broadloom_ir::{Kernel, Purpose};
use broadloom_mem::{
    AliasPolicy, Block, Buffer, ExecutableKernel, FloatEnv, KernelExecutor, KernelRun, Nest, Operands,
    Stores, typed,
};

use crate::engine::execute::{Workspace, memory, out_of_range, unnamed, walk, with_workspace};
use crate::engine::place::place;
use crate::engine::plan_run::Arguments;
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::{Accesses, Request};
use crate::engine::stored::in_order;
use crate::engine::watch::Watch;

/// The number of positions that are computed at a time.
const SOME: usize = 1024;

/// A position outside of a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Outside {
    /// The number of the element in the stage's index space, in C order.
    element: usize,
    /// The number of the table.
    table: u32,
    position: i64,
}

impl PreparedStage {
    /// The error of a stage that has read a position outside of a table. It names the first one if the stage can run once more,
    /// and is that of the watch if the search is cancelled or exceeds the time limit.
    pub(super) fn out_of_range(
        &self,
        request: &Request<'_>,
        inputs: &mut Operands<'_>,
        arguments: Arguments<'_>,
        watch: Option<&Watch<'_>>,
    ) -> Error {
        let _ieee = FloatEnv::ieee();
        match self.first_outside(request, inputs, arguments, watch) {
            Ok(Some(outside)) => named(&self.stage, outside),
            Err(error) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::TimeLimit) => error,
            Ok(None) | Err(_) => unnamed(),
        }
    }

    fn first_outside(
        &self,
        request: &Request<'_>,
        inputs: &mut Operands<'_>,
        arguments: Arguments<'_>,
        watch: Option<&Watch<'_>>,
    ) -> Result<Option<Outside>> {
        let kernel = &self.stage.kernel;
        // A host function may have effects, and fail.
        if self.stage.recurrence.is_some() || !kernel.functions.is_empty() {
            return Ok(None);
        }
        let plan = in_order(&self.stage).map_err(|e| memory(&e))?;
        let mut first: Option<Outside> = None;
        for inst in kernel.gathers() {
            let Code::Gather { table, .. } = kernel.body[inst].code else { continue };
            let positions = Kernel { outputs: vec![kernel.body[inst].args[0].into()], ..(**kernel).clone() };
            let mut nest = Nest::bind(&plan, inputs).map_err(|e| memory(&e))?;
            let access: Accesses = nest.accesses().collect();
            let program =
                Interpreter.prepare(&positions, &self.functions, &access, request.width, Purpose::Store)?;
            let mut search =
                Search { program: &*program, arguments, table, sites: self.sites, watch, found: None };
            let mut parts = nest.split(1, AliasPolicy::Copy);
            let done = with_workspace(|Workspace { scratch, memory, .. }| {
                parts.try_for_each(|part| walk(part, false, scratch, |block| search.block(block, memory)))
            });
            if search.found.is_none() {
                done?;
            }
            first = first.into_iter().chain(search.found).min();
        }
        Ok(first)
    }
}

/// The search for the first position of a gather that is outside.
struct Search<'s> {
    program: &'s dyn ExecutableKernel,
    arguments: Arguments<'s>,
    table: u32,
    sites: usize,
    watch: Option<&'s Watch<'s>>,
    found: Option<Outside>,
}

impl Search<'_> {
    /// Searches a block. Once a position is found, this fails, which ends the walk.
    fn block(&mut self, block: &mut Block<'_>, memory: &mut broadloom_mem::WorkingMemory) -> Result<()> {
        let Arguments { params, tables } = self.arguments;
        let elements = tables.get(self.table as usize).map_or(0, |table| table.elements()) as i64;
        let mut buffer = Buffer::zeroed(8 * SOME).map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))?;
        for row in 0..block.rows() {
            for start in (0..block.cols()).step_by(SOME) {
                if let Some(watch) = self.watch {
                    watch.check()?;
                }
                let cols = start..block.cols().min(start + SOME);
                let (count, first) = (cols.len(), block.first_of(row) + start);
                let bytes = buffer.as_bytes_mut().unwrap_or_default();
                let (faults, stores) = (&mut vec![0; self.sites][..], Stores::Cached);
                block.with_outputs(row..row + 1, cols, 0, [(&mut *bytes, 8)].into_iter(), |block| {
                    let mut run = KernelRun { params, tables, faults, stores, memory, loops: None };
                    self.program.run(block, &mut run)
                })?;
                let positions = typed::<i64>(&bytes[..8 * count]).unwrap_or_default();
                if let Some(col) = positions.iter().position(|position| !(0..elements).contains(position)) {
                    let (table, position) = (self.table, positions[col]);
                    self.found = Some(Outside { element: first + col, table, position });
                    return Err(unnamed());
                }
            }
        }
        Ok(())
    }
}

/// The error that names an index by its place and, for a table of one axis, its value: positions of such a table are indices, to
/// which the number of elements was added if they are negative.
fn named(stage: &Stage, Outside { element, table, position }: Outside) -> Error {
    let place = place(&stage.shape, element);
    let of = &stage.tables[table as usize].layout.shape;
    let elements = of.elements() as i64;
    out_of_range(match (of.rank(), elements) {
        (_, 0) => format!("take: an element at {place} of {of}, which has none"),
        (1, _) if position == i64::MAX => {
            format!("take: an index is out of range for {elements} elements, at {place}")
        }
        (1, _) => {
            let index = if position < 0 { position.wrapping_sub(elements) } else { position };
            format!("take: index {index} is out of range for {elements} elements, at {place}")
        }
        _ => format!("take: an index is out of range for {of}, at {place}"),
    })
}
