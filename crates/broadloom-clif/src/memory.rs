//! Elements in memory, and lanes.
//!
//! In: a row's address, and where in the row a block begins. Out: its lanes, or its elements written. Must hold: an
//! element is read and written only where the block has it.

use broadloom_ir::DType;
use broadloom_mem::Stores;
use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use smallvec::SmallVec;

use crate::emit::Emitter;
use crate::value::{Lanes, MAX_VECTORS, VECTOR};

/// Elements are aligned as NumPy aligns them, not to vectors; the caller vouches for every address.
pub fn element_flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Emitter<'_> {
    /// The lanes of a block of an input.
    pub(crate) fn load(&mut self, dtype: DType, pointer: Value, index: Value) -> Lanes {
        let size = dtype.size() as u32;
        let address = self.address(pointer, index, size);
        let ty = self.layout.vector_of(dtype);
        let bytes = self.layout.lanes * size;
        if bytes < ty.bytes() {
            let word = if bytes == 8 { types::I64 } else { types::I32 };
            let scalar = self.builder.ins().load(word, element_flags(), address, 0);
            let v =
                self.builder.ins().scalar_to_vector(word.by(VECTOR / word.bytes()).unwrap_or(word), scalar);
            let v = self.cast_bits(ty, v);
            return self.loaded(dtype, Lanes::new(size, [v]));
        }
        let vectors: SmallVec<[Value; MAX_VECTORS]> = (0..bytes / ty.bytes())
            .map(|i| match self.left {
                None => self.builder.ins().load(ty, element_flags(), address, (ty.bytes() * i) as i32),
                Some(left) => {
                    let (address, left) = self.part(address, left, ty, i);
                    self.call(Intrinsic::LoadPart, &[address, left], ty)
                }
            })
            .collect();
        self.loaded(dtype, Lanes::new(size, vectors))
    }

    /// Writes the lanes of a block of an output; a bool as 0 or 1.
    pub(crate) fn store(&mut self, dtype: DType, value: Lanes, pointer: Value, index: Value) {
        let value = self.bytes_of(dtype, value);
        let size = dtype.size() as u32;
        let address = self.address(pointer, index, size);
        let ty = self.layout.vector_of(dtype);
        let bytes = self.layout.lanes * size;
        if bytes < ty.bytes() {
            let width = if bytes == 8 { 8 } else { 4 };
            let v = self.cast_bits(self.layout.integer_vector(width), value.vectors()[0]);
            let word = self.builder.ins().extractlane(v, 0);
            self.builder.ins().store(element_flags(), word, address, 0);
            return;
        }
        for (i, &v) in value.vectors().iter().enumerate() {
            match self.left {
                // What is shorter than the shortest vector is stored as usual: lines are whole all the same.
                None if self.stores == Stores::Streaming && ty.bytes() >= VECTOR => {
                    let at = i64::from(ty.bytes() * i as u32);
                    let address = if at == 0 { address } else { self.builder.ins().iadd_imm_s(address, at) };
                    self.run(Intrinsic::StoreStream, &[v, address]);
                }
                None => {
                    let at = (ty.bytes() * i as u32) as i32;
                    self.builder.ins().store(element_flags(), v, address, at);
                }
                Some(left) => {
                    let (address, left) = self.part(address, left, ty, i as u32);
                    self.run(Intrinsic::StorePart, &[v, address, left]);
                }
            }
        }
    }

    /// Where the i-th vector of a block's elements lies, and how many of the row's are left there: none or fewer, if
    /// it lies beyond the row.
    fn part(&mut self, address: Value, left: Value, ty: Type, i: u32) -> (Value, Value) {
        if i == 0 {
            return (address, left);
        }
        let address = self.builder.ins().iadd_imm_s(address, i64::from(i * ty.bytes()));
        let left = self.builder.ins().iadd_imm_s(left, -i64::from(i * ty.lane_count()));
        (address, left)
    }

    /// How many of the lanes are the row's.
    pub(crate) fn count(&mut self) -> Value {
        let lanes = self.builder.ins().iconst(types::I64, i64::from(self.layout.lanes));
        match self.left {
            None => lanes,
            Some(left) => {
                let fewer = self.builder.ins().icmp(IntCC::SignedLessThan, left, lanes);
                self.builder.ins().select(fewer, left, lanes)
            }
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
        let ty = self.layout.vector_of(dtype);
        let v = match self.layout.is_wide() {
            true => self.call(Intrinsic::Broadcast, &[scalar], ty),
            false => self.builder.ins().splat(ty, scalar),
        };
        let lanes = Lanes::new(size, std::iter::repeat_n(v, self.layout.vectors_of(size)));
        let lanes =
            if dtype == DType::Bool { self.loaded(dtype, lanes) } else { lanes.with_uniform(Some(scalar)) };
        lanes.with_invariant(true)
    }

    /// The lanes as they lie in memory: a bool as a byte of 0 or 1.
    pub(crate) fn bytes_of(&mut self, dtype: DType, value: Lanes) -> Lanes {
        if dtype != DType::Bool {
            return value;
        }
        let mask = self.resize(value, 1);
        let one = self.constant(self.layout.integer_vector(1), 1);
        mask.map(|v| self.builder.ins().band(v, one))
    }

    /// A loaded bool is a byte: any but 0 is true.
    pub(crate) fn loaded(&mut self, dtype: DType, x: Lanes) -> Lanes {
        if dtype != DType::Bool {
            return x;
        }
        let zero = self.constant(self.layout.integer_vector(1), 0);
        x.map(|v| self.builder.ins().icmp(IntCC::NotEqual, v, zero))
    }
}
