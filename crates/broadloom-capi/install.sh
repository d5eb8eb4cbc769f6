#!/usr/bin/env bash
# Builds the C library and installs it: install.sh PREFIX [PROFILE]
#
#   PREFIX/include/broadloom.h
#   PREFIX/lib/libbroadloom.a, libbroadloom.so (or .dylib), pkgconfig/broadloom.pc
#
# PROFILE is one of cargo's: release by default. DESTDIR is put before PREFIX, but not into the .pc file.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: install.sh PREFIX [PROFILE]" >&2; exit 2; }
prefix=$1 profile=${2:-release}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
root=${DESTDIR:-}$prefix

cd "$here/../.."
cargo build -q -p broadloom-capi --lib --profile "$profile"
field() { cargo metadata --no-deps --format-version 1 | sed "s/.*$1//" | cut -d'"' -f1; }
target=$(field '"target_directory":"')
version=$(field '"name":"broadloom-capi","version":"')
# Before 1.0 each minor version may break what came before.
case $version in 0.*) abi=${version%.*} ;; *) abi=${version%%.*} ;; esac
built=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")

mkdir -p "$root/include" "$root/lib/pkgconfig"
cp "$here/include/broadloom.h" "$root/include/"
cp "$built/libbroadloom_capi.a" "$root/lib/libbroadloom.a"
if [ "$(uname)" = Darwin ]; then
  cp "$built/libbroadloom_capi.dylib" "$root/lib/libbroadloom.$abi.dylib"
  ln -sf "libbroadloom.$abi.dylib" "$root/lib/libbroadloom.dylib"
else
  cp "$built/libbroadloom_capi.so" "$root/lib/libbroadloom.so.$version"
  ln -sf "libbroadloom.so.$version" "$root/lib/libbroadloom.so.$abi"
  ln -sf "libbroadloom.so.$abi" "$root/lib/libbroadloom.so"
fi
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/broadloom.pc.in" > "$root/lib/pkgconfig/broadloom.pc"
