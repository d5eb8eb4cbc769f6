//! Compares kernels that reduce rows of elements before they write them with the same functions applied to scalars,
//! pair by pair.

use broadloom_clif::{Compiled, Compiler};
use broadloom_ir::canonical::LANES;
use broadloom_ir::kernel::{Code, Inst, Kernel, KernelOutput, Sink, ValueId};
use broadloom_ir::{CodePlan, DType, Op, Purpose, Reduction, Result, Scalar, VectorWidth, fold};
use broadloom_mem::{Access, ExecutableKernel};

/// A kernel that reduces a·b, the square of a, and b.
fn kernel(dtype: DType, reduction: Reduction) -> Kernel {
    let inst = |op, args| Inst { code: Code::apply(op, dtype), args };
    let [a, b] = [0, 1].map(ValueId);
    Kernel {
        inputs: vec![dtype; 2],
        body: vec![inst(Op::Multiply, [a, b, a]), inst(Op::Square, [a, a, a])],
        outputs: [ValueId(2), ValueId(3), b].map(|value| reduced(value, reduction)).into(),
        ..Kernel::default()
    }
}

fn reduced(value: ValueId, reduction: Reduction) -> KernelOutput {
    KernelOutput { value, sink: Sink::Reduce(reduction) }
}

/// The code of a kernel, and the number of rows that it reduces to one.
fn compiled(kernel: &Kernel, width: VectorWidth) -> Result<(Compiled, usize)> {
    let access = vec![Access::Contiguous; kernel.inputs.len()];
    let compiled = Compiler::host()?.compile_for(Purpose::Reduce, kernel, &[], &access, width)?;
    let rows = 1 << compiled.plan().and_then(CodePlan::leaf_level).unwrap_or(0);
    Ok((compiled, rows))
}

/// Writes the leaves of `count` elements to each output.
fn leaves(code: &Compiled, inputs: &[Vec<u8>], outputs: &mut [Vec<u8>], count: usize) -> Result<()> {
    let level = code.plan().and_then(CodePlan::leaf_level).unwrap_or(0);
    let (read, written) = (inputs.iter().map(|x| &x[..]), outputs.iter_mut().map(|x| &mut x[..]));
    code.run_nodes(count, level, read, written, &[], &mut [])
}

/// A kernel that sums b where a > b, otherwise a: it selects by a mask before it reduces.
fn masked(dtype: DType) -> Kernel {
    let [a, b, condition] = [0, 1, 2].map(ValueId);
    let inst = |op, args| Inst { code: Code::apply(op, dtype), args };
    Kernel {
        inputs: vec![dtype; 2],
        body: vec![inst(Op::Greater, [a, b, a]), inst(Op::Where, [condition, b, a])],
        outputs: vec![reduced(ValueId(3), Reduction::Sum)],
        ..Kernel::default()
    }
}

/// Numbers of many magnitudes, including zeros of both signs and, depending on the seed, infinities and NaNs.
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

/// Reduces the rows of a block in adjacent pairs until one row is left.
fn combined(reduction: Reduction, block: &[Scalar]) -> Vec<Scalar> {
    let mut rows: Vec<Vec<Scalar>> = block.chunks(LANES).map(<[Scalar]>::to_vec).collect();
    while rows.len() > 1 {
        let pair = |pair: &[Vec<Scalar>]| {
            let both = pair[0].iter().zip(&pair[1]);
            both.map(|(&a, &b)| apply(reduction.op().expect("of two elements"), &[a, b])).collect()
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
    for width in VectorWidth::of_target() {
        for dtype in
            [DType::Float32, DType::Float64, DType::Int64, DType::UInt64, DType::Int32, DType::UInt32]
        {
            for reduction in [Reduction::Sum, Reduction::Prod, Reduction::Max, Reduction::Min] {
                if !reduction.takes(dtype) {
                    continue;
                }
                let (code, rows) = compiled(&kernel(dtype, reduction), width)?;
                assert_eq!(rows > 1, width > VectorWidth::W128, "{reduction} of {dtype} at {width}");
                if rows == 1 {
                    continue;
                }
                let leaf = rows * LANES;
                for seed in 1..=6 {
                    let count = 5 * leaf;
                    let (a, b) = (numbers(dtype, count, seed), numbers(dtype, count, seed + 100));
                    let products: Vec<Scalar> =
                        a.iter().zip(&b).map(|(&a, &b)| apply(Op::Multiply, &[a, b])).collect();
                    let squares: Vec<Scalar> = a.iter().map(|&a| apply(Op::Square, &[a])).collect();
                    let mut outputs = vec![vec![0_u8; count / rows * dtype.size()]; 3];
                    leaves(&code, &[bytes(&a), bytes(&b)], &mut outputs, count)?;
                    for (values, output) in [products, squares, b].iter().zip(&outputs) {
                        let wanted = values.chunks(leaf).flat_map(|block| combined(reduction, block));
                        for (wanted, got) in wanted.zip(output.chunks(dtype.size())) {
                            let mut bits = [0; 8];
                            bits[..got.len()].copy_from_slice(got);
                            let got = Scalar { dtype, bits: u64::from_le_bytes(bits) };
                            // Leaves may contain any NaN, since the final reduction makes NaN canonical.
                            let same = got.bits == wanted.bits || got.is_nan() && wanted.is_nan();
                            assert!(same, "{reduction} of {dtype} at {width}: {got:?}, not {wanted:?}");
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn rows_behind_a_mask_are_combined() -> Result<()> {
    for width in VectorWidth::of_target().filter(|&width| width > VectorWidth::W128) {
        for dtype in [DType::Float32, DType::Float64] {
            let (code, rows) = compiled(&masked(dtype), width)?;
            let count = 3 * rows * LANES;
            let (a, b) = (numbers(dtype, count, 1), numbers(dtype, count, 101));
            let smaller = |(&a, &b): (&Scalar, &Scalar)| {
                let condition = apply(Op::Greater, &[a, b]);
                apply(Op::Where, &[condition, b, a])
            };
            let values: Vec<Scalar> = a.iter().zip(&b).map(smaller).collect();
            let wanted: Vec<Scalar> =
                values.chunks(rows * LANES).flat_map(|block| combined(Reduction::Sum, block)).collect();
            let mut outputs = [vec![0_u8; count / rows * dtype.size()]];
            leaves(&code, &[bytes(&a), bytes(&b)], &mut outputs, count)?;
            assert!(wanted.iter().all(|x| !x.is_nan()), "numbers without NaN");
            assert_eq!(outputs[0], bytes(&wanted), "{dtype} at {width}");
        }
    }
    Ok(())
}

/// Whether any, and all, of the comparisons of rows hold: each lane by itself, as a byte of 0 or 1.
#[test]
fn comparisons_are_combined() -> Result<()> {
    for width in VectorWidth::of_target().filter(|&width| width > VectorWidth::W128) {
        for dtype in [DType::Float32, DType::Float64, DType::Int64, DType::UInt32] {
            for reduction in [Reduction::Any, Reduction::All] {
                let inst = |op, args| Inst { code: Code::apply(op, dtype), args };
                let [a, b] = [0, 1].map(ValueId);
                let kernel = Kernel {
                    inputs: vec![dtype; 2],
                    body: vec![inst(Op::Less, [a, b, a]), inst(Op::Equal, [a, b, a])],
                    outputs: vec![reduced(ValueId(2), reduction), reduced(ValueId(3), reduction)],
                    ..Kernel::default()
                };
                let (code, rows) = compiled(&kernel, width)?;
                assert!(rows > 1, "{dtype} at {width}");
                // In each block but the last, one element differs, in another lane each time.
                let (leaf, count) = (rows * LANES, (LANES + 1) * rows * LANES);
                let one = fold::cast(Scalar::of(1.0), dtype);
                let zero = fold::cast(Scalar::of(0.0), dtype);
                let differs = |i: &usize| *i / leaf < LANES && *i % leaf == leaf - 1 - *i / leaf;
                let x: Vec<Scalar> = (0..count).map(|i| if differs(&i) { zero } else { one }).collect();
                let y = vec![one; count];
                let mut outputs = vec![vec![0x5a_u8; count / rows]; 2];
                leaves(&code, &[bytes(&x), bytes(&y)], &mut outputs, count)?;
                for (op, output) in [Op::Less, Op::Equal].into_iter().zip(&outputs) {
                    let values: Vec<Scalar> = x.iter().zip(&y).map(|(&x, &y)| apply(op, &[x, y])).collect();
                    let wanted: Vec<Scalar> =
                        values.chunks(leaf).flat_map(|block| combined(reduction, block)).collect();
                    assert_eq!(*output, bytes(&wanted), "{reduction} of {op} of {dtype} at {width}");
                }
            }
        }
    }
    Ok(())
}

/// As bodies become longer, a leaf reduces eight rows, four, two, and finally there are no leaves.
#[test]
fn the_longer_a_body_the_fewer_rows() -> Result<()> {
    for width in VectorWidth::of_target().filter(|&width| width > VectorWidth::W128) {
        let mut levels = Vec::new();
        for length in 1..=70 {
            let inst = |i| Inst { code: Code::apply(Op::Add, DType::Float64), args: [i, 0, 0].map(ValueId) };
            let kernel = Kernel {
                inputs: vec![DType::Float64],
                body: (0..length).map(inst).collect(),
                outputs: vec![reduced(ValueId(length), Reduction::Sum)],
                ..Kernel::default()
            };
            let (code, rows) = compiled(&kernel, width)?;
            levels.push(rows);
            let Some(level) = code.plan().and_then(CodePlan::leaf_level) else { continue };
            let count = 3 * (LANES << level);
            let a = numbers(DType::Float64, count, 1);
            let chain = |&x: &Scalar| (0..length).fold(x, |sum, _| apply(Op::Add, &[sum, x]));
            let values: Vec<Scalar> = a.iter().map(chain).collect();
            let wanted: Vec<Scalar> =
                values.chunks(LANES << level).flat_map(|block| combined(Reduction::Sum, block)).collect();
            let mut outputs = [vec![0_u8; count / rows * 8]];
            leaves(&code, &[bytes(&a)], &mut outputs, count)?;
            assert_eq!(outputs[0], bytes(&wanted), "{length} additions at {width}");
        }
        levels.dedup();
        assert_eq!(levels, [8, 4, 2, 1]);
    }
    Ok(())
}

#[test]
fn only_whole_leaves_are_taken() -> Result<()> {
    let (code, rows) = compiled(&kernel(DType::Float32, Reduction::Sum), VectorWidth::W512)?;
    for count in [rows * LANES + 1, rows * LANES + LANES] {
        let inputs = vec![vec![0_u8; 4 * count]; 2];
        let mut outputs = vec![vec![0_u8; 4 * count]; 3];
        assert!(leaves(&code, &inputs, &mut outputs, count).is_err());
    }
    Ok(())
}
