//! Reductions by a function of the caller: expected values are computed from numbers, in the order that the documentation states.

use broadloom::prelude::*;
use broadloom::text::{Library, ParseOptions, Printed, Program};
use broadloom::{Along, Chunks, ErrorKind, HostFunction, IntDivision, reduce, scan, try_reduce, while_loop};

use crate::scan::{noise, ways};

/// Combines elements as the documentation says: those whose numbers are equal modulo 16 as a binary tree of adjacent pairs, then
/// the results in the same way.
pub fn combined<T: Clone>(elements: &[T], combine: impl Fn(&T, &T) -> T) -> Option<T> {
    // Level by level: each pair becomes one, and an element without a partner stays.
    let tree = |mut level: Vec<T>| {
        while level.len() > 1 {
            level = level
                .chunks(2)
                .map(|pair| match pair {
                    [left, right] => combine(left, right),
                    alone => alone[0].clone(),
                })
                .collect();
        }
        level.pop()
    };
    let lanes = (0..16).filter_map(|lane| tree(elements.iter().skip(lane).step_by(16).cloned().collect()));
    tree(lanes.collect())
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// The elements of each column along an axis.
pub fn columns<T: Copy>(values: &[T], shape: &[usize], axis: usize) -> Vec<Vec<T>> {
    let after: usize = shape[axis + 1..].iter().product();
    let before: usize = shape[..axis].iter().product();
    let of = |column: usize| {
        let place = move |i: usize| (column / after * shape[axis] + i) * after + column % after;
        (0..shape[axis]).map(|i| values[place(i)]).collect()
    };
    (0..before * after).map(of).collect()
}

const SHAPES: &[&[usize]] = &[
    &[1],
    &[2],
    &[15],
    &[16],
    &[17],
    &[31],
    &[33],
    &[1000],
    &[70_001],
    &[3, 5],
    &[40, 33],
    &[300, 65],
    &[2, 5000],
    &[5000, 2],
    &[129, 70],
    &[4, 5, 6],
    &[3, 1, 70, 2],
    // Columns are those of the last axis, and two other axes lie before that of the steps.
    &[2, 3, 4, 70],
];

/// A function that is neither associative nor commutative, so that any other order gives other bits.
#[test]
fn elements_are_combined_in_the_stated_order() -> Result<()> {
    for shape in SHAPES {
        let values = noise(shape.iter().product());
        let x = Array::from_shape_vec(shape, values.clone())?;
        for axis in 0..shape.len() {
            let [result] =
                reduce(|[a], [b]| [a * 0.75 - b], [Array::scalar(f64::NAN)], [x.clone()], axis as isize)?;
            let wanted: Vec<f64> = columns(&values, shape, axis)
                .iter()
                .filter_map(|column| combined(column, |a, b| a * 0.75 - b))
                .collect();
            for options in ways() {
                let got = result.eval_with(&options)?.to_vec::<f64>()?;
                assert_eq!(bits(&got), bits(&wanted), "{shape:?} axis {axis} {options:?}");
            }
        }
    }
    Ok(())
}

/// So many elements that threads share those of one column: each combines parts of it, which are whole subtrees.
#[test]
fn threads_combine_parts_of_a_column() -> Result<()> {
    for shape in [&[1_500_007][..], &[400_009, 3]] {
        let values = noise(shape.iter().product());
        let x = Array::from_shape_vec(shape, values.clone())?;
        let [result] = reduce(|[a], [b]| [a * 0.75 - b], [Array::scalar(f64::NAN)], [x], 0)?;
        let wanted: Vec<f64> = columns(&values, shape, 0)
            .iter()
            .filter_map(|column| combined(column, |a, b| a * 0.75 - b))
            .collect();
        for options in ways() {
            let got = result.eval_with(&options)?.to_vec::<f64>()?;
            assert_eq!(bits(&got), bits(&wanted), "{shape:?} {options:?}");
        }
    }
    Ok(())
}

/// An addition gives the bits of a sum, in every layout.
#[test]
fn the_order_is_that_of_sums() -> Result<()> {
    let x = Array::from_shape_vec(&[30, 40], noise(1200))?;
    let every_third = x.slice((.., broadloom::Range::new(None, None, 3)))?;
    let row = x.slice((..1, ..))?.broadcast_to(&[70, 40])?;
    let column = x.slice((.., ..1))?.broadcast_to(&[30, 40])?;
    let cube = x.reshape(&[5, 6, 40])?.permute_dims(&[2, 0, 1])?;
    let long = Array::from_vec(noise(100_003));
    for x in [x.clone(), x.t(), x.flip(0)?, x.flip(1)?, every_third, row, column, cube, long, &x * 2 + 1] {
        for axis in 0..x.rank() as isize {
            for dtype in [DType::Float64, DType::Float32] {
                let x = x.astype(dtype);
                let [added] = reduce(|[a], [b]| [a + b], [Array::scalar(0)], [x.clone()], axis)?;
                assert_eq!((added.dtype(), added.shape().len()), (dtype, x.rank() - 1));
                let sum = x.sum(axis)?.eval()?.astype(DType::Float64).to_vec::<f64>()?;
                for options in ways() {
                    let got = added.eval_with(&options)?.astype(DType::Float64).to_vec::<f64>()?;
                    assert_eq!(bits(&got), bits(&sum), "{:?} axis {axis} {dtype} {options:?}", x.shape());
                }
            }
        }
    }
    Ok(())
}

/// The largest element and its index, with a scale that the function uses for each column.
#[test]
fn several_arrays_are_reduced_together() -> Result<()> {
    let (high, wide) = (157, 37);
    let values: Vec<f32> = noise(high * wide).iter().map(|x| (x * 8.0).round() as f32).collect();
    let weights: Vec<f32> = (0..wide).map(|i| if i % 3 == 0 { -1.0 } else { 2.0 }).collect();
    let x = Array::from_shape_vec(&[high, wide], values.clone())?;
    let index = Array::arange(0, high as i64, 1)?.reshape(&[high as isize, 1])?;
    let flags = x.greater(3);
    let weight = Array::from_vec(weights.clone());
    let results = reduce(
        |[a, i, f], [b, j, g]| {
            let is_left = (a * &weight).greater(b * &weight) | (a.equal(b) & i.less(j));
            [where_(&is_left, a, b), where_(&is_left, i, j), f | g]
        },
        [Array::scalar(f32::NEG_INFINITY), Array::scalar(-1), Array::scalar(false)],
        [x, index, flags],
        0,
    )?;
    let all: Vec<&Array<'_>> = results.iter().collect();
    let wanted: Vec<(f32, i64, bool)> = columns(&values, &[high, wide], 0)
        .iter()
        .zip(&weights)
        .map(|(column, weight)| {
            let best = column.iter().map(|x| x * weight).fold(f32::NEG_INFINITY, f32::max);
            let at = column.iter().position(|x| x * weight == best).expect("an element");
            (column[at], at as i64, column.iter().any(|x| *x > 3.0))
        })
        .collect();
    for options in ways() {
        let got = Evaluation::with(&options).eval_many(&all)?;
        assert_eq!(got[0].to_vec::<f32>()?, wanted.iter().map(|x| x.0).collect::<Vec<_>>(), "{options:?}");
        assert_eq!(got[1].to_vec::<i64>()?, wanted.iter().map(|x| x.1).collect::<Vec<_>>(), "{options:?}");
        assert_eq!(got[2].to_vec::<bool>()?, wanted.iter().map(|x| x.2).collect::<Vec<_>>(), "{options:?}");
        // One of the results alone.
        assert_eq!(all[1].eval_with(&options)?.to_vec::<i64>()?[3], wanted[3].1);
    }
    Ok(())
}

/// The identity is the result of no elements, and is combined with none.
#[test]
fn of_no_elements_the_result_is_the_identity() -> Result<()> {
    let identity = Array::from_vec(vec![-1.0_f64, 7.0, 0.5]);
    for (length, wanted) in [(0, [-1.0, 7.0, 0.5]), (1, [1.0; 3]), (20, [20.0; 3])] {
        let x = Array::from_shape_vec(&[length, 3], vec![1.0; length * 3])?;
        let [sum] = reduce(|[a], [b]| [a + b], [identity.clone()], [x], 0)?;
        for options in ways() {
            assert_eq!(sum.eval_with(&options)?.to_vec::<f64>()?, wanted, "{length} {options:?}");
        }
    }
    let none = Array::from_shape_vec(&[0], Vec::<i32>::new())?;
    let [product] = reduce(|[a], [b]| [a * b], [Array::scalar(1)], [none], 0)?;
    assert_eq!(product.item::<i32>()?, 1);
    let no_columns = Array::from_shape_vec(&[4, 0], Vec::<i32>::new())?;
    let [sums] = reduce(|[a], [b]| [a + b], [Array::scalar(0)], [no_columns], 0)?;
    assert_eq!((sums.shape(), sums.to_vec::<i32>()?), (&[0][..], vec![]));
    Ok(())
}

/// Reductions whose arrays, results and captured values are computed, and scans and reductions of their results.
#[test]
fn reductions_are_arrays_like_others() -> Result<()> {
    let values = noise(60 * 7);
    let x = Array::from_shape_vec(&[60, 7], values.clone())?;
    let [peak] = reduce(|[a], [b]| [a.maximum(b)], [Array::scalar(0.0)], [&x * &x], 0)?;
    let shifted = &x - &peak;
    let [again] = reduce(|[a], [b]| [a + b * &peak], [Array::scalar(0.0)], [shifted.exp()], 0)?;
    let result = (again + &peak).sum(())?;
    let mut total: Vec<f64> = Vec::new();
    for column in columns(&values, &[60, 7], 0) {
        let peak = column.iter().map(|x| x * x).fold(0.0, f64::max);
        let exps = Array::from_vec(column.iter().map(|x| x - peak).collect::<Vec<f64>>()).exp();
        let sum = combined(&exps.to_vec::<f64>()?, |a, b| a + b * peak).expect("elements");
        total.push(sum + peak);
    }
    let wanted = Array::from_vec(total).sum(())?.item::<f64>()?;
    for options in ways() {
        let got = result.eval_with(&options)?.item::<f64>()?;
        assert_eq!(got.to_bits(), wanted.to_bits(), "{options:?}");
    }
    Ok(())
}

/// Loops and host functions are called in the function, and divisions by zero are errors by option.
#[test]
fn functions_may_loop_call_and_fail() -> Result<()> {
    let half = HostFunction::new("half", |x: f64| x / 2.0)?;
    let x = Array::from_vec(noise(75));
    let [result] = reduce(
        |[a], [b]| {
            let [near] = while_loop(|[s]| s.greater(0.5), |[s]| [s * 0.5], [a + b], 9).expect("a loop");
            [Array::call(&half, &[near]).expect("float64")]
        },
        [Array::scalar(0.0)],
        [x.clone()],
        0,
    )?;
    let wanted = combined(&x.to_vec::<f64>()?, |a, b| {
        let mut near = a + b;
        while near > 0.5 {
            near *= 0.5;
        }
        near / 2.0
    });
    for options in ways() {
        assert_eq!(result.eval_with(&options)?.item::<f64>()?.to_bits(), wanted.expect("elements").to_bits());
    }

    let numbers: Vec<i32> = (0..100).map(|i| if i == 77 { 0 } else { 1 + i % 7 }).collect();
    let [quotient] =
        reduce(|[a], [b]| [a.floor_divide(b)], [Array::scalar(1)], [Array::from_vec(numbers)], 0)?;
    let endless = |[a]: &[Array<'static>; 1], [b]: &[Array<'static>; 1]| {
        let [last] = while_loop(|[s]| s.greater(-1), |[s]| [s * 1], [a + b], None).expect("a loop");
        [last]
    };
    let [never] = reduce(endless, [Array::scalar(0)], [Array::arange(0_i64, 100, 1)?], 0)?;
    for options in ways() {
        let checked = Options { int_division: IntDivision::Error, ..options.clone() };
        let error = quotient.eval_with(&checked).map(drop).expect_err("a division by zero");
        assert_eq!(error.kind(), ErrorKind::ZeroDivision, "{error}");
        assert!(quotient.eval_with(&options).is_ok());
        let bounded = Options { max_iterations: 1000, ..options };
        let error = never.eval_with(&bounded).map(drop).expect_err("a loop without end");
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
    Ok(())
}

#[test]
fn what_can_not_be_reduced_is_refused_when_it_is_built() -> Result<()> {
    type Values = Vec<Array<'static>>;
    type Combine<'f> = &'f dyn Fn(&[Array<'static>], &[Array<'static>]) -> Result<Values>;
    let x = || Array::from_shape_vec(&[4, 3], vec![1.0_f32; 12]).expect("a shape");
    let keep: Combine<'_> = &|a, _| Ok(a.to_vec());
    let cases: Vec<(Combine<'_>, Values, Values, isize, ErrorKind, &str)> = vec![
        (
            &|a, _| Ok(vec![a[0].astype(DType::Float64)]),
            vec![Array::scalar(0)],
            vec![x()],
            0,
            ErrorKind::DType,
            "reduce: array 0 is float32, but becomes float64",
        ),
        (
            keep,
            vec![Array::scalar(0.0_f64).astype(DType::Float64)],
            vec![x()],
            0,
            ErrorKind::DType,
            "reduce: array 0 is float32, but its identity float64",
        ),
        (
            &|a, _| Ok(vec![a[0].sum(())?]),
            vec![Array::scalar(0)],
            vec![x()],
            0,
            ErrorKind::Shape,
            "reduce: array 0 is made by sum",
        ),
        (keep, vec![], vec![], 0, ErrorKind::Arity, "reduce: there is no"),
        (keep, vec![], vec![x()], 0, ErrorKind::Arity, "reduce: there are 1 array, but 0 identity values"),
        (keep, vec![Array::scalar(0)], vec![x()], 2, ErrorKind::Shape, "which has no axis 2"),
        (&|_, _| Ok(vec![]), vec![Array::scalar(0)], vec![x()], 0, ErrorKind::Arity, "but returns 0"),
        (
            keep,
            vec![Array::scalar(0.5)],
            vec![x().astype(DType::Int8)],
            0,
            ErrorKind::Literal,
            "reduce: array 0",
        ),
        (
            keep,
            vec![Array::scalar(0); 2],
            vec![x(), x().slice((..2, ..))?],
            0,
            ErrorKind::Shape,
            "reduce: input 1 has 2 elements",
        ),
    ];
    for (combine, identity, values, axis, kind, why) in cases {
        let error = try_reduce(combine, &identity, &values, axis).map(drop).expect_err(why);
        assert!(error.kind() == kind && error.to_string().contains(why), "{why}: {error}");
    }
    Ok(())
}

#[test]
fn texts_have_reductions() -> Result<()> {
    let values = noise(50 * 3);
    let x = Array::from_shape_vec(&[50, 3], values.clone())?;
    let build = |text: &str| -> Result<Vec<Array<'static>>> {
        let program = Program::parse(text)?;
        let built = program.build(&[("x", x.clone())])?;
        Ok(built.into_iter().map(|(_, array)| array).collect())
    };
    let text = "m, s = reduce (m = -inf, s = 0.0; a in x, b in x * 2, axis=0) {
        larger = maximum(m, a)
        s = s * 0.5 + b
        m = larger
    }
    return m, s";
    let got = build(text)?;
    for (column, (i, wanted)) in
        columns(&values, &[50, 3], 0).iter().zip(got[0].to_vec::<f64>()?.iter().enumerate())
    {
        assert_eq!(column.iter().copied().fold(f64::NEG_INFINITY, f64::max), *wanted);
        let doubled: Vec<f64> = column.iter().map(|x| x * 2.0).collect();
        let sum = combined(&doubled, |a, b| a * 0.5 + b).expect("elements");
        assert_eq!(got[1].to_vec::<f64>()?[i].to_bits(), sum.to_bits());
    }
    assert_eq!(build("reduce = x; return reduce + reduce")?[0].shape(), [50, 3]);
    for (text, kind, why) in [
        (
            "s = reduce (s = 0.0; v in x, axis=0, reverse=true) { s = s + v }; s",
            ErrorKind::Syntax,
            "no option `reverse`",
        ),
        ("s = reduce (s = 0.0; v in x, length=3) { s = s + v }; s", ErrorKind::Syntax, "no option `length`"),
        ("s, t = reduce (s = 0.0; v in x, axis=0) { t = s; s = s + v }; s", ErrorKind::Syntax, "2 names"),
        (
            "s = reduce (s = 0.0; v in x, w in x, axis=0) { s = s + v * w }; s",
            ErrorKind::Arity,
            "2 arrays, but 1 identity value",
        ),
        (
            "s = reduce (s = 0.0; v in x, axis=0) { s = astype(s + v, float32) }; s",
            ErrorKind::DType,
            "reduce: `s` is float64",
        ),
    ] {
        let error = build(text).map(drop).expect_err(text);
        assert!(error.kind() == kind && error.to_string().contains(why), "{text}: {error}");
    }
    // What is printed is read back.
    let [printed] = reduce(|[a], [b]| [a * 0.5 - b], [Array::scalar(1.5)], [x.t()], 1)?;
    let scanned = scan(|[a], [b]| ([a * 0.5 - b], []), [Array::scalar(1.5)], [x.t()], 1)?;
    let results = [("reduced", &printed), ("last", &scanned.0[0])];
    let text = Printed::new(&results)?;
    let program = Program::parse_with(&text.text, &Library::default(), &ParseOptions::default())?;
    let inputs: Vec<_> = text.inputs.iter().map(|(name, x)| (&**name, x.clone())).collect();
    for ((_, wanted), (_, got)) in results.iter().zip(program.build(&inputs)?) {
        assert_eq!(bits(&got.to_vec::<f64>()?), bits(&wanted.to_vec::<f64>()?), "{text}");
    }
    Ok(())
}

/// Chunks divide the other axes, and explanations name the order.
#[test]
fn chunks_and_explanations_know_reductions() -> Result<()> {
    let x = Array::input("x", DType::Float64, &[1000.into(), 8.into()])?;
    let options = Options { max_bytes: 5_000, ..Options::default() };
    for (axis, fits) in [(0, false), (1, true)] {
        let [sum] = reduce(|[a], [b]| [a + b], [Array::scalar(0.0)], [x.clone()], axis)?;
        match Chunks::new(&[&sum], &[&x], &options) {
            Ok(chunks) => assert!(fits && chunks.len() > 5),
            Err(error) => {
                assert!(
                    !fits && error.is_limit() && error.to_string().contains("reduce along axis 0"),
                    "{error}"
                );
            }
        }
    }
    let [sum] = reduce(|[a], [b]| [a + b], [Array::scalar(0.0)], [Array::from_vec(noise(100))], 0)?;
    let text = sum.explain()?;
    assert!(text.contains("combined pair by pair along axis 0"), "{text}");
    assert!(text.contains("100 elements in rows of 16"), "{text}");
    Ok(())
}

/// What a captured value computes, and its failures, do not depend on the number of elements, of which one needs no combination.
#[test]
fn captured_values_are_computed_for_any_number_of_elements() -> Result<()> {
    let zeros = Array::from_vec((0..40).collect::<Vec<i32>>());
    let quotients = Array::from_vec(vec![6_i32; 40]).floor_divide(&zeros);
    for length in [0, 1, 2, 40] {
        let x = Array::from_shape_vec(&[length, 40], vec![1_i32; length * 40])?;
        let [sum] = reduce(|[a], [b]| [a * &quotients + b], [Array::scalar(0)], [x], 0)?;
        for options in ways() {
            let checked = Options { int_division: IntDivision::Error, ..options };
            let error = sum.eval_with(&checked).map(drop).expect_err("a division by zero");
            assert_eq!(error.kind(), ErrorKind::ZeroDivision, "{length} {error}");
        }
    }
    Ok(())
}

/// A scan in pairs is a reduction: a number as a state has the dtype of the input.
#[test]
fn scans_in_pairs_are_reductions() -> Result<()> {
    let x = || Array::from_vec(vec![1_i64, 2, 3]);
    let pairs = Along::axis(0).in_pairs();
    let ([sum], []) = scan(|[a], [b]| ([a + b], []), [Array::scalar(0)], [x()], pairs)?;
    assert_eq!(sum.item::<i64>()?, 6);
    type Step = fn(&[Array<'static>; 1], &[Array<'static>; 1]) -> ([Array<'static>; 1], [Array<'static>; 0]);
    let floats: Step = |[a], [b]| ([a.astype(DType::Float64) + b.astype(DType::Float64)], []);
    let error = scan(floats, [Array::scalar(0)], [x()], pairs).map(drop).expect_err("another dtype");
    assert_eq!(error.kind(), ErrorKind::DType, "{error}");
    let error = scan(|[a], [b]| ([a + b], [a.clone()]), [Array::scalar(0)], [x()], pairs).map(drop);
    let error = error.expect_err("an output");
    assert!(error.kind() == ErrorKind::Arity && error.to_string().contains("1 output"), "{error}");
    Ok(())
}
