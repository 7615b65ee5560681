// The live memory objects, by number.
#pragma once

#include <map>

#include "memory/memory_object.hpp"

namespace isthmus::emulator {

/// A number is reused only after all others. Not synchronised.
class MemoryObjects {
public:
  /// A new object of the device, with a number.
  MemoryObjectPtr make(Device& device, std::size_t size_bytes);
  /// Null if there is none, or it no longer exists.
  MemoryObjectPtr find(std::uint32_t number) const;
  /// Bytes of the objects that cuMemCreate made.
  std::size_t created_bytes() const;

private:
  std::uint32_t next_number();

  std::map<std::uint32_t, std::weak_ptr<MemoryObject>> objects_;
  std::uint32_t last_number_ = 0;
};

}  // namespace isthmus::emulator
