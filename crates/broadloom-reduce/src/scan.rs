//! The scan: each element combined with those before it, with an error that grows with the logarithm of their number.
//!
//! Element i of the result is the totals of the aligned blocks that the binary digits of i stand for, the largest first,
//! combined from left to right, and then element i of the operand. The total of a block is that of its halves, each
//! likewise. So the bits depend on the elements before i and their number alone.

use broadloom_ir::{DType, Error, ErrorKind, Result, Scan};

use crate::combine::{Accumulator, Combine, Prod, Sum};
use crate::state::{State, elements_mut};

/// A scan that is under way, of some lanes side by side.
///
/// Elements are bytes in native order, aligned for their dtype.
pub struct ScanState {
    scan: Scan,
    dtype: DType,
    /// The totals of the blocks of which the elements so far consist; a node is one row.
    totals: State,
    /// For each of them what it and those before it are combined to.
    prefixes: State,
}

impl ScanState {
    /// Nothing yet, of `width` lanes side by side.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`]: the scan does not [take](Scan::takes) the dtype. [`ErrorKind::Limit`]: the lanes are more
    /// than fit memory.
    pub fn new(scan: Scan, dtype: DType, width: usize) -> Result<ScanState> {
        if !scan.takes(dtype) {
            return Err(Error::new(ErrorKind::Internal, format!("{scan} does not take {dtype}")));
        }
        let state = || match dtype.size() {
            4 => State::new::<f32>(width, 1, 0),
            _ => State::new::<f64>(width, 1, 0),
        };
        Ok(ScanState { scan, dtype, totals: state()?, prefixes: state()? })
    }

    /// Nothing again: memory that this one has is used again.
    pub fn reset(&mut self) {
        self.totals.reset(0);
        self.prefixes.reset(0);
    }

    /// Scans the next elements: both are [n][width] in C order.
    ///
    /// # Panics
    /// If the bytes are not aligned for the dtype, not of whole rows of `width` elements, or `out` is not as long as
    /// `elements`.
    pub fn push(&mut self, elements: &[u8], out: &mut [u8]) {
        out.copy_from_slice(elements);
        self.push_in_place(out);
    }

    /// Scans the next elements in place, [n][width] in C order.
    ///
    /// # Panics
    /// If the bytes are not aligned for the dtype, or not of whole rows of `width` elements.
    pub fn push_in_place(&mut self, bytes: &mut [u8]) {
        let row = self.totals.width * self.dtype.size();
        assert!(bytes.is_empty() || row != 0 && bytes.len().is_multiple_of(row), "whole rows of elements");
        match (self.scan, self.dtype) {
            _ if bytes.is_empty() => {}
            (Scan::Sum, DType::Float32) => self.scan_rows::<Sum, f32>(bytes),
            (Scan::Prod, DType::Float32) => self.scan_rows::<Prod, f32>(bytes),
            (Scan::Sum, DType::Float64) => self.scan_rows::<Sum, f64>(bytes),
            (Scan::Prod, DType::Float64) => self.scan_rows::<Prod, f64>(bytes),
            // Integers wrap, whatever their sign.
            (Scan::Sum, _) => self.scan_rows::<Sum, u64>(bytes),
            (Scan::Prod, _) => self.scan_rows::<Prod, u64>(bytes),
        }
    }

    fn scan_rows<F: Combine<T>, T: Accumulator>(&mut self, bytes: &mut [u8]) {
        let width = self.totals.width;
        for row in elements_mut::<T>(bytes).chunks_exact_mut(width) {
            let depth = self.totals.levels.len();
            self.totals.add_node(0);
            self.totals.node_mut::<T>(depth).copy_from_slice(row);
            if depth > 0 {
                combine::<F, T>(self.prefixes.node::<T>(depth - 1), row);
            }
            for x in row {
                *x = F::result(*x);
            }
            self.carry::<F, T>();
        }
    }

    /// Joins the last total with those of its size, and makes the prefix of what comes out.
    fn carry<F: Combine<T>, T: Accumulator>(&mut self) {
        while let [.., before, level] = self.totals.levels[..]
            && before == level
        {
            let (below, top) = self.totals.last_two::<T>();
            for (a, b) in below.iter_mut().zip(&*top) {
                *a = F::pair(*a, *b);
            }
            self.totals.drop_node();
            *self.totals.levels.last_mut().expect("the sibling") += 1;
        }
        let last = self.totals.levels.len() - 1;
        while self.prefixes.levels.len() > last {
            self.prefixes.drop_node();
        }
        self.prefixes.add_node(0);
        self.prefixes.node_mut::<T>(last).copy_from_slice(self.totals.node::<T>(last));
        if last > 0 {
            let (before, prefix) = self.prefixes.last_two::<T>();
            combine::<F, T>(before, prefix);
        }
    }
}

impl std::fmt::Debug for ScanState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.scan, self.dtype)
    }
}

/// a op b, in the place of b.
fn combine<F: Combine<T>, T: Accumulator>(a: &[T], b: &mut [T]) {
    for (a, b) in a.iter().zip(b) {
        *b = F::pair(*a, *b);
    }
}
