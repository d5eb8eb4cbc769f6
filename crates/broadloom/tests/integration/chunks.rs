//! Chunks have the same bits as the corresponding parts of the whole result, for chunks of every
//! size.

use broadloom::prelude::*;
use broadloom::text::Program;
use broadloom::{Chunks, ErrorKind, InputPart, IntDivision, Options, Over, Passes, summary};

/// The arrays that the expressions in the table use.
fn arrays() -> Vec<(&'static str, Array<'static>)> {
    let counted = |n: usize| (0..n).map(|i| (i as f64 * 0.37 - 20.0).sin() * 50.0).collect::<Vec<f64>>();
    let whole = |n: usize| (0..n).map(|i| i as i32 * 7 % 23 - 9).collect::<Vec<i32>>();
    let shaped =
        |shape: &[usize]| Array::from_shape_vec(shape, counted(shape.iter().product())).expect("it fits");
    vec![
        ("x", shaped(&[23])),
        ("m", shaped(&[12, 10])),
        ("s", shaped(&[10, 10])),
        ("t", shaped(&[4, 3, 5])),
        ("row", shaped(&[10])),
        ("column", shaped(&[12, 1])),
        ("i", Array::from_shape_vec(&[12, 10], whole(120)).expect("it fits")),
        (
            "b",
            Array::from_shape_vec(&[12, 10], whole(120).iter().map(|x| x % 2 == 0).collect())
                .expect("it fits"),
        ),
        ("none", shaped(&[0, 10])),
        ("one", Array::from_shape_vec(&[], vec![2.5]).expect("it fits")),
    ]
}

const EXPRESSIONS: &[&str] = &[
    "x[1:] - x[:-1]",
    "x + x[::-1]",
    "x[::2] + x[1::2][0]",
    "x[3:20:4] * x[-3::-4][:5]",
    "x[2:-2] * 6 - 4 * (x[1:-3] + x[3:-1]) + x[:-4] + x[4:]",
    "y = exp(x / 50); y[1:] - y[:-1]",
    "m * 2 + row - column",
    "m + normal(key(1), [12, 10])",
    "x * uniform(key(2), [23])[::-1]",
    "permute_dims(normal(key(4), [10, 12], dtype=float32), [1, 0])[:, 3:] - m[:, ::-1][:, :-3]",
    "permute_dims(m, [1, 0])",
    "m[:, ::-1] + m[::-1]",
    "m[1:-1, 1:-1] * 4 - m[:-2, 1:-1] - m[2:, 1:-1] - m[1:-1, :-2] - m[1:-1, 2:]",
    "s + permute_dims(s, [1, 0])",
    "s[::3, 5] / s[5, ::3]",
    "reshape(m, [-1])[7:100:3]",
    "reshape(permute_dims(m * 2, [1, 0]), [-1])",
    "reshape(permute_dims(m, [1, 0]), [8, 15])[1:, ::-2]",
    "reshape(m, [2, 6, 5, 2])[:, 1:, 2] + 1",
    "permute_dims(t, [2, 0, 1]) * t[0, 0, 0]",
    "reshape(t, [6, 10])[1:, :] + reshape(permute_dims(t, [1, 2, 0]), [6, 10])[:-1]",
    "t + t[:, :1] + t[1] + t[:, :, 2:3]",
    "broadcast_to(row, [3, 12, 10]) - m",
    "broadcast_to(exp(row), [12, 10])[::-1]",
    "where(b, m, -m)",
    "where(b[::-1, ::2], m[:, 1::2], row[::2])",
    "astype(i[1:], float32) / 3 + astype(m[:-1], float32)",
    "i // 3 - i[:, ::-1] % 5",
    "d = m - row; e = d[1:] * d[:-1]; e[:, 2:] + e[:, :-2]",
    "a = m[1:] + m[:-1]; c = a[2:] + a[:-2]; d = c[3:] + c[:-3]; d[::-1] - d",
    "s, y = scan (s = 1.0; v in m[:, :3], axis=1) { s = s / 2 + v; y = s - v }; y[1:] * 2 - y[:-1]",
    "s, y = scan (s = column[:, 0]; v in m[:, 3::-1] + row[:4], axis=1, reverse=true) { y = s * v; s = s + v }; y + expand_dims(s, 1)",
    "s, y = scan (s = 1.0; v in m[:, 6:], axis=1) { s = s * column[:, 0] + v; y = s }; s - y[:, 3]",
    "none + row",
    "none * 2",
    "reshape(none, [0]) * none[:, :1][0:0]",
    "k = reshape(none * 2, [10, 0]); reshape(k, [1, 0]) + reshape(k[5:], [0]) * reshape(k, [1, 0])",
    "m[5:5] + row",
    "one * 2",
    "broadcast_to(one, [4, 5]) + 1",
    "x[4] + one",
    "1 / 4",
    "expand_dims(x, 1) * x",
    "sum(exp(column[:1])[1:], axis=0)",
    // If a view has no elements, the reductions and scans below it are not computed.
    "sum(m, keepdims=true)[1:1, 0]",
    "sum(m, axis=0, keepdims=true)[1:] + row",
    "max(m, axis=1, keepdims=true)[:, 0:0] * none[:, :1][0:0, 0]",
    "broadcast_to(mean(x), [0])",
    "broadcast_to(sum(m, keepdims=true), [0, 4]) - cumulative_sum(x)[3:7]",
    "cumulative_sum(m, axis=1)[:, 4:4]",
    "reshape(std(m, keepdims=true)[:0], [0])",
    "(m - mean(m, keepdims=true))[5:5] + min(m, axis=0, keepdims=true)[:0]",
];

/// Reads a part of an array that represents a file.
fn read(of: &Array<'static>, part: &InputPart) -> Array<'static> {
    let ranges: Vec<Range> =
        part.ranges.iter().map(|range| (range.start as isize..range.end as isize).into()).collect();
    of.slice(&ranges).and_then(|x| x.eval()).expect("a part")
}

fn limited(max_bytes: usize) -> Options {
    Options { max_bytes, ..Options::default() }
}

fn bits(x: &Array<'_>) -> Vec<u64> {
    match x.dtype() {
        DType::Float64 => x.to_vec::<f64>().expect("float64").into_iter().map(f64::to_bits).collect(),
        DType::Float32 => {
            x.to_vec::<f32>().expect("float32").into_iter().map(|x| x.to_bits().into()).collect()
        }
        _ => x.to_vec::<i32>().expect("int32").into_iter().map(|x| x as u64).collect(),
    }
}

#[test]
fn chunks_are_parts_of_the_whole() -> Result<()> {
    let arrays = arrays();
    let inputs: Vec<(&str, Array<'static>)> = arrays
        .iter()
        .map(|(name, x)| {
            let dims: Vec<_> = x.shape().iter().map(|&n| n.into()).collect();
            Ok((*name, Array::input(name, x.dtype(), &dims)?))
        })
        .collect::<Result<_>>()?;
    for text in EXPRESSIONS {
        let program = Program::parse(text)?;
        let used: Vec<&str> = program.inputs().map(|input| input.name()).collect();
        let of = |all: &[(&'static str, Array<'static>)]| -> Vec<(&'static str, Array<'static>)> {
            all.iter().filter(|(name, _)| used.contains(name)).cloned().collect()
        };
        let whole = program.build(&of(&arrays))?.remove(0).1;
        let lazy = program.build(&of(&inputs))?.remove(0).1;
        let listed: Vec<&Array<'_>> = inputs.iter().map(|(_, x)| x).collect();
        let expected = bits(&whole);
        let mut counts = Vec::new();
        for max_bytes in [64, 150, 250, 1000, 4000, 1 << 20] {
            // Once with inputs that are read from files, once with arrays in memory.
            for (result, listed) in [(&lazy, &listed[..]), (&whole, &[][..])] {
                let chunks = match Chunks::new(&[result], listed, &limited(max_bytes)) {
                    // An element may depend on more elements than the limit allows.
                    Err(e) if e.is_limit() && max_bytes < 250 => continue,
                    chunks => chunks?,
                };
                let mut computed = Vec::new();
                for chunk in chunks.iter() {
                    let chunk = chunk?;
                    let parts: Vec<_> =
                        chunk.parts().iter().map(|part| read(&arrays[part.input].1, part)).collect();
                    computed.extend(bits(&chunk.results(&parts)?[0]));
                }
                assert_eq!(computed, expected, "{text} in {} chunks of {max_bytes} bytes", chunks.len());
                counts.push(chunks.len());
            }
        }
        let elements = expected.len();
        assert!(elements < 10 || counts[0] > 2, "{text}: {counts:?}");
        assert_eq!(counts[counts.len() - 2..], [1, 1], "{text}");
        let shown = summary(&lazy, &listed, |chunk| {
            let parts: Vec<_> = chunk.parts().iter().map(|part| read(&arrays[part.input].1, part)).collect();
            chunk.results(&parts)?[0].eval()
        })?;
        assert_eq!(shown, whole.eval()?.to_string(), "{text}");
        assert_eq!(whole.to_string(), shown, "{text}");
    }
    Ok(())
}

/// A result without elements reads no inputs, and fits any limit of memory, whatever is below it.
#[test]
fn results_without_elements_read_no_input() -> Result<()> {
    let x = Array::input("x", DType::Float64, &[1000.into(), 1000.into()])?;
    let over_all = x.sum(Over::all().keep_dims())?;
    let scanned = x.cumulative_sum(Some(0), None, false)?;
    for result in [
        over_all.slice(1..)?.index_axis(1, 0)?,
        x.sum(())?.broadcast_to(&[0, 3])?,
        scanned.slice((.., 7..7))?,
        x.reshape(&[-1])?.slice(5..5)?,
        x.max(Over::axis(0).keep_dims())?.slice(1..)? + x.slice(..0)?,
    ] {
        let mut passes = Passes::new(&[&result], &[&x], &limited(1))?;
        assert!(passes.next_chunk()?.is_none());
        let results = passes.results()?;
        let chunks = Chunks::new(&[&results[0]], &[&x], &limited(1))?;
        assert_eq!(chunks.len(), 1);
        let chunk = chunks.get(0).expect("a chunk")?;
        assert_eq!(chunk.parts(), []);
        let values = chunk.results(&[])?[0].eval()?;
        assert_eq!((values.dtype(), values.shape()), (result.dtype(), result.shape()));
    }
    Ok(())
}

/// Results with common leading axes are computed together.
#[test]
fn several_results() -> Result<()> {
    let arrays = arrays();
    let m = &arrays[1].1;
    let input = Array::input("m", DType::Float64, &[12.into(), 10.into()])?;
    let of = |m: &Array<'static>| -> Result<[Array<'static>; 3]> {
        Ok([m * 2, m.index_axis(1, 3)?, m.flip(0)?.slice((.., ..2))?])
    };
    let (whole, lazy) = (of(m)?, of(&input)?);
    for max_bytes in [500, 1000, 1 << 20] {
        let chunks = Chunks::new(&lazy.each_ref(), &[&input], &limited(max_bytes))?;
        assert!(max_bytes == 1 << 20 || chunks.len() > 2);
        let mut computed = vec![Vec::new(); 3];
        for chunk in chunks.iter() {
            let chunk = chunk?;
            assert_eq!(chunk.ranges().len(), 1);
            let parts: Vec<_> = chunk.parts().iter().map(|part| read(m, part)).collect();
            let results = chunk.results(&parts)?;
            computed.iter_mut().zip(&results).for_each(|(all, x)| all.extend(bits(x)));
        }
        assert_eq!(computed, whole.each_ref().map(bits));
    }
    // The smallest chunk contains a row of the first result.
    let error = Chunks::new(&lazy.each_ref(), &[&input], &limited(64)).expect_err("a row is more");
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    Ok(())
}

#[test]
fn what_is_too_large_and_what_is_wrong() -> Result<()> {
    let x = Array::input("x", DType::Float64, &[1000.into(), 500.into()])?;
    let total = x.reshape(&[1, 500_000])?.broadcast_to(&[1, 500_000])?;
    let corner = x.index_axis(0, 0)?.index_axis(0, 0)?;
    let (column, error) =
        (x.t(), |result: Result<Chunks<'_>>| result.map(|chunks| chunks.len()).expect_err("refused"));
    let refused = error(Chunks::new(&[&total, &corner], &[&x], &limited(1000)));
    assert_eq!(
        refused.to_string(),
        "the smallest chunk takes 12000008 bytes of memory, the limit is 1000; reshape [1,500000] needs 4000000 bytes of \
         float64[1000,500]; the option max_bytes sets the limit"
    );
    assert_eq!(error(Chunks::new(&[&column], &[], &limited(1000))).kind(), ErrorKind::Memory);
    assert_eq!(error(Chunks::new(&[&column], &[&x, &x], &limited(1000))).kind(), ErrorKind::Name);
    assert_eq!(error(Chunks::new(&[&column], &[&x, &column], &limited(1000))).kind(), ErrorKind::Memory);
    let open = Array::input("y", DType::Float64, &["n".into()])?;
    assert_eq!(error(Chunks::new(&[&open], &[&open], &limited(1000))).kind(), ErrorKind::Shape);

    let chunks = Chunks::new(&[&x], &[&x], &limited(100_000))?;
    let chunk = chunks.get(0).expect("a chunk")?;
    let rows = chunk.parts()[0].ranges[0].len();
    let refused = |parts: &[Array<'_>]| chunk.results(parts).map(drop).expect_err("refused").kind();
    assert_eq!(refused(&[]), ErrorKind::Arity);
    assert_eq!(refused(&[Array::zeros(&[rows, 500], DType::Float32)?]), ErrorKind::DType);
    assert_eq!(refused(&[Array::zeros(&[rows + 1, 500], DType::Float64)?]), ErrorKind::Shape);
    assert!(chunk.results(&[Array::zeros(&[rows, 500], DType::Float64)?]).is_ok());
    Ok(())
}

/// A zero divisor in an element that no result reads is an error of the whole evaluation, and
/// therefore also of the evaluation in chunks.
#[test]
fn divisions_that_nothing_reads() -> Result<()> {
    let x = Array::from_vec((0..100).collect::<Vec<i32>>());
    let whole = Options { int_division: IntDivision::Error, ..Options::default() };
    let options = Options { max_bytes: 100, ..whole.clone() };
    let fails = |result: &Array<'_>| -> Result<bool> {
        let chunks = Chunks::new(&[result], &[], &options)?;
        let all: Vec<Chunks<'_>> = chunks.unread()?.into_iter().chain([chunks]).collect();
        for chunk in all.iter().flat_map(Chunks::iter) {
            let values = chunk?.results(&[])?[0].eval_with(&whole);
            if values.is_err_and(|e| e.is_zero_division()) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let quotient = Array::full(&[100], 7_i32)?.try_floor_divide(&x)?;
    for (result, expected) in [
        (quotient.clone(), true),
        (quotient.slice(1..)?, true),
        (quotient.slice(5..5)?, true),
        (quotient.slice(1..)?.reshape(&[9, 11])?.t(), true),
        (quotient.slice(50..)? + x.slice(50..)?, true),
        (x.slice(1..)?.try_floor_divide(x.slice(1..)?)?, false),
        (Array::full(&[100], 7_i32)?.try_floor_divide(&x + 1)?.slice(1..)?, false),
    ] {
        assert_eq!(result.eval_with(&whole).is_err(), expected, "{result}");
        assert_eq!(fails(&result)?, expected, "{result}");
    }
    Ok(())
}

/// A summary computes only the elements that it shows. A host function counts the computed elements.
#[test]
fn a_summary_computes_what_it_shows() -> Result<()> {
    use broadloom::HostFunction;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let count = HostFunction::new("count", move |x: f32| {
        counter.fetch_add(1, Ordering::Relaxed);
        x
    })?;
    let n = 1 << 24;
    let x = Array::call(&count, [&Array::full(&[n], 1.5_f32)?.try_multiply(2)?])?;
    let table = x.reshape(&[1 << 12, 1 << 12])?;
    let window = |x: &Array<'static>, k: isize| x.slice(k..k - 8);
    let stencil = (1..7).try_fold(window(&x, 0)?, |sum, k| sum.try_add(window(&x, k)?))?;
    for (name, array, shown) in [
        ("the function", x.clone(), 6),
        ("a reshape", table.clone(), 36),
        ("a transpose, flat", table.t().reshape(&[n as isize])?, 6),
        ("a transpose, in rows", table.t().reshape(&[1 << 6, 1 << 18])?, 36),
        ("in boxes", table.t().reshape(&[1 << 8, 1 << 8, 1 << 8])?, 216),
        ("a stencil of many windows", stencil, 2 * 3 * 7),
        (
            "a slice of a flat transpose",
            table.t().reshape(&[n as isize])?.slice([Range::new(Some(5), None, 7)])?,
            6,
        ),
        ("a product of all with all", x.expand_dims(1)? * &x, 12),
        ("broadcast", x.sqrt().broadcast_to(&[100, n])?, 6),
    ] {
        calls.store(0, Ordering::Relaxed);
        assert!(array.to_string().contains("..."), "{name}");
        let calls = calls.load(Ordering::Relaxed);
        // Blocks and tiles are padded by repeating an element, which adds calls.
        assert!(calls <= 64 * shown, "{name}: {calls} calls for {shown} elements");
    }
    Ok(())
}
