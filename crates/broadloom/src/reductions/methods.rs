//! The methods of arrays that reduce along axes, and the one function that applies a row of the table of reductions.
//!
//! The methods are generated from the table, [`broadloom_core::for_each_reduction!`], so that a new row needs its composition
//! here and nothing else. The methods of functions with other parameters are written in the modules that compute these functions.

use std::slice;

use broadloom_core::reductions::{Computation, ReductionCall, ReductionFunction};
use broadloom_core::{DType, Error, ErrorKind, Op, Result};
use broadloom_ir::Reduction;
use smallvec::smallvec;

use super::extremes::extreme;
use super::{Over, accumulated, bools, count_nonzero, moments, nan};
use crate::array::Array;
use crate::expr;

/// The documentation of a method, from its row of the table: its meaning, composition, dtypes and errors.
macro_rules! about {
    ($takes:ident $identity:tt [$($computation:tt)*] $doc:literal) => {
        concat!(
            $doc,
            about!(@made $($computation)*),
            "\n\n",
            about!(@takes $takes),
            " ",
            about!(@of_nothing $identity),
            "\n\n# Errors\n[`ErrorKind::Shape`] for axes that the array does not have or that are named twice",
            about!(@fails $identity),
            "; [`ErrorKind::DType`] for dtypes that the function does not take, and for [`Over::dtype`] unless the function \
             is a sum or a product."
        )
    };
    (@made $composition:literal) => { concat!("\n\nThis is `", $composition, "`.") };
    (@made $($node:tt)*) => { "" };
    (@takes Any) => { "It takes every dtype." };
    (@takes Numeric) => {
        "It takes integers and floats, and bools if promotion is [`Promotion::NumPy`](crate::Promotion::NumPy)."
    };
    (@takes Floating) => {
        "It takes floats; float16 is computed in float32 and rounded once. Integers are an error, unless \
         [`Promotion::NumPy`](crate::Promotion::NumPy) makes them float64."
    };
    (@of_nothing none) => { "For no elements there is no result." };
    (@of_nothing $identity:tt) => { concat!("For no elements the result is ", stringify!($identity), ".") };
    (@fails none) => { ", and if there are no elements along the axes" };
    (@fails $identity:tt) => { "" };
}

/// Generates a method from a row whose parameters are axes and, at most, a correction.
macro_rules! method {
    ($function:ident $name:ident (X, $axes:ident, $(DTYPE,)? KEEPDIMS) $about:expr) => {
        #[doc = $about]
        pub fn $name(&self, over: impl Into<Over>) -> Result<Array<'a>> {
            Array::reduce(&over.into().call(ReductionFunction::$function), slice::from_ref(self))
        }
    };
    ($function:ident $name:ident (X, $axes:ident, CORRECTION, KEEPDIMS) $about:expr) => {
        #[doc = $about]
        ///
        /// [`ErrorKind::Literal`] if `correction` is NaN.
        pub fn $name(&self, over: impl Into<Over>, correction: f64) -> Result<Array<'a>> {
            let call = over.into().call(ReductionFunction::$function);
            Array::reduce(&ReductionCall { correction, ..call }, slice::from_ref(self))
        }
    };
    ($function:ident $name:ident $parameters:tt $about:expr) => {};
}

macro_rules! methods {
    ($((
        $function:ident, $name:ident, $parameters:tt, $takes:ident, $gives:ident, $identity:tt, $order:ident,
        $computation:tt, $doc:literal
    ))*) => {
        /// Reductions of the elements along axes.
        ///
        /// `over` specifies the axes and the options: `()` means all axes, a number means one axis, an array of numbers several
        /// axes, and an [`Over`] also contains the options. A reduction is lazy and fused: the elements of
        /// `(&a - &b).square().sum(())` are added as they are computed, and never stored. Sums and products of floats are
        /// computed pairwise, in an order that depends only on the number of elements: the bits are the same for every layout,
        /// executor and number of threads, and the error grows with the logarithm of the number of elements
        /// (`docs/conformance.md`). Elements of float16 are added in float32, and the sum is rounded once.
        ///
        /// ```
        /// use broadloom::prelude::*;
        ///
        /// let x = Array::from([[1_i8, 2, 3], [100, 100, 100]]);
        /// assert_eq!(x.sum(())?.item::<i64>()?, 306);
        /// assert_eq!(x.sum(-1)?.to_vec::<i64>()?, [6, 300]);
        /// assert_eq!(x.sum(Over::axes(&[0, 1]).keep_dims())?.shape(), [1, 1]);
        /// assert_eq!((x.max(())?.item::<i8>()?, x.min(0)?.to_vec::<i8>()?), (100, vec![1, 2, 3]));
        /// assert_eq!((x.argmax(())?.item::<i64>()?, x.argmin(-1)?.to_vec::<i64>()?), (3, vec![0, 0]));
        ///
        /// let x = Array::from_vec(vec![1.0_f64, 2.0, 3.0, 4.0]);
        /// assert_eq!((x.var((), 0.0)?.item::<f64>()?, x.std((), 0.0)?.item::<f64>()?), (1.25, 1.25_f64.sqrt()));
        /// assert_eq!(x.var((), 1.0)?.item::<f64>()?, 5.0 / 3.0);
        ///
        /// let x = Array::from([[1.0_f32, f32::NAN, 5.0], [f32::NAN; 3]]);
        /// let means = x.nanmean(1)?.to_vec::<f32>()?;
        /// assert!(means[0] == 3.0 && means[1].is_nan());
        /// assert_eq!(x.nansum(1)?.to_vec::<f32>()?, [6.0, 0.0]);
        /// assert_eq!(x.count_nonzero(())?.item::<i64>()?, 6, "a NaN is not 0");
        /// # Ok::<(), Error>(())
        /// ```
        impl<'a> Array<'a> {
            $(method!($function $name $parameters about!($takes $identity $computation $doc));)*
        }
    };
}
broadloom_core::for_each_reduction!(methods);

impl<'a> Array<'a> {
    /// Applies a function of the table of reductions, for callers that know the function only at run time.
    ///
    /// # Errors
    /// The errors of the method with the function's name, and [`ErrorKind::Arity`] for a wrong number of operands.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{ReductionCall, ReductionFunction};
    ///
    /// let x = Array::from_vec(vec![1.0, 2.0, 6.0]);
    /// let mean = ReductionFunction::from_name("mean").expect("is in the table");
    /// assert_eq!(Array::reduce(&ReductionCall::new(mean), &[x])?.item::<f64>()?, 3.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn reduce(call: &ReductionCall, operands: &[Array<'a>]) -> Result<Array<'a>> {
        let (function, name) = (call.function, call.function.name());
        let (x, second) = match operands {
            [x] if function.operands() == 1 => (x, x),
            [x, second] if function.operands() == 2 => (x, second),
            _ => {
                let why = format!("{name}: takes {} operands, not {}", function.operands(), operands.len());
                return Err(Error::new(ErrorKind::Arity, why));
            }
        };
        let over = &Over::of(call);
        let axis = call.axis.as_deref().and_then(<[isize]>::first).copied();
        match function.computation() {
            Computation::Reduction(Reduction::Sum) => accumulated(name, Reduction::Sum, x, over),
            Computation::Reduction(Reduction::Prod) => accumulated(name, Reduction::Prod, x, over),
            Computation::Reduction(node @ (Reduction::Any | Reduction::All)) => bools(node, x, over),
            Computation::Reduction(node) => extreme(node, x, over),
            Computation::Scan(scan) => x.scanned(scan, axis, call.dtype, call.include_initial),
            Computation::Count => {
                let axes = over.resolve(name, x)?;
                Ok(expr::count(&expr::typed(x)?, axes, call.dtype.unwrap_or(DType::Int64)))
            }
            Computation::Composed(_) => composed(call, over, axis, x, second),
        }
    }
}

/// Computes a function that is composed of other functions.
fn composed<'a>(
    call: &ReductionCall,
    over: &Over,
    axis: Option<isize>,
    x: &Array<'a>,
    second: &Array<'a>,
) -> Result<Array<'a>> {
    let (name, correction) = (call.function.name(), call.correction);
    let rounded = |(x, dtype): (Array<'a>, DType)| Ok(expr::cast(x, dtype));
    // The variance of float16 elements is a float32 here, and is not rounded to float16 before its square root is taken.
    let root =
        |(x, dtype): (Array<'a>, DType)| Ok(expr::cast(expr::apply(Op::Sqrt, smallvec![x.into()])?, dtype));
    match call.function {
        ReductionFunction::Mean => moments::averaged(name, x, over, moments::mean),
        ReductionFunction::Var => moments::variance(name, x, over, correction).and_then(rounded),
        ReductionFunction::Std => moments::variance(name, x, over, correction).and_then(root),
        ReductionFunction::CountNonzero => count_nonzero(x, over),
        ReductionFunction::VectorNorm => x.vector_norm(over.clone(), call.ord),
        ReductionFunction::VecDot => x.vecdot(second, axis.unwrap_or(-1)),
        ReductionFunction::NanSum => accumulated(name, Reduction::Sum, &nan::replaced(x, 0.0)?, over),
        ReductionFunction::NanProd => accumulated(name, Reduction::Prod, &nan::replaced(x, 1.0)?, over),
        ReductionFunction::NanMax => nan::extreme_of_numbers(Reduction::Max, f64::NEG_INFINITY, x, over),
        ReductionFunction::NanMin => nan::extreme_of_numbers(Reduction::Min, f64::INFINITY, x, over),
        ReductionFunction::NanMean => moments::averaged(name, x, over, nan::mean),
        ReductionFunction::NanVar => nan::variance(name, x, over, correction).and_then(rounded),
        ReductionFunction::NanStd => nan::variance(name, x, over, correction).and_then(root),
        _ => {
            Err(Error::new(ErrorKind::Internal, format!("{name}: a row of the table without a composition")))
        }
    }
}
