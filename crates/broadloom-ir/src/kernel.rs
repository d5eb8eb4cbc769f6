//! The kernel IR: the only form of program that an executor sees. Fusion builds a kernel as a body in SSA over typed element
//! values, in which each operand is defined before its use and has the type that the instruction takes (checked by
//! [`crate::verify::kernel`]). A kernel contains no extents, strides or parameter values: they are given when it runs, so that
//! one kernel can be used for every layout.

use std::fmt;

use broadloom_math::DType;
use sha2::{Digest, Sha256};

use crate::host::HostDeclaration;
use crate::op::Op;
use crate::reduction::{Reduction, Scan};
use crate::tuning::loops::TRIPS;

pub use crate::inst::{Callee, Code, Inst, ValueId};

/// A loop of a kernel: each element repeats the body while its condition holds, as a scalar program would, and keeps its values
/// once it is done.
///
/// The condition is evaluated before each iteration; iterations that an element does not perform have no effect, such as a
/// division by zero or a call of a host function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelLoop {
    /// The body, as a kernel without parameters, whose values and tables are numbered on their own. Its inputs are the carried
    /// values, then the captured ones, which are the same in each iteration. Its outputs are the condition, and the next value of
    /// each carried one.
    pub body: Kernel,
    /// The maximum number of iterations of an element, after which it is done. `None` if the run gives a number, and reaching it
    /// is an error.
    pub limit: Option<u64>,
    /// Whether the last captured value is the number of the element, int64, by which an error names it: the loop, or one in its
    /// body, has no limit.
    pub is_numbered: bool,
    /// The initial state, and the captured values: one for each input of the body.
    pub args: Vec<ValueId>,
    /// For each table of the body, its number in the kernel that contains the loop.
    pub tables: Vec<u32>,
}

/// The kernel that computes some outputs of a loop's body, with the numbers that its fault sites have in the body.
#[derive(Clone, Debug)]
pub struct PartOfBody {
    /// The kernel, with all inputs and tables of the body.
    pub kernel: Kernel,
    /// For each division of the kernel, its number among the [divisions](Kernel::divisions) of the body.
    pub divisions: Vec<usize>,
    /// For each gather of the kernel, its number among the [gathers](Kernel::gathers) of the body.
    pub gathers: Vec<usize>,
}

/// The maximum number of loops that contain each other, so that algorithms may recurse along them.
pub const MAX_NESTING: usize = 8;

impl KernelLoop {
    /// The number of carried values.
    pub fn carried(&self) -> usize {
        self.body.outputs.len().saturating_sub(1)
    }

    /// The kernel that computes only these outputs of the body.
    pub fn part(&self, outputs: std::ops::Range<usize>) -> PartOfBody {
        let KernelLoop { body, .. } = self;
        let is_needed = self.needed(outputs.clone());
        let first = body.values() - body.body.len();
        let numbers = |insts: Vec<usize>| -> Vec<usize> {
            let numbered = insts.into_iter().enumerate();
            numbered.filter(|(_, inst)| is_needed[first + inst]).map(|(number, _)| number).collect()
        };
        let divisions = numbers(body.divisions().into_iter().map(|(inst, _)| inst).collect());
        let gathers = numbers(body.gathers());
        let mut part = Kernel {
            inputs: body.inputs.clone(),
            tables: body.tables.clone(),
            functions: body.functions.clone(),
            ..Kernel::default()
        };
        let mut new: Vec<ValueId> = (0..body.values() as u32).map(ValueId).collect();
        for (i, inst) in body.body.iter().enumerate().filter(|(i, _)| is_needed[first + i]) {
            let mut inst = *inst;
            if let Code::Loop(number) = &mut inst.code {
                let mut inner = body.loops[*number as usize].clone();
                inner.args.iter_mut().for_each(|arg| *arg = new[arg.index()]);
                *number = part.loops.len() as u32;
                part.loops.push(inner);
            }
            let operands = inst.code.operands();
            inst.args[..operands].iter_mut().for_each(|arg| *arg = new[arg.index()]);
            new[first + i] = ValueId(part.values() as u32);
            part.body.push(inst);
        }
        part.outputs = body.outputs[outputs].iter().map(|output| new[output.value.index()].into()).collect();
        PartOfBody { kernel: part, divisions, gathers }
    }

    /// For each value of the body, whether these outputs are computed from it.
    pub fn needed(&self, outputs: std::ops::Range<usize>) -> Vec<bool> {
        let KernelLoop { body, .. } = self;
        let mut is_needed = vec![false; body.values()];
        let first = body.values() - body.body.len();
        body.outputs[outputs].iter().for_each(|output| is_needed[output.value.index()] = true);
        for (i, inst) in body.body.iter().enumerate().rev() {
            if is_needed[first + i] {
                body.args(inst).iter().for_each(|arg| is_needed[arg.index()] = true);
            }
        }
        is_needed
    }

    /// The captured value that each iteration adds to a carried integer, if nothing else reads the integer: then it need only
    /// be known how many iterations each element performs.
    pub fn tally(&self, item: usize) -> Option<ValueId> {
        let KernelLoop { body, .. } = self;
        let own = body.input(item);
        let sum = body.outputs[1 + item].value;
        let Definition::Inst(at) = body.definition(sum) else { return None };
        let Code::Apply { op: Op::Add, dtype, .. } = body.body[at].code else { return None };
        let step = match *body.body[at].args() {
            [x, step] if x == own => step,
            [step, x] if x == own => step,
            _ => return None,
        };
        let is_captured = matches!(body.definition(step), Definition::Input(i) if (self.carried()..body.inputs.len()).contains(&i));
        let reads = |of: ValueId| {
            let operands = body.body.iter().flat_map(|inst| body.args(inst)).copied();
            operands
                .chain(body.outputs.iter().map(|output| output.value))
                .filter(|value| *value == of)
                .count()
        };
        (dtype.is_integer() && is_captured && reads(own) == 1 && reads(sum) == 1).then_some(step)
    }

    /// The number of iterations that estimates assume.
    pub fn trips(&self) -> u64 {
        self.limit.map_or(TRIPS, |limit| limit.min(TRIPS))
    }
}

/// The use of an output's elements: stored, reduced or scanned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sink {
    /// The elements are stored.
    #[default]
    Store,
    /// The elements are reduced; the loops around the kernel define the axes.
    Reduce(Reduction),
    /// The elements are scanned: each is replaced by the accumulation of itself and all previous elements, as in a cumulative
    /// sum.
    Scan(Scan),
}

/// An output of a kernel: a value, and whether its elements are stored, reduced or scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelOutput {
    /// The id of the value.
    pub value: ValueId,
    /// The use of the value's elements: stored, reduced or scanned.
    pub sink: Sink,
}

/// Makes an output whose elements are stored.
impl From<ValueId> for KernelOutput {
    fn from(value: ValueId) -> KernelOutput {
        KernelOutput { value, sink: Sink::Store }
    }
}

/// A fused loop body: the instructions that compute one element of each output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The dtypes of the input arrays.
    pub inputs: Vec<DType>,
    /// The dtypes of the parameters, which are scalars given at each run.
    pub params: Vec<DType>,
    /// For each parameter, whether it is known to be a divisor with a [short reciprocal](crate::Scalar::has_short_reciprocal).
    /// The list may be shorter than `params`; nothing is known about the parameters after its end.
    pub short_reciprocals: Vec<bool>,
    /// The dtypes of the tables: arrays of which [`Code::Gather`] reads elements at computed positions. A table is the same for the
    /// whole index space.
    pub tables: Vec<DType>,
    /// The host functions called by the body.
    pub functions: Vec<HostDeclaration>,
    /// The loops of the body.
    pub loops: Vec<KernelLoop>,
    /// The instructions.
    pub body: Vec<Inst>,
    /// The outputs, one for each array that the kernel computes.
    pub outputs: Vec<KernelOutput>,
    /// Whether an integer division by zero makes the run fail; otherwise its result is 0.
    pub checks_division: bool,
}

impl Kernel {
    /// A kernel that copies its only input, an array of this dtype.
    pub fn copy(dtype: DType) -> Kernel {
        Kernel { inputs: vec![dtype], outputs: vec![ValueId(0).into()], ..Kernel::default() }
    }

    /// The operands that an instruction reads.
    ///
    /// # Panics
    /// For a loop that is not among the kernel's.
    pub fn args<'k>(&'k self, inst: &'k Inst) -> &'k [ValueId] {
        match inst.code {
            Code::Loop(number) => &self.loops[number as usize].args,
            _ => inst.args(),
        }
    }

    /// Whether a parameter is known to be a divisor with a short reciprocal.
    pub fn has_short_reciprocal(&self, param: usize) -> bool {
        self.short_reciprocals.get(param).is_some_and(|&short| short)
    }

    /// The id of the `i`-th input, counted from 0.
    pub fn input(&self, i: usize) -> ValueId {
        ValueId(i as u32)
    }

    /// The id of the `i`-th parameter, counted from 0.
    pub fn param(&self, i: usize) -> ValueId {
        ValueId((self.inputs.len() + i) as u32)
    }

    /// The id of the result of instruction number `inst`, counted from 0.
    pub fn value(&self, inst: usize) -> ValueId {
        ValueId((self.inputs.len() + self.params.len() + inst) as u32)
    }

    /// The number of values: inputs, parameters and results of instructions.
    pub fn values(&self) -> usize {
        self.inputs.len() + self.params.len() + self.body.len()
    }

    /// The definition of a value: an input, a parameter or an instruction.
    pub fn definition(&self, id: ValueId) -> Definition {
        let (inputs, params) = (self.inputs.len(), self.params.len());
        match id.index() {
            i if i < inputs => Definition::Input(i),
            i if i < inputs + params => Definition::Param(i - inputs),
            i => Definition::Inst(i - inputs - params),
        }
    }

    /// A value's dtype.
    ///
    /// # Panics
    /// If the id is out of range or that of a loop, or the kernel is not well typed.
    pub fn dtype(&self, id: ValueId) -> DType {
        match self.definition(id) {
            Definition::Input(i) => self.inputs[i],
            Definition::Param(i) => self.params[i],
            Definition::Inst(i) => self.body[i].code.result().expect("a verified kernel"),
        }
    }

    /// For each value, the outermost loop level at which it can be computed. `per_row(i)` is whether input `i` has one element
    /// for a whole row.
    pub fn depths(&self, per_row: impl Fn(usize) -> bool) -> Vec<Depth> {
        let mut depths: Vec<Depth> = Vec::with_capacity(self.values());
        for v in 0..self.values() as u32 {
            depths.push(match self.definition(ValueId(v)) {
                Definition::Input(i) if per_row(i) => Depth::Row,
                Definition::Input(_) => Depth::Element,
                Definition::Param(_) => Depth::Call,
                Definition::Inst(i) => {
                    let args = self.args(&self.body[i]).iter().map(|a| depths[a.index()]);
                    args.max().unwrap_or(Depth::Call)
                }
            });
        }
        depths
    }

    /// The dtypes of the result arrays. For an output that is reduced, this is the dtype of the reduction's result.
    pub fn result_dtypes(&self) -> impl ExactSizeIterator<Item = DType> {
        self.outputs.iter().map(|output| match output.sink {
            Sink::Reduce(reduction) => reduction.result(self.dtype(output.value)),
            Sink::Store | Sink::Scan(_) => self.dtype(output.value),
        })
    }

    /// The dtypes of the values that the body computes for the outputs, before any reduction.
    pub fn output_dtypes(&self) -> impl Iterator<Item = DType> {
        self.outputs.iter().map(|output| self.dtype(output.value))
    }

    /// The instructions that can make the run fail, each as its index in the body and its fault: first the divisions, unless their
    /// result is 0 ([`Kernel::checks_division`]), then the gathers. Those in the body of a loop have the index of the loop.
    pub fn fault_sites(&self) -> impl Iterator<Item = (usize, Fault)> {
        let divisions = if self.checks_division { self.divisions() } else { Vec::new() };
        let divisions = divisions.into_iter().map(|(inst, op)| (inst, Fault::Division(op)));
        divisions.chain(self.gathers().into_iter().map(|inst| (inst, Fault::Index)))
    }

    /// The instructions that read elements of tables, each as its index in the body; gathers in the body of a loop have the index of
    /// the loop.
    ///
    /// It recurses along the loops that contain each other, of which there are at most [`MAX_NESTING`].
    pub fn gathers(&self) -> Vec<usize> {
        let mut found = Vec::new();
        for (i, inst) in self.body.iter().enumerate() {
            match inst.code {
                Code::Gather { .. } => found.push(i),
                Code::Loop(number) => {
                    let inner = self.loops[number as usize].body.gathers().len();
                    found.extend(std::iter::repeat_n(i, inner));
                }
                _ => {}
            }
        }
        found
    }

    /// The index among the [fault sites](Kernel::fault_sites) of the first gather.
    pub fn first_gather_site(&self) -> usize {
        if self.checks_division { self.divisions().len() } else { 0 }
    }

    /// The index of a table of this dtype that is added to the kernel.
    pub fn table(&mut self, dtype: DType) -> u32 {
        self.tables.push(dtype);
        self.tables.len() as u32 - 1
    }

    /// The instructions that can divide by zero, whether that is an error or not, each as its index in the body and its op.
    ///
    /// It recurses along the loops that contain each other, of which there are at most [`MAX_NESTING`].
    pub fn divisions(&self) -> Vec<(usize, Op)> {
        let mut found = Vec::new();
        for (i, inst) in self.body.iter().enumerate() {
            match inst.code {
                Code::Apply { op, .. } if inst.code.faults() => found.push((i, op)),
                Code::Loop(number) => {
                    let inner = self.loops[number as usize].body.divisions();
                    found.extend(inner.into_iter().map(|(_, op)| (i, op)));
                }
                _ => {}
            }
        }
        found
    }

    /// The approximate number of vector instructions per element that the body takes in machine code.
    pub fn cost(&self) -> u64 {
        self.body.iter().fold(0, |sum, inst| u64::saturating_add(sum, self.instructions(inst.code)))
    }

    /// The reason why the kernel has no machine code, if it has none on any target.
    pub fn never_compiled(&self) -> Option<&'static str> {
        let calls = self.loops.iter().any(|of| !of.body.functions.is_empty());
        calls.then_some("loops that call host functions are not compiled")
    }

    /// The approximate number of vector instructions per element of the kernel's machine code: as the cost, but the body of a
    /// loop counts once.
    pub fn length(&self) -> u64 {
        self.body.iter().fold(0, |sum, inst| {
            sum.saturating_add(match inst.code {
                Code::Loop(number) => self.loops[number as usize].body.length(),
                code => code.instructions().into(),
            })
        })
    }

    /// The approximate number of vector instructions per element that an instruction takes: for a loop, those of the iterations
    /// that are expected.
    pub fn instructions(&self, code: Code) -> u64 {
        match code {
            Code::Loop(number) => {
                let of = &self.loops[number as usize];
                of.trips().saturating_mul(of.body.cost())
            }
            code => code.instructions().into(),
        }
    }

    /// The approximate latency of the body in machine code, in cycles: the length of the longest chain of dependent instructions.
    pub fn latency(&self) -> u64 {
        let mut known_after = vec![0u64; self.values()];
        let first = known_after.len() - self.body.len();
        for (i, inst) in self.body.iter().enumerate() {
            let begun = self.args(inst).iter().map(|a| known_after[a.index()]).max().unwrap_or(0);
            let own = match inst.code {
                Code::Loop(number) => {
                    let of = &self.loops[number as usize];
                    of.trips().saturating_mul(of.body.latency())
                }
                code => code.latency().into(),
            };
            known_after[first + i] = begun.saturating_add(own);
        }
        known_after.into_iter().max().unwrap_or(0)
    }

    /// The index of a host function in [`Kernel::functions`], to which it is added if it is not there yet.
    pub fn place(&mut self, function: &HostDeclaration) -> u32 {
        let place = self.functions.iter().position(|f| f == function).unwrap_or_else(|| {
            self.functions.push(function.clone());
            self.functions.len() - 1
        });
        place as u32
    }

    /// The code of an instruction that calls a host function, which is [placed](Kernel::place) in the kernel.
    pub fn callee(&mut self, function: &HostDeclaration) -> Code {
        Code::Host(Callee { function: self.place(function), signature: function.signature() })
    }

    /// A hash of the kernel (the first half of a SHA-256), which is the same in every process and on every target for one version
    /// of this crate.
    ///
    /// It covers the body and all dtypes, but no parameter values and no properties of the target. Host functions are hashed by
    /// name and dtypes.
    pub fn content_hash(&self) -> u128 {
        let mut bytes = Vec::with_capacity(32 * self.body.len() + 64);
        let mut word = |x: usize| bytes.extend_from_slice(&(x as u32).to_le_bytes());
        for dtypes in [&self.inputs, &self.params] {
            word(dtypes.len());
            dtypes.iter().for_each(|&d| word(d as usize));
        }
        for param in (0..self.params.len()).filter(|&i| self.has_short_reciprocal(i)) {
            // The first word distinguishes these entries from the length of the body, which follows them and is never so large.
            [u32::MAX as usize, param].into_iter().for_each(&mut word);
        }
        word(self.body.len());
        for inst in &self.body {
            match inst.code {
                Code::Apply { op, accuracy, dtype } => {
                    // Ops are hashed by name, which does not change with the order of the op table.
                    let name = op.name_at(accuracy);
                    word(name.len());
                    name.bytes().for_each(|b| word(b.into()));
                    word(dtype as usize);
                }
                Code::Cast(from, to) => [0, from as usize, to as usize].into_iter().for_each(&mut word),
                Code::Host(callee) => {
                    // This word distinguishes a host call from an op, whose entry begins with the length of its name.
                    word(u32::MAX as usize);
                    let name = self.functions.get(callee.function as usize).map_or("", HostDeclaration::name);
                    word(name.len());
                    name.bytes().for_each(|b| word(b.into()));
                    word(callee.signature.operands().len());
                    callee.signature.operands().iter().for_each(|&d| word(d as usize));
                    word(callee.signature.result() as usize);
                }
                // The first words tell these from an op and a host call.
                Code::Loop(number) => {
                    word(u32::MAX as usize - 1);
                    let of = &self.loops[number as usize];
                    let limit = of.limit.map_or([0; 3], |limit| [1, limit as u32, (limit >> 32) as u32]);
                    limit.into_iter().for_each(|part| word(part as usize));
                    word(of.is_numbered as usize);
                    word(of.args.len());
                    of.args.iter().for_each(|arg| word(arg.index()));
                    for &table in &of.tables {
                        // The first word tells these entries from a byte of the body's hash, which follows them.
                        [u32::MAX as usize, table as usize].into_iter().for_each(&mut word);
                    }
                    let body = of.body.content_hash().to_le_bytes();
                    body.into_iter().for_each(|byte| word(byte.into()));
                }
                Code::Item { item, dtype } => {
                    [u32::MAX as usize - 2, item as usize, dtype as usize].into_iter().for_each(&mut word);
                }
                Code::Gather { table, dtype } => {
                    [u32::MAX as usize - 3, table as usize, dtype as usize].into_iter().for_each(&mut word);
                }
            }
            inst.args.iter().for_each(|a| word(a.index()));
        }
        word(self.outputs.len());
        self.outputs.iter().for_each(|output| word(output.value.index()));
        word(self.checks_division as usize);
        for (i, output) in self.outputs.iter().enumerate() {
            let [kind, of] = match output.sink {
                Sink::Store => continue,
                Sink::Reduce(reduction) => [1, reduction as usize],
                Sink::Scan(scan) => [2, scan as usize],
            };
            [i, kind, of].into_iter().for_each(&mut word);
        }
        let digest = Sha256::digest(&bytes);
        digest.iter().take(16).fold(0, |hash, &byte| hash << 8 | u128::from(byte))
    }
}

/// Why an instruction can make a run fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This op divides an integer by zero.
    Division(Op),
    /// A position is outside of a table.
    Index,
}

/// Prints the value with its reduction or scan, if any: `v3`, `sum(v3)`.
impl fmt::Display for KernelOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sink {
            Sink::Store => write!(f, "{:?}", self.value),
            Sink::Reduce(reduction) => write!(f, "{reduction}({:?})", self.value),
            Sink::Scan(scan) => write!(f, "{scan}({:?})", self.value),
        }
    }
}

/// The loop level at which a value is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Once per call: the value depends on parameters only.
    Call,
    /// Once per row.
    Row,
    /// Once per element.
    Element,
}

/// The definition of a value of a kernel, with its index among the inputs, parameters or instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// An element of an input array.
    Input(usize),
    /// A parameter, which is a scalar given at each run.
    Param(usize),
    /// The result of an instruction.
    Inst(usize),
}

/// Prints the kernel: a line with its hash, inputs, parameters and tables, a line for each instruction, and a line with the outputs. The
/// body of a loop is indented.
impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {:032x} (", self.content_hash())?;
        let inputs = self.inputs.iter().enumerate().map(|(i, d)| format!("{:?}: {d}", self.input(i)));
        let params = self.params.iter().enumerate().map(|(i, d)| format!("{:?}: scalar {d}", self.param(i)));
        let tables = self.tables.iter().enumerate().map(|(i, d)| format!("t{i}: table {d}"));
        let heads: Vec<String> = inputs.chain(params).chain(tables).collect();
        writeln!(f, "{}){}", heads.join(", "), if self.checks_division { " checks division" } else { "" })?;
        self.write_body(f, "  ")?;
        writeln!(f, "  return {}", listed(&self.outputs))
    }
}

fn listed(outputs: &[KernelOutput]) -> String {
    outputs.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
}

impl Kernel {
    fn write_body(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        for (i, inst) in self.body.iter().enumerate() {
            let args: Vec<String> = self.args(inst).iter().map(|a| format!("{a:?}")).collect();
            let args = args.join(", ");
            write!(f, "{indent}{:?} = ", self.value(i))?;
            match inst.code {
                Code::Apply { op, accuracy, dtype } => {
                    writeln!(f, "{}.{dtype} {args}", op.name_at(accuracy))?
                }
                Code::Cast(from, to) => writeln!(f, "astype.{from}.{to} {args}")?,
                Code::Host(callee) => match self.functions.get(callee.function as usize) {
                    Some(function) => writeln!(f, "host {function} {args}")?,
                    None => writeln!(f, "host function {} {args}", callee.function)?,
                },
                Code::Loop(number) => self.loops[number as usize].write(f, &args, indent)?,
                Code::Item { item, dtype } => writeln!(f, "item.{dtype} {args}, {item}")?,
                Code::Gather { table, dtype } => writeln!(f, "gather.{dtype} t{table}, {args}")?,
            }
        }
        Ok(())
    }
}

impl KernelLoop {
    /// Prints the operands, the inputs of the body, the body, and its outputs.
    fn write(&self, f: &mut fmt::Formatter<'_>, args: &str, indent: &str) -> fmt::Result {
        let carried = self.carried();
        let inputs = self.body.inputs.iter().enumerate().map(|(i, dtype)| {
            format!("{:?}: {}{dtype}", self.body.input(i), if i < carried { "carried " } else { "" })
        });
        let tables = self.tables.iter().enumerate().map(|(i, of)| format!("t{i}: t{of}"));
        write!(f, "loop {args} ({})", inputs.chain(tables).collect::<Vec<String>>().join(", "))?;
        self.limit.iter().try_for_each(|limit| write!(f, " limit {limit}"))?;
        writeln!(f, " {{")?;
        self.body.write_body(f, &format!("{indent}  "))?;
        let (condition, next) = self.body.outputs.split_at(self.body.outputs.len().min(1));
        writeln!(f, "{indent}  while {} next {}\n{indent}}}", listed(condition), listed(next))
    }
}

#[cfg(test)]
mod tests;
