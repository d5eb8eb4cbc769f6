//! The approximate functions, for which the standard specifies few results exactly. All executors have the bits of the
//! scalar instance, in every lane, in every tail and with any other elements beside. Results that follow from the
//! functions' symmetries and from the definition of pow are exact.

use broadloom::{Array, DType, Op, Options};
use broadloom_core::op::Law;
use broadloom_core::rewrite::Rules;
use broadloom_core::{Scalar, fold};
use broadloom_testkit::Runner;
use broadloom_testkit::elements;
use broadloom_testkit::oracle::{self, SIGNATURES};
use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::{FloatFormat, Function, Judgement, Symmetry, judge, nearest_to_one};
use broadloom_testkit::{Value, edge_cases};

const FLOATS: [DType; 3] = [DType::Float16, DType::Float32, DType::Float64];
/// The approximate functions, each with every dtype that it accepts, including integers.
fn functions() -> impl Iterator<Item = (Op, DType)> {
    let names = SIGNATURES.iter().filter(|s| s.is_approximate).map(|s| s.name);
    let ops = names.map(|name| Op::from_name(name).unwrap_or_else(|| panic!("there is no {name}")));
    ops.flat_map(|op| op.dtypes().iter().map(move |&dtype| (op, dtype)))
}

fn op(name: &str) -> Op {
    Op::from_name(name).unwrap_or_else(|| panic!("there is no {name}"))
}

fn apply(op: Op, dtype: DType, args: &[u64]) -> u64 {
    let args: Vec<Scalar> = args.iter().map(|&bits| Scalar { dtype, bits }).collect();
    fold::apply(op, &args).expect("an accepted dtype").bits
}

/// The bits of the number of this dtype that is nearest to `x`.
fn number(dtype: DType, x: f64) -> u64 {
    oracle::cast(Value::F64(x), dtype.name()).bits()
}

fn sign_bit(dtype: DType) -> u64 {
    1 << (8 * dtype.size() - 1)
}

/// The result with the opposite sign. A computed NaN is unchanged, because its sign is fixed.
fn opposite(dtype: DType, bits: u64) -> u64 {
    if (Scalar { dtype, bits }).is_nan() { bits } else { bits ^ sign_bit(dtype) }
}

/// Edge-case values, random bits (most of them huge or tiny), and numbers of ordinary size.
fn values(dtype: DType, n: usize, rng: &mut Rng) -> Vec<u64> {
    let mut values: Vec<u64> = edge_cases::values(dtype).into_iter().map(|x| x.bits).collect();
    let mask = u64::MAX >> (64 - 8 * dtype.size());
    values.extend((0..n).map(|_| rng.next() & mask));
    values.extend((0..n).map(|_| ordinary(dtype, rng)));
    let order = rng.permutation(values.len());
    order.into_iter().map(|i| values[i]).collect()
}

fn ordinary(dtype: DType, rng: &mut Rng) -> u64 {
    let magnitude = (1.0 + rng.next() as f64 / 2f64.powi(64)) * 2f64.powi(rng.below(13) as i32 - 6);
    number(dtype, if rng.chance(1, 2) { magnitude } else { -magnitude })
}

/// Unusual angles, exponents and logarithms, for which a function may take its slow path.
fn rare(dtype: DType) -> Vec<u64> {
    let sign = sign_bit(dtype);
    // The exponent bits of infinity, between the sign and the significand, are all ones.
    let (infinity, fraction) = match dtype {
        DType::Float16 => (0x7c00, 10),
        DType::Float32 => (0x7f80_0000, 23),
        _ => (0x7ff0_0000_0000_0000, 52),
    };
    let magnitudes = [
        0,
        1,
        (1 << fraction) - 1,
        1 << fraction,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity - (1 << fraction) + 12345 % (1 << fraction),
        number(dtype, 1.0),
        number(dtype, 30000.0),
        number(dtype, 700.0),
        number(dtype, 131072.0),
        number(dtype, 131072.0) + 1,
        number(dtype, 1e6),
    ];
    magnitudes.iter().flat_map(|&bits| [bits, bits | sign]).collect()
}

fn evaluate(op: Op, dtype: DType, columns: &[&[u64]], runner: Runner, rules: Rules) -> Vec<u64> {
    let operands: Vec<_> =
        columns.iter().map(|column| elements::array(dtype, &[column.len()], column)).collect();
    let x = Array::apply(op, &operands).unwrap_or_else(|e| panic!("{op}: {e}"));
    let options = Options { rules, threads: Some(1), ..runner.options() };
    let result = x.eval_with(&options).unwrap_or_else(|e| panic!("{op} of {dtype}: {e}"));
    elements::bits(&result).unwrap_or_else(|e| panic!("{op} of {dtype}: {e}"))
}

#[track_caller]
fn check(op: Op, dtype: DType, columns: &[&[u64]], want: &[u64]) {
    for runner in Runner::all() {
        let got = evaluate(op, dtype, columns, runner, Rules::On);
        if let Some(difference) = elements::difference(dtype, &got, want) {
            let at =
                (0..want.len()).find(|&i| elements::difference(dtype, &got[i..=i], &want[i..=i]).is_some());
            let args: Vec<String> =
                columns.iter().map(|column| format!("{:#x}", column[at.unwrap_or(0)])).collect();
            panic!("{op}({}) of {dtype}, {runner:?}, {} elements: {difference}", args.join(", "), want.len());
        }
    }
}

fn expected(op: Op, dtype: DType, columns: &[&[u64]]) -> Vec<u64> {
    let args = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<_>>();
    (0..columns[0].len()).map(|i| apply(op, dtype, &args(i))).collect()
}

/// Calls `check` for each function and dtype, with columns of operands.
fn each(n: usize, check: impl Fn(Op, DType, &[&[u64]])) {
    let mut reached = 0;
    for (op, dtype) in functions() {
        let mut rng = Rng::new(op as u64 * 16 + dtype as u64);
        let columns: Vec<Vec<u64>> = (0..op.operands()).map(|_| values(dtype, n, &mut rng)).collect();
        check(op, dtype, &columns.iter().map(|column| &column[..]).collect::<Vec<_>>());
        reached += 1;
    }
    let approximate = Op::public().filter(|op| op.has(Law::Approximate));
    assert_eq!(reached, approximate.map(|op| op.dtypes().len()).sum::<usize>());
}

/// Checks that the functions are compiled. If they were not, these tests would compare the interpreter with itself.
#[cfg(feature = "jit")]
#[test]
fn the_jit_compiles_each_of_them() {
    #[cfg(target_arch = "x86_64")]
    let is_host = is_x86_feature_detected!("avx") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let is_host = cfg!(target_arch = "aarch64");
    for (op, dtype) in functions() {
        let engine = broadloom::Engine::new(broadloom::Limits::default());
        let operands = vec![elements::array(dtype, &[2], &[0, 1]); op.operands()];
        let x = Array::apply(op, &operands).expect("types");
        let options = Runner::JIT.options();
        broadloom::Evaluation::with(&options).engine(&engine).eval_many(&[&x]).expect("evaluates");
        assert_eq!(engine.compiled_kernels(), usize::from(is_host), "{op} of {dtype}");
    }
}

#[test]
fn every_length_and_tail_gives_the_scalar_instances_bits() {
    each(200, |op, dtype, columns| {
        let want = expected(op, dtype, columns);
        for length in 1..=40 {
            for from in [0, 7 * length, want.len() - length] {
                let part: Vec<&[u64]> = columns.iter().map(|c| &c[from..][..length]).collect();
                check(op, dtype, &part, &want[from..][..length]);
            }
        }
        check(op, dtype, columns, &want);
    });
}

#[test]
fn many_elements_give_the_scalar_instances_bits() {
    each(4000, |op, dtype, columns| {
        let want = expected(op, dtype, columns);
        check(op, dtype, columns, &want);
        // The columns repeated nine times, computed by several threads.
        let n = 9 * want.len();
        let again: Vec<Vec<u64>> =
            columns.iter().map(|c| c.iter().copied().cycle().take(n).collect()).collect();
        let operands: Vec<_> = again.iter().map(|column| elements::array(dtype, &[n], column)).collect();
        let x = Array::apply(op, &operands).expect("types");
        for runner in Runner::all() {
            let result = x.eval_with(&runner.options()).expect("evaluates");
            let got = elements::bits(&result).expect("in memory");
            for part in got.chunks(want.len()) {
                assert_eq!(elements::difference(dtype, part, &want), None, "{op} of {dtype}, {runner:?}");
            }
        }
    });
}

/// An element that takes the slow path at each lane between ordinary elements, and an ordinary element between elements
/// that take the slow path.
#[test]
fn rare_elements_at_every_lane_change_no_neighbours() {
    const LENGTH: usize = 33;
    for (op, dtype) in functions() {
        let mut rng = Rng::new(op as u64);
        let column = |rng: &mut Rng, rare: bool| -> Vec<u64> {
            let some = match (op, dtype.is_float()) {
                // The exponentials of any two of these numbers add up to nearly 1.
                (Op::LogAddExp, _) => {
                    [-0.6925, -std::f64::consts::LN_2, -0.6938].map(|x| number(dtype, x)).to_vec()
                }
                (_, true) => self::rare(dtype),
                // Exponents with more bits than the fast path handles.
                (_, false) => vec![64, 65, 100, 127],
            };
            (0..LENGTH)
                .map(|_| if rare { some[rng.below(some.len())] } else { ordinary(dtype, rng) })
                .collect()
        };
        for common in [false, true] {
            let columns: Vec<Vec<u64>> = (0..op.operands()).map(|_| column(&mut rng, common)).collect();
            let others: Vec<Vec<u64>> = (0..op.operands()).map(|_| column(&mut rng, !common)).collect();
            for lane in 0..LENGTH {
                let mut columns = columns.clone();
                for (column, other) in columns.iter_mut().zip(&others) {
                    column[lane] = other[lane];
                }
                let columns: Vec<&[u64]> = columns.iter().map(|column| &column[..]).collect();
                check(op, dtype, &columns, &expected(op, dtype, &columns));
            }
        }
    }
}

/// Arguments for which e^x1 + e^x2 is nearest to 1, so that double-double arithmetic loses all its digits. The results
/// must be the nearest floats.
#[test]
fn logaddexp_near_its_zero_is_the_nearest_number() {
    let rows = nearest_to_one();
    let column = |i: usize| rows.iter().map(|row| row[i].to_bits()).collect::<Vec<u64>>();
    let (greater, less, want) = (column(0), column(1), column(2));
    for columns in [[&greater[..], &less], [&less, &greater]] {
        assert_eq!(expected(Op::LogAddExp, DType::Float64, &columns), want);
        check(Op::LogAddExp, DType::Float64, &columns, &want);
    }
}

/// Checks that f(−x) is −f(x) for odd functions and f(x) for even functions, for many floats.
///
/// The exact results have these symmetries, and so have the correctly rounded results of float16. For the other dtypes
/// the standard only requires an approximation; its symmetry is a requirement of this library.
#[test]
fn odd_functions_are_odd_and_even_ones_even() {
    for function in Function::ALL {
        let is_odd = match function.model().symmetry {
            Symmetry::Odd => true,
            Symmetry::Even => false,
            Symmetry::None => continue,
        };
        let op = op(function.name());
        for dtype in FLOATS {
            for x in values(dtype, 2000, &mut Rng::new(op as u64)) {
                let [there, back] = [x, x ^ sign_bit(dtype)].map(|x| apply(op, dtype, &[x]));
                let want = if is_odd { opposite(dtype, there) } else { there };
                assert_eq!(elements::difference(dtype, &[back], &[want]), None, "{op} of {dtype} {x:#x}");
            }
        }
    }
}

/// Angles whose reduction cancels most, angles at which float32 changes the method of reduction, and angles of any size.
/// The results differ by less than an ulp from the exact sine and cosine.
#[test]
fn sines_and_cosines_are_near() {
    let near =
        (1..1000).chain((1000..90_000).step_by(101)).map(|n| f64::from(n) * std::f64::consts::FRAC_PI_2);
    let seams = [2f64.powi(17), 2f64.powi(18), 2f64.powi(28), 2f64.powi(29)];
    let between = (-1400..1200).map(|k| 1.07f64.powi(k));
    for x in near.chain(seams).chain(between) {
        let middle = x as f32;
        for x in [middle.next_down(), middle, middle.next_up()] {
            for (name, function) in [("sin", Function::Sin), ("cos", Function::Cos)] {
                let got = f32::from_bits(apply(op(name), DType::Float32, &[x.to_bits().into()]) as u32);
                let judged = judge(function, FloatFormat::FLOAT32, x.into(), 0.0, got.into());
                let is_near = matches!(judged, Judgement::Off { ulps, .. } if ulps < 1.0);
                assert!(is_near, "{name}({x:e}) = {got:e}: {judged:?}");
            }
        }
    }
}

/// Functions of two operands have the symmetries of the exact functions.
#[test]
fn two_operands_are_as_symmetric_as_the_functions() {
    for dtype in FLOATS {
        let mut rng = Rng::new(dtype as u64);
        let sign = sign_bit(dtype);
        let (xs, ys) = (values(dtype, 3000, &mut rng), values(dtype, 3000, &mut rng));
        for (&x, &y) in xs.iter().zip(&ys) {
            let same = |name: &str, args: [u64; 2], other: [u64; 2], is_opposite: bool| {
                let [got, want] = [other, args].map(|args| apply(op(name), dtype, &args));
                let want = if is_opposite { opposite(dtype, want) } else { want };
                let difference = elements::difference(dtype, &[got], &[want]);
                assert_eq!(difference, None, "{name} of {dtype}: {args:#x?} and {other:#x?}");
            };
            same("hypot", [x, y], [y, x], false);
            same("hypot", [x, y], [x ^ sign, y], false);
            same("hypot", [x, y], [x, y ^ sign], false);
            same("logaddexp", [x, y], [y, x], false);
            same("atan2", [x, y], [x ^ sign, y], true);
            // An integer exponent from −4 to 4.
            let exponent = rng.below(9) as i32 - 4;
            let is_odd = exponent % 2 != 0;
            let exponent = number(dtype, exponent.into());
            same("pow", [x, exponent], [x ^ sign, exponent], is_odd);
        }
    }
}

#[test]
fn commutative_functions_commute() {
    for op in Op::public().filter(|op| op.has(Law::Commutative)) {
        for &dtype in op.dtypes() {
            let mut rng = Rng::new(op as u64);
            let (xs, ys) = (values(dtype, 500, &mut rng), values(dtype, 500, &mut rng));
            for (&x, &y) in xs.iter().zip(&ys) {
                let result = op.result(dtype).expect("an accepted dtype");
                let difference =
                    elements::difference(result, &[apply(op, dtype, &[x, y])], &[apply(op, dtype, &[y, x])]);
                assert_eq!(difference, None, "{op} of {dtype} {x:#x} and {y:#x}");
            }
        }
    }
}

/// By definition, pow with the exponent 1 is the base, with 2 its square, with −1 its reciprocal and with 0 it is 1; and
/// 1 to any power is 1. The exponent is a literal, a constant or an array, with and without rewrite rules.
#[test]
fn powers_defined_to_the_bit() {
    for &dtype in op("pow").dtypes() {
        let mut rng = Rng::new(dtype as u64);
        let xs = values(dtype, 300, &mut rng);
        let x = elements::array(dtype, &[xs.len()], &xs);
        let exponents: &[f64] =
            if dtype.is_float() { &[1.0, 2.0, -1.0, 0.0, -0.0] } else { &[1.0, 2.0, 0.0] };
        for &exponent in exponents {
            let want: Vec<u64> = match exponent {
                // The result is x itself, or the canonical NaN if x is a NaN.
                1.0 => xs.iter().map(|&x| apply(Op::Multiply, dtype, &[x, number(dtype, 1.0)])).collect(),
                2.0 => xs.iter().map(|&x| apply(Op::Multiply, dtype, &[x, x])).collect(),
                -1.0 => xs.iter().map(|&x| apply(Op::Divide, dtype, &[number(dtype, 1.0), x])).collect(),
                _ => vec![number(dtype, 1.0); xs.len()],
            };
            let element = number(dtype, exponent);
            let literal = Array::scalar(elements::literal(dtype, element));
            let forms = [
                literal.clone(),
                literal.astype(dtype),
                elements::array(dtype, &[xs.len()], &vec![element; xs.len()]),
            ];
            for (form, runner) in
                forms.iter().flat_map(|form| Runner::all().map(move |runner| (form, runner)))
            {
                for rules in [Rules::Off, Rules::On] {
                    let power = Array::apply(op("pow"), &[x.clone(), form.clone()]).expect("types");
                    let options = Options { rules, ..runner.options() };
                    let got =
                        elements::bits(&power.eval_with(&options).expect("evaluates")).expect("in memory");
                    let difference = elements::difference(dtype, &got, &want);
                    assert_eq!(
                        difference, None,
                        "{dtype} to the power of {exponent:?}, {runner:?}, {rules:?}"
                    );
                }
            }
        }
        for x in xs {
            let one = number(dtype, 1.0);
            assert_eq!(apply(op("pow"), dtype, &[one, x]), one, "1 to the power of {x:#x}, {dtype}");
        }
    }
}
