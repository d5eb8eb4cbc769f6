//! The depth of an expression, which decides whether it is evaluated before it grows further.

/// The depth of an expression, on the longest path to memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// The number of operations.
    pub depth: u32,
}

impl Work {
    /// The maximum of both.
    pub fn or(self, other: Work) -> Work {
        Work { depth: self.depth.max(other.depth) }
    }

    /// The depth after one more operation.
    pub fn then(self) -> Work {
        Work { depth: self.depth.saturating_add(1) }
    }
}
