//! Proves that two strided layouts do not overlap.
//!
//! The answer "disjoint" is always proven; layouts for which no proof is found may still be disjoint. Dimensions of extent 1 are
//! ignored.

use smallvec::SmallVec;

/// A list with one entry per dimension. Up to 6 entries need no heap memory.
pub(crate) type PerDim<T> = SmallVec<[T; 6]>;

/// Copies a slice with one entry per dimension.
#[inline]
pub(crate) fn dims<T: Copy>(from: &[T]) -> PerDim<T> {
    match *from {
        // PERF: copying a slice of unknown length is a function call; copying up to three numbers is not.
        [] => PerDim::new(),
        [a] => PerDim::from_slice(&[a]),
        [a, b] => PerDim::from_slice(&[a, b]),
        [a, b, c] => PerDim::from_slice(&[a, b, c]),
        _ => PerDim::from_slice(from),
    }
}

/// A strided layout in memory: the address of its first element, the element size in bytes, the extents, and the strides in
/// bytes.
#[derive(Clone, Copy)]
pub(crate) struct Place<'v> {
    pub(crate) address: usize,
    pub(crate) item: usize,
    pub(crate) shape: &'v [usize],
    pub(crate) strides: &'v [isize],
}

impl Place<'_> {
    /// Whether two layouts of the same shape have the same element at every index.
    pub(crate) fn same(self, other: Place<'_>) -> bool {
        let mut strides = self.strides.iter().zip(other.strides).zip(self.shape);
        self.address == other.address
            && self.item == other.item
            && strides.all(|((a, b), &extent)| a == b || extent == 1)
    }
}

/// Whether two nonempty layouts, whose address ranges overlap, provably have no byte in common.
///
/// The proof takes the addresses of all bytes modulo some number: if the remainders of each layout are in one interval, and the
/// two intervals do not overlap, the layouts are disjoint. This covers interleaved elements (even and odd ones, real and
/// imaginary parts) and blocks of columns of one matrix. A stride that is a multiple of the modulus does not widen the interval,
/// so each stride and their greatest common divisor are tried as the modulus.
pub(crate) fn disjoint(a: Place<'_>, b: Place<'_>) -> bool {
    let strides = |p: Place<'_>| -> PerDim<usize> {
        p.shape.iter().zip(p.strides).filter(|d| *d.0 > 1).map(|d| d.1.unsigned_abs()).collect()
    };
    let (of_a, of_b) = (strides(a), strides(b));
    let divisor = of_a.iter().chain(&of_b).fold(0, |x, &y| gcd(x, y));
    let candidates = of_a.iter().chain(&of_b).copied().chain([divisor]);
    candidates.filter(|&m| m > 0).any(|modulus| {
        let ((low_a, len_a), (low_b, len_b)) = (residue(a, modulus), residue(b, modulus));
        // Remainders form a circle. Going round it from the start of `a`'s interval, the interval of `b` must begin after `a`'s
        // end, and end before the start of `a` is reached again.
        let ahead = (low_b + modulus - low_a) % modulus;
        len_a <= ahead && ahead.checked_add(len_b).is_some_and(|end| end <= modulus)
    })
}

/// The interval (start, length) of remainders modulo `modulus` that contains the addresses of all bytes of the layout.
fn residue(p: Place<'_>, modulus: usize) -> (usize, usize) {
    let (mut low, mut len) = (p.address, p.item);
    for (&extent, &stride) in p.shape.iter().zip(p.strides) {
        if extent > 1 && stride.unsigned_abs() % modulus != 0 {
            // Neither computation can overflow, since both are distances between elements of the layout.
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

    /// The element sizes in bytes that are tested. Contiguous elements of one byte are a case of their own, since their stride of
    /// 1 is no usable modulus.
    const ITEMS: [usize; 3] = [1, 2, 4];

    /// Random small layouts of elements of `item` bytes (address, shape, strides), all near the address 1000.
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
