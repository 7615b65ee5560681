// Copies that are made sooner than begun, for callers that would first prepare to keep their arrays.
#pragma once

#include <cstddef>

#include <isthmus/transfer.hpp>

namespace isthmus::transfer {

/// No window writes or reads more in the time that it takes to begin a copy.
inline constexpr std::size_t kMaxBytesAtOnce = std::size_t{64} << 10U;

/// What Transfers::copy_async() does first. See Engine::copy_at_once().
bool copy_at_once(Transfers& transfers, void* target, const void* source, std::size_t size_bytes,
                  const CopyOptions& options);

}  // namespace isthmus::transfer
