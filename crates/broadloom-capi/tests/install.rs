//! Tests `install.sh` with a fake cargo that builds a small library: the installed files, their sizes, and the messages.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fake cargo that answers the script's queries, and records the arguments of a build.
const CARGO: &str = r#"#!/bin/sh
set -e
case $1 in
  metadata) echo "{\"packages\":[{\"name\":\"broadloom-capi\",\"version\":\"0.7.3\"}],\"target_directory\":\"$PLACE/target\"}" ;;
  build)
    echo "$@" >> "$PLACE/builds"
    echo "the progress of a build" >&2
    for folder in debug release; do
      mkdir -p "$PLACE/target/$folder"
      cc -g -fPIC -c "$PLACE/library.c" -o "$PLACE/library.o"
      cc -shared "$PLACE/library.o" -o "$PLACE/target/$folder/libbroadloom_capi.so"
      rm -f "$PLACE/target/$folder/libbroadloom_capi.a"
      ar cr "$PLACE/target/$folder/libbroadloom_capi.a" "$PLACE/library.o"
    done ;;
esac
"#;

/// A temporary folder with the fake cargo, which is removed on drop.
struct FakeCargo(PathBuf);

impl FakeCargo {
    fn new(name: &str) -> FakeCargo {
        let place = std::env::temp_dir().join(format!("broadloom-{name}-{}", std::process::id()));
        let bin = place.join("bin");
        fs::create_dir_all(&bin).expect("a folder");
        fs::write(bin.join("cargo"), CARGO).expect("written");
        fs::set_permissions(bin.join("cargo"), fs::Permissions::from_mode(0o755)).expect("executable");
        let functions: String =
            (0..50).map(|i| format!("int bl_function_{i}(int x) {{ return x + {i}; }}\n")).collect();
        fs::write(place.join("library.c"), functions).expect("written");
        FakeCargo(place)
    }

    fn install(&self, profile: &[&str], strip: &str) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
        let path = format!("{}:{}", self.0.join("bin").display(), std::env::var("PATH").expect("a path"));
        let mut command = Command::new("bash");
        command.arg(script).arg("/usr").args(profile);
        command
            .env("PATH", path)
            .env("PLACE", &self.0)
            .env("STRIP", strip)
            .env("DESTDIR", self.0.join("root"));
        command.output().expect("bash starts")
    }

    fn installed(&self, file: &str) -> Vec<u8> {
        fs::read(self.0.join("root/usr/lib").join(file)).expect(file)
    }
}

impl Drop for FakeCargo {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn contains(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|part| part == words.as_bytes())
}

const LIBRARIES: [&str; 2] = ["libbroadloom.a", "libbroadloom.so.0.7.3"];

#[test]
fn a_release_is_installed_without_symbols_for_debuggers_and_says_how_it_goes() {
    let place = FakeCargo::new("install");
    let out = place.install(&[], "strip");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    for library in LIBRARIES {
        let bytes = place.installed(library);
        assert!(!contains(&bytes, ".debug_info") && contains(&bytes, "bl_function_7"), "{library}");
        assert!(said.contains(&format!("{library} ({} kB)", bytes.len() / 1000)), "{said}");
    }
    assert!(said.contains("the progress of a build"), "{said}");
    let builds = fs::read_to_string(place.0.join("builds")).expect("a build");
    assert_eq!(builds, "build -p broadloom-capi --lib --profile release\n", "not quiet");
    // The header, and the names under which programs link and load the library.
    let header = fs::read(place.0.join("root/usr/include/broadloom.h")).expect("the header");
    assert!(contains(&header, "bl_kernel_run"));
    for link in ["libbroadloom.so", "libbroadloom.so.0.7"] {
        assert_eq!(place.installed(link), place.installed("libbroadloom.so.0.7.3"), "{link}");
    }
    let pc = String::from_utf8(place.installed("pkgconfig/broadloom.pc")).expect("text");
    assert!(pc.contains("prefix=/usr\n") && pc.contains("Version: 0.7.3\n"), "{pc}");
    // Programs still link with the stripped archive.
    let program = place.0.join("program.c");
    fs::write(&program, "int bl_function_7(int); int main(void) { return bl_function_7(-7); }")
        .expect("written");
    let made = place.0.join("program");
    let linked = Command::new("cc")
        .args([&program, &place.0.join("root/usr/lib/libbroadloom.a")])
        .arg("-o")
        .arg(&made)
        .output()
        .expect("a C compiler");
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    assert!(Command::new(&made).status().expect("it runs").success());
}

#[test]
fn what_is_for_debuggers_or_cannot_be_stripped_keeps_its_symbols() {
    let place = FakeCargo::new("install-dev");
    for (profile, strip, complaint) in [(&["dev"][..], "strip", None), (&[], "false", Some("false failed"))] {
        let out = place.install(profile, strip);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{said}");
        assert!(complaint.is_none_or(|complaint| said.contains(complaint)), "{said}");
        for library in LIBRARIES {
            assert!(contains(&place.installed(library), ".debug_info"), "{library} {profile:?}");
        }
    }
}
