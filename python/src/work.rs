//! How long the way from memory to an expression's values is; this decides whether the expression is evaluated before it grows
//! any longer.

/// The length of the longest way from memory to the values of an expression.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// The number of operations on that way.
    pub depth: u32,
}

impl Work {
    /// The greater of two lengths, for a result of several operands.
    pub fn or(self, other: Work) -> Work {
        Work { depth: self.depth.max(other.depth) }
    }

    /// The length after one more operation.
    pub fn then(self) -> Work {
        Work { depth: self.depth.saturating_add(1) }
    }
}
