//! Names of compiled kernels for profilers and debuggers, announced as lines of perf's map and as object files for GDB.
//!
//! Names are announced only on request. A name that can't be written or registered is omitted, because this must not
//! make an evaluation fail.

use broadloom_ir::kernel::Code;
use broadloom_ir::{Kernel, Op};

#[cfg(feature = "gdb")]
use crate::gdb;

/// The tools to which compiled code is announced.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Announce {
    pub perf_map: bool,
    pub gdb: bool,
}

/// The registration of a kernel with GDB, which lasts as long as its code.
#[cfg(feature = "gdb")]
pub(crate) type Registration = Option<gdb::Registration>;
#[cfg(not(feature = "gdb"))]
pub(crate) struct Registration;

impl Announce {
    /// Whether code is announced to any tool.
    pub fn is_on(self) -> bool {
        self.perf_map || self.gdb
    }

    /// Announces code that is completely written and stays at its address.
    pub fn code(self, name: &str, code: *const u8, len: usize) -> Registration {
        if self.perf_map {
            perf::append(code.addr(), len, name);
        }
        #[cfg(feature = "gdb")]
        return if self.gdb { gdb::register(name, code.addr(), len) } else { None };
        #[cfg(not(feature = "gdb"))]
        return Registration;
    }
}

/// The maximum number of ops that are named in a kernel's symbol.
const OPS: usize = 3;

/// The symbol of a kernel: the first digits of its content hash, and the names of its first ops.
pub(crate) fn name(kernel: &Kernel) -> String {
    let mut ops: Vec<&str> = Vec::new();
    for inst in &kernel.body {
        let op = match inst.code {
            // Rewriting adds this op, so it is no op of the user's.
            Code::Apply { op: Op::CanonicalNan, .. } => continue,
            Code::Apply { op, accuracy, .. } => op.name_at(accuracy),
            Code::Cast(..) => "astype",
            Code::Host(_) => "host",
            Code::Loop(_) => "while",
            Code::Item { .. } => continue,
            Code::Gather { .. } => "gather",
        };
        if !ops.contains(&op) && ops.len() < OPS {
            ops.push(op);
        }
    }
    let what = if ops.is_empty() { "copy".into() } else { ops.join("_") };
    let hash = format!("{:032x}", kernel.content_hash());
    match kernel.output_dtypes().next() {
        Some(dtype) => format!("broadloom_{}_{what}_{dtype}", &hash[..12]),
        None => format!("broadloom_{}_{what}", &hash[..12]),
    }
}

/// The file that `perf report` reads for the names of code that belongs to no executable file.
#[cfg(unix)]
pub(crate) mod perf {
    use std::fs::{File, OpenOptions};
    use std::io::{Error, ErrorKind, Result, Write};
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::PathBuf;

    /// The path of this process's map. perf looks for maps in `/tmp`, regardless of environment variables.
    pub fn path() -> PathBuf {
        PathBuf::from("/tmp").join(format!("perf-{}.map", std::process::id()))
    }

    /// Opens the map. It is opened again for each line, because a forked child has a map of its own, and other writers may append
    /// to this one.
    fn open() -> Result<File> {
        // Anyone can guess the file's name and write to the directory, so links are not followed, and opening does not
        // wait for a pipe.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().append(true).create(true).custom_flags(flags).open(path())?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
    }

    /// Appends a line to perf's map.
    pub fn append(start: usize, len: usize, name: &str) {
        if let Ok(mut file) = open() {
            // Each line is one write, so that lines of several threads are not mixed.
            let _ = file.write_all(format!("{start:x} {len:x} {name}\n").as_bytes());
        }
    }

    /// Whether `perf record` started the process, in which case Cranelift writes to the map.
    pub fn is_recording() -> bool {
        std::env::var_os("PERF_BUILDID_DIR").is_some()
    }

    /// If Cranelift would try to write to the map and can't, the reason; otherwise `None`. Cranelift would panic.
    pub fn refused() -> Option<Error> {
        if is_recording() { open().err() } else { None }
    }
}

#[cfg(not(unix))]
pub(crate) mod perf {
    /// Does nothing, since there is no perf on this platform.
    pub fn append(_: usize, _: usize, _: &str) {}

    /// Always false, since there is no perf on this platform.
    pub fn is_recording() -> bool {
        false
    }

    /// Always `None`, since nothing is written on this platform.
    pub fn refused() -> Option<std::io::Error> {
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Compiler, VectorWidth};
    use broadloom_ir::kernel::{Inst, ValueId};
    use broadloom_ir::{DType, Op};
    use broadloom_mem::{Access, ExecutableKernel};

    /// The kernel `y * y`, where y is x doubled `adds` times. Its hash is different for each value of `adds`.
    pub fn kernel(adds: usize) -> Kernel {
        let inst = |op, a, b| Inst {
            code: Code::apply(op, DType::Float32),
            args: [ValueId(a), ValueId(b), ValueId(0)],
        };
        let mut body: Vec<Inst> = (0..adds as u32).map(|i| inst(Op::Add, i, i)).collect();
        body.push(inst(Op::Multiply, adds as u32, adds as u32));
        Kernel {
            inputs: vec![DType::Float32],
            body,
            outputs: vec![ValueId(adds as u32 + 1).into()],
            ..Kernel::default()
        }
    }

    #[test]
    fn names_say_which_and_what() {
        let kernel = kernel(2);
        let hash = format!("{:032x}", kernel.content_hash());
        assert_eq!(name(&kernel), format!("broadloom_{}_add_multiply_float32", &hash[..12]));
        assert!(name(&Kernel::default()).ends_with("_copy"));
    }

    /// The map contains a line for each kernel, with the range of its code.
    #[cfg(unix)]
    #[test]
    fn the_map_has_the_code_of_each_kernel() {
        let Ok(compiler) = Compiler::host() else { return };
        let quiet = compiler
            .compile(&kernel(3), &[], &[Access::Contiguous], VectorWidth::target())
            .expect("compiles");
        let compiler = compiler.announcing(true, false);
        let compiled: Vec<_> = [4, 5]
            .map(|n| (n, compiler.compile(&kernel(n), &[], &[Access::Contiguous], VectorWidth::target())))
            .into();
        let map = std::fs::read_to_string(perf::path()).expect("a map");
        std::fs::remove_file(perf::path()).expect("removed");
        let lines: Vec<(usize, usize, &str)> = map
            .lines()
            .map(|line| {
                let words: Vec<&str> = line.splitn(3, ' ').collect();
                let hex = |word: &str| usize::from_str_radix(word, 16).expect("hexadecimal digits");
                (hex(words[0]), hex(words[1]), words[2])
            })
            .collect();
        assert!(!lines.iter().any(|line| line.2 == name(&kernel(3))), "not asked for: {map}");
        for (n, compiled) in compiled {
            let compiled = compiled.expect("compiles");
            let &(start, len, _) = lines.iter().find(|line| line.2 == name(&kernel(n))).expect("a line");
            assert_eq!((start, len), compiled.code_range());
            assert!(len > 0 && len <= compiled.code_size());
        }
        drop(quiet);
    }
}
