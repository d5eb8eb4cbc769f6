//! Compiles kernels as steps, whose states stay in registers from row to row. The interpreter would take over silently what the
//! compiler refuses, so that a test of results does not notice it.

use broadloom_clif::{Compiler, VectorWidth};
use broadloom_ir::kernel::{Code, Inst, Kernel, KernelOutput, Sink, ValueId};
use broadloom_ir::{DType, Op, Purpose, Result};
use broadloom_mem::{
    Access, ExecutableKernel, KernelRun, Operands, RowOperand, StepRows, Stores, WorkingMemory,
};

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
        assert_eq!((plan.states, plan.width), (states, width.min(VectorWidth::W256)), "{kernel}");
        assert_eq!(compiled.narrowed().is_some(), width > VectorWidth::W256, "{kernel}");
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

/// A step that delays its input by one element, over a row of elements that is taken as a column. Each step writes its own
/// element and nothing else, in every dtype.
#[test]
fn a_step_of_one_column_writes_one_element() -> Result<()> {
    const STEPS: usize = 5;
    let compiler = Compiler::host()?;
    for &dtype in DType::ALL {
        let (item, is_bool) = (dtype.size(), dtype == DType::Bool);
        let outputs = vec![stored(1), stored(0)];
        let kernel = Kernel { inputs: vec![dtype; 2], outputs, ..Kernel::default() };
        let byte = |i: usize| if is_bool { i.is_multiple_of(3).into() } else { (3 * i) as u8 + 1 };
        for width in VectorWidth::of_target() {
            let step = Purpose::Step { states: 1 };
            let code = compiler.compile_for(step, &kernel, &[], &[Access::Contiguous; 2], width)?;
            // Words, so that all elements are aligned.
            let mut words = [[0_u64; STEPS + 2]; 3];
            let [input, state, output] = words.each_mut().map(|words| broadloom_mem::bytes_of_mut(words));
            (0..STEPS * item).for_each(|i| input[i] = byte(i));
            (0..item).for_each(|i| state[i] = byte(100 + i));
            let expected: Vec<u8> =
                state[..item].iter().chain(&input[..(STEPS - 1) * item]).copied().collect();
            // What the steps must not write has other bytes.
            output.fill(0x5a);
            state[item..].fill(0x5a);
            let rows = StepRows::of(output, item, STEPS, 1);
            let states = (&mut state[..(STEPS + 1) * item], item);
            let mut operands = Operands::default();
            operands.read((&input[..STEPS * item]).into());
            let (mut faults, mut memory) = ([], WorkingMemory::default());
            let mut run = KernelRun {
                params: &[],
                faults: &mut faults,
                stores: Stores::Cached,
                memory: &mut memory,
                loops: None,
            };
            let row = [RowOperand::contiguous(item)].into_iter();
            let done = operands.with_row(STEPS, 0, row, |block| {
                block.with_row_as_column(0, |column| {
                    column.with_states([states].into_iter(), [rows].into_iter(), |steps| {
                        code.run(steps, &mut run)
                    })
                })
            });
            done.expect("operands of a row")?;
            assert_eq!(output[..STEPS * item], expected, "{dtype} at {width}");
            assert!(output[STEPS * item..].iter().all(|&byte| byte == 0x5a), "{dtype} at {width}");
            let last = &state[STEPS * item..];
            assert_eq!(last[..item], input[(STEPS - 1) * item..STEPS * item], "{dtype} at {width}");
            assert!(last[item..].iter().all(|&byte| byte == 0x5a), "{dtype} at {width}");
        }
    }
    Ok(())
}
