//! Kernels: compile once, run many times on other memory.
//!
//! In: expressions over some arrays, which stand for inputs of their dtypes and shapes. Out: [`Kernel`], which runs on
//! the caller's slices. Must hold: a kernel keeps no input alive; everything is checked before the first store.

use std::sync::Arc;

use broadloom_core::fuse::Source;
use broadloom_core::{DType, Error, ErrorKind, Result, Scalar};
use broadloom_math::Elem;
use broadloom_mem::{bytes_of, bytes_of_mut};
use smallvec::SmallVec;

use crate::array::Array;
use crate::engine::{Destination, Engine, Executor, Options, Recipe, param};
use crate::expr::Leaf;
use crate::lower::Walk;

/// A compiled expression.
///
/// It is `Send + Sync` and may run on any number of threads at once. Shapes are fixed when it is built; literals keep
/// the values that they had.
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
pub struct Kernel {
    recipe: Arc<Recipe>,
    /// For each of the caller's inputs, what it must be.
    inputs: Vec<Input>,
    /// For each of the caller's outputs, what it must be.
    outputs: Vec<Operand>,
    literals: Vec<Scalar>,
    direct: Option<Direct>,
    options: Options,
}

/// What a slice must be.
struct Operand {
    dtype: DType,
    elements: usize,
    bytes: usize,
}

/// The operands of the one stage of a kernel that has no more.
struct Direct {
    /// For each input of the stage, the caller's.
    inputs: Vec<usize>,
    params: Vec<u64>,
}

impl Direct {
    fn new(recipe: &Recipe, inputs: &[Input], literals: &[Scalar]) -> Option<Direct> {
        let stage = &recipe.single_stage()?.stage;
        let given = stage.inputs.iter().map(|input| match input.source {
            Source::Slot(slot) => inputs.iter().position(|i| i.slot == Some(slot as usize)),
            Source::Temp(_) => None,
        });
        let params = stage.params.iter().map(|p| param(*p, literals)).collect();
        Some(Direct { inputs: given.collect::<Option<_>>()?, params })
    }
}

struct Input {
    operand: Operand,
    /// The recipe's slot; `None` for an input that the expressions don't use.
    slot: Option<usize>,
}

/// An input of a run: the elements of a slice, in row-major order.
#[derive(Clone, Copy, Debug)]
pub struct In<'a> {
    dtype: DType,
    bytes: &'a [u8],
}

/// An output of a run: the elements of a slice, in row-major order.
#[derive(Debug)]
pub struct Out<'a> {
    dtype: DType,
    bytes: &'a mut [u8],
}

impl<'a, T: Elem> From<&'a [T]> for In<'a> {
    fn from(data: &'a [T]) -> In<'a> {
        In { dtype: T::DTYPE, bytes: bytes_of(data) }
    }
}

impl<'a, T: Elem, const N: usize> From<&'a [T; N]> for In<'a> {
    fn from(data: &'a [T; N]) -> In<'a> {
        In::from(&data[..])
    }
}

impl<'a, T: Elem<Store = T>> From<&'a mut [T]> for Out<'a> {
    fn from(data: &'a mut [T]) -> Out<'a> {
        Out { dtype: T::DTYPE, bytes: bytes_of_mut(data) }
    }
}

impl<'a, T: Elem<Store = T>, const N: usize> From<&'a mut [T; N]> for Out<'a> {
    fn from(data: &'a mut [T; N]) -> Out<'a> {
        Out::from(&mut data[..])
    }
}

impl<'a> Out<'a> {
    /// A bool output as bytes, which become 0 or 1; a slice of bool is none, since not every byte is one.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::{Kernel, Options, Out};
    ///
    /// let x = Array::from_vec(vec![0.0_f32; 3]);
    /// let kernel = Kernel::new(&[&x.greater(1)], &[&x], &Options::default())?;
    ///
    /// let mut out = [9_u8; 3];
    /// kernel.run(&[(&[0.5_f32, 1.5, 2.5]).into()], [Out::bool_bytes(&mut out)])?;
    /// assert_eq!(out, [0, 1, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bool_bytes(bytes: &'a mut [u8]) -> Out<'a> {
        Out { dtype: DType::Bool, bytes }
    }
}

impl Kernel {
    /// Compiles expressions of these inputs; each must be evaluated, and the expressions must use no other array.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] for an input that is not evaluated, or an array that is not among the inputs;
    /// [`ErrorKind::Limit`] for expressions beyond the options' limits.
    pub fn new(roots: &[&Array<'_>], inputs: &[&Array<'_>], options: &Options) -> Result<Kernel> {
        let fail = |why: String| Err(Error::new(ErrorKind::Memory, format!("kernel: {why}")));
        let walk = Walk::new(roots, options)?;
        let engine = Engine::global();
        let recipe = engine.recipe(&walk, options)?;
        let mut slot_of: SmallVec<[Option<usize>; 8]> = SmallVec::from_elem(None, walk.slots().len());
        let mut declared = Vec::with_capacity(inputs.len());
        for (i, array) in inputs.iter().enumerate() {
            let whole = |leaf: &&Leaf<'_>| array.is_evaluated() && leaf.storage.len() == array.len();
            let Some(leaf) = array.leaf().filter(whole) else {
                return fail(format!("input {i} is not evaluated, or is a part of another array"));
            };
            let memory = |leaf: &Leaf<'_>| (leaf.storage.address(), leaf.storage.len(), leaf.storage.dtype());
            let slot = walk.slots().iter().position(|s| memory(s) == memory(leaf));
            if let Some(slot) = slot {
                if let Some(first) = slot_of[slot]
                    && !array.is_empty()
                {
                    return fail(format!("inputs {first} and {i} are the same memory"));
                }
                slot_of[slot] = Some(i);
            }
            declared.push(Input { operand: Operand::new(array.dtype(), array.len()), slot });
        }
        if let Some(unknown) = slot_of.iter().position(Option::is_none) {
            let leaf = walk.slots()[unknown];
            let (dtype, shape) = (leaf.storage.dtype(), &leaf.layout.shape);
            return fail(format!(
                "the expressions use an array ({dtype}{shape}) that is not among the inputs"
            ));
        }
        let outputs = recipe.roots().iter().map(|(d, shape)| Operand::new(*d, shape.elements())).collect();
        let literals = walk.literals().to_vec();
        let fits = recipe.bytes() <= options.max_bytes;
        let direct = if fits { Direct::new(&recipe, &declared, &literals) } else { None };
        Ok(Kernel { recipe, inputs: declared, outputs, literals, direct, options: options.clone() })
    }

    /// Runs the kernel: one slice per input and per root, each with the dtype and number of elements that it was
    /// built for.
    ///
    /// # Errors
    /// [`ErrorKind::Arity`], [`ErrorKind::DType`] or [`ErrorKind::Shape`] for slices that don't fit, before anything is
    /// written; those of [`Array::eval`], and then the outputs are unspecified. A bool root goes to [`Out::bool_bytes`].
    pub fn run<'o>(&self, inputs: &[In<'_>], outputs: impl IntoIterator<Item = Out<'o>>) -> Result<()> {
        count("inputs", inputs.len(), self.inputs.len())?;
        for (i, (given, wanted)) in inputs.iter().zip(&self.inputs).enumerate() {
            wanted.operand.check("input", i, given.dtype, given.bytes.len())?;
        }
        let mut given: SmallVec<[Out<'_>; 4]> = outputs.into_iter().collect();
        count("outputs", given.len(), self.outputs.len())?;
        for (i, (out, wanted)) in given.iter().zip(&self.outputs).enumerate() {
            wanted.check("output", i, out.dtype, out.bytes.len())?;
        }
        if let (Some(direct), Some(prepared)) = (&self.direct, self.recipe.single_stage()) {
            let (engine, options) = (Engine::global(), &self.options);
            let inputs = direct.inputs.iter().map(|&i| inputs[i].bytes);
            let outputs = given.iter_mut().map(|out| &mut *out.bytes);
            // PERF: the usual short call gathers nothing.
            if let Some(compiled) = prepared.direct(engine, options) {
                return prepared.run_direct(compiled, options, inputs, outputs, &direct.params);
            }
            let inputs: SmallVec<[&[u8]; 8]> = inputs.collect();
            let mut outputs: SmallVec<[&mut [u8]; 4]> = outputs.collect();
            return prepared.run_over(engine, options, &inputs, &mut outputs, &direct.params);
        }
        let mut slots: SmallVec<[&[u8]; 8]> = SmallVec::from_elem(&[][..], self.inputs.len());
        for (given, wanted) in inputs.iter().zip(&self.inputs) {
            if let Some(slot) = wanted.slot {
                slots[slot] = given.bytes;
            }
        }
        let destinations = given.into_iter().map(|out| Destination::Bytes(out.bytes)).collect();
        Engine::global().run(&self.recipe, &slots, &self.literals, &self.options, destinations).map(drop)
    }

    /// Who would run each of the kernel's loops now, in their order: under [`Executor::Auto`] that changes as a kernel
    /// is run, since machine code has to pay for being compiled.
    pub fn executors(&self) -> Vec<Executor> {
        self.recipe.executors(Engine::global(), &self.options)
    }

    /// The dtypes and shapes of the results.
    pub fn outputs(&self) -> impl Iterator<Item = (DType, &[usize])> {
        self.recipe.roots().iter().map(|(dtype, shape)| (*dtype, &shape[..]))
    }
}

fn count(what: &str, given: usize, wanted: usize) -> Result<()> {
    if given == wanted {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Arity, format!("kernel: {given} {what}, it has {wanted}")))
}

impl Operand {
    fn new(dtype: DType, elements: usize) -> Operand {
        Operand { dtype, elements, bytes: elements * dtype.size() }
    }

    #[inline]
    fn check(&self, what: &str, i: usize, dtype: DType, bytes: usize) -> Result<()> {
        if dtype == self.dtype && bytes == self.bytes {
            return Ok(());
        }
        Err(self.refuse(what, i, dtype, bytes))
    }

    #[cold]
    fn refuse(&self, what: &str, i: usize, dtype: DType, bytes: usize) -> Error {
        if dtype != self.dtype {
            let why = format!("kernel: {what} {i} is {dtype}, it was built for {}", self.dtype);
            return Error::new(ErrorKind::DType, why);
        }
        let given = bytes / dtype.size();
        let why = format!("kernel: {what} {i} has {given} elements, it was built for {}", self.elements);
        Error::new(ErrorKind::Shape, why)
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel({} inputs, {} outputs)", self.inputs.len(), self.recipe.roots().len())
    }
}
