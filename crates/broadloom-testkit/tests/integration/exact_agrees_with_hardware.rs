//! Compares the oracle's exact arithmetic with the target's floating-point unit, on difficult values and on many random ones.
//! float16 is compared with float64 arithmetic rounded once, which is correctly rounded because 53 ≥ 2·11 + 2 bits.

use broadloom_testkit::Value::{F16, F32, F64, I64, U64};
use broadloom_testkit::{DTYPES, Value, oracle};
use half::f16;

/// A 64-bit linear congruential generator with PCG's output step, which is good enough here.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (self.0 >> 32)
    }
}

/// Floats around every point at which the encoding or the precision changes, as bit patterns of a format with
/// `width` bits, of which `fraction` are in the fraction.
fn edge_cases(fraction: u32, width: u32) -> Vec<u64> {
    let sign = 1u64 << (width - 1);
    let infinity = (sign - 1) & !((1 << fraction) - 1);
    let one = (infinity >> (fraction + 1)) << fraction;
    let exponents =
        [-2i64, -1, 0, 1, 2, 3, i64::from(fraction) - 1, i64::from(fraction), i64::from(fraction) + 1];
    let mut magnitudes = vec![0, 1, 2, 3, infinity - 1, infinity, infinity | 1 << (fraction - 1)];
    for binade in exponents
        .map(|e| (one as i64 + (e << fraction)) as u64)
        .into_iter()
        .chain([1 << fraction, 2 << fraction])
    {
        magnitudes.extend([
            binade - 2,
            binade - 1,
            binade,
            binade + 1,
            binade + 2,
            binade + (1 << (fraction - 1)),
        ]);
    }
    magnitudes.iter().flat_map(|&bits| [bits, bits | sign]).collect()
}

/// All pairs of edge-case values, followed by random pairs. Half of these have similar exponents.
fn pairs(fraction: u32, width: u32) -> impl Iterator<Item = (u64, u64)> {
    let edge_cases = edge_cases(fraction, width);
    let seconds = edge_cases.clone();
    let mut random = Random(u64::from(width));
    let mask = u64::MAX >> (64 - width);
    let crossed = edge_cases.into_iter().flat_map(move |x| seconds.clone().into_iter().map(move |y| (x, y)));
    crossed.chain((0..30_000).map(move |i| {
        let x = random.next() & mask;
        let near = x.wrapping_add((random.next() % 64) << fraction.saturating_sub(2))
            ^ (random.next() & ((1 << fraction) - 1));
        (x, if i % 2 == 0 { near & mask } else { random.next() & mask })
    }))
}

/// The target's result, with every NaN replaced by the canonical one, since its bits are unspecified.
fn computed(x: Value) -> Value {
    match x {
        x if !x.is_nan() => x,
        F16(_) => F16(f16::from_bits(0x7e00)),
        F32(_) => F32(f32::from_bits(0x7fc0_0000)),
        _ => F64(f64::from_bits(0x7ff8_0000_0000_0000)),
    }
}

#[track_caller]
fn check(function: &str, args: &[Value], expected: Value) {
    let moves = ["abs", "negative", "copysign"].contains(&function);
    let expected = if moves { expected } else { computed(expected) };
    let got = oracle::apply(function, args);
    assert!(got.is_some_and(|got| got.same(&expected)), "{function}{args:?} gives {got:?}, not {expected:?}");
}

/// Compares all functions that have an exact counterpart in Rust, for float32 and float64.
macro_rules! agrees {
    ($name:ident, $float:ident, $variant:ident, $bits:ident, $fraction:literal, $width:literal) => {
        #[test]
        fn $name() {
            for (x, y) in pairs($fraction, $width) {
                let (x, y) = ($float::from_bits(x as $bits), $float::from_bits(y as $bits));
                let (vx, vy) = ($variant(x), $variant(y));
                check("add", &[vx, vy], $variant(x + y));
                check("subtract", &[vx, vy], $variant(x - y));
                check("multiply", &[vx, vy], $variant(x * y));
                check("divide", &[vx, vy], $variant(x / y));
                check("floor_divide", &[vx, vy], $variant((x / y).floor()));
                check("less", &[vx, vy], Value::Bool(x < y));
                check("less_equal", &[vx, vy], Value::Bool(x <= y));
                check("equal", &[vx, vy], Value::Bool(x == y));
                check("copysign", &[vx, vy], $variant(x.copysign(y)));
                check("sqrt", &[vx], $variant(x.sqrt()));
                check("square", &[vx], $variant(x * x));
                check("reciprocal", &[vx], $variant(1.0 / x));
                check("floor", &[vx], $variant(x.floor()));
                check("ceil", &[vx], $variant(x.ceil()));
                check("trunc", &[vx], $variant(x.trunc()));
                check("round", &[vx], $variant(x.round_ties_even()));
                check("abs", &[vx], $variant(x.abs()));
                check("negative", &[vx], $variant(-x));
                check("signbit", &[vx], Value::Bool(x.is_sign_negative()));
                // Rust's % truncates, so its result has the sign of x; the standard's has the sign of y.
                let rest = x % y;
                let python = if rest == 0.0 { (0.0 as $float).copysign(y) } else { rest + y };
                let moves = rest == 0.0 || (rest < 0.0) != (y < 0.0);
                check("remainder", &[vx, vy], $variant(if moves { python } else { rest }));
                check(
                    "nextafter",
                    &[vx, vy],
                    $variant(match x.partial_cmp(&y) {
                        None => $float::NAN,
                        Some(std::cmp::Ordering::Less) => x.next_up(),
                        Some(std::cmp::Ordering::Equal) => y,
                        Some(std::cmp::Ordering::Greater) => x.next_down(),
                    }),
                );
            }
        }
    };
}

agrees!(float32_agrees_with_the_target, f32, F32, u32, 23, 32);
agrees!(float64_agrees_with_the_target, f64, F64, u64, 52, 64);

#[test]
fn float16_agrees_with_float64_rounded_once() {
    for (x, y) in pairs(10, 16) {
        let (hx, hy) = (f16::from_bits(x as u16), f16::from_bits(y as u16));
        let (x, y) = (hx.to_f64(), hy.to_f64());
        let (vx, vy) = (F16(hx), F16(hy));
        let rounded = |x: f64| F16(f16::from_f64(x));
        check("add", &[vx, vy], rounded(x + y));
        check("subtract", &[vx, vy], rounded(x - y));
        check("multiply", &[vx, vy], rounded(x * y));
        check("divide", &[vx, vy], rounded(x / y));
        check("floor_divide", &[vx, vy], rounded(f16::from_f64(x / y).to_f64().floor()));
        check("less", &[vx, vy], Value::Bool(x < y));
        check("greater_equal", &[vx, vy], Value::Bool(x >= y));
        let rest = x % y;
        let unlike = rest != 0.0 && (rest < 0.0) != (y < 0.0);
        let python = if rest == 0.0 { 0f64.copysign(y) } else { rest };
        check("remainder", &[vx, vy], rounded(if unlike { rest + y } else { python }));
    }
}

#[test]
fn every_float16_agrees_in_functions_of_one_argument() {
    for bits in 0..=u16::MAX {
        let half = f16::from_bits(bits);
        let x = half.to_f64();
        check("sqrt", &[F16(half)], F16(f16::from_f64(x.sqrt())));
        check("square", &[F16(half)], F16(f16::from_f64(x * x)));
        check("reciprocal", &[F16(half)], F16(f16::from_f64(1.0 / x)));
        check("floor", &[F16(half)], F16(f16::from_f64(x.floor())));
        check("ceil", &[F16(half)], F16(f16::from_f64(x.ceil())));
        check("trunc", &[F16(half)], F16(f16::from_f64(x.trunc())));
        check("round", &[F16(half)], F16(f16::from_f64(x.round_ties_even())));
        for to in DTYPES {
            // A NaN converted to its own dtype keeps its bits.
            let moved = half.is_nan() && *to == "float16";
            let through_float64 = if moved { F16(half) } else { computed(oracle::cast(F64(x), to)) };
            assert!(oracle::cast(F16(half), to).same(&through_float64), "{half:?} to {to}");
        }
    }
}

#[test]
fn casts_agree_with_the_target() {
    let mut random = Random(8);
    let same = |x: Value, to: &str, expected: Value| {
        let (got, expected) = (oracle::cast(x, to), computed(expected));
        assert!(got.same(&expected), "{x:?} to {to} gives {got:?}, not {expected:?}");
    };
    let doubles = edge_cases(52, 64)
        .into_iter()
        .chain(edge_cases(23, 32).into_iter().map(|x| f64::from(f32::from_bits(x as u32)).to_bits()));
    let edge_case_doubles: Vec<u64> =
        doubles.flat_map(|x| [x.wrapping_sub(1), x, x.wrapping_add(1)]).collect();
    // Random numbers around 1 to 2^64, among which are integers.
    let random_doubles =
        (0..30_000).map(|_| ((1023 + random.next() % 65) << 52) | (random.next() & !(0x7ff << 52)));
    for bits in edge_case_doubles.into_iter().chain(random_doubles) {
        let x = f64::from_bits(bits);
        same(F64(x), "float32", F32(x as f32));
        same(F64(x), "float16", F16(f16::from_f64(x)));
        same(F64(x), "int8", Value::I8(x as i8));
        same(F64(x), "uint16", Value::U16(x as u16));
        same(F64(x), "int32", Value::I32(x as i32));
        same(F64(x), "uint32", Value::U32(x as u32));
        same(F64(x), "int64", I64(x as i64));
        same(F64(x), "uint64", U64(x as u64));
        same(F64(x), "bool", Value::Bool(x != 0.0));
        same(F32(x as f32), "float64", F64(f64::from(x as f32)));
        same(F32(x as f32), "int64", I64(x as f32 as i64));
    }
    for i in 0..30_000 {
        // Integers of every bit length, half of them within 3 of a power of two or of a tie.
        let shift = random.next() % 64;
        let near = (1u64 << 63 | 1 << (62 - random.next() % 62)) >> shift;
        let x = if i % 2 == 0 {
            random.next() >> shift
        } else {
            near.wrapping_add(random.next() % 7).wrapping_sub(3)
        };
        same(U64(x), "float64", F64(x as f64));
        same(U64(x), "float32", F32(x as f32));
        same(I64(x as i64), "float64", F64(x as i64 as f64));
        same(I64(x as i64), "float32", F32(x as i64 as f32));
        same(I64(x as i64), "uint8", Value::U8(x as u8));
        same(I64(x as i64), "int32", Value::I32(x as i32));
        same(Value::I32(x as i32), "uint64", U64(x as i32 as u64));
        same(Value::U32(x as u32), "float16", F16(f16::from_f64(f64::from(x as u32))));
    }
}
