//! The executors and vector widths that an explanation reports, as values instead of text.

use broadloom_ir::VectorWidth;

use crate::engine::options::Executor;
use crate::explain::{Explanation, Run};

impl Explanation {
    /// The executor of each kernel, in order; `None` for a kernel that does not run, because there are no elements or because
    /// elements are reduced where they are in memory.
    pub fn executors(&self) -> impl ExactSizeIterator<Item = Option<Executor>> {
        let executor = |run: &Run| if run.jit { Executor::Jit } else { Executor::Interp };
        self.stages
            .iter()
            .map(move |stage| stage.run.as_ref().filter(|run| run.built_in.is_none()).map(executor))
    }

    /// The vector width of each kernel's machine code, in order; `None` for a kernel that the interpreter runs or that does not
    /// run.
    pub fn vector_widths(&self) -> impl ExactSizeIterator<Item = Option<VectorWidth>> {
        self.stages.iter().map(|stage| stage.run.as_ref().filter(|run| run.jit).map(|run| run.width))
    }
}
