// Memory that a copy after a pause will read, fetched before it is needed.
#pragma once

#include <array>
#include <cstddef>

#include "driver/driver.hpp"

namespace isthmus::transfer {

/// Addresses to fetch into the caches together. After a pause the lines that a copy reads, and the
/// translations of their pages' addresses, come from memory, one after the other. Asked for at once,
/// they come beside each other. Source: benchmarks/rhythms/README.md.
class ColdLines {
public:
  /// Adds the line at an address; ignores it if it is null, or there are kMost already. Nobody may
  /// fetch meanwhile.
  void add(const void* address) noexcept {
    if (address != nullptr && num_lines_ < kMost) lines_[num_lines_++] = address;
  }
  /// Adds a driver function: its entry in the table, and its first line.
  template <typename Function>
  void add(const Driver& driver, const Symbol<Function>& symbol) noexcept {
    add(driver.entry_of(symbol));
    add(reinterpret_cast<const void*>(driver.raw(symbol)));
  }
  /// Adds some lines of the code around a function that is marked [[gnu::hot]]. The linker puts such
  /// functions side by side.
  template <typename Function>
  void add_hot_code(Function* function) noexcept {
    const auto* const middle = reinterpret_cast<const std::byte*>(function);
    for (std::ptrdiff_t bytes = -kHotBytes / 2; bytes < kHotBytes / 2; bytes += kHotStepBytes)
      add(middle + bytes);
  }

  /// Doesn't wait for the lines. An address at which nothing is mapped any more does no harm.
  void fetch() const noexcept {
    for (std::size_t line = 0; line < num_lines_; ++line) __builtin_prefetch(lines_[line]);
  }

private:
  static constexpr std::size_t kMost = 23;
  // About as much as the marked functions take. Four lines of each page were as quick as all of them
  // (benchmarks/rhythms/README.md).
  static constexpr std::ptrdiff_t kHotBytes = 8192;
  static constexpr std::ptrdiff_t kHotStepBytes = 1024;

  std::size_t num_lines_ = 0;
  std::array<const void*, kMost> lines_{};
};

}  // namespace isthmus::transfer
