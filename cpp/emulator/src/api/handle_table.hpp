// Opaque handles that are never reused, so that a destroyed one is always detected.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "api/refusal.hpp"

namespace isthmus::emulator {

/// A new handle value, above those that CUDA reserves (CU_STREAM_LEGACY is 1).
inline std::uintptr_t next_handle() {
  static std::atomic<std::uintptr_t> next{0x1000};
  return next.fetch_add(16);
}

/// The live objects of one kind. Not synchronised.
template <typename Handle, typename Object>
class HandleTable {
public:
  Handle add(std::shared_ptr<Object> object) {
    const std::uintptr_t handle = next_handle();
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<Handle>(handle);
  }

  /// Throws Refusal(CUDA_ERROR_INVALID_HANDLE) for any handle that isn't alive.
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    require(found != objects_.end(), CUDA_ERROR_INVALID_HANDLE);
    return found->second;
  }

  std::shared_ptr<Object> remove(Handle handle) {
    std::shared_ptr<Object> object = find(handle);
    objects_.erase(reinterpret_cast<std::uintptr_t>(handle));
    return object;
  }

  template <typename Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(objects_, [&](const auto& row) { return predicate(*row.second); });
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& row : objects_) visit(row.second);
  }

  std::size_t size() const { return objects_.size(); }

private:
  std::map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

}  // namespace isthmus::emulator
