//! Access to the machine-code compiler, which needs the feature `jit`.

use broadloom_core::{Kernel, Result};
use broadloom_mem::{Access, KernelExecutor};

/// The compiler for this target. It adds its code to perf's map, or registers it with GDB, as requested.
#[cfg(feature = "jit")]
pub(crate) fn compiler(perf_map: bool, gdb: bool) -> Result<Box<dyn KernelExecutor>> {
    Ok(Box::new(broadloom_clif::Compiler::host()?.announcing(perf_map, gdb)))
}

/// The CLIF of a kernel for x86-64.
#[cfg(feature = "jit")]
pub(crate) fn clif(kernel: &Kernel, access: &[Access]) -> Result<String> {
    broadloom_clif::clif(kernel, access)
}

#[cfg(not(feature = "jit"))]
fn off<T>() -> Result<T> {
    let why = "this build has no compiler: the feature `jit` is off";
    Err(broadloom_core::Error::new(broadloom_core::ErrorKind::Limit, why))
}

#[cfg(not(feature = "jit"))]
pub(crate) fn compiler(_: bool, _: bool) -> Result<Box<dyn KernelExecutor>> {
    off()
}

#[cfg(not(feature = "jit"))]
pub(crate) fn clif(_: &Kernel, _: &[Access]) -> Result<String> {
    off()
}
