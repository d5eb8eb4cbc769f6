//! Compares the scalar instance of every function with the oracle, on all pairs of edge-case values. Approximate functions, whose
//! results may differ from the exact ones by less than an ulp, are also tested on ordinary numbers and around their edges.

use std::sync::Mutex;

use broadloom_core::{DType, Op, Scalar, fold};
use broadloom_testkit::oracle::{self, ModelSignature};
use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::Function;
use broadloom_testkit::{Value, edge_cases};

fn value(s: Scalar) -> Value {
    Value::from_bits(s.dtype.name(), s.bits).expect("a dtype of the oracle")
}

fn is_approximate(op: Op, dtype: DType) -> bool {
    dtype.is_float() && ModelSignature::of(op.name()).is_some_and(|s| s.is_approximate)
}

/// The ops that are approximate for a dtype.
fn approximate(dtype: DType, operands: usize) -> impl Iterator<Item = Op> {
    Op::public().filter(move |&op| op.operands() == operands && is_approximate(op, dtype))
}

/// A description of the difference between the scalar instance's result and the oracle's, if there is one.
fn wrong(op: Op, args: &[Scalar]) -> Option<String> {
    let got = fold::apply(op, args).expect("an accepted dtype");
    let values: Vec<Value> = args.iter().copied().map(value).collect();
    let Some(is_right) = oracle::accepts(op.name(), &values, value(got)) else {
        return Some(format!("the oracle has no {op} of {}", args[args.len() - 1].dtype));
    };
    let complaint = || {
        let want = oracle::apply(op.name(), &values).map(|want| format!("{want:?} ({:#x})", want.bits()));
        format!("{op}{args:?}: got {:?} ({:#x}), want {}", value(got), got.bits, want.unwrap_or_default())
    };
    (!is_right).then(complaint)
}

/// Tests calls on all processors. Panics with a list of some wrong results.
fn check(calls: impl Iterator<Item = (Op, Vec<Scalar>)> + Send) {
    let (calls, found) = (Mutex::new(calls), Mutex::new((0, Vec::new())));
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let work = || {
        loop {
            let some: Vec<_> = calls.lock().expect("no panic").by_ref().take(1000).collect();
            let wrong: Vec<_> = some.iter().filter_map(|(op, args)| wrong(*op, args)).collect();
            let mut found = found.lock().expect("no panic");
            (found.0, _) = (found.0 + some.len(), found.1.extend(wrong));
            if some.is_empty() {
                return;
            }
        }
    };
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let (made, mut wrong) = found.into_inner().expect("no panic");
    wrong.sort();
    assert!(
        made > 0 && wrong.is_empty(),
        "{} of {made}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}

#[test]
fn every_op_on_all_pairs() {
    let ops = Op::public().flat_map(|op| op.dtypes().iter().map(move |&dtype| (op, dtype)));
    check(ops.flat_map(|(op, dtype)| {
        // The op divides floats only: integers are converted to float64 by a separate node.
        let mut lists = vec![edge_cases::values(dtype); op.operands()];
        if op == Op::Where {
            lists[0] = edge_cases::values(DType::Bool);
        }
        let total: usize = lists.iter().map(Vec::len).product();
        let most = if is_approximate(op, dtype) { 12_000 } else { 40_000 };
        (0..total).step_by((total / most).max(1) | 1).map(move |mut at| {
            let pick = |list: &Vec<Scalar>| {
                let picked = list[at % list.len()];
                at /= list.len();
                picked
            };
            (op, lists.iter().map(pick).collect())
        })
    }));
}

#[test]
fn every_cast_of_edge_case_values() {
    for &from in DType::ALL {
        for &to in DType::ALL {
            for x in edge_cases::values(from) {
                let (got, want) = (fold::cast(x, to), oracle::cast(value(x), to.name()));
                assert!(value(got).same(&want), "astype({x:?}, {to}): got {got:?}, want {want:?}");
            }
        }
    }
}

/// Conversions to a narrower float dtype, at midpoints between adjacent floats of that dtype and next to them. Errors there
/// indicate wrong rounding, or double rounding.
#[test]
fn narrowing_half_way_between_neighbours() {
    for (from, to) in
        [(DType::Float64, DType::Float16), (DType::Float64, DType::Float32), (DType::Float32, DType::Float16)]
    {
        let wide = |bits: u64| oracle::cast(value(Scalar { dtype: to, bits }), from.name()).bits();
        let mask = u64::MAX >> (64 - 8 * to.size());
        for x in edge_cases::values(to) {
            let (below, above) = (wide(x.bits), wide((x.bits + 1) & mask));
            let half_way = below / 2 + above / 2;
            for bits in [below, half_way - 1, half_way, half_way + 1] {
                let x = Scalar { dtype: from, bits };
                let (got, want) = (fold::cast(x, to), oracle::cast(value(x), to.name()));
                assert!(value(got).same(&want), "astype({x:?}, {to}): got {got:?}, want {want:?}");
            }
        }
    }
}

/// float16 is small enough to be tested completely.
#[test]
fn every_float16_in_unary_functions() {
    let dtype = DType::Float16;
    let unary = Op::public().filter(|op| op.operands() == 1 && op.dtypes().contains(&dtype));
    check(unary.flat_map(|op| (0..=0xffff).map(move |bits| (op, vec![Scalar { dtype, bits }]))));
}

#[test]
fn every_float16_in_casts() {
    for bits in 0..=0xffff {
        let x = Scalar { dtype: DType::Float16, bits };
        for &to in DType::ALL {
            let (got, want) = (fold::cast(x, to), oracle::cast(value(x), to.name()));
            assert!(value(got).same(&want), "astype({x:?}, {to}): got {got:?}, want {want:?}");
        }
    }
}

/// Tests all pairs of 8-bit integers.
#[test]
fn every_pair_of_bytes() {
    check([DType::Int8, DType::UInt8].into_iter().flat_map(|dtype| {
        let binary = Op::public().filter(move |op| op.operands() == 2 && op.dtypes().contains(&dtype));
        let byte = move |bits: u64| Scalar { dtype, bits };
        binary
            .flat_map(move |op| (0..=0xffff).map(move |pair| (op, vec![byte(pair & 0xff), byte(pair >> 8)])))
    }));
}

/// Powers of random integers, whose bases and exponents have every bit length. The wrapped results must be exact.
#[test]
fn powers_of_integers() {
    let integers = DType::ALL.iter().copied().filter(|dtype| dtype.is_integer());
    check(integers.flat_map(|dtype| {
        let mut rng = Rng::new(dtype as u64);
        let mask = u64::MAX >> (64 - 8 * dtype.size());
        (0..20_000).map(move |_| {
            let base = rng.next() & mask >> rng.below(8 * dtype.size());
            let exponent = rng.next() & mask >> rng.below(8 * dtype.size());
            (Op::Pow, [base, exponent].map(|bits| Scalar { dtype, bits }).to_vec())
        })
    }));
}

const FLOATS: [DType; 3] = [DType::Float16, DType::Float32, DType::Float64];

/// The float of a dtype nearest to `x`.
fn float(dtype: DType, x: f64) -> Scalar {
    let bits = oracle::cast(Value::F64(x), dtype.name()).bits();
    Scalar { dtype, bits }
}

/// A number with a random significand, and a binary exponent in a range.
fn ordinary(rng: &mut Rng, dtype: DType, exponents: std::ops::Range<i32>) -> Scalar {
    let exponent = exponents.start + rng.below(exponents.len()) as i32;
    let significand = 1.0 + (rng.next() >> 12) as f64 / 2f64.powi(52);
    let sign = if rng.chance(1, 2) { -1.0 } else { 1.0 };
    float(dtype, sign * significand * 2f64.powi(exponent))
}

/// Arguments at which some function changes its behaviour. Arguments that matter to one function only are
/// listed at its declaration.
const EDGES: [f64; 62] = [
    // Arguments at which exp, sinh and cosh overflow, become subnormal or become 0, in float64, float32 and
    // float16.
    709.782712893384,
    710.4758600739439,
    708.3964185322641,
    744.4400719213812,
    745.1332191019411,
    88.72283905206835,
    89.41598623262829,
    87.33654475055311,
    103.27892990343184,
    103.97207708399179,
    11.089866488461016,
    11.783,
    9.704060527839234,
    16.635532333438686,
    17.328679513998632,
    // Fractions and multiples of log(2), and arguments at which terms of tanh and expm1 become negligible.
    0.34657359027997264,
    std::f64::consts::LN_2,
    1.0397207708399179,
    1.3862943611198906,
    2.0794415416798357,
    4.158883083359671,
    8.317766166719343,
    9.010913347279288,
    17.0,
    18.714973875118524,
    19.06154746539849,
    36.7368005696771,
    37.42994775023705,
    0.5493061443340548,
    // Multiples of π/4, known worst cases of argument reduction (float32 and float64), and integers close to multiples of π.
    std::f64::consts::FRAC_PI_4,
    std::f64::consts::FRAC_PI_2,
    2.356194490192345,
    std::f64::consts::PI,
    4.71238898038469,
    std::f64::consts::TAU,
    7.853981633974483,
    9.42477796076938,
    12.566370614359172,
    22.0,
    33.0,
    355.0,
    710.0,
    52174.0,
    103993.0,
    104348.0,
    245850922.0,
    7.729179757155285e28,
    5.319372648326541e255,
    1e22,
    1e308,
    // Arguments at which inverse functions change their method, and numbers whose squares are negligible
    // beside 1.
    0.125,
    0.25,
    0.4375,
    0.5,
    0.6875,
    1.1875,
    2.4375,
    std::f64::consts::FRAC_1_SQRT_2,
    1e-4,
    1.1e-8,
    1.5e8,
    3e-3,
];

#[test]
fn approximate_functions_at_their_edges() {
    let edges = |op: Op| {
        let own = Function::from_name(op.name()).map_or(&[][..], |function| function.model().edges);
        own.iter().chain(&EDGES).flat_map(|&x| [x, -x, 1.0 / x, 1.0 + x, 1.0 - x])
    };
    check(FLOATS.into_iter().flat_map(move |dtype| {
        approximate(dtype, 1).flat_map(move |op| {
            edges(op).flat_map(move |x| {
                let at = float(dtype, x);
                let near = move |by: i64| Scalar { bits: at.bits.saturating_add_signed(by), ..at };
                (-4..=4).map(move |by| (op, vec![near(by)]))
            })
        })
    }));
}

#[test]
fn approximate_functions_of_ordinary_numbers() {
    check(FLOATS.into_iter().flat_map(|dtype| {
        approximate(dtype, 1).flat_map(move |op| {
            let mut rng = Rng::new(op as u64);
            let mask = u64::MAX >> (64 - 8 * dtype.size());
            (0..4000).map(move |i| {
                let x = match i % 4 {
                    0 => Scalar { dtype, bits: rng.next() & mask },
                    1 => ordinary(&mut rng, dtype, -30..0),
                    _ => ordinary(&mut rng, dtype, -4..10),
                };
                (op, vec![x])
            })
        })
    }));
}

#[test]
fn approximate_functions_of_two_ordinary_numbers() {
    check(FLOATS.into_iter().flat_map(|dtype| {
        approximate(dtype, 2).flat_map(move |op| {
            let mut rng = Rng::new(op as u64);
            let mask = u64::MAX >> (64 - 8 * dtype.size());
            (0..28_000).map(move |i| {
                let (x, y) = match i % 7 {
                    0 => (ordinary(&mut rng, dtype, -4..5), ordinary(&mut rng, dtype, -4..5)),
                    1 => [(); 2].map(|()| Scalar { dtype, bits: rng.next() & mask }).into(),
                    // Operands of similar magnitude.
                    2 => {
                        let x = Scalar { dtype, bits: rng.next() & mask };
                        let y = x.bits.wrapping_add_signed(rng.next() as i64 % (1 << (4 * dtype.size())));
                        (x, Scalar { dtype, bits: y & mask })
                    }
                    // A power close to the largest or smallest numbers of the dtype.
                    3 | 4 => {
                        let x = if i % 7 == 3 {
                            ordinary(&mut rng, dtype, -14..15)
                        } else {
                            near_one(&mut rng, dtype)
                        };
                        let (_, least, largest) = range(dtype);
                        let power = [least, least + 1.0, largest, largest - 1.0][rng.below(4)]
                            + rng.below(100) as f64 / 50.0;
                        (x, float(dtype, power / number(x).abs().log2()))
                    }
                    // exp(x) + exp(y) is 1 or close to it.
                    5 => {
                        let x = number(ordinary(&mut rng, dtype, -1..1)).abs() - 2.0;
                        (float(dtype, x), float(dtype, x - number(ordinary(&mut rng, dtype, -3..1)).abs()))
                    }
                    _ => {
                        let x = number(ordinary(&mut rng, dtype, -9..3)).abs();
                        (float(dtype, -x), float(dtype, (-(-x).exp()).ln_1p()))
                    }
                };
                (op, vec![x, y])
            })
        })
    }));
}

/// The value of a float.
fn number(x: Scalar) -> f64 {
    f64::from_bits(oracle::cast(value(x), "float64").bits())
}

fn near_one(rng: &mut Rng, dtype: DType) -> Scalar {
    let (precision, ..) = range(dtype);
    let distance = number(ordinary(rng, DType::Float64, -precision..-2));
    float(dtype, 1.0 + distance)
}

/// The precision of a dtype in bits, and two binary exponents: the exponent of half the smallest subnormal, and the exponent of
/// the smallest power of two that overflows.
fn range(dtype: DType) -> (i32, f64, f64) {
    match dtype {
        DType::Float16 => (11, -25.0, 16.0),
        DType::Float32 => (24, -150.0, 128.0),
        _ => (53, -1075.0, 1024.0),
    }
}
