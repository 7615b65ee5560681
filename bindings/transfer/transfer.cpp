// Transfers: copies between host and device memory.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <isthmus/errors.hpp>
#include <isthmus/transfer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays/pair.hpp"
#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/transfer/array_batch.hpp"
#include "bindings/transfer/copy_future.hpp"
#include "transfer/copy/copy_at_once.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::CopyOptions;
using isthmus::SourceOrder;

namespace {

// --- copies of arrays ----------------------------------------------------------------------------

std::unique_ptr<PythonNeeds> needs_of(ArrayPair& pair, nb::handle target, nb::handle source) {
  std::vector<Export> exports;
  exports.reserve(2);
  for (Array* const array : {&pair.target, &pair.source}) exports.push_back(std::move(array->held));
  return std::make_unique<PythonNeeds>(std::move(exports), nb::make_tuple(target, source),
                                       nb::none());
}

/// True for the usual structures: throwing and catching HoldsArrays takes 1.3 us.
bool is_usual_structure(nb::handle object) {
  return PyList_CheckExact(object.ptr()) || PyTuple_CheckExact(object.ptr()) ||
         PyDict_CheckExact(object.ptr());
}

/// Reads two arrays. Returns false if one is a structure, whose members are to be copied.
bool read_arrays(ArrayReader& reader, nb::handle target, nb::handle source, nb::handle stream,
                 Hold hold, ArrayPair& pair) try {
  if (is_usual_structure(target)) return false;
  read_pair(reader, target, source, stream, hold, pair);
  return true;
} catch (const HoldsArrays&) {
  return false;
}

/// Makes a copy, and tells autograd that its target is written: not if it was refused. A failing
/// driver may have written a part.
template <typename Copy>
auto noting_write(ArrayReader& reader, const ArrayPair& pair, nb::handle target, Copy copy) {
  const auto note = [&] {
    if (pair.target.is_tensor) reader.note_writes(nb::make_tuple(target));
  };
  try {
    auto made = copy();
    note();
    return made;
  } catch (const isthmus::DriverError&) {
    note();
    throw;
  }
}

nb::object batch_of(ArrayReader& reader, nb::handle target, nb::handle source, nb::handle stream,
                    Hold hold) {
  auto batch = std::make_unique<ArrayBatch>(reader, target, source, stream, hold);
  return nb::cast(batch.release(), nb::rv_policy::take_ownership);
}

/// Makes a copy that is complete when `copy` returns. The caller's arguments keep both arrays alive
/// until then; where a failure leaves their memory in use, they are kept until the process ends.
template <typename Copy>
auto copy_keeping(ArrayPair& pair, nb::handle target, nb::handle source, Copy copy) try {
  // Also for a few bytes: the copy may wait for the stream's work, which may wait for a Python
  // thread.
  const GilReleased released;
  return copy();
} catch (const isthmus::DriverError& error) {
  if (error.memory_in_use()) keep_until_process_ends(needs_of(pair, target, source));
  throw;
}

nb::object copy_arrays(ArrayTransfers& transfers, nb::handle target, nb::handle source,
                       nb::handle stream) {
  ArrayPair pair;
  if (!read_arrays(transfers.reader, target, source, stream, Hold::call, pair))
    return batch_of(transfers.reader, target, source, stream, Hold::call);
  if (!is_plain(pair)) return describe(transfers.reader, target, source, pair);
  const CopyOptions options = options_of(pair);
  return noting_write(transfers.reader, pair, target, [&]() -> nb::object {
    copy_keeping(pair, target, source, [&] {
      transfers->copy(pair.target.data, pair.source.data, pair.target.size_bytes, options);
    });
    return nb::none();
  });
}

nb::object copy_arrays_async(ArrayTransfers& transfers, nb::handle target, nb::handle source,
                             nb::handle stream, nb::handle source_order) {
  const SourceOrder order = value_of(kSourceOrders, source_order, "source_order");
  ArrayPair pair;
  if (!read_arrays(transfers.reader, target, source, stream, Hold::copy, pair))
    return batch_of(transfers.reader, target, source, stream, Hold::copy);
  if (!is_plain(pair)) return describe(transfers.reader, target, source, pair);
  const CopyOptions options = options_of(pair);
  return noting_write(transfers.reader, pair, target, [&]() -> nb::object {
    const bool complete =
        pair.target.size_bytes <= isthmus::transfer::kMaxBytesAtOnce &&
        copy_keeping(pair, target, source, [&] {
          return isthmus::transfer::copy_at_once(*transfers.transfers, pair.target.data,
                                                 pair.source.data, pair.target.size_bytes, options);
        });
    if (complete) return nb::none();
    return nb::cast(PythonFuture(needs_of(pair, target, source), [&] {
      return transfers->copy_async(pair.target.data, pair.source.data, pair.target.size_bytes,
                                   options, order);
    }));
  });
}

// --- copies of many arrays -----------------------------------------------------------------------

void copy_batch(ArrayTransfers& transfers, ArrayBatch& batch) try {
  batch.noting_writes([&] {
    const GilReleased released;
    transfers->copy_many(batch.copies());
    return true;
  });
} catch (const isthmus::DriverError& error) {
  if (error.memory_in_use()) keep_until_process_ends(batch.take_needs(nb::none()));
  throw;
}

std::vector<isthmus::PathShare> explain_batch(ArrayTransfers& transfers, const ArrayBatch& batch) {
  return batch.naming_refusals([&] {
    const GilReleased released;
    return transfers->explain_many(batch.copies());
  });
}

/// What copy_arrays() would do without copying anything.
nb::object read_arrays_to_explain(ArrayTransfers& transfers, nb::handle target, nb::handle source,
                                  nb::handle stream) {
  ArrayPair pair;
  if (!read_arrays(transfers.reader, target, source, stream, Hold::call, pair))
    return batch_of(transfers.reader, target, source, stream, Hold::call);
  return describe(transfers.reader, target, source, pair);
}

PythonFuture copy_batch_async(ArrayTransfers& transfers, ArrayBatch& batch,
                              const std::string& source_order, nb::object follow_up) {
  const SourceOrder order = value_of(kSourceOrders, source_order, "source_order");
  return batch.noting_writes([&] {
    return PythonFuture(batch.take_needs(std::move(follow_up)),
                        [&] { return transfers->copy_many_async(batch.copies(), order); });
  });
}

void add_to_batch(ArrayBatch& batch, std::size_t pair, std::uintptr_t target, std::uintptr_t source,
                  std::size_t size_bytes, std::uintptr_t stream, const std::string& target_kind,
                  const std::string& source_kind, nb::object needs) {
  CopyOptions options;
  options.stream = stream;
  options.target_kind = value_of(kMemoryKinds, target_kind, "kind of memory");
  options.source_kind = value_of(kMemoryKinds, source_kind, "kind of memory");
  batch.add(pair, {address(target), address(source), size_bytes, options}, std::move(needs));
}

// --- copies by addresses -------------------------------------------------------------------------
// --- bindings ------------------------------------------------------------------------------------

void bind_array_copies(nb::class_<ArrayTransfers>& transfers) {
  transfers
      .def("copy_arrays", &copy_arrays, "target"_a.none(), "source"_a.none(), "stream"_a.none(),
           nb::sig("def copy_arrays(self, target: object, source: object, stream: object) -> "
                   "tuple[isthmus.move.arrays.array.Array, isthmus.move.arrays.array.Array, int] | "
                   "ArrayBatch | None"),
           "Copy an array to another; returns None when it is done. If memory order or types "
           "differ, copies nothing and returns what ArrayReader.pair() returns. Of lists, tuples "
           "and mappings copies nothing either, and returns the arrays in them.")
      .def("copy_arrays_async", &copy_arrays_async, "target"_a.none(), "source"_a.none(),
           "stream"_a.none(), "source_order"_a.none(),
           nb::sig("def copy_arrays_async(self, target: object, source: object, stream: object, "
                   "source_order: str) -> CopyFuture | tuple[isthmus.move.arrays.array.Array, "
                   "isthmus.move.arrays.array.Array, int] | ArrayBatch | None"),
           "Begin to copy an array to another; otherwise like copy_arrays(). None: it is complete, "
           "because making it took less time than beginning it would.");
}

void bind_batches(nb::module_& m, nb::class_<ArrayTransfers>& transfers) {
  nb::class_<ArrayBatch>(m, "ArrayBatch", "The arrays of two structures, in pairs, to be copied.")
      .def_prop_ro("unlike", &ArrayBatch::unlike,
                   nb::sig("def unlike(self) -> list[tuple[int, isthmus.move.arrays.array.Array, "
                           "isthmus.move.arrays.array.Array, int]]"),
                   "The pairs that can't be copied as they are: the pair's number, and what "
                   "ArrayReader.pair() returns.")
      .def("path", &ArrayBatch::path_of, "pair"_a, "Where a pair is: \"model.layers.3.bias\".")
      .def("require_disjoint", &ArrayBatch::require_disjoint, "unlike"_a,
           nb::sig(
               "def require_disjoint(self, unlike: list[tuple[int, int, int, bool, int]]) -> None"),
           "Raise UsageError if a pair writes what another one reads or writes. `unlike` has the "
           "memory of pairs that weren't added: pair, first address, bytes, whether it is written, "
           "and the address of the bytes that it gets in the same order, or 0.")
      .def("touching", &ArrayBatch::touching, "begin"_a, "end"_a,
           nb::sig("def touching(self, begin: int, end: int) -> "
                   "list[tuple[int, int, int, bool, int]]"),
           "The memory between two addresses of pairs that can be copied as they are, as "
           "require_disjoint() takes it.")
      .def("add", &add_to_batch, "pair"_a, "target"_a, "source"_a, "size_bytes"_a, "stream"_a,
           "target_kind"_a, "source_kind"_a, "needs"_a.none(),
           "Add a copy of bytes that belongs to a pair. `needs` is kept until the copy has ended.");
  transfers.def("copy_batch", &copy_batch, "batch"_a, "Make all copies; complete on return.")
      .def("explain_batch", &explain_batch, "batch"_a, "Say how the copies would be made.")
      .def("read_arrays", &read_arrays_to_explain, "target"_a.none(), "source"_a.none(),
           "stream"_a.none(),
           nb::sig("def read_arrays(self, target: object, source: object, stream: object) -> "
                   "tuple[isthmus.move.arrays.array.Array, isthmus.move.arrays.array.Array, int] | "
                   "ArrayBatch"),
           "Read two arrays, or those in two structures; copies nothing.")
      .def("copy_batch_async", &copy_batch_async, "batch"_a, nb::kw_only(), "source_order"_a,
           "follow_up"_a.none(),
           "Begin all copies. `follow_up` as for copy_async(). Call this once for a batch.")
      .def(
          "use_nvrtc",
          [](const ArrayTransfers& self, const std::string& library) { self->use_nvrtc(library); },
          "library"_a, Release(), "Name the library that compiles kernels: its path.");
}

}  // namespace

void bind_transfer(nb::module_& m) {
  nb::class_<ArrayTransfers> transfers(m, "Transfers",
                                       "Copies between the memories of host and devices.");
  transfers.def(nb::init<const SharedWindows&, nb::object>(), "windows"_a, "reader"_a,
                nb::sig("def __init__(self, windows: Windows, reader: ArrayReader) -> None"));
  bind_array_copies(transfers);
  bind_batches(m, transfers);
  bind_address_copies(transfers);
  bind_block_copies(m, transfers);
  transfers
      .def(
          "stats", [](const ArrayTransfers& self) { return self->stats(); }, Release(),
          "How every path was used.")
      .def(
          "trim", [](const ArrayTransfers& self) { self->trim(); }, Release(),
          "Close windows and unpin buffers that no copy uses.")
      .def(
          "use_profile",
          [](const ArrayTransfers& self, const std::string& json) { self->use_profile(json); },
          "json"_a, Release(), "Use the costs in a profile's text.");
}
