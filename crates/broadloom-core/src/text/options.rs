//! The limits for parsing a text, so that hostile texts are refused with an error.

/// The limits of [`parse`](super::parse).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseOptions {
    /// The maximum length of a text in bytes; 1 MiB by default, and never more than 4 GiB.
    pub max_bytes: usize,
    /// The maximum number of syntax nodes, also after user-defined functions are inlined; 2^17 by default. A node takes
    /// less than 64 bytes, and about 200 more when it becomes an array.
    pub max_nodes: usize,
    /// The maximum depth of nested parentheses, calls and pending operators; 2^17 by default. It bounds memory only: about
    /// 64 bytes per level, on the heap.
    pub max_depth: usize,
    /// Whether inputs may have values (`x: int8[2] = [1, -2]`) and the text may contain settings (`promotion numpy`,
    /// `int_division error`, `accuracy nearest`, `contract on`), as case files do; false by default.
    pub data: bool,
}

impl Default for ParseOptions {
    fn default() -> ParseOptions {
        ParseOptions { max_bytes: 1 << 20, max_nodes: 1 << 17, max_depth: 1 << 17, data: false }
    }
}
