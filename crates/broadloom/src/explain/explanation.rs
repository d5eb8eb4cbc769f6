//! The findings of an explanation: graphs, stages and executors. [`Details`](crate::explain::Details) contains them as plain data.
//!
//! For the same state of the engine, an [`Explanation`] is reproducible on one machine: it contains no addresses and no measured
//! times, and its order is fixed.

use broadloom_core::fuse::{Decision, Stage};
use broadloom_core::graph::{Graph, NodeId, NodeKind};
use broadloom_core::kernel::{Code, Depth, Inst};
use broadloom_core::rewrite::Firing;
use broadloom_core::{DType, Op, Shape};
use broadloom_ir::figures::{counted, time};
use broadloom_ir::kernel::Sink;
use broadloom_ir::loop_plan::AccessClass;
use broadloom_ir::{VectorWidth, printable};

use crate::lower::Place;
use broadloom_mem::Listing;
use rustc_hash::FxHashSet;

/// A description of an evaluation: the typed graph, the rewritten graph, the kernels and the reasons for their division, each
/// kernel's executor and the reason for choosing it, its traffic and its operations, and on request its code.
///
/// `Display` formats it as text for people, whose form may change in any version. [`Explanation::details`] returns the same
/// contents as data, from which the crate `broadloom-html` makes pages and pictures. The same expressions, options and state of the
/// engine's caches give the same description.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::Options;
///
/// let x = Array::from_vec(vec![1.0_f32, 2.0, 3.0]);
/// let explanation = (&x * &x + 1).explanation(&Options::default(), false)?;
/// assert!(explanation.to_string().contains("multiply.float32"));
/// assert_eq!((explanation.kernels(), explanation.operations(), explanation.bytes()), (1, 6, 24));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The graph before rewriting.
    pub(crate) typed: (Graph, Vec<NodeId>),
    /// The graph after rewriting. It may still contain nodes that no root needs.
    pub(crate) graph: Graph,
    pub(crate) roots: Vec<NodeId>,
    pub(crate) firings: Vec<Firing>,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) temps: Vec<(DType, Shape)>,
    pub(crate) stages: Vec<Step>,
    /// The stages that run block by block, or the reason why none do.
    pub(crate) blocks: Vec<String>,
    /// The subject of the explanation, in a line; empty for arrays.
    pub(crate) about: String,
    /// The names of inputs, by slot, and of results, by number; empty if they have none.
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    /// For each slot, the identity of its memory if it has memory. [`Explanation::with_inputs`] finds the slot by it.
    pub(crate) places: Vec<Place>,
    /// The number of each root among the explained arrays.
    pub(crate) numbers: Vec<usize>,
    /// The numbers of the explained arrays that already own their values.
    pub(crate) settled: Vec<usize>,
}

/// A stage, with its chosen executor.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub stage: Stage,
    /// The node of each instruction.
    pub nodes: Vec<NodeId>,
    /// The access class of each input in the stage's loop plan.
    pub access: Vec<AccessClass>,
    /// Bytes read and written.
    pub read: usize,
    pub written: usize,
    /// The ways in which the stage reduces elements, one line each; empty if it reduces none.
    pub combining: Vec<String>,
    /// The executor that was chosen for the stage; `None` for a stage without elements.
    pub run: Option<Run>,
    /// The stage's code, or the reason why there is none; `None` if code was not requested.
    pub code: Option<Result<Listing, String>>,
}

/// The chosen executor of a stage.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub jit: bool,
    pub why: String,
    /// The vector width of its machine code, and the reason why it is not wider.
    pub width: VectorWidth,
    pub narrowed: Option<String>,
    pub threads: usize,
    /// Estimated nanoseconds of each executor on one thread, and of the compilation.
    pub interpreted: f64,
    pub compiled: f64,
    pub compile: f64,
    /// Whether the machine code uses non-temporal stores.
    pub streams: bool,
    /// If no kernel runs, what runs instead: a loop that reduces elements in place in memory, or a routine.
    pub built_in: Option<&'static str>,
}

impl Explanation {
    /// The number of kernels.
    pub fn kernels(&self) -> usize {
        self.stages.len()
    }

    /// The minimum number of bytes that the kernels read and write, including temporaries: an element that a kernel uses several
    /// times is counted once.
    pub fn bytes(&self) -> u64 {
        self.stages
            .iter()
            .fold(0, |sum: u64, s| sum.saturating_add((s.read as u64).saturating_add(s.written as u64)))
    }

    /// The number of operations and conversions on elements in the kernels, and of elements reduced or scanned. An operation whose
    /// value is uniform over a row, or over the whole array, is counted once for the row or the array.
    pub fn operations(&self) -> u64 {
        self.stages.iter().fold(0, |sum: u64, s| sum.saturating_add(s.operations()))
    }

    /// For each node after rewriting, the node that represents it in the explanation. Usually this is the node itself. A canonical
    /// NaN is represented by the operation before it, if every kernel that computes one of the two computes both.
    pub(super) fn shown(&self) -> Vec<NodeId> {
        let operation = |id: NodeId| match &self.graph.node(id).kind {
            NodeKind::Apply { op: Op::CanonicalNan, args, .. } => args.last().copied(),
            _ => None,
        };
        let computed = |of: &NodeId| self.graph.node(*of).kind.is_computed();
        let mut shown: Vec<NodeId> =
            self.graph.ids().map(|id| operation(id).filter(computed).unwrap_or(id)).collect();
        for step in &self.stages {
            let all: FxHashSet<NodeId> = step.nodes.iter().copied().collect();
            for &id in step.nodes.iter().filter(|&&id| operation(id).is_some_and(|of| !all.contains(&of))) {
                shown[id.index()] = id;
            }
        }
        shown
    }

    /// For each node after rewriting, whether the roots need it.
    pub(super) fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.graph.nodes().len()];
        self.roots.iter().for_each(|r| live[r.index()] = true);
        for id in self.graph.ids().rev() {
            if live[id.index()] {
                self.graph.node(id).kind.operands().for_each(|a| live[a.index()] = true);
            }
        }
        live
    }
}

/// What the op `canonical_nan` does, for readers who know NaN from NumPy.
pub(super) const ONE_NAN: &str = "one bit pattern for every NaN";

/// The comment on a node that differentiation has made.
pub(super) const DERIVATIVE: &str = "derivative";

fn is_canonical_nan(inst: &Inst) -> bool {
    matches!(inst.code, Code::Apply { op: Op::CanonicalNan, .. })
}

/// The name, in one line; `words` if there is no name.
pub(super) fn name_or(name: Option<&String>, words: impl std::fmt::Display) -> String {
    match name {
        Some(name) if !name.is_empty() => printable(name).into_owned(),
        _ => words.to_string(),
    }
}

impl Step {
    /// The numbers of instructions that are computed once per call, once per row, and once per element.
    pub(super) fn instructions(&self) -> [usize; 3] {
        let kernel = &self.stage.kernel;
        let depths = kernel.depths(|input| self.access.get(input) == Some(&AccessClass::Uniform));
        let mut counts = [0; 3];
        let of_body = &depths[kernel.values() - kernel.body.len()..];
        // The op `canonical_nan` counts as part of the operation before it.
        let written = |inst: &Inst| !is_canonical_nan(inst);
        for (depth, _) in of_body.iter().zip(&kernel.body).filter(|(_, inst)| written(inst)) {
            counts[match depth {
                Depth::Call => 0,
                Depth::Row => 1,
                Depth::Element => 2,
            }] += 1;
        }
        counts
    }

    /// The lines of the stage's kernel, with a comment after each `canonical_nan`.
    pub(super) fn body(&self) -> Vec<String> {
        let kernel = &self.stage.kernel;
        let text = kernel.to_string();
        let named = format!(" = {}.", Op::CanonicalNan.name());
        let line = |line: &str| match line.contains(&named) {
            true => format!("{line}  # {ONE_NAN}"),
            false => line.to_owned(),
        };
        text.lines().map(line).collect()
    }

    pub(super) fn operations(&self) -> u64 {
        let elements = self.stage.shape.elements() as u64;
        if elements == 0 {
            return 0;
        }
        let rows = elements / self.stage.shape.last().map_or(1, |&last| last as u64).max(1);
        let [call, row, element] = self.instructions().map(|n| n as u64);
        let element = element + self.combinations() as u64;
        call.saturating_add(row.saturating_mul(rows)).saturating_add(element.saturating_mul(elements))
    }

    /// The number of outputs that are reduced or scanned.
    pub(super) fn combinations(&self) -> usize {
        self.stage.combined_by().count()
    }

    /// The index space, and the shape to which the stage combines its elements or the axis along which it scans them.
    pub(super) fn space(&self) -> String {
        let shape = &self.stage.shape;
        if let Some((_, axis)) = self.stage.scan() {
            return format!("{shape}, scanned along axis {axis}");
        }
        if let Some(of) = &self.stage.recurrence {
            return format!("{shape}, {of}");
        }
        if let Some(of) = &self.stage.routine {
            return format!("{shape}, {}", of.routine.name());
        }
        let outputs = self.stage.kernel.outputs.iter().zip(self.stage.results());
        let combined =
            { outputs }.find(|(output, _)| output.sink != Sink::Store).map(|(_, (_, shape))| shape);
        match combined {
            None => shape.to_string(),
            Some(combined) => format!("{shape}, combined to {combined}"),
        }
    }

    /// Formats the estimated time on one thread, for all elements and for each.
    pub(super) fn estimate(&self, ns: f64) -> String {
        let elements = self.stage.shape.elements();
        let each = match elements {
            0..=1 => String::new(),
            _ => format!(", {} per element", time(ns / elements as f64)),
        };
        format!("an estimated {} on one for {}{each}", time(ns), counted(elements as u64, "element"))
    }
}

/// Formats a vector width, and the reason why it is not wider.
pub(super) fn vectors(width: VectorWidth, narrowed: Option<&str>) -> String {
    match narrowed {
        Some(why) => format!("vectors of {width} bits, no wider: {why}"),
        None => format!("vectors of {width} bits"),
    }
}
