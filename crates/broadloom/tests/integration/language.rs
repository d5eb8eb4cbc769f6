//! The text language: a printed text is read back as the same graph; the examples of docs/language.md have the
//! documented results; declared inputs, user-defined functions and libraries.

use broadloom::prelude::*;
use broadloom::text::{Library, ParseOptions, Printed, Program, TextError, print};
use broadloom::{Dim, ErrorKind, HostFunction, In, Kernel, Literal, Options, Out, typed_graph, while_loop};
use broadloom_testkit::differential;
use broadloom_testkit::random::{
    self, Size, Step, program, program_with_draws, program_with_joins, program_with_loops,
    program_with_routines,
};

/// Options for a text that may contain the values of its inputs.
fn with_data() -> ParseOptions {
    ParseOptions { data: true, ..ParseOptions::default() }
}

/// Prints the arrays, parses the text, and builds it over the same inputs.
fn there_and_back<'a>(arrays: &[&Array<'a>]) -> (String, Vec<Array<'a>>) {
    let names: Vec<String> = (0..arrays.len()).map(|i| format!("out{i}")).collect();
    let named: Vec<(&str, &Array<'a>)> = names.iter().zip(arrays).map(|(n, x)| (&**n, *x)).collect();
    let printed = Printed::new(&named).expect("names that a text can have");
    let program = Program::parse(&printed.text).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert!(program.outputs().eq(names.iter().map(|name| &**name)), "{printed}");
    let inputs: Vec<(&str, Array<'a>)> = printed.inputs.iter().map(|(n, x)| (&**n, x.clone())).collect();
    let results = program.build(&inputs).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    let built: Vec<Array<'a>> = results.into_iter().map(|(_, x)| x).collect();
    (printed.text.clone(), built)
}

#[test]
fn what_is_printed_reads_back_as_the_same_graph() {
    for seed in 0..1500 {
        let size = if seed % 500 == 0 { Size::Long } else { Size::Small };
        reads_back(seed, &program(seed, size));
    }
}

#[test]
fn printed_joins_read_back_as_the_same_graph() {
    for seed in 0..300 {
        reads_back(seed, &program_with_joins(seed));
    }
}

#[test]
fn printed_draws_read_back_as_the_same_graph() {
    for seed in 0..300 {
        reads_back(seed, &program_with_draws(seed));
    }
}

#[test]
fn printed_routines_read_back_as_the_same_graph() {
    // A mean by label is one routine with two results. It is printed as a sum and a count, which are two.
    let has_mean = |program: &random::Program| {
        let functions = program.steps.iter().map(|step| format!("{step:?}"));
        functions.into_iter().any(|step| step.contains("Mean"))
    };
    let (means, others): (Vec<_>, Vec<_>) =
        (0..300).map(|seed| (seed, program_with_routines(seed))).partition(|(_, program)| has_mean(program));
    for (seed, program) in &others {
        reads_back(*seed, program);
    }
    assert!(others.len() > 100 && !means.is_empty(), "{} programs", others.len());
}

#[test]
fn printed_loops_read_back_as_the_same_graph() {
    let programs = (0..1200).map(|seed| (seed, program_with_loops(seed)));
    let nested = programs
        .filter(|(_, program)| !has_recurrences(program))
        .filter(|(seed, program)| reads_back(*seed, program).contains("_1 = "));
    assert!(nested.count() > 50, "few loops in loops");
}

fn has_recurrences(program: &random::Program) -> bool {
    program.steps.iter().any(|step| matches!(step, Step::Recurrence(..)))
}

/// Checks that the printed text of a program is read back as the same graph. Returns the text.
fn reads_back(seed: u64, program: &random::Program) -> String {
    let arrays = differential::arrays(program).expect("it types");
    let roots: Vec<&Array<'static>> = program.roots.iter().map(|&root| &arrays[root]).collect();
    let (text, built) = there_and_back(&roots);
    let again: Vec<&Array<'static>> = built.iter().collect();
    let options = Options::default().with_semantics(program.semantics);
    let graph = |roots: &[&Array<'static>]| {
        let typed = typed_graph(roots, &options).expect("a graph");
        let nodes: Vec<_> = typed.graph.nodes().iter().map(|n| (n.kind.clone(), n.dtype)).collect();
        (nodes, typed.roots)
    };
    assert!(graph(&roots) == graph(&again), "seed {seed}\n{text}");
    assert_eq!(there_and_back(&again).0, text, "seed {seed}");
    text
}

/// The values of a loop are bound together, and names in the loop differ from those of inputs.
#[test]
fn a_printed_loop_binds_its_values_together() -> Result<()> {
    let c = Array::input("s1", DType::Float64, &["n".into()])?;
    let start = [Array::scalar(0.0), Array::scalar(0), c.clone()];
    let [z, n, _] = while_loop(
        |[z, _, _]| (z * z).less(4.0),
        |[z, n, old]| [z * z + &c, n + 1, old.clone()],
        start,
        100,
    )?;
    let text = print(&[("z", &z), ("n", &n)])?;
    assert!(text.starts_with("s1: float64[n]\n"), "{text}");
    assert!(text.contains("\nz, n, _ = while (s0_ = "), "{text}");
    let program = Program::parse(&text)?;
    let built = program.build(&[])?;
    let named: Vec<(&str, &Array<'_>)> = built.iter().map(|(name, x)| (*name, x)).collect();
    assert_eq!(print(&named)?, text);
    let carried = std::cell::RefCell::new(None);
    let keep = |state: &[Array<'static>; 1]| {
        carried.replace(Some(state[0].clone()));
        state.clone()
    };
    while_loop(|[x]| x.less(1.0), keep, [Array::from_vec(vec![0.0])], 1)?;
    let inside = carried.take().expect("the body ran");
    let error = print(&[("y", &inside)]).expect_err("a carried value");
    assert_eq!(error.to_string(), "print: a carried value is used outside of its loop");
    Ok(())
}

/// The values of `text` over `x = [1, 2, 5]` and `k = [0, 3, 4]`, as float64.
fn values(text: &str) -> std::result::Result<Vec<Vec<f64>>, TextError> {
    let given = || [("x", Array::from_vec(vec![1.0, 2.0, 5.0])), ("k", Array::from_vec(vec![0_i64, 3, 4]))];
    let program = Program::parse(text)?;
    let names: Vec<String> = program.inputs().map(|input| input.name().to_owned()).collect();
    let given: Vec<_> = given().into_iter().filter(|(name, _)| names.iter().any(|x| x == name)).collect();
    let results = program.build(&given)?;
    let evaluated = results.iter().map(|(_, x)| x.astype(DType::Float64).to_vec::<f64>());
    Ok(evaluated.collect::<Result<_>>().expect("they evaluate"))
}

#[test]
fn loops_in_texts_have_the_values_of_loops_over_numbers() {
    let (x, k) = ([1.0, 2.0, 5.0], [0_i64, 3, 4]);
    let found = values("y, n = while (y = x, n = 0; y < 30) limit 4 { y = 2 * y; n = n + 1 }; return y, n");
    let expected = x.map(|mut y| {
        let mut n = 0;
        while n < 4 && y < 30.0 {
            (y, n) = (2.0 * y, n + 1);
        }
        (y, f64::from(n))
    });
    assert_eq!(found.expect("a program"), [expected.map(|x| x.0).to_vec(), expected.map(|x| x.1).to_vec()]);

    let found = values(
        "def next(y, i) = y * 2 + astype(i, float64)\ny = for (y = x; i in 1..k) {\n  y = next(y, i)\n}\nreturn y",
    );
    let expected = [0, 1, 2].map(|e| (1..k[e]).fold(x[e], |y, i| y * 2.0 + i as f64));
    assert_eq!(found.expect("a program"), [expected]);

    // Bindings run in order: the second line of the body reads the new `a`, the third the old `c`.
    let text = "a, b, c = while (a = 1, b = 0, c = 0; twice = 2 * a; twice < 20) {
        a = a + 1; old = b
        b = a * 10
        c = c + old
        a = a + 1
    }
    return a = a + 0 * k, b = b + 0 * k, c = c + 0 * k";
    let (mut a, mut b, mut c) = (1, 0, 0);
    while 2 * a < 20 {
        a += 1;
        let old = b;
        b = a * 10;
        c += old;
        a += 1;
    }
    let expected = [a, b, c].map(|x| vec![f64::from(x); 3]);
    assert_eq!(values(text).expect("a program"), expected);

    // A loop in a loop, whose names are reused and whose result is a carried value.
    let text = "total = for (total = 0; i in 0..k) { total, _ = while (total = total, j = i; j > 0) { total = total + j; j = j - 1 } }; return total";
    let expected = k.map(|k| (0..k).map(|i| (1..=i).sum::<i64>()).sum::<i64>() as f64);
    assert_eq!(values(text).expect("a program"), [expected]);

    // The keywords are names elsewhere.
    let text =
        "while = k; for = while + 1; limit = for; in = limit * 2\ndef f(while) = while\nreturn f(in) - while";
    assert_eq!(values(text).expect("a program"), [k.map(|k| (k + 2) as f64)]);
}

#[test]
fn errors_in_loops_have_places() {
    for (text, at, kind, words) in [
        (
            "y = while (y = x; x[0] < z) { y = y + 1 }; y",
            25,
            ErrorKind::Name,
            "`z` is not known; known are `x`, `y`",
        ),
        (
            "y = while (y = x; y < 9) { y = y + true }; y",
            33,
            ErrorKind::DType,
            "add: float64 with the literal true",
        ),
        (
            "y = while (y = x; y + 1) { y = y + 1 }; y",
            4,
            ErrorKind::DType,
            "while: the condition must be bool, not float64[3]",
        ),
        (
            "y = while (y = k; y < 9) { y = y * 0.5 + x }; y",
            33,
            ErrorKind::DType,
            "multiply: int64 with the literal 0.5",
        ),
        (
            "y = while (y = k; y < 9) { y = x }; y",
            4,
            ErrorKind::DType,
            "while: `y` is int64, but becomes float64",
        ),
        (
            "y = while (y = x; y < 9) { y = y + sum(y) }; y",
            4,
            ErrorKind::Shape,
            "while: `y` is made by sum, which does not work element by element",
        ),
        (
            "y = for (y = x; i in 0..x) { y = y + 1 }; y",
            4,
            ErrorKind::DType,
            "for: the upper bound is float64, but must be an integer",
        ),
        (
            "y = while (y = x; y < 9) { z = y; z = z + 1; y = z }; y",
            34,
            ErrorKind::Name,
            "`z` has a value already; in a loop only carried values change",
        ),
        (
            "y = while (y = x; y < 9) { x = y + 1; y = x }; y",
            15,
            ErrorKind::Name,
            "`x` is used before it has a value",
        ),
        (
            "y = for (y = x; i in 0..k) { i = i + 1; y = y + 1 }; y",
            29,
            ErrorKind::Name,
            "`i` has a value already; in a loop only carried values change",
        ),
        (
            "y, z = while (y = x, y = k; y < 9) { y = y + 1 }; y",
            21,
            ErrorKind::Name,
            "there are two carried values `y`",
        ),
        (
            "y = for (i = x; i in 0..k) { }; y",
            16,
            ErrorKind::Name,
            "the integer and a carried value are both named `i`",
        ),
        ("y = while (y = x; y < 9) { z = y; y = z + 1 }; y + z", 51, ErrorKind::Name, "`z` is not known"),
        (
            "y = while (y = x; y < 9) { y = y + 1 }; y = 1; y",
            40,
            ErrorKind::Name,
            "`y` has a value already; give it another name",
        ),
        (
            "y = while (y = x; y < 9) { y, z = while (y = y, i = 0; i < 2) { i = i + 1 }; z = 3 }; y",
            77,
            ErrorKind::Name,
            "`z` has a value already",
        ),
        ("y = while (y = x; y < 9) { y = f(y) }; y", 31, ErrorKind::Name, "there is no function `f`"),
    ] {
        let error = values(text).expect_err(text);
        let told = format!("{}; {}", error.message, error.help.clone().unwrap_or_default());
        assert_eq!((error.kind, error.span.start), (kind, at), "{text}: {error}");
        assert!(told.starts_with(words), "{text}: {error}");
    }
    let nested = |n: usize| {
        let (open, close) = ("y = while (y = y; y < 9) limit 1 { ".repeat(n), " }".repeat(n));
        values(&format!("y = while (y = x; y < 9) limit 1 {{ {open}y = y + 1{close} }}; y"))
    };
    assert_eq!(nested(7).expect("a program"), [[2.0, 3.0, 6.0]]);
    let error = nested(8).expect_err("nine loops");
    assert_eq!((error.kind, &*error.message), (ErrorKind::Limit, "more than 8 loops are nested"));
    let many = |n: usize| {
        let names = |of: &str| (0..n).map(|i| format!("{of}{i}")).collect::<Vec<_>>().join(", ");
        let state = (0..n).map(|i| format!("a{i} = x")).collect::<Vec<_>>().join(", ");
        values(&format!("{} = while ({state}; a0 < 1) {{ }}; return b0", names("b")))
    };
    assert_eq!(many(64).expect("a program"), [[1.0, 2.0, 5.0]]);
    let error = many(65).expect_err("too many values");
    assert_eq!(
        (error.kind, &*error.message),
        (ErrorKind::Limit, "while: 65 carried values, the limit is 64")
    );
}

#[test]
fn inputs_of_kernels_print_under_their_names() -> Result<()> {
    let x = Array::input("x", DType::Float32, &[Dim::from("n"), 3.into()])?;
    let rate = Array::input("rate", DType::Float32, &[])?;
    let y = (&x * &rate).exp();
    let text = print(&[("y", &y), ("x", &x), ("z", &(&y + &y))])?;
    let expected = "x: float32[n,3]\nrate: float32[]\nt0: float32[n,3] = x * rate\ny: float32[n,3] = exp(t0)\n\
                    z: float32[n,3] = y + y\nreturn y, x, z\n";
    assert_eq!(text, expected);
    let program = Program::parse(&text)?;
    let results = program.build(&[])?;
    let named: Vec<(&str, &Array<'_>)> = results.iter().map(|(name, x)| (*name, x)).collect();
    assert_eq!(print(&named)?, text);
    let kernel = Kernel::named(&named, &[&x, &rate], &Options::default());
    assert!(kernel.is_ok(), "{kernel:?}");
    for (names, words) in [
        (&["y", "y"][..], "print: the name \"y\" is there twice"),
        (&["def"], "print: the name \"def\" is not one that a text can have"),
        (&["a b"], "print: the name \"a b\" is not one that a text can have"),
    ] {
        let named: Vec<(&str, &Array<'_>)> = names.iter().map(|name| (*name, &y)).collect();
        assert_eq!(print(&named).map_err(|e| e.to_string()), Err(words.to_owned()));
    }
    let other = Array::input("x", DType::Float64, &[])?;
    let two = print(&[("a", &x), ("b", &other)]).map_err(|e| e.to_string());
    assert_eq!(two, Err("print: the name \"x\" is that of two inputs".into()));
    Ok(())
}

#[test]
fn declared_inputs_make_kernels() -> Result<()> {
    let program = Program::parse(
        "x: float32[n, 3]; rate: float32
         y: float32[n, 3] = x * rate
         return y, half = y / 2",
    )?;
    let inputs: Vec<(&str, Option<DType>)> = program.inputs().map(|i| (i.name(), i.dtype())).collect();
    assert_eq!(inputs, [("x", Some(DType::Float32)), ("rate", Some(DType::Float32))]);
    let results = program.build(&[])?;
    let x = Array::input("x", DType::Float32, &["n".into(), 3.into()])?;
    let rate = Array::input("rate", DType::Float32, &[])?;
    let named: Vec<(&str, &Array<'_>)> = results.iter().map(|(name, x)| (*name, x)).collect();
    let kernel = Kernel::named(&named, &[&x, &rate], &Options::default())?;
    let (mut y, mut half) = ([0.0_f32; 6], [0.0_f32; 6]);
    let data = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    kernel.run(&[In::from(&data), In::from(&[2.0_f32])], [Out::from(&mut y), Out::from(&mut half)])?;
    assert_eq!((y[5], half[5]), (12.0, 6.0));
    Ok(())
}

#[test]
fn what_is_bound_has_the_declared_type() {
    let text =
        "x: float32[n, 3]; y: float32[n, 1]; z: float32[..., n]\nw: float32[n, 3] = x + y\nreturn w, z";
    let program = Program::parse(text).expect("a program");
    let zeros = |shape: &[usize]| Array::zeros(shape, DType::Float32).expect("small");
    let build = |x: &[usize], y: &[usize], z: &[usize]| {
        let bound = [("x", zeros(x)), ("y", zeros(y)), ("z", zeros(z))];
        program
            .build(&bound)
            .map(|results| results[0].1.shape().to_vec())
            .map_err(|e| (e.kind, e.to_string()))
    };
    assert_eq!(build(&[2, 3], &[2, 1], &[5, 4, 2]), Ok(vec![2, 3]));
    assert_eq!(build(&[2, 3], &[2, 1], &[2]), Ok(vec![2, 3]));
    for (x, y, z, words) in [
        (
            &[2, 4][..],
            &[2, 1][..],
            &[2][..],
            "line 1, column 1: `x`, declared float32[n, 3], has the shape [2,4], but axis 1 is 3",
        ),
        (
            &[2, 3],
            &[4, 1],
            &[2],
            "line 1, column 19: `y`, declared float32[n, 1], has the shape [4,1], but n (axis 0) is 2 already",
        ),
        (
            &[2, 3],
            &[2, 1],
            &[4],
            "line 1, column 37: `z`, declared float32[..., n], has the shape [4], but n (axis 0) is 2 already",
        ),
        (
            &[3],
            &[2, 1],
            &[2],
            "line 1, column 1: `x`, declared float32[n, 3], has the shape [3], but [n,3] has rank 2",
        ),
    ] {
        assert_eq!(build(x, y, z), Err((ErrorKind::Shape, words.to_owned())));
    }
    let wrong = program.build(&[("x", zeros(&[2, 3]).astype(DType::Float64))]).map(|_| ());
    let wrong = wrong.map_err(|e| e.to_string());
    assert_eq!(
        wrong,
        Err("line 1, column 1: `x` is float64[2,3], not float32[n, 3]; write `astype(…, float32)`".into())
    );
    let literal = Program::parse("r: float32; return r")
        .expect("a program")
        .build(&[("r", Array::scalar(1))])
        .map(|_| ());
    assert!(literal.is_err_and(|e| e.kind == ErrorKind::DType));
}

#[test]
fn names_that_do_not_go_together_are_errors() {
    let program = Program::parse("x: float32[n]; return y = x + rate").expect("a program");
    let one = || Array::from_vec(vec![1.0_f32]);
    for (bound, words) in [
        (&["x"][..], "line 1, column 31: `rate` is not known; known are `x`"),
        (&["x", "rate", "x"], "line 1, column 1: an array is given for `x`, and another one too"),
        (
            &["x", "rat"],
            "line 1, column 1: an array is given for `rat`, which the text does not use; did you mean `rate`?",
        ),
        (&["x", "rate", "q"], "line 1, column 1: an array is given for `q`, which the text does not use"),
    ] {
        let bound: Vec<(&str, Array<'_>)> = bound.iter().map(|name| (*name, one())).collect();
        let error = program.build(&bound).map(|_| ()).expect_err(words);
        assert_eq!((error.kind, error.to_string()), (ErrorKind::Name, words.to_owned()));
    }
}

#[test]
fn user_defined_functions_and_libraries() -> Result<()> {
    let options = ParseOptions::default();
    let mut library = Library::new(&[], "def smooth(t) = t * t * (3 - 2 * t)")?;
    library.define("def twice(t) = smooth(smooth(t)); def zero() = 0 # a constant")?;
    let x = || Array::from_vec(vec![0.0, 0.5, 1.0]);
    let values = |text: &str| -> Result<Vec<f64>> {
        let program = Program::parse_with(text, &library, &options)?;
        program.build(&[("x", x())])?[0].1.to_vec()
    };
    assert_eq!(values("twice(x) + zero()")?, [0.0, 0.5, 1.0]);
    assert_eq!(values("def twicely(a, b) = twice(a) - b\ntwicely(x, x) * 4")?, [0.0, 0.0, 0.0]);
    assert_eq!(values("def f(x) = x[1:]; def g(t) = f(t) + f(t); y = g(x); y")?, [1.0, 2.0]);
    for (text, at, kind, words) in [
        ("smoth(x)", 0, ErrorKind::Name, "there is no function `smoth`; did you mean `smooth`?"),
        ("smooth(x, x)", 0, ErrorKind::Arity, "`smooth(t)` takes 1 argument, but is given 2"),
        (
            "def smooth(q) = q; smooth(x)",
            4,
            ErrorKind::Name,
            "there is a function `smooth` already; give it another name",
        ),
        (
            "def exp(q) = q; exp(x)",
            4,
            ErrorKind::Name,
            "there is a function `exp` already; give it another name",
        ),
        ("def f(a, a) = a; f(x, x)", 9, ErrorKind::Name, "there are two parameters `a`"),
        (
            "def f(a) = f(a); f(x)",
            11,
            ErrorKind::Name,
            "there is no function `f`; a function can't call itself",
        ),
        (
            "def f(a) = x; f(x)",
            11,
            ErrorKind::Name,
            "`x` is not a parameter of `f`; a user-defined function can use only its parameters",
        ),
        ("def f(a) = g(a); def g(a) = a; f(x)", 11, ErrorKind::Name, "there is no function `g`"),
        (
            "def f(a) = a + true; 1 + f(x)",
            25,
            ErrorKind::DType,
            "in `f`, at `a + true`: add: float64 with the literal true",
        ),
        ("x = 1; x = 2; x", 7, ErrorKind::Name, "`x` has a value already; give it another name"),
        ("y = z; z = 1; y", 4, ErrorKind::Name, "`z` is used before it has a value"),
        ("return x + 1, x", 7, ErrorKind::Syntax, "result 1 has no name; write `name = …`"),
        ("return y = x, y = x", 14, ErrorKind::Name, "two results have the name `y`"),
        ("astype(x, int8) + [1]", 18, ErrorKind::Syntax, "found `[`, expected an operand after `+`"),
        (
            "reshape(x, 3)",
            11,
            ErrorKind::Arity,
            "`shape` of `reshape` must be a list of integers, such as `[2, 3]`; write `[3]`",
        ),
        ("exp([3])", 4, ErrorKind::Arity, "a list, which only axes and shapes can be"),
        ("x[1, 2]", 1, ErrorKind::Shape, "index: 2 indices for [3], which has rank 1"),
        ("x[3]", 1, ErrorKind::Shape, "index: 3 is out of range for axis 0 of [3]"),
    ] {
        let error = Program::parse_with(text, &library, &options).and_then(|program| {
            program.build(&[("x", x())]).map(|results| panic!("{text} gives {}", results[0].1))
        });
        let error: broadloom::text::TextError = error.expect_err(text);
        assert_eq!((error.kind, error.span.start), (kind, at), "{text}: {error}");
        let told = format!("{}; {}", error.message, error.help.clone().unwrap_or_default());
        assert!(told.starts_with(words), "{text}: {error}");
    }
    let mut other = library.clone();
    let refused = other.define("def half(x) = x / 2; return half(1)").map_err(|e| e.to_string());
    assert_eq!(
        refused,
        Err("line 1, column 1: a library has nothing but `def name(parameter, …) = expression`".into())
    );
    let limits = ParseOptions { max_bytes: 8, ..ParseOptions::default() };
    let long = other.define_with("def half(x) = x / 2", &limits).map_err(|e| e.kind);
    assert_eq!(long, Err(ErrorKind::Limit));
    assert!(other.names().eq(["smooth", "twice", "zero"]));
    Ok(())
}

#[test]
fn a_library_of_host_functions_and_a_text_that_calls_them() -> Result<()> {
    let half = || HostFunction::new("half", |x: f64| x / 2.0);
    let library = Library::new(&[half()?], "def quarter(x) = half(half(x))")?;
    assert!(library.names().eq(["half", "quarter"]));
    let program = Program::parse_with("quarter(x)", &library, &ParseOptions::default())?;
    let results = program.build(&[("x", Array::from_vec(vec![4.0, 6.0]))])?;
    assert_eq!(results[0].1.to_vec::<f64>()?, [1.0, 1.5]);

    let twice = Library::new(&[half()?, half()?], "").expect_err("two functions of one name");
    assert_eq!((twice.kind(), twice.line()), (ErrorKind::Name, None));
    let unknown = Library::new(&[half()?], "def f(x) = x\ndef g(x) = haf(x)").expect_err("no function");
    assert_eq!((unknown.kind(), unknown.line(), unknown.column()), (ErrorKind::Name, Some(2), Some(12)));
    assert_eq!(unknown.help(), Some("did you mean `half`?"));
    Ok(())
}

#[test]
fn typed_constants_of_every_dtype_print_and_read_back() {
    let mut seen = 0;
    for dtype in DType::ALL.iter().copied() {
        for x in broadloom_testkit::edge_cases::values(dtype) {
            let text = broadloom_core::text::print::constant(x).to_string();
            let array = broadloom::text::expression(&text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(print(&[("y", &array)]).expect("a name"), format!("return y = {text}\n"));
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen}");
    for x in [
        Literal::Float(-0.0),
        Literal::Float(f64::NAN),
        Literal::Int(-1),
        Literal::Int(u64::MAX.into()),
        Literal::Bool(true),
    ] {
        let text = broadloom_core::text::print::literal(x).to_string();
        let array = broadloom::text::expression(&text, &[]).expect("a literal");
        assert_eq!(print(&[("y", &array)]).expect("a name"), format!("return y = {text}\n"));
    }
}

#[test]
fn the_examples_of_the_reference() {
    let page = include_str!("../../../../docs/language.md");
    let (mut good, mut bad) = (0, 0);
    for block in page.split("```broadloom\n").skip(1) {
        let text = block.split("```").next().expect("the end of a block");
        let built = Program::parse_with(text, &Library::default(), &with_data())
            .and_then(|program| Ok(program.build(&[])?.into_iter().map(|(_, x)| x).collect::<Vec<_>>()));
        if let Some((_, words)) = text.split_once("# error: ") {
            let error = built.map(|_| ()).expect_err(text);
            assert_eq!(words.trim(), error.to_string().split_once(": ").expect("a place").1, "{text}");
            bad += 1;
            continue;
        }
        let results = built.unwrap_or_else(|e| panic!("{e}\n{text}"));
        let gives: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# gives ")).collect();
        if !gives.is_empty() {
            let values: Vec<String> = results.iter().map(|x| x.to_string().replace('\n', "")).collect();
            assert_eq!(values, gives, "{text}");
        }
        good += 1;
    }
    assert!(good >= 8 && bad >= 8, "{good} {bad}");
}
