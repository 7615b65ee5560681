// A test of windows through our own client of the resource manager, on a fake of it.
#pragma once

#include "../emulator/emulated_machine.hpp"
#include "backend_machine.hpp"
#include "fakes/fake_resource_manager.hpp"
#include "sizes.hpp"

namespace isthmus::window {

using contract::kMiB;
using fakes::FakeResourceManager;

class ResourceManager : public BackendMachine {
protected:
  explicit ResourceManager(const std::string& profile = "small", int ordinal = 0)
      : BackendMachine(profile, ordinal) {}

  std::unique_ptr<Backend> open(bool chosen_by_user = false) const {
    return open_rm_backend(driver(), fakes::files_of(kernel_), chosen_by_user);
  }

  /// Opens a backend, maps, unmaps and closes.
  void live(std::uintptr_t pointer, std::size_t size_bytes = kMiB) const {
    const auto backend = open();
    map(*backend, pointer, size_bytes);
  }

  void expect_no_memory_left() const {
    EXPECT_EQ(kernel_->num_memory_objects(), 0u) << kernel_->last_refused();
    EXPECT_EQ(kernel_->num_rm_mappings(), 0u) << kernel_->last_refused();
    EXPECT_EQ(kernel_->num_mappings(), 0u) << kernel_->last_refused();
  }
  void expect_nothing_left() const {
    expect_no_memory_left();
    EXPECT_EQ(kernel_->num_objects(), 0u) << kernel_->last_refused();
    EXPECT_EQ(kernel_->num_open_files(), 0u) << kernel_->last_refused();
  }

  std::shared_ptr<FakeResourceManager> kernel_ = std::make_shared<FakeResourceManager>(driver());
};

}  // namespace isthmus::window
