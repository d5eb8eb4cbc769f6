//! Chains of sums and products whose NaNs are replaced, also if only some blocks of a row have a NaN: every result has
//! the bits of scalar arithmetic, or is the canonical NaN if scalar arithmetic gives any NaN.

use std::ops::ControlFlow;

use broadloom_clif::{Compiled, Compiler, VectorWidth};
use broadloom_ir::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_ir::{DType, Op, Purpose};
use broadloom_mem::{Access, AliasPolicy, ExecutableKernel, Nest, Scratch, View, ViewMut};

const STEPS: u32 = 8;

/// A kernel that applies `y = y·x + x` [`STEPS`] times, beginning with `y = x`. It also outputs `y` after half of the
/// steps.
fn kernel(dtype: DType) -> Kernel {
    let inst = |op, args: [u32; 3]| Inst { code: Code::apply(op, dtype), args: args.map(ValueId) };
    let mut body = Vec::new();
    for i in 0..STEPS {
        body.push(inst(Op::Multiply, [2 * i, 0, 0]));
        body.push(inst(Op::Add, [1 + 2 * i, 0, 0]));
    }
    body.push(inst(Op::CanonicalNan, [2 * STEPS; 3]));
    body.push(inst(Op::CanonicalNan, [STEPS; 3]));
    let outputs = [1, 2].map(|i| ValueId(2 * STEPS + i).into()).into();
    Kernel { inputs: vec![dtype], body, outputs, ..Kernel::default() }
}

macro_rules! rows_of {
    ($name:ident $float:ident $bits:ident) => {
        /// Runs the kernel on rows of elements, and compares both outputs with scalar arithmetic.
        fn $name(compiled: &Compiled, cols: usize, elements: &[$float]) {
            const SIZE: usize = size_of::<$float>();
            let (shape, strides) = ([elements.len() / cols, cols], [(cols * SIZE) as isize, SIZE as isize]);
            let bytes: Vec<u8> = elements.iter().flat_map(|x| x.to_le_bytes()).collect();
            let mut outs = [vec![0u8; bytes.len()], vec![0u8; bytes.len()]];
            let [first, second] =
                outs.each_mut().map(|out| ViewMut::new(out, SIZE, 0, &shape, &strides).expect("inside"));
            let view = View::new(&bytes, SIZE, 0, &shape, &strides).expect("inside");
            let mut nest = Nest::new(&shape, &[view], [first, second]).expect("a nest");
            let flow = nest.run(AliasPolicy::InPlace, &mut Scratch::new(), &mut |block| {
                compiled.run_alone(block, &[], &mut []).expect("the kernel's block");
                ControlFlow::Continue(())
            });
            assert_eq!(flow, ControlFlow::Continue(()));
            drop(nest);
            for (out, steps) in outs.iter().zip([STEPS, STEPS / 2]) {
                let found = out.chunks(SIZE).map(|x| $bits::from_le_bytes(x.try_into().expect("a size")));
                for (at, (found, &x)) in found.zip(elements).enumerate() {
                    let wanted = (0..steps).fold(x, |y, _| y * x + x);
                    let wanted = if wanted.is_nan() { $float::NAN } else { wanted };
                    assert_eq!(found, wanted.to_bits(), "{compiled:?}: {x} at {at}, rows of {cols}");
                }
            }
        }
    };
}
rows_of!(rows_of_f32 f32 u32);
rows_of!(rows_of_f64 f64 u64);

#[test]
fn every_nan_is_replaced_and_nothing_else() {
    let compiler = Compiler::host().expect("a supported target");
    // NaNs of both signs with a payload, infinities of both signs, whose sum is NaN, and numbers with unusual bits.
    let singles = [0x7fc0_0001, 0xffc0_1234, 0xff80_0000, 0x7f80_0000, 0x8000_0000, 1].map(f32::from_bits);
    let doubles = [
        0x7ff8_0000_0000_0001,
        0xfff8_0000_0123_4567,
        0xfff0_0000_0000_0000,
        0x7ff0_0000_0000_0000,
        0x8000_0000_0000_0000,
        1,
    ]
    .map(f64::from_bits);
    for (width, dtype) in
        VectorWidth::of_target().flat_map(|w| [DType::Float32, DType::Float64].map(|d| (w, d)))
    {
        let kernel = kernel(dtype);
        assert!((16..=24).contains(&kernel.cost()), "blocks of other kernels are not tested for NaN");
        for purpose in [Purpose::Store, Purpose::Stream] {
            let compiled =
                compiler.compile_for(purpose, &kernel, &[], &[Access::Contiguous], width).expect("compiles");
            let lanes = compiled.lanes();
            for cols in [lanes, lanes + 1, 2 * lanes - 1, 4 * lanes, 7 * lanes + 3, 300] {
                let count = 3 * cols;
                // Special elements are at one place, at all places from a place on, or at every third place; or there
                // are none.
                let places = (0..cols.min(40)).chain([cols - 1, cols, 2 * cols - 1, count]);
                for (place, how) in places.flat_map(|place| [1, 2, 3].map(|how| (place, how))) {
                    let is_special = |i: usize| match how {
                        1 => i == place,
                        2 => i >= place,
                        _ => i >= place && (i - place).is_multiple_of(3),
                    };
                    match dtype {
                        DType::Float32 => {
                            let number = |i: usize| match is_special(i) {
                                true => singles[i % singles.len()],
                                false => (i as f32 - 100.0) / 64.0,
                            };
                            rows_of_f32(&compiled, cols, &(0..count).map(number).collect::<Vec<_>>());
                        }
                        _ => {
                            let number = |i: usize| match is_special(i) {
                                true => doubles[i % doubles.len()],
                                false => (i as f64 - 100.0) / 64.0,
                            };
                            rows_of_f64(&compiled, cols, &(0..count).map(number).collect::<Vec<_>>());
                        }
                    }
                }
            }
        }
    }
}
