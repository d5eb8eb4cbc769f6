//! The functions that an application provides for texts.
//!
//! A [`Library`] holds user-defined functions, as text, and host functions. A program keeps the functions that it was parsed with,
//! even if others are added later.

use std::sync::Arc;

use broadloom_core::Error;
use broadloom_core::text;
use broadloom_mem::HostFunction;

use super::{ParseOptions, TextError};

/// Functions for texts: user-defined functions, which are inlined into the loop that uses them, and host functions.
///
/// Cloning is cheap. A library is `Send + Sync`.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::text::Library;
/// use broadloom::{HostFunction, Kernel};
///
/// let step = HostFunction::new("step", |x: f32| if x < 0.5 { 0.0_f32 } else { 1.0 })?;
/// let library = Library::new(&[step], "def pulse(x) = step(x) * (1 - step(x - 1))")?;
///
/// let kernel = Kernel::parse_with("x: float32[n]; pulse(x) * 10", &library, &Options::default())?;
/// let mut out = [9.0_f32; 3];
/// kernel.run(&[(&[0.25_f32, 1.0, 2.0]).into()], [(&mut out).into()])?;
/// assert_eq!(out, [0.0, 10.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Library {
    pub(super) names: text::Library,
    /// The host functions, indexed by the numbers that a text's names resolve to.
    pub(super) functions: Arc<Vec<HostFunction>>,
}

impl Library {
    /// Makes a library of these host functions and of the user-defined functions in a text, which may call the host functions.
    ///
    /// The text consists of `def` statements; it may be empty.
    ///
    /// # Errors
    /// The errors of [`Library::register`] and [`Library::define`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::text::{Library, Program};
    ///
    /// let library = Library::new(&[], "def smooth(t) = t * t * (3 - 2 * t)")?;
    /// let program = Program::parse_with("smooth(x)", &library, &Default::default())?;
    /// let results = program.build(&[("x", Array::from_vec(vec![0.0, 0.5, 1.0]))])?;
    /// assert_eq!(results[0].1.to_vec::<f64>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(functions: &[HostFunction], text: &str) -> Result<Library, Error> {
        let mut library = Library::default();
        for function in functions {
            library.register(function)?;
        }
        library.define(text)?;
        Ok(library)
    }

    /// Adds the user-defined functions of a text that consists of `def` statements, parsed within the default limits; they may use
    /// functions already in the library.
    ///
    /// # Errors
    /// If the text contains other statements or is invalid, or if a name is already in use. The library is then unchanged.
    pub fn define(&mut self, text: &str) -> Result<(), TextError> {
        self.define_with(text, &ParseOptions::default())
    }

    /// [`Library::define`] with limits given by `options`.
    ///
    /// # Errors
    /// The errors of [`Library::define`], and if the text exceeds a limit.
    pub fn define_with(&mut self, text: &str, options: &ParseOptions) -> Result<(), TextError> {
        // Reading a decimal may multiply by a power of ten, in the default floating-point environment.
        let _ieee = broadloom_mem::FloatEnv::ieee();
        self.names.define(text, options)
    }

    /// Adds a host function under its name.
    ///
    /// # Errors
    /// [`ErrorKind::Name`](crate::ErrorKind::Name) if the name is already in use. The library is then unchanged.
    pub fn register(&mut self, function: &HostFunction) -> Result<(), Error> {
        let arity = function.signature().operands().len() as u32;
        self.names.declare(function.name(), self.functions.len() as u32, arity)?;
        Arc::make_mut(&mut self.functions).push(function.clone());
        Ok(())
    }

    /// The names of the functions, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.names()
    }
}
