//! Compares short calls: calls of a prepared kernel on a few elements, and calls of a plain loop through a function pointer.
//!
//! For each vector width of the target and each number of inputs, prints the minimum time of a call in nanoseconds, for several
//! numbers of elements. The kernels of all widths alternate with the loop, so that a slow phase of the machine affects all of
//! them. Arguments select vector widths (`256`) and numbers of elements (`n=1`).
//!
//! `cargo run --release -p broadloom-bench --bin calls`
#![forbid(unsafe_code)]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use broadloom::{Array, DType, Executor, In, Kernel, Options, VectorWidth};

const ELEMENTS: [usize; 12] = [1, 2, 3, 7, 8, 10, 16, 31, 33, 64, 100, 1000];
/// The number of calls per measurement.
const BATCH: usize = 200;
const ROUNDS: usize = 400;

/// A plain loop that reads the inputs and writes the output.
type PlainLoop = fn(&[Vec<f32>], &mut [f32]);

fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let widths: Vec<VectorWidth> = VectorWidth::of_target()
        .filter(|width| asked.iter().all(|a| a.starts_with("n=")) || asked.iter().any(|a| a == width.name()))
        .collect();
    let elements = ELEMENTS.into_iter().filter(|n| {
        asked.iter().all(|a| !a.starts_with("n=")) || asked.iter().any(|a| *a == format!("n={n}"))
    });
    println!("nanoseconds of a call, float32:");
    print!("{:>8} {:>6} {:>9}", "inputs", "n", "loop");
    widths.iter().for_each(|width| print!(" {:>9}", width.name()));
    println!();
    let loops: [(usize, PlainLoop); 4] = [(1, one), (2, two), (3, three), (6, six)];
    for n in elements {
        for (inputs, plain) in loops {
            row(inputs, n, plain, &widths)?;
        }
    }
    Ok(())
}

fn row(inputs: usize, n: usize, plain: PlainLoop, widths: &[VectorWidth]) -> Result<(), Box<dyn Error>> {
    let data: Vec<Vec<f32>> =
        (0..inputs).map(|i| (0..n).map(|k| (i * n + k) as f32 / 8.0).collect()).collect();
    let mut out = vec![0f32; n];
    let kernels = widths.iter().map(|&width| kernel(inputs, n, width)).collect::<Result<Vec<_>, _>>()?;
    plain(&data, &mut out);
    let expected = out.clone();
    for kernel in &kernels {
        out.fill(-1.0);
        call(kernel, &data, &mut out)?;
        if out != expected {
            return Err("a kernel and the loop differ".into());
        }
    }
    let plain: PlainLoop = black_box(plain);
    let mut least = vec![f64::INFINITY; 1 + kernels.len()];
    for _ in 0..ROUNDS {
        least[0] = least[0].min(batch(|| plain(black_box(&data), black_box(&mut out))));
        for (kernel, least) in kernels.iter().zip(&mut least[1..]) {
            *least =
                least.min(batch(|| call(kernel, black_box(&data), black_box(&mut out)).expect("ran before")));
        }
    }
    print!("{inputs:>8} {n:>6}");
    least.iter().for_each(|ns| print!(" {ns:>9.1}"));
    println!();
    Ok(())
}

/// The mean time of a call in a batch, in nanoseconds.
fn batch(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..BATCH).for_each(|_| run());
    start.elapsed().as_nanos() as f64 / BATCH as f64
}

fn kernel(inputs: usize, n: usize, width: VectorWidth) -> Result<Kernel, Box<dyn Error>> {
    let options = Options {
        executor: Executor::Jit,
        vector_width: Some(width),
        threads: Some(1),
        ..Options::default()
    };
    let names = ["a", "b", "c", "d", "e", "f"];
    let inputs = names[..inputs].iter().map(|name| Array::input(name, DType::Float32, &[n.into()]));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let first = if inputs.len() == 1 { &inputs[0] * 2.0 } else { inputs[0].clone() };
    let sum = inputs[1..].iter().fold(first, |sum, x| sum + x);
    let kernel = Kernel::new(&[&sum], &inputs.iter().collect::<Vec<_>>(), &options)?;
    Ok(kernel)
}

#[inline]
fn call(kernel: &Kernel, data: &[Vec<f32>], out: &mut [f32]) -> Result<(), broadloom::Error> {
    match data {
        [a] => kernel.run(&[a.into()], [out.into()]),
        [a, b] => kernel.run(&[a.into(), b.into()], [out.into()]),
        [a, b, c] => kernel.run(&[a.into(), b.into(), c.into()], [out.into()]),
        more => kernel.run(&more.iter().map(In::from).collect::<Vec<_>>(), [out.into()]),
    }
}

fn one(x: &[Vec<f32>], out: &mut [f32]) {
    out.iter_mut().zip(&x[0]).for_each(|(out, a)| *out = a * 2.0);
}

fn two(x: &[Vec<f32>], out: &mut [f32]) {
    out.iter_mut().zip(&x[0]).zip(&x[1]).for_each(|((out, a), b)| *out = a + b);
}

fn three(x: &[Vec<f32>], out: &mut [f32]) {
    out.iter_mut().zip(&x[0]).zip(&x[1]).zip(&x[2]).for_each(|(((out, a), b), c)| *out = a + b + c);
}

fn six(x: &[Vec<f32>], out: &mut [f32]) {
    let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|i| &x[i][..out.len()]);
    for (i, out) in out.iter_mut().enumerate() {
        *out = a[i] + b[i] + c[i] + d[i] + e[i] + f[i];
    }
}
