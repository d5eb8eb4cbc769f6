//! Compares quotients by a divisor that many dividends share with the language's own division: for all pairs of bytes, for
//! every divisor of 16 bits, and for those pairs of wider integers whose quotients are next to integers.

use broadloom_math::{Int, UniformDivisor, reciprocal};

/// The quotients by definition: rounded toward zero, and rounded down.
fn defined(a: i128, b: i128) -> [i128; 2] {
    if b == 0 {
        return [0, 0];
    }
    [a / b, a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)]
}

fn check<T: Int + std::fmt::Debug>(a: i128, b: i128) {
    let (x, y) = (T::wrap(a), T::wrap(b));
    let o = &mut UniformDivisor;
    let wants = defined(x.wide(), y.wide()).map(T::wrap);
    for short in [false, true].into_iter().filter(|&short| !short || reciprocal::is_short(y)) {
        let quotient = reciprocal::quotient::<_, T>(o, x, y, short);
        let got = [quotient, reciprocal::floor_quotient::<_, T>(o, x, y, short)];
        assert!(got == wants, "{x:?} by {y:?}, short {short}: {got:?}, not {wants:?}");
    }
}

#[test]
fn floors_are_floors() {
    for (a, b, q) in
        [(7, 2, 3), (-7, 2, -4), (7, -2, -4), (-7, -2, 3), (6, -3, -2), (-6, -3, 2), (0, -5, 0), (5, 0, 0)]
    {
        assert_eq!(defined(a, b)[1], q, "{a} by {b}");
    }
}

#[test]
fn every_pair_of_bytes() {
    for b in -128..256 {
        for a in -128..256 {
            check::<i8>(a, b);
            check::<u8>(a, b);
        }
    }
}

/// Dividends next to multiples of a divisor: the multiples nearest to 0, to the middle and both ends of the
/// range, and to some other numbers.
fn near_multiples(width: u32, b: i128) -> impl Iterator<Item = i128> {
    let (top, step) = ((1i128 << width) - 1, if b == 0 { 1 } else { b.abs() });
    let middle = top / 2;
    let around =
        [0, middle, top, middle / 3, top / 5 * 4, top - top / 7, middle + 1, -middle - 1, -middle / 3, -1];
    let multiples = around.into_iter().flat_map(move |x| (-2..=2).map(move |i| (x / step + i) * step));
    multiples.chain(around).flat_map(|x| (-1..=1).map(move |i| x + i))
}

/// Tests every divisor with dividends next to its multiples; in a release build also with every 7th dividend.
#[test]
fn every_divisor_of_16_bits() {
    for b in -32768..65536 {
        for a in near_multiples(16, b) {
            check::<u16>(a, b);
            check::<i16>(a, b);
        }
        if !cfg!(debug_assertions) && b % 16 == 3 {
            for a in (b.rem_euclid(7)..65536).step_by(7) {
                check::<u16>(a, b);
                check::<i16>(a, b);
            }
        }
    }
}

/// Divides every multiple of every divisor, and the numbers beside it. No other pair can be wrong: for
/// dividends of one sign, the quotient is computed from a product that does not decrease as the dividend's
/// magnitude grows.
#[test]
fn every_pair_of_16_bits() {
    for d in 1..=65536 {
        for n in (0..=65536).step_by(d as usize) {
            for a in [n - 1, n, n + 1] {
                check::<u16>(a, d);
                for (a, d) in [(a, d), (-a, d), (a, -d), (-a, -d)] {
                    check::<i16>(a, d);
                }
            }
        }
    }
}

/// For a 16-bit divisor whose reciprocal is not short, the algorithm for short reciprocals gives some wrong
/// quotient.
#[test]
fn only_short_reciprocals_are_called_short() {
    let o = &mut UniformDivisor;
    let mut wrong = |d: u16| (0..=u16::MAX).any(|n| reciprocal::quotient(o, n, d, true) != n / d);
    let long: Vec<u16> = (2..=u16::MAX).filter(|&d| !reciprocal::is_short(d)).collect();
    assert!((10_000..50_000).contains(&long.len()), "{} of them", long.len());
    assert!(long.iter().step_by(97).all(|&d| wrong(d)));
    assert!([2, 3, 5, 10, 15, 60, 255, 256, 32768].into_iter().all(reciprocal::is_short::<u16>));
    assert!([0, 1, 7, 21, 100, 1000].into_iter().all(|d| !reciprocal::is_short::<u16>(d)));
}

/// Divisors of every bit length, with few and with many bits set, and divisors next to powers of two.
fn divisors(width: u32) -> impl Iterator<Item = i128> {
    let mut bits = 0x1234_5678_9abc_def1u64;
    let mut next = move || {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i128::from(bits ^ bits >> 29)
    };
    let powers = (0..width).flat_map(|k| (-2..=2).map(move |i| (1i128 << k) + i));
    let factors = (0..width).flat_map(|k| [3i128, 5, 7, 255, 641].map(move |f| (1i128 << k) / f));
    let count = if cfg!(debug_assertions) { 3_000 } else { 100_000 };
    let random: Vec<i128> = (0..count).map(|i| next() & ((1i128 << (1 + i % width)) - 1)).collect();
    let small = -300..=300;
    powers.chain(factors).chain(random).chain(small).flat_map(|d| [d, -d])
}

#[test]
fn multiples_of_32_bits() {
    for b in divisors(32) {
        for a in near_multiples(32, b) {
            check::<u32>(a, b);
            check::<i32>(a, b);
        }
    }
}

#[test]
fn multiples_of_64_bits() {
    for b in divisors(64) {
        for a in near_multiples(64, b) {
            check::<u64>(a, b);
            check::<i64>(a, b);
        }
    }
}
