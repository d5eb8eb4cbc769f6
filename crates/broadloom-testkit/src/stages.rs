//! Case files with a program and the output of stages.
//!
//! A [`CaseFile`] contains the expected text of each stage that the file names. The output of the stage `run` is computed by the
//! reference and not by broadloom, so that a wrong result can't become the expected one.
//!
//! ```text
//! # What the case shows, or what was wrong.
//! x: float32[2] = [1.5, nan]
//! y = x + 0.0
//! return y
//! --- rewrite
//! n0: float32[2]  # input 0
//! ...
//! --- run
//! float32[2] = [1.5, nan]
//! ```
//!
//! The stages are `infer` (the typed graph), `rewrite` (the graph after the rules), `fuse` (the kernels), `clif` (their code for
//! x86-64 with AVX and FMA) and `run` (the values).

use std::fmt::{self, Write};

use broadloom::{Options, TypedGraph, typed_graph};
use broadloom_core::fuse;
use broadloom_core::graph::{Graph, NodeId};
use broadloom_core::rewrite::{self, Rules};

use crate::differential;
use crate::random::{Program, Tensor, element, type_text};

/// A stage whose output a case file can contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The typed graph.
    Infer,
    /// The graph after the rewrite rules.
    Rewrite,
    /// The kernels.
    Fuse,
    /// The kernels' CLIF.
    Clif,
    /// The values.
    Run,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Stage; 5] = [Stage::Infer, Stage::Rewrite, Stage::Fuse, Stage::Clif, Stage::Run];

    /// The name in a case file.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Infer => "infer",
            Stage::Rewrite => "rewrite",
            Stage::Fuse => "fuse",
            Stage::Clif => "clif",
            Stage::Run => "run",
        }
    }

    /// The output of the stage for a program.
    ///
    /// # Errors
    /// The reason why there is no output: the program is ill-typed, or machine code is unavailable for the stage `clif`.
    pub fn of(self, program: &Program) -> Result<String, String> {
        let typed = || typed(program).map_err(|e| e.to_string());
        match self {
            Stage::Infer => typed().map(|typed| shown(&typed.graph, &typed.roots)),
            Stage::Rewrite => {
                let (graph, roots) = rewritten(&typed()?)?;
                Ok(shown(&graph, &roots))
            }
            Stage::Fuse => {
                let (graph, roots) = rewritten(&typed()?)?;
                fuse::explain(&graph, &roots).map(|plan| plan.to_string()).map_err(|e| e.to_string())
            }
            Stage::Clif => typed()?.clif().map_err(|e| e.to_string()),
            Stage::Run => run(program),
        }
    }
}

fn typed(program: &Program) -> broadloom::Result<TypedGraph<'static>> {
    let arrays = differential::arrays(program)?;
    let roots: Vec<_> = program.roots.iter().map(|&root| &arrays[root]).collect();
    typed_graph(&roots, &Options::default().with_semantics(program.semantics))
}

fn shown(graph: &Graph, roots: &[NodeId]) -> String {
    let roots: Vec<String> = roots.iter().map(|root| format!("{root:?}")).collect();
    format!("{graph}return {}\n", roots.join(", "))
}

fn rewritten(typed: &TypedGraph<'_>) -> Result<(Graph, Vec<NodeId>), String> {
    rewrite::run(&typed.graph, &typed.roots, Rules::On).map_err(|e| e.to_string())
}

/// The values computed by the reference.
fn run(program: &Program) -> Result<String, String> {
    let outcome = program.run()?;
    let mut out = String::new();
    for fault in &outcome.faults {
        // Writing to a String can't fail.
        let _ = writeln!(out, "fails: {fault} by zero");
    }
    if outcome.faults.is_empty() {
        for &root in &program.roots {
            let Tensor { dtype, shape, bits } = &outcome.values[root];
            let elements: Vec<String> = bits.iter().map(|&bits| element(*dtype, bits)).collect();
            let _ = writeln!(out, "{} = [{}]", type_text(*dtype, shape), elements.join(", "));
        }
    }
    Ok(out)
}

/// A program, and the expected output of some stages.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFile {
    /// The text of the program, with its comments.
    pub text: String,
    /// The program.
    pub program: Program,
    /// The expected outputs, in the order of the file.
    pub expected: Vec<(Stage, String)>,
}

impl CaseFile {
    /// Parses a file.
    ///
    /// # Errors
    /// The mistake, with its line.
    pub fn parse(text: &str) -> Result<CaseFile, String> {
        let mut parts = text.split("\n--- ");
        let head = format!("{}\n", parts.next().unwrap_or_default().trim_end_matches('\n'));
        if !head.starts_with("# ") {
            return Err("line 1: a comment is missing that says what the case shows".into());
        }
        let program = head.parse().map_err(|e: crate::random::ProgramError| e.to_string())?;
        let mut expected = Vec::new();
        for part in parts {
            let (name, body) = part.split_once('\n').unwrap_or((part, ""));
            let stage = Stage::ALL.into_iter().find(|stage| stage.name() == name);
            let stage = stage.ok_or_else(|| format!("there is no stage {name}"))?;
            // The line break before the next stage belongs to the separator.
            let body =
                if body.is_empty() || body.ends_with('\n') { body.into() } else { format!("{body}\n") };
            expected.push((stage, body));
        }
        Ok(CaseFile { text: head, program, expected })
    }

    /// The file with the current output of its stages.
    ///
    /// # Errors
    /// The errors of [`Stage::of`].
    pub fn blessed(&self) -> Result<CaseFile, String> {
        let now = |(stage, _): &(Stage, String)| stage.of(&self.program).map(|text| (*stage, text));
        Ok(CaseFile { expected: self.expected.iter().map(now).collect::<Result<_, _>>()?, ..self.clone() })
    }
}

impl fmt::Display for CaseFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.expected.iter().try_for_each(|(stage, text)| write!(f, "--- {}\n{text}", stage.name()))
    }
}
