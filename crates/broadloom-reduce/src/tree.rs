//! The canonical tree of sums and products of floats.
//!
//! A row is [`LANES`] elements of each output. A node is the result of reducing an aligned subtree of 2^level rows, and two nodes
//! of one level are merged to a node of the next level, as carries propagate in a binary counter. A row with absent elements is
//! padded with the identity, which does not change the bits of the result. If the first elements of a row belong to an earlier
//! range, the row can't be merged with its sibling yet: it stays a separate node, whose level is [`OPEN`], until the earlier
//! range is merged.

use std::marker::PhantomData;

use broadloom_ir::Result;
use broadloom_mem::Caches;
use pulp::{Scalar128b, Simd, WithSimd};

use crate::LANES;
use crate::combine::Combine;
use crate::each;
use crate::method::{Method, arch};
use crate::state::{State, elements, elements_mut};
use crate::vectors::{
    CombineVectors, IN_STREAMS, Units, Vectors, combine, fold, fold_256, fold_level, fold_node, fold_streams,
};

/// The level of a row whose first elements belong to an earlier range.
pub(crate) const OPEN: u8 = u8::MAX;

/// If a row with one element of each output has fewer bytes than this, rows are copied to contiguous memory before they are
/// reduced, so that vectors are full.
const NARROW: usize = 64;

/// The method of reductions whose result depends on the order of the elements.
pub(crate) struct Tree<F, T>(PhantomData<fn() -> (F, T)>);

impl<F, T> Tree<F, T> {
    pub const NEW: Tree<F, T> = Tree(PhantomData);
}

impl<F: CombineVectors<T>, T: Vectors> Method for Tree<F, T> {
    fn state(&self, width: usize, start: u64) -> Result<State> {
        State::new::<T>(width, LANES, start)
    }

    fn push(&self, state: &mut State, bytes: &[u8]) {
        // This call shares the code of `push_nodes`. If `push` called the dispatched function itself with a constant level, the
        // compiler would generate a second instance of a large function.
        self.push_nodes(state, 0, bytes);
    }

    fn push_nodes(&self, state: &mut State, level: u8, rows: &[u8]) {
        arch().dispatch(Push::<F, T>(state, elements::<T>(rows), level, PhantomData));
    }

    fn push_rows<'r>(&self, state: &mut State, n: usize, row: &dyn Fn(usize) -> &'r [u8]) {
        if state.width * size_of::<T>() < NARROW {
            return packed(state.width * size_of::<T>(), n, row, |bytes| self.push(state, bytes));
        }
        let width = state.width;
        arch().dispatch(PushRows::<F, T>(state, Apart { n, width, row }, PhantomData));
    }

    fn append(&self, state: &mut State, later: &State) {
        let mut next = state.next;
        for (i, &level) in later.levels.iter().enumerate() {
            let node = later.node::<T>(i);
            if level == OPEN {
                let top = state.levels.len() - 1;
                combine::<F, T>(state.node_mut::<T>(top), node);
                next = next - next % LANES as u64 + LANES as u64;
            } else {
                state.add_node(level);
                let top = state.levels.len() - 1;
                state.node_mut::<T>(top).copy_from_slice(node);
                next += (LANES as u64) << level;
            }
            state.next = next.min(later.next);
            if state.next == next {
                carry::<F, T>(state);
            }
        }
    }

    fn finish(&self, state: &mut State, out: &mut [u8]) {
        if state.start != 0 {
            padded::<F, T>(self, state);
        }
        arch().dispatch(Finish::<F, T>(state, elements_mut::<T>(out), PhantomData));
    }

    fn each(&self, n: usize, from: &[u8], out: &mut [u8]) -> bool {
        let (from, out) = (elements::<T>(from), elements_mut::<T>(out));
        if let ([out], true) = (&mut *out, n <= LANES) {
            *out = F::result(few::<F, T>(from));
            return true;
        }
        if n <= each::LONG {
            arch().dispatch(each::Rows::<F, T>(n, from, out, PhantomData));
        }
        n <= each::LONG
    }

    fn few_rows(&self, rows: &[&[u8]], out: &mut [u8]) -> bool {
        arch().dispatch(each::FewRows::<F, T>(rows, elements_mut::<T>(out), PhantomData));
        true
    }
}

/// Copies rows of `size` bytes to contiguous memory, as many at a time as fit, and calls `push` with the copies.
pub(crate) fn packed<'r>(
    size: usize,
    n: usize,
    row: &dyn Fn(usize) -> &'r [u8],
    mut push: impl FnMut(&[u8]),
) {
    let mut words = [0_u64; 512];
    let bytes = broadloom_mem::bytes_of_mut(&mut words);
    let most = bytes.len() / size;
    for first in (0..n).step_by(most) {
        let count = most.min(n - first);
        for (i, place) in bytes.chunks_exact_mut(size).take(count).enumerate() {
            place.copy_from_slice(row(first + i));
        }
        push(&bytes[..count * size]);
    }
}

/// Reduces at most [`LANES`] elements to one result.
///
/// PERF: for so few elements, choosing the instruction set would take longer than the work.
fn few<F: Combine<T>, T: Vectors>(from: &[T]) -> T {
    let mut nodes = [F::identity(); LANES];
    let mut count = from.len().min(LANES);
    nodes[..count].copy_from_slice(&from[..count]);
    while count > 1 {
        for i in 0..count / 2 {
            nodes[i] = F::pair(nodes[2 * i], nodes[2 * i + 1]);
        }
        if count % 2 == 1 {
            nodes[count / 2] = nodes[count - 1];
        }
        count = count.div_ceil(2);
    }
    nodes[0]
}

/// Contiguous elements to be pushed into a state. For a single output, each group of 16 may be the node of a subtree; the third
/// field is the level of these nodes, or 0 for elements.
struct Push<'a, F, T>(&'a mut State, &'a [T], u8, PhantomData<F>);

impl<F: CombineVectors<T>, T: Vectors> WithSimd for Push<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::IS_SCALAR { self.run(Scalar128b) } else { self.run(simd) }
    }
}

impl<F: CombineVectors<T>, T: Vectors> Push<'_, F, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Push(state, from, base, _) = self;
        let width = state.width;
        if width == 1 {
            one::<S, F, T>(simd, state, from, base)
        } else {
            several::<S, F, T, _>(simd, state, Neighbours { elements: from, width });
        }
    }
}

/// Pushes elements of a single output (if `base` is 0), or rows of 16 elements that are nodes of level `base`. In the second case
/// the next element must be the first of an aligned subtree of that level.
#[inline(always)]
fn one<S: Simd, F: CombineVectors<T>, T: Vectors>(simd: S, state: &mut State, mut from: &[T], base: u8) {
    let row_of = (LANES as u64) << base;
    if !state.next.is_multiple_of(LANES as u64) {
        let taken = fill_row::<F, T>(state, from);
        from = &from[taken..];
    }
    if from.len() >= 256 * LANES {
        from = blocks::<S, F, T>(simd, state, from, row_of, base);
    }
    while from.len() >= LANES {
        let row = state.next / row_of;
        let level = row.trailing_zeros().min((from.len() / LANES).ilog2()).min(6);
        let (count, nodes) = place::<T>(state, level as u8 + base);
        fold_level::<S, F, T>(simd, level, from, nodes, count);
        from = &from[LANES << level..];
    }
    if !from.is_empty() {
        fill_row::<F, T>(state, from);
    }
}

/// Reduces whole blocks of 256 rows as long as the next row begins an aligned subtree of that size. If there
/// are many elements, memory is read as several streams. Returns the remaining elements.
#[inline(always)]
fn blocks<'a, S: Simd, F: CombineVectors<T>, T: Vectors>(
    simd: S,
    state: &mut State,
    mut from: &'a [T],
    row_of: u64,
    base: u8,
) -> &'a [T] {
    // PERF: data that is in a cache is read faster from beginning to end than as several streams.
    let is_in_streams = from.len() >= IN_STREAMS * LANES && size_of_val(from) > Caches::of_target().last;
    let mut units = Units::NEW;
    while from.len() >= 256 * LANES && state.next.is_multiple_of(256 * row_of) {
        let is_subtree =
            from.len() >= IN_STREAMS * LANES && state.next.is_multiple_of(IN_STREAMS as u64 * row_of);
        let rows = if is_in_streams && is_subtree { IN_STREAMS } else { 256 };
        let (count, nodes) = place::<T>(state, rows.ilog2() as u8 + base);
        match rows {
            IN_STREAMS => fold_streams::<S, F, T>(simd, from, nodes, count),
            _ => fold_256::<S, F, T>(simd, from, &mut units, nodes, count),
        }
        from = &from[rows * LANES..];
    }
    from
}

/// A source of the elements of several outputs, which are `[n][width]`.
trait OutputSource<'a, T>: Copy {
    /// The number of contiguous pieces that a row of 16 elements of each output consists of.
    const PIECES: usize;
    /// The number of elements of each output.
    fn len(self) -> usize;
    /// The contiguous elements that begin at index `i`.
    fn from(self, i: usize) -> &'a [T];
    /// Piece number `piece` of the row of 16 elements of each output that begins at index `i`.
    fn piece(self, i: usize, piece: usize) -> &'a [T];
}

/// A source whose elements are all contiguous.
#[derive(Clone, Copy)]
struct Neighbours<'a, T> {
    elements: &'a [T],
    width: usize,
}

impl<'a, T: Copy> OutputSource<'a, T> for Neighbours<'a, T> {
    const PIECES: usize = 1;

    #[inline(always)]
    fn len(self) -> usize {
        self.elements.len() / self.width
    }
    #[inline(always)]
    fn from(self, i: usize) -> &'a [T] {
        &self.elements[i * self.width..]
    }
    #[inline(always)]
    fn piece(self, i: usize, _: usize) -> &'a [T] {
        &self.elements[i * self.width..][..LANES * self.width]
    }
}

/// A source of separate slices: `row(i)` returns the element with index `i` of each output.
#[derive(Clone, Copy)]
struct Apart<'a, 'r> {
    n: usize,
    width: usize,
    row: &'a dyn Fn(usize) -> &'r [u8],
}

impl<'r, T: Vectors> OutputSource<'r, T> for Apart<'_, 'r> {
    const PIECES: usize = LANES;

    #[inline(always)]
    fn len(self) -> usize {
        self.n
    }
    #[inline(always)]
    fn from(self, i: usize) -> &'r [T] {
        let row = elements::<T>((self.row)(i));
        assert_eq!(row.len(), self.width, "the elements of a row");
        row
    }
    #[inline(always)]
    fn piece(self, i: usize, piece: usize) -> &'r [T] {
        self.from(i + piece)
    }
}

#[inline(always)]
fn several<'a, S: Simd, F: CombineVectors<T>, T: Vectors, Q: OutputSource<'a, T>>(
    simd: S,
    state: &mut State,
    rows: Q,
) {
    let m = state.node_len();
    let n = rows.len();
    let mut done = 0;
    while done < n {
        let full = (n - done) / LANES;
        if !state.next.is_multiple_of(LANES as u64) || full == 0 {
            done += fill_row::<F, T>(state, rows.from(done));
            continue;
        }
        let level = (state.next / LANES as u64).trailing_zeros().min(full.ilog2());
        // PERF: separate slices are not read as streams, because each of the many cache lines that are read
        // at once would be in another page.
        if level >= 6 && Q::PIECES == 1 {
            done += sixty_fours::<S, F, T, Q>(simd, state, rows, done);
            continue;
        }
        let level = level.min(3);
        let (count, nodes) = place::<T>(state, level as u8);
        for piece in 0..Q::PIECES {
            let (place, at) = ((m, count), piece * (m / Q::PIECES));
            match level {
                0 => fold::<1, false, S, F, T>(simd, pieces(rows, done, piece), nodes, place, at),
                1 => fold::<2, false, S, F, T>(simd, pieces(rows, done, piece), nodes, place, at),
                2 => fold::<4, false, S, F, T>(simd, pieces(rows, done, piece), nodes, place, at),
                _ => fold::<8, false, S, F, T>(simd, pieces(rows, done, piece), nodes, place, at),
            }
        }
        done += LANES << level;
    }
}

/// The contiguous piece number `piece` of each of `R` rows of 16 elements, beginning at index `first`.
#[inline(always)]
fn pieces<'a, const R: usize, T: Vectors, Q: OutputSource<'a, T>>(
    rows: Q,
    first: usize,
    piece: usize,
) -> [&'a [T]; R] {
    let mut pieces: [&[T]; R] = [&[]; R];
    for (i, place) in pieces.iter_mut().enumerate() {
        *place = rows.piece(first + i * LANES, piece);
    }
    pieces
}

/// The number of elements of each row in a part. 64 rows are reduced part by part: first to 8 rows, in the L1 cache, and then to
/// a node.
const PART: usize = 128;

/// Reduces 64 rows at a time, as long as that many are left. Returns the number of elements of each output that were reduced.
#[inline(always)]
fn sixty_fours<'a, S: Simd, F: CombineVectors<T>, T: Vectors, Q: OutputSource<'a, T>>(
    simd: S,
    state: &mut State,
    rows: Q,
    first: usize,
) -> usize {
    let m = state.node_len();
    let mut eights = [[T::NOTHING; PART]; 8];
    let mut done = first;
    while rows.len() - done >= 64 * LANES {
        let (count, nodes) = place::<T>(state, 6);
        for piece in 0..Q::PIECES {
            let len = m / Q::PIECES;
            for at in (0..len).step_by(PART) {
                let part = PART.min(len - at);
                for (i, computed) in eights.iter_mut().enumerate() {
                    let mut eight = pieces::<8, T, Q>(rows, done + 8 * i * LANES, piece);
                    for row in &mut eight {
                        *row = &row[at..][..part];
                    }
                    fold::<8, true, S, F, T>(simd, eight, computed, (PART, 0), 0);
                }
                let mut eight: [&[T]; 8] = [&[]; 8];
                for (row, computed) in eight.iter_mut().zip(&eights) {
                    *row = &computed[..part];
                }
                fold::<8, false, S, F, T>(simd, eight, nodes, (m, count), piece * len + at);
            }
        }
        done += 64 * LANES;
    }
    done - first
}

/// Separate slices of elements to be pushed into a state.
struct PushRows<'a, 'r, F, T>(&'a mut State, Apart<'a, 'r>, PhantomData<(F, T)>);

impl<F: CombineVectors<T>, T: Vectors> WithSimd for PushRows<'_, '_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::IS_SCALAR {
            several::<_, F, T, _>(Scalar128b, self.0, self.1);
        } else {
            several::<_, F, T, _>(simd, self.0, self.1);
        }
    }
}

/// The final reduction of a state's nodes to one result for each output.
struct Finish<'a, F, T>(&'a mut State, &'a mut [T], PhantomData<F>);

impl<F: CombineVectors<T>, T: Vectors> WithSimd for Finish<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::IS_SCALAR { self.run(Scalar128b) } else { self.run(simd) }
    }
}

impl<F: CombineVectors<T>, T: Vectors> Finish<'_, F, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Finish(state, out, _) = self;
        let (m, width, depth) = (state.node_len(), state.width, state.levels.len());
        let nodes = state.nodes_from::<T>(0, depth);
        if depth > 1 {
            let (below, last) = nodes.split_at_mut((depth - 1) * m);
            fold::<1, false, S, F, T>(simd, [last], below, (m, depth - 1), 0);
        }
        let node = &mut nodes[..m];
        fold_node::<S, F, T>(simd, node, width);
        let node = &node[..out.len()];
        for j in 0..out.len() {
            out[j] = F::result(node[j]);
        }
    }
}

/// Makes space for the node of the next 2^`level` rows, and removes the nodes with which it has to be merged. Returns the number
/// and the elements of the removed nodes; the caller writes the merged node over the first of them.
#[inline(always)]
fn place<T: Vectors>(state: &mut State, level: u8) -> (usize, &mut [T]) {
    let row = state.next / LANES as u64;
    let depth = state.levels.len();
    let (mut count, mut up) = (0, level);
    while count < depth && state.levels[depth - 1 - count] == up && row >> up & 1 == 1 {
        (count, up) = (count + 1, up + 1);
    }
    state.next += (LANES as u64) << level;
    state.levels.truncate(depth - count);
    state.add_node(up);
    (count, state.nodes_from::<T>(depth - count, count.max(1)))
}

/// Prepends identities for the elements before a range that does not begin with element 0.
fn padded<F: CombineVectors<T>, T: Vectors>(method: &Tree<F, T>, state: &mut State) {
    let later = state.clone();
    state.reset(0);
    state.next = later.start;
    let rows = later.start / LANES as u64;
    for level in (0..u64::BITS).rev().filter(|level| rows >> level & 1 == 1) {
        add::<F, T>(state, level as u8);
    }
    if !later.start.is_multiple_of(LANES as u64) {
        add::<F, T>(state, 0);
    }
    method.append(state, &later);
}

/// Adds a node of this level that is filled with the identity.
#[inline(always)]
fn add<F: Combine<T>, T: Vectors>(state: &mut State, level: u8) -> &mut [T] {
    state.add_node(level);
    let node = state.node_mut::<T>(state.levels.len() - 1);
    node.fill(F::identity());
    node
}

/// Merges the last node with the node before it, as long as that is its sibling in the tree.
#[inline(always)]
fn carry<F: Combine<T>, T: Vectors>(state: &mut State) {
    while let [.., before, level] = state.levels[..]
        && before == level
        && (state.next / LANES as u64 - 1) >> level & 1 == 1
    {
        let (below, top) = state.last_two::<T>();
        combine::<F, T>(below, top);
        state.drop_node();
        *state.levels.last_mut().expect("the sibling") += 1;
    }
}

/// Copies as many of the next elements as fit into the incomplete row, or into a new row. Returns the number of copied elements
/// per output.
#[inline(always)]
fn fill_row<F: Combine<T>, T: Vectors>(state: &mut State, from: &[T]) -> usize {
    let (width, lane) = (state.width, state.next as usize % LANES);
    let taken = (from.len() / width).min(LANES - lane);
    if lane == 0 || state.levels.is_empty() {
        add::<F, T>(state, if lane == 0 { 0 } else { OPEN });
    }
    let node = state.node_mut::<T>(state.levels.len() - 1);
    node[lane * width..][..taken * width].copy_from_slice(&from[..taken * width]);
    state.next += taken as u64;
    if state.next.is_multiple_of(LANES as u64) {
        carry::<F, T>(state);
    }
    taken
}
