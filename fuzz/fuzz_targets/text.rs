//! Fuzzes the parsers with arbitrary text, taken as an expression, as a program, and as a program of the testkit.
//!
//! No parser may panic, and the position of an error must lie within the text. A well-typed expression must give the same bits
//! with both executors. A program must print as text that parses to the same program and evaluates to the same values.

#![no_main]

use broadloom::text::{Expression, Library, ParseOptions, Printed, TextError};
use broadloom::{Array, DType, ErrorKind, Executor, Options, Promotion, with_promotion};
use broadloom_core::rewrite::Rules;
use broadloom_testkit::random::Program;
use broadloom_testkit::{edge_cases, elements};
use libfuzzer_sys::fuzz_target;

/// The maximum number of names in an expression that is evaluated.
const NAMES: usize = 4;

/// The maximum length of a text that is evaluated, since compiling takes longer than anything else here.
const LONGEST: usize = 300;

/// The dtypes of the names, for each of four evaluations.
const DTYPES: [[DType; NAMES]; 4] = {
    use DType::*;
    [
        [Float32, Float32, Float64, Float16],
        [Int8, UInt8, Int32, Int16],
        [Bool, Int64, Bool, UInt64],
        [Float16, UInt16, Float32, UInt32],
    ]
};

/// The shapes of the arrays, which broadcast.
const SHAPES: [&[usize]; NAMES] = [&[2, 5], &[5], &[2, 1], &[]];

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    expression(&text);
    printed(&text);
    program(&text);
});

fn points_into(text: &str, error: &TextError) {
    let at = error.span.start as usize..error.span.end as usize;
    assert!(text.get(at).is_some(), "{error:?}");
    assert!(!error.message.is_empty());
    for (span, _) in &error.operands {
        assert!(text.get(span.start as usize..span.end as usize).is_some(), "{error:?}");
    }
}

fn expression(text: &str) {
    let expression = match Expression::parse(text) {
        Ok(expression) => expression,
        Err(error) => return points_into(text, &error),
    };
    let names = expression.names();
    for (row, dtypes) in DTYPES.iter().enumerate() {
        let promotion = if row % 2 == 0 { Promotion::Strict } else { Promotion::NumPy };
        let bound: Vec<(&str, Array<'_>)> = (names.iter().zip(dtypes).zip(SHAPES))
            .map(|((name, dtype), shape)| (*name, array(*dtype, shape)))
            .collect();
        match with_promotion(promotion, || expression.build(&bound)) {
            Ok(built) if text.len() <= LONGEST => agree(text, &built),
            Ok(_) => {}
            Err(error) => points_into(text, &error),
        }
    }
}

/// An array of edge-case values.
fn array(dtype: DType, shape: &[usize]) -> Array<'static> {
    let all = edge_cases::values(dtype);
    let n = shape.iter().product::<usize>();
    let bits: Vec<u64> = (0..n).map(|i| all[(7 + i * 13) % all.len()].bits).collect();
    elements::array(dtype, shape, &bits)
}

fn agree(text: &str, array: &Array<'_>) {
    let with = |executor, rules| {
        let options = Options { executor, rules, threads: Some(1), ..Options::default() };
        match array.eval_with(&options) {
            Ok(done) => {
                assert_eq!((done.dtype(), done.shape()), (array.dtype(), array.shape()));
                elements::bits(&done).expect("it is evaluated")
            }
            // A literal that is the whole expression gets its dtype when it is evaluated, and may not fit it.
            Err(error) => {
                assert!(error.kind() == ErrorKind::Literal && array.rank() == 0, "{error}: {text}");
                Vec::new()
            }
        }
    };
    let want = with(Executor::Interp, Rules::Off);
    // Compiling is slow, and slower under a fuzzer, so only one text in four is compiled.
    let ways = match text.len() % 4 {
        0 => [(Executor::Jit, Rules::On), (Executor::Interp, Rules::On)],
        _ => [(Executor::Interp, Rules::On); 2],
    };
    for (executor, rules) in ways {
        let got = with(executor, rules);
        assert_eq!(elements::difference(array.dtype(), &got, &want), None, "{executor:?} {rules:?}: {text}");
    }
}

/// Checks that a program prints as text with the same meaning.
fn printed(text: &str) {
    let options = ParseOptions { data: true, ..ParseOptions::default() };
    let program = match broadloom::text::Program::parse_with(text, &Library::default(), &options) {
        Ok(program) => program,
        Err(error) => return points_into(text, &error),
    };
    let undeclared = program.inputs().filter(|input| input.dtype().is_none()).map(|input| input.name());
    let bound: Vec<(&str, Array<'_>)> =
        undeclared.map(|name| (name, array(DType::Float32, &[2, 5]))).collect();
    let results = match program.build(&bound) {
        Ok(results) => results,
        Err(error) => return points_into(text, &error),
    };
    // Two outputs may have the same name if they are the same value, so outputs are renamed.
    let names: Vec<String> = (0..results.len()).map(|i| format!("out{i}")).collect();
    let named: Vec<(&str, &Array<'_>)> = names.iter().zip(&results).map(|(n, (_, x))| (&**n, x)).collect();
    let Ok(first) = Printed::new(&named) else { return };
    let inputs: Vec<(&str, Array<'_>)> = first.inputs.iter().map(|(name, x)| (&**name, x.clone())).collect();
    let wide = ParseOptions { max_bytes: 1 << 28, max_nodes: 1 << 24, ..ParseOptions::default() };
    let again = broadloom::text::Program::parse_with(&first.text, &Library::default(), &wide).expect(&first.text);
    let again = again.build(&inputs).expect(&first.text);
    let named: Vec<(&str, &Array<'_>)> = again.iter().map(|(name, x)| (*name, x)).collect();
    assert_eq!(Printed::new(&named).expect("names").text, first.text);
}

fn program(text: &str) {
    match text.parse::<Program>() {
        Ok(program) => {
            let printed = program.to_string();
            assert_eq!(printed.parse::<Program>().as_ref(), Ok(&program), "{printed}");
        }
        Err(error) => assert!((1..=text.lines().count() + 1).contains(&error.line), "{error}"),
    }
}
