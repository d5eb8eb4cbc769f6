//! The executors on which a test evaluates an expression.

use broadloom::prelude::*;
use broadloom_testkit::Runner;

/// The options of the interpreter, and of machine code of every width if there is a compiler, on one thread and on three.
pub fn executors() -> Vec<Options> {
    let can_run = |runner: &Runner| cfg!(feature = "jit") || *runner == Runner::INTERP;
    let all: Vec<Options> = Runner::all().filter(can_run).map(Runner::options).collect();
    let threads =
        |threads| all.iter().map(move |options| Options { threads: Some(threads), ..options.clone() });
    threads(1).chain(threads(3)).collect()
}

pub fn each<T: Element + PartialEq + std::fmt::Debug>(x: &Array<'_>, wanted: &[T], what: &str) -> Result<()> {
    for options in executors() {
        assert_eq!(x.eval_with(&options)?.to_vec::<T>()?, wanted, "{what}: {options:?}");
    }
    Ok(())
}
