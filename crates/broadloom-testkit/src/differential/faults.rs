//! The errors that elements of a program may have.

use broadloom::ErrorKind;

/// The kind of error with which a function fails.
pub(super) fn kind_of_fault(function: &str) -> ErrorKind {
    let divides = ["floor_divide", "remainder", "trunc_divide"].contains(&function);
    if divides { ErrorKind::ZeroDivision } else { ErrorKind::Index }
}
