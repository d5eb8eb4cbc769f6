//! Typical code of Rust users: numbers as left operands of arrays, ranges without conversions, assigning
//! operators, iterators, conversions from and to Rust's arrays, and memory described by strides and by
//! bytes.

// Clippy takes ranges with a negative end for reversed. Here a negative end counts from the end of the
// axis.
#![allow(clippy::reversed_empty_ranges)]

use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};

use broadloom::prelude::*;
use broadloom::{
    Call, ElementVisitor, Engine, ErrorKind, Executor, Explanation, HostFunction, Kernel, KernelId, Literal,
    Out, VectorWidth, functions, visit_dtype,
};
use broadloom_testkit::Runner;

#[test]
fn a_method_of_a_number_times_an_array() -> Result<()> {
    let x = Array::from_vec(vec![-2.0_f32, -8.0]);
    assert_eq!((-2.0 * &x).sqrt().to_vec::<f32>()?, [2.0, 4.0]);
    assert_eq!((-2 * &x).sqrt().to_vec::<f32>()?, [2.0, 4.0]);
    assert_eq!((1 - x.clone()).abs().sqrt().to_vec::<f32>()?, [3_f32.sqrt(), 3.0]);
    assert_eq!((0.5 / &x).t().dtype(), DType::Float32);
    let truth = Array::from([true, false]);
    assert_eq!((true ^ &truth).logical_not().to_vec::<bool>()?, [true, false]);
    Ok(())
}

#[test]
fn numbers_that_meet_no_array_have_their_rust_types() -> Result<()> {
    use DType::*;
    let m = Array::from([true, false]);
    for (x, dtype) in [
        (where_(&m, 1.0_f32, 0.0_f32), Float32),
        (where_(&m, 1.0, 0.0), Float64),
        (where_(&m, 1, 0), Int32),
        (where_(&m, 1_u8, 0_u8), UInt8),
        (where_(&m, f16::from_f32(0.5), f16::from_f32(0.25)), Float16),
        (where_(&m, true, false), Bool),
        (where_(&m, 1_usize, 0_usize), UInt64),
        (where_(&m, 1_isize, 0_i8), Int64),
        // The operand of the higher kind determines the dtype, to which integers are converted.
        (where_(&m, 1.5_f32, 1), Float32),
        (where_(&m, 7_u64, f16::from_f32(0.5)), Float16),
        // Types of one kind promote, but a number next to a uint64 must fit a uint64.
        (where_(&m, 1.0_f32, 0.1_f64), Float64),
        (where_(&m, 1_u8, -1_i8), Int16),
        (where_(&m, 1_u64, 0), UInt64),
        // A `Literal` has no dtype of its own.
        (where_(&m, Literal::Int(1), Literal::Int(0)), Int64),
        (where_(&m, Literal::Float(1.0), 0.5_f32), Float32),
        (where_(true, 1.0_f32, 2.0_f32), Float32),
        (functions::maximum(1_u16, 2_u16), UInt16),
        (functions::sqrt(4), Float64),
        (functions::sqrt(4.0_f32), Float32),
        (functions::divide(1_u8, 2_u8), Float64),
        (functions::less(1_u8, 2_u8), Bool),
        (Array::scalar(2.0_f32), Float32),
        (Array::scalar(2.0_f32) * 3, Float32),
        (Array::scalar(2_u16) + 1_u16, UInt16),
        (Array::scalar(Literal::Float(2.0)) * Literal::Int(3), Float64),
    ] {
        assert_eq!(x.dtype(), dtype, "{x:?}");
        assert_eq!(x.eval()?.dtype(), dtype);
    }
    assert_eq!(where_(&m, 0.1_f32, 0.2_f32).to_vec::<f32>()?, [0.1, 0.2]);
    assert_eq!((Array::scalar(0.1_f32) + 0.2_f32).item::<f32>()?, 0.1_f32 + 0.2_f32);
    assert_eq!((Array::scalar(250_u8) + 10_u8).item::<u8>()?, 4, "as elements of its type");
    assert_eq!(Array::scalar(u64::MAX).item::<u64>()?, u64::MAX);
    let error = functions::try_add(1_u64, -1).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Literal, "add: -1 cannot be represented as uint64")
    );
    Ok(())
}

#[test]
fn numbers_beside_arrays_stay_weak() {
    let x = Array::from([1.0_f32]);
    for y in [&x + 1.0_f64, 2 * &x, &x + 3_u64, x.maximum(1_i8), where_(x.less(1), &x, 0.1_f64)] {
        assert_eq!(y.dtype(), DType::Float32);
    }
    assert_eq!((Array::scalar(1.0_f64) / 3 * &x).dtype(), DType::Float32, "what numbers gave is weak too");
    assert!(functions::try_add(1, Array::from([true])).is_err());
    assert!(functions::try_add(1, true).is_err(), "bool and numbers are not mixed");
}

#[test]
fn ranges_of_every_form_in_every_list() -> Result<()> {
    let x = Array::from([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]);
    let n = 1_usize;
    let ints = |x: Result<Array<'_>>| x.and_then(|x| x.to_vec::<i32>());
    assert_eq!(ints(x.slice((1.., ..-2)))?, [4, 5, 8, 9]);
    assert_eq!(ints(x.slice((n.., 1..n + 2)))?, [5, 6, 9, 10]);
    assert_eq!(ints(x.slice((0..=1, ..=-3)))?, [0, 1, 4, 5]);
    assert_eq!(ints(x.slice((1..=-1, 3..=3)))?, [7, 11]);
    assert_eq!(ints(x.slice(2..))?, [8, 9, 10, 11]);
    assert_eq!(ints(x.slice(..))?.len(), 12);
    assert_eq!(ints(x.slice([..1, ..2]))?, [0, 1]);
    assert_eq!(ints(x.slice([1.., 3..]))?, [7, 11]);
    assert_eq!(ints(x.slice([Range::from(1..).step(-1), (..).into()]))?, [4, 5, 6, 7, 0, 1, 2, 3]);
    // Slices and references to arrays of ranges are accepted as well.
    assert_eq!(ints(x.slice((..1, 2..)))?, [2, 3]);
    let mut ranges = vec![Range::from(..); 2];
    ranges[1] = Range::new(Some(0), Some(3), 2);
    assert_eq!(ints(x.slice(&ranges))?, [0, 2, 4, 6, 8, 10]);
    assert_eq!(ints(x.slice(&ranges[..]))?, ints(x.slice(ranges))?);
    // An index removes its axis.
    for (part, shape, values) in [
        (x.slice(-1)?, &[4][..], &[8, 9, 10, 11][..]),
        (x.slice((.., 2))?, &[3], &[2, 6, 10]),
        (x.slice((1_u8, -1_i64))?, &[], &[7]),
        (x.slice([n, 0])?, &[], &[4]),
        (x.slice((1, 1..3))?, &[2], &[5, 6]),
        ((&x + 1).slice((1, 1..3))?, &[2], &[6, 7]),
        (x.slice([Range::at(2), Range::from(..1)])?, &[1], &[8]),
    ] {
        assert_eq!((part.shape(), &part.to_vec::<i32>()?[..]), (shape, values));
    }
    for (wrong, words) in [
        (x.slice((3, ..)), "slice: index 3 is out of range for axis 0 of [3,4]"),
        (x.slice((.., u64::MAX)), "slice: index 9223372036854775807 is out of range for axis 1 of [3,4]"),
        (x.slice((0, 0, 0)), "slice: 3 ranges for [3,4], which has rank 2"),
        (x.slice((.., Range::from(..).step(0))), "slice: the step along axis 1 of [3,4] is 0"),
    ] {
        assert_eq!(wrong.map(|_| ()).unwrap_err().to_string(), words);
    }
    assert_eq!(ints(x.slice((i128_like(), 0)))?, [0, 4, 8]);
    Ok(())
}

/// A range whose bounds exceed every address. They are clamped to the axis.
fn i128_like() -> std::ops::Range<u64> {
    0..u64::MAX
}

#[test]
fn assigning_operators_leave_other_handles_alone() -> Result<()> {
    let mut x = Array::from([6, 7]);
    let before = x.clone();
    x += 1;
    x -= &before;
    x *= before.clone();
    assert_eq!(x.to_vec::<i32>()?, [6, 7]);
    x <<= 2;
    x >>= 1;
    x %= 8;
    assert_eq!(x.to_vec::<i32>()?, [4, 6]);
    x |= 1;
    x ^= 3;
    x &= 6;
    assert_eq!(x.to_vec::<i32>()?, [6, 4]);
    x /= 4;
    assert_eq!(x.to_vec::<f64>()?, [1.5, 1.0], "as x = x / 4");
    assert_eq!(before.to_vec::<i32>()?, [6, 7]);
    let data = [1.0_f32, 2.0];
    let mut sum = Array::scalar(0);
    for _ in 0..3 {
        sum += Array::from_slice(&data);
    }
    assert_eq!(sum.to_vec::<f32>()?, [3.0, 6.0]);
    let mut kept = Array::from([1, 2]);
    let panicked = catch_unwind(std::panic::AssertUnwindSafe(|| kept += Array::from([1, 2, 3])));
    assert!(panicked.is_err());
    assert_eq!(kept.to_vec::<i32>()?, [1, 2]);
    Ok(())
}

#[test]
fn iterators_of_elements_and_of_arrays() -> Result<()> {
    let x: Array<'_> = (0..4).map(|i| i as f32 / 2.0).collect();
    assert_eq!(x.to_vec::<f32>()?, [0.0, 0.5, 1.0, 1.5]);
    let none: Array<'_> = std::iter::empty::<u8>().collect();
    assert_eq!((none.shape(), none.dtype()), (&[0][..], DType::UInt8));
    let parts = [Array::from([1_u8, 2]), Array::from([10_u8, 20]), Array::from([5_u8, 5])];
    assert_eq!(parts.iter().sum::<Array<'_>>().to_vec::<u8>()?, [16, 27]);
    assert_eq!(parts.iter().product::<Array<'_>>().to_vec::<u8>()?, [50, 200]);
    let all: Array<'_> = parts.into_iter().map(|x| x + 1).sum();
    assert_eq!(all.to_vec::<u8>()?, [19, 30]);
    // Summation starts with the first element, not with 0, so −0 is kept.
    let zero: Array<'_> = [Array::from([-0.0_f64])].into_iter().sum();
    assert!(zero.to_vec::<f64>()?[0].is_sign_negative());
    let (sum, product): (Array<'_>, Array<'_>) = ([].iter().sum(), [].iter().product());
    assert_eq!((sum + Array::from([1.5_f32])).to_vec::<f32>()?, [1.5]);
    assert_eq!((product * Array::from([2_i8])).to_vec::<i8>()?, [2]);
    let data = vec![1.0_f64; 3];
    let borrowed: Array<'_> = [&data, &data].into_iter().map(Array::from).sum();
    assert_eq!(borrowed.to_vec::<f64>()?, [2.0; 3]);
    Ok(())
}

#[test]
fn arrays_of_rusts_arrays_and_back() -> Result<()> {
    let rows = [[1_i16, 2, 3], [4, 5, 6]];
    let borrowed = Array::from(&rows);
    assert_eq!((borrowed.shape(), borrowed.as_slice::<i16>()), (&[2, 3][..], Some(rows.as_flattened())));
    let owned = Array::from(rows);
    assert_eq!((owned.shape(), owned.to_vec::<i16>()?), (&[2, 3][..], vec![1, 2, 3, 4, 5, 6]));
    assert_eq!(Array::from([[true; 0]; 4]).shape(), [4, 0]);
    assert_eq!(Array::from([[0_u8; 2]; 0]).shape(), [0, 2]);

    let x = Array::from(vec![1.0_f32, 2.0]);
    let copied: Vec<f32> = (&x).try_into()?;
    assert_eq!(copied, [1.0, 2.0]);
    let held = x.clone();
    let values: Vec<f32> = x.try_into()?;
    assert_eq!(
        (&values, held.to_vec::<f32>()?),
        (&copied, values.clone()),
        "another handle holds the memory"
    );
    let data = vec![true, false, true];
    assert_eq!(Vec::<bool>::try_from(Array::from(data.clone()))?, data);
    assert_eq!(Vec::<i64>::try_from(Array::from(vec![1_i64, 2, 3]).slice(1..)?)?, [2, 3]);
    assert_eq!(Vec::<i64>::try_from(Array::from(vec![1_i64, 2, 3]).flip(0)?)?, [3, 2, 1]);
    assert_eq!(Vec::<f64>::try_from(Array::from([1.0, 4.0]).sqrt())?, [1.0, 2.0]);
    let wrong = Vec::<i32>::try_from(Array::from([1.0])).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::DType);
    Ok(())
}

#[test]
fn strides_over_a_slice_stay_inside_it() -> Result<()> {
    let data: Vec<i32> = (0..12).collect();
    let make =
        |shape: &[usize], strides: &[isize], offset| Array::from_strided_slice(shape, strides, offset, &data);
    for (shape, strides, offset, want) in [
        (&[3, 2][..], &[4, 2][..], 1, &[1, 3, 5, 7, 9, 11][..]),
        (&[2, 2], &[-4, -1], 11, &[11, 10, 7, 6]),
        (&[2, 3], &[0, 1], 9, &[9, 10, 11, 9, 10, 11]),
        (&[4, 3], &[1, 1], 0, &[0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5]),
        (&[1, 2], &[isize::MIN, 1], 3, &[3, 4]),
        (&[], &[], 5, &[5]),
        (&[0, 3], &[1 << 40, isize::MIN], usize::MAX, &[]),
    ] {
        let x = make(shape, strides, offset)?;
        assert_eq!((x.shape(), &x.to_vec::<i32>()?[..]), (shape, want));
        for runner in Runner::all() {
            let doubled = (&x * 2).eval_with(&runner.options())?.to_vec::<i32>()?;
            assert!(doubled.iter().eq(want.iter().map(|x| 2 * x).collect::<Vec<_>>().iter()));
        }
    }
    for (shape, strides, offset, kind) in [
        (&[3][..], &[1, 1][..], 0, ErrorKind::Shape),
        (&[2, 2], &[1], 0, ErrorKind::Shape),
        (&[13], &[1], 0, ErrorKind::Memory),
        (&[12], &[1], 1, ErrorKind::Memory),
        (&[2], &[-1], 0, ErrorKind::Memory),
        (&[2, 2], &[11, 1], 0, ErrorKind::Memory),
        (&[], &[], 12, ErrorKind::Memory),
        (&[2], &[0], usize::MAX, ErrorKind::Memory),
        (&[3], &[isize::MAX], 0, ErrorKind::Memory),
        (&[3, 3], &[isize::MAX / 2, isize::MAX / 2], 1, ErrorKind::Memory),
        (&[1 << 40, 1 << 40], &[0, 0], 0, ErrorKind::Limit),
    ] {
        let made = make(shape, strides, offset).map(|x| x.shape().to_vec());
        assert_eq!(made.map_err(|e| e.kind()), Err(kind), "{shape:?} {strides:?} {offset}");
    }
    Ok(())
}

#[test]
fn bytes_of_a_dtype_known_at_run_time() -> Result<()> {
    struct RoundTrip;
    impl ElementVisitor for RoundTrip {
        type Output = Result<()>;
        fn visit<T: Element>(self) -> Result<()> {
            let x = Array::arange(0_i32, 7, 1)?.astype(T::DTYPE);
            let bytes = x.to_bytes()?;
            assert_eq!(bytes.len(), 7 * T::DTYPE.size());
            let mut words = vec![0_u64; 16];
            for shift in 0..T::DTYPE.size() {
                // The bytes are aligned only if `shift` is 0.
                let misplaced = broadloom_bytes(&mut words, shift, &bytes);
                let back = Array::from_bytes(T::DTYPE, &[7], misplaced)?;
                assert_eq!(back.to_vec::<T>()?, x.to_vec::<T>()?);
                let lies_there = back.as_bytes().map(<[u8]>::as_ptr) == Some(misplaced.as_ptr());
                assert_eq!(lies_there, shift == 0, "{} {shift}", T::DTYPE);
                let mut out = vec![0xff_u8; 8 * 8 + shift];
                let out = &mut out[shift..shift + bytes.len()];
                Evaluation::default().eval_into_bytes(&back.flip(0)?.flip(0)?, out)?;
                assert_eq!(out, bytes);
            }
            assert!(Array::from_bytes(T::DTYPE, &[0, 3], &[])?.is_empty());
            Ok(())
        }
    }
    use DType::*;
    for dtype in [Bool, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64] {
        visit_dtype(dtype, RoundTrip)?;
    }
    let bools = Array::from_bytes(Bool, &[2, 2], &[0, 2, 255, 1])?;
    assert_eq!(bools.to_vec::<bool>()?, [false, true, true, true]);
    assert_eq!(bools.to_bytes()?, [0, 1, 1, 1]);
    for (dtype, shape, bytes, kind) in [
        (Float32, &[2][..], 7, ErrorKind::Shape),
        (Float32, &[2], 9, ErrorKind::Shape),
        (Float32, &[2], 12, ErrorKind::Shape),
        (Int8, &[1 << 40, 1 << 40], 3, ErrorKind::Limit),
    ] {
        let made = Array::from_bytes(dtype, shape, &[0; 16][..bytes]).map(drop);
        assert_eq!(made.map_err(|e| e.kind()), Err(kind), "{dtype} {shape:?} {bytes}");
    }
    for n in [0, 7, 9, 12] {
        let done = Evaluation::default().eval_into_bytes(&Array::from([1.0_f32, 2.0]), &mut [0; 16][..n]);
        assert_eq!(done.map_err(|e| e.kind()), Err(ErrorKind::Shape), "{n}");
    }
    Ok(())
}

/// Copies bytes to a position that is `shift` bytes after the beginning of a word.
fn broadloom_bytes<'w>(words: &'w mut [u64], shift: usize, bytes: &[u8]) -> &'w [u8] {
    let memory = broadloom_mem::bytes_of_mut(words);
    memory[shift..shift + bytes.len()].copy_from_slice(bytes);
    &memory[shift..shift + bytes.len()]
}

#[test]
fn bools_are_an_output() -> Result<()> {
    let x = Array::input("x", DType::Float32, &["n".into()])?;
    for runner in Runner::all() {
        let kernel = Kernel::new(&[&x.greater(1), &(&x * 2), &x.less(1)], &[&x], &runner.options())?;
        let data = [0.5_f32, 1.5, 2.5, 1.0];
        let (mut above, mut doubled, mut below) = (vec![true; 4], [0.0_f32; 4], [true; 4]);
        kernel.run(
            &[(&data).into()],
            [(&mut above).into(), (&mut doubled).into(), Out::from(&mut below[..])],
        )?;
        assert_eq!((&above[..], below), (&[false, true, true, false][..], [true, false, false, false]));
        assert_eq!(doubled, [1.0, 3.0, 5.0, 2.0]);
        // The lengths are checked before anything is written.
        let mut short = [true; 3];
        let refused = kernel
            .run(&[(&data).into()], [(&mut above).into(), (&mut doubled).into(), Out::from(&mut short)]);
        assert_eq!(refused.map_err(|e| e.kind()), Err(ErrorKind::Shape));
        // Bytes other than 0 and 1 are converted to bools.
        let odd = [0_u8, 2, 255, 1];
        let mut out = [false; 4];
        let copied = Array::from_bytes(DType::Bool, &[4], &odd)?;
        Evaluation::with(&runner.options()).eval_into(&copied, &mut out)?;
        assert_eq!(out, [false, true, true, true]);
    }
    Ok(())
}

#[test]
fn who_runs_a_kernel_is_said_by_types() -> Result<()> {
    let x = Array::input("x", DType::Float32, &[4096.into()])?;
    let engine = Engine::global();
    assert_eq!(engine.vector_width(), VectorWidth::target());
    for runner in Runner::all() {
        let kernel = Kernel::new(&[&(&x * 2 + 1)], &[&x], &runner.options())?;
        let wanted =
            runner.options().vector_width.unwrap_or(VectorWidth::target()).min(VectorWidth::target());
        let width = match kernel.executors()[..] {
            [Executor::Jit] => Some(wanted),
            _ => None,
        };
        assert_eq!(
            width.is_some(),
            runner.options().executor == Executor::Jit && engine.no_compiler().is_none()
        );
        assert_eq!(kernel.vector_widths(), [width]);
        let call = kernel.bind(&[])?;
        assert_eq!((call.executors(), call.vector_widths()), (kernel.executors(), vec![width]));
        let values = Array::zeros(&[4096], DType::Float32)?.eval()?;
        let explanation = (&values * 2 + 1).explanation(&runner.options(), false)?;
        assert!(explanation.executors().eq([Some(kernel.executors()[0])]));
        assert!(explanation.vector_widths().eq([width]));
    }
    let none = Array::from_vec(Vec::<f32>::new()) * 2;
    let explanation = none.explanation(&Options::default(), false)?;
    assert!(explanation.executors().eq([None]) && explanation.vector_widths().eq([None]));
    Ok(())
}

#[test]
fn handles_cross_a_caught_panic() {
    fn safe<T: UnwindSafe + RefUnwindSafe>() {}
    safe::<Array<'static>>();
    safe::<HostFunction>();
    safe::<Kernel>();
    safe::<Call>();
    safe::<KernelId>();
    safe::<Engine>();
    safe::<Options>();
    safe::<Explanation>();
    safe::<Error>();
    safe::<broadloom::text::Program>();
    safe::<broadloom::text::Library>();
    safe::<broadloom::text::TextError>();
    let x = Array::from([1, 2]);
    let sum = catch_unwind(|| &x + Array::from([1, 2, 3]));
    assert!(sum.is_err());
    assert_eq!((&x + 1).to_vec::<i32>(), Ok(vec![2, 3]));
}

#[test]
fn the_prelude_has_options_and_evaluations() -> Result<()> {
    use broadloom::prelude::Evaluation;
    let x = Array::from([1.0_f64, 4.0]);
    let options = broadloom::prelude::Options { threads: Some(1), ..Default::default() };
    assert_eq!(Evaluation::with(&options).eval(&x.sqrt())?.to_vec::<f64>()?, [1.0, 2.0]);
    Ok(())
}
