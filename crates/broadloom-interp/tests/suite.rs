//! The interpreter, held to the suite of all executors.

use broadloom_interp::{Program, Tiles};
use broadloom_ir::{Kernel, VectorWidth};
use broadloom_mem::{Access, HostFunction, Stores};
use broadloom_testkit::suite::{self, Executor, Prepared};

/// The interpreter, how it writes outputs, and on how wide vectors.
struct Interp(Stores, VectorWidth);

const WAYS: [Interp; 3] = [
    Interp(Stores::Cached, VectorWidth::W512),
    Interp(Stores::Streaming, VectorWidth::W512),
    Interp(Stores::Cached, VectorWidth::W256),
];

impl Executor for Interp {
    fn prepare(&self, kernel: &Kernel, functions: &[HostFunction], access: &[Access]) -> Prepared {
        let program = Program::new(kernel, functions, access).expect("a valid kernel").up_to(self.1);
        let (mut tiles, stores) = (Tiles::default(), self.0);
        Box::new(move |block, params, faults| {
            program.run_with(stores, block, params, faults, &mut tiles).expect("matches")
        })
    }
}

#[test]
fn every_code_gives_the_scalar_instances_bits() {
    WAYS.iter().for_each(|way| suite::every_code_gives_the_scalar_instances_bits(way));
}

#[test]
fn operands_that_serve_a_whole_row() {
    WAYS.iter().for_each(|way| suite::operands_that_serve_a_whole_row(way));
}

#[test]
fn quotients_next_to_integers() {
    WAYS.iter().for_each(|way| suite::quotients_next_to_integers(way));
}

#[test]
fn shifts_by_every_count() {
    WAYS.iter().for_each(|way| suite::shifts_by_every_count(way));
}

#[test]
fn conversions_next_to_the_middle() {
    WAYS.iter().for_each(|way| suite::conversions_next_to_the_middle(way));
}

#[test]
fn host_functions_of_every_dtype() {
    WAYS.iter().for_each(|way| suite::host_functions_of_every_dtype(way));
}

#[test]
fn host_functions_among_ops() {
    WAYS.iter().for_each(|way| suite::host_functions_among_ops(way));
}

#[test]
fn any_byte_but_0_is_true() {
    WAYS.iter().for_each(|way| suite::any_byte_but_0_is_true(way));
}

#[test]
fn every_length_and_tail() {
    WAYS.iter().for_each(|way| suite::every_length_and_tail(way));
}

#[test]
fn pairs_of_instructions() {
    WAYS.iter().for_each(|way| suite::pairs_of_instructions(way));
}
