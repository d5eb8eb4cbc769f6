//! Runs the interpreter through the suite that all executors must pass.

use broadloom_interp::Interpreter;
use broadloom_ir::{Purpose, VectorWidth};
use broadloom_testkit::suite::{self, Subject};

/// The interpreter on the widest vectors, with regular and with non-temporal stores, and on narrower vectors.
const WAYS: [Subject<'static>; 3] = [
    Subject { executor: &Interpreter, width: VectorWidth::W512, purpose: Purpose::Store },
    Subject { executor: &Interpreter, width: VectorWidth::W512, purpose: Purpose::Stream },
    Subject { executor: &Interpreter, width: VectorWidth::W256, purpose: Purpose::Store },
];

#[test]
fn every_code_gives_the_scalar_instances_bits() {
    WAYS.into_iter().for_each(suite::every_code_gives_the_scalar_instances_bits);
}

#[test]
fn operands_that_serve_a_whole_row() {
    WAYS.into_iter().for_each(suite::operands_that_serve_a_whole_row);
}

#[test]
fn quotients_next_to_integers() {
    WAYS.into_iter().for_each(suite::quotients_next_to_integers);
}

#[test]
fn shifts_by_every_count() {
    WAYS.into_iter().for_each(suite::shifts_by_every_count);
}

#[test]
fn conversions_next_to_the_middle() {
    WAYS.into_iter().for_each(suite::conversions_next_to_the_middle);
}

#[test]
fn host_functions_of_every_dtype() {
    WAYS.into_iter().for_each(suite::host_functions_of_every_dtype);
}

#[test]
fn host_functions_among_ops() {
    WAYS.into_iter().for_each(suite::host_functions_among_ops);
}

#[test]
fn elements_of_tables() {
    WAYS.into_iter().for_each(suite::elements_of_tables);
}

#[test]
fn any_byte_but_0_is_true() {
    WAYS.into_iter().for_each(suite::any_byte_but_0_is_true);
}

#[test]
fn every_length_and_tail() {
    WAYS.into_iter().for_each(suite::every_length_and_tail);
}

#[test]
fn pairs_of_instructions() {
    WAYS.into_iter().for_each(suite::pairs_of_instructions);
}
