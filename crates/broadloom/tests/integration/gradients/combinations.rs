//! Adjoints of reductions by a function.

use broadloom::{Dim, reduce};

use super::*;
use crate::combine::{columns, combined};
use crate::takes_in_loops::refused;
use crate::takes_in_steps::at;

const SHAPES: &[(&[usize], usize)] = &[
    (&[1], 0),
    (&[2], 0),
    (&[15], 0),
    (&[16], 0),
    (&[17], 0),
    (&[31], 0),
    (&[32], 0),
    (&[33], 0),
    (&[47], 0),
    (&[48], 0),
    (&[49], 0),
    (&[1000], 0),
    (&[40, 3], 0),
    (&[3, 40], 1),
    (&[2, 35, 3], 1),
];

fn numbers(n: usize, scale: f64) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 1.37 + scale).sin() * scale).collect()
}

/// A function that is linear and not associative: the adjoint of an element is the product of 3/4 and −1 along its way through the tree.
#[test]
fn adjoints_are_those_of_the_canonical_order() -> Result<()> {
    for &(shape, axis) in SHAPES {
        let elements: usize = shape.iter().product();
        let x = variable(&Array::from_shape_vec(shape, numbers(elements, 1.0))?)?;
        let [y] = reduce(|[a], [b]| [a * 0.75 - b], [Array::scalar(9.0)], [x.clone()], axis as isize)?;
        let places = columns(&(0..elements).collect::<Vec<_>>(), shape, axis);
        let mut wanted = vec![0.0; elements];
        for column in &places {
            let leaves: Vec<Vec<(usize, f64)>> = column.iter().map(|&place| vec![(place, 1.0)]).collect();
            let combine = |a: &Vec<(usize, f64)>, b: &Vec<(usize, f64)>| {
                let left = a.iter().map(|&(place, factor)| (place, factor * 0.75));
                left.chain(b.iter().map(|&(place, factor)| (place, -factor))).collect()
            };
            for (place, factor) in combined(&leaves, combine).expect("elements") {
                wanted[place] = factor;
            }
        }
        on_executors::each(&grad(&y.sum(())?, &[&x])?[0], &wanted, &format!("{shape:?} along {axis}"))?;
    }
    Ok(())
}

/// Two states, an array that each combination uses, and elements of a table: adjoints agree with tangents, and so do those of adjoints.
#[test]
fn adjoints_agree_with_tangents() -> Result<()> {
    for &(shape, axis) in SHAPES {
        let elements: usize = shape.iter().product();
        let others: Vec<usize> =
            (0..shape.len()).filter(|&other| other != axis).map(|other| shape[other]).collect();
        let given = |shape: &[usize], scale: f64| {
            Array::from_shape_vec(shape, numbers(shape.iter().product(), scale))
        };
        let arguments = [given(shape, 1.0)?, given(shape, 0.5)?, given(&others, 0.75)?, given(&[4], 1.25)?];
        let along = [given(shape, 0.3)?, given(shape, 0.7)?, given(&others, 1.1)?, given(&[4], 0.9)?];
        let variables = arguments.iter().map(variable).collect::<Result<Vec<_>>>()?;
        let [x, y, w, table] = &variables[..] else { unreachable!() };
        let combine = |[a, b]: &[Array<'static>; 2], [c, d]: &[Array<'static>; 2]| {
            let taken = at(table, &(b.abs() * 3.0).astype(DType::Int64).remainder(4));
            [(a * d + c * w).sin() + taken * b, b * 0.5 - d * &a.cos()]
        };
        let identities = [Array::scalar(0.0), Array::scalar(1.0)];
        let [first, second] = reduce(combine, identities, [x.clone(), y.clone()], axis as isize)?;
        let total = first.sum(())?.try_add(&second.square().sum(())?)?;
        let of: Vec<&Array<'static>> = variables.iter().collect();
        let directions: Vec<&Array<'static>> = along.iter().collect();
        let check = |y: &Array<'static>, what: &str| -> Result<Vec<Array<'static>>> {
            let found = grad(y, &of)?;
            let tangent = jvp(&[y], &of, &directions)?.remove(0).item::<f64>()?;
            let mut product = 0.0;
            for (found, along) in found.iter().zip(&along) {
                product += (found * along).sum(())?.item::<f64>()?;
                on_executors::each(found, &found.to_vec::<f64>()?, what)?;
            }
            let what = format!("{what} of {shape:?} along {axis}");
            assert!(
                (product - tangent).abs() <= 1e-10 * tangent.abs().max(1.0),
                "{what}: {product} {tangent}"
            );
            Ok(found)
        };
        let found = check(&total, "the first")?;
        if elements < 18 {
            let sums = found.iter().map(|v| v.sin().sum(())).collect::<Result<Vec<_>>>()?;
            let again = sums.iter().skip(1).try_fold(sums[0].clone(), |sum, x| sum.try_add(x))?;
            check(&again, "the second")?;
        }
    }
    Ok(())
}

/// The results of no elements are the identities. Of an axis of an open extent, the tree is not known.
#[test]
fn no_elements_and_open_extents() -> Result<()> {
    let first = variable(&Array::from([2.0, 3.0]))?;
    let none = variable(&Array::from_shape_vec(&[0, 2], Vec::<f64>::new())?)?;
    let [y] = reduce(|[a], [b]| [a * b], [first.clone()], [none.clone()], 0)?;
    let found = grad(&y.square().sum(())?, &[&first, &none])?;
    on_executors::each(&found[0], &[4.0, 6.0], "the identity")?;
    assert_eq!(found[1].shape(), [0, 2]);
    let x = Array::input("x", DType::Float64, &[Dim::from("n")])?;
    let [y] = reduce(|[a], [b]| [a * b], [Array::scalar(1.0)], [x.clone()], 0)?;
    refused(grad(&y, &[&x]), ErrorKind::Derivative, "of an array of open extents");
    Ok(())
}
