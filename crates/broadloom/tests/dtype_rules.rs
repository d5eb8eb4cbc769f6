//! Which dtypes each function takes and what it gives, for every function and every dtype in both modes: by the classes
//! that the Array API standard names, typed here; of functions of later editions and of ONNX Div, as those say.

use std::collections::BTreeSet;

use broadloom::prelude::*;
use broadloom::{ErrorKind, Op};
use broadloom_testkit::oracle::SIGNATURES;

/// A class of dtypes: whether bool, integers, floats are in it.
type Class = [bool; 3];
const ANY: Class = [true, true, true];
const NUMERIC: Class = [false, true, true];
const FLOATING: Class = [false, false, true];
const INTEGER: Class = [false, true, false];
const INTEGER_OR_BOOLEAN: Class = [true, true, false];
const BOOLEAN: Class = [true, false, false];

/// The dtype of a result.
#[derive(Clone, Copy, PartialEq)]
enum Gives {
    Same,
    Truth,
    /// The operands' dtype if that is floating, else float64.
    Float,
}
use Gives::*;

/// Operands, class, result, and the functions of which that is so.
const RULES: &[(usize, Class, Gives, &str)] = &[
    (1, NUMERIC, Same, "abs ceil floor negative positive round sign square trunc"),
    (1, NUMERIC, Truth, "isfinite isinf isnan"),
    (1, FLOATING, Same, "acos acosh asin asinh atan atanh cos cosh exp expm1"),
    (1, FLOATING, Same, "log log10 log1p log2 sin sinh sqrt tan tanh reciprocal"),
    (1, FLOATING, Truth, "signbit"),
    (1, INTEGER_OR_BOOLEAN, Same, "bitwise_invert"),
    (1, BOOLEAN, Truth, "logical_not"),
    (2, NUMERIC, Same, "add floor_divide maximum minimum multiply pow remainder subtract"),
    (2, NUMERIC, Truth, "greater greater_equal less less_equal"),
    (2, NUMERIC, Float, "divide"),
    (2, ANY, Truth, "equal not_equal"),
    (2, FLOATING, Same, "atan2 copysign hypot logaddexp nextafter"),
    (2, INTEGER, Same, "bitwise_left_shift bitwise_right_shift trunc_divide"),
    (2, INTEGER_OR_BOOLEAN, Same, "bitwise_and bitwise_or bitwise_xor"),
    (2, BOOLEAN, Truth, "logical_and logical_or logical_xor"),
    (3, NUMERIC, Same, "clip"),
    (3, ANY, Same, "where"),
];

const DTYPES: [(DType, usize); 12] = [
    (DType::Bool, 0),
    (DType::Int8, 1),
    (DType::Int16, 1),
    (DType::Int32, 1),
    (DType::Int64, 1),
    (DType::UInt8, 1),
    (DType::UInt16, 1),
    (DType::UInt32, 1),
    (DType::UInt64, 1),
    (DType::Float16, 2),
    (DType::Float32, 2),
    (DType::Float64, 2),
];

#[test]
fn every_function_has_a_rule() {
    let named: Vec<&str> = RULES.iter().flat_map(|(.., names)| names.split_whitespace()).collect();
    let unique: BTreeSet<&str> = named.iter().copied().collect();
    assert_eq!(named.len(), unique.len());
    assert_eq!(unique, Op::public().map(Op::name).collect());
    assert_eq!(unique, SIGNATURES.iter().map(|s| s.name).collect());
}

/// The result's dtype for operands of a dtype, or nothing where it is an error.
fn result(class: Class, gives: Gives, (dtype, kind): (DType, usize), mode: Promotion) -> Option<DType> {
    let becomes_float = kind == 1 && class == FLOATING && mode == Promotion::NumPy;
    let operand = match () {
        () if class[kind] => dtype,
        () if becomes_float => DType::Float64,
        () => return None,
    };
    Some(match gives {
        Same => operand,
        Truth => DType::Bool,
        Float if kind == 2 => operand,
        Float => DType::Float64,
    })
}

#[test]
fn every_function_takes_the_dtypes_of_its_class_and_no_others() {
    let mut checked = 0;
    for &(arity, class, gives, names) in RULES {
        for name in names.split_whitespace() {
            let op = Op::from_name(name).expect("an op");
            for dtype in DTYPES {
                for mode in [Promotion::Strict, Promotion::NumPy] {
                    let mut operands = vec![Array::zeros(&[3], dtype.0).expect("small"); arity];
                    if name == "where" {
                        operands[0] = Array::zeros(&[3], DType::Bool).expect("small");
                    }
                    let want = result(class, gives, dtype, mode);
                    let place = format!("{name} of {}, {mode:?}", dtype.0);
                    match with_promotion(mode, || Array::apply(op, &operands)) {
                        Ok(x) => {
                            assert_eq!(Some(x.dtype()), want, "{place}");
                            let evaluated = x.eval().unwrap_or_else(|e| panic!("{place}: {e}"));
                            assert_eq!(
                                (evaluated.dtype(), evaluated.shape()),
                                (x.dtype(), &[3][..]),
                                "{place}"
                            );
                        }
                        Err(e) => {
                            assert_eq!((want, e.kind()), (None, ErrorKind::DType), "{place}: {e}");
                            let start = format!("{name}: does not take {}", dtype.0);
                            assert!(e.to_string().starts_with(&start), "{place}: {e}");
                        }
                    }
                    checked += 1;
                }
            }
        }
    }
    assert_eq!(checked, 66 * 12 * 2);
}

/// The cast that an error says to write is one that helps, and NumPy mode takes what an error says it would.
#[test]
fn the_advice_of_errors_works() {
    let (mut casts, mut modes) = (0, 0);
    for &(arity, .., names) in RULES {
        for (name, (dtype, _)) in names.split_whitespace().flat_map(|name| DTYPES.map(|d| (name, d))) {
            let op = Op::from_name(name).expect("an op");
            let x = Array::zeros(&[2], dtype).expect("small");
            let apply = |x: &Array<'static>| Array::apply(op, &vec![x.clone(); arity]);
            if name == "where" {
                continue;
            }
            let Err(error) = apply(&x) else { continue };
            let words = error.to_string();
            if let Some((_, rest)) = words.split_once("astype(x, ") {
                let to = rest.split(')').next().and_then(DType::from_name).expect("a dtype");
                assert!(apply(&x.astype(to)).is_ok(), "{words}");
                casts += 1;
            }
            if words.contains("as NumPy does") {
                assert!(with_promotion(Promotion::NumPy, || apply(&x)).is_ok(), "{words}");
                modes += 1;
            }
        }
    }
    // Every integer in a float function; and every bool among numbers.
    assert!(casts >= 26 * 8 + 55 && modes == 26 * 8, "{casts} {modes}");
}
