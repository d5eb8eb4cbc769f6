//! The range of bytes that contains the elements of a strided layout, and whether two of its indices can lead to the same byte.
//!
//! A layout is reported as injective only if a proof is found; a layout without a proof may still be injective. Dimensions of
//! extent 1 are ignored.

use smallvec::SmallVec;

/// The range of offsets of all elements' bytes, relative to the element whose indices are all 0: the lowest offset, and the
/// offset after the highest. The result is (0, 0) if there are no elements, and `None` if an offset or the length of the range
/// does not fit in `isize`.
#[inline]
pub fn reach(shape: &[usize], strides: &[isize], item: usize) -> Option<(isize, isize)> {
    if shape.contains(&0) {
        return Some((0, 0));
    }
    let (mut low, mut high) = (0isize, item as isize);
    for (&extent, &stride) in shape.iter().zip(strides) {
        let steps = isize::try_from(extent - 1).ok()?;
        let span = stride.checked_mul(steps)?;
        if span < 0 {
            low = low.checked_add(span)?;
        } else {
            high = high.checked_add(span)?;
        }
    }
    // The length of the range has to fit in `isize` as well.
    high.checked_sub(low)?;
    Some((low, high))
}

/// Whether no two indices can lead to a common byte. The proof is that, with the dimensions sorted by stride, each stride is at
/// least the span of all dimensions with smaller strides. The caller must have checked that [`reach`] of the layout fits.
#[inline]
pub fn injective(shape: &[usize], strides: &[isize], item: usize) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut span = item;
    // PERF: in the usual layouts the strides grow from the last dimension to the first, so they need no sorting.
    let in_order = shape.iter().zip(strides).rev().all(|(&extent, &stride)| {
        let ok = extent == 1 || stride.unsigned_abs() >= span;
        span = span.wrapping_add(stride.unsigned_abs().wrapping_mul(extent - 1));
        ok
    });
    if in_order {
        return true;
    }
    let mut sorted: SmallVec<[(usize, usize); 6]> =
        shape.iter().zip(strides).filter(|d| *d.0 > 1).map(|(&e, &s)| (s.unsigned_abs(), e)).collect();
    sorted.sort_unstable();
    let mut span = item;
    sorted.iter().all(|&(stride, extent)| {
        let ok = stride >= span;
        span += stride * (extent - 1);
        ok
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The address of the element whose indices are all 0, in the layouts of these tests.
    const BASE: usize = 1000;

    fn bytes(shape: &[usize], strides: &[isize], item: usize) -> Vec<usize> {
        let mut all = vec![BASE];
        for (&extent, &stride) in shape.iter().zip(strides) {
            all = (0..extent)
                .flat_map(|i| all.iter().map(move |a| a.wrapping_add_signed(stride * i as isize)))
                .collect();
        }
        all.iter().flat_map(|&a| a..a + item).collect()
    }

    /// Random small layouts of elements of 1, 2 and 4 bytes (element size, shape, strides).
    fn layouts() -> impl Iterator<Item = (usize, Vec<usize>, Vec<isize>)> {
        let mut state = 12345u64;
        let mut next = move |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        (0..60_000).map(move |i| {
            let (item, rank) = ([1, 2, 4][i % 3], next(4) as usize);
            let shape = (0..rank).map(|_| 1 + next(4) as usize).collect();
            let strides = (0..rank).map(|_| item as isize * (next(25) as isize - 12)).collect();
            (item, shape, strides)
        })
    }

    #[test]
    fn reach_is_tight() {
        for (item, shape, strides) in layouts() {
            let (low, high) = reach(&shape, &strides, item).expect("small");
            let all = bytes(&shape, &strides, item);
            let (least, most) = (*all.iter().min().expect("some"), *all.iter().max().expect("some"));
            assert_eq!((BASE.wrapping_add_signed(low), BASE.wrapping_add_signed(high)), (least, most + 1));
        }
    }

    #[test]
    fn injective_is_a_proof() {
        let mut proved = [0; 5];
        for (item, shape, strides) in layouts() {
            let all = bytes(&shape, &strides, item);
            let distinct = all.iter().collect::<HashSet<_>>().len() == all.len();
            let claim = injective(&shape, &strides, item);
            assert!(distinct || !claim, "{shape:?} {strides:?}");
            proved[item] += usize::from(claim);
        }
        assert!([1, 2, 4].iter().all(|&item| proved[item] > 1000), "{proved:?}");
        assert!(injective(&[3, 5, 4], &[4, -48, 12], 4), "any order, any sign");
        assert!(!injective(&[2, 2], &[0, 4], 4));
        assert!(injective(&[1, 2], &[0, 4], 4));
    }
}
