//! What an evaluation would do, as text.
//!
//! In: roots and options. Out: the typed graph, the kernels with the reasons for their cuts, who would run each and
//! why, and on demand the CLIF and the disassembly. Must hold: nothing is computed, and nothing that it says is
//! invented here: it runs the same steps as an evaluation.

use std::fmt::Write;

use broadloom_core::Result;
use broadloom_core::fuse::Source;
use broadloom_interp::Stores;
use broadloom_mem::{Access, FloatEnv, Nest};

use crate::array::Array;
use crate::engine::memory::{contiguous_mut, view};
use crate::engine::options::Options;
use crate::engine::prepared::Prepared;
use crate::engine::{Engine, Planned, Recipe, decide, plan};
use crate::lower::Walk;

/// How much to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The plan.
    #[default]
    Plan,
    /// The plan, the CLIF and the disassembly of each kernel.
    Code,
}

/// Explains the evaluation of the roots.
pub(crate) fn explain(
    engine: &Engine,
    roots: &[&Array<'_>],
    options: &Options,
    detail: Detail,
) -> Result<String> {
    // Estimates are computed in floats, whatever the host has set.
    let _ieee = FloatEnv::ieee();
    let walk = Walk::new(roots, options)?;
    let Planned { nodes_before: before, graph, roots: ids, plan } =
        plan(walk.key(), walk.literals(), options)?;
    let mut out = String::new();
    let results: Vec<String> = ids.iter().map(|id| format!("{id:?}")).collect();
    // Writing to a String can't fail.
    let _ = writeln!(
        out,
        "graph ({before} nodes, {} after rewriting; result {}):",
        graph.nodes().len(),
        results.join(", ")
    );
    graph.to_string().lines().for_each(|line| out += &format!("  {line}\n"));
    let _ = write!(out, "{plan}");
    let recipe = Recipe::new(plan)?;
    for (i, prepared) in recipe.stages.iter().enumerate() {
        stage(engine, &walk, &recipe, prepared, i, options, detail, &mut out)?;
    }
    Ok(out)
}

#[allow(clippy::too_many_arguments)]
fn stage(
    engine: &Engine,
    walk: &Walk<'_, '_>,
    recipe: &Recipe,
    prepared: &Prepared,
    number: usize,
    options: &Options,
    detail: Detail,
    out: &mut String,
) -> Result<()> {
    let stage = &prepared.stage;
    if stage.shape.elements() == 0 {
        let _ = writeln!(out, "stage {number} has no elements: nothing runs");
        return Ok(());
    }
    let access = access(engine, walk, recipe, prepared)?;
    let choice = prepared.would_choose(engine, options, &access);
    let threads = decide::threads(choice.time, engine.threads(options, choice.time));
    let _ = writeln!(
        out,
        "stage {number} runs on the {}: {} ({threads} thread{}, ~{:.1} µs estimated for {} elements)",
        if choice.jit { "jit" } else { "interpreter" },
        choice.why,
        if threads == 1 { "" } else { "s" },
        choice.time / 1e3,
        stage.shape.elements(),
    );
    let traffic = prepared.traffic;
    if !choice.jit && traffic.stores() == Stores::Streaming {
        let _ = writeln!(
            out,
            "stage {number} stores past the caches, but where an output is an input: its operands have {} MB",
            traffic.read.saturating_add(traffic.written) / 1_000_000
        );
    }
    if detail == Detail::Code {
        if let decide::Why::TooLong { .. } = choice.why {
            let _ = writeln!(out, "stage {number} has no machine code: {}", choice.why);
            return Ok(());
        }
        match engine.compiler() {
            Ok(compiler) => {
                let (clif, disassembly) = compiler.explain(&stage.kernel, &access)?;
                let _ = writeln!(
                    out,
                    "stage {number}, CLIF:\n{clif}\nstage {number}, machine code:\n{disassembly}"
                );
            }
            Err(why) => {
                let _ = writeln!(out, "stage {number} has no machine code: {why}");
            }
        }
    }
    Ok(())
}

/// Above so many bytes of operands no memory is bound only to explain.
const MAX_BOUND: usize = 1 << 30;

/// How the stage's inputs would be accessed with contiguous outputs.
fn access(engine: &Engine, walk: &Walk<'_, '_>, recipe: &Recipe, prepared: &Prepared) -> Result<Vec<Access>> {
    let stage = &prepared.stage;
    if let Some(flat) = prepared.flat_access() {
        return Ok(flat.collect());
    }
    let assumed = vec![Access::Contiguous; stage.inputs.len()];
    if recipe.bytes > MAX_BOUND {
        return Ok(assumed);
    }
    let mut temps = Vec::new();
    for (dtype, shape) in &recipe.temps {
        temps.push(engine.buffer(dtype.size() * shape.elements())?);
    }
    let mut inputs = Vec::new();
    for (input, &dtype) in stage.inputs.iter().zip(&stage.kernel.inputs) {
        let bytes = match input.source {
            Source::Slot(slot) => walk.slots()[slot as usize].storage.bytes(),
            Source::Temp(temp) => temps[temp as usize].as_bytes(),
        };
        inputs.push(view(bytes.into(), dtype, &input.layout)?);
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
