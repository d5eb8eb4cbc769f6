//! Evaluates a [`Program`] in several [`Pairing`]s and compares each with the reference, bit for bit.
//!
//! The reference decides which result is right, not a majority of executors, and a panic counts as a difference. Results are
//! kept until every way has run, so that no evaluation reuses memory that still contains the right values of another.

use std::panic::{AssertUnwindSafe, catch_unwind};

use broadloom::VectorWidth;
use broadloom::{Array, DType, ErrorKind, Evaluation, Executor, In, Kernel, Options, Out};
use broadloom_core::rewrite::Rules;

use crate::elements::{self, Typed};
use crate::random::{Outcome, Program, Step, with_other_values};

mod arrays;
mod chunks;
mod expression;
mod faults;
mod reductions;
mod search;

pub use arrays::{array, arrays, arrays_over};
pub use expression::MOST_ELEMENTS;
pub use expression::{check, program_of};
use faults::kind_of_fault;
pub use search::{Check, Finding, Search, Summary, program_of_seed};

/// A description of a difference between a result and the reference.
pub type Difference = String;

/// One way of evaluating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Whether rewrite rules apply.
    pub rules: Rules,
    /// The executor of the kernels.
    pub executor: Executor,
    /// The maximum vector width of machine code.
    pub width: Option<VectorWidth>,
    /// The maximum number of threads.
    pub threads: Option<usize>,
}

const fn way(
    rules: Rules,
    executor: Executor,
    width: Option<VectorWidth>,
    threads: Option<usize>,
) -> Pairing {
    Pairing { rules, executor, width, threads }
}

const W128: Option<VectorWidth> = Some(VectorWidth::W128);
const W256: Option<VectorWidth> = Some(VectorWidth::W256);
const W512: Option<VectorWidth> = Some(VectorWidth::W512);

/// The ways of evaluating arrays on a single thread: each executor with and without rewrite rules, machine code of each vector
/// width, and the engine's own choice.
pub const ALONE: &[Pairing] = &[
    way(Rules::Off, Executor::Interp, None, Some(1)),
    way(Rules::On, Executor::Interp, None, Some(1)),
    way(Rules::Off, Executor::Jit, None, Some(1)),
    way(Rules::On, Executor::Jit, W128, Some(1)),
    way(Rules::On, Executor::Jit, W256, Some(1)),
    way(Rules::On, Executor::Jit, W512, Some(1)),
    way(Rules::On, Executor::Auto, None, None),
];

/// The ways of evaluating arrays that are shared between threads.
pub const SHARED: &[Pairing] = &[
    way(Rules::Off, Executor::Interp, None, Some(2)),
    way(Rules::On, Executor::Interp, None, Some(1)),
    way(Rules::On, Executor::Interp, None, Some(2)),
    way(Rules::Off, Executor::Jit, None, Some(2)),
    way(Rules::On, Executor::Jit, W128, Some(1)),
    way(Rules::On, Executor::Jit, W256, Some(2)),
    way(Rules::On, Executor::Jit, W512, Some(1)),
    way(Rules::On, Executor::Jit, None, Some(2)),
    way(Rules::On, Executor::Jit, None, None),
    way(Rules::On, Executor::Auto, None, None),
];

/// Evaluates a program in every given way, in chunks, and as a [`Kernel`] that is compiled for inputs of
/// zeros and run on the program's inputs. Returns the first difference from the reference.
///
/// ```
/// use broadloom_testkit::differential::{ALONE, difference};
/// use broadloom_testkit::random::{Size, program};
///
/// assert_eq!(difference(&program(7, Size::Small), ALONE), None);
/// ```
pub fn difference(program: &Program, ways: &[Pairing]) -> Option<Difference> {
    match catch_unwind(AssertUnwindSafe(|| compare_all(program, ways))) {
        Ok(done) => done.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            Some(format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")))
        }
    }
}

/// Evaluates the program with other values first, so that its plans are cached, and then with its own values;
/// returns the first [`difference`]. If an array is large enough to be shared by threads, three threads are
/// used.
///
/// ```
/// use broadloom_testkit::differential::difference_of_both;
/// use broadloom_testkit::random::{Size, program};
///
/// assert_eq!(difference_of_both(&program(7, Size::Large), 1), None);
/// ```
pub fn difference_of_both(program: &Program, seed: u64) -> Option<Difference> {
    difference_up_to(None, program, seed)
}

/// [`difference_of_both`] with a maximum vector width.
pub(crate) fn difference_up_to(
    most: Option<VectorWidth>,
    program: &Program,
    seed: u64,
) -> Option<Difference> {
    let ways = ways(program, most);
    [&with_other_values(program, seed), program].into_iter().find_map(|program| match pool() {
        Some(pool) if is_shared(program) => pool.install(|| difference(program, &ways)),
        _ => difference(program, &ways),
    })
}

/// The number of elements from which an array may be shared between threads.
const SHARED_ELEMENTS: usize = 10_000;

fn is_shared(program: &Program) -> bool {
    program.types().iter().any(|t| t.elements() >= SHARED_ELEMENTS)
}

/// The ways of evaluating a program, at the vector widths of the target up to a maximum.
fn ways(program: &Program, most: Option<VectorWidth>) -> Vec<Pairing> {
    let all = if is_shared(program) { SHARED } else { ALONE };
    let widest = most.unwrap_or(VectorWidth::W512).min(VectorWidth::target());
    let known = |way: &&Pairing| way.width.is_none_or(|width| width <= widest);
    all.iter().filter(known).map(|way| Pairing { width: way.width.or(most), ..*way }).collect()
}

/// A thread pool that may have more threads than the machine has processors.
fn pool() -> Option<&'static rayon::ThreadPool> {
    static POOL: std::sync::OnceLock<Option<rayon::ThreadPool>> = std::sync::OnceLock::new();
    POOL.get_or_init(|| rayon::ThreadPoolBuilder::new().num_threads(3).build().ok()).as_ref()
}

fn compare_all(program: &Program, ways: &[Pairing]) -> std::result::Result<(), Difference> {
    let outcome = program.run().map_err(|e| format!("the reference: {e}"))?;
    let arrays = arrays(program).map_err(|e| format!("building: {e}"))?;
    for (i, (array, want)) in arrays.iter().zip(&outcome.values).enumerate() {
        if (array.dtype(), array.shape()) != (want.dtype, &want.shape[..]) {
            return Err(format!("s{i} is {}{:?}", array.dtype(), array.shape()));
        }
    }
    let roots: Vec<&Array<'static>> = program.roots.iter().map(|&root| &arrays[root]).collect();
    let mut failures: Vec<String> = Vec::new();
    // Results are kept until the end, so that no evaluation reuses memory that still contains the right values of another.
    let mut kept = Vec::new();
    for &Pairing { rules, executor, width, threads } in ways {
        let options = Options { executor, vector_width: width, threads, rules, ..Options::default() }
            .with_semantics(program.semantics);
        let way = format!(
            "rules {rules:?}, {executor:?}, vectors {}, threads {threads:?}",
            width.map_or("auto", VectorWidth::name)
        );
        match Evaluation::with(&options).eval_many(&roots) {
            Ok(results) => {
                if !outcome.faults.is_empty() {
                    return Err(format!("{way}: no error, though {:?}", outcome.faults));
                }
                compare(program, &outcome, &results).map_err(|e| format!("{way}: {e}"))?;
                kept.push(results);
                failures.push(String::new());
            }
            Err(e) => {
                let named = e.message().split(':').next().unwrap_or_default();
                if e.kind() != kind_of_fault(named) || !outcome.faults.contains(named) {
                    return Err(format!("{way}: {e}, though {:?}", outcome.faults));
                }
                failures.push(e.to_string());
            }
        }
    }
    // Of several indices that are out of range, the first one that is met is named.
    let is_told = outcome.faults.iter().all(|fault| kind_of_fault(fault) == ErrorKind::ZeroDivision);
    if let Some(other) = failures.iter().find(|f| **f != failures[0])
        && is_told
    {
        return Err(format!("one way gives {:?}, another {other:?}", failures[0]));
    }
    chunks::compare(program, &outcome, &roots).map_err(|e| format!("in chunks: {e}"))?;
    if failures.first().is_some_and(String::is_empty) {
        // The maximum vector width over all ways.
        let width = ways.iter().map(|way| way.width).max().unwrap_or_default();
        for executor in [Executor::Interp, Executor::Jit] {
            let options = Options { executor, vector_width: width, ..Options::default() };
            as_kernel(program, &outcome, options).map_err(|e| format!("as a {executor:?} kernel: {e}"))?;
        }
    }
    Ok(())
}

/// Compiles the program for inputs of zeros, and runs it on its own inputs.
fn as_kernel(program: &Program, outcome: &Outcome, options: Options) -> std::result::Result<(), Difference> {
    let mut zeroed = program.clone();
    let (mut inputs, mut numbers) = (Vec::new(), Vec::new());
    for (number, step) in zeroed.steps.iter_mut().enumerate() {
        if let Step::Input(x) = step {
            inputs.push(Typed::of(x.dtype, &x.bits));
            numbers.push(number);
            x.bits.fill(0);
        }
    }
    // The kernel's bool outputs are converted to bytes 0 and 1, since no output slice has bools.
    let bytes = |dtype: DType| if dtype == DType::Bool { DType::UInt8 } else { dtype };
    let wanted = program.roots.iter().map(|&root| &outcome.values[root]);
    let mut outputs: Vec<Typed> =
        wanted.map(|want| Typed::of(bytes(want.dtype), &vec![7; want.bits.len()])).collect();
    let targets: Option<Vec<Out<'_>>> = outputs.iter_mut().map(Typed::output).collect();
    let targets = targets.ok_or("an output that is no number")?;
    let arrays = arrays(&zeroed).map_err(|e| e.to_string())?;
    let converted = program.roots.iter().map(|&root| arrays[root].astype(bytes(arrays[root].dtype())));
    let converted: Vec<Array<'static>> = converted.collect();
    let roots: Vec<&Array<'static>> = converted.iter().collect();
    let declared: Vec<&Array<'static>> = numbers.iter().map(|&number| &arrays[number]).collect();
    let options = options.with_semantics(program.semantics);
    let kernel = Kernel::new(&roots, &declared, &options).map_err(|e| e.to_string())?;
    let given: Vec<In<'_>> = inputs.iter().map(Typed::input).collect();
    kernel.run(&given, targets).map_err(|e| e.to_string())?;
    for (&root, output) in program.roots.iter().zip(&outputs) {
        let want = &outcome.values[root];
        if let Some(difference) = elements::difference(want.dtype, &output.bits(), &want.bits) {
            return Err(format!("s{root}: {difference}"));
        }
    }
    Ok(())
}

fn compare(
    program: &Program,
    outcome: &Outcome,
    results: &[Array<'static>],
) -> std::result::Result<(), Difference> {
    for (&root, result) in program.roots.iter().zip(results) {
        let want = &outcome.values[root];
        if (result.dtype(), result.shape()) != (want.dtype, &want.shape[..]) {
            return Err(format!("s{root} became {}{:?}", result.dtype(), result.shape()));
        }
        let got = elements::bits(result).map_err(|e| format!("s{root}: {e}"))?;
        if let Some(difference) = elements::difference(want.dtype, &got, &want.bits) {
            return Err(format!("s{root}: {difference}"));
        }
    }
    Ok(())
}
