#!/usr/bin/env bash
# Runs the coverage-guided fuzz targets of fuzz/ one after the other, and prints a table of executions, coverage and findings.
# Usage: scripts/fuzz.sh [SECONDS [TARGET…]]   By default, runs all targets for 60 seconds each.
# Needs a nightly toolchain and cargo-fuzz. Fails if a target finds a fault, and leaves the input in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(text npy graph views)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Takes the names of functions from the page generated from the op table.
sed -n 's/^| `\([a-z0-9_]*(\).*/"\1"/p' docs/generated/ops.md | cat fuzz/text.dict - >"$logs/text.dict"

cargo +nightly fuzz build
failed=0
for target in "${targets[@]}"; do
  printf '\n== %s\n' "$target"
  mkdir -p "fuzz/corpus/$target"
  dirs=("fuzz/corpus/$target")
  [ ! -d "fuzz/seeds/$target" ] || dirs+=("fuzz/seeds/$target")
  flags=(-max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 -print_funcs=0)
  # Each step is decoded from the next bytes, so inputs of arbitrary length are allowed from the start, and limited to 400 bytes.
  case $target in graph | views) flags+=(-len_control=0 -max_len=400) ;; esac
  [ "$target" != text ] || flags+=(-dict="$logs/text.dict")
  cargo +nightly fuzz run "$target" "${dirs[@]}" -- "${flags[@]}" 2>&1 | tee "$logs/$target" | tail -n 40 || failed=1
done

printf '\n%-8s %12s %8s %8s %8s %8s %9s\n' target executions seconds per-sec edges features findings
for target in "${targets[@]}"; do
  log="$logs/$target"
  stat() { sed -n "s/^stat::$1: *//p" "$log" | tail -n 1; }
  status() { grep -o "$1: [0-9]*" "$log" | tail -n 1 | grep -o '[0-9]*$' || echo '?'; }
  runs=$(stat number_of_executed_units)
  spent=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$log")
  found=$(grep -c 'Test unit written to' "$log" || true)
  printf '%-8s %12s %8s %8s %8s %8s %9s\n' "$target" "${runs:-?}" "${spent:-?}" "$(stat average_exec_per_sec)" \
    "$(status cov)" "$(status ft)" "$found"
done
exit "$failed"
