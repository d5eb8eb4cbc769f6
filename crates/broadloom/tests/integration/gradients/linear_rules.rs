//! Rules for tangents that are computed in loops: those that are linear in the tangents have adjoints, and the others are refused.

use broadloom::gradients::checkpoint;
use broadloom::{fori_loop, scan};

use super::*;

type One = Array<'static>;

/// What a rule makes of an argument and its tangent.
type TangentRule = fn(&One, &One) -> Result<One>;

/// x itself, with this rule.
fn with_rule(rule: TangentRule, x: &One) -> Result<One> {
    let made = custom_jvp(|x| Ok(x.to_vec()), &[x], move |x, v| Ok(vec![rule(&x[0], &v[0])?]));
    Ok(made?.remove(0))
}

/// v · x³
fn cubed(x: &One, v: &One) -> Result<One> {
    let [t] = fori_loop(0, 3, |_, [t]| [t * x], [v.clone()])?;
    Ok(t)
}

/// v · x · x² · x⁴, of which the factors are carried beside it.
fn beside_others(x: &One, v: &One) -> Result<One> {
    let [_, t] = fori_loop(0, 3, |_, [c, t]| [c * c, t * c], [x.clone(), v.clone()])?;
    Ok(t)
}

/// v · (1 + 2 + 6)
fn steps(_: &One, v: &One) -> Result<One> {
    let factors = Array::from([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]);
    let step = |[t]: &[One; 1], [e]: &[One; 1]| ([t * e], [t * e]);
    let (_, [outputs]) = scan(step, [v.clone()], [factors], 0)?;
    outputs.sum(0)
}

/// v · x⁴⁰⁰, in a loop that is too long to be unrolled in the other one.
fn nested(x: &One, v: &One) -> Result<One> {
    let inner = |c: &One, t: &One| fori_loop(0, 200, |_, [c, t]| [c * 1.0, t * c], [c.clone(), t.clone()]);
    let outer = |_: &One, [c, t]: &[One; 2]| inner(c, t).expect("a loop");
    let [_, t] = fori_loop(0, 2, outer, [x.clone(), v.clone()])?;
    Ok(t)
}

fn checkpointed(_: &One, v: &One) -> Result<One> {
    checkpoint(|| {
        let factors = Array::full(&[9, 1], 2.0)?;
        let step = |[t]: &[One; 1], [e]: &[One; 1]| ([t * e], []);
        let ([t], []) = scan(step, [v.clone()], [factors], 0)?;
        Ok(t)
    })
}

/// A function with a rule of its own in the loop: v · x³.
fn of_rules(x: &One, v: &One) -> Result<One> {
    let product = |t: &One| custom_jvp(|x| Ok(vec![&x[0] * &x[1]]), &[t, x], |x, v| Ok(vec![&v[0] * &x[1]]));
    let [t] = fori_loop(0, 3, |_, [t]| [product(t).expect("a product").remove(0)], [v.clone()])?;
    Ok(t)
}

/// The tangent 4x³ · v of a loop.
fn of_a_loop(x: &One, v: &One) -> Result<One> {
    let [y] = fori_loop(0, 2, |_, [c]| [c * c], [x.clone()])?;
    Ok(jvp(&[&y], &[x], &[v])?.remove(0))
}

#[test]
fn linear_rules_have_adjoints() -> Result<()> {
    let x = variable(&Array::from([0.5, 2.0]))?;
    let power = |n: i32| [0.5_f64.powi(n), 2.0_f64.powi(n)];
    for (rule, expected) in [
        (cubed as TangentRule, power(3)),
        (beside_others, power(7)),
        (steps, [9.0, 9.0]),
        (nested, power(400)),
        (checkpointed, [512.0, 512.0]),
        (of_rules, power(3)),
        (of_a_loop, [0.5, 32.0]),
    ] {
        let y = with_rule(rule, &x)?;
        let found = grad(&y.sum(())?, &[&x])?.remove(0);
        on_executors::each(&found, &expected, "an adjoint")?;
        let ones = Array::ones(&[2], DType::Float64)?;
        on_executors::each(&jvp(&[&y], &[&x], &[&ones])?.remove(0), &expected, "a tangent")?;
    }
    Ok(())
}

/// v²
fn squared(_: &One, v: &One) -> Result<One> {
    let [t] = fori_loop(0, 1, |_, [t]| [t * t], [v.clone()])?;
    Ok(t)
}

/// Each tangent is multiplied by the sum of the earlier ones, which is carried beside it.
fn times_sums(x: &One, v: &One) -> Result<One> {
    let [_, t] = fori_loop(0, 3, |_, [s, t]| [s + t, t * s], [x.clone(), v.clone()])?;
    Ok(t)
}

fn times_states(_: &One, v: &One) -> Result<One> {
    let step = |[s]: &[One; 1], [t]: &[One; 1]| ([s + t], [s * t]);
    let rows = Array::ones(&[3, 1], DType::Float64)? * v;
    let (_, [outputs]) = scan(step, [Array::scalar(0.0)], [rows], 0)?;
    outputs.sum(0)
}

fn nested_squares(x: &One, v: &One) -> Result<One> {
    let inner = |t: &One| fori_loop(0, 200, |_, [c, t]| [c * 1.0, t * t], [x.clone(), t.clone()]);
    let [t] = fori_loop(0, 2, |_, [t]| [inner(t).expect("a loop")[1].clone()], [v.clone()])?;
    Ok(t)
}

#[test]
fn rules_that_are_not_linear_in_loops_are_refused() -> Result<()> {
    let x = variable(&Array::from([0.5, 2.0]))?;
    let words = "custom_jvp: the rule is not linear in the tangents, so that there is no derivative in reverse mode; \
                 multiply the tangents by derivatives, and add the products";
    for rule in [squared as TangentRule, times_sums, times_states, nested_squares] {
        let y = with_rule(rule, &x)?;
        let error = grad(&y.sum(())?, &[&x]).map(drop).expect_err(words);
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Derivative, words));
    }
    // The body of a loop uses the rule.
    let [y] = fori_loop(0, 2, |_, [c]| [with_rule(squared, c).expect("a rule")], [x.clone()])?;
    assert_eq!(grad(&y.sum(())?, &[&x]).map(drop).expect_err(words).to_string(), words);
    // Forward mode takes what the rule says.
    let v = Array::from([3.0, 5.0]);
    let along = jvp(&[&with_rule(squared, &x)?], &[&x], &[&v])?.remove(0);
    assert_eq!(along.to_vec::<f64>()?, [9.0, 25.0]);
    Ok(())
}
