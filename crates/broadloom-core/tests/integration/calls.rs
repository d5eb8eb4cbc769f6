//! Calls with options: how their arguments are parsed, and the errors for wrong arguments.
//!
//! A call is evaluated to a text that lists every option that differs from its default, so that the rows show how it
//! was parsed.

use broadloom_core::parameter::ParameterKind;
use broadloom_core::reductions::{ReductionCall, ReductionFunction};
use broadloom_core::text::{
    GeneratorCall, Input, Library, Meaning, Module, ParseOptions, TextError, View, built_ins, evaluate,
};
use broadloom_core::{DType, Error, ErrorKind, Literal, Op, Result, Scalar};
use broadloom_ir::{Reduction, Scan};

/// Evaluates calls to texts; every name has a value.
struct Words;

impl Meaning for Words {
    type Value = String;

    fn literal(&mut self, x: Literal) -> String {
        x.to_string()
    }
    fn constant(&mut self, x: Scalar) -> String {
        format!("{x:?}")
    }
    fn apply(&mut self, op: Op, args: &[String]) -> Result<String> {
        Ok(format!("{op}({})", args.join(", ")))
    }
    fn cast(&mut self, x: &String, dtype: DType) -> Result<String> {
        Ok(format!("astype({x}, {dtype})"))
    }
    fn view(&mut self, x: &String, view: View<'_>) -> Result<String> {
        Ok(format!("{view:?} of {x}"))
    }
    fn reduce(&mut self, call: &ReductionCall, args: &[String]) -> Result<String> {
        let ReductionCall { function, axis, keepdims, dtype, correction, ord, include_initial } = call;
        let plain = ReductionCall::new(*function);
        let mut words = args.to_vec();
        let mut option = |is_plain: bool, words_of: String| {
            if !is_plain {
                words.push(words_of);
            }
        };
        option(*axis == plain.axis, format!("axis={:?}", axis.as_deref().unwrap_or_default()));
        option(!keepdims, "keepdims".to_owned());
        option(*dtype == plain.dtype, format!("dtype={dtype:?}"));
        option(*correction == plain.correction, format!("correction={correction}"));
        option(*ord == plain.ord, format!("ord={ord}"));
        option(!include_initial, "include_initial".to_owned());
        Ok(format!("{function}({})", words.join(", ")))
    }
    fn generate(&mut self, call: &GeneratorCall, args: &[String]) -> Result<String> {
        let words = match call {
            GeneratorCall::Arange { start, stop, step, dtype } => {
                format!("arange({start}, {stop}, {step}, {dtype:?})")
            }
            GeneratorCall::Linspace { start, stop, num, endpoint, dtype } => {
                format!("linspace({start}, {stop}, {num}, {endpoint}, {dtype})")
            }
            GeneratorCall::Eye { rows, cols, k, dtype } => format!("eye({rows}, {cols}, {k}, {dtype})"),
            GeneratorCall::Full { shape, value, dtype } => format!("full({shape:?}, {value:?}, {dtype:?})"),
            GeneratorCall::Indices { axis } => format!("indices({}, {axis})", args[0]),
            GeneratorCall::Key { seed } => format!("key({seed})"),
            GeneratorCall::Split { n } => format!("split({}, {n})", args[0]),
            GeneratorCall::FoldIn => format!("fold_in({})", args.join(", ")),
            GeneratorCall::Draw { draw, shape, dtype } => {
                format!("{draw}({}, {shape:?}, {dtype:?})", args.join(", "))
            }
        };
        Ok(words)
    }
    fn host(&mut self, _: u32, _: &[String]) -> Result<String> {
        Err(Error::new(ErrorKind::Internal, "no host function was declared"))
    }
    fn input(&mut self, input: &Input<'_>, _: Option<&[u64]>) -> Result<String> {
        Ok(input.name().to_owned())
    }
    fn free(&mut self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
    fn check(&mut self, _: &String, _: &Input<'_>) -> Result<()> {
        Ok(())
    }
    fn set(&mut self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }
    fn show(&self, x: &String) -> String {
        x.clone()
    }
}

fn evaluated(text: &str) -> std::result::Result<String, TextError> {
    let module = Module::parse(text, &Library::default(), &ParseOptions::default())?;
    Ok(evaluate(&module, &mut Words)?.join("; "))
}

#[test]
fn options_are_understood() {
    for (text, expected) in [
        ("sum(x)", "sum(x)"),
        ("sum(x, axis=0)", "sum(x, axis=[0])"),
        ("sum(x, 0)", "sum(x, axis=[0])"),
        ("sum(x, (0, -1), dtype=float64)", "sum(x, axis=[0, -1], dtype=Some(Float64))"),
        ("sum(a * b, axis=(0, 1), keepdims=true)", "sum(multiply(a, b), axis=[0, 1], keepdims)"),
        ("sum(x, keepdims=True, axis=[0, -1])", "sum(x, axis=[0, -1], keepdims)"),
        ("sum(x, axis=(0,), keepdims=False)", "sum(x, axis=[0])"),
        ("sum(x, axis=())", "sum(x, axis=[])"),
        ("sum(sum(x, axis=1), axis=(0))", "sum(sum(x, axis=[1]), axis=[0])"),
        ("prod(2)", "prod(2)"),
        ("max(x)", "max(x)"),
        ("max(x, axis=-1) - min(x)", "subtract(max(x, axis=[-1]), min(x))"),
        ("mean(x, 1, keepdims=true)", "mean(x, axis=[1], keepdims)"),
        ("var(x, axis=0, correction=1)", "var(x, axis=[0], correction=1)"),
        ("std(x, correction=0.5)", "std(x, correction=0.5)"),
        ("any(x > 0) | all(m, axis=0)", "bitwise_or(any(greater(x, 0)), all(m, axis=[0]))"),
        ("argmax(x, axis=1, keepdims=true)", "argmax(x, axis=[1], keepdims)"),
        ("argmin(x)", "argmin(x)"),
        ("count_nonzero(x, axis=(1, 0))", "count_nonzero(x, axis=[1, 0])"),
        ("count(x, axis=(0, 1), dtype=float32)", "count(x, axis=[0, 1], dtype=Some(Float32))"),
        ("vecdot(a, b)", "vecdot(a, b)"),
        ("vecdot(a, b, axis=0)", "vecdot(a, b, axis=[0])"),
        ("vector_norm(x, ord=inf)", "vector_norm(x, ord=inf)"),
        ("vector_norm(x, ord=-inf, axis=0)", "vector_norm(x, axis=[0], ord=-inf)"),
        ("vector_norm(x, ord=1.5, keepdims=true)", "vector_norm(x, keepdims, ord=1.5)"),
        ("cumulative_sum(x)", "cumulative_sum(x)"),
        (
            "cumulative_sum(x, axis=0, dtype=int64, include_initial=true)",
            "cumulative_sum(x, axis=[0], dtype=Some(Int64), include_initial)",
        ),
        ("cumulative_prod(x, -1)", "cumulative_prod(x, axis=[-1])"),
        ("nanvar(x, axis=0, correction=1)", "nanvar(x, axis=[0], correction=1)"),
        ("def f(t) = t - mean(t, axis=0); f(sum(x))", "subtract(sum(x), mean(sum(x), axis=[0]))"),
        ("axis = x; sum(axis, axis=0)", "sum(x, axis=[0])"),
        ("return sum = sum(x)", "sum(x)"),
        ("flip(x, axis=0)", "Flip(0) of x"),
        ("expand_dims(x, axis=-1)", "ExpandDims(-1) of x"),
        ("squeeze(x, axis=1)", "Squeeze(1) of x"),
        ("index_axis(x, index=2, axis=1)", "IndexAxis(1, 2) of x"),
        ("index_axis(x, 1, index=2)", "IndexAxis(1, 2) of x"),
        ("permute_dims(x, axes=(1, 0))", "PermuteDims([1, 0]) of x"),
        ("permute_dims(x, (1, 0))", "PermuteDims([1, 0]) of x"),
        ("reshape(x, shape=[2, -1])", "Reshape([2, -1]) of x"),
        ("broadcast_to(x, shape=(4,))", "BroadcastTo([4]) of x"),
        ("astype(x, dtype=int8)", "astype(x, int8)"),
        ("arange(5)", "arange(0, 5, 1, None)"),
        ("arange(2, 5.5)", "arange(2, 5.5, 1, None)"),
        ("arange(5, 0, -1, dtype=int8)", "arange(5, 0, -1, Some(Int8))"),
        ("arange(0, step=2, stop=5)", "arange(0, 5, 2, None)"),
        ("linspace(0, 1, 5)", "linspace(0, 1, 5, true, float64)"),
        (
            "linspace(-1.5, stop=1, num=5, endpoint=false, dtype=float32)",
            "linspace(-1.5, 1, 5, false, float32)",
        ),
        ("eye(3)", "eye(3, 3, 0, float64)"),
        ("eye(3, 4, k=-1, dtype=int8)", "eye(3, 4, -1, int8)"),
        ("full((2, 3), 0.5)", "full([2, 3], Literal(Float(0.5)), None)"),
        ("full(4, true)", "full([4], Literal(Bool(true)), None)"),
        ("full([], float32(0.5), dtype=int8)", "full([], Scalar(0.5:float32), Some(Int8))"),
        (
            "zeros(3) + ones((1, 3), dtype=int8)",
            "add(full([3], Literal(Int(0)), Some(Float64)), full([1, 3], Literal(Int(1)), Some(Int8)))",
        ),
        ("normal(key(7), [2, 3], dtype=float32)", "normal(key(7), [2, 3], Float32)"),
        ("gamma(k, a + 1, 4)", "gamma(k, add(a, 1), [4], Float64)"),
        (
            "bernoulli(fold_in(split(k)[0], i), 0.5, shape=(3,))",
            "bernoulli(fold_in(Index([Of(At(0))]) of split(k, 2), i), 0.5, [3], Bool)",
        ),
        ("split(k, n=4)", "split(k, 4)"),
        ("indices(a + b, axis=-1) - indices(x)", "subtract(indices(add(a, b), -1), indices(x, 0))"),
    ] {
        let got = evaluated(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(got, expected, "{text}");
    }
}

#[test]
fn what_does_not_fit_is_an_error_at_its_place() {
    let sum = "`sum(x, axis=…, dtype=…, keepdims=false)`";
    for (text, under, message, help) in [
        ("sum(x, axsi=0)", "axsi", "`sum` has no argument `axsi`", "did you mean `axis`?"),
        ("sum(x, q=0)", "q", "`sum` has no argument `q`", "known are `axis`, `dtype`, `keepdims`"),
        ("mean(x, dtype=int8)", "dtype", "`mean` has no argument `dtype`", "known are `axis`, `keepdims`"),
        ("sum(x, axis=0, axis=1)", "axis", "`axis` of `sum` is given twice", "`axis=(0, 1)`"),
        ("sum(x, 0, axis=1)", "axis", "`axis` of `sum` is given twice", ""),
        ("sum(x=x)", "x", "`x` of `sum` is given by its place, without a name", "write `sum(x)`"),
        ("sum(axis=0, x)", "x", "an argument of `sum` without a name follows `axis=`", "come first"),
        ("sum()", "sum", &format!("{sum} is not given `x`"), ""),
        ("vecdot(x)", "vecdot", "`vecdot(x1, x2, axis=-1)` is not given `x2`", ""),
        ("sum(axis=0)", "sum", &format!("{sum} is not given `x`"), ""),
        ("flip(axis=0)", "flip", "`flip(x, axis)` is not given `x`", ""),
        ("flip(x)", "flip", "`flip(x, axis)` takes 2 arguments, but is given 1", "flip(x, axis=0)"),
        ("flip(x, 0, 1)", "flip", "`flip(x, axis)` takes 2 arguments, but is given 3", ""),
        (
            "sum(x, 0, float32)",
            "sum",
            &format!("{sum} takes 2 arguments without a name, but is given 3"),
            "write `dtype=float32`",
        ),
        ("mean(x, 0, true)", "mean", "takes 2 arguments without a name", "write `keepdims=true`"),
        ("max(x, (0, 1))", "max", "takes 1 argument without a name", "write `axis=(0, 1)`"),
        (
            "max(a, b + 1)",
            "max",
            "takes 1 argument without a name",
            "of two arrays it is `maximum(a, b + 1)`",
        ),
        (
            "min(a, 0)",
            "min",
            "takes 1 argument",
            "write `min(a, axis=0)`; of two operands it is `minimum(a, 0)`",
        ),
        ("vector_norm(x, 1)", "vector_norm", "takes 1 argument", "write `axis=1`, or `ord=1`"),
        ("sum(a, b)", "b", "`axis` of `sum` must be an integer, or several", "of two arrays it is `a + b`"),
        (
            "sum(x, axis=b)",
            "b",
            "`axis` of `sum` must be an integer, or several such as `(0, 1)`",
            "from 0 on",
        ),
        ("sum(x, axis=1.0)", "1.0", "`axis` of `sum` must be an integer", "from 0 on"),
        ("sum(x, axis=0 + 1)", "0 + 1", "`axis` of `sum` must be an integer", "from 0 on"),
        ("sum(x, axis=None)", "None", "`axis` of `sum` can't be `None`", "then all axes are reduced"),
        (
            "cumulative_sum(x, axis=(0, 1))",
            "(0, 1)",
            "`axis` of `cumulative_sum` must be an integer",
            "`cumulative_sum` takes one axis",
        ),
        ("sum(x, keepdims=1)", "1", "`keepdims` of `sum` must be `true` or `false`", "write `keepdims=true`"),
        ("sum(x, keepdims=TRUE)", "TRUE", "`keepdims` of `sum` must be `true` or `false`", "write `true`"),
        ("var(x, correction=true)", "true", "`correction` of `var` must be a number", ""),
        ("vector_norm(x, ord=x)", "x", "`ord` of `vector_norm` must be a number", ""),
        ("sum(x, dtype=float)", "float", "`float` is not a dtype", "write `float32` or `float64`"),
        ("sum(x, dtype=flaot32)", "flaot32", "`flaot32` is not a dtype", "did you mean `float32`?"),
        ("sum(x, dtype=1)", "1", "`dtype` of `sum` must be the name of a dtype", "dtypes are bool"),
        ("reshape(x, 6)", "6", "`shape` of `reshape` must be a list of integers", "write `[6]`"),
        ("reshape(x, shape=x)", "x", "`shape` of `reshape` must be a list of integers, such as", ""),
        ("flip(x, axis=99999999999999999999)", "99999999999999999999", "does not fit in 64 bits", ""),
        ("arange(n)", "n", "`start` of `arange` must be a number", "`start + step * arange(10)`"),
        ("arange()", "arange", "`arange(start, stop=…, step=1, dtype=…)` is not given `start`", ""),
        ("linspace(0, 1)", "linspace", "is not given `num`", ""),
        ("linspace(0, 2 * pi, 9)", "2 * pi", "`stop` of `linspace` must be a number", "stand in the text"),
        ("eye(2.5)", "2.5", "`n_rows` of `eye` must be an integer", "stand in the text"),
        (
            "zeros(n)",
            "n",
            "`shape` of `zeros` must be an integer, or several such as `(0, 1)`",
            "stand in the text",
        ),
        ("full((2, 3), x)", "x", "`fill_value` of `full` must be a number, `true` or `false`", "broadcasts"),
        ("ones((2, 3), int8)", "ones", "takes 1 argument without a name", "write `dtype=int8`"),
        ("arange(5, dtype=int)", "int", "`int` is not a dtype", "`int32` or `int64`"),
        ("sqrt(x=1)", "x", "`sqrt(x)` takes its arguments in order, without `x=`", "write `==`"),
        (
            "where(x=0, 1, x)",
            "x",
            "`where(condition, x2, x3)` takes its arguments in order, without `x=`",
            "`==`",
        ),
        ("def f(a) = a; f(a=x)", "a", "`f(a)` takes its arguments in order, without `a=`", "write `==`"),
        (
            "sum(float32)",
            "float32",
            "`float32` is a dtype, which only `astype` and `dtype=` take",
            "astype(x",
        ),
        ("sum([1, 2])", "[1, 2]", "a list, which only axes and shapes can be", ""),
        ("def sum(a) = a; sum(x)", "sum", "there is a function `sum` already", "another name"),
    ] {
        let error = match evaluated(text) {
            Ok(words) => panic!("{text}: {words}"),
            Err(error) => error,
        };
        let at = &text[error.span.start as usize..error.span.end as usize];
        assert_eq!(at, under, "{text}: {error}");
        assert!(error.message.contains(message), "{text}: {error}");
        let advice = error.help.as_deref().unwrap_or_default();
        assert!(advice.contains(help), "{text}: {error}");
    }
}

#[test]
fn the_second_of_two_arguments_is_at_fault() {
    for (text, start) in [
        ("sum(x, axis=0, axis=1)", 15),
        ("sum(x, 0, axis=1)", 10),
        ("sum(axis=0, x)", 12),
        ("sum(x, kepdims=true, axsi=0)", 7),
    ] {
        assert_eq!(evaluated(text).map_err(|error| error.span.start), Err(start), "{text}");
    }
}

/// An argument that is equal to the default in the table does not change the call.
#[test]
fn defaults_are_those_of_the_table() {
    let mut checked = 0;
    for function in built_ins().filter(|function| function.is_reduction() || function.is_generator()) {
        let required = function.parameters.iter().filter(|parameter| parameter.default.is_none());
        let arguments: Vec<&str> = required
            .map(|parameter| if parameter.kind == ParameterKind::Operand { parameter.name } else { "2" })
            .collect();
        let call = format!("{}({}", function.name, arguments.join(", "));
        let plain = evaluated(&format!("{call})")).expect(&call);
        assert!(function.is_generator() || plain == format!("{call})"), "{plain}");
        for parameter in function.parameters {
            let Some(default) = parameter.default.filter(|default| *default != "…") else { continue };
            let text = format!("{call}, {}={default})", parameter.name);
            assert_eq!(evaluated(&text).as_ref(), Ok(&plain), "{text}");
            checked += 1;
        }
    }
    assert!(checked > ReductionFunction::ALL.len(), "{checked}");
}

#[test]
fn what_reduces_is_not_elementwise() {
    for (text, is_elementwise) in [
        ("a + b", true),
        ("astype(a, int8)", true),
        ("a - mean(a)", false),
        ("cumulative_sum(a)", false),
        ("flip(a, 0)", false),
        ("a + arange(4)", false),
        ("def f(t) = max(t); f(a)", false),
    ] {
        let module = Module::parse(text, &Library::default(), &ParseOptions::default()).expect(text);
        assert_eq!(module.is_elementwise(), is_elementwise, "{text}");
    }
    let mut library = Library::default();
    library.define("def total(t) = sum(t)", &ParseOptions::default()).expect("a function");
    let module = Module::parse("total(a)", &library, &ParseOptions::default()).expect("a call");
    assert!(!module.is_elementwise());
}

/// Calls with very many arguments, or nested very deeply, are resolved or refused in a time that is linear in the text.
#[test]
fn many_arguments_with_names() {
    let options = ParseOptions { max_nodes: 1 << 22, ..ParseOptions::default() };
    let n = 100_000;
    for (text, message) in [
        (format!("sum(x{})", ", axis=0".repeat(n)), "`axis` of `sum` is given twice"),
        (format!("f({})", "a=x, ".repeat(n)), "there is no function `f`"),
        (format!("{}x{}", "sum(x, axis=".repeat(n / 2), ")".repeat(n / 2)), "must be an integer"),
        (format!("{}x{}", "mean(".repeat(n), ", axis=(0,))".repeat(n)), ""),
    ] {
        let library = Library::default();
        let options = ParseOptions { max_bytes: 1 << 22, ..options.clone() };
        match Module::parse(&text, &library, &options) {
            Ok(_) => assert_eq!(message, "", "{}", &text[..20]),
            Err(error) => assert!(error.message.contains(message), "{error}"),
        }
    }
}

/// The names under which nodes are printed are functions of the language.
#[test]
fn reductions_that_are_nodes_are_functions() {
    let names =
        Reduction::ALL.map(Reduction::name).into_iter().chain([Scan::Sum, Scan::Prod].map(Scan::name));
    for name in names.chain(["count"]) {
        assert!(built_ins().any(|function| function.name == name && function.is_reduction()), "{name}");
    }
}
