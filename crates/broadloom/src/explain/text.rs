//! An explanation as text.
//!
//! Each line is about one node, one rule or one stage, and stages are numbered as everywhere else.

use std::fmt;

use broadloom_core::fuse::describe;
use broadloom_core::graph::{Graph, Leaf, NodeId, NodeKind};
use broadloom_ir::loop_plan::{Access, AccessClass};
use broadloom_mem::FloatEnv;

use crate::explain::explanation::{Explanation, Step, bytes, count, name_or, time, vectors};

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Figures are scaled with floats, in the default environment.
        let _ieee = FloatEnv::ieee();
        if !self.about.is_empty() {
            writeln!(f, "{}", self.about)?;
        }
        let (typed, typed_roots) = &self.typed;
        writeln!(f, "typed graph ({} nodes; {}):", typed.nodes().len(), results(typed_roots))?;
        indented(f, self.lines(typed, |_| true))?;
        let live = self.live();
        let after = live.iter().filter(|live| **live).count();
        if self.firings.is_empty() {
            writeln!(f, "rewriting: no rule applies")?;
        } else {
            writeln!(f, "rewriting ({} {} fired):", self.firings.len(), plural(self.firings.len(), "rule"))?;
            indented(f, self.rules())?;
        }
        writeln!(f, "graph ({after} nodes after rewriting; {}):", results(&self.roots))?;
        indented(f, self.lines(&self.graph, |id| live[id.index()]))?;
        let (kernels, temps) = (self.kernels(), self.temps.len());
        writeln!(
            f,
            "plan ({kernels} {}, {temps} {}; {} moved, {} {}):",
            plural(kernels, "kernel"),
            if temps == 1 { "temporary" } else { "temporaries" },
            bytes(self.bytes()),
            count(self.operations()),
            plural(self.operations() as usize, "operation"),
        )?;
        for (number, step) in self.stages.iter().enumerate() {
            self.stage(f, number, step)?;
        }
        self.decisions.iter().try_for_each(|decision| writeln!(f, "note: {decision}"))?;
        self.notes().try_for_each(|note| writeln!(f, "note: {note}"))?;
        for (number, step) in self.stages.iter().enumerate() {
            self.run(f, number, step)?;
        }
        for (number, step) in self.stages.iter().enumerate() {
            match &step.code {
                None => {}
                Some(Ok(code)) => write!(
                    f,
                    "stage {number}, primitives:\n{}\nstage {number}, CLIF:\n{}\nstage {number}, machine code ({} bytes with constants, blocks of {} \
                     elements, {}):\n{}\n",
                    code.primitives,
                    code.clif,
                    code.bytes,
                    code.lanes,
                    vectors(code.width, code.narrowed.as_deref()),
                    code.assembly
                )?,
                Some(Err(why)) => writeln!(f, "stage {number} has no machine code: {why}")?,
            }
        }
        Ok(())
    }
}

impl Explanation {
    /// The lines of the wanted nodes of a graph; inputs have their names.
    pub(super) fn lines(&self, graph: &Graph, wanted: impl Fn(NodeId) -> bool) -> Vec<String> {
        let text = graph.to_string();
        let lines = text.lines().zip(graph.ids()).filter(|(_, id)| wanted(*id));
        let named = |(line, id): (&str, NodeId)| {
            let NodeKind::Leaf(Leaf::Input { slot, .. }) = graph.node(id).kind else {
                return line.to_owned();
            };
            let number = format!("input {slot}");
            line.replacen(&number, &name_or(self.inputs.get(slot as usize), &number), 1)
        };
        lines.map(named).collect()
    }

    /// The rules that were applied, one line each.
    pub(super) fn rules(&self) -> impl Iterator<Item = String> {
        self.firings
            .iter()
            .map(|firing| format!("{:?}: {}, gives {:?}", firing.at, firing.rule, firing.gives))
    }

    fn stage(&self, f: &mut fmt::Formatter<'_>, number: usize, step: &Step) -> fmt::Result {
        let stage = &step.stage;
        writeln!(f, "stage {number} over {}:", step.space())?;
        for j in 0..stage.inputs.len() {
            writeln!(f, "  {} reads {}", stage.read(j).0, self.input(step, j).join(", "))?;
        }
        for (j, &target) in stage.outputs.iter().enumerate() {
            writeln!(f, "  {} is written to {}", stage.written(j), self.target(target))?;
        }
        indented(f, stage.kernel.to_string().lines())?;
        indented(f, &step.combining)?;
        let [call, row, element] = step.instructions();
        write!(f, "  for each element {element} {}", plural(element, "instruction"))?;
        for (n, what) in [(row, "row"), (call, "call")] {
            if n > 0 {
                write!(f, ", {n} once per {what}")?;
            }
        }
        let combinations = step.combinations();
        if combinations > 0 {
            write!(f, ", {combinations} {}", plural(combinations, "combination"))?;
        }
        writeln!(
            f,
            "; reads {}, writes {}, {} {}",
            bytes(step.read as u64),
            bytes(step.written as u64),
            count(step.operations()),
            plural(step.operations() as usize, "operation")
        )
    }

    /// The source of an input: its memory, its layout and its access.
    pub(super) fn input(&self, step: &Step, j: usize) -> [String; 3] {
        let input = &step.stage.inputs[j];
        let class = match step.access.get(j) {
            Some(AccessClass::Uniform) => "one element for a row",
            Some(AccessClass::Packed) => "packed into rows of elements",
            Some(AccessClass::Stepped(Access::Reversed)) => "element by element, backwards",
            Some(AccessClass::Stepped(_)) => "every second element",
            Some(AccessClass::Contiguous) | None => "element by element",
        };
        [self.source(input.source), describe(&input.layout), class.into()]
    }

    fn run(&self, f: &mut fmt::Formatter<'_>, number: usize, step: &Step) -> fmt::Result {
        let Some(run) = &step.run else {
            let what =
                if step.combinations() > 0 { "its results are those of nothing" } else { "nothing runs" };
            return writeln!(f, "stage {number} has no elements: {what}");
        };
        if run.folds {
            return writeln!(
                f,
                "stage {number} has no kernel to run: elements are combined where they are in memory ({} {}, ~{:.1} µs \
                 estimated for {} elements)",
                run.threads,
                plural(run.threads, "thread"),
                run.compiled / 1e3,
                step.stage.shape.elements(),
            );
        }
        let chosen = if run.jit { run.compiled } else { run.interpreted };
        writeln!(
            f,
            "stage {number} runs on the {}: {} ({} {}, ~{:.1} µs estimated for {} elements)",
            step.executor(),
            run.why,
            run.threads,
            plural(run.threads, "thread"),
            chosen / 1e3,
            step.stage.shape.elements(),
        )?;
        writeln!(
            f,
            "stage {number} is estimated to take {} by the interpreter and {} by machine code on one thread, and {} to \
             compile",
            time(run.interpreted),
            time(run.compiled),
            time(run.compile)
        )?;
        if let Some(vectors) = step.vectors() {
            writeln!(f, "stage {number} has {vectors}")?;
        }
        if run.streams {
            let megabytes = step.read.saturating_add(step.written) / 1_000_000;
            writeln!(
                f,
                "stage {number} uses non-temporal stores, except where an output is an input: its operands have {megabytes} MB"
            )?;
        }
        Ok(())
    }
}

pub(super) fn results(roots: &[NodeId]) -> String {
    if roots.is_empty() {
        return "no result".into();
    }
    let ids: Vec<String> = roots.iter().map(|id| format!("{id:?}")).collect();
    format!("{} {}", plural(roots.len(), "result"), ids.join(", "))
}

pub(super) fn plural(n: usize, what: &str) -> String {
    if n == 1 { what.into() } else { format!("{what}s") }
}

fn indented(f: &mut fmt::Formatter<'_>, lines: impl IntoIterator<Item = impl fmt::Display>) -> fmt::Result {
    lines.into_iter().try_for_each(|line| {
        f.write_str("  ")?;
        writeln!(f, "{line}")
    })
}
