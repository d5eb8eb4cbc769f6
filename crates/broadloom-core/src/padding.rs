//! Elements that are moved back to the indices of a range from which they were taken, among zeros: the adjoint of the range.
//!
//! The zeros fill an axis as long as that of another array. Its extent may be open, so that a [`Padding`] is part of a node; it
//! becomes steps that only join and view arrays once the extents are known.

use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::indices::Indices;
use crate::layout::{Slice, View};
use crate::shape::Shape;
use crate::symbol::{Dim, Dims};

/// The name of the function that pads, in errors and in texts.
pub const PAD_LIKE: &str = "pad_like";

/// The range of an axis to which elements are moved back, with Python's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Padding {
    /// The number of axes after the axis, by which it is the same one of arrays of different ranks.
    pub behind: u8,
    /// The first index; the first of the axis if there is none.
    pub start: Option<isize>,
    /// The index to stop before; the end of the axis if there is none.
    pub stop: Option<isize>,
    /// The difference between successive indices.
    pub step: isize,
}

/// One of the steps by which elements are moved back to their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaddingStep {
    /// A view of what the step before made.
    View(View),
    /// Zeros are joined to it.
    Zeros {
        /// The axis along which they are joined.
        axis: usize,
        /// The shape of the zeros before the elements, if there are any.
        before: Option<Shape>,
        /// The shape of the zeros after the elements, if there are any.
        after: Option<Shape>,
    },
}

/// The steps by which elements are moved back to their indices.
pub type PaddingSteps = SmallVec<[PaddingStep; 2]>;

impl Padding {
    /// The indices of the range.
    pub fn indices(self) -> Indices {
        Indices::Range { start: self.start, stop: self.stop, step: self.step }
    }

    /// The number of the axis among this many axes.
    fn axis(self, rank: usize) -> Result<usize> {
        let missing = || {
            let why = format!("{PAD_LIKE}: {rank} axes have no axis {}", -1 - isize::from(self.behind));
            Error::new(ErrorKind::Shape, why)
        };
        rank.checked_sub(1 + usize::from(self.behind)).ok_or_else(missing)
    }

    /// The dims of the result for elements with the dims `of`, and an array with the dims `like`.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for an axis that is missing or part of `...`, for a step of 0, and for another number of elements than
    /// the range has indices.
    pub fn dims(self, of: &Dims, like: &Dims) -> Result<Dims> {
        let (axis, of_like) = (self.axis(of.len())?, self.axis(like.len())?);
        let extent = self.indices().extent(PAD_LIKE, of_like, like, &like[of_like])?;
        if extent != of[axis] {
            let (range, to, given) = (self.indices(), &like[of_like], &of[axis]);
            let why = format!(
                "{PAD_LIKE}: the range {range} of {to} has {extent} indices, but axis {axis} of {of} has {given} elements"
            );
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let mut dims: SmallVec<[Dim; 4]> = of.iter().cloned().collect();
        dims[axis] = like[of_like].clone();
        Dims::new(&dims)
    }

    /// The steps for elements of the shape `of`, and an array of the shape `like`.
    ///
    /// # Errors
    /// The errors of [`Padding::dims`]; [`ErrorKind::Limit`] for too many elements.
    pub fn steps(self, of: &Shape, like: &Shape) -> Result<PaddingSteps> {
        self.dims(&Dims::of(of), &Dims::of(like))?;
        let (axis, of_like) = (self.axis(of.rank())?, self.axis(like.rank())?);
        steps(self.indices().slice(PAD_LIKE, of_like, like)?, axis, of, like[of_like])
    }
}

/// The steps by which the elements of an array of the shape `of` are moved back to the indices of a slice, which were taken from an
/// axis with this extent.
///
/// # Errors
/// [`ErrorKind::Limit`] for too many elements or axes.
pub fn steps(slice: Slice, axis: usize, of: &Shape, extent: usize) -> Result<PaddingSteps> {
    let Slice { mut start, mut step, len } = slice;
    let mut steps = PaddingSteps::new();
    if len == extent && (len <= 1 || start == 0 && step == 1) {
        return Ok(steps);
    }
    let with = |len: usize| {
        let mut extents: SmallVec<[usize; 4]> = of[..].into();
        extents[axis] = len;
        extents
    };
    let along = |from: &[usize], start: usize, step: isize, len: usize| {
        let all = |(i, &extent): (usize, &usize)| match i == axis {
            true => Slice { start, step, len },
            false => Slice { start: 0, step: 1, len: extent },
        };
        PaddingStep::View(View::Slice(from.iter().enumerate().map(all).collect()))
    };
    if step < 0 && len > 1 {
        steps.push(along(of, len - 1, -1, len));
        (start, step) = (start - step.unsigned_abs() * (len - 1), -step);
    }
    let (mut filled, step) = (len, step.unsigned_abs());
    if step > 1 && len > 1 {
        // Each element begins a row of `step` elements; the last row may leave the axis.
        let (mut column, mut zeros) = (with(len), with(len));
        column.insert(axis + 1, 1);
        zeros.insert(axis + 1, step - 1);
        let rows = with(len * step);
        filled = (len - 1) * step + 1;
        steps.push(PaddingStep::View(View::Reshape(Shape::new(&column)?)));
        steps.push(PaddingStep::Zeros { axis: axis + 1, before: None, after: Some(Shape::new(&zeros)?) });
        steps.push(PaddingStep::View(View::Reshape(Shape::new(&rows)?)));
        steps.push(along(&rows, 0, 1, filled));
    }
    let before = if len > 0 { start } else { extent };
    let zeros = |len: usize| if len > 0 { Shape::new(&with(len)).map(Some) } else { Ok(None) };
    let (before, after) = (zeros(before)?, zeros(extent - before - filled)?);
    if before.is_some() || after.is_some() {
        steps.push(PaddingStep::Zeros { axis, before, after });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows the steps on rows of numbers, of which 0 is a zero.
    fn followed(steps: PaddingSteps, from: Vec<usize>) -> Vec<usize> {
        let (mut at, mut columns) = (from, 1);
        for step in steps {
            match step {
                PaddingStep::View(View::Slice(slices)) => {
                    let Slice { start, step, len } = slices[0];
                    at = (0..len as isize).map(|i| at[(start as isize + i * step) as usize]).collect();
                }
                PaddingStep::View(View::Reshape(shape)) => {
                    assert_eq!(shape.elements(), at.len());
                    columns = if shape.rank() == 2 { shape[1] } else { 1 };
                }
                PaddingStep::Zeros { axis: 1, before: None, after: Some(shape) } => {
                    assert_eq!((shape[0], columns), (at.len(), 1));
                    at = at.iter().flat_map(|&x| [x].into_iter().chain(vec![0; shape[1]])).collect();
                }
                PaddingStep::Zeros { axis: 0, before, after } => {
                    let zeros = |shape: Option<Shape>| vec![0; shape.map_or(0, |shape| shape[0])];
                    at = [zeros(before), at, zeros(after)].concat();
                }
                other => panic!("{other:?}"),
            }
        }
        at
    }

    /// Each element of every range returns to the index from which it was taken.
    #[test]
    fn elements_return_to_their_indices() -> Result<()> {
        let bounds: Vec<Option<isize>> = (-6..=6).map(Some).chain([None]).collect();
        for (n, &start) in (0..=5).flat_map(|n| bounds.iter().map(move |start| (n, start))) {
            for (&stop, step) in
                bounds.iter().flat_map(|stop| [-6, -3, -2, -1, 1, 2, 3, 6].map(|step| (stop, step)))
            {
                let padding = Padding { behind: 0, start, stop, step };
                let of = Shape::new(&[n])?;
                let slice = padding.indices().slice("slice", 0, &of)?;
                let indices: Vec<usize> = (0..slice.len as isize)
                    .map(|i| (slice.start as isize + i * slice.step) as usize)
                    .collect();
                let elements = indices.iter().map(|i| i + 1).collect();
                let steps = padding.steps(&Shape::new(&[slice.len])?, &of)?;
                let expected: Vec<usize> =
                    (0..n).map(|i| if indices.contains(&i) { i + 1 } else { 0 }).collect();
                assert_eq!(followed(steps, elements), expected, "{} of {n}", padding.indices());
                let wrong = padding.steps(&Shape::new(&[slice.len + 1])?, &of);
                assert!(wrong.is_err_and(|e| e.kind() == ErrorKind::Shape), "{} of {n}", padding.indices());
            }
        }
        Ok(())
    }

    #[test]
    fn dims_are_those_of_the_other_array() -> Result<()> {
        let dims = |text: &str| Dims::new(&text.split_whitespace().map(Dim::from).collect::<Vec<_>>());
        let (m, n) = (dims("... m n 3")?, dims("k n 1")?);
        let padding = |behind, start| Padding { behind, start: Some(start), stop: None, step: 1 };
        let cut = |text: &str, by: usize| -> Result<Dims> {
            let of = dims(text)?;
            let less = |dim: &Dim| if *dim == Dim::from("n") { dim.less(by) } else { Some(dim.clone()) };
            Dims::new(&of.iter().filter_map(less).collect::<Vec<_>>())
        };
        assert_eq!(padding(1, 2).dims(&cut("k n 1", 2)?, &n)?, n);
        assert_eq!(padding(1, 2).dims(&cut("k n 5", 2)?, &m)?, dims("k n 5")?);
        assert_eq!(padding(1, 2).dims(&cut("... n 1", 2)?, &n)?, dims("... n 1")?);
        let e = padding(1, 2).dims(&cut("k n 1", 1)?, &n).expect_err("another range");
        let why =
            "pad_like: the range 2: of n has n - 2 indices, but axis 1 of [k,n - 1,1] has n - 1 elements";
        assert_eq!(e.message(), why);
        assert!(padding(3, 2).dims(&n, &n).is_err() && padding(2, 2).dims(&dims("... n 3")?, &m).is_err());
        assert!(Padding { step: 0, ..padding(1, 2) }.dims(&n, &n).is_err());
        Ok(())
    }
}
