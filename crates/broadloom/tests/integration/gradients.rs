//! Derivatives: the rule of each function against closed forms, views against the positions of their elements, and values at
//! special points.

use broadloom::gradients::{
    custom_jvp, custom_vjp, grad, hessian, jacfwd, jacrev, jvp, stop_gradient, value_and_grad, variable, vjp,
    vmap,
};
use broadloom::prelude::*;
use broadloom::{HostFunction, Op, PadMode, concat};

use crate::on_executors;

mod checkpoints;
mod combinations;
mod composed;
mod custom;
mod functions;
mod linear_rules;
mod loops;
mod moved;
mod nested;
mod open_ranges;
mod routines;
mod tables;
mod takes_in_steps;

/// The gradient of the sum of `y(x)` with respect to an array.
fn of_sum(x: &Array<'static>, y: impl Fn(&Array<'static>) -> Array<'static>) -> Result<Array<'static>> {
    let x = variable(x)?;
    Ok(grad(&y(&x).sum(())?, &[&x])?.remove(0))
}

#[test]
fn a_chain_of_a_hundred_thousand_operations_takes_bounded_stack() -> Result<()> {
    let x = variable(&Array::from([0.5, 0.25]))?;
    let mut y = x.clone();
    for _ in 0..100_000 {
        y = -y;
    }
    let g = grad(&y.sum(())?, &[&x])?.remove(0);
    assert_eq!(g.to_vec::<f64>()?, [1.0, 1.0]);
    let t = jvp(&[&y], &[&x], &[&Array::from([1.0, 2.0])])?.remove(0);
    assert_eq!(t.to_vec::<f64>()?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn arguments_of_one_memory_are_apart() -> Result<()> {
    let memory = Array::from([2.0, 3.0]);
    let (x, y) = (variable(&memory)?, variable(&memory)?);
    let z = (&x * &y * &memory).sum(())?;
    let found = grad(&z, &[&x, &y])?;
    assert_eq!(found[0].to_vec::<f64>()?, [4.0, 9.0]);
    let third = grad(&(&x * &x * &y).sum(())?, &[&y])?.remove(0);
    assert_eq!(third.to_vec::<f64>()?, [4.0, 9.0]);
    Ok(())
}

#[test]
fn an_argument_varies_while_the_others_are_fixed() -> Result<()> {
    let x = variable(&Array::from([3.0]))?;
    let u = x.square();
    let y = (&u * &x).sum(())?;
    assert_eq!(grad(&y, &[&x])?[0].to_vec::<f64>()?, [27.0]);
    let both = grad(&y, &[&x, &u])?;
    assert_eq!([both[0].item::<f64>()?, both[1].item::<f64>()?], [9.0, 3.0]);
    Ok(())
}

#[test]
fn what_no_output_depends_on_has_a_gradient_of_zeros() -> Result<()> {
    let (x, y) = (variable(&Array::from([3.0_f32, 1.0]))?, variable(&Array::from([1.0_f32]))?);
    assert_eq!(grad(&x.sum(())?, &[&y])?[0].to_vec::<f32>()?, [0.0]);
    let z = x.floor().sum(())? + x.sign().sum(())? + x.astype(DType::Int32).astype(DType::Float32).sum(())?;
    assert_eq!(grad(&z, &[&x])?[0].to_vec::<f32>()?, [0.0, 0.0]);
    assert_eq!(jvp(&[&x], &[&y], &[&y])?[0].to_vec::<f32>()?, [0.0, 0.0]);
    Ok(())
}

/// The bits of a gradient are those of every executor and number of threads.
#[test]
fn gradients_have_the_same_bits_on_each_executor() -> Result<()> {
    let data: Vec<f32> = (0..20_000).map(|i| ((i * 7919) % 1000) as f32 / 250.0 - 2.0).collect();
    let x = variable(&Array::from_shape_vec(&[200, 100], data)?)?;
    let rows = Over::axis(1).keep_dims();
    let e = (&x - x.max(rows.clone())?).exp();
    let softmax = &e / e.sum(rows)?;
    let y = (softmax.log() * x.tanh() + x.mean(0)? * x.hypot(1.0)).sum(())?;
    let g = grad(&y, &[&x])?.remove(0);
    let wanted = g.to_vec::<f32>()?;
    on_executors::each(&g, &wanted, "softmax")
}

#[test]
fn contributions_are_added_from_the_last_use_to_the_first() -> Result<()> {
    let (big, small) = (1e16, 1.0);
    let x = variable(&Array::from([1.0]))?;
    // (small + −big) + big is 1 or 0 as small is added first or last.
    let y = ((&x * big) + (&x * -big)) + (&x * small);
    let g = grad(&y.sum(())?, &[&x])?.remove(0);
    assert_eq!(g.to_vec::<f64>()?, [(small + -big) + big]);
    let y = (&x * small) + ((&x * -big) + (&x * big));
    let g = grad(&y.sum(())?, &[&x])?.remove(0);
    assert_eq!(g.to_vec::<f64>()?, [(big + -big) + small]);
    Ok(())
}

#[test]
fn errors_name_the_operation_and_the_argument() -> Result<()> {
    let (x, n) = (variable(&Array::from([1.0, 2.0]))?, Array::from([1, 2]));
    let double = HostFunction::new("double", |x: f64| 2.0 * x)?;
    let called = Array::call(&double, [&x])?.sum(())?;
    let cases = [
        (grad(&x, &[&x]), ErrorKind::Shape, "grad: float64[2] has axes; write grad(sum(y), x)"),
        (grad(&n.sum(())?, &[&x]), ErrorKind::DType, "grad: the result is int64, but must be a float"),
        (
            grad(&x.sum(())?, &[&x, &n]),
            ErrorKind::DType,
            "grad: argument 1 is int32[2], but must be an array of floats; convert it with `astype`",
        ),
        (
            grad(&x.nextafter(3.0).sum(())?, &[&x]),
            ErrorKind::Derivative,
            "nextafter: there is no derivative for operand 1, since its results are adjacent floats",
        ),
        (
            grad(&called, &[&x]),
            ErrorKind::Derivative,
            "double: the derivative of a host function is not known",
        ),
        (
            vjp(&[&x], &[&Array::from([1.0])], &[&x]),
            ErrorKind::Shape,
            "vjp: adjoint 0 is float64[1], its output float64[2]",
        ),
        (
            jvp(&[&x], &[&x], &[&Array::from([1.0_f32, 2.0])]),
            ErrorKind::DType,
            "jvp: tangent 0 is float32[2], its argument float64[2]",
        ),
        (jvp(&[&x], &[&x], &[]), ErrorKind::Arity, "jvp: 0 tangents for 1 arguments"),
    ];
    for (got, kind, words) in cases {
        let error = got.map(drop).expect_err(words);
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, words));
    }
    Ok(())
}

#[test]
fn derivatives_of_derivatives() -> Result<()> {
    let x = variable(&Array::from([0.5, -1.5]))?;
    let first = grad(&(x.square() * &x).sum(())?, &[&x])?.remove(0);
    let second = grad(&first.sum(())?, &[&x])?.remove(0);
    let third = grad(&second.sum(())?, &[&x])?.remove(0);
    assert_eq!(second.to_vec::<f64>()?, [3.0, -9.0]);
    assert_eq!(third.to_vec::<f64>()?, [6.0, 6.0]);
    // Forward over reverse: the product of the Hessian with a vector.
    let along = jvp(&[&first], &[&x], &[&Array::from([1.0, 2.0])])?.remove(0);
    assert_eq!(along.to_vec::<f64>()?, [3.0, -18.0]);
    Ok(())
}

#[test]
fn a_stopped_value_is_a_constant_with_its_bits() -> Result<()> {
    let x = variable(&Array::from([f64::from_bits(0x7ff8_0000_0000_0005), -0.0]))?;
    let stopped = stop_gradient(&x);
    let bits =
        |x: &Array<'_>| -> Result<Vec<u64>> { Ok(x.to_vec::<f64>()?.iter().map(|x| x.to_bits()).collect()) };
    assert_eq!(bits(&stopped)?, bits(&x)?);
    assert_eq!(grad(&stopped.sum(())?, &[&x])?[0].to_vec::<f64>()?, [0.0, 0.0]);
    let (value, [slope]) = value_and_grad(|[x]| (x * stop_gradient(x)).sum(()), [Array::from([3.0])])?;
    assert_eq!((value.item::<f64>()?, slope.to_vec::<f64>()?), (9.0, vec![3.0]));
    Ok(())
}

#[test]
fn texts_have_gradients() -> Result<()> {
    use broadloom::Kernel;
    use broadloom::text::Program;

    let text = "x: float64[n]; k: float64[]
        y = sum(x[1:] * k * x[:-1])
        return of_x = grad(y, x), of_k = grad(y, k), second = grad(grad(y, k), x[0])";
    let error = Program::parse(text).map(drop).expect_err("not a name");
    assert!(
        error.to_string().contains("`grad` is the derivative for a name, not for an expression"),
        "{error}"
    );
    let program = Program::parse(&text.replace(", second = grad(grad(y, k), x[0])", ""))?;
    let bound = [("x", Array::from([1.0, 2.0, 4.0])), ("k", Array::from([3.0]).reshape(&[])?)];
    let results = program.build(&bound)?;
    assert_eq!(results[0].1.to_vec::<f64>()?, [6.0, 15.0, 6.0]);
    assert_eq!(results[1].1.item::<f64>()?, 10.0);

    let kernel = Kernel::parse(
        "x: float64[n]; grad(sum(x * sin(x)) / count(x, dtype=float64), x)",
        &Options::default(),
    )?;
    let (data, mut out) = ([0.5_f64, -2.0], [0.0; 2]);
    kernel.run(&[(&data).into()], [(&mut out).into()])?;
    for (got, x) in out.iter().zip(data) {
        assert!((got - (x.sin() + x * x.cos()) / 2.0).abs() < 1e-15, "{got}");
    }

    let axes =
        Program::parse("x: float64[n]; grad(x * 2, x)")?.build(&bound[..1]).map(drop).expect_err("axes");
    assert!(axes.to_string().contains("grad: float64[3] has axes; write grad(sum(y), x)"), "{axes}");
    Ok(())
}

#[test]
fn gradients_of_kernels_with_open_extents() -> Result<()> {
    use broadloom::Kernel;

    let x = Array::input("x", DType::Float64, &["n".into(), 3.into()])?;
    let w = Array::input("w", DType::Float64, &[3.into()])?;
    let y = (&x * &w).sum(-1)?.sin();
    let loss = y.square().mean(())?
        + x.slice((.., 0))?.sum(())?
        + x.slice((0, 1))? * x.slice((-1, 2))?
        + x.flip(0)?.cumulative_sum(Some(0), None, false)?.max(())?;
    let found = grad(&loss, &[&x, &w])?;
    let kernel = Kernel::new(&[&found[0], &found[1]], &[&x, &w], &Options::default())?;
    for n in [1, 4] {
        let data: Vec<f64> = (0..3 * n).map(|i| (i as f64 * 0.7).sin() + 1.5).collect();
        let weights = [0.5, -0.25, 2.0];
        let (mut of_x, mut of_w) = (vec![0.0; 3 * n], vec![0.0; 3]);
        kernel.run(&[(&data).into(), (&weights).into()], [(&mut of_x).into(), (&mut of_w).into()])?;
        let (x, w) = (
            variable(&Array::from_shape_vec(&[n, 3], data.clone())?)?,
            variable(&Array::from_vec(weights.to_vec()))?,
        );
        let y = (&x * &w).sum(-1)?.sin();
        let loss = y.square().mean(())?
            + x.slice((.., 0))?.sum(())?
            + x.slice((0, 1))? * x.slice((-1, 2))?
            + x.flip(0)?.cumulative_sum(Some(0), None, false)?.max(())?;
        let fixed = grad(&loss, &[&x, &w])?;
        assert_eq!(fixed[0].to_vec::<f64>()?, of_x, "{n}");
        assert_eq!(fixed[1].to_vec::<f64>()?, of_w, "{n}");
    }
    Ok(())
}

#[test]
fn jacobians_of_both_modes_and_batches() -> Result<()> {
    let x = variable(&Array::from([[0.5, -1.0], [2.0, 0.25]]))?;
    let y = (x.sum(0)? * x.t()).slice((.., 0))?.exp();
    let (reverse, forward) = (jacrev(&y, &x)?, jacfwd(&y, &x)?);
    assert_eq!((reverse.shape(), forward.shape()), (&[2, 2, 2][..], &[2, 2, 2][..]));
    for (a, b) in reverse.to_vec::<f64>()?.iter().zip(forward.to_vec::<f64>()?) {
        assert!((a - b).abs() <= 1e-14 * b.abs(), "{a} {b}");
    }
    for row in 0..2 {
        let one = grad(&y.index_axis(0, row)?, &[&x])?.remove(0).to_vec::<f64>()?;
        assert_eq!(reverse.index_axis(0, row)?.to_vec::<f64>()?, one);
    }
    let constant = variable(&Array::from([1.0]))?;
    assert_eq!(jacrev(&y, &constant)?.to_vec::<f64>()?, [0.0, 0.0]);
    assert_eq!(hessian(&x.square().sum(())?, &x)?.sum(())?.item::<f64>()?, 8.0);

    // A batch has the bits of each of its elements.
    let rows = Array::from_shape_vec(&[5, 40], (0..200).map(|i| (i as f32 * 0.37).sin()).collect())?;
    let of_row = |x: &Array<'static>| -> Result<Array<'static>> {
        let e = (x - x.max(())?).exp();
        Ok((&e / e.sum(())?).cumulative_sum(None, None, false)? * x.sliding_window(3, 0)?.sum(1)?.mean(())?)
    };
    let made = vmap(|x| Ok(vec![of_row(&x[0])?]), std::slice::from_ref(&rows), &[Some(0)], 0)?.remove(0);
    for row in 0..5 {
        let one = of_row(&rows.index_axis(0, row)?)?;
        assert_eq!(made.index_axis(0, row)?.to_vec::<f32>()?, one.to_vec::<f32>()?);
    }
    on_executors::each(&made, &made.to_vec::<f32>()?, "a batch")
}
