//! A single value of any dtype, and its conversion to and from plain bits, with which the oracle computes.
//!
//! `Value::from_raw(v.kind(), v.raw())` is `v`, bit for bit. The table at the end is the only list of dtypes; `Value`,
//! `DTYPES` and the conversions are generated from it.

use half::f16;

/// The interpretation of the bits of a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// 0 or 1.
    Bool,
    /// An integer, in two's complement if signed.
    Int(Int),
    /// A binary floating-point number of IEEE 754.
    Float(Format),
}

/// The width and signedness of an integer dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Int {
    pub bits: u32,
    pub signed: bool,
}

/// A binary interchange format of IEEE 754. `precision` includes the hidden bit, and `emax` is also the exponent bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub precision: u32,
    pub emax: i32,
}

/// Declares `Value`, `DTYPES` and the conversions to and from bits from one table of dtypes.
macro_rules! values {
    ($($variant:ident($type:ty) $name:literal $kind:expr, $x:ident => $to:expr, $raw:ident => $from:expr;)*) => {
        /// One element of an array, with its dtype.
        #[derive(Clone, Copy, Debug)]
        pub enum Value {
            $(#[doc = concat!("An element of dtype `", $name, "`.")] $variant($type),)*
        }

        /// The names of all dtypes, in the order bool, signed, unsigned, floating.
        pub const DTYPES: &[&str] = &[$($name),*];

        impl Value {
            /// The name of the dtype, as the case files spell it.
            pub fn dtype(&self) -> &'static str {
                match self { $(Value::$variant(_) => $name,)* }
            }

            pub(crate) fn kind(&self) -> ValueKind {
                match self { $(Value::$variant(_) => $kind,)* }
            }

            /// The bits of the value, zero-extended to 64.
            pub(crate) fn raw(&self) -> u64 {
                match *self { $(Value::$variant($x) => $to,)* }
            }

            /// The value of a kind with these bits. Bits above its width are dropped.
            pub(crate) fn from_raw(kind: ValueKind, raw: u64) -> Value {
                $(if kind == $kind {
                    let $raw = raw;
                    return Value::$variant($from);
                })*
                unreachable!("{kind:?} is not in the table that kinds come from")
            }
        }

        /// The kind of the dtype with this name.
        pub(crate) fn kind_of(dtype: &str) -> Option<ValueKind> {
            match dtype {
                $($name => Some($kind),)*
                _ => None,
            }
        }
    };
}

const fn signed(bits: u32) -> ValueKind {
    ValueKind::Int(Int { bits, signed: true })
}

const fn unsigned(bits: u32) -> ValueKind {
    ValueKind::Int(Int { bits, signed: false })
}

const fn float(precision: u32, emax: i32) -> ValueKind {
    ValueKind::Float(Format { precision, emax })
}

values! {
    Bool(bool) "bool"    ValueKind::Bool,      x => u64::from(x),           raw => raw != 0;
    I8(i8)     "int8"    signed(8),       x => u64::from(x as u8),     raw => raw as i8;
    I16(i16)   "int16"   signed(16),      x => u64::from(x as u16),    raw => raw as i16;
    I32(i32)   "int32"   signed(32),      x => u64::from(x as u32),    raw => raw as i32;
    I64(i64)   "int64"   signed(64),      x => x as u64,               raw => raw as i64;
    U8(u8)     "uint8"   unsigned(8),     x => u64::from(x),           raw => raw as u8;
    U16(u16)   "uint16"  unsigned(16),    x => u64::from(x),           raw => raw as u16;
    U32(u32)   "uint32"  unsigned(32),    x => u64::from(x),           raw => raw as u32;
    U64(u64)   "uint64"  unsigned(64),    x => x,                      raw => raw;
    F16(f16)   "float16" float(11, 15),   x => u64::from(x.to_bits()), raw => f16::from_bits(raw as u16);
    F32(f32)   "float32" float(24, 127),  x => u64::from(x.to_bits()), raw => f32::from_bits(raw as u32);
    F64(f64)   "float64" float(53, 1023), x => x.to_bits(),            raw => f64::from_bits(raw);
}

impl Value {
    /// The bits of the value, zero-extended.
    pub fn bits(&self) -> u64 {
        self.raw()
    }

    /// The value of a dtype with these bits; bits above its width are dropped. `None` for an unknown dtype.
    ///
    /// ```
    /// use broadloom_testkit::Value;
    ///
    /// assert!(Value::from_bits("float32", 0x3f80_0000).is_some_and(|x| x.same(&Value::F32(1.0))));
    /// assert!(Value::from_bits("float8", 0).is_none());
    /// ```
    pub fn from_bits(dtype: &str, bits: u64) -> Option<Value> {
        kind_of(dtype).map(|kind| Value::from_raw(kind, bits))
    }

    /// Whether two results count as equal, which requires the same dtype and the same bits. −0 is therefore not equal
    /// to +0.
    ///
    /// A NaN is equal only to a NaN with the same bits.
    ///
    /// ```
    /// use broadloom_testkit::Value;
    ///
    /// assert!(Value::F32(f32::NAN).same(&Value::F32(f32::NAN)));
    /// assert!(!Value::F32(f32::NAN).same(&Value::F32(-f32::NAN)));
    /// assert!(!Value::F32(0.0).same(&Value::F32(-0.0)));
    /// assert!(!Value::I8(1).same(&Value::I16(1)));
    /// ```
    pub fn same(&self, other: &Value) -> bool {
        self.kind() == other.kind() && self.raw() == other.raw()
    }

    /// Whether the value is a NaN.
    pub fn is_nan(&self) -> bool {
        match *self {
            Value::F16(x) => x.is_nan(),
            Value::F32(x) => x.is_nan(),
            Value::F64(x) => x.is_nan(),
            _ => false,
        }
    }
}
