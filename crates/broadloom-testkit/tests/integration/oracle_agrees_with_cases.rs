//! Compares the case files with the oracle. Both were written independently from the Array API standard and SONNX's
//! specification of Div.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use broadloom_testkit::cases::{self, Case, RuleSource};
use broadloom_testkit::oracle::{self, ModelSignature, SIGNATURES};
use broadloom_testkit::reference::Edition;
use broadloom_testkit::{DTYPES, Value};

/// The minimum number of rows of a file. A file with fewer rows has lost some. A file for a function of bools has a row for
/// each possible call.
fn least_rows(function: &str) -> usize {
    match ModelSignature::of(function) {
        Some(ModelSignature { takes: [true, false, false], arity, .. }) => 1 << arity,
        _ => 15,
    }
}

/// All cases, by file name without extension.
fn files() -> BTreeMap<String, Vec<Case>> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/spec"));
    cases::read(folder).unwrap_or_else(|error| panic!("{error}"))
}

fn result(case: &Case) -> Option<Value> {
    match &case.cast_to {
        Some(to) => Some(oracle::cast(case.args[0], to)),
        None => oracle::apply(&case.function, &case.args),
    }
}

#[test]
fn every_row_agrees_with_the_oracle() {
    let mut wrong = Vec::new();
    for case in files().values().flatten() {
        let got = result(case);
        if !got.is_some_and(|got| got.same(&case.expected)) {
            let Case { file, line, dtype, args, expected, .. } = case;
            wrong.push(format!("{file}:{line} ({dtype}): {args:?} gives {got:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} cases disagree:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_function_has_a_file_of_its_own_with_enough_rows() {
    let files = files();
    let functions: BTreeSet<&str> = SIGNATURES.iter().map(|s| s.name).chain(["astype"]).collect();
    assert_eq!(files.keys().map(String::as_str).collect::<BTreeSet<_>>(), functions);
    for (stem, cases) in &files {
        assert!(cases.iter().all(|case| case.function == *stem), "{stem}.txt holds rows of another function");
        let rows: BTreeSet<usize> = cases.iter().map(|case| case.line).collect();
        println!("{stem}: {} rows, {} cases", rows.len(), cases.len());
        assert!(rows.len() >= least_rows(stem), "{stem}.txt has {} rows", rows.len());
    }
}

#[test]
fn rules_come_from_texts_that_have_the_function() {
    for (stem, cases) in &files() {
        let sources: BTreeSet<RuleSource> = cases.iter().map(|case| case.rule.source).collect();
        let edition = ModelSignature::of(stem).map_or(Edition::None, |signature| signature.edition);
        assert_eq!(
            sources.contains(&RuleSource::Standard),
            edition == Edition::Standard,
            "{stem}: {sources:?}"
        );
        assert_eq!(sources.contains(&RuleSource::Later), edition == Edition::Later, "{stem}: {sources:?}");
        let divides = ["divide", "trunc_divide"].contains(&stem.as_str());
        assert_eq!(sources.contains(&RuleSource::Onnx), divides, "{stem}: {sources:?}");
    }
}

#[test]
fn no_rule_stands_twice_in_a_file() {
    for (stem, cases) in &files() {
        let mut lines = BTreeMap::new();
        for rule in cases.iter().map(|case| &case.rule) {
            let first = *lines.entry((rule.source, &rule.condition)).or_insert(rule.line);
            assert_eq!(first, rule.line, "{stem}.txt: {}", rule.condition);
        }
    }
}

#[test]
fn every_dtype_that_a_function_takes_has_cases() {
    let files = files();
    for signature in SIGNATURES.iter() {
        for dtype in DTYPES {
            let cases = files[signature.name].iter().filter(|case| case.dtype == *dtype).count();
            assert_eq!(
                cases > 0,
                signature.takes_dtype(dtype),
                "{} of {dtype}: {cases} cases",
                signature.name
            );
        }
    }
    for from in DTYPES {
        for to in DTYPES {
            let held = |case: &Case| case.dtype == *from && case.cast_to.as_deref() == Some(*to);
            assert!(from == to || files["astype"].iter().any(held), "no case of a cast from {from} to {to}");
        }
    }
}

#[test]
fn a_wrong_row_is_noticed() {
    let text = "> decided: two wrong, one right -> noticed\n@ float32\nadd(0.0, 0.0) = -0.0\nabs(-nan) = nan\nsqrt(-nan) = -nan\n";
    let cases = cases::parse("wrong.txt", text).expect("well-formed rows");
    let agrees = |case: &Case| result(case).is_some_and(|got| got.same(&case.expected));
    assert_eq!(cases.iter().map(agrees).collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn malformed_rows_are_refused() {
    for (text, complaint) in [
        ("add(1, 2) = 3", "no @ line"),
        ("@ int4", "no dtype is called int4"),
        ("@ int8\nadd(1, 2)", "a row reads"),
        ("@ int8\nadd(1) = 1", "add takes 2 arguments, not 1"),
        ("@ int8\nsum(1, 2) = 3", "no function is called sum"),
        ("@ int8\nsqrt(4) = 2", "sqrt does not take int8"),
        ("@ int8\nadd(100, 100) = 200", "200 is not a value of int8"),
        ("@ int8\nadd(1.0, 1) = 2", "1.0 is not a value of int8"),
        ("@ float16 float32\nabs(1e5) = 1e5", "1e5 is not a value of float16"),
        ("@ float16\nabs(1e-9) = 0.0", "1e-9 is not a value of float16"),
        ("@ float32\nabs(0x1.000001p0) = 1", "0x1.000001p0 is not a value of float32"),
        ("@ float32\nabs(infinity) = inf", "infinity is not a value of float32"),
        ("@ float32\nisnan(nan) = 1", "1 is not a value of bool"),
        ("@ bool\nastype(true, int4) = 1", "no dtype is called int4"),
    ] {
        match cases::parse("bad.txt", &format!("> decided: a bad row -> an error\n{text}")) {
            Ok(cases) => panic!("{text:?} was read as {cases:?}"),
            Err(error) => {
                assert!(error.starts_with("bad.txt:") && error.contains(complaint), "{text:?}: {error}")
            }
        }
    }
}
