// What a fuzzer looks for beside crashes: ends the process where an expectation doesn't hold.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "host/system/printable.hpp"

namespace isthmus::fuzz {

inline void expect(bool holds, const char* otherwise) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", otherwise);
  std::abort();
}

/// Text that can be shown: valid UTF-8 without control characters.
inline void expect_shown(std::string_view text) {
  expect(host::printable(text) == text, "what is shown isn't printable");
}

/// A message says something, in a few lines.
inline void expect_message(const std::exception& error) {
  constexpr std::size_t kMaxBytes = 2000;
  const std::string_view said = error.what();
  expect(!said.empty(), "an error says nothing");
  expect(said.size() <= kMaxBytes, "an error repeats too much of its input");
  expect_shown(said);
}

}  // namespace isthmus::fuzz
