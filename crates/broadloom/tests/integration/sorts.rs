//! Sorts and searches of arrays: axes, views and expressions. The order itself is tested in the crate `broadloom-sort`.

use broadloom::prelude::*;
use broadloom::{Control, Evaluation, Range};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

fn values(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7919) % 1013) as f64 - 500.0).collect()
}

/// Each axis of a cube, by the definition.
#[test]
fn every_axis() -> Result<()> {
    let (shape, data) = ([4, 5, 6], values(120));
    let x = Array::from_shape_vec(&shape, data.clone())?;
    for axis in 0..3 {
        for descending in [false, true] {
            let (mut sorted, mut order) = (data.clone(), vec![0_i64; 120]);
            let stride: usize = shape[axis + 1..].iter().product();
            for first in (0..120).filter(|at| (at / stride).is_multiple_of(shape[axis])) {
                let places: Vec<usize> = (0..shape[axis]).map(|i| first + i * stride).collect();
                let mut indices: Vec<usize> = (0..shape[axis]).collect();
                indices.sort_by(|&a, &b| {
                    let order = data[places[a]].total_cmp(&data[places[b]]);
                    if descending { order.reverse() } else { order }
                });
                for (&place, &index) in places.iter().zip(&indices) {
                    (sorted[place], order[place]) = (data[places[index]], index as i64);
                }
            }
            let axis = axis as isize - 3;
            assert_eq!(x.sort(axis, descending)?.to_vec::<f64>()?, sorted, "{axis} {descending}");
            let indices = x.argsort(axis, descending)?;
            assert_eq!(indices.to_vec::<i64>()?, order, "{axis} {descending}");
            assert_eq!(x.take_along_axis(&indices, axis)?.to_vec::<f64>()?, sorted);
        }
    }
    assert_eq!(x.sort(3, false).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(Array::scalar(1.0).sort(0, false).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn expressions_views_and_bools() -> Result<()> {
    let x = Array::from([[3_i16, 1, 2], [9, 7, 8]]);
    assert_eq!((&x * 2).t().sort(0, false)?.to_vec::<i16>()?, [2, 14, 4, 16, 6, 18]);
    assert_eq!(x.slice((.., Range::from(..).step(-2)))?.sort(1, true)?.to_vec::<i16>()?, [3, 2, 9, 8]);
    assert_eq!(x.greater(2).sort(1, false)?.to_vec::<bool>()?, [false, false, true, true, true, true]);
    assert_eq!(x.greater(2).argsort(1, true)?.to_vec::<i64>()?, [0, 1, 2, 0, 1, 2]);
    let none = Array::from_shape_vec(&[3, 0], Vec::<f32>::new())?;
    for axis in [0, 1] {
        assert_eq!(none.sort(axis, false)?.shape(), [3, 0]);
        assert_eq!(none.argsort(axis, false)?.shape(), [3, 0]);
    }
    Ok(())
}

/// Any number of threads gives the bits of one.
#[test]
fn threads_share_a_sort() -> Result<()> {
    let data: Vec<f32> = (0..3_000_000_u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b9))).collect();
    let x = Array::from_slice(&data);
    let of = |threads| -> Result<(Vec<u32>, Vec<i64>)> {
        let options = Options { threads: Some(threads), ..Options::default() };
        let evaluation = Evaluation::with(&options);
        let sorted = evaluation.eval(&x.sort(0, false)?)?.to_vec::<f32>()?;
        let order = evaluation.eval(&x.argsort(0, false)?)?.to_vec()?;
        Ok((sorted.into_iter().map(f32::to_bits).collect(), order))
    };
    let one = of(1)?;
    let by_index: Vec<u32> = one.1.iter().map(|&i| data[i as usize].to_bits()).collect();
    assert_eq!(one.0, by_index);
    assert!(of(3)? == one);
    Ok(())
}

#[test]
fn searches() -> Result<()> {
    let sorted = Array::from([-0.0, 1.0, 1.0, 4.0, f64::NAN]);
    let queries = Array::from([[0.0, 1.0], [f64::INFINITY, f64::NAN]]);
    let (left, right) = (sorted.searchsorted(&queries, false)?, sorted.searchsorted(&queries, true)?);
    assert_eq!((left.shape(), left.to_vec::<i64>()?), (&[2, 2][..], vec![0, 1, 4, 4]));
    assert_eq!(right.to_vec::<i64>()?, [1, 3, 4, 5]);
    assert_eq!(queries.searchsorted(&sorted, false).unwrap_err().kind(), ErrorKind::Shape);
    let other = sorted.searchsorted(&Array::from([1_i8]), false);
    assert_eq!(other.unwrap_err().kind(), ErrorKind::DType);
    let none = Array::from_vec(Vec::<f64>::new());
    assert_eq!(none.searchsorted(&queries, true)?.to_vec::<i64>()?, [0; 4]);
    Ok(())
}

#[test]
fn a_cancelled_sort_is_an_error() -> Result<()> {
    let stop = AtomicBool::new(true);
    let control = Control { cancel: Some(&stop), ..Control::default() };
    let sorted = Array::from_vec(values(1000)).sort(0, false)?;
    let sorted = Evaluation::default().control(&control).eval(&sorted);
    assert_eq!(sorted.unwrap_err().kind(), ErrorKind::Cancelled);
    Ok(())
}

/// A function that is polled stops a sort that has begun, also while the calling thread waits for others.
#[test]
fn a_sort_is_cancelled_while_it_runs() -> Result<()> {
    let x = Array::from_vec(values(6_000_000));
    for threads in [1, 2] {
        let options = Options { threads: Some(threads), ..Options::default() };
        let calls = AtomicUsize::new(0);
        let poll = || calls.fetch_add(1, Ordering::Relaxed) < 3;
        let control = Control { poll: Some(&poll), ..Control::default() };
        let order = Evaluation::with(&options).control(&control).eval(&x.argsort(0, false)?);
        assert_eq!(order.unwrap_err().kind(), ErrorKind::Cancelled, "{threads} threads");
        assert_eq!(calls.into_inner(), 4, "{threads} threads");
    }
    Ok(())
}

#[test]
fn sorts_keep_the_limits() -> Result<()> {
    let x = Array::from_vec(values(100_000));
    let results = [x.sort(0, false)?, x.argsort(0, false)?, x.searchsorted(&x, false)?];
    let refused = |max_bytes, max_time| {
        let options = Options { max_bytes, max_time, threads: Some(1), ..Options::default() };
        results
            .each_ref()
            .map(|result| Evaluation::with(&options).eval(result))
            .map(|result| result.map_err(|e| e.kind()).err())
    };
    assert_eq!(refused(800_000, None), [Some(ErrorKind::Limit), Some(ErrorKind::Limit), None]);
    assert_eq!(refused(799_999, None), [Some(ErrorKind::Limit); 3]);
    assert_eq!(refused(10_000_000, None), [None; 3]);
    assert_eq!(refused(10_000_000, Some(Duration::ZERO)), [Some(ErrorKind::TimeLimit); 3]);
    Ok(())
}
