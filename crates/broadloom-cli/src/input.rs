//! Input files, read one part at a time.
//!
//! A part is a range of indices along each axis of an [`InputFile`], and is returned as an array. If the file stores the
//! part contiguously and in native byte order, the array is memory-mapped. Otherwise it is copied through mapped windows
//! of bounded size, so that memory use depends on the size of the part and not on the size of the file. Each part has
//! its own mapping, so that touched pages do not accumulate from chunk to chunk.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use broadloom::{Array, DType};
use broadloom_mem::Buffer;

use crate::advice::Given;
use crate::failure::Failure;
use crate::npy::{self, NpyHeader};
use crate::source;
use crate::text::shown;

/// The axis order of the elements in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last axis is contiguous.
    C,
    /// The first axis is contiguous.
    Fortran,
}

/// The size of the window through which a part is copied, in bytes.
const WINDOW: usize = 4 << 20;

/// An input file whose header has been read.
#[derive(Debug)]
pub struct InputFile {
    /// The name of the input in the expression.
    pub name: String,
    path: PathBuf,
    file: File,
    header: NpyHeader,
}

impl InputFile {
    /// Opens the file or stream, and reads the header.
    pub fn open(name: &str, path: &Path) -> Result<InputFile, Failure> {
        let (file, header) = source::open(name, path)?;
        Ok(InputFile { name: name.into(), path: path.into(), file, header })
    }

    /// Reads the header of an open `.npy` file. The path is only used for messages.
    pub fn of_file(name: &str, path: &Path, mut file: File) -> Result<InputFile, Failure> {
        let header = npy::read_header(&mut file).map_err(|error| Failure::npy(path, &error))?;
        Ok(InputFile { name: name.into(), path: path.into(), file, header })
    }

    /// The input's name, file, dtype and shape, for error messages.
    pub fn given(&self) -> Given {
        let extents: Vec<String> = self.header.shape.iter().map(usize::to_string).collect();
        let (name, path) = (&self.name, shown(&self.path));
        let described = format!("`{name}` ({path}) is {}[{}]", self.header.dtype, extents.join(","));
        Given { name: name.clone(), described }
    }

    /// An array without values that has the dtype and extents of the file. Its axes are in storage order, slowest first.
    pub fn placeholder(&self) -> Result<Array<'static>, Failure> {
        let dims: Vec<_> = self.stored_extents().into_iter().map(Into::into).collect();
        Array::input(&self.name, self.header.dtype, &dims).map_err(|error| Failure::file(&self.path, error))
    }

    /// Converts an array whose axes are in storage order to the array that the file represents.
    pub fn of_stored(&self, stored: &Array<'static>) -> Array<'static> {
        if self.header.fortran { stored.t() } else { stored.clone() }
    }

    fn stored_extents(&self) -> Vec<usize> {
        let mut extents = self.header.shape.clone();
        if self.header.fortran {
            extents.reverse();
        }
        extents
    }

    /// The axis order of the file; `None` if C and Fortran order are the same for its shape.
    pub fn order(&self) -> Option<Order> {
        let is_matrix = self.header.shape.iter().filter(|&&extent| extent > 1).count() > 1;
        is_matrix.then_some(if self.header.fortran { Order::Fortran } else { Order::C })
    }

    /// Loads the part of the file with these index ranges, one for each axis in storage order.
    pub fn part(&self, ranges: &[Range<usize>]) -> Result<FilePart, Failure> {
        let pieces = Pieces::new(&self.stored_extents(), ranges, self.header.dtype.size());
        let buffer = self.load(&pieces)?;
        let shape = ranges.iter().map(Range::len).collect();
        Ok(FilePart { buffer, dtype: self.header.dtype, shape })
    }

    fn load(&self, pieces: &Pieces) -> Result<Buffer, Failure> {
        let (size, bytes) = (self.header.dtype.size(), pieces.length * pieces.count());
        if bytes > 0 && pieces.count() == 1 && !self.is_swapped() {
            let mapped = self.map(self.header.data_offset + pieces.first() as u64, bytes)?;
            // NumPy aligns the data to 64 bytes, but the format does not require alignment.
            if mapped.as_bytes().as_ptr().addr().is_multiple_of(size) {
                return Ok(mapped);
            }
        }
        let mut copied = Buffer::for_overwrite(bytes).map_err(|error| Failure::file(&self.path, error))?;
        if let Some(bytes) = copied.as_bytes_mut() {
            self.copy(pieces, WINDOW, bytes)?;
            if self.is_swapped() {
                swap(bytes, size);
            }
        }
        Ok(copied)
    }

    /// Copies runs of bytes to `to`, mapping at most `window_len` bytes of the file at a time.
    fn copy(&self, pieces: &Pieces, window_len: usize, mut to: &mut [u8]) -> Result<(), Failure> {
        let data_len = self.header.data_len() as usize;
        let (mut window_at, mut window) = (0, self.map(self.header.data_offset, 0)?);
        for start in pieces.starts() {
            let mut at = start;
            while at < start + pieces.length {
                if !(window_at..window_at + window.len()).contains(&at) {
                    window_at = at;
                    // The previous window is unmapped before the next one is mapped.
                    drop(window);
                    window = self.map(self.header.data_offset + at as u64, window_len.min(data_len - at))?;
                }
                let from = &window.as_bytes()[at - window_at..];
                let n = from.len().min(start + pieces.length - at);
                let (head, tail) = to.split_at_mut(n);
                head.copy_from_slice(&from[..n]);
                (to, at) = (tail, at + n);
            }
        }
        Ok(())
    }

    fn map(&self, offset: u64, len: usize) -> Result<Buffer, Failure> {
        Buffer::map_file(&self.file, offset, len).map_err(|error| Failure::file(&self.path, error))
    }

    /// Whether the elements need byte swapping.
    fn is_swapped(&self) -> bool {
        self.header.dtype.size() > 1 && self.header.big_endian != cfg!(target_endian = "big")
    }
}

/// Reverses the bytes of each element.
pub fn swap(bytes: &mut [u8], size: usize) {
    bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
}

/// The elements of a part of a file.
#[derive(Debug)]
pub struct FilePart {
    buffer: Buffer,
    dtype: DType,
    shape: Vec<usize>,
}

macro_rules! define_array {
    ($(($variant:ident, $rust:ty, $name:literal))*) => {
        impl FilePart {
            /// The elements as an array, with bools as uint8; `None` if the memory is not aligned for the dtype.
            fn elements(&self) -> Option<broadloom::Result<Array<'_>>> {
                match self.dtype {
                    $(DType::$variant => {
                        self.buffer.typed::<$rust>().map(|elements| Array::from_shape_slice(&self.shape, elements))
                    })*
                }
            }
        }
    };
}
broadloom_math::for_each_dtype!(define_array);

impl FilePart {
    /// The part as an array.
    pub fn array(&self) -> Result<Array<'_>, Failure> {
        let misfit =
            || broadloom::Error::new(broadloom::ErrorKind::Internal, "a part of a file is misaligned");
        let elements = self.elements().unwrap_or_else(|| Err(misfit())).map_err(Failure::Eval)?;
        // Only the elements of a bool have another dtype here: uint8, of which any value but 0 is true.
        Ok(elements.astype(self.dtype))
    }
}

/// The byte ranges that an index box occupies in an array: contiguous runs of equal length.
struct Pieces {
    /// The axes along which each index starts a new run: the index range, and the stride in bytes.
    outer: Vec<(Range<usize>, usize)>,
    /// The byte offset of the first run, without the offsets along `outer`.
    offset: usize,
    /// The length of a run, in bytes.
    length: usize,
}

impl Pieces {
    /// Computes the contiguous pieces of the box `ranges` in an array of these extents, slowest axis first. `size` is
    /// the size of an element in bytes.
    fn new(extents: &[usize], ranges: &[Range<usize>], size: usize) -> Pieces {
        let mut stride = size;
        let (mut offset, mut length) = (0, size);
        let mut outer = Vec::new();
        let mut is_whole = true;
        for (&extent, range) in extents.iter().zip(ranges).rev() {
            if is_whole {
                offset += range.start * stride;
                length *= range.len();
                is_whole = range.len() == extent;
            } else if range.len() == 1 {
                offset += range.start * stride;
            } else {
                outer.push((range.clone(), stride));
            }
            stride = stride.saturating_mul(extent);
        }
        outer.reverse();
        Pieces { outer, offset, length }
    }

    fn count(&self) -> usize {
        self.outer.iter().map(|(range, _)| range.len()).product()
    }

    fn first(&self) -> usize {
        self.offset + self.outer.iter().map(|(range, stride)| range.start * stride).sum::<usize>()
    }

    /// The byte offsets of all runs, in the order of the elements.
    fn starts(&self) -> impl Iterator<Item = usize> {
        let mut index: Vec<usize> = self.outer.iter().map(|(range, _)| range.start).collect();
        let mut at = self.first();
        (0..self.count()).map(move |_| {
            let here = at;
            for (i, (range, stride)) in index.iter_mut().zip(&self.outer).rev() {
                *i += 1;
                at += stride;
                if *i < range.end {
                    break;
                }
                at -= stride * range.len();
                *i = range.start;
            }
            here
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy::NpyWriter;

    /// Every box of a small array, copied through windows of every size, equals the result of indexing.
    #[test]
    fn pieces_and_windows() -> Result<(), Box<dyn std::error::Error>> {
        let extents = [2, 3, 4];
        let data: Vec<u8> = (0..48).collect();
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("x.npy");
        let mut writer = NpyWriter::new(File::create(&path)?, DType::UInt16, &extents, false)?;
        writer.write(&data)?;
        writer.finish()?;
        let input = InputFile::open("x", &path).map_err(|failure| format!("{failure:?}"))?;
        let ranges = |n: usize| (0..=n).flat_map(move |from| (from..=n).map(move |to| from..to));
        for (a, b, c) in ranges(2).flat_map(|a| {
            ranges(3).flat_map(move |b| {
                let a = a.clone();
                ranges(4).map(move |c| (a.clone(), b.clone(), c))
            })
        }) {
            let ranges = [a.clone(), b.clone(), c.clone()];
            let indices =
                a.flat_map(|i| b.clone().flat_map(move |j| (0..4).map(move |k| (i * 3 + j) * 4 + k)));
            let expected: Vec<u8> = indices
                .filter(|at| c.contains(&(at % 4)))
                .flat_map(|at| [2 * at as u8, 2 * at as u8 + 1])
                .collect();
            let pieces = Pieces::new(&extents, &ranges, 2);
            assert_eq!(pieces.count() * pieces.length, expected.len(), "{ranges:?}");
            for window in [1, 2, 3, 7, 48] {
                let mut copied = vec![0; expected.len()];
                input.copy(&pieces, window, &mut copied).map_err(|failure| format!("{failure:?}"))?;
                assert_eq!(copied, expected, "{ranges:?} {window}");
            }
            let part = input.part(&ranges).map_err(|failure| format!("{failure:?}"))?;
            assert_eq!(part.buffer.as_bytes(), expected, "{ranges:?}");
        }
        Ok(())
    }
}
