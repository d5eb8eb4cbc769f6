//! Writes `.npy` files exactly as `numpy.save` would, to any destination of bytes.

use std::io::Write;

use broadloom::DType;

use super::{MAGIC, NpyError, data_len, descr_of};

/// Writes a header, and then exactly as many bytes as the shape requires.
#[derive(Debug)]
pub struct NpyWriter<W> {
    to: W,
    expected: u64,
    written: u64,
}

impl<W: Write> NpyWriter<W> {
    /// Begins with a header of version 1.0. Little-endian elements follow, in C order, or in Fortran order if
    /// `fortran` is set.
    ///
    /// # Errors
    ///
    /// [`NpyError::TooLarge`], or that of the system.
    pub fn new(mut to: W, dtype: DType, shape: &[usize], fortran: bool) -> Result<NpyWriter<W>, NpyError> {
        let header = header(dtype, shape, fortran)?;
        let expected =
            data_len(dtype, shape).ok_or(NpyError::TooLarge("its bytes do not fit in an address space"))?;
        to.write_all(&header)?;
        Ok(NpyWriter { to, expected, written: 0 })
    }

    /// Writes the bytes of the next elements. They may begin and end within an element.
    ///
    /// # Errors
    ///
    /// [`NpyError::WrongLength`] if the bytes are more than the shape requires, or that of the system.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), NpyError> {
        let written = self.written.saturating_add(bytes.len() as u64);
        if written > self.expected {
            return Err(NpyError::WrongLength { expected: self.expected, written });
        }
        // A part of the bytes may have been written, so no more can be, and the file can't be finished.
        self.written = u64::MAX;
        self.to.write_all(bytes)?;
        self.written = written;
        Ok(())
    }

    /// The destination.
    pub fn to(&self) -> &W {
        &self.to
    }

    /// Finishes the file, and returns the flushed destination.
    ///
    /// # Errors
    ///
    /// [`NpyError::WrongLength`] if bytes are missing, or that of the system.
    pub fn finish(self) -> Result<W, NpyError> {
        let NpyWriter { mut to, expected, written } = self;
        if written != expected {
            return Err(NpyError::WrongLength { expected, written });
        }
        to.flush()?;
        Ok(to)
    }
}

/// Everything before the data, exactly as `numpy.save` of NumPy 2 writes it.
pub(super) fn header(dtype: DType, shape: &[usize], fortran: bool) -> Result<Vec<u8>, NpyError> {
    const ALIGNMENT: usize = 64;
    // NumPy reserves space so that the extent of the axis along which a file can be extended may grow to this many digits.
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
