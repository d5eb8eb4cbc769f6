//! Kernels of every dtype over arrays that end or begin at an inaccessible page: machine code of no width reads or
//! writes outside of them.

use broadloom_clif::{Compiler, VectorWidth};
use broadloom_ir::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_ir::{DType, Op};
use broadloom_mem::Access;
use broadloom_testkit::one_of;

use crate::rows::{Dice, Guarded, Wall};

/// Runs a kernel over arrays of every length up to three blocks and one element. The arrays end at an inaccessible
/// page, and then begin at one; the results must be equal.
pub fn at_the_wall(kernel: &Kernel, access: &[Access], width: VectorWidth) {
    let compiled =
        Compiler::host().expect("a compiler").compile(kernel, &[], access, width).expect("compiles");
    let lanes = compiled.lanes();
    let sizes: Vec<usize> = kernel.inputs.iter().map(|d| d.size()).collect();
    let outputs: Vec<usize> = kernel.output_dtypes().map(|d| d.size()).collect();
    let mut dice = Dice(lanes as u64);
    for n in 1..=3 * lanes + 1 {
        let mut results: Vec<Vec<Vec<u8>>> = Vec::new();
        let seed = dice.next();
        for wall in [Wall::Behind, Wall::Before] {
            let mut dice = Dice(seed);
            let mut array = |size: usize, access: Access| {
                let count = if access == Access::Splat { 1 } else { n };
                let mut array = Guarded::new(count * size, wall);
                // The elements are not zero, so that every fault byte must stay 0.
                array.bytes_mut().iter_mut().for_each(|b| *b = 1 + dice.next() as u8 % 7);
                array
            };
            let inputs: Vec<Guarded> = sizes.iter().zip(access).map(|(&s, &a)| array(s, a)).collect();
            let mut outs: Vec<Guarded> = outputs.iter().map(|&s| array(s, Access::Contiguous)).collect();
            let mut faults = vec![0; kernel.fault_sites().count()];
            compiled
                .run_slices(
                    n,
                    inputs.iter().map(Guarded::bytes),
                    outs.iter_mut().map(Guarded::bytes_mut),
                    &[],
                    &mut faults,
                )
                .expect("fits");
            assert!(faults.iter().all(|&f| f == 0), "no element is zero: {kernel}");
            results.push(outs.iter().map(|o| o.bytes().to_vec()).collect());
        }
        assert_eq!(results[0], results[1], "{n} elements, {width}, {kernel}");
    }
}

pub fn kernel(inputs: Vec<DType>, body: Vec<(Code, [u32; 3])>, outputs: &[u32]) -> Kernel {
    let inst = |(code, args): (Code, [u32; 3])| Inst { code, args: args.map(ValueId) };
    Kernel {
        inputs,
        body: body.into_iter().map(inst).collect(),
        outputs: outputs.iter().map(|&o| ValueId(o).into()).collect(),
        checks_division: true,
        ..Kernel::default()
    }
}

/// A kernel that adds two arrays (for bools, applies `logical_xor`), and also copies the first. It is short, so its
/// blocks have several vectors.
fn short(dtype: DType) -> Kernel {
    let op = if dtype == DType::Bool { Op::LogicalXor } else { Op::Add };
    kernel(vec![dtype, dtype], vec![(Code::apply(op, dtype), [0, 1, 0])], &[2, 0])
}

#[test]
fn every_dtype_at_every_length() {
    for &dtype in DType::ALL {
        for width in VectorWidth::of_target() {
            at_the_wall(&short(dtype), &[Access::Contiguous; 2], width);
            at_the_wall(&short(dtype), &[Access::Splat, Access::Contiguous], width);
        }
    }
}

/// Conversions from each dtype to another, so that lanes of one width are read and lanes of another are written.
#[test]
fn every_pair_of_dtypes() {
    for &from in DType::ALL {
        for &to in DType::ALL.iter().skip(from as usize % one_of(3)).step_by(one_of(3)) {
            let cast = kernel(vec![from, to], vec![(Code::Cast(from, to), [0, 0, 0])], &[2, 0, 1]);
            for width in VectorWidth::of_target().filter(|&width| width > VectorWidth::W128) {
                at_the_wall(&cast, &[Access::Contiguous; 2], width);
            }
        }
    }
}

/// Lanes beyond the end of the row are not treated as divisors, so a zero in them is no fault.
#[test]
fn quotients_of_parts() {
    for &dtype in DType::ALL.iter().filter(|&&d| Op::FloorDivide.dtypes().contains(&d)) {
        let divide = kernel(vec![dtype, dtype], vec![(Code::apply(Op::FloorDivide, dtype), [0, 1, 0])], &[2]);
        for width in VectorWidth::of_target() {
            at_the_wall(&divide, &[Access::Contiguous; 2], width);
        }
    }
}
