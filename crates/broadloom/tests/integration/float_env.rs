//! The floating-point environment. If an application flushes subnormals to zero, sets another rounding mode, or traps on
//! exceptions, the bits of results, folded constants and created arrays do not change, and the application's environment is
//! restored afterwards, also after errors and panics.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#![allow(unsafe_code, reason = "the control register is set by an instruction of its own")]

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use broadloom::prelude::*;
use broadloom::{Engine, ErrorKind, Evaluation, HostFunction, IntDivision, Kernel, Options, text};
use broadloom_testkit::Runner;
use broadloom_testkit::elements;
use broadloom_testkit::one_of;

#[cfg(target_arch = "aarch64")]
use fpcr::{DEFAULT, ENVIRONMENTS, FLUSH, HOSTILE, Word, control, set_control};
#[cfg(target_arch = "x86_64")]
use mxcsr::{DEFAULT, ENVIRONMENTS, FLUSH, HOSTILE, Word, control, set_control};

/// The control register of x86-64.
#[cfg(target_arch = "x86_64")]
mod mxcsr {
    use std::arch::asm;

    pub type Word = u32;

    /// The floating-point environment that Rust runs under: round to nearest, keep subnormals, all exceptions masked.
    pub const DEFAULT: Word = 0x1f80;
    /// The bits that control how results are computed. The other bits are status flags.
    const CONTROL: Word = !0x3f;
    /// Flushes results and operands to zero, and rounds up.
    pub const HOSTILE: Word = DEFAULT | FLUSH | DAZ | 0b10 << 13;
    /// Flushes results to zero.
    pub const FLUSH: Word = 1 << 15;
    const DAZ: Word = 1 << 6;
    /// Raises a signal for any inexact, invalid, overflowing or underflowing result, any division by zero and any subnormal
    /// operand.
    const TRAPS: Word = 0;

    /// Each flag alone, each rounding mode, and combinations.
    pub const ENVIRONMENTS: [(&str, Word); 8] = [
        ("flush results", DEFAULT | FLUSH),
        ("flush operands", DEFAULT | DAZ),
        ("round down", DEFAULT | 0b01 << 13),
        ("round up", DEFAULT | 0b10 << 13),
        ("round toward zero", DEFAULT | 0b11 << 13),
        ("flush and round up", HOSTILE),
        ("trap on every exception", TRAPS),
        ("trap, flush and round down", TRAPS | FLUSH | DAZ | 0b01 << 13),
    ];

    /// The bits of the register that control how results are computed.
    pub fn control() -> Word {
        let mut word: Word = 0;
        // SAFETY: stores the 4 bytes of a local.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) }
        word & CONTROL
    }

    /// Sets the register, and returns its control bits afterwards.
    pub fn set_control(word: Word) -> Word {
        // SAFETY: loads 4 bytes of a local; the words that this file passes set no reserved bit. Rust assumes
        // `DEFAULT` for the float arithmetic that it compiles. Between setting another word and resetting it,
        // this test does no such arithmetic itself, except where that arithmetic is what it tests, and then
        // no trap is enabled.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) }
        control()
    }
}

/// The control register of aarch64. Status flags are in another one.
#[cfg(target_arch = "aarch64")]
mod fpcr {
    use std::arch::asm;

    pub type Word = u64;

    /// The floating-point environment that Rust runs under: round to nearest, keep subnormals, no trap, NaNs propagate.
    pub const DEFAULT: Word = 0;
    /// Flushes results and operands of float32 and float64 to zero, and rounds up.
    pub const HOSTILE: Word = FLUSH | 0b01 << 22;
    /// Flushes results and operands of float32 and float64 to zero.
    pub const FLUSH: Word = 1 << 24;
    /// Flushes results and operands of float16 to zero, on targets with float16 arithmetic.
    const FLUSH16: Word = 1 << 19;
    /// Every NaN result is the default NaN, which has no payload.
    const DEFAULT_NAN: Word = 1 << 25;
    /// Selects the alternative half-precision format, which has no infinities and NaNs, and has numbers up to 131008 instead.
    const ALTERNATIVE: Word = 1 << 26;
    /// Raises a signal for each kind of exception, on targets that support it.
    const TRAPS: Word = 0x9f << 8;

    /// Each flag alone, each rounding mode, and combinations.
    pub const ENVIRONMENTS: [(&str, Word); 11] = [
        ("flush to zero", FLUSH),
        ("flush float16 to zero", FLUSH16),
        ("default NaN", DEFAULT_NAN),
        ("alternative half precision", ALTERNATIVE),
        ("round up", 0b01 << 22),
        ("round down", 0b10 << 22),
        ("round toward zero", 0b11 << 22),
        ("flush and round up", HOSTILE),
        ("everything but traps, round down", FLUSH | FLUSH16 | DEFAULT_NAN | ALTERNATIVE | 0b10 << 22),
        ("trap on every exception", TRAPS),
        ("trap, flush and round down", TRAPS | FLUSH | 0b10 << 22),
    ];

    /// The value of the register.
    pub fn control() -> Word {
        let word: Word;
        // SAFETY: every exception level may read the register.
        unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nostack, preserves_flags)) }
        word
    }

    /// Sets the register, and returns its value afterwards, in which bits that the target does not support may be missing.
    pub fn set_control(word: Word) -> Word {
        // SAFETY: every exception level may write the register, and bits that a target lacks are ignored. Rust assumes
        // `DEFAULT` for the float arithmetic that it compiles. Between setting another word and resetting it, this test does
        // no such arithmetic itself, except where that arithmetic is what it tests, and then no trap is enabled.
        unsafe { asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags)) }
        control()
    }
}

/// Runs a closure on a new thread in the application's environment `word`, and checks that this environment is still set
/// afterwards.
fn in_environment<R: Send>(word: Word, f: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let set = set_control(word);
            let result = f();
            let after = control();
            set_control(DEFAULT);
            assert_eq!(after, set, "the environment is not the application's any more");
            result
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Values that are converted to every float dtype: subnormals, and numbers whose sums, products and quotients are inexact.
const FLOATS: [f64; 10] = [0.1, -0.3, 1.0 / 3.0, 7e-8, -6e-8, 1e-40, -1e-45, 5e-324, -1e-310, 1e300];

type BuildFunction = fn() -> Result<Array<'static>>;

/// An array of [`FLOATS`]. The values are converted before the environment changes.
fn floats(dtype: DType) -> Array<'static> {
    static ALL: std::sync::OnceLock<Vec<Vec<u64>>> = std::sync::OnceLock::new();
    let all = ALL.get_or_init(|| {
        let bits_of =
            |&dtype: &DType| elements::bits(&Array::from_slice(&FLOATS).astype(dtype)).expect("float64");
        DType::ALL.iter().map(bits_of).collect()
    });
    elements::array(dtype, &[FLOATS.len()], &all[dtype as usize])
}

const ROWS: &[(&str, BuildFunction)] = &[
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
    ("a host function", || {
        let f = HostFunction::new("tenth", |x: f32, y: f64| x * 0.1 + y as f32 / 3.0)?;
        Array::call(&f, [floats(DType::Float32), floats(DType::Float64).flip(0)?])
    }),
    ("a literal given to a host function", || {
        let f = HostFunction::new("bits", |x: f32| x.to_bits())?;
        Array::call(&f, [0.1])
    }),
    ("text", || {
        Ok(text::expression("x * 0.1 + 1e-42 - 123456789.12345678 / 3", &[("x", floats(DType::Float64))])?)
    }),
    ("text of literals", || Ok(text::expression("0.1 + 1e-310 * 3 - 8.41e21", &[])?)),
    ("a division in NumPy's mode", || {
        with_promotion(Promotion::NumPy, || Array::from_vec(vec![1i32, 2]).try_multiply(0.1))
    }),
];

/// The bits of each row's result in an environment, computed with empty caches.
fn all_rows(word: Word, options: &Options) -> Vec<(&'static str, DType, Vec<u64>)> {
    floats(DType::Bool);
    Engine::global().clear();
    let row = |&(name, build): &(&'static str, BuildFunction)| {
        let (dtype, bits) = in_environment(word, || {
            let result = build().and_then(|x| x.eval_with(options)).unwrap_or_else(|e| panic!("{name}: {e}"));
            (result.dtype(), elements::bits(&result))
        });
        (name, dtype, bits.unwrap_or_else(|e| panic!("{name}: {e}")))
    };
    ROWS.iter().map(row).collect()
}

#[test]
fn no_bit_depends_on_the_hosts_environment() {
    let mut wrong = Vec::new();
    for runner in Runner::all() {
        let options = Options { threads: Some(1), ..runner.options() };
        let here = all_rows(DEFAULT, &options);
        for (environment, word) in ENVIRONMENTS.into_iter().step_by(one_of(2)) {
            for ((name, dtype, want), (_, _, got)) in here.iter().zip(all_rows(word, &options)) {
                let difference = elements::difference(*dtype, &got, want);
                wrong.extend(difference.map(|d| format!("{name}, {runner:?}, {environment}: {d}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn printing_does_not_depend_on_it_either() {
    for dtype in [DType::Float16, DType::Float32, DType::Float64] {
        let x = floats(dtype);
        let shown =
            |word: Word| in_environment(word, || (x.to_string(), (&x + 0.1).to_string(), format!("{x:?}")));
        for (environment, word) in ENVIRONMENTS {
            assert_eq!(shown(DEFAULT), shown(word), "{dtype}, {environment}");
        }
    }
}

/// Every thread of the application's pool has the hostile environment.
#[test]
fn no_bit_depends_on_the_environment_of_a_worker() {
    let hostile = |_| {
        set_control(HOSTILE);
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).start_handler(hostile).build().expect("a pool");
    let data: Vec<f32> = (0..300_000u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b9))).collect();
    let x = Array::from_slice(&data);
    // Enough work for several threads.
    let y = (0..20).fold(&x * 0.5, |y, _| &y * 0.75 + &x / 3);
    let alone = Options { threads: Some(1), ..Runner::INTERP.options() };
    let want = y.eval_with(&alone).and_then(|y| elements::bits(&y)).expect("evaluates");
    for runner in Runner::all().chain([Runner::AUTO]) {
        for threads in [Some(2), Some(3), None] {
            let options = Options { threads, ..runner.options() };
            let words = |result: Result<Array<'static>>| (result, control());
            let (result, after) = pool.install(|| words(y.eval_with(&options)));
            assert_eq!(after, HOSTILE, "the worker's environment is not its own any more");
            let got = result.and_then(|y| elements::bits(&y)).expect("evaluates");
            assert_eq!(elements::difference(DType::Float32, &got, &want), None, "{runner:?}, {threads:?}");
        }
    }
}

/// An expression whose result every rounding mode and every flush to zero would change.
fn sensitive(x: &Array<'static>, y: &Array<'static>) -> Array<'static> {
    (x * 0.1 + y / 3) * 1e-30 / 1e5 - y.exp() * 1e-44
}

/// Tests every way of starting an evaluation. Each is used with few elements, and with enough elements for
/// threads to share, for the cost to be estimated, and for machine code to be compiled.
#[test]
fn every_way_in() {
    for n in [5usize, 200_000] {
        let [xs, ys] = [7u32, 13].map(|salt| {
            (0..n as u32).map(|i| 1.0 + (i.wrapping_mul(salt) % 1000) as f32 / 999.0).collect::<Vec<f32>>()
        });
        let (x, y) = (Array::from_vec(xs.clone()), Array::from_vec(ys.clone()));
        let z = sensitive(&x, &y);
        let rows = z.reshape(&[-1, 5]).expect("a multiple of 5").t() + &x.slice(..1).expect("some");
        for runner in Runner::all().chain([Runner::AUTO]) {
            let options = runner.options();
            let ways = || {
                // Empties the caches, so that nothing is reused that was planned or compiled in another environment.
                Engine::global().clear();
                let mut given = Array::from_vec(vec![1f32; n]);
                let (mut out, mut kept) = (vec![1f32; n], vec![1f32; n]);
                Evaluation::with(&options).eval_into(&z, &mut out).expect("runs");
                Evaluation::with(&options).eval_into_array(&z, &mut given).expect("runs");
                let sorted = (&x * 1.5).sort(0, false).expect("an axis");
                let several =
                    Evaluation::with(&options).eval_many(&[&rows, &z, &y.exp(), &sorted]).expect("runs");
                let kernel = Kernel::new(&[&z], &[&x, &y], &options).expect("an expression");
                kernel.run(&[(&xs[..]).into(), (&ys[..]).into()], [(&mut kept[..]).into()]).expect("runs");
                let explained = z.explanation(&options, cfg!(feature = "jit")).expect("explains");
                assert!(explained.to_string().contains("kernel"));
                let page = broadloom_html::page(&explained, "z");
                assert!(page.contains(&broadloom_html::picture(&explained)));
                let mut all = vec![Array::from_vec(out), given, Array::from_vec(kept)];
                all.extend(several);
                all
            };
            let want = in_environment(DEFAULT, ways);
            for (environment, word) in ENVIRONMENTS.into_iter().step_by(one_of(2)) {
                let got = in_environment(word, ways);
                for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                    let [got, want] = [got, want].map(|x| elements::bits(x).expect("evaluated"));
                    let difference = elements::difference(DType::Float32, &got, &want);
                    assert_eq!(difference, None, "way {i}, {n} elements, {runner:?}, {environment}");
                }
            }
        }
    }
}

/// After each kind of error the application's environment is restored, which `in_environment` checks.
#[test]
fn after_an_error() {
    type Fails = fn(&Options) -> Result<()>;
    fn zeros(n: usize) -> Array<'static> {
        Array::from_vec(vec![0i32; n])
    }
    let rows: [(&str, ErrorKind, Fails); 11] = [
        ("a zero divisor", ErrorKind::ZeroDivision, |o| {
            zeros(3).floor_divide(zeros(3) * 7).eval_with(o).map(drop)
        }),
        ("a zero divisor that threads share", ErrorKind::ZeroDivision, |o| {
            (0..30).fold(zeros(300_000), |x, _| x.remainder(zeros(300_000))).eval_with(o).map(drop)
        }),
        ("bytes", ErrorKind::Limit, |o| {
            zeros(3).divide(3).eval_with(&Options { max_bytes: 2, ..o.clone() }).map(drop)
        }),
        ("depth", ErrorKind::Limit, |o| {
            zeros(3).divide(3).eval_with(&Options { max_depth: 0, ..o.clone() }).map(drop)
        }),
        ("memory", ErrorKind::Limit, |o| {
            (Array::zeros(&[1 << 59], DType::UInt8)? + 1).eval_with(o).map(drop)
        }),
        ("an array that is not among the inputs", ErrorKind::Memory, |o| {
            Kernel::new(&[&(zeros(3).divide(3))], &[], o).map(drop)
        }),
        ("a literal", ErrorKind::Literal, |_| floats(DType::Float16).try_multiply(1e300).map(drop)),
        ("no range", ErrorKind::Literal, |_| Array::arange(0.0f64, 1.0, 0.0).map(drop)),
        ("a range of too many", ErrorKind::Limit, |_| Array::arange(0, i64::MAX, 1).map(drop)),
        ("a rule for too many", ErrorKind::Limit, |_| Array::from_fn(&[1 << 50, 511], |_| 0u8).map(drop)),
        ("a text", ErrorKind::DType, |_| {
            Ok(text::expression("x * 1e-310 + 0.1", &[("x", zeros(2))]).map(drop)?)
        }),
    ];
    for (name, kind, fails) in rows {
        for runner in Runner::all().chain([Runner::AUTO]) {
            let options = Options { int_division: IntDivision::Error, ..runner.options() };
            for (environment, word) in [("", DEFAULT)].into_iter().chain(ENVIRONMENTS).step_by(one_of(3)) {
                let error = in_environment(word, || fails(&options).expect_err(name));
                assert_eq!(error.kind(), kind, "{name}, {runner:?}, {environment}: {error}");
            }
        }
    }
}

/// A writer that panics.
struct Panics;

impl Write for Panics {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        panic!("no paper")
    }
}

/// Code of the library that panics, or that calls code that panics, while the library's environment is set: on a thread of
/// the application, and in a job of a pool whose threads have the hostile environment.
#[test]
fn after_a_panic() {
    let x = floats(DType::Float32);
    let int = Array::from_vec(vec![1i32]);
    let panics: [(&str, &(dyn Fn() + Sync)); 3] = [
        ("a writer", &|| {
            let _ = write!(Panics, "{}", &x * 0.1);
        }),
        ("an operator", &|| drop(&int * 0.1)),
        ("a rule", &|| drop(Array::from_fn(&[3], |_| -> f32 { panic!("no rule") }))),
    ];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(|_| {
        set_control(HOSTILE);
    });
    let pool = pool.build().expect("a pool");
    for (name, f) in panics {
        // No traps are enabled, because the hook that prints a panic computes with floats.
        for word in [HOSTILE, DEFAULT | FLUSH] {
            assert!(in_environment(word, || catch_unwind(AssertUnwindSafe(f)).is_err()), "{name}");
        }
        assert!(catch_unwind(AssertUnwindSafe(|| pool.install(f))).is_err(), "{name}");
        let words = pool.broadcast(|_| control());
        assert_eq!(words, [HOSTILE; 2], "{name}: a worker's environment is not its own any more");
    }
}

/// Jobs that a pool's threads run while one of them waits for others in an evaluation. They run in the environment that the
/// application has set.
#[test]
fn jobs_of_the_host_that_run_meanwhile() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(|_| {
        set_control(HOSTILE);
    });
    let pool = pool.build().expect("a pool");
    let x = Array::from_vec(vec![0.5f32; 400_000]);
    let y = (0..30).fold(&x * 0.5, |y, _| &y * 0.75 + &x / 3);
    let (seen, evaluating) = (Arc::new(Mutex::new(Vec::new())), AtomicBool::new(true));
    std::thread::scope(|scope| {
        // Submits a few jobs at a time from another thread. Idle threads of the pool run them.
        scope.spawn(|| {
            while evaluating.load(Ordering::Relaxed) {
                let (sender, done) = mpsc::channel::<()>();
                for _ in 0..4 {
                    let (seen, sender) = (seen.clone(), sender.clone());
                    pool.spawn(move || {
                        seen.lock().expect("nobody panicked").push(control());
                        drop(sender);
                    });
                }
                drop(sender);
                // `recv` returns an error when all senders are dropped, which means that the jobs are done.
                assert!(done.recv().is_err());
            }
        });
        for round in 0..300 {
            let options = [Runner::INTERP, Runner::JIT][round % 2].options();
            pool.install(|| y.eval_with(&options)).expect("runs");
        }
        evaluating.store(false, Ordering::Relaxed);
    });
    let seen = seen.lock().expect("nobody panicked");
    assert!(seen.len() > 100, "{} jobs", seen.len());
    assert!(
        seen.iter().all(|&word| word == HOSTILE),
        "a job of the application's ran in another environment"
    );
}

/// Checks that the instruction changes rounding and subnormals as the tests assume.
#[test]
fn the_hostile_environment_is_hostile() {
    let [five, three, tiny] = [5.0f32, 3.0, 1e-45].map(std::hint::black_box);
    let (quotient, product) = in_environment(HOSTILE, || {
        let computed = (std::hint::black_box(five) / three, std::hint::black_box(tiny) * three);
        std::hint::black_box(computed)
    });
    // 5/3 is nearer to the float32 below it, so rounding up returns the next float32.
    assert_eq!((quotient.to_bits(), product.to_bits()), ((five / three).to_bits() + 1, 0));
}
