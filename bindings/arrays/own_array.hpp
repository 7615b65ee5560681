// What an isthmus.DeviceArray is, where reading it costs least.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "bindings/arrays/array.hpp"

/// An array in C order in a device's memory, which no library's work uses. Immutable.
class OwnArray {
public:
  /// lengths      a sequence of ints
  /// type_code    DLPack's, for items of one lane
  OwnArray(std::uintptr_t pointer, const nanobind::sequence& lengths, int type_code,
           std::int64_t item_bits);

  /// Reads it into an array that is new.
  void read(Array& array) const;

private:
  void* data_;
  std::vector<std::int64_t> lengths_;
  int type_code_;
  std::int64_t item_bits_;
};
