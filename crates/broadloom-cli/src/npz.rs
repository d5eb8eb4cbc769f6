//! NumPy's `.npz` files: zip archives whose members are `.npy` files.
//!
//! A stored member is read in place from the archive. A deflated member is decompressed to an unnamed temporary file, and its
//! checksum is verified. Archives are written without compression, as `numpy.savez` does.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use broadloom_core::printable;
use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveWriter};

use crate::npy::{self, NpyError, NpyHeader};
use crate::unpack;

/// The reason why an archive, or a member of it, could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum NpzError {
    /// The file is not a zip archive, or is damaged.
    #[error("not a .npz file, or a damaged one: {0}")]
    Zip(#[from] rawzip::Error),
    /// The archive has no member with the name in the first field. The second field lists the members.
    #[error("it has no array `{0}`, but {1}")]
    NoMember(String, String),
    /// The archive has several members, and no name was given. The field lists the members.
    #[error("it has several arrays: {0}; write FILE.npz:NAME for one of them")]
    Several(String),
    /// The archive has no members.
    #[error("it has no arrays")]
    Empty,
    /// The member's compression method is not one of stored and deflated.
    #[error("`{0}` is compressed in a way that NumPy does not write")]
    Compression(String),
    /// The member is not a valid `.npy` file.
    #[error("`{0}`: {1}")]
    Member(String, NpyError),
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The maximum number of members that a message lists.
const LISTED: usize = 8;

/// Opens a member: the one named `member` if a name is given, else the only one, or the one with the input's name.
pub fn open(file: File, member: Option<&str>, input: &str) -> Result<(File, NpyHeader), NpzError> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(file.try_clone()?, &mut buffer)?;
    let mut members = Vec::new();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry()? {
        let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
        members.push((name, entry.compression_method(), entry.wayfinder()));
    }
    let is = |written: &str, name: &str| written == name || written.strip_suffix(".npy") == Some(name);
    let named = |name: &str| members.iter().find(|(written, ..)| is(written, name));
    let listed = || {
        let names = members.iter().take(LISTED).map(|(name, ..)| name.strip_suffix(".npy").unwrap_or(name));
        let names: Vec<String> = names.map(|name| format!("`{}`", printable(name))).collect();
        let dots = if members.len() > LISTED { ", …" } else { "" };
        format!("{}{dots}", names.join(", "))
    };
    let (name, method, wayfinder) = match (member, &members[..]) {
        (_, []) => return Err(NpzError::Empty),
        (Some(name), _) => {
            named(name).ok_or_else(|| NpzError::NoMember(printable(name).into_owned(), listed()))?
        }
        (None, [only]) => only,
        (None, _) => named(input).ok_or_else(|| NpzError::Several(listed()))?,
    };
    let entry = archive.get_entry(*wayfinder)?;
    let of_member = |error| NpzError::Member(printable(name).into_owned(), error);
    match *method {
        CompressionMethod::STORE => {
            let (start, end) = entry.compressed_data_range();
            // If the file is truncated, the member ends where the file ends. The archive only states the member's full size.
            let end = end.min(file.metadata()?.len());
            let mut file = file;
            let header =
                npy::read_header_at(&mut file, start, end.saturating_sub(start)).map_err(of_member)?;
            Ok((file, header))
        }
        CompressionMethod::DEFLATE => {
            // A member may decompress to far more data than its array has, so only the size that its header declares is read.
            let mut from = entry.verifying_reader(DeflateDecoder::new(entry.reader()));
            unpack::copy_all(&mut from).map_err(of_member)
        }
        _ => Err(NpzError::Compression(printable(name).into_owned())),
    }
}

/// Writes an archive of these `.npy` files, each under its name.
pub fn write(to: &mut impl Write, members: &mut [(String, File)]) -> Result<(), NpzError> {
    let mut archive = ZipArchiveWriter::new(to);
    for (name, file) in members {
        file.seek(SeekFrom::Start(0))?;
        let path = format!("{name}.npy");
        let (mut entry, config) = archive.new_file(&path).start()?;
        let mut data = config.wrap(&mut entry);
        io::copy(file, &mut data)?;
        let (_, descriptor) = data.finish()?;
        entry.finish(descriptor)?;
    }
    archive.finish()?;
    Ok(())
}
