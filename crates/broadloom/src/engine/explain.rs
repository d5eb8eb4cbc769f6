//! Explains an evaluation without running it.
//!
//! It takes the same steps as an evaluation, so that nothing is said that does not happen, and computes nothing.

use broadloom_core::Result;
use broadloom_core::fuse;
use broadloom_core::graph::NodeId;
use broadloom_core::rewrite;
use broadloom_ir::VectorWidth;
use broadloom_mem::{FloatEnv, Stores};

use crate::engine::choice::Why;
use crate::engine::execution_plan::ExecutionPlan;
use crate::engine::options::Options;
use crate::engine::prepared::PreparedStage;
use crate::engine::runtime::Runtime;
use crate::engine::workers;
use crate::engine::row_blocks::Step;
use crate::explain::{self, Explanation, Run};
use crate::lower::Expression;

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
    /// The plan that was made of it, if it is kept: what its runs have shown decides which executor runs it.
    pub plan: Option<&'s ExecutionPlan>,
}

/// Explains expressions that need not have memory, such as a kernel's.
pub(super) fn explain(
    runtime: &Runtime,
    asked: Asked<'_>,
    options: &Options,
    detail: Detail,
) -> Result<Explanation> {
    // Building and rewriting fold, and estimates are computed in floats, whatever the application has set.
    let _ieee = FloatEnv::ieee();
    let Asked { expression, plan: kept } = asked;
    let (typed, typed_roots) = expression.graph(options.int_division)?;
    let (graph, roots, firings) = rewrite::explain(&typed, &typed_roots, options.rules)?;
    let mut plan = fuse::explain(&graph, &roots)?;
    let (decisions, temps) = (std::mem::take(&mut plan.decisions), plan.temps.clone());
    let computes = std::mem::take(&mut plan.computes);
    let fresh = ExecutionPlan::new(plan, expression.functions)?;
    let known = kept.filter(|plan| plan.stages.len() == fresh.stages.len());
    let mut stages = Vec::with_capacity(fresh.stages.len());
    for (i, (prepared, nodes)) in fresh.stages.iter().zip(computes).enumerate() {
        let prepared = known.map_or(prepared, |plan| &plan.stages[i]);
        stages.push(step(runtime, prepared, nodes, options, detail)?);
    }
    let apart = fresh.apart.map(|why| why.to_string());
    let blocks = fresh.steps.iter().filter_map(Step::blocks).map(ToString::to_string).chain(apart).collect();
    Ok(Explanation {
        blocks,
        numbers: (0..typed_roots.len()).collect(),
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
        places: Vec::new(),
        settled: Vec::new(),
    })
}

fn step(
    runtime: &Runtime,
    prepared: &PreparedStage,
    nodes: Vec<NodeId>,
    options: &Options,
    detail: Detail,
) -> Result<explain::Step> {
    let (stage, traffic) = (prepared.stage.clone(), prepared.traffic);
    let (read, written) = (traffic.read, traffic.written);
    if stage.shape.elements() == 0 {
        let access = prepared.classes().collect();
        return Ok(explain::Step { stage, nodes, access, read: 0, written: 0, run: None, code: None });
    }
    let (access, request) = (prepared.access(), runtime.request(options));
    let choice = prepared.would_choose(&request, &access);
    let code = match (detail, runtime.compiler()) {
        (Detail::Plan, _) => None,
        (Detail::Code, _) if matches!(choice.why, Why::TooLong { .. }) => Some(Err(choice.why.to_string())),
        (Detail::Code, compiler) => match (compiler, runtime.no_compiler()) {
            (Ok(compiler), None) => {
                let stores = traffic.stores_of(request.width);
                Some(Ok(compiler.explain(stores, &stage.kernel, &access, request.width)?))
            }
            (Err(why), _) | (_, Some(why)) => Some(Err(why.to_string())),
        },
    };
    let (width, narrowed) = match &code {
        Some(Ok(listing)) => (listing.width, runtime.narrowed(options).or_else(|| listing.narrowed.clone())),
        _ => prepared.vectors(&request, &access),
    };
    // The interpreter's are like those on wide vectors.
    let stores_at = if choice.jit { width } else { VectorWidth::W512 };
    let run = Run {
        jit: choice.jit,
        width,
        narrowed,
        why: choice.why.to_string(),
        threads: workers::threads(options, choice.time()),
        interpreted: choice.cost.interpreted,
        compiled: choice.cost.compiled,
        compile: choice.cost.compile,
        streams: traffic.stores_of(stores_at) == Stores::Streaming,
    };
    let access = prepared.classes().collect();
    Ok(explain::Step { stage, nodes, access, read, written, run: Some(run), code })
}
