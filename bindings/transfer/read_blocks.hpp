// The arguments of a copy of blocks, read: arrays of several layers, addresses, indices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <isthmus/transfer.hpp>

#include "bindings/arrays/pair.hpp"

/// What a caller passes.
struct BlockArguments {
  nanobind::handle target;
  nanobind::handle source;
  nanobind::handle target_index;
  nanobind::handle source_index;
  nanobind::handle block_bytes;  ///< None: rows of axis 0
  nanobind::handle stream;
};

/// Arrays of one call, and the objects that they were read from. Used with the GIL held.
class ReadArrays {
public:
  ReadArrays(ArrayReader& reader, Hold hold) : reader_(reader), hold_(hold) {}

  /// Throws      as ArrayReader::read()
  Array& read(nanobind::handle object, Role role);
  /// Reads an array that has numbers, or rows, and refuses a list.
  ///
  /// Throws      as read()
  Array& read_array(nanobind::handle object, Role role, const char* name);
  /// Orders the copy after the work of all of them. Their addresses are known then.
  ///
  /// Returns     the CUstream of the copy
  std::uintptr_t order(nanobind::handle stream);
  /// The array whose library has chosen the stream; None if none has.
  nanobind::object leader() const;
  std::vector<Export> take_exports();
  /// True if memory may be given out again before that stream has come so far, when nobody keeps it.
  bool may_be_reused(std::uintptr_t stream) const noexcept;
  /// What was read, as a tuple.
  nanobind::object objects() const;

private:
  ArrayReader& reader_;
  Hold hold_;
  /// For the usual four arrays, whose thousand bytes each the heap gives slowly.
  std::array<std::byte, 8192> room_;  // NOLINT(*-member-init): filled as far as it is used
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::deque<Array> arrays_{&memory_};
  std::vector<Array*> pointers_;
  std::vector<nanobind::object> objects_;
};

/// One end: arrays, or addresses, one for each layer.
class BlockLayers {
public:
  /// Throws      nanobind::python_error, isthmus::UsageError
  void add(ReadArrays& arrays, nanobind::handle object, Role role);
  /// Finds the pools. Call after the arrays are ordered.
  ///
  /// as_bytes      blocks are of block_bytes, and not rows
  /// block_bytes   0: that of the first layer
  /// item          the type of all items so far
  /// Throws        isthmus::UsageError
  void find(bool as_bytes, std::size_t& block_bytes, Item& item);
  const std::vector<isthmus::BlockPool>& pools() const noexcept { return pools_; }
  /// The arrays that are PyTorch's and written.
  const nanobind::list& tensors() const noexcept { return tensors_; }
  /// True if a pool is isthmus.Blocks, whose memory nobody here keeps.
  bool has_addresses() const noexcept { return has_addresses_; }

private:
  struct Layer {
    std::string name;
    Array* array = nullptr;
    isthmus::BlockPool pool = {};
    std::size_t block_bytes = 0;
    Role role = Role::source;
  };
  void add_layer(ReadArrays& arrays, nanobind::handle object, Role role, const std::string& name);
  static void require_same_item(const Layer& layer, Item& item);
  std::size_t add_bytes(const Layer& layer, std::size_t block_bytes);
  std::size_t add_rows(const Layer& layer);

  std::vector<Layer> layers_;
  std::vector<isthmus::BlockPool> pools_;
  nanobind::list tensors_;
  bool has_addresses_ = false;
};

/// The numbers that an array may have.
enum class Numbers { indices, addresses };

/// Checks the type of an array of numbers.
///
/// Throws      isthmus::UsageError that names it
void require_items(const Array& array, const char* name, Numbers numbers);
/// The same, and that they lie in a row.
///
/// Throws      isthmus::UsageError that names it
void require_numbers(const Array& array, const char* name, Numbers numbers);

/// A call's arguments, read and ordered.
struct ReadBlocks {
  /// Throws      nanobind::python_error, isthmus::UsageError
  ReadBlocks(ArrayReader& reader, const BlockArguments& given, Hold hold);

  ReadArrays arrays;
  BlockLayers targets;
  BlockLayers sources;
  isthmus::BlockCopy copy;
  std::uintptr_t stream = 0;
};
