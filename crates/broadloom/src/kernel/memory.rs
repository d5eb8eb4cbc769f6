//! The memory on which a kernel runs.
//!
//! [`In`] and [`Out`] are slices, with or without shapes and strides, evaluated arrays, or memory at pointers. This module checks
//! only the element types; a run checks the rest before its first store.

use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Shape};
use broadloom_math::Elem;
use broadloom_mem::{Region, RegionMut, ViewMut, bytes_of, bytes_of_mut};

use crate::array::Array;
use crate::engine::view_mut;
use crate::storage::Element;

/// An input of a run.
///
/// A slice converts to an input with its elements in row-major order. Its shape follows from the kernel's dims if at most one
/// dimension is dynamic. [`In::shaped`] specifies the shape, and [`In::view`] the strides as well.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{In, Kernel, Options, Out};
///
/// let x = Array::input("x", DType::Int32, &["n".into(), "m".into()])?;
/// let kernel = Kernel::new(&[&(&x * 10)], &[&x], &Options::default())?;
///
/// let (data, mut out) = ([1, 2, 3, 4, 5, 6], [0; 6]);
/// kernel.run(&[In::shaped(&data, &[2, 3])], [(&mut out).into()])?;
/// assert_eq!(out, [10, 20, 30, 40, 50, 60]);
///
/// // The transpose of the same memory.
/// kernel.run(&[In::view(&data, 0, &[3, 2], &[1, 3])], [(&mut out).into()])?;
/// assert_eq!(out, [10, 40, 20, 50, 30, 60]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct In<'a> {
    pub(super) dtype: DType,
    pub(super) region: Region<'a>,
    pub(super) form: Option<Form<'a>>,
}

/// A shape with strides in elements; without strides, the order is row-major.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form<'a> {
    /// The offset of the element at index (0, …, 0), in elements.
    pub offset: usize,
    pub shape: &'a [usize],
    pub strides: Option<&'a [isize]>,
}

impl Form<'_> {
    /// Converts the form to a layout. Strides that have no effect (along axes of extent 1, or of an array without elements) are
    /// replaced by row-major strides, so that equivalent forms have equal layouts.
    ///
    /// Errors: `Shape` if the number of strides is not the rank; `Limit` for a shape larger than the address space.
    pub(crate) fn layout(&self) -> Result<Layout> {
        let shape = Shape::new(self.shape)?;
        if let Some(strides) = self.strides
            && strides.len() != shape.rank()
        {
            let why = format!("has {} strides for the shape {shape}", strides.len());
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let offset = isize::try_from(self.offset).map_err(|_| outside())?;
        let mut layout = Layout::contiguous(shape);
        if layout.shape.elements() > 0 {
            layout.offset = offset;
            let given = self.strides.unwrap_or(&[]).iter().zip(&layout.shape[..]);
            for (stride, (&given, _)) in
                layout.strides.iter_mut().zip(given).filter(|(_, (_, extent))| **extent > 1)
            {
                *stride = given;
            }
        }
        Ok(layout)
    }

    /// Whether [`Form::layout`] would return this layout, which it returned for this form or another one.
    pub(crate) fn is(&self, layout: &Layout) -> bool {
        let Layout { shape, strides, offset } = layout;
        if *self.shape != shape[..] {
            return false;
        }
        // PERF: equal strides are recognised without making a layout to compare.
        self.strides.is_some_and(|own| *own == strides[..]) && isize::try_from(self.offset) == Ok(*offset)
            || self.layout().is_ok_and(|own| own == *layout)
    }
}

/// The layout of a shape with these strides and this offset, both in elements.
///
/// Errors: those of [`Form::layout`]; `Memory` for an offset that exceeds `isize::MAX`.
pub(crate) fn layout_of(shape: &[usize], strides: &[isize], offset: usize) -> Result<Layout> {
    Form { offset, shape, strides: Some(strides) }.layout()
}

/// The error for a layout that reaches outside of its memory.
pub(super) fn outside() -> Error {
    Error::new(ErrorKind::Memory, "reaches outside of its memory")
}

/// An output of a run: the memory for its elements.
///
/// A slice converts to an output in row-major order. [`Out::shaped`] specifies the shape, and [`Out::view`] the strides as well.
#[derive(Debug)]
pub struct Out<'a> {
    pub(super) dtype: DType,
    pub(super) place: PortMemory<'a>,
}

#[derive(Debug)]
pub(super) enum PortMemory<'a> {
    /// Bytes that are all written, in row-major order.
    Bytes(&'a mut [u8]),
    /// Bytes that contain an array of this form.
    Formed(&'a mut [u8], Box<Form<'a>>),
    /// Memory that may overlap with inputs.
    Raw(Box<ViewMut<'a>>),
    /// A slice of bool. It is written as bytes of value 0 or 1.
    Bools(&'a mut [bool]),
}

impl<'a, T: Elem> From<&'a [T]> for In<'a> {
    #[inline]
    fn from(data: &'a [T]) -> In<'a> {
        In { dtype: T::DTYPE, region: bytes_of(data).into(), form: None }
    }
}

impl<'a, T: Elem, const N: usize> From<&'a [T; N]> for In<'a> {
    #[inline]
    fn from(data: &'a [T; N]) -> In<'a> {
        In::from(&data[..])
    }
}

impl<'a, T: Elem> From<&'a Vec<T>> for In<'a> {
    fn from(data: &'a Vec<T>) -> In<'a> {
        In::from(&data[..])
    }
}

impl<'a> In<'a> {
    /// A single element, for a scalar parameter.
    pub fn scalar<T: Elem>(value: &'a T) -> In<'a> {
        In {
            form: Some(Form { offset: 0, shape: &[], strides: None }),
            ..In::from(std::slice::from_ref(value))
        }
    }

    /// The elements of a slice in row-major order, with a shape.
    pub fn shaped<T: Elem>(data: &'a [T], shape: &'a [usize]) -> In<'a> {
        In { form: Some(Form { offset: 0, shape, strides: None }), ..In::from(data) }
    }

    /// Elements of a slice, with strides in elements, which may be negative or 0. The element at index (0, …, 0) is at `offset`.
    pub fn view<T: Elem>(data: &'a [T], offset: usize, shape: &'a [usize], strides: &'a [isize]) -> In<'a> {
        In { form: Some(Form { offset, shape, strides: Some(strides) }), ..In::from(data) }
    }

    /// The elements of an evaluated array, without a copy; `None` if the array is not evaluated.
    pub fn of(array: &'a Array<'_>) -> Option<In<'a>> {
        let leaf = array.in_memory()?;
        let Layout { shape, strides, offset } = &leaf.layout;
        let form = Form { offset: *offset as usize, shape, strides: Some(strides) };
        Some(In { dtype: leaf.storage.dtype(), region: leaf.storage.region(), form: Some(form) })
    }

    /// Memory of any kind, with the offset and strides in elements. The element at index (0, …, 0) is at `offset`. The region may
    /// overlap with an output made by [`Out::raw`].
    pub fn raw(
        dtype: DType,
        region: Region<'a>,
        offset: usize,
        shape: &'a [usize],
        strides: &'a [isize],
    ) -> In<'a> {
        In { dtype, region, form: Some(Form { offset, shape, strides: Some(strides) }) }
    }

    /// Elements in row-major order, like those of a slice, given as bytes.
    pub fn bytes(dtype: DType, bytes: &'a [u8]) -> In<'a> {
        In { dtype, region: bytes.into(), form: None }
    }
}

impl<'a, T: Element> From<&'a mut [T]> for Out<'a> {
    #[inline]
    fn from(data: &'a mut [T]) -> Out<'a> {
        let place = match T::bytes_mut(data) {
            Ok(bytes) => PortMemory::Bytes(bytes),
            Err(bools) => PortMemory::Bools(bools),
        };
        Out { dtype: T::DTYPE, place }
    }
}

impl<'a, T: Element, const N: usize> From<&'a mut [T; N]> for Out<'a> {
    #[inline]
    fn from(data: &'a mut [T; N]) -> Out<'a> {
        Out::from(&mut data[..])
    }
}

impl<'a, T: Element> From<&'a mut Vec<T>> for Out<'a> {
    fn from(data: &'a mut Vec<T>) -> Out<'a> {
        Out::from(&mut data[..])
    }
}

impl<'a> Out<'a> {
    /// A bool output as bytes, into which the run writes 0 or 1. A slice of `bool` also converts to an output, by [`From`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Kernel, Options, Out};
    ///
    /// let x = Array::input("x", DType::Float32, &["n".into()])?;
    /// let kernel = Kernel::new(&[&x.greater(1)], &[&x], &Options::default())?;
    ///
    /// let mut out = [9_u8; 3];
    /// kernel.run(&[(&[0.5_f32, 1.5, 2.5]).into()], [Out::bool_bytes(&mut out)])?;
    /// assert_eq!(out, [0, 1, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bool_bytes(bytes: &'a mut [u8]) -> Out<'a> {
        Out { dtype: DType::Bool, place: PortMemory::Bytes(bytes) }
    }

    /// The elements of a slice in row-major order, with a shape.
    pub fn shaped<T: Elem<Store = T>>(data: &'a mut [T], shape: &'a [usize]) -> Out<'a> {
        let form = Form { offset: 0, shape, strides: None };
        Out { dtype: T::DTYPE, place: PortMemory::Formed(bytes_of_mut(data), Box::new(form)) }
    }

    /// Elements of a slice, with strides in elements, which may be negative. The element at index (0, …, 0) is at `offset`. No
    /// two indices may address the same element.
    pub fn view<T: Elem<Store = T>>(
        data: &'a mut [T],
        offset: usize,
        shape: &'a [usize],
        strides: &'a [isize],
    ) -> Out<'a> {
        let form = Form { offset, shape, strides: Some(strides) };
        Out { dtype: T::DTYPE, place: PortMemory::Formed(bytes_of_mut(data), Box::new(form)) }
    }

    /// Memory of any kind, which may overlap with the inputs. An input with exactly the same elements in the same order is
    /// overwritten in place. With any other overlap, the results are computed into temporaries and copied.
    pub fn raw(dtype: DType, view: ViewMut<'a>) -> Out<'a> {
        Out { dtype, place: PortMemory::Raw(Box::new(view)) }
    }

    /// Memory for elements in row-major order, like a slice, given as bytes. Elements of bool are written as 0 or 1.
    pub fn bytes(dtype: DType, bytes: &'a mut [u8]) -> Out<'a> {
        Out { dtype, place: PortMemory::Bytes(bytes) }
    }

    /// Whether all of the memory is written, in row-major order.
    #[inline]
    pub(super) fn is_row_major(&self) -> bool {
        match &self.place {
            PortMemory::Bytes(_) => true,
            PortMemory::Raw(view) => view.is_row_major(),
            PortMemory::Formed(..) | PortMemory::Bools(_) => false,
        }
    }

    /// The memory as an operand; empty if it is not [in row-major order](Out::is_row_major).
    #[inline]
    pub(super) fn region(&mut self) -> RegionMut<'_> {
        match &mut self.place {
            PortMemory::Bytes(bytes) => (&mut **bytes).into(),
            PortMemory::Raw(view) => RegionMut::of_elements(view),
            PortMemory::Formed(..) | PortMemory::Bools(_) => (&mut [][..]).into(),
        }
    }

    /// Makes a view of this shape from the memory.
    ///
    /// Errors: `Shape` if the memory has another shape; `Memory` for a layout that reaches outside its memory, or addresses an
    /// element twice.
    pub(super) fn view_of(place: PortMemory<'a>, dtype: DType, shape: &Shape) -> Result<Box<ViewMut<'a>>> {
        match place {
            PortMemory::Bytes(bytes) => {
                view_mut(bytes, dtype, &Layout::contiguous(shape.clone())).map(Box::new)
            }
            PortMemory::Formed(bytes, form) => view_mut(bytes, dtype, &form.layout()?).map(Box::new),
            PortMemory::Raw(view) => Ok(view),
            // Not reached: slices of bool have been converted to bytes by this point.
            PortMemory::Bools(_) => Err(Error::new(ErrorKind::Internal, "bools where bytes are written")),
        }
    }
}
