//! Reduces the elements of a unit as its blocks provide them.
//!
//! Elements arrive as ranges of the unit's linear index. A range that begins where a previous range ends is added to the partial
//! result of the previous range. Any other range, such as a row of a tile of packed inputs, begins a partial result of its own.
//! Two partial results are merged, in the order of their elements, as soon as the first one ends where the second one begins.
//! Results whose elements are all in one range need no partial result.

use broadloom_core::fuse::Stage;
use broadloom_core::{DType, Error, ErrorKind, Result};
use broadloom_ir::Reduction;
use broadloom_reduce::{LANES, Partial};
use smallvec::SmallVec;

/// The partial result of each output that is reduced.
pub(crate) type Partials = SmallVec<[Partial; 2]>;
/// The memory of a range of results, for each of several outputs.
pub(crate) type Results<'m> = SmallVec<[&'m mut [u8]; 2]>;

/// A stage's reductions, with the dtypes of their elements.
pub(crate) type Reductions = SmallVec<[(Reduction, DType); 2]>;

/// The reductions of a stage, for each output that is reduced.
pub(crate) fn reductions_of(stage: &Stage) -> Reductions {
    let outputs = stage.reductions().zip(stage.kernel.output_dtypes());
    outputs.filter_map(|(reduction, dtype)| Some((reduction?, dtype))).collect()
}

/// The reduction of the elements of one unit.
pub(crate) struct Take<'t, 'm> {
    reductions: &'t Reductions,
    /// The number of results that are reduced together, and the number of elements of each result.
    width: usize,
    count: usize,
    /// The number of the first element of each result.
    start: u64,
    /// What is added to linear indices: those of the elements that were taken before, if the elements arrive in several parts.
    shift: usize,
    /// The ranges reduced so far, in order: the linear index of each range's end, and the index of its partial results in
    /// `partials`.
    open: SmallVec<[(usize, usize); 4]>,
    /// The index in `open` of the range that was continued last, which is often continued next.
    last: usize,
    /// The partial results of ranges, and the indices of those that can be used for a new range.
    partials: Vec<Partials>,
    free: SmallVec<[usize; 4]>,
    /// The memory to which results are written once they have all of their elements; `None` if partial results are returned
    /// instead.
    results: Option<Results<'m>>,
}

impl<'t, 'm> Take<'t, 'm> {
    /// Begins to reduce a unit, `width` results at a time. Each result has `count` elements, the first of which is number
    /// `start`. `results` is the memory of the results, if the unit has all of their elements.
    pub(crate) fn new(
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
            shift: 0,
            open: SmallVec::new(),
            last: 0,
            partials: Vec::new(),
            free: SmallVec::new(),
            results,
        }
    }

    /// Continues with a part of the elements, the first of which has this number. It has the linear index 0.
    pub(crate) fn continue_at(&mut self, number: usize) {
        self.shift = number * self.width;
    }

    /// The number of results that are reduced together.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The number of elements of a group: of all `width` results that are reduced together.
    fn span(&self) -> usize {
        self.width * self.count
    }

    /// The number of an element, from its linear index.
    pub(crate) fn number(&self, at: usize) -> u64 {
        self.number_of(at + self.shift)
    }

    fn number_of(&self, at: usize) -> u64 {
        self.start + (at % self.span() / self.width) as u64
    }

    /// The number of elements from a linear index to the end of its group of results.
    pub(crate) fn left(&self, at: usize) -> usize {
        self.left_of(at + self.shift)
    }

    fn left_of(&self, at: usize) -> usize {
        self.span() - at % self.span()
    }

    /// Takes elements with consecutive linear indices from `at` on. `bytes` returns the elements of an output, in memory aligned
    /// for them.
    pub(crate) fn run<'e>(
        &mut self,
        at: usize,
        elements: usize,
        bytes: impl Fn(usize) -> &'e [u8],
    ) -> Result<()> {
        let (mut done, span) = (0, self.span());
        while done < elements {
            let from = at + self.shift + done;
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
            let count = self.left_of(from).min(elements - done);
            let push = |output: usize, dtype: DType, partial: &mut Partial| {
                partial.push(&bytes(output)[done * dtype.size()..][..count * dtype.size()]);
            };
            self.push(from, count, push)?;
            done += count;
        }
        Ok(())
    }

    /// Takes rows of `width` elements of one group of results. The rows have consecutive linear indices from `at` on, but need
    /// not be contiguous in memory.
    pub(crate) fn rows<'e>(
        &mut self,
        at: usize,
        rows: usize,
        row: impl Fn(usize, usize) -> &'e [u8],
    ) -> Result<()> {
        let (at, span) = (at + self.shift, self.span());
        if rows == self.count && rows <= LANES && at.is_multiple_of(span) && self.results.is_some() {
            let (width, count) = (self.width, self.count);
            let each = |output: usize, out: &mut [u8], (reduction, dtype): (Reduction, DType)| {
                broadloom_reduce::reduce_rows(reduction, dtype, count, width, |i| row(output, i), out)
            };
            return self.whole(at / span, 1, each);
        }
        self.push(at, rows * self.width, |output, _, partial| partial.push_rows(rows, |i| row(output, i)))
    }

    /// Takes consecutive nodes of this level of the reduction tree, which represent this many elements of one result. `bytes`
    /// returns the nodes of each output, as a row of lanes for each node.
    pub(crate) fn nodes<'e>(
        &mut self,
        at: usize,
        elements: usize,
        level: u8,
        bytes: impl Fn(usize) -> &'e [u8],
    ) -> Result<()> {
        let push = |output: usize, dtype: DType, partial: &mut Partial| {
            partial.push_nodes(level, &bytes(output)[..(elements >> level) * dtype.size()]);
        };
        self.push(at + self.shift, elements, push)
    }

    /// The partial results of a single group of results. It is an error if elements between the ranges are missing.
    pub(crate) fn into_partials(mut self) -> Result<Partials> {
        match self.open[..] {
            [(_, place)] => Ok(self.partials.swap_remove(place)),
            _ => Err(missing()),
        }
    }

    /// Whether complete results that begin at this index can be written at once, without partial results.
    fn takes_whole(&self, at: usize) -> bool {
        self.width == 1 && self.results.is_some() && self.open.iter().all(|(next, _)| *next != at)
    }

    /// Writes the results of `groups` groups, the first of which is `group`.
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

    /// Adds elements of one group to the partial results of the range that ends where these elements begin, or else begins a new
    /// range.
    fn push(
        &mut self,
        at: usize,
        elements: usize,
        mut each: impl FnMut(usize, DType, &mut Partial),
    ) -> Result<()> {
        let continues = |place: &usize| self.open.get(*place).is_some_and(|(next, _)| *next == at);
        let known = [self.last + 1, self.last].into_iter().chain(0..self.open.len()).find(continues);
        let place = match known {
            // Elements at the beginning of a group continue no range, even if the range of the previous group ends there.
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

    /// Merges a range with the range that begins at its end, and writes the results if they have all of their elements.
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

    /// Makes partial results for a range that begins at this index.
    fn begin(&mut self, at: usize) -> Result<usize> {
        let number = self.number_of(at);
        if let Some(slot) = self.free.pop() {
            self.partials[slot].iter_mut().for_each(|partial| partial.reset(number));
            return Ok(slot);
        }
        // PERF: partial results are large, so that they are made where they stay.
        self.partials.push(Partials::new());
        let slot = self.partials.len() - 1;
        for &(reduction, dtype) in self.reductions {
            self.partials[slot].push(Partial::new(reduction, dtype, self.width, number)?);
        }
        Ok(slot)
    }
}

fn missing() -> Error {
    Error::new(ErrorKind::Internal, "elements of a reduction are missing")
}

/// Merges the partial results of later elements, for each output.
pub(crate) fn append(partials: &mut Partials, later: Partials) -> Result<()> {
    partials.iter_mut().zip(later).try_for_each(|(partial, later)| partial.append(later))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;

    /// The sums of two groups whose elements arrive as ranges in this order; each group has `width` results of four elements.
    fn sums(width: usize, order: &[usize]) -> Vec<i64> {
        let span = 4 * width;
        let ranges = [0..span / 2, span / 2..span, span..span + width, span + width..2 * span];
        let elements = Array::from_vec((0..2 * span as i64).collect());
        let bytes = elements.as_bytes().expect("elements in memory");
        let reductions: Reductions = [(Reduction::Sum, DType::Int64)].into_iter().collect();
        let mut out = vec![0; 2 * width * size_of::<i64>()];
        let mut take = Take::new(&reductions, width, 4, 0, Some([&mut out[..]].into_iter().collect()));
        for range in order.iter().map(|&i| ranges[i].clone()) {
            take.run(range.start, range.len(), |_| &bytes[range.start * 8..])
                .expect("elements of the groups");
        }
        drop(take);
        out.chunks_exact(8).map(|x| i64::from_ne_bytes(x.try_into().expect("8 bytes"))).collect()
    }

    #[test]
    fn ranges_of_two_groups_arrive_in_any_order() {
        for width in [1, 3] {
            let result = |group: usize, lane: usize| {
                (0..4).map(|i| (4 * width * group + width * i + lane) as i64).sum()
            };
            let expected: Vec<i64> = (0..2 * width).map(|i| result(i / width, i % width)).collect();
            for code in 0..256_usize {
                let order = [0, 2, 4, 6].map(|shift| code >> shift & 3);
                if (0..4).all(|i| order.contains(&i)) {
                    assert_eq!(sums(width, &order), expected, "{order:?}");
                }
            }
        }
    }
}
