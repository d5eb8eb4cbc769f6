//! Tests of invalid input: the message, its position, the exit status, and that no files remain.

use crate::support::{CommandRun, Dir, deflated, header};

/// A directory with a few files.
fn files() -> Dir {
    let dir = Dir::new();
    dir.array("i.npy", &[3], &[7i32, -7, 0]);
    dir.array("u.npy", &[3], &[250u8, 2, 0]);
    dir.array("x.npy", &[3], &[0.5f32, 1.5, 2.5]);
    dir.array("y.npy", &[2, 2], &[0.5f32, 1.5, 2.5, 3.5]);
    dir.array("deep.npy", &[1, 1, 1], &[1u8]);
    dir.array::<u8>("none.npy", &[0], &[]);
    dir.array("there.npy", &[1], &[1u8]);
    dir.write("half.txt", b"x / 2\n");
    dir
}

/// Runs the command, which must not change the directory.
fn fails(dir: &Dir, args: &[&str]) -> CommandRun {
    let before = dir.names();
    let outcome = dir.run(args);
    assert_eq!(dir.names(), before, "{args:?}");
    assert!(!outcome.stderr.contains('\x1b'), "colours for no terminal: {args:?}");
    outcome
}

const INPUTS: [&str; 4] = ["i=i.npy", "u=u.npy", "x=x.npy", "y=y.npy"];

#[test]
fn expressions() {
    let dir = files();
    for (expression, status, words) in [
        // Errors that are the same for all files.
        ("", 2, "found the end of the text, expected an expression"),
        ("x +", 2, "expected an operand after `+`"),
        ("(x", 2, "this parenthesis is never closed"),
        ("x ? y", 2, "which is not part of the language"),
        ("x: float32[n, 2]; x", 1, "`x`, declared float32[n, 2], has the shape [3], but"),
        ("x: float64[n]; x", 1, "`x` is float32[3], not float64[n]"),
        ("0 < x < 1", 2, "comparisons do not chain"),
        ("x and y", 2, "write `&`"),
        ("x + z", 2, "`z` is not known"),
        ("q: float32[n]; x + q", 2, "no file is given for `q`"),
        ("abd(x)", 2, "did you mean `abs`?"),
        ("x **", 2, "expected an operand after `**`"),
        ("x * * 2", 2, "expected an operand after `*`"),
        ("exp(x, x)", 2, "`exp(x)` takes 1 argument, but is given 2"),
        ("sqrt(x, y)", 2, "`sqrt(x)` takes 1 argument, but is given 2"),
        ("where(x)", 2, "`where(condition, x2, x3)` takes 3 arguments, but is given 1"),
        ("astype(x, float31)", 2, "did you mean `float32`?"),
        ("true + 1", 2, "add: true and 1 mix bool and numbers"),
        ("x * (true + 1)", 2, "add: true and 1 mix bool and numbers"),
        // Errors that depend on the files.
        ("i + x", 1, "add: cannot promote int32 and float32"),
        ("x * y", 1, "multiply: cannot broadcast float32[3] with float32[2,2] (axis -1: 3 and 2)"),
        ("u + 300", 1, "add: 300 cannot be represented as uint8"),
        ("i * 0.5", 1, "multiply: int32 with the literal 0.5"),
        ("sqrt(i)", 1, "sqrt: does not take int32"),
        ("exp(i)", 1, "exp: does not take int32"),
        ("i ** 0.5", 1, "pow: int32 with the literal 0.5"),
        ("u ** -1", 1, "pow: -1 cannot be represented as uint8"),
        ("where(x, x, x)", 1, "where: the condition must be bool"),
    ] {
        for output in [&[][..], &["-o", "out.npy"], &["--plot", "out.png"]] {
            let outcome = fails(&dir, &[&["eval", expression], &INPUTS[..], output].concat());
            assert_eq!(outcome.status, Some(status), "{expression}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(words), "{expression}: {}", outcome.stderr);
            assert_eq!(outcome.stdout, "", "{expression}");
        }
    }
}

/// The message for an expression, without trailing blanks.
fn told(dir: &Dir, expression: &str, inputs: &[&str]) -> String {
    let outcome = fails(dir, &[&["eval", expression], inputs].concat());
    outcome.stderr.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn bounds_that_bound_nothing_need_numpys_promotion() {
    let dir = files();
    assert_eq!(
        told(&dir, "clip(u, -1, 300)", &["u=u.npy"]),
        "\
error: clip: -1 cannot be represented as uint8
   ╭─[ expression:1:1 ]
   │
 1 │ clip(u, -1, 300)
   │ ──┬─ ┬  ─┬  ─┬─
   │   ╰────────────── here
   │      │   │   │
   │      ╰─────────── uint8[3]
   │          │   │
   │          ╰─────── -1
   │              │
   │              ╰─── 300
   │
   │ Help: promote as NumPy does (--promotion numpy)
───╯
"
    );
    let made = dir.ok(&["eval", "clip(u, -1, 300) == u", "u=u.npy", "--promotion", "numpy"]);
    assert_eq!(made.trim(), "[ True  True  True]");
}

#[test]
fn the_place_is_marked() {
    let dir = files();
    assert_eq!(
        told(&dir, "2 * (sqtr(x) + 1)", &["x=x.npy"]),
        "\
error: there is no function `sqtr`
   ╭─[ expression:1:6 ]
   │
 1 │ 2 * (sqtr(x) + 1)
   │      ──┬─
   │        ╰─── here
   │
   │ Help: did you mean `sqrt`?
───╯
"
    );
    assert_eq!(
        told(&dir, "x + abs(i)", &["x=x.npy", "i=i.npy"]),
        "\
error: add: cannot promote float32 and int32
   ╭─[ expression:1:3 ]
   │
 1 │ x + abs(i)
   │ ┬ ┬ ───┬──
   │ ╰─────────── float32[3]
   │   │    │
   │   ╰───────── here
   │        │
   │        ╰──── int32[3]
   │
   │ Help: write astype(x, float32) for the int32 operand, or promote as NumPy does (--promotion numpy)
───╯
"
    );
    assert_eq!(
        told(&dir, "where(x > 0,\n  x,\n  -)", &["x=x.npy"]),
        "\
error: found `)`, expected an operand after `-`
   ╭─[ expression:3:4 ]
   │
 3 │   -)
   │    ┬
   │    ╰── here
───╯
"
    );
    assert_eq!(
        told(&dir, "x +", &["x=x.npy"]),
        "\
error: found the end of the text, expected an operand after `+`
   ╭─[ expression:1:4 ]
   │
 1 │ x +
   │    ┬
   │    ╰── here
───╯
"
    );
}

#[test]
fn of_a_long_expression_the_surroundings_are_shown() {
    let dir = files();
    let long = format!("{}ä + q{}", "x + ".repeat(1000), " + x".repeat(1000));
    let told = told(&dir, &long, &["x=x.npy"]);
    assert!(told.lines().all(|line| line.chars().count() < 160), "{told}");
    assert!(told.contains("│ …") && told.contains("…\n") && told.contains("`ä`"), "{told}");
}

/// The reported line and column refer to the whole file, even if it is long.
#[test]
fn a_place_in_a_long_file_is_its_line() {
    let dir = files();
    let lines = |n: usize| "y = x + 1 # a line\n".repeat(n);
    let place = |text: &str| {
        dir.write("long.txt", text.as_bytes());
        let outcome = dir.run(&["eval", "-f", "long.txt", "x=x.npy"]);
        assert_eq!(outcome.status, Some(2));
        let lines: Vec<String> = outcome.stderr.lines().map(|line| line.trim_end().to_owned()).collect();
        assert!(lines.iter().all(|line| line.chars().count() < 200), "{}", outcome.stderr);
        lines
    };
    let told = place(&format!("{}return x +* 2\n{}", lines(200), lines(500)));
    assert_eq!(told[1].trim_start(), "╭─[ long.txt:201:11 ]");
    assert_eq!(told[3], " 201 │ return x +* 2");
    assert_eq!(told[4], "     │           ┬");
    // An error in a long line, which is truncated. The text before it contains multi-byte characters.
    let long = format!("{}y = \"äö\r\t\" +* 2{}\nreturn y", lines(300), " + x".repeat(5000));
    let told = place(&long);
    assert_eq!(told[1].trim_start(), "╭─[ long.txt:301:5 ]");
    let told = place(&format!("{}return {}x +* 2{}", lines(10), "x + ".repeat(300), " + x".repeat(300)));
    assert_eq!(told[1].trim_start(), "╭─[ long.txt:11:1211 ]");
    assert!(
        told[3].starts_with(" 11 │ …") && told[3].ends_with('…') && told[3].contains("x +* 2"),
        "{told:?}"
    );
    let caret = |line: &str, c: char| line.chars().position(|other| other == c);
    assert_eq!(caret(&told[4], '┬'), told[3].find("* 2").map(|at| told[3][..at].chars().count()));
    // An error at the end of the file.
    let told = place(&format!("{}return x +\n", lines(200)));
    assert_eq!(told[1].trim_start(), "╭─[ long.txt:201:11 ]");
}

/// Names, files and texts may contain any characters. Those that a terminal would interpret are
/// escaped.
#[cfg(unix)]
#[test]
fn control_characters_are_escaped() {
    let dir = files();
    let evil = "\u{1b}[2J\u{7}\u{202e}\r\u{9b}";
    let shown = "\\u{1b}[2J\\u{7}\\u{202e}\\r\\u{9b}";
    let file = |name: &str| name.replace('@', evil);
    dir.write(&file("@.npy"), b"");
    dir.write("name.csv", file("\"a@\",b\n1,2\n").as_bytes());
    dir.write("cell.csv", file("a,b\n1,\"x@\"\n").as_bytes());
    dir.write("text.npy", file("1@\t2 3\n").as_bytes());
    dir.write("descr.npy", &header(&file("<f@"), &[1], false, 0));
    dir.array("m.npy", &[3], &[1.0f32; 3]);
    let member = std::fs::read(dir.path("m.npy")).expect("a file");
    dir.write("two.npz", &deflated(&[(&file("@a.npy"), &member), (&file("@b.npy"), &member)]));
    dir.write("evil.txt", file("x +* 2 # @\n").as_bytes());
    for (args, words) in [
        (&["eval", "x", "x=@.npy"][..], "@.npy: not a .npy file: it is empty"),
        (&["eval", "x", "x=no@.npy"], "no@.npy: No such file"),
        (&["eval", "x", "x=name.csv:c"], "but `a@`, `b`"),
        (&["eval", "x", "x=name.csv:c@"], "it has no column `c@`"),
        (&["eval", "x", "x=cell.csv"], "column 2: `x@` is not a number"),
        (&["eval", "x", "x=descr.npy"], "<f@"),
        (&["eval", "x", "x=two.npz"], "several arrays: `@a`, `@b`"),
        (&["eval", "x", "x=two.npz:@"], "it has no array `@`, but `@a`"),
        (&["eval", "x @ 2", "x=x.npy"], "found the character `\\u{1b}`"),
        (&["eval", "f(x@)", "x=x.npy"], "found the character `\\u{1b}`"),
        (&["eval", "x[1@]", "x=x.npy"], "found the character `\\u{1b}`"),
        (&["eval", "-f", "evil.txt", "x=x.npy"], "expected an operand after `+`"),
        (&["eval", "-f", "no@.txt", "x=x.npy"], "no@.txt: No such file"),
        (&["eval", "x", "x@=x.npy"], "is not a name that an expression can have"),
        (&["eval", "x", "x@.npy"], "write NAME=FILE"),
        (&["eval", "x", "x=x.npy", "-o", "no@/x.npy"], "there is no directory no@"),
        (&["eval", "x", "x=x.npy", "-o", "w@.npy", "-o", "./w@.npy"], "`w@.npy` and `./w@.npy` are the same"),
        (&["frob@"], "unrecognized subcommand 'frob"),
        (&["eval", "x", "x=x.npy", "--executor", "g@"], "invalid value 'g"),
    ] {
        let given: Vec<String> = args.iter().map(|word| file(word)).collect();
        let outcome = dir.run(&given.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(matches!(outcome.status, Some(0..=2)), "{args:?}");
        let is_obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!outcome.stderr.contains(is_obeyed), "{args:?}: {:?}", outcome.stderr);
        let outcome_shown = words.replace('@', shown);
        assert!(outcome.stderr.contains(&outcome_shown), "{args:?}: {}", outcome.stderr);
    }
}

#[test]
fn arguments() {
    let dir = files();
    for (args, words) in [
        (&[][..], "Usage: broadloom"),
        (&["eval"], "<EXPRESSION>"),
        (&["frobnicate"], "unrecognized subcommand"),
        (&["eval", "x", "x=x.npy", "--frobnicate"], "unexpected argument"),
        (&["eval", "x", "x=x.npy", "--threads", "0"], "invalid value '0'"),
        (&["eval", "x", "x=x.npy", "--executor", "gpu"], "invalid value 'gpu'"),
        (&["eval", "x", "x.npy"], "write NAME=FILE"),
        (&["eval", "x", "1x=x.npy"], "`1x` is not a name that an expression can have"),
        (&["eval", "x", "float32=x.npy"], "`float32` is not a name that an expression can have"),
        (&["eval", "x", "x="], "no file is given for `x`"),
        (&["eval", "x", "x=x.npy", "x=y.npy"], "error: two files or numbers are given for `x`\n"),
        (&["eval", "x", "x=x.npy", "-o", "a", "--plot", "a"], "can't be one file"),
        (&["eval", "x", "x=x.npy", "-o", "a", "-o", "a"], "two results can't be one file"),
        (&["eval", "x", "x=-", "u=-"], "only one thing is read from standard input"),
        (&["eval", "x", "x=x.npy", "-o", "-", "-o", "-"], "only one result goes to standard output"),
        (&["eval", "x", "x=x.npy", "-o", "-", "--explain"], "--explain prints to standard output"),
        (&["eval", "x", "x=x.npy", "--plot", "-"], "not to standard output"),
        (&["eval", "-f"], "a value is required"),
        (&["eval", "@x.txt", "x=x.npy"], "write `-f x.txt`"),
        (&["eval", "-f", "half.txt", "x"], "`x` is an input: write NAME=FILE"),
        (&["completions", "tcsh"], "invalid value 'tcsh'"),
        (&["eval", "x", "x=x.npy", "-o", "a", "--explain-html", "a"], "a file of its own"),
    ] {
        let outcome = fails(&dir, args);
        assert_eq!(outcome.status, Some(2), "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{args:?}: {}", outcome.stderr);
    }
}

#[test]
fn input_files() {
    let dir = files();
    let good = [header("<f8", &[4], false, 0), vec![0; 32]].concat();
    dir.write("cut.npy", &good[..good.len() - 5]);
    dir.write("headless.npy", &good[..20]);
    dir.write("empty.npy", b"");
    dir.write("text.npy", b"1 2 3\n");
    dir.write("object.npy", &[header("|O", &[4], false, 0), vec![0; 32]].concat());
    dir.write("complex.npy", &[header("<c16", &[2], false, 0), vec![0; 32]].concat());
    dir.write("huge.npy", &header("<f8", &[usize::MAX, 16], false, 0));
    dir.write("deep65.npy", &[header("<f8", &[1; 65], false, 0), vec![0; 8]].concat());
    dir.write("corrupt.npy", &good.iter().map(|&b| if b == b'{' { b'[' } else { b }).collect::<Vec<_>>());
    std::fs::create_dir(dir.path("folder.npy")).expect("a directory");
    for (name, words) in [
        ("missing", "No such file"),
        ("cut", "the file is truncated: float64[4] takes 32 bytes, of which 5 are missing"),
        ("headless", "the file is truncated within its header: "),
        ("empty", "not a .npy file: it is empty"),
        ("text", "not a .npy file: it begins with `1 2 3`; if it is a table of numbers"),
        ("object", "elements of type '|O' (Python objects) are not supported"),
        ("complex", "elements of type '<c16' (complex numbers) are not supported"),
        ("huge", "the array is too large"),
        ("deep65", "rank 65 is above the limit of 64"),
        ("corrupt", "the header is corrupt"),
        ("folder", "a directory, not a file"),
    ] {
        let file = format!("x={name}.npy");
        let outcome = fails(&dir, &["eval", "x + 1", &file, "-o", "out.npy", "--plot", "out.png"]);
        assert_eq!(outcome.status, Some(1), "{name}: {}", outcome.stderr);
        assert!(outcome.stderr.starts_with(&format!("error: {name}.npy: ")), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{name}: {}", outcome.stderr);
    }
}

#[test]
fn output_files() {
    let dir = files();
    for (args, words) in [
        (
            &["-o", "there.npy"][..],
            "error: there.npy: the file exists already; write --force to replace it\n",
        ),
        (&["--plot", "there.npy"], "error: there.npy: the file exists already"),
        (&["-o", "new.npy", "--plot", "there.npy"], "error: there.npy: the file exists already"),
        (&["-o", "no/new.npy"], "error: no/new.npy: there is no directory no\n"),
        (&["-o", ".", "--force"], "error: .: not a regular file\n"),
    ] {
        let outcome = fails(&dir, &[&["eval", "x", "x=x.npy"], args].concat());
        assert_eq!(outcome.status, Some(1), "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.starts_with(words), "{args:?}: {}", outcome.stderr);
    }
    // The error is found before the evaluation, which would also fail.
    let outcome = fails(&dir, &["eval", "i // 0", "i=i.npy", "--int-div-zero", "error", "-o", "there.npy"]);
    assert!(outcome.stderr.contains("exists already"), "{}", outcome.stderr);
    assert_eq!(dir.ok(&["eval", "x", "x=x.npy", "-o", "there.npy", "--force"]), "");
    assert_eq!(dir.read("there.npy").shape, [3]);
}

#[test]
fn pictures_of_what_cannot_be_drawn() {
    let dir = files();
    for (file, words) in [
        ("deep", "cannot draw an array of 3 axes: one axis gives a line chart and two give a heat map"),
        ("none", "cannot draw an array of shape [0]: it has no elements"),
    ] {
        let file = format!("d={file}.npy");
        let outcome = fails(&dir, &["eval", "d", &file, "--plot", "out.png", "-o", "out.npy"]);
        assert_eq!(outcome.status, Some(1));
        assert_eq!(outcome.stderr, format!("error: out.png: {words}\n"));
    }
}

#[test]
fn a_zero_divisor() {
    let dir = files();
    for options in
        [&[][..], &["-o", "out.npy"], &["--plot", "out.png"], &["-o", "out.npy", "--plot", "out.png"]]
    {
        for chunk in ["64M", "16"] {
            for executor in ["interp", "jit"] {
                let args = ["eval", "1 // i", "i=i.npy", "--int-div-zero", "error", "--max-bytes", chunk];
                let outcome = fails(&dir, &[&args[..], &["--executor", executor], options].concat());
                assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
                assert!(outcome.stderr.contains("floor_divide"), "{}", outcome.stderr);
                assert_eq!(outcome.stdout, "");
            }
        }
    }
}

/// A limit on the file size simulates a full disk.
#[cfg(unix)]
#[test]
fn no_room_for_the_output() {
    let dir = files();
    dir.array("wide.npy", &[1 << 16], &vec![0.5f64; 1 << 16]);
    let before = dir.names();
    for output in ["-o out.npy", "-o out.npy --max-bytes 1000", "--plot out.png", "-o out.npz", "-o out.csv"]
    {
        let script = format!("ulimit -f 8; exec \"$broadloom\" eval 'wide + wide' wide=wide.npy {output}");
        let outcome = dir.shell(&script);
        assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("File too large"), "{}", outcome.stderr);
        assert_eq!(dir.names(), before, "{output}");
    }
}

#[cfg(unix)]
#[test]
fn output_that_nobody_reads() {
    let dir = files();
    for output in ["", "-o -"] {
        let script = format!("\"$broadloom\" ops | true; \"$broadloom\" eval x x=x.npy {output} > /dev/full");
        let outcome = dir.shell(&script);
        assert_eq!(outcome.status, Some(1));
        assert!(outcome.stderr.starts_with("error: standard output: "), "{}", outcome.stderr);
    }
}
