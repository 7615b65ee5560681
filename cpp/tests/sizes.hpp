// Sizes of memory in tests.
#pragma once

#include <cstddef>

namespace isthmus::contract {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;

}  // namespace isthmus::contract
