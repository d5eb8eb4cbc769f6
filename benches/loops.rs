//! Measures loops of elements: the Mandelbrot set, square roots by Newton's method, and a sum of a hundred
//! terms, each by machine code of every vector width and by a plain loop over numbers.
//!
//! `cargo bench -p broadloom --bench loops`

use broadloom::{
    Array, DType, Evaluation, Executor, Options, Result, VectorWidth, fori_loop, while_loop,
    while_loop_counts,
};
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};

/// The rows and columns of the picture, and the maximum number of iterations of a point.
const SIDE: usize = 1024;
const ITERATIONS: u64 = 1000;

/// The number of roots and of sums.
const ELEMENTS: usize = 1_000_000;

/// Measures an array of each vector width.
fn compiled(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, array: &Array<'_>) {
    for width in VectorWidth::of_target() {
        let options = Options {
            executor: Executor::Jit,
            vector_width: Some(width),
            threads: Some(1),
            ..Options::default()
        };
        group.bench_function(format!("{name}, {width} bits"), |b| {
            b.iter(|| Evaluation::with(&options).eval_many(&[array]).map(|arrays| arrays.len()));
        });
    }
}

/// The coordinates of the picture: from −2 to 0.5, and from −1.25 to 1.25.
fn along(from: f64) -> Vec<f64> {
    (0..SIDE).map(|i| from + 2.5 * i as f64 / SIDE as f64).collect()
}

/// The number of iterations of each point.
fn mandelbrot(dtype: DType) -> Result<Array<'static>> {
    let cx = Array::from_vec(along(-2.0)).astype(dtype).eval()?;
    let cy = Array::from_shape_vec(&[SIDE, 1], along(-1.25))?.astype(dtype).eval()?;
    let (_, counts) = while_loop_counts(
        |[x, y]| (x * x + y * y).less_equal(4),
        |[x, y]| [x * x - y * y + &cx, 2 * x * y + &cy],
        [Array::scalar(0.0), Array::scalar(0.0)],
        ITERATIONS,
    )?;
    Ok(counts)
}

fn escape(cx: f64, cy: f64) -> i64 {
    let (mut x, mut y, mut n) = (0.0, 0.0, 0);
    while n < ITERATIONS as i64 && x * x + y * y <= 4.0 {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        n += 1;
    }
    n
}

fn root(a: f64) -> f64 {
    let mut x = a;
    while (x * x - a).abs() > a * 1e-14 {
        x = (x + a / x) * 0.5;
    }
    x
}

fn loops(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("loops of elements");
    group.sample_size(10);
    for dtype in [DType::Float32, DType::Float64] {
        if let Ok(counts) = mandelbrot(dtype) {
            compiled(&mut group, &format!("Mandelbrot set, {dtype}"), &counts);
        }
    }
    let (xs, ys) = (along(-2.0), along(-1.25));
    group.bench_function("Mandelbrot set, float64, plain loop", |b| {
        b.iter(|| -> Vec<i64> { ys.iter().flat_map(|&y| xs.iter().map(move |&x| escape(x, y))).collect() });
    });
    let numbers: Vec<f64> = (1..=ELEMENTS).map(|i| i as f64).collect();
    let a = Array::from_vec(numbers.clone());
    let roots = while_loop(
        |[x]| (x * x - &a).abs().greater(&a * 1e-14),
        |[x]| [(x + &a / x) * 0.5],
        [a.clone()],
        None,
    );
    if let Ok([roots]) = roots {
        compiled(&mut group, "square roots, float64", &roots);
    }
    group.bench_function("square roots, float64, plain loop", |b| {
        b.iter(|| -> Vec<f64> { numbers.iter().map(|&a| root(a)).collect() });
    });
    if let Ok([sums]) = fori_loop(0, 100, |_, [sum]| [sum + &a], [Array::scalar(0.0)]) {
        compiled(&mut group, "100 additions, float64", &sums);
    }
    group.finish();
}

criterion_group!(benches, loops);
criterion_main!(benches);
