//! Compares the references with mpmath's values and with each other, and tests the definition of an ulp.

use super::precise::{self, Big};
use super::*;
use crate::rng::Rng;

/// A row of `mpmath.txt`: a function, its arguments, and ± significand · 2^exponent.
fn rows() -> impl Iterator<Item = (Function, [f64; 2], Big)> {
    include_str!("mpmath.txt").lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let function = Function::from_name(words[0]).expect("a function");
        let (arguments, value) = words[1..].split_at(function.arity());
        let bits = |word: &&str| f64::from_bits(u64::from_str_radix(word, 16).expect("bits"));
        let arguments = [bits(&arguments[0]), arguments.get(1).map_or(0.0, bits)];
        // The precision is unlimited, so that nothing is rounded here.
        let part = |digits: &str| {
            let digits = u128::from_str_radix(&format!("0{digits}"), 16).expect("digits");
            Big::from(digits).with_precision(0).value()
        };
        let (high, low) = value[1].split_at(value[1].len().saturating_sub(25));
        let significand = (part(high) << 100) + part(low);
        let exponent: isize = value[2].parse().expect("an exponent");
        let magnitude = significand << exponent;
        (function, arguments, if value[0] == "-" { -magnitude } else { magnitude })
    })
}

/// |got − exact| / |exact|
fn relative(got: &Big, exact: &Big) -> f64 {
    let difference = got.clone().with_precision(400).value() - exact.clone();
    if difference == Big::ZERO {
        0.0
    } else {
        (precise::to_wide(&difference) / precise::to_wide(exact)).abs().to_f64()
    }
}

#[test]
fn mpmath_has_values_of_every_function() {
    for function in Function::ALL {
        let values = rows().filter(|(of, ..)| *of == function).count();
        assert!(values >= 20, "{function:?} has {values}");
    }
}

#[test]
fn the_precise_reference_agrees_with_mpmath() {
    for (function, [x, y], exact) in rows() {
        if function.special(x, y).is_some() {
            continue;
        }
        let error = relative(&function.precise(x, y, 198), &exact);
        assert!(error < 2_f64.powi(-196), "{function:?}({x:e}, {y:e}): 2^{}", error.log2());
    }
}

#[test]
fn the_quick_reference_agrees_with_mpmath() {
    for (function, [x, y], exact) in rows() {
        if function.special(x, y).is_some() {
            continue;
        }
        let (estimate, cancelled) = function.estimate(x, y);
        let exact = precise::to_wide(&exact);
        let error = ((estimate - exact) / exact).abs().to_f64() / 2_f64.powi(cancelled);
        // The bound is stricter by four bits here, so that this test fails before the real bound is violated.
        let bound = elementary::RELATIVE_ERROR / 16.0;
        assert!(error < bound, "{function:?}({x:e}, {y:e}): 2^{}", error.log2());
    }
}

/// At random points, the difference between the references is within the error bound of the quick reference.
#[test]
fn the_references_agree_with_each_other() {
    let mut rng = Rng::new(1);
    for function in Function::ALL {
        for _ in 0..300 {
            let mut draw = || {
                let exponent = rng.below(24) as i32 - 16;
                let sign = if rng.chance(1, 2) { 1.0 } else { -1.0 };
                sign * (1.0 + (rng.next() >> 12) as f64 / 2_f64.powi(52)) * 2_f64.powi(exponent)
            };
            let (x, y) = (draw(), draw());
            let spare = disagreement(function, x, y).unwrap_or(0.0);
            assert!(spare < 1.0 / 16.0, "{function:?}({x:e}, {y:e}): {spare}");
        }
    }
    for &x in near_multiples_of_half_pi().iter().step_by(7) {
        for function in [Function::Cos, Function::Sin, Function::Tan] {
            assert!(disagreement(function, x, 0.0).is_some_and(|d| d < 1.0 / 16.0), "{function:?}({x:e})");
        }
    }
}

/// π/2 is 0x1.921fb54442d18469…p+0; the nearest float64 is 0x0.469… ulp below.
#[test]
fn an_ulp_is_that_of_the_exact_values_binade() {
    let half_pi = std::f64::consts::FRAC_PI_2;
    let judged = |function, format, x, got| match judge(function, format, x, 0.0, got) {
        Judgement::Off { ulps, nearest } => {
            let Judgement::Off { ulps: precisely, nearest: same } =
                judge_precisely(function, format, x, 0.0, got)
            else {
                panic!("wrong")
            };
            assert!((ulps - precisely).abs() < 1e-9, "{ulps} {precisely}");
            assert_eq!(nearest, same);
            (ulps, nearest)
        }
        Judgement::Wrong => panic!("wrong"),
    };
    // asin(1) = 0x1.921fb54442d18|469898…p+0; the error is 0x0.469898cc… ulp.
    let (ulps, nearest) = judged(Function::Asin, FloatFormat::FLOAT64, 1.0, half_pi);
    assert!((ulps - f64::from(0x469898cc_u32) / f64::from(1_u32 << 16) / 65536.0).abs() < 1e-9 && nearest);
    let (next, nearest) = judged(Function::Asin, FloatFormat::FLOAT64, 1.0, half_pi.next_up());
    assert!((next + ulps - 1.0).abs() < 1e-9 && !nearest);
    // In float32, cos(2^-12) is slightly less than half an ulp below 1, in ulps of the numbers below 1.
    let (ulps, nearest) = judged(Function::Cos, FloatFormat::FLOAT32, 2_f64.powi(-12), 1.0);
    assert!((ulps - 0.5).abs() < 1e-6 && ulps < 0.5 && nearest, "{ulps}");
    let (ulps, _) = judged(Function::Cos, FloatFormat::FLOAT32, 2_f64.powi(-12), 1.0 - 2_f64.powi(-24));
    assert!((ulps - 0.5).abs() < 1e-6 && ulps > 0.5, "{ulps}");
    // For subnormals, an ulp is the smallest number.
    let tiny = 2_f64.powi(-149);
    assert_eq!(judged(Function::Sin, FloatFormat::FLOAT32, 3.0 * tiny, 5.0 * tiny), (2.0, false));
    // Overflow counts as 2^128, and so do all larger values.
    let (ulps, nearest) = judged(Function::Exp, FloatFormat::FLOAT32, 1e30, f64::INFINITY);
    assert_eq!((ulps, nearest), (0.0, true));
    assert_eq!(judged(Function::Exp, FloatFormat::FLOAT32, 1e30, f64::from(f32::MAX)), (1.0, false));
    let (ulps, nearest) = judged(Function::Exp, FloatFormat::FLOAT32, 88.72, f64::INFINITY);
    assert!(ulps > 1.0 && !nearest, "e^88.72 is below the greatest float32");
}

#[test]
fn ties_go_to_the_even_neighbour() {
    // 14^4 = 38416 is the midpoint of the float16 numbers 38400 and 38432.
    let at = |got| judge(Function::Pow, FloatFormat::FLOAT16, 14.0, 4.0, got);
    assert_eq!(at(38400.0), Judgement::Off { ulps: 0.5, nearest: true });
    assert_eq!(at(38432.0), Judgement::Off { ulps: 0.5, nearest: false });
}

#[test]
fn kinds_are_told_apart() {
    let kinds = [
        (Function::Log, -1.0, 0.0, f64::NAN),
        (Function::Log, 0.0, 0.0, f64::NEG_INFINITY),
        (Function::Atanh, -1.0, 0.0, f64::NEG_INFINITY),
        (Function::Pow, -0.0, -3.0, f64::NEG_INFINITY),
        (Function::Pow, -8.0, 1.0 / 3.0, f64::NAN),
        (Function::Pow, f64::NEG_INFINITY, 3.0, f64::NEG_INFINITY),
        (Function::Pow, 1.0, f64::NAN, 1.0),
        (Function::Pow, -1.0, f64::INFINITY, 1.0),
        (Function::Pow, 0.5, f64::NEG_INFINITY, f64::INFINITY),
        (Function::Hypot, f64::NEG_INFINITY, f64::NAN, f64::INFINITY),
        (Function::Sin, f64::INFINITY, 0.0, f64::NAN),
        (Function::Cosh, f64::NEG_INFINITY, 0.0, f64::INFINITY),
        (Function::LogAddExp, f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY),
        (Function::LogAddExp, f64::NAN, f64::INFINITY, f64::NAN),
        (Function::Expm1, f64::NEG_INFINITY, 0.0, -1.0),
        (Function::Tanh, f64::NEG_INFINITY, 0.0, -1.0),
    ];
    let values = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, -1.0];
    for (function, x, y, right) in kinds {
        for value in values {
            let judged = judge(function, FloatFormat::FLOAT64, x, y, value);
            assert_eq!(judged, judge_precisely(function, FloatFormat::FLOAT64, x, y, value));
            let fits = value == right || value.to_bits() == right.to_bits();
            assert_eq!(judged == Judgement::RIGHT, fits, "{function:?}({x}, {y}) = {value}: {judged:?}");
        }
    }
}

/// Tests the limits at infinities and signed zeros that are not declared as special values.
#[test]
fn angles_have_their_quadrant() {
    let infinity = f64::INFINITY;
    let (pi, half, quarter) =
        (std::f64::consts::PI, std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_4);
    let angles = [
        (0.0, -0.0, pi),
        (-0.0, -0.0, -pi),
        (-0.0, -2.0, -pi),
        (0.0, f64::NEG_INFINITY, pi),
        (3.0, f64::NEG_INFINITY, pi),
        (-3.0, 0.0, -half),
        (3.0, -0.0, half),
        (-infinity, 5.0, -half),
        (infinity, infinity, quarter),
        (-infinity, -infinity, -3.0 * quarter),
        (-1.0, -1.0, -3.0 * quarter),
    ];
    for (y, x, angle) in angles {
        for judgement in [
            judge(Function::Atan2, FloatFormat::FLOAT64, y, x, angle),
            judge_precisely(Function::Atan2, FloatFormat::FLOAT64, y, x, angle),
        ] {
            assert!(matches!(judgement, Judgement::Off { nearest: true, .. }), "{y} {x}: {judgement:?}");
        }
    }
    for (x, angle) in [(infinity, half), (-infinity, -half)] {
        let judgement = judge(Function::Atan, FloatFormat::FLOAT64, x, 0.0, angle);
        assert!(matches!(judgement, Judgement::Off { nearest: true, .. }));
    }
}
