//! Arrays made from data and from rules.

use broadloom::prelude::*;

#[test]
fn arange_is_pythons_range() -> Result<()> {
    for start in -4..5_i64 {
        for stop in -4..5_i64 {
            for step in [-3, -2, -1, 1, 2, 3_i64] {
                let mut model = Vec::new();
                let mut i = start;
                while if step > 0 { i < stop } else { i > stop } {
                    model.push(i);
                    i += step;
                }
                let got = Array::arange(start, stop, step)?.to_vec::<i64>()?;
                assert_eq!(got, model, "{start} {stop} {step}");
                let floats = Array::arange(start as f32, stop as f32, step as f32)?;
                assert_eq!(floats.astype(DType::Int64).to_vec::<i64>()?, model, "{start} {stop} {step}");
            }
        }
    }
    Ok(())
}

#[test]
fn arange_at_the_limits_of_its_dtype() -> Result<()> {
    assert_eq!(Array::arange(250_u8, 255, 2)?.to_vec::<u8>()?, [250, 252, 254]);
    assert_eq!(Array::arange(i8::MIN, i8::MAX, 100)?.to_vec::<i8>()?, [-128, -28, 72]);
    let last = Array::arange(u64::MAX - 3, u64::MAX, 2)?;
    assert_eq!(last.to_vec::<u64>()?, [u64::MAX - 3, u64::MAX - 1]);
    assert_eq!(Array::arange(i64::MIN, i64::MAX, i64::MAX)?.to_vec::<i64>()?, [i64::MIN, -1, i64::MAX - 1]);
    // The elements are not computed by repeated addition: the tenth element is rounded once.
    assert_eq!(Array::arange(0.0, 1.0, 0.1)?.to_vec::<f64>()?[9], 0.9);
    assert_eq!(Array::arange(1.0, 1.0, 0.5)?.len(), 0);
    assert!(Array::arange(0.0, 1.0, f64::NAN).is_err());
    Ok(())
}

#[test]
fn linspace_ends_where_it_is_told_to() -> Result<()> {
    let mut inexact = 0;
    for n in 2..200 {
        let x = Array::linspace(0.1_f64, 0.7, n)?.to_vec::<f64>()?;
        assert_eq!((x.len(), x[0], x[n - 1]), (n, 0.1, 0.7));
        assert!(x.is_sorted());
        inexact += usize::from(0.1 + (n - 1) as f64 * ((0.7 - 0.1) / (n - 1) as f64) != 0.7);
    }
    assert!(inexact > 0, "the rule alone would do: the test is empty");
    assert_eq!(Array::linspace(2.0_f32, 5.0, 1)?.to_vec::<f32>()?, [2.0]);
    assert_eq!(Array::linspace(2.0_f32, 5.0, 0)?.len(), 0);
    assert_eq!(Array::linspace(f16::ONE, f16::ZERO, 3)?.to_vec::<f16>()?, [1.0, 0.5, 0.0].map(f16::from_f32));
    Ok(())
}

#[test]
fn constants_of_every_dtype() -> Result<()> {
    for dtype in [DType::Bool, DType::Int8, DType::UInt64, DType::Float16, DType::Float32, DType::Float64] {
        for (x, value) in [(Array::zeros(&[2, 1], dtype)?, 0.0), (Array::ones(&[2, 1], dtype)?, 1.0)] {
            assert_eq!((x.dtype(), x.shape()), (dtype, &[2, 1][..]));
            assert_eq!(x.astype(DType::Float64).to_vec::<f64>()?, [value; 2], "{dtype}");
        }
    }
    assert!(Array::full(&[], true)?.item::<bool>()?);
    assert_eq!(Array::full(&[3], f64::NAN)?.isnan().to_vec::<bool>()?, [true; 3]);
    assert_eq!(Array::zeros(&[4, 0], DType::Int8)?.to_vec::<i8>()?, []);
    Ok(())
}

#[test]
fn from_what_rust_has() -> Result<()> {
    let data = vec![1_u16, 2, 3];
    let address = data.as_ptr();
    let moved = Array::from(data);
    assert_eq!(moved.as_slice::<u16>().map(<[u16]>::as_ptr), Some(address));
    let data = [1.5_f32, 2.5];
    let (slice, array) = (Array::from(&data[..]), Array::from(&data));
    assert_eq!(slice.as_slice::<f32>().map(<[f32]>::as_ptr), Some(data.as_ptr()));
    assert_eq!(array.to_vec::<f32>()?, data);
    let mut seen = Vec::new();
    let x = Array::from_fn(&[2, 0, 3], |_| 0_i8)?;
    assert_eq!(x.len(), 0);
    Array::from_fn(&[2, 2], |i| {
        seen.push(i.to_vec());
        1_i8
    })?;
    assert_eq!(seen, [[0, 0], [0, 1], [1, 0], [1, 1]]);
    assert_eq!(Array::from_fn(&[], |i| i.len() as i32)?.item::<i32>()?, 0);
    Ok(())
}

#[test]
fn what_can_be_said_without_evaluating() -> Result<()> {
    let x = Array::from_shape_vec(&[2, 3], vec![true; 6])?;
    assert_eq!((x.rank(), x.len(), x.is_empty(), x.is_evaluated()), (2, 6, false, true));
    assert_eq!(x.strides(), Some(&[3, 1][..]));
    assert_eq!(x.as_slice::<bool>(), None, "bytes, of which only to_vec makes bools");
    assert_eq!(x.as_slice::<u8>(), None);
    let y = Array::from_shape_vec(&[2, 3], vec![1_i32; 6])?.t();
    assert_eq!((y.as_slice::<i32>(), y.is_evaluated()), (None, false));
    assert_eq!(y.eval()?.as_slice::<i32>(), Some(&[1; 6][..]));
    assert_eq!(Array::scalar(1).strides(), None);
    Ok(())
}
