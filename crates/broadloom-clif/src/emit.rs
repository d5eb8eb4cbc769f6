//! From a kernel to a CLIF function: two loops around the body.
//!
//! The function computes `rows × cols` elements and has the signature of [`crate::code::Entry`]; it reads and writes only
//! those elements. Up to 256 bits it needs `cols` to be at least the lane count and is given `cols` less that; at 512 bits
//! it is given `cols`, which is at least 1. A function that writes non-temporally, or only the leaves of a reduction, is given
//! whole blocks, and `cols`.
//!
//! ```text
//! entry:  parameters, and what depends on them only
//! row:    row pointers, values that serve the row, and what depends on them only
//! block:  load, compute, store `lanes` elements; the last block of a row ends at its end and may overlap the one
//!         before, which computes the same bits twice; at 512 bits it has the elements that are left
//! ```

use broadloom_ir::kernel::{Depth, Kernel, ValueId};
use broadloom_ir::{DType, Error, ErrorKind, Result};
use broadloom_math::record::{Primitive, Var};
use broadloom_mem::{Access, Stores};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Function, InstBuilder, MemFlagsData, UserFuncName, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use target_lexicon::Architecture;

use crate::body::{Body, Code, Node};
use crate::constants::{Constants, TableEntry};
use crate::host::HostCalls;
use crate::leaf::{self, Leaf};
use crate::lower;
use crate::memory::{RowBlock, splat_of_memory};
use crate::slow_path::SlowPaths;
use crate::value::{Lanes, Layout, scalar_of};
use crate::vectors::{Vectors, element_flags};
use crate::width::Width;

pub use crate::slow_path::Helpers;

/// The most stack that compiled code may take, in bytes: threads of some platforms have no more than 128 KiB.
pub const MAX_FRAME: u32 = 64 << 10;

/// Kernels of a higher cost read their constants from a table.
const TABLE_ABOVE: u64 = 24;

/// Bytes of one operand in the argument array: a pointer and a row stride.
const OPERAND: i32 = 16;

/// Elements per block: whole vectors of the widest dtype, at least four bytes of the narrowest in memory, and
/// several vectors where the body is short.
///
/// The thresholds come from measurements of unrolling: it pays for bodies of a few instructions in cache.
pub fn lanes(kernel: &Kernel, width: Width) -> u32 {
    let sizes = (0..kernel.values() as u32).map(|v| kernel.dtype(ValueId(v)));
    let widest = sizes.clone().filter(|d| *d != DType::Bool).map(DType::size).max().unwrap_or(1) as u32;
    let memory = kernel.inputs.iter().copied().chain(kernel.output_dtypes());
    let narrowest =
        memory.chain(sizes.filter(|d| *d != DType::Bool)).map(DType::size).min().unwrap_or(1) as u32;
    let base = (width.bytes() / widest).max(4 / narrowest).max(2);
    let leaves = !kernel.leaves.is_empty();
    let unroll = match kernel.cost() {
        0..=4 => 4,
        // What is combined in registers need not be combined in memory.
        5..=24 if leaves => 4,
        5..=24 => 2,
        25..=64 if leaves => 2,
        _ => 1,
    };
    let lanes = (base * unroll).min(width.bytes());
    if leaves { lanes.max(leaf::ROW) } else { lanes }
}

/// How many rows a block of an output has that are combined before they are written; 1 where all elements are.
pub fn leaf_rows(kernel: &Kernel, width: Width) -> u32 {
    if kernel.leaves.is_empty() { 1 } else { lanes(kernel, width) / leaf::ROW }
}

/// Builds the function, and the table of constants that it is called with.
///
/// # Errors
/// [`ErrorKind::Internal`]: the kernel does not verify.
pub fn function(
    kernel: &Kernel,
    access: &[Access],
    width: Width,
    stores: Stores,
    isa: &dyn TargetIsa,
    context: &mut FunctionBuilderContext,
    helpers: Helpers,
) -> Result<(Function, Vec<TableEntry>)> {
    let body = Body::of(kernel, access, width)?;
    let call_conv = isa.default_call_conv();
    let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature(call_conv));
    let builder = FunctionBuilder::new(&mut function, context);
    let converts_to_long = matches!(isa.triple().architecture, Architecture::Aarch64(_));
    let layout = Layout { width, lanes: lanes(kernel, width), converts_to_long };
    let leaves = kernel.leaves.iter().zip(kernel.output_dtypes());
    let leaves =
        leaves.map(|(&reduction, dtype)| Leaf::new(reduction, dtype, width)).collect::<Result<_>>()?;
    let mut emitter = Emitter {
        leaves,
        vectors: Vectors::new(builder, layout, call_conv),
        values: vec![None; body.len()],
        constants: Vec::new(),
        body,
        kernel,
        stores,
        slow_paths: SlowPaths::new(helpers),
        host_calls: HostCalls::default(),
    };
    emitter.function()?;
    let Vectors { mut builder, constants, .. } = emitter.vectors;
    builder.seal_all_blocks();
    builder.finalize(isa.frontend_config());
    Ok((function, constants.into_table()))
}

/// `(operands, params, faults, rows, last, constants)`, where `last` is the column that a row's last block begins at; at
/// 512 bits and with non-temporal stores, the number of columns.
pub fn signature(call_conv: CallConv) -> cranelift_codegen::ir::Signature {
    let mut signature = cranelift_codegen::ir::Signature::new(call_conv);
    signature.params.extend([AbiParam::new(types::I64); 6]);
    signature
}

/// The blocks and the values that the loops share.
struct Loops {
    row: Block,
    operands: Value,
    rows: Value,
    /// Where the last block of a row begins; at 512 bits, the number of columns.
    last: Value,
}

/// Where the values come from that are not computed, and where faults go.
struct Sources {
    params: Value,
    faults: Value,
    /// The first element of each operand in the row: inputs, then outputs.
    pointers: Vec<Value>,
}

/// Emits the loops around a body, and the body's values at the loop levels where they belong.
struct Emitter<'a> {
    vectors: Vectors<'a>,
    kernel: &'a Kernel,
    body: Body,
    /// The lanes of the body's values so far.
    values: Vec<Option<Lanes>>,
    /// The constants among them.
    constants: Vec<Var>,
    stores: Stores,
    /// How the rows of a block are combined, of each output; none where all elements are written.
    leaves: Vec<Leaf>,
    slow_paths: SlowPaths,
    host_calls: HostCalls,
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
        let from_table = self.kernel.cost() > TABLE_ABOVE && !v.layout.is_wide();
        v.constants = Constants::new(constants, from_table);
        let sources = Sources { params, faults, pointers: Vec::new() };
        self.level(Depth::Call, &sources, None)?;

        let v = &mut self.vectors;
        let row = v.builder.create_block();
        let row_number = v.builder.append_block_param(row, types::I64);
        let zero = v.ins().iconst(types::I64, 0);
        let jump = v.ins().jump(row, &[zero.into()]);
        v.constants.end_entry(v.layout.is_wide().then_some(jump));
        v.builder.switch_to_block(row);
        self.row(&Loops { row, operands, rows, last }, sources, row_number)
    }

    fn row(&mut self, loops: &Loops, mut sources: Sources, row_number: Value) -> Result<()> {
        let operands = self.kernel.inputs.len() + self.kernel.outputs.len();
        sources.pointers =
            (0..operands).map(|i| row_pointer(&mut self.vectors, loops.operands, i, row_number)).collect();
        self.level(Depth::Row, &sources, None)?;

        let v = &mut self.vectors;
        let block = v.builder.create_block();
        let index = v.builder.append_block_param(block, types::I64);
        let zero = v.ins().iconst(types::I64, 0);
        let outer = v.constants.base();
        let mut first = vec![BlockArg::from(zero)];
        if let Some(base) = outer {
            let carried = v.builder.append_block_param(block, types::I64);
            v.constants.set_base(Some(carried));
            first.push(base.into());
        }
        v.ins().jump(block, &first);
        v.builder.switch_to_block(block);
        // It is given whole blocks then.
        let streams = self.stores == Stores::Streaming || !self.leaves.is_empty();
        let masked = v.layout.width == Width::W512 && !streams;
        let left = masked.then(|| v.ins().isub(loops.last, index));
        self.block(&sources, RowBlock::new(index, left, self.stores))?;

        let v = &mut self.vectors;
        let next_row = if masked || streams {
            let next_row = v.builder.create_block();
            let lanes = i64::from(v.layout.lanes);
            let next = v.ins().iadd_imm_s(index, lanes);
            let more = v.ins().icmp(IntCC::SignedLessThan, next, loops.last);
            v.ins().brif(more, block, &[next.into()], next_row, &[]);
            next_row
        } else {
            overlapping(v, loops, block, index, outer)
        };

        v.builder.switch_to_block(next_row);
        let end = v.builder.create_block();
        let following = v.ins().iadd_imm_s(row_number, 1);
        let more = v.ins().icmp(IntCC::UnsignedLessThan, following, loops.rows);
        v.ins().brif(more, loops.row, &[following.into()], end, &[]);
        v.builder.switch_to_block(end);
        v.ins().return_(&[]);
        Ok(())
    }

    /// Computes and writes a block of a row.
    fn block(&mut self, sources: &Sources, mut block: RowBlock) -> Result<()> {
        self.level(Depth::Element, sources, Some(&mut block))?;
        for (i, &output) in self.kernel.outputs.iter().enumerate() {
            let value = self.value(self.body.outputs()[i])?;
            let pointer = sources.pointers[self.kernel.inputs.len() + i];
            if let Some(leaf) = self.leaves.get(i) {
                let row = leaf.combined(&mut self.vectors, &value);
                block.store_row(&mut self.vectors, self.kernel.dtype(output), row, pointer);
                continue;
            }
            block.store(&mut self.vectors, self.kernel.dtype(output), value, pointer);
        }
        Ok(())
    }

    /// Emits the values of one loop level, and the constants that they read; those of a block of a row, if one is given.
    fn level(&mut self, level: Depth, sources: &Sources, mut block: Option<&mut RowBlock>) -> Result<()> {
        for i in 0..self.body.at(level).len() {
            let var = self.body.at(level)[i];
            let node = *self.body.node(var);
            // Constants are made where they are read.
            if matches!(node.code, Code::Primitive(Primitive::Splat(_))) {
                continue;
            }
            let mut args = [Lanes::new(1, []); 4];
            for (slot, &arg) in args.iter_mut().zip(node.args()) {
                *slot = self.value(arg)?;
            }
            self.values[var.index()] = Some(self.emit(&node, &args, sources, block.as_deref_mut())?);
        }
        // Each level reads its constants anew: a loop has an address of its own for their table.
        self.constants.drain(..).for_each(|var| self.values[var.index()] = None);
        Ok(())
    }

    fn value(&mut self, var: Var) -> Result<Lanes> {
        if let Some(known) = self.values[var.index()] {
            return Ok(known);
        }
        let bits = self.body.constant(var).ok_or_else(undefined)?;
        let constant = self.vectors.constant_lanes(scalar_of(self.body.node(var).dtype), bits);
        self.values[var.index()] = Some(constant);
        self.constants.push(var);
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
        Ok(match (node.code, block) {
            (Code::Param(i), _) => {
                let (flags, at) = (MemFlagsData::trusted(), 8 * i as i32);
                let scalar = v.ins().load(scalar_of(dtype), flags, sources.params, at);
                splat_of_memory(v, dtype, scalar)
            }
            (Code::Input(i), Some(block)) => block.load(v, dtype, sources.pointers[i]),
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
                let left = block.and_then(|block| block.left());
                self.slow_paths.note(v, mask, left, sources.faults, site);
                args[0]
            }
            (Code::Primitive(Primitive::SlowPath(function)), _) => self.slow_paths.select(v, function, args),
            (_, _) => lower::node(v, node, args),
        })
    }
}

/// The address of an operand's first element in a row.
fn row_pointer(v: &mut Vectors<'_>, operands: Value, i: usize, row: Value) -> Value {
    let at = OPERAND * i as i32;
    let base = v.ins().load(types::I64, MemFlagsData::trusted(), operands, at);
    let stride = v.ins().load(types::I64, MemFlagsData::trusted(), operands, at + 8);
    let offset = v.ins().imul(stride, row);
    v.ins().iadd(base, offset)
}

/// Ends a block of a loop whose last block ends at the row's end: goes on to the next, to that one, or to the block that
/// it gives, behind the loop. `outer` is the address of the constants as it was before the loop.
fn overlapping(
    v: &mut Vectors<'_>,
    loops: &Loops,
    block: Block,
    index: Value,
    outer: Option<Value>,
) -> Block {
    // The loop proper ends with an addition, a comparison and a jump.
    let (tail, next_row) = (v.builder.create_block(), v.builder.create_block());
    let lanes = i64::from(v.layout.lanes);
    let next = v.ins().iadd_imm_s(index, lanes);
    let within = v.ins().icmp(IntCC::SignedLessThanOrEqual, next, loops.last);
    let (mut following, mut final_one) = (vec![BlockArg::from(next)], vec![BlockArg::from(loops.last)]);
    if let (Some(base), Some(carried)) = (outer, v.constants.base()) {
        // Zero for any number of rows that there can be, which the optimiser doesn't know: the reads of constants
        // stay in the loop, as memory operands.
        let nothing = v.ins().ushr_imm_u(loops.rows, 63);
        let same = v.ins().iadd(carried, nothing);
        following.push(same.into());
        final_one.push(same.into());
        v.constants.set_base(Some(base));
    }
    v.ins().brif(within, block, &following, tail, &[]);
    // Fewer than a block's elements are left: none, or the last block begins before them. With `==` the optimiser
    // would compare `index`, which then outlives the addition.
    v.builder.switch_to_block(tail);
    let cols = v.ins().iadd_imm_s(loops.last, lanes);
    let done = v.ins().icmp(IntCC::SignedGreaterThanOrEqual, next, cols);
    v.ins().brif(done, next_row, &[], block, &final_one);
    next_row
}

fn undefined() -> Error {
    Error::new(ErrorKind::Internal, "a kernel that does not verify reached the emitter")
}
