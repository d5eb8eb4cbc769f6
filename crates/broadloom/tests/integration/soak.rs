//! Calls each public interface of the library many times in one process. The process must not grow after the first tenth of the
//! calls.
//!
//! `BROADLOOM_CALLS` sets the number of calls: 20 000 by default, and 1 000 000 for docs/reliability.md. Interfaces that plan or
//! compile at each call get a hundredth of them. Each test runs itself again as a child process, whose memory no other test
//! affects.
#![cfg(target_os = "linux")]

use std::process::Command;

use broadloom::prelude::*;
use broadloom::text::Program;
use broadloom::{Kernel, Options, eval_many};

/// The environment variable that makes a process a child.
const CHILD: &str = "BROADLOOM_TEST_SOAK";

/// The maximum number of bytes by which a process may grow. A leak of 16 bytes per call would be 16 MB in a million calls.
const MOST: usize = 8 << 20;

/// A part of the text that a child prints if all checks succeed.
const DONE: &str = "calls, grown by";

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = statm.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    pages * 4096
}

/// Calls a function many times in a child process, and checks that the process does not grow. The number of calls is divided by
/// `fewer`.
fn soak(fewer: usize, mut call: impl FnMut(usize) -> Result<()>) {
    let test = std::thread::current().name().expect("a test has a name").to_owned();
    if std::env::var(CHILD).is_err() {
        let mut child = Command::new(std::env::current_exe().expect("the test's own file"));
        child.args(["--exact", &test, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
        let child = child.output().expect("the test runs again");
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(
            child.status.success() && said.contains(DONE),
            "{said}{}",
            String::from_utf8_lossy(&child.stderr)
        );
        print!(
            "{}",
            said.lines()
                .filter(|line| line.contains(DONE))
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        );
        return;
    }
    let asked = std::env::var("BROADLOOM_CALLS").ok().and_then(|n| n.parse().ok());
    let calls: usize = (asked.unwrap_or(20_000) / fewer).max(10);
    let mut before = 0;
    for i in 0..calls {
        if i == calls / 10 {
            before = resident();
        }
        call(i).expect("a call succeeds");
    }
    let grown = resident().saturating_sub(before);
    println!("{test}: {calls} {DONE} {} KiB", grown / 1024);
    assert!(grown < MOST, "{test}: {grown} bytes more after {calls} calls");
}

fn numbers() -> Array<'static> {
    Array::from_vec((0..100).map(|i| f64::from(i) / 7.0).collect())
}

#[test]
fn expressions() {
    let x = numbers();
    soak(1, |i| {
        let made = (&x * (i % 9) as f64 + x.sqrt()).eval()?;
        let sum = made.sum(Over::all())?.item::<f64>()?;
        assert!(sum.is_finite());
        Ok(())
    });
}

#[test]
fn expressions_of_a_thousand_shapes() {
    let all: Vec<Array<'_>> = (1..=1000).map(|n| Array::from_vec(vec![0.5_f32; n])).collect();
    soak(1, |i| {
        let x = &all[i % all.len()];
        eval_many(&[&x.exp(), &(x + 1)]).map(drop)
    });
}

#[test]
fn evaluation_into_memory() {
    let (x, mut out) = (numbers(), [0.0; 100]);
    soak(1, |_| (&x + 1).eval_into(&mut out));
}

#[test]
fn kernels() {
    let kernel =
        Kernel::parse("x: float64[n]; y: float64[n]; return x * y + 1", &Options::default()).expect("a text");
    let (x, mut out) = ([0.5; 100], [0.0; 100]);
    soak(1, |i| {
        let n = 1 + i % 100;
        kernel.run(&[(&x[..n]).into(), (&x[..n]).into()], [(&mut out[..n]).into()])
    });
}

#[test]
fn calls() {
    let kernel = Kernel::parse("x: float64[n]; return sqrt(x)", &Options::default()).expect("a text");
    let call = kernel.bind(&[("n", 100)]).expect("an extent");
    let (x, mut out) = ([0.5; 100], [0.0; 100]);
    soak(1, |_| call.run(&[(&x).into()], [(&mut out).into()]));
}

#[test]
fn calls_bound_anew() {
    let kernel = Kernel::parse("x: float64[n]; return sum(x)", &Options::default()).expect("a text");
    let (x, mut out) = ([0.5; 1000], [0.0; 1]);
    soak(10, |i| {
        let n = 1 + i % 1000;
        kernel.bind(&[("n", n)])?.run(&[(&x[..n]).into()], [(&mut out).into()])
    });
}

#[test]
fn new_kernels() {
    soak(100, |i| {
        let text = format!("x: float64[n]; return x * {i} + 1");
        let kernel = Kernel::parse(&text, &Options::default()).expect("a text");
        kernel.run(&[(&[1.0]).into()], [(&mut [0.0]).into()])
    });
}

/// Evaluates formulas in the way of the command.
#[test]
fn formulas() {
    let x = numbers();
    soak(10, |i| {
        let program = Program::parse(&format!("sum(x * {} + 1)", i % 2000)).expect("a formula");
        let built = program.build(&[("x", x.clone())]).expect("an input");
        built[0].1.eval().map(drop)
    });
}

#[test]
fn errors() {
    let (x, y) = (numbers(), Array::from_vec(vec![1.0; 3]));
    soak(1, |i| {
        assert!(x.try_add(&y).is_err());
        if i % 100 == 0 {
            assert!(Program::parse("sum(x *").is_err());
            let refused = Options { max_bytes: 8, ..Options::default() };
            assert!((&x + 1).eval_with(&refused).is_err());
        }
        Ok(())
    });
}
