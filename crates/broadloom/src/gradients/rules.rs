//! The derivative of each function of the op table, for each operand.
//!
//! A rule is an expression of the same functions; a row of the table without a rule does not compile. Where the obvious formula
//! cancels or overflows, a better one is used; `docs/gradients.md` lists them, with the values at special points. The operands of
//! a node have one float dtype and broadcast together, so the operators here cannot fail.

use broadloom_core::node::Args;
use broadloom_core::{DType, Op, Scalar, fold};
use broadloom_ir::Reduction;
use broadloom_mem::FloatEnv;
use smallvec::smallvec;

use super::linear::Partial::{self, Flat, Negative, One, Over, Refused, Shared, Times, Zero};
use super::linear::{Chosen, constant, number};
use super::regions::stopped;
use crate::array::{Array, Kind};
use crate::functions::{fma, where_};

const LN_2: f64 = std::f64::consts::LN_2;
const TWO_OVER_ROOT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
const HALF_ROOT_PI: f64 = 0.886_226_925_452_758;
const ROOT_TWO_PI: f64 = 2.506_628_274_631_000_5;

/// The derivative of the node `y`, which applies `op` to operands, for the operand number `i`. An operand that is differentiated
/// with respect to is a variable, whatever it was computed from.
pub(super) fn partial<'a>(
    op: Op,
    i: usize,
    y: &Array<'a>,
    operands: &Args<Array<'a>>,
    is_argument: &dyn Fn(&Array<'a>) -> bool,
) -> Partial<'a> {
    let operand = |i: usize| operands.get(i).unwrap_or(y);
    let (x, x2) = (operand(0), operand(1));
    match op {
        Op::Abs => Flat(x.equal(0.0), x.sign()),
        Op::Acos => Times(-root_of_one_minus_square(x).reciprocal()),
        Op::Acosh => Times(((x - 1.0).sqrt() * (x + 1.0).sqrt()).reciprocal()),
        Op::Add => One,
        Op::Asin => Over(root_of_one_minus_square(x)),
        Op::Asinh => Over(x.hypot(1.0)),
        Op::Atan => Times(reciprocal_of_one_plus_square(x)),
        Op::Atan2 => of_angle(i, x, x2),
        Op::Atanh => Over((1.0 - x) * (x + 1.0)),
        Op::Cbrt => Over(y.square() * 3.0),
        Op::Ceil | Op::Floor | Op::Round | Op::Trunc | Op::Sign | Op::FloorDivide => Zero,
        Op::Clip => of_clip(i, x, x2, operand(2)),
        Op::CopySign if i == 0 => Flat(x.equal(0.0), x.sign() * number(1.0, x.dtype()).copysign(x2)),
        Op::CopySign => Zero,
        Op::Cos => Times(-x.sin()),
        Op::Cosh => Times(x.sinh()),
        Op::Divide if i == 0 => Over(x2.clone()),
        Op::Divide => Times(-(y / x2)),
        Op::Erf => Times(exp_of_square(x, true) * TWO_OVER_ROOT_PI),
        Op::Erfc => Times(exp_of_square(x, true) * -TWO_OVER_ROOT_PI),
        Op::ErfInv => Times(exp_of_square(y, false) * HALF_ROOT_PI),
        Op::Exp => Times(y.clone()),
        Op::Exp2 => Times(y * LN_2),
        Op::ExpM1 => Times(x.exp()),
        Op::Fma => match i {
            0 => Times(x2.clone()),
            1 => Times(x.clone()),
            _ => One,
        },
        Op::Hypot => of_hypot(operand(i), operand(1 - i), y),
        Op::Log => Over(x.clone()),
        Op::Log1p => Over(x + 1.0),
        Op::Log2 => Over(x * LN_2),
        // The product of an operand and ln 10 may overflow.
        Op::Log10 => Times(number(std::f64::consts::LOG10_E, x.dtype()) / x),
        Op::LogAddExp => Times(if i == 0 { share_of_exp(x, x2) } else { share_of_exp(x2, x) }),
        Op::Maximum | Op::Minimum => Shared(smallvec![of_extreme(op, operand(i), operand(1 - i))]),
        Op::Multiply => Times(operand(1 - i).clone()),
        Op::Ndtri => Times(exp_of_square(&(y * std::f64::consts::FRAC_1_SQRT_2), false) * ROOT_TWO_PI),
        Op::Negative => Negative,
        Op::NextAfter => Refused("its results are adjacent floats"),
        Op::Positive | Op::CanonicalNan => One,
        Op::Pow if i == 0 => of_base(x, x2, y, is_argument),
        Op::Pow => Flat(x.equal(0.0).logical_and(x2.greater_equal(0.0)), y * x.log()),
        Op::Reciprocal => Times(-y.square()),
        Op::Remainder if i == 0 => One,
        Op::Remainder => Times(-((x - y) / x2).round()),
        Op::Sin => Times(x.cos()),
        Op::Sinh => Times(x.cosh()),
        Op::Sqrt if is_sum_of_squares(x, is_argument) => Flat(y.equal(0.0), 0.5 / y),
        Op::Sqrt => Over(y * 2.0),
        Op::Square => Times(x * 2.0),
        Op::Subtract if i == 0 => One,
        Op::Subtract => Negative,
        Op::Tan => Times(y.square() + 1.0),
        Op::Tanh => Times(square_of_sech(x)),
        Op::Where if i == 0 => Refused("it is a condition"),
        Op::Where => Partial::Where(x.clone(), i == 1),
        Op::Equal
        | Op::Greater
        | Op::GreaterEqual
        | Op::IsFinite
        | Op::IsInf
        | Op::IsNan
        | Op::Less
        | Op::LessEqual
        | Op::NotEqual
        | Op::SignBit => Refused("it is a test"),
        Op::BitwiseAnd
        | Op::BitwiseInvert
        | Op::BitwiseLeftShift
        | Op::BitwiseOr
        | Op::BitwiseRightShift
        | Op::BitwiseXor
        | Op::LogicalAnd
        | Op::LogicalNot
        | Op::LogicalOr
        | Op::LogicalXor
        | Op::PhiloxHigh
        | Op::PhiloxLow
        | Op::TruncDivide => Refused("it takes integers or bools"),
    }
}

/// √(1 − x²), by a product whose factors are exact near ±1.
fn root_of_one_minus_square<'a>(x: &Array<'a>) -> Array<'a> {
    ((1.0 - x) * (x + 1.0)).sqrt()
}

/// 1 / (1 + x²), without overflow of the square.
fn reciprocal_of_one_plus_square<'a>(x: &Array<'a>) -> Array<'a> {
    let size = x.abs();
    let scale = size.maximum(1.0).reciprocal();
    &scale / (&scale + (&size * size.minimum(1.0)).positive())
}

/// 1 / cosh(x)², without overflow of the square.
fn square_of_sech<'a>(x: &Array<'a>) -> Array<'a> {
    let ratio = (x.abs() * -2.0).exp();
    (&ratio * 4.0) / (ratio + 1.0).square()
}

/// The derivative of `atan2(x1, x2)`; 0 at the origin and for infinite operands. With the quotient t of the smaller operand by the
/// larger one, r² is the square of the larger one times 1 + t², and does not overflow.
fn of_angle<'a>(i: usize, x1: &Array<'a>, x2: &Array<'a>) -> Partial<'a> {
    let is_steep = x1.abs().greater(x2.abs());
    let larger = where_(&is_steep, x1, x2);
    let ratio = where_(&is_steep, x2, x1) / &larger;
    let inverse = (ratio.square() + 1.0).reciprocal() / &larger;
    let product = &inverse * &ratio;
    let derivative =
        if i == 0 { where_(&is_steep, product, inverse) } else { -where_(&is_steep, inverse, product) };
    let is_end = larger.equal(0.0).logical_or(x1.isinf()).logical_or(x2.isinf());
    Partial::Flat(is_end, derivative)
}

/// The derivative of `y = hypot(x, other)` for x: x / y, with both divided by the larger operand, since y may overflow.
fn of_hypot<'a>(x: &Array<'a>, other: &Array<'a>, y: &Array<'a>) -> Partial<'a> {
    let larger = x.abs().maximum(other.abs());
    let ratio = x.abs().minimum(other.abs()) / &larger;
    Partial::Flat(y.equal(0.0), x / larger / (ratio.square() + 1.0).sqrt())
}

/// exp(x²), or exp(−x²). The rounding error of the square is computed and compensated, since the exponential magnifies it.
fn exp_of_square<'a>(x: &Array<'a>, is_negative: bool) -> Array<'a> {
    // From 40 on, the result is 0 or infinity, and an infinite square would have no error.
    let x = where_(x.abs().greater(40.0), 40.0, x);
    let square = x.square();
    // A further derivative takes it as a constant, since the exact function has no rounding error.
    let error = stopped(&fma(&x, &x, -&square));
    if is_negative { (-square).exp() * (1.0 - error) } else { square.exp() * (error + 1.0) }
}

/// exp(a) / (exp(a) + exp(b)), from the difference and its rounding error.
fn share_of_exp<'a>(a: &Array<'a>, b: &Array<'a>) -> Array<'a> {
    let difference = b - a;
    // The rounding error of the difference, exact by Knuth's algorithm; NaN if the difference overflows.
    let back = &difference - b;
    let error = (b - (&difference - &back)) - (a + &back);
    let error = stopped(&where_(error.isfinite(), error, 0.0));
    let difference = where_(a.equal(b), 0.0, difference);
    // The exponential of minus the size of the difference does not overflow.
    let is_small = difference.greater(0.0);
    let ratio = (-difference.abs()).exp();
    let ratio = (&ratio * where_(&is_small, 1.0 - &error, error + 1.0)).positive();
    where_(is_small, &ratio, 1.0) / (ratio + 1.0)
}

/// The derivative of `maximum` or `minimum`. Equal operands share it, and so do NaNs; an operand that is not NaN has none beside
/// one that is.
fn of_extreme<'a>(op: Op, x: &Array<'a>, other: &Array<'a>) -> Chosen<'a> {
    let is_result = |x: &Array<'a>, other: &Array<'a>| {
        let is_ahead = if op == Op::Maximum { x.greater_equal(other) } else { x.less_equal(other) };
        is_ahead.logical_or(x.isnan())
    };
    Chosen { selected: is_result(x, other), tied: is_result(other, x) }
}

/// The derivative of `minimum(maximum(x, low), high)`, by those of both functions.
fn of_clip<'a>(i: usize, x: &Array<'a>, low: &Array<'a>, high: &Array<'a>) -> Partial<'a> {
    let raised = x.maximum(low);
    Shared(match i {
        0 => smallvec![of_extreme(Op::Minimum, &raised, high), of_extreme(Op::Maximum, x, low)],
        1 => smallvec![of_extreme(Op::Minimum, &raised, high), of_extreme(Op::Maximum, low, x)],
        _ => smallvec![of_extreme(Op::Minimum, high, &raised)],
    })
}

/// The derivative of `y = pow(x, power)` for the base.
fn of_base<'a>(
    x: &Array<'a>,
    power: &Array<'a>,
    y: &Array<'a>,
    is_argument: &dyn Fn(&Array<'a>) -> bool,
) -> Partial<'a> {
    let is_norm = |p: Option<f64>| {
        is_sum_of_powers(x, is_argument) || p == Some(0.5) && is_sum_of_squares(x, is_argument)
    };
    if let Some(p) = constant(power) {
        if p == 0.0 {
            return Zero;
        }
        if p == 1.0 {
            return One;
        }
        if p == 2.0 {
            return Times(x * 2.0);
        }
        let less = {
            let _ieee = FloatEnv::ieee();
            let less = fold::cast(Scalar::of(p - 1.0), x.dtype());
            fold::cast(less, DType::Float64).get::<f64>().filter(|less| less + 1.0 == p && p - less == 1.0)
        };
        if let Some(less) = less {
            let derivative = x.pow(less) * p;
            return if is_norm(Some(p)) { Flat(x.equal(0.0), derivative) } else { Times(derivative) };
        }
    }
    // power · x^(power − 1), unless power − 1 is rounded, as for a small power and for one beyond the precision of the dtype.
    let less = power - 1.0;
    let is_exact = (&less + 1.0).equal(power).logical_and((power - &less).equal(1.0));
    let is_steep = x.equal(0.0).logical_and(power.greater(0.0));
    let of_quotient = where_(is_steep, f64::INFINITY, y / x * power);
    let derivative = where_(is_exact, x.pow(less) * power, of_quotient);
    let is_constant = power.equal(0.0);
    Flat(if is_norm(None) { is_constant.logical_or(x.equal(0.0)) } else { is_constant }, derivative)
}

/// Whether the array is a sum of squares, apart from conversions, divisors and constant factors: its square root is then a norm, whose
/// derivative at the origin is 0.
fn is_sum_of_squares<'a>(x: &Array<'a>, is_argument: &dyn Fn(&Array<'a>) -> bool) -> bool {
    summand(x, is_argument).is_some_and(|x| match &x.0.kind {
        Kind::Apply { op: Op::Square, .. } => true,
        Kind::Apply { op: Op::Multiply, args, .. } => {
            args.get(0).zip(args.get(1)).is_some_and(|(x, y)| x.is_same(y))
        }
        Kind::Apply { op: Op::Pow, args, .. } => args.get(1).and_then(constant) == Some(2.0),
        _ => false,
    })
}

/// Whether the array is a sum of powers of absolute values, of which a root is a norm.
fn is_sum_of_powers<'a>(x: &Array<'a>, is_argument: &dyn Fn(&Array<'a>) -> bool) -> bool {
    summand(x, is_argument).is_some_and(|x| {
        let base = x.0.kind.args_of(Op::Pow).and_then(|args| args.get(0));
        base.is_some_and(|base| base.0.kind.args_of(Op::Abs).is_some())
    })
}

/// The elements of a sum, apart from conversions, and from divisors and constant factors of the sum.
fn summand<'x, 'a>(x: &'x Array<'a>, is_argument: &dyn Fn(&Array<'a>) -> bool) -> Option<&'x Array<'a>> {
    /// A norm has no more conversions, factors and divisors than this.
    const STEPS: usize = 8;
    let (mut x, mut is_summed) = (x, false);
    for _ in 0..STEPS {
        x = match &x.0.kind {
            _ if is_argument(x) => return None,
            Kind::Cast { arg, .. } => arg,
            Kind::Apply { op: Op::Divide, args, .. } if !is_summed => args.get(0)?,
            Kind::Apply { op: Op::Multiply, args, .. } if !is_summed => {
                let (x, y) = (args.get(0)?, args.get(1)?);
                match (constant(x), constant(y)) {
                    (Some(_), _) => y,
                    (_, Some(_)) => x,
                    _ => return None,
                }
            }
            Kind::Reduce { arg, reduction: Reduction::Sum, .. } if !is_summed => {
                is_summed = true;
                arg
            }
            _ => return is_summed.then_some(x),
        };
    }
    None
}
