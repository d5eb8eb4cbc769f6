//! Generated arrays, which occupy no memory, of a dtype chosen at run time.

use broadloom::{Array, DType, Literal};
use pyo3::prelude::*;

use crate::error::OrRaise;

/// A generated array to be built for a dtype that is known at run time only.
struct Generate<'a> {
    what: Generator<'a>,
}

/// The rule that generates the elements.
pub enum Generator<'a> {
    /// One value for all elements.
    Full(&'a [usize], Literal),
    /// The start, the stop (exclusive) and the step.
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

/// The generated array of this dtype.
pub fn array(dtype: DType, what: Generator<'_>) -> PyResult<Array<'static>> {
    broadloom::visit_dtype(dtype, Generate { what }).or_raise()
}
