//! Kernels that reduce along dynamic dimensions. Their results equal those of evaluating the same arrays; the dims of an
//! output lack the symbols of reduced dimensions; and a kernel without a result for some extents is rejected when it is bound
//! to them.

use std::slice::from_mut;

use broadloom::prelude::*;
use broadloom::{Control, Dim, ErrorKind, In, Kernel, Options, Out, Over, Region};
use broadloom_testkit::Runner;

/// An input of dims such as `n 3`.
fn input(name: &str, dtype: DType, dims: &str) -> Array<'static> {
    let dims: Vec<Dim> = dims.split_whitespace().map(Dim::from).collect();
    Array::input(name, dtype, &dims).expect("an input")
}

/// Numbers of both signs, some of them equal. If there are many, one of them is NaN.
fn numbers(n: usize) -> Vec<f64> {
    let number = |i: usize| if i == 1234 { f64::NAN } else { ((i * 7919) % 401) as f64 * 0.37 - 50.0 };
    (0..n).map(number).collect()
}

/// Every reduction, with its name.
fn reductions<'a>(x: &Array<'a>, over: &Over) -> Result<Vec<(&'static str, Array<'a>)>> {
    let o = || over.clone();
    Ok(vec![
        ("sum", x.sum(o())?),
        ("sum as float32", x.sum(o().dtype(DType::Float32))?),
        ("prod", (x * 0.02).prod(o())?),
        ("max", x.max(o())?),
        ("min", x.min(o())?),
        ("any", x.greater(49).any(o())?),
        ("all", x.greater(-50.5).all(o())?),
        ("mean", x.mean(o())?),
        ("var", x.var(o(), 0.0)?),
        ("std", x.std(o(), 1.0)?),
        ("argmax", x.argmax(o())?),
        ("argmin", x.argmin(o())?),
        ("count_nonzero", x.count_nonzero(o())?),
        ("vector_norm", x.vector_norm(o(), 2.0)?),
        ("vector_norm 3", x.vector_norm(o(), 3.0)?),
        ("nansum", x.nansum(o())?),
        ("nanmean", x.nanmean(o())?),
        ("nanstd", x.nanstd(o(), 0.0)?),
        ("nanmax", x.nanmax(o())?),
        ("centred", (x - x.mean(o().keep_dims())?).abs().sum(o())?),
    ])
}

/// The bits of a result, whatever its dtype.
fn bits(x: &Array<'_>) -> Result<Vec<u64>> {
    Ok(match x.dtype() {
        DType::Float64 => x.to_vec::<f64>()?.into_iter().map(f64::to_bits).collect(),
        DType::Float32 => x.to_vec::<f32>()?.into_iter().map(|x| x.to_bits().into()).collect(),
        DType::Int64 => x.to_vec::<i64>()?.into_iter().map(|x| x as u64).collect(),
        _ => x.astype(DType::UInt64).to_vec::<u64>()?,
    })
}

/// The bits of the result of a kernel with one root and one input.
fn run(kernel: &Kernel, x: In<'_>, shape: &[usize]) -> Result<Vec<u64>> {
    let n = shape.iter().product();
    Ok(match kernel.outputs()[0].dtype {
        DType::Float64 => {
            let mut out = vec![9.0_f64; n];
            kernel.run(&[x], [Out::shaped(&mut out, shape)])?;
            out.into_iter().map(f64::to_bits).collect()
        }
        DType::Float32 => {
            let mut out = vec![9.0_f32; n];
            kernel.run(&[x], [(&mut out).into()])?;
            out.into_iter().map(|x| x.to_bits().into()).collect()
        }
        DType::Int64 => {
            let mut out = vec![9_i64; n];
            kernel.run(&[x], [(&mut out).into()])?;
            out.into_iter().map(|x| x as u64).collect()
        }
        _ => {
            let mut out = vec![true; n];
            kernel.run(&[x], [(&mut out).into()])?;
            out.into_iter().map(u64::from).collect()
        }
    })
}

#[test]
fn one_kernel_serves_all_extents() -> Result<()> {
    let x = input("x", DType::Float64, "n m k");
    let overs = [
        (Over::axis(-1), "[n,m]"),
        (Over::axis(0), "[m,k]"),
        (Over::axes(&[0, 2]), "[m]"),
        (Over::all(), ""),
        (Over::axis(1).keep_dims(), "[n,1,k]"),
        (Over::all().keep_dims(), "[1,1,1]"),
    ];
    for (over, dims) in overs {
        for (i, (name, root)) in reductions(&x, &over)?.into_iter().enumerate() {
            let kernel = Kernel::new(&[&root], &[&x], &Options::default())?;
            let shown = kernel.outputs()[0].dims.to_string();
            assert_eq!(shown.trim_start_matches("[]"), dims, "{name}");
            for shape in [[1, 1, 1], [2, 3, 4], [3, 1, 70], [0, 4, 2], [40, 17, 3]] {
                let data = numbers(shape.iter().product());
                let of = Array::from_shape_vec(&shape, data.clone())?;
                let Ok(expected) = reductions(&of, &over) else {
                    // The maximum of no elements is an error.
                    assert_eq!(shape[0], 0);
                    continue;
                };
                let expected = &expected[i].1;
                let got = run(&kernel, In::shaped(&data, &shape), expected.shape())?;
                assert_eq!(got, bits(expected)?, "{name} over {over:?} of {shape:?}");
            }
        }
    }
    Ok(())
}

/// A kernel whose roots share loops, on every executor and over various views.
#[test]
fn strided_inputs_give_the_same_bits_in_every_executor() -> Result<()> {
    let x = input("x", DType::Float32, "n m");
    let (n, m) = (37, 53);
    let data: Vec<f32> = numbers(2 * n * m).into_iter().map(|x| x as f32).collect();
    let roots = |x: &Array<'static>| -> Result<[Array<'static>; 4]> {
        let e = (x - x.max(Over::axis(-1).keep_dims())?).exp();
        let softmax = &e / e.sum(Over::axis(-1).keep_dims())?;
        Ok([softmax, x.argmax(0)?, x.sum(())?, x.vecdot(x, 0)?])
    };
    type Bits = (Vec<u32>, Vec<i64>, u32, Vec<u32>);
    let mut first: Option<Vec<Bits>> = None;
    for runner in Runner::all().chain([Runner::AUTO]) {
        let options = runner.options();
        let kernel = Kernel::new(&roots(&x)?.each_ref(), &[&x], &options)?;
        let mut of_runner = Vec::new();
        let views = [
            (0, [2 * m as isize, 1]),
            (m - 1, [m as isize, -1]),
            (0, [1, n as isize]),
            (7, [0, 1]),
            (3, [1, 0]),
        ];
        for (offset, strides) in views {
            let at = |i: usize| {
                let (row, column) = ((i / m) as isize * strides[0], (i % m) as isize * strides[1]);
                data[(offset as isize + row + column) as usize]
            };
            let gathered: Vec<f32> = (0..n * m).map(at).collect();
            let [a, b, c, d] = roots(&Array::from_shape_vec(&[n, m], gathered)?)?;
            let (mut softmax, mut argmax) = (vec![9.0_f32; n * m], vec![9_i64; m]);
            let (mut sum, mut dot) = (9.0_f32, vec![9.0_f32; m]);
            let shape = [n, m];
            let view = In::view(&data, offset, &shape, &strides);
            let call = kernel.bind_like(&[view])?;
            let outputs: Vec<&[usize]> = call.output_shapes().collect();
            assert_eq!(outputs, [&[n, m][..], &[m], &[], &[m]]);
            call.run(
                &[view],
                [(&mut softmax).into(), (&mut argmax).into(), from_mut(&mut sum).into(), (&mut dot).into()],
            )?;
            let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let got = (bits(&softmax), argmax, sum.to_bits(), bits(&dot));
            let expected =
                (bits(&a.to_vec()?), b.to_vec::<i64>()?, c.item::<f32>()?.to_bits(), bits(&d.to_vec()?));
            assert_eq!(got, expected, "{strides:?} {runner:?}");
            of_runner.push(got);
        }
        assert_eq!(first.get_or_insert_with(|| of_runner.clone()), &of_runner, "{runner:?}");
    }
    Ok(())
}

/// Outputs that are reversed views and views with gaps, inputs that are not slices, and an output that is the input.
#[test]
fn memory_that_is_not_a_slice() -> Result<()> {
    let x = input("x", DType::Float64, "n m");
    let normed = &x / x.vector_norm(Over::axis(-1).keep_dims(), 2.0)?;
    let kernel = Kernel::new(&[&normed, &x.max(0)?], &[&x], &Options::default())?;
    let (n, m) = (5, 7);
    let (shape, columns, strides) = ([n, m], [m], [m as isize, 1]);
    let mut data = numbers(n * m);
    let of = Array::from_shape_vec(&[n, m], data.clone())?;
    let expected: Vec<f64> = (&of / of.vector_norm(Over::axis(1).keep_dims(), 2.0)?).to_vec()?;
    let largest: Vec<f64> = of.max(0)?.to_vec()?;

    let (mut out, mut max) = (vec![0.0; n * m], vec![0.0; 2 * m]);
    // SAFETY: the region is the bytes of `data`, which are not written while the region is used.
    let region = unsafe { Region::from_raw(data.as_ptr().cast(), size_of_val(&data[..])) };
    let raw = In::raw(DType::Float64, region, 0, &shape, &strides);
    let backwards = Out::view(&mut max, 2 * m - 1, &columns, &[-2]);
    kernel.run(&[raw], [(&mut out).into(), backwards])?;
    assert_eq!(out, expected);
    assert!((0..m).all(|i| max[2 * m - 1 - 2 * i] == largest[i] && max[2 * i] == 0.0), "{max:?}");

    // Pointers to memory that does not overlap, which is handled like slices: a pointer and a slice as outputs, in either
    // order, and a pointer alone.
    let alone = Kernel::new(&[&x.max(0)?], &[&x], &Options::default())?;
    let row = m as isize * 8;
    for pointers in 0..3 {
        let (mut out, mut max) = (vec![0.0; n * m], vec![0.0; m]);
        // SAFETY: the view is the elements of `out`, which only the kernel accesses while the view is used.
        let to_out = unsafe { broadloom::ViewMut::from_raw(out.as_mut_ptr().cast(), 8, &[n, m], &[row, 8]) };
        // SAFETY: the view is the elements of `max`, which only the kernel accesses while the view is used.
        let to_max = unsafe { broadloom::ViewMut::from_raw(max.as_mut_ptr().cast(), 8, &[m], &[8]) };
        let raw_out = || Out::raw(DType::Float64, to_out.expect("a matrix"));
        let raw_max = || Out::raw(DType::Float64, to_max.expect("a row"));
        match pointers {
            0 => kernel.run(&[raw], [raw_out(), (&mut max).into()])?,
            1 => kernel.run(&[raw], [(&mut out).into(), raw_max()])?,
            _ => alone.run(&[raw], [raw_max()])?,
        }
        assert_eq!(max, largest, "{pointers}");
        assert!(pointers == 2 || out == expected, "{pointers}: {out:?}");
    }

    // In place: the norms are computed before the first store, and the maxima are those of the original elements.
    let address = data.as_mut_ptr();
    // SAFETY: the region is the bytes of `data`, which only the kernel accesses while the region and the view are used.
    let region = unsafe { Region::from_raw(address.cast(), size_of_val(&data[..])) };
    let raw = In::raw(DType::Float64, region, 0, &shape, &strides);
    let bytes = [m as isize * 8, 8];
    // SAFETY: as for the region.
    let to = unsafe { broadloom::ViewMut::from_raw(address.cast(), 8, &[n, m], &bytes) };
    let to = to.expect("a view of the matrix");
    kernel.run(&[raw], [Out::raw(DType::Float64, to), (&mut max[..m]).into()])?;
    assert_eq!((&data, &max[..m]), (&expected, &largest[..]));
    Ok(())
}

#[test]
fn a_result_of_rank_0() -> Result<()> {
    let x = input("x", DType::Float32, "n");
    let kernel = Kernel::new(&[&x.mean(())?, &x.argmin(())?], &[&x], &Options::default())?;
    let call = kernel.bind(&[("n", 4)])?;
    let (mut mean, mut least) = (0.0_f32, 0_i64);
    let outputs = [from_mut(&mut mean).into(), from_mut(&mut least).into()];
    call.run(&[(&[4.0_f32, 1.0, 2.0, 1.0]).into()], outputs)?;
    assert_eq!((mean, least), (2.0, 1));
    for n in [1, 3000] {
        let data = vec![1.5_f32; n];
        let outputs = [from_mut(&mut mean).into(), from_mut(&mut least).into()];
        kernel.run_with(&[(&data).into()], outputs, &Control::default())?;
        assert_eq!((mean, least), (1.5, 0));
    }
    Ok(())
}

#[test]
fn rows_are_not_ranges_of_reductions() -> Result<()> {
    let x = input("x", DType::Float32, "n m");
    for root in [x.sum(1)?, x.sum(0)?, &x - x.mean(())?, x.cumulative_sum(Some(0), None, false)?] {
        let kernel = Kernel::new(&[&root], &[&x], &Options::default())?;
        let call = kernel.bind(&[("n", 2), ("m", 2)])?;
        let mut out = [7.0_f32; 2];
        let e = call.run_range(0..1, &[(&[1.0_f32; 4]).into()], [(&mut out).into()]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Shape);
        assert!(e.message().ends_with("or there are views or reductions in it"), "{e}");
        assert_eq!(out, [7.0; 2]);
    }
    Ok(())
}

#[test]
fn what_there_is_no_result_for_is_refused_when_it_is_bound() -> Result<()> {
    let x = input("x", DType::Float64, "n m");
    for (root, name) in [(x.max(1)?, "max"), (x.argmin(1)?, "argmin"), (x.nanmax(1)?, "max")] {
        let kernel = Kernel::new(&[&root], &[&x], &Options::default())?;
        let e = kernel.bind(&[("n", 3), ("m", 0)]).unwrap_err();
        let words = format!("{name}: float64[3,0] has no elements along axis 1");
        assert_eq!((e.kind(), e.message()), (ErrorKind::Shape, &words[..]));
        let mut out = [0_u8; 0];
        let e = kernel.run(&[In::shaped(&[0.0_f64; 0], &[3, 0])], [(&mut out).into()]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Shape);
        // Without rows there are no results, so a maximum is not missing.
        assert!(kernel.bind(&[("n", 0), ("m", 0)]).is_ok());
    }
    let kernel =
        Kernel::new(&[&x.sum(1)?, &x.prod(1)?, &x.mean(1)?, &x.var(1, 0.0)?], &[&x], &Options::default())?;
    let mut outs = [[9.0_f64; 3]; 4];
    kernel.run(&[In::shaped(&[0.0_f64; 0], &[3, 0])], outs.iter_mut().map(|out| out.into()))?;
    assert_eq!((outs[0].map(f64::to_bits), outs[1]), ([0; 3], [1.0; 3]));
    assert!(outs[2..].iter().flatten().all(|x| x.is_nan()));
    Ok(())
}

#[test]
fn what_is_open_is_named() -> Result<()> {
    let x = input("x", DType::Float64, "... n");
    for (name, result) in [("mean", x.mean(-1)), ("argmax", x.argmax(())), ("std", x.std(0, 0.0))] {
        let e = result.unwrap_err();
        assert_eq!(e.message(), format!("{name}: the rank of float64[...,n] is open"));
    }
    let x = input("x", DType::Float64, "n m");
    let sums = x.cumulative_sum(Some(1), None, true)?;
    assert_eq!(sums.dims().map(|dims| dims[1].to_string()).as_deref(), Some("m + 1"));
    let y = input("y", DType::Float64, "n k");
    let e = x.vecdot(&y, -1).unwrap_err();
    assert_eq!(e.to_string(), "vecdot: the vectors of [n,m] and [n,k] along axis -1 have m and k elements");
    Ok(())
}

/// Every parameter of a reduction is part of a kernel's identity.
#[test]
fn kernels_that_reduce_otherwise_have_other_ids() -> Result<()> {
    let x = input("x", DType::Float64, "n m");
    let roots = [
        x.sum(0)?,
        x.sum(1)?,
        x.sum(())?,
        x.prod(0)?,
        x.argmax(0)?,
        x.argmax(())?,
        x.mean(0)?,
        x.var(0, 0.0)?,
        x.var(0, 1.0)?,
        x.cumulative_sum(Some(0), None, false)?,
        x.cumulative_prod(Some(0), None, false)?,
    ];
    let ids = roots.iter().map(|root| Ok(Kernel::new(&[root], &[&x], &Options::default())?.id()));
    let ids: Vec<_> = ids.collect::<Result<_>>()?;
    for (i, id) in ids.iter().enumerate() {
        assert_eq!(ids.iter().position(|other| other == id), Some(i));
    }
    assert_eq!(Kernel::new(&[&x.argmax(0)?], &[&x], &Options::default())?.id(), ids[4]);
    Ok(())
}
