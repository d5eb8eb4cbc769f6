//! The interpreter, held to the suite of all executors.

use broadloom_interp::{Program, Tiles};
use broadloom_ir::Kernel;
use broadloom_mem::{Access, HostFunction, Stores};
use broadloom_testkit::suite::{self, Executor, Prepared};

/// The interpreter, and how it writes outputs.
struct Interp(Stores);

const WAYS: [Interp; 2] = [Interp(Stores::Cached), Interp(Stores::Streaming)];

impl Executor for Interp {
    fn prepare(&self, kernel: &Kernel, functions: &[HostFunction], access: &[Access]) -> Prepared {
        let program = Program::new(kernel, functions, access).expect("a valid kernel");
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
    suite::quotients_next_to_integers(&Interp(Stores::Cached));
}

#[test]
fn shifts_by_every_count() {
    suite::shifts_by_every_count(&Interp(Stores::Cached));
}

#[test]
fn conversions_next_to_the_middle() {
    suite::conversions_next_to_the_middle(&Interp(Stores::Cached));
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
