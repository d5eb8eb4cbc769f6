//! NumPy's `.npy` files: a reader of headers, and a writer.
//!
//! The reader gives an [`NpyHeader`] to map the data by. It never panics or recurses, allocates at most 64 KiB besides
//! the shape, and checks that the file holds the data that the header promises. The writer produces what `numpy.save`
//! would, and refuses to finish a file whose data is incomplete. The format:
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

// The reader is our own: npyz 0.9 multiplies a header's dimensions unchecked (a panic in debug builds) and parses
// nested literals by recursion. The tests hold reader and writer against it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use broadloom::{DType, Kind};

use crate::target::{Target, TargetError};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header text that is read or written.
const LONGEST_HEADER: usize = 64 << 10;

/// The header of a `.npy` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpyHeader {
    /// The type of the elements.
    pub dtype: DType,
    /// The extents of the axes, outermost first.
    pub shape: Vec<usize>,
    /// Whether the first axis is the fastest one in memory, not the last.
    pub fortran: bool,
    /// Where in the file the elements begin.
    pub data_offset: u64,
    /// Whether the bytes of each element are in big-endian order; never set for elements of one byte.
    pub big_endian: bool,
}

impl NpyHeader {
    /// How many bytes the elements take.
    pub fn data_len(&self) -> u64 {
        // `read_header` made sure that this does not overflow.
        data_len(self.dtype, &self.shape).unwrap_or(u64::MAX)
    }
}

/// Why a `.npy` file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file does not begin as `.npy` files do.
    #[error("not a .npy file")]
    NotNpy,
    /// The file ends before its header or its data does.
    #[error("the file is truncated: {missing} of {expected} bytes are missing")]
    Truncated {
        /// Bytes the file should have at least.
        expected: u64,
        /// Bytes of those that it lacks.
        missing: u64,
    },
    /// A version of the format other than 1.0, 2.0 and 3.0.
    #[error("version {0}.{1} of the .npy format is not known")]
    Version(u8, u8),
    /// Elements that no dtype describes.
    #[error("elements of type {descr} ({what}) are not supported")]
    Unsupported {
        /// The type as the header has it, shortened if it is long.
        descr: String,
        /// A description of it.
        what: &'static str,
    },
    /// The header does not follow the format.
    #[error("the header is corrupt: {0}")]
    Corrupt(&'static str),
    /// The array has more bytes than an address space.
    #[error("the array is too large: {0}")]
    TooLarge(&'static str),
    /// Fewer or more element bytes were written than the shape asks for.
    #[error("{written} bytes of data were written where the shape asks for {expected}")]
    WrongLength {
        /// Bytes that the shape asks for.
        expected: u64,
        /// Bytes that were written, or would have been.
        written: u64,
    },
    /// The file could not be put in its place.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads the header of a file from its start, and makes sure that the data it promises is there.
///
/// Data after that is ignored, as NumPy does. Big-endian elements are no error here; see [`NpyHeader::big_endian`].
///
/// # Errors
///
/// Any of [`NpyError`] but those about targets.
pub fn read_header(file: &mut File) -> Result<NpyHeader, NpyError> {
    file.seek(SeekFrom::Start(0))?;
    let length = file.metadata()?.len();
    let mut start = Vec::new();
    file.take(12).read_to_end(&mut start)?;
    if start.is_empty() || !start.iter().zip(MAGIC).all(|(a, b)| a == b) {
        return Err(NpyError::NotNpy);
    }
    // 1.0 has a 16-bit length and Latin-1 text; 2.0 has 32 bits; 3.0 has UTF-8 text too, which matters to names of
    // fields only.
    let (text_offset, text_len) = match *start.get(MAGIC.len()..).unwrap_or_default() {
        [1, 0, a, b, ..] => (10, u16::from_le_bytes([a, b]).into()),
        [2 | 3, 0, a, b, c, d] => (12, u32::from_le_bytes([a, b, c, d])),
        [1, 0, ..] | [1] | [] => return Err(truncated(10, length)),
        [2 | 3, 0, ..] | [2 | 3] => return Err(truncated(12, length)),
        [major, minor, ..] => return Err(NpyError::Version(major, minor)),
        [major] => return Err(NpyError::Version(major, 0)),
    };
    if text_len as usize > LONGEST_HEADER {
        return Err(NpyError::Corrupt("it is longer than 64 KiB"));
    }
    let data_offset = text_offset + u64::from(text_len);
    file.seek(SeekFrom::Start(text_offset))?;
    let mut text = Vec::with_capacity(text_len as usize);
    file.take(text_len.into()).read_to_end(&mut text)?;
    if text.len() < text_len as usize {
        return Err(truncated(data_offset, length));
    }
    let Fields { descr, fortran, shape } = Literal { text: &text, at: 0 }.fields()?;
    let (dtype, big_endian) = dtype_of(&descr)?;
    let expected = data_len(dtype, &shape)
        .and_then(|data| data.checked_add(data_offset))
        .ok_or(NpyError::TooLarge("its bytes do not fit in an address space"))?;
    if length < expected {
        return Err(truncated(expected, length));
    }
    Ok(NpyHeader { dtype, shape, fortran, data_offset, big_endian })
}

fn truncated(expected: u64, length: u64) -> NpyError {
    NpyError::Truncated { expected, missing: expected.saturating_sub(length) }
}

/// The bytes of an array, if they fit in an address space; that holds for the axes that are not empty, too, so that
/// no stride overflows.
fn data_len(dtype: DType, shape: &[usize]) -> Option<u64> {
    let stretch =
        (shape.iter().filter(|&&n| n != 0)).try_fold(dtype.size(), |product, &n| product.checked_mul(n))?;
    isize::try_from(stretch).ok()?;
    Some(if shape.contains(&0) { 0 } else { stretch as u64 })
}

/// The letter of an element type in a descriptor, before the number of bytes.
fn letter(dtype: DType) -> u8 {
    match dtype.kind() {
        Kind::Bool => b'b',
        Kind::Signed => b'i',
        Kind::Unsigned => b'u',
        Kind::Float => b'f',
    }
}

/// The descriptor of little-endian elements.
fn descr_of(dtype: DType) -> String {
    let order = if dtype.size() == 1 { '|' } else { '<' };
    format!("{order}{}{}", letter(dtype) as char, dtype.size())
}

/// The dtype that a descriptor means, and whether its elements are big-endian.
fn dtype_of(descr: &Descr) -> Result<(DType, bool), NpyError> {
    let unsupported = |what| Err(NpyError::Unsupported { descr: descr.shown(), what });
    let Descr::Plain(descr) = descr else { return unsupported("structured") };
    let native = cfg!(target_endian = "big");
    let (big, kind) = match descr.as_slice() {
        [b'<', kind @ ..] => (false, kind),
        [b'>', kind @ ..] => (true, kind),
        [b'=' | b'|', kind @ ..] | kind => (native, kind),
    };
    let Some((&first, size)) = kind.split_first() else { return unsupported("not a type") };
    let is_same = |dtype: &&DType| letter(**dtype) == first && dtype.size().to_string().as_bytes() == size;
    if let Some(&dtype) = DType::ALL.iter().find(is_same) {
        return Ok((dtype, big && dtype.size() > 1));
    }
    unsupported(match first {
        b'O' => "Python objects",
        b'c' => "complex numbers",
        b'S' | b'a' => "byte strings",
        b'U' | b'T' => "strings",
        b'M' => "dates and times",
        b'm' => "time differences",
        b'V' => "raw bytes",
        b'f' => "floats of another size",
        b'i' | b'u' => "integers of another size",
        _ => "not a type that is known",
    })
}

/// The three values of a header.
struct Fields {
    descr: Descr,
    fortran: bool,
    shape: Vec<usize>,
}

/// An element type as the header has it.
enum Descr {
    /// One type, such as `<f8`.
    Plain(Vec<u8>),
    /// A list of fields or a subarray, as the header writes it.
    Structured(Vec<u8>),
}

impl Descr {
    /// The type for a message: printable, and not too long.
    fn shown(&self) -> String {
        let (Descr::Plain(bytes) | Descr::Structured(bytes)) = self;
        let start =
            String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).replace(char::is_control, "\u{fffd}");
        let dots = if bytes.len() > 40 { "…" } else { "" };
        match self {
            Descr::Plain(_) => format!("'{start}{dots}'"),
            Descr::Structured(_) => format!("{start}{dots}"),
        }
    }
}

/// A reader of the dictionary literals that headers are: `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
struct Literal<'a> {
    text: &'a [u8],
    at: usize,
}

impl Literal<'_> {
    fn fields(mut self) -> Result<Fields, NpyError> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{', "it is not a dictionary")?;
        while !self.eat(b'}') {
            let key = self.string()?;
            self.expect(b':', "a key has no value")?;
            let is_new = match key.as_slice() {
                b"descr" => descr.replace(self.descr()?).is_none(),
                b"fortran_order" => fortran.replace(self.boolean()?).is_none(),
                b"shape" => shape.replace(self.shape()?).is_none(),
                _ => return Err(NpyError::Corrupt("it has a key that is not known")),
            };
            if !is_new {
                return Err(NpyError::Corrupt("a key is there twice"));
            }
            if !self.eat(b',') {
                self.expect(b'}', "a comma is missing")?;
                break;
            }
        }
        if self.peek().is_some() {
            return Err(NpyError::Corrupt("something follows the dictionary"));
        }
        match (descr, fortran, shape) {
            (Some(descr), Some(fortran), Some(shape)) => Ok(Fields { descr, fortran, shape }),
            _ => Err(NpyError::Corrupt("a key is missing")),
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_ascii_start().len();
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += found as usize;
        found
    }

    fn expect(&mut self, byte: u8, otherwise: &'static str) -> Result<(), NpyError> {
        if self.eat(byte) { Ok(()) } else { Err(NpyError::Corrupt(otherwise)) }
    }

    /// The bytes between quotes. Escapes are kept: no known key or type has a backslash.
    fn string(&mut self) -> Result<Vec<u8>, NpyError> {
        let unquoted = NpyError::Corrupt("a string is missing its quotes");
        let Some(quote @ (b'\'' | b'"')) = self.peek() else { return Err(unquoted) };
        let start = self.at + 1;
        let mut at = start;
        loop {
            match self.text.get(at) {
                Some(b'\\') => at += 2,
                Some(byte) if *byte == quote => break,
                Some(_) => at += 1,
                None => return Err(unquoted),
            }
        }
        self.at = at + 1;
        Ok(self.text[start..at].to_vec())
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.peek();
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(NpyError::Corrupt("fortran_order is neither True nor False"))
    }

    fn descr(&mut self) -> Result<Descr, NpyError> {
        if !matches!(self.peek(), Some(b'[' | b'(')) {
            return self.string().map(Descr::Plain);
        }
        let start = self.at;
        let mut depth = 0u32;
        loop {
            match self.peek() {
                Some(b'\'' | b'"') => {
                    self.string()?;
                    continue;
                }
                Some(b'[' | b'(') => depth += 1,
                Some(b']' | b')') => depth -= 1,
                Some(_) => {}
                None => return Err(NpyError::Corrupt("a bracket is missing")),
            }
            self.at += 1;
            if depth == 0 {
                return Ok(Descr::Structured(self.text[start..self.at].to_vec()));
            }
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>, NpyError> {
        let close = match self.peek() {
            Some(b'(') => b')',
            Some(b'[') => b']',
            _ => return Err(NpyError::Corrupt("the shape is not a tuple")),
        };
        self.at += 1;
        let mut shape = Vec::new();
        while !self.eat(close) {
            shape.push(self.extent()?);
            if !self.eat(b',') {
                self.expect(close, "the shape is not a tuple of integers")?;
                break;
            }
        }
        Ok(shape)
    }

    fn extent(&mut self) -> Result<usize, NpyError> {
        self.peek();
        let rest = &self.text[self.at..];
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let corrupt = NpyError::Corrupt("the shape is not a tuple of integers");
        let number = str::from_utf8(&rest[..digits]).map_err(|_| corrupt)?;
        self.at += digits;
        // Python 2 wrote long integers with an L.
        self.at += (digits > 0 && rest.get(digits) == Some(&b'L')) as usize;
        match number.parse() {
            Ok(extent) => Ok(extent),
            Err(_) if digits > 0 => Err(NpyError::TooLarge("an axis does not fit in an address space")),
            Err(_) if rest.first() == Some(&b'-') => Err(NpyError::Corrupt("an axis is negative")),
            Err(_) => Err(NpyError::Corrupt("the shape is not a tuple of integers")),
        }
    }
}

/// Writes a `.npy` file as a [`Target`]: dropped without [`NpyWriter::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct NpyWriter {
    target: Target,
    expected: u64,
    written: u64,
}

impl NpyWriter {
    /// Begins a file with a header of version 1.0. Little-endian elements follow, in C order, or in Fortran order if
    /// `fortran` is set. A file that exists is replaced only with `force`.
    ///
    /// # Errors
    ///
    /// [`NpyError::TooLarge`], [`NpyError::Target`], or that of the system.
    pub fn create(
        path: &Path,
        dtype: DType,
        shape: &[usize],
        fortran: bool,
        force: bool,
    ) -> Result<NpyWriter, NpyError> {
        let header = header(dtype, shape, fortran)?;
        let expected =
            data_len(dtype, shape).ok_or(NpyError::TooLarge("its bytes do not fit in an address space"))?;
        let mut target = Target::create(path, force)?;
        target.write_all(&header)?;
        Ok(NpyWriter { target, expected, written: 0 })
    }

    /// Writes the bytes of the next elements; they may begin and end anywhere inside an element.
    ///
    /// # Errors
    ///
    /// [`NpyError::WrongLength`] if the bytes are more than the shape asks for, or that of the system.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), NpyError> {
        let written = self.written.saturating_add(bytes.len() as u64);
        if written > self.expected {
            return Err(NpyError::WrongLength { expected: self.expected, written });
        }
        // A part may have been written: no more can be, and the file cannot be finished.
        self.written = u64::MAX;
        self.target.write_all(bytes)?;
        self.written = written;
        Ok(())
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    ///
    /// [`NpyError::WrongLength`] if bytes are missing, else as [`Target::finish`]. Nothing is left behind then.
    pub fn finish(self) -> Result<(), NpyError> {
        let NpyWriter { target, expected, written } = self;
        if written != expected {
            return Err(NpyError::WrongLength { expected, written });
        }
        Ok(target.finish()?)
    }
}

/// Everything before the data, byte for byte as `numpy.save` of NumPy 2 writes it.
fn header(dtype: DType, shape: &[usize], fortran: bool) -> Result<Vec<u8>, NpyError> {
    const ALIGNMENT: usize = 64;
    // NumPy reserves space for the axis that a file would be appended along to grow to this many digits.
    const GROWTH: usize = 21;
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut text = format!(
        "{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{comma}), }}",
        descr_of(dtype),
        if fortran { "True" } else { "False" },
        extents.join(", "),
    );
    let growing = if fortran { extents.last() } else { extents.first() };
    let reserved = growing.map_or(0, |extent| GROWTH - extent.len());
    let end = MAGIC.len() + 4 + text.len() + reserved + 1;
    let padding = reserved + ALIGNMENT - end % ALIGNMENT;
    text.extend(std::iter::repeat_n(' ', padding).chain(['\n']));
    let length = u16::try_from(text.len()).map_err(|_| NpyError::TooLarge("it has too many axes"))?;
    Ok([MAGIC.as_slice(), &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat())
}

#[cfg(test)]
mod tests;
