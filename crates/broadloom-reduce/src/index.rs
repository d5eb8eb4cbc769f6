//! The reductions argmin and argmax: the index of the first minimum or maximum.
//!
//! For each output, the state contains the index and the value of the best element so far. Elements are searched a page
//! at a time: first the page's minimum or maximum is computed in vectors, and only if it beats the best element so far,
//! its position is searched for. Pages without a better element, which are nearly all, therefore cost as much as a
//! maximum. A NaN beats every element that is not NaN. Of equal elements the first one is chosen; −0 equals +0.

use std::marker::PhantomData;

use broadloom_ir::Result;
use broadloom_mem::{PAGE, ask_ahead, bytes_of_mut};
use pulp::{NullaryFnOnce, Scalar128b, Simd, WithSimd};

use crate::combine::{Bounded, EIGHT, Max, Min};
use crate::method::{Method, arch};
use crate::state::{State, elements, elements_mut};

/// The method that finds the index of the first maximum (if `MAXIMUM`) or of the first minimum.
pub(crate) struct Index<T, const MAXIMUM: bool>(PhantomData<fn() -> T>);

impl<T, const MAXIMUM: bool> Index<T, MAXIMUM> {
    pub const NEW: Self = Index(PhantomData);
}

/// An element with its number in the reduction.
#[derive(Clone, Copy)]
struct Found<T> {
    number: u64,
    element: T,
}

/// Whether an element replaces the best of the elements before it.
#[inline(always)]
fn beats<T: PartialOrd + Copy, const MAXIMUM: bool>(x: T, best: T) -> bool {
    let exceeds = if MAXIMUM { x > best } else { x < best };
    #[expect(clippy::eq_op, reason = "NaN alone is not equal to itself")]
    let is_first_nan = (x != x) & (best == best);
    exceeds | is_first_nan
}

/// The index and the value of the best element so far, for each output. The state's node must exist already.
#[inline(always)]
fn node<T: Bounded>(state: &mut State) -> (&mut [u64], &mut [T]) {
    let width = state.width;
    let (numbers, words) = state.node_mut::<u64>(0).split_at_mut(width);
    (numbers, &mut elements_mut::<T>(bytes_of_mut(words))[..width])
}

impl<T: Bounded + PartialOrd, const MAXIMUM: bool> Index<T, MAXIMUM> {
    /// Searches the next elements of a single output.
    fn look(state: &mut State, from: &[T]) {
        let next = state.next;
        let best = if state.levels.is_empty() {
            None
        } else {
            let (numbers, elements) = node::<T>(state);
            Some(Found { number: numbers[0], element: elements[0] })
        };
        if let Some(Found { number, element }) = arch().dispatch(Look::<T, MAXIMUM> { from, next, best }) {
            if state.levels.is_empty() {
                state.add_node(0);
            }
            let (numbers, elements) = node::<T>(state);
            (numbers[0], elements[0]) = (number, element);
        }
        state.next += from.len() as u64;
    }

    /// Searches the next elements of several outputs, row by row.
    fn look_across(state: &mut State, mut rows: &[T]) {
        let (mut next, width) = (state.next, state.width);
        state.next += (rows.len() / width) as u64;
        if state.levels.is_empty() {
            state.add_node(0);
            let (first, others) = rows.split_at(width);
            let (numbers, elements) = node::<T>(state);
            numbers.fill(next);
            elements.copy_from_slice(first);
            (rows, next) = (others, next + 1);
        }
        let (numbers, elements) = node::<T>(state);
        arch().dispatch(Across::<T, MAXIMUM> { rows, next, numbers, elements });
    }
}

impl<T: Bounded + PartialOrd, const MAXIMUM: bool> Method for Index<T, MAXIMUM> {
    fn state(&self, width: usize, start: u64) -> Result<State> {
        State::new::<u64>(width, 2, start)
    }

    fn push(&self, state: &mut State, bytes: &[u8]) {
        let from = elements::<T>(bytes);
        match state.width {
            1 => Self::look(state, from),
            _ => Self::look_across(state, from),
        }
    }

    fn push_rows<'r>(&self, state: &mut State, n: usize, row: &dyn Fn(usize) -> &'r [u8]) {
        for i in 0..n {
            let row = elements::<T>(row(i));
            assert_eq!(row.len(), state.width, "the elements of a row");
            Self::look_across(state, row);
        }
    }

    fn push_nodes(&self, state: &mut State, level: u8, rows: &[u8]) {
        assert_eq!(level, 0, "elements, whose numbers are known");
        self.push(state, rows);
    }

    fn append(&self, state: &mut State, later: &State) {
        let width = state.width;
        let (later_numbers, words) = later.node::<u64>(0).split_at(width);
        let later_elements = &elements::<T>(broadloom_mem::bytes_of(words))[..width];
        let (numbers, elements) = node::<T>(state);
        for j in 0..width {
            if beats::<T, MAXIMUM>(later_elements[j], elements[j]) {
                (numbers[j], elements[j]) = (later_numbers[j], later_elements[j]);
            }
        }
        state.next = later.next;
    }

    fn finish(&self, state: &mut State, out: &mut [u8]) {
        match state.levels.is_empty() {
            true => elements_mut::<u64>(out).fill(0),
            false => elements_mut::<u64>(out).copy_from_slice(node::<T>(state).0),
        }
    }

    fn each(&self, n: usize, from: &[u8], out: &mut [u8]) -> bool {
        arch().dispatch(Each::<T, MAXIMUM> { n, from: elements::<T>(from), out: elements_mut::<u64>(out) });
        true
    }

    fn few_rows(&self, _: &[&[u8]], _: &mut [u8]) -> bool {
        false
    }
}

/// Searches contiguous elements for the best element, if one of them beats the best element before them.
struct Look<'a, T, const MAXIMUM: bool> {
    from: &'a [T],
    /// The number of the first element of `from`.
    next: u64,
    best: Option<Found<T>>,
}

impl<T: Bounded + PartialOrd, const MAXIMUM: bool> WithSimd for Look<'_, T, MAXIMUM> {
    type Output = Option<Found<T>>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<Found<T>> {
        if S::IS_SCALAR { self.run(Scalar128b) } else { self.run(simd) }
    }
}

impl<T: Bounded + PartialOrd, const MAXIMUM: bool> Look<'_, T, MAXIMUM> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Option<Found<T>> {
        match size_of::<T>() {
            1 => self.pages::<64, S>(simd),
            2 => self.pages::<32, S>(simd),
            4 => self.pages::<16, S>(simd),
            _ => self.pages::<8, S>(simd),
        }
    }

    /// Searches page by page. `N` is the number of elements in a cache line.
    #[inline(always)]
    #[expect(clippy::eq_op, reason = "NaN alone is not equal to itself")]
    fn pages<const N: usize, S: Simd>(self, simd: S) -> Option<Found<T>> {
        let Look { from, next, mut best } = self;
        if from.len() < 2 * N {
            for (number, &element) in (next..).zip(from) {
                if best.is_none_or(|best| beats::<T, MAXIMUM>(element, best.element)) {
                    best = Some(Found { number, element });
                }
            }
            return best;
        }
        let length = PAGE / size_of::<T>();
        for (i, page) in from.chunks(length).enumerate() {
            if best.is_some_and(|best| best.element != best.element) {
                break;
            }
            ask_ahead(from, i * length, length);
            let (extreme, has_nan) = extreme::<N, S, T, MAXIMUM>(simd, page);
            let wanted = |x: T| if has_nan { x != x } else { x == extreme };
            let is_better = best.is_none_or(|best| beats::<T, MAXIMUM>(extreme, best.element));
            if (has_nan || is_better)
                && let Some(place) = position::<N, T>(page, wanted)
            {
                best = Some(Found { number: next + (i * length + place) as u64, element: page[place] });
            }
        }
        best
    }
}

/// The minimum or maximum of a page, and whether the page contains a NaN (in which case the minimum or maximum is
/// meaningless).
#[inline(always)]
#[expect(clippy::eq_op, reason = "NaN alone is not equal to itself")]
fn extreme<const N: usize, S: Simd, T: Bounded + PartialOrd, const MAXIMUM: bool>(
    simd: S,
    page: &[T],
) -> (T, bool) {
    let better = |a: T, b: T| if MAXIMUM { a.if_greater(b) } else { a.if_less(b) };
    let mut line = [if MAXIMUM { T::LOWEST } else { T::HIGHEST }; N];
    let (lines, rest) = page.as_chunks::<N>();
    let (eights, few) = lines.as_chunks::<EIGHT>();
    let may_be_nan = match MAXIMUM {
        true => T::extreme_lines::<Max, S, N, true>(simd, &mut line, eights),
        false => T::extreme_lines::<Min, S, N, false>(simd, &mut line, eights),
    };
    let mut flags = [T::Flag::default(); N];
    for elements in few.iter().map(<[T; N]>::as_slice).chain([rest]) {
        for (j, &x) in elements.iter().enumerate() {
            flags[j] = T::or(flags[j], x.unordered());
            line[j] = better(x, line[j]);
        }
    }
    let may_be_nan = may_be_nan | (flags.into_iter().fold(T::Flag::default(), T::or) != T::Flag::default());
    // A page with infinities of both signs may be taken for one with a NaN, so the elements are tested again.
    let has_nan = may_be_nan && page.iter().fold(false, |any, x| any | (x != x));
    let extreme = line.into_iter().fold(line[0], |a, x| better(x, a));
    (extreme, has_nan || extreme != extreme)
}

/// The index in the page of the first element for which `wanted` is true.
#[inline(always)]
fn position<const N: usize, T: Copy>(page: &[T], wanted: impl Fn(T) -> bool) -> Option<usize> {
    let any = |line: &[T]| line.iter().fold(false, |any, &x| any | wanted(x));
    let line = page.chunks(N).position(any)?;
    page[line * N..].iter().position(|&x| wanted(x)).map(|place| line * N + place)
}

/// Searches each of several contiguous rows of `n` elements. Each row belongs to a different output.
struct Each<'a, T, const MAXIMUM: bool> {
    n: usize,
    from: &'a [T],
    out: &'a mut [u64],
}

impl<T: Bounded + PartialOrd, const MAXIMUM: bool> WithSimd for Each<'_, T, MAXIMUM> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (row, out) in self.from.chunks_exact(self.n).zip(self.out) {
            let found = Look::<T, MAXIMUM> { from: row, next: 0, best: None }.with_simd(simd);
            *out = found.map_or(0, |found| found.number);
        }
    }
}

/// Searches rows, each of which contains one element of each of several outputs.
struct Across<'a, T, const MAXIMUM: bool> {
    rows: &'a [T],
    /// The number of the elements in the first row.
    next: u64,
    numbers: &'a mut [u64],
    elements: &'a mut [T],
}

impl<T: Bounded + PartialOrd, const MAXIMUM: bool> NullaryFnOnce for Across<'_, T, MAXIMUM> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Across { rows, next, numbers, elements } = self;
        let n = elements.len();
        let numbers = &mut numbers[..n];
        for (number, row) in (next..).zip(rows.chunks_exact(n)) {
            for j in 0..n {
                let is_better = beats::<T, MAXIMUM>(row[j], elements[j]);
                numbers[j] = if is_better { number } else { numbers[j] };
                elements[j] = if is_better { row[j] } else { elements[j] };
            }
        }
    }
}
