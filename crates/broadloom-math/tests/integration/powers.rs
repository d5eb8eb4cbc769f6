//! Tests the costs of pow and logaddexp, and powers that take the slow path.
//!
//! The cost of equal primitives is counted once, as compilers merge them, so that the bounds hold on every
//! machine. The expected powers are exact: powers of two, powers of one, or powers that are exact by
//! definition.

use std::collections::HashMap;

use broadloom_math::functions::{Exp, Log1p, LogAddExp, Pow};
use broadloom_math::record::{Inst, Primitive, Recorder, Sink, Var};
use broadloom_math::{Binary, Scalar, Unary};

/// Merges equal instructions and adds up the costs of the remaining ones.
struct Cost {
    known: HashMap<Inst, Var>,
    half_cost: u32,
    divisions: usize,
}

impl Sink for Cost {
    fn push(&mut self, inst: Inst) -> Var {
        let next = Var(self.known.len() as u32 + 2);
        *self.known.entry(inst).or_insert_with(|| {
            self.half_cost += inst.primitive.half_cost(inst.dtype);
            self.divisions += usize::from(inst.primitive == Primitive::Div);
            next
        })
    }
}

fn cost(record: impl FnOnce(&mut Recorder<'_>)) -> Cost {
    let mut cost = Cost { known: HashMap::new(), half_cost: 0, divisions: 0 };
    record(&mut Recorder::new(&mut cost));
    cost
}

#[test]
fn a_power_takes_one_quotient_and_few_steps() {
    let double = cost(|o| {
        <Pow as Binary<f64>>::call(o, Var(0), Var(1));
    });
    assert_eq!(double.divisions, 1);
    assert!(double.half_cost <= DOUBLE, "{}", double.half_cost);
    let single = cost(|o| {
        <Pow as Binary<f32>>::call(o, Var(0), Var(1));
    });
    assert_eq!(single.divisions, 1);
    assert!(single.half_cost <= SINGLE, "{}", single.half_cost);
}

/// The maximum costs of pow of float64 and of float32, in halves of a vector instruction. They are equal to
/// the present costs. For comparison: one more division by the base in float64 would cost 8. The slope of the
/// whole lower part of z costs 2; it keeps powers next to overflow below one ulp.
const DOUBLE: u32 = 208;
const SINGLE: u32 = 107;

#[test]
fn logaddexp_costs_little_more_than_its_parts() {
    let whole = cost(|o| {
        <LogAddExp as Binary<f64>>::call(o, Var(0), Var(1));
    });
    let parts = cost(|o| {
        let t = <Exp as Unary<f64>>::call(o, Var(0));
        <Log1p as Unary<f64>>::call(o, t);
    });
    assert!(10 * whole.half_cost <= 13 * parts.half_cost, "{} of {}", whole.half_cost, parts.half_cost);
}

fn pow<T: broadloom_math::Float>(x: T, y: T) -> T
where
    Pow: Binary<T, Out = T>,
{
    <Pow as Binary<T>>::call(&mut Scalar, x, y)
}

#[test]
fn exceptional_bases_and_exponents_have_their_powers() {
    // Subnormal powers of two have exact roots.
    assert_eq!(pow(5e-324, 0.5), f64::from_bits((1023 - 537) << 52));
    assert_eq!(pow(5e-324, -0.5), f64::from_bits((1023 + 537) << 52));
    assert_eq!(pow(-5e-324, 1.0), -5e-324);
    assert_eq!(pow(f64::from_bits(1 << 26), 0.25), f64::from_bits((1023 - 262) << 52));
    assert_eq!(pow(f32::from_bits(1 << 1), 0.25), f32::from_bits((127 - 37) << 23));
    assert_eq!(pow(f32::from_bits(1 << 5), -0.5), f32::from_bits((127 + 72) << 23));
    // Large exponents, whose parity matters, and exponents next to them that are not integers.
    for (y, power) in [
        (4_503_599_627_370_497.0, -1.0),
        (4_503_599_627_370_498.0, 1.0),
        (9_007_199_254_740_991.0, -1.0),
        (9_007_199_254_740_994.0, 1.0),
        (2_251_799_813_685_249.0, -1.0),
        (2_251_799_813_685_247.0, -1.0),
        (1e300, 1.0),
        (f64::INFINITY, 1.0),
    ] {
        assert_eq!(pow(-1.0, y), power, "(−1)^{y}");
        assert_eq!(pow(-1.0, -y), power, "(−1)^−{y}");
    }
    for (y, power) in [(4_194_305.0, -1.0), (8_388_609.0, -1.0), (16_777_215.0, -1.0), (16_777_218.0, 1.0)] {
        assert_eq!(pow(-1.0f32, y), power, "(−1)^{y}");
    }
    for y in [2_251_799_813_685_248.5, 4_503_599_627_370_495.5, 0.5, -1.5] {
        assert!(pow(-1.0f64, y).is_nan(), "(−1)^{y}");
        assert!(pow(-2.0f64, -y).is_nan(), "(−2)^−{y}");
    }
    // The power of −0 is negative only for odd exponents.
    for (y, power) in
        [(3.0, -0.0f64), (2.0, 0.0), (0.5, 0.0), (-3.0, f64::NEG_INFINITY), (-0.5, f64::INFINITY)]
    {
        assert_eq!(pow(-0.0f64, y).to_bits(), power.to_bits(), "(−0)^{y}");
    }
    // Powers with the exponents 1, 2 and −1 are x, x·x and 1/x by definition.
    for x in [3.0f64, -7.0, 1e-310, 1e308, f64::MAX, 0.0, -0.0, f64::INFINITY] {
        assert_eq!(pow(x, 1.0).to_bits(), x.to_bits());
        assert_eq!(pow(x, 2.0).to_bits(), (x * x).to_bits());
        assert_eq!(pow(x, -1.0).to_bits(), (1.0 / x).to_bits());
    }
}
