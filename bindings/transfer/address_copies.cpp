// Copies by addresses.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <isthmus/transfer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/transfer/copy_future.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::CopyOptions;
using isthmus::CopyPlan;
using isthmus::ItemType;
using isthmus::SourceOrder;

namespace {

constexpr Word<ItemType> kItemTypes[] = {
    {"bytes", ItemType::bytes},     {"bool", ItemType::boolean},
    {"int8", ItemType::int8},       {"int16", ItemType::int16},
    {"int32", ItemType::int32},     {"int64", ItemType::int64},
    {"uint8", ItemType::uint8},     {"uint16", ItemType::uint16},
    {"uint32", ItemType::uint32},   {"uint64", ItemType::uint64},
    {"float16", ItemType::float16}, {"bfloat16", ItemType::bfloat16},
    {"float32", ItemType::float32}, {"float64", ItemType::float64}};

/// The options of a copy by addresses. Keeps the path's name alive.
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

void copy(const ArrayTransfers& transfers, std::uintptr_t target, std::uintptr_t source,
          std::size_t size_bytes, std::uintptr_t stream, const std::string& target_kind,
          const std::string& source_kind, const std::string& path) {
  const AddressOptions chosen(stream, target_kind, source_kind, path);
  transfers->copy(address(target), address(source), size_bytes, chosen.options);
}

PythonFuture copy_async(const ArrayTransfers& transfers, std::uintptr_t target,
                        std::uintptr_t source, std::size_t size_bytes, nb::object needs,
                        std::uintptr_t stream, const std::string& target_kind,
                        const std::string& source_kind, const std::string& path,
                        const std::string& source_order, nb::object follow_up) {
  const AddressOptions chosen(stream, target_kind, source_kind, path);
  const SourceOrder order = value_of(kSourceOrders, source_order, "source_order");
  return {
      std::make_unique<PythonNeeds>(std::vector<Export>{}, std::move(needs), std::move(follow_up)),
      [&] {
        return transfers->copy_async(address(target), address(source), size_bytes, chosen.options,
                                     order);
      }};
}

/// Not by nanobind's caster, which ends the process if there is no memory for the vector.
template <typename Number>
std::vector<Number> numbers_of(const nb::tuple& numbers) {
  std::vector<Number> found;
  found.reserve(numbers.size());
  for (const nb::handle number : numbers) found.push_back(nb::cast<Number>(number));
  return found;
}

/// check_only  true: says whether the copy could be made
void copy_strided(const ArrayTransfers& transfers, std::uintptr_t target, std::uintptr_t source,
                  std::size_t item_bytes, const nb::tuple& shape, const nb::tuple& target_strides,
                  const nb::tuple& source_strides, std::uintptr_t stream,
                  const std::string& target_type, const std::string& source_type, bool check_only) {
  CopyOptions options;
  options.stream = stream;
  const isthmus::StridedCopy copy{address(target),
                                  address(source),
                                  item_bytes,
                                  numbers_of<std::size_t>(shape),
                                  numbers_of<std::ptrdiff_t>(target_strides),
                                  numbers_of<std::ptrdiff_t>(source_strides),
                                  value_of(kItemTypes, target_type, "type of items"),
                                  value_of(kItemTypes, source_type, "type of items")};
  const GilReleased released;
  if (check_only) return transfers->check_strided(copy, options);
  transfers->copy_strided(copy, options);
}

void check_host_memory(const ArrayTransfers& transfers, std::uintptr_t memory,
                       std::size_t size_bytes, bool writes) {
  transfers->check_host_memory(address(memory), size_bytes, writes);
}

void wait_for_work(const ArrayTransfers& transfers, std::uintptr_t stream) {
  transfers->wait_for_work(stream);
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

}  // namespace

void bind_address_copies(nb::class_<ArrayTransfers>& transfers) {
  transfers
      .def("copy", &copy, "target"_a, "source"_a, "size_bytes"_a, nb::kw_only(), "stream"_a = 0,
           "target_kind"_a = "unknown", "source_kind"_a = "unknown", "path"_a = "", Release(),
           "Copy bytes between addresses; complete on return.")
      .def("copy_async", &copy_async, "target"_a, "source"_a, "size_bytes"_a, nb::kw_only(),
           "needs"_a.none(), "stream"_a = 0, "target_kind"_a = "unknown",
           "source_kind"_a = "unknown", "path"_a = "", "source_order"_a = "call",
           "follow_up"_a.none() = nb::none(),
           "Begin to copy bytes between addresses. `needs` is kept until the copy has ended. "
           "`follow_up` is called from any thread when the bytes have arrived; the future is ready "
           "after it.")
      .def(
          "copy_strided", &copy_strided, "target"_a, "source"_a, "item_bytes"_a, "shape"_a,
          "target_strides"_a, "source_strides"_a, nb::kw_only(), "stream"_a = 0,
          "target_type"_a = "bytes", "source_type"_a = "bytes", "check_only"_a = false,
          nb::sig("def copy_strided(self, target: int, source: int, item_bytes: int, shape: "
                  "tuple[int, ...], target_strides: tuple[int, ...], source_strides: tuple[int, "
                  "...], *, stream: int = 0, target_type: str = 'bytes', source_type: str = "
                  "'bytes', check_only: bool = False) -> None"),
          "Copy items between two layouts, of which one is on a device; strides in bytes; complete "
          "on return. If the types differ, the device converts the items; then item_bytes isn't "
          "used. With `check_only` copies nothing, and raises what would be raised before the "
          "first byte is written.")
      .def("check_host_memory", &check_host_memory, "memory"_a, "size_bytes"_a, nb::kw_only(),
           "writes"_a, Release(), "Raise UsageError if the CPU can't touch all of it.")
      .def("wait_for_work", &wait_for_work, "stream"_a, Release(),
           "Return when the work that is now in a CUstream is complete. UsageError if it is being "
           "captured.")
      .def("copy_file", &copy_file, "target"_a, "descriptor"_a, "offset_bytes"_a, "size_bytes"_a,
           nb::kw_only(), "stream"_a = 0, Release(),
           "Copy a part of an open file to device memory; complete on return.")
      .def("explain", &explain, "target"_a, "source"_a, "size_bytes"_a, nb::kw_only(),
           "stream"_a = 0, "target_kind"_a = "unknown", "source_kind"_a = "unknown", "path"_a = "",
           Release(), "Say how such a copy would be made.");
}
