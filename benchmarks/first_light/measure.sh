#!/usr/bin/env bash
# Measures this machine's first GPU and puts everything that README.md here speaks of into a folder.
#
#   benchmarks/first_light/measure.sh OUT_FOLDER
#
# Needs `isthmus` on the PATH, and for host_memory.py PyTorch. Takes about three minutes.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: measure.sh OUT_FOLDER}
mkdir -p "$out"

isthmus doctor --format json > "$out/doctor.json"
isthmus doctor > "$out/doctor.txt"
isthmus bench --budget 90 --output "$out/run.json" > "$out/run.txt" 2> "$out/run.log"
# Once more, small copies alone and twice, to see how much of them is the moment.
for _ in 1 2; do
  isthmus bench -p host_to_device_small -p device_to_host_small --budget 20 2>> "$out/run.log"
done > "$out/small_again.txt"
python3 "$here/host_memory.py" > "$out/host_memory.txt" 2>&1
