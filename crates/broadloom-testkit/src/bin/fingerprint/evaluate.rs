//! Results of arrays by each executor and vector width, as hashes.
//!
//! Only [`results`] asks the engine for values, so that a redesign of the engine has one place to change here. A hash
//! covers the dtype, shape and elements of each result, or that a division by zero failed; what an error says is not
//! part of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use broadloom::{Array, ErrorKind, Options, Result, eval_many_with};
use broadloom_core::graph::Semantics;
use broadloom_testkit::random::Program;
use broadloom_testkit::{Runner, differential, elements};

use crate::hash::Hash;

/// The interpreter, and machine code of each width that the target has, by name.
pub struct Executors(Vec<(String, Runner)>);

impl Executors {
    /// Those of this target.
    pub fn of_target() -> Executors {
        let name = |runner: Runner| match runner.width {
            None => runner.executor.name().to_owned(),
            Some(width) => format!("{}{width}", runner.executor.name()),
        };
        Executors(Runner::all().map(|runner| (name(runner), runner)).collect())
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Their names.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Each name with its hash.
    pub fn line(&self, hashes: &[Hash]) -> String {
        let column = |((name, _), hash): (&(String, _), &Hash)| format!("{name} {hash}");
        self.0.iter().zip(hashes).map(column).collect::<Vec<_>>().join("  ")
    }
}

/// The values of the arrays, by one executor.
fn results(roots: &[&Array<'static>], semantics: Semantics, by: Runner) -> Result<Vec<Array<'static>>> {
    eval_many_with(roots, &Options { threads: Some(1), ..by.options() }.with_semantics(semantics))
}

/// A hash of the arrays' values for each executor. Errors other than divisions by zero, and panics, are printed under
/// the label and hashed as such.
pub fn hashes(
    roots: &[&Array<'static>],
    semantics: Semantics,
    executors: &Executors,
    label: &dyn std::fmt::Display,
) -> Vec<Hash> {
    // Kept, so that no executor is given memory in which another has left the right values.
    let mut kept = Vec::new();
    let mut hashes = Vec::new();
    for (name, runner) in &executors.0 {
        let done = catch_unwind(AssertUnwindSafe(|| results(roots, semantics, *runner)));
        let mut hash = Hash::new();
        match &done {
            Ok(Ok(arrays)) => arrays.iter().for_each(|array| add(&mut hash, array)),
            Ok(Err(error)) if error.kind() == ErrorKind::ZeroDivision => hash.text("division by zero"),
            Ok(Err(error)) => {
                eprintln!("{label}: {name}: {error}");
                hash.text("error");
            }
            Err(_) => {
                eprintln!("{label}: {name} panicked");
                hash.text("panic");
            }
        }
        hashes.push(hash);
        kept.push(done);
    }
    hashes
}

/// [`hashes`] of a program's results.
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

/// Adds an evaluated array.
fn add(hash: &mut Hash, array: &Array<'static>) {
    let dtype = array.dtype();
    hash.text(dtype.name());
    hash.words(array.shape().iter().map(|&extent| extent as u64));
    let bits = elements::bits(array).expect("an evaluated array");
    hash.words(bits.into_iter());
}
