//! The data of an explanation, from which its text and its page are made.
//!
//! An [`Explanation`] is the same on one machine for one state of the engine: it has no addresses, no measured times, and
//! one order.

use broadloom_core::fuse::{Decision, Source, Stage, Target};
use broadloom_core::graph::{Graph, NodeId};
use broadloom_core::kernel::{Code, Depth, Inst};
use broadloom_core::rewrite::Firing;
use broadloom_core::{DType, Op, Shape};
use broadloom_ir::loop_plan::AccessClass;
use broadloom_ir::{VectorWidth, printable};

use crate::lower::Place;
use broadloom_mem::Listing;

/// How expressions would be evaluated: the typed graph, what rewriting made of it, the kernels and why it was cut into
/// these, who would run each and why, what they move and compute; on request their code.
///
/// Its `Display` is text to read; its form may change in any version. [`Explanation::to_html`] is a page of the same.
/// Both are the same for the same expressions, options and state of the engine's caches.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::Options;
///
/// let x = Array::from_vec(vec![1.0_f32, 2.0, 3.0]);
/// let explanation = (&x * &x + 1).explanation(&Options::default(), false)?;
/// assert!(explanation.to_string().contains("multiply.float32"));
/// assert_eq!((explanation.kernels(), explanation.operations(), explanation.bytes()), (1, 6, 24));
/// assert!(explanation.to_html("x * x + 1").starts_with("<!DOCTYPE html>"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Before rewriting.
    pub(crate) typed: (Graph, Vec<NodeId>),
    /// After it. Rules leave nodes behind that no root needs.
    pub(crate) graph: Graph,
    pub(crate) roots: Vec<NodeId>,
    pub(crate) firings: Vec<Firing>,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) temps: Vec<(DType, Shape)>,
    pub(crate) stages: Vec<Step>,
    /// Which stages run block by block, or why they don't.
    pub(crate) blocks: Vec<String>,
    /// What is explained, in a line; empty for arrays.
    pub(crate) about: String,
    /// The names of inputs, by slot, and of results, by number; empty where they have none.
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    /// What tells the memory of each slot apart, where it has some: [`Explanation::with_inputs`] finds it by that.
    pub(crate) places: Vec<Place>,
    /// The number of each root among the arrays that are explained.
    pub(crate) numbers: Vec<usize>,
    /// The numbers of arrays that own their values already.
    pub(crate) settled: Vec<usize>,
}

/// A stage, and what would run it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub stage: Stage,
    /// The node behind each instruction.
    pub nodes: Vec<NodeId>,
    /// What the plan of its loops makes of each input.
    pub access: Vec<AccessClass>,
    /// Bytes read and written.
    pub read: usize,
    pub written: usize,
    /// How it combines its elements, if it does, a line each.
    pub combining: Vec<String>,
    /// Its chosen executor; `None` for a stage without elements.
    pub run: Option<Run>,
    /// Its code, or why there is none, if it was asked for.
    pub code: Option<Result<Listing, String>>,
}

/// The chosen executor of a stage.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub jit: bool,
    pub why: String,
    /// How wide the vectors of its machine code are, and why no wider.
    pub width: VectorWidth,
    pub narrowed: Option<String>,
    pub threads: usize,
    /// Estimated nanoseconds on one thread, of either, and to compile.
    pub interpreted: f64,
    pub compiled: f64,
    pub compile: f64,
    /// Whether it uses non-temporal stores.
    pub streams: bool,
    /// Whether nothing is computed: elements are combined where they are in memory.
    pub folds: bool,
}

impl Explanation {
    /// How many kernels there are.
    pub fn kernels(&self) -> usize {
        self.stages.len()
    }

    /// How many bytes the kernels read and write, temporaries included, at least: an element that serves several is
    /// counted once.
    pub fn bytes(&self) -> u64 {
        self.stages
            .iter()
            .fold(0, |sum: u64, s| sum.saturating_add((s.read as u64).saturating_add(s.written as u64)))
    }

    /// How many operations and conversions on elements the kernels do, and how many elements are combined with others; those
    /// that serve a row, or all, are counted once for it.
    pub fn operations(&self) -> u64 {
        self.stages.iter().fold(0, |sum: u64, s| sum.saturating_add(s.operations()))
    }

    /// Which nodes after rewriting the roots need.
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

    pub(super) fn source(&self, source: Source) -> String {
        match source {
            Source::Slot(slot) => name_or(self.inputs.get(slot as usize), source),
            Source::Temp(_) | Source::Index => source.to_string(),
        }
    }

    pub(super) fn target(&self, target: Target) -> String {
        match target {
            Target::Root(root) => self.result(self.numbers.get(root as usize).copied().unwrap_or_default()),
            Target::Temp(_) => target.to_string(),
        }
    }

    /// The name of a result, or its number.
    pub(super) fn result(&self, number: usize) -> String {
        name_or(self.outputs.get(number), format_args!("result {number}"))
    }

    /// A line for stages that run block by block, and for each array that owns its values already.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let shared = |&number: &usize| {
            format!("{} is in memory already: it is shared, and nothing runs for it", self.result(number))
        };
        self.blocks.iter().cloned().chain(self.settled.iter().map(shared))
    }
}

/// The name, in one line; without one, the other words.
pub(super) fn name_or(name: Option<&String>, words: impl std::fmt::Display) -> String {
    match name {
        Some(name) if !name.is_empty() => printable(name).into_owned(),
        _ => words.to_string(),
    }
}

impl Step {
    /// Instructions that are computed once for the call, once for each row, and for each element.
    pub(super) fn instructions(&self) -> [usize; 3] {
        let kernel = &self.stage.kernel;
        let depths = kernel.depths(|input| self.access.get(input) == Some(&AccessClass::Uniform));
        let mut counts = [0; 3];
        let of_body = &depths[kernel.values() - kernel.body.len()..];
        // The canonical NaN is part of the operation that it is put after.
        let written = |inst: &Inst| !matches!(inst.code, Code::Apply(Op::CanonicalNan, _));
        for (depth, _) in of_body.iter().zip(&kernel.body).filter(|(_, inst)| written(inst)) {
            counts[match depth {
                Depth::Call => 0,
                Depth::Row => 1,
                Depth::Element => 2,
            }] += 1;
        }
        counts
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

    /// What each element is combined with others for: so many results.
    pub(super) fn combinations(&self) -> usize {
        if self.stage.stores() { 0 } else { self.stage.outputs.len() }
    }

    /// The index space, and the shape that its elements are combined to.
    pub(super) fn space(&self) -> String {
        match self.stage.stores() {
            true => self.stage.shape.to_string(),
            false => format!("{}, combined to {}", self.stage.shape, self.stage.output_shape()),
        }
    }

    pub(super) fn executor(&self) -> &'static str {
        match &self.run {
            Some(run) if run.folds => "no kernel",
            Some(run) if run.jit => "jit",
            Some(_) => "interpreter",
            None => "nothing",
        }
    }

    /// The vectors of its machine code, if that runs it.
    pub(super) fn vectors(&self) -> Option<String> {
        let run = self.run.as_ref().filter(|run| run.jit)?;
        Some(vectors(run.width, run.narrowed.as_deref()))
    }
}

/// How wide vectors are, and why no wider.
pub(super) fn vectors(width: VectorWidth, narrowed: Option<&str>) -> String {
    match narrowed {
        Some(why) => format!("vectors of {width} bits, no wider: {why}"),
        None => format!("vectors of {width} bits"),
    }
}

/// Bytes in words, in powers of 1000.
pub(super) fn bytes(n: u64) -> String {
    scaled(n, "B", &["kB", "MB", "GB", "TB", "PB", "EB"])
}

/// A count in words.
pub(super) fn count(n: u64) -> String {
    scaled(n, "", &["thousand", "million", "billion", "trillion", "quadrillion", "quintillion"])
}

fn scaled(n: u64, unit: &str, larger: &[&str]) -> String {
    let (mut value, mut name) = (n as f64, unit);
    for larger in larger {
        if value < 999.95 {
            break;
        }
        (value, name) = (value / 1e3, larger);
    }
    match (name == unit, unit) {
        (true, "") => n.to_string(),
        (true, _) => format!("{n} {unit}"),
        _ => format!("{value:.1} {name}"),
    }
}

/// Nanoseconds in words.
pub(super) fn time(ns: f64) -> String {
    match ns {
        ns if ns < 999.5 => format!("{ns:.0} ns"),
        ns if ns < 999_950.0 => format!("{:.1} µs", ns / 1e3),
        ns if ns < 999_950_000.0 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}
