// A test of windows on memory of cuMemCreate that can't be exported: the search for its memory
// object, on a fake resource manager and on the emulated driver's records.
#pragma once

#include <algorithm>
#include <functional>

#include <isthmus/window.hpp>

#include "resource_manager_machine.hpp"
#include "window/backends/rm_abi.hpp"
#include "window/registry.hpp"

namespace isthmus::window {

inline constexpr const char* kRead = "process_vm_readv";
inline constexpr const char* kFacts = "CONTROL GET_SURFACE_INFO";

/// Calls `change` with each word of a read that may be an object's number.
inline void change_numbers(void* argument, const std::function<void(std::uint32_t& word)>& change) {
  const auto& read = *static_cast<fakes::MemoryRead*>(argument);
  auto* const words = static_cast<std::uint32_t*>(read.target);
  for (std::size_t index = 0; index < read.size_bytes / sizeof *words; ++index)
    if (words[index] >> 24U == 0x5c) change(words[index]);
}

/// The resource manager's answer about a memory object, as an ioctl returns it.
inline rm::InfoEntry& answer_to(void* argument, std::uint32_t question) {
  const auto& list =
      *reinterpret_cast<rm::InfoList*>(static_cast<rm::Control*>(argument)->parameters);
  auto* const entries = reinterpret_cast<rm::InfoEntry*>(list.entries);
  return *std::find_if(entries, entries + list.num_entries,
                       [=](const rm::InfoEntry& entry) { return entry.index == question; });
}

class HandlelessMemory : public ResourceManager {
protected:
  explicit HandlelessMemory(const std::string& profile = "small", int ordinal = 0)
      : ResourceManager(profile, ordinal) {}
  ~HandlelessMemory() override { emulated::Controls(driver()).reset(); }

  std::uintptr_t handleless(std::size_t size_bytes = 2 * kMiB) {
    return created(size_bytes, false);
  }
  Windows windows() const {
    return Registry::windows(driver(), {.backend = "rm"}, fakes::files_of(kernel_));
  }
  /// Why it isn't mapped; "" if it is, and then rightly.
  std::string refusal_to_map(Backend& backend, std::uintptr_t pointer,
                             std::size_t size_bytes = 2 * kMiB) const {
    return refusal_of([&] {
      const auto mapping = map(backend, pointer, size_bytes);
      expect_same_memory(mapping->data(), pointer, size_bytes);
    });
  }
  void expect_refusal(std::uintptr_t pointer, const std::string& why) const {
    const auto backend = open();
    const std::string reason = refusal_to_map(*backend, pointer);
    EXPECT_TRUE(says(reason, why)) << reason;
    expect_no_memory_left();
    EXPECT_EQ(kernel_->complaints(), std::vector<std::string>{});
  }
};

}  // namespace isthmus::window
