//! The only module of this crate that calls the engine.
//!
//! [`Settings`] holds the engine's options from the command line; its methods type, evaluate and explain expressions
//! with them.

use broadloom::text::{Expression, Program};
use broadloom::{
    Array, DType, Error, ErrorKind, Explanation, IntDivision, Options, Promotion, eval_many_with,
    with_promotion,
};
use broadloom_mem::Buffer;

use crate::args::EvalArgs;
use crate::failure::Failure;

/// How expressions are typed and evaluated.
#[derive(Clone, Debug)]
pub struct Settings {
    options: Options,
    promotion: Promotion,
}

impl Settings {
    /// The settings of a command line.
    pub fn new(args: &EvalArgs) -> Settings {
        let options = Options {
            executor: args.executor.into(),
            vector_width: args.vector_width,
            threads: args.threads.map(Into::into),
            int_division: args.int_div_zero.into(),
            ..Options::default()
        };
        Settings { options, promotion: args.promotion.into() }
    }

    /// The array of an expression over these arrays.
    pub fn build<'a>(
        &self,
        expression: &Expression,
        names: &[(&str, Array<'a>)],
    ) -> Result<Array<'a>, Failure> {
        with_promotion(self.promotion, || expression.build(names)).map_err(Failure::Text)
    }

    /// The arrays of a program's results over these arrays.
    pub fn build_all<'a>(
        &self,
        program: &Program,
        names: &[(&str, Array<'a>)],
    ) -> Result<Vec<Array<'a>>, Failure> {
        let results = with_promotion(self.promotion, || program.build(names)).map_err(Failure::Text)?;
        Ok(results.into_iter().map(|(_, array)| array).collect())
    }

    /// The values of several arrays, in one pass where that is possible.
    pub fn eval_many(&self, arrays: &[&Array<'_>]) -> Result<Vec<Array<'static>>, Failure> {
        eval_many_with(arrays, &self.options).map_err(Failure::Eval)
    }

    /// Evaluates an array into the start of a buffer that is large enough.
    pub fn eval_into(&self, array: &Array<'_>, out: &mut Buffer) -> Result<(), Failure> {
        // A bool is the byte that it converts to; the engine would convert each on its own.
        let is_bool = array.dtype() == DType::Bool;
        let array = if is_bool { &array.astype(DType::UInt8) } else { array };
        eval_into(array, out, &self.options).map_err(Failure::Eval)
    }

    /// The values.
    pub fn eval(&self, array: &Array<'_>) -> Result<Array<'static>, Failure> {
        array.eval_with(&self.options).map_err(Failure::Eval)
    }

    /// Whether elements that are not printed can make an evaluation fail.
    pub fn can_fail(&self) -> bool {
        self.options.int_division == IntDivision::Error
    }

    /// How the array would be evaluated; with the code of its kernels, if that is asked for.
    pub fn explain(&self, array: &Array<'_>, code: bool) -> Result<Explanation, Failure> {
        array.explanation(&self.options, code).map_err(Failure::Eval)
    }
}

macro_rules! define_eval_into {
    ($(($variant:ident, $rust:ty, $name:literal))*) => {
        fn eval_into(array: &Array<'_>, out: &mut Buffer, options: &Options) -> broadloom::Result<()> {
            let misfit = || Error::new(ErrorKind::Internal, "the chunk's buffer does not fit");
            match array.dtype() {
                $(DType::$variant => {
                    let elements = out.typed_mut::<$rust>().and_then(|all| all.get_mut(..array.len()));
                    array.eval_into_with(elements.ok_or_else(misfit)?, options)
                })*
            }
        }
    };
}
broadloom_math::for_each_dtype!(define_eval_into);
