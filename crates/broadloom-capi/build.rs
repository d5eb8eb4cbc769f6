//! Sets the soname of the shared library, which contains the version it is compatible with.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let [major, minor] = ["CARGO_PKG_VERSION_MAJOR", "CARGO_PKG_VERSION_MINOR"]
        .map(|part| std::env::var(part).unwrap_or_default());
    // Before 1.0, each minor version may break compatibility, so the soname contains it.
    let version = if major == "0" { format!("0.{minor}") } else { major };
    if ["linux", "freebsd", "netbsd", "openbsd", "android"].contains(&&*os) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libbroadloom.so.{version}");
    }
    if os == "macos" {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libbroadloom.{version}.dylib");
    }
}
