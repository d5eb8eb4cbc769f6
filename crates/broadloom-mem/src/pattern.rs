//! A plan without its memory: planned once, bound to other memory many times.
//!
//! In: a nest, and the slices that its operands were views of. Out: the same nest over other slices. Must hold: every
//! operand reaches only into the slice that it is bound to; slices that are written share no byte with others, which
//! is what `&mut` says.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::nest::Nest;
use crate::plan::{Class, Frame, NestError, Op, Plan};

/// What [`Nest::new`] found out about layouts, to be bound to memory by [`Pattern::bind`].
///
/// ```
/// use broadloom_mem::{Nest, Pattern, View, ViewMut, bytes_of, bytes_of_mut};
///
/// let (a, mut out) = ([1.0_f32, 2.0], [0.0_f32; 2]);
/// let places = [bytes_of(&a).as_ptr_range(), bytes_of(&out).as_ptr_range()];
/// let view = View::new(bytes_of(&a), 4, 0, &[2], &[4])?;
/// let nest = Nest::new(&[2], &[view], [ViewMut::new(bytes_of_mut(&mut out), 4, 0, &[2], &[4])?])?;
/// let pattern = Pattern::of(&nest, places).expect("the operands lie in these places");
///
/// let (b, mut other) = ([3.0_f32, 4.0], [0.0_f32; 2]);
/// assert!(pattern.bind([bytes_of(&b)].into_iter(), [bytes_of_mut(&mut other)].into_iter()).is_ok());
/// assert!(pattern.bind([bytes_of(&b[1..])].into_iter(), [bytes_of_mut(&mut other)].into_iter()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pattern {
    frame: Frame,
    /// Inputs, then outputs.
    ops: SmallVec<[Slot; 4]>,
}

/// An operand, in bytes from the start of its slice.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The element at index 0 … 0 of the plan.
    first: usize,
    /// The first byte reached and the end.
    reach: (usize, usize),
    item: u8,
    class: Class,
}

impl Pattern {
    /// The pattern of a nest whose operands, inputs and then outputs, lie in these ranges of addresses.
    ///
    /// None if an operand does not, if there are not as many ranges, or if an input shares elements with an output.
    pub fn of<P>(
        nest: &Nest<'_>,
        places: impl IntoIterator<Item = std::ops::Range<*const P>>,
    ) -> Option<Pattern> {
        let plan = &nest.plan;
        let mut ops = SmallVec::new();
        let mut places = places.into_iter();
        for op in &plan.ops {
            let place = places.next()?;
            let (start, end) = (place.start.addr(), place.end.addr());
            let (from, to) = op.reach();
            if op.aliased || from < start || to > end {
                return None;
            }
            // Of nothing, the first element may be anywhere.
            let first = if from == to { 0 } else { op.ptr.addr().checked_sub(start)? };
            ops.push(Slot {
                first,
                reach: (from - start, to - start),
                item: op.item() as u8,
                class: op.class,
            });
        }
        if places.next().is_some() {
            return None;
        }
        Some(Pattern { frame: plan.frame(), ops })
    }

    /// The nest over other memory.
    ///
    /// # Errors
    /// [`NestError::InputShape`] or [`NestError::OutputShape`] for a slice that is too short or is not aligned to its
    /// elements, and where there are too few or too many.
    #[inline]
    pub fn bind<'a>(
        &self,
        mut inputs: impl Iterator<Item = &'a [u8]>,
        mut outputs: impl Iterator<Item = &'a mut [u8]>,
    ) -> Result<Nest<'a>, NestError> {
        let mut ops: SmallVec<[Op; 4]> = SmallVec::new();
        let (read, written) = self.ops.split_at(self.frame.inputs);
        let mut bound = 0;
        for (slot, slice) in read.iter().zip(inputs.by_ref()) {
            let memory = (slice.as_ptr().cast_mut(), slice.len());
            ops.push(slot.bind(memory).ok_or(NestError::InputShape { input: bound })?);
            bound += 1;
        }
        if bound != read.len() || inputs.next().is_some() {
            return Err(NestError::InputShape { input: bound });
        }
        for (slot, slice) in written.iter().zip(outputs.by_ref()) {
            let memory = (slice.as_mut_ptr(), slice.len());
            ops.push(slot.bind(memory).ok_or(NestError::OutputShape { output: bound - read.len() })?);
            bound += 1;
        }
        if bound != self.ops.len() || outputs.next().is_some() {
            return Err(NestError::OutputShape { output: bound - read.len() });
        }
        let plan = Plan::of(self.frame.clone(), ops);
        Ok(Nest { plan, memory: PhantomData })
    }
}

impl Slot {
    #[inline]
    fn bind(&self, (start, len): (*mut u8, usize)) -> Option<Op> {
        let (from, to) = self.reach;
        // In the slice, and so is the first element, unless there is none.
        let ptr = start.wrapping_add(self.first);
        let fits = to <= len && (from == to || ptr.addr().is_multiple_of(self.item.into()));
        fits.then(|| Op::bound(ptr, self.item, self.class, (start.addr() + from, start.addr() + to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AliasPolicy, Scratch, View, ViewMut, bytes_of, bytes_of_mut};
    use std::ops::ControlFlow;

    /// Copies through a nest.
    fn copy(nest: &mut Nest<'_>) {
        let _ = nest.run(AliasPolicy::Copy, &mut Scratch::new(), &mut |block| {
            for row in 0..block.rows() {
                let (inputs, mut outputs) = block.row(row);
                for col in 0..outputs.get::<u32>(0).len() {
                    outputs.get::<u32>(0)[col] = inputs.get::<u32>(0).get(col);
                }
            }
            ControlFlow::Continue(())
        });
    }

    /// Offsets, strides and the sign of steps are those of the first binding.
    #[test]
    fn other_memory_is_walked_in_the_same_way() {
        // (offset, rows × columns, strides) in elements of an array of 60.
        for (first, shape, strides) in [
            (0, [5, 12], [12, 1]),
            (3, [5, 7], [12, 1]),
            (59, [5, 12], [-12, -1]),
            (48, [5, 6], [-12, 2]),
            (7, [12, 4], [1, 12]),
            (2, [3, 4], [0, 0]),
        ] {
            let (a, b): (Vec<u32>, Vec<u32>) = (0..60u32).map(|i| (i, 1000 + i * i)).unzip();
            let n = shape[0] * shape[1];
            let (mut out, mut other) = (vec![0u32; n], vec![0u32; n]);
            let places = [bytes_of(&a).as_ptr_range(), bytes_of(&out).as_ptr_range()];
            let bytes = strides.map(|s: isize| s * 4);
            let view = View::new(bytes_of(&a), 4, first * 4, &shape, &bytes).expect("inside");
            let row = [shape[1] as isize * 4, 4];
            let out_view = ViewMut::new(bytes_of_mut(&mut out), 4, 0, &shape, &row).expect("inside");
            let mut nest = Nest::new(&shape, &[view], [out_view]).expect("a nest");
            let pattern = Pattern::of(&nest, places).expect("in place");
            copy(&mut nest);
            let again = pattern.bind([bytes_of(&b)].into_iter(), [bytes_of_mut(&mut other)].into_iter());
            copy(&mut again.expect("as long"));
            let at = |i: usize| {
                let (row, col) = ((i / shape[1]) as isize, (i % shape[1]) as isize);
                (first as isize + row * strides[0] + col * strides[1]) as usize
            };
            assert_eq!(out, (0..n).map(|i| a[at(i)]).collect::<Vec<_>>());
            assert_eq!(other, (0..n).map(|i| b[at(i)]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn memory_that_does_not_fit_is_refused() {
        let (a, mut out, mut other) = ([1u32; 8], [0u32; 4], [0u32; 4]);
        let places = [bytes_of(&a).as_ptr_range(), bytes_of(&out).as_ptr_range()];
        let view = View::new(bytes_of(&a), 4, 4, &[4], &[8]).expect("inside");
        let out = ViewMut::new(bytes_of_mut(&mut out), 4, 0, &[4], &[4]).expect("inside");
        let nest = Nest::new(&[4], &[view], [out]).expect("a nest");
        // The input's range without its last element; one range too few, and one too many.
        let less = places[0].start..places[0].end.wrapping_sub(4);
        assert!(Pattern::of(&nest, [less, places[1].clone()]).is_none());
        assert!(Pattern::of(&nest, [places[0].clone()]).is_none());
        let [p, q] = places.clone();
        assert!(Pattern::of(&nest, [p.clone(), q, p]).is_none());
        let pattern = Pattern::of(&nest, places).expect("in place");
        let mut refused = |inputs: &[&[u8]], wanted: NestError| {
            let outputs = [bytes_of_mut(&mut other)].into_iter();
            let error = pattern.bind(inputs.iter().copied(), outputs).map(drop).expect_err("does not fit");
            assert_eq!(error, wanted);
        };
        refused(&[bytes_of(&a[1..])], NestError::InputShape { input: 0 });
        refused(&[&bytes_of(&[0u32; 9])[2..]], NestError::InputShape { input: 0 });
        refused(&[], NestError::InputShape { input: 0 });
        refused(&[bytes_of(&a), bytes_of(&a)], NestError::InputShape { input: 1 });
        let outputs = [bytes_of_mut(&mut other[1..])].into_iter();
        let error = pattern.bind([bytes_of(&a)].into_iter(), outputs).map(drop).expect_err("too short");
        assert_eq!(error, NestError::OutputShape { output: 0 });
        let none = pattern.bind([bytes_of(&a)].into_iter(), std::iter::empty()).map(drop);
        assert_eq!(none, Err(NestError::OutputShape { output: 0 }));
    }

    /// An input that is the output as well has no pattern: slices never are.
    #[test]
    fn operands_in_place_have_no_pattern() {
        let mut a = [1u32; 8];
        let (place, base) = (bytes_of(&a).as_ptr_range(), a.as_mut_ptr().cast::<u8>());
        // SAFETY: in the bounds of `a`, which nobody else uses while the nest lives.
        let (input, out) =
            unsafe { (View::from_raw(base, 4, &[8], &[4]), ViewMut::from_raw(base, 4, &[8], &[4])) };
        let nest = Nest::new(&[8], &[input.expect("a view")], [out.expect("a view")]).expect("in place");
        assert!(Pattern::of(&nest, [place.clone(), place]).is_none());
    }
}
