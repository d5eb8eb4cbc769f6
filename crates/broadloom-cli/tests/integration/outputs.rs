//! Mistakes that would lose results: the same file for two outputs or for an output and an input, and a closed standard output.

use crate::support::{ArrayElement, CommandRun, Dir, Npy};

fn npy(values: &[f64]) -> Npy {
    Npy { descr: "<f8".into(), shape: vec![values.len() as u64], fortran: false, data: f64::bytes(values) }
}

fn files() -> Dir {
    let dir = Dir::new();
    dir.array("x.npy", &[3], &[1.0f64, 2.0, 3.0]);
    std::fs::create_dir(dir.path("sub")).expect("a directory");
    dir
}

const TWO: &str = "return a = x + 1, b = x * 2";

/// Runs the command, which must fail before anything is written.
fn refused(dir: &Dir, args: &[&str], words: &str) -> CommandRun {
    let before = dir.names();
    let outcome = dir.run(&[&["eval"], args].concat());
    assert_eq!(outcome.status, Some(2), "{args:?}: {}", outcome.stderr);
    assert!(outcome.stderr.contains(words), "{args:?}: {}", outcome.stderr);
    assert_eq!((outcome.stdout.as_str(), dir.names()), ("", before), "{args:?}");
    outcome
}

#[test]
fn two_outputs_that_are_one_file_are_refused() {
    let dir = files();
    let absolute = dir.path("w.npy").display().to_string();
    for (first, other) in [
        ("w.npy", "./w.npy"),
        ("w.npy", "sub/../w.npy"),
        ("w.npy", ".//w.npy"),
        ("w.npz", "./w.npz"),
        ("w.csv", "./w.csv"),
        ("w.npy", &*absolute),
    ] {
        let (a, b) = (format!("a={first}"), format!("b={other}"));
        let both = ["x=x.npy", "-o", &a, "-o", &b];
        for force in [&[][..], &["--force"]] {
            let outcome =
                refused(&dir, &[&[TWO], &both[..], force].concat(), "two results can't be one file");
            assert!(outcome.stderr.contains(&format!("`{first}` and `{other}` are the same")));
        }
    }
    let picture = ["x", "x=x.npy", "-o", "w", "--plot", "./w"];
    refused(&dir, &picture, "the result and its picture can't be one file");
    let page = ["x", "x=x.npy", "-o", "w", "--explain-html", "./w"];
    refused(&dir, &page, "the explanation needs a file of its own");
    // Different names refer to different files, also if only one of the files exists.
    dir.ok(&["eval", TWO, "x=x.npy", "-o", "a=w.npy", "-o", "b=sub/w.npy"]);
    let again = ["-o", "a=w.npy", "-o", "b=W.npy", "-o", "b=ẅ.npy", "-o", "a=Ẅ.npy", "--force"];
    let outcome = dir.run(&[&["eval", TWO, "x=x.npy"], &again[..]].concat());
    // Success or failure depends on whether the file system is case-sensitive.
    assert!(matches!(outcome.status, Some(0 | 2)), "{}", outcome.stderr);
    assert!(!dir.names().iter().any(|name| name.starts_with('.')), "{:?}", dir.names());
}

#[cfg(unix)]
#[test]
fn links_to_one_file_are_one_output() {
    let dir = files();
    let outcome = dir.shell(
        "ln -s w.npy soft.npy; ln -s sub folder; ln -s soft.npy softer.npy; : > old.npy; ln old.npy hard.npy",
    );
    assert_eq!(outcome.status, Some(0));
    for (first, other) in [
        ("w.npy", "soft.npy"),
        ("softer.npy", "soft.npy"),
        ("sub/w.npy", "folder/w.npy"),
        ("folder/../w.npy", "softer.npy"),
        ("old.npy", "hard.npy"),
    ] {
        let (a, b) = (format!("a={first}"), format!("b={other}"));
        refused(&dir, &[TWO, "x=x.npy", "-o", &a, "-o", &b, "--force"], "two results can't be one file");
    }
}

/// The output replaces the input after the whole input has been read. It therefore needs `--force`, and the result is then
/// correct, however the path is spelled.
#[cfg(unix)]
#[test]
fn an_output_that_is_an_input_needs_force_and_is_right_then() {
    for name in ["x.npy", "./x.npy", "sub/../x.npy", "soft.npy", "hard.npy"] {
        let dir = files();
        dir.shell("ln -s x.npy soft.npy; ln x.npy hard.npy");
        let args = ["eval", "x[::-1] + x", "x=x.npy", "-o", name, "--max-bytes", "48"];
        let outcome = dir.run(&args);
        assert_eq!(outcome.status, Some(1));
        assert!(outcome.stderr.contains("exists already"), "{}", outcome.stderr);
        assert_eq!(dir.read("x.npy"), npy(&[1.0, 2.0, 3.0]));
        dir.ok(&[&args[..], &["--force"]].concat());
        assert_eq!(dir.read(name), npy(&[4.0, 4.0, 4.0]), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn standard_output_is_no_file_that_is_read_or_replaced() {
    let dir = files();
    dir.shell("cp x.npy in.npy; ln x.npy hard.npy");
    let all = std::fs::read(dir.path("x.npy")).expect("a file");
    for (script, words) in [
        ("eval x x=x.npy -o - 1<> x.npy", "standard output goes to `x.npy`, which is an input"),
        ("eval x x=x.npy -o - >> x.npy", "standard output goes to `x.npy`, which is an input"),
        ("eval x x=x.npy >> hard.npy", "standard output goes to `x.npy`, which is an input"),
        ("eval x x=x.npy --explain >> x.npy", "standard output goes to `x.npy`, which is an input"),
        (
            "eval 'return a = x, b = x' x=x.npy -o a=in.npy -o b=- --force >> in.npy",
            "standard output goes to `in.npy`, which another output replaces",
        ),
        (
            "eval x x=x.npy -o in.npy --explain --force >> in.npy",
            "standard output goes to `in.npy`, which another output replaces",
        ),
    ] {
        let outcome = dir.shell(&format!("\"$broadloom\" {script}"));
        assert_eq!(outcome.status, Some(2), "{script}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{script}: {}", outcome.stderr);
        for name in ["x.npy", "in.npy"] {
            assert_eq!(std::fs::read(dir.path(name)).expect("a file"), all, "{script}");
        }
    }
    // Accepted are other files, and input files that are not written.
    let outcome =
        dir.shell("\"$broadloom\" eval x x=x.npy >> log.txt; \"$broadloom\" eval x x=- -o - < x.npy > y.npy");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    assert_eq!(dir.read("y.npy"), npy(&[1.0, 2.0, 3.0]));
}

/// As in coreutils, a closed standard output is an error if the command would write to it. The error comes before any
/// computation.
#[cfg(unix)]
#[test]
fn a_closed_standard_output_is_an_error() {
    let dir = files();
    let before = dir.names();
    for args in [
        "eval x x=x.npy",
        "eval x x=x.npy -o -",
        "eval 'return a = x, b = x + 1' x=x.npy -o a=a.npy -o b=-",
        "eval x x=x.npy -o x2.npy --explain",
        "ops",
        "completions bash",
        "--version",
        "eval --help",
    ] {
        let outcome = dir.shell(&format!("\"$broadloom\" {args} >&-"));
        assert_eq!(outcome.status, Some(1), "{args}: {}", outcome.stderr);
        assert!(
            outcome.stderr.starts_with("error: standard output: Bad file descriptor"),
            "{}",
            outcome.stderr
        );
        assert_eq!(dir.names(), before, "{args}");
    }
    // A closed standard output is not an error if the command does not write to it, and neither is a redirection to /dev/null.
    let script = "\"$broadloom\" eval x x=x.npy -o y.npy >&- && \"$broadloom\" eval x x=x.npy > /dev/null && \
                  \"$broadloom\" eval x x=x.npy -o - 1<> /dev/null";
    let outcome = dir.shell(script);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    assert_eq!(dir.read("y.npy"), npy(&[1.0, 2.0, 3.0]));
}

/// If the reader of standard output closes it early, the other results are still written.
#[cfg(unix)]
#[test]
fn a_reader_that_leaves_costs_no_other_result() {
    let dir = files();
    dir.array("wide.npy", &[1 << 17], &vec![0.5f64; 1 << 17]);
    let script = "{ \"$broadloom\" eval 'return a = w + 1, b = w * 2' w=wide.npy -o a=- -o b=b.npy --max-bytes 64K; \
                  echo $? >&2; } | head -c 1 > /dev/null";
    let outcome = dir.shell(script);
    assert_eq!(outcome.stderr, "0\n");
    assert_eq!(dir.read("b.npy").data, f64::bytes(&vec![1.0; 1 << 17]));
}

/// Paths at which no file can be created are rejected before anything is computed.
#[test]
fn paths_that_are_no_files_are_refused() {
    let dir = files();
    let before = dir.names();
    for path in ["w.npy/", "sub", "sub/.."] {
        let outcome = dir.run(&["eval", "x", "x=x.npy", "-o", path, "--force"]);
        assert_eq!(outcome.status, Some(1), "{path}");
        assert_eq!(outcome.stderr, format!("error: {path}: not a regular file\n"));
        assert_eq!(dir.names(), before);
    }
    #[cfg(unix)]
    {
        let outcome = dir.shell("\"$broadloom\" eval x x=x.npy -o /dev/stdout --force | cat");
        assert_eq!(outcome.stderr, "error: /dev/stdout: not a regular file\n");
    }
}
