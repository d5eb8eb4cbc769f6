//! The state of a [`Partial`](crate::Partial) of any dtype: nodes stored as 64-bit words, and the range of elements so
//! far.

use broadloom_ir::{Error, ErrorKind, Result};
use broadloom_math::Elem;
use broadloom_mem::{typed, typed_mut};
use smallvec::SmallVec;

/// The number of words that are stored without an allocation: a few nodes of one output.
const WORDS: usize = 64;

/// The nodes to which a range of elements has been reduced so far.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The number of adjacent outputs.
    pub width: usize,
    /// The number of lanes of a node, for each output.
    pub lanes: usize,
    /// The number of the first element of the range.
    pub start: u64,
    /// The number of the element that will be pushed next.
    pub next: u64,
    /// For each node, the binary logarithm of the number of rows that were reduced to it, or [`OPEN`](crate::tree::OPEN). Nodes
    /// are in the order of their elements.
    pub levels: SmallVec<[u8; 16]>,
    /// The elements of the nodes. Each node is `[lanes][width]` and begins at a word.
    words: SmallVec<[u64; WORDS]>,
    /// The number of words of each node. There may be more words than the nodes use; their contents are unspecified.
    stride: usize,
}

impl State {
    /// Creates an empty state. The first element that is pushed has the number `start`.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if a node of this width is larger than the address space.
    pub fn new<T: Elem>(width: usize, lanes: usize, start: u64) -> Result<State> {
        let elements = width.checked_mul(lanes).and_then(|n| n.checked_mul(size_of::<T::Store>()));
        let bytes = elements.filter(|&bytes| bytes <= isize::MAX as usize / 64);
        let bytes = bytes.ok_or_else(|| {
            Error::new(ErrorKind::Limit, format!("a reduction to {width} elements is larger than memory"))
        })?;
        let stride = bytes.div_ceil(8);
        let (levels, words) = (SmallVec::new(), SmallVec::new());
        Ok(State { width, lanes, start, next: start, levels, words, stride })
    }

    /// Empties the state, for a range that begins with element number `start`.
    pub fn reset(&mut self, start: u64) {
        (self.start, self.next) = (start, start);
        self.levels.clear();
    }

    /// The number of elements of a node, over all lanes and outputs.
    pub fn node_len(&self) -> usize {
        self.lanes * self.width
    }

    /// The elements of node `i`.
    pub fn node<T: Elem>(&self, i: usize) -> &[T::Store] {
        let words = &self.words[i * self.stride..][..self.stride];
        &elements::<T>(broadloom_mem::bytes_of(words))[..self.node_len()]
    }

    /// The elements of node `i`, for writing.
    pub fn node_mut<T: Elem>(&mut self, i: usize) -> &mut [T::Store] {
        let (stride, len) = (self.stride, self.node_len());
        let words = &mut self.words[i * stride..][..stride];
        &mut elements_mut::<T>(broadloom_mem::bytes_of_mut(words))[..len]
    }

    /// The elements of the last node but one, and of the last node.
    pub fn last_two<T: Elem>(&mut self) -> (&mut [T::Store], &mut [T::Store]) {
        let (stride, len) = (self.stride, self.node_len());
        let words = &mut self.words[(self.levels.len() - 2) * stride..][..2 * stride];
        let (below, top) = words.split_at_mut(stride);
        (
            &mut elements_mut::<T>(broadloom_mem::bytes_of_mut(below))[..len],
            &mut elements_mut::<T>(broadloom_mem::bytes_of_mut(top))[..len],
        )
    }

    /// The elements of `count` nodes, beginning with node `first`, as one slice. Nodes of the element type must fill
    /// whole words.
    #[inline(always)]
    pub fn nodes_from<T: Elem>(&mut self, first: usize, count: usize) -> &mut [T::Store] {
        let words = &mut self.words[first * self.stride..][..count * self.stride];
        elements_mut::<T>(broadloom_mem::bytes_of_mut(words))
    }

    /// Adds a node of this level, with unspecified elements.
    #[inline(always)]
    pub fn add_node(&mut self, level: u8) {
        self.levels.push(level);
        let words = self.levels.len() * self.stride;
        if words > self.words.len() {
            self.words.resize(words, 0);
        }
    }

    /// Drops the last node.
    #[inline(always)]
    pub fn drop_node(&mut self) {
        self.levels.pop();
    }
}

/// Views bytes as elements.
///
/// # Panics
/// If the address or the length does not fit the type.
#[inline(always)]
pub(crate) fn elements<T: Elem>(bytes: &[u8]) -> &[T::Store] {
    typed::<T>(bytes).expect("aligned elements of the reduction's dtype")
}

/// Views bytes as elements, for writing.
///
/// # Panics
/// If the address or the length does not fit the type.
#[inline(always)]
pub(crate) fn elements_mut<T: Elem>(bytes: &mut [u8]) -> &mut [T::Store] {
    typed_mut::<T>(bytes).expect("aligned elements of the reduction's dtype")
}
