//! Adjoints of tables of which steps, iterations and branches take elements: beside tangents, which are computed otherwise, and in bits
//! beside a sum by position whose values are listed in the documented order.

use broadloom::gradients::checkpoint;
use broadloom::{Along, IndexMode, ScatterMode, cond, fori_loop, scan};

use super::*;
use crate::takes_in_loops::{out_of_range, refused};
use crate::takes_in_steps::at;

/// A function of a table and an array.
type OfTable = fn(&Array<'static>, &Array<'static>) -> Result<Array<'static>>;

fn index(x: &Array<'static>, extent: i64) -> Array<'static> {
    (x.abs() * 5.0).astype(DType::Int64).remainder(extent)
}

/// Indices that the states compute, with two takes in each step.
fn walked(table: &Array<'static>, x: &Array<'static>, along: Along) -> Result<Array<'static>> {
    let step = |[y]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
        let i = index(y, 7);
        let next = (at(table, &i) * y + at(table, &(i + 1).remainder(7)) * v).sin();
        ([next.clone()], [next * at(table, &index(v, 7))])
    };
    let ([last], [all]) = scan(step, [Array::scalar(0.75)], [x.clone()], along)?;
    last.sum(())?.try_add(&all.square().sum(())?)
}

fn forwards(table: &Array<'static>, x: &Array<'static>) -> Result<Array<'static>> {
    walked(table, x, Along::axis(0))
}

fn backwards(table: &Array<'static>, x: &Array<'static>) -> Result<Array<'static>> {
    walked(table, x, Along::axis(1).reverse())
}

/// Elements of a matrix, by the modes that never fail, and rows of it.
fn matrix(table: &Array<'static>, x: &Array<'static>) -> Result<Array<'static>> {
    let table = table.broadcast_to(&[2, 7])?.reshape(&[7, 2])? * Array::from([[0.5, 2.0]]);
    let row = table.index_axis(1, 0)?;
    let step = |[i, y]: &[Array<'static>; 2], [v]: &[Array<'static>; 1]| {
        let j = i.remainder(2);
        let element = table.gather(&[i.remainder(7), j], 0).expect("indices");
        let clipped = row.take_by(&(i - 2), 0, IndexMode::Clip).expect("an index");
        let wrapped = row.take_by(&(i * 3), 0, IndexMode::Wrap).expect("an index");
        (
            [i + 1, (y * element + clipped * v).tanh()],
            [wrapped * y * &row.take(&Array::scalar(3_i64), 0).expect("an index")],
        )
    };
    let ([_, last], [all]) = scan(step, [Array::scalar(0_i64), Array::scalar(0.5)], [x.clone()], 0)?;
    last.sum(())?.try_add(&all.sum(())?)
}

/// Indices that no state computes, of as many elements as the steps have columns.
fn fixed(table: &Array<'static>, x: &Array<'static>) -> Result<Array<'static>> {
    let indices = Array::from([6_i64, 0, 3]);
    let step = |[y]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
        let taken = table.take_along_axis(&indices, 0).expect("indices") * at(table, &Array::scalar(6_i64));
        ([(y * taken + v).sin()], [])
    };
    let ([last], []) = scan(step, [Array::scalar(0.25)], [x.clone()], 0)?;
    last.sum(())
}

/// A take in a branch of a step, which fails where it is not taken, and one in a loop of a step.
fn nested(table: &Array<'static>, x: &Array<'static>) -> Result<Array<'static>> {
    let step = |[y]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
        let place = (v * 4.0).floor();
        let is_inside = place.greater_equal(0.0).logical_and(place.less(7.0));
        let [branch] = cond(&is_inside, || [at(table, &place.astype(DType::Int64)) * v * y], || [y * 0.5])
            .expect("branches");
        let [inner] = fori_loop(0, 3, |i, [z]| [(z * at(table, &(i * 2))).sin()], [branch]).expect("a loop");
        ([inner.clone()], [inner])
    };
    let (_, [all]) = scan(step, [Array::scalar(0.5)], [x.clone()], 0)?;
    all.sum(())
}

/// A loop that is a recurrence in reverse mode, and branches of arrays.
fn unlike(table: &Array<'static>, x: &Array<'static>) -> Result<Array<'static>> {
    let body =
        |i: &Array<'static>, [y]: &[Array<'static>; 1]| [(y * at(table, &i.remainder(7))).cos() + y * 0.5];
    let [y] = fori_loop(2, 25, body, [x.clone()])?;
    let place = (x * 4.0).floor();
    let is_inside = place.greater_equal(0.0).logical_and(place.less(7.0));
    let taken = || [at(table, &place.astype(DType::Int64)) * &y, at(table, &Array::scalar(2_i64)) * 3.0];
    let [one, two] = cond(&is_inside, taken, || [x.clone(), y.clone()])?;
    (one * &two).sum(())?.try_add(&two.sum(())?)
}

/// A table that the steps also use as it is.
fn both(table: &Array<'static>, x: &Array<'static>) -> Result<Array<'static>> {
    let body = |i: &Array<'static>, [y]: &[Array<'static>; 1]| [(y * at(table, i) + table).cos()];
    let [first] = fori_loop(0, 5, body, [Array::scalar(0.5)])?;
    let step = |[y]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
        ([(y * at(table, &index(v, 7)) + table * v).sin()], [])
    };
    let ([last], []) = scan(step, [first], [x.sum(Over::axis(1).keep_dims())?], 0)?;
    last.sum(())
}

const FUNCTIONS: [(&str, OfTable); 7] = [
    ("forwards", forwards),
    ("backwards", backwards),
    ("a matrix", matrix),
    ("fixed indices", fixed),
    ("nested", nested),
    ("a loop and branches", unlike),
    ("a table that is used as it is", both),
];

fn near(got: f64, wanted: f64, what: &str) {
    assert!((got - wanted).abs() <= 1e-12 * wanted.abs().max(1.0), "{what}: {got} {wanted}");
}

/// The product of an adjoint with a direction is the tangent along it, for the first and the second derivative.
#[test]
fn adjoints_agree_with_tangents() -> Result<()> {
    let numbers =
        |n: usize, scale: f64| (0..n).map(|i| (i as f64 * 1.7 + scale).sin() * scale).collect::<Vec<_>>();
    for (name, function) in FUNCTIONS {
        for steps in [1, 2, 9, 10] {
            let table = variable(&Array::from_vec(numbers(7, 1.25)))?;
            let x = variable(&Array::from_shape_vec(&[steps, 3], numbers(steps * 3, 1.5))?)?;
            let (u, v) = (numbers(7, 0.5), numbers(steps * 3, 0.875));
            let along = [Array::from_vec(u.clone()), Array::from_shape_vec(&[steps, 3], v.clone())?];
            let y = function(&table, &x)?;
            let check = |y: &Array<'static>, what: &str| -> Result<[Array<'static>; 2]> {
                let [of_table, of_x] = <[_; 2]>::try_from(grad(y, &[&table, &x])?).expect("two");
                let tangent = jvp(&[y], &[&table, &x], &[&along[0], &along[1]])?.remove(0).item::<f64>()?;
                let pairs = of_table.to_vec::<f64>()?.into_iter().zip(&u);
                let pairs = pairs.chain(of_x.to_vec::<f64>()?.into_iter().zip(&v));
                let what = format!("{what} of {name}, {steps} steps");
                near(pairs.map(|(x, y)| x * y).sum(), tangent, &what);
                assert!(of_table.to_vec::<f64>()?.iter().any(|x| *x != 0.0), "{what}");
                for x in [&of_table, &of_x] {
                    on_executors::each(x, &x.to_vec::<f64>()?, &what)?;
                }
                Ok([of_table, of_x])
            };
            let [of_table, of_x] = check(&y, "the first")?;
            let again = checkpoint(|| function(&table, &x))?;
            for (i, found) in grad(&again, &[&table, &x])?.iter().enumerate() {
                let wanted = [&of_table, &of_x][i].to_vec::<f64>()?;
                on_executors::each(found, &wanted, &format!("{name} with {steps} steps computed again"))?;
            }
            let total = of_table.sin().sum(())?.try_add(&of_x.sin().sum(())?)?;
            check(&total, "the second")?;
        }
    }
    Ok(())
}

/// Hessians are tangents of gradients along a batch, in which each tangent is a table of its own.
#[test]
fn hessians_and_batches() -> Result<()> {
    for (name, function) in FUNCTIONS {
        // In a loop within a step, elements are taken of one table.
        if name == "nested" {
            let tables = Array::ones(&[2, 7], DType::Float64)?;
            let of = |of: &[Array<'static>]| Ok(vec![function(&of[0], &Array::from([[0.5, 0.25]]))?]);
            refused(vmap(of, &[tables], &[Some(0)], 0), ErrorKind::Derivative, "a loop within a loop");
            continue;
        }
        let numbers =
            |n: usize, scale: f64| (0..n).map(|i| (i as f64 * 1.7 + scale).sin() * scale).collect::<Vec<_>>();
        let x = Array::from_shape_vec(&[4, 3], numbers(12, 1.5))?;
        let table = variable(&Array::from_vec(numbers(7, 1.25)))?;
        let y = function(&table, &x)?;
        let found = hessian(&y, &table)?.to_vec::<f64>()?;
        let gradient = grad(&y, &[&table])?.remove(0);
        for i in 0..7 {
            let row = grad(&gradient.index_axis(0, i as isize)?, &[&table])?.remove(0).to_vec::<f64>()?;
            row.iter().zip(&found[i * 7..]).for_each(|(row, found)| near(*found, *row, name));
        }
        // A gradient for each of three tables and arrays.
        let tables = Array::from_shape_vec(&[3, 7], numbers(21, 0.9))?;
        let arrays = Array::from_shape_vec(&[3, 4, 3], numbers(36, 1.3))?;
        let of_both = |of: &[Array<'static>]| {
            let [table, x] = [variable(&of[0])?, variable(&of[1])?];
            grad(&function(&table, &x)?, &[&table, &x])
        };
        let batch = vmap(of_both, &[tables.clone(), arrays.clone()], &[Some(0), Some(0)], 0)?;
        for i in 0..3 {
            let of = [tables.index_axis(0, i)?, arrays.index_axis(0, i)?];
            for (k, one) in of_both(&of)?.iter().enumerate() {
                let row = batch[k].index_axis(0, i)?;
                on_executors::each(&row, &one.to_vec::<f64>()?, &format!("{name}, index {i} of a batch"))?;
            }
        }
    }
    Ok(())
}

/// The sums have the bits of those of a scatter, to which the elements are listed from the last step on, those of the last take of a
/// step first, each in the order of the columns. In another order, they have other bits.
#[test]
fn the_last_step_comes_first() -> Result<()> {
    let (steps, columns, extent) = (700, 3, 5_usize);
    let weights: Vec<f32> =
        (0..steps * columns * 2).map(|i| ((i * i % 977) as f32 * 0.37).sin() * 1e3).collect();
    let weight = |i: usize| weights[i];
    let [first, second]: [Vec<f32>; 2] =
        [0, 1].map(|k| (0..steps * columns).map(|i| weight(2 * i + k)).collect());
    let place = |take: usize, i: usize| ((i * 7 + take * 3 + i / 11) % extent) as i64;
    let places = [0, 1].map(|take| (0..steps * columns).map(|i| place(take, i)).collect::<Vec<i64>>());
    let shape = &[steps, columns];
    let of = |x: &[f32]| Array::from_shape_vec(shape, x.to_vec());
    let at_places = |x: &[i64]| Array::from_shape_vec(shape, x.to_vec());
    let bits =
        |x: &Array<'_>| -> Result<Vec<u32>> { Ok(x.to_vec::<f32>()?.iter().map(|x| x.to_bits()).collect()) };
    for is_reversed in [false, true] {
        let table = variable(&Array::zeros(&[extent], DType::Float32)?)?;
        let along = if is_reversed { Along::axis(0).reverse() } else { Along::axis(0) };
        let step = |[s]: &[Array<'static>; 1], [v, w, i, j]: &[Array<'static>; 4]| {
            ([s.clone()], [at(&table, i) * v, at(&table, j) * w])
        };
        let inputs = [of(&first)?, of(&second)?, at_places(&places[0])?, at_places(&places[1])?];
        let (_, [a, b]) = scan(step, [Array::scalar(0_i64)], inputs, along)?;
        let y = a.sum(())?.try_add(&b.sum(())?)?;
        let found = grad(&y, &[&table])?.remove(0);
        let listed = |takes: [usize; 2], is_reversed: bool| {
            let (mut at, mut values) = (Vec::new(), Vec::new());
            for step in (0..steps).map(|step| if is_reversed { step } else { steps - 1 - step }) {
                for (take, i) in takes.iter().flat_map(|&take| (0..columns).map(move |i| (take, i))) {
                    at.push(places[take][step * columns + i]);
                    values.push([&first, &second][take][step * columns + i]);
                }
            }
            let zeros = Array::full(&[extent], -0.0_f32)?;
            zeros.scatter(ScatterMode::Add, &Array::from_vec(at), &Array::from_vec(values))
        };
        let wanted = bits(&listed([1, 0], is_reversed)?)?;
        for options in on_executors::executors() {
            assert_eq!(bits(&found.eval_with(&options)?)?, wanted, "reversed: {is_reversed}, {options:?}");
        }
        assert_ne!(bits(&listed([0, 1], is_reversed)?)?, wanted);
        assert_ne!(bits(&listed([1, 0], !is_reversed)?)?, wanted);
    }
    Ok(())
}

/// Sums of float16 are computed in float32, and rounded once.
#[test]
fn sums_of_float16_are_wide() -> Result<()> {
    let table = variable(&Array::from([1.0_f32, 2.0]).astype(DType::Float16))?;
    let x = Array::ones(&[3000], DType::Float16)?;
    let step = |[s]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
        ([s.clone()], [at(&table, &Array::scalar(1_i64)) * v])
    };
    let (_, [all]) = scan(step, [Array::scalar(0_i64)], [x], 0)?;
    let found = grad(&all.sum(())?, &[&table])?.remove(0);
    assert_eq!(found.dtype(), DType::Float16);
    on_executors::each(&found.astype(DType::Float64), &[0.0, 3000.0], "float16")
}

/// Where a branch is not taken, it may be of a table without elements; where it is, an index out of range is an error.
#[test]
fn indices_out_of_range() -> Result<()> {
    let x = Array::from([1.0, -1.0, 2.0]);
    let gradient = |table: &Array<'static>, x: &Array<'static>| -> Result<Array<'static>> {
        let table = variable(table)?;
        let step = |[s]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
            let then = || [at(&table, &(v.astype(DType::Int64) - 9))];
            let [y] = cond(&v.greater(0.0), then, || [v.clone()]).expect("branches");
            ([s.clone()], [y])
        };
        let (_, [all]) = scan(step, [Array::scalar(0.0)], [x.clone()], 0)?;
        Ok(grad(&all.sum(())?, &[&table])?.remove(0))
    };
    let empty = Array::from_vec(Vec::<f64>::new());
    on_executors::each::<f64>(&gradient(&empty, &-x.abs())?, &[], "no element")?;
    let nine = Array::ones(&[9], DType::Float64)?;
    let wanted = [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    on_executors::each(&gradient(&nine, &x)?, &wanted, "elements")?;
    for extent in [1, 6, 7] {
        let table = Array::ones(&[extent], DType::Float64)?;
        out_of_range(&gradient(&table, &x)?, &format!("an index of {extent}"));
    }
    Ok(())
}

/// In a step nothing can be stored, so that the elements that a loop takes there are listed; of many there is no list.
#[test]
fn a_long_loop_in_a_step_is_refused() -> Result<()> {
    let table = variable(&Array::from([0.5, 0.25]))?;
    let inner =
        |y: &Array<'static>| fori_loop(0, 999, |i, [y]| [y * at(&table, &i.remainder(2))], [y.clone()]);
    let ([last], []) = scan(
        |[y], [v]| ([inner(&(y + v)).expect("a loop")[0].clone()], []),
        [Array::scalar(0.0)],
        [Array::from([1.0, 2.0])],
        0,
    )?;
    refused(grad(&last, &[&table]), ErrorKind::Derivative, "in the body of another loop");
    Ok(())
}
