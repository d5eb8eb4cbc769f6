//! Values of machine code: each consists of a fixed number of lanes in one or more vectors.
//!
//! Lanes fill vectors beginning with the lowest lane. If they don't fill a vector of 128 bits, its upper lanes are
//! unspecified; if they don't fill a wider vector, its type has fewer lanes.

use broadloom_ir::{DType, Kind};
use cranelift_codegen::ir::{Type, Value, types};

use broadloom_ir::VectorWidth;

/// The size in bytes of a 128-bit vector, and of an entry in the table of constants.
pub const VECTOR: u32 = VectorWidth::W128.bytes();
/// The maximum number of vectors that a value takes: a block has at most as many lanes as a vector has bytes, and a
/// lane has at most 8 bytes.
pub const MAX_VECTORS: usize = 8;

/// How the lanes of a function's values are arranged in vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneLayout {
    pub width: VectorWidth,
    /// The number of elements of a block, a power of two.
    pub lanes: u32,
    /// Whether values with the wider of two lane widths consist of one vector of the even-indexed elements and one of
    /// the odd-indexed elements ([`crate::interleave`]), instead of having their lanes in the order of the elements.
    pub interleaved: bool,
    /// Whether 128-bit vectors have an instruction that converts floats to 64-bit integers: NEON has one, SSE and AVX
    /// have none.
    pub converts_to_long: bool,
}

impl LaneLayout {
    /// Whether vectors have more than 128 bits. The type of such a vector has exactly the lanes of a value, and
    /// intrinsics are available.
    pub fn is_wide(self) -> bool {
        self.width > VectorWidth::W128
    }

    /// The size in bytes of the vectors of a value whose lanes have this many bytes.
    pub fn vector_bytes(self, lane: u32) -> u32 {
        if self.is_wide() { self.width.bytes().min(self.lanes * lane) } else { VECTOR }
    }

    /// The number of vectors of a value whose lanes have this many bytes.
    pub fn vectors_of(self, lane: u32) -> usize {
        (self.lanes * lane / self.width.bytes()).max(1) as usize
    }

    /// The type of the vectors of a value with lanes of this scalar type.
    pub fn vector(self, lane: Type) -> Type {
        // A vector has 2 to 64 lanes, and CLIF has such types for every scalar type.
        lane.by(self.vector_bytes(lane.bytes()) / lane.bytes()).unwrap_or(lane)
    }

    /// The type of the vectors of a value of this dtype, in which bools are bytes.
    pub fn vector_of(self, dtype: DType) -> Type {
        self.vector(scalar_of(dtype))
    }

    /// The type of the vectors of a value whose lanes are integers of this many bytes.
    pub fn integer_vector(self, lane: u32) -> Type {
        self.vector(integer(lane))
    }
}

/// The lanes of one value, or of one mask (a mask's lanes are all ones or all zeros).
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    vectors: [Value; MAX_VECTORS],
    len: u8,
    /// The size of a lane in bytes; for a bool, the size of a lane of its mask.
    pub width: u8,
    /// The scalar to which every lane is equal, if it is known.
    pub uniform: Option<Value>,
}

impl Lanes {
    pub fn new(width: u32, vectors: impl IntoIterator<Item = Value>) -> Lanes {
        let vacant = Value::from_u32(0);
        let mut lanes = Lanes { vectors: [vacant; MAX_VECTORS], len: 0, width: width as u8, uniform: None };
        for v in vectors {
            lanes.vectors[lanes.len as usize] = v;
            lanes.len += 1;
        }
        lanes
    }

    pub fn vectors(&self) -> &[Value] {
        &self.vectors[..self.len as usize]
    }

    /// This value's vectors, taken as lanes of another width in bytes.
    pub fn with_width(self, width: u32) -> Lanes {
        Lanes { width: width as u8, uniform: None, ..self }
    }

    /// These lanes, with the scalar to which every lane is known to be equal, if any.
    pub fn with_uniform(self, uniform: Option<Value>) -> Lanes {
        Lanes { uniform, ..self }
    }

    /// Applies `f` to each vector of the value, but only once to a run of equal vectors.
    pub fn map(&self, f: impl FnMut(Value) -> Value) -> Lanes {
        self.with_each([], f, |v, []| v)
    }

    /// Applies `f` to each pair of corresponding vectors of two values, but only once to a run of equal pairs.
    pub fn zip(&self, other: &Lanes, mut f: impl FnMut(Value, Value) -> Value) -> Lanes {
        self.with_each([other], |(a, b)| f(a, b), |a, [b]| (a, b))
    }

    /// Applies `f` to each triple of corresponding vectors of three values, but only once to a run of equal triples.
    pub fn zip3(&self, b: &Lanes, c: &Lanes, mut f: impl FnMut(Value, Value, Value) -> Value) -> Lanes {
        self.with_each([b, c], |(a, b, c)| f(a, b, c), |a, [b, c]| (a, b, c))
    }

    fn with_each<const N: usize, A: Copy + PartialEq>(
        &self,
        others: [&Lanes; N],
        mut f: impl FnMut(A) -> Value,
        args: impl Fn(Value, [Value; N]) -> A,
    ) -> Lanes {
        let mut out = Lanes::new(self.width.into(), []);
        let mut before: Option<(A, Value)> = None;
        for (i, &v) in self.vectors().iter().enumerate() {
            let now = args(v, others.map(|other| other.vectors[i]));
            let made = match before {
                Some((same, made)) if same == now => made,
                _ => f(now),
            };
            before = Some((now, made));
            out.vectors[i] = made;
            out.len += 1;
        }
        out
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

/// The integer type of this many bytes.
pub fn integer(bytes: u32) -> Type {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

/// Whether the dtype is a signed integer.
pub fn is_signed(dtype: DType) -> bool {
    dtype.kind() == Kind::Signed
}
