//! Programs in the text language.
//!
//! A program has inputs, bindings, user-defined functions and several results. With an array for each input it evaluates to an
//! array for each result. Each array that is bound to a name must be used by the text and have the type that the text declares; a
//! symbol has the same value everywhere.

use std::sync::Arc;

use broadloom_core::text::{self, Module, ParseOptions, Span, TextError};
use broadloom_core::{DType, Dim, Error, ErrorKind};
use broadloom_mem::FloatEnv;
use broadloom_mem::HostFunction;

use super::library::Library;
use super::meaning::Arrays;
use crate::array::Array;
use crate::engine::Options;
use crate::gradients::variable;
use crate::kernel::Kernel;
use crate::promote::with_promotion;

/// A parsed program, to be built with different arrays.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::text::Program;
///
/// let program = Program::parse("x: float32[n]; return y = x * 2, total = x + 1")?;
/// let results = program.build(&[("x", Array::from_vec(vec![1.0_f32, 2.0]))])?;
/// assert_eq!(results[0].0, "y");
/// assert_eq!(results[1].1.to_vec::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    module: Module,
    /// The host functions of the library with which the program was parsed.
    functions: Arc<Vec<HostFunction>>,
}

/// An array as a variable of derivatives, if it has floats in memory.
fn as_variable<'a>(x: &Array<'a>) -> Array<'a> {
    if x.in_memory().is_none() {
        return x.clone();
    }
    variable(x).unwrap_or_else(|_| x.clone())
}

/// An input of a program.
#[derive(Clone, Copy, Debug)]
pub struct Input<'p>(text::Input<'p>);

impl<'p> Input<'p> {
    /// The input's name.
    pub fn name(&self) -> &'p str {
        self.0.name()
    }

    /// The dtype; `None` for a name that is used without being declared.
    pub fn dtype(&self) -> Option<DType> {
        self.0.dtype()
    }

    /// The default value of `e` or `pi`, if the name is not declared: it is used if no array is given for the name.
    ///
    /// ```
    /// use broadloom::text::Program;
    ///
    /// let program = Program::parse("2 * pi * r")?;
    /// let constants: Vec<_> = program.inputs().map(|input| input.constant()).collect();
    /// assert_eq!(constants, [Some(std::f64::consts::PI), None]);
    /// # Ok::<(), broadloom::text::TextError>(())
    /// ```
    pub fn constant(&self) -> Option<f64> {
        self.0.constant()
    }

    /// The extents; `None` for a name that is used without being declared.
    pub fn dims(&self) -> Option<Vec<Dim>> {
        self.0.dims()
    }

    /// The position of the first occurrence of the name.
    pub fn span(&self) -> Span {
        self.0.span()
    }
}

impl Program {
    /// Parses a text within the default limits.
    ///
    /// # Errors
    /// If the text is not a program, or uses an unknown name or function.
    pub fn parse(text: &str) -> Result<Program, TextError> {
        Program::parse_with(text, &Library::default(), &ParseOptions::default())
    }

    /// Parses a text that may use the functions of a library, within limits.
    ///
    /// # Errors
    /// If the text is not a program, uses an unknown name or function, or exceeds a limit.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::text::{Library, ParseOptions, Program};
    ///
    /// let library = Library::new(&[], "def half(t) = t / 2; def quarter(t) = half(half(t))")?;
    /// assert!(Program::parse_with("quarter(x)", &library, &ParseOptions::default()).is_ok());
    ///
    /// let limits = ParseOptions { max_nodes: 4, ..ParseOptions::default() };
    /// let error = Program::parse_with("x + 1 + 2 + 3", &library, &limits).unwrap_err();
    /// assert_eq!(error.kind(), broadloom::ErrorKind::Limit);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn parse_with(text: &str, library: &Library, options: &ParseOptions) -> Result<Program, TextError> {
        Ok(Program { module: parse_module(text, library, options)?, functions: library.functions.clone() })
    }

    /// The inputs: the declared ones, in order, then the names that are used without being declared, each once.
    pub fn inputs(&self) -> impl Iterator<Item = Input<'_>> {
        self.module.inputs().map(Input)
    }

    /// The names of the results, in their order.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = &str> {
        self.module.outputs().iter().map(|output| &*output.name)
    }

    /// Whether each part of the results depends only on the same part of the inputs, so that the results may be computed part by
    /// part. This holds if the program has no views, no reductions, and no declared extents, which a part would not match.
    ///
    /// ```
    /// use broadloom::text::Program;
    ///
    /// assert!(Program::parse("s = a + b; s / 2")?.is_elementwise());
    /// assert!(!Program::parse("a[1:] - a[:-1]")?.is_elementwise());
    /// assert!(!Program::parse("a - mean(a)")?.is_elementwise());
    /// # Ok::<(), broadloom::text::TextError>(())
    /// ```
    pub fn is_elementwise(&self) -> bool {
        self.module.is_elementwise()
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.module.ast().text()
    }

    /// Builds the results, with the inputs bound to these arrays. Returns each result with its name.
    ///
    /// An array must have the dtype and the extents that the text declares; a symbol has the same value everywhere. A declared
    /// input without an array becomes an [`Array::input`], which is then an input of the kernels that are built from the results.
    ///
    /// # Errors
    /// For a name that is given twice or does not occur in the text; for an undeclared name without an array; for an array whose
    /// type is not the declared one; for the first function, from the left, that does not accept its arguments; and if the
    /// user-defined functions exceed [`ParseOptions::max_nodes`] when expanded.
    pub fn build<'a>(&self, bound: &[(&str, Array<'a>)]) -> Result<Vec<(&str, Array<'a>)>, TextError> {
        let mut known = std::collections::HashSet::new();
        let inputs: std::collections::HashSet<&str> = self.inputs().map(|input| input.name()).collect();
        for (name, _) in bound {
            let refuse = |why: &str| {
                TextError::new(ErrorKind::Name, &(0..0), format!("an array is given for `{name}`, {why}"))
                    .in_text(self.text())
            };
            if !known.insert(*name) {
                return Err(refuse("and another one too"));
            }
            if !inputs.contains(name) {
                let names = self.module.inputs().map(|input| input.name());
                let near = text::nearest(name, names).map(|near| format!("did you mean `{near}`?"));
                let error = refuse("which the text does not use");
                return Err(near.map_or(error.clone(), |help| error.with_help(help)));
            }
        }
        let arrays = self.build_lenient(bound)?;
        Ok(self.outputs().zip(arrays).collect())
    }

    /// Builds the kernel of the program. Its inputs are the declared inputs, its outputs the results.
    ///
    /// # Errors
    /// The errors of [`Program::build`] without arrays; an error of kind [`ErrorKind::Limit`] for expressions beyond the options'
    /// limits.
    pub fn kernel(&self, options: &Options) -> Result<Kernel, TextError> {
        with_promotion(options.promotion, || {
            let undeclared =
                self.inputs().find(|input| input.dtype().is_none() && input.constant().is_none());
            if let Some(input) = undeclared {
                let name = input.name();
                let error = TextError::new(ErrorKind::Name, &input.span(), format!("`{name}` is not known"));
                let error = error.in_text(self.text());
                let declared = self.inputs().filter(|input| input.dtype().is_some());
                return Err(error.with_help(match text::nearest(name, declared.map(|input| input.name())) {
                    Some(other) => format!("did you mean `{other}`?"),
                    None => format!("to make it an input, declare it: `{name}: float64[n]`"),
                }));
            }
            let whole = |e: Error| {
                let error = TextError::new(e.kind(), &(0..self.text().len() as u32), e.message());
                let error = error.in_text(self.text());
                e.help().map_or(error.clone(), |help| error.with_help(help))
            };
            let declared = self
                .inputs()
                .filter(|input| input.dtype().is_some())
                .map(|input| {
                    let (dtype, dims) =
                        (input.dtype().unwrap_or(DType::Float64), input.dims().unwrap_or_default());
                    Array::input(input.name(), dtype, &dims).map_err(whole)
                })
                .collect::<Result<Vec<_>, _>>()?;
            let outputs = self.build(&[])?;
            let outputs: Vec<(&str, &Array<'_>)> =
                outputs.iter().map(|(name, array)| (*name, array)).collect();
            Kernel::named(&outputs, &declared.iter().collect::<Vec<_>>(), options).map_err(whole)
        })
    }

    /// Builds the results. Names that the text does not use are ignored, and if a name is given twice, the last array is used.
    pub(super) fn build_lenient<'a>(&self, bound: &[(&str, Array<'a>)]) -> Result<Vec<Array<'a>>, TextError> {
        // Errors format literals, in the default floating-point environment.
        let _ieee = FloatEnv::ieee();
        if !self.module.differentiates() {
            return text::evaluate(&self.module, &mut Arrays::new(bound, &self.functions));
        }
        // Views of an array in memory would not depend on it.
        let bound: Vec<(&str, Array<'a>)> = bound.iter().map(|(name, x)| (*name, as_variable(x))).collect();
        text::evaluate(&self.module, &mut Arrays::new(&bound, &self.functions))
    }

    /// Returns an error if the program has several results.
    pub(super) fn only_result(&self) -> Result<(), TextError> {
        match self.module.outputs() {
            [_] => Ok(()),
            outputs => {
                let message = format!("the text has {} results, not one", outputs.len());
                Err(TextError::new(ErrorKind::Arity, &self.module.result_span(1), message)
                    .in_text(self.text()))
            }
        }
    }
}

impl Kernel {
    /// Builds the kernel of a program in the text language (docs/language.md). Its inputs are the declared inputs, its outputs the
    /// program's results. Dtypes are promoted according to [`Options::promotion`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Kernel, Options};
    ///
    /// let kernel = Kernel::parse(
    ///     "price: float64[n]; rate: float64\n\
    ///      tax = price * rate\n\
    ///      return tax, total = price + tax",
    ///     &Options::default(),
    /// )?;
    /// let (mut tax, mut total) = ([0.0; 2], [0.0; 2]);
    /// kernel.run(&[(&[100.0, 50.0]).into(), (&[0.25]).into()], [(&mut tax).into(), (&mut total).into()])?;
    /// assert_eq!((tax, total), ([25.0, 12.5], [125.0, 62.5]));
    ///
    /// let e = Kernel::parse("x: float32[n]; sqrt(x) + y", &Options::default()).unwrap_err();
    /// assert_eq!((e.span.clone(), &*e.message), (25..26, "`y` is not known"));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not a program, contains a type error, uses a name that it does not declare, or exceeds a limit.
    pub fn parse(text: &str, options: &Options) -> Result<Kernel, TextError> {
        Kernel::parse_with(text, &Library::default(), options)
    }

    /// [`Kernel::parse`], for a text that may use the functions of a library.
    ///
    /// # Errors
    /// The errors of [`Kernel::parse`].
    pub fn parse_with(text: &str, library: &Library, options: &Options) -> Result<Kernel, TextError> {
        Program::parse_with(text, library, &ParseOptions::default())?.kernel(options)
    }
}

/// Parses and resolves in the default floating-point environment: reading a decimal may multiply by a power of ten.
fn parse_module(text: &str, library: &Library, options: &ParseOptions) -> Result<Module, TextError> {
    let _ieee = FloatEnv::ieee();
    Module::parse(text, &library.names, options)
}
