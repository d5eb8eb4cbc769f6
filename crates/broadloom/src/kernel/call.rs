//! A kernel bound to layouts: what is left is memory.
//!
//! A [`Call`] is run on memory of the layouts that its kernel was bound to. All memory is checked before the first
//! store; nothing is planned in a run, and nothing allocated in a short one.

use std::ops::Range;
use std::sync::Arc;

use broadloom_core::fuse::Source;
use broadloom_core::{DType, Dim, Error, ErrorKind, Layout, Result, Scalar, Shape};
use broadloom_mem::{Region, ViewMut};
use smallvec::SmallVec;

use super::Kernel;
use super::memory::{Form, In, Out, Place, outside};
use crate::engine::{self, Control, Destination, Engine, Executor, Options, Recipe, Watch, param};

/// A kernel for inputs of known shapes and strides: what [`Kernel::bind`] gives, to be run many times.
///
/// It is cheap to clone, `Send + Sync`, and may run on any number of threads at once. A run costs some tens of
/// nanoseconds more than its work.
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
    pub(super) bound: Arc<Bound>,
}

/// What a kernel becomes for certain layouts.
pub(super) struct Bound {
    recipe: Arc<Recipe>,
    inputs: Box<[Input]>,
    outputs: Box<[Operand]>,
    literals: Box<[Scalar]>,
    direct: Option<Direct>,
}

struct Input {
    operand: Operand,
    layout: Layout,
    /// Whether it may be given as a slice, without a shape.
    is_plain: bool,
}

/// What memory must be.
struct Operand {
    dtype: DType,
    bytes: usize,
}

/// The operands of the one stage of a recipe that has no more.
struct Direct {
    /// For each input of the stage, the caller's.
    inputs: SmallVec<[usize; 8]>,
    params: SmallVec<[u64; 4]>,
}

impl Direct {
    fn new(recipe: &Recipe, literals: &[Scalar]) -> Option<Direct> {
        let stage = &recipe.single_stage()?.stage;
        let given = stage.inputs.iter().map(|input| match input.source {
            Source::Slot(slot) => Some(slot as usize),
            Source::Temp(_) => None,
        });
        let params = stage.params.iter().map(|p| param(*p, literals)).collect();
        Some(Direct { inputs: given.collect::<Option<_>>()?, params })
    }
}

impl Bound {
    /// The plan for inputs of these layouts.
    pub fn new(kernel: &super::Inner, layouts: Vec<Layout>) -> Result<Bound> {
        let template = &kernel.template;
        let literals: Box<[Scalar]> = template.literals().into();
        let nodes = template.bind(&layouts, kernel.options.size_limits())?;
        let recipe = Engine::global().recipe(template.expression(&nodes), &kernel.options)?;
        drop(nodes);
        let inputs = kernel.inputs.iter().zip(layouts).map(|(port, layout)| Input {
            operand: Operand::new(port.dtype, layout.shape.elements()),
            is_plain: layout.offset == 0 && layout.is_contiguous(),
            layout,
        });
        let inputs = inputs.collect();
        let outputs = recipe.roots().iter().map(|(d, shape)| Operand::new(*d, shape.elements())).collect();
        let fits = recipe.bytes() <= kernel.options.max_bytes;
        let direct = if fits { Direct::new(&recipe, &literals) } else { None };
        Ok(Bound { recipe, inputs, outputs, literals, direct })
    }

    pub fn layouts(&self) -> impl ExactSizeIterator<Item = &Layout> {
        self.inputs.iter().map(|input| &input.layout)
    }

    pub fn output_shapes(&self) -> impl ExactSizeIterator<Item = &Shape> {
        self.recipe.roots().iter().map(|(_, shape)| shape)
    }

    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    pub fn executors(&self, options: &Options) -> Vec<Executor> {
        self.recipe.executors(Engine::global(), options)
    }

    #[inline]
    pub fn run<'o>(
        &self,
        options: &Options,
        inputs: &[In<'_>],
        outputs: impl IntoIterator<Item = Out<'o>>,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        count("inputs", inputs.len(), self.inputs.len())?;
        let mut are_slices = true;
        for (i, (given, wanted)) in inputs.iter().zip(&self.inputs).enumerate() {
            wanted.check(i, given)?;
            are_slices &= given.region.as_slice().is_some();
        }
        let mut given: SmallVec<[Out<'_>; 4]> = outputs.into_iter().collect();
        count("outputs", given.len(), self.outputs.len())?;
        for (i, (out, wanted)) in given.iter().zip(&self.outputs).enumerate() {
            are_slices &= self.check_output(i, out, wanted)?;
        }
        if let (Some(direct), Some(prepared), None, true) =
            (&self.direct, self.recipe.single_stage(), control, are_slices)
        {
            let engine = Engine::global();
            let inputs = direct.inputs.iter().map(|&i| inputs[i].region.as_slice().unwrap_or(&[]));
            let outputs = given.iter_mut().map(|out| match &mut out.place {
                Place::Bytes(bytes) => &mut **bytes,
                _ => &mut [],
            });
            // PERF: the usual short call gathers nothing.
            if let Some(compiled) = prepared.direct(engine, options) {
                return prepared.run_direct(compiled, options, inputs, outputs, &direct.params);
            }
            let inputs: SmallVec<[&[u8]; 8]> = inputs.collect();
            let mut outputs: SmallVec<[&mut [u8]; 4]> = outputs.collect();
            return prepared.run_over(engine, options, &inputs, &mut outputs, &direct.params);
        }
        self.run_anywhere(options, inputs, given, control)
    }

    /// Runs over memory of any kind.
    fn run_anywhere(
        &self,
        options: &Options,
        inputs: &[In<'_>],
        outputs: SmallVec<[Out<'_>; 4]>,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        let slots: SmallVec<[Region<'_>; 8]> = inputs.iter().map(|input| input.region).collect();
        // Inputs that are not slices may be where an output is.
        let read = inputs.iter().filter(|input| input.region.as_slice().is_none());
        let read: SmallVec<[Range<usize>; 8]> = read.map(|input| input.region.addresses()).collect();
        let copies = self.recipe.single_stage().is_none();
        let mut places: SmallVec<[(bool, Box<ViewMut<'_>>); 4]> = SmallVec::new();
        for (i, (out, (dtype, shape))) in outputs.into_iter().zip(self.recipe.roots()).enumerate() {
            let wrong = |e: Error| named(&format!("output {i}:"), e);
            let view = Out::view_of(out.place, *dtype, shape).map_err(wrong)?;
            if let Some(first) = places.iter().position(|(_, other)| !other.is_apart_from(&view)) {
                let why = format!("kernel: outputs {first} and {i} overlap");
                return Err(Error::new(ErrorKind::Memory, why));
            }
            let at = view.addresses();
            // A stage must not write what a later one reads.
            let aside = copies && read.iter().any(|r| r.start < at.end && at.start < r.end);
            places.push((aside, view));
        }
        let mut later: SmallVec<[Option<Box<ViewMut<'_>>>; 4]> = SmallVec::new();
        let mut destinations: SmallVec<[Destination<'_>; 2]> = SmallVec::new();
        for (aside, view) in places {
            let (destination, left) =
                if aside { (Destination::New, Some(view)) } else { (Destination::Given(view), None) };
            destinations.push(destination);
            later.push(left);
        }
        let watch = control.map(|control| Watch::new(control, self.recipe.elements()));
        let made = Engine::global().run(
            &self.recipe,
            &slots,
            &self.literals,
            options,
            destinations,
            watch.as_ref(),
        )?;
        for ((buffer, view), (dtype, shape)) in made.into_iter().zip(later).zip(self.recipe.roots()) {
            if let (Some(buffer), Some(view)) = (buffer, view) {
                let layout = Layout::contiguous(shape.clone());
                engine::copy(engine::view(buffer.as_bytes().into(), *dtype, &layout)?, *view)?;
            }
        }
        Ok(())
    }

    /// Whether an output is the memory that the plan is for: all of a slice.
    #[inline]
    fn check_output(&self, i: usize, out: &Out<'_>, wanted: &Operand) -> Result<bool> {
        if let Place::Bytes(bytes) = &out.place {
            wanted.check("output", i, out.dtype, bytes.as_ptr().addr(), bytes.len())?;
            return Ok(true);
        }
        let shape = &self.recipe.roots()[i].1;
        let given = match &out.place {
            Place::Raw(view) => view.shape(),
            Place::Formed(_, form) => form.shape,
            Place::Bytes(_) => &shape[..],
        };
        if out.dtype != wanted.dtype {
            return Err(wanted.refuse("output", i, out.dtype, 0));
        }
        if *given != shape[..] {
            let why = format!("kernel: output {i} has the shape {given:?}, but is {shape}");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        if let Place::Raw(view) = &out.place
            && view.item() != out.dtype.size()
        {
            let (item, dtype) = (view.item(), out.dtype);
            let why = format!("kernel: output {i} is {dtype}, but its view's elements have {item} bytes");
            return Err(Error::new(ErrorKind::DType, why));
        }
        Ok(false)
    }
}

impl Input {
    #[inline]
    fn check(&self, i: usize, given: &In<'_>) -> Result<()> {
        match &given.form {
            None if self.is_plain => {
                let memory = given.region.addresses();
                self.operand.check("input", i, given.dtype, memory.start, memory.len())
            }
            _ => self.check_form(i, given),
        }
    }

    #[cold]
    fn check_form(&self, i: usize, given: &In<'_>) -> Result<()> {
        if given.dtype != self.operand.dtype {
            return Err(self.operand.refuse("input", i, given.dtype, 0));
        }
        let Layout { shape, strides, .. } = &self.layout;
        if !given.form.as_ref().is_some_and(|form| form.is(&self.layout)) {
            let why =
                format!("kernel: input {i} is not laid out as it was bound: {shape}, strides {strides:?}");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        let size = given.dtype.size();
        let inside = match self.layout.reach() {
            Some((low, high)) => low >= 0 && (high as usize) < given.region.len() / size,
            None => shape.elements() == 0,
        };
        match (inside, self.operand.is_aligned(given.region.addresses().start)) {
            // Memory with gaps may be left out of in the middle.
            (true, true) if given.region.as_slice().is_none() => {
                let view = engine::view(given.region, given.dtype, &self.layout);
                view.map(drop).map_err(|e| named(&format!("input {i}:"), e))
            }
            (true, true) => Ok(()),
            (false, _) => Err(named(&format!("input {i}"), outside())),
            (_, false) => Err(self.operand.misaligned("input", i)),
        }
    }
}

/// An error of an operand, with what it is.
pub(super) fn named(what: &str, e: Error) -> Error {
    let error = Error::new(e.kind(), format!("kernel: {what} {}", e.message()));
    match e.help() {
        Some(help) => error.with_help(help),
        None => error,
    }
}

impl Call {
    /// Runs the kernel: one operand per input and output, each with the dtype and layout that it is bound to.
    ///
    /// # Errors
    /// [`ErrorKind::Arity`], [`ErrorKind::DType`], [`ErrorKind::Shape`] or [`ErrorKind::Memory`] for operands that
    /// don't fit, before anything is written; those of [`Array::eval`](crate::Array::eval), and then the outputs are
    /// unspecified.
    #[inline]
    pub fn run<'o>(&self, inputs: &[In<'_>], outputs: impl IntoIterator<Item = Out<'o>>) -> Result<()> {
        self.bound.run(&self.kernel.0.options, inputs, outputs, None)
    }

    /// [`Call::run`], watched.
    ///
    /// # Errors
    /// Those of [`Call::run`]; [`ErrorKind::Cancelled`], and then the outputs are unspecified.
    pub fn run_with<'o>(
        &self,
        inputs: &[In<'_>],
        outputs: impl IntoIterator<Item = Out<'o>>,
        control: &Control<'_>,
    ) -> Result<()> {
        self.bound.run(&self.kernel.0.options, inputs, outputs, Some(control))
    }

    /// Computes these rows of the outputs (indices of their first axis), on this thread: for a host that shares the
    /// work among threads of its own. Inputs are given whole; outputs are the memory of these rows alone.
    ///
    /// Rows that are as many as in an earlier run cost no planning.
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
    /// Those of [`Call::run`]; [`ErrorKind::Shape`] for rows that are not there, for outputs without a common first
    /// axis, and for a kernel with views in it.
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
            return fail("its outputs have no common first axis, or there are views in it".to_owned());
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
            // Where `...` is no axes at all, the first axis is the one behind it.
            let first = port.dims.iter().find(|dim| has_rest || **dim != Dim::Rest);
            if layout.shape.rank() == of.rank() && first == Some(&axis) {
                let step = layout.strides[0];
                let rows_before = match step >= 0 {
                    true => rows.start,
                    false => layout.shape[0] - rows.end,
                };
                let left_out = layout.shape[0] - rows.len();
                // The same layout for rows from any start: one plan serves them all.
                region = region.skip(rows_before * step.unsigned_abs() * given.dtype.size());
                let mut extents: SmallVec<[usize; 4]> = layout.shape[..].into();
                extents[0] = rows.len();
                // Of no rows, it means nothing.
                let offset = (layout.offset + left_out as isize * step.min(0)).max(0) as usize;
                layout = Form { offset, shape: &extents, strides: Some(&layout.strides) }.layout()?;
            }
            layouts.push(layout);
            regions.push(region);
        }
        let part = self.kernel.bound(layouts)?;
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

    /// Compiles now what the first runs would have to wait for, whatever it costs.
    ///
    /// Machine code is made for the kernel, not for the extents: other calls of the same kernel find it. Operands whose
    /// elements don't follow each other may need other code, which their first run compiles.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if the compiler fails. Where machine code is not to be had, or not wanted
    /// ([`Options::executor`]), nothing happens.
    pub fn compile(&self) -> Result<()> {
        self.bound.recipe.compile(Engine::global(), &self.kernel.0.options)
    }

    /// The kernel.
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

    /// Who would run each of the kernel's loops now, in their order: under [`Executor::Auto`] that changes as a kernel
    /// is run, since machine code has to pay for being compiled.
    pub fn executors(&self) -> Vec<Executor> {
        self.bound.executors(&self.kernel.0.options)
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shapes: Vec<String> = self.bound.layouts().map(|layout| layout.shape.to_string()).collect();
        write!(f, "Call({:?} of {})", self.kernel, shapes.join(", "))
    }
}

#[inline]
pub(super) fn count(what: &str, given: usize, wanted: usize) -> Result<()> {
    if given == wanted {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Arity, format!("kernel: {given} {what}, it has {wanted}")))
}

impl Operand {
    fn new(dtype: DType, elements: usize) -> Operand {
        Operand { dtype, bytes: elements * dtype.size() }
    }

    #[inline]
    fn check(&self, what: &str, i: usize, dtype: DType, address: usize, bytes: usize) -> Result<()> {
        if dtype == self.dtype && bytes == self.bytes && self.is_aligned(address) {
            return Ok(());
        }
        Err(self.refuse(what, i, dtype, bytes))
    }

    #[inline]
    fn is_aligned(&self, address: usize) -> bool {
        address & (self.dtype.size() - 1) == 0 || self.bytes == 0
    }

    #[cold]
    fn misaligned(&self, what: &str, i: usize) -> Error {
        let size = self.dtype.size();
        let why = format!("kernel: {what} {i} is not aligned to its elements of {size} bytes");
        Error::new(ErrorKind::Memory, why)
    }

    #[cold]
    fn refuse(&self, what: &str, i: usize, dtype: DType, bytes: usize) -> Error {
        if dtype != self.dtype {
            let why = format!("kernel: {what} {i} is {dtype}, it was built for {}", self.dtype);
            return Error::new(ErrorKind::DType, why);
        }
        if bytes == self.bytes {
            return self.misaligned(what, i);
        }
        let (given, wanted) = (bytes / dtype.size(), self.bytes / dtype.size());
        let why = format!("kernel: {what} {i} has {given} elements, it was built for {wanted}");
        Error::new(ErrorKind::Shape, why)
    }
}
