//! Makes an array from an iterator: collects elements, or adds or multiplies arrays.

use std::iter::{Product, Sum};

use broadloom_core::{Literal, Op};

use crate::array::Array;
use crate::operators::binary;
use crate::storage::Element;

/// Collects elements into a 1-D array.
///
/// ```
/// use broadloom::prelude::*;
///
/// let squares: Array = (0..4_i32).map(|i| i * i).collect();
/// assert_eq!(squares.to_vec::<i32>()?, [0, 1, 4, 9]);
/// # Ok::<(), Error>(())
/// ```
impl<T: Element> FromIterator<T> for Array<'_> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Array::from_vec(elements.into_iter().collect())
    }
}

macro_rules! folds {
    ($($trait:ident $method:ident $op:ident $identity:literal $word:literal)*) => {$(
        #[doc = concat!("The arrays, ", $word, " in order by the operator; for no arrays, the number ", $identity, ".")]
        ///
        /// # Panics
        /// With the message of the operator's error.
        ///
        /// ```
        /// use broadloom::prelude::*;
        ///
        /// let bands = [Array::from([1.0_f32, 2.0]), Array::from([3.0_f32, 4.0])];
        /// let mean = bands.iter().sum::<Array>() / bands.len();
        /// assert_eq!(mean.to_vec::<f32>()?, [2.0, 3.0]);
        /// let scaled = bands.into_iter().product::<Array>();
        /// assert_eq!(scaled.to_vec::<f32>()?, [3.0, 8.0]);
        /// # Ok::<(), Error>(())
        /// ```
        impl<'a> $trait for Array<'a> {
            #[track_caller]
            fn $method<I: Iterator<Item = Array<'a>>>(mut arrays: I) -> Array<'a> {
                let mut all = arrays.next().unwrap_or_else(|| Array::scalar(Literal::Int($identity)));
                for array in arrays {
                    all = binary(Op::$op, all, array);
                }
                all
            }
        }

        #[doc = concat!("The arrays, ", $word, " in order by the operator; for no arrays, the number ", $identity, ".")]
        ///
        /// # Panics
        /// With the message of the operator's error.
        impl<'s, 'a: 's> $trait<&'s Array<'a>> for Array<'a> {
            #[track_caller]
            fn $method<I: Iterator<Item = &'s Array<'a>>>(arrays: I) -> Array<'a> {
                arrays.cloned().$method()
            }
        }
    )*};
}
folds! {
    Sum sum Add 0 "added"
    Product product Multiply 1 "multiplied"
}
