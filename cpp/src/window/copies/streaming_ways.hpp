// The compiled implementations. streaming_copy.cpp selects those that the CPU can run.
#pragma once

#include "window/copies/streaming_lines.hpp"

namespace isthmus::window {

extern const StreamingCopy kPortableCopy;

#if defined(__x86_64__)
extern const StreamingCopy kAvx512Copy;
extern const StreamingCopy kMovdir64bCopy;
extern const StreamingCopy kAvx2Copy;
extern const StreamingCopy kSse41Copy;

/// The lines of kAvx512Copy, for implementations that do only part of a copy differently.
void store_lines_avx512(std::byte* target, const std::byte* source, std::size_t num_lines);
void load_lines_avx512(std::byte* target, const std::byte* source, std::size_t num_lines);
#elif defined(__aarch64__)
extern const StreamingCopy kNeonCopy;
#endif

}  // namespace isthmus::window
