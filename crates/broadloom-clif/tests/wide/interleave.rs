//! Compares loops with lanes of two widths, one twice as wide as the other, with arithmetic in 128-bit integers.

use broadloom_clif::{Compiler, VectorWidth};
use broadloom_ir::kernel::{Code, Kernel};
use broadloom_ir::{DType, Kind, Op};
use broadloom_mem::Access;

use crate::kernels::{at_the_wall, kernel};
use crate::rows::Dice;

/// The narrow dtypes, each with the dtypes that are twice as wide.
const PAIRS: [(DType, [DType; 2]); 4] = [
    (DType::UInt8, [DType::UInt16, DType::Int16]),
    (DType::Int8, [DType::UInt16, DType::Int16]),
    (DType::UInt16, [DType::UInt32, DType::Int32]),
    (DType::Int16, [DType::UInt32, DType::Int32]),
];

/// Wraps a number to the range of a dtype.
fn wrapped(dtype: DType, x: i128) -> i128 {
    let above = 128 - 8 * dtype.size();
    match dtype.kind() {
        Kind::Signed => x << above >> above,
        _ => (((x << above) as u128) >> above) as i128,
    }
}

fn bytes(dtype: DType, numbers: &[i128]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes().into_iter().take(dtype.size())).collect()
}

/// A kernel of two arrays a and b and a number d, and its results for one pair of elements.
#[derive(Clone, Copy, Debug)]
enum PairCase {
    /// a·b // d xor a + b
    Arithmetic,
    /// A comparison selects a·b or a + b, and another comparison selects that value or a. If elements are as wide as
    /// bools, the first comparison is also an output.
    Masks,
}

impl PairCase {
    fn kernel(self, narrow: DType, wide: DType) -> Kernel {
        let (widen, back) = (Code::Cast(narrow, wide), Code::Cast(wide, narrow));
        let apply = |op| Code::apply(op, wide);
        let mut body = vec![
            (widen, [0, 0, 0]),
            (widen, [1, 0, 0]),
            (widen, [2, 0, 0]),
            (apply(Op::Multiply), [3, 4, 0]),
            (apply(Op::Add), [3, 4, 0]),
        ];
        let (rest, outputs): (_, &[u32]) = match self {
            PairCase::Arithmetic => (
                vec![
                    (apply(Op::FloorDivide), [6, 5, 0]),
                    (apply(Op::BitwiseXor), [8, 7, 0]),
                    (back, [9, 0, 0]),
                    (back, [8, 0, 0]),
                ],
                &[10, 11],
            ),
            PairCase::Masks => (
                vec![
                    (apply(Op::Less), [3, 4, 0]),
                    (apply(Op::Where), [8, 6, 7]),
                    (Code::apply(Op::Less, narrow), [0, 1, 0]),
                    (apply(Op::Where), [10, 9, 3]),
                    (back, [11, 0, 0]),
                ],
                if narrow.size() == 1 { &[12, 8] } else { &[12] },
            ),
        };
        body.extend(rest);
        Kernel { checks_division: false, ..kernel(vec![narrow; 3], body, outputs) }
    }

    fn expected(self, narrow: DType, wide: DType, a: i128, b: i128, d: i128) -> [i128; 2] {
        let [x, y, d] = [a, b, d].map(|v| wrapped(wide, v));
        let (product, sum) = (wrapped(wide, x * y), wrapped(wide, x + y));
        match self {
            PairCase::Arithmetic => {
                let floor = if d == 0 { 0 } else { (product * d.signum()).div_euclid(d.abs()) };
                let floor = wrapped(wide, floor);
                [wrapped(narrow, floor ^ sum), wrapped(narrow, floor)]
            }
            PairCase::Masks => {
                let chosen = if x < y { product } else { sum };
                [wrapped(narrow, if a < b { chosen } else { x }), i128::from(x < y)]
            }
        }
    }
}

fn check(case: PairCase, narrow: DType, wide: DType, pairs: &[(i128, i128)], d: i128, width: VectorWidth) {
    let kernel = case.kernel(narrow, wide);
    let access = [Access::Contiguous, Access::Contiguous, Access::Splat];
    let compiled = Compiler::host().expect("a compiler").compile(&kernel, &[], &access, width);
    let compiled = compiled.expect("compiles");
    // A block fills whole vectors of the narrow dtype, which interleaving requires.
    assert!(width == VectorWidth::W128 || compiled.lanes() * narrow.size() >= width.bytes() as usize);
    let (a, b): (Vec<i128>, Vec<i128>) = pairs.iter().copied().unzip();
    let inputs = [bytes(narrow, &a), bytes(narrow, &b), bytes(narrow, &[d])];
    let dtypes: Vec<DType> = kernel.output_dtypes().collect();
    let mut outputs: Vec<Vec<u8>> = dtypes.iter().map(|dtype| vec![0; pairs.len() * dtype.size()]).collect();
    let (read, written) = (inputs.iter().map(|i| &i[..]), outputs.iter_mut().map(|o| &mut o[..]));
    compiled.run_slices(pairs.len(), read, written, &[], &mut []).expect("fits");
    for (i, &(a, b)) in pairs.iter().enumerate() {
        let expected = case.expected(narrow, wide, a, b, d);
        for (at, dtype) in dtypes.iter().enumerate() {
            let got = &outputs[at][i * dtype.size()..][..dtype.size()];
            let wanted = &expected[at].to_le_bytes()[..dtype.size()];
            assert_eq!(got, wanted, "{case:?} {narrow} {wide} {width}: result {at} of {a}, {b} and {d}");
        }
    }
}

#[test]
fn all_pairs_of_bytes() {
    for (narrow, wides) in PAIRS.into_iter().filter(|(narrow, _)| narrow.size() == 1) {
        let all = || (0..256).map(|x| wrapped(narrow, x));
        let pairs: Vec<_> = all().flat_map(|a| all().map(move |b| (a, b))).collect();
        for width in VectorWidth::of_target() {
            for wide in wides {
                check(PairCase::Masks, narrow, wide, &pairs, 1, width);
                for d in [7, 255].map(|d| wrapped(narrow, d)) {
                    check(PairCase::Arithmetic, narrow, wide, &pairs, d, width);
                }
            }
        }
    }
}

#[test]
fn pairs_of_words() {
    let mut dice = Dice(22);
    for (narrow, wides) in PAIRS.into_iter().filter(|(narrow, _)| narrow.size() == 2) {
        let edges = [0, 1, 2, 127, 128, 255, 256, 32767, 32768, 65534, 65535].map(|x| wrapped(narrow, x));
        let mut pairs: Vec<_> = edges.iter().flat_map(|&a| edges.map(|b| (a, b))).collect();
        pairs.extend((0..20_000).map(|_| {
            let bits = dice.next();
            (wrapped(narrow, bits.into()), wrapped(narrow, (bits >> 32).into()))
        }));
        for width in VectorWidth::of_target() {
            for wide in wides {
                check(PairCase::Masks, narrow, wide, &pairs, 1, width);
                for d in [0, 1, 7, 32768, 65535].map(|d| wrapped(narrow, d)) {
                    check(PairCase::Arithmetic, narrow, wide, &pairs, d, width);
                }
            }
        }
    }
}

#[test]
fn nothing_beyond_the_arrays_is_read_or_written() {
    for (narrow, wides) in PAIRS {
        for width in VectorWidth::of_target() {
            for case in [PairCase::Arithmetic, PairCase::Masks] {
                let access = [Access::Contiguous, Access::Contiguous, Access::Splat];
                at_the_wall(&case.kernel(narrow, wides[0]), &access, width);
            }
        }
    }
}
