//! pow and the other approximate functions in Rust: methods, free functions, their `try_` variants, and numbers and
//! integers as operands. A power that is rewritten is still computed, so that its NaN is positive.

use broadloom::prelude::*;
use broadloom::{ErrorKind, Op, Options, functions};
use broadloom_core::op::Law;
use broadloom_core::rewrite::Rules;
use broadloom_testkit::Runner;
use broadloom_testkit::oracle::ModelSignature;

#[test]
fn a_power_of_every_sort_of_operand() -> Result<()> {
    let (a, b) = (Array::from_vec(vec![2.0f32, 9.0, 0.25]), Array::from_vec(vec![3.0f32, 0.5, -1.5]));
    for power in [a.pow(&b), a.try_pow(&b)?, functions::pow(&a, &b), functions::try_pow(&a, b.clone())?] {
        assert_eq!(power.to_vec::<f32>()?, [8.0, 3.0, 8.0]);
    }
    for square in [a.pow(2.0), a.pow(2), a.try_pow(2u8)?, a.pow(Array::scalar(2)), &a * &a] {
        assert_eq!(square.to_vec::<f32>()?, [4.0, 81.0, 0.0625]);
    }
    assert_eq!(functions::pow(2, &b).to_vec::<f32>()?[0], 8.0);
    assert_eq!((functions::pow(2, 10).item::<i32>()?, functions::pow(4, 0.5).item::<f64>()?), (1024, 2.0));
    let n = Array::from_vec(vec![-2i8, 3, 1]);
    assert_eq!(n.pow(n.abs()).to_vec::<i8>()?, [4, 27, 1]);
    assert_eq!(n.pow(5).to_vec::<i8>()?, [-32, -13, 1], "243 wraps");
    assert_eq!(n.pow(-3).to_vec::<i8>()?, [0, 0, 1]);
    assert_eq!(Array::from_vec(vec![0i8, -1]).pow(-3).to_vec::<i8>()?, [0, -1]);
    Ok(())
}

#[test]
fn integers_of_float_functions_are_as_the_mode_says() -> Result<()> {
    let n = Array::from_vec(vec![0i16, 1]);
    type Call = fn(&Array<'static>) -> Result<Array<'static>>;
    let calls: [(Call, DType, &str); 4] = [
        (
            |n| n.try_exp(),
            DType::Float32,
            "exp: does not take int16; write astype(x, float64), or promote as NumPy does (promotion=numpy)",
        ),
        (
            |n| n.try_hypot(n),
            DType::Float32,
            "hypot: does not take int16 and int16; write astype(x, float64), or promote as NumPy does (promotion=numpy)",
        ),
        (
            |n| functions::try_atan2(1, n),
            DType::Float32,
            "atan2: does not take 1 and int16; write astype(x, float64), or promote as NumPy does (promotion=numpy)",
        ),
        (
            |n| n.try_pow(0.5),
            DType::Float64,
            "pow: int16 with the literal 0.5; write astype(x, float64), or promote as NumPy does (promotion=numpy); int16 holds no 0.5",
        ),
    ];
    for (call, dtype, words) in calls {
        let Err(error) = call(&n) else { panic!("strict") };
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::DType, words.to_owned()));
        let as_numpy = with_promotion(Promotion::NumPy, || call(&n))?;
        let cast = call(&n.astype(dtype))?;
        let values = |x: &Array<'static>| x.astype(DType::Float64).to_vec::<f64>();
        assert_eq!((as_numpy.dtype(), values(&as_numpy)?), (dtype, values(&cast)?));
    }
    assert_eq!(with_promotion(Promotion::NumPy, || n.pow(&n)).dtype(), DType::Int16);
    assert!(n.less(1).try_sin().is_err());
    assert_eq!(with_promotion(Promotion::NumPy, || n.less(1).try_sin())?.dtype(), DType::Float16);
    assert_eq!(functions::exp(0).item::<f64>()?, 1.0, "numbers alone are float64");
    Ok(())
}

#[test]
fn a_power_that_is_rewritten_has_a_positive_nan() -> Result<()> {
    let x = Array::from_vec(vec![f32::NAN, -f32::NAN, -1.5, 2.0]);
    let powers =
        [x.pow(1), x.pow(2), x.pow(-1), (-&x).cos(), x.abs().cosh(), x.abs().pow(2), x.pow(1).positive()];
    for (i, power) in powers.iter().enumerate() {
        let is_nan = power.isnan().to_vec::<bool>()?;
        assert_eq!(is_nan, [true, true, false, false]);
        for runner in Runner::all() {
            for rules in [Rules::On, Rules::Off] {
                let options = Options { rules, ..runner.options() };
                let signs =
                    |x: &Array<'_>| x.signbit().eval_with(&options).and_then(|bits| bits.to_vec::<bool>());
                let way = format!("power {i}, {runner:?}, {rules:?}");
                assert_eq!(signs(power)?[..2], [false, false], "{way}");
                assert_eq!(signs(&-power)?[..2], [true, true], "{way}");
                let chosen = where_(Array::from_vec(vec![true, false, true, false]), power, -power);
                assert_eq!(signs(&chosen)?[..2], [false, true], "{way}");
            }
        }
    }
    Ok(())
}

#[test]
fn the_table_and_the_model_agree_on_what_is_approximate() {
    for op in Op::public() {
        let signature = ModelSignature::of(op.name()).expect("a function of the model");
        assert_eq!(op.has(Law::Approximate), signature.is_approximate, "{op}");
    }
}
