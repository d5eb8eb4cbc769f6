//! Arrays that are in no memory, of dtypes that are known at run time only.

use broadloom::{Array, DType, Literal};
use pyo3::prelude::*;

use crate::error::OrRaise;

/// A request for an array in no memory, to be made with the type of its dtype.
struct Generate<'a> {
    what: Generator<'a>,
}

/// The elements of an array in no memory.
pub enum Generator<'a> {
    /// One value everywhere, with this shape.
    Full(&'a [usize], Literal),
    /// The numbers from a start, before a stop, by a step.
    Arange([Literal; 3]),
}

impl broadloom::ElementVisitor for Generate<'_> {
    type Output = broadloom::Result<Array<'static>>;

    fn visit<T: broadloom::Element>(self) -> Self::Output {
        let value = |x: Literal| match x {
            Literal::Bool(x) => T::of_i64(i64::from(x)),
            Literal::Int(x) if T::DTYPE.is_float() => T::of_f64(x as f64),
            Literal::Int(x) => match i64::try_from(x) {
                Ok(x) => T::of_i64(x),
                Err(_) => T::of_i64(x as u64 as i64),
            },
            Literal::Float(x) => T::of_f64(x),
        };
        match self.what {
            Generator::Full(shape, x) => Array::full(shape, value(x)),
            Generator::Arange([start, stop, step]) => Array::arange(value(start), value(stop), value(step)),
        }
    }
}

/// The array in no memory of a dtype.
pub fn array(dtype: DType, what: Generator<'_>) -> PyResult<Array<'static>> {
    broadloom::visit_dtype(dtype, Generate { what }).or_raise()
}
