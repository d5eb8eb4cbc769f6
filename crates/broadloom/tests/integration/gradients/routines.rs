//! Elements that are taken by position, sorted, or reduced by label. The expected values follow from where each element goes.

use broadloom::ScatterMode;

use super::*;

/// The adjoint of `x` for a weighted sum of `y(x)`, and the tangent of `y` for the tangent 1, 2, 3, … of `x`.
fn both_modes(
    x: &Array<'static>,
    weights: &[f64],
    y: impl Fn(&Array<'static>) -> Result<Array<'static>>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let x = variable(x)?;
    let y = y(&x)?;
    let shape: Vec<isize> = y.shape().iter().map(|&extent| extent as isize).collect();
    let weights = Array::from_vec(weights.to_vec()).reshape(&shape)?;
    let adjoint = vjp(&[&y], &[&weights], &[&x])?.remove(0).to_vec::<f64>()?;
    let shape: Vec<isize> = x.shape().iter().map(|&extent| extent as isize).collect();
    let directions = Array::from_vec((1..=x.len()).map(|i| i as f64).collect()).reshape(&shape)?;
    let tangent = jvp(&[&y], &[&x], &[&directions])?.remove(0).to_vec::<f64>()?;
    Ok((adjoint, tangent))
}

#[test]
fn repeated_reads_are_summed() -> Result<()> {
    let x = Array::from([[1.0, 2.0], [3.0, 4.0]]);
    let at = Array::from([1_i64, 0, 1, -1]);
    let (adjoint, tangent) =
        both_modes(&x, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0], |x| x.take(&at, 0))?;
    assert_eq!(adjoint, [4.0, 8.0, 1.0 + 16.0 + 64.0, 2.0 + 32.0 + 128.0]);
    assert_eq!(tangent, [3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0]);
    // The sum of an element that is read often has the bits of the canonical sum.
    let weights: Vec<f64> = (0..1000).map(|i| 0.1 * f64::from(i)).collect();
    let once = Array::from_vec(vec![0_i64; 1000]);
    let (adjoint, _) = both_modes(&Array::from([1.0, 2.0]), &weights, |x| x.take(&once, 0))?;
    assert_eq!(adjoint, [Array::from_vec(weights).sum(())?.item::<f64>()?, 0.0]);
    Ok(())
}

#[test]
fn sorted_elements_keep_their_adjoints() -> Result<()> {
    let x = Array::from([3.0, 1.0, 2.0, 1.0]);
    let weights = [1.0, 2.0, 4.0, 8.0];
    let (adjoint, tangent) = both_modes(&x, &weights, |x| x.sort(0, false))?;
    assert_eq!((adjoint, tangent), (vec![8.0, 1.0, 4.0, 2.0], vec![2.0, 4.0, 3.0, 1.0]));
    let (adjoint, tangent) = both_modes(&x, &weights, |x| x.sort(0, true))?;
    assert_eq!((adjoint, tangent), (vec![1.0, 4.0, 2.0, 8.0], vec![1.0, 3.0, 2.0, 4.0]));
    let rows = Array::from([[3.0, 1.0, 2.0], [1.0, 5.0, 5.0]]);
    let (adjoint, tangent) = both_modes(&rows, &weights, |x| x.topk(2, 1, true).map(|(first, _)| first))?;
    assert_eq!((adjoint, tangent), (vec![1.0, 0.0, 2.0, 0.0, 4.0, 8.0], vec![1.0, 3.0, 5.0, 6.0]));
    Ok(())
}

#[test]
fn reductions_by_label_have_the_derivatives_of_reductions() -> Result<()> {
    let x = Array::from([2.0, 5.0, 3.0, 5.0, 7.0]);
    let labels = Array::from([0, 1, 0, 1, -1]);
    let weights = [1.0, 10.0, 100.0];
    let (adjoint, tangent) = both_modes(&x, &weights, |x| x.segment_sum(&labels, 3))?;
    assert_eq!((adjoint, tangent), (vec![1.0, 10.0, 1.0, 10.0, 0.0], vec![4.0, 6.0, 0.0]));
    let (adjoint, _) = both_modes(&x, &[1.0, 10.0], |x| x.segment_mean(&labels, 2))?;
    assert_eq!(adjoint, [0.5, 5.0, 0.5, 5.0, 0.0]);
    let (adjoint, tangent) = both_modes(&x, &weights, |x| x.segment_prod(&labels, 3))?;
    assert_eq!((adjoint, tangent), (vec![3.0, 50.0, 2.0, 50.0, 0.0], vec![9.0, 30.0, 0.0]));
    // Equal maxima share the derivative.
    let (adjoint, tangent) = both_modes(&x, &weights, |x| x.segment_max(&labels, 3))?;
    assert_eq!((adjoint, tangent), (vec![0.0, 5.0, 1.0, 5.0, 0.0], vec![3.0, 3.0, 0.0]));
    let (adjoint, tangent) = both_modes(&x, &weights, |x| x.segment_min(&labels, 3))?;
    assert_eq!((adjoint, tangent), (vec![1.0, 5.0, 0.0, 5.0, 0.0], vec![1.0, 3.0, 0.0]));
    let zeros = Array::from([0.0, 5.0, 3.0, 0.0, 0.0]);
    let two = Array::from([0, 0, 0, 1, 1]);
    let (adjoint, _) = both_modes(&zeros, &[1.0, 1.0], |x| x.segment_prod(&two, 2))?;
    assert_eq!(adjoint, [15.0, 0.0, 0.0, 0.0, 0.0]);
    Ok(())
}

#[test]
fn the_last_element_at_a_position_has_its_adjoint() -> Result<()> {
    let at = Array::from([2_i64, 0, 2]);
    let (x, values) = (Array::from([1.0, 2.0, 3.0]), Array::from([10.0, 20.0, 30.0]));
    let weights = [1.0, 2.0, 4.0];
    let (adjoint, tangent) = both_modes(&x, &weights, |x| x.scatter(ScatterMode::Set, &at, &values))?;
    assert_eq!((adjoint, tangent), (vec![0.0, 2.0, 0.0], vec![0.0, 2.0, 0.0]));
    let (adjoint, tangent) =
        both_modes(&values, &weights, |values| x.scatter(ScatterMode::Set, &at, values))?;
    assert_eq!((adjoint, tangent), (vec![0.0, 1.0, 4.0], vec![2.0, 0.0, 3.0]));
    let (adjoint, tangent) =
        both_modes(&values, &weights, |values| x.scatter(ScatterMode::Add, &at, values))?;
    assert_eq!((adjoint, tangent), (vec![4.0, 1.0, 4.0], vec![2.0, 0.0, 4.0]));
    Ok(())
}

/// A derivative depends on the labels, so a label that the function refuses is an error there, too.
#[test]
fn labels_out_of_range_are_errors_of_derivatives() -> Result<()> {
    let x = variable(&Array::from([1.0, 2.0, 3.0]))?;
    for labels in [[0_i64, 2, 1], [0, -2, 1], [0, i64::MIN, 1]] {
        let labels = Array::from(labels);
        let g = grad(&x.segment_sum(&labels, 2)?.sum(())?, &[&x])?.remove(0);
        assert_eq!(g.eval().map(drop).expect_err("a label").kind(), ErrorKind::Index, "{labels}");
    }
    let labels = Array::from([0_u64, u64::MAX, 1]);
    let g = grad(&x.segment_sum(&labels, 2)?.sum(())?, &[&x])?.remove(0);
    assert_eq!(g.eval().map(drop).expect_err("a label").kind(), ErrorKind::Index);
    Ok(())
}

#[test]
fn elements_set_at_positions_have_jacobians_and_batches() -> Result<()> {
    let x = variable(&Array::from([3.0, 1.0, 2.0]))?;
    // The squares of the two largest elements: 3 and 2.
    let largest = x.topk(2, -1, true)?.0;
    let of = hessian(&largest.square().sum(())?, &x)?;
    assert_eq!(of.to_vec::<f64>()?, [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
    let of = jacrev(&x.square().topk(2, -1, true)?.0, &x)?;
    assert_eq!(of.to_vec::<f64>()?, [6.0, 0.0, 0.0, 0.0, 0.0, 4.0]);

    // Each index of the batch has positions of its own.
    let (rows, at) = (Array::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), Array::from([[2_i64, 0], [1, 1]]));
    let set =
        |x: &[Array<'static>]| Ok(vec![x[0].scatter(ScatterMode::Set, &x[1], &Array::from([10.0, 20.0]))?]);
    let made = vmap(set, &[rows, at], &[Some(0), Some(0)], 0)?.remove(0);
    on_executors::each(&made, &[20.0, 2.0, 10.0, 4.0, 20.0, 6.0], "a batch of positions")
}
