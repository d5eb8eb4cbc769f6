//! Tests that the scripts print the outputs stored beside them, and that hostile scripts are rejected.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use broadloom_rhai::{Limits, engine};
use npyz::WriterBuilder;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data");

/// Runs a script. Returns what it prints, and its result.
fn run(script: &str, folder: &Path, limits: &Limits) -> (String, Result<(), String>) {
    let printed = Rc::new(RefCell::new(String::new()));
    let mut engine = engine(folder, limits);
    let (to, debug) = (printed.clone(), printed.clone());
    engine.on_print(move |line| *to.borrow_mut() += &format!("{line}\n"));
    engine.on_debug(move |line, _, _| *debug.borrow_mut() += &format!("{line}\n"));
    let end = engine.run(script).map_err(|e| e.to_string());
    drop(engine);
    (printed.take(), end)
}

fn fails(script: &str, limits: &Limits) -> String {
    run(script, Path::new(DATA), limits).1.expect_err(script)
}

/// `BLESS=1 cargo test -p broadloom-rhai` writes the expected outputs; review the difference.
#[test]
fn scripts_print_what_is_expected() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts"));
    let mut scripts = 0;
    for entry in fs::read_dir(folder).expect("the scripts") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "rhai") {
            continue;
        }
        scripts += 1;
        let script = fs::read_to_string(&path).expect("a script");
        let (printed, end) = run(&script, Path::new(DATA), &Limits::default());
        assert_eq!(end, Ok(()), "{}", path.display());
        let expected = path.with_extension("out");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&expected, &printed).expect("written");
        }
        assert_eq!(printed, fs::read_to_string(expected).expect("expected output"), "{}", path.display());
    }
    assert_eq!(scripts, 4);
}

#[test]
fn mistakes_are_rhai_errors_with_a_position() {
    for (script, error) in [
        (
            "let x = array([1, 2, 3]);\nlet y = x +\n  array([1, 2]);",
            "Runtime error: add: cannot broadcast int64[3] with int64[2] (axis -1: 3 and 2) (line 2, position 11)",
        ),
        ("array([1]) + \"a\"", "Runtime error: neither an array nor a number: string (line 1, position 12)"),
        ("sqrt(\"a\")", "Runtime error: neither an array nor a number: string (line 1, position 1)"),
        ("\n array([[1], [2, 3]])", "Runtime error: array: rows of 1 and 2 elements (line 2, position 2)"),
        ("array([[1], 2])", "Runtime error: array: a row beside a i64 (line 1, position 1)"),
        (
            "array([true, 2])",
            "Runtime error: array: neither a number nor a truth value: i64 (line 1, position 1)",
        ),
        ("array([1]).astype(\"floot32\")", "Runtime error: \"floot32\" is not a dtype (line 1, position 12)"),
        (
            "array([1]).astype(\"int8\") + 1000",
            "Runtime error: add: 1000 cannot be represented as int8 (line 1, position 27)",
        ),
        ("print(item(arange(2)))", "Runtime error: item: [2] has 2 elements, not 1 (line 1, position 7)"),
    ] {
        assert_eq!(fails(script, &Limits::default()), error);
    }
    let condition = fails("if array([1]) > 0 { print(1) }", &Limits::default());
    assert!(condition.contains("expecting bool"), "{condition}");
}

#[test]
fn hostile_scripts_come_to_an_end() {
    // Each row contains a script and a part of its error. The scripts have endless loops, deep and wide
    // values, long expressions, large results, or much work.
    for (script, error) in [
        ("loop { }", "Too many operations"),
        ("let x = array([1.5]); loop { x = x * x + 1; }", "Too many operations"),
        ("fn f(x) { f(x + 1) } f(array([1]))", "Stack overflow"),
        ("let s = \"a\"; loop { s += s; }", "Length of string too large"),
        ("let a = [1]; loop { a = [a]; }", "Size of array/BLOB too large"),
        ("let a = [1]; for i in 0..70 { a = [a]; } array(a)", "neither a number nor a truth value: array"),
        (
            "let x = array([1.5]); for i in 0..6000 { x = x * x + 1; } print(x)",
            "more nodes than the limit of 10000",
        ),
        ("arange(900000000000)", "limit of bytes"),
        ("let x = arange(10000); print(x.reshape([10000, 1]) + x)", "limit of bytes"),
        ("let all = []; loop { all.push((arange(400000) * 2).compute()); }", "limit of bytes"),
        (
            "let x = arange(100000) * 1.0; let y = x; for i in 0..4400 { y = y ** 1.1; } print(y)",
            "limit of work",
        ),
        ("eval(\"1\")", "'eval' is disabled"),
        ("import \"x\" as x;", "import"),
    ] {
        let limits = Limits { bytes: 64 << 20, work: 400_000_000, ..Limits::default() };
        let got = fails(script, &limits);
        assert!(got.contains(error), "{script}: {got}");
    }
}

#[test]
fn mistakes_in_loops_are_errors() {
    for (functions, error) in [
        ("|s| s[0], |s| s, 9", "the condition must be bool, not float64"),
        ("|s| s[0] > 0, |s| 1, 9", "while_loop: the body returns a i64, not a list"),
        ("|s| s[0] > 0, |s| [s[0] > 0], 9", "carried value 0 is float64, but becomes bool"),
        ("|s| s[0] > 0, |s| [s[0], 1], 9", "the body takes 1 carried value, but returns 2"),
        ("|s| s[0] > 0, |s| s[0].t(), 9", "not a list"),
        ("|s| s[0] > 0, |s| [s[1]], 9", "Array index 1 out of bounds"),
        ("|s| s[0] > 0, |s| [\"a\"], 9", "neither an array nor a number: string"),
        ("|s| s[0] > 0, |s| [item(s[0])], 9", "a carried value is used outside of the loop"),
        ("|s| s[0] > 0, |s| s, -1", "while_loop: the limit is -1"),
    ] {
        let got = fails(&format!("while_loop([array([1.0])], {functions})"), &Limits::default());
        assert!(got.contains(error), "{functions}: {got}");
    }
}

/// The time of all evaluations has a limit. The second loop has only what the first one has left.
#[test]
fn loops_come_to_an_end() {
    let limits = Limits { time: Duration::from_millis(300), ..Limits::default() };
    let script = "let x = while_loop([array([0.0])], |s| s[0] >= 0, |s| [s[0] + 1], 1000000000000)[0]; \
                  try { print(x) } catch (e) { print(e) } print(x)";
    let begun = Instant::now();
    let (printed, end) = run(script, Path::new(DATA), &limits);
    let error = end.expect_err("endless");
    assert!(printed.contains("time limit") && error.contains("time limit"), "{printed}{error}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// If computing an array for a text exceeds the limits, Rhai writes the name of its type instead, and the
/// array is not computed.
#[test]
fn text_made_of_arrays_is_within_the_limits_too() {
    let limits = Limits { bytes: 1 << 20, ..Limits::default() };
    let script = "let x = arange(1000); let s = `${x.reshape([1000, 1]) + x}`; print(s); print(`${x.t() + 1}`.len() > 20)";
    let (printed, end) = run(script, Path::new(DATA), &limits);
    assert_eq!((&*printed, end), ("lazy array\ntrue\n", Ok(())));
}

#[test]
fn files_are_those_of_the_folder_and_as_long_as_they_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let mut bytes = Vec::new();
    let options = npyz::WriteOptions::new().default_dtype().order(npyz::Order::Fortran).shape(&[2, 3]);
    let mut writer = options.writer(&mut bytes).begin_nd().expect("a header");
    writer.extend([1i16, 2, 3, 4, 5, 6]).expect("written");
    writer.finish().expect("written");
    fs::write(path("columns.npy"), &bytes).expect("written");
    fs::write(path("short.npy"), &bytes[..bytes.len() - 1]).expect("written");
    let text = String::from_utf8_lossy(&bytes).replace("(2, 3)", "(9999999999, 9999999999)");
    fs::write(path("liar.npy"), text.as_bytes()).expect("written");
    fs::write(path("junk.npy"), b"no header").expect("written");
    let print = |name: &str| run(&format!("print(load(\"{name}\"))"), folder.path(), &Limits::default());
    assert_eq!(print("columns.npy"), ("[[1 3 5]\n [2 4 6]]\n".to_owned(), Ok(())));
    for name in [
        "short.npy",
        "liar.npy",
        "junk.npy",
        "absent.npy",
        "../columns.npy",
        "/etc/passwd",
        ".npy",
        "a/b.npy",
    ] {
        let (printed, end) = print(name);
        let error = end.expect_err(name);
        assert!(printed.is_empty() && error.starts_with("Runtime error: load: "), "{error}");
    }
}

/// Runs the commands of the README, unchanged, from the root of the repository.
#[cfg(unix)]
#[test]
fn the_commands_of_the_readme_work() {
    let lines = include_str!("../README.md").lines();
    let commands: Vec<&str> =
        lines.filter_map(|line| line.strip_prefix("cargo run --release -p broadloom-rhai -- ")).collect();
    assert!(!commands.is_empty());
    for command in commands {
        let script = format!("'{}' {command}", env!("CARGO_BIN_EXE_broadloom-rhai"));
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let done = std::process::Command::new("sh").args(["-c", &script]).current_dir(root).output();
        let done = done.expect("it runs");
        assert!(done.status.success() && !done.stdout.is_empty(), "{command}: {done:?}");
    }
}
