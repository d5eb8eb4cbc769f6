//! The specialisation of a kernel for given layouts of its inputs: an execution plan, and the requirements that the
//! operands must meet.
//!
//! All memory is checked before the first store. A run plans nothing, and a short run allocates nothing.

use std::sync::Arc;

use broadloom_core::fuse::Source;
use broadloom_core::{DType, Error, ErrorKind, Layout, Result, Scalar, Shape};
use broadloom_ir::VectorWidth;
use broadloom_mem::{Operands, ViewError, ViewMut, with_bools_as_bytes};
use smallvec::SmallVec;

use crate::engine::{
    self, Control, Engine, ExecutionPlan, Executor, Options, Params, Watch, is_long, params,
};
use crate::kernel::memory::{In, Out, PortMemory, outside};
use crate::kernel::port::Port;
use crate::lower::Template;

/// A kernel with the execution plan for certain layouts of its inputs.
pub(super) struct Specialisation {
    plan: Arc<ExecutionPlan>,
    pub inputs: Box<[Input]>,
    outputs: Box<[Required]>,
    literals: Box<[Scalar]>,
    direct: Option<Direct>,
}

pub(super) struct Input {
    operand: Required,
    pub layout: Layout,
    /// Whether a slice without a shape may be passed for this operand.
    is_plain: bool,
}

/// The dtype and size that an operand's memory must have.
struct Required {
    dtype: DType,
    bytes: usize,
}

/// The operands of a plan with a single stage. A short run passes them to the stage directly.
struct Direct {
    /// For each input of the stage, the index of the caller's input; `None` for generated numbers.
    inputs: SmallVec<[Option<usize>; 4]>,
    params: Params,
}

impl Direct {
    fn new(plan: &ExecutionPlan, literals: &[Scalar]) -> Option<Direct> {
        let stage = &plan.single_stage()?.stage;
        let given = stage.inputs.iter().map(|input| match input.source {
            Source::Slot(slot) | Source::SlotWords(slot) => Some(Some(slot as usize)),
            Source::Index => Some(None),
            Source::Temp(_) | Source::TempWords(_) => None,
        });
        Some(Direct { inputs: given.collect::<Option<_>>()?, params: params(stage, literals) })
    }

    /// Appends the memory of the stage's inputs to the operands. Generated numbers have no memory.
    #[inline]
    fn read<'m>(&self, inputs: &[In<'m>], operands: &mut Operands<'m>) {
        let region = |i: &Option<usize>| i.map_or([][..].into(), |i| inputs[i].region);
        self.inputs.iter().for_each(|i| operands.read(region(i)));
    }
}

impl Specialisation {
    /// Plans the kernel for inputs of these layouts.
    pub(crate) fn new(
        template: &Template,
        ports: &[Port],
        options: &Options,
        layouts: Vec<Layout>,
    ) -> Result<Specialisation> {
        let dims = ports.iter().map(|port| &port.dims).zip(layouts.iter().map(|layout| &layout.shape));
        template.check_meetings(dims)?;
        let literals: Box<[Scalar]> = template.literals().into();
        let nodes = template.bind(&layouts, options.size_limits())?;
        let plan = Engine::global().execution_plan(template.expression(&nodes), options, None)?;
        drop(nodes);
        let inputs = ports.iter().zip(layouts).map(|(port, layout)| Input {
            operand: Required::new(port.dtype, layout.shape.elements()),
            is_plain: layout.offset == 0 && layout.is_contiguous(),
            layout,
        });
        let inputs = inputs.collect();
        let outputs = plan.roots().iter().map(|(d, shape)| Required::new(*d, shape.elements())).collect();
        let fits = plan.bytes() <= options.max_bytes && !is_long(None, options.max_time, plan.work());
        let direct = if fits { Direct::new(&plan, &literals) } else { None };
        Ok(Specialisation { plan, inputs, outputs, literals, direct })
    }

    pub(crate) fn layouts(&self) -> impl ExactSizeIterator<Item = &Layout> {
        self.inputs.iter().map(|input| &input.layout)
    }

    pub(crate) fn output_shapes(&self) -> impl ExactSizeIterator<Item = &Shape> {
        self.plan.roots().iter().map(|(_, shape)| shape)
    }

    pub(crate) fn plan(&self) -> &ExecutionPlan {
        &self.plan
    }

    pub(crate) fn executors(&self, options: &Options) -> Vec<Executor> {
        self.plan.executors(&Engine::global().request(options))
    }

    pub(crate) fn vector_widths(&self, options: &Options) -> Vec<Option<VectorWidth>> {
        self.plan.vector_widths(&Engine::global().request(options))
    }

    #[inline]
    pub(crate) fn run<'o>(
        &self,
        options: &Options,
        inputs: &[In<'_>],
        outputs: impl IntoIterator<Item = Out<'o>>,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        let control = match control {
            Some(control) => self.watched(control, options)?,
            None => None,
        };
        count("inputs", inputs.len(), self.inputs.len())?;
        for (i, (given, wanted)) in inputs.iter().zip(&self.inputs).enumerate() {
            wanted.check(i, given)?;
        }
        // PERF: outputs are usually slices, of which only the dtypes and bytes are collected.
        let mut outputs = outputs.into_iter();
        let mut slices: SmallVec<[(DType, &mut [u8]); 4]> = SmallVec::new();
        for out in &mut outputs {
            match out.place {
                PortMemory::Bytes(bytes) => slices.push((out.dtype, bytes)),
                place => {
                    let before = slices.into_iter().map(|(dtype, bytes)| Out::bytes(dtype, bytes));
                    let other = std::iter::once(Out { dtype: out.dtype, place });
                    return self.run_over_others(
                        options,
                        inputs,
                        before.chain(other).chain(outputs),
                        control,
                    );
                }
            }
        }
        count("outputs", slices.len(), self.outputs.len())?;
        for (i, ((dtype, bytes), wanted)) in slices.iter().zip(&self.outputs).enumerate() {
            wanted.check("output", i, *dtype, bytes.as_ptr().addr(), bytes.len())?;
        }
        if let (Some(direct), Some(prepared), None) = (&self.direct, self.plan.single_stage(), control) {
            let mut operands = Operands::default();
            direct.read(inputs, &mut operands);
            slices.iter_mut().for_each(|(_, bytes)| operands.write((&mut **bytes).into()));
            if !operands.may_overlap() {
                let request = Engine::global().request(options);
                return prepared.run(&request, &mut operands, (&direct.params).into(), None);
            }
        }
        let mut operands = Operands::default();
        inputs.iter().for_each(|input| operands.read(input.region));
        slices.into_iter().for_each(|(_, bytes)| operands.write(bytes.into()));
        self.run_plan(options, &mut operands, Vec::new(), control)
    }

    /// Runs with outputs that are not all slices of bytes. The inputs have been checked.
    #[inline(never)]
    fn run_over_others<'o>(
        &self,
        options: &Options,
        inputs: &[In<'_>],
        outputs: impl Iterator<Item = Out<'o>>,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        let mut outputs: SmallVec<[Out<'_>; 4]> = outputs.collect();
        count("outputs", outputs.len(), self.outputs.len())?;
        for (i, (out, wanted)) in outputs.iter().zip(&self.outputs).enumerate() {
            self.check_output(i, out, wanted)?;
        }
        if outputs.iter().all(Out::is_row_major) {
            let mut operands = Operands::default();
            // PERF: a plan with a single stage passes its operands on.
            let single = match (&self.direct, self.plan.single_stage(), control) {
                (Some(direct), Some(prepared), None) => Some((direct, prepared)),
                _ => None,
            };
            match single {
                Some((direct, _)) => direct.read(inputs, &mut operands),
                None => inputs.iter().for_each(|input| operands.read(input.region)),
            }
            outputs.iter_mut().for_each(|out| operands.write(out.region()));
            match single {
                _ if operands.may_overlap() => {}
                Some((direct, prepared)) => {
                    let request = Engine::global().request(options);
                    return prepared.run(&request, &mut operands, (&direct.params).into(), None);
                }
                None => return self.run_plan(options, &mut operands, Vec::new(), control),
            }
        }
        self.run_over_views(options, inputs, outputs, control)
    }

    /// Runs the plan on memory of any kind.
    fn run_plan(
        &self,
        options: &Options,
        operands: &mut Operands<'_>,
        layouts: Vec<Option<Layout>>,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        let watch = Watch::over(Watch::begin(control, options)?, self.plan.work())?;
        Engine::global().run(&self.plan, operands, layouts, &self.literals, options, watch.as_ref())
    }

    /// The control to be used for a run; `None` if the run is too short to be worth watching.
    ///
    /// Errors: `Cancelled` if the control's flag is already set.
    fn watched<'c, 'w>(
        &self,
        control: &'c Control<'w>,
        options: &Options,
    ) -> Result<Option<&'c Control<'w>>> {
        let is_long = is_long(Some(control), options.max_time, self.plan.work());
        if is_long { Ok(Some(control)) } else { control.check().map(|()| None) }
    }

    /// Runs with outputs that are not all in row-major order, or that may overlap. Inputs and outputs have been checked.
    #[inline(never)]
    fn run_over_views(
        &self,
        options: &Options,
        inputs: &[In<'_>],
        outputs: SmallVec<[Out<'_>; 4]>,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        if outputs.iter().any(|out| matches!(out.place, PortMemory::Bools(_))) {
            return self.run_over_bools(options, inputs, outputs, control);
        }
        let mut views: SmallVec<[Box<ViewMut<'_>>; 4]> = SmallVec::new();
        for (i, (out, (dtype, shape))) in outputs.into_iter().zip(self.plan.roots()).enumerate() {
            let wrong = |e: Error| named(&format!("output {i}:"), e);
            let view = Out::view_of(out.place, *dtype, shape).map_err(wrong)?;
            if let Some(first) = views.iter().position(|other| !other.is_apart_from(&view)) {
                let why = format!("kernel: outputs {first} and {i} overlap");
                return Err(Error::new(ErrorKind::Memory, why));
            }
            views.push(view);
        }
        let mut operands = Operands::default();
        inputs.iter().for_each(|input| operands.read(input.region));
        let mut layouts = Vec::with_capacity(views.len());
        for view in &mut views {
            let (memory, layout) = engine::output(view)?;
            operands.write(memory);
            layouts.push(layout);
        }
        self.run_plan(options, &mut operands, layouts, control)
    }

    /// Runs with outputs among which are slices of bool, by passing these as bytes.
    #[cold]
    fn run_over_bools(
        &self,
        options: &Options,
        inputs: &[In<'_>],
        outputs: SmallVec<[Out<'_>; 4]>,
        control: Option<&Control<'_>>,
    ) -> Result<()> {
        let mut bools: SmallVec<[&mut [bool]; 2]> = SmallVec::new();
        let mut others: SmallVec<[Option<Out<'_>>; 4]> = SmallVec::new();
        for Out { dtype, place } in outputs {
            others.push(match place {
                PortMemory::Bools(data) => {
                    bools.push(data);
                    None
                }
                place => Some(Out { dtype, place }),
            });
        }
        with_bools_as_bytes(bools, |bytes| {
            let mut bytes = bytes.into_iter().map(Out::bool_bytes);
            let outputs = others.into_iter().map_while(|out| out.or_else(|| bytes.next()));
            self.run(options, inputs, outputs.collect::<SmallVec<[Out<'_>; 4]>>(), control)
        })
    }

    /// Checks that an output's memory matches the plan.
    fn check_output(&self, i: usize, out: &Out<'_>, wanted: &Required) -> Result<()> {
        if let PortMemory::Bytes(bytes) = &out.place {
            return wanted.check("output", i, out.dtype, bytes.as_ptr().addr(), bytes.len());
        }
        let shape = &self.plan.roots()[i].1;
        let given = match &out.place {
            PortMemory::Raw(view) => view.shape(),
            PortMemory::Formed(_, form) => form.shape,
            PortMemory::Bytes(_) | PortMemory::Bools(_) => &shape[..],
        };
        if out.dtype != wanted.dtype {
            return Err(wanted.refuse("output", i, out.dtype, 0));
        }
        if *given != shape[..] {
            let why = format!("kernel: output {i} has the shape {given:?}, but is {shape}");
            return Err(Error::new(ErrorKind::Shape, why));
        }
        if let PortMemory::Raw(view) = &out.place
            && view.item() != out.dtype.size()
        {
            let (item, dtype) = (view.item(), out.dtype);
            let why = format!("kernel: output {i} is {dtype}, but its view's elements have {item} bytes");
            return Err(Error::new(ErrorKind::DType, why));
        }
        Ok(())
    }
}

impl Input {
    #[inline]
    pub(crate) fn check(&self, i: usize, given: &In<'_>) -> Result<()> {
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
            // The layout is within the region's address range, but may have elements in a gap of the region.
            (true, true) if given.region.has_gaps() => {
                let in_bytes = |&stride: &isize| stride * size as isize;
                let strides: SmallVec<[isize; 6]> = strides.iter().map(in_bytes).collect();
                let view = given.region.view(size, self.layout.offset as usize * size, shape, &strides);
                let wrong = |e: ViewError| Error::new(ErrorKind::Memory, e.to_string());
                view.map(drop).map_err(|e| named(&format!("input {i}:"), wrong(e)))
            }
            (true, true) => Ok(()),
            (false, _) => Err(named(&format!("input {i}"), outside())),
            (_, false) => Err(self.operand.misaligned("input", i)),
        }
    }
}

/// Puts `kernel:` and the name of the operand in front of the error's message.
pub(super) fn named(what: &str, e: Error) -> Error {
    let error = Error::new(e.kind(), format!("kernel: {what} {}", e.message()));
    match e.help() {
        Some(help) => error.with_help(help),
        None => error,
    }
}

#[inline]
pub(super) fn count(what: &str, given: usize, wanted: usize) -> Result<()> {
    if given == wanted {
        return Ok(());
    }
    let what = if wanted == 1 { what.trim_end_matches('s') } else { what };
    Err(Error::new(ErrorKind::Arity, format!("kernel: it has {wanted} {what}, not {given}")))
}

impl Required {
    fn new(dtype: DType, elements: usize) -> Required {
        Required { dtype, bytes: elements * dtype.size() }
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
