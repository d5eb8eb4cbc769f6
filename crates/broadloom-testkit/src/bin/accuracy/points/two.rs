//! Random arguments for functions of two arguments, as pairs of numbers of the format.
//!
//! Pairs are drawn by kind. Each kind has its own share and its own maximum in the report, because the result of a pair of
//! arbitrary bits is rarely in range, and never subnormal or close to cancellation.

use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::{FloatFormat, Function};

use super::draw::{any, few_bits, keep_bits, least, near, scaled, tiny, uniform};
use super::hard::edge_cases;
use crate::format::{round, step};

type Pair = [f64; 2];

/// A kind of pairs.
#[derive(Clone, Copy)]
pub struct PairKind {
    /// The name in the report.
    pub name: &'static str,
    /// The relative share of the pairs.
    pub weight: usize,
    draw: fn(FloatFormat, &mut Rng) -> Pair,
}

const fn kind(name: &'static str, draw: fn(FloatFormat, &mut Rng) -> Pair) -> PairKind {
    PairKind { name, weight: 16, draw }
}

const OF_ALL: &[PairKind] = &[
    kind("any bits", |format, rng| [any(rng, format), any(rng, format)]),
    PairKind {
        weight: 2,
        ..kind("an edge case and any bits", |format, rng| [edge_case(format, rng), any(rng, format)])
    },
    kind("one subnormal", |format, rng| [subnormal(format, rng), scaled(rng, format.least, format.greatest)]),
    kind("both subnormal", |format, rng| [subnormal(format, rng), subnormal(format, rng)]),
];

/// Pairs as points of the plane, for atan2 and hypot.
const OF_PLANE: &[PairKind] = &[
    kind("moderate", |_, rng| [uniform(rng, -8.0, 8.0), uniform(rng, -8.0, 8.0)]),
    kind("few bits", |format, rng| {
        let bits = format.precision / 2 + 1;
        let x = few_bits(rng, bits, format.least, format.greatest);
        [x, few_bits(rng, bits, -6, 6) * power_below(x)]
    }),
    kind("comparable", |format, rng| {
        let x = scaled(rng, format.least, format.greatest);
        [x, x * scaled(rng, -4, 4)]
    }),
    kind("one far greater", |format, rng| {
        let x = scaled(rng, format.least, format.greatest);
        [x, x * scaled(rng, -format.precision - 4, format.precision + 4)]
    }),
    // The square of the smaller operand is about half an ulp of the square of the larger one.
    kind("the lesser one about to count", |format, rng| {
        let x = scaled(rng, format.least, format.greatest);
        [x, x * scaled(rng, -format.precision / 2 - 2, -format.precision / 2 + 1)]
    }),
    kind("nearly equal", |format, rng| {
        let x = scaled(rng, format.least, format.greatest);
        [x, near(rng, format, x)]
    }),
    kind("simple ratios", |format, rng| {
        let x = scaled(rng, format.least, format.greatest);
        let (j, bits) = (rng.below(65) as f64, rng.below(7) as i32);
        [x, near(rng, format, x * j / 2_f64.powi(bits))]
    }),
    kind("at thresholds", |format, rng| {
        let large = threshold_of_scale(format, rng);
        [large, large * uniform(rng, -1.0, 1.0)]
    }),
];

const OF_ATAN2: &[PairKind] = &[kind("result at underflow", |format, rng| {
    let far = format.least - format.precision - 1;
    let y = scaled(rng, far / 2, format.greatest);
    let quotient = scaled(rng, far, far + format.precision + 4);
    [y * quotient, y]
})];

const OF_HYPOT: &[PairKind] = &[
    kind("result at underflow", |format, rng| {
        let radius = scaled(rng, format.least - 4, format.least + 1);
        on_circle(rng, radius)
    }),
    kind("result at overflow", |format, rng| {
        let radius = uniform(rng, 0.999, 1.001) * 2_f64.powi(format.greatest);
        on_circle(rng, radius).map(|x| 2.0 * x)
    }),
    kind("small integers", |_, rng| [rng.below(4096) as f64, rng.below(4096) as f64]),
];

const OF_POW: &[PairKind] = &[
    kind("moderate", |format, rng| {
        let (low, high) = (f64::from(format.least), f64::from(format.greatest));
        let size = uniform(rng, low, high);
        power(format, rng, size)
    }),
    kind("few bits", |format, rng| {
        let bits = format.precision / 2 + 1;
        let size = any_size(format, rng);
        let [x, y] = power(format, rng, size);
        [keep_bits(rng, x, bits), keep_bits(rng, y, bits)]
    }),
    kind("result at underflow", |format, rng| {
        let least = f64::from(format.least);
        let size = match rng.below(3) {
            0 => least + scaled(rng, -30, -3),
            1 => least - f64::from(format.precision) + scaled(rng, -30, 1),
            _ => uniform(rng, least - f64::from(format.precision) - 2.0, least),
        };
        power(format, rng, size)
    }),
    kind("result at overflow", |format, rng| {
        let size = f64::from(format.greatest + 1) + scaled(rng, -30, -3);
        power(format, rng, size)
    }),
    kind("result near 1", |format, rng| {
        let size = scaled(rng, -format.precision - 4, 0);
        power(format, rng, size)
    }),
    kind("base near 1", |format, rng| {
        let size = any_size(format, rng);
        let reach = 1_i64 << rng.below(format.precision as usize - 1);
        let x = step(format, 1.0, rng.below(2 * reach as usize + 1) as i64 - reach);
        [x, near(rng, format, size / x.log2())]
    }),
    kind("whole exponent", |format, rng| {
        let (size, y) = (any_size(format, rng), rng.below(129) as f64 - 64.0);
        let sign = if rng.chance(1, 8) { -1.0 } else { 1.0 };
        [sign * (size / y).exp2(), y]
    }),
    kind("exponent in eighths", |format, rng| {
        let (size, y) = (any_size(format, rng), (rng.below(257) as f64 - 128.0) / 8.0);
        [near(rng, format, (size / y).exp2()), y]
    }),
    kind("small exponent", |format, rng| {
        [scaled(rng, format.least, format.greatest).abs(), uniform(rng, -4.0, 4.0)]
    }),
    kind("subnormal base", |format, rng| {
        let (size, x) = (any_size(format, rng), round(format, subnormal(format, rng)).abs());
        [x, near(rng, format, size / x.log2())]
    }),
    kind("exact powers and beside them", |format, rng| {
        let root = rng.below(200) as f64;
        let y = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, -1.0, -0.5][rng.below(9)];
        let x = root.powi(1 << rng.below(3)) * 2_f64.powi(2 * rng.below(20) as i32 - 20);
        [if rng.chance(1, 2) { near(rng, format, x) } else { x }, y]
    }),
];

const OF_LOGADDEXP: &[PairKind] = &[
    kind("moderate", |_, rng| [uniform(rng, -50.0, 50.0), uniform(rng, -50.0, 50.0)]),
    kind("few bits", |format, rng| {
        let bits = format.precision / 2 + 1;
        [few_bits(rng, bits, -12, 5), few_bits(rng, bits, -12, 5)]
    }),
    kind("comparable", |_, rng| {
        let x = 16.0 * uniform(rng, -50.0, 50.0);
        [x, x + uniform(rng, -45.0, 45.0)]
    }),
    kind("both near 0", |format, rng| {
        let low = -format.precision - 6;
        [scaled(rng, low, 3), scaled(rng, low, 3)]
    }),
    kind("one far greater", |_, rng| [scaled(rng, -10, 60), uniform(rng, -50.0, 50.0)]),
    // e^(smaller − larger) is about half an ulp of the larger operand.
    kind("the lesser one about to count", |format, rng| {
        let x = scaled(rng, -format.precision, format.greatest.min(60));
        let least = (x.abs() * 2_f64.powi(-format.precision)).ln();
        [x, x + least + uniform(rng, -3.0, 3.0)]
    }),
    kind("nearly equal", |format, rng| {
        let x = uniform(rng, -50.0, 50.0);
        [x, near(rng, format, x)]
    }),
    kind("both large", |format, rng| [scaled(rng, 0, format.greatest), scaled(rng, 0, format.greatest)]),
    kind("at thresholds", |format, rng| {
        let x = scaled(rng, -format.precision, 10);
        let least = f64::from(format.least - format.precision) * std::f64::consts::LN_2;
        let far = [least, f64::from(format.least) * std::f64::consts::LN_2, 1.5 * least][rng.below(3)];
        [x, near(rng, format, x + far)]
    }),
    // The larger operand, and the exponential of the smaller one, are subnormal or nearly subnormal.
    kind("result at underflow", |format, rng| {
        let x = scaled(rng, format.least - format.precision, format.least + format.precision);
        [x, x.abs().ln() + uniform(rng, -5.0, 5.0)]
    }),
    kind("result near 0", |format, rng| {
        let result = scaled(rng, -12, 1);
        let x = -scaled(rng, -6, 4).abs();
        let power = result.exp_m1() - x.exp_m1();
        let y = if power > 0.0 { power.ln() } else { x };
        [x, near(rng, format, y)]
    }),
];

/// Pairs at which the terms of logaddexp cancel.
const CANCELLING: PairKind = kind("cancelling", cancelling);

/// The kinds of pairs for a function.
pub fn kinds(function: Function, format: FloatFormat) -> Vec<PairKind> {
    let own: &[&[PairKind]] = match function {
        Function::Pow => &[OF_POW],
        Function::LogAddExp => &[OF_LOGADDEXP],
        Function::Hypot => &[OF_PLANE, OF_HYPOT],
        _ => &[OF_PLANE, OF_ATAN2],
    };
    let mut kinds = [&[OF_ALL], own].concat().concat();
    if function == Function::LogAddExp {
        // The weight of this kind of pairs is small for float64: if terms cancel, only the precise reference
        // can judge the result, which takes a hundred times as long.
        kinds.push(PairKind { weight: if format == FloatFormat::FLOAT64 { 2 } else { 64 }, ..CANCELLING });
    }
    kinds
}

impl PairKind {
    /// Draws a pair of this kind.
    pub fn pair(&self, function: Function, format: FloatFormat, rng: &mut Rng) -> Pair {
        let pair = (self.draw)(format, rng).map(|x| round(format, x));
        if function != Function::Pow && rng.chance(1, 2) { [pair[1], pair[0]] } else { pair }
    }
}

fn edge_case(format: FloatFormat, rng: &mut Rng) -> f64 {
    let values = edge_cases(format);
    values[rng.below(values.len())]
}

/// A subnormal number. Either the number or its exponent is uniformly distributed.
fn subnormal(format: FloatFormat, rng: &mut Rng) -> f64 {
    if rng.chance(1, 2) { least(rng, format) } else { tiny(rng, format) }
}

/// The largest power of two not above a number's magnitude.
fn power_below(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & f64::INFINITY.to_bits())
}

fn on_circle(rng: &mut Rng, radius: f64) -> Pair {
    let angle = uniform(rng, 0.0, std::f64::consts::TAU);
    [radius * angle.cos(), radius * angle.sin()]
}

/// A magnitude near a threshold at which an implementation may scale its operands.
fn threshold_of_scale(format: FloatFormat, rng: &mut Rng) -> f64 {
    let exponents = [format.least, format.greatest, format.greatest - 2, -format.least, 30, 63];
    let decimal = [1e-130, 1e100, 1e150, 1e300];
    let place = rng.below(exponents.len() + if format == FloatFormat::FLOAT64 { decimal.len() } else { 0 });
    let anchor = match exponents.get(place) {
        Some(&exponent) => 2_f64.powi(exponent),
        None => decimal[place - exponents.len()],
    };
    near(rng, format, anchor)
}

/// The base-2 logarithm of a result of pow that is in range.
fn any_size(format: FloatFormat, rng: &mut Rng) -> f64 {
    uniform(rng, f64::from(format.least - format.precision - 2), f64::from(format.greatest + 2))
}

/// A base and an exponent whose power is about 2^`size`.
fn power(format: FloatFormat, rng: &mut Rng, size: f64) -> Pair {
    match rng.below(8) {
        0..3 => {
            let x = round(format, scaled(rng, -40, 40).abs());
            let y = size / x.log2();
            if rng.chance(1, 8) { [-x, y.round()] } else { [x, y] }
        }
        3..5 => {
            let x = round(format, uniform(rng, 0.5, 2.0));
            [x, near(rng, format, size / x.log2())]
        }
        5 => {
            let x = round(format, scaled(rng, format.least, format.greatest).abs());
            [x, near(rng, format, size / x.log2())]
        }
        _ => {
            let y = round(format, scaled(rng, -4, 12));
            [near(rng, format, (size / y).exp2()), y]
        }
    }
}

/// A pair whose exponentials sum to nearly 1: solves for x2, and moves it by a few floats.
fn cancelling(format: FloatFormat, rng: &mut Rng) -> Pair {
    let x = round(format, -scaled(rng, -format.precision, 5).abs());
    let power = -x.exp_m1();
    let y = if x > -0.7 { power.ln() } else { (-x.exp()).ln_1p() };
    let reach = 1_i64 << if rng.chance(1, 2) { 1 } else { rng.below(format.precision as usize - 8) };
    [x, step(format, round(format, y), rng.below(2 * reach as usize + 1) as i64 - reach)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fraction of a kind's pairs with a property.
    fn share(function: Function, name: &str, holds: impl Fn(FloatFormat, Pair) -> bool) -> f64 {
        let format = FloatFormat::FLOAT32;
        let kinds = kinds(function, format);
        let kind = kinds.iter().find(|kind| kind.name == name).expect("a kind");
        let mut rng = Rng::new(1);
        let count = (0..4000).filter(|_| holds(format, kind.pair(function, format, &mut rng))).count();
        count as f64 / 4000.0
    }

    fn is_subnormal(x: f64) -> bool {
        x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE)
    }

    #[test]
    fn kinds_are_what_their_names_say() {
        let both = |_, pair: Pair| pair.iter().all(|&x| is_subnormal(x));
        assert!(share(Function::Hypot, "both subnormal", both) > 0.5);
        assert!(
            share(Function::Atan2, "result at underflow", |_, [y, x]| is_subnormal(y / x)
                || is_subnormal(x / y))
                > 0.5
        );
        assert!(share(Function::Hypot, "result at underflow", |_, [x, y]| is_subnormal(x.hypot(y))) > 0.5);
        assert!(share(Function::Pow, "result at underflow", |_, [x, y]| is_subnormal(x.powf(y))) > 0.3);
        let logaddexp = |[x, y]: Pair| x.max(y) + (x.min(y) - x.max(y)).exp().ln_1p();
        assert!(
            share(Function::LogAddExp, "result at underflow", |_, pair| is_subnormal(logaddexp(pair))) > 0.2
        );
        let near_zero = |_, pair: Pair| (1e-4..0.5).contains(&(logaddexp(pair) / pair[0].max(pair[1])).abs());
        assert!(share(Function::LogAddExp, "result near 0", near_zero) > 0.3);
    }
}
