//! Converts between the bits of an integer dtype and mathematical integers in `i128`, which has the range of every dtype.

use crate::value::Int;

/// The integer that the bits represent.
pub(super) fn decode(raw: u64, int: Int) -> i128 {
    let x = i128::from(raw);
    if int.signed && x >= 1 << (int.bits - 1) { x - (1 << int.bits) } else { x }
}

/// The bits of the integer of the dtype that is congruent to `x` modulo 2^width.
pub(super) fn encode(x: i128, int: Int) -> u64 {
    x.rem_euclid(1 << int.bits) as u64
}

/// The minimum and the maximum integer of the dtype.
pub(super) fn range(int: Int) -> (i128, i128) {
    match int.signed {
        true => (-(1 << (int.bits - 1)), (1 << (int.bits - 1)) - 1),
        false => (0, (1 << int.bits) - 1),
    }
}
