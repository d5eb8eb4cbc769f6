//! Integer kernels at each vector width, compared with C loops: products and sums of bytes, divisions by a literal, selections.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use broadloom_bench::clock::{Contender, in_turns};
use broadloom_clif::VectorWidth;
use broadloom_core::kernel::Code;
use broadloom_core::{DType, Kernel, Op, Scalar};

use crate::contenders::{compile, kernel, symbol};

/// The C loops, each with up to three inputs of bytes.
pub const C: &str = r"
#include <stdint.h>
#include <stddef.h>
#define LOOP(name, T, U, ...) void name(const T *restrict a, const T *restrict b, const T *restrict c, U *restrict o, size_t n) \
    { for (size_t i = 0; i < n; i++) o[i] = __VA_ARGS__; }
LOOP(blend_wrapping, uint8_t, uint8_t, (uint8_t)(a[i] * c[i] + b[i] * (255 - c[i])) / 255)
LOOP(blend, uint8_t, uint8_t, (uint16_t)(a[i] * c[i] + b[i] * (255 - c[i])) / 255)
LOOP(divide_u16, uint16_t, uint16_t, a[i] / 255)
LOOP(divide_i32, int32_t, int32_t, a[i] / 1000)
LOOP(floor_i32, int32_t, int32_t, a[i] / 1000 - (a[i] % 1000 < 0))
LOOP(divide_u32, uint32_t, uint32_t, a[i] / 1000)
LOOP(divide_i64, int64_t, int64_t, a[i] / 1000)
LOOP(divide_u64, uint64_t, uint64_t, a[i] / 1000)
LOOP(choose, uint8_t, uint8_t, a[i] > 128 ? b[i] : c[i])
LOOP(clip, int16_t, uint8_t, a[i] < 0 ? 0 : a[i] > 255 ? 255 : a[i])
LOOP(narrow, uint16_t, uint8_t, a[i])
";

type IntegerFunction = unsafe extern "C" fn(*const u8, *const u8, *const u8, *mut u8, usize);

/// The rows: a name, the name of the C loop, the kernel, and its parameters.
fn table() -> Vec<(&'static str, &'static str, Kernel, Vec<u64>)> {
    use DType::{Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let apply = |op, dtype| Code::apply(op, dtype);
    let blend = |d| {
        let at = if d == UInt8 { 0 } else { 4 };
        let mut body = vec![];
        if d == UInt16 {
            (0..3).for_each(|x| body.push((Code::Cast(UInt8, UInt16), [x, 0, 0])));
        }
        let next = 4 + body.len() as u32;
        body.extend([
            (apply(Op::Multiply, d), [at, at + 2, 0]),
            (apply(Op::Subtract, d), [3, at + 2, 0]),
            (apply(Op::Multiply, d), [at + 1, next + 1, 0]),
            (apply(Op::Add, d), [next, next + 2, 0]),
            (apply(Op::FloorDivide, d), [next + 3, 3, 0]),
        ]);
        if d == UInt16 {
            body.push((Code::Cast(UInt16, UInt8), [next + 4, 0, 0]));
        }
        kernel(&[UInt8; 3], &[d], &body, &[3 + body.len() as u32])
    };
    let divide = |op, d| kernel(&[d], &[d], &[(apply(op, d), [0, 1, 0])], &[2]);
    let choose = [(apply(Op::Greater, UInt8), [0, 3, 0]), (apply(Op::Where, UInt8), [4, 1, 2])];
    let clip = [
        (apply(Op::Maximum, Int16), [0, 1, 0]),
        (apply(Op::Minimum, Int16), [3, 2, 0]),
        (Code::Cast(Int16, UInt8), [4, 0, 0]),
    ];
    vec![
        ("uint8 (a*w + b*(255-w))//255", "blend_wrapping", blend(UInt8), vec![255]),
        ("the same by way of uint16", "blend", blend(UInt16), vec![255]),
        ("uint16 a//255", "divide_u16", divide(Op::FloorDivide, UInt16), vec![255]),
        ("int32 a//1000", "floor_i32", divide(Op::FloorDivide, Int32), vec![1000]),
        ("int32 trunc_divide(a, 1000)", "divide_i32", divide(Op::TruncDivide, Int32), vec![1000]),
        ("uint32 a//1000", "divide_u32", divide(Op::FloorDivide, UInt32), vec![1000]),
        ("int64 trunc_divide(a, 1000)", "divide_i64", divide(Op::TruncDivide, Int64), vec![1000]),
        ("uint64 a//1000", "divide_u64", divide(Op::FloorDivide, UInt64), vec![1000]),
        ("uint8 where(a > 128, b, c)", "choose", kernel(&[UInt8; 3], &[UInt8], &choose, &[5]), vec![128]),
        ("uint8 of clip(int16, 0, 255)", "clip", kernel(&[Int16], &[Int16; 2], &clip, &[5]), vec![0, 255]),
        (
            "uint8 of uint16",
            "narrow",
            kernel(&[UInt16], &[], &[(Code::Cast(UInt16, UInt8), [0; 3])], &[1]),
            vec![],
        ),
    ]
}

/// Prints the nanoseconds per element at each vector width, and then those of the C loops, which are compiled once for this
/// machine and once for AVX2.
pub fn print(libraries: &[libloading::Library]) -> Result<(), Box<dyn Error>> {
    println!(
        "\nintegers, ns per element: widths {:?}, then loops in C",
        VectorWidth::of_target().map(|w| w.bits()).collect::<Vec<_>>()
    );
    let n = 100_000;
    for (name, function, mut kernel, params) in table() {
        // The code may depend on the class of the parameters, which represent literals of an expression.
        let literals = kernel.params.iter().zip(&params).map(|(&dtype, &bits)| Scalar { dtype, bits });
        kernel.short_reciprocals = literals.map(Scalar::has_short_reciprocal).collect();
        let compiled = compile(&kernel)?;
        let mut bits = 1u64;
        let mut next = || {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (bits >> 56) as u8
        };
        let inputs: Vec<Vec<u8>> =
            kernel.inputs.iter().map(|d| (0..n * d.size()).map(|_| next()).collect()).collect();
        let size = kernel.output_dtypes().map(DType::size).sum::<usize>();
        let mut outs: Vec<Vec<u8>> = vec![vec![0; n * size]; compiled.len() + libraries.len()];
        let (ours, theirs) = outs.split_at_mut(compiled.len());
        let mut contenders: Vec<Contender<'_>> = Vec::new();
        for (code, out) in compiled.iter().zip(ours) {
            let (inputs, params) = (&inputs, &params);
            contenders.push(Box::new(move |calls| {
                for _ in 0..calls {
                    let from = inputs.iter().map(|x| black_box(&x[..]));
                    let done = code.run_slices(n, from, [&mut out[..]].into_iter(), params, &mut []);
                    assert!(done.is_ok(), "{done:?}");
                }
            }));
        }
        for (library, out) in libraries.iter().zip(theirs) {
            let c: IntegerFunction = symbol(library, function).ok_or("a loop that is missing")?;
            let [a, b, c_] = [0, 1, 2].map(|i| inputs.get(i).unwrap_or(&inputs[0]).as_ptr());
            contenders.push(Box::new(move |calls| {
                for _ in 0..calls {
                    // SAFETY: the loop reads `n` elements from each input of the kernel, with the kernel's dtypes, and writes
                    // `n` elements to the output, whose length is `n`.
                    unsafe { c(black_box(a), black_box(b), black_box(c_), out.as_mut_ptr(), n) };
                }
            }));
        }
        let times = in_turns(&mut contenders, Duration::from_millis(400));
        drop(contenders);
        if outs.iter().any(|o| *o != outs[0]) {
            return Err(format!("{name}: the bits differ").into());
        }
        print!("{name:<32}");
        times.iter().for_each(|t| print!(" {:>8.4}", t / n as f64));
        println!();
    }
    Ok(())
}
