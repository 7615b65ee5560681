// What the message of a failed copy says about its target.
#pragma once

#include <cstddef>
#include <string>

namespace isthmus::transfer {

inline std::string undefined_text(std::size_t begin, std::size_t end) {
  return "bytes [" + std::to_string(begin) + ", " + std::to_string(end) +
         ") of the target are undefined";
}

}  // namespace isthmus::transfer
