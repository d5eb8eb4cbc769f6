//! The options of an evaluation ([`Options`]), and the limits of an engine ([`Limits`]).
//!
//! Only the options that are part of the semantics ([`Semantics`]) change the bits of a result.

use std::time::Duration;

use broadloom_core::Accuracy;
use broadloom_core::Promotion;
use broadloom_core::graph::{IntDivision, MAX_NODES, Semantics};
use broadloom_core::rewrite::Rules;
use broadloom_core::shape::MAX_RANK;
use broadloom_ir::VectorWidth;
use broadloom_mem::MAX_ITERATIONS;

use crate::lower::SizeLimits;

/// The executor of a kernel. All executors compute the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Executor {
    /// The executor that is estimated to finish first.
    #[default]
    Auto,
    /// The interpreter: precompiled loops, which run op by op over tiles in the L1 cache.
    Interp,
    /// One fused loop of machine code. The interpreter runs if there is no compiler for the CPU or executable memory is refused.
    Jit,
}

impl Executor {
    /// The name of the executor in command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Executor::Auto => "auto",
            Executor::Interp => "interp",
            Executor::Jit => "jit",
        }
    }
}

/// The options of one evaluation.
///
/// Exceeding one of the limits, except `max_compiled_cost`, is an error of kind [`Limit`](broadloom_core::ErrorKind::Limit), found
/// before anything is computed; `docs/reliability.md` lists all limits.
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
    /// The executor of the kernels.
    pub executor: Executor,
    /// The maximum vector width in bits; `None` for the widest that the CPU has.
    ///
    /// Machine code can use vectors of each width. On x86-64 the interpreter has loops for vectors of 256 and of 512 bits, and
    /// uses those for 256 bits if the limit is lower. The interpreter's conversions of float16 and the merging of partial results
    /// in reductions ignore this option and use the widest vectors. If the CPU lacks this width, or the compiler can't compile a
    /// kernel for it, the widest possible width is used instead. [`explanation`](crate::Array::explanation) shows the width that
    /// is used, and the reason if it is narrower than requested.
    pub vector_width: Option<VectorWidth>,
    /// The maximum number of threads, including the calling one. `None` for the size of the rayon pool that the caller is a
    /// thread of. A caller outside of such pools gets the value of the environment variable `BROADLOOM_NUM_THREADS`,
    /// `RAYON_NUM_THREADS` or `OMP_NUM_THREADS`, the first that is a positive number, or else the number of processors. Never
    /// more than 256.
    ///
    /// The other threads are broadloom's own (`broadloom-1` and so on), which sleep between evaluations. The calling thread
    /// computes as well, and waits only for threads that have begun a part of its evaluation. While it waits it runs no other
    /// work, so that a lock may be held around an evaluation.
    pub threads: Option<usize>,
    /// The effect of an integer division by zero.
    pub int_division: IntDivision,
    /// The accuracy of float32 functions that are not exact arithmetic.
    pub accuracy: Accuracy,
    /// Whether a product that is added to something is contracted to a fused multiply-add, which rounds once.
    pub contract: bool,
    /// The promotion of different kinds of dtypes in the text of a kernel ([`Kernel::parse`](crate::Kernel::parse)). It has no
    /// effect on arrays, which were typed when they were built ([`with_promotion`](crate::with_promotion)).
    pub promotion: Promotion,
    /// The maximum number of bytes of results and temporaries; by default the size of the address space.
    pub max_bytes: usize,
    /// The maximum time of an evaluation, or of a run of a kernel, including planning; by default unlimited. A call that exceeds
    /// it ends with an error of kind [`TimeLimit`](broadloom_core::ErrorKind::TimeLimit). The clock is checked at the same points
    /// as [`Control::cancel`](crate::Control::cancel), but not in runs that are estimated to take less than a sixteenth of the
    /// limit.
    pub max_time: Option<Duration>,
    /// The maximum number of nodes of all roots together: operations, conversions, views, arrays and literals, each counted once
    /// however often it is used. 2^28 by default, and never more.
    pub max_nodes: usize,
    /// The maximum number of operations, conversions and views on the longest path from a root to an input. By default it is
    /// equal to the default of `max_nodes` and has no effect. No lower limit is needed, since no algorithm recurses along an
    /// expression.
    pub max_depth: usize,
    /// The maximum rank of any root, input or view; 64 by default, and never more.
    pub max_rank: usize,
    /// The maximum number of vector instructions per element of a kernel that is compiled, as the cost model counts them (an
    /// addition is one, a power about 140). A kernel with more instructions runs on the interpreter, with the same bits. 131072
    /// by default, which takes some tenths of a second to compile; 0 compiles nothing.
    pub max_compiled_cost: usize,
    /// The maximum number of iterations of an element of a [`while_loop`](crate::while_loop) that has no limit of its own; one
    /// million by default. Unlike the other limits, this one is found while elements are computed.
    pub max_iterations: u64,
    /// Whether rewrite rules apply. Differential tests switch them off.
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
            max_iterations: MAX_ITERATIONS,
            rules: Rules::On,
        }
    }
}

impl Options {
    /// The options that are part of the semantics.
    #[inline]
    pub fn semantics(&self) -> Semantics {
        Semantics { int_division: self.int_division, accuracy: self.accuracy, contract: self.contract }
    }

    /// The options with other semantics.
    #[must_use]
    pub fn with_semantics(self, semantics: Semantics) -> Options {
        let Semantics { int_division, accuracy, contract } = semantics;
        Options { int_division, accuracy, contract, ..self }
    }

    /// The limits on the size of an expression.
    pub(crate) fn size_limits(&self) -> SizeLimits {
        SizeLimits { nodes: self.max_nodes, depth: self.max_depth, rank: self.max_rank }
    }
}

/// The limits on the caches and the pool of an [`Engine`](crate::Engine).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of plans of expressions.
    pub plans: usize,
    /// Maximum total size of the structures of planned expressions, in words of 8 bytes (about four words per operation). An
    /// expression that exceeds half of it is planned again each time.
    pub plan_words: usize,
    /// Maximum number of compiled kernels.
    pub kernels: usize,
    /// Maximum bytes of machine code of compiled kernels.
    pub code_bytes: usize,
    /// Maximum bytes of free result buffers kept for new results.
    pub pool_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { plans: 512, plan_words: 1 << 18, kernels: 512, code_bytes: 16 << 20, pool_bytes: 256 << 20 }
    }
}

/// The profilers and debuggers that an [`Engine`](crate::Engine) informs of its machine code.
///
/// `docs/embedding.md` shows how they are used. A kernel is named by the first digits of its content hash, which `explain` shows as
/// well, and by its first operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profiling {
    /// Whether perf on Linux is informed, by a line for each kernel in the file `perf-PID.map`, at the fixed path where perf
    /// looks for it. Lines are never removed, and the file remains after the process has ended.
    pub perf_map: bool,
    /// Whether GDB and LLDB are informed of each kernel for as long as it is kept. Without the feature `gdb` it has no effect.
    pub gdb: bool,
}

impl Profiling {
    /// The setting of the environment variable `BROADLOOM_PERF`: `map`, `gdb` or `map,gdb`.
    pub fn from_env() -> Profiling {
        let words = std::env::var("BROADLOOM_PERF").unwrap_or_default();
        let has = |wanted: &str| words.split(',').any(|word| word.trim() == wanted);
        Profiling { perf_map: has("map"), gdb: has("gdb") }
    }
}
