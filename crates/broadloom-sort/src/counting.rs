//! Sorts rows of elements with few values, by counting each value.

use broadloom_math::Elem;

use crate::order::{Direction, bits, element, key};
use crate::workers::{Stopped, Workers};

/// Between this many elements, a thread asks whether it goes on.
const BETWEEN: usize = 1 << 20;

/// Whether counting the values of a row is faster than moving its elements.
pub(crate) fn pays<T: Elem>(row: usize) -> bool {
    match bits::<T>() {
        8 => row >= 64,
        16 => row >= 1 << 14,
        _ => false,
    }
}

/// Writes a row in order.
pub(crate) fn sort<T: Elem>(
    row: &[T::Store],
    direction: Direction,
    out: &mut [T::Store],
    workers: &dyn Workers,
) -> Result<(), Stopped> {
    let flip = direction.flip::<T>();
    // PERF: alternate elements have counts of their own, since runs of equal elements would wait for one count.
    let mut counts = vec![[0_usize; 2]; 1 << bits::<T>()];
    for part in row.chunks(BETWEEN) {
        workers.go_on()?;
        let (pairs, last) = part.as_chunks::<2>();
        for &[a, b] in pairs {
            counts[(key::<T>(a) ^ flip) as usize][0] += 1;
            counts[(key::<T>(b) ^ flip) as usize][1] += 1;
        }
        for &a in last {
            counts[(key::<T>(a) ^ flip) as usize][0] += 1;
        }
    }
    let mut rest = out;
    for (key, [even, odd]) in counts.into_iter().enumerate() {
        let equal;
        (equal, rest) = std::mem::take(&mut rest).split_at_mut(even + odd);
        equal.fill(element::<T>(key as u64 ^ flip));
    }
    Ok(())
}
