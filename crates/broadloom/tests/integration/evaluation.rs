//! Evaluation does not change other handles, and does not write to memory that another handle
//! refers to.

use broadloom::prelude::*;
use broadloom::{Executor, Kernel, Options, Out};
use broadloom_testkit::Runner;

mod cancel;

fn floats(data: &[f32]) -> Array<'static> {
    Array::from_vec(data.to_vec())
}

fn address(x: &Array<'_>) -> *const f32 {
    x.as_slice().map_or(std::ptr::null(), <[f32]>::as_ptr)
}

#[test]
fn a_handle_stays_lazy() -> Result<()> {
    let x = floats(&[1.0, 2.0]);
    let y = &x + 1;
    let z = y.eval()?;
    assert!(!y.is_evaluated() && z.is_evaluated());
    assert_eq!(z.as_slice::<f32>(), Some(&[2.0, 3.0][..]));
    assert_eq!(y.as_slice::<f32>(), None);
    Ok(())
}

#[test]
fn eval_shares_what_is_owned_and_copies_what_is_borrowed() -> Result<()> {
    let x = floats(&[1.0, 2.0]);
    assert_eq!(address(&x.eval()?), address(&x));
    let data = [1.0f32, 2.0];
    let owned: Array<'static> = Array::from_slice(&data).eval()?;
    assert_ne!(address(&owned), data.as_ptr());
    assert_eq!(owned.to_vec::<f32>()?, data);
    let turned = Array::from_shape_vec(&[2, 2], vec![1f32, 2.0, 3.0, 4.0])?.t();
    assert_eq!(turned.eval()?.as_slice::<f32>(), Some(&[1.0, 3.0, 2.0, 4.0][..]));
    Ok(())
}

#[test]
fn several_roots_at_once() -> Result<()> {
    let x = floats(&[1.0, 4.0]);
    let root = x.sqrt();
    let all = eval_many(&[&root, &x, &(&root * &root), &root, &Array::scalar(3)])?;
    let shown: Vec<String> = all.iter().map(|x| x.to_string()).collect();
    assert_eq!(shown, ["[1. 2.]", "[1. 4.]", "[1. 4.]", "[1. 2.]", "3"]);
    assert_eq!(eval_many(&[])?.len(), 0);
    Ok(())
}

#[test]
fn into_the_callers_memory() -> Result<()> {
    let x = Array::from_shape_vec(&[2, 2], vec![1i16, 2, 3, 4])?;
    let mut out = [0i16; 4];
    (x.t() * 10).eval_into(&mut out)?;
    assert_eq!(out, [10, 30, 20, 40]);
    let mut truth = vec![false; 4];
    x.greater(2).eval_into(&mut truth)?;
    assert_eq!(truth, [false, false, true, true]);
    Array::zeros(&[0, 3], DType::Int16)?.eval_into::<i16>(&mut [])?;
    Ok(())
}

#[test]
fn memory_that_nobody_else_holds_is_reused() -> Result<()> {
    let x = floats(&[1.0, 2.0, 3.0]);
    let mut out = floats(&[0.0; 3]);
    let before = address(&out);
    Evaluation::default().eval_into_array(&(&x * 2), &mut out)?;
    assert_eq!(out.to_vec::<f32>()?, [2.0, 4.0, 6.0]);
    assert_eq!(address(&out), before);
    // An output without memory gets memory, and keeps it for the next evaluation.
    let mut out = Array::zeros(&[3], DType::Float32)?;
    Evaluation::default().eval_into_array(&(&x * 2), &mut out)?;
    let first = address(&out);
    Evaluation::default().eval_into_array(&(&x * 3), &mut out)?;
    assert_eq!((out.to_vec::<f32>()?, address(&out)), (vec![3.0, 6.0, 9.0], first));
    Ok(())
}

#[test]
fn strided_outputs_are_written_in_place() -> Result<()> {
    let mut out = Array::from_shape_vec(&[2, 3], vec![0i32; 6])?.t().flip(0)?;
    let strides = out.strides().map(<[isize]>::to_vec);
    Evaluation::default()
        .eval_into_array(&Array::from_shape_vec(&[3, 2], vec![1, 2, 3, 4, 5, 6])?, &mut out)?;
    assert_eq!(out.to_vec::<i32>()?, [1, 2, 3, 4, 5, 6]);
    assert_eq!(out.strides().map(<[isize]>::to_vec), strides);
    Ok(())
}

#[test]
fn a_lazy_handle_means_the_values_at_the_time_it_was_built() -> Result<()> {
    type Hold = fn(&Array<'static>) -> Array<'static>;
    // Every way to refer to the output's memory. The values that the holder refers to must not
    // change.
    let holders: [(&str, Hold); 6] = [
        ("a clone", |x| x.clone()),
        ("an expression", |x| x * 1),
        ("a view", |x| x.flip(0).and_then(|x| x.flip(0)).expect("has an axis")),
        ("an expression of a view", |x| x.reshape(&[3, 1]).and_then(|x| (x + 0).squeeze(1)).expect("fits")),
        ("an evaluated handle", |x| x.eval().expect("evaluates")),
        ("a lazy view", |x| x.positive().slice(..).expect("fits")),
    ];
    for (how, hold) in holders {
        let mut out = floats(&[1.0, 2.0, 3.0]);
        let held = hold(&out);
        Evaluation::default().eval_into_array(&floats(&[7.0, 8.0, 9.0]).square(), &mut out)?;
        assert_eq!(out.to_vec::<f32>()?, [49.0, 64.0, 81.0], "{how}");
        assert_eq!(held.to_vec::<f32>()?, [1.0, 2.0, 3.0], "{how}");
    }
    Ok(())
}

#[test]
fn an_output_that_the_expression_reads() -> Result<()> {
    let mut x = floats(&[1.0, 2.0, 3.0]);
    for _ in 0..3 {
        Evaluation::default().eval_into_array(&(&x + x.flip(0)?), &mut x)?;
    }
    assert_eq!(x.to_vec::<f32>()?, [16.0; 3]);
    Ok(())
}

#[test]
fn handles_cross_threads() {
    let x = floats(&[1.0, 2.0]);
    let y = &x * 3;
    let sums: Vec<Vec<f32>> = std::thread::scope(|s| {
        let each = (0..4).map(|_| s.spawn(|| (&y + &x).to_vec::<f32>().expect("float32")));
        each.collect::<Vec<_>>().into_iter().map(|t| t.join().expect("no panic")).collect()
    });
    assert_eq!(sums, vec![vec![4.0, 8.0]; 4]);
}

#[test]
fn a_kernel_tells_who_runs_it() -> Result<()> {
    let x = Array::from_vec(vec![0.5_f32; 7]);
    let y = Array::from_vec(vec![0.5_f32; 5]);
    // Results of two shapes are computed by two loops.
    let roots = [&(&x * 3.25 - &x), &(&y * 3.25 + &y * &y)];
    let told = |executor| {
        let options = Options { executor, ..Options::default() };
        let kernel = Kernel::new(&roots, &[&x, &y], &options)?;
        let (mut a, mut b) = ([0.0_f32; 7], [0.0_f32; 5]);
        let before = kernel.executors();
        kernel.run(&[(&[1.0_f32; 7]).into(), (&[2.0_f32; 5]).into()], [(&mut a).into(), (&mut b).into()])?;
        assert_eq!((a, b), ([2.25; 7], [10.5; 5]));
        assert_eq!(kernel.executors(), before, "a run so short changes nothing");
        Ok::<_, Error>(before)
    };
    // For a few elements, nothing is compiled.
    assert_eq!(told(Executor::Auto)?, [Executor::Interp; 2]);
    assert_eq!(told(Executor::Interp)?, [Executor::Interp; 2]);
    let compiled = if cfg!(feature = "jit") { Executor::Jit } else { Executor::Interp };
    assert_eq!(told(Executor::Jit)?, [compiled; 2]);
    // Code that was already compiled is used.
    assert_eq!(told(Executor::Auto)?, [compiled; 2]);
    Ok(())
}

#[test]
fn bools_of_a_kernel_are_bytes() -> Result<()> {
    let x = Array::from_vec(vec![0.0_f64; 300]);
    let data: Vec<f64> =
        (0..300).map(|i| if i % 7 == 0 { f64::NAN } else { f64::from(i % 5) - 2.0 }).collect();
    let expected: Vec<u8> = data.iter().map(|&x| u8::from(x >= 0.0)).collect();
    for runner in Runner::all() {
        let options = runner.options();
        let kernel = Kernel::new(&[&x.greater_equal(0)], &[&x], &options)?;
        let mut out = vec![7_u8; 300];
        kernel.run(&[(&data[..]).into()], [Out::bool_bytes(&mut out)])?;
        assert_eq!(out, expected);
        let error = kernel.run(&[(&data[..]).into()], [(&mut out[..]).into()]).expect_err("no bools");
        assert_eq!(error.to_string(), "kernel: output 0 is uint8, it was built for bool");
        let error = kernel.run(&[(&data[..]).into()], [Out::bool_bytes(&mut out[1..])]).expect_err("too few");
        assert_eq!(error.to_string(), "kernel: output 0 has 299 elements, it was built for 300");
    }
    let numbers = Kernel::new(&[&(&x + 1)], &[&x], &Options::default())?;
    let error = numbers.run(&[(&data[..]).into()], [Out::bool_bytes(&mut [0; 300])]).expect_err("no numbers");
    assert_eq!(error.to_string(), "kernel: output 0 is bool, it was built for float64");
    Ok(())
}
