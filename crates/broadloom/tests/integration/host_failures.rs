//! Host functions that fail. The evaluation returns the first failure as its error, on every executor, for every layout
//! and number of threads. The next evaluation is not affected.

use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom::prelude::*;
use broadloom::text::Library;
use broadloom::{ErrorKind, HostFunction, HostStatus, IntDivision, Kernel, Options};
use broadloom_testkit::Runner;

/// All executors, on one thread and on several.
fn ways() -> impl Iterator<Item = Options> {
    Runner::all()
        .flat_map(|runner| [Some(1), Some(4)].map(move |threads| Options { threads, ..runner.options() }))
}

/// The error that a host function returns.
#[derive(Debug, PartialEq)]
struct Negative(f64);

impl fmt::Display for Negative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is negative", self.0)
    }
}

impl std::error::Error for Negative {}

fn root() -> HostFunction {
    HostFunction::new("root", |x: f64| if x < 0.0 { Err(Negative(x)) } else { Ok(x.sqrt()) }).expect("a name")
}

#[track_caller]
fn fails_with(result: Result<()>, x: f64, place: &str) {
    let error = result.expect_err(place);
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Host, &*format!("root: {x} is negative")),
        "{place}"
    );
    assert!(error.is_host_failure());
    let source = error.source().and_then(|source| source.downcast_ref::<Negative>());
    assert_eq!(source, Some(&Negative(x)), "{place}");
}

#[test]
fn the_error_of_any_element_is_the_error_of_the_evaluation() -> Result<()> {
    let root = root();
    assert!(root.can_fail());
    for n in [1_usize, 2, 7, 16, 33, 255, 4099, 200_003] {
        let mut data: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let places = [Some(0), Some(n / 2), Some(n - 1), None];
        for place in places {
            let kept = place.map(|i| std::mem::replace(&mut data[i], -0.5));
            let x = Array::from_slice(&data);
            let roots = Array::call(&root, [&x])?;
            let alone = &roots + 1;
            let turned = Array::call(&root, [x.flip(0)? * 1])?;
            for options in ways() {
                let what = format!("{n} {place:?} {options:?}");
                for array in [&roots, &alone, &turned] {
                    let done = array.eval_with(&options);
                    match place {
                        Some(_) => fails_with(done.map(drop), -0.5, &what),
                        None => drop(done?),
                    }
                }
                let kernel = Kernel::new(&[&alone], &[&x], &options)?;
                let mut out = vec![0.0; n];
                let done = kernel.run(&[(&data).into()], [(&mut out).into()]);
                match place {
                    Some(_) => fails_with(done, -0.5, &what),
                    None => assert!(done.is_ok() && out[n - 1] == data[n - 1].sqrt() + 1.0, "{what}"),
                }
            }
            if let (Some(i), Some(kept)) = (place, kept) {
                drop((x, roots, alone, turned));
                data[i] = kept;
            }
        }
    }
    Ok(())
}

/// The function is not called with values of lanes beyond the last element. Such a value could be 0, for which this
/// function fails.
#[test]
fn nothing_fails_for_arguments_that_are_no_elements() -> Result<()> {
    let inverse = HostFunction::new("inverse", |x: f32, y: f32| match x * y {
        0.0 => Err("division by zero"),
        product => Ok(1.0 / product),
    })?;
    for (rows, columns) in [(1, 1), (1, 3), (3, 5), (7, 31), (5, 129), (2, 1025)] {
        let x = Array::full(&[rows, columns], 2.0_f32)?.eval()?;
        let row = Array::full(&[columns], 4.0_f32)?.eval()?;
        let calls = [
            Array::call(&inverse, [&x, &row])?,
            Array::call(&inverse, [x.t(), x.t()])?,
            Array::call(&inverse, [&x + 1, &row * 0.5 - 1])?,
            Array::call(&inverse, [x.slice((.., ..columns.div_ceil(2)))?, Array::scalar(2.0)])?,
        ];
        for options in ways() {
            for call in &calls {
                assert!(call.eval_with(&options)?.to_vec::<f32>()?.iter().all(|x| x.is_finite() && *x > 0.0));
            }
        }
    }
    Ok(())
}

#[test]
fn functions_over_tiles_and_by_pointer_fail_too() -> Result<()> {
    let checked = HostFunction::over_tiles("checked", |x: &[i32], y: &[f32], out: &mut [f32]| {
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            *out = *x as f32 + y;
        }
        match x.iter().find(|x| **x > 1000) {
            Some(x) => Err(format!("{x} is too much")),
            None => Ok(()),
        }
    })?;
    unsafe extern "C" fn status(
        n: usize,
        inputs: *const *const u8,
        out: *mut u8,
        limit: *const std::ffi::c_void,
    ) -> i32 {
        // SAFETY: the function is registered for operands of int32 and float32, a result of bools, and an int32 as its
        // context.
        let (x, limit) =
            unsafe { (std::slice::from_raw_parts((*inputs).cast::<i32>(), n), *limit.cast::<i32>()) };
        for (i, x) in x.iter().enumerate() {
            if *x > limit {
                return 7;
            }
            // SAFETY: `i` is less than `n`, and `out` has `n` bools.
            unsafe { out.add(i).write(u8::from(x % 2 == 0) * 9) };
        }
        0
    }
    let (operands, result) = ([DType::Int32, DType::Float32], DType::Bool);
    // SAFETY: `status` reads only `n` elements of the int32 operand, and the int32 context. Unless it fails, it writes
    // the `n` bools of the result. It writes nothing else.
    let by_pointer =
        unsafe { HostFunction::fallible_tile("by_pointer", &operands, result, status, 1000_i32)? };
    let infallible = HostFunction::over_tiles("twice", |x: &[f64], out: &mut [f64]| {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = 2.0 * x);
    })?;
    assert!(checked.can_fail() && by_pointer.clone().with_cost(3).can_fail() && !infallible.can_fail());
    for n in [1, 5, 100, 5000] {
        let good: Vec<i32> = (0..n).map(|i| i % 1001).collect();
        let mut bad = good.clone();
        bad[n as usize / 3] = 1001;
        let y = Array::full(&[n as usize], 0.5_f32)?;
        for options in ways() {
            let sum = |x: &[i32]| {
                Array::call(&checked, [&Array::from(x), &y])?.eval_with(&options)?.to_vec::<f32>()
            };
            assert_eq!(sum(&good)?, good.iter().map(|x| *x as f32 + 0.5).collect::<Vec<_>>());
            let error = sum(&bad).unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::Host, "checked: 1001 is too much"));
            let even = |x: &[i32]| {
                Array::call(&by_pointer, [&Array::from(x), &y])?.eval_with(&options)?.to_vec::<bool>()
            };
            assert_eq!(even(&good)?, good.iter().map(|x| x % 2 == 0).collect::<Vec<_>>());
            let error = even(&bad).unwrap_err();
            assert_eq!(error.to_string(), "by_pointer: the function returned status 7");
            let source = error.source().and_then(|source| source.downcast_ref::<HostStatus>());
            assert_eq!(source, Some(&HostStatus(7)));
            let twice = Array::call(&infallible, [&Array::linspace(0.0, 1.0, n as usize)?])?;
            assert_eq!(
                twice.eval_with(&options)?.to_vec::<f64>()?,
                (Array::linspace(0.0, 1.0, n as usize)? * 2).to_vec::<f64>()?
            );
        }
    }
    Ok(())
}

/// After a failure, functions that can fail are not called for all remaining elements.
#[test]
fn a_failed_evaluation_ends_early() -> Result<()> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let fails = HostFunction::new("fails", move |x: f32| {
        counted.fetch_add(1, Ordering::Relaxed);
        if x >= 0.0 { Err("at once") } else { Ok(x) }
    })?;
    let x = Array::zeros(&[1_000_000], DType::Float32)?.eval()?;
    for options in ways() {
        calls.store(0, Ordering::Relaxed);
        let done = (Array::call(&fails, [&x])? + 1).eval_with(&options);
        assert_eq!(done.map(drop).unwrap_err().message(), "fails: at once", "{options:?}");
        // There is at most one call for each part that began before the first failure.
        let calls = calls.load(Ordering::Relaxed);
        assert!(calls <= 64, "{calls} calls, {options:?}");
    }
    Ok(())
}

/// A host function may evaluate an expression that fails, and handle the failure.
#[test]
fn failures_inside_of_functions_are_theirs() -> Result<()> {
    let root = root();
    let inner = root.clone();
    let careful = HostFunction::new("careful", move |x: f64| {
        let roots = Array::call(&inner, [&Array::from(vec![x; 40])])?.eval();
        match roots {
            Ok(roots) => Ok(roots.to_vec::<f64>()?[39]),
            Err(error) if error.is_host_failure() => Ok(-1.0),
            Err(error) => Err(error),
        }
    })?;
    let inner = root.clone();
    let passing = HostFunction::new("passing", move |x: f64| -> Result<f64> {
        Array::call(&inner, [&Array::from(vec![x; 40])])?.slice(0)?.item::<f64>()
    })?;
    let x = Array::from(vec![4.0, -9.0, 16.0]);
    for options in ways() {
        let values = Array::call(&careful, [&x])?.eval_with(&options)?;
        assert_eq!(values.to_vec::<f64>()?, [2.0, -1.0, 4.0], "{options:?}");
        let error = Array::call(&passing, [&x])?.eval_with(&options).map(drop).unwrap_err();
        assert_eq!(error.message(), "passing: root: -9 is negative");
        let source = error.source().and_then(|e| e.source()).and_then(|e| e.downcast_ref::<Negative>());
        assert_eq!(source, Some(&Negative(-9.0)));
    }
    Ok(())
}

#[test]
fn texts_several_results_and_divisions_beside_it() -> Result<()> {
    let library = Library::new(&[root()], "")?;
    for options in ways() {
        let kernel = Kernel::parse_with("x: float64[n]; return a = root(x), b = x + 1", &library, &options)?;
        let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
        kernel.run(&[(&[4.0, 9.0, 16.0]).into()], [(&mut a).into(), (&mut b).into()])?;
        assert_eq!((a, b), ([2.0, 3.0, 4.0], [5.0, 10.0, 17.0]));
        let done = kernel.run(&[(&[4.0, -2.0, 16.0]).into()], [(&mut a).into(), (&mut b).into()]);
        fails_with(done, -2.0, "a text");
        kernel.run(&[(&[1.0, 1.0, 1.0]).into()], [(&mut a).into(), (&mut b).into()])?;
        assert_eq!(a, [1.0; 3], "the next run is a run like any other");
    }
    // If there is a division by zero and a failure, either one may be reported.
    let n = Array::from(vec![0_i64, 1]);
    let fails = HostFunction::new("fails", |x: i64| if x == 7 { Ok(x) } else { Err("not seven") })?;
    let quotient = Array::call(&fails, [n.floor_divide(&n)])?;
    for options in ways() {
        let strict = Options { int_division: IntDivision::Error, ..options };
        let kind = quotient.eval_with(&strict).map(drop).unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::Host | ErrorKind::ZeroDivision), "{kind:?}");
    }
    Ok(())
}
