//! The state that all runs of an engine share: compiled kernels, the compiler, the target, and the requests of runs.
//!
//! The requested vector width is clamped here, once, to the target's width ([`Runtime::request`]): costs, states and cache keys
//! only depend on the clamped width. If the compiler can't be created, or the system refuses executable memory, the engine does
//! not try again. A kernel that several threads need at the same time is compiled by one of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use broadloom_core::{ErrorKind, Kernel, Result};
use broadloom_ir::{Purpose, VectorWidth};
use broadloom_mem::{Access, ExecutableKernel, HostFunction, KernelExecutor};
use smallvec::SmallVec;

use crate::engine::cache::Cache;
use crate::engine::in_flight::{InFlight, Meanwhile};
use crate::engine::options::{Limits, Options, Profiling};
use crate::jit;

/// A prepared kernel of either executor.
pub(crate) type Executable = Arc<dyn ExecutableKernel>;

/// The accesses of a kernel's inputs.
pub(crate) type Accesses = SmallVec<[Access; 8]>;

/// The compiler, the cache of compiled kernels, and the target of an engine.
pub(crate) struct Runtime {
    pub kernels: Cache<KernelKey, Executable>,
    compiler: OnceLock<std::result::Result<Box<dyn KernelExecutor>, String>>,
    refused: OnceLock<String>,
    /// The kernels that are being compiled. The value is `None` if the compiler does not accept the kernel.
    compiling: InFlight<KernelKey, Option<Executable>>,
    /// The number of compiled kernels.
    pub compilations: AtomicU64,
    pub profiling: Profiling,
    /// The widest vectors of the target CPU.
    target: VectorWidth,
}

/// The identity of a compiled kernel: its content, the accesses of its inputs, the vector width that it was compiled for, and the
/// purpose of its outputs. The target CPU is the same for all kernels.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey {
    pub kernel: Arc<Kernel>,
    pub access: Accesses,
    pub width: VectorWidth,
    pub purpose: Purpose,
}

/// The thread mode of a run. Times can be compared only within one mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadMode {
    /// All available threads.
    Many,
    /// One thread, as requested by the caller.
    One,
}

/// The request of a run: its options and thread mode.
#[derive(Clone, Copy)]
pub(crate) struct Request<'r> {
    pub runtime: &'r Runtime,
    pub options: &'r Options,
    /// The widest vectors that a run may use, at most the target's widest.
    pub width: VectorWidth,
    pub threads: ThreadMode,
}

impl Runtime {
    pub(crate) fn new(limits: &Limits, target: VectorWidth) -> Runtime {
        Runtime {
            kernels: Cache::new(limits.kernels, limits.code_bytes),
            compiler: OnceLock::new(),
            refused: OnceLock::new(),
            compiling: InFlight::new(),
            compilations: AtomicU64::new(0),
            profiling: Profiling::from_env(),
            target,
        }
    }

    /// Makes the request for a run with these options on this target.
    #[inline]
    pub(crate) fn request<'r>(&'r self, options: &'r Options) -> Request<'r> {
        let width = options.vector_width.map_or(self.target, |asked| asked.min(self.target));
        let threads = if options.threads == Some(1) { ThreadMode::One } else { ThreadMode::Many };
        Request { runtime: self, options, width, threads }
    }

    /// The reason why vectors are narrower than requested, if the target lacks the requested width.
    pub(crate) fn narrowed(&self, options: &Options) -> Option<String> {
        options.vector_width.and_then(|asked| asked.missing_on(self.target))
    }

    /// The reason why nothing can be compiled, if a previous attempt has found one.
    pub(crate) fn known_no_compiler(&self) -> Option<&str> {
        let compiler = || self.compiler.get().and_then(|compiler| compiler.as_ref().err());
        self.refused.get().or_else(compiler).map(String::as_str)
    }

    /// The reason why nothing can be compiled, if there is one. Before the first compilation, executes some generated code to
    /// find out: the system may refuse to execute it although a compiler exists.
    pub(crate) fn probe(&self) -> Option<&str> {
        if self.refused.get().is_none()
            && self.kernels.len() == 0
            && let Ok(compiler) = self.compiler()
            && let Err(e) = compiler.probe()
            && e.kind() == ErrorKind::Memory
        {
            let _ = self.refused.set(e.to_string());
        }
        self.no_compiler()
    }

    /// The reason why nothing can be compiled, if there is one.
    pub(crate) fn no_compiler(&self) -> Option<&str> {
        self.refused.get().map(String::as_str).or_else(|| self.compiler().err())
    }

    pub(crate) fn compiler(&self) -> std::result::Result<&dyn KernelExecutor, &str> {
        let Profiling { perf_map, gdb } = self.profiling;
        let make = || jit::compiler(perf_map, gdb).map_err(|e| e.to_string());
        self.compiler.get_or_init(make).as_deref().map_err(String::as_str)
    }

    /// Returns a kernel's machine code. If the code is not in the cache, the kernel is compiled now, unless another thread is
    /// already compiling it: `meanwhile` then decides whether to wait for that thread or to return without code.
    pub(crate) fn compile(
        &self,
        key: KernelKey,
        functions: &[HostFunction],
        meanwhile: Meanwhile<'_>,
    ) -> Result<Compilation> {
        if let Some(compiled) = self.kernels.get(&key) {
            return Ok(Compilation::Code(compiled));
        }
        if self.no_compiler().is_some() {
            return Ok(Compilation::Refused);
        }
        let known = || self.kernels.get(&key).map(Some);
        let make = |key| self.make(key, functions);
        Ok(match self.compiling.once(&key, || key.clone(), meanwhile, known, make)? {
            Some(Some(compiled)) => Compilation::Code(compiled),
            Some(None) => Compilation::Refused,
            None => Compilation::Elsewhere,
        })
    }

    /// Compiles a kernel. Returns `None` for a kernel that is too large for the compiler, and if executable memory is refused,
    /// after which nothing else is compiled.
    fn make(&self, key: KernelKey, functions: &[HostFunction]) -> Result<Option<Executable>> {
        let (Ok(compiler), None) = (self.compiler(), self.refused.get()) else { return Ok(None) };
        match compiler.prepare(&key.kernel, functions, &key.access, key.width, key.purpose) {
            Ok(compiled) => {
                self.compilations.fetch_add(1, Ordering::Relaxed);
                // Code takes whole pages, and the data that is kept with it takes about as much memory as the code.
                let weight = compiled.code_size().next_multiple_of(4096) * 2;
                self.kernels.insert(key, compiled.clone(), weight);
                Ok(Some(compiled))
            }
            Err(e) if e.kind() == ErrorKind::Memory => {
                let _ = self.refused.set(e.to_string());
                Ok(None)
            }
            // The kernel is too large for the compiler, which may still compile other kernels.
            Err(e) if e.kind() == ErrorKind::Limit => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// The result of a request for machine code.
pub(crate) enum Compilation {
    Code(Executable),
    /// The compiler does not accept the kernel, or there is no compiler.
    Refused,
    /// Another thread is compiling the kernel, and this one does not wait.
    Elsewhere,
}
