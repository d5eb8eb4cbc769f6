//! What an evaluation would do: the same steps, and nothing run.
//!
//! It takes the same steps as an evaluation, so that nothing is said that does not happen, and computes nothing.

use broadloom_core::Result;
use broadloom_core::fuse::{self, Source};
use broadloom_core::graph::NodeId;
use broadloom_core::rewrite;
use broadloom_mem::{Access, Buffer, FloatEnv, Nest, Region, Stores};
use smallvec::SmallVec;

use crate::array::Array;
use crate::engine::jit::Width;
use crate::engine::memory::{contiguous_mut, view};
use crate::engine::options::Options;
use crate::engine::prepared::Prepared;
use crate::engine::{Engine, PlanLookup, Recipe, decide};
use crate::explain::{Explanation, Run, Step};
use crate::lower::{Expression, Lowered};

/// How much to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The plan.
    #[default]
    Plan,
    /// The plan, the CLIF and the disassembly of each kernel.
    Code,
}

/// What is explained.
pub(crate) struct Asked<'s> {
    pub expression: Expression<'s>,
    /// The memory behind each slot, where it is known.
    pub slots: Option<SmallVec<[Region<'s>; 8]>>,
    /// The recipe that was made of it, if it is kept: what its runs have shown decides who runs it.
    pub recipe: Option<&'s Recipe>,
}

/// Explains the evaluation of the roots.
pub(crate) fn explain(
    engine: &Engine,
    roots: &[&Array<'_>],
    options: &Options,
    detail: Detail,
) -> Result<Explanation> {
    let lowered = Lowered::new(roots, options.size_limits())?;
    let expression = lowered.expression();
    let recipe = engine.plans.get(&PlanLookup::new(expression, options));
    let slots = Some(lowered.slots().iter().map(|data| data.storage.region()).collect());
    explain_expression(engine, Asked { expression, slots, recipe: recipe.as_deref() }, options, detail)
}

/// Explains expressions that need not have memory, such as a kernel's.
pub(crate) fn explain_expression(
    engine: &Engine,
    asked: Asked<'_>,
    options: &Options,
    detail: Detail,
) -> Result<Explanation> {
    // Building and rewriting fold, and estimates are computed in floats, whatever the application has set.
    let _ieee = FloatEnv::ieee();
    let Asked { expression, slots, recipe } = asked;
    let (typed, typed_roots) = expression.graph(options.int_division)?;
    let (graph, roots, firings) = rewrite::explain(&typed, &typed_roots, options.rules)?;
    let mut plan = fuse::explain(&graph, &roots)?;
    let (decisions, temps) = (std::mem::take(&mut plan.decisions), plan.temps.clone());
    let computes = std::mem::take(&mut plan.computes);
    let fresh = Recipe::new(plan, expression.functions)?;
    let known = recipe.filter(|recipe| recipe.stages.len() == fresh.stages.len());
    let mut stages = Vec::with_capacity(fresh.stages.len());
    for (i, (prepared, nodes)) in fresh.stages.iter().zip(computes).enumerate() {
        let prepared = known.map_or(prepared, |recipe| &recipe.stages[i]);
        stages.push(step(engine, slots.as_deref(), &fresh, prepared, nodes, options, detail)?);
    }
    Ok(Explanation {
        typed: (typed, typed_roots),
        graph,
        roots,
        firings,
        decisions,
        temps,
        stages,
        about: String::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
    })
}

fn step(
    engine: &Engine,
    slots: Option<&[Region<'_>]>,
    recipe: &Recipe,
    prepared: &Prepared,
    nodes: Vec<NodeId>,
    options: &Options,
    detail: Detail,
) -> Result<Step> {
    let (stage, traffic) = (prepared.stage.clone(), prepared.traffic);
    let (read, written) = (traffic.read, traffic.written);
    if stage.shape.elements() == 0 {
        let access = vec![Access::Contiguous; stage.inputs.len()];
        return Ok(Step { stage, nodes, access, read: 0, written: 0, run: None, code: None });
    }
    let access = access(engine, slots, recipe, prepared)?;
    let choice = prepared.would_choose(engine, options, &access);
    let code = match (detail, engine.compiler()) {
        (Detail::Plan, _) => None,
        (Detail::Code, _) if matches!(choice.why, decide::Why::TooLong { .. }) => {
            Some(Err(choice.why.to_string()))
        }
        (Detail::Code, Ok(compiler)) => {
            let width = options.vector_width.width();
            let stores = traffic.stores_of(width);
            Some(Ok(compiler.explain(stores, &stage.kernel, &access, width)?))
        }
        (Detail::Code, Err(why)) => Some(Err(why.to_string())),
    };
    let (width, narrowed) = match &code {
        Some(Ok(listing)) => (listing.width, listing.narrowed.clone()),
        _ => prepared.vectors(engine, options, &access),
    };
    // The interpreter's are like those on wide vectors.
    let stores_at = if choice.jit { width } else { Width::W512 };
    let run = Run {
        jit: choice.jit,
        width,
        narrowed,
        why: choice.why.to_string(),
        threads: decide::threads(choice.time, engine.threads(options, choice.time)),
        interpreted: choice.interpreted,
        compiled: choice.fused,
        compile: choice.compile,
        streams: traffic.stores_of(stores_at) == Stores::Streaming,
    };
    Ok(Step { stage, nodes, access, read, written, run: Some(run), code })
}

/// Above so many bytes of operands no memory is bound only to explain.
const MAX_BOUND: usize = 1 << 30;

/// How the stage's inputs would be accessed with contiguous outputs.
fn access(
    engine: &Engine,
    slots: Option<&[Region<'_>]>,
    recipe: &Recipe,
    prepared: &Prepared,
) -> Result<Vec<Access>> {
    let stage = &prepared.stage;
    if let Some(flat) = prepared.flat_access() {
        return Ok(flat.collect());
    }
    let assumed = vec![Access::Contiguous; stage.inputs.len()];
    if recipe.bytes > MAX_BOUND {
        return Ok(assumed);
    }
    // Absent inputs are represented by dummy buffers that are never read.
    let mut dummies: Vec<Option<Buffer>> = Vec::new();
    for (input, dtype) in stage.inputs.iter().zip(&stage.kernel.inputs) {
        let elements = match (input.source, slots) {
            (Source::Slot(_), Some(_)) => None,
            _ => input.layout.reach().map(|(_, last)| last as usize + 1),
        };
        let bytes = elements.map(|n| n.saturating_mul(dtype.size()));
        if bytes.is_some_and(|bytes| bytes > MAX_BOUND) {
            return Ok(assumed);
        }
        dummies.push(bytes.map(|bytes| engine.buffer(bytes)).transpose()?);
    }
    let mut inputs = Vec::new();
    for ((input, &dtype), dummy) in stage.inputs.iter().zip(&stage.kernel.inputs).zip(&dummies) {
        let region: Region<'_> = match (input.source, slots, dummy) {
            (_, _, Some(buffer)) => buffer.as_bytes().into(),
            (Source::Slot(slot), Some(slots), None) => slots[slot as usize],
            _ => (&[][..]).into(),
        };
        inputs.push(view(region, dtype, &input.layout)?);
    }
    let mut buffers = Vec::new();
    for dtype in stage.kernel.output_dtypes() {
        buffers.push((engine.buffer(dtype.size() * stage.shape.elements())?, dtype));
    }
    let mut outputs = Vec::new();
    for (buffer, dtype) in &mut buffers {
        outputs.push(contiguous_mut(buffer, *dtype, &stage.shape)?);
    }
    let nest = Nest::new(&stage.shape, &inputs, outputs);
    Ok(match nest {
        Ok(nest) => (0..inputs.len()).map(|i| nest.access(i)).collect(),
        Err(_) => assumed,
    })
}
