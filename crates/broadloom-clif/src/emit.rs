//! From a kernel to a CLIF function: two loops around the body.
//!
//! In: a kernel, and for each input whether its elements lie side by side or one value serves a whole row. Out: a
//! function over `rows × cols` elements with the signature of [`crate::run::Entry`]. Must hold: it reads and
//! writes only those elements, and needs `cols` to be at least the lane count; it is given `cols` less that.
//!
//! ```text
//! entry:  parameters, and what depends on them only
//! row:    row pointers, values that serve the row, and what depends on them only
//! block:  load, compute, store `lanes` elements; the last block of a row ends at its end and may overlap the one
//!         before, which computes the same bits twice
//! ```

use std::collections::HashMap;

use broadloom_core::kernel::{Code, Depth, Kernel, ValueId};
use broadloom_core::op::{self, Visitor};
use broadloom_core::{Error, ErrorKind, Result};
use broadloom_math::{Binary, CastTo, DType, Elem, Ternary, Unary};
use broadloom_mem::{Access, HostFunction};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, ConstantData, Function, Immediate, InstBuilder, MemFlagsData, StackSlot, Type,
    UserFuncName, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use rustc_hash::FxBuildHasher;

use crate::value::{Lanes, VECTOR, integer_vector, scalar_of, vector_of};

/// Builds the body; the CLIF instance of [`Ops`].
pub struct Emitter<'a> {
    pub(crate) builder: FunctionBuilder<'a>,
    /// Elements per block.
    pub(crate) lanes: u32,
    pub(crate) call_conv: CallConv,
    constants: Constants,
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

/// The constants of a function.
///
/// A short body's are defined once and stay in registers. A long one has more than there are registers: hoisted out of
/// the loop, they would be spilled there and read back by one instruction each; read from a table, each is the memory
/// operand of the instruction that uses it.
#[derive(Default)]
struct Constants {
    /// The table's address.
    table_address: Option<Value>,
    /// The same, where constants are read from the table.
    base: Option<Value>,
    defined: HashMap<(Type, u64), Value, FxBuildHasher>,
    table: Vec<[u8; VECTOR as usize]>,
    /// Masks of shuffles: the optimiser takes two for the same only if they are one immediate.
    masks: Vec<([u8; VECTOR as usize], Immediate)>,
    /// Lane bits of the values that are constants, for the instructions that are shorter with one.
    bits: HashMap<Value, u64, FxBuildHasher>,
}

/// Kernels of a higher cost read their constants from a table.
const TABLE_ABOVE: u64 = 24;

/// Bytes of one operand in the argument array: a pointer and a row stride.
const OPERAND: i32 = 16;

/// Elements per block: whole vectors of the widest dtype, at least four bytes of the narrowest in memory, and
/// several vectors where the body is short.
///
/// The thresholds come from measurements of unrolling: it pays for bodies of a few instructions in cache.
pub fn lanes(kernel: &Kernel) -> u32 {
    let sizes = (0..kernel.values() as u32).map(|v| kernel.dtype(ValueId(v)));
    let widest = sizes.clone().filter(|d| *d != DType::Bool).map(DType::size).max().unwrap_or(1) as u32;
    let memory = kernel.inputs.iter().copied().chain(kernel.output_dtypes());
    let narrowest =
        memory.chain(sizes.filter(|d| *d != DType::Bool)).map(DType::size).min().unwrap_or(1) as u32;
    let base = (VECTOR / widest).max(4 / narrowest).max(2);
    let unroll = match kernel.cost() {
        0..=4 => 4,
        5..=24 => 2,
        _ => 1,
    };
    (base * unroll).min(16)
}

/// Builds the function, and the table of constants that it is called with.
///
/// # Errors
/// [`ErrorKind::Internal`]: the kernel does not verify.
pub fn function(
    kernel: &Kernel,
    access: &[Access],
    isa: &dyn TargetIsa,
    context: &mut FunctionBuilderContext,
    helpers: Helpers,
) -> Result<(Function, Vec<[u8; VECTOR as usize]>)> {
    let call_conv = isa.default_call_conv();
    let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature(call_conv));
    let builder = FunctionBuilder::new(&mut function, context);
    let lanes = lanes(kernel);
    let constants = Constants::default();
    let (rare_frame, host_frame) = (None, None);
    let mut emitter = Emitter { builder, lanes, call_conv, constants, rare_frame, host_frame, helpers };
    emitter.kernel(kernel, access)?;
    emitter.builder.seal_all_blocks();
    let table = std::mem::take(&mut emitter.constants.table);
    emitter.builder.finalize(isa.frontend_config());
    Ok((function, table))
}

/// Where a function is entered, and what with.
pub fn host_constant(function: &HostFunction) -> [u8; VECTOR as usize] {
    let mut bytes = [0; VECTOR as usize];
    bytes[..8].copy_from_slice(&(function.entry() as usize as u64).to_le_bytes());
    bytes[8..].copy_from_slice(&(function.context() as usize as u64).to_le_bytes());
    bytes
}

/// `(operands, params, faults, rows, last, constants)`, where `last` is the column that a row's last block begins at.
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
    /// Where the last block of a row begins.
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
        self.constants.base = (kernel.cost() > TABLE_ABOVE).then_some(constants);
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
        for (i, &dtype) in kernel.inputs.iter().enumerate().filter(|(i, _)| access[*i] == Access::Contiguous)
        {
            values[i] = Some(self.load(dtype, pointers[i], index));
        }
        self.instructions(kernel, &mut values, depth, Depth::Element, loops.faults)?;
        for (i, &output) in kernel.outputs.iter().enumerate() {
            let value = values[output.index()].ok_or_else(undefined)?;
            self.store(kernel.dtype(output), value, pointers[kernel.inputs.len() + i], index);
        }
        // The loop proper ends with an addition, a comparison and a jump.
        let (tail, next_row, end) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let next = self.builder.ins().iadd_imm_s(index, i64::from(self.lanes));
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
        let cols = self.builder.ins().iadd_imm_s(loops.last, i64::from(self.lanes));
        let done = self.builder.ins().icmp(IntCC::SignedGreaterThanOrEqual, next, cols);
        self.builder.ins().brif(done, next_row, &[], block, &final_one);

        self.builder.switch_to_block(next_row);
        let following = self.builder.ins().iadd_imm_s(row_number, 1);
        let more = self.builder.ins().icmp(IntCC::UnsignedLessThan, following, loops.rows);
        self.builder.ins().brif(more, loops.row, &[following.into()], end, &[]);
        self.builder.switch_to_block(end);
        self.builder.ins().return_(&[]);
        Ok(())
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
        let zero = self.constant(vector_of(dtype), 0);
        let m = divisor.map(|v| self.builder.ins().icmp(IntCC::Equal, v, zero));
        let any = self.any(m);
        let (cold, join) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(any, cold, &[], join, &[]);
        self.builder.switch_to_block(cold);
        let one = self.builder.ins().iconst(types::I8, 1);
        self.builder.ins().store(MemFlagsData::trusted(), one, faults, site);
        self.builder.ins().jump(join, &[]);
        self.builder.switch_to_block(join);
    }

    /// Whether any of the value's own lanes is set.
    pub(crate) fn any(&mut self, m: Lanes) -> Value {
        let own = self.lanes * u32::from(m.width);
        let mut all = m.vectors()[0];
        for &v in &m.vectors()[1..] {
            all = self.builder.ins().bor(all, v);
        }
        if own < VECTOR {
            let valid: Vec<u8> = (0..VECTOR).map(|b| if b < own { 0xff } else { 0 }).collect();
            let valid = self.builder.func.dfg.constants.insert(ConstantData::from(&valid[..]));
            let ty = self.builder.func.dfg.value_type(all);
            let valid = self.builder.ins().vconst(ty, valid);
            all = self.builder.ins().band(all, valid);
        }
        self.builder.ins().vany_true(all)
    }

    /// The lanes of a block of an input.
    fn load(&mut self, dtype: DType, pointer: Value, index: Value) -> Lanes {
        let size = dtype.size() as u32;
        let address = self.address(pointer, index, size);
        let bytes = self.lanes * size;
        let ty = vector_of(dtype);
        if bytes < VECTOR {
            let word = if bytes == 8 { types::I64 } else { types::I32 };
            let scalar = self.builder.ins().load(word, element_flags(), address, 0);
            let v =
                self.builder.ins().scalar_to_vector(word.by(VECTOR / word.bytes()).unwrap_or(word), scalar);
            let v = self.cast_bits(ty, v);
            return self.loaded(dtype, Lanes::new(size, [v]));
        }
        let vectors: Vec<Value> = (0..bytes / VECTOR)
            .map(|i| self.builder.ins().load(ty, element_flags(), address, (VECTOR * i) as i32))
            .collect();
        self.loaded(dtype, Lanes::new(size, vectors))
    }

    /// Writes the lanes of a block of an output; a bool as 0 or 1.
    fn store(&mut self, dtype: DType, value: Lanes, pointer: Value, index: Value) {
        let value = self.bytes_of(dtype, value);
        let size = dtype.size() as u32;
        let address = self.address(pointer, index, size);
        let bytes = self.lanes * size;
        if bytes < VECTOR {
            let width = if bytes == 8 { 8 } else { 4 };
            let v = self.cast_bits(integer_vector(width), value.vectors()[0]);
            let word = self.builder.ins().extractlane(v, 0);
            self.builder.ins().store(element_flags(), word, address, 0);
            return;
        }
        for (i, &v) in value.vectors().iter().enumerate() {
            self.builder.ins().store(element_flags(), v, address, (VECTOR * i as u32) as i32);
        }
    }

    fn address(&mut self, pointer: Value, index: Value, size: u32) -> Value {
        let offset = match size {
            1 => index,
            _ => self.builder.ins().ishl_imm_u(index, i64::from(size.trailing_zeros())),
        };
        self.builder.ins().iadd(pointer, offset)
    }

    /// One value for every lane; a bool is given as a byte.
    pub(crate) fn splat_scalar(&mut self, dtype: DType, scalar: Value) -> Lanes {
        let size = dtype.size() as u32;
        let v = self.builder.ins().splat(vector_of(dtype), scalar);
        let lanes = Lanes::new(size, std::iter::repeat_n(v, self.vectors_of(size)));
        let lanes =
            if dtype == DType::Bool { self.loaded(dtype, lanes) } else { lanes.with_uniform(Some(scalar)) };
        lanes.with_invariant(true)
    }

    /// A vector constant with `bits` in each lane.
    ///
    /// One definition in a register serves the rest of the function: control flow only ever goes on from where a
    /// constant was first needed, but for cold blocks, which need none.
    pub(crate) fn constant(&mut self, ty: Type, bits: u64) -> Value {
        if let Some(&v) = self.constants.defined.get(&(ty, bits)) {
            return v;
        }
        let lane = &bits.to_le_bytes()[..(ty.lane_bits() / 8) as usize];
        let mut bytes = [0; VECTOR as usize];
        bytes.chunks_exact_mut(lane.len()).for_each(|place| place.copy_from_slice(lane));
        // Zero is made without memory.
        let v = match self.constants.base {
            Some(base) if bits != 0 => self.constant_from_table(base, ty, bytes),
            _ => {
                let v = self.constant_in_register(ty, bytes);
                self.constants.defined.insert((ty, bits), v);
                v
            }
        };
        self.constants.bits.insert(v, bits);
        v
    }

    /// A vector constant of any bytes.
    pub(crate) fn constant_vector(&mut self, ty: Type, bytes: [u8; VECTOR as usize]) -> Value {
        match self.constants.base {
            Some(base) => self.constant_from_table(base, ty, bytes),
            None => self.constant_in_register(ty, bytes),
        }
    }

    fn constant_in_register(&mut self, ty: Type, bytes: [u8; VECTOR as usize]) -> Value {
        let data = self.builder.func.dfg.constants.insert(ConstantData::from(&bytes[..]));
        self.builder.ins().vconst(ty, data)
    }

    /// The immediate of a shuffle's mask.
    pub(crate) fn shuffle_mask(&mut self, mask: [u8; VECTOR as usize]) -> Immediate {
        if let Some((_, known)) = self.constants.masks.iter().find(|(m, _)| *m == mask) {
            return *known;
        }
        let new = self.builder.func.dfg.immediates.push(mask.to_vec().into());
        self.constants.masks.push((mask, new));
        new
    }

    fn constant_from_table(&mut self, base: Value, ty: Type, bytes: [u8; VECTOR as usize]) -> Value {
        let at = (self.place(bytes) * VECTOR as usize) as i32;
        // A pure load: it goes where it is used.
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.builder.ins().load(ty, flags, base, at)
    }

    /// Where a host function is entered, and what with: from a place of the table for the two.
    pub(crate) fn host_entry(&mut self, function: &HostFunction) -> (Value, Value) {
        let at = (self.place(host_constant(function)) * VECTOR as usize) as i32;
        let known = self.constants.base.or(self.constants.table_address);
        // The entry block has set the address.
        let base = known.unwrap_or_else(|| self.builder.ins().iconst(types::I64, 0));
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let mut word = |at| self.builder.ins().load(types::I64, flags, base, at);
        (word(at), word(at + 8))
    }

    /// The place of 16 bytes in the table: one for each, so that the optimiser sees what two functions have in common.
    fn place(&mut self, bytes: [u8; VECTOR as usize]) -> usize {
        let table = &mut self.constants.table;
        table.iter().position(|b| *b == bytes).unwrap_or_else(|| {
            table.push(bytes);
            table.len() - 1
        })
    }

    /// The bits that every lane of a constant has, if it is one.
    pub(crate) fn constant_bits(&self, x: &Lanes) -> Option<u64> {
        self.constants.bits.get(x.vectors().first()?).copied()
    }

    pub(crate) fn zero(&mut self, ty: Type) -> Value {
        self.constant(ty, 0)
    }
}

fn undefined() -> Error {
    Error::new(ErrorKind::Internal, "a kernel that does not verify reached the emitter")
}

/// Elements are aligned as NumPy aligns them, not to vectors; the caller vouches for every address.
fn element_flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
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
