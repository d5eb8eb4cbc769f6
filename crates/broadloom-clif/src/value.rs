//! Values of the emitter: a fixed number of lanes, held in vectors.
//!
//! In: a width, element types and a lane count. Out: the CLIF types and how many vectors hold the lanes. Must hold: lanes
//! fill vectors from the lowest; where they fill less than one of 128 bits, its upper lanes hold anything, and where
//! they fill less than a wider one, the type has as many lanes as there are.

use broadloom_math::{DType, Elem, Kind};
use cranelift_codegen::ir::{Type, Value, types};

use crate::width::Width;

/// Bytes of a 128-bit vector, and of a place in the table of constants.
pub const VECTOR: u32 = Width::W128.bytes();
/// The most vectors that a value takes: as many lanes as a vector has bytes, of 8 bytes.
pub const MAX_VECTORS: usize = 8;

/// How the lanes of a function's values lie in vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub width: Width,
    /// Elements per block, a power of two.
    pub lanes: u32,
}

impl Layout {
    /// Whether vectors have more than 128 bits: they hold the lanes of a value exactly, and there are intrinsics.
    pub fn is_wide(self) -> bool {
        self.width > Width::W128
    }

    /// Bytes of a vector of lanes of so many bytes.
    pub fn vector_bytes(self, lane: u32) -> u32 {
        if self.is_wide() { self.width.bytes().min(self.lanes * lane) } else { VECTOR }
    }

    /// How many vectors hold the lanes of so many bytes.
    pub fn vectors_of(self, lane: u32) -> usize {
        (self.lanes * lane / self.width.bytes()).max(1) as usize
    }

    /// The vector type of a scalar type.
    pub fn vector(self, lane: Type) -> Type {
        // A vector has 2 to 64 lanes, of which there are types of every scalar.
        lane.by(self.vector_bytes(lane.bytes()) / lane.bytes()).unwrap_or(lane)
    }

    /// The vector type of a dtype; of bool, that of its bytes.
    pub fn vector_of(self, dtype: DType) -> Type {
        self.vector(scalar_of(dtype))
    }

    /// The vector type of an element type.
    pub fn vector_type<T: Elem>(self) -> Type {
        self.vector_of(T::DTYPE)
    }

    /// The integer vector type with lanes of so many bytes.
    pub fn integer_vector(self, lane: u32) -> Type {
        self.vector(integer(lane))
    }
}

/// The lanes of one value, or of one mask (a mask's lanes are all ones or all zeros).
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    vectors: [Value; MAX_VECTORS],
    len: u8,
    /// Bytes per lane; for a bool value, those of the mask that it is held as.
    pub width: u8,
    /// The scalar that every lane holds, where that is known.
    pub uniform: Option<Value>,
    /// Whether the lanes are known to be the same for all blocks of a row.
    pub invariant: bool,
}

impl Lanes {
    pub fn new(width: u32, vectors: impl IntoIterator<Item = Value>) -> Lanes {
        let mut lanes = Lanes {
            vectors: [Value::from_u32(0); MAX_VECTORS],
            len: 0,
            width: width as u8,
            uniform: None,
            invariant: false,
        };
        for v in vectors {
            lanes.vectors[lanes.len as usize] = v;
            lanes.len += 1;
        }
        lanes
    }

    pub fn vectors(&self) -> &[Value] {
        &self.vectors[..self.len as usize]
    }

    /// The same vectors, whose lanes are now this wide.
    pub fn with_width(self, width: u32) -> Lanes {
        Lanes { width: width as u8, uniform: None, ..self }
    }

    /// The same lanes, known to hold one scalar, or not known to.
    pub fn with_uniform(self, uniform: Option<Value>) -> Lanes {
        Lanes { uniform, ..self }
    }

    /// The same lanes, known to stay what they are for a row, or not known to.
    pub fn with_invariant(self, invariant: bool) -> Lanes {
        Lanes { invariant, ..self }
    }

    pub fn map(&self, f: impl FnMut(Value) -> Value) -> Lanes {
        Lanes::new(self.width.into(), self.vectors().iter().copied().map(f))
    }

    pub fn zip(&self, other: &Lanes, mut f: impl FnMut(Value, Value) -> Value) -> Lanes {
        Lanes::new(self.width.into(), self.vectors().iter().zip(other.vectors()).map(|(&a, &b)| f(a, b)))
    }
}

/// The scalar type of a dtype in machine code.
pub fn scalar_of(dtype: DType) -> Type {
    match dtype {
        DType::Float32 => types::F32,
        DType::Float64 => types::F64,
        _ => integer(dtype.size() as u32),
    }
}

/// The integer type of so many bytes.
pub fn integer(bytes: u32) -> Type {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

/// Whether comparisons of the dtype are of signed integers.
pub fn is_signed(dtype: DType) -> bool {
    dtype.kind() == Kind::Signed
}
