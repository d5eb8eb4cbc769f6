//! The rule of each function of the op table.

use super::*;

/// The arguments of a function of one operand, and its derivative as a function of float64.
type Unary = (Op, f64, f64, fn(f64) -> f64);
/// The bounds of both operands, and the derivatives for them.
type Binary = (Op, [f64; 4], [fn(f64, f64) -> f64; 2]);

const TWO_OVER_ROOT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

const UNARY: &[Unary] = &[
    (Op::Abs, -3.0, 3.0, |x| x.signum()),
    (Op::Acos, -0.99, 0.99, |x| -1.0 / ((1.0 - x) * (1.0 + x)).sqrt()),
    (Op::Acosh, 1.001, 50.0, |x| 1.0 / ((x - 1.0) * (x + 1.0)).sqrt()),
    (Op::Asin, -0.99, 0.99, |x| 1.0 / ((1.0 - x) * (1.0 + x)).sqrt()),
    (Op::Asinh, -50.0, 50.0, |x| 1.0 / (1.0 + x * x).sqrt()),
    (Op::Atan, -50.0, 50.0, |x| 1.0 / (1.0 + x * x)),
    (Op::Atanh, -0.99, 0.99, |x| 1.0 / ((1.0 - x) * (1.0 + x))),
    (Op::Cbrt, -20.0, 20.0, |x| 1.0 / (3.0 * x.cbrt().powi(2))),
    (Op::Ceil, -3.0, 3.0, |_| 0.0),
    (Op::Cos, -20.0, 20.0, |x| -x.sin()),
    (Op::Cosh, -20.0, 20.0, |x| x.sinh()),
    (Op::Erf, -9.0, 9.0, |x| TWO_OVER_ROOT_PI * (-x * x).exp()),
    (Op::Erfc, -9.0, 9.0, |x| -TWO_OVER_ROOT_PI * (-x * x).exp()),
    (Op::Exp, -20.0, 20.0, |x| x.exp()),
    (Op::Exp2, -20.0, 20.0, |x| x.exp2() * std::f64::consts::LN_2),
    (Op::ExpM1, -60.0, 20.0, |x| x.exp()),
    (Op::Floor, -3.0, 3.0, |_| 0.0),
    (Op::Log, 1e-3, 1e3, |x| 1.0 / x),
    (Op::Log1p, -0.999, 1e3, |x| 1.0 / (1.0 + x)),
    (Op::Log2, 1e-3, 1e3, |x| 1.0 / (x * std::f64::consts::LN_2)),
    (Op::Log10, 1e-3, 1e3, |x| 1.0 / (x * std::f64::consts::LN_10)),
    (Op::Negative, -3.0, 3.0, |_| -1.0),
    (Op::Positive, -3.0, 3.0, |_| 1.0),
    (Op::Reciprocal, 0.01, 100.0, |x| -1.0 / (x * x)),
    (Op::Round, -3.0, 3.0, |_| 0.0),
    (Op::Sign, -3.0, 3.0, |_| 0.0),
    (Op::Sin, -20.0, 20.0, |x| x.cos()),
    (Op::Sinh, -20.0, 20.0, |x| x.cosh()),
    (Op::Sqrt, 1e-3, 1e3, |x| 0.5 / x.sqrt()),
    (Op::Square, -30.0, 30.0, |x| 2.0 * x),
    (Op::Tan, -20.0, 20.0, |x| 1.0 + x.tan().powi(2)),
    (Op::Tanh, -30.0, 30.0, |x| 1.0 / x.cosh().powi(2)),
    (Op::Trunc, -3.0, 3.0, |_| 0.0),
];

const BINARY: &[Binary] = &[
    (Op::Add, [-3.0, 3.0, -3.0, 3.0], [|_, _| 1.0, |_, _| 1.0]),
    (Op::Atan2, [-3.0, 3.0, -3.0, 3.0], [|y, x| x / (x * x + y * y), |y, x| -y / (x * x + y * y)]),
    (Op::CopySign, [-3.0, 3.0, -3.0, 3.0], [|x, y| x.signum() * y.signum(), |_, _| 0.0]),
    (Op::Divide, [-3.0, 3.0, 0.1, 3.0], [|_, y| 1.0 / y, |x, y| -x / (y * y)]),
    (Op::FloorDivide, [-3.0, 3.0, 0.1, 3.0], [|_, _| 0.0, |_, _| 0.0]),
    (Op::Hypot, [-3.0, 3.0, -3.0, 3.0], [|x, y| x / x.hypot(y), |x, y| y / x.hypot(y)]),
    (
        Op::LogAddExp,
        [-40.0, 40.0, -40.0, 40.0],
        [|x, y| 1.0 / (1.0 + (y - x).exp()), |x, y| 1.0 / (1.0 + (x - y).exp())],
    ),
    (
        Op::Maximum,
        [-3.0, 3.0, -3.0, 3.0],
        [|x, y| f64::from(u8::from(x > y)), |x, y| f64::from(u8::from(y > x))],
    ),
    (
        Op::Minimum,
        [-3.0, 3.0, -3.0, 3.0],
        [|x, y| f64::from(u8::from(x < y)), |x, y| f64::from(u8::from(y < x))],
    ),
    (Op::Multiply, [-3.0, 3.0, -3.0, 3.0], [|_, y| y, |x, _| x]),
    (Op::Pow, [0.1, 5.0, -4.0, 4.0], [|x, p| p * x.powf(p - 1.0), |x, p| x.powf(p) * x.ln()]),
    (Op::Remainder, [-30.0, 30.0, 0.3, 3.0], [|_, _| 1.0, |x, y| -(x / y).floor()]),
    (Op::Subtract, [-3.0, 3.0, -3.0, 3.0], [|_, _| 1.0, |_, _| -1.0]),
];

/// Numbers between two bounds, in no order.
fn points(low: f64, high: f64, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..20_000).map(|_| (low + (high - low) * next()) as f32).collect()
}

/// The error of a float32 in units in its last place.
fn ulps(got: f32, exact: f64) -> f64 {
    let exponent = exact.abs().log2().floor().clamp(-126.0, 127.0);
    (f64::from(got) - exact).abs() / (exponent - 23.0).exp2()
}

fn check(op: Op, operand: usize, got: &[f32], exact: impl Fn(usize) -> f64) {
    let mut worst = (0.0, 0);
    for (i, &got) in got.iter().enumerate() {
        let error = ulps(got, exact(i));
        assert!(!error.is_nan(), "{op}, operand {operand}, point {i}: {got}");
        if error > worst.0 {
            worst = (error, i);
        }
    }
    assert!(worst.0 <= 4.0, "{op}, operand {operand}: {} ulps at point {}", worst.0, worst.1);
}

#[test]
fn each_function_of_one_operand_has_its_derivative_within_four_ulps() -> Result<()> {
    for &(op, low, high, derivative) in UNARY {
        let data = points(low, high, 1);
        let x = variable(&Array::from_vec(data.clone()))?;
        let y = Array::apply(op, std::slice::from_ref(&x))?;
        let ones = Array::ones(&[data.len()], DType::Float32)?;
        let reverse = vjp(&[&y], &[&ones], &[&x])?.remove(0).to_vec::<f32>()?;
        check(op, 0, &reverse, |i| derivative(f64::from(data[i])));
        let forward = jvp(&[&y], &[&x], &[&ones])?.remove(0).to_vec::<f32>()?;
        assert_eq!(forward, reverse, "{op}");
    }
    Ok(())
}

#[test]
fn each_function_of_two_operands_has_its_derivatives_within_four_ulps() -> Result<()> {
    for &(op, [low, high, low2, high2], derivatives) in BINARY {
        let (a, b) = (points(low, high, 1), points(low2, high2, 2));
        let x = [&a, &b].map(|data| variable(&Array::from_vec(data.clone())));
        let [x1, x2] = x;
        let (x1, x2) = (x1?, x2?);
        let y = Array::apply(op, &[x1.clone(), x2.clone()])?;
        let ones = Array::ones(&[a.len()], DType::Float32)?;
        let found = vjp(&[&y], &[&ones], &[&x1, &x2])?;
        for (operand, (reverse, x)) in found.iter().zip([&x1, &x2]).enumerate() {
            let reverse = reverse.to_vec::<f32>()?;
            // Points at which the difference or quotient rounds are no test of the rule.
            check(op, operand, &reverse, |i| derivatives[operand](f64::from(a[i]), f64::from(b[i])));
            let forward = jvp(&[&y], &[x], &[&ones])?.remove(0).to_vec::<f32>()?;
            assert_eq!(forward, reverse, "{op}, operand {operand}");
        }
    }
    Ok(())
}

/// Every function of floats, by a quotient of differences of itself.
#[test]
fn each_function_has_the_slope_of_its_values() -> Result<()> {
    const STEP: f64 = 1e-5;
    let of_floats = |op: &Op| op.result(DType::Float64) == Some(DType::Float64);
    for op in Op::public().filter(of_floats).filter(|op| ![Op::NextAfter, Op::Where].contains(op)) {
        let points = [[0.3, 0.7, 0.6], [1.4, 0.4, 2.3], [-0.8, 1.3, 0.2], [2.6, 1.7, -1.2]];
        let mut compared = 0;
        for (point, operand) in points.iter().flat_map(|point| (0..op.operands()).map(move |i| (point, i))) {
            let value = |delta: f64| -> Result<f64> {
                let mut x = *point;
                x[operand] += delta;
                let x: Vec<Array<'_>> = x[..op.operands()].iter().map(|&x| Array::from([x])).collect();
                Array::apply(op, &x)?.item::<f64>()
            };
            let slope = (value(STEP)? - value(-STEP)?) / (2.0 * STEP);
            if !slope.is_finite() {
                continue;
            }
            let x = point[..op.operands()].iter().map(|&x| variable(&Array::from([x])));
            let x = x.collect::<Result<Vec<_>>>()?;
            let got = grad(&Array::apply(op, &x)?.sum(())?, &[&x[operand]])?[0].item::<f64>()?;
            let is_near = (got - slope).abs() <= 1e-6 * slope.abs().max(1.0);
            assert!(is_near, "{op} at {point:?}, operand {operand}: {got}, not {slope}");
            compared += 1;
        }
        assert!(compared >= op.operands(), "{op}");
    }
    Ok(())
}

#[test]
fn inverse_error_functions() -> Result<()> {
    // From the derivative of the inverse: 1 / f'(f⁻¹(x)). The error of the inverse is magnified far out.
    let x = Array::from([-0.875_f32, -0.25, 0.0, 0.5, 0.75]);
    let got = of_sum(&x, |x| x.erfinv())?.to_vec::<f32>()?;
    let exact = [2.874_793_037_4, 0.932_378_234_606, 0.886_226_925_453, 1.112_584_818_97, 1.717_499_769_37];
    for (got, exact) in got.iter().zip(exact) {
        assert!(ulps(*got, exact) < 6.0, "{got} {exact}");
    }
    let y = of_sum(&Array::from([0.5, 0.25]), |x| x.ndtri())?.to_vec::<f64>()?;
    assert!((y[0] - 2.506_628_274_631).abs() < 1e-12, "{y:?}");
    assert!((y[1] - 3.146_865_080_561_09).abs() < 1e-12, "{y:?}");
    Ok(())
}

#[test]
fn functions_of_three_operands() -> Result<()> {
    let x: Vec<_> = [[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]]
        .iter()
        .map(|x| variable(&Array::from(*x)))
        .collect::<Result<_>>()?;
    let arguments: Vec<&Array<'_>> = x.iter().collect();
    let found = grad(&x[0].fma(&x[1], &x[2]).sum(())?, &arguments)?;
    assert_eq!(found[0].to_vec::<f64>()?, [3.0, 5.0]);
    assert_eq!(found[1].to_vec::<f64>()?, [1.0, 2.0]);
    assert_eq!(found[2].to_vec::<f64>()?, [1.0, 1.0]);

    // Below, at and between the bounds, at the upper one, above, and with crossed bounds.
    let columns = [
        [0.0, 1.0, 2.0, 3.0, 4.0, 2.0, f64::NAN],
        [1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 1.0],
        [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0],
    ];
    let x: Vec<_> = columns.iter().map(|x| variable(&Array::from(*x))).collect::<Result<_>>()?;
    let arguments: Vec<&Array<'_>> = x.iter().collect();
    let found = grad(&x[0].clip(&x[1], &x[2]).sum(())?, &arguments)?;
    assert_eq!(found[0].to_vec::<f64>()?, [0.0, 0.5, 1.0, 0.5, 0.0, 0.0, 1.0]);
    assert_eq!(found[1].to_vec::<f64>()?, [1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(found[2].to_vec::<f64>()?, [0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 0.0]);
    Ok(())
}

/// A function, the points where its derivative is agreed on, and the derivatives.
type SpecialPoints = (&'static str, fn(&Array<'static>) -> Array<'static>, &'static [f64], &'static [f64]);

const INF: f64 = f64::INFINITY;

const SPECIAL: &[SpecialPoints] = &[
    ("abs", |x| x.abs(), &[0.0, -0.0, INF, -INF], &[0.0, 0.0, 1.0, -1.0]),
    ("sign", |x| x.sign(), &[0.0, 1.0], &[0.0, 0.0]),
    ("floor", |x| x.floor(), &[0.0, 1.0], &[0.0, 0.0]),
    ("copysign", |x| x.copysign(-1.0), &[0.0, 2.0, -2.0], &[0.0, -1.0, 1.0]),
    ("hypot at the origin", |x| x.hypot(0.0), &[0.0, 3.0, -3.0], &[0.0, 1.0, -1.0]),
    ("atan2 at the origin", |x| broadloom::functions::atan2(x, 0.0), &[0.0], &[0.0]),
    ("sqrt", |x| x.sqrt(), &[0.0, 4.0], &[INF, 0.25]),
    ("cbrt", |x| x.cbrt(), &[0.0], &[INF]),
    ("log", |x| x.log(), &[0.0, INF], &[INF, 0.0]),
    ("acos", |x| x.acos(), &[1.0, -1.0], &[-INF, -INF]),
    ("acosh", |x| x.acosh(), &[1.0, 1e200], &[INF, 1e-200]),
    ("atan", |x| x.atan(), &[0.0, 1e150, INF], &[1.0, 1e-300, 0.0]),
    ("tanh", |x| x.tanh(), &[0.0, 800.0], &[1.0, 0.0]),
    ("x ** 0", |x| x.pow(0.0), &[0.0, 5.0, f64::NAN], &[0.0, 0.0, 0.0]),
    ("x ** 1", |x| x.pow(1.0), &[0.0, INF], &[1.0, 1.0]),
    ("x ** 2", |x| x.pow(2.0), &[0.0, 3.0, -3.0], &[0.0, 6.0, -6.0]),
    ("x ** 3", |x| x.pow(3.0), &[0.0, -2.0], &[0.0, 12.0]),
    ("x ** 0.5", |x| x.pow(0.5), &[0.0, 4.0], &[INF, 0.25]),
    ("x ** -1", |x| x.pow(-1.0), &[2.0], &[-0.25]),
    ("logaddexp of equals", |x| x.logaddexp(-INF), &[-INF, 1.0, INF], &[0.5, 1.0, 1.0]),
    ("expm1", |x| x.expm1(), &[-INF, 0.0], &[0.0, 1.0]),
    ("erf", |x| x.erf(), &[INF, -INF], &[0.0, 0.0]),
    ("maximum", |x| x.maximum(1.0), &[0.0, 1.0, 2.0, f64::NAN], &[0.0, 0.5, 1.0, 1.0]),
    ("maximum of NaN", |x| x.maximum(f64::NAN), &[0.0, f64::NAN], &[0.0, 0.5]),
    ("minimum", |x| x.minimum(1.0), &[0.0, 1.0, 2.0, f64::NAN], &[1.0, 0.5, 0.0, 1.0]),
    ("remainder", |x| x.remainder(3.0), &[3.0, -1.0], &[1.0, 1.0]),
];

#[test]
fn values_at_special_points() -> Result<()> {
    for &(name, function, x, wanted) in SPECIAL {
        let got = of_sum(&Array::from_vec(x.to_vec()), function)?.to_vec::<f64>()?;
        assert_eq!(got, wanted, "{name}");
    }
    Ok(())
}

#[test]
fn powers_with_varying_exponents() -> Result<()> {
    let (x, p) = (
        variable(&Array::from([0.0, 0.0, 0.0, 0.0, 2.0, f64::NAN]))?,
        variable(&Array::from([0.5, 1.0, 2.0, 0.0, 3.0, 0.0]))?,
    );
    let found = grad(&x.pow(&p).sum(())?, &[&x, &p])?;
    assert_eq!(found[0].to_vec::<f64>()?, [INF, 1.0, 0.0, 0.0, 12.0, 0.0]);
    let of_exponents = found[1].to_vec::<f64>()?;
    assert_eq!(of_exponents[..4], [0.0; 4]);
    assert!((of_exponents[4] - 8.0 * 2_f64.ln()).abs() < 1e-15);
    Ok(())
}

#[test]
fn powers_that_overflow_or_underflow_have_derivatives() -> Result<()> {
    let (x, p) = (variable(&Array::from([1e-200, 1e155]))?, Array::from([2.0, 2.0]));
    assert_eq!(grad(&x.pow(&p).sum(())?, &[&x])?[0].to_vec::<f64>()?, [2e-200, 2e155]);
    Ok(())
}

/// The product with a constant that is not finite, or the quotient by a constant zero.
#[test]
fn constants_that_are_not_finite_contribute_nothing_either() -> Result<()> {
    let x = Array::from([0.0, 2.0]);
    for factor in [INF, f64::NAN] {
        let got = of_sum(&x, |x| where_(x.greater(-1.0), x, x * factor))?;
        assert_eq!(got.to_vec::<f64>()?, [1.0, 1.0], "{factor}");
    }
    let got = of_sum(&x, |x| where_(x.greater(-1.0), x, x / 0.0))?;
    assert_eq!(got.to_vec::<f64>()?, [1.0, 1.0]);
    for zero in [0.0, -0.0] {
        let x = variable(&Array::from([3.0]))?;
        let found = vjp(&[&(&x * INF)], &[&Array::from([zero])], &[&x])?;
        assert_eq!(found[0].to_vec::<f64>()?[0].to_bits(), 0);
    }
    Ok(())
}

#[test]
fn a_branch_that_is_not_taken_contributes_nothing() -> Result<()> {
    let x = Array::from([0.0, -1.0, 4.0]);
    let got = of_sum(&x, |x| where_(x.greater(0.0), x.sqrt(), x * 2.0))?;
    assert_eq!(got.to_vec::<f64>()?, [2.0, 2.0, 0.25]);
    let got = of_sum(&x, |x| where_(x.greater(0.0), x.log(), 0.0))?.to_vec::<f64>()?;
    assert_eq!(got.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [0, 0, 0.25_f64.to_bits()]);
    // The adjoint's zero is exact: infinity times zero is not NaN.
    let x = variable(&Array::from([0.0]))?;
    let found = vjp(&[&x.sqrt()], &[&Array::from([-0.0])], &[&x])?;
    assert_eq!(found[0].to_vec::<f64>()?[0].to_bits(), 0);
    let along = jvp(&[&x.sqrt()], &[&x], &[&Array::from([0.0])])?;
    assert_eq!(along[0].to_vec::<f64>()?[0].to_bits(), 0);
    Ok(())
}

#[test]
fn conversions_between_floats() -> Result<()> {
    let x = Array::from([1.0_f32, 0.1]);
    let got = of_sum(&x, |x| x.astype(DType::Float64).square())?;
    assert_eq!(got.dtype(), DType::Float32);
    assert_eq!(got.to_vec::<f32>()?, [2.0, (2.0 * f64::from(0.1_f32)) as f32]);
    let half = of_sum(&x, |x| x.astype(DType::Float16) * 3.0)?;
    assert_eq!(half.to_vec::<f32>()?, [3.0, 3.0]);
    Ok(())
}

#[test]
fn half_precision() -> Result<()> {
    let x = Array::from([f16::from_f32(0.5), f16::from_f32(2.0)]);
    let got = of_sum(&x, |x| x.exp() * x)?;
    let exact = [0.5_f64, 2.0].map(|x| x.exp() * (1.0 + x));
    for (got, exact) in got.to_vec::<f16>()?.iter().zip(exact) {
        assert!((f64::from(*got) - exact).abs() / exact < 2e-3, "{got} {exact}");
    }
    Ok(())
}

/// Functions that select an operand, or are flat, are so for an infinite adjoint, too.
#[test]
fn what_is_flat_has_no_derivative_for_an_infinite_adjoint() -> Result<()> {
    let root = |y: Array<'static>| y.sqrt();
    let cases: &[SpecialPoints] = &[
        ("clip", |x| x.clip(0.0, 1.0), &[-1.0, 0.25, 2.0], &[0.0, 1.0, 0.0]),
        ("maximum", |x| x.maximum(0.0), &[-1.0, 0.25], &[0.0, 1.0]),
        ("abs", |x| x.abs(), &[0.0, -0.25], &[0.0, -1.0]),
        ("copysign", |x| x.copysign(1.0), &[0.0, -0.25], &[0.0, -1.0]),
        ("hypot", |x| x.hypot(0.0), &[0.0, -0.25], &[0.0, -1.0]),
        ("pow", |x| x.pow(x - x), &[0.25], &[0.0]),
    ];
    for (name, function, x, wanted) in cases {
        let got = of_sum(&Array::from_vec(x.to_vec()), |x| root(function(x)))?;
        assert_eq!(got.to_vec::<f64>()?, *wanted, "{name}");
    }
    // Three equal operands: `maximum` shares, then `minimum`.
    let operands = [(); 3].map(|()| variable(&Array::from([1.0])));
    let [x, low, high] = operands;
    let (x, low, high) = (x?, low?, high?);
    let found = grad(&x.clip(&low, &high).sum(())?, &[&x, &low, &high])?;
    let shares = found.iter().map(|v| v.item::<f64>()).collect::<Result<Vec<_>>>()?;
    assert_eq!(shares, [0.25, 0.25, 0.5]);
    Ok(())
}

#[test]
fn angles_and_norms_of_large_operands_have_derivatives() -> Result<()> {
    let large = f64::MAX / 1.5;
    let of_both = |op: Op, y: f64, x: f64| -> Result<[f64; 2]> {
        let (y, x) = (variable(&Array::from([y]))?, variable(&Array::from([x]))?);
        let made = if op == Op::Hypot { y.hypot(&x) } else { y.atan2(&x) };
        let found = grad(&made.sum(())?, &[&y, &x])?;
        Ok([found[0].item::<f64>()?, found[1].item::<f64>()?])
    };
    let half = 0.5 / large;
    assert_eq!(of_both(Op::Atan2, large, large)?, [half, -half]);
    assert_eq!(of_both(Op::Atan2, -large, large)?, [half, half]);
    assert_eq!(of_both(Op::Atan2, 0.0, 0.0)?, [0.0, 0.0]);
    assert_eq!(of_both(Op::Atan2, INF, 1.0)?, [0.0, 0.0]);
    let root = 0.5_f64.sqrt();
    for (got, wanted) in of_both(Op::Hypot, -large, large)?.into_iter().zip([-root, root]) {
        assert!((got - wanted).abs() < 1e-15, "{got}");
    }
    Ok(())
}

/// Beyond the precision of the dtype, a power less 1 is rounded to another integer.
#[test]
fn powers_beyond_the_precision_have_the_sign_of_their_derivative() -> Result<()> {
    let power = 33_554_436.0_f32;
    let (x, p) = (variable(&Array::from([-1.0_f32]))?, Array::from([power]));
    assert_eq!(grad(&x.pow(&p).sum(())?, &[&x])?[0].to_vec::<f32>()?, [-power]);
    assert_eq!(grad(&x.pow(power).sum(())?, &[&x])?[0].to_vec::<f32>()?, [-power]);
    let power = (1_u64 << 55) as f64;
    let x = variable(&Array::from([-1.0]))?;
    assert_eq!(grad(&x.pow(power).sum(())?, &[&x])?[0].to_vec::<f64>()?, [-power]);
    Ok(())
}
