//! Typical mistakes on the command line, and the message for each.
//!
//! Each case in `tests/cases/command-slips.txt` is a line with the command's arguments, as a shell parses them, followed by the
//! indented message: the error, and the advice below the marked position. To regenerate the messages: `BROADLOOM_BLESS=1 cargo
//! test -p broadloom-cli --test integration slips`. A person has reviewed every message; review those that change.

#![cfg(unix)]

use std::path::Path;

use crate::support::{Dir, header};

/// A directory with the files that occur in the cases.
fn files() -> Dir {
    let dir = Dir::new();
    dir.array("nir.npy", &[3, 4], &[1u16; 12]);
    dir.array("red.npy", &[3, 4], &[1u16; 12]);
    dir.array("row.npy", &[5], &[1u16; 5]);
    dir.array("x.npy", &[3], &[0.5f32, 1.5, 2.5]);
    dir.array("i.npy", &[3], &[1i32, 2, 3]);
    dir.write("ndvi.txt", b"return ndvi = (nir - red) / (nir + red)\n");
    dir.write("two.txt", b"return sum = a + b, difference = a - b\n");
    dir.write("table.csv", b"height,weight\n1.5,seventy\n");
    let good = [header("<f8", &[4], false, 0), vec![0; 32]].concat();
    dir.write("cut.npy", &good[..good.len() - 8]);
    dir.write("headless.npy", &good[..20]);
    dir.write("empty.npy", b"");
    dir.write("text.npy", b"1.5 2.5\n");
    dir.write("zip.npy", b"PK\x03\x04 and so on");
    dir.write("hdf.npy", b"\x89HDF\r\n\x1a\n and so on");
    dir.write("pickle.npy", b"\x80\x04\x95 and so on");
    dir.write("future.npy", b"\x93NUMPY\x09\x00 and so on");
    let with = |descr: &str| [header(descr, &[1], false, 0), vec![0; 16]].concat();
    dir.write("objects.npy", &with("|O"));
    dir.write("complex.npy", &with("<c16"));
    dir.write("strings.npy", &with("<U4"));
    dir.write("dates.npy", &with("<M8[ns]"));
    dir.write("long.npy", &with("<f16"));
    let keyless = String::from_utf8_lossy(&good[10..]).replace("'shape'", "'Shape'");
    dir.write("keyless.npy", &[&good[..10], keyless.as_bytes()].concat());
    dir.write(
        "tuple.npy",
        b"\x93NUMPY\x01\x00\x33\x00{'descr': '<f8', 'fortran_order': False, 'shape': 4, }",
    );
    std::fs::create_dir(dir.path("folder")).expect("a directory");
    dir
}

/// The part of the message that is compared: the error and the advice.
fn message(stderr: &str) -> String {
    let is_help = |line: &str| line.starts_with("Help: ") || line.starts_with("tip: ");
    let lines = stderr.lines().map(|line| line.trim_start_matches(['│', ' ']));
    let mut words: Vec<String> = Vec::new();
    for line in lines {
        if let Some(error) = line.strip_prefix("error: ") {
            words.push(error.to_owned());
        } else if is_help(line) {
            words.push(line.split_once(": ").map_or(line, |(_, help)| help).to_owned());
        } else if line.starts_with(['<', '[']) {
            // Lines that list missing arguments or possible values.
            words.push(line.to_owned());
        }
    }
    words.join("; ")
}

/// The text of the case file with the messages that the command prints now.
fn answered(cases: &str) -> String {
    let dir = files();
    let before = dir.names();
    let mut out = String::new();
    for line in cases.lines() {
        match line {
            line if line.starts_with("    ") => {}
            line if line.is_empty() || line.starts_with("# ") => out += &format!("{line}\n"),
            slip => {
                let outcome = dir.shell(&format!("\"$broadloom\" {slip} < /dev/null"));
                assert!(matches!(outcome.status, Some(1 | 2)), "{slip}: {outcome:?}");
                assert_eq!(dir.names(), before, "{slip}");
                out += &format!("{slip}\n    {}\n", message(&outcome.stderr));
            }
        }
    }
    out
}

#[test]
fn every_slip_has_its_message() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/command-slips.txt");
    let cases = std::fs::read_to_string(&path).expect("the cases");
    let answered = answered(&cases);
    if std::env::var_os("BROADLOOM_BLESS").is_some() {
        std::fs::write(&path, &answered).expect("the cases are written");
    }
    let messages: Vec<&str> = answered.lines().filter(|line| line.starts_with("    ")).collect();
    assert!(messages.len() >= 50, "{} slips", messages.len());
    let written = std::fs::read_to_string(&path).expect("the cases");
    for (written, now) in written.lines().zip(answered.lines()) {
        assert_eq!(written, now);
    }
    assert_eq!(written, answered);
}
