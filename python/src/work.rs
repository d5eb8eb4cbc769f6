//! How much an evaluation computes, as a guess that costs nothing: it decides which runs are watched for signals, and which
//! expressions are evaluated before they grow any longer.

use broadloom::Op;

/// What lies between an expression and memory, along the longest way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Operations.
    pub depth: u32,
    /// Elements of these operations, those of approximate functions by their weight; an open extent counts as 1.
    pub operations: usize,
}

/// What an approximate function costs, in additions: some 10 to 70 vector instructions.
const APPROXIMATE: usize = 16;

impl Work {
    /// The greater of both.
    pub fn or(self, other: Work) -> Work {
        Work { depth: self.depth.max(other.depth), operations: self.operations.max(other.operations) }
    }

    /// After an operation that gives so many elements; a function of the op table, if it is one.
    pub fn then(self, elements: usize, op: Option<Op>) -> Work {
        let weight = if op.is_some_and(Op::is_approximate) { APPROXIMATE } else { 1 };
        let operations = self.operations.saturating_add(elements.saturating_mul(weight));
        Work { depth: self.depth.saturating_add(1), operations }
    }
}
