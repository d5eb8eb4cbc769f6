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

/// The emitter stores what a value has, not what the output takes.
#[test]
fn a_kernel_that_does_not_verify_is_refused() {
    use broadloom_core::kernel::{Code, Inst, ValueId};
    use broadloom_core::{DType, ErrorKind};
    let cast = Inst { code: Code::Cast(DType::Float32, DType::Float32), args: [ValueId(0); 3] };
    let broken = Kernel {
        inputs: vec![DType::Float64],
        body: vec![cast],
        outputs: vec![ValueId(1)],
        ..Kernel::default()
    };
    let Jit(compiler) = jit();
    let refused = compiler.compile(&broken, &[Access::Contiguous]).expect_err("ill typed");
    assert_eq!(refused.kind(), ErrorKind::Internal);
    let good = Kernel { inputs: vec![DType::Float32], body: vec![cast], outputs: vec![ValueId(1)], ..broken };
    assert!(compiler.compile(&good, &[]).is_err(), "an access class is missing");
    assert!(compiler.compile(&good, &[Access::Contiguous]).is_ok());
}
