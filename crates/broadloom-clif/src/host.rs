//! Calls of host functions.
//!
//! In: operands' lanes, and the function. Out: the lanes of the result. Must hold: the function is given as many elements
//! as there are lanes, or one where the operands are the same for a whole row, in a frame of this function's own; its
//! address is read from the table of constants, so that the text of the code is the same in every process.

use broadloom_ir::{HostDeclaration, MAX_HOST_OPERANDS};
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, MemFlagsData, Signature, StackSlotData, StackSlotKind, Value, types,
};
use smallvec::SmallVec;

use crate::emit::Emitter;
use crate::value::{Lanes, MAX_VECTORS, VECTOR, scalar_of};

impl Emitter<'_> {
    /// The function of these operands, one for each that it takes; `once` where every lane is the same.
    pub(crate) fn host(
        &mut self,
        function: &HostDeclaration,
        args: &[Option<Lanes>; 3],
        once: bool,
    ) -> Option<Lanes> {
        let signature = function.signature();
        // Bytes of a value in the frame: the most that the lanes of one can take. Behind the operands lie the result and
        // the pointers to the operands.
        let size = MAX_VECTORS as i32 * self.layout.width.bytes() as i32;
        let result = MAX_HOST_OPERANDS as i32 * size;
        let pointers = result + size;
        let flags = self.frame_flags();
        let slot = *self.host_frame.get_or_insert_with(|| {
            let bytes = pointers + 8 * MAX_HOST_OPERANDS as i32;
            let data =
                StackSlotData::new(StackSlotKind::ExplicitSlot, bytes as u32, VECTOR.trailing_zeros() as u8);
            self.builder.create_sized_stack_slot(data)
        });
        let frame = self.builder.ins().stack_addr(types::I64, slot, 0);
        for (i, (&dtype, arg)) in signature.operands().iter().zip(args).enumerate() {
            let lanes = self.bytes_of(dtype, (*arg)?);
            let at = i as i32 * size;
            let lanes =
                if once { Lanes::new(lanes.width.into(), lanes.vectors().first().copied()) } else { lanes };
            // Lanes beyond the value's own are stored too, and not read.
            self.store_to_frame(frame, at, &lanes);
            let pointer = self.builder.ins().iadd_imm_s(frame, i64::from(at));
            self.builder.ins().store(MemFlagsData::trusted(), pointer, frame, pointers + 8 * i as i32);
        }
        let elements = if once { self.builder.ins().iconst(types::I64, 1) } else { self.count() };
        let inputs = self.builder.ins().iadd_imm_s(frame, i64::from(pointers));
        let output = self.builder.ins().iadd_imm_s(frame, i64::from(result));
        let (entry, context) = self.host_entry(function);
        let mut callee = Signature::new(self.call_conv);
        callee.params.extend([AbiParam::new(types::I64); 4]);
        let callee = self.builder.import_signature(callee);
        self.builder.ins().call_indirect(callee, entry, &[elements, inputs, output, context]);
        let dtype = signature.result();
        if once {
            let scalar = self.builder.ins().load(scalar_of(dtype), MemFlagsData::trusted(), frame, result);
            return Some(self.splat_scalar(dtype, scalar));
        }
        let (size, ty) = (dtype.size() as u32, self.layout.vector_of(dtype));
        let vectors: SmallVec<[Value; MAX_VECTORS]> = (0..self.layout.vectors_of(size))
            .map(|j| self.builder.ins().load(ty, flags, frame, result + j as i32 * ty.bytes() as i32))
            .collect();
        Some(self.loaded(dtype, Lanes::new(size, vectors)))
    }
}
