//! The interpreter, held to the suite of all executors.

use broadloom_core::Kernel;
use broadloom_interp::{Program, Tiles};
use broadloom_mem::Access;
use broadloom_testkit::suite::{self, Executor, Prepared};

struct Interp;

impl Executor for Interp {
    fn prepare(&self, kernel: &Kernel, access: &[Access]) -> Prepared {
        let program = Program::new(kernel, access).expect("a valid kernel");
        let mut tiles = Tiles::default();
        Box::new(move |block, params, faults| {
            program.run(block, params, faults, &mut tiles).expect("matches")
        })
    }
}

#[test]
fn every_code_gives_the_scalar_instances_bits() {
    suite::every_code_gives_the_scalar_instances_bits(&Interp);
}

#[test]
fn operands_that_serve_a_whole_row() {
    suite::operands_that_serve_a_whole_row(&Interp);
}

#[test]
fn any_byte_but_0_is_true() {
    suite::any_byte_but_0_is_true(&Interp);
}

#[test]
fn every_length_and_tail() {
    suite::every_length_and_tail(&Interp);
}
