//! The measurements that the page and the plots show.

use broadloom_bench::Measurement;

/// All measurements.
pub struct AllMeasured {
    /// The rows of the table, measured alternately under `auto`, on the interpreter, and as machine code.
    pub rows: Vec<Measurement>,
    /// The times of calls as a function of the size. Each entry is a line of the plot: its label, whether the
    /// expression is built again for each call, and the measured rows.
    pub calls: Vec<(&'static str, bool, Vec<Measurement>)>,
    /// Pairs of a row measured on one thread and the same row measured on two threads.
    pub threads: Vec<(Measurement, Measurement)>,
    /// Pairs of a vector width in bits and the peak rate of float32 operations per nanosecond.
    pub peaks: Vec<(usize, f64)>,
    /// The sizes in the table.
    pub sizes: Vec<usize>,
}

impl AllMeasured {
    /// The largest size in the table.
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }
}
