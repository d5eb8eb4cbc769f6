//! Adjoints of views, of joined arrays and of elements at indices.
//!
//! A function here only moves elements. Applied to the numbers of the elements, it shows where each element of the result comes
//! from; the adjoint of an element is the sum of the adjoints of its copies, in the order of the result.

use super::*;

type Moved = fn(&Array<'static>) -> Result<Array<'static>>;

/// Functions of an array of shape [4, 6].
const MOVED: &[(&str, Moved)] = &[
    ("permute", |x| Ok(x.t())),
    ("reshape", |x| x.t().reshape(&[2, -1])),
    ("broadcast", |x| x.expand_dims(1)?.broadcast_to(&[3, 4, 5, 6])),
    ("broadcast of a column", |x| x.slice((.., ..1))?.broadcast_to(&[2, 4, 9])),
    ("slice", |x| x.slice((1..3, 2..))),
    ("steps", |x| x.slice((Range::new(None, None, 3), Range::new(Some(1), None, 2)))),
    ("backwards", |x| x.slice((Range::new(None, None, -1), Range::new(Some(-2), None, -2)))),
    ("empty", |x| x.slice((2..2, ..))),
    ("index", |x| x.slice((-1, 2..))),
    ("flip", |x| x.flip(1)),
    ("windows", |x| x.sliding_window(3, 1)),
    ("windows along rows", |x| x.sliding_window(3, 0)),
    ("long windows", |x| x.sliding_window(5, 1)),
    ("whole windows", |x| x.sliding_window(6, 1)),
    ("windows of one", |x| x.sliding_window(1, 1)),
    ("windows of windows", |x| x.sliding_window(2, 0)?.sliding_window(3, 1)),
    ("concat", |x| concat(&[x.clone(), x.slice((.., 1..3))?, x.clone()], 1)),
    ("roll", |x| x.roll(2, 1)),
    ("repeat", |x| x.repeat(3, 0)),
    ("tile", |x| x.tile(&[2, 2])),
    ("pad", |x| x.pad(&[(1, 2), (0, 3)], PadMode::Symmetric)),
    ("wrap", |x| x.pad(&[(1, 1), (2, 2)], PadMode::Wrap)),
];

/// An array of distinct weights with many digits.
fn weights(shape: &[usize]) -> Result<Array<'static>> {
    let n = shape.iter().product::<usize>();
    Array::from_shape_vec(shape, (0..n).map(|i| ((i * 7919 + 13) as f32 / 97.0).sin()).collect())
}

#[test]
fn the_adjoint_of_a_moved_element_is_the_sum_of_its_copies_in_order() -> Result<()> {
    for &(name, moved) in MOVED {
        let numbers = variable(&Array::from_shape_vec(&[4, 6], (0..24).map(|i| i as f32).collect())?)?;
        let result = moved(&numbers)?;
        let v = weights(result.shape())?;
        let (from, adjoints) = (result.to_vec::<f32>()?, v.to_vec::<f32>()?);
        let wanted: Vec<f32> = (0..24)
            .map(|i| {
                let copies = from.iter().zip(&adjoints).filter(|(from, _)| **from == i as f32);
                let copies: Vec<f32> = copies.map(|(_, weight)| *weight).collect();
                // A sum of nothing is +0, and one of a single copy is the copy.
                Array::from_vec(copies).sum(()).and_then(|sum| sum.item::<f32>())
            })
            .collect::<Result<_>>()?;
        let adjoint = vjp(&[&result], &[&v], &[&numbers])?.remove(0);
        if [
            "broadcast",
            "broadcast of a column",
            "windows",
            "windows along rows",
            "long windows",
            "whole windows",
        ]
        .contains(&name)
        {
            on_executors::each(&adjoint, &wanted, name)?;
        }
        for (i, (got, wanted)) in adjoint.to_vec::<f32>()?.iter().zip(&wanted).enumerate() {
            assert!((got - wanted).abs() <= 4e-6, "{name}, element {i}: {got}, not {wanted}");
        }
        let tangent = weights(&[4, 6])?;
        let along = jvp(&[&result], &[&numbers], &[&tangent])?.remove(0);
        let tangents = tangent.to_vec::<f32>()?;
        let moved: Vec<f32> = from.iter().map(|&i| tangents[i as usize]).collect();
        assert_eq!(along.to_vec::<f32>()?, moved, "{name}");
    }
    Ok(())
}

#[test]
fn operands_that_are_broadcast_have_canonical_sums() -> Result<()> {
    let row = variable(&weights(&[1, 37])?)?;
    let v = weights(&[53, 37])?;
    let result = &row + Array::zeros(&[53, 37], DType::Float32)?;
    let adjoint = vjp(&[&result], &[&v], &[&row])?.remove(0);
    on_executors::each(&adjoint, &v.sum(0)?.to_vec::<f32>()?, "a row")?;
    let number = variable(&Array::from([0.5_f32]))?.reshape(&[])?;
    let number = variable(&number)?;
    let adjoint = vjp(&[&(&number + &v)], &[&v], &[&number])?.remove(0);
    on_executors::each(&adjoint, &v.sum(())?.to_vec::<f32>()?, "a number")
}

#[test]
fn elements_at_indices_have_both_derivatives() -> Result<()> {
    let x = variable(&weights(&[5])?)?;
    let taken = x.take(&Array::from([4, 0, 0, -1]), 0)?;
    let v = Array::from([1.0_f32, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(jvp(&[&taken], &[&x], &[&v])?[0].to_vec::<f32>()?, [5.0, 1.0, 1.0, 5.0]);
    assert_eq!(grad(&taken.sum(())?, &[&x])?[0].to_vec::<f32>()?, [2.0, 0.0, 0.0, 0.0, 2.0]);
    Ok(())
}
