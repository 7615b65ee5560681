#!/bin/sh
# Says in one line what a build lacks on this machine that pip can't bring, and ends with 1; says nothing if it has all.
#
#   cmake/prerequisites.sh WHO PYTHON    # WHO needs it: "make bench"
who=$1 python=$2
missing= packages=
lacks() {
  missing="$missing${missing:+, }$1"
  packages="$packages $2"
}

compilers=${CXX:-c++ g++ clang++}
for compiler in $compilers; do
  command -v "$compiler" >/dev/null && break
done || lacks g++ g++

# Debian's packages are named after the command: python3-dev, python3.12-dev.
package=$(basename "$python")
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  lacks "Python 3.11 or later as $python" "$package $package-venv $package-dev"
else
  "$python" -c 'import ensurepip, venv' 2>/dev/null || lacks "$package-venv (ensurepip)" "$package-venv"
  "$python" -c 'import pathlib, sys, sysconfig
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' ||
    lacks "$package-dev (Python.h)" "$package-dev"
fi

[ -z "$missing" ] || { echo "$who needs $missing: apt-get install$packages" >&2; exit 1; }
