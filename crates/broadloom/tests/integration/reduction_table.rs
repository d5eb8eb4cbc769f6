//! Checks that each reduction has the properties that its row in the table of reductions states.

use broadloom::prelude::*;
use broadloom::text::expression;
use broadloom::{ErrorKind, Options, Over, ReductionCall, ReductionFunction, typed_graph};
use broadloom_core::graph::NodeKind;
use broadloom_testkit::elements;

/// Calls the function with default parameters. A function of two operands gets the same array twice.
fn plain(function: ReductionFunction, x: &Array<'static>) -> Result<Array<'static>> {
    Array::reduce(&ReductionCall::new(function), &vec![x.clone(); function.operands()])
}

/// Two rows of elements, which include a NaN and both zeros if the dtype has them.
fn elements_of(dtype: DType) -> Array<'static> {
    let x = Array::from([[1.5_f64, f64::NAN, -3.25, 0.0], [-0.0, 2.0, 2.0, -7.5]]);
    x.astype(dtype).eval().expect("small")
}

/// A method call that is equivalent to a call of the function.
type Method = fn(&Array<'static>) -> Result<Array<'static>>;

/// Sets `keep_dims`, for the calls that have options.
fn kept(over: Over) -> Over {
    over.keep_dims()
}

fn methods(function: ReductionFunction) -> [Method; 2] {
    match function {
        ReductionFunction::Sum => [|x| x.sum(()), |x| x.sum(kept(Over::axis(-1).dtype(DType::Float32)))],
        ReductionFunction::Prod => [|x| x.prod(()), |x| x.prod(kept(Over::axis(-1).dtype(DType::Float32)))],
        ReductionFunction::Max => [|x| x.max(()), |x| x.max(kept(Over::axis(-1)))],
        ReductionFunction::Min => [|x| x.min(()), |x| x.min(kept(Over::axis(-1)))],
        ReductionFunction::Any => [|x| x.any(()), |x| x.any(kept(Over::axis(-1)))],
        ReductionFunction::All => [|x| x.all(()), |x| x.all(kept(Over::axis(-1)))],
        ReductionFunction::Mean => [|x| x.mean(()), |x| x.mean(kept(Over::axis(-1)))],
        ReductionFunction::Var => [|x| x.var((), 0.0), |x| x.var(kept(Over::axis(-1)), 1.0)],
        ReductionFunction::Std => [|x| x.std((), 0.0), |x| x.std(kept(Over::axis(-1)), 1.0)],
        ReductionFunction::ArgMax => [|x| x.argmax(()), |x| x.argmax(kept(Over::axis(-1)))],
        ReductionFunction::ArgMin => [|x| x.argmin(()), |x| x.argmin(kept(Over::axis(-1)))],
        ReductionFunction::CountNonzero => {
            [|x| x.count_nonzero(()), |x| x.count_nonzero(kept(Over::axis(-1)))]
        }
        ReductionFunction::VectorNorm => {
            [|x| x.vector_norm((), 2.0), |x| x.vector_norm(kept(Over::axis(-1)), 3.0)]
        }
        ReductionFunction::NanSum => {
            [|x| x.nansum(()), |x| x.nansum(kept(Over::axis(-1).dtype(DType::Float32)))]
        }
        ReductionFunction::NanProd => {
            [|x| x.nanprod(()), |x| x.nanprod(kept(Over::axis(-1).dtype(DType::Float32)))]
        }
        ReductionFunction::NanMax => [|x| x.nanmax(()), |x| x.nanmax(kept(Over::axis(-1)))],
        ReductionFunction::NanMin => [|x| x.nanmin(()), |x| x.nanmin(kept(Over::axis(-1)))],
        ReductionFunction::NanMean => [|x| x.nanmean(()), |x| x.nanmean(kept(Over::axis(-1)))],
        ReductionFunction::NanVar => [|x| x.nanvar((), 0.0), |x| x.nanvar(kept(Over::axis(-1)), 1.0)],
        ReductionFunction::NanStd => [|x| x.nanstd((), 0.0), |x| x.nanstd(kept(Over::axis(-1)), 1.0)],
        ReductionFunction::Count => [
            |_| Array::from_vec(vec![8_i64]).index_axis(0, 0),
            |_| Array::from_vec(vec![4.0_f32, 4.0]).index_axis(0, 0),
        ],
        ReductionFunction::VecDot => [|x| x.vecdot(x, -1), |x| x.vecdot(x, -1)],
        ReductionFunction::CumulativeSum => [
            |x| x.cumulative_sum(None, None, false),
            |x| x.cumulative_sum(Some(-1), Some(DType::Float32), true),
        ],
        ReductionFunction::CumulativeProd => [
            |x| x.cumulative_prod(None, None, false),
            |x| x.cumulative_prod(Some(-1), Some(DType::Float32), true),
        ],
        other => panic!("{other}: a function without a method"),
    }
}

/// A call with a non-default argument for each parameter of the function.
fn with_options(function: ReductionFunction) -> ReductionCall {
    let plain = ReductionCall::new(function);
    ReductionCall {
        axis: Some([-1].as_slice().into()),
        keepdims: function.has("keepdims"),
        dtype: function.has("dtype").then_some(DType::Float32),
        correction: if function.has("correction") { 1.0 } else { plain.correction },
        ord: if function.has("ord") { 3.0 } else { plain.ord },
        include_initial: function.has("include_initial"),
        ..plain
    }
}

/// The dtype, shape and bits of a result, or the text of the error.
type ResultOrError = std::result::Result<(DType, Vec<usize>, Vec<u64>), String>;

fn outcome(x: Result<Array<'static>>) -> ResultOrError {
    let x = x.and_then(|x| x.eval()).map_err(|error| error.to_string())?;
    Ok((x.dtype(), x.shape().to_vec(), elements::bits(&x).map_err(|error| error.to_string())?))
}

#[test]
fn a_row_is_its_method() {
    for &function in ReductionFunction::ALL {
        for &dtype in DType::ALL {
            let x = elements_of(dtype);
            let [all, along] = methods(function);
            assert_eq!(outcome(plain(function, &x)), outcome(all(&x)), "{function} {dtype}");
            let operands = vec![x.clone(); function.operands()];
            let called = Array::reduce(&with_options(function), &operands);
            assert_eq!(outcome(called), outcome(along(&x)), "{function} {dtype} with options");
        }
        let none = Array::reduce(&ReductionCall::new(function), &[]).map(|_| ());
        assert_eq!(none.map_err(|error| error.kind()), Err(ErrorKind::Arity), "{function}");
    }
}

#[test]
fn dtypes_are_those_of_the_table() {
    for &function in ReductionFunction::ALL {
        for &dtype in DType::ALL {
            let x = elements_of(dtype).index_axis(0, 0).expect("a row");
            match plain(function, &x) {
                Ok(result) => {
                    assert!(function.takes().contains(dtype), "{function} takes {dtype}");
                    let dtype = function.gives().of(dtype).unwrap_or(DType::Int64);
                    assert_eq!(result.dtype(), dtype, "{function}");
                }
                Err(error) => {
                    assert!(!function.takes().contains(dtype), "{error}");
                    assert_eq!(error.kind(), ErrorKind::DType, "{error}");
                }
            }
        }
    }
}

#[test]
fn no_elements_give_the_identity() {
    for &function in ReductionFunction::ALL {
        for &dtype in DType::ALL.iter().filter(|&&dtype| function.takes().contains(dtype)) {
            let nothing = Array::zeros(&[0], dtype).and_then(|x| x.eval()).expect("no elements");
            let include_initial = function.has("include_initial");
            let call = ReductionCall { include_initial, ..ReductionCall::new(function) };
            let got = Array::reduce(&call, &vec![nothing; function.operands()]).and_then(|x| x.eval());
            match (function.identity(), got) {
                (Some(identity), Ok(got)) => {
                    let expected = identity.to_dtype(got.dtype()).expect("an identity of the dtype").bits;
                    assert_eq!(elements::bits(&got).expect("one"), [expected], "{function} {dtype}");
                }
                (None, Err(error)) => assert_eq!(error.kind(), ErrorKind::Shape, "{error}"),
                (identity, got) => {
                    panic!("{function} {dtype}: {identity:?}, but {:?}", got.map(|x| x.to_string()))
                }
            }
        }
    }
}

/// A function's result does not depend on the order of elements if that is true of all nodes that combine
/// elements.
#[test]
fn the_order_is_free_where_the_nodes_say_so() {
    for &function in ReductionFunction::ALL {
        for &dtype in DType::ALL.iter().filter(|&&dtype| function.takes().contains(dtype)) {
            let x = elements_of(dtype).index_axis(0, 1).expect("a row");
            let result = plain(function, &x).expect("a dtype that it takes");
            let graph = typed_graph(&[&result], &Options::default()).expect("a small expression").graph;
            let is_free = graph.nodes().iter().all(|node| match &node.kind {
                NodeKind::Reduce { reduction, arg, .. } => reduction.is_free(graph.node(*arg).dtype),
                NodeKind::Scan { .. } => false,
                _ => true,
            });
            assert_eq!(function.order().is_free(dtype), is_free, "{function} {dtype}");
        }
    }
}

/// A function's composition has the function's bits. Under NumPy's promotion, the numbers and counts in a
/// composition are float64.
#[test]
fn compositions_are_the_functions() {
    let numbers = [0.1_f64, -2.75, 3.3, 1e5, -7.7, 0.3, 12.5];
    let with_nan = [0.1_f64, f64::NAN, 3.3, 1e5, f64::NAN, 0.3, 12.5];
    for &function in ReductionFunction::ALL {
        let Some(composition) = function.composition() else { continue };
        for (elements, number) in [(numbers, 1.0), (with_nan, 3.0), ([f64::NAN; 7], 1.5)] {
            let x = Array::from_vec(elements.to_vec());
            let y = Array::from_vec(numbers.to_vec());
            let mut call = ReductionCall::new(function);
            if let Some(argument) = call.number_mut() {
                *argument = number;
            }
            let number = || Array::scalar(number);
            let names = [
                ("x", x.clone()),
                ("x1", x.clone()),
                ("x2", y.clone()),
                ("correction", number()),
                ("ord", number()),
            ];
            // The composition of a standard deviation calls the variance without a correction, so the
            // correction is inserted here.
            let text = composition.replace("var(x)", &format!("var(x, correction={})", call.correction));
            let composed = with_promotion(Promotion::NumPy, || expression(&text, &names));
            let composed = composed.unwrap_or_else(|error| panic!("{function}: {}", error.render()));
            let operands = if function.operands() == 2 { vec![x, y] } else { vec![x] };
            assert_eq!(
                outcome(Array::reduce(&call, &operands)),
                outcome(Ok(composed)),
                "{function} {elements:?}"
            );
        }
    }
}
