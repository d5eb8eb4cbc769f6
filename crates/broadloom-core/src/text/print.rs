//! Prints scalars, literals, types, views and functions in a form that parses back unchanged.
//!
//! Values are written so that they parse back bit for bit, whatever the dtype. An operand is a name, a typed constant
//! or a literal, so that the text does not depend on the precedence of operators.

use std::fmt::{self, Write};

use broadloom_math::f16;

use super::ast::Item;
use super::literal::nan;
use super::operator::symbol;
use super::parameters::ARANGE;
use crate::indices::{DynamicView, Indices};
use crate::layout::{Slice, View};
use crate::op::Arity;
use crate::padding::{PAD_LIKE, Padding};
use crate::{Accuracy, DType, Kind, Literal, Op, Scalar};

/// Prints a typed constant: `float32(0.5)`.
///
/// ```
/// use broadloom_core::Scalar;
/// use broadloom_core::text::print::constant;
///
/// assert_eq!(constant(Scalar::of(-0.0_f32)).to_string(), "float32(-0.0)");
/// assert_eq!(constant(Scalar::of(f64::from_bits(0x7ff8_0000_0000_0001))).to_string(), "float64(nan(0x7ff8000000000001))");
/// ```
pub fn constant(x: Scalar) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{}({})", x.dtype, element(x)))
}

/// Prints the number in a typed constant, or an element of an input's values.
pub fn element(x: Scalar) -> impl fmt::Display {
    fmt::from_fn(move |f| match x.dtype.kind() {
        Kind::Bool => write!(f, "{}", x.bits != 0),
        Kind::Signed => {
            let unused = 64 - 8 * x.dtype.size() as u32;
            write!(f, "{}", (x.bits << unused) as i64 >> unused)
        }
        Kind::Unsigned => write!(f, "{}", x.bits),
        Kind::Float if x.is_nan() => {
            let (quiet, sign) = nan(x.dtype);
            match x.bits {
                bits if bits == quiet => f.write_str("nan"),
                bits if bits == quiet | sign => f.write_str("-nan"),
                bits => write!(f, "nan({bits:#x})"),
            }
        }
        Kind::Float => match x.dtype {
            DType::Float64 => write!(f, "{:?}", f64::from_bits(x.bits)),
            DType::Float32 => narrow(f, format!("{:?}", f32::from_bits(x.bits as u32)), x),
            _ => narrow(f, format!("{:?}", f16::from_bits(x.bits as u16).to_f32()), x),
        },
    })
}

/// Prints a float that is parsed as a float64 and then rounded to its dtype: in decimal if that parses to the same
/// float, otherwise in hexadecimal, which parses exactly to a float64.
fn narrow(f: &mut fmt::Formatter<'_>, decimal: String, x: Scalar) -> fmt::Result {
    let read = decimal.parse().ok().and_then(|value| Literal::Float(value).to_dtype(x.dtype).ok());
    if read == Some(x) {
        return f.write_str(&decimal);
    }
    let value = match x.dtype {
        DType::Float32 => f64::from(f32::from_bits(x.bits as u32)),
        _ => f64::from(f16::from_bits(x.bits as u16).to_f32()),
    };
    // The value of a narrower float is a normal float64.
    let (sign, bits) = (if value.is_sign_negative() { "-" } else { "" }, value.to_bits());
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64 - 1023, bits & ((1 << 52) - 1));
    write!(f, "{sign}0x1.{fraction:013x}p{exponent}")
}

/// Prints the int64 numbers from 0 to `len`, exclusive.
pub fn index(len: usize) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{ARANGE}({len})"))
}

/// Prints a literal without a dtype.
pub fn literal(x: Literal) -> impl fmt::Display {
    fmt::from_fn(move |f| match x {
        Literal::Float(x) => write!(f, "{}", element(Scalar::of(x))),
        other => write!(f, "{other}"),
    })
}

/// Prints a literal as an operand, in parentheses if it has a sign.
pub fn operand(x: Literal) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        let text = literal(x).to_string();
        if text.starts_with('-') { write!(f, "({text})") } else { f.write_str(&text) }
    })
}

/// Prints a type: `float32[3,4]`.
pub fn ty(dtype: DType, extents: &[usize]) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        write!(f, "{dtype}[")?;
        for (i, extent) in extents.iter().enumerate() {
            write!(f, "{}{extent}", if i == 0 { "" } else { "," })?;
        }
        f.write_char(']')
    })
}

fn commas(
    f: &mut fmt::Formatter<'_>,
    open: char,
    items: impl Iterator<Item = impl fmt::Display>,
    close: char,
) -> fmt::Result {
    f.write_char(open)?;
    for (i, item) in items.enumerate() {
        write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
    }
    f.write_char(close)
}

/// Prints a function of operands: as an operator, if the function has one and an operand is not a literal.
///
/// ```
/// use broadloom_core::Op;
/// use broadloom_core::text::print::apply;
///
/// assert_eq!(apply(Op::Add, &["x", "float32(1.0)"]).to_string(), "x + float32(1.0)");
/// assert_eq!(apply(Op::Sqrt, &["x"]).to_string(), "sqrt(x)");
/// assert_eq!(apply(Op::Negative, &["3"]).to_string(), "negative(3)");
/// ```
pub fn apply(op: Op, operands: &[impl AsRef<str>]) -> impl fmt::Display {
    apply_at(op, Accuracy::Fast, operands)
}

/// Prints the application of a function with an accuracy: `nearest_sin(x)`. The text does not parse, since the language
/// has no such names: only rewriting makes a function more accurate.
pub fn apply_at(op: Op, accuracy: Accuracy, operands: &[impl AsRef<str>]) -> impl fmt::Display {
    fmt::from_fn(move |f| match (op.arity(), symbol(op), operands) {
        (Arity::Binary, Some(symbol), [left, right]) => {
            write!(f, "{} {symbol} {}", left.as_ref(), right.as_ref())
        }
        // A sign before a number would be parsed as part of the number.
        (Arity::Unary, Some(symbol), [x]) if !is_literal(x.as_ref()) => write!(f, "{symbol}{}", x.as_ref()),
        _ => {
            f.write_str(op.name_at(accuracy))?;
            // Arguments need no parentheses around a literal's sign, as operands of operators do.
            let plain = operands.iter().map(|x| match x.as_ref().strip_prefix('(') {
                Some(inner) => inner.trim_end_matches(')'),
                None => x.as_ref(),
            });
            commas(f, '(', plain, ')')
        }
    })
}

/// Whether an operand is a literal without a dtype.
fn is_literal(x: &str) -> bool {
    x.starts_with(|c: char| c.is_ascii_digit() || c == '(' || c == '.')
        || matches!(x, "inf" | "nan" | "true" | "false")
        || x.starts_with("nan(")
}

/// Prints a call of a host function: `f(x, y)`.
pub fn call(name: &str, operands: &[impl AsRef<str>]) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        f.write_str(name)?;
        commas(f, '(', operands.iter().map(AsRef::as_ref), ')')
    })
}

/// Prints a conversion: `astype(x, float32)`.
pub fn cast(x: &str, dtype: DType) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{}({x}, {dtype})", super::ASTYPE))
}

/// Prints a change of shape: `x[::-1]`, `reshape(x, [2, 3])`.
pub fn view(x: &str, view: &View) -> impl fmt::Display {
    fmt::from_fn(move |f| match view {
        View::BroadcastTo(shape) => function(f, "broadcast_to", x, shape.iter()),
        View::Reshape(shape) => function(f, "reshape", x, shape.iter()),
        View::Permute(axes) => function(f, "permute_dims", x, axes.iter()),
        View::Windows { axis, length, .. } => write!(f, "sliding_window({x}, {length}, {axis})"),
        View::Slice(slices) if slices.is_empty() => write!(f, "{x}[...]"),
        View::Slice(slices) => {
            f.write_str(x)?;
            commas(f, '[', slices.iter().map(slice), ']')
        }
    })
}

/// A view that depends on extents: `x[1:]`, `expand_dims(x, -1)`.
pub fn dynamic_view(x: &str, view: &DynamicView) -> impl fmt::Display {
    fmt::from_fn(move |f| match view {
        DynamicView::Index { indices, has_rest } => {
            f.write_str(x)?;
            let rest = Some(Item::Rest).filter(|_| *has_rest);
            let items = indices.iter().map(|&indices| Item::Of(indices));
            commas(f, '[', rest.into_iter().chain(items), ']')
        }
        DynamicView::NewAxis(behind) => write!(f, "expand_dims({x}, {})", -1 - isize::from(*behind)),
    })
}

/// Formats the padding of `x` to the extent of `like`.
pub fn padding(x: &str, like: &str, padding: &Padding) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        let Padding { behind, start, stop, step } = padding;
        write!(f, "{PAD_LIKE}({x}, {like}, axis={}", -1 - isize::from(*behind))?;
        start.map_or(Ok(()), |start| write!(f, ", start={start}"))?;
        stop.map_or(Ok(()), |stop| write!(f, ", stop={stop}"))?;
        if *step == 1 { f.write_char(')') } else { write!(f, ", step={step})") }
    })
}

fn function(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    x: &str,
    list: impl Iterator<Item = impl fmt::Display>,
) -> fmt::Result {
    write!(f, "{name}({x}, ")?;
    commas(f, '[', list, ']')?;
    f.write_char(')')
}

/// The range of indices that selects the slice.
fn slice(s: &Slice) -> Indices {
    let Slice { start, step, len } = *s;
    let step = if step == 0 || len < 2 { 1 } else { step };
    if len == 0 {
        return Indices::Range { start: Some(0), stop: Some(0), step: 1 };
    }
    let last = start as isize + (len as isize - 1) * step;
    // A stop of −1 would count from the end, so a range down to index 0 has no stop.
    let stop = Some(last + step.signum()).filter(|&stop| stop >= 0);
    Indices::Range { start: Some(start as isize), stop, step }
}

/// Formats an index as it is written in brackets.
impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Rest => f.write_str("..."),
            Item::Computed => f.write_str("_"),
            Item::Of(indices) => indices.fmt(f),
        }
    }
}
