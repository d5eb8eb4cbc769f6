//! Shapes and broadcasting.
//!
//! A [`Shape`] has at most [`MAX_RANK`] extents. The size of the array in bytes fits `isize`, so that later
//! computations with it do not overflow.

use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};

/// The maximum rank.
pub const MAX_RANK: usize = 64;

/// The extents of an array, outermost first; empty for a 0-d array.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

impl Shape {
    /// Checks the extents and creates the shape.
    ///
    /// # Errors
    /// A rank above [`MAX_RANK`], or more elements than `isize` can count ([`ErrorKind::Limit`]).
    pub fn new(extents: &[usize]) -> Result<Shape> {
        if extents.len() > MAX_RANK {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("rank {} is above the limit of {MAX_RANK}", extents.len()),
            ));
        }
        // The product omits extents of 0, so that strides fit even if there are no elements.
        let product = extents.iter().filter(|&&e| e != 0).try_fold(1usize, |n, &e| n.checked_mul(e));
        match product {
            // The largest element has 8 bytes.
            Some(n) if n <= isize::MAX as usize / 8 => Ok(Shape(extents.into())),
            _ => Err(Error::new(
                ErrorKind::Limit,
                format!("shape {} has more elements than memory can address", Extents(extents)),
            )),
        }
    }

    /// The shape of a 0-d array.
    pub fn scalar() -> Shape {
        Shape::default()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.0.iter().product()
    }

    /// The shape to which all of these shapes broadcast.
    ///
    /// Axes are aligned at the end; extents match if they are equal or one of them is 1.
    ///
    /// # Errors
    /// The first axis whose extents don't match (counted from the end; −1 is the last), with the extents.
    pub fn broadcast(shapes: &[&Shape]) -> std::result::Result<Shape, BroadcastError> {
        if let Some((first, rest)) = shapes.split_first()
            && rest.iter().all(|s| s == first)
        {
            return Ok((*first).clone());
        }
        let rank = shapes.iter().map(|s| s.rank()).max().unwrap_or(0);
        let mut out: SmallVec<[usize; 4]> = SmallVec::from_elem(1, rank);
        for from_end in 1..=rank {
            let slot = &mut out[rank - from_end];
            for shape in shapes.iter().filter(|s| s.rank() >= from_end) {
                let extent = shape[shape.rank() - from_end];
                if extent != 1 {
                    if *slot != 1 && *slot != extent {
                        return Err(BroadcastError::Axis {
                            axis: -(from_end as isize),
                            left: *slot,
                            right: extent,
                        });
                    }
                    *slot = extent;
                }
            }
        }
        Shape::new(&out).map_err(BroadcastError::Limit)
    }
}

/// The reason why shapes do not broadcast.
#[derive(Clone, Debug, PartialEq)]
pub enum BroadcastError {
    /// Two extents differ and neither is 1.
    Axis {
        /// The axis, −1 for the last.
        axis: isize,
        /// The extent of the earlier shapes.
        left: usize,
        /// The extent of the shape that differs.
        right: usize,
    },
    /// The result would be too large.
    Limit(Error),
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

/// Formats extents in brackets, for example `[3,4]`.
pub(crate) struct Extents<'a>(pub &'a [usize]);

impl fmt::Display for Extents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, extent) in self.0.iter().enumerate() {
            write!(f, "{}{extent}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Extents(&self.0))
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Extents(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(extents: &[usize]) -> Shape {
        Shape::new(extents).expect("small")
    }

    #[test]
    fn broadcasting_rows() {
        for (a, b, out) in [
            (&[3, 4][..], &[4][..], &[3, 4][..]),
            (&[3, 1], &[1, 4], &[3, 4]),
            (&[], &[2, 0], &[2, 0]),
            (&[1], &[0], &[0]),
            (&[2, 1, 5], &[7, 1], &[2, 7, 5]),
        ] {
            assert_eq!(Shape::broadcast(&[&shape(a), &shape(b)]), Ok(shape(out)));
            assert_eq!(Shape::broadcast(&[&shape(b), &shape(a)]), Ok(shape(out)));
        }
    }

    #[test]
    fn a_mismatch_names_the_axis_from_the_end() {
        let e = Shape::broadcast(&[&shape(&[3, 4]), &shape(&[5])]);
        assert_eq!(e, Err(BroadcastError::Axis { axis: -1, left: 4, right: 5 }));
        let e = Shape::broadcast(&[&shape(&[2, 0]), &shape(&[2, 2])]);
        assert_eq!(e, Err(BroadcastError::Axis { axis: -1, left: 0, right: 2 }));
    }

    #[test]
    fn overflow_is_an_error() {
        assert!(Shape::new(&[usize::MAX, 2]).is_err_and(|e| e.is_limit()));
        assert!(Shape::new(&[usize::MAX / 2, 0, 4]).is_err_and(|e| e.is_limit()));
        assert!(Shape::new(&[1; 65]).is_err_and(|e| e.is_limit()));
        let (a, b) = (shape(&[1 << 40, 1]), shape(&[1, 1 << 40]));
        assert!(matches!(Shape::broadcast(&[&a, &b]), Err(BroadcastError::Limit(_))));
    }
}
