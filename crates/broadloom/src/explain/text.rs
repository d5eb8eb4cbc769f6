//! An explanation as text.
//!
//! Each line is about one node, one rule or one kernel. Kernels have the same numbers as in
//! [`Details`](crate::explain::Details).

use std::fmt;

use broadloom_ir::figures::{bytes, counted, time};
use broadloom_mem::FloatEnv;

use crate::explain::details::{Details, ExplainedKernel};
use crate::explain::explanation::Explanation;

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Figures are scaled with floats, in the default environment.
        let _ieee = FloatEnv::ieee();
        let Details {
            about,
            typed,
            typed_results,
            rules,
            nodes,
            results,
            temporaries,
            kernels,
            decisions,
            notes,
        } = &self.details();
        if !about.is_empty() {
            writeln!(f, "{about}")?;
        }
        writeln!(f, "typed graph ({}; {}):", counted(typed.len() as u64, "node"), listed(typed_results))?;
        indented(f, typed)?;
        if rules.is_empty() {
            writeln!(f, "rewriting: no rule applies")?;
        } else {
            writeln!(f, "rewriting ({} fired):", counted(rules.len() as u64, "rule"))?;
            indented(f, rules)?;
        }
        let count = counted(nodes.len() as u64, "node");
        writeln!(f, "graph ({count} after rewriting; {}):", listed(results))?;
        indented(f, nodes.iter().map(|node| &node.line))?;
        writeln!(
            f,
            "plan ({}, {temporaries} {}; {} moved, {}):",
            counted(kernels.len() as u64, "kernel"),
            if *temporaries == 1 { "temporary" } else { "temporaries" },
            bytes(self.bytes()),
            counted(self.operations(), "operation"),
        )?;
        for (number, kernel) in kernels.iter().enumerate() {
            write_kernel(f, number, kernel)?;
        }
        decisions.iter().chain(notes).try_for_each(|note| writeln!(f, "note: {note}"))?;
        for (number, kernel) in kernels.iter().enumerate() {
            write_run(f, number, kernel)?;
        }
        for (number, kernel) in kernels.iter().enumerate() {
            for (title, code) in &kernel.code {
                writeln!(f, "kernel {number}, {title}:\n{code}")?;
            }
            if let Some(why) = &kernel.no_code {
                writeln!(f, "kernel {number} has no machine code: {why}")?;
            }
        }
        Ok(())
    }
}

fn write_kernel(f: &mut fmt::Formatter<'_>, number: usize, kernel: &ExplainedKernel) -> fmt::Result {
    writeln!(f, "kernel {number} over {}:", kernel.space)?;
    for input in &kernel.inputs {
        writeln!(f, "  {} reads {}, {}, {}", input.value, input.source, input.layout, input.access)?;
    }
    for output in &kernel.outputs {
        writeln!(f, "  {} is written to {}", output.value, output.target)?;
    }
    indented(f, &kernel.body)?;
    indented(f, &kernel.combining)?;
    let [call, row, element] = kernel.instructions;
    write!(f, "  for each element {}", counted(element as u64, "instruction"))?;
    for (n, what) in [(row, "row"), (call, "call")] {
        if n > 0 {
            write!(f, ", {n} once per {what}")?;
        }
    }
    if !kernel.combines.is_empty() {
        write!(f, ", {}", counted(kernel.combines.len() as u64, "combination"))?;
    }
    writeln!(
        f,
        "; reads {}, writes {}, {}",
        bytes(kernel.read),
        bytes(kernel.written),
        counted(kernel.operations, "operation")
    )
}

fn write_run(f: &mut fmt::Formatter<'_>, number: usize, kernel: &ExplainedKernel) -> fmt::Result {
    let Some(run) = &kernel.run else {
        let what =
            if kernel.combines.is_empty() { "nothing runs" } else { "its results are those of nothing" };
        return writeln!(f, "kernel {number} has no elements: {what}");
    };
    let threads = counted(run.threads as u64, "thread");
    writeln!(
        f,
        "kernel {number} runs on {} {}: {} ({threads}, {})",
        if run.is_built_in { "a" } else { "the" },
        run.executor,
        run.why,
        run.estimate
    )?;
    if run.is_built_in {
        return Ok(());
    }
    writeln!(
        f,
        "kernel {number} is estimated to take {} by the interpreter and {} by machine code on one thread, and {} to compile",
        time(run.interpreted),
        time(run.compiled),
        time(run.compile)
    )?;
    if let Some(vectors) = &run.vectors {
        writeln!(f, "kernel {number} has {vectors}")?;
    }
    if run.streams {
        let operands = bytes(kernel.read.saturating_add(kernel.written));
        writeln!(
            f,
            "kernel {number} uses non-temporal stores, except where an output is an input: its operands have {operands}"
        )?;
    }
    Ok(())
}

/// Formats the names of the nodes that are results.
fn listed(results: &[String]) -> String {
    match results {
        [] => "no result".into(),
        [only] => format!("result {only}"),
        several => format!("results {}", several.join(", ")),
    }
}

fn indented(f: &mut fmt::Formatter<'_>, lines: impl IntoIterator<Item = impl fmt::Display>) -> fmt::Result {
    lines.into_iter().try_for_each(|line| {
        f.write_str("  ")?;
        writeln!(f, "{line}")
    })
}
