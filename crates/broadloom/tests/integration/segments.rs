//! Reductions by label, counts and histograms of arrays: axes, dtypes, errors and limits. The order of the elements of a segment is
//! tested in the crate `broadloom-reduce`; here results have the bits of reductions of the selected elements.

use broadloom::prelude::*;
use broadloom::{Control, Evaluation, Promotion, ReductionFunction, with_promotion};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::on_executors::executors;

const FUNCTIONS: [ReductionFunction; 5] = [
    ReductionFunction::Sum,
    ReductionFunction::Prod,
    ReductionFunction::Max,
    ReductionFunction::Min,
    ReductionFunction::Mean,
];

fn labels(n: usize, segments: i64) -> Vec<i64> {
    (0..n as i64).map(|i| (i * 7919 + i / 5) % (segments + 1) - 1).collect()
}

fn elements(n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.75 + ((i * 104_729) % 1009) as f64 / 2017.0).collect()
}

fn bits(x: &Array<'_>) -> Result<Vec<u8>> {
    x.eval()?.as_bytes().map(<[u8]>::to_vec).ok_or_else(|| Error::new(ErrorKind::Internal, "no bytes"))
}

/// Expressions of every dtype, and rows of several elements, on every executor: each segment has the bits of the reduction of its
/// elements, and its dtype.
#[test]
fn segments_have_the_bits_of_selections() -> Result<()> {
    let (n, segments) = (2_400, 7_i64);
    let labels = labels(n, segments);
    let by = Array::from_vec(labels.clone());
    for dtype in [DType::Float64, DType::Float32, DType::Float16, DType::Int8, DType::UInt32] {
        for shape in [&[2_400_isize][..], &[2_400, 1], &[2_400, 3]] {
            let count = n * shape.get(1).map_or(1, |&width| width as usize);
            let x = (Array::from_vec(elements(count)).reshape(shape)? * 1.5 + 0.25).astype(dtype);
            for function in FUNCTIONS {
                if function == ReductionFunction::Mean && !dtype.is_float() {
                    let refused = x.segment_reduce(function, &by, 7);
                    assert_eq!(refused.unwrap_err().kind(), ErrorKind::DType);
                    continue;
                }
                let mut wanted = Vec::new();
                let mut is = DType::Bool;
                for segment in 0..segments {
                    let rows: Vec<i64> =
                        (0..n as i64).filter(|&row| labels[row as usize] == segment).collect();
                    let chosen = x.take(&Array::from_vec(rows), 0)?.eval()?;
                    let reduced = match function {
                        ReductionFunction::Sum => chosen.sum(0),
                        ReductionFunction::Prod => chosen.prod(0),
                        ReductionFunction::Max => chosen.max(0),
                        ReductionFunction::Min => chosen.min(0),
                        _ => chosen.mean(0),
                    }?;
                    is = reduced.dtype();
                    wanted.extend(bits(&reduced)?);
                }
                for options in executors() {
                    let got = Evaluation::with(&options).eval(&x.segment_reduce(function, &by, 7)?)?;
                    assert_eq!(got.dtype(), is);
                    assert_eq!(got.shape()[1..], x.shape()[1..]);
                    assert!(bits(&got)? == wanted, "{function:?} {dtype} {shape:?} {options:?}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn segments_without_elements() -> Result<()> {
    let (x, by) = (Array::from([2.0, 3.0]), Array::from([-1_i8, 1]));
    assert_eq!(x.segment_sum(&by, 3)?.to_vec::<f64>()?.map_bits(), [0.0, 3.0, 0.0].map(f64::to_bits));
    assert_eq!(x.segment_prod(&by, 3)?.to_vec::<f64>()?, [1.0, 3.0, 1.0]);
    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
    assert_eq!(x.segment_max(&by, 3)?.to_vec::<f64>()?, [low, 3.0, low]);
    assert_eq!(x.segment_min(&by, 3)?.to_vec::<f64>()?, [high, 3.0, high]);
    let means = x.segment_mean(&by, 3)?.to_vec::<f64>()?;
    assert!(means[0].is_nan() && means[1] == 3.0 && means[2].is_nan());
    let small = x.astype(DType::Int16);
    assert_eq!(small.segment_max(&by, 2)?.to_vec::<i16>()?, [i16::MIN, 3]);
    assert_eq!(small.segment_min(&by, 2)?.to_vec::<i16>()?, [i16::MAX, 3]);
    assert_eq!(small.segment_sum(&by, 2)?.to_vec::<i64>()?, [0, 3]);
    // No elements, no segments, and rows without elements.
    let none = Array::from_vec(Vec::<f32>::new());
    let by_none = Array::from_vec(Vec::<u8>::new());
    assert_eq!(none.segment_prod(&by_none, 2)?.to_vec::<f32>()?, [1.0, 1.0]);
    assert_eq!(x.segment_sum(&Array::from([-1, -1]), 0)?.shape(), [0]);
    let empty = Array::from_shape_vec(&[2, 0], Vec::<f32>::new())?;
    assert_eq!(empty.segment_max(&by, 3)?.shape(), [3, 0]);
    Ok(())
}

trait MapBits {
    fn map_bits(&self) -> Vec<u64>;
}

impl MapBits for Vec<f64> {
    fn map_bits(&self) -> Vec<u64> {
        self.iter().map(|x| x.to_bits()).collect()
    }
}

#[test]
fn bools_follow_the_rule_of_promotion() -> Result<()> {
    let (x, by) = (Array::from([true, true, false]), Array::from([0, 0, 1]));
    for function in FUNCTIONS {
        let strict = x.segment_reduce(function, &by, 2);
        assert_eq!(strict.unwrap_err().kind(), ErrorKind::DType, "{function:?}");
    }
    with_promotion(Promotion::NumPy, || {
        assert_eq!(x.segment_sum(&by, 2)?.to_vec::<i64>()?, [2, 0]);
        assert_eq!(x.segment_max(&by, 2)?.to_vec::<bool>()?, [true, false]);
        assert_eq!(x.segment_mean(&by, 2)?.to_vec::<f64>()?, [1.0, 0.0]);
        Ok(())
    })
}

#[test]
fn errors() {
    let x = Array::from([1.0, 2.0, 3.0]);
    let fails = |by: Array<'static>| x.segment_sum(&by, 4).and_then(|sums| sums.eval()).unwrap_err();
    let error = fails(Array::from([0, 4, 9]));
    assert_eq!(error.kind(), ErrorKind::Index);
    assert_eq!(error.message(), "segment_sum: label 4 is out of range for 4 segments, at [1]");
    let error = fails(Array::from([0, -1, -2]));
    assert_eq!(error.message(), "segment_sum: label -2 is out of range for 4 segments, at [2]");
    let error = fails(Array::from([u64::MAX, 0, 0]));
    assert_eq!(
        error.message(),
        "segment_sum: label 18446744073709551615 is out of range for 4 segments, at [0]"
    );
    assert_eq!(fails(Array::from([0, 1])).kind(), ErrorKind::Shape);
    assert_eq!(fails(Array::from([[0], [1], [2]])).kind(), ErrorKind::Shape);
    assert_eq!(fails(Array::from([0.0, 1.0, 2.0])).kind(), ErrorKind::DType);
    assert_eq!(fails(Array::from([true, false, true])).kind(), ErrorKind::DType);
    let by = Array::from([0, 1, 2]);
    assert_eq!(Array::scalar(1.0).segment_sum(&by, 4).unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(x.segment_sum(&by, usize::MAX).unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(x.segment_sum(&by, 1 << 40).unwrap_err().kind(), ErrorKind::Limit);
    let other = x.segment_reduce(ReductionFunction::Std, &by, 4);
    assert_eq!(other.unwrap_err().kind(), ErrorKind::Name);
    assert_eq!(
        Array::from([3, 0]).segment_count(3).and_then(|counts| counts.eval()).unwrap_err().kind(),
        ErrorKind::Index
    );
}

#[test]
fn counts_and_histograms() -> Result<()> {
    let numbers = Array::from([3_u8, 0, 3]);
    assert_eq!(numbers.bincount(0)?.to_vec::<i64>()?, [1, 0, 0, 2]);
    assert_eq!(numbers.bincount(6)?.to_vec::<i64>()?, [1, 0, 0, 2, 0, 0]);
    let weights = Array::from([0.5_f32, 1.0, 2.0]);
    let weighed = Evaluation::default().bincount(&numbers, Some(&weights), 0)?;
    assert_eq!(weighed.to_vec::<f64>()?, [1.0, 0.0, 0.0, 2.5]);
    assert_eq!(Array::from_vec(Vec::<i32>::new()).bincount(2)?.to_vec::<i64>()?, [0, 0]);
    assert_eq!(Array::from([1, -1]).bincount(0).unwrap_err().kind(), ErrorKind::Index);
    assert_eq!(Array::from([u64::MAX]).bincount(0).unwrap_err().kind(), ErrorKind::Limit);
    let x = Array::from([[0.0, 1.0], [f64::NAN, 2.0]]);
    let edges = Array::from([0.0, 1.0, 2.0]);
    assert_eq!((&x + 0).histogram(&edges)?.to_vec::<i64>()?, [1, 2]);
    let half = x.astype(DType::Float16);
    assert_eq!(half.histogram(&edges.astype(DType::Float16))?.to_vec::<i64>()?, [1, 2]);
    let fails =
        |edges: Array<'static>| x.histogram(&edges).and_then(|counts| counts.eval()).unwrap_err().kind();
    assert_eq!(fails(Array::from([0.0, 2.0, 1.0])), ErrorKind::Literal);
    assert_eq!(fails(Array::from([0.0, f64::NAN])), ErrorKind::Literal);
    assert_eq!(fails(Array::from([0, 1])), ErrorKind::DType);
    assert_eq!(fails(Array::from([[0.0, 1.0]])), ErrorKind::Shape);
    assert_eq!(fails(Array::from_vec(Vec::<f64>::new())), ErrorKind::Shape);
    assert_eq!(x.histogram(&Array::from([1.0]))?.shape(), [0]);
    Ok(())
}

#[test]
fn segments_keep_the_limits_and_stop() {
    let n = 6_000_000;
    let (x, by) = (Array::from_vec(elements(n)), Array::from_vec(labels(n, 100_000)));
    let run = |options: Options, control: Control<'_>| {
        let evaluation = Evaluation::with(&options).control(&control);
        let sums = x.segment_sum(&by, 100_000).and_then(|sums| evaluation.eval(&sums));
        sums.map_err(|e| e.kind()).err()
    };
    let bytes = |max_bytes| Options { max_bytes, threads: Some(1), ..Options::default() };
    assert_eq!(run(bytes(40_000_000), Control::default()), Some(ErrorKind::Limit));
    assert_eq!(run(bytes(400_000_000), Control::default()), None);
    let no_time = Options { max_time: Some(Duration::ZERO), ..Options::default() };
    assert_eq!(run(no_time, Control::default()), Some(ErrorKind::TimeLimit));
    let stop = AtomicBool::new(true);
    let cancelled = Control { cancel: Some(&stop), ..Control::default() };
    assert_eq!(run(Options::default(), cancelled), Some(ErrorKind::Cancelled));
    for threads in [1, 2] {
        // The function is not called before the reduction has run for some time.
        let polled = Control { poll: Some(&|| false), ..Control::default() };
        let options = Options { threads: Some(threads), ..Options::default() };
        assert_eq!(run(options, polled), Some(ErrorKind::Cancelled), "{threads} threads");
    }
}
