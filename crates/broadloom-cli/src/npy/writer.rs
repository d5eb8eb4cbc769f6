//! Writes `.npy` files to any `Write`, with the same bytes as `numpy.save`.

use std::io::Write;

use broadloom::DType;

use super::{MAGIC, NpyError, data_len, descr_of};

/// Writes a header, and after it exactly the number of bytes that the shape requires.
#[derive(Debug)]
pub struct NpyWriter<W> {
    to: W,
    expected: u64,
    written: u64,
}

impl<W: Write> NpyWriter<W> {
    /// Writes a header of version 1.0. The elements that follow must be little-endian, in C order or, if `fortran` is set, in
    /// Fortran order.
    ///
    /// # Errors
    ///
    /// [`NpyError::TooLarge`], or the system's error.
    pub fn new(mut to: W, dtype: DType, shape: &[usize], fortran: bool) -> Result<NpyWriter<W>, NpyError> {
        let header = header(dtype, shape, fortran)?;
        let expected =
            data_len(dtype, shape).ok_or(NpyError::TooLarge("its bytes do not fit in an address space"))?;
        to.write_all(&header)?;
        Ok(NpyWriter { to, expected, written: 0 })
    }

    /// Writes further bytes of the elements. `bytes` may begin and end within an element.
    ///
    /// # Errors
    ///
    /// [`NpyError::WrongLength`] if there would be more bytes than the shape requires, or the system's error.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), NpyError> {
        let written = self.written.saturating_add(bytes.len() as u64);
        if written > self.expected {
            return Err(NpyError::WrongLength { expected: self.expected, written });
        }
        // The write may have been partial. `u64::MAX` makes further writes and `finish` fail.
        self.written = u64::MAX;
        self.to.write_all(bytes)?;
        self.written = written;
        Ok(())
    }

    /// The destination of the bytes.
    pub fn to(&self) -> &W {
        &self.to
    }

    /// Flushes the destination and returns it.
    ///
    /// # Errors
    ///
    /// [`NpyError::WrongLength`] if bytes are missing, or the system's error.
    pub fn finish(self) -> Result<W, NpyError> {
        let NpyWriter { mut to, expected, written } = self;
        if written != expected {
            return Err(NpyError::WrongLength { expected, written });
        }
        to.flush()?;
        Ok(to)
    }
}

/// Makes the header that `numpy.save` of NumPy 2 writes, byte for byte.
pub(super) fn header(dtype: DType, shape: &[usize], fortran: bool) -> Result<Vec<u8>, NpyError> {
    const ALIGNMENT: usize = 64;
    // NumPy pads the header's text so that arrays can be appended to the file in place: the extent along the axis to which
    // they would be appended can grow to this many digits.
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
