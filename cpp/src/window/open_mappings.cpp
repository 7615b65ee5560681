#include "window/registry.hpp"

namespace isthmus::window {

std::shared_ptr<const Mapping> OpenMappings::find(std::uint64_t first_buffer_id, DevicePages range,
                                                  DevicePages pages) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = mappings_.equal_range(first_buffer_id);
  for (auto entry = first; entry != last; ++entry) {
    std::shared_ptr<const Mapping> mapping = entry->second.lock();
    if (mapping == nullptr || !mapping->covers(pages) || !mapping->holds(range)) continue;
    if (mapping->allocations().size() == 1 || mapping->buffers_are_alive()) return mapping;
  }
  return nullptr;
}

void OpenMappings::add(const std::shared_ptr<const Mapping>& mapping) {
  const std::lock_guard lock(mutex_);
  std::erase_if(mappings_, [](const auto& entry) { return entry.second.expired(); });
  mappings_.emplace(mapping->allocations().front().buffer_id, mapping);
}

}  // namespace isthmus::window
