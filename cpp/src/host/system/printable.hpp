// Texts from outside and addresses in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace isthmus::host {

/// `text` as valid UTF-8 without control characters, whatever its bytes are: Python can't decode
/// other bytes, and a terminal would interpret control characters.
///
/// max_bytes  longer texts are cut between two characters and end in "..."
std::string printable(std::string_view text, std::size_t max_bytes = std::string_view::npos);

/// An address as debuggers and Python's hex() write it: "0x7f0010004000".
std::string address_text(std::uintptr_t address);

}  // namespace isthmus::host
