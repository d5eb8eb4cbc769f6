//! Scans along an axis that does not fit memory have the bits of the whole scan, for chunks of every size.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use broadloom::prelude::*;
use broadloom::{
    Along, Chunks, Control, ErrorKind, Evaluation, Executor, IntDivision, Passes, scan, summary, while_loop,
};

use crate::passes::{BuildFrom, bits, chunked_within, floats, input, limited, read};

/// An average that follows `x` along an axis: the last ones, and all of them.
fn followed(x: &Array<'static>, along: impl Into<Along>) -> Result<(Array<'static>, Array<'static>)> {
    let step = |[mean]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
        let next = mean * 0.75 + x;
        ([next.clone()], [next - mean])
    };
    let ([last], [all]) = scan(step, [Array::scalar(0.25)], [x.clone()], along)?;
    Ok((last, all))
}

/// The outputs of a filter of two states and two inputs, which uses the same values at each step.
fn filtered(x: &Array<'static>, along: Along) -> Result<[Array<'static>; 4]> {
    let gain = x.max(0)?;
    let step = |[a, b]: &[Array<'static>; 2], [x, y]: &[Array<'static>; 2]| {
        let out = x * 0.5 + a;
        let next = [y - &out * 0.25 + b, x * 0.125 - &out * &gain * 1e-7];
        (next, [out.clone(), out.greater(a).astype(x.dtype())])
    };
    let dtype = x.dtype();
    let initial = [Array::from_vec(vec![0.5]).astype(dtype).reshape(&[])?, x.mean(0)?];
    let (last, all) = scan(step, initial, [x.clone(), x.abs()], along)?;
    let [a, b] = last;
    let [y, z] = all;
    Ok([a, b, y, z])
}

/// The average, which begins in all columns with the same value that a pass computes.
fn from_greatest(x: &Array<'static>) -> Result<(Array<'static>, Array<'static>)> {
    let step = |[mean]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
        let next = mean * 0.75 + x;
        ([next.clone()], [next - mean])
    };
    let ([last], [all]) = scan(step, [x.max(())?], [x.clone()], 0)?;
    Ok((last, all))
}

const BUILDS: &[BuildFrom] = &[
    |x| Ok(followed(x, 0)?.1),
    |x| Ok(followed(x, Along::axis(0).reverse())?.1),
    |x| Ok(followed(x, -1)?.1),
    |x| Ok(followed(x, Along::axis(-1).reverse())?.1),
    |x| Ok(followed(x, 0)?.0),
    |x| Ok(followed(x, Along::axis(0).reverse())?.0),
    // Several states, inputs and outputs, initial states and captured values that are computed.
    |x| Ok(filtered(x, Along::axis(0))?[0].clone()),
    |x| Ok(filtered(x, Along::axis(0))?[2].clone()),
    |x| Ok(filtered(x, Along::axis(0).reverse())?[3].clone()),
    |x| filtered(x, Along::axis(0)).map(|[a, b, y, z]| (y - a) * (z + b)),
    |x| Ok(from_greatest(x)?.0),
    |x| Ok(from_greatest(x)?.1),
    // Slices, from both ends, and several windows of one scan.
    |x| followed(&x.slice(Range::from(..).step(-1))?, 0)?.1.slice(3..),
    |x| followed(x, 0)?.1.slice(Range::from(1..).step(7)),
    |x| {
        let all = followed(x, Along::axis(0).reverse())?.1;
        Ok(all.slice(5..)? - all.slice(..-5)?)
    },
    // Scans below and above others, reductions and cumulative sums.
    |x| Ok(followed(&(x - x.mean(())?), 0)?.1),
    |x| followed(x, 0)?.1.max(0),
    |x| Ok(followed(&followed(x, 0)?.1, Along::axis(0).reverse())?.1),
    |x| Ok(followed(&followed(x, 0)?.1, Along::axis(0))?.0),
    |x| followed(x, 0)?.1.cumulative_sum(Some(0), None, false),
    |x| Ok(followed(&x.cumulative_sum(Some(0), None, true)?, Along::axis(0).reverse())?.1),
    |x| {
        let (last, all) = followed(x, 0)?;
        Ok(all - last)
    },
    // A scan without inputs, and a loop in a step.
    |x| {
        let step = |[s]: &[Array<'static>; 1], []: &[Array<'static>; 0]| ([s * 1.5 - s * s], [s.clone()]);
        let start = x.min(0)?.abs() / 1e6;
        let length = Along::axis(0).length(x.shape()[0]);
        let (_, [all]) = scan(step, [start], [], length)?;
        Ok(all - x)
    },
    |x| {
        let step = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
            let halved = while_loop(|[v]| v.abs().greater(1.0), |[v]| [v * 0.375], [s + x], None);
            let next = halved.map(|[v]| v).expect("a loop");
            ([next.clone()], [next])
        };
        let (_, [all]) = scan(step, [Array::scalar(0.5)], [x.clone()], 0)?;
        Ok(all)
    },
];

#[test]
fn scans_have_the_bits_of_the_whole() -> Result<()> {
    let mut passes = 0;
    for shape in [&[300][..], &[101, 3], &[3, 101], &[2, 61, 2]] {
        let x = Array::from_shape_vec(shape, floats(shape.iter().product()))?;
        for x in [x.clone(), x.astype(DType::Float32).eval()?] {
            for (i, build) in BUILDS.iter().enumerate() {
                if shape[0] < 9 && (12..=14).contains(&i) {
                    // The slices need more steps.
                    continue;
                }
                let whole = bits(&build(&x)?.eval()?);
                let placeholder = input(&x);
                let least = Passes::least_bytes(&[&build(&placeholder)?], &[&placeholder], &limited(8))?;
                for max_bytes in [least, 3 * least, 1500] {
                    let (got, chunks) = chunked_within(&x, *build, &limited(max_bytes), max_bytes)
                        .unwrap_or_else(|e| panic!("{i} of {shape:?} in {max_bytes} bytes: {e}"));
                    passes += usize::from(chunks > 2);
                    assert!(got.to_vec::<u64>()? == whole, "{i} of {}{shape:?} in {max_bytes}", x.dtype());
                }
            }
        }
    }
    assert!(passes > 250, "{passes}");
    Ok(())
}

#[test]
fn executors_and_threads_agree() -> Result<()> {
    let x = Array::from_shape_vec(&[3000, 5], floats(15_000))?;
    for (i, build) in BUILDS.iter().enumerate() {
        let whole = bits(&build(&x)?.eval()?);
        for executor in [Executor::Interp, Executor::Jit] {
            for threads in [1, 3] {
                let options = Options { executor, threads: Some(threads), ..limited(30_000) };
                let (got, _) = chunked_within(&x, *build, &options, 30_000)?;
                assert!(got.to_vec::<u64>()? == whole, "{i} {executor:?} {threads}");
            }
        }
    }
    Ok(())
}

/// A small part of the memory is enough: an output of which 8 MB are 64 kB at a time, and states of 16 steps at most.
#[test]
fn a_long_scan_takes_a_small_part_of_its_size() -> Result<()> {
    let x = Array::input("x", DType::Float64, &[1_000_000.into()])?;
    let (last, all) = followed(&x, 0)?;
    for (result, most) in [(last, 64), (all, 30_000)] {
        let least = Passes::least_bytes(&[&result], &[&x], &limited(8))?;
        assert!(least < most, "{least} bytes");
    }
    Ok(())
}

/// The rows that each part of an input has.
type StoredRows = Vec<std::ops::Range<usize>>;

/// The rows that a pass reads, and those that the results read after it.
fn rows_read(build: BuildFrom, max_bytes: usize) -> Result<(StoredRows, StoredRows)> {
    let x = Array::from_shape_vec(&[1000, 64], floats(64_000))?;
    let placeholder = input(&x);
    let result = build(&placeholder)?;
    let mut passes = Passes::new(&[&result], &[&placeholder], &limited(max_bytes))?;
    let (mut of_pass, mut of_results) = (StoredRows::new(), StoredRows::new());
    while let Some(chunk) = passes.next_chunk()? {
        of_pass.extend(chunk.parts().iter().map(|part| part.ranges[0].clone()));
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(&x, part)).collect();
        chunk.fold(&parts)?;
    }
    for chunk in Chunks::new(&[&passes.results()?[0]], &[&placeholder], &limited(max_bytes))?.iter() {
        of_results.extend(chunk?.parts().iter().map(|part| part.ranges[0].clone()));
    }
    Ok((of_pass, of_results))
}

/// A pass reads each row once, in the order of the steps; the results read hardly more than their own rows.
#[test]
fn inputs_are_read_in_the_order_of_the_steps() -> Result<()> {
    let count = |rows: &StoredRows| rows.iter().map(ExactSizeIterator::len).sum::<usize>();
    let (of_pass, of_results) = rows_read(|x| Ok(followed(x, 0)?.1), 100_000)?;
    assert!(of_pass.len() > 8 && of_pass.windows(2).all(|pair| pair[0].end == pair[1].start), "{of_pass:?}");
    assert_eq!(count(&of_pass), 1000);
    assert!(of_results.len() > 4 && count(&of_results) < 1250, "{of_results:?}");

    let (of_pass, of_results) = rows_read(|x| Ok(followed(x, Along::axis(0).reverse())?.1), 100_000)?;
    assert!(of_pass[0].end == 1000 && of_pass.windows(2).all(|pair| pair[0].start == pair[1].end));
    assert_eq!(count(&of_pass), 1000);
    assert!(of_results.len() > 4 && count(&of_results) < 1250, "{of_results:?}");

    // The last state needs no rows after the pass, which can therefore read many at a time.
    let (of_pass, of_results) = rows_read(|x| Ok(followed(x, 0)?.0), 100_000)?;
    assert!(of_pass.len() < 9 && count(&of_pass) == 1000 && of_results.is_empty(), "{of_pass:?}");
    // Scans along the rows need none: a chunk has complete rows.
    assert!(rows_read(|x| Ok(followed(x, 1)?.1), 100_000)?.0.is_empty());
    Ok(())
}

/// What fails in a step fails in chunks with the same message.
#[test]
fn steps_fail_as_in_memory() -> Result<()> {
    let mut data = vec![3_i32; 600];
    data[417] = 0;
    let divided: BuildFrom = |x| {
        let step = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
            let next = s + Array::scalar(6).try_floor_divide(x).expect("integers");
            ([next.clone()], [next])
        };
        let (_, [all]) = scan(step, [Array::scalar(1)], [x.clone()], 0)?;
        Ok(all)
    };
    let endless: BuildFrom = |x| {
        let step = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
            let [v] = while_loop(|[v]| v.greater(0), |[v]| [v - x], [x + 3], None).expect("a loop");
            ([s + v], [s.clone()])
        };
        let (_, [all]) = scan(step, [Array::scalar(1)], [x.clone()], 0)?;
        Ok(all)
    };
    let x = Array::from_vec(data);
    let first: BuildFrom = |x| {
        let step = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
            let quotient = Array::scalar(6).try_floor_divide(x).expect("integers");
            ([s + x], [quotient])
        };
        let (_, [all]) = scan(step, [Array::scalar(1)], [x.clone()], 0)?;
        // No element of the result reads the quotient that fails.
        all.slice(..200)
    };
    for (i, build) in [divided, endless, first].into_iter().enumerate() {
        let options = Options { int_division: IntDivision::Error, max_iterations: 1000, ..limited(900) };
        let outcome = chunked_within(&x, build, &options, 900).expect_err("it fails");
        let whole =
            build(&x)?.eval_with(&Options { max_bytes: usize::MAX, ..options }).expect_err("it fails");
        assert_eq!(outcome.to_string(), whole.to_string(), "{i}");
    }
    Ok(())
}

/// After cancelling, the cancelled chunk is the next one again, and begins with the same states.
#[test]
fn a_pass_over_steps_can_be_cancelled() -> Result<()> {
    let x = Array::from_vec(floats(300_000));
    let placeholder = input(&x);
    let build: BuildFrom = |x| Ok(followed(x, 0)?.0);
    let mut passes = Passes::new(&[&build(&placeholder)?], &[&placeholder], &limited(500_000))?;
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

/// After its pass, an output is computed from the nearest states before a window, as a whole too.
#[test]
fn a_summary_computes_few_steps() -> Result<()> {
    let x = Array::from_vec(floats(5000));
    let placeholder = input(&x);
    let (_, all) = followed(&placeholder, 0)?;
    let mut passes = Passes::new(&[&all], &[&placeholder], &limited(4000))?;
    while let Some(chunk) = passes.next_chunk()? {
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(&x, part)).collect();
        assert!(chunk.describe().starts_with("scan of blocks of "), "{}", chunk.describe());
        chunk.fold(&parts)?;
    }
    let mut elements = 0;
    let text = summary(&passes.results()?[0], &[&placeholder], |chunk| {
        let parts: Vec<_> = chunk.parts().iter().map(|part| read(&x, part)).collect();
        elements += parts.iter().map(Array::len).sum::<usize>();
        chunk.results(&parts)?[0].eval()
    })?;
    let whole = followed(&x, 0)?.1;
    assert_eq!(text, whole.to_string());
    assert!(elements < 200, "{elements}");
    // The results of passes over arrays in memory are arrays like others.
    let (_, all) = followed(&(&x + 0.0), 0)?;
    let mut passes = Passes::new(&[&all], &[], &limited(4000))?;
    while let Some(chunk) = passes.next_chunk()? {
        chunk.fold(&[])?;
    }
    let options = Options::default();
    assert_eq!(
        bits(&Evaluation::with(&options).eval_many(&[&passes.results()?[0]])?[0]),
        bits(&whole.eval()?)
    );
    Ok(())
}
