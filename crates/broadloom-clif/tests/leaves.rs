//! Kernels that combine rows of elements before they write them, against the same functions applied to scalars, one pair after the other.

use broadloom_clif::{Compiler, leaf_rows};
use broadloom_ir::kernel::{Code, Inst, Kernel, ValueId};
use broadloom_ir::{DType, Op, Reduction, Result, Scalar, VectorWidth, fold};
use broadloom_mem::Access;

/// The elements of a row.
const ROW: usize = 16;

/// a·b, the square of a, and b, as they are combined.
fn kernel(dtype: DType) -> Kernel {
    let inst = |op, args| Inst { code: Code::Apply(op, dtype), args };
    let [a, b] = [0, 1].map(ValueId);
    Kernel {
        inputs: vec![dtype; 2],
        body: vec![inst(Op::Multiply, [a, b, a]), inst(Op::Square, [a, a, a])],
        outputs: vec![ValueId(2), ValueId(3), b],
        ..Kernel::default()
    }
}

/// The smaller one where that is b, else a: what is compared has a mask.
fn masked(dtype: DType) -> Kernel {
    let [a, b, condition] = [0, 1, 2].map(ValueId);
    let inst = |op, args| Inst { code: Code::Apply(op, dtype), args };
    Kernel {
        inputs: vec![dtype; 2],
        body: vec![inst(Op::Greater, [a, b, a]), inst(Op::Where, [condition, b, a])],
        outputs: vec![ValueId(3)],
        ..Kernel::default()
    }
}

/// Numbers of all sizes, zeros of both signs, infinities and NaN among them.
fn numbers(dtype: DType, count: usize, seed: u64) -> Vec<Scalar> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    let number = |_| {
        let x = match next() % 40 {
            0 => -0.0,
            1 => 0.0,
            2 if seed.is_multiple_of(2) => f64::NAN,
            3 if seed.is_multiple_of(3) => f64::INFINITY,
            n => (next() as f64 - 1e9) * 2_f64.powi(n as i32 - 40),
        };
        fold::cast(Scalar::of(x), dtype)
    };
    (0..count).map(number).collect()
}

fn apply(op: Op, args: &[Scalar]) -> Scalar {
    fold::apply(op, args).expect("an op of these dtypes")
}

/// The rows of a block, neighbours combined until one is left.
fn combined(reduction: Reduction, block: &[Scalar]) -> Vec<Scalar> {
    let mut rows: Vec<Vec<Scalar>> = block.chunks(ROW).map(<[Scalar]>::to_vec).collect();
    while rows.len() > 1 {
        let pair = |pair: &[Vec<Scalar>]| {
            let both = pair[0].iter().zip(&pair[1]);
            both.map(|(&a, &b)| apply(reduction.op(), &[a, b])).collect()
        };
        rows = rows.chunks(2).map(pair).collect();
    }
    rows.remove(0)
}

fn bytes(elements: &[Scalar]) -> Vec<u8> {
    elements.iter().flat_map(|x| x.bits.to_le_bytes()[..x.dtype.size()].to_vec()).collect()
}

#[test]
fn rows_are_combined_as_scalars_are() -> Result<()> {
    let compiler = Compiler::host()?;
    let mut combined_rows = 0;
    for width in VectorWidth::of_target() {
        for dtype in
            [DType::Float32, DType::Float64, DType::Int64, DType::UInt64, DType::Int32, DType::UInt32]
        {
            for reduction in [Reduction::Sum, Reduction::Prod, Reduction::Max, Reduction::Min] {
                let plain = kernel(dtype);
                let Some(leaves) = plain.with_leaves(&[reduction; 3]) else {
                    assert!(!reduction.takes(dtype), "{reduction} of {dtype}");
                    continue;
                };
                let compiled = compiler.compile(&leaves, &[], &[Access::Contiguous; 2], width)?;
                let rows = compiled.leaf_rows().expect("it has leaves");
                assert_eq!(
                    (rows * ROW, rows),
                    (compiled.lanes(), leaf_rows(&leaves, compiled.width()) as usize)
                );
                combined_rows = combined_rows.max(rows);
                let is_long = compiled.width() == VectorWidth::W512
                    && matches!(reduction, Reduction::Sum | Reduction::Prod);
                let vectors = compiled.lanes() * dtype.size() * 8 / compiled.width().bits() as usize;
                assert!(!is_long || vectors == 8, "{vectors} vectors of {dtype}");
                for seed in 1..=6 {
                    let count = 5 * compiled.lanes();
                    let (a, b) = (numbers(dtype, count, seed), numbers(dtype, count, seed + 100));
                    let products: Vec<Scalar> =
                        a.iter().zip(&b).map(|(&a, &b)| apply(Op::Multiply, &[a, b])).collect();
                    let squares: Vec<Scalar> = a.iter().map(|&a| apply(Op::Square, &[a])).collect();
                    let inputs = [bytes(&a), bytes(&b)];
                    let mut outputs = vec![vec![0_u8; count / rows * dtype.size()]; 3];
                    compiled.run_slices(
                        count,
                        inputs.iter().map(|input| &input[..]),
                        outputs.iter_mut().map(|output| &mut output[..]),
                        &[],
                        &mut [],
                    )?;
                    for (values, output) in [products, squares, b].iter().zip(&outputs) {
                        let wanted =
                            values.chunks(compiled.lanes()).flat_map(|block| combined(reduction, block));
                        for (wanted, got) in wanted.zip(output.chunks(dtype.size())) {
                            let mut bits = [0; 8];
                            bits[..got.len()].copy_from_slice(got);
                            let got = Scalar { dtype, bits: u64::from_le_bytes(bits) };
                            // Whoever folds the rows makes the NaN canonical.
                            let same = got.bits == wanted.bits || got.is_nan() && wanted.is_nan();
                            assert!(same, "{reduction} of {dtype} at {width}: {got:?}, not {wanted:?}");
                        }
                    }
                }
            }
        }
    }
    assert!(combined_rows > 1 || VectorWidth::target() == VectorWidth::W128, "rows that are combined");
    Ok(())
}

#[test]
fn rows_behind_a_mask_are_combined() -> Result<()> {
    let compiler = Compiler::host()?;
    for width in VectorWidth::of_target() {
        for dtype in [DType::Float32, DType::Float64] {
            let leaves = masked(dtype).with_leaves(&[Reduction::Sum]).expect("a sum of floats");
            let compiled = compiler.compile(&leaves, &[], &[Access::Contiguous; 2], width)?;
            let (rows, count) = (compiled.leaf_rows().expect("it has leaves"), 3 * compiled.lanes());
            let (a, b) = (numbers(dtype, count, 1), numbers(dtype, count, 101));
            let smaller = |(&a, &b): (&Scalar, &Scalar)| {
                let condition = apply(Op::Greater, &[a, b]);
                apply(Op::Where, &[condition, b, a])
            };
            let values: Vec<Scalar> = a.iter().zip(&b).map(smaller).collect();
            let wanted: Vec<Scalar> =
                values.chunks(rows * ROW).flat_map(|block| combined(Reduction::Sum, block)).collect();
            let mut output = vec![0_u8; count / rows * dtype.size()];
            let inputs = [bytes(&a), bytes(&b)];
            let outputs = [&mut output[..]].into_iter();
            compiled.run_slices(count, inputs.iter().map(|input| &input[..]), outputs, &[], &mut [])?;
            assert!(wanted.iter().all(|x| !x.is_nan()), "numbers without NaN");
            assert_eq!(output, bytes(&wanted), "{dtype} at {width}");
        }
    }
    Ok(())
}

#[test]
fn only_whole_blocks_are_taken() -> Result<()> {
    let leaves = kernel(DType::Float32).with_leaves(&[Reduction::Sum; 3]).expect("sums of floats");
    let compiled = Compiler::host()?.compile(&leaves, &[], &[Access::Contiguous; 2], VectorWidth::W512)?;
    let count = compiled.lanes() + 1;
    let input = vec![0_u8; 4 * count];
    let mut outputs = vec![vec![0_u8; 4 * count]; 3];
    let outputs = outputs.iter_mut().map(|output| &mut output[..]);
    assert!(compiled.run_slices(count, [&input[..]; 2].into_iter(), outputs, &[], &mut []).is_err());
    Ok(())
}
