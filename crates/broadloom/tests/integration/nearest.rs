//! The option `accuracy`. With `nearest`, each float32 result is the exact value rounded to nearest, on every executor, or the
//! expression is rejected. Expected results come from mpmath and from the exact reference.

use broadloom::functions::{exp, hypot};
use broadloom::prelude::*;
use broadloom::{Accuracy, ErrorKind, Literal, Op, Options, f16};
use broadloom_core::op::Law;
use broadloom_core::rewrite::Rules;
use broadloom_testkit::Runner;
use broadloom_testkit::random::Rng;
use broadloom_testkit::reference::{FloatFormat, Function, Judgement, judge, near_ties};

fn op(function: Function) -> Op {
    Op::from_name(function.name()).expect("is in the table")
}

fn nearest(runner: Runner) -> Options {
    Options { accuracy: Accuracy::Nearest, ..runner.options() }
}

/// The arrays have lengths that leave tails, and lanes on the slow path are next to lanes that are not on it.
#[test]
fn arguments_next_to_ties_are_rounded_to_nearest_by_every_executor() -> Result<()> {
    let rows = near_ties();
    for function in Function::ALL {
        let of_function: Vec<_> = rows.iter().filter(|(of, ..)| *of == function).collect();
        let (mut x, mut want) = (Vec::new(), Vec::new());
        for (i, &&(_, argument, value)) in of_function.iter().enumerate() {
            // Padding with the argument 1. For acosh, log and others the result is exact; for the other functions it is not
            // checked.
            x.extend(std::iter::repeat_n(1.0, i % 5));
            want.extend(std::iter::repeat_n(None, i % 5));
            x.push(argument);
            want.push(Some(value.to_bits()));
        }
        if x.is_empty() {
            continue;
        }
        let array = Array::from_vec(x.clone());
        for runner in Runner::all() {
            for rules in [Rules::On, Rules::Off] {
                let y = Array::apply(op(function), std::slice::from_ref(&array))?;
                let got = y.eval_with(&Options { rules, ..nearest(runner) })?.to_vec::<f32>()?;
                for ((x, got), want) in x.iter().zip(got).zip(&want) {
                    assert!(
                        want.is_none_or(|want| got.to_bits() == want),
                        "{function:?}({x:e}) is {got:e}, {runner:?}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// Arguments with random bits, and arguments of ordinary size. The exact reference checks the results, and all executors must
/// return the same bits.
#[test]
fn results_of_any_arguments_are_the_nearest_float32() -> Result<()> {
    let mut rng = Rng::new(3);
    for function in Function::ALL {
        if !op(function).has(Law::Nearest) {
            continue;
        }
        let mut column = || -> Vec<f32> {
            let ordinary = |rng: &mut Rng| (rng.next() as f64 / 2_f64.powi(62) - 2.0) as f32;
            (0..600)
                .map(|i| if i % 2 == 0 { f32::from_bits(rng.next() as u32) } else { ordinary(&mut rng) })
                .collect()
        };
        let columns: Vec<Vec<f32>> = (0..function.arity()).map(|_| column()).collect();
        let operands: Vec<Array<'_>> = columns.iter().map(|x| Array::from_vec(x.clone())).collect();
        let y = Array::apply(op(function), &operands)?;
        let mut first: Option<Vec<u32>> = None;
        for runner in Runner::all() {
            let got = y.eval_with(&nearest(runner))?.to_vec::<f32>()?;
            let bits: Vec<u32> = got.iter().map(|y| y.to_bits()).collect();
            if let Some(first) = &first {
                assert_eq!(&bits, first, "{function:?}, {runner:?}");
                continue;
            }
            for (i, &got) in got.iter().enumerate() {
                let at = |k: usize| columns.get(k).map_or(0.0, |x| f64::from(x[i]));
                let got = if got.is_nan() { f64::NAN } else { f64::from(got) };
                let judgement = judge(function, FloatFormat::FLOAT32, at(0), at(1), got);
                let is_nearest = matches!(judgement, Judgement::Off { nearest: true, .. });
                assert!(is_nearest, "{function:?}({:e}, {:e}) is {got:e}: {judgement:?}", at(0), at(1));
            }
            first = Some(bits);
        }
    }
    Ok(())
}

/// A plan cached for one accuracy is not used for the other. The expected value comes from mpmath.
#[test]
fn accuracy_is_part_of_what_is_cached() -> Result<()> {
    let x = Array::from_vec(vec![f32::from_bits(0xc2af_5adf)]);
    let y = x.exp();
    for runner in Runner::all() {
        let fast = y.eval_with(&runner.options())?.to_vec::<f32>()?[0];
        let nearest = y.eval_with(&nearest(runner))?.to_vec::<f32>()?[0];
        assert_eq!(nearest.to_bits(), 0x005b_056d);
        assert_eq!(y.eval_with(&runner.options())?.to_vec::<f32>()?[0].to_bits(), fast.to_bits());
    }
    Ok(())
}

#[test]
fn what_is_not_known_to_be_nearest_is_refused_with_its_name() -> Result<()> {
    let single = Array::from_vec(vec![0.5_f32, 2.0]);
    let (double, half) = (single.astype(DType::Float64), single.astype(DType::Float16));
    let options = Options { accuracy: Accuracy::Nearest, ..Options::default() };
    for (what, x) in [
        ("sin of float64", double.sin()),
        ("hypot of float64", hypot(&double, 1.0)),
        ("pow of float32", single.pow(0.5)),
        ("atan2 of float32", single.atan2(&single)),
        ("logaddexp of float32", single.logaddexp(1.0)),
        ("pow of float16", half.pow(&half)),
        ("atan2 of float16", half.atan2(1.0)),
    ] {
        let error = x.eval_with(&options).map(drop).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::DType, "{what}");
        assert!(error.to_string().contains(what), "{error}");
        x.eval()?;
        // The expression is also rejected if it is combined with one that is accepted.
        let error =
            (&x.astype(DType::Float32) + &single.sqrt()).eval_with(&options).map(drop).expect_err(what);
        assert!(error.to_string().contains(what), "{error}");
    }
    let accepted = [
        single.pow(2),
        single.pow(-1.0),
        single.tanh() / &single + 1,
        double.sqrt() * 3,
        half.exp(),
        hypot(&half, &half),
        single.std((), 0.0)?,
        (&single * 2.5).astype(DType::Int32).pow(3).astype(DType::Float32),
    ];
    for x in accepted {
        x.eval_with(&options)?;
    }
    Ok(())
}

/// Functions of untyped numbers are computed when the expression is written, and not rounded to nearest. An evaluation with
/// `nearest` therefore rejects their results, also after further operations. A number with a dtype is a constant of the
/// expression, like an array, and is accepted.
#[test]
fn functions_of_numbers_alone_do_not_pass_for_nearest() -> Result<()> {
    let options = Options { accuracy: Accuracy::Nearest, ..Options::default() };
    let x = Array::from_vec(vec![1.0_f32, 2.0]);
    let folded = Array::scalar(Literal::Float(0.5)).exp();
    let own = Array::scalar(0.5_f32).exp();
    for refused in [
        &x * &folded,
        &x * (&folded * 2.0 + 1.0),
        &x + folded.astype(DType::Float32),
        &x + folded.astype(DType::Float64).astype(DType::Float32),
        &x * own,
        folded.clone(),
        exp(0.5_f64),
    ] {
        let error = refused.eval_with(&options).map(drop).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::DType);
        assert!(error.to_string().contains("exp of numbers alone"), "{error}");
        refused.eval()?;
    }
    // e^-87.67748…, computed with mpmath.
    let constant = Array::scalar(f64::from(f32::from_bits(0xc2af_5adf))).astype(DType::Float32).exp();
    for runner in Runner::all() {
        assert_eq!(constant.eval_with(&nearest(runner))?.item::<f32>()?.to_bits(), 0x005b_056d, "{runner:?}");
    }
    let exact = Array::scalar(2.0).pow(2.0) * Array::scalar(9.0).sqrt();
    assert_eq!((&x * exact).eval_with(&options)?.to_vec::<f32>()?, [12.0, 24.0]);
    let half = Array::scalar(f16::from_f32(0.5)).exp();
    half.eval_with(&options)?;
    Ok(())
}
