// Python's words for C++ enumerators.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>

#include <isthmus/errors.hpp>

#include "bindings/text.hpp"
#include "measure/loops/samples.hpp"

/// Python's word for a C++ enumerator.
template <typename Value>
struct Word {
  const char* word;
  Value value;
};

template <typename Value, std::size_t N>
Value value_of(const Word<Value> (&words)[N], const std::string& word, const char* what) {
  std::string known;
  for (const auto& entry : words) {
    if (word == entry.word) return entry.value;
    known += (known.empty() ? "" : ", ") + std::string(entry.word);
  }
  throw isthmus::UsageError(std::string("unknown ") + what + " '" + word + "': use " + known);
}

/// The same for an argument from Python, which may be anything.
///
/// what        the argument's name
template <typename Value, std::size_t N>
Value value_of(const Word<Value> (&words)[N], nanobind::handle word, const char* what) {
  if (PyUnicode_Check(word.ptr())) return value_of(words, nanobind::cast<std::string>(word), what);
  throw isthmus::UsageError(std::string(what) + " must be a word, such as '" + words[0].word +
                            "', not " + nanobind::repr(word).c_str());
}

template <typename Value, std::size_t N>
const char* word_of(const Word<Value> (&words)[N], Value value) {
  for (const auto& entry : words) {
    if (value == entry.value) return entry.word;
  }
  return "";
}

inline constexpr Word<isthmus::measure::Direction> kDirections[] = {
    {"h2d", isthmus::measure::Direction::host_to_device},
    {"d2h", isthmus::measure::Direction::device_to_host}};
