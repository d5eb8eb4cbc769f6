#!/usr/bin/env bash
# Builds the C library and installs it: install.sh PREFIX [PROFILE]
#
#   PREFIX/include/broadloom.h
#   PREFIX/lib/libbroadloom.a, libbroadloom.so (or .dylib), pkgconfig/broadloom.pc
#
# PROFILE is a cargo profile: release (the default), which is installed without debug symbols, or dev, which keeps them. DESTDIR is
# prepended to PREFIX, but not in the .pc file. STRIP is the program that removes symbols. SELECT selects the packages to build:
# with `--workspace`, the library has the features of a workspace build, so that none of its crates is compiled again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: install.sh PREFIX [PROFILE]" >&2; exit 2; }
prefix=$1 profile=${2:-release}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
root=${DESTDIR:-}$prefix

cd "$here/../.."
echo "building libbroadloom ($profile); the first time that takes minutes" >&2
# SELECT may consist of several words.
# shellcheck disable=SC2086
cargo build ${SELECT:--p broadloom-capi} --lib --profile "$profile"
field() { cargo metadata --no-deps --format-version 1 | sed "s/.*$1//" | cut -d'"' -f1; }
target=$(field '"target_directory":"')
version=$(field '"name":"broadloom-capi","version":"')
# Before 1.0, each minor version may break compatibility, so the ABI version contains it.
case $version in 0.*) abi=${version%.*} ;; *) abi=${version%%.*} ;; esac
built=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")

# Copies a library, removes symbols with the given options of strip, and prints its size.
install_library() {
  local from=$1 to=$2
  shift 2
  # The file is copied under another name and then moved, since a running program may have mapped the old file.
  cp "$from" "$to.part"
  if [ "$profile" != dev ]; then
    "${STRIP:-strip}" "$@" "$to.part" || echo "install.sh: ${STRIP:-strip} failed: $to keeps its symbols" >&2
  fi
  mv -f "$to.part" "$to"
  echo "installed $to ($(($(wc -c < "$to") / 1000)) kB)" >&2
}

mkdir -p "$root/include" "$root/lib/pkgconfig"
cp "$here/include/broadloom.h" "$root/include/"
# From the archive, only debug symbols are removed, since linking needs the others.
install_library "$built/libbroadloom_capi.a" "$root/lib/libbroadloom.a" -S
if [ "$(uname)" = Darwin ]; then
  install_library "$built/libbroadloom_capi.dylib" "$root/lib/libbroadloom.$abi.dylib" -x
  ln -sf "libbroadloom.$abi.dylib" "$root/lib/libbroadloom.dylib"
else
  install_library "$built/libbroadloom_capi.so" "$root/lib/libbroadloom.so.$version" --strip-unneeded
  ln -sf "libbroadloom.so.$version" "$root/lib/libbroadloom.so.$abi"
  ln -sf "libbroadloom.so.$abi" "$root/lib/libbroadloom.so"
fi
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/broadloom.pc.in" > "$root/lib/pkgconfig/broadloom.pc"
