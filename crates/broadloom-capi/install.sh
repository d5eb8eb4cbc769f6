#!/usr/bin/env bash
# Builds the C library and installs it: install.sh PREFIX [PROFILE]
#
#   PREFIX/include/broadloom.h
#   PREFIX/lib/libbroadloom.a, libbroadloom.so (or .dylib), pkgconfig/broadloom.pc
#
# PROFILE is one of cargo's: release by default, which is installed without symbols for debuggers; dev keeps them. DESTDIR is
# put before PREFIX, but not into the .pc file. STRIP names the program that removes symbols. SELECT says which packages are built:
# with `--workspace` the library has the features of a build of the whole workspace, and none of its crates is compiled again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: install.sh PREFIX [PROFILE]" >&2; exit 2; }
prefix=$1 profile=${2:-release}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
root=${DESTDIR:-}$prefix

cd "$here/../.."
echo "building libbroadloom ($profile); the first time that takes minutes" >&2
# Several words.
# shellcheck disable=SC2086
cargo build ${SELECT:--p broadloom-capi} --lib --profile "$profile"
field() { cargo metadata --no-deps --format-version 1 | sed "s/.*$1//" | cut -d'"' -f1; }
target=$(field '"target_directory":"')
version=$(field '"name":"broadloom-capi","version":"')
# Before 1.0 each minor version may break what came before.
case $version in 0.*) abi=${version%.*} ;; *) abi=${version%%.*} ;; esac
built=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")

# Copies a file, removes its symbols with these options of strip, and says how large it is.
install_library() {
  local from=$1 to=$2
  shift 2
  # Not in place: a program that runs has the old file.
  cp "$from" "$to.part"
  if [ "$profile" != dev ]; then
    "${STRIP:-strip}" "$@" "$to.part" || echo "install.sh: ${STRIP:-strip} failed: $to keeps its symbols" >&2
  fi
  mv -f "$to.part" "$to"
  echo "installed $to ($(($(wc -c < "$to") / 1000)) kB)" >&2
}

mkdir -p "$root/include" "$root/lib/pkgconfig"
cp "$here/include/broadloom.h" "$root/include/"
# Of the archive only what debuggers read: other symbols are what it is linked by.
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
