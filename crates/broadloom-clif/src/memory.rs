//! Elements in memory, and lanes: the reads and writes of a block of a row.
//!
//! An element is read and written only where the row has it: blocks are whole, but those of 512-bit code that is given rows
//! of any length, whose accesses are masked. Of a row that has every second element in memory those between are read too, but
//! none behind the row's last.

use broadloom_ir::DType;
use broadloom_mem::{Access, Stores};
use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use smallvec::SmallVec;

use crate::value::{Lanes, MAX_VECTORS, VECTOR, scalar_of};
use crate::vectors::{Vectors, element_flags};

/// The most bytes that are read at a time of every second element.
const HALF: u32 = 32;

/// The block of a row that a loop's body computes: where it begins, and what was computed of it so far.
pub struct RowBlock {
    index: Value,
    /// How many elements of the row are left, where that may be fewer than a block has.
    left: Option<Value>,
    /// With non-temporal stores it is given whole blocks only, whose outputs begin with a cache line.
    stores: Stores,
    /// How many elements behind the beginning of the block the lanes are that are read, where it is computed in parts.
    at: u32,
    /// Bytes from the row's first element to the block's, for each distance of elements.
    offsets: SmallVec<[(u32, Value); 4]>,
    /// Where the block begins, for each pointer to the row's first element.
    addresses: SmallVec<[(Value, Value); 4]>,
    /// How many elements of the row are left behind so many of the block's.
    rests: SmallVec<[(u32, Value); 4]>,
}

impl RowBlock {
    pub fn new(index: Value, left: Option<Value>, stores: Stores) -> RowBlock {
        RowBlock {
            index,
            left,
            stores,
            at: 0,
            offsets: SmallVec::new(),
            addresses: SmallVec::new(),
            rests: SmallVec::new(),
        }
    }

    /// Goes to the lanes that begin so many elements behind the block's first: those of inputs that are read from now on.
    pub fn go_to(&mut self, at: u32) {
        self.at = at;
    }

    /// How many elements of the row are left, where that may be fewer than a block has.
    pub fn left(&self) -> Option<Value> {
        self.left
    }

    /// The lanes of the block of an input, whose row begins at the pointer.
    pub fn load(&mut self, v: &mut Vectors<'_>, dtype: DType, access: Access, pointer: Value) -> Lanes {
        match access {
            Access::Reversed => self.load_reversed(v, dtype, pointer),
            Access::EverySecond => self.load_every_second(v, dtype, pointer),
            Access::Contiguous | Access::Splat => self.load_contiguous(v, dtype, pointer),
        }
    }

    /// The lanes of a block of whole vectors, each of whose elements lies before the one that it follows.
    fn load_reversed(&mut self, v: &mut Vectors<'_>, dtype: DType, pointer: Value) -> Lanes {
        let size = dtype.size() as u32;
        let offset = self.offset(v, size);
        let address = v.ins().isub(pointer, offset);
        let ty = v.layout.vector_of(dtype);
        let vectors: SmallVec<[Value; MAX_VECTORS]> = (1..=v.layout.lanes * size / ty.bytes())
            .map(|i| {
                // The last element of the vector is the lowest in memory.
                let at = size as i32 - (ty.bytes() * i) as i32;
                let vector = v.ins().load(ty, element_flags(), address, at);
                v.call(Intrinsic::Reverse, &[vector], ty)
            })
            .collect();
        Lanes::new(size, vectors)
    }

    /// The lanes of a block of whole vectors, which are every second element in memory.
    ///
    /// For each 256 bits of the result, 256 bits are read from the first element on, and as many up to the last: not those behind
    /// it, which would be at the same distance from the first, but may not be the caller's.
    ///
    /// PERF: the second 256 bits begin an element before a multiple of their size, where the first begin at one, and so lie in one cache
    /// line; 512 bits that began there would lie in two.
    fn load_every_second(&mut self, v: &mut Vectors<'_>, dtype: DType, pointer: Value) -> Lanes {
        let size = dtype.size() as u32;
        let offset = self.offset(v, 2 * size);
        let address = v.ins().iadd(pointer, offset);
        let ty = v.layout.vector_of(dtype);
        let lanes = ty.lane_count().min(HALF / size);
        let part = ty.lane_type().by(lanes).unwrap_or(ty);
        let vectors: SmallVec<[Value; MAX_VECTORS]> = (0..v.layout.lanes * size / ty.bytes())
            .map(|i| {
                let both = [0, part.bytes() - size].map(|from| {
                    let mut load = |behind: u32| {
                        let at = 2 * ty.bytes() * i + from + behind;
                        v.ins().load(part, element_flags(), address, at as i32)
                    };
                    match part == ty {
                        true => load(0),
                        false => {
                            let halves = [load(0), load(2 * part.bytes())];
                            v.call(Intrinsic::Concat, &halves, ty)
                        }
                    }
                });
                v.call(Intrinsic::EverySecond, &both, ty)
            })
            .collect();
        Lanes::new(size, vectors)
    }

    fn load_contiguous(&mut self, v: &mut Vectors<'_>, dtype: DType, pointer: Value) -> Lanes {
        let size = dtype.size() as u32;
        let address = self.address(v, pointer, size);
        let ty = v.layout.vector_of(dtype);
        let bytes = v.layout.lanes * size;
        let at = (self.at * size) as i32;
        if bytes < ty.bytes() {
            let word = if bytes == 8 { types::I64 } else { types::I32 };
            let scalar = v.ins().load(word, element_flags(), address, at);
            let whole = v.ins().scalar_to_vector(word.by(VECTOR / word.bytes()).unwrap_or(word), scalar);
            let whole = v.cast_bits(ty, whole);
            return of_memory(v, dtype, Lanes::new(size, [whole]));
        }
        let vectors: SmallVec<[Value; MAX_VECTORS]> = (0..bytes / ty.bytes())
            .map(|i| match self.left {
                None => v.ins().load(ty, element_flags(), address, at + (ty.bytes() * i) as i32),
                Some(left) => {
                    let (address, left) = self.part(v, address, left, ty, i);
                    v.call(Intrinsic::LoadPart, &[address, left], ty)
                }
            })
            .collect();
        of_memory(v, dtype, Lanes::new(size, vectors))
    }

    /// Writes the lanes of the block of an output, whose row begins at the pointer; a mask of bytes for a bool.
    pub fn store(&mut self, v: &mut Vectors<'_>, dtype: DType, value: Lanes, pointer: Value) {
        let value = in_memory(v, dtype, value);
        let size = dtype.size() as u32;
        let address = self.address(v, pointer, size);
        let ty = v.layout.vector_of(dtype);
        let bytes = v.layout.lanes * size;
        if bytes < ty.bytes() {
            let width = if bytes == 8 { 8 } else { 4 };
            let whole = v.cast_bits(v.layout.integer_vector(width), value.vectors()[0]);
            let word = v.ins().extractlane(whole, 0);
            v.ins().store(element_flags(), word, address, 0);
            return;
        }
        for (i, &vector) in value.vectors().iter().enumerate() {
            match self.left {
                // What is shorter than the shortest vector is stored as usual: cache lines are whole all the same.
                None if self.stores == Stores::Streaming && ty.bytes() >= VECTOR => {
                    let at = i64::from(ty.bytes() * i as u32);
                    let address = if at == 0 { address } else { v.ins().iadd_imm_s(address, at) };
                    v.run(Intrinsic::StoreStream, &[vector, address]);
                }
                None => {
                    let at = (ty.bytes() * i as u32) as i32;
                    v.ins().store(element_flags(), vector, address, at);
                }
                Some(left) => {
                    let (address, left) = self.part(v, address, left, ty, i as u32);
                    v.run(Intrinsic::StorePart, &[vector, address, left]);
                }
            }
        }
    }

    /// Writes lanes of the one row that the 2^`level` rows of the block were combined to, from this lane on, behind those of the blocks
    /// before it.
    pub fn store_node(
        &mut self,
        v: &mut Vectors<'_>,
        dtype: DType,
        node: &Lanes,
        lane: u32,
        level: u8,
        pointer: Value,
    ) {
        let (size, level) = (dtype.size() as u32, u32::from(level));
        let shift = size.trailing_zeros();
        let offset = match shift >= level {
            true => v.ins().ishl_imm_u(self.index, i64::from(shift - level)),
            false => v.ins().ushr_imm_u(self.index, i64::from(level - shift)),
        };
        let address = v.ins().iadd(pointer, offset);
        let bytes = v.layout.lanes * size / node.vectors().len() as u32;
        for (i, &vector) in node.vectors().iter().enumerate() {
            v.ins().store(element_flags(), vector, address, (lane * size + bytes * i as u32) as i32);
        }
    }

    /// Where the i-th vector of a block's elements lies, and how many of the row's are left there: none or fewer, if
    /// it lies beyond the row.
    fn part(&mut self, v: &mut Vectors<'_>, address: Value, left: Value, ty: Type, i: u32) -> (Value, Value) {
        if i == 0 {
            return (address, left);
        }
        let address = v.ins().iadd_imm_s(address, i64::from(i * ty.bytes()));
        let elements = i * ty.lane_count();
        let left = memo(&mut self.rests, elements, || v.ins().iadd_imm_s(left, -i64::from(elements)));
        (address, left)
    }

    /// How many of the lanes are the row's.
    pub fn count(&self, v: &mut Vectors<'_>) -> Value {
        let lanes = i64::from(v.layout.lanes);
        let lanes = v.ins().iconst(types::I64, lanes);
        match self.left {
            None => lanes,
            Some(left) => {
                let fewer = v.ins().icmp(IntCC::SignedLessThan, left, lanes);
                v.ins().select(fewer, left, lanes)
            }
        }
    }

    fn address(&mut self, v: &mut Vectors<'_>, pointer: Value, size: u32) -> Value {
        if let Some(&(_, address)) = self.addresses.iter().find(|(of, _)| *of == pointer) {
            return address;
        }
        let offset = self.offset(v, size);
        let address = v.ins().iadd(pointer, offset);
        self.addresses.push((pointer, address));
        address
    }

    /// Bytes from the row's first element to the block's, where elements are so many bytes apart.
    fn offset(&mut self, v: &mut Vectors<'_>, size: u32) -> Value {
        let index = self.index;
        memo(&mut self.offsets, size, || match size {
            1 => index,
            _ => v.ins().ishl_imm_u(index, i64::from(size.trailing_zeros())),
        })
    }
}

/// The value that a key has, made where it is first asked for.
fn memo(known: &mut SmallVec<[(u32, Value); 4]>, key: u32, make: impl FnOnce() -> Value) -> Value {
    match known.iter().find(|(k, _)| *k == key) {
        Some(&(_, value)) => value,
        None => {
            let value = make();
            known.push((key, value));
            value
        }
    }
}

/// A scalar of a dtype for every lane; a bool is given as a byte.
pub fn splat_of_memory(v: &mut Vectors<'_>, dtype: DType, scalar: Value) -> Lanes {
    let lanes = v.splat_scalar(scalar_of(dtype), scalar);
    of_memory(v, dtype, lanes)
}

/// The lanes as they lie in memory: a bool, given as a mask of bytes, as 0 or 1.
pub fn in_memory(v: &mut Vectors<'_>, dtype: DType, value: Lanes) -> Lanes {
    if dtype != DType::Bool {
        return value;
    }
    let one = v.constant(v.layout.integer_vector(1), 1);
    value.map(|x| v.ins().band(x, one))
}

/// Lanes from memory: a bool is a byte there, and any but 0 is true.
pub fn of_memory(v: &mut Vectors<'_>, dtype: DType, x: Lanes) -> Lanes {
    if dtype != DType::Bool {
        return x;
    }
    let zero = v.zero(v.layout.integer_vector(1));
    x.map(|x| v.ins().icmp(IntCC::NotEqual, x, zero))
}
