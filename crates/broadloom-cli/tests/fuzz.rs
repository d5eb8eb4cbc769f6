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
    // Nothing went wrong: no file.
    dir.ok(&["fuzz", "--program", "p.txt", "--programs", "3", "-o", "found.txt"]);
    assert_eq!(dir.names(), ["p.txt"]);
}

#[test]
fn what_it_refuses() {
    let dir = Dir::new();
    dir.write("p.txt", b"x: float32[3] = [1.5, nan]\nreturn x\n");
    dir.write("there.txt", b"");
    for (args, status, message) in [
        (&["fuzz", "--program", "p.txt"][..], 1, "error: p.txt: line 1: 2 elements, not 3\n"),
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
}
