#!/usr/bin/env bash
# Tests broadloom on aarch64, emulated by qemu, and checks that it compiles for targets on which nothing is run.
# Usage: scripts/aarch64.sh [step…]   with these steps, or all of them:
#   install   installs missing Debian packages with apt-get, and Rust targets with rustup
#   build     builds tests, commands and the C library, optimised, since emulation is ten to fifty times slower than a CPU
#   suites    runs the tests listed below, on each of the CPUs
#   hashes    compares the results of every function and conversion with tests/hashes.txt, and of a seventh of the reductions with
#             tests/reductions.txt: all arguments on the first CPU, a sixteenth of them on the others, and a fortieth of the reductions
#   programs  runs random programs with the interpreter and as machine code, a share on each CPU, and compares hashes with the host's
#   c         runs the examples in C
#   targets   runs cargo check for the other targets
# CPUS lists the CPUs (cortex-a57: no float16 arithmetic; neoverse-n1: ARMv8.2 with it; max: all features of qemu). PROGRAMS is the
# number of random programs. BROADLOOM_SEEDS is the number of programs that the suites compare with a reference on each CPU. THIN=1
# compares as few hashes on the first CPU as on the others. RUSTC is a compiler that rustup did not install, with the standard library
# for aarch64: /usr/bin/rustc is Debian's, with libstd-rust-dev:arm64. LIBRARY is the folder of the emulated C library. With the
# library of Debian's cross packages (2.36-8cross1), qemu 7.2 hung in every program with a thread, even in C. Programs run with
# libc6:arm64 and libgcc-s1:arm64, unpacked by dpkg -x into a folder.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
read -ra cpus <<< "${CPUS:-cortex-a57 neoverse-n1 max}"
programs=${PROGRAMS:-50000}
export BROADLOOM_SEEDS=${BROADLOOM_SEEDS:-600}
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
library=${LIBRARY:-/usr/aarch64-linux-gnu}
others=(riscv64gc-unknown-linux-gnu s390x-unknown-linux-gnu wasm32-unknown-unknown x86_64-pc-windows-gnu aarch64-apple-darwin)

# Modules of `broadloom`'s tests. Tests that start child processes are omitted, since the host can't start emulated programs. Tests
# that don't depend on the target are omitted too.
tests=(
  spec_cases casts integer_extremes nan_bits  # functions and conversions
  layouts overlap reductions                  # memory
  differential                                # random programs
  float_env threads vector_width              # the CPU: FPCR, threads, no vectors beyond 128 bits
  host_functions host_failures language       # applications and texts
)

say() { printf '\n== %s\n' "$*"; }

has_target() { [ -d "$("${RUSTC:-rustc}" --print target-libdir --target "$1")" ]; }

emulated() { qemu-aarch64 -cpu "$1" -L "$library" "${@:2}"; }

install() {
  say "install"
  local packages=()
  command -v qemu-aarch64 > /dev/null || packages+=(qemu-user)
  command -v aarch64-linux-gnu-gcc > /dev/null || packages+=(gcc-aarch64-linux-gnu)
  test -e "$library/lib/libc.so.6" || packages+=(libc6-dev-arm64-cross)
  if [ ${#packages[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
      DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
    else
      echo "missing, by Debian's names: ${packages[*]}" >&2
      exit 1
    fi
  fi
  if [ -z "${RUSTC:-}" ]; then
    rustup target add "$target" "${others[@]}"
  elif ! has_target "$target"; then
    echo "$RUSTC has no standard library for $target" >&2
    exit 1
  fi
  qemu-aarch64 --version | head -1
}

# Builds the tests and prints their executables.
executables() {
  {
    cargo test --no-run --release --target "$target" -p broadloom -p broadloom-interp -p broadloom-clif \
      --test suite --test integration 2>&1
    cargo test --no-run --release --target "$target" -p broadloom-mem --lib 2>&1
  } | tee /dev/stderr | sed -n 's/^ *Executable .*(\(.*\))$/\1/p'
}

build() {
  say "build"
  executables > /dev/null
  cargo build --release --target "$target" -p broadloom-testkit --features programs --bin fingerprint
  cargo build --release --target "$target" -p broadloom-capi --lib
  cargo build --release -p broadloom-testkit --features programs --bin fingerprint
}

suites() {
  local built passed
  built=$(executables 2> /dev/null)
  for cpu in "${cpus[@]}"; do
    say "suites on $cpu"
    passed=0
    for test in $built; do
      local name log
      name=$(basename "$test")
      log=target/aarch64-$cpu-${name%-*}.log
      # The tests of `broadloom` are one program, of which these modules run.
      local modules=()
      [[ $name == integration-* ]] && modules=("${tests[@]/%/::}")
      emulated "$cpu" "$test" --quiet "${modules[@]}" > "$log" 2>&1 || { cat "$log"; echo "$name failed on $cpu" >&2; exit 1; }
      passed=$((passed + $(sed -n 's/^test result: ok. \([0-9]*\) passed.*/\1/p' "$log")))
      echo "${name%-*}: $(grep '^test result' "$log")"
    done
    echo "$cpu: $passed tests of $(wc -w <<< "$built") executables passed"
  done
}

hashes() {
  local thin=${THIN:+--thin} rows=${THIN:+40}
  for cpu in "${cpus[@]}"; do
    say "hashes on $cpu${thin:+, a sixteenth of the arguments}"
    # shellcheck disable=SC2086
    emulated "$cpu" "target/$target/release/fingerprint" functions --check $thin
    emulated "$cpu" "target/$target/release/fingerprint" reductions --check --thin "${rows:-7}"
    thin=--thin rows=40
  done
}

programs() {
  local file=target/aarch64-programs.txt share=$((programs / ${#cpus[@]} + 1)) from=0
  target/release/fingerprint write-programs "$file" --programs "$programs" --seed 210000
  for cpu in "${cpus[@]}"; do
    local range=(--from "$from" --until "$((from + share))" --block 100)
    say "programs $from to $((from + share)) on $cpu"
    # Keeps only the host's hashes of the interpreter and of 128-bit machine code.
    target/release/fingerprint programs "$file" "${range[@]}" | sed 's/ *jit256.*//' > "$file.host"
    emulated "$cpu" "target/$target/release/fingerprint" programs "$file" "${range[@]}" |
      sed 's/ *$//' > "$file.$cpu"
    diff "$file.host" "$file.$cpu" && echo "$(tail -1 "$file.$cpu"): equal to the host's"
    from=$((from + share))
  done
}

c() {
  local out=target/$target/release
  for program in example functions statistics misuse; do
    aarch64-linux-gnu-gcc -std=c11 -O2 -Wall -Wextra -Icrates/broadloom-capi/include "examples/c/$program.c" \
      "$out/libbroadloom_capi.a" -lpthread -lm -ldl -o "$out/c-$program"
    for cpu in "${cpus[@]}"; do
      say "examples/c/$program.c on $cpu"
      (cd examples/c && emulated "$cpu" "../../$out/c-$program")
    done
  done
}

# On targets without machine code, the feature `jit` is disabled, and the interpreter runs everything.
targets() {
  for other in "${others[@]}"; do
    if ! has_target "$other"; then
      echo "not checked, for want of its standard library: $other"
      continue
    fi
    say "cargo check for $other"
    case $other in
      wasm32-*) cargo check --target "$other" -p broadloom --no-default-features ;;
      *) cargo check --target "$other" -p broadloom ;;
    esac
  done
}

steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(install build suites hashes programs c targets)
for step in "${steps[@]}"; do
  case $step in
    install | build | suites | hashes | programs | c | targets) "$step" ;;
    *) echo "no step $step" >&2; exit 2 ;;
  esac
done
say "done, at $(git rev-parse --short HEAD)"
