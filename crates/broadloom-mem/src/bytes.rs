//! Elements seen as bytes, and bytes as elements: the same memory under another type, never copied.
//!
//! It is sound because an [`Elem`] has no padding, and its `Store` no invalid bit pattern; the trait is sealed and says so.

use std::slice;

use broadloom_math::Elem;

/// The bytes of a slice of elements.
pub fn bytes_of<T: Elem>(elements: &[T]) -> &[u8] {
    // SAFETY: the slice is valid for reads of its size for as long as the borrow lives, and no `Elem` has
    // padding.
    unsafe { slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of a slice of elements, for writing; `bool` is left out because not every byte is one.
pub fn bytes_of_mut<T: Elem<Store = T>>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: the slice is borrowed exclusively for as long as the result lives, has no padding, and `T` is
    // its own `Store`, so any bytes written are valid elements.
    unsafe { slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}

/// The elements in these bytes, or `None` where the address or the length does not fit the type.
pub fn typed<T: Elem>(bytes: &[u8]) -> Option<&[T::Store]> {
    let fits =
        bytes.as_ptr().cast::<T::Store>().is_aligned() && bytes.len().is_multiple_of(size_of::<T::Store>());
    // SAFETY: aligned and a whole number of elements (checked), initialised as bytes, and any bytes are a
    // `Store`.
    fits.then(|| unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T::Store>()) })
}

/// The elements in these bytes, for writing, or `None` where the address or the length does not fit the type.
pub fn typed_mut<T: Elem>(bytes: &mut [u8]) -> Option<&mut [T::Store]> {
    let fits =
        bytes.as_ptr().cast::<T::Store>().is_aligned() && bytes.len().is_multiple_of(size_of::<T::Store>());
    // SAFETY: as in `typed`; the borrow is exclusive, and a `Store` has no padding, so the bytes stay
    // initialised.
    fits.then(|| unsafe {
        slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size_of::<T::Store>())
    })
}

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
    fn misfits_are_refused() {
        let mut x = [0u64; 2];
        let bytes = bytes_of_mut(&mut x);
        assert!(typed::<u64>(&bytes[1..9]).is_none(), "address");
        assert!(typed::<u64>(&bytes[..9]).is_none(), "length");
        assert!(typed_mut::<u64>(&mut bytes[4..12]).is_none(), "address");
        assert_eq!(typed_mut::<u32>(&mut bytes[4..12]).map(|x| x.len()), Some(2));
    }
}
