//! The state that all runs of an engine share: compiled kernels, the compiler, the target, and how one run is asked for.
//!
//! The width of vectors that a call asks for is clamped here, once, to what the target has ([`Runtime::request`]): costs,
//! states and keys of caches see the clamped one only. A compiler that is refused, or that can't be made, is not asked again;
//! a kernel that several threads want at the same time is compiled by one of them.

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

/// A kernel that is ready to run, by whichever executor.
pub type Executable = Arc<dyn ExecutableKernel>;

/// How the inputs of a kernel are accessed.
pub type Accesses = SmallVec<[Access; 8]>;

/// See the module's head.
pub struct Runtime {
    pub kernels: Cache<KernelKey, Executable>,
    compiler: OnceLock<std::result::Result<Box<dyn KernelExecutor>, String>>,
    refused: OnceLock<String>,
    /// What is being compiled; none where the compiler does not take the kernel.
    compiling: InFlight<KernelKey, Option<Executable>>,
    /// How many kernels were compiled.
    pub compilations: AtomicU64,
    pub profiling: Profiling,
    /// The widest vectors of the CPU that is compiled for.
    target: VectorWidth,
}

/// A compiled kernel's identity: its content, how its inputs are accessed, the width of vectors that it was compiled for,
/// and what its outputs are for. The target is the same for all.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KernelKey {
    pub kernel: Arc<Kernel>,
    pub access: Accesses,
    pub width: VectorWidth,
    pub purpose: Purpose,
}

/// Evaluations whose times can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadMode {
    /// On as many threads as there are.
    Many,
    /// On one, as the caller asks.
    One,
}

/// How a run is asked for.
#[derive(Clone, Copy)]
pub struct Request<'r> {
    pub runtime: &'r Runtime,
    pub options: &'r Options,
    /// The widest vectors that a run may have: no wider than the target's.
    pub width: VectorWidth,
    pub threads: ThreadMode,
}

impl Runtime {
    pub fn new(limits: &Limits, target: VectorWidth) -> Runtime {
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

    /// What is asked for, on this target.
    #[inline]
    pub fn request<'r>(&'r self, options: &'r Options) -> Request<'r> {
        let width = options.vector_width.map_or(self.target, |asked| asked.min(self.target));
        let threads = if options.threads == Some(1) { ThreadMode::One } else { ThreadMode::Many };
        Request { runtime: self, options, width, threads }
    }

    /// Why vectors are not as wide as is asked for, if it is the target that lacks them.
    pub fn narrowed(&self, options: &Options) -> Option<String> {
        options.vector_width.and_then(|asked| asked.missing_on(self.target))
    }

    /// Why nothing can be compiled, if that is known already.
    pub fn known_no_compiler(&self) -> Option<&str> {
        let compiler = || self.compiler.get().and_then(|compiler| compiler.as_ref().err());
        self.refused.get().or_else(compiler).map(String::as_str)
    }

    /// Why nothing can be compiled, if that is so, found out before anything is: that there is a compiler does not say
    /// whether its code may be executed.
    pub fn probe(&self) -> Option<&str> {
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

    /// Why nothing can be compiled, if that is so.
    pub fn no_compiler(&self) -> Option<&str> {
        self.refused.get().map(String::as_str).or_else(|| self.compiler().err())
    }

    pub fn compiler(&self) -> std::result::Result<&dyn KernelExecutor, &str> {
        let Profiling { perf_map, gdb } = self.profiling;
        let make = || jit::compiler(perf_map, gdb).map_err(|e| e.to_string());
        self.compiler.get_or_init(make).as_deref().map_err(String::as_str)
    }

    /// A kernel's machine code, if it is kept or another thread is making it and is waited for; else it is compiled here.
    pub fn compile(
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

    /// Compiles a kernel. `None` where executable memory is refused, now and from then on, and for a kernel that is too
    /// much for the compiler.
    fn make(&self, key: KernelKey, functions: &[HostFunction]) -> Result<Option<Executable>> {
        let (Ok(compiler), None) = (self.compiler(), self.refused.get()) else { return Ok(None) };
        match compiler.prepare(&key.kernel, functions, &key.access, key.width, key.purpose) {
            Ok(compiled) => {
                self.compilations.fetch_add(1, Ordering::Relaxed);
                // Code takes whole pages, and what is kept beside it about as much again.
                let weight = compiled.code_size().next_multiple_of(4096) * 2;
                self.kernels.insert(key, compiled.clone(), weight);
                Ok(Some(compiled))
            }
            Err(e) if e.kind() == ErrorKind::Memory => {
                let _ = self.refused.set(e.to_string());
                Ok(None)
            }
            // This kernel is too much for the compiler; others are not.
            Err(e) if e.kind() == ErrorKind::Limit => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// What comes of asking for machine code.
pub enum Compilation {
    Code(Executable),
    /// The compiler does not take the kernel, or there is none.
    Refused,
    /// Another thread compiles it, and is not waited for.
    Elsewhere,
}
