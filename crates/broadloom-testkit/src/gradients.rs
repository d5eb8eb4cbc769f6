//! Differentiates random programs, and compares the derivatives with dual numbers.
//!
//! The graph of a derivative is evaluated over real numbers of 80 digits, in which nothing is rounded that matters: in reverse mode its
//! product with a direction, and in forward mode each tangent, agree to 50 digits with those of a reference that shares no code. The
//! same graph, as a program of its own, has the reference's bits on every executor, at every width and for any number of threads.

mod dual;
mod program;
mod real;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use broadloom::gradients::{jvp, variable, vjp, vmap};
use broadloom::{Array, Evaluation, Executor, Options, VectorWidth};
use broadloom_core::DType;

use crate::differential::{self, Difference, arrays_over, program_of};
use crate::elements;
use crate::random::{Program, Rng, Step, Tensor, Type};
use dual::Duals;
pub use program::program_with_gradients;
use real::Real;

/// Derivatives agree to this many digits of the sum of the magnitudes that are added.
const DIGITS: i32 = 50;

/// Random multiples of 1/8 other than 0, for an array of a program with a seed.
fn direction(seed: u64, array: usize, count: usize) -> Vec<f64> {
    let mut rng = Rng::new(seed ^ (array as u64 + 1) << 32);
    let eighths =
        (0..count).map(|_| (1.0 + rng.below(12) as f64) / 8.0 * if rng.chance(1, 2) { -1.0 } else { 1.0 });
    eighths.collect()
}

/// The tangents of an input.
fn tangents_of(program: &Program, input: usize, seed: u64) -> Vec<Real> {
    let Step::Input(x) = &program.steps[input] else { return Vec::new() };
    direction(seed, input, x.bits.len()).into_iter().map(Real::of).collect()
}

/// The elements of all steps and their tangents, by the reference.
fn duals(program: &Program, seed: u64) -> Result<Vec<Duals>, String> {
    let types = program.types();
    let mut duals = Vec::new();
    for number in 0..program.steps.len() {
        duals.push(dual::of_step(program, number, &duals, &types, &|input| {
            tangents_of(program, input, seed)
        })?);
    }
    Ok(duals)
}

/// Whether the roots are floats that depend on inputs, with defined tangents of moderate size.
fn program_is_fine(program: &Program, seed: u64) -> bool {
    let types = program.types();
    types.len() == program.steps.len()
        && duals(program, seed).is_ok_and(|duals| {
            let is_fine = |&root: &usize| types[root].dtype == DType::Float64 && duals[root].is_moderate();
            !program.roots.is_empty() && program.roots.iter().all(|root| is_fine(root) && duals[*root].varies)
        })
}

/// The derivatives of a program as arrays.
struct Derivatives {
    /// The steps that are inputs.
    inputs: Vec<usize>,
    /// The adjoint of each input, from random adjoints of the roots.
    adjoints: Vec<Array<'static>>,
    /// The tangent of each root, from random tangents of the inputs.
    tangents: Vec<Array<'static>>,
}

/// The adjoint that a root is given.
fn adjoint_of(seed: u64, root: usize, count: usize) -> Vec<f64> {
    direction(!seed, root, count)
}

fn derivatives(program: &Program, seed: u64) -> broadloom::Result<Derivatives> {
    let numbers = |x: &[f64], shape: &[usize]| Array::from_shape_vec(shape, x.to_vec());
    let (mut inputs, mut variables, mut along) = (Vec::new(), Vec::new(), Vec::new());
    for (number, step) in program.steps.iter().enumerate() {
        if let Step::Input(x) = step {
            inputs.push(number);
            variables.push(variable(&elements::array(x.dtype, &x.shape, &x.bits))?);
            along.push(numbers(&direction(seed, number, x.bits.len()), &x.shape)?);
        }
    }
    let given =
        |number: usize| inputs.iter().position(|&input| input == number).map(|i| variables[i].clone());
    let arrays = arrays_over(program, given)?;
    let roots: Vec<&Array<'static>> = program.roots.iter().map(|&root| &arrays[root]).collect();
    let of_roots = roots.iter().enumerate().map(|(i, y)| numbers(&adjoint_of(seed, i, y.len()), y.shape()));
    let of_roots = of_roots.collect::<broadloom::Result<Vec<_>>>()?;
    let variables: Vec<&Array<'static>> = variables.iter().collect();
    let adjoints = vjp(&roots, &of_roots.iter().collect::<Vec<_>>(), &variables)?;
    let tangents = jvp(&roots, &variables, &along.iter().collect::<Vec<_>>())?;
    Ok(Derivatives { inputs, adjoints, tangents })
}

/// The values of arrays over real numbers.
fn reals(arrays: &[Array<'static>]) -> Result<Vec<Vec<Real>>, String> {
    let program = program_of(&arrays.iter().collect::<Vec<_>>()).map_err(|e| e.to_string())?;
    let types = program.types();
    let mut known: Vec<Duals> = Vec::new();
    for number in 0..program.steps.len() {
        let zeros = |input: usize| match &program.steps[input] {
            Step::Input(x) => vec![Real::of(0.0); x.bits.len()],
            _ => Vec::new(),
        };
        let mut found = dual::of_step(&program, number, &known, &types, &zeros)?;
        found.varies = false;
        known.push(found);
    }
    let values = |root: &usize| known[*root].elements.iter().map(|x| x.value.clone()).collect();
    Ok(program.roots.iter().map(values).collect())
}

/// Σ x·y, and the sum of the terms' magnitudes.
fn inner<'r>(pairs: impl Iterator<Item = (&'r Real, f64)>) -> (Real, Real) {
    pairs.fold((Real::of(0.0), Real::of(0.0)), |(sum, size), (x, y)| {
        let term = x.times(&Real::of(y));
        (sum.plus(&term), size.plus(&term.size()))
    })
}

/// Whether two numbers are defined and differ by at most 10^-50 of a magnitude, or of 1 if that is larger.
fn agrees(x: &Real, y: &Real, size: &Real) -> bool {
    let unit = Real::of(10.0).pow(&Real::of(f64::from(-DIGITS)));
    let bound = size.plus(&Real::of(1.0)).times(&unit);
    x.minus(y).size().compare(&bound).is_some_and(|order| order.is_le())
}

/// Differentiates a program in both modes along random directions. Returns the first difference from dual numbers. There is none for
/// a program whose tangents are not defined, or large: a part of a program that is made smaller.
pub fn difference_of_gradients(program: &Program, seed: u64) -> Option<Difference> {
    if !program_is_fine(program, seed) {
        return None;
    }
    compare(program, seed).err()
}

fn compare(program: &Program, seed: u64) -> Result<(), Difference> {
    let duals = duals(program, seed)?;
    let found = derivatives(program, seed).map_err(|e| format!("differentiating: {e}"))?;
    let adjoints = reals(&found.adjoints).map_err(|e| format!("reverse: {e}"))?;
    let tangents = reals(&found.tangents).map_err(|e| format!("forward: {e}"))?;
    for (&root, got) in program.roots.iter().zip(&tangents) {
        for (i, (got, want)) in got.iter().zip(&duals[root].elements).enumerate() {
            if !agrees(got, &want.tangent, &want.tangent.size()) {
                let (got, want) = (got.to_f64(), want.tangent.to_f64());
                return Err(format!("forward: tangent {i} of s{root} is {got:e}, not {want:e}"));
            }
        }
    }
    let of_roots: Vec<(&Real, f64)> = program
        .roots
        .iter()
        .enumerate()
        .flat_map(|(i, &root)| {
            let elements = &duals[root].elements;
            elements.iter().map(|x| &x.tangent).zip(adjoint_of(seed, i, elements.len()))
        })
        .collect();
    let of_inputs: Vec<(&Real, f64)> = found
        .inputs
        .iter()
        .zip(&adjoints)
        .flat_map(|(&input, adjoint)| adjoint.iter().zip(direction(seed, input, adjoint.len())))
        .collect();
    let (want, size) = inner(of_roots.into_iter());
    let (got, of_got) = inner(of_inputs.into_iter());
    if !agrees(&got, &want, &size.plus(&of_got)) {
        return Err(format!("reverse: the product is {:e}, not {:e}", got.to_f64(), want.to_f64()));
    }
    Ok(())
}

/// Compares the bits of a program's derivatives in every way of evaluating with those of the reference, at vector widths up to a
/// maximum.
fn difference_of_bits(most: Option<VectorWidth>, program: &Program, seed: u64) -> Option<Difference> {
    let found = derivatives(program, seed).ok()?;
    let all: Vec<&Array<'static>> = found.adjoints.iter().chain(&found.tangents).collect();
    match program_of(&all) {
        Ok(derivative) => differential::difference_up_to(most, &derivative, seed),
        Err(e) => Some(format!("the derivative as a program: {e}")),
    }
}

/// The number of elements of a batch, so that threads share its rows and the sums of these.
const BATCH: usize = 20_000;

/// The maximum number of threads of a batch.
const THREADS: usize = 7;

/// Differentiates a program for each row of random inputs, and sums the derivatives of all rows. Both have the same bits on each
/// executor with one to seven threads.
fn difference_of_threads(program: &Program, seed: u64) -> Option<Difference> {
    static POOL: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    let pool =
        POOL.get_or_init(|| rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().ok()).as_ref();
    let of_batch = match batch(program, seed) {
        Ok(arrays) => arrays,
        Err(e) => return Some(format!("a batch: {e}")),
    };
    let roots: Vec<&Array<'static>> = of_batch.iter().collect();
    let run = |executor: Executor, threads: usize| -> broadloom::Result<Vec<Vec<u64>>> {
        let options = Options { executor, threads: Some(threads), ..Options::default() };
        let evaluate = || Evaluation::with(&options).eval_many(&roots);
        let found = pool.map_or_else(evaluate, |pool| pool.install(evaluate))?;
        found.iter().map(elements::bits).collect()
    };
    let compare = || -> broadloom::Result<Option<Difference>> {
        let wanted = run(Executor::Interp, 1)?;
        for executor in [Executor::Interp, Executor::Jit] {
            for threads in 1..=THREADS {
                for (i, (got, want)) in run(executor, threads)?.iter().zip(&wanted).enumerate() {
                    if let Some(difference) = elements::difference(DType::Float64, got, want) {
                        let way = format!("derivative {i} of a batch, {executor:?} with {threads} threads");
                        return Ok(Some(format!("{way}: {difference}")));
                    }
                }
            }
        }
        Ok(None)
    };
    compare().unwrap_or_else(|e| Some(format!("a batch: {e}")))
}

/// The derivatives of a program for each row of random inputs, and their sums.
fn batch(program: &Program, seed: u64) -> broadloom::Result<Vec<Array<'static>>> {
    let inputs: Vec<(usize, &Tensor)> = (program.steps.iter().enumerate())
        .filter_map(|(number, step)| if let Step::Input(x) = step { Some((number, x)) } else { None })
        .collect();
    let elements = program.types().iter().map(Type::elements).max().unwrap_or(1);
    let rows = BATCH.div_ceil(elements.max(1));
    let numbers = |number: usize, shape: &[usize]| {
        Array::from_shape_vec(shape, direction(seed, number, shape.iter().product()))
    };
    let all = inputs.iter().map(|(number, x)| numbers(*number, &[&[rows], &x.shape[..]].concat()));
    let all = all.collect::<broadloom::Result<Vec<_>>>()?;
    let of_row = |x: &[Array<'static>]| {
        let given = |step: usize| inputs.iter().position(|(input, _)| *input == step).map(|i| x[i].clone());
        let arrays = arrays_over(program, given)?;
        let roots: Vec<&Array<'static>> = program.roots.iter().map(|&root| &arrays[root]).collect();
        let of_roots = roots.iter().enumerate().map(|(i, y)| numbers(i, y.shape()));
        let of_roots = of_roots.collect::<broadloom::Result<Vec<_>>>()?;
        vjp(&roots, &of_roots.iter().collect::<Vec<_>>(), &x.iter().collect::<Vec<_>>())
    };
    let mut found = vmap(of_row, &all, &vec![Some(0); all.len()], 0)?;
    let sums = found.iter().map(|x| x.sum(0)).collect::<broadloom::Result<Vec<_>>>()?;
    found.extend(sums);
    Ok(found)
}

/// Of this many programs, the bits of one are compared.
const OF_BITS: u64 = 10;

/// Of this many programs, the bits of a batch of one are compared.
const OF_BATCHES: u64 = 100;

/// Whether a batch of the program is compared. There is none of steps that take elements of a table of each row.
fn has_batch(program: &Program, seed: u64) -> bool {
    let takes = |step: &Step| match step {
        Step::Recurrence(of, _) => (0..of.operands().len()).any(|value| of.is_table(value)),
        _ => false,
    };
    seed.is_multiple_of(OF_BATCHES) && !program.steps.iter().any(takes)
}

/// Differentiates a program and returns the first difference from the references: from dual numbers for each program, and in bits for
/// one seed in ten; for one in a hundred also between one to seven threads.
pub fn difference_of_all(most: Option<VectorWidth>, program: &Program, seed: u64) -> Option<Difference> {
    let differs = || {
        difference_of_gradients(program, seed)
            .or_else(|| seed.is_multiple_of(OF_BITS).then(|| difference_of_bits(most, program, seed))?)
            .or_else(|| has_batch(program, seed).then(|| difference_of_threads(program, seed))?)
    };
    catch_unwind(AssertUnwindSafe(differs)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Some(format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")))
    })
}
