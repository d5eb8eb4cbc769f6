//! Calls of host functions.
//!
//! In: operands' lanes, and the function. Out: the lanes of the result. Must hold: the function is given as many elements
//! as there are lanes, or one where the operands are the same for a whole row, in a frame of this function's own; its
//! address is read from the table of constants, so that the text of the code is the same in every process.

use broadloom_core::DType;
use broadloom_mem::{HostFunction, MAX_HOST_OPERANDS};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, InstBuilder, MemFlagsData, Signature, StackSlotData, StackSlotKind, types,
};

use crate::emit::Emitter;
use crate::value::{Lanes, MAX_VECTORS, VECTOR, scalar_of, vector_of};

/// Bytes of a value in the frame: the most that the lanes of one can take.
const VALUE: i32 = MAX_VECTORS as i32 * VECTOR as i32;
/// Where the pointers to the operands lie in the frame: behind the operands and the result.
const POINTERS: i32 = (MAX_HOST_OPERANDS as i32 + 1) * VALUE;
/// Where the result lies.
const RESULT: i32 = MAX_HOST_OPERANDS as i32 * VALUE;

impl Emitter<'_> {
    /// The function of these operands, one for each that it takes; `once` where every lane is the same.
    pub(crate) fn host(
        &mut self,
        function: &HostFunction,
        args: &[Option<Lanes>; 3],
        once: bool,
    ) -> Option<Lanes> {
        let signature = function.signature();
        let slot = *self.host_frame.get_or_insert_with(|| {
            let bytes = POINTERS + 8 * MAX_HOST_OPERANDS as i32;
            let data =
                StackSlotData::new(StackSlotKind::ExplicitSlot, bytes as u32, VECTOR.trailing_zeros() as u8);
            self.builder.create_sized_stack_slot(data)
        });
        let frame = self.builder.ins().stack_addr(types::I64, slot, 0);
        for (i, (&dtype, arg)) in signature.operands().iter().zip(args).enumerate() {
            let lanes = self.bytes_of(dtype, (*arg)?);
            let at = i as i32 * VALUE;
            let vectors = if once { &lanes.vectors()[..1] } else { lanes.vectors() };
            for (j, &v) in vectors.iter().enumerate() {
                // Lanes beyond the value's own are stored too, and not read.
                self.builder.ins().store(MemFlagsData::trusted(), v, frame, at + j as i32 * VECTOR as i32);
            }
            let pointer = self.builder.ins().iadd_imm_s(frame, i64::from(at));
            self.builder.ins().store(MemFlagsData::trusted(), pointer, frame, POINTERS + 8 * i as i32);
        }
        let elements = if once { 1 } else { i64::from(self.lanes) };
        let elements = self.builder.ins().iconst(types::I64, elements);
        let inputs = self.builder.ins().iadd_imm_s(frame, i64::from(POINTERS));
        let output = self.builder.ins().iadd_imm_s(frame, i64::from(RESULT));
        let (entry, context) = self.host_entry(function);
        let mut callee = Signature::new(self.call_conv);
        callee.params.extend([AbiParam::new(types::I64); 4]);
        let callee = self.builder.import_signature(callee);
        self.builder.ins().call_indirect(callee, entry, &[elements, inputs, output, context]);
        let dtype = signature.result();
        if once {
            let scalar = self.builder.ins().load(scalar_of(dtype), MemFlagsData::trusted(), frame, RESULT);
            return Some(self.splat_scalar(dtype, scalar));
        }
        let size = dtype.size() as u32;
        let vectors: Vec<_> = (0..self.vectors_of(size))
            .map(|j| {
                let at = RESULT + j as i32 * VECTOR as i32;
                self.builder.ins().load(vector_of(dtype), MemFlagsData::trusted(), frame, at)
            })
            .collect();
        Some(self.loaded(dtype, Lanes::new(size, vectors)))
    }

    /// The lanes as they lie in memory: a bool as a byte of 0 or 1.
    pub(crate) fn bytes_of(&mut self, dtype: DType, value: Lanes) -> Lanes {
        if dtype != DType::Bool {
            return value;
        }
        let mask = self.resize(value, 1);
        let one = self.constant(types::I8X16, 1);
        mask.map(|v| self.builder.ins().band(v, one))
    }

    /// A loaded bool is a byte: any but 0 is true.
    pub(crate) fn loaded(&mut self, dtype: DType, x: Lanes) -> Lanes {
        if dtype != DType::Bool {
            return x;
        }
        let zero = self.constant(types::I8X16, 0);
        x.map(|v| self.builder.ins().icmp(IntCC::NotEqual, v, zero))
    }
}
