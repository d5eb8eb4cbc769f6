//! ONNX Div, section by section of the SONNX text: its examples, its constraints, integers of every dtype with zero
//! divisors, and floats with zero divisors. Every float quotient must be within half a unit in the last place of the
//! exact quotient, which is checked with big integers.

use std::cmp::Ordering;

use broadloom::prelude::*;
use broadloom::{ErrorKind, Executor, IntDivision, Options, onnx};
use broadloom_testkit::elements;
use broadloom_testkit::random::Rng;
use broadloom_testkit::{DTYPES, Value, edge_cases, oracle};
use num_bigint::BigUint;

use DType::{Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};

const SIGNED: [DType; 4] = [Int8, Int16, Int32, Int64];
const INTEGERS: [DType; 8] = [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64];
const FLOATS: [DType; 3] = [Float16, Float32, Float64];

fn options(executor: Executor, int_division: IntDivision) -> Options {
    Options { executor, int_division, ..Options::default() }
}

/// The bits of the quotients. Both executors must compute the same bits.
fn divide(dtype: DType, shape: &[usize], a: &[u64], b: &[u64]) -> Vec<u64> {
    let c = onnx::div(elements::array(dtype, shape, a), elements::array(dtype, shape, b)).expect("alike");
    assert_eq!((c.dtype(), c.shape()), (dtype, shape));
    let [one, other] = [Executor::Interp, Executor::Jit].map(|executor| {
        let c = c.eval_with(&options(executor, IntDivision::Zero)).expect("evaluates");
        elements::bits(&c).expect("in memory")
    });
    assert_eq!(elements::difference(dtype, &one, &other), None, "{dtype}");
    one
}

fn nearest(dtype: DType, x: f64) -> u64 {
    oracle::cast(Value::F64(x), dtype.name()).bits()
}

/// An example: its section, shape, numerators, denominators and quotients.
type Example = (&'static str, &'static [usize], &'static [f64], &'static [f64], &'static [f64]);

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;

const EXAMPLES: [Example; 4] = [
    // Those examples of real numbers whose results the text states as numbers, and whose floats are not affected by
    // rounding the operands.
    ("real, 2", &[3], &[4.4, 0.5, 24.8], &[2.2, 1.0, 4.0], &[2.0, 0.5, 6.2]),
    (
        "float, 1",
        &[3, 2],
        &[3.0, 4.5, 16.0, 1.0, 25.5, 24.25],
        &[3.0, 2.0, 4.0, 0.0, 5.0, 4.0],
        &[1.0, 2.25, 4.0, INFINITY, 5.1, 6.0625],
    ),
    (
        "float, 2",
        &[3, 2],
        &[3.25, 4.5, 16.0, 0.0, 25.5, 24.25],
        &[3.0, 2.0, 4.0, 0.0, 5.0, 4.0],
        &[13.0 / 12.0, 2.25, 4.0, NAN, 5.1, 6.0625],
    ),
    (
        "beside float, 1",
        &[4],
        &[-1.0, 1.0, -1.0, -0.0],
        &[0.0, -0.0, -0.0, 0.0],
        &[-INFINITY, -INFINITY, INFINITY, NAN],
    ),
];

#[test]
fn examples_of_floats() {
    for (name, shape, a, b, c) in EXAMPLES {
        for dtype in FLOATS {
            let [a, b, c] = [a, b, c].map(|x| x.iter().map(|&x| nearest(dtype, x)).collect::<Vec<_>>());
            let got = divide(dtype, shape, &a, &b);
            assert_eq!(elements::difference(dtype, &got, &c), None, "{name}, {dtype}");
        }
    }
}

/// The first example of real numbers, and those quotients of the second one that the text states as fractions. Each
/// row contains two operands and the bits of their quotient in float64, float32 and float16, computed by NumPy from
/// the nearest operands of the dtype.
const FRACTIONS: [(f64, f64, u64, u64, u64); 6] = [
    (6.1, 3.0, 0x4000_4444_4444_4444, 0x4002_2222, 0x4011),
    (9.5, 3.3, 0x4007_07c1_f07c_1f08, 0x4038_3e10, 0x41c2),
    (35.7, 5.1, 0x401c_0000_0000_0001, 0x40e0_0001, 0x46ff),
    (3.7, 3.0, 0x3ff3_bbbb_bbbb_bbbc, 0x3f9d_ddde, 0x3cef),
    (16.2, 4.1, 0x400f_9c18_f9c1_8f9c, 0x407c_e0c9, 0x43e7),
    (25.3, 5.2, 0x4013_7627_6276_2762, 0x409b_b13b, 0x44de),
];

#[test]
fn examples_of_reals() {
    for (dtype, column) in [(Float64, 0), (Float32, 1), (Float16, 2)] {
        let [a, b] = [FRACTIONS.map(|row| row.0), FRACTIONS.map(|row| row.1)];
        let [a, b] = [a, b].map(|x| x.map(|x| nearest(dtype, x)));
        let c = FRACTIONS.map(|row| [row.2, row.3, row.4][column]);
        let got = divide(dtype, &[6], &a, &b);
        assert_eq!(elements::difference(dtype, &got, &c), None, "{dtype}");
    }
}

/// The bits of integers, wrapped to a dtype.
fn ints(dtype: DType, x: &[i128]) -> Vec<u64> {
    x.iter().map(|&x| x as u64 & (u64::MAX >> (64 - 8 * dtype.size()))).collect()
}

#[test]
fn examples_of_integers() {
    for dtype in INTEGERS {
        let of = |x: &[i128]| ints(dtype, x);
        let got = divide(dtype, &[3, 2], &of(&[10, 10, 21, 1, 30, 9]), &of(&[3, 2, 4, 1, 5, 4]));
        assert_eq!(got, of(&[3, 5, 5, 1, 6, 2]), "{dtype}");
        if SIGNED.contains(&dtype) {
            let got = divide(dtype, &[3], &of(&[6, 5, -35]), &of(&[3; 3]));
            assert_eq!(got, of(&[2, 1, -11]), "{dtype}");
        }
    }
}

/// The expected quotient of two integers: without its fraction and wrapped, and 0 for a zero divisor.
fn truncated(dtype: DType, a: u64, b: u64) -> u64 {
    let (width, mask) = (8 * dtype.size(), u64::MAX >> (64 - 8 * dtype.size()));
    let integer = |bits: u64| match SIGNED.contains(&dtype) {
        true => i128::from((bits << (64 - width)) as i64 >> (64 - width)),
        false => i128::from(bits),
    };
    // Rust's division also rounds toward zero.
    integer(a).checked_div(integer(b)).unwrap_or(0) as u64 & mask
}

#[test]
fn integers_of_every_dtype() {
    for dtype in INTEGERS {
        let width = 8 * dtype.size();
        let edge_cases: Vec<u64> = if width == 8 {
            (0..256).collect()
        } else {
            edge_cases::values(dtype).into_iter().map(|x| x.bits).collect()
        };
        let mut rng = Rng::new(width as u64);
        let mut number = |_| rng.next() >> rng.below(64) & (u64::MAX >> (64 - width));
        let random: Vec<(u64, u64)> = (0..20_000).map(|i| (number(i), number(i))).collect();
        let pairs = edge_cases.iter().flat_map(|&a| edge_cases.iter().map(move |&b| (a, b))).chain(random);
        let (a, b): (Vec<u64>, Vec<u64>) = pairs.unzip();
        let want: Vec<u64> = a.iter().zip(&b).map(|(&a, &b)| truncated(dtype, a, b)).collect();
        let got = divide(dtype, &[a.len()], &a, &b);
        let differs = (0..a.len()).find(|&i| got[i] != want[i]);
        let shown = differs.map(|i| (a[i], b[i], got[i], want[i]));
        assert_eq!(shown, None, "{dtype}: a, b, what it is and what it should be");
    }
}

#[test]
fn the_least_integer_by_minus_one_wraps() {
    for dtype in SIGNED {
        let least = 1 << (8 * dtype.size() - 1);
        for n in [1, 21] {
            let got = divide(dtype, &[n], &vec![least; n], &ints(dtype, &vec![-1; n]));
            assert_eq!(got, vec![least; n], "{dtype}");
        }
        for int_division in [IntDivision::Zero, IntDivision::Error] {
            let [a, b] = [vec![least], ints(dtype, &[-1])].map(|x| elements::array(dtype, &[1], &x));
            let c = onnx::div(a, b).and_then(|c| c.eval_with(&options(Executor::Auto, int_division)));
            assert_eq!(c.and_then(|c| elements::bits(&c)), Ok(vec![least]), "{dtype}");
        }
    }
}

#[test]
fn division_by_zero_of_integers_follows_the_option() {
    for dtype in INTEGERS {
        for at in [0, 1, 16, 36] {
            let (a, mut b) = (ints(dtype, &[7; 37]), ints(dtype, &[2; 37]));
            b[at] = 0;
            let c = onnx::div(elements::array(dtype, &[37], &a), elements::array(dtype, &[37], &b))
                .expect("alike");
            let mut want = vec![3; 37];
            want[at] = 0;
            for executor in [Executor::Interp, Executor::Jit, Executor::Auto] {
                let zero = c.eval_with(&options(executor, IntDivision::Zero));
                assert_eq!(zero.and_then(|c| elements::bits(&c)), Ok(want.clone()), "{dtype}, {executor:?}");
                let Err(error) = c.eval_with(&options(executor, IntDivision::Error)) else {
                    panic!("{dtype}, {executor:?}: no error")
                };
                assert_eq!(error.kind(), ErrorKind::ZeroDivision, "{error}");
                assert!(error.to_string().starts_with("trunc_divide"), "{error}");
            }
        }
        // With the option `Zero`, 0 / 0 is 0 too. Dividing a float by zero is not an error, with either option.
        let zeros = Array::zeros(&[2], dtype).expect("small");
        assert!(elements::bits(&onnx::div(&zeros, &zeros).expect("alike")) == Ok(vec![0; 2]));
    }
    for dtype in FLOATS {
        let [one, zero] = [1.0, 0.0].map(|x| elements::array(dtype, &[1], &[nearest(dtype, x)]));
        let c =
            onnx::div(&one, &zero).and_then(|c| c.eval_with(&options(Executor::Auto, IntDivision::Error)));
        assert_eq!(c.and_then(|c| elements::bits(&c)), Ok(vec![nearest(dtype, INFINITY)]), "{dtype}");
    }
}

#[test]
fn operands_must_be_of_one_dtype_and_no_bools() {
    let all = || DTYPES.iter().map(|name| DType::from_name(name).expect("a dtype"));
    for mode in [Promotion::Strict, Promotion::NumPy] {
        for (a, b) in all().flat_map(|a| all().map(move |b| (a, b))) {
            let [x, y] = [a, b].map(|dtype| Array::ones(&[2, 3], dtype).expect("small"));
            let got = with_promotion(mode, || onnx::div(&x, &y));
            if a == b && a != DType::Bool {
                assert_eq!(got.map(|c| (c.dtype(), c.shape().to_vec())), Ok((a, vec![2, 3])));
                continue;
            }
            let words = if a == b {
                "onnx::div: does not take bool".to_owned()
            } else {
                format!("onnx::div: {a} and {b} are different dtypes")
            };
            let error = got.err().unwrap_or_else(|| panic!("no error: {words}"));
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::DType, words));
        }
    }
}

#[test]
fn operands_must_be_of_one_shape() {
    let shapes: [&[usize]; 9] = [&[], &[1], &[1, 1], &[6], &[2, 3], &[3, 2], &[1, 6], &[0], &[0, 2]];
    for dtype in [Float32, Int16] {
        for (a, b) in shapes.iter().flat_map(|a| shapes.iter().map(move |b| (*a, *b))) {
            let [x, y] = [a, b].map(|shape| Array::ones(shape, dtype).expect("small"));
            match onnx::div(&x, &y) {
                Ok(c) => {
                    assert_eq!((a, c.shape()), (b, b));
                    assert_eq!(elements::bits(&c).expect("evaluates").len(), b.iter().product::<usize>());
                }
                Err(e) => {
                    assert!(a != b && e.kind() == ErrorKind::Shape, "{a:?} and {b:?}: {e}");
                    assert!(
                        e.to_string().starts_with("onnx::div: ")
                            && e.to_string().ends_with("different shapes")
                    );
                }
            }
        }
    }
}

/// A binary format of IEEE 754.
#[derive(Clone, Copy)]
struct BinaryFormat {
    dtype: DType,
    precision: i32,
    emax: i32,
}

const FORMATS: [BinaryFormat; 3] = [
    BinaryFormat { dtype: Float16, precision: 11, emax: 15 },
    BinaryFormat { dtype: Float32, precision: 24, emax: 127 },
    BinaryFormat { dtype: Float64, precision: 53, emax: 1023 },
];

/// A float, decoded. A number is ±magnitude × 2^exponent.
#[derive(Clone, Copy, Debug)]
enum TakenApart {
    Nan,
    Infinite,
    Number { magnitude: u64, exponent: i32 },
}

impl BinaryFormat {
    fn is_negative(self, bits: u64) -> bool {
        bits >> (8 * self.dtype.size() - 1) == 1
    }

    fn parts(self, bits: u64) -> TakenApart {
        let stored = self.precision as u32 - 1;
        let fraction = bits & ((1 << stored) - 1);
        let biased = (bits >> stored) as i32 & (2 * self.emax + 1);
        let least = 1 - self.emax - stored as i32;
        match biased {
            0 => TakenApart::Number { magnitude: fraction, exponent: least },
            _ if biased < 2 * self.emax + 1 => {
                TakenApart::Number { magnitude: fraction | 1 << stored, exponent: least + biased - 1 }
            }
            _ if fraction == 0 => TakenApart::Infinite,
            _ => TakenApart::Nan,
        }
    }

    /// Whether c is the required result of a / b.
    fn is_quotient(self, a: u64, b: u64, c: u64) -> bool {
        use TakenApart::{Infinite, Nan, Number};
        let is_negative = self.is_negative(a) != self.is_negative(b);
        let (sign, c) = (self.is_negative(c) == is_negative, self.parts(c));
        match (self.parts(a), self.parts(b)) {
            (Nan, _) | (_, Nan) | (Infinite, Infinite) => matches!(c, Nan),
            (Number { magnitude: 0, .. }, Number { magnitude: 0, .. }) => matches!(c, Nan),
            (Infinite, _) | (_, Number { magnitude: 0, .. }) => sign && matches!(c, Infinite),
            (_, Infinite) | (Number { magnitude: 0, .. }, _) => {
                sign && matches!(c, Number { magnitude: 0, .. })
            }
            (Number { .. }, Number { .. }) => sign && self.is_nearest(self.parts(a), self.parts(b), c),
        }
    }

    /// Whether |c| is nearest to |a| / |b|: within half a unit in the last place, with ties to even. c must be
    /// infinite if the quotient exceeds the largest number by half a unit or more, and finite if it does not.
    fn is_nearest(self, a: TakenApart, b: TakenApart, c: TakenApart) -> bool {
        let (
            TakenApart::Number { magnitude: m, exponent: e },
            TakenApart::Number { magnitude: n, exponent: f },
        ) = (a, b)
        else {
            return false;
        };
        // Shifts a magnitude from exponent `e` to the smaller exponent `least`, so that numbers of different exponents
        // can be compared as integers.
        let at = |m: &BigUint, e: i32, least: i32| m << (e - least) as usize;
        let (a, b) = (BigUint::from(m), BigUint::from(n));
        let against = |x: &BigUint, g: i32| {
            let least = e.min(f + g);
            at(&a, e, least).cmp(&at(&(&b * x), f + g, least))
        };
        let one = BigUint::from(1u32);
        // 2^(emax + 1) minus half a unit in the last place of the largest numbers.
        let beyond = (&one << (self.precision as usize + 1)) - &one;
        let overflows = against(&beyond, self.emax - self.precision).is_ge();
        let TakenApart::Number { magnitude, exponent } = c else {
            return matches!(c, TakenApart::Infinite) && overflows;
        };
        let estimate = e + a.bits() as i32 - f - b.bits() as i32;
        let binade = if against(&one, estimate).is_ge() { estimate } else { estimate - 1 };
        let unit = binade.max(1 - self.emax) - self.precision + 1;
        // Compares |a − b·c| with b × 2^(unit − 1).
        let least = e.min(f + exponent).min(f + unit - 1);
        let (a, product) = (at(&a, e, least), at(&(&b * magnitude), f + exponent, least));
        let distance = if a > product { a - product } else { product - a };
        // If the quotient overflows, no finite float is this near.
        match distance.cmp(&at(&b, f + unit - 1, least)) {
            Ordering::Less => true,
            Ordering::Equal => magnitude % 2 == 0,
            Ordering::Greater => false,
        }
    }
}

/// Operands: all pairs of edge-case values, random bits, and pairs whose quotient is near overflow, is subnormal, or
/// is next to a float or to a midpoint between two floats.
fn operands(format: BinaryFormat) -> Vec<(u64, u64)> {
    let width = 8 * format.dtype.size();
    let (mask, stored) = (u64::MAX >> (64 - width), format.precision - 1);
    let edge_cases: Vec<u64> = edge_cases::values(format.dtype).into_iter().map(|x| x.bits).collect();
    let mut pairs: Vec<(u64, u64)> =
        edge_cases.iter().flat_map(|&a| edge_cases.iter().map(move |&b| (a, b))).collect();
    let mut rng = Rng::new(width as u64);
    let bias = format.emax as u64;
    for i in 0..60_000 {
        let (mut a, mut b) = (rng.next() & mask, rng.next() & mask);
        let few =
            |rng: &mut Rng| rng.next() & 0x3 | if rng.chance(1, 2) { 0 } else { ((1 << stored) - 1) & !0x3 };
        if i % 5 == 1 || i % 5 == 3 {
            // Operands whose quotient is near a power of two.
            (a, b) = (a >> stored << stored | few(&mut rng), b >> stored << stored | few(&mut rng));
        }
        if i % 5 > 1 {
            // Exponents whose difference makes the quotient overflow or subnormal.
            let difference = match i % 5 {
                2 => bias + rng.below(3) as u64,
                3 => bias - 1,
                _ => bias + rng.below(stored as usize + 3) as u64,
            };
            let least = 1 + rng.below(2 * bias as usize - difference as usize) as u64;
            let fields = [least, least + difference];
            let [low, high] = [a, b].map(|x| x & !((2 * bias + 1) << stored));
            let (low, high) = (low | fields[0] << stored, high | fields[1] << stored);
            (a, b) = if rng.chance(1, 3) { (high, low) } else { (low, high) };
        }
        pairs.push((a, b));
    }
    pairs
}

#[test]
fn quotients_of_floats_are_within_half_a_unit_of_the_exact_ones() {
    for format in FORMATS {
        let pairs = operands(format);
        let (a, b): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
        let c = divide(format.dtype, &[a.len()], &a, &b);
        let wrong = (0..c.len()).find(|&i| !format.is_quotient(a[i], b[i], c[i]));
        let shown = wrong.map(|i| format!("{:#x} / {:#x} is not {:#x}", a[i], b[i], c[i]));
        assert_eq!(shown, None, "{}", format.dtype);
        // Checks that the check is strict: it rejects both neighbours of a correct quotient, and the quotient with the
        // other sign.
        let finite = |i: &usize| matches!(format.parts(c[*i]), TakenApart::Number { magnitude: 1.., .. });
        let mut judged = 0;
        for i in (0..c.len()).filter(finite).step_by(7) {
            for neighbour in [c[i] - 1, c[i] + 1, c[i] ^ 1 << (8 * format.dtype.size() - 1)] {
                assert!(
                    !format.is_quotient(a[i], b[i], neighbour),
                    "{:#x} / {:#x}: {neighbour:#x}",
                    a[i],
                    b[i]
                );
            }
            judged += 1;
        }
        assert!(judged > 3000, "{judged}");
    }
}
