//! The options of an evaluation ([`Options`]), and the limits of an engine ([`Limits`]).
//!
//! No choice changes the bits of a result, except those that are part of the meaning ([`Semantics`]).

use std::time::Duration;

use broadloom_core::Promotion;
use broadloom_core::graph::{Accuracy, IntDivision, MAX_NODES, Semantics};
use broadloom_core::rewrite::Rules;
use broadloom_core::shape::MAX_RANK;
use broadloom_ir::VectorWidth;

use crate::lower::SizeLimits;

/// What runs a kernel. The bits are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Executor {
    /// Whichever is estimated to be done first.
    #[default]
    Auto,
    /// Precompiled loops, op by op over tiles in the L1 cache.
    Interp,
    /// One fused loop of machine code; the interpreter where there is no compiler for the CPU or executable memory
    /// is refused.
    Jit,
}

impl Executor {
    /// The name as the command spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Executor::Auto => "auto",
            Executor::Interp => "interp",
            Executor::Jit => "jit",
        }
    }
}

/// Choices for one evaluation.
///
/// What exceeds one of its limits, but for `max_compiled_cost`, is an error of kind
/// [`Limit`](broadloom_core::ErrorKind::Limit), found before anything is computed; `docs/reliability.md` lists all
/// limits.
///
/// ```
/// use broadloom::{Array, Executor, Options};
///
/// let x = Array::from_vec(vec![1.0_f32, 2.0]);
/// let options = Options { executor: Executor::Interp, threads: Some(1), ..Options::default() };
/// assert_eq!((x * 2).eval_with(&options)?.to_vec::<f32>()?, [2.0, 4.0]);
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What runs the kernels.
    pub executor: Executor,
    /// How wide the vectors are at most; `None` for the widest of the CPU.
    ///
    /// Machine code has vectors of each width; the interpreter has loops of 256 and of 512 bits on x86-64, of which those of
    /// 256 bits stand for narrower ones too, and converts float16 on the widest, as partial results of reductions are joined. A CPU
    /// that has no vectors of this width uses the widest that it has; so does a kernel that the compiler can't put
    /// on them. [`explanation`](crate::Array::explanation) says which are used, and why no wider ones.
    pub vector_width: Option<VectorWidth>,
    /// The most threads to use, the calling one included. `None` for as many as the rayon pool has that the caller is a
    /// thread of; outside of any, `RAYON_NUM_THREADS`, or as many as there are processors. Never more than 256.
    ///
    /// The others are threads of broadloom's own (`broadloom-1` and so on), which sleep between evaluations. The calling
    /// thread computes too, and waits for those alone that have begun a part of its evaluation; meanwhile it runs nothing
    /// else, so that a lock may be held around an evaluation.
    pub threads: Option<usize>,
    /// What an integer division by zero does.
    pub int_division: IntDivision,
    /// Which float32 a function gives whose result is no exact arithmetic.
    pub accuracy: Accuracy,
    /// Whether products that are added are rounded once, with their sum.
    pub contract: bool,
    /// How dtypes of different kinds meet in the text of a kernel ([`Kernel::parse`](crate::Kernel::parse)); arrays
    /// were typed when they were built ([`with_promotion`](crate::with_promotion)).
    pub promotion: Promotion,
    /// The most bytes that results and temporaries may take; by default as many as can be addressed.
    pub max_bytes: usize,
    /// How long an evaluation, or a run of a kernel, may take, its planning included; by default as long as it takes. Beyond it the
    /// call ends with an error of kind [`TimeLimit`](broadloom_core::ErrorKind::TimeLimit). The clock is looked at where
    /// [`Control::cancel`](crate::Control::cancel) is, and not in runs that are estimated to take less than a sixteenth of the limit.
    pub max_time: Option<Duration>,
    /// The most nodes that all roots together may have: operations, conversions, views, arrays and literals, each
    /// counted once however often it is used. 2^28 by default, and never more.
    pub max_nodes: usize,
    /// The most operations, conversions and views on the longest way from a root to an input. It bounds nothing that
    /// `max_nodes` does not, as nothing recurses along an expression, and is the same by default.
    pub max_depth: usize,
    /// The highest rank of any root, input or view on the way; 64 by default, and never more.
    pub max_rank: usize,
    /// The most vector instructions per element, as the cost model counts them (an addition is one, a power some 140),
    /// of a kernel that is compiled; a longer one runs on the interpreter, with the same bits. 131072 by default, which
    /// takes some tenths of a second to compile; 0 compiles nothing.
    pub max_compiled_cost: usize,
    /// Whether rewrite rules apply: for differential tests.
    #[doc(hidden)]
    pub rules: Rules,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            executor: Executor::Auto,
            vector_width: None,
            threads: None,
            int_division: IntDivision::Zero,
            accuracy: Accuracy::Fast,
            contract: false,
            promotion: Promotion::Strict,
            max_bytes: isize::MAX as usize,
            max_time: None,
            max_nodes: MAX_NODES,
            max_depth: MAX_NODES,
            max_rank: MAX_RANK,
            max_compiled_cost: 1 << 17,
            rules: Rules::On,
        }
    }
}

impl Options {
    /// The options that are part of the meaning.
    #[inline]
    pub fn semantics(&self) -> Semantics {
        Semantics { int_division: self.int_division, accuracy: self.accuracy, contract: self.contract }
    }

    /// The same options for another meaning.
    #[must_use]
    pub fn with_semantics(self, semantics: Semantics) -> Options {
        let Semantics { int_division, accuracy, contract } = semantics;
        Options { int_division, accuracy, contract, ..self }
    }

    /// How large an expression may be.
    pub(crate) fn size_limits(&self) -> SizeLimits {
        SizeLimits { nodes: self.max_nodes, depth: self.max_depth, rank: self.max_rank }
    }
}

/// What an [`Engine`](crate::Engine) may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Plans of expressions: which kernels, over which memory.
    pub plans: usize,
    /// Words of 8 bytes that the structures of the planned expressions take, some four per operation: very long
    /// expressions are planned anew each time.
    pub plan_words: usize,
    /// Compiled kernels.
    pub kernels: usize,
    /// Bytes of machine code of compiled kernels.
    pub code_bytes: usize,
    /// Bytes of result buffers that were given back, kept for new results.
    pub pool_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { plans: 512, plan_words: 1 << 18, kernels: 512, code_bytes: 16 << 20, pool_bytes: 256 << 20 }
    }
}

/// Which profilers and debuggers an [`Engine`](crate::Engine) tells of the machine code that it makes.
///
/// `docs/embedding.md` shows how they are used. A kernel is named by the first digits of its content hash, which
/// `explain` shows too, and by what it begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profiling {
    /// Linux' perf, by a line in `perf-PID.map` for each kernel: where perf looks, whatever the environment says.
    /// Nothing takes lines out of it, and the file stays when the process ends.
    pub perf_map: bool,
    /// GDB and LLDB, as long as a kernel is kept. Nothing without the feature `gdb`.
    pub gdb: bool,
}

impl Profiling {
    /// What the environment variable `BROADLOOM_PERF` asks for: `map`, `gdb` or `map,gdb`.
    pub fn from_env() -> Profiling {
        let words = std::env::var("BROADLOOM_PERF").unwrap_or_default();
        let has = |wanted: &str| words.split(',').any(|word| word.trim() == wanted);
        Profiling { perf_map: has("map"), gdb: has("gdb") }
    }
}
