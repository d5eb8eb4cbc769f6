//! Kernels: compiled once, run many times on different memory.
//!
//! A [`Kernel`] is built from expressions. Their inputs are declared without values ([`Array::input`]), or are evaluated arrays
//! that each run replaces with the caller's memory; the kernel does not keep these arrays alive. Its results depend only on its
//! expressions, its options and the caller's memory. All operands are checked before the first store.
//!
//! ```text
//! Kernel ─▶ layouts of the inputs ─▶ Specialisation (cached) ─▶ Call ─▶ run on memory
//! template   extents, strides         execution plan
//! ```

mod call;
mod explain;
mod id;
mod memory;
mod port;
mod specialisation;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use broadloom_core::binding::Binding;
use broadloom_core::{Dim, Error, ErrorKind, Layout, Result, Symbol};
use broadloom_ir::VectorWidth;

use crate::array::{Array, Leaf};
use crate::engine::{Cache, Control, Executor, Options};
use crate::expr;
use crate::lower::Template;

pub use call::Call;
pub use id::KernelId;
pub(crate) use memory::layout_of;
pub use memory::{In, Out};
pub use port::Port;

use specialisation::{Specialisation, count, named};

/// A compiled expression with named inputs. The extents of an input are numbers, or symbols that each run binds to numbers.
///
/// It is cheap to clone, `Send + Sync`, and may run on any number of threads at once. It does not keep the arrays alive from which
/// it was built. The values of literals and the options are fixed when it is built.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{In, Kernel, Options};
///
/// let x = Array::input("x", DType::Float32, &["n".into(), 3.into()])?;
/// let mean = Array::input("mean", DType::Float32, &[3.into()])?;
/// let kernel = Kernel::new(&[&(&x - &mean)], &[&x, &mean], &Options::default())?;
///
/// let mut out = [0.0_f32; 6];
/// let rows = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// kernel.run(&[(&rows).into(), (&[1.0_f32, 2.0, 3.0]).into()], [(&mut out).into()])?;
/// assert_eq!(out, [0.0, 0.0, 0.0, 3.0, 3.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// Inputs may also be evaluated arrays. A run then takes other memory of the same shape instead of each array.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{Kernel, Options};
///
/// let (a, b) = (Array::zeros(&[3], DType::Float32)?.eval()?, Array::zeros(&[3], DType::Float32)?.eval()?);
/// let kernel = Kernel::new(&[&(&a * 2 + &b)], &[&a, &b], &Options::default())?;
///
/// let mut out = [0.0_f32; 3];
/// kernel.run(&[(&[1.0_f32, 2.0, 3.0]).into(), (&[10.0_f32, 20.0, 30.0]).into()], [(&mut out).into()])?;
/// assert_eq!(out, [12.0, 24.0, 36.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Kernel(Arc<Inner>);

struct Inner {
    template: Template,
    inputs: Box<[Port]>,
    outputs: Box<[Port]>,
    options: Options,
    /// The options with the number of threads set to one, for [`Call::run_range`].
    alone: Options,
    /// The specialisation for contiguous inputs, if no dimension is dynamic.
    fixed: Option<Arc<Specialisation>>,
    /// The cached specialisations, by the layouts of the inputs.
    specialisations: Cache<Box<[Layout]>, Arc<Specialisation>>,
    id: OnceLock<KernelId>,
}

/// The maximum number of specialisations that a kernel keeps. On overflow the older half is evicted.
const SPECIALISATIONS: usize = 64;

impl Kernel {
    /// Builds a kernel from expressions of these inputs. Each input is an [`Array::input`] or an evaluated array; the expressions
    /// may use no other inputs or arrays in memory.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] for an input that is not evaluated, for an array in the expressions that is not among the inputs,
    /// and for two inputs that are the same memory; [`ErrorKind::Name`] for two inputs of one name, and for a named input in the
    /// expressions that is not among the inputs; [`ErrorKind::Limit`] for expressions beyond the options' limits.
    pub fn new(roots: &[&Array<'_>], inputs: &[&Array<'_>], options: &Options) -> Result<Kernel> {
        let names: Vec<String> = (0..roots.len()).map(|i| format!("out{i}")).collect();
        let outputs: Vec<(&str, &Array<'_>)> =
            names.iter().map(String::as_str).zip(roots.iter().copied()).collect();
        Kernel::named(&outputs, inputs, options)
    }

    /// Compiles expressions with names for the outputs; see [`Kernel::new`].
    ///
    /// # Errors
    /// The errors of [`Kernel::new`]; [`ErrorKind::Name`] for two outputs of one name.
    pub fn named(outputs: &[(&str, &Array<'_>)], inputs: &[&Array<'_>], options: &Options) -> Result<Kernel> {
        let mut names = HashSet::new();
        if let Some((i, (name, _))) = outputs.iter().enumerate().find(|(_, (name, _))| !names.insert(*name)) {
            let why = format!("kernel: output {i} has the name `{name}` of another");
            return Err(Error::new(ErrorKind::Name, why));
        }
        let roots = outputs.iter().map(|(_, root)| expr::typed(root)).collect::<Result<Vec<_>>>()?;
        let template = Template::new(&roots.iter().collect::<Vec<_>>(), inputs, options.size_limits())?;
        let port =
            |name: String, array: &Array<'_>| Port { name, dtype: array.dtype(), dims: array.all_dims() };
        let declared = inputs.iter().enumerate().map(|(i, array)| match array.leaf() {
            Some(Leaf::Input(name)) => port(name.to_string(), array),
            _ => port(format!("in{i}"), array),
        });
        let mut inner = Inner {
            template,
            inputs: declared.collect(),
            outputs: outputs
                .iter()
                .zip(&roots)
                .map(|((name, _), root)| port((*name).to_owned(), root))
                .collect(),
            options: options.clone(),
            alone: Options { threads: Some(1), ..options.clone() },
            fixed: None,
            // The weight of a specialisation is the size of its key, the layouts of the inputs, which can be large because the
            // rank of an input may be dynamic.
            specialisations: Cache::new(
                SPECIALISATIONS,
                SPECIALISATIONS * inputs.iter().map(|x| 2 * x.all_dims().len() + 16).sum::<usize>(),
            ),
            id: OnceLock::new(),
        };
        if inner.inputs.iter().all(|input| input.dims.is_fixed()) {
            let shapes = inner.inputs.iter().map(|input| input.dims.least_shape().map(Layout::contiguous));
            let layouts = shapes.collect::<Result<_>>()?;
            inner.fixed = Some(Arc::new(inner.specialise(layouts)?));
        }
        Ok(Kernel(Arc::new(inner)))
    }

    /// The inputs, in the order in which a run takes them.
    pub fn inputs(&self) -> &[Port] {
        &self.0.inputs
    }

    /// The outputs, in the order in which a run takes them.
    pub fn outputs(&self) -> &[Port] {
        &self.0.outputs
    }

    /// The options with which the kernel was built.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// The kernel's identity.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Kernel, Options};
    ///
    /// let kernel = |factor: f32| -> Result<Kernel> {
    ///     let x = Array::input("x", DType::Float32, &["n".into()])?;
    ///     Kernel::new(&[&(&x * factor)], &[&x], &Options::default())
    /// };
    /// assert_eq!(kernel(2.0)?.id(), kernel(2.0)?.id());
    /// assert_ne!(kernel(2.0)?.id(), kernel(3.0)?.id());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn id(&self) -> KernelId {
        *self.0.id.get_or_init(|| self.0.identify())
    }

    /// Runs the kernel. It takes one operand per input and output, each of the dtype for which the kernel was built. The extents
    /// of symbols follow from the inputs, which must agree on them, and the shapes of the outputs follow from these extents.
    ///
    /// # Errors
    /// [`ErrorKind::Arity`], [`ErrorKind::DType`], [`ErrorKind::Shape`] or [`ErrorKind::Memory`] for operands that don't match;
    /// nothing has then been written. Also the errors of [`Array::eval`], after which the contents of the outputs are unspecified.
    #[inline]
    pub fn run<'o>(&self, inputs: &[In<'_>], outputs: impl IntoIterator<Item = Out<'o>>) -> Result<()> {
        // PERF: a kernel without dynamic dimensions has no symbols to resolve.
        if let Some(fixed) = &self.0.fixed
            && inputs.iter().all(|input| input.form.is_none())
        {
            return fixed.run(&self.0.options, inputs, outputs, None);
        }
        self.specialised(self.layouts(inputs)?)?.run(&self.0.options, inputs, outputs, None)
    }

    /// [`Kernel::run`] with a [`Control`], through which the run can be cancelled and reports its progress.
    ///
    /// # Errors
    /// The errors of [`Kernel::run`]; [`ErrorKind::Cancelled`], after which the contents of the outputs are unspecified.
    pub fn run_with<'o>(
        &self,
        inputs: &[In<'_>],
        outputs: impl IntoIterator<Item = Out<'o>>,
        control: &Control<'_>,
    ) -> Result<()> {
        self.specialised(self.layouts(inputs)?)?.run(&self.0.options, inputs, outputs, Some(control))
    }

    /// For each of the kernel's loops, in order, the executor that would run it now. Empty if the kernel has dynamic dimensions;
    /// [`Call::executors`] answers the question for a bound kernel.
    pub fn executors(&self) -> Vec<Executor> {
        self.0.fixed.as_ref().map_or_else(Vec::new, |fixed| fixed.executors(&self.0.options))
    }

    /// For each loop, in the order of [`Kernel::executors`], the vector width of its machine code; `None` for a loop that the
    /// interpreter would run.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Executor, Kernel, VectorWidth};
    ///
    /// let x = Array::input("x", DType::Float32, &[1000.into()])?;
    /// let options = Options { executor: Executor::Jit, vector_width: Some(VectorWidth::W128), ..Options::default() };
    /// let kernel = Kernel::new(&[&(&x * 2)], &[&x], &options)?;
    /// let expected = match kernel.executors()[0] {
    ///     Executor::Jit => Some(VectorWidth::W128),
    ///     _ => None, // no compiler here
    /// };
    /// assert_eq!(kernel.vector_widths(), [expected]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn vector_widths(&self) -> Vec<Option<VectorWidth>> {
        self.0.fixed.as_ref().map_or_else(Vec::new, |fixed| fixed.vector_widths(&self.0.options))
    }

    /// The symbols of the inputs.
    fn symbols(&self) -> impl Iterator<Item = &Symbol> {
        self.0.inputs.iter().flat_map(|port| port.dims.iter()).filter_map(Dim::symbol)
    }

    /// The specialisation for inputs of these layouts.
    fn specialised(&self, layouts: Vec<Layout>) -> Result<Arc<Specialisation>> {
        if let Some(fixed) = &self.0.fixed
            && fixed.layouts().eq(&layouts)
        {
            return Ok(fixed.clone());
        }
        if let Some(known) = self.0.specialisations.get(&layouts[..]) {
            return Ok(known);
        }
        let made = Arc::new(self.0.specialise(layouts.clone())?);
        let weight = layouts.iter().map(|layout| 2 * layout.shape.rank() + 2).sum();
        self.0.specialisations.insert(layouts.into(), made.clone(), weight);
        Ok(made)
    }

    /// Determines the layouts of these inputs. Inputs with a shape bind the symbols, whose extents determine the shapes of slices.
    ///
    /// Errors: those of [`Kernel::run`].
    fn layouts(&self, inputs: &[In<'_>]) -> Result<Vec<Layout>> {
        let ports = &self.0.inputs;
        count("inputs", inputs.len(), ports.len())?;
        let of = |i: usize| move |e: Error| named(&format!("input {i} (`{}`)", ports[i].name), e);
        let mut binding = Binding::default();
        let mut given: Vec<Option<Layout>> = Vec::with_capacity(inputs.len());
        for (i, (input, port)) in inputs.iter().zip(ports).enumerate() {
            if input.dtype != port.dtype {
                let why = format!("is {}, it was built for {}", input.dtype, port.dtype);
                return Err(of(i)(Error::new(ErrorKind::DType, why)));
            }
            given.push(match &input.form {
                Some(form) => {
                    let layout = form.layout().map_err(of(i))?;
                    let elements = input.region.len() / input.dtype.size();
                    let reached =
                        layout.reach().is_some_and(|(low, high)| low >= 0 && (high as usize) < elements);
                    if !reached && layout.shape.elements() > 0 {
                        return Err(of(i)(memory::outside()));
                    }
                    binding.meet(&port.dims, &layout.shape).map_err(of(i))?;
                    let is_whole = layout.offset == 0 && layout.is_contiguous();
                    if !is_whole && !self.0.template.is_free(i) {
                        let why = "must be row-major: the kernel was built with views of it";
                        return Err(of(i)(Error::new(ErrorKind::Shape, why)));
                    }
                    Some(layout)
                }
                None => None,
            });
        }
        // If only one symbol in the shape of a slice has no extent yet, the number of elements in the slice gives that extent. The
        // loop ends when it finds no more extents.
        let mut open: Vec<usize> = (0..inputs.len()).filter(|&i| given[i].is_none()).collect();
        loop {
            let before = open.len();
            let mut left = Vec::new();
            for i in open {
                let elements = inputs[i].region.len() / ports[i].dtype.size();
                if !binding.meet_elements(&ports[i].dims, elements).map_err(of(i))? {
                    left.push(i);
                }
            }
            if left.is_empty() || left.len() == before {
                break;
            }
            open = left;
        }
        let layouts = given.into_iter().enumerate().map(|(i, layout)| match layout {
            Some(layout) => Ok(layout),
            None => binding.shape(&ports[i].dims).map(Layout::contiguous).map_err(of(i)),
        });
        layouts.collect()
    }
}

impl Inner {
    fn identify(&self) -> KernelId {
        KernelId::of(&self.template, [&self.inputs, &self.outputs], &self.options)
    }

    fn specialise(&self, layouts: Vec<Layout>) -> Result<Specialisation> {
        Specialisation::new(&self.template, &self.inputs, &self.options, layouts)
    }

    /// Returns the first dim, if all outputs of an element-wise kernel have the same dims, so that the loops can be divided along
    /// this axis. Also returns whether `...` represents at least one axis in outputs of this rank.
    fn common_axis(&self, rank: usize) -> Option<(Dim, bool)> {
        let first = self.outputs.first()?;
        let same = self.outputs.iter().all(|output| output.dims == first.dims);
        let has_rest = first.dims.has_rest() && rank >= first.dims.len();
        let axis = first.dims.iter().find(|dim| has_rest || **dim != Dim::Rest);
        let axis = axis.filter(|_| same && self.template.is_elementwise())?;
        Some((axis.clone(), has_rest))
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |ports: &[Port]| {
            let shown = ports.iter().map(|port| format!("{}: {}{}", port.name, port.dtype, port.dims));
            shown.collect::<Vec<_>>().join(", ")
        };
        write!(f, "Kernel({}) -> ({})", list(&self.0.inputs), list(&self.0.outputs))
    }
}
