// Users' words for C++ enumerators: words_of(Enum), beside each enum of cpp/src/measure, or a table.
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

/// The same by the words beside the enum.
template <typename Value>
Value value_of(const std::string& word, const char* what) {
  std::string known;
  std::size_t index = 0;
  for (const char* one : words_of(Value{})) {
    if (word == one) return static_cast<Value>(index);
    known += (index++ == 0 ? "" : ", ") + std::string(one);
  }
  throw isthmus::UsageError(std::string("unknown ") + what + " '" + word + "': use " + known);
}

template <typename Value>
const char* word_of(Value value) {
  return words_of(value)[static_cast<std::size_t>(value)];
}
