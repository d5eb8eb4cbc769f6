//! Reads and writes the elements of a block of a row.
//!
//! Only elements of the row are accessed. Blocks are whole, except in 512-bit code that takes rows of any length, whose
//! accesses are masked. If a row is every second element in memory, the elements between them are read as well, but no
//! element after the row's last.

use broadloom_ir::DType;
use broadloom_mem::{Access, Stores};
use broadloom_wide::Intrinsic;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use smallvec::SmallVec;

use crate::value::{Lanes, MAX_VECTORS, VECTOR, scalar_of};
use crate::vectors::{Vectors, element_flags};

/// The maximum number of bytes that are read at once from an input that is every second element in memory.
const HALF: u32 = 32;

/// The block of a row that the body of a loop computes, and the addresses that have been computed for it so far.
pub struct RowBlock {
    index: Value,
    /// The number of elements from the block's first one to the row's end; `None` if the block is whole.
    left: Option<Value>,
    /// How elements are stored. With non-temporal stores every block is whole, and its outputs begin at a cache line.
    stores: Stores,
    /// Whether the block has a single element, of which all lanes are copies.
    is_single: bool,
    /// If the block is computed in parts: the offset of the current part from the block's first element, in elements.
    at: u32,
    /// For each distance between elements, in bytes: the offset in bytes of the block's first element from the row's
    /// first element.
    offsets: SmallVec<[(u32, Value); 4]>,
    /// For each operand, identified by the address of the row's first element, the address of the block's first
    /// element.
    addresses: SmallVec<[(Value, Value); 4]>,
    /// For a number n, the number of elements of the row that follow the first n elements of the block.
    rests: SmallVec<[(u32, Value); 4]>,
}

impl RowBlock {
    pub fn new(index: Value, left: Option<Value>, stores: Stores) -> RowBlock {
        RowBlock {
            index,
            left,
            stores,
            is_single: false,
            at: 0,
            offsets: SmallVec::new(),
            addresses: SmallVec::new(),
            rests: SmallVec::new(),
        }
    }

    /// A block with a single element, whose column is `index`.
    pub fn single(index: Value) -> RowBlock {
        RowBlock { is_single: true, ..RowBlock::new(index, None, Stores::Cached) }
    }

    /// Moves to the part of the block that begins `at` elements after the block's first element. All later loads read
    /// this part.
    pub fn go_to(&mut self, at: u32) {
        self.at = at;
    }

    /// The number of elements from the block's first one to the row's end; `None` if the block is whole.
    pub fn left(&self) -> Option<Value> {
        self.left
    }

    /// Loads the lanes of the block from an input. `pointer` is the address of the input's first element in the row.
    pub fn load(&mut self, v: &mut Vectors<'_>, dtype: DType, access: Access, pointer: Value) -> Lanes {
        match access {
            _ if self.is_single => {
                let scalar = v.ins().load(scalar_of(dtype), element_flags(), pointer, 0);
                splat_of_memory(v, dtype, scalar)
            }
            Access::Reversed => self.load_reversed(v, dtype, pointer),
            Access::EverySecond => self.load_every_second(v, dtype, pointer),
            Access::Contiguous | Access::Splat => self.load_contiguous(v, dtype, pointer),
        }
    }

    /// Loads the lanes of a whole block from an input whose elements are in reverse order in memory.
    fn load_reversed(&mut self, v: &mut Vectors<'_>, dtype: DType, pointer: Value) -> Lanes {
        let size = dtype.size() as u32;
        let offset = self.offset(v, size);
        let address = v.ins().isub(pointer, offset);
        let ty = v.layout.vector_of(dtype);
        let vectors: SmallVec<[Value; MAX_VECTORS]> = (1..=v.layout.lanes * size / ty.bytes())
            .map(|i| {
                // The last lane of a vector has the lowest address.
                let at = size as i32 - (ty.bytes() * i) as i32;
                let vector = v.ins().load(ty, element_flags(), address, at);
                v.call(Intrinsic::Reverse, &[vector], ty)
            })
            .collect();
        Lanes::new(size, vectors)
    }

    /// Loads the lanes of a whole block from an input that is every second element in memory.
    ///
    /// For each 256 bits of the result, two vectors of 256 bits are read: one begins with the first element of these
    /// 256 bits, and the other ends with the last. A second vector directly after the first could extend beyond the
    /// last element, to memory that may not belong to the caller.
    ///
    /// PERF: if the first vector begins a cache line, the second is within the same line, since it begins 32 bytes
    /// minus one element later. A read of 512 bits that ends with the last element would take two lines.
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

    /// Writes the lanes of the block to an output. `pointer` is the address of the output's first element in the row. A
    /// bool is passed as a mask of bytes.
    pub fn store(&mut self, v: &mut Vectors<'_>, dtype: DType, value: Lanes, pointer: Value) {
        let value = in_memory(v, dtype, value);
        if self.is_single {
            v.store_first(value.vectors()[0], pointer);
            return;
        }
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
                // Vectors of less than 128 bits are written by regular stores. Whole cache lines are written
                // nevertheless.
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

    /// Writes some lanes, beginning with lane `lane`, of the row to which the 2^`level` rows of the block were reduced.
    /// The reduced rows of successive blocks are contiguous.
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
        let node = in_memory(v, dtype, *node);
        let bytes = v.layout.lanes * size / node.vectors().len() as u32;
        for (i, &vector) in node.vectors().iter().enumerate() {
            v.ins().store(element_flags(), vector, address, (lane * size + bytes * i as u32) as i32);
        }
    }

    /// The address of the i-th vector of the block, and the number of elements from its first element to the end of the
    /// row, which is zero or negative if the vector is beyond the row.
    fn part(&mut self, v: &mut Vectors<'_>, address: Value, left: Value, ty: Type, i: u32) -> (Value, Value) {
        if i == 0 {
            return (address, left);
        }
        let address = v.ins().iadd_imm_s(address, i64::from(i * ty.bytes()));
        let elements = i * ty.lane_count();
        let left = memo(&mut self.rests, elements, || v.ins().iadd_imm_s(left, -i64::from(elements)));
        (address, left)
    }

    /// The number of elements of the block that are in the row.
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

    /// The offset in bytes of the block's first element from the row's first element, for elements that are `size`
    /// bytes apart.
    fn offset(&mut self, v: &mut Vectors<'_>, size: u32) -> Value {
        let index = self.index;
        memo(&mut self.offsets, size, || match size {
            1 => index,
            _ => v.ins().ishl_imm_u(index, i64::from(size.trailing_zeros())),
        })
    }
}

/// The value for a key, which is computed when the key is first used.
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

/// Broadcasts a scalar of a dtype to every lane. A bool is passed as a byte.
pub fn splat_of_memory(v: &mut Vectors<'_>, dtype: DType, scalar: Value) -> Lanes {
    let lanes = v.splat_scalar(scalar_of(dtype), scalar);
    of_memory(v, dtype, lanes)
}

/// Converts lanes to their form in memory: a bool, passed as a mask of bytes, becomes 0 or 1.
pub fn in_memory(v: &mut Vectors<'_>, dtype: DType, value: Lanes) -> Lanes {
    if dtype != DType::Bool {
        return value;
    }
    let one = v.constant(v.layout.integer_vector(1), 1);
    value.map(|x| v.ins().band(x, one))
}

/// Converts lanes from their form in memory: a bool, passed as a byte, becomes a mask; it is true unless the byte is 0.
pub fn of_memory(v: &mut Vectors<'_>, dtype: DType, x: Lanes) -> Lanes {
    if dtype != DType::Bool {
        return x;
    }
    let zero = v.zero(v.layout.integer_vector(1));
    x.map(|x| v.ins().icmp(IntCC::NotEqual, x, zero))
}
