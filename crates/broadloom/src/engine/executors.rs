//! Which executor an explanation says that each kernel has, as values.

use broadloom_ir::VectorWidth;

use crate::engine::options::Executor;
use crate::explain::{Explanation, Run};

impl Explanation {
    /// Who would run each kernel, in their order; `None` for one that nothing runs: without elements, or whose elements are
    /// combined where they are in memory.
    pub fn executors(&self) -> impl ExactSizeIterator<Item = Option<Executor>> {
        let executor = |run: &Run| if run.jit { Executor::Jit } else { Executor::Interp };
        self.stages.iter().map(move |stage| stage.run.as_ref().filter(|run| !run.folds).map(executor))
    }

    /// How wide the vectors of each kernel's machine code are, in their order; `None` for one that the interpreter would run,
    /// or nothing.
    pub fn vector_widths(&self) -> impl ExactSizeIterator<Item = Option<VectorWidth>> {
        self.stages.iter().map(|stage| stage.run.as_ref().filter(|run| run.jit).map(|run| run.width))
    }
}
