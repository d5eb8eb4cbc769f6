//! The tile that a stage's kernel computes elements into before they are combined.
//!
//! The loops around the kernel are planned for each tile: they pack what does not follow each other in memory, and read the
//! rest in place.

use std::ops::ControlFlow;

use broadloom_core::fuse::Source;
use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::VectorWidth;
use broadloom_ir::loop_plan::{AccessClass, LoopPlan, OperandLayout};
use broadloom_mem::{
    Access, AliasPolicy, AllocError, Block, Buffer, KernelRun, Nest, Operands, Region, RowOperand, Stores,
    View, ViewMut, WorkingMemory, has_failed,
};
use broadloom_reduce::LANES;
use smallvec::SmallVec;

use super::fold::{Fold, Partials};
use crate::engine::execute::with_workspace;
use crate::engine::geometry::{Form, Run};
use crate::engine::outcome::Pace;
use crate::engine::runtime::Executable;

type Accesses = SmallVec<[Access; 8]>;

/// The loops over a tile, which are the same wherever in memory it lies.
struct TilePlan {
    extents: SmallVec<[usize; 4]>,
    is_across: bool,
    loops: LoopPlan,
    access: Accesses,
    /// For each input, how many bytes before its first element it reaches.
    before: SmallVec<[usize; 4]>,
}

/// The tiles of one thread, and what runs kernels into them.
pub struct Tiles<'f> {
    fold: &'f Fold<'f>,
    /// One for each output.
    buffers: SmallVec<[Buffer; 2]>,
    plans: Vec<TilePlan>,
    /// What interprets tiles whose inputs are accessed otherwise than in the first.
    others: Vec<(Accesses, Executable)>,
    /// The divisions by zero that were met.
    pub faults: SmallVec<[u8; 8]>,
    /// How far the thread is.
    pub pace: Pace<'f>,
}

impl<'f> Fold<'f> {
    /// How inputs are accessed in the first tile.
    pub fn first_access(&self) -> Result<Accesses> {
        let (run, form) = self.first_tile();
        Ok(TilePlan::new(self, &run, form)?.access)
    }

    fn first_tile(&self) -> (Run, Form) {
        let geometry = self.geometry;
        let (range, starts) = geometry.piece(0);
        let (form, limit) = match geometry.form {
            Form::Panel { rows } => {
                let cols = geometry.reduced.last().map_or(1, |dim| dim.extent);
                let run = geometry.panel(&starts, 0, rows, 0, cols.min((geometry.panel / rows).max(LANES)));
                return (run, geometry.form);
            }
            Form::Rows { results: 2.. } => (Form::Rows { results: range.len() }, geometry.count),
            _ => (Form::Across { width: range.len() }, (geometry.tile / range.len().max(1)).max(1)),
        };
        (geometry.run(&starts, 0, geometry.count, limit), form)
    }

    fn is_generated(&self, input: usize) -> bool {
        self.prepared.stage.inputs[input].source == Source::Index
    }
}

/// The extents of a tile, and the strides of an input over it, in elements.
fn extents(fold: &Fold<'_>, run: &Run, form: Form) -> SmallVec<[usize; 4]> {
    let (front, back) = form.around();
    let inner = fold.geometry.extents_of(run).map(|(extent, _)| extent);
    front.into_iter().chain(inner).chain(back).collect()
}

fn strides(fold: &Fold<'_>, run: &Run, form: Form, input: usize) -> SmallVec<[isize; 4]> {
    let (front, back) = form.around();
    let of_kept = fold.geometry.kept.last().map_or(0, |dim| dim.strides[input]);
    let inner = fold.geometry.extents_of(run).map(|(_, dim)| dim.strides[input]);
    front.map(|_| of_kept).into_iter().chain(inner).chain(back.map(|_| of_kept)).collect()
}

/// The strides of a tile itself, in bytes.
fn contiguous(extents: &[usize], item: usize) -> SmallVec<[isize; 4]> {
    let mut step = item as isize;
    let mut strides: SmallVec<[isize; 4]> = SmallVec::new();
    for &extent in extents.iter().rev() {
        strides.push(step);
        step *= extent as isize;
    }
    strides.reverse();
    strides
}

fn memory(e: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Memory, e.to_string())
}

/// Adds the bytes of an input from this one on.
fn read<'a>(operands: &mut Operands<'a>, region: &Region<'a>, start: Option<usize>) -> Result<()> {
    let start = start.filter(|&start| start <= region.len());
    let is_read = start.is_some_and(|start| operands.read(region.skip(start)));
    if is_read { Ok(()) } else { Err(Error::new(ErrorKind::Memory, "a tile outside of its memory")) }
}

/// Asks for memory that tiles behind this one read.
fn ask_ahead(fold: &Fold<'_>, run: &Run) {
    for ((region, dtype), &start) in
        fold.inputs.iter().zip(&fold.prepared.stage.kernel.inputs).zip(&run.starts)
    {
        let start = usize::try_from(start).ok().and_then(|start| start.checked_mul(dtype.size()));
        if let (Some(bytes), Some(start)) = (region.as_slice(), start) {
            broadloom_mem::ask_ahead(bytes, start, run.count * dtype.size());
        }
    }
}

/// Adds so many elements of each tile, which have memory of their own.
fn write<'a>(
    operands: &mut Operands<'a>,
    tiles: &'a mut [Buffer],
    fold: &Fold<'_>,
    count: usize,
) -> Result<()> {
    for (buffer, dtype) in tiles.iter_mut().zip(&fold.dtypes) {
        let bytes = buffer.as_bytes_mut().and_then(|bytes| bytes.get_mut(..count * dtype.size()));
        if !operands.write_slice(bytes.unwrap_or(&mut [])) {
            return Err(Error::new(ErrorKind::Internal, "a tile in the memory of an input"));
        }
    }
    Ok(())
}

impl TilePlan {
    fn new(fold: &Fold<'_>, run: &Run, form: Form) -> Result<TilePlan> {
        let extents = extents(fold, run, form);
        let kernel = &fold.prepared.stage.kernel;
        let mut before: SmallVec<[usize; 4]> = SmallVec::new();
        let mut items: SmallVec<[(usize, isize, bool); 8]> = SmallVec::new();
        let mut all: SmallVec<[SmallVec<[isize; 4]>; 8]> = SmallVec::new();
        for (i, dtype) in kernel.inputs.iter().enumerate() {
            let (item, is_generated) = (dtype.size(), fold.is_generated(i));
            let mut strides = strides(fold, run, form, i);
            strides.iter_mut().for_each(|stride| *stride *= item as isize);
            let back = |(&extent, &stride): (&usize, &isize)| (extent as isize - 1) * stride.min(0);
            let reach: isize = extents.iter().zip(&strides).map(back).sum();
            before.push(reach.unsigned_abs());
            items.push((item, -reach, is_generated));
            all.push(strides);
        }
        for dtype in &fold.dtypes {
            items.push((dtype.size(), 0, false));
            all.push(contiguous(&extents, dtype.size()));
        }
        let layouts = items.iter().zip(&all).map(|(&(item, offset, is_generated), strides)| OperandLayout {
            item,
            offset,
            strides,
            is_generated,
        });
        let loops = LoopPlan::new(&extents, kernel.inputs.len(), layouts, LoopPlan::MIN_ROW);
        let loops = loops.map_err(|e| memory(&e))?;
        let access = loops.accesses().collect();
        Ok(TilePlan { extents, is_across: form.is_across(), loops, access, before })
    }
}

impl<'f> Tiles<'f> {
    pub fn new<'a: 'f>(fold: &'f Fold<'a>) -> Tiles<'f> {
        let faults = SmallVec::from_elem(0, fold.outcome.sites());
        let pace = Pace::new(fold.outcome, fold.prepared.pause);
        Tiles { fold, buffers: SmallVec::new(), plans: Vec::new(), others: Vec::new(), faults, pace }
    }

    /// The first elements of each output's tile.
    pub fn elements(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        let tiles = self.buffers.iter().zip(&self.fold.dtypes);
        tiles.filter_map(move |(buffer, dtype)| buffer.as_bytes().get(..count * dtype.size()))
    }

    /// Computes the elements of a run, of these results: element by element, each for all results, or result by result.
    ///
    /// Errors: also that the run was cancelled.
    pub fn compute(&mut self, run: &Run, form: Form) -> Result<()> {
        let extents = extents(self.fold, run, form);
        self.pace.pass(extents.iter().product())?;
        self.make_buffers(extents.iter().product())?;
        let is_whole = |(i, region): (usize, &Region<'_>)| !self.fold.is_generated(i) && !region.has_gaps();
        if !self.fold.inputs.iter().enumerate().all(is_whole) {
            return self.compute_views(run, form, &extents);
        }
        let known =
            self.plans.iter().position(|plan| plan.extents == extents && plan.is_across == form.is_across());
        let known = match known {
            Some(known) => known,
            None => {
                self.plans.push(TilePlan::new(self.fold, run, form)?);
                self.plans.len() - 1
            }
        };
        let Tiles { fold, buffers, plans, others, faults, .. } = self;
        let plan = &plans[known];
        let kernel = &fold.prepared.stage.kernel;
        let mut operands = Operands::default();
        for (i, (region, dtype)) in fold.inputs.iter().zip(&kernel.inputs).enumerate() {
            let at = (run.starts[i] * dtype.size() as isize).checked_sub_unsigned(plan.before[i]);
            read(&mut operands, region, at.and_then(|at| usize::try_from(at).ok()))?;
        }
        let count = plan.loops.elements();
        write(&mut operands, buffers, fold, count)?;
        let runner = match fold.first {
            Some((runner, first)) if *first == plan.access[..] => runner,
            _ => other(fold, others, plan.access.clone())?,
        };
        if runner.plan().is_some() && plan.loops.is_linear() {
            // PERF: no nest for the usual tile.
            ask_ahead(fold, run);
            let mut memory = WorkingMemory::default();
            let mut run = kernel_run(fold, faults, &mut memory);
            let done = operands.with_all(&plan.loops, |block| runner.run(block, &mut run));
            return done.map_err(|e| self::memory(&e))?;
        }
        let nest = Nest::bind_operands(&plan.loops, &mut operands);
        execute(fold, &mut nest.map_err(|e| memory(&e))?, runner, faults)
    }

    /// Computes elements of one result, if there are any, and adds them to what each output's are combined to.
    pub fn fold(&mut self, run: &Run, partials: &mut Partials) -> Result<()> {
        if run.count > 0 {
            self.compute(run, Form::Across { width: 1 })?;
            for (partial, tile) in partials.iter_mut().zip(self.elements(run.count)) {
                partial.push(tile);
            }
        }
        Ok(())
    }

    /// Computes nodes of this level that follow each other: a row for each.
    pub fn compute_leaves(&mut self, run: &Run, code: &Executable, level: u8) -> Result<()> {
        self.pace.pass(run.count)?;
        self.make_buffers(run.count >> level)?;
        let Tiles { fold, buffers, faults, .. } = self;
        let mut operands = Operands::default();
        for ((region, dtype), &start) in
            fold.inputs.iter().zip(&fold.prepared.stage.kernel.inputs).zip(&run.starts)
        {
            let start = usize::try_from(start).ok().and_then(|start| start.checked_mul(dtype.size()));
            read(&mut operands, region, start)?;
        }
        write(&mut operands, buffers, fold, run.count >> level)?;
        ask_ahead(fold, run);
        let class = |access: &Access| match access {
            Access::Splat => AccessClass::Uniform,
            _ => AccessClass::Contiguous,
        };
        let kernel = &fold.prepared.stage.kernel;
        let access = fold.first.map_or(&[][..], |(_, access)| access);
        let inputs = kernel.inputs.iter().zip(access).map(|(dtype, access)| (dtype, class(access)));
        let outputs = fold.dtypes.iter().map(|dtype| (dtype, AccessClass::Contiguous));
        let rows = inputs.chain(outputs).map(|(d, class)| RowOperand { item: d.size(), start: 0, class });
        let mut memory = WorkingMemory::default();
        let mut block_run = kernel_run(fold, faults, &mut memory);
        let done = operands.with_row(run.count, level, rows, |block| code.run(block, &mut block_run));
        done.map_err(|e| self::memory(&e))?
    }

    /// Computes a tile of inputs that have gaps or are generated.
    fn compute_views(&mut self, run: &Run, form: Form, extents: &[usize]) -> Result<()> {
        let Tiles { fold, buffers, others, faults, .. } = self;
        let kernel = &fold.prepared.stage.kernel;
        let mut inputs: SmallVec<[View<'_>; 4]> = SmallVec::new();
        for (i, (region, dtype)) in fold.inputs.iter().zip(&kernel.inputs).enumerate() {
            let mut strides = strides(fold, run, form, i);
            let view = if fold.is_generated(i) {
                View::generated(run.starts[i], extents, &strides)
            } else {
                strides.iter_mut().for_each(|stride| *stride *= dtype.size() as isize);
                region.view(dtype.size(), run.starts[i] as usize * dtype.size(), extents, &strides)
            };
            inputs.push(view.map_err(|e| memory(&e))?);
        }
        let mut outputs: SmallVec<[ViewMut<'_>; 2]> = SmallVec::new();
        for (buffer, dtype) in buffers.iter_mut().zip(&fold.dtypes) {
            let bytes = buffer.as_bytes_mut().unwrap_or(&mut []);
            let view = ViewMut::new(bytes, dtype.size(), 0, extents, &contiguous(extents, dtype.size()));
            outputs.push(view.map_err(|e| memory(&e))?);
        }
        let mut nest = Nest::new(extents, &inputs, outputs).map_err(|e| memory(&e))?;
        let access: Accesses = nest.accesses().collect();
        let runner = match fold.first {
            Some((runner, first)) if *first == access[..] => runner,
            _ => other(fold, others, access)?,
        };
        execute(fold, &mut nest, runner, faults)
    }

    /// Makes tiles for so many elements.
    fn make_buffers(&mut self, count: usize) -> Result<()> {
        let dtypes = &self.fold.dtypes;
        let fits =
            self.buffers.iter().zip(dtypes).all(|(buffer, dtype)| buffer.len() >= count * dtype.size());
        if self.buffers.is_empty() || !fits {
            let count = count.max(self.fold.geometry.tile);
            let buffer = |dtype: &DType| {
                let refused = |e: AllocError| Error::new(ErrorKind::Limit, e.to_string());
                Buffer::for_overwrite(count * dtype.size()).map_err(refused)
            };
            self.buffers = dtypes.iter().map(buffer).collect::<Result<_>>()?;
        }
        Ok(())
    }
}

/// What runs a tile whose inputs are accessed otherwise than in the first: the interpreter, for which nothing is compiled.
fn other<'o>(
    fold: &Fold<'_>,
    others: &'o mut Vec<(Accesses, Executable)>,
    access: Accesses,
) -> Result<&'o Executable> {
    let known = others.iter().position(|(of, _)| *of == access);
    let place = match known {
        Some(place) => place,
        None => {
            let prepared = fold.prepared;
            let width = fold.first.map_or_else(VectorWidth::target, |(runner, _)| runner.width());
            let program = || prepared.program(width, &access);
            // What machine code leaves of a run is accessed as the run is, each time.
            let is_rest = fold.first.is_some_and(|(_, first)| *first == access[..]);
            let rest = &prepared.rest[width as usize];
            let program = match rest.get() {
                Some(program) if is_rest => program.clone(),
                None if is_rest => {
                    let made = program()?;
                    rest.get_or_init(|| made).clone()
                }
                _ => program()?,
            };
            others.push((access, program));
            others.len() - 1
        }
    };
    Ok(&others[place].1)
}

/// What the calls of a tile's kernel have in common.
fn kernel_run<'r>(fold: &'r Fold<'_>, faults: &'r mut [u8], memory: &'r mut WorkingMemory) -> KernelRun<'r> {
    KernelRun { params: fold.params, faults, stores: Stores::Cached, memory }
}

/// Runs the kernel over a tile.
fn execute(fold: &Fold<'_>, nest: &mut Nest<'_>, kernel: &Executable, faults: &mut [u8]) -> Result<()> {
    with_workspace(|scratch, memory| {
        let mut failure = None;
        let can_fail = fold.prepared.can_fail;
        let mut run = kernel_run(fold, faults, memory);
        let mut body = |block: &mut Block<'_>| match kernel.run(block, &mut run) {
            Ok(()) if can_fail && has_failed() => ControlFlow::Break(()),
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        };
        let _ = nest.run(AliasPolicy::Copy, scratch, &mut body);
        if let Some(refused) = scratch.take_refusal() {
            failure = Some(Error::new(ErrorKind::Limit, refused.to_string()));
        }
        failure.map_or(Ok(()), Err)
    })
}
