//! To and from `ndarray`, without a copy where that is possible.
#![cfg(feature = "ndarray")]

use broadloom::prelude::*;
use ndarray::{ArrayD, Axis, IxDyn, ShapeBuilder, s};

fn table() -> ndarray::Array2<f32> {
    ndarray::Array2::from_shape_fn((3, 4), |(i, j)| (4 * i + j) as f32)
}

fn agrees(x: &Array<'_>, expected: ndarray::ArrayViewD<'_, f32>) {
    assert_eq!(x.to_ndarray::<f32>(), Ok(expected.to_owned()));
    // And as an operand.
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
            // A copy would be in row-major order.
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
fn views_with_gaps_are_copied() {
    let data = table();
    for view in [data.slice(s![.., ..2]), data.slice(s![..;2, ..;-3])] {
        let x = Array::from(view);
        agrees(&x, view.into_dyn());
        assert!(x.is_evaluated());
    }
    let row = data.row(1);
    agrees(
        &Array::from(row.broadcast((5, 4)).expect("broadcasts")),
        row.broadcast(IxDyn(&[5, 4])).expect("so"),
    );
}

#[test]
fn owned_arrays_move_whatever_their_strides() {
    let data = table();
    let address = data.as_ptr();
    let x = Array::from(data);
    assert_eq!(x.as_slice::<f32>().map(<[f32]>::as_ptr), Some(address));
    let fortran =
        ndarray::Array2::from_shape_vec((3, 2).f(), vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("6");
    let x = Array::from(fortran.clone());
    assert_eq!(x.strides(), Some(&[1, 3][..]));
    agrees(&x, fortran.view().into_dyn());
    // A part of its memory, walked backwards.
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
