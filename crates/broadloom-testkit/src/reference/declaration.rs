//! Types of a function's declaration: the edition that the function comes from, and its values at special arguments.

/// Where a function comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// The edition of the Array API standard that the special cases are written from.
    Standard,
    /// A later edition.
    Later,
    /// No edition: C's or ONNX's function.
    None,
}

/// A value at a special argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Special {
    /// Not a number.
    Nan,
    /// An infinity; the field says whether it is the negative one.
    Infinite(bool),
    /// Exactly this number. The sign of a zero is not judged in ulps.
    Exactly(f64),
}
