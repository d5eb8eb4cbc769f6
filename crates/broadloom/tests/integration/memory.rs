//! Memory of compiled kernels is freed: many distinct expressions are evaluated and dropped, and the process does not grow.
//!
//! To print the figure in `docs/performance.md`: `BROADLOOM_EXPRESSIONS=10000 cargo test --release -p broadloom --test
//! integration memory -- --nocapture`.

#![cfg(target_os = "linux")]

use std::process::Command;

use broadloom::prelude::*;
use broadloom::{Executor, Options};

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = statm.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    pages * 4096
}

/// A chain of 14 ops that are selected by the bits of `i`, so that different `i` give different expressions.
fn distinct<'a>(x: &Array<'a>, i: usize) -> Array<'a> {
    (0..14).fold(x.clone(), |y, bit| if i >> bit & 1 == 1 { &y * x } else { &y + x })
}

/// The environment variable that makes a process the child.
const CHILD: &str = "BROADLOOM_TEST_MEMORY";

/// Runs in a child process, because other tests allocate memory at the same time.
#[test]
fn ten_thousand_expressions_leave_nothing_behind() {
    if std::env::var_os(CHILD).is_some() {
        return evaluate_many_expressions();
    }
    let mut child = Command::new(std::env::current_exe().expect("the test's own file"));
    let name = "memory::ten_thousand_expressions_leave_nothing_behind";
    child.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    assert!(child.status().expect("the test runs again").success());
}

fn evaluate_many_expressions() {
    let count: usize =
        std::env::var("BROADLOOM_EXPRESSIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let x = Array::from_vec(vec![1.0_f32; 64]);
    let options = Options { executor: Executor::Jit, ..Options::default() };
    let mut after_first = 0;
    for i in 0..count {
        distinct(&x, i).eval_with(&options).expect("evaluates");
        if i == 999 {
            after_first = resident();
        }
    }
    let grown = resident().saturating_sub(after_first);
    println!("{count} expressions: {:.2} MiB more than after 1000", grown as f64 / (1 << 20) as f64);
    assert!(grown < 5 << 20, "{grown} bytes more than after the first 1000 of {count}");
}
