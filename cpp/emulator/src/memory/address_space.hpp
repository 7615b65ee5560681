// The source of device addresses: reserved pages of the process, which nothing else can get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace isthmus::emulator {

/// First fit, lowest first: the range released last is reused first. Not synchronised.
class FreeRanges {
public:
  /// Adds [base, base + size_bytes), which must not overlap a free range.
  void add(std::uintptr_t base, std::size_t size_bytes);
  /// Takes `size_bytes` and returns their base; nothing if no free range is large enough.
  ///
  /// alignment_bytes   a power of two
  std::optional<std::uintptr_t> take(std::size_t size_bytes, std::size_t alignment_bytes);
  /// Takes exactly these bytes; false if they aren't all free.
  bool take_at(std::uintptr_t base, std::size_t size_bytes);

private:
  using Free = std::map<std::uintptr_t, std::size_t>;
  void cut(Free::iterator range, std::uintptr_t base, std::size_t size_bytes);

  Free free_;  ///< base to size; adjacent ranges are merged
};

/// Device addresses. Accesses to addresses without a mapping fault, also in freed memory. An
/// address that is released is the next one to be reused: real drivers reuse addresses too, and
/// programs must cope with it. May be used from any thread.
class AddressSpace {
public:
  /// Reserves addresses without a mapping.
  ///
  /// alignment_bytes   a power of two, at least a page
  /// wanted            0, or where the caller would like them to begin
  /// Throws            Refusal(OUT_OF_MEMORY)
  std::uintptr_t reserve(std::size_t size_bytes, std::size_t alignment_bytes,
                         std::uintptr_t wanted = 0);
  /// Removes the mapping, if there is one, and releases the addresses.
  void release(std::uintptr_t base, std::size_t size_bytes) noexcept;

private:
  std::mutex mutex_;
  FreeRanges free_;
};

/// The process's device addresses. Never destroyed.
AddressSpace& address_space();

/// Makes reserved addresses inaccessible again. False if the system refused.
bool clear_mapping(std::uintptr_t base, std::size_t size_bytes) noexcept;

/// Reserved addresses that are released with this object.
class ReservedAddresses {
public:
  ReservedAddresses(std::size_t size_bytes, std::size_t alignment_bytes)
      : base_(address_space().reserve(size_bytes, alignment_bytes)), size_bytes_(size_bytes) {}
  ~ReservedAddresses() { address_space().release(base_, size_bytes_); }
  ReservedAddresses(const ReservedAddresses&) = delete;
  ReservedAddresses& operator=(const ReservedAddresses&) = delete;

  std::uintptr_t base() const { return base_; }

private:
  std::uintptr_t base_;
  std::size_t size_bytes_;
};

}  // namespace isthmus::emulator
