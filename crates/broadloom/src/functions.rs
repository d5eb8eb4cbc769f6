//! The element-wise functions, with the names of the Python Array API standard; each is a method of [`Array`] too.
//!
//! In: arrays and numbers, as [`IntoArray`] takes them. Out: the expression. Must hold: made from the op table,
//! [`broadloom_core::for_each_op!`], so that a new row needs no code here. A function panics at the caller's
//! place with the words of the error that its `try_` twin returns.
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

use broadloom_core::op::Law;
use broadloom_core::{DType, Error, ErrorKind, Op, Result};
use pastey::paste;
use smallvec::smallvec;

use crate::array::Array;
use crate::expr;
use crate::operand::IntoArray;
use crate::operators::located;

/// A row of the op table as a method, a free function and their `try_` twins.
macro_rules! function {
    ($arity:ident [internal] $op:ident $name:literal $doc:literal) => {};
    (unary $laws:tt $op:ident $name:literal $doc:literal) => { paste! {
        impl<'a> Array<'a> {
            #[doc = $doc]
            ///
            /// # Panics
            #[doc = "With the error of [`try_" $name "`](Array::try_" $name ")."]
            #[track_caller]
            pub fn [<$name>](&self) -> Array<'a> {
                located(self.[<try_ $name>]())
            }

            #[doc = $doc]
            ///
            /// # Errors
            /// For a dtype that the function does not take.
            pub fn [<try_ $name>](&self) -> Result<Array<'a>> {
                expr::apply(Op::$op, smallvec![self.into()])
            }
        }

        #[doc = $doc]
        ///
        /// # Panics
        #[doc = "With the error of [`try_" $name "`]."]
        #[track_caller]
        pub fn [<$name>]<'a>(x: impl IntoArray<'a>) -> Array<'a> {
            located([<try_ $name>](x))
        }

        #[doc = $doc]
        ///
        /// # Errors
        /// For a dtype that the function does not take.
        pub fn [<try_ $name>]<'a>(x: impl IntoArray<'a>) -> Result<Array<'a>> {
            expr::apply(Op::$op, smallvec![x.into_operand()])
        }
    } };
    (binary $laws:tt $op:ident $name:literal $doc:literal) => { paste! {
        impl<'a> Array<'a> {
            #[doc = $doc]
            ///
            /// # Panics
            #[doc = "With the error of [`try_" $name "`](Array::try_" $name ")."]
            #[track_caller]
            pub fn [<$name>](&self, x2: impl IntoArray<'a>) -> Array<'a> {
                located(self.[<try_ $name>](x2))
            }

            #[doc = $doc]
            ///
            /// # Errors
            /// For dtypes that do not promote or that the function does not take, shapes that do not broadcast,
            /// and a literal that the dtype can't hold.
            pub fn [<try_ $name>](&self, x2: impl IntoArray<'a>) -> Result<Array<'a>> {
                expr::apply(Op::$op, smallvec![self.into(), x2.into_operand()])
            }
        }

        #[doc = $doc]
        ///
        /// # Panics
        #[doc = "With the error of [`try_" $name "`]."]
        #[track_caller]
        pub fn [<$name>]<'a>(x1: impl IntoArray<'a>, x2: impl IntoArray<'a>) -> Array<'a> {
            located([<try_ $name>](x1, x2))
        }

        #[doc = $doc]
        ///
        /// # Errors
        /// For dtypes that do not promote or that the function does not take, shapes that do not broadcast, and a
        /// literal that the dtype can't hold.
        pub fn [<try_ $name>]<'a>(x1: impl IntoArray<'a>, x2: impl IntoArray<'a>) -> Result<Array<'a>> {
            expr::apply(Op::$op, smallvec![x1.into_operand(), x2.into_operand()])
        }
    } };
    (ternary $laws:tt $op:ident $name:literal $doc:literal) => { paste! {
        impl<'a> Array<'a> {
            #[doc = $doc]
            ///
            /// # Panics
            #[doc = "With the error of [`try_" $name "`](Array::try_" $name ")."]
            #[track_caller]
            pub fn [<$name>](&self, x2: impl IntoArray<'a>, x3: impl IntoArray<'a>) -> Array<'a> {
                located(self.[<try_ $name>](x2, x3))
            }

            #[doc = $doc]
            ///
            /// # Errors
            /// For dtypes that do not promote or that the function does not take, shapes that do not broadcast,
            /// and a literal that the dtype can't hold.
            pub fn [<try_ $name>](&self, x2: impl IntoArray<'a>, x3: impl IntoArray<'a>) -> Result<Array<'a>> {
                expr::apply(Op::$op, smallvec![self.into(), x2.into_operand(), x3.into_operand()])
            }
        }

        function!(three $op [<$name>] [<try_ $name>] $doc);
    } };
    // No method: the condition is not the array that the call is about; and `where` is a word of Rust's.
    (choice $laws:tt $op:ident $name:literal $doc:literal) => { paste! {
        function!(three $op [<$name _>] [<try_ $name>] $doc);
    } };
    (three $op:ident $function:ident $twin:ident $doc:literal) => {
        #[doc = $doc]
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

        #[doc = $doc]
        ///
        /// # Errors
        /// For dtypes that do not promote or that the function does not take, shapes that do not broadcast, and a
        /// literal that the dtype can't hold.
        pub fn $twin<'a>(
            x1: impl IntoArray<'a>,
            x2: impl IntoArray<'a>,
            x3: impl IntoArray<'a>,
        ) -> Result<Array<'a>> {
            expr::apply(Op::$op, smallvec![x1.into_operand(), x2.into_operand(), x3.into_operand()])
        }
    };
}

macro_rules! functions {
    ($(($op:ident, $name:literal, $arity:ident, $class:ident, $cost:literal, $laws:tt, $doc:literal))*) => {
        $(function!($arity $laws $op $name $doc);)*
    };
}
broadloom_core::for_each_op!(functions);

impl<'a> Array<'a> {
    /// The elements converted to a dtype; the array itself if it has it.
    ///
    /// A float becomes an integer by truncation, what is out of range the nearest limit, NaN 0; an integer wraps to a
    /// narrower one and is rounded to the nearest float; anything but zero is true.
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

    /// The function that an op stands for, for those who know the function at run time only.
    ///
    /// # Errors
    /// As the function's own `try_` twin; for another number of operands than it takes; for an op that is not a
    /// user's.
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
        expr::apply(op, operands.iter().map(|x| x.into()).collect())
    }
}
