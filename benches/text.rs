//! Measures the time from a text to typed arrays, for a formula of ten operators: the time to parse it, and
//! the time to parse it and infer its types.
//!
//! `cargo bench -p broadloom --bench text`

use std::hint::black_box;

use broadloom::text::{Library, ParseOptions, Program, expression, print};
use broadloom::{Array, Error};
use criterion::{Criterion, criterion_group, criterion_main};

/// Ten operators, four names, four literals.
const FORMULA: &str = "(a - b) / (a + b) * 2.5 + c * c - 0.5 * d / (1 + a)";

/// The formula as a program: declared inputs, a user-defined function, a binding.
const PROGRAM: &str = "a: float32[n]; b: float32[n]; c: float32[n]; d: float32
def index(p, q) = (p - q) / (p + q)
t = index(a, b) * 2.5
return y = t + c * c - 0.5 * d / (1 + a)";

fn text(criterion: &mut Criterion) {
    let array = || Array::from_vec(vec![1.0_f32, 2.0, 3.0]);
    let names = [("a", array()), ("b", array()), ("c", array()), ("d", array())];
    let mut group = criterion.benchmark_group("text of ten operators");
    group.bench_function("parse", |b| b.iter(|| Program::parse(black_box(FORMULA))));
    group.bench_function("parse and infer", |b| b.iter(|| expression(black_box(FORMULA), &names)));
    let built = |text: &str| Ok::<_, Error>(Program::parse(text)?.build(&[])?.len());
    group.bench_function("parse and infer, a program", |b| b.iter(|| built(black_box(PROGRAM))));
    let library = Library::new(&[], "def index(p, q) = (p - q) / (p + q)");
    let formula = "index(a, b) * 2.5 + c * c - 0.5 * d / (1 + a)";
    group.bench_function("parse and infer, with a library", |b| {
        b.iter(|| {
            let library = library.as_ref().map_err(Error::clone)?;
            let program = Program::parse_with(black_box(formula), library, &ParseOptions::default())?;
            Ok::<_, Error>(program.build(&names)?.len())
        });
    });
    if let Ok(y) = expression(FORMULA, &names) {
        group.bench_function("print", |b| b.iter(|| print(&[("y", black_box(&y))])));
    }
    group.finish();
}

criterion_group!(benches, text);
criterion_main!(benches);
