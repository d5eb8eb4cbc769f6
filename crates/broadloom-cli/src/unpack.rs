//! Copies arrays that can't be mapped in place to temporary files.

use std::fs::File;
use std::io::{self, Read, Write};

use crate::npy::{NpyError, NpyHeader, parse_header, read_header};
use crate::scratch::TemporaryFile;

/// How many bytes after the array are read, to check that the stream ends.
const BLOCK: u64 = 64 << 10;

/// Copies exactly one array in the `.npy` format from a stream.
///
/// # Errors
/// The errors of [`read_header`], and those of the stream and of the temporary file.
pub fn copy(from: &mut impl Read) -> Result<(File, NpyHeader), NpyError> {
    let mut to = TemporaryFile::create()?;
    let header = parse_header(&mut Tee { from, to: &mut to })?;
    io::copy(&mut from.take(header.data_len()), &mut to)?;
    let mut file = to.into_file();
    let header = read_header(&mut file)?;
    Ok((file, header))
}

/// Copies an array like [`copy`], from a stream that should end shortly after the array. The stream is read
/// to its end, where it may verify a checksum.
///
/// # Errors
/// The errors of [`copy`]; [`NpyError::Surplus`] if the array is followed by [`BLOCK`] bytes or more, of
/// which only [`BLOCK`] are read.
pub fn copy_all(from: &mut impl Read) -> Result<(File, NpyHeader), NpyError> {
    let (file, header) = copy(from)?;
    let surplus = io::copy(&mut from.take(BLOCK), &mut io::sink())?;
    if surplus == BLOCK {
        return Err(NpyError::Surplus { promised: header.data_offset + header.data_len() });
    }
    Ok((file, header))
}

/// A reader that writes every byte it reads to a writer.
struct Tee<'t, R, W> {
    from: &'t mut R,
    to: &'t mut W,
}

impl<R: Read, W: Write> Read for Tee<'_, R, W> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(bytes)?;
        self.to.write_all(&bytes[..n])?;
        Ok(n)
    }
}
