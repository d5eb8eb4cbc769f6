//! Elements that are selected, distinct or first, and quantiles, against their definitions.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use broadloom::prelude::*;
use broadloom::{Control, DType, Evaluation, Range};

/// Elements with repetitions, −0 and NaN of any dtype that has them.
fn edges(dtype: DType, n: usize) -> Result<Array<'static>> {
    let numbers: Vec<f64> = (0..n)
        .map(|i| match (i * 7919 + i / 5) % 23 {
            0 => -0.0,
            1 if dtype.is_float() => f64::NAN,
            2 if dtype.is_float() => f64::NEG_INFINITY,
            k => (k % 11) as f64,
        })
        .collect();
    Array::from_vec(numbers).astype(dtype).eval()
}

fn evaluations() -> [Options; 2] {
    [1, 3].map(|threads| Options { threads: Some(threads), ..Options::default() })
}

/// The bytes of the elements at indices.
fn elements(x: &Array<'_>, indices: impl Iterator<Item = usize>) -> Vec<u8> {
    let (size, bytes) = (x.dtype().size(), x.as_bytes().unwrap());
    indices.flat_map(|i| bytes[i * size..(i + 1) * size].to_vec()).collect()
}

fn indices(x: &Array<'_>) -> Result<Vec<usize>> {
    Ok(x.to_vec::<i64>()?.into_iter().map(|index| index as usize).collect())
}

#[test]
fn masks_select_elements_of_every_dtype() -> Result<()> {
    let n = 200_003;
    let mask: Vec<bool> = (0..n).map(|i| (i * i + i / 7) % 3 == 0).collect();
    let selected: Vec<usize> = (0..n).filter(|&i| mask[i]).collect();
    for &dtype in DType::ALL {
        let x = edges(dtype, n)?;
        for options in evaluations() {
            let evaluation = Evaluation::with(&options);
            let found = evaluation.compress(&x, &Array::from_slice(&mask), 0)?;
            assert_eq!(found.shape(), [selected.len()]);
            assert!(found.as_bytes() == Some(&elements(&x, selected.iter().copied())), "{dtype}");
            let places = evaluation.nonzero(&x)?;
            let expected = elements_not_zero(&x)?;
            assert!(indices(&places[0])? == expected, "{dtype}");
        }
    }
    Ok(())
}

/// The indices of elements that are not 0.
fn elements_not_zero(x: &Array<'_>) -> Result<Vec<usize>> {
    let numbers = x.astype(DType::Float64).to_vec::<f64>()?;
    Ok((0..numbers.len()).filter(|&i| numbers[i] != 0.0).collect())
}

#[test]
fn masks_stand_for_one_or_several_axes() -> Result<()> {
    let x = Array::from_shape_vec(&[2, 3, 4], (0..24).collect::<Vec<i32>>())?;
    let rows = Array::from([true, false, true]);
    assert_eq!(x.compress(&rows, 1)?.shape(), [2, 2, 4]);
    let expected: Vec<i32> = (0..24).filter(|i| i / 4 % 3 != 1).collect();
    assert_eq!(x.compress(&rows, -2)?.to_vec::<i32>()?, expected);
    // A mask of two axes, and of all; expressions and views.
    let pairs = Array::from([[true, false, false], [false, true, true]]);
    let found = (&x + 1).compress(&pairs, 0)?;
    assert_eq!(found.shape(), [3, 4]);
    assert_eq!(found.to_vec::<i32>()?, [1, 2, 3, 4, 17, 18, 19, 20, 21, 22, 23, 24]);
    assert_eq!(x.compress(&x.remainder(7).equal(3), 0)?.to_vec::<i32>()?, [3, 10, 17]);
    let last = x.slice((.., .., Range::from(..).step(-3)))?;
    let found = last.compress(&Array::from([false, true]), 2)?;
    assert_eq!((found.shape(), found.to_vec::<i32>()?), (&[2, 3, 1][..], vec![0, 4, 8, 12, 16, 20]));
    // Nothing to select, and nothing selected.
    let none = Array::from_shape_vec(&[0, 3], Vec::<f32>::new())?;
    assert_eq!(none.compress(&rows, 1)?.shape(), [0, 2]);
    assert_eq!(none.compress(&none.greater(0), 0)?.shape(), [0]);
    assert_eq!(x.compress(&Array::from([false; 3]), 1)?.shape(), [2, 0, 4]);
    // Bools are 0 or 1, whatever the bytes of the operand.
    let bools = Array::from_bytes(DType::Bool, &[3], &[2, 0, 255])?;
    assert_eq!(bools.compress(&bools, 0)?.as_bytes(), Some(&[1, 1][..]));
    Ok(())
}

#[test]
fn refused_masks() -> Result<()> {
    let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    let kind = |mask: &Array<'_>, axis| x.compress(mask, axis).unwrap_err().kind();
    assert_eq!(kind(&Array::from([true; 3]), 0), ErrorKind::Shape);
    assert_eq!(kind(&Array::from([true; 3]), 2), ErrorKind::Shape);
    assert_eq!(kind(&x.greater(2), 1), ErrorKind::Shape);
    assert_eq!(kind(&Array::scalar(true), 0), ErrorKind::Shape);
    assert_eq!(kind(&Array::from([1, 1]), 0), ErrorKind::DType);
    assert_eq!(Array::scalar(1).nonzero().unwrap_err().kind(), ErrorKind::Shape);
    let open = Array::input("x", DType::Float64, &["n".into()])?;
    assert_eq!(open.nonzero().unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(open.compress(&Array::from([true]), 0).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn indices_of_several_axes() -> Result<()> {
    let x = Array::from_shape_vec(&[2, 1, 3], vec![0.0, f64::NAN, -0.0, 7.0, 0.0, 1.0])?;
    let found = x.nonzero()?.iter().map(indices).collect::<Result<Vec<_>>>()?;
    assert_eq!(found, [vec![0, 1, 1], vec![0, 0, 0], vec![1, 0, 2]]);
    let none = Array::from_shape_vec(&[2, 0], Vec::<u8>::new())?.nonzero()?;
    assert_eq!(none.iter().map(|x| x.shape().to_vec()).collect::<Vec<_>>(), [[0], [0]]);
    Ok(())
}

/// The first elements are those of a sort.
#[test]
fn the_first_elements_along_an_axis() -> Result<()> {
    for &dtype in DType::ALL {
        let x = edges(dtype, 420)?.reshape(&[3, 20, 7])?.eval()?;
        for (axis, largest, k) in [(1, true, 3), (1, false, 20), (-1, true, 0), (0, false, 2), (2, true, 7)] {
            for options in evaluations() {
                let evaluation = Evaluation::with(&options);
                let (values, at) = x.topk(k, axis, largest)?;
                let (values, at) = (evaluation.eval(&values)?, evaluation.eval(&at)?);
                let order = evaluation.eval(&x.argsort(axis, largest)?)?;
                let first = order.take(&Array::arange(0_i64, k as i64, 1)?, axis)?.eval()?;
                assert_eq!((at.shape(), at.to_vec::<i64>()?), (first.shape(), first.to_vec::<i64>()?));
                let taken = x.take_along_axis(&first, axis)?.eval()?;
                assert_eq!(values.to_bytes()?, taken.to_bytes()?, "{dtype} {axis} {k}");
            }
        }
    }
    let x = Array::from([1.0, f64::NAN, 3.0]);
    assert_eq!(x.topk(4, 0, true).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(x.topk(1, 1, true).unwrap_err().kind(), ErrorKind::Shape);
    let (values, at) = Array::from_shape_vec(&[0, 4], Vec::<f32>::new())?.topk(2, 1, true)?;
    assert_eq!((values.shape(), at.shape()), (&[0, 2][..], &[0, 2][..]));
    Ok(())
}

/// A long row whose ranges threads share.
#[test]
fn the_first_elements_of_a_long_row() -> Result<()> {
    let data: Vec<f32> = (0..1_000_000_u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b9))).collect();
    let mut order: Vec<usize> = (0..data.len()).filter(|&i| !data[i].is_nan()).collect();
    order.sort_by(|&a, &b| data[a].total_cmp(&data[b]));
    for options in evaluations() {
        let (values, at) = Array::from_slice(&data).topk(1000, 0, false)?;
        let found = Evaluation::with(&options).eval_many(&[&values, &at])?;
        let (values, at) = (&found[0], &found[1]);
        assert_eq!(indices(at)?, order[..1000]);
        assert!(values.to_vec::<f32>()?.iter().zip(&order).all(|(x, &i)| x.to_bits() == data[i].to_bits()));
    }
    Ok(())
}

/// The occurrences of distinct elements, by comparisons of all with all.
fn distinct(x: &Array<'_>) -> Result<Vec<Vec<usize>>> {
    let elements = x.astype(DType::Float64).to_vec::<f64>()?;
    let mut found: Vec<Vec<usize>> = Vec::new();
    for (i, element) in elements.iter().enumerate() {
        match found.iter_mut().find(|occurrences| elements[occurrences[0]] == *element) {
            Some(occurrences) => occurrences.push(i),
            None => found.push(vec![i]),
        }
    }
    // NaNs come after all numbers, in the order of their indices, since all of them have the same bits.
    found.sort_by(|a, b| {
        let (a, b) = (elements[a[0]], elements[b[0]]);
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    });
    Ok(found)
}

#[test]
fn distinct_elements() -> Result<()> {
    for &dtype in DType::ALL {
        for n in [0, 1, 300] {
            let x = edges(dtype, n)?;
            let expected = distinct(&x)?;
            let first: Vec<usize> = expected.iter().map(|occurrences| occurrences[0]).collect();
            let counts: Vec<usize> = expected.iter().map(Vec::len).collect();
            let mut inverse = vec![usize::MAX; n];
            for (value, occurrences) in expected.iter().enumerate() {
                occurrences.iter().for_each(|&i| inverse[i] = value);
            }
            for options in evaluations() {
                let evaluation = Evaluation::with(&options);
                let shaped = x.reshape(&[-1, 1, 1])?;
                let found = evaluation.unique_all(&shaped)?;
                assert_eq!(found.values.to_bytes()?, elements(&x, first.iter().copied()), "{dtype}");
                assert_eq!(indices(&found.indices)?, first, "{dtype}");
                assert_eq!(found.inverse_indices.shape(), [n, 1, 1]);
                assert_eq!(indices(&found.inverse_indices)?, inverse, "{dtype}");
                assert_eq!(indices(&found.counts)?, counts, "{dtype}");
                let (values, numbers) = evaluation.unique_counts(&shaped)?;
                assert_eq!(values.to_bytes()?, elements(&x, first.iter().copied()), "{dtype}");
                assert_eq!(indices(&numbers)?, counts, "{dtype}");
            }
            assert_eq!(x.unique_values()?.to_bytes()?, elements(&x, first.into_iter()));
        }
    }
    Ok(())
}

#[test]
fn elements_among_others() -> Result<()> {
    let x = Array::from([[0.0, 1.5, f64::NAN], [-2.0, f64::INFINITY, 3.0]]);
    let among = Array::from([f64::NAN, 3.0, -0.0, 3.0, 8.0]);
    for options in evaluations() {
        let found = Evaluation::with(&options).eval(&x.isin(&among)?)?;
        assert_eq!(found.shape(), [2, 3]);
        assert_eq!(found.to_vec::<bool>()?, [true, false, false, false, false, true]);
    }
    let none = Array::from_vec(Vec::<f64>::new());
    assert_eq!(x.isin(&none)?.to_vec::<bool>()?, [false; 6]);
    assert_eq!(none.isin(&x)?.shape(), [0]);
    assert_eq!(x.isin(&Array::from([1])).unwrap_err().kind(), ErrorKind::DType);
    for &dtype in DType::ALL {
        let (x, among) = (edges(dtype, 200)?, edges(dtype, 9)?);
        let (numbers, others) = (x.astype(DType::Float64), among.astype(DType::Float64));
        let others = others.to_vec::<f64>()?;
        let expected: Vec<bool> = numbers.to_vec::<f64>()?.iter().map(|x| others.contains(x)).collect();
        assert_eq!(x.isin(&among)?.to_vec::<bool>()?, expected, "{dtype}");
    }
    Ok(())
}

/// Positions and interpolation written out for one row.
#[test]
fn quantiles_of_rows() -> Result<()> {
    let q = [0.0, 0.1, 0.25, 0.5, 0.6180339887498949, 0.9, 1.0];
    let data: Vec<f64> = (0..60_u32).map(|i| f64::from(i.wrapping_mul(0x9e37_79b9)) * 1e-9 - 2.0).collect();
    let x = Array::from_shape_vec(&[3, 5, 4], data.clone())?;
    for (axis, stride, extent) in [(0, 20, 3), (1, 4, 5), (2, 1, 4)] {
        let firsts = (0..60).filter(|at| (at / stride) % extent == 0);
        let rows: Vec<Vec<f64>> = firsts
            .map(|first| {
                let mut row: Vec<f64> = (0..extent).map(|i| data[first + i * stride]).collect();
                row.sort_by(f64::total_cmp);
                row
            })
            .collect();
        let expected: Vec<f64> = q
            .iter()
            .flat_map(|q| {
                rows.iter().map(move |row| {
                    let at = q * (row.len() - 1) as f64;
                    let (a, b, t) = (row[at as usize], row[at.ceil() as usize], at.fract());
                    if t < 0.5 { a + (b - a) * t } else { b - (b - a) * (1.0 - t) }
                })
            })
            .collect();
        for options in evaluations() {
            let found = Evaluation::with(&options).eval(&x.quantile(&q, axis)?)?;
            assert_eq!(found.to_vec::<f64>()?, expected, "{axis}");
            assert_eq!(found.shape()[0], q.len());
            let median = Evaluation::with(&options).eval(&x.median(axis)?)?;
            let middle = rows.iter().map(|row| {
                let n = row.len();
                if n % 2 == 1 { row[n / 2] } else { (row[n / 2 - 1] + row[n / 2]) / 2.0 }
            });
            assert_eq!(median.to_vec::<f64>()?, middle.collect::<Vec<_>>(), "{axis}");
        }
    }
    Ok(())
}

#[test]
fn quantiles_of_every_dtype_and_of_nan() -> Result<()> {
    for &dtype in DType::ALL.iter().filter(|&&dtype| dtype != DType::Bool) {
        let x = Array::from([7, 1, 2, 9]).astype(dtype);
        let result = if dtype.is_float() { dtype } else { DType::Float64 };
        let (quartile, median) = (x.quantile(&[0.25], 0)?, x.median(0)?);
        assert_eq!((quartile.dtype(), median.dtype(), quartile.shape()), (result, result, &[1][..]));
        assert_eq!(quartile.astype(DType::Float64).to_vec::<f64>()?, [1.75], "{dtype}");
        assert_eq!(median.astype(DType::Float64).item::<f64>()?, 4.5, "{dtype}");
    }
    let x = Array::from([[1.0_f32, f32::NAN, 3.0], [f32::INFINITY, 2.0, f32::INFINITY]]);
    let found = x.quantile(&[0.0, 0.5, 0.75], 1)?.to_vec::<f32>()?;
    assert!([0, 2, 4].map(|i| found[i].is_nan()) == [true; 3], "{found:?}");
    assert_eq!([1, 3, 5].map(|i| found[i]), [2.0, f32::INFINITY, f32::INFINITY]);
    let median = x.median(1)?.to_vec::<f32>()?;
    assert!(median[0].is_nan() && median[1] == f32::INFINITY);
    let ends = Array::from([f64::NEG_INFINITY, f64::INFINITY]).quantile(&[0.0, 1.0], 0)?;
    assert_eq!(ends.to_vec::<f64>()?, [f64::NEG_INFINITY, f64::INFINITY]);

    let kind = |x: Array<'_>, q: f64, axis| x.quantile(&[q], axis).unwrap_err().kind();
    assert_eq!(kind(Array::from([1.0]), 1.5, 0), ErrorKind::Literal);
    assert_eq!(kind(Array::from([1.0]), f64::NAN, 0), ErrorKind::Literal);
    assert_eq!(kind(Array::from([1.0]), 0.5, 1), ErrorKind::Shape);
    assert_eq!(kind(Array::from([true]), 0.5, 0), ErrorKind::DType);
    assert_eq!(kind(Array::from_vec(Vec::<f64>::new()), 0.5, 0), ErrorKind::Shape);
    assert_eq!(Array::from_vec(Vec::<f64>::new()).median(0).unwrap_err().kind(), ErrorKind::Shape);
    let none = Array::from_shape_vec(&[3, 0], Vec::<f64>::new())?;
    assert_eq!((none.quantile(&[0.5; 2], 0)?.shape(), none.median(0)?.shape()), (&[2, 0][..], &[0][..]));
    assert_eq!(Array::from([1.0, 2.0]).quantile(&[], 0)?.shape(), [0]);
    Ok(())
}

/// Every function keeps the limits, and is cancelled while it runs.
#[test]
fn limits_and_cancellation() -> Result<()> {
    let x = Array::from_vec((0..3_000_000_u32).map(|i| f64::from(i.wrapping_mul(0x9e37_79b9))).collect());
    let mask = Array::from_vec((0..x.len()).map(|i| i % 2 == 0).collect());
    let all = |evaluation: &Evaluation<'_>| {
        [
            evaluation.compress(&x, &mask, 0).map(drop),
            evaluation.nonzero(&x).map(drop),
            x.topk(1_000_000, 0, true)
                .and_then(|first| evaluation.eval_many(&[&first.0, &first.1]))
                .map(drop),
            evaluation.unique_counts(&x).map(drop),
            evaluation.unique_all(&x).map(drop),
            x.isin(&x).and_then(|found| evaluation.eval(&found)).map(drop),
            x.quantile(&[0.5], 0).and_then(|found| evaluation.eval(&found)).map(drop),
            x.median(0).and_then(|found| evaluation.eval(&found)).map(drop),
        ]
        .map(|result| result.map_err(|e| e.kind()).err())
    };
    for (max_bytes, max_time, expected) in [
        (1000, None, Some(ErrorKind::Limit)),
        (usize::MAX, Some(Duration::ZERO), Some(ErrorKind::TimeLimit)),
        (usize::MAX, None, None),
    ] {
        let options = Options { max_bytes, max_time, ..Options::default() };
        assert_eq!(all(&Evaluation::with(&options)), [expected; 8], "{max_bytes} {max_time:?}");
    }
    let stop = AtomicBool::new(true);
    let control = Control { cancel: Some(&stop), ..Control::default() };
    assert_eq!(all(&Evaluation::default().control(&control)), [Some(ErrorKind::Cancelled); 8]);
    let (poll, options) = (|| false, Options { threads: Some(1), ..Options::default() });
    let control = Control { poll: Some(&poll), ..Control::default() };
    let found = Evaluation::with(&options).control(&control).unique_all(&x);
    assert_eq!(found.map(drop).unwrap_err().kind(), ErrorKind::Cancelled);
    Ok(())
}
