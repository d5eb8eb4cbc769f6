//! Compares machine code at each vector width with fused loops that rustc compiles for the target's maximum vector width,
//! and with C loops.
//!
//! The C loops are included if `gcc` is on the path. All contenders must compute the same bits, except for the C loops,
//! whose functions are accurate to 4 ulp. Contenders alternate.
//!
//! `cargo run --release -p broadloom-bench --features wide --bin wide`

mod contenders;
mod integers;

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use broadloom_bench::by_hand::{Loop, numbers};
use broadloom_bench::clock::{Contender, in_turns};
use broadloom_clif::{Compiled, Compiler, VectorWidth};
use broadloom_core::kernel::{Code, Inst, ValueId};
use broadloom_core::{DType, Kernel, Op};
use broadloom_math::functions::{Add, Cos, Divide, Exp, Log, Multiply, Pow, Sin, Square};
use broadloom_math::{Binary, Elem, Float, Lanes, Ops, Unary};
use broadloom_mem::Access;
use pulp::Arch;

use contenders::{compile, compiled_c, kernel, symbol};

/// A kernel with two inputs, under construction.
pub struct KernelDraft {
    kernel: Kernel,
    dtype: DType,
    params: Vec<u64>,
}

impl KernelDraft {
    fn new(dtype: DType) -> KernelDraft {
        KernelDraft {
            kernel: Kernel { inputs: vec![dtype; 2], ..Kernel::default() },
            dtype,
            params: Vec::new(),
        }
    }

    /// Adds a run-time scalar. Scalars must be added before instructions.
    fn scalar(&mut self, x: f64) -> ValueId {
        self.kernel.params.push(self.dtype);
        self.params.push(match self.dtype {
            DType::Float32 => u64::from((x as f32).to_bits()),
            _ => x.to_bits(),
        });
        ValueId(self.kernel.values() as u32 - 1)
    }

    fn op(&mut self, op: Op, args: &[ValueId]) -> ValueId {
        let mut all = [ValueId(0); 3];
        all[..args.len()].copy_from_slice(args);
        self.kernel.body.push(Inst { code: Code::apply(op, self.dtype), args: all });
        ValueId(self.kernel.values() as u32 - 1)
    }
}

/// The coefficients of the polynomial.
const COEFFICIENTS: [f64; 11] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1];

/// Measures and prints a row of the table.
macro_rules! measure {
    ($t:ty, $name:literal, $n:expr, $from:expr, $to:expr, $c:expr, |$k:ident, $x:ident, $y:ident| $ours:expr, |$o:ident, $a:ident, $b:ident| $f:expr) => {{
        let (a, b) = numbers::<$t>($n, $from, $to);
        let mut body = KernelDraft::new(<$t as Elem>::DTYPE);
        let (root, ($x, $y)) = {
            let $k = &mut body;
            let ($x, $y) = (ValueId(0), ValueId(1));
            ($ours, ($x, $y))
        };
        let _ = ($x, $y);
        body.kernel.outputs = vec![root];
        let fused = |out: &mut [$t]| {
            #[inline(always)]
            fn each($o: &mut Lanes, $a: $t, $b: $t) -> $t {
                $f
            }
            let f = {
                #[inline(always)]
                |o: &mut Lanes, a: $t, b: $t| each(o, a, b)
            };
            Arch::new().dispatch(Loop(black_box(&a[..]), black_box(&b[..]), out, f))
        };
        let compiled = compile(&body.kernel)?;
        let c: Option<unsafe extern "C" fn(*const $t, *const $t, *mut $t, usize)> = match $c {
            Some(loops) => symbol(loops, concat!($name, "_", stringify!($t))),
            None => None,
        };
        let mut outs: Vec<Vec<$t>> = vec![vec![0 as $t; $n]; compiled.len() + 2];
        if fused(&mut outs[0]) {
            return Err(concat!($name, ": the numbers need the slow path").into());
        }
        let (by_hand, rest) = outs.split_at_mut(1);
        let (by_c, rest) = rest.split_at_mut(1);
        for (code, out) in compiled.iter().zip(rest.iter_mut()) {
            run(code, &a, &b, out, &body.params);
            if out.iter().zip(&by_hand[0]).any(|(x, y)| x.to_bits() != y.to_bits()) {
                return Err(
                    format!("{} {}: the bits differ at {}", $name, stringify!($t), code.width()).into()
                );
            }
        }
        let mut contenders: Vec<Contender<'_>> = Vec::new();
        contenders.push(Box::new(|calls| {
            for _ in 0..calls {
                black_box(fused(&mut by_hand[0]));
            }
        }));
        for (code, out) in compiled.iter().zip(rest.iter_mut()) {
            let (a, b, params) = (&a, &b, &body.params);
            contenders.push(Box::new(move |calls| {
                for _ in 0..calls {
                    run(code, black_box(a), black_box(b), out, params);
                }
            }));
        }
        if let Some(c) = c {
            let (a, b) = (&a, &b);
            contenders.push(Box::new(move |calls| {
                for _ in 0..calls {
                    // SAFETY: the C loop reads and writes `$n` elements, which is the length of all three slices.
                    unsafe { c(black_box(a.as_ptr()), black_box(b.as_ptr()), by_c[0].as_mut_ptr(), $n) };
                }
            }));
        }
        let times = in_turns(&mut contenders, Duration::from_millis(600));
        drop(contenders);
        let each: Vec<f64> = times.iter().map(|t| t / $n as f64).collect();
        print!("{:<8} {:<4} {:>7}", $name, stringify!($t), $n);
        let widest = each[compiled.len()];
        for time in &each[1..=compiled.len()] {
            print!(" {time:>8.4}");
        }
        print!(" {:>8.4} {:>7.2}", each[0], widest / each[0]);
        for time in &each[1..compiled.len()] {
            print!(" {:>7.2}", time / widest);
        }
        match each.get(compiled.len() + 1) {
            Some(c) => println!(" {c:>8.4} {:>7.2}", widest / c),
            None => println!(),
        }
    }};
}

fn run<T: Elem>(code: &Compiled, a: &[T], b: &[T], out: &mut [T], params: &[u64]) {
    // SAFETY: these are the bytes of `x`, which stays borrowed; a float has no padding.
    let bytes = |x: &[T]| unsafe { std::slice::from_raw_parts(x.as_ptr().cast::<u8>(), size_of_val(x)) };
    // SAFETY: these are the bytes of `out`, which is borrowed mutably; any bytes are a valid float.
    let to = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<u8>(), size_of_val(out)) };
    let done =
        code.run_slices(out.len(), [bytes(a), bytes(b)].into_iter(), [to].into_iter(), params, &mut []);
    assert!(done.is_ok(), "{done:?}");
}

/// C loops for the functions that gcc can vectorise.
const C: &str = r"
#include <math.h>
#include <stddef.h>
void sigmoid_f32(const float *a, const float *b, float *o, size_t n) { for (size_t i = 0; i < n; i++) o[i] = 1.0f / (expf(-a[i]) + 1.0f); }
void sigmoid_f64(const double *a, const double *b, double *o, size_t n) { for (size_t i = 0; i < n; i++) o[i] = 1.0 / (exp(-a[i]) + 1.0); }
void sincos_f32(const float *a, const float *b, float *o, size_t n) { for (size_t i = 0; i < n; i++) { float s = sinf(a[i]), c = cosf(b[i]); o[i] = s * s + c * c; } }
void sincos_f64(const double *a, const double *b, double *o, size_t n) { for (size_t i = 0; i < n; i++) { double s = sin(a[i]), c = cos(b[i]); o[i] = s * s + c * c; } }
";

/// The C loops compiled for this machine; `None` without a compiler.
fn loops_in_c() -> Option<libloading::Library> {
    compiled_c(C, &["-O3", "-march=native", "-ffast-math", "-mprefer-vector-width=512"])
}

/// Prints the time to compile chains of operations, in microseconds.
fn compile_times() -> Result<(), Box<dyn Error>> {
    println!("\ncompiling: ops, µs at each width, the widest against 128 bits");
    let compiler = Compiler::host()?;
    for ops in [5, 10, 20, 100, 500, 1000, 2000] {
        let mut body = KernelDraft::new(DType::Float32);
        let (mut x, mut earlier) = (ValueId(0), ValueId(1));
        for i in 0..ops {
            let op = [Op::Multiply, Op::Add, Op::Subtract, Op::Maximum][i % 4];
            let next = body.op(op, &[x, earlier]);
            (earlier, x) = (if i % 3 == 0 { x } else { ValueId(1) }, next);
        }
        body.kernel.outputs = vec![x];
        print!("{ops:>5}");
        let mut times = Vec::new();
        for width in VectorWidth::of_target() {
            let mut best = f64::INFINITY;
            for _ in 0..(20_000 / ops).clamp(10, 200) {
                let start = Instant::now();
                black_box(compiler.compile(&body.kernel, &[], &[Access::Contiguous; 2], width)?);
                best = best.min(start.elapsed().as_nanos() as f64);
            }
            print!(" {:>9.1}", best / 1e3);
            times.push(best);
        }
        println!(" {:>7.2}", times[times.len() - 1] / times[0]);
    }
    Ok(())
}

/// Prints the nanoseconds per element of integer and float16 kernels, at each vector width.
fn others() -> Result<(), Box<dyn Error>> {
    use DType::{Float16, Float32, Int32, UInt8, UInt16};
    let apply = |op, dtype| Code::apply(op, dtype);
    let division = [(apply(Op::FloorDivide, Int32), [0, 1, 0]), (apply(Op::Remainder, Int32), [0, 1, 0])];
    let triad = |d| [(apply(Op::Multiply, d), [0, 1, 0]), (apply(Op::Add, d), [3, 2, 0])];
    // (a·α + b·(255 − α)) // 255 in uint16.
    let wide = |x| (Code::Cast(UInt8, UInt16), [x, 0, 0]);
    let blend = [
        wide(0),
        wide(1),
        wide(2),
        (apply(Op::Multiply, UInt16), [4, 6, 0]),
        (apply(Op::Subtract, UInt16), [3, 6, 0]),
        (apply(Op::Multiply, UInt16), [5, 8, 0]),
        (apply(Op::Add, UInt16), [7, 9, 0]),
        (apply(Op::FloorDivide, UInt16), [10, 3, 0]),
        (Code::Cast(UInt16, UInt8), [11, 0, 0]),
    ];
    let table: [(&str, usize, Kernel, &[u64]); 4] = [
        ("int32 a // b and a % b", 1_000_000, kernel(&[Int32; 2], &[], &division, &[2, 3]), &[]),
        ("float32 a*b + c", 100_000, kernel(&[Float32; 3], &[], &triad(Float32), &[4]), &[]),
        ("float16 a*b + c", 100_000, kernel(&[Float16; 3], &[], &triad(Float16), &[4]), &[]),
        ("uint8 (a*w + b*(255 - w)) // 255", 100_000, kernel(&[UInt8; 3], &[UInt16], &blend, &[12]), &[255]),
    ];
    println!("\nns per element at each width");
    for (name, n, kernel, params) in table {
        let compiled = compile(&kernel)?;
        let inputs: Vec<Vec<u8>> = (1u8..)
            .zip(&kernel.inputs)
            // The inputs are small numbers of any dtype, so that no operation overflows and no divisor is 0.
            .map(|(i, d)| {
                let element = |k: usize| (u64::from(i) * 0x3c00 + 1 + (k as u64 * 7919) % 200).to_le_bytes();
                (0..n).flat_map(|k| element(k).into_iter().take(d.size())).collect()
            })
            .collect();
        let mut outs: Vec<Vec<Vec<u8>>> = compiled
            .iter()
            .map(|_| kernel.output_dtypes().map(|d| vec![0; n * d.size()]).collect())
            .collect();
        let mut contenders: Vec<Contender<'_>> = Vec::new();
        for (code, outs) in compiled.iter().zip(&mut outs) {
            let inputs = &inputs;
            contenders.push(Box::new(move |calls| {
                for _ in 0..calls {
                    let from = inputs.iter().map(|x| black_box(&x[..]));
                    let done = code.run_slices(n, from, outs.iter_mut().map(|x| &mut x[..]), params, &mut []);
                    assert!(done.is_ok(), "{done:?}");
                }
            }));
        }
        let times = in_turns(&mut contenders, Duration::from_millis(600));
        drop(contenders);
        if outs.iter().any(|o| *o != outs[0]) {
            return Err(format!("{name}: the bits differ").into());
        }
        print!("{name:<34} {n:>8}");
        times.iter().for_each(|t| print!(" {:>8.4}", t / n as f64));
        println!();
    }
    Ok(())
}

/// Measures a workload at two sizes for two dtypes, if the command line selects it.
macro_rules! sizes {
    ($name:literal, $asked:ident, $from:expr, $to:expr, $c:expr, $($body:tt)*) => {
        if $asked($name) {
            measure!(f32, $name, 1_000, $from, $to, $c, $($body)*);
            measure!(f32, $name, 100_000, $from, $to, $c, $($body)*);
            measure!(f64, $name, 1_000, $from, $to, $c, $($body)*);
            measure!(f64, $name, 100_000, $from, $to, $c, $($body)*);
        }
    };
}

/// Stands for the C library in rows that have no C loop.
const NO_C: Option<&libloading::Library> = None;

/// Rows of additions and multiplications.
fn arithmetic(asked: &dyn Fn(&str) -> bool) -> Result<(), Box<dyn Error>> {
    sizes!(
        "triad",
        asked,
        -1.0,
        1.0,
        NO_C,
        |k, x, y| {
            let c = k.scalar(1.5);
            let product = k.op(Op::Multiply, &[y, c]);
            k.op(Op::Add, &[x, product])
        },
        |o, a, b| {
            let c = o.splat(1.5);
            let product = Multiply::call(o, b, c);
            Add::call(o, a, product)
        }
    );
    sizes!(
        "iter10",
        asked,
        -0.5,
        0.5,
        NO_C,
        |k, x, y| {
            let mut z = x;
            for _ in 0..10 {
                let square = k.op(Op::Multiply, &[z, z]);
                z = k.op(Op::Add, &[square, y]);
            }
            z
        },
        |o, a, b| {
            let mut z = a;
            for _ in 0..10 {
                let square = Multiply::call(o, z, z);
                z = Add::call(o, square, b);
            }
            z
        }
    );
    sizes!(
        "poly10",
        asked,
        -1.0,
        1.0,
        NO_C,
        |k, x, _y| {
            let c = COEFFICIENTS.map(|c| k.scalar(c));
            c[1..].iter().fold(c[0], |p, &c| {
                let product = k.op(Op::Multiply, &[p, x]);
                k.op(Op::Add, &[product, c])
            })
        },
        |o, a, _b| {
            let mut p = of(COEFFICIENTS[0]);
            for c in &COEFFICIENTS[1..] {
                let product = Multiply::call(o, p, a);
                p = Add::call(o, product, of(*c));
            }
            p
        }
    );
    Ok(())
}

/// Rows of one function each.
fn functions(asked: &dyn Fn(&str) -> bool) -> Result<(), Box<dyn Error>> {
    sizes!("exp", asked, -20.0, 20.0, NO_C, |k, x, _y| k.op(Op::Exp, &[x]), |o, a, _b| Exp::call(o, a));
    sizes!("log", asked, 0.001, 1000.0, NO_C, |k, x, _y| k.op(Op::Log, &[x]), |o, a, _b| Log::call(o, a));
    sizes!("sin", asked, -50.0, 50.0, NO_C, |k, x, _y| k.op(Op::Sin, &[x]), |o, a, _b| Sin::call(o, a));
    sizes!("pow", asked, 0.5, 4.0, NO_C, |k, x, y| k.op(Op::Pow, &[x, y]), |o, a, b| Pow::call(o, a, b));
    Ok(())
}

/// Rows of expressions with functions, which are also compared with C.
fn expressions(asked: &dyn Fn(&str) -> bool) -> Result<(), Box<dyn Error>> {
    let c = loops_in_c();
    sizes!(
        "sigmoid",
        asked,
        -20.0,
        20.0,
        c.as_ref(),
        |k, x, _y| {
            let one = k.scalar(1.0);
            let minus = k.op(Op::Negative, &[x]);
            let e = k.op(Op::Exp, &[minus]);
            let sum = k.op(Op::Add, &[e, one]);
            k.op(Op::Divide, &[one, sum])
        },
        |o, a, _b| {
            let minus = o.neg(a);
            let e = Exp::call(o, minus);
            let one = o.splat(1.0);
            let sum = Add::call(o, e, one);
            Divide::call(o, one, sum)
        }
    );
    sizes!(
        "sincos",
        asked,
        -50.0,
        50.0,
        c.as_ref(),
        |k, x, y| {
            let s = k.op(Op::Sin, &[x]);
            let c = k.op(Op::Cos, &[y]);
            let s = k.op(Op::Square, &[s]);
            let c = k.op(Op::Square, &[c]);
            k.op(Op::Add, &[s, c])
        },
        |o, a, b| {
            let s = Sin::call(o, a);
            let c = Cos::call(o, b);
            let s = Square::call(o, s);
            let c = Square::call(o, c);
            Add::call(o, s, c)
        }
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let asked = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    println!(
        "ns per element; widths {:?}; fused by rustc; ratios",
        VectorWidth::of_target().map(|w| w.bits()).collect::<Vec<_>>()
    );
    arithmetic(&asked)?;
    functions(&asked)?;
    expressions(&asked)?;
    if asked("others") {
        others()?;
    }
    if asked("integers") {
        let target = |flags: &[&str]| compiled_c(integers::C, flags);
        let loops = [target(&["-O3", "-march=native"]), target(&["-O3", "-march=x86-64-v3"])];
        integers::print(&loops.into_iter().flatten().collect::<Vec<_>>())?;
    }
    if asked("compile") {
        compile_times()?;
    }
    Ok(())
}

fn of<T: Float>(x: f64) -> T {
    T::from_f64(x)
}
