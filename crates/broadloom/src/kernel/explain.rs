//! Explains what a run of a kernel would do.
//!
//! Making an [`Explanation`] of a kernel runs nothing. It reads the measurements of previous runs, and changes neither these nor
//! the kernel.

use broadloom_core::{Dim, Layout, Result, Shape};
use smallvec::SmallVec;

use super::{Call, Kernel};
use crate::engine::{Asked, Detail, Engine};
use crate::explain::Explanation;

/// The extent that [`Kernel::explain`] assumes for a dynamic dimension.
const EXTENT: usize = 1000;

impl Kernel {
    /// A description of a run of the kernel, as text for people; its form may change in any version. A dynamic dimension is assumed
    /// to have extent 1000, unless another extent follows because slices of it are broadcast. A dynamic rank (`...`) is assumed to
    /// have no axes. [`Call::explanation`] uses the actual extents.
    ///
    /// # Errors
    /// The errors of [`Kernel::bind`], since the assumed extents may exceed the options' limits.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Kernel, Options};
    ///
    /// let x = Array::input("x", DType::Float32, &["n".into()])?;
    /// let kernel = Kernel::new(&[&(&x * 2)], &[&x], &Options::default())?;
    /// assert!(kernel.explain()?.contains("v0 reads x, contiguous"));
    ///
    /// let explanation = kernel.bind(&[("n", 1_000_000)])?.explanation(true)?;
    /// assert!(explanation.to_string().contains("float32[1000000]"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn explain(&self) -> Result<String> {
        let binding = self.0.template.assumed(self.symbols(), EXTENT);
        let layouts = self.0.inputs.iter().map(|port| {
            let named = port.dims.iter().filter(|dim| **dim != Dim::Rest);
            let extents: SmallVec<[usize; 8]> =
                named.map(|dim| binding.extent(dim)).collect::<Result<_>>()?;
            Ok(Layout::contiguous(Shape::new(&extents)?))
        });
        let bound = self.specialised(layouts.collect::<Result<_>>()?)?;
        Ok(Call { kernel: self.clone(), bound }.explanation(false)?.to_string())
    }
}

impl Call {
    /// A description of a run, which can be shown as text, or as a page by the crate `broadloom-html`. With `code` it includes the
    /// CLIF and the disassembly of each loop.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if memory cannot be allocated.
    pub fn explanation(&self, code: bool) -> Result<Explanation> {
        let inner = &self.kernel.0;
        let (template, options) = (&inner.template, &inner.options);
        let layouts: Vec<Layout> = self.bound.layouts().cloned().collect();
        let nodes = template.bind(&layouts, options.size_limits())?;
        let plan = Some(self.bound.plan());
        let asked = Asked { expression: template.expression(&nodes), plan };
        let detail = if code { Detail::Code } else { Detail::Plan };
        let explained = Engine::global().explain_expression(asked, options, detail)?;
        let names = |ports: &[super::Port]| ports.iter().map(|port| port.name.clone()).collect();
        Ok(Explanation {
            about: format!("{:?}, {}", self.kernel, self.kernel.id()),
            inputs: names(&inner.inputs),
            outputs: names(&inner.outputs),
            ..explained
        })
    }
}
