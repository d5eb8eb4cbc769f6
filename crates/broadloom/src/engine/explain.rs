//! Explains an evaluation without running it.
//!
//! An explanation makes the same decisions as an evaluation, so that it describes what would happen, but computes no results.

use broadloom_core::fuse;
use broadloom_core::graph::NodeId;
use broadloom_core::rewrite;
use broadloom_core::{DType, Result};
use broadloom_ir::figures::counted;
use broadloom_ir::loop_plan::AccessClass;
use broadloom_ir::{Reduction, VectorWidth};
use broadloom_mem::{FloatEnv, Stores};
use broadloom_reduce::LANES;

use crate::engine::choice::Why;
use crate::engine::execution_plan::ExecutionPlan;
use crate::engine::loops::Loops;
use crate::engine::options::Options;
use crate::engine::prepared::PreparedStage;
use crate::engine::reduce::parts;
use crate::engine::row_blocks::Step;
use crate::engine::runtime::Runtime;
use crate::engine::space::{Form, Space};
use crate::engine::workers;
use crate::explain::{self, Explanation, Run};
use crate::lower::Expression;

/// The amount of detail of an explanation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The plan only.
    #[default]
    Plan,
    /// The plan, the CLIF and the disassembly of each kernel.
    Code,
}

/// The expression to explain.
pub(crate) struct Asked<'s> {
    pub expression: Expression<'s>,
    /// The cached plan of the expression, if there is one. Its states and measurements decide which executor is chosen.
    pub plan: Option<&'s ExecutionPlan>,
}

/// Explains expressions whose inputs need not have memory, such as the expressions of a kernel.
pub(super) fn explain(
    runtime: &Runtime,
    asked: Asked<'_>,
    options: &Options,
    detail: Detail,
) -> Result<Explanation> {
    // Building and rewriting fold constants, and estimates are computed with floats; both require the default floating-point
    // environment.
    let _ieee = FloatEnv::ieee();
    let Asked { expression, plan: kept } = asked;
    let (typed, typed_roots) = expression.graph(options.semantics())?;
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
    let (read, mut written) = (traffic.read, traffic.written);
    if !stage.stores() {
        written = stage.results().map(|(dtype, shape)| shape.elements() * dtype.size()).sum();
    }
    if let Some(call) = prepared.routine() {
        let (read, written) = call.traffic();
        let time = call.work().time;
        let run = Run {
            built_in: Some("library routine"),
            jit: false,
            width: VectorWidth::W128,
            narrowed: None,
            why: "it reads whole arrays".to_owned(),
            threads: workers::threads(options, time),
            interpreted: time,
            compiled: time,
            compile: 0.0,
            streams: false,
        };
        let (access, combining) = (Vec::new(), Vec::new());
        let why = (detail == Detail::Code).then(|| Err("a library routine computes it".to_owned()));
        return Ok(explain::Step {
            stage,
            nodes,
            access,
            read,
            written,
            combining,
            run: Some(run),
            code: why,
        });
    }
    if stage.shape.elements() == 0 {
        let (access, combining) = (prepared.classes().collect(), combining(prepared, 1));
        return Ok(explain::Step {
            stage,
            nodes,
            access,
            read: 0,
            written,
            combining,
            run: None,
            code: None,
        });
    }
    let (access, request) = (prepared.access(), runtime.request(options));
    let choice = prepared.would_choose(&request, &access);
    let code = match (detail, runtime.compiler()) {
        (Detail::Plan, _) => None,
        (Detail::Code, _) if matches!(choice.why, Why::TooLong { .. } | Why::Never(_)) => {
            Some(Err(choice.why.to_string()))
        }
        (Detail::Code, compiler) => match (compiler, runtime.no_compiler()) {
            (Ok(compiler), None) => {
                let purpose = prepared.purpose(request.width);
                Some(Ok(compiler.listing(&stage.kernel, &access, request.width, purpose)?))
            }
            (Err(why), _) | (_, Some(why)) => Some(Err(why.to_string())),
        },
    };
    let (width, narrowed) = match &code {
        Some(Ok(listing)) => (listing.width, runtime.narrowed(options).or_else(|| listing.narrowed.clone())),
        _ => prepared.vectors(&request, &access),
    };
    // The interpreter uses the same kind of stores as machine code on wide vectors.
    let stores_at = if choice.jit { width } else { VectorWidth::W512 };
    let folds = prepared.space().is_some_and(Space::takes_inputs);
    let cost = choice.cost;
    let time = if folds { cost.compiled } else { choice.time() };
    let threads = workers::threads(options, time);
    let run = Run {
        built_in: folds.then_some("built-in loop"),
        jit: choice.jit && !folds,
        width,
        narrowed,
        why: match folds {
            true => "the elements are read from memory, and none is computed".to_owned(),
            false => choice.why.to_string(),
        },
        threads,
        interpreted: if folds { cost.compiled } else { cost.interpreted },
        compiled: cost.compiled,
        compile: cost.compile,
        streams: traffic.stores_of(stores_at) == Stores::Streaming,
    };
    // Machine code on wide vectors reads every second element and reversed rows in place, unless the stage reduces elements in
    // tiles.
    let reads_steps = run.jit && width > VectorWidth::W128 && !stage.reduces();
    let as_run = |class| match class {
        AccessClass::Stepped(_) if !reads_steps => AccessClass::Packed,
        class => class,
    };
    let (access, combining) = (prepared.classes().map(as_run).collect(), combining(prepared, threads));
    Ok(explain::Step { stage, nodes, access, read, written, combining, run: Some(run), code })
}

/// Describes how a stage reduces or scans its elements, in a line for each aspect.
fn combining(prepared: &PreparedStage, threads: usize) -> Vec<String> {
    let stage = &prepared.stage;
    match prepared.space() {
        Some(space) => {
            let elements = counted(space.count as u64, "element");
            let counts = match space.results {
                1 => format!("the result is combined of {elements}"),
                results => format!("each of {} is combined of {elements}", counted(results as u64, "result")),
            };
            let dtypes = stage.kernel.output_dtypes();
            let order = order(stage.reductions().zip(dtypes).filter_map(|(of, dtype)| Some((of?, dtype))));
            let mut lines = vec![format!("{counts}; {order}")];
            if space.results > 0 && space.count > 0 {
                lines.push(walk(space, threads));
            }
            lines
        }
        None => match &prepared.loops {
            Ok(Loops::Scan(scanned)) => vec![
                "each element is combined with the totals of aligned blocks before it, the largest first"
                    .into(),
                match scanned.tiles {
                    Some(_) => {
                        "elements are stored in tiles, and combined there while these are in cache".into()
                    }
                    None => "all elements are stored first, and then combined where they are".into(),
                },
            ],
            Ok(Loops::Steps(steps)) => vec![steps.to_string()],
            _ => Vec::new(),
        },
    }
}

/// Describes the order in which elements are reduced.
fn order(reductions: impl Iterator<Item = (Reduction, DType)>) -> String {
    let (mut canonical, mut free, mut first) = (Vec::new(), Vec::new(), Vec::new());
    for (reduction, dtype) in reductions {
        let names: &mut Vec<&str> = match (reduction.is_free(dtype), reduction.op()) {
            (true, _) => &mut free,
            (false, Some(_)) => &mut canonical,
            (false, None) => &mut first,
        };
        if !names.contains(&reduction.name()) {
            names.push(reduction.name());
        }
    }
    let mut parts = Vec::new();
    if !canonical.is_empty() {
        parts.push(format!("{} in the canonical order of {LANES} lanes", canonical.join(", ")));
    }
    if !free.is_empty() {
        parts.push(format!("{} in any order, which gives the same bits", free.join(", ")));
    }
    if !first.is_empty() {
        parts.push(format!("{} by the number of the first", first.join(", ")));
    }
    parts.join("; ")
}

/// Describes the units in which elements are computed and reduced, and how threads share them.
fn walk(space: &Space, threads: usize) -> String {
    let results = match space.form {
        Form::Along => "result by result".to_owned(),
        Form::Across { width } => format!("{width} adjacent results at once"),
    };
    let is_packed = space.whole().is_ok_and(|plan| plan.operands().iter().any(|o| o.class().is_tiled()));
    let place = match (space.takes_inputs(), is_packed) {
        (true, false) => "elements are combined where they are in memory".to_owned(),
        (true, true) => "elements are packed into tiles in cache, and combined there".to_owned(),
        (false, _) => {
            let tile = counted(space.tile as u64, "element");
            format!("elements are computed into a tile of about {tile} in cache, and combined there")
        }
    };
    let parts = match threads {
        ..=1 => "",
        _ if space.has_ranges(parts(threads)) => "; threads have ranges of the elements, joined in order",
        _ => "; threads have results of their own",
    };
    format!("{place}, {results}{parts}")
}
