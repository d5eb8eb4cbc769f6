//! The arrows between the rooms, read off the manifests: imports point down only.

use std::path::Path;

/// Each crate, and the crates of this workspace that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("broadloom-math", &[]),
    ("broadloom-ir", &["broadloom-math"]),
    ("broadloom-core", &["broadloom-ir", "broadloom-math"]),
    ("broadloom-mem", &["broadloom-ir", "broadloom-math"]),
    // Executors know the kernel IR and nothing of what stands above it.
    ("broadloom-interp", &["broadloom-ir", "broadloom-math", "broadloom-mem"]),
    ("broadloom-clif", &["broadloom-ir", "broadloom-math", "broadloom-mem", "broadloom-wide"]),
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
        ],
    ),
    // Its differential checker works through the face; the executors are for its command that measures accuracy.
    (
        "broadloom-testkit",
        &[
            "broadloom",
            "broadloom-clif",
            "broadloom-core",
            "broadloom-interp",
            "broadloom-math",
            "broadloom-mem",
        ],
    ),
    ("broadloom-capi", &["broadloom", "broadloom-math", "broadloom-mem"]),
    (
        "broadloom-bench",
        &["broadloom", "broadloom-clif", "broadloom-core", "broadloom-math", "broadloom-mem"],
    ),
    (
        "broadloom-cli",
        &[
            "broadloom",
            "broadloom-bench",
            "broadloom-core",
            "broadloom-math",
            "broadloom-mem",
            "broadloom-testkit",
        ],
    ),
];

/// The crates that may hold unsafe code; the others forbid it.
const UNSAFE: &[&str] = &["broadloom-mem", "broadloom-clif", "broadloom-capi"];

fn crates() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The workspace crates in a manifest's `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<&str> {
    let section = manifest.split("\n[dependencies]").nth(1).unwrap_or("");
    let section = section.split("\n[").next().unwrap_or("");
    let names = section.lines().filter_map(|line| line.split(['=', ' ', '.']).next());
    names.filter(|name| name.starts_with("broadloom")).collect()
}

#[test]
fn imports_point_down() {
    for (name, allowed) in ARROWS {
        let manifest = std::fs::read_to_string(crates().join(name).join("Cargo.toml")).expect("a manifest");
        for dependency in dependencies(&manifest) {
            assert!(allowed.contains(&dependency), "{name} may not depend on {dependency}");
        }
    }
}

#[test]
fn every_room_is_listed_and_forbids_unsafe_code_unless_it_is_one_for_it() {
    for entry in std::fs::read_dir(crates()).expect("the crates") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name").to_string();
        assert!(ARROWS.iter().any(|(listed, _)| *listed == name), "{name} is not in the table of arrows");
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| path.join(root));
        for root in roots.iter().filter(|root| root.exists()) {
            let text = std::fs::read_to_string(root).expect("a source");
            let forbids = text.contains("#![forbid(unsafe_code)]");
            assert!(forbids != UNSAFE.contains(&&*name), "{}: unsafe code", root.display());
        }
    }
}
