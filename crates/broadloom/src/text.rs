//! Programs and expressions written as text, such as `where(x > 0, x, -x) * 2`.
//!
//! A text, with an array for each of its names, evaluates to arrays, or to a [`TextError`] with a position. [`print()`] writes an
//! expression as a text with the same meaning. Nothing recurses along the text or the expression, and a type error has the
//! message of the corresponding `try_` function. Texts are typed in this thread's [promotion mode](crate::promotion).
//!
//! The language has Python's operators with Python's precedence, except that comparisons do not chain; the
//! [functions](crate::functions) with the standard's names, including `where(condition, x2, x3)`; `astype(x, float32)`; reductions
//! such as `mean(x, axis=0, keepdims=true)`; the constants `e` and `pi`; views such as `x[1:, ::-1]`; typed inputs, bindings,
//! several results, and user-defined functions, which are expanded where they are used. Numbers, `true`, `false`, `nan` and `inf`
//! are literals without a dtype of their own; `float32(0.5)` has one. docs/language.md is the reference.
//!
//! ```
//! use broadloom::prelude::*;
//! use broadloom::text::Program;
//!
//! let program = Program::parse(
//!     "nir: uint16[n]
//!      red: uint16[n]
//!      def scaled(x) = astype(x, float32) / 65535
//!      a = scaled(nir); b = scaled(red)
//!      return index = (a - b) / (a + b), bright = a > 0.5",
//! )?;
//! let (nir, red) = (Array::from_vec(vec![3_u16, 5]), Array::from_vec(vec![1_u16, 5]));
//! let results = program.build(&[("nir", nir), ("red", red)])?;
//! assert_eq!(results[0].0, "index");
//! assert_eq!(results[0].1.to_vec::<f32>()?, [0.5, 0.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! A [`TextError`] has the same information as an [`Error`](crate::Error), under the same names, and converts to an `Error` by
//! `?`. The method `render` of both types shows the line of the text.
//!
//! ```
//! use broadloom::prelude::*;
//! use broadloom::text::Program;
//!
//! fn outputs(text: &str) -> Result<usize> {
//!     Ok(Program::parse(text)?.outputs().len())
//! }
//! let error = outputs("a: float32[n]\nreturn a *").unwrap_err();
//! assert_eq!((error.kind(), error.line(), error.column()), (broadloom::ErrorKind::Syntax, Some(2), Some(11)));
//! assert!(error.render().ends_with("\n2 | return a *\n  |           ^"), "{}", error.render());
//! ```

use crate::array::Array;

pub use broadloom_core::text::{ParseOptions, Span, TextError, TextPlace, is_name};
pub use library::Library;
pub use print::{Printed, print};
pub use program::{Input, Program};

mod calls;
mod library;
mod meaning;
mod print;
mod program;
#[cfg(test)]
mod tests;

/// The array to which a text evaluates, with its names bound to these arrays.
///
/// # Errors
/// If the text is not a program with one result, uses a name that is not among `names`, or contains a type error.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::text::expression;
///
/// let x = Array::from_vec(vec![1.0_f32, 4.0]);
/// assert_eq!(expression("sqrt(x) + 1", &[("x", x)])?.to_vec::<f32>()?, [2.0, 3.0]);
///
/// let wrong = expression("sqrt(y) + 1", &[]).unwrap_err();
/// assert_eq!((wrong.span, &*wrong.message), (5..6, "`y` is not known"));
/// # Ok::<(), Error>(())
/// ```
pub fn expression<'a>(text: &str, names: &[(&str, Array<'a>)]) -> Result<Array<'a>, TextError> {
    Expression::parse(text)?.build(names)
}

/// A parsed text with one result, from which expressions of different arrays can be built.
///
/// Unlike for a [`Program`], arrays may be given for names that the text does not use.
#[derive(Clone, Debug)]
pub struct Expression {
    program: Program,
}

impl Expression {
    /// Parses a text within the default limits.
    ///
    /// # Errors
    /// If the text is not a program, or has several results.
    pub fn parse(text: &str) -> Result<Expression, TextError> {
        Expression::parse_with(text, &ParseOptions::default())
    }

    /// Parses a text within limits.
    ///
    /// # Errors
    /// If the text is not a program, has several results, or exceeds a limit.
    pub fn parse_with(text: &str, options: &ParseOptions) -> Result<Expression, TextError> {
        let program = Program::parse_with(text, &Library::default(), options)?;
        program.only_result()?;
        Ok(Expression { program })
    }

    /// Whether the text is element-wise; see [`Program::is_elementwise`].
    pub fn is_elementwise(&self) -> bool {
        self.program.is_elementwise()
    }

    /// The names in the text, each once, in the order of their first appearance: the inputs that it declares, and the names that
    /// it uses without a declaration. They include `e` and `pi`, which arrays may replace.
    ///
    /// ```
    /// use broadloom::text::Expression;
    ///
    /// let sum = Expression::parse("b + a * b")?;
    /// assert_eq!(sum.names(), ["b", "a"]);
    /// # Ok::<(), broadloom::text::TextError>(())
    /// ```
    pub fn names(&self) -> Vec<&str> {
        self.program.inputs().map(|input| input.name()).collect()
    }

    /// The array to which the text evaluates, with its names bound to these arrays. If a name is given twice, the last array
    /// counts.
    ///
    /// # Errors
    /// For the first name or function, from the left, that is not known or does not accept its arguments.
    pub fn build<'a>(&self, names: &[(&str, Array<'a>)]) -> Result<Array<'a>, TextError> {
        self.program.only_result()?;
        let mut results = self.program.build_lenient(names)?;
        let internal = || TextError::new(crate::ErrorKind::Internal, &(0..0), "no result");
        results.pop().ok_or_else(internal)
    }
}
