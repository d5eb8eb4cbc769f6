//! The functions of floats, each as the Array API standard's special cases with the general case last.
//!
//! The order of the match arms follows the precedence of the standard's cases, NaN first. A result is exact, or wide enough for
//! the caller to round it once. Functions that copy a NaN are computed on its [bits](moved).

use std::cmp::Ordering;

use super::exact::{ExactReal, Toward};
use super::outcome::NumericResult;
use super::transcendental;
use crate::value::Format;
use ExactReal::{Finite, Infinite, Nan};

const NAN: ExactReal = Nan { negative: false };

/// The bits of the result if the function copies the NaN in its first argument; abs, negative and copysign also set the sign.
pub(super) fn moved(function: &str, args: &[u64], format: Format) -> Option<u64> {
    let sign = 1 << format.sign_bit();
    let bits = match (function, args) {
        ("abs", &[x]) => x & !sign,
        ("negative", &[x]) => x ^ sign,
        ("positive", &[x]) => x,
        ("copysign", &[x, y]) => x & !sign | y & sign,
        _ => return None,
    };
    matches!(ExactReal::decode(args[0], format), Nan { .. }).then_some(bits)
}

pub(super) fn apply(function: &str, args: &[ExactReal], format: Format) -> Option<NumericResult> {
    let number = match (function, args) {
        ("abs", &[x]) => x.with_sign(false),
        ("negative", &[x]) => x.with_sign(!x.is_negative()),
        ("positive", &[x]) => x,
        ("copysign", &[x, y]) => x.with_sign(y.is_negative()),
        ("sign", &[x]) => sign(x),
        ("ceil", &[x]) => integral(x, Toward::Positive),
        ("floor", &[x]) => integral(x, Toward::Negative),
        ("round", &[x]) => integral(x, Toward::NearestEven),
        ("trunc", &[x]) => integral(x, Toward::Zero),
        ("sqrt", &[x]) => square_root(x),
        ("square", &[x]) => multiply(x, x),
        ("reciprocal", &[x]) => divide(ExactReal::one(false), x),
        ("add", &[x, y]) => add(x, y),
        ("subtract", &[x, y]) => add(x, y.with_sign(!y.is_negative())),
        ("multiply", &[x, y]) => multiply(x, y),
        ("fma", &[x, y, z]) => add(multiply(x, y), z),
        ("divide", &[x, y]) => divide(x, y),
        // floor_divide is defined as the floor of the rounded quotient, not of the exact one.
        ("floor_divide", &[x, y]) => integral(divide(x, y).rounded(format), Toward::Negative),
        ("remainder", &[x, y]) => remainder(x, y),
        ("maximum", &[x, y]) => extreme(x, y, Ordering::Greater),
        ("minimum", &[x, y]) => extreme(x, y, Ordering::Less),
        ("clip", &[x, low, high]) => extreme(extreme(x, low, Ordering::Greater), high, Ordering::Less),
        ("nextafter", &[x, y]) => nextafter(x, y, format),
        // These powers are exact by definition, so they are rounded only once.
        ("pow", &[x, y]) if y.is(1) => x,
        ("pow", &[x, y]) if y.is(2) => multiply(x, x),
        ("pow", &[x, y]) if y.is(-1) => divide(ExactReal::one(false), x),
        _ => match predicate(function, args) {
            Some(truth) => return Some(NumericResult::Truth(truth)),
            None => transcendental::apply(function, args)?,
        },
    };
    Some(NumericResult::ExactReal(number))
}

fn predicate(function: &str, args: &[ExactReal]) -> Option<bool> {
    Some(match (function, args) {
        ("isnan", &[x]) => matches!(x, Nan { .. }),
        ("isinf", &[x]) => matches!(x, Infinite { .. }),
        ("isfinite", &[x]) => matches!(x, Finite(_)),
        ("signbit", &[x]) => x.is_negative(),
        ("equal", &[x, y]) => x.compare(y) == Some(Ordering::Equal),
        ("not_equal", &[x, y]) => x.compare(y) != Some(Ordering::Equal),
        ("less", &[x, y]) => x.compare(y) == Some(Ordering::Less),
        ("less_equal", &[x, y]) => matches!(x.compare(y), Some(Ordering::Less | Ordering::Equal)),
        ("greater", &[x, y]) => x.compare(y) == Some(Ordering::Greater),
        ("greater_equal", &[x, y]) => matches!(x.compare(y), Some(Ordering::Greater | Ordering::Equal)),
        _ => return None,
    })
}

fn sign(x: ExactReal) -> ExactReal {
    match x {
        Nan { .. } => NAN,
        _ if x.is_zero() => ExactReal::zero(false),
        _ => ExactReal::one(x.is_negative()),
    }
}

fn integral(x: ExactReal, toward: Toward) -> ExactReal {
    match x {
        Finite(x) => Finite(x.integral(toward)),
        Nan { .. } | Infinite { .. } => x,
    }
}

fn square_root(x: ExactReal) -> ExactReal {
    match x {
        Nan { .. } => NAN,
        _ if x.is_zero() => x,
        _ if x.is_negative() => NAN,
        Infinite { .. } => x,
        Finite(x) => Finite(x.square_root()),
    }
}

fn add(x: ExactReal, y: ExactReal) -> ExactReal {
    match (x, y) {
        (Nan { .. }, _) | (_, Nan { .. }) => NAN,
        (Infinite { negative: a }, Infinite { negative: b }) if a != b => NAN,
        (Infinite { .. }, _) => x,
        (_, Infinite { .. }) => y,
        (Finite(x), Finite(y)) => Finite(x.add(y)),
    }
}

fn multiply(x: ExactReal, y: ExactReal) -> ExactReal {
    let negative = x.is_negative() != y.is_negative();
    match (x, y) {
        (Nan { .. }, _) | (_, Nan { .. }) => NAN,
        (Infinite { .. }, _) if y.is_zero() => NAN,
        (_, Infinite { .. }) if x.is_zero() => NAN,
        (Infinite { .. }, _) | (_, Infinite { .. }) => Infinite { negative },
        (Finite(x), Finite(y)) => Finite(x.multiply(y)),
    }
}

fn divide(x: ExactReal, y: ExactReal) -> ExactReal {
    let negative = x.is_negative() != y.is_negative();
    match (x, y) {
        (Nan { .. }, _) | (_, Nan { .. }) => NAN,
        (Infinite { .. }, Infinite { .. }) => NAN,
        _ if x.is_zero() && y.is_zero() => NAN,
        (Infinite { .. }, _) => Infinite { negative },
        (_, Infinite { .. }) => ExactReal::zero(negative),
        _ if y.is_zero() => Infinite { negative },
        (Finite(x), Finite(y)) => Finite(x.divide(y)),
    }
}

/// Python's `%`: the result has the sign of `y`, even for zeros and infinite divisors.
fn remainder(x: ExactReal, y: ExactReal) -> ExactReal {
    match (x, y) {
        (Nan { .. }, _) | (_, Nan { .. }) | (Infinite { .. }, _) => NAN,
        _ if y.is_zero() => NAN,
        _ if x.is_zero() => ExactReal::zero(y.is_negative()),
        (Finite(_), Infinite { negative }) => {
            if x.is_negative() == negative {
                x
            } else {
                y
            }
        }
        (Finite(x), Finite(y)) => match x.truncated_remainder(y) {
            rest if rest.magnitude == 0 => ExactReal::zero(y.negative),
            rest if rest.negative != y.negative => Finite(rest.add(y)),
            rest => Finite(rest),
        },
    }
}

/// The maximum or minimum: the operand whose comparison with the other operand has the result `wanted`. NaN takes precedence,
/// and +0 is greater than −0.
fn extreme(x: ExactReal, y: ExactReal, wanted: Ordering) -> ExactReal {
    match x.compare(y) {
        None => NAN,
        Some(Ordering::Equal) => {
            let negative = match wanted {
                Ordering::Less => x.is_negative() || y.is_negative(),
                _ => x.is_negative() && y.is_negative(),
            };
            x.with_sign(negative)
        }
        Some(order) => {
            if order == wanted {
                x
            } else {
                y
            }
        }
    }
}

/// The next number of the format from `x` towards `y`, by arithmetic on the significand; `y` if they are equal.
fn nextafter(x: ExactReal, y: ExactReal, format: Format) -> ExactReal {
    let outward = match x.compare(y) {
        None => return NAN,
        Some(Ordering::Equal) => return y,
        Some(order) => (order == Ordering::Less) != x.is_negative(),
    };
    let largest = (1 << format.precision) - 1;
    match x {
        Nan { .. } => NAN,
        Infinite { negative } => {
            ExactReal::finite(negative, largest, format.emax - format.fraction_bits() as i32)
        }
        Finite(_) if x.is_zero() => ExactReal::finite(y.is_negative(), 1, format.quantum()),
        Finite(x) if outward => ExactReal::finite(x.negative, x.magnitude + 1, x.exponent),
        // Below a power of two, the distance between numbers is halved, except below the smallest normal number, where the
        // subnormals begin.
        Finite(x) if x.magnitude == 1 << format.fraction_bits() && x.exponent > format.quantum() => {
            ExactReal::finite(x.negative, largest, x.exponent - 1)
        }
        Finite(x) => ExactReal::finite(x.negative, x.magnitude - 1, x.exponent),
    }
}
