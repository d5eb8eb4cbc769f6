//! Explains the evaluation of arrays, under names that their owner gives them.
//!
//! Names are no part of an expression, so that plans and caches don't depend on them: they are given to what was explained.

use broadloom_core::Result;

use crate::array::Array;
use crate::engine::{Detail, Engine, Options};
use crate::explain::Explanation;
use crate::lower::{Lowered, Place};

/// How [`eval_many_with`](crate::eval_many_with) would evaluate arrays: all of them in one explanation, and one picture; with
/// the CLIF and the disassembly of each kernel, if `code` is asked for.
///
/// An array that owns its values in order is shared by an evaluation, not computed; the explanation says so.
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
/// let picture = explanation.with_inputs([("x", &x)]).with_results(["root", "next"]).to_svg();
/// assert!(picture.contains("float64[2] → next"));
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// As [`eval_many_with`](crate::eval_many_with), though nothing is computed.
pub fn explain_many(arrays: &[&Array<'_>], options: &Options, code: bool) -> Result<Explanation> {
    let detail = if code { Detail::Code } else { Detail::Plan };
    let (settled, numbers): (Vec<usize>, Vec<usize>) =
        (0..arrays.len()).partition(|&i| arrays[i].settled().is_some());
    let open: Vec<&Array<'_>> = numbers.iter().map(|&i| arrays[i]).collect();
    let explained = Engine::global().explain(&open, options, detail)?;
    Ok(Explanation { numbers, settled, ..explained })
}

impl Array<'_> {
    /// How the expression would be evaluated, as text to read; its form may change in any version.
    ///
    /// # Errors
    /// As [`Array::eval`], though nothing is computed.
    pub fn explain(&self) -> Result<String> {
        self.explain_with(&Options::default(), false)
    }

    /// [`Array::explain`] with options; with the CLIF and the disassembly of each kernel too, if `code` is asked for.
    ///
    /// # Errors
    /// As [`Array::eval_with`], though nothing is computed.
    pub fn explain_with(&self, options: &Options, code: bool) -> Result<String> {
        self.explanation(options, code).map(|explanation| explanation.to_string())
    }

    /// How the expression would be evaluated, as a page with the graph drawn, its kernels and their code:
    /// [`Explanation::to_html`].
    ///
    /// # Errors
    /// As [`Array::eval`], though nothing is computed.
    ///
    /// ```
    /// use broadloom::prelude::*;
    ///
    /// let x = Array::from_vec(vec![1.0_f32, 2.0]);
    /// assert!((&x * 2 + 1).explain_html()?.contains("<svg"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn explain_html(&self) -> Result<String> {
        Ok(self.explanation(&Options::default(), true)?.to_html("broadloom"))
    }

    /// How the expression would be evaluated, to be shown as text or as a page; with the CLIF and the disassembly of
    /// each kernel, if `code` is asked for.
    ///
    /// # Errors
    /// As [`Array::eval_with`], though nothing is computed.
    pub fn explanation(&self, options: &Options, code: bool) -> Result<Explanation> {
        explain_many(&[self], options, code)
    }
}

impl Explanation {
    /// The explanation with names of inputs, which are numbered otherwise: each array gives its name to the memory that it
    /// is, is a view of, or is computed from alone.
    ///
    /// Names are looked up by memory, so the arrays must still be those that were explained; of two names for one memory the
    /// first counts, and names of other arrays are not used. A name changes nothing else: no plan depends on it.
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
            // What has no values has no memory to give a name to.
            let Ok(lowered) = Lowered::new(&[array], Options::default().size_limits()) else { continue };
            let [data] = lowered.slots() else { continue };
            let slot = self.places.iter().position(|known| *known == Place::of(data));
            if let Some(unnamed) = slot.map(|slot| &mut self.inputs[slot]).filter(|name| name.is_empty()) {
                *unnamed = name.to_owned();
            }
        }
        self
    }

    /// The explanation with names of the results, in the order of the arrays that are explained.
    #[must_use]
    pub fn with_results<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Explanation {
        self.outputs = names.into_iter().map(str::to_owned).collect();
        self
    }
}
