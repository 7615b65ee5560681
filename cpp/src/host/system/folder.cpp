#include "host/system/folder.hpp"

#include <memory>
#include <string_view>

#include <dirent.h>

namespace isthmus::host {

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  struct Close {
    void operator()(DIR* opened) const noexcept { closedir(opened); }
  };
  const std::unique_ptr<DIR, Close> opened(opendir(folder.c_str()));
  std::vector<std::string> names;
  if (opened == nullptr) return names;
  // The stream is local: no other thread reads it.
  while (const dirent* const entry = readdir(opened.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

}  // namespace isthmus::host
