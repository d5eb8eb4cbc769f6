//! Operators, methods and free functions build the same expressions, from operands of every type.

use broadloom::prelude::*;
use broadloom::{Op, functions};

fn ints(data: &[i32]) -> Array<'static> {
    Array::from_vec(data.to_vec())
}

fn values(x: &Array<'_>) -> Vec<i32> {
    x.to_vec().expect("int32")
}

#[test]
fn operators_are_the_functions_of_the_table() {
    let (a, b) = (ints(&[13, -7, 6]), ints(&[3, 2, 0]));
    for (operator, op) in [
        (&a + &b, Op::Add),
        (&a - &b, Op::Subtract),
        (&a * &b, Op::Multiply),
        (&a / &b, Op::Divide),
        (&a % &b, Op::Remainder),
        (&a & &b, Op::BitwiseAnd),
        (&a | &b, Op::BitwiseOr),
        (&a ^ &b, Op::BitwiseXor),
        (&a << &b, Op::BitwiseLeftShift),
        (&a >> &b, Op::BitwiseRightShift),
        (-&a, Op::Negative),
        (!&a, Op::BitwiseInvert),
    ] {
        let operands = [a.clone(), b.clone()];
        let function = Array::apply(op, &operands[..op.operands()]).expect("well typed");
        assert_eq!(operator.dtype(), function.dtype(), "{op}");
        assert_eq!(format!("{operator:?}"), format!("{function:?}"), "{op}");
    }
    assert_eq!(values(&(&a % &b)), [1, 1, 0]);
    assert_eq!((&a / &b).dtype(), DType::Float64);
}

#[test]
fn every_pairing_of_array_reference_and_number() {
    let x = ints(&[1, 2]);
    let sum = [2, 3];
    for y in [
        &x + 1,
        x.clone() + 1,
        1 + &x,
        1 + x.clone(),
        &x + 1u8,
        &x + 1usize,
        Array::scalar(1usize) + &x,
        &x + &Array::scalar(1),
    ] {
        assert_eq!(values(&y), sum);
    }
    for y in [x.clone() + x.clone(), &x + x.clone(), x.clone() + &x, &x + &x] {
        assert_eq!(values(&y), [2, 4]);
    }
    assert_eq!(values(&(10 - &x)), [9, 8], "sides are kept");
    assert_eq!(values(&(1 << &x)), [2, 4]);
    let half = Array::from_vec(vec![f16::from_f32(0.5)]);
    assert_eq!((f16::from_f32(0.25) * &half).item::<f16>().map(f16::to_f32), Ok(0.125));
    let truth = Array::from_vec(vec![true, false]);
    assert_eq!((true ^ &truth).to_vec(), Ok(vec![false, true]));
    assert_eq!((!truth & true).to_vec(), Ok(vec![false, true]));
}

#[test]
fn lifetimes_of_two_sizes_meet() {
    let owned = Array::from_vec(vec![1.0f64, 2.0]);
    let sum = {
        let data = [0.5, 0.25];
        let borrowed = Array::from_slice(&data);
        let (a, b) = (&owned + &borrowed, &borrowed + &owned);
        let c = owned.maximum(&borrowed);
        (a + b + c).eval().expect("evaluates")
    };
    assert_eq!(sum.to_vec(), Ok(vec![4.0, 6.5]));
}

#[test]
fn methods_and_free_functions_are_made_from_the_table() -> Result<()> {
    let x = Array::from_vec(vec![-1.5f32, 2.5, 9.0]);
    assert_eq!(x.clip(0, 3).to_vec::<f32>()?, [0.0, 2.5, 3.0]);
    assert_eq!(functions::clip(&x, 0, 3).to_vec::<f32>()?, [0.0, 2.5, 3.0]);
    assert_eq!(x.try_copysign(-1.0)?.to_vec::<f32>()?, [-1.5, -2.5, -9.0]);
    assert_eq!(functions::maximum(0, &x).to_vec::<f32>()?, x.maximum(0).to_vec::<f32>()?);
    assert_eq!(x.less(x.square()).to_vec::<bool>()?, [true, true, true]);
    assert_eq!(functions::sqrt(4).item::<f64>()?, 2.0);
    assert_eq!(where_(x.signbit(), -&x, &x).to_vec::<f32>()?, [1.5, 2.5, 9.0]);
    assert_eq!(
        functions::try_where(&x, 1, 2).map(|_| ()).unwrap_err().message().split(':').next(),
        Some("where")
    );
    Ok(())
}

#[test]
fn apply_checks_the_number_of_operands_and_hides_internal_ops() {
    let x = ints(&[1]);
    let message =
        |op, operands: &[Array<'_>]| Array::apply(op, operands).map(|_| ()).unwrap_err().to_string();
    assert_eq!(message(Op::Add, std::slice::from_ref(&x)), "add takes 2 operands, not 1");
    assert_eq!(message(Op::Add, &[]), "add takes 2 operands, not 0");
    assert_eq!(message(Op::Sqrt, &vec![x.clone(); 5]), "sqrt takes 1 operand, not 5");
    let x = x.astype(DType::Float32);
    assert_eq!(message(Op::CanonicalNan, &[x]), "canonical_nan is not a function");
}

#[test]
fn conversions() -> Result<()> {
    let x = Array::from_vec(vec![1.9f32, -1.9, 300.7, f32::NAN]);
    assert_eq!(x.astype(DType::Int8).to_vec::<i8>()?, [1, -1, 127, 0]);
    assert_eq!(x.astype(DType::Bool).to_vec::<bool>()?, [true; 4]);
    assert_eq!(
        x.astype(DType::Float32).as_slice::<f32>().map(<[f32]>::as_ptr),
        x.as_slice().map(<[f32]>::as_ptr)
    );
    // A literal that has been converted has a dtype, which takes part in promotion.
    let three = Array::scalar(3).astype(DType::Int8);
    assert_eq!((three + Array::from_vec(vec![1i16])).dtype(), DType::Int16);
    let three = Array::scalar(3).astype(DType::Int64);
    assert_eq!((three + Array::from_vec(vec![1i16])).dtype(), DType::Int64);
    assert_eq!(Array::scalar(u64::MAX).item::<u64>()?, u64::MAX);
    Ok(())
}
