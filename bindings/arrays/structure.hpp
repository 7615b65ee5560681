// Arrays in lists, tuples, mappings and PyTorch's modules, which may be nested.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays/reader.hpp"

/// The arrays of two structures of the same form, in pairs, in the target's order. Keeps them.
/// Where both have a number, a string or None, nothing is paired.
/// Created and destroyed with the GIL held.
class StructurePairs {
public:
  struct Pair {
    nanobind::object target;
    nanobind::object source;
    std::size_t container = 0;  ///< its place: where it lies,
    nanobind::object key;       ///< and there under which key or index
  };

  /// reader      knows which types are structures
  /// Throws      isthmus::UsageError that names the path where the two differ
  StructurePairs(ArrayReader& reader, nanobind::handle target, nanobind::handle source);

  const std::vector<Pair>& pairs() const noexcept { return pairs_; }
  /// Where a pair is: "model.layers.3.bias".
  std::string path_of(std::size_t pair) const;

private:
  struct Container {
    std::size_t parent = 0;
    nanobind::object key;  ///< invalid for the whole
  };
  using Memory = std::pair<const void*, std::size_t>;
  void add(nanobind::handle target, nanobind::handle source, std::size_t container,
           nanobind::object key);
  void add_members(nanobind::handle target, nanobind::handle source, std::size_t container);
  void add_sequences(nanobind::handle target, nanobind::handle source, std::size_t container);
  void refuse_keys(nanobind::handle targets, nanobind::handle sources, std::size_t container,
                   const std::vector<std::string>& missing) const;
  void drop_tied(std::vector<nanobind::object>& items) const;
  Memory memory_of(nanobind::handle object) const;
  std::string path_of(std::size_t container, nanobind::handle key) const;
  std::string place_of(std::size_t container) const;

  ArrayReader& reader_;
  std::vector<Container> containers_;
  std::vector<Pair> pairs_;
  /// The containers around the one that is read, outermost first.
  std::vector<std::pair<nanobind::handle, nanobind::handle>> open_;
  bool has_values_ = false;
};
