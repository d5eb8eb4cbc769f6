//! The measurements that the page and the plots show.

use broadloom_bench::Row;

/// Everything that was measured.
pub struct Measured {
    /// The table: under `auto`, the interpreter and compiled code, alternating.
    pub rows: Vec<Row>,
    /// Times of calls over sizes: the name of the line, whether the expression is built each time, the rows.
    pub calls: Vec<(&'static str, bool, Vec<Row>)>,
    /// Pairs of rows: on one thread, and on two.
    pub threads: Vec<(Row, Row)>,
    /// Vector widths in bits, and the peak rate of float32 operations per nanosecond.
    pub peaks: Vec<(usize, f64)>,
    /// The sizes of the table.
    pub sizes: Vec<usize>,
}

impl Measured {
    /// The largest size of the table.
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }
}
