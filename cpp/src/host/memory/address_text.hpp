// Addresses in messages.
#pragma once

#include <cstdint>
#include <string>

namespace isthmus::host {

/// An address as debuggers and Python's hex() write it: "0x7f0010004000".
std::string address_text(std::uintptr_t address);

}  // namespace isthmus::host
