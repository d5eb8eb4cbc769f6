//! The engine: computes the values of arrays.
//!
//! An evaluation looks up the [execution plan](execution_plan) of its expression, or builds one, and runs it on the arrays'
//! memory. Temporaries are freed after their last use, caches are bounded, and the engine never blocks on a lock whose holder no
//! longer exists, as in the child of a fork.

mod blocks;
mod cache;
mod choice;
mod combined;
mod cost;
mod execute;
mod execution_plan;
mod executors;
mod explain;
mod in_flight;
mod lent;
mod lock;
mod loops;
mod memory;
mod options;
mod out_of_range;
mod outcome;
mod place;
mod plan_run;
mod prepared;
mod recurrence;
mod reduce;
mod routine;
mod row_blocks;
mod runtime;
mod scanned;
mod space;
mod stepped;
mod stored;
mod trial;
mod unit_run;
mod watch;
pub(crate) mod workers;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use broadloom_core::fuse;
use broadloom_core::graph::{Graph, Semantics};
use broadloom_core::rewrite::{self, Rules};
use broadloom_core::structure::{OwnedStructure, Structure};
use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Scalar};
use broadloom_ir::VectorWidth;
use broadloom_mem::{FloatEnv, Operands, Pool, RegionMut};
use hashbrown::Equivalent;
use smallvec::SmallVec;

use crate::array::{Array, Data};
use crate::explain::Explanation;
use crate::lower::{Expression, Lowered, Place};
use crate::storage::Storage;

pub(crate) use crate::jit::clif;
pub(crate) use cache::Cache;
pub(crate) use execution_plan::ExecutionPlan;
pub(crate) use explain::{Asked, Detail};
use in_flight::{InFlight, Meanwhile};
pub(crate) use lent::{Ended, lend};
pub(crate) use memory::{output, view_mut};
pub use options::{Executor, Limits, Options, Profiling};
use plan_run::PlanRun;
pub(crate) use plan_run::{Params, params};
use reduce::Blocks;
pub(crate) use reduce::{Folding, ScanBlocks};
pub(crate) use runtime::Request;
use runtime::Runtime;
pub use watch::{Control, Progress};
pub(crate) use watch::{Watch, Work, is_long};

/// Evaluates expressions, with caches of plans and compiled kernels, a pool of result buffers, and limits for all of them.
///
/// Every array's `eval` uses [`Engine::global`]. Engines are `Send + Sync` and can be used from any number of threads. Arrays do
/// not belong to an engine.
pub struct Engine {
    plans: Cache<PlanKey, Arc<ExecutionPlan>>,
    /// The plans that threads are building now, by a key that includes the values of literals.
    planning: InFlight<WithLiterals<PlanKey, Box<[Scalar]>>, Arc<ExecutionPlan>>,
    planned: AtomicU64,
    runtime: Runtime,
    pool: Arc<Pool>,
}

/// The approximate number of 8-byte words that a node takes in a [`PlanKey`].
const WORDS_PER_NODE: usize = 4;

/// The cache key of a plan: the structure of the expressions, and the options that affect kernels.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PlanKey {
    structure: Arc<OwnedStructure>,
    mode: (Semantics, Rules),
}

/// A borrowed [`PlanKey`], for look-ups that copy nothing. It has the same hash as the owned key.
#[derive(Hash)]
struct PlanLookup<'k> {
    structure: Structure<'k>,
    mode: (Semantics, Rules),
}

impl PlanLookup<'_> {
    fn new<'k>(expression: Expression<'k>, options: &Options) -> PlanLookup<'k> {
        PlanLookup { structure: expression.structure, mode: (options.semantics(), options.rules) }
    }

    fn to_owned(&self) -> PlanKey {
        PlanKey { structure: Arc::new(self.structure.to_owned()), mode: self.mode }
    }
}

impl Equivalent<PlanKey> for PlanLookup<'_> {
    fn equivalent(&self, key: &PlanKey) -> bool {
        self.structure == key.structure.borrow() && self.mode == key.mode
    }
}

/// A [`PlanKey`] or [`PlanLookup`] together with the values of the literals, since it is known only after building whether a plan
/// depends on these values.
#[derive(Clone, PartialEq, Eq, Hash)]
struct WithLiterals<K, L> {
    key: K,
    literals: L,
}

impl Equivalent<WithLiterals<PlanKey, Box<[Scalar]>>> for WithLiterals<PlanLookup<'_>, &[Scalar]> {
    fn equivalent(&self, other: &WithLiterals<PlanKey, Box<[Scalar]>>) -> bool {
        *self.literals == *other.literals && self.key.equivalent(&other.key)
    }
}

/// The number of plans and compilations of an engine since it was made ([`Engine::statistics`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The number of execution plans built. A plan contains the kernels of an expression and the layouts of their memory.
    pub plans: u64,
    /// The number of kernels compiled to machine code.
    pub compilations: u64,
}

impl Engine {
    /// Makes an engine with these limits. Profilers and debuggers are informed of its code according to [`Profiling::from_env`].
    pub fn new(limits: Limits) -> Engine {
        Engine::for_target(limits, VectorWidth::target())
    }

    /// Makes an engine for a CPU with vectors of this width.
    fn for_target(limits: Limits, target: VectorWidth) -> Engine {
        Engine {
            plans: Cache::new(limits.plans, limits.plan_words),
            planning: InFlight::new(),
            planned: AtomicU64::new(0),
            runtime: Runtime::new(&limits, target),
            pool: Arc::new(Pool::new(limits.pool_bytes)),
        }
    }

    /// Sets the profilers and debuggers that are informed of the engine's machine code, overriding the environment.
    ///
    /// ```
    /// use broadloom::{Engine, Limits, Profiling};
    ///
    /// let engine = Engine::new(Limits::default()).with_profiling(Profiling { perf_map: true, gdb: false });
    /// assert_eq!(engine.profiling(), Profiling { perf_map: true, gdb: false });
    /// ```
    #[must_use]
    pub fn with_profiling(mut self, profiling: Profiling) -> Engine {
        self.runtime.profiling = profiling;
        self
    }

    /// The profilers and debuggers that are informed of machine code.
    pub fn profiling(&self) -> Profiling {
        self.runtime.profiling
    }

    /// The number of threads that an evaluation uses if its options set no limit: the value of the environment variable
    /// `BROADLOOM_NUM_THREADS`, `RAYON_NUM_THREADS` or `OMP_NUM_THREADS`, the first that is a positive number, or else the number
    /// of processors. It is determined once per process.
    pub fn default_threads() -> usize {
        workers::default_threads()
    }

    /// The widest vectors that the engine's machine code can use: the widest vectors of the CPU.
    pub fn vector_width(&self) -> VectorWidth {
        self.runtime.request(&Options::default()).width
    }

    /// The reason why the engine generates no machine code, or `None` if it does: the build has no compiler, the compiler does
    /// not support the CPU, or the system refuses executable memory. The interpreter then runs everything.
    pub fn no_compiler(&self) -> Option<&str> {
        self.runtime.probe()
    }

    /// The process-wide engine, created on first use.
    pub fn global() -> &'static Engine {
        static GLOBAL: OnceLock<Engine> = OnceLock::new();
        GLOBAL.get_or_init(|| Engine::new(Limits::default()))
    }

    /// Computes the values of several arrays together, so that roots of equal shape share one loop.
    pub(crate) fn eval_many(
        &self,
        roots: &[&Array<'_>],
        options: &Options,
        control: Option<&Control<'_>>,
    ) -> Result<Vec<Array<'static>>> {
        let lowered = Lowered::new(roots, options.size_limits())?;
        self.with_plan(&lowered, options, control, |plan, run| {
            let mut buffers: SmallVec<[_; 2]> = SmallVec::new();
            for (dtype, shape) in plan.roots() {
                buffers.push(memory::buffer(&self.pool, dtype.size() * shape.elements())?);
            }
            let done = (|| {
                let mut operands = Operands::reading(lowered.regions());
                for buffer in &mut buffers {
                    operands.write(memory::written(buffer)?);
                }
                plan.run(run, &mut operands, Vec::new())
            })();
            if let Err(error) = done {
                buffers.into_iter().for_each(|buffer| self.pool.give(buffer));
                return Err(error);
            }
            let array = |(buffer, root): (_, &&Array<'_>)| {
                let storage = Storage::from_pool(root.dtype(), buffer, &self.pool);
                Array::data(storage, Layout::contiguous(root.0.shape.clone()))
            };
            Ok(buffers.into_iter().zip(roots).map(array).collect())
        })
    }

    /// Drops all plans and compiled kernels, and frees the pool.
    pub fn clear(&self) {
        self.plans.clear();
        self.runtime.kernels.clear();
        self.pool.clear();
    }

    /// The number of compiled kernels in the cache.
    pub fn compiled_kernels(&self) -> usize {
        self.runtime.kernels.len()
    }

    /// The number of plans and compilations so far, including those that the caches have evicted since.
    ///
    /// Threads that evaluate the same new expression at the same time share one plan, and one of them compiles it.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Engine, Limits, Options};
    ///
    /// let engine = Engine::new(Limits::default());
    /// let y = Array::from_vec(vec![1.0_f32, 2.0]) * 3;
    /// Evaluation::default().engine(&engine).eval(&y)?;
    /// Evaluation::default().engine(&engine).eval(&y)?;
    /// assert_eq!(engine.statistics().plans, 1);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn statistics(&self) -> Statistics {
        Statistics {
            plans: self.planned.load(Ordering::Relaxed),
            compilations: self.runtime.compilations.load(Ordering::Relaxed),
        }
    }

    /// A buffer for this many elements, with unspecified contents. It returns to the pool when it is dropped.
    pub(crate) fn buffer(&self, dtype: DType, elements: usize) -> Result<Storage<'static>> {
        let bytes = elements.checked_mul(dtype.size());
        let bytes = bytes.ok_or_else(|| Error::new(ErrorKind::Limit, "more bytes than can be addressed"))?;
        Ok(Storage::from_pool(dtype, memory::buffer(&self.pool, bytes)?, &self.pool))
    }

    /// Evaluates an array into `out`, which has the given layout or, if that is `None`, is contiguous in row-major order.
    pub(crate) fn eval_into(
        &self,
        root: &Array<'_>,
        out: RegionMut<'_>,
        layout: Option<Layout>,
        options: &Options,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        let lowered = Lowered::new(&[root], options.size_limits())?;
        self.with_plan(&lowered, options, control, |plan, run| {
            let mut operands = Operands::reading(lowered.regions());
            operands.write(out);
            plan.run(run, &mut operands, vec![layout])
        })
    }

    /// Returns the plan of an expression: from the cache, from another thread that is building it now, or newly built. The cache
    /// has one plan for all expressions of equal structure, unless the plan depends on the values of literals.
    pub(crate) fn execution_plan(
        &self,
        expression: Expression<'_>,
        options: &Options,
        watch: Option<&Watch<'_>>,
    ) -> Result<Arc<ExecutionPlan>> {
        let lookup = PlanLookup::new(expression, options);
        if let Some(plan) = self.plans.get(&lookup) {
            return Ok(plan);
        }
        // A plan that is too large for the cache is not shared with other threads either, since its owned key would be a copy of
        // the whole structure.
        let weight = WORDS_PER_NODE * expression.structure.nodes.len();
        if !self.plans.takes(weight) {
            return self.make_plan(expression, options).map(|(plan, _)| plan);
        }
        let lookup = WithLiterals { key: lookup, literals: expression.literals };
        let owned = || WithLiterals { key: lookup.key.to_owned(), literals: expression.literals.into() };
        let known = || self.plans.get(&lookup.key);
        let make = |owned: WithLiterals<PlanKey, _>| {
            let (plan, depends_on_values) = self.make_plan(expression, options)?;
            if !depends_on_values {
                self.plans.insert(owned.key, plan.clone(), weight);
            }
            Ok(plan)
        };
        let plan = self.planning.once(&lookup, owned, Meanwhile::Wait(watch), known, make)?;
        plan.ok_or_else(|| Error::new(ErrorKind::Internal, "a plan that was waited for is not there"))
    }

    /// Builds the plan of an expression. Also returns whether the plan is valid only for these values of the literals.
    fn make_plan(&self, expression: Expression<'_>, options: &Options) -> Result<(Arc<ExecutionPlan>, bool)> {
        // Building and rewriting fold constants and estimate costs, which requires the default floating-point environment.
        let _ieee = FloatEnv::ieee();
        let Planned { graph, plan } = plan(expression, options)?;
        let plan = Arc::new(ExecutionPlan::new(plan, expression.functions)?);
        self.planned.fetch_add(1, Ordering::Relaxed);
        Ok((plan, graph.depends_on_values()))
    }

    /// Gets the plan of an expression, and calls `run` with it.
    fn with_plan<R>(
        &self,
        lowered: &Lowered<'_, '_>,
        options: &Options,
        control: Option<&Control<'_>>,
        run: impl FnOnce(&ExecutionPlan, &PlanRun<'_>) -> Result<R>,
    ) -> Result<R> {
        let watch = Watch::begin(control, options)?;
        let plan = self.execution_plan(lowered.expression(), options, watch.as_ref())?;
        let watch = Watch::over(watch, plan.work())?;
        let (request, literals) = (self.request(options), lowered.literals());
        run(&plan, &PlanRun { request, pool: &self.pool, literals, watch: watch.as_ref() })
    }

    /// Evaluates the roots, each of which is a reduction, over `count` more elements, and appends their partial results to
    /// `so_far`. After an error `so_far` is unchanged.
    pub(crate) fn fold(
        &self,
        roots: &[&Array<'_>],
        count: u64,
        so_far: &mut Folding,
        options: &Options,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        let mut made = self.fold_together(roots, so_far, 0, options, control)?.unwrap_or_default();
        if made.is_empty() {
            // If two roots are the same node, or one depends on another, each is planned separately.
            for (i, root) in roots.iter().enumerate() {
                let internal = || Error::new(ErrorKind::Internal, "a reduction that no stage is");
                made.extend(self.fold_together(&[root], so_far, i, options, control)?.ok_or_else(internal)?);
            }
        }
        so_far.append(count, made)
    }

    fn fold_together(
        &self,
        roots: &[&Array<'_>],
        so_far: &Folding,
        first: usize,
        options: &Options,
        control: Option<&Control<'_>>,
    ) -> Result<Option<Vec<Blocks>>> {
        let lowered = Lowered::new(roots, options.size_limits())?;
        self.with_plan(&lowered, options, control, |plan, run| {
            plan.fold(run, &mut Operands::reading(lowered.regions()), so_far, first)
        })
    }

    /// Runs a plan. The operands are the memory of its slots and roots; `layouts` contains the layouts of the roots.
    pub(crate) fn run(
        &self,
        plan: &ExecutionPlan,
        operands: &mut Operands<'_>,
        layouts: Vec<Option<Layout>>,
        literals: &[Scalar],
        options: &Options,
        watch: Option<&Watch<'_>>,
    ) -> Result<()> {
        let run = PlanRun { request: self.request(options), pool: &self.pool, literals, watch };
        plan.run(&run, operands, layouts)
    }

    /// Explains the evaluation of the roots.
    pub(crate) fn explain(
        &self,
        roots: &[&Array<'_>],
        options: &Options,
        detail: Detail,
    ) -> Result<Explanation> {
        let lowered = Lowered::new(roots, options.size_limits())?;
        let expression = lowered.expression();
        let plan = self.plans.get(&PlanLookup::new(expression, options));
        let explained =
            self.explain_expression(Asked { expression, plan: plan.as_deref() }, options, detail)?;
        Ok(Explanation { places: lowered.slots().iter().map(|data| Place::of(data)).collect(), ..explained })
    }

    /// Explains expressions whose inputs need not have memory, such as the expressions of a kernel.
    pub(crate) fn explain_expression(
        &self,
        asked: Asked<'_>,
        options: &Options,
        detail: Detail,
    ) -> Result<Explanation> {
        explain::explain(&self.runtime, asked, options, detail)
    }

    /// The request of a run with these options on this engine's target.
    #[inline]
    pub(crate) fn request<'r>(&'r self, options: &'r Options) -> Request<'r> {
        self.runtime.request(options)
    }
}

/// An expression's graph after rewriting, and its division into kernels.
struct Planned {
    graph: Graph,
    plan: fuse::Plan,
}

/// Builds the graph of an expression, rewrites it, and fuses it into kernels. The caller sets the default floating-point
/// environment, in which constants are folded.
fn plan(expression: Expression<'_>, options: &Options) -> Result<Planned> {
    let (graph, roots) = expression.graph(options.semantics())?;
    let (graph, roots) = rewrite::run(&graph, &roots, options.rules)?;
    let plan = fuse::run(&graph, &roots)?;
    Ok(Planned { graph, plan })
}

/// Evaluates an array into the memory of a leaf, in the leaf's layout. It is an error if another handle refers to the memory.
pub(crate) fn evaluate_into_leaf(
    engine: &Engine,
    root: &Array<'_>,
    leaf: &mut Data<'static>,
    options: &Options,
    control: Option<&Control<'_>>,
) -> Result<()> {
    let internal = || Error::new(ErrorKind::Internal, "the output's memory is held by another handle");
    let dtype = leaf.storage.dtype();
    let layout = leaf.layout.clone();
    let bytes = leaf.storage.bytes_mut().ok_or_else(internal)?;
    // Checks that the layout stays inside of the memory, and that no two indices address the same element.
    view_mut(bytes, dtype, &layout)?;
    let len = layout.shape.elements() * dtype.size();
    let (bytes, layout) = match layout.is_contiguous() && layout.offset == 0 {
        true => (&mut bytes[..len], None),
        false => (bytes, Some(layout)),
    };
    engine.eval_into(root, bytes.into(), layout, options, control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Evaluation;

    /// A width that the target lacks is replaced by the target's widest before it is used in estimates, cache keys or the
    /// compiler.
    #[test]
    fn a_width_that_the_target_lacks_is_the_widest_that_it_has() -> Result<()> {
        let x = Array::from_vec((0..10_007).map(|i| i as f32 / 8.0).collect::<Vec<_>>());
        let root = (&x * &x + 0.5).sqrt();
        for target in VectorWidth::of_target() {
            let engine = Engine::for_target(Limits::default(), target);
            let options = |vector_width| Options { vector_width, threads: Some(1), ..Options::default() };
            let lowered = Lowered::new(&[&root], Options::default().size_limits())?;
            let plan = engine.execution_plan(lowered.expression(), &Options::default(), None)?;
            let stage = &plan.stages[0];
            let of_target = options(Some(target));
            let wanted = stage.would_choose(&engine.request(&of_target), &stage.access()).cost;
            for asked in [None].into_iter().chain(VectorWidth::ALL.map(Some)) {
                let (options, wider) = (options(asked), asked.is_some_and(|asked| asked > target));
                let request = engine.request(&options);
                let cost = stage.would_choose(&request, &stage.access()).cost;
                let is_target = asked.is_none_or(|asked| asked >= target);
                let same = (cost.compiled, cost.compile) == (wanted.compiled, wanted.compile);
                assert_eq!(same, is_target, "{asked:?} on {target:?}");
                let (width, why) = stage.vectors(&request, &stage.access());
                assert_eq!((width, why.is_some()), (asked.unwrap_or(target).min(target), wider));
                let jit = Options { executor: Executor::Jit, ..options };
                Evaluation::with(&jit).engine(&engine).eval(&root)?;
            }
            // There is one kernel for each width up to the target's, whichever widths were requested.
            let widths = VectorWidth::ALL.into_iter().filter(|&width| width <= target).count();
            assert_eq!(engine.compiled_kernels(), if cfg!(feature = "jit") { widths } else { 0 });
        }
        Ok(())
    }
}
