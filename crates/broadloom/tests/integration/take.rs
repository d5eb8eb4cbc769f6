//! Elements at computed indices: results, errors, and the stages that read or feed them.

use broadloom::prelude::*;
use broadloom::text::{Program, print};
use broadloom::{Chunks, IndexMode, Kernel, Range, while_loop};

use crate::on_executors::{each, executors};

fn numbers(n: usize, seed: i64) -> Vec<i64> {
    (0..n as i64).map(|i| (i * 7919 + seed * 104_729) % 1009).collect()
}

/// A row of a table of every length, and its result used in further arithmetic.
#[test]
fn tables_and_rows_of_every_length() -> Result<()> {
    for n in [0, 1, 2, 7, 16, 33, 100, 1000, 70_000] {
        for extent in [1, 2, 5, 300] {
            let table = numbers(extent, 1);
            let index: Vec<i64> =
                numbers(n, 2).iter().map(|i| i % (2 * extent as i64) - extent as i64).collect();
            let at = |i: &i64| table[(i.rem_euclid(extent as i64)) as usize];
            let wanted: Vec<i64> = index.iter().map(|i| at(i) * 2 + i).collect();
            let (x, i) = (Array::from_vec(table.clone()), Array::from_vec(index.clone()));
            let y = x.take(&i, 0)? * 2 + &i;
            each(&y, &wanted, &format!("{n} of {extent}"))?;
        }
    }
    Ok(())
}

/// Indices of every integer dtype, with what each mode makes of them.
#[test]
fn modes_and_dtypes_of_indices() -> Result<()> {
    let x = Array::from_vec(vec![10_i32, 20, 30]);
    let signed = Array::from_vec(vec![-4_i64, -3, -1, 0, 2, 3, 100]);
    for dtype in [DType::Int8, DType::Int16, DType::Int32, DType::Int64] {
        let i = signed.astype(dtype);
        each(&x.take_by(&i, 0, IndexMode::Clip)?, &[10, 10, 10, 10, 30, 30, 30], "clip")?;
        each(&x.take_by(&i, 0, IndexMode::Wrap)?, &[30, 10, 30, 10, 30, 10, 20], "wrap")?;
        let inside = i.slice(1..5)?;
        each(&x.take(&inside, 0)?, &[10, 30, 10, 30], "raise")?;
    }
    for dtype in [DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64] {
        let i = Array::from_vec(vec![0_u8, 2, 3, 200]).astype(dtype);
        each(&x.take_by(&i, 0, IndexMode::Clip)?, &[10, 30, 30, 30], "clip")?;
        each(&x.take_by(&i, 0, IndexMode::Wrap)?, &[10, 30, 10, 30], "wrap")?;
        assert_eq!(x.take(&i, 0)?.eval().unwrap_err().kind(), ErrorKind::Index);
    }
    let large = Array::from_vec(vec![u64::MAX, 1 << 63]);
    each(&x.take_by(&large, 0, IndexMode::Clip)?, &[30, 30], "an index above int64")?;
    // 2⁶⁴ - 1 is a multiple of 3, and 2⁶³ is one more than a multiple of 7 and 2 more than one of 3.
    each(&x.take_by(&large, 0, IndexMode::Wrap)?, &[10, 30], "an index above int64")?;
    for options in executors() {
        let error = x.take(&large, 0)?.eval_with(&options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Index, "it does not become negative");
    }
    for wrong in [Array::from_vec(vec![1.0_f32]), Array::from_vec(vec![true])] {
        assert_eq!(x.take(&wrong, 0).unwrap_err().kind(), ErrorKind::DType);
    }
    assert_eq!(x.take(&signed, 1).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

/// Elements of an array along each axis, by definition.
#[test]
fn every_axis() -> Result<()> {
    let (a, b, c) = (3, 4, 5);
    let data = numbers(a * b * c, 3);
    let x = Array::from_shape_vec(&[a, b, c], data.clone())?;
    let index = [2_i64, 0, -1, 1, 1, -3];
    let i = Array::from_shape_vec(&[2, 3], index.to_vec())?;
    for axis in 0..3 {
        let shape = [a, b, c];
        let y = x.take(&i, axis as isize)?;
        let mut expected_shape = shape.to_vec();
        expected_shape.splice(axis..=axis, [2, 3]);
        assert_eq!(y.shape(), expected_shape);
        let (outer, inner): (usize, usize) =
            (shape[..axis].iter().product(), shape[axis + 1..].iter().product());
        let mut wanted = Vec::new();
        for o in 0..outer {
            for i in index {
                let at = i.rem_euclid(shape[axis] as i64) as usize;
                (0..inner).for_each(|r| wanted.push(data[(o * shape[axis] + at) * inner + r]));
            }
        }
        each(&y, &wanted, &format!("axis {axis}"))?;
        assert_eq!(x.take(&i, axis as isize - 3)?.eval()?.to_vec::<i64>()?, wanted);
    }
    // Each row has indices of its own, which broadcast along the last axis.
    let order = x.argmax(Over::axis(1).keep_dims())?;
    let largest = x.take_along_axis(&order, 1)?;
    assert_eq!(largest.shape(), [a, 1, c]);
    each(&largest, &x.max(Over::axis(1).keep_dims())?.to_vec::<i64>()?, "along axis 1")?;
    let one = Array::from_shape_vec(&[1, 2, 1], vec![1_i64, -1])?;
    let pairs = x.take_along_axis(&one, 1)?;
    assert_eq!(pairs.shape(), [a, 2, c]);
    let expected: Vec<i64> = (0..a)
        .flat_map(|o| [1, b - 1].into_iter().flat_map(move |i| (0..c).map(move |r| (o * b + i) * c + r)))
        .map(|at| data[at])
        .collect();
    each(&pairs, &expected, "broadcast indices")?;
    assert!(x.take_along_axis(&i, 1).is_err(), "another rank");

    // Tuples of indices of the first axes.
    let (i, j) = (Array::from_vec(vec![0_i64, -1, 2]), Array::from_shape_vec(&[2, 1], vec![3_i64, -4])?);
    let y = x.gather(&[i.clone(), j.clone()], 0)?;
    assert_eq!(y.shape(), [2, 3, c]);
    let wanted: Vec<i64> = [3, 0]
        .into_iter()
        .flat_map(|j| [0, 2, 2].into_iter().flat_map(move |i| (0..c).map(move |r| (i * b + j) * c + r)))
        .map(|at| data[at])
        .collect();
    each(&y, &wanted, "tuples")?;
    let k = Array::from_vec(vec![4_i64, 0, -5]);
    let all = x.gather(&[i, j, k], 0)?;
    assert_eq!((all.shape(), all.rank()), (&[2, 3][..], 2));
    Ok(())
}

/// An index outside of one axis is an error even if its position is inside of the array.
#[test]
fn indices_out_of_range_are_errors() -> Result<()> {
    let x = Array::from_shape_vec(&[2, 3], vec![1_i64, 2, 3, 4, 5, 6])?;
    let one = |i: i64| Array::from_vec(vec![i]);
    for (i, j, is_inside) in [(0, 2, true), (0, 3, false), (1, -4, false), (-3, 5, false), (2, -3, false)] {
        for options in executors() {
            let y = x.gather(&[one(i), one(j)], 0)?.eval_with(&options);
            assert_eq!(y.is_ok(), is_inside, "{i} {j}");
            assert!(y.is_ok() || y.unwrap_err().kind() == ErrorKind::Index);
        }
    }
    // A failed evaluation leaves nothing behind that the next one meets.
    let table = Array::from_vec((0..1000_i64).collect::<Vec<_>>());
    let mut index = vec![5_i64; 100_000];
    for place in [0, 1, 4095, 50_000, 99_999] {
        index[place] = 1000;
        for options in executors() {
            let y = table.take(&Array::from_slice(&index), 0)?;
            assert_eq!(y.eval_with(&options).unwrap_err().kind(), ErrorKind::Index, "{place}");
            let part = y.slice(10..20)?;
            assert_eq!(part.eval_with(&options).unwrap_err().kind(), ErrorKind::Index, "a part of it");
        }
        index[place] = 5;
    }
    let y = table.take(&Array::from_slice(&index), 0)?;
    assert_eq!(y.sum(())?.item::<i64>()?, 500_000);
    Ok(())
}

#[test]
fn axes_without_elements() -> Result<()> {
    let empty = Array::from_vec(Vec::<f32>::new());
    let (none, some) = (Array::from_vec(Vec::<i64>::new()), Array::from_vec(vec![0_i64]));
    for mode in [IndexMode::Raise, IndexMode::Clip, IndexMode::Wrap] {
        for options in executors() {
            let taken = |i: &Array<'static>| empty.take_by(i, 0, mode)?.eval_with(&options);
            assert_eq!(taken(&none)?.shape(), [0]);
            assert_eq!(taken(&some).unwrap_err().kind(), ErrorKind::Index, "{mode}");
        }
    }
    let wide = Array::from_shape_vec(&[2, 0, 3], Vec::<i8>::new())?;
    assert_eq!(wide.take(&none, 1)?.eval()?.shape(), [2, 0, 3]);
    assert!(wide.take(&some, 1)?.eval().is_err());
    let rows = Array::from_shape_vec(&[0, 3], Vec::<i8>::new())?;
    assert_eq!(rows.take(&some, 1)?.eval()?.shape(), [0, 1], "no element is taken");
    Ok(())
}

/// The table is computed, a view, reduced or scanned, and the elements are used in other stages.
#[test]
fn tables_and_elements_of_other_stages() -> Result<()> {
    let data = numbers(600, 5);
    let x = Array::from_shape_vec(&[20, 30], data.clone())?;
    let i = Array::from_vec(numbers(100, 6).iter().map(|i| i % 20).collect::<Vec<_>>());
    let at: Vec<usize> = i.to_vec::<i64>()?.iter().map(|&i| i as usize).collect();
    let row_sums: Vec<i64> = data.chunks(30).map(|row| row.iter().sum()).collect();

    each(&(&x * 2).sum(1)?.take(&i, 0)?, &at.iter().map(|&i| 2 * row_sums[i]).collect::<Vec<_>>(), "sums")?;
    let columns: Vec<i64> = at.iter().map(|&i| data[30 * (19 - i) + 7]).collect();
    each(&x.slice((Range::from(..).step(-1), 7))?.take(&i, 0)?, &columns, "a column in reverse")?;
    let turned: Vec<i64> = at.iter().map(|&i| data[30 * 3 + i] - 1).collect();
    each(&(x.t().slice((.., 3))? - 1).take(&i, 0)?, &turned, "a transposed table")?;
    let rows: Vec<i64> = at.iter().map(|&i| row_sums[i]).collect();
    each(&x.take(&i, 0)?.sum(1)?, &rows, "sums of rows")?;
    each(&x.take(&i, 0)?.sum(())?, &[rows.iter().sum::<i64>()], "the sum of all")?;
    let scanned: Vec<i64> = rows
        .iter()
        .scan(0, |total, x| {
            *total += x;
            Some(*total)
        })
        .collect();
    each(&x.sum(1)?.take(&i, 0)?.cumulative_sum(Some(0), None, false)?, &scanned, "a scan")?;
    let twice = x.sum(1)?;
    let both = twice.take(&i, 0)? + twice.take(&(19 - &i), 0)?;
    let wanted: Vec<i64> = at.iter().map(|&i| row_sums[i] + row_sums[19 - i]).collect();
    each(&both, &wanted, "one table twice")?;
    let nested = twice.take(&twice.take(&i, 0)?.remainder(20), 0)?;
    let wanted: Vec<i64> = at.iter().map(|&i| row_sums[(row_sums[i] % 20) as usize]).collect();
    each(&nested, &wanted, "an index from a table")?;
    each(
        &Array::scalar(7_i64).broadcast_to(&[3])?.take(&Array::from_vec(vec![2_i64, 0]), 0)?,
        &[7_i64, 7],
        "a number",
    )?;
    let own = Array::arange(0_i64, 5, 1)?;
    each(&(own.take(&Array::from_vec(vec![4_i64, 1]), 0)?), &[4_i64, 1], "generated numbers")?;

    // A loop whose states begin with elements, and one that captures them.
    let start = x.sum(1)?.take(&i, 0)?;
    let halved = while_loop(|[s]| s.greater(100), |[s]| [s.floor_divide(2)], [start], None)?;
    let wanted: Vec<i64> = rows
        .iter()
        .map(|&x| std::iter::successors(Some(x), |x| Some(x / 2)).find(|x| *x <= 100).unwrap_or(0))
        .collect();
    each(&halved[0], &wanted, "a loop")?;
    Ok(())
}

/// Rows that a softmax-like group of stages computes block by block are a table afterwards.
#[test]
fn row_blocks_before_and_after() -> Result<()> {
    let (rows, cols) = (2000, 64);
    let data: Vec<f64> = numbers(rows * cols, 7).iter().map(|&x| x as f64 / 100.0).collect();
    let x = Array::from_shape_vec(&[rows, cols], data)?;
    let shifted = &x - x.max(Over::axis(1).keep_dims())?;
    let exp = shifted.exp();
    let softmax = &exp / exp.sum(Over::axis(1).keep_dims())?;
    let stored = softmax.eval()?;
    let i = Array::from_vec(numbers(500, 8));
    let (taken, wanted) = (softmax.take(&i, 0)?, stored.take(&i, 0)?.eval()?.to_vec::<f64>()?);
    let values = stored.to_vec::<f64>()?;
    assert_eq!(wanted[..cols], values[i.to_vec::<i64>()?[0] as usize * cols..][..cols]);
    each(&taken, &wanted, "after")?;
    let permuted = stored.take(&i, 0)?;
    let again = permuted.exp();
    let ratio = &again / again.sum(Over::axis(1).keep_dims())?;
    let known = Array::from_shape_vec(&[500, cols], wanted)?.exp();
    let known = (&known / known.sum(Over::axis(1).keep_dims())?).to_vec::<f64>()?;
    each(&ratio, &known, "before")
}

/// The bits of a NaN are moved, and those of a computed NaN are canonical.
#[test]
fn nans_keep_their_bits() -> Result<()> {
    let own = f64::from_bits(0xfff8_0000_0000_0123);
    let x = Array::from_vec(vec![own, 1.0, -0.0]);
    let i = Array::from_vec(vec![0_i64, 2, 0, 1]);
    for options in executors() {
        let bits = |y: Array<'_>| -> Result<Vec<u64>> {
            Ok(y.eval_with(&options)?.to_vec::<f64>()?.into_iter().map(f64::to_bits).collect())
        };
        let moved = bits(x.take(&i, 0)?)?;
        assert_eq!(moved, [own.to_bits(), (-0.0_f64).to_bits(), own.to_bits(), 1.0_f64.to_bits()]);
        let computed = bits((&x - &x).try_add(f64::INFINITY)?.try_subtract(f64::INFINITY)?.take(&i, 0)?)?;
        assert!(computed.iter().all(|&x| x == 0x7ff8_0000_0000_0000), "{computed:x?}");
    }
    Ok(())
}

/// A kernel whose table and indices are inputs, of any extents; an output may be the memory of the table.
#[test]
fn kernels_take_tables_as_inputs() -> Result<()> {
    let (table, index) = (
        Array::input("table", DType::Int32, &["n".into()])?,
        Array::input("index", DType::UInt8, &["m".into()])?,
    );
    let kernel = Kernel::new(&[&(table.take(&index, 0)? + 1)], &[&table, &index], &Options::default())?;
    for (extent, length) in [(1, 1), (4, 9), (200, 1000)] {
        let table: Vec<i32> = (0..extent).map(|i| i * i).collect();
        let index: Vec<u8> = (0..length).map(|i| (i * 7 % extent) as u8).collect();
        let mut out = vec![0_i32; index.len()];
        kernel.run(&[(&table[..]).into(), (&index[..]).into()], [(&mut out[..]).into()])?;
        assert!(index.iter().zip(&out).all(|(&i, &y)| y == table[usize::from(i)] + 1));
        let index = vec![extent as u8; index.len()];
        let error = kernel.run(&[(&table[..]).into(), (&index[..]).into()], [(&mut out[..]).into()]);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Index);
    }
    Ok(())
}

/// A chunk of the result needs the whole table, and its own indices only.
#[test]
fn chunks_have_the_bits_of_the_whole() -> Result<()> {
    let table = Array::from_vec(numbers(50, 9));
    let index: Vec<i64> = numbers(10_000, 10).iter().map(|i| i % 50).collect();
    let index = Array::from_vec(index);
    let y = table.take(&index, 0)? * &index;
    let whole = y.to_vec::<i64>()?;
    let options = Options { max_bytes: 20_000, ..Options::default() };
    let mut made = Vec::new();
    let mut count = 0;
    for chunk in Chunks::new(&[&y], &[], &options)?.iter() {
        made.extend(chunk?.results(&[])?[0].to_vec::<i64>()?);
        count += 1;
    }
    assert!(count > 1, "{count}");
    assert_eq!(made, whole);
    Ok(())
}

/// The error names the first index out of range in C order and its place, whatever executor has met it.
#[test]
fn the_first_index_out_of_range_is_named() -> Result<()> {
    let table = Array::from_vec((0..50_i64).collect::<Vec<_>>());
    let mut index = vec![7_i64; 30_000];
    for place in [29_999, 20_000, 1025, 64, 3] {
        index[place] = if place % 2 == 0 { 50 + place as i64 } else { -51 - place as i64 };
        let i = Array::from_shape_vec(&[100, 300], index.clone())?;
        let found = format!(
            "take: index {} is out of range for 50 elements, at [{},{}]",
            index[place],
            place / 300,
            place % 300
        );
        let taken = table.take(&i, 0)? * 2;
        for y in [
            &taken,
            &taken.sum(())?,
            &taken.sum(0)?,
            &taken.sum(1)?,
            &taken.cumulative_sum(Some(1), None, false)?,
        ] {
            for options in executors() {
                assert_eq!(y.eval_with(&options).unwrap_err().message(), found);
            }
        }
    }
    let x = Array::from_shape_vec(&[2, 3], vec![1_i8, 2, 3, 4, 5, 6])?;
    let error = x.take(&Array::from_vec(vec![0_u8, 2, 3]), 1)?.eval().unwrap_err();
    assert_eq!(error.message(), "take: an index is out of range for [2,3], at [0,2]");
    let none = Array::from_vec(Vec::<f32>::new());
    let error = none.take_by(&Array::from_vec(vec![1_u8]), 0, IndexMode::Wrap)?.eval().unwrap_err();
    assert_eq!(error.message(), "take: an element at [0] of [0], which has none");
    let mut out = [0_i64; 4];
    let memory = std::slice::from_mut(&mut out[0]);
    let error = table.take(&Array::from_vec(vec![60_i64]), 0)?.eval_into(memory).unwrap_err();
    assert_eq!(error.message(), "take: index 60 is out of range for 50 elements, at [0]");
    Ok(())
}

/// A text takes elements, and the text of a kernel is read back as the same kernel.
#[test]
fn texts_take_elements() -> Result<()> {
    let (x, i) = (Array::from([[1, 2, 3], [4, 5, 6]]), Array::from_vec(vec![2_i64, 0, -1]));
    let bound = [("x", x), ("i", i)];
    let options = Options::default();
    for (text, wanted) in [
        ("take(x, i, axis=1) + 1", &[4, 2, 4, 7, 5, 7][..]),
        ("take(x, i % 2)", &[1, 2, 3, 1, 2, 3, 4, 5, 6]),
        ("take_along_axis(x, expand_dims(i[:2], 1) - 2)", &[1, 5]),
        ("elements_at(x, i * i)", &[5, 1, 2]),
        ("x[:, i] + 1", &[4, 2, 4, 7, 5, 7]),
        ("x[i % 2]", &[1, 2, 3, 1, 2, 3, 4, 5, 6]),
        ("x[i % 2, i]", &[3, 1, 6]),
        ("reshape(x, [1, 1, 2, 3])[..., i % 2, :2]", &[1, 2, 1, 2, 4, 5]),
        ("x[:, x[0, i] - 1, ...,]", &[3, 1, 3, 6, 4, 6]),
        ("reshape(x, [1, 1, 2, 3])[..., -1, i]", &[6, 4, 6]),
        ("reshape(x, [1, 2, 3])[0 * i, 1, i]", &[6, 4, 6]),
    ] {
        let built = Program::parse(text)?.build(&bound)?.remove(0).1;
        each(&built, wanted, text)?;
        let x = Array::input("x", DType::Int32, &[2.into(), 3.into()])?;
        let i = Array::input("i", DType::Int64, &[3.into()])?;
        let lazy = Program::parse(text)?.build(&[("x", x.clone()), ("i", i.clone())])?.remove(0).1;
        let printed = print(&[("y", &lazy)])?;
        let read = Program::parse(&printed)?.kernel(&options)?;
        assert_eq!(read.id(), Kernel::named(&[("y", &lazy)], &[&x, &i], &options)?.id(), "{printed}");
    }
    let failing = Program::parse("elements_at(x, i)")?.build(&bound)?.remove(0).1;
    assert_eq!(failing.eval().unwrap_err().kind(), ErrorKind::Index);
    assert!(Program::parse("elements_at(x, astype(i, int32))")?.build(&bound).is_err());
    for (text, kind) in [
        ("reshape(x, [1, 2, 3])[0, :, i]", ErrorKind::Shape),
        ("reshape(x, [1, 2, 3])[i, ..., i]", ErrorKind::Shape),
        ("x[i, :, :]", ErrorKind::Shape),
        ("x[i, i, i]", ErrorKind::Shape),
        ("x[i > 1]", ErrorKind::DType),
    ] {
        assert_eq!(Program::parse(text)?.build(&bound).expect_err(text).kind(), kind, "{text}");
    }
    let x = Array::input("x", DType::Float32, &["n".into()])?;
    let i = Array::input("i", DType::Int32, &["m".into()])?;
    let y = x.take(&i, 0)?;
    let text = print(&[("y", &y)])?;
    let read = Program::parse(&text)?.kernel(&options)?;
    assert_eq!(read.id(), Kernel::named(&[("y", &y)], &[&x, &i], &options)?.id(), "{text}");
    Ok(())
}

/// More gathers than there are registers, all of whose elements are live at once.
#[test]
fn many_elements_at_once() -> Result<()> {
    let (n, extent) = (1003, 97);
    let index = numbers(n, 11).iter().map(|i| i % extent as i64).collect::<Vec<_>>();
    let i = Array::from_slice(&index);
    let tables: Vec<Vec<f64>> =
        (0..5).map(|k| numbers(extent, 20 + k).iter().map(|&x| x as f64 * 0.25).collect()).collect();
    let at = |k: usize, i: i64| tables[k % 5][((i + k as i64) % extent as i64) as usize];
    let terms: Vec<Array<'_>> = (0..60)
        .map(|k| Array::from_slice(&tables[k % 5]).take(&(&i + k as i64).remainder(extent as i64), 0))
        .collect::<Result<_>>()?;
    let mut total = Array::scalar(0.0);
    for k in 0..30 {
        total += &terms[k] * &terms[59 - k];
    }
    let wanted: Vec<f64> =
        index.iter().map(|&i| (0..30).fold(0.0, |sum, k| sum + at(k, i) * at(59 - k, i))).collect();
    each(&total, &wanted, "sixty gathers")?;
    let narrow: Vec<f32> = wanted.iter().map(|&x| x as f32).collect();
    each(&total.astype(DType::Float32), &narrow, "sixty gathers")?;
    let singles: Vec<Vec<f32>> =
        tables.iter().map(|table| table.iter().map(|&x| x as f32).collect()).collect();
    let terms: Vec<Array<'_>> = (0..40)
        .map(|k| Array::from_slice(&singles[k % 5]).take(&(&i + k as i64).remainder(extent as i64), 0))
        .collect::<Result<_>>()?;
    let most = (0..20).fold(Array::scalar(-1.0), |most, k| most.maximum(terms[k].minimum(&terms[39 - k])));
    let wanted: Vec<f32> = index
        .iter()
        .map(|&i| (0..20).fold(-1.0, |most: f64, k| most.max(at(k, i).min(at(39 - k, i)))) as f32)
        .collect();
    each(&most, &wanted, "forty gathers of float32")
}

/// Errors name the function that was called, not a step within it.
#[test]
fn indices_that_do_not_broadcast_are_named() -> Result<()> {
    let x = Array::from_slice(&[0.0; 12]).reshape(&[3, 4])?;
    let row = |n: usize| Array::from_vec(vec![0_i64; n]);
    let of = |made: Result<Array<'_>>| {
        let error = made.expect_err("shapes that do not broadcast");
        assert_eq!(error.kind(), ErrorKind::Shape);
        error.message().to_owned()
    };
    let aligned = row(4).reshape(&[2, 2])?;
    let wanted = "take_along_axis: cannot broadcast int64[3,1] with int64[2,2] (axis -2: 3 and 2)";
    assert_eq!(of(x.take_along_axis(&aligned, 1)), wanted);
    let wanted = "gather: cannot broadcast int64[2] with int64[3] (axis -1: 2 and 3)";
    assert_eq!(of(x.gather(&[row(2), row(3)], 0)), wanted);
    Ok(())
}
