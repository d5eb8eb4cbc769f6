//! The dtype that two arrays promote to, for every pair of dtypes in both modes, from tables copied from the Array API standard and
//! NumPy 2; which of these dtypes each class of functions accepts; and that values are converted before the operation.

use broadloom::prelude::*;
use broadloom::{ErrorKind, Op};
use broadloom_testkit::Runner;
use broadloom_testkit::elements;
use broadloom_testkit::oracle::{self, ModelSignature, SIGNATURES};
use broadloom_testkit::{DTYPES, Value, edge_cases, one_of};

/// The standard's table. `--` is undefined.
const STRICT: &str = "
          bool  int8  int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
bool      bool  --    --    --    --    --    --     --     --     --      --      --
int8      --    int8  int16 int32 int64 int16 int32  int64  --     --      --      --
int16     --    int16 int16 int32 int64 int16 int32  int64  --     --      --      --
int32     --    int32 int32 int32 int64 int32 int32  int64  --     --      --      --
int64     --    int64 int64 int64 int64 int64 int64  int64  --     --      --      --
uint8     --    int16 int16 int32 int64 uint8 uint16 uint32 uint64 --      --      --
uint16    --    int32 int32 int32 int64 uint16 uint16 uint32 uint64 --     --      --
uint32    --    int64 int64 int64 int64 uint32 uint32 uint32 uint64 --     --      --
uint64    --    --    --    --    --    uint64 uint64 uint64 uint64 --     --      --
float16   --    --    --    --    --    --    --     --     --     float16 float32 float64
float32   --    --    --    --    --    --    --     --     --     float32 float32 float64
float64   --    --    --    --    --    --    --     --     --     float64 float64 float64
";

const NUMPY: &str = "
          bool    int8    int16   int32   int64   uint8   uint16  uint32  uint64  float16 float32 float64
bool      bool    int8    int16   int32   int64   uint8   uint16  uint32  uint64  float16 float32 float64
int8      int8    int8    int16   int32   int64   int16   int32   int64   float64 float16 float32 float64
int16     int16   int16   int16   int32   int64   int16   int32   int64   float64 float32 float32 float64
int32     int32   int32   int32   int32   int64   int32   int32   int64   float64 float64 float64 float64
int64     int64   int64   int64   int64   int64   int64   int64   int64   float64 float64 float64 float64
uint8     uint8   int16   int16   int32   int64   uint8   uint16  uint32  uint64  float16 float32 float64
uint16    uint16  int32   int32   int32   int64   uint16  uint16  uint32  uint64  float32 float32 float64
uint32    uint32  int64   int64   int64   int64   uint32  uint32  uint32  uint64  float64 float64 float64
uint64    uint64  float64 float64 float64 float64 uint64  uint64  uint64  uint64  float64 float64 float64
float16   float16 float16 float32 float64 float64 float16 float32 float64 float64 float16 float32 float64
float32   float32 float32 float32 float64 float64 float32 float32 float64 float64 float32 float32 float64
float64   float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 float64
";

/// Every pair in a table, with the dtype that it promotes to.
fn pairs(table: &'static str) -> Vec<(DType, DType, Option<DType>)> {
    let mut lines = table.trim_matches('\n').lines();
    let heads: Vec<&str> = lines.next().expect("a head").split_whitespace().collect();
    assert_eq!(heads, DTYPES);
    let rows = lines.zip(DTYPES).flat_map(|(line, dtype)| {
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some(*dtype));
        let cells: Vec<&str> = words.collect();
        assert_eq!(cells.len(), DTYPES.len());
        let cells = cells.into_iter().zip(DTYPES);
        cells.map(|(cell, other)| (of(dtype), of(other), DType::from_name(cell))).collect::<Vec<_>>()
    });
    let all: Vec<_> = rows.collect();
    assert_eq!(all.len(), 144);
    all
}

fn of(name: &str) -> DType {
    DType::from_name(name).expect("a dtype")
}

const MODES: [(Promotion, &str); 2] = [(Promotion::Strict, STRICT), (Promotion::NumPy, NUMPY)];
const INT: &[&str] = &["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];

/// NumPy 2's loops for bools alone, of functions that the standard does not define for bools: the function that is computed, and
/// the dtype to which its operands are converted.
const OF_BOOLS: [(&str, &str, DType); 18] = [
    ("add", "logical_or", DType::Bool),
    ("multiply", "logical_and", DType::Bool),
    ("maximum", "logical_or", DType::Bool),
    ("minimum", "logical_and", DType::Bool),
    ("less", "less", DType::UInt8),
    ("less_equal", "less_equal", DType::UInt8),
    ("greater", "greater", DType::UInt8),
    ("greater_equal", "greater_equal", DType::UInt8),
    ("floor_divide", "floor_divide", DType::Int8),
    ("remainder", "remainder", DType::Int8),
    ("pow", "pow", DType::Int8),
    ("bitwise_left_shift", "bitwise_left_shift", DType::Int8),
    ("bitwise_right_shift", "bitwise_right_shift", DType::Int8),
    ("atan2", "atan2", DType::Float16),
    ("copysign", "copysign", DType::Float16),
    ("hypot", "hypot", DType::Float16),
    ("logaddexp", "logaddexp", DType::Float16),
    ("nextafter", "nextafter", DType::Float16),
];

/// The function that is computed for operands of two dtypes, and the dtype to which they are converted; `None` if the call is an
/// error.
fn computed(
    signature: &ModelSignature,
    [a, b]: [DType; 2],
    met: Option<DType>,
    mode: Promotion,
) -> Option<(&str, DType)> {
    let name = signature.name;
    let is_int = |dtype: DType| INT.contains(&dtype.name());
    // NumPy's loops of float functions use the smallest float that can represent both dtypes.
    let least_float = |dtype: DType| match (dtype.is_float(), dtype.size()) {
        (true, _) => dtype,
        (_, 1) => DType::Float16,
        (_, 2) => DType::Float32,
        _ => DType::Float64,
    };
    if mode == Promotion::NumPy {
        if name.starts_with("logical") {
            return Some((name, DType::Bool));
        }
        if name == "divide" && !met?.is_float() {
            return Some((name, DType::Float64));
        }
        if [a, b] == [DType::Bool; 2]
            && let Some(&(_, function, dtype)) = OF_BOOLS.iter().find(|row| row.0 == name)
        {
            return Some((function, dtype));
        }
        if signature.takes == [false, false, true] && !met?.is_float() {
            return Some((name, least_float(a).max(least_float(b))));
        }
    }
    let met = met?;
    match name {
        "divide" if is_int(met) => Some((name, DType::Float64)),
        _ if signature.takes_dtype(met.name()) => Some((name, met)),
        _ => None,
    }
}

fn binary() -> impl Iterator<Item = (&'static ModelSignature, Op)> {
    let of = |s: &'static ModelSignature| (s, Op::from_name(s.name).expect("an op"));
    SIGNATURES.iter().filter(|s| s.arity == 2).map(of)
}

fn zeros(dtype: DType) -> Array<'static> {
    Array::zeros(&[2], dtype).expect("small")
}

#[test]
fn the_tables_are_symmetric() {
    for (_, table) in MODES {
        let all = pairs(table);
        for (i, &(.., met)) in all.iter().enumerate() {
            assert_eq!(met, all[i % 12 * 12 + i / 12].2);
        }
    }
}

#[test]
fn every_pair_of_dtypes_in_every_function_of_two() {
    let mut checked = [0, 0];
    for (mode, table) in MODES {
        for (a, b, met) in pairs(table) {
            for (signature, op) in binary() {
                let want = computed(signature, [a, b], met, mode).map(|(function, dtype)| {
                    of(ModelSignature::of(function).expect("a function").result_dtype(dtype.name()))
                });
                let got = with_promotion(mode, || Array::apply(op, &[zeros(a), zeros(b)]));
                let place = format!("{op} of {a} and {b}, {mode:?}");
                checked[usize::from(want.is_some())] += 1;
                match got {
                    Ok(x) => assert_eq!(Some(x.dtype()), want, "{place}"),
                    Err(e) => {
                        assert_eq!((want, e.kind()), (None, ErrorKind::DType), "{place}: {e}");
                        let words = e.to_string();
                        assert!(words.starts_with(&format!("{op}: ")), "{place}: {words}");
                        assert!([a, b].iter().all(|d| words.contains(d.name())), "{place}: {words}");
                    }
                }
            }
        }
    }
    assert_eq!(checked.iter().sum::<usize>(), 2 * 144 * 29);
    assert!(checked.iter().all(|&n| n > 2000), "{checked:?}");
}

/// `where` and `clip` for every pair of dtypes, in every position. The condition of `where` must be bool.
#[test]
fn every_pair_of_dtypes_in_functions_of_three() {
    let [choice, clip] = ["where", "clip"].map(|name| Op::from_name(name).expect("an op"));
    for (mode, table) in MODES {
        for (a, b, met) in pairs(table) {
            let dtype = |op: Op, operands: &[DType]| {
                let operands: Vec<_> = operands.iter().map(|&d| zeros(d)).collect();
                let x = with_promotion(mode, || Array::apply(op, &operands));
                x.map(|x| x.dtype()).map_err(|e| assert_eq!(e.kind(), ErrorKind::DType, "{e}")).ok()
            };
            assert_eq!(dtype(choice, &[DType::Bool, a, b]), met, "where {a} {b}, {mode:?}");
            // NumPy accepts a condition of any dtype, and uses its truth value.
            let condition = if a == DType::Bool || mode == Promotion::NumPy { Some(b) } else { None };
            assert_eq!(dtype(choice, &[a, b, b]), condition, "where {a} {b} {b}, {mode:?}");
            // NumPy clips bools.
            let met = met.filter(|&met| met != DType::Bool || mode == Promotion::NumPy);
            for operands in [[a, b, b], [b, a, b], [b, b, a], [a, a, b]] {
                assert_eq!(dtype(clip, &operands), met, "clip {operands:?}, {mode:?}");
            }
        }
    }
}

/// A few values of a dtype, including the limits of its range.
fn some(dtype: DType) -> Vec<u64> {
    let all: Vec<u64> = edge_cases::values(dtype).into_iter().map(|x| x.bits).collect();
    let most = 12;
    let mut some: Vec<u64> = all.iter().copied().step_by(all.len().div_ceil(most)).collect();
    let width = 8 * dtype.size() as u32;
    match dtype.name() {
        "bool" => {}
        name if INT.contains(&name) => some.extend([1 << (width - 1), (1 << (width - 1)) - 1]),
        name => some.extend([-0.0, 1.5, f64::INFINITY].map(|x| oracle::cast(Value::F64(x), name).bits())),
    }
    if INT.contains(&dtype.name()) {
        some.extend([1, u64::MAX >> (64 - width)]);
    }
    some
}

/// The value of an integer's bits.
fn integer(dtype: DType, bits: u64) -> i128 {
    let unused = 64 - 8 * dtype.size() as u32;
    match dtype.name().starts_with('u') {
        true => i128::from(bits),
        false => i128::from((bits << unused) as i64 >> unused),
    }
}

/// Functions that together accept every class of dtypes and return every kind of result.
const OPS: [&str; 11] = [
    "add",
    "divide",
    "floor_divide",
    "remainder",
    "maximum",
    "less",
    "equal",
    "bitwise_xor",
    "bitwise_left_shift",
    "copysign",
    "nextafter",
];

#[test]
fn operands_are_converted_before_the_function_sees_them() {
    let mut checked = 0;
    for (mode, table) in MODES {
        for (i, (a, b, met)) in pairs(table).into_iter().enumerate() {
            let (xs, ys) = (some(a), some(b));
            let n = xs.len() * ys.len();
            let first: Vec<u64> = (0..n).map(|i| xs[i / ys.len()]).collect();
            let second: Vec<u64> = (0..n).map(|i| ys[i % ys.len()]).collect();
            let operands = [elements::array(a, &[n], &first), elements::array(b, &[n], &second)];
            for name in OPS.into_iter().skip(i % one_of(4)).step_by(one_of(4)) {
                let signature = ModelSignature::of(name).expect("in the model");
                let Some((function, dtype)) = computed(signature, [a, b], met, mode) else { continue };
                let op = Op::from_name(name).expect("an op");
                let x = with_promotion(mode, || Array::apply(op, &operands)).expect("types");
                // Integers without a common dtype are compared exactly.
                let is_exact =
                    ["less", "equal"].contains(&name) && INT.contains(&a.name()) && INT.contains(&b.name());
                if is_exact && dtype.is_float() {
                    let compared = |i: usize| {
                        let [x, y] =
                            [(a, first[i]), (b, second[i])].map(|(dtype, bits)| integer(dtype, bits));
                        u64::from(if name == "less" { x < y } else { x == y })
                    };
                    let want: Vec<u64> = (0..n).map(compared).collect();
                    let got = elements::bits(&x.eval().expect("evaluates")).expect("in memory");
                    assert_eq!(got, want, "{name} of {a} and {b}");
                    checked += 1;
                    continue;
                }
                let convert = |from: DType, bits: u64| {
                    let value = Value::from_bits(from.name(), bits).expect("a dtype");
                    oracle::cast(value, dtype.name())
                };
                let want: Vec<u64> = (0..n)
                    .map(|i| oracle::apply(function, &[convert(a, first[i]), convert(b, second[i])]))
                    .map(|x| x.expect("an accepted dtype").bits())
                    .collect();
                for runner in Runner::all() {
                    let options = runner.options();
                    let got = x.eval_with(&options).and_then(|x| elements::bits(&x)).expect("evaluates");
                    let difference = elements::difference(x.dtype(), &got, &want);
                    assert_eq!(difference, None, "{op} of {a} and {b}, {mode:?}, {runner:?}");
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 1200 / one_of(4), "{checked}");
}

/// The dtypes of reductions of integers and bools. Sums are wider. Means and norms take floats, and with NumPy's promotion also
/// others.
#[test]
fn reductions_promote() -> Result<()> {
    let bools = Array::from_vec(vec![true, true, false]);
    let bytes = Array::from_vec(vec![1_u8, 2, 255]);
    let shorts = Array::from_vec(vec![-3_i16, 4, 0]);
    let of = |x: &Array<'static>| -> [Result<Array<'static>>; 8] {
        [
            x.sum(()),
            x.prod(()),
            x.cumulative_sum(None, None, false),
            x.mean(()),
            x.var((), 0.0),
            x.vector_norm((), 2.0),
            x.nanmean(()),
            x.max(()),
        ]
    };
    let dtypes = |x: &Array<'static>| {
        of(x).map(|result| match result {
            Ok(result) => result.dtype().name(),
            Err(e) => {
                assert!(
                    e.kind() == ErrorKind::DType
                        && e.message().contains(&format!("does not take {}", x.dtype())),
                    "{e}"
                );
                assert!(e.help().is_some(), "{e}");
                "error"
            }
        })
    };
    let e = "error";
    let rows: [(&Array<'static>, [&str; 8], [&str; 8]); 3] = [
        (&bools, [e; 8], ["int64", "int64", "int64", "float64", "float64", "float64", "float64", "bool"]),
        (
            &bytes,
            ["uint64", "uint64", "uint64", e, e, e, e, "uint8"],
            ["uint64", "uint64", "uint64", "float64", "float64", "float64", "float64", "uint8"],
        ),
        (
            &shorts,
            ["int64", "int64", "int64", e, e, e, e, "int16"],
            ["int64", "int64", "int64", "float64", "float64", "float64", "float64", "int16"],
        ),
    ];
    for (x, strict, numpy) in rows {
        assert_eq!(dtypes(x), strict, "{x}");
        assert_eq!(with_promotion(Promotion::NumPy, || dtypes(x)), numpy, "{x}");
        assert_eq!([x.any(())?.dtype(), x.count_nonzero(())?.dtype()], [DType::Bool, DType::Int64]);
    }
    with_promotion(Promotion::NumPy, || -> Result<()> {
        assert_eq!(bools.sum(())?.item::<i64>()?, 2);
        assert_eq!(bools.cumulative_sum(None, None, false)?.to_vec::<i64>()?, [1, 2, 2]);
        assert_eq!(
            (bytes.mean(())?.item::<f64>()?, shorts.vector_norm((), 2.0)?.item::<f64>()?),
            (86.0, 5.0)
        );
        let falses = bools.logical_not();
        assert_eq!(
            [bools.vecdot(&bools, -1)?.item::<bool>()?, bools.vecdot(&falses, -1)?.item()?],
            [true, false]
        );
        assert_eq!(bools.vecdot(&bytes, -1)?.dtype(), DType::UInt8);
        assert_eq!(bytes.vecdot(bools.astype(DType::Float32), -1)?.dtype(), DType::Float32);
        Ok(())
    })?;
    let refused = [
        bools.vecdot(&bools, -1),
        bools.vecdot(&bytes, -1),
        bools.cumulative_sum(None, None, false),
        shorts.vector_norm((), 2.0),
        bools.max(()),
        bytes.try_less(300),
        Array::apply(Op::Where, &[bytes.clone(), bytes.clone(), bytes.clone()]),
    ];
    for result in refused {
        let e = result.expect_err("the standard's rule").to_string();
        assert!(e.contains("promote as NumPy does (promotion=numpy)"), "{e}");
    }
    assert_eq!(bytes.vecdot(bytes.astype(DType::Int8), -1)?.dtype(), DType::Int16);
    assert_eq!(bytes.sum(Over::all().dtype(DType::UInt8))?.item::<u8>()?, 2);
    assert!(bytes.sum(Over::all().dtype(DType::Bool)).is_err_and(|e| e.kind() == ErrorKind::DType));
    assert!(bytes.max(Over::all().dtype(DType::Int64)).is_err_and(|e| e.kind() == ErrorKind::DType));
    Ok(())
}
