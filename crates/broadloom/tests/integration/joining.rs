//! Joined, shifted, repeated and padded arrays: results, errors, and the stages that read or feed them.

use broadloom::prelude::*;
use broadloom::text::{Program, print};
use broadloom::{Chunks, Kernel, PadMode, Range, concat, stack};

use crate::on_executors::{each, executors};

fn numbers(n: usize, seed: i64) -> Vec<i64> {
    (0..n as i64).map(|i| (i * 7919 + seed * 104_729) % 1009).collect()
}

/// Parts of every length, computed and in memory, used in further arithmetic and in a sum.
#[test]
fn parts_of_every_length() -> Result<()> {
    for (a, b) in [(0, 0), (0, 3), (1, 0), (1, 1), (7, 33), (100, 1), (1000, 70_000)] {
        let (x, y) = (numbers(a, 1), numbers(b, 2));
        let joined: Vec<i64> = x.iter().copied().chain(y.iter().map(|y| y * 3)).collect();
        let all = concat(&[Array::from_vec(x.clone()), Array::from_vec(y.clone()) * 3], 0)?;
        each(&all, &joined, &format!("{a}, {b}"))?;
        let doubled: Vec<i64> = joined.iter().enumerate().map(|(i, x)| x * 2 - i as i64).collect();
        let numbers = Array::from_vec((0..(a + b) as i64).collect::<Vec<i64>>());
        each(&(&all * 2 - &numbers), &doubled, &format!("{a}, {b}, then doubled"))?;
        each(&all.sum(())?, &[joined.iter().sum::<i64>()], &format!("{a}, {b}, summed"))?;
    }
    Ok(())
}

/// The padded array by the definition of each mode: the index in the array for each index of the result.
fn padded(n: i64, before: i64, after: i64, mode: PadMode) -> Vec<Option<i64>> {
    let index = |mut i: i64| {
        while !(0..n).contains(&i) {
            i = match mode {
                PadMode::Constant => return None,
                PadMode::Edge => i.clamp(0, n - 1),
                PadMode::Wrap => i.rem_euclid(n),
                PadMode::Reflect if n == 1 => 0,
                PadMode::Reflect if i < 0 => -i,
                PadMode::Reflect => 2 * (n - 1) - i,
                PadMode::Symmetric if i < 0 => -1 - i,
                PadMode::Symmetric => 2 * n - 1 - i,
            };
        }
        Some(i)
    };
    (-before..n + after).map(index).collect()
}

#[test]
fn pads_of_every_mode_and_width() -> Result<()> {
    for mode in PadMode::ALL {
        for n in [1, 2, 3, 5, 40] {
            for (before, after) in [(0, 0), (0, 1), (2, 0), (1, 2), (5, 4), (13, 60), (400, 3)] {
                let x: Vec<i64> = numbers(n as usize, n);
                let of = |i: &Option<i64>| i.map_or(0, |i| x[i as usize]);
                let wanted: Vec<i64> = padded(n, before, after, mode).iter().map(of).collect();
                let widths = [(before as usize, after as usize)];
                let y = Array::from_vec(x.clone()).pad(&widths, mode)?;
                each(&y, &wanted, &format!("{mode} of {n}, {before} and {after}"))?;
            }
        }
    }
    Ok(())
}

/// Along two axes, with the corners, and the nine neighbours of each element added in the order of NumPy's slices.
#[test]
fn neighbours_of_a_padded_matrix() -> Result<()> {
    let (rows, columns) = (5_i64, 7_i64);
    let x: Vec<i64> = numbers((rows * columns) as usize, 3);
    let array = Array::from_shape_vec(&[rows as usize, columns as usize], x.clone())?;
    for mode in PadMode::ALL {
        let (of_rows, of_columns) = (padded(rows, 1, 1, mode), padded(columns, 1, 1, mode));
        let at = |i: usize, j: usize| match (of_rows[i], of_columns[j]) {
            (Some(i), Some(j)) => x[(i * columns + j) as usize],
            _ => 0,
        };
        let big = array.pad(&[(1, 1), (1, 1)], mode)?;
        let mut sum: Option<Array<'_>> = None;
        for i in 0..3_isize {
            for j in 0..3_isize {
                let part =
                    big.slice((i..i + rows as isize, j..j + columns as isize))? * (1 + i * 3 + j) as i64;
                sum = Some(match sum {
                    None => part,
                    Some(sum) => sum + part,
                });
            }
        }
        let sum = sum.expect("nine parts");
        let mut wanted = Vec::new();
        for i in 0..rows as usize {
            for j in 0..columns as usize {
                let all = (0..9).map(|k| at(i + k / 3, j + k % 3) * (1 + k as i64));
                wanted.push(all.sum::<i64>());
            }
        }
        each(&sum, &wanted, &format!("{mode}"))?;
        each(&sum.sum(0)?, &column_sums(&wanted, columns as usize), &format!("{mode}, summed"))?;
    }
    Ok(())
}

fn column_sums(x: &[i64], columns: usize) -> Vec<i64> {
    (0..columns).map(|j| x.iter().skip(j).step_by(columns).sum()).collect()
}

#[test]
fn shifts_tiles_and_differences() -> Result<()> {
    let x = Array::from([[1, 2, 3], [4, 5, 6]]);
    each(&x.roll(4, 1)?, &[3, 1, 2, 6, 4, 5], "roll")?;
    each(&x.roll(-1, 0)?, &[4, 5, 6, 1, 2, 3], "roll")?;
    each(&(x.roll(1, 1)? + &x), &[4, 3, 5, 10, 9, 11], "roll and add")?;
    each(&x.tile(&[2, 1])?, &[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6], "tile")?;
    each(&x.tile(&[2])?, &[1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6], "tile of the last axis")?;
    each(&x.tile(&[2, 1, 1])?, &[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6], "tile of a new axis")?;
    each(&x.tile(&[0])?, &[0_i32; 0], "tile of nothing")?;
    each(&x.repeat(2, 0)?, &[1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6], "repeat")?;
    each(&x.repeat(0, 1)?, &[0_i32; 0], "repeat of nothing")?;
    each(&x.diff(1)?, &[1, 1, 1, 1], "diff")?;
    each(&x.slice((.., 0..0))?.diff(1)?, &[0_i32; 0], "diff of nothing")?;
    each(&stack(&[x.clone(), &x * 10], 1)?, &[1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60], "stack")?;
    assert_eq!(stack(&[x.clone(), x.clone()], -1)?.shape(), [2, 3, 2]);
    assert_eq!(stack(&[x.clone(), x], 0)?.shape(), [2, 2, 3]);
    Ok(())
}

/// Windows of arrays in memory and of expressions, of every length, reversed, stepped, reduced, and in chunks.
#[test]
fn windows_are_views() -> Result<()> {
    let x = numbers(40, 1);
    let (array, n) = (Array::from_vec(x.clone()), x.len());
    for length in [0, 1, 3, 40] {
        let windows = array.sliding_window(length, 0)?;
        assert_eq!(windows.shape(), [n + 1 - length, length]);
        let wanted: Vec<i64> = (0..=n - length).flat_map(|i| x[i..i + length].to_vec()).collect();
        each(&windows, &wanted, &format!("{length}"))?;
        let negated: Vec<i64> = wanted.iter().map(|x| -x).collect();
        each(&(-&array).sliding_window(length, -1)?, &negated, &format!("{length}, negated"))?;
        let sums: Vec<i64> = (0..=n - length).map(|i| x[i..i + length].iter().sum()).collect();
        each(&windows.sum(1)?, &sums, &format!("{length}, summed"))?;
    }
    assert_eq!(array.sliding_window(41, 0).unwrap_err().kind(), ErrorKind::Shape);
    let back = array.slice(Range::from(..).step(-3))?.sliding_window(2, 0)?.t();
    let every: Vec<i64> = x.iter().rev().step_by(3).copied().collect();
    let wanted: Vec<i64> = every[..every.len() - 1].iter().chain(&every[1..]).copied().collect();
    each(&back, &wanted, "turned")?;
    // Far more elements than there is memory for, of which few are read.
    let many = (Array::arange(0_i64, 200_000, 1)? * 2).sliding_window(100_000, 0)?;
    each(&many.slice((70_000..70_002, -2..))?, &[339_996_i64, 339_998, 339_998, 340_000], "few of many")?;
    let options = Options { max_bytes: 4_000, ..Options::default() };
    let stepped =
        (&array * 3).sliding_window(5, 0)?.slice((Range::from(..).step(7), Range::from(..).step(2)))?;
    let mut got = Vec::new();
    for chunk in Chunks::new(&[&stepped], &[], &options)?.iter() {
        got.extend(chunk?.results(&[])?[0].to_vec::<i64>()?);
    }
    let wanted: Vec<i64> = (0..36).step_by(7).flat_map(|i| [x[i] * 3, x[i + 2] * 3, x[i + 4] * 3]).collect();
    assert_eq!(got, wanted);
    Ok(())
}

/// NaNs keep their bits, and zeros their sign, whether they are moved or padded around.
#[test]
fn moved_elements_keep_their_bits() -> Result<()> {
    let bits = [0x7ff8_0000_0000_0001_u64, 0xfff0_dead_0000_0001, (-0.0_f64).to_bits(), 0];
    let x = Array::from_vec(bits.map(f64::from_bits).to_vec());
    let all = concat(&[x.clone(), x.roll(1, 0)?, x.pad(&[(1, 0)], PadMode::Edge)?], 0)?;
    let [a, b, c, d] = bits;
    for options in executors() {
        let got: Vec<u64> = all.eval_with(&options)?.to_vec::<f64>()?.into_iter().map(f64::to_bits).collect();
        assert_eq!(got, [a, b, c, d, d, a, b, c, a, a, b, c, d], "{options:?}");
    }
    Ok(())
}

/// Results in given memory, several at once, and read in another order.
#[test]
fn results_in_any_memory() -> Result<()> {
    let x = Array::from([[1_i64, 2], [3, 4]]);
    let joined = concat(&[x.clone(), &x * 10], 1)?;
    let wanted = [1_i64, 2, 10, 20, 3, 4, 30, 40];
    let mut flat = [0_i64; 8];
    joined.eval_into(&mut flat)?;
    assert_eq!(flat, wanted);
    let [a, b] = <[Array<'_>; 2]>::try_from(eval_many(&[&joined, &(&joined + 1)])?).expect("two results");
    assert_eq!(a.to_vec::<i64>()?, wanted);
    assert_eq!(b.to_vec::<i64>()?, wanted.map(|x| x + 1));
    let turned = joined.t() * 1;
    each(&turned, &[1_i64, 3, 2, 4, 10, 30, 20, 40], "turned")?;
    let total = joined.sum(1)? + joined.t().sum(0)?;
    each(&total, &[66_i64, 154], "read twice")?;
    Ok(())
}

#[test]
fn chunks_read_parts() -> Result<()> {
    let (a, b) = (numbers(1000, 1), numbers(777, 2));
    let (x, y) = (Array::from_vec(a.clone()), Array::from_vec(b.clone()));
    let all = concat(&[x.clone(), &y * 2, x.roll(300, 0)?], 0)? + 1;
    let mut wanted: Vec<i64> = a.iter().map(|x| x + 1).chain(b.iter().map(|y| y * 2 + 1)).collect();
    wanted.extend(a[700..].iter().chain(&a[..700]).map(|x| x + 1));
    let every = |array: &Array<'_>, step: isize| -> Result<Vec<i64>> {
        let part = array.slice(Range::from(..).step(step))?;
        let options = Options { max_bytes: 3_000, ..Options::default() };
        let (mut got, mut count) = (Vec::new(), 0);
        for chunk in Chunks::new(&[&part], &[], &options)?.iter() {
            got.extend(chunk?.results(&[])?[0].to_vec::<i64>()?);
            count += 1;
        }
        assert!(count > 1, "{count}");
        Ok(got)
    };
    assert_eq!(every(&all, 1)?, wanted);
    assert_eq!(every(&all, 3)?, wanted.iter().copied().step_by(3).collect::<Vec<i64>>());
    assert_eq!(every(&all, -7)?, wanted.iter().rev().copied().step_by(7).collect::<Vec<i64>>());
    Ok(())
}

#[test]
fn errors_name_what_differs() {
    let (x, y) = (Array::from([[1, 2], [3, 4]]), Array::from([[1, 2, 3]]));
    let message = |made: Result<Array<'_>>| made.map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        message(concat(&[x.clone(), y.clone()], 0)),
        "concat: [2,2] and [1,3] differ along another axis than 0"
    );
    assert_eq!(message(stack(&[x.clone(), y], 0)), "stack: [2,2] and [1,3] are different shapes");
    assert_eq!(concat(&[], 0).unwrap_err().kind(), ErrorKind::Arity);
    assert_eq!(concat(std::slice::from_ref(&x), 2).unwrap_err().kind(), ErrorKind::Shape);
    let floats = x.astype(DType::Float32);
    assert_eq!(concat(&[x.clone(), floats], 0).unwrap_err().kind(), ErrorKind::DType);
    assert_eq!(x.pad(&[(1, 1)], PadMode::Edge).unwrap_err().kind(), ErrorKind::Shape);
    let most = usize::MAX / 2;
    assert_eq!(x.pad(&[(most, most), (most, 5)], PadMode::Edge).unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(x.tile(&[most, most]).unwrap_err().kind(), ErrorKind::Limit);
    let empty = x.slice((0..0, ..)).expect("a slice");
    assert_eq!(empty.pad(&[(1, 0), (0, 0)], PadMode::Wrap).unwrap_err().kind(), ErrorKind::Shape);
    assert!(empty.pad(&[(1, 0), (0, 0)], PadMode::Constant).is_ok());
    assert_eq!(x.pad_with(&[(1, 1), (0, 0)], 0.5).unwrap_err().kind(), ErrorKind::Literal);
}

/// Texts join arrays, and the text of a kernel is read back as the same kernel.
#[test]
fn texts_and_kernels() -> Result<()> {
    let bound = [("x", Array::from([1_i64, 2])), ("y", Array::from([3_i64]))];
    let options = Options::default();
    for (text, wanted) in [
        ("concat(x, y)", &[1_i64, 2, 3][..]),
        ("concat(y, x * 2, y, axis=-1) + 1", &[4, 3, 5, 4]),
        ("concat(x)", &[1, 2]),
    ] {
        let bound: Vec<(&str, Array<'_>)> =
            bound.iter().filter(|(name, _)| text.replace("axis", "").contains(name)).cloned().collect();
        each(&Program::parse(text)?.build(&bound)?.remove(0).1, wanted, text)?;
        let inputs =
            [("x", 2), ("y", 1)].map(|(name, n)| (name, Array::input(name, DType::Int64, &[n.into()])));
        // In the order in which the text uses them.
        let mut used: Vec<(&str, Array<'_>)> = Vec::new();
        for (name, input) in inputs {
            if text.replace("axis", "").contains(name) {
                used.push((name, input?));
            }
        }
        used.sort_by_key(|(name, _)| text.find(&format!("({name}")).is_none());
        let lazy = Program::parse(text)?.build(&used)?.remove(0).1;
        let printed = print(&[("z", &lazy)])?;
        let inputs: Vec<&Array<'_>> = used.iter().map(|(_, input)| input).collect();
        let read = Program::parse(&printed)?.kernel(&options)?;
        assert_eq!(read.id(), Kernel::named(&[("z", &lazy)], &inputs, &options)?.id(), "{printed}");
    }
    let bound = bound.each_ref().map(|(name, array)| (*name, array.clone()));
    for text in ["concat()", "concat(axis=0)", "concat(x, y, axis=1)", "concat(x, y, axis=y)", "concat(x, 2)"]
    {
        let made = Program::parse(text).map(|program| program.build(&bound).map(|_| ()));
        assert!(!matches!(made, Ok(Ok(()))), "{text}");
    }
    let open = Array::input("a", DType::Int64, &["n".into()])?;
    assert_eq!(concat(&[open.clone(), open], 0).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

/// An array that is joined with itself again and again has as many nodes as joins.
#[test]
fn doubled_arrays_take_no_time_to_build() -> Result<()> {
    let mut nothing = Array::from_vec(Vec::<f32>::new());
    let mut x = Array::from([7_i32]);
    for _ in 0..40 {
        nothing = concat(&[nothing.clone(), nothing], 0)?;
    }
    each(&nothing, &[0.0_f32; 0], "nothing, doubled")?;
    for _ in 0..16 {
        x = concat(&[x.clone(), x], 0)?;
    }
    each(&x, &[7_i32; 1 << 16], "one element, doubled")
}

/// A part whose kernel is too long is computed by several, and then stored where it goes.
#[test]
fn a_part_of_many_operations() -> Result<()> {
    let x = Array::from([0.5, 1.5, 2.5]);
    let mut long = x.clone();
    for i in 0..3000 {
        long = (long * (1.0 + f64::from(i % 7) * 1e-6)).exp().log1p().tan().atan();
    }
    let options = Options { max_depth: 100_000, max_nodes: 100_000, ..Options::default() };
    let alone = long.eval_with(&options)?.to_vec::<f64>()?;
    let joined = concat(&[x.clone(), long, &x * 2.0], 0)?;
    let wanted = [&[0.5, 1.5, 2.5], &alone[..], &[1.0, 3.0, 5.0]].concat();
    assert_eq!(joined.eval_with(&options)?.to_vec::<f64>()?, wanted);
    let plan = joined.explain()?;
    assert!(plan.contains("kernel 3"), "the long part is not cut");
    Ok(())
}

/// Row by row, a part is neither computed nor read before it is complete.
#[test]
fn parts_beside_stages_that_run_row_block_by_row_block() -> Result<()> {
    let (rows, columns) = (3000, 200);
    let x: Vec<f64> = (0..rows * columns).map(|i| (i % 977) as f64 / 100.0).collect();
    let x = Array::from_shape_vec(&[rows, columns], x)?;
    let softmax = |x: &Array<'static>| -> Result<Array<'static>> {
        let powers = (x - x.max(Over::axis(1).keep_dims())?).exp();
        Ok(&powers / powers.sum(Over::axis(1).keep_dims())?)
    };
    let first = softmax(&x)?;
    let (known, doubled) = (first.eval()?, (&x * 2.0).eval()?);
    for (lazy, parts) in
        [([first.clone(), &x * 2.0], [&known, &doubled]), ([&x * 2.0, first], [&doubled, &known])]
    {
        let joined = concat(&lazy, 1)?;
        let wanted = concat(&parts.map(Clone::clone), 1)?.eval()?;
        let of_both = softmax(&joined)?;
        let wanted_of_both = softmax(&wanted)?.eval()?;
        for options in executors() {
            assert_eq!(joined.eval_with(&options)?.to_vec::<f64>()?, wanted.to_vec::<f64>()?, "{options:?}");
            let made = of_both.eval_with(&options)?.to_vec::<f64>()?;
            assert_eq!(made, wanted_of_both.to_vec::<f64>()?, "{options:?}");
        }
    }
    Ok(())
}
