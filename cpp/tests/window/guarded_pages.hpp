// Memory that detects accesses beyond its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace isthmus::window {

inline constexpr std::byte kUntouched{0xA5};

/// Accessible pages between two inaccessible ones.
class GuardedPages {
public:
  explicit GuardedPages(std::size_t size_bytes = page_bytes())
      : size_bytes_((size_bytes + page_bytes() - 1) / page_bytes() * page_bytes()),
        first_(static_cast<std::byte*>(mmap(nullptr, size_bytes_ + 2 * page_bytes(), PROT_NONE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(data(), size_bytes_, PROT_READ | PROT_WRITE);
  }
  ~GuardedPages() { munmap(first_, size_bytes_ + 2 * page_bytes()); }
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;

  static std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

  std::byte* data() const { return first_ + page_bytes(); }
  std::size_t size_bytes() const { return size_bytes_; }
  std::span<std::byte> bytes() const { return {data(), size_bytes_}; }

  void fill(std::byte value) const { std::fill_n(data(), size_bytes_, value); }
  void fill_randomly(std::uint32_t seed) const {
    std::minstd_rand random(seed);
    std::generate_n(data(), size_bytes_, [&] { return static_cast<std::byte>(random() >> 8U); });
  }

  /// Everything except [begin, begin + size_bytes) is still as fill(kUntouched) left it, up to a
  /// line on both sides.
  bool untouched_around(std::size_t begin, std::size_t size_bytes) const {
    constexpr std::size_t kLine = 64;
    const auto is_untouched = [](std::byte value) { return value == kUntouched; };
    const std::size_t end = begin + size_bytes;
    const auto before = bytes().subspan(begin - std::min(begin, kLine), std::min(begin, kLine));
    const auto after = bytes().subspan(end, std::min(size_bytes_ - end, kLine));
    return std::all_of(before.begin(), before.end(), is_untouched) &&
           std::all_of(after.begin(), after.end(), is_untouched);
  }

private:
  std::size_t size_bytes_;
  std::byte* first_;
};

}  // namespace isthmus::window
