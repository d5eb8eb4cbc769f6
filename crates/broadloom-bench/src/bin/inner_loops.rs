//! Compares the loops of generated machine code with the loops that gcc compiles from the same expression at the same vector
//! width. The sizes fit the first-level, second-level and last-level cache, so that memory bandwidth doesn't dominate.
//!
//! The two contenders use strict IEEE arithmetic and must compute the same bits. Their measurements alternate on the same
//! memory, and the minimum time of each is reported. A loop's name as argument selects one row; `assembly` prints the machine
//! code.
//!
//! `cargo run --release -p broadloom-bench --features wide --bin inner_loops`

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use broadloom_bench::Placed;
use broadloom_clif::{Compiled, Compiler, VectorWidth};
use broadloom_core::kernel::{Code, Inst, ValueId};
use broadloom_core::{DType, Kernel, Op};
use broadloom_mem::{Access, Stores};

/// The numbers of elements of each operand.
const SIZES: [usize; 3] = [1_000, 20_000, 500_000];
/// The number of rounds. In each round, every contender runs for about [`ROUND_NANOSECONDS`].
const ROUNDS: usize = 60;
const ROUND_NANOSECONDS: f64 = 150_000.0;

/// A compiled C loop with three inputs and one output.
type InC = unsafe extern "C" fn(*const u8, *const u8, *const u8, *mut u8, usize);

/// An expression on up to three inputs: its operations, and its C source.
struct TimedExpression {
    name: &'static str,
    inputs: usize,
    body: &'static [(Op, [u32; 2])],
    c: &'static str,
}

const EXPRESSIONS: [TimedExpression; 3] = [
    TimedExpression { name: "add", inputs: 2, body: &[(Op::Add, [0, 1])], c: "a[i] + b[i]" },
    TimedExpression {
        name: "triad",
        inputs: 3,
        body: &[(Op::Multiply, [0, 1]), (Op::Add, [3, 2])],
        c: "a[i] * b[i] + c[i]",
    },
    TimedExpression {
        name: "horner",
        inputs: 2,
        body: &[
            (Op::Multiply, [0, 0]),
            (Op::Add, [2, 1]),
            (Op::Multiply, [3, 0]),
            (Op::Add, [4, 1]),
            (Op::Multiply, [5, 0]),
            (Op::Add, [6, 1]),
        ],
        c: "((a[i] * a[i] + b[i]) * a[i] + b[i]) * a[i] + b[i]",
    },
];

const TYPES: [(DType, &str); 2] = [(DType::Float32, "float"), (DType::Float64, "double")];

impl TimedExpression {
    fn kernel(&self, dtype: DType) -> Kernel {
        let inst = |&(op, [x, y]): &(Op, [u32; 2])| Inst {
            code: Code::apply(op, dtype),
            args: [x, y, 0].map(ValueId),
        };
        Kernel {
            inputs: vec![dtype; self.inputs],
            body: self.body.iter().map(inst).collect(),
            outputs: vec![ValueId((self.inputs + self.body.len() - 1) as u32).into()],
            ..Kernel::default()
        }
    }

    /// The loop's C source, and the name of its function.
    fn text(&self, ty: &str) -> (String, String) {
        let name = format!("{}_{ty}", self.name);
        let parameters = format!(
            "const {ty} *restrict a, const {ty} *restrict b, const {ty} *restrict c, {ty} *restrict o, size_t n"
        );
        (format!("void {name}({parameters}) {{ for (size_t i = 0; i < n; i++) o[i] = {}; }}\n", self.c), name)
    }
}

/// All loops, compiled by gcc for this vector width.
fn by_gcc(width: VectorWidth) -> Result<libloading::Library, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (source, library) = (folder.path().join("loops.c"), folder.path().join("loops.so"));
    let mut text = String::from("#include <stddef.h>\n");
    for expression in &EXPRESSIONS {
        TYPES.iter().for_each(|(_, ty)| text.push_str(&expression.text(ty).0));
    }
    std::fs::write(&source, text)?;
    let built = std::process::Command::new("gcc")
        .args(["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"])
        .arg(format!("-mprefer-vector-width={}", width.bits()))
        .arg("-o")
        .args([&library, &source])
        .status()?;
    if !built.success() {
        return Err("gcc failed".into());
    }
    // SAFETY: the library was just compiled from `text`, which has no initialisers.
    Ok(unsafe { libloading::Library::new(&library)? })
}

/// The minimum time of a call for each contender, in nanoseconds, over rounds in which the contenders alternate.
fn least(contenders: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut calls = Vec::new();
    for run in contenders.iter_mut() {
        run();
        let start = Instant::now();
        (0..20).for_each(|_| run());
        calls.push((ROUND_NANOSECONDS * 20.0 / start.elapsed().as_nanos() as f64) as usize + 1);
    }
    let mut best = vec![f64::INFINITY; contenders.len()];
    for _ in 0..ROUNDS {
        for ((run, &calls), best) in contenders.iter_mut().zip(&calls).zip(&mut best) {
            // This call reloads the memory that the other contender has evicted from the cache.
            run();
            let start = Instant::now();
            (0..calls).for_each(|_| run());
            *best = best.min(start.elapsed().as_nanos() as f64 / calls as f64);
        }
    }
    best
}

fn measure<T: broadloom_math::Float + Default>(
    code: &Compiled,
    inputs: usize,
    in_c: InC,
    n: usize,
) -> Result<[f64; 2], Box<dyn Error>> {
    let columns: Vec<Placed<T>> = (0..3)
        .map(|place| {
            let mut column = Placed::<T>::new(n, place);
            let value = |i: usize| T::from_f64(((i * 7919 + place * 31) % 1000) as f64 / 1000.0);
            column.get_mut().iter_mut().enumerate().for_each(|(i, x)| *x = value(i));
            column
        })
        .collect();
    // Both contenders write to the same memory.
    let mut out = Placed::<T>::new(n, 3);
    let run_code = |out: &mut [T]| {
        let from = columns.iter().take(inputs).map(|column| floats(black_box(column.get())));
        let from: smallvec::SmallVec<[&[u8]; 3]> = from.collect();
        let done = code.run_slices(n, from.into_iter(), [floats_mut(out)].into_iter(), &[], &mut []);
        assert!(done.is_ok(), "{done:?}");
    };
    let run_c = |out: &mut [T]| {
        let [a, b, c] = [0, 1, 2].map(|i| black_box(columns[i].get()).as_ptr().cast::<u8>());
        // SAFETY: the loop reads and writes `n` elements of the type, and all four slices have that length.
        unsafe { in_c(a, b, c, out.as_mut_ptr().cast(), n) };
    };
    run_code(out.get_mut());
    let ours: Vec<T> = out.get().to_vec();
    run_c(out.get_mut());
    if floats(&ours) != floats(out.get()) {
        return Err("the bits differ".into());
    }
    let out = std::cell::RefCell::new(out);
    let times = least(&mut [&mut || run_code(out.borrow_mut().get_mut()), &mut || {
        run_c(out.borrow_mut().get_mut());
    }]);
    Ok([times[0], times[1]])
}

fn floats<T: broadloom_math::Float>(x: &[T]) -> &[u8] {
    // SAFETY: these are the bytes of `x`, which stays borrowed; a float has no padding.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), size_of_val(x)) }
}

fn floats_mut<T: broadloom_math::Float>(x: &mut [T]) -> &mut [u8] {
    // SAFETY: these are the bytes of `x`, which is borrowed mutably; any bytes are a valid float.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), size_of_val(x)) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "assembly").collect();
    let shows = std::env::args().any(|arg| arg == "assembly");
    let compiler = Compiler::host()?;
    println!(
        "{:<8} {:<8} {:>5} {:>8} {:>9} {:>9} {:>7}",
        "loop", "dtype", "bits", "n", "ours, ns", "gcc, ns", "ratio"
    );
    for width in VectorWidth::of_target().filter(|width| *width > VectorWidth::W128) {
        let library = by_gcc(width)?;
        for expression in &EXPRESSIONS {
            if !wanted.is_empty() && !wanted.iter().any(|name| name == expression.name) {
                continue;
            }
            for (dtype, ty) in TYPES {
                let kernel = expression.kernel(dtype);
                let access = vec![Access::Contiguous; expression.inputs];
                let code = compiler.compile(&kernel, &[], &access, width)?;
                if shows {
                    println!("{}", compiler.listing(&kernel, &access, width, Purpose::Store)?.assembly);
                }
                let name = expression.text(ty).1;
                // SAFETY: `by_gcc` compiled a function with this name and these parameters from `text`.
                let in_c = unsafe { *library.get::<InC>(name.as_bytes())? };
                for n in SIZES {
                    let [ours, gcc] = match dtype {
                        DType::Float32 => measure::<f32>(&code, expression.inputs, in_c, n)?,
                        _ => measure::<f64>(&code, expression.inputs, in_c, n)?,
                    };
                    println!(
                        "{:<8} {:<8} {:>5} {:>8} {:>9.1} {:>9.1} {:>7.3}",
                        expression.name,
                        dtype.name(),
                        width.bits(),
                        n,
                        ours,
                        gcc,
                        ours / gcc
                    );
                }
            }
        }
    }
    Ok(())
}
