//! Tests the reports of `broadloom-fuzz` on programs without a fault, and the command lines that it rejects.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The temporary directory in which the command runs, removed on drop.
struct Dir(tempfile::TempDir);

/// The exit status, standard output and standard error of a run.
struct ProcessResult {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Dir {
    fn new() -> Dir {
        Dir(tempfile::tempdir().expect("a temporary directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a directory");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("a file is written");
    }

    fn run(&self, args: &[&str]) -> ProcessResult {
        let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom-fuzz"));
        let output = command.args(args).current_dir(self.0.path()).output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        ProcessResult {
            status: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Runs the command, which must succeed and print nothing on standard error, and returns its standard output.
    fn ok(&self, args: &[&str]) -> String {
        let outcome = self.run(args);
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{args:?}");
        outcome.stdout
    }
}

#[test]
fn it_tells_what_was_tried() {
    let told = Dir::new().ok(&["--seed", "3", "--programs", "120"]);
    assert!(told.starts_with("seeds 3 to 122: 120 programs, evaluated "), "{told}");
    assert!(told.contains("programs a second") && told.contains("pairs of a function and a dtype"), "{told}");
}

#[test]
fn it_ends_in_time() {
    let told = Dir::new().ok(&["--seconds", "0.2"]);
    assert!(told.contains(" programs, evaluated "), "{told}");
}

#[test]
fn it_checks_a_program_of_ones_own() {
    let dir = Dir::new();
    dir.write("p.txt", b"x: float32[3] = [1.5, nan, -0.0]\ny = maximum(x, 0.5)\nreturn y, x\n");
    let told = dir.ok(&["--program", "p.txt", "--programs", "30"]);
    assert!(told.contains("30 programs") && told.contains("the rarest is maximum of float32"), "{told}");
    // The extents of this program must not be replaced at random: it could need too much memory.
    dir.write("deep.txt", deep().as_bytes());
    dir.ok(&["--program", "deep.txt", "--programs", "20"]);
    dir.write("p.txt", b"x: float32[3] = [1.5, nan, -0.0]\ny = maximum(x, 0.5)\nreturn y, x\n");
    std::fs::remove_file(dir.path("deep.txt")).expect("there");
    // The results don't differ, so no file is written.
    dir.ok(&["--program", "p.txt", "--programs", "3", "-o", "found.txt"]);
    assert_eq!(dir.names(), ["p.txt"]);
}

fn deep() -> String {
    let elements = vec!["1"; 5040].join(", ");
    format!("x: int8[2,3,4,5,6,7] = [{elements}]\ny = add(x, 1)\nreturn y\n")
}

#[test]
fn what_it_refuses() {
    let dir = Dir::new();
    dir.write("p.txt", b"x: float32[3] = [1.5, nan]\nreturn x\n");
    dir.write("there.txt", b"");
    dir.write("huge.txt", b"x: int8[1] = [1]\ny = broadcast_to(x, [1000000000000])\nreturn y\n");
    for (args, status, message) in [
        (&["--program", "p.txt"][..], 1, "error: p.txt: line 1: 2 elements, not 3\n"),
        (
            &["--program", "huge.txt"],
            1,
            "error: huge.txt: its steps have more than 16777216 elements together\n",
        ),
        (&["--program", "q.txt"], 1, "error: q.txt: No such file or directory (os error 2)\n"),
        (&["-o", "there.txt"], 1, "error: there.txt: the file exists already; write --force to replace it\n"),
    ] {
        let outcome = dir.run(args);
        assert_eq!((outcome.status, &outcome.stderr[..]), (Some(status), message), "{args:?}");
    }
    assert_eq!(dir.run(&["--seconds", "-1"]).status, Some(2));
    assert_eq!(dir.run(&["--seed", "9223372036854775808"]).status, Some(2));
    for nothing in ["--seconds", "--programs"] {
        let outcome = dir.run(&[nothing, "0"]);
        let message = "error: no program was tried: give it more time, or more programs\n";
        assert_eq!((outcome.status, &outcome.stderr[..]), (Some(2), message));
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_with_a_report() {
    use std::process::Stdio;

    let dir = Dir::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom-fuzz"));
    command.args(["--seconds", "600", "-o", "found.txt"]).current_dir(dir.0.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    // When the output file exists, the signal handlers are installed.
    while dir.names().is_empty() {
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(output.stderr, b"error: interrupted\n");
    assert!(dir.names().is_empty(), "{:?}", dir.names());
}
