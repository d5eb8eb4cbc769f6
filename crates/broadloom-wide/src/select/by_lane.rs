//! Chooses among encodings that differ in the width of lanes, and computes the sizes of vector types.

use cranelift_codegen::ir::Type;
use cranelift_codegen::ir::condcodes::FloatCC;

use crate::encodings::{self, Encoding};
use crate::inst::VectorLength;

pub(super) const PMAXS: [Encoding; 4] =
    [encodings::PMAXSB, encodings::PMAXSW, encodings::PMAXSD, encodings::PMAXSQ];
pub(super) const PMINS: [Encoding; 4] =
    [encodings::PMINSB, encodings::PMINSW, encodings::PMINSD, encodings::PMINSQ];
pub(super) const PMAXU: [Encoding; 4] =
    [encodings::PMAXUB, encodings::PMAXUW, encodings::PMAXUD, encodings::PMAXUQ];
pub(super) const PMINU: [Encoding; 4] =
    [encodings::PMINUB, encodings::PMINUW, encodings::PMINUD, encodings::PMINUQ];

/// The size of a lane in bytes.
pub(super) fn lane(ty: Type) -> u32 {
    ty.lane_bits() / 8
}

/// The vector length of a type.
pub(super) fn length(ty: Type) -> VectorLength {
    VectorLength::of_bytes(ty.bytes())
}

/// A 64-bit pattern that repeats the bits of one lane, which has `lane` bytes.
pub(super) fn repeated(lane: u32, bits: u64) -> u64 {
    match lane {
        1 => (bits & 0xff) * 0x0101_0101_0101_0101,
        2 => (bits & 0xffff) * 0x0001_0001_0001_0001,
        4 => (bits & 0xffff_ffff) * 0x0000_0001_0000_0001,
        _ => bits,
    }
}

/// Chooses among the encodings of an operation for lanes of 1, 2, 4 and 8 bytes.
pub(super) fn by_lane(lane: u32, encodings: [Encoding; 4]) -> Encoding {
    encodings[lane.trailing_zeros() as usize]
}

/// Chooses among the encodings of a mask operation for 8, 16, 32 and 64 bits: the first that has a bit for each lane.
pub(super) fn by_lane_count(lanes: u32, encodings: [Encoding; 4]) -> Encoding {
    encodings[match lanes {
        0..=8 => 0,
        9..=16 => 1,
        17..=32 => 2,
        _ => 3,
    }]
}

/// Chooses between the encodings of an operation for float32 and float64, by the lanes of a type.
pub(super) fn by_float(ty: Type, single: Encoding, double: Encoding) -> Encoding {
    if lane(ty) == 4 { single } else { double }
}

/// The immediate of a float comparison instruction for a condition, in the form that does not signal for quiet NaNs.
pub(super) fn float_predicate(cond: FloatCC) -> i32 {
    match cond {
        FloatCC::Equal => 0x00,
        FloatCC::LessThan => 0x11,
        FloatCC::LessThanOrEqual => 0x12,
        FloatCC::Unordered => 0x03,
        FloatCC::NotEqual => 0x04,
        FloatCC::UnorderedOrGreaterThanOrEqual => 0x15,
        FloatCC::UnorderedOrGreaterThan => 0x16,
        FloatCC::Ordered => 0x07,
        FloatCC::UnorderedOrEqual => 0x08,
        FloatCC::UnorderedOrLessThan => 0x19,
        FloatCC::UnorderedOrLessThanOrEqual => 0x1a,
        FloatCC::OrderedNotEqual => 0x0c,
        FloatCC::GreaterThanOrEqual => 0x1d,
        FloatCC::GreaterThan => 0x1e,
    }
}
