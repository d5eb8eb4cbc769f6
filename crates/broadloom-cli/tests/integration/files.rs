//! Inputs and outputs other than one `.npy` file: streams, archives, tables, several results, expressions in files.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{ArrayElement, Dir, Npy, deflated, header};

fn npy<T: ArrayElement>(shape: &[u64], values: &[T]) -> Npy {
    Npy { descr: T::DESCR.into(), shape: shape.to_vec(), fortran: false, data: T::bytes(values) }
}

/// Runs the command with these bytes on standard input. Returns the exit status, standard output and standard error.
fn piped(dir: &Dir, args: &[&str], input: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_broadloom"))
        .args(args)
        .current_dir(dir.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // The command may exit before it has read everything.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().expect("the command ends");
    (output.status.code(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn several_results() {
    let dir = Dir::new();
    dir.array("x.npy", &[3], &[1.0f32, 2.0, 3.0]);
    dir.array("m.npy", &[2, 2], &[1i32, 2, 3, 4]);
    let sums = "s = x + 1; return twice = s * 2, is_large = s > 2, half = s / 2";
    for chunk in ["48", "64M"] {
        let args =
            ["eval", sums, "x=x.npy", "-o", "twice=t.npy", "-o", "is_large=l.npy", "--max-bytes", chunk];
        dir.ok(&[&args[..], &["--force"]].concat());
        assert_eq!(dir.read("t.npy"), npy(&[3], &[4.0f32, 6.0, 8.0]));
        assert_eq!(dir.read("l.npy"), npy(&[3], &[false, true, true]));
    }
    assert_eq!(dir.names(), ["l.npy", "m.npy", "t.npy", "x.npy"]);
    // Results of several shapes, some of them views.
    let shapes = "return a = m[0], b = m * 2, c = x[::-1]";
    dir.ok(&[
        "eval", shapes, "x=x.npy", "m=m.npy", "-o", "a=a.npy", "-o", "b=b.npy", "-o", "c=c.npy", "--plot",
        "b=b.png",
    ]);
    assert_eq!(dir.read("a.npy"), npy(&[2], &[1i32, 2]));
    assert_eq!(dir.read("b.npy"), npy(&[2, 2], &[2i32, 4, 6, 8]));
    assert_eq!(dir.read("c.npy"), npy(&[3], &[3.0f32, 2.0, 1.0]));
    assert!(std::fs::read(dir.path("b.png")).expect("a picture").starts_with(b"\x89PNG"));
    // A picture of a result that is not written to any file.
    dir.ok(&["eval", shapes, "x=x.npy", "m=m.npy", "--plot", "b=c.png"]);
    assert_eq!(std::fs::read(dir.path("b.png")).ok(), std::fs::read(dir.path("c.png")).ok());
    // If no output file is given, the results are printed.
    assert_eq!(
        dir.ok(&["eval", sums, "x=x.npy"]),
        "twice =\n[4. 6. 8.]\nis_large =\n[False  True  True]\nhalf =\n[1.  1.5 2. ]\n"
    );
    // A single result may be named too.
    dir.ok(&["eval", "y = x + 1; return y", "x=x.npy", "-o", "y=y.npy"]);
    dir.ok(&["eval", "x + 1", "x=x.npy", "-o", "result=r.npy"]);
    assert_eq!(dir.read("y.npy"), dir.read("r.npy"));
}

#[test]
fn several_results_appear_together() {
    let dir = Dir::new();
    dir.array("i.npy", &[3], &[1i32, 0, 2]);
    dir.write("there.npy", b"");
    let before = dir.names();
    for output in ["b=there.npy", "b=no/b.npy"] {
        let args = ["eval", "return a = i + 1, b = i * 2", "i=i.npy", "-o", "a=a.npy", "-o", output];
        assert_eq!(dir.run(&args).status, Some(1));
        assert_eq!(dir.names(), before);
    }
    let fails = "return a = i + 1, b = 1 // i";
    let args = [
        "eval",
        fails,
        "i=i.npy",
        "-o",
        "a=a.npy",
        "-o",
        "b=b.npy",
        "--int-div-zero",
        "error",
        "--max-bytes",
        "64",
    ];
    assert_eq!(dir.run(&args).status, Some(1));
    assert_eq!(dir.names(), before);
    // Nothing is written to standard output if another output is rejected.
    let outcome = dir.run(&["eval", "i", "i=i.npy", "-o", "-", "-o", "there.npy"]);
    assert_eq!((outcome.status, &*outcome.stdout), (Some(1), ""));
    for (output, words) in [
        (&["-o", "c=c.npy"][..], "there is no result `c`; the results are `a`, `b`"),
        (&["-o", "a.npy"], "write NAME=FILE for each of `a`, `b`, or one .npz file for all"),
        (&["-o", "a=x.npz", "-o", "b=x.npz"], "`-o x.npz` alone takes all of them"),
    ] {
        let outcome = dir.run(&[&["eval", "return a = i + 1, b = i * 2", "i=i.npy"], output].concat());
        assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn texts_in_files() {
    let dir = Dir::new();
    dir.array("x.npy", &[3], &[1.0f32, 2.0, 3.0]);
    dir.write("half.txt", "def half(x) = x / 2 # one\n\nreturn y = half(x)\n".as_bytes());
    assert_eq!(dir.ok(&["eval", "-f", "half.txt", "x=x.npy"]), "[0.5 1.  1.5]\n");
    assert_eq!(dir.ok(&["eval", "x=x.npy", "--file", "half.txt"]), "[0.5 1.  1.5]\n");
    let (status, out, _) = piped(&dir, &["eval", "-f", "-", "x=x.npy"], b"x + 1\n");
    assert_eq!((status, &*out), (Some(0), &b"[2. 3. 4.]\n"[..]));
    dir.write("wrong.txt", b"y = x\nreturn y +* 2\n");
    dir.write("latin.txt", b"x \xe4");
    for (args, status, words) in [
        (&["eval", "-f", "wrong.txt", "x=x.npy"][..], 2, "wrong.txt:2:11"),
        (&["eval", "-f", "latin.txt", "x=x.npy"], 1, "latin.txt: not UTF-8 text"),
        (&["eval", "-f", "none.txt", "x=x.npy"], 1, "none.txt: No such file"),
        (&["eval", "wrong.txt", "x=x.npy"], 2, "to read the expression from a file, write `-f wrong.txt`"),
        (&["eval", "-", "x=x.npy"], 2, "write `-f -`"),
    ] {
        let outcome = dir.run(args);
        assert_eq!(outcome.status, Some(status), "{args:?} {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{args:?} {}", outcome.stderr);
    }
}

#[test]
fn standard_input_and_output() {
    let dir = Dir::new();
    let x = [header("<f4", &[3], false, 0), f32::bytes(&[1.0, 2.0, 3.0])].concat();
    let (status, out, told) = piped(&dir, &["eval", "x * 2", "x=-", "-o", "-"], &x);
    assert_eq!((status, &*told), (Some(0), ""));
    dir.write("out.npy", &out);
    assert_eq!(dir.read("out.npy"), npy(&[3], &[2.0f32, 4.0, 6.0]));
    // Data after the array is not read; missing data is reported.
    let (status, out, _) = piped(&dir, &["eval", "x", "x=-"], &[&x[..], b"more"].concat());
    assert_eq!((status, &*out), (Some(0), &b"[1. 2. 3.]\n"[..]));
    for (input, words) in [
        (
            &x[..x.len() - 5],
            "standard input: the file is truncated: float32[3] takes 12 bytes, of which 5 are missing",
        ),
        (&x[..40], "standard input: the file is truncated within its header"),
        (b"", "standard input: not a .npy file: it is empty"),
        (b"1,2\n", "standard input: not a .npy file: it begins with `1,2`"),
    ] {
        let (status, _, told) = piped(&dir, &["eval", "x", "x=-"], input);
        assert!(status == Some(1) && told.contains(words), "{told}");
    }
    // Pipes of commands, and redirected files.
    #[cfg(unix)]
    {
        dir.write("x.npy", &x);
        let script = "cat x.npy | \"$broadloom\" eval 'x + 1' x=- -o - | \"$broadloom\" eval 'y * y' y=-; \
                      \"$broadloom\" eval 'x + 1' x=- < x.npy; \"$broadloom\" eval x x=/dev/stdin < x.npy";
        let outcome = dir.shell(script);
        assert_eq!((&*outcome.stdout, &*outcome.stderr), ("[ 4.  9. 16.]\n[2. 3. 4.]\n[1. 2. 3.]\n", ""));
    }
}

/// A named pipe is read as a stream, and symbolic links are followed for inputs and outputs.
#[cfg(unix)]
#[test]
fn pipes_and_links() {
    let dir = Dir::new();
    dir.array("x.npy", &[3], &[1.0f32, 2.0, 3.0]);
    dir.write("t.csv", b"1,2\n3,4\n");
    let script = "mkfifo p q.csv; cat x.npy > p & cat t.csv > q.csv & \
                  \"$broadloom\" eval 'x + 1' x=p; \"$broadloom\" eval 't' t=q.csv; wait; rm p q.csv; \
                  ln -s x.npy in.npy; ln -s later.npy out.npy; \"$broadloom\" eval 'x * 2' x=in.npy -o out.npy";
    let outcome = dir.shell(script);
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("[2. 3. 4.]\n[[1. 2.]\n [3. 4.]]\n", ""));
    assert_eq!(dir.names(), ["in.npy", "later.npy", "out.npy", "t.csv", "x.npy"]);
    assert!(dir.path("out.npy").is_symlink());
    assert_eq!(dir.read("later.npy"), npy(&[3], &[2.0f32, 4.0, 6.0]));
}

/// The path of an archive in tests/data. Python's `zipfile` wrote it in the way of `numpy.savez` and `numpy.savez_compressed`,
/// with a float32 array `x` and an int16 array `n`.
fn archive(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).display().to_string()
}

#[test]
fn archives() {
    let dir = Dir::new();
    for name in ["stored.npz", "deflated.npz"] {
        let file = archive(name);
        let read = |expression: &str, input: &str| dir.ok(&["eval", expression, input]);
        assert_eq!(read("y + 1", &format!("y={file}:x")), "[1.5 2.5 3.5]\n");
        assert_eq!(read("y + 1", &format!("y={file}:n.npy")), "[ 2 -1  4 -3]\n");
        assert_eq!(read("n + 1", &format!("n={file}")), "[ 2 -1  4 -3]\n");
        for (input, words) in [
            (format!("y={file}"), "it has several arrays: `x`, `n`; write FILE.npz:NAME for one of them"),
            (format!("y={file}:z"), "it has no array `z`, but `x`, `n`"),
        ] {
            let outcome = dir.run(&["eval", "y", &input]);
            assert!(outcome.status == Some(1) && outcome.stderr.contains(words), "{}", outcome.stderr);
        }
    }
    // Every truncation of an archive is an error, and so is every change to a byte of compressed data.
    for name in ["stored.npz", "deflated.npz"] {
        let whole = std::fs::read(archive(name)).expect("an archive");
        for length in (0..whole.len()).step_by(37) {
            dir.write("cut.npz", &whole[..length]);
            let outcome = dir.run(&["eval", "x", "x=cut.npz"]);
            assert_eq!(outcome.status, Some(1), "{name} {length}");
            assert!(outcome.stderr.starts_with("error: cut.npz: "), "{}", outcome.stderr);
        }
    }
    let mut changed = std::fs::read(archive("deflated.npz")).expect("an archive");
    changed[120] ^= 0x10;
    dir.write("changed.npz", &changed);
    assert_eq!(dir.run(&["eval", "x", "x=changed.npz"]).status, Some(1));
}

/// A few kilobytes may decompress to gigabytes. A member is decompressed only to the size that its header declares.
#[test]
fn members_that_inflate_beyond_their_promise() {
    let dir = Dir::new();
    let member =
        |surplus: usize| [header("<f8", &[2], false, 0), f64::bytes(&[1.0, 2.0]), vec![0; surplus]].concat();
    dir.write("some.npz", &deflated(&[("x.npy", &member(1000))]));
    assert_eq!(dir.ok(&["eval", "x", "x=some.npz"]), "[1. 2.]\n");
    dir.write("bomb.npz", &deflated(&[("x.npy", &member(100 << 20))]));
    let outcome = dir.run(&["eval", "x", "x=bomb.npz"]);
    assert_eq!(outcome.status, Some(1));
    let why = "error: bomb.npz: `x.npy`: more follows the 144 bytes that its header promises\n";
    assert_eq!(outcome.stderr, why);
}

/// If the directory for temporary files is missing or full, the message does not name the input as the cause.
#[cfg(unix)]
#[test]
fn temporary_files_that_cannot_be_made() {
    let dir = Dir::new();
    dir.write("x.npz", &deflated(&[("x.npy", &[header("<f8", &[9000], false, 0), vec![0; 72000]].concat())]));
    dir.write("t.csv", &b"1,2\n".repeat(9000));
    dir.array("x.npy", &[9000], &vec![0.5f64; 9000]);
    for input in ["x=x.npz", "x=t.csv", "x=- < x.npy"] {
        let script = format!("\"$broadloom\" eval 'x + 1' {input}");
        let outcome = dir.shell(&format!("TMPDIR=/missing/folder; export TMPDIR; {script}"));
        assert_eq!(outcome.status, Some(1), "{script}");
        let why = "no temporary file can be created in /missing/folder: No such file or directory (os error 2); \
                   TMPDIR names another folder\n";
        assert!(outcome.stderr.ends_with(why), "{}", outcome.stderr);
        let outcome = dir.shell(&format!("ulimit -f 8; {script}"));
        assert_eq!(outcome.status, Some(1), "{script}");
        assert!(outcome.stderr.contains(": a temporary file in "), "{}", outcome.stderr);
    }
}

#[test]
fn archives_are_written() {
    let dir = Dir::new();
    dir.array("x.npy", &[3], &[1.0f32, 2.0, 3.0]);
    dir.npy("f.npy", "<i4", &[2, 2], true, &i32::bytes(&[1, 3, 2, 4]));
    let program = "return sum = x + 1, is_large = x > 1.5, m = f * 2";
    dir.ok(&["eval", program, "x=x.npy", "f=f.npy", "-o", "all.npz", "-o", "m=m.npz", "-o", "sum=s.npy"]);
    for (expression, input, text) in [
        ("a", "a=all.npz:sum", "[2. 3. 4.]\n"),
        ("a", "a=all.npz:is_large", "[False  True  True]\n"),
        ("a", "a=all.npz:m", "[[2 4]\n [6 8]]\n"),
        ("a", "a=m.npz", "[[2 4]\n [6 8]]\n"),
    ] {
        assert_eq!(dir.ok(&["eval", expression, input]), text);
    }
    dir.ok(&["eval", "f + 1", "f=f.npy", "-o", "one.npz", "-o", "one.npy", "--plot", "one.png"]);
    assert_eq!(dir.ok(&["eval", "a", "a=one.npz:result"]), "[[2 3]\n [4 5]]\n");
    assert!(dir.read("one.npy").fortran);
    assert_eq!(dir.names(), ["all.npz", "f.npy", "m.npz", "one.npy", "one.npz", "one.png", "s.npy", "x.npy"]);
}

#[test]
fn tables() {
    let dir = Dir::new();
    dir.write("t.csv", b"height, weight\n1.5,70\n\"2\",\n1e0, nan\r\n");
    dir.write("plain.csv", b"1,2\n3,4\n");
    dir.write("column.csv", b"1\n2.5\n-3\n");
    dir.write("words.csv", b"a,b\n1,2\n3,four\n");
    dir.write("ragged.csv", b"1,2\n3\n");
    dir.write("semi.csv", b"a;b\n1;2\n");
    dir.write("empty.csv", b"");
    dir.write("open.csv", b"\"a,b\n1,2\n3,4\n");
    dir.write("below.csv", b"x,\"two\nlines\",\"b\n1,2,3\n4,5,6\n");
    dir.write("paired.csv", b"\"a\n1\n2\n\"3\"\n4\n");
    dir.write("breaks.csv", b"\"height\n(cm)\",w\n1,2\n");
    let eval = |expression: &str, input: &str| dir.ok(&["eval", expression, input]);
    assert_eq!(eval("t", "t=t.csv"), "[[ 1.5 70. ]\n [ 2.   nan]\n [ 1.   nan]]\n");
    assert_eq!(eval("h", "h=t.csv:height"), "[1.5 2.  1. ]\n");
    assert_eq!(eval("h", "h=t.csv:1"), "[70. nan nan]\n");
    assert_eq!(eval("p", "p=plain.csv"), "[[1. 2.]\n [3. 4.]]\n");
    assert_eq!(eval("p", "p=plain.csv:0"), "[1. 3.]\n");
    assert_eq!(eval("c * 2", "c=column.csv"), "[ 2.  5. -6.]\n");
    assert_eq!(eval("w", "w=breaks.csv:w"), "[2.]\n");
    for (input, words) in [
        ("x=words.csv", "words.csv: line 3, column 2: `four` is not a number"),
        ("x=semi.csv", "semi.csv: line 2, column 1: `1;2` is not a number; columns are separated by commas"),
        ("x=ragged.csv", "ragged.csv: not a table: the row in line 2 has 1 of the 2 cells of the first row"),
        (
            "x=open.csv",
            "open.csv: line 1: a quote is not closed in this line, so that a name takes in the rows",
        ),
        ("x=open.csv:0", "open.csv: line 1: a quote is not closed"),
        ("x=below.csv:x", "below.csv: line 2: a quote is not closed"),
        ("x=paired.csv", "paired.csv: line 1: a quote is not closed"),
        ("x=t.csv:age", "t.csv: it has no column `age`, but `height`, `weight`"),
        ("x=plain.csv:age", "it has no column `age`, but 0 to 1, and no names"),
    ] {
        let outcome = dir.run(&["eval", "x", input]);
        assert!(outcome.status == Some(1) && outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn tables_are_written() {
    let dir = Dir::new();
    dir.array("x.npy", &[3], &[0.1f32, f32::MAX, f32::NAN]);
    dir.array("i.npy", &[3], &[1i64, i64::MIN, 3]);
    dir.npy("f.npy", "<f8", &[2, 3], true, &f64::bytes(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.5]));
    dir.array("deep.npy", &[1, 1, 1], &[1u8]);
    let text = |name: &str| std::fs::read_to_string(dir.path(name)).expect("a table");
    for chunk in ["96", "64M"] {
        let args = ["--force", "--max-bytes", chunk];
        dir.ok(
            &[&["eval", "return x, i, b = i > 1", "x=x.npy", "i=i.npy", "-o", "all.csv"], &args[..]].concat()
        );
        assert_eq!(text("all.csv"), "x,i,b\n0.1,1,0\n3.4028235e38,-9223372036854775808,0\nNaN,3,1\n");
        dir.ok(&[&["eval", "f / 2", "f=f.npy", "-o", "f.csv"], &args[..]].concat());
        assert_eq!(text("f.csv"), "0.5,1.0,1.5\n2.0,2.5,3.25\n");
        // The written table reads back as the same numbers.
        assert_eq!(dir.ok(&["eval", "t - f / 2", "t=f.csv", "f=f.npy"]), "[[0. 0. 0.]\n [0. 0. 0.]]\n");
    }
    dir.ok(&["eval", "x", "x=x.npy", "-o", "x.csv"]);
    assert_eq!(text("x.csv"), "0.1\n3.4028235e38\nNaN\n");
    let before = dir.names();
    for (args, words) in [
        (&["eval", "d", "d=deep.npy", "-o", "d.csv"][..], "a table has one axis or two, not 3"),
        (&["eval", "return f, x", "x=x.npy", "f=f.npy", "-o", "d.csv"], "have one axis and one length"),
        (&["eval", "x", "x=x.npy", "-o", "d.h5"], "HDF5 files are read and written with h5py"),
        (&["eval", "x", "x=x.npy", "-o", "d.png"], "a picture is drawn by --plot"),
    ] {
        let outcome = dir.run(args);
        assert!(outcome.status != Some(0) && outcome.stderr.contains(words), "{}", outcome.stderr);
        assert_eq!(dir.names(), before);
    }
}

#[test]
fn completions() {
    let dir = Dir::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = dir.ok(&["completions", shell]);
        assert!(script.contains("int-div-zero") && script.contains("broadloom"), "{shell}");
    }
}

#[test]
fn constants() {
    let dir = Dir::new();
    dir.array("e.npy", &[2], &[1.0f32, 2.0]);
    assert_eq!(dir.ok(&["eval", "round(1e6 * (pi + e))"]), "5859874.0\n");
    assert_eq!(dir.ok(&["eval", "e + 1", "e=e.npy"]), "[2. 3.]\n");
    assert_eq!(dir.ok(&["eval", "where(e > 1, e * pi, -inf)", "e=e.npy"]), "[     -inf 6.2831855]\n");
}
