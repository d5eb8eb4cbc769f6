//! Types for the declaration of a function: the edition that it comes from, and its values at special arguments.

/// The edition of the standard that a function comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// The edition of the Array API standard that the tests follow.
    Standard,
    /// A later edition.
    Later,
    /// Not in the standard: a function of C or ONNX.
    None,
}

/// The value at a special argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Special {
    /// NaN.
    Nan,
    /// An infinity; the field is true for the negative one.
    Infinite(bool),
    /// Exactly this number. The sign of a zero is not judged.
    Exactly(f64),
}
