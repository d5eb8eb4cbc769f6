//! Vector lengths, which both the encoding table and the instructions name.

/// The vector length of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum VectorLength {
    L128,
    L256,
    L512,
}

impl VectorLength {
    /// The smallest vector length that holds this many bytes.
    pub(crate) fn of_bytes(bytes: u32) -> VectorLength {
        match bytes {
            0..=16 => VectorLength::L128,
            17..=32 => VectorLength::L256,
            _ => VectorLength::L512,
        }
    }

    pub(crate) fn bytes(self) -> u32 {
        16 << self as u32
    }
}
