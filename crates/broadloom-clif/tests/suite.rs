//! Machine code, held to the suite of all executors.

use broadloom_clif::Compiler;
use broadloom_core::Kernel;
use broadloom_mem::Access;
use broadloom_testkit::suite::{self, Executor, Prepared};

struct Jit(Compiler);

impl Executor for Jit {
    fn prepare(&self, kernel: &Kernel, access: &[Access]) -> Prepared {
        let compiled = self.0.compile(kernel, access).expect("compiles");
        Box::new(move |block, params, faults| compiled.run(block, params, faults).expect("matches"))
    }
}

fn jit() -> Jit {
    Jit(Compiler::host().expect("a supported host"))
}

#[test]
fn every_code_gives_the_scalar_instances_bits() {
    suite::every_code_gives_the_scalar_instances_bits(&jit());
}

#[test]
fn operands_that_serve_a_whole_row() {
    suite::operands_that_serve_a_whole_row(&jit());
}

#[test]
fn every_length_and_tail() {
    suite::every_length_and_tail(&jit());
}
