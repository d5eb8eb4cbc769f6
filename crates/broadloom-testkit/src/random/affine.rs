//! The index mapping of views: an [`Affine`] has the view's shape and, for each of its elements, the position of the source
//! element in row-major order.
//!
//! It is written from the documentation of indexing in the Array API and Python, not from `broadloom-core`, so that the two can
//! be compared.

use super::program::{PySlice, View};
use super::shape;

/// A view of row-major elements. Its element (i, j, …) is the source's element `offset + i·steps[0] + j·steps[1] + …`.
pub struct Affine {
    pub shape: Vec<usize>,
    steps: Vec<isize>,
    offset: isize,
}

impl Affine {
    /// The view of all elements in order.
    pub fn whole(shape: &[usize]) -> Affine {
        let mut steps = vec![1isize; shape.len()];
        for axis in (1..shape.len()).rev() {
            steps[axis - 1] = steps[axis] * shape[axis].max(1) as isize;
        }
        Affine { shape: shape.to_vec(), steps, offset: 0 }
    }

    /// A view of an array of this shape.
    pub fn of(view: &View, shape: &[usize]) -> Result<Affine, String> {
        let mut out = Affine::whole(shape);
        match view {
            View::Slice(ranges) => {
                if ranges.len() > shape.len() {
                    return Err(format!("{view} of {shape:?}"));
                }
                for (axis, range) in ranges.iter().enumerate() {
                    out.take(axis, *range)?;
                }
            }
            View::PermuteDims(axes) => {
                let axes = axes.iter().map(|&a| axis_of(a, shape.len())).collect::<Result<Vec<_>, _>>()?;
                let mut sorted = axes.clone();
                sorted.sort_unstable();
                if sorted != (0..shape.len()).collect::<Vec<_>>() {
                    return Err(format!("{view} of {shape:?}"));
                }
                out.shape = axes.iter().map(|&a| shape[a]).collect();
                out.steps = axes.iter().map(|&a| Affine::whole(shape).steps[a]).collect();
            }
            View::BroadcastTo(to) => out.broadcast_to(to)?,
            View::Reshape(to) => {
                let ill = || Err(format!("{view} of {shape:?}"));
                let open = to.iter().filter(|&&e| e == -1).count();
                if open > 1 || to.iter().any(|&e| e < -1) {
                    return ill();
                }
                let with = |last: usize| -> Vec<usize> {
                    to.iter().map(|&e| usize::try_from(e).unwrap_or(last)).collect()
                };
                let elements = shape.iter().product::<usize>();
                let known = shape::elements(&with(1))?;
                let last = if open == 0 { 1 } else { elements.checked_div(known).unwrap_or(0) };
                if known * last != elements || open == 1 && known == 0 {
                    return ill();
                }
                let whole = with(last);
                shape::elements(&whole)?;
                return Ok(Affine::whole(&whole));
            }
            View::ExpandDims(axis) => {
                let axis = axis_of(*axis, shape.len() + 1)?;
                out.shape.insert(axis, 1);
                shape::elements(&out.shape)?;
                out.steps.insert(axis, 0);
            }
            View::Squeeze(axis) => {
                let axis = axis_of(*axis, shape.len())?;
                if shape[axis] != 1 {
                    return Err(format!("{view} of {shape:?}"));
                }
                out.shape.remove(axis);
                out.steps.remove(axis);
            }
            View::Flip(axis) => {
                let axis = axis_of(*axis, shape.len())?;
                out.take(axis, PySlice { start: None, stop: None, step: -1 })?;
            }
            View::SlidingWindow(length, axis) => {
                let axis = axis_of(*axis, shape.len())?;
                let positions =
                    (shape[axis] + 1).checked_sub(*length).ok_or_else(|| format!("{view} of {shape:?}"))?;
                out.shape[axis] = positions;
                out.shape.push(*length);
                out.steps.push(out.steps[axis]);
                shape::elements(&out.shape)?;
            }
            View::IndexAxis(axis, index) => {
                let axis = axis_of(*axis, shape.len())?;
                let index = axis_of(*index, shape[axis])?;
                out.offset += index as isize * out.steps[axis];
                out.shape.remove(axis);
                out.steps.remove(axis);
            }
        }
        Ok(out)
    }

    /// Slices an axis. By definition, this selects the indices listed by Python's `range(*slice.indices(n))`.
    fn take(&mut self, axis: usize, range: PySlice) -> Result<(), String> {
        let n = self.shape[axis] as i128;
        let step = range.step as i128;
        let (lowest, highest) = if step < 0 { (-1, n - 1) } else { (0, n) };
        let bound = |given: Option<isize>, default: i128| match given.map(|x| x as i128) {
            None => default,
            Some(x) if x < 0 => (x + n).max(lowest),
            Some(x) => x.min(highest),
        };
        let (first, last) = if step < 0 { (highest, lowest) } else { (lowest, highest) };
        let (start, stop) = (bound(range.start, first), bound(range.stop, last));
        if step == 0 {
            return Err("a step of 0".to_owned());
        }
        // `len(range(start, stop, step))`: the distance divided by the step, rounded up.
        let len = ((stop - start + step - step.signum()) / step).max(0) as usize;
        if len > 0 {
            self.offset += start as isize * self.steps[axis];
        }
        if len > 1 {
            self.steps[axis] *= range.step;
        }
        self.shape[axis] = len;
        Ok(())
    }

    fn broadcast_to(&mut self, to: &[usize]) -> Result<(), String> {
        let new = to.len().checked_sub(self.shape.len()).ok_or("broadcast_to fewer axes")?;
        let mut steps = vec![0; new];
        for (axis, (&have, &want)) in self.shape.iter().zip(&to[new..]).enumerate() {
            if have != want && have != 1 {
                return Err(format!("broadcast_to {to:?} of {:?}", self.shape));
            }
            steps.push(if have == want { self.steps[axis] } else { 0 });
        }
        shape::elements(to)?;
        (self.shape, self.steps) = (to.to_vec(), steps);
        Ok(())
    }

    /// The position of each element in the source, in row-major order.
    pub fn positions(&self) -> Vec<usize> {
        let elements = self.shape.iter().product();
        let mut positions = Vec::with_capacity(elements);
        let mut index = vec![0usize; self.shape.len()];
        let mut at = self.offset;
        for _ in 0..elements {
            positions.push(at as usize);
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                at += self.steps[axis];
                if index[axis] < self.shape[axis] {
                    break;
                }
                at -= self.steps[axis] * index[axis] as isize;
                index[axis] = 0;
            }
        }
        positions
    }
}

/// Resolves an axis or index that may count from the end, out of `n`.
pub fn axis_of(axis: isize, n: usize) -> Result<usize, String> {
    let n = n as isize;
    if (-n..n).contains(&axis) { Ok(axis.rem_euclid(n) as usize) } else { Err(format!("{axis} of {n}")) }
}
