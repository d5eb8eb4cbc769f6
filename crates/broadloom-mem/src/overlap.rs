//! Which bytes a strided layout reaches, and when two layouts, or two indices of one, can't meet.
//!
//! In: shape, strides in bytes, item size. Out: reach, and proofs of disjointness.
//! Must hold: "true" is a proof; "false" may only mean that the test was not clever enough. Extents of 1
//! never count.

use smallvec::SmallVec;

/// One number per dimension; ranks up to 6 need no heap.
pub(crate) type Dims<T> = SmallVec<[T; 6]>;

/// The numbers of a slice.
#[inline]
pub(crate) fn dims<T: Copy>(from: &[T]) -> Dims<T> {
    match *from {
        // PERF: a copy of unknown length is a call.
        [] => Dims::new(),
        [a] => Dims::from_slice(&[a]),
        [a, b] => Dims::from_slice(&[a, b]),
        [a, b, c] => Dims::from_slice(&[a, b, c]),
        _ => Dims::from_slice(from),
    }
}

/// First byte and end of the bytes that are reached, relative to the element with index 0; (0, 0) where no
/// element exists, `None` where the distance does not fit in `isize`.
#[inline]
pub(crate) fn reach(shape: &[usize], strides: &[isize], item: usize) -> Option<(isize, isize)> {
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
    // The whole must be a distance too.
    high.checked_sub(low)?;
    Some((low, high))
}

/// Whether no two indices can reach a common byte: ordered by size, each stride steps over all that
/// the smaller ones span. The layout's reach must have been found to fit.
pub(crate) fn injective(shape: &[usize], strides: &[isize], item: usize) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut span = item;
    // PERF: the usual layouts, in order from the last dimension on, need no sorting.
    let in_order = shape.iter().zip(strides).rev().all(|(&extent, &stride)| {
        let ok = extent == 1 || stride.unsigned_abs() >= span;
        span = span.wrapping_add(stride.unsigned_abs().wrapping_mul(extent - 1));
        ok
    });
    if in_order {
        return true;
    }
    let mut sorted: Dims<(usize, usize)> =
        shape.iter().zip(strides).filter(|d| *d.0 > 1).map(|(&e, &s)| (s.unsigned_abs(), e)).collect();
    sorted.sort_unstable();
    let mut span = item;
    sorted.iter().all(|&(stride, extent)| {
        let ok = stride >= span;
        span += stride * (extent - 1);
        ok
    })
}

/// A layout at an address, as the tests below see it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'v> {
    pub(crate) address: usize,
    pub(crate) item: usize,
    pub(crate) shape: &'v [usize],
    pub(crate) strides: &'v [isize],
}

impl Place<'_> {
    /// Whether both have the same elements at the same indices of their common shape.
    pub(crate) fn same(self, other: Place<'_>) -> bool {
        let mut strides = self.strides.iter().zip(other.strides).zip(self.shape);
        self.address == other.address
            && self.item == other.item
            && strides.all(|((a, b), &extent)| a == b || extent == 1)
    }
}

/// Whether the two layouts, both with elements, have no byte in common although their reaches overlap.
///
/// A modulus proves it if the bytes that each layout reaches, taken modulo it, lie in two separate
/// intervals: interleaved elements (even and odd ones, real and imaginary parts) and blocks of columns of one
/// matrix are proved so. Strides of multiples of the modulus vanish, so each stride is worth a try, and their
/// greatest common divisor.
pub(crate) fn disjoint(a: Place<'_>, b: Place<'_>) -> bool {
    let strides = |p: Place<'_>| -> Dims<usize> {
        p.shape.iter().zip(p.strides).filter(|d| *d.0 > 1).map(|d| d.1.unsigned_abs()).collect()
    };
    let (of_a, of_b) = (strides(a), strides(b));
    let divisor = of_a.iter().chain(&of_b).fold(0, |x, &y| gcd(x, y));
    let candidates = of_a.iter().chain(&of_b).copied().chain([divisor]);
    candidates.filter(|&m| m > 0).any(|modulus| {
        let ((low_a, len_a), (low_b, len_b)) = (residue(a, modulus), residue(b, modulus));
        // From where a's interval starts, b's must start after its end and end before it comes round.
        let ahead = (low_b + modulus - low_a) % modulus;
        len_a <= ahead && ahead.checked_add(len_b).is_some_and(|end| end <= modulus)
    })
}

/// The interval (start, length) that holds every byte of the layout modulo `modulus`.
fn residue(p: Place<'_>, modulus: usize) -> (usize, usize) {
    let (mut low, mut len) = (p.address, p.item);
    for (&extent, &stride) in p.shape.iter().zip(p.strides) {
        if extent > 1 && stride.unsigned_abs() % modulus != 0 {
            // Neither can overflow: these are distances inside the layout's reach.
            let span = stride.unsigned_abs() * (extent - 1);
            len += span;
            if stride < 0 {
                low = low.wrapping_sub(span);
            }
        }
    }
    (low % modulus, len)
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn bytes(p: Place<'_>) -> Vec<usize> {
        let mut all = vec![p.address];
        for (&extent, &stride) in p.shape.iter().zip(p.strides) {
            all = (0..extent)
                .flat_map(|i| all.iter().map(move |a| a.wrapping_add_signed(stride * i as isize)))
                .collect();
        }
        all.iter().flat_map(|&a| a..a + p.item).collect()
    }

    /// Bytes of an element: of one byte, neighbours that touch are a byte apart.
    const ITEMS: [usize; 3] = [1, 2, 4];

    /// Small layouts of elements of so many bytes, all of them near address 1000.
    fn layouts(item: usize) -> impl Iterator<Item = (usize, Vec<usize>, Vec<isize>)> {
        let mut state = 12345u64;
        let mut next = move |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        (0..20_000).map(move |_| {
            let rank = next(4) as usize;
            let shape = (0..rank).map(|_| 1 + next(4) as usize).collect();
            let strides = (0..rank).map(|_| item as isize * (next(25) as isize - 12)).collect();
            (1000 + item * next(12) as usize, shape, strides)
        })
    }

    #[test]
    fn reach_is_tight() {
        for (item, (address, shape, strides)) in
            ITEMS.into_iter().flat_map(|i| layouts(i).map(move |x| (i, x)))
        {
            let (low, high) = reach(&shape, &strides, item).expect("small");
            let all = bytes(Place { address, item, shape: &shape, strides: &strides });
            let (least, most) = (*all.iter().min().expect("some"), *all.iter().max().expect("some"));
            assert_eq!(
                (address.wrapping_add_signed(low), address.wrapping_add_signed(high)),
                (least, most + 1)
            );
        }
    }

    #[test]
    fn injective_is_a_proof() {
        for item in ITEMS {
            let mut proved = 0;
            for (address, shape, strides) in layouts(item) {
                let all = bytes(Place { address, item, shape: &shape, strides: &strides });
                let distinct = all.iter().collect::<HashSet<_>>().len() == all.len();
                let claim = injective(&shape, &strides, item);
                assert!(distinct || !claim, "{shape:?} {strides:?}");
                proved += usize::from(claim);
            }
            assert!(proved > 1000, "{proved}");
        }
        assert!(injective(&[3, 5, 4], &[4, -48, 12], 4), "any order, any sign");
        assert!(!injective(&[2, 2], &[0, 4], 4));
        assert!(injective(&[1, 2], &[0, 4], 4));
    }

    #[test]
    fn disjoint_is_a_proof() {
        for item in ITEMS {
            let mut proved = 0;
            let all: Vec<_> = layouts(item).collect();
            for pair in all.chunks_exact(2) {
                let [a, b] =
                    [&pair[0], &pair[1]].map(|x| Place { address: x.0, item, shape: &x.1, strides: &x.2 });
                if disjoint(a, b) {
                    let (in_a, in_b) = (bytes(a), bytes(b));
                    assert!(!in_a.iter().any(|x| in_b.contains(x)), "{item}: {pair:?}");
                    proved += 1;
                }
            }
            assert!(proved > 200, "{proved}");
        }
    }

    #[test]
    fn the_usual_neighbours_are_proved_disjoint() {
        let even = Place { address: 0, item: 4, shape: &[10], strides: &[8] };
        assert!(disjoint(even, Place { address: 4, ..even }));
        assert!(!disjoint(even, Place { address: 8, ..even }));
        let left = Place { address: 0, item: 4, shape: &[10, 3], strides: &[32, 4] };
        let right = Place { address: 12, item: 4, shape: &[10, 5], strides: &[32, 4] };
        assert!(disjoint(left, right) && disjoint(right, left));
        assert!(!disjoint(left, Place { address: 8, ..right }));
        assert!(!disjoint(right, Place { address: 8, ..right }));
    }
}
