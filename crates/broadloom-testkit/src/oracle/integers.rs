//! The functions of integers, computed in `i128` and wrapped once at the end.
//!
//! Every function is defined for all values: a division or remainder by zero is 0, and a shift by a negative number of bits, or
//! by the width or more, shifts all bits out. Results are correct modulo 2^128, which suffices for wrapping to any dtype.

use super::outcome::NumericResult;
use super::philox;
use crate::value::Int;

pub(super) fn apply(function: &str, args: &[i128], int: Int) -> Option<NumericResult> {
    let number = match (function, args) {
        ("abs", &[x]) => x.abs(),
        ("negative", &[x]) => -x,
        ("positive" | "ceil" | "floor" | "round" | "trunc", &[x]) => x,
        ("sign", &[x]) => x.signum(),
        // The product of two uint64 may exceed 2^127, but its low 128 bits are correct.
        ("square", &[x]) => x.wrapping_mul(x),
        ("multiply", &[x, y]) => x.wrapping_mul(y),
        ("add", &[x, y]) => x + y,
        ("subtract", &[x, y]) => x - y,
        ("floor_divide", &[x, y]) => floor_divide(x, y),
        ("remainder", &[_, 0]) => 0,
        ("remainder", &[x, y]) => x - y * floor_divide(x, y),
        ("trunc_divide", &[x, y]) => trunc_divide(x, y),
        ("pow", &[x, y]) => power(x, y),
        ("maximum", &[x, y]) => x.max(y),
        ("minimum", &[x, y]) => x.min(y),
        ("clip", &[x, low, high]) => x.max(low).min(high),
        ("philox_low", &[key, upper, block]) => philox::words(key, upper, block)[0].into(),
        ("philox_high", &[key, upper, block]) => philox::words(key, upper, block)[1].into(),
        ("bitwise_and", &[x, y]) => x & y,
        ("bitwise_or", &[x, y]) => x | y,
        ("bitwise_xor", &[x, y]) => x ^ y,
        ("bitwise_invert", &[x]) => -x - 1,
        ("bitwise_left_shift", &[x, y]) => power_of_two(y, int).map_or(0, |power| x.wrapping_mul(power)),
        ("bitwise_right_shift", &[x, y]) => match power_of_two(y, int) {
            Some(power) => floor_divide(x, power),
            None => floor_divide(x, 1 << int.bits),
        },
        _ => return predicate(function, args).map(NumericResult::Truth),
    };
    Some(NumericResult::Integer(number))
}

fn predicate(function: &str, args: &[i128]) -> Option<bool> {
    Some(match (function, args) {
        ("equal", &[x, y]) => x == y,
        ("not_equal", &[x, y]) => x != y,
        ("less", &[x, y]) => x < y,
        ("less_equal", &[x, y]) => x <= y,
        ("greater", &[x, y]) => x > y,
        ("greater_equal", &[x, y]) => x >= y,
        ("isfinite", &[_]) => true,
        ("isinf" | "isnan", &[_]) => false,
        _ => return None,
    })
}

/// 2^count, if `count` is within the width of the dtype.
fn power_of_two(count: i128, int: Int) -> Option<i128> {
    (0..i128::from(int.bits)).contains(&count).then(|| 1 << count)
}

/// The largest integer not above x / y.
fn floor_divide(x: i128, y: i128) -> i128 {
    if y == 0 {
        return 0;
    }
    // The Euclidean quotient leaves a remainder in 0..|y|, so it differs from the floor only if the divisor is negative.
    let euclid = x.div_euclid(y);
    if y < 0 && x.rem_euclid(y) != 0 { euclid - 1 } else { euclid }
}

/// x / y truncated towards zero.
fn trunc_divide(x: i128, y: i128) -> i128 {
    if y == 0 {
        return 0;
    }
    (x.abs() / y.abs()) * x.signum() * y.signum()
}

/// x to the power of y, modulo 2^128. For negative y, the truncated result, and 0 if the result would be infinite.
fn power(x: i128, y: i128) -> i128 {
    match (x, y) {
        (1, _) => 1,
        (-1, y) => 1 - 2 * y.rem_euclid(2),
        (_, ..=-1) => 0,
        // Binary exponentiation, from the most significant bit of the exponent.
        _ => (0..128 - y.leading_zeros()).rev().fold(1i128, |power, digit| {
            let square = power.wrapping_mul(power);
            if y >> digit & 1 == 1 { square.wrapping_mul(x) } else { square }
        }),
    }
}
