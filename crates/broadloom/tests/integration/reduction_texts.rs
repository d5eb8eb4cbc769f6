//! Reductions and arrays of numbers in texts. They have the meaning of the methods with the same names, they print as texts with
//! the same meaning, and errors are reported at their positions.

use broadloom::prelude::*;
use broadloom::text::{Printed, Program};
use broadloom::{Kernel, Options, Over, Promotion, typed_graph, with_promotion};

/// Arrays of various dtypes. `x` has the dtype that most of the functions accept.
fn arrays() -> Vec<(&'static str, Array<'static>)> {
    let x: Vec<f32> = (0..24).map(|i| ((i * 37 % 19) as f32 - 9.0) / 4.0).collect();
    let gaps: Vec<f64> = (0..6).map(|i| if i % 4 == 1 { f64::NAN } else { f64::from(i) - 2.5 }).collect();
    vec![
        ("x", Array::from_shape_vec(&[2, 3, 4], x).expect("24 elements")),
        ("y", Array::from_vec(vec![0.5_f32, -1.0, 2.0, 4.0])),
        ("gaps", Array::from_shape_vec(&[2, 3], gaps).expect("6 elements")),
        ("i", Array::from_shape_vec(&[2, 3], vec![3_i8, -1, 100, 100, 7, 7]).expect("6 elements")),
        ("m", Array::from_shape_vec(&[2, 2], vec![true, false, true, true]).expect("4 elements")),
    ]
}

fn named(name: &str) -> Array<'static> {
    arrays().into_iter().find(|(other, _)| *other == name).expect("a name").1
}

fn evaluated(text: &str) -> Result<Array<'static>> {
    let program = Program::parse(text)?;
    let known = arrays();
    let used: Vec<_> =
        known.into_iter().filter(|(name, _)| program.inputs().any(|i| i.name() == *name)).collect();
    let arrays = program.build(&used)?;
    Ok(arrays[0].1.clone())
}

fn shown(x: &Array<'_>) -> String {
    let bytes = x.eval().expect("small").to_bytes().expect("bytes");
    format!("{}{:?} {bytes:?}", x.dtype(), x.shape())
}

/// A text, and the array that it evaluates to.
type TextPair = (&'static str, Result<Array<'static>>);

fn rows() -> Vec<TextPair> {
    let (x, y, gaps, i, m) = (named("x"), named("y"), named("gaps"), named("i"), named("m"));
    vec![
        ("sum(x)", x.sum(())),
        ("sum(x, axis=0)", x.sum(0)),
        ("sum(x, -1)", x.sum(-1)),
        ("sum(x * y, axis=(0, -1), keepdims=true)", (&x * &y).sum(Over::axes(&[0, 2]).keep_dims())),
        ("sum(x, axis=())", x.sum(Over::axes(&[]))),
        ("sum(i)", i.sum(())),
        ("sum(i, axis=1, dtype=float32)", i.sum(Over::axis(1).dtype(DType::Float32))),
        ("prod(i, axis=0, dtype=int32)", i.prod(Over::axis(0).dtype(DType::Int32))),
        ("max(x, axis=1)", x.max(1)),
        ("min(i)", i.min(())),
        ("mean(x, axis=(1, 2))", x.mean([1, 2])),
        ("var(x, axis=2, correction=1)", x.var(2, 1.0)),
        ("std(x, keepdims=true)", x.std(Over::all().keep_dims(), 0.0)),
        ("any(x > 2, axis=0)", x.greater(2).any(0)),
        ("all(m, axis=1)", m.all(1)),
        ("argmax(x, axis=1)", x.argmax(1)),
        ("argmin(i, keepdims=true)", i.argmin(Over::all().keep_dims())),
        ("count_nonzero(x, axis=(0, 1))", x.count_nonzero([0, 1])),
        ("vecdot(x, y)", x.vecdot(&y, -1)),
        ("vecdot(x, x, axis=0)", x.vecdot(&x, 0)),
        ("vector_norm(x, axis=1)", x.vector_norm(1, 2.0)),
        ("vector_norm(x, ord=inf)", x.vector_norm((), f64::INFINITY)),
        (
            "vector_norm(x, axis=-1, ord=-inf, keepdims=true)",
            x.vector_norm(Over::axis(-1).keep_dims(), f64::NEG_INFINITY),
        ),
        ("vector_norm(x, ord=1)", x.vector_norm((), 1.0)),
        ("vector_norm(x, ord=3.5, axis=0)", x.vector_norm(0, 3.5)),
        ("cumulative_sum(x, axis=1)", x.cumulative_sum(Some(1), None, false)),
        ("cumulative_sum(y, include_initial=true)", y.cumulative_sum(None, None, true)),
        ("cumulative_prod(i, 0, dtype=uint64)", i.cumulative_prod(Some(0), Some(DType::UInt64), false)),
        ("nansum(gaps, axis=0)", gaps.nansum(0)),
        ("nanprod(gaps)", gaps.nanprod(())),
        ("nanmean(gaps, axis=1, keepdims=true)", gaps.nanmean(Over::axis(1).keep_dims())),
        ("nanmin(gaps)", gaps.nanmin(())),
        ("nanmax(gaps, axis=0)", gaps.nanmax(0)),
        ("nanvar(gaps, axis=1, correction=1)", gaps.nanvar(1, 1.0)),
        ("nanstd(gaps)", gaps.nanstd((), 0.0)),
        ("arange(5)", Array::arange(0_i64, 5, 1)),
        ("arange(2, 3.5)", Array::arange(2.0, 3.5, 1.0)),
        ("arange(10, 0, -3, dtype=int8)", Array::arange(10_i8, 0, -3)),
        ("arange(0, 1, 0.1, dtype=float32)", Array::arange(0.0, 1.0, 0.1).map(|x| x.astype(DType::Float32))),
        ("linspace(-1, 1, 7)", Array::linspace(-1.0, 1.0, 7)),
        ("linspace(0, 1, 4, endpoint=false)", Array::arange(0.0, 1.0, 0.25)),
        ("linspace(0, 1, 3, dtype=float16)", Array::linspace(0.0, 1.0, 3).map(|x| x.astype(DType::Float16))),
        ("eye(3)", Array::eye(3, 3, 0, DType::Float64)),
        ("eye(2, 3, k=1, dtype=int8)", Array::eye(2, 3, 1, DType::Int8)),
        ("full((2, 3), 1.5)", Array::full(&[2, 3], 1.5)),
        ("full(3, uint8(7))", Array::full(&[3], 7_u8)),
        ("full([], true)", Array::full(&[], true)),
        ("full(2, 3, dtype=float32)", Array::full(&[2], 3.0_f32)),
        ("zeros(4)", Array::zeros(&[4], DType::Float64)),
        ("ones((2, 2), dtype=int32)", Array::ones(&[2, 2], DType::Int32)),
        ("indices(x, axis=-1)", x.indices(2)),
        ("sum(1 / arange(1.0, 1000) ** 2)", {
            let squares = Array::arange(1.0, 1000.0, 1.0).map(|x| x.pow(2));
            squares.and_then(|squares| (1.0 / squares).sum(()))
        }),
        ("(x - mean(x, axis=-1, keepdims=true)) ** 2", {
            let mean = x.mean(Over::axis(-1).keep_dims());
            mean.map(|mean| (&x - mean).pow(2))
        }),
    ]
}

#[test]
fn texts_are_the_methods() {
    for (text, method) in rows() {
        let built = evaluated(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let expected = method.unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(shown(&built), shown(&expected), "{text}");
    }
}

#[test]
fn counts_are_numbers_of_elements() -> Result<()> {
    assert_eq!(evaluated("count(x)")?.item::<i64>()?, 24);
    assert_eq!(evaluated("count(x, axis=(0, 2))")?.item::<i64>()?, 8);
    assert_eq!(evaluated("count(x, axis=-1, dtype=float32)")?.item::<f32>()?, 4.0);
    assert_eq!(evaluated("count(2)")?.item::<i64>()?, 1);
    Ok(())
}

/// A printed text builds the same nodes, and prints as the same text again.
#[test]
fn what_is_printed_reads_back() {
    for (text, method) in rows() {
        let array = method.expect(text);
        let printed = Printed::new(&[("out", &array)]).expect("a name");
        let program = Program::parse(&printed.text).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        let inputs: Vec<(&str, Array<'_>)> = printed.inputs.iter().map(|(n, x)| (&**n, x.clone())).collect();
        let built = program.build(&inputs).unwrap_or_else(|e| panic!("{e}\n{printed}"))[0].1.clone();
        let graph = |root: &Array<'static>| {
            let typed = typed_graph(&[root], &Options::default()).expect("a graph");
            let nodes: Vec<_> = typed.graph.nodes().iter().map(|n| (n.kind.clone(), n.dtype)).collect();
            (nodes, typed.roots)
        };
        assert!(graph(&array) == graph(&built), "{text}\n{printed}");
        let again = Printed::new(&[("out", &built)]).expect("a name");
        assert_eq!(again.text, printed.text, "{text}");
    }
}

/// The text of a kernel with symbolic extents contains its counts, and is read back with the same counts.
#[test]
fn kernels_have_reductions() -> Result<()> {
    let text = "x: float32[n, m]\nreturn mean = mean(x, axis=0), total = sum(x)";
    let kernel = Kernel::parse(text, &Options::default())?;
    let (mut mean, mut total) = ([0.0_f32; 2], [0.0_f32; 1]);
    let x = [1.0_f32, 2.0, 3.0, 8.0, 5.0, 11.0];
    kernel.bind(&[("n", 3), ("m", 2)])?.run(&[(&x).into()], [(&mut mean).into(), (&mut total).into()])?;
    assert_eq!((mean, total), ([3.0, 7.0], [30.0]));

    let open = Array::input("x", DType::Float32, &["n".into(), "m".into()])?;
    let printed = broadloom::text::print(&[("y", &open.mean(Over::axis(1).keep_dims())?)])?;
    assert!(printed.contains("count(x, axis=(1,), dtype=float32)"), "{printed}");
    let built = Program::parse(&printed)?;
    let built = built.build(&[])?;
    assert_eq!(broadloom::text::print(&[("y", &built[0].1)])?, printed);
    Ok(())
}

#[test]
fn what_is_wrong_is_shown_at_its_place() {
    for (text, rendered) in [
        ("sum(x, axis=3)", "sum: axis 3 is out of range"),
        ("1 + mean(i)", "mean: does not take int8"),
        ("sum(m)", "sum: does not take bool"),
        ("sum(x, axis=(0, 0))", "sum: axis 0 is named twice"),
        ("cumulative_sum(x)", "cumulative_sum: an array of rank 3 needs an axis"),
        ("vecdot(x, i)", "vecdot: "),
        ("max(x[:0])", "max: "),
        ("arange(0, 1, 0)", "arange(0, 1, 0): the step is 0"),
        ("arange(0, 300, dtype=int8)", "arange(0, 300, 1): 300 cannot be represented as int8"),
        ("arange(0, 1.5, dtype=int8)", "arange(0, 1.5, 1): 1.5 cannot be represented as int8"),
        ("arange(0, inf)", "arange(0, inf, 1): not finite"),
        ("linspace(0, 1, 5, dtype=int8)", "linspace: does not give int8"),
        ("linspace(0, 1, -5)", "linspace: the extent -5 is negative"),
        ("zeros((2, -3))", "shape: the extent -3 is negative"),
        ("full(2, 300, dtype=int8)", "300 cannot be represented as int8"),
        ("indices(x, axis=3)", "indices: axis 3 is out of range"),
    ] {
        let error = match evaluated(text) {
            Ok(x) => panic!("{text}: {x}"),
            Err(error) => error,
        };
        assert!(error.message().starts_with(rendered), "{text}: {error}");
        // The error is marked at the function's name.
        let name = text.trim_start_matches("1 + ").split('(').next().expect("a name");
        let shown = error.render();
        let mark = shown.lines().find(|line| line.contains('^')).expect("a mark");
        let expected = text.find(name).expect("it") + "1 | ".len();
        assert_eq!(mark.find('^'), Some(expected), "{shown}");
        assert_eq!(mark.matches('^').count(), name.len(), "{shown}");
    }
}

#[test]
fn bools_are_added_where_numpys_promotion_is_asked_for() -> Result<()> {
    let program = Program::parse("sum(m)")?;
    let total = with_promotion(Promotion::NumPy, || program.build(&[("m", named("m"))]))?;
    assert_eq!(total[0].1.item::<i64>()?, 3);
    Ok(())
}
