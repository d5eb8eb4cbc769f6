//! Reductions computed in passes over inputs have the same bits as those computed at once, for chunks of every size.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use broadloom::prelude::*;
use broadloom::{
    Chunks, Control, ErrorKind, Executor, InputPart, IntDivision, Options, Over, Passes, summary,
};

pub(crate) type BuildFrom = fn(&Array<'static>) -> Result<Array<'static>>;

/// Reads a part of an array that represents a file.
pub(crate) fn read(of: &Array<'static>, part: &InputPart) -> Array<'static> {
    let ranges: Vec<Range> =
        part.ranges.iter().map(|range| (range.start as isize..range.end as isize).into()).collect();
    of.slice(&ranges).and_then(|x| x.eval()).expect("a part")
}

pub(crate) fn input(of: &Array<'static>) -> Array<'static> {
    let dims: Vec<broadloom::Dim> = of.shape().iter().map(|&extent| extent.into()).collect();
    Array::input("x", of.dtype(), &dims).expect("a name")
}

pub(crate) fn limited(max_bytes: usize) -> Options {
    Options { max_bytes, ..Options::default() }
}

/// Computes an expression of one input in passes, and its result in one chunk. Returns the result and the number of chunks
/// of the passes.
fn chunked(x: &Array<'static>, build: BuildFrom, options: &Options) -> Result<(Array<'static>, usize)> {
    chunked_within(x, build, options, 1 << 20)
}

/// Does what [`chunked`] does, with a limit for the chunks of the results.
pub(crate) fn chunked_within(
    x: &Array<'static>,
    build: BuildFrom,
    options: &Options,
    max_bytes: usize,
) -> Result<(Array<'static>, usize)> {
    let placeholder = input(x);
    let result = build(&placeholder)?;
    let mut passes = Passes::new(&[&result], &[&placeholder], options)?;
    let (mut count, mut bytes) = (0, 0);
    let all = passes.bytes();
    while let Some(chunk) = passes.next_chunk()? {
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(x, part)).collect();
        bytes += chunk.bytes();
        chunk.fold(&parts)?;
        count += 1;
    }
    assert_eq!(bytes, all, "the bytes of the chunks");
    let result = passes.results()?[0].clone();
    let options = Options { max_bytes: usize::MAX, ..options.clone() };
    let unread = passes.unread()?;
    for chunks in &unread {
        evaluate(chunks, x, &options)?;
    }
    let limit = Options { max_bytes, ..options.clone() };
    let chunks = Chunks::new(&[&result], &[&placeholder], &limit)?;
    let values = evaluate(&chunks, x, &options)?;
    let bits = values.iter().flat_map(|values| bits(values)).collect();
    Ok((Array::from_vec::<u64>(bits), count))
}

fn evaluate(chunks: &Chunks<'static>, x: &Array<'static>, options: &Options) -> Result<Vec<Array<'static>>> {
    let mut values = Vec::new();
    for chunk in chunks.iter() {
        let chunk = chunk?;
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(x, part)).collect();
        values.push(chunk.results(&parts)?[0].eval_with(options)?);
    }
    Ok(values)
}

/// The bits of the elements. Bits of floats are as in memory.
pub(crate) fn bits(values: &Array<'_>) -> Vec<u64> {
    match values.dtype() {
        DType::Float64 => values.to_vec::<f64>().expect("doubles").into_iter().map(f64::to_bits).collect(),
        DType::Float32 => {
            values.to_vec::<f32>().expect("floats").into_iter().map(|x| x.to_bits().into()).collect()
        }
        DType::Float16 => {
            values.to_vec::<f16>().expect("halves").into_iter().map(|x| x.to_bits().into()).collect()
        }
        _ => {
            values.astype(DType::Int64).to_vec::<i64>().expect("integers").iter().map(|&x| x as u64).collect()
        }
    }
}

fn same(x: &Array<'static>, name: &str, build: BuildFrom, max_bytes: usize) -> usize {
    let whole = build(x).and_then(|y| y.eval()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let (values, chunks) =
        chunked(x, build, &limited(max_bytes)).unwrap_or_else(|e| panic!("{name} {max_bytes}: {e}"));
    let expected = bits(&whole);
    assert_eq!(
        values.to_vec::<u64>().expect("bits"),
        expected,
        "{name} of {}{:?} in {max_bytes}",
        x.dtype(),
        x.shape()
    );
    chunks
}

/// Numbers of both signs and of different magnitudes.
pub(crate) fn floats(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 0.37).sin() * 10f64.powi((i * 7 % 11) as i32 - 5)).collect()
}

const FUNCTIONS: &[(&str, BuildFrom)] = &[
    ("sum", |x| x.sum(())),
    ("sum 0", |x| x.sum(0)),
    ("sum -1", |x| x.sum(-1)),
    ("prod 0", |x| x.prod(0)),
    ("prod", |x| (x / 4 + 1).prod(())),
    ("max", |x| x.max(())),
    ("min -1", |x| x.min(-1)),
    ("max 0", |x| x.max(Over::axis(0).keep_dims())),
    ("mean", |x| x.mean(())),
    ("mean 0", |x| x.mean(0)),
    ("mean -1", |x| x.mean(-1)),
    ("var", |x| x.var((), 1.0)),
    ("var 0", |x| x.var(0, 0.0)),
    ("std -1", |x| x.std(-1, 0.0)),
    ("any", |x| x.greater(1e4).any(())),
    ("all 0", |x| x.greater(-1e4).all(0)),
    ("argmax", |x| x.argmax(())),
    ("argmin 0", |x| x.argmin(0)),
    ("argmax -1", |x| x.argmax(-1)),
    ("count_nonzero", |x| x.greater(0.0).count_nonzero(0)),
    ("vecdot", |x| x.vecdot(x, -1)),
    ("vector_norm", |x| x.vector_norm((), 2.0)),
    ("vector_norm 1", |x| x.vector_norm(0, 1.0)),
    ("nanmean", |x| x.nanmean(0)),
    ("nanvar", |x| x.nanvar((), 0.0)),
    ("sum along no axes", |x| Ok(x.sum(Over::axes(&[]))? - x.max(())?)),
    ("max along no axes", |x| (x * 2).astype(DType::Int16).max(Over::axes(&[]))?.sum(())),
    ("centred", |x| Ok(x - x.mean(())?)),
    ("centred 0", |x| Ok(x - x.mean(Over::axis(0).keep_dims())?)),
    ("centred -1", |x| Ok(x - x.mean(Over::axis(-1).keep_dims())?)),
    ("range", |x| Ok(x.max(())? - x.min(())?)),
    ("softmax", |x| {
        let e = (x - x.max(Over::axis(-1).keep_dims())?).exp();
        Ok(&e / e.sum(Over::axis(-1).keep_dims())?)
    }),
    ("softmax of all", |x| {
        let e = (x - x.max(())?).exp();
        Ok(&e / e.sum(())?)
    }),
    ("total of deviations", |x| (x - x.mean(Over::axis(-1).keep_dims())?).abs().sum(())),
    ("steps", |x| (x.slice(1..)? - x.slice(..-1)?).square().sum(())),
    ("reversed", |x| (x * x.flip(0)?).sum(0)),
    ("transposed", |x| x.t().sum(0)),
    ("transposed, all", |x| x.t().sum(())),
    ("flat", |x| x.reshape(&[-1])?.sum(())),
    ("slice of means", |x| x.mean(-1)?.try_slice_first()),
];

trait SliceFirst {
    fn try_slice_first(self) -> Result<Array<'static>>;
}

impl SliceFirst for Array<'static> {
    /// The first elements of an array; the array itself if it has no axes.
    fn try_slice_first(self) -> Result<Array<'static>> {
        if self.rank() == 0 { Ok(self) } else { self.slice(..3) }
    }
}

#[test]
fn every_reduction_has_the_bits_of_the_whole() -> Result<()> {
    for shape in [&[1000][..], &[64, 33], &[3, 700], &[700, 3], &[12, 5, 31]] {
        let n = shape.iter().product();
        let x = Array::from_shape_vec(shape, floats(n))?;
        for (name, build) in FUNCTIONS {
            for max_bytes in [3 << 10, 6 << 10] {
                same(&x, name, *build, max_bytes);
            }
        }
    }
    Ok(())
}

#[test]
fn every_dtype_has_the_bits_of_the_whole() -> Result<()> {
    let x = Array::from_shape_vec(&[60, 41], floats(60 * 41))?;
    let y = (&x * 7).round();
    for dtype in [DType::Float16, DType::Float32] {
        let x = x.astype(dtype).eval()?;
        for (name, build) in FUNCTIONS {
            same(&x, name, *build, 3 << 10);
        }
    }
    for dtype in [DType::Int8, DType::UInt8, DType::Int16, DType::UInt32, DType::Int64, DType::UInt64] {
        let y = y.astype(dtype).eval()?;
        for (name, build) in [
            ("sum", (|x| x.sum(())) as BuildFrom),
            ("sum 0", |x| x.sum(0)),
            ("prod -1", |x| x.prod(-1)),
            ("max 0", |x| x.max(0)),
            ("min", |x| x.min(())),
            ("argmax 0", |x| x.argmax(0)),
            ("any", |x| x.any(0)),
            ("count_nonzero", |x| x.count_nonzero(())),
        ] {
            same(&y, name, build, 2 << 10);
        }
    }
    let b = y.greater(2).eval()?;
    same(&b, "any 0", |x| x.any(0), 512);
    same(&b, "all", |x| x.all(()), 512);
    same(&b, "count_nonzero -1", |x| x.count_nonzero(-1), 512);
    Ok(())
}

/// Chunks that end at every position within the first leaves of the reduction tree.
#[test]
fn chunks_may_end_anywhere() -> Result<()> {
    let sizes = [1, 2, 15, 16, 17, 31, 127, 128, 129, 255, 257, 1023, 1025, 4096, 5001];
    for n in sizes {
        let x = Array::from_vec(floats(n));
        for max_bytes in [16, 24, 80, 120, 128, 136, 1000, 1032, 8192] {
            if n > 2000 && max_bytes < 80 {
                continue;
            }
            let chunks = same(&x, "sum", |x| x.sum(()), max_bytes);
            let least = if n * 8 > max_bytes { (n * 8).div_ceil(max_bytes) } else { 0 };
            assert!(chunks >= least, "{n} {max_bytes} {chunks}");
        }
    }
    Ok(())
}

#[test]
fn executors_and_threads_agree() -> Result<()> {
    let x = Array::from_shape_vec(&[300, 200], floats(60_000))?;
    for (name, build) in FUNCTIONS {
        let whole = bits(&build(&x)?.eval()?);
        for executor in [Executor::Interp, Executor::Jit] {
            for threads in [1, 3] {
                let options = Options { executor, threads: Some(threads), ..limited(150 << 10) };
                let (values, _) = chunked(&x, *build, &options)?;
                assert_eq!(values.to_vec::<u64>()?, whole, "{name} {executor:?} {threads}");
            }
        }
    }
    Ok(())
}

/// The parts that passes read of a matrix of 1000 rows of 64 elements.
fn parts(build: BuildFrom, max_bytes: usize) -> Result<Vec<Vec<std::ops::Range<usize>>>> {
    let x = Array::from_shape_vec(&[1000, 64], floats(64_000))?;
    let placeholder = input(&x);
    let result = build(&placeholder)?;
    let mut passes = Passes::new(&[&result], &[&placeholder], &limited(max_bytes))?;
    let mut parts = Vec::new();
    while let Some(chunk) = passes.next_chunk()? {
        parts.extend(chunk.parts().iter().map(|part| part.ranges.clone()));
        let arrays: Vec<_> = chunk.parts().iter().map(|part| read(&x, part)).collect();
        chunk.fold(&arrays)?;
    }
    Ok(parts)
}

/// Rows are read completely and in order, whether rows or columns are summed.
#[test]
fn inputs_are_read_in_order() -> Result<()> {
    let in_order = |parts: &[Vec<std::ops::Range<usize>>], passes: usize| {
        let mut at = 0;
        let mut done = 0;
        for part in parts {
            assert_eq!((part[0].start, &part[1]), (at, &(0..64)), "{parts:?}");
            at = part[0].end % 1000;
            done += usize::from(at == 0);
        }
        assert_eq!(done, passes, "{parts:?}");
    };
    let limit = 400_000;
    in_order(&parts(|x| x.sum(()), limit)?, 1);
    in_order(&parts(|x| x.sum(0), limit)?, 1);
    in_order(&parts(|x| x.t().sum(-1), limit)?, 1);
    in_order(&parts(|x| x.var(0, 0.0), limit)?, 2);
    in_order(&parts(|x| Ok(x - x.mean(())?), limit)?, 1);
    in_order(&parts(|x| Ok(x - x.mean(Over::axis(0).keep_dims())?), limit)?, 1);
    // Two reductions of the same elements share a pass.
    in_order(&parts(|x| Ok(x.max(())? - x.min(())?), limit)?, 1);
    in_order(&parts(|x| x.argmax(()), limit)?, 1);
    // If a chunk of rows contains all elements that are reduced, no pass is needed.
    assert_eq!(parts(|x| x.sum(-1), limit)?, Vec::<Vec<std::ops::Range<usize>>>::new());
    assert_eq!(parts(|x| x.t().var(0, 1.0), limit)?, Vec::<Vec<std::ops::Range<usize>>>::new());
    assert_eq!(
        parts(|x| Ok(x / x.sum(Over::axis(1).keep_dims())?), limit)?,
        Vec::<Vec<std::ops::Range<usize>>>::new()
    );
    // If the elements fit memory, the reduction is computed at once.
    assert_eq!(parts(|x| x.sum(()), 1 << 20)?, Vec::<Vec<std::ops::Range<usize>>>::new());
    Ok(())
}

#[test]
fn a_division_by_zero_fails_as_in_memory() -> Result<()> {
    let mut data = vec![3_i32; 600];
    data[417] = 0;
    let functions: [(BuildFrom, bool); 5] = [
        (|x| Array::scalar(6).try_floor_divide(x)?.sum(()), true),
        (|x| Array::scalar(6).try_floor_divide(x)?.reshape(&[20, 30])?.max(0), true),
        // The zero divisor is in an element that no reduction reads.
        (|x| Array::scalar(6).try_floor_divide(x)?.slice(..200)?.sum(()), true),
        (|x| Array::scalar(6).try_floor_divide(x)?.reshape(&[20, 30])?.sum(1)?.slice(..2), true),
        (|x| x.sum(()), false),
    ];
    let x = Array::from_vec(data);
    for (i, (build, fails)) in functions.into_iter().enumerate() {
        let options = Options { int_division: IntDivision::Error, ..limited(800) };
        let outcome = chunked(&x, build, &options);
        assert_eq!(
            outcome.as_ref().err().map(Error::is_zero_division),
            fails.then_some(true),
            "{i}: {outcome:?}"
        );
        let whole = build(&x)?.eval_with(&Options { max_bytes: usize::MAX, ..options });
        assert_eq!(outcome.err().map(|e| e.to_string()), whole.err().map(|e| e.to_string()), "{i}");
        same(&x, "without the rule", build, 800);
    }
    Ok(())
}

/// Scans along an axis that does not fit memory have the same bits as the whole scan, for chunks of every size.
#[test]
fn scans_are_cut_along_their_axis() -> Result<()> {
    let functions: [BuildFrom; 13] = [
        |x| x.cumulative_sum(Some(0), None, false),
        |x| x.cumulative_sum(Some(0), None, true),
        |x| x.cumulative_prod(Some(0), None, false),
        |x| x.cumulative_sum(Some(-1), None, false),
        |x| x.cumulative_sum(Some(-1), None, true),
        |x| x.slice((.., Range::from(..).step(-1)))?.cumulative_sum(Some(-1), None, false),
        // Scans from both ends, and several windows of the same scan.
        |x| {
            x.slice(Range::from(..).step(-1))?
                .cumulative_sum(Some(0), None, false)?
                .slice(Range::from(..).step(-1))
        },
        |x| {
            let sums = x.cumulative_sum(Some(0), None, true)?;
            Ok(sums.slice(5..)? - sums.slice(..-5)?)
        },
        |x| x.cumulative_sum(Some(0), None, true)?.slice(Range::from(1..).step(7)),
        // Scans next to, below and above reductions and other scans.
        |x| (x - x.mean(())?).cumulative_sum(Some(0), None, false),
        |x| x.cumulative_sum(Some(0), None, false)?.max(0),
        |x| x.cumulative_sum(Some(0), None, false)?.cumulative_sum(Some(-1), None, false),
        |x| x.cumulative_sum(Some(0), None, false)?.sum(-1)?.cumulative_prod(Some(0), None, true),
    ];
    let values = |i: usize| (i as f64 * 0.7).sin() * 10f64.powi(i as i32 % 17 - 8);
    let mut refused = 0;
    for shape in [&[2000][..], &[700, 3], &[3, 700], &[2, 301, 2]] {
        let x = Array::from_vec((0..shape.iter().product()).map(values).collect::<Vec<f64>>())
            .reshape(&shape.iter().map(|&extent| extent as isize).collect::<Vec<_>>())?;
        for x in [x.clone(), x.astype(DType::Float32), x.astype(DType::Int32)] {
            let x = x.eval()?;
            for (i, build) in functions.iter().enumerate() {
                let Ok(whole) = build(&x).and_then(|result| result.eval()) else {
                    // The function needs a second axis, or is a mean of integers.
                    refused += 1;
                    continue;
                };
                let placeholder = input(&x);
                let least = Passes::least_bytes(&[&build(&placeholder)?], &[&placeholder], &limited(8))?;
                assert!(least < x.len() * x.dtype().size() / 2, "{i} of {shape:?} takes {least} bytes");
                for max_bytes in [least, 2 * least, 6000] {
                    let (got, _) = chunked_within(&x, *build, &limited(max_bytes), max_bytes)?;
                    let got = got.to_vec::<u64>()?;
                    assert!(got == bits(&whole), "{i} of {}{shape:?} in {max_bytes} bytes", x.dtype());
                }
            }
        }
    }
    assert_eq!(refused, 3 * 2 + 4);
    Ok(())
}

#[test]
fn what_does_not_fit_says_why() -> Result<()> {
    let x = Array::input("x", DType::Float64, &[1000.into()])?;
    let scanned = x.cumulative_sum(None, None, false)?;
    let refused = |result: &Array<'static>, max_bytes| -> Error {
        let passes = Passes::new(&[result], &[&x], &limited(max_bytes));
        let chunks =
            passes.and_then(|passes| Chunks::new(&[&passes.results()?[0]], &[&x], &limited(max_bytes)));
        chunks.map(drop).expect_err("it is larger than the limit")
    };
    let e = refused(&scanned, 400);
    assert_eq!(e.kind(), ErrorKind::Limit);
    assert!(e.message().ends_with("; cumulative_sum along axis 0 needs 8000 bytes of float64[1000]"), "{e}");
    assert_eq!(e.help(), Some("the option max_bytes sets the limit"));
    assert!(refused(&scanned.sum(())?, 400).is_limit());
    // A reduction in passes needs less memory than a chunk with all of its elements, so the message does not contain the
    // size of such a chunk.
    let e = refused(&x.sum(())?, 8);
    assert_eq!(
        e.message(),
        "the limit of 8 bytes of memory is too small; sum along (0,) needs 8000 bytes of float64[1000]"
    );
    for result in [x.sum(())?, x.std((), 0.0)?, &x - x.mean(())?, scanned, x.slice(1..)? - x.slice(..-1)?] {
        let least = Passes::least_bytes(&[&result], &[&x], &limited(8))?;
        assert!(refused(&result, least - 1 - least / 64).is_limit(), "{least}");
        let mut passes = Passes::new(&[&result], &[&x], &limited(least))?;
        while let Some(chunk) = passes.next_chunk()? {
            let ones = |part: &InputPart| Array::from_vec(vec![1.0; part.ranges[0].len()]);
            let parts: Vec<_> = chunk.parts().iter().map(ones).collect();
            chunk.fold(&parts)?;
        }
        Chunks::new(&[&passes.results()?[0]], &[&x], &limited(least))?;
    }
    // The results are not available before the pass has run.
    let mut passes = Passes::new(&[&x.sum(())?], &[&x], &limited(1000))?;
    assert_eq!(passes.len(), 1);
    assert_eq!(passes.results().expect_err("nothing is computed yet").kind(), ErrorKind::Memory);
    let chunk = passes.next_chunk()?.expect("a chunk");
    assert_eq!(chunk.fold(&[]).expect_err("no part is given").kind(), ErrorKind::Arity);
    Ok(())
}

/// After cancelling, the cancelled chunk is the next one again, and the result is not affected.
#[test]
fn a_pass_can_be_cancelled() -> Result<()> {
    let x = Array::from_vec(floats(300_000));
    let placeholder = input(&x);
    let build: BuildFrom = |x| x.exp().sum(());
    let mut passes = Passes::new(&[&build(&placeholder)?], &[&placeholder], &limited(1_000_000))?;
    let (stop, mut count) = (AtomicBool::new(false), 0);
    while let Some(chunk) = passes.next_chunk()? {
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(&x, part)).collect();
        let done = AtomicUsize::new(0);
        let progress = |_| {
            done.fetch_add(1, Ordering::Relaxed);
            stop.store(count == 1, Ordering::Relaxed);
        };
        let control = Control { cancel: Some(&stop), progress: Some(&progress), ..Control::default() };
        let outcome = chunk.fold_watched(&parts, &control);
        assert!(done.load(Ordering::Relaxed) > 0, "progress is told of");
        match count {
            1 => assert_eq!(outcome.expect_err("it was stopped").kind(), ErrorKind::Cancelled),
            _ => outcome?,
        }
        stop.store(false, Ordering::Relaxed);
        count += 1;
    }
    assert!(count > 3, "{count}");
    assert_eq!(bits(&passes.results()?[0].eval()?), bits(&build(&x)?.eval()?));
    Ok(())
}

/// The summary of a centred array computes only the elements that it shows. The mean has been computed by a pass.
#[test]
fn what_passes_computed_can_be_shown() -> Result<()> {
    let x = Array::from_vec(floats(5000));
    let placeholder = input(&x);
    let centred = &placeholder - placeholder.mean(())?;
    let mut passes = Passes::new(&[&centred], &[&placeholder], &limited(4000))?;
    while let Some(chunk) = passes.next_chunk()? {
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(&x, part)).collect();
        chunk.fold(&parts)?;
    }
    let mut elements = 0;
    let text = summary(&passes.results()?[0], &[&placeholder], |chunk| {
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(&x, part)).collect();
        elements += parts.iter().map(Array::len).sum::<usize>();
        chunk.results(&parts)?[0].eval()
    })?;
    assert_eq!((text, elements), ((&x - x.mean(())?).to_string(), 6));
    Ok(())
}

/// Later chunks whose arrays have other layouts in memory than the first. The order of combining elements must be the same
/// in each chunk.
#[test]
fn chunks_of_any_layout() -> Result<()> {
    let builds: [BuildFrom; 4] =
        [|x| (x * 2 + 1).sum(0), |x| x.sum(0), |x| x.astype(DType::UInt8).max(0), |x| (x * x).argmax(0)];
    for (build, cols) in builds.into_iter().flat_map(|build| [(build, 3), (build, 64), (build, 700)]) {
        let rows = 1_400_000 / cols;
        let x = Array::from_shape_vec(&[rows, cols], floats(rows * cols))?;
        let placeholder = input(&x);
        let result = build(&placeholder)?;
        let whole = build(&x)?.eval()?;
        for first in 0..3 {
            let mut passes = Passes::new(&[&result], &[&placeholder], &limited(3_000_000))?;
            let mut count = first;
            while let Some(chunk) = passes.next_chunk()? {
                let laid_out = |x: Array<'static>| -> Result<Array<'static>> {
                    // Row-major, column-major, and with reversed rows.
                    match count % 3 {
                        0 => Ok(x),
                        1 => x.t().eval().map(|x| x.t()),
                        _ => x.flip(0)?.eval()?.flip(0),
                    }
                };
                let parts = chunk.parts().iter().map(|part| laid_out(read(&x, part)));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                chunk.fold(&parts)?;
                count += 1;
            }
            assert!(count > first + 1, "{cols} columns: {} chunks", count - first);
            let got = passes.results()?[0].clone();
            assert_eq!(bits(&got), bits(&whole), "{cols} columns, from layout {first} on");
        }
    }
    Ok(())
}

/// Later chunks whose arrays have other layouts than the first. More results are combined together than a tile of a later
/// chunk has columns.
#[test]
fn wide_chunks_of_any_layout() -> Result<()> {
    let (rows, cols) = (2000, 4096);
    let x =
        Array::from_shape_vec(&[rows, cols], (0..rows * cols).map(|i| ((i * 7919) >> 5) as u8).collect())?;
    let placeholder = input(&x);
    for build in [(|x| x.max(0)) as BuildFrom, |x| x.argmin(0)] {
        let (result, whole) = (build(&placeholder)?, build(&x)?.eval()?);
        let mut passes = Passes::new(&[&result], &[&placeholder], &limited(6_000_000))?;
        let mut count = 0;
        while let Some(chunk) = passes.next_chunk()? {
            let laid_out = |x: Array<'static>| match count {
                0 => Ok(x),
                1 => x.t().eval().map(|x| x.t()),
                _ => x.flip(1)?.eval()?.flip(1),
            };
            let parts = chunk.parts().iter().map(|part| laid_out(read(&x, part)));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            chunk.fold(&parts)?;
            count += 1;
        }
        assert!(count > 1, "{count} chunks");
        let got = passes.results()?[0].clone();
        assert_eq!(bits(&got), bits(&whole));
    }
    Ok(())
}
