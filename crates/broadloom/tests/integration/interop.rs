//! Conversions from and to `ndarray`, without a copy where possible.
#![cfg(feature = "ndarray")]

use broadloom::prelude::*;
use broadloom::{In, Kernel, Options};
use ndarray::{Array1, Array2, Array3, ArrayD, Axis, IxDyn, ShapeBuilder, s};

fn table() -> Array2<f32> {
    Array2::from_shape_fn((3, 4), |(i, j)| (4 * i + j) as f32)
}

fn agrees(x: &Array<'_>, expected: ndarray::ArrayViewD<'_, f32>) {
    assert_eq!(x.to_ndarray::<f32>(), Ok(expected.to_owned()));
    // The array can also be used as an operand.
    assert_eq!((x + 1).to_ndarray::<f32>(), Ok(&expected + 1.0));
}

#[test]
fn views_without_gaps_are_borrowed_however_they_are_turned() {
    let data = table();
    let memory = data.as_slice().expect("standard layout").as_ptr_range();
    let mut reversed = data.view();
    reversed.invert_axis(Axis(0));
    let mut both = data.t();
    both.invert_axis(Axis(1));
    for view in [data.view(), data.t(), reversed, both, data.slice(s![1..2, ..]), data.slice(s![..0, ..])] {
        let x = Array::from(view);
        agrees(&x, view.into_dyn());
        if !view.is_empty() {
            // Shows that no copy was made: a copy would be in row-major order.
            assert_eq!(x.strides(), Some(view.strides()));
        }
        if let Some(values) = x.as_slice::<f32>().filter(|v| !v.is_empty()) {
            assert!(memory.contains(&values.as_ptr()), "copied");
        }
    }
    let borrowed = Array::from(&data);
    assert_eq!(borrowed.as_slice::<f32>().map(<[f32]>::as_ptr), Some(data.as_ptr()));
}

#[test]
fn views_with_gaps_are_borrowed_and_what_lies_between_is_not_read() -> Result<()> {
    let data = table();
    for view in [data.slice(s![.., ..2]), data.slice(s![..;2, ..;-3]), data.slice(s![..;-2, 1..;2])] {
        let x = Array::from(view);
        agrees(&x, view.into_dyn());
        assert_eq!(x.strides(), Some(view.strides()));
        // Views of the array, evaluated and lazy, and an expression that combines the array with its own view.
        agrees(&x.t(), view.t().into_dyn());
        agrees(&x.index_axis(0, -1)?, view.row(view.nrows() - 1).into_dyn());
        agrees(&x.reshape(&[-1])?, view.flatten().view().into_dyn());
        agrees(&x.slice([Range::new(None, None, -1)])?, view.slice(s![..;-1, ..]).into_dyn());
        assert_eq!((&x + x.flip(1)?).to_ndarray::<f32>()?, (&view + &view.slice(s![.., ..;-1])).into_dyn());
        assert_eq!(x.index_axis(0, 0)?.index_axis(0, 0)?.item::<f32>()?, view[(0, 0)]);
        assert_eq!(x.to_string(), Array::from(view.to_owned()).to_string());
        assert!(x.explain().is_ok());
    }
    let row = data.row(1);
    agrees(
        &Array::from(row.broadcast((5, 4)).expect("broadcasts")),
        row.broadcast(IxDyn(&[5, 4])).expect("so"),
    );
    // A row of a view with gaps is contiguous. The elements in the gaps belong to another view, which is written meanwhile.
    let left = data.slice(s![.., ..2]).lazy();
    assert_eq!(left.index_axis(0, 1)?.as_slice::<f32>(), Some(&[4.0, 5.0][..]));
    assert_eq!(left.index_axis(1, 1)?.as_slice::<f32>(), None);
    let mut whole = Array2::from_shape_fn((50, 40), |(i, j)| (i * j) as f64);
    let expected = whole.slice(s![.., ..;2]).mapv(|x| x + 1.0);
    let (even, mut odd) = whole.multi_slice_mut((s![.., ..;2], s![.., 1..;2]));
    odd.assign_lazy(&(even.lazy() + 1))?;
    assert_eq!(odd, expected);
    Ok(())
}

/// The rows have 10 elements and begin 12 elements apart. Every fourth element of a row is therefore 4 elements from the next
/// one, also across the end of the row, and the elements are joined to one axis.
#[test]
fn what_is_joined_over_a_gap_and_cut_again_is_found() -> Result<()> {
    let data = Array2::from_shape_fn((5, 12), |(i, j)| (100 * i + j) as i64);
    let view = data.slice(s![.., ..10]);
    let joined = view.lazy().slice([Range::from(..), Range::new(None, None, 4)])?.reshape(&[-1])?;
    let expected: Vec<i64> = view.slice(s![.., ..;4]).iter().copied().collect();
    assert_eq!(joined.to_vec::<i64>()?, expected);
    assert_eq!(joined.slice(2..13)?.to_vec::<i64>()?, expected[2..13]);
    Ok(())
}

#[test]
fn kernels_run_on_ndarrays_of_any_strides() -> Result<()> {
    let (x, y) = (
        Array::input("x", DType::Float32, &["...".into()])?,
        Array::input("y", DType::Float32, &["...".into()])?,
    );
    let kernel = Kernel::new(&[&(&x * 2 + &y)], &[&x, &y], &Options::default())?;
    let data = table();
    let mut reversed = data.slice(s![.., ..;-1]);
    reversed.invert_axis(Axis(0));
    for a in [data.view(), data.slice(s![.., ..2]), data.slice(s![1..;-1, 1..;2]), data.t(), reversed] {
        let expected = a.mapv(|a| 3.0 * a);
        let mut large = Array2::<f32>::zeros((2 * a.nrows(), a.ncols() + 1));
        let mut out = large.slice_mut(s![..;-2, 1..]);
        kernel.run(&[(&a).into(), (&a).into()], [out.view_mut().into()])?;
        assert_eq!(out, expected);
        let lazy = a.lazy();
        let mut plain = Array2::<f32>::zeros(a.raw_dim());
        kernel.run(&[In::of(&lazy).expect("in memory"), (&a).into()], [plain.view_mut().into()])?;
        assert_eq!(plain, expected);
    }
    let mut small = Array2::<f32>::zeros((2, 2));
    let wrong = kernel.run(&[(&data).into(), (&data).into()], [small.view_mut().into()]);
    assert!(wrong.is_err_and(|e| e.to_string().contains("output 0")));
    Ok(())
}

/// A view with gaps is not a slice, because the elements in the gaps are not its own. Reductions read it nevertheless, and
/// have the same bits as for the same elements in contiguous memory.
#[test]
fn views_of_any_strides_are_reduced() -> Result<()> {
    let data =
        Array2::from_shape_fn((70, 90), |(i, j)| ((i * 7919 + j * 104_729) % 1013) as f32 * 0.37 - 180.0);
    let mut reversed = data.slice(s![..;-1, ..80]);
    reversed.invert_axis(Axis(1));
    let views = [
        data.view(),
        data.t(),
        data.slice(s![.., ..;2]),
        data.slice(s![1..;3, 5..66]),
        data.slice(s![..;-2, 1..;7]),
        data.slice(s![.., ..33]).reversed_axes(),
        reversed,
    ];
    for view in views {
        let beside = view.as_standard_layout().into_owned();
        for over in [Over::all(), Over::axis(0), Over::axis(1).keep_dims()] {
            let results = |x: &Array<'_>| -> Result<Vec<ArrayD<f32>>> {
                let results = [
                    x.sum(over.clone())?,
                    x.max(over.clone())?,
                    (x * 0.5).std(over.clone(), 1.0)?,
                    x.argmin(over.clone())?.astype(DType::Float32),
                    x.vector_norm(over.clone(), 2.0)?,
                    x.cumulative_sum(Some(0), None, false)?,
                ];
                results.iter().map(|x| x.to_ndarray::<f32>()).collect()
            };
            let options = Options { threads: Some(3), ..Options::default() };
            assert_eq!(results(&view.lazy())?, results(&Array::from(&beside))?, "{view:?} {over:?}");
            let largest = view.lazy().max(over.clone())?.eval_with(&options)?;
            assert_eq!(largest.to_ndarray::<f32>()?, Array::from(&beside).max(over)?.to_ndarray::<f32>()?);
        }
        let of_rows: Array1<f32> = view.lazy().max(1)?.try_into()?;
        let most = |row: ndarray::ArrayView1<'_, f32>| row.fold(f32::NEG_INFINITY, |most, &x| most.max(x));
        assert_eq!(of_rows, view.map_axis(Axis(1), most));
    }
    Ok(())
}

/// The gaps between the elements of an input belong to another view, to which the result is written.
#[test]
fn a_reduction_is_written_between_the_elements_it_reads() -> Result<()> {
    let mut whole = Array2::from_shape_fn((50, 40), |(i, j)| (i * 40 + j) as f64);
    let sums = whole.slice(s![.., ..;2]).sum_axis(Axis(1));
    let (even, mut odd) = whole.multi_slice_mut((s![.., ..;2], s![.., 1..;2]));
    odd.column_mut(3).assign_lazy(&even.lazy().sum(1)?)?;
    assert_eq!(odd.column(3), sums);

    let x = Array::input("x", DType::Float64, &["n".into(), "m".into()])?;
    let kernel = Kernel::new(&[&x.sum(0)?, &x.mean(())?], &[&x], &Options::default())?;
    let columns = even.sum_axis(Axis(0));
    let mut mean = ndarray::arr0(0.0);
    kernel.run(&[(&even).into()], [odd.row_mut(7).into(), mean.view_mut().into()])?;
    assert_eq!(odd.row(7), columns);
    assert_eq!(mean[()], columns.sum() / 1000.0);
    Ok(())
}

#[test]
fn owned_arrays_move_whatever_their_strides() {
    let data = table();
    let address = data.as_ptr();
    let x = Array::from(data);
    assert_eq!(x.as_slice::<f32>().map(<[f32]>::as_ptr), Some(address));
    let fortran = Array2::from_shape_vec((3, 2).f(), vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("6");
    let x = Array::from(fortran.clone());
    assert_eq!(x.strides(), Some(&[1, 3][..]));
    agrees(&x, fortran.view().into_dyn());
    // A part of the array's memory, in reverse order.
    let part = table().slice_move(s![1..;-1, 1..;2]);
    let x = Array::from(part.clone());
    agrees(&x, part.view().into_dyn());
    let empty = table().slice_move(s![3.., ..]);
    assert_eq!(Array::from(empty).shape(), [0, 4]);
    let zero_d = ndarray::arr0(7f32);
    agrees(&Array::from(zero_d.clone()), zero_d.view().into_dyn());
}

#[test]
fn back_again() -> Result<()> {
    let x = Array::from_shape_vec(&[2, 2], vec![true, false, true, true])?;
    assert_eq!((!x.t()).to_ndarray::<bool>()?, ndarray::array![[false, false], [true, false]].into_dyn());
    assert!(x.to_ndarray::<u8>().is_err());
    let scalar: ArrayD<f64> = Array::scalar(2.5).to_ndarray()?;
    assert_eq!(scalar.shape(), [0usize; 0]);
    Ok(())
}

#[test]
fn lazy_of_every_kind_of_array() -> Result<()> {
    let owned = table();
    let (twin, mut third) = (table(), table());
    let shared = owned.to_shared();
    let copied_on_write = ndarray::CowArray::from(owned.view());
    let expected = owned.mapv(|x| x + 1.0);
    let address = Some(owned.as_ptr());
    for x in [owned.lazy(), lazy(&owned), owned.view().lazy(), (*owned).lazy(), copied_on_write.lazy()] {
        assert_eq!(x.as_slice::<f32>().map(<[f32]>::as_ptr), address, "copied");
        agrees(&(x + 1), expected.view().into_dyn());
    }
    for x in [shared.lazy(), twin.lazy(), third.view_mut().lazy(), Array::from(&shared)] {
        agrees(&(x + 1), expected.view().into_dyn());
    }
    let dynamic = owned.clone().into_dyn();
    agrees(&dynamic.lazy(), dynamic.view());
    // Operands may also be arrays of ndarray. An array made from a temporary view can be used after the statement.
    let row = owned.slice(s![1, ..]).lazy();
    let sum: Array2<f32> = (owned.lazy() + &shared - owned.view() - row).try_into()?;
    assert_eq!(sum, &owned - &owned.slice(s![1, ..]));
    Ok(())
}

#[test]
fn values_come_back_with_the_dimensions_asked_for() -> Result<()> {
    let x = table();
    let doubled: Array2<f32> = (x.lazy() * 2).try_into()?;
    assert_eq!(doubled, &x * 2.0);
    let scalar: ndarray::Array0<i64> = (Array::scalar(2_i64) + 3).try_into()?;
    assert_eq!(scalar[()], 5);
    let mask: Array2<bool> = x.lazy().greater(4.5).try_into()?;
    assert_eq!(mask, x.mapv(|x| x > 4.5));
    let wrong = Array1::<f32>::try_from(x.lazy() * 2).map_err(|e| e.to_string());
    assert_eq!(wrong, Err("to_ndarray: [3,4] has 2 dimensions, 1 are asked for".to_owned()));
    let wrong = Array2::<f64>::try_from(x.lazy()).map_err(|e| e.to_string());
    assert_eq!(wrong, Err("to_vec: the array is float32, not float64; write astype(x, float64)".to_owned()));
    for shape in [&[0][..], &[3, 0, 2], &[0, 0]] {
        let none = Array::zeros(shape, DType::Int16)?;
        assert_eq!((none + 1).into_ndarray::<i16>()?.shape(), shape);
        assert_eq!(Array::from(ArrayD::<u8>::zeros(shape)).into_ndarray::<u8>()?.shape(), shape);
    }
    Ok(())
}

#[test]
fn evaluated_values_move_where_one_handle_holds_all_of_a_vector() -> Result<()> {
    let cube = || Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as i32);
    for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let (data, expected) = (cube(), cube().permuted_axes(axes).into_dyn());
        let address = data.as_ptr();
        let back = Array::from(data.permuted_axes(axes)).into_ndarray::<i32>()?;
        assert_eq!((back.as_ptr(), &back), (address, &expected));
        assert_eq!(back.strides(), expected.strides());
    }
    let from_vec = Array::from_vec(vec![1_u8, 2, 3]);
    let address = from_vec.as_slice::<u8>().map(<[u8]>::as_ptr);
    let held = from_vec.clone();
    let copy = from_vec.into_ndarray::<u8>()?;
    assert!(address != Some(copy.as_ptr()), "another handle holds the memory");
    assert_eq!(Some(held.into_ndarray::<u8>()?.as_ptr()), address);
    // Parts, reversed arrays, bools, the engine's memory and the caller's memory: the elements are right, but may be in other
    // memory.
    for part in [s![.., 1.., ..], s![..;-1, .., ..], s![.., .., ..;2], s![..1, .., ..]] {
        let x = cube().slice_move(part);
        assert_eq!(Array::from(x.clone()).into_ndarray::<i32>()?, x.into_dyn());
    }
    let mask = cube().mapv(|x| x % 3 == 0);
    assert_eq!(Array::from(mask.clone()).into_ndarray::<bool>()?, mask.into_dyn());
    assert_eq!((cube().lazy() + 1).eval()?.into_ndarray::<i32>()?, (cube() + 1).into_dyn());
    assert_eq!(cube().lazy().into_ndarray::<i32>()?, cube().into_dyn());
    assert!(Array::from(cube()).into_ndarray::<u32>().is_err());
    Ok(())
}

#[test]
fn values_are_written_to_any_strides_and_nothing_else_is() -> Result<()> {
    let values = table();
    let x = values.lazy() * 2 + 1;
    let expected = values.mapv(|x| x * 2.0 + 1.0);
    let mut whole = ArrayD::<f32>::zeros(IxDyn(&[6, 8])).into_dimensionality::<ndarray::Ix2>().expect("2");
    for (rows, columns) in [(1, 1), (2, 2), (-2, 1), (1, -2), (-2, -2)] {
        let range = |step: isize, n: isize| ndarray::Slice::new(0, Some(n * step.abs()), step);
        whole.fill(-1.0);
        let mut window = whole.view_mut();
        window.slice_axis_inplace(Axis(0), range(rows, 3));
        window.slice_axis_inplace(Axis(1), range(columns, 4));
        window.assign_lazy(&x)?;
        assert_eq!(window, expected, "{rows} {columns}");
        assert_eq!(whole.iter().filter(|x| **x == -1.0).count(), 48 - 12, "written between");
    }
    let mut turned = Array2::<f32>::zeros((4, 3));
    turned.view_mut().reversed_axes().assign_lazy(&x)?;
    assert_eq!(turned.t(), expected);
    whole.assign_lazy(&(Array::scalar(0.5).astype(DType::Float32)))?;
    assert!(whole.iter().all(|x| *x == 0.5), "broadcast");
    whole.diag_mut().assign_lazy(&Array::arange(0, 6, 1)?.astype(DType::Float32))?;
    assert_eq!(whole.diag(), Array1::from_iter((0..6).map(|x| x as f32)));
    let mut mask = Array2::from_elem((3, 8), false);
    mask.slice_mut(s![.., ..;2]).assign_lazy(&values.lazy().greater(4))?;
    assert_eq!(mask.slice(s![.., ..;2]), values.mapv(|x| x > 4.0));
    assert!(mask.slice(s![.., 1..;2]).iter().all(|x| !x));
    let mut shared = values.to_shared();
    shared.assign_lazy(&x)?;
    assert_eq!((shared, values.view()), (expected.into_shared(), table().view()));
    Ok(())
}

#[test]
fn what_does_not_fit_is_not_written() {
    let mut out = table();
    let refused = |e: Result<()>| e.map_err(|e| e.to_string());
    assert_eq!(
        refused(out.assign_lazy(&Array::from_vec(vec![1.0_f64; 4]))),
        Err("assign_lazy: the values are float64, the elements float32".to_owned())
    );
    let wrong = out.assign_lazy(&Array::from_vec(vec![1.0_f32; 3])).map_err(|e| e.to_string());
    assert!(wrong.as_ref().is_err_and(|e| e.starts_with("assign_lazy: ")), "{wrong:?}");
    assert_eq!(out, table());
}

#[test]
fn operators_with_ndarray_on_the_left() -> Result<()> {
    let a = ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]];
    let x = a.lazy() * 2;
    for y in [
        &a + &x,
        &a + x.clone(),
        a.view() + &x,
        a.t().reversed_axes() + x.clone(),
        a.slice(ndarray::s![.., ..]) + &x,
    ] {
        assert_eq!(y.to_ndarray::<f32>()?, (&a * 3.0).into_dyn());
    }
    let ints = ndarray::array![12_i32, 7];
    let three = Array::from([3, 2]);
    for (y, want) in [
        (&ints - &three, [9, 5]),
        (&ints * &three, [36, 14]),
        (&ints % &three, [0, 1]),
        (&ints & &three, [0, 2]),
        (&ints | &three, [15, 7]),
        (&ints ^ &three, [15, 5]),
        (&ints << &three, [96, 28]),
        (&ints >> &three, [1, 1]),
    ] {
        assert_eq!(y.to_vec::<i32>()?, want);
    }
    assert_eq!((&ints / &three).to_vec::<f64>()?, [4.0, 3.5]);
    // The crate does not change the results of ndarray's own operators.
    let plain = &a + &a * 2.0_f32 - 1.0;
    assert_eq!(plain, ndarray::array![[2.0_f32, 5.0], [8.0, 11.0]]);
    Ok(())
}
