//! Evaluates arrays with each executor and vector width, and hashes the results.
//!
//! Only [`results`] and the module `chunked` ask the engine for values, so that a redesign of the engine requires few changes
//! here. A hash covers the dtype, shape and elements of each result, or the fact that an integer division by zero failed; it does
//! not cover the messages of errors.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom::{Array, ErrorKind, Evaluation, Options, Result};
use broadloom_core::graph::Semantics;
use broadloom_testkit::random::Program;
use broadloom_testkit::{Runner, differential, elements};

use crate::hash::Hash;

/// The ways of evaluating, each a name and options: the interpreter, and machine code of each vector width of
/// the target, each with some number of threads.
pub struct Executors(Vec<(String, Options)>);

impl Executors {
    /// The executors of this target, on one thread.
    pub fn of_target() -> Executors {
        Executors::on_threads(&[1])
    }

    /// The executors of this target with each of these numbers of threads. A name contains the number of
    /// threads unless it is one.
    pub fn on_threads(threads: &[usize]) -> Executors {
        let with_threads = |&threads: &usize| {
            Runner::all().map(move |runner| {
                let width = runner.width.map_or(String::new(), |width| width.to_string());
                let on = if threads == 1 { String::new() } else { format!(" on {threads} threads") };
                let name = format!("{}{width}{on}", runner.executor.name());
                (name, Options { threads: Some(threads), ..runner.options() })
            })
        };
        Executors(threads.iter().flat_map(with_threads).collect())
    }

    /// The name and options of each executor.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Options)> {
        self.0.iter().map(|(name, options)| (name.as_str(), options))
    }

    /// The number of executors.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The names of the executors.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Formats a name and a hash for each executor.
    pub fn line(&self, hashes: &[Hash]) -> String {
        let column = |((name, _), hash): (&(String, Options), &Hash)| format!("{name} {hash}");
        self.0.iter().zip(hashes).map(column).collect::<Vec<_>>().join("  ")
    }
}

/// Evaluates the arrays with one executor.
fn results(roots: &[&Array<'static>], semantics: Semantics, by: &Options) -> Result<Vec<Array<'static>>> {
    Evaluation::with(&by.clone().with_semantics(semantics)).eval_many(roots)
}

/// The hash of the arrays' values for each executor. Errors other than divisions by zero, and panics, are printed with the label,
/// and hashed as such.
pub fn hashes(
    roots: &[&Array<'static>],
    semantics: Semantics,
    executors: &Executors,
    label: &dyn Display,
) -> Vec<Hash> {
    // Results are kept until the end, so that no evaluation reuses memory that still contains the right values of another.
    let mut kept = Vec::new();
    let mut hashes = Vec::new();
    for (name, options) in executors.iter() {
        let done = attempt(|| results(roots, semantics, options));
        hashes.push(hash_of_attempt(&done, label, name));
        kept.push(done);
    }
    hashes
}

/// The results or the error of an evaluation; `None` if it panicked.
pub type Attempt = Option<Result<Vec<Array<'static>>>>;

/// Runs an evaluation that may panic.
pub fn attempt(evaluate: impl FnOnce() -> Result<Vec<Array<'static>>>) -> Attempt {
    catch_unwind(AssertUnwindSafe(evaluate)).ok()
}

/// The hash of the outcome of an evaluation. Panics, and errors other than a division by zero, are printed
/// with the label and the executor's name.
pub fn hash_of_attempt(done: &Attempt, label: &dyn Display, name: &str) -> Hash {
    let mut hash = Hash::new();
    match done {
        Some(Ok(arrays)) => return hash_of(arrays),
        Some(Err(error)) if error.kind() == ErrorKind::ZeroDivision => hash.text("division by zero"),
        Some(Err(error)) => {
            eprintln!("{label}: {name}: {error}");
            hash.text("error");
        }
        None => {
            eprintln!("{label}: {name} panicked");
            hash.text("panic");
        }
    }
    hash
}

/// The hash of evaluated arrays.
pub fn hash_of(arrays: &[Array<'static>]) -> Hash {
    let mut hash = Hash::new();
    arrays.iter().for_each(|array| add(&mut hash, array));
    hash
}

/// Applies a function to items on this many threads (by default one per core), and returns the results in order.
pub fn in_parallel<I: Sync, O: Send>(
    items: &[I],
    threads: Option<usize>,
    evaluate: impl Fn(&I) -> O + Sync,
) -> Vec<O> {
    let threads = threads.or_else(|| std::thread::available_parallelism().ok().map(Into::into));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads.unwrap_or(1).min(items.len()).max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(number) else { break };
                    let output = evaluate(item);
                    done.lock().expect("no thread panicked").push((number, output));
                }
            });
        }
    });
    let mut outputs = done.into_inner().expect("no thread panicked");
    outputs.sort_by_key(|(number, _)| *number);
    outputs.into_iter().map(|(_, output)| output).collect()
}

/// The [`hashes`] of a program's results.
pub fn hashes_of_program(program: &Program, executors: &Executors, number: usize) -> Vec<Hash> {
    let label = format!("program {number}");
    match differential::arrays(program) {
        Ok(arrays) => {
            let roots: Vec<&Array<'static>> = program.roots.iter().map(|&root| &arrays[root]).collect();
            hashes(&roots, program.semantics, executors, &label)
        }
        Err(error) => {
            eprintln!("{label}: {error}");
            vec![Hash::new(); executors.count()]
        }
    }
}

/// Adds an evaluated array to a hash.
fn add(hash: &mut Hash, array: &Array<'static>) {
    let dtype = array.dtype();
    hash.text(dtype.name());
    hash.words(array.shape().iter().map(|&extent| extent as u64));
    let bits = elements::bits(array).expect("an evaluated array");
    hash.words(bits.into_iter());
}
