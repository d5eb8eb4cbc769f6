//! The header is what cbindgen makes of the sources. To make it anew:
//! `BROADLOOM_BLESS=1 cargo test -p broadloom-capi --test header`

use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};

const HEAD: &str = "\
/* broadloom: array expressions compiled to one fused loop.
 *
 * Made by cbindgen from crates/broadloom-capi; do not edit. docs/c-abi.md is the guide.
 *
 * Every function may be called from any thread. One that answers a bl_status writes nothing unless it answers BL_OK, but for
 * the outputs of a run that failed while it ran. Handles are checked: one that was released, or is none, is BL_HANDLE.
 * What stands under \"Safety\" can't be checked, and is the caller's to keep.
 */";

/// Constants that cbindgen can't spell.
const CONSTANTS: &str = "
/** In place of a text's length: the text ends at the first zero byte. */
#define BL_NUL_TERMINATED SIZE_MAX
";

/// The sources, in the order in which a reader wants their declarations.
const SOURCES: &[&str] = &["lib", "status", "code", "builder", "kernel", "memory", "call", "flag"];

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config {
        language: Language::C,
        style: Style::Both,
        cpp_compat: true,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::C99,
        header: Some(HEAD.to_owned()),
        include_guard: Some("BROADLOOM_H".to_owned()),
        no_includes: true,
        sys_includes: vec!["stddef.h".to_owned(), "stdint.h".to_owned()],
        after_includes: Some(CONSTANTS.to_owned()),
        ..Config::default()
    };
    let builder = Builder::new().with_config(config).exclude_item("BL_NUL_TERMINATED");
    let add = |builder: Builder, name: &&str| builder.with_src(root.join(format!("src/{name}.rs")));
    let builder = SOURCES.iter().fold(builder, add);
    let mut made = Vec::new();
    builder.generate().expect("the sources are read").write(&mut made);
    // Links are for the pages that rustdoc makes.
    let made = String::from_utf8(made).expect("UTF-8").replace("[`", "`").replace("`]", "`");
    let path = root.join("include/broadloom.h");
    if std::env::var_os("BROADLOOM_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the header is written");
    }
    let there = std::fs::read_to_string(&path).expect("the header");
    assert_eq!(there, made, "write it anew: BROADLOOM_BLESS=1 cargo test -p broadloom-capi --test header");
}
