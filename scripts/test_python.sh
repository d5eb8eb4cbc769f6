#!/usr/bin/env bash
# Tests the Python package in target/venv: scripts/test_python.sh lint | dev | release | suites [--quick | --full]
#
#   lint     the checks of the sources, which need no extension module: ruff and mypy
#   dev      with the extension module from the workspace's build, which is copied into the package's folder; nothing is compiled twice
#   release  with the package as built and installed by pip
#   suites   the test suites of other projects, with the package that one of the commands above has installed
#
# PYTHON is the interpreter with which the environment is created.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=target/venv
python=$PWD/$venv/bin/python
extension=python/broadloom/_core.abi3.so
[ -x "$python" ] || "${PYTHON:-python3}" -m venv "$venv"
install() { "$python" -m pip install --quiet --disable-pip-version-check "$@"; }

# Lists the dependencies of the package and of its tests.
requirements() {
  "$python" - <<'PYTHON'
import tomllib
with open("python/pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
groups = [project["dependencies"], *(project["optional-dependencies"][name] for name in ("test", "suites", "lint"))]
print("\n".join(word for group in groups for word in group))
PYTHON
}

# Installs the dependencies.
needed() {
  mapfile -t needed < <(requirements)
  install "${needed[@]}"
}

lint() {
  "$python" -m ruff check python
  "$python" -m ruff format --check python
  "$python" -m mypy --config-file python/pyproject.toml -p broadloom
  "$python" -m mypy --config-file python/pyproject.toml python/tests/test_types.py
}

tests() {
  "$python" -m mypy.stubtest broadloom._core --mypy-config-file python/pyproject.toml --allowlist python/stubtest.txt
  "$python" -m pytest --quiet -n 2 --ignore python/tests/suites python
  "$python" python/examples/tour.py
  "$python" python/examples/arrow_columns.py
}

case ${1:-} in
  lint)
    needed
    lint
    ;;
  dev)
    cargo build --workspace --lib
    cp target/debug/lib_core.so "$extension.part"
    # Moved into place, since a running process may have mapped the old file.
    mv -f "$extension.part" "$extension"
    needed
    echo "$PWD/python" > "$("$python" -c 'import site; print(site.getsitepackages()[0])')/broadloom-folder.pth"
    tests
    ;;
  release)
    rm -f "$extension" "$venv"/lib/python*/site-packages/broadloom-folder.pth
    install './python[test,suites,lint]'
    lint
    tests
    ;;
  suites)
    "$python" python/tests/suites/run.py "${@:2}"
    ;;
  *)
    sed -n '2,9s/^# \?//p' "$0" >&2
    exit 2
    ;;
esac
