//! How long an expression is, which decides whether it is evaluated before it grows any longer.

/// What lies between an expression and memory, along the longest way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Operations.
    pub depth: u32,
}

impl Work {
    /// The greater of both.
    pub fn or(self, other: Work) -> Work {
        Work { depth: self.depth.max(other.depth) }
    }

    /// After an operation.
    pub fn then(self) -> Work {
        Work { depth: self.depth.saturating_add(1) }
    }
}
