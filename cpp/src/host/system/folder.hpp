// The entries of a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace isthmus::host {

/// The names of a folder's entries, unordered; none if it can't be read. Doesn't use
/// std::filesystem::directory_iterator: libstdc++ 12 ends the process if there is no memory for an
/// entry's path.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace isthmus::host
