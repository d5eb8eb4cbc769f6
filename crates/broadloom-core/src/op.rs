//! The op table: one row per function. Everything that lists functions is made from it.
//!
//! In: the rows of [`for_each_op!`](crate::for_each_op). Out: the enum [`Op`], its properties, and [`dispatch`],
//! which turns an op and a dtype into the generic function of `broadloom-math` for an executor's visitor. Must hold:
//! an op without a function, or a function that an executor can't take, does not compile.

use std::fmt;

use broadloom_math::{Binary, CastTo, DType, Elem, Ternary, Unary, f16, functions};

/// Calls `$callback!` with one row per op:
/// `(Variant, "name", arity, dtypes, cost, [laws], "doc")`.
///
/// - arity: `unary`, `binary`, `ternary`, or `choice` (a bool and two of one dtype)
/// - dtypes that it takes: `any`, `numeric`, `integer`, `bitlike` (integer and bool), `floating`, `boolean`
/// - cost: vector instructions per element, roughly; read off the definitions, not measured
/// - laws: `commutative`; `faults` (integer zero divisors); `moves` (gives a NaN operand's own bits);
///   `reads_sign` (of its last operand); `divides` (integers go to float64); `internal` (not a user's)
#[macro_export]
macro_rules! for_each_op {
    ($callback:ident) => {
        $callback! {
            (Abs, "abs", unary, numeric, 1, [moves], "Absolute value; the least integer of a signed dtype stays as it is.")
            (Add, "add", binary, numeric, 1, [commutative], "Sum; integers wrap.")
            (BitwiseAnd, "bitwise_and", binary, bitlike, 1, [commutative], "Bitwise and.")
            (BitwiseInvert, "bitwise_invert", unary, bitlike, 1, [], "Every bit inverted; not, for bool.")
            (BitwiseLeftShift, "bitwise_left_shift", binary, integer, 3, [], "Left shift; 0 for a count outside 0…width−1.")
            (BitwiseOr, "bitwise_or", binary, bitlike, 1, [commutative], "Bitwise or.")
            (BitwiseRightShift, "bitwise_right_shift", binary, integer, 3, [], "Arithmetic right shift; 0, or −1 for a negative value, for a count outside 0…width−1.")
            (BitwiseXor, "bitwise_xor", binary, bitlike, 1, [commutative], "Bitwise exclusive or.")
            (Ceil, "ceil", unary, numeric, 1, [], "The least integral value not less than x.")
            (Clip, "clip", ternary, numeric, 8, [], "minimum(maximum(x, lo), hi); NaN in any operand gives NaN.")
            (CopySign, "copysign", binary, floating, 2, [moves, reads_sign], "x1 with the sign bit of x2, a stored NaN's included.")
            (Divide, "divide", binary, floating, 4, [divides], "Quotient; integers are converted to float64 first.")
            (Equal, "equal", binary, any, 1, [commutative], "x1 == x2.")
            (Floor, "floor", unary, numeric, 1, [], "The greatest integral value not greater than x.")
            (FloorDivide, "floor_divide", binary, numeric, 8, [faults], "Floor of the quotient; of floats, of the rounded quotient. Integer x/0 is 0, MIN/−1 wraps.")
            (Greater, "greater", binary, numeric, 1, [], "x1 > x2.")
            (GreaterEqual, "greater_equal", binary, numeric, 1, [], "x1 >= x2.")
            (IsFinite, "isfinite", unary, numeric, 2, [], "Whether x is neither infinite nor NaN.")
            (IsInf, "isinf", unary, numeric, 2, [], "Whether x is infinite.")
            (IsNan, "isnan", unary, numeric, 2, [], "Whether x is NaN.")
            (Less, "less", binary, numeric, 1, [], "x1 < x2.")
            (LessEqual, "less_equal", binary, numeric, 1, [], "x1 <= x2.")
            (LogicalAnd, "logical_and", binary, boolean, 1, [commutative], "Both.")
            (LogicalNot, "logical_not", unary, boolean, 1, [], "Not.")
            (LogicalOr, "logical_or", binary, boolean, 1, [commutative], "Either.")
            (LogicalXor, "logical_xor", binary, boolean, 1, [commutative], "One but not both.")
            (Maximum, "maximum", binary, numeric, 4, [commutative], "The greater; NaN propagates, −0 < +0.")
            (Minimum, "minimum", binary, numeric, 4, [commutative], "The less; NaN propagates, −0 < +0.")
            (Multiply, "multiply", binary, numeric, 1, [commutative], "Product; integers wrap.")
            (Negative, "negative", unary, numeric, 1, [moves], "−x; integers wrap.")
            (NextAfter, "nextafter", binary, floating, 8, [], "The next value of the dtype after x1 towards x2; x2 where they are equal.")
            (NotEqual, "not_equal", binary, any, 1, [commutative], "x1 != x2.")
            (Positive, "positive", unary, numeric, 0, [moves], "x.")
            (Reciprocal, "reciprocal", unary, floating, 4, [], "1/x.")
            (Remainder, "remainder", binary, numeric, 14, [faults], "Remainder with the sign of x2, as Python's %. Integer x%0 is 0, MIN%−1 is 0.")
            (Round, "round", unary, numeric, 1, [], "The nearest integral value, ties to even.")
            (Sign, "sign", unary, numeric, 3, [], "−1, 0 or 1; NaN for NaN.")
            (SignBit, "signbit", unary, floating, 1, [reads_sign], "Whether the sign bit is set, a stored NaN's included.")
            (Sqrt, "sqrt", unary, floating, 5, [], "Square root, correctly rounded.")
            (Square, "square", unary, numeric, 1, [], "x·x; integers wrap.")
            (Subtract, "subtract", binary, numeric, 1, [], "Difference; integers wrap.")
            (TruncDivide, "trunc_divide", binary, integer, 6, [faults], "Quotient without its fraction (ONNX Div on integers); x/0 is 0, MIN/−1 wraps.")
            (Trunc, "trunc", unary, numeric, 1, [], "The integer part, toward zero.")
            (Where, "where", choice, any, 1, [moves], "x2 where the condition holds, else x3.")
            (CanonicalNan, "canonical_nan", unary, floating, 2, [internal], "x, any NaN made the positive quiet one: put after arithmetic whose NaN's sign would be read.")
        }
    };
}

/// How many and what sort of operands an op takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arity {
    /// One.
    Unary,
    /// Two of one dtype.
    Binary,
    /// Three of one dtype.
    Ternary,
    /// A bool and two of one dtype.
    Choice,
}

/// A property of an op; see [`for_each_op!`](crate::for_each_op).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Law {
    /// `f(a, b)` is `f(b, a)`.
    Commutative,
    /// A zero divisor of an integer dtype can be an error.
    Faults,
    /// A NaN result is a NaN operand's own bits (the sign apart, for abs, negative and copysign).
    Moves,
    /// Reads the sign bit of its last operand.
    ReadsSign,
    /// Integer operands are converted to float64.
    Divides,
    /// Not for users to name.
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
    (reads_sign) => {
        Law::ReadsSign
    };
    (divides) => {
        Law::Divides
    };
    (internal) => {
        Law::Internal
    };
}

/// Calls `$then!` with the dtypes of a class.
macro_rules! class {
    (any, $then:ident $args:tt) => { $then!($args Bool:bool Int8:i8 Int16:i16 Int32:i32 Int64:i64 UInt8:u8 UInt16:u16 UInt32:u32 UInt64:u64 Float16:f16 Float32:f32 Float64:f64) };
    (numeric, $then:ident $args:tt) => { $then!($args Int8:i8 Int16:i16 Int32:i32 Int64:i64 UInt8:u8 UInt16:u16 UInt32:u32 UInt64:u64 Float16:f16 Float32:f32 Float64:f64) };
    (integer, $then:ident $args:tt) => { $then!($args Int8:i8 Int16:i16 Int32:i32 Int64:i64 UInt8:u8 UInt16:u16 UInt32:u32 UInt64:u64) };
    (bitlike, $then:ident $args:tt) => { $then!($args Bool:bool Int8:i8 Int16:i16 Int32:i32 Int64:i64 UInt8:u8 UInt16:u16 UInt32:u32 UInt64:u64) };
    (floating, $then:ident $args:tt) => { $then!($args Float16:f16 Float32:f32 Float64:f64) };
    (boolean, $then:ident $args:tt) => { $then!($args Bool:bool) };
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

macro_rules! define_ops {
    ($(($op:ident, $name:literal, $arity:ident, $class:ident, $cost:literal, [$($law:ident),*], $doc:literal))*) => {
        /// An element-wise function, named as in the Python Array API standard.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = $doc] $op,)*
        }

        impl Op {
            /// Every op, in the table's order.
            pub const ALL: &'static [Op] = &[$(Op::$op),*];

            /// The standard's name.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$op => $name,)* }
            }

            /// How many and what sort of operands it takes.
            pub const fn arity(self) -> Arity {
                match self { $(Op::$op => arity!($arity),)* }
            }

            /// The dtypes that it takes (the last operands', for `where`).
            pub const fn dtypes(self) -> &'static [DType] {
                match self { $(Op::$op => class!($class, dtype_list ()),)* }
            }

            /// Vector instructions per element, roughly.
            pub const fn cost(self) -> u32 {
                match self { $(Op::$op => $cost,)* }
            }

            /// Its properties.
            pub const fn laws(self) -> &'static [Law] {
                match self { $(Op::$op => &[$(law!($law)),*],)* }
            }

            /// One line on what it gives.
            pub const fn doc(self) -> &'static str {
                match self { $(Op::$op => $doc,)* }
            }
        }

        /// Calls the visitor with the generic function of an op and the Rust type of a dtype.
        ///
        /// `None` where the op doesn't take the dtype.
        pub fn dispatch<V: Visitor>(op: Op, dtype: DType, visitor: V) -> Option<V::Out> {
            match op {
                $(Op::$op => class!($class, by_dtype ($op $arity dtype visitor)),)*
            }
        }
    };
}
for_each_op!(define_ops);

/// What an executor does with a function, by arity; see [`dispatch`].
pub trait Visitor {
    /// What a visit gives.
    type Out;
    /// A function of one operand.
    fn unary<F: Unary<T>, T: Elem>(self) -> Self::Out;
    /// A function of two operands.
    fn binary<F: Binary<T>, T: Elem>(self) -> Self::Out;
    /// A function of three operands.
    fn ternary<F: Ternary<T, First = T>, T: Elem>(self) -> Self::Out;
    /// A function of a bool and two operands.
    fn choice<F: Ternary<T, First = bool>, T: Elem>(self) -> Self::Out;
    /// A conversion.
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
    /// Number of operands.
    pub const fn operands(self) -> usize {
        match self.arity() {
            Arity::Unary => 1,
            Arity::Binary => 2,
            Arity::Ternary | Arity::Choice => 3,
        }
    }

    /// Whether it has the property.
    pub fn has(self, law: Law) -> bool {
        self.laws().contains(&law)
    }

    /// The op of this name, if a user may call it.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::public().find(|op| op.name() == name)
    }

    /// The ops that a user may name.
    pub fn public() -> impl Iterator<Item = Op> {
        Op::ALL.iter().copied().filter(|op| !op.has(Law::Internal))
    }

    /// The dtype that it gives for operands of `dtype`; `None` where it doesn't take them.
    pub fn result(self, dtype: DType) -> Option<DType> {
        dispatch(self, dtype, ResultOf)
    }

    /// Whether a zero divisor among operands of `dtype` can be an error.
    pub fn faults(self, dtype: DType) -> bool {
        dtype.is_integer() && self.has(Law::Faults)
    }
}

/// Reads the result's dtype off the function's own definition.
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

    #[test]
    fn names_are_unique_and_found() {
        for op in Op::public() {
            assert_eq!(Op::from_name(op.name()), Some(op));
        }
        assert_eq!(Op::from_name("canonical_nan"), None);
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
