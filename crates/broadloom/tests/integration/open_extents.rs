//! Views whose results depend on extents that are known only when a kernel is bound: slices, indices, reversed axes, new axes and
//! scans with an initial element. For every extent, one kernel returns the bits and the errors of the same formula over known
//! extents.

use broadloom::prelude::*;
use broadloom::text::{Program, print};
use broadloom::{Dim, ErrorKind, In, Kernel, Options, Out, Port};
use broadloom_testkit::Runner;

/// The extents of the sliced axis.
const EXTENTS: [usize; 8] = [0, 1, 2, 3, 15, 16, 17, 100];

/// Formulas of `x: float64[n]`, `y: float64[n]` and `t: float64[n,3]`, with the dims of their results.
const FORMULAS: &[(&str, &str)] = &[
    ("x[1:] - x[:-1]", "[n - 1]"),
    ("(x[2:] - 2 * x[1:-1] + x[:-2]) / 0.25", "[n - 2]"),
    ("x[1:-1][1:] * y[3:][:] + x[:-3]", "[n - 3]"),
    ("x[::-1] + y", "[n]"),
    ("flip(x, axis=0) * x", "[n]"),
    ("x[::2] * 2", "[ceil(n / 2)]"),
    ("x[1::2] + y[:-1:2]", "[ceil((n - 1) / 2)]"),
    ("x[-1::-3]", "[ceil(n / 3)]"),
    ("x[-5:] + y[-5:]", "[min(n, 5)]"),
    ("x[:5] - x[-5:]", "[min(n, 5)]"),
    ("x[2:9:3]", "[min(ceil((n - 2) / 3), 3)]"),
    ("x[9:2:-2]", "[min(ceil((n - 3) / 2), 4)]"),
    ("x[-2:-9:-1] * 3", "[min(n - 1, 7)]"),
    ("x[5:2]", "[0]"),
    ("cumulative_sum(x, include_initial=true)", "[n + 1]"),
    ("cumulative_sum(x, include_initial=true)[1:] - cumulative_sum(x)", "[n]"),
    ("cumulative_prod(x[1:] / 50, include_initial=true)", "[n - 1 + 1]"),
    ("cumulative_sum(x, include_initial=true)[:-1] + y", "[n]"),
    (
        "(cumulative_sum(x, include_initial=true)[3:] - cumulative_sum(x, include_initial=true)[:-3]) / 3",
        "[n - 2]",
    ),
    ("x / x[:1]", "[n]"),
    ("x[-1:] - y", "[n]"),
    ("x[0] + y", "[n]"),
    ("x[-3] * y[2]", "[]"),
    ("t[1:, 0] - t[:-1, -1]", "[n - 1]"),
    ("t[:, ::-1] + expand_dims(x, axis=1)", "[n,3]"),
    ("t[..., 1:] * 2", "[n,2]"),
    ("t[-1]", "[3]"),
    ("expand_dims(x[1:], axis=0) * expand_dims(y, axis=1)", "[n,n - 1]"),
    ("squeeze(t[:, 1:2], axis=1) + y", "[n]"),
    ("sum(x[1:] * x[:-1])", "[]"),
    ("mean(t[1:], axis=0)", "[3]"),
    ("x - mean(x[2:])", "[n]"),
    ("max(x[1:])", "[]"),
    ("argmin(t[::2], axis=0)", "[3]"),
    ("std(x[1:] - x[:-1])", "[]"),
    ("permute_dims(t[1:], [1, 0])[1]", "[n - 1]"),
    ("vecdot(x[1:], y[:-1])", "[]"),
    ("x[::2] + y[1::2]", "[ceil(n / 2)]"),
    ("indices(x[3:], axis=0)", "[n - 3]"),
    ("where(x[1:] > x[:-1], x[1:], 0)", "[n - 1]"),
    ("grad(sum(x[1:] * x[:-1]), x)", "[n]"),
    ("grad(sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2), x)", "[n]"),
    ("grad(sum(exp(x[::2]) * 3) + sum(sin(x[-1:1:-3]) * y[-1:1:-3]), x)", "[n]"),
    ("grad(sum(t[1:, ::2] / t[:-1, 1:]) * t[0, 1], t)", "[n,3]"),
    ("grad(sum(y[2:9:3] ** 3), y)[1:]", "[n - 1]"),
    ("grad(sum(t[1:]) + sum(t[:, ::-2]), t)", "[n,3]"),
    ("grad(sum(grad(sum(x[1:] ** 3), x)[2:] * x[:-2]), x)", "[n]"),
    ("grad(prod(x[1:] / 50), x)", "[n]"),
    ("grad(sum(cumulative_prod(x / 50, include_initial=true)[2:]), x)", "[n]"),
    ("grad(max(x[:5]) - sum(x[5:2]), x)", "[n]"),
    ("pad_like(x[3:] + 1, y, start=3)", "[n]"),
    ("pad_like(t[:, 1:], t, start=1)[::-1]", "[n,3]"),
    ("pad_like(x[-2::-2], y, axis=-1, start=-2, step=-2)", "[n]"),
];

/// Makes a program that returns a formula.
fn program(formula: &str) -> Program {
    let text = format!("x: float64[n]; y: float64[n]; t: float64[n, 3]\nr = {formula}\nreturn r");
    Program::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Numbers of both signs, one of them a NaN with a payload.
fn numbers(n: usize, seed: usize) -> Vec<f64> {
    let number = |i: usize| match i {
        4 => f64::from_bits(0x7ff8_0000_0000_0abc),
        _ => (((i + seed) * 7919) % 401) as f64 * 0.37 - 50.0,
    };
    (0..n).map(number).collect()
}

/// The shape and the bits of a result, or the kind and the message of its error.
type RunResult = std::result::Result<(Vec<usize>, Vec<u64>), (ErrorKind, String)>;

fn failed(error: Error) -> (ErrorKind, String) {
    (error.kind(), error.message().to_owned())
}

/// The names, shapes and elements of the inputs.
type Columns = [(&'static str, Vec<usize>, Vec<f64>); 3];

fn data(n: usize) -> Columns {
    [("x", vec![n], numbers(n, 0)), ("y", vec![n], numbers(n, 17)), ("t", vec![n, 3], numbers(3 * n, 5))]
}

/// The result of a formula over arrays of known extents.
fn known(formula: &str, data: &Columns, runner: Runner) -> RunResult {
    let arrays = data
        .clone()
        .map(|(name, shape, of)| (name, Array::from_shape_vec(&shape, of).expect("as many elements")));
    let program = program(formula);
    let built = program.build(&arrays).map_err(|e| (e.kind, e.message))?;
    let result = built[0].1.eval_with(&runner.options()).map_err(failed)?;
    let bits = match result.dtype() {
        DType::Int64 => result.to_vec::<i64>().map_err(failed)?.into_iter().map(|x| x as u64).collect(),
        _ => result.to_vec::<f64>().map_err(failed)?.into_iter().map(f64::to_bits).collect(),
    };
    Ok((result.shape().to_vec(), bits))
}

/// The result of a kernel for the same elements.
fn run(kernel: &Kernel, data: &Columns) -> RunResult {
    let n = data[0].1[0];
    let given =
        |port: &Port| data.iter().find(|(name, ..)| *name == port.name).map(|(_, _, of)| In::from(of));
    let inputs: Vec<In<'_>> = kernel.inputs().iter().filter_map(given).collect();
    let extents = if inputs.is_empty() { &[][..] } else { &[("n", n)][..] };
    let call = kernel.bind(extents).map_err(failed)?;
    let shape = call.output_shapes().next().expect("an output").to_vec();
    let len = shape.iter().product();
    Ok((
        shape,
        match kernel.outputs()[0].dtype {
            DType::Int64 => {
                let mut out = vec![9_i64; len];
                call.run(&inputs, [Out::from(&mut out)]).map_err(failed)?;
                out.into_iter().map(|x| x as u64).collect()
            }
            _ => {
                let mut out = vec![9.0_f64; len];
                call.run(&inputs, [Out::from(&mut out)]).map_err(failed)?;
                out.into_iter().map(f64::to_bits).collect()
            }
        },
    ))
}

/// Compares a kernel with the formula over known extents, for every extent.
fn compare(formula: &str, kernel: &Kernel, runner: Runner) {
    for n in EXTENTS {
        let data = data(n);
        match (known(formula, &data, runner), run(kernel, &data)) {
            (Ok(expected), Ok(got)) => assert_eq!(got, expected, "{formula} of {n}, {runner:?}"),
            (Err((kind, words)), Err((got, said))) => {
                assert_eq!(got, kind, "{formula} of {n}: {said}");
                // If two extents are equal only for some n, the kernel's message contains them as formulas.
                let same =
                    said == words || words.contains("cannot broadcast") && said.contains("cannot broadcast");
                assert!(same, "{formula} of {n}: {said}, not {words}");
            }
            // A known extent of 1 broadcasts. An extent that is only 1 for some n does not, and is rejected.
            (Ok(_), Err((ErrorKind::Shape, words))) if words.contains("cannot broadcast") => {
                assert!(formula == "x[::2] + y[1::2]" && n <= 3, "{formula} of {n}: {words}");
            }
            (expected, got) => panic!("{formula} of {n}: {got:?}, not {expected:?}"),
        }
    }
}

#[test]
fn one_kernel_gives_the_bits_of_known_extents() {
    for &(formula, dims) in FORMULAS {
        for runner in [Runner::INTERP, Runner::JIT] {
            let kernel = program(formula).kernel(&runner.options());
            let kernel = kernel.unwrap_or_else(|e| panic!("{formula}: {e}"));
            assert_eq!(kernel.outputs()[0].dims.to_string(), dims, "{formula}");
            compare(formula, &kernel, runner);
        }
    }
}

/// A printed formula is read back, is printed as the same text again, and its kernel returns the same bits.
#[test]
fn printed_formulas_read_back() -> Result<()> {
    for &(formula, dims) in FORMULAS {
        let of = program(formula);
        let text = print(&[("r", &of.build(&[])?[0].1)])?;
        assert!(text.contains(&format!("64{dims} =")), "{text}");
        let again = Program::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let printed = again.build(&[]).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(print(&[("r", &printed[0].1)])?, text, "{formula}");
        compare(formula, &again.kernel(&Options::default())?, Runner::AUTO);
    }
    Ok(())
}

/// Methods of arrays have the same meaning as the views in texts. Their kernels have the same identity.
#[test]
fn methods_are_the_views_of_texts() -> Result<()> {
    let input = |dims: &[Dim]| Array::input("x", DType::Float64, dims);
    let (x, t) = (input(&["n".into()])?, input(&["n".into(), 3.into()])?);
    let id = |of: &Array<'static>, input: &Array<'static>| {
        Kernel::named(&[("r", of)], &[input], &Options::default()).map(|kernel| kernel.id())
    };
    let of_text = |text: &str| Kernel::parse(text, &Options::default()).map(|kernel| kernel.id());
    let mut ids = Vec::new();
    for (of, input, dims, value) in [
        (x.slice(1..)? - x.slice(..-1)?, &x, "n", "x[1:] - x[:-1]"),
        (x.slice(2..)? - x.slice(..-2)?, &x, "n", "x[2:] - x[:-2]"),
        (x.slice([Range::new(Some(-1), None, -2)])?, &x, "n", "x[-1::-2]"),
        (x.flip(0)?, &x, "n", "flip(x, 0)"),
        (x.slice(-1)?, &x, "n", "x[-1]"),
        (t.index_axis(0, 2)?, &t, "n, 3", "index_axis(t, 0, 2)"),
        (t.slice((.., 1))?, &t, "n, 3", "t[:, 1]"),
        (t.expand_dims(1)?, &t, "n, 3", "expand_dims(t, 1)"),
        (t.slice((.., 1..2))?.squeeze(1)?, &t, "n, 3", "squeeze(t[:, 1:2], 1)"),
        (x.cumulative_sum(None, None, true)?, &x, "n", "cumulative_sum(x, include_initial=true)"),
    ] {
        let value = value.replace("t[", "x[").replace("(t,", "(x,");
        let found = id(&of, input)?;
        assert_eq!(found, of_text(&format!("x: float64[{dims}]; return r = {value}"))?, "{value}");
        ids.push(found);
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "different views are different kernels");
    Ok(())
}

/// Slices of the last axes of inputs that may have any leading axes.
#[test]
fn last_axes_of_an_open_rank() -> Result<()> {
    let kernel = Kernel::parse(
        "x: float64[..., n]\nreturn d = x[..., 1:] - x[..., :-1], last = x[..., -1], turned = flip(x, -1)",
        &Options::default(),
    )?;
    let dims: Vec<String> = kernel.outputs().iter().map(|port| port.dims.to_string()).collect();
    assert_eq!(dims, ["[...,n - 1]", "[...]", "[...,n]"]);
    for shape in [&[4][..], &[2, 3], &[2, 0, 5], &[3, 1, 2]] {
        let of = numbers(shape.iter().product(), 3);
        let x = Array::from_shape_vec(shape, of.clone())?;
        let mut ranges = vec![Range::from(..); shape.len()];
        let mut cut = |range| {
            ranges[shape.len() - 1] = range;
            x.slice(&ranges)
        };
        let expected = [cut((1..).into())? - cut((..-1).into())?, x.index_axis(-1, -1)?, x.flip(-1)?];
        let expected: Vec<Vec<f64>> = expected.iter().map(|y| y.to_vec()).collect::<Result<_>>()?;
        let mut outs: Vec<Vec<f64>> = expected.iter().map(|y| vec![9.0; y.len()]).collect();
        kernel.run(&[In::shaped(&of, shape)], outs.iter_mut().map(Out::from))?;
        for (out, expected) in outs.iter().zip(&expected) {
            assert!(out.iter().map(|x| x.to_bits()).eq(expected.iter().map(|x| x.to_bits())), "{shape:?}");
        }
    }
    Ok(())
}

/// Formulas that are rejected when the text is parsed, with the reasons.
#[test]
fn what_has_no_extent_is_refused_when_it_is_written() {
    let open = "x: float64[n]; y: float64[m]; z: float64[..., n]\n";
    for (formula, kind, words) in [
        (
            "x[1:] - x[2:]",
            ErrorKind::Shape,
            "subtract: cannot broadcast float64[n - 1] with float64[n - 2] (axis -1: n - 1 and n - 2)",
        ),
        (
            "x[1:] - x",
            ErrorKind::Shape,
            "subtract: cannot broadcast float64[n - 1] with float64[n] (axis -1: n - 1 and n)",
        ),
        (
            "x[:5] + x",
            ErrorKind::Shape,
            "add: cannot broadcast float64[min(n, 5)] with float64[n] (axis -1: min(n, 5) and n)",
        ),
        ("x + y", ErrorKind::Shape, "add: cannot broadcast float64[n] with float64[m] (axis -1: n and m)"),
        ("x[-5:3]", ErrorKind::Shape, "index: the extent of -5:3 along axis 0 of [n] has no simple form"),
        ("x[1, 2]", ErrorKind::Shape, "index: 2 indices for [n], which has rank 1"),
        ("z[1:]", ErrorKind::Shape, "index: the rank of float64[...,n] is open"),
        ("reshape(x[1:], [2, 3])", ErrorKind::Shape, "reshape [2,3]: the extents of float64[n - 1] are open"),
        ("squeeze(x, 0)", ErrorKind::Shape, "squeeze: axis 0 of [n] has extent n, not 1"),
        (
            "vecdot(x[1:], x)",
            ErrorKind::Shape,
            "vecdot: the vectors of [n - 1] and [n] along axis -1 have n - 1 and n elements",
        ),
    ] {
        let e = Kernel::parse(&format!("{open}{formula}"), &Options::default()).expect_err(formula);
        assert_eq!((e.kind, &*e.message), (kind, words), "{formula}");
    }
    let e = Kernel::parse("x: float64[n]; d: float64[n - 2] = x[1:]; d", &Options::default())
        .expect_err("a type");
    assert_eq!(e.message, "`d` is float64[n - 1], not float64[n - 2]");
}

/// Conditions on extents are checked when a call is bound, before anything is written. The error names the function, the axis and
/// the extents.
#[test]
fn what_does_not_fit_is_refused_when_it_is_bound() -> Result<()> {
    for (text, extents, words) in [
        ("x: float64[n]; x[5]", &[("n", 3)][..], "index: 5 is out of range for axis 0 of [3]"),
        ("x: float64[n]; min(x[1:])", &[("n", 1)], "min: float64[0] has no elements along axis 0"),
        (
            "x: float64[n]; y: float64[m]; x * (y[1:] - y[:-1])",
            &[("n", 4), ("m", 4)],
            "multiply: cannot broadcast n = 4 with m - 1 = 3 (axis -1)",
        ),
        (
            // A dynamic extent that happens to be 1 is not broadcast.
            "x: float64[n]; y: float64[m]; x * (y[1:] - y[:-1])",
            &[("n", 4), ("m", 2)],
            "multiply: cannot broadcast n = 4 with m - 1 = 1 (axis -1)",
        ),
        (
            "x: float64[n]; c: float64[5]; x[:5] + c",
            &[("n", 4)],
            "add: cannot broadcast min(n, 5) = 4 with 5 (axis -1)",
        ),
        (
            "x: float64[n]; x[::2] + x[1::2]",
            &[("n", 5)],
            "add: cannot broadcast ceil(n / 2) = 3 with ceil((n - 1) / 2) = 2 (axis -1)",
        ),
        (
            "x: float64[n]; y: float64[m]; y / x[:1]",
            &[("n", 0), ("m", 3)],
            "divide: cannot broadcast m = 3 with min(n, 1) = 0 (axis -1)",
        ),
    ] {
        let kernel = Kernel::parse(text, &Options::default())?;
        let e = kernel.bind(extents).expect_err(text);
        assert_eq!((e.kind(), e.message()), (ErrorKind::Shape, words), "{text}");
    }
    // With matching extents, the result is computed.
    let kernel = Kernel::parse("x: float64[n]; y: float64[m]; x * (y[1:] - y[:-1])", &Options::default())?;
    let (x, y, mut out) = ([1.0, 2.0, 3.0], [1.0, 2.0, 4.0, 8.0], [9.0; 3]);
    kernel.run(&[(&x).into(), (&y).into()], [(&mut out).into()])?;
    assert_eq!(out, [1.0, 4.0, 12.0]);
    let fails = kernel.run(&[(&x).into(), (&x).into()], [(&mut out).into()]);
    assert!(fails.is_err_and(|e| e.kind() == ErrorKind::Shape) && out == [1.0, 4.0, 12.0]);
    Ok(())
}

/// The extent `n + 1` of an input determines `n`, or is checked against it.
#[test]
fn inputs_of_derived_extents() -> Result<()> {
    let text = "edges: float64[n + 1]; counts: float64[n]; counts / (edges[1:] - edges[:-1])";
    let kernel = Kernel::parse(text, &Options::default())?;
    let (edges, counts, mut out) = ([0.0, 1.0, 3.0, 7.0], [5.0, 6.0, 8.0], [9.0; 3]);
    kernel.run(&[(&edges).into(), (&counts).into()], [(&mut out).into()])?;
    assert_eq!(out, [5.0, 3.0, 2.0]);
    kernel.run(&[In::shaped(&edges, &[4]), In::shaped(&counts, &[3])], [(&mut out).into()])?;
    let e = kernel.run(&[(&edges).into(), (&edges).into()], [(&mut out).into()]).expect_err("4 and 4");
    assert_eq!(e.kind(), ErrorKind::Shape);
    let alone = Kernel::parse("edges: float64[n + 1]; edges[1:] - edges[:-1]", &Options::default())?;
    alone.run(&[(&edges).into()], [(&mut out).into()])?;
    assert_eq!(out, [1.0, 2.0, 4.0]);
    Ok(())
}

/// The explanation of a kernel contains its dims, and the explanation of a call contains its extents.
#[test]
fn explanations_have_the_extents() -> Result<()> {
    let kernel = Kernel::parse("x: float64[n]; x[1:] - x[:-1]", &Options::default())?;
    let text = kernel.explain()?;
    assert!(text.contains("float64[n - 1]") && text.contains("float64[999]"), "{text}");
    assert_eq!(format!("{kernel:?}"), "Kernel(x: float64[n]) -> (result: float64[n - 1])");
    Ok(())
}
