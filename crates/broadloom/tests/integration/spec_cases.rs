//! Every row of the case files in tests/cases/spec and tests/cases/reductions, through the public functions: on both executors,
//! with and without rewrite rules, folded when the expression is built, and at every position in an array that could make a
//! difference.

use std::path::Path;

use broadloom::{Array, Result, functions};
use broadloom_testkit::conformance::{self, OperandPlace};
use broadloom_testkit::one_of;

/// Calls the function with this name. The macro is expanded for each row of the op table.
macro_rules! call {
    ($arity:ident [internal] $name:literal $args:ident) => {
        panic!("{} is not a function", $name)
    };
    (unary $laws:tt $name:literal $args:ident) => {
        pastey::paste!(functions::[<try_ $name>])(&$args[0])
    };
    (binary $laws:tt $name:literal $args:ident) => {
        pastey::paste!(functions::[<try_ $name>])(&$args[0], &$args[1])
    };
    ($three:ident $laws:tt $name:literal $args:ident) => {
        pastey::paste!(functions::[<try_ $name>])(&$args[0], &$args[1], &$args[2])
    };
}

macro_rules! by_name {
    ($(($op:ident, $name:literal, $arity:ident, $class:ident, $laws:tt, $doc:literal))*) => {
        fn apply(name: &str, args: &[Array<'static>]) -> Result<Array<'static>> {
            match name {
                $($name => call!($arity $laws $name args),)*
                _ => panic!("there is no function {name}"),
            }
        }
    };
}
broadloom_core::for_each_op!(by_name);

fn check(place: OperandPlace) {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/spec"));
    let batches = conformance::batches(folder).unwrap_or_else(|error| panic!("{error}"));
    let rows: usize = batches.iter().map(|b| b.rows()).sum();
    assert!(batches.len() > 400 && rows > 15_000, "{rows} rows in {} batches", batches.len());
    // In quick tests, different batches are run for each place.
    let first = place as usize % one_of(3);
    let tried: Vec<_> = batches.into_iter().skip(first).step_by(one_of(3)).collect();
    let account = conformance::account(&tried, place, &apply);
    let wrong: Vec<&String> = account.values().flat_map(|tried| &tried.wrong).collect();
    assert!(wrong.is_empty(), "{} are wrong:\n{:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    let compared: u64 = account.values().map(|tried| tried.compared).sum();
    assert!(compared > 3000 / one_of(3) as u64, "{compared}");
}

#[test]
fn zero_dimensional() {
    check(OperandPlace::ZeroDimensional);
}

#[test]
fn folded_from_constants() {
    check(OperandPlace::Folded);
}

#[test]
fn written_as_text() {
    check(OperandPlace::Text);
}

#[test]
fn literals_alone() {
    check(OperandPlace::LiteralsAlone);
}

#[test]
fn a_literal_beside_arrays() {
    check(OperandPlace::LiteralBeside);
}

#[test]
fn at_every_lane() {
    check(OperandPlace::EveryLane);
}

#[test]
fn strided_and_reversed() {
    check(OperandPlace::Strided);
}

#[test]
fn broadcast_against_each_other() {
    check(OperandPlace::Broadcast);
}

/// The case files in tests/cases/reductions.
#[test]
fn reductions_over_every_layout() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/reductions"));
    let files = broadloom_testkit::cases::arrays::read(folder).unwrap_or_else(|error| panic!("{error}"));
    let account = conformance::arrays::account(&files);
    let wrong: Vec<&String> = account.values().flat_map(|tried| &tried.wrong).collect();
    assert!(wrong.is_empty(), "{} are wrong:\n{:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    let compared: u64 = account.values().map(|tried| tried.compared).sum();
    assert!(compared > 30_000, "{compared}");
}
