//! Checks, for every function and every dtype in both promotion modes, which dtypes the function accepts and which dtype its
//! result has. The expected dtypes are the signatures in the model, which were written independently of the op table: from the
//! Array API standard and, for functions that its edition lacks, from later editions, from C, and from ONNX Div.

use std::collections::BTreeSet;

use broadloom::prelude::*;
use broadloom::{ErrorKind, Op};
use broadloom_core::op::Law;
use broadloom_testkit::oracle::{ModelSignature, SIGNATURES};

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
    let named: BTreeSet<&str> = SIGNATURES.iter().map(|s| s.name).collect();
    assert_eq!(named.len(), SIGNATURES.len());
    assert_eq!(named, Op::public().map(Op::name).collect());
}

/// The dtype in NumPy 2 of functions of bools that the standard does not define for bools, as printed by `numpy.add(True,
/// True).dtype`.
const OF_BOOLS: [(&str, DType); 24] = [
    ("add", DType::Bool),
    ("maximum", DType::Bool),
    ("clip", DType::Bool),
    ("multiply", DType::Bool),
    ("minimum", DType::Bool),
    ("abs", DType::Bool),
    ("ceil", DType::Bool),
    ("floor", DType::Bool),
    ("trunc", DType::Bool),
    ("less", DType::Bool),
    ("less_equal", DType::Bool),
    ("greater", DType::Bool),
    ("greater_equal", DType::Bool),
    ("isfinite", DType::Bool),
    ("isinf", DType::Bool),
    ("isnan", DType::Bool),
    ("round", DType::Float16),
    ("square", DType::Int8),
    ("floor_divide", DType::Int8),
    ("remainder", DType::Int8),
    ("pow", DType::Int8),
    ("bitwise_left_shift", DType::Int8),
    ("bitwise_right_shift", DType::Int8),
    ("reciprocal", DType::Int8),
];

/// The result's dtype for operands of a dtype; `None` if the call is an error.
fn result(signature: &ModelSignature, (dtype, kind): (DType, usize), mode: Promotion) -> Option<DType> {
    let is_floating = signature.takes == [false, false, true];
    let name = signature.name;
    let operand = match () {
        () if signature.takes_dtype(dtype.name()) => dtype,
        () if mode == Promotion::Strict => return None,
        () if name.starts_with("logical") => return Some(DType::Bool),
        () if kind == 0 && OF_BOOLS.iter().any(|row| row.0 == name) => {
            return OF_BOOLS.iter().find(|row| row.0 == name).map(|row| row.1);
        }
        () if name == "reciprocal" => return Some(dtype),
        () if name == "divide" => DType::Float64,
        // NumPy 2's loops of float functions: 'e' (float16) for 8 bits, 'f' (float32) for 16 bits, 'd' (float64) for more bits.
        () if is_floating => match dtype.size() {
            1 => DType::Float16,
            2 => DType::Float32,
            _ => DType::Float64,
        },
        () => return None,
    };
    Some(match () {
        () if signature.is_predicate => DType::Bool,
        () if name == "divide" && kind < 2 => DType::Float64,
        () => operand,
    })
}

#[test]
fn every_function_takes_the_dtypes_of_its_class_and_no_others() {
    let mut checked = 0;
    for signature in SIGNATURES.iter() {
        let name = signature.name;
        let op = Op::from_name(name).expect("an op");
        for (dtype, mode) in DTYPES.into_iter().flat_map(|d| [(d, Promotion::Strict), (d, Promotion::NumPy)])
        {
            let mut operands = vec![Array::zeros(&[3], dtype.0).expect("small"); signature.arity];
            if name == "where" {
                operands[0] = Array::zeros(&[3], DType::Bool).expect("small");
            }
            let want = result(signature, dtype, mode);
            let place = format!("{name} of {}, {mode:?}", dtype.0);
            match with_promotion(mode, || Array::apply(op, &operands)) {
                Ok(x) => {
                    assert_eq!(Some(x.dtype()), want, "{place}");
                    let evaluated = x.eval().unwrap_or_else(|e| panic!("{place}: {e}"));
                    assert_eq!((evaluated.dtype(), evaluated.shape()), (x.dtype(), &[3][..]), "{place}");
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
    assert_eq!(checked, Op::public().count() * DTYPES.len() * 2);
}

/// If an error advises a cast, the call with the cast succeeds. If it states that NumPy's mode accepts the call, that mode does.
#[test]
fn the_advice_of_errors_works() {
    let (mut casts, mut modes, mut expected) = (0, 0, 0);
    for signature in SIGNATURES.iter() {
        let ModelSignature { name, arity, .. } = *signature;
        for (dtype, kind) in DTYPES {
            let op = Op::from_name(name).expect("an op");
            let x = Array::zeros(&[2], dtype).expect("small");
            let apply = |x: &Array<'static>| Array::apply(op, &vec![x.clone(); arity]);
            if name == "where" {
                continue;
            }
            let Err(error) = apply(&x) else { continue };
            let words = error.to_string();
            expected += usize::from(result(signature, (dtype, kind), Promotion::NumPy).is_some());
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
    // Casts are advised for every integer dtype in a float function, and for bools in functions of numbers.
    let takes_floats = |op: &Op| op.dtypes().iter().all(|dtype| dtype.is_float()) && !op.has(Law::Divides);
    let of_floats = 8 * Op::public().filter(takes_floats).count();
    assert!(of_floats >= 30 * 8 && casts >= of_floats + 55, "{casts} {of_floats}");
    assert!(modes == expected && modes > of_floats, "{modes} {expected} {of_floats}");
}
