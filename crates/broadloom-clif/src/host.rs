//! Emits calls of host functions.
//!
//! The compiled function passes operands to a host function in a stack frame: a block of elements, or a single element
//! if all operands are uniform along a row. The function's address is read from the table of constants, so that the
//! bytes of the code are the same in every process.

use broadloom_ir::{HostDeclaration, MAX_HOST_OPERANDS};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlot, Value, types};
use smallvec::SmallVec;

use crate::memory::{RowBlock, in_memory, of_memory, splat_of_memory};
use crate::value::{Lanes, MAX_VECTORS, scalar_of};
use crate::vectors::Vectors;

/// The stack frame that calls of host functions share, since no two calls run at once.
#[derive(Default)]
pub struct HostCalls {
    frame: Option<StackSlot>,
}

impl HostCalls {
    /// Emits a call of a host function; `args` contains the value of each operand. The call computes a block of a row.
    /// If every operand is uniform there is no `block`, and the call computes a single element.
    pub fn call(
        &mut self,
        v: &mut Vectors<'_>,
        function: &HostDeclaration,
        args: &[Lanes],
        block: Option<&RowBlock>,
    ) -> Lanes {
        let signature = function.signature();
        // The frame has `size` bytes for each operand, the maximum size of one value's lanes. The result and the
        // pointers to the operands are stored after the operands.
        let size = MAX_VECTORS as i32 * v.layout.width.bytes() as i32;
        let result = MAX_HOST_OPERANDS as i32 * size;
        let pointers = result + size;
        let slot =
            *self.frame.get_or_insert_with(|| v.frame((pointers + 8 * MAX_HOST_OPERANDS as i32) as u32));
        let frame = v.ins().stack_addr(types::I64, slot, 0);
        for (i, (&dtype, &arg)) in signature.operands().iter().zip(args).enumerate() {
            let lanes = in_memory(v, dtype, arg);
            let at = i as i32 * size;
            let lanes = match block {
                None => Lanes::new(lanes.width.into(), lanes.vectors().first().copied()),
                Some(_) => lanes,
            };
            // Whole vectors are stored. The function does not read the lanes above the value's own.
            v.store_to_frame(frame, at, &lanes);
            let pointer = v.ins().iadd_imm_s(frame, i64::from(at));
            v.ins().store(MemFlagsData::trusted(), pointer, frame, pointers + 8 * i as i32);
        }
        let elements = match block {
            None => v.ins().iconst(types::I64, 1),
            Some(block) => block.count(v),
        };
        let inputs = v.ins().iadd_imm_s(frame, i64::from(pointers));
        let output = v.ins().iadd_imm_s(frame, i64::from(result));
        let (entry, context) = v.constants.host_entry(&mut v.builder, function);
        v.call_address(entry, &[elements, inputs, output, context]);
        let dtype = signature.result();
        if block.is_none() {
            let scalar = v.ins().load(scalar_of(dtype), MemFlagsData::trusted(), frame, result);
            return splat_of_memory(v, dtype, scalar);
        }
        let (size, ty, flags) = (dtype.size() as u32, v.layout.vector_of(dtype), v.frame_flags());
        let vectors: SmallVec<[Value; MAX_VECTORS]> = (0..v.layout.vectors_of(size))
            .map(|j| v.ins().load(ty, flags, frame, result + j as i32 * ty.bytes() as i32))
            .collect();
        of_memory(v, dtype, Lanes::new(size, vectors))
    }
}
