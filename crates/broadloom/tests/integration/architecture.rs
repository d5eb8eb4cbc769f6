//! The structure of the workspace: crates depend only on the crates listed for them, modules of a crate do not import each other
//! in cycles, and only some crates contain unsafe code. The tests read the manifests and sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

mod modules;
mod tokens;

use modules::{Modules, Name, cycles, of_folders};

/// Each crate, and the crates of this workspace on which it may depend.
const ARROWS: &[(&str, &[&str])] = &[
    ("broadloom-math", &[]),
    ("broadloom-ir", &["broadloom-math"]),
    ("broadloom-core", &["broadloom-ir", "broadloom-math"]),
    ("broadloom-mem", &["broadloom-ir", "broadloom-math"]),
    // Executors depend on the kernel IR, not on graphs or the engine.
    ("broadloom-interp", &["broadloom-ir", "broadloom-math", "broadloom-mem"]),
    ("broadloom-clif", &["broadloom-ir", "broadloom-math", "broadloom-mem", "broadloom-wide"]),
    // Reductions take tiles, whichever executor computes them.
    ("broadloom-reduce", &["broadloom-ir", "broadloom-math", "broadloom-mem", "broadloom-sort"]),
    // Sorts take memory, whoever computed it.
    ("broadloom-sort", &["broadloom-math"]),
    ("broadloom-wide", &[]),
    (
        "broadloom",
        &[
            "broadloom-clif",
            "broadloom-core",
            "broadloom-interp",
            "broadloom-ir",
            "broadloom-math",
            "broadloom-mem",
            "broadloom-reduce",
            "broadloom-sort",
        ],
    ),
    // The test kit's differential checker uses the public crate. The command that measures accuracy uses the executors.
    (
        "broadloom-testkit",
        &[
            "broadloom",
            "broadloom-clif",
            "broadloom-core",
            "broadloom-interp",
            "broadloom-ir",
            "broadloom-math",
            "broadloom-mem",
        ],
    ),
    // Pages show the data of an explanation. A program without pages need not build this crate.
    ("broadloom-html", &["broadloom", "broadloom-ir", "broadloom-mem"]),
    ("broadloom-capi", &["broadloom", "broadloom-html", "broadloom-math", "broadloom-mem"]),
    ("broadloom-python", &["broadloom", "broadloom-html", "broadloom-mem"]),
    (
        "broadloom-bench",
        &["broadloom", "broadloom-clif", "broadloom-core", "broadloom-math", "broadloom-mem"],
    ),
    ("broadloom-cli", &["broadloom", "broadloom-core", "broadloom-html", "broadloom-math", "broadloom-mem"]),
];

/// The crates that may contain unsafe code; the others forbid it.
const UNSAFE: &[&str] = &["broadloom-mem", "broadloom-clif", "broadloom-capi", "broadloom-python"];

/// Modules of programs in other crates that contain unsafe code.
const UNSAFE_PROGRAMS: &[&str] = &[
    // The programs load and call loops that were compiled from C, to time them against generated machine code.
    "broadloom-bench/src/bin/inner_loops.rs",
    "broadloom-bench/src/bin/wide/contenders.rs",
    "broadloom-bench/src/bin/wide/integers.rs",
    "broadloom-bench/src/bin/wide/main.rs",
    // The module makes the loader call a function before `main`, to check whether standard output is open.
    "broadloom-cli/src/stdout.rs",
];

fn crates() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The crates of the workspace in a manifest's `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<&str> {
    let section = manifest.split("\n[dependencies]").nth(1).unwrap_or("");
    let section = section.split("\n[").next().unwrap_or("");
    let names = section.lines().filter_map(|line| line.split(['=', ' ', '.']).next());
    names.filter(|name| name.starts_with("broadloom")).collect()
}

#[test]
fn imports_point_down() {
    for (path, name) in each_crate() {
        let allowed =
            ARROWS.iter().find(|(listed, _)| *listed == name).map_or(&[][..], |(_, allowed)| allowed);
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).expect("a manifest");
        for dependency in dependencies(&manifest) {
            assert!(allowed.contains(&dependency), "{name} may not depend on {dependency}");
        }
    }
}

/// The roots of a crate's library, programs and examples.
fn roots(path: &Path) -> Vec<PathBuf> {
    let mut roots = vec![path.join("src/lib.rs"), path.join("src/main.rs"), path.join("build.rs")];
    for folder in ["src/bin", "examples"] {
        let Ok(entries) = std::fs::read_dir(path.join(folder)) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            roots.extend(
                [path.join("main.rs"), path].into_iter().filter(|p| p.extension().is_some_and(|e| e == "rs")),
            );
        }
    }
    roots.retain(|root| root.is_file());
    roots.sort();
    roots
}

/// The source files in a folder and its subfolders.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut waiting) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(path) = waiting.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => waiting.extend(entries.map(|entry| entry.expect("an entry").path())),
            Err(_) if path.is_file() && path.extension().is_some_and(|extension| extension == "rs") => {
                found.push(path)
            }
            Err(_) => {}
        }
    }
    found
}

/// The folder and the name of each crate. The Python package's folder is where its build tool requires it.
fn each_crate() -> impl Iterator<Item = (PathBuf, String)> {
    let crates_of_rust = std::fs::read_dir(crates()).expect("the crates").map(|entry| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name").to_owned();
        (path, name)
    });
    crates_of_rust.chain([(crates().join("../python"), "broadloom-python".to_owned())])
}

#[test]
fn every_crate_is_listed_and_forbids_unsafe_code_unless_it_is_one_for_it() {
    for (path, name) in each_crate() {
        assert!(ARROWS.iter().any(|(listed, _)| *listed == name), "{name} is not in the table of arrows");
        for root in [path.join("src/lib.rs"), path.join("src/main.rs")].iter().filter(|root| root.exists()) {
            let text = std::fs::read_to_string(root).expect("a source");
            let forbids = text.contains("#![forbid(unsafe_code)]");
            let is_listed = |listed: &&str| listed.starts_with(&format!("{name}/src/"));
            // A program may have one module with unsafe code; its other modules have none.
            let is_program = root.ends_with("main.rs") && UNSAFE_PROGRAMS.iter().any(is_listed);
            let denies = is_program && text.contains("#![deny(unsafe_code)]");
            assert!((forbids || denies) != UNSAFE.contains(&&*name), "{}: unsafe code", root.display());
        }
    }
}

/// The library's `forbid` does not apply to the crate's programs and examples, so their sources are searched for unsafe code.
#[test]
fn unsafe_code_stands_in_no_program_or_example_but_the_listed() {
    let is_unsafe = |path: &Path| {
        let text = std::fs::read_to_string(path).expect("a source");
        // The type of a pointer to an unsafe function is not unsafe code.
        let tokens = tokens::tokens(&text);
        let behind = |i: usize| tokens.get(i + 1..i + 3).unwrap_or_default();
        tokens.iter().enumerate().any(|(i, token)| *token == "unsafe" && behind(i) != ["fn", "("])
    };
    let mut found = BTreeSet::new();
    for (path, name) in each_crate().filter(|(_, name)| !UNSAFE.contains(&&**name)) {
        let folders = ["src", "examples", "build.rs"].map(|folder| path.join(folder));
        for source in folders.iter().flat_map(|folder| sources(folder)).filter(|source| is_unsafe(source)) {
            let below = source.strip_prefix(&path).expect("in the crate");
            found.insert(format!("{name}/{}", below.display()));
        }
    }
    let examples = sources(&crates().join("../examples")).into_iter();
    found.extend(examples.filter(|source| is_unsafe(source)).map(|source| source.display().to_string()));
    assert_eq!(
        found,
        UNSAFE_PROGRAMS.iter().map(|&name| name.to_owned()).collect(),
        "files with unsafe code"
    );
}

/// Formats cycles of modules, one cycle per line.
fn in_words(cycles: &BTreeSet<BTreeSet<Name>>) -> String {
    let word = |name: &Name| if name.is_empty() { "the root".to_owned() } else { name.join("::") };
    let line = |cycle: &BTreeSet<Name>| cycle.iter().map(word).collect::<Vec<_>>().join(", ");
    cycles.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Neither single files nor folders form a cycle of imports. A folder is a module with all modules below it, and is compared
/// with the other modules of the same parent. Hence a module does not name a definition of its parent if the parent names a
/// definition of the module.
#[test]
fn imports_between_modules_form_no_cycle() {
    for (path, name) in each_crate() {
        for root in roots(&path) {
            let edges = Modules::read(&root).edges();
            for edges in [&of_folders(&edges), &edges] {
                let found = cycles(edges);
                let why = "see scripts/count_structure.py for the names behind each import";
                assert!(
                    found.is_empty(),
                    "{name}, {}: cycles between modules, {why}:\n{}",
                    root.display(),
                    in_words(&found)
                );
            }
        }
    }
}

/// The test kit's default features are for differential tests: a crate that only its commands need is not built by default.
#[test]
fn defaults_of_the_test_kit_enable_nothing_of_a_command_line() {
    let manifest =
        std::fs::read_to_string(crates().join("broadloom-testkit/Cargo.toml")).expect("a manifest");
    let list = |feature: &str| {
        let list = manifest.split(&format!("\n{feature} = [")).nth(1).and_then(|rest| rest.split(']').next());
        list.unwrap_or_default().split('"').skip(1).step_by(2).collect::<Vec<_>>()
    };
    let mut enabled = vec!["default"];
    let mut at = 0;
    while let Some(&feature) = enabled.get(at) {
        enabled.extend(list(feature));
        at += 1;
    }
    assert_eq!(list("default"), ["check", "jit"]);
    for dependency in list("programs").into_iter().filter(|feature| feature.starts_with("dep:")) {
        assert!(!enabled.contains(&dependency), "{dependency} is enabled by default");
        let name = dependency.trim_start_matches("dep:");
        let line = manifest.lines().find(|line| line.starts_with(&format!("{name} = "))).expect(name);
        assert!(line.contains("optional = true"), "{line}");
    }
}

/// Only one type is named `ParseOptions`. All public interfaces share it.
#[test]
fn parse_options_names_one_type() {
    let folders = [crates(), &crates().join("../python/src"), &crates().join("../examples")].map(sources);
    let defines = |source: &&PathBuf| {
        let text = std::fs::read_to_string(source).expect("a source");
        let tokens = tokens::tokens(&text);
        let is_type = |word: &str| ["struct", "enum", "type", "union"].contains(&word);
        tokens.windows(2).any(|pair| is_type(pair[0]) && pair[1] == "ParseOptions")
    };
    let all = folders.iter().flatten();
    let found: Vec<_> = all.filter(defines).map(|path| path.strip_prefix(crates()).unwrap_or(path)).collect();
    assert_eq!(found, [Path::new("broadloom-core/src/text/options.rs")]);
}

/// A type has the same name everywhere: no import renames it.
#[test]
fn imports_rename_no_type() {
    let root = crates().join("..");
    let folders = ["crates", "python", "examples", "benches", "fuzz/fuzz_targets"];
    let begins_large = |word: &str| word.starts_with(char::is_uppercase);
    // A word without lower-case letters may be the name of a constant, so short type names without them are not checked.
    let is_type = |word: &str| begins_large(word) && word.contains(char::is_lowercase);
    let mut found = Vec::new();
    for source in folders.iter().flat_map(|folder| sources(&root.join(folder))) {
        let text = std::fs::read_to_string(&source).expect("a source");
        let tokens = tokens::tokens(&text);
        for import in tokens.split(|token| *token == ";") {
            let Some(from) = import.iter().rposition(|token| *token == "use") else { continue };
            let renamed =
                import[from..].windows(3).filter(|w| w[1] == "as" && is_type(w[0]) && begins_large(w[2]));
            found.extend(renamed.map(|w| format!("{}: {} as {}", source.display(), w[0], w[2])));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Crates that tests need with more features than programs do. No crate that takes long to compile depends on them.
const OF_TESTS: &[&str] = &["broadloom-testkit", "object", "serde", "serde_json"];

/// The crates in the workspace's dependency graph, restricted to these kinds of edges, each with the sets of features with which
/// it occurs.
fn resolved(edges: &str) -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .args([
            "tree",
            "--offline",
            "--workspace",
            "--prefix",
            "none",
            "--format",
            "{p}|{f}",
            "--edges",
            edges,
        ])
        .current_dir(crates())
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for line in String::from_utf8_lossy(&tree.stdout).lines().filter(|line| !line.is_empty()) {
        // A mark after the features means that the crate was listed before.
        let (package, features) =
            line.trim_end_matches(" (*)").split_once('|').expect("a package and features");
        let name = package.split(" (").next().unwrap_or(package);
        found.entry(name.to_owned()).or_default().insert(features.to_owned());
    }
    found
}

/// Cargo ignores development dependencies when it builds programs, but not when it builds tests. If they select other features
/// of a crate, this crate and all crates that depend on it are compiled twice.
#[test]
fn tests_and_programs_share_their_builds() {
    let (programs, tests) = (resolved("normal,build"), resolved("normal,build,dev"));
    assert!(programs.len() > 50, "{programs:?}");
    let differ = programs.iter().filter(|(name, features)| tests.get(*name) != Some(features));
    let differ: BTreeSet<&str> = differ.filter_map(|(name, _)| name.split(' ').next()).collect();
    assert_eq!(differ, OF_TESTS.iter().copied().collect(), "crates that tests need with other features");
}
