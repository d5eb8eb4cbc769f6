//! The engine: from arrays to their values.
//!
//! In: the roots of expressions, and [`Options`]. Out: their values, in new arrays or in given memory. The way there:
//! walk → plan (cached by the walk's key) → for each stage bind memory, choose an executor, run. Must hold: what
//! was not asked for is not kept alive, caches are bounded, and no lock is waited for that may never come free.

mod cache;
mod decide;
mod execute;
mod explain;
mod jit;
mod memory;
mod options;
mod prepared;
mod trial;
mod watch;
mod workers;

use std::sync::{Arc, OnceLock};

use broadloom_core::fuse::{self, ParamSource, Source, Target};
use broadloom_core::graph::{Graph, IntDivision};
use broadloom_core::rewrite::{self, Rules};
use broadloom_core::structure::{OwnedStructure, Structure};
use broadloom_core::{DType, Error, ErrorKind, Kernel, Layout, Result, Scalar, Shape};
use broadloom_mem::{
    Access, Buffer, FloatEnv, HostFunction, Nest, NestError, Pool, Region, Stores, View, ViewMut,
};
use hashbrown::Equivalent;
use smallvec::SmallVec;

use crate::array::{Array, Data};
use crate::lower::{Expression, Lowered};
use crate::storage::Storage;

pub(crate) use cache::Cache;
use jit::{Compiled, Compiler};
pub(crate) use memory::copy;
pub(crate) use memory::view;
pub(crate) use memory::{Destination, view_mut};
use memory::{Memory, contiguous_mut, outputs};
pub use options::{Executor, Limits, Options, Profiling, VectorWidth};
use prepared::Prepared;
pub(crate) use watch::Watch;
pub use watch::{Control, Progress};

/// Evaluates expressions: caches of plans and compiled kernels, a pool of result buffers, and their limits.
///
/// Every array's `eval` uses [`Engine::global`]. Engines are `Send + Sync` and can be used from any number of
/// threads; arrays belong to none.
pub struct Engine {
    plans: Cache<PlanKey, Arc<Recipe>>,
    kernels: Cache<KernelKey, Compiled>,
    pool: Arc<Pool>,
    compiler: OnceLock<std::result::Result<Compiler, String>>,
    refused: OnceLock<String>,
    process: u32,
    profiling: Profiling,
}

/// A compiled kernel's identity: its content, how its inputs are accessed, how wide the vectors are that were asked
/// for, and whether it has stores past the caches too. The host is the same for all.
#[derive(Clone, PartialEq, Eq, Hash)]
struct KernelKey {
    kernel: Arc<Kernel>,
    access: SmallVec<[Access; 8]>,
    width: Width,
    stores: Stores,
}

/// About how many words of 8 bytes a node takes in a [`PlanKey`].
const WORDS_PER_NODE: usize = 4;

/// A plan's identity: the structure of the expressions, and what else decides the kernels.
#[derive(PartialEq, Eq, Hash)]
struct PlanKey {
    structure: OwnedStructure,
    mode: (IntDivision, Rules),
}

/// A [`PlanKey`] that is looked up. It has the same hash.
#[derive(Hash)]
struct PlanLookup<'k> {
    structure: Structure<'k>,
    mode: (IntDivision, Rules),
}

impl PlanLookup<'_> {
    fn new<'k>(expression: Expression<'k>, options: &Options) -> PlanLookup<'k> {
        PlanLookup { structure: expression.structure, mode: (options.int_division, options.rules) }
    }
}

impl Equivalent<PlanKey> for PlanLookup<'_> {
    fn equivalent(&self, key: &PlanKey) -> bool {
        self.structure == key.structure.borrow() && self.mode == key.mode
    }
}

/// A plan whose stages are ready to be bound.
pub(crate) struct Recipe {
    stages: Vec<Prepared>,
    temps: Vec<(DType, Shape)>,
    roots: Vec<(DType, Shape)>,
    /// The stage that reads each temporary last.
    last_read: Vec<usize>,
    /// Bytes of roots and temporaries.
    bytes: usize,
}

impl Engine {
    /// An engine with these limits. Profilers and debuggers are told of its code as [`Profiling::from_env`] says.
    pub fn new(limits: Limits) -> Engine {
        Engine {
            plans: Cache::new(limits.plans, limits.plan_words),
            kernels: Cache::new(limits.kernels, limits.code_bytes),
            pool: Arc::new(Pool::new(limits.pool_bytes)),
            compiler: OnceLock::new(),
            refused: OnceLock::new(),
            process: std::process::id(),
            profiling: Profiling::from_env(),
        }
    }

    /// The engine, which tells these profilers and debuggers of its machine code, whatever the environment says.
    ///
    /// ```
    /// use broadloom::{Engine, Limits, Profiling};
    ///
    /// let engine = Engine::new(Limits::default()).with_profiling(Profiling { perf_map: true, gdb: false });
    /// assert_eq!(engine.profiling(), Profiling { perf_map: true, gdb: false });
    /// ```
    #[must_use]
    pub fn with_profiling(self, profiling: Profiling) -> Engine {
        Engine { profiling, ..self }
    }

    /// Which profilers and debuggers are told of machine code.
    pub fn profiling(&self) -> Profiling {
        self.profiling
    }

    /// The engine of this process, made on first use.
    pub fn global() -> &'static Engine {
        static GLOBAL: OnceLock<Engine> = OnceLock::new();
        GLOBAL.get_or_init(|| Engine::new(Limits::default()))
    }

    /// The values of arrays, computed together: roots of one shape share one loop.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for memory beyond the options' limit or the machine's; [`ErrorKind::ZeroDivision`] under
    /// that option.
    pub fn eval_many(&self, roots: &[&Array<'_>], options: &Options) -> Result<Vec<Array<'static>>> {
        let destinations: SmallVec<[Destination<'_>; 2]> = roots.iter().map(|_| Destination::New).collect();
        let made = self.evaluate(roots, options, destinations)?;
        Ok(made
            .into_iter()
            .zip(roots)
            .filter_map(|(buffer, root)| {
                let storage = Storage::from_pool(root.dtype(), buffer?, &self.pool);
                Some(Array::data(storage, Layout::contiguous(root.0.shape.clone())))
            })
            .collect())
    }

    /// Forgets all plans and compiled kernels, and frees the pool.
    pub fn clear(&self) {
        self.plans.clear();
        self.kernels.clear();
        self.pool.clear();
    }

    /// How many compiled kernels are kept.
    pub fn compiled_kernels(&self) -> usize {
        self.kernels.len()
    }

    /// Writes an array's values into memory that may overlap the array's own inputs.
    pub(crate) fn eval_into(&self, root: &Array<'_>, out: Destination<'_>, options: &Options) -> Result<()> {
        self.evaluate(&[root], options, std::iter::once(out).collect()).map(drop)
    }

    /// The recipe of expressions; an earlier one of their structure where the literals' values don't matter.
    pub(crate) fn recipe(&self, expression: Expression<'_>, options: &Options) -> Result<Arc<Recipe>> {
        let lookup = PlanLookup::new(expression, options);
        if let Some(recipe) = self.plans.get(&lookup) {
            return Ok(recipe);
        }
        // Building and rewriting fold constants, and costs are estimated, whatever the host has set.
        let _ieee = FloatEnv::ieee();
        let Planned { graph, plan } = plan(expression, options)?;
        let recipe = Arc::new(Recipe::new(plan, expression.functions)?);
        if !graph.depends_on_values() {
            let PlanLookup { structure, mode } = lookup;
            let key = PlanKey { structure: structure.to_owned(), mode };
            self.plans.insert(key, recipe.clone(), WORDS_PER_NODE * structure.nodes.len());
        }
        Ok(recipe)
    }

    fn evaluate(
        &self,
        roots: &[&Array<'_>],
        options: &Options,
        destinations: SmallVec<[Destination<'_>; 2]>,
    ) -> Result<SmallVec<[Option<Buffer>; 2]>> {
        let lowered = Lowered::new(roots, options.size_limits())?;
        let recipe = self.recipe(lowered.expression(), options)?;
        let slots: SmallVec<[Region<'_>; 8]> =
            lowered.slots().iter().map(|data| data.storage.region()).collect();
        self.run(&recipe, &slots, lowered.literals(), options, destinations, None)
    }

    /// Runs a recipe over the memory of its slots.
    pub(crate) fn run(
        &self,
        recipe: &Recipe,
        slots: &[Region<'_>],
        literals: &[Scalar],
        options: &Options,
        destinations: SmallVec<[Destination<'_>; 2]>,
        watch: Option<&Watch<'_>>,
    ) -> Result<SmallVec<[Option<Buffer>; 2]>> {
        if recipe.bytes > options.max_bytes {
            let why =
                format!("the evaluation takes {} bytes, the limit is {}", recipe.bytes, options.max_bytes);
            return Err(Error::new(ErrorKind::Limit, why).with_help("the option max_bytes sets the limit"));
        }
        if watch.is_none()
            && let Some(prepared) = recipe.single_stage()
            && destinations.iter().all(|d| !matches!(d, Destination::Given(_)))
            && let Some(slices) = slots.iter().map(Region::as_slice).collect::<Option<SmallVec<[&[u8]; 8]>>>()
        {
            return self.run_single(prepared, &slices, literals, options, destinations);
        }
        let mut memory = Memory::new(self, recipe, destinations)?;
        let done = recipe.stages.iter().enumerate().try_for_each(|(i, stage)| {
            self.stage(stage, slots, literals, &mut memory, options, watch)?;
            memory.release(&self.pool, &recipe.last_read, i);
            Ok(())
        });
        memory.finish(&self.pool, done)
    }

    /// Runs the one stage of a recipe into memory of its own.
    fn run_single(
        &self,
        prepared: &Prepared,
        slots: &[&[u8]],
        literals: &[Scalar],
        options: &Options,
        mut destinations: SmallVec<[Destination<'_>; 2]>,
    ) -> Result<SmallVec<[Option<Buffer>; 2]>> {
        let stage = &prepared.stage;
        let elements = stage.shape.elements();
        let mut buffers: SmallVec<[Option<Buffer>; 2]> = SmallVec::new();
        for (destination, dtype) in destinations.iter().zip(stage.kernel.output_dtypes()) {
            let new = matches!(destination, Destination::New);
            buffers.push(if new { Some(self.buffer(elements * dtype.size())?) } else { None });
        }
        let params: SmallVec<[u64; 8]> = stage.params.iter().map(|p| param(*p, literals)).collect();
        let inputs: SmallVec<[&[u8]; 8]> = stage
            .inputs
            .iter()
            .map(|input| match input.source {
                Source::Slot(slot) => slots[slot as usize],
                Source::Temp(_) => &[],
            })
            .collect();
        let mut outputs: SmallVec<[&mut [u8]; 2]> = destinations
            .iter_mut()
            .zip(&mut buffers)
            .map(|(destination, buffer)| match (destination, buffer) {
                (Destination::Bytes(bytes), _) => &mut **bytes,
                (_, Some(buffer)) => buffer.as_bytes_mut().unwrap_or(&mut []),
                (_, None) => &mut [],
            })
            .collect();
        let done = prepared.run_over(self, options, &inputs, &mut outputs, &params);
        drop(outputs);
        done.map(|()| buffers)
    }

    /// Runs a stage; through a temporary where an output overlaps an input other than element for element.
    fn stage(
        &self,
        prepared: &Prepared,
        slots: &[Region<'_>],
        literals: &[Scalar],
        memory: &mut Memory<'_>,
        options: &Options,
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        let stage = &prepared.stage;
        if stage.shape.elements() == 0 {
            return Ok(());
        }
        let params: SmallVec<[u64; 8]> = stage.params.iter().map(|p| param(*p, literals)).collect();
        let mut own = memory.take_written(self, stage)?;
        let Memory { roots, temps } = &mut *memory;
        let run = Run { engine: self, prepared, slots, temps, params: &params, options, watch };
        let mut done = run.attempt(outputs(roots, stage, &mut own)?);
        if let Ok(false) = done {
            let mut fresh: SmallVec<[(Buffer, DType); 4]> = SmallVec::new();
            for dtype in stage.kernel.output_dtypes() {
                fresh.push((self.buffer(dtype.size() * stage.shape.elements())?, dtype));
            }
            let mut views: SmallVec<[ViewMut<'_>; 4]> = SmallVec::new();
            for (buffer, dtype) in &mut fresh {
                views.push(contiguous_mut(buffer, *dtype, &stage.shape)?);
            }
            done = run.attempt(views);
            if done.is_ok() {
                for ((buffer, dtype), out) in fresh.iter().zip(outputs(roots, stage, &mut own)?) {
                    let layout = Layout::contiguous(stage.shape.clone());
                    copy(view(buffer.as_bytes().into(), *dtype, &layout)?, out)?;
                }
            }
            fresh.into_iter().for_each(|(buffer, _)| self.pool.give(buffer));
        }
        memory.put_written(own);
        done.map(drop)
    }

    fn buffer(&self, bytes: usize) -> Result<Buffer> {
        self.pool.take(bytes).map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))
    }

    /// Why nothing can be compiled, if that is known already.
    fn known_no_compiler(&self) -> Option<&str> {
        let compiler = || self.compiler.get().and_then(|compiler| compiler.as_ref().err());
        self.refused.get().or_else(compiler).map(String::as_str)
    }

    /// Why nothing can be compiled, if that is so.
    fn no_compiler(&self) -> Option<&str> {
        self.refused.get().map(String::as_str).or_else(|| self.compiler().err())
    }

    fn compiler(&self) -> std::result::Result<&Compiler, &str> {
        let Profiling { perf_map, gdb } = self.profiling;
        let make = || Compiler::host().map(|compiler| compiler.announcing(perf_map, gdb));
        let compiler = self.compiler.get_or_init(|| make().map_err(|e| e.to_string()));
        compiler.as_ref().map_err(String::as_str)
    }

    /// Compiles a kernel; `None` where executable memory is refused, now and from then on.
    fn compile(&self, key: KernelKey, functions: &[HostFunction]) -> Result<Option<Compiled>> {
        let (Ok(compiler), None) = (self.compiler(), self.refused.get()) else { return Ok(None) };
        match compiler.compile_with(key.stores, &key.kernel, functions, &key.access, key.width) {
            Ok(compiled) => {
                // Code takes whole pages, and what is kept beside it about as much again.
                let weight = compiled.code_size().next_multiple_of(4096) * 2;
                self.kernels.insert(key, compiled.clone(), weight);
                Ok(Some(compiled))
            }
            Err(e) if e.kind() == ErrorKind::Memory => {
                let _ = self.refused.set(e.to_string());
                Ok(None)
            }
            // This kernel is too much for the compiler; others are not.
            Err(e) if e.kind() == ErrorKind::Limit => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// How many threads an evaluation may use.
    fn threads(&self, options: &Options, time: f64) -> usize {
        workers::threads(options, time, self.process)
    }
}

/// One stage with everything but its outputs.
struct Run<'r> {
    engine: &'r Engine,
    prepared: &'r Prepared,
    slots: &'r [Region<'r>],
    temps: &'r [Option<Buffer>],
    params: &'r [u64],
    options: &'r Options,
    watch: Option<&'r Watch<'r>>,
}

impl Run<'_> {
    /// Runs the stage into these outputs; false, and nothing is written, where one overlaps an input other than
    /// element for element.
    fn attempt(&self, outputs: SmallVec<[ViewMut<'_>; 4]>) -> Result<bool> {
        let stage = &self.prepared.stage;
        let since = self.prepared.clock(self.options);
        let mut inputs: SmallVec<[View<'_>; 8]> = SmallVec::new();
        for (input, &dtype) in stage.inputs.iter().zip(&stage.kernel.inputs) {
            let region = match input.source {
                Source::Slot(slot) => self.slots[slot as usize],
                Source::Temp(temp) => {
                    self.temps[temp as usize].as_ref().map_or(&[][..], Buffer::as_bytes).into()
                }
            };
            inputs.push(view(region, dtype, &input.layout)?);
        }
        #[expect(
            clippy::map_identity,
            reason = "the views' lifetimes are shortened, one by one, to that of the inputs"
        )]
        let outputs = outputs.into_iter().map(|view| -> ViewMut<'_> { view });
        match Nest::new(&stage.shape, &inputs, outputs) {
            Ok(mut nest) => {
                let Run { engine, options, params, watch, .. } = *self;
                self.prepared.run(engine, options, &mut nest, params, since, watch).map(|()| true)
            }
            Err(NestError::Overlap { .. }) => Ok(false),
            Err(e) => Err(Error::new(ErrorKind::Memory, e.to_string())),
        }
    }
}

/// A graph after rewriting, and its kernels.
struct Planned {
    graph: Graph,
    plan: fuse::Plan,
}

/// From expressions to kernels, under the default floating-point environment: constants are folded.
fn plan(expression: Expression<'_>, options: &Options) -> Result<Planned> {
    let (graph, roots) = expression.graph(options.int_division)?;
    let (graph, roots) = rewrite::run(&graph, &roots, options.rules)?;
    let plan = fuse::run(&graph, &roots)?;
    Ok(Planned { graph, plan })
}

impl Recipe {
    /// The one stage of a recipe that writes the roots, in their order, and nothing else.
    pub(crate) fn single_stage(&self) -> Option<&Prepared> {
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

    /// Who would run each stage now.
    pub(crate) fn executors(&self, engine: &Engine, options: &Options) -> Vec<Executor> {
        // Estimates are computed in floats, whatever the host has set.
        let _ieee = FloatEnv::ieee();
        self.stages.iter().map(|prepared| prepared.executor(engine, options)).collect()
    }

    /// Elements that its loops compute.
    pub(crate) fn elements(&self) -> usize {
        self.stages.iter().map(|prepared| prepared.stage.shape.elements()).sum()
    }

    /// Compiles every loop whose inputs are linear, as far as machine code is wanted and to be had.
    pub(crate) fn compile(&self, engine: &Engine, options: &Options) -> Result<()> {
        let _ieee = FloatEnv::ieee();
        self.stages.iter().try_for_each(|prepared| prepared.compile(engine, options))
    }

    fn new(plan: fuse::Plan, functions: &[HostFunction]) -> Result<Recipe> {
        let mut bytes = 0usize;
        for (dtype, shape) in plan.roots.iter().chain(&plan.temps) {
            let size = shape.elements().checked_mul(dtype.size());
            bytes = size.and_then(|s| bytes.checked_add(s)).ok_or_else(|| {
                Error::new(ErrorKind::Limit, "results and temporaries take more bytes than can be addressed")
            })?;
        }
        let mut last_read = vec![0; plan.temps.len()];
        for (i, stage) in plan.stages.iter().enumerate() {
            for input in &stage.inputs {
                if let Source::Temp(t) = input.source {
                    last_read[t as usize] = i;
                }
            }
        }
        let stages = plan.stages.into_iter().map(|stage| Prepared::new(stage, functions)).collect();
        Ok(Recipe { stages, temps: plan.temps, roots: plan.roots, last_read, bytes })
    }
}

pub(crate) fn param(source: ParamSource, literals: &[Scalar]) -> u64 {
    match source {
        ParamSource::Slot(slot) => literals[slot as usize].bits,
        ParamSource::Fixed(value) => value.bits,
    }
}

pub(crate) use explain::{Asked, Detail, explain, explain_expression};
pub(crate) use jit::{Listing, Width, clif};

/// Writes an array's values where a leaf's layout says; nobody else holds the leaf's memory.
pub(crate) fn evaluate_into_leaf(
    root: &Array<'_>,
    leaf: &mut Data<'static>,
    options: &Options,
) -> Result<()> {
    let internal = || Error::new(ErrorKind::Internal, "the output's memory is held by another handle");
    let dtype = leaf.storage.dtype();
    let layout = leaf.layout.clone();
    let bytes = leaf.storage.bytes_mut().ok_or_else(internal)?;
    Engine::global().eval_into(root, Destination::Given(Box::new(view_mut(bytes, dtype, &layout)?)), options)
}
