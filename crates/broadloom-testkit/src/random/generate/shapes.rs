//! Random shapes around vector widths, random layouts, and random views of an array. The views of a layout result in
//! exactly the requested shape.

use std::collections::BTreeMap;

use super::reductions;
use super::size::Size;
use crate::random::program::{Program, PySlice, Step, View};
use crate::random::shape;
use crate::rng::Rng;

/// The base shape of a program, to which the shapes of most arrays are related.
pub fn base(rng: &mut Rng, size: Size) -> Vec<usize> {
    if size == Size::Large {
        let shapes: [&[usize]; 6] =
            [&[40_000], &[200, 200], &[13, 3001], &[9000, 5], &[30, 40, 33], &[5, 2, 3, 1400]];
        return rng.pick(&shapes).expect("shapes").to_vec();
    }
    if size == Size::Long {
        let shapes: [&[usize]; 6] = [&[1], &[9], &[17], &[4, 4], &[3, 5], &[]];
        return rng.pick(&shapes).expect("shapes").to_vec();
    }
    let rank = [0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4][rng.below(12)];
    loop {
        let mut shape: Vec<usize> = (0..rank).map(|_| extent(rng, rank)).collect();
        // Some shapes are square, so that an array can be combined with its transpose.
        if rank == 2 && rng.chance(1, 3) {
            shape[1] = shape[0];
        }
        if shape.iter().product::<usize>() <= 600 {
            return shape;
        }
    }
}

/// A shape with an axis of several rows of lanes.
pub fn of_long_axis(rng: &mut Rng) -> Vec<usize> {
    let n = reductions::length(rng);
    match rng.below(5) {
        0 => vec![n, 1 + rng.below(3)],
        1 => vec![1 + rng.below(3), n],
        _ => vec![n],
    }
}

fn extent(rng: &mut Rng, rank: usize) -> usize {
    match rng.below(40) {
        0 => 0,
        1..=3 => 1,
        4..=8 if rank == 1 => 63 + rng.below(5),
        9..=10 if rank <= 2 => 257,
        11..=20 if rank > 2 => 1 + rng.below(5),
        21..=30 if rank > 1 => 1 + rng.below(10),
        _ => 1 + rng.below(40),
    }
}

/// Usually the shape itself, or else one that broadcasts to it.
pub fn related(rng: &mut Rng, shape: &[usize]) -> Vec<usize> {
    let mut shape = shape.to_vec();
    match rng.below(8) {
        0 | 1 => shape.iter_mut().for_each(|e| {
            if rng.chance(1, 2) {
                *e = 1;
            }
        }),
        2 => drop(shape.drain(..rng.below(shape.len() + 1))),
        _ => {}
    }
    shape
}

/// The program with other extents, where equal extents stay equal, and with zeros in its arrays. `None` if an
/// array would have more than `most` elements. The result may be ill-typed.
pub fn resized(rng: &mut Rng, program: &Program, most: usize) -> Option<Program> {
    let mut drawn: BTreeMap<usize, usize> = BTreeMap::new();
    // Keys keep their four words.
    let has_draws = program.steps.iter().any(|step| matches!(step, Step::Draw(..)));
    let mut to = |extent: usize| match extent {
        0 | 1 => extent,
        4 if has_draws => extent,
        _ => *drawn.entry(extent).or_insert_with(|| match rng.below(10) {
            0 => rng.below(2),
            1..=4 => 2 + rng.below(8),
            _ => 2 + rng.below(70),
        }),
    };
    let mut out = program.clone();
    for step in &mut out.steps {
        match step {
            Step::Input(x) => {
                x.shape.iter_mut().for_each(|e| *e = to(*e));
                let elements = shape::elements(&x.shape).ok().filter(|&elements| elements <= most)?;
                x.bits = vec![0; elements];
            }
            Step::View(_, View::BroadcastTo(shape)) => shape.iter_mut().for_each(|e| *e = to(*e)),
            Step::Draw(call, _) => call.shape.iter_mut().for_each(|e| *e = to(*e)),
            Step::View(_, View::Reshape(shape)) => {
                shape.iter_mut().filter(|e| **e >= 0).for_each(|e| *e = to(*e as usize) as isize);
            }
            _ => {}
        }
    }
    Some(out)
}

/// The shape of an array in memory, and views that turn it into an array of the requested shape.
pub fn layout(rng: &mut Rng, wanted: &[usize]) -> (Vec<usize>, Vec<View>) {
    let mut shape = wanted.to_vec();
    let mut views = Vec::new();
    for _ in 0..[0, 0, 1, 1, 1, 2, 3][rng.below(7)] {
        if shape.is_empty() {
            break;
        }
        let axis = rng.below(shape.len());
        let whole = vec![PySlice { start: None, stop: None, step: 1 }; axis];
        match rng.below(5) {
            // Every k-th element of a longer axis.
            0 => {
                let (step, from) = (1 + rng.below(4), rng.below(4));
                let stop = (from + shape[axis] * step) as isize;
                let range = PySlice { start: Some(from as isize), stop: Some(stop), step: step as isize };
                shape[axis] = from + shape[axis] * step + rng.below(3);
                views.push(View::Slice([whole, vec![range]].concat()));
            }
            1 => views.push(View::Flip(axis as isize)),
            // A reversed part of a longer axis.
            2 => {
                let step = 1 + rng.below(3);
                let last = shape[axis].saturating_sub(1) * step;
                let range = PySlice { start: Some(last as isize), stop: None, step: -(step as isize) };
                // A reversed slice starts at the last element, so there must be one.
                if shape[axis] > 0 {
                    shape[axis] = last + 1 + rng.below(3);
                    views.push(View::Slice([whole, vec![range]].concat()));
                }
            }
            3 => {
                let axes = rng.permutation(shape.len());
                let mut source = shape.clone();
                axes.iter().enumerate().for_each(|(to, &from)| source[from] = shape[to]);
                views.push(View::PermuteDims(axes.into_iter().map(|a| a as isize).collect()));
                shape = source;
            }
            _ => {
                views.push(View::BroadcastTo(shape.clone()));
                if rng.chance(1, 2) {
                    shape.drain(..axis);
                } else {
                    shape[axis] = 1;
                }
            }
        }
    }
    // The views were chosen from the requested shape backwards, so their order is reversed here.
    views.reverse();
    (shape, views)
}

/// A random view of an array of this shape.
pub fn view(rng: &mut Rng, shape: &[usize]) -> Option<View> {
    let rank = shape.len();
    let signed = |rng: &mut Rng, axis: usize, of: usize| {
        if rng.chance(1, 2) { axis as isize } else { axis as isize - of as isize }
    };
    let axis = rng.below(rank);
    Some(match rng.below(10) {
        0 | 1 => View::Slice((0..rng.below(rank + 1)).map(|axis| range(rng, shape[axis])).collect()),
        2 | 3 => View::PermuteDims(rng.permutation(rank).into_iter().map(|a| signed(rng, a, rank)).collect()),
        4 => {
            let mut to: Vec<usize> = shape.to_vec();
            to.iter_mut().filter(|e| **e == 1).for_each(|e| *e = 1 + rng.below(5));
            for _ in 0..rng.below(2) {
                to.insert(0, 1 + rng.below(3));
            }
            View::BroadcastTo(to)
        }
        5 | 6 => View::Reshape(reshape(rng, shape)),
        7 => {
            let position = rng.below(rank + 1);
            View::ExpandDims(signed(rng, position, rank + 1))
        }
        8 if rank > 0 => match shape.iter().position(|&e| e == 1) {
            Some(one) => View::Squeeze(signed(rng, one, rank)),
            None if shape[axis] > 0 => {
                let index = rng.below(shape[axis]);
                View::IndexAxis(signed(rng, axis, rank), signed(rng, index, shape[axis]))
            }
            None => return None,
        },
        9 if rank > 0 => View::Flip(signed(rng, axis, rank)),
        _ => return None,
    })
}

/// A random slice of an axis, which may extend beyond it.
fn range(rng: &mut Rng, extent: usize) -> PySlice {
    let n = extent as isize;
    let mut bound = || {
        if rng.chance(1, 2) { None } else { Some(rng.below(2 * extent + 5) as isize - n - 2) }
    };
    let (start, stop) = (bound(), bound());
    let step = [1, 1, 1, 2, 3, 7, -1, -1, -2, -5][rng.below(10)];
    PySlice { start, stop, step }
}

/// The extents grouped differently: all joined, some joined, or some split.
fn reshape(rng: &mut Rng, shape: &[usize]) -> Vec<isize> {
    let mut to: Vec<usize> = shape.to_vec();
    for _ in 0..1 + rng.below(3) {
        if to.is_empty() {
            to.push(1);
        }
        let axis = rng.below(to.len());
        match rng.below(4) {
            0 => to = vec![to.iter().product()],
            1 if axis + 1 < to.len() => {
                let joined = to[axis] * to.remove(axis + 1);
                to[axis] = joined;
            }
            2 => {
                let divisors: Vec<usize> =
                    (2..=to[axis] / 2).filter(|d| to[axis].is_multiple_of(*d)).collect();
                if let Some(&divisor) = rng.pick(&divisors) {
                    to[axis] /= divisor;
                    to.insert(axis, divisor);
                }
            }
            _ => to.insert(axis, 1),
        }
    }
    let mut to: Vec<isize> = to.into_iter().map(|e| e as isize).collect();
    let open = rng.below(to.len());
    if rng.chance(1, 4) && !to.is_empty() && to.iter().enumerate().all(|(i, &e)| i == open || e != 0) {
        to[open] = -1;
    }
    to
}
