//! The order of elements, as a bijection between the bits of an element and an unsigned key.
//!
//! Everything that sorts compares keys as integers. Two elements have one key only if they have the same bits, so that a sorted
//! row has one result, whichever algorithm computes it.

use broadloom_math::{Elem, Kind};

/// The direction of a sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Minimum first.
    #[default]
    Ascending,
    /// Maximum first.
    Descending,
}

impl Direction {
    /// The bits that the keys of this direction differ in from ascending ones.
    pub(crate) fn flip<T: Elem>(self) -> u64 {
        match self {
            Direction::Ascending => 0,
            Direction::Descending => mask::<T>(),
        }
    }
}

/// The number of bits of a key.
pub(crate) const fn bits<T: Elem>() -> u32 {
    8 * T::DTYPE.size() as u32
}

/// The bits that a key may have.
const fn mask<T: Elem>() -> u64 {
    u64::MAX >> (64 - bits::<T>())
}

/// The sign bit of a signed integer or a float.
const fn sign<T: Elem>() -> u64 {
    1 << (bits::<T>() - 1)
}

/// The number of NaNs with a positive sign, which is also that of those with a negative sign.
const fn nans<T: Elem>() -> u64 {
    let fraction = match T::DTYPE.size() {
        2 => 10,
        4 => 23,
        _ => 52,
    };
    (1 << fraction) - 1
}

/// The bits of −inf. Those of negative NaNs are greater, as unsigned integers.
const fn negative_infinity<T: Elem>() -> u64 {
    mask::<T>() - nans::<T>()
}

/// The key of an element: a greater element has a greater key.
///
/// Bits of floats that are read as sign and magnitude have −NaN first. Keys are moved down by the number of negative NaNs, so
/// that the key of −inf is 0, and the keys above those of positive NaNs are just as many as there are negative NaNs, whose bits
/// are these keys.
#[inline(always)]
pub(crate) fn key<T: Elem>(element: T::Store) -> u64 {
    let bits = T::load(element).to_bits64();
    match T::DTYPE.kind() {
        Kind::Bool | Kind::Unsigned => bits,
        Kind::Signed => bits ^ sign::<T>(),
        Kind::Float => {
            let flip = if bits & sign::<T>() != 0 { mask::<T>() } else { sign::<T>() };
            let moved = (bits ^ flip).wrapping_sub(nans::<T>());
            if bits > negative_infinity::<T>() { bits } else { moved }
        }
    }
}

/// The element with this key.
#[inline(always)]
pub(crate) fn element<T: Elem>(key: u64) -> T::Store {
    let bits = match T::DTYPE.kind() {
        Kind::Bool | Kind::Unsigned => key,
        Kind::Signed => key ^ sign::<T>(),
        Kind::Float => {
            let moved = key.wrapping_add(nans::<T>());
            let flip = if moved & sign::<T>() != 0 { sign::<T>() } else { mask::<T>() };
            if key > negative_infinity::<T>() { key } else { moved ^ flip }
        }
    };
    T::from_bits64(bits).store()
}

/// The key of an element among values: −0 and +0 have the key of +0. NaNs keep their keys.
#[inline(always)]
pub(crate) fn key_of_value<T: Elem>(element: T::Store) -> u64 {
    let key = key::<T>(element);
    key + u64::from(T::DTYPE.is_float() && key == negative_zero::<T>())
}

/// Whether the key is that of a NaN.
#[inline(always)]
pub(crate) fn is_nan<T: Elem>(key: u64) -> bool {
    T::DTYPE.is_float() && key >= first_nan::<T>()
}

/// The key of −0. The key of +0 is the next one.
const fn negative_zero<T: Elem>() -> u64 {
    sign::<T>() - 1 - nans::<T>()
}

/// The key of the first NaN: all finite values of one sign, and the infinity, have as many keys as those of the other.
const fn first_nan<T: Elem>() -> u64 {
    2 * (sign::<T>() - nans::<T>())
}

/// The first and the last key of the elements that are equal to this one if values are compared by `<`, where −0 equals +0 and all
/// NaNs are one value.
#[inline(always)]
pub(crate) fn keys_of_equals<T: Elem>(element: T::Store) -> (u64, u64) {
    let key = key_of_value::<T>(element);
    if is_nan::<T>(key) {
        (first_nan::<T>(), mask::<T>())
    } else if T::DTYPE.is_float() && key == negative_zero::<T>() + 1 {
        (key - 1, key)
    } else {
        (key, key)
    }
}
