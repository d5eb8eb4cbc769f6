//! Conditionals: each element takes the branch that its predicate names, and nothing of the other one has an effect.

use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom::prelude::*;
use broadloom::text::{Program, print};
use broadloom::{ErrorKind, HostFunction, IntDivision, Kernel, cond, try_cond, while_loop};
use broadloom_testkit::Runner;

/// The options of the interpreter, and of machine code of every width if there is a compiler.
fn executors() -> Vec<Options> {
    let can_run = |runner: &Runner| cfg!(feature = "jit") || *runner == Runner::INTERP;
    Runner::all().filter(can_run).map(Runner::options).collect()
}

fn bits(x: &Array<'_>, options: &Options) -> Result<Vec<u64>> {
    Ok(x.eval_with(options)?.to_vec::<f64>()?.into_iter().map(f64::to_bits).collect())
}

/// A branch's function.
type Branch<'b> = &'b dyn Fn() -> Array<'static>;

fn checked() -> Options {
    Options { int_division: IntDivision::Error, ..Options::default() }
}

/// Both branches cost enough to be skipped, one does, or neither: the results are the same.
#[test]
fn the_results_are_those_of_a_selection() -> Result<()> {
    for n in [1, 3, 8, 33, 1000] {
        let values: Vec<f64> = (0..n).map(|i| (i * 37 % 101) as f64 - 50.0).collect();
        let x = Array::from_vec(values.clone());
        let nan = Array::from_vec(vec![f64::from_bits(0x7ff8_0000_0000_0abc); n]);
        for predicate in [x.greater(0), x.greater(-100), x.greater(100), x.remainder(2).equal(0)] {
            let pairs: [[Branch<'_>; 2]; 5] = [
                [&|| x.exp(), &|| x.sin() * x.cos()],
                [&|| x.exp(), &|| &x + 1.0],
                [&|| &x + 1.0, &|| x.exp()],
                [&|| &x + 1.0, &|| -&x],
                [&|| nan.clone(), &|| x.exp().tanh()],
            ];
            for [then, otherwise] in pairs {
                let [taken] = cond(&predicate, || [then()], || [otherwise()])?;
                let selected = where_(&predicate, then(), otherwise());
                for options in executors() {
                    assert_eq!(bits(&taken, &options)?, bits(&selected, &options)?, "{n} {options:?}");
                }
            }
        }
    }
    Ok(())
}

/// The smallest case by hand: the branches of each element, with several results of different dtypes.
#[test]
fn each_element_takes_its_branch() -> Result<()> {
    let x = Array::from_vec(vec![4.0_f64, -9.0, 0.0, f64::NAN]);
    let [root, sign] = cond(
        &x.greater_equal(0),
        || [x.sqrt().exp().log(), Array::scalar(1_i8)],
        || [-&x, Array::scalar(-1_i8)],
    )?;
    let root = root.to_vec::<f64>()?;
    assert_eq!(root[..3], [2.0, 9.0, 0.0]);
    assert!(root[3].is_nan(), "a comparison with NaN is false, and the negative of NaN is NaN");
    assert_eq!(sign.to_vec::<i8>()?, [1, -1, 1, -1]);
    Ok(())
}

#[test]
fn a_branch_that_is_not_taken_does_not_fail() -> Result<()> {
    let (a, b) = (Array::from_vec(vec![7_i32, -7, 5]), Array::from_vec(vec![2_i32, 0, 5]));
    let divide = || [a.floor_divide(&b)];
    let [guarded] = cond(&b.not_equal(0), divide, || [Array::scalar(99)])?;
    let [reversed] = cond(&b.equal(0), || [Array::scalar(99)], divide)?;
    let [open] = cond(&b.less(5), divide, || [Array::scalar(99)])?;
    for options in executors() {
        let options = Options { int_division: IntDivision::Error, ..options };
        assert_eq!(guarded.eval_with(&options)?.to_vec::<i32>()?, [3, 99, 1]);
        assert_eq!(reversed.eval_with(&options)?.to_vec::<i32>()?, [3, 99, 1]);
        let error = open.eval_with(&options).expect_err("one element divides by zero");
        assert_eq!(error.kind(), ErrorKind::ZeroDivision);
    }
    // What was computed outside of the functions is computed for all elements.
    let outside = a.floor_divide(&b);
    let [whole] = cond(&b.not_equal(0), || [outside.clone()], || [Array::scalar(99)])?;
    assert!(whole.eval_with(&checked()).is_err());
    Ok(())
}

#[test]
fn host_functions_are_called_for_the_elements_that_take_the_branch() -> Result<()> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let f = HostFunction::new("counted", |x: f64| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        x + 0.5
    })?;
    let x = Array::from_vec((0..5000).map(f64::from).collect::<Vec<_>>());
    let call = || Array::call(&f, std::slice::from_ref(&x)).map(|x| vec![x]);
    let taken = try_cond(&x.remainder(7).equal(0), call, || Ok(vec![-&x]))?;
    for options in executors() {
        CALLS.store(0, Ordering::Relaxed);
        let values = taken[0].eval_with(&options)?.to_vec::<f64>()?;
        let expected = |i: usize| if i.is_multiple_of(7) { i as f64 + 0.5 } else { -(i as f64) };
        assert!(values.iter().enumerate().all(|(i, x)| *x == expected(i)), "{options:?}");
        assert_eq!(CALLS.load(Ordering::Relaxed), 5000_usize.div_ceil(7), "{options:?}");
    }
    Ok(())
}

#[test]
fn branches_contain_branches_and_loops() -> Result<()> {
    let x = Array::from_vec(vec![12_i64, 7, -4, 0, 100]);
    let halved =
        || while_loop(|[x]| (x % 2).equal(0), |[x]| [x.floor_divide(2)], [x.clone()], 50).map(|x| x.to_vec());
    let inner = || try_cond(&x.equal(0), || Ok(vec![Array::scalar(-1)]), halved);
    let outer = try_cond(&x.less(0), || Ok(vec![Array::scalar(60).floor_divide(&x)]), inner)?;
    for options in executors() {
        let options = Options { int_division: IntDivision::Error, ..options };
        assert_eq!(outer[0].eval_with(&options)?.to_vec::<i64>()?, [3, 7, -15, -1, 25]);
    }
    // A conditional in the body of a loop: the steps of Collatz.
    let next = |n: &Array<'static>| {
        cond(&(n % 2).equal(0), || [n.floor_divide(2)], || [n * 3 + 1]).map(|[n]| n).expect("a branch")
    };
    let [last] = while_loop(|[n]| n.greater(1), |[n]| [next(n)], [Array::from_vec(vec![27_i64, 1])], 3)?;
    assert_eq!(last.to_vec::<i64>()?, [124, 1]);
    Ok(())
}

/// An element without iterations does not fail, even if what fails does not depend on the loop.
#[test]
fn what_can_fail_stays_in_its_loop() -> Result<()> {
    let (a, b) = (Array::from_vec(vec![6_i32, 6]), Array::from_vec(vec![3_i32, 0]));
    let [sum] = while_loop(
        |[sum]| Array::apply(broadloom::Op::LogicalAnd, &[sum.less(5), b.greater(0)]).expect("bool"),
        |[sum]| [sum + a.floor_divide(&b)],
        [Array::scalar(0)],
        None,
    )?;
    for options in executors() {
        let options = Options { int_division: IntDivision::Error, ..options };
        assert_eq!(sum.eval_with(&options)?.to_vec::<i32>()?, [6, 0]);
    }
    // A reduction is computed before, with everything that it needs.
    let [x] = while_loop(
        |[x]| x.less(0),
        |[x]| [x + a.floor_divide(&b).sum(()).expect("a sum")],
        [Array::from_vec(vec![1_i64])],
        None,
    )?;
    assert!(x.eval_with(&checked()).is_err());
    Ok(())
}

#[test]
fn shapes_broadcast_over_predicate_and_branches() -> Result<()> {
    let predicate = Array::from_shape_vec(&[2, 1], vec![true, false])?;
    let row = Array::from_vec(vec![1.0_f64, 2.0, 3.0]);
    let [a, b] = cond(&predicate, || [row.exp(), Array::scalar(1.0)], || [Array::scalar(0.0), row.clone()])?;
    assert_eq!((a.shape(), b.shape()), (&[2, 3][..], &[2, 3][..]));
    assert_eq!(b.to_vec::<f64>()?, [1.0, 1.0, 1.0, 1.0, 2.0, 3.0]);
    let [none] = cond(&Array::scalar(true), || [row.exp()], || [row.log()])?;
    assert_eq!(bits(&none, &Options::default())?, bits(&row.exp(), &Options::default())?);
    let empty = Array::from_vec(Vec::<f64>::new());
    let [x] = cond(&empty.less(0), || [empty.exp()], || [empty.log()])?;
    assert_eq!(x.to_vec::<f64>()?, [0.0; 0]);
    Ok(())
}

/// The text of a kernel is read back as the same kernel, with its branches.
#[test]
fn a_printed_branch_is_read_back() -> Result<()> {
    let x = Array::input("x", DType::Int32, &["n".into()])?;
    let [y] = cond(&x.not_equal(0), || [Array::scalar(60).floor_divide(&x)], || [Array::scalar(-1)])?;
    let text = print(&[("y", &y)])?;
    let read = Program::parse(&text)?.kernel(&checked())?;
    assert_eq!(read.id(), Kernel::named(&[("y", &y)], &[&x], &checked())?.id(), "{text}");
    // Nothing of a branch is computed before it.
    let [y] = cond(&x.less(0), || [x.astype(DType::Float64).exp().tanh()], || [Array::scalar(0.0)])?;
    let text = print(&[("y", &y)])?;
    let (before, branch) = text.split_once("limit 1 {").expect("a loop");
    assert!(branch.contains("exp(") && !before.contains("exp("), "{text}");
    let mut out = [0_i32; 2];
    read.run(&[[7_i32, 0][..].into()], [(&mut out[..]).into()])?;
    assert_eq!(out, [8, -1], "{text}");
    Ok(())
}

#[test]
fn what_is_no_conditional_is_refused_when_it_is_built() {
    let x = Array::from_vec(vec![1.0_f64, 2.0]);
    let refused = |made: Result<Vec<Array<'static>>>, kind: ErrorKind, words: &str| {
        let error = made.expect_err("refused");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let one = |x: &Array<'static>| Ok(vec![x.clone()]);
    refused(
        try_cond(&x, || one(&x), || one(&x)),
        ErrorKind::DType,
        "the predicate must be bool, not float64[2]",
    );
    let p = x.less(2);
    refused(
        try_cond(&p, || one(&x), || Ok(vec![x.clone(), x.clone()])),
        ErrorKind::Arity,
        "one function returns 1 results, the other 2",
    );
    refused(try_cond(&p, || Ok(vec![]), || Ok(vec![])), ErrorKind::Arity, "return nothing");
    let long = Array::from_vec(vec![1.0_f64; 3]);
    refused(try_cond(&p, || one(&x), || one(&long)), ErrorKind::Shape, "[3]");
    let ints = Array::from_vec(vec![1_i64, 2]);
    refused(try_cond(&p, || one(&x), || one(&ints)), ErrorKind::DType, "int64");
    let failing = || Err(broadloom::Error::new(ErrorKind::Name, "a name"));
    refused(try_cond(&p, failing, || one(&x)), ErrorKind::Name, "a name");
}
