#!/usr/bin/env bash
# Runs the tests that run machine code, and those of memory, under AddressSanitizer.
# Usage: scripts/sanitize.sh   with BROADLOOM_SEEDS random programs (3000 by default). Needs a nightly toolchain.
# Compiled kernels are not instrumented; what calls them, allocates for them and interprets beside them is.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
# Build scripts and procedural macros are the host's; with a target named, the flag is not theirs.
export RUSTFLAGS="-Zsanitizer=address"
# The capstone library in the tests names two of its tables alike.
export ASAN_OPTIONS="detect_odr_violation=0"
export BROADLOOM_SEEDS="${BROADLOOM_SEEDS:-3000}"

# Building takes longer than running, so that less optimisation is less waiting.
levels=(--config 'profile.dev.package."*".opt-level=1' --config profile.dev.package.broadloom-interp.opt-level=1)
asan() { cargo +nightly test --target "$host" "${levels[@]}" "$@"; }

asan -p broadloom --test integration -- differential:: layouts:: threads:: findings::
asan -p broadloom-clif --test suite
asan -p broadloom-mem --tests
