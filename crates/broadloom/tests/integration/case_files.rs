//! Runs the files in tests/cases/programs: the output of each stage for a program, and the program evaluated in
//! every way, with each rule for integer division. `BROADLOOM_BLESS=1` writes the current output of the stages into
//! the files, for review.

use std::path::{Path, PathBuf};

use broadloom::IntDivision;
use broadloom_testkit::differential::difference_of_both;
use broadloom_testkit::stages::{CaseFile, Stage};

fn files() -> Vec<PathBuf> {
    let mut folders =
        vec![Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/programs")).to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

fn case(path: &Path) -> CaseFile {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    CaseFile::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn each_stage_makes_of_it_what_the_file_says() {
    let bless = std::env::var_os("BROADLOOM_BLESS").is_some_and(|value| value == "1");
    let mut wrong = Vec::new();
    let mut asked = 0;
    for path in files() {
        let case = case(&path);
        let mut now = case.clone();
        for (stage, text) in &mut now.expected {
            // CLIF exists only with a compiler, and the files contain the CLIF for x86-64.
            if *stage != Stage::Clif || cfg!(all(feature = "jit", target_arch = "x86_64")) {
                *text = stage.of(&case.program).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                asked += 1;
            }
        }
        if now != case && bless {
            std::fs::write(&path, now.to_string()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        } else if now != case {
            wrong.push(format!("{}:\n{now}", path.display()));
        }
    }
    assert!(asked > 20, "{asked}");
    assert!(wrong.is_empty(), "BROADLOOM_BLESS=1 writes this into the files:\n{}", wrong.join("\n"));
}

#[test]
fn every_way_of_evaluating_it_gives_the_references_bits() {
    let mut wrong = Vec::new();
    for path in files() {
        let CaseFile { program, .. } = case(&path);
        for int_division in [IntDivision::Zero, IntDivision::Error] {
            let mut program = program.clone();
            program.semantics.int_division = int_division;
            wrong.extend(difference_of_both(&program, 1).map(|why| format!("{}: {why}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
