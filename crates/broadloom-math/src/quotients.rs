//! Integer quotients of vectors, for instances of [`Ops`] that compute several elements at a time: by the [reciprocal]
//! of a divisor that all elements share, otherwise [through floats](crate::through).

use crate::dtype::Int;
use crate::ops::Ops;
use crate::{reciprocal, through};

/// Computes [`Ops::quotient`] through floats, or by the reciprocal of a divisor that is the same for all elements.
#[inline(always)]
pub fn quotient<O: Ops, T: Int>(o: &mut O, a: O::V<T>, b: O::V<T>) -> O::V<T> {
    if o.is_invariant::<T>(&b) {
        let short = o.has_short_reciprocal::<T>(&b);
        reciprocal::quotient::<O, T>(o, a, b, short)
    } else if T::WIDTH == 64 {
        through::by_magnitudes::<O, T>(o, a, b, false, through::of_magnitudes)
    } else {
        through::short::<O, T>(o, a, b, false)
    }
}

/// [`Ops::floor_quotient`] through floats, or through the reciprocal of a divisor that is the same for all elements.
#[inline(always)]
pub fn floor_quotient<O: Ops, T: Int>(o: &mut O, a: O::V<T>, b: O::V<T>) -> O::V<T> {
    if o.is_invariant::<T>(&b) {
        let short = o.has_short_reciprocal::<T>(&b);
        reciprocal::floor_quotient::<O, T>(o, a, b, short)
    } else if T::WIDTH == 64 {
        through::by_magnitudes::<O, T>(o, a, b, T::SIGNED, through::of_magnitudes)
    } else {
        through::short::<O, T>(o, a, b, T::SIGNED)
    }
}
