//! Labels of any integer dtype, which are read as numbers of segments, a tile at a time, and what all reductions by label share.

use std::ops::Range;

use broadloom_ir::{DType, Error, ErrorKind, Result};
use broadloom_math::{DTypeVisitor, Elem, Kind};
use broadloom_mem::{ask_for, typed};
use broadloom_sort::{Stopped, Workers};
use pulp::NullaryFnOnce;

use crate::method::arch;

/// The number of labels that are read at a time, which stay in a first-level cache.
pub(super) const TILE: usize = 2048;
/// Between this many elements, a thread asks whether it goes on. A multiple of a tile.
pub(super) const BETWEEN: usize = 1 << 18;

/// The label of each element: the number of its segment, or −1 for an element that belongs to none.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'l> {
    bytes: &'l [u8],
    dtype: DType,
    segments: u32,
}

impl<'l> Labels<'l> {
    /// Labels in memory, aligned for their dtype, of this many segments.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if the labels are not integers; [`ErrorKind::Limit`] for 2^32 − 1 segments or more.
    pub fn new(dtype: DType, bytes: &'l [u8], segments: usize) -> Result<Labels<'l>> {
        if !matches!(dtype.kind(), Kind::Signed | Kind::Unsigned) {
            return Err(Error::new(ErrorKind::Internal, format!("labels of {dtype}")));
        }
        // The last number is that of elements without a segment.
        let segments = u32::try_from(segments).ok().filter(|&segments| segments < u32::MAX);
        let segments = segments.ok_or_else(|| Error::new(ErrorKind::Limit, "2^32 − 1 segments or more"))?;
        Ok(Labels { bytes, dtype, segments })
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The number of segments.
    pub fn segments(&self) -> usize {
        self.segments as usize
    }

    /// The label with this index.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, index: usize) -> i128 {
        let size = self.dtype.size();
        self.dtype.visit(Wide(&self.bytes[index * size..][..size]))
    }

    /// Prefetches labels from index `at` on, as far as there are some.
    #[inline(always)]
    pub(super) fn ask_for(&self, at: usize, count: usize) {
        let size = self.dtype.size();
        ask_for(self.bytes, at * size, count * size);
    }

    /// Reads labels from index `from` on as numbers of segments. That of −1 is the number of segments.
    fn read(&self, from: usize, ids: &mut [u32]) -> std::result::Result<(), SegmentError> {
        let size = self.dtype.size();
        let bytes = &self.bytes[from * size..][..ids.len() * size];
        match self.dtype.visit(Read { bytes, segments: self.segments, ids }) {
            true => Ok(()),
            false => Err(SegmentError::Label(from)),
        }
    }

    /// The number of the segment of one label.
    pub(super) fn id(&self, index: usize) -> std::result::Result<u32, SegmentError> {
        let mut ids = [0];
        self.read(index, &mut ids)?;
        Ok(ids[0])
    }

    /// Calls `run` with the index of the first label of each tile of a range, and with the numbers of the segments.
    #[inline]
    pub(super) fn tiles<E: From<SegmentError> + From<Stopped>>(
        &self,
        range: Range<usize>,
        workers: &dyn Workers,
        mut run: impl FnMut(usize, &[u32]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut ids = [0; TILE];
        for first in range.clone().step_by(TILE) {
            if (first - range.start).is_multiple_of(BETWEEN) {
                workers.go_on()?;
            }
            let ids = &mut ids[..TILE.min(range.end - first)];
            self.read(first, ids)?;
            run(first, ids)?;
        }
        Ok(())
    }

    /// Fails if a label is out of range.
    pub(super) fn check(&self, workers: &dyn Workers) -> std::result::Result<(), SegmentError> {
        self.tiles(0..self.len(), workers, |_, _| Ok::<(), SegmentError>(()))
    }

    /// The error with the index of the first label that is out of range, if it is about a label.
    pub(super) fn first_of(&self, error: SegmentError) -> SegmentError {
        let SegmentError::Label(_) = error else { return error };
        let is_bad = |range: Range<usize>| {
            let mut ids = [0; TILE];
            self.read(range.start, &mut ids[..range.len()]).is_err()
        };
        let tiles = (0..self.len()).step_by(TILE).map(|first| first..self.len().min(first + TILE));
        let bad = tiles.into_iter().find(|tile| is_bad(tile.clone())).unwrap_or(0..0);
        SegmentError::Label(bad.clone().find(|&index| is_bad(index..index + 1)).unwrap_or(bad.start))
    }
}

/// Numbers of segments in the order of the labels, in which −1 is the first.
#[inline(always)]
pub(super) fn rank(id: u32, none: u32) -> u32 {
    if id == none { 0 } else { id + 1 }
}

/// One label, which is read as it is.
struct Wide<'w>(&'w [u8]);

impl DTypeVisitor for Wide<'_> {
    type Out = i128;

    fn visit<T: Elem>(self) -> i128 {
        let bits =
            typed::<T>(self.0).expect("an aligned label").iter().map(|&label| T::load(label).to_bits64());
        let (unused, is_signed) = (64 - 8 * size_of::<T::Store>() as u32, T::DTYPE.kind() == Kind::Signed);
        let wide =
            |bits: u64| if is_signed { i128::from((bits << unused) as i64 >> unused) } else { bits.into() };
        bits.last().map_or(0, wide)
    }
}

/// Labels that are read as numbers of segments. Returns whether all of them are in range.
struct Read<'r> {
    bytes: &'r [u8],
    segments: u32,
    ids: &'r mut [u32],
}

impl DTypeVisitor for Read<'_> {
    type Out = bool;

    fn visit<T: Elem>(self) -> bool {
        let labels = typed::<T>(self.bytes).expect("aligned labels");
        arch().dispatch(ReadAs::<T> { labels, segments: self.segments, ids: self.ids })
    }
}

struct ReadAs<'r, T: Elem> {
    labels: &'r [T::Store],
    segments: u32,
    ids: &'r mut [u32],
}

impl<T: Elem> NullaryFnOnce for ReadAs<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let ReadAs { labels, segments, ids } = self;
        let is_signed = T::DTYPE.kind() == Kind::Signed;
        let unused = 64 - 8 * size_of::<T::Store>() as u32;
        let mut bad = 0;
        for (id, &label) in ids.iter_mut().zip(labels) {
            let bits = T::load(label).to_bits64();
            // A negative label is extended by its sign, and thereby beyond all segments.
            let label = if is_signed { ((bits << unused) as i64 >> unused) as u64 } else { bits };
            let is_in = label < u64::from(segments);
            let is_none = is_signed & (label == u64::MAX);
            bad |= u32::from(!(is_in | is_none));
            *id = if is_in { label as u32 } else { segments };
        }
        bad == 0
    }
}

/// Why segments were not reduced. The contents of the outputs are unspecified.
#[derive(Clone, Debug)]
pub enum SegmentError {
    /// The workers stopped, or memory was refused.
    Stopped(Stopped),
    /// The label with this index is neither that of a segment nor −1. It is the first such label.
    Label(usize),
    /// The reduction does not take the dtype.
    Refused(Error),
}

impl From<Stopped> for SegmentError {
    fn from(why: Stopped) -> SegmentError {
        SegmentError::Stopped(why)
    }
}

impl From<Error> for SegmentError {
    fn from(error: Error) -> SegmentError {
        SegmentError::Refused(error)
    }
}

/// Consecutive ranges of `0..n`, one for each thread, or a single one for so few elements that the threads do not pay.
pub(super) fn ranges(n: usize, threads: usize) -> Vec<Range<usize>> {
    let threads = threads.clamp(1, (n / BETWEEN).max(1));
    (0..threads).map(|i| n / threads * i..if i + 1 == threads { n } else { n / threads * (i + 1) }).collect()
}
