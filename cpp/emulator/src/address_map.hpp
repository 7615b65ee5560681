// Which addresses mean what: device allocations, pinned allocations, registered ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace isthmus::emulator {

struct Context;

enum class RangeKind { device, pinned, registered };

/// A range of addresses that the driver knows.
struct Range {
  RangeKind kind = RangeKind::device;
  std::uintptr_t base = 0;
  std::size_t size_bytes = 0;    ///< what was asked for; accesses beyond it are refused
  std::size_t mapped_bytes = 0;  ///< whole pages; what the device's capacity is charged with
  int file = -1;                 ///< the memory behind a device allocation; -1 if it has no file
  Context* context = nullptr;
  std::uint64_t id = 0;  ///< never used twice

  bool on_host() const { return kind != RangeKind::device; }
};

/// Ranges don't overlap. Not synchronised.
class AddressMap {
public:
  void add(const Range& range) { ranges_.emplace(range.base, range); }
  /// The range that covers all of [address, address + size_bytes), if one does. A size of 0 counts
  /// as 1.
  const Range* covering(std::uintptr_t address, std::size_t size_bytes) const;
  bool overlaps(std::uintptr_t address, std::size_t size_bytes) const;
  /// Removes the range of that kind that starts there; nothing if there is none.
  std::optional<Range> remove(std::uintptr_t base, RangeKind kind);
  std::vector<Range> remove_all_of(const Context& context);
  /// Sum of `size_bytes` over a kind, and how many there are.
  std::size_t total_bytes(RangeKind kind) const;
  std::size_t count(RangeKind kind) const;

private:
  std::map<std::uintptr_t, Range> ranges_;
};

}  // namespace isthmus::emulator
