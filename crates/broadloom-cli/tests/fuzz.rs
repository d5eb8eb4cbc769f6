//! `broadloom fuzz`: what it tells of programs that go right, and what it refuses.

mod support;

use support::Dir;

#[test]
fn it_tells_what_was_tried() {
    let told = Dir::new().ok(&["fuzz", "--seed", "3", "--programs", "120"]);
    assert!(told.starts_with("seeds 3 to 122: 120 programs, evaluated "), "{told}");
    assert!(told.contains("programs a second") && told.contains("pairs of a function and a dtype"), "{told}");
}

#[test]
fn it_ends_in_time() {
    let told = Dir::new().ok(&["fuzz", "--seconds", "0.2"]);
    assert!(told.contains(" programs, evaluated "), "{told}");
}

#[test]
fn it_checks_a_program_of_ones_own() {
    let dir = Dir::new();
    dir.write("p.txt", b"x: float32[3] = [1.5, nan, -0.0]\ny = maximum(x, 0.5)\nreturn y, x\n");
    let told = dir.ok(&["fuzz", "--program", "p.txt", "--programs", "30"]);
    assert!(told.contains("30 programs") && told.contains("the rarest is maximum of float32"), "{told}");
    // Extents that are drawn anew could be more than memory holds.
    dir.write("deep.txt", deep().as_bytes());
    dir.ok(&["fuzz", "--program", "deep.txt", "--programs", "20"]);
    dir.write("p.txt", b"x: float32[3] = [1.5, nan, -0.0]\ny = maximum(x, 0.5)\nreturn y, x\n");
    std::fs::remove_file(dir.path("deep.txt")).expect("there");
    // Nothing went wrong: no file.
    dir.ok(&["fuzz", "--program", "p.txt", "--programs", "3", "-o", "found.txt"]);
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
        (&["fuzz", "--program", "p.txt"][..], 1, "error: p.txt: line 1: 2 elements, not 3\n"),
        (
            &["fuzz", "--program", "huge.txt"],
            1,
            "error: huge.txt: its steps have more than 16777216 elements together\n",
        ),
        (&["fuzz", "--program", "q.txt"], 1, "error: q.txt: No such file or directory (os error 2)\n"),
        (
            &["fuzz", "-o", "there.txt"],
            1,
            "error: there.txt: the file exists already; write --force to replace it\n",
        ),
    ] {
        let outcome = dir.run(args);
        assert_eq!((outcome.status, &outcome.stderr[..]), (Some(status), message), "{args:?}");
    }
    assert_eq!(dir.run(&["fuzz", "--seconds", "-1"]).status, Some(2));
    assert_eq!(dir.run(&["fuzz", "--seed", "9223372036854775808"]).status, Some(2));
    for nothing in ["--seconds", "--programs"] {
        let outcome = dir.run(&["fuzz", nothing, "0"]);
        let message = "error: no program was tried: give it more time, or more programs\n";
        assert_eq!((outcome.status, &outcome.stderr[..]), (Some(2), message));
    }
}
