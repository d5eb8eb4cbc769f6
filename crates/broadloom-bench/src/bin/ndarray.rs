//! Compares `ndarray`'s idioms (chains of operators, `mapv`, and `Zip` into existing memory) with the same expressions in
//! broadloom.
//!
//! The output is a Markdown table of nanoseconds per element. Results are compared first; those of approximate functions may
//! differ by 4 ulp. The contenders of a row alternate, on one thread.
//!
//! `cargo run --release -p broadloom-bench --features ndarray --bin ndarray`
#![forbid(unsafe_code)]

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use broadloom::functions::where_;
use broadloom::{Array, AssignLazy, DType, Kernel, Lazy, Options};
use broadloom_bench::clock::{Contender, in_turns};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Slice, Zip};

/// Selects the operands of an expression from two square arrays.
type SelectOperands = for<'a> fn(&'a Array2<f64>, &'a Array2<f64>) -> [ArrayView2<'a, f64>; 2];

/// An expression, written in each of the compared ways.
struct Idioms {
    name: &'static str,
    operands: SelectOperands,
    /// Computes into a new array, with operators or `mapv`.
    operators: fn(ArrayView2<'_, f64>, ArrayView2<'_, f64>) -> Array2<f64>,
    /// Computes into existing memory, with `Zip`.
    zip: fn(ArrayView2<'_, f64>, ArrayView2<'_, f64>, ArrayViewMut2<'_, f64>),
    lazy: for<'a> fn(&Array<'a>, &Array<'a>) -> Array<'a>,
}

const ROWS: &[Idioms] = &[
    Idioms {
        name: "`a * 2 + b`",
        operands: |a, b| [a.view(), b.view()],
        operators: |a, b| &a * 2.0 + b,
        zip: |a, b, out| Zip::from(out).and(a).and(b).for_each(|o, &a, &b| *o = a * 2.0 + b),
        lazy: |a, b| a * 2 + b,
    },
    Idioms {
        name: "`(a - b) / (a + b)`",
        operands: |a, b| [a.view(), b.view()],
        operators: |a, b| (&a - &b) / (&a + &b),
        zip: |a, b, out| Zip::from(out).and(a).and(b).for_each(|o, &a, &b| *o = (a - b) / (a + b)),
        lazy: |a, b| (a - b) / (a + b),
    },
    Idioms {
        name: "`sqrt(a * a + b * b)`, where it is below 1, else 0",
        operands: |a, b| [a.view(), b.view()],
        operators: |a, b| (&a * &a + &b * &b).mapv(f64::sqrt).mapv(|x| if x < 1.0 { x } else { 0.0 }),
        zip: |a, b, out| {
            Zip::from(out).and(a).and(b).for_each(|o, &a, &b| {
                let x = (a * a + b * b).sqrt();
                *o = if x < 1.0 { x } else { 0.0 };
            })
        },
        lazy: |a, b| {
            let x = (a * a + b * b).sqrt();
            where_(x.less(1), &x, 0)
        },
    },
    Idioms {
        name: "`exp(-a) * sin(b)`",
        operands: |a, b| [a.view(), b.view()],
        operators: |a, b| (-&a).mapv(f64::exp) * b.mapv(f64::sin),
        zip: |a, b, out| Zip::from(out).and(a).and(b).for_each(|o, &a, &b| *o = (-a).exp() * b.sin()),
        lazy: |a, b| (-a).exp() * b.sin(),
    },
    Idioms {
        name: "`a + b.t()`",
        operands: |a, b| [a.view(), b.t()],
        operators: |a, b| &a + &b,
        zip: |a, b, out| Zip::from(out).and(a).and(b).for_each(|o, &a, &b| *o = a + b),
        lazy: |a, b| a + b,
    },
    Idioms {
        name: "`a * b` of every second column",
        operands: |a, b| [(a, 0), (b, 1)].map(|(x, first)| x.slice_axis(Axis(1), Slice::new(first, None, 2))),
        operators: |a, b| &a * &b,
        zip: |a, b, out| Zip::from(out).and(a).and(b).for_each(|o, &a, &b| *o = a * b),
        lazy: |a, b| a * b,
    },
];

/// A square array of distinct numbers from 0.1 to 1.1.
fn numbers(side: usize, seed: u64) -> Array2<f64> {
    let mut state = seed;
    Array2::from_shape_simple_fn((side, side), || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        0.1 + (state >> 11) as f64 / (1u64 << 53) as f64
    })
}

fn agree(ours: &Array2<f64>, theirs: &Array2<f64>) -> bool {
    ours.dim() == theirs.dim() && ours.iter().zip(theirs).all(|(x, y)| x.to_bits().abs_diff(y.to_bits()) <= 4)
}

fn measure(row: &Idioms, side: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    let (x, y) = (numbers(side, 7), numbers(side, 11));
    let [a, b] = (row.operands)(&x, &y);
    let options = Options::default();
    let dims = [a.nrows().into(), a.ncols().into()];
    let (p, q) = (Array::input("a", DType::Float64, &dims)?, Array::input("b", DType::Float64, &dims)?);
    let kernel = Kernel::new(&[&(row.lazy)(&p, &q)], &[&p, &q], &options)?;

    let theirs = (row.operators)(a, b);
    let mut out = Array2::<f64>::zeros(a.raw_dim());
    (row.zip)(a, b, out.view_mut());
    let zip_agrees = agree(&out, &theirs);
    out.assign_lazy_with(&(row.lazy)(&a.lazy(), &b.lazy()), &options)?;
    let lazy_agrees = agree(&out, &theirs);
    kernel.run(&[(&a).into(), (&b).into()], [out.view_mut().into()])?;
    if !(zip_agrees && lazy_agrees && agree(&out, &theirs)) {
        return Err(format!("{}: the results differ", row.name).into());
    }

    let (mut zipped, mut assigned, mut run) = (out.clone(), out.clone(), out);
    let mut contenders: [Contender<'_>; 5] = [
        Box::new(|calls| (0..calls).for_each(|_| drop(black_box((row.operators)(black_box(a), b))))),
        Box::new(|calls| {
            for _ in 0..calls {
                // Computes directly into the memory of the new array, like `operators`.
                let made: broadloom::Result<Array2<f64>> =
                    (row.lazy)(&black_box(a).lazy(), &b.lazy()).try_into();
                black_box(made.is_ok());
            }
        }),
        Box::new(|calls| (0..calls).for_each(|_| (row.zip)(black_box(a), b, zipped.view_mut()))),
        Box::new(|calls| {
            for _ in 0..calls {
                let lazy = (row.lazy)(&black_box(a).lazy(), &b.lazy());
                assert!(assigned.assign_lazy_with(&lazy, &options).is_ok(), "it worked before");
            }
        }),
        Box::new(|calls| {
            for _ in 0..calls {
                let done = kernel.run(&[(&black_box(a)).into(), (&b).into()], [run.view_mut().into()]);
                assert!(done.is_ok(), "it worked before");
            }
        }),
    ];
    let times = in_turns(&mut contenders, Duration::from_millis(1500));
    Ok(times.into_iter().map(|t| t / a.len() as f64).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    println!(
        "| expression, float64 | elements | `ndarray` | `try_into` | `Zip` | `assign_lazy` | `Kernel` |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for row in ROWS {
        // Each side length is for about 1e3, 1e5 or 1e7 elements. Expressions that use only half of the elements get arrays with
        // twice as many.
        for (elements, side) in [("1e3", 32), ("1e5", 316), ("1e7", 3162)] {
            let times = measure(row, side)?;
            let cells: Vec<String> = times.iter().map(|t| format!("{t:.2}")).collect();
            println!("| {} | {elements} | {} |", row.name, cells.join(" | "));
        }
    }
    Ok(())
}
