#include "host/memory/huge_pages.hpp"

#include <algorithm>
#include <optional>

#include <sys/prctl.h>
#include <unistd.h>

#include "host/system/folder.hpp"
#include "host/system/printable.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBytesPerKib = 1024;
// Of PR_GET_THP_DISABLE: for all memory. With a further bit, advised memory is excepted. Source:
// Documentation/admin-guide/mm/transhuge.rst of Linux 6.18.
constexpr int kDisabledForAll = 1;
constexpr std::string_view kPoolPrefix = "hugepages-";
constexpr std::string_view kPoolSuffix = "kB";

std::uint64_t count_in(const fs::path& file) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, read_integer(file).value_or(0)));
}

/// Reads the pool of a folder named like "hugepages-2048kB".
std::optional<HugePagePool> read_pool(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::string_view size = name;
  if (!size.starts_with(kPoolPrefix) || !size.ends_with(kPoolSuffix)) return std::nullopt;
  size.remove_prefix(kPoolPrefix.size());
  size.remove_suffix(kPoolSuffix.size());
  const auto kib = parse_integer(size);
  if (!kib || *kib <= 0) return std::nullopt;
  return HugePagePool{static_cast<std::uint64_t>(*kib) * kBytesPerKib,
                      count_in(folder / "nr_hugepages"), count_in(folder / "free_hugepages")};
}

std::vector<HugePagePool> read_pools(const fs::path& folder) {
  std::vector<HugePagePool> pools;
  for (const std::string& name : names_in(folder))
    if (const auto pool = read_pool(folder / name)) pools.push_back(*pool);
  std::sort(pools.begin(), pools.end(),
            [](const auto& a, const auto& b) { return a.page_bytes < b.page_bytes; });
  return pools;
}

std::string chosen_in(const fs::path& file) {
  return std::string(chosen_word(read_text(file).value_or("")));
}

}  // namespace

std::string_view chosen_word(std::string_view text) noexcept {
  const auto open = text.find('[');
  if (open == std::string_view::npos) return {};
  const auto close = text.find(']', open);
  if (close == std::string_view::npos) return {};
  return text.substr(open + 1, close - open - 1);
}

bool gives_advised_huge_pages(const fs::path& root) {
  if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == kDisabledForAll) return false;
  const fs::path folder = root / "sys/kernel/mm/transparent_hugepage";
  // Since Linux 6.8 each size has a setting of its own, too.
  std::string mode = chosen_in(folder / "hugepages-2048kB/enabled");
  if (mode.empty() || mode == "inherit") mode = chosen_in(folder / "enabled");
  return mode != "never";
}

HugePages huge_pages(const fs::path& root) {
  const fs::path memory = root / "sys/kernel/mm";
  HugePages facts;
  facts.base_page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::string modes = read_text(memory / "transparent_hugepage/enabled").value_or("");
  facts.transparent = printable(chosen_word(modes));
  facts.pools = read_pools(memory / "hugepages");
  return facts;
}

}  // namespace isthmus::host
