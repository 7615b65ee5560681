// Saves the bytes of arrays to a file.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/transfer/host_bytes.hpp"
#include "driver/driver.hpp"
#include "transfer/saving/save.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::Driver;
using isthmus::transfer::SavedBytes;
using isthmus::transfer::SavedRange;
using isthmus::transfer::SaveSettings;
using isthmus::transfer::Writing;

namespace {

SavedBytes bytes_of(const nb::sequence& ranges) {
  std::vector<SavedRange> found;
  for (const nb::handle item : ranges) {
    const auto range = nb::cast<nb::tuple>(item);
    const auto address = nb::cast<std::uintptr_t>(range[0]);
    found.push_back({reinterpret_cast<const std::byte*>(address), nb::cast<std::size_t>(range[1]),
                     nb::cast<int>(range[2]), nb::cast<std::string>(range[3])});
  }
  return SavedBytes(std::move(found));
}

bool save(const std::optional<Driver>& driver, int descriptor, const nb::sequence& ranges,
          const nb::object& staging, std::size_t piece_bytes, bool directly) {
  const SavedBytes bytes = bytes_of(ranges);
  const HostBytes borrowed(staging, HostBytes::Access::writable);
  const std::span<std::byte> memory(static_cast<std::byte*>(borrowed.data()),
                                    borrowed.size_bytes());
  const SaveSettings settings{piece_bytes, directly ? Writing::directly : Writing::through_cache};
  const GilReleased released;
  return isthmus::transfer::save(driver, descriptor, bytes, memory, settings, signal_has_raised);
}

}  // namespace

void bind_saving(nb::module_& m) {
  m.def("save_ranges", &save, "driver"_a.none(), "descriptor"_a, "ranges"_a, nb::kw_only(),
        "staging"_a, "piece_bytes"_a, "directly"_a,
        nb::sig("def save_ranges(driver: Driver | None, descriptor: int, ranges: "
                "Sequence[tuple[int, int, int, str]], *, staging: object, piece_bytes: int, "
                "directly: bool) -> bool"),
        "Write the bytes of arrays, one after the other, to an empty file that is open for "
        "writing. A range is an address, its bytes, a device (-1: the host) and a name for "
        "messages. `staging` has page-aligned memory, pinned if a device has ranges; one thread "
        "works for every two pieces that fit in it. True if the page cache was bypassed. OSError: "
        "the disk is full, "
        "or fails. UsageError: memory that can't be read. DriverError: the same, on a device.");
}
