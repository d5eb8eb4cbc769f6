//! The op table, with one row per function. All code that lists functions is generated from the rows of
//! [`for_each_op!`](crate::for_each_op): the enum [`Op`], its properties, and [`dispatch`], which calls an executor's visitor
//! with the generic function of `broadloom-math` for an op, an accuracy and a dtype. If an op has no function, or if some
//! executor can't instantiate a function, compilation fails.

use std::fmt;
use std::ops::Range;

use broadloom_math::{Binary, CastTo, DType, Elem, Ternary, Unary, f16, functions};

use crate::accuracy::Accuracy;

/// Calls `$callback!` with one row per op:
/// `(Variant, "name", arity, dtypes, [laws], "doc")`.
///
/// - arity: `unary`, `binary`, `ternary`, or `choice` (a bool, and two operands of one dtype)
/// - dtypes: `any`, `numeric`, `integer`, `bitlike` (integer and bool), `floating`, `boolean`,
///   `word` (uint64)
/// - laws: `commutative`; `faults` (an integer division by zero can be an error); `moves` (propagates NaN bits); `canonical`
///   (every NaN result has the canonical bits); `reads_sign` (reads the sign bit of its last operand, even of a NaN); `divides`
///   (integer operands are converted to float64); `approximate` (a float result may not be correctly rounded); `nearest` (for
///   float32 there is a second definition, `functions::Nearest` of the function's type, whose results are correctly rounded);
///   `internal` (users can't name the op)
#[macro_export]
macro_rules! for_each_op {
    ($callback:ident) => {
        $callback! {
            (Abs, "abs", unary, numeric, [moves], "Absolute value; the minimum of a signed dtype stays as it is.")
            (Acos, "acos", unary, floating, [approximate, nearest], "The angle whose cosine is x, in [0, π]; NaN outside [−1, 1].")
            (Acosh, "acosh", unary, floating, [approximate, nearest], "Inverse hyperbolic cosine; NaN below 1.")
            (Add, "add", binary, numeric, [commutative], "Sum; integers wrap.")
            (Asin, "asin", unary, floating, [approximate, nearest], "The angle whose sine is x, in [−π/2, π/2]; NaN outside [−1, 1].")
            (Asinh, "asinh", unary, floating, [approximate, nearest], "Inverse hyperbolic sine.")
            (Atan, "atan", unary, floating, [approximate, nearest], "The angle whose tangent is x, in [−π/2, π/2].")
            (Atan2, "atan2", binary, floating, [approximate], "The angle of the point (x2, x1), in [−π, π].")
            (Atanh, "atanh", unary, floating, [approximate, nearest], "Inverse hyperbolic tangent; ±infinity at ±1, NaN beyond.")
            (BitwiseAnd, "bitwise_and", binary, bitlike, [commutative], "Bitwise and.")
            (BitwiseInvert, "bitwise_invert", unary, bitlike, [], "Every bit inverted; not, for bool.")
            (BitwiseLeftShift, "bitwise_left_shift", binary, integer, [], "x1 shifted left by x2 bits; 0 for a count outside 0…width−1.")
            (BitwiseOr, "bitwise_or", binary, bitlike, [commutative], "Bitwise or.")
            (BitwiseRightShift, "bitwise_right_shift", binary, integer, [], "x1 shifted right by x2 bits, keeping the sign; 0, or −1 for a negative value, for a count outside 0…width−1.")
            (BitwiseXor, "bitwise_xor", binary, bitlike, [commutative], "Bitwise exclusive or.")
            (Cbrt, "cbrt", unary, floating, [approximate, nearest], "Cube root.")
            (Ceil, "ceil", unary, numeric, [], "The least integral value not less than x.")
            (Clip, "clip", ternary, numeric, [canonical], "minimum(maximum(x, lo), hi); NaN in any operand gives NaN.")
            (CopySign, "copysign", binary, floating, [moves, reads_sign], "x1 with the sign bit of x2, a stored NaN's included.")
            (Cos, "cos", unary, floating, [approximate, nearest], "Cosine of an angle in radians, of any size.")
            (Cosh, "cosh", unary, floating, [approximate, nearest], "Hyperbolic cosine.")
            (Divide, "divide", binary, floating, [divides], "Quotient; integers are converted to float64 first.")
            (Equal, "equal", binary, any, [commutative], "Whether x1 equals x2; NaN equals nothing.")
            (Erf, "erf", unary, floating, [approximate, nearest], "Error function: 2/√π times the integral of exp(−t²) from 0 to x.")
            (Erfc, "erfc", unary, floating, [approximate, nearest], "1 − erf(x), without a loss of digits where that is small.")
            (ErfInv, "erfinv", unary, floating, [approximate], "Inverse of the error function; ±infinity at ±1, NaN beyond.")
            (Exp, "exp", unary, floating, [approximate, nearest], "e to the power x.")
            (Exp2, "exp2", unary, floating, [approximate, nearest], "2 to the power x.")
            (ExpM1, "expm1", unary, floating, [approximate, nearest], "exp(x) − 1, without a loss of digits near 0.")
            (Floor, "floor", unary, numeric, [], "The greatest integral value not greater than x.")
            (FloorDivide, "floor_divide", binary, numeric, [faults], "Floor of the quotient; of floats, of the rounded quotient. Integer x/0 is 0, MIN/−1 wraps.")
            (Fma, "fma", ternary, floating, [], "x1·x2 + x3, rounded once: the product is exact.")
            (Greater, "greater", binary, numeric, [], "Whether x1 is greater than x2.")
            (GreaterEqual, "greater_equal", binary, numeric, [], "Whether x1 is greater than x2, or equal.")
            (Hypot, "hypot", binary, floating, [commutative, approximate, nearest], "The square root of x1² + x2², without overflow on the way.")
            (IsFinite, "isfinite", unary, numeric, [], "Whether x is neither infinite nor NaN.")
            (IsInf, "isinf", unary, numeric, [], "Whether x is infinite.")
            (IsNan, "isnan", unary, numeric, [], "Whether x is NaN.")
            (Less, "less", binary, numeric, [], "Whether x1 is less than x2.")
            (LessEqual, "less_equal", binary, numeric, [], "Whether x1 is less than x2, or equal.")
            (Log, "log", unary, floating, [approximate, nearest], "Natural logarithm; −infinity at 0, NaN below.")
            (Log1p, "log1p", unary, floating, [approximate, nearest], "log(1 + x), without a loss of digits near 0.")
            (Log2, "log2", unary, floating, [approximate, nearest], "Logarithm to base 2; −infinity at 0, NaN below.")
            (Log10, "log10", unary, floating, [approximate, nearest], "Logarithm to base 10; −infinity at 0, NaN below.")
            (LogAddExp, "logaddexp", binary, floating, [commutative, approximate], "log(exp(x1) + exp(x2)), without overflow on the way.")
            (LogicalAnd, "logical_and", binary, boolean, [commutative], "Whether both are true.")
            (LogicalNot, "logical_not", unary, boolean, [], "Whether x is false.")
            (LogicalOr, "logical_or", binary, boolean, [commutative], "Whether either is true.")
            (LogicalXor, "logical_xor", binary, boolean, [commutative], "Whether one is true, but not both.")
            (Maximum, "maximum", binary, numeric, [commutative, canonical], "The greater of both; NaN if either is, and −0 is less than +0.")
            (Minimum, "minimum", binary, numeric, [commutative, canonical], "The less of both; NaN if either is, and −0 is less than +0.")
            (Multiply, "multiply", binary, numeric, [commutative], "Product; integers wrap.")
            (Ndtri, "ndtri", unary, floating, [approximate], "Quantile of the standard normal distribution: the inverse of its distribution function; −infinity at 0, infinity at 1, NaN outside [0, 1].")
            (Negative, "negative", unary, numeric, [moves], "−x; integers wrap.")
            (NextAfter, "nextafter", binary, floating, [canonical], "The next value of the dtype after x1 towards x2; x2 where they are equal.")
            (NotEqual, "not_equal", binary, any, [commutative], "Whether x1 does not equal x2; NaN equals nothing.")
            (PhiloxHigh, "philox_high", ternary, word, [], "Words 2 and 3, word 2 in the low half, of a block of Philox4x32-10: its key, the upper half of its counter, and the lower half, which numbers blocks.")
            (PhiloxLow, "philox_low", ternary, word, [], "Words 0 and 1, word 0 in the low half, of a block of Philox4x32-10: its key, the upper half of its counter, and the lower half, which numbers blocks.")
            (Positive, "positive", unary, numeric, [moves], "x.")
            (Pow, "pow", binary, numeric, [approximate], "x1 to the power x2. Integers wrap; a negative integer exponent gives the exact value truncated, and 0 for base 0.")
            (Reciprocal, "reciprocal", unary, floating, [], "1/x.")
            (Remainder, "remainder", binary, numeric, [faults], "Remainder with the sign of x2, as Python's %. Integer x%0 is 0, MIN%−1 is 0.")
            (Round, "round", unary, numeric, [], "The nearest integral value, ties to even.")
            (Sign, "sign", unary, numeric, [canonical], "−1, 0 or 1 as x is negative, 0 or positive; NaN for NaN.")
            (SignBit, "signbit", unary, floating, [reads_sign], "Whether the sign bit is set, a stored NaN's included.")
            (Sin, "sin", unary, floating, [approximate, nearest], "Sine of an angle in radians, of any size.")
            (Sinh, "sinh", unary, floating, [approximate, nearest], "Hyperbolic sine.")
            (Sqrt, "sqrt", unary, floating, [canonical], "Square root, correctly rounded; NaN below 0.")
            (Square, "square", unary, numeric, [], "x·x; integers wrap.")
            (Subtract, "subtract", binary, numeric, [], "Difference; integers wrap.")
            (Tan, "tan", unary, floating, [approximate, nearest], "Tangent of an angle in radians, of any size.")
            (Tanh, "tanh", unary, floating, [approximate, nearest], "Hyperbolic tangent.")
            (TruncDivide, "trunc_divide", binary, integer, [faults], "Quotient without its fraction (ONNX Div on integers); x/0 is 0, MIN/−1 wraps.")
            (Trunc, "trunc", unary, numeric, [], "The integer part, toward zero.")
            (Where, "where", choice, any, [moves], "x2 where the condition holds, else x3.")
            (CanonicalNan, "canonical_nan", unary, floating, [canonical, internal], "x, any NaN made the positive quiet one without payload: put after arithmetic whose NaN's bits can be read.")
        }
    };
}

/// The number and types of an op's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arity {
    /// One operand.
    Unary,
    /// Two operands of one dtype.
    Binary,
    /// Three operands of one dtype.
    Ternary,
    /// A bool and two operands of one dtype.
    Choice,
}

/// A property of an op, as listed in its row of [`for_each_op!`](crate::for_each_op).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Law {
    /// `f(a, b)` equals `f(b, a)`, bit for bit.
    Commutative,
    /// The op divides integers, and a division by zero can be an error.
    Faults,
    /// A NaN result has the bits of a NaN operand (except that abs, negative and copysign change the sign).
    Moves,
    /// Every NaN result has the canonical bits: positive, quiet, without payload.
    Canonical,
    /// The result depends on the sign bit of the last operand, even if that is a NaN.
    ReadsSign,
    /// Integer operands are converted to float64 before the op is applied.
    Divides,
    /// A float result may not be correctly rounded, but its error is less than one unit in the last place.
    Approximate,
    /// The op is approximate, and has a second definition for float32 whose results are correctly rounded.
    Nearest,
    /// The op is inserted by the compiler, and users can't name it.
    Internal,
}

macro_rules! arity {
    (unary) => {
        Arity::Unary
    };
    (binary) => {
        Arity::Binary
    };
    (ternary) => {
        Arity::Ternary
    };
    (choice) => {
        Arity::Choice
    };
}

macro_rules! law {
    (commutative) => {
        Law::Commutative
    };
    (faults) => {
        Law::Faults
    };
    (moves) => {
        Law::Moves
    };
    (canonical) => {
        Law::Canonical
    };
    (reads_sign) => {
        Law::ReadsSign
    };
    (divides) => {
        Law::Divides
    };
    (approximate) => {
        Law::Approximate
    };
    (nearest) => {
        Law::Nearest
    };
    (internal) => {
        Law::Internal
    };
}

/// Calls `$then!` with the dtypes of a class, each with its Rust type.
macro_rules! class {
    (any, $then:ident $args:tt) => { $then!($args Bool:bool Int8:i8 Int16:i16 Int32:i32 Int64:i64 UInt8:u8 UInt16:u16 UInt32:u32 UInt64:u64 Float16:f16 Float32:f32 Float64:f64) };
    (numeric, $then:ident $args:tt) => { $then!($args Int8:i8 Int16:i16 Int32:i32 Int64:i64 UInt8:u8 UInt16:u16 UInt32:u32 UInt64:u64 Float16:f16 Float32:f32 Float64:f64) };
    (integer, $then:ident $args:tt) => { $then!($args Int8:i8 Int16:i16 Int32:i32 Int64:i64 UInt8:u8 UInt16:u16 UInt32:u32 UInt64:u64) };
    (bitlike, $then:ident $args:tt) => { $then!($args Bool:bool Int8:i8 Int16:i16 Int32:i32 Int64:i64 UInt8:u8 UInt16:u16 UInt32:u32 UInt64:u64) };
    (floating, $then:ident $args:tt) => { $then!($args Float16:f16 Float32:f32 Float64:f64) };
    (boolean, $then:ident $args:tt) => { $then!($args Bool:bool) };
    (word, $then:ident $args:tt) => { $then!($args UInt64:u64) };
}

macro_rules! dtype_list {
    (() $($dtype:ident:$rust:ident)*) => { &[$(DType::$dtype),*] };
}

macro_rules! by_dtype {
    (($op:ident $arity:ident $dtype:ident $visitor:ident) $($variant:ident:$rust:ident)*) => {
        match $dtype {
            $(DType::$variant => Some($visitor.$arity::<functions::$op, $rust>()),)*
            #[allow(unreachable_patterns)]
            _ => None,
        }
    };
}

/// Visits the correctly rounded definition of a function with the law `nearest`, if the dtype is float32.
macro_rules! nearest {
    (($op:ident $arity:ident $dtype:ident $visitor:ident) nearest $($laws:ident)*) => {
        ($dtype == DType::Float32).then(|| $visitor.$arity::<functions::Nearest<functions::$op>, f32>())
    };
    ($args:tt $law:ident $($laws:ident)*) => { nearest!($args $($laws)*) };
    ($args:tt) => { None };
}

macro_rules! define_ops {
    ($(($op:ident, $name:literal, $arity:ident, $class:ident, [$($law:ident),*], $doc:literal))*) => {
        /// An element-wise function, named as in the Python Array API standard.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = $doc] $op,)*
        }

        impl Op {
            /// All ops, in the order of the table.
            pub const ALL: &'static [Op] = &[$(Op::$op),*];

            /// The name in the Array API standard.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$op => $name,)* }
            }

            /// The name of an application of the op with an accuracy: `sin`, or `nearest_sin`.
            pub const fn name_at(self, accuracy: Accuracy) -> &'static str {
                match (accuracy, self) {
                    (Accuracy::Fast, op) => op.name(),
                    $((Accuracy::Nearest, Op::$op) => concat!("nearest_", $name),)*
                }
            }

            /// The number and types of the op's operands.
            pub const fn arity(self) -> Arity {
                match self { $(Op::$op => arity!($arity),)* }
            }

            /// The dtypes that the op takes. For `where`, these are the dtypes of the last two operands.
            pub const fn dtypes(self) -> &'static [DType] {
                match self { $(Op::$op => class!($class, dtype_list ()),)* }
            }

            /// The op's properties.
            pub const fn laws(self) -> &'static [Law] {
                match self { $(Op::$op => &[$(law!($law)),*],)* }
            }

            /// A one-line description of the result.
            pub const fn doc(self) -> &'static str {
                match self { $(Op::$op => $doc,)* }
            }
        }

        $(impl Row for functions::$op {
            const OP: Op = Op::$op;
        })*

        /// Calls the visitor with the generic function of an op at an accuracy, and the Rust type of a dtype.
        ///
        /// Returns `None` if the op doesn't take the dtype, or has no definition of this accuracy for it.
        pub fn dispatch<V: Visitor>(op: Op, accuracy: Accuracy, dtype: DType, visitor: V) -> Option<V::Out> {
            match (accuracy, op) {
                $((Accuracy::Fast, Op::$op) => class!($class, by_dtype ($op $arity dtype visitor)),)*
                $((Accuracy::Nearest, Op::$op) => nearest!(($op $arity dtype visitor) $($law)*),)*
            }
        }
    };
}
for_each_op!(define_ops);

/// A type of `broadloom-math` that implements a function of the table.
pub trait Row {
    /// The op that the function implements, for any accuracy.
    const OP: Op;
}

impl<F: Row> Row for functions::Nearest<F> {
    const OP: Op = F::OP;
}

/// The code of an executor for each arity, generic over the function. [`dispatch`] calls the method for the function's arity.
pub trait Visitor {
    /// The type of the result of a visit.
    type Out;
    /// Visits a function of one operand.
    fn unary<F: Unary<T> + Row, T: Elem>(self) -> Self::Out;
    /// Visits a function of two operands.
    fn binary<F: Binary<T> + Row, T: Elem>(self) -> Self::Out;
    /// Visits a function of three operands.
    fn ternary<F: Ternary<T, First = T> + Row, T: Elem>(self) -> Self::Out;
    /// Visits a function of a bool and two operands.
    fn choice<F: Ternary<T, First = bool> + Row, T: Elem>(self) -> Self::Out;
    /// Visits the conversion from `T` to `U`.
    fn cast<T: CastTo<U>, U: Elem>(self) -> Self::Out;
}

macro_rules! define_dispatch_cast {
    ($(($from:ident, $rust:ty, $name:literal))*) => {
        /// Calls the visitor with the conversion from one dtype to another.
        pub fn dispatch_cast<V: Visitor>(from: DType, to: DType, visitor: V) -> V::Out {
            match from {
                $(DType::$from => class!(any, cast_to ($rust, to, visitor)),)*
            }
        }
    };
}
macro_rules! cast_to {
    (($from:ty, $to:ident, $visitor:ident) $($variant:ident:$rust:ident)*) => {
        match $to { $(DType::$variant => $visitor.cast::<$from, $rust>(),)* }
    };
}
broadloom_math::for_each_dtype!(define_dispatch_cast);

impl Op {
    /// The number of operands.
    pub const fn operands(self) -> usize {
        match self.arity() {
            Arity::Unary => 1,
            Arity::Binary => 2,
            Arity::Ternary | Arity::Choice => 3,
        }
    }

    /// Whether float results are approximations that may not be correctly rounded.
    pub const fn is_approximate(self) -> bool {
        self.has(Law::Approximate)
    }

    /// Whether the op has the given property.
    pub const fn has(self, law: Law) -> bool {
        let (laws, mut i) = (self.laws(), 0);
        while i < laws.len() {
            if laws[i] as u8 == law as u8 {
                return true;
            }
            i += 1;
        }
        false
    }

    /// The indices of the operands whose NaN bits the result can have, for an op that propagates NaN bits.
    pub fn moved(self) -> Range<usize> {
        match self.arity() {
            Arity::Choice => 1..3,
            _ => 0..1,
        }
    }

    /// Whether the definition leaves the bits of a computed NaN unspecified. Such a NaN is replaced by the canonical NaN if its
    /// bits can be read.
    pub const fn leaves_nan_open(self) -> bool {
        !self.has(Law::Moves) && !self.has(Law::Canonical)
    }

    /// The op with this name, if users can name it.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::public().find(|op| op.name() == name)
    }

    /// The ops that users can name.
    pub fn public() -> impl Iterator<Item = Op> {
        Op::ALL.iter().copied().filter(|op| !op.has(Law::Internal))
    }

    /// The dtype of the result for operands of `dtype`; `None` if the op doesn't take this dtype.
    pub fn result(self, dtype: DType) -> Option<DType> {
        self.result_at(Accuracy::Fast, dtype)
    }

    /// The dtype of the result for operands of `dtype`; `None` if the op has no definition of this accuracy for the dtype.
    pub fn result_at(self, accuracy: Accuracy, dtype: DType) -> Option<DType> {
        dispatch(self, accuracy, dtype, ResultOf)
    }

    /// Whether the op, on operands of `dtype`, can fail by a division by zero.
    pub fn faults(self, dtype: DType) -> bool {
        dtype.is_integer() && self.has(Law::Faults)
    }
}

/// A visitor that returns the dtype of the result, as specified by the definition of the function.
struct ResultOf;

impl Visitor for ResultOf {
    type Out = DType;
    fn unary<F: Unary<T>, T: Elem>(self) -> DType {
        F::Out::DTYPE
    }
    fn binary<F: Binary<T>, T: Elem>(self) -> DType {
        F::Out::DTYPE
    }
    fn ternary<F: Ternary<T, First = T>, T: Elem>(self) -> DType {
        T::DTYPE
    }
    fn choice<F: Ternary<T, First = bool>, T: Elem>(self) -> DType {
        T::DTYPE
    }
    fn cast<T: CastTo<U>, U: Elem>(self) -> DType {
        U::DTYPE
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scalar, fold};

    #[test]
    fn names_are_unique_and_found() {
        for op in Op::public() {
            assert_eq!(Op::from_name(op.name()), Some(op));
        }
        assert_eq!(Op::from_name("canonical_nan"), None);
    }

    /// Edge-case values of a dtype: zeros, ones, minimum and maximum, infinities, NaNs of both signs, and ordinary numbers.
    fn edge_cases(dtype: DType) -> Vec<Scalar> {
        let width = 8 * dtype.size() as u32;
        let (ones, top) = (u64::MAX >> (64 - width), 1u64 << (width - 1));
        let starts: Vec<u64> = match dtype {
            DType::Bool => return [false, true].map(Scalar::of).to_vec(),
            DType::Float16 => vec![0, 0x0400, 0x3800, 0x3c00, 0x4248, 0x4c00, 0x6400, 0x7c00, 0x7e00],
            DType::Float32 => {
                [0.0, f32::MIN_POSITIVE, 1e-20, 0.5, 1.0, 3.125, 17.0, 88.0, 1e30, f32::INFINITY]
                    .map(|x| u64::from(x.to_bits()))
                    .into_iter()
                    .chain([0x7fc0_0000])
                    .collect()
            }
            DType::Float64 => {
                [0.0, f64::MIN_POSITIVE, 1e-160, 0.5, 1.0, 3.125, 36.0, 709.0, 1e200, f64::INFINITY]
                    .map(f64::to_bits)
                    .into_iter()
                    .chain([0x7ff8_0000_0000_0000])
                    .collect()
            }
            _ => (0..width).map(|bit| 1 << bit).collect(),
        };
        let near = starts.into_iter().flat_map(|x| [x.wrapping_sub(1), x, x + 1]);
        let both = near.flat_map(|x| [x & ones, (x ^ top) & ones, x.wrapping_neg() & ones]);
        both.map(|bits| Scalar { dtype, bits }).collect()
    }

    /// The accuracy and dtype of each definition of an op.
    fn definitions(op: Op) -> impl Iterator<Item = (Accuracy, DType)> {
        let all =
            Accuracy::ALL.into_iter().flat_map(|accuracy| DType::ALL.iter().map(move |&d| (accuracy, d)));
        all.filter(move |&(accuracy, dtype)| op.result_at(accuracy, dtype).is_some())
    }

    /// A binary op commutes for all pairs of edge-case values if and only if it has the law `commutative`.
    #[test]
    fn what_commutes_is_commutative() {
        for op in Op::ALL.iter().copied().filter(|op| op.arity() == Arity::Binary) {
            let mut commutes = true;
            for (accuracy, dtype) in definitions(op) {
                let values = edge_cases(dtype);
                for (i, &a) in values.iter().enumerate() {
                    for &b in &values[i..] {
                        let [x, y] = [[a, b], [b, a]]
                            .map(|pair| fold::apply_at(op, accuracy, &pair).expect("takes both"));
                        assert!(
                            x == y || !op.has(Law::Commutative),
                            "{op} of {a:?} and {b:?}: {x:?} and {y:?}"
                        );
                        commutes &= x == y;
                    }
                }
            }
            assert_eq!(commutes, op.has(Law::Commutative), "{op}");
        }
    }

    /// For quiet and signalling NaNs of both signs, every result of an op with the law `canonical` has the same NaN bits, and the
    /// result of an op that propagates NaN has the operand's bits, apart from the sign.
    #[test]
    fn what_is_canonical_names_its_nan_and_what_moves_keeps_an_operands() {
        for op in Op::ALL.iter().copied().filter(|op| op.has(Law::Canonical) || op.has(Law::Moves)) {
            for dtype in [DType::Float16, DType::Float32, DType::Float64] {
                let (nan, sign): (u64, u64) = match dtype {
                    DType::Float16 => (0x7e00, 0x8000),
                    DType::Float32 => (0x7fc0_0000, 1 << 31),
                    _ => (0x7ff8_0000_0000_0000, 1 << 63),
                };
                let quiet = nan & nan.wrapping_neg();
                let payloads = [nan | 5, (nan ^ quiet) | 3].into_iter().flat_map(|x| [x, x | sign]);
                let infinity = Scalar { dtype, bits: nan ^ quiet };
                for x in payloads.map(|bits| Scalar { dtype, bits }) {
                    assert!(x.is_nan() && !infinity.is_nan(), "{x:?}");
                    let gives = |args: &[Scalar]| fold::apply(op, args).expect("takes floats");
                    let (yes, no) = (Scalar::of(true), Scalar::of(false));
                    let results = match op.arity() {
                        Arity::Unary => vec![gives(&[x])],
                        Arity::Binary if op.has(Law::Moves) => vec![gives(&[x, infinity])],
                        Arity::Binary => vec![gives(&[x, infinity]), gives(&[infinity, x]), gives(&[x, x])],
                        Arity::Ternary => {
                            [[x, infinity, infinity], [infinity, x, infinity], [infinity, infinity, x]]
                                .map(|a| gives(&a))
                                .to_vec()
                        }
                        Arity::Choice => vec![gives(&[yes, x, infinity]), gives(&[no, infinity, x])],
                    };
                    for got in results {
                        let moved = got.bits & !sign == x.bits & !sign;
                        assert!(
                            if op.has(Law::Moves) { moved } else { got.bits == nan },
                            "{op} of {x:?}: {:#x}",
                            got.bits
                        );
                    }
                }
            }
        }
    }

    /// An approximate op never propagates an operand's NaN bits, and its results do not depend on a NaN's sign.
    #[test]
    fn approximate_functions_take_floats_and_no_nan_sign() {
        for op in Op::ALL.iter().copied().filter(|op| op.has(Law::Approximate)) {
            assert!(!op.has(Law::Moves) && !op.has(Law::ReadsSign) && !op.has(Law::Faults), "{op}");
            for (accuracy, dtype) in definitions(op).filter(|(_, dtype)| dtype.is_float()) {
                assert_eq!(op.result_at(accuracy, dtype), Some(dtype), "{op}");
                let values = edge_cases(dtype);
                let flip = |x: Scalar| match x.is_nan() {
                    true => Scalar { bits: x.bits ^ 1 << (8 * dtype.size() - 1), ..x },
                    false => x,
                };
                for &a in &values {
                    for &b in &values[..if op.operands() == 1 { 1 } else { values.len() }] {
                        let [there, back] = [[a, b], [flip(a), flip(b)]].map(|args| {
                            fold::apply_at(op, accuracy, &args[..op.operands()]).expect("takes both")
                        });
                        assert_eq!(there, back, "{op} of {a:?} and {b:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_listed_dtype_dispatches_and_no_other() {
        for &op in Op::ALL {
            for &dtype in DType::ALL {
                assert_eq!(op.result(dtype).is_some(), op.dtypes().contains(&dtype), "{op} {dtype}");
            }
        }
    }
}
