//! Profilers and debuggers are informed of machine code if, and only if, this is requested.
#![cfg(all(target_os = "linux", feature = "jit"))]

use std::process::Command;

use broadloom::prelude::*;
use broadloom::{Engine, Executor, Limits, Options, Profiling};

const CHILD: &str = "BROADLOOM_TEST_PROFILES";

/// Compiles three kernels: two with engines that follow the environment, and one with an engine whose
/// options request the map.
fn compile() {
    let options = Options { executor: Executor::Jit, ..Options::default() };
    let x = Array::from_vec(vec![1.0f32; 100]);
    (&x * 3).eval_with(&options).expect("runs");
    Evaluation::with(&options).engine(&Engine::new(Limits::default())).eval_many(&[&(&x - 3)]).expect("runs");
    let told = Engine::new(Limits::default()).with_profiling(Profiling { perf_map: true, gdb: true });
    Evaluation::with(&options).engine(&told).eval_many(&[&x.sqrt()]).expect("runs");
}

/// Runs a child with this value of the environment variable, and returns the symbols in its map.
fn symbols_with(words: &str) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().expect("the test's own file"));
    child.args(["--exact", "profiling::maps_are_written_on_request", "--test-threads=1"]).env(CHILD, "1");
    // If perf itself started the process, Cranelift would name all code.
    let child = child.env_remove("PERF_BUILDID_DIR").env("BROADLOOM_PERF", words);
    let mut child = child.spawn().expect("the test runs again");
    let map = std::path::PathBuf::from("/tmp").join(format!("perf-{}.map", child.id()));
    assert!(child.wait().expect("it ends").success());
    let text = std::fs::read_to_string(&map).expect("a map");
    std::fs::remove_file(map).expect("removed");
    text.lines().map(|line| line.split(' ').nth(2).expect("a name").to_string()).collect()
}

#[test]
fn maps_are_written_on_request() {
    if std::env::var_os(CHILD).is_some() {
        return compile();
    }
    if (Array::from_vec(vec![1.0f32]) * 2).explain().expect("explains").contains("no compiler") {
        return;
    }
    let has = |symbols: &[String], op: &str| symbols.iter().any(|s| s.ends_with(&format!("_{op}_float32")));
    for (words, follows) in
        [("map", true), ("gdb, map", true), ("", false), ("gdb", false), ("mapped", false)]
    {
        let symbols = symbols_with(words);
        assert!(symbols.iter().all(|symbol| symbol.starts_with("broadloom_")), "{symbols:?}");
        assert!(has(&symbols, "sqrt"), "{words}: {symbols:?}");
        assert_eq!(
            [has(&symbols, "multiply"), has(&symbols, "subtract")],
            [follows; 2],
            "{words}: {symbols:?}"
        );
        assert_eq!(symbols.len(), if follows { 3 } else { 1 }, "{words}: {symbols:?}");
    }
}

/// If the map can't be written, the code is not listed, but the evaluation succeeds. Cranelift's own
/// support would fail.
#[test]
fn a_map_that_cannot_be_written_is_no_failure() {
    if std::env::var_os(CHILD).is_some() {
        let map = std::path::PathBuf::from("/tmp").join(format!("perf-{}.map", std::process::id()));
        std::fs::create_dir(&map).expect("a directory");
        let engine = Engine::new(Limits::default()).with_profiling(Profiling { perf_map: true, gdb: false });
        let x = Array::from_vec(vec![1.5f32; 100]);
        let options = Options { executor: Executor::Jit, ..Options::default() };
        let got = Evaluation::with(&options)
            .engine(&engine)
            .eval_many(&[&(&x * 2)])
            .and_then(|y| y[0].to_vec::<f32>());
        std::fs::remove_dir(map).expect("still a directory");
        assert_eq!(got, Ok(vec![3.0; 100]));
        return;
    }
    for perf_record in [false, true] {
        let mut child = Command::new(std::env::current_exe().expect("the test's own file"));
        child.args(["--exact", "profiling::a_map_that_cannot_be_written_is_no_failure", "--test-threads=1"]);
        child.env(CHILD, "1").env_remove("PERF_BUILDID_DIR");
        if perf_record {
            child.env("PERF_BUILDID_DIR", "/tmp");
        }
        assert!(child.status().expect("the test runs again").success(), "perf record: {perf_record}");
    }
}
