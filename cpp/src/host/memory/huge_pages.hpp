// Which huge pages the kernel offers: transparent ones, and the reserved pools.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::host {

struct HugePagePool {
  std::uint64_t page_bytes = 0;
  std::uint64_t num_pages = 0;
  std::uint64_t num_free_pages = 0;
};

struct HugePages {
  std::uint64_t base_page_bytes = 0;
  std::string transparent;  ///< "always", "madvise" or "never"; "" without THP in the kernel
  std::vector<HugePagePool> pools;  ///< one for each size the kernel knows, ascending; often empty
};

/// Reads the huge-page facts below `root`.
HugePages huge_pages(const std::filesystem::path& root = "/");

/// True if this process gets transparent huge pages where it advises them: the machine's setting
/// isn't "never", and nobody has turned them off for the process (PR_SET_THP_DISABLE; parents hand
/// it down).
bool gives_advised_huge_pages(const std::filesystem::path& root = "/");

/// The word in brackets: "always [madvise] never" is "madvise"; "" if there is none.
std::string_view chosen_word(std::string_view text) noexcept;

}  // namespace isthmus::host
