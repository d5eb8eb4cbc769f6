//! Numbers are weakly typed: they take the dtype of the operand that they are combined with, in the
//! promotion mode in which the expression is built.

use std::panic::catch_unwind;

use broadloom::prelude::*;
use broadloom::{Literal, functions, promotion};

#[test]
fn a_number_takes_the_dtype_that_it_meets() -> Result<()> {
    for (dtype, sum) in [
        (DType::Int8, DType::Int8),
        (DType::UInt64, DType::UInt64),
        (DType::Float16, DType::Float16),
        (DType::Float32, DType::Float32),
    ] {
        let x = Array::ones(&[2], dtype)?;
        assert_eq!((&x + 1).dtype(), sum);
        assert_eq!((1 + &x + 1i64).dtype(), sum);
        // An expression of literals is a literal.
        assert_eq!((&x + (Array::scalar(1) + 1) * 3).dtype(), sum);
        assert_eq!((&x * -Array::scalar(1).astype(dtype).abs()).dtype(), sum);
    }
    let x = Array::ones(&[2], DType::Float32)?;
    assert_eq!((&x * 0.1f64).to_vec::<f32>()?, [0.1f32; 2], "rounded once, to the array's dtype");
    assert_eq!((Array::scalar(1.0) / 3 * &x).to_vec::<f32>()?, [(1.0 / 3.0) as f32; 2]);
    Ok(())
}

#[test]
fn all_literal_expressions_are_int64_float64_or_bool() -> Result<()> {
    let [half, one, two, three, four] = [0.5, 1.0, 2.0, 3.0, 4.0].map(|x| match x {
        0.5 => Literal::Float(0.5),
        _ => Literal::Int(x as i128),
    });
    let two = Array::scalar(two);
    assert_eq!((two.dtype(), two.item::<i64>()?), (DType::Int64, 2));
    assert_eq!((&two + half).item::<f64>()?, 2.5);
    assert_eq!((&two / four).item::<f64>()?, 0.5);
    assert!(two.less(three).item::<bool>()?);
    assert_eq!(where_(two.less(three), one, four).item::<i64>()?, 1);
    assert_eq!(two.eval()?.to_vec::<i64>()?, [2]);
    // An expression that may fail when it is evaluated is not a literal, and has a dtype.
    let quotient = Array::scalar(one).floor_divide(Literal::Int(0));
    assert_eq!(quotient.item::<i64>()?, 0);
    assert!(quotient.try_add(Array::ones(&[1], DType::Float32)?).is_err());
    assert!(Array::scalar(7).floor_divide(2).try_add(Array::ones(&[1], DType::Float32)?).is_ok());
    // A view of a literal has a dtype.
    assert_eq!((Array::scalar(2i16).broadcast_to(&[2])? + Array::from_vec(vec![1i8])).dtype(), DType::Int16);
    Ok(())
}

#[test]
fn a_literal_that_does_not_fit_is_an_error_wherever_it_was_made() -> Result<()> {
    let x = Array::from_vec(vec![1u8]);
    let big = Array::scalar(100) + 200;
    assert!(x.try_add(&big).is_err());
    assert!(x.try_add(-1).is_err());
    assert!(functions::try_subtract(256, &x).is_err());
    assert!(Array::from_vec(vec![f16::ONE]).try_add(70000).is_err());
    assert!(Array::from_vec(vec![1.0f32]).try_add(1e39).is_err());
    assert!(Array::from_vec(vec![1.0f32]).try_add(f64::INFINITY).is_ok());
    Ok(())
}

#[test]
fn the_mode_is_scoped_to_closure_and_thread() {
    let x = Array::from_vec(vec![1i32, 2]);
    assert_eq!(promotion(), Promotion::Strict);
    let halves = with_promotion(Promotion::NumPy, || {
        assert_eq!(promotion(), Promotion::NumPy);
        with_promotion(Promotion::Strict, || assert!(x.try_multiply(0.5).is_err()));
        assert_eq!(promotion(), Promotion::NumPy);
        let elsewhere = std::thread::scope(|s| s.spawn(promotion).join());
        assert_eq!(elsewhere.ok(), Some(Promotion::Strict));
        &x * 0.5 + x.sqrt()
    });
    assert_eq!(promotion(), Promotion::Strict);
    // The expression was built in NumPy's mode and is evaluated outside it.
    assert_eq!(halves.dtype(), DType::Float64);
    assert_eq!(halves.to_vec(), Ok(vec![1.5, 1.0 + 2f64.sqrt()]));

    let unwound = catch_unwind(|| with_promotion(Promotion::NumPy, || panic!("out")));
    assert!(unwound.is_err());
    assert_eq!(promotion(), Promotion::Strict, "restored by unwinding too");
}
