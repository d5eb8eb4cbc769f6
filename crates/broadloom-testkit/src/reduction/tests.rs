//! Compares the reference with results computed by hand, and with published bits.

use broadloom_core::{DType, Promotion};

use super::exact::{bound, error_of_sum};
use super::tree::{canonical, cumulative, pairwise};
use super::{Cumulative, Function, Reduction, VecDot, floats};
use crate::rng::Rng;
use crate::tensor::Tensor;

const STRICT: Promotion = Promotion::Strict;

fn doubles(shape: &[usize], x: &[f64]) -> Tensor {
    Tensor { dtype: DType::Float64, shape: shape.to_vec(), bits: x.iter().map(|x| x.to_bits()).collect() }
}

fn singles(x: &[f32]) -> Tensor {
    let bits = x.iter().map(|x| u64::from(x.to_bits())).collect();
    Tensor { dtype: DType::Float32, shape: vec![x.len()], bits }
}

fn ints(dtype: DType, shape: &[usize], x: &[i64]) -> Tensor {
    let mask = u64::MAX >> (64 - 8 * dtype.size());
    Tensor { dtype, shape: shape.to_vec(), bits: x.iter().map(|&x| x as u64 & mask).collect() }
}

fn float_of(function: Function, x: &[f64]) -> f64 {
    let got = Reduction::all(function).run(&doubles(&[x.len()], x), STRICT).expect("types");
    assert_eq!((got.dtype, &got.shape[..], got.bits.len()), (DType::Float64, &[][..], 1));
    f64::from_bits(got.bits[0])
}

/// The published bits of the sum of 10^6 doubles.
#[test]
fn the_golden_value() {
    let mut s = 0x243F_6A88_85A3_08D3_u64;
    let mut next = || {
        s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((s >> 11) as f64 - 2f64.powi(52)) / 2f64.powi(52)
    };
    let x: Vec<f64> = (0..1_000_000).map(|_| next()).collect();
    assert_eq!(floats::sum(&x).to_bits(), 0x4061_8f71_f637_9380);
    // The order affects the last digits: adding the elements one by one gives another sum.
    assert_ne!(x.iter().sum::<f64>().to_bits(), 0x4061_8f71_f637_9380);
    assert!(error_of_sum(&x, floats::sum(&x), 53) <= bound(x.len()));
}

/// Appending identity elements, until all rows are whole and their number is a power of two, does not change the bits.
#[test]
fn padding_changes_nothing() {
    let mut rng = Rng::new(3);
    for n in (1..140).chain([255, 256, 257, 1000]) {
        let x: Vec<f32> = (0..n).map(|_| rng.below(1 << 24) as f32 - 8e6).collect();
        let rows = (n as usize).div_ceil(16).next_power_of_two();
        let mut padded = x.clone();
        padded.resize(16 * rows, -0.0);
        // Combines the rows in a tree, and then the lanes.
        let row = |row: usize| padded[16 * row..16 * row + 16].to_vec();
        let add = |a: &Vec<f32>, b: &Vec<f32>| a.iter().zip(b).map(|(a, b)| a + b).collect();
        let lanes = pairwise(&(0..rows).map(row).collect::<Vec<_>>(), &add).expect("a row");
        let whole = pairwise(&lanes, &|a, b| a + b).expect("a lane");
        assert_eq!(floats::sum(&x).to_bits(), whole.to_bits(), "{n}");
    }
}

/// 2^24 + 1 is not a float32, so different orders give different sums.
#[test]
fn sums_by_hand() {
    let big = 16777216.0f32;
    // Lane 0 has the large element 0, and element 16. Every addition to the large number is rounded: two
    // additions of 1 have no effect; then 2, 4 and 8 are added exactly.
    let mut x = vec![1.0f32; 17];
    x[0] = big;
    assert_eq!(floats::sum(&x), big + 14.0);
    assert_eq!(Reduction::all(Function::Sum).run(&singles(&x), STRICT).expect("types").bits, [0x4b80_0007]);
    // If elements are added in order, each 1 is lost.
    assert_eq!(x.iter().sum::<f32>(), big);
    // Sums of zeros and empty sums have the signs that the definition specifies.
    assert_eq!(float_of(Function::Sum, &[]).to_bits(), 0);
    assert_eq!(float_of(Function::Sum, &[-0.0; 33]).to_bits(), (-0.0f64).to_bits());
    assert_eq!(float_of(Function::Sum, &[-0.0, 0.0]).to_bits(), 0);
    assert_eq!(float_of(Function::Prod, &[]), 1.0);
    assert_eq!(float_of(Function::Prod, &[-2.0, 3.0, 0.5]), -3.0);
    assert_eq!(float_of(Function::Sum, &[f64::INFINITY, f64::NEG_INFINITY]).to_bits(), 0x7ff8 << 48);
}

/// Results taken from NumPy's documentation, or computed by hand.
#[test]
fn axes_and_dtypes() {
    let x = ints(DType::Int8, &[2, 3], &[100, 100, 100, -1, 0, 5]);
    let sum = |axes: &[isize], keepdims: bool| {
        let got = Reduction { keepdims, ..Reduction::along(Function::Sum, axes) }.run(&x, STRICT);
        got.map(|x| (x.dtype, x.shape, x.bits.iter().map(|&bits| bits as i64).collect::<Vec<_>>()))
    };
    let int64 = DType::Int64;
    assert_eq!(sum(&[0], false), Ok((int64, vec![3], vec![99, 100, 105])));
    assert_eq!(sum(&[-1], true), Ok((int64, vec![2, 1], vec![300, 4])));
    assert_eq!(sum(&[1, -2], true), Ok((int64, vec![1, 1], vec![304])));
    assert_eq!(sum(&[], false), Ok((int64, vec![2, 3], vec![100, 100, 100, -1, 0, 5])));
    assert!(sum(&[0, -2], false).is_err() && sum(&[2], false).is_err() && sum(&[-3], false).is_err());
    let empty = Tensor { dtype: DType::Float64, shape: vec![2, 0], bits: Vec::new() };
    let along = |function, axis: isize| Reduction::along(function, &[axis]).run(&empty, STRICT);
    assert_eq!(along(Function::Sum, 1).map(|x| x.bits), Ok(vec![0, 0]));
    assert_eq!(along(Function::Mean, 1).map(|x| x.bits), Ok(vec![0x7ff8 << 48; 2]));
    assert_eq!(along(Function::Max, 0).map(|x| x.shape), Ok(vec![0]));
    assert!(along(Function::Max, 1).is_err() && along(Function::ArgMin, 1).is_err());
    let bools = ints(DType::Bool, &[3], &[1, 0, 1]);
    let sum = |promotion| Reduction::all(Function::Sum).run(&bools, promotion);
    assert!(sum(STRICT).is_err());
    assert_eq!(sum(Promotion::NumPy).map(|x| (x.dtype, x.bits)), Ok((int64, vec![2])));
    let wide = Reduction { dtype: Some(DType::UInt8), ..Reduction::all(Function::Sum) };
    assert_eq!(wide.run(&x, STRICT).map(|x| (x.dtype, x.bits)), Ok((DType::UInt8, vec![304 - 256])));
}

#[test]
fn extremes_and_searches() {
    let nan = f64::NAN;
    assert_eq!(float_of(Function::Max, &[-0.0, 0.0, -0.0]).to_bits(), 0);
    assert_eq!(float_of(Function::Min, &[0.0, -0.0, 0.0]).to_bits(), 1 << 63);
    assert_eq!(float_of(Function::Max, &[1.0, -nan, 2.0]).to_bits(), 0x7ff8 << 48);
    assert_eq!(float_of(Function::NanMax, &[nan, -3.0, -nan]), -3.0);
    assert!(float_of(Function::NanMin, &[nan, nan]).is_nan());
    let index = |function, x: &[f64]| {
        Reduction::all(function).run(&doubles(&[x.len()], x), STRICT).map(|x| x.bits[0])
    };
    assert_eq!(index(Function::ArgMax, &[-0.0, 0.0, 0.0]), Ok(0));
    assert_eq!(index(Function::ArgMin, &[0.0, -0.0]), Ok(0));
    assert_eq!(index(Function::ArgMax, &[1.0, 3.0, 3.0, 2.0]), Ok(1));
    assert_eq!(index(Function::ArgMin, &[1.0, nan, f64::NEG_INFINITY, nan]), Ok(1));
    assert_eq!(index(Function::CountNonzero, &[-0.0, nan, 2.0]), Ok(2));
    assert_eq!(index(Function::Any, &[-0.0, 0.0]), Ok(0));
    assert_eq!(index(Function::All, &[]), Ok(1));
    assert_eq!(index(Function::Any, &[]), Ok(0));
    assert_eq!(index(Function::All, &[nan, f64::INFINITY]), Ok(1));
}

#[test]
fn moments_and_norms() {
    let x = [1.0, 2.0, 3.0, 6.0];
    assert_eq!(float_of(Function::Mean, &x), 3.0);
    assert_eq!(float_of(Function::Var, &x), 3.5);
    let corrected = |function, correction: f64, x: &[f64]| {
        let of = Reduction { correction, ..Reduction::all(function) };
        of.run(&doubles(&[x.len()], x), STRICT).map(|x| f64::from_bits(x.bits[0])).expect("types")
    };
    assert_eq!(corrected(Function::Var, 1.0, &x), 14.0 / 3.0);
    assert_eq!(corrected(Function::Std, 0.5, &x), 2.0);
    assert!(corrected(Function::Var, 4.0, &x).is_nan() && corrected(Function::Std, 5.0, &x).is_nan());
    assert_eq!(float_of(Function::NanMean, &[1.0, f64::NAN, 2.0]), 1.5);
    assert_eq!(float_of(Function::NanVar, &[1.0, f64::NAN, 2.0]), 0.25);
    let norm = |ord: f64, x: &[f64]| {
        let of = Reduction { ord, ..Reduction::all(Function::VectorNorm) };
        of.run(&doubles(&[x.len()], x), STRICT).map(|x| f64::from_bits(x.bits[0])).expect("types")
    };
    assert_eq!(norm(2.0, &[3.0, -4.0]), 5.0);
    assert_eq!(norm(1.0, &[3.0, -4.0]), 7.0);
    assert_eq!(norm(0.0, &[3.0, -0.0, -4.0]), 2.0);
    assert_eq!((norm(f64::INFINITY, &[3.0, -4.0]), norm(f64::NEG_INFINITY, &[3.0, -4.0])), (4.0, 3.0));
    assert_eq!(norm(-1.0, &[2.0, -2.0]), 1.0);
}

/// The sum of two float16 maxima is out of range, but their mean is not. 2049 is not a float16, but the accumulator, a float32, can
/// represent it.
#[test]
fn float16_is_rounded_once() {
    let [max, one, two_to_11] = [0x7bff, 0x3c00, 0x6800];
    let of = |function, bits: &[u64]| {
        let x = Tensor { dtype: DType::Float16, shape: vec![bits.len()], bits: bits.to_vec() };
        Reduction::all(function).run(&x, STRICT).map(|x| (x.dtype, x.bits[0]))
    };
    assert_eq!(of(Function::Mean, &[max, max]), Ok((DType::Float16, max)));
    assert_eq!(of(Function::Sum, &[max, max]), Ok((DType::Float16, 0x7c00)));
    assert_eq!(of(Function::Sum, &[two_to_11, one, one, one]), Ok((DType::Float16, 0x6802)));
    assert_eq!(of(Function::VectorNorm, &[max]), Ok((DType::Float16, max)));
    let x = Tensor { dtype: DType::Float16, shape: vec![2], bits: vec![max, max] };
    let y = Tensor { dtype: DType::Float16, shape: vec![2], bits: vec![0x4000, 0xc000] };
    assert_eq!(VecDot { axis: -1 }.run(&x, &y, DType::Float16).map(|x| x.bits), Ok(vec![0]));
}

#[test]
fn dots_of_broadcast_rows() {
    let x = ints(DType::Int8, &[2, 1, 3], &[1, 2, 3, 4, 5, 100]);
    let y = ints(DType::Int8, &[3, 2], &[1, 0, 0, 1, -1, 2]);
    let got = VecDot { axis: -2 }.run(&ints(DType::Int8, &[2, 3, 1], &[1, 2, 3, 4, 5, 100]), &y, DType::Int8);
    // The dot products [1 2 3]·[1 0 -1], [1 2 3]·[0 1 2], [4 5 100]·[1 0 -1] and [4 5 100]·[0 1 2], modulo 256.
    let want = ints(DType::Int8, &[2, 2], &[-2, 8, -96, 205]);
    assert_eq!(got, Ok(want));
    let along = |axis| VecDot { axis }.shape(&x.shape, &y.shape);
    assert!(along(-1).is_err() && along(0).is_err() && along(-3).is_err());
}

#[test]
fn cumulative_sums() {
    let x = ints(DType::UInt8, &[2, 3], &[1, 2, 3, 250, 5, 6]);
    let of = |axis, include_initial| {
        Cumulative { is_product: false, axis: Some(axis), dtype: None, include_initial }
            .run(&x, STRICT)
            .map(|x| (x.dtype, x.shape, x.bits))
    };
    assert_eq!(of(1, false), Ok((DType::UInt64, vec![2, 3], vec![1, 3, 6, 250, 255, 261])));
    assert_eq!(of(-2, true), Ok((DType::UInt64, vec![3, 3], vec![0, 0, 0, 1, 2, 3, 251, 7, 9])));
    let without_axis = Cumulative { is_product: true, axis: None, dtype: None, include_initial: false };
    assert!(without_axis.run(&x, STRICT).is_err());
    assert_eq!(
        without_axis.run(&doubles(&[2], &[3.0, -2.0]), STRICT).map(|x| x.bits[1]),
        Ok((-6f64).to_bits())
    );
    // Each element is a sum of a prefix, whose error grows with the logarithm of its length.
    let mut rng = Rng::new(9);
    let x: Vec<f64> = (0..2000).map(|_| rng.below(1 << 30) as f64 - 5e8).collect();
    for (i, &got) in cumulative(&x, &|a, b| a + b).iter().enumerate() {
        assert!(error_of_sum(&x[..=i], got, 53) <= bound(i + 1) + 8.0);
    }
}

/// Sums in which large terms at random positions cancel have errors within the bound.
#[test]
fn ill_conditioned_sums_keep_the_bound() {
    let mut rng = Rng::new(17);
    for n in [2usize, 15, 16, 17, 100, 1000, 4097, 20_000] {
        let mut x: Vec<f64> = Vec::new();
        while x.len() < n {
            let big = (rng.next() >> 11) as f64 * 2f64.powi(rng.below(90) as i32 - 45);
            x.extend([big, -big, (rng.next() >> 11) as f64 * 2f64.powi(-60)]);
        }
        x.truncate(n);
        let order = rng.permutation(n);
        let x: Vec<f64> = order.into_iter().map(|i| x[i]).collect();
        let got = error_of_sum(&x, floats::sum(&x), 53);
        assert!(got <= bound(n), "{n}: {got}");
        let narrow: Vec<f64> = x.iter().map(|&x| f64::from(x as f32)).collect();
        let singles: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let got = error_of_sum(&narrow, floats::sum(&singles).into(), 24);
        assert!(got <= bound(n), "{n}: {got}");
    }
    // Adding equal numbers one by one exceeds the bound, so a test against the bound can fail.
    let x = vec![f64::from(0.1f32); 1 << 20];
    let serial = x.iter().fold(0f32, |sum, &x| sum + x as f32);
    assert!(error_of_sum(&x, serial.into(), 24) > bound(x.len()));
}

#[test]
fn few_elements_are_combined_pairwise() {
    for n in 0..=16 {
        let x: Vec<String> = (0..n).map(|i| format!("{i:x}")).collect();
        let combine = |a: &String, b: &String| format!("({a}{b})");
        assert_eq!(canonical(&x, &combine), pairwise(&x, &combine));
    }
}
