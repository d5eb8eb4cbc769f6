//! Opens the source of an input as a file that can be memory-mapped, and returns the header that describes its array.
//!
//! An input that cannot be mapped (a pipe, standard input, a compressed member of an archive, a table of text) is first copied to
//! an unnamed temporary file, so that it may be larger than memory.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use crate::failure::Failure;
use crate::format::Format;
use crate::npy::{self, NpyError, NpyHeader};
use crate::progress::patiently;
use crate::scratch::TemporaryFile;
use crate::text::shown;
use crate::{npz, table, unpack};

/// The path that means standard input or standard output.
pub const STREAM: &str = "-";

/// Whether a path means standard input or standard output.
pub fn is_stream(path: &Path) -> bool {
    path == Path::new(STREAM)
}

/// Opens the array at a path. `name` is the name of the input, which selects the member of an archive.
pub fn open(name: &str, path: &Path) -> Result<(File, NpyHeader), Failure> {
    if is_stream(path) {
        return stdin().map_err(|error| Failure::npy(Path::new("standard input"), &error));
    }
    let (file, part) = Format::split_part(path);
    let format = Format::of(&file).map_err(|message| Failure::file(&file, message))?;
    let mut opened = patiently(&format!("opening {}", shown(&file)), || File::open(&file))
        .map_err(|error| Failure::file(&file, error))?;
    let found = opened.metadata().map_err(|error| Failure::file(&file, error))?;
    if found.is_dir() {
        return Err(Failure::file(&file, "a directory, not a file"));
    }
    let is_stream = !found.is_file();
    match format {
        Format::Csv => {
            let read =
                patiently(&format!("reading {}", shown(&file)), || table::read(opened, part.as_deref()));
            read.map_err(|error| Failure::file(&file, error))
        }
        Format::Npz => {
            if is_stream {
                opened = copied(&mut opened).map_err(|error| Failure::file(&file, error))?;
            }
            npz::open(opened, part.as_deref(), name).map_err(|error| Failure::npz(&file, &error))
        }
        Format::Npy => {
            let read = if is_stream { stream(&mut opened) } else { with_header(opened) };
            read.map_err(|error| Failure::npy(&file, &error))
        }
    }
}

/// Opens the array on standard input.
fn stdin() -> Result<(File, NpyHeader), NpyError> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(io::Error::other("a terminal; redirect a .npy file or a pipe to it").into());
    }
    stream(&mut stdin.lock())
}

/// Reads exactly one array in the `.npy` format from a stream.
fn stream(from: &mut impl Read) -> Result<(File, NpyHeader), NpyError> {
    patiently("reading a stream", || unpack::copy(from))
}

fn with_header(mut file: File) -> Result<(File, NpyHeader), NpyError> {
    let header = npy::read_header(&mut file)?;
    Ok((file, header))
}

/// Copies the rest of a stream to a temporary file.
fn copied(from: &mut impl Read) -> io::Result<File> {
    patiently("reading a stream", || {
        let mut to = TemporaryFile::create()?;
        io::copy(from, &mut to)?;
        Ok(to.into_file())
    })
}
