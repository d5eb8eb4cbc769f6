//! The compared implementations: kernels as machine code at each vector width, and loops compiled by the machine's C compiler.

use std::error::Error;

use broadloom_clif::{Compiled, Compiler, VectorWidth};
use broadloom_core::kernel::{Code, Inst, ValueId};
use broadloom_core::{DType, Kernel};
use broadloom_mem::Access;

/// Builds a kernel with inputs of these dtypes from its instructions and the values that are its outputs.
pub fn kernel(inputs: &[DType], params: &[DType], body: &[(Code, [u32; 3])], outputs: &[u32]) -> Kernel {
    Kernel {
        inputs: inputs.to_vec(),
        params: params.to_vec(),
        body: body.iter().map(|&(code, args)| Inst { code, args: args.map(ValueId) }).collect(),
        outputs: outputs.iter().map(|&o| ValueId(o).into()).collect(),
        ..Kernel::default()
    }
}

pub fn compile(kernel: &Kernel) -> Result<Vec<Compiled>, Box<dyn Error>> {
    let compiler = Compiler::host()?;
    let access = vec![Access::Contiguous; kernel.inputs.len()];
    let mut all = Vec::new();
    for width in VectorWidth::of_target() {
        let code = compiler.compile(kernel, &[], &access, width)?;
        if let Some(why) = code.narrowed() {
            eprintln!("narrowed: {why}");
        }
        all.push(code);
    }
    Ok(all)
}

/// Compiles C loops to a library. The source must have no initialisers. `None` if that fails.
pub fn compiled_c(text: &str, flags: &[&str]) -> Option<libloading::Library> {
    let folder = tempfile::tempdir().ok()?;
    let (source, library) = (folder.path().join("loops.c"), folder.path().join("loops.so"));
    std::fs::write(&source, text).ok()?;
    let mut gcc = std::process::Command::new("gcc");
    let built =
        gcc.args(flags).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-lm").status();
    if !built.is_ok_and(|status| status.success()) {
        return None;
    }
    // SAFETY: the library was just compiled from a source in this program, which has no initialisers.
    unsafe { libloading::Library::new(&library).ok() }
}

pub fn symbol<T: Copy>(library: &libloading::Library, name: &str) -> Option<T> {
    // SAFETY: callers pass the name of a function in `C`, including the element type at its end, and the matching pointer
    // type.
    unsafe { library.get::<T>(name.as_bytes()).ok().map(|s| *s) }
}
