//! Emits the CLIF function of a kernel: a loop over rows, and within it a loop over the blocks of a row, around the
//! body.
//!
//! The function computes `rows × cols` elements and has the signature of [`crate::code::Entry`]. It reads and writes
//! only those elements. Its argument `last` depends on how the last block of a row is computed. If that block overlaps
//! the block before it, `cols` is at least the lane count, and `last` is `cols` minus the lane count, where the last
//! block begins. If its accesses are masked, `cols` is at least 1, and `last` is `cols`. Steps of a single column have
//! one column, and ignore `last`. The second function of a
//! kernel, which writes with non-temporal stores or reduces rows to leaves, is called for rows of whole blocks, and
//! `last` is `cols`.
//!
//! ```text
//! entry:  loads the parameters, computes what depends on nothing else
//! row:    computes row pointers, loads inputs with one element per row, computes what depends on nothing else; at
//!         512 bits, a long row may be computed in two pieces, the first of which ends at a cache line of an output
//! block:  loads, computes and stores `lanes` elements; the last block of a row ends at the row's end and may overlap
//!         the block before it (the bits of the overlap are computed twice); at 512 bits, unless an input is reversed
//!         or every second element in memory, its accesses are masked instead, to the remaining elements
//! ```

use std::rc::Rc;

use broadloom_ir::canonical::{self, LANES};
use broadloom_ir::code_plan::{Bulk, CodePlan, Tail};
use broadloom_ir::kernel::{Depth, Kernel, KernelOutput, Sink};
use broadloom_ir::{DType, Error, ErrorKind, Result};
use broadloom_math::record::{Primitive, Var};
use broadloom_mem::{Access, Stores};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Function, InstBuilder, MemFlagsData, StackSlot, UserFuncName, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use smallvec::{SmallVec, smallvec};
use target_lexicon::Architecture;

use crate::body::{Body, Code, Node};
use crate::constants::{Constants, TableEntry};
use crate::host::HostCalls;
use crate::interleave;
use crate::leaf::Leaf;
use crate::lower;
use crate::memory::{RowBlock, splat_of_memory};
use crate::scope::{Active, BodyScope};
use crate::slow_path::SlowPaths;
use crate::value::{LaneLayout, Lanes, scalar_of};
use crate::vectors::{Vectors, element_flags};

pub use crate::slow_path::Helpers;

/// The limit on the stack space of compiled code in bytes. Threads of some platforms have only 128 KiB.
pub const MAX_FRAME: u32 = 64 << 10;

/// The size in bytes of a cache line, and of a 512-bit vector.
const LINE: i64 = 64;

/// Rows of at least this many blocks are computed in two pieces, if the plan aligns rows.
const LONG_ROW: i64 = 8;

/// The size in bytes of an operand's entry in the argument array: a pointer and a row stride.
const OPERAND: i32 = 16;

/// The size in bytes of a table's entry in the list of tables: a pointer and the number of elements.
const TABLE: i32 = 16;

/// One of the two functions of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The function that takes rows of all lengths.
    Usual,
    /// The function that takes whole blocks only ([`CodePlan::bulk`]).
    Bulk,
}

impl Variant {
    /// The number of lanes for which the body computes values at a time.
    fn lanes(self, plan: &CodePlan) -> u32 {
        match (self, plan.bulk) {
            (Variant::Usual, _) | (Variant::Bulk, Bulk::None) => plan.lanes,
            (Variant::Bulk, Bulk::Stream { lanes }) => lanes,
            (Variant::Bulk, Bulk::Leaf { group, .. }) => group,
        }
    }

    /// The number of elements of a block of this function.
    pub fn step(self, plan: &CodePlan) -> u32 {
        match (self, plan.bulk) {
            (Variant::Bulk, Bulk::Leaf { level, .. }) => (LANES as u32) << level,
            _ if plan.tail == Tail::Single => 1,
            _ => self.lanes(plan),
        }
    }
}

/// Builds a function of a kernel. Returns it with the entries of the table of constants that callers pass to it.
///
/// # Errors
/// [`ErrorKind::Internal`]: the kernel does not verify.
pub fn function<'a>(
    kernel: &'a Kernel,
    access: &'a [Access],
    plan: &'a CodePlan,
    variant: Variant,
    isa: &dyn TargetIsa,
    context: &'a mut FunctionBuilderContext,
    helpers: Helpers,
) -> Result<(Function, Vec<TableEntry>)> {
    let body = Body::of(kernel, access, plan.width)?;
    let call_conv = isa.default_call_conv();
    let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature(call_conv));
    let builder = FunctionBuilder::new(&mut function, context);
    let converts_to_long = matches!(isa.triple().architecture, Architecture::Aarch64(_));
    let layout =
        LaneLayout { width: plan.width, lanes: variant.lanes(plan), interleaved: false, converts_to_long };
    let bulk = if variant == Variant::Bulk { plan.bulk } else { Bulk::None };
    let leaves = match bulk {
        Bulk::Leaf { .. } => leaves(kernel, plan)?,
        Bulk::None | Bulk::Stream { .. } => Vec::new(),
    };
    let interleaved = leaves.is_empty() && interleave::applies(&body, kernel, layout);
    let layout = LaneLayout { interleaved, ..layout };
    let mut emitter = Emitter {
        leaves,
        access,
        vectors: Vectors::new(builder, layout, call_conv),
        scope: BodyScope::new(Rc::new(body)),
        depth: 0,
        active: None,
        frames: SmallVec::new(),
        strays: None,
        kernel,
        plan,
        bulk,
        step: i64::from(variant.step(plan)),
        slow_paths: SlowPaths::new(helpers),
        host_calls: HostCalls::default(),
        nan_seen: None,
        states: SmallVec::new(),
    };
    emitter.function()?;
    let Vectors { mut builder, constants, .. } = emitter.vectors;
    builder.seal_all_blocks();
    builder.finalize(isa.frontend_config());
    Ok((function, constants.into_table()))
}

/// For each output of the second function, how its rows are reduced to leaves (nodes of the canonical reduction tree).
fn leaves(kernel: &Kernel, plan: &CodePlan) -> Result<Vec<Leaf>> {
    let leaf = |(output, dtype): (&KernelOutput, DType)| match output.sink {
        Sink::Reduce(reduction) => Leaf::new(reduction, dtype, plan.width),
        Sink::Store | Sink::Scan(_) => Err(undefined()),
    };
    kernel.outputs.iter().zip(kernel.output_dtypes()).map(leaf).collect()
}

/// The signature of every function: `(operands, params, faults, rows, last, constants)`. `last` is the column at which a row's
/// last block begins; for functions with masked accesses and for second functions, it is the number of columns.
pub fn signature(call_conv: CallConv) -> cranelift_codegen::ir::Signature {
    let mut signature = cranelift_codegen::ir::Signature::new(call_conv);
    signature.params.extend([AbiParam::new(types::I64); 6]);
    signature
}

/// The CLIF blocks and values that are used in the loop over rows and in the loop over blocks.
struct Loops {
    row: Block,
    operands: Value,
    rows: Value,
    /// The column at which the last block of a row begins; the number of columns, if rows may have any length.
    last: Value,
    /// Whether the accesses of a row's last block are masked, and (`whole`) whether rows consist of whole blocks only.
    masked: bool,
    whole: bool,
}

/// The addresses of the parameters, the fault bytes and the operands.
struct Sources {
    params: Value,
    faults: Value,
    /// The address of the state of loops; the one of the parameters if the kernel has no loops.
    context: Value,
    /// The address of the tables' addresses and sizes; the one of the parameters if the kernel has no tables.
    tables: Value,
    /// The address of each operand's first element in the current row, inputs first.
    pointers: Vec<Value>,
}

/// Emits the loops around a body, and each value of the body at its loop level.
struct Emitter<'a> {
    vectors: Vectors<'a>,
    kernel: &'a Kernel,
    /// The body whose values are being emitted: that of the kernel, or of a loop.
    scope: BodyScope,
    /// The number of loops around the current values, and the lanes that perform their iteration; `None` for all.
    depth: u32,
    active: Option<Active>,
    /// The stack frames of loops, by their depth.
    frames: SmallVec<[StackSlot; 2]>,
    /// The frame of a mask, whose lanes have 8 bytes, of the elements of the block that have met a position outside of a table; `None`
    /// if no loop asks for them.
    strays: Option<StackSlot>,
    plan: &'a CodePlan,
    /// The task of the second function; `Bulk::None` while the usual function is emitted.
    bulk: Bulk,
    /// The number of elements of a block.
    step: i64,
    /// The access class of each input.
    access: &'a [Access],
    /// For each output, how the rows of a block are reduced; empty if the elements themselves are written.
    leaves: Vec<Leaf>,
    slow_paths: SlowPaths,
    host_calls: HostCalls,
    /// A value that is nonzero if this block or an earlier block of the row has a NaN to replace; `None` if blocks are
    /// not tested for NaN.
    nan_seen: Option<Value>,
    /// If rows are steps: for each input, the value that the step before has left in registers.
    states: SmallVec<[Option<Lanes>; 4]>,
}

impl Emitter<'_> {
    fn function(&mut self) -> Result<()> {
        let v = &mut self.vectors;
        let entry = v.builder.create_block();
        v.builder.append_block_params_for_function_params(entry);
        v.builder.switch_to_block(entry);
        let given = v.builder.block_params(entry).to_vec();
        let [operands, params, faults, rows, last, constants] = given[..] else {
            return Err(Error::new(ErrorKind::Internal, "the entry block has other parameters"));
        };
        v.constants = Constants::new(constants, self.plan.has_table);
        let mut context = params;
        if !self.kernel.loops.is_empty() {
            // The address follows the parameters.
            let at = 8 * self.kernel.params.len() as i32;
            context = v.ins().load(types::I64, MemFlagsData::trusted(), params, at);
        }
        let mut tables = params;
        if !self.kernel.tables.is_empty() {
            let before = self.kernel.params.len() + usize::from(!self.kernel.loops.is_empty());
            tables = v.ins().load(types::I64, MemFlagsData::trusted(), params, 8 * before as i32);
        }
        let sources = Sources { params, faults, context, tables, pointers: Vec::new() };
        self.level(Depth::Call, &sources, None)?;
        if self.plan.states > 0 {
            return self.steps(operands, rows, sources);
        }

        let v = &mut self.vectors;
        let row = v.builder.create_block();
        let row_number = v.builder.append_block_param(row, types::I64);
        let zero = v.ins().iconst(types::I64, 0);
        let mut first = vec![BlockArg::from(zero)];
        // The second function is called for whole blocks only.
        let whole = self.bulk != Bulk::None;
        let masked = self.plan.tail == Tail::Masked && !whole;
        let start = (masked && self.plan.aligns_rows).then(|| {
            first.push(zero.into());
            v.builder.append_block_param(row, types::I64)
        });
        let jump = v.ins().jump(row, &first);
        v.constants.end_entry(v.layout.is_wide().then_some(jump));
        v.builder.switch_to_block(row);
        self.row(&Loops { row, operands, rows, last, masked, whole }, sources, row_number, start)
    }

    /// Emits the loop over the blocks of a row. If `start` is given, the loop begins at that column and computes one
    /// piece of the row, which has one or two pieces.
    fn row(
        &mut self,
        loops: &Loops,
        mut sources: Sources,
        row_number: Value,
        start: Option<Value>,
    ) -> Result<()> {
        let operands = self.kernel.inputs.len() + self.kernel.outputs.len();
        sources.pointers =
            (0..operands).map(|i| row_pointer(&mut self.vectors, loops.operands, i, row_number)).collect();
        self.level(Depth::Row, &sources, None)?;

        let end = start.map_or(loops.last, |start| self.end_of_piece(&sources, start, loops.last));
        let v = &mut self.vectors;
        let block = v.builder.create_block();
        let index = v.builder.append_block_param(block, types::I64);
        let zero = v.ins().iconst(types::I64, 0);
        let outer = v.constants.base();
        let mut first = vec![BlockArg::from(start.unwrap_or(zero))];
        if let Some(base) = outer {
            let carried = v.builder.append_block_param(block, types::I64);
            v.constants.set_base(Some(carried));
            first.push(base.into());
        }
        if self.tests_for_nan() {
            let v = &mut self.vectors;
            self.nan_seen = Some(v.builder.append_block_param(block, types::I64));
            first.push(zero.into());
        }
        let v = &mut self.vectors;
        v.ins().jump(block, &first);
        v.builder.switch_to_block(block);
        let left = loops.masked.then(|| v.ins().isub(end, index));
        let stores = match self.bulk {
            Bulk::Stream { .. } => Stores::Streaming,
            Bulk::None | Bulk::Leaf { .. } => Stores::Cached,
        };
        let mut block_of_row = RowBlock::new(index, left, stores);
        match self.bulk {
            Bulk::Leaf { level, group } => self.leaf(&sources, &mut block_of_row, level, group)?,
            Bulk::None | Bulk::Stream { .. } => self.block(&sources, &mut block_of_row)?,
        }

        let v = &mut self.vectors;
        let behind = if loops.masked || loops.whole {
            let behind = v.builder.create_block();
            let next = v.ins().iadd_imm_s(index, self.step);
            let more = v.ins().icmp(IntCC::SignedLessThan, next, end);
            let following: SmallVec<[BlockArg; 2]> =
                [next].into_iter().chain(self.nan_seen).map(BlockArg::from).collect();
            v.ins().brif(more, block, &following, behind, &[]);
            behind
        } else {
            overlapping(v, loops, block, index, outer, self.nan_seen)
        };

        v.builder.switch_to_block(behind);
        let last = v.builder.create_block();
        let following = v.ins().iadd_imm_s(row_number, 1);
        let next: SmallVec<[Value; 2]> = match start {
            None => smallvec![following],
            Some(_) => {
                let is_first = v.ins().icmp(IntCC::SignedLessThan, end, loops.last);
                let row = v.ins().select(is_first, row_number, following);
                smallvec![row, v.ins().select(is_first, end, zero)]
            }
        };
        let more = v.ins().icmp(IntCC::UnsignedLessThan, next[0], loops.rows);
        let next: SmallVec<[BlockArg; 2]> = next.into_iter().map(BlockArg::from).collect();
        v.ins().brif(more, loops.row, &next, last, &[]);
        v.builder.switch_to_block(last);
        v.ins().return_(&[]);
        Ok(())
    }

    /// Whether each block is first tested for NaN, so that nothing is replaced in blocks before a row's first NaN. This
    /// saves time if a replacement takes more than one instruction.
    fn tests_for_nan(&self) -> bool {
        use Primitive::{Add, Cmp, Fma, Mul, Neg, Select, Sub};
        let is_arithmetic = |code| {
            matches!(code, Code::Input(_) | Code::Primitive(Add | Sub | Mul | Fma | Neg | Cmp(_) | Select))
        };
        let mut nodes = self.scope.body.at(Depth::Element).iter().map(|&var| self.scope.body.node(var));
        self.plan.may_test_for_nan
            && nodes.clone().all(|node| is_arithmetic(node.code))
            && nodes.any(|node| self.scope.body.replaces_nan(node))
    }

    /// The column at which a piece of a row ends, if it begins at the column `start`. The first piece of a long row
    /// ends where a cache line of the first output begins, so that no store of the second piece crosses cache lines;
    /// every other piece ends at the row's end.
    fn end_of_piece(&mut self, sources: &Sources, start: Value, cols: Value) -> Value {
        let (Some(output), Some(&pointer)) =
            (self.kernel.outputs.first(), sources.pointers.get(self.kernel.inputs.len()))
        else {
            return cols;
        };
        let size = self.kernel.dtype(output.value).size();
        let v = &mut self.vectors;
        let before = v.ins().iadd_imm_s(pointer, -1);
        let before = v.ins().band_imm_u(before, LINE - 1);
        let most = v.ins().iconst(types::I64, LINE - 1);
        let bytes = v.ins().isub(most, before);
        let head = match size {
            1 => bytes,
            _ => v.ins().ushr_imm_u(bytes, i64::from(size.trailing_zeros())),
        };
        let zero = v.ins().iconst(types::I64, 0);
        let long = i64::from(v.layout.lanes) * LONG_ROW;
        let long = v.ins().iconst(types::I64, long);
        let is_short = v.ins().icmp(IntCC::SignedLessThan, cols, long);
        let head = v.ins().select(is_short, zero, head);
        let is_ahead = v.ins().icmp(IntCC::SignedGreaterThan, head, start);
        v.ins().select(is_ahead, head, cols)
    }

    /// Computes and writes a block of a row.
    fn block(&mut self, sources: &Sources, block: &mut RowBlock) -> Result<()> {
        self.level(Depth::Element, sources, Some(block))?;
        let outputs: SmallVec<[usize; 4]> = (0..self.kernel.outputs.len()).collect();
        self.store(&outputs, sources, block)
    }

    /// Writes these outputs of a block.
    fn store(&mut self, outputs: &[usize], sources: &Sources, block: &mut RowBlock) -> Result<()> {
        for &i in outputs {
            let value = self.value(self.scope.body.outputs()[i])?;
            let pointer = sources.pointers[self.kernel.inputs.len() + i];
            let dtype = self.kernel.dtype(self.kernel.outputs[i].value);
            block.store(&mut self.vectors, dtype, value, pointer);
        }
        Ok(())
    }

    /// Computes a block of 2^`level` rows of the reduction, `group` lanes of each row at a time, and writes the single
    /// row to which they are reduced.
    fn leaf(&mut self, sources: &Sources, block: &mut RowBlock, level: u8, group: u32) -> Result<()> {
        for lane in (0..LANES as u32).step_by(group as usize) {
            let mut nodes: SmallVec<[SmallVec<[Lanes; 8]>; 2]> =
                smallvec![SmallVec::new(); self.leaves.len()];
            for (row, pairs) in (0_u32..).zip(canonical::carries(level)) {
                block.go_to(row * LANES as u32 + lane);
                self.level(Depth::Element, sources, Some(block))?;
                for (i, nodes) in nodes.iter_mut().enumerate() {
                    let value = self.value(self.scope.body.outputs()[i])?;
                    self.leaves[i].push(&mut self.vectors, nodes, value, pairs);
                }
            }
            for (i, (nodes, output)) in nodes.iter().zip(&self.kernel.outputs).enumerate() {
                let node = nodes.last().ok_or_else(undefined)?;
                let pointer = sources.pointers[self.kernel.inputs.len() + i];
                let dtype = self.kernel.dtype(output.value);
                block.store_node(&mut self.vectors, dtype, node, lane, level, pointer);
            }
        }
        Ok(())
    }

    /// Emits the values of one loop level and the constants that they read. Values of the innermost level are computed
    /// for `block`.
    fn level(&mut self, level: Depth, sources: &Sources, mut block: Option<&mut RowBlock>) -> Result<()> {
        // Uniform values are computed once, but a host function may return different results for equal operands.
        self.vectors.uniform = level != Depth::Element && self.kernel.functions.is_empty();
        let body = Rc::clone(&self.scope.body);
        if level == Depth::Element && !self.kernel.tables.is_empty() && body.has_endless_loops() {
            self.begin_strays()?;
        }
        for &var in body.at(level) {
            self.step(var, sources, block.as_deref_mut())?;
        }
        // The next level emits constants of its own, because each loop has its own copy of the table's address.
        let BodyScope { values, constants, .. } = &mut self.scope;
        constants.drain(..).for_each(|var| values[var.index()] = None);
        Ok(())
    }

    /// Emits a value of the current body. In a loop there is no `block`, and inputs have been emitted.
    fn step(&mut self, var: Var, sources: &Sources, block: Option<&mut RowBlock>) -> Result<()> {
        let node = *self.scope.body.node(var);
        match node.code {
            // Constants are emitted where they are read.
            Code::Primitive(Primitive::Splat(_)) => return Ok(()),
            Code::Loop(index) => return self.looped(index, sources),
            _ => {}
        }
        let mut args = [Lanes::new(1, []); 4];
        for (slot, &arg) in args.iter_mut().zip(node.args()) {
            *slot = self.value(arg)?;
        }
        self.scope.values[var.index()] = Some(self.emit(&node, &args, sources, block)?);
        Ok(())
    }

    fn value(&mut self, var: Var) -> Result<Lanes> {
        let BodyScope { body, values, constants, .. } = &mut self.scope;
        if let Some(known) = values.get(var.index()).copied().ok_or_else(undefined)? {
            return Ok(known);
        }
        let bits = body.constant(var).ok_or_else(undefined)?;
        let constant = self.vectors.constant_lanes(scalar_of(body.node(var).dtype), bits);
        values[var.index()] = Some(constant);
        constants.push(var);
        Ok(constant)
    }

    fn emit(
        &mut self,
        node: &Node,
        args: &[Lanes; 4],
        sources: &Sources,
        block: Option<&mut RowBlock>,
    ) -> Result<Lanes> {
        let (v, dtype) = (&mut self.vectors, node.dtype);
        if let (Some(seen), true) = (self.nan_seen, self.scope.body.replaces_nan(node)) {
            let (replaced, seen) = self.slow_paths.replace_nan(v, &args[1], &args[2], seen);
            self.nan_seen = Some(seen);
            return Ok(replaced);
        }
        Ok(match (node.code, block) {
            (Code::Param(i), _) => {
                let (flags, at) = (MemFlagsData::trusted(), 8 * i as i32);
                let scalar = v.ins().load(scalar_of(dtype), flags, sources.params, at);
                splat_of_memory(v, dtype, scalar)
            }
            (Code::Input(i), Some(_)) if self.states.get(i).is_some_and(Option::is_some) => {
                self.states[i].ok_or_else(undefined)?
            }
            (Code::Input(i), Some(block)) => block.load(v, dtype, self.access[i], sources.pointers[i]),
            (Code::Input(i), None) => {
                let scalar = v.ins().load(scalar_of(dtype), element_flags(), sources.pointers[i], 0);
                splat_of_memory(v, dtype, scalar)
            }
            (Code::Host(function), block) => {
                let function = self.kernel.functions.get(function).ok_or_else(undefined)?;
                self.host_calls.call(v, function, &args[..node.args().len()], block.as_deref())
            }
            (Code::CheckDivisor(site), block) => {
                let zero = v.zero(v.layout.vector_of(dtype));
                let mask = args[0].map(|x| v.ins().icmp(IntCC::Equal, x, zero));
                let mask = self.active.as_mut().map_or(mask, |active| active.of(v, mask));
                let left = block.and_then(|block| block.left());
                self.slow_paths.note(v, mask, left, sources.faults, site, None);
                args[0]
            }
            (Code::Elements(table), _) => {
                let at = TABLE * table as i32 + 8;
                let count = v.ins().load(types::I64, MemFlagsData::trusted(), sources.tables, at);
                v.splat_scalar(types::I64, count)
            }
            (Code::CheckPosition(site), block) => {
                let mask = self.active.as_mut().map_or(args[0], |active| active.of(v, args[0]));
                let left = block.and_then(|block| block.left());
                self.slow_paths.note(v, mask, left, sources.faults, site, self.strays);
                args[0]
            }
            (Code::Gather(table), _) => {
                let frame = if v.layout.is_wide() { Some(self.slow_paths.frame(v)) } else { None };
                // A row of steps has a single element.
                let are_copies = v.uniform || self.plan.states > 0;
                gather::emit(v, dtype, &args[0], (sources.tables, TABLE * table as i32), frame, are_copies)
            }
            (Code::Primitive(Primitive::SlowPath(function)), _) => {
                let [mask, a, b, fast] = *args;
                let mask = self.active.as_mut().map_or(mask, |active| active.of(v, mask));
                self.slow_paths.select(v, function, &[mask, a, b, fast])
            }
            (Code::Item(item), _) => {
                let Code::Loop(index) = self.scope.body.node(node.args[0]).code else {
                    return Err(undefined());
                };
                self.scope.ended[index].get(item).copied().ok_or_else(undefined)?
            }
            (_, _) => lower::node(v, node, args),
        })
    }
}

/// The address of an operand's first element, and the distance in bytes from one row to the next.
fn operand(v: &mut Vectors<'_>, operands: Value, i: usize) -> (Value, Value) {
    let at = OPERAND * i as i32;
    let base = v.ins().load(types::I64, MemFlagsData::trusted(), operands, at);
    (base, v.ins().load(types::I64, MemFlagsData::trusted(), operands, at + 8))
}

/// The address of an operand's first element in a row.
fn row_pointer(v: &mut Vectors<'_>, operands: Value, i: usize, row: Value) -> Value {
    let (base, stride) = operand(v, operands, i);
    let offset = v.ins().imul(stride, row);
    v.ins().iadd(base, offset)
}

/// Ends the body of a loop over blocks of elements, the last of which may overlap the one before it. The loop continues
/// with the next whole block of elements or with the last one, or ends. Returns a new basic block, for the code after
/// the loop. `outer` is the address of
/// the constants before the loop, and `carried` a value that each block passes to the next.
fn overlapping(
    v: &mut Vectors<'_>,
    loops: &Loops,
    block: Block,
    index: Value,
    outer: Option<Value>,
    carried: Option<Value>,
) -> Block {
    // The common path ends with an addition, a comparison and a jump.
    let (tail, next_row) = (v.builder.create_block(), v.builder.create_block());
    let lanes = i64::from(v.layout.lanes);
    let next = v.ins().iadd_imm_s(index, lanes);
    let within = v.ins().icmp(IntCC::SignedLessThanOrEqual, next, loops.last);
    let (mut following, mut final_one) = (vec![BlockArg::from(next)], vec![BlockArg::from(loops.last)]);
    if let (Some(base), Some(carried)) = (outer, v.constants.base()) {
        // `nothing` is zero for any possible number of rows, but the optimiser can't deduce this, so the loads of
        // constants stay in the loop as memory operands.
        let nothing = v.ins().ushr_imm_u(loops.rows, 63);
        let same = v.ins().iadd(carried, nothing);
        following.push(same.into());
        final_one.push(same.into());
        v.constants.set_base(Some(base));
    }
    for next in [&mut following, &mut final_one] {
        next.extend(carried.map(BlockArg::from));
    }
    v.ins().brif(within, block, &following, tail, &[]);
    // Either the row is finished, or fewer elements are left than a block has, and the last block begins before them. A
    // comparison with `==` would be rewritten by the optimiser to one of `index`, which would then have to be kept after
    // the addition.
    v.builder.switch_to_block(tail);
    let cols = v.ins().iadd_imm_s(loops.last, lanes);
    let done = v.ins().icmp(IntCC::SignedGreaterThanOrEqual, next, cols);
    v.ins().brif(done, next_row, &[], block, &final_one);
    next_row
}

fn undefined() -> Error {
    Error::new(ErrorKind::Internal, "a kernel that does not verify reached the emitter")
}

mod gather;
mod looped;
mod steps;
#[cfg(test)]
mod tests {
    use broadloom_ir::kernel::{Code, Inst, ValueId};
    use broadloom_ir::{Op, Purpose};

    use super::*;
    use crate::repertoire::optimised;
    use broadloom_ir::VectorWidth;

    /// A kernel that applies an op `length` times, each time to the previous result.
    fn chain(op: Op, dtype: DType, length: u32) -> Kernel {
        let inst = |i| Inst { code: Code::apply(op, dtype), args: [ValueId(i), ValueId(0), ValueId(0)] };
        Kernel {
            inputs: vec![dtype],
            body: (0..length).map(inst).collect(),
            outputs: vec![ValueId(length).into()],
            ..Kernel::default()
        }
    }

    /// If replacing a NaN takes two instructions and the loop does little else, each block is tested for NaN once per output.
    #[test]
    fn chains_of_sums_and_products_are_tested_for_nan() {
        let tests = |op, length, width, outputs: u32| {
            let mut kernel = chain(op, DType::Float32, length);
            kernel.outputs.clear();
            for i in 0..outputs {
                let code = Code::apply(Op::CanonicalNan, DType::Float32);
                kernel.body.push(Inst { code, args: [ValueId(length - i); 3] });
                kernel.outputs.push(ValueId(length + 1 + i).into());
            }
            let access = [Access::Contiguous];
            let (function, _) =
                optimised(&kernel, &access, width, Purpose::Store, Helpers::Shown(Vec::new()));
            function.display().to_string().matches("vhigh_bits").count()
        };
        assert_eq!([1, 2].map(|outputs| tests(Op::Multiply, 18, VectorWidth::W256, outputs)), [1, 2]);
        assert_eq!(
            [VectorWidth::W128, VectorWidth::W512].map(|width| tests(Op::Multiply, 18, width, 1)),
            [0, 0]
        );
        for (op, length) in [(Op::Add, 1), (Op::Multiply, 4), (Op::Multiply, 40), (Op::Exp, 1)] {
            assert_eq!(tests(op, length, VectorWidth::W256, 1), 0, "{op} {length}");
        }
    }
}
