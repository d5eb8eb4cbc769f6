//! Loops, conditionals and recurrences.

use broadloom::{Along, cond, fori_loop, reduce, scan, while_loop};

use super::*;

type OfArrays = fn(&[Array<'static>; 2]) -> Result<Array<'static>>;

/// Checks the gradient of a function of two arrays against that of the same function without a loop.
fn assert_same(name: &str, looped: OfArrays, unrolled: OfArrays, arguments: [&[f64]; 2]) -> Result<()> {
    let arguments = arguments.map(|x| Array::from_vec(x.to_vec()));
    let found = [looped, unrolled].map(|f| value_and_grad(f, arguments.clone()));
    let [(value, gradients), (wanted_value, wanted)] = {
        let [a, b] = found;
        [a?, b?]
    };
    assert_eq!(value.item::<f64>()?, wanted_value.item::<f64>()?, "{name}");
    for (i, (got, wanted)) in gradients.iter().zip(&wanted).enumerate() {
        for (got, wanted) in got.to_vec::<f64>()?.iter().zip(wanted.to_vec::<f64>()?) {
            assert!(
                (got - wanted).abs() <= 1e-12 * wanted.abs().max(1.0),
                "{name}, argument {i}: {got} {wanted}"
            );
        }
        on_executors::each(got, &got.to_vec::<f64>()?, name)?;
    }
    // The tangent along both arguments.
    let x = [variable(&arguments[0])?, variable(&arguments[1])?];
    let ones = [0, 1].map(|i| Array::ones(x[i].shape(), DType::Float64));
    let [a, b] = ones;
    let along = jvp(&[&looped(&x)?], &[&x[0], &x[1]], &[&a?, &b?])?.remove(0).item::<f64>()?;
    let total: f64 = wanted.iter().map(|g| g.sum(()).and_then(|g| g.item::<f64>())).sum::<Result<f64>>()?;
    assert!((along - total).abs() <= 1e-12 * total.abs().max(1.0), "{name}: {along} {total}");
    Ok(())
}

#[test]
fn recurrences() -> Result<()> {
    let x: &[f64] = &[0.5, -1.0, 2.0, 0.25];
    assert_same(
        "an exponential average",
        |[x, w]| {
            let ([last], [means]) = scan(
                |[mean], [x]| {
                    let next = mean + (x - mean) * w;
                    ([next.clone()], [next.sin()])
                },
                [Array::scalar(0.0)],
                [x.clone()],
                0,
            )?;
            Ok((means * 3.0).sum(())? + last.sum(())?)
        },
        |[x, w]| {
            let (mut mean, mut total) = (Array::scalar(0.0) * w, Vec::new());
            for i in 0..4 {
                mean = &mean + (x.index_axis(0, i)? - &mean) * w;
                total.push(mean.sin() * 3.0);
            }
            Ok(concat(&total, 0)?.sum(())? + mean.sum(())?)
        },
        [x, &[0.3]],
    )?;
    assert_same(
        "backwards, with an initial state",
        |[x, s]| {
            let ([last, _], [ys]) = scan(
                |[s, n], [x]| ([s * x.cos(), n + 1], [s * s]),
                [s.clone(), Array::scalar(0)],
                [x.expand_dims(1)?],
                Along::axis(0).reverse(),
            )?;
            Ok(ys.sum(())? + last.sum(())?)
        },
        |[x, s]| {
            let (mut s, mut ys) = (s.clone(), Vec::new());
            for i in (0..4).rev() {
                ys.push((&s * &s).expand_dims(0)?);
                s = &s * x.index_axis(0, i)?.cos();
            }
            ys.reverse();
            Ok(concat(&ys, 0)?.sum(())? + s.sum(())?)
        },
        [x, &[0.3, 0.7]],
    )?;
    assert_same(
        "outputs of a state that does not vary",
        |[x, w]| {
            let (_, [ys]) = scan(
                |[n], [x]| ([n + 1.0], [x * w * n]),
                [Array::scalar(1.0).astype(DType::Float64)],
                [x.clone()],
                0,
            )?;
            ys.sum(())
        },
        |[x, w]| (x * w * Array::from([1.0, 2.0, 3.0, 4.0])).sum(()),
        [x, &[0.3]],
    )
}

#[test]
fn loops_with_a_fixed_number_of_trips() -> Result<()> {
    assert_same(
        "a power by repeated products",
        |[x, w]| {
            let [y] = fori_loop(2, 5, |i, [y]| [y * x.sin() + w * i.astype(DType::Float64)], [x.clone()])?;
            y.sum(())
        },
        |[x, w]| {
            let mut y = x.clone();
            for i in 2..5 {
                y = &y * x.sin() + w * f64::from(i);
            }
            y.sum(())
        },
        [&[0.5, -1.0, 2.0], &[0.25]],
    )
}

#[test]
fn conditionals() -> Result<()> {
    assert_same(
        "an expensive branch",
        |[x, w]| {
            let [y] =
                cond(&x.greater(0.0), || [(x.log() * w).exp().sin().atan().erf().tan().log1p()], || [x * w])?;
            y.sum(())
        },
        |[x, w]| {
            let taken = where_(x.greater(0.0), x, 1.0);
            let y = (taken.log() * w).exp().sin().atan().erf().tan().log1p();
            where_(x.greater(0.0), y, x * w).sum(())
        },
        [&[0.5, -1.0, 2.0, 0.0], &[0.3]],
    )
}

#[test]
fn loops_with_a_condition_have_tangents() -> Result<()> {
    let a = variable(&Array::from([4.0, 9.0, 2.0]))?;
    // Heron's method: the tangent of a root is v / (2 root).
    let [root] = while_loop(
        |[x]| ((x * x - &a) / &a).abs().greater(1e-13),
        |[x]| [(x + &a / x) / 2],
        [Array::scalar(1.0)],
        100,
    )?;
    let along = jvp(&[&root], &[&a], &[&Array::ones(&[3], DType::Float64)?])?.remove(0);
    for (got, a) in along.to_vec::<f64>()?.iter().zip([4.0_f64, 9.0, 2.0]) {
        assert!((got - 0.5 / a.sqrt()).abs() < 1e-6, "{got}");
    }
    on_executors::each(&along, &along.to_vec::<f64>()?, "Heron's method")?;
    let error = grad(&root.sum(())?, &[&a]).map(drop).expect_err("in reverse");
    assert_eq!(error.kind(), ErrorKind::Derivative);
    assert_eq!(
        error.to_string(),
        "while_loop: its number of iterations depends on values, so that there is no derivative in reverse mode; \
         differentiate forwards (jvp), or use scan, or fori_loop with constant bounds"
    );
    Ok(())
}

#[test]
fn reductions_by_a_function_have_tangents() -> Result<()> {
    let x = variable(&Array::from([1.0, 2.0, 3.0, 4.0]))?;
    let [product] = reduce(|[a], [b]| [a * b], [Array::scalar(1.0)], [x.clone()], 0)?;
    let along = jvp(&[&product], &[&x], &[&Array::from([1.0, 0.0, 10.0, 0.0])])?.remove(0);
    assert_eq!(along.item::<f64>()?, 24.0 + 80.0);
    on_executors::each(&grad(&product, &[&x])?[0], &[24.0, 12.0, 8.0, 6.0], "in reverse")
}

/// The contributions of a captured value are numbered from the last step to the first.
#[test]
fn contributions_of_captured_values_are_canonical_sums() -> Result<()> {
    let data: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.77).sin()).collect();
    let (x, w) = (Array::from_vec(data.clone()), variable(&Array::from([1.5_f32]))?.reshape(&[])?);
    let w = variable(&w)?;
    let (_, [ys]) = scan(|[s], [x]| ([s.clone()], [x * &w]), [Array::scalar(0.0_f32)], [x.clone()], 0)?;
    let g = grad(&ys.sum(())?, &[&w])?.remove(0);
    let wanted = x.flip(0)?.sum(())?.item::<f32>()?;
    assert_ne!(wanted, x.sum(())?.item::<f32>()?);
    on_executors::each(&g, &[wanted], "a factor")
}
