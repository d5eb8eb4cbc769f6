//! The table of workloads.
//!
//! A [`Workload`] creates a [`Problem`] for any of its dtypes and any size. Inputs are the same in every run and do not repeat
//! within an array.

mod arithmetic;
mod integers;
mod transcendental;
mod two_axes;

use std::fmt;

use broadloom::{DType, f16};

use crate::problem::Problem;
use arithmetic::{add, copy, f16_axpy, iter10, masked_update, mixed, ne_cmp, ne_readme, poly10, triad};
use integers::{i32_divmod_sum, i32_floordiv, u8_blend};
use transcendental::{gamma, gelu, logaddexp, pow, sigmoid, sincos, softplus};
use two_axes::{every_second, outer, reversed, short_columns, short_rows, standardize, transposed};

/// A computation to be timed.
pub struct Workload {
    /// The name that selects the workload.
    pub name: &'static str,
    /// The formula that it computes.
    pub formula: &'static str,
    /// The supported dtypes.
    pub dtypes: &'static [DType],
    pub(crate) make: fn(DType, usize) -> Problem,
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workload({})", self.name)
    }
}

impl Workload {
    /// Creates the problem for a dtype, with results of about `n` elements; `None` if the dtype is not supported.
    pub fn at(&self, dtype: DType, n: usize) -> Option<Problem> {
        self.dtypes.contains(&dtype).then(|| (self.make)(dtype, n.max(1)))
    }
}

/// Finds the workload with this name.
pub fn workload(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}

const FLOATS: &[DType] = &[DType::Float32, DType::Float64];

/// Declares the table. A row contains a name, a formula, and the dtypes. If the function that creates the problem is generic,
/// each dtype is followed by the function's type argument.
macro_rules! workloads {
    ($($name:ident $formula:literal, $dtypes:expr, $($dtype:ident $($t:ty)?),*;)*) => {
        /// The table of all workloads.
        pub const WORKLOADS: &[Workload] = &[$(Workload {
            name: stringify!($name),
            formula: $formula,
            dtypes: $dtypes,
            make: |dtype, n| match dtype {
                $(DType::$dtype => $name$(::<$t>)?(n),)*
                other => unreachable!("{other} is not among the dtypes"),
            },
        }),*];
    };
}

workloads! {
    copy "a", FLOATS, Float32 f32, Float64 f64;
    add "a + b", FLOATS, Float32 f32, Float64 f64;
    triad "a*b + c", FLOATS, Float32 f32, Float64 f64;
    ne_readme "2*a + 3*b", FLOATS, Float32 f32, Float64 f64;
    ne_cmp "a*b - 4.1*a > 2.5*b", FLOATS, Float32 f32, Float64 f64;
    sincos "sin(a)**2 + cos(b)**2", FLOATS, Float32 f32, Float64 f64;
    poly10 "a polynomial of degree 10, by Horner's rule", FLOATS, Float32 f32, Float64 f64;
    sigmoid "1/(1 + exp(-a))", FLOATS, Float32 f32, Float64 f64;
    standardize "(x - mean[None,:])/std[None,:], rows of 1000", FLOATS, Float32 f32, Float64 f64;
    outer "col[:,None]*row[None,:] + mat, rows of 1000", FLOATS, Float32 f32, Float64 f64;
    iter10 "z = z*z + c ten times", FLOATS, Float32 f32, Float64 f64;
    pow "a**b", FLOATS, Float32 f32, Float64 f64;
    gamma "a**2.2, of an image's values", &[DType::Float32], Float32;
    softplus "log1p(exp(a))", FLOATS, Float32 f32, Float64 f64;
    gelu "0.5*a*(1 + tanh(0.79788*(a + 0.044715*a**3)))", FLOATS, Float32 f32, Float64 f64;
    logaddexp "logaddexp(a, b)", FLOATS, Float32 f32, Float64 f64;
    masked_update "where(m, a + 0.1*b, a): bool m", FLOATS, Float32 f32, Float64 f64;
    u8_blend "(a*w + b*(255 - w))//255, uint8 by way of uint16", &[DType::UInt8], UInt8;
    i32_floordiv "a//b and a%b, two results", &[DType::Int32], Int32;
    i32_divmod_sum "a//b + a%b", &[DType::Int32], Int32;
    f16_axpy "1.7*x + y", &[DType::Float16, DType::Float32], Float16 f16, Float32 f32;
    mixed "where(m != 0, i*x, x): uint8 m, int16 i, float32 x", &[DType::Float32], Float32;
    short_rows "a + row, rows of 3", FLOATS, Float32 f32, Float64 f64;
    short_columns "a + col[:,None], 3 rows", FLOATS, Float32 f32, Float64 f64;
    transposed "a + b.T, square", FLOATS, Float32 f32, Float64 f64;
    reversed "a[::-1] + b", FLOATS, Float32 f32, Float64 f64;
    every_second "a[::2] + b[::2]", FLOATS, Float32 f32, Float64 f64;
}
