//! Loops in loops, and loops of many values.

use std::time::{Duration, Instant};

use broadloom::{Along, cond, fori_loop, scan, try_fori_loop, try_scan};

use super::*;

type Function = fn(&Array<'static>) -> Result<Array<'static>>;

fn near(got: f64, wanted: f64, name: &str) {
    assert!((got - wanted).abs() <= 1e-12 * wanted.abs().max(1.0), "{name}: {got} {wanted}");
}

fn number(x: f64) -> Result<Array<'static>> {
    variable(&Array::scalar(x).astype(DType::Float64))
}

/// x, changed by six iterations in two loops.
fn short(x: &Array<'static>) -> Result<Array<'static>> {
    let inner = |c: &Array<'static>| fori_loop(0, 2, |_, [d]| [d * x + d.sin()], [c.clone()]).map(|[d]| d);
    let [y] = fori_loop(0, 3, |_, [c]| [inner(c).expect("a loop")], [x.clone()])?;
    Ok(y)
}

/// The same with so many iterations of the inner loop that it is not unrolled.
fn long(x: &Array<'static>) -> Result<Array<'static>> {
    let next = |d: &Array<'static>| d.sin() * x + (d * x).cos() * 0.25 + d * 0.125;
    let inner = |c: &Array<'static>| fori_loop(0, 60, |_, [d]| [next(d)], [c.clone()]).map(|[d]| d);
    let [y] = fori_loop(0, 3, |_, [c]| [inner(c).expect("a loop")], [x.clone()])?;
    Ok(y)
}

/// Four loops, one in the other.
fn deep(x: &Array<'static>) -> Result<Array<'static>> {
    nest(3, x, x)
}

fn nest(depth: usize, c: &Array<'static>, x: &Array<'static>) -> Result<Array<'static>> {
    if depth == 0 {
        return Ok(c.sin() * x);
    }
    let [y] = fori_loop(0, 2, |_, [d]| [nest(depth - 1, d, x).expect("a loop")], [c.clone()])?;
    Ok(y)
}

/// The expected derivatives are those of JAX in float64.
#[test]
fn loops_in_loops_have_derivatives_in_both_modes() -> Result<()> {
    let cases: [(&str, Function, f64, Option<f64>); 3] = [
        ("short", short, 2.6571952037431874, Some(-7.384492332302961)),
        ("long", long, 1.0370460961481376, Some(1.9616865281588474)),
        ("deep", deep, 0.03275960335256183, None),
    ];
    for (name, f, wanted, second) in cases {
        let x = number(0.5)?;
        let y = f(&x)?;
        let g = grad(&y, &[&x])?.remove(0);
        near(g.item::<f64>()?, wanted, name);
        on_executors::each(&g, &[g.item::<f64>()?], name)?;
        let one = Array::ones(&[], DType::Float64)?;
        near(jvp(&[&y], &[&x], &[&one])?.remove(0).item::<f64>()?, wanted, name);
        if let Some(second) = second {
            near(jvp(&[&g], &[&x], &[&one])?.remove(0).item::<f64>()?, second, name);
            near(grad(&g, &[&x])?.remove(0).item::<f64>()?, second, name);
        }
    }
    Ok(())
}

#[test]
fn loops_in_the_steps_of_a_scan_have_adjoints() -> Result<()> {
    // The expected derivatives are those of JAX in float64.
    let (x, w) = (number(0.5)?, number(0.75)?);
    let step = |[s]: &[Array<'static>; 1], [e]: &[Array<'static>; 1]| {
        let [s] = fori_loop(0, 2, |_, [c]| [c * &w + c.sin() * e], [s.clone()]).expect("a loop");
        ([s.clone()], [s.square()])
    };
    let ([last], [squares]) = scan(step, [x.clone()], [Array::from([0.5, -1.0, 2.0])], 0)?;
    let found = grad(&(last + squares.sum(())?), &[&x, &w])?;
    near(found[0].item::<f64>()?, 1.9984536392445744, "x");
    near(found[1].item::<f64>()?, -1.335230394267822, "w");
    Ok(())
}

#[test]
fn adjoints_of_an_inner_loop_are_those_of_each_element() -> Result<()> {
    // y = x wⁿ with n = 3 · 70 for the elements that a row and a column make.
    let (x, w) = (variable(&Array::from([[1.0], [2.0]]))?, variable(&Array::from([1.0, 0.5, -1.0]))?);
    let inner = |c: &Array<'static>| fori_loop(0, 70, |_, [d]| [d * &w], [c.clone()]).map(|[d]| d);
    let [y] = fori_loop(0, 3, |_, [c]| [inner(c).expect("a loop")], [&x + &w * 0.0])?;
    let found = grad(&y.sum(())?, &[&x, &w])?;
    let power = 0.5_f64.powi(209);
    assert_eq!(found[0].to_vec::<f64>()?, [2.0 + power * 0.5; 2]);
    assert_eq!(found[1].to_vec::<f64>()?, [630.0, 630.0 * power, -630.0]);
    Ok(())
}

/// The length of the text of a derivative by forward mode, which grows with the number of its loops.
fn size(depth: usize) -> Result<usize> {
    let x = Array::input("x", DType::Float64, &[])?;
    let y = nest(depth, &x, &x)?;
    let one = Array::ones(&[], DType::Float64)?;
    let tangent = jvp(&[&y], &[&x], &[&one])?.remove(0);
    Ok(broadloom::text::print(&[("tangent", &tangent)])?.len())
}

#[test]
fn tangents_of_nested_loops_do_not_compute_a_loop_twice() -> Result<()> {
    let sizes = [size(2)?, size(4)?, size(6)?];
    assert!(sizes[2] < 2 * sizes[1] && sizes[1] < 3 * sizes[0], "{sizes:?}");
    Ok(())
}

#[test]
fn sequences_of_loops_and_branches_take_linear_time() -> Result<()> {
    let begun = Instant::now();
    let x = variable(&Array::from([1.0, -2.0]))?;
    let mut y = x.clone();
    for _ in 0..1_000 {
        let [z] = cond(&x.greater(0.0), || [(&y * 0.5).sin().exp().log().atan().tan().sinh()], || [-&y])?;
        [y] = fori_loop(0, 2, |_, [c]| [c * -1.0 + &z * 0.0], [z.clone()])?;
    }
    assert_eq!(jvp(&[&y], &[&x], &[&Array::from([0.0, 1.0])])?.remove(0).shape(), [2]);
    assert_eq!(grad(&y.sum(())?, &[&x])?.remove(0).shape(), [2]);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    Ok(())
}

#[test]
fn a_derivative_may_have_more_states_and_outputs_than_a_function() -> Result<()> {
    // The states are x, 2x … 64x, and are multiplied by w in each of two steps, so that their sum is 2080 x w².
    let (x, w) = (number(3.0)?, number(2.0)?);
    let states: Vec<Array<'static>> = (1..=64).map(|i| &x * f64::from(i)).collect();
    let step = |state: &[Array<'static>], _: &[Array<'static>]| {
        Ok((state.iter().map(|s| s * &w).collect(), state.to_vec()))
    };
    let (last, _) = try_scan(&step, &states, &[], Along::axis(0).length(2))?;
    let total = last.iter().skip(1).fold(last[0].clone(), |sum, y| sum + y);
    let one = Array::ones(&[], DType::Float64)?;
    assert_eq!(jvp(&[&total], &[&x], &[&one])?[0].item::<f64>()?, 8320.0);
    let found = grad(&total, &[&x, &w])?;
    assert_eq!([found[0].item::<f64>()?, found[1].item::<f64>()?], [8320.0, 24960.0]);

    // Of 70 captured values, each is added in three steps.
    let weights: Vec<Array<'static>> = (0..70).map(|i| number(f64::from(i))).collect::<Result<_>>()?;
    let add = |state: &[Array<'static>]| weights.iter().fold(state[0].clone(), |sum, w| sum + w);
    let body = |_: &Array<'static>, state: &[Array<'static>]| Ok(vec![add(state)]);
    let y = try_fori_loop(0, 3, &body, std::slice::from_ref(&x))?.remove(0);
    let found = grad(&y, &weights.iter().collect::<Vec<_>>())?;
    for g in [&found[0], &found[69]] {
        assert_eq!(g.item::<f64>()?, 3.0);
    }
    Ok(())
}

#[test]
fn a_loop_of_too_many_iterations_is_refused_in_reverse_mode() -> Result<()> {
    let x = number(1.0)?;
    let [y] = fori_loop(-(1_i64 << 62), 1_i64 << 62, |_, [c]| [c * &x], [x.clone()])?;
    let error = grad(&y, &[&x]).map(drop).expect_err("too many");
    assert_eq!(error.kind(), ErrorKind::Derivative);
    assert_eq!(
        error.to_string(),
        "fori_loop: the values before each of its 9223372036854775808 iterations cannot be stored for reverse mode; \
         differentiate forwards (jvp)"
    );
    Ok(())
}
