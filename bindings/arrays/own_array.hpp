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
  /// example      a NumPy array with such items
  OwnArray(std::uintptr_t pointer, const nanobind::sequence& lengths, nanobind::handle example);

  /// DLPack's number of the items' type; below 0 if it has none.
  int type_code() const noexcept { return item_.code; }

  /// Reads it into an array that is new.
  void read(Array& array) const;

private:
  void* data_;
  std::vector<std::int64_t> lengths_;
  Item item_;
};
