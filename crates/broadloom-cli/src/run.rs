//! The only module of this crate that calls the engine.
//!
//! [`Settings`] contains the engine's options from the command line. Its methods type-check, evaluate and
//! explain expressions with these options.

use broadloom::text::Program;
use broadloom::{
    Array, Chunks, Evaluation, Explanation, IntDivision, Options, Passes, Promotion, explain_many,
    with_promotion,
};

use crate::args::EvalArgs;
use crate::failure::Failure;

/// The options with which expressions are type-checked and evaluated.
#[derive(Clone, Debug)]
pub struct Settings {
    options: Options,
    promotion: Promotion,
}

impl Settings {
    /// The options given on a command line.
    pub fn new(args: &EvalArgs) -> Settings {
        let options = Options {
            executor: args.executor.into(),
            vector_width: args.vector_width,
            threads: args.threads.map(Into::into),
            int_division: args.int_div_zero.into(),
            accuracy: args.accuracy.into(),
            contract: args.contract,
            ..Options::default()
        };
        Settings { options, promotion: args.promotion.into() }
    }

    /// Type-checks a program over these arrays, and returns its results.
    pub fn build<'a>(
        &self,
        program: &Program,
        names: &[(&str, Array<'a>)],
    ) -> Result<Vec<Array<'a>>, Failure> {
        let results = with_promotion(self.promotion, || program.build(names)).map_err(Failure::Text)?;
        Ok(results.into_iter().map(|(_, array)| array).collect())
    }

    /// Evaluates arrays.
    pub fn eval(&self, arrays: &[&Array<'_>]) -> Result<Vec<Array<'static>>, Failure> {
        Evaluation::with(&self.options).eval_many(arrays).map_err(Failure::Eval)
    }

    /// Divides results into chunks that take at most `bytes` of memory.
    pub fn chunks<'a>(
        &self,
        results: &[&Array<'a>],
        inputs: &[&Array<'a>],
        max_bytes: usize,
    ) -> broadloom::Result<Chunks<'a>> {
        Chunks::new(results, inputs, &Options { max_bytes, ..self.options.clone() })
    }

    /// Plans the passes over inputs that results need, in chunks of at most `bytes` of memory.
    pub fn passes<'a>(
        &self,
        results: &[&Array<'a>],
        inputs: &[&Array<'a>],
        max_bytes: usize,
    ) -> broadloom::Result<Passes<'a>> {
        Passes::new(results, inputs, &Options { max_bytes, ..self.options.clone() })
    }

    /// The minimum memory limit with which results can be computed, in bytes.
    pub fn least_bytes(&self, results: &[&Array<'_>], inputs: &[&Array<'_>]) -> broadloom::Result<usize> {
        Passes::least_bytes(results, inputs, &self.options)
    }

    /// Whether computing an element can fail, in which case elements that are not printed must be evaluated
    /// too.
    pub fn can_fail(&self) -> bool {
        self.options.int_division == IntDivision::Error
    }

    /// Explains how arrays would be evaluated together. The explanation includes the code of their kernels
    /// if `code` is set.
    pub fn explain(&self, arrays: &[&Array<'_>], code: bool) -> Result<Explanation, Failure> {
        explain_many(arrays, &self.options, code).map_err(Failure::Eval)
    }
}
