// The kinds of device memory that programs open windows on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/context.hpp"

namespace isthmus::window {

/// A way to allocate device memory.
struct MemoryKind {
  using Use = std::function<void(std::uintptr_t pointer, std::size_t size_bytes)>;

  std::string name;
  /// Allocates some memory, gives it to the function, and frees it.
  ///
  /// context     current on this thread
  /// Throws      what the function throws; DriverError or Unavailable if there is no such memory.
  void (*use)(const Context& context, const Use& function);
};

std::vector<MemoryKind> memory_kinds();

}  // namespace isthmus::window
