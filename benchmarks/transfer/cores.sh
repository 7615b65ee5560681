#!/usr/bin/env bash
# Copies from and to ordinary memory with only some of the cores: 4, and 1.
#
#   benchmarks/transfer/cores.sh OUT_FOLDER TRANSFER_DETAILS [LIBCUDART]
#
# The cores are the first of those that this shell may use.
set -uo pipefail
out=${1:?usage: cores.sh OUT_FOLDER TRANSFER_DETAILS [LIBCUDART]}
details=${2:?usage: cores.sh OUT_FOLDER TRANSFER_DETAILS [LIBCUDART]}
mkdir -p "$out"
for count in 4 1; do
  cpus=$(python3 -c "import os; print(','.join(map(str, sorted(os.sched_getaffinity(0))[:$count])))")
  # A profile was measured with all cores: its rates don't hold here, so that there must be none.
  ISTHMUS_PROFILE=off taskset -c "$cpus" "$details" large $((1 << 30)) ${3:+"$3"} > "$out/cores_$count.json"
done
