//! Functions whose derivatives the application defines.

use std::time::{Duration, Instant};

use broadloom::{cond, fori_loop, reduce, scan, while_loop};

use super::*;

type Arrays = Vec<Array<'static>>;

/// x³, whose derivative is said to be 5x².
fn cube(x: &Array<'static>) -> Result<Array<'static>> {
    let value = |x: &[Array<'static>]| Ok(vec![&x[0] * &x[0] * &x[0]]);
    Ok(custom_jvp(value, &[x], |x, v| Ok(vec![&x[0] * &x[0] * 5.0 * &v[0]]))?.remove(0))
}

/// x · w with its derivative.
fn product(x: &Array<'static>, w: &Array<'static>) -> Array<'static> {
    let value = |x: &[Array<'static>]| Ok(vec![&x[0] * &x[1]]);
    let made = custom_jvp(value, &[x, w], |x, v| Ok(vec![&v[0] * &x[1] + &x[0] * &v[1]]));
    made.expect("a product").remove(0)
}

/// The number 0, whose derivative is said to be 3.
fn flat(x: &Array<'static>) -> Array<'static> {
    let zero = |_: &[Array<'static>]| Ok(vec![Array::zeros(&[], DType::Float64)?]);
    custom_vjp(zero, &[x], |_, v| Ok(vec![&v[0] * 3.0])).expect("a number").remove(0)
}

fn number(x: f64) -> Result<Array<'static>> {
    variable(&Array::scalar(x).astype(DType::Float64))
}

fn slope(y: &Array<'static>, x: &Array<'static>) -> Result<f64> {
    grad(y, &[x])?.remove(0).item::<f64>()
}

/// The derivative by forward mode.
fn along(y: &Array<'static>, x: &Array<'static>) -> Result<f64> {
    jvp(&[y], &[x], &[&Array::ones(&[], DType::Float64)?])?.remove(0).item::<f64>()
}

#[test]
fn both_modes_use_a_rule_for_tangents() -> Result<()> {
    let x = variable(&Array::from([0.5, 2.0]))?;
    let y = cube(&x)?;
    on_executors::each(&y, &[0.125, 8.0], "the values")?;
    let g = grad(&(&y * 2.0).sum(())?, &[&x])?.remove(0);
    assert_eq!(g.to_vec::<f64>()?, [2.5, 40.0]);
    assert_eq!(jvp(&[&y], &[&x], &[&Array::from([1.0, 10.0])])?[0].to_vec::<f64>()?, [1.25, 200.0]);
    // The rule is differentiated again.
    assert_eq!(grad(&g.sum(())?, &[&x])?[0].to_vec::<f64>()?, [10.0, 40.0]);
    Ok(())
}

#[test]
fn reverse_mode_uses_a_rule_for_adjoints_of_two_outputs_and_two_arguments() -> Result<()> {
    let (x, w) = (variable(&Array::from([0.5, 2.0]))?, variable(&Array::from([3.0, 4.0]))?);
    let function = |x: &[Array<'static>]| Ok(vec![&x[0] * &x[1], &x[0] + &x[1]]);
    let outputs = custom_vjp(function, &[&x, &w], |x, v| Ok(vec![&v[0] * 7.0, &v[1] * &x[0]]))?;
    let total = (&outputs[0] + &outputs[1] * 2.0).sum(())?;
    let found = grad(&total, &[&x, &w])?;
    assert_eq!(found[0].to_vec::<f64>()?, [7.0, 7.0]);
    assert_eq!(found[1].to_vec::<f64>()?, [1.0, 4.0]);
    let one = grad(&outputs[1].sum(())?, &[&x, &w])?;
    assert_eq!([one[0].to_vec::<f64>()?, one[1].to_vec::<f64>()?], [vec![0.0, 0.0], vec![0.5, 2.0]]);
    let forward = jvp(&[&total], &[&x], &[&w]).map(drop).expect_err("reverse only");
    assert_eq!(forward.to_string(), "custom_vjp: the function has a derivative in reverse mode only");
    Ok(())
}

#[test]
fn errors_of_rules() -> Result<()> {
    let x = variable(&Array::from([0.5, 2.0]))?;
    let same = |x: &[Array<'static>]| Ok(x.to_vec());
    let of = |y: Arrays| grad(&y[0].sum(())?, &[&x]).map(drop);
    let unlike = |_: &[Array<'static>], _: &[Array<'static>]| Ok(vec![Array::from([1.0_f32])]);
    let long = |_: &[Array<'static>], _: &[Array<'static>]| Ok(vec![Array::from([1.0, 2.0, 3.0])]);
    let cases = [
        (of(custom_jvp(same, &[&x], |_, _| Ok(Vec::new()))?), "custom_jvp: the rule returns 0 arrays, not 1"),
        (
            of(custom_vjp(same, &[&x], unlike)?),
            "custom_vjp: result 0 of the rule is float32[1], not float64[2]",
        ),
        (
            of(custom_vjp(same, &[&x], long)?),
            "custom_vjp: result 0 of the rule is float64[3], not float64[2]",
        ),
        (
            of(custom_jvp(same, &[&x], |_, v| Ok(vec![&v[0] * &v[0]]))?),
            "custom_jvp: the rule is not linear in the tangents, so that there is no derivative in reverse mode; \
             multiply the tangents by derivatives, and add the products",
        ),
        (
            of(custom_jvp(same, &[&x], |_, v| Ok(vec![v[0].abs()]))?),
            "custom_jvp: the rule is not linear in the tangents, so that there is no derivative in reverse mode; \
             multiply the tangents by derivatives, and add the products",
        ),
    ];
    for (got, words) in cases {
        assert_eq!(got.expect_err(words).to_string(), words);
    }
    // A rule may choose by its tangents, as derivatives of other functions do.
    let chosen = |x: &[Array<'static>], v: &[Array<'static>]| {
        Ok(vec![where_(v[0].equal(0.0), 0.0, &v[0] * &x[0] * 2.0)])
    };
    let y = custom_jvp(same, &[&x], chosen)?.remove(0);
    assert_eq!(grad(&y.sum(())?, &[&x])?[0].to_vec::<f64>()?, [1.0, 4.0]);
    Ok(())
}

/// JAX refuses this too, since the rule says nothing about such an array.
#[test]
fn an_array_that_a_function_uses_besides_its_arguments_is_not_differentiated() -> Result<()> {
    let (x, w) = (number(3.0)?, number(5.0)?);
    let hidden = &w * 2.0;
    let times = |w: Array<'static>, x: &Array<'static>| {
        custom_jvp(move |x| Ok(vec![&x[0] * w]), &[x], |_, v| Ok(vec![&v[0] * 10.0])).map(|mut y| y.remove(0))
    };
    let y = times(hidden.clone(), &x)?;
    assert_eq!(slope(&y, &x)?, 10.0);
    let why = "custom_jvp: the function uses an array that is differentiated and is not one of its arguments; make it an \
               argument, or a constant by `stop_gradient`";
    for error in [grad(&y, &[&x, &w]).map(drop), jvp(&[&y], &[&w], &[&w]).map(drop)] {
        let error = error.expect_err(why);
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Derivative, why));
    }
    assert_eq!(slope(&times(stop_gradient(&hidden), &x)?, &w)?, 0.0);
    // An argument is not the array that was passed for it.
    let y = times(x.clone(), &x)?;
    assert_eq!(grad(&y, &[&x]).map(drop).expect_err(why).to_string(), why);
    // The values of a loop are such arrays too.
    let [z] = fori_loop(0, 2, |_, [s]| [times(s.clone(), &x).expect("a product")], [w.clone()])?;
    assert_eq!(grad(&z, &[&w]).map(drop).expect_err(why).to_string(), why);
    Ok(())
}

/// exp, whose derivative is said to be twice itself, where the rule calls the function.
fn doubled(x: &Array<'static>) -> Result<Array<'static>> {
    let made = custom_jvp(|x| Ok(vec![x[0].exp()]), &[x], |x, v| Ok(vec![&v[0] * doubled(&x[0])? * 2.0]));
    Ok(made?.remove(0))
}

#[test]
fn a_rule_is_used_in_its_own_derivative() -> Result<()> {
    let x = number(0.0)?;
    let y = doubled(&x)?;
    let first = grad(&y, &[&x])?.remove(0);
    let second = grad(&first, &[&x])?.remove(0);
    let third = along(&second, &x)?;
    assert_eq!([first.item::<f64>()?, second.item::<f64>()?, third], [2.0, 4.0, 8.0]);
    Ok(())
}

#[test]
fn bodies_of_loops_use_rules() -> Result<()> {
    let x = number(2.0)?;
    // ((x · x) · x), and (((x²)² …) until it is at least 20.
    let [y] = fori_loop(0, 2, |_, [c]| [product(c, &x)], [x.clone()])?;
    assert_eq!([slope(&y, &x)?, along(&y, &x)?], [12.0, 12.0]);
    let [y] = while_loop(|[c]| c.less(20.0), |[c]| [product(c, &x)], [x.clone()], None)?;
    assert_eq!(along(&y, &x)?, 80.0);

    // The derivative of the recurrence c' = c³ + e is 5c² c'.
    let inputs = Array::from([1.0, 0.5]);
    let cubed =
        |[c]: &[Array<'static>; 1], [e]: &[Array<'static>; 1]| ([cube(c).expect("a cube") + e], [c.clone()]);
    let ([y], _) = scan(cubed, [x.clone()], [inputs.clone()], 0)?;
    assert_eq!([slope(&y, &x)?, along(&y, &x)?], [20.0 * 405.0; 2]);
    let e = variable(&inputs)?;
    let ([y], _) = scan(cubed, [x.clone()], [e.clone()], 0)?;
    assert_eq!(grad(&y, &[&e])?[0].to_vec::<f64>()?, [405.0, 1.0]);

    let values = variable(&Array::from([1.0, 2.0, 3.0, 4.0]))?;
    let [y] = reduce(|[a], [b]| [product(a, b)], [Array::scalar(1.0)], [values.clone()], 0)?;
    let tangent = jvp(&[&y], &[&values], &[&Array::from([1.0, 0.0, 10.0, 0.0])])?.remove(0);
    assert_eq!(tangent.item::<f64>()?, 24.0 + 80.0);

    // The branch is so expensive that it is computed only where it is taken.
    let x = variable(&Array::from([2.0, -3.0]))?;
    let costly = |x: &Array<'static>| {
        let value = |x: &[Array<'static>]| Ok(vec![x[0].exp().sin().atan().erf().tan().log1p().sinh()]);
        custom_jvp(value, &[x], |x, v| Ok(vec![&x[0] * &v[0]])).expect("a value").remove(0)
    };
    let [y] = cond(&x.greater(0.0), || [costly(&x)], || [&x * 7.0])?;
    assert_eq!(grad(&y.sum(())?, &[&x])?[0].to_vec::<f64>()?, [2.0, 7.0]);
    assert_eq!(jvp(&[&y], &[&x], &[&Array::from([1.0, 1.0])])?[0].to_vec::<f64>()?, [2.0, 7.0]);
    Ok(())
}

#[test]
fn loops_use_rules_that_say_more_than_the_values_do() -> Result<()> {
    let x = number(2.0)?;
    // The values do not depend on x at all.
    let [y] = fori_loop(0, 4, |_, [c]| [c + flat(&x)], [number(1.0)?])?;
    assert_eq!([y.item::<f64>()?, slope(&y, &x)?], [1.0, 12.0]);
    // c' = flat(c) + x, in which c varies with x: 3(3(3 · 0 + 1) + 1) + 1.
    let [y] = fori_loop(0, 3, |_, [c]| [flat(c) + &x], [number(1.0)?])?;
    assert_eq!([y.item::<f64>()?, slope(&y, &x)?], [2.0, 13.0]);
    // A loop in a loop, and a second derivative.
    let inner = |c: &Array<'static>| -> Array<'static> {
        let [d] = fori_loop(0, 2, |_, [d]| [product(d, &x)], [c.clone()]).expect("a loop");
        d
    };
    let [y] = fori_loop(0, 3, |_, [c]| [inner(c)], [x.clone()])?;
    let first = grad(&y, &[&x])?.remove(0);
    assert_eq!([y.item::<f64>()?, first.item::<f64>()?, along(&y, &x)?], [128.0, 448.0, 448.0]);
    assert_eq!(along(&first, &x)?, 42.0 * 32.0);
    Ok(())
}

/// x · w, whose derivative is said to be 7w for x and 11x for w.
fn dot(x: &Array<'static>, w: &Array<'static>) -> Result<Array<'static>> {
    let value = |x: &[Array<'static>]| Ok(vec![(&x[0] * &x[1]).sum(())?]);
    let rule = |x: &[Array<'static>], v: &[Array<'static>]| {
        Ok(vec![(&v[0] * &x[1] * 7.0).sum(())? + (&x[0] * &v[1] * 11.0).sum(())?])
    };
    Ok(custom_jvp(value, &[x, w], rule)?.remove(0))
}

/// The same with a rule for adjoints.
fn dot_in_reverse(x: &Array<'static>, w: &Array<'static>) -> Result<Array<'static>> {
    let value = |x: &[Array<'static>]| Ok(vec![(&x[0] * &x[1]).sum(())?]);
    let rule =
        |x: &[Array<'static>], v: &[Array<'static>]| Ok(vec![&v[0] * &x[1] * 7.0, &x[0] * &v[0] * 11.0]);
    Ok(custom_vjp(value, &[x, w], rule)?.remove(0))
}

/// The derivatives of a batch are those of each of its elements; the adjoint of an argument that all of them have is a sum.
#[test]
fn batches_use_rules() -> Result<()> {
    let x = variable(&Array::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))?;
    let w = variable(&Array::from([1.0, 10.0, 100.0]))?;
    for f in [dot, dot_in_reverse] {
        let y = vmap(|x| Ok(vec![f(&x[0], &x[1])?]), &[x.clone(), w.clone()], &[Some(0), None], 0)?.remove(0);
        on_executors::each(&y, &[321.0, 654.0], "the values")?;
        let found = grad(&(&y * Array::from([1.0, 2.0])).sum(())?, &[&x, &w])?;
        on_executors::each(&found[0], &[7.0, 70.0, 700.0, 14.0, 140.0, 1400.0], "the adjoint of the batch")?;
        on_executors::each(&found[1], &[99.0, 132.0, 165.0], "the adjoint of what all have")?;
        // The gradient of each row, one by one and as a batch.
        let gradients = |x: &[Array<'static>]| {
            let (x, w) = (variable(&x[0])?, variable(&x[1])?);
            grad(&f(&x, &w)?, &[&x, &w])
        };
        let rows = vmap(gradients, &[x.clone(), w.clone()], &[Some(0), None], 0)?;
        for i in 0..2 {
            let one = gradients(&[x.index_axis(0, i)?, w.clone()])?;
            for (row, one) in rows.iter().zip(&one) {
                on_executors::each(&row.index_axis(0, i)?, &one.to_vec::<f64>()?, "a row")?;
            }
        }
        assert_eq!(rows[1].to_vec::<f64>()?, [11.0, 22.0, 33.0, 44.0, 55.0, 66.0]);
    }
    let y = vmap(|x| Ok(vec![dot(&x[0], &x[1])?]), &[x.clone(), w.clone()], &[Some(0), None], 0)?.remove(0);
    let ones = Array::ones(&[2, 3], DType::Float64)?;
    assert_eq!(jvp(&[&y], &[&x], &[&ones])?[0].to_vec::<f64>()?, [777.0, 777.0]);
    assert_eq!(jvp(&[&y], &[&w], &[&ones.index_axis(0, 0)?])?[0].to_vec::<f64>()?, [66.0, 165.0]);
    Ok(())
}

#[test]
fn batches_use_rules_that_say_more_than_the_values_do() -> Result<()> {
    // The values do not depend on the batch, and the rule returns a number.
    let x = variable(&Array::from([1.0, 2.0]))?;
    let y = vmap(|x| Ok(vec![flat(&x[0])]), std::slice::from_ref(&x), &[Some(0)], 0)?.remove(0);
    assert_eq!(y.to_vec::<f64>()?, [0.0, 0.0]);
    assert_eq!(grad(&(&y * &x).sum(())?, &[&x])?[0].to_vec::<f64>()?, [3.0, 6.0]);
    let one = |_: &[Array<'static>], _: &[Array<'static>]| Ok(vec![Array::scalar(1.0)]);
    let y = vmap(
        |x| custom_vjp(|x| Ok(vec![x[0].exp()]), &[&x[0]], one),
        std::slice::from_ref(&x),
        &[Some(0)],
        0,
    )?
    .remove(0);
    assert_eq!(grad(&y.sum(())?, &[&x])?[0].to_vec::<f64>()?, [1.0, 1.0]);
    // Batches of batches, a rule that is used in its own derivative, and the body of a loop.
    let w = variable(&Array::from([3.0, 5.0, 7.0]))?;
    let inner =
        |a: &Array<'static>| vmap(|x| Ok(vec![product(a, &x[0])]), std::slice::from_ref(&w), &[Some(0)], 0);
    let y = vmap(|x| inner(&x[0]), std::slice::from_ref(&x), &[Some(0)], 0)?.remove(0);
    assert_eq!(y.to_vec::<f64>()?, [3.0, 5.0, 7.0, 6.0, 10.0, 14.0]);
    assert_eq!(grad(&y.sum(())?, &[&x])?[0].to_vec::<f64>()?, [15.0, 15.0]);
    assert_eq!(grad(&y.sum(())?, &[&w])?[0].to_vec::<f64>()?, [3.0, 3.0, 3.0]);
    let second = |x: &[Array<'static>]| {
        let x = variable(&x[0])?;
        let first = grad(&doubled(&x)?, &[&x])?.remove(0);
        grad(&first, &[&x])
    };
    let zero = Array::from([0.0, 0.0]);
    assert_eq!(vmap(second, &[zero], &[Some(0)], 0)?[0].to_vec::<f64>()?, [4.0, 4.0]);
    let repeated =
        |x: &[Array<'static>]| fori_loop(0, 2, |_, [c]| [product(c, &x[0])], [x[0].clone()]).map(Vec::from);
    let y = vmap(repeated, std::slice::from_ref(&x), &[Some(0)], 0)?.remove(0);
    assert_eq!(grad(&y.sum(())?, &[&x])?[0].to_vec::<f64>()?, [3.0, 12.0]);
    // The Jacobian of a gradient, whose rule is cubed: 5x², 10x.
    let x = variable(&Array::from([0.5, 2.0]))?;
    assert_eq!(hessian(&cube(&x)?.sum(())?, &x)?.to_vec::<f64>()?, [5.0, 0.0, 0.0, 20.0]);
    Ok(())
}

#[test]
fn errors_of_rules_in_batches() -> Result<()> {
    let x = variable(&Array::from([[0.5, 2.0], [1.0, 3.0]]))?;
    let long = |_: &[Array<'static>], _: &[Array<'static>]| Ok(vec![Array::from([1.0, 2.0, 3.0])]);
    let two = |_: &[Array<'static>], v: &[Array<'static>]| Ok(vec![v[0].clone(), v[0].clone()]);
    let same = |x: &[Array<'static>]| Ok(x.to_vec());
    let y = vmap(|x| custom_vjp(same, &[&x[0]], long), std::slice::from_ref(&x), &[Some(0)], 0)?.remove(0);
    let error = grad(&y.sum(())?, &[&x]).map(drop).expect_err("a shape");
    assert_eq!(error.to_string(), "custom_vjp: result 0 of the rule is float64[3], not float64[2]");
    let y = vmap(|x| custom_vjp(same, &[&x[0]], two), std::slice::from_ref(&x), &[Some(0)], 0)?.remove(0);
    let error = grad(&y.sum(())?, &[&x]).map(drop).expect_err("a count");
    assert_eq!(error.to_string(), "custom_vjp: the rule returns 2 arrays, not 1");
    // An array of the batch that the function uses besides its arguments has no derivative either.
    let w = variable(&Array::from([1.0, 2.0]))?;
    let hidden =
        |x: &[Array<'static>]| custom_jvp(|y| Ok(vec![&y[0] * &x[1]]), &[&x[0]], |_, v| Ok(v.to_vec()));
    let y = vmap(hidden, &[x.clone(), w.clone()], &[Some(0), Some(0)], 0)?.remove(0);
    assert_eq!(grad(&y.sum(())?, &[&x])?[0].to_vec::<f64>()?, [1.0; 4]);
    assert_eq!(grad(&y.sum(())?, &[&w]).map(drop).expect_err("hidden").kind(), ErrorKind::Derivative);
    Ok(())
}

/// Each call visits its own nodes alone.
#[test]
fn chains_of_functions_with_rules_take_linear_time() -> Result<()> {
    let begun = Instant::now();
    let x = variable(&Array::from([0.5, 0.25]))?;
    let mut y = x.clone();
    for _ in 0..5_000 {
        y = custom_jvp(|x| Ok(vec![-&x[0]]), &[&y], |_, v| Ok(vec![-&v[0]]))?.remove(0);
    }
    assert_eq!(grad(&y.sum(())?, &[&x])?[0].to_vec::<f64>()?, [1.0, 1.0]);
    // They are dropped in bounded stack.
    let mut y = x.clone();
    for _ in 0..20_000 {
        y = custom_vjp(|x| Ok(x.to_vec()), &[&y], |_, v| Ok(vec![-&v[0]]))?.remove(0);
    }
    assert_eq!(grad(&y.sum(())?, &[&x])?[0].to_vec::<f64>()?, [1.0, 1.0]);
    drop(y);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    Ok(())
}
