//! Compiled kernels give their memory back: distinct expressions come and go, and the process does not grow.
//!
//! `BROADLOOM_EXPRESSIONS=10000 cargo test --release -p broadloom --test integration memory -- --nocapture` prints the figure of
//! `docs/performance.md`.

#![cfg(target_os = "linux")]

use std::process::Command;

use broadloom::prelude::*;
use broadloom::{Executor, Options};

/// Resident memory in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = statm.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    pages * 4096
}

/// A chain whose ops are the bits of `i`: no two are equal.
fn distinct<'a>(x: &Array<'a>, i: usize) -> Array<'a> {
    (0..14).fold(x.clone(), |y, bit| if i >> bit & 1 == 1 { &y * x } else { &y + x })
}

/// Tells the child from the parent.
const CHILD: &str = "BROADLOOM_TEST_MEMORY";

/// In a process of its own, since other tests take memory meanwhile.
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
