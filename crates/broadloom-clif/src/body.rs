//! The body of a kernel as SSA over the primitives that the target has instructions for, ready to be lowered.
//!
//! Every op and cast has a recording: its scalar definition as a sequence of primitives. The recordings of the kernel's
//! instructions are inlined one after the other. A primitive that the target has no instructions for is
//! [legalised](crate::legalise) as it is added, equal primitives become one value (GVN), operations that return an
//! operand unchanged are replaced by it, and each value is assigned to the outermost loop level that its operands allow
//! (LICM). Once the outputs are known, values that nothing reads are dropped (DCE). All of this takes place before
//! lowering, so it applies to every vector width, including those whose back end has no optimiser.

use std::fmt;
use std::rc::Rc;

use broadloom_ir::kernel::{self, Definition, Depth, Kernel, ValueId};
use broadloom_ir::recording::{self, Recording};
use broadloom_ir::{DType, Error, ErrorKind, Result};
use broadloom_math::Cmp;
use broadloom_math::record::{Inst, Primitive, Sink, Var};
use broadloom_mem::Access;

use crate::legalise;
use broadloom_ir::VectorWidth;

/// How a value of the body is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The elements of the input with this index.
    Input(usize),
    /// The run-time scalar with this index.
    Param(usize),
    /// A call of the host function with this index among those of the kernel.
    Host(usize),
    /// Tests a divisor: sets the byte of this fault site if a lane of the operand is zero. Has no value.
    CheckDivisor(i32),
    /// A primitive that the target has instructions for.
    Primitive(Primitive),
    /// The smaller of two numbers. For floats −0 is less than 0, and lanes with a NaN are unspecified.
    Minimum,
    /// The larger of two numbers. For floats −0 is less than 0, and lanes with a NaN are unspecified.
    Maximum,
    /// A mask of the lanes in which at least one of two floats is NaN.
    Unordered,
    /// The loop with this index among those of the body. It has no value of its own.
    Loop(usize),
    /// The carried value with this index after the loop that is the first operand.
    Item(usize),
    /// The number of elements of the table with this index, uint64.
    Elements(usize),
    /// Sets the byte of this fault site if a lane of the operand, a mask, is set. Has no value.
    CheckPosition(i32),
    /// The elements of the table with this index at the positions that are the operand. They are inside of the table, or 0.
    Gather(usize),
}

/// A value of the body.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub code: Code,
    /// The dtype of the result; for comparisons, the dtype of the operands; for a mask operation, the unsigned integer
    /// that is as wide as the mask's lanes.
    pub dtype: DType,
    pub args: [Var; 4],
    /// The size in bytes of a lane of the result. A bool is represented by a mask and has the size of the mask's lanes.
    pub lane: u8,
    /// The outermost loop level at which the value can be computed.
    pub level: Depth,
    live: bool,
}

impl Node {
    /// The key by which equal nodes are found. Exchanging the operands of a commutative primitive does not change it.
    fn key(&self) -> (Code, DType, [Var; 4]) {
        let mut args = self.args;
        if matches!(self.code, Code::Primitive(primitive) if primitive.commutes()) && args[1] < args[0] {
            args.swap(0, 1);
        }
        (self.code, self.dtype, args)
    }

    /// The operands that the node reads.
    pub fn args(&self) -> &[Var] {
        let count = match self.code {
            // The operands of a loop are in its region, and an item reads what its loop has returned.
            Code::Input(_) | Code::Param(_) | Code::Loop(_) | Code::Item(_) | Code::Elements(_) => 0,
            Code::Host(_) => self.args.iter().position(|arg| *arg == NONE).unwrap_or(4),
            Code::CheckDivisor(_) | Code::CheckPosition(_) | Code::Gather(_) => 1,
            Code::Primitive(primitive) => primitive.operands(),
            Code::Minimum | Code::Maximum | Code::Unordered => 2,
        };
        &self.args[..count]
    }
}

/// Stands for an absent operand.
const NONE: Var = Var(u32::MAX);

/// A hash of a node's key. Of the code it covers only constants, shift counts and comparison conditions: nodes with the
/// same operands rarely differ in anything else.
fn hash(&(code, dtype, [a, b, c, d]): &(Code, DType, [Var; 4])) -> u32 {
    let code = match code {
        Code::Primitive(Primitive::Splat(bits)) => bits,
        Code::Primitive(Primitive::ShlConst(count) | Primitive::ShrConst(count)) => u64::from(count),
        Code::Primitive(Primitive::Cmp(how)) => how as u64,
        _ => 0,
    };
    let pair = |x: Var, y: Var| u64::from(x.0) | u64::from(y.0) << 32;
    // The multiplications are independent, so they run in parallel.
    let sum = pair(a, b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ pair(c, d).wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(17)
        ^ (code ^ (dtype as u64) << 56).wrapping_mul(0x1656_67b1_9e37_79f9).rotate_left(31);
    (sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// A hash table with open addressing that finds a node equal to a given one. It is cheap to create.
///
/// PERF: with a `HashMap` of whole nodes, GVN took a tenth of the time that a body of 500 operations takes to compile.
#[derive(Default)]
struct KnownNodes {
    /// The slots, as (hash, value). Their number is a power of two, and at least half of them are empty: the value is
    /// [`NONE`].
    slots: Vec<(u32, Var)>,
    len: usize,
}

impl KnownNodes {
    /// The value of an equal node that was entered before. If there is none, enters `next` as the value of the node and
    /// returns it; the caller then adds the node.
    fn find_or_add(&mut self, nodes: &[Node], node: &Node, next: Var) -> Var {
        if 2 * self.len >= self.slots.len() {
            self.grow();
        }
        let key = node.key();
        let hash = hash(&key);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let (known, var) = self.slots[at];
            if var == NONE {
                self.slots[at] = (hash, next);
                self.len += 1;
                return next;
            }
            if known == hash && nodes[var.index()].key() == key {
                return var;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = vec![(0, NONE); (2 * self.slots.len()).max(64)];
        let mask = larger.len() - 1;
        for (hash, var) in std::mem::replace(&mut self.slots, larger) {
            if var != NONE {
                let mut at = hash as usize & mask;
                while self.slots[at].1 != NONE {
                    at = (at + 1) & mask;
                }
                self.slots[at] = (hash, var);
            }
        }
    }
}

/// The body of a kernel for one vector width.
pub struct Body {
    width: VectorWidth,
    /// For each parameter, whether it is a divisor with a short reciprocal. Division by such a parameter takes fewer
    /// instructions.
    short_reciprocals: Vec<bool>,
    nodes: Vec<Node>,
    known: KnownNodes,
    outputs: Vec<Var>,
    /// For each table of the kernel or of the loop's body, its number among those of the outermost kernel.
    tables: Vec<usize>,
    /// The regions of the loops.
    loops: Vec<Rc<Region>>,
    /// The values that have effects (tests of divisors and positions, and loops), each with the value of the kernel that it belongs to.
    effects: Vec<(Var, ValueId)>,
    /// The live values of each loop level: computed once per call, once per row, and for each element.
    levels: [Vec<Var>; 3],
    /// The values of the recording that is being inlined; kept only to reuse the allocation.
    inlined: Vec<Var>,
}

/// A loop of a body.
pub struct Region {
    /// The body. Input i is `Var(i)`; the first output is the condition, a mask of any lane width, and the others are the
    /// next values of the carried ones.
    pub body: Rc<Body>,
    /// The initial values of the carried ones and the captured values, as values of the body that contains the loop.
    pub args: Vec<Var>,
    /// The dtypes of the carried values.
    pub carried: Vec<DType>,
    /// The maximum number of iterations of an element; `None` if each run has its own, and reaching it is an error.
    pub limit: Option<u64>,
    /// Whether the region is a branch: it is repeated at most once, and its code can be skipped.
    pub is_branch: bool,
    /// Whether the last captured value is the number of the element.
    pub is_numbered: bool,
    /// For each carried value, the [captured value that each iteration adds](kernel::KernelLoop::tally), if only the number of
    /// iterations is needed.
    pub tallies: Vec<Option<Var>>,
    /// Whether the lanes of a block end in the same iteration, and how they are computed then.
    pub lockstep: Option<Lockstep>,
    /// For each value of the body, whether it may change from one iteration to the next.
    varies: Vec<bool>,
    /// The live values of the body, in the order in which they are computed.
    pub before: Vec<Var>,
    pub condition: Vec<Var>,
    pub rest: Vec<Var>,
}

/// A loop whose condition has the same value in all lanes, because it depends on uniform values only.
pub struct Lockstep {
    /// For each carried value, whether its lanes are equal.
    pub uniform: Vec<bool>,
    /// The values that both the condition and the next values are computed from.
    pub shared: Vec<Var>,
    /// The carried values whose NaNs are replaced after the loop instead of in each iteration.
    pub late: Vec<Late>,
}

/// A carried value whose NaNs are replaced after the loop.
pub struct Late {
    /// The number of the carried value.
    pub item: usize,
    /// Its next value, before NaNs are replaced.
    pub next: Var,
    /// The values that replace them. The last one is the carried value after the loop.
    pub nodes: Vec<Var>,
}

/// The next fault sites while the values of a kernel are added.
#[derive(Clone, Copy)]
struct FaultSites {
    /// The site of the next division; `None` if divisions are not checked.
    division: Option<i32>,
    /// The site of the next gather.
    gather: i32,
}

impl FaultSites {
    /// Goes on behind the sites of an instruction.
    fn skip(&mut self, kernel: &Kernel, code: kernel::Code) {
        let (divisions, gathers) = match code {
            kernel::Code::Loop(number) => kernel.loops.get(number as usize).map_or((0, 0), |of| {
                let divisions = if self.division.is_some() { of.body.divisions().len() } else { 0 };
                (divisions, of.body.gathers().len())
            }),
            kernel::Code::Gather { .. } => (0, 1),
            code => (usize::from(code.faults()), 0),
        };
        self.division = self.division.map(|site| site + divisions as i32);
        self.gather += gathers as i32;
    }
}

fn undefined() -> Error {
    Error::new(ErrorKind::Internal, "a kernel that does not verify reached the emitter")
}

/// The unsigned integer dtype of this size in bytes.
fn unsigned(bytes: u8) -> DType {
    match bytes {
        1 => DType::UInt8,
        2 => DType::UInt16,
        4 => DType::UInt32,
        _ => DType::UInt64,
    }
}

/// A number of this size in bytes with all bits set.
fn ones(bytes: usize) -> u64 {
    u64::MAX >> (64 - 8 * bytes)
}

impl Body {
    /// The body of a kernel whose inputs have these access classes.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`]: the kernel does not verify.
    pub fn of(kernel: &Kernel, access: &[Access], width: VectorWidth) -> Result<Body> {
        let mut body = Body::empty(kernel, width, (0..kernel.tables.len()).collect());
        let sites = FaultSites {
            division: kernel.checks_division.then_some(0),
            gather: kernel.first_gather_site() as i32,
        };
        let values = body.values(kernel, access, sites, |_| true)?;
        for &output in &kernel.outputs {
            let value = *values.get(output.value.index()).ok_or_else(undefined)?;
            let value = body.in_memory(kernel.dtype(output.value), value);
            body.outputs.push(value);
        }
        body.mark_live();
        Ok(body)
    }

    fn empty(kernel: &Kernel, width: VectorWidth, tables: Vec<usize>) -> Body {
        Body {
            width,
            tables,
            short_reciprocals: kernel.short_reciprocals.clone(),
            nodes: Vec::with_capacity(2 * kernel.values()),
            known: KnownNodes::default(),
            outputs: Vec::new(),
            loops: Vec::new(),
            effects: Vec::new(),
            levels: Default::default(),
            inlined: Vec::new(),
        }
    }

    /// Adds the values of a kernel, whose first fault sites are `sites`, and returns them. Values for which `is_needed` is false are
    /// left out.
    fn values(
        &mut self,
        kernel: &Kernel,
        access: &[Access],
        mut sites: FaultSites,
        is_needed: impl Fn(ValueId) -> bool,
    ) -> Result<Vec<Var>> {
        let mut values: Vec<Var> = Vec::with_capacity(kernel.values());
        for id in (0..kernel.values() as u32).map(ValueId) {
            let value = match kernel.definition(id) {
                Definition::Input(i) => {
                    let level = if access[i] == Access::Splat { Depth::Row } else { Depth::Element };
                    self.leaf(Code::Input(i), kernel.inputs[i], level)
                }
                Definition::Param(i) => self.leaf(Code::Param(i), kernel.params[i], Depth::Call),
                Definition::Inst(i) => {
                    let inst = &kernel.body[i];
                    let (first, before) = (self.nodes.len(), sites);
                    sites.skip(kernel, inst.code);
                    match inst.code {
                        _ if !is_needed(id) => NONE,
                        kernel::Code::Loop(number) => {
                            let of = kernel.loops.get(number as usize).ok_or_else(undefined)?;
                            self.looped(of, &values, before, id)?
                        }
                        kernel::Code::Gather { table, dtype } => {
                            let position = *values.get(inst.args[0].index()).ok_or_else(undefined)?;
                            let table = *self.tables.get(table as usize).ok_or_else(undefined)?;
                            let value = self.gather(table, dtype, position, before.gather);
                            self.note_effects(first, id);
                            value
                        }
                        _ => {
                            let site = before.division.filter(|_| inst.code.faults());
                            let value = self.instruction(inst, &values, site)?;
                            self.note_effects(first, id);
                            value
                        }
                    }
                }
            };
            values.push(value);
        }
        Ok(values)
    }

    /// The values that are read or computed at a loop level, each after its operands.
    pub fn at(&self, level: Depth) -> &[Var] {
        &self.levels[level as usize]
    }

    /// The number of values, including those that nothing reads.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn node(&self, var: Var) -> &Node {
        &self.nodes[var.index()]
    }

    /// The values of the outputs; bools are masks with lanes of one byte.
    pub fn outputs(&self) -> &[Var] {
        &self.outputs
    }

    /// The bits of each lane, if the value is a constant.
    pub fn constant(&self, var: Var) -> Option<u64> {
        match self.node(var).code {
            Code::Primitive(Primitive::Splat(bits)) => Some(bits),
            _ => None,
        }
    }

    fn instruction(&mut self, inst: &kernel::Inst, values: &[Var], site: Option<i32>) -> Result<Var> {
        let mut args = [NONE; 4];
        for (slot, arg) in args.iter_mut().zip(inst.args()) {
            *slot = *values.get(arg.index()).ok_or_else(undefined)?;
        }
        let operands = &args[..inst.args().len()];
        match inst.code {
            kernel::Code::Apply { dtype, .. } => {
                if let Some(site) = site {
                    // The divisor is checked for zero at the loop level of the result, even if the divisor is computed
                    // at an outer level: a divisor of zero is a fault only if there is an element to divide.
                    let level = self.level_of(operands);
                    let code = Code::CheckDivisor(site);
                    self.append(code, dtype, [args[1], Var(0), Var(0), Var(0)], 0, level);
                }
                self.inline(inst.code.recording().ok_or_else(undefined)?, operands)
            }
            kernel::Code::Cast(from, to) => self.inline(recording::of_cast(from, to), operands),
            kernel::Code::Host(callee) => {
                for (arg, &dtype) in args.iter_mut().zip(callee.signature.operands()) {
                    *arg = self.in_memory(dtype, *arg);
                }
                let level = self.level_of(&args[..inst.args().len()]);
                let dtype = callee.signature.result();
                let code = Code::Host(callee.function as usize);
                Ok(self.append(code, dtype, args, dtype.size() as u8, level))
            }
            kernel::Code::Item { item, dtype } => {
                let code = Code::Item(item as usize);
                Ok(self.append(code, dtype, [args[0], NONE, NONE, NONE], dtype.size() as u8, Depth::Element))
            }
            // Loops and gathers are added by `values`.
            kernel::Code::Loop(_) | kernel::Code::Gather { .. } => Err(undefined()),
        }
    }

    /// Adds the elements of a table at positions, with the check of the positions. No position outside of the table is read.
    fn gather(&mut self, table: usize, dtype: DType, position: Var, site: i32) -> Var {
        let none = Var(0);
        let count = self.define(Code::Elements(table), DType::UInt64, [none; 4], 8);
        // A negative position is a large one.
        let outside = Inst {
            primitive: Primitive::Cmp(Cmp::Ge),
            dtype: DType::UInt64,
            args: [position, count, none, none],
        };
        let outside = self.push(outside);
        // As a division, a gather is checked at the loop level of its result.
        let level = self.level_of(&[position]);
        self.append(Code::CheckPosition(site), DType::UInt64, [outside, none, none, none], 0, level);
        let zero = self.splat(DType::Int64, 0);
        let inside =
            Inst { primitive: Primitive::Select, dtype: DType::Int64, args: [outside, zero, position, none] };
        let inside = self.push(inside);
        self.append(Code::Gather(table), dtype, [inside, none, none, none], dtype.size() as u8, level)
    }

    /// Inlines a recording with these operands. Returns the value of its result.
    fn inline(&mut self, recording: &Recording, operands: &[Var]) -> Result<Var> {
        let mut inlined = std::mem::take(&mut self.inlined);
        inlined.clear();
        inlined.extend_from_slice(operands);
        for &inst in recording.insts() {
            let mut args = [Var(0); 4];
            for (slot, arg) in args.iter_mut().zip(inst.args()) {
                *slot = inlined[arg.index()];
            }
            let var = self.push(Inst { args, ..inst });
            inlined.push(var);
        }
        let result = inlined.get(recording.result().index()).copied().ok_or_else(undefined);
        self.inlined = inlined;
        result
    }

    fn level_of(&self, args: &[Var]) -> Depth {
        args.iter().map(|arg| self.node(*arg).level).max().unwrap_or(Depth::Call)
    }

    fn leaf(&mut self, code: Code, dtype: DType, level: Depth) -> Var {
        self.append(code, dtype, [Var(0); 4], dtype.size() as u8, level)
    }

    fn append(&mut self, code: Code, dtype: DType, args: [Var; 4], lane: u8, level: Depth) -> Var {
        self.nodes.push(Node { code, dtype, args, lane, level, live: false });
        Var(self.nodes.len() as u32 - 1)
    }

    /// Adds a primitive that the target has instructions for. Returns its value, or the value of an equal primitive
    /// that was added before.
    fn define(&mut self, code: Code, dtype: DType, args: [Var; 4], lane: u8) -> Var {
        let node = Node { code, dtype, args, lane, level: Depth::Call, live: false };
        let next = Var(self.nodes.len() as u32);
        let var = self.known.find_or_add(&self.nodes, &node, next);
        if var == next {
            let level = self.level_of(node.args());
            self.nodes.push(Node { level, ..node });
        }
        var
    }

    fn splat(&mut self, dtype: DType, bits: u64) -> Var {
        self.define(Code::Primitive(Primitive::Splat(bits)), dtype, [Var(0); 4], dtype.size() as u8)
    }

    /// Converts a mask or bool to a mask with lanes of this many bytes.
    fn resized(&mut self, mask: Var, lane: u8) -> Var {
        let from = self.node(mask).lane;
        if from == lane {
            return mask;
        }
        if let Some(bits) = self.constant(mask) {
            return self.splat(unsigned(lane), if bits == 0 { 0 } else { ones(lane.into()) });
        }
        let resize = Code::Primitive(Primitive::MaskResize(unsigned(from)));
        self.define(resize, unsigned(lane), [mask, Var(0), Var(0), Var(0)], lane)
    }

    /// Converts a value to its form in memory: a bool becomes a mask with lanes of one byte, other values are
    /// unchanged.
    fn in_memory(&mut self, dtype: DType, value: Var) -> Var {
        if dtype == DType::Bool { self.resized(value, 1) } else { value }
    }

    fn mark_live(&mut self) {
        for &output in &self.outputs {
            self.nodes[output.index()].live = true;
        }
        for i in (0..self.nodes.len()).rev() {
            let node = self.nodes[i];
            if node.live
                || matches!(
                    node.code,
                    Code::CheckDivisor(_) | Code::CheckPosition(_) | Code::Host(_) | Code::Loop(_)
                )
            {
                self.nodes[i].live = true;
                node.args().iter().for_each(|arg| self.nodes[arg.index()].live = true);
                if let Code::Loop(number) = node.code {
                    let region = Rc::clone(&self.loops[number]);
                    region.args.iter().for_each(|arg| self.nodes[arg.index()].live = true);
                }
            }
        }
        for (i, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.live) {
            self.levels[node.level as usize].push(Var(i as u32));
        }
    }
}

impl Sink for Body {
    fn push(&mut self, inst: Inst) -> Var {
        use Primitive::{Add, Div, Fma, Mul, Sub};
        // PERF: most primitives of a body are float arithmetic, which is never folded or legalised, so it is tested for
        // first.
        let plain = inst.dtype.is_float() && matches!(inst.primitive, Add | Sub | Mul | Div | Fma);
        if !plain {
            if let Some(value) = self.folded(&inst).or_else(|| self.mask(&inst)) {
                return value;
            }
            let width = self.width;
            if let Some(value) = legalise::expand(self, width, &inst) {
                return value;
            }
        }
        let mut args = inst.args;
        args[inst.primitive.operands()..].fill(Var(0));
        if plain {
            args = args.map(|arg| self.before_nans_are_replaced(arg).unwrap_or(arg));
        }
        self.define(Code::Primitive(inst.primitive), inst.dtype, args, inst.dtype.size() as u8)
    }

    fn is_invariant(&self, x: Var) -> bool {
        self.node(x).level != Depth::Element
    }

    fn has_short_reciprocal(&self, x: Var, dtype: DType) -> bool {
        // If a conversion between signed and unsigned was folded away, the parameter's bits are a different divisor in
        // this dtype, whose reciprocal may be long.
        match self.node(x) {
            Node { code: Code::Param(i), dtype: of, .. } if *of == dtype => {
                self.short_reciprocals.get(*i).is_some_and(|&short| short)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Body {
    /// Prints the live values, grouped by loop level: `p3: float64 = fma p0, p1, p2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (level, title) in [(Depth::Call, "call"), (Depth::Row, "row"), (Depth::Element, "block")] {
            if !self.at(level).is_empty() {
                writeln!(f, "{title}:")?;
            }
            for &var in self.at(level) {
                let node = self.node(var);
                let dtype = node.dtype;
                match node.code {
                    Code::Input(i) => write!(f, "  {var:?}: {dtype} = input {i}")?,
                    Code::Param(i) => write!(f, "  {var:?}: {dtype} = param {i}")?,
                    Code::Host(i) => write!(f, "  {var:?}: {dtype} = host.{i}")?,
                    Code::CheckDivisor(site) => write!(f, "  check_divisor.{site}")?,
                    Code::CheckPosition(site) => write!(f, "  check_position.{site}")?,
                    Code::Elements(table) => write!(f, "  {var:?}: {dtype} = elements of table {table}")?,
                    Code::Gather(table) => write!(f, "  {var:?}: {dtype} = gather.{table}")?,
                    Code::Loop(number) => {
                        write!(f, "{}", self.loops[number].listing(var))?;
                        continue;
                    }
                    Code::Item(item) => write!(f, "  {var:?}: {dtype} = item.{item} {:?}", node.args[0])?,
                    Code::Minimum => write!(f, "  {var:?}: {dtype} = minimum")?,
                    Code::Maximum => write!(f, "  {var:?}: {dtype} = maximum")?,
                    Code::Unordered => write!(f, "  {var:?}: mask({dtype}) = unordered")?,
                    Code::Primitive(p) if p.gives_mask() => write!(f, "  {var:?}: mask({dtype}) = {p}")?,
                    Code::Primitive(p) => write!(f, "  {var:?}: {dtype} = {p}")?,
                }
                for (i, arg) in node.args().iter().enumerate() {
                    write!(f, "{}{arg:?}", if i == 0 { " " } else { ", " })?;
                }
                writeln!(f)?;
            }
        }
        write!(f, "outputs:")?;
        self.outputs.iter().try_for_each(|output| write!(f, " {output:?}"))?;
        writeln!(f)
    }
}

mod floats;
mod folding;
mod regions;
#[cfg(test)]
mod tests;
