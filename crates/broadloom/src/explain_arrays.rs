//! Explains the evaluation of arrays, with names that the application provides.
//!
//! Names are not part of an expression, so that plans and caches don't depend on them. They are added to an explanation
//! afterwards.

use broadloom_core::Result;

use crate::array::Array;
use crate::engine::{Detail, Engine, Options};
use crate::explain::Explanation;
use crate::lower::{Lowered, Place};

/// A description of how [`Evaluation::eval_many`](crate::Evaluation::eval_many) would evaluate arrays, with one explanation for all of
/// them. With `code` it includes the CLIF and the disassembly of each kernel.
///
/// An evaluation does not compute an array that already owns its values in row-major order: the result shares the array's memory.
/// The explanation states this.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{Options, explain_many};
///
/// let x = Array::from_vec(vec![3.0_f64, 4.0]);
/// let squared = x.square();
/// let (root, next) = (squared.sqrt(), &squared + 1);
/// let explanation = explain_many(&[&root, &next], &Options::default(), false)?;
/// assert_eq!(explanation.kernels(), 1);
///
/// let text = explanation.with_inputs([("x", &x)]).with_results(["root", "next"]).to_string();
/// assert!(text.contains("is written to next\n"));
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// The errors of [`Evaluation::eval_many`](crate::Evaluation::eval_many), though nothing is computed.
pub fn explain_many(arrays: &[&Array<'_>], options: &Options, code: bool) -> Result<Explanation> {
    let detail = if code { Detail::Code } else { Detail::Plan };
    let (settled, numbers): (Vec<usize>, Vec<usize>) =
        (0..arrays.len()).partition(|&i| arrays[i].settled().is_some());
    let open: Vec<&Array<'_>> = numbers.iter().map(|&i| arrays[i]).collect();
    let explained = Engine::global().explain(&open, options, detail)?;
    Ok(Explanation { numbers, settled, ..explained })
}

impl Array<'_> {
    /// A description of the expression's evaluation, as text for people; its form may change in any version.
    ///
    /// # Errors
    /// The errors of [`Array::eval`], though nothing is computed.
    pub fn explain(&self) -> Result<String> {
        self.explain_with(&Options::default(), false)
    }

    /// [`Array::explain`] with options. With `code` it includes the CLIF and the disassembly of each kernel.
    ///
    /// # Errors
    /// The errors of [`Array::eval_with`], though nothing is computed.
    pub fn explain_with(&self, options: &Options, code: bool) -> Result<String> {
        self.explanation(options, code).map(|explanation| explanation.to_string())
    }

    /// A description of the expression's evaluation, which can be shown as text, or by the crate `broadloom-html` as a page. With
    /// `code` it includes the CLIF and the disassembly of each kernel.
    ///
    /// # Errors
    /// The errors of [`Array::eval_with`], though nothing is computed.
    pub fn explanation(&self, options: &Options, code: bool) -> Result<Explanation> {
        explain_many(&[self], options, code)
    }
}

impl Explanation {
    /// Adds names for inputs, which are otherwise numbered. Each name refers to the memory of its array. The array may also be a
    /// view of an input, or an expression that depends on only one input.
    ///
    /// Names are looked up by memory, so the explained arrays must still exist. If the same memory is given two names, the first
    /// is used. Names of arrays that the explanation does not contain are ignored. Names have no effect on plans.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::Options;
    ///
    /// let (nir, red) = (Array::from_vec(vec![0.8_f32, 0.6]), Array::from_vec(vec![0.1_f32, 0.2]));
    /// let index = (&nir - &red) / (&nir + &red);
    /// let explanation = index.explanation(&Options::default(), false)?;
    /// let text = explanation.with_inputs([("nir", &nir), ("red", &red)]).to_string();
    /// assert!(text.contains("n0: float32[2]  # nir\n") && text.contains("v1 reads red, contiguous"));
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_inputs<'n, 'x, 'a: 'x>(
        mut self,
        names: impl IntoIterator<Item = (&'n str, &'x Array<'a>)>,
    ) -> Explanation {
        self.inputs.resize(self.places.len().max(self.inputs.len()), String::new());
        for (name, array) in names {
            // An expression that can't be evaluated, such as one over a kernel's input, has no memory to name.
            let Ok(lowered) = Lowered::new(&[array], Options::default().size_limits()) else { continue };
            let [data] = lowered.slots() else { continue };
            let slot = self.places.iter().position(|known| *known == Place::of(data));
            if let Some(unnamed) = slot.map(|slot| &mut self.inputs[slot]).filter(|name| name.is_empty()) {
                *unnamed = name.to_owned();
            }
        }
        self
    }

    /// Adds names for the results, in the order of the explained arrays.
    #[must_use]
    pub fn with_results<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Explanation {
        self.outputs = names.into_iter().map(str::to_owned).collect();
        self
    }
}
