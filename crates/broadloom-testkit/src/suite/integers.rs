//! Tests integer operations that executors compute by other methods than the scalar instance.
//!
//! Operands are chosen for which these methods could fail: quotients close to integers, shift counts around the width, and
//! integers next to the midpoint of two floats.

use broadloom_core::kernel::Code;
use broadloom_core::{DType, Kind, Op, Scalar};

use super::{Subject, check};
use crate::one_of;

/// A generator of random bits, of which the high ones are better distributed.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 32
    }

    /// A number of any magnitude and sign, with few or many bits set.
    fn number(&mut self) -> u64 {
        let size = self.next() >> (self.next() % 64);
        let x = if self.next().is_multiple_of(4) { 1 << (size % 64) } else { size };
        if self.next().is_multiple_of(2) { x.wrapping_neg() } else { x }
    }
}

fn integers() -> impl Iterator<Item = DType> {
    DType::ALL.iter().copied().filter(|d| matches!(d.kind(), Kind::Signed | Kind::Unsigned))
}

fn scalar(dtype: DType, x: u64) -> Scalar {
    Scalar { dtype, bits: x & u64::MAX >> (64 - 8 * dtype.size()) }
}

/// Tests quotients and remainders whose exact quotient is an integer or close to one, with varying and with uniform divisors.
///
/// # Panics
/// If a bit differs from the scalar instance.
pub fn quotients_next_to_integers(subject: Subject<'_>) {
    let mut bits = Bits(1);
    for (dtype, op) in
        integers().flat_map(|d| [Op::FloorDivide, Op::Remainder, Op::TruncDivide].map(|op| (d, op)))
    {
        let near = |bits: &mut Bits, divisor: u64| {
            let multiple = bits.number().wrapping_mul(divisor);
            scalar(dtype, multiple.wrapping_add(bits.next() % 3).wrapping_sub(1))
        };
        let code = Code::apply(op, dtype);
        let divisors: Vec<u64> = (0..20_000).map(|_| bits.number()).collect();
        let x = divisors.iter().map(|&d| near(&mut bits, d)).collect();
        check(subject, code, &[x, divisors.iter().map(|&d| scalar(dtype, d)).collect()], &[false; 2]);
        for i in (0..130).step_by(one_of(5)) {
            let divisor = if i < 100 { i } else { bits.number() };
            let x: Vec<Scalar> = (0..67).map(|_| near(&mut bits, divisor)).collect();
            let divisor = vec![scalar(dtype, divisor); x.len()];
            check(subject, code, &[x, divisor], &[false, true]);
        }
    }
}

/// Tests shifts by every count, from negative ones to counts beyond the width.
///
/// # Panics
/// If a bit differs from the scalar instance.
pub fn shifts_by_every_count(subject: Subject<'_>) {
    let mut bits = Bits(2);
    for (dtype, op) in
        integers().flat_map(|d| [Op::BitwiseLeftShift, Op::BitwiseRightShift].map(|op| (d, op)))
    {
        let counts: Vec<Scalar> = (0..3000u64).map(|i| scalar(dtype, (i % 70).wrapping_sub(3))).collect();
        let x = counts.iter().map(|_| scalar(dtype, bits.next())).collect();
        check(subject, Code::apply(op, dtype), &[x, counts], &[false; 2]);
    }
}

/// Tests conversions of integers at and next to the midpoint of two floats, and of floats next to integers.
///
/// # Panics
/// If a bit differs from the scalar instance.
pub fn conversions_next_to_the_middle(subject: Subject<'_>) {
    let mut bits = Bits(3);
    for dtype in integers() {
        let x: Vec<Scalar> = (0..20_000)
            .map(|_| {
                let digits = if bits.next().is_multiple_of(2) { 25 } else { 54 };
                let top = (bits.next() >> (64 - digits) | 1) << (bits.next() % (65 - digits));
                let x = top.wrapping_add(bits.next() % 3).wrapping_sub(1);
                scalar(dtype, if bits.next().is_multiple_of(2) { x } else { x.wrapping_neg() })
            })
            .collect();
        for to in [DType::Float16, DType::Float32, DType::Float64] {
            check(subject, Code::Cast(dtype, to), std::slice::from_ref(&x), &[false]);
        }
        let floats: Vec<f64> = (0..20_000)
            .map(|_| (bits.number() as i64 as f64) * [0.5, 1.0, 2.0, 4.0][bits.next() as usize % 4])
            .collect();
        let wide = floats.iter().map(|x| Scalar { dtype: DType::Float64, bits: x.to_bits() }).collect();
        check(subject, Code::Cast(DType::Float64, dtype), &[wide], &[false]);
        let narrow = |x: &f64| Scalar { dtype: DType::Float32, bits: (*x as f32).to_bits().into() };
        check(subject, Code::Cast(DType::Float32, dtype), &[floats.iter().map(narrow).collect()], &[false]);
    }
}
