// A test of a backend: an emulated machine, its buffers, and the leak check at its end.
#pragma once

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "fakes/fake_kernel.hpp"
#include "messages.hpp"
#include "window/backend.hpp"

namespace isthmus::window {

using isthmus::test::says;

inline constexpr std::size_t kHostPageBytes = 4096;

/// The reason of the Unavailable that `action` throws; "" if it doesn't throw.
inline std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Unavailable& refusal) {
    return refusal.reason();
  }
  return {};
}

/// Whole pages of `page_bytes` around a range of device memory.
inline DevicePages pages_around(std::uintptr_t pointer, std::size_t size_bytes,
                                std::size_t page_bytes = kHostPageBytes) {
  const std::uintptr_t begin = pointer / page_bytes * page_bytes;
  const std::uintptr_t end = (pointer + size_bytes + page_bytes - 1) / page_bytes * page_bytes;
  return {begin, end - begin};
}

class BackendMachine : public testing::Test {
protected:
  explicit BackendMachine(const std::string& profile = "small", int ordinal = 0)
      : driver_(Driver::open("emulated:" + profile)),
        context_(Context::retain(driver_, ordinal)),
        current_(context_) {}

  ~BackendMachine() override {
    for (const CUdeviceptr buffer : buffers_) driver_.raw(symbol::mem_free)(buffer);
    for (const Created& created : created_) give_back(created);
  }

  const Driver& driver() const { return driver_; }
  const Context& context() const { return context_; }

  /// Freed with the test.
  std::uintptr_t buffer(std::size_t size_bytes) {
    CUdeviceptr pointer = 0;
    driver_.call(symbol::mem_alloc)(&pointer, size_bytes);
    buffers_.push_back(pointer);
    return pointer;
  }
  void free(std::uintptr_t pointer) {
    std::erase(buffers_, pointer);
    driver_.call(symbol::mem_free)(CUdeviceptr{pointer});
  }
  /// `num_pieces` adjoining mappings of memory from cuMemCreate. Freed with the test.
  std::uintptr_t created(std::size_t piece_bytes, bool exportable = true, int num_pieces = 1) {
    const CUmemAllocationProp properties = properties_of(
        exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE);
    std::vector<CUmemGenericAllocationHandle> handles;
    for (int index = 0; index < num_pieces; ++index)
      handles.push_back(handle_of(properties, piece_bytes));
    const std::uintptr_t pointer = mapped(handles, piece_bytes);
    // The mapping keeps the memory.
    for (const auto handle : handles) driver_.call(symbol::mem_release)(handle);
    return pointer;
  }
  /// Of memory on the context's device.
  CUmemAllocationProp properties_of(CUmemAllocationHandleType exported_as) const {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, context_.device().ordinal};
    properties.requestedHandleTypes = exported_as;
    return properties;
  }
  CUmemGenericAllocationHandle handle_of(const CUmemAllocationProp& properties,
                                         std::size_t size_bytes) const {
    CUmemGenericAllocationHandle handle = 0;
    driver_.call(symbol::mem_create)(&handle, size_bytes, &properties, 0ull);
    return handle;
  }
  /// Adjoining mappings of the first `piece_bytes` of each object. Unmapped with the test.
  std::uintptr_t mapped(const std::vector<CUmemGenericAllocationHandle>& handles,
                        std::size_t piece_bytes) {
    Created made{.pointer = 0, .size_bytes = piece_bytes * handles.size()};
    driver_.call(symbol::mem_address_reserve)(&made.pointer, made.size_bytes, std::size_t{0},
                                              CUdeviceptr{0}, 0ull);
    std::size_t offset = 0;
    for (const auto handle : handles) {
      driver_.call(symbol::mem_map)(made.pointer + offset, piece_bytes, std::size_t{0}, handle,
                                    0ull);
      offset += piece_bytes;
    }
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, context_.device().ordinal};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    driver_.call(symbol::mem_set_access)(made.pointer, made.size_bytes, &access, std::size_t{1});
    created_.push_back(made);
    return made.pointer;
  }

  Allocation allocation_at(std::uintptr_t pointer) const {
    return allocations_of(driver_, pointer, 1).front();
  }
  std::unique_ptr<PageMapping> map(Backend& backend, std::uintptr_t pointer,
                                   std::size_t size_bytes) const {
    return backend.map(context_, allocation_at(pointer), pages_around(pointer, size_bytes),
                       nullptr);
  }

  /// Fills memory with bytes that differ from those of another seed.
  void fill(std::uintptr_t pointer, std::size_t size_bytes, std::uint32_t seed) const {
    std::vector<std::uint32_t> words(size_bytes / sizeof(std::uint32_t));
    for (std::uint32_t& word : words) word = seed = seed * 1664525u + 1013904223u;
    driver_.call(symbol::memcpy_htod)(CUdeviceptr{pointer}, words.data(), size_bytes);
    driver_.call(symbol::ctx_synchronize)();
  }

  /// Writes bytes through the mapping and through the copy engine, and checks them on the other
  /// side.
  void expect_same_memory(std::byte* seen, std::uintptr_t pointer, std::size_t size_bytes) const {
    const auto first = static_cast<std::uint8_t>(pointer >> 9);
    const std::vector<std::byte> sent = steps(first, 7, size_bytes);
    driver_.call(symbol::memcpy_htod)(CUdeviceptr{pointer}, sent.data(), size_bytes);
    driver_.call(symbol::ctx_synchronize)();
    EXPECT_EQ(std::memcmp(seen, sent.data(), size_bytes), 0) << "what the device has is not seen";
    const std::vector<std::byte> stored = steps(first + 1u, 249, size_bytes);
    std::memcpy(seen, stored.data(), size_bytes);
    std::vector<std::byte> found(size_bytes);
    driver_.call(symbol::memcpy_dtoh)(found.data(), CUdeviceptr{pointer}, size_bytes);
    EXPECT_EQ(std::memcmp(found.data(), stored.data(), size_bytes), 0)
        << "what is stored does not reach the device";
  }

private:
  /// Bytes that each differ from the one before by `step`. They repeat after 256, so that they are
  /// copied: tests aren't optimised, and would take long to compute each.
  static std::vector<std::byte> steps(unsigned value, unsigned step, std::size_t size_bytes) {
    std::vector<std::byte> bytes(size_bytes);
    std::size_t done = 0;
    for (; done < std::min<std::size_t>(size_bytes, 256); ++done)
      bytes[done] = static_cast<std::byte>(value += step);
    for (std::size_t part = done; done < size_bytes; done += part) {
      part = std::min(done, size_bytes - done);
      std::memcpy(bytes.data() + done, bytes.data(), part);
    }
    return bytes;
  }
  struct Created {
    CUdeviceptr pointer = 0;
    std::size_t size_bytes = 0;
  };
  void give_back(const Created& created) const {
    driver_.raw(symbol::mem_unmap)(created.pointer, created.size_bytes);
    driver_.raw(symbol::mem_address_free)(created.pointer, created.size_bytes);
  }

  Driver driver_;
  Context context_;
  CurrentContext current_;
  std::vector<CUdeviceptr> buffers_;
  std::vector<Created> created_;
};

/// Files that this process has open.
inline std::size_t num_open_descriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(open), end(open)));
}

/// The number of calls of a kernel that can fail: unmapping and closing can't.
inline int num_refusable_calls(const fakes::FakeKernel& kernel) {
  const std::vector<std::string> calls = kernel.calls();
  return static_cast<int>(std::count_if(calls.begin(), calls.end(), [](const std::string& call) {
    return call != "munmap" && call != "close";
  }));
}

}  // namespace isthmus::window
