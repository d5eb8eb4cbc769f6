//! Inputs larger than the command's memory limit.
//!
//! The files are sparse and take no space on disk; each test takes seconds at most.

#![cfg(target_os = "linux")]

mod support;

use std::fs::File;
use std::io::Write;

use support::{Dir, header};

/// Writes a file of zeros that is not there on the disk.
fn sparse(dir: &Dir, name: &str, descr: &str, shape: &[usize], fortran: bool, bytes: u64) {
    let header = header(descr, shape, fortran, 0);
    let mut file = File::create(dir.path(name)).expect("a file");
    file.write_all(&header).expect("a header");
    file.set_len(header.len() as u64 + bytes).expect("a sparse file");
}

/// 512 MiB of each input, and 384 MiB of address space for everything; a machine with many cores would use more of it
/// for the stacks and heaps of its threads, hence the variables.
#[test]
fn inputs_larger_than_memory() {
    let dir = Dir::new();
    let bytes = 512 << 20;
    let rows = bytes as usize / 8 / 1024;
    sparse(&dir, "c.npy", "<f8", &[rows, 1024], false, bytes);
    sparse(&dir, "f.npy", "<f8", &[rows, 1024], true, bytes);
    dir.array("row.npy", &[1024], &[1.0f64; 1024]);
    for (expression, inputs, fortran) in [
        ("c < row", "c=c.npy row=row.npy", false),
        ("f < row", "f=f.npy row=row.npy", true),
        ("c == f", "c=c.npy f=f.npy", false),
    ] {
        let script = format!(
            "export MALLOC_ARENA_MAX=1 RAYON_NUM_THREADS=2; ulimit -v 393216; exec \"$broadloom\" eval '{expression}' {inputs} -o out.npy --force"
        );
        let outcome = dir.shell(&script);
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{expression}");
        let out = dir.read("out.npy");
        assert_eq!((&out.shape[..], out.fortran), (&[rows as u64, 1024][..], fortran), "{expression}");
        assert!(out.data == vec![1; rows * 1024], "{expression}");
    }
}
