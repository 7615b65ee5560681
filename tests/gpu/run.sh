#!/usr/bin/env bash
# The tests that need a GPU, and those that hold on both drivers: the C++ suites, tests/device, tests/gpu. CMake, ninja and
# the Python packages of this interpreter are used as they are (among them nlohmann-json, and ros-gtest-vendor unless GoogleTest is
# installed; also from a folder on PYTHONPATH); nothing is installed.
#
#   tests/gpu/run.sh [PYTHON]
set -uo pipefail
cd "$(dirname "$0")/../.."
python=${1:-python3}
build=build/gpu
cmake -S . -B $build -G Ninja -DISTHMUS_BUILD_PYTHON=OFF -DISTHMUS_BUILD_TESTS=ON -DPython_EXECUTABLE="$(command -v "$python")" >/dev/null &&
  cmake --build $build >/dev/null || exit 1
export ISTHMUS_DRIVER=system ISTHMUS_PROFILE=off
ISTHMUS_NVRTC=$("$python" cmake/wheel_file.py "*/lib/libnvrtc.so.*" "nvidia-*")
export ISTHMUS_NVRTC
# A GPU is quick enough for many more cases than the emulated driver is given.
export ISTHMUS_WINDOW_CASES=${ISTHMUS_WINDOW_CASES:-1000000} ISTHMUS_WINDOW_CYCLES=${ISTHMUS_WINDOW_CYCLES:-10000}
failed=0
for suite in contract device measure window transfer capi; do
  $build/bin/test_$suite --gtest_brief=1 || failed=1
done
"$python" -m pytest -q -rs tests/device tests/gpu || failed=1
exit $failed
