//! Compares loops over float16 that use the target's conversions with loops that convert by integer arithmetic.

use broadloom_interp::compared::{NanBits, OPERANDS, TileLoop, defined_loop, halves_loop};
use broadloom_ir::kernel::Code;
use broadloom_ir::{DType, Op};
use broadloom_math::f16;
use broadloom_mem::{bytes_of, bytes_of_mut, converts_halves};
use pulp::Arch;

/// The number of elements of a tile in this test: several chunks and vectors, with a remainder after the last whole one
/// of each.
const N: usize = 1000;

/// Bit patterns that are spread over the whole range, for each seed. With seed 1, every float16 occurs once.
fn bits(seed: u64) -> Vec<u64> {
    let mixed = (0..1u64 << 16).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(seed | 1));
    if seed == 1 { (0..1 << 16).collect() } else { mixed.map(|x| x >> (seed % 5) ^ x << 40).collect() }
}

fn column(dtype: DType, bits: &[u64]) -> Vec<u64> {
    let mut words = vec![0u64; (bits.len() * dtype.size()).div_ceil(8)];
    let bytes = bytes_of_mut(&mut words[..]);
    for (to, x) in bytes.chunks_exact_mut(dtype.size()).zip(bits) {
        to.copy_from_slice(&x.to_le_bytes()[..dtype.size()]);
    }
    words
}

/// Panics unless both loops give the same results for these columns.
fn agree(name: &str, loops: [TileLoop; 2], columns: &[(DType, Vec<u64>)], out: DType) {
    let arch = Arch::new();
    for start in (0..1 << 16).step_by(N) {
        let n = N.min((1 << 16) - start);
        let results = loops.map(|run| {
            let mut args: [&[u8]; OPERANDS] = [&[]; OPERANDS];
            for (arg, (dtype, x)) in args.iter_mut().zip(columns) {
                *arg = &bytes_of(&x[..])[start * dtype.size()..(start + n) * dtype.size()];
            }
            let mut to = vec![0u64; n];
            run(arch, &args, &mut bytes_of_mut(&mut to[..])[..n * out.size()]);
            to
        });
        let [got, want] = results.each_ref().map(|x| &bytes_of(&x[..])[..n * out.size()]);
        for (i, (got, want)) in got.chunks(out.size()).zip(want.chunks(out.size())).enumerate() {
            assert!(got == want, "{name} at {}: {got:x?}, not {want:x?}", start + i);
        }
    }
}

#[test]
fn functions_give_what_their_definitions_give() {
    let mut tried = 0;
    for &op in Op::ALL {
        let code = Code::apply(op, DType::Float16);
        let Some(converting) = halves_loop(code, NanBits::Read) else { continue };
        tried += 1;
        let defined = defined_loop(code, NanBits::Read).expect("a function of float16");
        let out = op.result(DType::Float16).expect("a function of float16");
        for seeds in [[1, 3, 5], [7, 1, 9], [1, 1, 1]] {
            let columns: Vec<_> = seeds[..op.operands()]
                .iter()
                .map(|&s| (DType::Float16, column(DType::Float16, &bits(s))))
                .collect();
            agree(op.name(), [converting, defined], &columns, out);
        }
    }
    // Nearly all functions have such a loop, except those that only operate on the bits, and exp, which rounds its own
    // result.
    assert!(tried >= 43 || !converts_halves(), "{tried} functions by the target's conversions");
}

/// log(e^x + e^y) with a sum close to 1, where `logaddexp` takes the slow path.
#[test]
fn flagged_lanes_are_mended() {
    let x = |i: u64| f16::from_bits(0x8000 | (i & 0x7fff) as u16);
    let y = |i: u64| f16::from_f64((-x(i).to_f64().exp()).ln_1p());
    let columns = [&x as &dyn Fn(u64) -> f16, &y].map(|f| {
        let bits: Vec<u64> = (0..1 << 16).map(|i| u64::from(f(i).to_bits())).collect();
        (DType::Float16, column(DType::Float16, &bits))
    });
    let code = Code::apply(Op::LogAddExp, DType::Float16);
    let defined = defined_loop(code, NanBits::Read).expect("a function of float16");
    let converting = halves_loop(code, NanBits::Read).unwrap_or(defined);
    agree("logaddexp", [converting, defined], &columns, DType::Float16);
}

#[test]
fn conversions_give_what_their_definitions_give() {
    for &dtype in DType::ALL {
        for (from, to) in [(DType::Float16, dtype), (dtype, DType::Float16)] {
            let code = Code::Cast(from, to);
            let Some(converting) = halves_loop(code, NanBits::Read) else { continue };
            let defined = defined_loop(code, NanBits::Read).expect("a conversion");
            for seed in [1, 3, 5, 7] {
                let columns = [(from, column(from, &bits(seed)))];
                agree(&format!("{from} to {to}"), [converting, defined], &columns, to);
            }
        }
    }
}
