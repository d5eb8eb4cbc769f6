//! Numbers combined with arrays: every dtype with bool, integer and float literals, in both promotion modes and in either order.
//! Literals up to the limits of the dtype are accepted and others rejected, and the literal becomes the expected element.

use broadloom::prelude::*;
use broadloom::{ErrorKind, Literal, Op, functions};
use broadloom_testkit::elements;
use broadloom_testkit::{Value, oracle};

use DType::{Bool, Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};

const MODES: [Promotion; 2] = [Promotion::Strict, Promotion::NumPy];

fn ones(dtype: DType) -> Array<'static> {
    Array::ones(&[2], dtype).expect("small")
}

/// The dtype or kind of error of an op on an array and a literal, which must not depend on their order.
fn meet(
    name: &str,
    dtype: DType,
    literal: Literal,
    mode: Promotion,
) -> std::result::Result<DType, ErrorKind> {
    let op = Op::from_name(name).expect("an op");
    let (x, y) = (ones(dtype), Array::scalar(literal));
    let [one, other] = [[x.clone(), y.clone()], [y, x]].map(|operands| {
        let result = with_promotion(mode, || Array::apply(op, &operands));
        result.map(|x| x.dtype()).map_err(|e| {
            assert!(e.to_string().starts_with(&format!("{name}: ")), "{e}");
            e.kind()
        })
    });
    assert_eq!(one, other, "{name} of {dtype} and {literal:?}, {mode:?}");
    one
}

/// An array's dtype, and the dtypes, in strict mode and in NumPy's mode, to which the array promotes with the literal 1 and with
/// the literal 0.5.
type Promoted = (DType, [Option<DType>; 2], [Option<DType>; 2]);
const MET: [Promoted; 12] = [
    (Bool, [None, Some(Int64)], [None, Some(Float64)]),
    (Int8, [Some(Int8), Some(Int8)], [None, Some(Float64)]),
    (Int16, [Some(Int16), Some(Int16)], [None, Some(Float64)]),
    (Int32, [Some(Int32), Some(Int32)], [None, Some(Float64)]),
    (Int64, [Some(Int64), Some(Int64)], [None, Some(Float64)]),
    (UInt8, [Some(UInt8), Some(UInt8)], [None, Some(Float64)]),
    (UInt16, [Some(UInt16), Some(UInt16)], [None, Some(Float64)]),
    (UInt32, [Some(UInt32), Some(UInt32)], [None, Some(Float64)]),
    (UInt64, [Some(UInt64), Some(UInt64)], [None, Some(Float64)]),
    (Float16, [Some(Float16), Some(Float16)], [Some(Float16), Some(Float16)]),
    (Float32, [Some(Float32), Some(Float32)], [Some(Float32), Some(Float32)]),
    (Float64, [Some(Float64), Some(Float64)], [Some(Float64), Some(Float64)]),
];

#[test]
fn every_dtype_with_every_kind_of_literal() {
    for (dtype, one, half) in MET {
        for (literal, row) in [(Literal::Int(1), one), (Literal::Float(0.5), half)] {
            for (mode, met) in MODES.into_iter().zip(row) {
                let want = |dtype: Option<DType>| dtype.ok_or(ErrorKind::DType);
                let place = format!("{dtype} and {literal:?}, {mode:?}");
                assert_eq!(meet("maximum", dtype, literal, mode), want(met), "{place}");
                assert_eq!(meet("equal", dtype, literal, mode), want(met.map(|_| Bool)), "{place}");
                // Integers are divided as float64. In NumPy's mode, other float functions convert integers to floats of twice their
                // width.
                let float = met.map(|met| if met.is_float() { met } else { Float64 });
                assert_eq!(meet("divide", dtype, literal, mode), want(float), "{place}");
                let float = match (literal, dtype) {
                    (Literal::Int(_), Int8 | UInt8) => Some(Float16),
                    (Literal::Int(_), Int16 | UInt16) => Some(Float32),
                    _ => float,
                };
                let float = float.filter(|_| dtype.is_float() || mode == Promotion::NumPy);
                assert_eq!(meet("hypot", dtype, literal, mode), want(float), "{place}");
            }
        }
        // In strict mode, a bool with numbers is an error, and so is a number with bools.
        let want = if dtype == Bool { Ok(Bool) } else { Err(ErrorKind::DType) };
        for name in ["equal", "logical_or"] {
            assert_eq!(meet(name, dtype, Literal::Bool(true), Promotion::Strict), want, "{name} {dtype}");
        }
        for (mode, want) in MODES.into_iter().zip([Err(ErrorKind::DType), Ok(Bool)]) {
            assert_eq!(meet("logical_xor", dtype, Literal::Int(1), mode), want, "{dtype}");
        }
    }
    // In NumPy's mode, a number combined with bools is an int64, and must fit it.
    let most = i128::from(i64::MAX);
    assert_eq!(meet("add", Bool, Literal::Int(most), Promotion::NumPy), Ok(Int64));
    assert_eq!(meet("add", Bool, Literal::Int(most + 1), Promotion::NumPy), Err(ErrorKind::Literal));
    // Bools are added only in NumPy's mode, where the sum is their logical or.
    for (mode, want) in MODES.into_iter().zip([Err(ErrorKind::DType), Ok(Bool)]) {
        assert_eq!(meet("add", Bool, Literal::Bool(true), mode), want);
        assert_eq!(meet("equal", Bool, Literal::Bool(true), mode), Ok(Bool));
    }
}

/// The minimum and maximum of each integer dtype.
const RANGES: [(DType, i128, i128); 8] = [
    (Int8, -128, 127),
    (Int16, -32_768, 32_767),
    (Int32, -2_147_483_648, 2_147_483_647),
    (Int64, -9_223_372_036_854_775_808, 9_223_372_036_854_775_807),
    (UInt8, 0, 255),
    (UInt16, 0, 65_535),
    (UInt32, 0, 4_294_967_295),
    (UInt64, 0, 18_446_744_073_709_551_615),
];

#[test]
fn integers_fit_to_the_ends_of_the_range_and_no_further() {
    for (dtype, least, greatest) in RANGES {
        for mode in MODES {
            for name in ["add", "equal", "bitwise_and", "floor_divide", "bitwise_left_shift", "pow", "less"] {
                let result = if ["equal", "less"].contains(&name) { Bool } else { dtype };
                for x in [least, greatest, 0, 1] {
                    assert_eq!(meet(name, dtype, Literal::Int(x), mode), Ok(result), "{name} {dtype} {x}");
                }
                for x in [least - 1, greatest + 1, i128::MIN, i128::MAX, 1 << 64, -(1 << 63) - 1] {
                    let got = meet(name, dtype, Literal::Int(x), mode);
                    // NumPy compares integer arrays with integers of any size.
                    let is_compared = mode == Promotion::NumPy && result == Bool;
                    let want = if is_compared { Ok(Bool) } else { Err(ErrorKind::Literal) };
                    assert_eq!(got, want, "{name} {dtype} {x}");
                }
            }
            for x in [least, least + 1, -1, 0, 1, greatest - 1, greatest] {
                if (least..=greatest).contains(&x) {
                    let mask = u64::MAX >> (64 - 8 * dtype.size());
                    assert_eq!(element(dtype, Literal::Int(x), mode), x as u64 & mask, "{dtype} {x}");
                }
            }
        }
    }
}

/// The element to which a literal is converted when it is combined with an array.
fn element(dtype: DType, literal: Literal, mode: Promotion) -> u64 {
    let yes = Array::from_vec(vec![true; 2]);
    let x = with_promotion(mode, || functions::try_where(&yes, literal, ones(dtype)));
    let x = x.unwrap_or_else(|e| panic!("{dtype} and {literal:?}: {e}"));
    assert_eq!(x.dtype(), dtype);
    elements::bits(&x).expect("evaluates")[1]
}

/// A dtype; the smallest float64 that is too large for it; a smaller float64 that is rounded to the dtype's largest number; and the
/// bits of this number.
const LARGEST: [(DType, f64, f64, u64); 2] = [
    (Float16, 65_520.0, 65_519.999_999_999_99, 0x7bff),
    (Float32, 3.402_823_567_797_336_6e38, 3.402_823_567_797_336e38, 0x7f7f_ffff),
];

#[test]
fn floats_are_rounded_and_fail_only_where_they_become_infinite() {
    for mode in MODES {
        for (dtype, too_large, fits, bits) in LARGEST {
            let sign = 1 << (8 * dtype.size() - 1);
            assert_eq!(element(dtype, Literal::Float(fits), mode), bits);
            assert_eq!(element(dtype, Literal::Float(-fits), mode), bits | sign);
            for x in [too_large, -too_large, f64::MAX, f64::MIN] {
                for name in ["add", "equal", "hypot", "pow"] {
                    let want = match mode {
                        Promotion::Strict => Err(ErrorKind::Literal),
                        Promotion::NumPy => Ok(if name == "equal" { Bool } else { dtype }),
                    };
                    assert_eq!(meet(name, dtype, Literal::Float(x), mode), want, "{x}");
                }
            }
        }
        for dtype in [Float16, Float32, Float64] {
            for x in [
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
                0.0,
                -0.0,
                0.1,
                5e-324,
                -1e-300,
                // Half the smallest subnormal numbers, and slightly more.
                2f64.powi(-25),
                2f64.powi(-25) * (1.0 + f64::EPSILON),
                2f64.powi(-150),
                2f64.powi(-150) * (1.0 + f64::EPSILON),
                // Ties, and numbers next to them.
                1.0 + 2f64.powi(-11),
                1.0 + 2f64.powi(-11) + 2f64.powi(-50),
                1.0 + 3.0 * 2f64.powi(-11),
                1.0 + 2f64.powi(-24),
                1.0 + 2f64.powi(-24) + 2f64.powi(-50),
                1.0 + 3.0 * 2f64.powi(-24),
            ] {
                let want = oracle::cast(Value::F64(x), dtype.name()).bits();
                let got = element(dtype, Literal::Float(x), mode);
                assert_eq!(elements::difference(dtype, &[got], &[want]), None, "{dtype} {x:?}");
            }
        }
        assert_eq!(element(Float64, Literal::Float(f64::MAX), mode), f64::MAX.to_bits());
    }
}

/// A float dtype, an integer, and the bits of the float that is nearest to the integer.
const INTEGERS_AS_FLOATS: [(DType, i128, u64); 22] = [
    (Float16, 1, 0x3c00),
    (Float16, 2048, 0x6800),
    (Float16, 2049, 0x6800),
    (Float16, 2051, 0x6802),
    (Float16, 65_504, 0x7bff),
    (Float16, 65_519, 0x7bff),
    (Float16, -65_519, 0xfbff),
    (Float32, 16_777_217, 0x4b80_0000),
    (Float32, 16_777_219, 0x4b80_0002),
    (Float32, -16_777_219, 0xcb80_0002),
    // Above a tie by 1. Converting to float64 first would make it a tie.
    (Float32, (1 << 62) + (1 << 38) + 1, 0x5e80_0001),
    (Float32, 18_446_744_073_709_551_615, 0x5f80_0000),
    // Integers that exceed every integer dtype.
    (Float32, 1 << 100, 0x7180_0000),
    (Float32, (1 << 100) + (1 << 76), 0x7180_0000),
    (Float32, (1 << 100) + (1 << 76) + 1, 0x7180_0001),
    (Float64, -(1 << 100) - (1 << 47) - 1, 0xc630_0000_0000_0001),
    (Float64, i128::MAX, 0x47e0_0000_0000_0000),
    (Float64, 9_007_199_254_740_993, 0x4340_0000_0000_0000),
    (Float64, 9_007_199_254_740_995, 0x4340_0000_0000_0002),
    (Float64, 9_223_372_036_854_775_807, 0x43e0_0000_0000_0000),
    (Float64, 18_446_744_073_709_551_615, 0x43f0_0000_0000_0000),
    (Float64, -9_223_372_036_854_775_808, 0xc3e0_0000_0000_0000),
];

#[test]
fn integers_beside_floats_are_rounded_once() {
    for mode in MODES {
        for (dtype, x, bits) in INTEGERS_AS_FLOATS {
            assert_eq!(element(dtype, Literal::Int(x), mode), bits, "{dtype} {x}");
        }
        for x in [65_520, -65_520, 70_000, 1 << 63] {
            for name in ["add", "equal", "hypot"] {
                let want = match mode {
                    Promotion::Strict => Err(ErrorKind::Literal),
                    Promotion::NumPy => Ok(if name == "equal" { Bool } else { Float16 }),
                };
                assert_eq!(meet(name, Float16, Literal::Int(x), mode), want, "{x}");
            }
        }
    }
}

/// Numbers of every Rust type are weakly typed.
#[test]
fn numbers_of_every_rust_type() {
    let x = ones(UInt8);
    let sums =
        [&x + 1i8, &x + 1i16, &x + 1i32, &x + 1i64, &x + 1u8, &x + 1u16, &x + 1u32, &x + 1u64, &x + 1usize];
    assert!(sums.iter().all(|x| x.dtype() == UInt8 && x.to_vec::<u8>() == Ok(vec![2; 2])));
    let x = ones(Float16);
    for x in [&x * 0.5f64, &x * 0.5f32, &x * f16::from_f64(0.5), &x / 2u64, &x - f16::from_f64(0.5)] {
        assert_eq!((x.dtype(), elements::bits(&x).expect("evaluates")), (Float16, vec![0x3800; 2]));
    }
    assert_eq!((ones(Bool) ^ true).to_vec::<bool>(), Ok(vec![false; 2]));
}

/// A bool combined with numbers takes their dtype, as in NumPy 2 and as an array of bools does: `int8 + True` is int8.
#[test]
fn a_bool_beside_numbers_takes_their_dtype_in_numpy_mode() {
    for (dtype, ..) in MET {
        if dtype == Bool {
            continue;
        }
        assert_eq!(meet("add", dtype, Literal::Bool(true), Promotion::NumPy), Ok(dtype), "{dtype}");
        let one = oracle::cast(Value::Bool(true), dtype.name()).bits();
        assert_eq!(element(dtype, Literal::Bool(true), Promotion::NumPy), one, "{dtype}");
    }
}

/// As `numpy.clip` of NumPy 2.4 has them: an integer that bounds no element of the array is left out.
#[test]
fn bounds_that_bound_nothing_are_left_out_in_numpy_mode() -> Result<()> {
    let (bytes, signed) = (Array::from([1_u8, 2, 250]), Array::from([1_i8, 2, -3]));
    let limits = Array::from([300_i16, -1, 5]);
    with_promotion(Promotion::NumPy, || -> Result<()> {
        for (low, high, expected) in
            [(-1, 300, [1, 2, 250]), (0, 255, [1, 2, 250]), (-1, 100, [1, 2, 100]), (2, 300, [2, 2, 250])]
        {
            assert_eq!(bytes.clip(low, high).to_vec::<u8>()?, expected, "{low} {high}");
        }
        assert_eq!(signed.clip(0, 128).to_vec::<i8>()?, [1, 2, 0]);
        assert_eq!(bytes.clip(-1, &limits).to_vec::<i16>()?, [1, -1, 5]);
        assert_eq!(bytes.clip(&limits, 300).to_vec::<i16>()?, [300, 2, 250]);
        assert_eq!(bytes.clip(-1, 2.5).to_vec::<f64>()?, [1.0, 2.0, 2.5]);
        let clip = Op::from_name("clip").expect("an op");
        let operands = [bytes.clone(), Array::scalar(-1), Array::scalar(2.5)];
        assert_eq!(Array::operand_dtypes(clip, &operands)?, [Float64; 3]);
        for (low, high) in [(300, 400), (-2, -1)] {
            let error = bytes.try_clip(low, high).expect_err("a bound that the dtype can't represent");
            assert_eq!(error.kind(), ErrorKind::Literal, "{low} {high}");
        }
        let (x, low, high) =
            (Array::from([false, true]), Array::from([true, false]), Array::from([true, false]));
        assert_eq!(x.clip(low, high).to_vec::<bool>()?, [true, false]);
        Ok(())
    })?;
    let error = bytes.try_clip(-1, 300).expect_err("the standard's rule");
    assert!(error.to_string().ends_with("promote as NumPy does (promotion=numpy)"), "{error}");
    Ok(())
}
