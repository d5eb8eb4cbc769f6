//! An explanation as plain data: the lines, names and figures of its text, for programs that show them in other ways.
//!
//! An op that makes NaNs canonical is not listed as a node. Instead, [`ExplainedNode::has_one_nan`] is set for its
//! operand.

use broadloom_core::draws::Draw;
use broadloom_core::fuse::{Source, Target, describe};
use broadloom_core::graph::{Graph, Leaf, Node, NodeId, NodeKind, WHILE};
use broadloom_core::rewrite::Firing;
use broadloom_core::text::nodes::computation;
use broadloom_core::{DType, Op};
use broadloom_ir::VectorWidth;
use broadloom_ir::figures::{bytes, counted};
use broadloom_ir::loop_plan::{Access, AccessClass};
use broadloom_mem::{FloatEnv, Listing};
use rustc_hash::FxHashMap;

use crate::explain::explanation::{DERIVATIVE, Explanation, ONE_NAN, Run, Step, name_or, vectors};

/// The contents of an [`Explanation`]. Fields described as lines contain lines of its text, whose form may change in
/// any version.
///
/// ```
/// use broadloom::Options;
/// use broadloom::explain::NodeRole;
/// use broadloom::prelude::*;
///
/// let x = Array::from_vec(vec![1.0_f32, 2.0, 3.0]);
/// let details = (&x * &x).sum(())?.explanation(&Options::default(), false)?.details();
/// let names: Vec<&str> = details.nodes.iter().map(|node| &*node.what).collect();
/// assert_eq!(names, ["input 0", "multiply", "sum over axis 0"]);
/// assert_eq!((details.nodes[0].role, &details.nodes[2].operands), (NodeRole::Input, &vec![1]));
/// assert_eq!(details.kernels[0].space, "[3], combined to []");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Details {
    /// The subject of the explanation, in one line; empty for arrays.
    pub about: String,
    /// A line for each node of the typed graph, before rewriting. Nodes of derivatives have the comment `derivative`.
    pub typed: Vec<String>,
    /// The names of the results' nodes in the typed graph.
    pub typed_results: Vec<String>,
    /// The rewrite rules that were applied, one line each.
    pub rules: Vec<String>,
    /// The rewritten nodes that the results need, operands first.
    pub nodes: Vec<ExplainedNode>,
    /// The names of the results' nodes after rewriting.
    pub results: Vec<String>,
    /// The number of temporaries that kernels write for later kernels.
    pub temporaries: usize,
    /// The kernels, in the order in which they run.
    pub kernels: Vec<ExplainedKernel>,
    /// The reasons why nodes were fused or materialised, a line each.
    pub decisions: Vec<String>,
    /// A line about kernels that run row block by row block, and one line for each array that already was in memory.
    pub notes: Vec<String>,
}

/// The role of a node in a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRole {
    /// An array in memory.
    Input,
    /// A constant, or generated numbers.
    Constant,
    /// A view of its operand's elements, which takes no computation.
    View,
    /// A function, a conversion, a reduction or a scan.
    Operation,
}

/// A node of the graph after rewriting.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExplainedNode {
    /// The name by which lines refer to the node, such as `n4`.
    pub name: String,
    /// The node's role in the graph.
    pub role: NodeRole,
    /// The name of the function or of the input, or the value of the constant.
    pub what: String,
    /// The node's dtype and shape.
    pub type_name: String,
    /// The node's line in the text.
    pub line: String,
    /// The positions of the node's operands in [`Details::nodes`].
    pub operands: Vec<usize>,
    /// The names of the results whose value this node is.
    pub results: Vec<String>,
    /// Whether all NaNs among the node's values get the same bit pattern.
    pub has_one_nan: bool,
    /// Whether differentiation has made the node, and the function itself does not need it.
    pub is_derivative: bool,
    /// The index of the first kernel that computes the node or writes it as a result.
    pub kernel: Option<usize>,
}

/// A kernel, with its chosen executor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExplainedKernel {
    /// The index space of the kernel, and the shape to which it combines elements or the axis along which it scans
    /// them.
    pub space: String,
    /// The arrays that the kernel reads.
    pub inputs: Vec<ExplainedInput>,
    /// The arrays that the kernel writes.
    pub outputs: Vec<ExplainedOutput>,
    /// The lines of the kernel's body.
    pub body: Vec<String>,
    /// The names of the kernel's reductions and scans.
    pub combines: Vec<String>,
    /// The ways in which the kernel reduces or scans elements, one line each.
    pub combining: Vec<String>,
    /// The numbers of instructions that are computed once per call, once per row, and once per element.
    pub instructions: [usize; 3],
    /// The number of operations on elements.
    pub operations: u64,
    /// The number of bytes that the kernel reads.
    pub read: u64,
    /// The number of bytes that the kernel writes.
    pub written: u64,
    /// The executor that was chosen for the kernel; `None` for a kernel without elements.
    pub run: Option<ExplainedRun>,
    /// The kernel's code, if requested: pairs of a title and a text.
    pub code: Vec<(String, String)>,
    /// The reason why `code` is empty, if code was requested.
    pub no_code: Option<String>,
}

/// An array that a kernel reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExplainedInput {
    /// The name of the array in the kernel's body.
    pub value: String,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The shape in which it is read.
    pub shape: String,
    /// The name of the input or temporary that is read.
    pub source: String,
    /// The index of the caller's array, if the kernel reads one.
    pub number: Option<usize>,
    /// The index of the kernel that wrote the array, if the array is a temporary.
    pub kernel: Option<usize>,
    /// The layout of the array.
    pub layout: String,
    /// How the kernel reads the elements.
    pub access: &'static str,
}

/// An array that a kernel writes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExplainedOutput {
    /// The name of the array's value in the kernel's body.
    pub value: String,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The name of the result or temporary that is written.
    pub target: String,
}

/// The chosen executor of a kernel. Times are estimates, in nanoseconds on one thread.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExplainedRun {
    /// The name of the executor: `jit`, `interpreter`, `built-in loop`, or `library routine`.
    pub executor: &'static str,
    /// Whether the executor is a built-in loop, which combines elements from memory, or a routine; neither runs a kernel.
    pub is_built_in: bool,
    /// The reason why the executor was chosen.
    pub why: String,
    /// The number of threads.
    pub threads: usize,
    /// The estimated time of the kernel and of each element, in words.
    pub estimate: String,
    /// The estimated time with the chosen executor.
    pub time: f64,
    /// The estimated time with the interpreter.
    pub interpreted: f64,
    /// The estimated time with machine code.
    pub compiled: f64,
    /// The estimated time to compile the kernel.
    pub compile: f64,
    /// The vector width of the machine code, if the executor is `jit`.
    pub width: Option<VectorWidth>,
    /// The vectors of machine code, in words, and the reason why they are not wider.
    pub vectors: Option<String>,
    /// Whether the stores are non-temporal.
    pub streams: bool,
}

impl Explanation {
    /// The contents as plain data.
    pub fn details(&self) -> Details {
        // Figures are scaled with floats, in the default environment.
        let _ieee = FloatEnv::ieee();
        let (typed, typed_roots) = &self.typed;
        let shown = self.shown();
        let name = |id: &NodeId| format!("{id:?}");
        let rule = |&Firing { at, rule, gives }: &Firing| match shown[gives.index()] {
            node if node == gives => format!("{at:?}: {rule}, gives {gives:?}"),
            node => format!("{at:?}: {rule}, in {node:?}"),
        };
        let is_settled = |&number: &usize| {
            let name = self.result(number, "the result");
            format!("{name} is in memory already: it is shared, and nothing runs for it")
        };
        Details {
            about: self.about.clone(),
            typed: typed
                .nodes()
                .iter()
                .zip(self.lines(typed))
                .map(|(node, line)| remarked(line, node))
                .collect(),
            typed_results: typed_roots.iter().map(name).collect(),
            rules: self.firings.iter().map(rule).collect(),
            nodes: self.nodes(&shown),
            results: self.roots.iter().map(|root| name(&shown[root.index()])).collect(),
            temporaries: self.temps.len(),
            kernels: self.explained_kernels(),
            decisions: { self.decisions.iter() }
                .map(|decision| decision.renamed(|id| shown[id.index()]).to_string())
                .collect(),
            notes: self.blocks.iter().cloned().chain(self.settled.iter().map(is_settled)).collect(),
        }
    }

    /// The lines of a graph's nodes, in which inputs have their names instead of numbers.
    fn lines(&self, graph: &Graph) -> Vec<String> {
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

    fn nodes(&self, shown: &[NodeId]) -> Vec<ExplainedNode> {
        let live = self.live();
        let mut has_one_nan = vec![false; live.len()];
        for (id, to) in self.graph.ids().zip(shown).filter(|(id, _)| live[id.index()]) {
            let is_one = matches!(self.graph.node(id).kind, NodeKind::Apply { op: Op::CanonicalNan, .. });
            has_one_nan[to.index()] |= is_one;
        }
        let mut kernel_of = vec![None; live.len()];
        for (kernel, step) in self.stages.iter().enumerate().rev() {
            let roots = step.stage.outputs.iter().filter_map(|target| match target {
                Target::Root(root) => Some(self.roots[*root as usize]),
                Target::Temp(_) => None,
            });
            step.nodes.iter().copied().chain(roots).for_each(|id| {
                kernel_of[shown[id.index()].index()] = Some(kernel);
            });
        }
        let mut position = vec![0; live.len()];
        let mut nodes = Vec::new();
        for (line, id) in self.lines(&self.graph).into_iter().zip(self.graph.ids()) {
            if !live[id.index()] || shown[id.index()] != id {
                continue;
            }
            position[id.index()] = nodes.len();
            let node = self.graph.node(id);
            let type_name = format!("{}{}", node.dtype, node.shape);
            let operand = |arg: &NodeId| format!("{:?}", shown[arg.index()]);
            let value = computation(&node.kind, operand, |function| function.name());
            // Operands have the names of the nodes that are shown.
            let mut line = match (value, line.split_once(" = "), line.rsplit_once("  # ")) {
                (Some(value), Some((names, _)), Some((_, types))) if is_loop(&node.kind) => {
                    format!("{names} = {value}  # {types}")
                }
                (Some(value), Some((names, _)), _) => format!("{names} = {value}"),
                _ => line,
            };
            if has_one_nan[id.index()] {
                line = format!("{line}  # {ONE_NAN}");
            }
            line = remarked(line, node);
            let (role, what) = self.what(&node.kind);
            let results = self.roots.iter().zip(&self.numbers);
            let results = results.filter(|(root, _)| shown[root.index()] == id);
            nodes.push(ExplainedNode {
                name: format!("{id:?}"),
                role,
                what,
                type_name,
                line,
                operands: node.kind.operands().map(|arg| position[shown[arg.index()].index()]).collect(),
                results: results.map(|(_, &number)| self.result(number, "result")).collect(),
                has_one_nan: has_one_nan[id.index()],
                is_derivative: node.is_derivative,
                kernel: kernel_of[id.index()],
            });
        }
        nodes
    }

    /// The role of a node, and its function, input or constant in a word or two.
    fn what(&self, kind: &NodeKind) -> (NodeRole, String) {
        match kind {
            NodeKind::Leaf(Leaf::Input { slot, layout, .. }) => {
                let how = if layout.is_contiguous() { "" } else { ", strided" };
                (NodeRole::Input, self.source(Source::Slot(*slot)) + how)
            }
            NodeKind::Leaf(Leaf::Index { .. }) => (NodeRole::Constant, Source::Index.to_string()),
            NodeKind::Leaf(Leaf::Const { value, .. }) => (NodeRole::Constant, value.to_string()),
            kind if kind.is_computed() => (NodeRole::Operation, label(kind)),
            kind => (NodeRole::View, label(kind)),
        }
    }

    fn explained_kernels(&self) -> Vec<ExplainedKernel> {
        let mut writer: FxHashMap<u32, usize> = FxHashMap::default();
        let mut kernels = Vec::with_capacity(self.stages.len());
        for (number, step) in self.stages.iter().enumerate() {
            let stage = &step.stage;
            let inputs = (0..stage.inputs.len()).map(|j| self.input(step, j, &writer)).collect();
            let outputs = stage.outputs.iter().enumerate();
            let outputs = outputs.map(|(j, &target)| ExplainedOutput {
                value: stage.written(j),
                dtype: match &stage.routine {
                    Some(of) => of.results[j].0,
                    None => stage.kernel.dtype(stage.kernel.outputs[j].value),
                },
                target: (match target {
                    Target::Root(root) => self.result(self.numbers[root as usize], "the result"),
                    Target::Temp(_) => target.to_string(),
                }) + &stage.part(),
            });
            let outputs = outputs.collect();
            for target in &stage.outputs {
                if let Target::Temp(temp) = target {
                    writer.insert(*temp, number);
                }
            }
            let (code, no_code) = match &step.code {
                None => (Vec::new(), None),
                Some(Ok(code)) => (listings(code), None),
                Some(Err(why)) => (Vec::new(), Some(why.clone())),
            };
            kernels.push(ExplainedKernel {
                space: step.space(),
                inputs,
                outputs,
                body: match &stage.routine {
                    Some(_) => self.tables(step),
                    None => step.body(),
                },
                combines: stage.combined_by().map(str::to_owned).collect(),
                combining: step.combining.clone(),
                instructions: step.instructions(),
                operations: step.operations(),
                read: step.read as u64,
                written: step.written as u64,
                run: step.run.as_ref().map(|run| explained_run(run, step)),
                code,
                no_code,
            });
        }
        kernels
    }

    /// Describes input `j` of a kernel. `writer` contains the kernel that writes each temporary.
    fn input(&self, step: &Step, j: usize, writer: &FxHashMap<u32, usize>) -> ExplainedInput {
        let input = &step.stage.inputs[j];
        let (value, dtype) = step.stage.read(j);
        let (number, kernel) = match input.source {
            Source::Slot(slot) | Source::SlotWords(slot) => (Some(slot as usize), None),
            Source::Temp(temp) | Source::TempWords(temp) => (None, writer.get(&temp).copied()),
            Source::Index => (None, None),
        };
        let access = match step.access.get(j) {
            Some(AccessClass::Uniform) => "one element for a row",
            Some(AccessClass::Packed) => "packed into rows of elements",
            Some(AccessClass::Stepped(Access::Reversed)) => "element by element, backwards",
            Some(AccessClass::Stepped(_)) => "every second element",
            Some(AccessClass::Contiguous) | None => "element by element",
        };
        ExplainedInput {
            value,
            dtype,
            shape: input.layout.shape.to_string(),
            source: self.source(input.source),
            number,
            kernel,
            layout: describe(&input.layout),
            access,
        }
    }

    /// The operands of a routine.
    fn tables(&self, step: &Step) -> Vec<String> {
        let tables = step.stage.tables.iter().enumerate();
        tables.map(|(i, of)| format!("t{i} is {}, {}", self.source(of.source), of.layout.shape)).collect()
    }

    fn source(&self, source: Source) -> String {
        match source {
            Source::Slot(slot) => name_or(self.inputs.get(slot as usize), source),
            Source::SlotWords(slot) => match self.inputs.get(slot as usize) {
                Some(name) => format!("random words of {name}"),
                None => source.to_string(),
            },
            Source::Temp(_) | Source::Index | Source::TempWords(_) => source.to_string(),
        }
    }

    /// The name of a result. A result without a name is called by its number, or by `only` if there is no other
    /// result.
    fn result(&self, number: usize, only: &str) -> String {
        let name = self.outputs.get(number);
        match self.numbers.len() + self.settled.len() {
            1 => name_or(name, only),
            _ => name_or(name, format_args!("result {number}")),
        }
    }
}

/// The name of a node's function, conversion or view, in a word or two.
fn label(kind: &NodeKind) -> String {
    match kind {
        NodeKind::Apply { op, accuracy, .. } => op.name_at(*accuracy).to_owned(),
        NodeKind::Host { function, .. } => function.name().to_owned(),
        NodeKind::View { view, .. } => view.to_string(),
        NodeKind::Reduce { reduction, axes, .. } => {
            let numbers: Vec<String> = axes.iter().map(|axis| axis.to_string()).collect();
            let axes = if numbers.len() == 1 { "axis" } else { "axes" };
            format!("{reduction} over {axes} {}", numbers.join(", "))
        }
        NodeKind::Scan { scan, axis, .. } => format!("{scan} along axis {axis}"),
        NodeKind::Cast { .. } => "astype".to_owned(),
        NodeKind::Count { .. } => "count".to_owned(),
        NodeKind::Index { .. } => "indices".to_owned(),
        NodeKind::Gather { .. } => "gather".to_owned(),
        NodeKind::Concat { axis, .. } => format!("concat along axis {axis}"),
        NodeKind::Routine(of) => of.routine.name().to_owned(),
        NodeKind::Words { .. } => Draw::Bits.name().to_owned(),
        NodeKind::Loop(of) => format!("{WHILE}, value {}", of.item),
        NodeKind::Recurrence(of) => format!("{} along axis {}, value {}", of.function(), of.axis, of.item),
        // Not reached: `what` handles leaves before, and what depends on extents is resolved when it is added to a graph.
        NodeKind::Leaf(_) | NodeKind::DynamicView { .. } | NodeKind::PadLike { .. } => String::new(),
    }
}

/// The line of a node, with a comment if only derivatives need it.
fn remarked(line: String, node: &Node) -> String {
    if node.is_derivative { format!("{line}  # {DERIVATIVE}") } else { line }
}

fn is_loop(kind: &NodeKind) -> bool {
    matches!(kind, NodeKind::Loop(_))
}

fn explained_run(run: &Run, step: &Step) -> ExplainedRun {
    let time = if run.jit { run.compiled } else { run.interpreted };
    ExplainedRun {
        executor: match run {
            Run { built_in: Some(name), .. } => name,
            Run { jit: true, .. } => "jit",
            Run { .. } => "interpreter",
        },
        is_built_in: run.built_in.is_some(),
        why: run.why.clone(),
        threads: run.threads,
        estimate: step.estimate(time),
        time,
        interpreted: run.interpreted,
        compiled: run.compiled,
        compile: run.compile,
        width: run.jit.then_some(run.width),
        vectors: run.jit.then(|| vectors(run.width, run.narrowed.as_deref())),
        streams: run.streams,
    }
}

/// The listings of a kernel's code, each with a title.
fn listings(code: &Listing) -> Vec<(String, String)> {
    let machine_code = format!(
        "machine code ({} with constants, blocks of {}, {})",
        bytes(code.bytes as u64),
        counted(code.lanes as u64, "element"),
        vectors(code.width, code.narrowed.as_deref())
    );
    vec![
        ("primitives, by loop level".to_owned(), code.primitives.clone()),
        ("CLIF".to_owned(), code.clif.clone()),
        (machine_code, code.assembly.clone()),
    ]
}
