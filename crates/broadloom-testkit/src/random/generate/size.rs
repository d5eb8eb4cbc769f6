//! The size of generated programs, which decides their shapes and their number of steps.

/// How large the arrays of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// At most some hundred elements, of any shape.
    Small,
    /// Tens of thousands of elements, so that work is shared between threads.
    Large,
    /// Few elements and thousands of steps, more than one kernel takes.
    Long,
}
