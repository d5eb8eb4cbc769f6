//! Compares divisions of integers by a parameter with divisions of 128-bit integers. The kernel states whether the
//! reciprocal of the parameter is short.

use broadloom_clif::{Compiler, VectorWidth};
use broadloom_ir::kernel::{Code, Kernel};
use broadloom_ir::{DType, Kind, Op, Scalar};
use broadloom_mem::Access;

use crate::kernels::kernel;
use crate::rows::Dice;

const INTEGERS: [DType; 8] = [
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
];

fn value(dtype: DType, bits: u64) -> i128 {
    let above = 128 - 8 * dtype.size();
    match dtype.kind() {
        Kind::Signed => i128::from(bits) << above >> above,
        _ => bits.into(),
    }
}

/// The quotient rounded toward zero, the quotient rounded down, and the remainder for the quotient rounded down.
fn expected(a: i128, d: i128) -> [i128; 3] {
    if d == 0 {
        return [0; 3];
    }
    let floor = (a * d.signum()).div_euclid(d.abs());
    [a / d, floor, a - floor * d]
}

fn check(dtype: DType, scalar: Scalar, numbers: &[u64], width: VectorWidth) {
    let ops = [Op::TruncDivide, Op::FloorDivide, Op::Remainder];
    let body = ops.map(|op| (Code::apply(op, dtype), [0, 1, 0])).to_vec();
    let kernel = Kernel {
        params: vec![dtype],
        short_reciprocals: vec![scalar.has_short_reciprocal()],
        checks_division: false,
        ..kernel(vec![dtype], body, &[2, 3, 4])
    };
    let compiled = Compiler::host().expect("a compiler").compile(&kernel, &[], &[Access::Contiguous], width);
    let size = dtype.size();
    let input: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes().into_iter().take(size)).collect();
    let mut outputs = vec![vec![0; input.len()]; 3];
    let written = outputs.iter_mut().map(|o| &mut o[..]);
    compiled
        .expect("compiles")
        .run_slices(numbers.len(), [&input[..]].into_iter(), written, &[scalar.bits], &mut [])
        .expect("fits");
    let d = value(dtype, scalar.bits);
    for (i, &bits) in numbers.iter().enumerate() {
        let a = value(dtype, bits);
        let got = outputs.iter().map(|o| &o[i * size..][..size]);
        for ((got, wanted), op) in got.zip(expected(a, d)).zip(ops) {
            assert_eq!(got, &wanted.to_le_bytes()[..size], "{op} {dtype} {width}: {a} by {d}, {scalar}");
        }
    }
}

#[test]
fn quotients_by_divisors_of_both_kinds() {
    let mut dice = Dice(255);
    for dtype in INTEGERS {
        let ones = u64::MAX >> (64 - 8 * dtype.size());
        let mut divisors =
            vec![0, 1, 2, 3, 7, 10, 21, 100, 255, 256, 1000, 65535, ones, ones / 2, ones / 2 + 1];
        divisors.extend((0..12).map(|i| dice.next() >> (i * 5)));
        for d in divisors.into_iter().map(|d| d & ones) {
            let edges = [0, 1, ones / 2, ones / 2 + 1, ones - 1, ones];
            let multiples: Vec<u64> = (0..40).map(|_| dice.next() / d.max(1) * d).collect();
            let numbers: Vec<u64> = edges
                .into_iter()
                .chain(multiples.into_iter().flat_map(|n| [n.wrapping_sub(1), n, n.wrapping_add(1)]))
                .chain((0..200).map(|i| dice.next() >> (i % 60)))
                .map(|n| n & ones)
                .collect();
            for width in VectorWidth::of_target() {
                check(dtype, Scalar { dtype, bits: d }, &numbers, width);
            }
        }
    }
}

/// A divisor that is converted between a signed and an unsigned dtype has the same bits but may be another number,
/// whose reciprocal may not be short.
#[test]
fn divisors_that_were_of_the_other_sign() {
    use DType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    for (signed, unsigned) in [(Int8, UInt8), (Int16, UInt16), (Int32, UInt32), (Int64, UInt64)] {
        for (from, to) in [(signed, unsigned), (unsigned, signed)] {
            let size = to.size();
            let ones = u64::MAX >> (64 - 8 * size);
            for d in [1, 2, 7, 21, 100, ones / 2, ones / 2 + 1, ones - 6, ones] {
                let scalar = Scalar { dtype: from, bits: d };
                let body = vec![
                    (Code::Cast(from, to), [1, 0, 0]),
                    (Code::apply(Op::FloorDivide, to), [0, 2, 0]),
                    (Code::apply(Op::Remainder, to), [0, 2, 0]),
                ];
                let kernel = Kernel {
                    params: vec![from],
                    short_reciprocals: vec![scalar.has_short_reciprocal()],
                    checks_division: false,
                    ..kernel(vec![to], body, &[3, 4])
                };
                let last = ones / d * d;
                let numbers = [0, 1, 5, d, d.wrapping_sub(1) & ones, last, last.wrapping_sub(1) & ones, ones];
                let input: Vec<u8> =
                    numbers.iter().flat_map(|x| x.to_le_bytes().into_iter().take(size)).collect();
                for width in [VectorWidth::W128, VectorWidth::W256, VectorWidth::W512] {
                    let compiler = Compiler::host().expect("a compiler");
                    let compiled = compiler.compile(&kernel, &[], &[Access::Contiguous], width);
                    let mut outputs = vec![vec![0; input.len()]; 2];
                    let written = outputs.iter_mut().map(|o| &mut o[..]);
                    compiled
                        .expect("compiles")
                        .run_slices(numbers.len(), [&input[..]].into_iter(), written, &[d], &mut [])
                        .expect("fits");
                    for (i, &bits) in numbers.iter().enumerate() {
                        let (a, by) = (value(to, bits), value(to, d));
                        let [_, floor, remainder] = expected(a, by);
                        for (output, wanted) in outputs.iter().zip([floor, remainder]) {
                            let got = &output[i * size..][..size];
                            assert_eq!(
                                got,
                                &wanted.to_le_bytes()[..size],
                                "{from} {to} {width}: {a} by {by}"
                            );
                        }
                    }
                }
            }
        }
    }
}
