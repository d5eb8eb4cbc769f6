//! A host that flushes subnormals to zero and rounds upwards changes no bit of a result, of a folded constant or of a
//! created array, and finds its floating-point environment as it left it.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code, reason = "the control register is set by an instruction of its own")]

use std::arch::asm;

use broadloom::prelude::*;
use broadloom::{Engine, Executor, Options, text};
use broadloom_testkit::elements as bits;

/// What Rust runs under: round to nearest, keep subnormals, all exceptions masked.
const DEFAULT: u32 = 0x1f80;
/// The bits that say how to compute; the others note what has happened.
const CONTROL: u32 = !0x3f;
/// Flush results and operands to zero, round up.
const HOSTILE: u32 = DEFAULT | 1 << 15 | 1 << 6 | 0b10 << 13;

fn mxcsr() -> u32 {
    let mut word = 0u32;
    // SAFETY: stores the 4 bytes of a local.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) }
    word
}

fn set_mxcsr(word: u32) {
    // SAFETY: loads 4 bytes of a local; both words that this file gives set no reserved bit and unmask nothing.
    // Rust assumes DEFAULT of float arithmetic that it compiles: between setting and resetting HOSTILE this test does
    // none of its own.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) }
}

/// Runs a closure on a thread of its own, in the host's environment, which must be found again.
fn in_environment<R: Send>(word: u32, f: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            set_mxcsr(word);
            let result = f();
            let after = mxcsr();
            set_mxcsr(DEFAULT);
            assert_eq!(after & CONTROL, word, "the environment is not the host's any more");
            result
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Bits that are used with every float dtype: subnormals, and numbers whose sums, products and quotients are inexact.
const FLOATS: [f64; 10] = [0.1, -0.3, 1.0 / 3.0, 7e-8, -6e-8, 1e-40, -1e-45, 5e-324, -1e-310, 1e300];

type Build = fn() -> Result<Array<'static>>;

/// An array of [`FLOATS`], converted before the environment changes.
fn floats(dtype: DType) -> Array<'static> {
    static ALL: std::sync::OnceLock<Vec<Vec<u64>>> = std::sync::OnceLock::new();
    let all = ALL.get_or_init(|| {
        let bits_of =
            |&dtype: &DType| bits::bits(&Array::from_slice(&FLOATS).astype(dtype)).expect("float64");
        DType::ALL.iter().map(bits_of).collect()
    });
    bits::array(dtype, &[FLOATS.len()], &all[dtype as usize])
}

const ROWS: &[(&str, Build)] = &[
    ("add", || floats(DType::Float32).try_add(&floats(DType::Float32).flip(0)?)),
    ("subtract float64", || floats(DType::Float64).try_subtract(&floats(DType::Float64).flip(0)?)),
    ("multiply", || floats(DType::Float64).try_multiply(&floats(DType::Float64).flip(0)?)),
    ("multiply float16", || floats(DType::Float16).try_multiply(&floats(DType::Float16).flip(0)?)),
    ("divide", || floats(DType::Float32).try_divide(&floats(DType::Float32).flip(0)?)),
    ("floor_divide", || floats(DType::Float32).try_floor_divide(&floats(DType::Float32).flip(0)?)),
    ("remainder", || floats(DType::Float64).try_remainder(&floats(DType::Float64).flip(0)?)),
    ("sqrt", || floats(DType::Float32).try_abs()?.try_sqrt()),
    ("reciprocal", || floats(DType::Float64).try_reciprocal()),
    ("round", || floats(DType::Float32).try_multiply(8)?.try_round()),
    ("compare with zero", || floats(DType::Float64).try_greater(0)),
    ("isfinite of a quotient", || floats(DType::Float32).try_divide(1e-40)?.try_isfinite()),
    ("maximum", || floats(DType::Float32).try_maximum(&floats(DType::Float32).flip(0)?)),
    ("nextafter", || floats(DType::Float16).try_nextafter(0)),
    ("to float32", || Ok(floats(DType::Float64).astype(DType::Float32))),
    ("to float16", || Ok(floats(DType::Float64).astype(DType::Float16))),
    ("float32 to float64", || Ok(floats(DType::Float32).astype(DType::Float64))),
    ("float16 to float32", || Ok(floats(DType::Float16).astype(DType::Float32))),
    ("to bool", || Ok(floats(DType::Float64).astype(DType::Bool))),
    ("int64 to float32", || {
        Ok(Array::from_vec(vec![16_777_217i64, -16_777_217, i64::MAX]).astype(DType::Float32))
    }),
    ("uint64 to float64", || Ok(Array::from_vec(vec![u64::MAX, (1 << 53) + 1]).astype(DType::Float64))),
    ("an integer quotient", || Array::from_vec(vec![1i32, -1, 2]).try_divide(3)),
    ("a literal rounded to float32", || floats(DType::Float32).try_multiply(0.1)),
    ("a literal rounded to float16", || floats(DType::Float16).try_add(0.1)),
    ("a subnormal literal", || floats(DType::Float32).try_add(1e-42)),
    ("an integer literal that is rounded", || floats(DType::Float32).try_add(16_777_217)),
    ("literals alone", || Array::scalar(0.1).try_add(0.2)?.try_divide(3)?.try_sqrt()),
    ("subnormal literals alone", || Array::scalar(1e-310).try_multiply(0.5)),
    ("integer literals alone", || Array::scalar(2).try_divide(3)),
    ("constants", || {
        let [a, b] = [0.1, 0.3].map(|x| Array::scalar(x).astype(DType::Float32));
        a.try_multiply(&b)?.try_add(&a)
    }),
    ("subnormal constants", || {
        let tiny = Array::scalar(1e-42).astype(DType::Float32);
        tiny.try_multiply(Array::scalar(0.5).astype(DType::Float32))
    }),
    ("constants converted", || Ok(Array::scalar(0.1).astype(DType::Float64).astype(DType::Float16))),
    ("a large integer converted", || Ok(Array::scalar(16_777_217).astype(DType::Float32))),
    ("full", || Array::full(&[3], 1e-45f32)?.try_multiply(3)),
    ("arange", || Array::arange(0.0f64, 1.0, 0.1)),
    ("arange of float32", || Array::arange(0.0f32, 1.0, 0.1)),
    ("linspace", || Array::linspace(0.0f64, 1.0, 11)),
    ("linspace of float16", || Array::linspace(f16::from_f32(0.0), f16::from_f32(1.0), 11)),
    ("ones", || Array::ones(&[2], DType::Float16)),
    ("text", || {
        Ok(text::expression("x * 0.1 + 1e-42 - 123456789.12345678 / 3", &[("x", floats(DType::Float64))])?)
    }),
    ("text of literals", || Ok(text::expression("0.1 + 1e-310 * 3 - 8.41e21", &[])?)),
    ("a division in NumPy's mode", || {
        with_promotion(Promotion::NumPy, || Array::from_vec(vec![1i32, 2]).try_multiply(0.1))
    }),
];

/// The bits that each row gives in an environment, with nothing left over from before.
fn all_rows(word: u32, options: &Options) -> Vec<(&'static str, DType, Vec<u64>)> {
    floats(DType::Bool);
    Engine::global().clear();
    let row = |&(name, build): &(&'static str, Build)| {
        let (dtype, bits) = in_environment(word, || {
            let result = build().and_then(|x| x.eval_with(options)).unwrap_or_else(|e| panic!("{name}: {e}"));
            (result.dtype(), bits::bits(&result))
        });
        (name, dtype, bits.unwrap_or_else(|e| panic!("{name}: {e}")))
    };
    ROWS.iter().map(row).collect()
}

#[test]
fn no_bit_depends_on_the_hosts_environment() {
    let mut wrong = Vec::new();
    for executor in [Executor::Interp, Executor::Jit] {
        let options = Options { executor, threads: Some(1), ..Options::default() };
        let (here, there) = (all_rows(DEFAULT, &options), all_rows(HOSTILE, &options));
        for ((name, dtype, want), (_, _, got)) in here.into_iter().zip(there) {
            wrong.extend(bits::difference(dtype, &got, &want).map(|d| format!("{name}, {executor:?}: {d}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn printing_does_not_depend_on_it_either() {
    for dtype in [DType::Float16, DType::Float32, DType::Float64] {
        let x = floats(dtype);
        let shown = |word: u32| in_environment(word, || (x.to_string(), (&x + 0.1).to_string()));
        assert_eq!(shown(DEFAULT), shown(HOSTILE), "{dtype}");
    }
}

/// Every thread of the pool is hostile too.
#[test]
fn no_bit_depends_on_the_environment_of_a_worker() {
    let hostile = |_| set_mxcsr(HOSTILE);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).start_handler(hostile).build().expect("a pool");
    let data: Vec<f32> = (0..300_000u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b9))).collect();
    let x = Array::from_slice(&data);
    // Enough work to be shared.
    let y = (0..20).fold(&x * 0.5, |y, _| &y * 0.75 + &x / 3);
    let alone = Options { executor: Executor::Interp, threads: Some(1), ..Options::default() };
    let want = y.eval_with(&alone).and_then(|y| bits::bits(&y)).expect("evaluates");
    for executor in [Executor::Interp, Executor::Jit, Executor::Auto] {
        for threads in [Some(2), Some(3), None] {
            let options = Options { executor, threads, ..Options::default() };
            let words = |result: Result<Array<'static>>| (result, mxcsr());
            let (result, after) = pool.install(|| words(y.eval_with(&options)));
            assert_eq!(after & CONTROL, HOSTILE, "the worker's environment is not its own any more");
            let got = result.and_then(|y| bits::bits(&y)).expect("evaluates");
            assert_eq!(bits::difference(DType::Float32, &got, &want), None, "{executor:?}, {threads:?}");
        }
    }
}

/// The instruction does what the tests rely on.
#[test]
fn the_hostile_environment_is_hostile() {
    let [five, three, tiny] = [5.0f32, 3.0, 1e-45].map(std::hint::black_box);
    let (quotient, product) = in_environment(HOSTILE, || {
        let computed = (std::hint::black_box(five) / three, std::hint::black_box(tiny) * three);
        std::hint::black_box(computed)
    });
    // 5/3 lies nearer to the float32 below it: rounding up gives the next.
    assert_eq!((quotient.to_bits(), product.to_bits()), ((five / three).to_bits() + 1, 0));
}
