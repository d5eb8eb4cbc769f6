//! Stages that run row block by row block have the same bits as stages that run one after the other, for all executors, numbers
//! of threads, layouts and blocks. They also fail, are cancelled and report progress in the same way.
#![allow(unsafe_code, reason = "memory that is an input and an output is made from raw pointers")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use broadloom::prelude::*;
use broadloom::{
    Control, ErrorKind, Evaluation, In, IntDivision, Kernel, Options, Out, Over, Progress, Range,
};
use broadloom_mem::{Region, ViewMut};
use broadloom_testkit::Runner;

type Expressions = Vec<(&'static str, Array<'static>)>;

fn rows() -> Over {
    Over::axis(-1).keep_dims()
}

fn options(runner: Runner, threads: usize) -> Options {
    Options { threads: Some(threads), ..runner.options() }
}

/// Numbers of both signs, some of which are equal.
fn numbers(dtype: DType, shape: &[usize]) -> Result<Array<'static>> {
    let count = shape.iter().product::<usize>();
    let values = (0..count).map(|i| ((i * 7919 + i / 13) % 211) as f32 / 8.0 - 13.0).collect();
    Array::from_shape_vec(shape, values)?.astype(dtype).eval()
}

fn softmax(x: &Array<'static>) -> Result<Array<'static>> {
    let e = (x - x.max(rows())?).exp();
    Ok(&e / e.sum(rows())?)
}

/// Expressions of floats, with rows `x`, a column and a row.
fn of_floats(x: &Array<'static>, column: &Array<'static>, row: &Array<'static>) -> Result<Expressions> {
    let less = x - x.max(rows())?;
    let centred = x - x.mean(rows())?;
    let scaled = x * column + row;
    let norm = (x * x).sum(-1)?.sqrt().expand_dims(-1)?;
    let e = (&scaled - row).exp();
    Ok(vec![
        ("softmax", softmax(x)?),
        ("log-softmax", &less - less.exp().sum(rows())?.log()),
        ("layer norm", (&centred / (x.var(rows(), 0.0)? + 0.5).sqrt()) * row + column),
        ("standardised", &centred / x.std(rows(), 1.0)?),
        ("divided by the norm", x / &norm),
        ("softmax of a mixture", softmax(&scaled)?),
        ("running share", x.square().cumulative_sum(Some(-1), None, true)? / x.square().sum(rows())?),
        ("sums over two loops", &e / e.sum(rows())? + (&e * &e).sum(rows())?),
    ])
}

/// Expressions of any numbers.
fn of_numbers(x: &Array<'static>, _: &Array<'static>, row: &Array<'static>) -> Result<Expressions> {
    let most = x.max(rows())?;
    Ok(vec![
        ("largest", where_(x.equal(&most), x * row, x - &most)),
        ("place of the largest", x.argmax(rows())? + x.astype(DType::Int64)),
        ("sums", (&most - x).cumulative_sum(Some(-1), None, false)?),
        ("counts", (x.less(&most)).count_nonzero(rows())? * x.greater(row).astype(DType::Int64)),
    ])
}

/// Some rows of an array along its first axis.
fn part(x: &Array<'static>, from: usize, to: usize) -> Result<Array<'static>> {
    x.slice([Range::from(from as isize..to as isize)])
}

fn runs_in_blocks(x: &Array<'_>) -> Result<bool> {
    Ok(x.explain()?.contains("run row block by row block"))
}

/// Compares the results of blocks with the results of a few rows at a time, which are too few to run in blocks.
fn check(
    what: &str,
    [x, column, row]: [&Array<'static>; 3],
    expressions: impl Fn(&Array<'static>, &Array<'static>, &Array<'static>) -> Result<Expressions>,
) -> Result<()> {
    let mut wanted: Vec<Vec<u8>> = Vec::new();
    for from in (0..x.shape()[0]).step_by(2) {
        let to = x.shape()[0].min(from + 2);
        let few = expressions(&part(x, from, to)?, &part(column, from, to)?, row)?;
        wanted.resize_with(few.len(), Vec::new);
        for ((name, few), wanted) in few.iter().zip(&mut wanted) {
            assert!(!runs_in_blocks(few)?, "{what}, {name}");
            wanted.extend(few.to_bytes()?);
        }
    }
    for ((name, y), wanted) in expressions(x, column, row)?.iter().zip(&wanted) {
        assert!(runs_in_blocks(y)?, "{what}, {name}: {}", y.explain()?);
        let mut got = vec![0; wanted.len()];
        for runner in [Runner::INTERP, Runner::JIT] {
            for threads in [1, 2, 3, 7] {
                got.fill(0xA5);
                Evaluation::with(&options(runner, threads)).eval_into_bytes(y, &mut got)?;
                assert!(got == *wanted, "{what}, {name}, {runner:?}, {threads} threads");
            }
        }
    }
    Ok(())
}

#[test]
fn blocks_have_the_bits_of_rows() -> Result<()> {
    for dtype in [DType::Float32, DType::Float64, DType::Float16] {
        let (x, column) = (numbers(dtype, &[43, 6007])?, numbers(dtype, &[43, 1])?);
        check(dtype.name(), [&x, &column, &numbers(dtype, &[6007])?], of_floats)?;
    }
    for &dtype in DType::ALL.iter().filter(|dtype| **dtype != DType::Bool) {
        let (x, column) = (numbers(dtype, &[43, 8009])?, numbers(dtype, &[43, 1])?);
        check(dtype.name(), [&x, &column, &numbers(dtype, &[8009])?], of_numbers)?;
    }
    Ok(())
}

#[test]
fn whatever_the_layout_of_the_input() -> Result<()> {
    let dtype = DType::Float32;
    let (wide, row) = (numbers(dtype, &[86, 12_014])?, numbers(dtype, &[6007])?);
    let column = numbers(dtype, &[43, 1])?;
    let every_second =
        |x: &Array<'static>, steps: [isize; 2]| x.slice(steps.map(|step| Range::from(..).step(step)));
    for steps in [[2, 2], [-2, 2], [2, -2], [-2, -2]] {
        let x = every_second(&wide, steps)?;
        check(&format!("{steps:?}"), [&x, &column.flip(0)?, &row], of_floats)?;
    }
    // Rows of a transpose, whose elements are not contiguous. A block contains enough rows to read them efficiently.
    let turned = numbers(dtype, &[41, 5003])?.permute_dims(&[1, 0])?;
    let column = numbers(dtype, &[5003, 1])?;
    let soft = softmax(&turned)?;
    assert!(runs_in_blocks(&soft)?);
    let settled = softmax(&turned.eval()?)?;
    assert_eq!(soft.to_bytes()?, settled.to_bytes()?);
    assert_eq!((&soft * &column).to_bytes()?, (soft.eval()? * &column).to_bytes()?);
    // A single row that is broadcast, and generated numbers.
    let same = numbers(dtype, &[6007])?.broadcast_to(&[43, 6007])?;
    check("one row", [&same, &numbers(dtype, &[43, 1])?, &row], of_floats)?;
    let counted = Array::arange(0_i64, 43 * 6007, 1)?.reshape(&[43, 6007])?;
    let counted = (counted.remainder(1013)).astype(dtype);
    check("generated", [&counted, &numbers(dtype, &[43, 1])?, &row], of_floats)
}

#[test]
fn several_outer_axes_are_cut_where_blocks_are_small_enough() -> Result<()> {
    let x = numbers(DType::Float32, &[6, 25, 3001])?;
    let (column, row) = (numbers(DType::Float32, &[6, 1, 1])?, numbers(DType::Float32, &[3001])?);
    let text = softmax(&x)?.explain()?;
    assert!(text.contains("9 of 150 rows at a time"), "{text}");
    for steps in [[1, 1], [-1, 1], [1, -1], [-1, -1]] {
        let x = x.slice(steps.map(|step| Range::from(..).step(step)))?;
        let expressions = |x: &Array<'static>, column: &Array<'static>, row: &Array<'static>| {
            of_floats(x, column, row).map(|all| all.into_iter().take(5).collect::<Vec<_>>())
        };
        // The expected bits are computed from parts that are too small to run in blocks.
        let mut wanted = Vec::new();
        for i in 0..6 {
            for j in (0..25).step_by(5) {
                let few = |x: &Array<'static>, j: isize| {
                    x.slice([
                        Range::from(i..i + 1),
                        Range::from(j..if j == 0 && x.shape()[1] == 1 { 1 } else { j + 5 }),
                    ])
                };
                let few = expressions(&few(&x, j)?, &few(&column, 0)?, &row)?;
                wanted.resize_with(few.len(), Vec::new);
                for ((_, few), wanted) in few.iter().zip(&mut wanted) {
                    assert!(!runs_in_blocks(few)?);
                    wanted.extend(few.to_bytes()?);
                }
            }
        }
        for ((name, y), wanted) in expressions(&x, &column, &row)?.iter().zip(&wanted) {
            assert!(runs_in_blocks(y)?, "{name}");
            assert!(y.to_bytes()? == *wanted, "{name}, {steps:?}");
        }
    }
    Ok(())
}

/// A node that several results need is stored whole, and stages before and after the blocks run in their original order.
#[test]
fn several_results_and_stages_around_the_blocks() -> Result<()> {
    let (x, row) = (numbers(DType::Float32, &[43, 6007])?, numbers(DType::Float32, &[6007])?);
    // The row is reduced before the blocks, and the total after them. The sums of the rows are a result, and other stages read
    // them.
    let share = &row / row.abs().sum(())?;
    let e = (&x * &share).exp();
    let sums = e.sum(rows())?;
    let soft = &e / &sums;
    let total = (&soft * &x).sum(())? + e.max(())?;
    let columns = soft.sum(0)?;
    let results = [&soft, &sums, &total, &columns, &e];
    let kept = share.eval()?;
    let e = (&x * &kept).exp().eval()?;
    let sums = e.sum(rows())?.eval()?;
    let soft = (&e / &sums).eval()?;
    let total = (&soft * &x).sum(())?.eval()? + e.max(())?;
    let wanted = [soft.clone(), sums, total, soft.sum(0)?, e];
    let wanted = wanted.iter().map(Array::to_bytes).collect::<Result<Vec<_>>>()?;
    for runner in [Runner::INTERP, Runner::JIT, Runner::AUTO] {
        for threads in [1, 2, 3, 7] {
            let got = Evaluation::with(&options(runner, threads)).eval_many(&results)?;
            let got = got.iter().map(Array::to_bytes).collect::<Result<Vec<_>>>()?;
            assert!(got == wanted, "{runner:?}, {threads} threads");
        }
    }
    Ok(())
}

/// Numbers of each row, and reductions of all rows that read them; and the reductions of settled numbers, which no stage shares.
fn totals(x: &Array<'static>, row: &Array<'static>) -> Result<[Expressions; 2]> {
    let last = Over::axis(-1);
    let of_rows = (x * row).sum(last.clone())?;
    let made = |of_rows: &Array<'static>| -> Result<Expressions> {
        let column = of_rows.expand_dims(-1)?;
        let outer: Vec<isize> = (0..x.shape().len() as isize - 1).collect();
        let weighed = x * column.remainder(7);
        Ok(vec![
            ("sum of each column", weighed.sum(&outer[..])?),
            ("sum of all", weighed.sum(())?),
            ("product", (&weighed / 100 + 1).prod(&outer[..])?),
            ("maximum", weighed.max(&outer[..])?),
            // Along one axis; of several outer ones it is that of the first index of the others.
            (
                "place of the least",
                if outer.len() == 1 { weighed.argmin(0)? } else { weighed.min(&outer[..])? },
            ),
            ("whether all", weighed.less(90).all(&outer[..])?),
            ("sum of the rows", (of_rows * of_rows).sum(())?),
        ])
    };
    Ok([made(&of_rows)?, made(&of_rows.eval()?)?])
}

/// Reductions of all rows whose elements are computed block by block have the bits of reductions of settled rows, although the
/// blocks begin anywhere in the canonical order.
#[test]
fn totals_combine_the_rows_of_blocks() -> Result<()> {
    for (dtype, shape) in [
        (DType::Float32, &[20_011, 32][..]),
        (DType::Float64, &[9001, 33]),
        (DType::Float64, &[3, 5003, 17]),
        (DType::Int32, &[30_000, 19]),
    ] {
        let (x, row) = (numbers(dtype, shape)?, numbers(dtype, &shape[shape.len() - 1..])?);
        for x in [x.clone(), x.flip(0)?.flip(-1)?] {
            let [lazy, settled] = totals(&x, &row)?;
            for ((name, y), (_, wanted)) in lazy.iter().zip(&settled) {
                let text = y.explain()?;
                assert!(text.contains(" all rows, block after block"), "{name} of {dtype} {shape:?}: {text}");
                let wanted = wanted.to_bytes()?;
                for runner in [Runner::INTERP, Runner::JIT] {
                    for threads in [1, 2, 7] {
                        let got = Evaluation::with(&options(runner, threads)).eval(y)?.to_bytes()?;
                        assert!(got == wanted, "{name} of {dtype} {shape:?}, {runner:?}, {threads} threads");
                    }
                }
            }
            let all: Vec<&Array<'static>> = lazy.iter().map(|(_, y)| y).collect();
            let got = Evaluation::with(&options(Runner::AUTO, 3)).eval_many(&all)?;
            for ((name, wanted), got) in settled.iter().zip(&got) {
                assert!(got.to_bytes()? == wanted.to_bytes()?, "{name} of {dtype} {shape:?}, beside others");
            }
        }
    }
    Ok(())
}

/// A stage that reduces all rows, but reads other rows than those of a block, runs after the blocks.
#[test]
fn totals_read_the_rows_of_their_block() -> Result<()> {
    let (x, row) = (numbers(DType::Float64, &[9001, 33])?, numbers(DType::Float64, &[33])?);
    let of_rows = (&x * &row).sum(-1)?;
    let turned = |of_rows: &Array<'static>| (&x * of_rows.flip(0)?.expand_dims(-1)?).sum(0);
    let y = turned(&of_rows)?;
    assert!(!y.explain()?.contains("block after block"), "{}", y.explain()?);
    assert_eq!(y.to_bytes()?, turned(&of_rows.eval()?)?.to_bytes()?);
    Ok(())
}

/// A total has so few elements of each result in a block that its partial results would cost more than they save.
#[test]
fn short_totals_run_after_the_blocks() -> Result<()> {
    let (x, row) = (numbers(DType::Float32, &[1000, 1000])?, numbers(DType::Float32, &[1000])?);
    let of_rows = (&softmax(&x)? * &row).sum(-1)?;
    let text = of_rows.log().sum(())?.explain()?;
    assert!(text.contains("run row block by row block") && !text.contains("block after block"), "{text}");
    Ok(())
}

fn symbolic_softmax() -> Result<Kernel> {
    let x = Array::input("x", DType::Float32, &["n".into(), "m".into()])?;
    let e = (&x - x.max(rows())?).exp();
    let sums = e.sum(rows())?;
    Kernel::new(&[&(&e / &sums), &sums], &[&x], &Options::default())
}

#[test]
fn kernels_run_in_blocks_into_memory_of_any_layout() -> Result<()> {
    let (n, m) = (43_usize, 6007_usize);
    let data: Vec<f32> = numbers(DType::Float32, &[n, m])?.to_vec()?;
    let x = Array::from_shape_vec(&[n, m], data.clone())?;
    let e = (&x - x.max(rows())?.eval()?).exp().eval()?;
    let sums: Vec<f32> = e.sum(rows())?.to_vec()?;
    let soft: Vec<f32> = (&e / e.sum(rows())?.eval()?).to_vec()?;
    let kernel = symbolic_softmax()?;
    let call = kernel.bind(&[("n", n), ("m", m)])?;
    assert!(call.explanation(false)?.to_string().contains("run row block by row block"));
    let (mut first, mut second) = (vec![0.0_f32; n * m], vec![0.0_f32; n]);
    call.run(&[(&data[..]).into()], [(&mut first[..]).into(), (&mut second[..]).into()])?;
    assert!(first == soft && second == sums);
    // The columns of a matrix in memory, and every third element in reverse order.
    let (mut first, mut second) = (vec![0.0_f32; n * m], vec![0.0_f32; 3 * n]);
    let (shapes, across) = ([[n, m], [n, 1]], [1, n as isize]);
    let outputs = [
        Out::view(&mut first, 0, &shapes[0], &across),
        Out::view(&mut second, 3 * n - 1, &shapes[1], &[-3, 1]),
    ];
    call.run(&[(&data[..]).into()], outputs)?;
    assert!((0..n * m).all(|i| first[i / m + n * (i % m)] == soft[i]));
    assert!((0..n).all(|i| second[3 * n - 1 - 3 * i] == sums[i]));
    Ok(())
}

/// If memory is shared, a row that one block writes may be read later, even by another block. The outputs are therefore written
/// after all inputs have been read.
#[test]
fn outputs_over_inputs_are_written_when_all_is_read() -> Result<()> {
    let (n, m) = (43_usize, 6007_usize);
    let start: Vec<f32> = numbers(DType::Float32, &[2 * n, m])?.to_vec()?;
    let kernel = symbolic_softmax()?;
    let (mut soft, mut sums) = (vec![0.0_f32; n * m], vec![0.0_f32; n]);
    kernel.run(&[In::shaped(&start[..n * m], &[n, m])], [(&mut soft[..]).into(), (&mut sums[..]).into()])?;
    let call = kernel.bind(&[("n", n), ("m", m)])?;
    for shift in [0, 1, m, 20 * m + 5] {
        let mut memory = start.clone();
        let base = memory.as_mut_ptr();
        let mut second = vec![0.0_f32; n];
        // SAFETY: the region and the view are within `memory`, which is not used otherwise during the run.
        unsafe {
            let read = Region::from_raw(base.cast(), 4 * n * m);
            let strides = [4 * m as isize, 4];
            let write = ViewMut::from_raw(base.add(shift).cast(), 4, &[n, m], &strides).expect("a view");
            let (shape, strides) = ([n, m], [m as isize, 1]);
            let input = In::raw(DType::Float32, read, 0, &shape, &strides);
            call.run(&[input], [Out::raw(DType::Float32, write), (&mut second[..]).into()])?;
        }
        assert!(memory[shift..shift + n * m] == soft[..] && second == sums, "shifted by {shift}");
    }
    let mut state = Array::from_shape_vec(&[n, m], start[..n * m].to_vec())?;
    Evaluation::default().eval_into_array(&softmax(&state)?, &mut state)?;
    assert!(state.to_vec::<f32>()? == soft);
    Ok(())
}

#[test]
fn a_division_by_zero_is_that_of_the_first_stage() -> Result<()> {
    let x = numbers(DType::Int32, &[43, 6007])?;
    let divisors = |zero: Option<usize>, one: i32| {
        let values = (0..43).map(|i| if Some(i) == zero { 0 } else { one }).collect();
        Array::from_shape_vec(&[43, 1], values)
    };
    let y = |first: &Array<'static>, second: &Array<'static>| -> Result<Array<'static>> {
        let quotient = x.floor_divide(first);
        let most = quotient.max(rows())?;
        Ok((&x - &most).remainder(second) + (&x * 2).sum(rows())?.astype(DType::Int32))
    };
    let none = divisors(None, 3)?;
    for runner in [Runner::INTERP, Runner::JIT] {
        for threads in [1, 3] {
            let options = Options { int_division: IntDivision::Error, ..options(runner, threads) };
            let fails = |first: &Array<'static>, second: &Array<'static>| -> Result<String> {
                let y = y(first, second)?;
                assert!(y.explanation(&options, false)?.to_string().contains("run row block by row block"));
                let error = y.eval_with(&options).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ZeroDivision);
                Ok(error.message().to_owned())
            };
            // The zero divisor of the first stage is in the last row, and the zero divisor of a later stage is in the first
            // row. The first stage's error must be reported.
            assert!(fails(&divisors(Some(42), 3)?, &divisors(Some(0), 3)?)?.starts_with("floor_divide"));
            assert!(fails(&none, &divisors(Some(0), 3)?)?.starts_with("remainder"));
            let got = y(&none, &none)?.eval_with(&options)?;
            assert_eq!(got.to_bytes()?, y(&none, &none)?.to_bytes()?);
        }
    }
    Ok(())
}

#[test]
fn blocks_are_cancelled_and_report_what_is_done() -> Result<()> {
    let y = softmax(&numbers(DType::Float32, &[430, 6007])?)?;
    assert!(runs_in_blocks(&y)?);
    // Three stages: the maximum, the exponentials with their sum, and the quotient.
    let elements = 3 * 430 * 6007;
    for threads in [1, 2, 7] {
        let options = options(Runner::AUTO, threads);
        let seen: Mutex<Vec<Progress>> = Mutex::default();
        let note = |progress| seen.lock().expect("nobody panicked").push(progress);
        Evaluation::with(&options)
            .control(&Control { progress: Some(&note), ..Control::default() })
            .eval(&y)?;
        let seen = seen.into_inner().expect("nobody panicked");
        assert!(seen.iter().all(|p| p.total == elements) && seen.iter().any(|p| p.done == elements));
        assert!(seen.len() >= elements.div_ceil(1 << 17), "{} chunks", seen.len());
        let stop = AtomicBool::new(false);
        let half = |p: Progress| stop.store(2 * p.done >= p.total, Ordering::Relaxed);
        let control = Control { cancel: Some(&stop), progress: Some(&half), ..Control::default() };
        let error = Evaluation::with(&options).control(&control).eval(&y).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.message().contains(&format!("of {elements} elements")), "{error}");
    }
    Ok(())
}

#[test]
fn explain_says_what_runs_in_blocks_and_why_not() -> Result<()> {
    let says = |x: &Array<'_>, what: &str| -> Result<()> {
        let explanation = x.explanation(&Options::default(), false)?;
        let text = explanation.to_string();
        assert!(text.contains(&format!("note: kernels {what}")), "{what}: {text}");
        assert!(
            broadloom_html::page(&explanation, "y").contains(&format!("kernels {}", what.trim_end())),
            "{what}"
        );
        Ok(())
    };
    let x = numbers(DType::Float32, &[1000, 1000])?;
    says(
        &softmax(&x)?,
        "0, 1, 2 run row block by row block, 42 of 1 000 rows at a time: 3 temporaries stay in cache\n",
    )?;
    let apart = "run one after the other, not row block by row block: ";
    let narrow = x.reshape(&[10_000, 100])?;
    let residual = (&narrow * narrow.slice([Range::at(0)])?).sum(-1)? - 1;
    says(
        &(&narrow * residual.expand_dims(-1)?).sum(0)?,
        "0, 1 run row block by row block, 512 of 10 000 rows at a time: 1 temporary stays in cache; kernel 1 combines all rows, block \
         after block\n",
    )?;
    says(&(&x - x.mean(())?), &format!("{apart}they share no outer axes"))?;
    says(&softmax(&numbers(DType::Float32, &[10, 10])?)?, &format!("{apart}all of their operands take"))?;
    says(&softmax(&numbers(DType::Float32, &[2, 500_000])?)?, &format!("{apart}a row takes"))?;
    let turned = x.permute_dims(&[1, 0])?;
    says(&softmax(&turned)?, &format!("{apart}the rows of an operand lie across"))?;
    assert!(!(&x + 1).explain()?.contains("row block"));
    assert!(!x.sum(-1)?.explain()?.contains("row block"));
    Ok(())
}
