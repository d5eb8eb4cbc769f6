//! An execution plan: the prepared stages of an expression, and the buffers between them.
//!
//! It is made once for an expression and run over any memory of the same layouts. Stages run in their order, or some of them
//! [block by block](crate::engine::row_blocks) of their rows; a stage whose operands are all slices goes to
//! [`PreparedStage::run`] with them, any other is bound to views, whose overlaps are found then. Where an output overlaps an
//! input other than element for element, the stage runs into buffers of its own first.

use broadloom_core::fuse::{self, Source, Stage, Target};
use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Shape};
use broadloom_ir::VectorWidth;
use broadloom_mem::{Buffer, FloatEnv, HostFunction, Nest, NestError, Operands, Region, View, ViewMut};
use smallvec::SmallVec;

use crate::engine::memory::{self, Destination, Memory, contiguous_mut, copy, outputs, view};
use crate::engine::options::Executor;
use crate::engine::plan_run::{PlanRun, param};
use crate::engine::prepared::PreparedStage;
use crate::engine::reduce::{Blocks, Folding};
use crate::engine::row_blocks::{Apart, RowBlocks, Step};
use crate::engine::runtime::Request;
use crate::engine::watch::{Watch, Work};

/// See the module's head.
pub(crate) struct ExecutionPlan {
    pub(super) stages: Vec<PreparedStage>,
    pub(super) temps: Vec<(DType, Shape)>,
    pub(super) roots: Vec<(DType, Shape)>,
    /// What is run in turn.
    pub(super) steps: Vec<Step>,
    /// Why stages that might run block by block do not.
    pub(super) apart: Option<Apart>,
    /// The step that reads each temporary last.
    last_read: Vec<usize>,
    /// Bytes of roots and temporaries.
    bytes: usize,
    work: Work,
}

impl ExecutionPlan {
    pub(super) fn new(plan: fuse::Plan, functions: &[HostFunction]) -> Result<ExecutionPlan> {
        let mut bytes = 0usize;
        for (dtype, shape) in plan.roots.iter().chain(&plan.temps) {
            let size = shape.elements().checked_mul(dtype.size());
            bytes = size.and_then(|s| bytes.checked_add(s)).ok_or_else(|| {
                Error::new(ErrorKind::Limit, "results and temporaries take more bytes than can be addressed")
            })?;
        }
        let called = |stage: &Stage, f: &HostFunction| stage.kernel.functions.contains(f.declaration());
        let can_fail = |stage: &Stage| functions.iter().any(|f| f.can_fail() && called(stage, f));
        let (steps, apart) = RowBlocks::steps(&plan, can_fail)?;
        let last_read = last_reads(&plan, &steps);
        let mut stages: Vec<PreparedStage> =
            plan.stages.into_iter().map(|stage| PreparedStage::new(stage, functions)).collect();
        for blocks in steps.iter().filter_map(Step::blocks) {
            for member in blocks.members.iter().filter(|member| blocks.stays(member)) {
                stages[member.stage].traffic.stays = true;
            }
        }
        let work = stages.iter().map(PreparedStage::work).fold(Work::default(), Work::and);
        Ok(ExecutionPlan {
            stages,
            temps: plan.temps,
            roots: plan.roots,
            steps,
            apart,
            last_read,
            bytes,
            work,
        })
    }

    /// The one stage of a plan that writes the roots, in their order, and nothing else.
    pub(crate) fn single_stage(&self) -> Option<&PreparedStage> {
        match &self.stages[..] {
            [prepared] if self.temps.is_empty() => {
                let roots = (0..self.roots.len() as u32).map(Target::Root);
                prepared.stage.outputs.iter().copied().eq(roots).then_some(prepared)
            }
            _ => None,
        }
    }

    /// Bytes of results and temporaries.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The roots' types.
    pub(crate) fn roots(&self) -> &[(DType, Shape)] {
        &self.roots
    }

    /// The executor of each stage, were it run now.
    pub(crate) fn executors(&self, request: &Request<'_>) -> Vec<Executor> {
        // Estimates are computed in floats, whatever the application has set.
        let _ieee = FloatEnv::ieee();
        self.stages.iter().map(|prepared| prepared.executor(request)).collect()
    }

    /// How wide the vectors of each stage's machine code are, were it run now; `None` for the interpreter.
    pub(crate) fn vector_widths(&self, request: &Request<'_>) -> Vec<Option<VectorWidth>> {
        let _ieee = FloatEnv::ieee();
        self.stages.iter().map(|prepared| prepared.vector_width(request)).collect()
    }

    /// The work of its loops, and about the longest time that it takes.
    pub(crate) fn work(&self) -> Work {
        self.work
    }

    /// Compiles every loop whose inputs are linear, as far as machine code is wanted and available.
    pub(crate) fn compile(&self, request: &Request<'_>) -> Result<()> {
        let _ieee = FloatEnv::ieee();
        self.stages.iter().try_for_each(|prepared| prepared.compile(request))
    }

    /// For each root, the stage that combines elements to it and the number of the output there; none if a root is made in
    /// another way, or by a stage that makes other things too.
    fn folds(&self) -> Option<Vec<(usize, usize)>> {
        let place = |root| {
            self.stages.iter().enumerate().find_map(|(i, PreparedStage { stage, .. })| {
                let output = stage.outputs.iter().position(|target| *target == Target::Root(root))?;
                let only_roots = stage.outputs.iter().all(|target| matches!(target, Target::Root(_)));
                (stage.reduces() && only_roots).then_some((i, output))
            })
        };
        (0..self.roots.len() as u32).map(place).collect()
    }

    /// Combines elements to each root, which are those that follow what `so_far` has come to, from this one of its
    /// reductions on; none, and nothing is run, where a root is not made by a stage that does nothing else.
    pub(super) fn fold(
        &self,
        run: &PlanRun<'_>,
        so_far: &Folding,
        first: usize,
    ) -> Result<Option<Vec<Blocks>>> {
        let Some(places) = self.folds() else { return Ok(None) };
        let width = |root: usize| so_far.width(first + root);
        let first_of = |stage: usize| places.iter().position(|place| place.0 == stage);
        if (0..places.len()).any(|root| first_of(places[root].0).map(width) != Some(width(root))) {
            return Ok(None);
        }
        let mut memory = Memory::new(run.pool, &[], self.temps.len(), SmallVec::new())?;
        let mut made: Vec<Option<Blocks>> = self.roots.iter().map(|_| None).collect();
        let done = self.steps.iter().enumerate().try_for_each(|(at, step)| {
            for i in step.stages() {
                let prepared = &self.stages[i];
                let Some(root) = first_of(i) else {
                    run.stage(prepared, &mut memory)?;
                    continue;
                };
                let blocks = run.fold(prepared, &memory, so_far.count(), width(root))?;
                for (output, blocks) in blocks.into_iter().enumerate() {
                    let root = places.iter().position(|place| *place == (i, output));
                    root.map(|root| made[root].replace(blocks));
                }
            }
            memory.release(run.pool, &self.last_read, at);
            Ok(())
        });
        memory.finish(run.pool, done)?;
        Ok(made.into_iter().collect())
    }

    /// Runs the stages; gives the buffers of the roots that go to new ones.
    pub(super) fn run(
        &self,
        run: &PlanRun<'_>,
        destinations: SmallVec<[Destination<'_>; 2]>,
    ) -> Result<SmallVec<[Option<Buffer>; 2]>> {
        let limit = run.request.options.max_bytes;
        if self.bytes > limit {
            let why = format!("the evaluation takes {} bytes, the limit is {limit}", self.bytes);
            return Err(Error::new(ErrorKind::Limit, why).with_help("the option max_bytes sets the limit"));
        }
        let mut memory = Memory::new(run.pool, &self.roots, self.temps.len(), destinations)?;
        let done = self.steps.iter().enumerate().try_for_each(|(i, step)| {
            match step.blocks() {
                Some(blocks) if blocks.is_apart(run, &memory) => {
                    blocks.run(run, &self.stages, &mut memory)?;
                }
                // A later block would read what an earlier one has written.
                Some(_) | None => {
                    step.stages().try_for_each(|stage| run.stage(&self.stages[stage], &mut memory))?
                }
            }
            memory.release(run.pool, &self.last_read, i);
            Ok(())
        });
        memory.finish(run.pool, done)
    }
}

impl PlanRun<'_> {
    /// Runs a stage.
    fn stage(&self, prepared: &PreparedStage, memory: &mut Memory<'_>) -> Result<()> {
        let stage = &prepared.stage;
        if !prepared.stores {
            return self.combine(prepared, memory);
        }
        if stage.shape.elements() == 0 {
            return Ok(());
        }
        let params: SmallVec<[u64; 8]> = stage.params.iter().map(|p| param(*p, self.literals)).collect();
        let mut written = memory.take_written(self.pool, stage)?;
        let Memory { roots, temps } = memory;
        let mut operands = Operands::default();
        let mut is_read = stage.inputs.iter().map(|input| operands.read(self.region(input.source, temps)));
        if is_read.all(|is_read| is_read)
            && let Some(outputs) = memory::slices(roots, stage, &mut written)
            && { outputs }.into_iter().all(|bytes| operands.write_slice(bytes))
        {
            prepared.run(&self.request, &mut operands, &params, self.watch)?;
        } else if !self.attempt(prepared, temps, outputs(roots, stage, &mut written)?, &params)? {
            let mut fresh: SmallVec<[(Buffer, DType); 4]> = SmallVec::new();
            for dtype in stage.kernel.result_dtypes() {
                fresh.push((memory::buffer(self.pool, dtype.size() * stage.shape.elements())?, dtype));
            }
            let mut views: SmallVec<[ViewMut<'_>; 4]> = SmallVec::new();
            for (buffer, dtype) in &mut fresh {
                views.push(contiguous_mut(buffer, *dtype, &stage.shape)?);
            }
            let done = self.attempt(prepared, temps, views, &params);
            if done.is_ok() {
                copy_all(&fresh, outputs(roots, stage, &mut written)?, self.watch)?;
            }
            fresh.into_iter().for_each(|(buffer, _)| self.pool.give(buffer));
            done?;
        }
        memory.put_written(written);
        Ok(())
    }

    /// Runs a stage that combines elements: into slices, which are copied to an output that is none.
    fn combine(&self, prepared: &PreparedStage, memory: &mut Memory<'_>) -> Result<()> {
        let stage = &prepared.stage;
        let params: SmallVec<[u64; 8]> = stage.params.iter().map(|p| param(*p, self.literals)).collect();
        let mut written = memory.take_written(self.pool, stage)?;
        let Memory { roots, temps } = memory;
        let inputs: SmallVec<[Region<'_>; 8]> =
            stage.inputs.iter().map(|input| self.region(input.source, temps)).collect();
        if let Some(mut outputs) = memory::slices(roots, stage, &mut written) {
            prepared.combine(&self.request, &inputs, &mut outputs, &params, self.watch)?;
        } else {
            let elements = stage.output_shape().elements();
            let mut fresh: SmallVec<[(Buffer, DType); 4]> = SmallVec::new();
            for dtype in stage.kernel.result_dtypes() {
                fresh.push((memory::buffer(self.pool, dtype.size() * elements)?, dtype));
            }
            let slices = fresh.iter_mut().map(|(buffer, _)| buffer.as_bytes_mut().unwrap_or(&mut []));
            let mut slices: SmallVec<[&mut [u8]; 4]> = slices.collect();
            let done = prepared.combine(&self.request, &inputs, &mut slices, &params, self.watch);
            drop(slices);
            if done.is_ok() {
                copy_all(&fresh, memory::outputs(roots, stage, &mut written)?, self.watch)?;
            }
            fresh.into_iter().for_each(|(buffer, _)| self.pool.give(buffer));
            done?;
        }
        drop(inputs);
        memory.put_written(written);
        Ok(())
    }

    /// Combines elements of a stage that reduces, beginning with this one; for each output its blocks.
    fn fold(
        &self,
        prepared: &PreparedStage,
        memory: &Memory<'_>,
        start: u64,
        width: Option<usize>,
    ) -> Result<Vec<Blocks>> {
        let stage = &prepared.stage;
        let params: SmallVec<[u64; 8]> = stage.params.iter().map(|p| param(*p, self.literals)).collect();
        let inputs: SmallVec<[Region<'_>; 8]> =
            stage.inputs.iter().map(|input| self.region(input.source, &memory.temps)).collect();
        prepared.fold(&self.request, &inputs, &params, self.watch, start, width)
    }

    /// Runs a stage into these outputs; false, and nothing is written, where one overlaps an input other than element for
    /// element.
    fn attempt(
        &self,
        prepared: &PreparedStage,
        temps: &[Option<Buffer>],
        outputs: SmallVec<[ViewMut<'_>; 4]>,
        params: &[u64],
    ) -> Result<bool> {
        let stage = &prepared.stage;
        let since = prepared.clock(&self.request);
        let mut inputs: SmallVec<[View<'_>; 8]> = SmallVec::new();
        for (input, &dtype) in stage.inputs.iter().zip(&stage.kernel.inputs) {
            inputs.push(memory::read(self.region(input.source, temps), dtype, input)?);
        }
        #[expect(
            clippy::map_identity,
            reason = "the views' lifetimes are shortened, one by one, to that of the inputs"
        )]
        let outputs = outputs.into_iter().map(|view| -> ViewMut<'_> { view });
        match &mut Nest::new(&stage.shape, &inputs, outputs) {
            Ok(nest) => prepared.run_nest(&self.request, nest, params, since, self.watch).map(|()| true),
            Err(NestError::Overlap { .. }) => Ok(false),
            Err(e) => Err(Error::new(ErrorKind::Memory, e.to_string())),
        }
    }
}

/// The step that reads each temporary last.
fn last_reads(plan: &fuse::Plan, steps: &[Step]) -> Vec<usize> {
    let mut last = vec![0; plan.temps.len()];
    for (i, step) in steps.iter().enumerate() {
        for input in step.stages().flat_map(|stage| &plan.stages[stage].inputs) {
            if let Source::Temp(t) = input.source {
                last[t as usize] = i;
            }
        }
    }
    last
}

/// Copies buffers to a stage's outputs.
fn copy_all(
    fresh: &[(Buffer, DType)],
    outputs: SmallVec<[ViewMut<'_>; 4]>,
    watch: Option<&Watch<'_>>,
) -> Result<()> {
    fresh.iter().zip(outputs).try_for_each(|((buffer, dtype), out)| {
        // The output's own shape may have kept the axes that were reduced.
        let layout = Layout::contiguous(Shape::new(out.shape())?);
        copy(view(buffer.as_bytes().into(), *dtype, &layout)?, out, watch)
    })
}
