//! Tables: arrays of which a kernel reads elements at computed positions.
//!
//! A table is no operand of a nest: it has no element for each index of the index space, and all blocks of a run read the same
//! one. Executors compare every position with the number of elements before they read.

use crate::bytes::typed;

/// The contiguous elements of a table.
#[derive(Clone, Copy, Debug)]
pub struct Table<'m> {
    bytes: &'m [u8],
    item: usize,
}

impl<'m> Table<'m> {
    /// A table of elements of `item` bytes. `None` unless `item` is 1, 2, 4 or 8, and the bytes are whole and aligned elements.
    ///
    /// ```
    /// use broadloom_mem::{Table, bytes_of};
    ///
    /// let table = Table::new(bytes_of(&[1.0f32, 2.0, 3.0]), 4).expect("three elements");
    /// assert_eq!(table.elements(), 3);
    /// assert!(Table::new(&table.bytes()[1..], 4).is_none());
    /// ```
    pub fn new(bytes: &'m [u8], item: usize) -> Option<Table<'m>> {
        let fits = match item {
            1 | 2 | 4 | 8 if bytes.is_empty() => true,
            1 => true,
            2 => typed::<u16>(bytes).is_some(),
            4 => typed::<u32>(bytes).is_some(),
            8 => typed::<u64>(bytes).is_some(),
            _ => false,
        };
        fits.then_some(Table { bytes, item })
    }

    /// The bytes of the elements.
    #[inline]
    pub fn bytes(&self) -> &'m [u8] {
        self.bytes
    }

    /// The size of an element in bytes.
    #[inline]
    pub fn item(&self) -> usize {
        self.item
    }

    /// The number of elements.
    #[inline]
    pub fn elements(&self) -> usize {
        self.bytes.len() / self.item
    }
}
