//! Compiles kernels as steps, whose states stay in registers from row to row. The interpreter would take over silently what the
//! compiler refuses, so that a test of results does not notice it.

use broadloom_clif::{Compiled, Compiler, VectorWidth};
use broadloom_ir::kernel::{Code, Inst, Kernel, KernelOutput, Sink, ValueId};
use broadloom_ir::{DType, Op, Purpose, Result};
use broadloom_mem::{
    Access, ExecutableKernel, KernelRun, Operands, RowOperand, StepRows, Stores, WorkingMemory, bytes_of,
    bytes_of_mut,
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

/// Runs a step on a row of elements that is taken as a column. The memory of each state begins with its first value, and the last
/// one replaces it.
fn run<const N: usize>(
    code: &Compiled,
    item: usize,
    steps: usize,
    input: &[u8],
    states: [&mut [u8]; N],
    outputs: [&mut [u8]; N],
) -> Result<()> {
    let mut operands = Operands::default();
    operands.read(input.into());
    let (mut faults, mut memory) = ([], WorkingMemory::default());
    let mut run = KernelRun {
        params: &[],
        tables: &[],
        faults: &mut faults,
        stores: Stores::Cached,
        memory: &mut memory,
        loops: None,
    };
    let states = states.map(|state| (state, item));
    let rows = outputs.map(|output| StepRows::of(output, item, steps, 1));
    let row = [RowOperand::contiguous(item)].into_iter();
    let done = operands.with_row(steps, 0, row, |block| {
        block.with_row_as_column(0, |column| {
            let (states, rows) = (states.into_iter(), rows.into_iter());
            column.with_states(states, rows, code.policy(), |steps| code.run(steps, &mut run))
        })
    });
    done.expect("operands of a row")
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
            let [input, state, output] = words.each_mut().map(|words| bytes_of_mut(words));
            (0..STEPS * item).for_each(|i| input[i] = byte(i));
            (0..item).for_each(|i| state[i] = byte(100 + i));
            let expected: Vec<u8> =
                state[..item].iter().chain(&input[..(STEPS - 1) * item]).copied().collect();
            // What the steps must not write has other bytes.
            output.fill(0x5a);
            state[item..].fill(0x5a);
            run(&code, item, STEPS, &input[..STEPS * item], [&mut state[..item]], [output])?;
            assert_eq!(output[..STEPS * item], expected, "{dtype} at {width}");
            assert!(output[STEPS * item..].iter().all(|&byte| byte == 0x5a), "{dtype} at {width}");
            assert_eq!(state[..item], input[(STEPS - 1) * item..STEPS * item], "{dtype} at {width}");
            assert!(state[item..].iter().all(|&byte| byte == 0x5a), "{dtype} at {width}");
        }
    }
    Ok(())
}

/// Steps whose NaNs are replaced after they have been stored, or after the last step: products of an element and the one before
/// it, some of which are NaN, and the sum of all elements.
macro_rules! nans_of_steps {
    ($name:ident $float:ident $dtype:ident) => {
        #[test]
        fn $name() -> Result<()> {
            const STEPS: usize = 9;
            let canonical = |x: $float| if x.is_nan() { $float::NAN } else { x };
            let inst = |op, args| Inst { code: Code::apply(op, DType::$dtype), args };
            let at = |args: [u32; 3]| args.map(ValueId);
            let body = vec![
                inst(Op::Multiply, at([0, 2, 2])),
                inst(Op::CanonicalNan, at([3; 3])),
                inst(Op::Add, at([1, 2, 2])),
                inst(Op::CanonicalNan, at([5; 3])),
            ];
            let outputs = vec![stored(2), stored(6), stored(4), stored(6)];
            let kernel = Kernel { inputs: vec![DType::$dtype; 3], body, outputs, ..Kernel::default() };
            let odd = $float::from_bits((-$float::NAN).to_bits() | 5);
            let signalling = $float::from_bits($float::INFINITY.to_bits() | 1);
            let compiler = Compiler::host()?;
            for width in VectorWidth::of_target() {
                let step = Purpose::Step { states: 2 };
                let code = compiler.compile_for(step, &kernel, &[], &[Access::Contiguous; 3], width)?;
                let plan = code.plan().expect("the plan of machine code");
                assert_eq!(plan.width, width.min(VectorWidth::W256));
                // The product of an infinity and a zero is a NaN, which is negative on x86.
                for special in [1.5, odd, signalling, $float::INFINITY, $float::NEG_INFINITY] {
                    for place in 0..STEPS {
                        let mut x = [2.0, 0.0, -0.0, 1.0, $float::MAX, 0.0, 3.0, 0.0, -1.0];
                        x[place] = special;
                        let (mut before, mut sum) = (0.0, 0.0);
                        let wanted = x.map(|x| {
                            let product = canonical(before * x);
                            (before, sum) = (x, canonical(sum + x));
                            [product, sum]
                        });
                        let (mut states, mut outputs) = ([[0.0]; 2], [[0.0; STEPS]; 2]);
                        run(
                            &code,
                            size_of::<$float>(),
                            STEPS,
                            bytes_of(&x),
                            states.each_mut().map(|state| bytes_of_mut(state)),
                            outputs.each_mut().map(|output| bytes_of_mut(output)),
                        )?;
                        let bits = |x: [$float; 2]| x.map($float::to_bits);
                        for (i, &wanted) in wanted.iter().enumerate() {
                            let found = outputs.map(|output| output[i]);
                            assert_eq!(bits(found), bits(wanted), "{found:?}: step {i} of {x:?} at {width}");
                        }
                        let last = states.map(|[state]| state);
                        assert_eq!(bits(last), bits([before, sum]), "{last:?} after {x:?} at {width}");
                    }
                }
            }
            Ok(())
        }
    };
}
nans_of_steps!(nans_of_float32_steps f32 Float32);
nans_of_steps!(nans_of_float64_steps f64 Float64);
