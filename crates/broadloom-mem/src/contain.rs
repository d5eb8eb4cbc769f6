//! Decides whether every element of one strided layout is also an element of another.
//!
//! The answer "yes" is always proven. The answer "no" is proven if the strides of the containing layout are nested, that is, each
//! stride is larger than the span of all dimensions with smaller strides; otherwise it means that containment could not be
//! proven.

use broadloom_ir::loop_plan::reach;

use crate::overlap::{PerDim, Place};

/// A dimension with a positive stride and at least two elements.
#[derive(Clone, Copy)]
struct Axis {
    stride: usize,
    extent: usize,
}

/// A layout that is not empty, described by the address of its lowest element and by its dimensions with positive strides.
struct Upward {
    lowest: usize,
    axes: PerDim<Axis>,
}

fn upward(p: Place<'_>) -> Option<Upward> {
    let (low, high) = reach(p.shape, p.strides, p.item)?;
    let axes = p.shape.iter().zip(p.strides).filter(|d| *d.0 > 1 && *d.1 != 0);
    let axes = axes.map(|(&extent, &stride)| Axis { stride: stride.unsigned_abs(), extent }).collect();
    (low < high).then(|| Upward { lowest: p.address.wrapping_add_signed(low), axes })
}

/// Whether each element of `part` is an element of `whole`. Both layouts must fit in the address space.
pub(crate) fn contains(whole: Place<'_>, part: Place<'_>) -> bool {
    let Some(part) = upward(part).filter(|_| whole.item == part.item) else {
        return whole.item == part.item && part.shape.contains(&0);
    };
    let Some(mut whole) = upward(whole) else { return false };
    whole.axes.sort_unstable_by_key(|axis| axis.stride);
    // Merges two dimensions if together they step through memory at one constant distance.
    let mut axes: PerDim<Axis> = PerDim::new();
    for &axis in &whole.axes {
        match axes.last_mut() {
            Some(last) if last.stride * last.extent == axis.stride => last.extent *= axis.extent,
            _ => axes.push(axis),
        }
    }
    let Some(offset) = part.lowest.checked_sub(whole.lowest) else { return false };
    steps_fit(&axes, offset, &part.axes) || each_is_element(&axes, offset, &part.axes)
}

/// A sufficient test that the layout with the dimensions `axes` contains `part`: the offset of `part` and
/// each of its strides are sums of multiples of the strides of `axes`, and in no dimension of `axes` do the
/// steps to the last element of `part` exceed the extent. The result `false` does not disprove containment.
fn steps_fit(axes: &[Axis], offset: usize, part: &[Axis]) -> bool {
    let mut room: PerDim<usize> = axes.iter().map(|axis| axis.extent - 1).collect();
    let mut take = |mut distance: usize, times: usize| {
        for (axis, room) in axes.iter().zip(&mut room).rev() {
            let steps = distance / axis.stride;
            distance -= steps * axis.stride;
            match steps.checked_mul(times).and_then(|steps| room.checked_sub(steps)) {
                Some(left) => *room = left,
                None => return false,
            }
        }
        distance == 0
    };
    take(offset, 1) && part.iter().all(|axis| take(axis.stride, axis.extent - 1))
}

/// Decides containment by checking every element of `part`. This is needed if a dimension of `part` crosses
/// gaps of the containing layout. For example, if rows of 10 elements begin 12 elements apart, a dimension
/// with a stride of 4 elements can cross the gaps between rows.
#[cold]
fn each_is_element(axes: &[Axis], offset: usize, part: &[Axis]) -> bool {
    let is_element = |mut distance: usize| {
        let inside = axes.iter().rev().all(|axis| {
            let steps = distance / axis.stride;
            distance -= steps * axis.stride;
            steps < axis.extent
        });
        inside && distance == 0
    };
    let mut index: PerDim<usize> = part.iter().map(|_| 0).collect();
    let mut at = offset;
    loop {
        if !is_element(at) {
            return false;
        }
        let mut next = index.iter_mut().zip(part);
        // Advance `index` to the next element of `part`; return after the last one.
        let moved = next.any(|(i, axis)| {
            *i += 1;
            if *i < axis.extent {
                at += axis.stride;
                return true;
            }
            *i = 0;
            at -= axis.stride * (axis.extent - 1);
            false
        });
        if !moved {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use broadloom_ir::loop_plan::injective;

    use super::*;

    fn elements(p: Place<'_>) -> HashSet<usize> {
        let mut all = vec![p.address];
        for (&extent, &stride) in p.shape.iter().zip(p.strides) {
            all = (0..extent)
                .flat_map(|i| all.iter().map(move |a| a.wrapping_add_signed(stride * i as isize)))
                .collect();
        }
        all.into_iter().collect()
    }

    #[test]
    fn it_is_set_inclusion() {
        let mut state = 12345u64;
        let mut next = move |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let mut answers = [0, 0];
        for _ in 0..60_000 {
            let mut layout = |range: u64| {
                let rank = next(4) as usize;
                let shape: Vec<usize> = (0..rank).map(|_| next(5) as usize).collect();
                let strides: Vec<isize> =
                    (0..rank).map(|_| 2 * (next(range) as isize - range as isize / 2)).collect();
                (1000 + 2 * next(6) as usize, shape, strides)
            };
            let (whole, part) = (layout(60), layout(20));
            let [a, b] = [&whole, &part].map(|x| Place { address: x.0, item: 2, shape: &x.1, strides: &x.2 });
            let inside = elements(b).is_subset(&elements(a));
            let said = contains(a, b);
            assert!(inside || !said, "{whole:?} does not contain {part:?}");
            let without: Vec<(usize, isize)> = (whole.1.iter().copied().zip(whole.2.iter().copied()))
                .filter(|&(extent, stride)| extent == 0 || stride != 0)
                .collect();
            let (shape, strides): (Vec<usize>, Vec<isize>) = without.into_iter().unzip();
            if injective(&shape, &strides, 2) {
                assert_eq!(said, inside, "{whole:?} contains {part:?}");
                answers[usize::from(said)] += 1;
            }
        }
        assert!(answers.iter().all(|&n| n > 1000), "{answers:?}");
    }

    #[test]
    fn parts_by_slicing_joining_and_cutting_again() {
        // The containing layout has rows of 10 elements of 4 bytes, which begin 12 elements apart.
        let whole = Place { address: 400, item: 4, shape: &[5, 10], strides: &[48, 4] };
        for (address, shape, strides, inside) in [
            (400, &[5, 10][..], &[48, 4][..], true),
            (400 + 48 * 4 + 36, &[10, 5], &[-4, -48], true),
            (400, &[7, 5, 10], &[0, 48, 4], true),
            (400, &[15], &[16], true),
            (416, &[14], &[16], true),
            (416, &[15], &[16], false),
            (400, &[20], &[12], true),
            (400, &[21], &[12], false),
            (400, &[6], &[8], false),
            (404, &[5, 10], &[48, 4], false),
            (400, &[11], &[4], false),
            (396, &[1], &[4], false),
            (399, &[1], &[4], false),
            (0, &[3, 0], &[4, 4], true),
        ] {
            let part = Place { address, item: 4, shape, strides };
            assert_eq!(contains(whole, part), inside, "{address} {shape:?} {strides:?}");
        }
        assert!(!contains(whole, Place { item: 2, shape: &[1], strides: &[4], ..whole }));
    }
}
