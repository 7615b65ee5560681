#!/bin/sh
# Prints a compiler that builds the fuzzers: a clang++ with libFuzzer that reads the C++ library's <source_location>
# and <ranges> (clang 16 is the first to read GCC 12's). Says what to install where there is none.
probe='#include <ranges>
#include <source_location>
#include <vector>
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) {
  const std::vector<unsigned char> bytes(data, data + size);
  for (int byte : bytes | std::views::reverse) if (byte < 0) return -1;
  return std::source_location::current().line() == 0;
}'
program=$(mktemp) || exit 1
trap 'rm -f "$program"' EXIT
for compiler in clang++ clang++-22 clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16; do
  command -v "$compiler" >/dev/null || continue
  if echo "$probe" | "$compiler" -std=c++20 -fsanitize=fuzzer,address,undefined -x c++ - -o "$program" 2>/dev/null; then
    command -v "$compiler"
    exit 0
  fi
done
echo 'fuzzing needs clang++ 16 or later with libFuzzer: apt-get install clang-16 libclang-rt-16-dev' >&2
exit 1
