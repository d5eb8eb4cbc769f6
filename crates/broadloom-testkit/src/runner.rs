//! The executors and vector widths of this target, for tests that iterate over all of them.
//!
//! The options of different [`Runner`]s differ only in settings that don't change bits.

use std::fmt;

use broadloom::{Executor, Options, VectorWidth};

/// An executor, with the vector width if it is machine code.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Runner {
    /// The executor of the kernels.
    pub executor: Executor,
    /// The maximum vector width of machine code.
    pub width: Option<VectorWidth>,
}

impl Runner {
    /// The interpreter.
    pub const INTERP: Runner = Runner { executor: Executor::Interp, width: None };
    /// Machine code at the target's maximum vector width.
    pub const JIT: Runner = Runner { executor: Executor::Jit, width: None };
    /// The executor that the engine chooses.
    pub const AUTO: Runner = Runner { executor: Executor::Auto, width: None };

    /// The interpreter, and machine code at each vector width of the target.
    ///
    /// ```
    /// use broadloom_testkit::Runner;
    ///
    /// assert!(Runner::all().next() == Some(Runner::INTERP) && Runner::all().count() >= 2);
    /// ```
    pub fn all() -> impl Iterator<Item = Runner> {
        let compiled =
            VectorWidth::of_target().map(|width| Runner { executor: Executor::Jit, width: Some(width) });
        std::iter::once(Runner::INTERP).chain(compiled)
    }

    /// The default options with this executor and vector width.
    pub fn options(self) -> Options {
        Options { executor: self.executor, vector_width: self.width, ..Options::default() }
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.width {
            None => write!(f, "{:?}", self.executor),
            Some(width) => write!(f, "{:?} {width}", self.executor),
        }
    }
}
