//! Runs the `console` examples of docs/command.md and compares their output with the page.
//!
//! The commands of the page run one after the other in one directory.

#![cfg(unix)]

mod support;

use std::path::{Path, PathBuf};

use support::Dir;

#[test]
fn the_page_is_what_happens() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(repository.join("docs/command.md")).expect("the page");
    let dir = Dir::new();
    let examples: PathBuf = repository.join("examples").canonicalize().expect("the examples");
    std::os::unix::fs::symlink(examples, dir.path("examples")).expect("a link");
    let mut commands = 0;
    for block in page.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("the end of a block");
        for example in block.split("$ ").filter(|example| !example.is_empty()) {
            let (command, expected) = example.split_once('\n').expect("a line");
            let outcome =
                dir.shell(&format!("broadloom() {{ \"$broadloom\" \"$@\"; }}; {{ {command}; }} 2>&1"));
            let printed: String =
                outcome.stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect();
            assert_eq!(printed, expected, "{command}");
            commands += 1;
        }
    }
    assert!(commands > 8, "{commands}");
}

#[test]
fn every_option_is_on_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command.md");
    let page = std::fs::read_to_string(page).expect("the page");
    for command in ["bench", "eval", "fuzz", "ops"] {
        let help = Dir::new().ok(&[command, "--help"]);
        let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        for option in words.filter(|word| word.starts_with("--") && *word != "--help") {
            assert!(page.contains(option), "{command} {option}");
        }
    }
}
