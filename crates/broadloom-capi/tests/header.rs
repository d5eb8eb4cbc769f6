//! The header declares each function of the sources once, and compiles without a warning.

use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header() -> String {
    std::fs::read_to_string(folder().join("include/broadloom.h")).expect("the header")
}

/// The identifiers before each opening parenthesis, comments excluded.
fn called(code: &str) -> Vec<&str> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let word =
        |before: &'_ str| before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    lines.flat_map(|line| line.match_indices('(').map(|(at, _)| &line[word(&line[..at])..at])).collect()
}

/// Each exported function of the sources is declared exactly once.
#[test]
fn every_function_is_declared_once() {
    let mut defined = Vec::new();
    for entry in std::fs::read_dir(folder().join("src")).expect("the sources") {
        let source = std::fs::read_to_string(entry.expect("a file").path()).expect("a source");
        let exported = source.split("#[unsafe(no_mangle)]").skip(1);
        let name =
            |text: &str| called(text).into_iter().find(|word| word.starts_with("bl_")).map(str::to_owned);
        defined.extend(exported.filter_map(name));
    }
    let header = header();
    let mut declared: Vec<&str> =
        called(&header).into_iter().filter(|word| word.starts_with("bl_")).collect();
    defined.sort();
    declared.sort_unstable();
    assert!(defined.len() > 50, "{defined:?}");
    assert_eq!(declared, defined);
}

/// The compiler named by the environment variable, or else the usual one; `None` if it doesn't start.
fn compiler(variable: &str, usual: &str) -> Option<String> {
    let name = std::env::var(variable).unwrap_or_else(|_| usual.into());
    Command::new(&name).arg("--version").output().is_ok_and(|out| out.status.success()).then_some(name)
}

/// The header compiles without warnings as C99, C++11 and their later versions, and may be included twice.
#[cfg(unix)]
#[test]
fn the_header_compiles_without_warnings() {
    const WARNINGS: &[&str] =
        &["-Wall", "-Wextra", "-Wpedantic", "-Wredundant-decls", "-Wshadow", "-Wundef", "-Werror"];
    const SOURCE: &str = "#include <broadloom.h>\n#include <broadloom.h>\nbl_status status(void);\n\
                          bl_status status(void) { return bl_clear_caches(); }\n";
    let place = std::env::temp_dir().join(format!("broadloom-header-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a folder");
    let compile = |compiler: &str, language: &str, standard: &str, more: &[&str]| {
        let source = place.join(format!("included.{language}"));
        std::fs::write(&source, SOURCE).expect("written");
        let mut command = Command::new(compiler);
        command.args(WARNINGS).args(more).arg(format!("-std={standard}")).arg("-fsyntax-only");
        let include: PathBuf = folder().join("include");
        let out = command.arg("-I").arg(include).arg(&source).output().expect("the compiler starts");
        assert!(out.status.success(), "{compiler} {standard}: {}", String::from_utf8_lossy(&out.stderr));
    };
    // A C compiler exists, since Rust needs one to link.
    let c = compiler("CC", "cc").expect("a C compiler");
    for standard in ["c99", "c11", "gnu17"] {
        compile(&c, "c", standard, &["-Wstrict-prototypes", "-Wmissing-prototypes"]);
    }
    match compiler("CXX", "c++") {
        Some(cpp) => ["c++11", "c++17"].into_iter().for_each(|standard| compile(&cpp, "cc", standard, &[])),
        None => println!("there is no C++ compiler: the header was compiled as C alone"),
    }
    std::fs::remove_dir_all(&place).expect("removed");
}
