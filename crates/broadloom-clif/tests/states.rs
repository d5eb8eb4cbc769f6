//! Compiles kernels as steps, whose states stay in registers from row to row. The interpreter would take over silently what the
//! compiler refuses, so that a test of results does not notice it.

use broadloom_clif::{Compiler, VectorWidth};
use broadloom_ir::kernel::{Code, Inst, Kernel, KernelOutput, Sink, ValueId};
use broadloom_ir::{DType, Op, Purpose, Result};
use broadloom_mem::{Access, ExecutableKernel};

fn stored(value: u32) -> KernelOutput {
    KernelOutput { value: ValueId(value), sink: Sink::Store }
}

/// Compiles a step of this many states at every width; the other inputs are one element for all lanes.
fn compile(kernel: &Kernel, states: u32) -> Result<()> {
    let compiler = Compiler::host()?;
    for width in VectorWidth::of_target() {
        let access = |input: usize| if input < states as usize { Access::Contiguous } else { Access::Splat };
        let access: Vec<Access> = (0..kernel.inputs.len()).map(access).collect();
        let compiled = compiler.compile_for(Purpose::Step { states }, kernel, &[], &access, width)?;
        let plan = compiled.plan().expect("the plan of machine code");
        assert_eq!((plan.states, plan.width, compiled.narrowed()), (states, width, None), "{kernel}");
    }
    Ok(())
}

/// The first operand of each function that returns the dtype of its operands is the state.
#[test]
fn every_function_is_a_step() -> Result<()> {
    let mut count = 0;
    for op in Op::public() {
        for &dtype in DType::ALL.iter().filter(|&&dtype| op.result(dtype) == Some(dtype)) {
            let mut inputs = vec![dtype; op.operands()];
            let mut args = [0, 1, 2].map(|i| ValueId(i.min(op.operands() as u32 - 1)));
            if op == Op::Where {
                // The state is the second operand.
                inputs = vec![dtype, DType::Bool, dtype];
                args = [ValueId(1), ValueId(0), ValueId(2)];
            }
            let result = inputs.len() as u32;
            let body = vec![Inst { code: Code::apply(op, dtype), args }];
            let outputs = vec![stored(result), stored(result)];
            compile(&Kernel { inputs, body, outputs, ..Kernel::default() }, 1)?;
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
    Ok(())
}

/// States of several dtypes that change places, take an input or keep their value.
#[test]
fn states_may_take_any_value() -> Result<()> {
    for &dtype in DType::ALL {
        for &other in DType::ALL {
            let inputs = vec![dtype, other, dtype, other, dtype];
            let outputs = vec![stored(2), stored(3), stored(4), stored(3), stored(1)];
            compile(&Kernel { inputs, outputs, ..Kernel::default() }, 4)?;
        }
    }
    Ok(())
}
