// The arrays of two structures (lists, tuples, mappings, PyTorch's modules, also nested), on their
// way to be copied by one call.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <isthmus/errors.hpp>
#include <isthmus/transfer.hpp>

#include "bindings/arrays/pair.hpp"
#include "bindings/arrays/reader.hpp"
#include "bindings/transfer/copy_future.hpp"
#include "transfer/many/disjoint.hpp"

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

/// All arrays are read when it is made. Used with the GIL held.
class ArrayBatch {
public:
  /// Throws      nanobind::python_error, isthmus::UsageError: both name the array's path
  ArrayBatch(ArrayReader& reader, nanobind::handle target, nanobind::handle source,
             nanobind::handle stream, Hold hold);
  ArrayBatch(const ArrayBatch&) = delete;
  ArrayBatch& operator=(const ArrayBatch&) = delete;

  /// What can be copied as it is, and what was added.
  const std::vector<isthmus::ManyCopy>& copies() const noexcept { return copies_; }
  nanobind::list unlike() const { return unlike_; }
  /// The targets that are PyTorch's.
  nanobind::list tensors() const { return tensors_; }
  /// An array whose library has chosen the stream; None: there is none.
  nanobind::object leader() const { return leader_; }
  std::string path_of(std::size_t pair) const { return pairs_.path_of(pair); }
  /// Checks the arrays of all pairs against each other.
  ///
  /// unlike      of the pairs that aren't among copies(): pair, first address, bytes, whether it is
  ///             written, TouchedRange::source
  /// Throws      isthmus::UsageError, which names the paths
  void require_disjoint(const nanobind::list& unlike) const;
  /// The memory of copies() in [begin, end), as require_disjoint() takes it.
  nanobind::list touching(std::uintptr_t begin, std::uintptr_t end) const;
  void add(std::size_t pair, const isthmus::ManyCopy& copy, nanobind::object needs);

  /// Everything that the copies need. Call it once.
  std::unique_ptr<PythonNeeds> take_needs(nanobind::object follow_up);

  /// Calls copy(); a refusal that numbers copies names their paths instead.
  template <typename Copy>
  auto naming_refusals(Copy copy) const {
    try {
      return copy();
    } catch (const isthmus::transfer::RefusedCopy& refusal) {
      throw isthmus::UsageError(
          refusal.text([this](std::size_t number) { return path_of(pair_of_copy_.at(number)); }));
    }
  }

  /// The same, and tells autograd what is written: nothing if the copies were refused. A failing
  /// driver may have written a part.
  template <typename Copy>
  auto noting_writes(Copy copy) const {
    try {
      auto made = naming_refusals(copy);
      note_writes();
      return made;
    } catch (const isthmus::DriverError&) {
      note_writes();
      throw;
    }
  }

private:
  void note_writes() const;
  std::vector<isthmus::transfer::TouchedRange> touched() const;

  ArrayReader& reader_;
  StructurePairs pairs_;
  nanobind::list tensors_;
  std::vector<isthmus::ManyCopy> copies_;
  std::vector<std::size_t> pair_of_copy_;
  std::vector<Export> held_;
  nanobind::list added_needs_;
  nanobind::list unlike_;
  nanobind::object leader_ = nanobind::none();
};
