//! The element-wise functions, with the names of the Python Array API standard. Most are also methods of [`Array`].
//!
//! They take arrays and numbers ([`IntoArray`]) and are generated from the op table,
//! [`broadloom_core::for_each_op!`], so that a new row needs no code here. A function panics at the caller's
//! location, with the message of the error that its `try_` twin returns.
//!
//! ```
//! use broadloom::functions::{maximum, where_};
//! use broadloom::prelude::*;
//!
//! let x = Array::from_vec(vec![-2.0_f32, 0.5, 3.0]);
//! assert_eq!(maximum(0, &x).to_vec::<f32>()?, [0.0, 0.5, 3.0]);
//! assert_eq!(where_(x.greater(1), 1, &x).to_vec::<f32>()?, [-2.0, 0.5, 1.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Powers, exponentials and logarithms
//!
//! The error of a float result is less than one unit in the last place; `docs/accuracy.md` lists the measured errors. By
//! definition, `pow(x, 1)` is x, `pow(x, 2)` is x·x, `pow(x, -1)` is 1/x, and `pow(x, 0)` is 1, also if x is NaN. Rust has no
//! operator for powers: `^` is [`bitwise_xor`].
//!
//! ```
//! use broadloom::functions::{hypot, logaddexp, pow};
//! use broadloom::prelude::*;
//!
//! let x = Array::from_vec(vec![0.0_f64, 1.0, 3.0]);
//! assert_eq!(x.pow(2).to_vec::<f64>()?, [0.0, 1.0, 9.0]);
//! assert_eq!(x.pow(&x).to_vec::<f64>()?, [1.0, 1.0, 27.0]);
//! assert_eq!(pow(2.0, &x).log2().to_vec::<f64>()?, x.to_vec::<f64>()?);
//! assert_eq!(pow(10.0, &x).log10().to_vec::<f64>()?, x.to_vec::<f64>()?);
//! assert_eq!((x.exp().to_vec::<f64>()?[0], x.log().to_vec::<f64>()?[1]), (1.0, 0.0));
//! // For a small x, 1 + x would lose the digits of x.
//! let small = Array::from_vec(vec![1e-20_f64]);
//! assert_eq!((small.expm1().item::<f64>()?, small.log1p().item::<f64>()?), (1e-20, 1e-20));
//! // Squares or exponentials would overflow here.
//! assert_eq!(hypot(3e300, 4e300).item::<f64>()?, 5e300);
//! assert_eq!(logaddexp(f64::NEG_INFINITY, &x).to_vec::<f64>()?, x.to_vec::<f64>()?);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Angles and hyperbolic functions
//!
//! Angles are in radians. They may be arbitrarily large, since they are reduced with as many digits of π as necessary.
//!
//! ```
//! use broadloom::functions::atan2;
//! use broadloom::prelude::*;
//!
//! let x = Array::from_vec(vec![-1.0_f32, 0.0, 1.0]);
//! for odd in [x.sin().asin(), x.tan().atan(), x.sinh().asinh(), x.tanh().atanh(), atan2(&x, 1)] {
//!     assert_eq!(odd.sign().to_vec::<f32>()?, [-1.0, 0.0, 1.0]);
//! }
//! assert_eq!((x.cos().to_vec::<f32>()?[1], x.cosh().to_vec::<f32>()?[1]), (1.0, 1.0));
//! assert_eq!((x.acos().to_vec::<f32>()?[2], x.acosh().to_vec::<f32>()?[2]), (0.0, 0.0));
//! assert!(x.acosh().less(0).to_vec::<bool>()?.iter().all(|below| !below));
//! # Ok::<(), Error>(())
//! ```
//!
//! # Integers
//!
//! `pow` of integers is an integer. The standard does not define the other functions above for integers: for these, integers are
//! an error or, under [`Promotion::NumPy`](crate::Promotion::NumPy), are converted to float64.
//!
//! ```
//! use broadloom::prelude::*;
//!
//! let n = Array::from_vec(vec![-2_i32, -1, 3]);
//! assert_eq!(n.pow(3).to_vec::<i32>()?, [-8, -1, 27]);
//! assert_eq!(n.pow(-1).to_vec::<i32>()?, [0, -1, 0], "without the fraction");
//! let Err(error) = n.try_exp() else { panic!("not for integers") };
//! assert_eq!(
//!     error.to_string(),
//!     "exp: does not take int32; write astype(x, float64), or promote as NumPy does (promotion=numpy)"
//! );
//! assert_eq!(n.astype(DType::Float32).exp().dtype(), DType::Float32);
//! assert_eq!(with_promotion(Promotion::NumPy, || n.exp()).dtype(), DType::Float64);
//! # Ok::<(), Error>(())
//! ```

use broadloom_core::op::Law;
use broadloom_core::{DType, Error, ErrorKind, Op, Result};
use broadloom_mem::HostFunction;
use pastey::paste;
use smallvec::smallvec;

use crate::array::Array;
use crate::expr;
use crate::numpy_rule;
use crate::operand::IntoArray;
use crate::operators::located;

/// The documentation of a function, from its row of the op table: its meaning, dtypes and accuracy.
macro_rules! about {
    ($operands:ident $class:ident $laws:tt $doc:literal) => {
        concat!($doc, "\n\n", about!(@takes $class $laws), about!(@digits $operands $laws))
    };
    (@takes any $laws:tt) => { "Takes every dtype." };
    (@takes numeric $laws:tt) => { "Takes integers and floats." };
    (@takes integer $laws:tt) => { "Takes integers." };
    (@takes bitlike $laws:tt) => { "Takes bool and integers." };
    (@takes boolean $laws:tt) => { "Takes bool." };
    (@takes word $laws:tt) => { "Takes uint64." };
    (@takes floating [divides]) => { "Takes floats, and integers, which become float64." };
    (@takes floating $laws:tt) => {
        "Takes floats; integers are an error, unless [`Promotion::NumPy`](crate::Promotion::NumPy) makes them float64."
    };
    (@digits $operands:ident []) => { "" };
    (@digits unary [approximate $($laws:tt)*]) => {
        "\n\nThe result is off by less than a unit in the last place; a float16 result is the nearest one."
    };
    (@digits more [approximate $($laws:tt)*]) => {
        "\n\nA float result is off by less than a unit in the last place."
    };
    (@digits $operands:ident [$law:ident $(, $($laws:tt)*)?]) => { about!(@digits $operands [$($($laws)*)?]) };
}

/// Generates a method, a free function and their `try_` twins from a row of the op table.
macro_rules! function {
    ($arity:ident $class:ident [internal] $op:ident $name:literal $doc:literal) => {};
    (unary $class:ident $laws:tt $op:ident $name:literal $doc:literal) => { paste! {
        impl<'a> Array<'a> {
            #[doc = about!(unary $class $laws $doc)]
            ///
            /// # Panics
            #[doc = "With the error of [`try_" $name "`](Array::try_" $name ")."]
            #[track_caller]
            pub fn [<$name>](&self) -> Array<'a> {
                located(self.[<try_ $name>]())
            }

            #[doc = about!(unary $class $laws $doc)]
            ///
            /// # Errors
            /// For a dtype that the function does not take.
            pub fn [<try_ $name>](&self) -> Result<Array<'a>> {
                numpy_rule::apply(Op::$op, smallvec![self.into()])
            }
        }

        #[doc = about!(unary $class $laws $doc)]
        ///
        /// # Panics
        #[doc = "With the error of [`try_" $name "`]."]
        #[track_caller]
        pub fn [<$name>]<'a>(x: impl IntoArray<'a>) -> Array<'a> {
            located([<try_ $name>](x))
        }

        #[doc = about!(unary $class $laws $doc)]
        ///
        /// # Errors
        /// For a dtype that the function does not take.
        pub fn [<try_ $name>]<'a>(x: impl IntoArray<'a>) -> Result<Array<'a>> {
            numpy_rule::apply(Op::$op, smallvec![x.into_operand()])
        }
    } };
    (binary $class:ident $laws:tt $op:ident $name:literal $doc:literal) => { paste! {
        impl<'a> Array<'a> {
            #[doc = about!(more $class $laws $doc)]
            ///
            /// # Panics
            #[doc = "With the error of [`try_" $name "`](Array::try_" $name ")."]
            #[track_caller]
            pub fn [<$name>](&self, x2: impl IntoArray<'a>) -> Array<'a> {
                located(self.[<try_ $name>](x2))
            }

            #[doc = about!(more $class $laws $doc)]
            ///
            /// # Errors
            /// For dtypes that do not promote or that the function does not take, shapes that do not broadcast, and a literal
            /// that the dtype can't represent.
            pub fn [<try_ $name>](&self, x2: impl IntoArray<'a>) -> Result<Array<'a>> {
                numpy_rule::apply(Op::$op, smallvec![self.into(), x2.into_operand()])
            }
        }

        #[doc = about!(more $class $laws $doc)]
        ///
        /// # Panics
        #[doc = "With the error of [`try_" $name "`]."]
        #[track_caller]
        pub fn [<$name>]<'a>(x1: impl IntoArray<'a>, x2: impl IntoArray<'a>) -> Array<'a> {
            located([<try_ $name>](x1, x2))
        }

        #[doc = about!(more $class $laws $doc)]
        ///
        /// # Errors
        /// For dtypes that do not promote or that the function does not take, shapes that do not broadcast, and a literal that
        /// the dtype can't represent.
        pub fn [<try_ $name>]<'a>(x1: impl IntoArray<'a>, x2: impl IntoArray<'a>) -> Result<Array<'a>> {
            numpy_rule::apply(Op::$op, smallvec![x1.into_operand(), x2.into_operand()])
        }
    } };
    (ternary $class:ident $laws:tt $op:ident $name:literal $doc:literal) => { paste! {
        impl<'a> Array<'a> {
            #[doc = about!(more $class $laws $doc)]
            ///
            /// # Panics
            #[doc = "With the error of [`try_" $name "`](Array::try_" $name ")."]
            #[track_caller]
            pub fn [<$name>](&self, x2: impl IntoArray<'a>, x3: impl IntoArray<'a>) -> Array<'a> {
                located(self.[<try_ $name>](x2, x3))
            }

            #[doc = about!(more $class $laws $doc)]
            ///
            /// # Errors
            /// For dtypes that do not promote or that the function does not take, shapes that do not broadcast, and a literal
            /// that the dtype can't represent.
            pub fn [<try_ $name>](&self, x2: impl IntoArray<'a>, x3: impl IntoArray<'a>) -> Result<Array<'a>> {
                numpy_rule::apply(Op::$op, smallvec![self.into(), x2.into_operand(), x3.into_operand()])
            }
        }

        function!(three $class $laws $op [<$name>] [<try_ $name>] $doc);
    } };
    // A choice has no method, since the condition is not the main operand of the call, and `where` is a Rust keyword.
    (choice $class:ident $laws:tt $op:ident $name:literal $doc:literal) => { paste! {
        function!(three $class $laws $op [<$name _>] [<try_ $name>] $doc);
    } };
    (three $class:ident $laws:tt $op:ident $function:ident $twin:ident $doc:literal) => {
        #[doc = about!(more $class $laws $doc)]
        ///
        /// # Panics
        #[doc = concat!("With the error of [`", stringify!($twin), "`].")]
        #[track_caller]
        pub fn $function<'a>(
            x1: impl IntoArray<'a>,
            x2: impl IntoArray<'a>,
            x3: impl IntoArray<'a>,
        ) -> Array<'a> {
            located($twin(x1, x2, x3))
        }

        #[doc = about!(more $class $laws $doc)]
        ///
        /// # Errors
        /// For dtypes that do not promote or that the function does not take, shapes that do not broadcast, and a literal that
        /// the dtype can't represent.
        pub fn $twin<'a>(
            x1: impl IntoArray<'a>,
            x2: impl IntoArray<'a>,
            x3: impl IntoArray<'a>,
        ) -> Result<Array<'a>> {
            numpy_rule::apply(Op::$op, smallvec![x1.into_operand(), x2.into_operand(), x3.into_operand()])
        }
    };
}

macro_rules! functions {
    ($(($op:ident, $name:literal, $arity:ident, $class:ident, $laws:tt, $doc:literal))*) => {
        $(function!($arity $class $laws $op $name $doc);)*
    };
}
broadloom_core::for_each_op!(functions);

impl<'a> Array<'a> {
    /// Converts the elements to a dtype. An array that has this dtype already is returned unchanged.
    ///
    /// From float to integer, values are truncated, saturate if they are out of range, and NaN becomes 0. From integer to a
    /// narrower integer, values wrap. From integer to float, they are rounded to nearest. To bool, any value except zero becomes
    /// true.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1.9_f64, -1.9, 300.0, f64::NAN]);
    /// assert_eq!(x.astype(DType::UInt8).to_vec::<u8>()?, [1, 0, 255, 0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn astype(&self, dtype: DType) -> Array<'a> {
        expr::cast(self.clone(), dtype)
    }

    /// Applies an op, for callers that know the function only at run time.
    ///
    /// # Errors
    /// The errors of the function's `try_` twin, and an error for a wrong number of operands or for an internal op, which users
    /// can't call.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::Op;
    ///
    /// let x = Array::from_vec(vec![4.0, 9.0]);
    /// let root = Op::from_name("sqrt").expect("is in the table");
    /// assert_eq!(Array::apply(root, &[x])?.to_vec::<f64>()?, [2.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn apply(op: Op, operands: &[Array<'a>]) -> Result<Array<'a>> {
        if op.has(Law::Internal) {
            return Err(Error::new(ErrorKind::Name, format!("{op} is not a function")));
        }
        numpy_rule::apply(op, operands.iter().map(|x| x.into()).collect())
    }

    /// The dtypes to which an op converts its operands. If a caller replaces a number by an input of a kernel, to supply the
    /// value later, the input must have this dtype.
    ///
    /// # Errors
    /// The errors of [`Array::apply`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Literal, Op};
    ///
    /// let x = Array::from_vec(vec![4_u8, 9]);
    /// let [divide, add] = ["divide", "add"].map(|name| Op::from_name(name).expect("is in the table"));
    /// let operands = [x, Array::scalar(Literal::Int(200))];
    /// assert_eq!(Array::operand_dtypes(divide, &operands)?[1], DType::Float64);
    /// assert_eq!(Array::operand_dtypes(add, &operands)?[1], DType::UInt8);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn operand_dtypes(op: Op, operands: &[Array<'a>]) -> Result<Vec<DType>> {
        if op.has(Law::Internal) {
            return Err(Error::new(ErrorKind::Name, format!("{op} is not a function")));
        }
        numpy_rule::operand_dtypes(op, operands.iter().map(|x| x.into()).collect())
    }

    /// Calls a host function. Its operands must have exactly the dtypes of its declaration; numbers take these dtypes, and shapes
    /// broadcast.
    ///
    /// # Errors
    /// For a wrong number of operands, a wrong dtype (the message suggests the conversion), shapes that do not broadcast, and a
    /// number that the dtype can't represent.
    ///
    /// ```
    /// use broadloom::HostFunction;
    /// use broadloom::prelude::*;
    ///
    /// let dosage = HostFunction::new("dosage", |mass: f32, age: u8| if age < 12 { mass / 2.0 } else { mass })?;
    /// let mass = Array::from_vec(vec![30.0_f32, 70.0]);
    /// let age = Array::from_vec(vec![9_u8, 40]);
    /// let dose = Array::call(&dosage, [&mass * 0.5, age])? + 1;
    /// assert_eq!(dose.to_vec::<f32>()?, [8.5, 36.0]);
    ///
    /// let Err(error) = Array::call(&dosage, [&mass, &mass]) else { panic!("not for ages of float32") };
    /// assert_eq!(
    ///     error.to_string(),
    ///     "dosage: operand 2 is float32, it takes uint8; write astype(x, uint8)"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn call(
        function: &HostFunction,
        operands: impl IntoIterator<Item = impl IntoArray<'a>>,
    ) -> Result<Array<'a>> {
        expr::call(function, operands.into_iter().map(IntoArray::into_operand).collect())
    }
}
