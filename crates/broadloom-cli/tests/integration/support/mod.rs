//! Runs the command in a temporary directory.
//!
//! Input files are built byte by byte and outputs are read with npyz, so that the tests share no code with the command's own
//! reader and writer.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// A temporary directory, removed on drop.
pub struct Dir(tempfile::TempDir);

/// The outcome of a run of the command.
#[derive(Debug)]
pub struct CommandRun {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// An array that npyz has read.
#[derive(Clone, Debug, PartialEq)]
pub struct Npy {
    pub descr: String,
    pub shape: Vec<u64>,
    pub fortran: bool,
    pub data: Vec<u8>,
}

impl Dir {
    pub fn new() -> Dir {
        Dir(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The names of the files in the directory, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a directory");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("a file is written");
    }

    /// Writes a `.npy` file.
    pub fn npy(&self, name: &str, descr: &str, shape: &[usize], fortran: bool, data: &[u8]) {
        self.write(name, &[header(descr, shape, fortran, 0), data.to_vec()].concat());
    }

    /// Writes a `.npy` file of little-endian numbers in C order.
    pub fn array<T: ArrayElement>(&self, name: &str, shape: &[usize], values: &[T]) {
        self.npy(name, T::DESCR, shape, false, &T::bytes(values));
    }

    pub fn read(&self, name: &str) -> Npy {
        read(&self.path(name))
    }

    /// Runs the command in the directory.
    pub fn run(&self, args: &[&str]) -> CommandRun {
        self.run_with(Command::new(env!("CARGO_BIN_EXE_broadloom")).args(args))
    }

    /// Runs a shell script in the directory; `$broadloom` is the path of the command.
    pub fn shell(&self, script: &str) -> CommandRun {
        let mut shell = Command::new("sh");
        self.run_with(shell.args(["-c", script]).env("broadloom", env!("CARGO_BIN_EXE_broadloom")))
    }

    fn run_with(&self, command: &mut Command) -> CommandRun {
        let Output { status, stdout, stderr } =
            command.current_dir(self.0.path()).env_remove("NO_COLOR").output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        CommandRun { status: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Runs the command, which must succeed without a message, and returns its standard output.
    pub fn ok(&self, args: &[&str]) -> String {
        let outcome = self.run(args);
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{args:?}");
        outcome.stdout
    }
}

/// The header of a `.npy` file whose data begins `rest` bytes after a multiple of 64.
pub fn header(descr: &str, shape: &[usize], fortran: bool, rest: usize) -> Vec<u8> {
    let extents: String = shape.iter().map(|extent| format!("{extent},")).collect();
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({extents}), }}");
    let mut text = text.into_bytes();
    while (text.len() + 11) % 64 != rest {
        text.push(b' ');
    }
    text.push(b'\n');
    [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], &text].concat()
}

/// A zip archive of these members, compressed by deflate.
pub fn deflated(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
    for (name, bytes) in members {
        let member = archive.new_file(name).compression_method(rawzip::CompressionMethod::DEFLATE);
        let (mut entry, config) = member.start().expect("a member");
        let mut data = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
        data.write_all(bytes).expect("memory");
        let (encoder, descriptor) = data.finish().expect("memory");
        encoder.finish().expect("memory");
        entry.finish(descriptor).expect("a member");
    }
    archive.finish().expect("an archive")
}

/// Reads a file with npyz.
pub fn read(path: &Path) -> Npy {
    let bytes = fs::read(path).expect("a file");
    let mut rest = bytes.as_slice();
    let header = npyz::NpyHeader::from_reader(&mut rest).expect("a header");
    Npy {
        descr: header.dtype().descr().trim_matches('\'').to_owned(),
        shape: header.shape().to_vec(),
        fortran: header.order() == npyz::Order::Fortran,
        data: rest.to_vec(),
    }
}

/// A Rust type of array elements.
pub trait ArrayElement: Copy {
    const DESCR: &'static str;
    fn bytes(values: &[Self]) -> Vec<u8>;
}

macro_rules! numbers {
    ($($rust:ty, $descr:literal;)*) => {$(
        impl ArrayElement for $rust {
            const DESCR: &'static str = $descr;
            fn bytes(values: &[$rust]) -> Vec<u8> {
                values.iter().flat_map(|x| x.to_le_bytes()).collect()
            }
        }
    )*};
}
numbers! {
    i8, "|i1"; i16, "<i2"; i32, "<i4"; i64, "<i8"; u8, "|u1"; u16, "<u2"; u32, "<u4"; u64, "<u8";
    half::f16, "<f2"; f32, "<f4"; f64, "<f8";
}

impl ArrayElement for bool {
    const DESCR: &'static str = "|b1";
    fn bytes(values: &[bool]) -> Vec<u8> {
        values.iter().map(|&x| u8::from(x)).collect()
    }
}
