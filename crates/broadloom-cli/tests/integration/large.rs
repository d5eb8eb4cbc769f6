//! Inputs larger than the command's memory limit.
//!
//! The files are sparse and take no space on disk; each test takes seconds at most.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use crate::support::{Dir, header};

/// Writes a sparse file of zeros, which takes no disk space.
fn sparse(dir: &Dir, name: &str, descr: &str, shape: &[usize], fortran: bool, bytes: u64) {
    let header = header(descr, shape, fortran, 0);
    let mut file = File::create(dir.path(name)).expect("a file");
    file.write_all(&header).expect("a header");
    file.set_len(header.len() as u64 + bytes).expect("a sparse file");
}

/// Two inputs of 512 MiB each, in 384 MiB of address space for the whole process. Environment variables limit the number of
/// threads, because the stacks and heaps of many threads would take more address space.
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

/// The peak memory use of the command, in bytes.
fn peak(dir: &Dir, args: &[&str]) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_broadloom"))
        .args(args)
        .current_dir(dir.path(""))
        .env("MALLOC_ARENA_MAX", "1")
        .env("RAYON_NUM_THREADS", "2")
        .spawn()
        .expect("the command starts");
    let mut peak = 0;
    // The system reports the peak while the process runs, and the peak never decreases.
    while child.try_wait().expect("a child").is_none() {
        let told = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib =
            line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|kib| kib.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().expect("the command ends").success(), "{args:?}");
    assert!(peak > 0, "the command ended before it was looked at");
    peak
}

/// Views of 512 MiB in less than 150 MB of memory: files are read in chunks, and the pages of each chunk are released.
#[test]
fn views_of_files_larger_than_memory() {
    let dir = Dir::new();
    let bytes = 512 << 20;
    sparse(&dir, "x.npy", "<f8", &[1 << 26], false, bytes);
    sparse(&dir, "c.npy", "<f8", &[1 << 16, 1 << 10], false, bytes);
    for (expression, input, elements) in [
        ("x[1:] == x[:-1]", "x=x.npy", (1 << 26) - 1),
        ("x == x[::-1]", "x=x.npy", 1 << 26),
        ("d = c - c[:1]; d[2:] + d[:-2] == d[1:-1]", "c=c.npy", ((1 << 16) - 2) << 10),
        ("permute_dims(c, [1, 0]) == 0", "c=c.npy", 1 << 26),
    ] {
        let peak = peak(&dir, &["eval", expression, input, "-o", "out.npy", "--force"]);
        assert!(peak <= 150_000_000, "{expression}: {peak} bytes");
        let out = dir.read("out.npy").data;
        assert!(out.len() == elements && out.iter().all(|&byte| byte == 1), "{expression}");
    }
}

/// Printing a summary reads no more of a file than the summary shows: 128 MiB of address space suffice for files of 512 MiB.
/// The address space is limited because the command ends too soon for its memory use to be observed.
#[test]
fn a_summary_of_files_larger_than_memory() {
    let dir = Dir::new();
    let bytes = 512 << 20;
    sparse(&dir, "x.npy", ">f8", &[1 << 26], false, bytes);
    sparse(&dir, "c.npy", ">f8", &[1 << 16, 1 << 10], false, bytes);
    for (expression, input) in [
        ("x[1:] - x[:-1]", "x=x.npy"),
        ("x + x[::-1]", "x=x.npy"),
        ("reshape(permute_dims(c + 1, [1, 0]), [-1]) - 1", "c=c.npy"),
    ] {
        let script = format!(
            "export MALLOC_ARENA_MAX=1 RAYON_NUM_THREADS=2; ulimit -v 131072; exec \"$broadloom\" eval '{expression}' {input}"
        );
        let outcome = dir.shell(&script);
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{expression}");
        assert_eq!(outcome.stdout, "[0. 0. 0. ... 0. 0. 0.]\n", "{expression}");
    }
}

/// A sparse file of zeros with one double `value` at byte offset `at` of the data.
fn with_one(dir: &Dir, name: &str, shape: &[usize], fortran: bool, (at, value): (u64, f64)) {
    use std::os::unix::fs::FileExt;
    let bytes = shape.iter().product::<usize>() as u64 * 8;
    sparse(dir, name, "<f8", shape, fortran, bytes);
    let file = File::options().write(true).open(dir.path(name)).expect("the file");
    let header = header("<f8", shape, fortran, 0).len() as u64;
    file.write_all_at(&value.to_le_bytes(), header + at * 8).expect("an element");
}

/// Reductions of 512 MiB in 128 MiB of address space, in one or two passes over the file.
#[test]
fn reductions_of_files_larger_than_memory() {
    let dir = Dir::new();
    let n = (1u64 << 26) as f64;
    // With a single non-zero element every result is exact. Its value makes the mean of all elements 1.
    with_one(&dir, "x.npy", &[1 << 26], false, (12_345_678, n));
    with_one(&dir, "c.npy", &[1 << 16, 1 << 10], false, (40_000 << 10 | 6, n));
    with_one(&dir, "f.npy", &[1 << 16, 1 << 10], true, (6 << 16 | 40_000, n));
    let run = |command: &str| {
        let script = format!(
            "export MALLOC_ARENA_MAX=1 RAYON_NUM_THREADS=2; ulimit -v 131072; exec \"$broadloom\" eval {command} --max-bytes 32M"
        );
        let outcome = dir.shell(&script);
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{command}");
        outcome.stdout
    };
    for (expression, printed) in [
        ("sum(x)", "67108864.0\n"),
        ("mean(x) - max(x) * 2", "-134217727.0\n"),
        ("var(x)", "67108863.0\n"),
        ("argmax(x)", "12345678\n"),
        ("sum(exp(x - max(x)))", "1.0\n"),
        ("x - mean(x)", "[-1. -1. -1. ... -1. -1. -1.]\n"),
    ] {
        assert_eq!(run(&format!("'{expression}' x=x.npy")), printed, "{expression}");
    }
    for file in ["c", "f"] {
        assert_eq!(run(&format!("'argmax(x)' x={file}.npy")), format!("{}\n", 40_000 << 10 | 6));
        for (axis, at, mean) in [(0, 6, 1024.0), (1, 40_000, 65536.0)] {
            run(&format!("'mean(x, axis={axis})' x={file}.npy -o out.npy --force"));
            let data = dir.read("out.npy").data;
            let values: Vec<f64> =
                data.chunks_exact(8).map(|x| f64::from_le_bytes(x.try_into().expect("8"))).collect();
            let expected: Vec<f64> = (0..values.len()).map(|i| if i == at { mean } else { 0.0 }).collect();
            assert!(values.len() == [1 << 10, 1 << 16][axis] && values == expected, "{file} {axis}");
        }
    }
}

/// Scans of 512 MiB in 128 MiB of address space, forwards and backwards.
#[test]
fn scans_of_files_larger_than_memory() {
    let dir = Dir::new();
    let (n, at) = (1_usize << 26, 12_345_678);
    with_one(&dir, "x.npy", &[n], false, (at as u64, 3.0));
    let run = |command: &str| {
        let script = format!(
            "export MALLOC_ARENA_MAX=1 RAYON_NUM_THREADS=2; ulimit -v 131072; exec \"$broadloom\" eval {command} --max-bytes 32M"
        );
        let outcome = dir.shell(&script);
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{command}");
        outcome.stdout
    };
    let scan = |options: &str, result: &str| {
        format!("'s, y = scan (s = 1.0; v in x, axis=0{options}) {{ s = s + v; y = s }}; {result}' x=x.npy")
    };
    assert_eq!(run(&scan("", "s")), "4.0\n");
    assert_eq!(run(&scan(", reverse=true", "y")), "[4. 4. 4. ... 1. 1. 1.]\n");
    for (options, before) in [("", 1), (", reverse=true", 0)] {
        run(&format!("{} -o out.npy --force", scan(options, "y == 1")));
        let data = dir.read("out.npy").data;
        // Backwards, the element itself has the sum too.
        let split = at + usize::from(before == 0);
        assert!(data.len() == n && data[..split].iter().all(|&byte| byte == before));
        assert!(data[split..].iter().all(|&byte| byte == 1 - before));
    }
}
