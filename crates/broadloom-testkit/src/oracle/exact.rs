//! Floating-point numbers as exact integers: a number is ± magnitude × 2^exponent, and it is rounded once, to nearest with ties
//! to even, in `ExactReal::encode`.
//!
//! A number passed to `encode` is either exact, or at least seven bits wider than any format with a sticky lowest bit (set if
//! nonzero bits were cut off below), so that ties are recognised.

use std::cmp::Ordering;

use crate::value::Format;

/// A decoded float. Zeros are finite and keep their sign. Of a NaN only the sign is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExactReal {
    Nan { negative: bool },
    Infinite { negative: bool },
    Finite(Dyadic),
}

/// ± magnitude × 2^exponent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dyadic {
    pub negative: bool,
    pub magnitude: u128,
    pub exponent: i32,
}

/// The rounding direction for a number between two integers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Toward {
    Negative,
    Positive,
    Zero,
    NearestEven,
}

impl Format {
    /// The exponent of the smallest subnormal. Every finite number of the format is an integer multiple of 2 to this power.
    pub fn quantum(self) -> i32 {
        1 - self.emax - self.fraction_bits() as i32
    }

    /// The number of stored significand bits, without the hidden bit.
    pub fn fraction_bits(self) -> u32 {
        self.precision - 1
    }

    pub fn sign_bit(self) -> u32 {
        self.fraction_bits() + self.exponent_field(u64::MAX).count_ones()
    }

    /// The biased exponent in `raw`. `2 * emax + 1` is a mask of the exponent's bits, since `emax` is 2^(w−1) − 1.
    fn exponent_field(self, raw: u64) -> u64 {
        (raw >> self.fraction_bits()) & (2 * self.emax as u64 + 1)
    }
}

impl ExactReal {
    pub fn decode(raw: u64, format: Format) -> ExactReal {
        let negative = (raw >> format.sign_bit()) & 1 == 1;
        let hidden = 1u128 << format.fraction_bits();
        let fraction = u128::from(raw) & (hidden - 1);
        match format.exponent_field(raw) {
            0 => ExactReal::finite(negative, fraction, format.quantum()),
            e if e == format.exponent_field(u64::MAX) && fraction == 0 => ExactReal::Infinite { negative },
            e if e == format.exponent_field(u64::MAX) => ExactReal::Nan { negative },
            e => ExactReal::finite(negative, hidden | fraction, format.quantum() + (e as i32 - 1)),
        }
    }

    /// Rounds to the format. Subnormals are supported. A magnitude that rounds beyond the largest finite number becomes infinite.
    /// A NaN becomes the quiet one with the same sign and no payload.
    pub fn encode(self, format: Format) -> u64 {
        let infinity = format.exponent_field(u64::MAX) << format.fraction_bits();
        let unsigned = match self {
            ExactReal::Nan { .. } => infinity | (1 << (format.fraction_bits() - 1)),
            ExactReal::Infinite { .. } => infinity,
            ExactReal::Finite(Dyadic { magnitude: 0, .. }) => 0,
            ExactReal::Finite(x) => {
                let bit_length = 128 - x.magnitude.leading_zeros() as i32;
                let quantum = (bit_length + x.exponent - format.precision as i32).max(format.quantum());
                let steps = x.in_steps_of(quantum);
                // Multiples of the smallest quantum are their own encoding. A quantum twice as large adds one to the exponent
                // field; the hidden bit adds another one. The same sum handles a carry out of the significand.
                let binade = (quantum - format.quantum()) as u64;
                if binade > 2 * format.emax as u64 {
                    infinity
                } else {
                    ((binade << format.fraction_bits()) + steps).min(infinity)
                }
            }
        };
        unsigned | u64::from(self.is_negative()) << format.sign_bit()
    }

    /// The number after rounding to the format.
    pub fn rounded(self, format: Format) -> ExactReal {
        ExactReal::decode(self.encode(format), format)
    }

    pub fn finite(negative: bool, magnitude: u128, exponent: i32) -> ExactReal {
        ExactReal::Finite(Dyadic { negative, magnitude, exponent })
    }

    pub fn zero(negative: bool) -> ExactReal {
        ExactReal::finite(negative, 0, 0)
    }

    pub fn one(negative: bool) -> ExactReal {
        ExactReal::finite(negative, 1, 0)
    }

    /// The sign bit, also for NaN.
    pub fn is_negative(self) -> bool {
        match self {
            ExactReal::Nan { negative } | ExactReal::Infinite { negative } => negative,
            ExactReal::Finite(x) => x.negative,
        }
    }

    pub fn is_zero(self) -> bool {
        matches!(self, ExactReal::Finite(Dyadic { magnitude: 0, .. }))
    }

    pub fn with_sign(self, negative: bool) -> ExactReal {
        match self {
            ExactReal::Nan { .. } => ExactReal::Nan { negative },
            ExactReal::Infinite { .. } => ExactReal::Infinite { negative },
            ExactReal::Finite(x) => ExactReal::Finite(Dyadic { negative, ..x }),
        }
    }

    /// Whether the number equals an integer.
    pub fn is(self, integer: i64) -> bool {
        let exact = ExactReal::finite(integer < 0, integer.unsigned_abs().into(), 0);
        self.compare(exact) == Some(Ordering::Equal)
    }

    /// Compares two numbers, with zeros equal. `None` if either is NaN.
    pub fn compare(self, other: ExactReal) -> Option<Ordering> {
        let rank = |x: ExactReal| match x {
            ExactReal::Infinite { negative: true } => -2,
            ExactReal::Infinite { negative: false } => 2,
            _ if x.is_zero() => 0,
            _ if x.is_negative() => -1,
            _ => 1,
        };
        match (self, other) {
            (ExactReal::Nan { .. }, _) | (_, ExactReal::Nan { .. }) => None,
            (ExactReal::Finite(x), ExactReal::Finite(y)) if rank(self) == rank(other) => {
                let magnitudes = x.compare_magnitude(y);
                Some(if x.negative { magnitudes.reverse() } else { magnitudes })
            }
            _ => Some(rank(self).cmp(&rank(other))),
        }
    }
}

impl Dyadic {
    /// An equal number whose magnitude has 120 bits (0 stays 0), with room for sums and long quotients.
    fn widened(self) -> Dyadic {
        if self.magnitude == 0 {
            return self;
        }
        let shift = self.magnitude.leading_zeros() - 8;
        Dyadic { magnitude: self.magnitude << shift, exponent: self.exponent - shift as i32, ..self }
    }

    pub fn compare_magnitude(self, other: Dyadic) -> Ordering {
        let key = |x: Dyadic| {
            let wide = x.widened();
            (wide.magnitude != 0, if wide.magnitude == 0 { 0 } else { wide.exponent }, wide.magnitude)
        };
        key(self).cmp(&key(other))
    }

    /// Magnitude / 2^(quantum − exponent), rounded to nearest with ties to even.
    fn in_steps_of(self, quantum: i32) -> u64 {
        if quantum <= self.exponent {
            return (self.magnitude << (self.exponent - quantum)) as u64;
        }
        self.at_exponent(quantum, Toward::NearestEven) as u64
    }

    /// The magnitude in units of 2^exponent, rounded. `exponent` must not be below the number's own.
    fn at_exponent(self, exponent: i32, toward: Toward) -> u128 {
        let shift = (exponent - self.exponent) as u32;
        let whole = self.magnitude.checked_shr(shift).unwrap_or(0);
        let rest = self.magnitude - whole.checked_shl(shift).unwrap_or(0);
        // For a shift by more than 128 bits, even the largest magnitude is less than half a unit.
        let half = if shift == 0 { 0 } else { 1u128.checked_shl(shift - 1).unwrap_or(u128::MAX) };
        let up = match toward {
            Toward::Negative => self.negative && rest != 0,
            Toward::Positive => !self.negative && rest != 0,
            Toward::Zero => false,
            Toward::NearestEven => rest > half || (rest == half && rest != 0 && whole % 2 == 1),
        };
        whole + u128::from(up)
    }

    /// Rounds to an integer in a direction. A zero result keeps the sign.
    pub fn integral(self, toward: Toward) -> Dyadic {
        if self.exponent >= 0 {
            return self;
        }
        Dyadic { magnitude: self.at_exponent(0, toward), exponent: 0, ..self }
    }

    /// The sum. Exact cancellation gives +0, and so do two zeros unless both are negative.
    pub fn add(self, other: Dyadic) -> Dyadic {
        let (large, small) = match self.compare_magnitude(other) {
            Ordering::Less => (other.widened(), self),
            _ => (self.widened(), other),
        };
        if large.magnitude == 0 {
            return Dyadic { negative: self.negative && other.negative, ..self };
        }
        let addend = if small.magnitude == 0 {
            0
        } else if small.exponent >= large.exponent {
            small.magnitude << (small.exponent - large.exponent)
        } else {
            let shift = (large.exponent - small.exponent) as u32;
            let kept = small.magnitude.checked_shr(shift).unwrap_or(0);
            let lost = kept.checked_shl(shift).unwrap_or(0) != small.magnitude;
            kept | u128::from(lost)
        };
        let magnitude = if large.negative == small.negative {
            large.magnitude + addend
        } else {
            large.magnitude - addend
        };
        Dyadic { negative: large.negative && magnitude != 0, magnitude, ..large }
    }

    /// The product, which is exact for factors of at most 64 bits.
    pub fn multiply(self, other: Dyadic) -> Dyadic {
        Dyadic {
            negative: self.negative != other.negative,
            magnitude: self.magnitude * other.magnitude,
            exponent: self.exponent + other.exponent,
        }
    }

    /// The quotient by a nonzero number of at most 53 bits, with at least 67 bits and a sticky bit.
    pub fn divide(self, other: Dyadic) -> Dyadic {
        let dividend = self.widened();
        let (quotient, rest) = (dividend.magnitude / other.magnitude, dividend.magnitude % other.magnitude);
        Dyadic {
            negative: self.negative != other.negative,
            magnitude: quotient << 1 | u128::from(rest != 0),
            exponent: dividend.exponent - other.exponent - 1,
        }
    }

    /// The square root of a positive number, with at least 60 bits and a sticky bit.
    pub fn square_root(self) -> Dyadic {
        let wide = self.widened();
        let odd = wide.exponent & 1;
        let radicand = wide.magnitude << odd;
        let root = radicand.isqrt();
        Dyadic {
            negative: false,
            magnitude: root << 1 | u128::from(root * root != radicand),
            exponent: (wide.exponent - odd) / 2 - 1,
        }
    }

    /// The remainder of the truncated division by `other`, which must not be 0: exact, with the sign of `self`.
    pub fn truncated_remainder(self, other: Dyadic) -> Dyadic {
        if self.compare_magnitude(other) == Ordering::Less {
            return self;
        }
        if self.exponent < other.exponent {
            // In units of 2^self.exponent, `other` still fits in the integer, since it is not larger than
            // `self`.
            let divisor = other.magnitude << (other.exponent - self.exponent);
            return Dyadic { magnitude: self.magnitude % divisor, ..self };
        }
        let mut rest = self.magnitude % other.magnitude;
        for _ in other.exponent..self.exponent {
            rest = rest * 2 % other.magnitude;
        }
        Dyadic { magnitude: rest, exponent: other.exponent, ..self }
    }
}
