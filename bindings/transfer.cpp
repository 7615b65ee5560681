// Transfers: copies between the memories of the host and the devices.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <isthmus/transfer.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "bindings.hpp"
#include "quick_array.hpp"
#include "text.hpp"
#include "unlocked.hpp"
#include "words.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::CopyFuture;
using isthmus::CopyOptions;
using isthmus::CopyPlan;
using isthmus::MemoryKind;
using isthmus::PathCost;
using isthmus::PathUse;
using isthmus::SourceOrder;
using isthmus::Transfers;
using isthmus::Windows;
using SharedWindows = Unlocked<Windows>;
using Release = nb::call_guard<nb::gil_scoped_release>;

namespace {

constexpr Word<MemoryKind> kMemoryKinds[] = {
    {"unknown", MemoryKind::unknown}, {"pageable", MemoryKind::pageable},
    {"pinned", MemoryKind::pinned},   {"device", MemoryKind::device},
    {"managed", MemoryKind::managed}, {"host", MemoryKind::host}};
constexpr Word<SourceOrder> kSourceOrders[] = {{"call", SourceOrder::call},
                                               {"stream", SourceOrder::stream}};

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// Transfers, and how to read the arrays that Python passes.
struct ArrayTransfers {
  ArrayTransfers(const SharedWindows& windows, nb::object reader_of)
      : transfers(std::make_unique<Transfers>(*windows)), readers(std::move(reader_of)) {}
  ArrayTransfers(const ArrayTransfers&) = delete;
  ArrayTransfers& operator=(const ArrayTransfers&) = delete;
  ~ArrayTransfers() {
    // At the interpreter's end a copy may still wait for a stream that nobody will let go on: the
    // end of the process ends it too.
    if (is_finalizing()) {
      static_cast<void>(transfers.release());
      return;
    }
    const nb::gil_scoped_release release;  // it may end threads and unpin memory
    transfers.reset();
  }

  Transfers* operator->() const noexcept { return transfers.get(); }

  std::unique_ptr<Transfers> transfers;
  TypeReaders readers;
};

/// What Python says of a copy by its addresses. Keeps the path's name.
struct AddressOptions {
  AddressOptions(std::uintptr_t stream, const std::string& target_kind,
                 const std::string& source_kind, std::string path_name)
      : path(std::move(path_name)) {
    options.stream = stream;
    options.target_kind = value_of(kMemoryKinds, target_kind, "kind of memory");
    options.source_kind = value_of(kMemoryKinds, source_kind, "kind of memory");
    options.path = path;
  }
  std::string path;
  CopyOptions options;
};

void* address(std::uintptr_t pointer) { return reinterpret_cast<void*>(pointer); }

// --- copies of arrays ----------------------------------------------------------------------------

MemoryKind kind_of(const QuickArray& array) {
  return array.on_device ? MemoryKind::device : array.host_kind;
}

CopyOptions options_of(const QuickPair& pair) {
  CopyOptions options;
  options.stream = pair.stream;
  options.target_kind = kind_of(pair.target);
  options.source_kind = kind_of(pair.source);
  return options;
}

bool quick_copy(ArrayTransfers& transfers, nb::handle target, nb::handle source,
                nb::handle stream) {
  QuickPair pair;
  if (!read_pair(transfers.readers, target, source, stream, pair)) return false;
  const CopyOptions options = options_of(pair);
  // Also for a few bytes: the stream's work comes first, and may wait for another Python thread.
  const nb::gil_scoped_release release;
  transfers->copy(pair.target.data, pair.source.data, pair.target.size_bytes, options);
  return true;
}

std::optional<CopyFuture> quick_copy_async(ArrayTransfers& transfers, nb::handle target,
                                           nb::handle source, nb::handle stream,
                                           const std::string& source_order) {
  const SourceOrder order = value_of(kSourceOrders, source_order, "source_order");
  QuickPair pair;
  if (!read_pair(transfers.readers, target, source, stream, pair)) return std::nullopt;
  const CopyOptions options = options_of(pair);
  const nb::gil_scoped_release release;
  return transfers->copy_async(pair.target.data, pair.source.data, pair.target.size_bytes, options,
                               order);
}

// --- copies by addresses -------------------------------------------------------------------------

void copy(const ArrayTransfers& transfers, std::uintptr_t target, std::uintptr_t source,
          std::size_t size_bytes, std::uintptr_t stream, const std::string& target_kind,
          const std::string& source_kind, const std::string& path) {
  const AddressOptions chosen(stream, target_kind, source_kind, path);
  transfers->copy(address(target), address(source), size_bytes, chosen.options);
}

CopyFuture copy_async(const ArrayTransfers& transfers, std::uintptr_t target, std::uintptr_t source,
                      std::size_t size_bytes, std::uintptr_t stream, const std::string& target_kind,
                      const std::string& source_kind, const std::string& path,
                      const std::string& source_order) {
  const AddressOptions chosen(stream, target_kind, source_kind, path);
  return transfers->copy_async(address(target), address(source), size_bytes, chosen.options,
                               value_of(kSourceOrders, source_order, "source_order"));
}

void copy_file(const ArrayTransfers& transfers, std::uintptr_t target, int descriptor,
               std::uint64_t offset_bytes, std::size_t size_bytes, std::uintptr_t stream) {
  CopyOptions options;
  options.stream = stream;
  transfers->copy_file(address(target), descriptor, offset_bytes, size_bytes, options);
}

CopyPlan explain(const ArrayTransfers& transfers, std::uintptr_t target, std::uintptr_t source,
                 std::size_t size_bytes, std::uintptr_t stream, const std::string& target_kind,
                 const std::string& source_kind, const std::string& path) {
  const AddressOptions chosen(stream, target_kind, source_kind, path);
  return transfers->explain(address(target), address(source), size_bytes, chosen.options);
}

// --- futures -------------------------------------------------------------------------------------

using Clock = std::chrono::steady_clock;
// Most copies are over sooner than a sleep is.
constexpr std::chrono::microseconds kSpin{100};
// A sleep adds a sixteenth to the time waited at most, and Ctrl-C is answered soon.
constexpr int kSleepsPerWait = 16;
constexpr std::chrono::microseconds kLongestSleep{10'000};

/// Other threads than the first handle no signals, and must not ask for the GIL while the
/// interpreter ends.
void throw_if_interrupted() {
  if (gettid() != getpid()) return;
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Asks instead of waiting below, so that a timeout and Ctrl-C end it. Called without the GIL.
bool ready_within(const CopyFuture& future, std::optional<double> timeout_seconds) {
  const Clock::time_point began = Clock::now();
  while (!future.ready()) {
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
    if (timeout_seconds && std::chrono::duration<double>(waited).count() >= *timeout_seconds)
      return false;
    if (waited < kSpin) continue;
    std::this_thread::sleep_for(std::clamp(waited / kSleepsPerWait, kSpin / 2, kLongestSleep));
    throw_if_interrupted();
  }
  return true;
}

bool wait(const CopyFuture& future, std::optional<double> timeout_seconds) {
  CopyFuture held = future;  // another thread may wait too
  const nb::gil_scoped_release release;
  if (!ready_within(held, timeout_seconds)) return false;
  held.wait();
  return true;
}

// --- bindings ------------------------------------------------------------------------------------

template <typename Class, typename Member>
auto path_name(Member Class::* member) {
  return [member](const Class& object) { return std::string(name_of(object.*member)); };
}

void bind_plan(nb::module_& m) {
  nb::class_<PathCost>(m, "PathCost", "What one way of copying would cost.")
      .def_prop_ro("path", path_name(&PathCost::path))
      .def_ro("usable", &PathCost::usable)
      .def_ro("seconds", &PathCost::seconds, "Predicted, if usable.")
      .def_ro("reason", &PathCost::reason, "Why not usable, or what the figure rests on.");
  nb::class_<CopyPlan>(m, "CopyPlan", "How a copy would be made.")
      .def_prop_ro("path", path_name(&CopyPlan::path))
      .def_prop_ro("source", path_name(&CopyPlan::source))
      .def_prop_ro("target", path_name(&CopyPlan::target))
      .def_ro("device", &CopyPlan::device)
      .def_ro("costs", &CopyPlan::costs, "Of every path, cheapest first.")
      .def_ro("measured", &CopyPlan::measured)
      .def_ro("profile", &CopyPlan::profile);
  nb::class_<PathUse>(m, "PathUse", "One path's use so far.")
      .def_prop_ro("path", path_name(&PathUse::path))
      .def_ro("num_copies", &PathUse::num_copies)
      .def_ro("num_bytes", &PathUse::num_bytes)
      .def_ro("seconds", &PathUse::seconds)
      .def_ro("predicted_seconds", &PathUse::predicted_seconds);
}

void bind_future(nb::module_& m) {
  nb::class_<CopyFuture>(m, "CopyFuture", "A copy under way.")
      .def("wait", &wait, "timeout_seconds"_a = nb::none(),
           "True once it is complete, false if the time was up first. Raises what it failed with.")
      .def("ready", &CopyFuture::ready, Release(), "True once wait() would not wait.");
}

void bind_array_copies(nb::class_<ArrayTransfers>& transfers) {
  transfers
      .def("quick_copy", &quick_copy, "target"_a.none(), "source"_a.none(), "stream"_a.none(),
           "Copy an everyday array. False, with nothing done, if it takes isthmus.arrays.")
      .def("quick_copy_async", &quick_copy_async, "target"_a.none(), "source"_a.none(),
           "stream"_a.none(), "source_order"_a,
           "Begin to copy an everyday array; None if it takes isthmus.arrays.");
}

void bind_address_copies(nb::class_<ArrayTransfers>& transfers) {
  transfers
      .def("copy", &copy, "target"_a, "source"_a, "size_bytes"_a, nb::kw_only(), "stream"_a = 0,
           "target_kind"_a = "unknown", "source_kind"_a = "unknown", "path"_a = "", Release(),
           "Copy bytes between addresses; complete on return.")
      .def("copy_async", &copy_async, "target"_a, "source"_a, "size_bytes"_a, nb::kw_only(),
           "stream"_a = 0, "target_kind"_a = "unknown", "source_kind"_a = "unknown", "path"_a = "",
           "source_order"_a = "call", Release(), "Begin to copy bytes between addresses.")
      .def("copy_file", &copy_file, "target"_a, "descriptor"_a, "offset_bytes"_a, "size_bytes"_a,
           nb::kw_only(), "stream"_a = 0, Release(),
           "Copy a part of an open file to device memory; complete on return.")
      .def("explain", &explain, "target"_a, "source"_a, "size_bytes"_a, nb::kw_only(),
           "stream"_a = 0, "target_kind"_a = "unknown", "source_kind"_a = "unknown", "path"_a = "",
           Release(), "Say how such a copy would be made.");
}

}  // namespace

void bind_transfer(nb::module_& m) {
  bind_plan(m);
  bind_future(m);
  m.def(
      "keep_forever",
      [](nb::object object) {
        nb::set_leak_warnings(false);  // this one is meant
        object.release();
      },
      "object"_a,
      "Let an object live until the process ends, for a copy that may outlive the interpreter.");
  nb::class_<ArrayTransfers> transfers(m, "Transfers",
                                       "Copies between the memories of host and devices.");
  transfers.def(nb::init<const SharedWindows&, nb::object>(), "windows"_a, "reader_of"_a,
                "reader_of: called once with each type of array, tells how to read it.");
  bind_array_copies(transfers);
  bind_address_copies(transfers);
  transfers
      .def(
          "stats", [](const ArrayTransfers& self) { return self->stats(); }, Release(),
          "The use of every path.")
      .def(
          "trim", [](const ArrayTransfers& self) { self->trim(); }, Release(),
          "Close windows and unpin buffers that no copy uses.")
      .def(
          "use_profile",
          [](const ArrayTransfers& self, const std::string& json) { self->use_profile(json); },
          "json"_a, Release(), "Use the costs in a profile's text.");
}
