// RowCache: the host's side of isthmus.RowCache.
#include <nanobind/nanobind.h>

#include <isthmus/errors.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/memory/open_object.hpp"
#include "bindings/text.hpp"
#include "bindings/transfer/copy_future.hpp"
#include "bindings/transfer/read_blocks.hpp"
#include "bindings/unlocked.hpp"
#include "device/capture.hpp"
#include "device/pointer_facts.hpp"
#include "paged/row_cache.hpp"
#include "transfer/copy/copy_keeper.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::RowCache;
using isthmus::RowCacheKeys;
using isthmus::RowCacheStats;
using isthmus::UsageError;

namespace {

/// A cache, and what is checked about the arrays of its calls.
class OpenCache {
public:
  OpenCache(const isthmus::Context& context, std::unique_ptr<RowCache> cache,
            std::uint64_t row_bytes)
      : context_(context), row_bytes_(row_bytes), open_(std::move(cache), "this row cache") {}

  const OpenObject<RowCache>& operator*() const noexcept { return open_; }
  OpenObject<RowCache>& object() noexcept { return open_; }
  const isthmus::Context& context() const noexcept { return context_; }
  /// Writes back, ends the cache, and then throws what its check() does.
  void close() {
    std::exception_ptr wrong;
    open_.end([&](RowCache& cache) {
      cache.finish();
      try {
        cache.check();
      } catch (const UsageError&) {
        wrong = std::current_exception();
      }
    });
    if (wrong) std::rethrow_exception(wrong);
  }

  /// Throws      UsageError
  void require_here(const Array& array, const char* name) const {
    if (array.on_device() && array.size_bytes != 0) {
      const isthmus::CurrentContext current(context_);
      const auto at = reinterpret_cast<std::uintptr_t>(array.data);
      const int device =
          array.device >= 0 ? array.device : isthmus::pointer_facts(context_.driver(), at).device;
      if (device != context_.device().ordinal)
        throw UsageError(std::string(name) + " are on GPU " + std::to_string(device) +
                         ", and the row cache on GPU " + std::to_string(context_.device().ordinal) +
                         ": copy them there");
    } else if (array.size_bytes != 0) {
      throw UsageError(
          std::string(name) +
          " are in host memory, and a row cache reads them on the GPU: pass an array "
          "of PyTorch, CuPy or JAX there, or isthmus.copy() to an isthmus.device_empty");
    }
    if (!array.contiguous())
      throw UsageError(std::string(name) + " have gaps: pass a contiguous copy");
  }
  RowCacheKeys keys_of(const Array& array, const char* name) const {
    require_here(array, name);
    require_items(array, name, Numbers::indices);
    RowCacheKeys keys;
    keys.key_bytes = static_cast<std::uint32_t>(array.item.bits / 8);
    keys.count = array.size_bytes / keys.key_bytes;
    keys.keys = reinterpret_cast<CUdeviceptr>(array.data);
    return keys;
  }
  void require_values(const Array& values, const RowCacheKeys& slots) const {
    require_here(values, "values");
    if (values.size_bytes == slots.count * row_bytes_ &&
        reinterpret_cast<std::uintptr_t>(values.data) % 16 == 0)
      return;
    throw UsageError("values have " + std::to_string(values.size_bytes) + " bytes: give a row of " +
                     std::to_string(row_bytes_) + " bytes for each of " +
                     std::to_string(slots.count) + " slots, at a multiple of 16 bytes in memory");
  }

private:
  isthmus::Context context_;
  std::uint64_t row_bytes_;
  OpenObject<RowCache> open_;
};

using SharedCache = Unlocked<std::unique_ptr<OpenCache>>;

CUstream stream_of(std::uintptr_t handle) { return reinterpret_cast<CUstream>(handle); }

bool is_captured_in(const isthmus::Context& context, CUstream stream) {
  const isthmus::CurrentContext current(context);
  return isthmus::is_captured(context.driver(), stream);
}

/// Makes a call in a stream. Arrays whose library doesn't know of that are kept until it has come so
/// far, as a copy's are; those of a graph are the caller's.
template <typename Call>
void make(const OpenCache& open, ReadArrays& arrays, std::uintptr_t stream, const Call& call) {
  const auto use = [&] { (*open).call(call); };
  const isthmus::Context& context = open.context();
  if (!arrays.may_be_reused(stream) || is_captured_in(context, stream_of(stream))) {
    const GilReleased released;
    return use();
  }
  auto needs = std::make_unique<PythonNeeds>(arrays.take_exports(), arrays.objects(), nb::none());
  const PythonFuture kept(std::move(needs), [&] {
    return isthmus::transfer::KeptCopy::of_work(context, stream_of(stream), use);
  });
}

std::uintptr_t ensure(const SharedCache& self, ArrayTransfers& transfers, nb::handle keys,
                      nb::handle slots, nb::handle stream) {
  ReadArrays arrays(transfers.reader, stream.is_none() ? Hold::call : Hold::copy);
  const Array& asked = arrays.read_array(keys, Role::source, "keys");
  const Array* const given = slots.is_none() ? nullptr : &arrays.read(slots, Role::target);
  const std::uintptr_t chosen = arrays.order(stream);
  RowCacheKeys call = (*self)->keys_of(asked, "keys");
  if (given != nullptr) call.slots = reinterpret_cast<CUdeviceptr>(given->data);
  make(**self, arrays, chosen, [&](RowCache& cache) {
    if (given == nullptr)
      cache.prefetch(call, stream_of(chosen));
    else
      cache.ensure(call, stream_of(chosen));
  });
  return chosen;
}

void update(const SharedCache& self, ArrayTransfers& transfers, nb::handle slots, nb::handle values,
            nb::handle stream) {
  ReadArrays arrays(transfers.reader, stream.is_none() ? Hold::call : Hold::copy);
  const Array& changed = arrays.read_array(slots, Role::source, "slots");
  const Array* const given =
      values.is_none() ? nullptr : &arrays.read_array(values, Role::source, "values");
  const std::uintptr_t chosen = arrays.order(stream);
  const RowCacheKeys call = (*self)->keys_of(changed, "slots");
  if (given != nullptr) (*self)->require_values(*given, call);
  const CUdeviceptr pointer = given == nullptr ? 0 : reinterpret_cast<CUdeviceptr>(given->data);
  make(**self, arrays, chosen,
       [&](RowCache& cache) { cache.update(call, pointer, stream_of(chosen)); });
}

void bind_stats(nb::module_& m) {
  nb::class_<RowCacheStats>(m, "RowCacheStats", "Counts of a row cache, of calls that have ended.")
      .def("__repr__", &text_of_members)
      .def_ro("calls", &RowCacheStats::calls, "Calls of ensure and prefetch, replays included.")
      .def_ro("keys", &RowCacheStats::keys, "Keys of all calls.")
      .def_ro("hits", &RowCacheStats::hits, "Keys whose rows were there before their call.")
      .def_ro("fetched", &RowCacheStats::fetched, "Rows read from the table.")
      .def_ro("evicted", &RowCacheStats::evicted, "Rows that made room.")
      .def_ro("written", &RowCacheStats::written, "Rows written back to the table.")
      .def_ro("without_room", &RowCacheStats::without_room, "Keys of ensure that found no room.")
      .def_ro("beyond_table", &RowCacheStats::beyond_table, "Keys that are no rows of the table.");
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a list
void bind_row_cache(nb::module_& m) {
  bind_stats(m);
  nb::class_<SharedCache>(m, "RowCache", "The host's side of a row cache.")
      .def(
          "__init__",
          [](SharedCache* self, const SharedContext& context, const SharedKernels& kernels,
             std::uintptr_t table, std::uint64_t num_rows, std::uint64_t row_bytes, bool read_only,
             std::uintptr_t rows, std::uintptr_t keys, std::uint32_t num_slots, bool has_clock,
             bool write_back, const nb::object& /*owner*/) {
            auto cache = std::make_unique<RowCache>(
                *context, *kernels,
                isthmus::RowCacheSource{reinterpret_cast<void*>(table), num_rows, row_bytes,
                                        read_only, rows, keys},
                isthmus::RowCacheOptions{num_slots, has_clock, write_back});
            new (self)
                SharedCache(std::make_unique<OpenCache>(*context, std::move(cache), row_bytes));
          },
          "context"_a, "kernels"_a, "table"_a, "num_rows"_a, "row_bytes"_a, "read_only"_a, "rows"_a,
          "keys"_a, "num_slots"_a, "has_clock"_a, "write_back"_a, "owner"_a,
          nb::keep_alive<1, 13>(), Release(),
          "Flushes when it is destroyed: `owner` keeps the table and the device's arrays until "
          "then.")
      .def_prop_ro(
          "device_bytes",
          [](const SharedCache& self) {
            return (***self).call([](const RowCache& cache) { return cache.device_bytes(); });
          },
          "Of device memory: the maps.")
      .def("ensure", &ensure, "transfers"_a, "keys"_a.none(), "slots"_a.none(), "stream"_a.none(),
           "Give keys their slots; without `slots`, prefetch. Give the CUstream.")
      .def("update", &update, "transfers"_a, "slots"_a.none(), "values"_a.none(), "stream"_a.none(),
           "Mark slots as stored to, or store values to them.")
      .def(
          "flush",
          [](const SharedCache& self, std::uintptr_t stream) {
            (***self).call([&](RowCache& cache) { cache.flush(stream_of(stream)); });
          },
          "stream"_a, Release(), "Write back in a stream.")
      .def(
          "flush_and_wait",
          [](const SharedCache& self) { (***self).call([](RowCache& cache) { cache.flush(); }); },
          Release(), "Write back; complete on return.")
      .def("stats",
           [](const SharedCache& self) {
             return (***self).call([](const RowCache& cache) { return cache.stats(); });
           })
      .def(
          "check",
          [](const SharedCache& self) { (***self).call([](RowCache& cache) { cache.check(); }); },
          Release(), "Raise UsageError for wrong keys of calls that have ended.")
      .def(
          "close", [](const SharedCache& self) { (*self)->close(); }, Release(),
          "Write back what was stored, end the cache when no other thread uses it, and raise what "
          "check does.")
      .def(
          "give_up", [](const SharedCache& self) { (*self)->object().give_up(); }, Release(),
          "End the cache, and lose what was stored and not written back.");
}
