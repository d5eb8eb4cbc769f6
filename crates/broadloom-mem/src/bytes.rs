//! Elements as bytes, and bytes as elements: reinterprets memory without copying.
//!
//! This is sound because an [`Elem`] has no padding, and every bit pattern is a valid `Store`, the form of an element in memory;
//! the sealed trait requires both.

use std::slice;

use broadloom_math::Elem;
use smallvec::SmallVec;

/// The bytes of a slice of elements.
pub fn bytes_of<T: Elem>(elements: &[T]) -> &[u8] {
    // SAFETY: the slice is valid for reads of its size for as long as the borrow lives, and no `Elem` has
    // padding.
    unsafe { slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of a slice of elements in their form in memory ([`Elem::Store`]).
pub fn bytes_of_stores<T: Elem>(stores: &[T::Store]) -> &[u8] {
    // SAFETY: as in `bytes_of`; a `Store` has no padding either.
    unsafe { slice::from_raw_parts(stores.as_ptr().cast(), size_of_val(stores)) }
}

/// The bytes of a slice of elements, for writing. It is not available for `bool`, since not every byte is a valid `bool`.
pub fn bytes_of_mut<T: Elem<Store = T>>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: the slice is borrowed exclusively for as long as the result lives, has no padding, and `T` is
    // its own `Store`, so any bytes written are valid elements.
    unsafe { slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}

/// Reinterprets bytes as elements. Returns `None` if the address is not aligned for the type, or the length is not a multiple
/// of its size. No bytes are no elements, wherever they are.
pub fn typed<T: Elem>(bytes: &[u8]) -> Option<&[T::Store]> {
    if bytes.is_empty() {
        return Some(&[]);
    }
    let fits =
        bytes.as_ptr().cast::<T::Store>().is_aligned() && bytes.len().is_multiple_of(size_of::<T::Store>());
    // SAFETY: `fits` tells that the address is aligned and the length is a whole number of elements; the bytes are initialised,
    // and any bytes are a valid `Store`.
    fits.then(|| unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T::Store>()) })
}

/// Reinterprets bytes as elements for writing. Returns `None` in the same cases as [`typed`].
pub fn typed_mut<T: Elem>(bytes: &mut [u8]) -> Option<&mut [T::Store]> {
    if bytes.is_empty() {
        return Some(&mut []);
    }
    let fits =
        bytes.as_ptr().cast::<T::Store>().is_aligned() && bytes.len().is_multiple_of(size_of::<T::Store>());
    // SAFETY: as in `typed`; the borrow is exclusive, and a `Store` has no padding, so the bytes stay
    // initialised.
    fits.then(|| unsafe {
        slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T::Store>())
    })
}

/// Calls a function with slices of bools, as bytes that it may write. Afterwards every byte but 0 is converted to true, even if
/// the function panics.
///
/// ```
/// let mut bools = [true, false, true];
/// broadloom_mem::with_bools_as_bytes([&mut bools[1..]], |mut bytes| bytes[0].copy_from_slice(&[7, 0]));
/// assert_eq!(bools, [true, true, false]);
/// ```
pub fn with_bools_as_bytes<'b, R>(
    bools: impl IntoIterator<Item = &'b mut [bool]>,
    write: impl for<'s> FnOnce(BoolBytes<'s>) -> R,
) -> R {
    /// A guard that, when dropped, turns the bytes into valid bools.
    struct Normalise(SmallVec<[*mut [u8]; 2]>);

    impl Drop for Normalise {
        fn drop(&mut self) {
            for &bytes in &self.0 {
                // SAFETY: this is the memory of a slice of bools that is borrowed exclusively for `'b`. The only other borrows
                // were given to `write` and have ended: they can't outlive its call, since it is generic over their lifetime.
                let bytes = unsafe { &mut *bytes };
                bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
            }
        }
    }

    let bytes =
        |bools: &mut [bool]| std::ptr::slice_from_raw_parts_mut(bools.as_mut_ptr().cast(), bools.len());
    let guard = Normalise(bools.into_iter().map(bytes).collect());
    // SAFETY: each slice is borrowed exclusively for `'b` and does not overlap the others; a bool is an initialised byte; and no
    // bool is read before the guard has made each byte 0 or 1.
    write(guard.0.iter().map(|&bytes| unsafe { &mut *bytes }).collect())
}

/// The slices of bools that [`with_bools_as_bytes`] was given, as bytes and in the same order.
pub type BoolBytes<'s> = SmallVec<[&'s mut [u8]; 2]>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let mut x = [1.0f32, -2.5];
        bytes_of_mut(&mut x)[7] &= 0x7f;
        assert_eq!(x, [1.0, 2.5]);
        assert_eq!(typed::<f32>(bytes_of(&x)), Some(&x[..]));
        assert_eq!(bytes_of(&[true, false]), [1, 0]);
        assert_eq!(typed::<bool>(&[7u8, 0]), Some(&[7u8, 0][..]));
    }

    #[test]
    fn bools_are_bools_after_a_panic() {
        let (mut left, mut right) = ([false; 3], [true; 2]);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            with_bools_as_bytes([&mut left[..], &mut right[..]], |mut bytes| {
                bytes[0].fill(0x82);
                bytes[1][1] = 0;
                panic!("half way");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!((left, right), ([true; 3], [true, false]));
    }

    #[test]
    fn misfits_are_refused() {
        let mut x = [0u64; 2];
        let bytes = bytes_of_mut(&mut x);
        assert!(typed::<u64>(&bytes[1..9]).is_none(), "address");
        assert!(typed::<u64>(&bytes[..9]).is_none(), "length");
        assert!(typed_mut::<u64>(&mut bytes[4..12]).is_none(), "address");
        assert_eq!(typed_mut::<u32>(&mut bytes[4..12]).map(|x| x.len()), Some(2));
    }
}
