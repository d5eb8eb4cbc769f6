//! An explanation as text.
//!
//! Each line is about one node, one rule or one stage, and stages are numbered as everywhere else.

use std::fmt;

use broadloom_core::Op;
use broadloom_core::fuse::describe;
use broadloom_core::graph::{Graph, Leaf, NodeId, NodeKind};
use broadloom_core::rewrite::Firing;
use broadloom_core::text::nodes::computation;
use broadloom_ir::figures::{bytes, counted, time};
use broadloom_ir::loop_plan::{Access, AccessClass};
use broadloom_mem::FloatEnv;

use rustc_hash::FxHashSet;

use crate::explain::explanation::{Explanation, ONE_NAN, Step, name_or, vectors};

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Figures are scaled with floats, in the default environment.
        let _ieee = FloatEnv::ieee();
        if !self.about.is_empty() {
            writeln!(f, "{}", self.about)?;
        }
        let (typed, typed_roots) = &self.typed;
        let nodes = counted(typed.nodes().len() as u64, "node");
        writeln!(f, "typed graph ({nodes}; {}):", results(typed_roots))?;
        indented(f, self.lines(typed))?;
        let after = self.lines_after();
        if self.firings.is_empty() {
            writeln!(f, "rewriting: no rule applies")?;
        } else {
            writeln!(f, "rewriting ({} fired):", counted(self.firings.len() as u64, "rule"))?;
            indented(f, self.rules())?;
        }
        let nodes = counted(after.len() as u64, "node");
        writeln!(f, "graph ({nodes} after rewriting; {}):", results(&self.results_after()))?;
        indented(f, after)?;
        let temps = self.temps.len();
        writeln!(
            f,
            "plan ({}, {temps} {}; {} moved, {}):",
            counted(self.kernels() as u64, "kernel"),
            if temps == 1 { "temporary" } else { "temporaries" },
            bytes(self.bytes()),
            counted(self.operations(), "operation"),
        )?;
        for (number, step) in self.stages.iter().enumerate() {
            self.stage(f, number, step)?;
        }
        self.decisions().try_for_each(|decision| writeln!(f, "note: {decision}"))?;
        self.notes().try_for_each(|note| writeln!(f, "note: {note}"))?;
        for (number, step) in self.stages.iter().enumerate() {
            self.run(f, number, step)?;
        }
        for (number, step) in self.stages.iter().enumerate() {
            match &step.code {
                None => {}
                Some(Ok(code)) => write!(
                    f,
                    "stage {number}, primitives:\n{}\nstage {number}, CLIF:\n{}\nstage {number}, machine code ({} with constants, blocks of {} \
                     elements, {}):\n{}\n",
                    code.primitives,
                    code.clif,
                    bytes(code.bytes as u64),
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
    /// The lines of the nodes of a graph; inputs have their names.
    pub(super) fn lines(&self, graph: &Graph) -> Vec<String> {
        let text = graph.to_string();
        let lines = text.lines().zip(graph.ids());
        let named = |(line, id): (&str, NodeId)| {
            let NodeKind::Leaf(Leaf::Input { slot, .. }) = graph.node(id).kind else {
                return line.to_owned();
            };
            let number = format!("input {slot}");
            line.replacen(&number, &name_or(self.inputs.get(slot as usize), &number), 1)
        };
        lines.map(named).collect()
    }

    /// The lines of the nodes after rewriting that the roots need. A canonical NaN is a comment at the operation before it.
    pub(super) fn lines_after(&self) -> Vec<String> {
        let (live, shown) = (self.live(), self.shown());
        let pairs = self.graph.ids().zip(&shown);
        let folded: FxHashSet<NodeId> =
            pairs.filter(|(id, to)| live[id.index()] && id != *to).map(|(_, to)| *to).collect();
        let mut lines = Vec::new();
        for (line, id) in self.lines(&self.graph).into_iter().zip(self.graph.ids()) {
            if !live[id.index()] || shown[id.index()] != id {
                continue;
            }
            let node = self.graph.node(id);
            let operand = |arg: &NodeId| format!("{:?}", shown[arg.index()]);
            let mut line = match computation(&node.kind, operand, |function| function.name()) {
                Some(value) => format!("{id:?}: {}{} = {value}", node.dtype, node.shape),
                None => line,
            };
            if folded.contains(&id) || matches!(node.kind, NodeKind::Apply { op: Op::CanonicalNan, .. }) {
                line = format!("{line}  # {ONE_NAN}");
            }
            lines.push(line);
        }
        lines
    }

    /// The nodes of the results after rewriting.
    pub(super) fn results_after(&self) -> Vec<NodeId> {
        let shown = self.shown();
        self.roots.iter().map(|root| shown[root.index()]).collect()
    }

    /// The decisions of fusion, about nodes as they are shown.
    pub(super) fn decisions(&self) -> impl Iterator<Item = String> {
        let shown = self.shown();
        self.decisions.iter().map(move |decision| decision.renamed(|id| shown[id.index()]).to_string())
    }

    /// The rules that were applied, one line each.
    pub(super) fn rules(&self) -> impl Iterator<Item = String> {
        let shown = self.shown();
        self.firings.iter().map(move |&Firing { at, rule, gives }| match shown[gives.index()] {
            node if node == gives => format!("{at:?}: {rule}, gives {gives:?}"),
            node => format!("{at:?}: {rule}, in {node:?}"),
        })
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
        indented(f, step.body())?;
        indented(f, &step.combining)?;
        let [call, row, element] = step.instructions();
        write!(f, "  for each element {}", counted(element as u64, "instruction"))?;
        for (n, what) in [(row, "row"), (call, "call")] {
            if n > 0 {
                write!(f, ", {n} once per {what}")?;
            }
        }
        let combinations = step.combinations();
        if combinations > 0 {
            write!(f, ", {}", counted(combinations as u64, "combination"))?;
        }
        writeln!(
            f,
            "; reads {}, writes {}, {}",
            bytes(step.read as u64),
            bytes(step.written as u64),
            counted(step.operations(), "operation")
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
                "stage {number} has no kernel to run: elements are combined where they are in memory ({}, {})",
                counted(run.threads as u64, "thread"),
                step.estimate(run.compiled),
            );
        }
        let chosen = if run.jit { run.compiled } else { run.interpreted };
        writeln!(
            f,
            "stage {number} runs on the {}: {} ({}, {})",
            step.executor(),
            run.why,
            counted(run.threads as u64, "thread"),
            step.estimate(chosen),
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
            let operands = bytes((step.read as u64).saturating_add(step.written as u64));
            writeln!(
                f,
                "stage {number} uses non-temporal stores, except where an output is an input: its operands have {operands}"
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
