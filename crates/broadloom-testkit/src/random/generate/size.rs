//! The size of generated programs, which determines their shapes and number of steps.

/// The size of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// At most some hundred elements in an array of any shape.
    Small,
    /// Tens of thousands of elements in an array, so that threads share the work.
    Large,
    /// Few elements and thousands of steps, more than a kernel can hold.
    Long,
}
