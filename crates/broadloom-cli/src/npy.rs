//! NumPy's `.npy` files: a reader of headers, and a [writer](NpyWriter).
//!
//! The reader returns an [`NpyHeader`], from which the data can be memory-mapped. It never panics or recurses, allocates at most
//! 64 KiB besides the shape, and checks that the file contains all data that the header declares. The format:
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

// The reader is written here because npyz 0.9 multiplies a header's dimensions unchecked (a panic in debug builds) and parses
// nested literals by recursion. Tests compare reader and writer with npyz.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use broadloom::{DType, Kind};
use broadloom_core::printable;

use crate::target::TargetError;

mod writer;

pub use writer::NpyWriter;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The maximum length of a header's text that is read or written, in bytes.
const LONGEST_HEADER: usize = 64 << 10;

/// The header of a `.npy` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpyHeader {
    /// The type of the elements.
    pub dtype: DType,
    /// The extents of the axes, outermost first.
    pub shape: Vec<usize>,
    /// Whether the first axis is contiguous (Fortran order); if not, the last axis is (C order).
    pub fortran: bool,
    /// The byte offset of the elements in the file.
    pub data_offset: u64,
    /// Whether elements are big-endian; false if they have one byte.
    pub big_endian: bool,
}

impl NpyHeader {
    /// The size of all elements, in bytes.
    pub fn data_len(&self) -> u64 {
        // `read_header` checked that this does not overflow.
        data_len(self.dtype, &self.shape).unwrap_or(u64::MAX)
    }
}

/// The reason why a `.npy` file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file has no `.npy` signature. The field describes what it probably is.
    #[error("not a .npy file: {0}")]
    NotNpy(String),
    /// The file ends within its header.
    #[error("the file is truncated within its header: {missing} of {expected} bytes are missing")]
    TruncatedHeader {
        /// The size of the header in bytes, as far as it is known.
        expected: u64,
        /// The number of missing bytes.
        missing: u64,
    },
    /// The file ends within its data.
    #[error("the file is truncated: {what} takes {expected} bytes, of which {missing} are missing")]
    TruncatedData {
        /// The dtype and shape of the array.
        what: String,
        /// The number of bytes that the shape requires.
        expected: u64,
        /// The number of missing bytes.
        missing: u64,
    },
    /// In a stream, the array is followed by at least a block of other data.
    #[error("more follows the {promised} bytes that its header promises")]
    Surplus {
        /// The total size of the header and the data, in bytes.
        promised: u64,
    },
    /// The version of the format is not 1.0, 2.0 or 3.0.
    #[error("version {0}.{1} of the .npy format is not known")]
    Version(u8, u8),
    /// The dtype of the elements is not supported.
    #[error("elements of type {descr} ({what}) are not supported{advice}")]
    Unsupported {
        /// The dtype as the header states it, truncated if it is long.
        descr: String,
        /// A description of the dtype.
        what: &'static str,
        /// Advice that names the NumPy call that converts elements of this type; it begins with a semicolon, and is empty if no
        /// call does.
        advice: &'static str,
    },
    /// The header is not in the form that the format requires.
    #[error("the header is corrupt: {0}")]
    Corrupt(&'static str),
    /// The array has more bytes than fit in an address space.
    #[error("the array is too large: {0}")]
    TooLarge(&'static str),
    /// The number of element bytes written is not the number that the shape requires.
    #[error("{written} bytes of data were written where the shape asks for {expected}")]
    WrongLength {
        /// The number of bytes that the shape requires.
        expected: u64,
        /// The number of bytes that were or would have been written.
        written: u64,
    },
    /// The file could not be created at its path.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads the header at the start of a file, and checks that the file contains the data that the header declares.
///
/// Any further data is ignored, as by NumPy. Big-endian elements are accepted; see [`NpyHeader::big_endian`].
///
/// # Errors
///
/// Any [`NpyError`] except those about writing.
pub fn read_header(file: &mut File) -> Result<NpyHeader, NpyError> {
    let length = file.metadata()?.len();
    read_header_at(file, 0, length)
}

/// Reads the header of an array within a file, at the offset `start` and with a size of `length` bytes, like [`read_header`].
///
/// # Errors
///
/// The errors of [`read_header`].
pub fn read_header_at(file: &mut File, start: u64, length: u64) -> Result<NpyHeader, NpyError> {
    file.seek(SeekFrom::Start(start))?;
    let header = parse_header(&mut file.take(length))?;
    let (data, available) = (header.data_len(), length.saturating_sub(header.data_offset));
    if available < data {
        let extents: Vec<String> = header.shape.iter().map(usize::to_string).collect();
        let what = format!("{}[{}]", header.dtype, extents.join(","));
        return Err(NpyError::TruncatedData { what, expected: data, missing: data - available });
    }
    Ok(NpyHeader { data_offset: start + header.data_offset, ..header })
}

/// Reads a header, and nothing after it.
///
/// # Errors
///
/// The errors of [`read_header`], except for missing data, which is not checked.
pub fn parse_header(from: &mut impl Read) -> Result<NpyHeader, NpyError> {
    let mut start = Vec::new();
    from.take(10).read_to_end(&mut start)?;
    if start.is_empty() || !start.iter().zip(MAGIC).all(|(a, b)| a == b) {
        return Err(NpyError::NotNpy(beginning(&start)));
    }
    // In version 1.0 the header's length has 16 bits and its text is in Latin-1; in version 2.0 the length
    // has 32 bits. Version 3.0 allows UTF-8 in the text, which only matters for the names of fields.
    let wide = match *start.get(MAGIC.len()..).unwrap_or_default() {
        [] | [1] | [1, 0, ..] => false,
        [2 | 3] | [2 | 3, 0, ..] => true,
        [major, minor, ..] => return Err(NpyError::Version(major, minor)),
        [major] => return Err(NpyError::Version(major, 0)),
    };
    if wide {
        from.take(2).read_to_end(&mut start)?;
    }
    let truncated = |expected: usize, length: usize| NpyError::TruncatedHeader {
        expected: expected as u64,
        missing: expected.saturating_sub(length) as u64,
    };
    let text_len = match (wide, &start[..]) {
        (false, [.., a, b]) if start.len() == 10 => usize::from(u16::from_le_bytes([*a, *b])),
        (true, [.., a, b, c, d]) if start.len() == 12 => u32::from_le_bytes([*a, *b, *c, *d]) as usize,
        _ => return Err(truncated(if wide { 12 } else { 10 }, start.len())),
    };
    if text_len > LONGEST_HEADER {
        return Err(NpyError::Corrupt("it is longer than 64 KiB"));
    }
    let mut text = Vec::with_capacity(text_len);
    from.take(text_len as u64).read_to_end(&mut text)?;
    if text.len() < text_len {
        return Err(truncated(start.len() + text_len, start.len() + text.len()));
    }
    let Fields { descr, fortran, shape } = Literal { text: &text, at: 0 }.fields()?;
    let (dtype, big_endian) = dtype_of(&descr)?;
    let data_offset = (start.len() + text_len) as u64;
    if data_len(dtype, &shape).is_none_or(|data| data.checked_add(data_offset).is_none()) {
        return Err(NpyError::TooLarge("its bytes do not fit in an address space"));
    }
    Ok(NpyHeader { dtype, shape, fortran, data_offset, big_endian })
}

/// Guesses the format of a file from its first bytes, and gives advice.
fn beginning(start: &[u8]) -> String {
    let known: [(&[u8], &str); 8] = [
        (b"PK", "it is a zip archive; if it is NumPy's, give it the ending .npz"),
        (b"\x89HDF", "it is an HDF5 file; read it with h5py, and write `numpy.save`"),
        (b"\x1f\x8b", "it is compressed; unpack it with gunzip"),
        (b"\x80", "it may be a pickle; load it with Python, and write `numpy.save`"),
        (b"MATLAB", "it is a MATLAB file; read it with scipy.io.loadmat, and write `numpy.save`"),
        (b"PAR1", "it is a Parquet file; read it with pandas, and write `numpy.save`"),
        (b"II*\0", "it is a TIFF picture; read it with tifffile, and write `numpy.save`"),
        (b"MM\0*", "it is a TIFF picture; read it with tifffile, and write `numpy.save`"),
    ];
    if start.is_empty() {
        return "it is empty".to_owned();
    }
    if let Some((_, what)) = known.iter().find(|(magic, _)| start.starts_with(magic)) {
        return (*what).to_owned();
    }
    match str::from_utf8(start) {
        Ok(text) if !text.contains(|c: char| c.is_control() && !c.is_ascii_whitespace()) => {
            let line = printable(text.lines().next().unwrap_or_default());
            format!("it begins with `{line}`; if it is a table of numbers, give it the ending .csv")
        }
        _ => {
            let bytes: Vec<String> = start.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            format!("it begins with the bytes {}, not with 93 4e 55 4d 50 59", bytes.join(" "))
        }
    }
}

/// The size of an array in bytes, if it fits in an address space. Axes of extent 0 count as 1, so that no stride overflows.
fn data_len(dtype: DType, shape: &[usize]) -> Option<u64> {
    let stretch =
        (shape.iter().filter(|&&n| n != 0)).try_fold(dtype.size(), |product, &n| product.checked_mul(n))?;
    isize::try_from(stretch).ok()?;
    Some(if shape.contains(&0) { 0 } else { stretch as u64 })
}

/// The letter for a dtype in a descriptor, before the size in bytes.
fn letter(dtype: DType) -> u8 {
    match dtype.kind() {
        Kind::Bool => b'b',
        Kind::Signed => b'i',
        Kind::Unsigned => b'u',
        Kind::Float => b'f',
    }
}

/// The descriptor of little-endian elements of a dtype.
fn descr_of(dtype: DType) -> String {
    let order = if dtype.size() == 1 { '|' } else { '<' };
    format!("{order}{}{}", letter(dtype) as char, dtype.size())
}

/// Parses a descriptor. Returns the dtype, and whether elements are big-endian.
fn dtype_of(descr: &Descr) -> Result<(DType, bool), NpyError> {
    let unsupported = |(what, advice)| Err(NpyError::Unsupported { descr: descr.shown(), what, advice });
    let Descr::Plain(descr) = descr else {
        return unsupported(("structured", "; with NumPy, save a field by itself: `x['name']`"));
    };
    let native = cfg!(target_endian = "big");
    let (big, kind) = match descr.as_slice() {
        [b'<', kind @ ..] => (false, kind),
        [b'>', kind @ ..] => (true, kind),
        [b'=' | b'|', kind @ ..] | kind => (native, kind),
    };
    let Some((&first, size)) = kind.split_first() else { return unsupported(("not a type", "")) };
    let is_same = |dtype: &&DType| letter(**dtype) == first && dtype.size().to_string().as_bytes() == size;
    if let Some(&dtype) = DType::ALL.iter().find(is_same) {
        return Ok((dtype, big && dtype.size() > 1));
    }
    unsupported(match first {
        b'O' => ("Python objects", "; with NumPy, save `x.astype(float)`"),
        b'c' => ("complex numbers", "; with NumPy, save `x.real` and `x.imag`"),
        b'S' | b'a' => ("byte strings", ""),
        b'U' | b'T' => ("strings", "; with NumPy, save `x.astype(float)` if they are numbers"),
        b'M' => ("dates and times", "; with NumPy, save `x.astype('int64')`"),
        b'm' => ("time differences", "; with NumPy, save `x.astype('int64')`"),
        b'V' => ("raw bytes", ""),
        b'f' => ("floats of another size", "; with NumPy, save `x.astype(float)`"),
        b'i' | b'u' => ("integers of another size", ""),
        _ => ("not a type that is known", ""),
    })
}

/// The three entries of a header.
struct Fields {
    descr: Descr,
    fortran: bool,
    shape: Vec<usize>,
}

/// The dtype entry of a header.
enum Descr {
    /// A plain dtype, such as `<f8`.
    Plain(Vec<u8>),
    /// A list of fields or a subarray, as written in the header.
    Structured(Vec<u8>),
}

impl Descr {
    /// The dtype as text for a message, printable and truncated.
    fn shown(&self) -> String {
        let (Descr::Plain(bytes) | Descr::Structured(bytes)) = self;
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]);
        let start = printable(&start);
        let dots = if bytes.len() > 40 { "…" } else { "" };
        match self {
            Descr::Plain(_) => format!("'{start}{dots}'"),
            Descr::Structured(_) => format!("{start}{dots}"),
        }
    }
}

/// A parser of the dictionary literal in a header: `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
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
            (None, ..) => Err(NpyError::Corrupt("the key `descr`, the type, is missing")),
            (_, None, _) => Err(NpyError::Corrupt("the key `fortran_order` is missing")),
            (.., None) => Err(NpyError::Corrupt("the key `shape` is missing")),
        }
    }

    /// Skips white space and returns the next byte without consuming it.
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

    /// The bytes between quotes. Escapes are not decoded, since no valid key or dtype contains a backslash.
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
        // Python 2 wrote long integers with a suffix L.
        self.at += (digits > 0 && rest.get(digits) == Some(&b'L')) as usize;
        match number.parse() {
            Ok(extent) => Ok(extent),
            Err(_) if digits > 0 => Err(NpyError::TooLarge("an axis does not fit in an address space")),
            Err(_) if rest.first() == Some(&b'-') => Err(NpyError::Corrupt("an axis is negative")),
            Err(_) => Err(NpyError::Corrupt("the shape is not a tuple of integers")),
        }
    }
}

#[cfg(test)]
mod tests;
