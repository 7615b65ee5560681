// What is in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace isthmus::host {

/// The names of a folder's entries, in no order; none if it can't be read. Not by
/// std::filesystem::directory_iterator: libstdc++ 12 ends the process if there is no memory for an
/// entry's path.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace isthmus::host
