#!/usr/bin/env bash
# Runs the tests of machine code and of memory under AddressSanitizer.
# Usage: scripts/sanitize.sh   BROADLOOM_SEEDS is the number of random programs (3000 by default). Needs a nightly toolchain.
# Compiled kernels are not instrumented. The code that calls them and allocates their memory is, and so is the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
# With an explicit --target, cargo does not apply this flag to build scripts and procedural macros.
export RUSTFLAGS="-Zsanitizer=address"
# The capstone library used by the tests has two tables with the same name.
export ASAN_OPTIONS="detect_odr_violation=0"
export BROADLOOM_SEEDS="${BROADLOOM_SEEDS:-3000}"

# Building takes longer than running, so less optimisation saves time.
levels=(--config 'profile.dev.package."*".opt-level=1' --config profile.dev.package.broadloom-interp.opt-level=1)
asan() { cargo +nightly test --target "$host" "${levels[@]}" "$@"; }

asan -p broadloom --test integration -- differential:: layouts:: threads:: findings::
asan -p broadloom-clif --test suite
asan -p broadloom-mem --tests
