//! The engine: from arrays to their values.
//!
//! In: the roots of expressions, and [`Options`]. Out: their values, in new arrays or in given memory. The way there:
//! walk → plan (cached by the walk's key) → for each stage bind memory, choose an executor, run. Must hold: what
//! was not asked for is not kept alive, caches are bounded, and no lock is waited for that may never come free.

mod cache;
mod decide;
mod execute;
mod explain;
mod options;

use std::sync::{Arc, OnceLock};

use broadloom_clif::{Compiled, Compiler};
use broadloom_core::fuse::{self, ParamSource, Source, Target};
use broadloom_core::graph::IntDivision;
use broadloom_core::rewrite::{self, Rules};
use broadloom_core::{DType, Error, ErrorKind, Kernel, Layout, Result, Scalar, Shape};
use broadloom_mem::{Access, Buffer, Nest, NestError, Pool, View, ViewMut};
use hashbrown::Equivalent;
use smallvec::SmallVec;

use crate::array::Array;
use crate::expr::Leaf;
use crate::lower::{self, Walk};
use crate::storage::Storage;

use cache::Cache;
use execute::Prepared;
pub use options::{Executor, Limits, Options};

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
}

/// A compiled kernel's identity: its content and how its inputs are accessed. The host is the same for all.
#[derive(Clone, PartialEq, Eq, Hash)]
struct KernelKey {
    kernel: Arc<Kernel>,
    access: SmallVec<[Access; 8]>,
}

/// A plan's identity: the walk's key, and what else decides the kernels.
#[derive(PartialEq, Eq, Hash)]
struct PlanKey {
    words: Box<[u64]>,
    mode: (IntDivision, Rules),
}

#[derive(Hash)]
struct PlanLookup<'k> {
    words: &'k [u64],
    mode: (IntDivision, Rules),
}

impl Equivalent<PlanKey> for PlanLookup<'_> {
    fn equivalent(&self, key: &PlanKey) -> bool {
        *self.words == *key.words && self.mode == key.mode
    }
}

/// A plan whose stages are ready to be bound.
struct Recipe {
    stages: Vec<Prepared>,
    temps: Vec<(DType, Shape)>,
    roots: Vec<(DType, Shape)>,
    /// Bytes of roots and temporaries.
    bytes: usize,
}

/// Where a root's values go.
enum Destination<'d> {
    /// To a new contiguous buffer.
    New,
    /// To this memory, of the root's shape and dtype.
    Given(ViewMut<'d>),
}

impl Engine {
    /// An engine with these limits.
    pub fn new(limits: Limits) -> Engine {
        Engine {
            plans: Cache::new(limits.plans, usize::MAX),
            kernels: Cache::new(limits.kernels, limits.code_bytes),
            pool: Arc::new(Pool::new(limits.pool_bytes)),
            compiler: OnceLock::new(),
            refused: OnceLock::new(),
            process: std::process::id(),
        }
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
    pub(crate) fn eval_into(&self, root: &Array<'_>, out: ViewMut<'_>, options: &Options) -> Result<()> {
        self.evaluate(&[root], options, [Destination::Given(out)].into_iter().collect()).map(drop)
    }

    /// The recipe of these roots, and whether it was made before.
    fn recipe(&self, walk: &Walk<'_, '_>, options: &Options) -> Result<Arc<Recipe>> {
        let mode = (options.int_division, options.rules);
        if let Some(recipe) = self.plans.get(&PlanLookup { words: walk.key(), mode }) {
            return Ok(recipe);
        }
        let (graph, roots) = lower::graph(walk.key(), walk.literals(), options.int_division)?;
        let (graph, roots) = rewrite::run(&graph, &roots, options.rules)?;
        let plan = fuse::run(&graph, &roots)?;
        let recipe = Arc::new(Recipe::new(plan)?);
        if !graph.depends_on_values() {
            self.plans.insert(PlanKey { words: walk.key().into(), mode }, recipe.clone(), 1);
        }
        Ok(recipe)
    }

    fn evaluate(
        &self,
        roots: &[&Array<'_>],
        options: &Options,
        destinations: SmallVec<[Destination<'_>; 2]>,
    ) -> Result<SmallVec<[Option<Buffer>; 2]>> {
        let walk = Walk::new(roots)?;
        let recipe = self.recipe(&walk, options)?;
        if recipe.bytes > options.max_bytes {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("the evaluation takes {} bytes, the limit is {}", recipe.bytes, options.max_bytes),
            ));
        }
        let mut memory = Memory::new(self, &recipe, destinations)?;
        let done = recipe.stages.iter().try_for_each(|stage| self.stage(stage, &walk, &mut memory, options));
        memory.finish(&self.pool, done)
    }

    /// Runs a stage; through a temporary where an output overlaps an input other than element for element.
    fn stage(
        &self,
        prepared: &Prepared,
        walk: &Walk<'_, '_>,
        memory: &mut Memory<'_>,
        options: &Options,
    ) -> Result<()> {
        let stage = &prepared.stage;
        if stage.shape.elements() == 0 {
            return Ok(());
        }
        let params: SmallVec<[u64; 8]> = stage.params.iter().map(|p| param(*p, walk.literals())).collect();
        let run = |outputs: SmallVec<[(Target, ViewMut<'_>); 4]>, temps: &[Option<Buffer>]| {
            let mut inputs: SmallVec<[View<'_>; 8]> = SmallVec::new();
            for input in &stage.inputs {
                let bytes = match input.source {
                    Source::Slot(slot) => walk.slots()[slot as usize].storage.bytes(),
                    Source::Temp(temp) => temps[temp as usize].as_ref().map_or(&[][..], Buffer::as_bytes),
                };
                let dtype = stage.kernel.inputs[inputs.len()];
                inputs.push(view(bytes, dtype, &input.layout)?);
            }
            match Nest::new(&stage.shape, &inputs, outputs.into_iter().map(|o| o.1)) {
                Ok(mut nest) => prepared.run(self, options, &mut nest, &params).map(|()| true),
                Err(NestError::Overlap { .. }) => Ok(false),
                Err(e) => Err(Error::new(ErrorKind::Memory, e.to_string())),
            }
        };
        let mut own = memory.take_temps(stage);
        let outputs = memory.outputs(stage, &mut own)?;
        let mut done = run(outputs, &memory.temps);
        if let Ok(false) = done {
            let mut fresh: SmallVec<[Buffer; 4]> = SmallVec::new();
            for dtype in stage.kernel.output_dtypes() {
                fresh.push(self.buffer(dtype.size() * stage.shape.elements())?);
            }
            let mut views: SmallVec<[(Target, ViewMut<'_>); 4]> = SmallVec::new();
            for ((buffer, dtype), target) in fresh.iter_mut().zip(stage.kernel.output_dtypes()).zip(&stage.outputs) {
                views.push((*target, contiguous_mut(buffer, dtype, &stage.shape)?));
            }
            done = run(views, &memory.temps);
            if done.is_ok() {
                let outputs = memory.outputs(stage, &mut own)?;
                for ((buffer, dtype), (_, out)) in fresh.iter().zip(stage.kernel.output_dtypes()).zip(outputs) {
                    copy(view(buffer.as_bytes(), dtype, &Layout::contiguous(stage.shape.clone()))?, out)?;
                }
            }
            fresh.into_iter().for_each(|b| self.pool.give(b));
        }
        memory.put_temps(own);
        done.map(drop)
    }

    fn buffer(&self, bytes: usize) -> Result<Buffer> {
        self.pool.take(bytes).map_err(|e| Error::new(ErrorKind::Limit, e.to_string()))
    }

    /// Why nothing can be compiled, if that is so.
    fn no_compiler(&self) -> Option<String> {
        if let Some(why) = self.refused.get() {
            return Some(why.clone());
        }
        self.compiler().err().map(str::to_string)
    }

    fn compiler(&self) -> std::result::Result<&Compiler, &str> {
        let compiler = self.compiler.get_or_init(|| Compiler::host().map_err(|e| e.to_string()));
        compiler.as_ref().map_err(String::as_str)
    }

    /// Compiles a kernel; `None` where executable memory is refused, now and from then on.
    fn compile(&self, kernel: &Arc<Kernel>, access: &[Access]) -> Result<Option<Compiled>> {
        let (Ok(compiler), None) = (self.compiler(), self.refused.get()) else { return Ok(None) };
        match compiler.compile(kernel, access) {
            Ok(compiled) => {
                let key = KernelKey { kernel: kernel.clone(), access: access.into() };
                // Code takes whole pages, and what is kept beside it about as much again.
                let weight = compiled.code_size().next_multiple_of(4096) * 2;
                self.kernels.insert(key, compiled.clone(), weight);
                Ok(Some(compiled))
            }
            Err(e) if e.kind() == ErrorKind::Memory => {
                let _ = self.refused.set(e.to_string());
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// How many threads an evaluation may use. A forked child has no pool: its threads stayed behind.
    fn threads(&self, options: &Options, time: f64) -> usize {
        if decide::threads(time, usize::MAX) == 1 || std::process::id() != self.process {
            return 1;
        }
        let pool = rayon::current_num_threads();
        options.threads.map_or(pool, |limit| limit.clamp(1, pool))
    }
}

impl Recipe {
    fn new(plan: fuse::Plan) -> Result<Recipe> {
        let mut bytes = 0usize;
        for (dtype, shape) in plan.roots.iter().chain(&plan.temps) {
            let size = shape.elements().checked_mul(dtype.size());
            bytes = size.and_then(|s| bytes.checked_add(s)).ok_or_else(|| {
                Error::new(ErrorKind::Limit, "results and temporaries take more bytes than can be addressed")
            })?;
        }
        let stages = plan.stages.into_iter().map(Prepared::new).collect();
        Ok(Recipe { stages, temps: plan.temps, roots: plan.roots, bytes })
    }
}

/// The memory of an evaluation's roots and temporaries.
struct Memory<'d> {
    roots: SmallVec<[Root<'d>; 2]>,
    temps: Vec<Option<Buffer>>,
}

struct Root<'d> {
    dtype: DType,
    shape: Shape,
    buffer: Option<Buffer>,
    given: Option<ViewMut<'d>>,
}

impl<'d> Memory<'d> {
    fn new(engine: &Engine, recipe: &Recipe, destinations: SmallVec<[Destination<'d>; 2]>) -> Result<Memory<'d>> {
        let mut roots = SmallVec::new();
        for ((dtype, shape), destination) in recipe.roots.iter().zip(destinations) {
            let (buffer, given) = match destination {
                Destination::New => (Some(engine.buffer(dtype.size() * shape.elements())?), None),
                Destination::Given(view) => (None, Some(view)),
            };
            roots.push(Root { dtype: *dtype, shape: shape.clone(), buffer, given });
        }
        let mut temps = Vec::with_capacity(recipe.temps.len());
        for (dtype, shape) in &recipe.temps {
            temps.push(Some(engine.buffer(dtype.size() * shape.elements())?));
        }
        Ok(Memory { roots, temps })
    }

    /// Takes the temporaries that a stage writes out of those that it reads.
    fn take_temps(&mut self, stage: &fuse::Stage) -> SmallVec<[(u32, Buffer); 2]> {
        let written = stage.outputs.iter().filter_map(|t| if let Target::Temp(t) = t { Some(*t) } else { None });
        written.filter_map(|t| Some((t, self.temps[t as usize].take()?))).collect()
    }

    fn put_temps(&mut self, temps: SmallVec<[(u32, Buffer); 2]>) {
        for (t, buffer) in temps {
            self.temps[t as usize] = Some(buffer);
        }
    }

    /// The memory of a stage's outputs, in their order.
    fn outputs<'m>(
        &'m mut self,
        stage: &fuse::Stage,
        own: &'m mut SmallVec<[(u32, Buffer); 2]>,
    ) -> Result<SmallVec<[(Target, ViewMut<'m>); 4]>> {
        let mut found: SmallVec<[(Target, ViewMut<'m>); 4]> = SmallVec::new();
        for (i, root) in self.roots.iter_mut().enumerate() {
            let target = Target::Root(i as u32);
            if stage.outputs.contains(&target) {
                let view = match (&mut root.given, &mut root.buffer) {
                    (Some(view), _) => view.reborrow(),
                    (None, Some(buffer)) => contiguous_mut(buffer, root.dtype, &root.shape)?,
                    (None, None) => continue,
                };
                found.push((target, view));
            }
        }
        let dtypes: SmallVec<[(Target, DType); 4]> =
            stage.outputs.iter().copied().zip(stage.kernel.output_dtypes()).collect();
        for (t, buffer) in own.iter_mut() {
            let target = Target::Temp(*t);
            let dtype = dtypes.iter().find(|(x, _)| *x == target).map_or(DType::UInt8, |(_, d)| *d);
            found.push((target, contiguous_mut(buffer, dtype, &stage.shape)?));
        }
        let place = |target: &Target| stage.outputs.iter().position(|t| t == target);
        found.sort_by_key(|(target, _)| place(target));
        Ok(found)
    }

    /// The roots' buffers; temporaries, and on error everything, go back to the pool.
    fn finish(self, pool: &Pool, done: Result<()>) -> Result<SmallVec<[Option<Buffer>; 2]>> {
        self.temps.into_iter().flatten().for_each(|b| pool.give(b));
        let buffers = self.roots.into_iter().map(|r| r.buffer);
        match done {
            Ok(()) => Ok(buffers.collect()),
            Err(e) => {
                buffers.flatten().for_each(|b| pool.give(b));
                Err(e)
            }
        }
    }
}

fn param(source: ParamSource, literals: &[Scalar]) -> u64 {
    match source {
        ParamSource::Slot(slot) => literals[slot as usize].bits,
        ParamSource::Fixed(value) => value.bits,
    }
}

/// A layout over memory.
pub(crate) fn view<'v>(bytes: &'v [u8], dtype: DType, layout: &Layout) -> Result<View<'v>> {
    let size = dtype.size();
    let strides: SmallVec<[isize; 6]> = layout.strides.iter().map(|s| s * size as isize).collect();
    View::new(bytes, size, layout.offset as usize * size, &layout.shape, &strides)
        .map_err(|e| Error::new(ErrorKind::Memory, e.to_string()))
}

/// A layout over memory that is written.
pub(crate) fn view_mut<'v>(bytes: &'v mut [u8], dtype: DType, layout: &Layout) -> Result<ViewMut<'v>> {
    let size = dtype.size();
    let strides: SmallVec<[isize; 6]> = layout.strides.iter().map(|s| s * size as isize).collect();
    ViewMut::new(bytes, size, layout.offset as usize * size, &layout.shape, &strides)
        .map_err(|e| Error::new(ErrorKind::Memory, e.to_string()))
}

fn contiguous_mut<'v>(buffer: &'v mut Buffer, dtype: DType, shape: &Shape) -> Result<ViewMut<'v>> {
    let internal = || Error::new(ErrorKind::Internal, "a result's buffer is not writable");
    let bytes = buffer.as_bytes_mut().ok_or_else(internal)?;
    view_mut(bytes, dtype, &Layout::contiguous(shape.clone()))
}

/// Copies elements, of one shape.
fn copy(from: View<'_>, to: ViewMut<'_>) -> Result<()> {
    let shape: SmallVec<[usize; 6]> = from.shape().into();
    let item = from.item();
    let mut nest = Nest::new(&shape, &[from], [to]).map_err(|e| Error::new(ErrorKind::Memory, e.to_string()))?;
    let mut scratch = broadloom_mem::Scratch::new();
    let _ = nest.run(broadloom_mem::AliasPolicy::Copy, &mut scratch, &mut |block| {
        for row in 0..block.rows() {
            let (inputs, mut outputs) = block.row(row);
            macro_rules! copy_row {
                ($t:ty) => {{
                    let out = outputs.get::<$t>(0);
                    match inputs.get::<$t>(0) {
                        broadloom_mem::Operand::Slice(row) => out.copy_from_slice(row),
                        broadloom_mem::Operand::Splat(x) => out.fill(x),
                    }
                }};
            }
            match item {
                1 => copy_row!(u8),
                2 => copy_row!(u16),
                4 => copy_row!(u32),
                _ => copy_row!(u64),
            }
        }
        std::ops::ControlFlow::Continue(())
    });
    Ok(())
}

pub(crate) use explain::explain;

/// Writes an array's values where a leaf's layout says; nobody else holds the leaf's memory.
pub(crate) fn evaluate_into_leaf(root: &Array<'_>, leaf: &mut Leaf<'static>, options: &Options) -> Result<()> {
    let internal = || Error::new(ErrorKind::Internal, "the output's memory is held by another handle");
    let dtype = leaf.storage.dtype();
    let layout = leaf.layout.clone();
    let bytes = leaf.storage.bytes_mut().ok_or_else(internal)?;
    Engine::global().eval_into(root, view_mut(bytes, dtype, &layout)?, options)
}
