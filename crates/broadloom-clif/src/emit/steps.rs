//! Emits the function of a kernel whose rows are the steps of a recurrence over a single column.
//!
//! A row has a single element, of which the lanes are copies. The states stay in registers from row to row: a step that loaded
//! what the step before it has stored would wait for the memory, which takes as long as several operations. States
//! in registers are stored after the last row, from which callers read them; all other outputs are stored in each row.
//!
//! ```text
//! entry:  loads the parameters, the pointers and the first states, computes what depends on nothing else
//! row:    takes pointers and states; loads, computes, stores the other outputs; passes the next pointers and states to the next row
//! last:   stores the states
//! ```

use broadloom_ir::kernel::Depth;
use broadloom_ir::{DType, Error, ErrorKind, Result};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, types};
use smallvec::SmallVec;

use crate::emit::{Emitter, Sources, operand, row_pointer};
use crate::memory::RowBlock;
use crate::value::Lanes;

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
        let jump = v.ins().jump(row, &first);
        v.constants.end_entry(v.layout.is_wide().then_some(jump));
        v.builder.switch_to_block(row);
        self.level(Depth::Row, &sources, None)?;
        let mut block = RowBlock::single(zero);
        self.level(Depth::Element, &sources, Some(&mut block))?;
        let (kept, stored): (Vec<usize>, Vec<usize>) = (0..kernel.outputs.len()).partition(|&i| is_kept(i));
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
        let v = &mut self.vectors;
        let last = v.builder.create_block();
        let more = v.ins().icmp(IntCC::UnsignedLessThan, following, rows);
        v.ins().brif(more, row, &next, last, &[]);
        v.builder.switch_to_block(last);
        self.store_last(&kept, operands, rows, sources, &mut block)
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
        self.store(kept, &sources, block)?;
        self.vectors.ins().return_(&[]);
        Ok(())
    }
}
