// Where device addresses come from: reserved pages of the process, which nothing else can get.
#pragma once

#include <mutex>

#include "free_ranges.hpp"

namespace isthmus::emulator {

/// Device addresses. What isn't mapped can't be touched, freed memory included, and an address that
/// is given back is the next one handed out: real drivers reuse addresses too, and what depends on
/// them has to stand it. May be used from any thread.
class AddressSpace {
public:
  /// Addresses that nothing is mapped at yet.
  ///
  /// alignment_bytes   a power of two, at least a page
  /// wanted            0, or where the caller would like them to begin
  /// Throws            Refusal(OUT_OF_MEMORY)
  std::uintptr_t reserve(std::size_t size_bytes, std::size_t alignment_bytes,
                         std::uintptr_t wanted = 0);
  /// Unmaps what is there, which may be nothing, and gives the addresses back.
  void release(std::uintptr_t base, std::size_t size_bytes) noexcept;

private:
  std::mutex mutex_;
  FreeRanges free_;
};

/// The process's device addresses. Never destroyed.
AddressSpace& address_space();

/// Makes reserved addresses untouchable again. False if the system refused.
bool clear_mapping(std::uintptr_t base, std::size_t size_bytes) noexcept;

/// Reserved addresses that are given back when it goes.
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
