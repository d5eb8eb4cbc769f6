//! The state that all runs of an engine share: compiled kernels, the compiler, the target, and the requests of runs.
//!
//! The requested vector width is clamped here, once, to that of the target ([`Runtime::request`]): costs, states and cache keys use
//! the clamped one only. If executable memory is refused, or the compiler can't be made, it is not tried again. A kernel that
//! several threads want at the same time is compiled by one of them.

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

/// The compiler, the cache of compiled kernels, and the pool of an engine.
pub(crate) struct Runtime {
    pub kernels: Cache<KernelKey, Executable>,
    compiler: OnceLock<std::result::Result<Box<dyn KernelExecutor>, String>>,
    refused: OnceLock<String>,
    /// The kernels being compiled; the value is `None` if the compiler does not accept the kernel.
    compiling: InFlight<KernelKey, Option<Executable>>,
    /// The number of compiled kernels.
    pub compilations: AtomicU64,
    pub profiling: Profiling,
    /// The widest vectors of the target CPU.
    target: VectorWidth,
}

/// The identity of a compiled kernel: its content, the accesses of its inputs, the vector width that it was compiled for, and the
/// purpose of its outputs. The target is the same for all.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct KernelKey {
    pub kernel: Arc<Kernel>,
    pub access: Accesses,
    pub width: VectorWidth,
    pub purpose: Purpose,
}

/// The thread mode: only times within one mode can be compared.
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
    /// The widest vectors that a run may use: no wider than the target's.
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

    /// The request of these options, on this target.
    #[inline]
    pub(crate) fn request<'r>(&'r self, options: &'r Options) -> Request<'r> {
        let width = options.vector_width.map_or(self.target, |asked| asked.min(self.target));
        let threads = if options.threads == Some(1) { ThreadMode::One } else { ThreadMode::Many };
        Request { runtime: self, options, width, threads }
    }

    /// The reason why vectors are narrower than requested, if the target lacks them.
    pub(crate) fn narrowed(&self, options: &Options) -> Option<String> {
        options.vector_width.and_then(|asked| asked.missing_on(self.target))
    }

    /// The reason why nothing can be compiled, if it is already known.
    pub(crate) fn known_no_compiler(&self) -> Option<&str> {
        let compiler = || self.compiler.get().and_then(|compiler| compiler.as_ref().err());
        self.refused.get().or_else(compiler).map(String::as_str)
    }

    /// The reason why nothing can be compiled, if there is one, determined before the first compilation by executing some code: a
    /// compiler may exist although its code may not be executed.
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

    /// A kernel's machine code: the one that is kept, or that another thread is making if this one waits; else it is compiled here.
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

    /// Compiles a kernel. `None` if executable memory is refused, now and from then on, and for a kernel that is too large for the
    /// compiler.
    fn make(&self, key: KernelKey, functions: &[HostFunction]) -> Result<Option<Executable>> {
        let (Ok(compiler), None) = (self.compiler(), self.refused.get()) else { return Ok(None) };
        match compiler.prepare(&key.kernel, functions, &key.access, key.width, key.purpose) {
            Ok(compiled) => {
                self.compilations.fetch_add(1, Ordering::Relaxed);
                // Code takes whole pages, and the data kept with it about as much again.
                let weight = compiled.code_size().next_multiple_of(4096) * 2;
                self.kernels.insert(key, compiled.clone(), weight);
                Ok(Some(compiled))
            }
            Err(e) if e.kind() == ErrorKind::Memory => {
                let _ = self.refused.set(e.to_string());
                Ok(None)
            }
            // This kernel is too large for the compiler; others may not be.
            Err(e) if e.kind() == ErrorKind::Limit => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// The result of a request for machine code.
pub(crate) enum Compilation {
    Code(Executable),
    /// The compiler does not accept the kernel, or there is none.
    Refused,
    /// Another thread is compiling it, and this one does not wait.
    Elsewhere,
}
