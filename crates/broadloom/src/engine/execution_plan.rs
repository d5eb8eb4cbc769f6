//! An execution plan: the prepared stages of an expression, and the buffers between them.
//!
//! A plan is built once for an expression and runs on any memory of the same layouts. It is a sequence of steps: a step is one
//! stage, or several stages that run [block by block](crate::engine::row_blocks) of their rows. If the memory of a result is not
//! contiguous, or overlaps an input other than element for element, a [variant](ExecutionPlan::variant) of the plan writes the
//! result: where necessary, the variant computes it into a temporary, and copies the temporary in an additional stage.

use std::sync::Arc;

use broadloom_core::fuse::{self, Beginning, InputView, Source, Stage, Target};
use broadloom_core::{DType, Error, ErrorKind, Kernel, Layout, Result, Shape};
use broadloom_ir::VectorWidth;
use broadloom_mem::{FloatEnv, HostFunction, InputRegions, Nest, NestError, Operands, RegionMut};
use smallvec::SmallVec;

use crate::engine::cache::Cache;
use crate::engine::loops::Loops;
use crate::engine::memory::{Temporaries, Written, written};
use crate::engine::options::Executor;
use crate::engine::plan_run::{Arguments, PlanRun, Tables, region, tables};
use crate::engine::prepared::PreparedStage;
use crate::engine::reduce::{Blocks, Folding};
use crate::engine::routine::RoutineCall;
use crate::engine::row_blocks::{Apart, RowBlocks, Step};
use crate::engine::runtime::Request;
use crate::engine::stored::contiguous;
use crate::engine::watch::Work;
use crate::engine::workers;

/// The prepared stages of an expression in run order, with the layouts of its results and temporaries.
pub(crate) struct ExecutionPlan {
    pub(super) stages: Vec<PreparedStage>,
    pub(super) temps: Vec<(DType, Shape)>,
    pub(super) roots: Vec<(DType, Shape)>,
    /// The steps in run order.
    pub(super) steps: Vec<Step>,
    /// The reason why stages that might run block by block run one after another.
    pub(super) apart: Option<Apart>,
    /// The last step that reads each temporary.
    last_read: Vec<usize>,
    /// The total size of roots and temporaries, in bytes.
    bytes: usize,
    work: Work,
    variants: Cache<Variant, Arc<ExecutionPlan>>,
}

/// The way in which a variant of a plan writes its roots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Variant {
    /// The layout of each root in its memory; `None` for a contiguous root. An empty list means that all roots are contiguous.
    pub layouts: Vec<Option<Layout>>,
    /// Whether all roots are computed into temporaries, and copied once all inputs have been read.
    pub aside: bool,
}

/// The maximum number of variants that a plan keeps. On overflow the older half is evicted.
const VARIANTS: usize = 16;

impl Variant {
    fn layout(&self, root: u32) -> Option<&Layout> {
        self.layouts.get(root as usize)?.as_ref()
    }
}

impl ExecutionPlan {
    pub(super) fn new(plan: fuse::Plan, functions: &[HostFunction]) -> Result<ExecutionPlan> {
        let count = plan.stages.len();
        ExecutionPlan::with_copies(plan, functions, count, &Variant::default())
    }

    /// Prepares a plan whose first `count` stages compute an expression and whose other stages copy temporaries to roots.
    fn with_copies(
        plan: fuse::Plan,
        functions: &[HostFunction],
        count: usize,
        variant: &Variant,
    ) -> Result<ExecutionPlan> {
        let mut bytes = 0usize;
        for (dtype, shape) in plan.roots.iter().chain(&plan.temps) {
            let size = shape.elements().checked_mul(dtype.size());
            bytes = size.and_then(|s| bytes.checked_add(s)).ok_or_else(|| {
                Error::new(ErrorKind::Limit, "results and temporaries take more bytes than can be addressed")
            })?;
        }
        let called = |stage: &Stage, f: &HostFunction| stage.kernel.functions.contains(f.declaration());
        let can_fail = |stage: &Stage| functions.iter().any(|f| f.can_fail() && called(stage, f));
        let (mut steps, apart) = RowBlocks::steps(&plan, count, can_fail)?;
        steps.extend((count..plan.stages.len()).map(Step::Stage));
        let last_read = last_reads(&plan, &steps);
        let prepare = |stage: Stage| {
            let layout = |target: &Target| match target {
                Target::Root(root) => variant.layout(*root).cloned(),
                Target::Temp(_) => None,
            };
            let mut outputs = contiguous(&stage);
            for (output, target) in outputs.iter_mut().zip(&stage.outputs) {
                *output = layout(target).unwrap_or_else(|| match (&stage.part_at, target) {
                    (None, _) => output.clone(),
                    (_, Target::Root(root)) => Layout::contiguous(plan.roots[*root as usize].1.clone()),
                    (_, Target::Temp(temp)) => Layout::contiguous(plan.temps[*temp as usize].1.clone()),
                });
                if let Some(at) = &stage.part_at {
                    *output = part(output, at, &stage.shape);
                }
            }
            PreparedStage::new(stage, functions, &outputs)
        };
        let mut stages: Vec<PreparedStage> = plan.stages.into_iter().map(prepare).collect();
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
            variants: Cache::new(VARIANTS, usize::MAX),
        })
    }

    /// Returns the variant of this plan that writes the roots in the given way. This plan must not be a variant itself.
    pub(crate) fn variant(&self, variant: Variant) -> Result<Arc<ExecutionPlan>> {
        if let Some(known) = self.variants.get(&variant) {
            return Ok(known);
        }
        let _ieee = FloatEnv::ieee();
        let stages: Vec<Stage> = self.stages.iter().map(|prepared| prepared.stage.clone()).collect();
        let mut plan = fuse::Plan {
            stages,
            temps: self.temps.clone(),
            roots: self.roots.clone(),
            ..fuse::Plan::default()
        };
        let mut functions: Vec<HostFunction> = Vec::new();
        for function in self.stages.iter().flat_map(|prepared| &prepared.functions) {
            if !functions.iter().any(|known| known.declaration() == function.declaration()) {
                functions.push(function.clone());
            }
        }
        let count = plan.stages.len();
        for (root, (dtype, shape)) in self.roots.iter().enumerate() {
            let target = Target::Root(root as u32);
            if !variant.aside
                && (variant.layout(root as u32).is_none() || self.stores_directly(target, shape))
            {
                continue;
            }
            let temp = plan.temps.len() as u32;
            plan.temps.push((*dtype, shape.clone()));
            for output in plan.stages.iter_mut().flat_map(|stage| &mut stage.outputs) {
                if *output == target {
                    *output = Target::Temp(temp);
                }
            }
            let layout = Arc::new(Layout::contiguous(shape.clone()));
            plan.stages.push(Stage {
                kernel: Arc::new(Kernel::copy(*dtype)),
                shape: shape.clone(),
                inputs: vec![InputView { source: Source::Temp(temp), layout }],
                tables: Vec::new(),
                params: Vec::new(),
                outputs: vec![target],
                axes: broadloom_ir::Axes::NONE,
                beginning: Beginning::First,
                recurrence: None,
                part_at: None,
                routine: None,
            });
        }
        let made = Arc::new(ExecutionPlan::with_copies(plan, &functions, count, &variant)?);
        self.variants.insert(variant, made.clone(), 1);
        Ok(made)
    }

    /// Whether a root can be stored in any layout without a copy. This is so if a stage over the root's shape stores it, or stages
    /// over parts of it do, and if each is a step of its own.
    fn stores_directly(&self, target: Target, shape: &Shape) -> bool {
        let writes = |stage: &Stage| {
            let is_whole = stage.part_at.is_some() || stage.shape == *shape;
            stage.outputs.contains(&target) && stage.stores() && is_whole
        };
        let alone = self.steps.iter().filter(|step| step.blocks().is_none()).flat_map(Step::stages);
        { alone }.any(|stage| writes(&self.stages[stage].stage))
    }

    /// The stage of a plan that has one stage, and neither temporaries nor tables, if the stage's outputs are the roots in order.
    pub(crate) fn single_stage(&self) -> Option<&PreparedStage> {
        match &self.stages[..] {
            [prepared] if self.temps.is_empty() && prepared.stage.tables.is_empty() => {
                let roots = (0..self.roots.len() as u32).map(Target::Root);
                prepared.stage.outputs.iter().copied().eq(roots).then_some(prepared)
            }
            _ => None,
        }
    }

    /// The total size of results and temporaries, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The dtypes and shapes of the roots.
    pub(crate) fn roots(&self) -> &[(DType, Shape)] {
        &self.roots
    }

    /// The executor that each stage would use now.
    pub(crate) fn executors(&self, request: &Request<'_>) -> Vec<Executor> {
        // Estimates are computed with floats, which requires the default environment.
        let _ieee = FloatEnv::ieee();
        self.stages.iter().map(|prepared| prepared.executor(request)).collect()
    }

    /// The vector width of the machine code that each stage would use now; `None` for the interpreter.
    pub(crate) fn vector_widths(&self, request: &Request<'_>) -> Vec<Option<VectorWidth>> {
        let _ieee = FloatEnv::ieee();
        self.stages.iter().map(|prepared| prepared.vector_width(request)).collect()
    }

    /// The total work of all stages. Its time is estimated on the high side.
    pub(crate) fn work(&self) -> Work {
        self.work
    }

    /// Compiles every stage that is a single loop over memory, unless the options or the target exclude machine code.
    pub(crate) fn compile(&self, request: &Request<'_>) -> Result<()> {
        let _ieee = FloatEnv::ieee();
        self.stages.iter().try_for_each(|prepared| prepared.compile(request))
    }

    /// For each root, the index of the stage that reduces elements to it, and the position of the root among that stage's
    /// outputs. `None` if a root is computed in any other way, or by a stage that also writes temporaries.
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

    /// Reduces elements to partial results of each root. The elements follow those that `so_far` contains for the same root; root
    /// `i` is reduction `first + i` of `so_far`. Returns `None` without running anything if a root is not an output of a stage
    /// that only reduces, or if `so_far` has blocks of different widths for the outputs of one stage.
    pub(super) fn fold(
        &self,
        run: &PlanRun<'_>,
        operands: &mut Operands<'_>,
        so_far: &Folding,
        first: usize,
    ) -> Result<Option<Vec<Blocks>>> {
        let Some(places) = self.folds() else { return Ok(None) };
        let width = |root: usize| so_far.width(first + root);
        let first_of = |stage: usize| places.iter().position(|place| place.0 == stage);
        if (0..places.len()).any(|root| first_of(places[root].0).map(width) != Some(width(root))) {
            return Ok(None);
        }
        let mut temps = Temporaries::new(run.pool, self.temps.len());
        let mut made: Vec<Option<Blocks>> = self.roots.iter().map(|_| None).collect();
        for (at, step) in self.steps.iter().enumerate() {
            for i in step.stages() {
                let prepared = &self.stages[i];
                let Some(root) = first_of(i) else {
                    run.stage(prepared, operands, &mut temps, &self.temps)?;
                    continue;
                };
                let (slots, _) = operands.parts();
                let mut inputs = Operands::default();
                read(&prepared.stage, slots, &temps, &mut inputs);
                let tables = tables(&prepared.stage, slots, &temps)?;
                let blocks = prepared.fold(run, &mut inputs, &tables, so_far.count(), width(root))?;
                for (output, blocks) in blocks.into_iter().enumerate() {
                    let root = places.iter().position(|place| *place == (i, output));
                    root.map(|root| made[root].replace(blocks));
                }
            }
            temps.release(&self.last_read, at);
        }
        Ok(made.into_iter().collect())
    }

    /// Runs the plan on the memory of its slots and roots. `layouts` contains the layouts of the roots; if it is empty, all roots
    /// are contiguous.
    pub(super) fn run(
        &self,
        run: &PlanRun<'_>,
        operands: &mut Operands<'_>,
        layouts: Vec<Option<Layout>>,
    ) -> Result<()> {
        let limit = run.request.options.max_bytes;
        let bytes = self.bytes.saturating_add(self.bytes_beside(run));
        if bytes > limit {
            let why = format!("the evaluation takes {bytes} bytes, the limit is {limit}");
            return Err(Error::new(ErrorKind::Limit, why).with_help("the option max_bytes sets the limit"));
        }
        if layouts.iter().all(Option::is_none) && !operands.may_overlap() {
            return self.run_steps(run, operands);
        }
        let variant = Variant { layouts, aside: false };
        let plan = self.variant(variant.clone())?;
        if operands.may_overlap() && plan.overwrites(run, operands)? {
            return self.variant(Variant { aside: true, ..variant })?.run_steps(run, operands);
        }
        plan.run_steps(run, operands)
    }

    /// The most bytes that a routine of the plan takes beside its operands and results.
    fn bytes_beside(&self, run: &PlanRun<'_>) -> usize {
        let mut calls = self.stages.iter().filter_map(PreparedStage::routine).peekable();
        if calls.peek().is_none() {
            return 0;
        }
        // Estimates are floats, which an environment of the application's may trap.
        let _ieee = FloatEnv::ieee();
        let beside = |call: RoutineCall<'_>| {
            call.bytes_beside(workers::threads(run.request.options, call.work().time))
        };
        calls.map(beside).max().unwrap_or(0)
    }

    fn run_steps(&self, run: &PlanRun<'_>, operands: &mut Operands<'_>) -> Result<()> {
        let mut temps = Temporaries::new(run.pool, self.temps.len());
        for (i, step) in self.steps.iter().enumerate() {
            match step {
                Step::Stage(stage) => run.stage(&self.stages[*stage], operands, &mut temps, &self.temps)?,
                Step::Blocks(blocks) => blocks.run(run, &self.stages, operands, &mut temps)?,
            }
            temps.release(&self.last_read, i);
        }
        Ok(())
    }

    /// Whether a run on this memory, in which outputs may overlap other operands, would overwrite elements that it reads later.
    /// The roots then have to be copied from temporaries.
    fn overwrites(&self, run: &PlanRun<'_>, operands: &mut Operands<'_>) -> Result<bool> {
        let [Step::Stage(stage)] = &self.steps[..] else { return Ok(true) };
        let prepared = &self.stages[*stage];
        let Ok(Loops::Store(plan)) = &prepared.loops else { return Ok(true) };
        if !prepared.stage.tables.is_empty() {
            return Ok(true);
        }
        let (temps, mut written) = (Temporaries::new(run.pool, 0), Written::new());
        let mut of_plan = Operands::default();
        of_stage(&prepared.stage, operands, &temps, &mut written, &mut of_plan)?;
        match Nest::bind(plan, &mut of_plan) {
            Ok(_) => Ok(false),
            Err(NestError::Overlap { .. }) => Ok(true),
            Err(e) => Err(Error::new(ErrorKind::Memory, e.to_string())),
        }
    }
}

impl PlanRun<'_> {
    /// Runs one stage of the plan, whose temporaries have the dtypes and shapes `made`.
    fn stage(
        &self,
        prepared: &PreparedStage,
        operands: &mut Operands<'_>,
        temps: &mut Temporaries<'_>,
        made: &[(DType, Shape)],
    ) -> Result<()> {
        let params = self.params(&prepared.stage);
        let mut written = temps.make(&prepared.stage, made)?;
        if let Some(call) = prepared.routine() {
            let done = {
                let mut own = Operands::default();
                let tables = of_stage(&prepared.stage, operands, temps, &mut written, &mut own)?;
                self.routine(call, &mut own, &tables)
            };
            temps.keep(&mut written);
            return done;
        }
        let is_out_of_range = {
            let mut own = Operands::default();
            let tables = of_stage(&prepared.stage, operands, temps, &mut written, &mut own)?;
            let arguments = Arguments { params: &params, tables: &tables };
            match prepared.run(&self.request, &mut own, arguments, self.watch) {
                // What was computed in place can't be searched.
                Err(error) if error.kind() == ErrorKind::Index && !own.may_overlap() => true,
                done => done.map(|()| false)?,
            }
        };
        if is_out_of_range {
            let (slots, _) = operands.parts();
            let tables = tables(&prepared.stage, slots, temps)?;
            let mut inputs = Operands::default();
            read(&prepared.stage, slots, temps, &mut inputs);
            let arguments = Arguments { params: &params, tables: &tables };
            return Err(prepared.out_of_range(&self.request, &mut inputs, arguments, self.watch));
        }
        temps.keep(&mut written);
        Ok(())
    }
}

/// The layout of the part of an array that begins at an index and has this shape.
fn part(of: &Layout, at: &[usize], shape: &Shape) -> Layout {
    let steps = at.iter().zip(&of.strides).map(|(&at, &stride)| at as isize * stride);
    Layout { shape: shape.clone(), strides: of.strides.clone(), offset: of.offset + steps.sum::<isize>() }
}

/// Adds the inputs of a stage, taken from the memory of slots and temporaries.
fn read<'m>(stage: &Stage, slots: InputRegions<'m>, temps: &'m Temporaries<'_>, into: &mut Operands<'m>) {
    stage.inputs.iter().for_each(|input| into.read(region(input.source, slots, temps)));
}

/// Adds the inputs and outputs of a stage, taken from the operands of a plan and from temporaries. Returns its tables.
///
/// PERF: operands are filled in place, since moving them takes as long as a short stage.
fn of_stage<'m>(
    stage: &Stage,
    operands: &'m mut Operands<'_>,
    temps: &'m Temporaries<'_>,
    made: &'m mut Written,
    own: &mut Operands<'m>,
) -> Result<Tables<'m>> {
    let missing = || Error::new(ErrorKind::Internal, "an output that a stage writes is missing");
    let (slots, roots) = operands.parts();
    read(stage, slots, temps, own);
    let tables = tables(stage, slots, temps)?;
    let mut roots: SmallVec<[Option<RegionMut<'m>>; 2]> = roots.map(Some).collect();
    let mut made = made.iter_mut();
    for target in &stage.outputs {
        own.write(match target {
            Target::Root(root) => roots.get_mut(*root as usize).and_then(Option::take).ok_or_else(missing)?,
            Target::Temp(_) => written(&mut made.next().ok_or_else(missing)?.1)?,
        });
    }
    Ok(tables)
}

/// For each temporary, the last step that reads it.
fn last_reads(plan: &fuse::Plan, steps: &[Step]) -> Vec<usize> {
    let mut last = vec![0; plan.temps.len()];
    for (i, step) in steps.iter().enumerate() {
        let stages = step.stages().map(|stage| &plan.stages[stage]);
        for input in stages.flat_map(|stage| stage.inputs.iter().chain(&stage.tables)) {
            if let Some(t) = input.source.temp() {
                last[t as usize] = i;
            }
        }
    }
    last
}
