// The host's side of a paged array: its memory, its maps, and the kernels that work on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <isthmus/budgeted_array.cuh>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "paged/host_registration.hpp"
#include "paged/paged_file.hpp"

namespace isthmus {

/// What a paged array is made of.
struct PagedSource {
  void* memory = nullptr;      ///< the items, aligned to their size
  std::size_t size_bytes = 0;  ///< > 0, whole items
  unsigned item_bytes = 1;     ///< 1, 2, 4, 8 or 16
  bool read_only = false;
  /// Whose bytes the memory has, if there is one. Until load() they are undefined. `memory` is as
  /// PagedFile::load() needs it.
  std::shared_ptr<const PagedFile> file;
};

/// How an array is held.
struct PagedOptions {
  std::size_t unit_bytes = 1024;
  /// The device's memory for items, less than the array's: a budgeted_array. 0: nothing is held.
  /// Without a value: as much as the array has.
  std::optional<std::uint64_t> budget_bytes;
};

/// Counts of a paged array. Those of the past are since it was made.
struct PagedStats {
  /// Of what is counted as a unit: without a budget, a unit of more than 4 KiB counts as several.
  std::uint64_t unit_bytes = 0;
  std::uint64_t num_units = 0;
  std::uint64_t valid_units = 0;        ///< held by the GPU now
  std::uint64_t dirty_units = 0;        ///< stored to, and not written back yet
  std::uint64_t touched_pages = 0;      ///< pages of 2 MiB with a valid unit
  std::uint64_t valid_ranges = 0;       ///< runs of valid units, counted page by page
  std::uint64_t fetched_units = 0;      ///< read from the host so far
  std::uint64_t overwritten_units = 0;  ///< became valid without a fetch so far
  std::uint64_t written_units = 0;      ///< written back so far
  // Of a budgeted array:
  std::uint64_t num_frames = 0;      ///< units that the GPU has room for
  std::uint64_t in_place_units = 0;  ///< found no free frame so far, each once a launch
  std::uint64_t evicted_units = 0;   ///< lost their frames so far
  /// Lanes that came to a valid unit, counted by kernels compiled with ISTHMUS_PAGED_COUNTED.
  std::uint64_t hits = 0;
  // Of an array of a file:
  std::uint64_t file_read_bytes = 0;     ///< read from it so far
  std::uint64_t file_written_bytes = 0;  ///< written to it so far
};

enum class PagedItemKind : std::uint32_t { float32, float64, int32, int64 };
enum class PagedReduction : std::uint32_t { sum, least, greatest };

/// Indices in device memory.
struct PagedIndices {
  CUdeviceptr pointer = 0;
  std::uint32_t index_bytes = 8;  ///< 4 or 8
  std::uint64_t count = 0;
  bool is_signed = true;
};

/// An array in host memory of which the GPU holds what its kernels touched.
///
/// The host memory of an array of a file is its own: what was stored is written back to the file by
/// flush() without a stream, by finish(), and by the destructor.
///
/// Members may be called from any thread. Those with a stream are ordered in it, and don't wait.
class PagedMemory {
public:
  /// The smallest and the largest unit, in bytes.
  static constexpr std::size_t kMinUnitBytes = 256, kMaxUnitBytes = std::size_t{2} << 20U;
  /// What ranges are counted within.
  static constexpr std::size_t kPageBytes = std::size_t{2} << 20U;

  /// kernels     compiled here, so that later calls don't fail for want of NVRTC
  /// Throws      UsageError for a unit that isn't a power of two from 256 bytes to 2 MiB, for a
  ///             budget of less than one, or for memory that isn't aligned; OutOfDeviceMemory if the items
  ///             and their maps don't fit; Unavailable if there is no NVRTC, or the host's pages
  ///             can't be pinned.
  PagedMemory(const Context& context, const Kernels& kernels, const PagedSource& source,
              const PagedOptions& options);
  /// Writes back what was stored, after all work of the device, unless finish() or give_up() did or
  /// forbade it. A failure is reported as a failed cleanup.
  ~PagedMemory();
  PagedMemory(PagedMemory&& other) = delete;
  PagedMemory& operator=(PagedMemory&&) = delete;

  std::size_t device_bytes() const noexcept;

  // A budgeted array is used in one stream at a time: the first member that is called with another
  // one waits for all work of the device.

  /// Gives a kernel's argument for the stream: where its paged_map or budgeted_map is in device
  /// memory. Later launches there are spared a check for each unit that is valid by then. Of a
  /// budgeted array, frames become free.
  ///
  /// Throws      UsageError at the first call for a stream while it is captured
  CUdeviceptr settle(CUstream stream) const;
  /// Fetches what is absent of ranges, in their order. Without a budget kernels of other streams may run
  /// beside it: it takes a part of the GPU only, and a lane that comes to a unit first fetches it itself.
  /// If the GPU holds the whole array then, they are told.
  void prefetch(const std::vector<PagedRange>& ranges, CUstream stream) const;
  /// Makes units that lie in a range as a whole valid without a fetch, if they are absent, and fetches
  /// those at a range's ends that don't: the caller promises that kernels store all items of the ranges
  /// before they load one. What isn't stored is arbitrary afterwards, on the GPU and, if its unit was
  /// stored to, in the host's memory.
  ///
  /// Throws      UsageError if the host's array is read-only
  void will_overwrite(const std::vector<PagedRange>& ranges, CUstream stream) const;
  /// Writes back what was stored to units that have a byte of a range.
  ///
  /// Throws      UsageError for an array of a file, which the CPU writes
  void flush(const std::vector<PagedRange>& ranges, CUstream stream) const;
  /// Reads ranges again, byte by byte, as far as the GPU holds them: the host's memory was changed.
  ///
  /// Throws      UsageError for an array of a file, whose memory nobody can change
  void refresh(const std::vector<PagedRange>& ranges, CUstream stream) const;

  // The following members wait: all work that the device was given before is complete first, and
  // their own on return.

  /// Writes back what was stored to units that have a byte of a range.
  ///
  /// Throws      of an array of a file also UsageError if the file has become shorter, and
  ///             std::system_error if it can't be written. What isn't written then is kept, and a
  ///             later call writes it.
  void flush(const std::vector<PagedRange>& ranges) const;
  /// Makes units absent that have a byte of a range; those of a file are read from it again.
  ///
  /// Throws      UsageError if one of them was stored to and not written back, unless `discard`; or
  ///             if the file has become shorter or can't be read
  void invalidate(const std::vector<PagedRange>& ranges, bool discard) const;
  PagedStats stats() const;
  /// Writes back everything for the last time: the destructor has nothing left to write then.
  ///
  /// Throws      as flush(); the array goes on then
  void finish();
  /// Loses what was stored and not written back. For a device that is lost.
  void give_up() noexcept { finished_ = true; }

  // Operations in the legacy default stream, complete on return. Pointers are of the device.

  /// row_items   indices are of rows of so many items; the array has whole rows
  /// Throws      UsageError if an index isn't of a row: its position and itself; nothing was read
  void gather(const PagedIndices& indices, CUdeviceptr target, std::uint64_t row_items = 1) const;
  /// The same, and nothing was written.
  void scatter(const PagedIndices& indices, CUdeviceptr source) const;
  /// Stores `count` items from item `first`.
  void write(std::uint64_t first, std::uint64_t count, CUdeviceptr source) const;
  std::variant<double, std::int64_t> reduce(std::uint64_t first, std::uint64_t count,
                                            PagedItemKind kind, PagedReduction operation) const;

private:
  static constexpr CUstream kDefaultStream = nullptr;
  /// Units that are to be valid, and how.
  struct UnitsToMake {
    paged::extent units;
    paged::request how;
  };

  template <typename... Arguments>
  void launch(CUstream stream, const char* name, std::uint64_t num_lanes,
              const Arguments&... arguments) const;
  template <typename... Arguments>
  void launch_blocks(CUstream stream, const char* name, unsigned num_blocks,
                     const Arguments&... arguments) const;
  Kernel kernel(const std::string& name) const;
  CUdeviceptr view_of(CUstream given) const;
  CUdeviceptr view_held_of(CUstream given) const;
  CUdeviceptr new_view(CUstream owner) const;
  void follow(CUstream stream) const;
  bool has_frames() const noexcept { return map_.num_frames != 0; }
  void require_no_capture(CUstream stream) const;
  CUdeviceptr begin_settling(CUstream stream) const;
  void sweep(CUstream stream) const;
  void make_valid(const std::vector<UnitsToMake>& units, CUstream stream) const;
  void make_room(const std::vector<UnitsToMake>& units, CUstream stream) const;
  std::vector<CUdeviceptr> views() const;
  bool budgeted() const noexcept { return options_.budget_bytes.has_value(); }
  std::uint64_t num_items() const noexcept { return source_.size_bytes / source_.item_bytes; }
  paged::extent units_of(const PagedRange& range) const noexcept;
  paged::extent whole_units_of(const PagedRange& range) const noexcept;
  PagedRange bytes_of(const paged::extent& units) const noexcept;
  std::vector<paged::extent> units_of(const std::vector<PagedRange>& ranges) const;
  PagedRange all() const noexcept { return {0, source_.size_bytes}; }
  void write_back(const std::vector<paged::extent>& units, CUstream stream) const;
  bool keeps_changes() const noexcept { return map_.changed != nullptr; }
  CUdeviceptr taken_changes() const noexcept;
  std::vector<std::uint32_t> stored_words() const;
  void note_stored() const;
  void write_file(const std::vector<paged::extent>& units) const;
  void read_file_again(const std::vector<PagedRange>& ranges) const;
  void require_writable(const char* what) const;
  void require_rows(const PagedIndices& indices, std::uint64_t row_items) const;
  void await_device() const;
  void await(CUstream stream) const;
  std::vector<std::uint32_t> words(const paged::word* words) const;
  template <typename Value>
  Value read_value(CUdeviceptr pointer) const;
  template <typename Number>
  Number combined(std::uint64_t num_results, PagedReduction operation) const;

  Context context_;
  Kernels kernels_;
  PagedOptions options_;  ///< checked before the source, for which they are asked
  PagedSource source_;
  HostRegistration host_;
  DeviceBuffer items_, maps_;
  budgeted_map map_;
  mutable std::mutex working_;  ///< of the operations, which share the scratch words
  mutable std::mutex viewing_;
  /// A paged_map and settled bits for each stream: those of one change while others' kernels run. A
  /// budgeted array has one view.
  mutable std::map<CUstream, DeviceBuffer> views_;
  mutable CUstream last_stream_ = nullptr;  ///< of a budgeted array
  /// Of an array of a file, by bits: units that were stored to and that the file doesn't have yet, as
  /// far as the host's side knows. Used by who has `working_`.
  mutable std::vector<std::uint32_t> unwritten_;
  bool finished_ = false;  ///< nothing is to be written back any more
};

}  // namespace isthmus
