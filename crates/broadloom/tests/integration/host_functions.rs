//! Functions of the application in expressions. All executors return the same bits, whatever operations surround the
//! calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom::prelude::*;
use broadloom::{Engine, ErrorKind, Evaluation, HostFunction, IntDivision, Kernel, Options, typed_graph};
use broadloom_testkit::Runner;
use broadloom_testkit::elements;
use broadloom_testkit::random::Rng;

/// All executors, on one thread and on several.
fn ways() -> impl Iterator<Item = Options> {
    Runner::all()
        .flat_map(|runner| [Some(1), Some(4)].map(move |threads| Options { threads, ..runner.options() }))
}

fn host<A: 'static, F: broadloom::HostClosure<A>>(name: &str, f: F) -> HostFunction {
    HostFunction::new(name, f).expect("a name")
}

/// Checks the bits of an array, evaluated in every way.
#[track_caller]
fn everywhere(x: &Array<'_>, want: &[u64]) {
    for options in ways() {
        let got = x.eval_with(&options).and_then(|x| elements::bits(&x)).expect("evaluates");
        assert_eq!(got, want, "{options:?}");
    }
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// A function that no op computes, with exact results.
fn fold(x: f64, n: i32) -> f64 {
    (x * 8.0).trunc() + f64::from(n.rotate_left(3) & 0xff)
}

#[test]
fn layouts_lengths_and_threads() -> Result<()> {
    let f = host("fold", fold);
    for n in [1, 2, 3, 7, 16, 33, 255, 1025, 100_003] {
        let x: Vec<f64> = (0..n).map(|i| f64::from(i) * 0.3 - 40.0).collect();
        let k: Vec<i32> = (0..n).map(|i| i * 7919 - 3).collect();
        let (a, b) = (Array::from_slice(&x), Array::from_slice(&k));
        let sum = Array::call(&f, [&(&a + 1), &b])? * 2;
        let want: Vec<f64> = x.iter().zip(&k).map(|(x, k)| fold(x + 1.0, *k) * 2.0).collect();
        everywhere(&sum, &bits(&want));
        // Operands in opposite directions, a result of every other element, and a number as an operand.
        let turned = Array::call(&f, [a.flip(0)?, b.clone()])?;
        let want: Vec<f64> = x.iter().rev().zip(&k).map(|(x, k)| fold(*x, *k)).collect();
        everywhere(&turned, &bits(&want));
        let halved = Array::call(&f, [&a, &b])?.slice([Range::from(..).step(2)])?;
        let want: Vec<f64> = x.iter().zip(&k).map(|(x, k)| fold(*x, *k)).step_by(2).collect();
        everywhere(&halved, &bits(&want));
        let same = Array::call(&f, [a.into_operand(), (-9).into_operand()])?;
        let want: Vec<f64> = x.iter().map(|x| fold(*x, -9)).collect();
        everywhere(&same, &bits(&want));
    }
    Ok(())
}

#[test]
fn shapes_broadcast_and_turn() -> Result<()> {
    let f = host("fold", fold);
    let x: Vec<f64> = (0..37).map(|i| f64::from(i) / 4.0).collect();
    let k: Vec<i32> = (0..23).map(|i| i * 31).collect();
    let (rows, columns) = (Array::from_shape_vec(&[37, 1], x.clone())?, Array::from_slice(&k));
    let table = Array::call(&f, [&rows, &columns])?;
    assert_eq!(table.shape(), [37, 23]);
    let at = |i: usize, j: usize| fold(x[i], k[j]).to_bits();
    let want: Vec<u64> = (0..37 * 23).map(|e| at(e / 23, e % 23)).collect();
    everywhere(&table, &want);
    let want: Vec<u64> = (0..37 * 23).map(|e| at(e % 37, e / 37)).collect();
    everywhere(&table.t(), &want);
    Ok(())
}

/// The output may be the memory of an input. The function receives the values from before the run.
#[test]
fn results_over_their_own_operands() -> Result<()> {
    let f = host("half_up", |x: u16| x / 2 + x % 2);
    for options in ways() {
        for n in [1, 5, 64, 1000] {
            let data: Vec<u16> = (0..n).collect();
            let mut x = Array::from_vec(data.clone()).eval()?;
            let y = Array::call(&f, [&x + 1])?;
            Evaluation::with(&options).eval_into_array(&y, &mut x)?;
            let want: Vec<u16> = data.iter().map(|x| (x + 1).div_ceil(2)).collect();
            assert_eq!(x.to_vec::<u16>()?, want, "{options:?}");
        }
    }
    Ok(())
}

#[test]
fn no_elements_and_no_axes() -> Result<()> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let f = host("counted", move |x: i8| {
        counted.fetch_add(1, Ordering::Relaxed);
        x - 1
    });
    everywhere(&Array::call(&f, [Array::from_vec(Vec::<i8>::new())])?, &[]);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    everywhere(&Array::call(&f, [Array::scalar(5)])?, &[4]);
    assert!(calls.load(Ordering::Relaxed) > 0);
    Ok(())
}

/// The reference for NaNs. The function receives a NaN from memory with all its bits, also through operations that only
/// move it. A computed NaN is the positive quiet NaN without payload.
#[test]
fn which_nan_a_function_sees_and_gives() -> Result<()> {
    let f = host("bits", |x: f32| x.to_bits());
    let payloads = [0x7f80_0001u32, 0xffc0_1234, 0x7fc0_0000, 0xff80_0001, 0x7fff_ffff];
    let stored: Vec<f32> = (0..40).map(|i| f32::from_bits(payloads[i % 5])).collect();
    let x = Array::from_slice(&stored);
    let as_stored: Vec<u64> = stored.iter().map(|x| x.to_bits().into()).collect();
    everywhere(&Array::call(&f, [&x])?, &as_stored);
    everywhere(&Array::call(&f, [x.flip(0)?.flip(0)?])?, &as_stored);
    let one = vec![0x7fc0_0000u64; 40];
    for computed in [
        &x + 1,
        &x * 1,
        x.pow(1),
        x.maximum(0),
        x.maximum(&x),
        x.astype(DType::Float64).astype(DType::Float32),
    ] {
        everywhere(&Array::call(&f, [computed])?, &one);
    }
    let with_sign = |sign: u64| as_stored.iter().map(|x| x & 0x7fff_ffff | sign << 31).collect::<Vec<_>>();
    everywhere(&Array::call(&f, [x.abs()])?, &with_sign(0));
    everywhere(&Array::call(&f, [x.abs().negative()])?, &with_sign(1));
    everywhere(&Array::call(&f, [x.abs().copysign(-1.0)])?, &with_sign(1));
    let negative = host("nan_of", |x: f32| f32::from_bits(x.to_bits() | 0xffc0_0000));
    let nan = Array::call(&negative, [&x])?;
    everywhere(&nan, &one);
    everywhere(&nan.signbit(), &[0; 40]);
    everywhere(&Array::call(&f, [&nan])?, &one);
    everywhere(&Array::call(&f, [nan.copysign(-1.0)])?, &[0xffc0_0000; 40]);
    let sign_of_literal = Array::call(&f, [f32::NAN])?;
    everywhere(&sign_of_literal, &[f32::NAN.to_bits().into()]);
    Ok(())
}

/// Several results of one loop, calls of calls, and a call with two readers.
#[test]
fn several_functions_in_several_results() -> Result<()> {
    let (f, g) = (host("fold", fold), host("is_odd", |x: f64| x as i64 % 2 != 0));
    let n = 1000;
    let x: Vec<f64> = (0..n).map(f64::from).collect();
    let a = Array::from_slice(&x);
    let b = Array::from_vec((0..n).collect::<Vec<i32>>());
    let folded = Array::call(&f, [&a, &b])?;
    let odd = Array::call(&g, [&folded + 1])?;
    let chosen = where_(&odd, &folded, &a);
    let again = Array::call(&f, [&chosen, &b.square()])?;
    let roots = [&folded, &odd, &chosen, &again];
    let folds: Vec<f64> = (0..n).map(|i| fold(f64::from(i), i)).collect();
    let odds: Vec<bool> = folds.iter().map(|x| (x + 1.0) as i64 % 2 != 0).collect();
    let chosens: Vec<f64> = (0..n as usize).map(|i| if odds[i] { folds[i] } else { x[i] }).collect();
    let agains: Vec<f64> = (0..n).map(|i| fold(chosens[i as usize], i * i)).collect();
    for options in ways() {
        let results = Evaluation::with(&options).eval_many(&roots)?;
        assert_eq!(results[0].to_vec::<f64>()?, folds, "{options:?}");
        assert_eq!(results[1].to_vec::<bool>()?, odds, "{options:?}");
        assert_eq!(results[2].to_vec::<f64>()?, chosens, "{options:?}");
        assert_eq!(results[3].to_vec::<f64>()?, agains, "{options:?}");
    }
    let shared = typed_graph(&roots, &Options::default())?.graph.to_string();
    assert_eq!(shared.matches("fold(").count(), 2, "{shared}");
    Ok(())
}

/// Functions with the same name and dtypes are different functions, in every cache.
#[test]
fn functions_of_one_name_are_told_apart() -> Result<()> {
    let x = Array::from_vec(vec![1.0_f32; 50]);
    for round in 0..20 {
        let f = host("same_name", move |x: f32| x + round as f32);
        for options in ways() {
            for _ in 0..2 {
                let y = Array::call(&f, [&x])?.eval_with(&options)?;
                assert_eq!(y.to_vec::<f32>()?, [1.0 + round as f32; 50], "{round} {options:?}");
            }
        }
    }
    Ok(())
}

/// Only plans and code keep the values that a function owns.
#[test]
fn a_function_is_dropped_once_no_cache_has_it() -> Result<()> {
    let owned = Arc::new(2.0_f64);
    let kept = owned.clone();
    let f = host("times_owned", move |x: f64| x * *kept);
    let x = Array::from_vec(vec![1.5; 10]);
    for options in ways() {
        let y = Array::call(&f, [&x])?;
        assert_eq!(y.eval_with(&options)?.to_vec::<f64>()?, [3.0; 10]);
    }
    let kernel = Kernel::new(&[&Array::call(&f, [&x])?], &[&x], &Options::default())?;
    drop(f);
    let mut out = [0.0; 10];
    kernel.run(&[(&[4.0; 10]).into()], [(&mut out).into()])?;
    assert_eq!(out, [8.0; 10]);
    drop(kernel);
    // The caches can't be cleared while another test's evaluation holds their lock.
    for _ in 0..1_000_000 {
        Engine::global().clear();
        if Arc::strong_count(&owned) == 1 {
            return Ok(());
        }
        std::thread::yield_now();
    }
    panic!("{} hold what the function owns", Arc::strong_count(&owned) - 1);
}

#[test]
fn the_first_thing_that_does_not_fit_is_named() {
    let f = host("clamp", |x: f32, n: u8| x.min(n.into()));
    let (x, n) = (Array::from_vec(vec![1.0_f32; 3]), Array::from_vec(vec![1_u8; 3]));
    let wrong = |operands: &[&Array<'static>]| {
        let error = Array::call(&f, operands.iter().copied()).map(|_| ()).unwrap_err();
        (error.kind(), error.to_string())
    };
    let says = |kind, words: &str| (kind, words.to_owned());
    assert_eq!(wrong(&[&x]), says(ErrorKind::Arity, "clamp takes 2 operands, not 1"));
    assert_eq!(wrong(&[&x, &n, &n]), says(ErrorKind::Arity, "clamp takes 2 operands, not 3"));
    let words = "clamp: operand 2 is float32, it takes uint8; write astype(x, uint8)";
    assert_eq!(wrong(&[&x, &x]), says(ErrorKind::DType, words));
    // Operands are not promoted, in NumPy's mode either.
    assert_eq!(with_promotion(Promotion::NumPy, || wrong(&[&x, &x])), says(ErrorKind::DType, words));
    let four = Array::from_vec(vec![1_u8; 4]);
    let words = "clamp: cannot broadcast float32[3] with uint8[4] (axis -1: 3 and 4)";
    assert_eq!(wrong(&[&x, &four]), says(ErrorKind::Shape, words));
    let words = "clamp: -1 cannot be represented as uint8";
    assert_eq!(wrong(&[&x, &Array::scalar(-1)]), says(ErrorKind::Literal, words));
    let name = HostFunction::new("no name", |x: f32| x).map(|_| ()).map_err(Error::from).unwrap_err();
    assert_eq!(name.kind(), ErrorKind::Name);
}

/// A function is also called for elements that no result reads, and a failed division in its operand fails the
/// evaluation.
#[test]
fn what_stands_around_a_call_does_not_change_it() -> Result<()> {
    let f = host("add_one", |x: i32| x.wrapping_add(1));
    let x = Array::from_vec((0..100).collect::<Vec<i32>>());
    let guarded = where_(x.greater(50), Array::call(&f, [&x])?, 0);
    let want: Vec<u64> = (0..100).map(|x| if x > 50 { x + 1 } else { 0 }).collect();
    everywhere(&guarded, &want);
    for options in ways() {
        let strict = Options { int_division: IntDivision::Error, ..options };
        let quotient = Array::call(&f, [x.floor_divide(&x)])?;
        assert!(quotient.eval_with(&strict).is_err_and(|e| e.is_zero_division()), "{strict:?}");
        let slice = quotient.slice([Range::from(1..)])?;
        assert!(slice.eval_with(&strict).is_err_and(|e| e.is_zero_division()), "{strict:?}");
    }
    Ok(())
}

/// The declared cost decides whether an operand of a broadcast is computed once and kept.
#[test]
fn the_declared_cost_reaches_the_model() -> Result<()> {
    let rows = Array::from_vec((0..2000).map(f64::from).collect::<Vec<f64>>());
    let many = Array::zeros(&[2, 1], DType::Float64)?;
    let calls = Arc::new(AtomicUsize::new(0));
    for (cost, once) in [(1, false), (5000, true)] {
        let counted = calls.clone();
        let f = host("dear", move |x: f64| {
            counted.fetch_add(1, Ordering::Relaxed);
            x + 1.0
        })
        .with_cost(cost);
        let table = Array::call(&f, [&rows])? + &many;
        assert_eq!(table.explain()?.contains("is materialised"), once, "{}", table.explain()?);
        for options in ways() {
            calls.store(0, Ordering::Relaxed);
            assert_eq!(table.eval_with(&options)?.to_vec::<f64>()?[1999], 2000.0);
            let calls = calls.load(Ordering::Relaxed);
            assert!(if once { calls < 3000 } else { calls >= 4000 }, "{calls} calls, {options:?}");
        }
    }
    Ok(())
}

/// A costly function does not count as long code.
#[cfg(feature = "jit")]
#[test]
fn a_dear_function_is_compiled_and_an_estimate_counts_it() -> Result<()> {
    let f = host("dear", |x: f32| x.sqrt()).with_cost(1_000_000);
    let x = Array::zeros(&[100], DType::Float32)?.eval()?;
    let y = Array::call(&f, [&x + 1])?;
    let options = Runner::JIT.options();
    let kernel = Kernel::new(&[&y], &[&x], &options)?;
    assert_eq!(kernel.executors(), [broadloom::Executor::Jit]);
    let said = y.explain_with(&options, false)?;
    let estimate = said.split("an estimated ").nth(1).and_then(|s| s.split(" on one").next());
    assert!(estimate.is_some_and(|time| time.ends_with(" ms")), "{said}");
    Ok(())
}

#[test]
fn texts_show_a_function_by_its_name() -> Result<()> {
    let f = host("haversine", |x: f64, y: f64| x.hypot(y));
    let x = Array::from_vec(vec![1.0; 20]);
    let y = Array::call(&f, [&x, &(&x * 2)])?;
    let said = y.explain()?;
    assert!(said.contains("float64[20] = haversine(n0, "), "{said}");
    assert!(said.contains("host haversine(float64, float64 -> float64) v0, v"), "{said}");
    // This text is the same on every machine, because it is always the CLIF for x86-64, whose back end is part of builds
    // for x86-64.
    if cfg!(all(feature = "jit", target_arch = "x86_64")) {
        let clif = typed_graph(&[&y], &Options::default())?.clif()?;
        assert!(clif.starts_with("; constants+0: haversine(float64, float64 -> float64)\n"), "{clif}");
        // The text contains no address of this process.
        assert_eq!(clif, typed_graph(&[&y], &Options::default())?.clif()?);
        let address = format!("0x{:x}", f.entry() as usize).replace("_", "");
        assert!(!clif.replace('_', "").contains(&address), "{clif}");
    }
    Ok(())
}

/// Kernels run on many threads at once, and a function may evaluate an expression itself.
#[test]
fn many_threads_at_once_and_evaluations_inside() -> Result<()> {
    let f = host("inner", |x: f64| {
        let y = (Array::from_vec(vec![x; 40]) * 2).eval().and_then(|y| y.to_vec::<f64>());
        y.map_or(f64::NAN, |y| y[39])
    });
    let x = Array::zeros(&[64], DType::Float64)?.eval()?;
    for options in ways() {
        let kernel = Kernel::new(&[&(Array::call(&f, [&x])? + 1)], &[&x], &options)?;
        std::thread::scope(|scope| {
            for t in 0..4 {
                let kernel = &kernel;
                scope.spawn(move || {
                    let mut out = [0.0; 64];
                    for i in 0..5 {
                        let input = [f64::from(t * 100 + i); 64];
                        kernel.run(&[(&input).into()], [(&mut out).into()]).expect("runs");
                        assert_eq!(out, [f64::from(t * 100 + i) * 2.0 + 1.0; 64]);
                    }
                });
            }
        });
    }
    Ok(())
}

/// Kernels with dynamic dimensions. The identity of a kernel contains the name and the dtypes of a function; which
/// function runs depends on its registration.
#[test]
fn kernels_of_open_extents() -> Result<()> {
    let x = Array::input("x", DType::Float64, &["n".into(), 3.into()])?;
    let k = Array::input("k", DType::Int32, &[3.into()])?;
    let kernel = |f: &HostFunction, options: &Options| -> Result<Kernel> {
        let y = Array::call(f, [&x + 1, k.clone()])?;
        assert_eq!(y.dims().map(<[_]>::len), Some(2));
        Kernel::new(&[&(y * 2)], &[&x, &k], options)
    };
    let (f, other) = (host("fold", fold), host("fold", |x: f64, n: i32| x + f64::from(n)));
    for options in ways() {
        for n in [1, 2, 50] {
            let rows: Vec<f64> = (0..3 * n).map(f64::from).collect();
            let mut out = vec![0.0; rows.len()];
            for (function, model) in [(&f, fold as fn(f64, i32) -> f64), (&other, |x, n| x + f64::from(n))] {
                kernel(function, &options)?
                    .run(&[rows[..].into(), (&[5_i32, -6, 700]).into()], [out[..].as_mut().into()])?;
                let want: Vec<f64> =
                    rows.iter().enumerate().map(|(i, x)| model(x + 1.0, [5, -6, 700][i % 3]) * 2.0).collect();
                assert_eq!(out, want, "{options:?}");
            }
        }
    }
    let options = Options::default();
    let renamed = host("fold2", fold);
    assert_eq!(kernel(&f, &options)?.id(), kernel(&f.clone().with_cost(7), &options)?.id());
    assert_eq!(kernel(&f, &options)?.id(), kernel(&host("fold", fold), &options)?.id());
    assert_ne!(kernel(&f, &options)?.id(), kernel(&renamed, &options)?.id());
    Ok(())
}

/// Building, planning and dropping an expression take an amount of stack that does not grow with the expression.
#[test]
fn a_long_chain_of_calls() -> Result<()> {
    let f = host("step", |x: u32| x.wrapping_mul(5) ^ 1);
    let mut x = Array::from_vec(vec![1_u32, 2, 3]);
    let mut want = [1_u32, 2, 3];
    for _ in 0..20_000 {
        x = Array::call(&f, [&x])?;
        want = want.map(|x| x.wrapping_mul(5) ^ 1);
    }
    let options = Runner::INTERP.options();
    assert_eq!(x.eval_with(&options)?.to_vec::<u32>()?, want);
    Ok(())
}

/// Random expressions of ops and calls, on arrays and numbers, have the same results on all executors and with several
/// threads.
#[test]
fn random_expressions_are_the_same_everywhere() -> Result<()> {
    let functions = [
        host("f0", |x: f32, y: f64| x as f64 * 0.5 - y),
        host("f1", |x: f64| x as f32),
        host("f2", |x: f32| x.to_bits().rotate_left(9) as i32),
        host("f3", |n: i32, b: bool| if b { n } else { !n }),
        host("f4", |n: i32| n as i8),
        host("f5", |n: i8, x: f16, y: f32| f32::from(n) + x.to_f32() * y),
        host("f6", |x: f32| f16::from_f32(x)),
        host("f7", |x: f16, n: i8| x.to_bits() > n as u16),
        host("f8", |b: bool, x: f64, y: f64| if b { x } else { -y }),
    ];
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let (rows, columns) = (1 + rng.below(4), 1 + rng.below(90));
        let mut pool: Vec<Array<'static>> = Vec::new();
        for dtype in [DType::Float32, DType::Float64, DType::Int32, DType::Int8, DType::Float16, DType::Bool]
        {
            let values = broadloom_testkit::edge_cases::values(dtype);
            let bits: Vec<u64> =
                (0..rows * columns).map(|_| rng.pick(&values).map_or(0, |v| v.bits)).collect();
            pool.push(elements::array(dtype, &[rows, columns], &bits));
        }
        for _ in 0..12 {
            let any = |dtype: DType, rng: &mut Rng, pool: &[Array<'static>]| {
                let fits: Vec<&Array<'static>> = pool.iter().filter(|x| x.dtype() == dtype).collect();
                rng.pick(&fits).map(|x| (*x).clone())
            };
            let next = match rng.below(4) {
                0 => {
                    let x = &pool[rng.below(pool.len())];
                    x.flip(rng.below(2) as isize)?
                }
                1 => {
                    let x = &pool[rng.below(pool.len())];
                    let y = any(x.dtype(), &mut rng, &pool).expect("x itself");
                    if x.dtype() == DType::Bool { x ^ y } else { x * y }
                }
                _ => {
                    let f = &functions[rng.below(functions.len())];
                    let takes = f.signature();
                    let operands = takes.operands().iter().filter_map(|&d| any(d, &mut rng, &pool));
                    Array::call(f, operands.collect::<Vec<_>>())?
                }
            };
            pool.push(next);
        }
        let roots: Vec<&Array<'_>> = pool.iter().rev().take(3).collect();
        let first = Evaluation::with(&Runner::INTERP.options()).eval_many(&roots)?;
        for options in ways() {
            for (a, b) in first.iter().zip(Evaluation::with(&options).eval_many(&roots)?) {
                assert!(
                    elements::bits(a)? == elements::bits(&b)?,
                    "seed {seed}, {options:?}\n{}",
                    typed_graph(&roots, &options)?.graph
                );
            }
        }
    }
    Ok(())
}

/// An expression is not printed if its text would be read back as another expression.
#[test]
fn a_function_that_a_text_can_not_name_is_not_printed() -> Result<()> {
    let x = Array::from_vec(vec![1.0_f32, 4.0]);
    let [own, other] = [1.0_f32, 2.0].map(|y| HostFunction::new("own", move |x: f32| x + y));
    let (own, other) = (own?, other?);
    let sqrt = HostFunction::new("sqrt", |x: f32| -x)?;
    let print = |y: &Array<'_>| broadloom::text::print(&[("y", y)]);
    assert!(print(&Array::call(&own, [&x])?)?.contains("own(in0)"));
    for y in [Array::call(&sqrt, [&x])?, Array::call(&own, [&x])? + Array::call(&other, [&x])?] {
        assert_eq!(print(&y).expect_err("two meanings").kind(), broadloom::ErrorKind::Name);
    }
    let x = Array::input("x", DType::Float32, &["float32".into()])?;
    assert_eq!(print(&(x + 1)).expect_err("a dtype's name").kind(), broadloom::ErrorKind::Name);
    Ok(())
}
