//! A kernel bound to layouts, to be run on memory.
//!
//! A [`Call`] runs on memory that has the layouts to which its kernel was bound. All memory is checked before the first store. A
//! run plans nothing, and a short run allocates nothing.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use broadloom_core::binding::Binding;
use broadloom_core::text::nearest;
use broadloom_core::{Dim, Error, ErrorKind, Layout, Result, Symbol};
use broadloom_ir::{VectorWidth, printable};
use broadloom_mem::Region;
use smallvec::SmallVec;

use crate::engine::{Control, Engine, Executor};
use crate::kernel::Kernel;
use crate::kernel::memory::{Form, In, Out};
use crate::kernel::port::Port;
use crate::kernel::specialisation::{Specialisation, count};

/// A kernel for inputs of known shapes and strides: the result of [`Kernel::bind`], to be run many times.
///
/// It is cheap to clone, `Send + Sync`, and may run on any number of threads at once. The overhead of a run is some tens of
/// nanoseconds.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{Kernel, Options};
///
/// let x = Array::input("x", DType::Float32, &["n".into()])?;
/// let kernel = Kernel::new(&[&(&x * 2)], &[&x], &Options::default())?;
/// let call = kernel.bind(&[("n", 3)])?;
///
/// let mut out = [0.0_f32; 3];
/// call.run(&[(&[1.0_f32, 2.0, 3.0]).into()], [(&mut out).into()])?;
/// assert_eq!(out, [2.0, 4.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Call {
    pub(super) kernel: Kernel,
    pub(super) bound: Arc<Specialisation>,
}

impl Kernel {
    /// Binds the symbols to these extents, for row-major inputs and outputs. [`Call::run`] then only needs memory.
    ///
    /// # Errors
    /// [`ErrorKind::Name`] for a symbol that the kernel does not have; [`ErrorKind::Shape`] for a symbol that has no extent in the
    /// list, or two different ones.
    pub fn bind(&self, extents: &[(&str, usize)]) -> Result<Call> {
        let mut binding = Binding::default();
        for (name, extent) in extents {
            match self.symbols().find(|symbol| symbol.name() == *name) {
                Some(symbol) => {
                    if let Err(bound) = binding.set(symbol, *extent) {
                        let why = format!("kernel: {symbol} is given as {bound} and as {extent}");
                        return Err(Error::new(ErrorKind::Shape, why));
                    }
                }
                None => {
                    let why = format!("kernel: it has no extent `{}`", printable(name));
                    let error = Error::new(ErrorKind::Name, why);
                    let names: Vec<String> = self.symbols().map(Symbol::to_string).collect();
                    return Err(match nearest(name, names.iter().map(String::as_str)) {
                        Some(other) => error.with_help(format!("did you mean `{other}`?")),
                        None => error,
                    });
                }
            }
        }
        let shape = |port: &Port| binding.shape(&port.dims).map(Layout::contiguous);
        let layouts = self.0.inputs.iter().map(shape).collect::<Result<_>>();
        let layouts = layouts.map_err(|e| Error::new(e.kind(), format!("kernel: {}", e.message())))?;
        Ok(Call { kernel: self.clone(), bound: self.specialised(layouts)? })
    }

    /// Binds the kernel to the layouts of these inputs. The memory and the values of the inputs are not used.
    ///
    /// # Errors
    /// The errors of [`Kernel::run`] for the inputs.
    pub fn bind_like(&self, inputs: &[In<'_>]) -> Result<Call> {
        Ok(Call { kernel: self.clone(), bound: self.specialised(self.layouts(inputs)?)? })
    }
}

impl Call {
    /// Runs the kernel. It takes one operand per input and output, each with the dtype and layout to which the kernel is bound.
    ///
    /// # Errors
    /// [`ErrorKind::Arity`], [`ErrorKind::DType`], [`ErrorKind::Shape`] or [`ErrorKind::Memory`] for operands that don't match;
    /// nothing has then been written. Also the errors of [`Array::eval`](crate::Array::eval), after which the contents of the
    /// outputs are unspecified.
    #[inline]
    pub fn run<'o>(&self, inputs: &[In<'_>], outputs: impl IntoIterator<Item = Out<'o>>) -> Result<()> {
        self.bound.run(&self.kernel.0.options, inputs, outputs, None)
    }

    /// [`Call::run`] with a [`Control`], through which the run can be cancelled and reports its progress.
    ///
    /// # Errors
    /// The errors of [`Call::run`]; [`ErrorKind::Cancelled`], after which the contents of the outputs are unspecified.
    pub fn run_with<'o>(
        &self,
        inputs: &[In<'_>],
        outputs: impl IntoIterator<Item = Out<'o>>,
        control: &Control<'_>,
    ) -> Result<()> {
        self.bound.run(&self.kernel.0.options, inputs, outputs, Some(control))
    }

    /// Computes these rows of the outputs (indices of their first axis) on this thread, for an application that divides the work
    /// among threads of its own. The inputs are complete; the outputs are the memory of these rows only.
    ///
    /// A run with the same number of rows as an earlier one plans nothing.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Kernel, Options};
    ///
    /// let x = Array::input("x", DType::Float64, &["n".into()])?;
    /// let call = Kernel::new(&[&x.sqrt()], &[&x], &Options::default())?.bind(&[("n", 4)])?;
    /// let (data, mut out) = ([1.0, 4.0, 9.0, 16.0], [0.0; 4]);
    /// std::thread::scope(|threads| {
    ///     for (i, part) in out.chunks_mut(2).enumerate() {
    ///         let (call, data) = (&call, &data);
    ///         threads.spawn(move || call.run_range(2 * i..2 * i + 2, &[data.into()], [part.into()]));
    ///     }
    /// });
    /// assert_eq!(out, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Call::run`]; [`ErrorKind::Shape`] for rows that do not exist, for outputs without a common first axis, and for a
    /// kernel with views or reductions.
    pub fn run_range<'o>(
        &self,
        rows: Range<usize>,
        inputs: &[In<'_>],
        outputs: impl IntoIterator<Item = Out<'o>>,
    ) -> Result<()> {
        let fail = |why: String| Err(Error::new(ErrorKind::Shape, format!("kernel: {why}")));
        let (kernel, bound) = (&self.kernel.0, &self.bound);
        let of = bound.output_shapes().next().cloned().unwrap_or_default();
        let Some((axis, has_rest)) = kernel.common_axis(of.rank()) else {
            let why = "its outputs have no common first axis, or there are views or reductions in it";
            return fail(why.to_owned());
        };
        if rows.start > rows.end || rows.end > of.first().copied().unwrap_or(0) {
            return fail(format!("there are no rows {rows:?} in outputs of the shape {of}"));
        }
        count("inputs", inputs.len(), bound.inputs.len())?;
        let mut layouts = Vec::with_capacity(inputs.len());
        let mut regions: SmallVec<[Region<'_>; 8]> = SmallVec::new();
        for (i, ((given, wanted), port)) in inputs.iter().zip(&bound.inputs).zip(&kernel.inputs).enumerate() {
            wanted.check(i, given)?;
            let mut layout = wanted.layout.clone();
            let mut region = given.region;
            // The first axis belongs to the first dim, or to the second dim if the first is `...` and represents no axes.
            let first = port.dims.iter().find(|dim| has_rest || **dim != Dim::Rest);
            if layout.shape.rank() == of.rank() && first == Some(&axis) {
                let step = layout.strides[0];
                let rows_before = match step >= 0 {
                    true => rows.start,
                    false => layout.shape[0] - rows.end,
                };
                let left_out = layout.shape[0] - rows.len();
                // The beginning of the rows is expressed by shifting the region, not by an offset in the layout, so that all ranges
                // of equal length share a plan.
                region = region.skip(rows_before * step.unsigned_abs() * given.dtype.size());
                let mut extents: SmallVec<[usize; 4]> = layout.shape[..].into();
                extents[0] = rows.len();
                // If there are no rows, any offset is valid.
                let offset = (layout.offset + left_out as isize * step.min(0)).max(0) as usize;
                layout = Form { offset, shape: &extents, strides: Some(&layout.strides) }.layout()?;
            }
            layouts.push(layout);
            regions.push(region);
        }
        let part = self.kernel.specialised(layouts)?;
        let given: SmallVec<[In<'_>; 8]> = inputs
            .iter()
            .zip(&regions)
            .zip(part.layouts())
            .map(|((input, region), Layout { shape, strides, offset })| {
                In::raw(input.dtype, *region, *offset as usize, shape, strides)
            })
            .collect();
        part.run(&kernel.alone, &given, outputs, None)
    }

    /// Compiles the kernel's machine code now, even if the estimated cost speaks against it, so that no run has to wait for it.
    ///
    /// Machine code depends on the kernel and not on the extents, so all calls of the kernel use it. Operands that are not
    /// contiguous may need other code, which their first run compiles.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if the compiler fails. If no compiler is available, or the option
    /// [`executor`](crate::Options::executor) excludes machine code, the function does nothing and returns no error.
    pub fn compile(&self) -> Result<()> {
        self.bound.plan().compile(&Engine::global().request(&self.kernel.0.options))
    }

    /// An upper estimate of the time that a run takes on one thread; [`Duration::MAX`] for kernels with host functions, whose cost
    /// is unknown.
    ///
    /// ```
    /// use std::time::Duration;
    /// use broadloom::prelude::*;
    /// use broadloom::{Kernel, Options};
    ///
    /// // An element is read, but a billion are added up.
    /// let x = Array::input("x", DType::Float64, &[1.into()])?;
    /// let sum = x.broadcast_to(&[1_000_000_000])?.sum(())?;
    /// let call = Kernel::new(&[&sum], &[&x], &Options::default())?.bind(&[])?;
    /// assert!(call.estimated_time() > Duration::from_millis(100));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn estimated_time(&self) -> Duration {
        Duration::try_from_secs_f64(self.bound.plan().work().time * 1e-9).unwrap_or(Duration::MAX)
    }

    /// The kernel that this call runs.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The shapes of the outputs.
    pub fn output_shapes(&self) -> impl ExactSizeIterator<Item = &[usize]> {
        self.bound.output_shapes().map(|shape| &shape[..])
    }

    /// The shapes of the inputs.
    pub fn input_shapes(&self) -> impl ExactSizeIterator<Item = &[usize]> {
        self.bound.layouts().map(|layout| &layout.shape[..])
    }

    /// For each of the kernel's loops, in order, the executor that would run it now. Under [`Executor::Auto`] this changes between
    /// runs: a loop is compiled once machine code would have saved more time in previous runs than the compilation takes.
    pub fn executors(&self) -> Vec<Executor> {
        self.bound.executors(&self.kernel.0.options)
    }

    /// The vector width of each loop's machine code, in the order of [`Call::executors`]; `None` for a loop that the interpreter
    /// would run.
    pub fn vector_widths(&self) -> Vec<Option<VectorWidth>> {
        self.bound.vector_widths(&self.kernel.0.options)
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shapes: Vec<String> = self.bound.layouts().map(|layout| layout.shape.to_string()).collect();
        write!(f, "Call({:?} of {})", self.kernel, shapes.join(", "))
    }
}
