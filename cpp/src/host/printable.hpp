// Text from outside, made fit for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace isthmus::host {

/// `text` as valid UTF-8 without control characters, whatever bytes it has: Python can't take other
/// bytes as text, and a terminal would obey control characters.
///
/// max_bytes  longer texts are cut between two characters and end in "..."
std::string printable(std::string_view text, std::size_t max_bytes = std::string_view::npos);

}  // namespace isthmus::host
