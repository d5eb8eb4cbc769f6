//! From a kernel to a CLIF function: two loops around the body.
//!
//! In: a kernel, and for each input whether its elements lie side by side or one value serves a whole row. Out: a
//! function over `rows × cols` elements with the signature of [`crate::run::Entry`]. Must hold: it reads and
//! writes only those elements. Up to 256 bits it needs `cols` to be at least the lane count and is given `cols` less
//! that; at 512 bits it is given `cols`, which is at least 1.
//!
//! ```text
//! entry:  parameters, and what depends on them only
//! row:    row pointers, values that serve the row, and what depends on them only
//! block:  load, compute, store `lanes` elements; the last block of a row ends at its end and may overlap the one
//!         before, which computes the same bits twice; at 512 bits it has the elements that are left
//! ```

use broadloom_ir::kernel::{Code, Depth, Kernel, ValueId};
use broadloom_ir::op::{self, Visitor};
use broadloom_ir::{Error, ErrorKind, Result};
use broadloom_math::{Binary, CastTo, DType, Elem, Ternary, Unary};
use broadloom_mem::{Access, Stores};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, ConstantData, Function, InstBuilder, MemFlagsData, StackSlot, UserFuncName,
    Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::constants::{Constants, TABLE_ABOVE, TableEntry};
use crate::intrinsic::Intrinsics;
use crate::memory::element_flags;
use crate::rare;
use crate::value::{Lanes, Layout, VECTOR, scalar_of};
use crate::width::Width;

/// Builds the body; the CLIF instance of [`Ops`](broadloom_math::Ops).
pub struct Emitter<'a> {
    pub(crate) builder: FunctionBuilder<'a>,
    pub(crate) layout: Layout,
    pub(crate) call_conv: CallConv,
    pub(crate) constants: Constants,
    pub(crate) intrinsics: Intrinsics,
    /// In a block of 512 bits: how many elements of the row are left.
    pub(crate) left: Option<Value>,
    /// Past the caches it is given whole blocks only, whose outputs begin with a line.
    pub(crate) stores: Stores,
    pub(crate) rare_frame: Option<StackSlot>,
    pub(crate) helpers: Helpers,
    pub(crate) host_frame: Option<StackSlot>,
}

/// How the scalar functions that the code calls are named in it.
pub enum Helpers {
    /// By their addresses, which differ from process to process.
    Called,
    /// By numbers that are no addresses, for text: the functions so far.
    Shown(Vec<usize>),
}

impl Helpers {
    /// The first of the numbers, as wide as an address is.
    const FIRST: i64 = 0x7000_0000_0000;

    pub(crate) fn address(&mut self, function: usize) -> i64 {
        match self {
            Helpers::Called => function as i64,
            Helpers::Shown(known) => {
                let number = known.iter().position(|&f| f == function).unwrap_or_else(|| {
                    known.push(function);
                    known.len() - 1
                });
                Helpers::FIRST + number as i64
            }
        }
    }
}

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
    let unroll = match kernel.cost() {
        0..=4 => 4,
        5..=24 => 2,
        _ => 1,
    };
    (base * unroll).min(width.bytes())
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
    let call_conv = isa.default_call_conv();
    let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature(call_conv));
    let builder = FunctionBuilder::new(&mut function, context);
    let mut emitter = Emitter {
        builder,
        layout: Layout { width, lanes: lanes(kernel, width) },
        call_conv,
        constants: Constants::default(),
        intrinsics: Intrinsics::default(),
        left: None,
        stores,
        rare_frame: None,
        helpers,
        host_frame: None,
    };
    emitter.kernel(kernel, access)?;
    emitter.builder.seal_all_blocks();
    let table = std::mem::take(&mut emitter.constants.table);
    emitter.builder.finalize(isa.frontend_config());
    Ok((function, table))
}

/// `(operands, params, faults, rows, last, constants)`, where `last` is the column that a row's last block begins at; at
/// 512 bits and with stores past the caches, the number of columns.
pub fn signature(call_conv: CallConv) -> cranelift_codegen::ir::Signature {
    let mut signature = cranelift_codegen::ir::Signature::new(call_conv);
    signature.params.extend([AbiParam::new(types::I64); 6]);
    signature
}

/// The blocks and the values that the loops share.
struct Loops {
    row: Block,
    operands: Value,
    faults: Value,
    rows: Value,
    /// Where the last block of a row begins; at 512 bits, the number of columns.
    last: Value,
}

impl Emitter<'_> {
    fn kernel(&mut self, kernel: &Kernel, access: &[Access]) -> Result<()> {
        let entry = self.builder.create_block();
        self.builder.append_block_params_for_function_params(entry);
        self.builder.switch_to_block(entry);
        let given = self.builder.block_params(entry).to_vec();
        let [operands, params, faults, rows, last, constants] = given[..] else {
            return Err(Error::new(ErrorKind::Internal, "the entry block has other parameters"));
        };
        self.constants.table_address = Some(constants);
        self.constants.base = (kernel.cost() > TABLE_ABOVE && !self.layout.is_wide()).then_some(constants);
        let mut values: Vec<Option<Lanes>> = vec![None; kernel.values()];
        for (i, &dtype) in kernel.params.iter().enumerate() {
            let scalar =
                self.builder.ins().load(scalar_of(dtype), MemFlagsData::trusted(), params, 8 * i as i32);
            values[kernel.param(i).index()] = Some(self.splat_scalar(dtype, scalar));
        }
        let depth = kernel.depths(|i| access[i] == Access::Splat);
        self.instructions(kernel, &mut values, &depth, Depth::Call, faults)?;

        let row = self.builder.create_block();
        let row_number = self.builder.append_block_param(row, types::I64);
        let zero = self.builder.ins().iconst(types::I64, 0);
        self.builder.ins().jump(row, &[zero.into()]);
        self.builder.switch_to_block(row);
        let loops = Loops { row, operands, faults, rows, last };
        self.row(kernel, access, values, &depth, &loops, row_number)
    }

    fn row(
        &mut self,
        kernel: &Kernel,
        access: &[Access],
        mut values: Vec<Option<Lanes>>,
        depth: &[Depth],
        loops: &Loops,
        row_number: Value,
    ) -> Result<()> {
        let pointers: Vec<Value> = (0..kernel.inputs.len() + kernel.outputs.len())
            .map(|i| self.row_pointer(loops.operands, i, row_number))
            .collect();
        for (i, &dtype) in kernel.inputs.iter().enumerate().filter(|(i, _)| access[*i] == Access::Splat) {
            let scalar = self.builder.ins().load(scalar_of(dtype), element_flags(), pointers[i], 0);
            values[i] = Some(self.splat_scalar(dtype, scalar));
        }
        self.instructions(kernel, &mut values, depth, Depth::Row, loops.faults)?;

        let block = self.builder.create_block();
        let index = self.builder.append_block_param(block, types::I64);
        let zero = self.builder.ins().iconst(types::I64, 0);
        let outer = self.constants.base;
        let mut first = vec![BlockArg::from(zero)];
        if let Some(base) = outer {
            let carried = self.builder.append_block_param(block, types::I64);
            self.constants.base = Some(carried);
            first.push(base.into());
        }
        self.builder.ins().jump(block, &first);
        self.builder.switch_to_block(block);
        let streams = self.stores == Stores::Streaming;
        self.left = (self.layout.width == Width::W512 && !streams)
            .then(|| self.builder.ins().isub(loops.last, index));
        for (i, &dtype) in kernel.inputs.iter().enumerate().filter(|(i, _)| access[*i] == Access::Contiguous)
        {
            values[i] = Some(self.load(dtype, pointers[i], index));
        }
        self.instructions(kernel, &mut values, depth, Depth::Element, loops.faults)?;
        for (i, &output) in kernel.outputs.iter().enumerate() {
            let value = values[output.index()].ok_or_else(undefined)?;
            self.store(kernel.dtype(output), value, pointers[kernel.inputs.len() + i], index);
        }
        let next_row = if self.left.take().is_some() || streams {
            let next_row = self.builder.create_block();
            let next = self.builder.ins().iadd_imm_s(index, i64::from(self.layout.lanes));
            let more = self.builder.ins().icmp(IntCC::SignedLessThan, next, loops.last);
            self.builder.ins().brif(more, block, &[next.into()], next_row, &[]);
            next_row
        } else {
            self.overlapping(loops, block, index, outer)
        };

        self.builder.switch_to_block(next_row);
        let end = self.builder.create_block();
        let following = self.builder.ins().iadd_imm_s(row_number, 1);
        let more = self.builder.ins().icmp(IntCC::UnsignedLessThan, following, loops.rows);
        self.builder.ins().brif(more, loops.row, &[following.into()], end, &[]);
        self.builder.switch_to_block(end);
        self.builder.ins().return_(&[]);
        Ok(())
    }

    /// Ends a block of a loop whose last block ends at the row's end: goes on to the next, to that one, or to the block that
    /// it gives, behind the loop. `outer` is the address of the constants as it was before the loop.
    fn overlapping(&mut self, loops: &Loops, block: Block, index: Value, outer: Option<Value>) -> Block {
        // The loop proper ends with an addition, a comparison and a jump.
        let (tail, next_row) = (self.builder.create_block(), self.builder.create_block());
        let next = self.builder.ins().iadd_imm_s(index, i64::from(self.layout.lanes));
        let within = self.builder.ins().icmp(IntCC::SignedLessThanOrEqual, next, loops.last);
        let (mut following, mut final_one) = (vec![BlockArg::from(next)], vec![BlockArg::from(loops.last)]);
        if let (Some(base), Some(carried)) = (outer, self.constants.base) {
            // Zero for any number of rows that there can be, which the optimiser doesn't know: the reads of constants
            // stay in the loop, as memory operands.
            let nothing = self.builder.ins().ushr_imm_u(loops.rows, 63);
            let same = self.builder.ins().iadd(carried, nothing);
            following.push(same.into());
            final_one.push(same.into());
            self.constants.base = Some(base);
        }
        self.builder.ins().brif(within, block, &following, tail, &[]);
        // Fewer than a block's elements are left: none, or the last block begins before them. With `==` the optimiser
        // would compare `index`, which then outlives the addition.
        self.builder.switch_to_block(tail);
        let cols = self.builder.ins().iadd_imm_s(loops.last, i64::from(self.layout.lanes));
        let done = self.builder.ins().icmp(IntCC::SignedGreaterThanOrEqual, next, cols);
        self.builder.ins().brif(done, next_row, &[], block, &final_one);
        next_row
    }

    /// The address of an operand's first element in a row.
    fn row_pointer(&mut self, operands: Value, i: usize, row: Value) -> Value {
        let at = OPERAND * i as i32;
        let base = self.builder.ins().load(types::I64, MemFlagsData::trusted(), operands, at);
        let stride = self.builder.ins().load(types::I64, MemFlagsData::trusted(), operands, at + 8);
        let offset = self.builder.ins().imul(stride, row);
        self.builder.ins().iadd(base, offset)
    }

    /// Emits the instructions of one depth.
    fn instructions(
        &mut self,
        kernel: &Kernel,
        values: &mut [Option<Lanes>],
        depth: &[Depth],
        now: Depth,
        faults: Value,
    ) -> Result<()> {
        let mut site = 0;
        for (i, inst) in kernel.body.iter().enumerate() {
            let checked = kernel.checks_division && inst.code.faults();
            if depth[kernel.value(i).index()] == now {
                let mut args = [None; 3];
                for (slot, arg) in args.iter_mut().zip(inst.args()) {
                    *slot = values[arg.index()];
                }
                if checked && let (Code::Apply(_, dtype), Some(divisor)) = (inst.code, args[1]) {
                    self.check_divisor(dtype, divisor, faults, site);
                }
                let value = match inst.code {
                    Code::Apply(op, dtype) => op::dispatch(op, dtype, Emit { emitter: self, args }).flatten(),
                    Code::Cast(from, to) => op::dispatch_cast(from, to, Emit { emitter: self, args }),
                    Code::Host(callee) => {
                        let function =
                            kernel.functions.get(callee.function as usize).ok_or_else(undefined)?;
                        self.host(function, &args, now != Depth::Element)
                    }
                };
                let value = value.ok_or_else(undefined)?;
                values[kernel.value(i).index()] = Some(value.with_invariant(now != Depth::Element));
            }
            site += i32::from(checked);
        }
        Ok(())
    }

    /// Notes a zero divisor in the fault site's byte.
    fn check_divisor(&mut self, dtype: DType, divisor: Lanes, faults: Value, site: i32) {
        let zero = self.constant(self.layout.vector_of(dtype), 0);
        let m = divisor.map(|v| self.builder.ins().icmp(IntCC::Equal, v, zero));
        let any = self.any(m);
        let (cold, join) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(any, cold, &[], join, &[]);
        self.builder.switch_to_block(cold);
        match self.left {
            None => {
                let one = self.builder.ins().iconst(types::I8, 1);
                self.builder.ins().store(MemFlagsData::trusted(), one, faults, site);
            }
            Some(left) => rare::note_within(self, m, left, faults, site),
        }
        self.builder.ins().jump(join, &[]);
        self.builder.switch_to_block(join);
    }

    /// Whether any of the value's own lanes is set.
    pub(crate) fn any(&mut self, m: Lanes) -> Value {
        let own = self.layout.lanes * u32::from(m.width);
        let mut all = m.vectors()[0];
        for &v in &m.vectors()[1..] {
            all = self.builder.ins().bor(all, v);
        }
        if own < self.layout.vector_bytes(m.width.into()) {
            let valid: Vec<u8> = (0..VECTOR).map(|b| if b < own { 0xff } else { 0 }).collect();
            let valid = self.builder.func.dfg.constants.insert(ConstantData::from(&valid[..]));
            let ty = self.builder.func.dfg.value_type(all);
            let valid = self.builder.ins().vconst(ty, valid);
            all = self.builder.ins().band(all, valid);
        }
        self.builder.ins().vany_true(all)
    }
}

fn undefined() -> Error {
    Error::new(ErrorKind::Internal, "a kernel that does not verify reached the emitter")
}

/// Emits one function of values.
struct Emit<'e, 'a> {
    emitter: &'e mut Emitter<'a>,
    args: [Option<Lanes>; 3],
}

impl Visitor for Emit<'_, '_> {
    type Out = Option<Lanes>;

    fn unary<F: Unary<T>, T: Elem>(self) -> Option<Lanes> {
        Some(F::call(self.emitter, self.args[0]?))
    }

    fn binary<F: Binary<T>, T: Elem>(self) -> Option<Lanes> {
        Some(F::call(self.emitter, self.args[0]?, self.args[1]?))
    }

    fn ternary<F: Ternary<T, First = T>, T: Elem>(self) -> Option<Lanes> {
        Some(F::call(self.emitter, self.args[0]?, self.args[1]?, self.args[2]?))
    }

    fn choice<F: Ternary<T, First = bool>, T: Elem>(self) -> Option<Lanes> {
        Some(F::call(self.emitter, self.args[0]?, self.args[1]?, self.args[2]?))
    }

    fn cast<T: CastTo<U>, U: Elem>(self) -> Option<Lanes> {
        Some(T::cast(self.emitter, self.args[0]?))
    }
}
