// PagedMemory: the host's side of isthmus.PagedArray.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <isthmus/errors.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/memory/open_object.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "device/kernels.hpp"
#include "host/memory/memory_map.hpp"
#include "paged/paged_file.hpp"
#include "paged/paged_memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::PagedFile;
using isthmus::PagedIndices;
using isthmus::PagedItemKind;
using isthmus::PagedMemory;
using isthmus::PagedOptions;
using isthmus::PagedRange;
using isthmus::PagedReduction;
using isthmus::PagedStats;

namespace {

using OpenPaged = OpenObject<PagedMemory>;
using SharedPaged = Unlocked<std::unique_ptr<OpenPaged>>;
struct SharedFile {
  std::shared_ptr<const PagedFile> file;
};
/// Pairs of Python integers. nanobind's own conversion ends the process when memory is short.
std::vector<PagedRange> ranges_of(const nb::sequence& pairs) {
  std::vector<PagedRange> ranges;
  for (const nb::handle pair : pairs)
    ranges.push_back({nb::cast<std::uint64_t>(pair[0]), nb::cast<std::uint64_t>(pair[1])});
  return ranges;
}

CUstream stream_of(std::uintptr_t handle) { return reinterpret_cast<CUstream>(handle); }

template <typename Use>
auto on_memory(const SharedPaged& paged, const Use& use) {
  return (*paged)->call(use);
}

using OnRanges = void (PagedMemory::*)(const std::vector<PagedRange>&, CUstream) const;

/// Calls a member that works on ranges in a stream.
template <OnRanges Member>
void on_ranges(const SharedPaged& self, const nb::sequence& pairs, std::uintptr_t stream) {
  const std::vector<PagedRange> ranges = ranges_of(pairs);
  const GilReleased released;
  on_memory(self, [&](const PagedMemory& memory) { (memory.*Member)(ranges, stream_of(stream)); });
}

void bind_stats(nb::module_& m) {
  nb::class_<PagedStats>(m, "PagedStats", "Counts of a paged array's units.")
      .def("__repr__", &text_of_members)
      .def_ro("unit_bytes", &PagedStats::unit_bytes,
              "The size of what is counted: without a budget, a unit of more than 4 KiB counts as "
              "several of 4 KiB.")
      .def_ro("num_units", &PagedStats::num_units, "All units.")
      .def_ro("valid_units", &PagedStats::valid_units, "Held by the GPU now.")
      .def_ro("dirty_units", &PagedStats::dirty_units, "Stored to, and not written back yet.")
      .def_ro("touched_pages", &PagedStats::touched_pages, "Pages of 2 MiB with a valid unit.")
      .def_ro("valid_ranges", &PagedStats::valid_ranges,
              "Runs of valid units, counted page by page.")
      .def_ro("fetched_units", &PagedStats::fetched_units, "Read from the host so far.")
      .def_ro("overwritten_units", &PagedStats::overwritten_units,
              "Became valid without a fetch so far.")
      .def_ro("written_units", &PagedStats::written_units, "Written back so far.")
      .def_ro("num_frames", &PagedStats::num_frames,
              "Units that the GPU has room for, of an array with a budget; else 0.")
      .def_ro("in_place_units", &PagedStats::in_place_units,
              "Found no free frame so far and were read and stored in place, once a launch each.")
      .def_ro("evicted_units", &PagedStats::evicted_units, "Lost their frames so far.")
      .def_ro("hits", &PagedStats::hits,
              "Lanes that came to a valid unit, in kernels with ISTHMUS_PAGED_COUNTED.")
      .def_ro("file_read_bytes", &PagedStats::file_read_bytes,
              "Read from the file so far; 0 without one.")
      .def_ro("file_written_bytes", &PagedStats::file_written_bytes,
              "Written to the file so far; 0 without one.");
}

void bind_file(nb::module_& m) {
  nb::class_<SharedFile>(m, "PagedFile", "A part of a file that a paged array is made of.")
      .def(
          "__init__",
          [](SharedFile* self, const nb::bytes& path, std::uintptr_t mapped, std::size_t size_bytes,
             bool read_only) {
            new (self) SharedFile{std::make_shared<const PagedFile>(
                std::string(path.c_str(), path.size()), reinterpret_cast<const void*>(mapped),
                size_bytes, read_only)};
          },
          "path"_a, nb::kw_only(), "mapped"_a, "size_bytes"_a, "read_only"_a,
          "`mapped` is the address of a shared mapping of the file.")
      .def_prop_ro(
          "offset_bytes", [](const SharedFile& self) { return self.file->offset_bytes(); },
          "Where the part begins in the file.")
      .def(
          "load",
          [](const SharedFile& self, std::uintptr_t memory) {
            const std::shared_ptr<const PagedFile> file = self.file;
            const GilReleased released;
            file->load(reinterpret_cast<std::byte*>(memory), signal_has_raised);
          },
          "memory"_a,
          "Read all bytes to an address that is at `offset_bytes` modulo `block_bytes`, behind "
          "which as many bytes are free.")
      .def_prop_ro_static(
          "block_bytes", [](const nb::handle&) { return PagedFile::kBlockBytes; },
          "What direct reads are aligned to.");
}

void bind_operations(nb::class_<SharedPaged>& paged) {
  paged
      .def(
          "gather",
          [](const SharedPaged& self, std::uintptr_t indices, std::uint32_t index_bytes,
             std::uint64_t count, bool is_signed, std::uintptr_t target, std::uint64_t row_items) {
            on_memory(self, [&](const PagedMemory& memory) {
              memory.gather({indices, index_bytes, count, is_signed}, target, row_items);
            });
          },
          "indices"_a, "index_bytes"_a, "count"_a, "is_signed"_a, "target"_a, "row_items"_a,
          Release())
      .def(
          "scatter",
          [](const SharedPaged& self, std::uintptr_t indices, std::uint32_t index_bytes,
             std::uint64_t count, bool is_signed, std::uintptr_t source) {
            on_memory(self, [&](const PagedMemory& memory) {
              memory.scatter({indices, index_bytes, count, is_signed}, source);
            });
          },
          "indices"_a, "index_bytes"_a, "count"_a, "is_signed"_a, "source"_a, Release())
      .def(
          "write",
          [](const SharedPaged& self, std::uint64_t first, std::uint64_t count,
             std::uintptr_t source) {
            on_memory(self, [&](const PagedMemory& memory) { memory.write(first, count, source); });
          },
          "first"_a, "count"_a, "source"_a, Release())
      .def(
          "reduce",
          [](const SharedPaged& self, std::uint64_t first, std::uint64_t count, std::uint32_t kind,
             std::uint32_t operation) {
            return on_memory(self, [&](const PagedMemory& memory) {
              return memory.reduce(first, count, PagedItemKind{kind}, PagedReduction{operation});
            });
          },
          "first"_a, "count"_a, "kind"_a, "operation"_a, Release());
}

void bind_units(nb::class_<SharedPaged>& paged) {
  paged
      .def(
          "settle",
          [](const SharedPaged& self, std::uintptr_t stream) {
            return on_memory(
                self, [&](const PagedMemory& memory) { return memory.settle(stream_of(stream)); });
          },
          "stream"_a, Release(), "Give a kernel's argument: the address of its paged_map.")
      .def("prefetch", &on_ranges<&PagedMemory::prefetch>, "ranges"_a, "stream"_a,
           nb::sig("def prefetch(self, ranges: Sequence[tuple[int, int]], stream: int) -> None"))
      .def("will_overwrite", &on_ranges<&PagedMemory::will_overwrite>, "ranges"_a, "stream"_a,
           nb::sig("def will_overwrite(self, ranges: Sequence[tuple[int, int]], stream: int) -> "
                   "None"))
      .def("flush", &on_ranges<&PagedMemory::flush>, "ranges"_a, "stream"_a,
           nb::sig("def flush(self, ranges: Sequence[tuple[int, int]], stream: int) -> None"))
      .def(
          "flush_and_wait",
          [](const SharedPaged& self, const nb::sequence& pairs) {
            const std::vector<PagedRange> ranges = ranges_of(pairs);
            const GilReleased released;
            on_memory(self, [&](const PagedMemory& memory) { memory.flush(ranges); });
          },
          "ranges"_a,
          nb::sig("def flush_and_wait(self, ranges: Sequence[tuple[int, int]]) -> None"))
      .def("refresh", &on_ranges<&PagedMemory::refresh>, "ranges"_a, "stream"_a,
           nb::sig("def refresh(self, ranges: Sequence[tuple[int, int]], stream: int) -> None"))
      .def(
          "invalidate",
          [](const SharedPaged& self, const nb::sequence& pairs, bool discard) {
            const std::vector<PagedRange> ranges = ranges_of(pairs);
            const GilReleased released;
            on_memory(self, [&](const PagedMemory& memory) { memory.invalidate(ranges, discard); });
          },
          "ranges"_a, "discard"_a,
          nb::sig("def invalidate(self, ranges: Sequence[tuple[int, int]], discard: bool) -> None"))
      .def(
          "stats",
          [](const SharedPaged& self) {
            return on_memory(self, [](const PagedMemory& memory) { return memory.stats(); });
          },
          Release());
}

bool is_of_shared_file(std::uintptr_t address) {
  const auto mapping = isthmus::host::mapping_at(address);
  return mapping && mapping->shared && mapping->has_file;
}

std::string kernel_header(const std::string& name) {
  for (const isthmus::KernelSource& header : isthmus::kernel_headers())
    if (name == header.file_name) return header.text;
  throw isthmus::UsageError("no header '" + name + "'");
}

}  // namespace

void bind_paged(nb::module_& m) {
  bind_stats(m);
  bind_file(m);
  m.def("kernel_header", &kernel_header, "name"_a,
        "The text of a header for kernels, such as \"isthmus/paged_array.cuh\".");
  m.def(
      "is_of_shared_file", &is_of_shared_file, "address"_a,
      "Whether memory is a shared mapping of a file, of shared memory or of a device; False if the "
      "kernel doesn't tell.");
  nb::class_<SharedPaged> paged(m, "PagedMemory", "The host's side of a paged array.");
  paged
      .def(
          "__init__",
          [](SharedPaged* self, const SharedContext& context, const SharedKernels& kernels,
             std::uintptr_t pointer, std::size_t size_bytes, unsigned item_bytes, bool read_only,
             std::size_t unit_bytes, std::optional<std::uint64_t> budget_bytes,
             const nb::object& /*owner*/, const SharedFile* file) {
            const isthmus::PagedSource source{reinterpret_cast<void*>(pointer), size_bytes,
                                              item_bytes, read_only,
                                              file == nullptr ? nullptr : file->file};
            const PagedOptions options{unit_bytes, budget_bytes};
            auto memory = std::make_unique<PagedMemory>(*context, *kernels, source, options);
            new (self)
                SharedPaged(std::make_unique<OpenPaged>(std::move(memory), "this paged array"));
          },
          "context"_a, "kernels"_a, "pointer"_a, "size_bytes"_a, "item_bytes"_a, "read_only"_a,
          "unit_bytes"_a, "budget_bytes"_a.none(), "owner"_a, "file"_a.none(),
          nb::keep_alive<1, 10>(), Release(),
          "Flushes when it is destroyed: `owner` keeps the memory until then.")
      .def_prop_ro(
          "device_bytes",
          [](const SharedPaged& self) {
            return on_memory(self, [](const PagedMemory& memory) { return memory.device_bytes(); });
          },
          Release(), "Of device memory: the items and the maps.")
      .def(
          "close", [](const SharedPaged& self) { (*self)->close(); }, Release(),
          "Write back what was stored, and end the array when no other thread uses it. If that "
          "fails the array goes on.")
      .def(
          "give_up", [](const SharedPaged& self) { (*self)->give_up(); }, Release(),
          "End the array, and lose what was stored and not written back.");
  bind_units(paged);
  bind_operations(paged);
}
