//! The memory behind arrays: borrowed from the caller, or owned and shared between handles.
//!
//! In: slices and vectors of element types. Out: a [`Storage`], dtype-erased, read by type or as bits. Must hold:
//! memory that someone else holds is never written. The seam to broadloom-mem: nothing else in this crate knows
//! how elements are kept.

use std::sync::Arc;

use broadloom_core::{DType, Layout, Scalar};
use broadloom_math::{CastTo, Elem, f16};

/// Elements of one type.
#[derive(Clone)]
pub enum Block<'a, T> {
    /// The caller's.
    Borrowed(&'a [T]),
    /// Shared between handles.
    Shared(Arc<Vec<T>>),
}

impl<T> Block<'_, T> {
    fn get(&self) -> &[T] {
        match self {
            Block::Borrowed(data) => data,
            Block::Shared(data) => data,
        }
    }
}

/// An element type of arrays: bool, the integers of 8 to 64 bits, [`f16`], f32 and f64.
pub trait Element: Elem {
    #[doc(hidden)]
    fn erase(block: Block<'_, Self>) -> Storage<'_>;
    #[doc(hidden)]
    fn block<'s, 'a>(storage: &'s Storage<'a>) -> Option<&'s Block<'a, Self>>;
    #[doc(hidden)]
    fn block_mut<'s, 'a>(storage: &'s mut Storage<'a>) -> Option<&'s mut Block<'a, Self>>;
    /// The value converted as astype converts it.
    #[doc(hidden)]
    fn of_f64(x: f64) -> Self;
    /// The value converted as astype converts it.
    #[doc(hidden)]
    fn of_i64(x: i64) -> Self;
}

macro_rules! define_storage {
    ($(($variant:ident, $rust:ty, $name:literal))*) => {
        /// Elements of a dtype known at run time.
        #[derive(Clone)]
        pub enum Storage<'a> {
            $(#[doc = concat!("`", $name, "`")] $variant(Block<'a, $rust>),)*
        }

        $(impl Element for $rust {
            fn erase(block: Block<'_, $rust>) -> Storage<'_> {
                Storage::$variant(block)
            }
            fn block<'s, 'a>(storage: &'s Storage<'a>) -> Option<&'s Block<'a, $rust>> {
                if let Storage::$variant(block) = storage { Some(block) } else { None }
            }
            fn block_mut<'s, 'a>(storage: &'s mut Storage<'a>) -> Option<&'s mut Block<'a, $rust>> {
                if let Storage::$variant(block) = storage { Some(block) } else { None }
            }
            fn of_f64(x: f64) -> $rust {
                <f64 as CastTo<$rust>>::cast(&mut broadloom_math::Scalar, x)
            }
            fn of_i64(x: i64) -> $rust {
                <i64 as CastTo<$rust>>::cast(&mut broadloom_math::Scalar, x)
            }
        })*

        impl<'a> Storage<'a> {
            /// The dtype.
            pub(crate) fn dtype(&self) -> DType {
                match self { $(Storage::$variant(_) => DType::$variant,)* }
            }

            /// Number of elements.
            pub(crate) fn len(&self) -> usize {
                match self { $(Storage::$variant(block) => block.get().len(),)* }
            }

            /// Where the first element lies: with dtype and length, which memory this is.
            pub(crate) fn address(&self) -> usize {
                match self { $(Storage::$variant(block) => block.get().as_ptr() as usize,)* }
            }

            /// One element.
            pub(crate) fn scalar(&self, i: usize) -> Scalar {
                match self { $(Storage::$variant(block) => Scalar::of(block.get()[i]),)* }
            }

            /// The same memory, if it is owned.
            pub(crate) fn owned(&self) -> Option<Storage<'static>> {
                match self {
                    $(Storage::$variant(Block::Shared(data)) => Some(<$rust>::erase(Block::Shared(data.clone()))),
                    Storage::$variant(Block::Borrowed(_)) => None,)*
                }
            }

            /// Whether nobody else holds the memory.
            pub(crate) fn is_unique(&mut self) -> bool {
                match self {
                    $(Storage::$variant(Block::Shared(data)) => Arc::get_mut(data).is_some(),
                    Storage::$variant(Block::Borrowed(_)) => false,)*
                }
            }

            /// Elements from their bits.
            pub(crate) fn from_bits(dtype: DType, bits: &[u64]) -> Storage<'static> {
                match dtype {
                    $(DType::$variant => {
                        Storage::from_vec(bits.iter().map(|&x| <$rust>::from_bits64(x)).collect())
                    })*
                }
            }

            /// Writes `from`'s elements, in order, where the layout says; false, and nothing is written, if the
            /// dtypes differ or somebody else holds the memory.
            pub(crate) fn scatter(&mut self, layout: &Layout, from: &Storage<'_>) -> bool {
                match (self, from) {
                    $((Storage::$variant(Block::Shared(data)), Storage::$variant(from)) => {
                        match Arc::get_mut(data) {
                            Some(data) => {
                                for (i, &x) in offsets(layout).zip(from.get()) {
                                    data[i] = x;
                                }
                                true
                            }
                            None => false,
                        }
                    })*
                    _ => false,
                }
            }
        }
    };
}
broadloom_math::for_each_dtype!(define_storage);

impl<'a> Storage<'a> {
    /// Owned elements, without a copy.
    pub(crate) fn from_vec<T: Element>(data: Vec<T>) -> Storage<'static> {
        T::erase(Block::Shared(Arc::new(data)))
    }

    /// The caller's elements.
    pub(crate) fn borrow<T: Element>(data: &'a [T]) -> Storage<'a> {
        T::erase(Block::Borrowed(data))
    }

    /// The elements, if `T` is their type.
    pub(crate) fn slice<T: Element>(&self) -> Option<&[T]> {
        T::block(self).map(Block::get)
    }

    /// The vector, if `T` is its type and nobody else holds it; none are left here.
    pub(crate) fn take<T: Element>(&mut self) -> Option<Vec<T>> {
        match T::block_mut(self)? {
            Block::Borrowed(_) => None,
            Block::Shared(data) => Arc::get_mut(data).map(std::mem::take),
        }
    }
}

/// Where the elements of a layout lie, in row-major order of their indices.
pub(crate) fn offsets(layout: &Layout) -> impl Iterator<Item = usize> {
    let mut index = vec![0usize; layout.shape.rank()];
    let mut at = layout.offset;
    (0..layout.shape.elements()).map(move |_| {
        let here = at as usize;
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            at += layout.strides[axis];
            if index[axis] < layout.shape[axis] {
                break;
            }
            at -= layout.strides[axis] * layout.shape[axis] as isize;
            index[axis] = 0;
        }
        here
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom_core::Shape;

    #[test]
    fn a_vector_comes_back_without_a_copy_if_nobody_else_holds_it() {
        let data = vec![1.0f32, 2.0];
        let address = data.as_ptr() as usize;
        let mut storage = Storage::from_vec(data);
        let held = storage.clone();
        assert_eq!(storage.take::<f32>(), None);
        drop(held);
        assert_eq!(storage.take::<f64>(), None);
        assert_eq!(storage.take::<f32>().map(|v| v.as_ptr() as usize), Some(address));
    }

    #[test]
    fn held_memory_is_not_written() {
        let mut storage = Storage::from_vec(vec![1i8, 2, 3]);
        let held = storage.clone();
        let layout = Layout { shape: Shape::new(&[3]).expect("small"), strides: [-1].into(), offset: 2 };
        let new = Storage::from_vec(vec![7i8, 8, 9]);
        assert!(!storage.scatter(&layout, &new));
        drop(held);
        assert!(!storage.scatter(&layout, &Storage::from_vec(vec![7u8, 8, 9])));
        assert!(storage.scatter(&layout, &new));
        assert_eq!(storage.slice::<i8>(), Some(&[9, 8, 7][..]));
    }
}
