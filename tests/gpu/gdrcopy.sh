#!/usr/bin/env bash
# GDRCopy's own tests and benchmarks, unchanged, on Isthmus's gdrapi.h and libgdrapi.so.2.
#
#   tests/gpu/gdrcopy.sh GDRCOPY_SOURCES LIBRARY_FOLDER OUT_FOLDER
#
# GDRCOPY_SOURCES is a clone of GDRCopy, as it is; LIBRARY_FOLDER holds libgdrapi.so.2 (a build folder's bin, or the package).
# Needs a CUDA toolkit.
set -euo pipefail
sources=$(cd "${1:?GDRCOPY_SOURCES}" && pwd)
libraries=$(cd "${2:?LIBRARY_FOLDER}" && pwd)
mkdir -p "${3:?OUT_FOLDER}"
out=$(cd "$3" && pwd)
headers=$(cd "$(dirname "$0")/../../cpp/include/gdrapi" && pwd)
cuda=${CUDA_HOME:-/usr/local/cuda}
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
ln -s "$libraries/libgdrapi.so.2" "$programs/libgdrapi.so"
ln -s "$libraries/libgdrapi.so.2" "$programs/libgdrapi.so.2"

tests=$sources/tests
# The two headers spare the sources includes that compilers used to bring along. Our gdrapi.h comes before GDRCopy's own, which
# lies beside the gdrconfig.h that the sources need.
flags=(-O2 -w -include errno.h -include stdlib.h -I"$headers" -I"$tests" -I"$sources/src" -I"$sources/include" -I"$cuda/include")
link=(-L"$programs" -lgdrapi -L"$cuda/lib64/stubs" -lcuda -lpthread)
g++ "${flags[@]}" "$tests"/{common,testsuites/testsuite,sanity}.cpp -o "$programs/sanity" "${link[@]}"
for name in copylat copybw apiperf; do
  g++ "${flags[@]}" "$tests/common.cpp" "$tests/$name.cpp" -o "$programs/$name" "${link[@]}"
done
"$cuda/bin/nvcc" "${flags[@]}" -arch=native "$tests/common.cpp" "$tests/pplat.cu" -o "$programs/pplat" "${link[@]}"

export LD_LIBRARY_PATH=$programs:${LD_LIBRARY_PATH:-}
GDRCOPY_ENABLE_LOGGING=1 "$programs/sanity" -v > "$out/gdrcopy_sanity.txt" 2>&1 || true
"$programs/copylat" -r 20 -c > "$out/gdrcopy_copylat.txt" 2>&1
"$programs/copybw" > "$out/gdrcopy_copybw.txt" 2>&1
"$programs/apiperf" -s 16777216 > "$out/gdrcopy_apiperf.txt" 2>&1
"$programs/pplat" -t 10000 > "$out/gdrcopy_pplat.txt" 2>&1
grep -A99 "^Total" "$out/gdrcopy_sanity.txt"
