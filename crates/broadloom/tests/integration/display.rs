//! Arrays print as in NumPy: `Display` like `str`, `Debug` like `repr`.
//!
//! The expected texts are NumPy 2.4.6's output. 150 000 random arrays and every float16 were also compared with
//! this version.

use broadloom::prelude::*;

#[test]
#[rustfmt::skip]
fn numbers() {
    for (x, str, repr) in [
        (Array::from_vec(vec![1.0_f64, 2.5]), "[1.  2.5]", "array([1. , 2.5])"),
        (Array::from_vec(vec![1.0_f32, 2.5, -3.0]), "[ 1.   2.5 -3. ]", "array([ 1. ,  2.5, -3. ], dtype=float32)"),
        (Array::from_vec(vec![0.1_f32, 1e6]), "[1.e-01 1.e+06]", "array([1.e-01, 1.e+06], dtype=float32)"),
        (Array::from_vec(vec![0.1_f64, 1e-5]), "[1.e-01 1.e-05]", "array([1.e-01, 1.e-05])"),
        (Array::from_vec(vec![0.1_f32, 33333.332]), "[1.0000000e-01 3.3333332e+04]", "array([1.0000000e-01, 3.3333332e+04], dtype=float32)"),
        (Array::from_vec(vec![1e300, 1.0]), "[1.e+300 1.e+000]", "array([1.e+300, 1.e+000])"),
        (Array::from_vec(vec![f64::NAN, f64::INFINITY, -1.0]), "[nan inf -1.]", "array([nan, inf, -1.])"),
        (Array::from_vec(vec![f64::NEG_INFINITY]), "[-inf]", "array([-inf])"),
        (Array::from_vec(vec![-0.0, 5e-324]), "[-0.e+000  5.e-324]", "array([-0.e+000,  5.e-324])"),
        (Array::from_vec(vec![1.0_f64 / 3.0, 2.0]), "[0.33333333 2.        ]", "array([0.33333333, 2.        ])"),
        (Array::from_vec(vec![314032.13_f32]), "[314032.12]", "array([314032.12], dtype=float32)"),
        (Array::from_vec(vec![true, false]), "[ True False]", "array([ True, False])"),
        (Array::from_vec(vec![-1_i64, 100]), "[ -1 100]", "array([ -1, 100])"),
        (Array::from_vec(vec![0_u8, 255]), "[  0 255]", "array([  0, 255], dtype=uint8)"),
        (Array::from_vec(vec![f16::from_f32(0.1), f16::from_f32(1000.0)]), "[1.e-01 1.e+03]", "array([1.e-01, 1.e+03], dtype=float16)"),
        (Array::from_vec(vec![f16::from_f32(0.015625), f16::NAN]), "[0.01563     nan]", "array([0.01563,     nan], dtype=float16)"),
    ] {
        assert_eq!((x.to_string().as_str(), format!("{x:?}").as_str()), (str, repr));
    }
}

#[test]
fn one_element() {
    for (x, str, repr) in [
        (Array::scalar(broadloom::Literal::Int(2)), "2", "array(2)"),
        (Array::scalar(2), "2", "array(2, dtype=int32)"),
        (Array::scalar(2.0), "2.0", "array(2.)"),
        (Array::scalar(1e16), "1e+16", "array(1.e+16)"),
        (Array::scalar(1e15), "1000000000000000.0", "array(1.e+15)"),
        (Array::scalar(5e-324), "5e-324", "array(5.e-324)"),
        (Array::scalar(true), "True", "array(True)"),
        (Array::scalar(-0.0).astype(DType::Float32), "-0.0", "array(-0., dtype=float32)"),
        (Array::scalar(0.1).astype(DType::Float32), "0.1", "array(0.1, dtype=float32)"),
        (Array::scalar(1761).astype(DType::Float16), "1.761e+03", "array(1.761e+03, dtype=float16)"),
        (Array::scalar(f64::NAN), "nan", "array(nan)"),
        (
            Array::scalar(broadloom::Literal::Int(1 << 64)),
            "<int64[] not shown: 18446744073709551616 cannot be represented as int64>",
            "array(<not shown: 18446744073709551616 cannot be represented as int64>, shape=[], dtype=int64)",
        ),
    ] {
        assert_eq!((x.to_string().as_str(), format!("{x:?}").as_str()), (str, repr));
    }
}

#[test]
fn brackets_and_lines() -> Result<()> {
    let x = Array::from_shape_vec(&[2, 2, 2], (0..8_i64).collect())?;
    assert_eq!(x.to_string(), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
    assert_eq!(format!("{x:?}"), "array([[[0, 1],\n        [2, 3]],\n\n       [[4, 5],\n        [6, 7]]])");
    assert_eq!(Array::zeros(&[0, 3], DType::Float64)?.to_string(), "[]");
    assert_eq!(
        format!("{:?}", Array::zeros(&[0, 3], DType::Float64)?),
        "array([], shape=(0, 3), dtype=float64)"
    );
    assert_eq!(format!("{:?}", Array::zeros(&[0], DType::Int16)?), "array([], dtype=int16)");
    assert_eq!(
        Array::arange(0, 30, 1)?.to_string(),
        "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]"
    );
    Ok(())
}

#[test]
fn a_summary_of_what_is_long() -> Result<()> {
    let x = Array::arange(0.0, 10000.0, 1.0)?;
    assert_eq!(x.to_string(), "[0.000e+00 1.000e+00 2.000e+00 ... 9.997e+03 9.998e+03 9.999e+03]");
    assert_eq!(
        format!("{x:?}"),
        "array([0.000e+00, 1.000e+00, 2.000e+00, ..., 9.997e+03, 9.998e+03,\n       9.999e+03], shape=(10000,))"
    );
    let zeros = Array::zeros(&[3, 1001], DType::Int8)?;
    assert_eq!(
        format!("{zeros:?}"),
        "array([[0, 0, 0, ..., 0, 0, 0],\n       [0, 0, 0, ..., 0, 0, 0],\n       [0, 0, 0, ..., 0, 0, 0]], shape=(3, 1001), dtype=int8)"
    );
    // The width of columns depends only on the elements that are shown. The largest element is not shown here.
    let hidden = where_(Array::arange(0, 2000, 1)?.equal(1000), 123456, Array::arange(0, 2000, 1)? % 7);
    assert_eq!(hidden.to_string(), "[0 1 2 ... 2 3 4]");
    Ok(())
}

#[test]
fn only_what_is_shown_is_evaluated() -> Result<()> {
    // An array of 10^12 elements. Printing it computes 36 of them.
    let n = Array::arange(0_i64, 1_000_000, 1)?;
    let table = n.expand_dims(1)? * &n;
    assert_eq!(
        table.to_string(),
        "[[           0            0            0 ...            0            0\n             0]\n \
         [           0            1            2 ...       999997       999998\n        999999]\n \
         [           0            2            4 ...      1999994      1999996\n       1999998]\n ...\n \
         [           0       999997      1999994 ... 999994000009 999995000006\n  999996000003]\n \
         [           0       999998      1999996 ... 999995000006 999996000004\n  999997000002]\n \
         [           0       999999      1999998 ... 999996000003 999997000002\n  999998000001]]"
    );
    // With this many axes, NumPy's three elements from each end would be too many to read: one from each end is
    // shown.
    let many = Array::arange(0_u8, 8, 1)?.broadcast_to(&[8; 19])?.to_string();
    assert_eq!(many.matches("[0 ... 7]").count(), 1 << 18);
    Ok(())
}
