#!/usr/bin/env bash
# Measures the copies of this machine's first GPU and puts what README.md here speaks of into a
# folder.
#
#   benchmarks/transfer/measure.sh OUT_FOLDER TRANSFER_DETAILS
#
# Needs `isthmus` on the PATH, and the libraries that it is compared with, as far as they shall be.
# TRANSFER_DETAILS is the program of transfer_details.cpp (built with -DISTHMUS_BUILD_BENCHMARKS=ON).
# Takes about six minutes. That every byte is right is for `make stress` to show.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: measure.sh OUT_FOLDER TRANSFER_DETAILS}
details=${2:?usage: measure.sh OUT_FOLDER TRANSFER_DETAILS}
mkdir -p "$out"
log=$out/run.log
: > "$log"
cudart=$(python3 "$here/../../cmake/wheel_file.py" "*/lib/libcudart.so.*" "nvidia-*" 2>> "$log")

isthmus doctor > "$out/doctor.txt"
isthmus profile -o "$out/profile.json" > "$out/profile.txt" 2>> "$log"
"$details" small,pinning,sweep $((1 << 30)) ${cudart:+"$cudart"} > "$out/details.json" 2>> "$log"
"$here/cores.sh" "$out" "$details" ${cudart:+"$cudart"} 2>> "$log"
python3 "$here/side_by_side.py" "$out/side_by_side.json" >> "$log" 2>&1
python3 "$here/python_calls.py" "$details" "$out/python_calls.json" > "$out/python_calls.txt" 2>> "$log"
python3 "$here/loading.py" "$out/loading.json" >> "$log" 2>&1
