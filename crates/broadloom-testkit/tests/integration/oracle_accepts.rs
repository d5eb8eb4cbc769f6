//! Tests which results the oracle accepts for functions that are not computed exactly.

use broadloom_testkit::Value::{self, F16, F32, F64, I8};
use broadloom_testkit::oracle::accepts;
use half::f16;

/// The float that is `by` steps farther from zero.
fn step(x: Value, by: i64) -> Value {
    Value::from_bits(x.dtype(), x.bits().wrapping_add_signed(by)).expect("a dtype")
}

/// Checks which of five floats are accepted as a result: `around`, the two nearest floats below it in
/// magnitude, and the two above.
#[track_caller]
fn check(function: &str, args: &[Value], around: Value, accepted: [bool; 5]) {
    let got = [-2, -1, 0, 1, 2].map(|by| accepts(function, args, step(around, by)).expect("a function"));
    assert_eq!(got, accepted, "{function}{args:?} around {around:?}");
}

const NONE_BUT_IT: [bool; 5] = [false, false, true, false, false];

#[test]
fn an_ordinary_result_is_one_of_the_floats_around_the_exact_one() {
    // According to mpmath, the errors of the nearest floats are +0.21, −0.44, −0.23 and +0.29 ulp.
    check("exp", &[F64(0.5)], F64(1.648_721_270_700_128_2), [false, true, true, false, false]);
    check("exp", &[F32(0.5)], F32(1.648_721_2), [false, false, true, true, false]);
    check(
        "log",
        &[F64(std::f64::consts::LN_2)],
        F64(-0.366_512_920_581_664_35),
        [false, false, true, true, false],
    );
    check("sin", &[F64(f64::MAX)], F64(0.004_961_954_789_184_062), [false, true, true, false, false]);
    check("sin", &[F64(-f64::MAX)], F64(-0.004_961_954_789_184_062), [false, true, true, false, false]);
    assert_eq!(accepts("sin", &[F64(f64::MAX)], F64(-0.004_961_954_789_184_062)), Some(false));
}

#[test]
fn a_result_that_is_a_float_is_that_float() {
    check("exp", &[F64(0.0)], F64(1.0), NONE_BUT_IT);
    check("exp", &[F32(1e-40)], F32(1.0), NONE_BUT_IT);
    // Below a power of two, floats are half as far apart.
    check("log2", &[F64(256.0)], F64(8.0), NONE_BUT_IT);
    check("log10", &[F32(1e8)], F32(8.0), NONE_BUT_IT);
    check("pow", &[F64(10.0), F64(22.0)], F64(1e22), NONE_BUT_IT);
    let [three, four, five] = [3, 4, 5].map(|bits| Value::from_bits("float64", bits).expect("a dtype"));
    check("hypot", &[three, four], five, NONE_BUT_IT);
}

#[test]
fn powers_that_are_defined_are_rounded_correctly() {
    check("pow", &[F64(0.1), F64(2.0)], F64(0.1 * 0.1), NONE_BUT_IT);
    check("pow", &[F64(0.1), F64(-1.0)], F64(10.0), NONE_BUT_IT);
    check("pow", &[F64(0.1), F64(1.0)], F64(0.1), NONE_BUT_IT);
    // The exact value, 1 / (1 - 2^-53), is 2^-106 above the midpoint of 1 and the next float.
    check("pow", &[F64(1.0 - f64::EPSILON / 2.0), F64(-1.0)], F64(1.0 + f64::EPSILON), NONE_BUT_IT);
}

#[test]
fn float16_of_one_argument_is_rounded_correctly() {
    let x = f16::from_f64(0.3);
    let nearest = F16(f16::from_f64(x.to_f64().exp()));
    check("exp", &[F16(x)], nearest, NONE_BUT_IT);
    let power = F16(f16::from_f64(x.to_f64().powf(x.to_f64())));
    assert!((-1..=1).filter(|&by| accepts("pow", &[F16(x); 2], step(power, by)) == Some(true)).count() == 2);
}

#[test]
fn what_overflows_or_vanishes() {
    // The exact value is the largest number plus 0.72 ulp, which is closer to infinity.
    let y = F32(1.2 * 2f32.powi(116));
    check("hypot", &[F32(f32::MAX), y], F32(f32::INFINITY), [false, true, true, false, false]);
    check("exp", &[F32(89.0)], F32(f32::INFINITY), NONE_BUT_IT);
    // The exact value is 0.537 of the smallest subnormal; the second one is negligible compared to it.
    let x = F32(-103.9);
    let [zero, least] = [0, 1].map(|bits| Value::from_bits("float32", bits).expect("a dtype"));
    assert_eq!(
        [zero, least, step(zero, 2)].map(|got| accepts("exp", &[x], got)),
        [true, true, false].map(Some)
    );
    assert_eq!(accepts("exp", &[x], F32(-0.0)), Some(false));
    assert_eq!([zero, least].map(|got| accepts("exp", &[F32(-1e4)], got)), [true, false].map(Some));
    let tiny = [F64(-0.5), F64(2001.0)];
    assert_eq!([-0.0, 0.0].map(|got| accepts("pow", &tiny, F64(got))), [true, false].map(Some));
}

#[test]
fn terms_that_cancel_are_judged_as_others_are() {
    // The exact value is 2.69423685922220927…e-17; the nearest float is 0.15 ulp below.
    let (x, y) = (F64(-0.004_247_843_315_149_931), F64(-5.463_467_049_920_793));
    let nearest = F64(2.694_236_859_222_209_2e-17);
    check("logaddexp", &[x, y], nearest, [false, false, true, true, false]);
    // The terms don't cancel, and the error of the nearest float is 0.497 ulp.
    check(
        "logaddexp",
        &[F64(0.5), F64(0.25)],
        F64(1.075_939_419_878_843_7),
        [false, true, true, false, false],
    );
}

#[test]
fn what_is_exact_or_ill_typed() {
    assert_eq!(accepts("pow", &[I8(3), I8(5)], I8(-13)), Some(true));
    assert_eq!(accepts("pow", &[I8(3), I8(5)], I8(-12)), Some(false));
    assert_eq!(accepts("add", &[F64(0.1), F64(0.2)], F64(0.3)), Some(false));
    assert_eq!(accepts("add", &[F64(0.1), F64(0.2)], F64(0.1 + 0.2)), Some(true));
    assert_eq!(accepts("exp", &[F32(0.0)], F64(1.0)), Some(false));
    assert_eq!(accepts("exp", &[I8(0)], I8(1)), None);
    let quiet = f64::from_bits(0x7ff8_0000_0000_0000);
    assert_eq!(accepts("sin", &[F64(f64::INFINITY)], F64(quiet)), Some(true));
    assert_eq!(accepts("sin", &[F64(f64::INFINITY)], F64(-quiet)), Some(false));
    assert_eq!(accepts("sin", &[F64(f64::INFINITY)], F64(0.0)), Some(false));
}
