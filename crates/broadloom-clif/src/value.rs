//! Values of the emitter: a fixed number of lanes, held in 128-bit vectors.
//!
//! In: element types and a lane count. Out: the CLIF types and how many vectors hold the lanes. Must hold: lanes
//! fill vectors from the lowest; where they fill less than one vector, its upper lanes hold anything.

use broadloom_math::{DType, Elem, Kind};
use cranelift_codegen::ir::{Type, Value, types};

/// Bytes of a vector.
pub const VECTOR: u32 = 16;
/// The most vectors that a value takes: 16 lanes of 8 bytes.
pub const MAX_VECTORS: usize = 8;

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

/// The vector type of an element type; of bool, that of its bytes.
pub fn vector_type<T: Elem>() -> Type {
    vector_of(T::DTYPE)
}

/// The vector type of a dtype.
pub fn vector_of(dtype: DType) -> Type {
    match dtype {
        DType::Float32 => types::F32X4,
        DType::Float64 => types::F64X2,
        _ => integer_vector(dtype.size() as u32),
    }
}

/// The integer vector type with lanes of so many bytes.
pub fn integer_vector(width: u32) -> Type {
    match width {
        1 => types::I8X16,
        2 => types::I16X8,
        4 => types::I32X4,
        _ => types::I64X2,
    }
}

/// The scalar type of a dtype in machine code.
pub fn scalar_of(dtype: DType) -> Type {
    vector_of(dtype).lane_type()
}

/// Whether comparisons of the dtype are of signed integers.
pub fn is_signed(dtype: DType) -> bool {
    dtype.kind() == Kind::Signed
}
