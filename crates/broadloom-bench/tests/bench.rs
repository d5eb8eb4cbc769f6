//! Tests the output of `broadloom-bench`, and the command lines that it rejects.

use std::process::{Command, Output};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom-bench"));
    command.arg("--quick").args(args).output().expect("the command starts")
}

/// Runs the command, which must succeed and print nothing on standard error, and returns its
/// standard output.
fn told(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Runs the command with `--json`, and returns the parsed lines.
fn lines(args: &[&str]) -> Vec<Value> {
    let told = told(&[&["--json"], args].concat());
    told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn every_workload_has_a_line_of_json() {
    let lines = lines(&["-n", "1e2"]);
    assert!(lines.len() > 35, "{}", lines.len());
    for line in &lines {
        let is = |key: &str, of: fn(&Value) -> bool| assert!(line.get(key).is_some_and(of), "{key}: {line}");
        is("workload", Value::is_string);
        is("dtype", Value::is_string);
        is("n", |n| *n == 100);
        is("threads", |n| *n == 1);
        is("executor", |e| *e == "interp" || *e == "jit");
        is("asked", |e| *e == "auto");
        is("lazy", |lazy| *lazy == false);
        for key in ["ns_per_elem", "gb_s", "loop_ratio", "copy_ratio", "loop_ns_per_elem", "copy_gb_s"] {
            is(key, |x| x.as_f64().is_some_and(|x| x >= 0.0));
        }
    }
}

#[test]
fn keys_come_in_an_order_that_scripts_may_cut() {
    let told = told(&["--json", "-n", "10", "-w", "add", "--dtype", "float64"]);
    let start = r#"{"workload":"add","dtype":"float64","n":10,"threads":1,"executor":"#;
    assert!(told.starts_with(start), "{told}");
    let keys: Vec<usize> = ["executor", "ns_per_elem", "gb_s", "loop_ratio", "copy_ratio"]
        .iter()
        .map(|key| told.find(&format!("\"{key}\"")).expect("a key"))
        .collect();
    assert!(keys.is_sorted(), "{told}");
}

#[test]
fn what_is_asked_for_is_measured() {
    let count = |args: &[&str]| lines(args).len();
    assert_eq!(count(&["-n", "10", "-n", "2e1", "-w", "triad"]), 4);
    assert_eq!(count(&["-n", "10", "-w", "triad", "-w", "i32_floordiv", "--dtype", "int32"]), 1);
    let by = lines(&["-n", "1000", "-w", "pow", "--dtype", "float32", "--executor", "interp,jit"]);
    assert_eq!(by.iter().map(|line| &line["executor"]).collect::<Vec<_>>(), ["interp", "jit"]);
    let lazy = lines(&["-n", "10", "-w", "ne_cmp", "-w", "i32_floordiv", "-w", "add", "--lazy"]);
    assert!(lazy.len() == 5 && lazy.iter().all(|line| line["lazy"] == true));
    let shared = lines(&["-n", "70000", "-w", "transposed", "--threads", "2"]);
    assert!(shared.len() == 2 && shared.iter().all(|line| line["threads"] == 2 && line["n"] == 70_000));
}

#[test]
fn the_table_has_a_heading() {
    let told = told(&["-n", "10", "-w", "f16_axpy"]);
    let lines: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert_eq!(lines[0][..5], ["workload", "dtype", "n", "executor", "ns/elem"]);
    assert_eq!(lines[1][..3], ["f16_axpy", "float16", "10"]);
    assert_eq!(lines[2][..3], ["f16_axpy", "float32", "10"]);
}

#[test]
fn what_it_refuses() {
    for (args, message) in [
        (&["-w", "traid"][..], "did you mean `triad`? there are copy, add, triad,"),
        (&["-w", "frobnicate"], "there are copy, add, triad,"),
        (&["--dtype", "flaot32"], "did you mean `float32`?"),
        (&["-n", "1.5"], "not a whole number from 1 to 1e9"),
        (&["-n", "lots"], "not a number"),
        (&["-n", "10", "--threads", "0"], "invalid value"),
        (
            &["-n", "10", "-w", "add", "--dtype", "int8"],
            "error: none of the workloads has one of these dtypes\n",
        ),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.contains(message), "{args:?}: {complaint}");
    }
}
