//! Reductions, cumulative functions, and what is composed of them.

use super::*;

const INF: f64 = f64::INFINITY;

type OfArray = fn(&Array<'static>) -> Result<Array<'static>>;

fn assert_near(got: &Array<'_>, wanted: &[f64], name: &str) -> Result<()> {
    let got = got.to_vec::<f64>()?;
    assert_eq!(got.len(), wanted.len(), "{name}");
    for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        let near = got == wanted || (got - wanted).abs() <= 1e-13 * wanted.abs().max(1.0);
        assert!(near, "{name}, element {i}: {got}, not {wanted}");
    }
    Ok(())
}

#[test]
fn reductions_at_special_points() -> Result<()> {
    let cases: &[(&str, OfArray, &[f64], &[f64])] = &[
        ("sum", |x| x.sum(()), &[1.0, 2.0], &[1.0, 1.0]),
        ("mean", |x| x.mean(()), &[1.0, 2.0, 5.0, 7.0], &[0.25; 4]),
        ("prod", |x| x.prod(()), &[2.0, 3.0, 5.0], &[15.0, 10.0, 6.0]),
        ("prod with a zero", |x| x.prod(()), &[2.0, 0.0, 5.0], &[0.0, 10.0, 0.0]),
        ("prod with two zeros", |x| x.prod(()), &[2.0, 0.0, 0.0], &[0.0, 0.0, 0.0]),
        ("prod of one", |x| x.prod(()), &[7.0], &[1.0]),
        ("prod that overflows", |x| x.prod(()), &[1e300, 1e10], &[1e10, 1e300]),
        ("max", |x| x.max(()), &[1.0, 4.0, 4.0, 2.0], &[0.0, 0.5, 0.5, 0.0]),
        ("max of infinities", |x| x.max(()), &[INF, 4.0, INF], &[0.5, 0.0, 0.5]),
        ("max with NaNs", |x| x.max(()), &[1.0, f64::NAN, 4.0, f64::NAN], &[0.0, 0.5, 0.0, 0.5]),
        ("min", |x| x.min(()), &[-0.0, 4.0, 0.0], &[0.5, 0.0, 0.5]),
        ("norm", |x| x.vector_norm((), 2.0), &[3.0, -4.0], &[0.6, -0.8]),
        ("norm at the origin", |x| x.vector_norm((), 2.0), &[0.0, 0.0], &[0.0, 0.0]),
        ("norm of small numbers", |x| x.vector_norm((), 2.0), &[3e-300, 4e-300], &[0.6, 0.8]),
        ("norm of large numbers", |x| x.vector_norm((), 2.0), &[3e300, 4e300], &[0.6, 0.8]),
        ("norm of order 1", |x| x.vector_norm((), 1.0), &[3.0, 0.0, -4.0], &[1.0, 0.0, -1.0]),
        ("norm of order 3", |x| x.vector_norm((), 3.0), &[1.0, 0.0], &[1.0, 0.0]),
        ("norm of order 3 at the origin", |x| x.vector_norm((), 3.0), &[0.0, 0.0], &[0.0, 0.0]),
        ("largest magnitude", |x| x.vector_norm((), INF), &[3.0, -4.0], &[0.0, -1.0]),
        ("largest magnitude at the origin", |x| x.vector_norm((), INF), &[0.0, 0.0], &[0.0, 0.0]),
        ("a written norm at the origin", |x| Ok((x * x).sum(())?.sqrt()), &[0.0, 0.0], &[0.0, 0.0]),
        ("a mean's norm", |x| Ok(x.square().mean(())?.sqrt()), &[0.0, 0.0], &[0.0, 0.0]),
        ("a power of a sum", |x| Ok(x.square().sum(())?.pow(0.5)), &[0.0, 0.0], &[0.0, 0.0]),
        ("a multiple of a sum", |x| Ok((x.square().sum(())? * 0.5).sqrt()), &[0.0, 0.0], &[0.0, 0.0]),
        ("norm of order 1/2", |x| x.vector_norm((), 0.5), &[0.0, 1.0], &[0.0, 1.0]),
        ("var", |x| x.var((), 0.0), &[1.0, 3.0], &[-1.0, 1.0]),
        ("std", |x| x.std((), 0.0), &[1.0, 3.0], &[-0.5, 0.5]),
        ("std of equals", |x| x.std((), 0.0), &[3.0, 3.0], &[0.0, 0.0]),
        ("nansum", |x| x.nansum(()), &[3.0, f64::NAN], &[1.0, 0.0]),
        ("nanmax", |x| x.nanmax(()), &[3.0, f64::NAN, 5.0], &[0.0, 0.0, 1.0]),
        ("nanmean", |x| x.nanmean(()), &[3.0, f64::NAN, 5.0], &[0.5, 0.0, 0.5]),
        ("vecdot", |x| x.vecdot(x, -1), &[3.0, 5.0], &[6.0, 10.0]),
        ("argmax", |x| Ok(x.argmax(())?.astype(DType::Float64)), &[3.0, 5.0], &[0.0, 0.0]),
    ];
    for &(name, function, x, wanted) in cases {
        let x = variable(&Array::from_vec(x.to_vec()))?;
        let y = function(&x)?;
        let gradient = grad(&y, &[&x])?.remove(0);
        assert_near(&gradient, wanted, name)?;
        for (i, &wanted) in wanted.iter().enumerate() {
            let along = Array::from_vec((0..x.len()).map(|j| f64::from(u8::from(i == j))).collect());
            assert_near(&jvp(&[&y], &[&x], &[&along])?[0], &[wanted], name)?;
        }
    }
    Ok(())
}

/// Functions of an array of shape [3, 4, 5] that differ in the axes.
const ALONG_AXES: &[(&str, OfArray)] = &[
    ("sum", |x| x.sum(1)),
    ("sum with kept axes", |x| x.sum(Over::axes(&[0, 2]).keep_dims())),
    ("prod", |x| x.prod(0)),
    ("prod of several axes", |x| x.prod([0, 2])),
    ("prod of all", |x| x.prod(())),
    ("prod with kept axes", |x| x.prod(Over::axes(&[2, 1]).keep_dims())),
    ("max", |x| x.max([1, 2])),
    ("min with kept axes", |x| x.min(Over::axis(1).keep_dims())),
    ("cumulative sum", |x| x.cumulative_sum(Some(1), None, false)),
    ("cumulative sum from 0", |x| x.cumulative_sum(Some(-1), None, true)),
    ("cumulative product", |x| x.cumulative_prod(Some(1), None, false)),
    ("cumulative product from 1", |x| x.cumulative_prod(Some(0), None, true)),
    ("softmax", |x| {
        let rows = Over::axis(-1).keep_dims();
        let e = (x - x.max(rows.clone())?).exp();
        Ok(&e / e.sum(rows)?)
    }),
    ("layer norm", |x| {
        let rows = Over::axis(-1).keep_dims();
        Ok((x - x.mean(rows.clone())?) / (x.var(rows, 0.0)? + 1e-5).sqrt())
    }),
    ("differences", |x| Ok(x.diff(1)?.square() * x.slice((.., 1.., ..))?)),
    ("a table", |x| Ok(x.slice((.., 0, ..))?.expand_dims(1)? * x.sin())),
];

/// Both modes agree with differences between values, and with each other to all digits but a few.
#[test]
fn both_modes_agree_along_axes() -> Result<()> {
    let numbers = |seed: usize, n: usize| -> Vec<f64> {
        (0..n).map(|i| (((i + seed) * 7919) as f64 * 0.37).sin() * 1.5 + 0.1).collect()
    };
    for &(name, function) in ALONG_AXES {
        let at = Array::from_shape_vec(&[3, 4, 5], numbers(1, 60))?;
        let x = variable(&at)?;
        let y = function(&x)?;
        let v = Array::from_shape_vec(y.shape(), numbers(5, y.len()))?;
        let t = Array::from_shape_vec(&[3, 4, 5], numbers(9, 60))?;
        let adjoint = vjp(&[&y], &[&v], &[&x])?.remove(0);
        let tangent = jvp(&[&y], &[&x], &[&t])?.remove(0);
        let [reverse, forward] = [(&adjoint * &t).sum(())?, (&tangent * &v).sum(())?];
        let (reverse, forward) = (reverse.item::<f64>()?, forward.item::<f64>()?);
        assert!((reverse - forward).abs() <= 1e-11 * forward.abs().max(1.0), "{name}: {reverse} {forward}");
        let h = 1e-6;
        let value = |h: f64| -> Result<f64> { (function(&(&at + &t * h))? * &v).sum(())?.item::<f64>() };
        let difference = (value(h)? - value(-h)?) / (2.0 * h);
        assert!(
            (difference - forward).abs() <= 1e-6 * forward.abs().max(1.0),
            "{name}: {difference} {forward}"
        );
    }
    Ok(())
}

#[test]
fn cumulative_products_with_zeros() -> Result<()> {
    let x = variable(&Array::from([2.0, 0.0, 3.0, 0.0, 5.0]))?;
    let y = x.cumulative_prod(None, None, false)?;
    // y = [2, 0, 0, 0, 0]: only the products up to the second and third element vary with the first zero.
    let v = Array::from([1.0, 10.0, 100.0, 1000.0, 10000.0]);
    let adjoint = vjp(&[&y], &[&v], &[&x])?.remove(0);
    assert_eq!(adjoint.to_vec::<f64>()?, [1.0, 20.0 + 600.0, 0.0, 0.0, 0.0]);
    Ok(())
}

#[test]
fn sums_of_half_precision_are_rounded_once() -> Result<()> {
    let x = variable(&Array::from_vec(vec![f16::from_f32(0.1); 4096]))?;
    let g = grad(&x.square().sum(())?, &[&x])?.remove(0);
    assert_eq!(g.to_vec::<f16>()?, vec![f16::from_f32(0.1) + f16::from_f32(0.1); 4096]);
    Ok(())
}

/// A number of elements may be beyond float16, and a sum of ones, too.
#[test]
fn maxima_of_half_precision_share_with_many() -> Result<()> {
    let ones = Array::full(&[100_000], f16::ONE)?;
    let x = variable(&ones)?;
    let y = x.max(())?;
    assert_eq!(grad(&y, &[&x])?[0].slice(..1)?.to_vec::<f16>()?, [f16::from_f64(1e-5)]);
    assert_eq!(jvp(&[&y], &[&x], &[&ones])?[0].item::<f16>()?, f16::ONE);
    let labels = Array::full(&[100_000], 0_i32)?;
    let y = x.segment_max(&labels, 1)?;
    assert_eq!(grad(&y.sum(())?, &[&x])?[0].slice(..1)?.to_vec::<f16>()?, [f16::from_f64(1e-5)]);
    assert_eq!(jvp(&[&y], &[&x], &[&ones])?[0].to_vec::<f16>()?, [f16::ONE]);
    Ok(())
}

/// The pattern of a norm ends at an argument, which is a variable.
#[test]
fn the_root_of_an_argument_is_steep_at_zero() -> Result<()> {
    let x = variable(&Array::from([0.0, 0.0]))?;
    let sum = x.square().sum(())?;
    assert_eq!(grad(&sum.sqrt(), &[&sum])?[0].item::<f64>()?, INF);
    assert_eq!(grad(&sum.sqrt(), &[&x])?[0].to_vec::<f64>()?, [0.0, 0.0]);
    Ok(())
}

#[test]
fn tangents_of_an_argument_that_is_given_twice_are_added() -> Result<()> {
    let x = variable(&Array::from([2.0]))?;
    let tangents = [Array::from([1.0]), Array::from([10.0])];
    let found = jvp(&[&(&x * 3.0)], &[&x, &x], &[&tangents[0], &tangents[1]])?;
    assert_eq!(found[0].to_vec::<f64>()?, [33.0]);
    Ok(())
}
