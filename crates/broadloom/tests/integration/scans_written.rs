//! Scans in texts, kernels and explanations, built operation by operation, and refused when they are built.

use broadloom::prelude::*;
use broadloom::text::{Library, ParseOptions, Printed, Program};
use broadloom::{Along, Dim, ErrorKind, HostFunction, In, Kernel, OpenScan, Out, scan, try_scan, while_loop};

use crate::scan::{Reference, bits, halved, halved_numbers, noise};

/// A scan that is built operation by operation has the values of one that a function builds: with captured values of more axes,
/// from the end, with a loop in its step, and without inputs.
#[test]
fn scans_are_built_operation_by_operation() -> Result<()> {
    let x = Array::from_shape_vec(&[5, 3], noise(15))?;
    let weights = Array::from_shape_vec(&[2, 1, 1], noise(2))?;
    let halves = |s: &Array<'static>| {
        let halved = while_loop(|[v]| v.abs().greater(0.25), |[v]| [v * 0.5], [s.clone()], None);
        halved.map(|[v]| v).expect("a loop")
    };
    let step = |s: &Array<'static>, x: &Array<'static>| {
        let next = s * &weights + x;
        (next.clone(), halves(&next))
    };
    for along in [Along::axis(0), Along::axis(-1).reverse(), Along::axis(1).length(3)] {
        let start = [Array::from_vec(vec![0.5_f64]).reshape(&[])?];
        let expected = |[s]: &[Array<'static>; 1], [x]: &[Array<'static>; 1]| {
            let (next, output) = step(s, x);
            ([next], [output])
        };
        let ([last], [outputs]) = scan(expected, start.clone(), [x.clone()], along)?;
        let open = OpenScan::begin(&start, std::slice::from_ref(&x), along)?;
        let (next, output) = open.build(|| step(&open.states()[0], &open.elements()[0]));
        let (made, all) = open.end(&[next], &[output])?;
        for (got, wanted) in [(&made[0], &last), (&all[0], &outputs)] {
            assert_eq!(got.shape(), wanted.shape(), "{along:?}");
            assert_eq!(bits(&got.to_vec::<f64>()?), bits(&wanted.to_vec::<f64>()?), "{along:?}");
        }
    }

    let open = OpenScan::begin(&[Array::scalar(3_i64)], &[], Along::axis(0).length(4))?;
    assert!(open.elements().is_empty());
    let (tripled, before) = open.build(|| (&open.states()[0] * 3, open.states()[0].clone()));
    let (last, all) = open.end(&[tripled], &[before])?;
    assert_eq!((last[0].item::<i64>()?, all[0].to_vec::<i64>()?), (243, vec![3, 9, 27, 81]));

    let open = OpenScan::begin(&[Array::scalar(3_i64)], &[x], 0)?;
    let error = open.end(&[], &[]).map(drop).expect_err("no next state");
    assert_eq!(error.kind(), ErrorKind::Arity, "{error}");
    let error = open.end(&[open.elements()[0].clone()], &[]).map(drop).expect_err("another dtype");
    assert!(error.kind() == ErrorKind::DType && error.to_string().contains("state 0 is int64"), "{error}");
    Ok(())
}

#[test]
fn what_can_not_be_a_scan_is_refused_when_it_is_built() -> Result<()> {
    type Values = Vec<Array<'static>>;
    type Made = Result<(Values, Values)>;
    type Step<'f> = &'f dyn Fn(&[Array<'static>], &[Array<'static>]) -> Made;
    let x = || Array::from_shape_vec(&[4, 3], vec![1.0_f32; 12]).expect("a shape");
    let state = || Array::from_vec(vec![1.0_f32, 2.0, 3.0]);
    let cases: &[(Step<'_>, ErrorKind, &str)] = &[
        (
            &|s, _| Ok((vec![s[0].astype(DType::Float64)], vec![])),
            ErrorKind::DType,
            "scan: state 0 is float32, but becomes float64",
        ),
        (
            &|_, _| Ok((vec![Array::from_vec(vec![1.0_f32, 2.0])], vec![])),
            ErrorKind::Shape,
            "scan: state 0 is float32[3], but becomes float32[2]",
        ),
        (&|s, _| Ok((vec![s[0].sum(())?], vec![])), ErrorKind::Shape, "scan: state 0 is made by sum"),
        (
            &|s, x| Ok((vec![s[0].clone()], vec![x[0].flip(0)?])),
            ErrorKind::Shape,
            "scan: output 0 is made by",
        ),
        (&|_, _| Ok((vec![], vec![])), ErrorKind::Arity, "scan: the step takes 1 state, but returns 0"),
        (
            &|s, x| {
                let inner =
                    |s: &[Array<'static>], x: &[Array<'static>]| Ok((vec![s[0].try_add(&x[0])?], vec![]));
                let (last, _) = try_scan(&inner, &[s[0].sum(())?], &[x[0].clone()], 0)?;
                Ok((last, vec![]))
            },
            ErrorKind::Shape,
            "made by",
        ),
        (
            &|s, x| Ok((vec![s[0].try_add(&x[0])?.try_add(Array::from_vec(vec![1.0_f32; 2]))?], vec![])),
            ErrorKind::Shape,
            "cannot broadcast",
        ),
        (&|s, _| Ok((s.to_vec(), vec![s[0].clone(); 65])), ErrorKind::Limit, "65 outputs, the limit is 64"),
    ];
    for (step, kind, why) in cases {
        let error = try_scan(*step, &[state()], &[x()], 0).map(drop).expect_err(why);
        assert!(error.kind() == *kind && error.to_string().contains(why), "{why}: {error}");
    }
    let keep: Step<'_> = &|s, _| Ok((s.to_vec(), vec![]));
    let refused = |state: Values, inputs: Values, along: Along| {
        try_scan(keep, &state, &inputs, along).map(drop).expect_err("refused")
    };
    for (error, kind, why) in [
        (refused(vec![], vec![x()], 0.into()), ErrorKind::Arity, "there is no state"),
        (refused(vec![state()], vec![], 0.into()), ErrorKind::Arity, "neither inputs nor a length"),
        (refused(vec![state(); 65], vec![x()], 0.into()), ErrorKind::Limit, "65 states"),
        (refused(vec![state()], vec![x()], 2.into()), ErrorKind::Shape, "has no axis 2"),
        (refused(vec![state()], vec![x()], (-3).into()), ErrorKind::Shape, "has no axis -3"),
        (
            refused(vec![state()], vec![x(), x().slice((..2, ..))?], 0.into()),
            ErrorKind::Shape,
            "input 1 has 2 elements",
        ),
        (refused(vec![state()], vec![x()], Along::axis(0).length(5)), ErrorKind::Shape, "the length 5"),
        (refused(vec![state()], vec![Array::scalar(1.0)], 0.into()), ErrorKind::Shape, "has no axis 0"),
        (
            refused(vec![Array::from_vec(vec![1.0; 2])], vec![x()], 0.into()),
            ErrorKind::Shape,
            "cannot broadcast",
        ),
    ] {
        assert!(error.kind() == kind && error.to_string().contains(why), "{why}: {error}");
    }
    // A scan is no part of a loop's body.
    let body = |s: &[Array<'static>]| {
        let (last, _) = try_scan(keep, &[Array::scalar(0.0_f32)], &[s[0].clone()], 0)?;
        Ok(last)
    };
    let error = broadloom::try_while_loop(&|s| s[0].try_less(5.0), &body, &[state()], Some(3));
    let error = error.map(drop).expect_err("a scan in a loop");
    assert!(error.to_string().contains("is made by scan"), "{error}");
    Ok(())
}

/// Kernels with dynamic dimensions have scans, which are bound to extents of each call.
#[test]
fn kernels_have_scans() -> Result<()> {
    let x = Array::input("x", DType::Float64, &["n".into(), Dim::from("m")])?;
    let ([last], [all]) = scan(halved, [Array::scalar(0.25)], [x.clone()], 0)?;
    let kernel = Kernel::new(&[&last, &all], &[&x], &Options::default())?;
    for (steps, cols) in [(5, 3), (1, 1), (100, 40), (40, 100)] {
        let values = noise(steps * cols);
        let (mut ends, mut outputs) = (vec![0.0; cols], vec![0.0; steps * cols]);
        let shape = &[steps, cols];
        let results = [Out::shaped(&mut ends, &shape[1..]), Out::shaped(&mut outputs, shape)];
        kernel.run(&[In::shaped(&values, shape)], results)?;
        let reference = Reference { shape: vec![steps, cols], axis: 0, reverse: false };
        let (wanted, wanted_outputs) = reference.run(0.25, |s, i, _| halved_numbers(s, values[i]));
        assert_eq!((bits(&ends), bits(&outputs)), (bits(&wanted), bits(&wanted_outputs)));
    }
    Ok(())
}

#[test]
fn an_explanation_names_the_scan() -> Result<()> {
    let x = Array::from_shape_vec(&[30, 40], noise(1200))?;
    let (_, [all]) = scan(halved, [Array::scalar(0.25)], [&x * 2], Along::axis(0).reverse())?;
    let text = all.explain()?.to_string();
    for wanted in [
        "scan (s0 = n0; e0 in n3, axis=0, reverse=true)",
        "step by step along axis 0, in reverse",
        "30 steps, one after another",
        "40 columns",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    Ok(())
}

#[test]
fn texts_have_scans() -> Result<()> {
    let (steps, cols) = (9, 4);
    let values = noise(steps * cols);
    let x = Array::from_shape_vec(&[steps, cols], values.clone())?;
    let w = Array::from_vec(vec![0.5, -1.0, 2.0, 0.25]);
    let inputs = [("x", x.clone()), ("w", w.clone())];
    let build = |text: &str| -> Result<Vec<Array<'static>>> {
        let program = Program::parse(text)?;
        let is_used = |name: &str| program.inputs().any(|input| input.name() == name);
        let used: Vec<_> = inputs.iter().filter(|(name, _)| is_used(name)).cloned().collect();
        Ok(program.build(&used)?.into_iter().map(|(_, array)| array).collect())
    };
    let of = |s: &f64, x: f64, column: usize| s * [0.5, -1.0, 2.0, 0.25][column] + x;
    for (axis, reverse) in [("0", ""), ("-2", ", reverse=true"), ("0", ", length=9, reverse=false")] {
        let head = format!("scan (s = 0.25; v in x, axis={axis}{reverse})");
        let reference = Reference { shape: vec![steps, cols], axis: 0, reverse: reverse.ends_with("true") };
        let (last, outputs) = reference.run(0.25, |s, element, column| {
            let next = of(s, values[element], column);
            (next, next - s)
        });
        let got = build(&format!("s, y = {head} {{ t = s * w + v; y = t - s; s = t }}\nreturn s, y"))?;
        assert_eq!(bits(&got[0].to_vec::<f64>()?), bits(&last), "{head}");
        assert_eq!(bits(&got[1].to_vec::<f64>()?), bits(&outputs), "{head}");
        // The next states are outputs by their names.
        let sums = build(&format!("_, s = {head} {{ s = s * w + v }}; return s"))?;
        let (_, next) = reference.run(0.25, |s, element, column| {
            let next = of(s, values[element], column);
            (next, next)
        });
        assert_eq!(bits(&sums[0].to_vec::<f64>()?), bits(&next), "{head}");
    }
    let powers = build("p, all = scan (p = 1; axis=0, length=4) { all = p; p = p * 3 }; return p, all")?;
    assert_eq!((powers[0].item::<i64>()?, powers[1].to_vec::<i64>()?), (81, vec![1, 3, 9, 27]));
    assert_eq!(build("scan = w; return scan + scan")?[0].to_vec::<f64>()?[0], 1.0);
    for (text, kind, why) in [
        (
            "s, y = scan (s = 0.0; v in x, axis=0) { s = s + v }; y",
            ErrorKind::Name,
            "does not bind its output `y`",
        ),
        (
            "s, w = scan (s = 0.0; v in x, axis=0) { s = s + w }; w",
            ErrorKind::Name,
            "does not bind its output `w`",
        ),
        (
            "s, v = scan (s = 0.0; v in x, axis=0) { s = s + v }; v",
            ErrorKind::Name,
            "does not bind its output `v`",
        ),
        ("s = scan (s = 0.0; s in x, axis=0) { s = s + 1 }; s", ErrorKind::Name, "are named `s`"),
        ("s = scan (s = 0.0; v in x, along=0) { s = s + v }; s", ErrorKind::Syntax, "no option `along`"),
        ("s = scan (s = 0.0; v in x, axis=0, axis=1) { s = s + v }; s", ErrorKind::Syntax, "given twice"),
        ("s = scan (s = 0.0; v in x, axis=w) { s = s + v }; s", ErrorKind::Syntax, "an integer"),
        ("s = scan (s = 0.0; v in x, reverse=1) { s = s + v }; s", ErrorKind::Syntax, "`true` or `false`"),
        ("s = scan (s = 0.0; axis=0) { s = s + 1 }; s", ErrorKind::Arity, "neither inputs nor a length"),
        ("s = scan (s = 0.0; v in x, axis=3) { s = s + v }; s", ErrorKind::Shape, "has no axis 3"),
        (
            "s = scan (s = w; v in x, axis=0) { s = astype(s + v, float32) }; s",
            ErrorKind::DType,
            "scan: `s` is float64",
        ),
        (
            "s = scan (s = w; v in x, axis=0) { s = s + sum(v) }; s",
            ErrorKind::Shape,
            "scan: `s` is made by sum",
        ),
        ("s, y = scan (s = 0.0) { s = s + 1 }; s", ErrorKind::Syntax, "`;`"),
    ] {
        let error = build(text).map(drop).expect_err(text);
        assert!(error.kind() == kind && error.to_string().contains(why), "{text}: {error}");
    }
    Ok(())
}

/// What is printed of scans is read back: with captured values, loops and host functions in the step.
#[test]
fn printed_scans_are_read_back() -> Result<()> {
    let (steps, rows, cols) = (6, 3, 4);
    let x = Array::from_shape_vec(&[rows, steps, cols], noise(rows * steps * cols))?;
    let w = Array::from_shape_vec(&[rows, 1], noise(rows))?;
    let f = HostFunction::new("half", |x: f64| x / 2.0)?;
    let step = |[s, n]: &[Array<'static>; 2], [x, y]: &[Array<'static>; 2]| {
        let halve = |[s]: &[Array<'static>; 1]| [s * 0.5 + 0.1];
        let [near] = while_loop(|[s]| s.greater(0.5), halve, [s + x * &w], 7).expect("a loop");
        let half = Array::call(&f, &[near.clone() - y]).expect("float64");
        ([half.clone(), n + 1], [s.clone(), half, near])
    };
    for along in [Along::axis(1), Along::axis(-2).reverse()] {
        let inputs = [x.clone(), x.slice((0, .., ..1))?.expand_dims(0)?];
        let ([last, count], [before, half, near]) =
            scan(step, [Array::scalar(0.25), Array::scalar(0)], inputs, along)?;
        for results in
            [vec![("last", &last), ("e0", &near)], vec![("s", &before), ("n", &count)], vec![("y", &half)]]
        {
            let printed = Printed::new(&results)?;
            let library = Library::new(std::slice::from_ref(&f), "")?;
            let program = Program::parse_with(&printed.text, &library, &ParseOptions::default())?;
            let inputs: Vec<_> = printed.inputs.iter().map(|(name, x)| (&**name, x.clone())).collect();
            for ((_, wanted), (_, got)) in results.iter().zip(program.build(&inputs)?) {
                assert_eq!(got.dtype(), wanted.dtype(), "{printed}");
                let [got, wanted] = [&got, *wanted].map(|x| x.astype(DType::Float64).to_vec::<f64>());
                assert_eq!(bits(&got?), bits(&wanted?), "{printed}");
            }
        }
    }
    Ok(())
}

/// A kernel of open extents runs on no elements, and checks the extents of the scanned axis.
#[test]
fn open_extents_are_those_of_the_scanned_axis() -> Result<()> {
    let x = Array::input("x", DType::Float64, &["n".into()])?;
    let one = Array::input("one", DType::Float64, &[1.into()])?;
    let ([last], [sums]) = scan(|[s], [x]| ([s + x], [s + x]), [Array::scalar(0.5)], [x.clone()], 0)?;
    let kernel = Kernel::new(&[&last, &sums], &[&x], &Options::default())?;
    let (mut last, mut sums) = ([9.0_f64; 1], [0.0_f64; 0]);
    let results = [Out::shaped(&mut last, &[]), Out::shaped(&mut sums, &[0])];
    kernel.run(&[In::shaped(&[0.0_f64; 0], &[0])], results)?;
    assert_eq!(last, [0.5]);
    let refused = |inputs: [Array<'static>; 2]| {
        scan(|[s], [x, y]| ([s + x * y], []), [Array::scalar(0.0)], inputs, 0)
            .map(|([s], [])| s)
            .expect_err("extents")
    };
    let error = refused([x.clone(), one]);
    assert!(
        error.kind() == ErrorKind::Shape && error.to_string().contains("input 1 has 1 elements"),
        "{error}"
    );
    let along = Along::axis(0).length(2);
    let step = |s: &[Array<'static>], x: &[Array<'static>]| Ok((vec![s[0].try_add(&x[0])?], vec![]));
    let error = try_scan(&step, &[Array::scalar(0.0)], &[x], along).expect_err("a length");
    assert!(error.to_string().contains("the length 2"), "{error}");
    Ok(())
}
