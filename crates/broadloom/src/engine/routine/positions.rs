//! Routines about positions in row-major order: those of the true elements of a mask, and elements that are put at positions.

use broadloom_core::{DType, Error, ErrorKind};
use broadloom_mem::{typed, typed_mut};
use broadloom_sort::{Selection, Workers};

use crate::engine::lent::Ended;
use crate::engine::place::place;
use crate::engine::routine::call::{CallMemory, RoutineCall};

/// The number of elements that are put between two checks for cancellation.
const BETWEEN: usize = 1 << 16;

impl RoutineCall<'_> {
    /// The positions of the first true elements of a mask, and then −1.
    pub(super) fn nonzero(
        &self,
        memory: &mut CallMemory<'_>,
        workers: &dyn Workers,
    ) -> std::result::Result<(), Ended> {
        let Some(Some(out)) = memory.results.first_mut() else { return Ok(()) };
        let (mask, out) = (memory.tables[0].bytes(), typed_mut::<i64>(out).unwrap_or_default());
        let found = Selection::new(mask, 1, workers)?;
        if found.count() <= out.len() {
            let (places, rest) = out.split_at_mut(found.count());
            found.indices(places, workers)?;
            rest.fill(-1);
            return Ok(());
        }
        let mut left = out.iter_mut();
        for (block, elements) in mask.chunks(BETWEEN).enumerate() {
            if left.len() == 0 {
                break;
            }
            workers.go_on()?;
            let places = elements.iter().enumerate().filter(|(_, element)| **element != 0);
            // The places come first, so that their end takes no result.
            places.zip(left.by_ref()).for_each(|((at, _), to)| *to = (block * BETWEEN + at) as i64);
        }
        Ok(())
    }

    /// The first operand, with the elements of the third one at the positions that are the second one.
    pub(super) fn scatter(
        &self,
        memory: &mut CallMemory<'_>,
        workers: &dyn Workers,
    ) -> std::result::Result<(), Ended> {
        let Some(Some(out)) = memory.results.first_mut() else { return Ok(()) };
        let [x, positions, values] = [0, 1, 2].map(|operand| memory.tables[operand].bytes());
        let positions = typed::<i64>(positions).unwrap_or_default();
        self.check_positions(1, positions, self.elements(0), workers)?;
        for (out, x) in out.chunks_mut(BETWEEN).zip(x.chunks(BETWEEN)) {
            workers.go_on()?;
            out.copy_from_slice(x);
        }
        let size = self.dtype(0).size();
        for (positions, values) in positions.chunks(BETWEEN).zip(values.chunks(BETWEEN * size)) {
            workers.go_on()?;
            match size {
                1 => put::<1>(out, positions, values),
                2 => put::<2>(out, positions, values),
                4 => put::<4>(out, positions, values),
                _ => put::<8>(out, positions, values),
            }
        }
        if self.dtype(0) == DType::Bool {
            for out in out.chunks_mut(BETWEEN) {
                workers.go_on()?;
                out.iter_mut().for_each(|element| *element = u8::from(*element != 0));
            }
        }
        Ok(())
    }

    /// Fails if an element of an operand is not a position among `count` elements. The error names the first one.
    pub(super) fn check_positions(
        &self,
        operand: usize,
        positions: &[i64],
        count: usize,
        workers: &dyn Workers,
    ) -> std::result::Result<(), Ended> {
        let is_outside = |position: &i64| !(0..count as i64).contains(position);
        let mut found = None;
        for (block, positions) in positions.chunks(BETWEEN).enumerate() {
            workers.go_on()?;
            found = positions.iter().position(is_outside).map(|at| block * BETWEEN + at);
            if found.is_some() {
                break;
            }
        }
        let Some(at) = found else { return Ok(()) };
        let (position, at) = (positions[at], place(self.shape(operand), at));
        let why = format!("scatter: position {position} is out of range for {count} elements, at {at}");
        Err(Error::new(ErrorKind::Index, why).into())
    }
}

/// Puts elements of `SIZE` bytes at positions, which are in range.
fn put<const SIZE: usize>(out: &mut [u8], positions: &[i64], values: &[u8]) {
    let (out, _) = out.as_chunks_mut::<SIZE>();
    let (values, _) = values.as_chunks::<SIZE>();
    for (&position, value) in positions.iter().zip(values) {
        out[position as usize] = *value;
    }
}
