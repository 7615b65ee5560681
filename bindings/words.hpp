// Users' words for C++ enumerators: words_of(Enum), beside each enum of cpp/src/measure, or a table.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>

#include <isthmus/errors.hpp>

#include "bindings/text.hpp"
#include "measure/loops/sampling.hpp"

/// Python's word for a C++ enumerator.
template <typename Value>
struct Word {
  const char* word;
  Value value;
};

template <typename Value>
const char* word_in(const Word<Value>& entry) {
  return entry.word;
}
template <typename Value>
Value value_in(const Word<Value>& entry) {
  return entry.value;
}
/// Without a table: by the words of a public enum.
template <typename Value>
const char* word_in(Value value) {
  return name_of(value).data();
}
template <typename Value>
Value value_in(Value value) {
  return value;
}

template <typename Entry, std::size_t N>
auto value_of(const Entry (&entries)[N], const std::string& word, const char* what) {
  std::string known;
  for (const auto& entry : entries) {
    if (word == word_in(entry)) return value_in(entry);
    known += (known.empty() ? "" : ", ") + std::string(word_in(entry));
  }
  throw isthmus::UsageError(std::string("unknown ") + what + " '" + word + "': use " + known);
}

/// The same for an argument from Python, which may be anything.
///
/// what        the argument's name
template <typename Entry, std::size_t N>
auto value_of(const Entry (&entries)[N], nanobind::handle word, const char* what) {
  if (PyUnicode_Check(word.ptr())) {
    return value_of(entries, nanobind::cast<std::string>(word), what);
  }
  throw isthmus::UsageError(std::string(what) + " must be a word, such as '" + word_in(entries[0]) +
                            "', not " + nanobind::repr(word).c_str());
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
