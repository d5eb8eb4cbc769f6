#!/usr/bin/env bash
# Prepares a release: scripts/release.sh [step…], with these steps, or all of them.
#
#   crates   packages every published crate and checks it as crates.io would, without uploading
#   semver   compares the public interfaces with those of the last release; skipped before the first one
#   wheels   builds the source distribution and the wheels into target/wheels
#   install  installs this machine's wheel in an environment without Rust, and tests it
#
# A wheel is built for each of `targets` whose standard library is installed (`rustup target add`): one for CPython 3.11 and newer, and
# one for each free-threaded interpreter that FREE_THREADED names, as paths with spaces between them. Those for other systems are
# cross-compiled and have not been run. PROFILE=dev builds wheels for inspection, in a tenth of the time. Nothing is uploaded: the last
# line of output lists the commands that would do it.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=$root/target/wheels
profile=${PROFILE:-release}
# The compiler that cargo uses too.
rustc=${RUSTC:-rustc}
host=$("$rustc" -vV | sed -n 's/^host: //p')
# The oldest C library with which the wheel works. Debian 8, Ubuntu 16.04 and later systems have this one or a newer one.
manylinux=manylinux_2_17
targets=(x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-pc-windows-gnu aarch64-apple-darwin)

say() { printf '\n== %s\n' "$*"; }

# Installs the Python tools in an environment of their own.
tools() {
  [ -x target/release-tools/bin/maturin ] || {
    "${PYTHON:-python3}" -m venv target/release-tools
    target/release-tools/bin/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2' ziglang
  }
  export PATH=$root/target/release-tools/bin:$PATH
}

has_target() { [ -d "$("$rustc" --print target-libdir --target "$1")" ]; }

crates() {
  say "crates"
  cargo publish --workspace --dry-run
}

semver() {
  say "semver"
  local last
  last=$(git tag --list 'v*' --sort=-version:refname | head -1)
  if [ -z "$last" ]; then
    echo "there is no release to compare with"
    return
  fi
  command -v cargo-semver-checks > /dev/null || cargo install --locked cargo-semver-checks
  cargo semver-checks --workspace --baseline-rev "$last"
}

# Builds one wheel. Usage: wheel TARGET [OPTIONS OF MATURIN].
wheel() {
  local target=$1 options=(--target "$1" --profile "$profile" --manifest-path python/Cargo.toml --out "$out")
  case $target in
    # Zig links against the old C library, regardless of this machine's library.
    *-linux-gnu) options+=(--zig --compatibility "$manylinux") ;;
    *-apple-darwin) options+=(--zig) ;;
  esac
  maturin build "${options[@]}" "${@:2}"
}

wheels() {
  say "wheels"
  tools
  rm -rf "$out"
  maturin sdist --manifest-path python/Cargo.toml --out "$out"
  for target in "${targets[@]}"; do
    if ! has_target "$target"; then
      echo "no wheel for $target: rustup target add $target"
      continue
    fi
    wheel "$target" --interpreter "${PYTHON:-python3}"
    [ "$target" = "$host" ] || continue
    for interpreter in ${FREE_THREADED:-}; do
      wheel "$target" --interpreter "$interpreter"
    done
  done
  (cd "$out" && ls -l)
}

# Installs a wheel in a new environment of an interpreter, with nothing but the environment on PATH, and tests it. Usage: try_wheel
# INTERPRETER.
try_wheel() {
  local folder
  folder=$(mktemp -d)
  "$1" -m venv "$folder/venv"
  (
    # This folder contains no sources of the package, so that Python imports the installed package.
    cd "$folder"
    export PATH=$folder/venv/bin CARGO_HOME=$folder/none RUSTUP_HOME=$folder/none
    python -m pip install --quiet --disable-pip-version-check --only-binary :all: numpy
    python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --find-links "$out" broadloom
    python "$root/python/tests/installed.py"
  )
  rm -rf "$folder"
}

install() {
  say "install"
  try_wheel "${PYTHON:-python3}"
  for interpreter in ${FREE_THREADED:-}; do
    try_wheel "$interpreter"
  done
}

for step in "${@:-crates semver wheels install}"; do
  for name in $step; do
    case $name in
      crates | semver | wheels | install) "$name" ;;
      *)
        sed -n '2,12s/^# \?//p' "$0" >&2
        exit 2
        ;;
    esac
  done
done
say "to publish: tag the commit, cargo publish --workspace, and upload target/wheels/*"
