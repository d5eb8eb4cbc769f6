//! Loads elements of tables at computed positions.

use broadloom_ir::{DType, VectorWidth};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use smallvec::SmallVec;

use crate::memory::{of_memory, splat_of_memory};
use crate::value::{Lanes, MAX_VECTORS, scalar_of};
use crate::vectors::{Vectors, element_flags};
use broadloom_wide::Intrinsic;

/// Emits loads of the elements at these positions. Each position is inside of the table, or 0. The table's address and number of
/// elements are at the byte offset `at` of `tables`. Wide vectors have a `frame`, with space for the lanes of several values, through
/// which elements of 8 or 16 bits go, since no instruction gathers them. If the lanes `are_copies`, one element is loaded.
pub fn emit(
    v: &mut Vectors<'_>,
    dtype: DType,
    positions: &Lanes,
    (tables, at): (Value, i32),
    frame: Option<Value>,
    are_copies: bool,
) -> Lanes {
    let flags = MemFlagsData::trusted();
    let start = v.ins().load(types::I64, flags, tables, at);
    let count = v.ins().load(types::I64, flags, tables, at + 8);
    // An element of a table without elements is read from the list of tables instead. It is not used, since the run fails.
    let zero = v.ins().iconst(types::I64, 0);
    let is_empty = v.ins().icmp(IntCC::Equal, count, zero);
    let start = v.ins().select(is_empty, tables, start);
    let (scalar, ty, size) = (scalar_of(dtype), v.layout.vector_of(dtype), dtype.size() as u32);
    let element = |v: &mut Vectors<'_>, position: Value| {
        let offset = match size {
            1 => position,
            _ => v.ins().ishl_imm_u(position, i64::from(size.trailing_zeros())),
        };
        let address = v.ins().iadd(start, offset);
        v.ins().load(scalar, element_flags(), address, 0)
    };
    if are_copies {
        let first = positions.vectors()[0];
        let position = match frame {
            None => v.ins().extractlane(first, 0),
            Some(frame) => {
                // No code of 512 bits stores the lowest lane alone.
                match v.layout.width {
                    VectorWidth::W512 => v.store_to_frame(frame, 0, positions),
                    VectorWidth::W128 | VectorWidth::W256 => v.store_first(first, frame),
                }
                v.ins().load(types::I64, element_flags(), frame, 0)
            }
        };
        let only = element(v, position);
        return splat_of_memory(v, dtype, only);
    }
    let Some(frame) = frame else {
        let lanes = v.by_lane(&[*positions], ty, |v, position| element(v, position[0]));
        return of_memory(v, dtype, lanes);
    };
    if size >= 4 {
        return v.converted(*positions, scalar, |v, at, ty| v.call(Intrinsic::Gather, &[start, at], ty));
    }
    v.store_to_frame(frame, 0, positions);
    // The elements follow the positions in the frame.
    let to = (MAX_VECTORS as u32 * v.layout.width.bytes()) as i32;
    for lane in 0..v.layout.lanes as i32 {
        let position = v.ins().load(types::I64, element_flags(), frame, 8 * lane);
        let loaded = element(v, position);
        v.ins().store(element_flags(), loaded, frame, to + size as i32 * lane);
    }
    let vectors: SmallVec<[Value; MAX_VECTORS]> = (0..v.layout.vectors_of(size) as i32)
        .map(|i| v.ins().load(ty, element_flags(), frame, to + ty.bytes() as i32 * i))
        .collect();
    of_memory(v, dtype, Lanes::new(size, vectors))
}
