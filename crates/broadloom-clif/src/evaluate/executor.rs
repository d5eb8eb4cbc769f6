//! An executor that runs the emitter's CLIF in the evaluator. It is tested by the suite that every executor must pass.

use std::ops::Range;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use broadloom_ir::code_plan::Tail;
use broadloom_ir::kernel::Kernel;
use broadloom_ir::{CodePlan, Purpose, Result};
use broadloom_mem::{
    Access, AliasPolicy, Block, ExecutableKernel, HostFunction, KernelExecutor, KernelRun, RawOperand,
};
use broadloom_testkit::suite::{self, Subject};
use cranelift_codegen::ir::Function;

use super::Machine;
use crate::constants::TableEntry;
use crate::emit::{Helpers, Variant};
use crate::repertoire::optimised;
use broadloom_ir::VectorWidth;

fn linked(constants: &[TableEntry], functions: &[HostFunction]) -> Vec<[u8; 16]> {
    constants.iter().map(|entry| entry.link(functions).expect("a function that was given")).collect()
}

/// An executor that interprets the emitter's CLIF instead of compiling it.
struct Evaluator;

/// A kernel's CLIF function for one vector width, which the evaluator runs.
struct Evaluated {
    function: Function,
    constants: Vec<[u8; 16]>,
    kernel: Kernel,
    access: Vec<Access>,
    plan: CodePlan,
}

// The function is plain data that the evaluator only reads.
impl UnwindSafe for Evaluated {}
impl RefUnwindSafe for Evaluated {}

impl KernelExecutor for Evaluator {
    fn prepare(
        &self,
        kernel: &Kernel,
        functions: &[HostFunction],
        access: &[Access],
        width: VectorWidth,
        purpose: Purpose,
    ) -> Result<Arc<dyn ExecutableKernel>> {
        let (function, constants) = optimised(kernel, access, width, purpose, Helpers::Called);
        let constants = linked(&constants, functions);
        let plan = CodePlan::new(kernel, access, width, purpose);
        Ok(Arc::new(Evaluated { function, constants, kernel: kernel.clone(), access: access.to_vec(), plan }))
    }
}

impl ExecutableKernel for Evaluated {
    fn run(&self, block: &mut Block<'_>, run: &mut KernelRun<'_>) -> Result<()> {
        let Evaluated { function, constants, kernel, access, plan } = self;
        Run { function, constants, kernel, access, params: run.params }.block(block, run.faults, plan);
        Ok(())
    }

    fn policy(&self) -> AliasPolicy {
        AliasPolicy::InPlace
    }

    fn width(&self) -> VectorWidth {
        self.plan.width
    }
}

struct Run<'r> {
    function: &'r Function,
    constants: &'r [[u8; 16]],
    kernel: &'r Kernel,
    access: &'r [Access],
    params: &'r [u64],
}

impl Run<'_> {
    fn block(&self, block: &mut Block<'_>, faults: &mut [u8], plan: &CodePlan) {
        let (raw, lanes) = (block.raw(), plan.lanes as usize);
        let operands = raw.operands;
        let sizes: Vec<usize> = self
            .kernel
            .inputs
            .iter()
            .zip(self.access)
            .map(|(d, access)| d.size() * if *access == Access::Splat { 1 } else { raw.cols })
            .chain(self.kernel.output_dtypes().map(|d| d.size() * raw.cols))
            .collect();
        if plan.tail != Tail::Overlap || raw.cols >= lanes {
            let last = if plan.tail != Tail::Overlap { raw.cols } else { raw.cols - lanes };
            return self.call(operands, &sizes, faults, raw.rows, last);
        }
        // Rows shorter than a block are computed in buffers; the rest of a buffer is filled with the row's first
        // element.
        for row in 0..raw.rows {
            let mut pads: Vec<Vec<u64>> = Vec::new();
            for (operand, &size) in operands.iter().zip(&sizes) {
                // SAFETY: the row and the elements belong to the block, whose pointers are valid for them while it is
                // borrowed.
                let bytes = unsafe {
                    let at = operand.ptr.offset(operand.row_stride * row as isize);
                    std::slice::from_raw_parts(at, size)
                };
                let element = size / raw.cols;
                let mut pad = vec![0u64; lanes];
                let into = broadloom_mem::bytes_of_mut(&mut pad);
                into[..size].copy_from_slice(bytes);
                if element > 0 {
                    into[size..lanes * element]
                        .chunks_mut(element)
                        .for_each(|e| e.copy_from_slice(&bytes[..element]));
                }
                pads.push(pad);
            }
            let padded: Vec<RawOperand> =
                pads.iter_mut().map(|p| RawOperand { ptr: p.as_mut_ptr().cast(), row_stride: 0 }).collect();
            self.call(&padded, &vec![8 * lanes; padded.len()], faults, 1, 0);
            for (i, operand) in operands.iter().enumerate().skip(self.kernel.inputs.len()) {
                let bytes = &broadloom_mem::bytes_of(&pads[i])[..sizes[i]];
                // SAFETY: the row belongs to the output and is as long as `bytes`, which is a buffer of the test.
                unsafe {
                    let at = operand.ptr.offset(operand.row_stride * row as isize);
                    at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                }
            }
        }
    }

    fn call(&self, operands: &[RawOperand], sizes: &[usize], faults: &mut [u8], rows: usize, last: usize) {
        let mut memory: Vec<Range<u64>> = Vec::new();
        for (operand, &size) in operands.iter().zip(sizes) {
            for row in 0..rows {
                let start =
                    operand.ptr.expose_provenance().wrapping_add_signed(operand.row_stride * row as isize);
                memory.push(start as u64..(start + size) as u64);
            }
        }
        let mut given = |start: usize, bytes: usize| memory.push(start as u64..(start + bytes) as u64);
        given(operands.as_ptr().expose_provenance(), size_of_val(operands));
        given(self.params.as_ptr().expose_provenance(), size_of_val(self.params));
        given(self.constants.as_ptr().expose_provenance(), size_of_val(self.constants));
        let fault = faults.as_mut_ptr().expose_provenance();
        given(fault, faults.len());
        let args = [
            operands.as_ptr().addr(),
            self.params.as_ptr().addr(),
            fault,
            rows,
            last,
            self.constants.as_ptr().addr(),
        ];
        Machine::new(self.function, memory).run(&args.map(|a| a as u64));
    }
}

/// Defines tests of the suite, each of which runs at 256 and 512 bits.
macro_rules! suite {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            [VectorWidth::W256, VectorWidth::W512].map(|width| Subject::new(&Evaluator, width)).into_iter().for_each(suite::$name);
        }
    )*};
}

suite! {
    every_code_gives_the_scalar_instances_bits
    operands_that_serve_a_whole_row
    quotients_next_to_integers
    shifts_by_every_count
    conversions_next_to_the_middle
    host_functions_of_every_dtype
    host_functions_among_ops
    any_byte_but_0_is_true
    pairs_of_instructions
    every_length_and_tail
}

/// A division by zero sets the fault byte only in elements of the row, not in lanes of the last block that are beyond
/// the row.
#[test]
fn zero_divisors_of_the_row_only() {
    use broadloom_ir::kernel::{Code, Inst, ValueId};
    use broadloom_ir::{DType, Op};
    // The int32 lanes of a block take two vectors, and a short row may have no element in the second one.
    for (dtype, size) in [(DType::Int8, 1), (DType::Int32, 4), (DType::Int64, 8)] {
        let code = Code::apply(Op::FloorDivide, dtype);
        let kernel = Kernel {
            inputs: vec![dtype, dtype],
            body: vec![Inst { code, args: [ValueId(0), ValueId(1), ValueId(0)] }],
            outputs: vec![ValueId(2).into()],
            checks_division: true,
            ..Kernel::default()
        };
        let access = [Access::Contiguous; 2];
        let width = VectorWidth::W512;
        let (function, constants) = optimised(&kernel, &access, width, Purpose::Store, Helpers::Called);
        let constants = linked(&constants, &[]);
        let run =
            Run { function: &function, constants: &constants, kernel: &kernel, access: &access, params: &[] };
        for n in 1..=70 {
            for zero in [None, Some(0), Some(n / 2), Some(n - 1)] {
                // A dividend with all bits set is −1 in each dtype.
                let (mut x, mut y, mut out) =
                    (vec![3u8; n * size], vec![0xff; n * size], vec![0u8; n * size]);
                if let Some(at) = zero {
                    y[at * size..(at + 1) * size].fill(0);
                }
                let operands =
                    [&mut x, &mut y, &mut out].map(|b| RawOperand { ptr: b.as_mut_ptr(), row_stride: 0 });
                let mut faults = [0];
                run.call(&operands, &[n * size; 3], &mut faults, 1, n);
                assert_eq!(faults[0] != 0, zero.is_some(), "{n} {dtype}, a zero at {zero:?}");
            }
        }
    }
}

/// Code with non-temporal stores is called for whole blocks only and computes each element once, and every output
/// begins at a cache line.
#[test]
fn whole_blocks_past_the_caches() {
    use broadloom_ir::kernel::{Code, Inst, ValueId};
    use broadloom_ir::{DType, Op};
    #[repr(align(64))]
    struct Lines([u8; 4096]);
    let inst = |code, from: u32| Inst { code, args: [from; 3].map(ValueId) };
    let kernel = Kernel {
        inputs: vec![DType::Int32],
        body: vec![
            inst(Code::apply(Op::Add, DType::Int32), 0),
            inst(Code::Cast(DType::Int32, DType::Int8), 1),
            inst(Code::Cast(DType::Int32, DType::Int64), 1),
        ],
        outputs: [1, 2, 3].map(|value| ValueId(value).into()).into(),
        ..Kernel::default()
    };
    let access = [Access::Contiguous];
    for width in [VectorWidth::W256, VectorWidth::W512] {
        let (function, constants) = optimised(&kernel, &access, width, Purpose::Stream, Helpers::Called);
        let constants = linked(&constants, &[]);
        let run =
            Run { function: &function, constants: &constants, kernel: &kernel, access: &access, params: &[] };
        let plan = CodePlan::new(&kernel, &access, width, Purpose::Stream);
        let lanes = Variant::Bulk.step(&plan) as usize;
        for n in (1..=4).map(|blocks| blocks * lanes) {
            let mut x: Vec<i32> = (0..n as i32).map(|i| i - 40).collect();
            let mut outs = [const { Lines([0x77; 4096]) }; 3];
            let mut operands = vec![RawOperand { ptr: x.as_mut_ptr().cast(), row_stride: 0 }];
            operands.extend(outs.iter_mut().map(|o| RawOperand { ptr: o.0.as_mut_ptr(), row_stride: 0 }));
            run.call(&operands, &[4 * n, 4 * n, n, 8 * n], &mut [], 1, n);
            let want =
                |bytes: &dyn Fn(i32) -> Vec<u8>| x.iter().flat_map(|x| bytes(2 * x)).collect::<Vec<u8>>();
            let wants = [
                want(&|y| y.to_le_bytes().into()),
                want(&|y| vec![y as u8]),
                want(&|y| i64::from(y).to_le_bytes().into()),
            ];
            for (out, want) in outs.iter().zip(wants) {
                assert!(out.0[..want.len()] == want && out.0[want.len()..].iter().all(|&b| b == 0x77));
            }
        }
    }
}
