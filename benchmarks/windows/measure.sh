#!/usr/bin/env bash
# Measures the windows of this machine's first GPU and puts what README.md here speaks of into a
# folder.
#
#   benchmarks/windows/measure.sh OUT_FOLDER [WINDOW_DETAILS [LIBGDRAPI]]
#
# Needs `isthmus` on the PATH. WINDOW_DETAILS is the program of details.cpp (built with
# -DISTHMUS_BUILD_BENCHMARKS=ON), LIBGDRAPI the library that it compares with. Takes about two minutes.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: measure.sh OUT_FOLDER [WINDOW_DETAILS [LIBGDRAPI]]}
mkdir -p "$out"

isthmus doctor > "$out/doctor.txt"
isthmus bench -t 'window*' --budget 60 --output "$out/run.json" > "$out/run.txt" 2> "$out/run.log"
# A few sizes twice more, to see how much of them is the moment.
for _ in 1 2; do
  isthmus bench -t 'window*' --sizes 4,64,1KiB,4KiB,64KiB,1MiB --budget 15 2>> "$out/run.log"
done > "$out/again.txt"
if [ $# -ge 2 ]; then
  "$2" ${3:+"$3"} > "$out/details.json" 2>> "$out/run.log"
fi
