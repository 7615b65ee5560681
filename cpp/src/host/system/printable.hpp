// Makes text from outside safe for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace isthmus::host {

/// `text` as valid UTF-8 without control characters, whatever its bytes are: Python can't decode
/// other bytes, and a terminal would interpret control characters.
///
/// max_bytes  longer texts are cut between two characters and end in "..."
std::string printable(std::string_view text, std::size_t max_bytes = std::string_view::npos);

}  // namespace isthmus::host
