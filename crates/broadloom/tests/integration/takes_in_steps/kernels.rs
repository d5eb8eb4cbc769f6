//! Steps that take elements in kernels, in texts and in chunks.

use broadloom::prelude::*;
use broadloom::text::{Program, print};
use broadloom::{Along, Executor, In, Kernel, Out, Passes, reduce, scan};

use super::{at, stepped};
use crate::combine::combined;
use crate::on_executors::each;
use crate::passes::{BuildFrom, bits, chunked_within, input, limited};
use crate::takes_in_loops::numbers;

/// Extents that are not known when the scan is built, texts, and ranges of rows, which would be given a part of the table.
#[test]
fn kernels_and_texts() -> Result<()> {
    let options = Options::default();
    let table = Array::input("table", DType::Int64, &["k".into()])?;
    let x = Array::input("x", DType::Int64, &["n".into(), "m".into()])?;
    let build = |axis: isize| -> Result<Array<'static>> {
        let step = |[s]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
            let next = at(&table, &(s + v));
            ([next.clone()], [next])
        };
        let (_, [all]) = scan(step, [Array::scalar(0)], [x.clone()], axis)?;
        Ok(all)
    };
    let all = build(0)?;
    let kernel = Kernel::named(&[("y", &all)], &[&table, &x], &options)?;
    for (k, shape) in [(4_i64, [7, 5]), (60, [200, 90])] {
        let next: Vec<i64> = (0..k).map(|i| i * 3 % (k / 2)).collect();
        let values: Vec<i64> = numbers(shape[0] * shape[1], 16).iter().map(|v| v % (k / 2)).collect();
        let mut out = vec![0_i64; values.len()];
        let run = |of: &[i64], out: &mut [i64]| {
            kernel.run(&[(&next[..]).into(), In::shaped(of, &shape)], [Out::shaped(out, &shape)])
        };
        run(&values, &mut out)?;
        let (_, wanted) = stepped((&values, &shape), (0, false), 0, |s, v| {
            let next = next[(s + v) as usize];
            (next, next)
        });
        assert_eq!(out, wanted);
        let beyond = vec![k; values.len()];
        assert_eq!(run(&beyond, &mut out).unwrap_err().kind(), ErrorKind::Index);
    }
    let printed = print(&[("y", &all)])?;
    let named = Kernel::named(&[("y", &all)], &[&x, &table], &options)?;
    assert_eq!(Program::parse(&printed)?.kernel(&options)?.id(), named.id(), "{printed}");

    let call = Kernel::new(&[&build(1)?], &[&table, &x], &options)?.bind(&[("k", 3), ("n", 4), ("m", 3)])?;
    let (next, values, mut out) = ([0_i64, 1, 2], [0_i64; 12], [0_i64; 6]);
    let inputs = [(&next[..]).into(), In::shaped(&values, &[4, 3])];
    let error = call.run_range(2..4, &inputs, [Out::shaped(&mut out, &[2, 3])]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);

    let text = "last, all = scan (s = 0; v in x, axis=0) { s = t[(s + v) % 4]; all = s * 10 }; \
                most = reduce (a = -1; b in x, axis=0) { a = t[(a * 2 + b) % 4] }; return last, all, most";
    let arrays =
        [("t", Array::from_vec(vec![2_i64, 3, 1, 0])), ("x", Array::from_vec(vec![1_i64, 1, 2, 0, 3]))];
    let program = Program::parse(text)?;
    let built = program.build(&arrays)?;
    each(&built[0].1, &[2_i64], text)?;
    each(&built[1].1, &[30_i64, 20, 20, 10, 20], text)?;
    let most = combined(&[1_i64, 1, 2, 0, 3], |a, b| [2, 3, 1, 0][((a * 2 + b) % 4) as usize]);
    each(&built[2].1, &[most.expect("elements")], text)
}

/// A walk through a table of 500 elements, of which `x` tells the steps.
fn walked(x: &Array<'static>, table: &Array<'static>, along: Along) -> Result<[Array<'static>; 2]> {
    let step = |[s]: &[Array<'static>; 1], [v]: &[Array<'static>; 1]| {
        let next = at(table, &(s + v.astype(DType::Int64)).remainder(500));
        ([next.clone()], [(next * 2).astype(DType::Float64) + v])
    };
    let ([last], [all]) = scan(step, [Array::scalar(3)], [x.clone()], along)?;
    Ok([last.astype(DType::Float64), all])
}

/// The table, which is computed, and as a whole.
fn computed_table() -> Result<Array<'static>> {
    Ok((Array::arange(0_i64, 500, 1)? * 37 + 11).remainder(500))
}

const IN_CHUNKS: &[BuildFrom] = &[
    |x| Ok(walked(x, &computed_table()?, Along::axis(0))?[1].clone()),
    |x| Ok(walked(x, &computed_table()?, Along::axis(0).reverse())?[1].clone()),
    |x| Ok(walked(x, &computed_table()?, Along::axis(0))?[0].clone()),
    |x| Ok(walked(x, &computed_table()?, Along::axis(-1))?[1].clone()),
    // The table is a part of the file, and is added to a result of a reduction of it.
    |x| {
        let part = x.reshape(&[-1])?.slice(0..500)?.astype(DType::Int64);
        let table = (part + x.max(())?.astype(DType::Int64)).remainder(500);
        Ok(walked(x, &table, Along::axis(0))?[1].clone())
    },
    |x| {
        let (table, x) = (computed_table()?, x.astype(DType::Int64));
        let [y] = reduce(|[a], [b]| [at(&table, &(a * 3 + b).remainder(500))], [Array::scalar(0)], [x], -1)?;
        Ok(y.astype(DType::Float64))
    },
];

/// Chunks along the axis of the scan and along others need the whole table.
#[test]
fn chunks() -> Result<()> {
    for shape in [&[4000][..], &[1001, 3], &[40, 101]] {
        let values: Vec<f64> = numbers(shape.iter().product(), 17).iter().map(|v| (v % 500) as f64).collect();
        let x = Array::from_shape_vec(shape, values)?;
        for (i, build) in IN_CHUNKS.iter().enumerate().filter(|(i, _)| shape.len() > 1 || *i != 5) {
            let whole = bits(&build(&x)?.eval()?);
            let least = {
                let placeholder = input(&x);
                Passes::least_bytes(&[&build(&placeholder)?], &[&placeholder], &limited(8))?
            };
            for executor in [Executor::Interp, Executor::Jit] {
                for max_bytes in [least, 2 * least, 20_000] {
                    let options = Options { executor, ..limited(max_bytes) };
                    let (got, _) = chunked_within(&x, *build, &options, max_bytes)
                        .unwrap_or_else(|e| panic!("{i} of {shape:?} in {max_bytes} bytes: {e}"));
                    assert!(got.to_vec::<u64>()? == whole, "{i} of {shape:?} in {max_bytes}: {executor:?}");
                }
            }
        }
    }
    Ok(())
}
