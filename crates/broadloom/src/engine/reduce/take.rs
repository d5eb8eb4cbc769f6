//! What the elements of a unit are combined to, as they come from its blocks.
//!
//! Elements come in runs of the unit's linear index. A run that continues another is added to its partial result; one that begins elsewhere,
//! as a row of a tile of packed inputs does, begins a partial result of its own, and these are joined in the order of their elements
//! as soon as one ends where the next begins. Results that a run has all elements of need no partial result.

use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Reduction;
use broadloom_reduce::{LANES, Partial};
use smallvec::SmallVec;

/// What was combined, for each output.
pub type Partials = SmallVec<[Partial; 2]>;
/// The memory of a range of results, for each output.
pub type Results<'m> = SmallVec<[&'m mut [u8]; 2]>;

/// A stage's reductions, with the dtypes of the elements that they combine.
pub type Reductions = SmallVec<[(Reduction, DType); 2]>;

/// Combines the elements of one unit.
pub struct Take<'t, 'm> {
    reductions: &'t Reductions,
    /// How many results are combined together, and how many elements each has.
    width: usize,
    count: usize,
    /// The number of the first element of each result.
    start: u64,
    /// Runs of which some elements are combined, in order: where each ends, and its place among the partial results.
    open: SmallVec<[(usize, usize); 4]>,
    /// The one that was continued last: the next one is often continued next.
    last: usize,
    /// The partial results of runs, and the places of those that are to be used again.
    partials: SmallVec<[Partials; 1]>,
    free: SmallVec<[usize; 4]>,
    /// Where results go that have all of their elements; none where they are given as partial results.
    results: Option<Results<'m>>,
}

impl<'t, 'm> Take<'t, 'm> {
    /// Takes results of a unit, `width` together, each of `count` elements, the first of which is number `start`; to this memory, if
    /// they are to have all of their elements.
    pub fn new(
        reductions: &'t Reductions,
        width: usize,
        count: usize,
        start: u64,
        results: Option<Results<'m>>,
    ) -> Take<'t, 'm> {
        Take {
            reductions,
            width,
            count,
            start,
            open: SmallVec::new(),
            last: 0,
            partials: SmallVec::new(),
            free: SmallVec::new(),
            results,
        }
    }

    /// How many results are combined together.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The elements of the results that are combined together.
    fn span(&self) -> usize {
        self.width * self.count
    }

    /// The number of an element of the linear index.
    pub fn number(&self, at: usize) -> u64 {
        self.start + (at % self.span() / self.width) as u64
    }

    /// How many elements there are from one of the linear index to the end of its results.
    pub fn left(&self, at: usize) -> usize {
        self.span() - at % self.span()
    }

    /// Takes elements that follow each other in the linear index, from `at` on; of each output these bytes, in memory that is
    /// aligned to them.
    pub fn run<'e>(&mut self, at: usize, elements: usize, bytes: impl Fn(usize) -> &'e [u8]) -> Result<()> {
        let (mut done, span) = (0, self.span());
        while done < elements {
            let from = at + done;
            let whole = (elements - done) / span;
            if whole > 0 && from.is_multiple_of(span) && self.takes_whole(from) {
                let each = |output: usize, out: &mut [u8], (reduction, dtype): (Reduction, DType)| {
                    let bytes = &bytes(output)[done * dtype.size()..][..whole * span * dtype.size()];
                    broadloom_reduce::reduce_each(reduction, dtype, span, bytes, out)
                };
                self.whole(from / span, whole, each)?;
                done += whole * span;
                continue;
            }
            let count = self.left(from).min(elements - done);
            let push = |output: usize, dtype: DType, partial: &mut Partial| {
                partial.push(&bytes(output)[done * dtype.size()..][..count * dtype.size()]);
            };
            self.push(from, count, push)?;
            done += count;
        }
        Ok(())
    }

    /// Takes rows of `width` elements that may lie apart, which follow each other in the linear index from `at` on: those of one
    /// group of results.
    pub fn rows<'e>(&mut self, at: usize, rows: usize, row: impl Fn(usize, usize) -> &'e [u8]) -> Result<()> {
        let span = self.span();
        if rows == self.count && rows <= LANES && at.is_multiple_of(span) && self.results.is_some() {
            let (width, count) = (self.width, self.count);
            let each = |output: usize, out: &mut [u8], (reduction, dtype): (Reduction, DType)| {
                broadloom_reduce::reduce_rows(reduction, dtype, count, width, |i| row(output, i), out)
            };
            return self.whole(at / span, 1, each);
        }
        self.push(at, rows * self.width, |output, _, partial| partial.push_rows(rows, |i| row(output, i)))
    }

    /// Takes nodes of this level that follow each other, of so many elements, all of one result: of each output a row for each.
    pub fn nodes<'e>(
        &mut self,
        at: usize,
        elements: usize,
        level: u8,
        bytes: impl Fn(usize) -> &'e [u8],
    ) -> Result<()> {
        let push = |output: usize, dtype: DType, partial: &mut Partial| {
            partial.push_nodes(level, &bytes(output)[..(elements >> level) * dtype.size()]);
        };
        self.push(at, elements, push)
    }

    /// What the elements of one group of results are combined to; an error where some are missing between others.
    pub fn into_partials(mut self) -> Result<Partials> {
        match self.open[..] {
            [(_, place)] => Ok(self.partials.swap_remove(place)),
            _ => Err(missing()),
        }
    }

    /// Whether results that begin here can be combined of all their elements at once.
    fn takes_whole(&self, at: usize) -> bool {
        self.width == 1 && self.results.is_some() && self.open.iter().all(|(next, _)| *next != at)
    }

    /// Has some results written, beginning with this group.
    fn whole(
        &mut self,
        group: usize,
        groups: usize,
        each: impl Fn(usize, &mut [u8], (Reduction, DType)) -> Result<()>,
    ) -> Result<()> {
        let results = self.results.as_mut().ok_or_else(missing)?;
        for (i, (out, &of)) in results.iter_mut().zip(self.reductions).enumerate() {
            let group_bytes = self.width * of.0.result(of.1).size();
            let out = out.get_mut(group * group_bytes..(group + groups) * group_bytes).ok_or_else(missing)?;
            each(i, out, of)?;
        }
        Ok(())
    }

    /// Adds elements of one group of results to what those before them are combined to.
    fn push(
        &mut self,
        at: usize,
        elements: usize,
        mut each: impl FnMut(usize, DType, &mut Partial),
    ) -> Result<()> {
        let continues = |place: &usize| self.open.get(*place).is_some_and(|(next, _)| *next == at);
        let known = [self.last + 1, self.last].into_iter().chain(0..self.open.len()).find(continues);
        let place = match known {
            // A run that begins a group continues nothing, even if the group before it ends there.
            Some(place) if !at.is_multiple_of(self.span()) => place,
            _ => {
                let place = self.open.iter().take_while(|(next, _)| *next <= at).count();
                let slot = self.begin(at)?;
                self.open.insert(place, (at, slot));
                place
            }
        };
        let (next, slot) = &mut self.open[place];
        *next += elements;
        let partials = self.partials[*slot].iter_mut().zip(self.reductions).enumerate();
        partials.for_each(|(i, (partial, (_, dtype)))| each(i, *dtype, partial));
        self.last = place;
        self.join(place)
    }

    /// Joins a run with the one that it ends at, and writes results that have all of their elements.
    fn join(&mut self, place: usize) -> Result<()> {
        let (span, width) = (self.span(), self.width);
        let len = |partials: &Partials| partials.first().map_or(0, Partial::len) as usize;
        let (mut end, slot) = self.open[place];
        while let Some(&(next, later)) = self.open.get(place + 1)
            && next - len(&self.partials[later]) * width == end
            && !end.is_multiple_of(span)
        {
            self.open.remove(place + 1);
            let mut later_partials = std::mem::take(&mut self.partials[later]);
            let both = self.partials[slot].iter_mut().zip(&mut later_partials);
            both.into_iter().try_for_each(|(partial, later)| partial.append_from(later))?;
            self.partials[later] = later_partials;
            self.free.push(later);
            end = next;
            self.open[place].0 = end;
        }
        let is_whole = end.is_multiple_of(span) && len(&self.partials[slot]) == self.count;
        if !is_whole || self.results.is_none() {
            return Ok(());
        }
        self.open.remove(place);
        let results = self.results.as_mut().ok_or_else(missing)?;
        let group = end / span - 1;
        let partials = self.partials[slot].iter_mut().zip(results).zip(self.reductions);
        for ((partial, out), (reduction, dtype)) in partials {
            let bytes = width * reduction.result(*dtype).size();
            partial.finish(out.get_mut(group * bytes..(group + 1) * bytes).ok_or_else(missing)?);
        }
        self.free.push(slot);
        Ok(())
    }

    /// The place of partial results of a run that begins here.
    fn begin(&mut self, at: usize) -> Result<usize> {
        let number = self.number(at);
        if let Some(slot) = self.free.pop() {
            self.partials[slot].iter_mut().for_each(|partial| partial.reset(number));
            return Ok(slot);
        }
        let new =
            |&(reduction, dtype): &(Reduction, DType)| Partial::new(reduction, dtype, self.width, number);
        let partials = self.reductions.iter().map(new).collect::<Result<_>>()?;
        self.partials.push(partials);
        Ok(self.partials.len() - 1)
    }
}

fn missing() -> Error {
    Error::new(ErrorKind::Internal, "elements of a reduction are missing")
}

/// Joins what follows, of each output.
pub fn append(partials: &mut Partials, later: Partials) -> Result<()> {
    partials.iter_mut().zip(later).try_for_each(|(partial, later)| partial.append(later))
}
