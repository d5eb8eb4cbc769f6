//! Names of compiled kernels for profilers and debuggers: lines of perf's map, and object files for GDB.
//!
//! They are written on request only. What can't be written or registered is left out, since no evaluation fails for it.

use broadloom_ir::kernel::Code;
use broadloom_ir::{Kernel, Op};

#[cfg(feature = "gdb")]
use crate::gdb;

/// Who is told of compiled code.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Announce {
    pub perf_map: bool,
    pub gdb: bool,
}

/// The entry of a kernel in GDB's list, which lasts as long as its code does.
#[cfg(feature = "gdb")]
pub(crate) type Registration = Option<gdb::Registration>;
#[cfg(not(feature = "gdb"))]
pub(crate) struct Registration;

impl Announce {
    /// Whether anyone is told.
    pub fn is_on(self) -> bool {
        self.perf_map || self.gdb
    }

    /// Tells of code that has been written and stays where it is.
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

/// How many ops a name has.
const OPS: usize = 3;

/// A symbol: the first digits of the content hash, as everywhere, and what the kernel begins with.
pub(crate) fn name(kernel: &Kernel) -> String {
    let mut ops: Vec<&str> = Vec::new();
    for inst in &kernel.body {
        let op = match inst.code {
            // No op of the user's.
            Code::Apply(Op::CanonicalNan, _) => continue,
            Code::Apply(op, _) => op.name(),
            Code::Cast(..) => "astype",
            Code::Host(_) => "host",
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

/// The map that `perf report` reads for code that has no file.
#[cfg(unix)]
pub(crate) mod perf {
    use std::fs::{File, OpenOptions};
    use std::io::{Error, ErrorKind, Result, Write};
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::PathBuf;

    /// Where perf looks: always in `/tmp`, whatever the environment says.
    pub fn path() -> PathBuf {
        PathBuf::from("/tmp").join(format!("perf-{}.map", std::process::id()))
    }

    /// Opened again each time: a forked child has a map of its own, and others may write to this one.
    fn open() -> Result<File> {
        // The name can be guessed, the directory is everyone's: no link is followed, and no pipe waited for.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().append(true).create(true).custom_flags(flags).open(path())?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
    }

    /// Appends a line.
    pub fn append(start: usize, len: usize, name: &str) {
        if let Ok(mut file) = open() {
            // One write, so that lines of several threads stay whole.
            let _ = file.write_all(format!("{start:x} {len:x} {name}\n").as_bytes());
        }
    }

    /// Whether `perf record` has started the process: Cranelift writes to the map then.
    pub fn is_recording() -> bool {
        std::env::var_os("PERF_BUILDID_DIR").is_some()
    }

    /// Why Cranelift could not write to the map, which it would panic for.
    pub fn refused() -> Option<Error> {
        if is_recording() { open().err() } else { None }
    }
}

#[cfg(not(unix))]
pub(crate) mod perf {
    /// There is no perf.
    pub fn append(_: usize, _: usize, _: &str) {}

    /// There is no perf.
    pub fn is_recording() -> bool {
        false
    }

    /// No one writes.
    pub fn refused() -> Option<std::io::Error> {
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Compiler, Width};
    use broadloom_ir::kernel::{Inst, ValueId};
    use broadloom_ir::{DType, Op};
    use broadloom_mem::{Access, ExecutableKernel};

    /// `(x + k) * (x + k)`, with a hash of its own for each k.
    pub fn kernel(adds: usize) -> Kernel {
        let inst = |op, a, b| Inst {
            code: Code::Apply(op, DType::Float32),
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

    /// A line per kernel, whose range is that of the code.
    #[cfg(unix)]
    #[test]
    fn the_map_has_the_code_of_each_kernel() {
        let Ok(compiler) = Compiler::host() else { return };
        let quiet =
            compiler.compile(&kernel(3), &[], &[Access::Contiguous], Width::target()).expect("compiles");
        let compiler = compiler.announcing(true, false);
        let compiled: Vec<_> = [4, 5]
            .map(|n| (n, compiler.compile(&kernel(n), &[], &[Access::Contiguous], Width::target())))
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
