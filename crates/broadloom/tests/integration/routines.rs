//! Routines as nodes of expressions: what feeds them and reads them, kernels, texts, chunks, and errors. Their results alone are
//! tested by subject, in `sorts`, `selections` and `segments`.

use broadloom::prelude::*;
use broadloom::text::{Program, print};
use broadloom::{Chunks, Kernel, Passes, ScatterMode};

use crate::on_executors::{each, executors};
use crate::passes::{input, limited, read};

fn elements(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7919) % 1013) as f64 / 16.0 - 30.0).collect()
}

fn labels(n: usize, segments: i64) -> Vec<i64> {
    (0..n as i64).map(|i| (i * 7919 + i / 5) % (segments + 1) - 1).collect()
}

/// The sum of the elements with each label, as selections have it.
fn sums(x: &[f64], by: &[i64], segments: i64) -> Result<Vec<f64>> {
    let of = |segment| -> Result<f64> {
        let chosen = x.iter().zip(by).filter(|(_, label)| **label == segment).map(|(x, _)| *x);
        Array::from_vec(chosen.collect::<Vec<f64>>()).sum(())?.item()
    };
    (0..segments).map(of).collect()
}

/// Operands are computed before, results are used afterwards, and a result is read by several kernels and routines.
#[test]
fn routines_between_kernels() -> Result<()> {
    let (n, segments) = (5000, 40);
    let (data, by) = (elements(n), labels(n, segments));
    let (x, labels) = (Array::from_slice(&data), Array::from_slice(&by));
    let shifted = (&labels + 1) - 1;
    let totals = (&x * 2 + 1).segment_sum(&shifted, segments as usize)?;
    let doubled: Vec<f64> = data.iter().map(|x| x * 2.0 + 1.0).collect();
    let wanted = sums(&doubled, &by, segments)?;
    each(&totals, &wanted, "alone")?;
    each(&(&totals * &totals), &wanted.iter().map(|x| x * x).collect::<Vec<_>>(), "squared")?;
    // Each element's share of its segment: a gather of what was reduced.
    let inside = labels.try_maximum(0)?;
    let share = &x / totals.take(&inside, 0)?;
    let of = |(x, label): (&f64, &i64)| x / wanted[(*label).max(0) as usize];
    each(&share, &data.iter().zip(&by).map(of).collect::<Vec<_>>(), "shares")?;
    let sorted = totals.sort(0, true)?;
    let mut in_order = wanted.clone();
    in_order.sort_by(|a, b| b.total_cmp(a));
    each(
        &(sorted.slice(..3)? - totals.max(())?),
        &in_order[..3].iter().map(|x| x - in_order[0]).collect::<Vec<_>>(),
        "first",
    )?;
    let order = totals.argsort(0, true)?;
    each(&totals.take(&order, 0)?, &in_order, "by order")?;
    // Two results of one routine, and the same routine once more.
    let (values, indices) = totals.topk(4, 0, true)?;
    for options in executors() {
        let found =
            Evaluation::with(&options).eval_many(&[&values, &indices, &totals.topk(4, 0, true)?.0])?;
        assert_eq!(found[0].to_vec::<f64>()?, in_order[..4]);
        assert_eq!(found[2].to_vec::<f64>()?, in_order[..4]);
        assert_eq!(found[1].to_vec::<i64>()?, order.to_vec::<i64>()?[..4]);
        assert_eq!(indices.eval_with(&options)?.to_vec::<i64>()?, order.to_vec::<i64>()?[..4]);
    }
    let explanation = (&totals + 1).explain()?.to_string();
    for words in
        ["segment_sum(t0, t1, 40) is written to temporary", "runs on a library routine", "t1 is temporary"]
    {
        assert!(explanation.contains(words), "{explanation}");
    }
    Ok(())
}

/// Views of operands and of results, and results in memory of any layout.
#[test]
fn views_of_operands_and_results() -> Result<()> {
    let x = Array::from_shape_vec(&[3, 4], (0..12).map(|i| i * 5 % 7).collect::<Vec<i32>>())?;
    each(&x.t().sort(0, false)?.t(), &x.sort(1, false)?.to_vec::<i32>()?, "transposed")?;
    let by = Array::from([1_u8, 0, 1]);
    let rows = x.slice((.., Range::new(None, None, -1)))?.segment_max(&by, 2)?;
    let at = |row: usize, column: usize| (row * 4 + column) as i32 * 5 % 7;
    let of = |i: usize| match (i / 4, 3 - i % 4) {
        (0, column) => at(1, column),
        (_, column) => at(0, column).max(at(2, column)),
    };
    each(&rows, &(0..8).map(of).collect::<Vec<i32>>(), "reversed")?;
    for options in executors() {
        let mut out = Array::from_shape_vec(&[4, 3], vec![0_i32; 12])?.t();
        Evaluation::with(&options).eval_into_array(&x.sort(1, true)?, &mut out)?;
        assert_eq!(out.to_vec::<i32>()?, x.sort(1, true)?.to_vec::<i32>()?);
    }
    Ok(())
}

/// A kernel of open extents, with an output in the memory of an input.
#[test]
fn kernels_call_routines() -> Result<()> {
    let x = Array::input("x", DType::Float64, &["n".into()])?;
    let by = Array::input("by", DType::Int32, &["n".into()])?;
    let totals = (&x + 1).segment_sum(&by, 5)?;
    let kernel = Kernel::new(&[&(&totals * 2), &x.sort(0, false)?], &[&x, &by], &Options::default())?;
    for n in [0, 1, 7, 3000] {
        let (data, by) = (elements(n), labels(n, 5));
        let more: Vec<f64> = data.iter().map(|x| x + 1.0).collect();
        let wanted: Vec<f64> = sums(&more, &by, 5)?.into_iter().map(|x| x * 2.0).collect();
        let by: Vec<i32> = by.into_iter().map(|label| label as i32).collect();
        let (mut out, mut sorted) = (vec![0.0; 5], vec![0.0; n]);
        kernel.run(
            &[(&data[..]).into(), (&by[..]).into()],
            [(&mut out[..]).into(), (&mut sorted[..]).into()],
        )?;
        assert_eq!(out, wanted, "{n}");
        assert!(sorted.is_sorted());
    }
    let (data, wrong) = ([1.0, 2.0, 3.0], [0, -2, 9]);
    let (mut out, mut sorted) = (vec![0.0; 5], vec![0.0; 3]);
    let error = kernel
        .run(&[(&data).into(), (&wrong).into()], [(&mut out[..]).into(), (&mut sorted[..]).into()])
        .unwrap_err();
    assert_eq!(error.message(), "segment_sum: label -2 is out of range for 5 segments, at [1]");
    let other = Array::input("other", DType::Int32, &["m".into()])?;
    assert_eq!(x.segment_sum(&other, 5).unwrap_err().kind(), ErrorKind::Shape);
    let counts = Kernel::new(&[&by.segment_count(5)?], &[&by], &Options::default())?;
    assert_ne!(kernel.id(), counts.id());
    let descending =
        |is| Kernel::new(&[&x.sort(0, is)?], &[&x], &Options::default()).map(|kernel| kernel.id());
    assert_ne!(descending(true)?, descending(false)?);
    Ok(())
}

/// What is printed is read back, and has the same values.
#[test]
fn texts_of_routines() -> Result<()> {
    let (x, by) = (Array::from_vec(elements(30)), Array::from_vec(labels(30, 4)));
    let at = by.try_maximum(0)?;
    let grid = x.reshape(&[5, 6])?;
    let all = [
        x.segment_sum(&by, 4)?,
        x.astype(DType::Float16).segment_mean(&by, 4)?,
        x.segment_max(&by, 4)?,
        by.segment_count(4)?,
        grid.sort(0, true)?,
        grid.argsort(1, false)?,
        grid.topk(2, 0, false)?.0,
        grid.topk(2, 1, true)?.1,
        x.sort(0, false)?.searchsorted(&grid, true)?,
        x.histogram(&Array::from([-20.0, 0.0, 20.0]))?,
        x.median(0)?,
        x.scatter(ScatterMode::Set, &at, &(&x + 1))?,
        x.scatter(ScatterMode::Add, &at, &(&x + 1))?,
        x.scatter(ScatterMode::Min, &at, &(&x + 1))?,
    ];
    for y in &all {
        let text = print(&[("y", y)])?;
        let program = Program::parse(&text)?;
        let printed = broadloom::text::Printed::new(&[("y", y)])?;
        let inputs: Vec<_> = printed.inputs.iter().map(|(name, x)| (&**name, x.clone())).collect();
        let read = program.build(&inputs)?;
        assert_eq!(print(&[("y", &read[0].1)])?, text);
        assert_eq!(read[0].1.to_bytes()?, y.to_bytes()?, "{text}");
    }
    let text = "x: float64[6]\nby: int64[6]\nreturn a = segment_mean(x, by, 3), b = topk_indices(x, 2), c = nonzero(x > 0.5, 3)";
    let inputs =
        [("x", Array::from([0.5, 1.5, 3.0, 0.0, -1.0, 2.0])), ("by", Array::from([0_i64, 0, 2, 1, -1, 2]))];
    let program = Program::parse(text)?;
    let results = program.build(&inputs)?;
    assert_eq!(results[0].1.to_vec::<f64>()?, [1.0, 0.0, 2.5]);
    assert_eq!(results[1].1.to_vec::<i64>()?, [2, 5]);
    assert_eq!(results[2].1.to_vec::<i64>()?, [1, 2, 5]);
    let program = Program::parse("x: bool[2]\nreturn nonzero(x, 3)")?;
    let none = program.build(&[("x", Array::from([false, true]))])?;
    assert_eq!(none[0].1.to_vec::<i64>()?, [1, -1, -1]);
    Ok(())
}

/// The first element out of range is named, whatever reads the result, and on every executor.
#[test]
fn elements_out_of_range_are_errors() -> Result<()> {
    let x = Array::from_vec(elements(3000));
    for place in [2999, 700, 5] {
        let mut by = labels(3000, 10);
        by[place] = 10;
        let totals = x.segment_sum(&Array::from_vec(by), 10)?;
        let found = format!("segment_sum: label 10 is out of range for 10 segments, at [{place}]");
        for y in [&totals, &(&totals + 1), &totals.sum(())?, &totals.slice(..2)?, &totals.slice(..0)?] {
            for options in executors() {
                assert_eq!(y.eval_with(&options).unwrap_err().message(), found);
            }
        }
    }
    let mean = x.segment_mean(&Array::from_vec(vec![7_i8; 3000]), 7)?;
    let found = "segment_mean: label 7 is out of range for 7 segments, at [0]";
    assert_eq!(mean.eval().unwrap_err().message(), found);
    let (x, values) = (Array::from([1.0, 2.0, 3.0]), Array::from([[5.0, 6.0], [7.0, 8.0]]));
    for at in [-1, 3] {
        let at = Array::from([[0_i64, 2], [at, -9]]);
        let wrong = at.to_vec::<i64>()?[2];
        for (mode, place) in
            [(ScatterMode::Set, "[1,0]"), (ScatterMode::Add, "[2]"), (ScatterMode::Max, "[2]")]
        {
            let found = format!("scatter: position {wrong} is out of range for 3 elements, at {place}");
            assert_eq!(x.scatter(mode, &at, &values)?.eval().unwrap_err().message(), found);
        }
    }
    Ok(())
}

/// Each mode by its definition, with elements that are not written, and dtypes that are added in a wider one.
#[test]
fn scatters() -> Result<()> {
    let at = Array::from([3_i64, 0, 3, 3, 1]);
    for dtype in [DType::Int8, DType::UInt32, DType::Int64, DType::Float16, DType::Float32, DType::Float64] {
        let (x, values) =
            (Array::from([7, 2, 9, 4]).astype(dtype), Array::from([2, 5, 3, 1, 4]).astype(dtype));
        for (mode, wanted) in [
            (ScatterMode::Set, [5, 4, 9, 1]),
            (ScatterMode::Add, [12, 6, 9, 10]),
            (ScatterMode::Multiply, [35, 8, 9, 24]),
            (ScatterMode::Min, [5, 2, 9, 1]),
            (ScatterMode::Max, [7, 4, 9, 4]),
        ] {
            let y = x.scatter(mode, &at, &values)?;
            assert_eq!(y.dtype(), dtype);
            each(&y.astype(DType::Int64), &wanted.map(i64::from), &format!("{mode} {dtype}"))?;
        }
    }
    let x = Array::from([-0.0, f64::from_bits(0xfff8_0000_0000_0123), -0.0]);
    let y = x.scatter(ScatterMode::Add, &Array::from([2_i64]), &Array::from([-0.0]))?.eval()?;
    let bits: Vec<u64> = y.to_vec::<f64>()?.into_iter().map(f64::to_bits).collect();
    assert_eq!(bits, [(-0.0_f64).to_bits(), 0xfff8_0000_0000_0123, (-0.0_f64).to_bits()]);
    let flags = Array::from([true, false]);
    let set = flags.scatter(ScatterMode::Set, &Array::from([1_i64]), &Array::from([true]))?;
    each(&set, &[true, true], "bools")?;
    assert_eq!(
        flags.scatter(ScatterMode::Add, &Array::from([1_i64]), &flags).unwrap_err().kind(),
        ErrorKind::Shape
    );
    assert_eq!(
        flags.scatter(ScatterMode::Set, &Array::from([1_i32]), &flags).unwrap_err().kind(),
        ErrorKind::DType
    );
    Ok(())
}

/// A routine of inputs that are read chunk by chunk is computed by a pass, once, with the same bits.
#[test]
fn chunks_have_the_bits_of_the_whole() -> Result<()> {
    let n = 20_000;
    let x = Array::from_vec(elements(n));
    let by = Array::from_vec(labels(n, 30));
    let build = |x: &Array<'static>| -> Result<Array<'static>> {
        let totals = (x * 2).segment_sum(&by, 30)?;
        let inside = by.try_maximum(0)?;
        Ok(totals.take(&inside, 0)? + x.sort(0, false)?)
    };
    let whole = build(&x)?.to_vec::<f64>()?;
    let placeholder = input(&x);
    let result = build(&placeholder)?;
    for max_bytes in [450_000, 1 << 20, usize::MAX] {
        let mut passes = Passes::new(&[&result], &[&placeholder], &limited(max_bytes))?;
        let count = passes.len();
        while let Some(chunk) = passes.next_chunk()? {
            let parts: Vec<_> = chunk.parts().iter().map(|part| read(&x, part)).collect();
            chunk.fold(&parts)?;
        }
        let result = passes.results()?[0].clone();
        let mut values = Vec::new();
        // Without a pass, each chunk has all elements of the operands.
        let limit = if count > 0 { 400_000 } else { 600_000 };
        for chunk in Chunks::new(&[&result], &[&placeholder], &limited(limit))?.iter() {
            let chunk = chunk?;
            let parts: Vec<_> = chunk.parts().iter().map(|part| read(&x, part)).collect();
            values.extend(chunk.results(&parts)?[0].to_vec::<f64>()?);
        }
        assert_eq!(values, whole, "{max_bytes}");
        assert_eq!(count > 0, max_bytes == 450_000, "{max_bytes}");
    }
    let error = Passes::new(&[&result], &[&placeholder], &limited(50_000)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    Ok(())
}

/// Sorts order NaNs by their bits: those of computed ones are canonical before, and loaded ones keep theirs.
#[test]
fn nans_have_their_bits_when_they_are_sorted() -> Result<()> {
    let own = f64::from_bits(0xfff8_0000_0000_0123);
    let x = Array::from([own, 2.0, f64::INFINITY]);
    for options in executors() {
        let bits = |y: Array<'_>| -> Result<Vec<u64>> {
            Ok(y.eval_with(&options)?.to_vec::<f64>()?.into_iter().map(f64::to_bits).collect())
        };
        let moved = bits(x.sort(0, false)?)?;
        assert_eq!(moved, [2.0_f64.to_bits(), f64::INFINITY.to_bits(), own.to_bits()]);
        let computed = bits((&x - f64::INFINITY).sort(0, true)?)?;
        assert_eq!(computed[..2], [0x7ff8_0000_0000_0000; 2], "{computed:x?}");
    }
    Ok(())
}

/// A node without elements never fails, in memory or in chunks.
#[test]
fn results_without_elements_do_not_fail() -> Result<()> {
    let x = Array::from([1.0, 2.0]);
    let of_no_labels = x.segment_sum(&Array::from([0, 5]), 0)?;
    let of_no_array =
        Array::zeros(&[0], DType::Float64)?.scatter(ScatterMode::Set, &Array::from([3_i64, 9]), &x)?;
    for y in [of_no_labels, of_no_array] {
        each::<f64>(&y, &[], "no elements")?;
        let total = (y.sum(())? + 1.0).eval()?;
        assert_eq!(total.item::<f64>()?, 1.0);
    }
    Ok(())
}

/// Chunks compute what no result reads for its errors alone, as an evaluation of the whole does.
#[test]
fn chunks_find_elements_out_of_range_that_no_result_reads() -> Result<()> {
    let x = Array::from([1.0, 2.0, 3.0]);
    for rest in [
        x.segment_sum(&Array::from([0, 1, 7]), 2)?.slice(..0)?,
        x.take(&Array::from([0, 9, 1, 2]), 0)?.slice(2..)?,
    ] {
        assert_eq!(rest.eval().unwrap_err().kind(), ErrorKind::Index);
        let passes = Passes::new(&[&rest], &[], &Options::default())?;
        let unread = passes.unread()?;
        assert_eq!(unread.len(), 1);
        for chunk in unread[0].iter() {
            assert_eq!(chunk?.results(&[])?[0].eval().unwrap_err().kind(), ErrorKind::Index);
        }
    }
    Ok(())
}

/// The first places of a mask that has more true elements than there are places, which lie far apart.
#[test]
fn the_first_places_of_a_long_mask() -> Result<()> {
    let mask = Array::from_vec((0..300_000).map(|i| i % 70_001 == 65_535).collect::<Vec<bool>>());
    let places = mask.nonzero_sized(4, -1)?;
    each(&places[0], &[65_535_i64, 135_536, 205_537, 275_538], "as many")?;
    let places = mask.nonzero_sized(3, -1)?;
    each(&places[0], &[65_535_i64, 135_536, 205_537], "fewer")?;
    each(&mask.nonzero_sized(5, -1)?[0], &[65_535_i64, 135_536, 205_537, 275_538, -1], "more")
}
