//! What AVX2 has no instruction for.
//!
//! In: operations that AVX-512 has. Out: sequences for AVX2. Must hold: the same bits.

use cranelift_codegen::ir::{Inst as ClifInst, Value};

use crate::Unsupported;
use crate::intrinsic::Intrinsic;
use crate::machine::Condition;
use crate::select::{Select, refuse};

impl Select<'_> {
    pub fn shift_right_signed_64(&mut self, _: Value, _: &[Value]) -> Result<(), Unsupported> {
        refuse("sshr of 64-bit lanes")
    }

    pub fn shift_lanes_avx2(&mut self, _: Intrinsic, _: Value, _: &[Value]) -> Result<(), Unsupported> {
        refuse("a shift by lanes")
    }

    pub fn narrow_avx2(&mut self, _: Intrinsic, _: Value, _: Value) -> Result<(), Unsupported> {
        refuse("a narrowing")
    }

    pub fn resize_mask_avx2(&mut self, _: Value, _: Value) -> Result<(), Unsupported> {
        refuse("a mask of another width")
    }

    pub fn int_of_float_avx2(&mut self, _: Value, _: Value, _: bool) -> Result<(), Unsupported> {
        refuse("an integer of a float")
    }

    pub fn compare_vectors(&mut self, _: ClifInst, _: Value) -> Result<(), Unsupported> {
        refuse("a comparison")
    }

    pub fn any_true_of_vector(&mut self, _: Value) -> Result<Condition, Unsupported> {
        refuse("vany_true")
    }
}
