//! Emits the function of a kernel whose rows are the steps of a recurrence over a single column.
//!
//! A row has a single element, of which the lanes are copies. The states stay in registers from row to row: a step that loaded
//! what the step before it has stored would wait for the memory, which takes as long as several operations. States
//! in registers are stored after the last row, from which callers read them; all other outputs are stored in each row.
//!
//! NaNs of floats are replaced as rarely as possible, because the instructions for it would compete with those of the chain of
//! states for the same ports. States that steps only calculate with have theirs replaced after the last row. An element of an output
//! is stored as it is; its bits are loaded again and tested by integer instructions, and a NaN is replaced in a cold block.
//!
//! ```text
//! entry:  loads the parameters, the pointers and the first states, computes what depends on nothing else
//! row:    takes pointers and states; loads, computes, stores the other outputs; passes the next pointers and states to the next row
//! cold:   stores the element of an output again, with a NaN replaced
//! last:   stores the states
//! ```

use std::rc::Rc;

use broadloom_ir::kernel::Depth;
use broadloom_ir::{DType, Error, ErrorKind, Result};
use broadloom_math::record::Var;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};
use smallvec::SmallVec;

use crate::emit::{Emitter, Sources, operand, row_pointer};
use crate::lower;
use crate::memory::RowBlock;
use crate::value::{Lanes, scalar_of};
use crate::vectors::element_flags;

/// An output whose elements are stored before their NaNs are replaced.
struct RawOutput {
    output: usize,
    /// The value of an element after NaNs are replaced.
    replaced: Var,
    dtype: DType,
    /// The minimum [magnitude](magnitude_shift) of an element that is stored again: that of a NaN until the first NaN, and then
    /// 0, so that all later elements take the same branch.
    ///
    /// PERF: with a branch that depends on each element alone, a step of 7 cycles takes 1.4 times as long if a tenth of the elements
    /// is NaN, and 3.2 times if half of them are (Golden Cove).
    bound: Value,
}

/// The left shift by which the bits of a float, extended to 64 bits, become its magnitude: all bits but the sign, from the top down.
fn magnitude_shift(dtype: DType) -> u32 {
    65 - 8 * dtype.size() as u32
}

/// The minimum magnitude of a NaN.
fn minimum_nan(dtype: DType) -> u64 {
    let infinity = match dtype {
        DType::Float32 => u64::from(f32::INFINITY.to_bits()),
        _ => f64::INFINITY.to_bits(),
    };
    (infinity << magnitude_shift(dtype)) + 1
}

/// Whether a state stays in registers. Masks, which bools are there, and float16 go through memory.
fn stays(dtype: DType) -> bool {
    !matches!(dtype, DType::Bool | DType::Float16)
}

impl Emitter<'_> {
    /// Emits the loop over rows. `operands` and `rows` are the function's arguments.
    pub(super) fn steps(&mut self, operands: Value, rows: Value, mut sources: Sources) -> Result<()> {
        let (kernel, states) = (self.kernel, self.plan.states as usize);
        if !kernel.functions.is_empty() || !kernel.loops.is_empty() {
            return Err(Error::new(
                ErrorKind::Internal,
                "a step in registers that calls functions or has loops",
            ));
        }
        let inputs = kernel.inputs.len();
        let is_kept = |state: usize| state < states && stays(kernel.inputs[state]);
        let v = &mut self.vectors;
        let zero = v.ins().iconst(types::I64, 0);
        let row = v.builder.create_block();
        let number = v.builder.append_block_param(row, types::I64);
        let mut first = vec![BlockArg::from(zero)];
        // Pointers are added to from row to row, since a step has few other operations. States in registers need none.
        let mut strides: SmallVec<[Option<Value>; 8]> = SmallVec::new();
        for i in 0..inputs + kernel.outputs.len() {
            let (base, stride) = operand(v, operands, i);
            if is_kept(if i < inputs { i } else { i - inputs }) {
                sources.pointers.push(base);
                strides.push(None);
                continue;
            }
            first.push(base.into());
            sources.pointers.push(v.builder.append_block_param(row, types::I64));
            strides.push(Some(stride));
        }
        self.states = SmallVec::from_elem(None, inputs);
        for (i, &dtype) in kernel.inputs.iter().enumerate().filter(|(i, _)| is_kept(*i)) {
            let pointer = sources.pointers[i];
            let loaded = RowBlock::single(zero).load(v, dtype, self.access[i], pointer);
            first.extend(loaded.vectors().iter().map(|&x| BlockArg::from(x)));
            let params: SmallVec<[Value; 4]> = loaded
                .vectors()
                .iter()
                .map(|&x| {
                    let ty = v.builder.func.dfg.value_type(x);
                    v.builder.append_block_param(row, ty)
                })
                .collect();
            self.states[i] = Some(Lanes::new(loaded.width.into(), params));
        }
        let (kept, stored): (Vec<usize>, Vec<usize>) = (0..kernel.outputs.len()).partition(|&i| is_kept(i));
        let (mut raw_outputs, stored) = self.raw_outputs(stored, row, &mut first);
        let v = &mut self.vectors;
        let jump = v.ins().jump(row, &first);
        v.constants.end_entry(v.layout.is_wide().then_some(jump));
        v.builder.switch_to_block(row);
        self.level(Depth::Row, &sources, None)?;
        let mut block = RowBlock::single(zero);
        self.level(Depth::Element, &sources, Some(&mut block))?;
        for raw in &mut raw_outputs {
            self.store_raw(raw, sources.pointers[inputs + raw.output])?;
        }
        self.store(&stored, &sources, &mut block)?;

        let following = self.vectors.ins().iadd_imm_s(number, 1);
        let mut next = vec![BlockArg::from(following)];
        for (&pointer, &stride) in sources.pointers.iter().zip(&strides) {
            let Some(stride) = stride else { continue };
            next.push(self.vectors.ins().iadd(pointer, stride).into());
        }
        for (i, state) in self.states.clone().iter().enumerate() {
            let Some(state) = state else { continue };
            let value = self.value(self.scope.body.passed(i))?;
            let v = &mut self.vectors;
            for (&now, &before) in value.vectors().iter().zip(state.vectors()) {
                let of = &v.builder.func.dfg;
                if of.value_type(now) != of.value_type(before) {
                    return Err(Error::new(ErrorKind::Internal, "a state of another type after a step"));
                }
                next.push(now.into());
            }
            if value.vectors().len() != state.vectors().len() {
                return Err(Error::new(ErrorKind::Internal, "a state of another width after a step"));
            }
        }
        next.extend(raw_outputs.iter().map(|raw| BlockArg::from(raw.bound)));
        let v = &mut self.vectors;
        let last = v.builder.create_block();
        let more = v.ins().icmp(IntCC::UnsignedLessThan, following, rows);
        v.ins().brif(more, row, &next, last, &[]);
        v.builder.switch_to_block(last);
        self.store_last(&kept, operands, rows, sources, &mut block)
    }

    /// Divides outputs into those whose elements are stored before their NaNs are replaced, and all others. A bound of each of the
    /// former goes from row to row.
    fn raw_outputs(
        &mut self,
        stored: Vec<usize>,
        row: Block,
        first: &mut Vec<BlockArg>,
    ) -> (Vec<RawOutput>, Vec<usize>) {
        let body = Rc::clone(&self.scope.body);
        let is_passed = |x: Var| (0..self.plan.states as usize).any(|state| body.passed(state) == x);
        let (mut raw, mut others) = (Vec::new(), Vec::new());
        for output in stored {
            let replaced = body.outputs()[output];
            let Some(node) = body.replaced_for_outputs(replaced).filter(|_| !is_passed(replaced)) else {
                others.push(output);
                continue;
            };
            let v = &mut self.vectors;
            first.push(v.ins().iconst(types::I64, minimum_nan(node.dtype) as i64).into());
            let bound = v.builder.append_block_param(row, types::I64);
            raw.push(RawOutput { output, replaced, dtype: node.dtype, bound });
        }
        (raw, others)
    }

    /// Stores an element of an output, and stores it again if it is a NaN.
    fn store_raw(&mut self, of: &mut RawOutput, pointer: Value) -> Result<()> {
        // Both operands are emitted before the cold block, which does not dominate what may read them later.
        let (nan, raw) = self.replacement(of.replaced)?;
        let v = &mut self.vectors;
        v.store_first(raw.vectors()[0], pointer);
        // PERF: a comparison of floats would compete with the chain of states for ports. A step of 7 cycles takes no longer with this
        // test than without, but 1.03 times as long with a comparison of floats and a branch, and 1.14 times with a comparison and a
        // blend (Golden Cove).
        let bits = v.ins().load(scalar_of(of.dtype).as_int(), element_flags(), pointer, 0);
        let bits = if of.dtype == DType::Float64 { bits } else { v.ins().uextend(types::I64, bits) };
        let magnitude = v.ins().ishl_imm_u(bits, i64::from(magnitude_shift(of.dtype)));
        let may_be_nan = v.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, magnitude, of.bound);
        let (cold, join) = (v.builder.create_block(), v.builder.create_block());
        v.builder.set_cold_block(cold);
        v.ins().brif(may_be_nan, cold, &[], join, &[of.bound.into()]);

        v.builder.switch_to_block(cold);
        v.builder.seal_block(cold);
        let replaced = self.replace(of.replaced, &nan, &raw);
        let v = &mut self.vectors;
        v.store_first(replaced.vectors()[0], pointer);
        let zero = v.ins().iconst(types::I64, 0);
        v.ins().jump(join, &[zero.into()]);

        v.builder.switch_to_block(join);
        v.builder.seal_block(join);
        of.bound = v.builder.append_block_param(join, types::I64);
        Ok(())
    }

    /// The operands of a node that replaces NaNs: the canonical NaN, and the value whose NaNs are replaced.
    fn replacement(&mut self, replaced: Var) -> Result<(Lanes, Lanes)> {
        let [_, nan, raw, _] = self.scope.body.node(replaced).args;
        Ok((self.value(nan)?, self.value(raw)?))
    }

    /// Emits a node that replaces NaNs in the current block.
    fn replace(&mut self, replaced: Var, nan: &Lanes, raw: &Lanes) -> Lanes {
        let select = self.scope.body.node(replaced);
        let is_nan = lower::node(&mut self.vectors, self.scope.body.node(select.args[0]), &[*raw; 4]);
        lower::node(&mut self.vectors, select, &[is_nan, *nan, *raw, *raw])
    }

    /// Stores the states that are in registers after the last row, and returns. The number of this row is computed anew, so that the
    /// loop need not keep it.
    fn store_last(
        &mut self,
        kept: &[usize],
        operands: Value,
        rows: Value,
        mut sources: Sources,
        block: &mut RowBlock,
    ) -> Result<()> {
        let v = &mut self.vectors;
        let number = v.ins().iadd_imm_s(rows, -1);
        for &output in kept {
            let operand = self.kernel.inputs.len() + output;
            sources.pointers[operand] = row_pointer(v, operands, operand, number);
        }
        for &state in kept {
            let output = self.scope.body.outputs()[state];
            if self.scope.body.passed(state) != output {
                // Only the last row's NaNs are replaced.
                let (nan, raw) = self.replacement(output)?;
                let replaced = self.replace(output, &nan, &raw);
                self.scope.values[output.index()] = Some(replaced);
            }
        }
        self.store(kept, &sources, block)?;
        self.vectors.ins().return_(&[]);
        Ok(())
    }
}
